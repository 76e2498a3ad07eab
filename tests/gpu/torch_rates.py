"""PyTorch's rates on the GPU at hand, to stand beside those of gpu_kernels.c: the same square product
(order, form, types, sums in float32, numbers spread evenly over (-1, 1): easier data draw less power
and run faster) and a device copy of the same size, warmed up as long, timed by events in as many
samples. PyTorch's own settings stay as users have them.

Usage: torch_rates.py ORDER COPY_BYTES; 0 leaves one out. Prints "NAME<tab>RATE" a line, rates in
flop/s and B/s (bytes read and written). Exit 77 where there is no PyTorch or it sees no GPU."""

import statistics
import sys

try:
    import torch
except ImportError:
    print("no PyTorch here", file=sys.stderr)
    sys.exit(77)

# As in gpu_kernels.c.
SAMPLES = 7
SAMPLE_S = 0.05
WARM_UP_S = 0.5


def time_s(work):
    """The median of a few samples, in seconds per call, after a warm-up."""

    def sample(calls):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(calls):
            work()
        stop.record()
        torch.cuda.synchronize()
        return start.elapsed_time(stop) * 1e-3 / calls

    sample(2)
    call_s = sample(2)
    sample(max(1, int(WARM_UP_S / call_s)))
    calls = max(1, int(SAMPLE_S / call_s))
    return statistics.median(sample(calls) for _ in range(SAMPLES))


def spread(*shape):
    return torch.empty(*shape, device="cuda", dtype=torch.float32).uniform_(-1, 1)


def gemm(dtype, order):
    a, b = (spread(order, order).to(dtype) for _ in range(2))
    out = torch.empty(order, order, device="cuda", dtype=dtype)
    # The same form as ours: one operand transposed.
    seconds = time_s(lambda: torch.matmul(a, b.t(), out=out))
    return 2 * order**3 / seconds


def copy(size_bytes):
    source = spread(size_bytes // 4)
    target = torch.empty_like(source)
    return 2 * size_bytes / time_s(lambda: target.copy_(source))


def main():
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU", file=sys.stderr)
        return 77
    order, size_bytes = int(sys.argv[1]), int(sys.argv[2])
    print(f"version\t{torch.__version__}")
    if size_bytes > 0:
        print(f"copy\t{copy(size_bytes):.6g}")
    if order > 0:
        print(f"gemm bfloat16\t{gemm(torch.bfloat16, order):.6g}")
        print(f"gemm float16\t{gemm(torch.float16, order):.6g}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

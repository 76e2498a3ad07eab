/* Memory kernels: every access is of 16 bytes, with hints that the data are used once. To keep
 * 4.8 TB/s of memory busy over a latency of about a microsecond, a GPU of 132 multiprocessors needs
 * some 36 KB under way on each: more than 2048 threads with one access each. So each thread has
 * several, all started before the first is used; how many, and how the arrays are walked, is chosen
 * by measuring (stream.c). */
#include "kernels/cuda/bulk.cuh"
#include "kernels/cuda/device.cuh"

/* ---- what is done with one vector: begin starts its loads, finish does the rest ---- */

struct read_step {
    struct held {
        uint4 from;
    };
    uint32_t sum = 0;
    __device__ void begin(const struct cb_cuda_stream &args, uint64_t i, held &h)
    {
        h.from = __ldcs((const uint4 *)args.from + i);
    }
    __device__ void finish(const struct cb_cuda_stream &, uint64_t, const held &h)
    {
        sum += h.from.x + h.from.y + h.from.z + h.from.w;
    }
    __device__ void end(const struct cb_cuda_stream &args)
    {
        add_sum(args.sums, sum);
    }
};

struct write_step {
    struct held {
    };
    __device__ void begin(const struct cb_cuda_stream &, uint64_t, held &) {}
    __device__ void finish(const struct cb_cuda_stream &args, uint64_t i, const held &)
    {
        __stcs((uint4 *)args.to + i,
               make_uint4(args.words[0], args.words[1], args.words[2], args.words[3]));
    }
    __device__ void end(const struct cb_cuda_stream &) {}
};

struct copy_step {
    struct held {
        uint4 from;
    };
    __device__ void begin(const struct cb_cuda_stream &args, uint64_t i, held &h)
    {
        h.from = __ldcs((const uint4 *)args.from + i);
    }
    __device__ void finish(const struct cb_cuda_stream &args, uint64_t i, const held &h)
    {
        __stcs((uint4 *)args.to + i, h.from);
    }
    __device__ void end(const struct cb_cuda_stream &) {}
};

struct triad_float32_step {
    struct held {
        float4 from, scaled;
    };
    __device__ void begin(const struct cb_cuda_stream &args, uint64_t i, held &h)
    {
        h.from = __ldcs((const float4 *)args.from + i);
        h.scaled = __ldcs((const float4 *)args.scaled + i);
    }
    __device__ void finish(const struct cb_cuda_stream &args, uint64_t i, const held &h)
    {
        float s = (float)args.scalar;
        __stcs((float4 *)args.to + i,
               make_float4(h.from.x + s * h.scaled.x, h.from.y + s * h.scaled.y,
                           h.from.z + s * h.scaled.z, h.from.w + s * h.scaled.w));
    }
    __device__ void end(const struct cb_cuda_stream &) {}
};

struct triad_float64_step {
    struct held {
        double2 from, scaled;
    };
    __device__ void begin(const struct cb_cuda_stream &args, uint64_t i, held &h)
    {
        h.from = __ldcs((const double2 *)args.from + i);
        h.scaled = __ldcs((const double2 *)args.scaled + i);
    }
    __device__ void finish(const struct cb_cuda_stream &args, uint64_t i, const held &h)
    {
        __stcs((double2 *)args.to + i, make_double2(h.from.x + args.scalar * h.scaled.x,
                                                    h.from.y + args.scalar * h.scaled.y));
    }
    __device__ void end(const struct cb_cuda_stream &) {}
};

/* ---- how the arrays are walked ---- */

/* All threads step over the arrays together. */
template <typename Step, int MANY> __device__ void stride(const struct cb_cuda_stream &args)
{
    Step step;
    const uint64_t apart = thread_count();
    uint64_t i = thread_index();
    for (; i + (MANY - 1) * apart < args.vectors; i += MANY * apart) {
        typename Step::held held[MANY];
#pragma unroll
        for (int k = 0; k < MANY; k++)
            step.begin(args, i + k * apart, held[k]);
#pragma unroll
        for (int k = 0; k < MANY; k++)
            step.finish(args, i + k * apart, held[k]);
    }
    for (; i < args.vectors; i += apart) {
        typename Step::held held;
        step.begin(args, i, held);
        step.finish(args, i, held);
    }
    step.end(args);
}

/* Each block has one stretch of MANY vectors a thread; the grid covers the arrays. */
template <typename Step, int MANY> __device__ void tile(const struct cb_cuda_stream &args)
{
    Step step;
    const uint64_t first = (uint64_t)blockIdx.x * CB_CUDA_BLOCK * MANY + threadIdx.x;
    typename Step::held held[MANY];
#pragma unroll
    for (int k = 0; k < MANY; k++)
        if (first + k * CB_CUDA_BLOCK < args.vectors)
            step.begin(args, first + k * CB_CUDA_BLOCK, held[k]);
#pragma unroll
    for (int k = 0; k < MANY; k++)
        if (first + k * CB_CUDA_BLOCK < args.vectors)
            step.finish(args, first + k * CB_CUDA_BLOCK, held[k]);
    step.end(args);
}

#define CB_CUDA_WALK(name, walk, step, many)                                                       \
    CB_CUDA_KERNEL(name, cb_cuda_stream)                                                           \
    {                                                                                              \
        walk<step, many>(args);                                                                    \
    }
CB_CUDA_WALK(read_stride4, stride, read_step, 4)
CB_CUDA_WALK(read_stride8, stride, read_step, 8)
CB_CUDA_WALK(read_tile4, tile, read_step, 4)
CB_CUDA_WALK(read_tile8, tile, read_step, 8)
CB_CUDA_WALK(write_stride4, stride, write_step, 4)
CB_CUDA_WALK(write_tile4, tile, write_step, 4)
CB_CUDA_WALK(write_tile8, tile, write_step, 8)
CB_CUDA_WALK(copy_stride4, stride, copy_step, 4)
CB_CUDA_WALK(copy_stride8, stride, copy_step, 8)
CB_CUDA_WALK(copy_tile4, tile, copy_step, 4)
CB_CUDA_WALK(copy_tile8, tile, copy_step, 8)
CB_CUDA_WALK(triad_float32_stride4, stride, triad_float32_step, 4)
CB_CUDA_WALK(triad_float32_tile2, tile, triad_float32_step, 2)
CB_CUDA_WALK(triad_float32_tile4, tile, triad_float32_step, 4)
CB_CUDA_WALK(triad_float64_stride4, stride, triad_float64_step, 4)
CB_CUDA_WALK(triad_float64_tile2, tile, triad_float64_step, 2)
CB_CUDA_WALK(triad_float64_tile4, tile, triad_float64_step, 4)

/* ---- by the copy engine of compute capability 9.0 and later ----
 *
 * A block owns every gridDim-th chunk of the arrays and keeps STAGES of them in shared memory: 32
 * KB under way per block, several blocks a multiprocessor, and no register holds any of it. */

#define STAGES 4

#if CB_CUDA_HAS_BULK

struct bulk_ring {
    uint4 *stages; /* STAGES x CB_CUDA_BULK_VECTORS, shared */
    uint64_t *full;
};

__device__ static uint32_t chunk_bytes(const struct cb_cuda_stream &args, uint64_t chunk)
{
    uint64_t left = args.vectors - chunk * CB_CUDA_BULK_VECTORS;
    return (uint32_t)(left < CB_CUDA_BULK_VECTORS ? left : CB_CUDA_BULK_VECTORS) * 16;
}

__device__ static uint64_t chunk_count(const struct cb_cuda_stream &args)
{
    return (args.vectors + CB_CUDA_BULK_VECTORS - 1) / CB_CUDA_BULK_VECTORS;
}

/* One thread; the others may look after the next __syncthreads(). */
__device__ static void ring_init(const bulk_ring &ring)
{
    for (int s = 0; s < STAGES; s++)
        bulk_barrier_init(&ring.full[s]);
    bulk_barrier_init_fence();
    bulk_fence();
}

__device__ static void ring_load(const bulk_ring &ring, int stage,
                                 const struct cb_cuda_stream &args, uint64_t chunk)
{
    uint32_t bytes = chunk_bytes(args, chunk);
    bulk_barrier_expect(&ring.full[stage], bytes);
    bulk_load(ring.stages + stage * CB_CUDA_BULK_VECTORS,
              (const uint4 *)args.from + chunk * CB_CUDA_BULK_VECTORS, bytes, &ring.full[stage]);
}

__device__ static void ring_wait(const bulk_ring &ring, int stage, uint32_t parity)
{
    while (!bulk_barrier_try(&ring.full[stage], parity))
        continue;
}

__device__ static void store_chunk(const struct cb_cuda_stream &args, uint64_t chunk,
                                   const uint4 *shared)
{
    bulk_store((uint4 *)args.to + chunk * CB_CUDA_BULK_VECTORS, shared, chunk_bytes(args, chunk));
    bulk_commit();
}

#endif

CB_CUDA_KERNEL(read_bulk, cb_cuda_stream)
{
#if CB_CUDA_HAS_BULK
    __shared__ __align__(128) uint4 stages[STAGES * CB_CUDA_BULK_VECTORS];
    __shared__ __align__(8) uint64_t full[STAGES];
    const bulk_ring ring = {stages, full};
    const uint64_t chunks = chunk_count(args);
    if (threadIdx.x == 0) {
        ring_init(ring);
        for (int s = 0; s < STAGES; s++)
            if (blockIdx.x + (uint64_t)s * gridDim.x < chunks)
                ring_load(ring, s, args, blockIdx.x + (uint64_t)s * gridDim.x);
    }
    __syncthreads();
    uint32_t sum = 0;
    int stage = 0;
    uint32_t parity = 0;
    for (uint64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
        ring_wait(ring, stage, parity);
        const uint32_t vectors = chunk_bytes(args, chunk) / 16;
        for (uint32_t i = threadIdx.x; i < vectors; i += CB_CUDA_BLOCK) {
            uint4 v = stages[stage * CB_CUDA_BULK_VECTORS + i];
            sum += v.x + v.y + v.z + v.w;
        }
        __syncthreads(); /* everybody has read the stage: it may be filled anew */
        uint64_t next = chunk + (uint64_t)STAGES * gridDim.x;
        if (threadIdx.x == 0 && next < chunks)
            ring_load(ring, stage, args, next);
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        parity ^= stage == 0;
    }
    add_sum(args.sums, sum);
#endif
}

/* Of copy and write one thread starts everything; the rest of its block would only wait. */
CB_CUDA_KERNEL(copy_bulk, cb_cuda_stream)
{
#if CB_CUDA_HAS_BULK
    __shared__ __align__(128) uint4 stages[STAGES * CB_CUDA_BULK_VECTORS];
    __shared__ __align__(8) uint64_t full[STAGES];
    if (threadIdx.x != 0)
        return;
    const bulk_ring ring = {stages, full};
    const uint64_t chunks = chunk_count(args);
    ring_init(ring);
    for (int s = 0; s < STAGES; s++)
        if (blockIdx.x + (uint64_t)s * gridDim.x < chunks)
            ring_load(ring, s, args, blockIdx.x + (uint64_t)s * gridDim.x);
    int stage = 0;
    uint32_t parity = 0;
    for (uint64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
        ring_wait(ring, stage, parity);
        store_chunk(args, chunk, stages + stage * CB_CUDA_BULK_VECTORS);
        /* Fill the stage of the chunk before this one anew once its store has read it; the store
         * just started may still be reading. */
        if (chunk >= gridDim.x) {
            uint64_t next = chunk + (uint64_t)(STAGES - 1) * gridDim.x;
            bulk_wait_read<1>();
            if (next < chunks)
                ring_load(ring, stage == 0 ? STAGES - 1 : stage - 1, args, next);
        }
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        parity ^= stage == 0;
    }
    bulk_wait<0>();
#endif
}

CB_CUDA_KERNEL(write_bulk, cb_cuda_stream)
{
#if CB_CUDA_HAS_BULK
    __shared__ __align__(128) uint4 value[CB_CUDA_BULK_VECTORS];
    for (int i = threadIdx.x; i < CB_CUDA_BULK_VECTORS; i += CB_CUDA_BLOCK)
        value[i] = make_uint4(args.words[0], args.words[1], args.words[2], args.words[3]);
    bulk_fence();
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    const uint64_t chunks = chunk_count(args);
    for (uint64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
        store_chunk(args, chunk, value);
        /* A bounded number under way: the queue is shared by the blocks of a multiprocessor. */
        bulk_wait<8>();
    }
    bulk_wait<0>();
#endif
}

/* ---- the data ---- */

__device__ static void put(void *data, enum cb_dtype dtype, uint64_t i, double value)
{
    if (dtype == CB_DTYPE_FLOAT64)
        ((double *)data)[i] = value;
    else
        ((float *)data)[i] = (float)value;
}

__device__ static double get(const void *data, enum cb_dtype dtype, uint64_t i)
{
    return dtype == CB_DTYPE_FLOAT64 ? ((const double *)data)[i] : ((const float *)data)[i];
}

CB_CUDA_KERNEL(series_fill, cb_cuda_series)
{
    for (uint64_t i = thread_index(); i < args.count; i += thread_count())
        put(args.data, args.dtype, i, args.blank ? nan("") : cb_cuda_series_element(i, args.array));
}

CB_CUDA_KERNEL(series_check, cb_cuda_series)
{
    uint64_t wrong = 0;
    for (uint64_t i = thread_index(); i < args.count; i += thread_count()) {
        double expected = args.constant;
        if (args.plus_first)
            expected += cb_cuda_series_element(i, 1);
        if (args.plus_scaled)
            expected += args.scalar * cb_cuda_series_element(i, 2);
        wrong += !(get(args.data, args.dtype, i) == expected); /* NaN is wrong */
    }
    add_wrong(args.wrong, wrong);
}

CB_CUDA_KERNEL(series_sum, cb_cuda_series)
{
    uint32_t sum = 0;
    for (uint64_t i = thread_index(); i < args.count; i += thread_count()) {
        double element = cb_cuda_series_element(i, args.array);
        if (args.dtype == CB_DTYPE_FLOAT64) {
            uint64_t bits = (uint64_t)__double_as_longlong(element);
            sum += (uint32_t)bits + (uint32_t)(bits >> 32);
        } else {
            sum += __float_as_uint((float)element);
        }
    }
    add_sum(args.sums, sum);
}

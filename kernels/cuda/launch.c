/* Starting kernels: what nccl.c calls (cuda_kernels.h), and the one call that starts any. */
#include "kernels/cuda/cuda_kernels.h"

#include "gpu/device.h"
#include "kernels/cuda/internal.h"

/* Of a kernel that loops: enough to fill any GPU, few enough to start quickly. */
#define MOST_BLOCKS 4096

uint64_t cb_cuda_blocks(uint64_t count)
{
    uint64_t blocks = (count + CB_CUDA_BLOCK - 1) / CB_CUDA_BLOCK;
    return blocks < 1 ? 1 : blocks > MOST_BLOCKS ? MOST_BLOCKS : blocks;
}

int cb_cuda_launch(const void *stub, uint64_t blocks, const void *args, cudaStream_t stream,
                   struct cb_error *err)
{
    dim3 grid = {(unsigned)blocks, 1, 1}, block = {CB_CUDA_BLOCK, 1, 1};
    void *pointers[1] = {(void *)(uintptr_t)args};
    return cb_cuda_check((int)cudaLaunchKernel(stub, grid, block, pointers, 0, stream),
                         "cudaLaunchKernel", err);
}

int cb_cuda_fill_moved(void *data, uint64_t count, size_t element_bytes, uint64_t seed, int owner,
                       uint64_t first, struct CUstream_st *stream, struct cb_error *err)
{
    struct cb_cuda_moved args = {.data = data,
                                 .count = count,
                                 .first = first,
                                 .key = cb_pattern_key(seed, (uint32_t)owner + 1),
                                 .element_bytes = (uint32_t)element_bytes};
    return cb_cuda_launch(CB_CUDA_STUB(fill_moved), cb_cuda_blocks(count), &args, stream, err);
}

int cb_cuda_check_moved(const void *data, uint64_t count, size_t element_bytes, uint64_t seed,
                        int owner, uint64_t first, uint64_t *wrong, struct CUstream_st *stream,
                        struct cb_error *err)
{
    struct cb_cuda_moved args = {.data = (void *)(uintptr_t)data,
                                 .count = count,
                                 .first = first,
                                 .wrong = wrong,
                                 .key = cb_pattern_key(seed, (uint32_t)owner + 1),
                                 .element_bytes = (uint32_t)element_bytes};
    return cb_cuda_launch(CB_CUDA_STUB(check_moved), cb_cuda_blocks(count), &args, stream, err);
}

int cb_cuda_fill_reduced(void *data, uint64_t count, enum cb_dtype dtype, uint64_t seed, int owner,
                         int ranks, uint64_t first, struct CUstream_st *stream,
                         struct cb_error *err)
{
    struct cb_cuda_reduced args = {.pattern = cb_pattern_reduced_make(dtype, seed, ranks),
                                   .data = data,
                                   .count = count,
                                   .first = first,
                                   .owner = owner,
                                   .dtype = dtype};
    return cb_cuda_launch(CB_CUDA_STUB(fill_reduced), cb_cuda_blocks(count), &args, stream, err);
}

int cb_cuda_check_reduced(const void *data, uint64_t count, enum cb_dtype dtype, int maximum,
                          uint64_t seed, int ranks, uint64_t first, uint64_t *wrong,
                          struct CUstream_st *stream, struct cb_error *err)
{
    struct cb_cuda_reduced args = {.pattern = cb_pattern_reduced_make(dtype, seed, ranks),
                                   .data = (void *)(uintptr_t)data,
                                   .count = count,
                                   .first = first,
                                   .wrong = wrong,
                                   .maximum = maximum,
                                   .dtype = dtype};
    return cb_cuda_launch(CB_CUDA_STUB(check_reduced), cb_cuda_blocks(count), &args, stream, err);
}

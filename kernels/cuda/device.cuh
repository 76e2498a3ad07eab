/* What every file of device code starts with. A kernel's name is not mangled, so that the host can
 * start it by a plain declaration (kernel_args.h). */
#ifndef CB_KERNELS_CUDA_DEVICE_CUH
#define CB_KERNELS_CUDA_DEVICE_CUH

#include <stdint.h>

#include "kernels/cuda/kernel_args.h"

#define CB_CUDA_KERNEL(name, args_struct)                                                          \
    extern "C" __global__ void __launch_bounds__(CB_CUDA_BLOCK)                                    \
        cb_cuda_k_##name(const struct args_struct args)

__device__ static inline uint64_t thread_index()
{
    return (uint64_t)blockIdx.x * CB_CUDA_BLOCK + threadIdx.x;
}

__device__ static inline uint64_t thread_count()
{
    return (uint64_t)gridDim.x * CB_CUDA_BLOCK;
}

__device__ static inline uint64_t sum_of_warp(uint64_t value)
{
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_down_sync(0xffffffffu, value, distance);
    return value;
}

/* Adds each thread's count to *total; the whole warp calls it. */
__device__ static inline void add_wrong(uint64_t *total, uint64_t wrong)
{
    wrong = sum_of_warp(wrong);
    if (threadIdx.x % 32 == 0 && wrong > 0)
        atomicAdd((unsigned long long *)total, (unsigned long long)wrong);
}

/* Adds each thread's sum to the block's slot; the whole block calls it. */
__device__ static inline void add_sum(uint32_t *sums, uint32_t sum)
{
    __shared__ uint32_t of_warp[CB_CUDA_BLOCK / 32];
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, distance);
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < CB_CUDA_BLOCK / 32; i++)
            sum += of_warp[i];
        atomicAdd(&sums[blockIdx.x % CB_CUDA_SUMS], sum);
    }
}

#endif

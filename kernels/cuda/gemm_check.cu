/* The matrices of GEMM and the checks of its product. Not timed. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "kernels/cuda/device.cuh"

__device__ static uint64_t load_bits(const void *data, enum cb_dtype dtype, uint64_t i)
{
    switch (dtype) {
    case CB_DTYPE_FLOAT64:
        return ((const uint64_t *)data)[i];
    case CB_DTYPE_FLOAT16:
    case CB_DTYPE_BFLOAT16:
        return ((const uint16_t *)data)[i];
    case CB_DTYPE_FLOAT8_E4M3:
        return ((const uint8_t *)data)[i];
    default:
        return ((const uint32_t *)data)[i];
    }
}

__device__ static double value_of(uint64_t bits, enum cb_dtype dtype)
{
    switch (dtype) {
    case CB_DTYPE_FLOAT64:
        return __longlong_as_double((long long)bits);
    case CB_DTYPE_FLOAT16:
        return __half2float(__ushort_as_half((unsigned short)bits));
    case CB_DTYPE_BFLOAT16:
        return __uint_as_float((uint32_t)bits << 16);
    case CB_DTYPE_FLOAT8_E4M3:
        return __half2float(__half(__nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)bits, __NV_E4M3)));
    default:
        return __uint_as_float((uint32_t)bits);
    }
}

__device__ static double load(const void *data, enum cb_dtype dtype, uint64_t i)
{
    return value_of(load_bits(data, dtype, i), dtype);
}

__device__ static void store(void *data, enum cb_dtype dtype, uint64_t i, double value)
{
    switch (dtype) {
    case CB_DTYPE_FLOAT64:
        ((double *)data)[i] = value;
        break;
    case CB_DTYPE_FLOAT16:
        ((uint16_t *)data)[i] = __half_as_ushort(__float2half_rn((float)value));
        break;
    case CB_DTYPE_BFLOAT16:
        ((uint16_t *)data)[i] = __bfloat16_as_ushort(__float2bfloat16_rn((float)value));
        break;
    case CB_DTYPE_FLOAT8_E4M3:
        ((uint8_t *)data)[i] = __nv_cvt_float_to_fp8((float)value, __NV_SATFINITE, __NV_E4M3);
        break;
    case CB_DTYPE_TF32: /* 10 bits of mantissa */
        ((uint32_t *)data)[i] = __float_as_uint((float)value) & ~0x1fffu;
        break;
    default:
        ((float *)data)[i] = (float)value;
        break;
    }
}

CB_CUDA_KERNEL(matrix_fill, cb_cuda_matrix_fill)
{
    for (uint64_t i = thread_index(); i < args.count; i += thread_count())
        store(args.data, args.dtype, i, cb_cuda_matrix_element(args.key, i));
}

CB_CUDA_KERNEL(project, cb_cuda_project)
{
    for (uint64_t k = thread_index(); k < args.order; k += thread_count()) {
        double sums[CB_CUDA_VECTORS] = {0};
        for (uint64_t i = 0; i < args.order; i++) {
            double a = load(args.a, args.dtype, i * args.order + k);
            for (uint32_t v = 0; v < CB_CUDA_VECTORS; v++)
                sums[v] += cb_cuda_sign(v, i) * a;
        }
        for (uint32_t v = 0; v < CB_CUDA_VECTORS; v++)
            args.z[v * args.order + k] = sums[v];
    }
}

__device__ static double sum_of_warp(double value)
{
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_down_sync(0xffffffffu, value, distance);
    return value;
}

#define WARPS (CB_CUDA_BLOCK / 32)

/* One block a row, in turns. */
CB_CUDA_KERNEL(check_rows, cb_cuda_check_rows)
{
    __shared__ double differences[CB_CUDA_VECTORS][WARPS];
    __shared__ uint64_t digests[WARPS];
    const uint64_t order = args.order;
    for (uint64_t j = blockIdx.x; j < order; j += gridDim.x) {
        double difference[CB_CUDA_VECTORS] = {0};
        uint64_t digest = 0;
        for (uint64_t i = threadIdx.x; i < order; i += CB_CUDA_BLOCK) {
            uint64_t bits = load_bits(args.dt, args.out_dtype, j * order + i);
            double d = value_of(bits, args.out_dtype);
            double b = load(args.bt, args.dtype, j * order + i);
            digest += cb_cuda_digest_term(bits, i);
            for (uint32_t v = 0; v < CB_CUDA_VECTORS; v++)
                difference[v] += cb_cuda_sign(v, i) * d - args.z[v * order + i] * b;
        }
        digest = sum_of_warp(digest);
        for (int v = 0; v < CB_CUDA_VECTORS; v++)
            difference[v] = sum_of_warp(difference[v]);
        if (threadIdx.x % 32 == 0) {
            digests[threadIdx.x / 32] = digest;
            for (int v = 0; v < CB_CUDA_VECTORS; v++)
                differences[v][threadIdx.x / 32] = difference[v];
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            bool wrong = false;
            for (int v = 0; v < CB_CUDA_VECTORS; v++) {
                double sum = 0;
                for (int w = 0; w < WARPS; w++)
                    sum += differences[v][w];
                wrong = wrong || !(fabs(sum) <= args.tolerance); /* NaN is wrong */
            }
            digest = 0;
            for (int w = 0; w < WARPS; w++)
                digest += digests[w];
            if (!args.known)
                args.digest[j] = digest;
            else
                wrong = wrong || args.digest[j] != digest;
            if (wrong)
                atomicAdd((unsigned long long *)args.wrong, 1ull);
        }
        __syncthreads();
    }
}

/* One warp a place, in turns. */
CB_CUDA_KERNEL(check_places, cb_cuda_check_places)
{
    const uint64_t order = args.order, lane = threadIdx.x % 32;
    uint64_t wrong = 0;
    for (uint64_t p = thread_index() / 32; p < args.count; p += thread_count() / 32) {
        uint64_t i = cb_pattern_low(0x1b873593u, p) % order;
        uint64_t j = cb_pattern_low(0xcc9e2d51u, p) % order;
        double sum = 0;
        for (uint64_t k = lane; k < order; k += 32)
            sum +=
                load(args.a, args.dtype, i * order + k) * load(args.bt, args.dtype, j * order + k);
        sum = sum_of_warp(sum);
        double d = load(args.dt, args.out_dtype, j * order + i);
        wrong += lane == 0 && !(fabs(sum - d) <= args.tolerance);
    }
    add_wrong(args.wrong, wrong);
}

/* What CUDA gives device code, for a C++ compiler of the host: included before a .cu file, it runs
 * on grid.h and copy_engine.h. Conversions between types are those of CUDA's own headers, which
 * have them for the host too. */
#ifndef SIMGPU_DEVICE_H
#define SIMGPU_DEVICE_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <vector_functions.h>
#include <vector_types.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "device/copy_engine.h"
#include "device/grid.h"

/* As nvcc has it where it compiles for compute capability 9.0. */
#define __CUDACC__ 1
#define __CUDA_ARCH__ 900

#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __shared__
#define __shared__ static __attribute__((section("simgpu_shared")))

#define threadIdx simgpu_place.thread
#define blockIdx simgpu_place.block
#define gridDim simgpu_place.grid

#define SIMGPU_TEXT(line) #line
#define SIMGPU_LINE(line) SIMGPU_TEXT(line)
#define __syncthreads() simgpu_sync(__FILE__ ":" SIMGPU_LINE(__LINE__))
#define __shfl_down_sync(lanes, value, distance)                                                   \
    simgpu_shuffle(lanes, value, distance, __FILE__ ":" SIMGPU_LINE(__LINE__))

template <typename To, typename From> static inline To simgpu_bits(From from)
{
    static_assert(sizeof(To) <= 8 && sizeof(From) <= 8, "values of a register or two");
    To to{};
    memcpy(&to, &from, sizeof(To) < sizeof(From) ? sizeof(To) : sizeof(From));
    return to;
}

template <typename Value>
static inline Value simgpu_shuffle(unsigned lanes, Value value, unsigned distance,
                                   const char *where)
{
    return simgpu_bits<Value>(
        simgpu_shuffle_down(lanes, simgpu_bits<uint64_t>(value), distance, where));
}

template <typename Value> static inline Value atomicAdd(Value *to, Value value)
{
    Value before = *to;
    *to += value;
    return before;
}

template <typename Value> static inline Value __ldcs(const Value *from)
{
    return *from;
}

template <typename Value> static inline void __stcs(Value *to, Value value)
{
    *to = value;
}

static inline unsigned __float_as_uint(float value)
{
    return simgpu_bits<unsigned>(value);
}

static inline float __uint_as_float(unsigned bits)
{
    return simgpu_bits<float>(bits);
}

static inline long long __double_as_longlong(double value)
{
    return simgpu_bits<long long>(value);
}

static inline double __longlong_as_double(long long bits)
{
    return simgpu_bits<double>(bits);
}

/* ---- in place of kernels/cuda/bulk.cuh ---- */

#define CB_KERNELS_CUDA_BULK_CUH
#define CB_CUDA_HAS_BULK 1

static inline void bulk_fence()
{
    simgpu_engine_fence();
}

static inline void bulk_barrier_init(uint64_t *barrier)
{
    simgpu_engine_barrier_init(barrier, 1);
}

static inline void bulk_barrier_init_fence()
{
    simgpu_engine_barrier_init_fence();
}

static inline void bulk_barrier_expect(uint64_t *barrier, uint32_t bytes)
{
    simgpu_engine_barrier_expect(barrier, bytes);
}

static inline bool bulk_barrier_try(uint64_t *barrier, uint32_t parity)
{
    return simgpu_engine_barrier_try(barrier, parity);
}

static inline void bulk_load(void *shared, const void *global, uint32_t bytes, uint64_t *barrier)
{
    simgpu_engine_load(shared, global, bytes, barrier);
}

static inline void bulk_store(void *global, const void *shared, uint32_t bytes)
{
    simgpu_engine_store(global, shared, bytes);
}

static inline void bulk_commit()
{
    simgpu_engine_commit();
}

template <int GROUPS> static inline void bulk_wait()
{
    simgpu_engine_wait(GROUPS);
}

template <int GROUPS> static inline void bulk_wait_read()
{
    simgpu_engine_wait_read(GROUPS);
}

#endif

/* The copy engine of compute capability 9.0 and later, one function an instruction. Copies between
 * global memory and a block's shared memory run beside its threads: those into shared memory report
 * the bytes that have arrived to a barrier in shared memory, those out of it belong to groups of
 * the thread that started them. Every address and every count of bytes is a multiple of 16.
 * Instructions and their meaning: PTX ISA, "Data movement and conversion instructions:
 * asynchronous copy" and "Parallel synchronization: mbarrier". */
#ifndef CB_KERNELS_CUDA_BULK_CUH
#define CB_KERNELS_CUDA_BULK_CUH

#include <stdint.h>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define CB_CUDA_HAS_BULK 1
#else
#define CB_CUDA_HAS_BULK 0
#endif

#if CB_CUDA_HAS_BULK

__device__ static uint32_t bulk_address(const void *shared)
{
    return (uint32_t)__cvta_generic_to_shared(shared);
}

/* Orders what this thread did to shared memory before what the engine does to it later. */
__device__ static void bulk_fence()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* ---- barriers: 8 bytes of shared memory; a phase ends when `arrivals` threads have arrived and
 * all bytes that they expected are there ---- */

__device__ static void bulk_barrier_init(uint64_t *barrier)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bulk_address(barrier)) : "memory");
}

/* After the last init: makes the barriers known to the engine. */
__device__ static void bulk_barrier_init_fence()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/* Arrives, and adds bytes to what the phase waits for. */
__device__ static void bulk_barrier_expect(uint64_t *barrier, uint32_t bytes)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bulk_address(barrier)),
        "r"(bytes)
        : "memory");
}

/* Whether the phase of that parity (0 the first, 1 the second, 0 the third...) has ended; waits a
 * while for it, so the answer may be no and the caller asks again. */
__device__ static bool bulk_barrier_try(uint64_t *barrier, uint32_t parity)
{
    uint32_t done;
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n"
                 "}"
                 : "=r"(done)
                 : "r"(bulk_address(barrier)), "r"(parity)
                 : "memory");
    return done;
}

/* ---- copies ---- */

__device__ static void bulk_load(void *shared, const void *global, uint32_t bytes,
                                 uint64_t *barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(bulk_address(shared)),
                 "l"(global), "r"(bytes), "r"(bulk_address(barrier))
                 : "memory");
}

__device__ static void bulk_store(void *global, const void *shared, uint32_t bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global),
                 "r"(bulk_address(shared)), "r"(bytes)
                 : "memory");
}

/* Makes a group of the stores that this thread started since the last one. */
__device__ static void bulk_commit()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/* Wait until all but the latest GROUPS groups of this thread are done; read: are done with shared
 * memory, so that it may be written again. */
template <int GROUPS> __device__ static void bulk_wait()
{
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(GROUPS) : "memory");
}

template <int GROUPS> __device__ static void bulk_wait_read()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(GROUPS) : "memory");
}

#endif

#endif

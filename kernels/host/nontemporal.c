/* Stores past the caches: the one file of the host kernels that knows an architecture. */
#include "kernels/host/loops.h"

#if defined(__x86_64__)

#include <immintrin.h>

/* SSE2, which every x86-64 has. */
#define WIDTH 16
#define REAL float
#define NAME(x) x##_sse2_float32
#define TARGET
#define STORE(p, v) _mm_stream_ps((float *)(p), (__m128)(v))
#define FENCE() _mm_sfence()
#include "kernels/host/loops_template.h"

#define WIDTH 16
#define REAL double
#define NAME(x) x##_sse2_float64
#define TARGET
#define STORE(p, v) _mm_stream_pd((double *)(p), (__m128d)(v))
#define FENCE() _mm_sfence()
#include "kernels/host/loops_template.h"

#define WIDTH 32
#define REAL float
#define NAME(x) x##_avx_float32
#define TARGET __attribute__((target("avx")))
#define STORE(p, v) _mm256_stream_ps((float *)(p), (__m256)(v))
#define FENCE() _mm_sfence()
#include "kernels/host/loops_template.h"

#define WIDTH 32
#define REAL double
#define NAME(x) x##_avx_float64
#define TARGET __attribute__((target("avx")))
#define STORE(p, v) _mm256_stream_pd((double *)(p), (__m256d)(v))
#define FENCE() _mm_sfence()
#include "kernels/host/loops_template.h"

cb_stream_loop *cb_stream_nontemporal_loop(enum cb_kernel kernel, enum cb_dtype dtype)
{
    static cb_stream_loop *const loops[2][CB_KERNEL_COUNT][2] = {
        {
            [CB_KERNEL_WRITE] = {write_sse2_float32, write_sse2_float64},
            [CB_KERNEL_COPY] = {copy_sse2_float32, copy_sse2_float64},
            [CB_KERNEL_TRIAD] = {triad_sse2_float32, triad_sse2_float64},
        },
        {
            [CB_KERNEL_WRITE] = {write_avx_float32, write_avx_float64},
            [CB_KERNEL_COPY] = {copy_avx_float32, copy_avx_float64},
            [CB_KERNEL_TRIAD] = {triad_avx_float32, triad_avx_float64},
        },
    };
    return loops[__builtin_cpu_supports("avx") != 0][kernel][dtype == CB_DTYPE_FLOAT64];
}

#else

cb_stream_loop *cb_stream_nontemporal_loop(enum cb_kernel kernel, enum cb_dtype dtype)
{
    (void)kernel, (void)dtype;
    return NULL;
}

#endif

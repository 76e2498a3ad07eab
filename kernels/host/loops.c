#include "kernels/host/loops.h"

/* 16 bytes: the vector that every 64-bit architecture of today has (SSE2, NEON, VSX). Wider ones
 * do not make memory faster. */
#define WIDTH 16
#define REAL float
#define NAME(x) x##_float32
#define TARGET
#define STORE(p, v) (*(p) = (v))
#define FENCE() ((void)0)
#include "kernels/host/loops_template.h"

#define WIDTH 16
#define REAL double
#define NAME(x) x##_float64
#define TARGET
#define STORE(p, v) (*(p) = (v))
#define FENCE() ((void)0)
#include "kernels/host/loops_template.h"

/* Eight accumulators: two additions a cycle of latency four keep eight in flight, and fewer would
 * time the adder instead of the memory. */
#define ACCUMULATORS 8

#define DEFINE_READ(real, name)                                                                    \
    static void read_##name(struct cb_stream_chunk *chunk)                                         \
    {                                                                                              \
        const vector_##name *from = chunk->from;                                                   \
        vector_##name sums[ACCUMULATORS] = {{0}};                                                  \
        for (size_t i = 0; i < chunk->size_bytes / sizeof(*from); i += ACCUMULATORS)               \
            for (size_t k = 0; k < ACCUMULATORS; k++)                                              \
                sums[k] += from[i + k];                                                            \
        for (size_t k = 1; k < ACCUMULATORS; k++)                                                  \
            sums[0] += sums[k];                                                                    \
        real sum = 0;                                                                              \
        for (size_t k = 0; k < sizeof(*from) / sizeof(real); k++)                                  \
            sum += sums[0][k];                                                                     \
        chunk->sum = sum;                                                                          \
    }
DEFINE_READ(float, float32)
DEFINE_READ(double, float64)

cb_stream_loop *cb_stream_plain_loop(enum cb_kernel kernel, enum cb_dtype dtype)
{
    static cb_stream_loop *const loops[CB_KERNEL_COUNT][2] = {
        [CB_KERNEL_READ] = {read_float32, read_float64},
        [CB_KERNEL_WRITE] = {write_float32, write_float64},
        [CB_KERNEL_COPY] = {copy_float32, copy_float64},
        [CB_KERNEL_TRIAD] = {triad_float32, triad_float64},
    };
    return loops[kernel][dtype == CB_DTYPE_FLOAT64];
}

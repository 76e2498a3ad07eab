/* The loops for one element type and one way to store; included several times, by loops.c and
 * nontemporal.c, which define
 *
 *   REAL         float or double
 *   WIDTH        bytes of one vector
 *   NAME(x)      the name of a function or type of this instance
 *   TARGET       function attributes
 *   STORE(p, v)  stores vector v at p
 *   FENCE()      makes the stores of a loop visible before it returns
 *
 * The vectors are the compiler's own, so the loops do not hang on the auto-vectoriser; the empty
 * asm keeps compilers from replacing copy and write by memcpy and memset, whose stores may be
 * non-temporal or not as the C library pleases. */

#define UNROLL (128 / WIDTH)

typedef REAL NAME(vector) __attribute__((vector_size(WIDTH), may_alias));

TARGET static void NAME(write)(struct cb_stream_chunk *chunk)
{
    NAME(vector) *to = chunk->to;
    const NAME(vector) value = (NAME(vector)){0} + (REAL)chunk->scalar;
    for (size_t i = 0; i < chunk->size_bytes / WIDTH; i += UNROLL) {
        __asm__ volatile("");
        for (size_t k = 0; k < UNROLL; k++)
            STORE(to + i + k, value);
    }
    FENCE();
}

TARGET static void NAME(copy)(struct cb_stream_chunk *chunk)
{
    NAME(vector) *restrict to = chunk->to;
    const NAME(vector) *restrict from = chunk->from;
    for (size_t i = 0; i < chunk->size_bytes / WIDTH; i += UNROLL) {
        __asm__ volatile("");
        for (size_t k = 0; k < UNROLL; k++)
            STORE(to + i + k, from[i + k]);
    }
    FENCE();
}

TARGET static void NAME(triad)(struct cb_stream_chunk *chunk)
{
    NAME(vector) *restrict to = chunk->to;
    const NAME(vector) *restrict from = chunk->from;
    const NAME(vector) *restrict scaled = chunk->scaled;
    const REAL scalar = (REAL)chunk->scalar;
    for (size_t i = 0; i < chunk->size_bytes / WIDTH; i += UNROLL)
        for (size_t k = 0; k < UNROLL; k++)
            STORE(to + i + k, from[i + k] + scalar * scaled[i + k]);
    FENCE();
}

#undef UNROLL
#undef REAL
#undef WIDTH
#undef NAME
#undef TARGET
#undef STORE
#undef FENCE

/* The arithmetic behind the data that travel when a step is checked (transport/pattern.h), apart
 * from any loop, so that a GPU's kernels make and expect the very same bits. For C and CUDA C++.
 *
 * Moved data: all bits of every element are pseudo-random.
 *
 * Reduced data, wide types (float32, float64, int32): rank r gives base(i) + (r mod 16) x step(i).
 * The sum over n ranks is n base + step x sum of (r mod 16): a closed form, so that checking costs
 * the same for any number of ranks. With k = ceil(log2 n) and base < 2^(M-1-k), step < 2^(M-5-k),
 * every partial sum stays below 2^M: exact for a mantissa of M bits.
 *
 * Reduced data, narrow types (16 and 8 bits): there is no room for every rank, so at each place
 * `givers` of them give base(i) and the rest give 0. Who gives moves on from place to place, so
 * over a vector every rank is missed when it is missing. There are at most 2^h givers, h half of M
 * rounded down, and base is below 2^(M-h): exact too. */
#ifndef CB_BASE_PATTERN_MATH_H
#define CB_BASE_PATTERN_MATH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"

#ifdef __CUDACC__
#define CB_PATTERN static __host__ __device__ inline
#else
#define CB_PATTERN static inline
#endif

enum { CB_PATTERN_WEIGHTS = 16, CB_PATTERN_WEIGHT_BITS = 4 };

/* A 32-bit finaliser (the constants of MurmurHash3's fmix32): every input bit reaches every output
 * bit, and it vectorises. */
CB_PATTERN uint32_t cb_pattern_mix(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    x ^= x >> 16;
    return x;
}

/* One key per owner; key 0 belongs to what all owners share. */
CB_PATTERN uint32_t cb_pattern_key(uint64_t seed, uint32_t owner_plus_one)
{
    return cb_pattern_mix((uint32_t)seed ^
                          cb_pattern_mix((uint32_t)(seed >> 32) + 0x9e3779b9u * owner_plus_one));
}

CB_PATTERN uint32_t cb_pattern_low(uint32_t key, uint64_t place)
{
    return cb_pattern_mix(key + (uint32_t)place * 0x9e3779b1u);
}

CB_PATTERN uint32_t cb_pattern_high(uint32_t key, uint64_t place)
{
    return cb_pattern_mix((key ^ 0x5bd1e995u) + (uint32_t)place * 0x85ebca77u +
                          (uint32_t)(place >> 32));
}

CB_PATTERN uint64_t cb_pattern_wide(uint32_t key, uint64_t place)
{
    return (uint64_t)cb_pattern_high(key, place) << 32 | cb_pattern_low(key, place);
}

/* What reduced data depend on; plain data, so that it can be a kernel's argument. */
struct cb_pattern_reduced {
    uint64_t base_mask, step_mask;
    uint64_t ranks, weight_sum, weight_max;
    uint32_t key;
    uint32_t givers; /* 0: a wide type */
};

CB_PATTERN int cb_pattern_mantissa_bits(enum cb_dtype dtype)
{
    switch (dtype) {
    case CB_DTYPE_FLOAT64:
        return 53;
    case CB_DTYPE_INT32:
        return 31;
    case CB_DTYPE_FLOAT16:
        return 11;
    case CB_DTYPE_BFLOAT16:
        return 8;
    case CB_DTYPE_FLOAT8_E4M3:
        return 4;
    case CB_DTYPE_FLOAT8_E5M2:
        return 3;
    default:
        return 24;
    }
}

CB_PATTERN struct cb_pattern_reduced cb_pattern_reduced_make(enum cb_dtype dtype, uint64_t seed,
                                                             int ranks)
{
    struct cb_pattern_reduced p;
    int bits = cb_pattern_mantissa_bits(dtype), rank_bits = 0;
    while ((1 << rank_bits) < ranks)
        rank_bits++;
    int base_bits = bits - 1 - rank_bits;
    int step_bits = base_bits - CB_PATTERN_WEIGHT_BITS;
    uint64_t n = (uint64_t)ranks;
    uint64_t whole = n / CB_PATTERN_WEIGHTS, rest = n % CB_PATTERN_WEIGHTS;
    p.key = cb_pattern_key(seed, 0);
    p.ranks = n;
    p.weight_sum =
        whole * (CB_PATTERN_WEIGHTS * (CB_PATTERN_WEIGHTS - 1) / 2) + rest * (rest - 1) / 2;
    p.weight_max = n < CB_PATTERN_WEIGHTS ? n - 1 : CB_PATTERN_WEIGHTS - 1;
    p.givers = 0;
    if (bits < 24) {
        uint32_t most = 1u << bits / 2;
        p.givers = n < most ? (uint32_t)n : most;
        base_bits = bits - bits / 2;
        step_bits = 0;
    }
    p.base_mask = (1ull << base_bits) - 1;
    p.step_mask = step_bits > 0 ? (1ull << step_bits) - 1 : 0;
    return p;
}

CB_PATTERN uint64_t cb_pattern_base(const struct cb_pattern_reduced *p, uint64_t place)
{
    return cb_pattern_wide(p->key, place) & p->base_mask;
}

CB_PATTERN uint64_t cb_pattern_step(const struct cb_pattern_reduced *p, uint64_t place)
{
    return cb_pattern_wide(p->key ^ 0xa5a5a5a5u, place) & p->step_mask;
}

/* What rank owner gives at a place: a whole number, exact in the type. */
CB_PATTERN uint64_t cb_pattern_sent(const struct cb_pattern_reduced *p, int owner, uint64_t place)
{
    if (p->givers > 0) {
        uint64_t turn = (place + (uint64_t)owner) % p->ranks;
        return turn < p->givers ? cb_pattern_base(p, place) : 0;
    }
    return cb_pattern_base(p, place) +
           (uint64_t)owner % CB_PATTERN_WEIGHTS * cb_pattern_step(p, place);
}

/* What the combination over all ranks is: the sum, or (maximum) the largest. */
CB_PATTERN uint64_t cb_pattern_expected(const struct cb_pattern_reduced *p, bool maximum,
                                        uint64_t place)
{
    uint64_t base = cb_pattern_base(p, place);
    if (p->givers > 0)
        return maximum ? base : p->givers * base;
    if (maximum)
        return base + p->weight_max * cb_pattern_step(p, place);
    return p->ranks * base + p->weight_sum * cb_pattern_step(p, place);
}

/* The bits of a whole number below 2^M in a narrow type (M its mantissa bits, the leading one
 * included): the exponent is the place of the highest bit, the rest is shifted up behind it. */
CB_PATTERN uint32_t cb_pattern_narrow_bits(enum cb_dtype dtype, uint32_t value)
{
    int fraction_bits = cb_pattern_mantissa_bits(dtype) - 1;
    uint32_t bias = dtype == CB_DTYPE_FLOAT16       ? 15
                    : dtype == CB_DTYPE_BFLOAT16    ? 127
                    : dtype == CB_DTYPE_FLOAT8_E4M3 ? 7
                                                    : 15;
    if (value == 0)
        return 0;
    int exponent = 0;
    while (value >> (exponent + 1))
        exponent++;
    uint32_t fraction = (value << (fraction_bits - exponent)) & ((1u << fraction_bits) - 1);
    return (bias + (uint32_t)exponent) << fraction_bits | fraction;
}

#endif

#include "transport/pattern.h"

/* A 32-bit finaliser (the constants of MurmurHash3's fmix32): every input bit reaches every output
 * bit, and it vectorises. */
static inline uint32_t mix(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    x ^= x >> 16;
    return x;
}

/* One key per owner; key 0 belongs to what all owners share. */
static uint32_t make_key(uint64_t seed, uint32_t owner_plus_one)
{
    return mix((uint32_t)seed ^ mix((uint32_t)(seed >> 32) + 0x9e3779b9u * owner_plus_one));
}

static inline uint32_t random_low(uint32_t key, uint64_t place)
{
    return mix(key + (uint32_t)place * 0x9e3779b1u);
}

static inline uint32_t random_high(uint32_t key, uint64_t place)
{
    return mix((key ^ 0x5bd1e995u) + (uint32_t)place * 0x85ebca77u + (uint32_t)(place >> 32));
}

static inline uint64_t random_wide(uint32_t key, uint64_t place)
{
    return (uint64_t)random_high(key, place) << 32 | random_low(key, place);
}

/* ---- moved data ---- */

void cb_pattern_fill_moved(void *data, size_t count, size_t element_bytes, uint64_t seed, int owner,
                           uint64_t first)
{
    uint32_t key = make_key(seed, (uint32_t)owner + 1);
    if (element_bytes == 2)
        for (size_t i = 0; i < count; i++)
            ((uint16_t *)data)[i] = (uint16_t)random_low(key, first + i);
    else if (element_bytes == 4)
        for (size_t i = 0; i < count; i++)
            ((uint32_t *)data)[i] = random_low(key, first + i);
    else
        for (size_t i = 0; i < count; i++)
            ((uint64_t *)data)[i] = random_wide(key, first + i);
}

uint64_t cb_pattern_check_moved(const void *data, size_t count, size_t element_bytes, uint64_t seed,
                                int owner, uint64_t first)
{
    uint32_t key = make_key(seed, (uint32_t)owner + 1);
    uint64_t wrong = 0;
    if (element_bytes == 2)
        for (size_t i = 0; i < count; i++)
            wrong += ((const uint16_t *)data)[i] != (uint16_t)random_low(key, first + i);
    else if (element_bytes == 4)
        for (size_t i = 0; i < count; i++)
            wrong += ((const uint32_t *)data)[i] != random_low(key, first + i);
    else
        for (size_t i = 0; i < count; i++)
            wrong += ((const uint64_t *)data)[i] != random_wide(key, first + i);
    return wrong;
}

/* ---- reduced data ----
 *
 * Rank r gives base(i) + (r mod 16) x step(i). The sum over n ranks is n base + step x sum of (r
 * mod 16): a closed form, so that checking costs the same for any number of ranks. With k =
 * ceil(log2 n) and base < 2^(M-1-k), step < 2^(M-5-k), every partial sum stays below 2^M: exact for
 * a mantissa of M bits. */

enum { WEIGHTS = 16, WEIGHT_BITS = 4 };

struct reduced {
    uint32_t key;
    uint64_t base_mask, step_mask;
    uint64_t ranks, weight_sum, weight_max;
};

static const int mantissa_bits[CB_DTYPE_COUNT] = {
    [CB_DTYPE_FLOAT32] = 24, [CB_DTYPE_FLOAT64] = 53, [CB_DTYPE_INT32] = 31};

static struct reduced reduced_make(enum cb_dtype dtype, uint64_t seed, int ranks)
{
    int rank_bits = 0;
    while ((1 << rank_bits) < ranks)
        rank_bits++;
    int base_bits = mantissa_bits[dtype] - 1 - rank_bits;
    int step_bits = base_bits - WEIGHT_BITS;
    uint64_t n = (uint64_t)ranks, whole = n / WEIGHTS, rest = n % WEIGHTS;
    return (struct reduced){
        .key = make_key(seed, 0),
        .base_mask = (1ull << base_bits) - 1,
        .step_mask = step_bits > 0 ? (1ull << step_bits) - 1 : 0,
        .ranks = n,
        .weight_sum = whole * (WEIGHTS * (WEIGHTS - 1) / 2) + rest * (rest - 1) / 2,
        .weight_max = n < WEIGHTS ? n - 1 : WEIGHTS - 1,
    };
}

static inline uint64_t reduced_base(const struct reduced *p, uint64_t place)
{
    return random_wide(p->key, place) & p->base_mask;
}

static inline uint64_t reduced_step(const struct reduced *p, uint64_t place)
{
    return random_wide(p->key ^ 0xa5a5a5a5u, place) & p->step_mask;
}

static inline uint64_t reduced_sent(const struct reduced *p, uint64_t weight, uint64_t place)
{
    return reduced_base(p, place) + weight * reduced_step(p, place);
}

static inline uint64_t reduced_expected(const struct reduced *p, enum cb_redop redop,
                                        uint64_t place)
{
    if (redop == CB_REDOP_MAX)
        return reduced_sent(p, p->weight_max, place);
    return p->ranks * reduced_base(p, place) + p->weight_sum * reduced_step(p, place);
}

void cb_pattern_fill_reduced(void *data, size_t count, enum cb_dtype dtype, uint64_t seed,
                             int owner, int ranks, uint64_t first)
{
    struct reduced p = reduced_make(dtype, seed, ranks);
    uint64_t weight = (uint64_t)owner % WEIGHTS;
    if (dtype == CB_DTYPE_FLOAT32)
        for (size_t i = 0; i < count; i++)
            ((float *)data)[i] = (float)(int64_t)reduced_sent(&p, weight, first + i);
    else if (dtype == CB_DTYPE_FLOAT64)
        for (size_t i = 0; i < count; i++)
            ((double *)data)[i] = (double)(int64_t)reduced_sent(&p, weight, first + i);
    else
        for (size_t i = 0; i < count; i++)
            ((int32_t *)data)[i] = (int32_t)reduced_sent(&p, weight, first + i);
}

uint64_t cb_pattern_check_reduced(const void *data, size_t count, enum cb_dtype dtype,
                                  enum cb_redop redop, uint64_t seed, int ranks, uint64_t first)
{
    struct reduced p = reduced_make(dtype, seed, ranks);
    uint64_t right = 0; /* counted this way round so that NaN is wrong */
    if (dtype == CB_DTYPE_FLOAT32)
        for (size_t i = 0; i < count; i++)
            right +=
                ((const float *)data)[i] == (float)(int64_t)reduced_expected(&p, redop, first + i);
    else if (dtype == CB_DTYPE_FLOAT64)
        for (size_t i = 0; i < count; i++)
            right += ((const double *)data)[i] ==
                     (double)(int64_t)reduced_expected(&p, redop, first + i);
    else
        for (size_t i = 0; i < count; i++)
            right += ((const int32_t *)data)[i] == (int32_t)reduced_expected(&p, redop, first + i);
    return count - right;
}

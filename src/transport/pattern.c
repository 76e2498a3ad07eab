#include "transport/pattern.h"

#include "base/pattern_math.h"

/* ---- moved data ---- */

void cb_pattern_fill_moved(void *data, size_t count, size_t element_bytes, uint64_t seed, int owner,
                           uint64_t first)
{
    uint32_t key = cb_pattern_key(seed, (uint32_t)owner + 1);
    if (element_bytes == 1)
        for (size_t i = 0; i < count; i++)
            ((uint8_t *)data)[i] = (uint8_t)cb_pattern_low(key, first + i);
    else if (element_bytes == 2)
        for (size_t i = 0; i < count; i++)
            ((uint16_t *)data)[i] = (uint16_t)cb_pattern_low(key, first + i);
    else if (element_bytes == 4)
        for (size_t i = 0; i < count; i++)
            ((uint32_t *)data)[i] = cb_pattern_low(key, first + i);
    else
        for (size_t i = 0; i < count; i++)
            ((uint64_t *)data)[i] = cb_pattern_wide(key, first + i);
}

uint64_t cb_pattern_check_moved(const void *data, size_t count, size_t element_bytes, uint64_t seed,
                                int owner, uint64_t first)
{
    uint32_t key = cb_pattern_key(seed, (uint32_t)owner + 1);
    uint64_t wrong = 0;
    if (element_bytes == 1)
        for (size_t i = 0; i < count; i++)
            wrong += ((const uint8_t *)data)[i] != (uint8_t)cb_pattern_low(key, first + i);
    else if (element_bytes == 2)
        for (size_t i = 0; i < count; i++)
            wrong += ((const uint16_t *)data)[i] != (uint16_t)cb_pattern_low(key, first + i);
    else if (element_bytes == 4)
        for (size_t i = 0; i < count; i++)
            wrong += ((const uint32_t *)data)[i] != cb_pattern_low(key, first + i);
    else
        for (size_t i = 0; i < count; i++)
            wrong += ((const uint64_t *)data)[i] != cb_pattern_wide(key, first + i);
    return wrong;
}

/* ---- reduced data ---- */

void cb_pattern_fill_reduced(void *data, size_t count, enum cb_dtype dtype, uint64_t seed,
                             int owner, int ranks, uint64_t first)
{
    struct cb_pattern_reduced p = cb_pattern_reduced_make(dtype, seed, ranks);
    size_t element_bytes = cb_dtype_size_bytes(dtype);
    for (size_t i = 0; i < count; i++) {
        uint64_t value = cb_pattern_sent(&p, owner, first + i);
        if (dtype == CB_DTYPE_FLOAT32)
            ((float *)data)[i] = (float)(int64_t)value;
        else if (dtype == CB_DTYPE_FLOAT64)
            ((double *)data)[i] = (double)(int64_t)value;
        else if (dtype == CB_DTYPE_INT32)
            ((int32_t *)data)[i] = (int32_t)value;
        else if (element_bytes == 2)
            ((uint16_t *)data)[i] = (uint16_t)cb_pattern_narrow_bits(dtype, (uint32_t)value);
        else
            ((uint8_t *)data)[i] = (uint8_t)cb_pattern_narrow_bits(dtype, (uint32_t)value);
    }
}

uint64_t cb_pattern_check_reduced(const void *data, size_t count, enum cb_dtype dtype,
                                  enum cb_redop redop, uint64_t seed, int ranks, uint64_t first)
{
    struct cb_pattern_reduced p = cb_pattern_reduced_make(dtype, seed, ranks);
    size_t element_bytes = cb_dtype_size_bytes(dtype);
    uint64_t right = 0; /* counted this way round so that NaN is wrong */
    for (size_t i = 0; i < count; i++) {
        uint64_t value = cb_pattern_expected(&p, redop == CB_REDOP_MAX, first + i);
        if (dtype == CB_DTYPE_FLOAT32)
            right += ((const float *)data)[i] == (float)(int64_t)value;
        else if (dtype == CB_DTYPE_FLOAT64)
            right += ((const double *)data)[i] == (double)(int64_t)value;
        else if (dtype == CB_DTYPE_INT32)
            right += ((const int32_t *)data)[i] == (int32_t)value;
        else if (element_bytes == 2)
            right += ((const uint16_t *)data)[i] ==
                     (uint16_t)cb_pattern_narrow_bits(dtype, (uint32_t)value);
        else
            right += ((const uint8_t *)data)[i] ==
                     (uint8_t)cb_pattern_narrow_bits(dtype, (uint32_t)value);
    }
    return count - right;
}

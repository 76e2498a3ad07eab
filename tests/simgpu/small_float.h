/* Floating-point types that C has not got, as bit patterns. */
#ifndef SIMGPU_SMALL_FLOAT_H
#define SIMGPU_SMALL_FLOAT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

struct simgpu_small {
    int exponent_bits, mantissa_bits;
    bool has_infinity; /* else the largest exponent holds numbers, and all ones is the only NaN */
};

static const struct simgpu_small simgpu_float16 = {5, 10, true};
static const struct simgpu_small simgpu_bfloat16 = {8, 7, true};
static const struct simgpu_small simgpu_float8_e4m3 = {4, 3, false};
static const struct simgpu_small simgpu_float8_e5m2 = {5, 2, true};

static inline double simgpu_small_decode(uint32_t bits, const struct simgpu_small *type)
{
    uint32_t mantissa_mask = (1u << type->mantissa_bits) - 1;
    uint32_t exponent_mask = (1u << type->exponent_bits) - 1;
    uint32_t mantissa = bits & mantissa_mask;
    uint32_t exponent = bits >> type->mantissa_bits & exponent_mask;
    int bias = (int)(exponent_mask >> 1);
    double sign = bits >> (type->mantissa_bits + type->exponent_bits) & 1u ? -1.0 : 1.0;
    if (exponent == exponent_mask && type->has_infinity)
        return mantissa != 0 ? (double)NAN : sign * (double)INFINITY;
    if (exponent == exponent_mask && mantissa == mantissa_mask)
        return (double)NAN;
    if (exponent == 0)
        return sign * ldexp(mantissa, 1 - bias - type->mantissa_bits);
    union {
        uint64_t bits;
        double value;
    } wide = {(uint64_t)(uint32_t)((int)exponent - bias + 1023) << 52 |
              (uint64_t)mantissa << (52 - type->mantissa_bits)};
    return sign * wide.value;
}

/* Rounds to nearest, ties to even; too large becomes infinity, or the largest where there is none
 * (as CUDA's conversions of 8-bit types do). */
static inline uint32_t simgpu_small_encode(double value, const struct simgpu_small *type)
{
    uint32_t exponent_mask = (1u << type->exponent_bits) - 1;
    uint32_t mantissa_mask = (1u << type->mantissa_bits) - 1;
    uint32_t sign = signbit(value) ? 1u << (type->mantissa_bits + type->exponent_bits) : 0;
    uint32_t largest = (exponent_mask << type->mantissa_bits) - 1;
    if (!type->has_infinity)
        largest = (exponent_mask << type->mantissa_bits) + mantissa_mask - 1;
    if (isnan(value))
        return sign | exponent_mask << type->mantissa_bits | mantissa_mask;
    int bias = (int)(exponent_mask >> 1), exponent;
    value = fabs(value);
    if (value == 0)
        return sign;
    if (isinf(value))
        return sign | (type->has_infinity ? largest + 1 : largest);
    frexp(value, &exponent); /* value in [2^(exponent-1), 2^exponent) */
    int scale = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    uint64_t units = (uint64_t)nearbyint(ldexp(value, type->mantissa_bits - scale));
    /* A carry into the next exponent, or from subnormal to normal, is the right sum by itself. */
    uint64_t bits = units + ((uint64_t)(scale + bias - 1) << type->mantissa_bits);
    if (bits > largest)
        bits = type->has_infinity ? largest + 1 : largest;
    return sign | (uint32_t)bits;
}

#endif

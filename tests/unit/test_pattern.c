#include "cb_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/pattern_math.h"
#include "transport/pattern.h"

enum { COUNT = 1000 };

/* Those in which every rank gives at every place, and those with room for some only. */
static const enum cb_dtype wide[] = {CB_DTYPE_FLOAT32, CB_DTYPE_FLOAT64, CB_DTYPE_INT32};
static const enum cb_dtype narrow[] = {CB_DTYPE_FLOAT16, CB_DTYPE_BFLOAT16, CB_DTYPE_FLOAT8_E4M3,
                                       CB_DTYPE_FLOAT8_E5M2};
static const enum cb_dtype reducible[] = {
    CB_DTYPE_FLOAT32,  CB_DTYPE_FLOAT64,     CB_DTYPE_INT32,      CB_DTYPE_FLOAT16,
    CB_DTYPE_BFLOAT16, CB_DTYPE_FLOAT8_E4M3, CB_DTYPE_FLOAT8_E5M2};
enum {
    WIDE = sizeof(wide) / sizeof(wide[0]),
    NARROW = sizeof(narrow) / sizeof(narrow[0]),
    REDUCIBLE = sizeof(reducible) / sizeof(reducible[0])
};

static void test_moved_data_round_trip(void **state)
{
    (void)state;
    uint64_t data[COUNT];
    const size_t sizes[] = {1, 2, 4, 8};
    for (size_t i = 0; i < 4; i++) {
        cb_pattern_fill_moved(data, COUNT, sizes[i], 7, 3, 11);
        assert_int_equal(cb_pattern_check_moved(data, COUNT, sizes[i], 7, 3, 11), 0);
    }
}

/* One flipped bit anywhere is one wrong element: every byte counts. */
static void test_every_byte_of_moved_data_counts(void **state)
{
    (void)state;
    uint64_t data[COUNT];
    const size_t sizes[] = {1, 2, 4, 8};
    for (size_t i = 0; i < 4; i++) {
        cb_pattern_fill_moved(data, COUNT, sizes[i], 7, 3, 0);
        for (size_t byte = 0; byte < COUNT * sizes[i]; byte++) {
            ((unsigned char *)data)[byte] ^= 0x10;
            assert_int_equal(cb_pattern_check_moved(data, COUNT, sizes[i], 7, 3, 0), 1);
            ((unsigned char *)data)[byte] ^= 0x10;
        }
    }
}

/* Data of another rank, another step or shifted by one are wrong nearly everywhere. */
static void test_moved_data_from_elsewhere_are_wrong(void **state)
{
    (void)state;
    uint32_t data[COUNT];
    cb_pattern_fill_moved(data, COUNT, 4, 7, 3, 0);
    assert_true(cb_pattern_check_moved(data, COUNT, 4, 7, 2, 0) > COUNT - 5);
    assert_true(cb_pattern_check_moved(data, COUNT, 4, 8, 3, 0) > COUNT - 5);
    assert_true(cb_pattern_check_moved(data, COUNT, 4, 7, 3, 1) > COUNT - 5);
    assert_true(cb_pattern_check_moved(data, COUNT, 4, 7ull << 32, 3, 0) > COUNT - 5);
}

/* The value of a pattern of bits of a narrow type, from the formats' definitions: IEEE 754's for
 * float16, its upper half for bfloat16, the OCP 8-bit specification for float8. */
static double narrow_value(enum cb_dtype dtype, uint32_t bits)
{
    static const struct {
        int exponent_bits, fraction_bits;
    } formats[CB_DTYPE_COUNT] = {[CB_DTYPE_FLOAT16] = {5, 10},
                                 [CB_DTYPE_BFLOAT16] = {8, 7},
                                 [CB_DTYPE_FLOAT8_E4M3] = {4, 3},
                                 [CB_DTYPE_FLOAT8_E5M2] = {5, 2}};
    int fraction_bits = formats[dtype].fraction_bits;
    int exponent = (int)(bits >> fraction_bits);
    int bias = (1 << (formats[dtype].exponent_bits - 1)) - 1;
    double fraction = bits & ((1u << fraction_bits) - 1);
    return exponent == 0 ? ldexp(fraction, 1 - bias - fraction_bits)
                         : ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

static double get(const void *data, enum cb_dtype dtype, size_t i)
{
    switch (dtype) {
    case CB_DTYPE_FLOAT32:
        return ((const float *)data)[i];
    case CB_DTYPE_FLOAT64:
        return ((const double *)data)[i];
    case CB_DTYPE_INT32:
        return ((const int32_t *)data)[i];
    case CB_DTYPE_FLOAT16:
    case CB_DTYPE_BFLOAT16:
        return narrow_value(dtype, ((const uint16_t *)data)[i]);
    default:
        return narrow_value(dtype, ((const uint8_t *)data)[i]);
    }
}

/* Sums in the type itself; a narrow one would round what it cannot hold, so that must not come up.
 */
static void set(void *data, enum cb_dtype dtype, size_t i, double value)
{
    uint32_t bits;
    switch (dtype) {
    case CB_DTYPE_FLOAT32:
        ((float *)data)[i] = (float)value;
        return;
    case CB_DTYPE_FLOAT64:
        ((double *)data)[i] = value;
        return;
    case CB_DTYPE_INT32:
        ((int32_t *)data)[i] = (int32_t)value;
        return;
    default:
        bits = cb_pattern_narrow_bits(dtype, (uint32_t)value);
        assert_true(narrow_value(dtype, bits) == value);
        if (cb_dtype_size_bytes(dtype) == 2)
            ((uint16_t *)data)[i] = (uint16_t)bits;
        else
            ((uint8_t *)data)[i] = (uint8_t)bits;
    }
}

static void add(void *data, const void *more, enum cb_dtype dtype, int is_max)
{
    for (size_t i = 0; i < COUNT; i++) {
        double a = get(data, dtype, i), b = get(more, dtype, i);
        if (!is_max)
            set(data, dtype, i, a + b);
        else if (b > a)
            set(data, dtype, i, b);
    }
}

/* Known patterns of the formats. */
static void test_whole_numbers_in_narrow_types(void **state)
{
    (void)state;
    assert_int_equal(cb_pattern_narrow_bits(CB_DTYPE_FLOAT16, 0), 0);
    assert_int_equal(cb_pattern_narrow_bits(CB_DTYPE_FLOAT16, 1), 0x3c00);
    assert_int_equal(cb_pattern_narrow_bits(CB_DTYPE_FLOAT16, 2047), 0x67ff);
    assert_int_equal(cb_pattern_narrow_bits(CB_DTYPE_BFLOAT16, 1), 0x3f80);
    assert_int_equal(cb_pattern_narrow_bits(CB_DTYPE_BFLOAT16, 255), 0x437f);
    assert_int_equal(cb_pattern_narrow_bits(CB_DTYPE_FLOAT8_E4M3, 1), 0x38);
    assert_int_equal(cb_pattern_narrow_bits(CB_DTYPE_FLOAT8_E4M3, 15), 0x57);
    assert_int_equal(cb_pattern_narrow_bits(CB_DTYPE_FLOAT8_E5M2, 7), 0x47);
    for (size_t d = 0; d < NARROW; d++)
        for (uint32_t value = 0; value < 1u << cb_pattern_mantissa_bits(narrow[d]); value++)
            assert_true(narrow_value(narrow[d], cb_pattern_narrow_bits(narrow[d], value)) == value);
}

/* The closed form agrees with adding up rank by rank in the type itself, for few and many ranks. */
static void test_reduction_is_exact(void **state)
{
    (void)state;
    const int ranks[] = {1, 2, 3, 16, 17, 64, 1000, 4096};
    double sum[COUNT], more[COUNT];
    for (size_t d = 0; d < REDUCIBLE; d++)
        for (size_t n = 0; n < sizeof(ranks) / sizeof(ranks[0]); n++)
            for (int is_max = 0; is_max < 2; is_max++) {
                cb_pattern_fill_reduced(sum, COUNT, reducible[d], 5, 0, ranks[n], 40);
                for (int r = 1; r < ranks[n]; r++) {
                    cb_pattern_fill_reduced(more, COUNT, reducible[d], 5, r, ranks[n], 40);
                    add(sum, more, reducible[d], is_max);
                }
                assert_int_equal(cb_pattern_check_reduced(sum, COUNT, reducible[d],
                                                          is_max ? CB_REDOP_MAX : CB_REDOP_SUM, 5,
                                                          ranks[n], 40),
                                 0);
            }
}

static void test_missing_or_doubled_rank_is_wrong(void **state)
{
    (void)state;
    double sum[COUNT], more[COUNT];
    for (size_t d = 0; d < WIDE; d++) {
        cb_pattern_fill_reduced(sum, COUNT, wide[d], 5, 0, 3, 0);
        cb_pattern_fill_reduced(more, COUNT, wide[d], 5, 1, 3, 0);
        add(sum, more, wide[d], 0);
        assert_true(cb_pattern_check_reduced(sum, COUNT, wide[d], CB_REDOP_SUM, 5, 3, 0) >
                    COUNT - 10);
        add(sum, more, wide[d], 0);
        assert_true(cb_pattern_check_reduced(sum, COUNT, wide[d], CB_REDOP_SUM, 5, 3, 0) >
                    COUNT - 10);
    }
}

/* In a narrow type a rank gives at some places only, but whichever rank is missing is missed. */
static void test_any_missing_rank_is_missed_in_narrow_types(void **state)
{
    (void)state;
    enum { RANKS = 40 };
    double sum[COUNT], more[COUNT];
    for (size_t d = 0; d < NARROW; d++)
        for (int missing = 0; missing < RANKS; missing++) {
            memset(sum, 0, sizeof(sum));
            for (int r = 0; r < RANKS; r++) {
                cb_pattern_fill_reduced(more, COUNT, narrow[d], 5, r, RANKS, 0);
                if (r != missing)
                    add(sum, more, narrow[d], 0);
            }
            uint64_t wrong =
                cb_pattern_check_reduced(sum, COUNT, narrow[d], CB_REDOP_SUM, 5, RANKS, 0);
            assert_in_range(wrong, COUNT / RANKS, COUNT - 1);
        }
}

static void test_not_a_number_is_wrong(void **state)
{
    (void)state;
    float data[COUNT];
    cb_pattern_fill_reduced(data, COUNT, CB_DTYPE_FLOAT32, 5, 0, 1, 0);
    data[17] = NAN;
    assert_int_equal(cb_pattern_check_reduced(data, COUNT, CB_DTYPE_FLOAT32, CB_REDOP_SUM, 5, 1, 0),
                     1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moved_data_round_trip),
        cmocka_unit_test(test_every_byte_of_moved_data_counts),
        cmocka_unit_test(test_moved_data_from_elsewhere_are_wrong),
        cmocka_unit_test(test_reduction_is_exact),
        cmocka_unit_test(test_whole_numbers_in_narrow_types),
        cmocka_unit_test(test_missing_or_doubled_rank_is_wrong),
        cmocka_unit_test(test_any_missing_rank_is_missed_in_narrow_types),
        cmocka_unit_test(test_not_a_number_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

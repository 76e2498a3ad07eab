#include "cb_test.h"

#include <stdlib.h>
#include <string.h>

#include "transport/pattern.h"

enum { COUNT = 1000 };

static const enum cb_dtype reducible[] = {CB_DTYPE_FLOAT32, CB_DTYPE_FLOAT64, CB_DTYPE_INT32};
enum { REDUCIBLE = sizeof(reducible) / sizeof(reducible[0]) };

static void test_moved_data_round_trip(void **state)
{
    (void)state;
    uint64_t data[COUNT];
    const size_t sizes[] = {2, 4, 8};
    for (size_t i = 0; i < 3; i++) {
        cb_pattern_fill_moved(data, COUNT, sizes[i], 7, 3, 11);
        assert_int_equal(cb_pattern_check_moved(data, COUNT, sizes[i], 7, 3, 11), 0);
    }
}

/* One flipped bit anywhere is one wrong element: every byte counts. */
static void test_every_byte_of_moved_data_counts(void **state)
{
    (void)state;
    uint64_t data[COUNT];
    const size_t sizes[] = {2, 4, 8};
    for (size_t i = 0; i < 3; i++) {
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

static double get(const void *data, enum cb_dtype dtype, size_t i)
{
    if (dtype == CB_DTYPE_FLOAT32)
        return ((const float *)data)[i];
    return dtype == CB_DTYPE_FLOAT64 ? ((const double *)data)[i] : ((const int32_t *)data)[i];
}

static void add(void *data, const void *more, enum cb_dtype dtype, int is_max)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (is_max) {
            if (get(more, dtype, i) > get(data, dtype, i))
                memcpy((char *)data + i * cb_dtype_size_bytes(dtype),
                       (const char *)more + i * cb_dtype_size_bytes(dtype),
                       cb_dtype_size_bytes(dtype));
        } else if (dtype == CB_DTYPE_FLOAT32) {
            ((float *)data)[i] += ((const float *)more)[i];
        } else if (dtype == CB_DTYPE_FLOAT64) {
            ((double *)data)[i] += ((const double *)more)[i];
        } else {
            ((int32_t *)data)[i] += ((const int32_t *)more)[i];
        }
    }
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
    for (size_t d = 0; d < REDUCIBLE; d++) {
        cb_pattern_fill_reduced(sum, COUNT, reducible[d], 5, 0, 3, 0);
        cb_pattern_fill_reduced(more, COUNT, reducible[d], 5, 1, 3, 0);
        add(sum, more, reducible[d], 0);
        assert_true(cb_pattern_check_reduced(sum, COUNT, reducible[d], CB_REDOP_SUM, 5, 3, 0) >
                    COUNT - 10);
        add(sum, more, reducible[d], 0);
        assert_true(cb_pattern_check_reduced(sum, COUNT, reducible[d], CB_REDOP_SUM, 5, 3, 0) >
                    COUNT - 10);
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
        cmocka_unit_test(test_missing_or_doubled_rank_is_wrong),
        cmocka_unit_test(test_not_a_number_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

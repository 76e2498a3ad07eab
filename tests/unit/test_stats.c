#include "cb_test.h"

#include <stdlib.h>

#include "measure/sampler.h"
#include "measure/stats.h"

/* Hyndman and Fan type 7, the values NumPy gives for [1, 2, 4, 8, 16]. */
static void test_quantiles_are_type_7(void **state)
{
    (void)state;
    const double values[] = {1, 2, 4, 8, 16};
    assert_near(cb_stats_quantile(values, 5, 0.5), 4, 0);
    assert_near(cb_stats_quantile(values, 5, 0.1), 1.4, 1e-12);
    assert_near(cb_stats_quantile(values, 5, 0.9), 12.8, 1e-12);
    assert_near(cb_stats_quantile(values, 5, 0), 1, 0);
    assert_near(cb_stats_quantile(values, 5, 1), 16, 0);
    assert_near(cb_stats_quantile(values, 1, 0.9), 1, 0);
}

/* The published table of sign-test intervals for the median: order statistics (from 1) and n. */
static void test_median_interval_against_the_published_table(void **state)
{
    (void)state;
    const struct {
        size_t count;
        long lower_from_1;
    } table[] = {{6, 1},  {7, 1},  {8, 1},  {9, 2},   {10, 2},  {11, 2},  {12, 3},
                 {15, 4}, {20, 6}, {25, 8}, {30, 10}, {50, 18}, {100, 40}};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(cb_stats_median_ci95_index(i), -1);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        assert_int_equal(cb_stats_median_ci95_index(table[i].count) + 1, table[i].lower_from_1);
    /* The approximation takes over without a jump. */
    assert_true(labs(cb_stats_median_ci95_index(1001) - cb_stats_median_ci95_index(1000)) <= 1);
}

static void test_summary_does_not_depend_on_order(void **state)
{
    (void)state;
    double forward[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    double shuffled[] = {7, 1, 10, 3, 9, 2, 8, 6, 4, 5};
    struct cb_time_stats a, b;
    cb_stats_summarise(forward, 10, &a);
    cb_stats_summarise(shuffled, 10, &b);
    assert_memory_equal(&a, &b, sizeof(a));
    assert_near(a.median_s, 5.5, 0);
    assert_near(a.min_s, 1, 0);
    assert_near(a.max_s, 10, 0);
    assert_near(a.ci95_relative, (9.0 - 2.0) / 2 / 5.5, 1e-12);
}

static void test_relative_interval_scales_away(void **state)
{
    (void)state;
    double values[12], scaled[12];
    for (int i = 0; i < 12; i++) {
        values[i] = 1 + 0.01 * i;
        scaled[i] = values[i] * 1e-6;
    }
    assert_near(cb_stats_median_ci95_relative(scaled, 12),
                cb_stats_median_ci95_relative(values, 12), 1e-9);
}

/* The interval holds the true median about as often as it says: 95 % or more, by a seeded draw. */
static void test_interval_covers(void **state)
{
    (void)state;
    srand(1);
    int covered = 0;
    enum { DRAWS = 2000, SIZE = 15 };
    for (int draw = 0; draw < DRAWS; draw++) {
        double values[SIZE];
        struct cb_time_stats stats;
        for (int i = 0; i < SIZE; i++)
            values[i] = -log((rand() + 1.0) / (RAND_MAX + 2.0)); /* exponential: median ln 2 */
        cb_stats_summarise(values, SIZE, &stats);
        long k = cb_stats_median_ci95_index(SIZE);
        covered += values[k] <= log(2) && log(2) <= values[SIZE - 1 - k];
    }
    assert_true(covered >= DRAWS * 0.94);
    assert_true(covered <= DRAWS * 0.98);
}

static struct cb_sampler_policy policy(void)
{
    return cb_sampler_policy_default(1.0);
}

static void add_many(struct cb_sampler *sampler, double value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        cb_sampler_add(sampler, &value, 1);
}

static void test_sampler_settles_on_steady_samples(void **state)
{
    (void)state;
    struct cb_error err;
    struct cb_sampler_policy p = policy();
    struct cb_sampler sampler;
    size_t batch = 0;
    assert_ok(cb_sampler_init(&sampler, &p, &err), &err);
    assert_int_equal(cb_sampler_decide(&sampler, 0, &batch), CB_SAMPLER_GO_ON);
    assert_int_equal(batch, 6);
    add_many(&sampler, 0.001, 5);
    assert_int_equal(cb_sampler_decide(&sampler, 0.005, &batch), CB_SAMPLER_GO_ON);
    assert_int_equal(batch, 1);
    add_many(&sampler, 0.001, 1);
    assert_int_equal(cb_sampler_decide(&sampler, 0.006, &batch), CB_SAMPLER_SETTLED);
    cb_sampler_fini(&sampler);
}

static void test_sampler_stops_noisy_at_its_time_box(void **state)
{
    (void)state;
    struct cb_error err;
    struct cb_sampler_policy p = policy();
    struct cb_sampler sampler;
    size_t batch = 0;
    assert_ok(cb_sampler_init(&sampler, &p, &err), &err);
    for (int i = 0; i < 8; i++)
        add_many(&sampler, i % 2 ? 0.1 : 0.2, 1);
    assert_int_equal(cb_sampler_decide(&sampler, 0.9, &batch), CB_SAMPLER_GO_ON);
    assert_true(batch >= 1);
    assert_int_equal(cb_sampler_decide(&sampler, 1.0, &batch), CB_SAMPLER_NOISY);
    cb_sampler_fini(&sampler);
}

/* An operation longer than the box still gets its six samples, up to the hard box. */
static void test_slow_operations_get_their_samples(void **state)
{
    (void)state;
    struct cb_error err;
    struct cb_sampler_policy p = policy();
    struct cb_sampler sampler;
    size_t batch = 0;
    assert_ok(cb_sampler_init(&sampler, &p, &err), &err);
    add_many(&sampler, 2.0, 3);
    assert_int_equal(cb_sampler_decide(&sampler, 6.0, &batch), CB_SAMPLER_GO_ON);
    assert_int_equal(batch, 1); /* one at a time: a stop request is seen in between */
    assert_int_equal(cb_sampler_decide(&sampler, 40.0, &batch), CB_SAMPLER_NOISY);
    cb_sampler_fini(&sampler);
}

static void test_sampler_never_exceeds_its_most(void **state)
{
    (void)state;
    struct cb_error err;
    struct cb_sampler_policy p = policy();
    p.max_samples = 10;
    struct cb_sampler sampler;
    size_t batch = 0;
    assert_ok(cb_sampler_init(&sampler, &p, &err), &err);
    for (int i = 0; i < 9; i++)
        add_many(&sampler, i % 2 ? 1e-6 : 2e-6, 1);
    assert_int_equal(cb_sampler_decide(&sampler, 1e-5, &batch), CB_SAMPLER_GO_ON);
    assert_int_equal(batch, 1);
    add_many(&sampler, 3e-6, 5);
    assert_int_equal(sampler.count, 10);
    assert_int_equal(cb_sampler_decide(&sampler, 1e-5, &batch), CB_SAMPLER_NOISY);
    cb_sampler_fini(&sampler);
}

static void test_operations_per_sample(void **state)
{
    (void)state;
    assert_int_equal(cb_sampler_operations(0x1p-20, 0x1p-10), 1024);
    assert_int_equal(cb_sampler_operations(3e-4, 1e-3), 4);
    assert_int_equal(cb_sampler_operations(2, 1e-3), 1);
    assert_int_equal(cb_sampler_operations(1e-12, 1e-3), 100000);
    assert_int_equal(cb_sampler_operations(0, 1e-3), 100000);
}

/* Feeds times until the search ends; returns the number of operations found. */
static int calibrate(const double *times_s, size_t count, double target_s, size_t *used)
{
    struct cb_calibration calibration = {.operations = 1};
    for (*used = 0; *used < count;)
        if (cb_calibration_step(&calibration, times_s[(*used)++], target_s))
            break;
    return calibration.operations;
}

/* A 12 us operation whose first run was held up for 4 ms is still a 12 us operation. */
static void test_one_delay_does_not_pass_for_a_slow_operation(void **state)
{
    (void)state;
    const double times_s[] = {4e-3, 12e-6, 12.5e-6, 12.5e-6, 12.5e-6};
    size_t used;
    assert_int_equal(calibrate(times_s, 5, 600e-6, &used), 50);
    assert_int_equal(used, 3);
}

static void test_calibration_approaches_from_a_cold_start(void **state)
{
    (void)state;
    /* Cold 100 us, then 1 us (2^-20 s). */
    const double times_s[] = {100e-6, 2e-6, 0x1p-20, 0x1p-20, 0x1p-20};
    size_t used;
    assert_int_equal(calibrate(times_s, 5, 0x1p-10, &used), 1024);
    assert_int_equal(used, 4);
}

static void test_slow_operations_are_not_repeated_for_calibration(void **state)
{
    (void)state;
    const double slow_s[] = {0.5, 0.5, 0.5}, middle_s[] = {0.02, 0.02, 0.02, 0.02, 0.02};
    size_t used;
    assert_int_equal(calibrate(slow_s, 3, 1e-3, &used), 1);
    assert_int_equal(used, 1);
    assert_int_equal(calibrate(middle_s, 5, 1e-3, &used), 1);
    assert_int_equal(used, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantiles_are_type_7),
        cmocka_unit_test(test_median_interval_against_the_published_table),
        cmocka_unit_test(test_summary_does_not_depend_on_order),
        cmocka_unit_test(test_relative_interval_scales_away),
        cmocka_unit_test(test_interval_covers),
        cmocka_unit_test(test_sampler_settles_on_steady_samples),
        cmocka_unit_test(test_sampler_stops_noisy_at_its_time_box),
        cmocka_unit_test(test_slow_operations_get_their_samples),
        cmocka_unit_test(test_sampler_never_exceeds_its_most),
        cmocka_unit_test(test_operations_per_sample),
        cmocka_unit_test(test_one_delay_does_not_pass_for_a_slow_operation),
        cmocka_unit_test(test_calibration_approaches_from_a_cold_start),
        cmocka_unit_test(test_slow_operations_are_not_repeated_for_calibration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

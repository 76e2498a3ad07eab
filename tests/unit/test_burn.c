/* Burns: the figures that a log comes down to, by hand; and the loop, over kernels and a driver's
 * library that the test makes up, on one rank. */
#include "cb_test.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_nvml.h"
#include "measure/burn.h"
#include "measure/burn_log.h"
#include "transport/coordinator.h"

/* ---- a world of one rank ---- */

int cb_group_max(struct cb_group *group, double *values, size_t count, struct cb_error *err)
{
    (void)group, (void)values, (void)count, (void)err;
    return CB_OK;
}

int cb_group_gather(struct cb_group *group, const void *mine, size_t size_bytes, void *all,
                    struct cb_error *err)
{
    (void)group, (void)err;
    memcpy(all, mine, size_bytes);
    return CB_OK;
}

int cb_group_agree(struct cb_group *group, int code, struct cb_error *err)
{
    (void)group, (void)err;
    return code;
}

/* ---- logs ---- */

static struct cb_gpu_sample *add_sample(struct cb_burn_log *log, double time_s)
{
    struct cb_gpu_sample *sample = cb_vec_add(&log->samples);
    if (!sample)
        abort();
    *sample = (struct cb_gpu_sample){.time_s = time_s,
                                     .sm_clock_hz = 1400e6,
                                     .memory_clock_hz = 1593e6,
                                     .power_w = 400,
                                     .temperature_celsius = 60,
                                     .utilization = 1,
                                     .pcie_generation = 4,
                                     .pcie_width = 16,
                                     .throttle = CB_THROTTLE_POWER_CAP};
    return sample;
}

static void add_span(struct cb_burn_log *log, double time_s, double flops_per_s)
{
    struct cb_burn_span *span = cb_vec_add(&log->spans);
    if (!span)
        abort();
    *span = (struct cb_burn_span){.time_s = time_s, .flops_per_s = flops_per_s};
}

static void summarise(const struct cb_burn_log *log, double elapsed_s, struct cb_burn_row *row)
{
    struct cb_error err = {0};
    *row = (struct cb_burn_row){.elapsed_s = elapsed_s};
    assert_ok(cb_burn_summarise(log, row, &err), &err);
}

static void test_warm_up(void **state)
{
    (void)state;
    assert_near(cb_burn_warm_up_s(60), 6, 1e-12);
    assert_near(cb_burn_warm_up_s(1200), 120, 1e-12);
    assert_near(cb_burn_warm_up_s(86400), 120, 1e-12);
}

/* 101 samples of 1300 to 1400 MHz in steps of 1, one a second: p5 is 1305, p95 1395. */
static void test_clock(void **state)
{
    (void)state;
    struct cb_burn_log log = {.samples = {.count = 0}};
    struct cb_burn_row row;
    for (int i = 0; i < 12; i++)
        add_sample(&log, i * 0.9)->sm_clock_hz = 210e6; /* idle, then warming up */
    for (int i = 0; i <= 100; i++)
        add_sample(&log, 11.3 + i)->sm_clock_hz = (1300 + (i * 37) % 101) * 1e6;
    summarise(&log, 113, &row);
    assert_int_equal(row.samples, 101);
    assert_near(row.sm_clock_p5_hz, 1305e6, 1e-12);
    assert_near(row.sm_clock_median_hz, 1350e6, 1e-12);
    assert_near(row.sm_clock_p95_hz, 1395e6, 1e-12);
    assert_near(row.memory_clock_median_hz, 1593e6, 1e-12);
    cb_burn_log_fini(&log);
}

/* Power that swings from 360 to 440 W every second averages to 400 W over ten seconds, to within
 * one sample of eleven: judged by samples it would vary by 10 %. */
static void test_power_is_averaged(void **state)
{
    (void)state;
    struct cb_burn_log log = {.samples = {.count = 0}};
    struct cb_burn_row row;
    for (int i = 0; i <= 100; i++)
        add_sample(&log, i)->power_w = i % 2 ? 440 : 360;
    summarise(&log, 100, &row);
    /* windows of eleven samples: six of one kind, five of the other */
    assert_near(row.power_lowest_w, (6 * 360 + 5 * 440) / 11.0, 1e-12);
    assert_near(row.power_highest_w, (5 * 360 + 6 * 440) / 11.0, 1e-12);
    /* A lasting drop by 10 % shows whole. */
    for (int i = 60; i <= 100; i++)
        log.samples.items[i].power_w = 360;
    for (int i = 0; i < 60; i++)
        log.samples.items[i].power_w = 400;
    summarise(&log, 100, &row);
    assert_near(row.power_lowest_w, 360, 1e-12);
    assert_near(row.power_highest_w, 400, 1e-12);
    cb_burn_log_fini(&log);
}

static void test_power_of_a_short_burn_is_unknown(void **state)
{
    (void)state;
    struct cb_burn_log log = {.samples = {.count = 0}};
    struct cb_burn_row row;
    for (int i = 0; i <= 10; i++)
        add_sample(&log, i);
    summarise(&log, 10, &row); /* nine seconds after the warm-up */
    assert_near(row.power_median_w, -1, 0);
    assert_near(row.power_lowest_w, -1, 0);
    assert_near(row.sm_clock_median_hz, 1400e6, 1e-12);
    cb_burn_log_fini(&log);
}

/* Fifty spans after the warm-up fall from 300 to 251 TFLOP/s. */
static void test_sag(void **state)
{
    (void)state;
    struct cb_burn_log log = {.samples = {.count = 0}};
    struct cb_burn_row row;
    add_span(&log, 1, 900e12); /* before the clock fell: in the warm-up */
    for (int i = 0; i < 50; i++)
        add_span(&log, 6 + i, (300 - i) * 1e12);
    summarise(&log, 56, &row);
    assert_near(row.first_flops_per_s, 295.5e12, 1e-12); /* median of 300 to 291 */
    assert_near(row.last_flops_per_s, 255.5e12, 1e-12);  /* of 260 to 251 */
    assert_near(row.flops_per_s, 275.5e12, 1e-12);
    assert_near(row.sm_clock_median_hz, -1, 0); /* nobody watched */
    assert_int_equal(row.throttle, -1);
    assert_near(row.ecc_uncorrected, -1, 0);
    /* Too few spans have no first and last fifth. */
    log.spans.count = 8;
    summarise(&log, 13, &row);
    assert_near(row.first_flops_per_s, 0, 0);
    assert_true(row.flops_per_s > 0);
    cb_burn_log_fini(&log);
}

static void test_faults(void **state)
{
    (void)state;
    struct cb_burn_log log = {.samples = {.count = 0}};
    struct cb_burn_row row;
    for (int i = 0; i < 100; i++) {
        struct cb_gpu_sample *sample = add_sample(&log, i);
        sample->ecc_corrected = 7 + (i > 3); /* during the warm-up: an error all the same */
        sample->ecc_uncorrected = i >= 50 ? 2 : 0;
        sample->temperature_celsius = 50 + i % 30;
        if (i == 40)
            sample->throttle = CB_THROTTLE_THERMAL;
        if (i == 41)
            sample->throttle = -1; /* untold */
        sample->pcie_generation = i == 20 ? 4 : 1;
        sample->pcie_width = 8;
    }
    summarise(&log, 100, &row);
    assert_int_equal(row.samples, 90);
    assert_int_equal(row.throttle, CB_THROTTLE_POWER_CAP | CB_THROTTLE_THERMAL);
    assert_near(row.throttled_share, 1.0 / 89, 1e-12);
    assert_near(row.ecc_corrected, 1, 0);
    assert_near(row.ecc_uncorrected, 2, 0);
    assert_near(row.temperature_highest_celsius, 79, 0);
    assert_int_equal(row.pcie_generation, 4);
    assert_int_equal(row.pcie_width, 8);
    assert_false(row.lost);
    add_sample(&log, 100)->lost = true;
    summarise(&log, 100, &row);
    assert_true(row.lost);
    cb_burn_log_fini(&log);
}

static void test_thin(void **state)
{
    (void)state;
    struct cb_burn_log log = {.samples = {.count = 0}};
    struct cb_burn_sample points[10];
    for (int i = 0; i < 1000; i++) {
        struct cb_gpu_sample *sample = add_sample(&log, i * 0.1);
        sample->power_w = i < 500 ? 300 : 400;
        sample->throttle = i == 999 ? CB_THROTTLE_POWER_BRAKE : 0;
        sample->temperature_celsius = i % 2 ? -1 : 70; /* what is unknown counts for nothing */
    }
    for (int i = 0; i < 100; i++)
        add_span(&log, i + 0.5, (i + 1) * 1e12);
    assert_int_equal(cb_burn_thin(&log, 3, 100, 10, points), 10);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(points[i].rank, 3);
        assert_near(points[i].gpu.time_s, (i + 1) * 10, 1e-12);
        assert_near(points[i].gpu.power_w, i < 5 ? 300 : 400, 1e-12);
        assert_near(points[i].gpu.temperature_celsius, 70, 1e-12);
        assert_near(points[i].flops_per_s, (i * 10 + 5.5) * 1e12, 1e-12);
        assert_int_equal(points[i].gpu.throttle, i == 9 ? CB_THROTTLE_POWER_BRAKE : 0);
    }
    /* Few looks make few points, not invented ones. */
    cb_burn_log_fini(&log);
    add_span(&log, 2, 5e12);
    assert_int_equal(cb_burn_thin(&log, 0, 100, 10, points), 1);
    assert_near(points[0].gpu.sm_clock_hz, -1, 0);
    assert_near(points[0].flops_per_s, 5e12, 1e-12);
    cb_burn_log_fini(&log);
    assert_int_equal(cb_burn_thin(&log, 0, 100, 10, points), 0);
}

/* ---- the loop ---- */

static struct {
    int runs, verifies, prepared, released;
    int wrong_at; /* this verification finds three wrong elements; 0: none */
    int fails_at; /* this run fails; 0: none */
    bool cannot_prepare;
} fake;

static int prepare(struct cb_kernels *set, enum cb_kernel kernel, enum cb_dtype dtype,
                   struct cb_kernel_work *work, struct cb_error *err)
{
    (void)set, (void)dtype;
    assert_int_equal(kernel, CB_KERNEL_GEMM);
    if (fake.cannot_prepare)
        return cb_fail(err, CB_E_MEMORY, "no memory on the card");
    *work = (struct cb_kernel_work){.flops = 1e9, .variant = "made up"};
    fake.prepared++;
    return CB_OK;
}

/* An operation takes a millisecond of the made-up device and as long of this test. */
static int run(struct cb_kernels *set, int operations, double *elapsed_s, struct cb_error *err)
{
    struct timespec time = {.tv_sec = operations / 1000, .tv_nsec = operations % 1000 * 1000000L};
    (void)set;
    if (++fake.runs == fake.fails_at)
        return cb_fail(err, CB_E_MEASURE, "the card is gone");
    nanosleep(&time, NULL);
    *elapsed_s = operations * 1e-3;
    return CB_OK;
}

static int verify(struct cb_kernels *set, uint64_t *wrong, struct cb_error *err)
{
    (void)set, (void)err;
    *wrong = ++fake.verifies == fake.wrong_at ? 3 : 0;
    return CB_OK;
}

static void release(struct cb_kernels *set)
{
    (void)set;
    fake.released++;
}

static int burn(struct cb_nvml_api *nvml, struct cb_result *result, struct cb_error *err)
{
    static const struct cb_kernel_ops kernels = {
        .name = "fake", .prepare = prepare, .run = run, .verify = verify, .release = release};
    const struct cb_coordinator alone = {.size = 1, .local_size = 1, .node_count = 1};
    const struct cb_burn_config config = {.coordinator = &alone,
                                          .kernels = &kernels,
                                          .dtype = CB_DTYPE_BFLOAT16,
                                          .planned_s = 0.8,
                                          .duration_s = 0.8,
                                          .nvml = nvml,
                                          .no_samples = "no driver here"};
    fake.runs = fake.verifies = fake.prepared = fake.released = 0;
    cb_result_init(result);
    return cb_burn_run(&config, result, err);
}

static void test_burn(void **state)
{
    (void)state;
    struct fake_nvml nvml = {.count = 1, .cards = {fake_a100("0000:07:00.0")}};
    struct cb_nvml_api api;
    struct cb_result result;
    struct cb_error err = {0};
    fake_nvml_fill(&nvml, &api);
    assert_ok(burn(&api, &result, &err), &err);
    assert_int_equal(result.burns.count, 1);
    const struct cb_burn_row *row = &result.burns.items[0];
    assert_int_equal(row->status, CB_STATUS_OK);
    assert_string_equal(row->reason, "");
    assert_string_equal(row->variant, "made up");
    assert_true(row->elapsed_s >= 0.8);
    assert_near(row->flops_per_s, 1e12, 1e-9); /* 1e9 in a millisecond */
    assert_int_equal(row->checks, fake.verifies);
    assert_true(fake.verifies >= 2);
    assert_true(row->samples > 0);
    assert_near(row->sm_clock_median_hz, 210e6, 1e-12);
    assert_true(result.burn_samples.count > 0);
    assert_true(result.burn_samples.count <= CB_BURN_POINTS_OF_RANK);
    assert_int_equal(fake.released, 1);
    cb_result_fini(&result);
}

static void test_burn_unwatched(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_error err = {0};
    assert_ok(burn(NULL, &result, &err), &err);
    const struct cb_burn_row *row = &result.burns.items[0];
    assert_int_equal(row->status, CB_STATUS_OK);
    assert_non_null(strstr(row->reason, "no driver here"));
    assert_int_equal(row->samples, 0);
    assert_near(row->sm_clock_median_hz, -1, 0);
    cb_result_fini(&result);
}

static void test_burn_finds_wrong_products(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_error err = {0};
    fake.wrong_at = 2;
    assert_ok(burn(NULL, &result, &err), &err);
    fake.wrong_at = 0;
    assert_int_equal(result.burns.items[0].status, CB_STATUS_WRONG);
    assert_int_equal(result.burns.items[0].wrong, 3);
    assert_true(fake.verifies > 2); /* it went on */
    cb_result_fini(&result);
}

/* A card that is lost in the middle leaves a row that says so. */
static void test_burn_of_a_lost_card(void **state)
{
    (void)state;
    struct fake_nvml nvml = {.count = 1, .cards = {fake_a100("0000:07:00.0")}};
    struct cb_nvml_api api;
    struct cb_result result;
    struct cb_error err = {0};
    fake_nvml_fill(&nvml, &api);
    nvml.cards[0].samples_until_lost = 1;
    fake.fails_at = 5; /* calibrating takes three */
    assert_int_equal(burn(&api, &result, &err), CB_E_MEASURE);
    fake.fails_at = 0;
    assert_int_equal(result.burns.count, 1);
    const struct cb_burn_row *row = &result.burns.items[0];
    assert_int_equal(row->status, CB_STATUS_FAILED);
    assert_non_null(strstr(row->reason, "the card is gone"));
    assert_true(row->lost);
    assert_int_equal(fake.released, 1);
    cb_result_fini(&result);
}

/* One that cannot start leaves one, too: it was asked for. */
static void test_burn_that_cannot_start(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_error err = {0};
    fake.cannot_prepare = true;
    assert_int_equal(burn(NULL, &result, &err), CB_E_MEMORY);
    fake.cannot_prepare = false;
    assert_int_equal(result.burns.count, 1);
    assert_int_equal(result.burns.items[0].status, CB_STATUS_FAILED);
    assert_string_equal(result.burns.items[0].reason, "no memory on the card");
    assert_int_equal(fake.released, 0);
    cb_result_fini(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_warm_up),
        cmocka_unit_test(test_clock),
        cmocka_unit_test(test_power_is_averaged),
        cmocka_unit_test(test_power_of_a_short_burn_is_unknown),
        cmocka_unit_test(test_sag),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_thin),
        cmocka_unit_test(test_burn),
        cmocka_unit_test(test_burn_unwatched),
        cmocka_unit_test(test_burn_finds_wrong_products),
        cmocka_unit_test(test_burn_of_a_lost_card),
        cmocka_unit_test(test_burn_that_cannot_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

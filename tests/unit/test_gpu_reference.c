/* The reference tables against themselves: figures that follow from others must do so. */
#include "cb_test.h"

#include <stdbool.h>
#include <string.h>

#include "reference/gpus.h"

/* Cards whose tensor peak is not at their highest published clock, and how far below. */
static const struct {
    const char *id;
    double ratio;
} quoted_lower[] = {
    {"h100-sxm5-80gb", 0.924}, /* 989 TFLOPS is quoted at 1830 MHz, the limit is 1980 */
    {"h200-sxm5", 0.924},
    {"b200-sxm", 0.944}, /* 1856 of 1965 */
};

static double ratio_of(const char *id)
{
    for (size_t i = 0; i < sizeof(quoted_lower) / sizeof(quoted_lower[0]); i++)
        if (strcmp(quoted_lower[i].id, id) == 0)
            return quoted_lower[i].ratio;
    return 1;
}

/* peak = 2 x multiprocessors x multiply-adds x clock, so the clock follows from independent facts.
 */
static void test_clock_follows_from_peak(void **state)
{
    (void)state;
    size_t count, checkable = 0, at_boost = 0;
    const struct cb_gpu_reference *gpus = cb_gpu_references(&count);
    assert_int_equal(count, 38);
    for (size_t i = 0; i < count; i++) {
        const struct cb_gpu_reference *gpu = &gpus[i];
        double peak = gpu->peak_flops_per_s[CB_PEAK_FP16];
        int multiply_adds = cb_gpu_reference_multiply_adds(gpu);
        if (peak <= 0 || gpu->sm_count <= 0 || multiply_adds == 0)
            continue;
        checkable++;
        double clock_hz = peak / (2.0 * gpu->sm_count * multiply_adds);
        if (gpu->clock_hz < 0)
            continue;
        double share = clock_hz / gpu->clock_hz;
        if (share < ratio_of(gpu->id) * 0.986 || share > ratio_of(gpu->id) * 1.012)
            fail_msg("%s: its peak is one of %.0f MHz, its clock %.0f", gpu->id, clock_hz / 1e6,
                     gpu->clock_hz / 1e6);
        at_boost += ratio_of(gpu->id) == 1;
    }
    assert_int_equal(checkable, 29);
    assert_int_equal(at_boost, 24);
}

/* By hand: 2 x 108 x 1024 x 1410e6 = 311.87e12. */
static void test_a100_by_hand(void **state)
{
    (void)state;
    const struct cb_gpu_reference *gpu = cb_gpu_reference_find_device(0x20b2);
    assert_non_null(gpu);
    assert_ptr_equal(gpu, cb_gpu_reference_find_name("NVIDIA A100-SXM4-80GB"));
    assert_near(2.0 * gpu->sm_count * cb_gpu_reference_multiply_adds(gpu) * gpu->clock_hz,
                311.869e12, 1e-4);
    assert_near(gpu->memory_bytes_per_s, 2039e9, 1e-12);
    assert_near(gpu->nvlink_bytes_per_s, 300e9, 1e-12); /* 600 GB/s is both ways together */
    assert_near(cb_gpu_reference_peak(gpu, CB_DTYPE_BFLOAT16), 312e12, 1e-12);
    assert_near(cb_gpu_reference_peak(gpu, CB_DTYPE_FLOAT64), 19.5e12, 1e-12);
    assert_near(cb_gpu_reference_peak(gpu, CB_DTYPE_FLOAT8_E4M3), 0, 0);
}

static void test_names_as_people_write_them(void **state)
{
    (void)state;
    static const struct {
        const char *written, *id; /* NULL: nothing, or not one alone */
    } names[] = {
        {"NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"},
        {"a100-sxm4-80gb", "a100-sxm4-80gb"},
        {"A100 SXM4 80GB", "a100-sxm4-80gb"},
        {"H200", "h200-sxm5"},
        {"H800", "h800-sxm5-80gb"},
        {"RTX 4090", "rtx-4090"},
        {"GeForce RTX 4090 D", "rtx-4090-d"},
        {"Tesla T4", "t4"},
        {"L40S", "l40s"},
        {"B300", "b300-sxm"},
        {"A100", NULL},
        {"H100", NULL},
        {"V100-SXM2", NULL},
        {"rtx-pro-6000", NULL},
        {"A100-SXM4-8", NULL}, /* not a whole word */
        {"NVIDIA", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct cb_gpu_reference *gpu = cb_gpu_reference_find(names[i].written);
        if (!gpu != !names[i].id || (gpu && strcmp(gpu->id, names[i].id) != 0))
            fail_msg("'%s' is %s", names[i].written, gpu ? gpu->id : "nothing");
    }
    const struct cb_gpu_reference *nearest[4];
    assert_int_equal(cb_gpu_reference_nearest("H100", nearest, 4), 4);
    for (int i = 0; i < 3; i++)
        assert_non_null(strstr(nearest[i]->id, "h100"));
    assert_int_equal(cb_gpu_reference_nearest("frobnicator", nearest, 4), 0);
}

static void test_ratios(void **state)
{
    (void)state;
    size_t count;
    const struct cb_gpu_reference *gpus = cb_gpu_references(&count);
    for (size_t i = 0; i < count; i++) {
        const struct cb_gpu_reference *gpu = &gpus[i];
        const double *peak = gpu->peak_flops_per_s;
        if (peak[CB_PEAK_FP16_ACC16] > 0)
            assert_true(peak[CB_PEAK_FP16_ACC16] >= peak[CB_PEAK_FP16]);
        assert_true(gpu->power_w < 0 || (gpu->power_w >= 70 && gpu->power_w <= 1400));
        /* 25 GB/s one way per link, 50 from NVLink 5 on; a bridge's are another matter. */
        if (gpu->nvlinks > 0 && gpu->nvlink_bytes_per_s > 0)
            assert_near(gpu->nvlink_bytes_per_s / gpu->nvlinks,
                        strncmp(gpu->chip, "GB1", 3) == 0 ? 50e9 : 25e9, 0.01);
    }
}

static void test_rows_are_unique_and_sourced(void **state)
{
    (void)state;
    size_t count, rate_count;
    const struct cb_gpu_reference *gpus = cb_gpu_references(&count);
    const struct cb_gpu_rate *rates = cb_gpu_rates(&rate_count);
    for (size_t i = 0; i < count; i++) {
        assert_true(gpus[i].sources[0] != '\0');
        for (const char *key = gpus[i].sources; *key; key++)
            if (!cb_gpu_reference_source(*key))
                fail_msg("%s: no source of the key %c", gpus[i].id, *key);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(gpus[i].id, gpus[j].id);
            assert_string_not_equal(gpus[i].name, gpus[j].name);
            assert_int_not_equal(gpus[i].pci_device_id, gpus[j].pci_device_id);
        }
    }
    for (size_t i = 0; i < rate_count; i++) {
        bool known = false;
        for (size_t j = 0; j < count; j++)
            known |= strcmp(rates[i].gpu, gpus[j].id) == 0;
        if (!known)
            fail_msg("a rate of %s, which is no row", rates[i].gpu);
        assert_true(rates[i].source[0] != '\0');
    }
    assert_null(cb_gpu_reference_source('!'));
    assert_null(cb_gpu_reference_find_name("NVIDIA A100"));
    assert_null(cb_gpu_reference_find_device(0xffff));
}

/* No measured rate beats its data sheet, except where a GeForce accumulates in fp16. */
static void test_measured_below_peak(void **state)
{
    (void)state;
    size_t count, rate_count;
    const struct cb_gpu_reference *gpus = cb_gpu_references(&count);
    const struct cb_gpu_rate *rates = cb_gpu_rates(&rate_count);
    for (size_t i = 0; i < rate_count; i++) {
        for (size_t j = 0; j < count; j++) {
            bool is_gemm = rates[i].kind == CB_RATE_BURST || rates[i].kind == CB_RATE_SUSTAINED;
            if (strcmp(rates[i].gpu, gpus[j].id) != 0 || strstr(gpus[j].name, "GeForce"))
                continue;
            double peak = is_gemm ? cb_gpu_reference_peak(&gpus[j], rates[i].dtype)
                                  : gpus[j].memory_bytes_per_s;
            if (peak > 0 && (rates[i].per_s > peak * 1.01 || rates[i].per_s < peak * 0.6))
                fail_msg("%s: %g measured, %g published", gpus[j].id, rates[i].per_s, peak);
        }
    }
}

static void test_achievable(void **state)
{
    (void)state;
    struct cb_achievable found;
    const struct cb_gpu_reference *h100 = cb_gpu_reference_find_name("NVIDIA H100 80GB HBM3");
    assert_non_null(h100);
    cb_gpu_reference_achievable(h100, CB_RATE_BURST, CB_DTYPE_BFLOAT16, &found);
    assert_near(found.low_per_s, 730e12, 1e-12); /* the burn of gpu-fryer */
    assert_near(found.high_per_s, 821.2e12, 1e-12);
    assert_non_null(strstr(found.source, "gpu-fryer"));
    cb_gpu_reference_achievable(h100, CB_RATE_SUSTAINED, CB_DTYPE_BFLOAT16, &found);
    assert_near(found.low_per_s, 730e12, 1e-12);
    assert_near(found.high_per_s, 769e12, 1e-12);
    cb_gpu_reference_achievable(h100, CB_RATE_BURST, CB_DTYPE_FLOAT64, &found);
    assert_null(found.source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock_follows_from_peak),
        cmocka_unit_test(test_a100_by_hand),
        cmocka_unit_test(test_names_as_people_write_them),
        cmocka_unit_test(test_ratios),
        cmocka_unit_test(test_rows_are_unique_and_sourced),
        cmocka_unit_test(test_measured_below_peak),
        cmocka_unit_test(test_achievable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

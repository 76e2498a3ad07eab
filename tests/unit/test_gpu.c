/* What a GPU says of itself, through a table of NVML that the test fills. */
#include "cb_test.h"

#include <stdlib.h>
#include <string.h>

#include "fake_nvml.h"
#include "gpu/gpu.h"

static void test_identity(void **state)
{
    (void)state;
    struct fake_nvml nvml = {.count = 2, .cards = {fake_a100("00000000:07:00.0")}};
    struct cb_nvml_api api;
    struct cb_gpu gpu;
    nvml.cards[1] = fake_a100("00000000:0F:00.0");
    nvml.cards[1].processes = 3;
    nvml.cards[1].links_active = 11;
    fake_nvml_fill(&nvml, &api);
    assert_int_equal(cb_gpu_count(&api, NULL, 0), 2);
    cb_gpu_look(&api, 1, &gpu);
    assert_true(gpu.answered);
    assert_string_equal(gpu.reason, "");
    assert_string_equal(gpu.name, "NVIDIA A100-SXM4-80GB");
    assert_string_equal(gpu.bus_id, "0000:0f:00.0");
    assert_int_equal(gpu.index, 1);
    assert_int_equal(gpu.rank, -1);
    assert_int_equal(gpu.pci_device_id, 0x20b2);
    assert_int_equal(gpu.pci_vendor_id, 0x10de);
    assert_int_equal(gpu.subsystem_id, 0x147f);
    assert_int_equal(gpu.compute_capability, 80);
    assert_int_equal(gpu.sm_count, 108); /* 6912 cores, 64 to a multiprocessor */
    assert_near(gpu.memory_bytes, 85899345920.0, 0);
    assert_near(gpu.sm_clock_limit_hz, 1410e6, 1e-12);
    assert_near(gpu.power_limit_w, 400, 1e-12);
    assert_near(gpu.idle_power_w, 62.5, 1e-12);
    assert_near(gpu.idle_memory_bytes, 4194304, 0);
    assert_int_equal(gpu.idle_processes, 3);
    assert_int_equal(gpu.nvlinks, 11);
    assert_int_equal(gpu.mig, 0);
    assert_int_equal(gpu.ecc, 1);
    assert_int_equal(gpu.pcie_generation_limit, 4);
}

/* 128 cores to a multiprocessor since Hopper, and on the smaller Ampere chips. */
static void test_multiprocessors(void **state)
{
    (void)state;
    static const struct {
        int major, minor;
        unsigned cores;
        int sm_count;
    } rows[] = {{7, 0, 5120, 80}, {8, 6, 10752, 84}, {8, 9, 18176, 142}, {9, 0, 16896, 132}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fake_nvml nvml = {.count = 1, .cards = {fake_a100("0:0.0")}};
        struct cb_nvml_api api;
        struct cb_gpu gpu;
        nvml.cards[0].major = rows[i].major;
        nvml.cards[0].minor = rows[i].minor;
        nvml.cards[0].cores = rows[i].cores;
        fake_nvml_fill(&nvml, &api);
        cb_gpu_look(&api, 0, &gpu);
        assert_int_equal(gpu.sm_count, rows[i].sm_count);
    }
}

static void test_addresses(void **state)
{
    (void)state;
    char text[32];
    static const char *const same[] = {"00000000:07:00.0", "0000:07:00.0", "07:00.0", "0000:07:0.0",
                                       "0:7:0.0"};
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        assert_true(cb_gpu_bus_id_normalise(same[i], text, sizeof(text)));
        assert_string_equal(text, "0000:07:00.0");
    }
    assert_true(cb_gpu_bus_id_normalise("00010001:AF:1F.7", text, sizeof(text)));
    assert_string_equal(text, "10001:af:1f.7");
    static const char *const none[] = {
        "", "07", "07:00", "0000:07:00", "x:00.0", "07:00.0 ", "000000000:07:00.0"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        assert_false(cb_gpu_bus_id_normalise(none[i], text, sizeof(text)));
        assert_string_equal(text, "");
    }
}

static void test_find(void **state)
{
    (void)state;
    struct fake_nvml nvml = {.count = 2, .cards = {fake_a100("00000000:07:00.0")}};
    struct cb_nvml_api api;
    nvml.cards[1] = fake_a100("00000000:AF:00.0");
    fake_nvml_fill(&nvml, &api);
    assert_int_equal(cb_gpu_find(&api, "0000:af:00.0"), 1);
    assert_int_equal(cb_gpu_find(&api, "0000:07:00.0"), 0);
    assert_int_equal(cb_gpu_find(&api, "0000:08:00.0"), -1);
    assert_int_equal(cb_gpu_find(&api, "nonsense"), -1);
}

/* A function that the library lacks, or the card does not support, leaves its field unknown. */
static void test_unknown(void **state)
{
    (void)state;
    struct fake_nvml nvml = {.count = 1, .cards = {fake_a100("0000:07:00.0")}};
    struct cb_nvml_api api;
    struct cb_gpu gpu;
    struct cb_gpu_sample sample = {.time_s = 3};
    fake_nvml_fill(&nvml, &api);
    api.nvmlDeviceGetPowerUsage = NULL;
    api.nvmlDeviceGetMemoryInfo_v2 = NULL;
    api.nvmlDeviceGetNvLinkState = NULL;
    api.nvmlDeviceGetCurrentClocksEventReasons = NULL;
    cb_gpu_look(&api, 0, &gpu);
    assert_true(gpu.answered);
    assert_near(gpu.idle_power_w, -1, 0);
    assert_near(gpu.memory_bytes, -1, 0);
    assert_int_equal(gpu.nvlinks, -1);
    cb_gpu_sample(&api, 0, &sample);
    assert_near(sample.time_s, 3, 0);
    assert_near(sample.power_w, -1, 0);
    assert_int_equal(sample.throttle, -1);
    assert_near(sample.sm_clock_hz, 210e6, 1e-12);
    assert_false(sample.lost);
}

/* Work without a process may be the driver's own, which ends; a process's does not. */
static void test_busy_by_the_look_alone(void **state)
{
    (void)state;
    struct fake_nvml nvml = {.count = 1, .cards = {fake_a100("0:0.0")}};
    struct cb_nvml_api api;
    struct cb_gpu gpu;
    nvml.cards[0].utilization = 97;
    nvml.cards[0].processes = 1;
    fake_nvml_fill(&nvml, &api);
    cb_gpu_look(&api, 0, &gpu);
    assert_false(cb_gpu_may_be_waking(&gpu));
    nvml.cards[0].processes = 0;
    cb_gpu_look(&api, 0, &gpu);
    assert_true(cb_gpu_may_be_waking(&gpu));
    nvml.cards[0].utilization = 3;
    cb_gpu_look_again(&api, 0, &gpu);
    assert_near(gpu.idle_utilization, 0.03, 1e-12);
    nvml.cards[0].utilization = 50;
    cb_gpu_look_again(&api, 0, &gpu);
    assert_near(gpu.idle_utilization, 0.03, 1e-12);
    nvml.cards[0].result = CB_NVML_NOT_SUPPORTED; /* partitioned cards do not tell */
    cb_gpu_look_again(&api, 0, &gpu);
    assert_near(gpu.idle_utilization, 0.03, 1e-12);
}

/* Cards sold with fewer links lack some in between; the numbers go on behind. */
static void test_link_that_is_lacking(void **state)
{
    (void)state;
    struct fake_nvml nvml = {.count = 1, .cards = {fake_a100("0:0.0")}};
    struct cb_nvml_api api;
    struct cb_gpu gpu;
    nvml.cards[0].third_link_result = CB_NVML_NOT_SUPPORTED;
    fake_nvml_fill(&nvml, &api);
    cb_gpu_look(&api, 0, &gpu);
    assert_int_equal(gpu.nvlinks, 11);
}

static void test_lost(void **state)
{
    (void)state;
    struct fake_nvml nvml = {.count = 1, .cards = {fake_a100("0000:07:00.0")}};
    struct cb_nvml_api api;
    struct cb_gpu gpu;
    struct cb_gpu_sample sample = {.time_s = 0};
    fake_nvml_fill(&nvml, &api);
    nvml.cards[0].samples_until_lost = 1;
    cb_gpu_sample(&api, 0, &sample);
    assert_false(sample.lost);
    cb_gpu_sample(&api, 0, &sample);
    assert_true(sample.lost);
    assert_near(sample.sm_clock_hz, -1, 0);
    cb_gpu_look(&api, 0, &gpu);
    assert_false(gpu.answered);
    assert_non_null(strstr(gpu.reason, "GPU is lost"));
}

static void test_throttle_text(void **state)
{
    (void)state;
    char text[96];
    assert_string_equal(cb_throttle_text(0, text, sizeof(text)), "none");
    assert_string_equal(cb_throttle_text(-1, text, sizeof(text)), "unknown");
    assert_string_equal(cb_throttle_text(0x24, text, sizeof(text)), "power cap, thermal slowdown");
    cb_throttle_text(0x1ff, text, 20);
    assert_int_equal(strlen(text), 19);
    assert_int_equal(CB_THROTTLE_FAULTS, 0xe8); /* neither the power cap nor idle is one */
}

/* No NVML: one line that says so, and where it was looked for. */
static void test_absent(void **state)
{
    (void)state;
    struct cb_nvml_api api;
    struct cb_error err;
    cb_error_clear(&err);
    assert_int_equal(cb_nvml_open("/nowhere/libnvidia-ml.so.1", &api, &err), CB_E_UNSUPPORTED);
    assert_non_null(strstr(err.what, "not found"));
    assert_non_null(strstr(err.detail, "/nowhere/libnvidia-ml.so.1"));
    assert_null(api.nvmlInit_v2);
    cb_nvml_close(&api);
    /* A library that is there but is none of NVML. */
    assert_int_equal(cb_nvml_open("libc.so.6", &api, &err), CB_E_UNSUPPORTED);
    assert_non_null(strstr(err.what, "lacks nvmlInit_v2"));
    assert_null(api.nvmlErrorString);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_multiprocessors),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_busy_by_the_look_alone),
        cmocka_unit_test(test_link_that_is_lacking),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_throttle_text),
        cmocka_unit_test(test_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

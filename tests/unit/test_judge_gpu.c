/* The checks of GPUs on results whose figures are made up so that each answer follows by hand. */
#include "cb_test.h"

#include <stdio.h>
#include <string.h>

#include "judge/judge.h"
#include "must.h"

/* Two nodes with one rank and one A100 of 80 GB each, all as it should be. */
static void build(struct cb_result *result)
{
    cb_result_init(result);
    result->rank_count = 2;
    result->complete = true;
    for (int i = 0; i < 2; i++) {
        struct cb_topo_host *host = must(cb_vec_add(&result->nodes));
        snprintf(host->name, sizeof(host->name), "n%d", i);
        struct cb_rank *rank = must(cb_vec_add(&result->ranks));
        rank->rank = rank->node = i;
        struct cb_gpu *gpu = must(cb_vec_add(&result->gpus));
        *gpu = (struct cb_gpu){.node = i,
                               .rank = i,
                               .answered = true,
                               .name = "NVIDIA A100-SXM4-80GB",
                               .pci_device_id = 0x20b2,
                               .sm_count = 108,
                               .compute_capability = 80,
                               .memory_bytes = 85899345920,
                               .sm_clock_limit_hz = 1410e6,
                               .power_limit_w = 400,
                               .power_limit_default_w = 400,
                               .pcie_generation_limit = 4,
                               .pcie_width_limit = 16,
                               .nvlinks = 12};
    }
}

static void add_kernel(struct cb_result *result, int rank, const char *name, enum cb_dtype dtype,
                       double flops_per_s, double bytes_per_s)
{
    struct cb_kernel_row *row = must(cb_vec_add(&result->kernels));
    row->rank = rank;
    snprintf(row->kernel, sizeof(row->kernel), "%s", name);
    row->dtype = dtype;
    row->flops_per_s = flops_per_s;
    row->bytes_per_s = bytes_per_s;
}

static struct cb_burn_row *add_burn(struct cb_result *result, int rank)
{
    struct cb_burn_row *burn = must(cb_vec_add(&result->burns));
    *burn = (struct cb_burn_row){.rank = rank,
                                 .dtype = CB_DTYPE_BFLOAT16,
                                 .planned_s = 1800,
                                 .elapsed_s = 1801,
                                 .operations = 100000,
                                 .flops_per_s = 262e12,
                                 .first_flops_per_s = 262e12,
                                 .last_flops_per_s = 261e12,
                                 .checks = 360,
                                 .samples = 16200,
                                 .sm_clock_p5_hz = 1380e6,
                                 .sm_clock_median_hz = 1395e6,
                                 .sm_clock_p95_hz = 1410e6,
                                 .memory_clock_median_hz = 1593e6,
                                 .power_median_w = 390,
                                 .power_lowest_w = 385,
                                 .power_highest_w = 396,
                                 .temperature_highest_celsius = 66,
                                 .utilization_median = 1,
                                 .throttle = CB_THROTTLE_POWER_CAP,
                                 .pcie_generation = 4,
                                 .pcie_width = 16};
    return burn;
}

static const struct cb_check *judge(struct cb_result *result, const char *id)
{
    const struct cb_workload workload = {.span = CB_SPAN_COUNT};
    struct cb_error err = {0};
    assert_ok(cb_judge_result(result, &workload, &err), &err);
    for (size_t i = 0; i < result->checks.count; i++)
        if (strcmp(result->checks.items[i].id, id) == 0)
            return &result->checks.items[i];
    fail_msg("no check %s among %zu", id, result->checks.count);
    return NULL;
}

/* 271.2, 270, 267.9, 261.23 TFLOP/s were published: the lowest is what a card is judged by. */
static void test_compute(void **state)
{
    (void)state;
    static const struct {
        double flops_per_s;
        enum cb_check_status status;
    } rows[] = {
        {262e12, CB_CHECK_MET},   {235.2e12, CB_CHECK_MET},   /* 0.90 x 261.23 = 235.107 */
        {235e12, CB_CHECK_SHORT}, {222.1e12, CB_CHECK_SHORT}, /* 0.85 x 261.23 = 222.046 */
        {222e12, CB_CHECK_ALARM}, {130e12, CB_CHECK_ALARM},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cb_result result;
        build(&result);
        add_kernel(&result, 0, "gemm", CB_DTYPE_BFLOAT16, 262e12, 0);
        add_kernel(&result, 1, "gemm", CB_DTYPE_BFLOAT16, rows[i].flops_per_s, 0);
        const struct cb_check *check = judge(&result, "gpu.compute");
        assert_int_equal(check->status, rows[i].status);
        assert_near(check->actual, rows[i].flops_per_s, 1e-12);
        assert_near(check->required, 235.107e12, 1e-9);
        assert_string_equal(check->unit, "flop/s");
        assert_says(check->summary, i == 0 ? "n0/0" : "n1/1");
        assert_says(check->summary, "of the data sheet");
        cb_result_fini(&result);
    }
}

/* A slice is not judged by the rates of a whole card. */
static void test_partitioned(void **state)
{
    (void)state;
    struct cb_result result;
    build(&result);
    result.gpus.items[0].mig = result.gpus.items[1].mig = 1;
    for (int rank = 0; rank < 2; rank++) {
        add_kernel(&result, rank, "gemm", CB_DTYPE_BFLOAT16, 37e12, 0);
        add_kernel(&result, rank, "read", CB_DTYPE_FLOAT32, 0, 250e9);
    }
    assert_int_equal(judge(&result, "gpu.compute")->status, CB_CHECK_NO_REFERENCE);
    assert_says(judge(&result, "gpu.compute")->summary, "MIG is on");
    assert_int_equal(judge(&result, "gpu.memory")->status, CB_CHECK_NO_REFERENCE);
    assert_says(judge(&result, "gpu.memory")->summary, "a part of NVIDIA A100-SXM4-80GB");
    cb_result_fini(&result);
}

/* The worst share decides, not the smallest number: fp32 is slower by nature. */
static void test_compute_by_share(void **state)
{
    (void)state;
    struct cb_result result;
    build(&result);
    add_kernel(&result, 0, "gemm", CB_DTYPE_FLOAT32, 18.4e12, 0);
    add_kernel(&result, 1, "gemm", CB_DTYPE_BFLOAT16, 230e12, 0);
    const struct cb_check *check = judge(&result, "gpu.compute");
    assert_int_equal(check->status, CB_CHECK_SHORT);
    assert_says(check->summary, "bfloat16");
    assert_says(check->summary, "74 %"); /* 230 of 312 */
    cb_result_fini(&result);
}

/* A kernel of the host beside a GPU is no GPU's. */
static void test_host_kernels_are_not_judged(void **state)
{
    (void)state;
    struct cb_result result;
    build(&result);
    add_kernel(&result, 0, "gemm", CB_DTYPE_FLOAT32, 1e12, 0);
    result.kernels.items[0].threads = 16;
    assert_int_equal(judge(&result, "gpu.compute")->status, CB_CHECK_NOT_TESTED);
    cb_result_fini(&result);
}

/* Where other processes hold the memory only small problems fit, whose rates say nothing of the
 * card: neither an alarm nor a pass. */
static void test_small_problems_are_not_judged(void **state)
{
    (void)state;
    static const struct {
        const char *check, *kernel, *variant;
        double flops_per_s, bytes_per_s;
    } rows[] = {
        {"gpu.compute", "gemm", "cuBLASLt 13.1.0, n=512, small", 40e12, 0},
        {"gpu.memory", "read", "stride4, under 4x L2", 0, 900e9},  /* short of the sheet's rate */
        {"gpu.memory", "read", "stride4, under 4x L2", 0, 4000e9}, /* a cache's */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cb_result result;
        build(&result);
        for (int rank = 0; rank < 2; rank++) {
            add_kernel(&result, rank, rows[i].kernel, CB_DTYPE_BFLOAT16, rows[i].flops_per_s,
                       rows[i].bytes_per_s);
            struct cb_kernel_row *row = &result.kernels.items[rank];
            row->small = true;
            snprintf(row->variant, sizeof(row->variant), "%s", rows[i].variant);
        }
        const struct cb_check *check = judge(&result, rows[i].check);
        assert_int_equal(check->status, CB_CHECK_NOT_TESTED);
        assert_near(check->actual, 0, 0);
        assert_says(check->summary, "too small to judge");
        assert_says(check->summary, rows[i].variant);
        cb_result_fini(&result);
    }
}

/* What is judged of one card is no answer for the other. */
static void test_small_problems_on_some_cards(void **state)
{
    (void)state;
    struct cb_result result;
    build(&result);
    add_kernel(&result, 0, "gemm", CB_DTYPE_BFLOAT16, 262e12, 0);
    add_kernel(&result, 1, "gemm", CB_DTYPE_BFLOAT16, 40e12, 0);
    add_kernel(&result, 0, "read", CB_DTYPE_FLOAT32, 0, 1900e9);
    add_kernel(&result, 1, "write", CB_DTYPE_FLOAT32, 0, 900e9);
    result.kernels.items[1].small = result.kernels.items[3].small = true;
    static const char *const ids[] = {"gpu.compute", "gpu.memory"};
    for (size_t i = 0; i < 2; i++) {
        const struct cb_check *check = judge(&result, ids[i]);
        assert_int_equal(check->status, CB_CHECK_MET);
        assert_says(check->summary, "n0/0");
        assert_says(check->summary, "1 of 2 too small to judge");
    }
    result.kernels.items[1].small = result.kernels.items[3].small = false;
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(judge(&result, ids[i])->status, CB_CHECK_ALARM - (i == 1));
    cb_result_fini(&result);
}

/* 0.90 x 2039 GB/s = 1835.1; the better of read and write counts. */
static void test_memory(void **state)
{
    (void)state;
    struct cb_result result;
    build(&result);
    add_kernel(&result, 0, "read", CB_DTYPE_FLOAT64, 0, 1769e9);
    add_kernel(&result, 0, "write", CB_DTYPE_FLOAT64, 0, 1880e9);
    add_kernel(&result, 0, "triad", CB_DTYPE_FLOAT64, 0, 1900e9);
    add_kernel(&result, 1, "read", CB_DTYPE_FLOAT64, 0, 1836e9);
    const struct cb_check *check = judge(&result, "gpu.memory");
    assert_int_equal(check->status, CB_CHECK_MET);
    assert_near(check->actual, 1836e9, 1e-12);
    assert_near(check->required, 1835.1e9, 1e-12);
    assert_says(check->summary, "read on n1/1");
    result.kernels.items[3].bytes_per_s = 1835e9;
    assert_int_equal(judge(&result, "gpu.memory")->status, CB_CHECK_SHORT);
    cb_result_fini(&result);
}

static void test_identity(void **state)
{
    (void)state;
    struct cb_result result;
    build(&result);
    add_kernel(&result, 0, "gemm", CB_DTYPE_BFLOAT16, 262e12, 0);
    struct cb_gpu *gpu = &result.gpus.items[1];
    assert_int_equal(judge(&result, "gpu.identity")->status, CB_CHECK_MET);
    assert_says(judge(&result, "gpu.identity")->summary, "2 x NVIDIA A100-SXM4-80GB");

    gpu->pci_device_id = 0x20b5; /* the PCIe card of the same chip */
    assert_int_equal(judge(&result, "gpu.identity")->status, CB_CHECK_ALARM);
    assert_says(judge(&result, "gpu.identity")->summary, "NVIDIA A100 80GB PCIe");
    gpu->pci_device_id = 0x20b2;

    gpu->memory_bytes = 78.3e9; /* below 0.98 x 80 GB */
    assert_int_equal(judge(&result, "gpu.identity")->status, CB_CHECK_ALARM);
    gpu->memory_bytes = 85.0e9;

    gpu->sm_count = 104;
    assert_says(judge(&result, "gpu.identity")->summary, "104 of 108 multiprocessors");
    gpu->mig = 1; /* a slice may well have fewer */
    assert_int_equal(judge(&result, "gpu.identity")->status, CB_CHECK_MET);
    gpu->mig = 0;
    gpu->sm_count = 108;

    /* 2 x 108 x 1024 x 1410e6 = 311.9e12: no A100 computes faster. */
    add_kernel(&result, 1, "gemm", CB_DTYPE_FLOAT16, 320e12, 0);
    assert_int_equal(judge(&result, "gpu.identity")->status, CB_CHECK_ALARM);
    assert_says(judge(&result, "gpu.identity")->summary, "320 TFLOP/s");
    cb_result_fini(&result);
}

static void test_unknown_model(void **state)
{
    (void)state;
    struct cb_result result;
    build(&result);
    for (int i = 0; i < 2; i++) {
        snprintf(result.gpus.items[i].name, sizeof(result.gpus.items[i].name), "NVIDIA X9000");
        result.gpus.items[i].pci_device_id = 0x9999;
    }
    add_kernel(&result, 0, "gemm", CB_DTYPE_BFLOAT16, 262e12, 0);
    add_kernel(&result, 0, "read", CB_DTYPE_FLOAT64, 0, 1e12);
    static const char *const ids[] = {"gpu.identity", "gpu.compute", "gpu.memory"};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        assert_int_equal(judge(&result, ids[i])->status, CB_CHECK_NO_REFERENCE);
        assert_says(judge(&result, ids[i])->summary, "NVIDIA X9000");
    }
    cb_result_fini(&result);
}

static void test_state_before_the_start(void **state)
{
    (void)state;
    struct cb_result result;
    build(&result);
    add_kernel(&result, 0, "gemm", CB_DTYPE_BFLOAT16, 262e12, 0);
    struct cb_gpu *gpu = &result.gpus.items[1];
    assert_int_equal(judge(&result, "gpu.idle")->status, CB_CHECK_MET);
    gpu->idle_processes = 2;
    assert_int_equal(judge(&result, "gpu.idle")->status, CB_CHECK_SHORT);
    assert_says(judge(&result, "gpu.idle")->summary, "n1 GPU 0: 2 processes use it");
    gpu->idle_processes = 0;
    gpu->idle_utilization = 0.06;
    assert_int_equal(judge(&result, "gpu.idle")->status, CB_CHECK_SHORT);
    gpu->idle_utilization = 0.05;
    assert_int_equal(judge(&result, "gpu.idle")->status, CB_CHECK_MET);
    gpu->idle_memory_bytes = 5.0 * (1u << 30);
    assert_says(judge(&result, "gpu.idle")->summary, "5 GiB");

    assert_int_equal(judge(&result, "gpu.power_limit")->status, CB_CHECK_MET);
    gpu->power_limit_w = 300;
    assert_int_equal(judge(&result, "gpu.power_limit")->status, CB_CHECK_SHORT);
    assert_says(judge(&result, "gpu.power_limit")->summary, "300 W of 400 W");
    for (int i = 0; i < 2; i++)
        result.gpus.items[i].power_limit_w = -1;
    assert_int_equal(judge(&result, "gpu.power_limit")->status, CB_CHECK_NOT_TESTED);

    assert_int_equal(judge(&result, "gpu.memory_health")->status, CB_CHECK_MET);
    gpu->rows_pending = 1;
    assert_int_equal(judge(&result, "gpu.memory_health")->status, CB_CHECK_SHORT);
    cb_result_fini(&result);
}

/* A copy of 256 MiB on each of eight ranks, four on each of two nodes. */
static void add_copies(struct cb_result *result, const char *kernel, const double bytes_per_s[8])
{
    result->ranks.count = 0;
    for (int i = 0; i < 8; i++) {
        struct cb_rank *rank = must(cb_vec_add(&result->ranks));
        rank->rank = i;
        rank->node = i / 4;
        add_kernel(result, i, kernel, CB_DTYPE_FLOAT32, 0, bytes_per_s[i]);
        struct cb_kernel_row *row = &result->kernels.items[result->kernels.count - 1];
        row->size_bytes = 256 << 20;
        if (strcmp(kernel, "peer") == 0)
            snprintf(row->variant, sizeof(row->variant), "GPU %d to %d, direct", i % 4,
                     (i + 1) % 4);
    }
}

static void test_host_copies(void **state)
{
    (void)state;
    struct cb_result result;
    build(&result);
    add_kernel(&result, 0, "gemm", CB_DTYPE_BFLOAT16, 262e12, 0);
    assert_int_equal(judge(&result, "gpu.host_copy")->status, CB_CHECK_NOT_TESTED);
    result.kernels.count = 0;
    const double in[8] = {25e9, 25e9, 24e9, 25e9, 25e9, 22.6e9, 25e9, 26e9};
    const double out[8] = {20e9, 20e9, 20e9, 20e9, 20e9, 20e9, 17.9e9, 20e9};
    add_copies(&result, "h2d", in); /* 22.6 / 25 = 0.904 */
    const struct cb_check *check = judge(&result, "gpu.host_copy");
    assert_int_equal(check->status, CB_CHECK_MET);
    assert_near(check->actual, 22.6e9, 1e-12);
    assert_near(check->required, 22.5e9, 1e-12);
    add_copies(&result, "d2h", out); /* 17.9 / 20 = 0.895: further behind, though h2d is faster */
    check = judge(&result, "gpu.host_copy");
    assert_int_equal(check->status, CB_CHECK_SHORT);
    assert_near(check->actual, 17.9e9, 1e-12);
    assert_says(check->summary, "d2h,  on n1/6; 1 of 8 below");
    /* Where fewer bytes are copied the start shows: that rank is no measure. */
    result.kernels.items[8 + 6].size_bytes = 1 << 20;
    assert_int_equal(judge(&result, "gpu.host_copy")->status, CB_CHECK_MET);
    for (size_t i = 1; i < result.kernels.count; i++)
        result.kernels.items[i].status = CB_STATUS_SKIPPED;
    check = judge(&result, "gpu.host_copy");
    assert_int_equal(check->status, CB_CHECK_NO_REFERENCE);
    assert_says(check->summary, "one GPU only");
    cb_result_fini(&result);
}

static void test_peer_copies(void **state)
{
    (void)state;
    struct cb_result result;
    build(&result);
    const double rates[8] = {240e9, 240e9, 240e9, 240e9, 120e9, 120e9, 240e9, 240e9};
    add_copies(&result, "peer", rates);
    assert_int_equal(judge(&result, "gpu.peer_copy")->status, CB_CHECK_NOT_TESTED);
    struct cb_facts *facts = must(cb_vec_add(&result.maps));
    cb_facts_init(facts);
    facts->gpu_count = 4;
    for (int i = 0; i < 4; i++)
        facts->gpus[i].nvlink_switch = 12;
    const struct cb_check *check = judge(&result, "gpu.peer_copy");
    assert_int_equal(check->status, CB_CHECK_SHORT);
    assert_says(check->summary, "GPU 0 to 1, direct on n1/4; 2 of 8 below, all with GPU 1");
    result.kernels.items[5].bytes_per_s = 240e9; /* one alone has two ends */
    assert_null(strstr(judge(&result, "gpu.peer_copy")->summary, "all with"));
    result.kernels.items[6].bytes_per_s = 120e9; /* 0 to 1 and 2 to 3 have none in common */
    assert_null(strstr(judge(&result, "gpu.peer_copy")->summary, "all with"));
    facts->gpus[3].nvlink_switch = 0; /* bridges between pairs */
    assert_int_equal(judge(&result, "gpu.peer_copy")->status, CB_CHECK_NOT_TESTED);
    cb_result_fini(&result);
}

static void test_burn(void **state)
{
    (void)state;
    struct cb_result result;
    build(&result);
    add_burn(&result, 0);
    struct cb_burn_row *burn = add_burn(&result, 1);
    static const char *const ids[] = {"gpu.burn_errors", "gpu.burn_time", "gpu.clock", "gpu.power",
                                      "gpu.sag",         "gpu.throttle",  "gpu.pcie"};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        assert_int_equal(judge(&result, ids[i])->status, CB_CHECK_MET);
    assert_near(judge(&result, "gpu.clock")->actual, 30.0 / 1395, 1e-12);
    assert_near(judge(&result, "gpu.power")->actual, 6.0 / 390, 1e-12);
    assert_near(judge(&result, "gpu.sag")->actual, 1.0 / 262, 1e-9);
    assert_says(judge(&result, "gpu.burn_errors")->summary, "720 products verified");

    burn->sm_clock_p5_hz = 1368e6; /* (1410 - 1368) / 1395 = 3.01 % */
    assert_int_equal(judge(&result, "gpu.clock")->status, CB_CHECK_SHORT);
    assert_says(judge(&result, "gpu.clock")->summary, "n1/1");
    burn->throttle = CB_THROTTLE_POWER_CAP;
    assert_says(judge(&result, "gpu.clock")->summary, "MHz, at its power cap");
    burn->power_lowest_w = 370; /* 20 / 390 = 5.1 % */
    assert_int_equal(judge(&result, "gpu.power")->status, CB_CHECK_SHORT);
    burn->last_flops_per_s = 252.8e12; /* 3.51 % */
    assert_int_equal(judge(&result, "gpu.sag")->status, CB_CHECK_SHORT);
    burn->last_flops_per_s = 300e12; /* faster at the end: nothing sagged */
    burn->throttled_share = 0.011;
    burn->throttle = CB_THROTTLE_THERMAL;
    assert_says(judge(&result, "gpu.throttle")->summary, "thermal slowdown");
    assert_int_equal(judge(&result, "gpu.throttle")->status, CB_CHECK_SHORT);
    burn->pcie_width = 8;
    assert_says(judge(&result, "gpu.pcie")->summary, "generation 4 x8 of 4 x16");
    burn->ecc_uncorrected = 1;
    assert_int_equal(judge(&result, "gpu.burn_errors")->status, CB_CHECK_ALARM);
    burn->ecc_uncorrected = -1; /* unknown is not minus one error */
    assert_int_equal(judge(&result, "gpu.burn_errors")->status, CB_CHECK_MET);
    assert_int_equal(cb_judge_exit_status(&result), 3); /* nothing to communicate over */
    burn->wrong = 3;
    assert_near(judge(&result, "gpu.burn_errors")->actual, 3, 0);
    assert_int_equal(cb_judge_exit_status(&result), 1); /* wrong data come first */
    burn->wrong = 0;
    burn->lost = true;
    burn->status = CB_STATUS_FAILED;
    assert_says(judge(&result, "gpu.burn_errors")->summary, "fell off the bus");
    cb_result_fini(&result);
}

/* A short burn is never a passed one. */
static void test_partial_burn(void **state)
{
    (void)state;
    struct cb_result result;
    build(&result);
    add_burn(&result, 0)->elapsed_s = 1800;
    add_burn(&result, 1)->elapsed_s = 60;
    const struct cb_check *check = judge(&result, "gpu.burn_time");
    assert_int_equal(check->status, CB_CHECK_NOT_TESTED);
    assert_near(check->actual, 60, 0);
    assert_near(check->required, 1800, 0);
    assert_says(check->summary, "partial");
    result.burns.items[1].elapsed_s = 1800;
    assert_int_equal(judge(&result, "gpu.burn_time")->status, CB_CHECK_MET);
    cb_result_fini(&result);
}

/* Without the driver's library nothing is met, and everything says why. */
static void test_absent_driver(void **state)
{
    (void)state;
    struct cb_result result;
    build(&result);
    cb_vec_fini(&result.gpus);
    snprintf(result.gpu_reason, sizeof(result.gpu_reason), "no NVML on n0, n1");
    add_kernel(&result, 0, "read", CB_DTYPE_FLOAT64, 0, 10e9);
    result.kernels.items[0].threads = 8;
    judge(&result, "gpu.idle");
    size_t count = 0;
    for (size_t i = 0; i < result.checks.count; i++) {
        const struct cb_check *check = &result.checks.items[i];
        if (strncmp(check->id, "gpu.", 4) != 0 && strcmp(check->id, "collective.published") != 0)
            continue;
        count++;
        assert_int_equal(check->status, CB_CHECK_NOT_TESTED);
        assert_string_not_equal(check->summary, "");
    }
    assert_int_equal(count, CB_CRITERION_COUNT - CB_CRITERION_FIRST_GPU);
    assert_says(judge(&result, "gpu.compute")->summary, "no NVML on n0, n1");
    cb_result_fini(&result);
}

/* Rows that speak of ranks and nodes that are not there must not be followed. */
static void test_stray_ranks(void **state)
{
    (void)state;
    struct cb_result result;
    build(&result);
    add_kernel(&result, 7000, "gemm", CB_DTYPE_BFLOAT16, 262e12, 0);
    add_burn(&result, -1);
    add_burn(&result, 7000)->wrong = 1;
    result.gpus.items[0].rank = 7000;
    result.gpus.items[1].node = 12;
    result.ranks.items[1].rank = 100000;
    assert_int_equal(judge(&result, "gpu.burn_errors")->status, CB_CHECK_ALARM);
    cb_result_fini(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compute),
        cmocka_unit_test(test_partitioned),
        cmocka_unit_test(test_compute_by_share),
        cmocka_unit_test(test_host_kernels_are_not_judged),
        cmocka_unit_test(test_small_problems_are_not_judged),
        cmocka_unit_test(test_small_problems_on_some_cards),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_unknown_model),
        cmocka_unit_test(test_state_before_the_start),
        cmocka_unit_test(test_host_copies),
        cmocka_unit_test(test_peer_copies),
        cmocka_unit_test(test_burn),
        cmocka_unit_test(test_partial_burn),
        cmocka_unit_test(test_absent_driver),
        cmocka_unit_test(test_stray_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

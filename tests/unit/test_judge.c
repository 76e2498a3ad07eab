#include "cb_test.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "judge/judge.h"
#include "reference/workloads.h"

/* Two hosts, one rank each: all_reduce over the world at sizes given by the tests, GEMM on both
 * ranks, one link each way. Every figure is easy to do by hand. */
static int set_up(void **state)
{
    static struct cb_result result;
    cb_result_init(&result);
    result.complete = true;
    result.rank_count = 2;
    *state = &result;
    for (int i = 0; i < 2; i++) {
        struct cb_topo_host *host = cb_vec_add(&result.nodes);
        if (!host)
            return -1;
        snprintf(host->name, sizeof(host->name), "node-%c", 'a' + i);
        host->nic_count = host->nics_found = 1;
        host->nics[0] = (struct cb_topo_nic){.name = "eth0",
                                             .kind = "Ethernet",
                                             .driver = "igb",
                                             .nominal_bytes_per_s = 125e6,
                                             .stated_bytes_per_s = 125e6,
                                             .used = true,
                                             .up = true};
    }
    return 0;
}

static int tear_down(void **state)
{
    cb_result_fini(*state);
    return 0;
}

static struct cb_collective_row *add_row(struct cb_result *result, uint64_t size_bytes,
                                         double bus_bytes_per_s)
{
    struct cb_collective_row *row = cb_vec_add(&result->collectives);
    assert_non_null(row);
    *row = (struct cb_collective_row){.op = CB_OP_ALL_REDUCE,
                                      .scope = CB_SCOPE_WORLD,
                                      .dtype = CB_DTYPE_FLOAT32,
                                      .redop = CB_REDOP_SUM,
                                      .ranks = 2,
                                      .size_bytes = size_bytes,
                                      .samples = 10,
                                      .bus_bytes_per_s = bus_bytes_per_s,
                                      .alg_bytes_per_s = bus_bytes_per_s};
    double time_s = (double)size_bytes / bus_bytes_per_s;
    row->time = (struct cb_time_stats){time_s, time_s, time_s, time_s, time_s, 0.01};
    return row;
}

static struct cb_kernel_row *add_gemm(struct cb_result *result, int rank, double flops_per_s)
{
    struct cb_kernel_row *row = cb_vec_add(&result->kernels);
    assert_non_null(row);
    *row = (struct cb_kernel_row){
        .rank = rank, .kernel = "gemm", .dtype = CB_DTYPE_FLOAT32, .flops_per_s = flops_per_s};
    return row;
}

static struct cb_pair_row *add_pair(struct cb_result *result, const char *a, const char *b,
                                    double bytes_per_s, double round_trip_s)
{
    struct cb_pair_row *row = cb_vec_add(&result->pairs);
    assert_non_null(row);
    *row = (struct cb_pair_row){.bytes_per_s = bytes_per_s, .round_trip_s = round_trip_s};
    snprintf(row->a, sizeof(row->a), "%s", a);
    snprintf(row->b, sizeof(row->b), "%s", b);
    return row;
}

static struct cb_workload stated(double parameters, double step_s)
{
    return (struct cb_workload){
        .job.parameters = parameters, .span = CB_SPAN_STEP, .time_s = step_s};
}

static const struct cb_formula *judge(struct cb_result *result, struct cb_workload workload)
{
    struct cb_error err;
    assert_ok(cb_judge_result(result, &workload, &err), &err);
    return &result->formula;
}

static const struct cb_check *check(const struct cb_result *result, enum cb_criterion criterion)
{
    assert_int_equal(result->checks.count, CB_CRITERION_FIRST_GPU); /* no GPU is known of */
    return &result->checks.items[criterion];
}

static const struct cb_workload nothing_stated = {.span = CB_SPAN_COUNT};

/* On paper: the documents' arithmetic, everything given. */
static void test_paper(void **state)
{
    struct cb_result *result = *state;
    struct cb_workload workload = stated(7e9, 3);
    workload.bandwidth_bytes_per_s = 12.5e9;
    const struct cb_formula *f = judge(result, workload);
    assert_true(f->judged);
    assert_near(f->communication_s, 2.24, 1e-14);
    assert_near(f->share, 2.24 / 3, 1e-14);
    assert_true(f->bottleneck);
    assert_false(f->undecided);
    assert_near(f->threshold, 0.20, 0);
    assert_int_equal(f->bandwidth_source, CB_FROM_GIVEN);
    assert_int_equal(f->time_source, CB_FROM_GIVEN);
    assert_int_equal(f->communications_source, CB_FROM_ASSUMED);
    assert_int_equal(result->workloads.count, 0);
    assert_int_equal(result->checks.count, 0);
    assert_int_equal(cb_judge_exit_status(result), 1);
    workload.threshold = 0.8;
    workload.communications = 100;
    f = judge(result, workload);
    assert_false(f->bottleneck);
    assert_int_equal(f->communications_source, CB_FROM_GIVEN);
    assert_int_equal(cb_judge_exit_status(result), 0);
}

/* Between 1 MB at 10 MB/s and 100 MB at 1000 MB/s, 10 MB lies half way on both logarithmic scales:
 * 100 MB/s. The gradient of 5 M parameters is 10 MB. */
static void test_bandwidth_is_interpolated(void **state)
{
    struct cb_result *result = *state;
    add_row(result, 100000000, 1000e6); /* rows come in any order */
    add_row(result, 1000000, 10e6);
    const struct cb_formula *f = judge(result, stated(5e6, 1));
    assert_near(f->bandwidth_bytes_per_s, 100e6, 1e-12);
    assert_int_equal(f->bandwidth_source, CB_FROM_MEASURED);
    assert_non_null(strstr(f->bandwidth_note, "between"));
    assert_near(f->share, 20e6 / 100e6, 1e-12);
    /* The line through both is 10 MB/s per MB: 2.5 MB at 25 MB/s. */
    assert_near(judge(result, stated(1.25e6, 1))->bandwidth_bytes_per_s, 25e6, 1e-12);
    /* Exactly at a measured size: that row. */
    f = judge(result, stated(0.5e6, 1));
    assert_near(f->bandwidth_bytes_per_s, 10e6, 1e-12);
    assert_int_equal(f->bandwidth_source, CB_FROM_MEASURED);
    f = judge(result, stated(50e6, 1));
    assert_near(f->bandwidth_bytes_per_s, 1000e6, 1e-12);
    assert_int_equal(f->bandwidth_source, CB_FROM_MEASURED);
}

/* Beyond the measured sizes the nearest one stands in, and is called extrapolated. */
static void test_bandwidth_outside_the_range(void **state)
{
    struct cb_result *result = *state;
    add_row(result, 1048576, 50e6);
    add_row(result, 67108864, 100e6);
    const struct cb_formula *f = judge(result, stated(7e9, 1));
    assert_near(f->bandwidth_bytes_per_s, 100e6, 0);
    assert_int_equal(f->bandwidth_source, CB_FROM_EXTRAPOLATED);
    assert_non_null(strstr(f->bandwidth_note, "at 64 MiB"));
    assert_non_null(strstr(f->bandwidth_note, "the largest size measured"));
    assert_non_null(strstr(f->bandwidth_note, "13 GiB"));
    f = judge(result, stated(1000, 1));
    assert_near(f->bandwidth_bytes_per_s, 50e6, 0);
    assert_int_equal(f->bandwidth_source, CB_FROM_EXTRAPOLATED);
    assert_non_null(strstr(f->bandwidth_note, "the smallest size measured"));
}

/* float32 sums out of place are the gradient's collective; other rows must not mix in. */
static void test_the_right_series_is_taken(void **state)
{
    struct cb_result *result = *state;
    add_row(result, 1048576, 1e6)->dtype = CB_DTYPE_FLOAT64;
    add_row(result, 1048576, 2e6)->redop = CB_REDOP_MAX;
    add_row(result, 1048576, 3e6)->in_place = true;
    add_row(result, 1048576, 4e6)->op = CB_OP_ALL_GATHER;
    add_row(result, 1048576, 5e6)->scope = CB_SCOPE_INTRA_NODE;
    add_row(result, 1048576, 6e6)->status = CB_STATUS_FAILED;
    add_row(result, 1048576, 8e6)->status = CB_STATUS_WRONG;
    add_row(result, 2097152, 9e6)->dtype = CB_DTYPE_FLOAT64;
    assert_near(judge(result, stated(524288, 1))->bandwidth_bytes_per_s, 3e6, 0);
    assert_non_null(strstr(result->formula.bandwidth_note, "in place"));
    add_row(result, 1048576, 7e6);
    assert_near(judge(result, stated(524288, 1))->bandwidth_bytes_per_s, 7e6, 0);
    assert_near(judge(result, stated(7e9, 1))->bandwidth_bytes_per_s, 7e6, 0);
}

/* Without world rows the ones between nodes decide; rows inside one node never do. */
static void test_scope_falls_back(void **state)
{
    struct cb_result *result = *state;
    add_row(result, 1048576, 5e9)->scope = CB_SCOPE_INTRA_NODE;
    assert_false(judge(result, stated(7e9, 1))->judged);
    add_row(result, 1048576, 5e6)->scope = CB_SCOPE_INTER_NODE;
    assert_near(judge(result, stated(7e9, 1))->bandwidth_bytes_per_s, 5e6, 0);
    assert_non_null(strstr(result->formula.bandwidth_note, "inter_node"));
}

/* 6 x 1e9 x 1000 FLOP at 0.6 of 100 GFLOP/s: 100 s. The median of an even number of ranks lies
 * between the middle two; float64 and failed rows do not count. */
static void test_compute_time_from_gemm(void **state)
{
    struct cb_result *result = *state;
    add_row(result, 1048576, 1e9);
    add_gemm(result, 0, 90e9);
    add_gemm(result, 1, 110e9);
    add_gemm(result, 0, 1e9)->dtype = CB_DTYPE_FLOAT64;
    add_gemm(result, 0, 1e9)->status = CB_STATUS_SKIPPED;
    snprintf(add_gemm(result, 0, 1e9)->kernel, 24, "triad");
    struct cb_workload workload = nothing_stated;
    workload.job.parameters = 1e9;
    workload.job.tokens_per_step = 1000;
    const struct cb_formula *f = judge(result, workload);
    assert_int_equal(f->span, CB_SPAN_COMPUTE);
    assert_near(f->time_s, 100, 1e-14);
    assert_int_equal(f->time_source, CB_FROM_MEASURED);
    assert_non_null(strstr(f->time_note, "1000 tokens (given) / (100 GFLOP/s x 0.6)"));
    assert_non_null(strstr(f->time_note, "assumed"));
    assert_near(f->share, 4.0 / 104, 1e-14);
    /* 1 s of communication more per... the tokens at which 4 s are 20 %: 16 s of compute. */
    assert_near(f->critical_tokens, 160, 1e-12);
}

/* Parameters alone: the tokens of the next larger standard model, said to be assumed. */
static void test_tokens_are_assumed_when_not_stated(void **state)
{
    struct cb_result *result = *state;
    add_row(result, 1048576, 1e9);
    add_gemm(result, 0, 100e9);
    static const struct {
        double parameters, tokens;
    } rows[] = {{1e6, 16384}, {125e6, 16384}, {126e6, 4096}, {3e9, 256}, {405e9, 256}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cb_workload workload = nothing_stated;
        workload.job.parameters = rows[i].parameters;
        const struct cb_formula *f = judge(result, workload);
        assert_near(f->tokens_per_step, rows[i].tokens, 0);
        assert_non_null(strstr(f->time_note, "tokens (assumed)"));
    }
}

/* Nothing stated: the table, and 7B as the headline. */
static void test_standard_workloads(void **state)
{
    struct cb_result *result = *state;
    add_row(result, 67108864, 100e6);
    add_gemm(result, 0, 100e9);
    const struct cb_formula *f = judge(result, nothing_stated);
    size_t count;
    const struct cb_workload_row *rows = cb_workloads(&count);
    assert_int_equal(count, 5);
    assert_int_equal(result->workloads.count, count);
    for (size_t i = 0; i < count; i++) {
        const struct cb_formula *row = &result->workloads.items[i];
        assert_string_equal(row->workload, rows[i].name);
        assert_near(row->parameters, rows[i].parameters, 0);
        assert_near(row->tokens_per_step, rows[i].tokens_per_step, 0);
        assert_true(row->judged);
    }
    assert_string_equal(f->workload, "7B full fine-tune");
    assert_near(f->parameters, 7e9, 0);
    assert_near(f->step_communication_s, 280, 1e-14);
    assert_near(f->time_s, 6 * 7e9 * 256 / 60e9, 1e-14);
    assert_true(f->bottleneck);
    /* Judged again with a stated model, the table goes. */
    judge(result, stated(7e9, 1));
    assert_int_equal(result->workloads.count, 0);
}

/* The rate of a product that is too small to judge by is no training's: what was published of the
 * card stands in, and without that there is none. float32's is not taken for half precision's. */
static void test_small_gemm_is_no_rate(void **state)
{
    struct cb_result *result = *state;
    static const struct {
        const char *gpu;
        enum cb_provenance source;
    } rows[] = {{"NVIDIA A100-SXM4-80GB", CB_FROM_REFERENCE},
                {"NVIDIA Imaginary", CB_FROM_NOWHERE}};
    add_row(result, (uint64_t)1 << 30, 50e9);
    struct cb_kernel_row *half = add_gemm(result, 0, 40e12);
    half->dtype = CB_DTYPE_BFLOAT16;
    half->small = true;
    add_gemm(result, 0, 18e12);
    struct cb_gpu *gpu = cb_vec_add(&result->gpus);
    assert_non_null(gpu);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        *gpu = (struct cb_gpu){.answered = true};
        snprintf(gpu->name, sizeof(gpu->name), "%s", rows[i].gpu);
        const struct cb_formula *f = judge(result, nothing_stated);
        assert_int_equal(f->time_source, rows[i].source);
        assert_int_equal(f->judged, i == 0);
        assert_non_null(strstr(f->time_note, i == 0 ? "measured too small" : "large enough"));
    }
}

/* What is missing is said, and nothing is judged in its stead. */
static void test_missing_parts_are_said(void **state)
{
    struct cb_result *result = *state;
    const struct cb_formula *f = judge(result, nothing_stated);
    assert_false(f->judged);
    assert_non_null(strstr(f->bandwidth_note, "not measured"));
    assert_non_null(strstr(f->time_note, "no GEMM rate"));
    assert_int_equal(result->workloads.count, 0);
    assert_int_equal(cb_judge_exit_status(result), 3);
    result->rank_count = 1;
    struct cb_collective_row *row = add_row(result, 8, 1);
    row->status = CB_STATUS_SKIPPED;
    snprintf(row->reason, sizeof(row->reason), "one rank");
    add_gemm(result, 0, 100e9);
    f = judge(result, nothing_stated);
    assert_false(f->judged);
    assert_non_null(strstr(f->bandwidth_note, "one rank only"));
    assert_non_null(strstr(f->bandwidth_note, "--bandwidth"));
    result->rank_count = 2;
    snprintf(row->reason, sizeof(row->reason), "time limit");
    f = judge(result, nothing_stated);
    assert_non_null(strstr(f->bandwidth_note, "time limit"));
    /* A stated bandwidth mends it. */
    struct cb_workload workload = nothing_stated;
    workload.bandwidth_bytes_per_s = 12.5e9;
    assert_true(judge(result, workload)->judged);
}

/* 10 MB at 100 MB/s is 20 % of 1 s: the interval of a noisy row holds any limit nearby, and not a
 * far one. */
static void test_undecided(void **state)
{
    struct cb_result *result = *state;
    struct cb_collective_row *row = add_row(result, 10000000, 100e6);
    row->time.ci95_relative = 0.2;
    row->time.min_s = row->time.median_s / 10;
    row->time.max_s = row->time.median_s * 10;
    assert_false(judge(result, stated(5e6, 1))->undecided); /* it is not noisy */
    row->status = CB_STATUS_NOISY;
    assert_true(judge(result, stated(5e6, 1))->undecided);
    assert_int_equal(cb_judge_exit_status(result), 4);
    assert_true(judge(result, stated(5e6, 1.15))->undecided);  /* 17.4 %, up to 20.9 % */
    assert_true(judge(result, stated(5e6, 0.85))->undecided);  /* 23.5 %, from 18.8 % */
    assert_false(judge(result, stated(5e6, 1.25))->undecided); /* 16 %, up to 19.2 % */
    assert_false(judge(result, stated(5e6, 0.75))->undecided); /* 26.7 %, from 21.3 % */
    assert_int_equal(cb_judge_exit_status(result), 1);
    /* Too few samples for an interval: the extremes count, and no interval reaches beyond them. */
    row->time.ci95_relative = -1;
    assert_true(judge(result, stated(5e6, 0.75))->undecided);
    row->time.max_s = row->time.median_s * 1.1;
    assert_false(judge(result, stated(5e6, 1.15))->undecided);
    row->time.ci95_relative = 3;
    assert_false(judge(result, stated(5e6, 1.15))->undecided); /* 17.4 %, up to 19.1 % */
    row->time.ci95_relative = 0.2;
    row->time.max_s = row->time.median_s * 10;
    struct cb_workload workload = stated(5e6, 1);
    workload.bandwidth_bytes_per_s = 100e6;
    assert_false(judge(result, workload)->undecided); /* a stated figure has no noise */
}

/* A host that every slow link has as one of its ends is named; both ends of one link are not. */
static void test_slow_host(void **state)
{
    struct cb_result *result = *state;
    add_pair(result, "node-a", "node-b", 117e6, 60e-6);
    add_pair(result, "node-b", "node-a", 117e6, 60e-6);
    add_pair(result, "node-b", "node-c", 60e6, 60e-6);
    judge(result, stated(7e9, 1));
    assert_null(strstr(check(result, CB_CRITERION_NETWORK_HEALTHY)->summary, "all with"));
    result->pairs.items[1].bytes_per_s = 61e6;
    judge(result, stated(7e9, 1));
    const struct cb_check *c = check(result, CB_CRITERION_NETWORK_HEALTHY);
    assert_non_null(strstr(c->summary, "node-b -> node-c, slowest of 3, all with node-b"));
    struct cb_pair_row *other = add_pair(result, "node-c", "node-a", 50e6, 60e-6);
    judge(result, stated(7e9, 1)); /* three slow links of a triangle: none is at all of them */
    assert_null(strstr(check(result, CB_CRITERION_NETWORK_HEALTHY)->summary, "all with"));
    other->status = CB_STATUS_FAILED;
    judge(result, stated(7e9, 1));
    assert_non_null(strstr(check(result, CB_CRITERION_NETWORK_HEALTHY)->summary, "all with"));
}

/* Checks against the interface's nominal speed; the slowest pair decides and is named. */
static void test_checks(void **state)
{
    struct cb_result *result = *state;
    add_row(result, 67108864, 100e6);
    add_pair(result, "node-a", "node-b", 117e6, 60e-6);
    add_pair(result, "node-b", "node-a", 115e6, 80e-6);
    add_pair(result, "node-b", "node-c", 1e6, 3)->status = CB_STATUS_FAILED;
    judge(result, stated(7e9, 1));
    const struct cb_check *c = check(result, CB_CRITERION_NETWORK_ADVERTISED);
    assert_int_equal(c->status, CB_CHECK_MET);
    assert_near(c->actual, 115e6, 0);
    assert_near(c->required, 0.7 * 125e6, 1e-14);
    assert_non_null(strstr(c->summary, "node-b -> node-a, slowest of 2"));
    assert_non_null(strstr(c->summary, "nominal speed of eth0"));
    c = check(result, CB_CRITERION_NETWORK_HEALTHY);
    assert_int_equal(c->status, CB_CHECK_MET);
    assert_near(c->required, 0.9 * 125e6, 1e-14);
    c = check(result, CB_CRITERION_ALL_REDUCE);
    assert_int_equal(c->status, CB_CHECK_MET);
    assert_near(c->actual, 100e6, 0);
    c = check(result, CB_CRITERION_ROUND_TRIP);
    assert_near(c->actual, 80e-6, 0);
    assert_non_null(strstr(c->summary, "node-b - node-a"));
    assert_int_equal(check(result, CB_CRITERION_ROUND_TRIP_CLUSTER)->status, CB_CHECK_MET);
    assert_int_equal(check(result, CB_CRITERION_DATA)->status, CB_CHECK_MET);
}

/* The offer's 10 Gb/s that is 1 Gb/s: an alarm, whatever the interface states. */
static void test_advertised_bandwidth_goes_first(void **state)
{
    struct cb_result *result = *state;
    add_row(result, 67108864, 100e6);
    add_pair(result, "node-a", "node-b", 117e6, 60e-6);
    struct cb_workload workload = stated(1e6, 1000);
    workload.nominal_bytes_per_s = 1.25e9;
    judge(result, workload);
    const struct cb_check *c = check(result, CB_CRITERION_NETWORK_ADVERTISED);
    assert_int_equal(c->status, CB_CHECK_ALARM);
    assert_near(c->required, 0.7 * 1.25e9, 1e-14);
    assert_non_null(strstr(c->summary, "as given"));
    assert_false(result->formula.bottleneck);
    assert_int_equal(cb_judge_exit_status(result), 1);
}

/* RDMA interfaces have the tighter limits. */
static void test_rdma_limits(void **state)
{
    struct cb_result *result = *state;
    for (size_t i = 0; i < 2; i++) {
        snprintf(result->nodes.items[i].nics[0].kind, 24, "RoCE");
        result->nodes.items[i].nics[0].nominal_bytes_per_s = 12.5e9;
    }
    add_pair(result, "node-a", "node-b", 11.5e9, 6e-6);
    judge(result, stated(7e9, 1));
    assert_int_equal(check(result, CB_CRITERION_NETWORK_ADVERTISED)->status, CB_CHECK_MET);
    assert_int_equal(check(result, CB_CRITERION_NETWORK_HEALTHY)->status, CB_CHECK_SHORT);
    assert_int_equal(check(result, CB_CRITERION_ROUND_TRIP)->status, CB_CHECK_MET);
    assert_int_equal(check(result, CB_CRITERION_ROUND_TRIP_CLUSTER)->status, CB_CHECK_SHORT);
    assert_int_equal(check(result, CB_CRITERION_ALL_REDUCE)->status, CB_CHECK_NOT_TESTED);
}

/* The slowest interface of the job is the reference; one unknown makes it unknown. */
static void test_reference(void **state)
{
    struct cb_result *result = *state;
    struct cb_topo_nic *nic = &result->nodes.items[1].nics[0];
    add_pair(result, "node-a", "node-b", 117e6, 60e-6);
    nic->nominal_bytes_per_s = 12.5e6;
    judge(result, stated(7e9, 1));
    assert_near(check(result, CB_CRITERION_NETWORK_HEALTHY)->required, 0.9 * 12.5e6, 1e-14);
    nic->nominal_bytes_per_s = 0;
    nic->stated_bytes_per_s = 1.25e9;
    snprintf(nic->driver, sizeof(nic->driver), "veth");
    judge(result, stated(7e9, 1));
    const struct cb_check *c = check(result, CB_CRITERION_NETWORK_ADVERTISED);
    assert_int_equal(c->status, CB_CHECK_NO_REFERENCE);
    assert_non_null(strstr(c->summary, "eth0's driver veth makes its speed up"));
    nic->stated_bytes_per_s = 0;
    judge(result, stated(7e9, 1));
    assert_non_null(
        strstr(check(result, CB_CRITERION_NETWORK_ADVERTISED)->summary, "states no speed"));
    nic->used = result->nodes.items[0].nics[0].used = false;
    judge(result, stated(7e9, 1));
    assert_non_null(strstr(check(result, CB_CRITERION_NETWORK_ADVERTISED)->summary, "not known"));
    /* Nothing without a reference counts against the cluster. */
    struct cb_workload workload = stated(1e6, 1000);
    workload.bandwidth_bytes_per_s = 1e9;
    judge(result, workload);
    assert_int_equal(cb_judge_exit_status(result), 0);
}

/* One node: no link, no alarm, and the reason. */
static void test_one_node(void **state)
{
    struct cb_result *result = *state;
    result->nodes.count = 1;
    add_row(result, 67108864, 5e9);
    judge(result, stated(1e6, 1000));
    static const enum cb_criterion links[] = {
        CB_CRITERION_NETWORK_ADVERTISED, CB_CRITERION_NETWORK_HEALTHY, CB_CRITERION_ALL_REDUCE,
        CB_CRITERION_ROUND_TRIP, CB_CRITERION_ROUND_TRIP_CLUSTER};
    for (size_t i = 0; i < 5; i++) {
        const struct cb_check *c = check(result, links[i]);
        assert_int_equal(c->status, CB_CHECK_NOT_TESTED);
        assert_non_null(strstr(c->summary, "one node only"));
    }
    assert_int_equal(cb_judge_exit_status(result), 0);
}

static void test_wrong_data(void **state)
{
    struct cb_result *result = *state;
    add_row(result, 67108864, 100e6);
    struct cb_collective_row *row = add_row(result, 8, 1);
    row->status = CB_STATUS_WRONG;
    row->wrong = 7;
    add_gemm(result, 1, 1e9)->status = CB_STATUS_WRONG; /* not counted: at least one */
    judge(result, stated(1e3, 1e6));
    const struct cb_check *c = check(result, CB_CRITERION_DATA);
    assert_int_equal(c->status, CB_CHECK_ALARM);
    assert_near(c->actual, 8, 0);
    assert_int_equal(cb_judge_exit_status(result), 1);
}

/* Counts that no 64 bits hold together: what a file says of wrong data must not add up to none. */
static void test_very_wrong_data(void **state)
{
    struct cb_result *result = *state;
    for (int i = 0; i < 2; i++)
        add_row(result, 1024, 1e9)->wrong = UINT64_C(1) << 63;
    judge(result, nothing_stated);
    assert_int_equal(check(result, CB_CRITERION_DATA)->status, CB_CHECK_ALARM);
    assert_near(check(result, CB_CRITERION_DATA)->actual, 0x1p64, 0);
}

static void test_more_ranks_than_can_be(void **state)
{
    struct cb_result *result = *state;
    struct cb_workload workload = stated(7e9, 1);
    struct cb_error err;
    result->rank_count = INT_MAX; /* over two nodes one rank more */
    add_row(result, 1024, 1e9);
    assert_int_equal(cb_judge_result(result, &workload, &err), CB_E_INPUT);
    assert_string_equal(err.what, "2 nodes of 1073741824 GPUs cannot be");
}

/* The order of what decides: stopped, failed, wrong, no verdict, noise, bottleneck and checks. */
static void test_exit_status_order(void **state)
{
    struct cb_result *result = *state;
    struct cb_collective_row *row = add_row(result, 10000000, 100e6);
    judge(result, stated(5e6, 10));
    assert_int_equal(cb_judge_exit_status(result), 0);
    result->formula.bottleneck = true;
    assert_int_equal(cb_judge_exit_status(result), 1);
    result->formula.undecided = true;
    assert_int_equal(cb_judge_exit_status(result), 4);
    result->formula.judged = false;
    assert_int_equal(cb_judge_exit_status(result), 3);
    row->wrong = 1;
    assert_int_equal(cb_judge_exit_status(result), 1);
    add_pair(result, "a", "b", 0, 0)->status = CB_STATUS_TIMEOUT;
    assert_int_equal(cb_judge_exit_status(result), 3);
    snprintf(result->stopped_by, sizeof(result->stopped_by), "signal");
    assert_int_equal(cb_judge_exit_status(result), 5);
    result->stopped_by[0] = '\0';
    result->complete = false;
    assert_int_equal(cb_judge_exit_status(result), 5);
}

/* An impossible workload changes nothing. */
static void test_result_is_unchanged_on_error(void **state)
{
    struct cb_result *result = *state;
    add_row(result, 67108864, 100e6);
    add_gemm(result, 0, 100e9);
    judge(result, nothing_stated);
    struct cb_formula before = result->formula;
    const void *table = result->workloads.items, *checks = result->checks.items;
    struct cb_workload workload = stated(1e15, 1);
    workload.communications = 1e300;
    struct cb_error err;
    assert_int_equal(cb_judge_result(result, &workload, &err), CB_E_USAGE);
    assert_memory_equal(&result->formula, &before, sizeof(before));
    assert_ptr_equal(result->workloads.items, table);
    assert_ptr_equal(result->checks.items, checks);
    assert_int_equal(result->workloads.count, 5);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_paper),
        TEST(test_bandwidth_is_interpolated),
        TEST(test_bandwidth_outside_the_range),
        TEST(test_the_right_series_is_taken),
        TEST(test_scope_falls_back),
        TEST(test_compute_time_from_gemm),
        TEST(test_tokens_are_assumed_when_not_stated),
        TEST(test_standard_workloads),
        TEST(test_small_gemm_is_no_rate),
        TEST(test_missing_parts_are_said),
        TEST(test_undecided),
        TEST(test_slow_host),
        TEST(test_checks),
        TEST(test_advertised_bandwidth_goes_first),
        TEST(test_rdma_limits),
        TEST(test_reference),
        TEST(test_one_node),
        TEST(test_wrong_data),
        TEST(test_very_wrong_data),
        TEST(test_more_ranks_than_can_be),
        TEST(test_exit_status_order),
        TEST(test_result_is_unchanged_on_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

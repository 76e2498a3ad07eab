#include "cb_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "judge/estimate.h"
#include "judge/predict.h"
#include "report/forecast.h"

#define MIB (1024.0 * 1024)
#define COUNT(items) (sizeof(items) / sizeof((items)[0]))

static void add_curve(struct cb_result *result, enum cb_op op, enum cb_scope scope, int ranks,
                      double latency_s, double bus_bytes_per_s)
{
    for (double size_bytes = 1024; size_bytes <= 64 * MIB; size_bytes *= 4) {
        struct cb_collective_row *row = cb_vec_add(&result->collectives);
        assert_non_null(row);
        double moved_bytes = cb_op_bus_factor(op, ranks) * size_bytes;
        double time_s = latency_s + moved_bytes / bus_bytes_per_s;
        *row = (struct cb_collective_row){
            .op = op,
            .scope = scope,
            .dtype = CB_DTYPE_FLOAT32,
            .ranks = ranks,
            .size_bytes = (uint64_t)size_bytes,
            .samples = 10,
            .bus_bytes_per_s = moved_bytes / time_s,
            .time = {time_s, 0.9 * time_s, 1.2 * time_s, 0.8 * time_s, 2 * time_s, 0.01}};
    }
}

/* Four nodes of eight GPUs; GEMM at 500 TFLOP/s, so that training has 300. */
static int set_up(void **state)
{
    static struct cb_result result;
    cb_result_init(&result);
    *state = &result;
    result.complete = true;
    result.rank_count = 32;
    snprintf(result.transport, sizeof(result.transport), "nccl");
    for (int i = 0; i < 4; i++)
        if (!cb_vec_add(&result.nodes))
            return -1;
    add_curve(&result, CB_OP_ALL_REDUCE, CB_SCOPE_WORLD, 32, 200e-6, 300e9);
    add_curve(&result, CB_OP_ALL_REDUCE, CB_SCOPE_INTRA_NODE, 8, 50e-6, 400e9);
    add_curve(&result, CB_OP_ALL_GATHER, CB_SCOPE_WORLD, 32, 140e-6, 290e9);
    struct cb_kernel_row *gemm = cb_vec_add(&result.kernels);
    if (!gemm)
        return -1;
    *gemm =
        (struct cb_kernel_row){.kernel = "gemm", .dtype = CB_DTYPE_BFLOAT16, .flops_per_s = 500e12};
    return 0;
}

static int tear_down(void **state)
{
    cb_result_fini(*state);
    return 0;
}

/* 7B over DDP, 4096 tokens. */
static struct cb_workload seven_billion(void)
{
    struct cb_workload workload;
    cb_workload_init(&workload);
    workload.job.parameters = 7e9;
    workload.job.tokens_per_step = 4096;
    return workload;
}

static void predict(const struct cb_result *result, const struct cb_workload *workload,
                    const int *gpus, size_t count, const struct cb_fabric *fabric,
                    struct cb_forecast *forecast)
{
    const struct cb_predict_request request = {
        .gpus = gpus, .count = count, .fabric = fabric ? *fabric : (struct cb_fabric){0}};
    struct cb_error err;
    cb_forecast_init(forecast);
    assert_ok(cb_predict(&result, 1, workload, &request, forecast, &err), &err);
}

static void predicts_a_row_for_each_number_of_gpus(void **state)
{
    static const int gpus[] = {8, 32, 128, 8192};
    static const enum cb_confidence words[] = {CB_CONFIDENCE_INTERPOLATED,
                                               CB_CONFIDENCE_INTERPOLATED, CB_CONFIDENCE_WITHIN_4X,
                                               CB_CONFIDENCE_BEYOND};
    struct cb_workload workload = seven_billion();
    struct cb_forecast forecast;
    predict(*state, &workload, gpus, COUNT(gpus), NULL, &forecast);
    assert_int_equal(forecast.rows.count, COUNT(gpus));
    assert_int_equal(forecast.runs.count, 1);
    assert_int_equal(forecast.runs.items[0].nodes, 4);
    assert_int_equal(forecast.runs.items[0].gpus_per_node, 8);
    assert_near(forecast.runs.items[0].largest_bytes, 64 * MIB, 0);
    assert_near(forecast.gradient_bytes, 14e9, 1e-9);
    assert_near(forecast.tokens_per_gpu, 4096, 0);
    for (size_t i = 0; i < COUNT(gpus); i++) {
        const struct cb_forecast_row *row = &forecast.rows.items[i];
        assert_string_equal(row->reason, "");
        assert_int_equal(row->gpus, gpus[i]);
        assert_int_equal(row->nodes, gpus[i] / 8);
        assert_int_equal(row->confidence, words[i]);
        /* 6 x 7e9 x 4096 / 300e12. */
        assert_near(row->compute_s, 0.57344, 1e-6);
        assert_near(row->serial_share,
                    row->communication_s / (row->communication_s + row->compute_s), 1e-9);
        assert_near(row->step_s, row->compute_s / (1 - row->exposed_share), 1e-9);
        assert_near(row->tokens_per_s, 4096.0 * gpus[i] / row->step_s, 1e-9);
        assert_true(row->exposed_share_low <= row->exposed_share);
        assert_true(row->exposed_share <= row->exposed_share_high);
        assert_true(row->all_reduce_low_s < row->all_reduce_s);
        assert_true(row->all_reduce_s < row->all_reduce_high_s);
        assert_int_equal(row->bound, row->exposed_share > forecast.threshold);
        if (i > 0)
            assert_true(row->all_reduce_s > row[-1].all_reduce_s &&
                        row->exposed_share_high >= row[-1].exposed_share_high);
    }
    /* 14e9 bytes are 209 times the largest size: by the fit, 200 us + 2 x 31/32 x 14e9 / 300e9. */
    const struct cb_forecast_row *measured = &forecast.rows.items[1];
    assert_near(measured->all_reduce_s, 200e-6 + 1.9375 * 14e9 / 300e9, 1e-6);
    assert_near(measured->bus_bytes_per_s, 1.9375 * 14e9 / measured->all_reduce_s, 1e-9);
    assert_int_equal(measured->all_reduce_source, CB_FROM_EXTRAPOLATED);
    assert_int_equal(measured->all_reduce_confidence, CB_CONFIDENCE_BEYOND);
    assert_int_equal(measured->source, CB_FROM_MEASURED);
    cb_forecast_fini(&forecast);
}

static void takes_powers_of_four_where_no_number_is_stated(void **state)
{
    static const int gpus[] = {32, 128, 512, 2048};
    struct cb_workload workload;
    struct cb_forecast forecast;
    cb_workload_init(&workload);
    predict(*state, &workload, NULL, 0, NULL, &forecast);
    assert_string_equal(forecast.job, "7B full fine-tune");
    assert_near(forecast.parameters, 7e9, 0);
    assert_int_equal(forecast.rows.count, COUNT(gpus));
    for (size_t i = 0; i < COUNT(gpus); i++)
        assert_int_equal(forecast.rows.items[i].gpus, gpus[i]);
    cb_forecast_fini(&forecast);
}

static void needs_no_network_for_one_gpu(void **state)
{
    static const int gpus[] = {1, 4};
    struct cb_workload workload = seven_billion();
    struct cb_forecast forecast;
    predict(*state, &workload, gpus, 2, NULL, &forecast);
    const struct cb_forecast_row *row = forecast.rows.items;
    assert_near(row[0].all_reduce_s, 0, 0);
    assert_near(row[0].bus_bytes_per_s, 0, 0);
    assert_near(row[0].step_s, row[0].compute_s, 1e-12);
    assert_int_equal(row[0].verdict, CB_TRAINING_CLEAR);
    assert_int_equal(row[0].confidence, CB_CONFIDENCE_MEASURED);
    /* A part of a node, by the node's own curve. */
    assert_int_equal(row[1].nodes, 1);
    assert_int_equal(row[1].confidence, CB_CONFIDENCE_WITHIN_4X);
    assert_true(row[1].communication_s > 0);
    cb_forecast_fini(&forecast);
}

static void takes_a_stated_compute_time(void **state)
{
    static const int gpus[] = {32};
    struct cb_workload workload = seven_billion();
    struct cb_forecast forecast;
    workload.span = CB_SPAN_COMPUTE;
    workload.time_s = 3;
    predict(*state, &workload, gpus, 1, NULL, &forecast);
    assert_near(forecast.rows.items[0].compute_s, 3, 0);
    assert_int_equal(forecast.compute_source, CB_FROM_GIVEN);
    cb_forecast_fini(&forecast);
}

static const struct cb_assumption *find_assumption(const struct cb_forecast *forecast,
                                                   const char *name)
{
    for (size_t i = 0; i < forecast->assumptions.count; i++)
        if (strcmp(forecast->assumptions.items[i].name, name) == 0)
            return &forecast->assumptions.items[i];
    return NULL;
}

static void states_an_oversubscription(void **state)
{
    static const int gpus[] = {32, 1024};
    const struct cb_fabric fabric = {.oversubscription = 4};
    struct cb_workload workload = seven_billion();
    struct cb_forecast plain, crossed;
    predict(*state, &workload, gpus, 2, NULL, &plain);
    predict(*state, &workload, gpus, 2, &fabric, &crossed);
    const struct cb_forecast_row *before = plain.rows.items, *after = crossed.rows.items;
    assert_near(after[0].all_reduce_s, before[0].all_reduce_s, 0);
    assert_near(after[1].all_reduce_s / before[1].all_reduce_s, 4, 0.05);
    assert_near(after[1].all_reduce_low_s, before[1].all_reduce_low_s, 1e-9);
    assert_null(find_assumption(&plain, "oversubscription"));
    assert_non_null(find_assumption(&crossed, "oversubscription"));
    assert_int_equal(find_assumption(&crossed, "oversubscription")->source, CB_FROM_GIVEN);
    assert_int_equal(find_assumption(&crossed, "latency")->source, CB_FROM_REFERENCE);
    cb_forecast_fini(&plain);
    cb_forecast_fini(&crossed);
}

static void says_why_a_row_cannot_be_told(void **state)
{
    static const int gpus[] = {8, 32};
    struct cb_workload workload = seven_billion();
    struct cb_forecast forecast;
    workload.job.tensor = 8;
    workload.job.pipeline = 4;
    workload.job.layers = 32;
    workload.job.hidden = 4096;
    predict(*state, &workload, gpus, 2, NULL, &forecast);
    assert_true(strlen(forecast.rows.items[0].reason) > 0);
    assert_string_equal(forecast.rows.items[1].reason, "");
    cb_forecast_fini(&forecast);
}

static void expect_error(const struct cb_result *result, const struct cb_workload *workload,
                         int gpus, int gpus_per_node, int code, const char *what)
{
    const struct cb_predict_request request = {
        .gpus = &gpus, .count = 1, .gpus_per_node = gpus_per_node};
    struct cb_forecast forecast;
    struct cb_error err;
    cb_forecast_init(&forecast);
    assert_int_equal(cb_predict(&result, 1, workload, &request, &forecast, &err), code);
    if (!strstr(err.what, what))
        fail_msg("'%s' does not say '%s'", err.what, what);
    assert_int_equal(forecast.rows.count, 0);
}

static void refuses_what_cannot_be_predicted(void **state)
{
    struct cb_result *result = *state;
    struct cb_workload workload = seven_billion();
    expect_error(result, &workload, 0, 0, CB_E_USAGE, "0 GPUs");
    expect_error(result, &workload, -8, 0, CB_E_USAGE, "-8 GPUs");
    expect_error(result, &workload, 1 << 25, 0, CB_E_USAGE, "GPUs cannot be predicted for");
    expect_error(result, &workload, 12, 0, CB_E_USAGE, "no whole nodes of 8");
    expect_error(result, &workload, 6, 4, CB_E_USAGE, "no whole nodes of 4");
    expect_error(result, &workload, 32, -1, CB_E_USAGE, "per node");
    workload.span = CB_SPAN_STEP;
    workload.time_s = 1;
    expect_error(result, &workload, 32, 0, CB_E_USAGE, "--step-time includes communication");
    workload.span = CB_SPAN_TOTAL;
    expect_error(result, &workload, 32, 0, CB_E_USAGE, "--total-time includes communication");
    workload = seven_billion();
    workload.job.parameters = 1e300;
    expect_error(result, &workload, 32, 0, CB_E_USAGE, "parameters");
    workload = seven_billion();
    cb_vec_fini(&result->kernels);
    expect_error(result, &workload, 32, 0, CB_E_USAGE, "no GEMM rate");
    cb_vec_fini(&result->collectives);
    expect_error(result, &workload, 32, 0, CB_E_INPUT, "holds no collective");
}

static void cannot_tell_what_lies_beyond_one_node(void **state)
{
    struct cb_result *result = *state;
    struct cb_workload workload = seven_billion();
    cb_vec_fini(&result->nodes);
    assert_non_null(cb_vec_add(&result->nodes));
    result->rank_count = 8;
    cb_vec_fini(&result->collectives);
    add_curve(result, CB_OP_ALL_REDUCE, CB_SCOPE_WORLD, 8, 50e-6, 400e9);
    expect_error(result, &workload, 16, 0, CB_E_MEASURE, "nothing was measured between nodes");
}

/* ---- how it reads ---- */

static void fits_the_page_and_says_what_it_rests_on(void **state)
{
    static const int gpus[] = {1, 8, 32, 131072, CB_PREDICT_MAX_GPUS};
    const struct cb_fabric fabric = {.oversubscription = 7, .pod_nodes = 384};
    static const char *const wanted[] = {"131072", "interpolated",      "beyond", "ASSUMED",
                                         "7:1",    "4 nodes x 8 ranks", "13 GiB", "7B parameters"};
    struct cb_workload workload = seven_billion();
    struct cb_forecast forecast;
    struct cb_strbuf text = {0};
    struct cb_error err;
    predict(*state, &workload, gpus, COUNT(gpus), &fabric, &forecast);
    assert_ok(cb_forecast_render(&forecast, CB_REPORT_TEXT, NULL, &text, &err), &err);
    for (size_t i = 0; i < COUNT(wanted); i++)
        if (!strstr(cb_strbuf_get(&text), wanted[i]))
            fail_msg("'%s' is missing in\n%s", wanted[i], cb_strbuf_get(&text));
    for (const char *line = cb_strbuf_get(&text); *line;) {
        size_t columns = strcspn(line, "\n");
        assert_in_range(columns, 0, CB_PAGE_COLUMNS);
        line += columns + (line[columns] == '\n');
    }
    cb_strbuf_fini(&text);
    assert_int_equal(cb_forecast_render(&forecast, CB_REPORT_CSV, NULL, &text, &err),
                     CB_E_UNSUPPORTED);
    cb_forecast_fini(&forecast);
}

static void writes_json_of_its_own_schema(void **state)
{
    static const int gpus[] = {1, 32};
    static const char *const wanted[] = {
        "\"schema\": \"commbound.prediction\"",
        "\"version\": 1",
        "{\"gpus\": 1, \"nodes\": 1, \"all_reduce\": {\"time_s\": null",
        "\"confidence\": \"interpolated\"",
        "\"verdict\": \"clear\"",
        "\"gradient_bytes\": 14000000000",
        "\"oversubscription\": null"};
    struct cb_workload workload = seven_billion();
    struct cb_forecast forecast;
    struct cb_error err;
    char *text = NULL;
    predict(*state, &workload, gpus, COUNT(gpus), NULL, &forecast);
    assert_ok(cb_forecast_to_json(&forecast, &text, &err), &err);
    for (size_t i = 0; i < COUNT(wanted); i++)
        if (!strstr(text, wanted[i]))
            fail_msg("'%s' is missing in\n%s", wanted[i], text);
    free(text);
    cb_forecast_fini(&forecast);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(predicts_a_row_for_each_number_of_gpus, set_up, tear_down),
        cmocka_unit_test_setup_teardown(takes_powers_of_four_where_no_number_is_stated, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(needs_no_network_for_one_gpu, set_up, tear_down),
        cmocka_unit_test_setup_teardown(takes_a_stated_compute_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(states_an_oversubscription, set_up, tear_down),
        cmocka_unit_test_setup_teardown(says_why_a_row_cannot_be_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_what_cannot_be_predicted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cannot_tell_what_lies_beyond_one_node, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fits_the_page_and_says_what_it_rests_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(writes_json_of_its_own_schema, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Judging by what other programs measured: which rows count, what the notes say, and what stands in
 * for the compute rate that no log holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cb_test.h"
#include "judge/judge.h"

static struct cb_import *add_import(struct cb_result *result, const char *op,
                                    enum cb_import_state state)
{
    struct cb_import *import = cb_vec_add(&result->imports);
    if (!import)
        abort();
    snprintf(import->file, sizeof(import->file), "a.log");
    snprintf(import->op, sizeof(import->op), "%s", op);
    import->state = state;
    import->ranks = 16;
    import->nodes = 2;
    return import;
}

static void add_row(struct cb_result *result, enum cb_op op, bool in_place, double bus_bytes_per_s,
                    int line)
{
    struct cb_collective_row *row = cb_vec_add(&result->collectives);
    if (!row)
        abort();
    row->op = op;
    row->in_place = in_place;
    row->ranks = 16;
    row->size_bytes = (uint64_t)1 << 30;
    row->bus_bytes_per_s = bus_bytes_per_s;
    row->alg_bytes_per_s = bus_bytes_per_s / cb_op_bus_factor(op, 16);
    row->time.median_s = (double)row->size_bytes / row->alg_bytes_per_s;
    row->time.ci95_relative = -1;
    row->import_number = (int)result->imports.count;
    row->import_line = line;
}

static void judge(struct cb_result *result, struct cb_workload workload)
{
    struct cb_error err = {0};
    result->complete = true;
    assert_ok(cb_judge_result(result, &workload, &err), &err);
}

static const struct cb_workload step = {.job.parameters = 1e9, .span = CB_SPAN_STEP, .time_s = 1};

/* 1e9 x 4 B over 40 GB/s is 0.1 s of 1 s. */
static void test_bandwidth_of_a_log(void **state)
{
    (void)state;
    struct cb_result result;
    cb_result_init(&result);
    add_import(&result, "all_reduce", CB_IMPORT_GRADED);
    add_row(&result, CB_OP_ALL_REDUCE, false, 40e9, 31);
    judge(&result, step);
    assert_true(result.formula.judged);
    assert_near(result.formula.share, 0.1, 1e-12);
    assert_says(result.formula.bandwidth_note, "imported from a.log line 31");
    assert_null(strstr(result.formula.bandwidth_note, "provisional"));
    assert_int_equal(result.checks.count, 0);
    assert_int_equal(cb_judge_exit_status(&result), 0);
    cb_result_fini(&result);
}

/* In place of an all_reduce its halves, and of those what was measured in place. */
static void test_halves_stand_in(void **state)
{
    (void)state;
    struct cb_result result;
    cb_result_init(&result);
    add_import(&result, "all_gather", CB_IMPORT_PROVISIONAL);
    add_row(&result, CB_OP_ALL_GATHER, false, 35e9, 31);
    add_row(&result, CB_OP_ALL_GATHER, true, 40e9, 31);
    judge(&result, step);
    assert_near(result.formula.bandwidth_bytes_per_s, 40e9, 1e-12);
    assert_says(result.formula.bandwidth_note, "half of a ring all_reduce");
    assert_says(result.formula.bandwidth_note, "provisional");
    add_import(&result, "all_reduce", CB_IMPORT_GRADED);
    add_row(&result, CB_OP_ALL_REDUCE, false, 30e9, 12);
    judge(&result, step);
    assert_near(result.formula.bandwidth_bytes_per_s, 30e9, 1e-12);
    cb_result_fini(&result);
}

static void test_why_there_is_no_bandwidth(void **state)
{
    (void)state;
    struct cb_result result;
    cb_result_init(&result);
    struct cb_import *import = add_import(&result, "all_reduce", CB_IMPORT_INVALID);
    struct cb_import_finding *finding = cb_vec_add(&import->findings);
    if (!finding)
        abort();
    snprintf(finding->text, sizeof(finding->text), "one rank only");
    judge(&result, step);
    assert_false(result.formula.judged);
    assert_says(result.formula.bandwidth_note, "a.log is no basis: one rank only");
    assert_int_equal(cb_judge_exit_status(&result), 3);
    add_import(&result, "broadcast", CB_IMPORT_GRADED);
    add_row(&result, CB_OP_BROADCAST, false, 40e9, 9);
    judge(&result, step);
    assert_says(result.formula.bandwidth_note, "holds broadcast");
    assert_int_equal(cb_judge_exit_status(&result), 3);
    cb_result_fini(&result);
}

/* The lowest published GEMM rate of the log's GPU; of an A100 where none is named. */
static void test_compute_rate(void **state)
{
    (void)state;
    struct cb_result result;
    cb_result_init(&result);
    struct cb_import *import = add_import(&result, "all_reduce", CB_IMPORT_GRADED);
    add_row(&result, CB_OP_ALL_REDUCE, false, 40e9, 31);
    judge(&result, (struct cb_workload){.span = CB_SPAN_COUNT});
    assert_true(result.formula.judged);
    assert_int_equal(result.formula.time_source, CB_FROM_ASSUMED);
    assert_says(result.formula.time_note, "A100");
    double assumed_s = result.formula.time_s;
    snprintf(import->gpu, sizeof(import->gpu), "A100-SXM4-80GB"); /* as older drivers say it */
    judge(&result, (struct cb_workload){.span = CB_SPAN_COUNT});
    assert_int_equal(result.formula.time_source, CB_FROM_REFERENCE);
    assert_near(result.formula.time_s, assumed_s, 1e-12);
    snprintf(import->gpu, sizeof(import->gpu), "NVIDIA H100 80GB HBM3");
    judge(&result, (struct cb_workload){.span = CB_SPAN_COUNT});
    assert_true(result.formula.time_s < 0.6 * assumed_s);
    snprintf(import->gpu, sizeof(import->gpu), "Tesla K80");
    judge(&result, (struct cb_workload){.span = CB_SPAN_COUNT});
    assert_says(result.formula.time_note, "Tesla K80");
    assert_int_equal(result.formula.time_source, CB_FROM_ASSUMED);
    cb_result_fini(&result);
}

static void test_nodes_of_the_import(void **state)
{
    (void)state;
    struct cb_result result;
    cb_result_init(&result);
    assert_int_equal(cb_result_node_count(&result), 1);
    add_import(&result, "all_reduce", CB_IMPORT_INVALID);
    result.rank_count = 16;
    assert_int_equal(cb_result_node_count(&result), 1);
    add_import(&result, "all_reduce", CB_IMPORT_GRADED);
    assert_int_equal(cb_result_node_count(&result), 2);
    cb_result_fini(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bandwidth_of_a_log),        cmocka_unit_test(test_halves_stand_in),
        cmocka_unit_test(test_why_there_is_no_bandwidth), cmocka_unit_test(test_compute_rate),
        cmocka_unit_test(test_nodes_of_the_import),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Offers on paper: the formula on data sheets, by hand, and the model beside it. */
#include "cb_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/judge.h"
#include "judge/offer.h"
#include "offer/offer.h"
#include "result/json.h"

/* The documents' kind of offer: 2 nodes of 8 A100 behind RoCE. */
static const struct cb_offer_terms documents = {.gpu = "A100-SXM4-80GB",
                                                .nodes = 2,
                                                .gpus_per_node = 8,
                                                .intra = "nvlink3",
                                                .inter = "roce-100G"};

static struct cb_workload seven_billion(void)
{
    struct cb_workload workload;
    cb_workload_init(&workload);
    workload.job.parameters = 7e9;
    workload.job.tokens_per_step = 16384;
    workload.job.scheme = CB_SCHEME_DDP;
    return workload;
}

static void judge(const struct cb_offer_terms *terms, const struct cb_workload *workload,
                  struct cb_result *result)
{
    struct cb_error err;
    struct cb_offer offer;
    struct cb_sheet_network network;
    cb_result_init(result);
    result->complete = true;
    assert_ok(cb_offer_resolve(terms, &offer, &network, &err), &err);
    assert_ok(cb_judge_offer(&offer, &network.network, workload, result, &err), &err);
}

/* 7e9 x 4 B / (12.5 GB/s x 0.91) = 2.4615 s. */
static void test_headline_by_hand(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_workload workload = seven_billion();
    workload.span = CB_SPAN_COMPUTE;
    workload.time_s = 5;
    judge(&documents, &workload, &result);
    const struct cb_formula *formula = &result.formula;
    assert_true(formula->judged);
    assert_near(formula->bandwidth_bytes_per_s, 12.5e9 * 0.91, 1e-12);
    assert_int_equal(formula->bandwidth_source, CB_FROM_NOMINAL);
    assert_near(formula->step_communication_s, 28e9 / 11.375e9, 1e-12);
    assert_near(formula->share, 28 / 11.375 / (28 / 11.375 + 5), 1e-12);
    assert_true(formula->bottleneck);
    assert_int_equal(cb_judge_exit_status(&result), 1);
    assert_non_null(strstr(formula->bandwidth_note, "12.5 GB/s one way of roce-100g x 0.91"));
    cb_result_fini(&result);
}

/* Inside a node 600 GB/s both ways are 300 one way, of which 234 are had. */
static void test_nvlink_counts_one_way(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_workload workload = seven_billion();
    const struct cb_offer_terms terms = {.gpu = "A100-SXM4-80GB", .gpus_per_node = 8};
    judge(&terms, &workload, &result);
    assert_near(result.formula.bandwidth_bytes_per_s, 234e9, 1e-12);
    assert_near(result.offer.intra.both_ways_bytes_per_s, 600e9, 1e-12);
    /* Between nodes with more than a GPU's links carry, these decide. */
    cb_result_fini(&result);
    struct cb_offer_terms wide = documents;
    wide.inter = "ib-ndr";
    wide.ports_per_node = 8;
    judge(&wide, &workload, &result);
    assert_near(result.formula.bandwidth_bytes_per_s, 234e9, 1e-12);
    cb_result_fini(&result);
}

/* 6 x 7e9 x 16384 FLOP at 261.23 TFLOP/s x 0.6. */
static void test_compute_by_hand(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_workload workload = seven_billion();
    workload.job.layers = 32;
    judge(&documents, &workload, &result);
    /* Attention is on top of the six. */
    double flops = result.formula.time_s * 261.23e12 * 0.6;
    assert_true(flops >= 6 * 7e9 * 16384 && flops < 1.2 * 6 * 7e9 * 16384);
    assert_int_equal(result.formula.time_source, CB_FROM_REFERENCE);
    assert_non_null(strstr(result.formula.time_note, "261 TFLOP/s x 0.6"));
    cb_result_fini(&result);
    struct cb_offer_terms terms = documents;
    terms.gpu = "A800-SXM4-80GB"; /* nobody published a rate */
    judge(&terms, &workload, &result);
    assert_int_equal(result.formula.time_source, CB_FROM_ASSUMED);
    assert_near(result.offer.gemm_flops_per_s, 312e12 * CB_OFFER_GEMM_SHARE, 1e-12);
    cb_result_fini(&result);
}

static void test_the_model_beside_it(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_workload workload = seven_billion();
    workload.price_per_gpu_hour = 12;
    snprintf(workload.currency, sizeof(workload.currency), "CNY");
    workload.job.total_tokens = 1e9;
    judge(&documents, &workload, &result);
    const struct cb_training *training = &result.prediction.training;
    assert_true(cb_result_is_predicted(&result));
    assert_int_equal(training->nodes, 2);
    assert_int_equal(training->gpus_per_node, 8);
    /* What the network costs is a share of 16 x 12 CNY an hour. */
    assert_near(training->idle_cost_per_hour, training->expected.share * 192, 1e-9);
    assert_near(result.offer.price_per_gpu_hour, 12, 0);
    assert_string_equal(result.offer.currency, "CNY");
    assert_near(training->total_steps, ceil(1e9 / (16 * 16384.0)), 1e-12);
    assert_near(training->cost, training->total_s / 3600 * 192, 1e-9);
    /* 7B with Adam: 16 bytes and more for each, which 80 GB do not hold. */
    assert_true(training->memory.total_bytes > 7e9 * 16);
    assert_false(training->memory.fits);
    cb_result_fini(&result);
    /* Sharded over 16 GPUs, one sequence at a time, they do. */
    workload.job.scheme = CB_SCHEME_FSDP;
    workload.job.tokens_per_step = 0;
    workload.job.sequence = 2048;
    workload.job.micro_batch = 1;
    workload.job.accumulation = 8;
    judge(&documents, &workload, &result);
    assert_true(result.prediction.training.memory.fits);
    cb_result_fini(&result);
}

/* More ports, a faster link or more tokens never make the share grow. */
static void test_better_offers_are_better(void **state)
{
    (void)state;
    static const struct {
        const char *inter;
        int ports;
    } links[] = {{"eth-1g", 1},    {"eth-10g", 1}, {"roce-25g", 1}, {"roce-100g", 1},
                 {"roce-100g", 2}, {"ib-hdr", 2},  {"ib-ndr", 4},   {"ib-ndr", 8}};
    double before = 1;
    double before_step = INFINITY;
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        struct cb_result result;
        struct cb_workload workload = seven_billion();
        struct cb_offer_terms terms = documents;
        terms.nodes = 4;
        terms.inter = links[i].inter;
        terms.ports_per_node = links[i].ports;
        judge(&terms, &workload, &result);
        assert_true(result.formula.share < before);
        assert_true(result.prediction.training.expected.step_s < before_step);
        before = result.formula.share;
        before_step = result.prediction.training.expected.step_s;
        cb_result_fini(&result);
    }
}

/* A rack-wide NVLink has no slower link between its nodes; latency makes nothing of the formula. */
static void test_nvlink_domain(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_workload workload = seven_billion();
    const struct cb_offer_terms terms = {
        .gpu = "GB200", .nodes = 18, .gpus_per_node = 4, .inter = "nvlink5"};
    judge(&terms, &workload, &result);
    assert_string_equal(result.offer.inter.per, "GPU");
    assert_near(result.offer.inter.nominal_bytes_per_s, 900e9, 1e-12);
    assert_near(result.formula.bandwidth_bytes_per_s, 0.82 * 900e9, 1e-12);
    cb_result_fini(&result);
}

static void test_no_workload(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_workload workload;
    cb_workload_init(&workload);
    judge(&documents, &workload, &result);
    assert_true(result.workloads.count >= 5);
    assert_string_equal(result.formula.workload, "7B full fine-tune");
    assert_true(result.formula.judged);
    cb_result_fini(&result);
}

static void test_what_cannot_be_judged(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_workload workload = seven_billion();
    /* One GPU has nobody to synchronise with. */
    const struct cb_offer_terms single = {.gpu = "A100-SXM4-80GB", .gpus_per_node = 1};
    judge(&single, &workload, &result);
    assert_false(result.formula.judged);
    assert_non_null(strstr(result.formula.bandwidth_note, "one GPU"));
    assert_int_equal(cb_judge_exit_status(&result), 0); /* the model of the step clears it */
    cb_result_fini(&result);
    /* Nothing is published of this card, and nothing stated. */
    const struct cb_offer_terms dark = {.gpu = "h800-pcie", .gpus_per_node = 8};
    judge(&dark, &workload, &result);
    assert_false(result.formula.judged);
    assert_non_null(strstr(result.formula.time_note, "no rate is published of NVIDIA H800 PCIe"));
    assert_non_null(strstr(result.prediction.note, "--compute-time"));
    cb_result_fini(&result);
    workload.span = CB_SPAN_COMPUTE;
    workload.time_s = 1;
    judge(&dark, &workload, &result);
    assert_true(result.formula.judged);
    assert_true(cb_result_is_predicted(&result));
    cb_result_fini(&result);
}

/* A job that these GPUs cannot run leaves the result as it was. */
static void test_impossible_jobs(void **state)
{
    (void)state;
    struct cb_error err;
    struct cb_offer offer;
    struct cb_sheet_network network;
    struct cb_result result;
    struct cb_workload workload = seven_billion();
    workload.job.tensor = 3;
    assert_ok(cb_offer_resolve(&documents, &offer, &network, &err), &err);
    cb_result_init(&result);
    assert_int_equal(cb_judge_offer(&offer, &network.network, &workload, &result, &err),
                     CB_E_USAGE);
    assert_int_equal(result.offer.nodes, 0);
    assert_false(result.formula.judged);
    cb_result_fini(&result);
}

/* Written as JSON and read again it is the same. */
static void test_round_trip(void **state)
{
    (void)state;
    struct cb_error err;
    struct cb_result result, again;
    struct cb_workload workload = seven_billion();
    struct cb_offer_terms terms = documents;
    terms.intra = "nvlink4"; /* a doubt */
    workload.price_per_gpu_hour = 2.5;
    char *text = NULL;
    judge(&terms, &workload, &result);
    assert_ok(cb_result_to_json(&result, &text, &err), &err);
    cb_result_init(&again);
    assert_ok(cb_result_from_json("offer.json", text, strlen(text), &again, &err), &err);
    assert_int_equal(again.offer.nodes, 2);
    assert_string_equal(again.offer.gpu, result.offer.gpu);
    assert_string_equal(again.offer.doubt, result.offer.doubt);
    assert_string_equal(again.offer.inter.link, "roce-100g");
    assert_int_equal(again.offer.inter.ports_source, CB_FROM_ASSUMED);
    assert_near(again.offer.inter.share, result.offer.inter.share, 0);
    assert_near(again.offer.intra.both_ways_bytes_per_s, 600e9, 0);
    assert_string_equal(again.offer.intra.share_note, result.offer.intra.share_note);
    assert_near(again.offer.price_per_gpu_hour, 2.5, 0);
    assert_non_null(strstr(text, "\"price_per_hour\": 40"));
    free(text);
    cb_result_fini(&again);
    cb_result_fini(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headline_by_hand),
        cmocka_unit_test(test_nvlink_counts_one_way),
        cmocka_unit_test(test_compute_by_hand),
        cmocka_unit_test(test_the_model_beside_it),
        cmocka_unit_test(test_better_offers_are_better),
        cmocka_unit_test(test_nvlink_domain),
        cmocka_unit_test(test_no_workload),
        cmocka_unit_test(test_what_cannot_be_judged),
        cmocka_unit_test(test_impossible_jobs),
        cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

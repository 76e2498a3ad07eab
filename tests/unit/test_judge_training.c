/* The judgement of a stated job: what its scheme makes of the formula, and the model of a step
 * beside it. */
#include "cb_test.h"

#include <stdio.h>
#include <string.h>

#include "judge/judge.h"

#define RANKS 4

/* Two hosts with two ranks each, all_reduce at one bandwidth whatever the size, and GEMM: every
 * figure is easy to do by hand. */
static int set_up(void **state)
{
    static struct cb_result result;
    cb_result_init(&result);
    result.complete = true;
    result.rank_count = RANKS;
    snprintf(result.transport, sizeof(result.transport), "mpi");
    *state = &result;
    for (int i = 0; i < 2; i++) {
        struct cb_topo_host *host = cb_vec_add(&result.nodes);
        if (!host)
            return -1;
        snprintf(host->name, sizeof(host->name), "node-%c", 'a' + i);
    }
    for (int scope = 0; scope < CB_SCOPE_COUNT; scope++)
        for (uint64_t size_bytes = 1024; size_bytes <= 1u << 30; size_bytes *= 4) {
            struct cb_collective_row *row = cb_vec_add(&result.collectives);
            if (!row)
                return -1;
            int ranks = scope == CB_SCOPE_WORLD ? RANKS : 2;
            double time_s = (double)size_bytes * cb_op_bus_factor(CB_OP_ALL_REDUCE, ranks) / 1e9;
            *row = (struct cb_collective_row){.op = CB_OP_ALL_REDUCE,
                                              .scope = (enum cb_scope)scope,
                                              .dtype = CB_DTYPE_FLOAT32,
                                              .ranks = ranks,
                                              .size_bytes = size_bytes,
                                              .samples = 10,
                                              .time = {time_s, time_s, time_s, time_s, time_s, 0},
                                              .alg_bytes_per_s = (double)size_bytes / time_s,
                                              .bus_bytes_per_s = 1e9};
        }
    for (int rank = 0; rank < RANKS; rank++) {
        struct cb_kernel_row *row = cb_vec_add(&result.kernels);
        if (!row)
            return -1;
        *row = (struct cb_kernel_row){
            .rank = rank, .kernel = "gemm", .dtype = CB_DTYPE_FLOAT32, .flops_per_s = 1e13};
    }
    return 0;
}

static int tear_down(void **state)
{
    cb_result_fini(*state);
    return 0;
}

/* A workload of "field=text" words. */
static struct cb_workload workload_of(const char *words)
{
    struct cb_workload workload;
    char text[1024];
    cb_workload_init(&workload);
    snprintf(text, sizeof(text), "%s", words);
    for (char *rest = text, *word; (word = strsep(&rest, " "));) {
        char *value = strchr(word, '=');
        assert_non_null(value);
        *value++ = '\0';
        int field = cb_workload_field_find(word);
        if (field < 0)
            fail_msg("no field %s", word);
        assert_ok(
            cb_workload_set(&workload, (enum cb_workload_field)field, value, CB_FROM_GIVEN, NULL),
            NULL);
    }
    return workload;
}

static void judge(struct cb_result *result, const char *words)
{
    struct cb_workload workload = workload_of(words);
    struct cb_error err;
    assert_ok(cb_judge_result(result, &workload, &err), &err);
}

/* ---- the headline ---- */

/* Published volumes: all_reduce moves twice what a gather does; ZeRO-3 gathers twice and scatters
 * once per micro-batch. */
static void test_the_scheme_makes_the_factor(void **state)
{
    struct cb_result *result = *state;
    static const struct {
        const char *job;
        double per_step;
    } cases[] = {
        {"scheme=ddp", 1},
        {"gradient-bytes=4", 2},
        {"scheme=zero1", 1},
        {"scheme=zero1 gradient-bytes=4", 1.5},
        {"scheme=zero2 accumulation=4", (4 * 2 + 2) / 4.0},
        {"scheme=zero3", 1.5},
        {"scheme=fsdp accumulation=4", 6},
        {"scheme=ddp accumulation=4", 1},
        {"scheme=ddp accumulation=4 gradient-sync=micro-batch", 4},
        {"trainable-parameters=10M", 0.01},
        {"scheme=zero3+lora trainable-parameters=10M", (2 * 2 + 2 * 0.01) / 4},
        {"tensor-parallel=2", 1}, /* each node keeps the whole model in step */
        {"tensor-parallel=2 pipeline-parallel=2", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char words[256];
        snprintf(words, sizeof(words), "parameters=1e9 layers=16 hidden=2048 sequence=512 %s",
                 cases[i].job);
        judge(result, words);
        const struct cb_formula *f = &result->formula;
        assert_near(f->communications_per_step, cases[i].per_step, 1e-12);
        assert_int_equal(f->communications_per_step_source, CB_FROM_REFERENCE);
        assert_true(f->communications_note[0] != '\0');
        assert_near(f->step_communication_s, cases[i].per_step * 4e9 / 1e9, 1e-9);
        assert_int_equal(f->judged, cases[i].per_step > 0);
    }
}

static void test_communications_can_be_overridden(void **state)
{
    struct cb_result *result = *state;
    const struct cb_formula *f = &result->formula;
    judge(result, "parameters=1e9 scheme=zero3 step-time=40s communications-per-step=3");
    assert_near(f->communications_per_step, 3, 0);
    assert_int_equal(f->communications_per_step_source, CB_FROM_GIVEN);
    assert_near(f->share, 3 * 4.0 / 40, 1e-12);
    judge(result, "parameters=1e9 scheme=zero3 step-time=40s communications=1000");
    assert_near(f->communications_per_step, 1, 0);
    assert_near(f->communication_s, 4000, 1e-9);
    assert_near(f->share, 4.0 / 40, 1e-12);
    judge(result, "parameters=1e9 scheme=zero3 step-time=40s communications=1000 total-steps=500");
    assert_near(f->communications_per_step, 2, 0);
    assert_near(f->share, 8.0 / 40, 1e-12);
    /* And multiplied by the steps where only those are stated. */
    judge(result, "parameters=1e9 scheme=zero3 total-time=40000s total-steps=1000");
    assert_near(f->communications, 1500, 1e-9);
    assert_near(f->share, 1500 * 4.0 / 40000, 1e-12);
    judge(result, "parameters=1e9 tokens=1000 total-tokens=4e6");
    assert_near(f->communications, 1000, 1e-9);
}

/* Who states nothing but parameters and a time gets the documents' formula as it is. */
static void test_a_plain_job_is_judged_as_ever(void **state)
{
    struct cb_result *result = *state;
    const struct cb_formula *f = &result->formula;
    judge(result, "parameters=1e9 step-time=40s");
    assert_near(f->communications_per_step, 1, 0);
    assert_int_equal(f->communications_per_step_source, CB_FROM_ASSUMED);
    assert_string_equal(f->communications_note, "");
    assert_string_equal(f->workload, "");
    judge(result, "parameters=1e9 tokens=512");
    assert_near(f->time_s, 6 * 1e9 * 512 / 6e12, 1e-12);
    assert_non_null(strstr(f->time_note, "6 x 1B x 512 tokens (given)"));
    judge(result, "parameters=1e9");
    assert_near(f->tokens_per_step, 4096, 0);
    assert_non_null(strstr(f->time_note, "4096 tokens (assumed)"));
}

/* ---- beside it ---- */

static void test_the_model_stands_beside_it(void **state)
{
    struct cb_result *result = *state;
    judge(result, "parameters=1e9 tokens=4096 scheme=ddp overlap=0 bucket-bytes=1G "
                  "price-per-gpu-hour=2 currency=EUR total-steps=10");
    const struct cb_training *t = &result->prediction.training;
    assert_true(cb_result_is_predicted(result));
    assert_near(t->compute_s, result->formula.time_s, 1e-12);
    /* A ring moves 2 x 3/4 of 2 bytes per parameter; the documents count 4. */
    assert_near(t->communication_s[CB_PACE_MEDIAN], 3, 1e-6);
    assert_near(t->serial_share, 3 / (3 + t->compute_s), 1e-6);
    assert_near(t->expected.step_s, 3 + t->compute_s, 1e-6);
    assert_near(t->idle_cost_per_hour, t->expected.share * 2 * RANKS, 1e-12);
    assert_string_equal(result->prediction.currency, "EUR");
    assert_near(t->total_s, 10 * t->expected.step_s, 1e-12);
    assert_int_equal(t->bound, result->formula.bottleneck);
    assert_true(result->prediction.advice.count > 0);
    for (size_t i = 0; i < result->prediction.advice.count; i++)
        assert_true(result->prediction.advice.items[i].serial_share <= 0.2 + 1e-9);
}

static void test_a_stated_bandwidth_feeds_both(void **state)
{
    struct cb_result *result = *state;
    struct cb_workload workload = workload_of("parameters=1e9 tokens=4096 overlap=0");
    struct cb_error err;
    workload.bandwidth_bytes_per_s = 3e9;
    assert_ok(cb_judge_result(result, &workload, &err), &err);
    const struct cb_training *t = &result->prediction.training;
    assert_near(result->formula.step_communication_s, 4.0 / 3, 1e-12);
    assert_near(t->communication_s[CB_PACE_MEDIAN], 1, 1e-9);
    assert_int_equal(t->network_source, CB_FROM_GIVEN);
}

/* A step that was timed holds its communication: the compute is what is left. */
static void test_a_stated_step_is_met(void **state)
{
    struct cb_result *result = *state;
    const struct cb_training *t = &result->prediction.training;
    judge(result, "parameters=1e9 step-time=10s scheme=ddp");
    assert_near(t->expected.step_s, 10, 1e-6);
    assert_near(t->compute_s + t->expected.exposed_s, 10, 1e-6);
    assert_int_equal(t->compute_source, CB_FROM_GIVEN);
    judge(result, "parameters=1e9 total-time=1000s total-steps=100 scheme=ddp overlap=0");
    assert_near(t->expected.step_s, 10, 1e-6);
    assert_near(t->compute_s, 7, 1e-6);
    judge(result, "parameters=1e9 step-time=1s scheme=ddp overlap=0");
    assert_false(cb_result_is_predicted(result));
    assert_non_null(strstr(result->prediction.note, "cannot hold the communication"));
}

/* Tensor and pipeline ranks that take all GPUs keep nothing in step: the formula is silent, and the
 * model decides. */
static void test_a_silent_formula_leaves_it_to_the_model(void **state)
{
    struct cb_result *result = *state;
    judge(result, "parameters=1e9 layers=16 hidden=2048 sequence=512 micro-batch=1 "
                  "accumulation=32 tensor-parallel=2 pipeline-parallel=2");
    assert_false(result->formula.judged);
    assert_true(cb_result_is_predicted(result));
    assert_int_equal(cb_judge_exit_status(result), result->prediction.training.bound ? 1 : 0);
    assert_true(result->prediction.training.bound); /* all_reduce of activations at 1 GB/s */
    judge(result, "parameters=1e9 layers=16 hidden=2048 sequence=512 micro-batch=1 "
                  "accumulation=32 tensor-parallel=1 pipeline-parallel=4");
    assert_false(result->prediction.training.bound);
    assert_int_equal(cb_judge_exit_status(result), 0);
}

static const struct cb_assumption *input(const struct cb_result *result, const char *name)
{
    const struct cb_assumptions *list = &result->prediction.training.assumed;
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return &list->items[i];
    fail_msg("nothing says where %s comes from", name);
    return NULL;
}

static void test_every_figure_has_a_source(void **state)
{
    struct cb_result *result = *state;
    struct cb_workload workload =
        workload_of("parameters=1e9 micro-batch=2 tensor-parallel=2 lora=8");
    struct cb_error err;
    workload.job.sequence = 256;
    workload.sources[CB_FIELD_SEQUENCE] = CB_FROM_REFERENCE;
    assert_ok(cb_judge_result(result, &workload, &err), &err);
    assert_int_equal(input(result, "parameters")->source, CB_FROM_GIVEN);
    assert_int_equal(input(result, "micro_batch")->source, CB_FROM_GIVEN);
    assert_int_equal(input(result, "tensor")->source, CB_FROM_GIVEN);
    assert_near(input(result, "adapter_rank")->value, 8, 0);
    assert_int_equal(input(result, "sequence")->source, CB_FROM_REFERENCE);
    assert_int_equal(input(result, "gradient_bytes")->source, CB_FROM_ASSUMED);
    assert_int_equal(input(result, "trainable_parameters")->source, CB_FROM_ASSUMED);
    const struct cb_assumptions *list = &result->prediction.training.assumed;
    assert_true(list->count < CB_ASSUMPTIONS_MAX);
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].source == CB_FROM_ASSUMED)
            assert_true(list->items[i].text[0] != '\0');
    judge(result, "parameters=1e9");
    assert_int_equal(input(result, "tokens_per_step")->source, CB_FROM_ASSUMED);
    /* However much is stated, none of it is dropped. */
    judge(result, "parameters=1e9 trainable-parameters=1e6 active-parameters=5e8 layers=16 "
                  "hidden=2048 heads=16 kv-heads=4 vocabulary=32k sequence=512 micro-batch=2 "
                  "accumulation=4 tokens=4096 total-steps=10 scheme=zero1 lora=4 "
                  "tensor-parallel=2 pipeline-parallel=1 interleave=1 context-parallel=1 "
                  "expert-parallel=1 data-parallel=2 local-steps=1 overlap=0.5 bucket-bytes=1M "
                  "gradient-bytes=2 parameter-bytes=2 optimizer-bytes=12 experts=8 "
                  "experts-per-token=2");
    assert_near(input(result, "optimizer_bytes")->value, 12, 0);
    assert_int_equal(input(result, "optimizer_bytes")->source, CB_FROM_GIVEN);
}

static void test_impossible_jobs_change_nothing(void **state)
{
    struct cb_result *result = *state;
    static const struct {
        const char *job, *what;
    } cases[] = {
        {"parameters=1e9 tensor-parallel=3",
         "--tensor-parallel (3) must divide the number of GPUs (4)"},
        {"parameters=1e9 data-parallel=8", "there are 4 GPUs"},
        {"parameters=1e9 trainable-parameters=2e9", "--trainable-parameters (2e+09)"},
        {"parameters=1e16", "--parameters must be at most"},
        {"parameters=1e9 sequence=512 micro-batch=2 tokens=512", "--tokens (512)"},
        {"parameters=1e9 expert-parallel=2", "dense"},
    };
    judge(result, "parameters=1e9 tokens=512");
    double share = result->formula.share;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cb_workload workload = workload_of(cases[i].job);
        struct cb_error err;
        assert_int_equal(cb_judge_result(result, &workload, &err), CB_E_USAGE);
        if (!strstr(err.what, cases[i].what))
            fail_msg("%s: %s", cases[i].job, err.what);
        assert_near(result->formula.share, share, 0);
        assert_true(cb_result_is_predicted(result));
    }
}

static void test_nothing_measured_is_said_when_asked(void **state)
{
    struct cb_result *result = *state;
    cb_vec_fini(&result->kernels);
    judge(result, "parameters=1e9 tokens=512");
    assert_false(cb_result_is_predicted(result));
    assert_string_equal(result->prediction.note, "");
    judge(result, "parameters=1e9 tokens=512 scheme=fsdp");
    assert_non_null(strstr(result->prediction.note, "--compute-time"));
    cb_vec_fini(&result->collectives);
    judge(result, "parameters=1e9 compute-time=3s scheme=fsdp");
    assert_false(cb_result_is_predicted(result));
    assert_true(result->prediction.note[0] != '\0');
    /* On paper. */
    cb_result_fini(result);
    result->complete = true;
    struct cb_workload workload =
        workload_of("parameters=1e9 hidden=2048 tensor-parallel=16 step-time=30s");
    struct cb_error err;
    workload.bandwidth_bytes_per_s = 1e9;
    assert_ok(cb_judge_result(result, &workload, &err), &err);
    assert_true(result->formula.judged);
    assert_non_null(strstr(result->formula.communications_note, "nodes of 8 GPUs assumed"));
    assert_non_null(strstr(result->prediction.note, "how many GPUs"));
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_the_scheme_makes_the_factor),
        TEST(test_communications_can_be_overridden),
        TEST(test_a_plain_job_is_judged_as_ever),
        TEST(test_the_model_stands_beside_it),
        TEST(test_a_stated_bandwidth_feeds_both),
        TEST(test_a_stated_step_is_met),
        TEST(test_a_silent_formula_leaves_it_to_the_model),
        TEST(test_every_figure_has_a_source),
        TEST(test_impossible_jobs_change_nothing),
        TEST(test_nothing_measured_is_said_when_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

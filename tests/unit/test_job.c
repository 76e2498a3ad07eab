#include "cb_test.h"

#include <stdio.h>
#include <string.h>

#include "model/job.h"

static struct cb_job llama_7b(void)
{
    return (struct cb_job){
        .parameters = 7e9,
        .layers = 32,
        .hidden = 4096,
        .sequence = 2048,
        .micro_batch = 2,
        .accumulation = 4,
    };
}

static struct cb_job complete(struct cb_job job, int gpus, struct cb_assumptions *assumed)
{
    struct cb_assumptions ignored = {.count = 0};
    struct cb_error err;
    struct cb_job out;
    assert_ok(cb_job_complete(&job, gpus, &out, assumed ? assumed : &ignored, &err), &err);
    return out;
}

static const struct cb_assumption *find(const struct cb_assumptions *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return &list->items[i];
    return NULL;
}

static void test_names(void **state)
{
    (void)state;
    for (int i = 1; i < CB_SCHEME_COUNT; i++)
        assert_int_equal(cb_scheme_parse(cb_scheme_name((enum cb_scheme)i)), i);
    for (int i = 0; i < CB_ADAPTER_COUNT; i++)
        assert_int_equal(cb_adapter_parse(cb_adapter_name((enum cb_adapter)i)), i);
    for (int i = 0; i < CB_CONTEXT_COUNT; i++)
        assert_int_equal(cb_context_kind_parse(cb_context_kind_name((enum cb_context_kind)i)), i);
    assert_int_equal(cb_scheme_parse("unknown"), -1);
    assert_int_equal(cb_scheme_parse("zero4"), -1);
    assert_int_equal(cb_adapter_parse(""), -1);
    assert_string_equal(cb_scheme_title(CB_SCHEME_FSDP), "FSDP full shard");
}

/* Only the parameters are stated: everything else is filled and told. */
static void test_least_job(void **state)
{
    (void)state;
    struct cb_assumptions assumed = {.count = 0};
    struct cb_job job = complete((struct cb_job){.parameters = 7e9}, 16, &assumed);
    assert_int_equal(job.scheme, CB_SCHEME_DDP);
    assert_near(job.data, 16, 0);
    assert_near(job.trainable_parameters, 7e9, 0);
    assert_near(job.active_parameters, 7e9, 0);
    assert_near(job.gradient_bytes, 2, 0);
    assert_near(cb_job_rank_tokens(&job), 2048, 0);
    assert_near(cb_job_step_tokens(&job), 16 * 2048.0, 0);
    /* Llama 7B has 32 layers of 4096. */
    assert_near(job.layers, 32, 0.1);
    assert_near(job.hidden, 4096, 0.1);
    static const char *const names[] = {
        "scheme",         "layers",          "sequence",        "micro_batch",  "accumulation",
        "gradient_bytes", "parameter_bytes", "optimizer_bytes", "bucket_bytes", "overlap"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!find(&assumed, names[i]))
            print_error("%s is not among the assumptions\n", names[i]);
        assert_non_null(find(&assumed, names[i]));
    }
}

static void test_what_is_stated_is_not_assumed(void **state)
{
    (void)state;
    struct cb_assumptions assumed = {.count = 0};
    struct cb_job job = llama_7b();
    job.scheme = CB_SCHEME_FSDP;
    job.gradient_bytes = 4;
    job.parameter_bytes = 2;
    job.optimizer_bytes = 8;
    job.overlap = 0;
    job.has_overlap = true;
    job.vocabulary = 32000;
    job.bucket_bytes = 1e6;
    struct cb_job full = complete(job, 8, &assumed);
    assert_int_equal(assumed.count, 0);
    assert_near(full.overlap, 0, 0);
    assert_near(full.gradient_bytes, 4, 0);
    /* Completing what is complete changes nothing. */
    struct cb_job again = complete(full, 8, &assumed);
    assert_memory_equal(&again, &full, sizeof(full));
    assert_int_equal(assumed.count, 0);
}

/* 6 x 7e9 + 12 x 32 x 4096 x 2048; recompute adds a third; adapters need 4 of the 6. */
static void test_token_flops(void **state)
{
    (void)state;
    struct cb_job job = complete(llama_7b(), 1, NULL);
    double attention = 12.0 * 32 * 4096 * 2048;
    assert_near(cb_job_token_flops(&job), 42e9 + attention, 1e-12);
    job.full_recompute = true;
    assert_near(cb_job_token_flops(&job), (42e9 + attention) * 4 / 3, 1e-12);
    job = llama_7b();
    job.adapter = CB_ADAPTER_LORA;
    job.trainable_parameters = 7e6;
    job = complete(job, 1, NULL);
    assert_near(cb_job_token_flops(&job), 28e9 + 14e6 + attention, 1e-12);
    /* Without a stated sequence attention is left out, and that is said. */
    struct cb_assumptions assumed = {.count = 0};
    job = complete((struct cb_job){.parameters = 7e9, .tokens_per_step = 512}, 1, &assumed);
    assert_near(cb_job_token_flops(&job), 42e9, 1e-12);
    assert_non_null(strstr(find(&assumed, "sequence")->text, "attention"));
    assert_near(cb_job_rank_tokens(&job), 512, 1e-12);
    /* What is no transformer counts samples: ResNet-50, 4.1 multiply-adds forward, three times that
     * in all. */
    job = complete(
        (struct cb_job){.parameters = 25.6e6, .sample_flops = 3 * 8.2e9, .micro_batch = 64}, 8,
        NULL);
    assert_near(cb_job_token_flops(&job), 24.6e9, 1e-12);
    assert_near(cb_job_rank_tokens(&job), 64, 0);
}

/* Mixtral 8x7B: 46.7B, 12.9B active, 2 of 8 experts. */
static void test_mixture(void **state)
{
    (void)state;
    struct cb_job job = {.parameters = 46.7e9, .experts = 8};
    job = complete(job, 8, NULL);
    assert_near(job.experts_per_token, 2, 0);
    assert_near(job.active_parameters, 12.9e9, 0.03);
}

/* LLaMA-Factory#4620 logs 27.9 M trained parameters of Qwen-14B (40 layers of 5120) at rank 8. */
static void test_adapter_parameters(void **state)
{
    (void)state;
    struct cb_job job = {.parameters = 14.2e9,
                         .layers = 40,
                         .hidden = 5120,
                         .adapter = CB_ADAPTER_LORA,
                         .adapter_rank = 8};
    job = complete(job, 2, NULL);
    assert_near(job.trainable_parameters, 27.9e6, 0.10);
}

static void test_batch(void **state)
{
    (void)state;
    /* 4M tokens over 64 ranks: 65536 each, 16 micro-batches of 2 x 2048. */
    struct cb_job job = llama_7b();
    job.accumulation = 0;
    job.batch_tokens = 64 * 65536.0;
    struct cb_job full = complete(job, 64, NULL);
    assert_near(full.accumulation, 16, 1e-12);
    /* Half of the GPUs accumulate twice as much. */
    full = complete(job, 32, NULL);
    assert_near(full.accumulation, 32, 1e-12);
    assert_near(cb_job_step_tokens(&full), 64 * 65536.0, 1e-12);
    /* Tokens of a rank give the accumulation too. */
    job = llama_7b();
    job.accumulation = 0;
    job.tokens_per_step = 8 * 4096;
    assert_near(complete(job, 1, NULL).accumulation, 8, 1e-12);
}

static void test_degrees(void **state)
{
    (void)state;
    struct cb_job job = llama_7b();
    job.tensor = 8;
    job.pipeline = 4;
    struct cb_job full = complete(job, 128, NULL);
    assert_near(full.data, 4, 0);
    /* Model-parallel jobs have Megatron's buckets: 40 M parameters, and no overlap. */
    assert_near(full.bucket_bytes, 80e6, 1e-12);
    assert_near(full.overlap, 0, 0);
    job.data = 4;
    assert_near(complete(job, 128, NULL).data, 4, 0);
}

static void assert_refused(struct cb_job job, int gpus, const char *named)
{
    struct cb_error err;
    struct cb_job out;
    struct cb_assumptions assumed = {.count = 0};
    memset(&out, 0x5a, sizeof(out));
    struct cb_job before = out;
    int rc = cb_job_complete(&job, gpus, &out, &assumed, &err);
    if (rc != CB_E_USAGE || !strstr(err.what, named))
        print_error("rc %d, \"%s\" instead of \"%s\"\n", rc, rc ? err.what : "", named);
    assert_int_equal(rc, CB_E_USAGE);
    assert_non_null(strstr(err.what, named));
    assert_memory_equal(&out, &before, sizeof(out));
    assert_int_equal(assumed.count, 0);
    assert_int_equal(cb_job_complete(&job, gpus, &out, &assumed, NULL), CB_E_USAGE);
}

#define REFUSE(gpus, named, ...)                                                                   \
    do {                                                                                           \
        struct cb_job job = llama_7b();                                                            \
        __VA_ARGS__;                                                                               \
        assert_refused(job, gpus, named);                                                          \
    } while (0)

static void test_impossible_jobs_are_refused(void **state)
{
    (void)state;
    REFUSE(8, "parameters", job.parameters = 0);
    REFUSE(8, "parameters", job.parameters = 1.01e15);
    REFUSE(8, "trainable_parameters", job.trainable_parameters = 8e9);
    REFUSE(8, "active_parameters", job.active_parameters = 8e9);
    REFUSE(8, "experts", job.active_parameters = 1e9);
    REFUSE(8, "tensor", job.tensor = 3);                 /* hidden is 4096 */
    REFUSE(12, "tensor", job.tensor = 8);                /* the GPUs */
    REFUSE(16, "16 GPUs", job.tensor = 8; job.data = 4); /* the product */
    REFUSE(16, "must divide", job.pipeline = 3);
    REFUSE(4, "must divide", job.tensor = 2; job.pipeline = 4);
    REFUSE(64, "pipeline", job.pipeline = 64); /* 32 layers */
    REFUSE(8, "expert", job.expert = 2);       /* dense */
    REFUSE(8, "expert", job.experts = 8; job.expert = 3);
    REFUSE(8, "expert", job.experts = 64; job.expert = 16); /* 8 data ranks */
    REFUSE(8, "experts_per_token", job.experts = 8; job.experts_per_token = 9);
    REFUSE(8, "experts_per_token", job.experts_per_token = 2);
    REFUSE(8, "kv_heads", job.heads = 8; job.kv_heads = 16);
    REFUSE(8, "layers", job.layers = 32.5);
    REFUSE(8, "accumulation", job.accumulation = 0.5);
    REFUSE(8, "tokens_per_step", job.tokens_per_step = 100);
    REFUSE(8, "tokens_per_step", job.tokens_per_step = 100; job.micro_batch = 0;
           job.accumulation = 0);
    REFUSE(8, "batch_tokens", job.batch_tokens = 1e6);
    REFUSE(8, "batch_tokens", job.batch_tokens = 4096; job.accumulation = 0);
    REFUSE(8, "total", job.total_tokens = 1e9; job.total_steps = 10);
    REFUSE(8, "overlap", job.overlap = 1; job.has_overlap = true);
    REFUSE(8, "overlap", job.overlap = (double)NAN; job.has_overlap = true);
    REFUSE(8, "adapter", job.adapter_rank = 8);
    REFUSE(8, "sample_flops", job.sample_flops = 1e9);
    REFUSE(0, "number of GPUs", (void)job);
    REFUSE(8, "scheme", job.scheme = (enum cb_scheme)99);
}

/* Every number of the struct: not a number, infinite, negative, too large. */
static void test_numbers_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t offset;
    } numbers[] = {
#define NUMBER(member) {#member, offsetof(struct cb_job, member)}
        NUMBER(parameters),
        NUMBER(trainable_parameters),
        NUMBER(active_parameters),
        NUMBER(layers),
        NUMBER(hidden),
        NUMBER(heads),
        NUMBER(kv_heads),
        NUMBER(vocabulary),
        NUMBER(experts),
        NUMBER(experts_per_token),
        NUMBER(sequence),
        NUMBER(micro_batch),
        NUMBER(accumulation),
        NUMBER(tokens_per_step),
        NUMBER(batch_tokens),
        NUMBER(sample_flops),
        NUMBER(gradient_bytes),
        NUMBER(parameter_bytes),
        NUMBER(optimizer_bytes),
        NUMBER(adapter_rank),
        NUMBER(local_steps),
        NUMBER(tensor),
        NUMBER(pipeline),
        NUMBER(context),
        NUMBER(expert),
        NUMBER(data),
        NUMBER(interleave),
        NUMBER(bucket_bytes),
        NUMBER(total_tokens),
        NUMBER(total_steps),
    };
    static const double bads[] = {-1, (double)NAN, (double)INFINITY, -(double)INFINITY, 1e300};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        for (size_t b = 0; b < sizeof(bads) / sizeof(bads[0]); b++) {
            struct cb_job job = llama_7b();
            memcpy((char *)&job + numbers[i].offset, &bads[b], sizeof(double));
            assert_refused(job, 8, numbers[i].name);
        }
}

/* The number of GPUs may not be known yet. */
static void test_check_without_gpus(void **state)
{
    (void)state;
    struct cb_error err;
    struct cb_job job = llama_7b();
    job.tensor = 8;
    assert_ok(cb_job_check(&job, 0, &err), &err);
    job.parameters = 1e15;
    assert_ok(cb_job_check(&job, 0, &err), &err);
}

static void test_assumptions_are_bounded(void **state)
{
    (void)state;
    struct cb_assumptions list = {.count = 0};
    for (int i = 0; i < 2 * CB_ASSUMPTIONS_MAX; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        cb_assume(&list, name, i, CB_FROM_ASSUMED, "value %d", i);
    }
    assert_int_equal(list.count, CB_ASSUMPTIONS_MAX);
    cb_assume(&list, "n3", 33, CB_FROM_REFERENCE, "another");
    assert_int_equal(list.count, CB_ASSUMPTIONS_MAX);
    assert_near(find(&list, "n3")->value, 33, 0);
    assert_string_equal(find(&list, "n3")->text, "another");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_least_job),
        cmocka_unit_test(test_what_is_stated_is_not_assumed),
        cmocka_unit_test(test_token_flops),
        cmocka_unit_test(test_mixture),
        cmocka_unit_test(test_adapter_parameters),
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_degrees),
        cmocka_unit_test(test_impossible_jobs_are_refused),
        cmocka_unit_test(test_numbers_are_checked),
        cmocka_unit_test(test_check_without_gpus),
        cmocka_unit_test(test_assumptions_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What is stated about a training: single values, the file, and how they are put together. */
#include "cb_test.h"

#include <stdio.h>
#include <string.h>

#include "offer/workload.h"
#include "offer/workload_file.h"

/* ---- single values ---- */

static void test_values_are_read(void **state)
{
    (void)state;
    static const struct {
        enum cb_workload_field field;
        const char *text;
        size_t offset;
        double value;
    } cases[] = {
#define CASE(id, text, member, value)                                                              \
    {CB_FIELD_##id, text, offsetof(struct cb_workload, member), value}
        CASE(PARAMETERS, "7B", job.parameters, 7e9),
        CASE(LAYERS, "32", job.layers, 32),
        CASE(SEQUENCE, "8k", job.sequence, 8000),
        CASE(GRADIENT_BYTES, "0.5", job.gradient_bytes, 0.5),
        CASE(OVERLAP, "50%", job.overlap, 0.5),
        CASE(BUCKET, "25M", job.bucket_bytes, 25 << 20),
        CASE(THRESHOLD, "0.1", threshold, 0.1),
        CASE(STEP_TIME, "800ms", time_s, 0.8),
        CASE(PRICE, "12.5", price_per_gpu_hour, 12.5),
        CASE(PER_STEP, "1.5", communications_per_step, 1.5),
#undef CASE
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cb_workload workload;
        struct cb_error err;
        cb_workload_init(&workload);
        assert_int_equal(workload.sources[cases[i].field], CB_FROM_NOWHERE);
        assert_ok(cb_workload_set(&workload, cases[i].field, cases[i].text, CB_FROM_GIVEN, &err),
                  &err);
        assert_near(*(double *)(void *)((char *)&workload + cases[i].offset), cases[i].value, 0);
        assert_int_equal(workload.sources[cases[i].field], CB_FROM_GIVEN);
    }
}

static void test_nothing_hidden_is_a_value(void **state)
{
    (void)state;
    struct cb_workload workload;
    cb_workload_init(&workload);
    assert_false(workload.job.has_overlap);
    assert_ok(cb_workload_set(&workload, CB_FIELD_OVERLAP, "0", CB_FROM_GIVEN, NULL), NULL);
    assert_true(workload.job.has_overlap);
    assert_near(workload.job.overlap, 0, 0);
}

static void test_schemes_and_adapters(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum cb_scheme scheme;
        enum cb_adapter adapter;
    } cases[] = {
        {"ddp", CB_SCHEME_DDP, CB_ADAPTER_NONE},
        {"zero-3", CB_SCHEME_ZERO3, CB_ADAPTER_NONE},
        {"hsdp", CB_SCHEME_HYBRID, CB_ADAPTER_NONE},
        {"lora", CB_SCHEME_UNKNOWN, CB_ADAPTER_LORA},
        {"zero3+lora", CB_SCHEME_ZERO3, CB_ADAPTER_LORA},
        {"qlora+fsdp", CB_SCHEME_FSDP, CB_ADAPTER_QLORA},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cb_workload workload;
        cb_workload_init(&workload);
        assert_ok(cb_workload_set(&workload, CB_FIELD_SCHEME, cases[i].text, CB_FROM_GIVEN, NULL),
                  NULL);
        assert_int_equal(workload.job.scheme, cases[i].scheme);
        assert_int_equal(workload.job.adapter, cases[i].adapter);
    }
    /* Every scheme that there is can be spelled by its own name. */
    for (int i = CB_SCHEME_UNKNOWN + 1; i < CB_SCHEME_COUNT; i++) {
        struct cb_workload workload;
        cb_workload_init(&workload);
        assert_ok(cb_workload_set(&workload, CB_FIELD_SCHEME, cb_scheme_name((enum cb_scheme)i),
                                  CB_FROM_GIVEN, NULL),
                  NULL);
        assert_int_equal(workload.job.scheme, i);
    }
}

static void test_bad_values_are_refused(void **state)
{
    (void)state;
    static const struct {
        enum cb_workload_field field;
        const char *text, *what, *hint;
    } cases[] = {
        {CB_FIELD_PARAMETERS, "0", "'0' is not above zero", "7B"},
        {CB_FIELD_PARAMETERS, "nan", "'nan'", ""},
        {CB_FIELD_PARAMETERS, "1e999", "too large", ""},
        {CB_FIELD_LAYERS, "2.5", "'2.5' is no whole number", "4096"},
        {CB_FIELD_LAYERS, "1e10", "no whole number up to 1e9", ""},
        {CB_FIELD_TENSOR, "-2", "'-2' is negative", ""},
        {CB_FIELD_GRADIENT_BYTES, "0", "'0' is not above zero", "0.5"},
        {CB_FIELD_OVERLAP, "1", "not between 0 and 100 %", ""},
        {CB_FIELD_OVERLAP, "", "is empty", ""},
        {CB_FIELD_SCHEME, "zero4", "unknown scheme 'zero4'; did you mean 'zero", "hybrid"},
        {CB_FIELD_SCHEME, "zero3+", "unknown scheme ''", "lora"},
        {CB_FIELD_SCHEME, "", "unknown scheme ''", ""},
        {CB_FIELD_SCHEME, "ddp+zero3", "'ddp+zero3' names two of a kind", "one of each"},
        {CB_FIELD_SCHEME, "lora+fsdp+qlora", "names two of a kind", "one of each"},
        {CB_FIELD_RECOMPUTE, "yes", "unknown recomputation 'yes'", "none, full"},
        {CB_FIELD_CONTEXT_KIND, "rings", "did you mean 'ring'?", "ulysses"},
        {CB_FIELD_OVERLAP_TENSOR, "maybe", "'maybe'", "no, yes"},
        {CB_FIELD_GRADIENT_SYNC, "never", "'never'", "step, micro-batch"},
        {CB_FIELD_CURRENCY, "doubloons", "'doubloons' is longer than 7 letters", ""},
        {CB_FIELD_PRICE, "free", "'free'", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cb_workload workload, untouched;
        struct cb_error err;
        cb_workload_init(&workload);
        cb_workload_init(&untouched);
        int rc = cb_workload_set(&workload, cases[i].field, cases[i].text, CB_FROM_GIVEN, &err);
        assert_int_equal(rc, CB_E_USAGE);
        if (!strstr(err.what, cases[i].what) || !strstr(err.hint, cases[i].hint))
            fail_msg("'%s': %s (%s)", cases[i].text, err.what, err.hint);
        assert_memory_equal(&workload, &untouched, sizeof(workload));
    }
}

/* ---- the file ---- */

static int read_file(const char *text, struct cb_workload_texts *texts, struct cb_error *err)
{
    return cb_workload_file_read("job.yaml", text, strlen(text), texts, err);
}

static void test_file_is_read(void **state)
{
    (void)state;
    struct cb_workload_texts texts;
    struct cb_error err;
    assert_ok(read_file("# a job\nmodel: llama-8b\n\nscheme:  'zero3+lora' # sharded\n"
                        "\"micro-batch\": 2\noverlap: 50%\ntotal-tokens: 10B\n",
                        &texts, &err),
              &err);
    assert_string_equal(texts.text[CB_FIELD_MODEL], "llama-8b");
    assert_string_equal(texts.text[CB_FIELD_SCHEME], "zero3+lora");
    assert_string_equal(texts.text[CB_FIELD_MICRO_BATCH], "2");
    assert_string_equal(texts.text[CB_FIELD_OVERLAP], "50%");
    assert_int_equal(texts.line[CB_FIELD_MODEL], 2);
    assert_int_equal(texts.line[CB_FIELD_SCHEME], 4);
    assert_int_equal(texts.line[CB_FIELD_TOTAL_TOKENS], 7);
    assert_false(texts.stated[CB_FIELD_PARAMETERS]);
    /* The flow style of YAML is YAML too, and the end needs no line break. */
    assert_ok(read_file("{model: sdxl, micro-batch: 4}", &texts, &err), &err);
    assert_string_equal(texts.text[CB_FIELD_MICRO_BATCH], "4");
}

static void test_bad_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *what;
    } cases[] = {
        {"", "job.yaml: states nothing"},
        {"# nothing\n", "states nothing"},
        {"model: a\nparamters: 7B\n",
         "line 2: unknown key 'paramters'; did you mean 'parameters'?"},
        {"model: a\n\n\nmicro_batch: 7\n",
         "line 4: unknown key 'micro_batch'; did you mean 'micro-"},
        {"xyzzy: 1\n", "line 1: unknown key 'xyzzy'"},
        {"model: a\nlayers: 3\nmodel: b\n", "line 3: 'model' stands there twice"},
        {"model: a\n  layers: 3\n", "line 2: this is no YAML: mapping values are not allowed"},
        {"model: a\nlayers: [1, 2]\n", "line 2: Expecting STRING"},
        {"layers: {a: 1}\n", "line 1: Expecting STRING"},
        {"- model\n", "line 1: Expecting MAPPING"},
        {"hello\n", "line 1: Expecting MAPPING"},
        {"model: a\nlayers:\n", "line 2: the value is empty"},
        {"model: 'a\nlayers: 3\n", "line"},
        {"\tmodel: a\n", "line 1: this is no YAML"},
        {"model: &x a\ncurrency: *x\n", "line 2: "},
        {"model: a\n---\nmodel: b\n", "line 2"},
        {"model: a\n...\njunk\n", "line 3"},
        {"%YAML 9.9\n---\nmodel: a\n", "line"},
        {"? [a]\n: 1\n", "line 1"},
        {"model: "
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
         "aaaaaaaaaaaaaaaaaa\n",
         "line 1: STRING length > 95"},
        {"{\"schema\": \"commbound.result\"}", "line 1: unknown key 'schema'"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cb_workload_texts texts = {.file = "untouched"};
        struct cb_error err;
        int rc = read_file(cases[i].text, &texts, &err);
        if (rc != CB_E_INPUT || !strstr(err.what, cases[i].what))
            fail_msg("'%s': %d, %s", cases[i].text, rc, err.what);
        assert_string_equal(texts.file, "untouched");
    }
}

static void test_size_is_limited(void **state)
{
    (void)state;
    static char text[CB_WORKLOAD_FILE_MAX_BYTES + 2];
    struct cb_workload_texts texts;
    struct cb_error err;
    static const char job[] = "model: sdxl\n";
    memset(text, '#', sizeof(text));
    memcpy(text, job, sizeof(job) - 1);
    assert_ok(cb_workload_file_read("job.yaml", text, CB_WORKLOAD_FILE_MAX_BYTES, &texts, &err),
              &err);
    assert_int_equal(
        cb_workload_file_read("job.yaml", text, CB_WORKLOAD_FILE_MAX_BYTES + 1, &texts, &err),
        CB_E_INPUT);
    assert_non_null(strstr(err.what, "larger than 16 KiB"));
    assert_int_equal(cb_workload_file_load("/nonexistent/job.yaml", &texts, &err), CB_E_IO);
    assert_non_null(strstr(err.what, "/nonexistent/job.yaml"));
    assert_int_equal(cb_workload_file_load("/tmp", &texts, &err), CB_E_IO);
}

/* Nested as deep as the size allows: refused, without the stack running out. */
static void test_deep_nesting(void **state)
{
    (void)state;
    static char text[CB_WORKLOAD_FILE_MAX_BYTES];
    struct cb_workload_texts texts;
    struct cb_error err;
    memset(text, '[', sizeof(text));
    assert_int_equal(cb_workload_file_read("deep", text, sizeof(text), &texts, &err), CB_E_INPUT);
    memset(text, '{', sizeof(text));
    assert_int_equal(cb_workload_file_read("deep", text, sizeof(text), &texts, &err), CB_E_INPUT);
}

/* ---- put together ---- */

static struct cb_workload_texts line;

static void state_on_line(const char *name, const char *text)
{
    int field = cb_workload_field_find(name);
    assert_true(field >= 0);
    line.stated[field] = true;
    snprintf(line.text[field], sizeof(line.text[field]), "%s", text);
}

static int compose(const char *file, struct cb_workload *workload, struct cb_error *err)
{
    struct cb_workload_texts texts;
    cb_workload_init(workload);
    if (file)
        assert_ok(read_file(file, &texts, err), err);
    return cb_workload_compose(&line, file ? &texts : NULL, workload, err);
}

static int clear_line(void **state)
{
    (void)state;
    memset(&line, 0, sizeof(line));
    return 0;
}

static void test_line_over_file_over_model(void **state)
{
    (void)state;
    struct cb_workload workload;
    struct cb_error err;
    state_on_line("layers", "16");
    assert_ok(
        compose("model: llama-8b\nlayers: 24\nhidden: 2048\ngradient-bytes: 4\n", &workload, &err),
        &err);
    assert_near(workload.job.layers, 16, 0);
    assert_near(workload.job.hidden, 2048, 0);
    assert_near(workload.job.gradient_bytes, 4, 0);
    assert_near(workload.job.parameters, 8030261248, 0);
    assert_near(workload.job.kv_heads, 8, 0);
    assert_near(workload.job.sequence, 8192, 0);
    assert_string_equal(workload.job.name, "Llama 3.1 8B");
    assert_int_equal(workload.sources[CB_FIELD_LAYERS], CB_FROM_GIVEN);
    assert_int_equal(workload.sources[CB_FIELD_GRADIENT_BYTES], CB_FROM_GIVEN);
    assert_int_equal(workload.sources[CB_FIELD_PARAMETERS], CB_FROM_REFERENCE);
    assert_int_equal(workload.sources[CB_FIELD_MICRO_BATCH], CB_FROM_NOWHERE);
}

/* What the line says in another way replaces the file's. */
static void test_line_replaces_rivals(void **state)
{
    (void)state;
    struct cb_workload workload;
    struct cb_error err;
    state_on_line("step-time", "3s");
    state_on_line("qlora", "8");
    state_on_line("tokens", "512");
    assert_ok(compose("parameters: 7B\ntotal-time: 9d\nlora: 16\nmicro-batch: 4\naccumulation: 2\n"
                      "sequence: 256\n",
                      &workload, &err),
              &err);
    assert_int_equal(workload.span, CB_SPAN_STEP);
    assert_near(workload.time_s, 3, 0);
    assert_int_equal(workload.job.adapter, CB_ADAPTER_QLORA);
    assert_near(workload.job.adapter_rank, 8, 0);
    assert_near(workload.job.micro_batch, 0, 0);
    assert_near(workload.job.accumulation, 0, 0);
    assert_near(workload.job.sequence, 256, 0);
}

/* A sequence that does not go into the stated tokens is not the model's own. */
static void test_model_bends_to_what_is_stated(void **state)
{
    (void)state;
    struct cb_workload workload;
    struct cb_error err;
    state_on_line("model", "llama-8b");
    state_on_line("tokens", "2048");
    assert_ok(compose(NULL, &workload, &err), &err);
    assert_near(workload.job.sequence, 0, 0);
    state_on_line("tokens", "16384");
    assert_ok(compose(NULL, &workload, &err), &err);
    assert_near(workload.job.sequence, 8192, 0);
    state_on_line("model", "mixtral-8x7b");
    assert_ok(compose(NULL, &workload, &err), &err);
    assert_near(workload.job.active_parameters, 12879925248, 0);
    state_on_line("parameters", "10B");
    assert_ok(compose(NULL, &workload, &err), &err);
    assert_near(workload.job.active_parameters, 0, 0);
}

static void test_contradictions_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *file, *what;
    } cases[] = {
        {"model: lama-8b\n",
         "job.yaml: line 1: model: unknown model 'lama-8b'; did you mean 'llama-8b'?"},
        {"parameters: 7B\nstep-time: 3s\ntotal-time: 4h\n",
         "job.yaml: line 2: step-time: total-time is stated too"},
        {"parameters: 7B\nlora: 8\nqlora: 8\n", "line 3: qlora: lora is stated too"},
        {"parameters: 7B\nlayers: many\n", "job.yaml: line 2: layers: 'many'"},
        {"parameters: 7B\ntotal-time: 3h\n", "--total-time needs --communications"},
        {"step-time: 3s\n", "--step-time needs --parameters or --model"},
        {"scheme: ddp\n", "--scheme needs --parameters or --model"},
        {"parameters: 1B\ntrainable-parameters: 2B\n", "--trainable-parameters (2e+09) must not"},
        {"parameters: 1e16\n", "--parameters must be at most"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cb_workload workload, untouched;
        struct cb_error err;
        cb_workload_init(&untouched);
        int rc = compose(cases[i].file, &workload, &err);
        if (cb_code_exit_status(rc) != 2 || !strstr(err.what, cases[i].what))
            fail_msg("'%s': %d, %s", cases[i].file, rc, err.what);
        assert_memory_equal(&workload, &untouched, sizeof(workload));
    }
}

/* Whole words only, and as much of a long message as fits. */
static void test_members_are_spelled_as_options(void **state)
{
    (void)state;
    struct cb_error err;
    cb_fail(&err, CB_E_USAGE,
            "tensor x kv_heads of a data-parallel rank: tokens_per_step, tensors");
    cb_workload_respell(&err);
    assert_string_equal(err.what, "--tensor-parallel x --kv-heads of a data-parallel rank: "
                                  "--tokens, tensors");
    memset(err.what, 0, sizeof(err.what));
    for (size_t i = 0; i + 7 < sizeof(err.what); i += 7)
        memcpy(err.what + i, "hidden ", 7);
    cb_workload_respell(&err);
    assert_int_equal(strlen(err.what), sizeof(err.what) - 1);
    assert_memory_equal(err.what, "--hidden --hidden ", 18);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_read),
        cmocka_unit_test(test_nothing_hidden_is_a_value),
        cmocka_unit_test(test_schemes_and_adapters),
        cmocka_unit_test(test_bad_values_are_refused),
        cmocka_unit_test(test_file_is_read),
        cmocka_unit_test(test_bad_files_are_refused),
        cmocka_unit_test(test_size_is_limited),
        cmocka_unit_test(test_deep_nesting),
        cmocka_unit_test(test_members_are_spelled_as_options),
        cmocka_unit_test_setup(test_line_over_file_over_model, clear_line),
        cmocka_unit_test_setup(test_line_replaces_rivals, clear_line),
        cmocka_unit_test_setup(test_model_bends_to_what_is_stated, clear_line),
        cmocka_unit_test_setup(test_contradictions_are_refused, clear_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

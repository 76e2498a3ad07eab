/* The table of models against itself: parameters must follow from the shapes. */
#include "cb_test.h"

#include <string.h>

#include "reference/models.h"

/* Parameters of a decoder with gated feed-forward blocks and grouped-query attention (Touvron et
 * al. 2023): embeddings (once where they are tied), per layer q and o (2 h^2), k and v, three
 * matrices per expert and the router, two norms; a last norm. */
static double count_gated(const struct cb_model_row *m, double experts, double embeddings)
{
    double h = m->hidden, kv = h / m->heads * m->kv_heads;
    double layer = 2 * h * h + 2 * h * kv + experts * 3 * h * m->feed_forward + h * m->experts;
    return embeddings * m->vocabulary * h + m->layers * (layer + 2 * h) + h;
}

/* The same of the first GPT-2 and BERT: biases, two matrices, learned positions. */
static double count_plain(const struct cb_model_row *m, double extra)
{
    double h = m->hidden, f = m->feed_forward;
    double layer = 4 * (h * h + h) + 2 * h * f + f + h + 4 * h;
    return (m->vocabulary + m->sequence) * h + m->layers * layer + 2 * h + extra;
}

static const struct cb_model_row *get(const char *name)
{
    const struct cb_model_row *row = cb_model_find(name);
    if (!row)
        fail_msg("no model %s", name);
    return row;
}

static void test_parameters_follow_from_shapes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double embeddings; /* 1: tied */
    } gated[] = {{"llama-1b", 1}, {"llama-3b", 1},  {"llama-7b", 2},
                 {"llama-8b", 2}, {"llama-13b", 2}, {"llama-70b", 2}};
    for (size_t i = 0; i < sizeof(gated) / sizeof(gated[0]); i++) {
        const struct cb_model_row *m = get(gated[i].name);
        assert_near(m->parameters, count_gated(m, 1, gated[i].embeddings), 0);
    }
    const struct cb_model_row *mixture = get("mixtral-8x7b");
    assert_near(mixture->parameters, count_gated(mixture, 8, 2), 0);
    assert_near(mixture->active_parameters, count_gated(mixture, 2, 2), 0);
    assert_near(get("gpt2-125m")->parameters, count_plain(get("gpt2-125m"), 0), 0);
    /* Two kinds of segments, and the pooler. */
    const struct cb_model_row *bert = get("bert-large");
    assert_near(bert->parameters, count_plain(bert, 2 * 1024 + 1024 * 1024 + 1024), 0);
}

/* Forward and twice as much backward, 2 FLOP per multiply-add. */
static void test_work_of_images(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double multiply_adds;
    } images[] = {{"resnet-50", 4.09e9}, {"sdxl", 3.38e12}};
    for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
        const struct cb_model_row *m = get(images[i].name);
        assert_near(m->sample_flops, 6 * images[i].multiply_adds, 0.005);
        assert_int_equal(m->sequence, 1);
    }
}

static void test_every_row_is_whole(void **state)
{
    (void)state;
    size_t count;
    const struct cb_model_row *rows = cb_models(&count);
    assert_true(count >= 11);
    for (size_t i = 0; i < count; i++) {
        assert_true(rows[i].source[0] != '\0' && rows[i].sequence > 0);
        assert_true(rows[i].active_parameters > 0);
        assert_true(rows[i].active_parameters <= rows[i].parameters);
        assert_int_equal(rows[i].experts == 0, rows[i].active_parameters == rows[i].parameters);
        assert_int_equal(rows[i].layers == 0, rows[i].sample_flops > 0);
        if (rows[i].heads > 0)
            assert_int_equal(rows[i].hidden % rows[i].heads, 0);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(rows[i].name, rows[j].name);
        assert_ptr_equal(cb_model_find(rows[i].name), &rows[i]);
        assert_ptr_equal(cb_model_find(rows[i].title), &rows[i]);
    }
}

static void test_names_are_found(void **state)
{
    (void)state;
    assert_string_equal(get("Llama 3.1 8B")->name, "llama-8b");
    assert_string_equal(get("LLAMA_3.1_8b")->name, "llama-8b");
    assert_null(cb_model_find("llama"));
    assert_null(cb_model_find(""));
    assert_null(cb_model_find("llama-8b-instruct"));
    assert_string_equal(cb_model_suggest("lama-8b"), "llama-8b");
    assert_string_equal(cb_model_suggest("bert-lrage"), "bert-large");
    assert_null(cb_model_suggest("something else entirely"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters_follow_from_shapes),
        cmocka_unit_test(test_work_of_images),
        cmocka_unit_test(test_every_row_is_whole),
        cmocka_unit_test(test_names_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

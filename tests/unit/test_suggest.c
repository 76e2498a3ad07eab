#include "cb_test.h"

#include "base/suggest.h"

static const char *const options[] = {
    "--min-bytes", "--max-bytes", "--ops", "--out", "--parameters", "--time-limit",
};

static const char *nearest(const char *text)
{
    return cb_suggest(text, options, sizeof(options) / sizeof(options[0]));
}

static void test_slips_are_recognised(void **state)
{
    (void)state;
    assert_string_equal(nearest("--min-byte"), "--min-bytes");    /* one missing */
    assert_string_equal(nearest("--min-bytess"), "--min-bytes");  /* one too many */
    assert_string_equal(nearest("--mim-bytes"), "--min-bytes");   /* one replaced */
    assert_string_equal(nearest("--mxa-bytes"), "--max-bytes");   /* two swapped */
    assert_string_equal(nearest("--PARAMETERS"), "--parameters"); /* case */
    assert_string_equal(nearest("--time_limit"), "--time-limit");
    assert_string_equal(nearest("--ops"), "--ops");
}

static void test_what_is_far_gives_nothing(void **state)
{
    (void)state;
    assert_null(nearest("--frobnicate"));
    assert_null(nearest(""));
    assert_null(nearest("x"));
    assert_null(cb_suggest("--ops", options, 0));
    char page[500];
    for (size_t i = 0; i + 1 < sizeof(page); i++)
        page[i] = 'a';
    page[sizeof(page) - 1] = '\0';
    assert_null(nearest(page));
}

/* The limit is a third of the longer text: 2 of 6 passes, 3 of 8 does not. */
static void test_limit(void **state)
{
    (void)state;
    static const char *const names[] = {"report"};
    assert_string_equal(cb_suggest("rxport", names, 1), "report");
    assert_string_equal(cb_suggest("rxpxrt", names, 1), "report");
    assert_null(cb_suggest("xxpxrt", names, 1));
    static const char *const eight[] = {"abcdefgh"};
    assert_null(cb_suggest("abcdexyz", eight, 1));
}

/* Swapping two neighbours is one slip, not two. */
static void test_nearest_wins(void **state)
{
    (void)state;
    static const char *const names[] = {"judge", "jugde!"};
    assert_string_equal(cb_suggest("jugde", names, 2), "judge");
    static const char *const commands[] = {"run", "ruin"};
    assert_string_equal(cb_suggest("rn", commands, 1), "run");
    assert_string_equal(cb_suggest("ruin", commands, 2), "ruin");
}

/* What holds the text comes before what only resembles it; equals stay in the list's order. */
static void test_several(void **state)
{
    (void)state;
    static const char *const gpus[] = {"NVIDIA H100 80GB HBM3", "NVIDIA H100 NVL", "NVIDIA H200",
                                       "Tesla T4", "NVIDIA A100-SXM4-80GB"};
    size_t nearest[CB_SUGGEST_LIMIT];
    assert_int_equal(cb_suggest_several("h100", gpus, 5, nearest, 3), 2);
    assert_int_equal(nearest[0], 1);
    assert_int_equal(nearest[1], 0);
    assert_int_equal(cb_suggest_several("A100 SXM4 80 GB", gpus, 5, nearest, 3), 1);
    assert_int_equal(nearest[0], 4);
    static const char *const names[] = {"roce-10g", "roce-50g", "roce-100g", "roce-200g"};
    assert_int_equal(cb_suggest_several("roce-20g", names, 4, nearest, 8), 4);
    assert_int_equal(cb_suggest_several("roce-200", names, 4, nearest, 2), 2);
    assert_int_equal(nearest[0], 3);
    /* A name that is part of the text is a slip as any other. */
    static const char *const cards[] = {"A10", "A100-SXM4-80GB"};
    assert_int_equal(cb_suggest_several("A100", cards, 2, nearest, 3), 2);
    assert_int_equal(nearest[0], 1);
    assert_int_equal(cb_suggest_several("frobnicate", gpus, 5, nearest, 3), 0);
    assert_int_equal(cb_suggest_several("h", gpus, 5, nearest, 3), 0); /* says too little */
    assert_int_equal(cb_suggest_several("--", gpus, 5, nearest, 3), 0);
    assert_int_equal(cb_suggest_several("h100", gpus, 5, nearest, 0), 0);
    assert_int_equal(cb_suggest_several("h100", gpus, 0, nearest, 3), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slips_are_recognised),
        cmocka_unit_test(test_what_is_far_gives_nothing),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_nearest_wins),
        cmocka_unit_test(test_several),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

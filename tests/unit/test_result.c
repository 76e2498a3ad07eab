#include "cb_test.h"

#include <string.h>

#include "result/result.h"

static void test_status_names_round_trip(void **state)
{
    (void)state;
    for (int i = 0; i < CB_STATUS_COUNT; i++)
        assert_int_equal(cb_status_parse(cb_status_name((enum cb_status)i)), i);
    assert_int_equal(cb_status_parse("fine"), -1);
    assert_int_equal(cb_status_parse(""), -1);
}

static void test_only_ok_and_noisy_numbers_may_be_read(void **state)
{
    (void)state;
    for (int i = 0; i < CB_STATUS_COUNT; i++)
        assert_int_equal(cb_status_is_usable((enum cb_status)i),
                         i == CB_STATUS_OK || i == CB_STATUS_NOISY);
}

static void test_settings_keep_their_order_and_are_unique(void **state)
{
    (void)state;
    struct cb_result result;
    cb_result_init(&result);
    assert_int_equal(cb_result_add_option(&result, "ops", "all_reduce"), 0);
    assert_int_equal(cb_result_add_option(&result, "min-bytes", "8"), 0);
    assert_int_equal(cb_result_add_option(&result, "ops", "all_gather"), 0);
    assert_int_equal(result.options.count, 2);
    assert_string_equal(result.options.items[0].name, "ops");
    assert_string_equal(result.options.items[0].value, "all_gather");
    assert_string_equal(result.options.items[1].name, "min-bytes");

    assert_int_equal(cb_result_add_environment(&result, "OMP_NUM_THREADS", "4", "user"), 0);
    assert_int_equal(cb_result_add_environment(&result, "OMP_NUM_THREADS", "8", "commbound"), 0);
    assert_int_equal(result.environment.count, 1);
    assert_string_equal(result.environment.items[0].value, "8");
    assert_string_equal(result.environment.items[0].set_by, "commbound");
    cb_result_fini(&result);
    assert_null(result.options.items);
    assert_int_equal(result.environment.count, 0);
}

static void test_long_text_is_cut_not_overrun(void **state)
{
    (void)state;
    struct cb_result result;
    char text[2000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    cb_result_init(&result);
    assert_int_equal(cb_result_add_environment(&result, text, text, text), 0);
    assert_int_equal(cb_result_warn(&result, text, text, "%s", text), 0);
    assert_int_equal(strlen(result.environment.items[0].name), CB_NAME - 1);
    assert_int_equal(strlen(result.environment.items[0].value), CB_TEXT - 1);
    assert_int_equal(strlen(result.warnings.items[0].code), CB_NAME - 1);
    assert_int_equal(strlen(result.warnings.items[0].text), CB_TEXT - 1);
    assert_int_equal(strlen(result.warnings.items[0].hint), CB_TEXT - 1);
    cb_result_fini(&result);
}

static void test_warning_is_formatted_and_its_hint_may_be_left_out(void **state)
{
    (void)state;
    struct cb_result result;
    cb_result_init(&result);
    assert_int_equal(cb_result_warn(&result, "one_core", NULL, "rank %d has %d core", 3, 1), 0);
    assert_int_equal(result.warnings.count, 1);
    assert_string_equal(result.warnings.items[0].code, "one_core");
    assert_string_equal(result.warnings.items[0].text, "rank 3 has 1 core");
    assert_string_equal(result.warnings.items[0].hint, "");
    cb_result_fini(&result);
}

static const struct cb_collective_row largest_rows[] = {
    {.op = CB_OP_ALL_REDUCE, .size_bytes = 1024, .samples = 1},
    {.op = CB_OP_ALL_REDUCE, .size_bytes = 4096, .in_place = true, .samples = 2},
    {.op = CB_OP_ALL_REDUCE, .size_bytes = 4096, .status = CB_STATUS_NOISY, .samples = 3},
    {.op = CB_OP_ALL_REDUCE, .size_bytes = 4096, .dtype = CB_DTYPE_FLOAT64, .samples = 4},
    {.op = CB_OP_ALL_REDUCE, .size_bytes = 8192, .status = CB_STATUS_FAILED, .samples = 5},
    {.op = CB_OP_ALL_REDUCE, .size_bytes = 8192, .status = CB_STATUS_WRONG, .samples = 6},
    {.op = CB_OP_ALL_REDUCE, .scope = CB_SCOPE_INTER_NODE, .size_bytes = 16384, .samples = 7},
    {.op = CB_OP_ALL_GATHER, .size_bytes = 32768, .in_place = true, .samples = 8},
};

/* The samples field tells the rows apart. */
static void test_largest_usable_row(void **state)
{
    (void)state;
    struct cb_result result;
    cb_result_init(&result);
    for (size_t i = 0; i < sizeof(largest_rows) / sizeof(largest_rows[0]); i++) {
        struct cb_collective_row *row = cb_vec_add(&result.collectives);
        assert_non_null(row);
        *row = largest_rows[i];
    }
    assert_int_equal(cb_result_largest(&result, CB_OP_ALL_REDUCE, CB_SCOPE_WORLD)->samples, 3);
    assert_int_equal(cb_result_largest(&result, CB_OP_ALL_REDUCE, CB_SCOPE_INTER_NODE)->samples, 7);
    assert_int_equal(cb_result_largest(&result, CB_OP_ALL_GATHER, CB_SCOPE_WORLD)->samples, 8);
    assert_null(cb_result_largest(&result, CB_OP_ALL_REDUCE, CB_SCOPE_INTRA_NODE));
    assert_null(cb_result_largest(&result, CB_OP_BROADCAST, CB_SCOPE_WORLD));
    cb_result_fini(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status_names_round_trip),
        cmocka_unit_test(test_only_ok_and_noisy_numbers_may_be_read),
        cmocka_unit_test(test_settings_keep_their_order_and_are_unique),
        cmocka_unit_test(test_long_text_is_cut_not_overrun),
        cmocka_unit_test(test_warning_is_formatted_and_its_hint_may_be_left_out),
        cmocka_unit_test(test_largest_usable_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

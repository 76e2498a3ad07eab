#include "base/table.h"

#include <stdio.h>
#include <string.h>

#include "cb_test.h"

static const struct cb_table_column two[] = {
    {"name", CB_ALIGN_LEFT, 5},
    {"rate", CB_ALIGN_RIGHT, 0},
};

static size_t longest_line(const char *text)
{
    size_t longest = 0;
    while (*text) {
        size_t length = strcspn(text, "\n");
        longest = length > longest ? length : longest;
        text += length + (text[length] == '\n');
    }
    return longest;
}

static void test_columns_fit_their_content(void **state)
{
    (void)state;
    struct cb_table table;
    struct cb_strbuf out = {0};
    cb_table_init(&table, two, 2);
    cb_table_add(&table, CB_STYLE_PLAIN, "%s", "a long name");
    cb_table_add(&table, CB_STYLE_PLAIN, "%d", 7);
    cb_table_add(&table, CB_STYLE_BAD, "b");
    cb_table_add(&table, CB_STYLE_PLAIN, "1234567");
    cb_table_add(&table, CB_STYLE_PLAIN, "not full");
    cb_table_render(&table, 4, false, &out);
    assert_string_equal(cb_strbuf_get(&out), "    name            rate\n"
                                             "    a long name        7\n"
                                             "    b            1234567\n"
                                             "    not full\n");
    cb_table_fini(&table);
    cb_strbuf_fini(&out);
}

static void test_color_does_not_move_columns(void **state)
{
    (void)state;
    struct cb_table table;
    struct cb_strbuf out = {0};
    cb_table_init(&table, two, 2);
    cb_table_add(&table, CB_STYLE_GOOD, "ok");
    cb_table_add(&table, CB_STYLE_BAD, "1");
    cb_table_render(&table, 0, true, &out);
    assert_string_equal(cb_strbuf_get(&out), "name  rate\n"
                                             "\033[32mok\033[0m       \033[1;31m1\033[0m\n");
    cb_table_fini(&table);
    cb_strbuf_fini(&out);
}

static void test_empty_column_and_empty_table_are_left_out(void **state)
{
    (void)state;
    struct cb_table table;
    struct cb_strbuf out = {0};
    cb_table_init(&table, two, 2);
    cb_table_render(&table, 0, false, &out);
    assert_string_equal(cb_strbuf_get(&out), "");
    cb_table_add(&table, CB_STYLE_PLAIN, "x");
    cb_table_add(&table, CB_STYLE_PLAIN, "%s", "");
    cb_table_render(&table, 0, false, &out);
    assert_string_equal(cb_strbuf_get(&out), "name\nx\n");
    cb_table_fini(&table);
    cb_strbuf_fini(&out);
}

static void test_wide_cells_are_cut(void **state)
{
    (void)state;
    char wide[301];
    memset(wide, 'w', 300);
    wide[300] = '\0';
    struct cb_table table;
    struct cb_strbuf out = {0};
    cb_table_init(&table, two, 2);
    cb_table_add(&table, CB_STYLE_PLAIN, "%s", wide);
    cb_table_add(&table, CB_STYLE_PLAIN, "117 MB/s");
    cb_table_render(&table, 4, false, &out);
    assert_int_equal(longest_line(cb_strbuf_get(&out)), 80);
    assert_non_null(strstr(cb_strbuf_get(&out), "www...  117 MB/s\n"));
    cb_table_fini(&table);
    cb_strbuf_fini(&out);
}

/* Where the columns with a floor do not give enough, the others are cut too. */
static void test_no_table_is_wider_than_the_page(void **state)
{
    (void)state;
    static const struct cb_table_column columns[4] = {{"a", CB_ALIGN_LEFT, 20}};
    char wide[101];
    memset(wide, 'w', 100);
    wide[100] = '\0';
    struct cb_table table;
    struct cb_strbuf out = {0};
    cb_table_init(&table, columns, 4);
    for (int i = 0; i < 8; i++)
        cb_table_add(&table, CB_STYLE_PLAIN, "%s", wide);
    cb_table_render(&table, 6, false, &out);
    assert_int_equal(longest_line(cb_strbuf_get(&out)), 80);
    cb_table_fini(&table);
    cb_strbuf_fini(&out);
}

static void test_nothing_but_printable_ascii(void **state)
{
    (void)state;
    struct cb_strbuf out = {0};
    cb_printable_add(&out, "a\x1b[2Jb\x07\x7f\tc\nd");
    assert_string_equal(cb_strbuf_get(&out), "a?[2Jb?? c d");
    cb_strbuf_fini(&out);
    /* e acute, a CJK character, an emoji; C1's CSI as UTF-8; stray continuation and lead bytes. */
    cb_printable_add(&out, "\xc3\xa9|\xe4\xb8\xad|\xf0\x9f\x98\x80|\xc2\x9b|\x80\x80|\xc3");
    assert_string_equal(cb_strbuf_get(&out), "?|?|?|?|??|?");
    cb_strbuf_fini(&out);
    char bytes[256];
    for (int i = 0; i < 255; i++)
        bytes[i] = (char)(i + 1);
    bytes[255] = '\0';
    cb_printable_add(&out, bytes);
    for (const char *at = cb_strbuf_get(&out); *at; at++)
        assert_true(*at >= ' ' && *at <= '~');
    cb_strbuf_fini(&out);
}

static void test_paragraph_breaks_at_blanks(void **state)
{
    (void)state;
    struct cb_strbuf out = {0};
    cb_strbuf_add(&out, "  LABEL  ");
    cb_paragraph_add(&out, 9, 9,
                     "one two three four five six seven eight nine ten eleven twelve thirteen "
                     "fourteen   fifteen\nsixteen");
    assert_string_equal(
        cb_strbuf_get(&out),
        "  LABEL  one two three four five six seven eight nine ten eleven twelve thirteen\n"
        "         fourteen fifteen sixteen\n");
    cb_strbuf_fini(&out);
    cb_paragraph_add(&out, 0, 4, "");
    assert_string_equal(cb_strbuf_get(&out), "\n");
    cb_strbuf_fini(&out);
}

static void test_paragraph_keeps_a_number_and_its_unit_together(void **state)
{
    (void)state;
    char text[128];
    memset(text, 'x', 73);
    strcpy(text + 73, " is (64 GiB) 1 2 3");
    struct cb_strbuf out = {0};
    cb_paragraph_add(&out, 0, 0, text); /* "64" would still fit */
    text[73] = '\0';
    char expected[160];
    snprintf(expected, sizeof(expected), "%s is\n(64 GiB) 1 2 3\n", text);
    assert_string_equal(cb_strbuf_get(&out), expected);
    cb_strbuf_fini(&out);
    cb_paragraph_add(&out, 70, 0, "1 2 3 4 5 6 7");
    assert_string_equal(cb_strbuf_get(&out), "1 2 3 4\n5 6 7\n");
    cb_strbuf_fini(&out);
}

static void test_paragraph_line_of_80_is_not_broken(void **state)
{
    (void)state;
    char text[82];
    memset(text, 'x', 81);
    text[40] = ' ';
    text[80] = '\0'; /* 40 + 1 + 39 */
    struct cb_strbuf out = {0};
    cb_paragraph_add(&out, 0, 0, text);
    assert_int_equal(longest_line(cb_strbuf_get(&out)), 80);
    cb_strbuf_fini(&out);
    text[80] = 'x';
    text[81] = '\0';
    cb_paragraph_add(&out, 0, 0, text);
    assert_int_equal(longest_line(cb_strbuf_get(&out)), 40);
    cb_strbuf_fini(&out);
}

static void test_paragraph_keeps_every_character_of_a_long_word(void **state)
{
    (void)state;
    char word[256];
    for (int i = 0; i < 255; i++)
        word[i] = (char)('a' + i % 26);
    word[255] = '\0';
    struct cb_strbuf out = {0};
    char text[300];
    snprintf(text, sizeof(text), "see %s now", word);
    cb_paragraph_add(&out, 6, 6, text);
    assert_true(longest_line(cb_strbuf_get(&out)) <= 80);
    char joined[300];
    size_t used = 0;
    for (const char *at = cb_strbuf_get(&out); *at; at++)
        if (*at != ' ' && *at != '\n')
            joined[used++] = *at;
    joined[used] = '\0';
    snprintf(text, sizeof(text), "see%snow", word);
    assert_string_equal(joined, text);
    cb_strbuf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_fit_their_content),
        cmocka_unit_test(test_color_does_not_move_columns),
        cmocka_unit_test(test_empty_column_and_empty_table_are_left_out),
        cmocka_unit_test(test_wide_cells_are_cut),
        cmocka_unit_test(test_no_table_is_wider_than_the_page),
        cmocka_unit_test(test_nothing_but_printable_ascii),
        cmocka_unit_test(test_paragraph_breaks_at_blanks),
        cmocka_unit_test(test_paragraph_keeps_a_number_and_its_unit_together),
        cmocka_unit_test(test_paragraph_line_of_80_is_not_broken),
        cmocka_unit_test(test_paragraph_keeps_every_character_of_a_long_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A thousand nodes of three kinds: three maps in the result, in its JSON, and in the report. */
#include "cb_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "many_nodes.h"
#include "measure/map_survey.h"
#include "report/report.h"
#include "result/json.h"

static void test_a_thousand_nodes_of_three_kinds(void **state)
{
    struct cb_result result, read;
    struct cb_error err = {0};
    char *text = NULL;
    (void)state;
    cb_result_init(&result);
    assert_int_equal(many_nodes_gather(&result, 1000), 3);
    assert_int_equal(result.maps.count, 3);
    assert_int_equal(result.nodes.count, 1000);

    assert_ok(cb_result_to_json(&result, &text, &err), &err);
    cb_result_init(&read);
    assert_ok(cb_result_from_json("many.json", text, strlen(text), &read, &err), &err);
    assert_int_equal(read.maps.count, 3);
    size_t hosts[3] = {0};
    for (size_t i = 0; i < read.nodes.count; i++) {
        assert_int_equal(read.nodes.items[i].map, result.nodes.items[i].map);
        hosts[read.nodes.items[i].map - 1]++;
    }
    assert_int_equal(hosts[0], 334);
    assert_int_equal(hosts[1], 333);
    assert_int_equal(hosts[2], 333);
    for (size_t i = 0; i < 3; i++)
        assert_true(cb_facts_hash(&read.maps.items[i]) == cb_facts_hash(&result.maps.items[i]));
    free(text);
    cb_result_fini(&read);
    cb_result_fini(&result);
}

static void test_report_of_many_nodes(void **state)
{
    struct cb_result result;
    struct cb_error err = {0};
    struct cb_strbuf page = {0};
    const struct cb_report_options options = {.color = false};
    (void)state;
    cb_result_init(&result);
    many_nodes_gather(&result, 1000);
    assert_ok(cb_report_render(&result, CB_REPORT_TEXT, &options, &page, &err), &err);
    const char *text = cb_strbuf_get(&page);
    const char *topology = strstr(text, "TOPOLOGY");
    assert_non_null(topology);
    /* One line, or a few, for each kind. */
    size_t kinds = 0;
    for (const char *at = topology; (at = strstr(at, "8 x NVIDIA A100")); at++)
        kinds++;
    assert_int_equal(kinds, 3);
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        assert_true(length <= 80);
        line += length + (line[length] == '\n');
    }
    cb_strbuf_fini(&page);
    cb_result_fini(&result);
}

static void test_grouping(void **state)
{
    const uint64_t hashes[] = {7, 3, 7, 7, 9, 3};
    const int expected[] = {1, 2, 1, 1, 3, 2};
    int maps[6];
    (void)state;
    assert_int_equal(cb_map_survey_group(hashes, 6, maps), 3);
    assert_memory_equal(maps, expected, sizeof(expected));
    assert_int_equal(cb_map_survey_group(hashes, 0, maps), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grouping),
        cmocka_unit_test(test_a_thousand_nodes_of_three_kinds),
        cmocka_unit_test(test_report_of_many_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

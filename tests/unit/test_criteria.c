#include "cb_test.h"

#include <string.h>

#include "model/criteria.h"

static struct cb_check judge(enum cb_criterion criterion, double actual, double reference, int rdma)
{
    struct cb_check check;
    memset(&check, 0x5a, sizeof(check));
    cb_criterion_judge(criterion, actual, reference, rdma, "a -> b", &check);
    return check;
}

/* The limits of the documents (70 %, 2 ms) and of healthy links (90 and 95 %, 100 and 5 us). Each
 * row lies just on its limit, and fails just beyond it. */
static void test_limits(void **state)
{
    (void)state;
    static const struct {
        enum cb_criterion criterion;
        double limit, reference;
        int rdma;
        enum cb_check_status failed;
        int more_is_better;
    } rows[] = {
        {CB_CRITERION_NETWORK_ADVERTISED, 87.5e6, 125e6, 0, CB_CHECK_ALARM, 1},
        {CB_CRITERION_NETWORK_ADVERTISED, 8.75e9, 12.5e9, 1, CB_CHECK_ALARM, 1},
        {CB_CRITERION_NETWORK_HEALTHY, 112.5e6, 125e6, 0, CB_CHECK_SHORT, 1},
        {CB_CRITERION_NETWORK_HEALTHY, 11.875e9, 12.5e9, 1, CB_CHECK_SHORT, 1},
        {CB_CRITERION_ALL_REDUCE, 87.5e6, 125e6, 0, CB_CHECK_SHORT, 1},
        {CB_CRITERION_ROUND_TRIP, 2e-3, 0, 0, CB_CHECK_ALARM, 0},
        {CB_CRITERION_ROUND_TRIP_CLUSTER, 100e-6, 0, 0, CB_CHECK_SHORT, 0},
        {CB_CRITERION_ROUND_TRIP_CLUSTER, 5e-6, 0, 1, CB_CHECK_SHORT, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double worse = rows[i].more_is_better ? 0.999 : 1.001;
        double better = 2 - worse;
        struct cb_check good =
            judge(rows[i].criterion, rows[i].limit * better, rows[i].reference, rows[i].rdma);
        struct cb_check bad =
            judge(rows[i].criterion, rows[i].limit * worse, rows[i].reference, rows[i].rdma);
        assert_int_equal(good.status, CB_CHECK_MET);
        assert_int_equal(bad.status, rows[i].failed);
        assert_near(bad.required, rows[i].limit, 1e-12);
        assert_near(bad.actual, rows[i].limit * worse, 1e-12);
        assert_string_equal(bad.operator_text, rows[i].more_is_better ? ">=" : "<=");
        assert_string_equal(bad.unit, rows[i].more_is_better ? "byte/s" : "s");
        assert_string_equal(good.remedy, "");
        assert_string_not_equal(bad.remedy, "");
        assert_string_not_equal(bad.source, "");
        assert_non_null(strstr(bad.summary, "a -> b"));
    }
    /* Exactly on an absolute limit is within it: "over 2 ms". */
    assert_int_equal(judge(CB_CRITERION_ROUND_TRIP, 2e-3, 0, 0).status, CB_CHECK_MET);
}

static void test_data(void **state)
{
    (void)state;
    assert_int_equal(judge(CB_CRITERION_DATA, 0, 0, 0).status, CB_CHECK_MET);
    struct cb_check wrong = judge(CB_CRITERION_DATA, 3, 0, 0);
    assert_int_equal(wrong.status, CB_CHECK_ALARM);
    assert_non_null(strstr(wrong.summary, "3 wrong elements"));
    assert_int_equal(judge(CB_CRITERION_DATA, -1, 0, 0).status, CB_CHECK_NOT_TESTED);
}

/* What was not measured is not tested, whatever the reference; what has no reference says so. */
static void test_not_tested_and_no_reference(void **state)
{
    (void)state;
    struct cb_check check;
    cb_criterion_judge(CB_CRITERION_NETWORK_ADVERTISED, 0, 125e6, 0, "one node only", &check);
    assert_int_equal(check.status, CB_CHECK_NOT_TESTED);
    assert_string_equal(check.summary, "one node only");
    cb_criterion_judge(CB_CRITERION_NETWORK_ADVERTISED, 0, 0, 0, "one node only", &check);
    assert_int_equal(check.status, CB_CHECK_NOT_TESTED);
    cb_criterion_judge(CB_CRITERION_NETWORK_ADVERTISED, 117e6, 0, 0, "veth makes it up", &check);
    assert_int_equal(check.status, CB_CHECK_NO_REFERENCE);
    assert_string_equal(check.summary, "veth makes it up");
    assert_near(check.actual, 117e6, 0);
    assert_near(check.required, 0, 0);
    cb_criterion_judge(CB_CRITERION_ROUND_TRIP, 0, 0, 0, NULL, &check);
    assert_int_equal(check.status, CB_CHECK_NOT_TESTED);
    assert_string_equal(check.summary, "");
    cb_criterion_judge(CB_CRITERION_ROUND_TRIP, (double)NAN, 0, 0, "no pair", &check);
    assert_int_equal(check.status, CB_CHECK_NOT_TESTED);
}

/* A summary can be redone by hand: both figures, the share, the limit. */
static void test_summary_shows_the_arithmetic(void **state)
{
    (void)state;
    struct cb_check check = judge(CB_CRITERION_NETWORK_HEALTHY, 100e6, 125e6, 0);
    assert_string_equal(check.summary,
                        "point to point 100 MB/s is 80 % of 125 MB/s, limit 90 %: a -> b");
    check = judge(CB_CRITERION_ROUND_TRIP_CLUSTER, 150e-6, 0, 0);
    assert_string_equal(check.summary, "round trip 150 us, limit 100 us: a -> b");
}

static void test_every_criterion_has_its_own_id(void **state)
{
    (void)state;
    struct cb_check checks[CB_CRITERION_COUNT];
    for (int i = 0; i < CB_CRITERION_COUNT; i++) {
        checks[i] = judge((enum cb_criterion)i, 1, 1, 0);
        assert_string_not_equal(checks[i].id, "");
        for (int j = 0; j < i; j++)
            assert_string_not_equal(checks[i].id, checks[j].id);
    }
}

static void test_status_names(void **state)
{
    (void)state;
    for (int i = 0; i < CB_CHECK_STATUS_COUNT; i++)
        assert_int_equal(cb_check_status_parse(cb_check_status_name((enum cb_check_status)i)), i);
    assert_int_equal(cb_check_status_parse("passed"), -1);
}

/* Long notes are cut, never overrun. */
static void test_long_notes_are_cut(void **state)
{
    (void)state;
    char note[500];
    memset(note, 'n', sizeof(note));
    note[sizeof(note) - 1] = '\0';
    struct cb_check check;
    for (int i = 0; i < CB_CRITERION_COUNT; i++) {
        cb_criterion_judge((enum cb_criterion)i, 1, 2, 0, note, &check);
        assert_int_equal(strlen(check.summary), sizeof(check.summary) - 1);
        cb_criterion_judge((enum cb_criterion)i, -1, 2, 0, note, &check);
        assert_int_equal(strlen(check.summary), sizeof(check.summary) - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_data),
        cmocka_unit_test(test_not_tested_and_no_reference),
        cmocka_unit_test(test_summary_shows_the_arithmetic),
        cmocka_unit_test(test_every_criterion_has_its_own_id),
        cmocka_unit_test(test_status_names),
        cmocka_unit_test(test_long_notes_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

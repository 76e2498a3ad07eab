/* Sorting numbers, and their median. */
#include "base/sort.h"
#include "cb_test.h"

static void test_sorted_whatever_the_order_was(void **state)
{
    double values[] = {3, -1, 1e300, 0, -1, 2.5};
    const double ascending[] = {-1, -1, 0, 2.5, 3, 1e300};
    const size_t count = sizeof(values) / sizeof(values[0]);
    (void)state;
    for (size_t turn = 0; turn < count; turn++) {
        cb_sort_doubles(values, count);
        for (size_t i = 0; i < count; i++)
            assert_true(values[i] == ascending[i]);
        double first = values[turn]; /* another order for the next turn */
        values[turn] = values[count - 1 - turn];
        values[count - 1 - turn] = first;
    }
    cb_sort_doubles(values, 0);
}

static void test_median(void **state)
{
    const double values[] = {1, 2, 4, 8};
    (void)state;
    assert_true(cb_median_of_sorted(values, 1) == 1);
    assert_true(cb_median_of_sorted(values, 2) == 1.5);
    assert_true(cb_median_of_sorted(values, 3) == 2);
    assert_true(cb_median_of_sorted(values, 4) == 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sorted_whatever_the_order_was),
        cmocka_unit_test(test_median),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

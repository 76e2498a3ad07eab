/* What the grid and the model of the copy engine find in device code that is wrong, and that they
 * find nothing in device code that is right. */
#define _GNU_SOURCE
#include "test_copy_engine.h"

#include <stdio.h>
#include <string.h>

#include "cb_test.h"
#include "device/grid.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define WORDS (2 * TEST_WORDS)

static _Alignas(16) uint32_t from[WORDS], to[WORDS];

/* Returns what simgpu_grid_run does. */
static int run(void (*kernel)(const void *args), enum simgpu_order order, char *message,
               size_t size)
{
    const struct test_copy args = {to, from};
    const struct simgpu_grid grid = {2, TEST_WORDS, order, SIMGPU_FOLLOW};
    message[0] = '\0';
    for (uint32_t i = 0; i < WORDS; i++)
        from[i] = 1000 + i;
    memset(to, 0, sizeof(to));
    return simgpu_grid_run(kernel, &args, &grid, message, size);
}

#define EACH_ORDER(order)                                                                          \
    enum simgpu_order order = 0;                                                                   \
    order < SIMGPU_ORDER_COUNT;                                                                    \
    order++

static void right(void **state)
{
    (void)state;
    void (*const kernels[])(const void *) = {test_right_copy, test_right_threads};
    char message[256];
    for (size_t k = 0; k < COUNT(kernels); k++)
        for (EACH_ORDER(order)) {
            if (run(kernels[k], order, message, sizeof(message)))
                fail_msg("%s", message);
            assert_memory_equal(to, from, sizeof(to));
        }
}

static void found(void **state)
{
    (void)state;
    static const struct {
        void (*kernel)(const void *args);
        const char *text;
    } cases[] = {
        {test_two_places_sync, "the block meets at"},
        {test_lane_missing, "for threads that do not come"},
        {test_no_init, "not initialised"},
        {test_no_init_fence, "no fence has made known"},
        {test_nobody_arrives, "1 threads more must arrive"},
        {test_expects_more, "expects 16 bytes other than were loaded"},
        {test_expects_less, "expects -16 bytes other than were loaded"},
        {test_arrives_twice, "more threads arrive at than it counts"},
        {test_unaligned, "not a multiple of 16"},
        {test_odd_size, "not a multiple of 16"},
        {test_nothing, "a copy of nothing"},
        {test_not_shared, "shared memory that is none"},
        {test_fills_twice, "another load is filling"},
        {test_stores_too_early, "a store of shared memory that a load is filling"},
        {test_refills_too_early, "a store is still reading"},
        {test_writes_while_filled, "have written shared memory that a load was filling"},
        {test_writes_while_stored, "have written shared memory that a store was reading"},
        {test_stores_without_fence, "wrote without a fence since"},
        {test_ends_while_storing, "ended while a store was reading"},
        {test_ends_without_commit, "ended while a store was reading"},
        {test_ends_while_filling, "ended while a load was filling"},
        {test_waits_for_older_group, "have written shared memory that a store was reading"},
    };
    char message[256];
    for (size_t c = 0; c < COUNT(cases); c++)
        for (EACH_ORDER(order)) {
            assert_int_equal(run(cases[c].kernel, order, message, sizeof(message)), -1);
            if (strstr(message, cases[c].text) == NULL)
                fail_msg("'%s' does not say '%s'", message, cases[c].text);
        }
}

/* What nothing but the data can show does show there. */
static void wrong_data(void **state)
{
    (void)state;
    void (*const kernels[])(const void *) = {test_unwritten_shared, test_does_not_wait,
                                             test_wrong_parity, test_asks_once};
    char message[256];
    for (size_t k = 0; k < COUNT(kernels); k++)
        for (EACH_ORDER(order)) {
            if (run(kernels[k], order, message, sizeof(message)))
                fail_msg("%s", message);
            assert_memory_not_equal(to + TEST_WORDS, from + TEST_WORDS, sizeof(to) / 2);
        }
}

static void refused_blocks(void **state)
{
    (void)state;
    static const unsigned threads[] = {0, 33, 2048};
    const struct test_copy args = {to, from};
    char message[256];
    for (size_t i = 0; i < COUNT(threads); i++) {
        const struct simgpu_grid grid = {1, threads[i], SIMGPU_FIRST_WARP, SIMGPU_FAST};
        assert_int_equal(simgpu_grid_run(test_right_copy, &args, &grid, message, sizeof(message)),
                         -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right),      cmocka_unit_test(found),
        cmocka_unit_test(right), /* what was broken off leaves nothing behind */
        cmocka_unit_test(wrong_data), cmocka_unit_test(refused_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

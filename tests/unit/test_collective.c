#include "cb_test.h"

#include "model/collective.h"

/* nccl-tests doc/PERFORMANCE.md: 2(n-1)/n, (n-1)/n, 1. */
static void test_bus_factors(void **state)
{
    (void)state;
    assert_near(cb_op_bus_factor(CB_OP_ALL_REDUCE, 2), 1.0, 0);
    assert_near(cb_op_bus_factor(CB_OP_ALL_REDUCE, 8), 1.75, 0);
    assert_near(cb_op_bus_factor(CB_OP_ALL_GATHER, 8), 0.875, 0);
    assert_near(cb_op_bus_factor(CB_OP_REDUCE_SCATTER, 4), 0.75, 0);
    assert_near(cb_op_bus_factor(CB_OP_ALL_TO_ALL, 2), 0.5, 0);
    assert_near(cb_op_bus_factor(CB_OP_BROADCAST, 8), 1.0, 0);
    assert_near(cb_op_bus_factor(CB_OP_SEND_RECV, 8), 1.0, 0);
    for (int op = 0; op < CB_OP_COUNT; op++)
        assert_near(cb_op_bus_factor((enum cb_op)op, 1), 0, 0);
}

/* An all_reduce is a reduce_scatter and an all_gather one after the other: their traffic adds up.
 */
static void test_all_reduce_is_reduce_scatter_plus_all_gather(void **state)
{
    (void)state;
    for (int ranks = 2; ranks < 40; ranks++)
        assert_near(cb_op_bus_factor(CB_OP_ALL_REDUCE, ranks),
                    cb_op_bus_factor(CB_OP_ALL_GATHER, ranks) +
                        cb_op_bus_factor(CB_OP_REDUCE_SCATTER, ranks),
                    1e-15);
}

static void test_usable_bytes_are_whole_elements_for_every_rank(void **state)
{
    (void)state;
    assert_int_equal(cb_op_usable_bytes(CB_OP_ALL_REDUCE, CB_DTYPE_FLOAT32, 3, 1027), 1024);
    assert_int_equal(cb_op_usable_bytes(CB_OP_ALL_GATHER, CB_DTYPE_FLOAT32, 3, 1024), 1020);
    assert_int_equal(cb_op_usable_bytes(CB_OP_ALL_TO_ALL, CB_DTYPE_FLOAT64, 3, 1024), 1008);
    assert_int_equal(cb_op_usable_bytes(CB_OP_REDUCE_SCATTER, CB_DTYPE_FLOAT16, 4, 7), 0);
    assert_int_equal(cb_op_usable_bytes(CB_OP_SEND_RECV, CB_DTYPE_FLOAT16, 4, 7), 6);
}

static void test_names_round_trip(void **state)
{
    (void)state;
    for (int i = 0; i < CB_OP_COUNT; i++)
        assert_int_equal(cb_op_parse(cb_op_name((enum cb_op)i)), i);
    for (int i = 0; i < CB_DTYPE_COUNT; i++)
        assert_int_equal(cb_dtype_parse(cb_dtype_name((enum cb_dtype)i)), i);
    for (int i = 0; i < CB_REDOP_COUNT; i++)
        assert_int_equal(cb_redop_parse(cb_redop_name((enum cb_redop)i)), i);
    for (int i = 0; i < CB_SCOPE_COUNT; i++)
        assert_int_equal(cb_scope_parse(cb_scope_name((enum cb_scope)i)), i);
    assert_int_equal(cb_op_parse("allreduce"), -1);
}

/* 377 GB/s of bus bandwidth on four nodes of eight GPUs are 36.5 GB/s on each of a node's eight
 * interfaces; 469 on two such nodes stay below eight 50 GB/s ones. Published: ml-engineering,
 * network; nccl-tests, issue 309. */
static void test_wire_share(void **state)
{
    (void)state;
    assert_near(377e9 * cb_op_least_wire_share(CB_OP_ALL_REDUCE, 32, 4) / 8, 36.5e9, 0.002);
    assert_true(469e9 * cb_op_least_wire_share(CB_OP_ALL_REDUCE, 16, 2) < 400e9);
    assert_near(cb_op_least_wire_share(CB_OP_ALL_GATHER, 2, 2), 1, 1e-12);
    assert_near(cb_op_least_wire_share(CB_OP_REDUCE_SCATTER, 16, 16), 1, 1e-12);
    assert_near(cb_op_least_wire_share(CB_OP_SEND_RECV, 16, 2), 1, 0);
    assert_near(cb_op_least_wire_share(CB_OP_ALL_REDUCE, 8, 1), 0, 0);
    assert_true(cb_op_least_wire_share(CB_OP_ALL_TO_ALL, 16, 2) < 0);
    for (int nodes = 2; nodes < 64; nodes *= 2)
        assert_true(cb_op_least_wire_share(CB_OP_ALL_REDUCE, 8 * nodes, nodes) <
                    cb_op_least_wire_share(CB_OP_ALL_REDUCE, 16 * nodes, 2 * nodes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bus_factors),
        cmocka_unit_test(test_wire_share),
        cmocka_unit_test(test_all_reduce_is_reduce_scatter_plus_all_gather),
        cmocka_unit_test(test_usable_bytes_are_whole_elements_for_every_rank),
        cmocka_unit_test(test_names_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

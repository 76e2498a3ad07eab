/* The plan: which links meet in which round, which sizes are measured, what is skipped and why. */
#include <string.h>

#include "measure/plan.h"

#include "cb_test.h"

enum { MOST_NODES = 50 };

/* Two nodes with four ranks each, one op, one type: enough that every scope has a group. */
static struct cb_plan_request small_request(void)
{
    struct cb_plan_request request = {
        .placement = CB_PLACEMENT_OUT,
        .min_bytes = 64,
        .max_bytes = 1024,
        .step_factor = 4,
        .ranks = 8,
        .nodes = 2,
        .smallest_node = 4,
        .largest_node = 4,
    };
    request.ops[CB_OP_ALL_REDUCE] = true;
    request.dtypes[CB_DTYPE_FLOAT32] = true;
    request.redops[CB_REDOP_SUM] = true;
    request.scopes[CB_SCOPE_WORLD] = true;
    return request;
}

static void build(const struct cb_plan_request *request, struct cb_plan *plan)
{
    struct cb_error err;
    assert_ok(cb_plan_build(request, plan, &err), &err);
}

/* The plan's items are collectives of these sizes, in this order, all of them measured. */
static void assert_sizes(const struct cb_plan *plan, const uint64_t *size_bytes, size_t count)
{
    assert_int_equal(plan->items.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(plan->items.items[i].kind, CB_ITEM_COLLECTIVE);
        assert_null(plan->items.items[i].skip);
        assert_int_equal(plan->items.items[i].step.size_bytes, size_bytes[i]);
    }
}

/* ---- links ---- */

static void rounds_are_as_few_as_can_be(void **state)
{
    (void)state;
    /* A cycle's edges can be coloured with two colours when it is even and three when it is odd. */
    assert_int_equal(cb_plan_link_rounds(0), 0);
    assert_int_equal(cb_plan_link_rounds(1), 0);
    assert_int_equal(cb_plan_link_rounds(2), 1);
    for (int nodes = 3; nodes <= MOST_NODES; nodes++)
        assert_int_equal(cb_plan_link_rounds(nodes), nodes % 2 ? 3 : 2);
}

static void every_edge_of_the_ring_is_met_once(void **state)
{
    (void)state;
    for (int nodes = 1; nodes <= MOST_NODES; nodes++) {
        int met[MOST_NODES] = {0}; /* the edge from node i to the next one */
        for (int round = 0; round < cb_plan_link_rounds(nodes); round++)
            for (int node = 0; node < nodes; node++) {
                bool first = false;
                int partner = cb_plan_link_partner(nodes, round, node, &first);
                if (partner < 0 || !first)
                    continue;
                assert_int_equal(partner, (node + 1) % nodes);
                met[node]++;
            }
        int edges = nodes == 2 ? 1 : nodes == 1 ? 0 : nodes;
        for (int edge = 0; edge < nodes; edge++)
            assert_int_equal(met[edge], edge < edges);
    }
}

/* Since each node has one partner at most, agreeing partners mean that no node is in two pairs. */
static void partners_agree_with_each_other(void **state)
{
    (void)state;
    for (int nodes = 2; nodes <= MOST_NODES; nodes++)
        for (int round = 0; round < cb_plan_link_rounds(nodes); round++) {
            int pairs = 0;
            for (int node = 0; node < nodes; node++) {
                bool first = false, partner_first = false;
                int partner = cb_plan_link_partner(nodes, round, node, &first);
                if (partner < 0)
                    continue;
                assert_in_range(partner, 0, nodes - 1);
                assert_int_not_equal(partner, node);
                assert_int_equal(cb_plan_link_partner(nodes, round, partner, &partner_first), node);
                assert_int_not_equal(first, partner_first);
                pairs += first;
            }
            assert_true(pairs > 0);
        }
}

static void no_round_beyond_the_last(void **state)
{
    (void)state;
    for (int nodes = 1; nodes <= MOST_NODES; nodes++)
        for (int node = 0; node < nodes; node++) {
            bool first;
            assert_int_equal(cb_plan_link_partner(nodes, cb_plan_link_rounds(nodes), node, &first),
                             -1);
        }
}

static void each_round_is_one_item(void **state)
{
    (void)state;
    struct cb_plan_request request = small_request();
    request.links = true;
    request.scopes[CB_SCOPE_WORLD] = false;
    for (int nodes = 1; nodes <= 5; nodes++) {
        request.nodes = nodes;
        struct cb_plan plan;
        build(&request, &plan);
        assert_int_equal(plan.items.count, cb_plan_link_rounds(nodes));
        for (size_t i = 0; i < plan.items.count; i++) {
            assert_int_equal(plan.items.items[i].kind, CB_ITEM_LINK);
            assert_int_equal(plan.items.items[i].round, i);
            assert_int_equal(plan.items.items[i].step.motion, CB_MOTION_ONE_WAY);
            assert_true(plan.items.items[i].step.size_bytes >= 1u << 20);
        }
        cb_plan_fini(&plan);
    }
}

/* ---- sizes ---- */

static void sizes_are_those_asked_for(void **state)
{
    (void)state;
    struct cb_plan_request request = small_request();
    struct cb_plan plan;
    build(&request, &plan);
    assert_sizes(&plan, (const uint64_t[]){64, 256, 1024}, 3);
    assert_int_equal(cb_plan_max_bytes(&plan), 1024);
    cb_plan_fini(&plan);

    request.max_bytes = 1023; /* the last one is not reached */
    build(&request, &plan);
    assert_sizes(&plan, (const uint64_t[]){64, 256}, 2);
    cb_plan_fini(&plan);

    request.max_bytes = request.min_bytes;
    build(&request, &plan);
    assert_sizes(&plan, (const uint64_t[]){64}, 1);
    cb_plan_fini(&plan);
}

/* By hand: three ranks share doubles in units of 24 bytes. 1 and 7 hold none; 49 -> 2, 343 -> 14,
 * 2401 -> 100, 16807 -> 700 units. */
static void sizes_round_down_to_what_ranks_can_share(void **state)
{
    (void)state;
    struct cb_plan_request request = small_request();
    request.ops[CB_OP_ALL_REDUCE] = false;
    request.ops[CB_OP_ALL_GATHER] = true;
    request.dtypes[CB_DTYPE_FLOAT32] = false;
    request.dtypes[CB_DTYPE_FLOAT64] = true;
    request.ranks = 3;
    request.nodes = 1;
    request.min_bytes = 1;
    request.max_bytes = 65536;
    request.step_factor = 7;
    struct cb_plan plan;
    build(&request, &plan);
    assert_sizes(&plan, (const uint64_t[]){48, 336, 2400, 16800}, 4);
    cb_plan_fini(&plan);
}

/* By hand: seven ranks share float32 in units of 28 bytes. 5, 10 and 20 hold none, 40 one, 80 two.
 */
static void sizes_below_one_unit_are_left_out(void **state)
{
    (void)state;
    struct cb_plan_request request = small_request();
    request.ops[CB_OP_ALL_REDUCE] = false;
    request.ops[CB_OP_ALL_TO_ALL] = true;
    request.ranks = 7;
    request.nodes = 1;
    request.min_bytes = 5;
    request.max_bytes = 80;
    request.step_factor = 2;
    struct cb_plan plan;
    build(&request, &plan);
    assert_sizes(&plan, (const uint64_t[]){28, 56}, 2);
    cb_plan_fini(&plan);
}

/* One sweep of the plan: from *index to where the op, type, redop, placement or scope changes. */
static void check_sweep(const struct cb_plan_request *request, const struct cb_plan *plan,
                        size_t *index)
{
    const struct cb_item *head = &plan->items.items[*index];
    uint64_t last_bytes = 0;
    for (; *index < plan->items.count; (*index)++) {
        const struct cb_item *item = &plan->items.items[*index];
        if (item->scope != head->scope || item->step.op != head->step.op ||
            item->step.dtype != head->step.dtype || item->step.redop != head->step.redop ||
            item->step.in_place != head->step.in_place)
            break;
        assert_null(item->skip);
        uint64_t size_bytes = item->step.size_bytes;
        assert_true(size_bytes > last_bytes);
        assert_true(size_bytes <= request->max_bytes);
        assert_int_equal(
            cb_op_usable_bytes(item->step.op, item->step.dtype, item->group_size, size_bytes),
            size_bytes);
        last_bytes = size_bytes;
    }
    assert_true(last_bytes > 0);
}

static void every_sweep_is_ascending_and_usable(void **state)
{
    (void)state;
    struct cb_plan_request request = small_request();
    for (int i = 0; i < CB_OP_COUNT; i++)
        request.ops[i] = true;
    for (int i = 0; i < CB_DTYPE_COUNT; i++)
        request.dtypes[i] = true;
    for (int i = 0; i < CB_REDOP_COUNT; i++)
        request.redops[i] = true;
    for (int i = 0; i < CB_SCOPE_COUNT; i++)
        request.scopes[i] = true;
    request.placement = CB_PLACEMENT_BOTH;
    request.min_bytes = 3;
    request.max_bytes = 1u << 20;
    request.step_factor = 3;
    for (int local = 2; local <= 5; local++) {
        request.nodes = 3;
        request.smallest_node = request.largest_node = local;
        request.ranks = request.nodes * local;
        struct cb_plan plan;
        build(&request, &plan);
        size_t sweeps = 0;
        for (size_t i = 0; i < plan.items.count; sweeps++)
            check_sweep(&request, &plan, &i);
        /* Two ops of six reduce. Scopes x types x placements x (two redops each, or one). */
        assert_int_equal(sweeps, CB_SCOPE_COUNT * CB_DTYPE_COUNT * 2 * (2 * 2 + 4));
        cb_plan_fini(&plan);
    }
}

/* A factor that would carry the size past 2^64 must end the sweep, not wrap around and start again.
 */
static void sizes_end_near_the_largest_number(void **state)
{
    (void)state;
    struct cb_plan_request request = small_request();
    request.ops[CB_OP_ALL_REDUCE] = false;
    request.ops[CB_OP_SEND_RECV] = true;
    request.min_bytes = 4;
    request.max_bytes = UINT64_MAX;
    request.step_factor = 1024;
    struct cb_plan plan;
    build(&request, &plan); /* 2^2, 2^12, ... 2^62 */
    assert_int_equal(plan.items.count, 7);
    assert_int_equal(plan.items.items[6].step.size_bytes, 1ull << 62);
    cb_plan_fini(&plan);

    request.step_factor = 2;
    build(&request, &plan); /* 2^2 ... 2^63 */
    assert_int_equal(plan.items.count, 62);
    cb_plan_fini(&plan);

    request.min_bytes = UINT64_MAX - 10;
    build(&request, &plan);
    assert_sizes(&plan, (const uint64_t[]){UINT64_MAX - 11}, 1); /* whole float32s */
    cb_plan_fini(&plan);

    request.min_bytes = 1ull << 63; /* twice this is 0 in 64 bits */
    build(&request, &plan);
    assert_sizes(&plan, (const uint64_t[]){1ull << 63}, 1);
    cb_plan_fini(&plan);
}

/* ---- placement, types, reductions ---- */

static void placements_come_out_of_place_first(void **state)
{
    (void)state;
    struct cb_plan_request request = small_request();
    request.min_bytes = request.max_bytes;
    static const struct {
        enum cb_placement placement;
        size_t count;
        bool in_place[2];
    } rows[] = {{CB_PLACEMENT_OUT, 1, {false}},
                {CB_PLACEMENT_IN, 1, {true}},
                {CB_PLACEMENT_BOTH, 2, {false, true}}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        request.placement = rows[row].placement;
        struct cb_plan plan;
        build(&request, &plan);
        assert_int_equal(plan.items.count, rows[row].count);
        for (size_t i = 0; i < plan.items.count; i++)
            assert_int_equal(plan.items.items[i].step.in_place, rows[row].in_place[i]);
        cb_plan_fini(&plan);
    }
}

static void what_does_not_reduce_has_no_reductions(void **state)
{
    (void)state;
    struct cb_plan_request request = small_request();
    request.min_bytes = request.max_bytes;
    request.redops[CB_REDOP_MAX] = true;
    for (int op = 0; op < CB_OP_COUNT; op++) {
        memset(request.ops, 0, sizeof(request.ops));
        request.ops[op] = true;
        struct cb_plan plan;
        build(&request, &plan);
        bool reduces = op == CB_OP_ALL_REDUCE || op == CB_OP_REDUCE_SCATTER;
        assert_int_equal(plan.items.count, reduces ? 2 : 1);
        cb_plan_fini(&plan);
    }
    /* One that does not reduce is there even when only max was asked for. */
    memset(request.ops, 0, sizeof(request.ops));
    request.ops[CB_OP_BROADCAST] = true;
    request.redops[CB_REDOP_SUM] = false;
    struct cb_plan plan;
    build(&request, &plan);
    assert_int_equal(plan.items.count, 1);
    cb_plan_fini(&plan);
}

/* ---- scopes ---- */

static void scopes_come_world_first(void **state)
{
    (void)state;
    struct cb_plan_request request = small_request();
    for (int i = 0; i < CB_SCOPE_COUNT; i++)
        request.scopes[i] = true;
    request.ops[CB_OP_BROADCAST] = true;
    request.min_bytes = request.max_bytes;
    request.links = request.kernels = true;
    struct cb_plan plan;
    build(&request, &plan);
    static const struct {
        enum cb_scope scope;
        enum cb_op op;
        int group_size;
    } expected[] = {
        {CB_SCOPE_WORLD, CB_OP_ALL_REDUCE, 8},      {CB_SCOPE_WORLD, CB_OP_BROADCAST, 8},
        {CB_SCOPE_INTRA_NODE, CB_OP_ALL_REDUCE, 4}, {CB_SCOPE_INTRA_NODE, CB_OP_BROADCAST, 4},
        {CB_SCOPE_INTER_NODE, CB_OP_ALL_REDUCE, 2}, {CB_SCOPE_INTER_NODE, CB_OP_BROADCAST, 2},
    };
    size_t i = 0;
    assert_int_equal(plan.items.items[i].kind, CB_ITEM_LINK); /* links before all else */
    while (plan.items.items[i].kind == CB_ITEM_LINK)
        i++;
    size_t kernels = 0;
    for (; plan.items.items[i].kind == CB_ITEM_KERNEL; i++)
        kernels++;
    assert_int_equal(kernels, 6); /* GEMM in two types, read, write, copy, triad */
    assert_int_equal(plan.items.count - i, sizeof(expected) / sizeof(expected[0]));
    for (size_t k = 0; k < sizeof(expected) / sizeof(expected[0]); k++) {
        const struct cb_item *item = &plan.items.items[i + k];
        assert_int_equal(item->kind, CB_ITEM_COLLECTIVE);
        assert_null(item->skip);
        assert_int_equal(item->scope, expected[k].scope);
        assert_int_equal(item->step.op, expected[k].op);
        assert_int_equal(item->group_size, expected[k].group_size);
    }
    cb_plan_fini(&plan);
}

/* All scopes of one op over a job of that shape: NULL for a scope that is measured or absent. */
static void collect_skips(int ranks, int nodes, int smallest, int largest,
                          const char *skips[CB_SCOPE_COUNT], size_t items[CB_SCOPE_COUNT])
{
    struct cb_plan_request request = small_request();
    for (int i = 0; i < CB_SCOPE_COUNT; i++) {
        request.scopes[i] = true;
        skips[i] = NULL;
        items[i] = 0;
    }
    request.ranks = ranks;
    request.nodes = nodes;
    request.smallest_node = smallest;
    request.largest_node = largest;
    request.placement = CB_PLACEMENT_BOTH;
    struct cb_plan plan;
    build(&request, &plan);
    for (size_t i = 0; i < plan.items.count; i++) {
        items[plan.items.items[i].scope]++;
        skips[plan.items.items[i].scope] = plan.items.items[i].skip;
        if (plan.items.items[i].skip)
            assert_int_equal(plan.items.items[i].step.size_bytes, 0); /* the op as a whole */
    }
    cb_plan_fini(&plan);
}

static void scopes_without_a_group_are_skipped_with_a_reason(void **state)
{
    (void)state;
    const char *skips[CB_SCOPE_COUNT];
    size_t items[CB_SCOPE_COUNT];

    collect_skips(1, 1, 1, 1, skips, items);
    assert_non_null(strstr(skips[CB_SCOPE_WORLD], "one rank"));
    assert_int_equal(items[CB_SCOPE_WORLD], 1);
    assert_int_equal(items[CB_SCOPE_INTRA_NODE] + items[CB_SCOPE_INTER_NODE], 0);

    collect_skips(4, 1, 4, 4, skips, items); /* one node: the world is its inside */
    assert_null(skips[CB_SCOPE_WORLD]);
    assert_int_equal(items[CB_SCOPE_WORLD], 6);
    assert_int_equal(items[CB_SCOPE_INTRA_NODE] + items[CB_SCOPE_INTER_NODE], 0);

    collect_skips(3, 3, 1, 1, skips, items); /* one rank per node: the world is between nodes */
    assert_null(skips[CB_SCOPE_WORLD]);
    assert_non_null(strstr(skips[CB_SCOPE_INTRA_NODE], "one rank per node"));
    assert_non_null(strstr(skips[CB_SCOPE_INTER_NODE], "one rank per node"));
    assert_int_equal(items[CB_SCOPE_INTRA_NODE], 1);
    assert_int_equal(items[CB_SCOPE_INTER_NODE], 1);

    collect_skips(5, 2, 2, 3, skips, items); /* uneven nodes: groups of different sizes */
    assert_null(skips[CB_SCOPE_WORLD]);
    assert_non_null(strstr(skips[CB_SCOPE_INTRA_NODE], "different numbers"));
    assert_null(skips[CB_SCOPE_INTER_NODE]);

    collect_skips(6, 2, 3, 3, skips, items);
    for (int scope = 0; scope < CB_SCOPE_COUNT; scope++) {
        assert_null(skips[scope]);
        assert_int_equal(items[scope], 6);
    }
}

/* A sweep without a size that the ranks can share must not vanish without a word. */
static void an_op_without_a_usable_size_is_skipped_with_a_reason(void **state)
{
    (void)state;
    struct cb_plan_request request = small_request();
    request.ops[CB_OP_ALL_GATHER] = true;
    request.placement = CB_PLACEMENT_BOTH;
    request.ranks = request.smallest_node = request.largest_node = 64;
    request.nodes = 1;
    request.min_bytes = 8;
    request.max_bytes = 128; /* 64 ranks share float32 in units of 256 bytes */
    struct cb_plan plan;
    build(&request, &plan);
    size_t reduces = 0, gathers = 0;
    for (size_t i = 0; i < plan.items.count; i++) {
        const struct cb_item *item = &plan.items.items[i];
        if (item->step.op == CB_OP_ALL_REDUCE) {
            assert_null(item->skip);
            reduces++;
            continue;
        }
        assert_int_equal(item->step.op, CB_OP_ALL_GATHER);
        assert_non_null(item->skip);
        assert_int_equal(item->step.size_bytes, 0);
        gathers++;
    }
    assert_int_equal(reduces, 2 * 3); /* 8, 32 and 128 bytes */
    assert_int_equal(gathers, 2);     /* one for each placement */
    cb_plan_fini(&plan);
}

/* By hand: seven ranks' 1024 bytes are 36 units of 28 for all_to_all, 1008 bytes; they come last.
 */
static void the_largest_message_need_not_be_the_last(void **state)
{
    (void)state;
    struct cb_plan_request request = small_request();
    request.ops[CB_OP_ALL_TO_ALL] = true;
    request.ranks = 7;
    request.nodes = 1;
    struct cb_plan plan;
    build(&request, &plan);
    assert_int_equal(plan.items.items[plan.items.count - 1].step.size_bytes, 1008);
    assert_int_equal(cb_plan_max_bytes(&plan), 1024);
    cb_plan_fini(&plan);
}

static void nothing_asked_for_is_an_empty_plan(void **state)
{
    (void)state;
    struct cb_plan_request request = {
        .min_bytes = 8, .max_bytes = 8, .step_factor = 2, .ranks = 2, .nodes = 1};
    struct cb_plan plan;
    build(&request, &plan);
    assert_int_equal(plan.items.count, 0);
    assert_int_equal(cb_plan_max_bytes(&plan), 0);
    cb_plan_fini(&plan);
    cb_plan_fini(&plan); /* an empty one may be freed again */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_are_as_few_as_can_be),
        cmocka_unit_test(every_edge_of_the_ring_is_met_once),
        cmocka_unit_test(partners_agree_with_each_other),
        cmocka_unit_test(no_round_beyond_the_last),
        cmocka_unit_test(each_round_is_one_item),
        cmocka_unit_test(sizes_are_those_asked_for),
        cmocka_unit_test(sizes_round_down_to_what_ranks_can_share),
        cmocka_unit_test(sizes_below_one_unit_are_left_out),
        cmocka_unit_test(every_sweep_is_ascending_and_usable),
        cmocka_unit_test(sizes_end_near_the_largest_number),
        cmocka_unit_test(placements_come_out_of_place_first),
        cmocka_unit_test(what_does_not_reduce_has_no_reductions),
        cmocka_unit_test(scopes_come_world_first),
        cmocka_unit_test(scopes_without_a_group_are_skipped_with_a_reason),
        cmocka_unit_test(an_op_without_a_usable_size_is_skipped_with_a_reason),
        cmocka_unit_test(the_largest_message_need_not_be_the_last),
        cmocka_unit_test(nothing_asked_for_is_an_empty_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

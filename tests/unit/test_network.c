#include "cb_test.h"

#include <stdio.h>
#include <string.h>

#include "judge/estimate.h"
#include "judge/fits.h"

#define KIB 1024.0
#define MIB (1024 * KIB)
#define COUNT(items) (sizeof(items) / sizeof((items)[0]))

/* A curve whose every figure can be done by hand: latency + factor x size / bandwidth. */
struct line {
    enum cb_op op;
    enum cb_scope scope;
    int ranks;
    double latency_s, bus_bytes_per_s;
};

static struct cb_collective_row *add_row(struct cb_result *result, const struct line *line,
                                         double size_bytes)
{
    struct cb_collective_row *row = cb_vec_add(&result->collectives);
    assert_non_null(row);
    double moved_bytes = cb_op_bus_factor(line->op, line->ranks) * size_bytes;
    double time_s = line->latency_s + moved_bytes / line->bus_bytes_per_s;
    *row = (struct cb_collective_row){.op = line->op,
                                      .scope = line->scope,
                                      .dtype = CB_DTYPE_FLOAT32,
                                      .ranks = line->ranks,
                                      .size_bytes = (uint64_t)size_bytes,
                                      .samples = 10,
                                      .bus_bytes_per_s = moved_bytes / time_s,
                                      .time = {.median_s = time_s,
                                               .p10_s = 0.9 * time_s,
                                               .p90_s = 1.2 * time_s,
                                               .min_s = 0.8 * time_s,
                                               .max_s = 2 * time_s,
                                               .ci95_relative = 0.01}};
    return row;
}

/* Sizes 1 KiB, 4 KiB ... 64 MiB. */
static void add_line(struct cb_result *result, const struct line *line)
{
    for (double size_bytes = KIB; size_bytes <= 64 * MIB; size_bytes *= 4)
        add_row(result, line, size_bytes);
}

static void start(struct cb_result *result, const char *transport, int nodes, int per_node)
{
    cb_result_init(result);
    snprintf(result->transport, sizeof(result->transport), "%s", transport);
    result->rank_count = nodes * per_node;
    for (int i = 0; i < nodes; i++)
        assert_non_null(cb_vec_add(&result->nodes));
}

/* Four nodes of eight, everything measured. */
static const struct line four_by_eight[] = {
    {CB_OP_ALL_REDUCE, CB_SCOPE_WORLD, 32, 200e-6, 300e9},
    {CB_OP_ALL_REDUCE, CB_SCOPE_INTRA_NODE, 8, 50e-6, 400e9},
    {CB_OP_ALL_REDUCE, CB_SCOPE_INTER_NODE, 4, 100e-6, 40e9},
    {CB_OP_ALL_GATHER, CB_SCOPE_WORLD, 32, 140e-6, 290e9},
    {CB_OP_ALL_GATHER, CB_SCOPE_INTRA_NODE, 8, 35e-6, 350e9},
};

static void make(struct cb_result *result, struct cb_measured_network *network,
                 const char *transport, int nodes, int per_node, const struct line *lines,
                 size_t count)
{
    struct cb_error err;
    start(result, transport, nodes, per_node);
    for (size_t i = 0; i < count; i++)
        add_line(result, &lines[i]);
    assert_ok(cb_measured_network_init(network, result, &err), &err);
}

static void drop(struct cb_result *result, struct cb_measured_network *network)
{
    cb_measured_network_fini(network);
    cb_result_fini(result);
}

static struct cb_network_estimate ask(const struct cb_measured_network *network, enum cb_op op,
                                      double size_bytes, int ranks, int nodes)
{
    const struct cb_group_shape group = {ranks, nodes};
    return cb_measured_network_estimate(network, op, size_bytes, &group, CB_PACE_MEDIAN);
}

static double ask_pace_s(const struct cb_measured_network *network, enum cb_op op,
                         double size_bytes, int ranks, int nodes, enum cb_pace pace)
{
    const struct cb_group_shape group = {ranks, nodes};
    return cb_measured_network_estimate(network, op, size_bytes, &group, pace).time_s;
}

#define WHOLE(size_bytes) (2.0 * 31 / 32 * (size_bytes) / 300e9)

static void reads_what_was_measured(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_measured_network network;
    make(&result, &network, "nccl", 4, 8, four_by_eight, COUNT(four_by_eight));
    struct cb_network_estimate e = ask(&network, CB_OP_ALL_REDUCE, 16 * MIB, 32, 4);
    assert_near(e.time_s, 200e-6 + WHOLE(16 * MIB), 1e-9);
    assert_int_equal(e.source, CB_FROM_MEASURED);
    assert_int_equal(e.confidence, CB_CONFIDENCE_MEASURED);
    /* Between two sizes the logarithm of the time is halfway at the geometric mean. */
    double low_s = 200e-6 + WHOLE(16 * MIB), high_s = 200e-6 + WHOLE(64 * MIB);
    e = ask(&network, CB_OP_ALL_REDUCE, 32 * MIB, 32, 4);
    assert_near(e.time_s, sqrt(low_s * high_s), 1e-9);
    assert_int_equal(e.source, CB_FROM_MEASURED);
    assert_int_equal(e.confidence, CB_CONFIDENCE_INTERPOLATED);
    /* The other scopes. */
    e = ask(&network, CB_OP_ALL_REDUCE, 4 * MIB, 8, 1);
    assert_near(e.time_s, 50e-6 + 1.75 * 4 * MIB / 400e9, 1e-9);
    assert_int_equal(e.source, CB_FROM_MEASURED);
    e = ask(&network, CB_OP_ALL_REDUCE, 4 * MIB, 4, 4);
    assert_near(e.time_s, 100e-6 + 1.5 * 4 * MIB / 40e9, 1e-9);
    assert_int_equal(e.source, CB_FROM_MEASURED);
    drop(&result, &network);
}

static void follows_the_pace(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_measured_network network;
    make(&result, &network, "nccl", 4, 8, four_by_eight, COUNT(four_by_eight));
    double median_s = ask_pace_s(&network, CB_OP_ALL_REDUCE, 4 * MIB, 32, 4, CB_PACE_MEDIAN);
    assert_near(ask_pace_s(&network, CB_OP_ALL_REDUCE, 4 * MIB, 32, 4, CB_PACE_FAST),
                0.9 * median_s, 1e-9);
    assert_near(ask_pace_s(&network, CB_OP_ALL_REDUCE, 4 * MIB, 32, 4, CB_PACE_SLOW),
                1.2 * median_s, 1e-9);
    /* Four times as many nodes: 15 % further apart on each side. */
    median_s = ask_pace_s(&network, CB_OP_ALL_REDUCE, 4 * MIB, 128, 16, CB_PACE_MEDIAN);
    assert_near(ask_pace_s(&network, CB_OP_ALL_REDUCE, 4 * MIB, 128, 16, CB_PACE_SLOW),
                1.2 * 1.15 * median_s, 1e-9);
    assert_near(ask_pace_s(&network, CB_OP_ALL_REDUCE, 4 * MIB, 128, 16, CB_PACE_FAST),
                0.9 / 1.15 * median_s, 1e-9);
    drop(&result, &network);
}

static void goes_beyond_the_sizes_by_the_fit(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_measured_network network;
    make(&result, &network, "nccl", 4, 8, four_by_eight, COUNT(four_by_eight));
    struct cb_network_estimate e = ask(&network, CB_OP_ALL_REDUCE, 256 * MIB, 32, 4);
    assert_near(e.time_s, 200e-6 + WHOLE(256 * MIB), 1e-6);
    assert_int_equal(e.source, CB_FROM_EXTRAPOLATED);
    assert_int_equal(e.confidence, CB_CONFIDENCE_WITHIN_4X);
    e = ask(&network, CB_OP_ALL_REDUCE, 1024 * MIB, 32, 4);
    assert_near(e.time_s, 200e-6 + WHOLE(1024 * MIB), 1e-6);
    assert_int_equal(e.confidence, CB_CONFIDENCE_BEYOND);
    e = ask(&network, CB_OP_ALL_REDUCE, 512, 32, 4);
    assert_near(e.time_s, 200e-6 + WHOLE(512), 1e-6);
    assert_int_equal(e.source, CB_FROM_EXTRAPOLATED);
    drop(&result, &network);
}

/* A curve that no line fits is not extrapolated by one: above, the largest size's bandwidth. */
static void goes_beyond_the_sizes_of_no_fit_by_the_bandwidth(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_measured_network network;
    struct cb_error err;
    const struct line line = {CB_OP_ALL_REDUCE, CB_SCOPE_WORLD, 2, 0, 1e9};
    start(&result, "mpi", 2, 1);
    const double slower[] = {1, 2, 1, 3};
    for (size_t i = 0; i < COUNT(slower); i++) {
        struct line bent = line;
        bent.bus_bytes_per_s /= slower[i];
        add_row(&result, &bent, MIB * (double)(1u << i));
    }
    assert_ok(cb_measured_network_init(&network, &result, &err), &err);
    assert_int_equal(network.runs[0].curves[CB_OP_ALL_REDUCE][CB_SCOPE_WORLD].regime_count, 1);
    assert_false(network.runs[0].curves[CB_OP_ALL_REDUCE][CB_SCOPE_WORLD].regimes[0].accepted);
    assert_near(ask(&network, CB_OP_ALL_REDUCE, 80 * MIB, 2, 2).time_s, 3 * 80 * MIB / 1e9, 1e-9);
    /* Below, no smaller message takes longer. */
    assert_near(ask(&network, CB_OP_ALL_REDUCE, MIB / 2, 2, 2).time_s, MIB / 1e9, 1e-9);
    drop(&result, &network);
}

static void grows_by_the_two_laws(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_measured_network network;
    make(&result, &network, "nccl", 4, 8, four_by_eight, COUNT(four_by_eight));
    /* The tree: (53 + 80 x 6) / (53 + 80 x 2) of the latency; the bandwidth loses 6/7 % a doubling.
     */
    double share = 1 - 0.06 * 4 / 7;
    double factor = 2.0 * 511 / 512;
    struct cb_network_estimate e = ask(&network, CB_OP_ALL_REDUCE, 64 * MIB, 512, 64);
    assert_near(e.time_s, 200e-6 * 533 / 213 + factor * 64 * MIB / (300e9 * share), 1e-6);
    assert_int_equal(e.source, CB_FROM_EXTRAPOLATED);
    assert_int_equal(e.confidence, CB_CONFIDENCE_BEYOND);
    /* The ring: 511 steps instead of 31. */
    factor = 511.0 / 512;
    e = ask(&network, CB_OP_ALL_GATHER, 64 * MIB, 512, 64);
    assert_near(e.time_s, 140e-6 * 511 / 31 + factor * 64 * MIB / (290e9 * share), 1e-6);
    /* Twice the nodes are within four times, and so are half of them. */
    assert_int_equal(ask(&network, CB_OP_ALL_REDUCE, 64 * MIB, 64, 8).confidence,
                     CB_CONFIDENCE_WITHIN_4X);
    assert_int_equal(ask(&network, CB_OP_ALL_REDUCE, 64 * MIB, 16, 2).confidence,
                     CB_CONFIDENCE_WITHIN_4X);
    drop(&result, &network);
}

static void never_shrinks_as_the_group_or_the_size_grows(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_measured_network network;
    make(&result, &network, "nccl", 4, 8, four_by_eight, COUNT(four_by_eight));
    for (int op = 0; op < CB_OP_COUNT; op++)
        for (double size_bytes = 64; size_bytes <= 1e12; size_bytes *= 3) {
            double before_s = 0;
            for (int nodes = 4; nodes <= 16384; nodes *= 2) {
                double time_s = ask(&network, (enum cb_op)op, size_bytes, 8 * nodes, nodes).time_s;
                assert_true(isfinite(time_s) && time_s >= before_s && time_s > 0);
                assert_true(
                    ask(&network, (enum cb_op)op, 3 * size_bytes, 8 * nodes, nodes).time_s >=
                    time_s * (1 - 1e-9));
                before_s = time_s;
            }
        }
    drop(&result, &network);
}

/* ---- two nodes ---- */

static void takes_back_what_a_tree_of_two_nodes_gained(void **state)
{
    (void)state;
    static const struct line lines[] = {
        {CB_OP_ALL_REDUCE, CB_SCOPE_WORLD, 16, 0, 480e9},
        {CB_OP_ALL_GATHER, CB_SCOPE_WORLD, 16, 0, 360e9},
    };
    struct cb_result result;
    struct cb_measured_network network;
    double share = 1 - 0.06 * 2 / 7, factor = 2.0 * 63 / 64, size_bytes = 64 * MIB;
    /* A gather shows what rings get there: 360 GB/s. */
    make(&result, &network, "nccl", 2, 8, lines, 2);
    assert_near(ask(&network, CB_OP_ALL_REDUCE, size_bytes, 64, 8).time_s,
                factor * size_bytes / (360e9 * share), 0.01);
    drop(&result, &network);
    /* Or the links are known, which no ring outruns. */
    make(&result, &network, "nccl", 2, 8, lines, 1);
    assert_near(network.runs[0].link_bytes_per_s, 0, 0);
    network.runs[0].link_bytes_per_s = 400e9;
    assert_near(ask(&network, CB_OP_ALL_REDUCE, size_bytes, 64, 8).time_s,
                factor * size_bytes / (400e9 * share), 0.01);
    /* Nor does a gather that is made of it. */
    assert_near(ask(&network, CB_OP_ALL_GATHER, size_bytes, 16, 2).time_s,
                4.6e-6 * 15 + 15.0 / 16 * size_bytes / 400e9, 0.01);
    network.runs[0].link_bytes_per_s = 100e9; /* and no tree more than doubles */
    assert_near(ask(&network, CB_OP_ALL_REDUCE, size_bytes, 64, 8).time_s,
                2 * factor * size_bytes / (480e9 * share), 0.01);
    drop(&result, &network);
    /* Unknown: between all and nothing of the 2. */
    make(&result, &network, "nccl", 2, 8, lines, 1);
    assert_near(ask_pace_s(&network, CB_OP_ALL_REDUCE, size_bytes, 64, 8, CB_PACE_FAST),
                0.9 / 1.15 * factor * size_bytes / (480e9 * share), 0.01);
    assert_near(ask_pace_s(&network, CB_OP_ALL_REDUCE, size_bytes, 64, 8, CB_PACE_MEDIAN),
                1.5 * factor * size_bytes / (480e9 * share), 0.01);
    assert_near(ask_pace_s(&network, CB_OP_ALL_REDUCE, size_bytes, 64, 8, CB_PACE_SLOW),
                2 * 1.2 * 1.15 * factor * size_bytes / (480e9 * share), 0.01);
    drop(&result, &network);
    /* MPI has no such trees, and one rank per node gains nothing by them. */
    make(&result, &network, "mpi", 2, 8, lines, 1);
    assert_near(ask(&network, CB_OP_ALL_REDUCE, size_bytes, 64, 8).time_s,
                factor * size_bytes / (480e9 * share), 0.01);
    drop(&result, &network);
    static const struct line single = {CB_OP_ALL_REDUCE, CB_SCOPE_WORLD, 2, 0, 480e9};
    make(&result, &network, "nccl", 2, 1, &single, 1);
    assert_near(ask(&network, CB_OP_ALL_REDUCE, size_bytes, 8, 8).time_s,
                1.75 * size_bytes / (480e9 * share), 0.01);
    drop(&result, &network);
}

static void takes_the_links_of_the_slowest_node(void **state)
{
    (void)state;
    static const struct cb_topo_nic nics[] = {
        {.name = "mlx5_0:1", .nominal_bytes_per_s = 50e9, .used = true},
        {.name = "mlx5_1:1", .nominal_bytes_per_s = 50e9, .used = true},
        {.name = "ens1",
         .nominal_bytes_per_s = 50e9,
         .used = true}, /* the first one's other face */
        {.name = "mlx5_2:1", .nominal_bytes_per_s = 50e9},
    };
    struct cb_result result;
    struct cb_measured_network network;
    struct cb_error err;
    start(&result, "nccl", 2, 8);
    add_line(&result, &(struct line){CB_OP_ALL_REDUCE, CB_SCOPE_WORLD, 16, 0, 120e9});
    for (int i = 0; i < 2; i++) {
        result.nodes.items[i].nic_count = (int)COUNT(nics);
        memcpy(result.nodes.items[i].nics, nics, sizeof(nics));
    }
    assert_ok(cb_measured_network_init(&network, &result, &err), &err);
    assert_near(network.runs[0].link_bytes_per_s, 100e9, 1e-9);
    cb_measured_network_fini(&network);
    result.nodes.items[1].nics[0].nominal_bytes_per_s = 25e9;
    assert_ok(cb_measured_network_init(&network, &result, &err), &err);
    assert_near(network.runs[0].link_bytes_per_s, 75e9, 1e-9);
    cb_measured_network_fini(&network);
    result.nodes.items[1].nics[0].nominal_bytes_per_s = 0;
    assert_ok(cb_measured_network_init(&network, &result, &err), &err);
    assert_near(network.runs[0].link_bytes_per_s, 0, 0);
    drop(&result, &network);
}

/* ---- what was not measured ---- */

static void makes_an_op_of_others_and_says_so(void **state)
{
    (void)state;
    static const struct line reduce = {CB_OP_ALL_REDUCE, CB_SCOPE_WORLD, 4, 100e-6, 10e9};
    static const struct line gather = {CB_OP_ALL_GATHER, CB_SCOPE_WORLD, 4, 60e-6, 10e9};
    struct cb_result result;
    struct cb_measured_network network;
    double size_bytes = 16 * MIB;
    make(&result, &network, "mpi", 4, 1, &reduce, 1);
    struct cb_network_estimate e = ask(&network, CB_OP_ALL_GATHER, size_bytes, 4, 4);
    assert_near(e.time_s, 50e-6 + 0.75 * size_bytes / 10e9, 1e-6); /* one way round */
    assert_int_equal(e.source, CB_FROM_ASSUMED);
    assert_int_equal(e.confidence, CB_CONFIDENCE_WITHIN_4X);
    e = ask(&network, CB_OP_SEND_RECV, size_bytes, 4, 4);
    assert_near(e.time_s, 50e-6 / 3 + size_bytes / 10e9, 1e-6); /* one of three steps */
    drop(&result, &network);
    make(&result, &network, "mpi", 4, 1, &gather, 1);
    e = ask(&network, CB_OP_ALL_REDUCE, size_bytes, 4, 4);
    assert_near(e.time_s, 120e-6 + 1.5 * size_bytes / 10e9, 1e-6); /* twice */
    e = ask(&network, CB_OP_REDUCE_SCATTER, size_bytes, 4, 4);
    assert_near(e.time_s, 60e-6 + 0.75 * size_bytes / 10e9, 1e-6);
    assert_int_equal(e.source, CB_FROM_ASSUMED);
    drop(&result, &network);
    /* Two nodes of two: half of an all_to_all leaves the node, twice, over its links. */
    static const struct line world = {CB_OP_ALL_GATHER, CB_SCOPE_WORLD, 4, 60e-6, 10e9};
    make(&result, &network, "mpi", 2, 2, &world, 1);
    e = ask(&network, CB_OP_ALL_TO_ALL, size_bytes, 4, 2);
    assert_near(e.time_s, 60e-6 + 2 * 0.5 * size_bytes / 10e9, 1e-6);
    drop(&result, &network);
}

static void composes_a_world_of_its_parts(void **state)
{
    (void)state;
    static const struct line lines[] = {
        {CB_OP_ALL_REDUCE, CB_SCOPE_INTER_NODE, 4, 0, 40e9},
        {CB_OP_ALL_GATHER, CB_SCOPE_INTRA_NODE, 8, 0, 400e9},
    };
    struct cb_result result;
    struct cb_measured_network network;
    double size_bytes = 64 * MIB;
    double inside_s = 7.0 / 8 * size_bytes / 400e9, between_s = 1.5 * size_bytes / 8 / 40e9;
    make(&result, &network, "mpi", 4, 8, lines, 2);
    assert_near(ask_pace_s(&network, CB_OP_ALL_REDUCE, size_bytes, 32, 4, CB_PACE_FAST),
                0.9 * fmax(inside_s, between_s), 0.02);
    /* All ranks of a node over one link, one phase after the other. */
    assert_near(ask_pace_s(&network, CB_OP_ALL_REDUCE, size_bytes, 32, 4, CB_PACE_SLOW),
                1.2 * (2 * inside_s + 8 * between_s), 0.02);
    assert_int_equal(ask(&network, CB_OP_ALL_REDUCE, size_bytes, 32, 4).source, CB_FROM_ASSUMED);
    drop(&result, &network);
}

static void borrows_the_world_for_a_part_of_it(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_measured_network network;
    make(&result, &network, "mpi", 4, 8, four_by_eight, 1);
    struct cb_network_estimate inside = ask(&network, CB_OP_ALL_REDUCE, MIB, 8, 1);
    struct cb_network_estimate world = ask(&network, CB_OP_ALL_REDUCE, MIB, 32, 4);
    assert_true(inside.time_s > 0 && inside.time_s < world.time_s);
    assert_int_equal(inside.source, CB_FROM_ASSUMED);
    assert_true(ask(&network, CB_OP_ALL_REDUCE, MIB, 4, 4).time_s > 0);
    drop(&result, &network);
}

static void tells_nothing_of_a_network_that_was_not_seen(void **state)
{
    (void)state;
    static const struct line inside = {CB_OP_ALL_REDUCE, CB_SCOPE_WORLD, 8, 50e-6, 400e9};
    struct cb_result result;
    struct cb_measured_network network;
    enum cb_provenance source = CB_FROM_MEASURED;
    make(&result, &network, "nccl", 1, 8, &inside, 1);
    assert_true(ask(&network, CB_OP_ALL_REDUCE, MIB, 8, 1).time_s > 0);
    assert_true(ask(&network, CB_OP_ALL_REDUCE, MIB, 4, 1).time_s > 0);
    assert_true(ask(&network, CB_OP_ALL_REDUCE, MIB, 16, 2).time_s < 0);
    assert_true(ask(&network, CB_OP_ALL_REDUCE, MIB, 2, 2).time_s < 0);
    const struct cb_group_shape two = {2, 2};
    assert_true(network.network.time_s(network.network.context, CB_OP_ALL_REDUCE, MIB, &two,
                                       CB_PACE_MEDIAN, &source) < 0);
    assert_int_equal(source, CB_FROM_NOWHERE);
    drop(&result, &network);
    make(&result, &network, "nccl", 2, 8, NULL, 0);
    assert_false(cb_measured_network_has_rows(&network));
    assert_true(ask(&network, CB_OP_ALL_REDUCE, MIB, 16, 2).time_s < 0);
    drop(&result, &network);
}

static void refuses_impossible_questions(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_measured_network network;
    make(&result, &network, "nccl", 4, 8, four_by_eight, COUNT(four_by_eight));
    assert_true(cb_measured_network_has_rows(&network));
    assert_true(ask(&network, CB_OP_ALL_REDUCE, 0, 32, 4).time_s < 0);
    assert_true(ask(&network, CB_OP_ALL_REDUCE, NAN, 32, 4).time_s < 0);
    assert_true(ask(&network, CB_OP_ALL_REDUCE, INFINITY, 32, 4).time_s < 0);
    assert_true(ask(&network, CB_OP_ALL_REDUCE, MIB, 4, 8).time_s < 0);
    assert_true(ask(&network, CB_OP_ALL_REDUCE, MIB, 4, 0).time_s < 0);
    assert_near(ask(&network, CB_OP_ALL_REDUCE, MIB, 1, 1).time_s, 0, 0);
    drop(&result, &network);
}

static void skips_rows_of_one_rank_and_sizes_that_are_there_twice(void **state)
{
    (void)state;
    static const struct line alone = {CB_OP_ALL_REDUCE, CB_SCOPE_INTRA_NODE, 1, 50e-6, 400e9};
    struct cb_result result;
    struct cb_measured_network network;
    struct cb_error err;
    start(&result, "nccl", 4, 8);
    add_line(&result, &four_by_eight[0]);
    add_line(&result, &four_by_eight[0]);
    struct cb_collective_row *row = add_row(&result, &alone, MIB);
    row->bus_bytes_per_s = 1; /* as no program writes it */
    assert_ok(cb_measured_network_init(&network, &result, &err), &err);
    assert_near(ask(&network, CB_OP_ALL_REDUCE, 16 * MIB, 32, 4).time_s, 200e-6 + WHOLE(16 * MIB),
                1e-9);
    assert_int_equal(network.runs[0].curves[CB_OP_ALL_REDUCE][CB_SCOPE_WORLD].regimes[0].points, 9);
    drop(&result, &network);
}

static void lists_the_fits(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_measured_network network;
    struct cb_error err;
    cb_fit_list fits = {0};
    make(&result, &network, "nccl", 4, 8, four_by_eight, COUNT(four_by_eight));
    assert_ok(cb_fits_build(&result, &fits, &err), &err);
    assert_int_equal(fits.count, COUNT(four_by_eight));
    for (size_t i = 0; i < fits.count; i++) {
        const struct cb_fit_row *row = &fits.items[i];
        assert_int_equal(row->op, four_by_eight[i].op);
        assert_int_equal(row->scope, four_by_eight[i].scope);
        assert_int_equal(row->ranks, four_by_eight[i].ranks);
        assert_near(row->alpha_s, four_by_eight[i].latency_s, 1e-6);
        assert_near(row->bytes_per_s_inf, four_by_eight[i].bus_bytes_per_s, 1e-6);
        assert_near(row->half_bytes,
                    four_by_eight[i].latency_s * four_by_eight[i].bus_bytes_per_s /
                        cb_op_bus_factor(row->op, row->ranks),
                    1e-6);
        assert_int_equal(row->from_bytes, 1024);
        assert_int_equal(row->to_bytes, 64u << 20);
        assert_true(row->accepted);
    }
    cb_vec_fini(&fits);
    drop(&result, &network);
}

/* ---- several runs ---- */

static void fits_the_law_to_three_numbers_of_nodes(void **state)
{
    (void)state;
    /* 100 us + 50 us x log2(nodes), which is not what the published law makes of any of them. */
    static const int nodes[] = {4, 2, 8};
    struct cb_result results[3];
    struct cb_measured_network network;
    struct cb_error err;
    for (int i = 0; i < 3; i++) {
        const struct line line = {CB_OP_ALL_REDUCE, CB_SCOPE_WORLD, 8 * nodes[i],
                                  100e-6 + 50e-6 * log2(nodes[i]), 300e9};
        start(&results[i], "mpi", nodes[i], 8);
        add_line(&results[i], &line);
    }
    assert_ok(cb_measured_network_init(&network, &results[0], &err), &err);
    /* Alone: 200 us x (53 + 80 x 7) / (53 + 80 x 2). */
    assert_near(ask(&network, CB_OP_ALL_REDUCE, KIB, 1024, 128).time_s, 200e-6 * 613 / 213, 1e-3);
    assert_ok(cb_measured_network_add(&network, &results[1], &err), &err);
    assert_ok(cb_measured_network_add(&network, &results[2], &err), &err);
    struct cb_network_estimate e = ask(&network, CB_OP_ALL_REDUCE, KIB, 1024, 128);
    assert_near(e.time_s, 450e-6, 1e-3);
    assert_int_equal(e.confidence, CB_CONFIDENCE_BEYOND);
    e = ask(&network, CB_OP_ALL_REDUCE, KIB, 16, 2); /* its own run, whichever came first */
    assert_near(e.time_s, 150e-6, 1e-3);
    assert_int_equal(e.confidence, CB_CONFIDENCE_MEASURED);
    e = ask(&network, CB_OP_ALL_REDUCE, KIB, 48, 6);
    assert_near(e.time_s, 100e-6 + 50e-6 * log2(6), 1e-3);
    assert_int_equal(e.confidence, CB_CONFIDENCE_INTERPOLATED);
    cb_measured_network_fini(&network);
    for (int i = 0; i < 3; i++)
        cb_result_fini(&results[i]);
}

static void takes_no_run_of_another_network(void **state)
{
    (void)state;
    struct cb_result four, other;
    struct cb_measured_network network;
    struct cb_error err;
    start(&four, "nccl", 4, 8);
    add_line(&four, &four_by_eight[0]);
    assert_ok(cb_measured_network_init(&network, &four, &err), &err);
    static const struct {
        const char *transport;
        int nodes, per_node;
    } others[] = {{"nccl", 4, 8}, {"nccl", 8, 4}, {"mpi", 8, 8}};
    for (size_t i = 0; i < COUNT(others); i++) {
        start(&other, others[i].transport, others[i].nodes, others[i].per_node);
        assert_int_equal(cb_measured_network_add(&network, &other, &err), CB_E_INPUT);
        assert_int_equal(network.run_count, 1);
        cb_result_fini(&other);
    }
    drop(&four, &network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_was_measured),
        cmocka_unit_test(follows_the_pace),
        cmocka_unit_test(goes_beyond_the_sizes_by_the_fit),
        cmocka_unit_test(goes_beyond_the_sizes_of_no_fit_by_the_bandwidth),
        cmocka_unit_test(grows_by_the_two_laws),
        cmocka_unit_test(never_shrinks_as_the_group_or_the_size_grows),
        cmocka_unit_test(takes_back_what_a_tree_of_two_nodes_gained),
        cmocka_unit_test(takes_the_links_of_the_slowest_node),
        cmocka_unit_test(makes_an_op_of_others_and_says_so),
        cmocka_unit_test(composes_a_world_of_its_parts),
        cmocka_unit_test(borrows_the_world_for_a_part_of_it),
        cmocka_unit_test(tells_nothing_of_a_network_that_was_not_seen),
        cmocka_unit_test(refuses_impossible_questions),
        cmocka_unit_test(skips_rows_of_one_rank_and_sizes_that_are_there_twice),
        cmocka_unit_test(lists_the_fits),
        cmocka_unit_test(fits_the_law_to_three_numbers_of_nodes),
        cmocka_unit_test(takes_no_run_of_another_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

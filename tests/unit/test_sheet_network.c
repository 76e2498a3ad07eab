/* An interconnect from its data sheets against what was published of the same ones. */
#include "cb_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reference/busbw.h"
#include "reference/network.h"

#define MIB (1024.0 * 1024)
#define GIB (1024.0 * MIB)

/* A cluster by the names of its links; ports 0: as many as the row counts. */
static struct cb_sheet_network cluster_of(int nodes, int gpus, const char *intra, const char *inter,
                                          int ports)
{
    struct cb_error err;
    struct cb_sheet_network network;
    struct cb_data_sheet sheet = {
        .nodes = nodes,
        .gpus_per_node = gpus,
        .intra = intra ? cb_link_reference_find_name(intra) : NULL,
        .inter = inter ? cb_link_reference_find_name(inter) : NULL,
        .ports_per_node = ports,
    };
    assert_ok(cb_sheet_network_init(&network, &sheet, &err), &err);
    return network;
}

static double time_of(const struct cb_sheet_network *network, enum cb_op op, double size_bytes,
                      int ranks, int nodes, enum cb_pace pace)
{
    struct cb_group_shape group = {ranks, nodes};
    return cb_sheet_network_time_s(network, op, size_bytes, &group, pace, NULL);
}

static double bus_of(const struct cb_sheet_network *network, enum cb_op op, double size_bytes,
                     int ranks, int nodes, enum cb_pace pace)
{
    return size_bytes * cb_op_bus_factor(op, ranks) /
           time_of(network, op, size_bytes, ranks, nodes, pace);
}

/* 8.4 us + 14 hops of 3.4 us, and 1.75 x 1 GiB at 0.78 x 300 GB/s: 8.087 ms; 8.204 are published.
 */
static void test_a100_node_by_hand(void **state)
{
    (void)state;
    struct cb_sheet_network network = cluster_of(1, 8, "nvlink3", NULL, 0);
    double time_s = time_of(&network, CB_OP_ALL_REDUCE, GIB, 8, 1, CB_PACE_MEDIAN);
    assert_near(time_s, 8.4e-6 + 14 * 3.4e-6 + 1.75 * GIB / 234e9, 1e-9);
    assert_near(time_s, 8.204e-3, 0.02);
    assert_near(network.intra.nominal_bytes_per_s, 300e9, 1e-12);
    assert_near(network.intra.both_ways_bytes_per_s, 600e9, 1e-12);
    assert_near(network.intra.practical_bytes_per_s, 234e9, 1e-12);
    assert_null(network.inter.link);
}

/* Two nodes behind one port of 100 Gb/s each: 12.5 GB/s is what the documents count with. A tree
 * sends the vector once, a ring 1.875 times. */
static void test_roce_by_hand(void **state)
{
    (void)state;
    struct cb_sheet_network network = cluster_of(2, 8, "nvlink3", "roce-100g", 0);
    assert_near(network.inter.nominal_bytes_per_s, 12.5e9, 1e-12);
    double tree_s = time_of(&network, CB_OP_ALL_REDUCE, GIB, 16, 2, CB_PACE_MEDIAN);
    assert_near(tree_s, (53 + 80) * 1e-6 + GIB / (12.5e9 * 0.91), 1e-9);
    double ring_s = time_of(&network, CB_OP_ALL_REDUCE, GIB, 16, 2, CB_PACE_SLOW);
    assert_near(ring_s, (53 + 80) * 1e-6 + 1.875 * GIB / (12.5e9 * 0.75), 1e-9);
    double gather_s = time_of(&network, CB_OP_ALL_GATHER, GIB, 16, 2, CB_PACE_MEDIAN);
    assert_near(gather_s, 15 * 4.6e-6 + 15.0 / 16 * GIB / (12.5e9 * 0.91), 1e-9);
    /* Eight ports carry eight times as much. */
    struct cb_sheet_network wide = cluster_of(4, 8, "nvlink4", "roce-400g", 8);
    assert_near(wide.inter.nominal_bytes_per_s, 400e9, 1e-12);
}

/* What published clusters reached, from the names of their links alone. */
static const struct {
    int nodes, gpus;
    const char *intra, *inter;
    int ports;
    enum cb_op op;
    double size_bytes, bus_gb_s;
    double tolerance;
} published[] = {
    {1, 8, "nvlink3", NULL, 0, CB_OP_ALL_REDUCE, 4 * GIB, 233.9, 0.02},
    {1, 8, "nvlink3", NULL, 0, CB_OP_ALL_REDUCE, 8 * MIB, 109.9, 0.15},
    {1, 8, "nvlink4", NULL, 0, CB_OP_ALL_REDUCE, 16 * GIB, 480, 0.02},
    {1, 8, "nvlink5", NULL, 0, CB_OP_ALL_REDUCE, 4 * GIB, 740.6, 0.02},
    {1, 4, "nvlink5", NULL, 0, CB_OP_ALL_REDUCE, 8 * GIB, 605.3, 0.02},
    {2, 8, "nvlink3", "ib-hdr", 8, CB_OP_ALL_REDUCE, GIB, 188.5, 0.05},
    {4, 8, "nvlink3", "ib-hdr", 8, CB_OP_ALL_REDUCE, 4 * GIB, 191.1, 0.05},
    {2, 8, "nvlink3", "efa-100", 4, CB_OP_ALL_REDUCE, 2 * GIB, 78.3, 0.05},
    {2, 8, "nvlink3", "efa-p4d", 0, CB_OP_ALL_REDUCE, 2 * GIB, 78.3, 0.05},
    {2, 8, "nvlink4", "ib-ndr", 8, CB_OP_ALL_REDUCE, 16 * GIB, 469.2, 0.05},
    {2, 8, "nvlink4", "efa-p5", 0, CB_OP_ALL_REDUCE, 16 * GIB, 487.1, 0.05},
    {8, 8, "nvlink4", "ib-ndr", 8, CB_OP_ALL_REDUCE, 8 * GIB, 386.6, 0.05},
    {4, 8, "nvlink5", "efa-400", 8, CB_OP_ALL_REDUCE, 16 * GIB, 381.8, 0.05},
    {2, 8, "nvlink4", "tcpxo", 0, CB_OP_ALL_REDUCE, 8 * GIB, 338.8, 0.05},
    {2, 8, "nvlink4", "tcpxo", 0, CB_OP_ALL_GATHER, 8 * GIB, 188.7, 0.05},
    {2, 8, "nvlink4", "tcpx", 0, CB_OP_ALL_GATHER, GIB / 2, 70.9, 0.05},
    {16, 8, "nvlink4", "efa-200", 16, CB_OP_ALL_GATHER, 16 * GIB, 369.9, 0.05},
    {18, 4, "nvlink5", "nvlink5", 0, CB_OP_ALL_REDUCE, 8 * GIB, 834.6, 0.15},
    {18, 4, "nvlink5", "nvlink5", 0, CB_OP_ALL_REDUCE, GIB / 2, 586.1, 0.10},
    {2, 8, "xgmi-mi300x", "roce-400g", 8, CB_OP_ALL_REDUCE, 16 * GIB, 358.4, 0.05},
    {2, 1, NULL, "roce-25g", 1, CB_OP_ALL_REDUCE, 2 * GIB, 2.84, 0.05},
    {2, 8, "nvlink4", "roce-400g", 8, CB_OP_ALL_GATHER, 8 * GIB, 328.9, 0.12},
};

static void test_published_clusters(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
        struct cb_sheet_network network =
            cluster_of(published[i].nodes, published[i].gpus, published[i].intra,
                       published[i].inter, published[i].ports);
        int ranks = published[i].nodes * published[i].gpus;
        double bus = bus_of(&network, published[i].op, published[i].size_bytes, ranks,
                            published[i].nodes, CB_PACE_MEDIAN);
        print_message("%d x %d %s: %.1f, published %.1f\n", published[i].nodes, published[i].gpus,
                      published[i].inter ? published[i].inter : published[i].intra, bus / 1e9,
                      published[i].bus_gb_s);
        assert_near(bus, published[i].bus_gb_s * 1e9, published[i].tolerance);
    }
}

/* What jobs got of their nodes' nominal rate lies within the published shares: iperf, training and
 * collectives on other people's clusters. */
static void test_the_band_holds_what_jobs_got(void **state)
{
    (void)state;
    static const struct {
        const char *inter;
        double share;
    } jobs[] = {
        {"eth-40g", 0.10},       /* 40 GbE TCP: iperf 4.1 Gb/s (DeepSpeed, 1-bit Adam) */
        {"eth-10g", 0.937},      /* iperf3 9.37 Gb/s (DeepSpeed 5766) */
        {"eth-25g", 0.20},       /* p3.16xlarge (NCCL 318) */
        {"efa-p4d", 0.85},       /* IDEFICS: 340 of 400 Gb/s */
        {"dgx-h100-ndr", 0.925}, /* 370 of 400 GB/s (GTC S62129) */
        {"roce-100g", 0.75},     /* 2 x A100 nodes, 8 x 100 Gb/s: 600 of 800 (NCCL 495) */
        {"opa-100", 0.10},       /* Jean Zay: 40.5 of 400 Gb/s in January 2022, */
        {"opa-100", 0.35},       /* 140 in production */
    };
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        struct cb_sheet_network network = cluster_of(4, 8, "nvlink3", jobs[i].inter, 0);
        const struct cb_efficiency *share = &network.inter.efficiency;
        if (jobs[i].share < share->low || jobs[i].share > share->high)
            fail_msg("%s: %g is outside %g to %g", jobs[i].inter, jobs[i].share, share->low,
                     share->high);
        assert_true(share->low <= share->typical && share->typical <= share->high);
    }
}

/* Whatever is asked: the paces are in order, time grows with the size, no rank is not slower than
 * none, and nothing is faster than the wire. */
static void test_properties(void **state)
{
    (void)state;
    static const struct {
        int nodes, gpus;
        const char *intra, *inter;
        int ports;
    } clusters[] = {
        {1, 2, "pcie4", NULL, 0},
        {1, 8, "nvlink5", NULL, 0},
        {2, 1, NULL, "eth-1g", 0},
        {2, 8, "nvlink3", "roce-100g", 1},
        {3, 8, "nvlink4", "ib-ndr", 8},
        {16, 4, "xgmi-mi300x", "slingshot", 4},
        {1024, 8, "nvlink5", "ib-xdr", 8},
        {64, 2, "pcie3", "eth-10g", 1},
        {18, 1, NULL, "nvlink5", 0},
        {2, 4, "pcie5", "opa", 1},
        {4, 72, "nvlink5", "dgx-b300-xdr", 0},
        {5, 8, "nvlink1", "gcp-a3-high-tcpx", 0},
    };
    for (size_t i = 0; i < sizeof(clusters) / sizeof(clusters[0]); i++) {
        struct cb_sheet_network network =
            cluster_of(clusters[i].nodes, clusters[i].gpus, clusters[i].intra, clusters[i].inter,
                       clusters[i].ports);
        int nodes = clusters[i].nodes, ranks = nodes * clusters[i].gpus;
        for (int op = 0; op < CB_OP_COUNT; op++) {
            double before_s = 0;
            for (double size = 0; size < 1e13; size = size * 16 + 1024) {
                double fast = time_of(&network, (enum cb_op)op, size, ranks, nodes, CB_PACE_FAST);
                double median =
                    time_of(&network, (enum cb_op)op, size, ranks, nodes, CB_PACE_MEDIAN);
                double slow = time_of(&network, (enum cb_op)op, size, ranks, nodes, CB_PACE_SLOW);
                assert_true(fast > 0 && fast <= median && median <= slow && isfinite(slow));
                assert_true(median > before_s);
                before_s = median;
            }
        }
    }
}

/* A group of one rank a node gets one rank's port, not the node's eight; with one port it gets that
 * one. */
static void test_groups_of_few_ranks(void **state)
{
    (void)state;
    struct cb_sheet_network network = cluster_of(4, 8, "nvlink4", "ib-ndr", 8);
    double whole = bus_of(&network, CB_OP_ALL_REDUCE, 8 * GIB, 32, 4, CB_PACE_MEDIAN);
    double single = bus_of(&network, CB_OP_ALL_REDUCE, 8 * GIB, 4, 4, CB_PACE_MEDIAN);
    assert_near(whole, 400e9 * 0.94, 0.01);
    assert_near(single, 50e9 * 0.94, 0.01);
    struct cb_sheet_network narrow = cluster_of(4, 8, "nvlink4", "ib-ndr", 1);
    assert_near(bus_of(&narrow, CB_OP_ALL_REDUCE, 8 * GIB, 4, 4, CB_PACE_MEDIAN), 50e9 * 0.94,
                0.01);
    /* Inside a node the network between them plays no part. */
    struct cb_sheet_network node = cluster_of(1, 8, "nvlink4", NULL, 0);
    assert_near(time_of(&network, CB_OP_ALL_GATHER, GIB, 8, 1, CB_PACE_MEDIAN),
                time_of(&node, CB_OP_ALL_GATHER, GIB, 8, 1, CB_PACE_MEDIAN), 1e-12);
}

static void test_provenance(void **state)
{
    (void)state;
    struct cb_sheet_network network = cluster_of(2, 8, "nvlink3", "slingshot", 4);
    struct cb_group_shape all = {16, 2}, inside = {8, 1}, one = {1, 1}, none = {0, 1};
    struct cb_group_shape odd = {2, 3}, nowhere = {2, 0};
    enum cb_provenance source;
    cb_sheet_network_time_s(&network, CB_OP_ALL_REDUCE, GIB, &all, CB_PACE_MEDIAN, &source);
    assert_int_equal(source, CB_FROM_ASSUMED); /* nobody published Slingshot's share */
    cb_sheet_network_time_s(&network, CB_OP_ALL_REDUCE, GIB, &inside, CB_PACE_MEDIAN, &source);
    assert_int_equal(source, CB_FROM_NOMINAL);
    assert_near(
        cb_sheet_network_time_s(&network, CB_OP_ALL_REDUCE, GIB, &one, CB_PACE_MEDIAN, &source), 0,
        0);
    assert_true(cb_sheet_network_time_s(&network, CB_OP_ALL_REDUCE, GIB, &none, CB_PACE_MEDIAN,
                                        &source) < 0);
    assert_int_equal(source, CB_FROM_NOWHERE);
    assert_true(cb_sheet_network_time_s(&network, CB_OP_ALL_REDUCE, GIB, &nowhere, CB_PACE_MEDIAN,
                                        &source) < 0);
    assert_true(
        cb_sheet_network_time_s(&network, CB_OP_ALL_REDUCE, GIB, &odd, CB_PACE_MEDIAN, NULL) < 0);
    assert_true(
        cb_sheet_network_time_s(&network, CB_OP_ALL_REDUCE, NAN, &all, CB_PACE_MEDIAN, NULL) < 0);
    struct cb_sheet_network node = cluster_of(1, 8, "nvlink3", NULL, 0);
    assert_true(cb_sheet_network_time_s(&node, CB_OP_ALL_REDUCE, GIB, &all, CB_PACE_MEDIAN, NULL) <
                0);
}

/* The GPU's own NVLinks count, not those of the card the generation is named after. */
static void test_fewer_links_than_usual(void **state)
{
    (void)state;
    struct cb_error err;
    struct cb_sheet_network network;
    struct cb_data_sheet sheet = {.nodes = 1,
                                  .gpus_per_node = 8,
                                  .intra = cb_link_reference_find_name("nvlink3"),
                                  .intra_bytes_per_s = 200e9};
    assert_ok(cb_sheet_network_init(&network, &sheet, &err), &err);
    assert_near(network.intra.nominal_bytes_per_s, 200e9, 1e-12);
    assert_near(network.intra.both_ways_bytes_per_s, 400e9, 1e-12);
    assert_near(bus_of(&network, CB_OP_ALL_REDUCE, 16 * GIB, 8, 1, CB_PACE_MEDIAN), 156e9, 0.01);
    /* Without peer access PCIe carries less. */
    sheet = (struct cb_data_sheet){.nodes = 1,
                                   .gpus_per_node = 8,
                                   .intra = cb_link_reference_find_name("pcie4"),
                                   .no_peer_access = true};
    assert_ok(cb_sheet_network_init(&network, &sheet, &err), &err);
    assert_near(bus_of(&network, CB_OP_ALL_REDUCE, GIB / 8, 8, 1, CB_PACE_MEDIAN), 14.45e9, 0.05);
}

static void test_what_cannot_be(void **state)
{
    (void)state;
    const struct cb_link_reference *nvlink = cb_link_reference_find_name("nvlink3");
    const struct cb_link_reference *roce = cb_link_reference_find_name("roce-100g");
    const struct cb_link_reference *pcie = cb_link_reference_find_name("pcie4");
    const struct cb_link_reference *node = cb_link_reference_find_name("efa-p5");
    const struct cb_data_sheet sheets[] = {
        {.nodes = 0, .gpus_per_node = 8, .intra = nvlink},
        {.nodes = 1, .gpus_per_node = 0},
        {.nodes = 1, .gpus_per_node = 8},
        {.nodes = 2, .gpus_per_node = 1},
        {.nodes = 2, .gpus_per_node = 8, .intra = roce, .inter = roce},
        {.nodes = 2, .gpus_per_node = 8, .intra = nvlink, .inter = pcie},
        {.nodes = 2, .gpus_per_node = 8, .intra = nvlink, .inter = node, .ports_per_node = 2},
    };
    for (size_t i = 0; i < sizeof(sheets) / sizeof(sheets[0]); i++) {
        struct cb_error err;
        struct cb_sheet_network network = {.intra = {.nominal_bytes_per_s = 42}};
        assert_int_equal(cb_sheet_network_init(&network, &sheets[i], &err), CB_E_USAGE);
        assert_true(strlen(err.what) > 0);
        assert_near(network.intra.nominal_bytes_per_s, 42, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a100_node_by_hand),
        cmocka_unit_test(test_roce_by_hand),
        cmocka_unit_test(test_published_clusters),
        cmocka_unit_test(test_the_band_holds_what_jobs_got),
        cmocka_unit_test(test_properties),
        cmocka_unit_test(test_groups_of_few_ranks),
        cmocka_unit_test(test_provenance),
        cmocka_unit_test(test_fewer_links_than_usual),
        cmocka_unit_test(test_what_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

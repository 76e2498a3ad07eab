/* "Is this number normal?": the published series and how one is found. */
#include "cb_test.h"

#include <stdio.h>
#include <string.h>

#include "reference/busbw.h"

#define MIB (1024.0 * 1024)
#define GIB (1024.0 * MIB)

static const char a100[] = "NVIDIA A100-SXM4-80GB";
static const char h100[] = "NVIDIA H100 80GB HBM3";

static struct cb_busbw_query query_of(const char *gpu, int gpus, int nodes, double size_bytes)
{
    return (struct cb_busbw_query){.gpu = gpu,
                                   .gpus = gpus,
                                   .nodes = nodes,
                                   .link = -1,
                                   .op = CB_OP_ALL_REDUCE,
                                   .size_bytes = size_bytes};
}

static struct cb_busbw_answer answer_to(struct cb_busbw_query query)
{
    struct cb_busbw_answer answer;
    cb_busbw_find(&query, &answer);
    return answer;
}

static void test_every_series(void **state)
{
    (void)state;
    size_t count;
    const struct cb_busbw_series *rows = cb_busbw_series(&count);
    assert_true(count > 60);
    for (size_t i = 0; i < count; i++) {
        const struct cb_busbw_series *row = &rows[i];
        if (!strlen(row->source) || !strlen(row->platform) || row->nodes_low < 1 ||
            row->nodes_high < row->nodes_low || row->gpus_per_node < 1)
            fail_msg("%s: a field is missing", row->platform);
        assert_true(row->points[0].size_bytes > 0);
        for (size_t p = 0; p < CB_BUSBW_POINTS && row->points[p].size_bytes > 0; p++) {
            assert_true(row->points[p].bus_bytes_per_s > 0.5e9);
            /* No platform's bus bandwidth is above a rack of NVLink 5 by more than 5 %. */
            assert_true(row->points[p].bus_bytes_per_s < 945e9);
            if (p > 0)
                assert_true(row->points[p].size_bytes > row->points[p - 1].size_bytes);
        }
        /* Which the query's own words find again. */
        struct cb_busbw_query query = {.gpu = row->gpu ? row->gpu : a100,
                                       .gpus = row->gpus_per_node * row->nodes_low,
                                       .nodes = row->nodes_low,
                                       .link = row->link,
                                       .node_bytes_per_s = row->node_bytes_per_s,
                                       .algorithm = row->algorithm,
                                       .op = row->op,
                                       .size_bytes = row->points[0].size_bytes};
        if (row->gpu && cb_busbw_gpu_family(row->gpu) == NULL)
            continue; /* no driver spells it so */
        struct cb_busbw_answer answer = answer_to(query);
        if (!answer.found)
            fail_msg("%s is not found again", row->platform);
    }
}

/* Rows picked by hand. */
static void test_published_points(void **state)
{
    (void)state;
    struct cb_busbw_answer answer = answer_to(query_of(a100, 8, 1, 64 * MIB));
    assert_true(answer.found && !answer.other_link);
    assert_near(answer.low_bytes_per_s, 171.54e9, 1e-12);
    answer = answer_to(query_of(a100, 8, 1, 8 * GIB));
    assert_true(answer.low_bytes_per_s > 233.88e9 && answer.low_bytes_per_s < 234.89e9);
    assert_near(answer.high_bytes_per_s, 235.65e9, 1e-12);
    assert_string_equal(answer.highest->platform, "Azure NDmv4");
    assert_near(answer.minimum_bytes_per_s, 228e9, 1e-12);
    answer = answer_to(query_of(h100, 8, 1, 16 * GIB));
    assert_near(answer.low_bytes_per_s, 479.9e9, 1e-12);
    assert_near(answer.high_bytes_per_s, 483.05e9, 1e-12);
    answer = answer_to(query_of("NVIDIA GB200", 72, 18, GIB));
    assert_near(answer.low_bytes_per_s, 681.17e9, 1e-12);
}

static void test_between_and_beyond_sizes(void **state)
{
    (void)state;
    /* Half way on a logarithmic scale: the geometric mean of 18.0 and 109.93. */
    struct cb_busbw_answer answer = answer_to(query_of(a100, 8, 1, sqrt(8.0) * MIB));
    assert_near(answer.low_bytes_per_s, sqrt(18.0 * 109.93) * 1e9, 1e-9);
    /* The plateau goes on. */
    answer = answer_to(query_of(a100, 8, 1, 64 * GIB));
    assert_near(answer.low_bytes_per_s, 234.89e9, 1e-12);
    /* It begins at a gigabyte, up to a quarter of the smallest size. */
    assert_near(answer_to(query_of("NVIDIA H200", 128, 16, 4 * GIB)).low_bytes_per_s, 0, 0);
    struct cb_busbw_query gather = query_of("NVIDIA H200", 128, 16, 4 * GIB);
    gather.op = CB_OP_ALL_GATHER;
    assert_near(answer_to(gather).low_bytes_per_s, 369.86e9, 1e-12);
    gather.size_bytes = 2 * GIB;
    assert_false(answer_to(gather).found);
    /* Below the smallest size nothing is known; beyond a small largest one neither. */
    assert_false(answer_to(query_of(a100, 8, 1, 1024)).found);
    assert_true(answer_to(query_of("NVIDIA GeForce RTX 4090", 8, 1, 128 * MIB)).found);
    assert_false(answer_to(query_of("NVIDIA GeForce RTX 4090", 8, 1, GIB)).found);
}

static void test_what_does_not_match(void **state)
{
    (void)state;
    assert_false(answer_to(query_of(a100, 4, 1, GIB)).found);
    assert_near(answer_to(query_of(a100, 24, 3, GIB)).low_bytes_per_s, 0, 0);
    assert_false(answer_to(query_of("NVIDIA H20", 8, 1, GIB)).found);
    assert_false(answer_to(query_of("NVIDIA GeForce RTX 4090 D", 8, 1, 128 * MIB)).found);
    assert_false(answer_to(query_of("NVIDIA A100 80GB PCIe", 8, 1, GIB)).found);
    assert_false(answer_to(query_of("", 8, 1, GIB)).found);
    assert_false(answer_to(query_of(NULL, 8, 1, GIB)).found);
    assert_false(answer_to(query_of(a100, 0, 0, GIB)).found);
    assert_false(answer_to(query_of(a100, 8, 1, 0)).found);
    struct cb_busbw_query query = query_of(h100, 16, 2, 8 * GIB);
    query.op = CB_OP_ALL_TO_ALL;
    assert_false(answer_to(query).found);
}

/* A forced ring is not what the library would have chosen. */
static void test_forced_algorithm(void **state)
{
    (void)state;
    struct cb_busbw_query query = query_of("NVIDIA H200", 8, 1, 16 * GIB);
    assert_near(answer_to(query).low_bytes_per_s, 482.26e9, 1e-12);
    query.algorithm = "Ring";
    assert_near(answer_to(query).low_bytes_per_s, 367.61e9, 1e-12);
    query.algorithm = "tree";
    assert_false(answer_to(query).found);
}

static void test_links_between_nodes(void **state)
{
    (void)state;
    struct cb_busbw_query query = query_of(a100, 16, 2, 2 * GIB);
    /* Not known: whatever there is, and it is said. */
    struct cb_busbw_answer answer = answer_to(query);
    assert_true(answer.found && answer.other_link);
    assert_near(answer.low_bytes_per_s, 78.33e9, 1e-12);
    /* 400 Gb/s of EFA: p4de. */
    query.link = CB_LINK_EFA;
    query.node_bytes_per_s = 50e9;
    answer = answer_to(query);
    assert_true(answer.found && !answer.other_link);
    assert_near(answer.high_bytes_per_s, 78.33e9, 1e-12);
    assert_string_equal(answer.lowest->platform, "AWS p4de.24xlarge");
    /* 8 x 200 Gb/s of InfiniBand. */
    query.link = CB_LINK_INFINIBAND;
    query.node_bytes_per_s = 200e9;
    answer = answer_to(query);
    assert_true(answer.found && !answer.other_link);
    assert_near(answer.high_bytes_per_s, 179.71e9, 1e-12);
    /* The kind alone does not tell how many ports there are. */
    query.node_bytes_per_s = 0;
    answer = answer_to(query);
    assert_true(answer.found && answer.other_link);
    /* One port of 100 Gb/s is none of these. */
    query.node_bytes_per_s = 12.5e9;
    assert_false(answer_to(query).found);
    query.link = CB_LINK_ETHERNET;
    assert_false(answer_to(query).found);
}

/* A minimum alone is named as one. */
static void test_minimum_only(void **state)
{
    (void)state;
    struct cb_busbw_answer answer = answer_to(query_of("AMD Instinct MI300X", 8, 1, 16 * GIB));
    assert_true(answer.found);
    assert_near(answer.low_bytes_per_s, 0, 0);
    assert_near(answer.minimum_bytes_per_s, 350e9, 1e-12);
    assert_string_equal(answer.lowest->platform, "OCI BM.GPU.MI300X.8");
}

static void test_families(void **state)
{
    (void)state;
    static const struct {
        const char *name, *family;
    } rows[] = {
        {"NVIDIA A100-SXM4-40GB", "A100 SXM"},
        {"NVIDIA A100-PCIE-40GB", "A100 PCIe"},
        {"NVIDIA A100 80GB PCIe", "A100 PCIe"},
        {"NVIDIA H100 80GB HBM3", "H100 SXM"},
        {"NVIDIA H100 PCIe", "H100 PCIe"},
        {"NVIDIA H200", "H200"},
        {"NVIDIA GH200 480GB", "GH200"},
        {"NVIDIA GB200", "GB200"},
        {"NVIDIA B200", "B200"},
        {"Tesla V100-SXM2-32GB", "V100 SXM"},
        {"h100-sxm5-80gb", "H100 SXM"},
        {"a100-pcie-80gb", "A100 PCIe"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_string_equal(cb_busbw_gpu_family(rows[i].name), rows[i].family);
    assert_null(cb_busbw_gpu_family("NVIDIA A800-SXM4-80GB"));
    assert_null(cb_busbw_gpu_family("NVIDIA L4"));
    assert_null(cb_busbw_gpu_family(""));
    assert_null(cb_busbw_gpu_family(NULL));
}

static void test_in_words(void **state)
{
    (void)state;
    char text[256];
    struct cb_busbw_query query = query_of(h100, 8, 1, 16 * GIB);
    struct cb_busbw_answer answer = answer_to(query);
    cb_busbw_describe(&query, &answer, 482e9, text, sizeof(text));
    assert_string_equal(text, "482 GB/s, published for 8 x H100 SXM: 480-483 GB/s (DGX H100, AWS "
                              "p5.48xlarge)");
    query = query_of(a100, 16, 2, 2 * GIB);
    query.link = CB_LINK_EFA;
    query.node_bytes_per_s = 50e9;
    answer = answer_to(query);
    cb_busbw_describe(&query, &answer, 70e9, text, sizeof(text));
    assert_string_equal(text, "70 GB/s, published for 2 nodes of 8 x A100 SXM: 78.3 GB/s (AWS "
                              "p4de.24xlarge)");
    query = query_of("AMD Instinct MI300X", 8, 1, 16 * GIB);
    answer = answer_to(query);
    cb_busbw_describe(&query, &answer, 300e9, text, sizeof(text));
    assert_string_equal(text, "300 GB/s, a provider's minimum for 8 x MI300X: 350 GB/s (OCI "
                              "BM.GPU.MI300X.8)");
    query = query_of("NVIDIA L4", 4, 1, GIB);
    answer = answer_to(query);
    cb_busbw_describe(&query, &answer, 9.5e9, text, sizeof(text));
    assert_string_equal(text, "9.5 GB/s, no published figure for 4 x NVIDIA L4 at 1 GiB");
    char small[16];
    cb_busbw_describe(&query, &answer, 9.5e9, small, sizeof(small));
    assert_string_equal(small, "9.5 GB/s, no pu");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_series),
        cmocka_unit_test(test_published_points),
        cmocka_unit_test(test_between_and_beyond_sizes),
        cmocka_unit_test(test_what_does_not_match),
        cmocka_unit_test(test_forced_algorithm),
        cmocka_unit_test(test_links_between_nodes),
        cmocka_unit_test(test_minimum_only),
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

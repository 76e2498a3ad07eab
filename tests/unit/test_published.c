/* Whether a measured bus bandwidth is normal, on made-up results. */
#include "cb_test.h"

#include <stdio.h>
#include <string.h>

#include "judge/published.h"
#include "must.h"

#define GIB (1024.0 * 1024 * 1024)

/* Nodes of 8 GPUs that ran an all_reduce of 8 GiB over NCCL. */
static void build(struct cb_result *result, const char *gpu, int nodes, double bus_gb_s)
{
    cb_result_init(result);
    result->rank_count = nodes * 8;
    snprintf(result->transport, sizeof(result->transport), "nccl");
    for (int i = 0; i < nodes; i++)
        ((struct cb_topo_host *)must(cb_vec_add(&result->nodes)))->name[0] = (char)('a' + i);
    for (int i = 0; i < nodes * 8; i++) {
        struct cb_gpu *card = must(cb_vec_add(&result->gpus));
        card->rank = i;
        card->node = i / 8;
        snprintf(card->name, sizeof(card->name), "%s", gpu);
    }
    struct cb_collective_row *row = must(cb_vec_add(&result->collectives));
    row->op = CB_OP_ALL_REDUCE;
    row->scope = CB_SCOPE_WORLD;
    row->ranks = nodes * 8;
    row->size_bytes = (uint64_t)(8 * GIB);
    row->bus_bytes_per_s = bus_gb_s * 1e9;
    row->status = CB_STATUS_OK;
}

static void add_ports(struct cb_result *result, const char *kind, int count, double bytes_per_s)
{
    for (size_t i = 0; i < result->nodes.count; i++) {
        struct cb_topo_host *host = &result->nodes.items[i];
        for (int j = 0; j < count; j++) {
            struct cb_topo_nic *nic = &host->nics[host->nic_count++];
            snprintf(nic->kind, sizeof(nic->kind), "%s", kind);
            nic->up = true;
            nic->nominal_bytes_per_s = bytes_per_s;
        }
    }
}

static void add_network(struct cb_result *result, const char *name)
{
    struct cb_transport_use *use = must(cb_vec_add(&result->transport_used));
    snprintf(use->kind, sizeof(use->kind), "network");
    snprintf(use->name, sizeof(use->name), "%s", name);
}

static struct cb_check judge(struct cb_result *result)
{
    struct cb_check check;
    cb_published_check_result(result, &check);
    cb_result_fini(result);
    return check;
}

static void test_one_node(void **state)
{
    (void)state;
    static const struct {
        double bus_gb_s;
        enum cb_check_status status;
    } rows[] = {
        {235, CB_CHECK_MET}, {212, CB_CHECK_MET}, {210, CB_CHECK_SHORT}, {40, CB_CHECK_SHORT}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cb_result result;
        build(&result, "NVIDIA A100-SXM4-80GB", 1, rows[i].bus_gb_s);
        struct cb_check check = judge(&result);
        assert_int_equal(check.status, rows[i].status);
        assert_string_equal(check.id, "collective.published");
        assert_string_equal(check.source, "ml-engineering, network");
        assert_non_null(strstr(check.summary, "published for 8 x A100 SXM: 234-236 GB/s"));
        assert_int_equal(check.remedy[0] == '\0', rows[i].status == CB_CHECK_MET);
        assert_near(check.required, 0.9 * 234.38e9, 0.001);
    }
}

static void test_nothing_published(void **state)
{
    (void)state;
    struct cb_result result;
    build(&result, "NVIDIA L4", 1, 9);
    struct cb_check check = judge(&result);
    assert_int_equal(check.status, CB_CHECK_NO_REFERENCE);
    assert_string_equal(check.summary,
                        "all_reduce 9 GB/s, no published figure for 8 x NVIDIA L4 at 8 GiB");
}

/* A provider's own limit is not lowered any further. */
static void test_minimum(void **state)
{
    (void)state;
    struct cb_result result;
    build(&result, "NVIDIA B300 SXM6 AC", 1, 801);
    assert_int_equal(judge(&result).status, CB_CHECK_MET);
    build(&result, "NVIDIA B300 SXM6 AC", 1, 799);
    struct cb_check check = judge(&result);
    assert_int_equal(check.status, CB_CHECK_SHORT);
    assert_near(check.required, 800e9, 1e-9);
    assert_non_null(strstr(check.summary, "a provider's minimum for 8 x B300: 800 GB/s"));
}

/* Two nodes: the same links, links that are not known, and others. */
static void test_links_between_nodes(void **state)
{
    (void)state;
    struct cb_result result;
    build(&result, "NVIDIA H100 80GB HBM3", 2, 102);
    add_network(&result, "IB");
    add_ports(&result, "InfiniBand", 8, 50e9);
    struct cb_check check = judge(&result);
    assert_int_equal(check.status, CB_CHECK_SHORT); /* 450 is what Azure tells its customers */
    assert_non_null(strstr(check.summary, "450"));
    build(&result, "NVIDIA H100 80GB HBM3", 2, 102);
    check = judge(&result);
    assert_int_equal(check.status, CB_CHECK_NO_REFERENCE);
    assert_non_null(strstr(check.summary, "the links may differ"));
    assert_string_equal(check.remedy, "");
    build(&result, "NVIDIA H100 80GB HBM3", 2, 485);
    assert_int_equal(judge(&result).status, CB_CHECK_MET);
    build(&result, "NVIDIA H100 80GB HBM3", 2, 10);
    add_network(&result, "IB");
    add_ports(&result, "RoCE", 1, 12.5e9);
    check = judge(&result);
    assert_int_equal(check.status, CB_CHECK_NO_REFERENCE);
}

static void test_not_tested(void **state)
{
    (void)state;
    struct cb_result result;
    build(&result, "NVIDIA A100-SXM4-80GB", 1, 235);
    result.simulated = true;
    struct cb_check check = judge(&result);
    assert_int_equal(check.status, CB_CHECK_NOT_TESTED);
    assert_string_equal(check.summary, "the transport is simulated");
    build(&result, "NVIDIA A100-SXM4-80GB", 1, 235);
    snprintf(result.transport, sizeof(result.transport), "mpi");
    assert_int_equal(judge(&result).status, CB_CHECK_NOT_TESTED);
    build(&result, "NVIDIA A100-SXM4-80GB", 1, 235);
    snprintf(result.gpus.items[3].name, sizeof(result.gpus.items[3].name), "NVIDIA A40");
    assert_int_equal(judge(&result).status, CB_CHECK_NOT_TESTED);
    build(&result, "NVIDIA A100-SXM4-80GB", 1, 235);
    result.gpus.items[3].rank = -1;
    assert_int_equal(judge(&result).status, CB_CHECK_NOT_TESTED);
    build(&result, "NVIDIA A100-SXM4-80GB", 1, 235);
    result.collectives.items[0].status = CB_STATUS_FAILED;
    check = judge(&result);
    assert_int_equal(check.status, CB_CHECK_NOT_TESTED);
    assert_string_equal(check.summary, "no all_reduce over all ranks was measured");
}

static void test_other_peoples_logs(void **state)
{
    (void)state;
    struct cb_check check;
    struct cb_import import = {.op = "all_reduce",
                               .gpu = "NVIDIA H100 80GB HBM3",
                               .ranks = 8,
                               .nodes = 1,
                               .best_bytes = (uint64_t)(16 * GIB),
                               .best_bus_bytes_per_s = 482e9,
                               .best_in_place_bytes_per_s = 483e9,
                               .state = CB_IMPORT_GRADED};
    assert_true(cb_published_check_import(&import, &check));
    assert_int_equal(check.status, CB_CHECK_MET);
    assert_near(check.actual, 483e9, 1e-12);
    assert_non_null(strstr(check.summary, "483 GB/s, published for 8 x H100 SXM: 480-483 GB/s"));
    import.best_bus_bytes_per_s = import.best_in_place_bytes_per_s = 300e9;
    assert_true(cb_published_check_import(&import, &check));
    assert_int_equal(check.status, CB_CHECK_SHORT);
    /* Over two nodes a log does not tell the links. */
    import.ranks = 16;
    import.nodes = 2;
    assert_true(cb_published_check_import(&import, &check));
    assert_int_equal(check.status, CB_CHECK_NO_REFERENCE);
    assert_non_null(strstr(check.summary, "the links may differ"));
    import.state = CB_IMPORT_INVALID;
    assert_false(cb_published_check_import(&import, &check));
    import.state = CB_IMPORT_PROVISIONAL;
    import.gpu[0] = '\0';
    assert_false(cb_published_check_import(&import, &check));
    import.gpu[0] = 'x';
    import.ranks = 0;
    assert_false(cb_published_check_import(&import, &check));
    import.ranks = 16;
    snprintf(import.op, sizeof(import.op), "sendrecv_x");
    assert_false(cb_published_check_import(&import, &check));
}

/* A ring that somebody asked for is compared with a ring. */
static void test_forced_ring(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_error err;
    build(&result, "NVIDIA H200", 1, 367);
    result.collectives.items[0].size_bytes = (uint64_t)(16 * GIB);
    assert_int_equal(judge(&result).status, CB_CHECK_SHORT);
    build(&result, "NVIDIA H200", 1, 367);
    result.collectives.items[0].size_bytes = (uint64_t)(16 * GIB);
    assert_ok(cb_result_add_environment(&result, "NCCL_NVLS_ENABLE", "0", "user"), &err);
    assert_int_equal(judge(&result).status, CB_CHECK_MET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_node),    cmocka_unit_test(test_nothing_published),
        cmocka_unit_test(test_minimum),     cmocka_unit_test(test_links_between_nodes),
        cmocka_unit_test(test_not_tested),  cmocka_unit_test(test_other_peoples_logs),
        cmocka_unit_test(test_forced_ring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

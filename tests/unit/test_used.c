/* What the ranks' logs add up to: what was used, and what is odd about it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cb_test.h"
#include "measure/used.h"

enum { RANKS = 2 };

static const struct cb_message *find_warning(const struct cb_result *result, const char *code)
{
    for (size_t i = 0; i < result->warnings.count; i++)
        if (strcmp(result->warnings.items[i].code, code) == 0)
            return &result->warnings.items[i];
    return NULL;
}

static void expect_use(const struct cb_result *result, const char *kind, const char *name,
                       int ranks, int connections)
{
    for (size_t i = 0; i < result->transport_used.count; i++) {
        const struct cb_transport_use *use = &result->transport_used.items[i];
        if (strcmp(use->kind, kind) == 0 && strcmp(use->name, name) == 0) {
            assert_int_equal(use->ranks, ranks);
            assert_int_equal(use->connections, connections);
            return;
        }
    }
    fail_msg("no %s %s", kind, name);
}

static void merge(const struct cb_nccl_use ranks[RANKS], struct cb_result *result)
{
    struct cb_error err;
    assert_ok(cb_used_merge(ranks, RANKS, result, &err), &err);
}

/* The same ways on every rank, whatever address its interface has. */
static void test_ranks_are_added_up(void **state)
{
    struct cb_result result;
    struct cb_nccl_use ranks[RANKS] = {{.has_log = true, .rings = true, .collective_channels = 24},
                                       {.has_log = true, .multicast = true}};
    (void)state;
    cb_result_init(&result);
    for (int i = 0; i < RANKS; i++) {
        cb_nccl_use_add(&ranks[i], "P2P/CUMEM", 8);
        cb_nccl_use_add(&ranks[i], "NET/IB/GDRDMA", 4);
        snprintf(ranks[i].network, sizeof(ranks[i].network), "IB");
        snprintf(ranks[i].interfaces, sizeof(ranks[i].interfaces), "mlx5_0:1/IB eth0:10.0.0.%d<0>",
                 i);
    }
    merge(ranks, &result);
    expect_use(&result, "way", "P2P/CUMEM", 2, 16);
    expect_use(&result, "way", "NET/IB/GDRDMA", 2, 8);
    expect_use(&result, "network", "IB", 2, 0);
    expect_use(&result, "interfaces", "mlx5_0:1/IB eth0", 2, 0);
    expect_use(&result, "algorithm", "ring", 1, 24);
    expect_use(&result, "feature", "NVLS multicast", 1, 0);
    assert_int_equal(result.warnings.count, 0);
    cb_result_fini(&result);
}

static void add_rdma_host(struct cb_result *result, bool up)
{
    struct cb_topo_host host = {.name = "b", .nic_count = 1};
    host.nics[0].up = up;
    snprintf(host.nics[0].name, sizeof(host.nics[0].name), "mlx5_0:1");
    snprintf(host.nics[0].kind, sizeof(host.nics[0].kind), "InfiniBand");
    struct cb_topo_host *place = cb_vec_add(&result->nodes);
    assert_non_null(place);
    if (place)
        *place = host;
}

static void test_sockets_are_a_finding(void **state)
{
    struct cb_nccl_use ranks[RANKS] = {{.has_log = true}, {.has_log = true}};
    (void)state;
    cb_nccl_use_add(&ranks[1], "NET/Socket", 2);
    for (int up = 0; up < 2; up++) {
        struct cb_result result;
        cb_result_init(&result);
        add_rdma_host(&result, up);
        merge(ranks, &result);
        const struct cb_message *warning = find_warning(&result, "nccl.sockets");
        assert_non_null(warning);
        const char *expected =
            up ? "NCCL fell back to sockets (TCP) on 1 rank, although mlx5_0:1 (InfiniBand) is up "
                 "on b"
               : "NCCL used sockets (TCP) on 1 rank: no RDMA device is up here";
        assert_string_equal(warning->text, expected);
        assert_non_null(strstr(warning->hint, up ? "libibverbs" : "EFA"));
        cb_result_fini(&result);
    }
}

static void test_host_memory_in_between(void **state)
{
    struct cb_result result;
    struct cb_nccl_use ranks[RANKS] = {{.has_log = true}, {.has_log = true, .bound_far = true}};
    (void)state;
    cb_result_init(&result);
    cb_nccl_use_add(&ranks[0], "SHM", 2);
    cb_nccl_use_add(&ranks[0], "NET/IB", 2);
    snprintf(ranks[1].warning, sizeof(ranks[1].warning), "Call to connect failed");
    merge(ranks, &result);
    assert_non_null(find_warning(&result, "nccl.shared_memory"));
    assert_non_null(find_warning(&result, "nccl.no_gpudirect"));
    assert_non_null(strstr(find_warning(&result, "nccl.bound_far")->text, "the first is 1"));
    assert_string_equal(find_warning(&result, "nccl.warned")->text,
                        "NCCL warned on rank 1: Call to connect failed");
    assert_null(find_warning(&result, "nccl.sockets"));
    assert_null(find_warning(&result, "nccl.no_log"));
    cb_result_fini(&result);
}

/* A network plugin's way has its own name; sockets have a finding of their own. */
static void test_plugins_without_gpudirect(void **state)
{
    static const struct {
        const char *way;
        bool is_finding;
    } cases[] = {{"NET/IBext_v8", true},          {"NET/AWS Libfabric", true},
                 {"NET/IBext_v10/GDRDMA", false}, {"NET/Libfabric/GDRDMA", false},
                 {"NET/Socket", false},           {"P2P/CUMEM", false}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cb_result result;
        struct cb_nccl_use ranks[RANKS] = {{.has_log = true}, {.has_log = true}};
        cb_result_init(&result);
        cb_nccl_use_add(&ranks[0], cases[i].way, 2);
        merge(ranks, &result);
        const struct cb_message *warning = find_warning(&result, "nccl.no_gpudirect");
        assert_int_equal(warning != NULL, cases[i].is_finding);
        if (warning)
            assert_non_null(strstr(warning->text, cases[i].way));
        cb_result_fini(&result);
    }
}

static void test_ranks_without_a_file(void **state)
{
    struct cb_result result;
    struct cb_nccl_use ranks[RANKS] = {{.has_log = true}, {.no_file_errno = EMFILE}};
    (void)state;
    cb_result_init(&result);
    merge(ranks, &result);
    const struct cb_message *warning = find_warning(&result, "nccl.no_log");
    assert_non_null(warning);
    assert_non_null(strstr(warning->text, "of 1 of 2 ranks"));
    assert_non_null(strstr(warning->text, strerror(EMFILE)));
    cb_result_fini(&result);
}

/* Not known is said, and is no finding. */
static void test_output_that_the_user_keeps(void **state)
{
    struct cb_result result;
    struct cb_nccl_use ranks[RANKS] = {{.is_kept = true}, {.is_kept = true}};
    (void)state;
    cb_result_init(&result);
    merge(ranks, &result);
    assert_int_equal(result.transport_used.count, 0);
    assert_int_equal(result.warnings.count, 1);
    assert_non_null(find_warning(&result, "nccl.no_log"));
    cb_result_fini(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_are_added_up),
        cmocka_unit_test(test_sockets_are_a_finding),
        cmocka_unit_test(test_host_memory_in_between),
        cmocka_unit_test(test_plugins_without_gpudirect),
        cmocka_unit_test(test_ranks_without_a_file),
        cmocka_unit_test(test_output_that_the_user_keeps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

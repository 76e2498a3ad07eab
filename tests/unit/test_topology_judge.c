#include "cb_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/topology.h"

#define SET(member, text) snprintf(member, sizeof(member), "%s", text)

/* ---- two nodes alike: two GPUs, an RDMA port each, one interface for the job's route ---- */

static void add_map(struct cb_result *result, const char *kind, double bytes_per_s)
{
    struct cb_facts *map = cb_vec_add(&result->maps);
    assert_non_null(map);
    cb_facts_init(map);
    for (int i = 0; i < 2; i++) {
        struct cb_facts_gpu *gpu = &map->gpus[map->gpu_count++];
        cb_facts_gpu_init(gpu);
        gpu->index = i;
        gpu->nvlinks = gpu->nvlink_switch = 12;
        gpu->nvlink_version = 30;
        gpu->pcie = (struct cb_facts_pcie){1, 16, 4, 16, 4, false};
        struct cb_facts_nic *nic = &map->nics[map->nic_count++];
        cb_facts_nic_init(nic);
        snprintf(nic->port.name, sizeof(nic->port.name), "mlx5_%d:1", i);
        SET(nic->port.kind, kind);
        nic->port.up = true;
        nic->port.nominal_bytes_per_s = nic->port.stated_bytes_per_s = bytes_per_s;
    }
    struct cb_facts_nic *nic = &map->nics[map->nic_count++];
    cb_facts_nic_init(nic);
    SET(nic->port.name, "eth0");
    SET(nic->port.kind, "Ethernet");
    SET(nic->port.driver, "virtio_net");
    nic->port.up = nic->port.used = true;
    nic->port.nominal_bytes_per_s = nic->port.stated_bytes_per_s = 1.25e9;
}

static void add_node(struct cb_result *result, int map)
{
    struct cb_topo_host *node = cb_vec_add(&result->nodes);
    assert_non_null(node);
    node->map = map;
    for (int i = 0; i < 2; i++) {
        struct cb_rank *rank = cb_vec_add(&result->ranks);
        assert_non_null(rank);
        rank->node = (int)result->nodes.count - 1;
        rank->rank = (int)result->ranks.count - 1;
        rank->locality = CB_LOCALITY_NEAR;
    }
}

static void add_row(struct cb_result *result, enum cb_op op, enum cb_scope scope, uint64_t bytes,
                    double bus_bytes_per_s)
{
    struct cb_collective_row *row = cb_vec_add(&result->collectives);
    assert_non_null(row);
    row->op = op;
    row->scope = scope;
    row->size_bytes = bytes;
    row->bus_bytes_per_s = bus_bytes_per_s;
}

static int make_result(void **state)
{
    struct cb_result *result = malloc(sizeof(*result));
    assert_non_null(result);
    cb_result_init(result);
    add_map(result, "InfiniBand", 25e9);
    add_node(result, 1);
    add_node(result, 1);
    add_row(result, CB_OP_ALL_REDUCE, CB_SCOPE_WORLD, 1024, 1e9);
    add_row(result, CB_OP_ALL_REDUCE, CB_SCOPE_WORLD, 1 << 20, 40e9);
    add_row(result, CB_OP_ALL_GATHER, CB_SCOPE_INTER_NODE, 1 << 20, 23e9);
    add_row(result, CB_OP_ALL_REDUCE, CB_SCOPE_INTRA_NODE, 1 << 20, 230e9);
    *state = result;
    return 0;
}

static int free_result(void **state)
{
    cb_result_fini(*state);
    free(*state);
    return 0;
}

static void use(struct cb_result *result, const char *kind, const char *name)
{
    struct cb_transport_use *row = cb_vec_add(&result->transport_used);
    assert_non_null(row);
    SET(row->kind, kind);
    SET(row->name, name);
}

/* ---- crossings ---- */

static cb_crossing_list cross(const struct cb_result *result, double offered)
{
    const struct cb_offered_network network = {.nominal_bytes_per_s = offered};
    struct cb_error err;
    cb_crossing_list list = {0};
    assert_ok(cb_topology_crossings(result, &network, &list, &err), &err);
    return list;
}

static void check(cb_crossing_list *list, enum cb_scope scope, double measured, double nominal,
                  const char *link, const char *note)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct cb_crossing *row = &list->items[i];
        if (row->scope != scope)
            continue;
        assert_near(row->measured_bytes_per_s, measured, 1e-9);
        assert_near(row->nominal_bytes_per_s, nominal, 1e-9);
        assert_string_equal(row->link, link);
        if (!strstr(row->note, note))
            fail_msg("\"%s\" is not in \"%s\"", note, row->note);
        return;
    }
    fail_msg("no row of scope %d", scope);
}

static void test_over_nccl(void **state)
{
    struct cb_result *result = *state;
    SET(result->transport, "nccl");
    use(result, "network", "IB");
    cb_crossing_list list = cross(result, 0);
    assert_int_equal(list.count, 3);
    check(&list, CB_SCOPE_WORLD, 40e9, 50e9, "InfiniBand mlx5_0:1 and 1 more", "own rate");
    check(&list, CB_SCOPE_INTER_NODE, 23e9, 25e9, "InfiniBand mlx5_0:1", "own rate");
    /* 12 links of the third generation, 25 GB/s each way */
    check(&list, CB_SCOPE_INTRA_NODE, 230e9, 300e9, "NVLink x12 through NVSwitch", "data sheet");
    cb_vec_fini(&list);
}

/* Two nodes of eight: (k-1)n / (k(n-1)) = 8/15 of the bus bandwidth. */
static void test_wire_carries_less_than_bus_bandwidth(void **state)
{
    struct cb_result *result = *state;
    const int ranks[] = {
        [CB_SCOPE_WORLD] = 16, [CB_SCOPE_INTRA_NODE] = 8, [CB_SCOPE_INTER_NODE] = 2};
    assert_int_equal(result->nodes.count, 2);
    for (size_t i = 0; i < result->collectives.count; i++)
        result->collectives.items[i].ranks = ranks[result->collectives.items[i].scope];
    cb_crossing_list list = cross(result, 0);
    for (size_t i = 0; i < list.count; i++) {
        const struct cb_crossing *row = &list.items[i];
        double expected = row->scope == CB_SCOPE_INTRA_NODE ? 0
                          : row->scope == CB_SCOPE_WORLD    ? 40e9 * 8 / 15
                                                            : 23e9;
        assert_near(row->least_wire_bytes_per_s, expected, 1e-9);
    }
    assert_int_equal(list.count, 3);
    cb_vec_fini(&list);
}

static void test_over_sockets(void **state)
{
    struct cb_result *result = *state;
    SET(result->transport, "nccl");
    use(result, "network", "Socket");
    cb_crossing_list list = cross(result, 0);
    check(&list, CB_SCOPE_INTER_NODE, 23e9, 1.25e9, "Ethernet eth0", "route");
    cb_vec_fini(&list);
}

static void test_over_mpi(void **state)
{
    struct cb_result *result = *state;
    SET(result->transport, "mpi");
    cb_crossing_list list = cross(result, 0);
    check(&list, CB_SCOPE_WORLD, 40e9, 1.25e9, "Ethernet eth0", "route");
    check(&list, CB_SCOPE_INTRA_NODE, 230e9, 0, "", "memory");
    cb_vec_fini(&list);
}

static void test_offer_comes_first(void **state)
{
    struct cb_result *result = *state;
    SET(result->transport, "mpi");
    cb_crossing_list list = cross(result, 12.5e9);
    check(&list, CB_SCOPE_INTER_NODE, 23e9, 12.5e9, "Ethernet eth0", "advertised");
    check(&list, CB_SCOPE_INTRA_NODE, 230e9, 0, "", "memory");
    cb_vec_fini(&list);
}

static void test_made_up_rate_is_unknown(void **state)
{
    struct cb_result *result = *state;
    SET(result->transport, "mpi");
    result->maps.items[0].nics[2].port.nominal_bytes_per_s = 0;
    cb_crossing_list list = cross(result, 0);
    check(&list, CB_SCOPE_INTER_NODE, 23e9, 0, "Ethernet eth0", "virtio_net makes its rate up");
    cb_vec_fini(&list);
}

static void test_slowest_kind_of_node_counts(void **state)
{
    struct cb_result *result = *state;
    SET(result->transport, "nccl");
    use(result, "network", "IB");
    add_map(result, "RoCE", 12.5e9);
    add_node(result, 2);
    cb_crossing_list list = cross(result, 0);
    check(&list, CB_SCOPE_INTER_NODE, 23e9, 12.5e9, "RoCE mlx5_0:1", "own rate");
    cb_vec_fini(&list);
}

static void test_gpus_without_nvlink(void **state)
{
    struct cb_result *result = *state;
    SET(result->transport, "nccl");
    for (int i = 0; i < 2; i++)
        result->maps.items[0].gpus[i].nvlinks = 0;
    cb_crossing_list list = cross(result, 0);
    /* 16 lanes of 16 GT/s, 128 bits in 130, as the table of links rounds it */
    check(&list, CB_SCOPE_INTRA_NODE, 230e9, 31.508e9, "PCIe 4 x16", "slot");
    cb_vec_fini(&list);
}

static void test_nothing_without_maps(void **state)
{
    struct cb_result *result = *state;
    cb_vec_fini(&result->maps);
    cb_crossing_list list = cross(result, 0);
    assert_int_equal(list.count, 0);
}

/* ---- findings ---- */

static size_t count_findings(const struct cb_result *result, const char *kind, const char *code,
                             int *map, char *seen, size_t size_bytes)
{
    const struct cb_offered_network network = {.kind = kind};
    struct cb_error err;
    cb_node_finding_list list = {0};
    size_t count = 0;
    assert_ok(cb_topology_findings(result, &network, &list, &err), &err);
    for (size_t i = 0; i < list.count; i++) {
        if (strcmp(list.items[i].finding.code, code) != 0)
            continue;
        *map = list.items[i].map;
        snprintf(seen, size_bytes, "%s", list.items[i].finding.seen);
        count++;
    }
    cb_vec_fini(&list);
    return count;
}

static void test_rank_of_the_second_kind(void **state)
{
    struct cb_result *result = *state;
    char seen[256];
    int map = -1;
    add_map(result, "InfiniBand", 25e9);
    add_node(result, 2);
    assert_int_equal(count_findings(result, NULL, "rank.away", &map, seen, sizeof(seen)), 0);
    result->ranks.items[5].locality = CB_LOCALITY_AWAY;
    SET(result->ranks.items[5].device, "GPU 0000:0f:00.0");
    assert_int_equal(count_findings(result, NULL, "rank.away", &map, seen, sizeof(seen)), 1);
    assert_int_equal(map, 1);
    assert_non_null(strstr(seen, "rank 5 runs on no CPU that is near its GPU 0000:0f:00.0"));
}

static void test_burn_tells_idling_from_a_slow_slot(void **state)
{
    struct cb_result *result = *state;
    char seen[256];
    int map;
    struct cb_gpu *gpu = cb_vec_add(&result->gpus);
    assert_non_null(gpu);
    gpu->node = gpu->rank = gpu->index = 1;
    struct cb_burn_row *burn = cb_vec_add(&result->burns);
    assert_non_null(burn);
    burn->rank = 1;
    burn->pcie_generation = 4;
    assert_int_equal(count_findings(result, NULL, "pcie.generation", &map, seen, sizeof(seen)), 0);
    burn->pcie_generation = 3;
    assert_int_equal(count_findings(result, NULL, "pcie.generation", &map, seen, sizeof(seen)), 1);
    assert_non_null(strstr(seen, "GPU1"));
    assert_false(result->maps.items[0].gpus[1].pcie.loaded); /* the map stays as it is */
}

static void test_transfer_tells_it_too(void **state)
{
    struct cb_result *result = *state;
    char seen[256];
    int map;
    struct cb_gpu *gpu = cb_vec_add(&result->gpus);
    assert_non_null(gpu);
    gpu->index = 1;
    struct cb_kernel_row *rows[2] = {cb_vec_add(&result->kernels), cb_vec_add(&result->kernels)};
    assert_non_null(rows[1]);
    result->kernels.items[0].pcie_generation = 1; /* before the link woke up */
    result->kernels.items[1].pcie_generation = 4;
    assert_int_equal(count_findings(result, NULL, "pcie.generation", &map, seen, sizeof(seen)), 0);
    result->kernels.items[1].pcie_generation = 3;
    assert_int_equal(count_findings(result, NULL, "pcie.generation", &map, seen, sizeof(seen)), 1);
    assert_non_null(strstr(seen, "GPU1  ran PCIe generation 3 under load, 4 is possible"));
}

static void test_offered_kind(void **state)
{
    struct cb_result *result = *state;
    char seen[256];
    int map;
    const char *code = "offer.not_infiniband";
    assert_int_equal(count_findings(result, "InfiniBand", code, &map, seen, sizeof(seen)), 0);
    for (int i = 0; i < 2; i++)
        SET(result->maps.items[0].nics[i].port.kind, "RoCE");
    assert_int_equal(count_findings(result, "InfiniBand", code, &map, seen, sizeof(seen)), 1);
    assert_int_equal(count_findings(result, NULL, code, &map, seen, sizeof(seen)), 0);
}

#define WITH_RESULT(test) cmocka_unit_test_setup_teardown(test, make_result, free_result)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_RESULT(test_over_nccl),
        WITH_RESULT(test_wire_carries_less_than_bus_bandwidth),
        WITH_RESULT(test_over_sockets),
        WITH_RESULT(test_over_mpi),
        WITH_RESULT(test_offer_comes_first),
        WITH_RESULT(test_made_up_rate_is_unknown),
        WITH_RESULT(test_slowest_kind_of_node_counts),
        WITH_RESULT(test_gpus_without_nvlink),
        WITH_RESULT(test_nothing_without_maps),
        WITH_RESULT(test_rank_of_the_second_kind),
        WITH_RESULT(test_burn_tells_idling_from_a_slow_slot),
        WITH_RESULT(test_transfer_tells_it_too),
        WITH_RESULT(test_offered_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

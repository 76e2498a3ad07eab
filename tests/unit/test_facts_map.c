#include "cb_test.h"

#include <stdio.h>
#include <string.h>

#include "topology/facts.h"
#include "topology/map.h"

static int add(struct cb_map_builder *builder, enum cb_device_kind kind, const char *name,
               const char *bus_id, int parent)
{
    struct cb_map_device device = cb_map_device_blank(kind);
    struct cb_error err;
    snprintf(device.name, sizeof(device.name), "%s", name);
    snprintf(device.bus_id, sizeof(device.bus_id), "%s", bus_id);
    device.parent = parent;
    if (kind == CB_DEVICE_NIC) {
        device.port = CB_MAP_LINK_INFINIBAND;
        device.is_rdma = true;
        device.up = CB_UP_YES;
        device.port_bytes_per_s = 25e9;
    }
    if (kind == CB_DEVICE_NUMA) {
        snprintf(device.nodes, sizeof(device.nodes), "%c", name[0]);
        device.numa = name[0] - '0';
        device.has_cpus = true;
    }
    int index = cb_map_builder_add(builder, &device, &err);
    assert_true(index >= 0);
    return index;
}

/* Two NUMA nodes, a GPU in each, one NIC beside the first; the GPUs share four NVLinks. */
static void make_map(struct cb_map *map)
{
    struct cb_map_builder builder;
    struct cb_error err;
    cb_map_builder_init(&builder, CB_MAP_FROM_NCCL);
    int near = add(&builder, CB_DEVICE_NUMA, "0", "", -1);
    int far = add(&builder, CB_DEVICE_NUMA, "1", "", -1);
    int port = add(&builder, CB_DEVICE_PCI_BRIDGE, "", "0000:01:00.0", near);
    int first = add(&builder, CB_DEVICE_GPU, "GPU0", "0000:02:00.0", port);
    add(&builder, CB_DEVICE_NIC, "mlx5_0", "0000:03:00.0", port);
    int second = add(&builder, CB_DEVICE_GPU, "GPU1", "0000:81:00.0", far);
    const struct cb_map_link link = {.a = first,
                                     .b = second,
                                     .kind = CB_MAP_LINK_NVLINK,
                                     .generation = 3,
                                     .count = 4,
                                     .bytes_per_s_one_way = 100e9};
    assert_ok(cb_map_builder_link(&builder, &link, &err), &err);
    assert_ok(cb_map_builder_finish(&builder, map, &err), &err);
    cb_map_builder_fini(&builder);
}

static void check_paths(const struct cb_facts *facts, const char *nic)
{
    const struct cb_facts_link *pair = &facts->links[cb_facts_find_link(facts, "GPU0", "GPU1")];
    assert_string_equal(pair->path, "NV4");
    assert_string_equal(pair->kind, "NVLink");
    assert_int_equal(pair->nvlinks, 4);
    assert_near(pair->bytes_per_s_one_way, 100e9, 1e-9);
    assert_string_equal(facts->links[cb_facts_find_link(facts, "GPU0", nic)].path, "PIX");
    assert_string_equal(facts->links[cb_facts_find_link(facts, "GPU1", nic)].path, "SYS");
}

static void test_facts_of_a_map(void **state)
{
    static struct cb_facts facts;
    struct cb_map map;
    (void)state;
    make_map(&map);
    cb_facts_from_map(&map, &facts);
    assert_int_equal(facts.gpu_count, 2);
    assert_string_equal(facts.gpus[1].bus_id, "0000:81:00.0");
    assert_int_equal(facts.gpus[1].nvlinks, 4);
    assert_int_equal(facts.gpus[1].numa, 1);
    assert_int_equal(facts.nic_count, 1);
    assert_string_equal(facts.nics[0].port.kind, "InfiniBand");
    assert_near(facts.nics[0].port.nominal_bytes_per_s, 25e9, 1e-9);
    assert_string_equal(facts.tcp_congestion, "");
    check_paths(&facts, "mlx5_0");
    cb_map_fini(&map);
}

static void test_paths_for_known_devices(void **state)
{
    static struct cb_facts facts;
    struct cb_map map;
    (void)state;
    cb_facts_init(&facts);
    for (int i = 0; i < 2; i++) {
        struct cb_facts_gpu *gpu = &facts.gpus[facts.gpu_count++];
        cb_facts_gpu_init(gpu);
        gpu->index = i;
        snprintf(gpu->bus_id, sizeof(gpu->bus_id), "%s", i ? "0000:81:00.0" : "0000:02:00.0");
    }
    cb_facts_nic_init(&facts.nics[facts.nic_count++]);
    snprintf(facts.nics[0].port.name, sizeof(facts.nics[0].port.name), "mlx5_0:1");
    cb_facts_add_link(&facts, "GPU0", "GPU1")->peer_access = CB_PEER_OK;
    make_map(&map);
    cb_facts_add_paths(&map, &facts);
    check_paths(&facts, "mlx5_0:1");
    assert_int_equal(facts.link_count, 3);
    assert_int_equal(facts.links[0].peer_access, CB_PEER_OK);
    assert_int_equal(facts.gpus[1].numa, 1);
    cb_map_fini(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts_of_a_map),
        cmocka_unit_test(test_paths_for_known_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

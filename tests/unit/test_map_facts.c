/* What the kernel and NVML say of a machine, put into its map. */
#include <stdio.h>
#include <string.h>

#include "cb_test.h"
#include "topology/facts.h"
#include "topology/map.h"

/* A host bridge with two GPUs and a NIC whose port is not known. */
static struct cb_map make_map(void)
{
    struct cb_map_builder builder;
    struct cb_map map = {.has_tree = false};
    struct cb_error err;
    cb_map_builder_init(&builder, CB_MAP_LIVE);
    struct cb_map_device device = cb_map_device_blank(CB_DEVICE_NUMA);
    device.numa = 0;
    device.has_cpus = true;
    assert_int_equal(cb_map_builder_add(&builder, &device, &err), 0);
    device = cb_map_device_blank(CB_DEVICE_HOST_BRIDGE);
    device.parent = 0;
    assert_int_equal(cb_map_builder_add(&builder, &device, &err), 1);
    for (int i = 0; i < 3; i++) {
        device = cb_map_device_blank(i < 2 ? CB_DEVICE_GPU : CB_DEVICE_NIC);
        device.parent = 1;
        snprintf(device.bus_id, sizeof(device.bus_id), "0000:0%d:00.0", i + 1);
        snprintf(device.name, sizeof(device.name), "%s", i < 2 ? "" : "mlx5_0");
        assert_int_equal(cb_map_builder_add(&builder, &device, &err), 2 + i);
    }
    builder.map.has_tree = true;
    assert_ok(cb_map_builder_finish(&builder, &map, &err), &err);
    return map;
}

/* NVML counts the other way round than the PCI tree. */
static void fill_facts(struct cb_facts *facts)
{
    cb_facts_init(facts);
    facts->gpu_count = facts->gpus_found = 2;
    for (int i = 0; i < 2; i++) {
        struct cb_facts_gpu *gpu = &facts->gpus[i];
        cb_facts_gpu_init(gpu);
        gpu->index = i;
        snprintf(gpu->name, sizeof(gpu->name), "Card %d", i);
        snprintf(gpu->bus_id, sizeof(gpu->bus_id), "0000:0%d:00.0", 2 - i);
        gpu->compute_capability = 80;
        gpu->nvlink_version = 30;
    }
    struct cb_facts_link *link = cb_facts_add_link(facts, "GPU0", "GPU1");
    snprintf(link->kind, sizeof(link->kind), "NVLink");
    snprintf(link->path, sizeof(link->path), "NV4");
    link->nvlinks = 4;
    link->bytes_per_s_one_way = 100e9;
    facts->nic_count = facts->nics_found = 1;
    cb_facts_nic_init(&facts->nics[0]);
    snprintf(facts->nics[0].port.name, sizeof(facts->nics[0].port.name), "mlx5_0:1");
    snprintf(facts->nics[0].port.kind, sizeof(facts->nics[0].port.kind), "RoCE");
    snprintf(facts->nics[0].bus_id, sizeof(facts->nics[0].bus_id), "0000:03:00.0");
    facts->nics[0].port.nominal_bytes_per_s = 12.5e9;
    facts->nics[0].port.up = true;
}

static void test_devices_and_links(void **state)
{
    (void)state;
    static struct cb_facts facts;
    struct cb_map map = make_map();
    struct cb_map_path path;
    struct cb_error err;
    fill_facts(&facts);
    assert_ok(cb_map_complete(&facts, &map, &err), &err);
    assert_int_equal(map.devices.count, 5);
    assert_true(map.has_tree);
    const struct cb_map_device *gpu = &map.devices.items[map.gpus.items[0]];
    assert_string_equal(gpu->name, "GPU1");
    assert_string_equal(gpu->model, "Card 1");
    assert_int_equal(gpu->gpu_index, 1);
    assert_int_equal(gpu->numa, 0);
    const struct cb_map_device *nic = &map.devices.items[map.nics.items[0]];
    assert_int_equal(nic->port, CB_MAP_LINK_ROCE);
    assert_true(nic->is_rdma);
    assert_int_equal(nic->up, CB_UP_YES);
    assert_near(nic->port_bytes_per_s, 12.5e9, 0);
    cb_map_path(&map, cb_map_find(&map, "GPU0"), cb_map_find(&map, "GPU1"), &path);
    assert_int_equal(path.kind, CB_MAP_LINK_NVLINK);
    assert_int_equal(path.count, 4);
    assert_int_equal(path.generation, 3);
    assert_int_equal(path.path_class, CB_CLASS_PHB);
    /* Once more changes nothing. */
    assert_ok(cb_map_complete(&facts, &map, &err), &err);
    assert_int_equal(map.links.count, 1);
    assert_int_equal(map.links.items[0].count, 4);
    cb_map_fini(&map);
}

/* A container that hides the PCI tree: NVML still tells GPUs, and how near they are. */
static void test_hidden_tree(void **state)
{
    (void)state;
    static struct cb_facts facts;
    struct cb_map map = {.source = CB_MAP_LIVE};
    struct cb_error err;
    fill_facts(&facts);
    facts.links[0].nvlinks = 0;
    snprintf(facts.links[0].kind, sizeof(facts.links[0].kind), "PCIe");
    snprintf(facts.links[0].path, sizeof(facts.links[0].path), "NODE");
    assert_ok(cb_map_complete(&facts, &map, &err), &err);
    assert_int_equal(map.gpus.count, 2);
    assert_int_equal(map.nics.count, 1);
    assert_int_equal(cb_map_class(&map, map.gpus.items[0], map.gpus.items[1]), CB_CLASS_NODE);
    assert_int_equal(cb_map_class(&map, map.gpus.items[0], map.nics.items[0]), CB_CLASS_UNKNOWN);
    assert_int_equal(map.devices.items[map.gpus.items[0]].numa, -1);
    cb_map_fini(&map);
}

/* A bridge that software made is no device of the machine. */
static void test_made_up_interfaces(void **state)
{
    (void)state;
    static struct cb_facts facts;
    struct cb_map map = {.source = CB_MAP_LIVE};
    struct cb_error err;
    fill_facts(&facts);
    facts.nics[0].bus_id[0] = '\0';
    assert_ok(cb_map_complete(&facts, &map, &err), &err);
    assert_int_equal(map.nics.count, 0);
    cb_map_fini(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices_and_links),
        cmocka_unit_test(test_hidden_tree),
        cmocka_unit_test(test_made_up_interfaces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

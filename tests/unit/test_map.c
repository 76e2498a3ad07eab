/* Maps of machines that nobody built: what a builder is given, what follows from it, and what the
 * readers of files take and refuse. */
#include "topology/map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cb_test.h"
#include "topology/map_read.h"

/* ---- a machine by hand ---- */

struct machine {
    struct cb_map_builder builder;
    int numa[2], host_bridge[4], gpu[4], nic[4];
};

static int add(struct cb_map_builder *builder, enum cb_device_kind kind, int parent,
               const char *name)
{
    struct cb_error err = {0};
    struct cb_map_device device = cb_map_device_blank(kind);
    device.parent = parent;
    snprintf(device.name, sizeof(device.name), "%s", name);
    int index = cb_map_builder_add(builder, &device, &err);
    if (index < 0)
        fail_msg("%s", err.what);
    return index;
}

static int add_numa(struct cb_map_builder *builder, int node)
{
    struct cb_map_device numa = cb_map_device_blank(CB_DEVICE_NUMA);
    numa.numa = node;
    numa.has_cpus = true;
    snprintf(numa.name, sizeof(numa.name), "NUMA %d", node);
    return cb_map_builder_add(builder, &numa, NULL);
}

/* A GPU or NIC of generation 4, 16 lanes, or as wide as said. */
static int add_card(struct cb_map_builder *builder, enum cb_device_kind kind, int parent,
                    const char *name, int lanes)
{
    struct cb_map_device card = cb_map_device_blank(kind);
    card.parent = parent;
    card.pcie.transfers_per_s = 16e9;
    card.pcie.lanes = lanes;
    card.is_rdma = kind == CB_DEVICE_NIC;
    snprintf(card.name, sizeof(card.name), "%s", name);
    return cb_map_builder_add(builder, &card, NULL);
}

/* Node 0: host bridge 0 has a switch (port above, two ports below) with GPU0 and NIC0, and on a
 * root port of its own NIC1; host bridge 1 has GPU1. Node 1: GPU2 and NIC2, each below a host
 * bridge. */
static void build(struct machine *m, enum cb_map_source source)
{
    struct cb_map_builder *b = &m->builder;
    cb_map_builder_init(b, source);
    m->numa[0] = add_numa(b, 0);
    m->numa[1] = add_numa(b, 8);
    for (int i = 0; i < 4; i++)
        m->host_bridge[i] = add(b, CB_DEVICE_HOST_BRIDGE, m->numa[i / 2], "host bridge");
    int root = add(b, CB_DEVICE_PCI_BRIDGE, m->host_bridge[0], "root port");
    int above = add(b, CB_DEVICE_PCI_BRIDGE, root, "switch");
    int left = add(b, CB_DEVICE_PCI_BRIDGE, above, "left"),
        right = add(b, CB_DEVICE_PCI_BRIDGE, above, "right");
    m->gpu[0] = add_card(b, CB_DEVICE_GPU, left, "GPU0", 16);
    m->nic[0] = add_card(b, CB_DEVICE_NIC, right, "NIC0", 8);
    m->nic[1] = add_card(b, CB_DEVICE_NIC, m->host_bridge[0], "NIC1", 16);
    m->gpu[1] = add_card(b, CB_DEVICE_GPU, m->host_bridge[1], "GPU1", 16);
    m->gpu[2] = add_card(b, CB_DEVICE_GPU, m->host_bridge[2], "GPU2", 16);
    m->nic[2] = add_card(b, CB_DEVICE_NIC, m->host_bridge[3], "NIC2", 16);
}

static void finish(struct machine *m, struct cb_map *map)
{
    struct cb_error err = {0};
    assert_ok(cb_map_builder_finish(&m->builder, map, &err), &err);
}

static void assert_note(const struct cb_map *map, const char *code, const char *seen)
{
    for (size_t i = 0; i < map->notes.count; i++) {
        const struct cb_map_note *note = &map->notes.items[i];
        if (strcmp(note->code, code) != 0)
            continue;
        assert_false(note->is_wrong);
        assert_true(note->why[0] && note->remedy[0]);
        if (!strstr(note->seen, seen))
            fail_msg("\"%s\" does not say \"%s\"", note->seen, seen);
        return;
    }
    fail_msg("no note %s", code);
}

static void assert_class(const struct cb_map *map, int a, int b, enum cb_path_class expected)
{
    assert_string_equal(cb_path_class_name(cb_map_class(map, a, b)), cb_path_class_name(expected));
    assert_int_equal(cb_map_class(map, b, a), expected);
}

static void test_classes_follow_from_the_tree(void **state)
{
    (void)state;
    struct machine m;
    struct cb_map map;
    build(&m, CB_MAP_FROM_HWLOC);
    int deep =
        add(&m.builder, CB_DEVICE_PCI_BRIDGE, 8, "cascade"); /* below the switch's left port */
    m.nic[3] = add_card(&m.builder, CB_DEVICE_NIC, deep, "NIC3", 16);
    finish(&m, &map);
    assert_string_equal(map.devices.items[8].name, "left");
    assert_class(&map, m.gpu[0], m.gpu[0], CB_CLASS_SELF);
    assert_class(&map, m.gpu[0], m.nic[0], CB_CLASS_PIX);
    assert_class(&map, m.nic[0], m.nic[3], CB_CLASS_PXB);
    assert_class(&map, m.gpu[0], m.nic[1], CB_CLASS_PHB);
    assert_class(&map, m.gpu[1], m.nic[0], CB_CLASS_NODE);
    assert_class(&map, m.gpu[2], m.nic[2], CB_CLASS_NODE);
    assert_class(&map, m.gpu[0], m.nic[2], CB_CLASS_SYS);
    assert_int_equal(map.devices.items[m.gpu[2]].numa, 8);
    cb_map_fini(&map);
}

static void test_nccl_has_classes_of_its_own(void **state)
{
    (void)state;
    struct machine m;
    struct cb_map map;
    build(&m, CB_MAP_FROM_NCCL);
    finish(&m, &map);
    assert_class(&map, m.gpu[0], m.nic[0], CB_CLASS_PXB); /* every bridge counts as a switch */
    assert_class(&map, m.gpu[1], m.nic[1], CB_CLASS_PHB); /* no NODE there */
    assert_class(&map, m.gpu[1], m.gpu[2], CB_CLASS_SYS);
    cb_map_fini(&map);
}

static void test_unknown_places_stay_unknown(void **state)
{
    (void)state;
    struct machine m;
    struct cb_map map;
    struct cb_map_path path;
    struct cb_map_nearest nearest;
    char buffer[16];
    build(&m, CB_MAP_FROM_HWLOC);
    struct cb_map_device whole = cb_map_device_blank(CB_DEVICE_NUMA);
    whole.is_whole = true;
    int machine = cb_map_builder_add(&m.builder, &whole, NULL);
    int placeless = add_card(&m.builder, CB_DEVICE_GPU, -1, "placeless", 16);
    int one = add_card(&m.builder, CB_DEVICE_GPU, machine, "one", 16);
    int bridge = add(&m.builder, CB_DEVICE_HOST_BRIDGE, machine, "bridge");
    int two = add_card(&m.builder, CB_DEVICE_NIC, bridge, "two", 16);
    int three = add_card(&m.builder, CB_DEVICE_GPU, bridge, "three", 16);
    finish(&m, &map);
    assert_class(&map, placeless, m.gpu[0], CB_CLASS_UNKNOWN);
    assert_class(&map, one, m.gpu[0], CB_CLASS_UNKNOWN);
    assert_class(&map, one, two, CB_CLASS_UNKNOWN);
    assert_class(&map, two, three, CB_CLASS_PHB);
    cb_map_path(&map, placeless, m.gpu[0], &path);
    assert_int_equal(path.kind, CB_MAP_LINK_UNKNOWN);
    assert_near(path.bytes_per_s_one_way, 0, 0);
    assert_null(cb_map_path_name(&path, buffer));
    cb_map_nearest_nics(&map, placeless, NULL, 0, &nearest);
    assert_int_equal(nearest.count, 0);
    assert_int_equal(nearest.first_of_equals, -1);
    assert_int_equal(map.devices.items[placeless].numa, -1);
    assert_note(&map, "map.no_place", "placeless and 3 more");
    cb_map_fini(&map);
}

static void test_paths_name_their_bottleneck(void **state)
{
    (void)state;
    struct machine m;
    struct cb_map map;
    struct cb_map_path path;
    bool by_pcie;
    build(&m, CB_MAP_FROM_HWLOC);
    m.builder.map.devices.items[m.nic[0]].port_bytes_per_s = 25e9;
    m.builder.map.devices.items[m.nic[1]].port_bytes_per_s = 25e9;
    finish(&m, &map);
    cb_map_path(&map, m.gpu[0], m.nic[0], &path);
    assert_int_equal(path.kind, CB_MAP_LINK_PCIE);
    assert_int_equal(path.generation, 4);
    assert_int_equal(path.count, 8);
    assert_int_equal(path.bottleneck, m.nic[0]);
    assert_false(path.is_upper_bound);
    assert_near(path.bytes_per_s_one_way, 15.754e9, 1e-4);
    assert_near(cb_map_wire_bytes_per_s(&map, m.gpu[0], m.nic[0], &by_pcie), 15.754e9, 1e-4);
    assert_true(by_pcie);
    assert_near(cb_map_wire_bytes_per_s(&map, m.gpu[0], m.nic[1], &by_pcie), 25e9, 0);
    assert_false(by_pcie);
    assert_near(cb_map_wire_bytes_per_s(&map, m.gpu[0], m.nic[2], &by_pcie), 0, 0);
    cb_map_path(&map, m.gpu[0], m.gpu[2], &path);
    assert_true(path.is_upper_bound); /* between the sockets nobody knows */
    assert_near(path.bytes_per_s_one_way, 31.508e9, 1e-4);
    cb_map_fini(&map);
}

static void test_rates_that_cannot_be_are_unknown(void **state)
{
    (void)state;
    struct machine m;
    struct cb_map map;
    build(&m, CB_MAP_FROM_HWLOC);
    struct cb_map_device *devices = m.builder.map.devices.items;
    devices[m.gpu[1]].pcie.transfers_per_s = 2.5e9; /* at rest */
    devices[m.gpu[2]].pcie =
        (struct cb_map_pcie){.bytes_per_s = 4e9}; /* the same, as hwloc says it */
    devices[7].pcie = (struct cb_map_pcie){.transfers_per_s = 2.5e9, .lanes = 1}; /* virtual */
    devices[6].pcie = (struct cb_map_pcie){.bytes_per_s = 7.877e9}; /* 8 lanes of generation 3 */
    finish(&m, &map);
    assert_near(cb_map_uplink_bytes_per_s(&map, m.gpu[1]), 0, 0);
    assert_near(cb_map_uplink_bytes_per_s(&map, m.gpu[2]), 0, 0);
    assert_near(cb_map_uplink_bytes_per_s(&map, 7), 0, 0);
    assert_near(cb_map_uplink_bytes_per_s(&map, 6), 7.877e9, 0);
    assert_near(cb_map_uplink_bytes_per_s(&map, m.gpu[0]), 31.508e9, 1e-4);
    cb_map_fini(&map);
}

static void test_nominal_rates_of_pcie(void **state)
{
    (void)state;
    assert_near(cb_pcie_bytes_per_s(8e9, 16), 15.754e9, 1e-4);
    assert_near(cb_pcie_bytes_per_s(32e9, 4), 15.754e9, 1e-4);
    assert_near(cb_pcie_bytes_per_s(2.5e9, 1), 0.25e9, 1e-9);
    assert_near(cb_pcie_bytes_per_s(64e9, 16), 121e9, 1e-9);
    assert_near(cb_pcie_bytes_per_s(8e9, 0), 0, 0);
    assert_near(cb_pcie_bytes_per_s(7e9, 16), 0, 0);
    assert_int_equal(cb_pcie_generation(16e9), 4);
    assert_int_equal(cb_pcie_generation(0), 0);
}

/* ---- NVLink ---- */

static void test_nvlink_direct_and_through_switches(void **state)
{
    (void)state;
    struct machine m;
    struct cb_map map;
    struct cb_map_path path;
    char buffer[16];
    build(&m, CB_MAP_FROM_HWLOC);
    struct cb_map_builder *b = &m.builder;
    int switches[2] = {add(b, CB_DEVICE_NVSWITCH, -1, "NVSwitch 0"),
                       add(b, CB_DEVICE_NVSWITCH, -1, "NVSwitch 1")};
    for (int i = 0; i < 2; i++) {
        struct cb_map_link link = {m.gpu[0], switches[i], CB_MAP_LINK_NVLINK, 4, 9, 225e9};
        assert_int_equal(cb_map_builder_link(b, &link, NULL), 0);
        link.a = m.gpu[1];
        link.count = 5;
        link.bytes_per_s_one_way = 125e9;
        assert_int_equal(cb_map_builder_link(b, &link, NULL), 0);
    }
    struct cb_map_link direct = {m.gpu[2], m.gpu[0], CB_MAP_LINK_NVLINK, 4, 1, 25e9};
    assert_int_equal(cb_map_builder_link(b, &direct, NULL), 0);
    assert_int_equal(cb_map_builder_link(b, &direct, NULL), 0); /* a second one between the two */
    /* One of their own beside those to the switches carries less. */
    direct.b = m.gpu[1];
    direct.a = m.gpu[0];
    assert_int_equal(cb_map_builder_link(b, &direct, NULL), 0);
    finish(&m, &map);
    cb_map_path(&map, m.gpu[0], m.gpu[1], &path);
    assert_int_equal(path.kind, CB_MAP_LINK_NVSWITCH);
    assert_int_equal(path.count, 10); /* the GPU that lost links decides */
    assert_near(path.bytes_per_s_one_way, 250e9, 0);
    assert_int_equal(path.path_class, CB_CLASS_NODE);
    assert_string_equal(cb_map_path_name(&path, buffer), "NV10");
    assert_int_equal(path.via, -1); /* two switches */
    cb_map_path(&map, m.gpu[0], m.gpu[2], &path);
    assert_int_equal(path.kind, CB_MAP_LINK_NVLINK);
    assert_int_equal(path.count, 2);
    assert_near(path.bytes_per_s_one_way, 50e9, 0);
    cb_map_path(&map, m.gpu[1], m.gpu[2], &path); /* a link to another GPU is no way to this one */
    assert_int_equal(path.kind, CB_MAP_LINK_PCIE);
    cb_map_fini(&map);
}

static void test_hidden_nvlink_is_not_pcie(void **state)
{
    (void)state;
    struct machine m;
    struct cb_map map;
    struct cb_map_path path;
    build(&m, CB_MAP_FROM_HWLOC);
    m.builder.map.hides_nvlink = true;
    struct cb_map_device *second = &m.builder.map.devices.items[m.gpu[1]];
    second->vendor_id = 0x10de;
    second->device_id = 0x1db4; /* V100-PCIE, which has none, other than V100-SXM2 */
    finish(&m, &map);
    cb_map_path(&map, m.gpu[0], m.gpu[2], &path);
    assert_int_equal(path.kind, CB_MAP_LINK_UNKNOWN);
    assert_int_equal(path.path_class, CB_CLASS_SYS);
    cb_map_path(&map, m.gpu[0], m.gpu[1], &path);
    assert_int_equal(path.kind, CB_MAP_LINK_PCIE);
    cb_map_fini(&map);
}

/* ---- nearest NICs ---- */

static void assert_nearest(const struct cb_map *map, int gpu, enum cb_path_class path_class,
                           size_t count, int first, int chosen)
{
    int nics[8];
    struct cb_map_nearest nearest;
    cb_map_nearest_nics(map, gpu, nics, 8, &nearest);
    assert_int_equal(nearest.path_class, path_class);
    assert_int_equal(nearest.count, count);
    if (count > 0)
        assert_int_equal(nics[0], first);
    assert_int_equal(nearest.first_of_equals, chosen);
}

static void test_nearest_nics(void **state)
{
    (void)state;
    struct machine m;
    struct cb_map map;
    build(&m, CB_MAP_FROM_HWLOC);
    int twin = add_card(&m.builder, CB_DEVICE_NIC, m.host_bridge[3], "NIC3", 16);
    int air = add_card(&m.builder, CB_DEVICE_NIC, m.host_bridge[2], "wlan0", 1);
    int plain = add_card(&m.builder, CB_DEVICE_NIC, m.host_bridge[2], "eth0", 8);
    struct cb_map_device *devices = m.builder.map.devices.items;
    devices[air].port = CB_MAP_LINK_WIFI;
    devices[air].is_rdma = devices[plain].is_rdma = false;
    devices[m.nic[2]].up = CB_UP_NO;
    finish(&m, &map);
    assert_nearest(&map, m.gpu[0], CB_CLASS_PIX, 1, m.nic[0], m.nic[0]);
    assert_nearest(&map, m.gpu[1], CB_CLASS_NODE, 2, m.nic[0], m.nic[1]); /* the faster */
    /* RDMA before what is nearer; of a tie every one, the one that is up to take. */
    assert_nearest(&map, m.gpu[2], CB_CLASS_NODE, 2, m.nic[2], twin);
    cb_map_fini(&map);
}

static void test_other_nics_are_the_fallback(void **state)
{
    (void)state;
    struct machine m;
    struct cb_map map;
    build(&m, CB_MAP_FROM_HWLOC);
    int air = add_card(&m.builder, CB_DEVICE_NIC, m.host_bridge[1], "wlan0", 1);
    for (int i = 0; i < 3; i++)
        m.builder.map.devices.items[m.nic[i]].is_rdma = false;
    m.builder.map.devices.items[air].is_rdma = false;
    m.builder.map.devices.items[air].port = CB_MAP_LINK_WIFI;
    finish(&m, &map);
    assert_nearest(&map, m.gpu[1], CB_CLASS_NODE, 2, m.nic[0], m.nic[1]);
    cb_map_fini(&map);
}

/* ---- stated classes ---- */

static void test_stated_classes(void **state)
{
    (void)state;
    struct cb_map_builder builder;
    struct cb_map map;
    struct cb_map_path path;
    struct cb_error err = {0};
    int gpus[40];
    cb_map_builder_init(&builder, CB_MAP_FROM_SMI);
    for (int i = 0; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof(name), "GPU%d", i);
        gpus[i] = add(&builder, CB_DEVICE_GPU, -1, name);
    }
    /* Out of order, and both ways, as a matrix states them; the last word counts. */
    for (int i = 39; i >= 0; i--)
        for (int j = 0; j < 40; j++)
            if (i != j)
                assert_int_equal(cb_map_builder_state(&builder, gpus[i], gpus[j],
                                                      (i + j) % 2 ? CB_CLASS_SYS : CB_CLASS_NODE, 0,
                                                      &err),
                                 0);
    assert_int_equal(cb_map_builder_state(&builder, gpus[7], gpus[3], CB_CLASS_UNKNOWN, 12, &err),
                     0);
    assert_ok(cb_map_builder_finish(&builder, &map, &err), &err);
    assert_false(map.has_tree);
    assert_int_equal(map.cells.count, 40 * 39 / 2);
    for (int i = 0; i < 40; i++)
        for (int j = 0; j < 40; j++)
            if (i != j && i + j != 10)
                assert_class(&map, gpus[i], gpus[j], (i + j) % 2 ? CB_CLASS_SYS : CB_CLASS_NODE);
    cb_map_path(&map, gpus[3], gpus[7], &path);
    assert_int_equal(path.kind, CB_MAP_LINK_NVLINK);
    assert_int_equal(path.count, 12);
    assert_int_equal(path.path_class, CB_CLASS_UNKNOWN);
    assert_int_equal(cb_map_find(&map, "GPU17"), gpus[17]);
    assert_int_equal(cb_map_find(&map, "GPU40"), -1);
    cb_map_fini(&map);
}

/* ---- names ---- */

static void test_bus_ids_are_one(void **state)
{
    (void)state;
    static const struct {
        const char *given, *expected;
    } ids[] = {
        {"0000:18:00.0", "0000:18:00.0"},
        {"18:00.0", "0000:18:00.0"},
        {"00000000:18:00.0", "0000:18:00.0"},
        {"0000:18:0.0", "0000:18:00.0"},
        {"000C:D8:1F.7", "000c:d8:1f.7"},
        {"12345:01:00.0", "12345:01:00.0"},
        {"fffffff:ffff:ff", "fffffff:ffff:ff"},
        {"0000:18:00", "0000:18:00"},
        {"0000:18:00.0.1", "0000:18:00.0.1"},
        {"", ""},
        {"<b>\033[1m", "?b??[1m"},
    };
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
        char out[24];
        cb_map_normalise_bus_id(out, sizeof(out), ids[i].given);
        assert_string_equal(out, ids[i].expected);
    }
}

static void test_names_carry_nothing_dangerous(void **state)
{
    (void)state;
    char out[32];
    static const char nasty[] = "a<script>\"'&`\033[2J\x80\n";
    cb_map_clean(out, sizeof(out), nasty, sizeof(nasty) - 1);
    assert_string_equal(out, "a?script??????[2J??");
    cb_map_clean(out, 5, "abcdefgh", 8);
    assert_string_equal(out, "abcd");
}

static void test_ports_by_name_and_id(void **state)
{
    (void)state;
    assert_int_equal(cb_map_port_kind("mlx5_0", 0x15b3, 0x1021, 0x0207), CB_MAP_LINK_INFINIBAND);
    assert_int_equal(cb_map_port_kind("mlx5_0", 0x15b3, 0x1021, 0x0200), CB_MAP_LINK_ROCE);
    assert_int_equal(cb_map_port_kind("mlx5_0", -1, -1, -1), CB_MAP_LINK_RDMA);
    assert_int_equal(cb_map_port_kind("", 0x1d0f, 0xefa1, 0x0200), CB_MAP_LINK_EFA);
    assert_int_equal(cb_map_port_kind("eth0", 0x1d0f, 0xec20, 0x0200), CB_MAP_LINK_ETHERNET);
    assert_int_equal(cb_map_port_kind("hsn0", 0x17db, 0x0501, 0x0200), CB_MAP_LINK_SLINGSHOT);
    assert_int_equal(cb_map_port_kind("wlp5s0", 0x8086, 0x24fb, 0x0280), CB_MAP_LINK_WIFI);
    assert_int_equal(cb_map_port_kind("rxe0", -1, -1, -1), CB_MAP_LINK_SOFT_ROCE);
    assert_int_equal(cb_map_port_kind("what", -1, -1, -1), CB_MAP_LINK_UNKNOWN);
    assert_true(cb_map_link_is_rdma(CB_MAP_LINK_SLINGSHOT));
    assert_false(cb_map_link_is_rdma(CB_MAP_LINK_ETHERNET));
    assert_false(cb_map_link_is_rdma(CB_MAP_LINK_PCIE));
    assert_true(cb_map_is_virtual_function(0x15b3, 0x101e));
    assert_false(cb_map_is_virtual_function(0x15b3, 0x1021));
}

static void test_names_of_enums_come_back(void **state)
{
    (void)state;
    for (int i = 0; i < CB_MAP_LINK_KIND_COUNT; i++)
        assert_int_equal(cb_map_link_kind_find(cb_map_link_kind_name((enum cb_map_link_kind)i)), i);
    for (int i = 0; i < CB_CLASS_COUNT; i++)
        assert_int_equal(cb_path_class_find(cb_path_class_name((enum cb_path_class)i)), i);
    for (int i = 0; i < CB_DEVICE_KIND_COUNT; i++)
        assert_int_equal(cb_device_kind_find(cb_device_kind_name((enum cb_device_kind)i)), i);
    for (int i = 0; i < CB_MAP_SOURCE_COUNT; i++)
        assert_int_equal(cb_map_source_find(cb_map_source_name((enum cb_map_source)i)), i);
}

static void test_what_no_machine_has_is_refused(void **state)
{
    (void)state;
    struct cb_map_builder builder;
    struct cb_map map;
    struct cb_error err = {0};
    struct cb_map_device bridge = cb_map_device_blank(CB_DEVICE_PCI_BRIDGE);
    struct cb_map_link link = {.a = 0, .b = 9};
    cb_map_builder_init(&builder, CB_MAP_FROM_NCCL);
    int rc = 0;
    for (int i = 0; i < 2 * CB_MAP_DEPTH_MAX && rc >= 0; i++) {
        bridge.parent = i - 1;
        rc = cb_map_builder_add(&builder, &bridge, &err);
    }
    assert_int_equal(rc, CB_E_INPUT);
    bridge.parent = 5000;
    assert_int_equal(cb_map_builder_add(&builder, &bridge, &err), CB_E_INPUT);
    link.b = 5000;
    assert_int_equal(cb_map_builder_link(&builder, &link, &err), CB_E_INPUT);
    assert_int_equal(cb_map_builder_state(&builder, -1, 0, CB_CLASS_PIX, 0, &err), CB_E_INPUT);
    for (int i = 0; i <= CB_MAP_GPUS_MAX; i++)
        add(&builder, CB_DEVICE_GPU, -1, "GPU");
    assert_int_equal(cb_map_builder_finish(&builder, &map, &err), CB_E_INPUT);
    cb_map_builder_fini(&builder);
}

/* ---- files ---- */

static int read_text(const char *text, struct cb_map *map, struct cb_error *err)
{
    *err = (struct cb_error){0};
    return cb_map_read("file", text, strlen(text), map, err);
}

static const char nccl_head[] =
    "<system version=\"1\">\n<cpu numaid=\"1\" affinity=\"f,0000000f\">\n";
static const char nccl_tail[] = "</cpu>\n</system>\n";

static void read_nccl(const char *body, struct cb_map *map)
{
    char text[8192];
    struct cb_error err;
    snprintf(text, sizeof(text), "%s%s%s", nccl_head, body, nccl_tail);
    assert_ok(read_text(text, map, &err), &err);
    assert_int_equal(map->source, CB_MAP_FROM_NCCL);
}

static void test_nccl_dump(void **state)
{
    (void)state;
    struct cb_map map;
    struct cb_map_path path;
    read_nccl("<pci busid=\"0000:10:00.0\" class=\"0x060400\" link_speed=\"32.0 GT/s PCIe\" "
              "link_width=\"16\">\n"
              "<pci busid=\"0000:11:00.0\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x2330\" "
              "link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"3\" sm=\"90\" gdr=\"1\">"
              "<nvlink target=\"0000:20:00.0\" count=\"4\" tclass=\"0x068000\"/>"
              "<nvlink target=\"0000:21:00.0\" count=\"5\" tclass=\"0x068000\"/></gpu></pci>\n"
              "<pci busid=\"0000:12:00.0\" class=\"0x020700\" vendor=\"0x15b3\" device=\"0x1021\">"
              "<nic><net name=\"mlx5_0\" speed=\"400000\" port=\"1\"/>"
              "<net name=\"mlx5_1\" speed=\"200000000\" port=\"2\"/></nic></pci>\n"
              "</pci>\n"
              "<pci busid=\"0000:13:00.0\" class=\"0x030200\"><gpu dev=\"4\" sm=\"90\">"
              "<nvlink target=\"0000:20:00.0\" count=\"6\" tclass=\"0x068000\"/></gpu></pci>\n"
              "<pci busid=\"0000:14:00.0\" class=\"0x030000\"/>\n"
              "<nic><net name=\"eth0\" speed=\"-1\"/></nic>\n",
              &map);
    assert_int_equal(map.gpus.count, 2); /* the screen is none that NCCL uses */
    assert_int_equal(map.nics.count, 3);
    int first = cb_map_find(&map, "dev3"), second = cb_map_find(&map, "dev4");
    const struct cb_map_device *nic = &map.devices.items[cb_map_find(&map, "mlx5_0")];
    assert_int_equal(nic->port, CB_MAP_LINK_INFINIBAND);
    assert_near(nic->port_bytes_per_s, 50e9, 0);
    nic = &map.devices.items[cb_map_find(&map, "mlx5_1")];
    assert_near(nic->port_bytes_per_s, 0, 0); /* no port is that fast */
    assert_near(nic->stated_bits_per_s, 2e14, 0);
    assert_near(map.devices.items[cb_map_find(&map, "eth0")].port_bytes_per_s, 0, 0);
    assert_string_equal(map.devices.items[first].model, "NVIDIA H100 80GB HBM3");
    assert_int_equal(map.devices.items[first].numa, 1);
    assert_string_equal(map.devices.items[0].cpus, "0-3,32-35");
    cb_map_path(&map, first, second, &path);
    assert_int_equal(path.kind, CB_MAP_LINK_NVSWITCH);
    assert_int_equal(path.generation, 4);
    assert_near(path.bytes_per_s_one_way, 150e9, 1e-9);
    assert_nearest(&map, first, CB_CLASS_PIX, 2, cb_map_find(&map, "mlx5_0"),
                   cb_map_find(&map, "mlx5_0"));
    cb_map_fini(&map);
}

/* The two halves of a switch of Broadcom's are one; others are two. */
static void test_nccl_two_level_switch(void **state)
{
    (void)state;
    static const struct {
        const char *upper, *lower;
        enum cb_path_class expected;
    } halves[] = {
        {"vendor=\"0x1000\" device=\"0xc030\" subsystem_vendor=\"0x1000\" "
         "subsystem_device=\"0x0072\"",
         "vendor=\"0x1000\" device=\"0xc030\" subsystem_vendor=\"0x1000\" "
         "subsystem_device=\"0x1003\"",
         CB_CLASS_PIX},
        {"vendor=\"0x1000\" device=\"0xc010\" subsystem_vendor=\"0x1000\" "
         "subsystem_device=\"0xa096\"",
         "vendor=\"0x1000\" device=\"0xc010\" subsystem_vendor=\"0x1000\" "
         "subsystem_device=\"0xa064\"",
         CB_CLASS_PIX},
        {"vendor=\"0x1000\" device=\"0xc030\" subsystem_vendor=\"0x1000\" "
         "subsystem_device=\"0x1003\"",
         "vendor=\"0x1000\" device=\"0xc030\" subsystem_vendor=\"0x1000\" "
         "subsystem_device=\"0x1003\"",
         CB_CLASS_PXB},
        {"vendor=\"0x1000\" device=\"0xc030\" subsystem_vendor=\"0x15d9\" "
         "subsystem_device=\"0x0072\"",
         "vendor=\"0x1000\" device=\"0xc030\" subsystem_vendor=\"0x1000\" "
         "subsystem_device=\"0x1003\"",
         CB_CLASS_PXB},
    };
    for (size_t i = 0; i < sizeof(halves) / sizeof(*halves); i++) {
        struct cb_map map;
        char body[2048];
        snprintf(body, sizeof(body),
                 "<pci busid=\"0000:01:00.0\" class=\"0x060400\" %s>"
                 "<pci busid=\"0000:02:00.0\" class=\"0x060400\" %s>"
                 "<pci busid=\"0000:03:00.0\" class=\"0x030200\"/></pci>"
                 "<pci busid=\"0000:04:00.0\" class=\"0x060400\" %s>"
                 "<pci busid=\"0000:05:00.0\" class=\"0x020700\"/></pci></pci>",
                 halves[i].upper, halves[i].lower, halves[i].lower);
        read_nccl(body, &map);
        assert_int_equal(map.gpus.count, 1); /* by their class, where nothing else tells */
        assert_class(&map, map.gpus.items[0], map.nics.items[0], halves[i].expected);
        assert_string_equal(map.devices.items[map.gpus.items[0]].name, "#0");
        assert_string_equal(map.devices.items[map.nics.items[0]].name, "0000:05:00.0");
        cb_map_fini(&map);
    }
}

static void test_nccl_links_between_gpus(void **state)
{
    (void)state;
    struct cb_map map;
    struct cb_map_path path;
    read_nccl(
        "<pci busid=\"0000:01:00.0\" class=\"0x038000\" vendor=\"0x1002\" device=\"0x74a1\">"
        "<gpu dev=\"0\" sm=\"304\" gcn=\"gfx942\"><xgmi target=\"0000:02:00.0\" count=\"1\"/>"
        "</gpu></pci>"
        "<pci busid=\"0000:02:00.0\" class=\"0x038000\" vendor=\"0x1002\" device=\"0x74a1\">"
        "<gpu dev=\"1\" sm=\"304\" gcn=\"gfx942\"><xgmi target=\"0000:01:00.0\" count=\"1\"/>"
        "<xgmi target=\"0000:03:00.0\" count=\"2\"/></gpu></pci>"
        "<pci busid=\"0000:03:00.0\" class=\"0x038000\" vendor=\"0x1002\" device=\"0x74a1\">"
        "<gpu dev=\"2\"/></pci>"
        "<pci busid=\"0000:04:00.0\"><gpu dev=\"3\" sm=\"100\"><c2c bw=\"44712\" count=\"5\"/>"
        "</gpu></pci>",
        &map);
    int *gpus = map.gpus.items;
    assert_int_equal(map.gpus.count, 4);
    assert_int_equal(map.devices.items[gpus[0]].sm, 0); /* multiprocessors, no capability */
    cb_map_path(&map, gpus[0], gpus[1], &path);
    assert_int_equal(path.kind, CB_MAP_LINK_XGMI);
    assert_int_equal(path.count, 1); /* stated from both ends: one link */
    assert_near(path.bytes_per_s_one_way, 64e9, 1e-9);
    cb_map_path(&map, gpus[2], gpus[1], &path); /* stated from one end */
    assert_int_equal(path.count, 2);
    cb_map_path(&map, gpus[0], gpus[2], &path);
    assert_int_equal(path.kind, CB_MAP_LINK_PCIE);
    assert_near(map.devices.items[gpus[3]].cpu_bytes_per_s, 223.56e9, 1e-9);
    cb_map_fini(&map);
}

/* What a file of a cloud's leaves out is said; a whole one gives no notes. */
static void test_notes_on_gaps(void **state)
{
    (void)state;
    struct cb_map map;
    read_nccl("<pci busid=\"0000:01:00.0\" class=\"0x060400\" link_speed=\"2.5 GT/s\" "
              "link_width=\"1\">"
              "<pci busid=\"0000:02:00.0\" class=\"0x030200\" link_speed=\"32 GT/s\"/>"
              "<pci busid=\"0000:03:00.0\" class=\"0x030200\"/></pci>"
              "<pci busid=\"0000:04:00.0\"/>"
              "<nic><net name=\"cxi0\" speed=\"200000000\"/></nic>",
              &map);
    assert_int_equal(map.notes.count, 4);
    assert_note(&map, "map.nvlink_hidden", "#0 and 1 more");
    assert_note(&map, "map.pcie_rate", "0000:01:00.0");
    assert_note(&map, "map.no_kind", "0000:04:00.0");
    assert_note(&map, "map.port_rate", "cxi0");
    cb_map_fini(&map);
    read_nccl("<pci busid=\"0000:02:00.0\" class=\"0x030200\"><gpu dev=\"0\" sm=\"90\"/></pci>"
              "<pci busid=\"0000:03:00.0\" class=\"0x030200\"><gpu dev=\"1\" sm=\"90\"/></pci>",
              &map);
    assert_int_equal(map.notes.count, 0);
    cb_map_fini(&map);
}

static void test_nccl_several_hosts(void **state)
{
    (void)state;
    struct cb_map map;
    struct cb_error err;
    assert_ok(read_text("<system version=\"1\">"
                        "<cpu host_hash=\"0xa\" numaid=\"0\"><pci busid=\"0001:01:00.0\">"
                        "<gpu dev=\"0\"/></pci></cpu>"
                        "<cpu host_hash=\"0xa\" numaid=\"1\"><pci busid=\"0002:01:00.0\">"
                        "<gpu dev=\"1\"/></pci></cpu>"
                        "<cpu host_hash=\"0xb\" numaid=\"0\"><pci busid=\"0001:01:00.0\">"
                        "<gpu dev=\"0\"/></pci></cpu></system>",
                        &map, &err),
              &err);
    assert_class(&map, map.gpus.items[0], map.gpus.items[1], CB_CLASS_SYS);
    assert_class(&map, map.gpus.items[0], map.gpus.items[2], CB_CLASS_UNKNOWN);
    assert_int_equal(map.devices.items[map.gpus.items[2]].host, 1);
    cb_map_fini(&map);
}

/* What is refused, with the line and a word that says why. */
static void test_files_that_are_no_maps(void **state)
{
    (void)state;
    static const struct {
        const char *text, *what;
    } files[] = {
        {"", "empty"},
        {"  \n\t", "empty"},
        {"{\"schema\": 1}", "JSON"},
        {"<html><body/></html>", "begins with <html>"},
        {"<graphs version=\"1\"></graphs>", "NCCL_TOPO_DUMP_FILE"},
        {"<system version=\"1\">\n<cpu>\n<pci busid=", "file:3: ends in the middle"},
        {"<system version=\"1\">\n<cpu></system>", "file:2: no well-formed XML"},
        {"<!DOCTYPE system [<!ENTITY a \"b\">]>\n<system><cpu numaid=\"&a;\"/></system>",
         "file:1: declares a document type"},
        {"<!DOCTYPE system SYSTEM \"http://example.com/x.dtd\">\n<system/>",
         "file:1: declares a document type"},
        {"<!DOCTYPE topology [<!ENTITY a SYSTEM "
         "\"file:///etc/passwd\">]>\n<topology>&a;</topology>",
         "file:1: declares a document type"},
        {"<system>\n&undeclared;</system>", "file:2: "},
        {"<system/><system/>", "file:1: no well-formed XML"},
        {"<topologydiff/>", "difference"},
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        struct cb_map map = {0};
        struct cb_error err;
        int rc = read_text(files[i].text, &map, &err);
        if (rc == CB_E_UNSUPPORTED)
            continue; /* without hwloc its files are not looked into */
        assert_int_equal(rc, CB_E_INPUT);
        if (!strstr(err.what, files[i].what))
            fail_msg("\"%s\" does not say \"%s\"", err.what, files[i].what);
        assert_null(map.devices.items);
    }
}

static void test_deep_and_large_files_are_refused(void **state)
{
    (void)state;
    struct cb_map map = {0};
    struct cb_error err = {0};
    size_t size = 4 << 20, used = 0;
    char *text = malloc(size);
    assert_non_null(text);
    used += (size_t)snprintf(text, size, "<system><cpu>");
    for (int i = 0; i < 5000; i++)
        used += (size_t)snprintf(text + used, size - used, "<pci busid=\"0\">");
    assert_int_equal(cb_map_read("deep", text, used, &map, &err), CB_E_INPUT);
    used = (size_t)snprintf(text, size, "<system><cpu>");
    for (int i = 0; i < CB_MAP_DEVICES_MAX + 1; i++)
        used += (size_t)snprintf(text + used, size - used, "<pci busid=\"0000:%02x:00.0\"/>\n",
                                 i % 256);
    assert_int_equal(cb_map_read("wide", text, used, &map, &err), CB_E_INPUT);
    assert_non_null(strstr(err.what, "8192"));
    memset(text, 'x', size);
    text[0] = '<';
    assert_int_equal(cb_map_read("junk", text, size, &map, &err), CB_E_INPUT);
    text[17] = '\0';
    assert_int_equal(cb_map_read("binary", text, size, &map, &err), CB_E_INPUT);
    free(text);
    assert_int_equal(cb_map_read("huge", "", (size_t)CB_MAP_FILE_BYTES_MAX + 1, &map, &err),
                     CB_E_INPUT);
    assert_non_null(strstr(err.what, "larger"));
}

/* ---- files of lstopo ---- */

static const char lstopo[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
    "<topology version=\"2.0\">\n"
    " <object type=\"Machine\" os_index=\"0\" cpuset=\"0xf\" complete_cpuset=\"0xf\" "
    "allowed_cpuset=\"0xf\" nodeset=\"0x3\" complete_nodeset=\"0x3\" allowed_nodeset=\"0x3\" "
    "gp_index=\"1\">\n"
    "  <info name=\"HostName\" value=\"a&lt;b\"/>\n"
    "  <object type=\"Package\" os_index=\"0\" cpuset=\"0x3\" complete_cpuset=\"0x3\" "
    "nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"2\">\n"
    "   <object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x3\" complete_cpuset=\"0x3\" "
    "nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"3\" local_memory=\"4096\"/>\n"
    "   <object type=\"PU\" os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\" "
    "nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"4\"/>\n"
    "   <object type=\"PU\" os_index=\"1\" cpuset=\"0x2\" complete_cpuset=\"0x2\" "
    "nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"5\"/>\n"
    "   <object type=\"Bridge\" gp_index=\"6\" bridge_type=\"0-1\" depth=\"0\" "
    "bridge_pci=\"0000:[10-12]\">\n"
    "    <object type=\"PCIDev\" gp_index=\"7\" pci_busid=\"0000:11:00.0\" "
    "pci_type=\"0302 [10de:1db5] [10de:1db5] a1\" pci_link_speed=\"15.753846\">\n"
    "     <object type=\"OSDev\" gp_index=\"20\" name=\"nvml0\" osdev_type=\"1\"/>\n"
    "     <object type=\"OSDev\" gp_index=\"8\" name=\"cuda0\" subtype=\"CUDA\" osdev_type=\"5\">\n"
    "      <info name=\"GPUModel\" value=\"Tesla V100-SXM3-32GB\"/>\n"
    "     </object>\n"
    "    </object>\n"
    "    <object type=\"PCIDev\" gp_index=\"9\" pci_busid=\"0000:12:00.0\" "
    "pci_type=\"0207 [15b3:101b] [15b3:0007] 00\" pci_link_speed=\"15.753846\">\n"
    "     <object type=\"OSDev\" gp_index=\"10\" name=\"ib0\" osdev_type=\"2\"/>\n"
    "     <object type=\"OSDev\" gp_index=\"11\" name=\"mlx5_0\" osdev_type=\"3\">\n"
    "      <info name=\"Port1State\" value=\"1\"/>\n"
    "     </object>\n"
    "    </object>\n"
    "   </object>\n"
    "  </object>\n"
    "  <object type=\"Package\" os_index=\"1\" cpuset=\"0xc\" complete_cpuset=\"0xc\" "
    "nodeset=\"0x2\" complete_nodeset=\"0x2\" gp_index=\"12\">\n"
    "   <object type=\"NUMANode\" os_index=\"1\" cpuset=\"0xc\" complete_cpuset=\"0xc\" "
    "nodeset=\"0x2\" complete_nodeset=\"0x2\" gp_index=\"13\" local_memory=\"4096\"/>\n"
    "   <object type=\"PU\" os_index=\"2\" cpuset=\"0x4\" complete_cpuset=\"0x4\" "
    "nodeset=\"0x2\" complete_nodeset=\"0x2\" gp_index=\"14\"/>\n"
    "   <object type=\"PU\" os_index=\"3\" cpuset=\"0x8\" complete_cpuset=\"0x8\" "
    "nodeset=\"0x2\" complete_nodeset=\"0x2\" gp_index=\"15\"/>\n"
    "   <object type=\"Bridge\" gp_index=\"16\" bridge_type=\"0-1\" depth=\"0\" "
    "bridge_pci=\"0000:[80-82]\">\n"
    "    <object type=\"PCIDev\" gp_index=\"17\" pci_busid=\"0000:81:00.0\" "
    "pci_type=\"0302 [10de:1db5] [10de:1db5] a1\" pci_link_speed=\"4.000000\">\n"
    "     <object type=\"OSDev\" gp_index=\"18\" name=\"cuda1\" subtype=\"CUDA\" "
    "osdev_type=\"5\"/>\n"
    "    </object>\n"
    "    <object type=\"PCIDev\" gp_index=\"19\" subtype=\"NVSwitch\" pci_busid=\"0000:82:00.0\" "
    "pci_type=\"0680 [10de:1ac2] [10de:1ac2] a1\" pci_link_speed=\"0.000000\"/>\n"
    "   </object>\n"
    "  </object>\n"
    " </object>\n"
    " <distances2hetero nbobjs=\"3\" kind=\"25\" name=\"NVLinkBandwidth\">\n"
    "  <indexes length=\"27\">OSDev:8 OSDev:18 PCIDev:19 </indexes>\n"
    "  <u64values length=\"41\">0 0 150000 0 0 75000 150000 75000 1000000</u64values>\n"
    " </distances2hetero>\n"
    "</topology>\n";

static void test_lstopo_file(void **state)
{
    (void)state;
    struct cb_map map;
    struct cb_error err;
    struct cb_map_path path;
    int rc = read_text(lstopo, &map, &err);
    if (rc == CB_E_UNSUPPORTED)
        skip();
    assert_ok(rc, &err);
    assert_string_equal(map.name, "a?b");
    int first = cb_map_find(&map, "cuda0"), second = cb_map_find(&map, "cuda1");
    int nic = cb_map_find(&map, "mlx5_0");
    assert_int_equal(map.devices.items[second].numa, 1);
    assert_string_equal(map.devices.items[first].model, "Tesla V100-SXM3-32GB");
    assert_string_equal(map.devices.items[nic].partner, "ib0");
    assert_string_equal(map.devices.items[first].partner, "nvml0");
    assert_int_equal(map.devices.items[first].gpu_index, 0);
    assert_int_equal(map.devices.items[nic].up, CB_UP_NO);
    assert_class(&map, first, nic, CB_CLASS_PHB);
    assert_class(&map, second, nic, CB_CLASS_SYS);
    cb_map_path(&map, first, second, &path);
    assert_int_equal(path.kind, CB_MAP_LINK_NVSWITCH);
    assert_int_equal(path.count, 3);
    assert_int_equal(path.generation, 2);
    assert_near(path.bytes_per_s_one_way, 75e9, 1e-9);
    assert_near(cb_map_uplink_bytes_per_s(&map, second), 0, 0); /* at rest */
    assert_nearest(&map, second, CB_CLASS_SYS, 1, nic, nic);
    cb_map_fini(&map);
}

/* The file, cut at every place, is refused; changed in one letter it never crashes. */
static void test_lstopo_file_cut_and_bent(void **state)
{
    (void)state;
    char text[sizeof(lstopo)];
    for (size_t length = 1; length < sizeof(lstopo) - 12; length += 37) {
        struct cb_map map = {0};
        struct cb_error err = {0};
        int rc = cb_map_read("cut", lstopo, length, &map, &err);
        assert_true(rc == CB_E_INPUT || rc == CB_E_UNSUPPORTED);
    }
    for (size_t at = 0; at < sizeof(lstopo) - 1; at += 31) {
        struct cb_map map = {0};
        struct cb_error err = {0};
        memcpy(text, lstopo, sizeof(text));
        text[at] = text[at] == '0' ? '9' : '0';
        int rc = cb_map_read("bent", text, sizeof(text) - 1, &map, &err);
        assert_true(rc == 0 || err.what[0] != '\0');
        cb_map_fini(&map);
    }
}

static void test_lstopo_formats_that_cannot_be_read(void **state)
{
    (void)state;
    struct cb_map map = {0};
    struct cb_error err;
    int rc =
        read_text("<topology version=\"9.0\"><object type=\"Machine\"/></topology>", &map, &err);
    if (rc == CB_E_UNSUPPORTED)
        skip();
    assert_int_equal(rc, CB_E_INPUT);
    assert_non_null(strstr(err.what, "format 9.0"));
    assert_non_null(strstr(err.hint, "--export-xml-flags"));
    assert_int_equal(read_text("<topology version=\"x\"/>", &map, &err), CB_E_INPUT);
    assert_int_equal(read_text("<topology version=\"2.0\"></topology>", &map, &err), CB_E_INPUT);
    assert_int_equal(read_text("<topology version=\"2.0\"><object type=\"Machine\"><object "
                               "type=\"NUMANode\" os_index=\"4000000000\"/></object></topology>",
                               &map, &err),
                     CB_E_INPUT);
    assert_non_null(strstr(err.what, "file:1: "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes_follow_from_the_tree),
        cmocka_unit_test(test_nccl_has_classes_of_its_own),
        cmocka_unit_test(test_unknown_places_stay_unknown),
        cmocka_unit_test(test_paths_name_their_bottleneck),
        cmocka_unit_test(test_rates_that_cannot_be_are_unknown),
        cmocka_unit_test(test_nominal_rates_of_pcie),
        cmocka_unit_test(test_nvlink_direct_and_through_switches),
        cmocka_unit_test(test_hidden_nvlink_is_not_pcie),
        cmocka_unit_test(test_nearest_nics),
        cmocka_unit_test(test_other_nics_are_the_fallback),
        cmocka_unit_test(test_stated_classes),
        cmocka_unit_test(test_bus_ids_are_one),
        cmocka_unit_test(test_names_carry_nothing_dangerous),
        cmocka_unit_test(test_ports_by_name_and_id),
        cmocka_unit_test(test_names_of_enums_come_back),
        cmocka_unit_test(test_what_no_machine_has_is_refused),
        cmocka_unit_test(test_nccl_dump),
        cmocka_unit_test(test_nccl_two_level_switch),
        cmocka_unit_test(test_nccl_links_between_gpus),
        cmocka_unit_test(test_notes_on_gaps),
        cmocka_unit_test(test_nccl_several_hosts),
        cmocka_unit_test(test_files_that_are_no_maps),
        cmocka_unit_test(test_deep_and_large_files_are_refused),
        cmocka_unit_test(test_lstopo_file),
        cmocka_unit_test(test_lstopo_file_cut_and_bent),
        cmocka_unit_test(test_lstopo_formats_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

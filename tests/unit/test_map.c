/* Maps of machines that nobody built: what a builder is given, and what follows from it. */
#include "topology/map.h"

#include <stdio.h>
#include <string.h>

#include "cb_test.h"
#include "map_asserts.h"

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
    for (int i = 0; i < 3; i++)
        m.builder.map.devices.items[m.nic[i]].is_rdma = false;
    finish(&m, &map);
    assert_nearest(&map, m.gpu[1], CB_CLASS_NODE, 2, m.nic[0], m.nic[1]);
    cb_map_fini(&map);
}

/* A radio at each host bridge: it is listed where it ties, never the one to take, and only where
 * there is no line the nearest. */
static void test_radio_ties_but_never_wins(void **state)
{
    (void)state;
    for (int lines = 0; lines < 2; lines++) {
        struct machine m;
        struct cb_map map;
        int air[2];
        build(&m, CB_MAP_FROM_HWLOC);
        for (int i = 0; i < 2; i++) {
            air[i] = add_card(&m.builder, CB_DEVICE_NIC, m.host_bridge[i], "wlan", 1);
            m.builder.map.devices.items[air[i]].port = CB_MAP_LINK_WIFI;
            m.builder.map.devices.items[air[i]].is_rdma = false;
        }
        for (int i = 0; i < 3; i++) {
            m.builder.map.devices.items[m.nic[i]].is_rdma = false;
            if (!lines)
                m.builder.map.devices.items[m.nic[i]].port = CB_MAP_LINK_WIFI;
        }
        finish(&m, &map);
        if (lines)
            assert_nearest(&map, m.gpu[1], CB_CLASS_NODE, 3, m.nic[0], m.nic[1]);
        else
            assert_nearest(&map, m.gpu[1], CB_CLASS_PHB, 1, air[1], air[1]);
        cb_map_fini(&map);
    }
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
        cmocka_unit_test(test_radio_ties_but_never_wins),
        cmocka_unit_test(test_stated_classes),
        cmocka_unit_test(test_bus_ids_are_one),
        cmocka_unit_test(test_names_carry_nothing_dangerous),
        cmocka_unit_test(test_ports_by_name_and_id),
        cmocka_unit_test(test_names_of_enums_come_back),
        cmocka_unit_test(test_what_no_machine_has_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

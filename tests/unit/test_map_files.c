/* What the readers of maps take out of files of our own making, and what they refuse. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cb_test.h"
#include "map_asserts.h"
#include "topology/map_read.h"

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

/* NVLink of a rack reaches all its hosts; switches at one bus id in two hosts are two. */
static void test_nccl_nvlink_between_hosts(void **state)
{
    (void)state;
    static const struct {
        const char *target;
        enum cb_map_link_kind expected;
    } racks[] = {{"fffffff:ffff:ff", CB_MAP_LINK_NVSWITCH}, {"0000:1a:00.0", CB_MAP_LINK_UNKNOWN}};
    for (size_t i = 0; i < 2; i++) {
        struct cb_map map;
        struct cb_error err;
        struct cb_map_path path;
        char text[1024];
        snprintf(
            text, sizeof(text),
            "<system version=\"1\"><cpu host_hash=\"0xa\" numaid=\"0\"><pci busid=\"0001:01:00.0\">"
            "<gpu dev=\"0\" sm=\"100\"><nvlink target=\"%s\" count=\"18\" tclass=\"0x068000\"/>"
            "</gpu></pci></cpu><cpu host_hash=\"0xb\" numaid=\"0\"><pci busid=\"0001:01:00.0\">"
            "<gpu dev=\"0\" sm=\"100\"><nvlink target=\"%s\" count=\"18\" tclass=\"0x068000\"/>"
            "</gpu></pci></cpu></system>",
            racks[i].target, racks[i].target);
        assert_ok(read_text(text, &map, &err), &err);
        cb_map_path(&map, map.gpus.items[0], map.gpus.items[1], &path);
        assert_int_equal(path.kind, racks[i].expected);
        cb_map_fini(&map);
    }
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
    static const char *const indices[] = {"os_index=\"4000000000\"", "os_index=\"-1\"", ""};
    for (size_t i = 0; i < sizeof(indices) / sizeof(*indices); i++) {
        char text[256];
        snprintf(text, sizeof(text),
                 "<topology version=\"2.0\"><object type=\"Machine\">\n"
                 "<object type=\"NUMANode\" %s/></object></topology>",
                 indices[i]);
        assert_int_equal(read_text(text, &map, &err), CB_E_INPUT);
        assert_non_null(strstr(err.what, "file:2: a NUMANode without an index"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nccl_dump),
        cmocka_unit_test(test_nccl_two_level_switch),
        cmocka_unit_test(test_nccl_links_between_gpus),
        cmocka_unit_test(test_notes_on_gaps),
        cmocka_unit_test(test_nccl_several_hosts),
        cmocka_unit_test(test_nccl_nvlink_between_hosts),
        cmocka_unit_test(test_files_that_are_no_maps),
        cmocka_unit_test(test_deep_and_large_files_are_refused),
        cmocka_unit_test(test_lstopo_file),
        cmocka_unit_test(test_lstopo_file_cut_and_bent),
        cmocka_unit_test(test_lstopo_formats_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

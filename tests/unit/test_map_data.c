/* Maps of real machines, where they are at hand: every file of the folder topology of the test data
 * is read, and each row of its expected.tsv held against the map. The folder is named by
 * COMMBOUND_TEST_DATA; without it the test is skipped. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cb_test.h"
#include "data_files.h"
#include "topology/map.h"
#include "topology/map_read.h"

#define FIELDS_MAX 8
#define NICS_MAX 64

struct row {
    const char *field[FIELDS_MAX]; /* "-" where the row has none */
};

static const char *folder;

/* ---- files ---- */

typedef int read_map(const char *name, const char *text, size_t length_bytes, struct cb_map *map,
                     struct cb_error *err);

static int load(const char *kind, const char *file, read_map *read, struct cb_map *map,
                struct cb_error *err)
{
    char path[4096];
    size_t length_bytes;
    snprintf(path, sizeof(path), "%s/%s", folder, kind);
    char *text = data_read(path, file, &length_bytes);
    assert_non_null(text);
    int rc = read(file, text, length_bytes, map, err);
    free(text);
    return rc;
}

/* Calls check for each row of the folder's table, with the file's map (NULL when it was refused).
 * Rows of one file stand together. */
static void for_each_row(const char *kind, read_map *read,
                         void (*check)(const struct row *row, const struct cb_map *map,
                                       const struct cb_error *err))
{
    char path[4096 + 64], previous[256] = "";
    size_t length_bytes, rows = 0;
    struct cb_map map = {0};
    struct cb_error err = {0};
    int rc = -1;
    snprintf(path, sizeof(path), "%s/%s", folder, kind);
    char *text = data_read(path, "expected.tsv", &length_bytes);
    assert_non_null(text);
    char *next = text;
    for (char *line; (line = strsep(&next, "\n"));) {
        struct row row;
        if (rows++ == 0 || !*line)
            continue;
        for (int i = 0; i < FIELDS_MAX; i++) {
            row.field[i] = line ? strsep(&line, "\t") : NULL;
            if (!row.field[i])
                row.field[i] = "-";
        }
        if (strcmp(previous, row.field[0]) != 0) {
            cb_map_fini(&map);
            snprintf(previous, sizeof(previous), "%s", row.field[0]);
            rc = load(kind, row.field[0], read, &map, &err);
        }
        check(&row, rc ? NULL : &map, &err);
    }
    cb_map_fini(&map);
    free(text);
    assert_true(rows > 2);
}

/* ---- what a row says ---- */

static bool is_dash(const char *text)
{
    return strcmp(text, "-") == 0;
}

static const struct cb_map_device *device_of(const struct cb_map *map, int index)
{
    return &map->devices.items[index];
}

/* Whether name is among the parts of text between separators. */
static bool holds(const char *text, const char *separators, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = text; *at;) {
        size_t part = strcspn(at, separators);
        if (part == length && strncmp(at, name, length) == 0)
            return true;
        at += part + (at[part] != '\0');
    }
    return false;
}

static size_t count_parts(const char *text, char separator)
{
    size_t parts = 1;
    for (; *text; text++)
        parts += *text == separator;
    return parts;
}

/* The nearest NICs must be those of a list "a@bus,b+c@bus" or "a+b,c": a NIC by its bus id where
 * the list has those, else by name. */
static void check_nics(const struct row *row, const struct cb_map *map, int gpu,
                       const char *path_class, const char *list)
{
    int nics[NICS_MAX];
    struct cb_map_nearest nearest;
    cb_map_nearest_nics(map, gpu, nics, NICS_MAX, &nearest);
    print_message("%s: %s\n", row->field[0], device_of(map, gpu)->name);
    if (is_dash(path_class)) {
        assert_int_equal(nearest.count, 0);
        return;
    }
    assert_string_equal(cb_path_class_name(nearest.path_class), path_class);
    bool has_bus_ids = strchr(list, '@') != NULL;
    size_t parts = count_parts(list, ',') + (has_bus_ids ? 0 : count_parts(list, '+') - 1);
    assert_int_equal(nearest.count, parts);
    for (size_t i = 0; i < nearest.count; i++) {
        const struct cb_map_device *nic = device_of(map, nics[i]);
        if (!holds(list, has_bus_ids ? ",@" : ",+", has_bus_ids ? nic->bus_id : nic->name))
            fail_msg("%s is not among %s", nic->name, list);
        if (has_bus_ids)
            assert_true(holds(list, ",@+", nic->name));
    }
    assert_true(nearest.first_of_equals >= 0);
}

/* ---- hwloc ---- */

/* The GPU of a bus id; of several in a file edited by hand the one that bears one of the names. */
static int find_hwloc_gpu(const struct cb_map *map, const char *names, const char *bus_id)
{
    for (size_t i = 0; i < map->gpus.count; i++) {
        const struct cb_map_device *gpu = device_of(map, map->gpus.items[i]);
        if (strcmp(gpu->bus_id, bus_id) == 0 && holds(names, "/", gpu->name))
            return map->gpus.items[i];
    }
    return -1;
}

/* "0x00000100" is node 8. */
static int node_of(const char *nodeset)
{
    unsigned long long bits = strtoull(nodeset, NULL, 16);
    return bits && !(bits & (bits - 1)) ? __builtin_ctzll(bits) : -1;
}

static void check_hwloc_row(const struct row *row, const struct cb_map *map,
                            const struct cb_error *err)
{
    if (!map) {
        assert_int_equal(err->code, CB_E_INPUT);
        assert_non_null(strstr(err->what, "format 3.0"));
        assert_non_null(strstr(err->hint, "--export-xml-flags v2"));
        return;
    }
    if (is_dash(row->field[2]))
        return;
    int gpu = find_hwloc_gpu(map, row->field[1], row->field[2]);
    if (gpu < 0)
        fail_msg("%s: no GPU at %s", row->field[0], row->field[2]);
    assert_int_equal(device_of(map, gpu)->numa, node_of(row->field[3]));
    bool has_rdma = !is_dash(row->field[6]);
    check_nics(row, map, gpu, row->field[has_rdma ? 6 : 4], row->field[has_rdma ? 7 : 5]);
}

/* A build without hwloc reads no files of lstopo. */
static void skip_without_hwloc(void)
{
    struct cb_map map;
    if (cb_map_from_hwloc_xml("none", "", 0, &map, NULL) == CB_E_UNSUPPORTED)
        skip();
}

static void test_lstopo_files_say_what_is_expected(void **state)
{
    (void)state;
    skip_without_hwloc();
    for_each_row("hwloc", cb_map_from_hwloc_xml, check_hwloc_row);
}

static void test_hidden_tree_is_unknown(void **state)
{
    (void)state;
    struct cb_map map;
    struct cb_error err = {0};
    skip_without_hwloc();
    assert_ok(load("hwloc", "lassen-p9.no-io.derived.xml", cb_map_from_hwloc_xml, &map, &err),
              &err);
    assert_false(map.has_tree);
    assert_int_equal(map.gpus.count, 0);
    cb_map_fini(&map);
}

static void test_direct_nvlinks_stay(void **state)
{
    (void)state;
    struct cb_map map;
    struct cb_error err = {0};
    struct cb_map_path path;
    skip_without_hwloc();
    assert_ok(load("hwloc", "power8-4xP100-nvlink.xml", cb_map_from_hwloc_xml, &map, &err), &err);
    assert_int_equal(map.gpus.count, 4);
    cb_map_path(&map, map.gpus.items[0], map.gpus.items[1], &path);
    assert_int_equal(path.kind, CB_MAP_LINK_NVLINK);
    assert_int_equal(path.count, 2);
    assert_near(path.bytes_per_s_one_way, 40e9, 1e-9);
    cb_map_path(&map, map.gpus.items[0], map.gpus.items[2], &path);
    assert_int_equal(path.kind, CB_MAP_LINK_PCIE);
    assert_int_equal(path.path_class, CB_CLASS_SYS);
    cb_map_fini(&map);
}

/* ---- NCCL ---- */

static int find_nccl_gpu(const struct cb_map *map, const char *name)
{
    for (size_t i = 0; i < map->gpus.count; i++)
        if (strcmp(device_of(map, map->gpus.items[i])->name, name) == 0)
            return map->gpus.items[i];
    return -1;
}

static void check_nccl_row(const struct row *row, const struct cb_map *map,
                           const struct cb_error *err)
{
    if (!map)
        fail_msg("%s", err->what);
    if (is_dash(row->field[1]))
        return;
    int gpu = find_nccl_gpu(map, row->field[1]);
    if (gpu < 0)
        fail_msg("%s: no GPU %s", row->field[0], row->field[1]);
    assert_string_equal(device_of(map, gpu)->bus_id, row->field[2]);
    int numa = strcmp(row->field[3], "None") == 0 ? -1 : atoi(row->field[3]);
    assert_int_equal(device_of(map, gpu)->numa, numa);
    check_nics(row, map, gpu, row->field[4], row->field[5]);
}

static void test_nccl_files_say_what_is_expected(void **state)
{
    (void)state;
    for_each_row("nccl", cb_map_from_nccl_xml, check_nccl_row);
}

static void test_graphs_are_refused(void **state)
{
    (void)state;
    struct cb_map map;
    struct cb_error err = {0};
    assert_int_equal(load("nccl", "azure-ncv4-graph.xml", cb_map_from_nccl_xml, &map, &err),
                     CB_E_INPUT);
    assert_non_null(strstr(err.what, "NCCL_TOPO_DUMP_FILE"));
}

static void test_lost_nvlinks_show(void **state)
{
    (void)state;
    struct cb_map map;
    struct cb_error err = {0};
    struct cb_map_path path;
    assert_ok(load("nccl", "gb300-tray-gpu1-nvlink-missing-reconstructed-topo.xml",
                   cb_map_from_nccl_xml, &map, &err),
              &err);
    assert_int_equal(map.gpus.count, 4);
    cb_map_path(&map, map.gpus.items[0], map.gpus.items[2], &path);
    assert_int_equal(path.kind, CB_MAP_LINK_NVSWITCH);
    assert_int_equal(path.count, 18);
    assert_near(path.bytes_per_s_one_way, 900e9, 1e-9);
    cb_map_path(&map, map.gpus.items[0], map.gpus.items[1], &path);
    assert_int_equal(path.kind, CB_MAP_LINK_C2C);
    assert_near(path.bytes_per_s_one_way, 223.56e9, 1e-9);
    cb_map_fini(&map);
}

static void test_what_cannot_be_a_rate_is_unknown(void **state)
{
    (void)state;
    struct cb_map map;
    struct cb_error err = {0};
    bool by_pcie;
    assert_ok(load("nccl", "rccl-mi300a-4gpu-cxi-topo.xml", cb_map_from_nccl_xml, &map, &err),
              &err);
    const struct cb_map_device *nic = device_of(&map, map.nics.items[0]);
    assert_int_equal(nic->port, CB_MAP_LINK_SLINGSHOT);
    assert_near(nic->stated_bits_per_s, 2e14, 0);
    assert_near(nic->port_bytes_per_s, 0, 0);
    cb_map_fini(&map);
    assert_ok(load("nccl", "dgx-spark-gb10-abbreviated-topo.xml", cb_map_from_nccl_xml, &map, &err),
              &err);
    assert_near(cb_map_wire_bytes_per_s(&map, map.gpus.items[0], map.nics.items[0], &by_pcie),
                15.754e9, 1e-3);
    assert_true(by_pcie);
    cb_map_fini(&map);
}

/* Every file of a folder is read, or refused with a message. */
static void check_all_files(const char *kind, read_map *read, size_t refused_at_most)
{
    char path[4096 + 64];
    size_t refused = 0, files = 0;
    snprintf(path, sizeof(path), "%s/%s", folder, kind);
    DIR *directory = opendir(path);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        struct cb_map map = {0};
        struct cb_error err = {0};
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "expected.tsv") == 0)
            continue;
        files++;
        if (load(kind, entry->d_name, read, &map, &err) != 0) {
            assert_true(err.code == CB_E_INPUT && err.what[0] != '\0');
            refused++;
        }
        cb_map_fini(&map);
    }
    closedir(directory);
    assert_true(files > 0 && refused <= refused_at_most);
}

static void test_all_files_are_read(void **state)
{
    (void)state;
    check_all_files("nccl", cb_map_from_nccl_xml, 1); /* a graph */
    skip_without_hwloc();
    check_all_files("hwloc", cb_map_from_hwloc_xml, 1); /* format 3.0 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lstopo_files_say_what_is_expected),
        cmocka_unit_test(test_hidden_tree_is_unknown),
        cmocka_unit_test(test_direct_nvlinks_stay),
        cmocka_unit_test(test_nccl_files_say_what_is_expected),
        cmocka_unit_test(test_graphs_are_refused),
        cmocka_unit_test(test_lost_nvlinks_show),
        cmocka_unit_test(test_what_cannot_be_a_rate_is_unknown),
        cmocka_unit_test(test_all_files_are_read),
    };
    folder = data_folder("topology");
    if (!folder)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* From a matrix of nvidia-smi to a map. */
#include <stdio.h>
#include <string.h>

#include "cb_test.h"
#include "topology/map_read.h"

static struct cb_map read_map(const char *text)
{
    struct cb_map map = {.has_tree = false};
    struct cb_error err;
    assert_ok(cb_map_from_smi("it", text, strlen(text), &map, &err), &err);
    assert_int_equal(map.source, CB_MAP_FROM_SMI);
    assert_false(map.has_tree);
    return map;
}

static struct cb_map_path path_of(const struct cb_map *map, const char *a, const char *b)
{
    struct cb_map_path path;
    assert_true(cb_map_find(map, a) >= 0 && cb_map_find(map, b) >= 0);
    cb_map_path(map, cb_map_find(map, a), cb_map_find(map, b), &path);
    return path;
}

static const char pairs[] = "\tGPU0\tGPU1\tGPU2\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\n"
                            "GPU0\t X \tNV4\tSYS\tPIX\tPIX\t0-15\t0\n"
                            "GPU1\tNV4\t X \tSYS\tPXB\tNODE\t0-15\t0\n"
                            "GPU2\tSYS\tSYS\t X \tSYS\tSYS\t16-31\t1\n"
                            "NIC0\tPIX\tPXB\tSYS\t X \tPIX\n"
                            "NIC1\tPIX\tNODE\tSYS\tPIX\t X \n"
                            "NIC Legend:\n"
                            "  NIC0: mlx5_0\n"
                            "  NIC1: mlx5_bond_0\n";

static void test_devices(void **state)
{
    (void)state;
    struct cb_map map = read_map(pairs);
    assert_int_equal(map.gpus.count, 3);
    assert_int_equal(map.nics.count, 2);
    const struct cb_map_device *gpu = &map.devices.items[map.gpus.items[2]];
    assert_string_equal(gpu->name, "GPU2");
    assert_string_equal(gpu->cpus, "16-31");
    assert_int_equal(gpu->numa, 1);
    assert_int_equal(gpu->gpu_index, 2);
    const struct cb_map_device *nic = &map.devices.items[map.nics.items[1]];
    assert_string_equal(nic->name, "mlx5_bond_0");
    assert_string_equal(nic->partner, "NIC1");
    assert_true(nic->is_rdma);
    assert_int_equal(nic->port, CB_MAP_LINK_RDMA);
    assert_int_equal(nic->numa, -1);
    cb_map_fini(&map);
}

static void test_paths(void **state)
{
    (void)state;
    struct cb_map map = read_map(pairs);
    struct cb_map_path path = path_of(&map, "GPU0", "GPU1");
    assert_int_equal(path.kind, CB_MAP_LINK_NVLINK);
    assert_int_equal(path.count, 4);
    assert_near(path.bytes_per_s_one_way, 0, 0); /* the model is not known */
    path = path_of(&map, "GPU2", "GPU1");
    assert_int_equal(path.kind, CB_MAP_LINK_PCIE);
    assert_int_equal(path.path_class, CB_CLASS_SYS);
    assert_near(path.bytes_per_s_one_way, 0, 0);
    path = path_of(&map, "mlx5_0", "mlx5_bond_0");
    assert_int_equal(path.path_class, CB_CLASS_PIX);
    int nics[4];
    struct cb_map_nearest nearest;
    cb_map_nearest_nics(&map, 0, nics, 4, &nearest);
    assert_int_equal(nearest.count, 2);
    assert_int_equal(nearest.path_class, CB_CLASS_PIX);
    cb_map_nearest_nics(&map, 1, nics, 4, &nearest);
    assert_int_equal(nearest.count, 1);
    assert_int_equal(nearest.path_class, CB_CLASS_PXB);
    cb_map_fini(&map);
}

/* Data sheet of the A100: 12 links, 600 GB/s both ways together. */
static void test_rate_of_a_known_model(void **state)
{
    (void)state;
    char text[1024];
    snprintf(text, sizeof(text),
             "GPU 0: NVIDIA A100-SXM4-80GB (UUID: x)\n"
             "GPU 1: NVIDIA A100-SXM4-80GB (UUID: y)\n"
             "\tGPU0\tGPU1\nGPU0\t X \tNV12\nGPU1\tNV12\t X \n");
    struct cb_map map = read_map(text);
    struct cb_map_path path = path_of(&map, "GPU0", "GPU1");
    assert_int_equal(path.kind, CB_MAP_LINK_NVLINK);
    assert_near(path.bytes_per_s_one_way, 300e9, 1e-12);
    assert_string_equal(map.devices.items[0].model, "NVIDIA A100-SXM4-80GB");
    cb_map_fini(&map);
}

/* More links than any GPU has cannot all be direct. */
static void test_switch(void **state)
{
    (void)state;
    struct cb_map map = read_map("GPU0 GPU1 GPU2\nGPU0 X NV18 NV18\nGPU1 NV18 X NV18\n"
                                 "GPU2 NV18 NV18 X\n");
    struct cb_map_path path = path_of(&map, "GPU0", "GPU2");
    assert_int_equal(path.kind, CB_MAP_LINK_NVSWITCH);
    assert_int_equal(path.count, 18);
    cb_map_fini(&map);
    map = read_map("GPU0 GPU1 GPU2 GPU3\nGPU0 X NV4 NV4 NV4\nGPU1 NV4 X NV4 NV4\n"
                   "GPU2 NV4 NV4 X NV4\nGPU3 NV4 NV4 NV4 X\n");
    path = path_of(&map, "GPU0", "GPU2");
    assert_int_equal(path.kind, CB_MAP_LINK_NVLINK);
    cb_map_fini(&map);
}

static void check_note(const char *text, const char *code, bool is_wrong, const char *seen)
{
    struct cb_map map = read_map(text);
    const struct cb_map_note *found = NULL;
    for (size_t i = 0; i < map.notes.count; i++)
        if (strcmp(map.notes.items[i].code, code) == 0)
            found = &map.notes.items[i];
    assert_non_null(found);
    assert_string_equal(found->seen, seen);
    assert_int_equal(found->is_wrong, is_wrong);
    assert_true(found->why[0] && found->remedy[0]);
    cb_map_fini(&map);
}

static void test_notes(void **state)
{
    (void)state;
    check_note("GPU0 GPU1\nGPU0 X NV4\nGPU1 NV2 X\n", "matrix.contradiction", true,
               "GPU0 to GPU1 is NV4 on line 2 and NV2 on line 3");
    check_note("GPU0 GPU1\nGPU0 X NV4\nGPU1 NV4 X\n\nGPU0 GPU1\nGPU0 X NV4\nGPU1 NV4 X\n",
               "matrix.others", false, "another matrix begins on line 5");
    check_note("GPU0 GPU1 GPU2\nGPU0 X NV4 PIX\n", "matrix.cut", false,
               "the matrix ends on line 2: no whole row of GPU1 to GPU2");
    check_note("GPU0 GPU1\nGPU0 X NV4\nGPU1 NV4 X\nmlx5_0 PIX PIX\n", "matrix.no_column", false,
               "mlx5_0 (line 4) has rows and no columns");
    check_note("topo -mp\nGPU0 GPU1\nGPU0 X PHB\nGPU1 PHB X\n", "matrix.nvlink_hidden", false,
               "this is a matrix of topo -mp, which leaves out NVLinks");
}

static void test_absent_nvlink(void **state)
{
    (void)state;
    struct cb_map map = read_map("topo -mp\nGPU0 GPU1\nGPU0 X PHB\nGPU1 PHB X\n");
    assert_true(map.hides_nvlink);
    cb_map_fini(&map);
    map = read_map("topo -m\nGPU0 GPU1\nGPU0 X PHB\nGPU1 PHB X\n");
    assert_false(map.hides_nvlink);
    assert_int_equal(map.notes.count, 0);
    cb_map_fini(&map);
    map = read_map("GPU0\nGPU0 X\n"); /* one GPU has nobody to link to */
    assert_int_equal(map.notes.count, 0);
    cb_map_fini(&map);
}

/* A name may hold what a terminal or a browser acts on. */
static void test_names_are_cleaned(void **state)
{
    (void)state;
    struct cb_map map = read_map("GPU0 NIC0\nGPU0 X PIX\nNIC0 PIX X\n"
                                 "NIC0: <b>x&\"\x01y\n");
    assert_string_equal(map.devices.items[1].name, "?b?x???y");
    cb_map_fini(&map);
}

static void test_error_leaves_the_map_alone(void **state)
{
    (void)state;
    struct cb_map map = {.source = CB_MAP_LIVE};
    struct cb_error err;
    static const char text[] = "GPU0 GPU1\nGPU1 NV4 X\n";
    assert_int_equal(cb_map_from_smi("it", text, strlen(text), &map, &err), CB_E_INPUT);
    assert_int_equal(map.source, CB_MAP_LIVE);
    assert_int_equal(map.devices.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_rate_of_a_known_model),
        cmocka_unit_test(test_switch),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_absent_nvlink),
        cmocka_unit_test(test_names_are_cleaned),
        cmocka_unit_test(test_error_leaves_the_map_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

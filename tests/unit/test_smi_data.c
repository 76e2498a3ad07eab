/* Matrices that people pasted, against the answers kept beside them. Skipped by name where the data
 * are not there. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cb_test.h"
#include "data_files.h"
#include "topology/map_read.h"

static const char *folder;

static int by_text(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* The texts sorted, each once, with commas between; "-" for none. */
static void join(char **texts, size_t count, char *out, size_t size_bytes)
{
    size_t used = 0;
    qsort(texts, count, sizeof(*texts), by_text);
    snprintf(out, size_bytes, "-");
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(texts[i], texts[i - 1]) != 0)
            used +=
                (size_t)snprintf(out + used, size_bytes - used, "%s%s", used ? "," : "", texts[i]);
}

/* The expected list in the same order as join makes. */
static void sort_list(const char *list, char *out, size_t size_bytes)
{
    char copy[1024], *texts[64], *rest = NULL;
    size_t count = 0;
    snprintf(copy, sizeof(copy), "%s", list);
    for (char *text = strtok_r(copy, ",", &rest); text; text = strtok_r(NULL, ",", &rest))
        texts[count++] = text;
    join(texts, count, out, size_bytes);
}

static void find_answers(const struct cb_map *map, int gpu, char *class_name, char *nics,
                         char *classes, size_t size_bytes)
{
    int near[64];
    char *texts[256], buffers[256][16];
    struct cb_map_nearest nearest;
    size_t count = 0;
    cb_map_nearest_nics(map, gpu, near, 64, &nearest);
    snprintf(class_name, size_bytes, "%s",
             nearest.count ? cb_path_class_name(nearest.path_class) : "-");
    for (size_t i = 0; i < nearest.count; i++)
        texts[i] = map->devices.items[near[i]].name;
    join(texts, nearest.count, nics, size_bytes);
    for (size_t i = 0; i < map->gpus.count; i++) {
        struct cb_map_path path;
        if (map->gpus.items[i] == gpu)
            continue;
        cb_map_path(map, gpu, map->gpus.items[i], &path);
        const char *name = cb_map_path_name(&path, buffers[count]);
        if (!name)
            continue;
        if (name != buffers[count])
            snprintf(buffers[count], sizeof(buffers[0]), "%s", name);
        texts[count] = buffers[count];
        count++;
    }
    join(texts, count, classes, size_bytes);
}

static struct cb_map load_map(const char *file)
{
    struct cb_map map = {.has_tree = false};
    struct cb_error err;
    size_t length_bytes = 0;
    char *text = data_read(folder, file, &length_bytes);
    assert_non_null(text);
    assert_ok(cb_map_from_smi(file, text, length_bytes, &map, &err), &err);
    free(text);
    return map;
}

static void check_row(const char *file, const char *gpu, const char *class_name, const char *nics,
                      const char *classes)
{
    char found[3][1024], wanted[2][1024];
    struct cb_map map = load_map(file);
    int device = cb_map_find(&map, gpu);
    assert_true(device >= 0);
    find_answers(&map, device, found[0], found[1], found[2], sizeof(found[0]));
    sort_list(nics, wanted[0], sizeof(wanted[0]));
    sort_list(classes, wanted[1], sizeof(wanted[1]));
    if (strcmp(found[0], class_name) != 0 || strcmp(found[1], wanted[0]) != 0 ||
        strcmp(found[2], wanted[1]) != 0)
        print_error("%s %s: %s %s %s\n", file, gpu, found[0], found[1], found[2]);
    assert_string_equal(found[0], class_name);
    assert_string_equal(found[1], wanted[0]);
    assert_string_equal(found[2], wanted[1]);
    cb_map_fini(&map);
}

static void test_expected_rows(void **state)
{
    (void)state;
    size_t length_bytes = 0, rows = 0;
    char *text = data_read(folder, "expected.tsv", &length_bytes), *rest = NULL;
    assert_non_null(text);
    strtok_r(text, "\n", &rest);
    for (char *line = strtok_r(NULL, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *cells[5], *at = line;
        for (int i = 0; i < 5; i++) {
            cells[i] = strsep(&at, "\t");
            assert_non_null(cells[i]);
        }
        check_row(cells[0], cells[1], cells[2], cells[3], cells[4]);
        rows++;
    }
    assert_true(rows > 100);
    free(text);
}

/* Whatever lies there can be read, answers or not. */
static void test_every_file(void **state)
{
    (void)state;
    size_t files = 0;
    DIR *list = opendir(folder);
    assert_non_null(list);
    for (struct dirent *entry; (entry = readdir(list));) {
        size_t length = strlen(entry->d_name), length_bytes = 0;
        if (length < 4 || strcmp(entry->d_name + length - 4, ".txt") != 0)
            continue;
        struct cb_map map = {.has_tree = false};
        struct cb_error err;
        char *text = data_read(folder, entry->d_name, &length_bytes);
        assert_ok(cb_map_from_smi(entry->d_name, text, length_bytes, &map, &err), &err);
        assert_true(map.gpus.count > 0);
        for (size_t i = 0; i < map.notes.count; i++)
            assert_false(map.notes.items[i].is_wrong);
        cb_map_fini(&map);
        free(text);
        files++;
    }
    closedir(list);
    assert_true(files > 20);
}

static const struct cb_map_device *device(const struct cb_map *map, const char *name)
{
    int index = cb_map_find(map, name);
    assert_true(index >= 0);
    return &map->devices.items[index];
}

/* What the index says of single files. */
static void test_particulars(void **state)
{
    (void)state;
    struct cb_map map = load_map("h800-8gpu-10nic-renamed-glued-affinity.txt");
    assert_string_equal(device(&map, "GPU0")->cpus, "0-45,92-137");
    assert_int_equal(device(&map, "GPU3")->numa, 0);
    assert_int_equal(device(&map, "GPU4")->numa, 1);
    cb_map_fini(&map);

    map = load_map("gb200-4gpu-8nic-gpu-numa-ids.txt");
    assert_int_equal(device(&map, "GPU1")->numa, 0);
    assert_int_equal(device(&map, "GPU2")->numa, 1);
    cb_map_fini(&map);

    map = load_map("vm-8gpu-8nic-pix-else-phb-numa-list.truncated.txt");
    assert_int_equal(device(&map, "GPU0")->numa, -1);
    cb_map_fini(&map);

    map = load_map("dgx2-topo-mp-8of16-columns-single-space.txt");
    for (int gpu = 0; gpu < 8; gpu++) {
        char name[16], nic[16];
        int near[8];
        struct cb_map_nearest nearest;
        snprintf(name, sizeof(name), "GPU%d", gpu);
        snprintf(nic, sizeof(nic), "mlx5_%d", gpu / 2);
        cb_map_nearest_nics(&map, cb_map_find(&map, name), near, 8, &nearest);
        assert_int_equal(nearest.count, 1);
        assert_int_equal(nearest.path_class, CB_CLASS_PIX);
        assert_string_equal(map.devices.items[near[0]].name, nic);
    }
    assert_true(map.hides_nvlink);
    cb_map_fini(&map);
}

int main(void)
{
    folder = data_folder("topology/smi");
    if (!folder)
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expected_rows),
        cmocka_unit_test(test_every_file),
        cmocka_unit_test(test_particulars),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

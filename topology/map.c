#include "topology/map.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "topology/map_internal.h"

/* ---- names ---- */

static const char *const source_names[CB_MAP_SOURCE_COUNT] = {
    [CB_MAP_FROM_HWLOC] = "hwloc",
    [CB_MAP_FROM_NCCL] = "NCCL",
    [CB_MAP_FROM_SMI] = "nvidia-smi",
    [CB_MAP_LIVE] = "this machine",
};

static const char *const device_kind_names[CB_DEVICE_KIND_COUNT] = {
    [CB_DEVICE_NUMA] = "NUMA",
    [CB_DEVICE_HOST_BRIDGE] = "host bridge",
    [CB_DEVICE_PCI_BRIDGE] = "PCI bridge",
    [CB_DEVICE_GPU] = "GPU",
    [CB_DEVICE_NIC] = "NIC",
    [CB_DEVICE_NVSWITCH] = "NVSwitch",
    [CB_DEVICE_OTHER] = "PCI device",
};

static const char *const path_class_names[CB_CLASS_COUNT] = {
    [CB_CLASS_UNKNOWN] = "unknown", [CB_CLASS_SELF] = "X",  [CB_CLASS_PIX] = "PIX",
    [CB_CLASS_PXB] = "PXB",         [CB_CLASS_PHB] = "PHB", [CB_CLASS_NODE] = "NODE",
    [CB_CLASS_SYS] = "SYS",
};

static const char *const link_kind_names[CB_MAP_LINK_KIND_COUNT] = {
    [CB_MAP_LINK_UNKNOWN] = "unknown",
    [CB_MAP_LINK_NVLINK] = "NVLink",
    [CB_MAP_LINK_NVSWITCH] = "NVSwitch",
    [CB_MAP_LINK_C2C] = "C2C",
    [CB_MAP_LINK_XGMI] = "xGMI",
    [CB_MAP_LINK_PCIE] = "PCIe",
    [CB_MAP_LINK_INFINIBAND] = "InfiniBand",
    [CB_MAP_LINK_ROCE] = "RoCE",
    [CB_MAP_LINK_EFA] = "EFA",
    [CB_MAP_LINK_SLINGSHOT] = "Slingshot",
    [CB_MAP_LINK_OMNIPATH] = "Omni-Path",
    [CB_MAP_LINK_USNIC] = "usNIC",
    [CB_MAP_LINK_IWARP] = "iWARP",
    [CB_MAP_LINK_SOFT_ROCE] = "soft RoCE",
    [CB_MAP_LINK_RDMA] = "RDMA",
    [CB_MAP_LINK_ETHERNET] = "Ethernet",
    [CB_MAP_LINK_WIFI] = "Wi-Fi",
};

const char *cb_map_source_name(enum cb_map_source source)
{
    return source_names[source];
}

const char *cb_device_kind_name(enum cb_device_kind kind)
{
    return device_kind_names[kind];
}

const char *cb_path_class_name(enum cb_path_class path_class)
{
    return path_class_names[path_class];
}

const char *cb_map_link_kind_name(enum cb_map_link_kind kind)
{
    return link_kind_names[kind];
}

int cb_path_class_find(const char *name)
{
    return cb_names_find(path_class_names, CB_CLASS_COUNT, name);
}

int cb_map_link_kind_find(const char *name)
{
    return cb_names_find(link_kind_names, CB_MAP_LINK_KIND_COUNT, name);
}

/* ---- texts ---- */

void cb_map_clean(char *out, size_t out_size_bytes, const char *text, size_t length_bytes)
{
    size_t used = 0;
    for (; used < length_bytes && used + 1 < out_size_bytes && text[used]; used++) {
        char c = text[used];
        out[used] = (c >= ' ' && c <= '~' && !strchr("<>&\"'`", c)) ? c : '?';
    }
    out[used] = '\0';
}

/* Cleans a text in place, in a buffer of that size which may not be terminated. */
static void clean_in_place(char *text, size_t size_bytes)
{
    cb_map_clean(text, size_bytes, text, size_bytes - 1);
}

/* The digits at *at, at most digits_max of them; false when there are none, or more. */
static bool read_hexadecimal(const char **at, int digits_max, unsigned *value)
{
    int digits = 0;
    *value = 0;
    for (; isxdigit((unsigned char)**at) && digits < digits_max; digits++, (*at)++) {
        char c = (char)tolower((unsigned char)**at);
        *value = *value << 4 | (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return digits > 0 && !isxdigit((unsigned char)**at);
}

static bool skip(const char **at, char c)
{
    bool there = **at == c;
    *at += there;
    return there;
}

static bool parse_bus_id(const char *text, unsigned part[4])
{
    const char *at = text;
    if (!read_hexadecimal(&at, 8, &part[0]) || !skip(&at, ':') ||
        !read_hexadecimal(&at, 2, &part[1]))
        return false;
    if (skip(&at, ':')) {
        if (!read_hexadecimal(&at, 2, &part[2]))
            return false;
    } else { /* no domain */
        part[2] = part[1];
        part[1] = part[0];
        part[0] = 0;
        if (part[1] > 0xff)
            return false;
    }
    return skip(&at, '.') && read_hexadecimal(&at, 1, &part[3]) && !*at;
}

void cb_map_normalise_bus_id(char *out, size_t out_size_bytes, const char *text)
{
    unsigned part[4];
    if (parse_bus_id(text, part)) {
        snprintf(out, out_size_bytes, "%04x:%02x:%02x.%x", part[0], part[1], part[2], part[3]);
        return;
    }
    cb_map_clean(out, out_size_bytes, text, strlen(text));
    for (char *c = out; *c; c++)
        *c = (char)tolower((unsigned char)*c);
}

/* ---- building ---- */

void cb_map_fini(struct cb_map *map)
{
    cb_vec_fini(&map->devices);
    cb_vec_fini(&map->links);
    cb_vec_fini(&map->cells);
    cb_vec_fini(&map->gpus);
    cb_vec_fini(&map->nics);
    cb_vec_fini(&map->notes);
    *map = (struct cb_map){0};
}

void cb_map_builder_init(struct cb_map_builder *builder, enum cb_map_source source)
{
    *builder = (struct cb_map_builder){.map = {.source = source}};
}

void cb_map_builder_fini(struct cb_map_builder *builder)
{
    cb_map_fini(&builder->map);
}

struct cb_map_device cb_map_device_blank(enum cb_device_kind kind)
{
    return (struct cb_map_device){
        .kind = kind,
        .parent = -1,
        .numa = -1,
        .vendor_id = -1,
        .device_id = -1,
        .subsystem_vendor_id = -1,
        .subsystem_device_id = -1,
        .pci_class = -1,
        .gpu_index = -1,
        .gdr = -1,
        .switch_index = -1,
    };
}

static int out_of_memory(struct cb_error *err)
{
    return cb_fail(err, CB_E_MEMORY, "out of memory while drawing the map");
}

static int too_many(struct cb_error *err, const char *what, int most)
{
    return cb_fail(err, CB_E_INPUT, "more than %d %s: no machine has that many", most, what);
}

int cb_map_builder_add(struct cb_map_builder *builder, const struct cb_map_device *device,
                       struct cb_error *err)
{
    struct cb_map *map = &builder->map;
    char bus_id[sizeof(device->bus_id)];
    if (map->devices.count >= CB_MAP_DEVICES_MAX)
        return too_many(err, "devices", CB_MAP_DEVICES_MAX);
    if (device->parent >= (int)map->devices.count)
        return cb_fail(err, CB_E_INPUT, "a device lies below one that is not there");
    int depth = device->parent < 0 ? 0 : map->devices.items[device->parent].depth + 1;
    if (depth > CB_MAP_DEPTH_MAX)
        return cb_fail(err, CB_E_INPUT,
                       "more than %d bridges below one another: no machine has that",
                       CB_MAP_DEPTH_MAX);
    struct cb_map_device *added = cb_vec_add(&map->devices);
    if (!added)
        return out_of_memory(err);
    *added = *device;
    added->depth = depth;
    clean_in_place(added->name, sizeof(added->name));
    clean_in_place(added->partner, sizeof(added->partner));
    clean_in_place(added->model, sizeof(added->model));
    clean_in_place(added->nodes, sizeof(added->nodes));
    clean_in_place(added->cpus, sizeof(added->cpus));
    clean_in_place(added->bus_id, sizeof(added->bus_id));
    memcpy(bus_id, added->bus_id, sizeof(bus_id));
    cb_map_normalise_bus_id(added->bus_id, sizeof(added->bus_id), bus_id);
    return (int)map->devices.count - 1;
}

static bool are_devices(const struct cb_map *map, int a, int b)
{
    return a >= 0 && b >= 0 && a < (int)map->devices.count && b < (int)map->devices.count;
}

int cb_map_builder_link(struct cb_map_builder *builder, const struct cb_map_link *link,
                        struct cb_error *err)
{
    struct cb_map *map = &builder->map;
    if (!are_devices(map, link->a, link->b))
        return cb_fail(err, CB_E_INPUT, "a link leads to a device that is not there");
    if (map->links.count >= CB_MAP_ROWS_MAX)
        return too_many(err, "links", CB_MAP_ROWS_MAX);
    struct cb_map_link *added = cb_vec_add(&map->links);
    if (!added)
        return out_of_memory(err);
    *added = *link;
    if (link->a > link->b) {
        added->a = link->b;
        added->b = link->a;
    }
    return 0;
}

int cb_map_builder_state(struct cb_map_builder *builder, int a, int b,
                         enum cb_path_class path_class, int nvlinks, struct cb_error *err)
{
    struct cb_map *map = &builder->map;
    if (!are_devices(map, a, b))
        return cb_fail(err, CB_E_INPUT, "a class is stated of a device that is not there");
    if (map->cells.count >= CB_MAP_ROWS_MAX)
        return too_many(err, "pairs", CB_MAP_ROWS_MAX);
    struct cb_map_cell *cell = cb_vec_add(&map->cells);
    if (!cell)
        return out_of_memory(err);
    *cell = (struct cb_map_cell){a < b ? a : b, a < b ? b : a, path_class, nvlinks};
    return 0;
}

int cb_map_builder_note(struct cb_map_builder *builder, const struct cb_map_note *note,
                        struct cb_error *err)
{
    struct cb_map_note *added = cb_vec_add(&builder->map.notes);
    if (!added)
        return out_of_memory(err);
    *added = *note;
    clean_in_place(added->code, sizeof(added->code));
    clean_in_place(added->seen, sizeof(added->seen));
    return 0;
}

static int by_pair(int a, int b, int other_a, int other_b)
{
    if (a != other_a)
        return a < other_a ? -1 : 1;
    return (b > other_b) - (b < other_b);
}

/* Sorts so that rows of one pair stand together in the order they came. Merge sort, since qsort is
 * not stable and the rows carry no number; insertion would take too long on a large matrix. */
static void sort_cells(struct cb_map_cell *cells, struct cb_map_cell *spare, size_t count)
{
    if (count < 2)
        return;
    size_t half = count / 2, left = 0, right = half;
    sort_cells(cells, spare, half);
    sort_cells(cells + half, spare, count - half);
    for (size_t i = 0; i < count; i++) {
        const struct cb_map_cell *l = &cells[left], *r = &cells[right];
        bool take_left = right == count || (left < half && by_pair(l->a, l->b, r->a, r->b) <= 0);
        spare[i] = cells[take_left ? left++ : right++];
    }
    memcpy(cells, spare, count * sizeof(*cells));
}

/* Sorted, the last word of each pair kept. */
static int settle_cells(struct cb_map *map, struct cb_error *err)
{
    size_t count = map->cells.count, kept = 0;
    struct cb_map_cell *cells = map->cells.items;
    if (count == 0)
        return 0;
    struct cb_map_cell *spare = malloc(count * sizeof(*spare));
    if (!spare)
        return out_of_memory(err);
    sort_cells(cells, spare, count);
    free(spare);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && by_pair(cells[kept - 1].a, cells[kept - 1].b, cells[i].a, cells[i].b) == 0)
            kept--;
        cells[kept++] = cells[i];
    }
    map->cells.count = kept;
    return 0;
}

/* The sum of two rates; unknown (0) when either is. */
static double add_rates(double a, double b)
{
    return a > 0 && b > 0 ? a + b : 0;
}

static int by_link(const void *left, const void *right)
{
    const struct cb_map_link *l = left, *r = right;
    int order = by_pair(l->a, l->b, r->a, r->b);
    return order ? order : (l->kind > r->kind) - (l->kind < r->kind);
}

/* Sorted; links of one kind between the same two are one. */
static void merge_links(struct cb_map *map)
{
    struct cb_map_link *links = map->links.items;
    size_t kept = 0;
    if (map->links.count == 0)
        return;
    qsort(links, map->links.count, sizeof(*links), by_link);
    for (size_t i = 0; i < map->links.count; i++) {
        if (kept == 0 || by_link(&links[kept - 1], &links[i]) != 0) {
            links[kept++] = links[i];
            continue;
        }
        links[kept - 1].count += links[i].count;
        links[kept - 1].bytes_per_s_one_way =
            add_rates(links[kept - 1].bytes_per_s_one_way, links[i].bytes_per_s_one_way);
    }
    map->links.count = kept;
}

/* What a pair needs to know of its ends' links to switches and CPUs. */
static void sum_link(struct cb_map *map, int from, int to, const struct cb_map_link *link)
{
    struct cb_map_device *device = &map->devices.items[from];
    enum cb_device_kind kind = map->devices.items[to].kind;
    double rate = link->bytes_per_s_one_way;
    if (kind == CB_DEVICE_NVSWITCH && link->kind == CB_MAP_LINK_NVLINK) {
        bool is_first = device->switch_links == 0;
        device->switch_index = is_first ? to : -1;
        device->switch_generation = link->generation;
        device->switch_links += link->count;
        device->switch_bytes_per_s = is_first ? rate : add_rates(device->switch_bytes_per_s, rate);
    }
    if (kind == CB_DEVICE_NUMA && link->kind == CB_MAP_LINK_C2C)
        device->cpu_bytes_per_s = rate;
}

static void sum_links(struct cb_map *map)
{
    for (size_t i = 0; i < map->links.count; i++) {
        const struct cb_map_link *link = &map->links.items[i];
        sum_link(map, link->a, link->b, link);
        sum_link(map, link->b, link->a, link);
    }
}

/* NUMA comes down the tree; a device's own word goes first. */
static void hand_numa_down(struct cb_map *map)
{
    for (size_t i = 0; i < map->devices.count; i++) {
        struct cb_map_device *device = &map->devices.items[i];
        map->has_tree |= device->parent >= 0;
        if (device->numa < 0 && device->parent >= 0)
            device->numa = map->devices.items[device->parent].numa;
    }
}

static int list_endpoints(struct cb_map *map, struct cb_error *err)
{
    for (size_t i = 0; i < map->devices.count; i++) {
        enum cb_device_kind kind = map->devices.items[i].kind;
        int *index = NULL;
        if (kind == CB_DEVICE_GPU)
            index = cb_vec_add(&map->gpus);
        else if (kind == CB_DEVICE_NIC)
            index = cb_vec_add(&map->nics);
        else
            continue;
        if (!index)
            return out_of_memory(err);
        *index = (int)i;
    }
    if (map->gpus.count > CB_MAP_GPUS_MAX)
        return too_many(err, "GPUs", CB_MAP_GPUS_MAX);
    if (map->nics.count > CB_MAP_NICS_MAX)
        return too_many(err, "NICs", CB_MAP_NICS_MAX);
    return 0;
}

int cb_map_builder_finish(struct cb_map_builder *builder, struct cb_map *map, struct cb_error *err)
{
    struct cb_map *built = &builder->map;
    int rc = settle_cells(built, err);
    if (!rc)
        rc = list_endpoints(built, err);
    if (rc)
        return rc;
    merge_links(built);
    sum_links(built);
    cb_map_doubt_rates(built);
    hand_numa_down(built);
    bool is_file = built->source == CB_MAP_FROM_HWLOC || built->source == CB_MAP_FROM_NCCL;
    rc = is_file ? cb_map_builder_note_gaps(builder, err) : 0; /* of a matrix its reader does */
    if (rc)
        return rc;
    *map = *built;
    *built = (struct cb_map){0};
    return 0;
}

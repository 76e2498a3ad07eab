#include <string.h>

#include "topology/map_internal.h"

/* The halves of Broadcom's two-level switches, as NCCL tells them by their PCI ids
 * (src/graph/topo.cc, getBcmGen): subsystem device ids are compared without their last three
 * digits. */
static const struct two_level_switch {
    int device_id;
    int upper_subsystem, lower_subsystem;
} two_level_switches[] = {
    {0xc010, 0xa000, 0xa000}, /* generation 4 */
    {0xc030, 0x0000, 0x1000}, /* generation 5 */
};

#define BROADCOM 0x1000

static bool is_half(const struct cb_map_device *bridge, int device_id, int subsystem)
{
    return bridge->kind == CB_DEVICE_PCI_BRIDGE && bridge->vendor_id == BROADCOM &&
           bridge->device_id == device_id && bridge->subsystem_vendor_id == BROADCOM &&
           bridge->subsystem_device_id >= 0 && (bridge->subsystem_device_id & 0xf000) == subsystem;
}

bool cb_map_is_one_switch(const struct cb_map_device *upper, const struct cb_map_device *lower)
{
    for (size_t i = 0; i < sizeof(two_level_switches) / sizeof(*two_level_switches); i++) {
        const struct two_level_switch *row = &two_level_switches[i];
        if (is_half(upper, row->device_id, row->upper_subsystem) &&
            is_half(lower, row->device_id, row->lower_subsystem))
            return true;
    }
    return false;
}

/* ---- classes ---- */

static const struct cb_map_device *device_of(const struct cb_map *map, int index)
{
    return &map->devices.items[index];
}

const struct cb_map_cell *cb_map_find_cell(const struct cb_map *map, int a, int b)
{
    size_t low = 0, high = map->cells.count;
    int first = a < b ? a : b, second = a < b ? b : a;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct cb_map_cell *cell = &map->cells.items[middle];
        if (cell->a == first && cell->b == second)
            return cell;
        if (cell->a < first || (cell->a == first && cell->b < second))
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

int cb_map_find_meeting(const struct cb_map *map, int a, int b)
{
    while (a >= 0 && b >= 0 && a != b) {
        int a_depth = device_of(map, a)->depth, b_depth = device_of(map, b)->depth;
        if (a_depth >= b_depth)
            a = device_of(map, a)->parent;
        if (b_depth >= a_depth)
            b = device_of(map, b)->parent;
    }
    return a == b ? a : -1;
}

static int find_root(const struct cb_map *map, int device)
{
    while (device_of(map, device)->parent >= 0)
        device = device_of(map, device)->parent;
    return device;
}

/* nvidia-smi's reading: a switch shows as an upstream port with downstream ports below, so devices
 * up to two levels below the bridge where they meet are on one switch. */
static enum cb_path_class class_below_bridge(const struct cb_map *map, int a, int b, int bridge)
{
    int top = device_of(map, bridge)->depth;
    int a_levels = device_of(map, a)->depth - top, b_levels = device_of(map, b)->depth - top;
    if (map->source == CB_MAP_FROM_NCCL) /* every bridge of the file is a switch */
        return a_levels <= 1 && b_levels <= 1 ? CB_CLASS_PIX : CB_CLASS_PXB;
    return a_levels <= 2 && b_levels <= 2 ? CB_CLASS_PIX : CB_CLASS_PXB;
}

/* Places that do not meet in the tree: on NUMA nodes of one machine, or nothing is known. */
static enum cb_path_class class_apart(const struct cb_map *map, int a, int b)
{
    const struct cb_map_device *a_root = device_of(map, find_root(map, a));
    const struct cb_map_device *b_root = device_of(map, find_root(map, b));
    bool are_placed = a_root->kind == CB_DEVICE_NUMA && b_root->kind == CB_DEVICE_NUMA &&
                      !a_root->is_whole && !b_root->is_whole;
    return are_placed && a_root->host == b_root->host ? CB_CLASS_SYS : CB_CLASS_UNKNOWN;
}

static enum cb_path_class class_by_tree(const struct cb_map *map, int a, int b)
{
    const struct cb_map_device *a_device = device_of(map, a), *b_device = device_of(map, b);
    int meeting = cb_map_find_meeting(map, a, b);
    if (meeting < 0)
        return class_apart(map, a, b);
    const struct cb_map_device *met = device_of(map, meeting);
    if (a_device->bus_id[0] && a_device->parent >= 0 && a_device->parent == b_device->parent &&
        strcmp(a_device->bus_id, b_device->bus_id) == 0)
        return CB_CLASS_PIX; /* ports of one card */
    if (met->kind == CB_DEVICE_PCI_BRIDGE)
        return class_below_bridge(map, a, b, meeting);
    if (met->kind == CB_DEVICE_HOST_BRIDGE)
        return CB_CLASS_PHB;
    if (met->kind != CB_DEVICE_NUMA || met->is_whole)
        return CB_CLASS_UNKNOWN;
    return map->source == CB_MAP_FROM_NCCL ? CB_CLASS_PHB : CB_CLASS_NODE;
}

enum cb_path_class cb_map_class(const struct cb_map *map, int a, int b)
{
    if (a == b)
        return CB_CLASS_SELF;
    const struct cb_map_cell *cell = cb_map_find_cell(map, a, b);
    if (cell)
        return cell->path_class;
    return class_by_tree(map, a, b);
}

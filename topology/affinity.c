#include <string.h>

#include "topology/map_internal.h"

static const struct cb_map_device *device_of(const struct cb_map *map, int index)
{
    return &map->devices.items[index];
}

/* What a GPU prefers one NIC to another by, before distance: lower is better. */
enum { TIER_RDMA, TIER_OTHER, TIER_COUNT };

static int tier_of(const struct cb_map *map, const struct cb_map_device *nic)
{
    return nic->is_rdma || map->source == CB_MAP_FROM_NCCL ? TIER_RDMA : TIER_OTHER;
}

/* A NCCL file lists what NCCL may use, whatever it is. */
static bool is_radio(const struct cb_map *map, const struct cb_map_device *nic)
{
    return nic->port == CB_MAP_LINK_WIFI && map->source != CB_MAP_FROM_NCCL && !nic->is_rdma;
}

/* The best tier that has a NIC of known class, and the nearest class in it. A radio ties with what
 * is as near, but where there is a line, is never the nearest by itself. */
static enum cb_path_class find_nearest(const struct cb_map *map, int gpu, int *tier)
{
    enum { RADIO = TIER_COUNT };
    enum cb_path_class nearest[TIER_COUNT + 1] = {CB_CLASS_UNKNOWN, CB_CLASS_UNKNOWN,
                                                  CB_CLASS_UNKNOWN};
    for (size_t i = 0; i < map->nics.count; i++) {
        int nic = map->nics.items[i];
        const struct cb_map_device *device = device_of(map, nic);
        int place = is_radio(map, device) ? RADIO : tier_of(map, device);
        enum cb_path_class path_class = cb_map_class(map, gpu, nic);
        if (path_class == CB_CLASS_UNKNOWN)
            continue;
        if (nearest[place] == CB_CLASS_UNKNOWN || path_class < nearest[place])
            nearest[place] = path_class;
    }
    int best = TIER_RDMA;
    while (best < RADIO && nearest[best] == CB_CLASS_UNKNOWN)
        best++;
    *tier = best < RADIO ? best : TIER_OTHER;
    return nearest[best];
}

static int count_bridges(const struct cb_map *map, int a, int b)
{
    int meeting = cb_map_find_meeting(map, a, b);
    int top = meeting < 0 ? 0 : device_of(map, meeting)->depth;
    return device_of(map, a)->depth + device_of(map, b)->depth - 2 * top;
}

/* Negative when NIC a is the better one for the GPU; both are equally near. */
static int compare(const struct cb_map *map, int gpu, int a, int b)
{
    const struct cb_map_device *a_nic = device_of(map, a), *b_nic = device_of(map, b);
    if (is_radio(map, a_nic) != is_radio(map, b_nic))
        return is_radio(map, a_nic) - is_radio(map, b_nic);
    int a_down = a_nic->up == CB_UP_NO, b_down = b_nic->up == CB_UP_NO;
    if (a_down != b_down)
        return a_down - b_down;
    int numa = device_of(map, gpu)->numa;
    int a_away = numa >= 0 && a_nic->numa != numa, b_away = numa >= 0 && b_nic->numa != numa;
    if (a_away != b_away)
        return a_away - b_away;
    bool by_pcie;
    double a_rate = cb_map_wire_bytes_per_s(map, gpu, a, &by_pcie);
    double b_rate = cb_map_wire_bytes_per_s(map, gpu, b, &by_pcie);
    if (a_rate > b_rate || a_rate < b_rate)
        return a_rate > b_rate ? -1 : 1;
    return count_bridges(map, gpu, a) - count_bridges(map, gpu, b);
}

void cb_map_nearest_nics(const struct cb_map *map, int gpu, int *nics, size_t capacity,
                         struct cb_map_nearest *nearest)
{
    int tier;
    *nearest =
        (struct cb_map_nearest){.path_class = find_nearest(map, gpu, &tier), .first_of_equals = -1};
    if (nearest->path_class == CB_CLASS_UNKNOWN)
        return;
    for (size_t i = 0; i < map->nics.count; i++) {
        int nic = map->nics.items[i];
        if (tier_of(map, device_of(map, nic)) != tier ||
            cb_map_class(map, gpu, nic) != nearest->path_class)
            continue;
        if (nearest->count < capacity)
            nics[nearest->count] = nic;
        nearest->count++;
        if (nearest->first_of_equals < 0 || compare(map, gpu, nic, nearest->first_of_equals) < 0)
            nearest->first_of_equals = nic;
    }
}

int cb_map_find(const struct cb_map *map, const char *name)
{
    char bus_id[24];
    cb_map_normalise_bus_id(bus_id, sizeof(bus_id), name);
    for (size_t i = 0; i < map->devices.count; i++)
        if (strcmp(device_of(map, (int)i)->name, name) == 0)
            return (int)i;
    for (size_t i = 0; i < map->devices.count; i++)
        if (bus_id[0] && strcmp(device_of(map, (int)i)->bus_id, bus_id) == 0)
            return (int)i;
    return -1;
}

/* From a map to facts. */
#include <stdio.h>
#include <string.h>

#include "topology/facts.h"
#include "topology/map.h"

/* What from_sysfs.c calls a kind of port. */
static const char *kind_of_port(enum cb_map_link_kind port)
{
    return port == CB_MAP_LINK_UNKNOWN ? "" : cb_map_link_kind_name(port);
}

static void set_pcie(const struct cb_map_pcie *from, bool loaded, struct cb_facts_pcie *to)
{
    int generation = cb_pcie_generation(from->transfers_per_s);
    int limit = cb_pcie_generation(from->max_transfers_per_s);
    to->generation = generation > 0 ? generation : -1;
    to->width = from->lanes > 0 ? from->lanes : -1;
    to->generation_limit = limit > 0 ? limit : -1;
    to->width_limit = from->max_lanes > 0 ? from->max_lanes : -1;
    to->loaded = loaded;
}

/* NVLinks of one GPU. A matrix states them pair by pair: through a switch all of a card's links
 * show in each pair, and their sum is more than any card has. */
enum { MOST_NVLINKS = 18 };

static int count_nvlinks(const struct cb_map *map, int gpu)
{
    int sum = 0, most = 0;
    /* hwloc knows no NVLinks newer than itself: a file without any says nothing. */
    if (map->hides_nvlink || (map->source == CB_MAP_FROM_HWLOC && map->links.count == 0))
        return -1;
    for (size_t i = 0; i < map->links.count; i++) {
        const struct cb_map_link *link = &map->links.items[i];
        bool nvlink = link->kind == CB_MAP_LINK_NVLINK || link->kind == CB_MAP_LINK_NVSWITCH;
        if (nvlink && (link->a == gpu || link->b == gpu)) {
            sum += link->count;
            most = link->count > most ? link->count : most;
        }
    }
    for (size_t i = 0; i < map->cells.count; i++) {
        const struct cb_map_cell *cell = &map->cells.items[i];
        if (cell->a == gpu || cell->b == gpu) {
            sum += cell->nvlinks;
            most = cell->nvlinks > most ? cell->nvlinks : most;
        }
    }
    return sum > MOST_NVLINKS ? most : sum;
}

static void add_gpu(const struct cb_map *map, int device, struct cb_facts *facts)
{
    const struct cb_map_device *from = &map->devices.items[device];
    facts->gpus_found++;
    if (facts->gpu_count == CB_FACTS_GPUS)
        return;
    struct cb_facts_gpu *gpu = &facts->gpus[facts->gpu_count++];
    cb_facts_gpu_init(gpu);
    gpu->index = facts->gpu_count - 1;
    snprintf(gpu->name, sizeof(gpu->name), "%s", from->model);
    snprintf(gpu->bus_id, sizeof(gpu->bus_id), "%s", from->bus_id);
    gpu->numa = from->numa;
    gpu->compute_capability = from->sm > 0 ? from->sm : -1;
    set_pcie(&from->pcie, false, &gpu->pcie);
    gpu->nvlinks = count_nvlinks(map, device);
}

static void add_nic(const struct cb_map *map, int device, struct cb_facts *facts)
{
    const struct cb_map_device *from = &map->devices.items[device];
    facts->nics_found++;
    if (facts->nic_count == CB_FACTS_NICS)
        return;
    struct cb_facts_nic *nic = &facts->nics[facts->nic_count++];
    cb_facts_nic_init(nic);
    snprintf(nic->port.name, sizeof(nic->port.name), "%.31s", from->name);
    snprintf(nic->port.kind, sizeof(nic->port.kind), "%s", kind_of_port(from->port));
    snprintf(nic->port.partner, sizeof(nic->port.partner), "%.31s", from->partner);
    snprintf(nic->bus_id, sizeof(nic->bus_id), "%s", from->bus_id);
    nic->port.numa = from->numa;
    nic->port.nominal_bytes_per_s = from->port_bytes_per_s;
    nic->port.stated_bytes_per_s = from->stated_bits_per_s / 8;
    nic->port.up = from->up != CB_UP_NO;
    nic->port.virtual_function = from->is_virtual_function;
    set_pcie(&from->pcie, false, &nic->pcie);
}

/* A device by its bus id, else by its name; -1 when the map has none. */
static int find_device(const struct cb_map *map, const char *bus_id, const char *name)
{
    int device = bus_id[0] ? cb_map_find(map, bus_id) : -1;
    return device < 0 ? cb_map_find(map, name) : device;
}

static int find_nic(const struct cb_map *map, const struct cb_facts_nic *nic)
{
    char device[sizeof(nic->port.name)];
    snprintf(device, sizeof(device), "%s", nic->port.name);
    device[strcspn(device, ":")] = '\0';
    /* The name first: two ports may share a bus id. */
    int found = cb_map_find(map, device);
    return found < 0 ? find_device(map, nic->bus_id, device) : found;
}

static void add_path(const struct cb_map *map, const int devices[2], const char *a, const char *b,
                     struct cb_facts *facts)
{
    struct cb_map_path path;
    char buffer[16];
    if (devices[0] < 0 || devices[1] < 0)
        return;
    cb_map_path(map, devices[0], devices[1], &path);
    const char *name = cb_map_path_name(&path, buffer);
    /* What the driver said of a pair (peer access, NVLinks) is in its link. */
    int known = cb_facts_find_link(facts, a, b);
    struct cb_facts_link *link = known < 0 ? cb_facts_add_link(facts, a, b) : &facts->links[known];
    if (!link || link->nvlinks > 0 || (!name && link->path[0]))
        return;
    snprintf(link->path, sizeof(link->path), "%.7s", name ? name : "");
    snprintf(link->kind, sizeof(link->kind), "%.15s",
             path.kind == CB_MAP_LINK_UNKNOWN ? "" : cb_map_link_kind_name(path.kind));
    bool nvlink = path.kind == CB_MAP_LINK_NVLINK || path.kind == CB_MAP_LINK_NVSWITCH;
    link->nvlinks = nvlink ? path.count : 0;
    link->bytes_per_s_one_way = path.is_upper_bound ? 0 : path.bytes_per_s_one_way;
}

static void add_paths(const struct cb_map *map, const int *gpus, const int *nics,
                      struct cb_facts *facts)
{
    char a[32], b[32];
    for (int i = 0; i < facts->gpu_count; i++) {
        cb_facts_gpu_name(&facts->gpus[i], a, sizeof(a));
        for (int j = i + 1; j < facts->gpu_count; j++)
            add_path(map, (const int[]){gpus[i], gpus[j]}, a,
                     cb_facts_gpu_name(&facts->gpus[j], b, sizeof(b)), facts);
        for (int j = 0; j < facts->nic_count; j++)
            add_path(map, (const int[]){gpus[i], nics[j]}, a, facts->nics[j].port.name, facts);
    }
}

void cb_facts_add_paths(const struct cb_map *map, struct cb_facts *facts)
{
    int gpus[CB_FACTS_GPUS], nics[CB_FACTS_NICS];
    char name[32];
    for (int i = 0; i < facts->gpu_count; i++) {
        cb_facts_gpu_name(&facts->gpus[i], name, sizeof(name));
        gpus[i] = find_device(map, facts->gpus[i].bus_id, name);
        if (gpus[i] >= 0 && facts->gpus[i].numa < 0)
            facts->gpus[i].numa = map->devices.items[gpus[i]].numa;
    }
    for (int i = 0; i < facts->nic_count; i++)
        nics[i] = find_nic(map, &facts->nics[i]);
    add_paths(map, gpus, nics, facts);
}

void cb_facts_from_map(const struct cb_map *map, struct cb_facts *out)
{
    cb_facts_init(out);
    for (size_t i = 0; i < map->gpus.count; i++)
        add_gpu(map, map->gpus.items[i], out);
    for (size_t i = 0; i < map->nics.count; i++)
        add_nic(map, map->nics.items[i], out);
    add_paths(map, map->gpus.items, map->nics.items, out);
}

/* What the kernel and NVML say of a machine, put into its map. */
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "topology/facts.h"
#include "topology/map.h"

static int find_device(const struct cb_map *map, const char *bus_id, const char *name)
{
    int device = bus_id[0] ? cb_map_find(map, bus_id) : -1;
    return device < 0 && name[0] ? cb_map_find(map, name) : device;
}

static void complete_gpu(const struct cb_facts_gpu *from, struct cb_map_device *gpu)
{
    /* NVML's number, which findings name it by. */
    if (from->index >= 0) {
        if (gpu->name[0] && !gpu->partner[0])
            memcpy(gpu->partner, gpu->name, sizeof(gpu->partner));
        cb_facts_gpu_name(from, gpu->name, sizeof(gpu->name));
        gpu->gpu_index = from->index;
    }
    if (from->name[0])
        snprintf(gpu->model, sizeof(gpu->model), "%s", from->name);
    if (from->compute_capability > 0)
        gpu->sm = from->compute_capability;
    if (gpu->numa < 0)
        gpu->numa = from->numa;
}

static void complete_nic(const struct cb_facts_nic *from, struct cb_map_device *nic)
{
    int kind = cb_map_link_kind_find(from->port.kind);
    if (kind > CB_MAP_LINK_PCIE) {
        nic->port = (enum cb_map_link_kind)kind;
        nic->is_rdma = cb_map_link_is_rdma(nic->port);
    }
    if (from->port.nominal_bytes_per_s > 0)
        nic->port_bytes_per_s = from->port.nominal_bytes_per_s;
    nic->is_virtual_function |= from->port.virtual_function;
    nic->up = from->port.up ? CB_UP_YES : CB_UP_NO;
    if (nic->numa < 0)
        nic->numa = from->port.numa;
}

/* The port of a facts' NIC in the map: by its name without the port's number ("mlx5_0:1"), else by
 * its bus id, as long as no other kind of port is meant: two share one. */
static int find_nic(const struct cb_map *map, const struct cb_facts_nic *nic)
{
    char name[sizeof(nic->port.name)];
    snprintf(name, sizeof(name), "%s", nic->port.name);
    name[strcspn(name, ":")] = '\0';
    int device = cb_map_find(map, name);
    return device >= 0 && map->devices.items[device].kind == CB_DEVICE_NIC ? device : -1;
}

/* A device that hwloc does not show, as in a container without the PCI tree: its place is not
 * known.
 */
static int add_device(struct cb_map_builder *builder, enum cb_device_kind kind, const char *name,
                      const char *bus_id, struct cb_error *err)
{
    struct cb_map_device device = cb_map_device_blank(kind);
    snprintf(device.name, sizeof(device.name), "%s", name);
    snprintf(device.bus_id, sizeof(device.bus_id), "%s", bus_id);
    return cb_map_builder_add(builder, &device, err);
}

static int complete_gpus(const struct cb_facts *facts, int *gpus, struct cb_map_builder *builder,
                         struct cb_error *err)
{
    char name[32];
    for (int i = 0; i < facts->gpu_count; i++) {
        const struct cb_facts_gpu *gpu = &facts->gpus[i];
        cb_facts_gpu_name(gpu, name, sizeof(name));
        if (gpus[i] < 0)
            gpus[i] = add_device(builder, CB_DEVICE_GPU, name, gpu->bus_id, err);
        if (gpus[i] < 0)
            return gpus[i];
        complete_gpu(gpu, &builder->map.devices.items[gpus[i]]);
    }
    return 0;
}

/* What software made up (bridges, virtual Ethernet) is no part of the machine. */
static bool is_hardware(const struct cb_facts_nic *nic)
{
    return nic->bus_id[0] != '\0';
}

static int complete_nics(const struct cb_facts *facts, const struct cb_map *map,
                         struct cb_map_builder *builder, struct cb_error *err)
{
    for (int i = 0; i < facts->nic_count; i++) {
        const struct cb_facts_nic *nic = &facts->nics[i];
        int device = find_nic(map, nic);
        char name[sizeof(nic->port.name)];
        snprintf(name, sizeof(name), "%s", nic->port.name);
        name[strcspn(name, ":")] = '\0';
        /* The other face of a port that the map has by its RDMA name. */
        if (device < 0 && nic->bus_id[0] && cb_map_find(map, nic->bus_id) >= 0)
            continue;
        if (device < 0 && is_hardware(nic))
            device = add_device(builder, CB_DEVICE_NIC, name, nic->bus_id, err);
        else if (device < 0)
            continue;
        if (device < 0)
            return device;
        complete_nic(nic, &builder->map.devices.items[device]);
    }
    return 0;
}

/* Whether the map itself has a link beside PCIe for the pair; it has none for devices added. */
static bool is_linked(const struct cb_map *map, int a, int b)
{
    struct cb_map_path path;
    if (a >= (int)map->devices.count || b >= (int)map->devices.count)
        return false;
    cb_map_path(map, a, b, &path);
    return path.kind != CB_MAP_LINK_UNKNOWN && path.kind != CB_MAP_LINK_PCIE;
}

static bool is_classed(const struct cb_map *map, int a, int b)
{
    return a < (int)map->devices.count && b < (int)map->devices.count &&
           cb_map_class(map, a, b) != CB_CLASS_UNKNOWN;
}

/* What NVML tells of a pair and hwloc does not: NVLinks, and how near they are over PCI. */
static int add_pair(const struct cb_facts_link *link, int a, int b, int generation,
                    const struct cb_map *map, struct cb_map_builder *builder, struct cb_error *err)
{
    int kind = cb_map_link_kind_find(link->kind), path_class = cb_path_class_find(link->path);
    const struct cb_map_link added = {.a = a,
                                      .b = b,
                                      .kind = (enum cb_map_link_kind)kind,
                                      .generation = generation,
                                      .count = link->nvlinks,
                                      .bytes_per_s_one_way = link->bytes_per_s_one_way};
    bool is_nvlink = kind == CB_MAP_LINK_NVLINK || kind == CB_MAP_LINK_NVSWITCH;
    if (is_nvlink && link->nvlinks > 0 && !is_linked(map, a, b))
        return cb_map_builder_link(builder, &added, err);
    if (path_class >= CB_CLASS_PIX && !is_classed(map, a, b))
        return cb_map_builder_state(builder, a, b, (enum cb_path_class)path_class, 0, err);
    return 0;
}

static int add_pairs(const struct cb_facts *facts, const int *gpus, const struct cb_map *map,
                     struct cb_map_builder *builder, struct cb_error *err)
{
    char a[32], b[32];
    int rc = 0;
    for (int i = 0; i < facts->gpu_count; i++)
        for (int k = i + 1; k < facts->gpu_count && rc == 0; k++) {
            int found = cb_facts_find_link(facts, cb_facts_gpu_name(&facts->gpus[i], a, sizeof(a)),
                                           cb_facts_gpu_name(&facts->gpus[k], b, sizeof(b)));
            int version = facts->gpus[i].nvlink_version;
            if (found >= 0)
                rc = add_pair(&facts->links[found], gpus[i], gpus[k],
                              version > 0 ? version / 10 : 0, map, builder, err);
        }
    return rc;
}

/* The map once more, for a builder; what the builder worked out it works out again. */
static int copy_map(const struct cb_map *map, struct cb_map_builder *builder, struct cb_error *err)
{
    int rc = 0;
    for (size_t i = 0; i < map->devices.count && rc >= 0; i++) {
        struct cb_map_device device = map->devices.items[i];
        device.is_rate_doubtful = false;
        device.switch_links = 0;
        device.switch_bytes_per_s = 0;
        device.cpu_bytes_per_s = 0;
        rc = cb_map_builder_add(builder, &device, err);
    }
    for (size_t i = 0; i < map->links.count && rc >= 0; i++)
        rc = cb_map_builder_link(builder, &map->links.items[i], err);
    for (size_t i = 0; i < map->cells.count && rc >= 0; i++) {
        const struct cb_map_cell *cell = &map->cells.items[i];
        rc = cb_map_builder_state(builder, cell->a, cell->b, cell->path_class, cell->nvlinks, err);
    }
    for (size_t i = 0; i < map->notes.count && rc >= 0; i++)
        rc = cb_map_builder_note(builder, &map->notes.items[i], err);
    builder->map.has_tree = map->has_tree;
    builder->map.hides_nvlink = map->hides_nvlink;
    memcpy(builder->map.name, map->name, sizeof(map->name));
    return rc < 0 ? rc : 0;
}

int cb_map_complete(const struct cb_facts *facts, struct cb_map *map, struct cb_error *err)
{
    struct cb_map_builder builder;
    struct cb_map completed = {.has_tree = false};
    int gpus[CB_FACTS_GPUS];
    char name[32];
    cb_map_builder_init(&builder, map->source);
    for (int i = 0; i < CB_FACTS_GPUS; i++)
        gpus[i] = -1;
    for (int i = 0; i < facts->gpu_count; i++)
        gpus[i] = find_device(map, facts->gpus[i].bus_id,
                              cb_facts_gpu_name(&facts->gpus[i], name, sizeof(name)));
    int rc = copy_map(map, &builder, err);
    if (rc == 0)
        rc = complete_gpus(facts, gpus, &builder, err);
    if (rc == 0)
        rc = complete_nics(facts, map, &builder, err);
    if (rc == 0)
        rc = add_pairs(facts, gpus, map, &builder, err);
    if (rc == 0)
        rc = cb_map_builder_finish(&builder, &completed, err);
    cb_map_builder_fini(&builder);
    if (rc)
        return rc;
    cb_map_fini(map);
    *map = completed;
    return 0;
}

#include "topology/nccl_links.h"

#include <stdio.h>
#include <string.h>

#include "topology/map_internal.h"
#include "topology/xml.h"

#define MAX_LINKS 4096 /* of one file */

/* How NCCL writes the bus id of a switch that it cannot read, as in racks of NVLink. */
static const char unreadable[] = "fffffff:";

void cb_nccl_links_fini(struct cb_nccl_links *links)
{
    cb_vec_fini(&links->targets);
    cb_vec_fini(&links->gpus);
}

int cb_nccl_links_note(struct cb_nccl_links *links, int gpu, enum cb_map_link_kind kind,
                       const char *const *attributes, struct cb_error *err)
{
    const char *bus_id = cb_xml_attribute(attributes, "target");
    if (links->targets.count >= MAX_LINKS)
        return cb_fail(err, CB_E_INPUT, "more than %d links: no machine has that many", MAX_LINKS);
    struct cb_nccl_target *target = cb_vec_add(&links->targets);
    if (!target)
        return cb_fail(err, CB_E_MEMORY, "no memory for the map");
    target->from = gpu;
    target->kind = kind;
    target->count = (int)cb_xml_integer(attributes, "count", 1, 1000, 0);
    target->pci_class = (int)cb_xml_integer(attributes, "tclass", 0, 0xffffff, -1);
    cb_map_normalise_bus_id(target->bus_id, sizeof(target->bus_id), bus_id ? bus_id : "");
    return 0;
}

/* Of GPUs at one bus id, in several hosts, the one in the same host. */
static int find_gpu(const struct cb_nccl_links *links, const struct cb_map *map,
                    const struct cb_nccl_target *target)
{
    const struct cb_map_device *devices = map->devices.items;
    int found = -1;
    for (size_t i = 0; i < links->gpus.count; i++) {
        int gpu = links->gpus.items[i];
        if (strcmp(devices[gpu].bus_id, target->bus_id) != 0)
            continue;
        if (devices[gpu].host == devices[target->from].host)
            return gpu;
        found = gpu;
    }
    return found;
}

/* The switch of that bus id in the GPU's host, added when it is the first word of it. One whose id
 * cannot be read stands for all such, in all hosts. */
static int find_switch(struct cb_map_builder *builder, int first_switch,
                       const struct cb_nccl_target *target, struct cb_error *err)
{
    const struct cb_map_device *devices = builder->map.devices.items;
    struct cb_map_device found = cb_map_device_blank(CB_DEVICE_NVSWITCH);
    int count = (int)builder->map.devices.count;
    bool is_readable = strncmp(target->bus_id, unreadable, strlen(unreadable)) != 0;
    found.host = is_readable ? devices[target->from].host : 0;
    for (int i = first_switch; i < count; i++)
        if (devices[i].host == found.host && strcmp(devices[i].bus_id, target->bus_id) == 0)
            return i;
    snprintf(found.name, sizeof(found.name), "NVSwitch %d", count - first_switch);
    memcpy(found.bus_id, target->bus_id, sizeof(found.bus_id));
    return cb_map_builder_add(builder, &found, err);
}

static int find_cpu(const struct cb_map *map, int device)
{
    while (device >= 0 && map->devices.items[device].kind != CB_DEVICE_NUMA)
        device = map->devices.items[device].parent;
    return device;
}

/* The class is of what is at the other end: a GPU, a CPU's port (POWER), a switch. */
static int resolve(const struct cb_nccl_links *links, struct cb_map_builder *builder,
                   int first_switch, struct cb_nccl_target *target, struct cb_error *err)
{
    target->to = find_gpu(links, &builder->map, target);
    if (target->to >= 0 || target->kind == CB_MAP_LINK_XGMI)
        return 0;
    if (target->pci_class == 0x068001) {
        target->to = find_cpu(&builder->map, target->from);
        return 0;
    }
    if (target->pci_class >= 0 && target->pci_class >> 8 != 0x0680)
        return 0; /* a GPU that the file does not have */
    target->to = find_switch(builder, first_switch, target, err);
    return target->to < 0 ? target->to : 0;
}

/* Both GPUs of a pair state their link; one may have lost it. */
static bool is_stated_from(const struct cb_nccl_links *links, int from, int to)
{
    for (size_t i = 0; i < links->targets.count; i++)
        if (links->targets.items[i].from == from && links->targets.items[i].to == to)
            return true;
    return false;
}

static int add_link(struct cb_map_builder *builder, const struct cb_nccl_target *target,
                    struct cb_error *err)
{
    const struct cb_map_device *from = &builder->map.devices.items[target->from];
    struct cb_map_link link = {
        .a = target->from, .b = target->to, .kind = target->kind, .count = target->count};
    double each = target->kind == CB_MAP_LINK_XGMI
                      ? cb_map_xgmi_bytes_per_s(from->device_id)
                      : cb_map_nvlink_bytes_per_s(from->sm, &link.generation);
    link.bytes_per_s_one_way = each * target->count;
    return cb_map_builder_link(builder, &link, err);
}

int cb_nccl_links_add(struct cb_nccl_links *links, struct cb_map_builder *builder,
                      struct cb_error *err)
{
    int rc = 0;
    int first_switch = (int)builder->map.devices.count;
    for (size_t i = 0; !rc && i < links->targets.count; i++)
        rc = resolve(links, builder, first_switch, &links->targets.items[i], err);
    for (size_t i = 0; !rc && i < links->targets.count; i++) {
        const struct cb_nccl_target *target = &links->targets.items[i];
        if (target->to < 0 || target->to == target->from)
            continue;
        if (target->from > target->to && is_stated_from(links, target->to, target->from))
            continue;
        rc = add_link(builder, target, err);
    }
    return rc;
}

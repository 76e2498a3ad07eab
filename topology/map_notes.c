/* What a file leaves out or states that cannot be, in words for who asked. */
#include <stdio.h>
#include <string.h>

#include "topology/map_internal.h"

static const struct cb_map_device *device_of(const struct cb_map *map, int index)
{
    return &map->devices.items[index];
}

/* Something that devices of a map may have in common. */
typedef bool has_gap(const struct cb_map *map, int device);

static bool has_no_place(const struct cb_map *map, int device)
{
    const struct cb_map_device *root = device_of(map, device);
    if (root->kind != CB_DEVICE_GPU && root->kind != CB_DEVICE_NIC)
        return false;
    while (root->parent >= 0)
        root = device_of(map, root->parent);
    return root->kind != CB_DEVICE_NUMA || root->is_whole;
}

static bool has_no_kind(const struct cb_map *map, int device)
{
    return device_of(map, device)->kind == CB_DEVICE_OTHER;
}

static bool has_doubtful_rate(const struct cb_map *map, int device)
{
    return device_of(map, device)->is_rate_doubtful;
}

static bool has_doubtful_port(const struct cb_map *map, int device)
{
    const struct cb_map_device *nic = device_of(map, device);
    return nic->stated_bits_per_s > 0 && nic->port_bytes_per_s <= 0;
}

static bool may_hide_links(const struct cb_map *map, int device)
{
    return map->hides_nvlink && map->gpus.count > 1 &&
           device_of(map, device)->kind == CB_DEVICE_GPU && cb_map_may_have_links(map, device);
}

static const struct gap {
    const char *code;
    has_gap *has;
    size_t at_least; /* devices */
    const char *seen, *why, *remedy;
} gaps[] = {
    {"map.nvlink_hidden", may_hide_links, 2,
     "no NVLink or xGMI is shown between GPUs that may have it",
     "how fast they talk to each other cannot be told: hwloc shows such links where it was built "
     "with "
     "NVML and knows their generation, a file made for NCCL to read never does",
     "nvidia-smi topo -m on that machine, or what NCCL writes (NCCL_TOPO_DUMP_FILE)"},
    {"map.no_place", has_no_place, 1, "the file does not say where it is",
     "a virtual machine or a container hides the PCI tree or its NUMA nodes: what is near what "
     "cannot "
     "be told",
     "take the map on the host, or have the provider's (NCCL_TOPO_FILE)"},
    {"map.no_kind", has_no_kind, 1, "the file does not say what it is",
     "GPUs and NICs may be among them: a file made for NCCL to read may name addresses alone",
     "take what NCCL writes on that machine (NCCL_TOPO_DUMP_FILE)"},
    {"map.pcie_rate", has_doubtful_rate, 1, "a PCIe rate that cannot be its own",
     "a GPU at rest and a virtual machine's switch both say generation 1: it is taken for unknown",
     "look while data move over the link: commbound run, or lspci -vv"},
    {"map.port_rate", has_doubtful_port, 1, "a stated rate that no port has",
     "a slip of the unit, and nothing says which: it is taken for unknown",
     "ibstat or ethtool on that machine"},
};

/* "a stated rate that no port has: cxi0 and 3 more" */
static void write_seen(struct cb_map_note *note, const struct gap *gap,
                       const struct cb_map_device *first, size_t more)
{
    char others[32] = "";
    if (more > 0)
        snprintf(others, sizeof(others), " and %zu more", more);
    snprintf(note->seen, sizeof(note->seen), "%s: %s%s", gap->seen,
             first->name[0] ? first->name : first->bus_id, others);
}

int cb_map_builder_note_gaps(struct cb_map_builder *builder, struct cb_error *err)
{
    const struct cb_map *map = &builder->map;
    int rc = 0;
    for (size_t i = 0; i < sizeof(gaps) / sizeof(*gaps) && !rc; i++) {
        const struct gap *gap = &gaps[i];
        struct cb_map_note note = {.why = gap->why, .remedy = gap->remedy};
        size_t count = 0;
        int first = -1;
        for (size_t k = 0; k < map->devices.count; k++) {
            if (!gap->has(map, (int)k))
                continue;
            first = first < 0 ? (int)k : first;
            count++;
        }
        if (count < gap->at_least)
            continue;
        snprintf(note.code, sizeof(note.code), "%s", gap->code);
        write_seen(&note, gap, device_of(map, first), count - 1);
        rc = cb_map_builder_note(builder, &note, err);
    }
    return rc;
}

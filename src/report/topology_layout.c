#include "report/topology_layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/units.h"

/* ---- groups ---- */

/* What is known of a device while it is put into a group. */
struct place {
    int device;
    bool is_gpu;
    int root; /* the first of its group */
    bool is_nested;
    int host;
    int node; /* NUMA; or BY_CPUS and more, where only the CPUs beside it are known; -1 */
};

#define BY_CPUS (1 << 24)

static const struct cb_map_device *device_of(const struct cb_map *map, int index)
{
    return &map->devices.items[index];
}

/* Devices that are PIX or PXB to one another are one group. Roots are always the first of theirs,
 * so that one look up is enough. */
static void unite(const struct cb_map *map, struct place *places, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++) {
            enum cb_path_class path_class = cb_map_class(map, places[i].device, places[k].device);
            if (path_class != CB_CLASS_PIX && path_class != CB_CLASS_PXB)
                continue;
            int from = places[i].root, to = places[k].root;
            if (to > from) {
                from = places[k].root;
                to = places[i].root;
            }
            for (size_t j = 0; j <= i && from != to; j++)
                if (places[j].root == from)
                    places[j].root = to;
            places[to].is_nested |= places[from].is_nested || path_class == CB_CLASS_PXB;
        }
}

/* A group's node is that of any of its devices. */
static void share_node(struct place *places, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (places[i].node >= 0 && places[places[i].root].node < 0)
            places[places[i].root].node = places[i].node;
    for (size_t i = 0; i < count; i++)
        places[i].node = places[places[i].root].node;
}

/* A matrix gives no node of a NIC, but the GPUs that are on its own (PHB, NODE) have one. */
static void borrow_node(const struct cb_map *map, struct place *places, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count && places[i].node < 0; k++) {
            enum cb_path_class path_class = cb_map_class(map, places[i].device, places[k].device);
            if (places[k].is_gpu && (path_class == CB_CLASS_PHB || path_class == CB_CLASS_NODE))
                places[i].node = places[k].node;
        }
}

static int by_place(const void *left, const void *right)
{
    const struct place *l = left, *r = right;
    const int keys[][2] = {
        {l->host, r->host},       {l->node < 0, r->node < 0}, /* unknown ones last */
        {l->node, r->node},       {l->root, r->root},
        {!l->is_gpu, !r->is_gpu}, {l->device, r->device}};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

/* ---- the layout ---- */

static int out_of_memory(struct cb_error *err)
{
    return cb_fail(err, CB_E_MEMORY, "out of memory while laying out the map");
}

/* The CPUs of a node, where all its GPUs that state any state the same. */
static const char *cpus_of(const struct cb_map *map, const struct place *places, size_t count)
{
    const char *cpus = "";
    for (size_t i = 0; i < count; i++) {
        const char *its = device_of(map, places[i].device)->cpus;
        if (!its[0] || places[i].host != places[0].host || places[i].node != places[0].node)
            continue;
        if (cpus[0] && strcmp(cpus, its) != 0)
            return "";
        cpus = its;
    }
    return places[0].node < 0 ? "" : cpus;
}

/* Appends the place to the group, and the group to the node, that it goes on with; a new one of
 * either where it does not. */
static int add_place(struct cb_topology_layout *layout, const struct place *places, size_t index,
                     size_t count, const bool *nested)
{
    const struct place *place = &places[index], *before = index ? place - 1 : NULL;
    bool is_new_node = !before || before->host != place->host || before->node != place->node;
    bool is_new_group = is_new_node || before->root != place->root;
    struct cb_topology_node *node =
        is_new_node ? cb_vec_add(&layout->nodes) : &layout->nodes.items[layout->nodes.count - 1];
    struct cb_topology_group *group = is_new_group
                                          ? cb_vec_add(&layout->groups)
                                          : &layout->groups.items[layout->groups.count - 1];
    int *member = cb_vec_add(&layout->members);
    if (!node || !group || !member)
        return CB_E_MEMORY;
    if (is_new_node)
        *node = (struct cb_topology_node){.host = place->host,
                                          .numa = place->node < BY_CPUS ? place->node : -1,
                                          .cpus = cpus_of(layout->map, place, count - index),
                                          .first = (int)layout->groups.count - 1};
    if (is_new_group) {
        *group = (struct cb_topology_group){.first = (int)layout->members.count - 1,
                                            .is_nested = nested[place->root]};
        node->count++;
    }
    *member = place->device;
    group->gpu_count += place->is_gpu;
    group->is_switch = ++group->count > 1;
    return 0;
}

/* The NUMA node that is stated; else one for each list of CPUs. */
static int node_of(const struct cb_map *map, const struct place *places, size_t index)
{
    const struct cb_map_device *device = device_of(map, places[index].device);
    size_t first = 0;
    if (device->numa >= 0 || !device->cpus[0])
        return device->numa;
    while (strcmp(device_of(map, places[first].device)->cpus, device->cpus) != 0)
        first++;
    return BY_CPUS + (int)first;
}

static size_t take(const struct cb_map *map, const int *devices, size_t count, bool is_gpu,
                   struct place *places, size_t at)
{
    for (size_t i = at; i < at + count; i++) {
        int device = devices[i - at];
        places[i] = (struct place){.device = device,
                                   .is_gpu = is_gpu,
                                   .root = (int)i,
                                   .host = device_of(map, device)->host};
        places[i].node = node_of(map, places, i);
    }
    return at + count;
}

int cb_topology_layout_make(const struct cb_map *map, size_t gpu_limit, size_t nic_limit,
                            struct cb_topology_layout *layout, struct cb_error *err)
{
    size_t gpus = map->gpus.count < gpu_limit ? map->gpus.count : gpu_limit;
    size_t nics = map->nics.count < nic_limit ? map->nics.count : nic_limit;
    struct place *places = calloc(gpus + nics + 1, sizeof(*places));
    bool *nested = calloc(gpus + nics + 1, sizeof(*nested));
    int rc = places && nested ? 0 : CB_E_MEMORY;
    *layout = (struct cb_topology_layout){.map = map,
                                          .gpus_left_out = (int)(map->gpus.count - gpus),
                                          .nics_left_out = (int)(map->nics.count - nics)};
    if (rc == 0) {
        size_t count = take(map, map->gpus.items, gpus, true, places, 0);
        count = take(map, map->nics.items, nics, false, places, count);
        unite(map, places, count);
        share_node(places, count);
        borrow_node(map, places, count);
        share_node(places, count);
        for (size_t i = 0; i < count; i++)
            nested[i] = places[i].is_nested;
        qsort(places, count, sizeof(*places), by_place);
        for (size_t i = 0; i < count && rc == 0; i++)
            rc = add_place(layout, places, i, count, nested);
    }
    free(places);
    free(nested);
    if (rc == 0)
        return 0;
    cb_topology_layout_fini(layout);
    return out_of_memory(err);
}

void cb_topology_layout_fini(struct cb_topology_layout *layout)
{
    cb_vec_fini(&layout->members);
    cb_vec_fini(&layout->groups);
    cb_vec_fini(&layout->nodes);
}

/* ---- words for devices ---- */

const char *cb_topology_name(const struct cb_map *map, int device, char buffer[48])
{
    const struct cb_map_device *named = device_of(map, device);
    if (named->name[0])
        return named->name;
    if (named->bus_id[0])
        return named->bus_id;
    snprintf(buffer, 48, "%s #%d", cb_device_kind_name(named->kind), device);
    return buffer;
}

void cb_topology_name_node(const struct cb_topology_layout *layout,
                           const struct cb_topology_node *node, char *out, size_t size_bytes)
{
    const struct cb_topology_node *nodes = layout->nodes.items;
    char host[24] = "", numa[40];
    if (nodes[layout->nodes.count - 1].host != nodes[0].host)
        snprintf(host, sizeof(host), "host %d, ", node->host);
    if (node->numa >= 0)
        snprintf(numa, sizeof(numa), "NUMA %d", node->numa);
    else
        snprintf(numa, sizeof(numa), "NUMA node not known");
    snprintf(out, size_bytes, "%s%s%s%s", host, numa, node->cpus[0] ? ", CPUs " : "", node->cpus);
}

const char *cb_topology_path(const struct cb_map *map, int a, int b, char buffer[16])
{
    struct cb_map_path path;
    if (a == b)
        return "X";
    cb_map_path(map, a, b, &path);
    const char *name = cb_map_path_name(&path, buffer);
    if (!name && path.kind != CB_MAP_LINK_UNKNOWN)
        name = cb_map_link_kind_name(path.kind); /* C2C, xGMI */
    return name ? name : "-";
}

/* Appends a part, with ", " ahead where there is one before. */
static void add_part(char *out, size_t size_bytes, const char *part)
{
    size_t used = strlen(out);
    if (part[0] && used + 1 < size_bytes)
        snprintf(out + used, size_bytes - used, "%s%s", used ? ", " : "", part);
}

void cb_topology_describe_port(const struct cb_map_device *nic, char *out, size_t size_bytes)
{
    const char *kind = nic->port == CB_MAP_LINK_UNKNOWN ? "" : cb_map_link_kind_name(nic->port);
    snprintf(out, size_bytes, "%s", kind);
    if (nic->port_bytes_per_s > 0)
        snprintf(out, size_bytes, "%s%s%.4g Gb/s", kind, kind[0] ? " " : "",
                 nic->port_bytes_per_s * 8e-9);
}

static void describe_pcie(const struct cb_map *map, int device, char *part, size_t size_bytes)
{
    const struct cb_map_pcie *pcie = &device_of(map, device)->pcie;
    double rate = cb_map_uplink_bytes_per_s(map, device);
    int generation = cb_pcie_generation(pcie->transfers_per_s);
    char text[CB_UNIT_TEXT];
    part[0] = '\0';
    if (rate <= 0)
        return;
    if (generation > 0)
        snprintf(part, size_bytes, "PCIe %d x%d (%s)", generation, pcie->lanes,
                 cb_format_bandwidth(text, rate));
    else
        snprintf(part, size_bytes, "PCIe %s", cb_format_bandwidth(text, rate));
}

void cb_topology_describe(const struct cb_map *map, int device, char *out, size_t size_bytes)
{
    const struct cb_map_device *shown = device_of(map, device);
    char part[128];
    out[0] = '\0';
    add_part(out, size_bytes, shown->model);
    if (shown->kind == CB_DEVICE_NIC) {
        cb_topology_describe_port(shown, part, sizeof(part));
        add_part(out, size_bytes, part);
        if (shown->up == CB_UP_NO)
            add_part(out, size_bytes, "down");
        if (shown->is_virtual_function)
            add_part(out, size_bytes, "virtual function");
    }
    if (shown->name[0])
        add_part(out, size_bytes, shown->bus_id);
    describe_pcie(map, device, part, sizeof(part));
    add_part(out, size_bytes, part);
}

/* ---- formats ---- */

static const char *const formats[] = {
    [CB_TOPOLOGY_TEXT] = "text",
    [CB_TOPOLOGY_JSON] = "json",
    [CB_TOPOLOGY_SVG] = "svg",
};

int cb_topology_format_parse(const char *name)
{
    return cb_names_find(formats, CB_TOPOLOGY_FORMAT_COUNT, name);
}

int cb_topology_render(const struct cb_topology *topology, enum cb_topology_format format,
                       struct cb_strbuf *out, struct cb_error *err)
{
    static int (*const renderers[])(const struct cb_topology *, struct cb_strbuf *,
                                    struct cb_error *) = {
        [CB_TOPOLOGY_TEXT] = cb_topology_add_text,
        [CB_TOPOLOGY_JSON] = cb_topology_add_json,
        [CB_TOPOLOGY_SVG] = cb_topology_add_svg,
    };
    int rc = renderers[format](topology, out, err);
    return rc == 0 && out->failed ? out_of_memory(err) : rc;
}

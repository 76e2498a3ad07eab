/* How the devices of a map are put into groups to show them. Private to report/. */
#ifndef CB_REPORT_TOPOLOGY_LAYOUT_H
#define CB_REPORT_TOPOLOGY_LAYOUT_H

#include "report/topology.h"

/* Endpoints below the same PCIe switches (PIX or PXB among each other), or one by itself. */
struct cb_topology_group {
    int first, gpu_count, count; /* in members: GPUs, then NICs */
    bool is_switch;              /* several share it */
    bool is_nested;              /* some of them are PXB to each other: several switches */
};

/* The groups of one NUMA node or, where that is not known, beside the same CPUs; else all whose
 * place is not known. */
struct cb_topology_node {
    int host, numa;   /* numa -1: not known */
    const char *cpus; /* list form; empty when not known. Borrowed from the map */
    int first, count; /* in groups */
};

struct cb_topology_layout {
    const struct cb_map *map;
    CB_VEC(int) members;                     /* device indices, group by group */
    CB_VEC(struct cb_topology_group) groups; /* node by node */
    CB_VEC(struct cb_topology_node) nodes;
    int gpus_left_out, nics_left_out; /* beyond the limits */
};

/* Groups at most gpu_limit GPUs and nic_limit NICs of a map, in its order. Free with fini. Errors:
 * CB_E_MEMORY. */
int cb_topology_layout_make(const struct cb_map *map, size_t gpu_limit, size_t nic_limit,
                            struct cb_topology_layout *layout, struct cb_error *err);
void cb_topology_layout_fini(struct cb_topology_layout *layout);

/* What a device is called: its name, else its bus id, else its kind and number. Returns a borrowed
 * text or buffer. */
const char *cb_topology_name(const struct cb_map *map, int device, char buffer[48]);

/* "NUMA 0, CPUs 0-23,48-71", with the host ahead where there are several. */
void cb_topology_name_node(const struct cb_topology_layout *layout,
                           const struct cb_topology_node *node, char *out, size_t size_bytes);

/* "H100 80GB HBM3, 0000:18:00.0, PCIe 5 x16 (63 GB/s)": what is known of a GPU or NIC, parts with
 * ", " between; empty when nothing is. */
void cb_topology_describe(const struct cb_map *map, int device, char *out, size_t size_bytes);

/* "InfiniBand 400 Gb/s": what is known of a NIC's port; may be empty. */
void cb_topology_describe_port(const struct cb_map_device *nic, char *out, size_t size_bytes);

/* "NV18", "PIX" of a pair, "-" when not known. Returns a borrowed text or buffer. */
const char *cb_topology_path(const struct cb_map *map, int a, int b, char buffer[16]);

/* The formats. Errors: CB_E_MEMORY. */
int cb_topology_add_text(const struct cb_topology *topology, struct cb_strbuf *out,
                         struct cb_error *err);
int cb_topology_add_json(const struct cb_topology *topology, struct cb_strbuf *out,
                         struct cb_error *err);
int cb_topology_add_svg(const struct cb_topology *topology, struct cb_strbuf *out,
                        struct cb_error *err);

#endif

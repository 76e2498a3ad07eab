/* The links beside PCIe of a NCCL file: each GPU names the other ends of its own by bus id, in no
 * particular order, so that they are resolved when the whole file was read. */
#ifndef CB_TOPOLOGY_NCCL_LINKS_H
#define CB_TOPOLOGY_NCCL_LINKS_H

#include "topology/map.h"

/* One <nvlink> or <xgmi>. */
struct cb_nccl_target {
    int from, to; /* devices; the second once resolved, -1 where the file does not have it */
    enum cb_map_link_kind kind;
    int count;
    int pci_class; /* of the other end, 24 bits; -1 unknown */
    char bus_id[24];
};

/* Zero-initialised is empty. Free with fini. */
struct cb_nccl_links {
    CB_VEC(struct cb_nccl_target) targets;
    CB_VEC(int) gpus; /* devices, filled by who adds them */
};

/* Notes a link of a GPU from the attributes of its element. Errors: CB_E_INPUT when there are too
 * many, CB_E_MEMORY. */
int cb_nccl_links_note(struct cb_nccl_links *links, int gpu, enum cb_map_link_kind kind,
                       const char *const *attributes, struct cb_error *err);

/* Resolves what was noted and adds it to the map, with the NVSwitches that it leads to. */
int cb_nccl_links_add(struct cb_nccl_links *links, struct cb_map_builder *builder,
                      struct cb_error *err);

void cb_nccl_links_fini(struct cb_nccl_links *links);

#endif

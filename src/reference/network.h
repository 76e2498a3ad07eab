/* An interconnect known from its data sheets alone: nominal rates times the share of them that
 * published measurements of the same kind of link reached, latency from published coefficients. */
#ifndef CB_REFERENCE_NETWORK_H
#define CB_REFERENCE_NETWORK_H

#include <stdbool.h>

#include "base/error.h"
#include "base/provenance.h"
#include "model/network.h"
#include "reference/links.h"

/* What an offer says of its links. */
struct cb_data_sheet {
    int nodes, gpus_per_node;
    const struct cb_link_reference *intra; /* between the GPUs of a node; NULL: one GPU a node */
    double intra_bytes_per_s; /* one way, of one GPU: overrides the link's (an A800 has 8 of an
                               * A100's 12 NVLinks); 0: the link's */
    bool no_peer_access; /* the GPUs reach each other through the host's memory only (GeForce) */
    const struct cb_link_reference *inter; /* between nodes; NULL: one node */
    int ports_per_node; /* of inter; 0: as many as the link's row counts, which is one of a port */
};

/* The share of a nominal rate that a large collective gets, as it was published. */
struct cb_efficiency {
    double low, typical, high;
    enum cb_provenance source; /* CB_FROM_REFERENCE, or CB_FROM_ASSUMED where nothing is published
                                * of this link and a related one stands in */
    const char *basis;         /* "8 x A100: all_reduce 235 of 300 GB/s (ml-engineering)" */
};

/* One of the two paths, for a reader. */
struct cb_sheet_path {
    const struct cb_link_reference *link; /* NULL: there is no such path */
    double nominal_bytes_per_s;           /* one way; of a GPU, or all ports of a node */
    double both_ways_bytes_per_s;         /* both directions added, what NVLink is sold by */
    double practical_bytes_per_s;         /* nominal x typical share of an all_reduce */
    struct cb_efficiency efficiency;      /* of an all_reduce over all ranks */
};

struct cb_sheet_network {
    /* What the model of a step asks; context is this struct, which must not move while it is in
     * use. */
    struct cb_network network;
    struct cb_data_sheet sheet;
    struct cb_sheet_path intra, inter;
};

/* Fills *network. Errors: CB_E_USAGE for fewer than one node or GPU, a path that is needed and not
 * stated, a link that cannot be where it is put (RoCE between the GPUs of a node, PCIe between
 * nodes), more than one port of a link that is a whole node's; *network is then unchanged. */
int cb_sheet_network_init(struct cb_sheet_network *network, const struct cb_data_sheet *sheet,
                          struct cb_error *err);

/* How long an op takes, and in *source what that rests on (nominal x published share: nominal; a
 * share that nobody published: assumed). A flat ring over all ranks: its slowest part decides, the
 * GPU's links or the node's ports; an all_reduce over two or three nodes is a tree as far as the
 * node's inside keeps up. The slow pace has the lowest published share and no tree, the fast one
 * the highest. A group that has few ranks on a node gets their ports alone. Sources:
 * docs/design.md, "On paper". Pure; the signature of cb_network's time_s. */
double cb_sheet_network_time_s(const void *context, enum cb_op op, double size_bytes,
                               const struct cb_group_shape *group, enum cb_pace pace,
                               enum cb_provenance *source);

#endif

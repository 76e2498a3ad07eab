/* An interconnect of two bandwidths and two latencies for tests of the model of a training step:
 * simple enough to redo every time by hand. */
#ifndef TWO_LINKS_H
#define TWO_LINKS_H

#include <math.h>
#include <stdbool.h>

#include "model/network.h"

struct two_links {
    double intra_bytes_per_s;   /* bus bandwidth inside a node */
    double intra_s;             /* latency of any op there */
    double inter_bytes_per_s;   /* bus bandwidth between nodes, all links of a node */
    double tree_s, tree_step_s; /* latency of all_reduce: tree_s + tree_step_s x log2(nodes) */
    double ring_step_s;         /* of all others: x (ranks - 1) */
    bool own_ports;             /* a rank uses its own port alone: a part of the node's */
    double slow, fast;          /* what times at those paces are multiplied with; 0: 1 */
    bool has_untold;
    enum cb_op untold; /* an op of which nothing is known */
};

struct two_links_network {
    struct two_links links;
    struct cb_network network; /* its context is this struct, which must not move */
};

static double two_links_time(const void *context, enum cb_op op, double size_bytes,
                             const struct cb_group_shape *group, enum cb_pace pace,
                             enum cb_provenance *source)
{
    const struct two_links_network *self = context;
    const struct two_links *links = &self->links;
    double factor = pace == CB_PACE_SLOW && links->slow > 0   ? links->slow
                    : pace == CB_PACE_FAST && links->fast > 0 ? links->fast
                                                              : 1;
    if (links->has_untold && op == links->untold)
        return -1;
    if (source)
        *source = CB_FROM_GIVEN;
    double moved_bytes = size_bytes * cb_op_bus_factor(op, group->ranks);
    if (group->nodes == 1)
        return factor * (links->intra_s + moved_bytes / links->intra_bytes_per_s);
    double ports = 1;
    if (links->own_ports)
        ports = fmin(1, (double)group->ranks / group->nodes / self->network.gpus_per_node);
    double latency_s = op == CB_OP_ALL_REDUCE
                           ? links->tree_s + links->tree_step_s * log2(group->nodes)
                           : links->ring_step_s * (group->ranks - 1);
    return factor * (latency_s + moved_bytes / (links->inter_bytes_per_s * ports));
}

static inline struct cb_network *
two_links_init(struct two_links_network *out, struct two_links links, int nodes, int gpus_per_node)
{
    out->links = links;
    out->network = (struct cb_network){
        .context = out,
        .gpus_per_node = gpus_per_node,
        .nodes = nodes,
        .time_s = two_links_time,
    };
    return &out->network;
}

#endif

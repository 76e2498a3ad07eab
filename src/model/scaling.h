/* What becomes of a collective's time when the group grows: two laws for the latency, a factor for
 * the bandwidth, and how a collective over nodes is composed of one inside and one between them. */
#ifndef CB_MODEL_SCALING_H
#define CB_MODEL_SCALING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/provenance.h"
#include "model/collective.h"
#include "model/network.h"

/* How latency grows. Trees, which all_reduce is made of, go log2(nodes) deep; rings, which gathers
 * are made of, are ranks - 1 steps long; neighbours are one step apart. */
enum cb_scaling_law {
    CB_SCALING_TREE, /* alpha = fixed_s + step_s x log2(nodes) */
    CB_SCALING_RING, /* alpha = step_s x (ranks - 1) */
    CB_SCALING_STEP, /* alpha = step_s */
    CB_SCALING_LAW_COUNT
};

/* The law of an op: the tree for all_reduce and broadcast, the step for send_recv, the ring for all
 * others. */
enum cb_scaling_law cb_scaling_law_of(enum cb_op op);

/* The coefficients of a law. */
struct cb_scaling {
    enum cb_scaling_law law;
    double fixed_s; /* of the tree; may be below 0, as published ones are */
    double step_s;  /* per doubling of the nodes, or per step of the ring; > 0 */
    int groups;     /* that it was fitted on; 0: published */
    enum cb_provenance source;
};

/* Published coefficients, H100 nodes with eight 400 Gb/s links over NCCL: all_reduce 53 us + 80 us
 * x log2(nodes), 4 to 512 nodes (read off the figures of arXiv 2411.13055, fitted here);
 * gathers 4.6 us x (ranks - 1), 2 to 128 nodes (the table nic_ratio.csv of aliyun/SimAI, fitted
 * here). Source: reference. */
struct cb_scaling cb_scaling_published(enum cb_scaling_law law);

/* A latency that was fitted on one group. */
struct cb_scaling_point {
    struct cb_group_shape group;
    double alpha_s;
};

/* Fits a law on count measured groups, by least squares (of relative residuals for the ring and the
 * step). Fewer than three different sizes of group, or a latency that falls with them, say nothing
 * of a law's shape: it is then the published one times a factor that meets what was measured, and
 * the source is assumed. Errors: CB_E_INPUT for no point, or one that is not positive and finite.
 */
int cb_scaling_fit(enum cb_scaling_law law, const struct cb_scaling_point *points, size_t count,
                   struct cb_scaling *scaling, struct cb_error *err);

/* The latency of a law for a group of that shape, seconds; never below 0. */
double cb_scaling_alpha_s(const struct cb_scaling *scaling, const struct cb_group_shape *group);

/* What is assumed of the fabric between the nodes. Zeroed: a fabric that blocks nothing. */
struct cb_fabric {
    double oversubscription; /* o of o:1 above pod_nodes; 0 or 1: none */
    int pod_nodes;           /* nodes below one unblocked switch; 0: those that were measured */
};

/* The share of the bandwidth over base nodes that is left over nodes: 1 - 0.06 x log2(nodes / base)
 * / log2(128), at least 0.9 (all_reduce over H100 nodes loses 4 to 6 % from 4 to 512 or 1024 nodes
 * on a fabric without oversubscription: figures of NVIDIA GTC S62129 and arXiv 2411.13055), 1 for
 * fewer nodes. An oversubscription divides it by o above the pod, except at the fast pace: ranks in
 * the order of the pods cross each uplink once, ranks in no order load it in full. all_to_all
 * crosses it at any order. */
double cb_scaling_bandwidth_share(enum cb_op op, int base_nodes, int nodes,
                                  const struct cb_fabric *fabric, enum cb_pace pace);

/* How much faster than a ring a tree of whole nodes moves an all_reduce over the node's network
 * links: 2 for two nodes (each sends the vector once), 4/3 for three, else 1. Source: aliyun/SimAI,
 * calbusbw.cc, after NCCL's tuning. */
double cb_scaling_tree_gain(int nodes);

/* An all_reduce over nodes x gpus, composed of its parts: reduce_scatter and all_gather of the
 * whole inside the nodes, all_reduce of size / gpus between them. They overlap as chunks move: at
 * the slow pace the sum, at the fast one the longest, else the mean of the two. Source:
 * docs/design.md. */
double cb_scaling_compose_s(double reduce_scatter_s, double between_s, double all_gather_s,
                            enum cb_pace pace);

/* How far a prediction is from what was measured, and what a reader may make of it. */
enum cb_confidence {
    CB_CONFIDENCE_MEASURED,     /* this size on this group */
    CB_CONFIDENCE_INTERPOLATED, /* between measured ones */
    CB_CONFIDENCE_WITHIN_4X,    /* at most 4 times as large (or small) as the nearest: +-15 % */
    CB_CONFIDENCE_BEYOND,       /* +-30 % and a fabric that goes on as it began */
    CB_CONFIDENCE_COUNT
};

/* "measured", "interpolated", "within 4x", "beyond". The parser returns -1 for another name. */
const char *cb_confidence_name(enum cb_confidence confidence);
int cb_confidence_parse(const char *name);

/* The share by which a time may be off for that reason alone: 0, 0, 0.15, 0.30. */
double cb_confidence_error(enum cb_confidence confidence);

/* The confidence in a value at a ratio (>= 1) to the nearest measured one; 1 is measured. */
enum cb_confidence cb_confidence_of_ratio(double ratio);

#endif

/* A measured result as an interconnect: how long any collective takes on the cluster that a run
 * measured and, by the laws of model/scaling.h, on a larger one of the same kind. */
#ifndef CB_JUDGE_NETWORK_H
#define CB_JUDGE_NETWORK_H

#include <stdbool.h>

#include "base/error.h"
#include "judge/curve.h"
#include "model/fit.h"
#include "model/network.h"
#include "model/scaling.h"
#include "result/result.h"

/* One op over one scope. */
struct cb_network_curve {
    struct cb_curve curve;       /* empty: not measured */
    struct cb_group_shape group; /* that it was measured over */
    struct cb_fit regimes[CB_FIT_MAX_REGIMES];
    size_t regime_count;
};

struct cb_measured_network {
    /* What the model of a step asks; its context is this struct, which must not move while it is in
     * use. nodes and gpus_per_node are those of the run, and may be changed by the caller. */
    struct cb_network network;
    int nodes, gpus_per_node; /* that were measured; an uneven job counts as even */
    bool has_trees;           /* the library may reduce along trees: NCCL and its like */
    struct cb_network_curve curves[CB_OP_COUNT][CB_SCOPE_COUNT];
    struct cb_fabric fabric; /* nothing is assumed until the caller does */
};

/* Collects the curves of every op and scope of the result, which must stay as it is meanwhile, and
 * fits them. Free with fini. A result without a usable row gives a network of which nothing can be
 * told. Errors: CB_E_MEMORY. */
int cb_measured_network_init(struct cb_measured_network *network, const struct cb_result *result,
                             struct cb_error *err);
void cb_measured_network_fini(struct cb_measured_network *network);

/* Whether any collective over several ranks was measured. */
bool cb_measured_network_has_rows(const struct cb_measured_network *network);

/* One figure and what it rests on. */
struct cb_network_estimate {
    double time_s; /* negative: it cannot be told */
    enum cb_provenance source;
    enum cb_confidence confidence;
};

/* How long an op takes over a group of two ranks or more (of fewer: no time at all).
 *
 * Inside the measured sizes of the same group it is interpolated log-log; outside them it is what
 * the accepted fit of the outermost regime gives, else what the outermost size's bandwidth makes of
 * it. On another group the latency grows by its law and the rest as the bus factor and the fabric's
 * share say; an all_reduce of a tree over two or three nodes loses what the tree gained there, down
 * to the bus bandwidth that a gather was seen to have. The slow and the fast pace are then further
 * apart by the error of the confidence.
 *
 * A group inside a node rests on the rows of intra_node, one of single ranks per node on
 * inter_node, any other on world; where the job has one node, or one rank per node, two of these
 * are the same. An op that was not measured is made of what was and counts as assumed: a gather has
 * the bus bandwidth of the other gather or of all_reduce, and the latency of a ring; an all_reduce
 * is two gathers; over nodes whose world was not measured it is composed of its parts. Where
 * nothing was measured between nodes, nothing can be told of groups over nodes. Pure. */
struct cb_network_estimate cb_measured_network_estimate(const struct cb_measured_network *network,
                                                        enum cb_op op, double size_bytes,
                                                        const struct cb_group_shape *group,
                                                        enum cb_pace pace);

#endif

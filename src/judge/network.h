/* A measured result as an interconnect: how long any collective takes on the cluster that a run
 * measured, and, by the laws of model/scaling.h, on a larger one of the same kind. */
#ifndef CB_JUDGE_NETWORK_H
#define CB_JUDGE_NETWORK_H

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
    /* What the model of a step asks; context is this struct, which must not move while it is in
     * use. nodes and gpus_per_node are those of the run, and may be changed. */
    struct cb_network network;
    const struct cb_result *result; /* borrowed */
    int nodes, gpus_per_node;       /* that were measured; an uneven job counts as even */
    struct cb_network_curve curves[CB_OP_COUNT][CB_SCOPE_COUNT];
    struct cb_fabric fabric; /* nothing assumed, until the caller does */
    double link_bytes_per_s; /* all network links of a node in use, nominal; 0: unknown */
};

/* Collects the curves of every op and scope of the result and fits them. Free with fini. A result
 * without a usable row gives a network of which nothing can be told. Errors: CB_E_MEMORY. */
int cb_measured_network_init(struct cb_measured_network *network, const struct cb_result *result,
                             struct cb_error *err);
void cb_measured_network_fini(struct cb_measured_network *network);

/* Whether anything was measured between nodes (or between the ranks of the only one). */
bool cb_measured_network_has(const struct cb_measured_network *network, enum cb_op op,
                             enum cb_scope scope);

/* One figure and what it rests on. */
struct cb_network_estimate {
    double time_s; /* negative: it cannot be told */
    enum cb_provenance source;
    enum cb_confidence confidence;
};

/* How long an op takes over a group: interpolated log-log between measured sizes of the same group;
 * outside them by the accepted fit of the outermost regime, else at its outermost bandwidth; on
 * another group by the laws. An op that was not measured is made of what was: a gather has the bus
 * bandwidth of all_reduce and the published latency of a ring, assumed; an all_reduce over nodes
 * whose world was not measured is composed of its parts. A group inside a node rests on the rows of
 * intra_node, one of single ranks per node on inter_node, any other on world; where a job has one
 * node, or one rank per node, two of these are the same. Pure. */
struct cb_network_estimate cb_measured_network_estimate(const struct cb_measured_network *network,
                                                        enum cb_op op, double size_bytes,
                                                        const struct cb_group_shape *group,
                                                        enum cb_pace pace);

/* Fills result->fits from its rows, replacing what it held: every regime of every op and scope that
 * has one. Errors: CB_E_MEMORY; the result is then unchanged. */
int cb_fits_build(struct cb_result *result, struct cb_error *err);

#endif

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

/* What one result tells. */
struct cb_network_run {
    int nodes, gpus_per_node; /* an uneven job counts as even */
    double link_bytes_per_s;  /* of a node's network, all links, nominal, one way; 0: unknown */
    struct cb_network_curve curves[CB_OP_COUNT][CB_SCOPE_COUNT];
};

#define CB_NETWORK_MAX_RUNS 16

struct cb_measured_network {
    /* What the model of a step asks; its context is this struct, which must not move while it is in
     * use. nodes and gpus_per_node are those of the first run, and may be changed by the caller. */
    struct cb_network network;
    bool has_trees; /* the library may reduce along trees: NCCL and its like */
    struct cb_network_run runs[CB_NETWORK_MAX_RUNS];
    size_t run_count;
    struct cb_fabric fabric; /* nothing is assumed until the caller does */
};

/* Collects the curves of every op and scope of the result, which must stay as it is meanwhile, and
 * fits them. Free with fini. A result without a usable row gives a network of which nothing can be
 * told. Errors: CB_E_MEMORY. */
int cb_measured_network_init(struct cb_measured_network *network, const struct cb_result *result,
                             struct cb_error *err);

/* Adds a result of the same cluster over another number of nodes: with three of them the laws of
 * latency are fitted to what was measured. Errors: CB_E_INPUT for one of another transport, of
 * other nodes, of a number of nodes that is there already, or too many; CB_E_MEMORY; the network is
 * then unchanged. */
int cb_measured_network_add(struct cb_measured_network *network, const struct cb_result *result,
                            struct cb_error *err);

void cb_measured_network_fini(struct cb_measured_network *network);

/* Whether any collective over several ranks was measured. */
bool cb_measured_network_has_rows(const struct cb_measured_network *network);

#endif

/* What the maps of a result say: findings, and how near each scope came to its link. */
#ifndef CB_JUDGE_TOPOLOGY_H
#define CB_JUDGE_TOPOLOGY_H

#include "result/result.h"

/* What was offered; all zero when nothing was said. */
struct cb_offered_network {
    const char *kind;           /* "InfiniBand", ...; NULL */
    double nominal_bytes_per_s; /* between nodes, one way */
};

typedef CB_VEC(struct cb_node_finding) cb_node_finding_list;
typedef CB_VEC(struct cb_crossing) cb_crossing_list;

/* Appends the findings of each map, with what ranks, transfers and burns of its nodes add. A card's
 * PCIe link is judged by the best generation that its rank saw while data moved. Pure. Errors:
 * CB_E_MEMORY. */
int cb_topology_findings(const struct cb_result *result, const struct cb_offered_network *offered,
                         cb_node_finding_list *out, struct cb_error *err);

/* Appends one row for each scope that was measured: the bus bandwidth of its largest all_reduce
 * (else all_gather) beside the nominal rate of the link that the slowest of its nodes has. Between
 * nodes that is what was offered, else the port that the job's route or NCCL's network takes;
 * inside a node the NVLinks of a GPU, or its PCIe link. Nothing without maps. Pure. Errors:
 * CB_E_MEMORY. */
int cb_topology_crossings(const struct cb_result *result, const struct cb_offered_network *offered,
                          cb_crossing_list *out, struct cb_error *err);

#endif

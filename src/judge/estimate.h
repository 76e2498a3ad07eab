/* How long a collective takes on a measured network, inside what was measured and beyond. */
#ifndef CB_JUDGE_ESTIMATE_H
#define CB_JUDGE_ESTIMATE_H

#include "judge/network.h"

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
 * it. On another group the run of the nearest number of nodes decides: its latency grows by the
 * law, which is fitted to all runs, and the rest as the bus factor and the fabric's share say. An
 * all_reduce of a tree over two or three nodes loses what the tree gained there, down to the bus
 * bandwidth that a gather was seen to have, or else that the nodes' links are sold with. The slow
 * and the fast pace are then further apart by the error of the confidence.
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

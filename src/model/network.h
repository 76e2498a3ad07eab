/* What a training step asks of an interconnect: how long one collective takes. The interface behind
 * which stand a measured cluster (judge/network.h) and one known from its data sheets alone
 * (reference/network.h), so that the model of the step knows neither. */
#ifndef CB_MODEL_NETWORK_H
#define CB_MODEL_NETWORK_H

#include "base/provenance.h"
#include "model/collective.h"

/* Which of the times that were seen: a band is the slow and the fast one. Where only one figure is
 * known all three are that one. */
enum cb_pace { CB_PACE_MEDIAN, CB_PACE_FAST /* p10 of the times */, CB_PACE_SLOW /* p90 */ };
#define CB_PACE_COUNT 3

/* The group that takes part in a collective. */
struct cb_group_shape {
    int ranks; /* all of them */
    int nodes; /* that they are spread over, evenly; 1: the collective stays inside a node */
};

struct cb_network {
    const void *context; /* borrowed; what time_s needs */
    int gpus_per_node;
    int nodes;

    /* Seconds that one op of size_bytes (as cb_op_usable_bytes defines it) takes in a group of that
     * shape, when nothing else runs; negative when it cannot be told. source, which may be NULL,
     * says what the figure rests on: the weakest of its parts. Pure. */
    double (*time_s)(const void *context, enum cb_op op, double size_bytes,
                     const struct cb_group_shape *group, enum cb_pace pace,
                     enum cb_provenance *source);
};

#endif

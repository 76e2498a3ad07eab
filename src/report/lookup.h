/* Which node a rank runs on and which node has a name, in logarithmic time. */
#ifndef CB_REPORT_LOOKUP_H
#define CB_REPORT_LOOKUP_H

#include <stddef.h>

#include "result/result.h"

struct cb_lookup {
    const struct cb_result *result;    /* borrowed */
    const struct cb_rank **ranks;      /* by rank */
    const struct cb_topo_host **nodes; /* by name */
};

/* Builds the two indices of a result, which must outlive them. Errors: CB_E_MEMORY. */
int cb_lookup_init(struct cb_lookup *lookup, const struct cb_result *result);
void cb_lookup_fini(struct cb_lookup *lookup);

/* The host of a rank, "?" when the result does not say; the node of that name, or NULL. Borrowed.
 */
const char *cb_lookup_host_of_rank(const struct cb_lookup *lookup, int rank);
const struct cb_topo_host *cb_lookup_node(const struct cb_lookup *lookup, const char *name);

#endif

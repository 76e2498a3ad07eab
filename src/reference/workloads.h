/* The standard workloads of the table that is printed when none is given. */
#ifndef CB_REFERENCE_WORKLOADS_H
#define CB_REFERENCE_WORKLOADS_H

#include <stddef.h>

struct cb_workload_row {
    const char *name; /* "7B full fine-tune" */
    double parameters;
    double tokens_per_step; /* per rank and optimizer step: assumed, see source */
    const char *source;     /* why these tokens */
};

/* The table, smallest model first; *count rows. Static, borrowed. */
const struct cb_workload_row *cb_workloads(size_t *count);

/* The row that the headline is about when the user states no workload (7B). Static, borrowed. */
const struct cb_workload_row *cb_workload_default(void);

#endif

/* What a run will do, as an ordered list: pure, made once, the same on every rank. */
#ifndef CB_MEASURE_PLAN_H
#define CB_MEASURE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "kernels/kernels.h"
#include "model/collective.h"
#include "transport/transport.h"

enum cb_item_kind {
    CB_ITEM_LINK,       /* probe one round of disjoint node pairs */
    CB_ITEM_COLLECTIVE, /* one row of a sweep */
    CB_ITEM_KERNEL,     /* one kernel on every rank at once */
    CB_ITEM_BURN        /* GEMM on every rank for long */
};

/* One step. skip is NULL, or why the step is not done: it then stays in the list, so that the
 * report can say so. */
struct cb_item {
    enum cb_item_kind kind;
    enum cb_scope scope;
    struct cb_step step;
    int group_size; /* ranks of one group of the scope */
    int round;      /* of a link item */
    enum cb_kernel kernel;
    enum cb_dtype kernel_dtype;
    double burn_s;
    const char *skip;
};

enum cb_placement { CB_PLACEMENT_OUT, CB_PLACEMENT_IN, CB_PLACEMENT_BOTH };

struct cb_plan_request {
    bool ops[CB_OP_COUNT];
    bool dtypes[CB_DTYPE_COUNT];
    bool redops[CB_REDOP_COUNT];
    bool scopes[CB_SCOPE_COUNT];
    enum cb_placement placement;
    uint64_t min_bytes, max_bytes;
    uint64_t step_factor; /* at least 2 */
    bool links, kernels;
    bool gpus;     /* the kernels are those of GPUs */
    double burn_s; /* 0: no burn */

    int ranks, nodes;
    int smallest_node, largest_node; /* ranks on the emptiest and the fullest node */
};

struct cb_plan {
    CB_VEC(struct cb_item) items;
};

/* Makes the plan: links, kernels, then scope by scope the sweeps of each op, dtype, redop and
 * placement, and the burn last, since it heats what the others measure. A scope that holds no group
 * of its own (one node: only world; one rank per node: nothing inside a node, and between nodes is
 * the world itself) is one skipped item per op; a sweep none of whose sizes is usable is one, too.
 * Sizes that round to the same usable bytes are measured once. Errors: CB_E_MEMORY; *plan is then
 * empty. Free with fini. */
int cb_plan_build(const struct cb_plan_request *request, struct cb_plan *plan,
                  struct cb_error *err);
void cb_plan_fini(struct cb_plan *plan);

/* Rounds in which a ring of nodes measures every neighbouring pair with no node in two pairs at
 * once: 0 for one node, 1 for two, 2 for an even and 3 for an odd number. */
int cb_plan_link_rounds(int nodes);

/* The node that this one is paired with in a round, or -1 when it has none. *first tells whether
 * this node is the pair's first. */
int cb_plan_link_partner(int nodes, int round, int node, bool *first);

/* The bytes of the largest message that any item of the plan sends. */
uint64_t cb_plan_max_bytes(const struct cb_plan *plan);

#endif

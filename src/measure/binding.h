/* Ranks on the CPUs beside their GPUs. */
#ifndef CB_MEASURE_BINDING_H
#define CB_MEASURE_BINDING_H

#include "measure/survey.h"
#include "result/result.h"
#include "transport/coordinator.h"

/* Looks at every rank's binding from the device that it works with: the GPU of that bus id (NULL or
 * empty: none), else the interface of the job's route. Where binds is true, ranks that their
 * launcher left unbound are put beside that device first, each on a share of its own, or on their
 * share of the node's cores where the device's place is unknown; the CPUs of its compute threads
 * (in survey) are chosen after that. Gathers all into rank 0's result (ranks), with warnings about
 * bindings.
 * Collective over the world; every rank returns the same. Errors: CB_E_MEASURE, CB_E_MEMORY. */
int cb_binding_run(const struct cb_coordinator *coordinator, const char *gpu_bus_id, bool binds,
                   struct cb_survey *survey, struct cb_result *result, struct cb_error *err);

/* Warns, of a result with its nodes and ranks, about ranks that their launcher bound to one core of
 * a node with cores to spare, and about nodes with more ranks than cores. */
void cb_binding_warn(struct cb_result *result);

/* Which share a rank takes: of those on the node that are unbound and have the same CPUs beside
 * their device, in the order of local ranks. Pure. */
struct cb_binding_wish {
    char cpus[256]; /* beside the device; empty: unknown */
    bool bound;     /* by the launcher */
};
void cb_binding_share(const struct cb_binding_wish *wishes, int count, int mine, int *sharer,
                      int *sharers);

#endif

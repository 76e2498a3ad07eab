/* Ranks on the CPUs beside their GPUs. */
#ifndef CB_MEASURE_BINDING_H
#define CB_MEASURE_BINDING_H

#include "measure/survey.h"
#include "result/result.h"
#include "transport/coordinator.h"

/* Looks at every rank's binding from the device that it works with: the GPU of that bus id (NULL or
 * empty: none), else the interface of the job's route. Where binds is true, ranks that their
 * launcher left unbound are put beside that device first, each on a share of its own, or on their
 * share of the node's cores where the device's place is unknown; their choice of CPUs for compute
 * threads (survey) follows. Fills binding, bound_by, device and locality of rank 0's ranks.
 * Collective over the world; every rank returns the same. Errors: CB_E_MEASURE, CB_E_MEMORY. */
int cb_binding_run(const struct cb_coordinator *coordinator, const char *gpu_bus_id, bool binds,
                   struct cb_survey *survey, struct cb_result *result, struct cb_error *err);

/* Which share a rank takes: of those on the node that are unbound and have the same CPUs beside
 * their device, in the order of local ranks. Pure. */
struct cb_binding_wish {
    char cpus[256]; /* beside the device; empty: unknown */
    bool bound;     /* by the launcher */
};
void cb_binding_share(const struct cb_binding_wish *wishes, int count, int mine, int *sharer,
                      int *sharers);

#endif

/* What every host's driver says of its GPUs, gathered to rank 0. */
#ifndef CB_MEASURE_GPU_SURVEY_H
#define CB_MEASURE_GPU_SURVEY_H

#include "gpu/nvml_api.h"
#include "result/result.h"
#include "transport/coordinator.h"

/* This rank's way to its card. */
struct cb_gpu_watch {
    struct cb_nvml_api nvml; /* all zero when the library is not there */
    bool is_open;
    int index;        /* of this rank's card in it; -1: none */
    char reason[256]; /* why one of the two is not so */
};

/* Opens NVML on every rank, looks at every card of every host (used or not, at most
 * CB_GPUS_PER_HOST each) and adds them to rank 0's result by node. A launcher may let each rank
 * open its own card alone: each then looks at what no rank before it on the host sees, and a
 * warning says that the cards are hidden from each other. A host without NVML is no error:
 * result->gpu_reason names it. To be called before anything touches a GPU, so that what is seen is
 * the state before the start. Collective over the world; every rank returns the same. Errors:
 * CB_E_MEMORY. Close the watch whatever is returned. */
int cb_gpu_survey_run(const struct cb_coordinator *coordinator, struct cb_gpu_watch *watch,
                      struct cb_result *result, struct cb_error *err);

/* Says which card each rank computes on: bus_id is its PCI address in any spelling, NULL or empty
 * for none. Fills watch->index, and in rank 0's result the ranks of the cards. Collective. */
int cb_gpu_survey_bind(const struct cb_coordinator *coordinator, const char *bus_id,
                       struct cb_gpu_watch *watch, struct cb_result *result, struct cb_error *err);

void cb_gpu_watch_close(struct cb_gpu_watch *watch);

#endif

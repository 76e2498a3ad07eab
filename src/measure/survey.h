/* What the hosts of the job are made of, gathered to rank 0. */
#ifndef CB_MEASURE_SURVEY_H
#define CB_MEASURE_SURVEY_H

#include "kernels/kernels.h"
#include "result/result.h"
#include "transport/coordinator.h"

#define CB_SURVEY_CPUS 1024

/* What this rank needs to know for measuring. */
struct cb_survey {
    int cpus[CB_SURVEY_CPUS]; /* where this rank's compute threads run: measure/binding.h */
    size_t cpu_count;
    int smallest_node, largest_node; /* ranks on the emptiest and the fullest node */
    uint64_t memory_per_rank_bytes;  /* what this rank may allocate: half of what is available,
                                        shared among the ranks of its node */
    uint64_t
        least_memory_per_rank_bytes; /* the smallest of these over the job: the same everywhere */
    uint64_t last_level_cache_bytes; /* of this host */
    struct cb_topo_host host;        /* this one */
};

/* Looks at this host and gathers all of them into rank 0's result (nodes), with warnings about
 * interfaces; of the survey the CPUs stay to be chosen. knows_nominal tells that the user stated
 * the nominal bandwidth between nodes: an interface that does not know its own is then no matter.
 * Collective over the coordinator's world; every rank returns the same code. */
int cb_survey_run(const struct cb_coordinator *coordinator, bool knows_nominal,
                  struct cb_survey *survey, struct cb_result *result, struct cb_error *err);

#endif

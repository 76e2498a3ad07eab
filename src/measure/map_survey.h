/* The map of every node, gathered to rank 0: equal nodes send and store one. */
#ifndef CB_MEASURE_MAP_SURVEY_H
#define CB_MEASURE_MAP_SURVEY_H

#include "measure/gpu_survey.h"
#include "measure/survey.h"
#include "result/result.h"
#include "transport/coordinator.h"

/* Looks at each node's devices and how they hang together (sysfs, hwloc, NVML through the watch)
 * and fills maps in rank 0's result, with each node's number of its map. What makes nodes equal
 * says cb_facts_hash; the map that is stored is the first such node's, bus ids and names included.
 * Collective over the world; every rank returns the same. Errors: CB_E_MEMORY. */
int cb_map_survey_run(const struct cb_coordinator *coordinator, const struct cb_survey *survey,
                      const struct cb_gpu_watch *watch, struct cb_result *result,
                      struct cb_error *err);

/* Numbers equal hashes alike, from 1 on in order of first appearance: maps[i] is the number of
 * hashes[i]. Returns how many different ones there are. Pure. */
int cb_map_survey_group(const uint64_t *hashes, int count, int *maps);

#endif

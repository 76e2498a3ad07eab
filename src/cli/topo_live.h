/* This machine's map, for topo. */
#ifndef CB_CLI_TOPO_LIVE_H
#define CB_CLI_TOPO_LIVE_H

#include "topology/facts.h"
#include "topology/map.h"

/* Looks at this machine: hwloc and the kernel, and NVML where there is one. Free the map with
 * cb_map_fini. Errors: CB_E_MEASURE, CB_E_MEMORY; CB_E_UNSUPPORTED in a build without hwloc. */
int cb_cli_look_around(struct cb_map *map, struct cb_facts *facts, struct cb_error *err);

#endif

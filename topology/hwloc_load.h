/* Loading this machine's topology; private to the files that use hwloc. */
#ifndef CB_TOPOLOGY_HWLOC_LOAD_H
#define CB_TOPOLOGY_HWLOC_LOAD_H

#include <hwloc.h>
#include <stdbool.h>

#include "base/error.h"

#if HWLOC_API_VERSION < 0x00020500
#error "hwloc 2.5 or newer is needed"
#endif

/* Destroy *out with hwloc_topology_destroy. Devices stay out unless asked for: looking at them
 * takes time. Errors: CB_E_MEASURE. */
int cb_hwloc_load(bool with_devices, hwloc_topology_t *out, struct cb_error *err);

/* What counts as a core: some virtual machines and old kernels show processing units alone. */
hwloc_obj_type_t cb_hwloc_core_type(hwloc_topology_t topology);

#endif

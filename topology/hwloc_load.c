#include "topology/hwloc_load.h"

/* Plugins that may start a driver, or take long, for what NVML and sysfs tell: the kernel's own
 * view of the PCI tree is enough. */
static void keep_drivers_asleep(hwloc_topology_t topology)
{
    static const char *const plugins[] = {"cuda", "nvml", "rsmi",  "levelzero",
                                          "gl",   "pci",  "opencl"};
    for (size_t i = 0; i < sizeof(plugins) / sizeof(*plugins); i++)
        hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                      plugins[i]);
}

int cb_hwloc_load(bool with_devices, hwloc_topology_t *out, struct cb_error *err)
{
    hwloc_topology_t topology = NULL;
    if (hwloc_topology_init(&topology) != 0)
        return cb_fail(err, CB_E_MEASURE, "hwloc cannot start");
    keep_drivers_asleep(topology);
    if (with_devices)
        hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(topology) != 0) {
        hwloc_topology_destroy(topology);
        return cb_fail(err, CB_E_MEASURE, "hwloc cannot read this host's topology");
    }
    *out = topology;
    return CB_OK;
}

hwloc_obj_type_t cb_hwloc_core_type(hwloc_topology_t topology)
{
    return hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
}

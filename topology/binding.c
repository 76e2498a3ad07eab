#include "topology/binding.h"

#include <stdio.h>
#include <string.h>

#include "topology/hwloc_load.h"
#include "topology/internal.h"
#include "topology/map.h"
#include "topology/map_read.h"

int cb_map_discover(struct cb_map *map, struct cb_error *err)
{
    struct cb_map_builder builder;
    hwloc_topology_t topology;
    int rc = cb_hwloc_load(true, &topology, err);
    if (rc)
        return rc;
    cb_map_builder_init(&builder, CB_MAP_LIVE);
    rc = cb_map_add_hwloc(topology, &builder, err);
    if (rc >= 0)
        rc = cb_map_builder_finish(&builder, map, err);
    cb_map_builder_fini(&builder);
    hwloc_topology_destroy(topology);
    return rc;
}

bool cb_near_find_interface(const char *interface, char *bus_id, size_t size_bytes)
{
    char folder[PATH_MAX];
    bus_id[0] = '\0';
    if (!interface[0])
        return false;
    const char *colon = strchr(interface, ':'); /* an RDMA port */
    snprintf(folder, sizeof(folder), "/sys/class/%s/%.*s", colon ? "infiniband" : "net",
             (int)(colon ? colon - interface : (long)strlen(interface)), interface);
    return cb_pci_find(folder, bus_id, size_bytes);
}

/* What hangs on the machine as a whole has no place: one NUMA node of several would be said. */
static hwloc_const_cpuset_t cpus_beside(hwloc_topology_t topology, const char *bus_id)
{
    hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology, bus_id);
    hwloc_obj_t place = device ? hwloc_get_non_io_ancestor_obj(topology, device) : NULL;
    bool is_placed = place && place->cpuset && place->type != HWLOC_OBJ_MACHINE &&
                     !hwloc_bitmap_iszero(place->cpuset);
    return is_placed ? place->cpuset : NULL;
}

bool cb_near_find_cpus(const char *bus_id, char *cpus, size_t size_bytes)
{
    hwloc_topology_t topology;
    bool found = false;
    cpus[0] = '\0';
    if (!bus_id[0] || cb_hwloc_load(true, &topology, NULL) != 0)
        return false;
    hwloc_const_cpuset_t beside = cpus_beside(topology, bus_id);
    if (beside && !hwloc_bitmap_isequal(beside, hwloc_topology_get_allowed_cpuset(topology))) {
        int length = hwloc_bitmap_list_snprintf(cpus, size_bytes, beside);
        found = length > 0 && (size_t)length < size_bytes;
    }
    if (!found)
        cpus[0] = '\0';
    hwloc_topology_destroy(topology);
    return found;
}

/* Whether memory may come from one of the nodes beside these CPUs; a process without a policy takes
 * it from beside where it runs. */
static bool memory_is_near(hwloc_topology_t topology, hwloc_const_cpuset_t cpus)
{
    hwloc_membind_policy_t policy;
    bool near = true;
    hwloc_nodeset_t bound = hwloc_bitmap_alloc();
    hwloc_nodeset_t beside = hwloc_bitmap_alloc();
    if (bound && beside &&
        hwloc_get_membind(topology, bound, &policy, HWLOC_MEMBIND_BYNODESET) == 0 &&
        policy == HWLOC_MEMBIND_BIND) {
        hwloc_cpuset_to_nodeset(topology, cpus, beside);
        near = hwloc_bitmap_intersects(bound, beside);
    }
    hwloc_bitmap_free(bound);
    hwloc_bitmap_free(beside);
    return near;
}

int cb_near_compare(const char *cpus)
{
    hwloc_topology_t topology;
    int near = -1;
    if (!cpus[0] || cb_hwloc_load(true, &topology, NULL) != 0)
        return -1;
    hwloc_bitmap_t beside = hwloc_bitmap_alloc();
    hwloc_bitmap_t mask = hwloc_bitmap_alloc();
    if (beside && mask && hwloc_bitmap_list_sscanf(beside, cpus) == 0 &&
        hwloc_get_cpubind(topology, mask, HWLOC_CPUBIND_THREAD) == 0)
        near = hwloc_bitmap_intersects(mask, beside) && memory_is_near(topology, beside);
    hwloc_bitmap_free(beside);
    hwloc_bitmap_free(mask);
    hwloc_topology_destroy(topology);
    return near;
}

/* The sharer's cores among those of cpus into share; false when there are too few for everybody, or
 * the share is everything. */
static bool choose_share(hwloc_topology_t topology, hwloc_const_cpuset_t cpus, int sharer,
                         int sharers, hwloc_bitmap_t share)
{
    int first, count, index = 0;
    int cores =
        hwloc_get_nbobjs_inside_cpuset_by_type(topology, cpus, cb_hwloc_core_type(topology));
    if (cores < sharers || cores == 0)
        return false;
    cb_topo_share(sharer, sharers, cores, &first, &count);
    hwloc_obj_t core = NULL;
    while ((core = hwloc_get_next_obj_inside_cpuset_by_type(topology, cpus,
                                                            cb_hwloc_core_type(topology), core))) {
        if (index >= first && index < first + count)
            hwloc_bitmap_or(share, share, core->cpuset);
        index++;
    }
    return !hwloc_bitmap_isequal(share, hwloc_topology_get_allowed_cpuset(topology));
}

static int bind_to(hwloc_topology_t topology, hwloc_const_cpuset_t share, struct cb_error *err)
{
    if (hwloc_set_cpubind(topology, share, HWLOC_CPUBIND_PROCESS) != 0) {
        cb_fail(err, CB_E_MEASURE, "cannot bind this rank to its CPUs");
        cb_error_set_hint(err, "--bind none leaves ranks where the launcher put them");
        return CB_E_MEASURE;
    }
    /* A preference, not a must: containers often forbid it, and first touch does the same. */
    hwloc_set_membind(topology, share, HWLOC_MEMBIND_BIND, HWLOC_MEMBIND_PROCESS);
    return 1;
}

int cb_near_bind(const char *cpus, int sharer, int sharers, struct cb_error *err)
{
    hwloc_topology_t topology;
    int rc = cb_hwloc_load(true, &topology, err);
    if (rc)
        return rc;
    hwloc_bitmap_t among = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology));
    hwloc_bitmap_t share = hwloc_bitmap_alloc();
    if (!among || !share)
        rc = cb_fail(err, CB_E_MEMORY, "out of memory while choosing CPUs");
    else if (cpus[0] && hwloc_bitmap_list_sscanf(among, cpus) != 0)
        rc = cb_fail(err, CB_E_MEASURE, "no list of CPUs: %.100s", cpus);
    /* A topology from a file (HWLOC_XMLFILE) is another machine's. */
    else if (hwloc_topology_is_thissystem(topology) &&
             choose_share(topology, among, sharer, sharers, share))
        rc = bind_to(topology, share, err);
    hwloc_bitmap_free(among);
    hwloc_bitmap_free(share);
    hwloc_topology_destroy(topology);
    return rc;
}

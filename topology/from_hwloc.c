#include <string.h>
#include <sys/utsname.h>

#include "topology/hwloc_load.h"
#include "topology/internal.h"

/* Nodes of memory alone have no CPUs, or show those of the node they lie beside (HBM, GPU memory):
 * a node counts when no earlier one has the same CPUs. */
static bool is_cpu_node(hwloc_topology_t topology, hwloc_obj_t node)
{
    if (hwloc_bitmap_iszero(node->cpuset))
        return false;
    for (hwloc_obj_t other = NULL;
         (other = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, other)) != node;)
        if (hwloc_bitmap_isequal(other->cpuset, node->cpuset))
            return false;
    return true;
}

static void read_memory(hwloc_topology_t topology, struct cb_topo_host *host, bool *is_whole)
{
    bool whole = hwloc_topology_is_thissystem(topology) &&
                 hwloc_bitmap_isequal(hwloc_topology_get_allowed_nodeset(topology),
                                      hwloc_topology_get_complete_nodeset(topology));
    hwloc_obj_t node = NULL;
    while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node))) {
        bool is_on_gpu = node->subtype && strcmp(node->subtype, "GPUMemory") == 0;
        host->numa_nodes += is_cpu_node(topology, node);
        if (!is_on_gpu)
            host->memory_bytes += node->attr->numanode.local_memory;
        whole &= !is_on_gpu;
    }
    *is_whole = whole;
}

static uint64_t last_level_cache_bytes(hwloc_topology_t topology)
{
    static const hwloc_obj_type_t levels[] = {HWLOC_OBJ_L5CACHE, HWLOC_OBJ_L4CACHE,
                                              HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE,
                                              HWLOC_OBJ_L1CACHE};
    for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
        uint64_t sum_bytes = 0;
        hwloc_obj_t cache = NULL;
        while ((cache = hwloc_get_next_obj_by_type(topology, levels[i], cache)))
            sum_bytes += cache->attr->cache.size;
        if (sum_bytes)
            return sum_bytes;
    }
    return 0;
}

/* Model names come padded ("Intel(R) Xeon(R) Gold 6226R CPU @ 2.90GHz" with runs of blanks). */
static void squeeze_blanks(char *text)
{
    char *out = text;
    for (const char *in = text; *in; in++)
        if (*in != ' ' || (out > text && out[-1] != ' '))
            *out++ = *in;
    while (out > text && out[-1] == ' ')
        out--;
    *out = '\0';
}

static void read_model(hwloc_topology_t topology, struct cb_topo_host *host)
{
    struct utsname system;
    hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
    const char *model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
    if (!model)
        model = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), "CPUModel");
    if (!model && hwloc_topology_is_thissystem(topology) && uname(&system) == 0)
        model = system.machine; /* Arm kernels name no model */
    cb_tree_clean(host->cpu_model, sizeof(host->cpu_model), model ? model : "");
    squeeze_blanks(host->cpu_model);
}

int cb_topo_read_machine(struct cb_topo_host *host, bool *has_whole_memory, struct cb_error *err)
{
    hwloc_topology_t topology;
    int rc = cb_hwloc_load(false, &topology, err);
    if (rc)
        return rc;
    int packages = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
    host->sockets = packages > 0 ? packages : 1;
    host->cores = hwloc_get_nbobjs_by_type(topology, cb_hwloc_core_type(topology));
    host->hardware_threads = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
    host->last_level_cache_bytes = last_level_cache_bytes(topology);
    read_memory(topology, host, has_whole_memory);
    read_model(topology, host);
    hwloc_topology_destroy(topology);
    return 0;
}

/* The calling thread's mask within the topology; owned by the caller, NULL when out of memory. The
 * process's other threads (an MPI library's) may be placed elsewhere. */
static hwloc_bitmap_t read_mask(hwloc_topology_t topology)
{
    hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(topology);
    hwloc_bitmap_t mask = hwloc_bitmap_alloc();
    if (!mask)
        return NULL;
    if (hwloc_get_cpubind(topology, mask, HWLOC_CPUBIND_THREAD) == 0)
        hwloc_bitmap_and(mask, mask, allowed);
    if (hwloc_bitmap_iszero(mask))
        hwloc_bitmap_copy(mask, allowed);
    return mask;
}

/* Loads the topology and the mask; on error neither is kept. */
static int load_with_mask(hwloc_topology_t *topology, hwloc_bitmap_t *mask, struct cb_error *err)
{
    int rc = cb_hwloc_load(false, topology, err);
    if (rc)
        return rc;
    *mask = read_mask(*topology);
    if (*mask)
        return 0;
    hwloc_topology_destroy(*topology);
    return cb_fail(err, CB_E_MEMORY, "out of memory while reading the CPU binding");
}

static bool is_bound(hwloc_topology_t topology, hwloc_const_bitmap_t mask)
{
    return !hwloc_bitmap_isequal(mask, hwloc_topology_get_allowed_cpuset(topology));
}

static int count_cores(hwloc_topology_t topology, hwloc_const_bitmap_t mask)
{
    int cores = 0;
    hwloc_obj_t core = NULL;
    while ((core = hwloc_get_next_obj_by_type(topology, cb_hwloc_core_type(topology), core)))
        cores += hwloc_bitmap_intersects(core->cpuset, mask);
    return cores;
}

static int find_numa(hwloc_topology_t topology, hwloc_const_bitmap_t mask)
{
    hwloc_obj_t node = NULL;
    while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)))
        if (hwloc_bitmap_isincluded(mask, node->cpuset))
            return (int)node->os_index;
    return -1;
}

/* "0-7,16-23", cut after a whole range when it does not fit. */
static void format_list(hwloc_const_bitmap_t mask, char *text, size_t size_bytes)
{
    static const char cut[] = "...";
    int length = hwloc_bitmap_list_snprintf(text, size_bytes, mask);
    if (length < 0)
        text[0] = '\0';
    if (length < (int)size_bytes)
        return;
    text[size_bytes - sizeof(cut)] = '\0';
    char *comma = strrchr(text, ',');
    memcpy(comma ? comma + 1 : text, cut, sizeof(cut));
}

int cb_topo_discover_binding(struct cb_topo_binding *binding, struct cb_error *err)
{
    hwloc_topology_t topology;
    hwloc_bitmap_t mask;
    int rc = load_with_mask(&topology, &mask, err);
    if (rc)
        return rc;
    *binding = (struct cb_topo_binding){
        .cpus = hwloc_bitmap_weight(mask),
        .cores = count_cores(topology, mask),
        .bound = is_bound(topology, mask),
        .numa = find_numa(topology, mask),
    };
    format_list(mask, binding->cpuset, sizeof(binding->cpuset));
    hwloc_bitmap_free(mask);
    hwloc_topology_destroy(topology);
    return 0;
}

void cb_topo_share(int sharer, int sharers, int cores, int *first, int *count)
{
    if (sharers > cores) {
        *first = sharer % cores;
        *count = 1;
        return;
    }
    /* Neighbouring cores share caches and memory: contiguous shares keep them together. */
    *first = (int)((long long)cores * sharer / sharers);
    *count = (int)((long long)cores * (sharer + 1) / sharers) - *first;
}

/* One hardware thread of each of the sharer's cores. */
static int choose_from_mask(hwloc_topology_t topology, hwloc_const_bitmap_t mask, int sharer,
                            int sharers, int *cpus, size_t capacity)
{
    int first, count;
    int index = 0;
    size_t chosen = 0;
    hwloc_obj_t core = NULL;
    cb_topo_share(sharer, sharers, count_cores(topology, mask), &first, &count);
    while (chosen < capacity &&
           (core = hwloc_get_next_obj_by_type(topology, cb_hwloc_core_type(topology), core))) {
        if (!hwloc_bitmap_intersects(core->cpuset, mask))
            continue;
        if (index >= first && index < first + count) {
            int cpu = hwloc_bitmap_first(core->cpuset);
            while (!hwloc_bitmap_isset(mask, (unsigned)cpu))
                cpu = hwloc_bitmap_next(core->cpuset, cpu);
            cpus[chosen++] = cpu;
        }
        index++;
    }
    return (int)chosen;
}

int cb_topo_share_cpus(int sharer, int sharers, int *cpus, size_t capacity, struct cb_error *err)
{
    if (sharer < 0 || sharer >= sharers || capacity == 0)
        return cb_fail(err, CB_E_MEASURE, "no CPUs for rank %d of %d on its node", sharer, sharers);
    hwloc_topology_t topology;
    hwloc_bitmap_t mask;
    int rc = load_with_mask(&topology, &mask, err);
    if (rc)
        return rc;
    rc = choose_from_mask(topology, mask, sharer, sharers, cpus, capacity);
    hwloc_bitmap_free(mask);
    hwloc_topology_destroy(topology);
    return rc;
}

int cb_topo_allowed_cpus(void)
{
    hwloc_topology_t topology;
    if (cb_hwloc_load(false, &topology, NULL) != 0)
        return 0;
    int cpus = hwloc_bitmap_weight(hwloc_topology_get_allowed_cpuset(topology));
    hwloc_topology_destroy(topology);
    return cpus > 0 ? cpus : 0;
}

/* The library in use may be newer than the header; it signs the topologies that it loads. */
const char *cb_topo_library_version(char *text, size_t size_bytes)
{
    hwloc_topology_t topology;
    bool loaded = cb_hwloc_load(false, &topology, NULL) == 0;
    const char *version =
        loaded ? hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), "hwlocVersion") : NULL;
    cb_tree_clean(text, size_bytes, version ? version : HWLOC_VERSION);
    if (loaded)
        hwloc_topology_destroy(topology);
    return text;
}

#include "cli/topo_live.h"

#include <string.h>
#include <unistd.h>

#include "gpu/node.h"
#include "gpu/nvml_api.h"
#include "topology/binding.h"
#include "topology/topo.h"

/* What hwloc counts. */
static int count_parts(struct cb_facts *facts, struct cb_error *err)
{
    struct cb_topo_host host;
    memset(&host, 0, sizeof(host));
    int rc = cb_topo_discover_host(NULL, NULL, &host, err);
    if (rc)
        return rc;
    facts->sockets = host.sockets;
    facts->numa_nodes = host.numa_nodes;
    facts->cores = host.cores;
    facts->cpus = (int)sysconf(_SC_NPROCESSORS_CONF);
    facts->allowed_cpus = cb_topo_allowed_cpus();
    return 0;
}

/* A machine without NVIDIA's driver has no NVML, which is no error. */
static void ask_nvml(struct cb_facts *facts)
{
    struct cb_nvml_api nvml;
    if (cb_nvml_open(NULL, &nvml, NULL) != 0)
        return;
    cb_gpu_look_at_node(&nvml, facts);
    cb_nvml_close(&nvml);
}

int cb_cli_look_around(struct cb_map *map, struct cb_facts *facts, struct cb_error *err)
{
    int rc = cb_facts_read_node(NULL, "", facts, err);
    if (rc == 0)
        rc = count_parts(facts, err);
    if (rc)
        return rc;
    ask_nvml(facts);
    for (int i = 0; i < facts->gpu_count; i++)
        cb_facts_read_gpu(NULL, &facts->gpus[i]);
    cb_facts_read_isolation(NULL, facts);
    rc = cb_map_discover(map, err);
    if (rc)
        return rc;
    cb_facts_add_paths(map, facts);
    return cb_map_complete(facts, map, err);
}

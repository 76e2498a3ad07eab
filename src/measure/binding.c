#include "measure/binding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/gather.h"
#include "topology/binding.h"

#define LAUNCHER "launcher" /* a value of cb_rank.bound_by */

void cb_binding_share(const struct cb_binding_wish *wishes, int count, int mine, int *sharer,
                      int *sharers)
{
    *sharer = *sharers = 0;
    for (int i = 0; i < count; i++) {
        bool is_same = !wishes[i].bound && strcmp(wishes[i].cpus, wishes[mine].cpus) == 0;
        *sharer += is_same && i < mine;
        *sharers += is_same;
    }
}

/* What the rank works with and where that is. */
static void find_device(const char *gpu_bus_id, const struct cb_topo_host *host,
                        struct cb_rank *rank, char *cpus, size_t size_bytes)
{
    char bus_id[24] = "";
    if (gpu_bus_id && gpu_bus_id[0]) {
        snprintf(rank->device, sizeof(rank->device), "GPU %.26s", gpu_bus_id);
        cb_near_find_cpus(gpu_bus_id, cpus, size_bytes);
        return;
    }
    cpus[0] = '\0';
    for (int i = 0; i < host->nic_count; i++)
        if (host->nics[i].used) {
            snprintf(rank->device, sizeof(rank->device), "NIC %.26s", host->nics[i].name);
            if (cb_near_find_interface(host->nics[i].name, bus_id, sizeof(bus_id)))
                cb_near_find_cpus(bus_id, cpus, size_bytes);
            return;
        }
}

/* Collective over the node. */
static int choose_share(const struct cb_coordinator *c, const struct cb_binding_wish *wish,
                        int *sharer, int *sharers, struct cb_error *err)
{
    void *all = NULL;
    int rc = cb_gather_everywhere(c->node_group, wish, sizeof(*wish), &all, err);
    if (!rc)
        cb_binding_share(all, c->local_size, c->local_rank, sharer, sharers);
    free(all);
    return rc;
}

/* Puts this rank beside its device and looks again at where it may run. */
static int bind_rank(const struct cb_binding_wish *wish, int sharer, int sharers,
                     struct cb_rank *rank, struct cb_error *err)
{
    int bound = cb_near_bind(wish->cpus, sharer, sharers, err);
    if (bound <= 0)
        return bound;
    snprintf(rank->bound_by, sizeof(rank->bound_by), "commbound");
    return cb_topo_discover_binding(&rank->binding, err);
}

static const enum cb_locality localities[] = {CB_LOCALITY_AWAY, CB_LOCALITY_NEAR};

/* The CPUs of this rank's compute threads: processes with one and the same mask share its cores
 * out. Collective over the node. */
static int choose_cpus(const struct cb_coordinator *c, const struct cb_topo_binding *binding,
                       struct cb_survey *survey, struct cb_error *err)
{
    void *all = NULL;
    int sharer = 0, sharers = 0;
    int rc = cb_gather_everywhere(c->node_group, binding, sizeof(*binding), &all, err);
    const struct cb_topo_binding *bindings = all;
    for (int i = 0; !rc && i < c->local_size; i++) {
        bool is_same = strcmp(bindings[i].cpuset, binding->cpuset) == 0;
        sharer += is_same && i < c->local_rank;
        sharers += is_same;
    }
    free(all);
    if (rc)
        return rc;
    int found = cb_topo_share_cpus(sharer, sharers, survey->cpus, CB_SURVEY_CPUS, err);
    if (found < 0)
        return found;
    survey->cpu_count = (size_t)found;
    return CB_OK;
}

void cb_binding_warn(struct cb_result *result)
{
    int narrow = 0, first_narrow = 0, most_crowded = 0;
    for (size_t n = 0; n < result->nodes.count; n++) {
        int cores = result->nodes.items[n].cores, ranks_here = 0, bound_to_one = 0, first = 0;
        for (size_t i = result->ranks.count; i-- > 0;) {
            const struct cb_rank *rank = &result->ranks.items[i];
            if (rank->node != (int)n)
                continue;
            ranks_here++;
            if (strcmp(rank->bound_by, LAUNCHER) == 0 && rank->binding.cores == 1) {
                bound_to_one++;
                first = rank->rank;
            }
        }
        if (bound_to_one > 0 && cores > ranks_here) {
            first_narrow = narrow > 0 && first_narrow < first ? first_narrow : first;
            narrow += bound_to_one;
        }
        if (cores > 0 && ranks_here > cores && ranks_here > most_crowded)
            most_crowded = ranks_here;
    }
    if (narrow)
        cb_result_warn(result, "binding.one_core",
                       "start with mpirun --bind-to numa, or --map-by ppr:N:node:pe=CORES, or "
                       "--bind-to none",
                       "%d rank(s), the first is rank %d, may use one core while their node has "
                       "cores to spare: kernels and network progress are held back",
                       narrow, first_narrow);
    if (most_crowded)
        cb_result_warn(result, "ranks.oversubscribed", "start at most one rank per core",
                       "a node runs more ranks (%d) than it has cores: ranks take turns, and times "
                       "contain waiting for the processor",
                       most_crowded);
}

int cb_binding_run(const struct cb_coordinator *coordinator, const char *gpu_bus_id, bool binds,
                   struct cb_survey *survey, struct cb_result *result, struct cb_error *err)
{
    const struct cb_coordinator *c = coordinator;
    struct cb_rank mine = {.rank = c->rank, .node = c->node, .local_rank = c->local_rank};
    struct cb_binding_wish wish = {.bound = false};
    int sharer = 0, sharers = 0;
    int rc = cb_topo_discover_binding(&mine.binding, err);
    rc = cb_group_agree(c->world, rc, err);
    if (rc)
        return rc;
    find_device(gpu_bus_id, &survey->host, &mine, wish.cpus, sizeof(wish.cpus));
    wish.bound = mine.binding.bound;
    if (wish.bound)
        snprintf(mine.bound_by, sizeof(mine.bound_by), LAUNCHER);
    rc = choose_share(c, &wish, &sharer, &sharers, err);
    if (!rc && binds && !wish.bound)
        rc = bind_rank(&wish, sharer, sharers, &mine, err);
    rc = cb_group_agree(c->world, rc, err);
    if (!rc)
        rc = cb_group_agree(c->world, choose_cpus(c, &mine.binding, survey, err), err);
    if (rc)
        return rc;
    mine.threads = (int)survey->cpu_count;
    int near = cb_near_compare(wish.cpus);
    mine.locality = near < 0 ? CB_LOCALITY_UNKNOWN : localities[near];
    rc = cb_gather_append(c->world, &mine, &result->ranks, err);
    if (!rc && c->rank == 0)
        cb_binding_warn(result);
    return rc;
}

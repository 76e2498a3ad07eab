#include "measure/binding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/binding.h"

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
    struct cb_binding_wish *all = calloc((size_t)c->local_size, sizeof(*all));
    int rc = all ? CB_OK : cb_fail(err, CB_E_MEMORY, "no memory for %d bindings", c->local_size);
    rc = cb_group_agree(c->node_group, rc, err);
    if (!rc)
        rc = cb_group_gather(c->node_group, wish, sizeof(*wish), all, err);
    if (!rc)
        rc = cb_group_broadcast(c->node_group, all, (size_t)c->local_size * sizeof(*all), err);
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

static int store(const struct cb_coordinator *c, const struct cb_rank *mine,
                 struct cb_result *result, struct cb_error *err)
{
    struct cb_rank *all = NULL;
    int rc = CB_OK;
    if (c->rank == 0) {
        all = calloc((size_t)c->size, sizeof(*all));
        if (!all)
            rc = cb_fail(err, CB_E_MEMORY, "no memory for the bindings of %d ranks", c->size);
    }
    rc = cb_group_agree(c->world, rc, err);
    if (!rc)
        rc = cb_group_gather(c->world, mine, sizeof(*mine), all, err);
    for (size_t i = 0; all && !rc && i < result->ranks.count && i < (size_t)c->size; i++)
        result->ranks.items[i] = all[i];
    free(all);
    return rc;
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
        snprintf(mine.bound_by, sizeof(mine.bound_by), "launcher");
    rc = choose_share(c, &wish, &sharer, &sharers, err);
    if (!rc && binds && !wish.bound)
        rc = bind_rank(&wish, sharer, sharers, &mine, err);
    rc = cb_group_agree(c->world, rc, err);
    if (!rc)
        rc = cb_survey_choose_cpus(c, &mine.binding, survey, err);
    if (rc)
        return rc;
    mine.threads = (int)survey->cpu_count;
    int near = cb_near_compare(wish.cpus);
    mine.locality = near < 0 ? CB_LOCALITY_UNKNOWN : localities[near];
    rc = store(c, &mine, result, err);
    return cb_group_agree(c->world, rc, err);
}

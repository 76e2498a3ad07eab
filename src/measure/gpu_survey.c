#include "measure/gpu_survey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/gather.h"

/* What one host says. */
struct host_gpus {
    char reason[160]; /* why nothing; empty when the driver answered */
    unsigned found;   /* may exceed count */
    unsigned count;
    struct cb_gpu gpus[CB_GPUS_PER_HOST];
};

static void look_at_host(const struct cb_gpu_watch *watch, struct host_gpus *host)
{
    memset(host, 0, sizeof(*host));
    if (!watch->is_open) {
        snprintf(host->reason, sizeof(host->reason), "%.155s", watch->reason);
        return;
    }
    host->found = cb_gpu_count(&watch->nvml, host->reason, sizeof(host->reason));
    if (host->found == 0 && !host->reason[0])
        snprintf(host->reason, sizeof(host->reason), "the driver shows no GPU");
    host->count = host->found < CB_GPUS_PER_HOST ? host->found : CB_GPUS_PER_HOST;
    for (unsigned i = 0; i < host->count; i++)
        cb_gpu_look(&watch->nvml, i, &host->gpus[i]);
}

static int add_host(const struct host_gpus *host, int node, struct cb_result *result)
{
    for (unsigned i = 0; i < host->count; i++) {
        struct cb_gpu *place = cb_vec_add(&result->gpus);
        if (!place)
            return CB_E_MEMORY;
        *place = host->gpus[i];
        place->node = node;
    }
    return CB_OK;
}

/* One reason for all hosts that have none: the first one's, and how many they are. */
static void explain(const struct host_gpus *hosts, int count, struct cb_result *result)
{
    int without = 0, first = -1;
    for (int i = 0; i < count; i++) {
        if (!hosts[i].reason[0])
            continue;
        first = first < 0 ? i : first;
        without++;
    }
    if (without == 0)
        return;
    const char *name = (size_t)first < result->nodes.count ? result->nodes.items[first].name : "?";
    if (without == 1)
        snprintf(result->gpu_reason, sizeof(result->gpu_reason), "%.60s: %.159s", name,
                 hosts[first].reason);
    else
        snprintf(result->gpu_reason, sizeof(result->gpu_reason), "%.60s and %d more: %.159s", name,
                 without - 1, hosts[first].reason);
}

static int gather_hosts(const struct cb_coordinator *c, struct host_gpus *mine,
                        struct cb_result *result, struct cb_error *err)
{
    CB_VEC(struct host_gpus) all = {0};
    if (!c->leaders)
        return CB_OK;
    int rc = cb_gather_append(c->leaders, mine, &all, err);
    for (int i = 0; !rc && i < (int)all.count; i++)
        if (add_host(&all.items[i], i, result))
            rc = cb_fail(err, CB_E_MEMORY, "no memory for a GPU");
    if (!rc && all.count > 0)
        explain(all.items, (int)all.count, result);
    cb_vec_fini(&all);
    return rc;
}

int cb_gpu_survey_run(const struct cb_coordinator *coordinator, struct cb_gpu_watch *watch,
                      struct cb_result *result, struct cb_error *err)
{
    const struct cb_coordinator *c = coordinator;
    struct cb_error absent = {.rank = -1};
    *watch = (struct cb_gpu_watch){.index = -1};
    watch->is_open = cb_nvml_open(NULL, &watch->nvml, &absent) == CB_OK;
    if (!watch->is_open)
        snprintf(watch->reason, sizeof(watch->reason), "%.250s", absent.what);
    struct host_gpus *mine = calloc(1, sizeof(*mine));
    int rc = mine ? CB_OK : cb_fail(err, CB_E_MEMORY, "no memory for the GPUs of a host");
    rc = cb_group_agree(c->world, rc, err);
    if (!rc && mine && c->leaders)
        look_at_host(watch, mine);
    if (!rc)
        rc = gather_hosts(c, mine, result, err);
    free(mine);
    return cb_group_agree(c->world, rc, err);
}

/* Rank and card, as every rank says. */
struct place {
    int node;
    char bus_id[32];
};

static void set_rank(const struct place *place, int rank, struct cb_result *result)
{
    for (size_t i = 0; i < result->gpus.count; i++) {
        struct cb_gpu *gpu = &result->gpus.items[i];
        if (gpu->node == place->node && strcmp(gpu->bus_id, place->bus_id) == 0 && gpu->rank < 0) {
            gpu->rank = rank;
            return;
        }
    }
}

int cb_gpu_survey_bind(const struct cb_coordinator *coordinator, const char *bus_id,
                       struct cb_gpu_watch *watch, struct cb_result *result, struct cb_error *err)
{
    const struct cb_coordinator *c = coordinator;
    struct place mine = {.node = c->node};
    CB_VEC(struct place) all = {0};
    bool is_bound = bus_id && cb_gpu_bus_id_normalise(bus_id, mine.bus_id, sizeof(mine.bus_id));
    if (is_bound && watch->is_open)
        watch->index = cb_gpu_find(&watch->nvml, mine.bus_id);
    if (watch->is_open && watch->index < 0)
        snprintf(watch->reason, sizeof(watch->reason), "%s",
                 is_bound ? "the driver's library does not show this rank's GPU"
                          : "this rank uses no GPU");
    int rc = cb_gather_append(c->world, &mine, &all, err);
    for (size_t i = 0; i < all.count; i++)
        if (all.items[i].bus_id[0])
            set_rank(&all.items[i], (int)i, result);
    cb_vec_fini(&all);
    return rc;
}

void cb_gpu_watch_close(struct cb_gpu_watch *watch)
{
    if (watch->is_open)
        cb_nvml_close(&watch->nvml);
    watch->is_open = false;
}

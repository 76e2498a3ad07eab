#include "measure/gpu_survey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "measure/gather.h"

/* Over which the driver averages how busy a card is, at most (nvmlUtilization_t). */
static const time_t longest_period_s = 1;

/* What one host says. */
struct host_gpus {
    char reason[160]; /* why nothing; empty when the driver answered */
    unsigned found;   /* may exceed count */
    unsigned count;
    unsigned hidden; /* of found, those that the host's first rank does not see */
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
    bool is_waking = false;
    for (unsigned i = 0; i < host->count; i++) {
        cb_gpu_look(&watch->nvml, i, &host->gpus[i]);
        is_waking |= cb_gpu_may_be_waking(&host->gpus[i]);
    }
    if (is_waking)
        nanosleep(&(struct timespec){.tv_sec = longest_period_s, .tv_nsec = 100000000}, NULL);
    for (unsigned i = 0; i < host->count; i++)
        if (cb_gpu_may_be_waking(&host->gpus[i]))
            cb_gpu_look_again(&watch->nvml, i, &host->gpus[i]);
}

static bool has_card(const struct host_gpus *host, const char *bus_id)
{
    for (unsigned i = 0; i < host->count; i++)
        if (strcmp(host->gpus[i].bus_id, bus_id) == 0)
            return true;
    return false;
}

/* What the first rank of this host does not see: more is only there where the launcher lets a
 * process open some of the host's cards. */
static void look_at_rest(const struct cb_gpu_watch *watch, const struct host_gpus *first,
                         struct host_gpus *mine)
{
    char bus_id[sizeof(mine->gpus[0].bus_id)];
    bool is_whole = watch->is_open && first->found == first->count;
    unsigned count = is_whole ? cb_gpu_count(&watch->nvml, NULL, 0) : 0;
    memset(mine, 0, sizeof(*mine));
    for (unsigned i = 0; i < count && mine->count < CB_GPUS_PER_HOST; i++)
        if (cb_gpu_address(&watch->nvml, i, bus_id, sizeof(bus_id)) && !has_card(first, bus_id))
            cb_gpu_look(&watch->nvml, i, &mine->gpus[mine->count++]);
}

static int by_address(const void *a, const void *b)
{
    return strcmp(((const struct cb_gpu *)a)->bus_id, ((const struct cb_gpu *)b)->bus_id);
}

/* Each rank numbers what it sees from 0; the driver numbers all of them by address. */
static void merge(const struct host_gpus *ranks, size_t count, struct host_gpus *host)
{
    for (size_t r = 1; r < count; r++)
        for (unsigned i = 0; i < ranks[r].count; i++) {
            const struct cb_gpu *gpu = &ranks[r].gpus[i];
            if (has_card(host, gpu->bus_id))
                continue;
            host->found++;
            host->hidden++;
            if (host->count < CB_GPUS_PER_HOST)
                host->gpus[host->count++] = *gpu;
        }
    if (host->hidden == 0)
        return;
    host->reason[0] = '\0';
    qsort(host->gpus, host->count, sizeof(host->gpus[0]), by_address);
    for (unsigned i = 0; i < host->count; i++)
        host->gpus[i].index = (int)i;
}

/* What all ranks of a host see of it, on its first one. Collective over the node's group. */
static int gather_node(const struct cb_coordinator *c, const struct cb_gpu_watch *watch,
                       struct host_gpus *host, struct cb_error *err)
{
    struct host_gpus *mine = calloc(1, sizeof(*mine));
    CB_VEC(struct host_gpus) all = {0};
    double more = 0;
    int rc = mine ? CB_OK : cb_fail(err, CB_E_MEMORY, "no memory for the GPUs of a host");
    rc = cb_group_agree(c->node_group, rc, err);
    if (!rc)
        rc = cb_group_broadcast(c->node_group, host, sizeof(*host), err);
    if (!rc && mine && !c->leaders) {
        look_at_rest(watch, host, mine);
        more = mine->count;
    }
    if (!rc)
        rc = cb_group_max(c->node_group, &more, 1, err);
    if (!rc && more > 0)
        rc = cb_gather_append(c->node_group, mine, &all, err);
    if (!rc && all.count > 0)
        merge(all.items, all.count, host);
    cb_vec_fini(&all);
    free(mine);
    return rc;
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

/* NCCL learns of links through the cards that a process may open. */
static int warn_of_hidden(const struct host_gpus *hosts, int count, struct cb_result *result)
{
    for (int i = 0; i < count; i++)
        if (hosts[i].hidden)
            return cb_result_warn(
                result, "gpu.hidden",
                "let every rank see all GPUs of its node: srun --gpu-bind=none, and "
                "--gpus-per-node in place of --gpus-per-task",
                "the launcher hides the GPUs of %.60s from each other: its first rank sees %u of "
                "%u; NCCL then leaves NVLink and direct access aside",
                (size_t)i < result->nodes.count ? result->nodes.items[i].name : "?",
                hosts[i].found - hosts[i].hidden, hosts[i].found);
    return CB_OK;
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
    if (!rc && warn_of_hidden(all.items, (int)all.count, result))
        rc = cb_fail(err, CB_E_MEMORY, "no memory for a warning");
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
        rc = gather_node(c, watch, mine, err);
    rc = cb_group_agree(c->world, rc, err);
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

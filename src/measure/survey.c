#include "measure/survey.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/gather.h"

enum { HOST_NAME_BYTES = 64 };

/* Each node's first rank learns the name of the next node's host, whose route tells which interface
 * the job leaves through. Collective over the leaders. */
static int find_peer(const struct cb_coordinator *c, char peer[HOST_NAME_BYTES],
                     struct cb_error *err)
{
    char mine[HOST_NAME_BYTES] = "";
    void *names = NULL;
    gethostname(mine, sizeof(mine) - 1);
    int rc = cb_gather_everywhere(c->leaders, mine, sizeof(mine), &names, err);
    peer[0] = '\0';
    if (!rc && c->node_count > 1) {
        size_t next = (size_t)(c->node + 1) % (size_t)c->node_count;
        memcpy(peer, (const char *)names + next * HOST_NAME_BYTES, HOST_NAME_BYTES);
    }
    free(names);
    return rc;
}

static int survey_host(const struct cb_coordinator *c, struct cb_topo_host *host,
                       struct cb_error *err)
{
    char peer[HOST_NAME_BYTES] = "";
    int rc = CB_OK;
    memset(host, 0, sizeof(*host));
    if (c->leaders) {
        rc = find_peer(c, peer, err);
        if (!rc)
            rc = cb_topo_discover_host(NULL, peer, host, err);
    }
    rc = cb_group_agree(c->world, rc, err);
    return rc ? rc : cb_group_broadcast(c->node_group, host, sizeof(*host), err);
}

static int share_limits(const struct cb_coordinator *c, const struct cb_topo_host *host,
                        struct cb_survey *survey, struct cb_error *err)
{
    survey->memory_per_rank_bytes =
        host->available_memory_bytes / 2 / (uint64_t)(c->local_size ? c->local_size : 1);
    survey->last_level_cache_bytes = host->last_level_cache_bytes;
    survey->host = *host;
    double limits[3] = {-(double)survey->memory_per_rank_bytes, -(double)c->local_size,
                        (double)c->local_size};
    int rc = cb_group_max(c->world, limits, 3, err);
    if (rc)
        return rc;
    survey->least_memory_per_rank_bytes = (uint64_t)-limits[0];
    survey->smallest_node = (int)-limits[1];
    survey->largest_node = (int)limits[2];
    return CB_OK;
}

/* ---- what is odd about it ---- */

/* Debian's Open MPI ships with pml = ^ucx: on an RDMA network it takes TCP and says nothing. */
static void warn_about_interfaces(bool knows_nominal, struct cb_result *result)
{
    const struct cb_topo_nic *rdma = NULL;
    for (size_t n = 0; n < result->nodes.count; n++) {
        const struct cb_topo_host *host = &result->nodes.items[n];
        for (int i = 0; i < host->nic_count; i++) {
            const struct cb_topo_nic *nic = &host->nics[i];
            if (nic->up && cb_facts_is_ib_or_roce(nic) && !rdma)
                rdma = nic;
            if (!knows_nominal && nic->used && nic->stated_bytes_per_s > 0 &&
                nic->nominal_bytes_per_s <= 0 && n == 0)
                cb_result_warn(result, "nic.speed_made_up",
                               "state what the offer says with --nominal-bandwidth",
                               "%s: driver %s states a speed that no hardware stands behind: the "
                               "nominal bandwidth is unknown",
                               nic->name, nic->driver);
        }
    }
    if (rdma && result->nodes.count > 1)
        cb_result_warn(result, "rdma.may_be_unused", "mpirun --mca pml ucx (see commbound doctor)",
                       "%s is an active %s port; Open MPI as Debian and Ubuntu ship it excludes "
                       "UCX by default and then moves data over TCP",
                       rdma->name, rdma->kind);
}

int cb_survey_run(const struct cb_coordinator *coordinator, bool knows_nominal,
                  struct cb_survey *survey, struct cb_result *result, struct cb_error *err)
{
    const struct cb_coordinator *c = coordinator;
    struct cb_topo_host host;
    memset(survey, 0, sizeof(*survey));
    int rc = survey_host(c, &host, err);
    if (!rc)
        rc = share_limits(c, &host, survey, err);
    if (!rc)
        rc = c->leaders ? cb_gather_append(c->leaders, &host, &result->nodes, err) : CB_OK;
    rc = cb_group_agree(c->world, rc, err);
    if (!rc && c->rank == 0)
        warn_about_interfaces(knows_nominal, result);
    return rc;
}

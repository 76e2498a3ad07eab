#include "measure/map_survey.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/node.h"
#include "measure/gather.h"
#include "topology/binding.h"
#include "topology/map.h"

/* ---- one node ---- */

static const char *used_interface(const struct cb_topo_host *host)
{
    for (int i = 0; i < host->nic_count; i++)
        if (host->nics[i].used)
            return host->nics[i].name;
    return "";
}

static int look_at_node(const struct cb_survey *survey, const struct cb_gpu_watch *watch,
                        struct cb_facts *facts, struct cb_error *err)
{
    struct cb_map map = {0};
    int rc = cb_facts_read_node(NULL, used_interface(&survey->host), facts, err);
    if (rc)
        return rc;
    facts->sockets = survey->host.sockets;
    facts->numa_nodes = survey->host.numa_nodes;
    facts->cores = survey->host.cores;
    facts->cpus = (int)sysconf(_SC_NPROCESSORS_CONF);
    facts->allowed_cpus = cb_topo_allowed_cpus();
    if (watch->is_open)
        cb_gpu_look_at_node(&watch->nvml, facts);
    for (int i = 0; i < facts->gpu_count; i++)
        cb_facts_read_gpu(NULL, &facts->gpus[i]);
    cb_facts_read_isolation(NULL, facts);
    rc = cb_map_discover(&map, err);
    if (!rc)
        cb_facts_add_paths(&map, facts);
    cb_map_fini(&map);
    return rc;
}

/* ---- all of them ---- */

int cb_map_survey_group(const uint64_t *hashes, int count, int *maps)
{
    int found = 0;
    for (int i = 0; i < count; i++) {
        int twin = 0;
        while (twin < i && hashes[twin] != hashes[i])
            twin++;
        maps[i] = twin < i ? maps[twin] : ++found;
    }
    return found;
}

/* What each node's first rank says before anything is sent. */
struct introduction {
    uint64_t hash;
    int rank; /* in the world */
};

/* Moves one node's facts to rank 0, which is the second of the pair. */
static int send_facts(const struct cb_coordinator *c, int from_rank, struct cb_facts *facts,
                      struct cb_error *err)
{
    struct cb_group *pair;
    int rc = cb_group_open_pair(c, from_rank, 0, &pair, err);
    if (rc)
        return rc;
    rc = cb_group_broadcast(pair, facts, sizeof(*facts), err);
    cb_group_close(pair);
    return rc;
}

/* The first node of each map sends it. */
static int collect_maps(const struct cb_coordinator *c, const struct introduction *all,
                        const int *maps, struct cb_facts *mine, struct cb_result *result,
                        struct cb_error *err)
{
    int known = 0, rc = CB_OK;
    for (int node = 0; node < c->node_count && !rc; node++) {
        if (maps[node] <= known)
            continue;
        known++;
        /* Rank 0 made room for all of them beforehand. */
        struct cb_facts *place = c->rank == 0 ? cb_vec_add(&result->maps) : mine;
        if (node == 0 && c->rank == 0)
            *place = *mine;
        else if (node > 0 && (c->rank == 0 || c->node == node))
            rc = send_facts(c, all[node].rank, place, err);
    }
    for (size_t i = 0; c->rank == 0 && !rc && i < result->nodes.count; i++)
        result->nodes.items[i].map = (int)i < c->node_count ? maps[i] : 0;
    return rc;
}

/* Collective over the leaders. */
static int gather_maps(const struct cb_coordinator *c, struct cb_facts *mine,
                       struct cb_result *result, struct cb_error *err)
{
    size_t nodes = (size_t)c->node_count;
    void *gathered = NULL;
    uint64_t *hashes = calloc(nodes, sizeof(*hashes));
    int *maps = calloc(nodes, sizeof(*maps));
    const struct introduction me = {.hash = cb_facts_hash(mine), .rank = c->rank};
    int rc = hashes && maps
                 ? CB_OK
                 : cb_fail(err, CB_E_MEMORY, "no memory for the maps of %d nodes", c->node_count);
    rc = cb_group_agree(c->leaders, rc, err);
    if (!rc)
        rc = cb_gather_everywhere(c->leaders, &me, sizeof(me), &gathered, err);
    const struct introduction *all = gathered;
    /* Every leader numbers the nodes alike and knows by itself who sends. */
    for (size_t i = 0; i < nodes && !rc; i++)
        hashes[i] = all[i].hash;
    int kinds = rc ? 0 : cb_map_survey_group(hashes, c->node_count, maps);
    if (!rc && c->rank == 0 && cb_vec_reserve(&result->maps, (size_t)kinds))
        rc = cb_fail(err, CB_E_MEMORY, "no memory for %d maps", kinds);
    rc = cb_group_agree(c->leaders, rc, err);
    if (!rc)
        rc = collect_maps(c, all, maps, mine, result, err);
    free(gathered);
    free(hashes);
    free(maps);
    return rc;
}

int cb_map_survey_run(const struct cb_coordinator *coordinator, const struct cb_survey *survey,
                      const struct cb_gpu_watch *watch, struct cb_result *result,
                      struct cb_error *err)
{
    const struct cb_coordinator *c = coordinator;
    struct cb_facts *facts = NULL;
    int rc = CB_OK;
    if (c->leaders) {
        facts = calloc(1, sizeof(*facts));
        rc = facts ? look_at_node(survey, watch, facts, err)
                   : cb_fail(err, CB_E_MEMORY, "no memory for the map of a node");
    }
    rc = cb_group_agree(c->world, rc, err);
    if (!rc && c->leaders)
        rc = gather_maps(c, facts, result, err);
    free(facts);
    return cb_group_agree(c->world, rc, err);
}

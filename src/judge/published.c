#include "judge/published.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/units.h"
#include "reference/busbw.h"

/* A healthy cluster of the same kind may be that much slower: the providers' minimums lie at 91 to
 * 97 % of what they reach. */
#define HEALTHY_SHARE 0.90

/* A bandwidth that is not positive is not tested, for the reason in note (NULL: none). */
static void check_published(const struct cb_busbw_query *query, double bus_bytes_per_s,
                            const char *note, struct cb_check *check)
{
    struct cb_busbw_answer answer;
    char words[sizeof(check->summary)];
    cb_busbw_find(query, &answer);
    bool is_minimum = answer.found && !(answer.low_bytes_per_s > 0);
    double reference =
        is_minimum ? answer.minimum_bytes_per_s / HEALTHY_SHARE : answer.low_bytes_per_s;
    cb_criterion_judge(CB_CRITERION_GPU_PUBLISHED, bus_bytes_per_s, reference, 0, note, check);
    if (!(bus_bytes_per_s > 0))
        return;
    cb_busbw_describe(query, &answer, bus_bytes_per_s, words, sizeof(words));
    snprintf(check->summary, sizeof(check->summary), "%s %.160s", cb_op_name(query->op), words);
    if (answer.found)
        snprintf(check->source, sizeof(check->source), "%s", answer.lowest->source);
    if (answer.other_link && check->status != CB_CHECK_MET) {
        check->status = CB_CHECK_NO_REFERENCE;
        check->remedy[0] = '\0';
        snprintf(check->summary, sizeof(check->summary), "%s %.140s; the links may differ",
                 cb_op_name(query->op), words);
    }
}

/* The one model that every rank computes on, or NULL. */
static const char *common_gpu(const struct cb_result *result)
{
    const char *name = NULL;
    int ranks = 0;
    for (size_t i = 0; i < result->gpus.count; i++) {
        const struct cb_gpu *gpu = &result->gpus.items[i];
        if (gpu->rank < 0)
            continue;
        if (name && strcmp(name, gpu->name) != 0)
            return NULL;
        name = gpu->name;
        ranks++;
    }
    return ranks > 0 && ranks == result->rank_count ? name : NULL;
}

/* What NCCL says it talks over between nodes; empty when it does not. */
static const char *network_name(const struct cb_result *result)
{
    for (size_t i = 0; i < result->transport_used.count; i++)
        if (strcmp(result->transport_used.items[i].kind, "network") == 0)
            return result->transport_used.items[i].name;
    return "";
}

static int family_of_kind(const char *kind)
{
    static const struct {
        const char *kind;
        enum cb_link_family family;
    } rows[] = {{"InfiniBand", CB_LINK_INFINIBAND}, {"RoCE", CB_LINK_ROCE}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(rows[i].kind, kind) == 0)
            return (int)rows[i].family;
    return -1;
}

/* The RDMA ports of every node that are up, when they are all of one kind: NCCL uses them all. */
static void look_at_ports(const struct cb_result *result, struct cb_busbw_query *query)
{
    double least = INFINITY;
    int family = -1;
    for (size_t i = 0; i < result->nodes.count; i++) {
        const struct cb_topo_host *host = &result->nodes.items[i];
        double rate = 0;
        for (int j = 0; j < host->nic_count && j < CB_TOPO_NICS; j++) {
            int own = family_of_kind(host->nics[j].kind);
            if (own < 0 || !host->nics[j].up)
                continue;
            if ((family >= 0 && own != family) || !(host->nics[j].nominal_bytes_per_s > 0))
                return;
            family = own;
            rate += host->nics[j].nominal_bytes_per_s;
        }
        least = fmin(least, rate);
    }
    query->link = family;
    if (isfinite(least))
        query->node_bytes_per_s = least;
}

static const char *forced_algorithm(const struct cb_result *result)
{
    for (size_t i = 0; i < result->environment.count; i++) {
        const struct cb_setting *setting = &result->environment.items[i];
        if (strcmp(setting->name, "NCCL_ALGO") == 0)
            return setting->value;
        if (strcmp(setting->name, "NCCL_NVLS_ENABLE") == 0 && strcmp(setting->value, "0") == 0)
            return "ring";
    }
    return NULL;
}

void cb_published_check_result(const struct cb_result *result, struct cb_check *check)
{
    const struct cb_collective_row *row =
        cb_result_largest(result, CB_OP_ALL_REDUCE, CB_SCOPE_WORLD);
    struct cb_busbw_query query = {.gpu = common_gpu(result),
                                   .gpus = result->rank_count,
                                   .nodes = (int)result->nodes.count,
                                   .link = -1,
                                   .algorithm = forced_algorithm(result),
                                   .op = CB_OP_ALL_REDUCE};
    bool over_nccl = strcmp(result->transport, "nccl") == 0 && !result->simulated;
    const char *note = !row                ? "no all_reduce over all ranks was measured"
                       : result->simulated ? "the transport is simulated"
                       : !over_nccl        ? "all_reduce did not run on the GPUs"
                       : !query.gpu        ? "the ranks do not all compute on GPUs of one model"
                                           : NULL;
    if (row)
        query.size_bytes = (double)row->size_bytes;
    if (query.nodes > 1 && strcasecmp(network_name(result), "IB") == 0)
        look_at_ports(result, &query);
    else if (query.nodes > 1 && strcasecmp(network_name(result), "Socket") == 0)
        query.link = CB_LINK_ETHERNET;
    check_published(&query, note ? 0 : row->bus_bytes_per_s, note, check);
}

bool cb_published_check_import(const struct cb_import *import, struct cb_check *check)
{
    int op = cb_op_parse(import->op);
    if (!cb_import_is_usable(import->state) || op < 0 || !import->gpu[0] || import->ranks < 2 ||
        import->nodes < 1)
        return false;
    const struct cb_busbw_query query = {
        .gpu = import->gpu,
        .gpus = import->ranks,
        .nodes = import->nodes,
        .link = -1,
        .op = (enum cb_op)op,
        .size_bytes = (double)import->best_bytes,
    };
    check_published(&query, fmax(import->best_bus_bytes_per_s, import->best_in_place_bytes_per_s),
                    "there is no bus bandwidth", check);
    return true;
}

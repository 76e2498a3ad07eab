#include "judge/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/links.h"

/* ---- findings ---- */

static bool is_of_map(const struct cb_result *result, int node, size_t map)
{
    return node >= 0 && (size_t)node < result->nodes.count &&
           result->nodes.items[node].map == (int)map + 1;
}

/* The best state of its card's PCIe link that a working rank saw: 0 when none looked. */
static int best_generation(const struct cb_result *result, int rank)
{
    int best = 0;
    for (size_t i = 0; i < result->burns.count; i++) {
        const struct cb_burn_row *burn = &result->burns.items[i];
        if (burn->rank == rank && burn->pcie_generation > best)
            best = burn->pcie_generation;
    }
    for (size_t i = 0; i < result->kernels.count; i++) {
        const struct cb_kernel_row *kernel = &result->kernels.items[i];
        if (kernel->rank == rank && kernel->pcie_generation > best)
            best = kernel->pcie_generation;
    }
    return best;
}

/* What was seen under load, card by card; the worst of those on the nodes of a map counts. */
static void add_loads(const struct cb_result *result, size_t map, struct cb_facts *facts)
{
    for (size_t i = 0; i < result->gpus.count; i++) {
        const struct cb_gpu *gpu = &result->gpus.items[i];
        if (!is_of_map(result, gpu->node, map) || gpu->rank < 0 || gpu->index < 0 ||
            gpu->index >= facts->gpu_count)
            continue;
        struct cb_facts_pcie *pcie = &facts->gpus[gpu->index].pcie;
        int best = best_generation(result, gpu->rank);
        if (best == 0)
            continue;
        if (!pcie->loaded || best < pcie->generation)
            pcie->generation = best;
        pcie->loaded = true;
    }
}

/* Ranks of the nodes of a map; returns how many. */
static size_t collect_ranks(const struct cb_result *result, size_t map,
                            struct cb_findings_rank *ranks)
{
    static const int nearness[] = {
        [CB_LOCALITY_UNKNOWN] = -1, [CB_LOCALITY_NEAR] = 1, [CB_LOCALITY_AWAY] = 0};
    size_t count = 0;
    for (size_t i = 0; i < result->ranks.count; i++) {
        const struct cb_rank *rank = &result->ranks.items[i];
        if (!is_of_map(result, rank->node, map))
            continue;
        ranks[count] = (struct cb_findings_rank){.rank = rank->rank};
        ranks[count].near = nearness[rank->locality];
        snprintf(ranks[count].device, sizeof(ranks[count].device), "%s", rank->device);
        count++;
    }
    return count;
}

int cb_topology_findings(const struct cb_result *result, const struct cb_offered_network *offered,
                         cb_node_finding_list *out, struct cb_error *err)
{
    struct cb_finding found[CB_FINDINGS_MAX];
    struct cb_findings_rank *ranks = calloc(result->ranks.count + 1, sizeof(*ranks));
    struct cb_facts *facts = malloc(sizeof(*facts));
    int rc = ranks && facts ? CB_OK : CB_E_MEMORY;
    for (size_t map = 0; map < result->maps.count && !rc; map++) {
        struct cb_findings_context context = {
            .offered_kind = offered->kind, .node_count = (int)result->nodes.count, .ranks = ranks};
        context.rank_count = collect_ranks(result, map, ranks);
        *facts = result->maps.items[map];
        add_loads(result, map, facts);
        size_t count = cb_findings_find(facts, &context, found);
        for (size_t i = 0; i < count && !rc; i++) {
            struct cb_node_finding *row = cb_vec_add(out);
            if (!row)
                rc = CB_E_MEMORY;
            else
                *row = (struct cb_node_finding){.map = (int)map, .finding = found[i]};
        }
    }
    free(ranks);
    free(facts);
    return rc ? cb_fail(err, rc, "no memory for the findings") : CB_OK;
}

/* ---- the links that scopes cross ---- */

/* What a node has to offer to a scope's traffic. */
struct link {
    double bytes_per_s; /* nominal, one way; 0 unknown */
    char name[CB_NAME];
    char note[160];
};

static bool is_nccl(const struct cb_result *result)
{
    return strcmp(result->transport, "nccl") == 0;
}

static const char *find_used(const struct cb_result *result, const char *kind)
{
    for (size_t i = 0; i < result->transport_used.count; i++)
        if (strcmp(result->transport_used.items[i].kind, kind) == 0)
            return result->transport_used.items[i].name;
    return "";
}

static bool is_rdma_port(const struct cb_facts_nic *nic)
{
    return strchr(nic->port.name, ':') != NULL && nic->port.up;
}

static struct link describe_nic(const struct cb_facts_nic *nic, const char *note)
{
    struct link link = {.bytes_per_s = nic->port.nominal_bytes_per_s};
    snprintf(link.name, sizeof(link.name), "%s %s", nic->port.kind, nic->port.name);
    if (link.bytes_per_s > 0)
        snprintf(link.note, sizeof(link.note), "%s; the port's own rate", note);
    else if (nic->port.stated_bytes_per_s > 0)
        snprintf(link.note, sizeof(link.note), "%s; driver %s makes its rate up", note,
                 nic->port.driver);
    else
        snprintf(link.note, sizeof(link.note), "%s; it states no rate", note);
    return link;
}

/* The RDMA ports that are up: one of them where one rank a node sends, all where all ranks do. */
static struct link rdma_link(const struct cb_facts *facts, bool all_ranks)
{
    struct link link = {.bytes_per_s = 0};
    int ports = 0;
    for (int i = 0; i < facts->nic_count; i++) {
        const struct cb_facts_nic *nic = &facts->nics[i];
        if (!is_rdma_port(nic))
            continue;
        if (ports++ == 0)
            link = describe_nic(nic, "NCCL's network takes RDMA");
        else if (all_ranks)
            link.bytes_per_s += nic->port.nominal_bytes_per_s;
    }
    if (ports > 1 && all_ranks) {
        char first[40];
        snprintf(first, sizeof(first), "%.39s", link.name);
        snprintf(link.name, sizeof(link.name), "%s and %d more", first, ports - 1);
    }
    return link;
}

static struct link route_link(const struct cb_facts *facts)
{
    struct link link = {.note = "the interface between the nodes is not known"};
    for (int i = 0; i < facts->nic_count; i++)
        if (facts->nics[i].port.used)
            return describe_nic(&facts->nics[i], "the job's route leaves through it");
    return link;
}

static struct link network_link(const struct cb_result *result, const struct cb_facts *facts,
                                bool all_ranks)
{
    const char *network = find_used(result, "network");
    bool socket = strcmp(network, "Socket") == 0;
    struct link link = {.bytes_per_s = 0};
    if (is_nccl(result) && network[0] && !socket)
        link = rdma_link(facts, all_ranks);
    return link.name[0] ? link : route_link(facts);
}

/* NVLinks of the poorest GPU: in a ring each GPU sends over all of its own. */
static struct link gpu_link(const struct cb_facts *facts)
{
    struct link link = {.note = "how the GPUs are joined is not known"};
    const struct cb_facts_gpu *poorest = NULL;
    for (int i = 0; i < facts->gpu_count; i++)
        if (!poorest || facts->gpus[i].nvlinks < poorest->nvlinks)
            poorest = &facts->gpus[i];
    if (!poorest)
        return link;
    if (poorest->nvlinks > 0) {
        double each = poorest->nvlink_bytes_per_s > 0
                          ? poorest->nvlink_bytes_per_s
                          : cb_link_nvlink_bytes_per_s(poorest->nvlink_version / 10, 1);
        link.bytes_per_s = each > 0 ? poorest->nvlinks * each : 0;
        snprintf(link.name, sizeof(link.name), "NVLink x%d%s", poorest->nvlinks,
                 poorest->nvlink_switch > 0 ? " through NVSwitch" : "");
        snprintf(link.note, sizeof(link.note), "%s",
                 poorest->nvlink_bytes_per_s > 0 ? "as the driver states them"
                                                 : "by the data sheet of their generation");
    } else if (poorest->nvlinks == 0) {
        double rate =
            cb_link_pcie_bytes_per_s(poorest->pcie.generation_limit, poorest->pcie.width_limit);
        link.bytes_per_s = rate > 0 ? rate : 0;
        snprintf(link.name, sizeof(link.name), "PCIe %d x%d", poorest->pcie.generation_limit,
                 poorest->pcie.width_limit);
        snprintf(link.note, sizeof(link.note), "what slot and card can do");
    }
    return link;
}

static struct link host_link(void)
{
    return (struct link){.note = "through the node's memory: no link with a nominal rate"};
}

/* The link of the slowest of the nodes; one that is unknown makes the answer unknown. */
static struct link find_link(const struct cb_result *result, const struct cb_collective_row *row,
                             const struct cb_offered_network *offered)
{
    bool crosses = row->scope != CB_SCOPE_INTRA_NODE && result->nodes.count > 1;
    bool all_ranks = row->scope == CB_SCOPE_WORLD && result->ranks.count > result->nodes.count;
    struct link slowest = {.note = "no node has a map"};
    for (size_t i = 0; i < result->maps.count; i++) {
        const struct cb_facts *facts = &result->maps.items[i];
        struct link link = crosses           ? network_link(result, facts, all_ranks)
                           : is_nccl(result) ? gpu_link(facts)
                                             : host_link();
        if (i == 0 || link.bytes_per_s < slowest.bytes_per_s)
            slowest = link;
    }
    if (crosses && offered->nominal_bytes_per_s > 0) {
        slowest.bytes_per_s = offered->nominal_bytes_per_s;
        snprintf(slowest.note, sizeof(slowest.note), "as it was advertised");
    }
    return slowest;
}

static double wire_share(const struct cb_result *result, const struct cb_collective_row *row)
{
    int nodes = row->scope == CB_SCOPE_INTRA_NODE ? 1 : (int)result->nodes.count;
    return cb_op_least_wire_share(row->op, row->ranks, nodes);
}

int cb_topology_crossings(const struct cb_result *result, const struct cb_offered_network *offered,
                          cb_crossing_list *out, struct cb_error *err)
{
    for (int scope = 0; scope < CB_SCOPE_COUNT && result->maps.count > 0; scope++) {
        const struct cb_collective_row *row =
            cb_result_largest(result, CB_OP_ALL_REDUCE, (enum cb_scope)scope);
        if (!row)
            row = cb_result_largest(result, CB_OP_ALL_GATHER, (enum cb_scope)scope);
        if (!row || !(row->bus_bytes_per_s > 0))
            continue;
        struct cb_crossing *crossing = cb_vec_add(out);
        if (!crossing)
            return cb_fail(err, CB_E_MEMORY, "no memory for the links");
        const struct link link = find_link(result, row, offered);
        crossing->scope = row->scope;
        crossing->op = row->op;
        crossing->size_bytes = row->size_bytes;
        crossing->measured_bytes_per_s = row->bus_bytes_per_s;
        crossing->least_wire_bytes_per_s = row->bus_bytes_per_s * wire_share(result, row);
        crossing->nominal_bytes_per_s = link.bytes_per_s;
        snprintf(crossing->link, sizeof(crossing->link), "%s", link.name);
        snprintf(crossing->note, sizeof(crossing->note), "%s", link.note);
    }
    return CB_OK;
}

#include "judge/network.h"

#include <stdlib.h>
#include <string.h>

#include "judge/estimate.h"
#include "judge/topology.h"

static int fit_curve(struct cb_network_curve *curve, struct cb_error *err)
{
    size_t count = curve->curve.rows.count, kept = 0;
    struct cb_fit_point *points = calloc(count + 1, sizeof(*points));
    if (!points)
        return cb_fail(err, CB_E_MEMORY, "no memory to fit %zu rows", count);
    double factor = cb_op_bus_factor(curve->curve.rows.items[0]->op, curve->group.ranks);
    for (size_t i = 0; i < count; i++) {
        const struct cb_collective_row *row = curve->curve.rows.items[i];
        double size_bytes = (double)row->size_bytes;
        /* A size that is there twice counts once. */
        if (kept > 0 && points[kept - 1].size_bytes >= size_bytes)
            continue;
        points[kept++] =
            (struct cb_fit_point){size_bytes, factor * size_bytes / row->bus_bytes_per_s};
    }
    int rc = cb_fit_curve(points, kept, curve->regimes, &curve->regime_count, err);
    free(points);
    return rc;
}

static int collect_curve(struct cb_network_run *run, const struct cb_result *result, enum cb_op op,
                         enum cb_scope scope, struct cb_error *err)
{
    struct cb_network_curve *curve = &run->curves[op][scope];
    int rc = cb_curve_init(&curve->curve, result, op, scope, err);
    if (rc || curve->curve.rows.count == 0)
        return rc;
    int ranks = curve->curve.rows.items[0]->ranks;
    if (ranks < 2) {
        cb_curve_fini(&curve->curve);
        return 0;
    }
    curve->group = (struct cb_group_shape){
        .ranks = ranks,
        .nodes = scope == CB_SCOPE_WORLD        ? run->nodes
                 : scope == CB_SCOPE_INTRA_NODE ? 1
                                                : ranks,
    };
    return fit_curve(curve, err);
}

static double answer_time_s(const void *context, enum cb_op op, double size_bytes,
                            const struct cb_group_shape *group, enum cb_pace pace,
                            enum cb_provenance *source)
{
    struct cb_network_estimate estimate =
        cb_measured_network_estimate(context, op, size_bytes, group, pace);
    if (source)
        *source = estimate.source;
    return estimate.time_s;
}

static void free_run(struct cb_network_run *run)
{
    for (int op = 0; op < CB_OP_COUNT; op++)
        for (int scope = 0; scope < CB_SCOPE_COUNT; scope++)
            cb_curve_fini(&run->curves[op][scope].curve);
}

/* All interfaces of a node that the job uses: its RDMA ports, whose network interfaces are not
 * counted again, else the interfaces; 0 when the rate of one is not known. */
static double used_bytes_per_s(const struct cb_topo_host *host)
{
    double ports_bytes_per_s = 0, others_bytes_per_s = 0;
    bool has_ports = false;
    for (int i = 0; i < host->nic_count && i < CB_TOPO_NICS; i++) {
        const struct cb_topo_nic *nic = &host->nics[i];
        bool is_port = strchr(nic->name, ':') != NULL;
        if (!nic->used)
            continue;
        if (!(nic->nominal_bytes_per_s > 0))
            return 0;
        has_ports = has_ports || is_port;
        *(is_port ? &ports_bytes_per_s : &others_bytes_per_s) += nic->nominal_bytes_per_s;
    }
    return has_ports ? ports_bytes_per_s : others_bytes_per_s;
}

/* What the world's traffic crosses between the nodes, as their maps have it, else the interfaces of
 * the slowest node. */
static int find_link(struct cb_network_run *run, const struct cb_result *result,
                     struct cb_error *err)
{
    static const struct cb_offered_network nothing_offered = {0};
    cb_crossing_list crossings = {0};
    int rc = cb_topology_crossings(result, &nothing_offered, &crossings, err);
    for (size_t i = 0; i < crossings.count && run->nodes > 1; i++)
        if (crossings.items[i].scope == CB_SCOPE_WORLD)
            run->link_bytes_per_s = crossings.items[i].nominal_bytes_per_s;
    for (size_t i = 0; i < result->nodes.count && run->nodes > 1 && crossings.count == 0; i++) {
        double bytes_per_s = used_bytes_per_s(&result->nodes.items[i]);
        if (i == 0 || bytes_per_s < run->link_bytes_per_s)
            run->link_bytes_per_s = bytes_per_s;
    }
    cb_vec_fini(&crossings);
    return rc;
}

static int collect_run(struct cb_network_run *run, const struct cb_result *result,
                       struct cb_error *err)
{
    int nodes = cb_result_node_count(result), per_node = cb_result_ranks_per_node(result);
    int rc = 0;
    *run = (struct cb_network_run){.nodes = nodes, .gpus_per_node = per_node > 0 ? per_node : 1};
    for (int op = 0; op < CB_OP_COUNT && rc == 0; op++)
        for (int scope = 0; scope < CB_SCOPE_COUNT && rc == 0; scope++)
            rc = collect_curve(run, result, (enum cb_op)op, (enum cb_scope)scope, err);
    if (rc == 0)
        rc = find_link(run, result, err);
    if (rc)
        free_run(run);
    return rc;
}

/* What the curves of two runs must share to be those of one network. */
static bool has_trees(const struct cb_result *result)
{
    return strcmp(result->transport, "mpi") != 0;
}

int cb_measured_network_init(struct cb_measured_network *network, const struct cb_result *result,
                             struct cb_error *err)
{
    *network = (struct cb_measured_network){.has_trees = has_trees(result)};
    int rc = collect_run(&network->runs[0], result, err);
    if (rc)
        return rc;
    network->run_count = 1;
    network->network = (struct cb_network){.context = network,
                                           .gpus_per_node = network->runs[0].gpus_per_node,
                                           .nodes = network->runs[0].nodes,
                                           .time_s = answer_time_s};
    return 0;
}

int cb_measured_network_add(struct cb_measured_network *network, const struct cb_result *result,
                            struct cb_error *err)
{
    if (network->run_count == CB_NETWORK_MAX_RUNS)
        return cb_fail(err, CB_E_INPUT, "more than %d results", CB_NETWORK_MAX_RUNS);
    struct cb_network_run *run = &network->runs[network->run_count];
    int rc = collect_run(run, result, err);
    if (rc)
        return rc;
    const char *plural = run->nodes == 1 ? "" : "s";
    if (network->has_trees != has_trees(result))
        rc = cb_fail(err, CB_E_INPUT, "the result of %d node%s is over another transport",
                     run->nodes, plural);
    else if (run->gpus_per_node != network->runs[0].gpus_per_node)
        rc = cb_fail(err, CB_E_INPUT, "the result of %d node%s has %d ranks a node, not %d",
                     run->nodes, plural, run->gpus_per_node, network->runs[0].gpus_per_node);
    for (size_t i = 0; i < network->run_count && rc == 0; i++)
        if (network->runs[i].nodes == run->nodes)
            rc = cb_fail(err, CB_E_INPUT, "two results are of %d node%s", run->nodes, plural);
    if (rc)
        free_run(run);
    else
        network->run_count++;
    return rc;
}

void cb_measured_network_fini(struct cb_measured_network *network)
{
    for (size_t i = 0; i < network->run_count; i++)
        free_run(&network->runs[i]);
    memset(network, 0, sizeof(*network));
}

bool cb_measured_network_has_rows(const struct cb_measured_network *network)
{
    for (size_t i = 0; i < network->run_count; i++)
        for (int op = 0; op < CB_OP_COUNT; op++)
            for (int scope = 0; scope < CB_SCOPE_COUNT; scope++)
                if (network->runs[i].curves[op][scope].curve.rows.count > 0)
                    return true;
    return false;
}

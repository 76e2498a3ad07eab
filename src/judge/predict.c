#include "judge/predict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "judge/estimate.h"
#include "judge/job.h"
#include "judge/machine.h"
#include "reference/workloads.h"

/* What every row shares. */
struct evidence {
    const struct cb_result *const *results;
    const struct cb_workload *workload;
    double parameters;
    int gpus_per_node, measured_gpus_per_node;
    int most_nodes; /* that were measured */
    struct cb_gemm_rate gemm;
    struct cb_measured_network network;
};

/* ---- what is asked ---- */

static int check_gpus(int gpus, int gpus_per_node, struct cb_error *err)
{
    if (gpus < 1 || gpus > CB_PREDICT_MAX_GPUS)
        return cb_fail(err, CB_E_USAGE, "%d GPUs cannot be predicted for: 1 to %d can", gpus,
                       CB_PREDICT_MAX_GPUS);
    if (gpus > gpus_per_node && gpus % gpus_per_node != 0) {
        int down = gpus / gpus_per_node * gpus_per_node;
        cb_fail(err, CB_E_USAGE, "%d GPUs are no whole nodes of %d", gpus, gpus_per_node);
        cb_error_set_hint(err, "%d or %d would be; or state --gpus-per-node", down,
                          down + gpus_per_node);
        return CB_E_USAGE;
    }
    return 0;
}

static int check_request(const struct cb_predict_request *request, int gpus_per_node,
                         struct cb_error *err)
{
    if (gpus_per_node < 1 || gpus_per_node > CB_PREDICT_MAX_GPUS)
        return cb_fail(err, CB_E_USAGE, "%d GPUs per node cannot be", gpus_per_node);
    for (size_t i = 0; i < request->count; i++) {
        int rc = check_gpus(request->gpus[i], gpus_per_node, err);
        if (rc)
            return rc;
    }
    return 0;
}

/* A step's time that includes communication says nothing of another number of GPUs. */
static int check_time(const struct evidence *evidence, struct cb_error *err)
{
    enum cb_span span = evidence->workload->span;
    if (span == CB_SPAN_STEP || span == CB_SPAN_TOTAL) {
        cb_fail(err, CB_E_USAGE, "--%s-time includes communication, which changes with the GPUs",
                cb_span_name(span));
        cb_error_set_hint(err, "state --compute-time, the time of a step without it, or --tokens");
        return CB_E_USAGE;
    }
    if (span != CB_SPAN_COMPUTE && !(evidence->gemm.flops_per_s > 0)) {
        cb_fail(err, CB_E_USAGE, "the result holds no GEMM rate to take a compute time from");
        cb_error_set_hint(err, "state --compute-time, or measure without --no-kernels");
        return CB_E_USAGE;
    }
    return 0;
}

static int collect_runs(const struct cb_result *const *results, size_t count,
                        struct evidence *evidence, struct cb_error *err)
{
    struct cb_measured_network *network = &evidence->network;
    int rc = cb_measured_network_init(network, results[0], err);
    for (size_t i = 1; i < count && rc == 0; i++)
        rc = cb_measured_network_add(network, results[i], err);
    if (rc == 0 && !cb_measured_network_has_rows(network)) {
        rc = cb_fail(err, CB_E_INPUT, "the result holds no collective over two ranks or more");
        cb_error_set_hint(err, "there is nothing to predict from: measure with two ranks or more");
    }
    for (size_t i = 0; i < network->run_count; i++)
        if (network->runs[i].nodes > evidence->most_nodes)
            evidence->most_nodes = network->runs[i].nodes;
    evidence->measured_gpus_per_node = network->runs[0].gpus_per_node;
    return rc;
}

/* evidence is empty; its network is to be freed whatever is returned. */
static int collect(const struct cb_result *const *results, size_t count,
                   const struct cb_workload *workload, const struct cb_predict_request *request,
                   struct evidence *evidence, struct cb_error *err)
{
    int rc = collect_runs(results, count, evidence, err);
    if (rc == 0)
        rc = cb_gemm_rate_find(results[0], &evidence->gemm, err);
    if (rc)
        return rc;
    evidence->results = results;
    evidence->workload = workload;
    for (size_t i = 0; i < count && workload->nominal_bytes_per_s > 0; i++)
        evidence->network.runs[i].link_bytes_per_s = workload->nominal_bytes_per_s;
    evidence->parameters =
        workload->job.parameters > 0 ? workload->job.parameters : cb_workload_default()->parameters;
    evidence->gpus_per_node =
        request->gpus_per_node != 0 ? request->gpus_per_node : evidence->measured_gpus_per_node;
    evidence->network.fabric = request->fabric;
    if (evidence->network.fabric.pod_nodes == 0)
        evidence->network.fabric.pod_nodes = evidence->most_nodes;
    return 0;
}

/* ---- one row ---- */

static double gradient_bytes(const struct cb_job *job)
{
    return job->trainable_parameters * job->gradient_bytes;
}

static void fill_all_reduce(const struct evidence *evidence, double size_bytes,
                            const struct cb_group_shape *group, struct cb_forecast_row *row)
{
    double times_s[CB_PACE_COUNT];
    for (int pace = 0; pace < CB_PACE_COUNT; pace++) {
        struct cb_network_estimate estimate = cb_measured_network_estimate(
            &evidence->network, CB_OP_ALL_REDUCE, size_bytes, group, (enum cb_pace)pace);
        times_s[pace] = fmax(estimate.time_s, 0);
        if (pace != CB_PACE_MEDIAN || !(estimate.time_s > 0))
            continue;
        row->bus_bytes_per_s =
            cb_op_bus_factor(CB_OP_ALL_REDUCE, group->ranks) * size_bytes / estimate.time_s;
        row->all_reduce_source = estimate.source;
        row->all_reduce_confidence = estimate.confidence;
    }
    row->all_reduce_s = times_s[CB_PACE_MEDIAN];
    row->all_reduce_low_s = times_s[CB_PACE_FAST];
    row->all_reduce_high_s = times_s[CB_PACE_SLOW];
}

/* A step is as certain as the least certain of its collectives. */
static enum cb_confidence least_confidence(const struct evidence *evidence,
                                           const struct cb_training *training)
{
    enum cb_confidence least = CB_CONFIDENCE_MEASURED;
    for (size_t i = 0; i < training->traffic_count; i++) {
        const struct cb_traffic *traffic = &training->traffic[i].traffic;
        struct cb_network_estimate estimate = cb_measured_network_estimate(
            &evidence->network, traffic->op, traffic->size_bytes, &traffic->group, CB_PACE_MEDIAN);
        if (estimate.confidence > least)
            least = estimate.confidence;
    }
    return least;
}

static void fill_step(const struct evidence *evidence, const struct cb_training *training,
                      struct cb_forecast_row *row)
{
    row->compute_s = training->compute_s;
    row->communication_s = training->communication_s[CB_PACE_MEDIAN];
    row->step_s = training->expected.step_s;
    row->serial_share = training->serial_share;
    row->exposed_share = training->expected.share;
    row->exposed_share_low = training->share_low;
    row->exposed_share_high = training->share_high;
    row->tokens_per_s = cb_job_step_tokens(&training->job) / training->expected.step_s;
    row->verdict = training->verdict;
    row->bound = training->bound;
    row->source = training->network_source;
    row->confidence = least_confidence(evidence, training);
}

/* A number of GPUs that cannot be told, or that the job does not fit on, is a row that says so. */
static int predict_row(const struct evidence *evidence, int gpus, struct cb_forecast *forecast,
                       struct cb_forecast_row *row, struct cb_error *err)
{
    struct cb_network network = evidence->network.network;
    struct cb_judged_job judged;
    struct cb_machine machine;
    struct cb_training training;
    network.nodes = gpus > evidence->gpus_per_node ? gpus / evidence->gpus_per_node : 1;
    network.gpus_per_node = gpus / network.nodes;
    *row = (struct cb_forecast_row){.gpus = gpus, .nodes = network.nodes};
    cb_machine_of_result(evidence->results[0], evidence->workload, &evidence->gemm, &network,
                         &machine);
    int rc = cb_judged_job_make(evidence->workload, evidence->parameters, network.nodes,
                                network.gpus_per_node, &judged, err);
    if (rc == 0)
        rc = cb_training_weigh(&judged.stated, &machine, &training, err);
    if (rc == CB_E_MEASURE && evidence->most_nodes == 1 && network.nodes > 1) {
        cb_fail(err, CB_E_MEASURE, "nothing was measured between nodes");
        cb_error_set_hint(err, "measure on two nodes or more");
    }
    if (rc) {
        snprintf(row->reason, sizeof(row->reason), "%s", err->what);
        return rc;
    }
    const struct cb_group_shape everybody = {gpus, network.nodes};
    fill_all_reduce(evidence, gradient_bytes(&training.job), &everybody, row);
    fill_step(evidence, &training, row);
    forecast->threshold = training.threshold;
    forecast->compute_source = training.compute_source;
    return 0;
}

/* ---- what is said of all rows ---- */

static int by_nodes(const void *a, const void *b)
{
    const struct cb_forecast_run *left = a, *right = b;
    return (left->nodes > right->nodes) - (left->nodes < right->nodes);
}

static int describe_runs(const struct evidence *evidence, const struct cb_predict_request *request,
                         struct cb_forecast *forecast, struct cb_error *err)
{
    for (size_t i = 0; i < evidence->network.run_count; i++) {
        const struct cb_result *result = evidence->results[i];
        const struct cb_collective_row *largest =
            cb_result_largest(result, CB_OP_ALL_REDUCE, CB_SCOPE_WORLD);
        struct cb_forecast_run *run = cb_vec_add(&forecast->runs);
        if (!run)
            return cb_fail(err, CB_E_MEMORY, "no memory for the prediction");
        *run = (struct cb_forecast_run){
            .nodes = evidence->network.runs[i].nodes,
            .gpus_per_node = evidence->network.runs[i].gpus_per_node,
            .simulated = result->simulated,
            .largest_bytes = largest ? (double)largest->size_bytes : 0,
        };
        snprintf(run->transport, sizeof(run->transport), "%s", result->transport);
        snprintf(run->started_at, sizeof(run->started_at), "%s", result->started_at);
    }
    qsort(forecast->runs.items, forecast->runs.count, sizeof(forecast->runs.items[0]), by_nodes);
    snprintf(forecast->tool_version, sizeof(forecast->tool_version), "%s",
             evidence->results[0]->tool_version);
    forecast->gpus_per_node = evidence->gpus_per_node;
    forecast->oversubscription = request->fabric.oversubscription;
    forecast->pod_nodes = request->fabric.pod_nodes;
    forecast->parameters = evidence->parameters;
    return 0;
}

/* What only the memory fit needs, which a prediction does not show. */
static bool is_of_memory(const struct cb_assumption *assumption)
{
    return strcmp(assumption->name, "vocabulary") == 0 ||
           strcmp(assumption->name, "optimizer_bytes") == 0;
}

/* Of the first row that the job can be spread over. */
static int describe_job(const struct evidence *evidence, int gpus, struct cb_forecast *forecast,
                        struct cb_error *err)
{
    int nodes = gpus > evidence->gpus_per_node ? gpus / evidence->gpus_per_node : 1;
    struct cb_judged_job judged;
    char count[CB_UNIT_TEXT];
    int rc = cb_judged_job_make(evidence->workload, evidence->parameters, nodes, gpus / nodes,
                                &judged, err);
    if (rc)
        return rc;
    const struct cb_job *job = &judged.job;
    if (job->name[0])
        snprintf(forecast->job, sizeof(forecast->job), "%s", job->name);
    else if (!(evidence->workload->job.parameters > 0))
        snprintf(forecast->job, sizeof(forecast->job), "%s", cb_workload_default()->name);
    else
        snprintf(forecast->job, sizeof(forecast->job), "%s parameters",
                 cb_format_count(count, job->parameters));
    snprintf(forecast->scheme, sizeof(forecast->scheme), "%s", cb_scheme_title(job->scheme));
    forecast->gradient_bytes = gradient_bytes(job);
    if (!(job->batch_tokens > 0))
        forecast->tokens_per_gpu = cb_job_rank_tokens(job);
    for (size_t i = 0; i < judged.assumed.count; i++) {
        const struct cb_assumption *item = &judged.assumed.items[i];
        if (is_of_memory(item))
            continue;
        rc = cb_forecast_assume(forecast, item->name, item->value, item->source, "%s", item->text);
        if (rc)
            return cb_fail(err, CB_E_MEMORY, "no memory for the assumptions");
    }
    return 0;
}

/* The run that larger ones are predicted from. */
static const struct cb_network_run *largest_run(const struct evidence *evidence)
{
    const struct cb_network_run *largest = &evidence->network.runs[0];
    for (size_t i = 1; i < evidence->network.run_count; i++)
        if (evidence->network.runs[i].nodes > largest->nodes)
            largest = &evidence->network.runs[i];
    return largest;
}

/* How a law's shape is known; cb_scaling_fit wants three different numbers of nodes. */
static int assume_latency(const struct evidence *evidence, struct cb_forecast *forecast)
{
    size_t runs = evidence->network.run_count;
    if (runs >= 3)
        return cb_forecast_assume(forecast, "latency", (double)runs, CB_FROM_EXTRAPOLATED,
                                  "latency goes on as over the %zu numbers of nodes measured, "
                                  "all_reduce's by log2(nodes), a gather's by ranks - 1",
                                  runs);
    return cb_forecast_assume(forecast, "latency", (double)runs, CB_FROM_REFERENCE,
                              "%s measured: latency grows as published, all_reduce's as 53 + 80 x "
                              "log2(nodes), a gather's as ranks - 1",
                              runs == 1 ? "one number of nodes was" : "two numbers of nodes were");
}

/* What rows over other numbers of nodes take for granted. */
static int assume_growth(const struct evidence *evidence, struct cb_forecast *forecast)
{
    const struct cb_network_run *run = largest_run(evidence);
    bool tree_was_seen = evidence->network.has_trees && run->gpus_per_node > 1 &&
                         cb_scaling_tree_gain(run->nodes) > 1;
    bool ring_was_seen = run->curves[CB_OP_ALL_GATHER][CB_SCOPE_WORLD].curve.rows.count > 0 ||
                         run->curves[CB_OP_REDUCE_SCATTER][CB_SCOPE_WORLD].curve.rows.count > 0;
    const char *text =
        "half of what a tree of so few nodes may gain is lost over more; all of it at "
        "the slow pace, nothing at the fast one";
    if (ring_was_seen)
        text = "all_reduce over more nodes is no faster than gathers were: what a tree of so few "
               "nodes gains is lost";
    else if (run->link_bytes_per_s > 0)
        text = "all_reduce over more nodes is no faster than a node's links: what a tree of so few "
               "nodes gains is lost";
    int rc = assume_latency(evidence, forecast);
    if (rc == 0)
        rc = cb_forecast_assume(forecast, "fabric", 0, CB_FROM_REFERENCE,
                                "the fabric goes on as it began, less 6 %% at 128 times the nodes");
    if (rc || !tree_was_seen)
        return rc;
    return cb_forecast_assume(forecast, "tree", cb_scaling_tree_gain(run->nodes), CB_FROM_REFERENCE,
                              "%s", text);
}

static bool was_measured(const struct evidence *evidence, int nodes)
{
    for (size_t i = 0; i < evidence->network.run_count; i++)
        if (evidence->network.runs[i].nodes == nodes)
            return true;
    return false;
}

/* What the rows take for granted of the network and the machine. */
static int assume_network(const struct evidence *evidence, struct cb_forecast *forecast)
{
    const struct cb_fabric *fabric = &evidence->network.fabric;
    bool grows = false, crosses = false;
    for (size_t i = 0; i < forecast->rows.count; i++) {
        const struct cb_forecast_row *row = &forecast->rows.items[i];
        bool is_told = !row->reason[0] && row->nodes > 1;
        grows = grows || (is_told && !was_measured(evidence, row->nodes));
        crosses = crosses || (is_told && row->nodes > fabric->pod_nodes);
    }
    int rc = grows ? assume_growth(evidence, forecast) : 0;
    if (rc == 0 && crosses && fabric->oversubscription > 1)
        rc = cb_forecast_assume(
            forecast, "oversubscription", fabric->oversubscription, CB_FROM_GIVEN,
            "%g:1 above %d node%s, met in full; at the fast pace ranks in order avoid it",
            fabric->oversubscription, fabric->pod_nodes, fabric->pod_nodes == 1 ? "" : "s");
    if (rc == 0 && evidence->gpus_per_node != evidence->measured_gpus_per_node)
        rc = cb_forecast_assume(forecast, "gpus_per_node", evidence->gpus_per_node, CB_FROM_GIVEN,
                                "%d GPUs a node share links as fast as those of the measured %d",
                                evidence->gpus_per_node, evidence->measured_gpus_per_node);
    if (rc == 0 && evidence->workload->span != CB_SPAN_COMPUTE)
        rc = cb_forecast_assume(forecast, "flops", CB_TRAINING_SHARE_OF_GEMM, CB_FROM_ASSUMED,
                                "training reaches %g of the GEMM rate", CB_TRAINING_SHARE_OF_GEMM);
    return rc;
}

/* ---- all of it ---- */

/* One row more. The first that cannot be told is kept in case that none can. */
static int add_row(const struct evidence *evidence, int gpus, struct cb_forecast *forecast,
                   bool *told, struct cb_error *why, struct cb_error *err)
{
    struct cb_error here;
    struct cb_forecast_row *row = cb_vec_add(&forecast->rows);
    if (!row)
        return cb_fail(err, CB_E_MEMORY, "no memory for the prediction");
    int rc = predict_row(evidence, gpus, forecast, row, &here);
    if (rc) {
        if (why->code == 0)
            *why = here;
        return 0;
    }
    rc = *told ? 0 : describe_job(evidence, gpus, forecast, err);
    *told = true;
    return rc;
}

static int add_rows(const struct evidence *evidence, const struct cb_predict_request *request,
                    struct cb_forecast *forecast, struct cb_error *err)
{
    static const int growth[] = {1, 4, 16, 64};
    size_t count = request->count > 0 ? request->count : sizeof(growth) / sizeof(growth[0]);
    double measured = (double)evidence->most_nodes * evidence->gpus_per_node;
    struct cb_error why = {0};
    bool told = false;
    for (size_t i = 0; i < count; i++) {
        double gpus = request->count > 0 ? request->gpus[i] : measured * growth[i];
        if (gpus > CB_PREDICT_MAX_GPUS)
            continue;
        int rc = add_row(evidence, (int)gpus, forecast, &told, &why, err);
        if (rc)
            return rc;
    }
    if (told)
        return 0;
    if (why.code == 0)
        return cb_fail(err, CB_E_USAGE, "the result is of %.0f GPUs: state --gpus", measured);
    if (err)
        *err = why;
    return why.code;
}

int cb_predict(const struct cb_result *const *results, size_t count,
               const struct cb_workload *workload, const struct cb_predict_request *request,
               struct cb_forecast *forecast, struct cb_error *err)
{
    struct evidence evidence = {0};
    struct cb_forecast made;
    cb_forecast_init(&made);
    int rc = collect(results, count, workload, request, &evidence, err);
    if (rc == 0)
        rc = check_request(request, evidence.gpus_per_node, err);
    if (rc == 0)
        rc = check_time(&evidence, err);
    if (rc == 0)
        rc = describe_runs(&evidence, request, &made, err);
    if (rc == 0)
        rc = add_rows(&evidence, request, &made, err);
    if (rc == 0 && assume_network(&evidence, &made))
        rc = cb_fail(err, CB_E_MEMORY, "no memory for the assumptions");
    if (rc)
        goto out;
    *forecast = made;
    cb_forecast_init(&made);
out:
    cb_forecast_fini(&made);
    cb_measured_network_fini(&evidence.network);
    return rc;
}

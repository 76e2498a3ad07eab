#include "model/training.h"

#include <limits.h>
#include <math.h>

#include "base/names.h"
#include "model/formula.h"
#include "model/step.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

const double cb_overlaps[CB_OVERLAP_COUNT] = {0, 0.5, 0.9};

static const char *const verdicts[] = {
    [CB_TRAINING_CLEAR] = "clear",
    [CB_TRAINING_BOUND] = "bound",
    [CB_TRAINING_DEPENDS] = "depends",
};
_Static_assert(ARRAY_SIZE(verdicts) == CB_TRAINING_VERDICT_COUNT, "one name per verdict");

const char *cb_training_verdict_name(enum cb_training_verdict verdict)
{
    return verdicts[verdict];
}

/* Where a link shows its bandwidth, whatever the model's size. */
#define LARGE_BYTES 1073741824.0

static int check_machine(const struct cb_machine *machine, struct cb_error *err)
{
    const struct {
        const char *name;
        double value;
    } inputs[] = {
        {"flops_per_s", machine->flops_per_s},
        {"compute_s", machine->compute_s},
        {"memory_bytes", machine->memory_bytes},
        {"price_per_gpu_hour", machine->price_per_gpu_hour},
        {"threshold", machine->threshold},
    };
    for (size_t i = 0; i < ARRAY_SIZE(inputs); i++)
        if (!isfinite(inputs[i].value) || inputs[i].value < 0)
            return cb_fail(err, CB_E_USAGE, "%s must be a positive finite number, not %g",
                           inputs[i].name, inputs[i].value);
    if (machine->threshold >= 1)
        return cb_fail(err, CB_E_USAGE, "threshold must be below 1, not %g", machine->threshold);
    if (machine->flops_per_s == 0 && machine->compute_s == 0)
        return cb_fail(err, CB_E_USAGE, "neither the rate of a GPU nor a compute time is known");
    const struct cb_network *network = machine->network;
    if (network->nodes < 1 || network->gpus_per_node < 1 ||
        network->nodes > INT_MAX / network->gpus_per_node)
        return cb_fail(err, CB_E_USAGE, "%d nodes of %d GPUs cannot be", network->nodes,
                       network->gpus_per_node);
    return 0;
}

/* ---- numbers derived from the step ---- */

static double serial_share(double communication_s, double compute_s)
{
    double total_s = communication_s + compute_s;
    return total_s > 0 ? communication_s / total_s : 0;
}

static void fill_shares(const struct cb_step_model *step, struct cb_training *out)
{
    out->serial_share = serial_share(step->communication_s[CB_PACE_MEDIAN], step->compute_s);
    out->overlap = out->job.overlap;
    out->expected = cb_step_expose(step, out->overlap, CB_PACE_MEDIAN);
    out->share_low = INFINITY;
    out->share_high = 0;
    for (int i = 0; i < CB_OVERLAP_COUNT; i++)
        for (int pace = 0; pace < CB_PACE_COUNT; pace++) {
            out->band[i][pace] = cb_step_expose(step, cb_overlaps[i], (enum cb_pace)pace);
            out->share_low = fmin(out->share_low, out->band[i][pace].share);
            out->share_high = fmax(out->share_high, out->band[i][pace].share);
        }
    out->bound = out->expected.share > out->threshold;
    out->verdict = CB_TRAINING_DEPENDS;
    if (out->share_high <= out->threshold)
        out->verdict = CB_TRAINING_CLEAR;
    else if (out->share_low > out->threshold)
        out->verdict = CB_TRAINING_BOUND;
}

static void fill_headline(const struct cb_network *network, struct cb_training *out)
{
    double gradient_bytes = out->job.parameters * CB_FORMULA_MESSAGE_BYTES_PER_PARAMETER;
    double formula_bytes = out->job.parameters * CB_FORMULA_BYTES_PER_PARAMETER;
    out->headline_bytes_per_s =
        cb_step_bus_bytes_per_s(network, gradient_bytes, &out->headline_source);
    out->large_bytes_per_s =
        cb_step_bus_bytes_per_s(network, fmax(gradient_bytes, LARGE_BYTES), NULL);
    if (out->headline_bytes_per_s > 0)
        out->headline_s = formula_bytes * out->factor.communications / out->headline_bytes_per_s;
    out->headline_share = serial_share(out->headline_s, out->compute_s);
    out->headline_bound = out->headline_share > out->threshold;
    double parameter_s = 0;
    for (size_t i = 0; i < out->traffic_count; i++)
        if (out->traffic[i].traffic.kind <= CB_TRAFFIC_EXPERT_GRADIENTS)
            parameter_s += out->traffic[i].time_s[CB_PACE_MEDIAN];
    if (parameter_s > 0)
        out->effective_bytes_per_s = formula_bytes * out->factor.communications / parameter_s;
}

/* Share = (C + c x tokens) / (C + c x tokens + f x tokens), solved for the tokens: C is what does
 * not grow with them, f their compute. */
static void fill_critical_tokens(struct cb_training *out)
{
    double fixed_s = 0, growing_s = 0;
    for (size_t i = 0; i < out->traffic_count; i++) {
        const struct cb_traffic_time *time = &out->traffic[i];
        *(time->traffic.grows_with_tokens ? &growing_s : &fixed_s) += time->time_s[CB_PACE_MEDIAN];
    }
    double kept = 1 - out->threshold;
    double room_s = out->threshold * out->compute_s - kept * growing_s;
    out->rank_tokens = cb_job_rank_tokens(&out->job);
    if (fixed_s + growing_s == 0)
        out->critical_tokens = 0;
    else
        out->critical_tokens = room_s > 0 ? out->rank_tokens * kept * fixed_s / room_s : INFINITY;
}

/* Communication time = A + B / speed of the network: two steps tell B, the share asked for the
 * speed. */
static int fill_required(const struct cb_network *network, struct cb_training *out,
                         struct cb_error *err)
{
    struct cb_faster_network twice;
    struct cb_step_model step;
    cb_faster_network_init(&twice, network, 2);
    int rc = cb_step_build(&out->job, &twice.network, out->compute_s, &step, err);
    if (rc)
        return rc;
    double now_s = out->communication_s[CB_PACE_MEDIAN];
    double moving_s = 2 * (now_s - step.communication_s[CB_PACE_MEDIAN]);
    double allowed_s = out->compute_s * out->threshold / (1 - out->threshold);
    double left_s = allowed_s - (now_s - moving_s);
    if (moving_s <= 0)
        out->required_bytes_per_s = now_s <= allowed_s ? 0 : INFINITY;
    else
        out->required_bytes_per_s =
            left_s > 0 ? out->large_bytes_per_s * moving_s / left_s : INFINITY;
    return 0;
}

/* ---- more nodes ---- */

/* Tokens per second over some nodes; 0 when the job cannot run on them. */
static double throughput(const struct cb_job *job, const struct cb_machine *machine, int nodes,
                         double compute_s_per_flop)
{
    struct cb_network network = *machine->network;
    struct cb_job spread = *job, complete;
    struct cb_assumptions ignored = {.count = 0};
    struct cb_step_model step;
    network.nodes = nodes;
    spread.data = 0;
    if (cb_job_complete(&spread, nodes * network.gpus_per_node, &complete, &ignored, NULL))
        return 0;
    if (cb_step_build(&complete, &network, cb_job_gpu_flops(&complete) * compute_s_per_flop, &step,
                      NULL))
        return 0;
    double step_s = cb_step_expose(&step, complete.overlap, CB_PACE_MEDIAN).step_s;
    return step_s > 0 ? cb_job_step_tokens(&complete) / step_s : 0;
}

static void fill_speedups(const struct cb_job *job, const struct cb_machine *machine,
                          struct cb_training *out)
{
    double base_throughput = 0;
    int base_nodes = 0, last = machine->network->nodes;
    double compute_s_per_flop = out->compute_s / cb_job_gpu_flops(&out->job);
    for (int nodes = 1; out->speedup_count < CB_SPEEDUP_MAX;) {
        double tokens_per_s = throughput(job, machine, nodes, compute_s_per_flop);
        if (tokens_per_s > 0) {
            if (base_nodes == 0) {
                base_nodes = nodes;
                base_throughput = tokens_per_s;
            }
            double speedup = tokens_per_s / base_throughput;
            out->speedup[out->speedup_count++] = (struct cb_speedup){
                .nodes = nodes,
                .speedup = speedup,
                .efficiency = speedup * base_nodes / nodes,
            };
            if (base_nodes == 1 && nodes == 2)
                out->two_nodes_slower = speedup < 1;
        }
        if (nodes == last)
            break;
        nodes = nodes > last / 2 ? last : nodes * 2;
    }
}

/* ---- money and time ---- */

static void fill_cost(const struct cb_machine *machine, struct cb_training *out)
{
    double per_hour = machine->price_per_gpu_hour * out->nodes * out->gpus_per_node;
    out->idle_cost_per_hour = per_hour * out->expected.share;
    out->idle_cost_per_hour_low = per_hour * out->share_low;
    out->idle_cost_per_hour_high = per_hour * out->share_high;
    out->total_steps = out->job.total_steps;
    if (out->job.total_tokens > 0)
        out->total_steps = ceil(out->job.total_tokens / cb_job_step_tokens(&out->job));
    double low_s = INFINITY, high_s = 0;
    for (int i = 0; i < CB_OVERLAP_COUNT; i++)
        for (int pace = 0; pace < CB_PACE_COUNT; pace++) {
            low_s = fmin(low_s, out->band[i][pace].step_s);
            high_s = fmax(high_s, out->band[i][pace].step_s);
        }
    out->total_s = out->total_steps * out->expected.step_s;
    out->total_low_s = out->total_steps * low_s;
    out->total_high_s = out->total_steps * high_s;
    out->cost = out->total_s / 3600 * per_hour;
    out->cost_low = out->total_low_s / 3600 * per_hour;
    out->cost_high = out->total_high_s / 3600 * per_hour;
}

/* ---- all of it ---- */

static void fill_step(const struct cb_step_model *step, struct cb_training *out)
{
    out->bubble_s = step->bubble_s;
    out->traffic_count = step->traffic_count;
    for (size_t i = 0; i < step->traffic_count; i++)
        out->traffic[i] = step->traffic[i];
    for (int pace = 0; pace < CB_PACE_COUNT; pace++) {
        out->communication_s[pace] = step->communication_s[pace];
        out->inter_node_s[pace] = step->inter_node_s[pace];
    }
    out->network_source = step->source;
}

static void fill_compute(const struct cb_machine *machine, struct cb_training *out)
{
    out->token_flops = cb_job_token_flops(&out->job);
    if (machine->compute_s > 0) {
        out->compute_s = machine->compute_s;
        out->compute_source = machine->compute_source;
    } else {
        out->compute_s = cb_job_gpu_flops(&out->job) / machine->flops_per_s;
        out->compute_source = machine->flops_source;
    }
}

int cb_training_weigh(const struct cb_job *job, const struct cb_machine *machine,
                      struct cb_training *out, struct cb_error *err)
{
    const struct cb_network *network = machine->network;
    struct cb_step_model step;
    int rc = check_machine(machine, err);
    if (rc)
        return rc;
    struct cb_training full = {
        .nodes = network->nodes,
        .gpus_per_node = network->gpus_per_node,
        .threshold = machine->threshold > 0 ? machine->threshold : CB_FORMULA_THRESHOLD,
        .overlap_source = job->has_overlap ? CB_FROM_GIVEN : CB_FROM_ASSUMED,
    };
    rc = cb_job_complete(job, full.nodes * full.gpus_per_node, &full.job, &full.assumed, err);
    if (rc)
        return rc;
    fill_compute(machine, &full);
    cb_factor_of(&full.job, full.gpus_per_node, &full.factor);
    rc = cb_step_build(&full.job, network, full.compute_s, &step, err);
    if (rc)
        return rc;
    fill_step(&step, &full);
    fill_shares(&step, &full);
    fill_headline(network, &full);
    fill_critical_tokens(&full);
    rc = fill_required(network, &full, err);
    if (rc)
        return rc;
    cb_memory_of(&full.job, full.gpus_per_node, machine->memory_bytes, &full.memory);
    fill_cost(machine, &full);
    if (!isfinite(full.expected.step_s) || !isfinite(full.total_s) || !isfinite(full.cost) ||
        !isfinite(full.headline_s) || !isfinite(full.memory.total_bytes))
        return cb_fail(err, CB_E_USAGE, "the job's numbers overflow: one step would take %g s",
                       full.expected.step_s);
    *out = full;
    return 0;
}

int cb_training_predict(const struct cb_job *job, const struct cb_machine *machine,
                        struct cb_training *out, struct cb_error *err)
{
    int rc = cb_training_weigh(job, machine, out, err);
    if (rc)
        return rc;
    fill_speedups(job, machine, out);
    cb_training_explain(out);
    return 0;
}

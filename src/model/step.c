#include "model/step.h"

#include <math.h>

/* ---- how long traffic takes ---- */

/* One question to the network. */
struct question {
    const struct cb_network *network;
    enum cb_pace pace;
    enum cb_provenance source; /* the weakest of the answers */
};

static double ask(struct question *question, enum cb_op op, double size_bytes,
                  struct cb_group_shape group)
{
    enum cb_provenance source = CB_FROM_NOWHERE;
    double time_s = question->network->time_s(question->network->context, op, size_bytes, &group,
                                              question->pace, &source);
    if (time_s >= 0)
        question->source = cb_provenance_weaker(question->source, source);
    return time_s;
}

/* Seconds that all GPUs of some nodes take for an op without its latency. */
static double ask_transfer(struct question *question, enum cb_op op, double size_bytes, int nodes)
{
    struct cb_group_shape all = {nodes * question->network->gpus_per_node, nodes};
    double small_s = ask(question, op, CB_STEP_SMALL_BYTES, all);
    double whole_s = ask(question, op, size_bytes, all);
    return small_s >= 0 && whole_s >= 0 ? fmax(0, whole_s - small_s) : -1;
}

/* One operation, beside those of the other groups that use the same links: its latency, and the
 * bytes of all of them through what the nodes' links carry together. A group alone may be limited
 * by one GPU's own link, so it never takes less than that. What the links carry shows in an op of
 * all GPUs that moves the vector as often: an all_reduce, or a gather for what moves it once. */
static double operation_time(struct question *question, const struct cb_traffic *traffic)
{
    double alone_s = ask(question, traffic->op, traffic->size_bytes, traffic->group);
    if (alone_s < 0 || traffic->groups <= 1 || traffic->group.nodes < 2)
        return alone_s;
    enum cb_op yardstick = traffic->op == CB_OP_ALL_REDUCE ? CB_OP_ALL_REDUCE : CB_OP_ALL_GATHER;
    double node_bytes = traffic->size_bytes * traffic->groups;
    if (traffic->op == CB_OP_ALL_TO_ALL) /* a rank's own buffer: there is one of each member */
        node_bytes *= (double)traffic->group.ranks / traffic->group.nodes;
    double small_s = ask(question, traffic->op, CB_STEP_SMALL_BYTES, traffic->group);
    double transfer_s = ask_transfer(question, yardstick, node_bytes, traffic->group.nodes);
    if (small_s < 0 || transfer_s < 0)
        return alone_s;
    double passes = 1; /* of an all_reduce two nodes may make a tree, whatever its ranks */
    if (yardstick == CB_OP_ALL_GATHER)
        passes =
            cb_op_bus_factor(traffic->op, traffic->group.ranks) /
            cb_op_bus_factor(yardstick, traffic->group.nodes * question->network->gpus_per_node);
    return fmax(alone_s, small_s + transfer_s * passes);
}

static int fill_traffic(const struct cb_network *network, struct cb_step_model *step,
                        struct cb_error *err)
{
    for (size_t i = 0; i < step->traffic_count; i++) {
        struct cb_traffic_time *time = &step->traffic[i];
        for (int pace = 0; pace < CB_PACE_COUNT; pace++) {
            struct question question = {.network = network, .pace = (enum cb_pace)pace};
            double one_s = operation_time(&question, &time->traffic);
            if (!isfinite(one_s) || one_s < 0)
                return cb_fail(err, CB_E_MEASURE,
                               "how long %s of %.3g bytes over %d ranks on %d node%s takes cannot "
                               "be told from what is known of the network",
                               cb_op_name(time->traffic.op), time->traffic.size_bytes,
                               time->traffic.group.ranks, time->traffic.group.nodes,
                               time->traffic.group.nodes == 1 ? "" : "s");
            time->one_s[pace] = one_s;
            time->time_s[pace] = one_s * time->traffic.operations;
            time->source = cb_provenance_weaker(time->source, question.source);
            step->communication_s[pace] += time->time_s[pace];
            if (time->traffic.group.nodes > 1)
                step->inter_node_s[pace] += time->time_s[pace];
        }
        step->source = cb_provenance_weaker(step->source, time->source);
    }
    return 0;
}

/* ---- the step ---- */

/* The forward pass: 2 FLOP per active parameter and token, a third of what attention does. */
static double forward_share(const struct cb_job *job)
{
    if (job->sample_flops > 0)
        return 1.0 / 3;
    double attention = job->without_attention ? 0 : 4 * job->layers * job->hidden * job->sequence;
    return (2 * job->active_parameters + attention) / cb_job_token_flops(job);
}

int cb_step_build(const struct cb_job *job, const struct cb_network *network, double compute_s,
                  struct cb_step_model *step, struct cb_error *err)
{
    struct cb_step_model out = {
        .compute_s = compute_s,
        .forward_share = forward_share(job),
        .accumulation = job->accumulation,
        .bubble_s =
            compute_s * (job->pipeline - 1) / (job->interleave * fmax(1, job->accumulation)),
    };
    struct cb_volumes volumes;
    cb_volumes_of(job, network->gpus_per_node, &volumes);
    out.traffic_count = volumes.count;
    for (size_t i = 0; i < volumes.count; i++)
        out.traffic[i].traffic = volumes.items[i];
    int rc = fill_traffic(network, &out, err);
    if (rc == 0)
        *step = out;
    return rc;
}

/* What is left of the traffic of one kind of hiding place with window_s of compute beside it. Adds
 * what hid to *hidden_s. */
static double expose_class(const struct cb_step_model *step, enum cb_hiding hiding, double window_s,
                           double overlap, enum cb_pace pace, double *hidden_s)
{
    double total_s = 0, longest_s = 0;
    for (size_t i = 0; i < step->traffic_count; i++) {
        const struct cb_traffic_time *time = &step->traffic[i];
        if (time->traffic.hiding != hiding)
            continue;
        total_s += time->time_s[pace];
        longest_s = fmax(longest_s, fmin(time->one_s[pace], time->time_s[pace]));
    }
    double hideable_s = hiding == CB_HIDE_NOWHERE ? 0 : fmax(0, fmin(total_s, fmax(0, window_s)));
    double exposed_s = fmin(total_s, fmax(longest_s, total_s - overlap * hideable_s));
    if (hiding == CB_HIDE_STEP) /* in a pipeline or ring every transfer has compute beside it */
        exposed_s = total_s - overlap * hideable_s;
    *hidden_s += total_s - exposed_s;
    return exposed_s;
}

struct cb_step_cost cb_step_expose(const struct cb_step_model *step, double overlap,
                                   enum cb_pace pace)
{
    double forward_s = step->compute_s * step->forward_share;
    double backward_s = step->compute_s - forward_s;
    double hidden_s = 0, backward_hidden_s = 0;
    double exposed_s = expose_class(step, CB_HIDE_NOWHERE, 0, overlap, pace, &hidden_s);
    exposed_s += expose_class(step, CB_HIDE_FORWARD, forward_s, overlap, pace, &hidden_s);
    exposed_s +=
        expose_class(step, CB_HIDE_BACKWARD, backward_s, overlap, pace, &backward_hidden_s);
    exposed_s += expose_class(step, CB_HIDE_LAST_BACKWARD,
                              (backward_s - backward_hidden_s) / step->accumulation, overlap, pace,
                              &hidden_s);
    hidden_s += backward_hidden_s;
    exposed_s +=
        expose_class(step, CB_HIDE_STEP, step->compute_s - hidden_s, overlap, pace, &hidden_s);
    double step_s = step->compute_s + step->bubble_s + exposed_s;
    return (struct cb_step_cost){
        .exposed_s = exposed_s,
        .step_s = step_s,
        .share = step_s > 0 ? exposed_s / step_s : 0,
    };
}

/* ---- other networks ---- */

static double faster_time(const void *context, enum cb_op op, double size_bytes,
                          const struct cb_group_shape *group, enum cb_pace pace,
                          enum cb_provenance *source)
{
    const struct cb_faster_network *faster = context;
    const struct cb_network *base = faster->base;
    double time_s = base->time_s(base->context, op, size_bytes, group, pace, source);
    if (time_s < 0 || (group->nodes < 2 && base->nodes > 1))
        return time_s;
    double small_s = base->time_s(base->context, op, CB_STEP_SMALL_BYTES, group, pace, NULL);
    small_s = fmin(fmax(0, small_s), time_s);
    return small_s + (time_s - small_s) / faster->speed;
}

void cb_faster_network_init(struct cb_faster_network *faster, const struct cb_network *base,
                            double speed)
{
    faster->network = *base;
    faster->network.context = faster;
    faster->network.time_s = faster_time;
    faster->base = base;
    faster->speed = speed;
}

double cb_step_bus_bytes_per_s(const struct cb_network *network, double size_bytes,
                               enum cb_provenance *source)
{
    struct question question = {.network = network, .pace = CB_PACE_MEDIAN};
    struct cb_group_shape all = {network->nodes * network->gpus_per_node, network->nodes};
    if (all.ranks < 2)
        return 0;
    double time_s = ask(&question, CB_OP_ALL_REDUCE, size_bytes, all);
    if (source)
        *source = question.source;
    return time_s > 0 ? size_bytes * cb_op_bus_factor(CB_OP_ALL_REDUCE, all.ranks) / time_s : 0;
}

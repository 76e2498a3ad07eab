#include "model/volumes.h"

#include <math.h>
#include <stdio.h>

#include "base/names.h"
#include "base/units.h"
#include "model/formula.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

static const char *const kinds[] = {
    [CB_TRAFFIC_GRADIENTS] = "gradients",
    [CB_TRAFFIC_PARAMETERS] = "parameters",
    [CB_TRAFFIC_EXPERT_GRADIENTS] = "expert_gradients",
    [CB_TRAFFIC_TENSOR] = "tensor",
    [CB_TRAFFIC_PIPELINE] = "pipeline",
    [CB_TRAFFIC_CONTEXT] = "context",
    [CB_TRAFFIC_EXPERT] = "expert",
    [CB_TRAFFIC_EMBEDDING] = "embedding",
};
_Static_assert(ARRAY_SIZE(kinds) == CB_TRAFFIC_KIND_COUNT, "one name per kind");

const char *cb_traffic_kind_name(enum cb_traffic_kind kind)
{
    return kinds[kind];
}

/* Activations travel in half precision. */
#define ACTIVATION_BYTES 2.0

/* How a scheme keeps the ranks in step. */
struct scheme {
    bool reduces_whole;       /* all_reduce; otherwise each rank gets its shard, reduce_scatter */
    bool every_micro_batch;   /* gradients are reduced after each */
    bool gathers_every_layer; /* weights are sharded: gathered for forward and again for backward */
    bool gathers_at_end;      /* each rank updates its shard, then all get the new weights */
    bool inside_node;         /* sharded in the node only; all_reduce across nodes */
};

static const struct scheme schemes[] = {
    [CB_SCHEME_DDP] = {.reduces_whole = true},
    [CB_SCHEME_ZERO1] = {.gathers_at_end = true},
    [CB_SCHEME_ZERO2] = {.every_micro_batch = true, .gathers_at_end = true},
    [CB_SCHEME_ZERO3] = {.every_micro_batch = true, .gathers_every_layer = true},
    [CB_SCHEME_FSDP] = {.every_micro_batch = true, .gathers_every_layer = true},
    [CB_SCHEME_HYBRID] = {.every_micro_batch = true,
                          .gathers_every_layer = true,
                          .inside_node = true},
};
_Static_assert(ARRAY_SIZE(schemes) == CB_SCHEME_COUNT, "one row per scheme");

/* Where a group of ranks lies whose members are stride GPUs apart. */
struct place {
    struct cb_group_shape shape;
    int per_node;  /* members in one node */
    double groups; /* of that shape that share a node's links */
};

static struct place place_group(double ranks, double stride, int gpus_per_node)
{
    struct place place;
    double room = fmax(1, floor(gpus_per_node / stride));
    place.per_node = (int)fmin(ranks, room);
    place.shape.ranks = (int)ranks;
    place.shape.nodes = (int)ceil(ranks / place.per_node);
    place.groups = place.shape.nodes > 1 ? (double)gpus_per_node / place.per_node : 1;
    return place;
}

/* Parameters that the same group keeps in step. */
struct portion {
    double parameters; /* of the whole model */
    double trained;
    double shards; /* that the model-parallel degrees cut them into */
    struct place place;
    bool experts;
};

/* The dense portion and, with an expert degree, the experts, which have copies of their own only
 * every expert-th rank. Returns how many. */
static size_t portions_of(const struct cb_job *job, int gpus_per_node, struct portion portions[2])
{
    double trained_share = job->trainable_parameters / job->parameters;
    double experts = job->expert > 1 ? cb_job_expert_parameters(job) : 0;
    double ranks = job->data * job->context;
    double shards = job->tensor * job->pipeline;
    double dense = job->parameters - experts;
    portions[0] = (struct portion){
        .parameters = dense,
        .trained = dense * trained_share,
        .shards = shards,
        .place = place_group(ranks, job->tensor, gpus_per_node),
    };
    if (experts == 0)
        return 1;
    portions[1] = (struct portion){
        .parameters = experts,
        .trained = experts * trained_share,
        .shards = shards * job->expert,
        .place = place_group(ranks / job->expert, job->tensor * job->expert, gpus_per_node),
        .experts = true,
    };
    return 2;
}

/* Bytes of one parameter when weights are gathered, frozen ones included. */
static double gathered_bytes(const struct cb_job *job)
{
    double trained_share = job->trainable_parameters / job->parameters;
    double frozen =
        job->adapter == CB_ADAPTER_QLORA ? CB_JOB_QLORA_WEIGHT_BYTES : job->parameter_bytes;
    return job->adapter == CB_ADAPTER_NONE
               ? job->parameter_bytes
               : frozen * (1 - trained_share) + job->parameter_bytes * trained_share;
}

/* ---- the factor ---- */

/* The micro-batches after each of which a sharded scheme communicates. With pipeline stages it does
 * so once per step: weights stay gathered over the step and gradients add up, since as many gathers
 * as micro-batches are in flight would not hide (torchtitan's reshard_after_forward, Llama 3). */
static double scheme_micro_batches(const struct cb_job *job)
{
    return schemes[job->scheme].every_micro_batch && job->pipeline == 1 ? job->accumulation : 1;
}

/* What crosses the links per parameter and optimizer step, in a ring's terms, told as it adds up.
 */
static double scheme_bytes(const struct cb_job *job, bool several_nodes, char *text, size_t size)
{
    const struct scheme *scheme = &schemes[job->scheme];
    double micro_batches = scheme_micro_batches(job);
    double trained_share = job->trainable_parameters / job->parameters;
    bool across = several_nodes && (scheme->inside_node || job->local_steps > 1);
    char share[32] = "", times[32] = "";
    if (trained_share < 1)
        snprintf(share, sizeof(share), " x %.3g trained", trained_share);
    if (scheme->reduces_whole || across) {
        double local_steps = several_nodes ? job->local_steps : 1;
        bool every = job->sync_every_micro_batch && local_steps == 1;
        micro_batches = every ? job->accumulation : 1;
        if (micro_batches > 1)
            snprintf(times, sizeof(times), " x %.4g micro-batches", micro_batches);
        if (local_steps > 1)
            snprintf(times, sizeof(times), ", every %g steps", local_steps);
        snprintf(text, size, "all_reduce 2 x %g B%s%s%s", job->gradient_bytes, share, times,
                 across && scheme->inside_node ? " across nodes" : "");
        return 2 * job->gradient_bytes * trained_share * micro_batches / local_steps;
    }
    if (micro_batches > 1)
        snprintf(times, sizeof(times), " x %.4g micro-batches", micro_batches);
    if (scheme->gathers_every_layer) {
        double gather = gathered_bytes(job);
        int gathers = job->pipeline > 1 ? 1 : 2;
        snprintf(text, size, "(%d all_gather%s x %.3g B + reduce_scatter %g B%s)%s", gathers,
                 gathers == 1 ? "" : "s", gather, job->gradient_bytes, share, times);
        return (gathers * gather + job->gradient_bytes * trained_share) * micro_batches;
    }
    snprintf(text, size, "(reduce_scatter %g B%s + all_gather %g B)%s", job->gradient_bytes, times,
             job->parameter_bytes, share);
    return (job->gradient_bytes * micro_batches + job->parameter_bytes) * trained_share;
}

void cb_factor_of(const struct cb_job *job, int gpus_per_node, struct cb_factor *factor)
{
    struct portion portions[2];
    char terms[160], spread[48] = "";
    size_t count = portions_of(job, gpus_per_node, portions);
    struct cb_factor out = {0};
    if (job->data * job->context == 1) {
        snprintf(out.reason, sizeof(out.reason),
                 "one data-parallel rank: there is nothing to keep in step");
        *factor = out;
        return;
    }
    out.scheme_communications =
        scheme_bytes(job, portions[0].place.shape.nodes > 1, terms, sizeof(terms)) /
        CB_FORMULA_BYTES_PER_PARAMETER;
    /* A node's links carry the shards of the groups that meet in it. */
    double carried = 0;
    for (size_t i = 0; i < count; i++)
        if (portions[i].place.shape.ranks > 1)
            carried += portions[i].parameters / job->parameters * portions[i].place.groups /
                       portions[i].shards;
    out.communications = out.scheme_communications * carried;
    if (fabs(carried - 1) > 1e-9)
        snprintf(spread, sizeof(spread), " x %.3g of the model per node", carried);
    snprintf(out.reason, sizeof(out.reason), "%s: %s / 4 B%s = %.3g", cb_scheme_title(job->scheme),
             terms, spread, out.communications);
    *factor = out;
}

/* ---- the collectives ---- */

static void add(struct cb_volumes *volumes, struct cb_traffic traffic)
{
    if (traffic.group.ranks > 1 && traffic.size_bytes > 0 && traffic.operations > 0 &&
        volumes->count < CB_TRAFFIC_MAX)
        volumes->items[volumes->count++] = traffic;
}

/* Adds one pass over total_bytes in pieces of at most piece_bytes, times times per step. */
static void add_pieces(struct cb_volumes *volumes, struct cb_traffic traffic, double total_bytes,
                       double piece_bytes, double times)
{
    double pieces = piece_bytes > 0 ? fmax(1, ceil(total_bytes / piece_bytes)) : 1;
    traffic.size_bytes = total_bytes / pieces;
    traffic.operations = pieces * times;
    add(volumes, traffic);
}

/* The layers of one pipeline stage, which sharded weights are gathered by; 1 of what has none. */
static double stage_layers(const struct cb_job *job)
{
    return fmax(1, job->layers / job->pipeline);
}

/* The all_reduce between nodes of what each node holds: of hybrid shard, where each of a node's
 * ranks has a part, and of local steps. */
static void add_across(const struct cb_job *job, const struct portion *portion,
                       struct cb_volumes *volumes)
{
    double gradient_bytes = portion->trained / portion->shards * job->gradient_bytes;
    struct cb_traffic traffic = {
        .kind = portion->experts ? CB_TRAFFIC_EXPERT_GRADIENTS : CB_TRAFFIC_GRADIENTS,
        .op = CB_OP_ALL_REDUCE,
        .group = portion->place.shape,
        .groups = portion->place.groups,
    };
    if (job->local_steps > 1) {
        traffic.hiding = CB_HIDE_NOWHERE;
        add_pieces(volumes, traffic, gradient_bytes, job->bucket_bytes, 1 / job->local_steps);
        return;
    }
    bool every = job->sync_every_micro_batch;
    traffic.hiding = every ? CB_HIDE_BACKWARD : CB_HIDE_LAST_BACKWARD;
    traffic.groups *= portion->place.per_node;
    traffic.group = (struct cb_group_shape){portion->place.shape.nodes, portion->place.shape.nodes};
    gradient_bytes /= portion->place.per_node;
    add_pieces(volumes, traffic, gradient_bytes, gradient_bytes / stage_layers(job),
               every ? job->accumulation : 1);
}

static void add_portion(const struct cb_job *job, const struct portion *portion,
                        struct cb_volumes *volumes)
{
    const struct scheme *scheme = &schemes[job->scheme];
    double micro_batches = scheme_micro_batches(job);
    double trained = portion->trained / portion->shards;
    double layers = stage_layers(job);
    bool every = scheme->every_micro_batch && job->pipeline == 1;
    if (scheme->reduces_whole && job->sync_every_micro_batch) {
        every = true;
        micro_batches = job->accumulation;
    }
    struct cb_traffic traffic = {
        .kind = portion->experts ? CB_TRAFFIC_EXPERT_GRADIENTS : CB_TRAFFIC_GRADIENTS,
        .op = scheme->reduces_whole ? CB_OP_ALL_REDUCE : CB_OP_REDUCE_SCATTER,
        .group = portion->place.shape,
        .groups = portion->place.groups,
        .hiding = every ? CB_HIDE_BACKWARD : CB_HIDE_LAST_BACKWARD,
    };
    if (portion->place.shape.nodes > 1 && (scheme->inside_node || job->local_steps > 1)) {
        add_across(job, portion, volumes);
        traffic.group = (struct cb_group_shape){portion->place.per_node, 1};
        traffic.groups = 1;
    }
    double gradient_bytes = trained * job->gradient_bytes;
    add_pieces(volumes, traffic, gradient_bytes,
               scheme->gathers_every_layer ? gradient_bytes / layers : job->bucket_bytes,
               micro_batches);
    traffic.op = CB_OP_ALL_GATHER;
    if (!portion->experts)
        traffic.kind = CB_TRAFFIC_PARAMETERS;
    if (scheme->gathers_at_end) {
        traffic.hiding = CB_HIDE_NOWHERE;
        add_pieces(volumes, traffic, trained * job->parameter_bytes, job->bucket_bytes, 1);
    } else if (scheme->gathers_every_layer) {
        double bytes = portion->parameters / portion->shards * gathered_bytes(job);
        traffic.hiding = CB_HIDE_FORWARD;
        add_pieces(volumes, traffic, bytes, bytes / layers, micro_batches);
        traffic.hiding = CB_HIDE_BACKWARD;
        if (job->pipeline == 1)
            add_pieces(volumes, traffic, bytes, bytes / layers, micro_batches);
    }
}

/* Activations of one micro-batch on one context-parallel rank. */
static double activation_bytes(const struct cb_job *job)
{
    return ACTIVATION_BYTES * job->micro_batch * job->sequence / job->context * job->hidden;
}

/* Two all_reduces per layer forward and two backward (Shoeybi et al., 1909.08053), two more when
 * the forward pass is done again. Sequence parallelism moves the same bytes. */
static void add_tensor(const struct cb_job *job, int gpus_per_node, struct cb_volumes *volumes)
{
    struct place place = place_group(job->tensor, 1, gpus_per_node);
    add(volumes, (struct cb_traffic){
                     .kind = CB_TRAFFIC_TENSOR,
                     .op = CB_OP_ALL_REDUCE,
                     .size_bytes = activation_bytes(job),
                     .operations = job->accumulation * job->layers / job->pipeline *
                                   (job->full_recompute ? 6 : 4),
                     .group = place.shape,
                     .groups = place.groups,
                     .hiding = job->overlap_tensor ? CB_HIDE_STEP : CB_HIDE_NOWHERE,
                     .grows_with_tokens = true,
                 });
}

/* A stage passes each micro-batch on, forward and backward, once per chunk; tensor ranks send a
 * part each (scatter/gather, 2104.04473 section 4.1). */
static void add_pipeline(const struct cb_job *job, int gpus_per_node, struct cb_volumes *volumes)
{
    double stride = job->tensor * job->context * job->data;
    bool one_node = stride * job->pipeline <= gpus_per_node;
    if (job->pipeline == 1)
        return;
    struct cb_traffic traffic = {
        .kind = CB_TRAFFIC_PIPELINE,
        .op = CB_OP_SEND_RECV,
        .size_bytes = activation_bytes(job) / job->tensor,
        .operations = 2 * job->accumulation * job->interleave,
        .group = {2, one_node ? 1 : 2},
        .groups = one_node ? 1 : fmin(stride, gpus_per_node),
        .hiding = CB_HIDE_STEP,
        .grows_with_tokens = true,
    };
    add(volumes, traffic);
    if (job->vocabulary == 0)
        return;
    traffic.kind = CB_TRAFFIC_EMBEDDING;
    traffic.op = CB_OP_ALL_REDUCE;
    traffic.size_bytes = job->vocabulary * job->hidden / job->tensor * job->gradient_bytes *
                         job->trainable_parameters / job->parameters;
    traffic.operations = 1 / job->local_steps;
    traffic.hiding = CB_HIDE_NOWHERE;
    traffic.grows_with_tokens = false;
    add(volumes, traffic);
}

/* Ring attention passes keys and values on around the ring, forward, and twice that backward;
 * Ulysses (2309.14509) exchanges query, key, value and output, forward and backward. */
static void add_context(const struct cb_job *job, int gpus_per_node, struct cb_volumes *volumes)
{
    struct place place = place_group(job->context, job->tensor, gpus_per_node);
    double layers = job->layers / job->pipeline;
    double kv_share = job->heads > 0 ? job->kv_heads / job->heads : 1;
    struct cb_traffic traffic = {
        .kind = CB_TRAFFIC_CONTEXT,
        .group = place.shape,
        .groups = place.groups,
        .grows_with_tokens = true,
    };
    double bytes = activation_bytes(job) / job->tensor;
    if (job->context_kind == CB_CONTEXT_RING) {
        traffic.op = CB_OP_SEND_RECV;
        traffic.size_bytes = 2 * bytes * kv_share;
        traffic.operations = job->accumulation * layers * (job->context - 1) * 3;
        traffic.hiding = CB_HIDE_STEP;
    } else {
        traffic.op = CB_OP_ALL_TO_ALL;
        traffic.size_bytes = bytes * (2 + 2 * kv_share) / 4;
        traffic.operations = job->accumulation * layers * 8;
        traffic.hiding = CB_HIDE_NOWHERE;
    }
    add(volumes, traffic);
}

/* Tokens go to their experts and back, forward and backward. Every layer is taken to have experts.
 */
static void add_expert(const struct cb_job *job, int gpus_per_node, struct cb_volumes *volumes)
{
    struct place place = place_group(job->expert, job->tensor, gpus_per_node);
    add(volumes, (struct cb_traffic){
                     .kind = CB_TRAFFIC_EXPERT,
                     .op = CB_OP_ALL_TO_ALL,
                     .size_bytes = activation_bytes(job) / job->tensor * job->experts_per_token,
                     .operations = 4 * job->accumulation * job->layers / job->pipeline,
                     .group = place.shape,
                     .groups = place.groups,
                     .hiding = CB_HIDE_NOWHERE,
                     .grows_with_tokens = true,
                 });
}

void cb_volumes_of(const struct cb_job *job, int gpus_per_node, struct cb_volumes *volumes)
{
    struct portion portions[2];
    struct cb_volumes out = {.count = 0};
    size_t count = portions_of(job, gpus_per_node, portions);
    for (size_t i = 0; i < count; i++)
        add_portion(job, &portions[i], &out);
    add_tensor(job, gpus_per_node, &out);
    add_pipeline(job, gpus_per_node, &out);
    add_context(job, gpus_per_node, &out);
    add_expert(job, gpus_per_node, &out);
    *volumes = out;
}

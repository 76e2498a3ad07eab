#include <string.h>

#include "result/json_fields.h"
#include "result/json_shape.h"

NAMES(op, "op", CB_OP_COUNT);
NAMES(provenance, "source", CB_PROVENANCE_COUNT);
NAMES(scheme, "scheme", CB_SCHEME_COUNT);
NAMES(adapter, "adapter", CB_ADAPTER_COUNT);
NAMES(context_kind, "context_kind", CB_CONTEXT_COUNT);

/* The same of enums whose names are only ever read back here. */
#define NAMES_HERE(object, what, count)                                                            \
    static const char *object##_name(int value)                                                    \
    {                                                                                              \
        return cb_##object##_name((enum cb_##object)value);                                        \
    }                                                                                              \
    static int object##_parse(const char *name)                                                    \
    {                                                                                              \
        return find_name(name, object##_name, count);                                              \
    }                                                                                              \
    static const struct cb_json_names object##_names = {what, count, object##_name, object##_parse}

static int find_name(const char *name, const char *(*name_of)(int), int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(name_of(i), name) == 0)
            return i;
    return -1;
}

NAMES_HERE(traffic_kind, "kind", CB_TRAFFIC_KIND_COUNT);
NAMES_HERE(training_verdict, "verdict", CB_TRAINING_VERDICT_COUNT);
NAMES_HERE(note_code, "code", CB_NOTE_COUNT);
NAMES_HERE(advice_kind, "kind", CB_ADVICE_COUNT);

static const char *cb_hiding_name(enum cb_hiding hiding)
{
    static const char *const names[] = {[CB_HIDE_NOWHERE] = "nothing",
                                        [CB_HIDE_FORWARD] = "forward",
                                        [CB_HIDE_BACKWARD] = "backward",
                                        [CB_HIDE_LAST_BACKWARD] = "last_backward",
                                        [CB_HIDE_STEP] = "step"};
    _Static_assert(sizeof(names) / sizeof(names[0]) == CB_HIDING_COUNT, "one name each");
    return names[hiding];
}
NAMES_HERE(hiding, "hiding", CB_HIDING_COUNT);

#define INFINITE CB_JSON_INFINITE_NULL

/* ---- parts ---- */

static bool has_no_scheme(const void *row)
{
    return ((const struct cb_job *)row)->scheme == CB_SCHEME_UNKNOWN;
}

static const struct cb_json_field job_fields[] = {
    FIELD(job, name, "name", ZERO),
    FIELD(job, parameters, "parameters", ALWAYS),
    FIELD(job, trainable_parameters, "trainable_parameters", ZERO),
    FIELD(job, active_parameters, "active_parameters", ZERO),
    FIELD(job, layers, "layers", ZERO),
    FIELD(job, hidden, "hidden", ZERO),
    FIELD(job, heads, "heads", ZERO),
    FIELD(job, kv_heads, "kv_heads", ZERO),
    FIELD(job, vocabulary, "vocabulary", ZERO),
    FIELD(job, experts, "experts", ZERO),
    FIELD(job, experts_per_token, "experts_per_token", ZERO),
    FIELD(job, sample_flops, "sample_flops", ZERO),
    FIELD(job, without_attention, "without_attention", 0),
    FIELD(job, sequence, "sequence", ZERO),
    FIELD(job, micro_batch, "micro_batch", ZERO),
    FIELD(job, accumulation, "accumulation", ZERO),
    FIELD(job, tokens_per_step, "tokens_per_step", ZERO),
    FIELD(job, batch_tokens, "batch_tokens", ZERO),
    FIELD(job, gradient_bytes, "gradient_bytes", ZERO),
    FIELD(job, parameter_bytes, "parameter_bytes", ZERO),
    FIELD(job, optimizer_bytes, "optimizer_bytes", ZERO),
    FIELD(job, full_recompute, "full_recompute", 0),
    NAMED_UNLESS(job, scheme, "scheme", 0, scheme_names, has_no_scheme),
    NAMED(job, adapter, "adapter", 0, adapter_names),
    FIELD(job, adapter_rank, "adapter_rank", ZERO),
    FIELD(job, local_steps, "local_steps", ZERO),
    FIELD(job, sync_every_micro_batch, "sync_every_micro_batch", 0),
    FIELD(job, tensor, "tensor", ZERO),
    FIELD(job, pipeline, "pipeline", ZERO),
    FIELD(job, interleave, "interleave", ZERO),
    FIELD(job, context, "context", ZERO),
    NAMED(job, context_kind, "context_kind", 0, context_kind_names),
    FIELD(job, expert, "expert", ZERO),
    FIELD(job, data, "data", ZERO),
    FIELD(job, bucket_bytes, "bucket_bytes", ZERO),
    FIELD(job, overlap, "overlap", 0),
    FIELD(job, has_overlap, "overlap_stated", 0),
    FIELD(job, overlap_tensor, "overlap_tensor", ZERO | OMIT),
    FIELD(job, total_tokens, "total_tokens", ZERO),
    FIELD(job, total_steps, "total_steps", ZERO),
};
static const struct cb_json_shape job_shape = SHAPE(job_fields, job, false);

static const struct cb_json_field assumption_fields[] = {
    FIELD(assumption, name, "name", ALWAYS),
    FIELD(assumption, value, "value", ZERO),
    NAMED(assumption, source, "source", ALWAYS, provenance_names),
    FIELD(assumption, text, "text", ZERO),
};
static const struct cb_json_shape assumption_shape = SHAPE(assumption_fields, assumption, true);

static const struct cb_json_field factor_fields[] = {
    FIELD(factor, communications, "per_step", 0),
    FIELD(factor, scheme_communications, "scheme_per_step", 0),
    FIELD(factor, reason, "reason", ZERO),
};
static const struct cb_json_shape factor_shape = SHAPE(factor_fields, factor, true);

/* An array of three doubles. */
#define PACE(pace, name)                                                                           \
    {                                                                                              \
        .key = name, .kind = CB_JSON_REAL, .offset = (pace) * sizeof(double),                      \
        .size_bytes = sizeof(double)                                                               \
    }
static const struct cb_json_field pace_fields[] = {
    PACE(CB_PACE_MEDIAN, "median"),
    PACE(CB_PACE_FAST, "fast"),
    PACE(CB_PACE_SLOW, "slow"),
};
static const struct cb_json_shape pace_shape = {
    .fields = pace_fields,
    .field_count = sizeof(pace_fields) / sizeof(pace_fields[0]),
    .size_bytes = CB_PACE_COUNT * sizeof(double),
    .one_line = true,
};

/* An object of its own inside the struct. */
#define PART(object, member, name, part_shape)                                                     \
    {                                                                                              \
        .key = name, .kind = CB_JSON_OBJECT, AT(object, member), .shape = &(part_shape)            \
    }

static const struct cb_json_field traffic_fields[] = {
    NAMED(traffic_time, traffic.kind, "kind", ALWAYS, traffic_kind_names),
    NAMED(traffic_time, traffic.op, "op", ALWAYS, op_names),
    FIELD(traffic_time, traffic.size_bytes, "bytes", 0),
    FIELD(traffic_time, traffic.operations, "operations", 0),
    FIELD(traffic_time, traffic.group.ranks, "ranks", 0),
    FIELD(traffic_time, traffic.group.nodes, "nodes", 0),
    FIELD(traffic_time, traffic.groups, "groups", 0),
    NAMED(traffic_time, traffic.hiding, "beside", 0, hiding_names),
    FIELD(traffic_time, traffic.grows_with_tokens, "grows_with_tokens", 0),
    PART(traffic_time, one_s, "operation_s", pace_shape),
    PART(traffic_time, time_s, "time_s", pace_shape),
    NAMED(traffic_time, source, "source", ZERO, provenance_names),
};
static const struct cb_json_shape traffic_shape = SHAPE(traffic_fields, traffic_time, true);

static const struct cb_json_field cost_fields[] = {
    FIELD(step_cost, exposed_s, "exposed_s", 0),
    FIELD(step_cost, step_s, "step_s", 0),
    FIELD(step_cost, share, "share", 0),
};
static const struct cb_json_shape cost_shape = SHAPE(cost_fields, step_cost, true);

/* One row of the band: an overlap at three paces. */
#define COST(pace, name)                                                                           \
    {                                                                                              \
        .key = name, .kind = CB_JSON_OBJECT, .offset = (pace) * sizeof(struct cb_step_cost),       \
        .size_bytes = sizeof(struct cb_step_cost), .shape = &cost_shape                            \
    }
static const struct cb_json_field band_row_fields[] = {
    COST(CB_PACE_MEDIAN, "median"),
    COST(CB_PACE_FAST, "fast"),
    COST(CB_PACE_SLOW, "slow"),
};
static const struct cb_json_shape band_row_shape = {
    .fields = band_row_fields,
    .field_count = sizeof(band_row_fields) / sizeof(band_row_fields[0]),
    .size_bytes = CB_PACE_COUNT * sizeof(struct cb_step_cost),
};
/* Bytes of one row of the band. */
#define BAND_ROW_BYTES (CB_PACE_COUNT * sizeof(struct cb_step_cost))
#define BAND(index, name)                                                                          \
    {                                                                                              \
        .key = name, .kind = CB_JSON_OBJECT, .offset = (index)*BAND_ROW_BYTES,                     \
        .size_bytes = BAND_ROW_BYTES, .shape = &band_row_shape                                     \
    }
static const struct cb_json_field band_fields[] = {
    BAND(0, "overlap_0"),
    BAND(1, "overlap_0.5"),
    BAND(2, "overlap_0.9"),
};
static const struct cb_json_shape band_shape = {
    .fields = band_fields,
    .field_count = sizeof(band_fields) / sizeof(band_fields[0]),
    .size_bytes = CB_OVERLAP_COUNT * BAND_ROW_BYTES,
};
_Static_assert(sizeof(band_fields) / sizeof(band_fields[0]) == CB_OVERLAP_COUNT, "one per overlap");

static const struct cb_json_field headline_fields[] = {
    FIELD(training, headline_bytes_per_s, "bandwidth_bytes_per_s", ZERO),
    NAMED(training, headline_source, "bandwidth_source", ZERO, provenance_names),
    FIELD(training, headline_s, "communication_s", 0),
    FIELD(training, headline_share, "share", 0),
    FIELD(training, headline_bound, "bottleneck", 0),
};
static const struct cb_json_shape headline_shape = SHAPE(headline_fields, training, true);

static const struct cb_json_field speedup_fields[] = {
    FIELD(speedup, nodes, "nodes", ALWAYS),
    FIELD(speedup, speedup, "speedup", ALWAYS),
    FIELD(speedup, efficiency, "efficiency", 0),
};
static const struct cb_json_shape speedup_shape = SHAPE(speedup_fields, speedup, true);

static const struct cb_json_field memory_fields[] = {
    FIELD(memory, weights_bytes, "weights_bytes", 0),
    FIELD(memory, gradients_bytes, "gradients_bytes", 0),
    FIELD(memory, optimizer_bytes, "optimizer_bytes", 0),
    FIELD(memory, gathered_bytes, "gathered_bytes", 0),
    FIELD(memory, activations_bytes, "activations_bytes", 0),
    FIELD(memory, logits_bytes, "logits_bytes", 0),
    FIELD(memory, overhead_bytes, "overhead_bytes", 0),
    FIELD(memory, total_bytes, "total_bytes", 0),
    FIELD(memory, usable_bytes, "usable_bytes", ZERO),
    FIELD(memory, fits, "fits", 0),
};
static const struct cb_json_shape memory_shape = SHAPE(memory_fields, memory, true);

static const struct cb_json_field rule_fields[] = {
    FIELD(link_rule, rule_wants_fabric, "rule_wants_fabric", 0),
    FIELD(link_rule, model_wants_fabric, "model_wants_fabric", 0),
    FIELD(link_rule, required_bytes_per_s, "required_bytes_per_s", INFINITE),
    FIELD(link_rule, text, "text", ZERO),
};
static const struct cb_json_shape rule_shape = SHAPE(rule_fields, link_rule, true);

static const struct cb_json_field note_fields[] = {
    NAMED(note, code, "code", ALWAYS, note_code_names),
    FIELD(note, text, "text", ALWAYS),
};
static const struct cb_json_shape note_shape = SHAPE(note_fields, note, true);

static const struct cb_json_field time_and_cost_fields[] = {
    FIELD(training, total_steps, "steps", ZERO),
    FIELD(training, total_s, "time_s", ZERO),
    FIELD(training, total_low_s, "time_low_s", ZERO),
    FIELD(training, total_high_s, "time_high_s", ZERO),
    FIELD(training, cost, "cost", ZERO),
    FIELD(training, cost_low, "cost_low", ZERO),
    FIELD(training, cost_high, "cost_high", ZERO),
};
static const struct cb_json_shape time_and_cost_shape = SHAPE(time_and_cost_fields, training, true);

static const struct cb_json_field idle_fields[] = {
    FIELD(training, idle_cost_per_hour, "expected", ZERO),
    FIELD(training, idle_cost_per_hour_low, "low", ZERO),
    FIELD(training, idle_cost_per_hour_high, "high", ZERO),
};
static const struct cb_json_shape idle_shape = SHAPE(idle_fields, training, true);

/* ---- the whole ---- */

static const struct cb_json_field training_fields[] = {
    NAMED(training, verdict, "verdict", ALWAYS, training_verdict_names),
    FIELD(training, bound, "bound", ALWAYS),
    FIELD(training, threshold, "threshold", ALWAYS),
    FIELD(training, nodes, "nodes", ALWAYS),
    FIELD(training, gpus_per_node, "gpus_per_node", ALWAYS),
    PART(training, job, "job", job_shape),
    LIST(training, assumed.items, assumed.count, "inputs", assumption_shape),
    PART(training, factor, "communications", factor_shape),
    FIELD(training, token_flops, "token_flops", 0),
    FIELD(training, compute_s, "compute_s", ALWAYS),
    NAMED(training, compute_source, "compute_source", ZERO, provenance_names),
    FIELD(training, bubble_s, "bubble_s", 0),
    LIST(training, traffic, traffic_count, "traffic", traffic_shape),
    PART(training, communication_s, "communication_s", pace_shape),
    PART(training, inter_node_s, "inter_node_s", pace_shape),
    NAMED(training, network_source, "network_source", ZERO, provenance_names),
    FIELD(training, serial_share, "serial_share", ALWAYS),
    FIELD(training, overlap, "overlap", 0),
    NAMED(training, overlap_source, "overlap_source", ZERO, provenance_names),
    PART(training, expected, "expected", cost_shape),
    PART(training, band, "band", band_shape),
    FIELD(training, share_low, "share_low", 0),
    FIELD(training, share_high, "share_high", 0),
    GROUP("formula", 0, headline_shape),
    FIELD(training, rank_tokens, "rank_tokens", 0),
    FIELD(training, critical_tokens, "critical_tokens", INFINITE),
    FIELD(training, required_bytes_per_s, "required_bytes_per_s", INFINITE),
    FIELD(training, large_bytes_per_s, "large_bytes_per_s", ZERO),
    FIELD(training, effective_bytes_per_s, "effective_bytes_per_s", ZERO),
    LIST(training, speedup, speedup_count, "speedup", speedup_shape),
    FIELD(training, two_nodes_slower, "two_nodes_slower", 0),
    PART(training, memory, "memory", memory_shape),
    GROUP("idle_cost_per_hour", 0, idle_shape),
    GROUP("whole_training", 0, time_and_cost_shape),
    PART(training, rule, "rule", rule_shape),
    LIST(training, notes, note_count, "notes", note_shape),
};
const struct cb_json_shape cb_json_training_shape = SHAPE(training_fields, training, false);

static const struct cb_json_field advice_fields[] = {
    NAMED(advice, kind, "kind", ALWAYS, advice_kind_names),
    FIELD(advice, value, "value", ZERO),
    FIELD(advice, serial_share, "serial_share", 0),
    FIELD(advice, exposed_share, "exposed_share", 0),
    FIELD(advice, step_s, "step_s", 0),
    FIELD(advice, fits, "fits", 0),
    FIELD(advice, text, "text", ALWAYS),
    FIELD(advice, caveat, "caveat", ZERO),
};
const struct cb_json_shape cb_json_advice_shape = SHAPE(advice_fields, advice, true);

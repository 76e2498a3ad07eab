#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/units.h"
#include "model/formula.h"
#include "model/step.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

static const char *const codes[] = {
    [CB_NOTE_MODEL_PARALLEL] = "model_parallel",
    [CB_NOTE_LATENCY] = "latency",
    [CB_NOTE_TWO_NODES] = "two_nodes",
    [CB_NOTE_HIDDEN] = "hidden",
    [CB_NOTE_OTHER_TRAFFIC] = "other_traffic",
    [CB_NOTE_BUBBLE] = "bubble",
    [CB_NOTE_FROZEN_WEIGHTS] = "frozen_weights",
    [CB_NOTE_ACCUMULATION] = "accumulation",
    [CB_NOTE_SLOWER] = "slower",
};
_Static_assert(ARRAY_SIZE(codes) == CB_NOTE_COUNT, "one name per code");

const char *cb_note_code_name(enum cb_note_code code)
{
    return codes[code];
}

/* Below these a reader would not act on it. */
#define TELLING_SHARE 0.02
#define TELLING_RATIO 1.25
/* Ethernet without RDMA: 25 Gb/s, of which TCP brings 95 % (docs/design.md). */
#define ETHERNET_BYTES_PER_S (0.95 * 25e9 / 8)
#define RULE_PARAMETERS 1e9

static void note(struct cb_training *training, enum cb_note_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void note(struct cb_training *training, enum cb_note_code code, const char *format, ...)
{
    if (training->note_count == CB_NOTES_MAX)
        return;
    struct cb_note *item = &training->notes[training->note_count++];
    va_list arguments;
    item->code = code;
    va_start(arguments, format);
    vsnprintf(item->text, sizeof(item->text), format, arguments);
    va_end(arguments);
}

static double share_of(double communication_s, double compute_s)
{
    return communication_s > 0 ? communication_s / (communication_s + compute_s) : 0;
}

/* ---- why the formula and the model differ ---- */

static void note_model_parallel(struct cb_training *t)
{
    char raw[CB_UNIT_TEXT], corrected[CB_UNIT_TEXT];
    const struct cb_factor *factor = &t->factor;
    if (factor->communications >= factor->scheme_communications * 0.999 ||
        t->headline_bytes_per_s <= 0)
        return;
    double whole_s = t->job.parameters * CB_FORMULA_BYTES_PER_PARAMETER *
                     factor->scheme_communications / t->headline_bytes_per_s;
    double whole_share = share_of(whole_s, t->compute_s);
    if (whole_share <= t->threshold || t->headline_bound)
        return;
    note(t, CB_NOTE_MODEL_PARALLEL,
         "with communications %.3g the formula would raise a false alarm (%s): each GPU keeps only "
         "its part of the model in step, a node %.3g of it; %s with that",
         factor->scheme_communications, cb_format_share(raw, whole_share),
         factor->communications / factor->scheme_communications,
         cb_format_share(corrected, t->headline_share));
}

/* The traffic that keeps parameters in step and takes the longest; NULL without any. */
static const struct cb_traffic_time *longest_parameter_traffic(const struct cb_training *t)
{
    const struct cb_traffic_time *longest = NULL;
    for (size_t i = 0; i < t->traffic_count; i++)
        if (t->traffic[i].traffic.kind <= CB_TRAFFIC_EXPERT_GRADIENTS &&
            (!longest || t->traffic[i].time_s[CB_PACE_MEDIAN] > longest->time_s[CB_PACE_MEDIAN]))
            longest = &t->traffic[i];
    return longest;
}

static void note_latency(struct cb_training *t)
{
    char size[CB_UNIT_TEXT], effective[CB_UNIT_TEXT], large[CB_UNIT_TEXT];
    const struct cb_traffic_time *longest = longest_parameter_traffic(t);
    if (!longest || t->effective_bytes_per_s <= 0 ||
        t->effective_bytes_per_s * TELLING_RATIO > t->headline_bytes_per_s ||
        t->serial_share < TELLING_SHARE || longest->traffic.size_bytes >= 1e18)
        return;
    note(t, CB_NOTE_LATENCY,
         "the formula is too mild: %s in pieces of %s over %d ranks gets %s of the %s that the "
         "whole gradient would; %s the rest",
         cb_op_name(longest->traffic.op),
         cb_format_bytes(size, (uint64_t)longest->traffic.size_bytes), longest->traffic.group.ranks,
         cb_format_bandwidth(effective, t->effective_bytes_per_s),
         cb_format_bandwidth(large, t->headline_bytes_per_s),
         longest->traffic.op == CB_OP_ALL_REDUCE ? "latency takes"
                                                 : "latency, and a ring instead of a tree, take");
}

static void note_two_nodes(struct cb_training *t)
{
    const struct cb_traffic_time *longest = longest_parameter_traffic(t);
    if (!longest || longest->traffic.op != CB_OP_ALL_REDUCE) /* a gather is a ring anyway */
        return;
    if (t->nodes == 2 && t->headline_source != CB_FROM_MEASURED && t->headline_bytes_per_s > 0 &&
        (t->headline_bound || t->bound))
        note(t, CB_NOTE_TWO_NODES,
             "between two nodes a tree sends the gradient once where the formula counts it twice: "
             "it may be up to twice too pessimistic; a measured bandwidth tells");
}

static void note_hidden(struct cb_training *t)
{
    char serial[CB_UNIT_TEXT], exposed[CB_UNIT_TEXT];
    bool counted = t->headline_bound || t->serial_share > t->threshold;
    if (counted && !t->bound)
        note(t, CB_NOTE_HIDDEN,
             "the formula counts communication that runs beside computing: %s if nothing did, %s "
             "of the step with %.0f %% of what can hide hidden",
             cb_format_share(serial, fmax(t->headline_share, t->serial_share)),
             cb_format_share(exposed, t->expected.share), t->overlap * 100);
}

static void note_other_traffic(struct cb_training *t)
{
    char share[CB_UNIT_TEXT];
    double other_s = 0, largest_s = 0;
    enum cb_traffic_kind largest = CB_TRAFFIC_TENSOR;
    for (size_t i = 0; i < t->traffic_count; i++) {
        double time_s = t->traffic[i].time_s[CB_PACE_MEDIAN];
        if (t->traffic[i].traffic.kind <= CB_TRAFFIC_EXPERT_GRADIENTS)
            continue;
        other_s += time_s;
        if (time_s > largest_s) {
            largest_s = time_s;
            largest = t->traffic[i].traffic.kind;
        }
    }
    if (share_of(other_s, t->compute_s) >= TELLING_SHARE)
        note(t, CB_NOTE_OTHER_TRAFFIC,
             "the formula does not count activations on the wire (most of it %s): they take %s of "
             "the time without overlap",
             cb_traffic_kind_name(largest),
             cb_format_share(share, share_of(other_s, t->compute_s)));
}

static void note_bubble(struct cb_training *t)
{
    char share[CB_UNIT_TEXT];
    double bubble_share = t->bubble_s / t->expected.step_s;
    if (bubble_share >= TELLING_SHARE)
        note(t, CB_NOTE_BUBBLE,
             "the pipeline's bubble idles GPUs for %s of the step: more micro-batches or "
             "interleaving shorten it, a faster network does not",
             cb_format_share(share, bubble_share));
}

/* Whether all weights travel with every micro-batch; with pipeline stages it is once per step. */
static bool shards_weights(const struct cb_job *job)
{
    return (job->scheme == CB_SCHEME_ZERO3 || job->scheme == CB_SCHEME_FSDP) && job->pipeline == 1;
}

static void note_frozen_weights(struct cb_training *t)
{
    char trained[CB_UNIT_TEXT];
    const struct cb_job *job = &t->job;
    if (job->trainable_parameters < job->parameters && shards_weights(job) && t->nodes > 1)
        note(t, CB_NOTE_FROZEN_WEIGHTS,
             "only %s of the parameters are trained, but %s gathers all weights twice per "
             "micro-batch: over slow links keep them whole (DDP) or in the node (hybrid shard)",
             cb_format_share(trained, job->trainable_parameters / job->parameters),
             cb_scheme_title(job->scheme));
}

static void note_accumulation(struct cb_training *t)
{
    if (t->serial_share > t->threshold &&
        (shards_weights(&t->job) || (t->job.scheme == CB_SCHEME_ZERO2 && t->job.pipeline == 1)))
        note(t, CB_NOTE_ACCUMULATION,
             "accumulation does not help: %s communicates with every micro-batch; larger "
             "micro-batches or longer sequences do",
             cb_scheme_title(t->job.scheme));
}

static void note_slower(struct cb_training *t)
{
    for (size_t i = 0; i < t->speedup_count && t->two_nodes_slower; i++)
        if (t->speedup[i].nodes == 2)
            note(t, CB_NOTE_SLOWER, "2 nodes would be slower than 1: %.2f times its throughput",
                 t->speedup[i].speedup);
}

/* ---- the rule of thumb ---- */

static const struct {
    double bytes_per_s;
    const char *name;
} links[] = {
    {0.95 * 1e9 / 8, "gigabit Ethernet"},
    {0.95 * 10e9 / 8, "10 Gb/s Ethernet"},
    {ETHERNET_BYTES_PER_S, "25 Gb/s Ethernet"},
    {0.95 * 100e9 / 8, "100 Gb/s RoCE or InfiniBand"},
    {0.95 * 400e9 / 8, "400 Gb/s RoCE or InfiniBand"},
    {0.95 * 1600e9 / 8, "4 x 400 Gb/s RoCE or InfiniBand"},
    {0.95 * 3200e9 / 8, "8 x 400 Gb/s RoCE or InfiniBand"},
};

static const char *slowest_link(double bytes_per_s)
{
    for (size_t i = 0; i < ARRAY_SIZE(links); i++)
        if (bytes_per_s <= links[i].bytes_per_s)
            return links[i].name;
    return "more than 8 x 400 Gb/s";
}

static void explain_rule(struct cb_training *t)
{
    struct cb_link_rule *rule = &t->rule;
    char trained[CB_UNIT_TEXT], tokens[CB_UNIT_TEXT], required[CB_UNIT_TEXT], why[112];
    rule->rule_wants_fabric = t->job.trainable_parameters > RULE_PARAMETERS;
    rule->required_bytes_per_s = t->required_bytes_per_s;
    rule->model_wants_fabric = !(t->required_bytes_per_s <= ETHERNET_BYTES_PER_S);
    cb_format_count(trained, t->job.trainable_parameters);
    const char *answer = rule->rule_wants_fabric ? "RoCE or InfiniBand" : "Ethernet will do";
    if (t->nodes == 1) {
        rule->model_wants_fabric = rule->rule_wants_fabric;
        snprintf(rule->text, sizeof(rule->text),
                 "%s trained parameters: the rule says %s; one node has no link between nodes",
                 trained, answer);
        return;
    }
    const char *unit = t->job.sample_flops > 0 ? "samples" : "tokens";
    if (shards_weights(&t->job))
        snprintf(why, sizeof(why), "all weights travel with every micro-batch of %s %s",
                 cb_format_count(tokens, round(t->rank_tokens / t->job.accumulation)), unit);
    else
        snprintf(why, sizeof(why), "what decides is %s %s per rank and synchronisation",
                 cb_format_count(tokens, round(t->rank_tokens)), unit);
    if (isfinite(t->required_bytes_per_s))
        snprintf(rule->text, sizeof(rule->text),
                 "%s trained parameters: the rule says %s; the model %s: %s per node, %s (%s)",
                 trained, answer,
                 rule->model_wants_fabric == rule->rule_wants_fabric ? "agrees" : "does not",
                 cb_format_bandwidth(required, t->required_bytes_per_s),
                 slowest_link(t->required_bytes_per_s), why);
    else
        snprintf(rule->text, sizeof(rule->text),
                 "%s trained parameters: the rule says %s; by the model no link is enough: "
                 "latency or traffic inside the node alone exceed the limit (%s)",
                 trained, answer, why);
}

void cb_training_explain(struct cb_training *training)
{
    training->note_count = 0;
    note_slower(training);
    note_model_parallel(training);
    note_latency(training);
    note_two_nodes(training);
    note_hidden(training);
    note_other_traffic(training);
    note_bubble(training);
    note_frozen_weights(training);
    note_accumulation(training);
    explain_rule(training);
}

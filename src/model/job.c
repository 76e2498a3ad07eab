#include "model/job.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/units.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

static const char *const schemes[] = {
    [CB_SCHEME_UNKNOWN] = "unknown", [CB_SCHEME_DDP] = "ddp",     [CB_SCHEME_ZERO1] = "zero1",
    [CB_SCHEME_ZERO2] = "zero2",     [CB_SCHEME_ZERO3] = "zero3", [CB_SCHEME_FSDP] = "fsdp",
    [CB_SCHEME_HYBRID] = "hybrid"};
static const char *const scheme_titles[] = {[CB_SCHEME_UNKNOWN] = "unknown scheme",
                                            [CB_SCHEME_DDP] = "DDP",
                                            [CB_SCHEME_ZERO1] = "ZeRO-1",
                                            [CB_SCHEME_ZERO2] = "ZeRO-2",
                                            [CB_SCHEME_ZERO3] = "ZeRO-3",
                                            [CB_SCHEME_FSDP] = "FSDP full shard",
                                            [CB_SCHEME_HYBRID] = "FSDP hybrid shard"};
static const char *const adapters[] = {
    [CB_ADAPTER_NONE] = "none", [CB_ADAPTER_LORA] = "lora", [CB_ADAPTER_QLORA] = "qlora"};
static const char *const context_kinds[] = {
    [CB_CONTEXT_RING] = "ring", [CB_CONTEXT_ULYSSES] = "ulysses"};
_Static_assert(ARRAY_SIZE(schemes) == CB_SCHEME_COUNT, "one name per scheme");
_Static_assert(ARRAY_SIZE(scheme_titles) == CB_SCHEME_COUNT, "one title per scheme");
_Static_assert(ARRAY_SIZE(adapters) == CB_ADAPTER_COUNT, "one name per adapter");
_Static_assert(ARRAY_SIZE(context_kinds) == CB_CONTEXT_COUNT, "one name per kind");

const char *cb_scheme_name(enum cb_scheme scheme)
{
    return schemes[scheme];
}

const char *cb_scheme_title(enum cb_scheme scheme)
{
    return scheme_titles[scheme];
}

const char *cb_adapter_name(enum cb_adapter adapter)
{
    return adapters[adapter];
}

const char *cb_context_kind_name(enum cb_context_kind kind)
{
    return context_kinds[kind];
}

/* "unknown" is what is printed, not what may be asked for. */
int cb_scheme_parse(const char *name)
{
    int scheme = cb_names_find(schemes, CB_SCHEME_COUNT, name);
    return scheme == CB_SCHEME_UNKNOWN ? -1 : scheme;
}

int cb_adapter_parse(const char *name)
{
    return cb_names_find(adapters, CB_ADAPTER_COUNT, name);
}

int cb_context_kind_parse(const char *name)
{
    return cb_names_find(context_kinds, CB_CONTEXT_COUNT, name);
}

void cb_assume(struct cb_assumptions *list, const char *name, double value,
               enum cb_provenance source, const char *text, ...)
{
    struct cb_assumption *item = NULL;
    for (size_t i = 0; i < list->count && !item; i++)
        if (strcmp(list->items[i].name, name) == 0)
            item = &list->items[i];
    if (!item && list->count == CB_ASSUMPTIONS_MAX)
        return;
    if (!item)
        item = &list->items[list->count++];
    *item = (struct cb_assumption){.value = value, .source = source};
    snprintf(item->name, sizeof(item->name), "%s", name);
    va_list arguments;
    va_start(arguments, text);
    vsnprintf(item->text, sizeof(item->text), text, arguments);
    va_end(arguments);
}

/* ---- what cannot be ---- */

/* No training has as many; no product of such numbers leaves a double's range. */
#define NUMBER_MAX 1e18

struct field {
    const char *name;
    size_t offset;
    double max;
    bool whole;
};
#define FIELD(member, max, whole)                                                                  \
    {                                                                                              \
#member, offsetof(struct cb_job, member), max, whole                                       \
    }

static const struct field fields[] = {
    FIELD(parameters, CB_JOB_PARAMETERS_MAX, false),
    FIELD(trainable_parameters, CB_JOB_PARAMETERS_MAX, false),
    FIELD(active_parameters, CB_JOB_PARAMETERS_MAX, false),
    FIELD(layers, 1e6, true),
    FIELD(hidden, 1e9, true),
    FIELD(heads, 1e6, true),
    FIELD(kv_heads, 1e6, true),
    FIELD(vocabulary, 1e9, true),
    FIELD(experts, 1e6, true),
    FIELD(experts_per_token, 1e6, true),
    FIELD(sequence, 1e12, false),
    FIELD(micro_batch, 1e12, false),
    FIELD(accumulation, 1e12, false),
    FIELD(tokens_per_step, NUMBER_MAX, false),
    FIELD(batch_tokens, NUMBER_MAX, false),
    FIELD(sample_flops, 1e30, false),
    FIELD(gradient_bytes, 16, false),
    FIELD(parameter_bytes, 16, false),
    FIELD(optimizer_bytes, 64, false),
    FIELD(adapter_rank, 1e6, true),
    FIELD(local_steps, 1e9, true),
    FIELD(tensor, 1e6, true),
    FIELD(pipeline, 1e6, true),
    FIELD(context, 1e6, true),
    FIELD(expert, 1e6, true),
    FIELD(data, 1e9, true),
    FIELD(interleave, 1e6, true),
    FIELD(bucket_bytes, NUMBER_MAX, false),
    FIELD(total_tokens, 1e24, false),
    FIELD(total_steps, NUMBER_MAX, false),
};

static int check_numbers(const struct cb_job *job, struct cb_error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        double value;
        memcpy(&value, (const char *)job + fields[i].offset, sizeof(value));
        if (!isfinite(value) || value < 0)
            return cb_fail(err, CB_E_USAGE, "%s must be a positive finite number, not %g",
                           fields[i].name, value);
        if (value > fields[i].max)
            return cb_fail(err, CB_E_USAGE, "%s must be at most %g, not %g", fields[i].name,
                           fields[i].max, value);
        if (fields[i].whole && value != floor(value))
            return cb_fail(err, CB_E_USAGE, "%s must be a whole number, not %g", fields[i].name,
                           value);
    }
    if (!(job->parameters > 0))
        return cb_fail(err, CB_E_USAGE, "parameters must be stated");
    if (job->has_overlap && !(job->overlap >= 0 && job->overlap < 1))
        return cb_fail(err, CB_E_USAGE, "overlap must lie within 0 and 1, not %g", job->overlap);
    if ((unsigned)job->scheme >= CB_SCHEME_COUNT || (unsigned)job->adapter >= CB_ADAPTER_COUNT ||
        (unsigned)job->context_kind >= CB_CONTEXT_COUNT)
        return cb_fail(err, CB_E_USAGE, "scheme, adapter and context_kind must be known ones");
    return 0;
}

/* Fails when part is stated and above a stated whole. */
static int check_part(double part, const char *part_name, double whole, const char *whole_name,
                      struct cb_error *err)
{
    if (whole > 0 && part > whole)
        return cb_fail(err, CB_E_USAGE, "%s (%g) must not be above %s (%g)", part_name, part,
                       whole_name, whole);
    return 0;
}

/* Fails when both are stated and part does not divide whole. */
static int check_divides(double part, const char *part_name, double whole, const char *whole_name,
                         struct cb_error *err)
{
    if (part > 0 && whole > 0 && fmod(whole, part) != 0)
        return cb_fail(err, CB_E_USAGE, "%s (%g) must divide %s (%g)", part_name, part, whole_name,
                       whole);
    return 0;
}

static int check_model(const struct cb_job *job, struct cb_error *err)
{
    int rc = check_part(job->trainable_parameters, "trainable_parameters", job->parameters,
                        "parameters", err);
    if (rc == 0)
        rc = check_part(job->active_parameters, "active_parameters", job->parameters, "parameters",
                        err);
    if (rc == 0)
        rc = check_part(job->kv_heads, "kv_heads", job->heads, "heads", err);
    if (rc == 0)
        rc = check_part(job->experts_per_token, "experts_per_token", job->experts, "experts", err);
    if (rc == 0)
        rc = check_part(job->pipeline, "pipeline", job->layers, "layers", err);
    if (rc == 0)
        rc = check_divides(job->tensor, "tensor", job->hidden, "hidden", err);
    if (rc == 0)
        rc = check_divides(job->expert, "expert", job->experts, "experts", err);
    if (rc == 0 && job->experts_per_token > 0 && job->experts == 0)
        rc = cb_fail(err, CB_E_USAGE, "experts_per_token needs experts");
    if (rc == 0 && job->expert > 1 && job->experts == 0)
        rc = cb_fail(err, CB_E_USAGE, "an expert degree needs experts: the model is dense");
    if (rc == 0 && job->active_parameters > 0 && job->active_parameters < job->parameters &&
        job->experts == 0)
        rc = cb_fail(err, CB_E_USAGE,
                     "active_parameters below parameters needs experts: the model is dense");
    if (rc == 0 && job->adapter_rank > 0 && job->adapter == CB_ADAPTER_NONE)
        rc = cb_fail(err, CB_E_USAGE, "adapter_rank needs an adapter: lora or qlora");
    return rc;
}

static int check_batch(const struct cb_job *job, struct cb_error *err)
{
    if (job->batch_tokens > 0 && (job->tokens_per_step > 0 || job->accumulation > 0))
        return cb_fail(err, CB_E_USAGE,
                       "batch_tokens fixes the accumulation: state it without accumulation and "
                       "tokens_per_step");
    if (job->accumulation > 0 && job->accumulation < 1)
        return cb_fail(err, CB_E_USAGE, "accumulation must be 1 or more, not %g",
                       job->accumulation);
    if (job->total_tokens > 0 && job->total_steps > 0)
        return cb_fail(err, CB_E_USAGE, "state total_tokens or total_steps, not both");
    if (job->tokens_per_step > 0 && job->sequence > 0 && job->micro_batch > 0) {
        /* Without an accumulation the tokens say how many micro-batches there are. */
        double least = job->sequence * job->micro_batch * fmax(1, job->accumulation);
        bool contradicts = job->accumulation > 0 ? fabs(least - job->tokens_per_step) > 1e-3 * least
                                                 : job->tokens_per_step < least * (1 - 1e-3);
        if (contradicts)
            return cb_fail(err, CB_E_USAGE,
                           "tokens_per_step (%g) is not sequence x micro_batch x accumulation (%g)",
                           job->tokens_per_step, least);
    }
    return 0;
}

static double one_unless(double degree)
{
    return degree > 0 ? degree : 1;
}

static int check_degrees(const struct cb_job *job, int gpus, struct cb_error *err)
{
    double model = one_unless(job->tensor) * one_unless(job->pipeline) * one_unless(job->context);
    double data = job->data;
    if (gpus > 0) {
        int rc = check_divides(job->tensor, "tensor", gpus, "the number of GPUs", err);
        if (rc)
            return rc;
        if (job->data > 0 && model * job->data != gpus)
            return cb_fail(err, CB_E_USAGE,
                           "tensor x pipeline x context x data is %g, but there are %d GPUs",
                           model * job->data, gpus);
        if (fmod(gpus, model) != 0)
            return cb_fail(err, CB_E_USAGE,
                           "tensor x pipeline x context (%g) must divide the %d GPUs", model, gpus);
        data = gpus / model;
    }
    return check_divides(job->expert, "expert", data * one_unless(job->context), "context x data",
                         err);
}

int cb_job_check(const struct cb_job *job, int gpus, struct cb_error *err)
{
    int rc = check_numbers(job, err);
    if (rc == 0)
        rc = check_model(job, err);
    if (rc == 0)
        rc = check_batch(job, err);
    if (rc == 0)
        rc = check_degrees(job, gpus, err);
    return rc;
}

/* ---- what is assumed ---- */

#define ASSUMED_SEQUENCE 2048.0
#define ASSUMED_ADAPTER_RANK 16.0
#define ASSUMED_VOCABULARY 50000.0
#define ASSUMED_HEAD_SIZE 128.0
/* Parameters of a mixture of experts outside its experts, as in Mixtral 8x7B. */
#define ASSUMED_SHARED_SHARE 0.04
/* Megatron keeps a multiple of the hidden size per layer: 12 x hidden^2 with the usual feed-forward
 * of 4 x hidden, and models are about 128 times as wide as deep. */
#define LAYER_PARAMETERS 12.0
#define WIDTH_TO_DEPTH 128.0
/* Adapters on every linear layer: rank x (in + out), 4 of hidden x hidden and two of hidden x 4
 * hidden. */
#define ADAPTER_PARAMETERS 18.0

static void complete_degrees(struct cb_job *job, int gpus)
{
    job->tensor = one_unless(job->tensor);
    job->pipeline = one_unless(job->pipeline);
    job->context = one_unless(job->context);
    job->expert = one_unless(job->expert);
    job->data = gpus / (job->tensor * job->pipeline * job->context);
    job->interleave = one_unless(job->interleave);
    job->local_steps = one_unless(job->local_steps);
}

/* Rounds to a multiple that the degree divides, so that the assumption does not contradict it. */
static double round_to(double value, double multiple)
{
    return fmax(1, round(value / multiple)) * multiple;
}

static void complete_shape(struct cb_job *job, struct cb_assumptions *assumed)
{
    if (job->sample_flops > 0)
        return;
    bool stated = job->layers > 0 && job->hidden > 0;
    if (job->layers == 0) {
        double depth =
            job->hidden > 0
                ? job->parameters / (LAYER_PARAMETERS * job->hidden * job->hidden)
                : cbrt(job->parameters / (LAYER_PARAMETERS * WIDTH_TO_DEPTH * WIDTH_TO_DEPTH));
        job->layers = fmax(round_to(depth, 1), job->pipeline);
    }
    if (job->hidden == 0)
        job->hidden =
            round_to(sqrt(job->parameters / (LAYER_PARAMETERS * job->layers)), job->tensor);
    if (!stated)
        cb_assume(assumed, "layers", job->layers, CB_FROM_ASSUMED,
                  "%g layers of hidden size %g, from the parameters: 12 x layers x hidden^2",
                  job->layers, job->hidden);
    if (job->heads == 0)
        job->heads = fmax(1, round(job->hidden / ASSUMED_HEAD_SIZE));
    if (job->kv_heads == 0)
        job->kv_heads = job->heads;
    if (job->vocabulary == 0) {
        job->vocabulary = ASSUMED_VOCABULARY;
        cb_assume(assumed, "vocabulary", job->vocabulary, CB_FROM_ASSUMED,
                  "a vocabulary of %g (for the memory only)", job->vocabulary);
    }
}

static void complete_parameters(struct cb_job *job, struct cb_assumptions *assumed)
{
    char text[CB_UNIT_TEXT];
    if (job->adapter != CB_ADAPTER_NONE && job->trainable_parameters == 0) {
        if (job->adapter_rank == 0) {
            job->adapter_rank = ASSUMED_ADAPTER_RANK;
            cb_assume(assumed, "adapter_rank", job->adapter_rank, CB_FROM_ASSUMED,
                      "adapters of rank %g", job->adapter_rank);
        }
        job->trainable_parameters = fmin(job->parameters, ADAPTER_PARAMETERS * job->adapter_rank *
                                                              job->hidden * fmax(1, job->layers));
        if (job->trainable_parameters == 0) /* no transformer: nothing to derive it from */
            job->trainable_parameters = job->parameters / 100;
        cb_assume(assumed, "trainable_parameters", job->trainable_parameters, CB_FROM_ASSUMED,
                  "%s trained parameters: adapters on every linear layer, 18 x rank x hidden x "
                  "layers",
                  cb_format_count(text, job->trainable_parameters));
    }
    if (job->trainable_parameters == 0)
        job->trainable_parameters = job->parameters;
    if (job->experts > 0 && job->experts_per_token == 0) {
        job->experts_per_token = fmin(2, job->experts);
        cb_assume(assumed, "experts_per_token", job->experts_per_token, CB_FROM_ASSUMED,
                  "%g experts per token", job->experts_per_token);
    }
    if (job->experts > 0 && job->active_parameters == 0) {
        job->active_parameters =
            job->parameters * (ASSUMED_SHARED_SHARE +
                               (1 - ASSUMED_SHARED_SHARE) * job->experts_per_token / job->experts);
        cb_assume(assumed, "active_parameters", job->active_parameters, CB_FROM_ASSUMED,
                  "%s active parameters: %g of %g experts, 4 %% of the parameters outside them",
                  cb_format_count(text, job->active_parameters), job->experts_per_token,
                  job->experts);
    }
    if (job->active_parameters == 0)
        job->active_parameters = job->parameters;
}

/* The sequences of one micro-batch and how long they are, given how many tokens it holds. */
static void split_micro_batch(struct cb_job *job, double micro_tokens,
                              struct cb_assumptions *assumed)
{
    if (job->sequence > 0) {
        job->micro_batch = micro_tokens / job->sequence;
        return;
    }
    job->without_attention = true;
    if (job->micro_batch == 0)
        job->micro_batch = fmax(1, round(micro_tokens / ASSUMED_SEQUENCE));
    job->sequence = micro_tokens / job->micro_batch;
    if (job->sample_flops == 0)
        cb_assume(assumed, "sequence", job->sequence, CB_FROM_ASSUMED,
                  "micro-batches of %g x %.4g tokens; attention's own work left out",
                  job->micro_batch, job->sequence);
}

static int complete_batch(struct cb_job *job, struct cb_assumptions *assumed, struct cb_error *err)
{
    if (job->sample_flops > 0) {
        if (job->sequence > 1)
            return cb_fail(err, CB_E_USAGE, "sequence (%g) has no meaning beside sample_flops",
                           job->sequence);
        job->sequence = 1;
    }
    double tokens = job->tokens_per_step;
    if (job->batch_tokens > 0)
        tokens = job->batch_tokens / job->data;
    if (tokens > 0 && job->sequence > 0 && tokens < job->sequence * (1 - 1e-9))
        return cb_fail(err, CB_E_USAGE,
                       "%s leaves %g tokens for a data-parallel rank: less than one sequence (%g)",
                       job->batch_tokens > 0 ? "batch_tokens" : "tokens_per_step", tokens,
                       job->sequence);
    if (tokens == 0) {
        if (job->sequence == 0) {
            job->sequence = ASSUMED_SEQUENCE;
            cb_assume(assumed, "sequence", job->sequence, CB_FROM_ASSUMED, "sequences of %g tokens",
                      job->sequence);
        }
        if (job->micro_batch == 0) {
            job->micro_batch = 1;
            cb_assume(assumed, "micro_batch", 1, CB_FROM_ASSUMED, "micro-batches of 1 sequence");
        }
        if (job->accumulation == 0) {
            job->accumulation = 1;
            cb_assume(assumed, "accumulation", 1, CB_FROM_ASSUMED, "no gradient accumulation");
        }
        return 0;
    }
    if (job->batch_tokens > 0 && (job->sequence == 0 || job->micro_batch == 0)) {
        /* The batch is shared out in micro-batches of one sequence unless told otherwise. */
        job->without_attention = job->sequence == 0;
        if (job->sequence == 0)
            job->sequence = fmin(ASSUMED_SEQUENCE, tokens);
        if (job->micro_batch == 0)
            job->micro_batch = 1;
        cb_assume(assumed, "micro_batch", job->micro_batch, CB_FROM_ASSUMED,
                  "micro-batches of %g x %.4g tokens", job->micro_batch, job->sequence);
    }
    if (job->accumulation == 0 && job->sequence > 0 && job->micro_batch > 0)
        job->accumulation = fmax(1, tokens / (job->sequence * job->micro_batch));
    if (job->accumulation == 0) {
        job->accumulation = 1;
        cb_assume(assumed, "accumulation", 1, CB_FROM_ASSUMED, "no gradient accumulation");
    }
    split_micro_batch(job, tokens / job->accumulation, assumed);
    return 0;
}

static void complete_bytes(struct cb_job *job, struct cb_assumptions *assumed)
{
    if (job->gradient_bytes == 0) {
        job->gradient_bytes = 2;
        cb_assume(assumed, "gradient_bytes", 2, CB_FROM_ASSUMED,
                  "2-byte gradients (plain torch DDP with autocast: 4)");
    }
    if (job->parameter_bytes == 0) {
        job->parameter_bytes = 2;
        cb_assume(assumed, "parameter_bytes", 2, CB_FROM_ASSUMED, "2-byte weights");
    }
    if (job->optimizer_bytes == 0) {
        job->optimizer_bytes = 12;
        cb_assume(assumed, "optimizer_bytes", 12, CB_FROM_ASSUMED,
                  "Adam in mixed precision: 12 bytes per trained parameter");
    }
    if (job->sample_flops > 0)
        cb_assume(
            assumed, "activations", 0, CB_FROM_ASSUMED,
            "the memory of activations, which only transformers have a formula for, is left out");
}

/* What frameworks do unless told otherwise. */
struct scheme_default {
    double bucket_elements; /* 0: one layer at a time */
    double bucket_bytes;    /* where it is counted in bytes */
    double overlap;
    const char *bucket_text, *overlap_text;
};

static const struct scheme_default defaults[] = {
    [CB_SCHEME_DDP] = {0, 25 * 1024 * 1024.0, 0.5, "25 MiB buckets (torch DDP)",
                       "half of the hideable communication hidden (torch DDP)"},
    [CB_SCHEME_ZERO1] = {5e8, 0, 0, "buckets of 5e8 elements (DeepSpeed)",
                         "no overlap (DeepSpeed stages 1 and 2: overlap_comm is off)"},
    [CB_SCHEME_ZERO2] = {5e8, 0, 0, "buckets of 5e8 elements (DeepSpeed)",
                         "no overlap (DeepSpeed stages 1 and 2: overlap_comm is off)"},
    [CB_SCHEME_ZERO3] = {0, 0, 0.5, "one layer at a time",
                         "half of the hideable communication hidden (DeepSpeed stage 3)"},
    [CB_SCHEME_FSDP] = {0, 0, 0.5, "one layer at a time (FSDP unit)",
                        "half of the hideable communication hidden (FSDP)"},
    [CB_SCHEME_HYBRID] = {0, 0, 0.5, "one layer at a time (FSDP unit)",
                          "half of the hideable communication hidden (FSDP)"},
};
_Static_assert(ARRAY_SIZE(defaults) == CB_SCHEME_COUNT, "defaults per scheme");

/* Model-parallel jobs are Megatron's: its buckets hold max(40 M, 1 M x data ranks) parameters, and
 * overlap_grad_reduce is off. */
static bool is_megatron(const struct cb_job *job)
{
    return job->tensor * job->pipeline > 1 &&
           (job->scheme == CB_SCHEME_DDP || job->scheme == CB_SCHEME_ZERO1);
}

static void complete_scheme(struct cb_job *job, struct cb_assumptions *assumed)
{
    if (job->scheme == CB_SCHEME_UNKNOWN) {
        job->scheme = CB_SCHEME_DDP;
        cb_assume(assumed, "scheme", 0, CB_FROM_ASSUMED, "plain data parallelism (DDP)");
    }
    const struct scheme_default *row = &defaults[job->scheme];
    bool megatron = is_megatron(job);
    if (job->bucket_bytes == 0 && megatron) {
        job->bucket_bytes = fmax(40e6, 1e6 * job->data * job->context) * job->gradient_bytes;
        cb_assume(assumed, "bucket_bytes", job->bucket_bytes, CB_FROM_REFERENCE,
                  "buckets of %g parameters (Megatron)", job->bucket_bytes / job->gradient_bytes);
    } else if (job->bucket_bytes == 0 && (row->bucket_elements > 0 || row->bucket_bytes > 0)) {
        job->bucket_bytes = row->bucket_elements * job->gradient_bytes + row->bucket_bytes;
        cb_assume(assumed, "bucket_bytes", job->bucket_bytes, CB_FROM_REFERENCE, "%s",
                  row->bucket_text);
    } else if (job->bucket_bytes == 0) {
        cb_assume(assumed, "bucket_bytes", 0, CB_FROM_REFERENCE, "%s", row->bucket_text);
    }
    if (!job->has_overlap) {
        job->overlap = megatron ? 0 : row->overlap;
        cb_assume(assumed, "overlap", job->overlap, CB_FROM_ASSUMED, "%s",
                  megatron ? "no overlap (Megatron: overlap_grad_reduce is off)"
                           : row->overlap_text);
    }
}

int cb_job_complete(const struct cb_job *job, int gpus, struct cb_job *complete,
                    struct cb_assumptions *assumed, struct cb_error *err)
{
    struct cb_job full = *job;
    struct cb_assumptions list = *assumed;
    if (gpus < 1)
        return cb_fail(err, CB_E_USAGE, "the number of GPUs must be 1 or more, not %d", gpus);
    int rc = cb_job_check(job, gpus, err);
    if (rc)
        return rc;
    complete_degrees(&full, gpus);
    complete_shape(&full, &list);
    complete_parameters(&full, &list);
    rc = complete_batch(&full, &list, err);
    if (rc)
        return rc;
    complete_bytes(&full, &list);
    complete_scheme(&full, &list);
    *complete = full;
    *assumed = list;
    return 0;
}

double cb_job_token_flops(const struct cb_job *job)
{
    if (job->sample_flops > 0)
        return job->sample_flops;
    double trained_share = job->trainable_parameters / job->parameters;
    double again = job->full_recompute ? 1 : 0;
    double weights = job->active_parameters * (4 + 2 * trained_share + 2 * again);
    double attention = job->without_attention ? 0 : 4 * job->layers * job->hidden * job->sequence;
    return weights + attention * (3 + again);
}

double cb_job_gpu_flops(const struct cb_job *job)
{
    return cb_job_token_flops(job) * cb_job_rank_tokens(job) /
           (job->tensor * job->pipeline * job->context);
}

double cb_job_expert_parameters(const struct cb_job *job)
{
    if (job->experts <= job->experts_per_token || job->experts == 0)
        return 0;
    double each =
        (job->parameters - job->active_parameters) / (job->experts - job->experts_per_token);
    return fmin(each * job->experts, job->parameters);
}

double cb_job_rank_tokens(const struct cb_job *job)
{
    return job->sequence * job->micro_batch * job->accumulation;
}

double cb_job_step_tokens(const struct cb_job *job)
{
    return cb_job_rank_tokens(job) * job->data;
}

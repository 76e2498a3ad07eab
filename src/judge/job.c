#include "judge/job.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "reference/workloads.h"

/* What stands in for a node that nobody knows. */
#define PAPER_GPUS_PER_NODE 8
#define PAPER_REPLICAS 16

/* The row whose tokens stand in for those of a model that nobody stated any for: the smallest
 * standard model that is not smaller. */
static const struct cb_workload_row *nearest_workload(double parameters)
{
    size_t count;
    const struct cb_workload_row *rows = cb_workloads(&count);
    for (size_t i = 0; i < count; i++)
        if (parameters <= rows[i].parameters)
            return &rows[i];
    return &rows[count - 1];
}

static double degree(double stated)
{
    return stated > 0 ? stated : 1;
}

/* As many GPUs as the job needs to have many replicas on several nodes. */
static int paper_gpus(struct cb_job *job)
{
    double replicas = job->data > 0 ? job->data : PAPER_REPLICAS * degree(job->expert);
    double gpus = degree(job->tensor) * degree(job->pipeline) * degree(job->context) * replicas;
    job->batch_tokens = 0; /* of an unknown number of ranks */
    return gpus < 1e9 ? (int)gpus : 1000000000;
}

static bool is_spread_stated(const struct cb_job *job)
{
    return job->scheme != CB_SCHEME_UNKNOWN || job->adapter != CB_ADAPTER_NONE ||
           job->trainable_parameters > 0 || job->gradient_bytes > 0 || job->parameter_bytes > 0 ||
           job->tensor > 0 || job->pipeline > 0 || job->context > 0 || job->expert > 0 ||
           job->data > 0 || job->local_steps > 0 || job->sync_every_micro_batch;
}

int cb_judged_job_make(const struct cb_workload *workload, double parameters, int nodes,
                       int gpus_per_node, struct cb_judged_job *out, struct cb_error *err)
{
    struct cb_judged_job made = {.stated = workload->job, .on_paper = nodes == 0};
    struct cb_job *job = &made.stated;
    char count[CB_UNIT_TEXT];
    job->parameters = parameters;
    made.spread_stated = is_spread_stated(job);
    made.batch_stated = job->tokens_per_step > 0 || job->batch_tokens > 0 || job->micro_batch > 0;
    bool batch_known =
        made.batch_stated || job->sequence > 0 || job->accumulation > 0 || job->sample_flops > 0;
    if (!batch_known) {
        const struct cb_workload_row *row = nearest_workload(parameters);
        job->tokens_per_step = row->tokens_per_step;
        cb_assume(&made.assumed, "tokens_per_step", row->tokens_per_step, CB_FROM_ASSUMED,
                  "%s tokens per rank and step", cb_format_count(count, row->tokens_per_step));
    }
    if (nodes > 0 && gpus_per_node > INT_MAX / nodes)
        return cb_fail(err, CB_E_INPUT, "%d nodes of %d GPUs cannot be", nodes, gpus_per_node);
    int gpus = nodes > 0 ? nodes * gpus_per_node : paper_gpus(job);
    int rc = cb_job_complete(job, gpus, &made.job, &made.assumed, err);
    if (rc) {
        cb_workload_respell(err);
        return rc;
    }
    cb_factor_of(&made.job, nodes > 0 ? gpus_per_node : PAPER_GPUS_PER_NODE, &made.factor);
    *out = made;
    return 0;
}

/* Spelled as the job's members: "micro-batch" is micro_batch, "tensor-parallel" tensor. */
static void member_name(enum cb_workload_field field, char *out, size_t size_bytes)
{
    static const struct {
        enum cb_workload_field field;
        const char *member;
    } others[] = {
        {CB_FIELD_TOKENS, "tokens_per_step"}, {CB_FIELD_TENSOR, "tensor"},
        {CB_FIELD_PIPELINE, "pipeline"},      {CB_FIELD_CONTEXT, "context"},
        {CB_FIELD_EXPERT, "expert"},          {CB_FIELD_DATA, "data"},
        {CB_FIELD_LORA, "adapter_rank"},      {CB_FIELD_QLORA, "adapter_rank"},
    };
    snprintf(out, size_bytes, "%s", cb_workload_field_name(field));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (others[i].field == field)
            snprintf(out, size_bytes, "%s", others[i].member);
    for (char *c = out; *c; c++)
        if (*c == '-')
            *c = '_';
}

/* The figures of the job that a reader may want to see traced. */
static const struct {
    enum cb_workload_field field;
    size_t offset;
} figures[] = {
#define FIGURE(id, member)                                                                         \
    {                                                                                              \
        CB_FIELD_##id, offsetof(struct cb_job, member)                                             \
    }
    FIGURE(PARAMETERS, parameters),
    FIGURE(TRAINABLE, trainable_parameters),
    FIGURE(ACTIVE, active_parameters),
    FIGURE(LAYERS, layers),
    FIGURE(HIDDEN, hidden),
    FIGURE(HEADS, heads),
    FIGURE(KV_HEADS, kv_heads),
    FIGURE(VOCABULARY, vocabulary),
    FIGURE(EXPERTS, experts),
    FIGURE(EXPERTS_PER_TOKEN, experts_per_token),
    FIGURE(SAMPLE_FLOPS, sample_flops),
    FIGURE(TOKENS, tokens_per_step),
    FIGURE(SEQUENCE, sequence),
    FIGURE(MICRO_BATCH, micro_batch),
    FIGURE(ACCUMULATION, accumulation),
    FIGURE(BATCH_TOKENS, batch_tokens),
    FIGURE(TOTAL_TOKENS, total_tokens),
    FIGURE(TOTAL_STEPS, total_steps),
    FIGURE(SCHEME, scheme),
    FIGURE(LORA, adapter_rank),
    FIGURE(QLORA, adapter_rank),
    FIGURE(TENSOR, tensor),
    FIGURE(PIPELINE, pipeline),
    FIGURE(INTERLEAVE, interleave),
    FIGURE(CONTEXT, context),
    FIGURE(EXPERT, expert),
    FIGURE(DATA, data),
    FIGURE(LOCAL_STEPS, local_steps),
    FIGURE(OVERLAP, overlap),
    FIGURE(BUCKET, bucket_bytes),
    FIGURE(GRADIENT_BYTES, gradient_bytes),
    FIGURE(PARAMETER_BYTES, parameter_bytes),
    FIGURE(OPTIMIZER_BYTES, optimizer_bytes),
#undef FIGURE
};

void cb_judged_job_sources(const struct cb_workload *workload, const struct cb_judged_job *judged,
                           struct cb_assumptions *list)
{
    for (size_t i = 0; i < judged->assumed.count; i++) {
        const struct cb_assumption *item = &judged->assumed.items[i];
        cb_assume(list, item->name, item->value, item->source, "%s", item->text);
    }
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        enum cb_workload_field field = figures[i].field;
        char name[sizeof(list->items[0].name)];
        double value = 0;
        if (workload->sources[field] == CB_FROM_NOWHERE)
            continue;
        member_name(field, name, sizeof(name));
        if (field == CB_FIELD_SCHEME) {
            cb_assume(list, name, 0, workload->sources[field], "%s",
                      cb_scheme_name(judged->job.scheme));
            continue;
        }
        memcpy(&value, (const char *)&judged->job + figures[i].offset, sizeof(value));
        cb_assume(list, name, value, workload->sources[field], "%s", "");
    }
}

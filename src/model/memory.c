#include "model/memory.h"

#include <math.h>

/* CUDA context and the buffers of NCCL and torch: 0.55 and 1.45 GiB were measured for two ranks
 * (stas00, ml-engineering). */
#define OVERHEAD_BYTES 2147483648.0
/* What fragmentation leaves of a GPU, 5 to 10 % being lost (the same source). */
#define USABLE_SHARE 0.92
/* Of one layer, per token and hidden element, flash attention (2205.05198); the input alone is kept
 * with full recomputation. */
#define LAYER_ACTIVATION_BYTES 34.0
#define KEPT_INPUT_BYTES 2.0
/* Of one token and word: the logits in half and their softmax in single precision. */
#define LOGIT_BYTES 6.0

/* How many ranks share the optimizer's state, the gradients, the weights. */
struct shards {
    double optimizer, gradients, weights;
};

static struct shards shards_of(const struct cb_job *job, int gpus_per_node)
{
    double ranks = job->data * job->context;
    double node_ranks = fmin(ranks, fmax(1, floor(gpus_per_node / job->tensor)));
    double sharded = job->scheme == CB_SCHEME_HYBRID || job->local_steps > 1 ? node_ranks : ranks;
    switch (job->scheme) {
    case CB_SCHEME_ZERO1:
        return (struct shards){sharded, 1, 1};
    case CB_SCHEME_ZERO2:
        return (struct shards){sharded, sharded, 1};
    case CB_SCHEME_ZERO3:
    case CB_SCHEME_FSDP:
    case CB_SCHEME_HYBRID:
        return (struct shards){sharded, sharded, sharded};
    default:
        return (struct shards){1, 1, 1};
    }
}

static double embedding_parameters(const struct cb_job *job)
{
    return fmin(job->vocabulary * job->hidden, job->parameters);
}

/* Parameters of one rank before data-parallel sharding: an expert degree spreads the experts, and
 * of the pipeline's stages the first has the embeddings as well. */
static double rank_parameters(const struct cb_job *job)
{
    double experts = job->expert > 1 ? cb_job_expert_parameters(job) : 0;
    double spread = job->parameters - experts + experts / job->expert;
    double embeddings = fmin(embedding_parameters(job), spread);
    return ((spread - embeddings) / job->pipeline + embeddings) / job->tensor;
}

/* Bytes of the frozen weights of one rank: in 4 bits all but the embeddings, going in and coming
 * out. */
static double frozen_bytes(const struct cb_job *job, double frozen)
{
    if (job->adapter != CB_ADAPTER_QLORA)
        return frozen * job->parameter_bytes;
    double whole = fmin(2 * embedding_parameters(job) / job->tensor, frozen);
    return (frozen - whole) * CB_JOB_QLORA_WEIGHT_BYTES + whole * job->parameter_bytes;
}

/* Activations of the fullest stage, the first: it keeps a micro-batch for each stage behind it. */
static void fill_activations(const struct cb_job *job, struct cb_memory *memory)
{
    double stage_layers = job->layers / job->pipeline;
    double tokens = job->micro_batch * job->sequence / job->context;
    double kept = fmin(fmax(1, job->accumulation), job->pipeline);
    if (job->pipeline > 1 && job->interleave > 1)
        kept *= 1 + (job->pipeline - 1) / (job->pipeline * job->interleave);
    double element_bytes = tokens * job->hidden;
    double layer_bytes = LAYER_ACTIVATION_BYTES * element_bytes / job->tensor;
    double logits_bytes = LOGIT_BYTES * tokens * job->vocabulary / job->tensor;
    if (job->full_recompute)
        memory->activations_bytes =
            KEPT_INPUT_BYTES * element_bytes * stage_layers * kept / job->tensor + layer_bytes;
    else
        memory->activations_bytes = layer_bytes * stage_layers * kept;
    /* The logits are in the last stage, which keeps one micro-batch alone. */
    double last_bytes = memory->activations_bytes / kept + logits_bytes;
    if (job->pipeline == 1 || last_bytes > memory->activations_bytes) {
        memory->activations_bytes /= kept;
        memory->logits_bytes = logits_bytes;
    }
}

void cb_memory_of(const struct cb_job *job, int gpus_per_node, double gpu_bytes,
                  struct cb_memory *memory)
{
    struct cb_memory out = {.overhead_bytes = OVERHEAD_BYTES};
    struct shards shards = shards_of(job, gpus_per_node);
    double trained_share = job->trainable_parameters / job->parameters;
    double parameters = rank_parameters(job);
    double trained = parameters * trained_share;
    double weights_bytes = frozen_bytes(job, parameters - trained) + trained * job->parameter_bytes;
    out.weights_bytes = weights_bytes / shards.weights;
    out.gradients_bytes = trained * job->gradient_bytes / shards.gradients;
    out.optimizer_bytes = trained * job->optimizer_bytes / shards.optimizer;
    if (shards.weights > 1 && job->pipeline > 1) /* gathered for the whole step */
        out.gathered_bytes = weights_bytes;
    else if (shards.weights > 1 && job->layers > 0)
        out.gathered_bytes =
            (weights_bytes + trained * job->gradient_bytes) / fmax(1, job->layers / job->pipeline);
    fill_activations(job, &out);
    out.total_bytes = out.weights_bytes + out.gradients_bytes + out.optimizer_bytes +
                      out.gathered_bytes + out.activations_bytes + out.logits_bytes +
                      out.overhead_bytes;
    out.usable_bytes = gpu_bytes * USABLE_SHARE;
    out.fits = gpu_bytes > 0 && out.total_bytes <= out.usable_bytes;
    *memory = out;
}

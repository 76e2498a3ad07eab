/* What a job sends per optimizer step: the factor of the documents' formula, and every collective
 * with its size, how often, and in which group. */
#ifndef CB_MODEL_VOLUMES_H
#define CB_MODEL_VOLUMES_H

#include "model/collective.h"
#include "model/job.h"
#include "model/network.h"

/* "Communications" per optimizer step: what the node's links carry to keep the parameters in step,
 * in units of parameters x 4 bytes. */
struct cb_factor {
    double communications;
    double scheme_communications; /* before the model-parallel degrees are accounted for */
    char reason[256]; /* one line that can be redone by hand: "FSDP full shard: (2 x 2 B + 2 B) / 4
                       * B x 4 micro-batches = 6" */
};

/* The factor of a complete job on nodes x gpus_per_node GPUs; 0 when there is one data-parallel
 * rank, which has nothing to keep in step. Tensor, expert and pipeline traffic is not in it: the
 * formula is about the parameters. Source: ring all_reduce moves 2 S, all_gather and reduce_scatter
 * S per rank (nccl-tests, doc/PERFORMANCE.md); volumes per scheme: docs/design.md, "The training
 * step". Pure. */
void cb_factor_of(const struct cb_job *job, int gpus_per_node, struct cb_factor *factor);

enum cb_traffic_kind {
    CB_TRAFFIC_GRADIENTS,
    CB_TRAFFIC_PARAMETERS, /* sharded weights gathered */
    CB_TRAFFIC_EXPERT_GRADIENTS,
    CB_TRAFFIC_TENSOR,
    CB_TRAFFIC_PIPELINE,
    CB_TRAFFIC_CONTEXT,
    CB_TRAFFIC_EXPERT,
    CB_TRAFFIC_EMBEDDING, /* tied embeddings of the first and last stage */
    CB_TRAFFIC_KIND_COUNT
};

/* "gradients", "parameters", ...; never NULL. */
const char *cb_traffic_kind_name(enum cb_traffic_kind kind);

/* What a transfer can run beside. */
enum cb_hiding {
    CB_HIDE_NOWHERE, /* on the critical path */
    CB_HIDE_FORWARD,
    CB_HIDE_BACKWARD,
    CB_HIDE_LAST_BACKWARD, /* of the last micro-batch only */
    CB_HIDE_STEP,          /* all of the compute */
    CB_HIDING_COUNT
};

struct cb_traffic {
    enum cb_traffic_kind kind;
    enum cb_op op;
    double size_bytes; /* of one operation, as cb_op_usable_bytes defines it */
    double operations; /* per optimizer step; a fraction with local steps */
    struct cb_group_shape group;
    double groups; /* of that shape that share one node's links at a time, 1 or more */
    enum cb_hiding hiding;
    bool grows_with_tokens; /* its size follows the micro-batch */
};

#define CB_TRAFFIC_MAX 16
struct cb_volumes {
    struct cb_traffic items[CB_TRAFFIC_MAX];
    size_t count;
};

/* The traffic of one GPU of a complete job on nodes of gpus_per_node GPUs, ranks placed as Megatron
 * and DeepSpeed do: tensor ranks next to each other, then context, data, pipeline stages farthest
 * apart. Pure. */
void cb_volumes_of(const struct cb_job *job, int gpus_per_node, struct cb_volumes *volumes);

#endif

/* Whether a job fits a GPU's memory. */
#ifndef CB_MODEL_MEMORY_H
#define CB_MODEL_MEMORY_H

#include <stdbool.h>

#include "model/job.h"

/* Bytes on one GPU, the fullest pipeline stage. */
struct cb_memory {
    double weights_bytes;
    double gradients_bytes;
    double optimizer_bytes;   /* with the master copy */
    double gathered_bytes;    /* of sharded weights, the layers that are whole at a time */
    double activations_bytes; /* kept for the backward pass, flash attention */
    double logits_bytes;
    double overhead_bytes; /* CUDA context, NCCL, framework */
    double total_bytes;
    double usable_bytes; /* of the GPU, what fragmentation leaves; 0 when its size is not known */
    bool fits;           /* total <= usable; false when that is not known */
};

/* The memory of a complete job on nodes of gpus_per_node GPUs (hybrid shard shards over a node).
 * gpu_bytes 0: not known. Sources: ZeRO (1910.02054) for the states, Korthikanti et al.
 * (2205.05198) for the activations; docs/design.md, "Memory". Pure. */
void cb_memory_of(const struct cb_job *job, int gpus_per_node, double gpu_bytes,
                  struct cb_memory *memory);

#endif

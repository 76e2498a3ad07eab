/* A training job as its owner describes it: the model, the batch, how it is spread over GPUs. */
#ifndef CB_MODEL_JOB_H
#define CB_MODEL_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/provenance.h"

/* How the data-parallel ranks keep the model in step. */
enum cb_scheme {
    CB_SCHEME_UNKNOWN = 0, /* DDP is assumed */
    CB_SCHEME_DDP,
    CB_SCHEME_ZERO1,  /* also Megatron's distributed optimizer */
    CB_SCHEME_ZERO2,  /* also FSDP SHARD_GRAD_OP */
    CB_SCHEME_ZERO3,  /* DeepSpeed stage 3 */
    CB_SCHEME_FSDP,   /* FULL_SHARD */
    CB_SCHEME_HYBRID, /* FSDP HYBRID_SHARD: sharded inside a node, replicated across */
    CB_SCHEME_COUNT
};

enum cb_adapter {
    CB_ADAPTER_NONE = 0, /* all of trainable_parameters belong to the model itself */
    CB_ADAPTER_LORA,
    CB_ADAPTER_QLORA, /* frozen weights in 4 bits */
    CB_ADAPTER_COUNT
};

/* How a sequence is split over context-parallel ranks. */
enum cb_context_kind { CB_CONTEXT_RING = 0, CB_CONTEXT_ULYSSES, CB_CONTEXT_COUNT };

/* Names as the command line and files spell them ("ddp", "zero1", "zero3", "fsdp", "hybrid";
 * "none", "lora", "qlora"; "ring", "ulysses"); "unknown" for 0 of a scheme; never NULL. The parsers
 * return the value, or -1 for another name. */
const char *cb_scheme_name(enum cb_scheme scheme);
const char *cb_adapter_name(enum cb_adapter adapter);
const char *cb_context_kind_name(enum cb_context_kind kind);
int cb_scheme_parse(const char *name);
int cb_adapter_parse(const char *name);
int cb_context_kind_parse(const char *name);

/* The scheme as a sentence names it ("DDP", "ZeRO-1", "FSDP full shard"). */
const char *cb_scheme_title(enum cb_scheme scheme);

/* 0 in any field is "not stated": cb_job_complete says what is then assumed. */
struct cb_job {
    char name[64]; /* "Llama 7B", or empty */

    /* the model */
    double parameters;
    double trainable_parameters; /* 0: all of them, or what the adapter's rank makes */
    double active_parameters;    /* used for one token, of a mixture of experts; 0: all */
    double layers;
    double hidden;
    double heads, kv_heads; /* of attention; kv_heads fewer in grouped-query attention */
    double vocabulary;
    double experts, experts_per_token; /* 0: dense */

    /* The batch of one data-parallel rank (of one GPU in pure data parallelism). Either the shape
     * (sequence x micro_batch x accumulation) or tokens_per_step. */
    double sequence;        /* tokens of one sequence */
    double micro_batch;     /* sequences worked on at a time */
    double accumulation;    /* micro-batches per optimizer step */
    double tokens_per_step; /* of one data-parallel rank, per optimizer step; must agree with the
                             * shape when both are stated */
    double batch_tokens;    /* of all ranks together: fixes the accumulation, whatever the number of
                             * GPUs; not together with accumulation or tokens_per_step */

    /* What is no transformer is described by its work alone; a "token" is then one sample. */
    double sample_flops; /* forward and backward of one sample; sequence is then 1 */

    /* Attention's own work is left out of the count: set by cb_job_complete when the sequence, its
     * length deciding that work, is not stated. */
    bool without_attention;

    /* precision and memory */
    double gradient_bytes;  /* of one gradient, on the wire */
    double parameter_bytes; /* of one parameter, on the wire and in memory */
    double optimizer_bytes; /* of one trained parameter's optimizer state and master copy */
    bool full_recompute;    /* activations are computed again in the backward pass */

    /* how it is spread */
    enum cb_scheme scheme;
    enum cb_adapter adapter;
    double adapter_rank;
    double local_steps; /* optimizer steps between synchronisations across nodes (DiLoCo, local
                         * SGD); the scheme then works inside each node */
    bool sync_every_micro_batch; /* DDP without no_sync(): gradients are reduced every micro-batch
                                  */
    double tensor, pipeline, context, expert; /* degrees; expert divides context x data */
    double data;                              /* 0: what the GPUs leave */
    double interleave;                        /* model chunks of one pipeline stage; 0: 1 */
    enum cb_context_kind context_kind;
    double bucket_bytes; /* of gradients reduced at a time; 0: the framework's */
    double overlap; /* share of the hideable time that is hidden, within [0, 1); see has_overlap */
    bool has_overlap;    /* false: the scheme's default */
    bool overlap_tensor; /* tensor traffic may run beside computing too (Transformer Engine's
                          * userbuffers, async tensor parallelism, Domino); it cannot otherwise */

    /* the whole training; either, or neither */
    double total_tokens; /* all ranks together */
    double total_steps;
};

/* One thing that was taken for granted. */
struct cb_assumption {
    char name[24];             /* of the field: "gradient_bytes" */
    double value;              /* of the field, 0 when it is no number */
    char text[160];            /* "2 bytes per gradient (plain torch DDP: 4)" */
    enum cb_provenance source; /* CB_FROM_ASSUMED, or CB_FROM_REFERENCE for a published default */
};
#define CB_ASSUMPTIONS_MAX 48
struct cb_assumptions {
    struct cb_assumption items[CB_ASSUMPTIONS_MAX];
    size_t count;
};

/* Appends one, or replaces the one of that name; drops it silently when the list is full. text is
 * printf format. */
void cb_assume(struct cb_assumptions *list, const char *name, double value,
               enum cb_provenance source, const char *text, ...)
    __attribute__((format(printf, 5, 6)));

/* Refuses what cannot be, naming the field as it is spelled above: a number that is not finite or
 * negative, parameters missing or above CB_JOB_PARAMETERS_MAX, more trainable or active than total
 * parameters, tokens that contradict the shape, a tensor degree that divides neither hidden nor the
 * GPUs, degrees that do not multiply into the GPUs, fractions of a layer or degree. gpus 0: the
 * number is not known and is not checked against. Errors: CB_E_USAGE. Pure. */
int cb_job_check(const struct cb_job *job, int gpus, struct cb_error *err);
#define CB_JOB_PARAMETERS_MAX 1e15

/* Checks the job, then fills every field that is not stated and says in assumed (appended) what was
 * taken for what. gpus >= 1. Of a shape only parameters are needed: layers and hidden follow from
 * them (parameters = 12 x layers x hidden^2, hidden = 128 x layers). Outputs only on success.
 * Errors: as cb_job_check. Pure. */
int cb_job_complete(const struct cb_job *job, int gpus, struct cb_job *complete,
                    struct cb_assumptions *assumed, struct cb_error *err);

/* Floating-point operations of one token (sample), forward and backward:
 *   4 x active + 2 x trained of them [+ 2 x active with full recompute] + 12 x layers x hidden x
 *   sequence [x 4/3 with full recompute].
 * Sources: Kaplan et al. 2020 (2 forward, 4 backward; frozen weights need no gradient of their
 * own); Narayanan et al. 2021, eq. 3 (attention, full square). Takes a complete job. */
double cb_job_token_flops(const struct cb_job *job);

/* The same of one GPU per optimizer step. */
double cb_job_gpu_flops(const struct cb_job *job);

/* Parameters of all experts of a mixture: parameters - active are those of the experts that a token
 * does not see. 0 for a dense model. Takes a complete job. */
double cb_job_expert_parameters(const struct cb_job *job);

/* Bytes of a frozen weight under QLoRA: NF4 with double quantisation, 4 bits and 0.127 of constants
 * (2305.14314). */
#define CB_JOB_QLORA_WEIGHT_BYTES ((4 + 0.127) / 8)

/* Tokens of one data-parallel rank per optimizer step; of all ranks. Takes a complete job. */
double cb_job_rank_tokens(const struct cb_job *job);
double cb_job_step_tokens(const struct cb_job *job);

#endif

/* Every fact of a training job that a user can state: one row each, from which the command line,
 * the workload file and the record of where a value comes from are made.
 *
 *   X(ID, name, KIND, member, argument, doc)
 *
 * name is the option's (without dashes) and the file's key; KIND how the text is read
 * (workload.c); member where in struct cb_workload it goes. */
#ifndef CB_MODEL_WORKLOAD_FIELDS_H
#define CB_MODEL_WORKLOAD_FIELDS_H

#define CB_WORKLOAD_COUNT_FIELDS(X)                                                                \
    X(COMMUNICATIONS, "communications", COUNT, communications, "COUNT",                            \
      "Synchronisations of the whole model over the training; optimizer steps in plain data "      \
      "parallelism (default: what the scheme makes of the steps, 1 step)")

#define CB_WORKLOAD_TIME_FIELDS(X)                                                                 \
    X(PER_STEP, "communications-per-step", COUNT, communications_per_step, "COUNT",                \
      "Synchronisations of the whole model per optimizer step (default: follows from the scheme, " \
      "1 for plain data parallelism with 2-byte gradients)")                                       \
    X(TOTAL_TIME, "total-time", TOTAL_TIME, time_s, "TIME",                                        \
      "Time of the whole training, communication included: 24h, 3600s")                            \
    X(STEP_TIME, "step-time", STEP_TIME, time_s, "TIME",                                           \
      "Time of one whole step, communication included: 3.5s, 800ms")                               \
    X(COMPUTE_TIME, "compute-time", COMPUTE_TIME, time_s, "TIME",                                  \
      "Time of one step without its communication")                                                \
    X(THRESHOLD, "threshold", SHARE, threshold, "SHARE",                                           \
      "Share of the training time above which communication is a bottleneck (default 20%)")

#define CB_WORKLOAD_MODEL_FIELDS(X)                                                                \
    X(MODEL, "model", TEXT, model, "NAME",                                                         \
      "A known model: llama-8b, gpt2-125m, mixtral-8x7b, ...; what else is stated overrides it")   \
    X(PARAMETERS, "parameters", COUNT, job.parameters, "COUNT",                                    \
      "Parameters: 7e9, 7B, 125M (default: a table of standard models, 7B judged)")                \
    X(TRAINABLE, "trainable-parameters", COUNT, job.trainable_parameters, "COUNT",                 \
      "Parameters that are trained (default: all, or what --lora makes)")                          \
    X(ACTIVE, "active-parameters", COUNT, job.active_parameters, "COUNT",                          \
      "Parameters that one token passes, in a mixture of experts (default: all)")                  \
    X(LAYERS, "layers", WHOLE, job.layers, "N", "Transformer layers")                              \
    X(HIDDEN, "hidden", WHOLE, job.hidden, "N", "Width of the hidden state")                       \
    X(HEADS, "heads", WHOLE, job.heads, "N", "Attention heads")                                    \
    X(KV_HEADS, "kv-heads", WHOLE, job.kv_heads, "N", "Heads of keys and values, where fewer")     \
    X(VOCABULARY, "vocabulary", WHOLE, job.vocabulary, "N", "Size of the vocabulary")              \
    X(EXPERTS, "experts", WHOLE, job.experts, "N", "Experts of a mixture")                         \
    X(EXPERTS_PER_TOKEN, "experts-per-token", WHOLE, job.experts_per_token, "N",                   \
      "Experts that one token passes")                                                             \
    X(SAMPLE_FLOPS, "sample-flops", COUNT, job.sample_flops, "COUNT",                              \
      "FLOP of one sample, forward and backward, of what is no transformer; a token is then a "    \
      "sample")

#define CB_WORKLOAD_BATCH_FIELDS(X)                                                                \
    X(TOKENS, "tokens", COUNT, job.tokens_per_step, "COUNT",                                       \
      "Tokens per rank and optimizer step; the compute time then follows from the measured GEMM "  \
      "rate")                                                                                      \
    X(SEQUENCE, "sequence", WHOLE, job.sequence, "N", "Tokens of one sequence")                    \
    X(MICRO_BATCH, "micro-batch", WHOLE, job.micro_batch, "N",                                     \
      "Sequences that a rank works on at a time")                                                  \
    X(ACCUMULATION, "accumulation", WHOLE, job.accumulation, "N",                                  \
      "Micro-batches per optimizer step (gradient accumulation)")                                  \
    X(BATCH_TOKENS, "batch-tokens", COUNT, job.batch_tokens, "COUNT",                              \
      "Tokens of all ranks together per optimizer step; fixes the accumulation")                   \
    X(TOTAL_TOKENS, "total-tokens", COUNT, job.total_tokens, "COUNT",                              \
      "Tokens of the whole training, all ranks together")                                          \
    X(TOTAL_STEPS, "total-steps", COUNT, job.total_steps, "COUNT",                                 \
      "Optimizer steps of the whole training")

#define CB_WORKLOAD_SPREAD_FIELDS(X)                                                               \
    X(SCHEME, "scheme", SCHEME, job.scheme, "NAME",                                                \
      "ddp, zero1, zero2, zero3, fsdp, hybrid; with an adapter: zero3+lora (default ddp)")         \
    X(LORA, "lora", LORA, job.adapter_rank, "RANK", "Train low-rank adapters of that rank only")   \
    X(QLORA, "qlora", QLORA, job.adapter_rank, "RANK", "As --lora, the frozen weights in 4 bits")  \
    X(TENSOR, "tensor-parallel", WHOLE, job.tensor, "N", "GPUs that split each layer")             \
    X(PIPELINE, "pipeline-parallel", WHOLE, job.pipeline, "N", "Stages of layers")                 \
    X(INTERLEAVE, "interleave", WHOLE, job.interleave, "N", "Chunks of layers per stage")          \
    X(CONTEXT, "context-parallel", WHOLE, job.context, "N", "GPUs that split each sequence")       \
    X(CONTEXT_KIND, "context-kind", CONTEXT_KIND, job.context_kind, "NAME",                        \
      "How context-parallel GPUs split it: ring or ulysses (default ring)")                        \
    X(EXPERT, "expert-parallel", WHOLE, job.expert, "N", "GPUs that split the experts")            \
    X(DATA, "data-parallel", WHOLE, job.data, "N", "Replicas (default: what the GPUs leave)")      \
    X(LOCAL_STEPS, "local-steps", WHOLE, job.local_steps, "N",                                     \
      "Optimizer steps between synchronisations across nodes (DiLoCo, local SGD)")                 \
    X(OVERLAP, "overlap", OVERLAP, job.overlap, "SHARE",                                           \
      "Share of what can be hidden behind compute that is: 0, 50% (default: the scheme's)")        \
    X(OVERLAP_TENSOR, "overlap-tensor", OVERLAP_TENSOR, job.overlap_tensor, "WHETHER",             \
      "no or yes: tensor-parallel traffic can be hidden too (Transformer Engine; default no)")     \
    X(GRADIENT_SYNC, "gradient-sync", GRADIENT_SYNC, job.sync_every_micro_batch, "WHEN",           \
      "step or micro-batch: when DDP reduces gradients under accumulation (default step)")         \
    X(BUCKET, "bucket-bytes", SIZE, job.bucket_bytes, "SIZE",                                      \
      "Gradients reduced at a time: 25M (default: the framework's)")

#define CB_WORKLOAD_PRECISION_FIELDS(X)                                                            \
    X(GRADIENT_BYTES, "gradient-bytes", WIDTH, job.gradient_bytes, "BYTES",                        \
      "Bytes of one gradient on the wire (default 2; plain torch DDP sends 4)")                    \
    X(PARAMETER_BYTES, "parameter-bytes", WIDTH, job.parameter_bytes, "BYTES",                     \
      "Bytes of one parameter on the wire and in memory (default 2)")                              \
    X(OPTIMIZER_BYTES, "optimizer-bytes", WIDTH, job.optimizer_bytes, "BYTES",                     \
      "Bytes of one trained parameter's optimizer state and master copy (default 12)")             \
    X(RECOMPUTE, "recompute", RECOMPUTE, job.full_recompute, "WHAT",                               \
      "Activations computed again in the backward pass: none or full (default none)")

#define CB_WORKLOAD_COST_FIELDS(X)                                                                 \
    X(PRICE, "price-per-gpu-hour", PRICE, price_per_gpu_hour, "AMOUNT",                            \
      "What one GPU costs per hour: gives the cost of idle GPUs and of the training")              \
    X(CURRENCY, "currency", TEXT, currency, "NAME", "Currency of the price: USD, EUR, CNY")

#define CB_WORKLOAD_FIELDS(X)                                                                      \
    CB_WORKLOAD_COUNT_FIELDS(X)                                                                    \
    CB_WORKLOAD_TIME_FIELDS(X)                                                                     \
    CB_WORKLOAD_MODEL_FIELDS(X)                                                                    \
    CB_WORKLOAD_BATCH_FIELDS(X)                                                                    \
    CB_WORKLOAD_SPREAD_FIELDS(X)                                                                   \
    CB_WORKLOAD_PRECISION_FIELDS(X)                                                                \
    CB_WORKLOAD_COST_FIELDS(X)

#endif

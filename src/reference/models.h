/* The models that people train, by name: public shapes, every row with its source. */
#ifndef CB_REFERENCE_MODELS_H
#define CB_REFERENCE_MODELS_H

#include <stddef.h>

/* A model that is no transformer has 0 for the shape that it does not have, and is described by the
 * work of one sample. */
struct cb_model_row {
    const char *name;  /* as the command line spells it: "llama-8b" */
    const char *title; /* "Llama 3.1 8B" */
    double parameters;
    double active_parameters; /* that one token passes through; below parameters in a mixture */
    int layers;
    int hidden;
    int feed_forward; /* width of the feed-forward block, of one expert's in a mixture */
    int heads, kv_heads;
    int vocabulary;
    int experts, experts_per_token; /* 0: no mixture */
    int sequence; /* tokens of one sample in its own (pre-)training; 1 where a sample is one */
    double sample_flops; /* of one sample, forward and backward; 0 of a transformer */
    const char *source;
};

/* The table, in the order of --list models; *count rows. Static, borrowed, as what follows. */
const struct cb_model_row *cb_models(size_t *count);

/* The row of that name or title ("llama-8b", "Llama 3.1 8B", "llama_3.1_8b": case does not matter,
 * blanks and underscores are dashes); NULL when there is none. */
const struct cb_model_row *cb_model_find(const char *name);

/* The name that looks most like an unknown one, or NULL when none is near. */
const char *cb_model_suggest(const char *name);

#endif

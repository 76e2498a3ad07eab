/* What would change the verdict: alternatives that the model itself has tried. */
#ifndef CB_MODEL_ADVICE_H
#define CB_MODEL_ADVICE_H

#include "model/training.h"

enum cb_advice_kind {
    CB_ADVICE_ACCUMULATE,     /* more micro-batches per optimizer step */
    CB_ADVICE_HALF_GRADIENTS, /* bf16 instead of fp32 on the wire */
    CB_ADVICE_ZERO1,          /* ZeRO-1 instead of sharded weights, accumulating where it must */
    CB_ADVICE_HYBRID,         /* shard inside the node only, accumulating where it must */
    CB_ADVICE_OVERLAP,        /* switch on what the framework leaves off */
    CB_ADVICE_LORA,
    CB_ADVICE_QLORA, /* where LoRA does not help or fit */
    CB_ADVICE_LINK,  /* a faster one */
    CB_ADVICE_COUNT
};
const char *cb_advice_kind_name(enum cb_advice_kind kind);

/* Which share has to come below the threshold. The serial share is never below the exposed one. */
enum cb_share { CB_SHARE_SERIAL, CB_SHARE_EXPOSED };

struct cb_advice {
    enum cb_advice_kind kind;
    double value;         /* accumulation, link byte/s, adapter rank, overlap; 0 otherwise */
    double serial_share;  /* with it */
    double exposed_share; /* with it, expected overlap, median network */
    double step_s;
    bool fits;        /* the GPU's memory; true when that is not known */
    char text[224];   /* "accumulate 8 micro-batches instead of 1: 41 % falls to 9 %" */
    char caveat[128]; /* "the batch becomes 8 times as large"; may be empty */
};

struct cb_advice_list {
    struct cb_advice items[CB_ADVICE_COUNT];
    size_t count;
};

/* What brings that share of the job from above the threshold to it or below, cheapest first; empty
 * when it is not above, or nothing does. Alternatives that would not fit the memory are left out,
 * unless the job itself does not fit. Each is predicted by cb_training_predict. Errors: as that.
 * Outputs only on success. Pure. */
int cb_advise(const struct cb_job *job, const struct cb_machine *machine, enum cb_share share,
              struct cb_advice_list *advice, struct cb_error *err);

#endif

/* The documents' formula: communication time = parameters x 4 bytes x communications / bandwidth, a
 * bottleneck above a share of 20 % of the training time. */
#ifndef CB_MODEL_FORMULA_H
#define CB_MODEL_FORMULA_H

#include <stdbool.h>

#include "base/error.h"
#include "base/provenance.h"

#define CB_FORMULA_BYTES_PER_PARAMETER 4.0
/* The message behind these 4 bytes: gradients in half precision, which a ring all_reduce sends
 * twice. */
#define CB_FORMULA_MESSAGE_BYTES_PER_PARAMETER 2.0
#define CB_FORMULA_THRESHOLD 0.20

/* Which time the user or the measurement states. */
enum cb_span {
    CB_SPAN_TOTAL,   /* the whole training, communication included */
    CB_SPAN_STEP,    /* one whole step, communication included */
    CB_SPAN_COMPUTE, /* one step without its communication */
    CB_SPAN_COUNT
};

/* "total", "step", "compute"; the parser returns -1 for an unknown name. */
const char *cb_span_name(enum cb_span span);
int cb_span_parse(const char *name);

/* One judgement, input and outcome: everything a reader needs to redo the arithmetic by hand. */
struct cb_formula {
    bool judged;       /* false: there was nothing to judge, and nothing below is meaningful */
    char workload[64]; /* "7B full fine-tune" or empty */

    /* input */
    double parameters;
    double communications; /* synchronisations of the whole model over the training */
    enum cb_provenance communications_source;
    double communications_per_step; /* of them, in one optimizer step; 0: 1 */
    enum cb_provenance communications_per_step_source;
    char communications_note[288]; /* "ZeRO-1: (4 B + 2 B) / 4 B = 1.5"; may be empty */
    double bandwidth_bytes_per_s;
    enum cb_provenance bandwidth_source;
    char bandwidth_note[256]; /* "all_reduce at 64 MiB, world, the largest size measured" */
    enum cb_span span;
    double time_s; /* of the span */
    enum cb_provenance time_source;
    char time_note[256];    /* "6 x 7e9 FLOP x 512 tokens / (103 GFLOP/s x 0.6)" */
    double tokens_per_step; /* per rank; 0 when the time does not come from tokens */
    double threshold;

    /* outcome */
    double bytes_per_step;  /* parameters x 4 x communications per step */
    double communication_s; /* over the whole training */
    double step_communication_s;
    double total_s;              /* the time that the share is taken of, over the whole training */
    double share;                /* communication_s / total_s; above 1 the time cannot hold it */
    double required_bytes_per_s; /* the bandwidth at which the share would be the threshold */
    double critical_tokens;      /* tokens per rank and step at which it would be; 0 when unknown */
    bool bottleneck;             /* share > threshold */
    bool undecided;              /* what was measured allows both answers */
    char undecided_note[192];    /* why, and what would settle it; empty when decided */
};

/* Computes the outcome from the input fields of *formula (parameters, communications,
 * communications_per_step, bandwidth_bytes_per_s, span, time_s, tokens_per_step, threshold) and
 * sets judged. With N communications over the training and n in a step, P x 4 x n / B of each step:
 *   total:   share = P x 4 x N / B / time
 *   step:    share = P x 4 x n / B / time                  (N cancels)
 *   compute: share = c / (c + time), c = P x 4 x n / B      (N cancels)
 * Source: the documents' formula (docs/design.md, "The formula"); required bandwidth and critical
 * tokens are its inversions. Pure. Errors: CB_E_USAGE naming the value that is not positive and
 * finite, or whose product overflows; the outcome is then untouched. */
int cb_formula_judge(struct cb_formula *formula, struct cb_error *err);

#endif

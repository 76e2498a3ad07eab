/* The machine that a measured result makes of a training step's: what one GPU (or host rank)
 * reaches, its memory, and what the workload says of time and money. */
#ifndef CB_JUDGE_MACHINE_H
#define CB_JUDGE_MACHINE_H

#include "base/dtype.h"
#include "base/error.h"
#include "base/provenance.h"
#include "model/training.h"
#include "model/workload.h"
#include "result/result.h"

/* Share of the measured GEMM rate that training reaches without network loss: assumed, see
 * docs/design.md. */
#define CB_TRAINING_SHARE_OF_GEMM 0.6

/* The GEMM rate that training computes at: bfloat16's where it was measured, else float16's,
 * float32's. A result made of other people's logs has none: then it is the lowest that was
 * published of the GPU that they name, or, where that is unknown, an assumed GPU's. Where each was
 * too small to judge by, it is the lowest published of the GPU that was measured, if any is. */
struct cb_gemm_rate {
    double flops_per_s; /* median over ranks; 0 when there is none */
    enum cb_dtype dtype;
    enum cb_provenance source; /* measured, reference or assumed */
    char note[96];             /* "median bfloat16 GEMM of 16 ranks", whose it is, or why none */
};

/* Errors: CB_E_MEMORY. */
int cb_gemm_rate_find(const struct cb_result *result, struct cb_gemm_rate *rate,
                      struct cb_error *err);

/* Fills the machine: the rate a GPU reaches in training (0 without a GEMM), a stated
 * --compute-time, the memory of the smallest GPU that a rank computes on, price and threshold.
 * network is borrowed. */
void cb_machine_of_result(const struct cb_result *result, const struct cb_workload *workload,
                          const struct cb_gemm_rate *rate, const struct cb_network *network,
                          struct cb_machine *machine);

#endif

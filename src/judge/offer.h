/* An offer on paper: the machine and the bandwidth that its data sheets make. */
#ifndef CB_JUDGE_OFFER_H
#define CB_JUDGE_OFFER_H

#include "base/error.h"
#include "model/offer.h"
#include "model/training.h"
#include "model/workload.h"
#include "result/result.h"

/* Fills result->offer, formula, workloads and prediction, replacing what they held: as
 * cb_judge_result, with bandwidth and time from the offer where the workload states none. network
 * is the offer's (cb_offer_resolve). Errors: CB_E_USAGE for a job that cannot be, or not on these
 * GPUs, CB_E_MEMORY; the result is then unchanged. */
int cb_judge_offer(const struct cb_offer *offer, const struct cb_network *network,
                   const struct cb_workload *workload, struct cb_result *result,
                   struct cb_error *err);

/* Fills the machine: the rate that healthy cards reach in GEMM times the share of it that training
 * reaches, a stated --compute-time, memory, price and threshold. network is borrowed. */
void cb_machine_of_offer(const struct cb_offer *offer, const struct cb_workload *workload,
                         const struct cb_network *network, struct cb_machine *machine);

/* Fills the formula's bandwidth: the slower of the two paths, one way, at the share of its nominal
 * rate that others got for a large all_reduce, with the band of these shares in the note. Returns
 * false, the note saying why, when there is one GPU only. */
bool cb_offer_bandwidth(const struct cb_offer *offer, struct cb_formula *formula);

#endif

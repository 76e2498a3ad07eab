/* From what was measured to what it means: fills a result's verdict and checks. Pure. */
#ifndef CB_JUDGE_JUDGE_H
#define CB_JUDGE_JUDGE_H

#include <stdbool.h>

#include "base/error.h"
#include "model/workload.h"
#include "result/result.h"

/* Below this size a larger gradient's bandwidth is not judged a bottleneck by extrapolation: the
 * half-power size of gigabit to 400 Gb/s links lies under it for two nodes, see docs/design.md. */
#define CB_JUDGE_TELLING_BYTES (1u << 20)

/* Fills result->formula, result->workloads, result->checks and result->fits from its rows and the
 * stated workload, replacing what they held. With no parameters stated the standard workloads are
 * judged and the 7B one is the headline. The bandwidth is the stated one, else the measured bus
 * bandwidth of all_reduce over the widest scope at the gradient's size (parameters x 2 bytes):
 * interpolated between measured sizes; beyond them the nearest size's, which then counts as
 * extrapolated. The time is the stated one, else a compute time of 6 x parameters x tokens / (GEMM
 * rate x 0.6; bfloat16's where it was measured, else float16's, float32's), with the tokens of the
 * nearest standard workload when none are stated (the note says so). When a part is missing
 * formula.judged stays false and formula.time_note or bandwidth_note says which. Checks are made of
 * a result that holds measurements. Errors: CB_E_USAGE for a workload that cannot be (see
 * cb_formula_judge), CB_E_MEMORY; the result is then unchanged. */
int cb_judge_result(struct cb_result *result, const struct cb_workload *workload,
                    struct cb_error *err);

/* The exit status that a judged result deserves: 5 stopped early, else 3 a step failed, else 1
 * wrong data, else 3 there is no verdict since a part of it could not be measured (where the
 * formula has nothing to say of the job, the model of the step gives the verdict), else 4 the
 * deciding bandwidth is too noisy to tell, else 1 bottleneck or a check short or in alarm, else 0.
 */
int cb_judge_exit_status(const struct cb_result *result);

/* Whether data arrived or were computed wrong in any step: no wish for a status of 0 hides that. */
bool cb_judge_has_wrong_data(const struct cb_result *result);

#endif

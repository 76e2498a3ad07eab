/* What the model of a training step makes of a result. */
#ifndef CB_JUDGE_TRAINING_H
#define CB_JUDGE_TRAINING_H

#include "base/error.h"
#include "judge/job.h"
#include "judge/machine.h"
#include "model/training.h"
#include "result/result.h"

/* Predicts the step of the job on what the result measured (or over a stated bandwidth) and what
 * would change the verdict. headline is the formula's judgement, whose charge the advice is to
 * lift. Where the measurements do not tell what the job needs nothing is predicted and the note
 * says why; that is no error. Errors: CB_E_USAGE for a job that cannot be, CB_E_MEMORY. Pure. */
int cb_judge_training(const struct cb_result *result, const struct cb_workload *workload,
                      const struct cb_judged_job *judged, const struct cb_formula *headline,
                      struct cb_prediction *prediction, struct cb_error *err);

/* The same on a machine that is known otherwise. bound: the formula's charge. */
int cb_judge_training_on(const struct cb_machine *machine, const struct cb_workload *workload,
                         const struct cb_judged_job *judged, bool bound,
                         struct cb_prediction *prediction, struct cb_error *err);

#endif

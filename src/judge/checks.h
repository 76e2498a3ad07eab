/* The documents' thresholds against what a result holds. Private to judge/. */
#ifndef CB_JUDGE_CHECKS_H
#define CB_JUDGE_CHECKS_H

#include "judge/judge.h"

typedef CB_VEC(struct cb_check) cb_check_list;

/* Appends one check per criterion, in the order of enum cb_criterion (those of GPUs only of a
 * result that knows of GPUs, says why not, or holds a burn), judged against the advertised
 * bandwidth that the workload states, else against the nominal speed of the interface in use. A
 * result without any measurement gets none, one that was taken from other people's logs the one
 * whether its numbers are normal. Errors: CB_E_MEMORY; *checks may then hold some. */
int cb_checks_build(const struct cb_result *result, const struct cb_workload *workload,
                    cb_check_list *checks, struct cb_error *err);

/* Fills the checks of GPUs, from CB_CRITERION_FIRST_GPU on, in an array of all. Errors:
 * CB_E_MEMORY.
 */
int cb_checks_judge_gpus(const struct cb_result *result, struct cb_check *checks,
                         struct cb_error *err);

/* The same for copies between cards and with the host. */
int cb_checks_judge_copies(const struct cb_result *result, struct cb_check *checks,
                           struct cb_error *err);

#endif

/* The documents' thresholds against what a result holds. Private to judge/. */
#ifndef CB_JUDGE_CHECKS_H
#define CB_JUDGE_CHECKS_H

#include "judge/judge.h"

typedef CB_VEC(struct cb_check) cb_check_list;

/* Appends one check per criterion, in the order of enum cb_criterion, judged against the advertised
 * bandwidth that the workload states, else against the nominal speed of the interface in use. A
 * result without any measurement gets none. Errors: CB_E_MEMORY; *checks may then hold some. */
int cb_checks_build(const struct cb_result *result, const struct cb_workload *workload,
                    cb_check_list *checks, struct cb_error *err);

#endif

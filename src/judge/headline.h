/* The documents' formula over one job: its three figures from what was stated, measured or offered.
 * Private to judge/. */
#ifndef CB_JUDGE_HEADLINE_H
#define CB_JUDGE_HEADLINE_H

#include "base/error.h"
#include "judge/curve.h"
#include "judge/job.h"
#include "judge/machine.h"
#include "model/offer.h"
#include "result/result.h"

/* What every judgement of one result shares. */
struct cb_evidence {
    struct cb_curve curve; /* all_reduce over the widest scope; empty when there is none */
    struct cb_gemm_rate gemm;
    const struct cb_result *result;
    const struct cb_workload *workload;
    const struct cb_offer *offer;     /* instead of what was measured; NULL: none */
    const struct cb_machine *machine; /* of the offer */
};

/* The evidence of a result's rows; result and workload are borrowed. Free with fini. An offer's is
 * filled by hand and holds nothing to free. Errors: CB_E_MEMORY. */
int cb_evidence_init(struct cb_evidence *evidence, const struct cb_result *result,
                     const struct cb_workload *workload, struct cb_error *err);
void cb_evidence_fini(struct cb_evidence *evidence);

/* One judgement of the job, called name (NULL: by what was stated of it). What cannot be judged is
 * left with judged false and a note that says why. Errors: as cb_formula_judge. */
int cb_headline_judge(const struct cb_evidence *evidence, const char *name,
                      const struct cb_judged_job *judged, struct cb_formula *out,
                      struct cb_error *err);

#endif

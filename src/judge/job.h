/* The job that is judged: what was stated, completed for the GPUs that there are. Private to
 * judge/. */
#ifndef CB_JUDGE_JOB_H
#define CB_JUDGE_JOB_H

#include "base/error.h"
#include "model/volumes.h"
#include "model/workload.h"

struct cb_judged_job {
    struct cb_job stated; /* with tokens, where nobody stated a batch */
    struct cb_job job;    /* complete */
    struct cb_assumptions assumed;
    struct cb_factor factor;
    bool spread_stated; /* anything about how the job is spread, or what it sends */
    bool batch_stated;  /* how many tokens a rank works on, as against assumed */
    bool on_paper;      /* the number of GPUs is not known: many nodes of 8 */
};

/* Completes the workload's job with that many parameters for nodes x gpus_per_node GPUs; nodes 0:
 * on paper. Where nothing tells the batch it is the nearest standard workload's. Errors: CB_E_USAGE
 * for a job that cannot be, or not on these GPUs; CB_E_INPUT for more GPUs than an int counts. */
int cb_judged_job_make(const struct cb_workload *workload, double parameters, int nodes,
                       int gpus_per_node, struct cb_judged_job *out, struct cb_error *err);

/* Adds the stated and the known fields to a list of what was assumed, so that every figure of the
 * job is in it with where it comes from. */
void cb_judged_job_sources(const struct cb_workload *workload, const struct cb_judged_job *judged,
                           struct cb_assumptions *list);

#endif

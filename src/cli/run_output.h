/* result.json of a run and who may write it: the main thread after each step, the signal thread
 * when the run is stopped. */
#ifndef CB_CLI_RUN_OUTPUT_H
#define CB_CLI_RUN_OUTPUT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "measure/plan.h"
#include "model/workload.h"
#include "result/result.h"

struct cb_run_output {
    const char *folder; /* borrowed, as are the next two, which the file is completed by */
    const struct cb_plan *plan;
    const struct cb_workload *workload;
    char path[4096 + 24];
    pthread_mutex_t lock;
    bool is_open; /* this process is rank 0, and may write */
    bool is_ours; /* the file is of this run, not of an earlier one */
    size_t steps; /* of the plan that the file tells of */
    double last_save_s, last_save_cost_s;
};

void cb_run_output_init(struct cb_run_output *output, const char *folder,
                        const struct cb_plan *plan, const struct cb_workload *workload);
void cb_run_output_fini(struct cb_run_output *output);

/* Makes the folder and writes the first state of the result there, when plan is complete. A result
 * of an earlier run is left until this one has measured something: then only whether a result can
 * be written is found out. Errors: CB_E_IO, CB_E_MEMORY. */
int cb_run_output_open(struct cb_run_output *output, const struct cb_result *result,
                       struct cb_error *err);

/* Writes the result after so many steps of the plan, unless that would take more than a twentieth
 * of the run's time. Errors: CB_E_IO, CB_E_MEMORY. */
int cb_run_output_save(struct cb_run_output *output, const struct cb_result *result, size_t steps,
                       struct cb_error *err);

/* Marks what is on disk as stopped, with the reason for the steps that are missing, and judges it.
 * fault, where there is one, becomes its warning. For a thread beside the main one, which may be
 * deep inside an operation and owns the result: so this reads the file. */
void cb_run_output_mark(struct cb_run_output *output, const char *stopped_by, const char *reason,
                        const char *fault);

/* Writes the last state. Where nothing was measured and an earlier result is there, beside it. */
int cb_run_output_finish(struct cb_run_output *output, const struct cb_result *result,
                         struct cb_error *err);

#endif

/* Carries out a plan: the only timing loop of the program. */
#ifndef CB_MEASURE_RUNNER_H
#define CB_MEASURE_RUNNER_H

#include "measure/gpu_survey.h"
#include "measure/plan.h"
#include "measure/stop.h"
#include "result/result.h"
#include "transport/place.h"
#include "transport/transport.h"

struct cb_progress {
    size_t step, steps; /* from 1 */
    const char *what;   /* "all_reduce world 64 KiB"; valid during the call */
    const char *stage;  /* the same without the size: changes once per sweep */
    double remaining_s; /* estimated */
};

/* What the runner tells its caller, on rank 0 only. */
struct cb_runner_hooks {
    void (*progress)(void *arg,
                     const struct cb_progress *progress); /* before each step; may be NULL */
    /* After each step, with its row in the result. A failure ends the run. May be NULL. */
    int (*save)(void *arg, struct cb_error *err);
    void *arg;
};

struct cb_runner_config {
    const struct cb_coordinator *coordinator;
    const struct cb_transport_ops *transport;
    struct cb_transport_config transport_config;
    const struct cb_kernel_ops *kernels; /* NULL: kernel steps are skipped */
    struct cb_kernels_config kernels_config;
    const struct cb_gpu_watch *watch; /* of this rank's card while it works; NULL: none */
    double time_box_s;                /* of a step that does not settle */
    double time_limit_s;              /* of the whole run; 0: none */
    double target_relative; /* width at which the interval of the median counts as settled */
    uint64_t seed;          /* of the data that are checked */
    struct cb_stop *stop;
    struct cb_place *place; /* told where this rank is */
    struct cb_runner_hooks hooks;
};

/* Runs every step of the plan and adds its row to rank 0's result (the other ranks may pass an
 * empty one, which stays empty); skipped steps get a row with their reason. When a signal or the
 * time limit stops it, the steps that remain are skipped with that reason and result->stopped_by
 * says which. Sets result->complete. Collective over the coordinator's world; every rank returns
 * the same code. Errors: what a transport or a kernel said, with host and rank; rows of finished
 * steps stay in the result, the step that failed gets a row that says so, and those after it get
 * one as skipped. */
int cb_runner_run(const struct cb_runner_config *config, const struct cb_plan *plan,
                  struct cb_result *result, struct cb_error *err);

#endif

/* What the runner's files share: the state of a run, the timing loop, and one function per kind of
 * step. Nobody else includes this. */
#ifndef CB_MEASURE_RUNNER_INTERNAL_H
#define CB_MEASURE_RUNNER_INTERNAL_H

#include "measure/runner.h"
#include "measure/sampler.h"

struct cb_runner {
    const struct cb_runner_config *config;
    const struct cb_coordinator *coordinator;
    struct cb_result *result;
    struct cb_sampler sampler; /* shared values: the same on every rank of a step */
    struct cb_sampler own;     /* this rank's values, for kernels */
    struct cb_transport *transport;
    enum cb_scope transport_scope;
    uint64_t max_bytes;
    struct cb_kernels *kernels;
    size_t next;       /* of the plan's items */
    bool is_inside;    /* an item is under way */
    int *leader_ranks; /* world rank of each node's first rank */
    double started_s;
    double remaining_s; /* of the time limit, the same on every rank */
    double barrier_s;
    double clock_s;
};

/* ---- timing.c ---- */

/* Something that can be timed: k operations in, seconds out. */
struct cb_timed {
    int (*run)(void *object, int operations, double *elapsed_s, struct cb_error *err);
    void *object;
    struct cb_group *together; /* who starts each sample together */
    struct cb_group *decides;  /* who shares the samples' maximum and the decision to stop */
    double sample_s;
    struct cb_sampler *own; /* also keeps this rank's values; may be NULL */
};

struct cb_timing {
    struct cb_time_stats stats;
    enum cb_sampler_verdict verdict;
    int operations;
    int samples;
    bool interrupted;
};

/* Takes samples until the sampler says stop. The slowest rank's time is the sample's; the same
 * exchange that finds it carries the elapsed time and the wish to stop, so that everybody decides
 * alike. Collective over timed->decides; *timing and the sampler's values are the same on all of
 * them. */
int cb_timing_take(struct cb_runner *runner, const struct cb_timed *timed, struct cb_timing *timing,
                   struct cb_error *err);

/* A rank's own code, or where that is CB_OK and another rank has failed, CB_E_MEASURE and an error
 * that follows from it: both leave the step. */
int cb_timing_tell(int code, bool has_another, struct cb_error *err);

/* What a step's timing and its wrong elements amount to. */
enum cb_status cb_timing_status(const struct cb_timing *timing, uint64_t wrong);

/* ---- step_collective.c, step_link.c, step_kernel.c, step_burn.c ----
 *
 * Each does one item of the plan and adds its rows to rank 0's result, or sets *interrupted and
 * adds none. Collective over the world. A rank outside the step's group may return another code and
 * another *interrupted: the runner shares both before it goes on. */
int cb_step_collective(struct cb_runner *runner, const struct cb_item *item, uint64_t seed,
                       bool *interrupted, struct cb_error *err);
int cb_step_links(struct cb_runner *runner, const struct cb_item *item, uint64_t seed,
                  bool *interrupted, struct cb_error *err);
int cb_step_kernel(struct cb_runner *runner, const struct cb_item *item, bool *interrupted,
                   struct cb_error *err);
int cb_step_burn(struct cb_runner *runner, const struct cb_item *item, struct cb_error *err);

/* Prepares a step, does it once on data from seed and sums the wrong elements of the group's ranks.
 * Every rank of the group returns an error if one has. Collective over the group. */
int cb_step_verify(struct cb_runner *runner, struct cb_transport *transport,
                   const struct cb_step *step, struct cb_group *group, uint64_t seed, double *wrong,
                   struct cb_error *err);

/* Opens the kernel set, once. Collective over the world; every rank returns the same code. */
int cb_step_open_kernels(struct cb_runner *runner, struct cb_error *err);

/* Adds a row on rank 0 that says why an item was not done. */
int cb_step_add_skipped(struct cb_runner *runner, const struct cb_item *item, const char *reason,
                        struct cb_error *err);

/* Adds a row on rank 0. */
int cb_step_add_collective(struct cb_runner *runner, const struct cb_collective_row *row,
                           struct cb_error *err);

/* Closes the transport that collectives are measured on, if one is open. Collective over its group.
 */
void cb_step_close_transport(struct cb_runner *runner);

/* For struct cb_timed: operations of a prepared transport. */
struct cb_transport_object {
    const struct cb_transport_ops *ops;
    struct cb_transport *transport;
};
int cb_step_run_transport(void *object, int operations, double *elapsed_s, struct cb_error *err);

/* Samples of messages last at least this long. */
#define CB_SHORTEST_SAMPLE_S 500e-6

#endif

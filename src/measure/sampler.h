/* When to stop: samples are taken until the median is known well enough or the time is up. Pure:
 * the same samples give the same decision on every rank, so a decision needs no exchange of its
 * own. */
#ifndef CB_MEASURE_SAMPLER_H
#define CB_MEASURE_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>

#include "result/result.h"

struct cb_sampler_policy {
    double target_relative; /* settled when the 95 % interval of the median is within this of it */
    size_t min_samples;     /* six are the fewest that have such an interval */
    size_t max_samples;
    double time_box_s; /* from min_samples on, stop here even when not settled */
    double hard_box_s; /* stop here even with fewer samples */
    double batch_s;    /* no batch longer than this, so that a stop request is seen in time */
};

/* 2 %, 6 to 5000 samples, the given time box, 40 of them as the hard one, batches of 0.25 s. */
struct cb_sampler_policy cb_sampler_policy_default(double time_box_s);

enum cb_sampler_verdict { CB_SAMPLER_GO_ON, CB_SAMPLER_SETTLED, CB_SAMPLER_NOISY };

struct cb_sampler {
    struct cb_sampler_policy policy;
    double *values;  /* in order of arrival; owned */
    double *scratch; /* the same sorted; owned */
    size_t count;
    double expected_sample_s; /* how long the first sample will take; 0 when nobody knows */
};

/* Makes an empty sampler. Errors: CB_E_MEMORY. */
int cb_sampler_init(struct cb_sampler *sampler, const struct cb_sampler_policy *policy,
                    struct cb_error *err);
void cb_sampler_fini(struct cb_sampler *sampler);

/* Forgets the samples, keeps the memory. */
void cb_sampler_reset(struct cb_sampler *sampler);

/* Adds samples; those beyond max_samples are dropped. */
void cb_sampler_add(struct cb_sampler *sampler, const double *values, size_t count);

/* What to do next. elapsed_s is the time this step has taken, which must be the same number on
 * every rank. On GO_ON *batch is how many samples to take before asking again (at least 1). */
enum cb_sampler_verdict cb_sampler_decide(struct cb_sampler *sampler, double elapsed_s,
                                          size_t *batch);

/* Statistics of the samples so far; count must be at least 1. */
void cb_sampler_summarise(struct cb_sampler *sampler, struct cb_time_stats *out);

/* How many operations make one sample long against the clock and the barrier: enough that it lasts
 * target_s, 1 to 100000. */
int cb_sampler_operations(double operation_s, double target_s);

/* The search for that number, on operations as they come. Zero-initialise, set operations to 1. */
struct cb_calibration {
    int operations; /* to time next; the answer when the search is over */
    int rounds;
    double best_s; /* shortest operation so far: much delays one, nothing hurries it */
};

/* Takes the time of one operation, averaged over calibration->operations of them, and returns
 * whether the search is over. A short operation is looked at three times: a single delay must not
 * pass for a slow operation. One of 5 to 100 ms is looked at four times: connections that rested
 * while data were checked need that to come up to speed. A longer one, once. */
bool cb_calibration_step(struct cb_calibration *calibration, double operation_s, double target_s);

#endif

#include "measure/sampler.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "measure/stats.h"

enum { MOST_OPERATIONS = 100000 };

struct cb_sampler_policy cb_sampler_policy_default(double time_box_s)
{
    return (struct cb_sampler_policy){
        .target_relative = 0.02,
        .min_samples = 6,
        .max_samples = 5000,
        .time_box_s = time_box_s,
        .hard_box_s = 40 * time_box_s,
        .batch_s = 0.25,
    };
}

int cb_sampler_init(struct cb_sampler *sampler, const struct cb_sampler_policy *policy,
                    struct cb_error *err)
{
    double *values = calloc(2 * policy->max_samples, sizeof(*values));
    if (!values)
        return cb_fail(err, CB_E_MEMORY, "no memory for %zu samples", policy->max_samples);
    *sampler = (struct cb_sampler){
        .policy = *policy, .values = values, .scratch = values + policy->max_samples};
    return CB_OK;
}

void cb_sampler_fini(struct cb_sampler *sampler)
{
    free(sampler->values);
    memset(sampler, 0, sizeof(*sampler));
}

void cb_sampler_reset(struct cb_sampler *sampler)
{
    sampler->count = 0;
    sampler->expected_sample_s = 0;
}

void cb_sampler_add(struct cb_sampler *sampler, const double *values, size_t count)
{
    size_t room = sampler->policy.max_samples - sampler->count;
    if (count > room)
        count = room;
    memcpy(sampler->values + sampler->count, values, count * sizeof(*values));
    sampler->count += count;
}

void cb_sampler_summarise(struct cb_sampler *sampler, struct cb_time_stats *out)
{
    memcpy(sampler->scratch, sampler->values, sampler->count * sizeof(*sampler->values));
    cb_stats_summarise(sampler->scratch, sampler->count, out);
}

enum cb_sampler_verdict cb_sampler_decide(struct cb_sampler *sampler, double elapsed_s,
                                          size_t *batch)
{
    const struct cb_sampler_policy *policy = &sampler->policy;
    size_t wanted = policy->min_samples > sampler->count ? policy->min_samples - sampler->count
                                                         : sampler->count / 2 + 1;
    if (elapsed_s >= policy->hard_box_s && sampler->count > 0)
        return CB_SAMPLER_NOISY;
    if (sampler->count >= policy->min_samples) {
        struct cb_time_stats stats;
        cb_sampler_summarise(sampler, &stats);
        if (stats.ci95_relative >= 0 && stats.ci95_relative <= policy->target_relative)
            return CB_SAMPLER_SETTLED;
        if (elapsed_s >= policy->time_box_s || sampler->count >= policy->max_samples)
            return CB_SAMPLER_NOISY;
    }
    bool is_timed = sampler->count > 0 && elapsed_s > 0;
    double sample_s = is_timed ? elapsed_s / (double)sampler->count : sampler->expected_sample_s;
    if (sample_s > 0) {
        size_t fitting = (size_t)fmin(policy->batch_s / sample_s, (double)policy->max_samples);
        if (wanted > fitting)
            wanted = fitting ? fitting : 1;
    }
    size_t room = policy->max_samples - sampler->count;
    *batch = wanted < room ? wanted : room;
    return CB_SAMPLER_GO_ON;
}

int cb_sampler_operations(double operation_s, double target_s)
{
    if (!(operation_s > 0))
        return MOST_OPERATIONS;
    double wanted = ceil(target_s / operation_s);
    return wanted < 1 ? 1 : wanted > MOST_OPERATIONS ? MOST_OPERATIONS : (int)wanted;
}

static int fewest_rounds(double elapsed_s)
{
    const double short_s = 5e-3, long_s = 100e-3;
    return elapsed_s < short_s ? 3 : elapsed_s < long_s ? 4 : 1;
}

bool cb_calibration_step(struct cb_calibration *calibration, double operation_s, double target_s)
{
    enum { STEEPEST = 64, MOST_ROUNDS = 8 };
    int tried = calibration->operations;
    calibration->rounds++;
    if (calibration->rounds == 1 || operation_s < calibration->best_s)
        calibration->best_s = operation_s;
    int wanted = cb_sampler_operations(calibration->best_s, target_s);
    bool is_near = wanted <= 2 * tried && calibration->rounds >= fewest_rounds(operation_s * tried);
    if (is_near || calibration->rounds >= MOST_ROUNDS) {
        calibration->operations = wanted;
        return true;
    }
    /* One cold operation says little: approach the answer. */
    calibration->operations = wanted < STEEPEST * tried ? wanted : STEEPEST * tried;
    return false;
}

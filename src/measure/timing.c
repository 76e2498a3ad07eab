/* The one timing loop. */
#include "measure/runner_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* One sample: everybody starts together, operations run back to back. Each is a sign of life: on a
 * loaded machine a batch can take long. */
static int take_sample(struct cb_runner *runner, const struct cb_timed *timed, int operations,
                       double *operation_s, struct cb_error *err)
{
    double elapsed_s = 0;
    int rc = cb_group_barrier(timed->together, err);
    if (!rc)
        rc = timed->run(timed->object, operations, &elapsed_s, err);
    *operation_s = elapsed_s / operations;
    cb_stop_beat(runner->config->stop);
    return rc;
}

/* How many operations make a sample, found on warm operations and agreed on by all. *own_s is this
 * rank's last time of one operation, *slowest_s the slowest rank's. */
static int calibrate(struct cb_runner *runner, const struct cb_timed *timed,
                     struct cb_calibration *calibration, double *slowest_s, double *own_s,
                     struct cb_error *err)
{
    *calibration = (struct cb_calibration){.operations = 1};
    do {
        int rc = take_sample(runner, timed, calibration->operations, own_s, err);
        *slowest_s = *own_s;
        if (!rc)
            rc = cb_group_max(timed->decides, slowest_s, 1, err);
        if (rc)
            return rc;
    } while (!cb_calibration_step(calibration, *slowest_s, timed->sample_s));
    return CB_OK;
}

int cb_timing_take(struct cb_runner *runner, const struct cb_timed *timed, struct cb_timing *timing,
                   struct cb_error *err)
{
    struct cb_sampler *sampler = &runner->sampler;
    double *shared = calloc(sampler->policy.max_samples + 2, sizeof(*shared));
    if (!shared)
        return cb_fail(err, CB_E_MEMORY, "no memory for samples");
    cb_sampler_reset(sampler);
    if (timed->own)
        cb_sampler_reset(timed->own);
    memset(timing, 0, sizeof(*timing));
    double start_s = cb_clock_now_s(), elapsed_s = 0;
    double slowest_s = 0, own_s = 0;
    struct cb_calibration calibration;
    size_t batch;
    int rc = calibrate(runner, timed, &calibration, &slowest_s, &own_s, err);
    timing->operations = calibration.operations;
    if (!rc && timing->operations == 1) {
        /* Slow operations are few: the calibration's own, warm by then, is as good a sample as any.
         */
        cb_sampler_add(sampler, &slowest_s, 1);
        if (timed->own)
            cb_sampler_add(timed->own, &own_s, 1);
    }
    sampler->expected_sample_s = calibration.best_s * calibration.operations;
    while (!rc && !timing->interrupted) {
        timing->verdict = cb_sampler_decide(sampler, elapsed_s, &batch);
        if (timing->verdict != CB_SAMPLER_GO_ON)
            break;
        for (size_t i = 0; i < batch && !rc; i++)
            rc = take_sample(runner, timed, timing->operations, &shared[i], err);
        if (rc)
            break;
        if (timed->own)
            cb_sampler_add(timed->own, shared, batch);
        shared[batch] = cb_clock_now_s() - start_s;
        shared[batch + 1] = cb_stop_is_requested(runner->config->stop);
        rc = cb_group_max(timed->decides, shared, batch + 2, err);
        if (rc)
            break;
        cb_sampler_add(sampler, shared, batch);
        elapsed_s = shared[batch];
        timing->interrupted = shared[batch + 1] > 0;
    }
    free(shared);
    timing->samples = (int)sampler->count;
    if (!rc && sampler->count)
        cb_sampler_summarise(sampler, &timing->stats);
    return rc;
}

enum cb_status cb_timing_status(const struct cb_timing *timing, uint64_t wrong)
{
    if (wrong)
        return CB_STATUS_WRONG;
    return timing->verdict == CB_SAMPLER_SETTLED ? CB_STATUS_OK : CB_STATUS_NOISY;
}

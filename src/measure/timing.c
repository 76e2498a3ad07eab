/* The one timing loop. */
#include "measure/runner_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

int cb_timing_tell(int code, bool has_another, struct cb_error *err)
{
    if (code || !has_another)
        return code;
    cb_fail(err, CB_E_MEASURE, "another rank failed in this step");
    err->follows = CB_TOLD;
    return CB_E_MEASURE;
}

/* One sample: everybody starts together, operations run back to back. Each is a sign of life: on a
 * loaded machine a batch can take long. A rank whose operations failed (*code) still meets the
 * others, who learn of it with the samples. */
static int take_sample(struct cb_runner *runner, const struct cb_timed *timed, int operations,
                       double *operation_s, int *code, struct cb_error *err)
{
    double elapsed_s = 0;
    struct cb_error ignored;
    int rc = cb_group_barrier(timed->together, *code ? &ignored : err);
    cb_stop_beat(runner->config->stop);
    if (!rc && !*code) {
        cb_place_enter(runner->config->place);
        *code = timed->run(timed->object, operations, &elapsed_s, err);
        cb_place_leave(runner->config->place, *code);
    }
    *operation_s = elapsed_s / operations;
    cb_stop_beat(runner->config->stop);
    return *code ? CB_OK : rc;
}

/* How many operations make a sample, found on warm operations and agreed on by all. *own_s is this
 * rank's last time of one operation, *slowest_s the slowest rank's. */
static int calibrate(struct cb_runner *runner, const struct cb_timed *timed,
                     struct cb_calibration *calibration, double *slowest_s, double *own_s,
                     struct cb_error *err)
{
    *calibration = (struct cb_calibration){.operations = 1};
    do {
        int code = CB_OK;
        int rc = take_sample(runner, timed, calibration->operations, own_s, &code, err);
        double shared[2] = {*own_s, code != CB_OK};
        struct cb_error ignored;
        if (!rc)
            rc = cb_group_max(timed->decides, shared, 2, code ? &ignored : err);
        if (!rc || code)
            rc = cb_timing_tell(code, shared[1] > 0, err);
        if (rc)
            return rc;
        *slowest_s = shared[0];
    } while (!cb_calibration_step(calibration, *slowest_s, timed->sample_s));
    return CB_OK;
}

int cb_timing_take(struct cb_runner *runner, const struct cb_timed *timed, struct cb_timing *timing,
                   struct cb_error *err)
{
    struct cb_sampler *sampler = &runner->sampler;
    double *shared = calloc(sampler->policy.max_samples + 3, sizeof(*shared));
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
        int code = CB_OK;
        for (size_t i = 0; i < batch && !rc; i++)
            rc = take_sample(runner, timed, timing->operations, &shared[i], &code, err);
        if (rc)
            break;
        if (timed->own)
            cb_sampler_add(timed->own, shared, batch);
        shared[batch] = cb_clock_now_s() - start_s;
        shared[batch + 1] = cb_stop_is_requested(runner->config->stop);
        shared[batch + 2] = code != CB_OK;
        struct cb_error ignored;
        rc = cb_group_max(timed->decides, shared, batch + 3, code ? &ignored : err);
        if (!rc || code)
            rc = cb_timing_tell(code, shared[batch + 2] > 0, err);
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

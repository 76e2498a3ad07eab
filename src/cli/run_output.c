#include "cli/run_output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "judge/judge.h"
#include "measure/skipped.h"
#include "result/json.h"

void cb_run_output_init(struct cb_run_output *output, const char *folder,
                        const struct cb_plan *plan, const struct cb_workload *workload)
{
    memset(output, 0, sizeof(*output));
    output->folder = folder;
    output->plan = plan;
    output->workload = workload;
    pthread_mutex_init(&output->lock, NULL);
}

void cb_run_output_fini(struct cb_run_output *output)
{
    pthread_mutex_destroy(&output->lock);
}

/* Whether a result could be saved; leaves nothing. */
static int try_to_save(const struct cb_run_output *output, const struct cb_result *result,
                       struct cb_error *err)
{
    char trial[sizeof(output->path) + 16];
    snprintf(trial, sizeof(trial), "%s.trial", output->path);
    int rc = cb_result_save(trial, result, err);
    if (!rc)
        unlink(trial);
    return rc;
}

int cb_run_output_open(struct cb_run_output *output, const struct cb_result *result,
                       struct cb_error *err)
{
    struct stat earlier;
    if (mkdir(output->folder, 0777) && errno != EEXIST) {
        cb_fail(err, CB_E_IO, "--out %s: cannot make the folder", output->folder);
        cb_error_set_detail(err, "%s", strerror(errno));
        return CB_E_IO;
    }
    pthread_mutex_lock(&output->lock);
    snprintf(output->path, sizeof(output->path), "%s/result.json", output->folder);
    bool has_earlier = stat(output->path, &earlier) == 0 && S_ISREG(earlier.st_mode);
    int rc =
        has_earlier ? try_to_save(output, result, err) : cb_result_save(output->path, result, err);
    output->is_open = rc == CB_OK;
    output->is_ours = rc == CB_OK && !has_earlier;
    pthread_mutex_unlock(&output->lock);
    output->last_save_s = cb_clock_now_s();
    return rc;
}

int cb_run_output_save(struct cb_run_output *output, const struct cb_result *result, size_t steps,
                       struct cb_error *err)
{
    const double cheap_s = 0.05, most_share = 0.05;
    double now_s = cb_clock_now_s();
    bool is_cheap = output->last_save_cost_s < cheap_s;
    if (!is_cheap && now_s - output->last_save_s < output->last_save_cost_s / most_share)
        return CB_OK;
    pthread_mutex_lock(&output->lock);
    int rc = cb_result_save(output->path, result, err);
    if (!rc) {
        output->is_ours = true;
        output->steps = steps;
    }
    pthread_mutex_unlock(&output->lock);
    output->last_save_s = cb_clock_now_s();
    output->last_save_cost_s = output->last_save_s - now_s;
    return rc;
}

void cb_run_output_mark(struct cb_run_output *output, const char *stopped_by, const char *reason,
                        const char *fault)
{
    struct cb_result saved;
    struct cb_error err;
    cb_result_init(&saved);
    pthread_mutex_lock(&output->lock);
    if (output->is_ours && cb_result_load(output->path, &saved, &err) == CB_OK && !saved.complete &&
        !saved.stopped_by[0]) {
        snprintf(saved.stopped_by, sizeof(saved.stopped_by), "%s", stopped_by);
        /* Whatever of this fails, the mark is worth saving. */
        cb_skipped_add_rest(&saved, output->plan, output->steps, reason, &err);
        if (fault)
            cb_result_warn(&saved, "fault", "", "%s", fault);
        cb_judge_result(&saved, output->workload, &err);
        cb_result_save(output->path, &saved, &err);
    }
    pthread_mutex_unlock(&output->lock);
    cb_result_fini(&saved);
}

int cb_run_output_finish(struct cb_run_output *output, const struct cb_result *result,
                         struct cb_error *err)
{
    pthread_mutex_lock(&output->lock);
    if (!output->is_ours && !result->complete)
        snprintf(output->path, sizeof(output->path), "%s/result-failed.json", output->folder);
    int rc = cb_result_save(output->path, result, err);
    pthread_mutex_unlock(&output->lock);
    return rc;
}

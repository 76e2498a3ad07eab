#include "measure/runner_internal.h"

#include <math.h>

#include "measure/burn.h"

/* The type that uses a card's matrix units most, of those that every rank has. */
static int choose_burn_dtype(struct cb_runner *runner, enum cb_dtype *dtype, bool *found,
                             struct cb_error *err)
{
    static const enum cb_dtype wanted[] = {CB_DTYPE_BFLOAT16, CB_DTYPE_FLOAT16, CB_DTYPE_TF32,
                                           CB_DTYPE_FLOAT32};
    enum { COUNT = sizeof(wanted) / sizeof(wanted[0]) };
    double lacking[COUNT];
    for (int i = 0; i < COUNT; i++)
        lacking[i] =
            !runner->config->kernels->supports(runner->kernels, CB_KERNEL_GEMM, wanted[i], NULL, 0);
    int rc = cb_group_max(runner->coordinator->world, lacking, COUNT, err);
    *found = false;
    for (int i = 0; i < COUNT && !rc && !*found; i++) {
        *found = lacking[i] == 0;
        *dtype = wanted[i];
    }
    return rc;
}

int cb_step_burn(struct cb_runner *runner, const struct cb_item *item, struct cb_error *err)
{
    const struct cb_gpu_watch *watch = runner->config->watch;
    bool is_watched = watch && watch->is_open && watch->index >= 0;
    bool found = false;
    struct cb_burn_config config = {
        .coordinator = runner->coordinator,
        .kernels = runner->config->kernels,
        .planned_s = item->burn_s,
        .duration_s = fmin(item->burn_s, runner->remaining_s),
        .nvml = is_watched ? &watch->nvml : NULL,
        .nvml_index = is_watched ? watch->index : -1,
        .no_samples = watch ? watch->reason : NULL,
        .stop = runner->config->stop,
        .place = runner->config->place,
    };
    int rc = cb_step_open_kernels(runner, err);
    if (!rc)
        rc = choose_burn_dtype(runner, &config.dtype, &found, err);
    if (rc)
        return rc;
    if (!found)
        return cb_step_add_skipped(runner, item, "not every rank has a GEMM of one type", err);
    config.set = runner->kernels;
    return cb_burn_run(&config, runner->result, err);
}

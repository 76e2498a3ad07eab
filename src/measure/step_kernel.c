#include "measure/runner_internal.h"

#include <stdio.h>

#include "measure/gather.h"
#include "measure/gpu_survey.h"

/* Long enough that the scheduler's time slices do not show. */
static const double kernel_sample_s = 0.02;

struct kernel_object {
    const struct cb_kernel_ops *ops;
    struct cb_kernels *set;
    bool is_idle; /* this rank cannot, but others can: it goes through the same exchanges */
};

static int run_kernel(void *object, int operations, double *elapsed_s, struct cb_error *err)
{
    const struct kernel_object *o = object;
    *elapsed_s = 0;
    return o->is_idle ? CB_OK : o->ops->run(o->set, operations, elapsed_s, err);
}

static int verify_kernel(const struct kernel_object *o, struct cb_kernel_row *row,
                         struct cb_error *err)
{
    uint64_t wrong = 0;
    int rc = o->is_idle ? CB_OK : o->ops->verify(o->set, &wrong, err);
    if (!rc)
        row->wrong += wrong;
    return rc;
}

static bool crosses_pcie(enum cb_kernel kernel)
{
    return kernel == CB_KERNEL_H2D || kernel == CB_KERNEL_D2H || kernel == CB_KERNEL_H2D_D2H;
}

/* The card's link right after it carried data: an idle card lowers it within seconds. */
static void look_at_link(const struct cb_gpu_watch *watch, struct cb_kernel_row *row)
{
    struct cb_gpu_sample sample;
    if (!watch || !watch->is_open || watch->index < 0)
        return;
    cb_gpu_sample(&watch->nvml, (unsigned)watch->index, &sample);
    row->pcie_generation = sample.pcie_generation > 0 ? sample.pcie_generation : 0;
    row->pcie_width = sample.pcie_width > 0 ? sample.pcie_width : 0;
}

/* Gets the kernel ready, as far as this rank's machine can: where the card or its library has no
 * such kernel, the row is skipped and says why. *works: some rank has it. Collective. */
static int prepare_kernel(struct cb_runner *runner, const struct cb_item *item,
                          struct kernel_object *o, struct cb_kernel_work *work,
                          struct cb_kernel_row *row, bool *works, struct cb_error *err)
{
    struct cb_error why;
    cb_error_clear(&why);
    int rc = CB_OK;
    cb_place_enter(runner->config->place);
    o->is_idle = !o->ops->supports(o->set, item->kernel, item->kernel_dtype, row->reason,
                                   sizeof(row->reason));
    if (!o->is_idle)
        rc = o->ops->prepare(o->set, item->kernel, item->kernel_dtype, work, &why);
    if (rc == CB_E_UNSUPPORTED) {
        snprintf(row->reason, sizeof(row->reason), "%.120s%s%.110s", why.what,
                 why.detail[0] ? ": " : "", why.detail);
        o->is_idle = true;
        rc = CB_OK;
    } else if (rc) {
        *err = why;
    }
    if (o->is_idle)
        row->status = CB_STATUS_SKIPPED;
    cb_place_leave(runner->config->place, rc);
    rc = cb_group_agree(runner->coordinator->world, rc, err);
    double working = !o->is_idle;
    if (!rc)
        rc = cb_group_max(runner->coordinator->world, &working, 1, err);
    *works = working > 0;
    return rc;
}

static void fill_row(struct cb_runner *runner, const struct cb_kernel_work *work,
                     const struct cb_timing *timing, struct cb_kernel_row *row)
{
    struct cb_time_stats own;
    cb_sampler_summarise(&runner->own, &own);
    row->status = cb_timing_status(timing, row->wrong);
    row->small = work->small;
    row->threads = work->threads;
    row->size_bytes = work->size_bytes;
    row->samples = timing->samples;
    row->flops_per_s = work->flops / own.median_s;
    row->bytes_per_s = work->bytes / own.median_s;
    row->ci95_relative = own.ci95_relative;
    snprintf(row->variant, sizeof(row->variant), "%s", work->variant);
}

/* Fills this rank's row. Every rank computes at once, as in training, and each keeps its own times.
 */
static int measure_kernel(struct cb_runner *runner, const struct cb_item *item,
                          struct cb_kernel_row *row, bool *interrupted, struct cb_error *err)
{
    const struct cb_kernel_ops *ops = runner->config->kernels;
    const struct cb_coordinator *c = runner->coordinator;
    struct kernel_object object = {.ops = ops, .set = runner->kernels};
    struct cb_kernel_work work = {0};
    struct cb_timing timing;
    bool works = false;
    double warm_s;
    int rc = prepare_kernel(runner, item, &object, &work, row, &works, err);
    if (rc || !works)
        return rc;
    cb_place_enter(runner->config->place);
    rc = run_kernel(&object, 1, &warm_s, err);
    if (!rc)
        rc = verify_kernel(&object, row, err);
    cb_place_leave(runner->config->place, rc);
    rc = cb_group_agree(c->world, rc, err);
    if (rc)
        goto release;

    struct cb_timed timed = {.run = run_kernel,
                             .object = &object,
                             .together = c->node_group,
                             .decides = c->world,
                             .sample_s = kernel_sample_s,
                             .own = &runner->own};
    rc = cb_timing_take(runner, &timed, &timing, err);
    if (!rc && crosses_pcie(item->kernel) && !object.is_idle)
        look_at_link(runner->config->watch, row);
    if (!rc) /* the timed operations computed, too */
        rc = verify_kernel(&object, row, err);
    if (rc)
        goto release;
    *interrupted = timing.interrupted;
    if (!object.is_idle)
        fill_row(runner, &work, &timing, row);

release:
    ops->release(runner->kernels);
    return rc;
}

int cb_step_open_kernels(struct cb_runner *runner, struct cb_error *err)
{
    int rc = CB_OK;
    cb_place_enter(runner->config->place);
    if (!runner->kernels)
        rc = runner->config->kernels->open(&runner->config->kernels_config, &runner->kernels, err);
    cb_place_leave(runner->config->place, rc);
    return cb_group_agree(runner->coordinator->world, rc, err);
}

int cb_step_kernel(struct cb_runner *runner, const struct cb_item *item, bool *interrupted,
                   struct cb_error *err)
{
    struct cb_kernel_row row = {.rank = runner->coordinator->rank, .dtype = item->kernel_dtype};
    snprintf(row.kernel, sizeof(row.kernel), "%s", cb_kernel_name(item->kernel));
    int rc = cb_step_open_kernels(runner, err);
    if (!rc)
        rc = measure_kernel(runner, item, &row, interrupted, err);
    rc = cb_group_agree(runner->coordinator->world, rc, err);
    if (rc || *interrupted)
        return rc;
    return cb_gather_append(runner->coordinator->world, &row, &runner->result->kernels, err);
}

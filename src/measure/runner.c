#include "measure/runner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "measure/runner_internal.h"
#include "measure/skipped.h"

/* Rank 0's clock rules: how much of the time limit is left, the same on every rank; and whether
 * anybody was asked to stop. Called by all ranks before each step. */
static int look_around(struct cb_runner *runner, const char **stopped_by, struct cb_error *err)
{
    double limit_s = runner->config->time_limit_s;
    double state[2] = {cb_stop_is_requested(runner->config->stop), -INFINITY};
    if (runner->coordinator->rank == 0)
        state[1] = limit_s > 0 ? limit_s - (cb_clock_now_s() - runner->started_s) : INFINITY;
    int rc = cb_group_max(runner->coordinator->world, state, 2, err);
    if (rc)
        return rc;
    runner->remaining_s = state[1];
    *stopped_by = state[0] > 0 ? "signal" : state[1] <= 0 ? "time_limit" : NULL;
    return CB_OK;
}

/* The rest of the run's time bounds a step too. */
static void set_policy(struct cb_runner *runner)
{
    struct cb_sampler_policy policy = cb_sampler_policy_default(runner->config->time_box_s);
    policy.target_relative = runner->config->target_relative;
    policy.hard_box_s = fmin(policy.hard_box_s, fmax(runner->remaining_s, 0));
    policy.time_box_s = fmin(policy.time_box_s, policy.hard_box_s);
    runner->sampler.policy = policy;
}

/* ---- the plan ---- */

int cb_step_add_skipped(struct cb_runner *runner, const struct cb_item *item, const char *reason,
                        struct cb_error *err)
{
    if (runner->coordinator->rank != 0)
        return CB_OK;
    return cb_skipped_add(runner->result, item, CB_STATUS_SKIPPED, reason, err);
}

/* After a fault: the item that it met, unless that has its rows, and those that were not reached.
 * The fault is what counts: that these rows find no memory does not change it. */
static void add_unreached(struct cb_runner *runner, const struct cb_plan *plan,
                          const struct cb_error *fault)
{
    struct cb_error ignored;
    size_t next = runner->next;
    if (runner->coordinator->rank != 0 || next >= plan->items.count)
        return;
    const struct cb_item *item = &plan->items.items[next];
    bool is_told = item->kind == CB_ITEM_BURN && runner->result->burns.count > 0;
    if (runner->is_inside && !is_told)
        cb_skipped_add(runner->result, item, CB_STATUS_FAILED, fault->what, &ignored);
    cb_skipped_add_rest(runner->result, plan, next + runner->is_inside, CB_SKIPPED_BY_FAULT,
                        &ignored);
}

/* A step's time before it is known: settling at one rate, six samples at another. */
static double estimate_s(const struct cb_runner *runner, const struct cb_item *item)
{
    const double guess_bytes_per_s = 1e9;
    double bytes_per_s = guess_bytes_per_s;
    if (item->kind == CB_ITEM_KERNEL)
        return 0.5;
    if (item->kind == CB_ITEM_LINK)
        return 3;
    if (item->kind == CB_ITEM_BURN)
        return item->burn_s;
    const struct cb_collective_row *known =
        cb_result_largest(runner->result, item->step.op, item->scope);
    if (known && known->alg_bytes_per_s > 0 && known->size_bytes >= 65536)
        bytes_per_s = known->alg_bytes_per_s;
    return runner->config->time_box_s / 3 + 8 * (double)item->step.size_bytes / bytes_per_s;
}

static void show_progress(const struct cb_runner *runner, const struct cb_plan *plan, size_t index)
{
    const struct cb_runner_hooks *hooks = &runner->config->hooks;
    const struct cb_item *item = &plan->items.items[index];
    if (runner->coordinator->rank != 0 || !hooks->progress)
        return;
    double remaining_s = 0;
    for (size_t i = index; i < plan->items.count; i++)
        if (!plan->items.items[i].skip)
            remaining_s += estimate_s(runner, &plan->items.items[i]);
    char stage[96], what[128], bytes[CB_UNIT_TEXT];
    if (item->kind == CB_ITEM_LINK)
        snprintf(stage, sizeof(stage), "links between nodes");
    else if (item->kind == CB_ITEM_BURN)
        snprintf(stage, sizeof(stage), "burn");
    else if (item->kind == CB_ITEM_KERNEL)
        snprintf(stage, sizeof(stage), "%s %s", cb_kernel_name(item->kernel),
                 cb_dtype_name(item->kernel_dtype));
    else
        snprintf(stage, sizeof(stage), "%s %s %s%s", cb_op_name(item->step.op),
                 cb_scope_name(item->scope), cb_dtype_name(item->step.dtype),
                 item->step.in_place ? " in place" : "");
    bool has_size = item->kind == CB_ITEM_COLLECTIVE;
    snprintf(what, sizeof(what), "%s%s%s", stage, has_size ? " " : "",
             has_size ? cb_format_bytes(bytes, item->step.size_bytes) : "");
    struct cb_progress progress = {.step = index + 1,
                                   .steps = plan->items.count,
                                   .what = what,
                                   .stage = stage,
                                   .remaining_s = fmin(remaining_s, runner->remaining_s)};
    hooks->progress(hooks->arg, &progress);
}

static int run_item(struct cb_runner *runner, const struct cb_item *item, uint64_t seed,
                    bool *interrupted, struct cb_error *err)
{
    bool computes = item->kind == CB_ITEM_KERNEL || item->kind == CB_ITEM_BURN;
    if (computes && !runner->config->kernels)
        return cb_step_add_skipped(runner, item, "no kernels in this build", err);
    set_policy(runner);
    switch (item->kind) {
    case CB_ITEM_LINK:
        return cb_step_links(runner, item, seed, interrupted, err);
    case CB_ITEM_KERNEL:
        return cb_step_kernel(runner, item, interrupted, err);
    case CB_ITEM_BURN:
        return cb_step_burn(runner, item, err);
    case CB_ITEM_COLLECTIVE:
        break;
    }
    return cb_step_collective(runner, item, seed, interrupted, err);
}

static int save(struct cb_runner *runner, struct cb_error *err)
{
    const struct cb_runner_hooks *hooks = &runner->config->hooks;
    int rc = CB_OK;
    if (runner->coordinator->rank == 0 && hooks->save) {
        atomic_store(&runner->config->place->saves, true);
        rc = hooks->save(hooks->arg, err);
        atomic_store(&runner->config->place->saves, false);
    }
    return cb_group_agree(runner->coordinator->world, rc, err);
}

/* Ranks that took no part in a step learn how it ended: all go on, or all stop. */
static int share_outcome(struct cb_runner *runner, int code, bool *interrupted,
                         struct cb_error *err)
{
    struct cb_group *world = runner->coordinator->world;
    double stop = *interrupted;
    int rc = cb_group_agree(world, code, err);
    if (!rc)
        rc = cb_group_max(world, &stop, 1, err);
    *interrupted = stop > 0;
    return rc;
}

static const char *stop_reason(const char *stopped_by)
{
    return strcmp(stopped_by, "signal") == 0 ? CB_SKIPPED_BY_SIGNAL : "stopped by the time limit";
}

static int run_items(struct cb_runner *runner, const struct cb_plan *plan, struct cb_error *err)
{
    const char *stopped_by = NULL;
    while (runner->next < plan->items.count) {
        const struct cb_item *item = &plan->items.items[runner->next];
        bool interrupted = false;
        cb_stop_beat(runner->config->stop);
        cb_place_begin(runner->config->place, (int)runner->next + 1);
        int rc = stopped_by ? CB_OK : look_around(runner, &stopped_by, err);
        if (rc)
            return rc;
        if (item->skip || stopped_by) {
            rc = cb_step_add_skipped(runner, item,
                                     item->skip ? item->skip : stop_reason(stopped_by), err);
            rc = cb_group_agree(runner->coordinator->world, rc, err);
        } else {
            show_progress(runner, plan, runner->next);
            runner->is_inside = true;
            rc = run_item(runner, item, runner->config->seed + runner->next, &interrupted, err);
            rc = share_outcome(runner, rc, &interrupted, err);
        }
        if (rc)
            return rc;
        bool is_measured = runner->is_inside && !interrupted;
        runner->is_inside = false;
        if (interrupted)
            stopped_by = "signal"; /* an unfinished step is the first of the skipped ones */
        else
            runner->next++;
        rc = is_measured ? save(runner, err) : CB_OK;
        if (rc)
            return rc;
    }
    runner->result->complete = !stopped_by;
    snprintf(runner->result->stopped_by, sizeof(runner->result->stopped_by), "%s",
             stopped_by ? stopped_by : "");
    return CB_OK;
}

/* ---- setting up ---- */

static int share_leader_ranks(struct cb_runner *runner, struct cb_error *err)
{
    const struct cb_coordinator *c = runner->coordinator;
    runner->leader_ranks = calloc((size_t)c->node_count, sizeof(int));
    if (!runner->leader_ranks)
        return cb_fail(err, CB_E_MEMORY, "no memory for %d nodes", c->node_count);
    int rc = CB_OK;
    if (c->leaders)
        rc = cb_group_gather(c->leaders, &c->rank, sizeof(c->rank), runner->leader_ranks, err);
    return rc ? rc
              : cb_group_broadcast(c->world, runner->leader_ranks,
                                   (size_t)c->node_count * sizeof(int), err);
}

/* What a barrier costs here, the same number on every rank. */
static int measure_barrier(struct cb_runner *runner, struct cb_error *err)
{
    enum { BARRIERS = 20 };
    struct cb_group *world = runner->coordinator->world;
    int rc = cb_group_barrier(world, err);
    double start_s = cb_clock_now_s();
    for (int i = 0; i < BARRIERS && !rc; i++)
        rc = cb_group_barrier(world, err);
    double values[2] = {(cb_clock_now_s() - start_s) / BARRIERS, cb_clock_resolution_s()};
    if (!rc)
        rc = cb_group_max(world, values, 2, err);
    runner->barrier_s = values[0];
    runner->clock_s = values[1];
    return rc;
}

int cb_runner_run(const struct cb_runner_config *config, const struct cb_plan *plan,
                  struct cb_result *result, struct cb_error *err)
{
    struct cb_runner runner = {
        .config = config,
        .coordinator = config->coordinator,
        .result = result,
        .max_bytes = cb_plan_max_bytes(plan),
        .started_s = cb_clock_now_s(),
    };
    struct cb_sampler_policy policy = cb_sampler_policy_default(config->time_box_s);
    int rc = cb_sampler_init(&runner.sampler, &policy, err);
    if (!rc)
        rc = cb_sampler_init(&runner.own, &policy, err);
    rc = cb_group_agree(config->coordinator->world, rc, err);
    if (!rc)
        rc = share_leader_ranks(&runner, err);
    if (!rc)
        rc = measure_barrier(&runner, err);
    if (!rc)
        rc = run_items(&runner, plan, err);
    if (rc)
        add_unreached(&runner, plan, err);
    cb_step_close_transport(&runner);
    if (runner.kernels)
        config->kernels->close(runner.kernels);
    cb_sampler_fini(&runner.own);
    cb_sampler_fini(&runner.sampler);
    free(runner.leader_ranks);
    return rc;
}

#include "measure/runner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "measure/burn.h"
#include "measure/sampler.h"

/* A sample of collectives is this many barriers long, so that the skew with which ranks leave the
 * barrier before it is lost in it, and at least this long against the clock. */
enum { BARRIERS_PER_SAMPLE = 20, CLOCK_TICKS_PER_SAMPLE = 1000 };

/* Longer samples where the machine's own rhythm would show: a stream fills the shaper's or switch's
 * buffers first, a kernel meets the scheduler's time slices. */
static const double shortest_sample_s = 500e-6;
static const double stream_sample_s = 0.12;
static const double kernel_sample_s = 0.02;

enum { PING_BYTES = 8, LINK_WINDOW_MESSAGES = 8 };

struct runner {
    const struct cb_runner_config *config;
    const struct cb_coordinator *coordinator;
    struct cb_result *result;
    struct cb_sampler sampler; /* shared values: the same on every rank of a step */
    struct cb_sampler own;     /* this rank's values, for kernels */
    struct cb_transport *transport;
    enum cb_scope transport_scope;
    uint64_t max_bytes;
    struct cb_kernels *kernels;
    int *leader_ranks; /* world rank of each node's first rank */
    double started_s;
    double remaining_s; /* of the time limit, the same on every rank */
    double barrier_s;
    double clock_s;
};

/* Something that can be timed: k operations in, seconds out. */
struct timed {
    int (*run)(void *object, int operations, double *elapsed_s, struct cb_error *err);
    void *object;
    struct cb_group *together; /* who starts each sample together */
    struct cb_group *decides;  /* who shares the samples' maximum and the decision to stop */
    double sample_s;
    struct cb_sampler *own; /* also keeps this rank's values; may be NULL */
};

struct timing {
    struct cb_time_stats stats;
    enum cb_sampler_verdict verdict;
    int operations;
    int samples;
    bool interrupted;
};

/* ---- the timing loop ---- */

/* One sample: everybody starts together, operations run back to back. */
static int take_sample(const struct timed *timed, int operations, double *operation_s,
                       struct cb_error *err)
{
    double elapsed_s = 0;
    int rc = cb_group_barrier(timed->together, err);
    if (!rc)
        rc = timed->run(timed->object, operations, &elapsed_s, err);
    *operation_s = elapsed_s / operations;
    return rc;
}

/* How many operations make a sample, found on warm operations and agreed on by all. *sample_s is
 * how long one took on the slowest rank and *own_s on this one. */
static int calibrate(const struct timed *timed, int *operations, double *sample_s, double *own_s,
                     struct cb_error *err)
{
    *operations = 1;
    for (int round = 0; round < 3; round++) {
        int rc = take_sample(timed, *operations, own_s, err);
        double operation_s = *own_s;
        if (!rc)
            rc = cb_group_max(timed->decides, &operation_s, 1, err);
        if (rc)
            return rc;
        *sample_s = operation_s * *operations;
        int wanted = cb_sampler_operations(operation_s, timed->sample_s);
        if (wanted <= *operations * 2) {
            *operations = wanted;
            break;
        }
        /* One cold operation says little: approach the answer. */
        *operations = wanted < *operations * 64 ? wanted : *operations * 64;
    }
    return CB_OK;
}

/* Takes samples until the sampler says stop. The slowest rank's time is the sample's; the same
 * exchange that finds it carries the elapsed time and the wish to stop, so that everybody decides
 * alike. */
static int take_samples(struct runner *runner, const struct timed *timed, struct timing *timing,
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
    double sample_s = 0, own_s = 0;
    size_t batch;
    int rc = calibrate(timed, &timing->operations, &sample_s, &own_s, err);
    if (!rc && timing->operations == 1) {
        /* Slow operations are few: the calibration's own, warm by then, is as good a sample as any.
         */
        cb_sampler_add(sampler, &sample_s, 1);
        if (timed->own)
            cb_sampler_add(timed->own, &own_s, 1);
    }
    sampler->expected_sample_s = sample_s;
    while (!rc && !timing->interrupted) {
        timing->verdict = cb_sampler_decide(sampler, elapsed_s, &batch);
        if (timing->verdict != CB_SAMPLER_GO_ON)
            break;
        for (size_t i = 0; i < batch && !rc; i++)
            rc = take_sample(timed, timing->operations, &shared[i], err);
        if (rc)
            break;
        if (timed->own)
            cb_sampler_add(timed->own, shared, batch);
        shared[batch] = cb_clock_now_s() - start_s;
        shared[batch + 1] = cb_stop_is_requested(runner->config->stop);
        rc = cb_group_max(timed->decides, shared, batch + 2, err);
        if (rc)
            break;
        cb_stop_beat(runner->config->stop);
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

static enum cb_status status_of(const struct timing *timing, uint64_t wrong)
{
    if (wrong)
        return CB_STATUS_WRONG;
    return timing->verdict == CB_SAMPLER_SETTLED ? CB_STATUS_OK : CB_STATUS_NOISY;
}

/* Rank 0's clock rules: how much of the time limit is left, the same on every rank; and whether
 * anybody was asked to stop. Called by all ranks before each step. */
static int look_around(struct runner *runner, const char **stopped_by, struct cb_error *err)
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
static void set_policy(struct runner *runner)
{
    struct cb_sampler_policy policy = cb_sampler_policy_default(runner->config->time_box_s);
    policy.target_relative = runner->config->target_relative;
    policy.hard_box_s = fmin(policy.hard_box_s, fmax(runner->remaining_s, 0));
    policy.time_box_s = fmin(policy.time_box_s, policy.hard_box_s);
    runner->sampler.policy = policy;
}

/* ---- collectives ---- */

struct transport_object {
    const struct cb_transport_ops *ops;
    struct cb_transport *transport;
};

static int run_transport(void *object, int operations, double *elapsed_s, struct cb_error *err)
{
    const struct transport_object *o = object;
    return o->ops->run(o->transport, operations, elapsed_s, err);
}

static struct cb_group *scope_group(const struct cb_coordinator *coordinator, enum cb_scope scope)
{
    switch (scope) {
    case CB_SCOPE_INTRA_NODE:
        return coordinator->node_group;
    case CB_SCOPE_INTER_NODE:
        return coordinator->leaders;
    case CB_SCOPE_WORLD:
    case CB_SCOPE_COUNT:
        break;
    }
    return coordinator->world;
}

static void close_transport(struct runner *runner)
{
    if (runner->transport)
        runner->config->transport->close(runner->transport);
    runner->transport = NULL;
}

static int open_transport(struct runner *runner, enum cb_scope scope, struct cb_group *group,
                          struct cb_error *err)
{
    if (runner->transport && runner->transport_scope == scope)
        return CB_OK;
    close_transport(runner);
    runner->transport_scope = scope;
    return runner->config->transport->open(&runner->config->transport_config, group,
                                           runner->max_bytes, &runner->transport, err);
}

/* A transport that brings the ranks together by itself has nothing of a barrier's skew in it, and
 * does not read the host's clock. */
static double shortest_collective_sample_s(const struct runner *runner)
{
    if (runner->config->transport->is_aligned)
        return shortest_sample_s;
    return fmax(
        fmax(BARRIERS_PER_SAMPLE * runner->barrier_s, CLOCK_TICKS_PER_SAMPLE * runner->clock_s),
        shortest_sample_s);
}

/* The part of a collective step that the members of its group do. Outcome in *row. */
static int measure_collective(struct runner *runner, const struct cb_item *item, uint64_t seed,
                              struct cb_group *group, struct cb_collective_row *row,
                              bool *interrupted, struct cb_error *err)
{
    const struct cb_transport_ops *ops = runner->config->transport;
    /* On all nodes at once: they share one decision. */
    struct cb_group *decides =
        item->scope == CB_SCOPE_INTRA_NODE ? runner->coordinator->world : group;
    int rc = open_transport(runner, item->scope, group, err);
    if (rc)
        return rc;
    if (!ops->supports(runner->transport, &item->step, row->reason, sizeof(row->reason))) {
        row->status = CB_STATUS_SKIPPED;
        return CB_OK;
    }
    rc = ops->prepare(runner->transport, &item->step, err);
    uint64_t wrong = 0;
    if (!rc)
        rc = ops->verify(runner->transport, seed, &wrong, err);
    double wrong_everywhere = (double)wrong;
    if (!rc)
        rc = cb_group_sum(decides, &wrong_everywhere, 1, err);
    if (rc)
        return rc;

    struct transport_object object = {ops, runner->transport};
    struct timed timed = {
        .run = run_transport,
        .object = &object,
        .together = group,
        .decides = decides,
        .sample_s = shortest_collective_sample_s(runner),
    };
    struct timing timing;
    rc = take_samples(runner, &timed, &timing, err);
    if (rc)
        return rc;
    *interrupted = timing.interrupted;
    row->wrong = (uint64_t)wrong_everywhere;
    row->status = status_of(&timing, row->wrong);
    row->samples = timing.samples;
    row->operations_per_sample = timing.operations;
    row->time = timing.stats;
    row->alg_bytes_per_s = (double)row->size_bytes / timing.stats.median_s;
    row->bus_bytes_per_s = row->alg_bytes_per_s * cb_op_bus_factor(row->op, row->ranks);
    return CB_OK;
}

static int add_collective_row(struct runner *runner, const struct cb_collective_row *row,
                              struct cb_error *err)
{
    if (runner->coordinator->rank != 0)
        return CB_OK;
    struct cb_collective_row *place = cb_vec_add(&runner->result->collectives);
    if (!place)
        return cb_fail(err, CB_E_MEMORY, "no memory for a row");
    *place = *row;
    return CB_OK;
}

static struct cb_collective_row collective_row(const struct cb_item *item)
{
    return (struct cb_collective_row){
        .op = item->step.op,
        .scope = item->scope,
        .dtype = item->step.dtype,
        .redop = item->step.redop,
        .ranks = item->group_size,
        .size_bytes = item->step.size_bytes,
        .in_place = item->step.in_place,
    };
}

static int run_collective(struct runner *runner, const struct cb_item *item, uint64_t seed,
                          bool *interrupted, struct cb_error *err)
{
    struct cb_group *group = scope_group(runner->coordinator, item->scope);
    struct cb_collective_row row = collective_row(item);
    int rc = CB_OK;
    if (group)
        rc = measure_collective(runner, item, seed, group, &row, interrupted, err);
    /* Ranks with nothing to do here sleep instead of spinning against those that measure. */
    if (item->scope == CB_SCOPE_INTER_NODE) {
        struct cb_error ignored;
        int waited = cb_group_wait(runner->coordinator->world, rc ? &ignored : err);
        rc = rc ? rc : waited;
    }
    rc = cb_group_agree(runner->coordinator->world, rc, err);
    return rc || *interrupted ? rc : add_collective_row(runner, &row, err);
}

/* ---- links ---- */

/* One direction of one link, as the sending node's first rank knows it. */
struct link {
    int from, to; /* nodes; from is -1 when there is nothing */
    bool interrupted;
    struct cb_pair_row row;
};

static int measure_motion(struct runner *runner, struct cb_transport *transport,
                          struct cb_group *pair, const struct cb_step *step, double sample_s,
                          uint64_t seed, struct timing *timing, double *wrong, struct cb_error *err)
{
    const struct cb_transport_ops *ops = runner->config->transport;
    uint64_t wrong_here = 0;
    int rc = ops->prepare(transport, step, err);
    if (!rc)
        rc = ops->verify(transport, seed, &wrong_here, err);
    *wrong = (double)wrong_here;
    if (!rc)
        rc = cb_group_sum(pair, wrong, 1, err);
    if (rc)
        return rc;
    struct transport_object object = {ops, transport};
    struct timed timed = {.run = run_transport,
                          .object = &object,
                          .together = pair,
                          .decides = pair,
                          .sample_s = sample_s};
    return take_samples(runner, &timed, timing, err);
}

/* Round trip and one-way rate from node `from` to node `to`; both nodes' first ranks call it. */
static int measure_link(struct runner *runner, const struct cb_item *item, int from, int to,
                        uint64_t seed, struct link *link, struct cb_error *err)
{
    const struct cb_transport_ops *ops = runner->config->transport;
    struct cb_group *pair = NULL;
    struct cb_transport *transport = NULL;
    int rc = cb_group_open_pair(runner->coordinator, runner->leader_ranks[from],
                                runner->leader_ranks[to], &pair, err);
    if (rc)
        return rc;
    rc = ops->open(&runner->config->transport_config, pair,
                   item->step.size_bytes * LINK_WINDOW_MESSAGES, &transport, err);
    if (rc)
        goto close_pair;

    struct cb_step ping = {
        .motion = CB_MOTION_PING_PONG, .dtype = CB_DTYPE_FLOAT32, .size_bytes = PING_BYTES};
    struct timing round_trip, stream = {0};
    double wrong_ping = 0, wrong_stream = 0;
    rc = measure_motion(runner, transport, pair, &ping, shortest_sample_s, seed, &round_trip,
                        &wrong_ping, err);
    if (!rc && !round_trip.interrupted)
        rc = measure_motion(runner, transport, pair, &item->step, stream_sample_s, seed, &stream,
                            &wrong_stream, err);
    if (rc)
        goto close_transport;
    link->interrupted = round_trip.interrupted || stream.interrupted;
    link->from = from;
    link->to = to;
    link->row.round_trip_s = round_trip.stats.median_s;
    link->row.size_bytes = item->step.size_bytes;
    link->row.ci95_relative = stream.stats.ci95_relative;
    if (stream.stats.median_s > 0)
        link->row.bytes_per_s = (double)item->step.size_bytes / stream.stats.median_s;
    link->row.status = status_of(&stream, (uint64_t)(wrong_ping + wrong_stream));

close_transport:
    ops->close(transport);
close_pair:
    cb_group_close(pair);
    return rc;
}

/* Rank 0 collects what the first ranks of the sending nodes found. */
static int add_pair_rows(struct runner *runner, const struct link *mine, struct cb_error *err)
{
    const struct cb_coordinator *c = runner->coordinator;
    struct link *all = NULL;
    if (c->rank == 0) {
        all = calloc((size_t)c->node_count, sizeof(*all));
        if (!all)
            return cb_fail(err, CB_E_MEMORY, "no memory for %d links", c->node_count);
    }
    int rc = cb_group_gather(c->leaders, mine, sizeof(*mine), all, err);
    for (int i = 0; all && !rc && i < c->node_count; i++) {
        if (all[i].from < 0)
            continue;
        struct cb_pair_row *place = cb_vec_add(&runner->result->pairs);
        if (!place) {
            rc = cb_fail(err, CB_E_MEMORY, "no memory for a row");
            break;
        }
        *place = all[i].row;
        snprintf(place->a, sizeof(place->a), "%s", runner->result->nodes.items[all[i].from].name);
        snprintf(place->b, sizeof(place->b), "%s", runner->result->nodes.items[all[i].to].name);
    }
    free(all);
    return rc;
}

static int run_links(struct runner *runner, const struct cb_item *item, uint64_t seed,
                     bool *interrupted, struct cb_error *err)
{
    const struct cb_coordinator *c = runner->coordinator;
    bool first = false;
    int partner = cb_plan_link_partner(c->node_count, item->round, c->node, &first);
    int low = first ? c->node : partner, high = first ? partner : c->node;
    int rc = CB_OK;
    for (int direction = 0; direction < 2 && !rc && !*interrupted; direction++) {
        int from = direction ? high : low, to = direction ? low : high;
        struct link link = {.from = -1};
        if (c->leaders && partner >= 0)
            rc = measure_link(runner, item, from, to, seed, &link, err);
        double stop = link.interrupted;
        if (link.from != c->node)
            link.from = -1; /* the other end reports it */
        struct cb_error ignored;
        int waited = cb_group_wait(c->world, rc ? &ignored : err);
        rc = cb_group_agree(c->world, rc ? rc : waited, err);
        if (!rc)
            rc = cb_group_max(c->world, &stop, 1, err);
        *interrupted = stop > 0;
        if (!rc && !*interrupted && c->leaders)
            rc = add_pair_rows(runner, &link, err);
    }
    return rc;
}

/* ---- kernels ---- */

struct kernel_object {
    const struct cb_kernel_ops *ops;
    struct cb_kernels *set;
};

static int run_kernel(void *object, int operations, double *elapsed_s, struct cb_error *err)
{
    const struct kernel_object *o = object;
    return o->ops->run(o->set, operations, elapsed_s, err);
}

/* Fills this rank's row. Every rank computes at once, as in training, and each keeps its own times.
 */
static int measure_kernel(struct runner *runner, const struct cb_item *item,
                          struct cb_kernel_row *row, bool *interrupted, struct cb_error *err)
{
    const struct cb_kernel_ops *ops = runner->config->kernels;
    const struct cb_coordinator *c = runner->coordinator;
    struct cb_kernel_work work;
    double warm_s;
    int rc = ops->prepare(runner->kernels, item->kernel, item->kernel_dtype, &work, err);
    rc = cb_group_agree(c->world, rc, err);
    if (rc)
        return rc;
    rc = ops->run(runner->kernels, 1, &warm_s, err);
    if (!rc)
        rc = ops->verify(runner->kernels, &row->wrong, err);
    rc = cb_group_agree(c->world, rc, err);
    if (rc)
        goto release;

    struct kernel_object object = {ops, runner->kernels};
    struct timed timed = {.run = run_kernel,
                          .object = &object,
                          .together = c->node_group,
                          .decides = c->world,
                          .sample_s = kernel_sample_s,
                          .own = &runner->own};
    struct timing timing;
    struct cb_time_stats own;
    rc = take_samples(runner, &timed, &timing, err);
    uint64_t wrong_after = 0; /* the timed operations computed, too */
    if (!rc)
        rc = ops->verify(runner->kernels, &wrong_after, err);
    if (rc)
        goto release;
    row->wrong += wrong_after;
    cb_sampler_summarise(&runner->own, &own);
    *interrupted = timing.interrupted;
    row->status = status_of(&timing, row->wrong);
    row->threads = work.threads;
    row->size_bytes = work.size_bytes;
    row->samples = timing.samples;
    row->flops_per_s = work.flops / own.median_s;
    row->bytes_per_s = work.bytes / own.median_s;
    row->ci95_relative = own.ci95_relative;
    snprintf(row->variant, sizeof(row->variant), "%s", work.variant);

release:
    ops->release(runner->kernels);
    return rc;
}

static int add_kernel_rows(struct runner *runner, const struct cb_kernel_row *mine,
                           struct cb_error *err)
{
    const struct cb_coordinator *c = runner->coordinator;
    struct cb_kernel_row *all = NULL;
    if (c->rank == 0) {
        all = calloc((size_t)c->size, sizeof(*all));
        if (!all)
            return cb_fail(err, CB_E_MEMORY, "no memory for the rows of %d ranks", c->size);
    }
    int rc = cb_group_gather(c->world, mine, sizeof(*mine), all, err);
    for (int i = 0; all && !rc && i < c->size; i++) {
        struct cb_kernel_row *place = cb_vec_add(&runner->result->kernels);
        if (place)
            *place = all[i];
        else
            rc = cb_fail(err, CB_E_MEMORY, "no memory for a row");
    }
    free(all);
    return rc;
}

static int open_kernels(struct runner *runner, struct cb_error *err)
{
    int rc = CB_OK;
    if (!runner->kernels)
        rc = runner->config->kernels->open(&runner->config->kernels_config, &runner->kernels, err);
    return cb_group_agree(runner->coordinator->world, rc, err);
}

static int run_kernels(struct runner *runner, const struct cb_item *item, bool *interrupted,
                       struct cb_error *err)
{
    const struct cb_kernel_ops *ops = runner->config->kernels;
    struct cb_kernel_row row = {.rank = runner->coordinator->rank, .dtype = item->kernel_dtype};
    snprintf(row.kernel, sizeof(row.kernel), "%s", cb_kernel_name(item->kernel));
    int rc = open_kernels(runner, err);
    if (rc)
        return rc;
    if (ops->supports(runner->kernels, item->kernel, item->kernel_dtype, row.reason,
                      sizeof(row.reason)))
        rc = measure_kernel(runner, item, &row, interrupted, err);
    else
        row.status = CB_STATUS_SKIPPED;
    rc = cb_group_agree(runner->coordinator->world, rc, err);
    return rc || *interrupted ? rc : add_kernel_rows(runner, &row, err);
}

/* ---- the plan ---- */

static int skip_item(struct runner *runner, const struct cb_item *item, const char *reason,
                     struct cb_error *err)
{
    if (runner->coordinator->rank != 0)
        return CB_OK;
    if (item->kind == CB_ITEM_COLLECTIVE) {
        struct cb_collective_row row = collective_row(item);
        row.status = CB_STATUS_SKIPPED;
        snprintf(row.reason, sizeof(row.reason), "%s", reason);
        return add_collective_row(runner, &row, err);
    }
    if (item->kind == CB_ITEM_KERNEL) {
        struct cb_kernel_row *row = cb_vec_add(&runner->result->kernels);
        if (!row)
            return cb_fail(err, CB_E_MEMORY, "no memory for a row");
        row->rank = 0;
        row->dtype = item->kernel_dtype;
        row->status = CB_STATUS_SKIPPED;
        snprintf(row->kernel, sizeof(row->kernel), "%s", cb_kernel_name(item->kernel));
        snprintf(row->reason, sizeof(row->reason), "%s", reason);
        return CB_OK;
    }
    if (item->kind == CB_ITEM_BURN) {
        struct cb_burn_row *row = cb_vec_add(&runner->result->burns);
        if (!row)
            return cb_fail(err, CB_E_MEMORY, "no memory for a row");
        row->rank = -1;
        row->dtype = item->kernel_dtype;
        row->planned_s = item->burn_s;
        row->status = CB_STATUS_SKIPPED;
        snprintf(row->reason, sizeof(row->reason), "%s", reason);
        return CB_OK;
    }
    struct cb_pair_row *row = cb_vec_add(&runner->result->pairs);
    if (!row)
        return cb_fail(err, CB_E_MEMORY, "no memory for a row");
    row->status = CB_STATUS_SKIPPED;
    snprintf(row->reason, sizeof(row->reason), "%s", reason);
    return CB_OK;
}

/* ---- burn ---- */

/* The type that uses a card's matrix units most, of those that every rank has. */
static int choose_burn_dtype(struct runner *runner, enum cb_dtype *dtype, bool *found,
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

static int run_burn(struct runner *runner, const struct cb_item *item, struct cb_error *err)
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
    };
    int rc = open_kernels(runner, err);
    if (!rc)
        rc = choose_burn_dtype(runner, &config.dtype, &found, err);
    if (rc)
        return rc;
    if (!found)
        return skip_item(runner, item, "not every rank has a GEMM of one type", err);
    config.set = runner->kernels;
    return cb_burn_run(&config, runner->result, err);
}

/* A step's time before it is known: settling at one rate, six samples at another. */
static double estimate_s(const struct runner *runner, const struct cb_item *item)
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

static void show_progress(const struct runner *runner, const struct cb_plan *plan, size_t index)
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

static int run_item(struct runner *runner, const struct cb_item *item, uint64_t seed,
                    bool *interrupted, struct cb_error *err)
{
    set_policy(runner);
    switch (item->kind) {
    case CB_ITEM_LINK:
        return run_links(runner, item, seed, interrupted, err);
    case CB_ITEM_KERNEL:
        if (!runner->config->kernels)
            return skip_item(runner, item, "no kernels in this build", err);
        return run_kernels(runner, item, interrupted, err);
    case CB_ITEM_BURN:
        if (!runner->config->kernels)
            return skip_item(runner, item, "no kernels in this build", err);
        return run_burn(runner, item, err);
    case CB_ITEM_COLLECTIVE:
        break;
    }
    return run_collective(runner, item, seed, interrupted, err);
}

static int save(struct runner *runner, struct cb_error *err)
{
    const struct cb_runner_hooks *hooks = &runner->config->hooks;
    int rc = CB_OK;
    if (runner->coordinator->rank == 0 && hooks->save)
        rc = hooks->save(hooks->arg, err);
    return cb_group_agree(runner->coordinator->world, rc, err);
}

static const char *stop_reason(const char *stopped_by)
{
    return strcmp(stopped_by, "signal") == 0 ? "stopped by a signal" : "stopped by the time limit";
}

static int run_items(struct runner *runner, const struct cb_plan *plan, struct cb_error *err)
{
    const char *stopped_by = NULL;
    size_t i = 0;
    while (i < plan->items.count) {
        const struct cb_item *item = &plan->items.items[i];
        bool interrupted = false;
        cb_stop_beat(runner->config->stop);
        int rc = stopped_by ? CB_OK : look_around(runner, &stopped_by, err);
        if (rc)
            return rc;
        if (item->skip || stopped_by) {
            rc = skip_item(runner, item, item->skip ? item->skip : stop_reason(stopped_by), err);
            rc = cb_group_agree(runner->coordinator->world, rc, err);
        } else {
            show_progress(runner, plan, i);
            rc = run_item(runner, item, runner->config->seed + i, &interrupted, err);
            if (!rc && !interrupted)
                rc = save(runner, err);
        }
        if (rc)
            return rc;
        if (interrupted)
            stopped_by = "signal"; /* an unfinished step is the first of the skipped ones */
        else
            i++;
    }
    runner->result->complete = !stopped_by;
    snprintf(runner->result->stopped_by, sizeof(runner->result->stopped_by), "%s",
             stopped_by ? stopped_by : "");
    return CB_OK;
}

/* ---- setting up ---- */

static int share_leader_ranks(struct runner *runner, struct cb_error *err)
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
static int measure_barrier(struct runner *runner, struct cb_error *err)
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
    struct runner runner = {
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
    close_transport(&runner);
    if (runner.kernels)
        config->kernels->close(runner.kernels);
    cb_sampler_fini(&runner.own);
    cb_sampler_fini(&runner.sampler);
    free(runner.leader_ranks);
    return rc;
}

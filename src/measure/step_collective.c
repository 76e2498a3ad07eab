#include "measure/runner_internal.h"
#include "measure/skipped.h"

#include <math.h>

/* A sample is this many barriers long, so that the skew with which ranks leave the barrier before
 * it is lost in it, and this many ticks of the clock. */
enum { BARRIERS_PER_SAMPLE = 20, CLOCK_TICKS_PER_SAMPLE = 1000 };

int cb_step_run_transport(void *object, int operations, double *elapsed_s, struct cb_error *err)
{
    const struct cb_transport_object *o = object;
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

void cb_step_close_transport(struct cb_runner *runner)
{
    if (runner->transport)
        runner->config->transport->close(runner->transport);
    runner->transport = NULL;
}

/* Collective over decides, which may be more than the group: no group goes on alone. */
static int open_transport(struct cb_runner *runner, enum cb_scope scope, struct cb_group *group,
                          struct cb_group *decides, struct cb_error *err)
{
    if (runner->transport && runner->transport_scope == scope)
        return CB_OK;
    cb_step_close_transport(runner);
    runner->transport_scope = scope;
    cb_place_enter(runner->config->place);
    int rc = runner->config->transport->open(&runner->config->transport_config, group,
                                             runner->max_bytes, &runner->transport, err);
    cb_place_leave(runner->config->place, rc);
    rc = cb_group_agree(decides, rc, err);
    if (rc)
        cb_step_close_transport(runner);
    return rc;
}

/* A transport that brings the ranks together by itself has nothing of a barrier's skew in it, and
 * does not read the host's clock. */
static double shortest_sample_s(const struct cb_runner *runner)
{
    if (runner->config->transport->is_aligned)
        return CB_SHORTEST_SAMPLE_S;
    return fmax(
        fmax(BARRIERS_PER_SAMPLE * runner->barrier_s, CLOCK_TICKS_PER_SAMPLE * runner->clock_s),
        CB_SHORTEST_SAMPLE_S);
}

int cb_step_verify(struct cb_runner *runner, struct cb_transport *transport,
                   const struct cb_step *step, struct cb_group *group, uint64_t seed, double *wrong,
                   struct cb_error *err)
{
    const struct cb_transport_ops *ops = runner->config->transport;
    uint64_t wrong_here = 0;
    struct cb_error ignored;
    int code = ops->prepare(transport, step, err);
    if (!code) {
        cb_place_enter(runner->config->place);
        code = ops->verify(transport, seed, &wrong_here, err);
        cb_place_leave(runner->config->place, code);
    }
    double shared[2] = {(double)wrong_here, code != CB_OK};
    int rc = cb_group_sum(group, shared, 2, code ? &ignored : err);
    if (!rc || code)
        rc = cb_timing_tell(code, shared[1] > 0, err);
    *wrong = shared[0];
    return rc;
}

/* The part of a collective step that the members of its group do. Outcome in *row. */
static int measure_collective(struct cb_runner *runner, const struct cb_item *item, uint64_t seed,
                              struct cb_group *group, struct cb_collective_row *row,
                              bool *interrupted, struct cb_error *err)
{
    const struct cb_transport_ops *ops = runner->config->transport;
    /* On all nodes at once: they share one decision. */
    struct cb_group *decides =
        item->scope == CB_SCOPE_INTRA_NODE ? runner->coordinator->world : group;
    int rc = open_transport(runner, item->scope, group, decides, err);
    if (rc)
        return rc;
    if (!ops->supports(runner->transport, &item->step, row->reason, sizeof(row->reason))) {
        row->status = CB_STATUS_SKIPPED;
        return CB_OK;
    }
    double wrong_everywhere;
    rc = cb_step_verify(runner, runner->transport, &item->step, decides, seed, &wrong_everywhere,
                        err);
    if (rc)
        return rc;

    struct cb_transport_object object = {ops, runner->transport};
    struct cb_timed timed = {
        .run = cb_step_run_transport,
        .object = &object,
        .together = group,
        .decides = decides,
        .sample_s = shortest_sample_s(runner),
    };
    struct cb_timing timing;
    rc = cb_timing_take(runner, &timed, &timing, err);
    if (rc)
        return rc;
    *interrupted = timing.interrupted;
    if (ops->tell)
        ops->tell(runner->transport, &row->algorithm);
    row->wrong = (uint64_t)wrong_everywhere;
    row->status = cb_timing_status(&timing, row->wrong);
    row->samples = timing.samples;
    row->operations_per_sample = timing.operations;
    row->time = timing.stats;
    row->alg_bytes_per_s = (double)row->size_bytes / timing.stats.median_s;
    row->bus_bytes_per_s = row->alg_bytes_per_s * cb_op_bus_factor(row->op, row->ranks);
    return CB_OK;
}

int cb_step_add_collective(struct cb_runner *runner, const struct cb_collective_row *row,
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

int cb_step_collective(struct cb_runner *runner, const struct cb_item *item, uint64_t seed,
                       bool *interrupted, struct cb_error *err)
{
    struct cb_group *group = scope_group(runner->coordinator, item->scope);
    struct cb_collective_row row = cb_skipped_collective(item);
    int rc = CB_OK;
    if (group)
        rc = measure_collective(runner, item, seed, group, &row, interrupted, err);
    else
        cb_place_join_party(runner->config->place, CB_PARTY_NONE);
    /* Ranks with nothing to do here sleep instead of spinning against those that measure. */
    if (item->scope == CB_SCOPE_INTER_NODE) {
        struct cb_error ignored;
        int waited = cb_group_wait(runner->coordinator->world, rc ? &ignored : err);
        rc = rc ? rc : waited;
    }
    return rc || *interrupted ? rc : cb_step_add_collective(runner, &row, err);
}

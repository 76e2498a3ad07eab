#include "measure/runner_internal.h"

#include <stdio.h>

#include "measure/gather.h"

enum { PING_BYTES = 8, LINK_WINDOW_MESSAGES = 8 };

/* A stream fills the buffers of the switch or shaper first: a sample is long against them. */
static const double stream_sample_s = 0.1;

/* One direction of one link, as the sending node's first rank knows it. */
struct link {
    int from, to; /* nodes; from is -1 when there is nothing */
    bool interrupted;
    struct cb_pair_row row;
};

static int measure_motion(struct cb_runner *runner, struct cb_transport *transport,
                          struct cb_group *pair, const struct cb_step *step, double sample_s,
                          uint64_t seed, struct cb_timing *timing, double *wrong,
                          struct cb_error *err)
{
    int rc = cb_step_verify(runner, transport, step, pair, seed, wrong, err);
    if (rc)
        return rc;
    struct cb_transport_object object = {runner->config->transport, transport};
    struct cb_timed timed = {.run = cb_step_run_transport,
                             .object = &object,
                             .together = pair,
                             .decides = pair,
                             .sample_s = sample_s};
    return cb_timing_take(runner, &timed, timing, err);
}

/* Round trip and one-way rate from node `from` to node `to`; both nodes' first ranks call it. */
static int measure_link(struct cb_runner *runner, const struct cb_item *item, int from, int to,
                        uint64_t seed, struct link *link, struct cb_error *err)
{
    const struct cb_transport_ops *ops = runner->config->transport;
    struct cb_group *pair = NULL;
    struct cb_transport *transport = NULL;
    int rc = cb_group_open_pair(runner->coordinator, runner->leader_ranks[from],
                                runner->leader_ranks[to], &pair, err);
    if (rc)
        return rc;
    cb_place_enter(runner->config->place);
    rc = ops->open(&runner->config->transport_config, pair,
                   item->step.size_bytes * LINK_WINDOW_MESSAGES, &transport, err);
    cb_place_leave(runner->config->place, rc);
    if (rc)
        goto close_pair;

    struct cb_step ping = {
        .motion = CB_MOTION_PING_PONG, .dtype = CB_DTYPE_FLOAT32, .size_bytes = PING_BYTES};
    struct cb_timing round_trip, stream = {0};
    double wrong_ping = 0, wrong_stream = 0;
    rc = measure_motion(runner, transport, pair, &ping, CB_SHORTEST_SAMPLE_S, seed, &round_trip,
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
    link->row.status = cb_timing_status(&stream, (uint64_t)(wrong_ping + wrong_stream));

close_transport:
    ops->close(transport);
close_pair:
    cb_group_close(pair);
    return rc;
}

/* Rank 0 collects what the first ranks of the sending nodes found. */
static int add_pair_rows(struct cb_runner *runner, struct link *mine, struct cb_error *err)
{
    const struct cb_topo_host *hosts = runner->result->nodes.items;
    CB_VEC(struct link) all = {0};
    int rc = cb_gather_append(runner->coordinator->leaders, mine, &all, err);
    for (size_t i = 0; i < all.count && !rc; i++) {
        const struct link *link = &all.items[i];
        if (link->from < 0)
            continue;
        struct cb_pair_row *place = cb_vec_add(&runner->result->pairs);
        if (!place) {
            rc = cb_fail(err, CB_E_MEMORY, "no memory for a row");
            break;
        }
        *place = link->row;
        snprintf(place->a, sizeof(place->a), "%s", hosts[link->from].name);
        snprintf(place->b, sizeof(place->b), "%s", hosts[link->to].name);
    }
    cb_vec_fini(&all);
    return rc;
}

int cb_step_links(struct cb_runner *runner, const struct cb_item *item, uint64_t seed,
                  bool *interrupted, struct cb_error *err)
{
    const struct cb_coordinator *c = runner->coordinator;
    bool first = false;
    int partner = cb_plan_link_partner(c->node_count, item->round, c->node, &first);
    int low = first ? c->node : partner, high = first ? partner : c->node;
    int rc = CB_OK;
    for (int direction = 0; direction < 2 && !rc; direction++) {
        int from = direction ? high : low, to = direction ? low : high;
        struct link link = {.from = -1};
        bool takes_part = c->leaders && partner >= 0;
        cb_place_join_party(runner->config->place, takes_part ? 1 + low : CB_PARTY_NONE);
        if (takes_part)
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
        if (rc || *interrupted)
            break;
        if (c->leaders)
            rc = add_pair_rows(runner, &link, err);
        rc = cb_group_agree(c->world, rc, err);
    }
    return rc;
}

#include "measure/burn.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "measure/burn_log.h"

/* Long against what starting an operation takes, short against what a card's clock does. */
static const double span_s = 0.25;
/* At a meeting the faster ranks wait up to a span: a meeting costs little of the time between. */
static const double least_meeting_s = 5, most_meeting_s = 30;
/* Of the time that verifying may take: a pause cools the card. */
static const double most_checking_share = 0.02;
static const double least_sample_s = 0.1;
enum { SAMPLES_OF_BURN = 20000, LEAST_POINTS = 8 };

/* ---- watching ---- */

/* Looks at the card from a thread of its own; the log is its until it ended. */
struct watch {
    const struct cb_nvml_api *nvml;
    unsigned index;
    double started_s, interval_s;
    struct cb_burn_log *log;
    atomic_bool finished;
    bool failed; /* no memory for a sample */
    bool started;
    pthread_t thread;
};

static void sleep_s(double seconds)
{
    struct timespec left = {.tv_sec = (time_t)seconds,
                            .tv_nsec = (long)((seconds - floor(seconds)) * 1e9)};
    while (nanosleep(&left, &left) == -1 && errno == EINTR)
        ;
}

static void *watch_card(void *arg)
{
    struct watch *watch = arg;
    for (unsigned long tick = 1; !atomic_load(&watch->finished); tick++) {
        struct cb_gpu_sample sample = {.time_s = cb_clock_now_s() - watch->started_s};
        cb_gpu_sample(watch->nvml, watch->index, &sample);
        struct cb_gpu_sample *place = cb_vec_add(&watch->log->samples);
        watch->failed |= !place;
        if (!place || sample.lost) {
            if (place)
                *place = sample;
            break; /* a lost card does not come back */
        }
        *place = sample;
        double due_s = watch->started_s + (double)tick * watch->interval_s;
        for (double left_s;
             !atomic_load(&watch->finished) && (left_s = due_s - cb_clock_now_s()) > 0;)
            sleep_s(fmin(left_s, least_sample_s));
    }
    return NULL;
}

static void start_watch(const struct cb_burn_config *config, double started_s,
                        struct cb_burn_log *log, struct watch *watch, struct cb_burn_row *row)
{
    watch->nvml = config->nvml;
    watch->index = (unsigned)config->nvml_index;
    watch->started_s = started_s;
    watch->interval_s = fmax(least_sample_s, config->duration_s / SAMPLES_OF_BURN);
    watch->log = log;
    if (!config->nvml || config->nvml_index < 0) {
        snprintf(row->reason, sizeof(row->reason), "the card was not watched: %.200s",
                 config->no_samples ? config->no_samples : "the driver does not show it");
        return;
    }
    watch->started = pthread_create(&watch->thread, NULL, watch_card, watch) == 0;
    if (!watch->started)
        snprintf(row->reason, sizeof(row->reason), "the card was not watched: no thread for it");
}

/* After a failure the card is looked at once more: it may be the reason. */
static void end_watch(struct watch *watch, bool has_failed, struct cb_burn_row *row)
{
    atomic_store(&watch->finished, true);
    if (!watch->started)
        return;
    pthread_join(watch->thread, NULL);
    struct cb_gpu_sample *last = has_failed ? cb_vec_add(&watch->log->samples) : NULL;
    if (last) {
        last->time_s = cb_clock_now_s() - watch->started_s;
        cb_gpu_sample(watch->nvml, watch->index, last);
    }
    if (watch->failed)
        snprintf(row->reason, sizeof(row->reason),
                 "the card was not watched to the end: no memory");
}

/* ---- burning ---- */

struct burn {
    const struct cb_burn_config *config;
    struct cb_burn_log log;
    struct cb_burn_row *row;
    struct cb_kernel_work work;
    double started_s;
    int operations;       /* of a span */
    int spans_of_a_check; /* a product is verified after so many spans */
    int spans_unchecked;
};

static int check(struct burn *burn, struct cb_error *err)
{
    uint64_t wrong = 0;
    double start_s = cb_clock_now_s();
    int rc = burn->config->kernels->verify(burn->config->set, &wrong, err);
    if (rc)
        return rc;
    double cost_s = cb_clock_now_s() - start_s;
    burn->row->checks++;
    burn->row->wrong += wrong;
    burn->spans_unchecked = 0;
    burn->spans_of_a_check = (int)fmin(ceil(cost_s / (most_checking_share * span_s)), 1000);
    if (burn->spans_of_a_check < 1)
        burn->spans_of_a_check = 1;
    return CB_OK;
}

static int run_span(struct burn *burn, struct cb_error *err)
{
    double elapsed_s = 0;
    int rc = burn->config->kernels->run(burn->config->set, burn->operations, &elapsed_s, err);
    if (rc)
        return rc;
    struct cb_burn_span *span = cb_vec_add(&burn->log.spans);
    if (!span)
        return cb_fail(err, CB_E_MEMORY, "no memory for the spans of a burn");
    span->time_s = cb_clock_now_s() - burn->started_s;
    span->flops_per_s = elapsed_s > 0 ? burn->work.flops * (double)burn->operations / elapsed_s : 0;
    burn->row->operations += (uint64_t)burn->operations;
    if (burn->config->stop)
        cb_stop_beat(burn->config->stop);
    return ++burn->spans_unchecked >= burn->spans_of_a_check ? check(burn, err) : CB_OK;
}

/* How many operations a span takes, by the wall clock: what a burn lasts is wall time. */
static int calibrate(struct burn *burn, struct cb_error *err)
{
    burn->operations = 1;
    for (int round = 0; round < 8; round++) {
        double ignored_s, start_s = cb_clock_now_s();
        int rc = burn->config->kernels->run(burn->config->set, burn->operations, &ignored_s, err);
        double wall_s = fmax(cb_clock_now_s() - start_s, 1e-9);
        if (rc)
            return rc;
        double wanted = span_s / wall_s * burn->operations;
        if (wanted < burn->operations * 2.0) {
            burn->operations = wanted < 1 ? 1 : (int)wanted;
            break;
        }
        /* One cold operation says little: approach the answer. */
        burn->operations = (int)fmin(fmin(wanted, burn->operations * 64.0), 1e6);
    }
    return check(burn, err);
}

/* The ranks meet from time to time to learn whether all go on. */
static int meet(struct burn *burn, bool wants_to_end, bool *ends, struct cb_error *err)
{
    const struct cb_burn_config *config = burn->config;
    bool is_asked = config->stop && cb_stop_is_requested(config->stop);
    double value = wants_to_end || is_asked;
    if (config->place)
        cb_place_leave(config->place, CB_OK);
    int rc = cb_group_max(config->coordinator->world, &value, 1, err);
    *ends = rc || value > 0;
    if (config->place && !*ends)
        cb_place_enter(config->place);
    return rc;
}

/* Spans until the ranks agree to end; each meets the others at the same times, one that failed
 * too. */
static int burn_on(struct burn *burn, struct cb_error *err)
{
    double duration_s = burn->config->duration_s;
    double meeting_s = fmin(fmax(duration_s / 6, least_meeting_s), most_meeting_s);
    double next_s = fmin(meeting_s, duration_s);
    bool ends = false;
    int rc = CB_OK;
    if (burn->config->place)
        cb_place_enter(burn->config->place);
    while (!ends) {
        double now_s = cb_clock_now_s() - burn->started_s;
        if (!rc && now_s < next_s) {
            rc = run_span(burn, err);
            continue;
        }
        struct cb_error ignored;
        int met = meet(burn, rc || now_s >= duration_s, &ends, rc ? &ignored : err);
        rc = rc ? rc : met;
        next_s = fmin(next_s + meeting_s, duration_s);
    }
    if (!rc && burn->spans_unchecked > 0)
        rc = check(burn, err);
    return rc;
}

/* Everything between prepare and release; the row is filled whatever happens. */
static int burn_prepared(struct burn *burn, struct cb_error *err)
{
    const struct cb_burn_config *config = burn->config;
    struct watch watch = {.failed = false};
    int rc = calibrate(burn, err);
    rc = cb_group_agree(config->coordinator->world, rc, err);
    if (rc)
        return rc;
    burn->started_s = cb_clock_now_s();
    start_watch(config, burn->started_s, &burn->log, &watch, burn->row);
    rc = burn_on(burn, err);
    burn->row->elapsed_s = cb_clock_now_s() - burn->started_s;
    end_watch(&watch, rc != CB_OK, burn->row);
    return rc;
}

static void set_status(struct cb_burn_row *row, int rc, const struct cb_error *err)
{
    row->status = row->wrong ? CB_STATUS_WRONG : CB_STATUS_OK;
    bool is_cut = row->elapsed_s < row->planned_s;
    if (!rc && row->flops_per_s > 0) {
        if (is_cut && !row->reason[0])
            snprintf(row->reason, sizeof(row->reason), "it was ended before its time");
        return;
    }
    if (!row->wrong)
        row->status = CB_STATUS_FAILED;
    snprintf(row->reason, sizeof(row->reason), "%.250s", rc ? err->what : "no operation was timed");
}

/* ---- rows ---- */

static size_t points_of_a_rank(int ranks)
{
    int points = CB_BURN_POINTS_OF_ALL / (ranks > 0 ? ranks : 1);
    if (points > CB_BURN_POINTS_OF_RANK)
        return CB_BURN_POINTS_OF_RANK;
    return (size_t)(points < LEAST_POINTS ? LEAST_POINTS : points);
}

static int add_rows(const struct cb_burn_row *rows, int ranks, struct cb_result *result)
{
    for (int i = 0; i < ranks; i++) {
        struct cb_burn_row *place = cb_vec_add(&result->burns);
        if (!place)
            return CB_E_MEMORY;
        *place = rows[i];
    }
    return CB_OK;
}

/* Points that were not made have a negative rank. */
static int add_points(const struct cb_burn_sample *points, size_t count, struct cb_result *result)
{
    for (size_t i = 0; i < count; i++) {
        if (points[i].rank < 0)
            continue;
        struct cb_burn_sample *place = cb_vec_add(&result->burn_samples);
        if (!place)
            return CB_E_MEMORY;
        *place = points[i];
    }
    return CB_OK;
}

static int gather(const struct burn *burn, struct cb_result *result, struct cb_error *err)
{
    const struct cb_coordinator *c = burn->config->coordinator;
    size_t count = points_of_a_rank(c->size);
    bool is_first = c->rank == 0;
    struct cb_burn_row *rows = is_first ? calloc((size_t)c->size, sizeof(*rows)) : NULL;
    struct cb_burn_sample *mine = calloc(count, sizeof(*mine));
    struct cb_burn_sample *all = is_first ? calloc((size_t)c->size * count, sizeof(*all)) : NULL;
    int rc = CB_OK;
    if (!mine || (is_first && (!rows || !all)))
        rc = cb_fail(err, CB_E_MEMORY, "no memory for the burns of %d ranks", c->size);
    rc = cb_group_agree(c->world, rc, err);
    if (rc)
        goto free_all;
    size_t made = cb_burn_thin(&burn->log, c->rank, burn->row->elapsed_s, count, mine);
    for (size_t i = made; i < count; i++)
        mine[i].rank = -1;
    rc = cb_group_gather(c->world, burn->row, sizeof(*burn->row), rows, err);
    if (!rc)
        rc = cb_group_gather(c->world, mine, count * sizeof(*mine), all, err);
    if (!rc && is_first &&
        (add_rows(rows, c->size, result) || add_points(all, (size_t)c->size * count, result)))
        rc = cb_fail(err, CB_E_MEMORY, "no memory for the burns of %d ranks", c->size);
    rc = cb_group_agree(c->world, rc, err);

free_all:
    free(rows);
    free(mine);
    free(all);
    return rc;
}

int cb_burn_run(const struct cb_burn_config *config, struct cb_result *result, struct cb_error *err)
{
    struct cb_group *world = config->coordinator->world;
    struct cb_burn_row row = {
        .rank = config->coordinator->rank, .dtype = config->dtype, .planned_s = config->planned_s};
    struct burn burn = {.config = config, .row = &row, .spans_of_a_check = 1};
    struct cb_error later = {.rank = -1};
    int rc = config->kernels->prepare(config->set, CB_KERNEL_GEMM, config->dtype, &burn.work, err);
    bool is_prepared = rc == CB_OK;
    rc = cb_group_agree(world, rc, err);
    if (!rc) {
        snprintf(row.variant, sizeof(row.variant), "%s", burn.work.variant);
        rc = burn_prepared(&burn, err);
    }
    if (is_prepared)
        config->kernels->release(config->set);
    int summed = cb_burn_summarise(&burn.log, &row, &later);
    set_status(&row, rc ? rc : summed, rc ? err : &later);
    int gathered = gather(&burn, result, rc ? &later : err);
    cb_burn_log_fini(&burn.log);
    rc = cb_group_agree(world, rc, err);
    return rc ? rc : gathered;
}

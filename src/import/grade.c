#include "import/grade.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "base/units.h"
#include "import/expect.h"

/* Where a sweep that ends there says little of a gradient's bandwidth. */
#define SMALL_BYTES ((uint64_t)1 << 20)
#define SMALL_S 0.5e-3

/* Collectives over several nodes saturate from 512 MiB to 1 GiB on; a sweep that ends below must
 * have stopped rising by itself. */
#define SATURATED_BYTES ((uint64_t)1 << 30)
#define RISING 0.02 /* per doubling */

#define COLLAPSED 0.8 /* of the best */
#define APART 1.2     /* sizes that are not nearly one */
#define FALLEN 0.975  /* of the best */
#define DIPPED 0.8    /* of both neighbours */
#define STEPPED 1.25  /* per doubling, after one of less than FLAT */
#define FLAT 1.05     /* per doubling */
#define STEP_FROM_BYTES ((uint64_t)4 << 20)
#define NOISE 0.15      /* (highest - lowest) / median at nearly one size */
#define NEARLY_ONE 1.15 /* size over its neighbour's */
#define HIGH_LATENCY_S 100e-6
#define LATENCY_BYTES 4096
#define BUCKET_BYTES ((uint64_t)25 << 20) /* of gradients, by default in DDP */
#define FAR_BELOW 0.65                    /* of the best, at a bucket's size or in the average */
#define GAP 1.02                          /* in place over out of place */

struct point {
    uint64_t size_bytes;
    int line;
    double time_s[CB_IMPORT_PLACES]; /* 0: none */
    double rate[CB_IMPORT_PLACES]; /* bus bandwidth; algorithm bandwidth while ranks are unknown */
};

struct curve {
    struct point *points; /* one per size, by size */
    size_t count;
    int place; /* that is judged */
    size_t best;
    const struct cb_grading *grading;
    struct cb_import *summary;
    struct cb_findings *findings;
};

static double rate_at(const struct curve *c, size_t i)
{
    return c->points[i].rate[c->place];
}

static int by_size(const void *a, const void *b)
{
    const struct point *left = a, *right = b;
    if (left->size_bytes != right->size_bytes)
        return left->size_bytes < right->size_bytes ? -1 : 1;
    return left->line - right->line;
}

/* Of a size that was measured more than once the best counts. */
static void merge_sizes(struct curve *c)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->count; i++) {
        struct point *last = kept > 0 ? &c->points[kept - 1] : NULL;
        const struct point *next = &c->points[i];
        if (!last || last->size_bytes != next->size_bytes) {
            c->points[kept++] = *next;
            continue;
        }
        for (int p = 0; p < CB_IMPORT_PLACES; p++)
            if (next->rate[p] > last->rate[p]) {
                last->rate[p] = next->rate[p];
                last->time_s[p] = next->time_s[p];
                last->line = next->line;
            }
    }
    c->count = kept;
}

/* Gathers with the own block in its place save a copy that frameworks do not make either. */
static bool prefers_in_place(enum cb_test test)
{
    return test == CB_TEST_ALL_GATHER || test == CB_TEST_REDUCE_SCATTER;
}

static int build(struct curve *c, const struct cb_import_log *log, struct cb_error *err)
{
    double best[CB_IMPORT_PLACES] = {0};
    c->points = calloc(log->rows.count + 1, sizeof(*c->points));
    if (!c->points)
        return cb_fail(err, CB_E_MEMORY, "no memory to grade %s", log->summary.file);
    c->count = log->rows.count;
    for (size_t i = 0; i < c->count; i++) {
        const struct cb_import_row *row = &log->rows.items[i];
        c->points[i].size_bytes = row->size_bytes;
        c->points[i].line = row->line;
        for (int p = 0; p < CB_IMPORT_PLACES; p++) {
            const struct cb_import_point *from = &row->places[p];
            double rate = from->bus_bytes_per_s > 0 ? from->bus_bytes_per_s : from->alg_bytes_per_s;
            c->points[i].time_s[p] = from->time_s;
            c->points[i].rate[p] = rate;
            best[p] = fmax(best[p], rate);
        }
    }
    qsort(c->points, c->count, sizeof(*c->points), by_size);
    merge_sizes(c);
    c->place = best[CB_IMPORT_OUT_OF_PLACE] > 0 ? CB_IMPORT_OUT_OF_PLACE : CB_IMPORT_IN_PLACE;
    if (best[CB_IMPORT_IN_PLACE] > 0 && prefers_in_place(c->grading->test))
        c->place = CB_IMPORT_IN_PLACE;
    for (size_t i = 0; i < c->count; i++)
        if (rate_at(c, i) >= rate_at(c, c->best))
            c->best = i;
    return 0;
}

static void summarize(struct curve *c, const struct cb_import_log *log)
{
    struct cb_import *s = c->summary;
    double best = 0;
    for (size_t i = 0; i < log->rows.count; i++) {
        const struct cb_import_row *row = &log->rows.items[i];
        s->best_bus_bytes_per_s =
            fmax(s->best_bus_bytes_per_s, row->places[CB_IMPORT_OUT_OF_PLACE].bus_bytes_per_s);
        s->best_in_place_bytes_per_s =
            fmax(s->best_in_place_bytes_per_s, row->places[CB_IMPORT_IN_PLACE].bus_bytes_per_s);
        for (int p = 0; p < CB_IMPORT_PLACES; p++) {
            double time_s = row->places[p].time_s;
            if (row->places[p].bus_bytes_per_s > best) {
                best = row->places[p].bus_bytes_per_s;
                s->best_bytes = row->size_bytes;
            }
            if (time_s > 0 && row->size_bytes > 0 && row->size_bytes <= LATENCY_BYTES &&
                (s->latency_s == 0 || time_s < s->latency_s))
                s->latency_s = time_s;
        }
        if (row->size_bytes > s->largest_bytes)
            s->largest_bytes = row->size_bytes;
    }
}

/* ---- findings ---- */

static void check_end(struct curve *c)
{
    char size[CB_UNIT_TEXT];
    const struct point *last = &c->points[c->count - 1];
    double time_s = last->time_s[c->place];
    cb_format_bytes(size, last->size_bytes);
    if (last->size_bytes <= SMALL_BYTES || time_s < SMALL_S) {
        cb_finding_add(c->findings, CB_FINDING_SMALL_SIZES, last->line,
                       "small sizes only: the sweep ends at %s, where latency decides", size);
        return;
    }
    if (c->count < 2 || last->size_bytes >= SATURATED_BYTES)
        return;
    double doublings = log2((double)last->size_bytes / (double)last[-1].size_bytes);
    if (doublings < 0.5)
        return;
    for (int p = 0; p < CB_IMPORT_PLACES; p++) {
        double gain = last->rate[p] > 0 && last[-1].rate[p] > 0
                          ? pow(last->rate[p] / last[-1].rate[p], 1 / doublings) - 1
                          : 0;
        if (gain <= RISING || cb_finding_is_there(c->findings, CB_FINDING_STILL_RISING))
            continue;
        cb_finding_add(c->findings, CB_FINDING_STILL_RISING, last->line,
                       "still rising where the sweep ends: %.1f %% per doubling at %s%s",
                       gain * 100, size, p == CB_IMPORT_IN_PLACE ? ", in place" : "");
    }
}

static void check_fall(struct curve *c)
{
    char best_rate[CB_UNIT_TEXT], last_rate[CB_UNIT_TEXT], best[CB_UNIT_TEXT], size[CB_UNIT_TEXT];
    const struct point *last = &c->points[c->count - 1];
    double kept = rate_at(c, c->count - 1) / rate_at(c, c->best);
    bool collapsed = kept < COLLAPSED;
    if (!(kept < FALLEN) ||
        (double)last->size_bytes < APART * (double)c->points[c->best].size_bytes)
        return;
    cb_finding_add(c->findings, collapsed ? CB_FINDING_COLLAPSE : CB_FINDING_BEST_NOT_LARGEST,
                   last->line, "%s: %s at %s, but %s at %s, the largest size",
                   collapsed ? "the curve collapses at large sizes"
                             : "the best size is not the largest",
                   cb_format_bandwidth(best_rate, rate_at(c, c->best)),
                   cb_format_bytes(best, c->points[c->best].size_bytes),
                   cb_format_bandwidth(last_rate, rate_at(c, c->count - 1)),
                   cb_format_bytes(size, last->size_bytes));
}

static void check_shape(struct curve *c)
{
    char size[CB_UNIT_TEXT], low[CB_UNIT_TEXT], high[CB_UNIT_TEXT];
    for (size_t i = 1; i < c->count; i++) {
        const struct point *at = &c->points[i];
        double before = rate_at(c, i - 1), here = rate_at(c, i);
        double after = i + 1 < c->count ? rate_at(c, i + 1) : 0;
        double apart = (double)at->size_bytes / (double)c->points[i - 1].size_bytes;
        if (at->size_bytes < STEP_FROM_BYTES || !(before > 0) || apart < 1.5)
            continue;
        if (here < DIPPED * before && here < DIPPED * after)
            cb_finding_add(c->findings, CB_FINDING_DIP, at->line,
                           "the curve dips at %s: %s, between %s and more",
                           cb_format_bytes(size, at->size_bytes), cb_format_bandwidth(low, here),
                           cb_format_bandwidth(high, fmin(before, after)));
        if (i >= 2 && apart < 2.5 && here > STEPPED * before && before < FLAT * rate_at(c, i - 2) &&
            before > rate_at(c, i - 2) / FLAT)
            cb_finding_add(c->findings, CB_FINDING_STEP, at->line,
                           "a step at %s: from %s on a plateau to %s",
                           cb_format_bytes(size, at->size_bytes), cb_format_bandwidth(low, before),
                           cb_format_bandwidth(high, here));
    }
}

/* Rows of nearly one size that differ are noise; here in the order of the file. */
static void check_noise(struct curve *c, const struct cb_import_log *log)
{
    enum { MOST = 64 };
    double rates[MOST];
    size_t first = 0, count = log->rows.count;
    for (size_t i = 1; i <= count; i++) {
        double apart = i < count ? (double)log->rows.items[i].size_bytes /
                                       (double)log->rows.items[i - 1].size_bytes
                                 : 0;
        if (apart > 1 / NEARLY_ONE && apart < NEARLY_ONE && i - first < MOST)
            continue;
        size_t kept = 0;
        for (size_t k = first; k < i; k++) {
            const struct cb_import_point *point = &log->rows.items[k].places[c->place];
            if (point->alg_bytes_per_s > 0 && log->rows.items[k].size_bytes > LATENCY_BYTES)
                rates[kept++] = point->alg_bytes_per_s;
        }
        int line = log->rows.items[first].line;
        first = i;
        if (kept < 3)
            continue;
        cb_sort_doubles(rates, kept);
        double spread = (rates[kept - 1] - rates[0]) / rates[kept / 2];
        if (spread > NOISE)
            cb_finding_add(c->findings, CB_FINDING_NOISY, line,
                           "noisy: %zu measurements at nearly one size spread over %.0f %%%s", kept,
                           spread * 100,
                           c->grading->iterations == 1 ? ", with 1 iteration each" : "");
    }
}

/* A time that does not grow with the size is a floor, whatever it is made of. */
static void check_floor(struct curve *c)
{
    char time[CB_UNIT_TEXT], size[CB_UNIT_TEXT];
    size_t end = 0;
    if (c->count < 3 || c->points[0].size_bytes < 65536)
        return;
    double first_s = c->points[0].time_s[c->place];
    while (end + 1 < c->count && first_s > 0 &&
           c->points[end + 1].time_s[c->place] < first_s * FLAT)
        end++;
    if (first_s < 1e-3 || c->points[end].size_bytes < 4 * c->points[0].size_bytes)
        return;
    cb_finding_add(c->findings, CB_FINDING_FLAT_TIME, c->points[end].line,
                   "the time stays at %s up to %s: a floor that is no link's",
                   cb_format_time(time, first_s), cb_format_bytes(size, c->points[end].size_bytes));
}

static void check_sizes(struct curve *c)
{
    char size[CB_UNIT_TEXT], rate[CB_UNIT_TEXT], best[CB_UNIT_TEXT], time[CB_UNIT_TEXT];
    size_t i = 0;
    double highest = rate_at(c, c->best);
    while (i < c->count && c->points[i].size_bytes < BUCKET_BYTES)
        i++;
    if (i < c->count && c->points[i].size_bytes < SATURATED_BYTES && i < c->best &&
        rate_at(c, i) < FAR_BELOW * highest)
        cb_finding_add(c->findings, CB_FINDING_SIZE_MATTERS, c->points[i].line,
                       "%s at %s, %.0f %% of the %s at %s: the size of the messages decides",
                       cb_format_bandwidth(rate, rate_at(c, i)),
                       cb_format_bytes(size, c->points[i].size_bytes),
                       100 * rate_at(c, i) / highest, cb_format_bandwidth(best, highest),
                       cb_format_bytes(time, c->points[c->best].size_bytes));
    if (c->summary->latency_s >= HIGH_LATENCY_S)
        cb_finding_add(c->findings, CB_FINDING_HIGH_LATENCY, 0,
                       "a small message takes %s (RDMA: 12 to 25 us over two nodes, TCP 40 to 100)",
                       cb_format_time(time, c->summary->latency_s));
    if (c->grading->average_bytes_per_s >= 0 &&
        c->grading->average_bytes_per_s < FAR_BELOW * highest)
        cb_finding_add(c->findings, CB_FINDING_AVERAGE, c->grading->average_line,
                       "the printed average, %s, hides the plateau of %s: it is the mean over all "
                       "sizes and grades nothing",
                       cb_format_bandwidth(rate, c->grading->average_bytes_per_s),
                       cb_format_bandwidth(best, highest));
}

static void check_places(struct curve *c)
{
    double out = c->summary->best_bus_bytes_per_s, in = c->summary->best_in_place_bytes_per_s;
    char rate[CB_UNIT_TEXT], other[CB_UNIT_TEXT];
    if (!(out > 0) || !(in > GAP * out) || !prefers_in_place(c->grading->test))
        return;
    cb_finding_add(c->findings, CB_FINDING_IN_PLACE_GAP, c->points[c->best].line,
                   "in place %s, out of place %s: the difference is a copy on the GPU, not the "
                   "link; in place is judged",
                   cb_format_bandwidth(rate, in), cb_format_bandwidth(other, out));
}

int cb_grade(struct cb_import_log *log, const struct cb_grading *grading,
             struct cb_findings *findings, struct cb_error *err)
{
    struct curve c = {.grading = grading, .summary = &log->summary, .findings = findings};
    log->summary.rows = (int)log->rows.count;
    if (log->rows.count == 0)
        return 0;
    int rc = build(&c, log, err);
    if (rc)
        return rc;
    summarize(&c, log);
    bool is_measured = rate_at(&c, c.best) > 0 && log->summary.ranks != 1;
    if (is_measured) {
        check_end(&c);
        check_fall(&c);
        check_shape(&c);
        check_noise(&c, log);
        check_floor(&c);
        check_sizes(&c);
        check_places(&c);
        cb_expect(&log->summary, grading, findings);
    }
    free(c.points);
    return 0;
}

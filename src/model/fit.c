#include "model/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HUBER_TUNING 1.345   /* 95 % efficiency where there are no outliers (Huber 1981) */
#define MAD_TO_SIGMA 1.4826  /* of a normal distribution */
#define SMALLEST_SIGMA 0.005 /* no time is known better than that */
#define ROUNDS 60            /* of reweighting; it settles in ten or so, */
#define SEARCH_ROUNDS 8      /* and well enough to compare in fewer */
#define SETTLED 1e-10        /* relative change of the line between rounds */
#define DEGENERATE 1e-13     /* of the normal equations: the points tell no slope */
#define CUT_SIGMA 0.03       /* relative noise of a time, for the cuts */
#define CUT_CAP 4.5          /* no point costs a regime more: three sigmas */
#define CUT_PRICE 6.0        /* of a further regime: three parameters at 1/2 log(60) each */

struct line {
    double alpha_s, beta_s_per_byte;
};

static double residual(const struct line *line, const struct cb_fit_point *point)
{
    return (line->alpha_s + line->beta_s_per_byte * point->size_bytes) / point->time_s - 1;
}

/* Minimises the sum of weight x residual^2 with neither coefficient below 0: the free optimum, or
 * the better one of those on the two edges. Sizes are taken relative to the largest, so that the
 * equations are well scaled. */
static struct line solve(const struct cb_fit_point *points, const double *weights, size_t count)
{
    double largest_bytes = 0;
    for (size_t i = 0; i < count; i++)
        largest_bytes = fmax(largest_bytes, points[i].size_bytes);
    double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0;
    for (size_t i = 0; i < count; i++) {
        double u = 1 / points[i].time_s, v = u * (points[i].size_bytes / largest_bytes);
        uu += weights[i] * u * u;
        uv += weights[i] * u * v;
        vv += weights[i] * v * v;
        u1 += weights[i] * u;
        v1 += weights[i] * v;
    }
    double determinant = uu * vv - uv * uv;
    double alpha_s = -1, slope_s = -1;
    if (determinant > DEGENERATE * uu * vv) {
        alpha_s = (u1 * vv - v1 * uv) / determinant;
        slope_s = (uu * v1 - uv * u1) / determinant;
    }
    if (alpha_s < 0 || slope_s < 0) {
        bool is_flat_better = u1 * u1 / uu > v1 * v1 / vv; /* what each edge takes off the loss */
        alpha_s = is_flat_better ? u1 / uu : 0;
        slope_s = is_flat_better ? 0 : v1 / vv;
    }
    return (struct line){alpha_s, slope_s / largest_bytes};
}

/* The middle one of the values (the lower of two), which are put out of order: Hoare's selection,
 * since the search of the cuts asks for it ten thousands of times. */
static double select_median(double *values, size_t count)
{
    size_t wanted = (count - 1) / 2, low = 0, high = count - 1;
    while (low < high) {
        double pivot = values[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;; i++, j--) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i >= j)
                break;
            double kept = values[i];
            values[i] = values[j];
            values[j] = kept;
        }
        if (wanted <= j)
            high = j;
        else
            low = j + 1;
    }
    return values[wanted];
}

/* One round: the weights of Huber's estimator for the residuals of line. scratch has count items.
 */
static void reweight(const struct cb_fit_point *points, const struct line *line, double *weights,
                     double *scratch, size_t count)
{
    for (size_t i = 0; i < count; i++)
        scratch[i] = fabs(residual(line, &points[i]));
    double sigma = fmax(MAD_TO_SIGMA * select_median(scratch, count), SMALLEST_SIGMA);
    for (size_t i = 0; i < count; i++) {
        double r = fabs(residual(line, &points[i]));
        weights[i] = r > HUBER_TUNING * sigma ? HUBER_TUNING * sigma / r : 1;
    }
}

static bool is_settled(const struct line *a, const struct line *b, double size_bytes)
{
    double before_s = a->alpha_s + a->beta_s_per_byte * size_bytes;
    return fabs(a->alpha_s - b->alpha_s) <= SETTLED * before_s &&
           fabs(a->beta_s_per_byte - b->beta_s_per_byte) * size_bytes <= SETTLED * before_s;
}

/* scratch has room for two doubles per point. */
static struct line fit_robustly(const struct cb_fit_point *points, size_t count, int rounds,
                                double *scratch)
{
    double *weights = scratch, *residuals = scratch + count;
    for (size_t i = 0; i < count; i++)
        weights[i] = 1;
    struct line line = solve(points, weights, count);
    for (int round = 0; round < rounds; round++) {
        reweight(points, &line, weights, residuals, count);
        struct line next = solve(points, weights, count);
        bool settled = is_settled(&line, &next, points[count - 1].size_bytes);
        line = next;
        if (settled)
            break;
    }
    return line;
}

static void describe(const struct cb_fit_point *points, size_t count, const struct line *line,
                     struct cb_fit *fit)
{
    *fit = (struct cb_fit){.from_bytes = points[0].size_bytes,
                           .to_bytes = points[0].size_bytes,
                           .points = (int)count,
                           .alpha_s = line->alpha_s,
                           .beta_s_per_byte = line->beta_s_per_byte};
    for (size_t i = 0; i < count; i++) {
        double error = fabs(residual(line, &points[i]));
        fit->from_bytes = fmin(fit->from_bytes, points[i].size_bytes);
        fit->to_bytes = fmax(fit->to_bytes, points[i].size_bytes);
        fit->mean_relative_error += error / (double)count;
        fit->max_relative_error = fmax(fit->max_relative_error, error);
    }
    if (line->beta_s_per_byte > 0) {
        fit->bytes_per_s_inf = 1 / line->beta_s_per_byte;
        fit->half_bytes = line->alpha_s / line->beta_s_per_byte;
    }
    fit->accepted = fit->max_relative_error <= CB_FIT_MAX_ERROR;
}

static int check_points(const struct cb_fit_point *points, size_t count, struct cb_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(points[i].size_bytes) || points[i].size_bytes <= 0 ||
            !isfinite(points[i].time_s) || points[i].time_s <= 0)
            return cb_fail(err, CB_E_INPUT, "a point to fit is not positive and finite: %g B, %g s",
                           points[i].size_bytes, points[i].time_s);
    return 0;
}

int cb_fit_line(const struct cb_fit_point *points, size_t count, struct cb_fit *fit,
                struct cb_error *err)
{
    if (count < 2)
        return cb_fail(err, CB_E_INPUT, "a line needs two points, not %zu", count);
    int rc = check_points(points, count, err);
    if (rc)
        return rc;
    double *scratch = calloc(count, 2 * sizeof(*scratch));
    if (!scratch)
        return cb_fail(err, CB_E_MEMORY, "no memory to fit %zu points", count);
    struct line line = fit_robustly(points, count, ROUNDS, scratch);
    describe(points, count, &line, fit);
    free(scratch);
    return 0;
}

/* ---- regimes ---- */

/* The cuts are found by dynamic programming: the least loss of the first `end` points in k regimes
 * is that of the first `cut` in k - 1 and of one line through the rest. Points come in blocks, one
 * point each unless the curve has more than CB_FIT_MAX_POINTS; cuts lie between blocks. */
struct cuts {
    const struct cb_fit_point *points;
    size_t count, blocks;
    double loss[CB_FIT_MAX_REGIMES + 1][CB_FIT_MAX_POINTS + 1];
    int from[CB_FIT_MAX_REGIMES + 1][CB_FIT_MAX_POINTS + 1]; /* the last regime's first block */
    double *scratch;
};

static size_t first_of_block(const struct cuts *cuts, size_t block)
{
    return block * cuts->count / cuts->blocks;
}

/* A capped loss, so that no regime is made for the sake of one or two outliers. */
static double loss_of_line(const struct cuts *cuts, size_t from, size_t to)
{
    const struct cb_fit_point *points = cuts->points + from;
    size_t count = to - from;
    if (count < CB_FIT_MIN_POINTS)
        return INFINITY;
    struct line line = fit_robustly(points, count, SEARCH_ROUNDS, cuts->scratch);
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        double z = residual(&line, &points[i]) / CUT_SIGMA;
        sum += fmin(z * z / 2, CUT_CAP);
    }
    return sum;
}

static void search_cuts(struct cuts *cuts)
{
    for (size_t end = 0; end <= cuts->blocks; end++)
        for (int k = 0; k <= CB_FIT_MAX_REGIMES; k++)
            cuts->loss[k][end] = k == 0 && end == 0 ? 0 : INFINITY;
    for (size_t begin = 0; begin < cuts->blocks; begin++)
        for (size_t end = begin + 1; end <= cuts->blocks; end++) {
            double loss =
                loss_of_line(cuts, first_of_block(cuts, begin), first_of_block(cuts, end));
            for (int k = 1; k <= CB_FIT_MAX_REGIMES; k++)
                if (cuts->loss[k - 1][begin] + loss < cuts->loss[k][end]) {
                    cuts->loss[k][end] = cuts->loss[k - 1][begin] + loss;
                    cuts->from[k][end] = (int)begin;
                }
        }
}

static int choose_count(const struct cuts *cuts)
{
    int best = 1;
    for (int k = 2; k <= CB_FIT_MAX_REGIMES; k++)
        if (cuts->loss[k][cuts->blocks] + k * CUT_PRICE <
            cuts->loss[best][cuts->blocks] + best * CUT_PRICE)
            best = k;
    return best;
}

static int check_order(const struct cb_fit_point *points, size_t count, struct cb_error *err)
{
    for (size_t i = 1; i < count; i++)
        if (!(points[i].size_bytes > points[i - 1].size_bytes))
            return cb_fail(err, CB_E_INPUT,
                           "the points to fit are not in the order of their sizes");
    return check_points(points, count, err);
}

int cb_fit_curve(const struct cb_fit_point *points, size_t count, struct cb_fit *regimes,
                 size_t *regime_count, struct cb_error *err)
{
    int rc = check_order(points, count, err);
    if (rc)
        return rc;
    if (count < CB_FIT_MIN_POINTS) {
        *regime_count = 0;
        return 0;
    }
    struct cuts *cuts = calloc(1, sizeof(*cuts));
    double *scratch = calloc(count, 2 * sizeof(*scratch));
    if (!cuts || !scratch) {
        rc = cb_fail(err, CB_E_MEMORY, "no memory to fit %zu points", count);
        goto out;
    }
    *cuts = (struct cuts){.points = points,
                          .count = count,
                          .blocks = count < CB_FIT_MAX_POINTS ? count : CB_FIT_MAX_POINTS,
                          .scratch = scratch};
    search_cuts(cuts);
    size_t end = cuts->blocks, chosen = (size_t)choose_count(cuts);
    for (size_t k = chosen; k > 0; k--) {
        size_t begin = (size_t)cuts->from[k][end];
        size_t from = first_of_block(cuts, begin), to = first_of_block(cuts, end);
        struct line line = fit_robustly(points + from, to - from, ROUNDS, scratch);
        describe(points + from, to - from, &line, &regimes[k - 1]);
        end = begin;
    }
    *regime_count = chosen;
out:
    free(scratch);
    free(cuts);
    return rc;
}

double cb_fit_time_s(const struct cb_fit *fit, double size_bytes)
{
    return fit->alpha_s + fit->beta_s_per_byte * size_bytes;
}

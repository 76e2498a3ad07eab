#include "judge/curve.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* How well a row serves as the gradient's collective; lower is better. Gathers are better in place:
 * out of place they copy the rank's own block too, which frameworks do not. */
static int rank_series(const struct cb_collective_row *row)
{
    bool summed = !cb_op_reduces(row->op) || row->redop == CB_REDOP_SUM;
    bool in_place_wanted = row->op == CB_OP_ALL_GATHER || row->op == CB_OP_REDUCE_SCATTER;
    return 4 * (row->dtype != CB_DTYPE_FLOAT32) + 2 * !summed + (row->in_place != in_place_wanted);
}

static bool is_same_series(const struct cb_collective_row *a, const struct cb_collective_row *b)
{
    return a->dtype == b->dtype && a->in_place == b->in_place &&
           (!cb_op_reduces(a->op) || a->redop == b->redop);
}

static bool belongs(const struct cb_collective_row *row, enum cb_op op, enum cb_scope scope)
{
    return row->op == op && row->scope == scope && cb_status_is_usable(row->status) &&
           row->size_bytes > 0 && isfinite(row->bus_bytes_per_s) && row->bus_bytes_per_s > 0;
}

static int compare_sizes(const void *a, const void *b)
{
    uint64_t x = (*(const struct cb_collective_row *const *)a)->size_bytes;
    uint64_t y = (*(const struct cb_collective_row *const *)b)->size_bytes;
    return (x > y) - (x < y);
}

int cb_curve_init(struct cb_curve *curve, const struct cb_result *result, enum cb_op op,
                  enum cb_scope scope, struct cb_error *err)
{
    const struct cb_collective_row *best = NULL;
    struct cb_curve filled = {0};
    for (size_t i = 0; i < result->collectives.count; i++) {
        const struct cb_collective_row *row = &result->collectives.items[i];
        if (belongs(row, op, scope) && (!best || rank_series(row) < rank_series(best)))
            best = row;
    }
    for (size_t i = 0; best && i < result->collectives.count; i++) {
        const struct cb_collective_row *row = &result->collectives.items[i];
        if (!belongs(row, op, scope) || !is_same_series(row, best))
            continue;
        if (cb_vec_reserve_one(&filled.rows)) {
            cb_curve_fini(&filled);
            return cb_fail(err, CB_E_MEMORY, "no memory for %s rows", cb_op_name(op));
        }
        filled.rows.items[filled.rows.count++] = row;
    }
    if (filled.rows.count > 0)
        qsort(filled.rows.items, filled.rows.count, sizeof(filled.rows.items[0]), compare_sizes);
    *curve = filled;
    return 0;
}

void cb_curve_fini(struct cb_curve *curve)
{
    cb_vec_fini(&curve->rows);
}

struct cb_curve_place cb_curve_find(const struct cb_curve *curve, double size_bytes)
{
    const struct cb_collective_row *const *rows = curve->rows.items;
    size_t count = curve->rows.count, above = 0;
    while (above < count && (double)rows[above]->size_bytes < size_bytes)
        above++;
    struct cb_curve_place place = {0};
    if (above == count) {
        place.below = place.above = rows[count - 1];
        place.outside = true;
        return place;
    }
    place.below = place.above = rows[above];
    if ((double)rows[above]->size_bytes > size_bytes) {
        place.outside = above == 0;
        if (above > 0)
            place.below = rows[above - 1];
    }
    if (place.below != place.above)
        place.weight = log(size_bytes / (double)place.below->size_bytes) /
                       log((double)place.above->size_bytes / (double)place.below->size_bytes);
    return place;
}

/* An end of the confidence interval of the median, never outside what was seen; without an interval
 * the extremes themselves. */
static double end_of_interval_s(const struct cb_time_stats *time, enum cb_curve_time end)
{
    bool is_fast = end == CB_CURVE_FAST;
    double extreme_s = is_fast ? time->min_s : time->max_s;
    if (!(time->ci95_relative >= 0))
        return extreme_s;
    double end_s = time->median_s * (is_fast ? 1 - time->ci95_relative : 1 + time->ci95_relative);
    return is_fast ? fmax(end_s, extreme_s) : fmin(end_s, extreme_s);
}

static double pick_time_s(const struct cb_time_stats *time, enum cb_curve_time which)
{
    switch (which) {
    case CB_CURVE_P10:
        return time->p10_s;
    case CB_CURVE_P90:
        return time->p90_s;
    case CB_CURVE_MEDIAN:
        return time->median_s;
    default:
        return end_of_interval_s(time, which);
    }
}

/* Bus bandwidth is inversely proportional to time. */
static double row_bandwidth(const struct cb_collective_row *row, enum cb_curve_time time)
{
    double picked_s = pick_time_s(&row->time, time);
    if (time == CB_CURVE_MEDIAN || !(picked_s > 0) || !(row->time.median_s > 0))
        return row->bus_bytes_per_s;
    return row->bus_bytes_per_s * row->time.median_s / picked_s;
}

double cb_curve_bus_bytes_per_s(const struct cb_curve_place *place, enum cb_curve_time time)
{
    if (place->below == place->above)
        return row_bandwidth(place->below, time);
    return exp((1 - place->weight) * log(row_bandwidth(place->below, time)) +
               place->weight * log(row_bandwidth(place->above, time)));
}

double cb_curve_time_s(const struct cb_curve_place *place, double size_bytes,
                       enum cb_curve_time time)
{
    double factor = cb_op_bus_factor(place->below->op, place->below->ranks);
    return factor * size_bytes / cb_curve_bus_bytes_per_s(place, time);
}

bool cb_curve_is_noisy(const struct cb_curve_place *place)
{
    return place->below->status == CB_STATUS_NOISY || place->above->status == CB_STATUS_NOISY;
}

/* The bus bandwidth of a collective over message size, from the rows of a result. Private to
 * judge/. */
#ifndef CB_JUDGE_CURVE_H
#define CB_JUDGE_CURVE_H

#include <stdbool.h>

#include "base/error.h"
#include "result/result.h"

/* Usable rows of one op and scope that differ in size alone, smallest first. */
struct cb_curve {
    CB_VEC(const struct cb_collective_row *) rows; /* borrowed from the result */
};

/* Collects the rows of op over scope, of the best series there is: float32 before any other type,
 * sums before other reductions, out of place before in place (gathers: in place first), else what
 * comes first in the result. An empty curve is no error. Free with fini. Errors: CB_E_MEMORY. */
int cb_curve_init(struct cb_curve *curve, const struct cb_result *result, enum cb_op op,
                  enum cb_scope scope, struct cb_error *err);
void cb_curve_fini(struct cb_curve *curve);

/* Where a size lies on the curve: between two rows, or at one (below == above) when it was measured
 * or lies outside the measured range. */
struct cb_curve_place {
    const struct cb_collective_row *below, *above;
    bool outside;
    double weight; /* of above, 0 to 1, on a logarithmic scale */
};

/* Finds the place of size_bytes. The curve must not be empty. */
struct cb_curve_place cb_curve_find(const struct cb_curve *curve, double size_bytes);

/* Which time of a row the bandwidth is taken at: the median, an end of its 95 % confidence interval
 * (the extremes where there are too few samples for one), or a percentile of the samples (the
 * median where that is not known). */
enum cb_curve_time { CB_CURVE_MEDIAN, CB_CURVE_FAST, CB_CURVE_SLOW, CB_CURVE_P10, CB_CURVE_P90 };

/* The bus bandwidth at a place, interpolated log-log; at the end rows outside the range. */
double cb_curve_bus_bytes_per_s(const struct cb_curve_place *place, enum cb_curve_time time);

/* The time of an operation of size_bytes at its place: interpolated log-log; outside the range as
 * the nearest size's bandwidth makes it. */
double cb_curve_time_s(const struct cb_curve_place *place, double size_bytes,
                       enum cb_curve_time time);

/* Whether a row that decides at this place is noisy. */
bool cb_curve_is_noisy(const struct cb_curve_place *place);

#endif

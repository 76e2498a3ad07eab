/* Latency and bandwidth of a measured curve: Hockney's time = alpha + beta x size, piece by piece
 * since a library changes its protocol with the size. */
#ifndef CB_MODEL_FIT_H
#define CB_MODEL_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* A message's size and how long it took; both positive and finite. */
struct cb_fit_point {
    double size_bytes;
    double time_s;
};

/* A fit whose worst point is off by more is good for nothing but to describe: the curve may then
 * only be interpolated. */
#define CB_FIT_MAX_ERROR 0.15

/* The fewest points of a regime: a line goes through any two. */
#define CB_FIT_MIN_POINTS 3

/* The most regimes of a curve. */
#define CB_FIT_MAX_REGIMES 4

/* One regime: time = alpha_s + size / bytes_per_s_inf between two sizes. Errors are relative to the
 * measured time, over every point of the regime, outliers included. */
struct cb_fit {
    double from_bytes, to_bytes; /* the regime's smallest and largest point */
    int points;
    double alpha_s;         /* >= 0 */
    double beta_s_per_byte; /* >= 0 */
    double bytes_per_s_inf; /* 1 / beta; 0: time does not grow with the size */
    double half_bytes;      /* alpha / beta, at which half of that is reached; 0: as above */
    double mean_relative_error, max_relative_error;
    bool accepted; /* max_relative_error <= CB_FIT_MAX_ERROR */
};

/* Fits one line to count points (at least two): Huber's estimator on relative residuals
 * (alpha + beta x size - time) / time by iteratively reweighted least squares, alpha and beta not
 * below 0, both 0 never. A time in five that is far off moves it little (docs/design.md, "Fits").
 * The order of the points does not matter. Pure. Errors: CB_E_INPUT for fewer than two points or a
 * point that is not positive and finite. */
int cb_fit_line(const struct cb_fit_point *points, size_t count, struct cb_fit *fit,
                struct cb_error *err);

/* Fits a curve: points in the order of their sizes, cut into up to CB_FIT_MAX_REGIMES regimes of
 * CB_FIT_MIN_POINTS or more. The cuts are where they lower the loss the most, and there are as many
 * as pay for themselves (a constant price each, so that noise alone is one regime). regimes has
 * room for CB_FIT_MAX_REGIMES. Fewer than CB_FIT_MIN_POINTS points give none, which is no error. A
 * curve of more than CB_FIT_MAX_POINTS is thinned evenly for the search of the cuts. Pure. Errors:
 * CB_E_INPUT for sizes out of order or twice, or a point that is not positive and finite;
 * CB_E_MEMORY. */
#define CB_FIT_MAX_POINTS 64
int cb_fit_curve(const struct cb_fit_point *points, size_t count, struct cb_fit *regimes,
                 size_t *regime_count, struct cb_error *err);

/* The time that a fit gives for a size, inside its regime or not. */
double cb_fit_time_s(const struct cb_fit *fit, double size_bytes);

#endif

/* What a burn leaves behind, and what it comes down to. Pure. */
#ifndef CB_MEASURE_BURN_LOG_H
#define CB_MEASURE_BURN_LOG_H

#include "base/vec.h"
#include "gpu/gpu.h"
#include "result/result.h"

/* The window of the power's moving average. Power is judged by the average, since a single sample
 * may lie 20 % off on a healthy card. */
#define CB_BURN_POWER_WINDOW_S 10.0

struct cb_burn_span { /* operations between two looks at the clock */
    double time_s;    /* at its end, since the burn began */
    double flops_per_s;
};

struct cb_burn_log {
    CB_VEC(struct cb_gpu_sample) samples; /* in time, since the burn began */
    CB_VEC(struct cb_burn_span) spans;    /* in time */
};

void cb_burn_log_fini(struct cb_burn_log *log);

/* What is left out at the beginning of a burn: a tenth of it, at most two minutes. */
double cb_burn_warm_up_s(double elapsed_s);

/* Fills what a row says of rates and of the card, from a burn of row->elapsed_s; what the log does
 * not tell is negative (a rate: 0). Errors: CB_E_MEMORY; the row is then unchanged. */
int cb_burn_summarise(const struct cb_burn_log *log, struct cb_burn_row *row, struct cb_error *err);

/* Reduces the log to points of equal length in time, means of what fell into each: of throttle
 * every bit, of the link the best, of counters the last. A time in which nothing was seen has no
 * point. Writes at most count of them, with the rank, and returns how many. */
size_t cb_burn_thin(const struct cb_burn_log *log, int rank, double elapsed_s, size_t count,
                    struct cb_burn_sample *points);

#endif

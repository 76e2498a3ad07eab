/* Order statistics of a sample: no distribution is assumed, since timings have none worth assuming.
 */
#ifndef CB_MEASURE_STATS_H
#define CB_MEASURE_STATS_H

#include <stddef.h>

#include "result/result.h"

/* The q-quantile (0..1) of count > 0 ascending values, linear between neighbours (type 7 of Hyndman
 * and Fan 1996, the default of R and NumPy). */
double cb_stats_quantile(const double *ascending, size_t count, double q);

/* The widest k such that the order statistics k and count-1-k (from 0) enclose the median of the
 * distribution with at least 95 % probability: a sign-test interval, P = 1 - 2 P(Binomial(count,
 * 1/2) <= k). Returns -1 for fewer than six values, where no pair reaches 95 %. */
long cb_stats_median_ci95_index(size_t count);

/* Half the width of that interval over the median; -1 when there is none. */
double cb_stats_median_ci95_relative(const double *ascending, size_t count);

/* Sorts values ascending and summarises them; count > 0. */
void cb_stats_summarise(double *values, size_t count, struct cb_time_stats *out);

#endif

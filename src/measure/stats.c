#include "measure/stats.h"

#include <math.h>

#include "base/sort.h"

/* Above this many values the normal approximation of the binomial is off by less than one index. */
enum { EXACT_UP_TO = 1000 };

double cb_stats_quantile(const double *ascending, size_t count, double q)
{
    double place = q * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count)
        return ascending[count - 1];
    double weight = place - (double)below;
    return ascending[below] + weight * (ascending[below + 1] - ascending[below]);
}

long cb_stats_median_ci95_index(size_t count)
{
    if (count > EXACT_UP_TO)
        return (long)floor((double)count / 2 - 1.96 * sqrt((double)count) / 2) - 1;
    double n = (double)count;
    double tail = 0; /* P(Binomial(n, 1/2) <= k) */
    long k = -1;
    for (size_t i = 0; i < count / 2; i++) {
        double x = (double)i;
        tail += exp(lgamma(n + 1) - lgamma(x + 1) - lgamma(n - x + 1) - n * log(2));
        if (1 - 2 * tail < 0.95)
            break;
        k = (long)i;
    }
    return k;
}

double cb_stats_median_ci95_relative(const double *ascending, size_t count)
{
    long k = cb_stats_median_ci95_index(count);
    double median = cb_stats_quantile(ascending, count, 0.5);
    if (k < 0 || !(median > 0))
        return -1;
    return (ascending[count - 1 - (size_t)k] - ascending[k]) / 2 / median;
}

void cb_stats_summarise(double *values, size_t count, struct cb_time_stats *out)
{
    cb_sort_doubles(values, count);
    *out = (struct cb_time_stats){
        .median_s = cb_stats_quantile(values, count, 0.5),
        .p10_s = cb_stats_quantile(values, count, 0.1),
        .p90_s = cb_stats_quantile(values, count, 0.9),
        .min_s = values[0],
        .max_s = values[count - 1],
        .ci95_relative = cb_stats_median_ci95_relative(values, count),
    };
}

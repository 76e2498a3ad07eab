/* Order statistics that several layers need. */
#ifndef CB_BASE_SORT_H
#define CB_BASE_SORT_H

#include <stddef.h>

/* Sorts ascending; NaN has no place in an order and must not be among them. */
void cb_sort_doubles(double *values, size_t count);

/* The median of count > 0 ascending values: of an even count the mean of the two in the middle. */
double cb_median_of_sorted(const double *ascending, size_t count);

#endif

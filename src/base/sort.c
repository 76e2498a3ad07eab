#include "base/sort.h"

#include <stdlib.h>

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void cb_sort_doubles(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare_doubles);
}

double cb_median_of_sorted(const double *ascending, size_t count)
{
    size_t half = count / 2;
    return count % 2 ? ascending[half] : (ascending[half - 1] + ascending[half]) / 2;
}

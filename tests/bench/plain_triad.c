/* The yardstick, in a file of its own so that the compiler sees of it what it sees of STREAM. */
#include "plain_triad.h"

void plain_fill(double *a, double *b, double *c, size_t count, int threads)
{
#pragma omp parallel for num_threads(threads)
    for (size_t i = 0; i < count; i++) {
        a[i] = 1;
        b[i] = 2;
        c[i] = 0;
    }
}

void plain_triad(double *a, const double *b, const double *c, double s, size_t count, int threads)
{
#pragma omp parallel for num_threads(threads)
    for (size_t i = 0; i < count; i++)
        a[i] = b[i] + s * c[i];
}

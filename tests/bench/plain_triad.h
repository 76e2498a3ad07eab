#ifndef CB_BENCH_PLAIN_TRIAD_H
#define CB_BENCH_PLAIN_TRIAD_H

#include <stddef.h>

/* Gives a, b and c their first values, as the threads that plain_triad gives each part to. */
void plain_fill(double *a, double *b, double *c, size_t count, int threads);

/* a = b + s c as STREAM writes it, over OpenMP threads. */
void plain_triad(double *a, const double *b, const double *c, double s, size_t count, int threads);

#endif

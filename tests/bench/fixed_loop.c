/* A benchmark loop of the usual kind, to compare with: a fixed number of repetitions per size
 * whatever they take, a barrier before each, the slowest rank's time. For scripts/bench.
 *
 * fixed_loop SHARE: runs SHARE of 1000 repetitions up to 64 KiB and of 100 above, of all_reduce and
 * all_gather, 8 B to 64 MiB, and prints "OP BYTES MEDIAN_S MEAN_S REPETITIONS_IN_FULL". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 3, MANY = 1000, FEW = 100, FEW_ABOVE_BYTES = 65536 };

static const size_t smallest_bytes = 8, largest_bytes = 64u << 20;

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void operate(int gathers, const float *send, float *receive, int count, int ranks)
{
    if (gathers)
        MPI_Allgather(send, count / ranks, MPI_FLOAT, receive, count / ranks, MPI_FLOAT,
                      MPI_COMM_WORLD);
    else
        MPI_Allreduce(send, receive, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void measure(int gathers, size_t bytes, double share, const float *send, float *receive)
{
    int rank, ranks, in_full = bytes > FEW_ABOVE_BYTES ? FEW : MANY;
    int repetitions = (int)(in_full * share);
    int count = (int)(bytes / sizeof(float));
    static double times_s[MANY];
    double sum_s = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (repetitions < 1)
        repetitions = 1;
    for (int i = -WARM_UP; i < repetitions; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start_s = MPI_Wtime();
        operate(gathers, send, receive, count, ranks);
        if (i >= 0)
            times_s[i] = MPI_Wtime() - start_s;
    }
    MPI_Allreduce(MPI_IN_PLACE, times_s, repetitions, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < repetitions; i++)
        sum_s += times_s[i];
    qsort(times_s, (size_t)repetitions, sizeof(*times_s), compare_doubles);
    double median_s = (times_s[(repetitions - 1) / 2] + times_s[repetitions / 2]) / 2;
    if (rank == 0)
        printf("%s %zu %.9g %.9g %d\n", gathers ? "all_gather" : "all_reduce", bytes, median_s,
               sum_s / repetitions, in_full);
}

int main(int argc, char **argv)
{
    double share = argc > 1 ? atof(argv[1]) : 1;
    float *send = malloc(largest_bytes), *receive = malloc(largest_bytes);
    if (!send || !receive || !(share > 0 && share <= 1)) {
        fputs("usage: fixed_loop SHARE (0 to 1)\n", stderr);
        return 2;
    }
    memset(send, 0, largest_bytes);
    memset(receive, 0, largest_bytes);
    MPI_Init(&argc, &argv);
    for (int gathers = 0; gathers < 2; gathers++)
        for (size_t bytes = smallest_bytes; bytes <= largest_bytes; bytes *= 2)
            measure(gathers, bytes, share, send, receive);
    MPI_Finalize();
    free(receive);
    free(send);
    return 0;
}

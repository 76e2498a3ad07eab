/* What the host kernels reach of what the same machine gives a plain program: triad against a
 * STREAM loop, GEMM against a direct call of OpenBLAS. Medians of repetitions in turns, in one run,
 * with the same threads on the same CPUs. Prints
 *
 *   triad_ratio 1.021 ours 23.1 GB/s plain 22.6 GB/s
 *   gemm_float32_ratio 1.001 ours 98.1 GFLOP/s direct 98.0 GFLOP/s
 *   gemm_float64_ratio ... */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "kernels/kernels.h"
#include "plain_triad.h"
#include "topology/topo.h"

#define REPETITIONS 15
#define MAX_CPUS 4096

struct rival {
    enum cb_dtype dtype;
    int threads;
    size_t count; /* elements of an array, or the order of the matrices */
    void *arrays[3];
};

/* Median seconds of one operation of either. */
struct pair {
    double ours_s, theirs_s;
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, REPETITIONS, sizeof(*values), compare);
    return values[REPETITIONS / 2];
}

static void run_triad(struct rival *plain)
{
    plain_triad(plain->arrays[0], plain->arrays[1], plain->arrays[2], 3, plain->count,
                plain->threads);
}

static void run_gemm(struct rival *direct)
{
    blasint n = (blasint)direct->count;
    void **m = direct->arrays;
    if (direct->dtype == CB_DTYPE_FLOAT64)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, m[1], n, m[2], n, 0,
                    m[0], n);
    else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, m[1], n, m[2], n, 0,
                    m[0], n);
}

static int time_in_turns(struct cb_kernels *set, struct rival *rival,
                         void (*run_rival)(struct rival *), struct pair *pair, struct cb_error *err)
{
    const struct cb_kernel_ops *ops = cb_kernels_host();
    double ours_s[REPETITIONS], theirs_s[REPETITIONS];
    for (int i = -1; i < REPETITIONS; i++) { /* the first warms up */
        int slot = i < 0 ? 0 : i;
        int rc = ops->run(set, 1, &ours_s[slot], err);
        if (rc)
            return rc;
        double start_s = cb_clock_now_s();
        run_rival(rival);
        theirs_s[slot] = cb_clock_now_s() - start_s;
    }
    *pair = (struct pair){median(ours_s), median(theirs_s)};
    return 0;
}

/* Times one kernel against its rival; *work is what an operation of either does. */
static int compare_kernel(struct cb_kernels *set, enum cb_kernel kernel, enum cb_dtype dtype,
                          struct cb_kernel_work *work, struct pair *pair, struct cb_error *err)
{
    const struct cb_kernel_ops *ops = cb_kernels_host();
    struct rival rival = {.dtype = dtype};
    int rc = ops->prepare(set, kernel, dtype, work, err);
    if (rc)
        return rc;
    size_t array_bytes = work->size_bytes / 3;
    size_t elements = array_bytes / cb_dtype_size_bytes(dtype);
    bool is_gemm = kernel == CB_KERNEL_GEMM;
    rival.threads = work->threads;
    rival.count = elements;
    while (is_gemm && rival.count * rival.count > elements)
        rival.count = (rival.count + elements / rival.count) / 2; /* integer square root (Newton) */
    for (int i = 0; i < 3; i++) {
        rival.arrays[i] = malloc(array_bytes);
        if (!rival.arrays[i]) {
            rc = cb_fail(err, CB_E_MEMORY, "no memory for %zu bytes", array_bytes);
            goto err_free;
        }
    }
    /* As doubles for float32 matrices too: 1.0, 2.0 and 0.0 are ordinary pairs of floats. */
    plain_fill(rival.arrays[0], rival.arrays[1], rival.arrays[2], array_bytes / sizeof(double),
               rival.threads);
    rc = time_in_turns(set, &rival, is_gemm ? run_gemm : run_triad, pair, err);

err_free:
    for (int i = 0; i < 3; i++)
        free(rival.arrays[i]);
    ops->release(set);
    return rc;
}

static int report(struct cb_kernels *set, struct cb_error *err)
{
    static const struct {
        enum cb_kernel kernel;
        enum cb_dtype dtype;
        const char *name, *rival, *unit;
    } rows[] = {
        {CB_KERNEL_TRIAD, CB_DTYPE_FLOAT64, "triad_ratio", "plain", "GB/s"},
        {CB_KERNEL_GEMM, CB_DTYPE_FLOAT32, "gemm_float32_ratio", "direct", "GFLOP/s"},
        {CB_KERNEL_GEMM, CB_DTYPE_FLOAT64, "gemm_float64_ratio", "direct", "GFLOP/s"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cb_kernel_work work;
        struct pair pair = {0};
        int rc = compare_kernel(set, rows[i].kernel, rows[i].dtype, &work, &pair, err);
        if (rc)
            return rc;
        double giga = (work.flops + work.bytes) / 1e9; /* one of the two is 0 */
        printf("%s %.3f ours %.4g %s %s %.4g %s\n", rows[i].name, pair.theirs_s / pair.ours_s,
               giga / pair.ours_s, rows[i].unit, rows[i].rival, giga / pair.theirs_s, rows[i].unit);
        fprintf(stderr, "%s: %s, %d threads, %.0f MiB\n", rows[i].name, work.variant, work.threads,
                (double)work.size_bytes / (1 << 20));
    }
    return 0;
}

int main(void)
{
    static int cpus[MAX_CPUS];
    static struct cb_topo_host host;
    struct cb_error err;
    struct cb_kernels *set = NULL;
    cb_error_clear(&err);
    int count = cb_topo_share_cpus(0, 1, cpus, MAX_CPUS, &err);
    int rc = count < 0 ? count : cb_topo_discover_host(NULL, NULL, &host, &err);
    struct cb_kernels_config config = {
        .cpus = cpus,
        .cpu_count = count < 0 ? 0 : (size_t)count,
        .last_level_cache_bytes = host.last_level_cache_bytes,
        .memory_bytes = host.available_memory_bytes / 4,
        .local_ranks = 1,
    };
    if (!rc)
        rc = cb_kernels_host()->open(&config, &set, &err);
    if (!rc)
        rc = report(set, &err);
    cb_kernels_host()->close(set);
    if (rc)
        fprintf(stderr, "bench_kernel_ratio: %s (%s)\n", err.what, err.detail);
    return rc ? 1 : 0;
}

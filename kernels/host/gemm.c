/* Matrix multiplication through OpenBLAS. Its OpenMP flavour takes its threads from the team that
 * was pinned; the pthread flavour (the same file name, chosen by the system's alternatives) brings
 * its own, which stay unpinned and are said so. */
#include <cblas.h>
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/host/internal.h"

#define MATRICES 3
#define MIN_ORDER 128   /* also the step */
#define BASE_ORDER 1024 /* of one thread: 2.1 GFLOP a call, tens of milliseconds */

/* Freivalds' check multiplies by this many vectors: a row with several wrong elements, whose errors
 * might cancel, escapes with probability 2^-8 at most; one with a single wrong element never does.
 */
#define VECTORS 8

/* Entries are whole numbers of at most this size: an element of the product is below 16 x order,
 * exact in float32 in whichever order it is summed, and the check's sums are exact in double. */
#define MAX_ENTRY 4

static const char *const flavours[] = {
    [OPENBLAS_SEQUENTIAL] = "one thread",
    [OPENBLAS_THREAD] = "pthreads, not pinned",
    [OPENBLAS_OPENMP] = "OpenMP",
};

/* The first two words of the configuration: "OpenBLAS 0.3.21". */
static int name_length(const char *config)
{
    size_t first = strcspn(config, " ");
    return (int)(first + (config[first] ? 1 + strcspn(config + first + 1, " ") : 0));
}

const char *cb_kernels_host_library(char *text, size_t size_bytes)
{
    const char *config = openblas_get_config();
    int parallel = openblas_get_parallel();
    bool known = parallel >= 0 && (size_t)parallel < sizeof(flavours) / sizeof(flavours[0]);
    snprintf(text, size_bytes, "%.*s, %s, for %s", name_length(config), config,
             known ? flavours[parallel] : "unknown threads", openblas_get_corename());
    return text;
}

static uint64_t need_bytes(size_t order, enum cb_dtype dtype)
{
    return MATRICES * order * order * cb_dtype_size_bytes(dtype) +
           2 * order * VECTORS * sizeof(double);
}

size_t cb_gemm_order(int threads, enum cb_dtype dtype, uint64_t memory_bytes)
{
    double steps = ceil(BASE_ORDER * cbrt((double)threads) / MIN_ORDER);
    size_t order = (size_t)steps * MIN_ORDER;
    while (memory_bytes > 0 && order > 0 && need_bytes(order, dtype) > memory_bytes)
        order -= MIN_ORDER;
    return order;
}

/* A well mixed number from a place in a stream (the finaliser of SplitMix64: Steele, Lea and Flood,
 * OOPSLA 2014). */
static uint64_t scatter(uint64_t stream, uint64_t place)
{
    uint64_t x = (place + 1) * 0x9e3779b97f4a7c15u + (stream << 56);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static void fill(struct cb_kernels *set)
{
    size_t order = set->gemm.order;
#pragma omp parallel for num_threads(set->team.threads) schedule(static)
    for (size_t i = 0; i < order * order; i++) {
        cb_host_set(set->buffers[0], set->dtype, i, NAN);
        for (int m = 1; m < MATRICES; m++) {
            double entry = (double)(scatter((uint64_t)m, i) % (2 * MAX_ENTRY + 1)) - MAX_ENTRY;
            cb_host_set(set->buffers[m], set->dtype, i, entry);
        }
    }
    for (size_t i = 0; i < order * VECTORS; i++)
        set->gemm.vectors[i] = (scatter(0, i) & 1) ? 1 : -1;
}

static void gemm_operate(struct cb_kernels *set)
{
    blasint n = (blasint)set->gemm.order;
    void *const *m = set->buffers;
    if (set->dtype == CB_DTYPE_FLOAT64)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, m[1], n, m[2], n, 0,
                    m[0], n);
    else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, m[1], n, m[2], n, 0,
                    m[0], n);
}

static int gemm_prepare(struct cb_kernels *set, struct cb_kernel_work *work, struct cb_error *err)
{
    set->gemm.library_threads_before = openblas_get_num_threads();
    size_t order = cb_gemm_order(set->team.threads, set->dtype, set->memory_bytes);
    if (order == 0)
        return cb_fail(err, CB_E_MEMORY, "%" PRIu64 " bytes do not hold the matrices of gemm",
                       set->memory_bytes);
    set->gemm.order = order;
    set->gemm.vectors = malloc(2 * order * VECTORS * sizeof(*set->gemm.vectors));
    if (!set->gemm.vectors)
        return cb_fail(err, CB_E_MEMORY, "no memory for the check of gemm");
    size_t matrix_bytes = order * order * cb_dtype_size_bytes(set->dtype);
    int rc = cb_host_allocate(set, MATRICES, matrix_bytes, err);
    if (rc)
        return rc;
    fill(set);

    cb_team_widen(&set->team);
    openblas_set_num_threads(set->team.threads);
    gemm_operate(set);
    cb_team_narrow(&set->team);

    double n = (double)order;
    const char *config = openblas_get_config();
    work->flops = 2 * n * n * n;
    work->size_bytes = MATRICES * matrix_bytes;
    work->threads = openblas_get_parallel() == OPENBLAS_SEQUENTIAL ? 1 : openblas_get_num_threads();
    snprintf(work->variant, sizeof(work->variant), "%.*s, n=%zu", name_length(config), config,
             order);
    return 0;
}

/* y = row i of a matrix times the VECTORS vectors x (order x VECTORS, row-major). Returns how many
 * elements of the row are no whole numbers. */
static uint64_t multiply_row(const struct cb_kernels *set, int matrix, size_t i, const double *x,
                             double y[VECTORS])
{
    size_t order = set->gemm.order;
    uint64_t fractions = 0;
    memset(y, 0, VECTORS * sizeof(*y));
    for (size_t j = 0; j < order; j++) {
        double entry = cb_host_get(set->buffers[matrix], set->dtype, i * order + j);
        fractions += entry != rint(entry);
        for (size_t v = 0; v < VECTORS; v++)
            y[v] += entry * x[j * VECTORS + v];
    }
    return fractions;
}

/* C x = A (B x). Whole numbers first: an error too small for the sums of the check to keep, such as
 * a flipped low bit, leaves a fraction behind. */
static uint64_t gemm_verify(const struct cb_kernels *set)
{
    size_t order = set->gemm.order;
    const double *x = set->gemm.vectors;
    double *bx = set->gemm.vectors + order * VECTORS;
    uint64_t wrong = 0;
#pragma omp parallel num_threads(set->team.threads) reduction(+ : wrong)
    {
#pragma omp for schedule(static)
        for (size_t i = 0; i < order; i++)
            (void)multiply_row(set, 2, i, x, bx + i * VECTORS);
#pragma omp for schedule(static)
        for (size_t i = 0; i < order; i++) {
            double cx[VECTORS], abx[VECTORS];
            uint64_t fractions = multiply_row(set, 0, i, x, cx);
            (void)multiply_row(set, 1, i, bx, abx);
            bool differs = false;
            for (int v = 0; v < VECTORS; v++)
                differs = differs || cx[v] != abx[v];
            wrong += fractions > 0 ? fractions : differs;
        }
    }
    return wrong;
}

static void gemm_release(struct cb_kernels *set)
{
    openblas_set_num_threads(set->gemm.library_threads_before);
    free(set->gemm.vectors);
    set->gemm.vectors = NULL;
}

const struct cb_host_family cb_host_gemm = {
    .prepare = gemm_prepare,
    .operate = gemm_operate,
    .verify = gemm_verify,
    .release = gemm_release,
};

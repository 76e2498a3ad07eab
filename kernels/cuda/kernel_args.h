/* The kernels of kernels/cuda: their names, which are not mangled, and their arguments, one struct
 * each, passed by value. Plain C, so that the host can start them (the functions declared here are
 * the stubs that nvcc makes) and a simulated runtime can give each a routine of its own. */
#ifndef CB_KERNELS_CUDA_KERNEL_ARGS_H
#define CB_KERNELS_CUDA_KERNEL_ARGS_H

#include <stdint.h>

#include "base/dtype.h"
#include "base/pattern_math.h"

/* Moved data. check adds to *wrong. */
struct cb_cuda_moved {
    void *data; /* of check: not written */
    uint64_t count, first;
    uint64_t *wrong; /* of check; NULL: fill */
    uint32_t key;    /* cb_pattern_key(seed, owner + 1) */
    uint32_t element_bytes;
};

/* Reduced data. */
struct cb_cuda_reduced {
    struct cb_pattern_reduced pattern;
    void *data;
    uint64_t count, first;
    uint64_t *wrong; /* of check; NULL: fill */
    int owner;       /* of fill */
    int maximum;     /* of check */
    enum cb_dtype dtype;
};

/* A memory kernel: vectors x 16 bytes of each array. */
struct cb_cuda_stream {
    void *to;                  /* write, copy, triad */
    const void *from, *scaled; /* read and copy use the first; triad is to = from + scalar scaled */
    uint64_t vectors;
    double scalar;     /* of triad */
    uint32_t words[4]; /* of write: the value as it lies in memory */
    uint32_t *sums; /* of read: the sum of all 32-bit words is added to these slots, in any shares,
                       modulo 2^32 */
};

#define CB_CUDA_SUMS 256         /* slots of read, so that few blocks add to one at the same time */
#define CB_CUDA_BLOCK 256        /* threads of a block, of every kernel */
#define CB_CUDA_BULK_VECTORS 512 /* 16-byte vectors that a bulk kernel moves at once */

/* The memory kernels' data: element i of array a is a whole number between -510 and 510, the same
 * as the host's memory kernels use (kernels/host/stream.c). dtype is float32 or float64. Fill
 * writes them, or NaN where blank is set; check counts elements of data that are not
 *
 *     constant + of array 1 + scalar x of array 2
 *
 * (each term only where its flag says so); sum adds up the 32-bit words of array 0 as read should
 * find them. */
struct cb_cuda_series {
    void *data;
    uint64_t count;
    uint64_t *wrong;
    uint32_t *sums; /* CB_CUDA_SUMS slots, as of read */
    double constant, scalar;
    int array, blank;
    int plus_first, plus_scaled;
    enum cb_dtype dtype;
};

/* GEMM's data: Dt = Bt A^T, all row-major: A is m x k, Bt n x k, Dt n x m (to cuBLASLt, whose
 * matrices are column-major: D = op(A) B with A transposed). Here m = n = k = order. */
struct cb_cuda_matrix_fill {
    void *data;
    uint64_t count;
    uint32_t key;
    enum cb_dtype dtype; /* tf32: float32 that tf32 holds exactly */
};

#define CB_CUDA_VECTORS 4 /* by which Freivalds' check multiplies */

/* z[v][k] = sum over i of x[v][i] A[i][k], x being +1 or -1 by cb_cuda_sign. */
struct cb_cuda_project {
    const void *a;
    double *z; /* CB_CUDA_VECTORS x order */
    uint64_t order;
    enum cb_dtype dtype;
};

/* For each row j of Dt: |sum over i of x[v][i] Dt[j][i] - sum over k of z[v][k] Bt[j][k]| must not
 * exceed tolerance, for each v. digest[j] is a sum over the bits of the row: stored when known is
 * 0, else compared. A row with either fault is one added to *wrong. */
struct cb_cuda_check_rows {
    const void *bt, *dt;
    const double *z;
    uint64_t *digest;
    uint64_t *wrong;
    uint64_t order;
    double tolerance;
    enum cb_dtype dtype, out_dtype;
    int known;
};

/* The plain product: sum over k of A[i][k] Bt[j][k] in double for `count` places spread over Dt;
 * places that are farther than tolerance from Dt are added to *wrong. */
struct cb_cuda_check_places {
    const void *a, *bt, *dt;
    uint64_t *wrong;
    uint64_t order, count;
    double tolerance;
    enum cb_dtype dtype, out_dtype;
};

/* +1 or -1: entry i of vector v. */
CB_PATTERN double cb_cuda_sign(uint32_t vector, uint64_t i)
{
    return cb_pattern_low(0x2545f491u + vector, i) & 1u ? 1.0 : -1.0;
}

/* What a bit pattern of element i of row j adds to that row's digest. */
CB_PATTERN uint64_t cb_cuda_digest_term(uint64_t bits, uint64_t i)
{
    return (bits + 0x9e3779b97f4a7c15ull) * (2 * i + 0xd1342543de82ef95ull);
}

/* Element i of array a of the memory kernels. */
CB_PATTERN double cb_cuda_series_element(uint64_t i, int array)
{
    return (double)((int)((i + 331u * (uint64_t)array) % 1021u) - 510);
}

/* Element i of a matrix before rounding to its type: spread over (-1, 1) with random low bits, as
 * the power a GPU draws, and with it its clock, depends on the data. */
CB_PATTERN double cb_cuda_matrix_element(uint32_t key, uint64_t i)
{
    return (double)(int32_t)cb_pattern_low(key, i) * (1.0 / 2147483648.0);
}

/* How a memory kernel walks its arrays. stride: all threads of a grid that fills the GPU once step
 * over the arrays together, so many 16-byte accesses of each thread under way at once. tile: each
 * block has one stretch and ends. bulk: through shared memory by the copy engine of compute
 * capability 9.0 and later (nothing happens on an older GPU). */
#define CB_CUDA_STREAM_KERNELS(_)                                                                  \
    _(read_stride4)                                                                                \
    _(read_stride8)                                                                                \
    _(read_tile4)                                                                                  \
    _(read_tile8)                                                                                  \
    _(read_bulk)                                                                                   \
    _(write_stride4)                                                                               \
    _(write_tile4)                                                                                 \
    _(write_tile8)                                                                                 \
    _(write_bulk)                                                                                  \
    _(copy_stride4)                                                                                \
    _(copy_stride8)                                                                                \
    _(copy_tile4)                                                                                  \
    _(copy_tile8)                                                                                  \
    _(copy_bulk)                                                                                   \
    _(triad_float32_stride4)                                                                       \
    _(triad_float32_tile2)                                                                         \
    _(triad_float32_tile4)                                                                         \
    _(triad_float64_stride4)                                                                       \
    _(triad_float64_tile2)                                                                         \
    _(triad_float64_tile4)

/* Every kernel: its name without "cb_cuda_k_" and the struct it takes. */
#define CB_CUDA_CHECK_KERNELS(_)                                                                   \
    _(fill_moved, cb_cuda_moved)                                                                   \
    _(check_moved, cb_cuda_moved)                                                                  \
    _(fill_reduced, cb_cuda_reduced)                                                               \
    _(check_reduced, cb_cuda_reduced)                                                              \
    _(series_fill, cb_cuda_series)                                                                 \
    _(series_check, cb_cuda_series)                                                                \
    _(series_sum, cb_cuda_series)                                                                  \
    _(matrix_fill, cb_cuda_matrix_fill)                                                            \
    _(project, cb_cuda_project)                                                                    \
    _(check_rows, cb_cuda_check_rows)                                                              \
    _(check_places, cb_cuda_check_places)

#ifndef __CUDACC__
#define CB_CUDA_DECLARE_STREAM(name) void cb_cuda_k_##name(struct cb_cuda_stream args);
#define CB_CUDA_DECLARE(name, args_struct) void cb_cuda_k_##name(struct args_struct args);
CB_CUDA_STREAM_KERNELS(CB_CUDA_DECLARE_STREAM)
CB_CUDA_CHECK_KERNELS(CB_CUDA_DECLARE)
#undef CB_CUDA_DECLARE_STREAM
#undef CB_CUDA_DECLARE
#endif

#endif

/* What the files of the host kernel set share; tests include it to spoil a buffer. */
#ifndef CB_KERNELS_HOST_INTERNAL_H
#define CB_KERNELS_HOST_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/error.h"
#include "kernels/host/loops.h"
#include "kernels/host/team.h"
#include "kernels/kernels.h"

#define CB_HOST_BUFFERS 3

/* The two kinds of kernels, behind the one table of kernels.h. operate does one operation. */
struct cb_host_family {
    int (*prepare)(struct cb_kernels *set, struct cb_kernel_work *work, struct cb_error *err);
    void (*operate)(struct cb_kernels *set);
    uint64_t (*verify)(const struct cb_kernels *set);
    void (*release)(struct cb_kernels *set); /* whatever prepare got to, buffers excepted */
};

extern const struct cb_host_family cb_host_stream;
extern const struct cb_host_family cb_host_gemm;

struct cb_stream {
    cb_stream_loop *loop;
    size_t chunk_bytes; /* one thread's part of each array */
    uint64_t rounds;    /* operations so far */
    double *sums;       /* of read, per thread */
};

struct cb_gemm {
    size_t order;    /* the matrices are order x order, row-major: buffers 0 = 1 x 2 */
    double *vectors; /* of verify */
    int library_threads_before;
};

struct cb_kernels {
    uint64_t last_level_cache_bytes, memory_bytes;
    int local_ranks;
    struct cb_team team;

    /* Of the prepared kernel. */
    const struct cb_host_family *family; /* NULL: none is prepared */
    enum cb_kernel kernel;
    enum cb_dtype dtype;
    void *buffers[CB_HOST_BUFFERS]; /* 0 is written (or, by read, read) */
    struct cb_stream stream;
    struct cb_gemm gemm;
};

/* Allocates the first count buffers, untouched, of size_bytes each. They are freed after the
 * family's release, whether or not this worked. Errors: CB_E_MEMORY. */
int cb_host_allocate(struct cb_kernels *set, int count, size_t size_bytes, struct cb_error *err);

/* Element i of a float32 or float64 array. */
static inline double cb_host_get(const void *array, enum cb_dtype dtype, size_t i)
{
    return dtype == CB_DTYPE_FLOAT64 ? ((const double *)array)[i]
                                     : (double)((const float *)array)[i];
}

static inline void cb_host_set(void *array, enum cb_dtype dtype, size_t i, double value)
{
    if (dtype == CB_DTYPE_FLOAT64)
        ((double *)array)[i] = value;
    else
        ((float *)array)[i] = (float)value;
}

/* The size of each of a memory kernel's arrays: four times this process's share of the last-level
 * caches (the rule of STREAM, https://www.cs.virginia.edu/stream/ref.html) and at least 8 MiB, or
 * what memory_bytes allows (0: no limit); whole chunks for every thread. 0 when memory_bytes does
 * not hold one page per thread and array. *note is what a reader must know of the size, made to be
 * put behind the name of a variant: empty when the rule is met for known caches. */
size_t cb_stream_array_bytes(const struct cb_kernels *set, int arrays, const char **note);

/* The order of the GEMM matrices: long enough on this many threads for the call not to matter
 * (order^3 grows with threads; tens of milliseconds), within memory_bytes (0: no limit); 0 when
 * that holds none. */
size_t cb_gemm_order(int threads, enum cb_dtype dtype, uint64_t memory_bytes);

#endif

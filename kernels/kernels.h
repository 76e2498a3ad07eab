/* Local compute kernels behind one table, so that the host's and the GPU's are driven alike. A
 * kernel set only computes and times: when to stop, statistics and printing are the runner's. */
#ifndef CB_KERNELS_KERNELS_H
#define CB_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/error.h"

enum cb_kernel {
    CB_KERNEL_GEMM,
    CB_KERNEL_READ,  /* sum of a: 8 bytes per element */
    CB_KERNEL_WRITE, /* a = s: 8 */
    CB_KERNEL_COPY,  /* a = b: 16 */
    CB_KERNEL_TRIAD, /* a = b + s c: 24 (bytes as STREAM counts them: no write-allocate traffic) */
    /* Of a GPU alone; pinned host memory, 8 bytes per element that crosses the bus. */
    CB_KERNEL_H2D,
    CB_KERNEL_D2H,
    CB_KERNEL_H2D_D2H, /* both directions at once; the bytes of both count */
    CB_KERNEL_PEER,    /* to another GPU of the host */
    CB_KERNEL_COUNT
};

/* "gemm", "read", ... */
const char *cb_kernel_name(enum cb_kernel kernel);

struct cb_kernels_config {
    const int *cpus;  /* operating-system indices the threads are pinned to, one each */
    size_t cpu_count; /* 0: do not pin, one thread */
    uint64_t last_level_cache_bytes; /* of the host; 0 when unknown: a size is assumed and said */
    uint64_t memory_bytes; /* at most this much for the arrays of this process; 0: no limit */
    int local_ranks;       /* processes doing the same on this host at once */
    int device;            /* of the CUDA set: the runtime's index of the GPU */
    int peer_device;       /* the GPU that peer copies go to; the same as device: there is none */
};

/* What one operation does, known after prepare. */
struct cb_kernel_work {
    double flops;        /* per operation; 0 for a memory kernel */
    double bytes;        /* per operation; 0 for GEMM */
    uint64_t size_bytes; /* working set */
    int threads;         /* of the host; 0 for a GPU's kernel */
    bool small;          /* of a GPU: too small for its rate to be judged by; variant says so */
    char variant[40]; /* "OpenBLAS 0.3.21, n=1024", "non-temporal", "plain", and what a reader must
                         know: "plain, cache assumed", "plain, under 4x cache" */
};

struct cb_kernels; /* an opened kernel set, owned by whoever opened it */

struct cb_kernel_ops {
    const char *name; /* "host", "cuda" */

    /* Opens the set; config is copied. Errors: CB_E_MEMORY, CB_E_MEASURE for a CPU that this
     * process may not use. On error *out is untouched. */
    int (*open)(const struct cb_kernels_config *config, struct cb_kernels **out,
                struct cb_error *err);

    /* Whether the set has this kernel in this type; reason (may be NULL) says why not. */
    int (*supports)(const struct cb_kernels *set, enum cb_kernel kernel, enum cb_dtype dtype,
                    char *reason, size_t reason_size);

    /* Allocates and fills what a kernel needs, touches every page from the thread that will use it,
     * and chooses the variant (non-temporal stores where they are faster here, which is tried).
     * From here to release the calling thread is pinned. A kernel prepared before is released.
     * Errors: CB_E_UNSUPPORTED, CB_E_MEMORY; nothing is then prepared and *work is untouched. */
    int (*prepare)(struct cb_kernels *set, enum cb_kernel kernel, enum cb_dtype dtype,
                   struct cb_kernel_work *work, struct cb_error *err);

    /* Runs operations of the prepared kernel back to back; *elapsed_s is their wall time. */
    int (*run)(struct cb_kernels *set, int operations, double *elapsed_s, struct cb_error *err);

    /* Checks the result of the last run: *wrong is the number of elements that are not what
     * arithmetic says; for read, of threads whose sum is not. Every element is looked at, for GEMM
     * by a check that every element of the product enters (Freivalds: C x = A (B x), several x): a
     * wrong row then counts once or more. */
    int (*verify)(struct cb_kernels *set, uint64_t *wrong, struct cb_error *err);

    void (*release)(struct cb_kernels *set); /* undoes prepare; nothing if nothing is prepared */
    void (*close)(struct cb_kernels *set);   /* undoes open; set may be NULL or still prepared */
};

/* The host's kernels: OpenMP and OpenBLAS. Static table, never NULL. float32 and float64. */
const struct cb_kernel_ops *cb_kernels_host(void);

/* The kernels of one NVIDIA GPU: CUDA, and cuBLASLt for GEMM, which is loaded when the set is
 * opened (absent: GEMM is not supported and the reason says where it was looked for). Memory
 * kernels in float32 and float64; GEMM in float64, float32, tf32, float16, bfloat16 and
 * float8_e4m3, as far as the GPU has them; copies in any type. open makes the GPU current for the
 * calling thread, which must be the one that calls the rest. Here the config's cpus are not used.
 * Static table. */
const struct cb_kernel_ops *cb_kernels_cuda(void);

/* The copy of cuBLASLt that the GPU's GEMM would use: its version ("13.0.2") and file, for doctor.
 * Needs no driver. Errors: CB_E_UNSUPPORTED where none serves, or this build has no GPU path; the
 * texts are then untouched. */
int cb_kernels_cuda_library(char *version, size_t version_size, char *path, size_t path_size,
                            struct cb_error *err);

/* The BLAS library in use, its threads and the core it runs code for ("OpenBLAS 0.3.21, OpenMP, for
 * Zen"), for doctor and reports. Returns text. */
const char *cb_kernels_host_library(char *text, size_t size_bytes);

#endif

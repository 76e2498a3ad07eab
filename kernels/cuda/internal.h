/* What the files of the CUDA kernel set share. */
#ifndef CB_KERNELS_CUDA_INTERNAL_H
#define CB_KERNELS_CUDA_INTERNAL_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/error.h"
#include "gpu/device.h"
#include "kernels/cuda/cublaslt_api.h"
#include "kernels/cuda/kernel_args.h"
#include "kernels/kernels.h"

#define CB_CUDA_BUFFERS 3

/* An operation below this is too small for its rate to be judged by. To start one costs 2 to 5 us,
 * so that from here on a rate is short of the hardware's by a twentieth at most. By rates of
 * healthy H100s that is GEMM of n=4096 and more in 16 bits (n=2048 takes 25 us, and its tiles are
 * fewer than the card has multiprocessors), n=8192 in 8 bits; 0.3 GB of memory traffic. The time
 * decides rather than the size: on a slower card less is enough, and a card that is slow by a fault
 * takes longer. */
#define CB_CUDA_SHORTEST_S 100e-6

/* The kinds of kernels, behind the one table of kernels.h. operate starts one operation on the
 * set's stream and does not wait. */
struct cb_cuda_family {
    int (*prepare)(struct cb_kernels *set, struct cb_kernel_work *work, struct cb_error *err);
    int (*operate)(struct cb_kernels *set, struct cb_error *err);
    /* Around the operations of one run, for kinds with a second stream; NULL for the others. */
    int (*fork)(struct cb_kernels *set, struct cb_error *err);
    int (*join)(struct cb_kernels *set, struct cb_error *err);
    int (*verify)(struct cb_kernels *set, uint64_t *wrong, struct cb_error *err);
    void (*release)(struct cb_kernels *set); /* whatever prepare got to, buffers excepted */
};

extern const struct cb_cuda_family cb_cuda_memory;
extern const struct cb_cuda_family cb_cuda_gemm;
extern const struct cb_cuda_family cb_cuda_transfer;

struct cb_cuda_gpu {
    int index, peer; /* peer is index where there is none */
    int peer_mode;   /* of the peer, an enum cudaComputeMode */
    int processors;
    int compute_capability; /* 10 x major + minor */
    uint64_t l2_bytes;
};

struct cb_memory_state {
    const struct cb_memory_variant *variant;
    uint64_t array_bytes;
    uint64_t blocks;      /* of the grid */
    uint64_t rounds;      /* operations so far: the scalar follows from them */
    uint64_t sums_rounds; /* operations since the sums of read were zeroed */
    uint32_t *sums;       /* of read, device; CB_CUDA_SUMS */
};

struct cb_gemm_state {
    uint64_t order;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a_layout, b_layout, d_layout;
    cublasLtMatmulAlgo_t algorithm;
    void *workspace;
    size_t workspace_bytes;
    double *z;        /* CB_CUDA_VECTORS x order */
    uint64_t *digest; /* order */
    bool known;       /* digest holds a checked product's */
};

/* Buffer 0 of the set is filled from the host's buffer 0; the host's buffer 1 and the peer's are
 * filled from buffer 1. */
struct cb_transfer_state {
    uint64_t size_bytes; /* of one direction */
    uint64_t *host[2];   /* pinned */
    void *peer;          /* on the peer device */
    cudaStream_t back;   /* of D2H, where both directions run at once */
    cudaEvent_t forked, joined;
};

struct cb_kernels {
    struct cb_cuda_gpu gpu;
    uint64_t memory_bytes;
    cudaStream_t stream;
    cudaEvent_t start, stop;
    uint64_t *wrong; /* device */
    cublasLtHandle_t cublaslt;
    struct cb_cublaslt_api api;
    char no_gemm[256]; /* why not; empty where cuBLASLt is loaded */

    /* Of the prepared kernel. */
    const struct cb_cuda_family *family; /* NULL: none is prepared */
    enum cb_kernel kernel;
    enum cb_dtype dtype;
    void *buffers[CB_CUDA_BUFFERS]; /* device; 0 is written (or, by read, read) */
    struct cb_memory_state memory;
    struct cb_gemm_state gemm;
    struct cb_transfer_state transfer;
};

/* Starts a kernel (a stub that kernel_args.h declares, given as CB_CUDA_STUB) with its one
 * argument. */
#define CB_CUDA_STUB(name) ((const void *)(uintptr_t)cb_cuda_k_##name)
int cb_cuda_launch(const void *stub, uint64_t blocks, const void *args, cudaStream_t stream,
                   struct cb_error *err);

/* Blocks of a kernel that loops over count elements and is not timed. */
uint64_t cb_cuda_blocks(uint64_t count);

/* Allocates a device buffer of the set (they are freed after the family's release), device memory
 * of the family's own, pinned memory of the host. Errors: CB_E_MEMORY says for which kernel and how
 * much.
 */
int cb_cuda_allocate(struct cb_kernels *set, int index, uint64_t size_bytes, struct cb_error *err);
int cb_cuda_reserve(struct cb_kernels *set, void **out, uint64_t size_bytes, struct cb_error *err);
int cb_cuda_pin(struct cb_kernels *set, void **out, uint64_t size_bytes, struct cb_error *err);

/* How many bytes a kernel may allocate on the device: two fifths of what is free there, and no more
 * than the configured limit. */
int cb_cuda_budget(const struct cb_kernels *set, uint64_t *budget_bytes, struct cb_error *err);

/* Runs operations of the prepared family on the set's stream; their time is between two events. */
int cb_cuda_time(struct cb_kernels *set, int operations, double *elapsed_s, struct cb_error *err);

/* NULL, or why this GPU has no GEMM in the type. */
const char *cb_cuda_gemm_obstacle(const struct cb_cuda_gpu *gpu, enum cb_dtype dtype);

/* Zeroes, then reads, the device's count of wrong elements; read waits for the stream. */
int cb_cuda_wrong_begin(struct cb_kernels *set, struct cb_error *err);
int cb_cuda_wrong_end(struct cb_kernels *set, uint64_t *wrong, struct cb_error *err);

/* CB_OK or the error of a runtime call, which is named without its arguments: CB_CUDA(cudaFree(p),
 * err). */
#define CB_CUDA(call, err) cb_cuda_check_call((int)(call), #call, err)
int cb_cuda_check_call(int cuda_code, const char *call, struct cb_error *err);

#endif

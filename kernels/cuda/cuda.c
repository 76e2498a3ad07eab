/* The kernel set of one GPU: opening, one prepared kernel at a time, timing by events. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/device.h"
#include "kernels/cuda/internal.h"

static const struct cb_cuda_family *const families[CB_KERNEL_COUNT] = {
    [CB_KERNEL_GEMM] = &cb_cuda_gemm,     [CB_KERNEL_READ] = &cb_cuda_memory,
    [CB_KERNEL_WRITE] = &cb_cuda_memory,  [CB_KERNEL_COPY] = &cb_cuda_memory,
    [CB_KERNEL_TRIAD] = &cb_cuda_memory,  [CB_KERNEL_H2D] = &cb_cuda_transfer,
    [CB_KERNEL_D2H] = &cb_cuda_transfer,  [CB_KERNEL_H2D_D2H] = &cb_cuda_transfer,
    [CB_KERNEL_PEER] = &cb_cuda_transfer,
};

/* ---- what the families share ---- */

int cb_cuda_budget(const struct cb_kernels *set, uint64_t *budget_bytes, struct cb_error *err)
{
    /* Less than half, so that two processes on one GPU that look at the same time both fit. */
    const uint64_t fifths = 2;
    size_t free_bytes = 0, total_bytes = 0;
    int rc = CB_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes), err);
    if (rc)
        return rc;
    uint64_t budget = (uint64_t)free_bytes / 5 * fifths;
    *budget_bytes =
        set->memory_bytes > 0 && set->memory_bytes < budget ? set->memory_bytes : budget;
    return CB_OK;
}

int cb_cuda_check_call(int cuda_code, const char *call, struct cb_error *err)
{
    char name[64];
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(call, "("), call);
    return cb_cuda_check(cuda_code, name, err);
}

/* Out of memory says more than CUDA's own words: for what, and how much. */
static int check_memory(const struct cb_kernels *set, cudaError_t error, const char *call,
                        uint64_t size_bytes, const char *hint, struct cb_error *err)
{
    int rc = cb_cuda_check((int)error, call, err);
    if (rc != CB_E_MEMORY)
        return rc;
    cb_fail(err, CB_E_MEMORY,
            "no memory for the %s kernel of GPU %d: %s of %" PRIu64 " bytes failed",
            cb_kernel_name(set->kernel), set->gpu.index, call, size_bytes);
    cb_error_set_detail(err, "%s: %s", call, cudaGetErrorString(error));
    cb_error_set_hint(err, "%s", hint);
    return rc;
}

int cb_cuda_reserve(struct cb_kernels *set, void **out, uint64_t size_bytes, struct cb_error *err)
{
    void *memory = NULL;
    int rc = check_memory(set, cudaMalloc(&memory, size_bytes), "cudaMalloc", size_bytes,
                          "another process may hold the GPU's memory: see nvidia-smi", err);
    if (!rc)
        *out = memory;
    return rc;
}

int cb_cuda_allocate(struct cb_kernels *set, int index, uint64_t size_bytes, struct cb_error *err)
{
    return cb_cuda_reserve(set, &set->buffers[index], size_bytes, err);
}

int cb_cuda_pin(struct cb_kernels *set, void **out, uint64_t size_bytes, struct cb_error *err)
{
    void *memory = NULL;
    int rc = check_memory(
        set, cudaHostAlloc(&memory, size_bytes, cudaHostAllocDefault), "cudaHostAlloc", size_bytes,
        "the host or its container allows too little pinned memory (ulimit -l)", err);
    if (!rc)
        *out = memory;
    return rc;
}

int cb_cuda_wrong_begin(struct cb_kernels *set, struct cb_error *err)
{
    return CB_CUDA(cudaMemsetAsync(set->wrong, 0, sizeof(*set->wrong), set->stream), err);
}

int cb_cuda_wrong_end(struct cb_kernels *set, uint64_t *wrong, struct cb_error *err)
{
    uint64_t counted = 0;
    int rc = CB_CUDA(
        cudaMemcpyAsync(&counted, set->wrong, sizeof(counted), cudaMemcpyDeviceToHost, set->stream),
        err);
    if (!rc)
        rc = CB_CUDA(cudaStreamSynchronize(set->stream), err);
    if (!rc)
        *wrong = counted;
    return rc;
}

int cb_cuda_time(struct cb_kernels *set, int operations, double *elapsed_s, struct cb_error *err)
{
    float elapsed_ms = 0;
    int rc = CB_CUDA(cudaEventRecord(set->start, set->stream), err);
    if (!rc && set->family->fork)
        rc = set->family->fork(set, err);
    for (int i = 0; !rc && i < operations; i++)
        rc = set->family->operate(set, err);
    if (!rc && set->family->join)
        rc = set->family->join(set, err);
    if (!rc)
        rc = CB_CUDA(cudaEventRecord(set->stop, set->stream), err);
    if (!rc)
        rc = CB_CUDA(cudaEventSynchronize(set->stop), err);
    if (!rc)
        rc = CB_CUDA(cudaEventElapsedTime(&elapsed_ms, set->start, set->stop), err);
    if (!rc)
        *elapsed_s = (double)elapsed_ms * 1e-3;
    return rc;
}

/* ---- the table ---- */

static void cuda_release(struct cb_kernels *set)
{
    if (!set->family)
        return;
    /* Whatever the release of memory says was said before, by the call that failed. */
    (void)cudaStreamSynchronize(set->stream);
    set->family->release(set);
    set->family = NULL;
    for (int i = 0; i < CB_CUDA_BUFFERS; i++) {
        if (set->buffers[i])
            (void)cudaFree(set->buffers[i]);
        set->buffers[i] = NULL;
    }
    (void)cudaGetLastError();
}

static void cuda_close(struct cb_kernels *set)
{
    if (!set)
        return;
    cuda_release(set);
    if (set->cublaslt)
        (void)set->api.cublasLtDestroy(set->cublaslt);
    if (set->wrong)
        (void)cudaFree(set->wrong);
    if (set->start)
        (void)cudaEventDestroy(set->start);
    if (set->stop)
        (void)cudaEventDestroy(set->stop);
    if (set->stream)
        (void)cudaStreamDestroy(set->stream);
    free(set);
}

static int look_at_gpu(struct cb_cuda_gpu *gpu, struct cb_error *err)
{
    struct {
        enum cudaDeviceAttr attribute;
        int device, value;
    } asked[] = {{cudaDevAttrMultiProcessorCount, gpu->index, 0},
                 {cudaDevAttrComputeCapabilityMajor, gpu->index, 0},
                 {cudaDevAttrComputeCapabilityMinor, gpu->index, 0},
                 {cudaDevAttrL2CacheSize, gpu->index, 0},
                 {cudaDevAttrComputeMode, gpu->peer, 0}};
    int rc = CB_OK;
    for (size_t i = 0; !rc && i < sizeof(asked) / sizeof(asked[0]); i++)
        rc = CB_CUDA(cudaDeviceGetAttribute(&asked[i].value, asked[i].attribute, asked[i].device),
                     err);
    if (rc)
        return rc;
    gpu->processors = asked[0].value;
    gpu->compute_capability = 10 * asked[1].value + asked[2].value;
    gpu->l2_bytes = (uint64_t)asked[3].value;
    gpu->peer_mode = asked[4].value;
    return CB_OK;
}

/* Without cuBLASLt there is no GEMM, but all the rest: that is a reason, not an error. */
static void open_cublaslt(struct cb_kernels *set)
{
    struct cb_error why;
    cb_error_clear(&why);
    int rc = cb_cublaslt_load(&set->api, &why);
    if (!rc)
        rc = cb_cublaslt_check(&set->api, set->api.cublasLtCreate(&set->cublaslt), "cublasLtCreate",
                               &why);
    if (!rc)
        return;
    set->cublaslt = NULL;
    snprintf(set->no_gemm, sizeof(set->no_gemm), "%.*s (%.*s)", 100, why.what, 140, why.detail);
}

static int cuda_open(const struct cb_kernels_config *config, struct cb_kernels **out,
                     struct cb_error *err)
{
    struct cb_kernels *set = calloc(1, sizeof(*set));
    if (!set)
        return cb_fail(err, CB_E_MEMORY, "no memory for the GPU's kernels");
    set->gpu.index = config->device;
    set->gpu.peer = config->peer_device;
    set->memory_bytes = config->memory_bytes;
    int rc = CB_CUDA(cudaSetDevice(set->gpu.index), err);
    if (!rc)
        rc = look_at_gpu(&set->gpu, err);
    if (!rc)
        rc = CB_CUDA(cudaStreamCreateWithFlags(&set->stream, cudaStreamNonBlocking), err);
    if (!rc)
        rc = CB_CUDA(cudaEventCreate(&set->start), err);
    if (!rc)
        rc = CB_CUDA(cudaEventCreate(&set->stop), err);
    if (!rc)
        rc = CB_CUDA(cudaMalloc((void **)&set->wrong, sizeof(*set->wrong)), err);
    if (rc)
        goto err_close;
    open_cublaslt(set);
    *out = set;
    return CB_OK;

err_close:
    cuda_close(set);
    return rc;
}

/* NULL, or why not. */
static const char *find_obstacle(const struct cb_kernels *set, enum cb_kernel kernel,
                                 enum cb_dtype dtype)
{
    if (kernel == CB_KERNEL_GEMM)
        return set->cublaslt ? cb_cuda_gemm_obstacle(&set->gpu, dtype) : set->no_gemm;
    if (kernel == CB_KERNEL_PEER && set->gpu.peer == set->gpu.index)
        return "this process sees no other GPU";
    /* The peer is another rank's: only one of the two gets memory there. */
    if (kernel == CB_KERNEL_PEER && set->gpu.peer_mode != cudaComputeModeDefault)
        return "the other GPU is in exclusive mode (nvidia-smi -c DEFAULT lets two processes in)";
    if (families[kernel] == &cb_cuda_memory && dtype != CB_DTYPE_FLOAT32 &&
        dtype != CB_DTYPE_FLOAT64)
        return "the GPU's memory kernels compute in float32 and float64";
    return NULL;
}

static int cuda_supports(const struct cb_kernels *set, enum cb_kernel kernel, enum cb_dtype dtype,
                         char *reason, size_t reason_size)
{
    const char *obstacle = find_obstacle(set, kernel, dtype);
    if (obstacle && reason && reason_size > 0)
        snprintf(reason, reason_size, "%s", obstacle);
    return obstacle == NULL;
}

static int cuda_prepare(struct cb_kernels *set, enum cb_kernel kernel, enum cb_dtype dtype,
                        struct cb_kernel_work *work, struct cb_error *err)
{
    const char *obstacle = find_obstacle(set, kernel, dtype);
    if (obstacle)
        return cb_fail(err, CB_E_UNSUPPORTED, "%s", obstacle);
    cuda_release(set);
    set->family = families[kernel];
    set->kernel = kernel;
    set->dtype = dtype;
    struct cb_kernel_work made = {0};
    int rc = set->family->prepare(set, &made, err);
    if (!rc)
        rc = CB_CUDA(cudaStreamSynchronize(set->stream), err);
    if (rc)
        goto err_release;
    *work = made;
    return CB_OK;

err_release:
    cuda_release(set);
    return rc;
}

static int cuda_run(struct cb_kernels *set, int operations, double *elapsed_s, struct cb_error *err)
{
    if (!set->family)
        return cb_fail(err, CB_E_UNSUPPORTED, "no GPU kernel is prepared");
    return cb_cuda_time(set, operations, elapsed_s, err);
}

static int cuda_verify(struct cb_kernels *set, uint64_t *wrong, struct cb_error *err)
{
    if (!set->family)
        return cb_fail(err, CB_E_UNSUPPORTED, "no GPU kernel is prepared");
    return set->family->verify(set, wrong, err);
}

const struct cb_kernel_ops *cb_kernels_cuda(void)
{
    static const struct cb_kernel_ops ops = {
        .name = "cuda",
        .open = cuda_open,
        .supports = cuda_supports,
        .prepare = cuda_prepare,
        .run = cuda_run,
        .verify = cuda_verify,
        .release = cuda_release,
        .close = cuda_close,
    };
    return &ops;
}

int cb_kernels_cuda_library(char *version, size_t version_size, char *path, size_t path_size,
                            struct cb_error *err)
{
    struct cb_cublaslt_api api;
    int rc = cb_cublaslt_load(&api, err);
    if (rc)
        return rc;
    snprintf(version, version_size, "%zu.%zu.%zu", api.version / 10000, api.version / 100 % 100,
             api.version % 100);
    snprintf(path, path_size, "%s", api.path);
    return CB_OK;
}

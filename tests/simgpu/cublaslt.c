/* The simulated cuBLASLt: the calls that commbound makes, with products that are computed by
 * OpenBLAS in float32 or float64 and rounded to the type, in the time that the configuration's rate
 * gives. */
#define _GNU_SOURCE
#include <cblas.h>
#include <stdlib.h>
#include <string.h>

#include <cublasLt.h>

#include "simgpu.h"
#include "small_float.h"

struct layout {
    cudaDataType type;
    uint64_t rows, columns;
    int64_t leading;
};

struct description {
    cublasComputeType_t compute;
    cudaDataType scale;
    int32_t transpose_a, transpose_b;
};

/* The header's opaque structs are larger than these. */
_Static_assert(sizeof(struct layout) <= sizeof(cublasLtMatrixLayoutOpaque_t), "a layout fits");
_Static_assert(sizeof(struct description) <= sizeof(cublasLtMatmulDescOpaque_t), "a desc fits");

size_t cublasLtGetVersion(void)
{
    return CUBLAS_VER_MAJOR * 10000 + CUBLAS_VER_MINOR * 100 + CUBLAS_VER_PATCH;
}

size_t cublasLtGetCudartVersion(void)
{
    return CUDART_VERSION;
}

const char *cublasLtGetStatusName(cublasStatus_t status)
{
    switch ((int)status) {
    case CUBLAS_STATUS_SUCCESS:
        return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
        return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
        return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED:
        return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
        return "CUBLAS_STATUS_INTERNAL_ERROR";
    }
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    return cublasLtGetStatusName(status);
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *out)
{
    static int handle;
    if (simgpu_fault_due("cublas_create", -1, true))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    *out = (cublasLtHandle_t)(void *)&handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    (void)handle;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t create(void **out, size_t size_bytes)
{
    *out = calloc(1, size_bytes);
    return *out != NULL ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
    void *made;
    cublasStatus_t status = create(&made, sizeof(cublasLtMatmulDescOpaque_t));
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    *(struct description *)made = (struct description){compute, scale, CUBLAS_OP_N, CUBLAS_OP_N};
    *out = made;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description)
{
    free(description);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t handle,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t size_bytes)
{
    struct description *description = (struct description *)(void *)handle;
    int32_t *place = attribute == CUBLASLT_MATMUL_DESC_TRANSA   ? &description->transpose_a
                     : attribute == CUBLASLT_MATMUL_DESC_TRANSB ? &description->transpose_b
                                                                : NULL;
    if (attribute == CUBLASLT_MATMUL_DESC_FAST_ACCUM) /* changes no product here */
        return size_bytes == sizeof(int8_t) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
    if (place == NULL)
        return CUBLAS_STATUS_INVALID_VALUE; /* not known here: nothing is taken unseen */
    if (size_bytes != sizeof(*place))
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(place, value, sizeof(*place));
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t leading)
{
    void *made;
    cublasStatus_t status = create(&made, sizeof(cublasLtMatrixLayoutOpaque_t));
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    *(struct layout *)made = (struct layout){type, rows, columns, leading};
    *out = made;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    free(layout);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out)
{
    void *made;
    cublasStatus_t status = create(&made, sizeof(cublasLtMatmulPreferenceOpaque_t));
    if (status == CUBLAS_STATUS_SUCCESS)
        *out = made;
    return status;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    free(preference);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *value, size_t size_bytes)
{
    size_t expected = attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES     ? sizeof(uint64_t)
                      : attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK ? sizeof(uint32_t)
                                                                                : 0;
    (void)preference, (void)value;
    return size_bytes == expected ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

/* ---- products ---- */

static int find_format(const struct description *description, const struct layout *a)
{
    switch ((int)a->type) {
    case CUDA_R_64F:
        return SIMGPU_FP64;
    case CUDA_R_32F:
        return description->compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? SIMGPU_TF32 : SIMGPU_FP32;
    case CUDA_R_16F:
        return SIMGPU_FP16;
    case CUDA_R_16BF:
        return SIMGPU_BF16;
    case CUDA_R_8F_E4M3:
        return SIMGPU_FP8;
    default:
        return -1;
    }
}

/* The real one's rules of 8-bit types: A transposed and B not, every size a multiple of 16, the
 * product in a wider type. */
static bool is_float8_right(const struct description *description, const struct layout *a,
                            const struct layout *b, const struct layout *d)
{
    const uint64_t unit = 16;
    bool is_wide = d->type == CUDA_R_16BF || d->type == CUDA_R_16F || d->type == CUDA_R_32F;
    return description->compute == CUBLAS_COMPUTE_32F && description->scale == CUDA_R_32F &&
           description->transpose_a == CUBLAS_OP_T && description->transpose_b == CUBLAS_OP_N &&
           b->type == a->type && is_wide &&
           (a->rows | a->columns | b->rows | b->columns | d->rows | d->columns) % unit == 0;
}

/* Proposals differ in speed, the best is not the first: a caller that tries them gains 5 %. */
static const double speeds[] = {0.95, 1.0, 0.8};
#define PROPOSALS ((int)(sizeof(speeds) / sizeof(speeds[0])))

cublasStatus_t
cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                               cublasLtMatrixLayout_t a_layout, cublasLtMatrixLayout_t b_layout,
                               cublasLtMatrixLayout_t c_layout, cublasLtMatrixLayout_t d_layout,
                               cublasLtMatmulPreference_t preference, int wanted,
                               cublasLtMatmulHeuristicResult_t *out, int *found)
{
    (void)handle, (void)c_layout, (void)preference;
    int format = find_format((const struct description *)(void *)operation,
                             (const struct layout *)(void *)a_layout);
    *found = 0;
    if (format < 0 || simgpu_config()->flops_per_s[format] <= 0 ||
        simgpu_fault("cublas_unsupported", simgpu_device_physical(simgpu_device_current())))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (format == SIMGPU_FP8 && !is_float8_right((const struct description *)(void *)operation,
                                                 (const struct layout *)(void *)a_layout,
                                                 (const struct layout *)(void *)b_layout,
                                                 (const struct layout *)(void *)d_layout))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    for (int i = 0; i < wanted && i < PROPOSALS; i++) {
        memset(&out[i], 0, sizeof(out[i]));
        out[i].algo.data[0] = (uint64_t)i + 1;
        out[i].state = CUBLAS_STATUS_SUCCESS;
        out[i].wavesCount = 1;
        (*found)++;
    }
    return CUBLAS_STATUS_SUCCESS;
}

struct product {
    struct layout a, b, d;
    bool transpose_a, transpose_b;
    uint64_t inner;
    double alpha, beta;
    const void *a_data, *b_data, *c_data;
    void *d_data;
    double time_s;
    uint64_t epoch;
};

static const struct simgpu_small *small_of(cudaDataType type)
{
    switch ((int)type) {
    case CUDA_R_16F:
        return &simgpu_float16;
    case CUDA_R_16BF:
        return &simgpu_bfloat16;
    case CUDA_R_8F_E4M3:
        return &simgpu_float8_e4m3;
    default:
        return NULL;
    }
}

static uint32_t small_bits(const void *data, uint64_t i, cudaDataType type)
{
    return type == CUDA_R_8F_E4M3 ? ((const uint8_t *)data)[i] : ((const uint16_t *)data)[i];
}

/* A matrix in float32; the data themselves where they are that. */
static float *widen(const void *data, const struct layout *layout, float **owned)
{
    const struct simgpu_small *small = small_of(layout->type);
    uint64_t count = (uint64_t)layout->leading * layout->columns;
    *owned = NULL;
    if (small == NULL)
        return (float *)(uintptr_t)data;
    float *wide = *owned = malloc(count * sizeof(*wide));
    if (wide == NULL)
        abort();
    for (uint64_t i = 0; i < count; i++)
        wide[i] = (float)simgpu_small_decode(small_bits(data, i, layout->type), small);
    return wide;
}

static void multiply_float64(const struct product *p)
{
    if (p->beta != 0 && p->c_data != p->d_data)
        memcpy(p->d_data, p->c_data, (uint64_t)p->d.leading * p->d.columns * sizeof(double));
    cblas_dgemm(CblasColMajor, p->transpose_a ? CblasTrans : CblasNoTrans,
                p->transpose_b ? CblasTrans : CblasNoTrans, (int)p->d.rows, (int)p->d.columns,
                (int)p->inner, p->alpha, p->a_data, (int)p->a.leading, p->b_data, (int)p->b.leading,
                p->beta, p->d_data, (int)p->d.leading);
}

static void multiply_float32(const struct product *p)
{
    float *a_owned, *b_owned, *d_owned = NULL;
    const float *a = widen(p->a_data, &p->a, &a_owned), *b = widen(p->b_data, &p->b, &b_owned);
    const struct simgpu_small *small = small_of(p->d.type);
    uint64_t count = (uint64_t)p->d.leading * p->d.columns;
    float *d = p->d_data;
    if (p->beta != 0)
        d = widen(p->c_data, &p->d, &d_owned);
    else if (small != NULL)
        d = d_owned = calloc(count, sizeof(*d));
    if (d == NULL)
        abort();
    cblas_sgemm(CblasColMajor, p->transpose_a ? CblasTrans : CblasNoTrans,
                p->transpose_b ? CblasTrans : CblasNoTrans, (int)p->d.rows, (int)p->d.columns,
                (int)p->inner, (float)p->alpha, a, (int)p->a.leading, b, (int)p->b.leading,
                (float)p->beta, d, (int)p->d.leading);
    for (uint64_t i = 0; small != NULL && i < count; i++) {
        uint32_t bits = simgpu_small_encode((double)d[i], small);
        if (p->d.type == CUDA_R_8F_E4M3)
            ((uint8_t *)p->d_data)[i] = (uint8_t)bits;
        else
            ((uint16_t *)p->d_data)[i] = (uint16_t)bits;
    }
    if (small == NULL && d != (float *)p->d_data)
        memcpy(p->d_data, d, count * sizeof(*d));
    free(a_owned);
    free(b_owned);
    free(d_owned);
}

static bool same_layout(const struct layout *a, const struct layout *b)
{
    return a->type == b->type && a->rows == b->rows && a->columns == b->columns &&
           a->leading == b->leading;
}

static cudaError_t run_product(void *payload, struct simgpu_span *span)
{
    static _Thread_local struct product last; /* the same again needs no computing */
    static _Thread_local bool spoiled;
    const struct product *p = payload;
    bool again = p->beta == 0 && p->epoch == last.epoch + 1 && p->a_data == last.a_data &&
                 p->b_data == last.b_data && p->d_data == last.d_data &&
                 same_layout(&p->d, &last.d) && same_layout(&p->a, &last.a) &&
                 p->inner == last.inner;
    if (!again && p->a.type == CUDA_R_64F)
        multiply_float64(p);
    else if (!again)
        multiply_float32(p);
    last = *p;
    spoiled = again && spoiled;
    if (simgpu_fault_due("corrupt_gemm", span->device, true) && !spoiled) {
        ((unsigned char *)p->d_data)[p->d.rows / 2 * 2 + 1] ^= 0x20;
        spoiled = true;
    }
    span->end_s = span->start_s + p->time_s / simgpu_device_speed(span->device);
    span->busy = true;
    return cudaSuccess;
}

static void issue_product(void *payload)
{
    struct product *p = payload;
    p->epoch = simgpu_memory_epoch();
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                              const void *alpha, const void *a, cublasLtMatrixLayout_t a_layout,
                              const void *b, cublasLtMatrixLayout_t b_layout, const void *beta,
                              const void *c, cublasLtMatrixLayout_t c_layout, void *d,
                              cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t *algorithm, void *workspace,
                              size_t workspace_bytes, cudaStream_t stream)
{
    (void)handle, (void)c_layout, (void)workspace, (void)workspace_bytes;
    const struct description *description = (const struct description *)(void *)operation;
    struct product p = {.a_data = a, .b_data = b, .c_data = c, .d_data = d};
    memcpy(&p.a, a_layout, sizeof(p.a));
    memcpy(&p.b, b_layout, sizeof(p.b));
    memcpy(&p.d, d_layout, sizeof(p.d));
    p.transpose_a = description->transpose_a != CUBLAS_OP_N;
    p.transpose_b = description->transpose_b != CUBLAS_OP_N;
    p.inner = p.transpose_a ? p.a.rows : p.a.columns;
    bool wide = description->scale == CUDA_R_64F;
    p.alpha = wide ? *(const double *)alpha : (double)*(const float *)alpha;
    p.beta = wide ? *(const double *)beta : (double)*(const float *)beta;

    const struct simgpu_config *config = simgpu_config();
    int format = find_format(description, &p.a);
    uint64_t choice = algorithm != NULL ? algorithm->data[0] : 1;
    if (format < 0 || config->flops_per_s[format] <= 0)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (choice < 1 || choice > (uint64_t)PROPOSALS ||
        p.inner != (p.transpose_b ? p.b.columns : p.b.rows) ||
        p.d.rows != (p.transpose_a ? p.a.columns : p.a.rows))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (simgpu_fault_due("cublas_matmul", simgpu_device_physical(simgpu_device_current()), true))
        return CUBLAS_STATUS_EXECUTION_FAILED;
    double flops = 2.0 * (double)p.d.rows * (double)p.d.columns * (double)p.inner;
    p.time_s = flops / (config->flops_per_s[format] * speeds[choice - 1]);
    if (p.time_s < config->kernel_s)
        p.time_s = config->kernel_s;
    const struct simgpu_work work = {.run = run_product, .issue = issue_product};
    return simgpu_stream_submit(stream, &work, &p, sizeof(p)) == cudaSuccess
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_EXECUTION_FAILED;
}

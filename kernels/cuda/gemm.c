/* Matrix multiplication through cuBLASLt: the fastest of the algorithms that it proposes, found by
 * trying them, on matrices large enough to reach the GPU's rate.
 *
 * The matrices hold numbers spread over (-1, 1) with random low bits: on easier data a GPU draws
 * less power and runs faster than it does in training. Such products are rounded, so the checks
 * have tolerances; what passes them once must come out bit by bit the same from then on. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cuda/internal.h"

#define SMALLEST_ORDER ((uint64_t)128)
#define PROBE_ORDER ((uint64_t)1024)
#define LARGEST_ORDER ((uint64_t)8192)
/* Twice the order is eight times the work: larger ones are only tried within this time. */
#define LONGEST_OPERATION_S 0.06
#define WORKSPACE_BYTES ((uint64_t)64 << 20)
#define CHECKED_PLACES 4096

enum { ALGORITHMS = 16, MOST_TRIAL_OPERATIONS = 8 };
static const double trial_s = 0.02;

/* One type: how cuBLASLt is asked, what the GPU must have, and how far off a product may be.
 * out_ulp is the rounding of an element as it is stored; add_ulp that of adding one product up,
 * wide enough for tensor cores, which cut off instead of rounding (float8 keeps some 14 bits while
 * it adds). */
struct gemm_type {
    enum cb_dtype dtype, out_dtype;
    cudaDataType_t type, out_type;
    cublasComputeType_t compute;
    cudaDataType_t scale;
    int compute_capability;
    double out_ulp, add_ulp;
};

static const struct gemm_type types[] = {
    {CB_DTYPE_FLOAT64, CB_DTYPE_FLOAT64, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F, 0,
     0x1p-53, 0x1p-53},
    {CB_DTYPE_FLOAT32, CB_DTYPE_FLOAT32, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, 0,
     0x1p-24, 0x1p-24},
    {CB_DTYPE_TF32, CB_DTYPE_FLOAT32, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32,
     CUDA_R_32F, 80, 0x1p-24, 0x1p-21},
    {CB_DTYPE_FLOAT16, CB_DTYPE_FLOAT16, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F, 70,
     0x1p-11, 0x1p-21},
    {CB_DTYPE_BFLOAT16, CB_DTYPE_BFLOAT16, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F,
     80, 0x1p-8, 0x1p-21},
    {CB_DTYPE_FLOAT8_E4M3, CB_DTYPE_BFLOAT16, CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F,
     CUDA_R_32F, 89, 0x1p-8, 0x1p-13},
};

static const struct gemm_type *find_type(enum cb_dtype dtype)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (types[i].dtype == dtype)
            return &types[i];
    return NULL;
}

const char *cb_cuda_gemm_obstacle(const struct cb_cuda_gpu *gpu, enum cb_dtype dtype)
{
    const struct gemm_type *type = find_type(dtype);
    if (!type)
        return "the GPU's gemm is not made for this type";
    if (gpu->compute_capability < type->compute_capability)
        return "this GPU's matrix units do not have this type";
    return NULL;
}

#define LT(set, function, arguments, err)                                                          \
    cb_cublaslt_check(&(set)->api, (set)->api.function arguments, #function, err)

/* ---- what cuBLASLt is asked for ---- */

static void forget_layouts(struct cb_kernels *set)
{
    struct cb_gemm_state *state = &set->gemm;
    cublasLtMatrixLayout_t *const layouts[] = {&state->a_layout, &state->b_layout,
                                               &state->d_layout};
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        if (*layouts[i])
            (void)set->api.cublasLtMatrixLayoutDestroy(*layouts[i]);
        *layouts[i] = NULL;
    }
}

/* Square matrices; A is transposed, the one form that float8 has. */
static int describe_layouts(struct cb_kernels *set, const struct gemm_type *type, uint64_t order,
                            struct cb_error *err)
{
    struct cb_gemm_state *state = &set->gemm;
    forget_layouts(set);
    int64_t leading = (int64_t)order;
    int rc = LT(set, cublasLtMatrixLayoutCreate,
                (&state->a_layout, type->type, order, order, leading), err);
    if (!rc)
        rc = LT(set, cublasLtMatrixLayoutCreate,
                (&state->b_layout, type->type, order, order, leading), err);
    if (!rc)
        rc = LT(set, cublasLtMatrixLayoutCreate,
                (&state->d_layout, type->out_type, order, order, leading), err);
    if (!rc)
        state->order = order;
    return rc;
}

static int describe_operation(struct cb_kernels *set, const struct gemm_type *type,
                              struct cb_error *err)
{
    struct cb_gemm_state *state = &set->gemm;
    cublasOperation_t transposed = CUBLAS_OP_T;
    int rc =
        LT(set, cublasLtMatmulDescCreate, (&state->operation, type->compute, type->scale), err);
    if (!rc)
        rc = LT(set, cublasLtMatmulDescSetAttribute,
                (state->operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof(transposed)),
                err);
    int8_t fast = 1; /* as training does in its forward pass */
    if (!rc && type->dtype == CB_DTYPE_FLOAT8_E4M3)
        rc = LT(set, cublasLtMatmulDescSetAttribute,
                (state->operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof(fast)), err);
    return rc;
}

/* The algorithms that cuBLASLt proposes, best first by its own judgement. None that splits the sum:
 * the order of additions is then not fixed, and products could not be compared bit by bit. */
static int ask_for_algorithms(struct cb_kernels *set, cublasLtMatmulHeuristicResult_t *found,
                              int *count, struct cb_error *err)
{
    struct cb_gemm_state *state = &set->gemm;
    cublasLtMatmulPreference_t preference = NULL;
    uint32_t no_reduction = CUBLASLT_REDUCTION_SCHEME_NONE;
    uint64_t workspace_bytes = state->workspace_bytes;
    int returned = 0;
    *count = 0;
    int rc = LT(set, cublasLtMatmulPreferenceCreate, (&preference), err);
    if (rc)
        return rc;
    rc = LT(set, cublasLtMatmulPreferenceSetAttribute,
            (preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes,
             sizeof(workspace_bytes)),
            err);
    if (!rc)
        rc = LT(set, cublasLtMatmulPreferenceSetAttribute,
                (preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &no_reduction,
                 sizeof(no_reduction)),
                err);
    if (!rc)
        rc = LT(set, cublasLtMatmulAlgoGetHeuristic,
                (set->cublaslt, state->operation, state->a_layout, state->b_layout, state->d_layout,
                 state->d_layout, preference, ALGORITHMS, found, &returned),
                err);
    (void)set->api.cublasLtMatmulPreferenceDestroy(preference);
    for (int i = 0; !rc && i < returned; i++)
        if (found[i].state == CUBLAS_STATUS_SUCCESS)
            found[(*count)++] = found[i];
    if (!rc && *count == 0)
        rc = cb_fail(err, CB_E_UNSUPPORTED,
                     "cuBLASLt has no algorithm for gemm in %s of order %" PRIu64,
                     cb_dtype_name(set->dtype), state->order);
    return rc;
}

static int gemm_operate(struct cb_kernels *set, struct cb_error *err)
{
    const struct cb_gemm_state *state = &set->gemm;
    const double one = 1, zero = 0;
    const float one_float32 = 1, zero_float32 = 0;
    bool wide = set->dtype == CB_DTYPE_FLOAT64;
    const void *alpha = wide ? (const void *)&one : &one_float32;
    const void *beta = wide ? (const void *)&zero : &zero_float32;
    return LT(set, cublasLtMatmul,
              (set->cublaslt, state->operation, alpha, set->buffers[1], state->a_layout,
               set->buffers[2], state->b_layout, beta, set->buffers[0], state->d_layout,
               set->buffers[0], state->d_layout, &state->algorithm, state->workspace,
               state->workspace_bytes, set->stream),
              err);
}

/* ---- choosing ---- */

static int time_algorithm(struct cb_kernels *set, double *operation_s, struct cb_error *err)
{
    double elapsed_s = 0;
    int rc = cb_cuda_time(set, 1, &elapsed_s, err); /* warms up */
    if (!rc)
        rc = cb_cuda_time(set, 1, &elapsed_s, err);
    if (rc)
        return rc;
    int operations = (int)fmin(fmax(trial_s / fmax(elapsed_s, 1e-9), 1), MOST_TRIAL_OPERATIONS);
    rc = cb_cuda_time(set, operations, &elapsed_s, err);
    if (!rc)
        *operation_s = elapsed_s / operations;
    return rc;
}

/* Sets layouts and cuBLASLt's first choice for an order, and times it. */
static int try_order(struct cb_kernels *set, const struct gemm_type *type, uint64_t order,
                     double *operation_s, struct cb_error *err)
{
    cublasLtMatmulHeuristicResult_t found[ALGORITHMS];
    int count = 0;
    int rc = describe_layouts(set, type, order, err);
    if (!rc)
        rc = ask_for_algorithms(set, found, &count, err);
    if (rc)
        return rc;
    set->gemm.algorithm = found[0].algo;
    return time_algorithm(set, operation_s, err);
}

/* The largest order, up to the one that there is memory for, whose operation is short enough. */
static int choose_order(struct cb_kernels *set, const struct gemm_type *type, uint64_t largest,
                        struct cb_error *err)
{
    uint64_t order = largest < PROBE_ORDER ? largest : PROBE_ORDER;
    double operation_s = 0;
    int rc = try_order(set, type, order, &operation_s, err);
    while (!rc && 2 * order <= largest && 8 * operation_s <= LONGEST_OPERATION_S) {
        order *= 2;
        rc = try_order(set, type, order, &operation_s, err);
    }
    return rc;
}

/* An algorithm that fails to start is passed over; an error that stays is the next call's too. */
static int choose_algorithm(struct cb_kernels *set, double *operation_s, struct cb_error *err)
{
    cublasLtMatmulHeuristicResult_t found[ALGORITHMS];
    int count = 0, best = -1;
    double best_s = 0;
    struct cb_error last;
    cb_error_clear(&last);
    int rc = ask_for_algorithms(set, found, &count, err);
    for (int i = 0; !rc && i < count; i++) {
        double tried_s = 0;
        set->gemm.algorithm = found[i].algo;
        if (time_algorithm(set, &tried_s, &last))
            continue;
        if (best < 0 || tried_s < best_s) {
            best = i;
            best_s = tried_s;
        }
    }
    if (rc)
        return rc;
    if (best < 0) {
        if (err)
            *err = last;
        return last.code;
    }
    set->gemm.algorithm = found[best].algo;
    *operation_s = best_s;
    return CB_OK;
}

/* ---- data ---- */

static uint64_t need_bytes(const struct gemm_type *type, uint64_t order)
{
    uint64_t elements = order * order;
    return elements *
               (2 * cb_dtype_size_bytes(type->dtype) + cb_dtype_size_bytes(type->out_dtype)) +
           order * (CB_CUDA_VECTORS * sizeof(double) + sizeof(uint64_t)) + WORKSPACE_BYTES;
}

/* The workspace is a wish: small budgets do without. */
static int allocate(struct cb_kernels *set, const struct gemm_type *type, uint64_t *largest,
                    struct cb_error *err)
{
    struct cb_gemm_state *state = &set->gemm;
    uint64_t budget_bytes = 0, order = LARGEST_ORDER;
    int rc = cb_cuda_budget(set, &budget_bytes, err);
    if (rc)
        return rc;
    while (order >= SMALLEST_ORDER && need_bytes(type, order) - WORKSPACE_BYTES > budget_bytes)
        order /= 2;
    if (order < SMALLEST_ORDER)
        return cb_fail(err, CB_E_MEMORY,
                       "%" PRIu64 " bytes of GPU %d do not hold the matrices of gemm", budget_bytes,
                       set->gpu.index);
    state->workspace_bytes = need_bytes(type, order) <= budget_bytes ? WORKSPACE_BYTES : 0;
    uint64_t in_bytes = order * order * cb_dtype_size_bytes(type->dtype);
    rc = cb_cuda_allocate(set, 0, order * order * cb_dtype_size_bytes(type->out_dtype), err);
    if (!rc)
        rc = cb_cuda_allocate(set, 1, in_bytes, err);
    if (!rc)
        rc = cb_cuda_allocate(set, 2, in_bytes, err);
    if (!rc && state->workspace_bytes > 0)
        rc = cb_cuda_reserve(set, &state->workspace, state->workspace_bytes, err);
    if (!rc)
        rc =
            cb_cuda_reserve(set, (void **)&state->z, CB_CUDA_VECTORS * order * sizeof(double), err);
    if (!rc)
        rc = cb_cuda_reserve(set, (void **)&state->digest, order * sizeof(uint64_t), err);
    if (!rc)
        *largest = order;
    return rc;
}

static int fill_matrix(struct cb_kernels *set, int index, uint64_t order, struct cb_error *err)
{
    struct cb_cuda_matrix_fill args = {.data = set->buffers[index],
                                       .count = order * order,
                                       .key = cb_pattern_key(0, (uint32_t)index),
                                       .dtype = set->dtype};
    return cb_cuda_launch(CB_CUDA_STUB(matrix_fill), cb_cuda_blocks(args.count), &args, set->stream,
                          err);
}

/* NaN in every type that a product has: an operation that does nothing is then seen. */
static int blank_product(struct cb_kernels *set, struct cb_error *err)
{
    const struct gemm_type *type = find_type(set->dtype);
    uint64_t elements = set->gemm.order * set->gemm.order;
    return CB_CUDA(cudaMemsetAsync(set->buffers[0], 0xff,
                                   elements * cb_dtype_size_bytes(type->out_dtype), set->stream),
                   err);
}

static int gemm_prepare(struct cb_kernels *set, struct cb_kernel_work *work, struct cb_error *err)
{
    const struct gemm_type *type = find_type(set->dtype);
    uint64_t largest = 0;
    double operation_s = 0;
    memset(&set->gemm, 0, sizeof(set->gemm));
    int rc = allocate(set, type, &largest, err);
    if (!rc)
        rc = describe_operation(set, type, err);
    for (int i = 1; !rc && i <= 2; i++)
        rc = fill_matrix(set, i, largest, err);
    if (!rc)
        rc = choose_order(set, type, largest, err);
    if (!rc)
        rc = choose_algorithm(set, &operation_s, err);
    if (!rc)
        rc = blank_product(set, err);
    if (rc)
        return rc;
    uint64_t order = set->gemm.order;
    double n = (double)order;
    work->flops = 2 * n * n * n;
    work->size_bytes =
        order * order *
        (2 * cb_dtype_size_bytes(type->dtype) + cb_dtype_size_bytes(type->out_dtype));
    work->small = operation_s < CB_CUDA_SHORTEST_S;
    size_t version = set->api.version;
    snprintf(work->variant, sizeof(work->variant), "cuBLASLt %zu.%zu.%zu, n=%" PRIu64 "%s",
             version / 10000 % 1000, version / 100 % 100, version % 100, order,
             work->small ? ", small" : "");
    return CB_OK;
}

/* ---- checking ----
 *
 * With entries spread evenly over (-1, 1) an element of the product is about sqrt(n)/3. Adding n
 * products up, each step rounding what is there so far, errs by about add_ulp x n/10; storing the
 * sum by out_ulp of it. A row's check adds n such errors with random signs, and in double it rounds
 * as much itself. The factors in front keep right products many standard deviations inside: added
 * up one by one on a CPU they came to less than half of the tolerance. A wrong element is off by
 * about sqrt(n)/3. */

static double place_tolerance(const struct gemm_type *type, double n)
{
    return 2 * type->out_ulp * sqrt(n) + 4 * type->add_ulp * n;
}

static double row_tolerance(const struct gemm_type *type, double n)
{
    return type->out_ulp * n + 4 * type->add_ulp * n * sqrt(n);
}

static int check_rows(struct cb_kernels *set, const struct gemm_type *type, struct cb_error *err)
{
    struct cb_gemm_state *state = &set->gemm;
    struct cb_cuda_project project = {
        .a = set->buffers[1], .z = state->z, .order = state->order, .dtype = type->dtype};
    struct cb_cuda_check_rows rows = {.bt = set->buffers[2],
                                      .dt = set->buffers[0],
                                      .z = state->z,
                                      .digest = state->digest,
                                      .wrong = set->wrong,
                                      .order = state->order,
                                      .tolerance = row_tolerance(type, (double)state->order),
                                      .dtype = type->dtype,
                                      .out_dtype = type->out_dtype,
                                      .known = state->known};
    int rc = cb_cuda_launch(CB_CUDA_STUB(project), cb_cuda_blocks(state->order), &project,
                            set->stream, err);
    if (!rc)
        rc = cb_cuda_launch(CB_CUDA_STUB(check_rows), state->order, &rows, set->stream, err);
    return rc;
}

static int check_places(struct cb_kernels *set, const struct gemm_type *type, struct cb_error *err)
{
    struct cb_cuda_check_places places = {
        .a = set->buffers[1],
        .bt = set->buffers[2],
        .dt = set->buffers[0],
        .wrong = set->wrong,
        .order = set->gemm.order,
        .count = CHECKED_PLACES,
        .tolerance = place_tolerance(type, (double)set->gemm.order),
        .dtype = type->dtype,
        .out_dtype = type->out_dtype,
    };
    return cb_cuda_launch(CB_CUDA_STUB(check_places), cb_cuda_blocks(UINT64_C(32) * CHECKED_PLACES),
                          &places, set->stream, err);
}

static int gemm_verify(struct cb_kernels *set, uint64_t *wrong, struct cb_error *err)
{
    const struct gemm_type *type = find_type(set->dtype);
    uint64_t counted = 0;
    int rc = cb_cuda_wrong_begin(set, err);
    if (!rc)
        rc = check_rows(set, type, err);
    if (!rc)
        rc = check_places(set, type, err);
    if (!rc)
        rc = cb_cuda_wrong_end(set, &counted, err);
    if (!rc)
        rc = blank_product(set, err);
    if (rc)
        return rc;
    set->gemm.known = set->gemm.known || counted == 0;
    *wrong = counted;
    return CB_OK;
}

static void gemm_release(struct cb_kernels *set)
{
    struct cb_gemm_state *state = &set->gemm;
    forget_layouts(set);
    if (state->operation)
        (void)set->api.cublasLtMatmulDescDestroy(state->operation);
    void *const owned[] = {state->workspace, state->z, state->digest};
    for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
        if (owned[i])
            (void)cudaFree(owned[i]);
    memset(state, 0, sizeof(*state));
}

const struct cb_cuda_family cb_cuda_gemm = {
    .prepare = gemm_prepare,
    .operate = gemm_operate,
    .verify = gemm_verify,
    .release = gemm_release,
};

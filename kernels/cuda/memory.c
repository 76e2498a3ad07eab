/* Memory kernels: which of several ways to walk the arrays is the fastest on this GPU is found by
 * trying them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cuda/internal.h"

/* Long against what a kernel's start and end cost: about a millisecond at 4 TB/s. */
#define ARRAY_BYTES ((uint64_t)4 << 30)
#define CACHES_PER_ARRAY 4 /* the rule of STREAM, for the L2 cache */
#define UNIT_BYTES ((uint64_t)64 << 10)
#define LARGEST_ELEMENT_PERIOD 1021

enum { TRIALS = 3, OPERATIONS_PER_TRIAL = 3 };

enum walk {
    WALK_STRIDE, /* a grid that fills the GPU once */
    WALK_TILE,   /* a grid that covers the arrays */
    WALK_BULK,   /* as stride, on compute capability 9.0 and later */
    WALK_RUNTIME /* CUDA's own copy */
};

struct cb_memory_variant {
    enum cb_kernel kernel;
    enum cb_dtype dtype; /* CB_DTYPE_COUNT: any */
    enum walk walk;
    uint64_t many; /* vectors a thread has under way, of tile */
    const char *name;
    void (*stub)(struct cb_cuda_stream args);
};

#define ANY CB_DTYPE_COUNT
static const struct cb_memory_variant variants[] = {
    {CB_KERNEL_READ, ANY, WALK_STRIDE, 4, "stride4", cb_cuda_k_read_stride4},
    {CB_KERNEL_READ, ANY, WALK_STRIDE, 8, "stride8", cb_cuda_k_read_stride8},
    {CB_KERNEL_READ, ANY, WALK_TILE, 4, "tile4", cb_cuda_k_read_tile4},
    {CB_KERNEL_READ, ANY, WALK_TILE, 8, "tile8", cb_cuda_k_read_tile8},
    {CB_KERNEL_READ, ANY, WALK_BULK, 0, "bulk", cb_cuda_k_read_bulk},
    {CB_KERNEL_WRITE, ANY, WALK_STRIDE, 4, "stride4", cb_cuda_k_write_stride4},
    {CB_KERNEL_WRITE, ANY, WALK_TILE, 4, "tile4", cb_cuda_k_write_tile4},
    {CB_KERNEL_WRITE, ANY, WALK_TILE, 8, "tile8", cb_cuda_k_write_tile8},
    {CB_KERNEL_WRITE, ANY, WALK_BULK, 0, "bulk", cb_cuda_k_write_bulk},
    {CB_KERNEL_COPY, ANY, WALK_STRIDE, 4, "stride4", cb_cuda_k_copy_stride4},
    {CB_KERNEL_COPY, ANY, WALK_STRIDE, 8, "stride8", cb_cuda_k_copy_stride8},
    {CB_KERNEL_COPY, ANY, WALK_TILE, 4, "tile4", cb_cuda_k_copy_tile4},
    {CB_KERNEL_COPY, ANY, WALK_TILE, 8, "tile8", cb_cuda_k_copy_tile8},
    {CB_KERNEL_COPY, ANY, WALK_BULK, 0, "bulk", cb_cuda_k_copy_bulk},
    {CB_KERNEL_COPY, ANY, WALK_RUNTIME, 0, "cudaMemcpy", NULL},
    {CB_KERNEL_TRIAD, CB_DTYPE_FLOAT32, WALK_STRIDE, 4, "stride4", cb_cuda_k_triad_float32_stride4},
    {CB_KERNEL_TRIAD, CB_DTYPE_FLOAT32, WALK_TILE, 2, "tile2", cb_cuda_k_triad_float32_tile2},
    {CB_KERNEL_TRIAD, CB_DTYPE_FLOAT32, WALK_TILE, 4, "tile4", cb_cuda_k_triad_float32_tile4},
    {CB_KERNEL_TRIAD, CB_DTYPE_FLOAT64, WALK_STRIDE, 4, "stride4", cb_cuda_k_triad_float64_stride4},
    {CB_KERNEL_TRIAD, CB_DTYPE_FLOAT64, WALK_TILE, 2, "tile2", cb_cuda_k_triad_float64_tile2},
    {CB_KERNEL_TRIAD, CB_DTYPE_FLOAT64, WALK_TILE, 4, "tile4", cb_cuda_k_triad_float64_tile4},
};
#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

/* Code that was built for an older generation has no bulk copies in it, even where the driver
 * translates it for a GPU that could: such a kernel does nothing, very fast. */
static int is_usable(const struct cb_kernels *set, const struct cb_memory_variant *variant,
                     bool *usable, struct cb_error *err)
{
    const int first_with_bulk = 90;
    struct cudaFuncAttributes code = {.ptxVersion = 0};
    int rc = CB_OK;
    *usable =
        variant->kernel == set->kernel && (variant->dtype == ANY || variant->dtype == set->dtype);
    if (!*usable || variant->walk != WALK_BULK)
        return CB_OK;
    *usable = set->gpu.compute_capability >= first_with_bulk;
    if (*usable)
        rc = CB_CUDA(cudaFuncGetAttributes(&code, (const void *)(uintptr_t)variant->stub), err);
    *usable = *usable && code.ptxVersion >= first_with_bulk;
    return rc;
}

static int array_count(enum cb_kernel kernel)
{
    return kernel == CB_KERNEL_TRIAD ? 3 : kernel == CB_KERNEL_COPY ? 2 : 1;
}

/* Changes with every operation: what an earlier one left does not pass for the last one's. */
static double scalar_of(uint64_t round)
{
    return 1 + (double)(round % LARGEST_ELEMENT_PERIOD);
}

static void write_words(enum cb_dtype dtype, double value, uint32_t words[4])
{
    float narrow = (float)value;
    for (size_t i = 0; i < 4; i++)
        if (dtype == CB_DTYPE_FLOAT64)
            memcpy(&words[i], (const char *)&value + sizeof(words[i]) * (i % 2), sizeof(words[i]));
        else
            memcpy(&words[i], &narrow, sizeof(words[i]));
}

static uint64_t element_count(const struct cb_kernels *set)
{
    return set->memory.array_bytes / cb_dtype_size_bytes(set->dtype);
}

static int find_blocks(const struct cb_kernels *set, const struct cb_memory_variant *variant,
                       uint64_t *blocks, struct cb_error *err)
{
    uint64_t vectors = set->memory.array_bytes / 16;
    if (variant->walk == WALK_TILE) {
        uint64_t of_block = CB_CUDA_BLOCK * variant->many;
        *blocks = (vectors + of_block - 1) / of_block;
        return CB_OK;
    }
    int resident = 0;
    int rc = CB_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                         &resident, (const void *)(uintptr_t)variant->stub, CB_CUDA_BLOCK, 0),
                     err);
    if (!rc)
        *blocks = (uint64_t)(resident < 1 ? 1 : resident) * (uint64_t)set->gpu.processors;
    return rc;
}

static int memory_operate(struct cb_kernels *set, struct cb_error *err)
{
    struct cb_memory_state *state = &set->memory;
    state->rounds++;
    state->sums_rounds++;
    if (state->variant->walk == WALK_RUNTIME)
        return CB_CUDA(cudaMemcpyAsync(set->buffers[0], set->buffers[1], state->array_bytes,
                                       cudaMemcpyDeviceToDevice, set->stream),
                       err);
    bool reads = set->kernel == CB_KERNEL_READ;
    struct cb_cuda_stream args = {.to = reads ? NULL : set->buffers[0],
                                  .from = reads ? set->buffers[0] : set->buffers[1],
                                  .scaled = set->buffers[2],
                                  .vectors = state->array_bytes / 16,
                                  .scalar = scalar_of(state->rounds),
                                  .sums = state->sums};
    write_words(set->dtype, args.scalar, args.words);
    return cb_cuda_launch((const void *)(uintptr_t)state->variant->stub, state->blocks, &args,
                          set->stream, err);
}

/* ---- choosing ---- */

/* The best of a few trials, in seconds per operation; the first warms up. */
static int try_variant(struct cb_kernels *set, const struct cb_memory_variant *variant,
                       double *operation_s, struct cb_error *err)
{
    set->memory.variant = variant;
    int rc = CB_OK;
    if (variant->walk != WALK_RUNTIME)
        rc = find_blocks(set, variant, &set->memory.blocks, err);
    double best_s = 0;
    for (int trial = -1; !rc && trial < TRIALS; trial++) {
        double elapsed_s = 0;
        rc = cb_cuda_time(set, OPERATIONS_PER_TRIAL, &elapsed_s, err);
        if (trial <= 0 || elapsed_s < best_s)
            best_s = elapsed_s;
    }
    if (!rc)
        *operation_s = best_s / OPERATIONS_PER_TRIAL;
    return rc;
}

static int choose_variant(struct cb_kernels *set, double *best_s, struct cb_error *err)
{
    const struct cb_memory_variant *best = NULL;
    double operation_s = 0;
    for (size_t i = 0; i < VARIANTS; i++) {
        bool usable;
        int rc = is_usable(set, &variants[i], &usable, err);
        if (!rc && !usable)
            continue;
        if (!rc)
            rc = try_variant(set, &variants[i], &operation_s, err);
        if (rc)
            return rc;
        if (!best || operation_s < *best_s) {
            best = &variants[i];
            *best_s = operation_s;
        }
    }
    set->memory.variant = best;
    return best->walk == WALK_RUNTIME ? CB_OK : find_blocks(set, best, &set->memory.blocks, err);
}

/* ---- data ---- */

static int start_series(struct cb_kernels *set, const void *stub,
                        const struct cb_cuda_series *series, struct cb_error *err)
{
    return cb_cuda_launch(stub, cb_cuda_blocks(series->count), series, set->stream, err);
}

static int fill(struct cb_kernels *set, int array, bool blank, struct cb_error *err)
{
    struct cb_cuda_series series = {.data = set->buffers[array],
                                    .count = element_count(set),
                                    .array = array,
                                    .blank = blank,
                                    .dtype = set->dtype};
    return start_series(set, CB_CUDA_STUB(series_fill), &series, err);
}

static int zero_sums(struct cb_kernels *set, struct cb_error *err)
{
    set->memory.sums_rounds = 0;
    return CB_CUDA(
        cudaMemsetAsync(set->memory.sums, 0, CB_CUDA_SUMS * sizeof(uint32_t), set->stream), err);
}

static int fetch_sum(struct cb_kernels *set, uint32_t *sum, struct cb_error *err)
{
    uint32_t sums[CB_CUDA_SUMS];
    int rc = CB_CUDA(
        cudaMemcpyAsync(sums, set->memory.sums, sizeof(sums), cudaMemcpyDeviceToHost, set->stream),
        err);
    if (!rc)
        rc = CB_CUDA(cudaStreamSynchronize(set->stream), err);
    *sum = 0;
    for (int i = 0; !rc && i < CB_CUDA_SUMS; i++)
        *sum += sums[i];
    return rc;
}

/* How large each array is. */
static int size_arrays(struct cb_kernels *set, struct cb_error *err)
{
    uint64_t budget_bytes = 0, arrays = (uint64_t)array_count(set->kernel);
    int rc = cb_cuda_budget(set, &budget_bytes, err);
    if (rc)
        return rc;
    uint64_t size_bytes = ARRAY_BYTES;
    if (size_bytes > budget_bytes / arrays)
        size_bytes = budget_bytes / arrays / UNIT_BYTES * UNIT_BYTES;
    if (size_bytes == 0)
        return cb_fail(err, CB_E_MEMORY,
                       "%" PRIu64 " bytes of GPU %d do not hold the %" PRIu64
                       " arrays of the %s kernel",
                       budget_bytes, set->gpu.index, arrays, cb_kernel_name(set->kernel));
    set->memory.array_bytes = size_bytes;
    return CB_OK;
}

static int memory_prepare(struct cb_kernels *set, struct cb_kernel_work *work, struct cb_error *err)
{
    double operation_s = 0;
    int arrays = array_count(set->kernel);
    memset(&set->memory, 0, sizeof(set->memory));
    int rc = size_arrays(set, err);
    if (!rc)
        rc = cb_cuda_reserve(set, (void **)&set->memory.sums, CB_CUDA_SUMS * sizeof(uint32_t), err);
    for (int i = 0; !rc && i < arrays; i++) {
        rc = cb_cuda_allocate(set, i, set->memory.array_bytes, err);
        if (!rc)
            rc = fill(set, i, i == 0 && set->kernel != CB_KERNEL_READ, err);
    }
    if (!rc)
        rc = choose_variant(set, &operation_s, err);
    if (!rc)
        rc = zero_sums(set, err);
    if (!rc && set->kernel != CB_KERNEL_READ)
        rc = fill(set, 0, true, err); /* the trials have written it */
    if (rc)
        return rc;
    work->bytes = (double)arrays * (double)set->memory.array_bytes;
    work->size_bytes = (uint64_t)arrays * set->memory.array_bytes;
    bool is_cached = set->memory.array_bytes < CACHES_PER_ARRAY * set->gpu.l2_bytes;
    work->small = is_cached || operation_s < CB_CUDA_SHORTEST_S;
    snprintf(work->variant, sizeof(work->variant), "%s%s", set->memory.variant->name,
             is_cached     ? ", under 4x L2"
             : work->small ? ", small"
                           : "");
    return CB_OK;
}

/* Two ways to add the same words up: what read found, and what they are made from. */
static int verify_read(struct cb_kernels *set, uint64_t *wrong, struct cb_error *err)
{
    uint32_t found = 0, once = 0, rounds = (uint32_t)set->memory.sums_rounds;
    struct cb_cuda_series series = {
        .count = element_count(set), .sums = set->memory.sums, .dtype = set->dtype};
    int rc = fetch_sum(set, &found, err);
    if (!rc)
        rc = zero_sums(set, err);
    if (!rc)
        rc = start_series(set, CB_CUDA_STUB(series_sum), &series, err);
    if (!rc)
        rc = fetch_sum(set, &once, err);
    if (!rc)
        rc = zero_sums(set, err);
    if (!rc)
        *wrong = found != rounds * once;
    return rc;
}

static int memory_verify(struct cb_kernels *set, uint64_t *wrong, struct cb_error *err)
{
    if (set->kernel == CB_KERNEL_READ)
        return verify_read(set, wrong, err);
    double scalar = scalar_of(set->memory.rounds);
    struct cb_cuda_series series = {.data = set->buffers[0],
                                    .count = element_count(set),
                                    .wrong = set->wrong,
                                    .constant = set->kernel == CB_KERNEL_WRITE ? scalar : 0,
                                    .scalar = scalar,
                                    .plus_first = set->kernel != CB_KERNEL_WRITE,
                                    .plus_scaled = set->kernel == CB_KERNEL_TRIAD,
                                    .dtype = set->dtype};
    int rc = cb_cuda_wrong_begin(set, err);
    if (!rc)
        rc = start_series(set, CB_CUDA_STUB(series_check), &series, err);
    if (!rc)
        rc = cb_cuda_wrong_end(set, wrong, err);
    if (!rc)
        rc = fill(set, 0, true, err); /* so that an operation that does nothing is seen */
    return rc;
}

static void memory_release(struct cb_kernels *set)
{
    if (set->memory.sums)
        (void)cudaFree(set->memory.sums);
    set->memory.sums = NULL;
}

const struct cb_cuda_family cb_cuda_memory = {
    .prepare = memory_prepare,
    .operate = memory_operate,
    .verify = memory_verify,
    .release = memory_release,
};

/* The host routine of every kernel in kernels/cuda, by the arithmetic that kernel_args.h and
 * pattern_math.h define for both. Linked with the product in a simulated run; the test
 * simgpu.device holds each to what the kernel's own source does. */
#define _GNU_SOURCE
#include <math.h>
#include <string.h>

#include "base/pattern_math.h"
#include "kernels/cuda/kernel_args.h"
#include "simgpu.h"
#include "small_float.h"

/* ---- elements ---- */

static uint64_t load_bits(const void *data, size_t bytes, uint64_t i)
{
    switch (bytes) {
    case 1:
        return ((const uint8_t *)data)[i];
    case 2:
        return ((const uint16_t *)data)[i];
    case 4:
        return ((const uint32_t *)data)[i];
    default:
        return ((const uint64_t *)data)[i];
    }
}

static void store_bits(void *data, size_t bytes, uint64_t i, uint64_t bits)
{
    switch (bytes) {
    case 1:
        ((uint8_t *)data)[i] = (uint8_t)bits;
        break;
    case 2:
        ((uint16_t *)data)[i] = (uint16_t)bits;
        break;
    case 4:
        ((uint32_t *)data)[i] = (uint32_t)bits;
        break;
    default:
        ((uint64_t *)data)[i] = bits;
    }
}

static size_t element_bytes(enum cb_dtype dtype)
{
    static const size_t bytes[CB_DTYPE_COUNT] = {
        [CB_DTYPE_FLOAT32] = 4,     [CB_DTYPE_FLOAT64] = 8, [CB_DTYPE_FLOAT16] = 2,
        [CB_DTYPE_BFLOAT16] = 2,    [CB_DTYPE_INT32] = 4,   [CB_DTYPE_FLOAT8_E4M3] = 1,
        [CB_DTYPE_FLOAT8_E5M2] = 1, [CB_DTYPE_TF32] = 4,
    };
    return bytes[dtype];
}

static const struct simgpu_small *small_of(enum cb_dtype dtype)
{
    switch ((int)dtype) {
    case CB_DTYPE_FLOAT16:
        return &simgpu_float16;
    case CB_DTYPE_BFLOAT16:
        return &simgpu_bfloat16;
    case CB_DTYPE_FLOAT8_E4M3:
        return &simgpu_float8_e4m3;
    case CB_DTYPE_FLOAT8_E5M2:
        return &simgpu_float8_e5m2;
    }
    return NULL;
}

static double decode(uint64_t bits, enum cb_dtype dtype)
{
    const struct simgpu_small *small = small_of(dtype);
    uint32_t low = (uint32_t)bits;
    double wide;
    float narrow;
    if (small != NULL)
        return simgpu_small_decode(low, small);
    if (dtype == CB_DTYPE_INT32)
        return (double)(int32_t)low;
    if (dtype == CB_DTYPE_FLOAT64) {
        memcpy(&wide, &bits, sizeof(wide));
        return wide;
    }
    memcpy(&narrow, &low, sizeof(narrow));
    return (double)narrow;
}

static uint64_t encode(double value, enum cb_dtype dtype)
{
    const struct simgpu_small *small = small_of(dtype);
    uint64_t bits = 0;
    float narrow = (float)value;
    if (small != NULL)
        return simgpu_small_encode(value, small);
    if (dtype == CB_DTYPE_INT32)
        return (uint32_t)(int64_t)value;
    if (dtype == CB_DTYPE_FLOAT64)
        memcpy(&bits, &value, sizeof(value));
    else
        memcpy(&bits, &narrow, sizeof(narrow));
    return dtype == CB_DTYPE_TF32 ? bits & ~(uint64_t)0x1fff : bits;
}

static double load(const void *data, enum cb_dtype dtype, uint64_t i)
{
    return decode(load_bits(data, element_bytes(dtype), i), dtype);
}

/* ---- checked steps ---- */

static uint64_t moved_bits(const struct cb_cuda_moved *args, uint64_t i)
{
    uint64_t place = args->first + i;
    if (args->element_bytes == 8)
        return cb_pattern_wide(args->key, place);
    return cb_pattern_low(args->key, place) & (0xffffffffu >> (32 - 8 * args->element_bytes));
}

static void run_fill_moved(const void *argument)
{
    const struct cb_cuda_moved *args = argument;
    for (uint64_t i = 0; i < args->count; i++)
        store_bits(args->data, args->element_bytes, i, moved_bits(args, i));
}

static void run_check_moved(const void *argument)
{
    const struct cb_cuda_moved *args = argument;
    for (uint64_t i = 0; i < args->count; i++)
        *args->wrong += load_bits(args->data, args->element_bytes, i) != moved_bits(args, i);
}

static void run_fill_reduced(const void *argument)
{
    const struct cb_cuda_reduced *args = argument;
    size_t bytes = element_bytes(args->dtype);
    for (uint64_t i = 0; i < args->count; i++) {
        uint64_t value = cb_pattern_sent(&args->pattern, args->owner, args->first + i);
        store_bits(args->data, bytes, i, encode((double)(int64_t)value, args->dtype));
    }
}

static void run_check_reduced(const void *argument)
{
    const struct cb_cuda_reduced *args = argument;
    size_t bytes = element_bytes(args->dtype);
    bool signs = args->dtype == CB_DTYPE_FLOAT32 || args->dtype == CB_DTYPE_FLOAT64;
    for (uint64_t i = 0; i < args->count; i++) {
        uint64_t value = cb_pattern_expected(&args->pattern, args->maximum != 0, args->first + i);
        uint64_t expected = encode((double)(int64_t)value, args->dtype);
        uint64_t found = load_bits(args->data, bytes, i);
        bool zero = signs && expected == 0 && found == (uint64_t)1 << (8 * bytes - 1);
        *args->wrong += found != expected && !zero;
    }
}

/* ---- memory ---- */

static _Thread_local uint32_t read_sum; /* what this stream's last read found */

static void add_read_sum(const void *argument)
{
    ((const struct cb_cuda_stream *)argument)->sums[0] += read_sum;
}

static void run_read(const void *argument)
{
    const struct cb_cuda_stream *args = argument;
    const uint32_t *words = args->from;
    uint32_t sum = 0;
    for (uint64_t i = 0; i < 4 * args->vectors; i++)
        sum += words[i];
    read_sum = sum;
    add_read_sum(argument);
}

static bool reads_same(const void *later, const void *earlier)
{
    const struct cb_cuda_stream *a = later, *b = earlier;
    return a->from == b->from && a->vectors == b->vectors;
}

/* Write, copy and triad fill their array from others. */
static bool replaces(const void *later, const void *earlier)
{
    const struct cb_cuda_stream *a = later, *b = earlier;
    return a->to == b->to && a->vectors == b->vectors;
}

static void run_write(const void *argument)
{
    const struct cb_cuda_stream *args = argument;
    uint32_t *to = args->to;
    for (uint64_t i = 0; i < args->vectors; i++)
        memcpy(to + 4 * i, args->words, sizeof(args->words));
}

static void run_copy(const void *argument)
{
    const struct cb_cuda_stream *args = argument;
    memcpy(args->to, args->from, 16 * args->vectors);
}

static void run_triad_float32(const void *argument)
{
    const struct cb_cuda_stream *args = argument;
    const float *from = args->from, *scaled = args->scaled, scalar = (float)args->scalar;
    float *to = args->to;
    for (uint64_t i = 0; i < 4 * args->vectors; i++)
        to[i] = from[i] + scalar * scaled[i];
}

static void run_triad_float64(const void *argument)
{
    const struct cb_cuda_stream *args = argument;
    const double *from = args->from, *scaled = args->scaled;
    double *to = args->to;
    for (uint64_t i = 0; i < 2 * args->vectors; i++)
        to[i] = from[i] + args->scalar * scaled[i];
}

static double bytes_of_one(const void *argument)
{
    return 16 * (double)((const struct cb_cuda_stream *)argument)->vectors;
}

static double bytes_of_two(const void *argument)
{
    return 2 * bytes_of_one(argument);
}

static double bytes_of_three(const void *argument)
{
    return 3 * bytes_of_one(argument);
}

static void run_series_fill(const void *argument)
{
    const struct cb_cuda_series *args = argument;
    size_t bytes = element_bytes(args->dtype);
    for (uint64_t i = 0; i < args->count; i++) {
        double value = args->blank ? (double)NAN : cb_cuda_series_element(i, args->array);
        store_bits(args->data, bytes, i, encode(value, args->dtype));
    }
}

static void run_series_check(const void *argument)
{
    const struct cb_cuda_series *args = argument;
    for (uint64_t i = 0; i < args->count; i++) {
        double expected = args->constant;
        if (args->plus_first)
            expected += cb_cuda_series_element(i, 1);
        if (args->plus_scaled)
            expected += args->scalar * cb_cuda_series_element(i, 2);
        *args->wrong += !(load(args->data, args->dtype, i) == expected); /* NaN is wrong */
    }
}

static void run_series_sum(const void *argument)
{
    const struct cb_cuda_series *args = argument;
    for (uint64_t i = 0; i < args->count; i++) {
        uint64_t bits = encode(cb_cuda_series_element(i, 0), args->dtype);
        args->sums[0] += (uint32_t)bits + (uint32_t)(bits >> 32);
    }
}

/* ---- GEMM ---- */

/* Narrow types are rounded from float32, as the device does. */
static void run_matrix_fill(const void *argument)
{
    const struct cb_cuda_matrix_fill *args = argument;
    for (uint64_t i = 0; i < args->count; i++) {
        double value = cb_cuda_matrix_element(args->key, i);
        if (args->dtype != CB_DTYPE_FLOAT64)
            value = (double)(float)value;
        store_bits(args->data, element_bytes(args->dtype), i, encode(value, args->dtype));
    }
}

static void run_project(const void *argument)
{
    const struct cb_cuda_project *args = argument;
    memset(args->z, 0, CB_CUDA_VECTORS * args->order * sizeof(double));
    for (uint64_t i = 0; i < args->order; i++)
        for (uint64_t k = 0; k < args->order; k++) {
            double a = load(args->a, args->dtype, i * args->order + k);
            for (uint32_t v = 0; v < CB_CUDA_VECTORS; v++)
                args->z[v * args->order + k] += cb_cuda_sign(v, i) * a;
        }
}

static void run_check_rows(const void *argument)
{
    const struct cb_cuda_check_rows *args = argument;
    const uint64_t order = args->order;
    for (uint64_t j = 0; j < order; j++) {
        double difference[CB_CUDA_VECTORS] = {0};
        uint64_t digest = 0;
        bool wrong = false;
        for (uint64_t i = 0; i < order; i++) {
            uint64_t bits = load_bits(args->dt, element_bytes(args->out_dtype), j * order + i);
            double d = decode(bits, args->out_dtype);
            double b = load(args->bt, args->dtype, j * order + i);
            digest += cb_cuda_digest_term(bits, i);
            for (uint32_t v = 0; v < CB_CUDA_VECTORS; v++)
                difference[v] += cb_cuda_sign(v, i) * d - args->z[v * order + i] * b;
        }
        for (int v = 0; v < CB_CUDA_VECTORS; v++)
            wrong = wrong || !(fabs(difference[v]) <= args->tolerance);
        if (!args->known)
            args->digest[j] = digest;
        else
            wrong = wrong || args->digest[j] != digest;
        *args->wrong += wrong;
    }
}

static void run_check_places(const void *argument)
{
    const struct cb_cuda_check_places *args = argument;
    const uint64_t order = args->order;
    for (uint64_t p = 0; p < args->count; p++) {
        uint64_t i = cb_pattern_low(0x1b873593u, p) % order;
        uint64_t j = cb_pattern_low(0xcc9e2d51u, p) % order;
        double sum = 0;
        for (uint64_t k = 0; k < order; k++)
            sum += load(args->a, args->dtype, i * order + k) *
                   load(args->bt, args->dtype, j * order + k);
        double d = load(args->dt, args->out_dtype, j * order + i);
        *args->wrong += !(fabs(sum - d) <= args->tolerance);
    }
}

/* ---- the table ---- */

#define READ(name)                                                                                 \
    {                                                                                              \
        "cb_cuda_k_" #name, sizeof(struct cb_cuda_stream), run_read, bytes_of_one, NULL,           \
            reads_same, add_read_sum                                                               \
    }
#define STREAM(name, run, bytes)                                                                   \
    {                                                                                              \
        "cb_cuda_k_" #name, sizeof(struct cb_cuda_stream), run, bytes, replaces, NULL, NULL        \
    }
#define CHECK(name, args)                                                                          \
    {                                                                                              \
        "cb_cuda_k_" #name, sizeof(struct args), run_##name, NULL, NULL, NULL, NULL                \
    }

static const struct simgpu_kernel table[] = {
    READ(read_stride4),
    READ(read_stride8),
    READ(read_tile4),
    READ(read_tile8),
    READ(read_bulk),
    STREAM(write_stride4, run_write, bytes_of_one),
    STREAM(write_tile4, run_write, bytes_of_one),
    STREAM(write_tile8, run_write, bytes_of_one),
    STREAM(write_bulk, run_write, bytes_of_one),
    STREAM(copy_stride4, run_copy, bytes_of_two),
    STREAM(copy_stride8, run_copy, bytes_of_two),
    STREAM(copy_tile4, run_copy, bytes_of_two),
    STREAM(copy_tile8, run_copy, bytes_of_two),
    STREAM(copy_bulk, run_copy, bytes_of_two),
    STREAM(triad_float32_stride4, run_triad_float32, bytes_of_three),
    STREAM(triad_float32_tile2, run_triad_float32, bytes_of_three),
    STREAM(triad_float32_tile4, run_triad_float32, bytes_of_three),
    STREAM(triad_float64_stride4, run_triad_float64, bytes_of_three),
    STREAM(triad_float64_tile2, run_triad_float64, bytes_of_three),
    STREAM(triad_float64_tile4, run_triad_float64, bytes_of_three),
    CHECK(fill_moved, cb_cuda_moved),
    CHECK(check_moved, cb_cuda_moved),
    CHECK(fill_reduced, cb_cuda_reduced),
    CHECK(check_reduced, cb_cuda_reduced),
    CHECK(series_fill, cb_cuda_series),
    CHECK(series_check, cb_cuda_series),
    CHECK(series_sum, cb_cuda_series),
    CHECK(matrix_fill, cb_cuda_matrix_fill),
    CHECK(project, cb_cuda_project),
    CHECK(check_rows, cb_cuda_check_rows),
    CHECK(check_places, cb_cuda_check_places),
};

/* A kernel without a row would only fail when it is launched: count them here. */
#define COUNT(...) +1
_Static_assert(sizeof(table) / sizeof(table[0]) == 0 CB_CUDA_STREAM_KERNELS(COUNT)
                                                       CB_CUDA_CHECK_KERNELS(COUNT),
               "every kernel of kernels/cuda has a host routine");

__attribute__((constructor)) static void register_table(void)
{
    simgpu_kernels_register(table, sizeof(table) / sizeof(table[0]));
}

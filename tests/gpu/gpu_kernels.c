/* Every kernel of the CUDA set on the GPU at hand: verified, seen to be wrong when it did nothing,
 * and timed. Prints one row of tab-separated values each:
 *
 *   device   NAME  CAPABILITY  DRIVER  RUNTIME  SHEET
 *   pattern  NAME  WRONG
 *   kernel   NAME  DTYPE  VARIANT  RATE  UNIT  BYTES  WRONG  SMALL
 *   skipped  NAME  DTYPE  REASON
 *
 * SHEET is the memory rate of the data sheet in B/s, 0 when it is not known; SMALL 1 where a rate
 * is nothing to judge by.
 *
 * Usage: gpu_kernels [--memory BYTES] [--once]. --memory bounds what is allocated and with it the
 * size of every problem; --once runs each kernel without timing it (for compute-sanitizer). Exit: 0
 * all right, 1 something is wrong, 77 no GPU can be used here. */
#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/device.h"
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/kernels.h"
#include "reference/gpus.h"
#include "transport/pattern.h"

enum { FAILED = 1, NO_DEVICE = 77, SAMPLES = 7 };
/* A card that was idle runs faster for some tenths of a second than its power limit lets it. */
static const double sample_s = 0.05, warm_up_s = 0.5;

struct options {
    uint64_t memory_bytes;
    bool once;
};

static bool report(const char *what, int code, const struct cb_error *err)
{
    if (code)
        fprintf(stderr, "gpu_kernels: %s: %s (%s)\n", what, err->what, err->detail);
    return code != CB_OK;
}

/* ---- the data of checked steps: the device makes and expects the host's bits ---- */

#define COUNT 100003 /* odd: the ends are ragged */
#define FIRST (((uint64_t)1 << 32) - 1000)
#define SEED 5
#define RANKS 6

struct pattern_buffers {
    void *device;
    uint64_t *wrong; /* device */
    void *host, *back;
};

static uint64_t read_wrong(const struct pattern_buffers *b)
{
    uint64_t wrong = UINT64_MAX;
    if (cudaMemcpy(&wrong, b->wrong, sizeof(wrong), cudaMemcpyDeviceToHost) != cudaSuccess ||
        cudaMemset(b->wrong, 0, sizeof(wrong)) != cudaSuccess)
        return UINT64_MAX;
    return wrong;
}

/* Differences between the host's bytes and the device's. */
static uint64_t compare(const struct pattern_buffers *b, size_t bytes)
{
    if (cudaMemcpy(b->back, b->device, bytes, cudaMemcpyDeviceToHost) != cudaSuccess)
        return UINT64_MAX;
    uint64_t differences = 0;
    for (size_t i = 0; i < bytes; i++)
        differences += ((const unsigned char *)b->host)[i] != ((const unsigned char *)b->back)[i];
    return differences;
}

/* Flips one bit of the last element. */
static bool spoil(const struct pattern_buffers *b, size_t bytes)
{
    unsigned char byte = ((const unsigned char *)b->host)[bytes - 1] ^ 1;
    return cudaMemcpy((char *)b->device + bytes - 1, &byte, 1, cudaMemcpyHostToDevice) ==
           cudaSuccess;
}

static uint64_t check_moved(const struct pattern_buffers *b, size_t element_bytes)
{
    struct cb_error err;
    size_t bytes = COUNT * element_bytes;
    cb_pattern_fill_moved(b->host, COUNT, element_bytes, SEED, 3, FIRST);
    if (report("fill_moved",
               cb_cuda_fill_moved(b->device, COUNT, element_bytes, SEED, 3, FIRST, NULL, &err),
               &err))
        return UINT64_MAX;
    uint64_t wrong = compare(b, bytes);
    for (uint64_t expected = 0; expected < 2; expected++) {
        if (report("check_moved",
                   cb_cuda_check_moved(b->device, COUNT, element_bytes, SEED, 3, FIRST, b->wrong,
                                       NULL, &err),
                   &err))
            return UINT64_MAX;
        wrong += read_wrong(b) != expected;
        wrong += !spoil(b, bytes);
    }
    return wrong;
}

/* One rank's data as the device makes them, then the sum or maximum of all as the host adds them
 * up: with one rank that is what fill makes. */
static uint64_t check_reduced(const struct pattern_buffers *b, enum cb_dtype dtype, int maximum)
{
    struct cb_error err;
    size_t bytes = COUNT * cb_dtype_size_bytes(dtype);
    cb_pattern_fill_reduced(b->host, COUNT, dtype, SEED, 4, RANKS, FIRST);
    if (report("fill_reduced",
               cb_cuda_fill_reduced(b->device, COUNT, dtype, SEED, 4, RANKS, FIRST, NULL, &err),
               &err))
        return UINT64_MAX;
    uint64_t wrong = compare(b, bytes);
    cb_pattern_fill_reduced(b->host, COUNT, dtype, SEED, 0, 1, FIRST);
    wrong += cudaMemcpy(b->device, b->host, bytes, cudaMemcpyHostToDevice) != cudaSuccess;
    for (uint64_t expected = 0; expected < 2; expected++) {
        if (report("check_reduced",
                   cb_cuda_check_reduced(b->device, COUNT, dtype, maximum, SEED, 1, FIRST, b->wrong,
                                         NULL, &err),
                   &err))
            return UINT64_MAX;
        wrong += read_wrong(b) != expected;
        wrong += !spoil(b, bytes);
    }
    return wrong;
}

static bool check_patterns(void)
{
    static const enum cb_dtype dtypes[] = {
        CB_DTYPE_FLOAT32,  CB_DTYPE_FLOAT64,     CB_DTYPE_INT32,      CB_DTYPE_FLOAT16,
        CB_DTYPE_BFLOAT16, CB_DTYPE_FLOAT8_E4M3, CB_DTYPE_FLOAT8_E5M2};
    struct pattern_buffers b = {.host = malloc(8 * COUNT), .back = malloc(8 * COUNT)};
    bool all_right = false;
    if (!b.host || !b.back || cudaMalloc(&b.device, 8 * COUNT) != cudaSuccess ||
        cudaMalloc((void **)&b.wrong, sizeof(*b.wrong)) != cudaSuccess ||
        cudaMemset(b.wrong, 0, sizeof(*b.wrong)) != cudaSuccess)
        goto free_buffers;
    all_right = true;
    for (size_t bytes = 1; bytes <= 8; bytes *= 2) {
        uint64_t wrong = check_moved(&b, bytes);
        printf("pattern\tmoved %zu bytes\t%" PRIu64 "\n", bytes, wrong);
        all_right = all_right && wrong == 0;
    }
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++)
        for (int maximum = 0; maximum < 2; maximum++) {
            uint64_t wrong = check_reduced(&b, dtypes[i], maximum);
            printf("pattern\treduced %s %s\t%" PRIu64 "\n", cb_dtype_name(dtypes[i]),
                   maximum ? "max" : "sum", wrong);
            all_right = all_right && wrong == 0;
        }

free_buffers:
    cudaFree(b.wrong);
    cudaFree(b.device);
    free(b.back);
    free(b.host);
    return all_right;
}

/* ---- kernels ---- */

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int count_operations(double wanted_s, double operation_s)
{
    return operation_s > 0 && operation_s < wanted_s ? (int)(wanted_s / operation_s) : 1;
}

/* The median of a few samples, in seconds per operation. */
static int time_kernel(struct cb_kernels *set, double *operation_s, struct cb_error *err)
{
    const struct cb_kernel_ops *ops = cb_kernels_cuda();
    double samples_s[SAMPLES], elapsed_s = 0;
    int rc = ops->run(set, 1, &elapsed_s, err);
    int operations = count_operations(sample_s, elapsed_s);
    if (!rc)
        rc = ops->run(set, count_operations(warm_up_s, elapsed_s), &elapsed_s, err);
    for (int i = 0; !rc && i < SAMPLES; i++) {
        rc = ops->run(set, operations, &samples_s[i], err);
        samples_s[i] /= operations;
    }
    if (rc)
        return rc;
    qsort(samples_s, SAMPLES, sizeof(samples_s[0]), compare_double);
    *operation_s = samples_s[SAMPLES / 2];
    return CB_OK;
}

/* Right after an operation; wrong when none was done since the last look, which blanks the result
 * (read leaves none: it is right about having read nothing). */
static bool try_kernel(struct cb_kernels *set, enum cb_kernel kernel, enum cb_dtype dtype,
                       const struct options *options)
{
    const struct cb_kernel_ops *ops = cb_kernels_cuda();
    struct cb_kernel_work work;
    struct cb_error err;
    uint64_t wrong = 0, wrong_idle = 0, wrong_after = 0;
    double operation_s = 0;
    char reason[256];
    cb_error_clear(&err);
    if (!ops->supports(set, kernel, dtype, reason, sizeof(reason))) {
        printf("skipped\t%s\t%s\t%s\n", cb_kernel_name(kernel), cb_dtype_name(dtype), reason);
        return true;
    }
    int rc = ops->prepare(set, kernel, dtype, &work, &err);
    if (!rc)
        rc = ops->run(set, 2, &operation_s, &err);
    if (!rc)
        rc = ops->verify(set, &wrong, &err);
    if (!rc)
        rc = ops->verify(set, &wrong_idle, &err);
    if (!rc && !options->once)
        rc = time_kernel(set, &operation_s, &err);
    if (!rc && options->once)
        rc = ops->run(set, 1, &operation_s, &err);
    if (!rc)
        rc = ops->verify(set, &wrong_after, &err);
    ops->release(set);
    if (report(cb_kernel_name(kernel), rc, &err))
        return false;
    wrong += wrong_after;
    printf("kernel\t%s\t%s\t%s\t%.6g\t%s\t%" PRIu64 "\t%" PRIu64 "\t%d\n", cb_kernel_name(kernel),
           cb_dtype_name(dtype), work.variant,
           (work.flops > 0 ? work.flops : work.bytes) / operation_s,
           work.flops > 0 ? "flop/s" : "B/s", work.size_bytes, wrong, work.small);
    fflush(stdout);
    if (kernel != CB_KERNEL_READ && wrong_idle == 0) {
        fprintf(stderr, "gpu_kernels: %s %s: a result that was never computed passed\n",
                cb_kernel_name(kernel), cb_dtype_name(dtype));
        return false;
    }
    return wrong == 0;
}

static bool check_kernels(const struct cb_device *device, const struct options *options)
{
    static const struct {
        enum cb_kernel kernel;
        enum cb_dtype dtype;
    } rows[] = {
        {CB_KERNEL_READ, CB_DTYPE_FLOAT32},     {CB_KERNEL_READ, CB_DTYPE_FLOAT64},
        {CB_KERNEL_WRITE, CB_DTYPE_FLOAT32},    {CB_KERNEL_WRITE, CB_DTYPE_FLOAT64},
        {CB_KERNEL_COPY, CB_DTYPE_FLOAT32},     {CB_KERNEL_TRIAD, CB_DTYPE_FLOAT32},
        {CB_KERNEL_TRIAD, CB_DTYPE_FLOAT64},    {CB_KERNEL_H2D, CB_DTYPE_FLOAT32},
        {CB_KERNEL_D2H, CB_DTYPE_FLOAT32},      {CB_KERNEL_H2D_D2H, CB_DTYPE_FLOAT32},
        {CB_KERNEL_PEER, CB_DTYPE_FLOAT32},     {CB_KERNEL_GEMM, CB_DTYPE_FLOAT64},
        {CB_KERNEL_GEMM, CB_DTYPE_FLOAT32},     {CB_KERNEL_GEMM, CB_DTYPE_TF32},
        {CB_KERNEL_GEMM, CB_DTYPE_FLOAT16},     {CB_KERNEL_GEMM, CB_DTYPE_BFLOAT16},
        {CB_KERNEL_GEMM, CB_DTYPE_FLOAT8_E4M3},
    };
    struct cb_kernels_config config = {
        .device = device->index,
        .peer_device = (device->index + 1) % device->visible,
        .memory_bytes = options->memory_bytes,
    };
    struct cb_kernels *set = NULL;
    struct cb_error err;
    bool all_right = true;
    cb_error_clear(&err);
    if (report("open", cb_kernels_cuda()->open(&config, &set, &err), &err))
        return false;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        all_right = try_kernel(set, rows[i].kernel, rows[i].dtype, options) && all_right;
    cb_kernels_cuda()->close(set);
    return all_right;
}

static bool parse_options(int argc, char **argv, struct options *options)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--once") == 0)
            options->once = true;
        else if (strcmp(argv[i], "--memory") == 0 && i + 1 < argc)
            options->memory_bytes = strtoull(argv[++i], NULL, 10);
        else
            return false;
    }
    return true;
}

/* A simulated card is called after the one whose figures it has. */
static double find_sheet_rate(const struct cb_device *device)
{
    static const char prefix[] = "Simulated ";
    bool has_prefix = strncmp(device->name, prefix, sizeof(prefix) - 1) == 0;
    const struct cb_gpu_reference *reference =
        cb_gpu_reference_find(device->name + (has_prefix ? sizeof(prefix) - 1 : 0));
    return reference && reference->memory_bytes_per_s > 0 ? reference->memory_bytes_per_s : 0;
}

int main(int argc, char **argv)
{
    struct options options = {0};
    struct cb_device_probe probe;
    struct cb_device device;
    struct cb_error err;
    if (!parse_options(argc, argv, &options)) {
        fprintf(stderr, "usage: gpu_kernels [--memory BYTES] [--once]\n");
        return 2;
    }
    cb_error_clear(&err);
    cb_device_probe(&probe);
    if (probe.count == 0) {
        fprintf(stderr, "gpu_kernels: %s\n", probe.reason);
        return NO_DEVICE;
    }
    if (report("bind", cb_device_bind(0, &device, &err), &err))
        return FAILED;
    printf("device\t%s\t%d.%d\t%d\t%d\t%.6g\n", device.name, device.compute_major,
           device.compute_minor, device.driver_version, device.runtime_version,
           find_sheet_rate(&device));
    fflush(stdout);
    bool patterns_right = check_patterns();
    bool kernels_right = check_kernels(&device, &options);
    return patterns_right && kernels_right ? 0 : FAILED;
}

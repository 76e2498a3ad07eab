/* Memory kernels. Every array is cut into one chunk per thread, and the thread that uses a chunk
 * was the first to touch it, so that it lies in that thread's NUMA node. */
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/sort.h"
#include "kernels/host/internal.h"

#define MIN_ARRAY_BYTES ((uint64_t)8 << 20)
/* When hwloc sees no cache (some virtual machines): what one socket commonly has. */
#define ASSUMED_CACHE_BYTES ((uint64_t)64 << 20)

/* How often each way to store is tried. */
#define TRIALS 5

/* The data: whole numbers from -510 to 510 that repeat after 1021 elements, a prime, so that a
 * displaced vector, cache line or page shows. Any partial sum over them, however it strides, is
 * below 511 x 510 / 2, so that even 32 of them added up are exact in float32 (below 2^24), as is
 * each element of triad (below 510 x 1022). */
#define PERIOD 1021

static double element(size_t i, int array)
{
    return (double)((i + 331 * (size_t)array) % PERIOD) - (PERIOD - 1) / 2.0;
}

/* Changes with every operation: what an earlier one left does not pass for the last one's. */
static double scalar(uint64_t round)
{
    return 1 + (double)(round % PERIOD);
}

static int array_count(enum cb_kernel kernel)
{
    static const int counts[CB_KERNEL_COUNT] = {
        [CB_KERNEL_READ] = 1, [CB_KERNEL_WRITE] = 1, [CB_KERNEL_COPY] = 2, [CB_KERNEL_TRIAD] = 3};
    return counts[kernel];
}

size_t cb_stream_array_bytes(const struct cb_kernels *set, int arrays, const char **note)
{
    uint64_t unit_bytes = CB_STREAM_GRAIN_BYTES * (uint64_t)set->team.threads;
    bool known = set->last_level_cache_bytes > 0;
    uint64_t cache_bytes = known ? set->last_level_cache_bytes : ASSUMED_CACHE_BYTES;
    uint64_t wanted_bytes = 4 * cache_bytes / (uint64_t)set->local_ranks;
    if (wanted_bytes < MIN_ARRAY_BYTES)
        wanted_bytes = MIN_ARRAY_BYTES;
    uint64_t size_bytes = (wanted_bytes + unit_bytes - 1) / unit_bytes * unit_bytes;
    uint64_t limit_bytes = set->memory_bytes / (uint64_t)arrays / unit_bytes * unit_bytes;
    if (set->memory_bytes > 0 && size_bytes > limit_bytes)
        size_bytes = limit_bytes;
    *note = size_bytes < wanted_bytes ? ", under 4x cache" : known ? "" : ", cache assumed";
    return size_bytes;
}

static struct cb_stream_chunk chunk_of(const struct cb_kernels *set, int thread)
{
    char *arrays[CB_HOST_BUFFERS] = {NULL};
    for (int i = 0; i < array_count(set->kernel); i++)
        arrays[i] = (char *)set->buffers[i] + (size_t)thread * set->stream.chunk_bytes;
    bool writes = set->kernel != CB_KERNEL_READ;
    return (struct cb_stream_chunk){
        .to = writes ? arrays[0] : NULL,
        .from = writes ? arrays[1] : arrays[0],
        .scaled = arrays[2],
        .scalar = scalar(set->stream.rounds),
        .size_bytes = set->stream.chunk_bytes,
    };
}

static void operate(struct cb_kernels *set, cb_stream_loop *loop)
{
    set->stream.rounds++;
#pragma omp parallel num_threads(set->team.threads)
    {
        int thread = omp_get_thread_num();
        struct cb_stream_chunk chunk = chunk_of(set, thread);
        loop(&chunk);
        set->stream.sums[thread] = chunk.sum;
    }
}

static void stream_operate(struct cb_kernels *set)
{
    operate(set, set->stream.loop);
}

/* Fills the arrays: data where a kernel reads, NaN where it has to write. */
static void fill(struct cb_kernels *set)
{
    size_t count = set->stream.chunk_bytes / cb_dtype_size_bytes(set->dtype);
#pragma omp parallel num_threads(set->team.threads)
    {
        size_t first = (size_t)omp_get_thread_num() * count;
        for (int array = 0; array < array_count(set->kernel); array++) {
            bool written = array == 0 && set->kernel != CB_KERNEL_READ;
            for (size_t i = first; i < first + count; i++)
                cb_host_set(set->buffers[array], set->dtype, i, written ? NAN : element(i, array));
        }
    }
}

/* Whether the non-temporal loop takes less time than the plain one here: the medians of a few
 * operations each, in turns, so that a disturbance meets both. */
static bool nontemporal_pays(struct cb_kernels *set, cb_stream_loop *plain,
                             cb_stream_loop *nontemporal)
{
    cb_stream_loop *const loops[2] = {plain, nontemporal};
    double times_s[2][TRIALS];
    for (int trial = -1; trial < TRIALS; trial++) /* the first warms up */
        for (int way = 0; way < 2; way++) {
            double start_s = cb_clock_now_s();
            operate(set, loops[way]);
            if (trial >= 0)
                times_s[way][trial] = cb_clock_now_s() - start_s;
        }
    for (int way = 0; way < 2; way++)
        cb_sort_doubles(times_s[way], TRIALS);
    return times_s[1][TRIALS / 2] < times_s[0][TRIALS / 2];
}

static int stream_prepare(struct cb_kernels *set, struct cb_kernel_work *work, struct cb_error *err)
{
    const char *note;
    int arrays = array_count(set->kernel);
    size_t array_bytes = cb_stream_array_bytes(set, arrays, &note);
    if (array_bytes == 0)
        return cb_fail(err, CB_E_MEMORY,
                       "%" PRIu64 " bytes do not hold the %d arrays of the %s kernel",
                       set->memory_bytes, arrays, cb_kernel_name(set->kernel));
    set->stream.chunk_bytes = array_bytes / (size_t)set->team.threads;
    set->stream.rounds = 0;
    set->stream.sums = calloc((size_t)set->team.threads, sizeof(*set->stream.sums));
    if (!set->stream.sums)
        return cb_fail(err, CB_E_MEMORY, "no memory for the sums of %d threads", set->team.threads);
    int rc = cb_host_allocate(set, arrays, array_bytes, err);
    if (rc)
        return rc;
    fill(set);

    cb_stream_loop *plain = cb_stream_plain_loop(set->kernel, set->dtype);
    cb_stream_loop *nontemporal = cb_stream_nontemporal_loop(set->kernel, set->dtype);
    bool past_caches = nontemporal && nontemporal_pays(set, plain, nontemporal);
    set->stream.loop = past_caches ? nontemporal : plain;

    work->bytes = (double)arrays * (double)array_bytes;
    work->size_bytes = (uint64_t)arrays * array_bytes;
    work->threads = set->team.threads;
    snprintf(work->variant, sizeof(work->variant), "%s%s", past_caches ? "non-temporal" : "plain",
             note);
    return 0;
}

/* What element i of the written array must be. */
static double expected(const struct cb_kernels *set, size_t i)
{
    switch (set->kernel) {
    case CB_KERNEL_WRITE:
        return scalar(set->stream.rounds);
    case CB_KERNEL_COPY:
        return element(i, 1);
    default:
        return element(i, 1) + scalar(set->stream.rounds) * element(i, 2);
    }
}

static uint64_t stream_verify(const struct cb_kernels *set)
{
    size_t count = set->stream.chunk_bytes / cb_dtype_size_bytes(set->dtype);
    uint64_t wrong = 0;
#pragma omp parallel num_threads(set->team.threads) reduction(+ : wrong)
    {
        int thread = omp_get_thread_num();
        size_t first = (size_t)thread * count;
        if (set->kernel == CB_KERNEL_READ) {
            double sum = 0;
            for (size_t i = first; i < first + count; i++)
                sum += element(i, 0);
            wrong += sum != set->stream.sums[thread];
        } else {
            for (size_t i = first; i < first + count; i++)
                wrong += cb_host_get(set->buffers[0], set->dtype, i) != expected(set, i);
        }
    }
    return wrong;
}

static void stream_release(struct cb_kernels *set)
{
    free(set->stream.sums);
    set->stream.sums = NULL;
}

const struct cb_host_family cb_host_stream = {
    .prepare = stream_prepare,
    .operate = stream_operate,
    .verify = stream_verify,
    .release = stream_release,
};

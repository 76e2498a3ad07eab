#define _GNU_SOURCE /* sched_getaffinity */
#include "cb_test.h"

#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/host/internal.h"

#define MIB ((uint64_t)1 << 20)
#define HOST_KERNELS CB_KERNEL_H2D /* the first that only a GPU has */

/* AddressSanitizer asks this program: an allocation it cannot make is NULL, as without it. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static const enum cb_dtype dtypes[] = {CB_DTYPE_FLOAT32, CB_DTYPE_FLOAT64};

static cpu_set_t own_mask(void)
{
    cpu_set_t mask;
    assert_int_equal(sched_getaffinity(0, sizeof(mask), &mask), 0);
    return mask;
}

/* The masks of both threads of a team, whatever OMP_DYNAMIC says. */
static void team_masks(cpu_set_t masks[2])
{
    int dynamic = omp_get_dynamic();
    omp_set_dynamic(0);
#pragma omp parallel num_threads(2)
    masks[omp_get_thread_num()] = own_mask();
    omp_set_dynamic(dynamic);
}

/* Two CPUs that this process may use: the same one twice where there is only one. */
static void usable_cpus(int cpus[2])
{
    cpu_set_t mask = own_mask();
    int found = 0;
    for (size_t cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
        if (CPU_ISSET(cpu, &mask))
            cpus[found++] = (int)cpu;
    assert_true(found > 0);
    if (found == 1)
        cpus[1] = cpus[0];
}

/* Small caches make small arrays: 8 MiB each. */
static struct cb_kernels *open_set(const int *cpus, size_t cpu_count)
{
    struct cb_kernels_config config = {.cpus = cpus,
                                       .cpu_count = cpu_count,
                                       .last_level_cache_bytes = MIB,
                                       .memory_bytes = 64 * MIB,
                                       .local_ranks = 1};
    struct cb_kernels *set = NULL;
    struct cb_error err;
    assert_ok(cb_kernels_host()->open(&config, &set, &err), &err);
    assert_non_null(set);
    return set;
}

static struct cb_kernels *open_pair(void)
{
    int cpus[2];
    usable_cpus(cpus);
    return open_set(cpus, 2);
}

static struct cb_kernel_work prepare(struct cb_kernels *set, enum cb_kernel kernel,
                                     enum cb_dtype dtype)
{
    struct cb_kernel_work work;
    struct cb_error err;
    assert_ok(cb_kernels_host()->prepare(set, kernel, dtype, &work, &err), &err);
    return work;
}

static void run(struct cb_kernels *set, int operations)
{
    double elapsed_s = -1;
    struct cb_error err;
    assert_ok(cb_kernels_host()->run(set, operations, &elapsed_s, &err), &err);
    assert_true(elapsed_s > 0);
}

static uint64_t count_wrong(struct cb_kernels *set)
{
    uint64_t wrong = UINT64_MAX;
    struct cb_error err;
    assert_ok(cb_kernels_host()->verify(set, &wrong, &err), &err);
    return wrong;
}

/* Flips the lowest bit of element i: the smallest fault there is. */
static void flip(void *array, enum cb_dtype dtype, size_t i)
{
    ((unsigned char *)array)[i * cb_dtype_size_bytes(dtype)] ^= 1;
}

static void test_every_kernel_computes_what_arithmetic_says(void **state)
{
    (void)state;
    struct cb_kernels *set = open_pair();
    for (int kernel = 0; kernel < HOST_KERNELS; kernel++)
        for (int d = 0; d < 2; d++) {
            prepare(set, (enum cb_kernel)kernel, dtypes[d]);
            run(set, 1);
            assert_int_equal(count_wrong(set), 0);
            run(set, 3);
            assert_int_equal(count_wrong(set), 0);
            cb_kernels_host()->release(set);
        }
    cb_kernels_host()->close(set);
}

/* Before the first operation nothing is right yet: a kernel that did nothing would be seen. */
static void test_nothing_is_right_before_the_first_operation(void **state)
{
    (void)state;
    struct cb_kernels *set = open_pair();
    prepare(set, CB_KERNEL_GEMM, CB_DTYPE_FLOAT32);
    for (size_t i = 0; i < set->gemm.order * set->gemm.order; i++)
        cb_host_set(set->buffers[0], CB_DTYPE_FLOAT32, i, 0);
    assert_true(count_wrong(set) >= set->gemm.order / 2);
    prepare(set, CB_KERNEL_COPY, CB_DTYPE_FLOAT64);
    cb_host_set(set->buffers[0], CB_DTYPE_FLOAT64, 7, NAN);
    assert_int_equal(count_wrong(set), 1); /* the trials of prepare have written the others */
    cb_kernels_host()->close(set);
}

static void test_one_wrong_element_is_found_wherever_it_is(void **state)
{
    (void)state;
    static const enum cb_kernel writing[] = {CB_KERNEL_WRITE, CB_KERNEL_COPY, CB_KERNEL_TRIAD};
    struct cb_kernels *set = open_pair();
    for (size_t k = 0; k < sizeof(writing) / sizeof(writing[0]); k++)
        for (int d = 0; d < 2; d++) {
            struct cb_kernel_work work = prepare(set, writing[k], dtypes[d]);
            size_t arrays = k + 1;
            size_t count = work.size_bytes / arrays / cb_dtype_size_bytes(dtypes[d]);
            run(set, 1);
            flip(set->buffers[0], dtypes[d], 0);
            assert_int_equal(count_wrong(set), 1);
            flip(set->buffers[0], dtypes[d], count - 1);
            assert_int_equal(count_wrong(set), 2);
            cb_host_set(set->buffers[0], dtypes[d], count / 2 - 1, NAN);
            assert_int_equal(count_wrong(set), 3);
            run(set, 1);
            assert_int_equal(count_wrong(set), 0);
        }
    cb_kernels_host()->close(set);
}

static void test_one_wrong_element_of_a_product_is_found(void **state)
{
    (void)state;
    struct cb_kernels *set = open_pair();
    for (int d = 0; d < 2; d++) {
        prepare(set, CB_KERNEL_GEMM, dtypes[d]);
        void *c = set->buffers[0];
        size_t order = set->gemm.order;
        run(set, 1);
        flip(c, dtypes[d], 0);
        assert_int_equal(count_wrong(set), 1);
        run(set, 1);
        size_t last = order * order - 1;
        cb_host_set(c, dtypes[d], last, cb_host_get(c, dtypes[d], last) + 1);
        assert_int_equal(count_wrong(set), 1);
        cb_host_set(c, dtypes[d], 5 * order + 3, INFINITY);
        cb_host_set(c, dtypes[d], 6 * order + 3, NAN);
        assert_int_equal(count_wrong(set), 3);
        /* Two errors of a row that cancel in every plain sum over it. */
        run(set, 1);
        cb_host_set(c, dtypes[d], 10, cb_host_get(c, dtypes[d], 10) + 1);
        cb_host_set(c, dtypes[d], 11, cb_host_get(c, dtypes[d], 11) - 1);
        assert_int_equal(count_wrong(set), 1);
    }
    cb_kernels_host()->close(set);
}

static void test_read_sees_every_element(void **state)
{
    (void)state;
    struct cb_kernels *set = open_pair();
    for (int d = 0; d < 2; d++) {
        struct cb_kernel_work work = prepare(set, CB_KERNEL_READ, dtypes[d]);
        size_t count = work.size_bytes / cb_dtype_size_bytes(dtypes[d]);
        const size_t places[] = {0, 1, 77, count / 2 - 1, count - 1};
        for (size_t p = 0; p < sizeof(places) / sizeof(places[0]); p++) {
            double value = cb_host_get(set->buffers[0], dtypes[d], places[p]);
            cb_host_set(set->buffers[0], dtypes[d], places[p], value + 1);
            run(set, 1);
            assert_int_equal(count_wrong(set), 1); /* the sum of one of the two threads */
            cb_host_set(set->buffers[0], dtypes[d], places[p], value);
        }
        run(set, 1);
        assert_int_equal(count_wrong(set), 0);
    }
    cb_kernels_host()->close(set);
}

/* What an earlier operation left does not pass for the last one's. */
static void test_a_stale_element_is_wrong(void **state)
{
    (void)state;
    static const enum cb_kernel changing[] = {CB_KERNEL_WRITE, CB_KERNEL_TRIAD};
    struct cb_kernels *set = open_pair();
    for (int k = 0; k < 2; k++) {
        prepare(set, changing[k], CB_DTYPE_FLOAT64);
        run(set, 1);
        double stale = cb_host_get(set->buffers[0], CB_DTYPE_FLOAT64, 1000);
        run(set, 1);
        cb_host_set(set->buffers[0], CB_DTYPE_FLOAT64, 1000, stale);
        assert_int_equal(count_wrong(set), 1);
    }
    cb_kernels_host()->close(set);
}

/* Elements of the product against the sum over their row and column. */
static void test_gemm_multiplies_row_by_column(void **state)
{
    (void)state;
    struct cb_kernels *set = open_pair();
    for (int d = 0; d < 2; d++) {
        prepare(set, CB_KERNEL_GEMM, dtypes[d]);
        run(set, 1);
        size_t n = set->gemm.order;
        for (size_t i = 0; i < n; i += n / 7)
            for (size_t j = 1; j < n; j += n / 5) {
                double sum = 0;
                for (size_t k = 0; k < n; k++)
                    sum += cb_host_get(set->buffers[1], dtypes[d], i * n + k) *
                           cb_host_get(set->buffers[2], dtypes[d], k * n + j);
                assert_near(cb_host_get(set->buffers[0], dtypes[d], i * n + j), sum, 0);
            }
    }
    cb_kernels_host()->close(set);
}

/* Bytes as STREAM counts them, 2 n^3 operations. 8 MiB arrays (the least), order 1024 x 2^(1/3)
 * rounded up to a multiple of 128. */
static void test_work_counts(void **state)
{
    (void)state;
    static const struct {
        enum cb_kernel kernel;
        double bytes, flops;
        uint64_t size_of_float32, size_of_float64;
    } rows[] = {
        {CB_KERNEL_READ, 8388608, 0, 8388608, 8388608},
        {CB_KERNEL_WRITE, 8388608, 0, 8388608, 8388608},
        {CB_KERNEL_COPY, 16777216, 0, 16777216, 16777216},
        {CB_KERNEL_TRIAD, 25165824, 0, 25165824, 25165824},
        {CB_KERNEL_GEMM, 0, 5582618624, 23789568, 47579136}, /* n = 1408 */
    };
    struct cb_kernels *set = open_pair();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int d = 0; d < 2; d++) {
            struct cb_kernel_work work = prepare(set, rows[i].kernel, dtypes[d]);
            assert_near(work.bytes, rows[i].bytes, 0);
            assert_near(work.flops, rows[i].flops, 0);
            assert_int_equal(work.size_bytes,
                             d ? rows[i].size_of_float64 : rows[i].size_of_float32);
            assert_int_equal(work.threads, 2);
            if (rows[i].kernel == CB_KERNEL_GEMM)
                assert_non_null(strstr(work.variant, ", n=1408"));
            else
                assert_true(!strcmp(work.variant, "plain") ||
                            !strcmp(work.variant, "non-temporal"));
        }
    cb_kernels_host()->close(set);
}

static void check_array(uint64_t cache_bytes, int local_ranks, uint64_t memory_bytes, int threads,
                        uint64_t array_bytes, const char *note)
{
    const char *actual_note = NULL;
    struct cb_kernels set = {.last_level_cache_bytes = cache_bytes,
                             .memory_bytes = memory_bytes,
                             .local_ranks = local_ranks,
                             .team.threads = threads};
    assert_int_equal(cb_stream_array_bytes(&set, 3, &actual_note), array_bytes);
    assert_string_equal(actual_note, note);
}

static void test_array_sizes_follow_caches_ranks_and_memory(void **state)
{
    (void)state;
    check_array(32 * MIB, 1, 0, 2, 128 * MIB, "");
    check_array(32 * MIB, 4, 0, 2, 32 * MIB, "");
    check_array(32 * MIB, 64, 0, 1, 8 * MIB, "");                          /* the least */
    check_array(32 * MIB, 1, 0, 3, 128 * MIB + 4096, "");                  /* 32768 pages in 3 */
    check_array(0, 1, 0, 2, 256 * MIB, ", cache assumed");                 /* 4 x 64 MiB */
    check_array(32 * MIB, 1, 384 * MIB, 2, 128 * MIB, "");                 /* just fits */
    check_array(32 * MIB, 1, 383 * MIB, 1, 133865472, ", under 4x cache"); /* 32682 pages */
    check_array(32 * MIB, 1, 3 * 8192, 2, 8192, ", under 4x cache");       /* one page each */
    check_array(32 * MIB, 1, 3 * 8192 - 1, 2, 0, ", under 4x cache");      /* none */
    check_array(0, 1, 3 * MIB, 1, MIB, ", under 4x cache");
}

static void test_gemm_order_follows_threads_and_memory(void **state)
{
    (void)state;
    assert_int_equal(cb_gemm_order(1, CB_DTYPE_FLOAT64, 0), 1024);
    assert_int_equal(cb_gemm_order(8, CB_DTYPE_FLOAT64, 0), 2048);
    assert_int_equal(cb_gemm_order(64, CB_DTYPE_FLOAT32, 0), 4096);
    /* 3 x 512^2 x 8 = 6291456, and two sets of eight vectors of 512 doubles: 65536. */
    assert_int_equal(cb_gemm_order(1, CB_DTYPE_FLOAT64, 6291456 + 65536), 512);
    assert_int_equal(cb_gemm_order(1, CB_DTYPE_FLOAT64, 6291456 + 65535), 384);
    assert_int_equal(cb_gemm_order(1, CB_DTYPE_FLOAT64, 1000), 0);
}

static void test_memory_limit_is_respected(void **state)
{
    (void)state;
    int cpus[2];
    struct cb_kernels *set = NULL;
    struct cb_error err;
    usable_cpus(cpus);
    struct cb_kernels_config config = {.cpus = cpus,
                                       .cpu_count = 2,
                                       .last_level_cache_bytes = 32 * MIB,
                                       .memory_bytes = 5 * MIB,
                                       .local_ranks = 1};
    assert_ok(cb_kernels_host()->open(&config, &set, &err), &err);
    for (int kernel = 0; kernel < HOST_KERNELS; kernel++) {
        struct cb_kernel_work work = prepare(set, (enum cb_kernel)kernel, CB_DTYPE_FLOAT64);
        assert_in_range(work.size_bytes, 3 * MIB, 5 * MIB);
        run(set, 1);
        assert_int_equal(count_wrong(set), 0);
        if (kernel != CB_KERNEL_GEMM)
            assert_non_null(strstr(work.variant, ", under 4x cache"));
    }
    cb_kernels_host()->close(set);
}

static void test_too_little_memory_is_an_error(void **state)
{
    (void)state;
    struct cb_kernels_config config = {.memory_bytes = 1000, .local_ranks = 1};
    struct cb_kernels *set = NULL;
    struct cb_error err;
    double elapsed_s;
    assert_ok(cb_kernels_host()->open(&config, &set, &err), &err);
    for (int kernel = 0; kernel < HOST_KERNELS; kernel++) {
        struct cb_kernel_work work = {.threads = 77};
        assert_int_equal(
            cb_kernels_host()->prepare(set, (enum cb_kernel)kernel, CB_DTYPE_FLOAT64, &work, &err),
            CB_E_MEMORY);
        assert_non_null(strstr(err.what, "1000 bytes"));
        assert_non_null(strstr(err.what, cb_kernel_name((enum cb_kernel)kernel)));
        assert_int_equal(work.threads, 77);
        assert_int_equal(cb_kernels_host()->run(set, 1, &elapsed_s, &err), CB_E_UNSUPPORTED);
    }
    cb_kernels_host()->close(set);
}

/* An allocation that the machine refuses: 2^60 bytes an array. */
static void test_refused_allocation_is_an_error(void **state)
{
    (void)state;
    struct cb_kernels_config config = {.last_level_cache_bytes = (uint64_t)1 << 58,
                                       .local_ranks = 1};
    struct cb_kernels *set = NULL;
    struct cb_kernel_work work;
    struct cb_error err;
    assert_ok(cb_kernels_host()->open(&config, &set, &err), &err);
    assert_int_equal(
        cb_kernels_host()->prepare(set, CB_KERNEL_TRIAD, CB_DTYPE_FLOAT64, &work, &err),
        CB_E_MEMORY);
    assert_non_null(strstr(err.what, "triad"));
    cb_kernels_host()->close(set);
}

static void test_other_types_are_refused_with_a_reason(void **state)
{
    (void)state;
    struct cb_kernels *set = open_set(NULL, 0);
    struct cb_kernel_work work;
    struct cb_error err;
    char reason[128] = "";
    assert_true(cb_kernels_host()->supports(set, CB_KERNEL_GEMM, CB_DTYPE_FLOAT32, NULL, 0));
    assert_false(cb_kernels_host()->supports(set, CB_KERNEL_GEMM, CB_DTYPE_BFLOAT16, reason,
                                             sizeof(reason)));
    assert_non_null(strstr(reason, "bfloat16"));
    assert_int_equal(cb_kernels_host()->prepare(set, CB_KERNEL_COPY, CB_DTYPE_INT32, &work, &err),
                     CB_E_UNSUPPORTED);
    cb_kernels_host()->close(set);
}

static void test_threads_are_pinned_while_prepared_and_put_back(void **state)
{
    (void)state;
    int cpus[2];
    usable_cpus(cpus);
    cpu_set_t before = own_mask(), team_before[2];
    team_masks(team_before);
    int max_threads = omp_get_max_threads(), dynamic = omp_get_dynamic();
    struct cb_kernels *set = open_set(cpus, 2);
    cpu_set_t opened = own_mask();
    assert_true(CPU_EQUAL(&before, &opened));
    for (int kernel = 0; kernel < HOST_KERNELS; kernel++) {
        prepare(set, (enum cb_kernel)kernel, CB_DTYPE_FLOAT64);
        run(set, 1);
        cpu_set_t during[2], after[2];
        team_masks(during);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(CPU_COUNT(&during[i]), 1);
            assert_true(CPU_ISSET((size_t)cpus[i], &during[i]));
        }
        cb_kernels_host()->release(set);
        team_masks(after);
        for (int i = 0; i < 2; i++)
            assert_true(CPU_EQUAL(&team_before[i], &after[i]));
        assert_int_equal(omp_get_max_threads(), max_threads);
        assert_int_equal(omp_get_dynamic(), dynamic);
    }
    prepare(set, CB_KERNEL_GEMM, CB_DTYPE_FLOAT32);
    cb_kernels_host()->close(set); /* still prepared */
    cpu_set_t closed = own_mask();
    assert_true(CPU_EQUAL(&before, &closed));
    assert_int_equal(omp_get_max_threads(), max_threads);
}

static void test_no_cpus_is_one_thread_left_where_it_is(void **state)
{
    (void)state;
    cpu_set_t before = own_mask();
    struct cb_kernels *set = open_set(NULL, 0);
    for (int kernel = 0; kernel < HOST_KERNELS; kernel++) {
        assert_int_equal(prepare(set, (enum cb_kernel)kernel, CB_DTYPE_FLOAT32).threads, 1);
        cpu_set_t during = own_mask();
        assert_true(CPU_EQUAL(&before, &during));
        run(set, 1);
        assert_int_equal(count_wrong(set), 0);
    }
    cb_kernels_host()->close(set);
}

static void test_more_threads_than_cores(void **state)
{
    (void)state;
    int two[2], cpus[7];
    usable_cpus(two);
    for (int i = 0; i < 7; i++)
        cpus[i] = two[i % 2];
    struct cb_kernels *set = open_set(cpus, 7);
    for (int kernel = 0; kernel < HOST_KERNELS; kernel++) {
        assert_int_equal(prepare(set, (enum cb_kernel)kernel, CB_DTYPE_FLOAT32).threads, 7);
        run(set, 1);
        assert_int_equal(count_wrong(set), 0);
    }
    cb_kernels_host()->close(set);
}

static void test_unusable_cpus_are_named(void **state)
{
    (void)state;
    static const int unusable[] = {-1, 8191, 8192, 1 << 30};
    cpu_set_t before = own_mask();
    for (size_t i = 0; i < sizeof(unusable) / sizeof(unusable[0]); i++) {
        int cpus[2];
        char name[32];
        usable_cpus(cpus);
        cpus[1] = unusable[i];
        struct cb_kernels_config config = {.cpus = cpus, .cpu_count = 2, .local_ranks = 1};
        struct cb_kernels *set = NULL;
        struct cb_error err;
        assert_int_equal(cb_kernels_host()->open(&config, &set, &err), CB_E_MEASURE);
        assert_null(set);
        snprintf(name, sizeof(name), "CPU %d", unusable[i]);
        assert_non_null(strstr(err.what, name));
        cpu_set_t after = own_mask();
        assert_true(CPU_EQUAL(&before, &after));
    }
}

static void test_sets_can_be_opened_again_and_prepared_again(void **state)
{
    (void)state;
    for (int time = 0; time < 2; time++) {
        struct cb_kernels *set = open_pair();
        cb_kernels_host()->release(set); /* nothing is prepared: nothing happens */
        prepare(set, CB_KERNEL_TRIAD, CB_DTYPE_FLOAT32);
        prepare(set, CB_KERNEL_GEMM, CB_DTYPE_FLOAT32);
        prepare(set, CB_KERNEL_READ, CB_DTYPE_FLOAT64);
        run(set, 1);
        assert_int_equal(count_wrong(set), 0);
        cb_kernels_host()->release(set);
        cb_kernels_host()->release(set);
        uint64_t wrong;
        struct cb_error err;
        assert_int_equal(cb_kernels_host()->verify(set, &wrong, &err), CB_E_UNSUPPORTED);
        cb_kernels_host()->close(set);
    }
    cb_kernels_host()->close(NULL);
}

/* One page through one loop, between two pages that must stay as they are. */
static void check_loop(cb_stream_loop *loop, enum cb_kernel kernel, enum cb_dtype dtype)
{
    size_t count = CB_STREAM_GRAIN_BYTES / cb_dtype_size_bytes(dtype);
    void *arrays[3];
    for (int a = 0; a < 3; a++) {
        assert_int_equal(posix_memalign(&arrays[a], 4096, 3 * CB_STREAM_GRAIN_BYTES), 0);
        for (size_t i = 0; i < 3 * count; i++)
            cb_host_set(arrays[a], dtype, i, (double)(i * (size_t)(a + 1)));
    }
    struct cb_stream_chunk chunk = {.to = (char *)arrays[0] + CB_STREAM_GRAIN_BYTES,
                                    .from = (char *)arrays[1] + CB_STREAM_GRAIN_BYTES,
                                    .scaled = (char *)arrays[2] + CB_STREAM_GRAIN_BYTES,
                                    .scalar = 10,
                                    .size_bytes = CB_STREAM_GRAIN_BYTES};
    loop(&chunk);
    double sum = 0;
    for (size_t i = 0; i < 3 * count; i++) {
        double x = (double)i, expected = x;
        if (i >= count && i < 2 * count) {
            sum += 2 * x;
            expected = kernel == CB_KERNEL_WRITE   ? 10
                       : kernel == CB_KERNEL_COPY  ? 2 * x
                       : kernel == CB_KERNEL_TRIAD ? 2 * x + 10 * 3 * x
                                                   : x;
        }
        assert_near(cb_host_get(arrays[0], dtype, i), expected, 0);
    }
    if (kernel == CB_KERNEL_READ)
        assert_near(chunk.sum, sum, 0);
    for (int a = 0; a < 3; a++)
        free(arrays[a]);
}

static void test_every_loop_covers_its_chunk_and_no_more(void **state)
{
    (void)state;
    for (int kernel = CB_KERNEL_READ; kernel < HOST_KERNELS; kernel++)
        for (int d = 0; d < 2; d++) {
            cb_stream_loop *plain = cb_stream_plain_loop((enum cb_kernel)kernel, dtypes[d]);
            cb_stream_loop *past = cb_stream_nontemporal_loop((enum cb_kernel)kernel, dtypes[d]);
            assert_non_null(plain);
            check_loop(plain, (enum cb_kernel)kernel, dtypes[d]);
            if (past)
                check_loop(past, (enum cb_kernel)kernel, dtypes[d]);
        }
    assert_null(cb_stream_nontemporal_loop(CB_KERNEL_READ, CB_DTYPE_FLOAT64));
}

static void test_library_says_what_it_is(void **state)
{
    (void)state;
    char text[128], small[6];
    assert_ptr_equal(cb_kernels_host_library(text, sizeof(text)), text);
    assert_int_equal(strncmp(text, "OpenBLAS ", 9), 0);
    assert_non_null(strstr(text, ", for "));
    assert_string_equal(cb_kernels_host_library(small, sizeof(small)), "OpenB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First, while every thread is still where the system put it. */
        cmocka_unit_test(test_threads_are_pinned_while_prepared_and_put_back),
        cmocka_unit_test(test_every_kernel_computes_what_arithmetic_says),
        cmocka_unit_test(test_nothing_is_right_before_the_first_operation),
        cmocka_unit_test(test_one_wrong_element_is_found_wherever_it_is),
        cmocka_unit_test(test_one_wrong_element_of_a_product_is_found),
        cmocka_unit_test(test_read_sees_every_element),
        cmocka_unit_test(test_a_stale_element_is_wrong),
        cmocka_unit_test(test_gemm_multiplies_row_by_column),
        cmocka_unit_test(test_work_counts),
        cmocka_unit_test(test_array_sizes_follow_caches_ranks_and_memory),
        cmocka_unit_test(test_gemm_order_follows_threads_and_memory),
        cmocka_unit_test(test_memory_limit_is_respected),
        cmocka_unit_test(test_too_little_memory_is_an_error),
        cmocka_unit_test(test_refused_allocation_is_an_error),
        cmocka_unit_test(test_other_types_are_refused_with_a_reason),
        cmocka_unit_test(test_no_cpus_is_one_thread_left_where_it_is),
        cmocka_unit_test(test_more_threads_than_cores),
        cmocka_unit_test(test_unusable_cpus_are_named),
        cmocka_unit_test(test_sets_can_be_opened_again_and_prepared_again),
        cmocka_unit_test(test_every_loop_covers_its_chunk_and_no_more),
        cmocka_unit_test(test_library_says_what_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

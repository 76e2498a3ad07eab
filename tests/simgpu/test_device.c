/* Every kernel of kernels/cuda, its very source, on data whose right result is known from
 * elsewhere: src/transport/pattern.c, small_float.h, plain loops of the tests. In every order of
 * threads, on ragged sizes, on right data and on spoiled data. Numbers are whole where sums may be
 * rounded differently, so that everything is compared bit by bit. */
#define _GNU_SOURCE
#include "test_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/kernels.h"
#include "simgpu.h"

/* ---- arrays ---- */

#define CANARY 0x5c
#define MOST_ARRAYS 16

static struct {
    struct array arrays[MOST_ARRAYS]; /* all that there are now */
    size_t count;
} live;

struct array array_make(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t used = (bytes + page) / page * page + page;
    struct array array = {.bytes = bytes, .mapped_bytes = used + page};
    array.mapped =
        mmap(NULL, array.mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(array.mapped != MAP_FAILED);
    assert_int_equal(mprotect(array.mapped + used, page, PROT_NONE), 0);
    memset(array.mapped, CANARY, used);
    array.before_bytes = used - bytes;
    array.data = array.mapped + array.before_bytes;
    assert_true(live.count < MOST_ARRAYS);
    live.arrays[live.count++] = array;
    return array;
}

void array_free(const struct array *array)
{
    for (size_t i = 0; i < array->before_bytes; i++)
        assert_int_equal(array->mapped[i], CANARY);
    for (size_t i = 0; i < live.count; i++)
        if (live.arrays[i].mapped == array->mapped)
            live.arrays[i--] = live.arrays[--live.count];
    munmap(array->mapped, array->mapped_bytes);
}

struct array wrong_make(void)
{
    struct array array = array_make(sizeof(uint64_t));
    memset(array.data, 0, array.bytes);
    return array;
}

struct array slots_make(void)
{
    struct array array = array_make(CB_CUDA_SUMS * sizeof(uint32_t));
    memset(array.data, 0, array.bytes);
    array.is_slots = live.arrays[live.count - 1].is_slots = true;
    return array;
}

uint64_t *wrong_of(const struct array *array)
{
    return (uint64_t *)(void *)array->data;
}

uint32_t *slots_of(const struct array *array)
{
    return (uint32_t *)(void *)array->data;
}

uint32_t total_of(const struct array *slots)
{
    uint32_t total = 0;
    for (size_t i = 0; i < CB_CUDA_SUMS; i++)
        total += slots_of(slots)[i];
    return total;
}

uint64_t get_bits(const void *data, size_t bytes, uint64_t i)
{
    uint64_t bits = 0;
    memcpy(&bits, (const char *)data + i * bytes, bytes);
    return bits;
}

void set_bits(void *data, size_t bytes, uint64_t i, uint64_t bits)
{
    memcpy((char *)data + i * bytes, &bits, bytes);
}

double get_float(const void *data, enum cb_dtype dtype, uint64_t i)
{
    return dtype == CB_DTYPE_FLOAT64 ? ((const double *)data)[i] : ((const float *)data)[i];
}

void set_float(void *data, enum cb_dtype dtype, uint64_t i, double value)
{
    if (dtype == CB_DTYPE_FLOAT64)
        ((double *)data)[i] = value;
    else
        ((float *)data)[i] = (float)value;
}

/* ---- running ---- */

const unsigned grids[GRIDS] = {1, 2, 3, 24};
const uint64_t element_counts[ELEMENT_COUNTS] = {0, 1, 31, 255, 256, 257, 1000, 5 * 256 + 13};

#define NAME_STREAM(name) #name,
#define NAME_CHECK(name, args) #name,
static const char *const kernel_names[] = {CB_CUDA_STREAM_KERNELS(NAME_STREAM)
                                               CB_CUDA_CHECK_KERNELS(NAME_CHECK)};
static bool was_run[COUNT(kernel_names)];

/* In place of the simulated runtime's: takes the routines of product_kernels.c. */
static struct {
    const struct simgpu_kernel *rows;
    size_t count;
} routines;

void simgpu_kernels_register(const struct simgpu_kernel *table, size_t count)
{
    routines.rows = table;
    routines.count = count;
}

static void run_routine(const char *name, const void *args)
{
    for (size_t i = 0; i < routines.count; i++)
        if (strcmp(routines.rows[i].name, name) == 0) {
            routines.rows[i].run(args);
            return;
        }
    fail_msg("%s has no routine in product_kernels.c", name);
}

static void *copy_of(const struct array *array)
{
    void *copy = malloc(array->bytes + 1);
    assert_non_null(copy);
    memcpy(copy, array->data, array->bytes);
    return copy;
}

static bool is_same(const struct array *array, const void *after)
{
    struct array other = *array;
    other.data = (unsigned char *)(uintptr_t)after;
    return array->is_slots ? total_of(array) == total_of(&other)
                           : memcmp(array->data, after, array->bytes) == 0;
}

void run(const char *name, const void *args, unsigned blocks, enum simgpu_order order)
{
    char full[64], message[256] = "";
    snprintf(full, sizeof(full), "cb_cuda_k_%s", name);
    const struct simgpu_device_kernel *kernel = simgpu_device_kernel_find(full);
    assert_non_null(kernel);
    void *before[MOST_ARRAYS], *after[MOST_ARRAYS];
    for (size_t i = 0; i < live.count; i++)
        before[i] = copy_of(&live.arrays[i]);

    bool bulk = strstr(name, "_bulk") != NULL;
    struct simgpu_grid grid = {blocks, CB_CUDA_BLOCK, order, bulk ? SIMGPU_FOLLOW : SIMGPU_SPOIL};
    if (simgpu_grid_run(kernel->run, args, &grid, message, sizeof(message)))
        fail_msg("%s in %u blocks, order %d: %s", name, blocks, (int)order, message);

    for (size_t i = 0; i < live.count; i++) {
        after[i] = copy_of(&live.arrays[i]);
        memcpy(live.arrays[i].data, before[i], live.arrays[i].bytes);
    }
    run_routine(full, args);
    for (size_t i = 0; i < live.count; i++) {
        if (!is_same(&live.arrays[i], after[i]))
            fail_msg("%s: the routine in product_kernels.c does otherwise", name);
        memcpy(live.arrays[i].data, after[i], live.arrays[i].bytes);
        free(before[i]);
        free(after[i]);
    }
    for (size_t i = 0; i < COUNT(kernel_names); i++)
        was_run[i] = was_run[i] || strcmp(kernel_names[i], name) == 0;
}

/* ---- all of them ---- */

static void every_kernel_was_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(kernel_names); i++)
        if (!was_run[i])
            fail_msg("%s was not run", kernel_names[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_kernels), cmocka_unit_test(bulk_kernels),
        cmocka_unit_test(read_adds),      cmocka_unit_test(series),
        cmocka_unit_test(moved),          cmocka_unit_test(reduced),
        cmocka_unit_test(reduced_zeros),  cmocka_unit_test(matrix_fills),
        cmocka_unit_test(products),       cmocka_unit_test(every_kernel_was_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The memory kernels and their data. */
#include <math.h>
#include <string.h>

#include "test_device.h"

#define NAME_STREAM(name) #name,

/* ---- memory kernels ---- */

/* Vectors: one; around a block, a warp, a tile of 8 x 256, a chunk of 512; several chunks for each
 * stage, with a ragged end. */
static const uint64_t vector_counts[] = {1,   31,   256,  257,  511,         512,
                                         513, 2047, 2049, 4096, 8 * 512 + 77};

static unsigned tile_of(const char *name)
{
    const char *tile = strstr(name, "_tile");
    return tile ? (unsigned)(tile[5] - '0') : 0;
}

static bool is_kind(const char *name, const char *kind)
{
    return strncmp(name, kind, strlen(kind)) == 0;
}

struct arrays {
    struct array to, from, scaled, sums;
};

static struct arrays arrays_make(uint64_t vectors, enum cb_dtype dtype)
{
    struct arrays a = {array_make(16 * vectors), array_make(16 * vectors), array_make(16 * vectors),
                       slots_make()};
    for (uint64_t i = 0; i < 16 * vectors / cb_dtype_size_bytes(dtype); i++) {
        set_float(a.from.data, dtype, i, cb_cuda_series_element(i, 1));
        set_float(a.scaled.data, dtype, i, cb_cuda_series_element(i, 2));
    }
    return a;
}

static void arrays_free(struct arrays *a)
{
    array_free(&a->to);
    array_free(&a->from);
    array_free(&a->scaled);
    array_free(&a->sums);
}

static void check_read(const struct arrays *a)
{
    uint32_t expected = 0;
    for (size_t i = 0; i < a->from.bytes / 4; i++)
        expected += (uint32_t)get_bits(a->from.data, 4, i);
    assert_int_equal(total_of(&a->sums), expected);
}

static void check_triad(const struct arrays *a, enum cb_dtype dtype, double scalar)
{
    for (uint64_t i = 0; i < a->to.bytes / cb_dtype_size_bytes(dtype); i++) {
        double expected = cb_cuda_series_element(i, 1) + scalar * cb_cuda_series_element(i, 2);
        assert_true(get_float(a->to.data, dtype, i) == expected);
    }
}

static void stream_once(const char *name, uint64_t vectors, unsigned blocks,
                        enum simgpu_order order)
{
    enum cb_dtype dtype = strstr(name, "float64") ? CB_DTYPE_FLOAT64 : CB_DTYPE_FLOAT32;
    struct arrays a = arrays_make(vectors, dtype);
    const struct cb_cuda_stream args = {.to = is_kind(name, "read") ? NULL : a.to.data,
                                        .from = is_kind(name, "write") ? NULL : a.from.data,
                                        .scaled = is_kind(name, "triad") ? a.scaled.data : NULL,
                                        .vectors = vectors,
                                        .scalar = 3,
                                        .words = {0x01020304, 5, 6, 0x07080910},
                                        .sums = slots_of(&a.sums)};
    run(name, &args, blocks, order);
    if (is_kind(name, "read"))
        check_read(&a);
    else if (is_kind(name, "copy"))
        assert_memory_equal(a.to.data, a.from.data, a.to.bytes);
    else if (is_kind(name, "triad"))
        check_triad(&a, dtype, args.scalar);
    for (uint64_t i = 0; is_kind(name, "write") && i < vectors; i++)
        assert_memory_equal(a.to.data + 16 * i, args.words, 16);
    arrays_free(&a);
}

void memory_kernels(void **state)
{
    (void)state;
    static const char *const names[] = {CB_CUDA_STREAM_KERNELS(NAME_STREAM)};
    for (size_t n = 0; n < COUNT(names); n++)
        for (size_t v = 0; v < COUNT(vector_counts); v++) {
            unsigned of_block = tile_of(names[n]) * CB_CUDA_BLOCK;
            if (of_block > 0) { /* the grid covers the arrays */
                uint64_t blocks = (vector_counts[v] + of_block - 1) / of_block;
                stream_once(names[n], vector_counts[v], (unsigned)blocks, ORDER(v));
            }
            for (size_t g = 0; of_block == 0 && g < GRIDS; g++)
                stream_once(names[n], vector_counts[v], grids[g], ORDER(v + g));
        }
}

/* Pipelines: every order on every size. */
void bulk_kernels(void **state)
{
    (void)state;
    static const char *const names[] = {"read_bulk", "write_bulk", "copy_bulk"};
    for (size_t n = 0; n < COUNT(names); n++)
        for (size_t v = 0; v < COUNT(vector_counts); v++)
            for (enum simgpu_order order = 0; order < SIMGPU_ORDER_COUNT; order++)
                stream_once(names[n], vector_counts[v], 1 + (unsigned)v % 2, order);
}

/* The same words are added up again with every operation. */
void read_adds(void **state)
{
    (void)state;
    static const char *const names[] = {"read_stride4", "read_tile8", "read_bulk"};
    for (size_t n = 0; n < COUNT(names); n++) {
        struct arrays a = arrays_make(600, CB_DTYPE_FLOAT32);
        const struct cb_cuda_stream args = {
            .from = a.from.data, .vectors = 600, .sums = slots_of(&a.sums)};
        run(names[n], &args, 3, SIMGPU_FIRST_WARP);
        uint32_t once = total_of(&a.sums);
        run(names[n], &args, 3, SIMGPU_FIRST_WARP);
        assert_int_equal(total_of(&a.sums), 2 * once);
        assert_int_not_equal(once, 0);
        arrays_free(&a);
    }
}

/* ---- the memory kernels' data ---- */

static void fills_and_sums(enum cb_dtype dtype, uint64_t count, unsigned blocks,
                           enum simgpu_order order)
{
    struct array data = array_make(count * cb_dtype_size_bytes(dtype)), slots = slots_make();
    struct cb_cuda_series args = {
        .data = data.data, .count = count, .dtype = dtype, .sums = slots_of(&slots)};
    for (args.array = 2; args.array >= 0; args.array--) {
        run("series_fill", &args, blocks, order);
        for (uint64_t i = 0; i < count; i++)
            assert_true(get_float(data.data, dtype, i) == cb_cuda_series_element(i, args.array));
    }
    args.array = 0;
    run("series_sum", &args, blocks, order);
    uint32_t words = 0;
    for (size_t i = 0; i < data.bytes / 4; i++)
        words += (uint32_t)get_bits(data.data, 4, i);
    assert_int_equal(total_of(&slots), words);

    args.blank = 1;
    run("series_fill", &args, blocks, order);
    for (uint64_t i = 0; i < count; i++)
        assert_true(isnan(get_float(data.data, dtype, i)));
    array_free(&data);
    array_free(&slots);
}

/* The forms that write, copy and triad leave, and both terms without a factor. */
static void checks(enum cb_dtype dtype, uint64_t count, unsigned blocks, enum simgpu_order order)
{
    for (int form = 0; form < 4; form++) {
        struct array data = array_make(count * cb_dtype_size_bytes(dtype)), wrong = wrong_make();
        int first = form & 1, scaled = form >> 1;
        const struct cb_cuda_series args = {.data = data.data,
                                            .count = count,
                                            .wrong = wrong_of(&wrong),
                                            .constant = form == 0 ? 7 : 0,
                                            .scalar = 3,
                                            .plus_first = first,
                                            .plus_scaled = scaled,
                                            .dtype = dtype};
        for (uint64_t i = 0; i < count; i++)
            set_float(data.data, dtype, i,
                      args.constant + first * cb_cuda_series_element(i, 1) +
                          scaled * 3 * cb_cuda_series_element(i, 2));
        run("series_check", &args, blocks, order);
        assert_int_equal(*wrong_of(&wrong), 0);
        for (uint64_t i = 0; i < count; i += 100)
            set_float(data.data, dtype, i,
                      i % 200 ? (double)NAN : get_float(data.data, dtype, i) + 1);
        run("series_check", &args, blocks, order);
        assert_int_equal(*wrong_of(&wrong), (count + 99) / 100);
        array_free(&data);
        array_free(&wrong);
    }
}

void series(void **state)
{
    (void)state;
    static const enum cb_dtype dtypes[] = {CB_DTYPE_FLOAT32, CB_DTYPE_FLOAT64};
    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (size_t c = 0; c < ELEMENT_COUNTS; c++)
            for (size_t g = 0; g < GRIDS; g++) {
                fills_and_sums(dtypes[d], element_counts[c], grids[g], ORDER(d + c + g));
                checks(dtypes[d], element_counts[c], grids[g], ORDER(d + c + g));
            }
}

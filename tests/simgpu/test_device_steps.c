/* The data of checked steps, against src/transport/pattern.c. */
#include <string.h>

#include "test_device.h"
#include "transport/pattern.h"

#define SEED 0x123456789abcdefu
static const uint64_t firsts[] = {0, 12345, (UINT64_C(1) << 32) - 3};

static void moved_once(size_t bytes, uint64_t count, uint64_t first, unsigned blocks,
                       enum simgpu_order order)
{
    struct array data = array_make(count * bytes), expected = array_make(count * bytes);
    struct array wrong = wrong_make();
    struct cb_cuda_moved args = {.data = data.data,
                                 .count = count,
                                 .first = first,
                                 .key = cb_pattern_key(SEED, 3 + 1),
                                 .element_bytes = (uint32_t)bytes};
    run("fill_moved", &args, blocks, order);
    cb_pattern_fill_moved(expected.data, count, bytes, SEED, 3, first);
    assert_memory_equal(data.data, expected.data, data.bytes);

    args.wrong = wrong_of(&wrong);
    run("check_moved", &args, blocks, order);
    assert_int_equal(*wrong_of(&wrong), 0);
    for (uint64_t i = 0; i < count; i += 7)
        data.data[i * bytes + i % bytes] ^= (unsigned char)(1u << i % 8);
    run("check_moved", &args, blocks, order);
    assert_int_equal(*wrong_of(&wrong), (count + 6) / 7);
    assert_int_equal(*wrong_of(&wrong),
                     cb_pattern_check_moved(data.data, count, bytes, SEED, 3, first));
    array_free(&data);
    array_free(&expected);
    array_free(&wrong);
}

void moved(void **state)
{
    (void)state;
    for (size_t bytes = 1; bytes <= 8; bytes *= 2)
        for (size_t c = 0; c < ELEMENT_COUNTS; c++)
            for (size_t g = 0; g < GRIDS; g++)
                moved_once(bytes, element_counts[c], firsts[(c + g) % COUNT(firsts)], grids[g],
                           ORDER(c + g));
}

/* What every rank sends, combined: by the closed form, which test_pattern holds to the sum. */
static void fill_combined(void *data, uint64_t count, enum cb_dtype dtype, int ranks, bool maximum,
                          uint64_t first)
{
    struct cb_pattern_reduced p = cb_pattern_reduced_make(dtype, SEED, ranks);
    size_t bytes = cb_dtype_size_bytes(dtype);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = cb_pattern_expected(&p, maximum, first + i);
        if (dtype == CB_DTYPE_FLOAT32 || dtype == CB_DTYPE_FLOAT64)
            set_float(data, dtype, i, (double)(int64_t)value);
        else if (dtype == CB_DTYPE_INT32)
            set_bits(data, bytes, i, value & 0xffffffffu);
        else
            set_bits(data, bytes, i, cb_pattern_narrow_bits(dtype, (uint32_t)value));
    }
}

static void reduced_once(enum cb_dtype dtype, int ranks, uint64_t count, uint64_t first,
                         unsigned blocks, enum simgpu_order order)
{
    size_t bytes = cb_dtype_size_bytes(dtype);
    struct array data = array_make(count * bytes), expected = array_make(count * bytes);
    struct cb_cuda_reduced args = {.pattern = cb_pattern_reduced_make(dtype, SEED, ranks),
                                   .data = data.data,
                                   .count = count,
                                   .first = first,
                                   .dtype = dtype};
    for (args.owner = 0; args.owner < ranks; args.owner += ranks / 2 + 1) {
        run("fill_reduced", &args, blocks, order);
        cb_pattern_fill_reduced(expected.data, count, dtype, SEED, args.owner, ranks, first);
        assert_memory_equal(data.data, expected.data, data.bytes);
    }
    for (int maximum = 0; maximum < 2; maximum++) {
        struct array wrong = wrong_make();
        enum cb_redop redop = maximum ? CB_REDOP_MAX : CB_REDOP_SUM;
        args.wrong = wrong_of(&wrong);
        args.maximum = maximum;
        fill_combined(data.data, count, dtype, ranks, maximum != 0, first);
        run("check_reduced", &args, blocks, order);
        assert_int_equal(*wrong_of(&wrong), 0);
        for (uint64_t i = 0; i < count; i += 7)
            set_bits(data.data, bytes, i, get_bits(data.data, bytes, i) ^ 1u << i % 3);
        run("check_reduced", &args, blocks, order);
        assert_int_equal(*wrong_of(&wrong), (count + 6) / 7);
        assert_int_equal(*wrong_of(&wrong), cb_pattern_check_reduced(data.data, count, dtype, redop,
                                                                     SEED, ranks, first));
        array_free(&wrong);
    }
    array_free(&data);
    array_free(&expected);
}

void reduced(void **state)
{
    (void)state;
    static const int ranks[] = {1, 8, 1000};
    for (enum cb_dtype dtype = 0; dtype < CB_DTYPE_MOVED_COUNT; dtype++)
        for (size_t r = 0; r < COUNT(ranks); r++)
            for (size_t c = 0; c < ELEMENT_COUNTS; c++)
                reduced_once(dtype, ranks[r], element_counts[c], firsts[c % COUNT(firsts)],
                             grids[(c + r) % GRIDS], ORDER(c));
}

/* A zero that has come out with a sign is right, of the wide floating-point types alone. */
void reduced_zeros(void **state)
{
    (void)state;
    static const enum cb_dtype dtypes[] = {CB_DTYPE_FLOAT32, CB_DTYPE_FLOAT64, CB_DTYPE_INT32,
                                           CB_DTYPE_FLOAT16};
    for (size_t d = 0; d < COUNT(dtypes); d++) {
        enum { ELEMENTS = 100 };
        size_t bytes = cb_dtype_size_bytes(dtypes[d]);
        struct array data = array_make(ELEMENTS * bytes);
        struct array wrong = wrong_make();
        struct cb_cuda_reduced args = {
            .data = data.data, .count = ELEMENTS, .wrong = wrong_of(&wrong), .dtype = dtypes[d]};
        args.pattern = cb_pattern_reduced_make(dtypes[d], SEED, 4);
        args.pattern.base_mask = args.pattern.step_mask = 0; /* everybody gives zeros */
        memset(data.data, 0, data.bytes);
        for (uint64_t i = 0; i < ELEMENTS; i += 2)
            set_bits(data.data, bytes, i, UINT64_C(1) << (8 * bytes - 1));
        run("check_reduced", &args, 1, SIMGPU_FIRST_WARP);
        assert_int_equal(*wrong_of(&wrong), d < 2 ? 0 : ELEMENTS / 2);
        array_free(&data);
        array_free(&wrong);
    }
}

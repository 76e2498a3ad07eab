/* The matrices of GEMM and the checks of its product. */
#include <math.h>
#include <string.h>

#include "small_float.h"
#include "test_device.h"

static double decode(uint64_t bits, enum cb_dtype dtype)
{
    float narrow;
    double wide;
    uint32_t low = (uint32_t)bits;
    switch ((int)dtype) {
    case CB_DTYPE_FLOAT64:
        memcpy(&wide, &bits, sizeof(wide));
        return wide;
    case CB_DTYPE_FLOAT16:
        return simgpu_small_decode(low, &simgpu_float16);
    case CB_DTYPE_BFLOAT16:
        return simgpu_small_decode(low, &simgpu_bfloat16);
    case CB_DTYPE_FLOAT8_E4M3:
        return simgpu_small_decode(low, &simgpu_float8_e4m3);
    default:
        memcpy(&narrow, &low, sizeof(narrow));
        return (double)narrow;
    }
}

static uint64_t encode(double value, enum cb_dtype dtype)
{
    float narrow = (float)value;
    uint64_t bits = 0;
    switch ((int)dtype) {
    case CB_DTYPE_FLOAT64:
        memcpy(&bits, &value, sizeof(value));
        return bits;
    case CB_DTYPE_FLOAT16:
        return simgpu_small_encode((double)narrow, &simgpu_float16);
    case CB_DTYPE_BFLOAT16:
        return simgpu_small_encode((double)narrow, &simgpu_bfloat16);
    case CB_DTYPE_FLOAT8_E4M3:
        return simgpu_small_encode((double)narrow, &simgpu_float8_e4m3);
    default:
        memcpy(&bits, &narrow, sizeof(narrow));
        return dtype == CB_DTYPE_TF32 ? bits & ~UINT64_C(0x1fff) : bits;
    }
}

/* The pairs of types that gemm.c knows. */
static const struct {
    enum cb_dtype in, out;
} gemm_types[] = {
    {CB_DTYPE_FLOAT64, CB_DTYPE_FLOAT64},   {CB_DTYPE_FLOAT32, CB_DTYPE_FLOAT32},
    {CB_DTYPE_TF32, CB_DTYPE_FLOAT32},      {CB_DTYPE_FLOAT16, CB_DTYPE_FLOAT16},
    {CB_DTYPE_BFLOAT16, CB_DTYPE_BFLOAT16}, {CB_DTYPE_FLOAT8_E4M3, CB_DTYPE_BFLOAT16},
};

void matrix_fills(void **state)
{
    (void)state;
    static const uint64_t counts[] = {1, 255, 20011};
    for (size_t t = 0; t < COUNT(gemm_types); t++)
        for (size_t c = 0; c < COUNT(counts); c++) {
            enum cb_dtype dtype = gemm_types[t].in;
            size_t bytes = cb_dtype_size_bytes(dtype);
            struct array data = array_make(counts[c] * bytes);
            struct cb_cuda_matrix_fill args = {
                .data = data.data, .count = counts[c], .key = 77, .dtype = dtype};
            run("matrix_fill", &args, 3, ORDER(t + c));
            for (uint64_t i = 0; i < counts[c]; i++)
                assert_int_equal(get_bits(data.data, bytes, i),
                                 encode(cb_cuda_matrix_element(77, i), dtype));
            array_free(&data);
        }
}

struct product {
    struct array a, bt, dt, z, digest;
    uint64_t order;
    enum cb_dtype in, out;
    size_t in_bytes, out_bytes;
    double z_tolerance, place_tolerance, row_tolerance;
};

static double entry(const struct array *matrix, enum cb_dtype dtype, uint64_t i)
{
    return decode(get_bits(matrix->data, cb_dtype_size_bytes(dtype), i), dtype);
}

/* A and Bt as the product fills them, Dt their product in double, rounded. */
static struct product product_make(size_t t, uint64_t order)
{
    struct product p = {.order = order, .in = gemm_types[t].in, .out = gemm_types[t].out};
    p.in_bytes = cb_dtype_size_bytes(p.in);
    p.out_bytes = cb_dtype_size_bytes(p.out);
    p.a = array_make(order * order * p.in_bytes);
    p.bt = array_make(order * order * p.in_bytes);
    p.dt = array_make(order * order * p.out_bytes);
    p.z = array_make(CB_CUDA_VECTORS * order * sizeof(double));
    p.digest = array_make(order * sizeof(uint64_t));
    for (uint64_t i = 0; i < order * order; i++) {
        set_bits(p.a.data, p.in_bytes, i, encode(cb_cuda_matrix_element(1, i), p.in));
        set_bits(p.bt.data, p.in_bytes, i, encode(cb_cuda_matrix_element(2, i), p.in));
    }
    for (uint64_t j = 0; j < order; j++)
        for (uint64_t i = 0; i < order; i++) {
            double sum = 0;
            for (uint64_t k = 0; k < order; k++)
                sum += entry(&p.a, p.in, i * order + k) * entry(&p.bt, p.in, j * order + k);
            set_bits(p.dt.data, p.out_bytes, j * order + i, encode(sum, p.out));
        }
    /* Rounding to the output alone: half a unit in the last place of what stays below the order. */
    double ulp = p.out == CB_DTYPE_BFLOAT16  ? 0x1p-8
                 : p.out == CB_DTYPE_FLOAT16 ? 0x1p-11
                 : p.out == CB_DTYPE_FLOAT32 ? 0x1p-24
                                             : 0x1p-50;
    p.place_tolerance = ulp * (double)order;
    p.row_tolerance = ulp * (double)(order * order);
    return p;
}

static void product_free(struct product *p)
{
    array_free(&p->a);
    array_free(&p->bt);
    array_free(&p->dt);
    array_free(&p->z);
    array_free(&p->digest);
}

static uint64_t wrong_rows(const struct product *p, bool known, unsigned blocks,
                           enum simgpu_order order)
{
    struct array wrong = wrong_make();
    const struct cb_cuda_check_rows args = {.bt = p->bt.data,
                                            .dt = p->dt.data,
                                            .z = (const double *)(const void *)p->z.data,
                                            .digest = (uint64_t *)(void *)p->digest.data,
                                            .wrong = wrong_of(&wrong),
                                            .order = p->order,
                                            .tolerance = p->row_tolerance,
                                            .dtype = p->in,
                                            .out_dtype = p->out,
                                            .known = known};
    run("check_rows", &args, blocks, order);
    uint64_t counted = *wrong_of(&wrong);
    array_free(&wrong);
    return counted;
}

static uint64_t wrong_places(const struct product *p, uint64_t count, unsigned blocks,
                             enum simgpu_order order)
{
    struct array wrong = wrong_make();
    const struct cb_cuda_check_places args = {.a = p->a.data,
                                              .bt = p->bt.data,
                                              .dt = p->dt.data,
                                              .wrong = wrong_of(&wrong),
                                              .order = p->order,
                                              .count = count,
                                              .tolerance = p->place_tolerance,
                                              .dtype = p->in,
                                              .out_dtype = p->out};
    run("check_places", &args, blocks, order);
    uint64_t counted = *wrong_of(&wrong);
    array_free(&wrong);
    return counted;
}

static void check_projection(const struct product *p)
{
    for (uint32_t v = 0; v < CB_CUDA_VECTORS; v++)
        for (uint64_t k = 0; k < p->order; k++) {
            double sum = 0;
            for (uint64_t i = 0; i < p->order; i++)
                sum += cb_cuda_sign(v, i) * entry(&p->a, p->in, i * p->order + k);
            assert_true(((const double *)(const void *)p->z.data)[v * p->order + k] == sum);
        }
}

static void check_digests(const struct product *p)
{
    for (uint64_t j = 0; j < p->order; j++) {
        uint64_t digest = 0;
        for (uint64_t i = 0; i < p->order; i++)
            digest += cb_cuda_digest_term(get_bits(p->dt.data, p->out_bytes, j * p->order + i), i);
        assert_true(((const uint64_t *)(const void *)p->digest.data)[j] == digest);
    }
}

/* How often check_places looks at an element of Dt. */
static uint64_t looks_at(const struct product *p, uint64_t count, uint64_t j, uint64_t i)
{
    uint64_t looks = 0;
    for (uint64_t place = 0; place < count; place++)
        looks += cb_pattern_low(0x1b873593u, place) % p->order == i &&
                 cb_pattern_low(0xcc9e2d51u, place) % p->order == j;
    return looks;
}

static void flip_lowest_bit(const struct product *p, uint64_t place)
{
    set_bits(p->dt.data, p->out_bytes, place, get_bits(p->dt.data, p->out_bytes, place) ^ 1);
}

static void product_once(size_t t, uint64_t size, unsigned blocks, enum simgpu_order order)
{
    enum { PLACES = 301 };
    struct product p = product_make(t, size);
    const struct cb_cuda_project project = {
        .a = p.a.data, .z = (double *)(void *)p.z.data, .order = size, .dtype = p.in};
    run("project", &project, blocks, order);
    check_projection(&p);
    assert_int_equal(wrong_rows(&p, false, blocks, order), 0);
    check_digests(&p);
    assert_int_equal(wrong_rows(&p, true, blocks, order), 0);
    assert_int_equal(wrong_places(&p, PLACES, blocks, order), 0);

    /* One bit, too little for the tolerance: the digest alone sees it. */
    flip_lowest_bit(&p, size - 1);
    assert_int_equal(wrong_rows(&p, true, blocks, order), 1);
    assert_int_equal(wrong_rows(&p, false, blocks, order), 0);
    assert_int_equal(wrong_rows(&p, true, blocks, order), 0);

    uint64_t i = cb_pattern_low(0x1b873593u, 5) % size, j = cb_pattern_low(0xcc9e2d51u, 5) % size;
    uint64_t place = j * size + i, right = get_bits(p.dt.data, p.out_bytes, place);
    static const double spoiled[] = {1000, (double)NAN};
    for (size_t s = 0; s < COUNT(spoiled); s++) {
        set_bits(p.dt.data, p.out_bytes, place, encode(spoiled[s], p.out));
        assert_int_equal(wrong_rows(&p, false, blocks, order), 1);
        assert_int_equal(wrong_places(&p, PLACES, blocks, order), looks_at(&p, PLACES, j, i));
        set_bits(p.dt.data, p.out_bytes, place, right);
        assert_int_equal(wrong_rows(&p, false, blocks, order), 0);
    }
    product_free(&p);
}

void products(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {2, 33, 70, 128};
    for (size_t t = 0; t < COUNT(gemm_types); t++)
        for (size_t s = 0; s < COUNT(sizes); s++)
            product_once(t, sizes[s], grids[(t + s) % GRIDS], ORDER(s));
}

/* Small floating-point types, combining them, and the model of NCCL's time, against values worked
 * out by hand and the formats' definitions. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "cb_test.h"
#include "nccl_internal.h"
#include "small_float.h"

static void test_known_patterns(void **state)
{
    (void)state;
    const struct {
        const struct simgpu_small *type;
        double value;
        uint32_t bits;
    } known[] = {
        {&simgpu_float16, 1.0, 0x3c00},       {&simgpu_float16, -2.0, 0xc000},
        {&simgpu_float16, 65504.0, 0x7bff},   {&simgpu_float16, 0x1p-24, 0x0001},
        {&simgpu_float16, 0x1p-14, 0x0400},   {&simgpu_bfloat16, 1.0, 0x3f80},
        {&simgpu_bfloat16, -0.5, 0xbf00},     {&simgpu_float8_e4m3, 448.0, 0x7e},
        {&simgpu_float8_e4m3, 0x1p-9, 0x01},  {&simgpu_float8_e4m3, 1.5, 0x3c},
        {&simgpu_float8_e5m2, 57344.0, 0x7b}, {&simgpu_float8_e5m2, 0x1p-16, 0x01},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        assert_int_equal(simgpu_small_encode(known[i].value, known[i].type), known[i].bits);
        assert_near(simgpu_small_decode(known[i].bits, known[i].type), known[i].value, 0);
    }
}

static void test_rounding(void **state)
{
    (void)state;
    /* float16 has steps of 2 above 2048: ties go to the even mantissa */
    assert_near(simgpu_small_decode(simgpu_small_encode(2049.0, &simgpu_float16), &simgpu_float16),
                2048, 0);
    assert_near(simgpu_small_decode(simgpu_small_encode(2051.0, &simgpu_float16), &simgpu_float16),
                2052, 0);
    assert_int_equal(simgpu_small_encode(1e9, &simgpu_float16), 0x7c00);   /* infinity */
    assert_int_equal(simgpu_small_encode(1e9, &simgpu_float8_e4m3), 0x7e); /* the largest */
    assert_int_equal(simgpu_small_encode(0x1p-26, &simgpu_float16), 0x0000);
    assert_int_equal(simgpu_small_encode(2047.9999, &simgpu_float16), 0x6800); /* carries over */
}

/* Whatever is not NaN comes back as the same bits. */
static void test_round_trip(void **state)
{
    (void)state;
    const struct simgpu_small *types[] = {&simgpu_float16, &simgpu_bfloat16, &simgpu_float8_e4m3,
                                          &simgpu_float8_e5m2};
    for (size_t t = 0; t < 4; t++)
        for (uint32_t bits = 0; bits < (t < 2 ? 65536u : 256u); bits++) {
            double value = simgpu_small_decode(bits, types[t]);
            if (!isnan(value))
                assert_int_equal(simgpu_small_encode(value, types[t]), bits);
        }
}

static void test_reduce(void **state)
{
    (void)state;
    const float floats[] = {1, 2, 10, 20, 100, 200}; /* three parts of two */
    float out[2];
    simnccl_reduce(out, floats, 2, 3, 2, ncclFloat32, ncclSum);
    assert_near(out[1], 222, 0);
    simnccl_reduce(out, floats, 2, 3, 2, ncclFloat32, ncclAvg);
    assert_near(out[0], 37, 0);
    simnccl_reduce(out, floats, 2, 3, 2, ncclFloat32, ncclMin);
    assert_near(out[0], 1, 0);
    const int32_t whole[] = {INT32_MAX, 1, -5, 7}; /* two parts of two; sums wrap */
    int32_t sums[2];
    simnccl_reduce(sums, whole, 2, 2, 2, ncclInt32, ncclSum);
    assert_int_equal(sums[0], INT32_MAX - 5);
    assert_int_equal(sums[1], 8);
    simnccl_reduce(sums, whole, 2, 2, 2, ncclInt32, ncclMin);
    assert_int_equal(sums[0], -5);
    const uint16_t halves[] = {0x3c00, 0xc000}; /* 1 and -2 */
    uint16_t half;
    simnccl_reduce(&half, halves, 1, 2, 1, ncclFloat16, ncclSum);
    assert_int_equal(half, 0xbc00);
}

/* For large messages the bus bandwidth is the link's: x (n-1)/n for gathers, x 2 (n-1)/n for
 * all_reduce, and between hosts that of all NICs together. */
static void test_model(void **state)
{
    (void)state;
    const struct simgpu_config *config = simgpu_config();
    const double size = 0x1p36;
    double time_s = simnccl_collective_s(config, SIMNCCL_ALL_REDUCE, size, 8, 1, 8, false);
    assert_near(1.75 * size / time_s, config->gpu_bytes_per_s, 1e-3);
    time_s = simnccl_collective_s(config, SIMNCCL_ALL_GATHER, size, 16, 2, 8, false);
    assert_near(15.0 / 16 * size / time_s, 8 * config->nic_bytes_per_s, 1e-3);
    time_s = simnccl_collective_s(config, SIMNCCL_ALL_REDUCE, size, 2, 2, 1, false);
    assert_near(size / time_s, config->nic_bytes_per_s, 1e-3);
    time_s = simnccl_collective_s(config, SIMNCCL_ALL_REDUCE, size, 16, 2, 8, true);
    assert_near(1.875 * size / time_s, config->socket_bytes_per_s, 1e-3);
    /* nothing is passed on: half of what each of 8 ranks has leaves the host */
    time_s = simnccl_collective_s(config, SIMNCCL_ALL_TO_ALL, size, 16, 2, 8, false);
    assert_near(4 * size / time_s, 8 * config->nic_bytes_per_s, 1e-3);
    /* small messages: latency grows with the logarithm, or with the ranks */
    double two_s = simnccl_collective_s(config, SIMNCCL_ALL_REDUCE, 8, 2, 1, 2, false);
    double eight_s = simnccl_collective_s(config, SIMNCCL_ALL_REDUCE, 8, 8, 1, 8, false);
    assert_near(eight_s - two_s, 4 * config->gpu_hop_s, 1e-3);
    two_s = simnccl_collective_s(config, SIMNCCL_ALL_GATHER, 8, 2, 1, 2, false);
    eight_s = simnccl_collective_s(config, SIMNCCL_ALL_GATHER, 8, 8, 1, 8, false);
    assert_near(eight_s - two_s, 6 * config->gpu_hop_s, 1e-3);
}

/* Every configuration that is kept can be read. */
static void test_configurations(void **state)
{
    (void)state;
    static const char *const paths[] = {SIMGPU_FOLDER "/dgx-a100.conf", SIMGPU_FOLDER "/h100.conf",
                                        SIMGPU_FOLDER "/pcie.conf"};
    char message[256] = "";
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct simgpu_config config;
        assert_int_equal(simgpu_config_read(paths[i], &config, message, sizeof(message)), 0);
        assert_true(config.devices > 0 && config.memory_bytes_per_s > 0 &&
                    config.gpu_bytes_per_s > 0 && config.nic_bytes_per_s > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_patterns), cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_round_trip),     cmocka_unit_test(test_reduce),
        cmocka_unit_test(test_model),          cmocka_unit_test(test_configurations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

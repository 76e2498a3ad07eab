/* The simulated cuBLASLt and NVML: products against a plain loop, and a card that works, idles, or
 * is gone. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include <cublasLt.h>

#include "cb_test.h"
#include "gpu/node.h"
#include "gpu/nvml_api.h"
#include "simgpu.h"
#include "small_float.h"

#define ORDER 48

/* D = A^T B, column-major, in a type: the first of its proposals, with the time it took. */
static void multiply(cudaDataType type, cublasComputeType_t compute, cudaDataType scale,
                     const void *a, const void *b, void *d, float *ms)
{
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t layout;
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t found[4];
    cudaEvent_t start, end;
    int count = 0;
    const int32_t transposed = CUBLAS_OP_T;
    const float one = 1, zero = 0;
    const double wide_one = 1, wide_zero = 0;
    const bool wide = scale == CUDA_R_64F;
    assert_int_equal(cublasLtCreate(&handle), 0);
    assert_int_equal(cublasLtMatmulDescCreate(&operation, compute, scale), 0);
    assert_int_equal(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA,
                                                    &transposed, sizeof(transposed)),
                     0);
    assert_int_equal(cublasLtMatrixLayoutCreate(&layout, type, ORDER, ORDER, ORDER), 0);
    assert_int_equal(cublasLtMatmulPreferenceCreate(&preference), 0);
    assert_int_equal(cublasLtMatmulAlgoGetHeuristic(handle, operation, layout, layout, layout,
                                                    layout, preference, 4, found, &count),
                     0);
    assert_true(count >= 2);
    assert_int_equal(cudaEventCreate(&start), cudaSuccess);
    assert_int_equal(cudaEventCreate(&end), cudaSuccess);
    assert_int_equal(cudaEventRecord(start, NULL), cudaSuccess);
    assert_int_equal(cublasLtMatmul(handle, operation, wide ? (const void *)&wide_one : &one, a,
                                    layout, b, layout, wide ? (const void *)&wide_zero : &zero, d,
                                    layout, d, layout, &found[0].algo, NULL, 0, NULL),
                     0);
    assert_int_equal(cudaEventRecord(end, NULL), cudaSuccess);
    assert_int_equal(cudaEventSynchronize(end), cudaSuccess);
    assert_int_equal(cudaEventElapsedTime(ms, start, end), cudaSuccess);
    cudaEventDestroy(start);
    cudaEventDestroy(end);
    cublasLtMatmulPreferenceDestroy(preference);
    cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(operation);
    cublasLtDestroy(handle);
}

static void test_float64(void **state)
{
    (void)state;
    double *m[3];
    float ms;
    for (int i = 0; i < 3; i++)
        assert_int_equal(cudaMalloc((void **)&m[i], ORDER * ORDER * sizeof(double)), cudaSuccess);
    for (int i = 0; i < ORDER * ORDER; i++) {
        m[0][i] = i % 7 - 3;
        m[1][i] = i % 5 - 2;
    }
    multiply(CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F, m[0], m[1], m[2], &ms);
    for (int row = 0; row < ORDER; row++)
        for (int column = 0; column < ORDER; column++) {
            double sum = 0;
            for (int k = 0; k < ORDER; k++)
                sum += m[0][k + row * ORDER] * m[1][k + column * ORDER];
            assert_near(m[2][row + column * ORDER], sum, 0);
        }
    for (int i = 0; i < 3; i++)
        cudaFree(m[i]);
}

static void test_bfloat16(void **state)
{
    (void)state;
    uint16_t *m[3];
    float ms;
    for (int i = 0; i < 3; i++)
        assert_int_equal(cudaMalloc((void **)&m[i], ORDER * ORDER * sizeof(uint16_t)), cudaSuccess);
    for (int i = 0; i < ORDER * ORDER; i++) {
        m[0][i] = (uint16_t)simgpu_small_encode(i % 7 - 3, &simgpu_bfloat16);
        m[1][i] = (uint16_t)simgpu_small_encode(i % 5 - 2, &simgpu_bfloat16);
    }
    multiply(CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, m[0], m[1], m[2], &ms);
    for (int row = 0; row < ORDER; row++)
        for (int column = 0; column < ORDER; column++) {
            double sum = 0;
            for (int k = 0; k < ORDER; k++)
                sum += ((k + row * ORDER) % 7 - 3) * ((k + column * ORDER) % 5 - 2);
            assert_int_equal(m[2][row + column * ORDER],
                             simgpu_small_encode(sum, &simgpu_bfloat16) |
                                 (m[2][row + column * ORDER] & (sum == 0 ? 0x8000 : 0)));
        }
    for (int i = 0; i < 3; i++)
        cudaFree(m[i]);
}

/* Two cards to a PCIe switch, four to a socket, all on NVSwitches; without peer access on demand.
 */
static void check_topology(void)
{
    static struct cb_facts facts;
    struct cb_nvml_api api;
    struct cb_error err;
    setenv("SIMGPU_FAULT", "no_peer:device=0;nvlink:device=5,down=2;fabric:device=6,state=1", 1);
    assert_ok(cb_nvml_open(NULL, &api, &err), &err);
    cb_facts_init(&facts);
    cb_gpu_look_at_node(&api, &facts);
    unsetenv("SIMGPU_FAULT");
    assert_int_equal(facts.gpu_count, 8);
    assert_int_equal(facts.gpus[1].nvlinks, 12);
    assert_int_equal(facts.gpus[1].nvlink_switch, 12);
    assert_int_equal(facts.gpus[1].nvlink_version, 30);
    assert_near(facts.gpus[1].nvlink_bytes_per_s, 25e9, 1e-9);
    assert_int_equal(facts.gpus[5].nvlinks, 10);
    assert_int_equal(facts.gpus[5].nvlink_slots, 12);
    assert_int_equal(facts.gpus[6].fabric, CB_FABRIC_NOT_STARTED);
    assert_int_equal(facts.gpus[1].pcie.generation_limit, 4);
    assert_int_equal(facts.link_count, 28);
    const struct cb_facts_link *pair = &facts.links[cb_facts_find_link(&facts, "GPU0", "GPU5")];
    assert_string_equal(pair->path, "NV10");
    assert_string_equal(pair->kind, "NVSwitch");
    assert_near(pair->bytes_per_s_one_way, 250e9, 1e-9);
    assert_int_equal(pair->peer_access, CB_PEER_CHIPSET);
    pair = &facts.links[cb_facts_find_link(&facts, "GPU1", "GPU2")];
    assert_int_equal(pair->peer_access, CB_PEER_OK);
}

/* A kernel on the device makes the card one that works; NVML says so at the next look. */
static void test_nvml(void **state)
{
    (void)state;
    struct cb_nvml_device *device;
    struct cb_nvml_pci pci;
    struct cb_nvml_utilization utilization;
    unsigned count, milliwatts, mhz;
    unsigned long long reasons;
    int active;
    char text[96];
    assert_int_equal(nvmlDeviceGetCount_v2(&count), CB_NVML_UNINITIALIZED);
    assert_int_equal(nvmlInit_v2(), 0);
    assert_int_equal(nvmlDeviceGetCount_v2(&count), 0);
    assert_int_equal(count, 8);
    assert_int_equal(nvmlDeviceGetHandleByIndex_v2(8, &device), CB_NVML_INVALID_ARGUMENT);
    assert_int_equal(nvmlDeviceGetHandleByIndex_v2(2, &device), 0);
    assert_int_equal(nvmlDeviceGetName(device, text, sizeof(text)), 0);
    assert_string_equal(text, "Simulated A100-SXM4-80GB");
    assert_int_equal(nvmlDeviceGetName(device, text, 4), CB_NVML_INSUFFICIENT_SIZE);
    assert_int_equal(nvmlDeviceGetPciInfo_v3(device, &pci), 0);
    assert_string_equal(pci.bus_id, "00000000:47:00.0");
    assert_int_equal(pci.bus, 0x47);
    assert_int_equal(pci.device_id, 0x20b210de);
    assert_int_equal(nvmlDeviceGetNvLinkState(device, 11, &active), 0);
    assert_int_equal(nvmlDeviceGetNvLinkState(device, 12, &active), CB_NVML_INVALID_ARGUMENT);
    check_topology();

    assert_int_equal(nvmlDeviceGetUtilizationRates(device, &utilization), 0);
    assert_int_equal(utilization.gpu, 0);
    assert_int_equal(nvmlDeviceGetPowerUsage(device, &milliwatts), 0);
    assert_int_equal(milliwatts, 60000);
    float *data, ms;
    assert_int_equal(cudaSetDevice(2), cudaSuccess);
    assert_int_equal(cudaMalloc((void **)&data, 3 * ORDER * ORDER * sizeof(float)), cudaSuccess);
    memset(data, 0, 3 * ORDER * ORDER * sizeof(float));
    multiply(CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, data, data + ORDER * ORDER,
             data + 2 * ORDER * ORDER, &ms);
    assert_int_equal(nvmlDeviceGetUtilizationRates(device, &utilization), 0);
    assert_int_equal(utilization.gpu, 100);
    assert_int_equal(nvmlDeviceGetPowerUsage(device, &milliwatts), 0);
    assert_int_equal(milliwatts, 385000);

    setenv("SIMGPU_FAULT", "slow:device=2,factor=0.5;lost:device=3", 1);
    assert_int_equal(nvmlDeviceGetClockInfo(device, CB_NVML_CLOCK_SM, &mhz), 0);
    assert_int_equal(mhz, 705);
    assert_int_equal(nvmlDeviceGetCurrentClocksEventReasons(device, &reasons), 0);
    assert_int_equal(reasons, 0x28);
    assert_int_equal(nvmlDeviceGetHandleByIndex_v2(3, &device), CB_NVML_GPU_IS_LOST);
    unsetenv("SIMGPU_FAULT");
    cudaFree(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float64),
        cmocka_unit_test(test_bfloat16),
        cmocka_unit_test(test_nvml),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

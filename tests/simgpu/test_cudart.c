/* The simulated CUDA runtime: devices, memory, streams, events, graphs, kernels, errors, and the
 * clock, whose times are worked out by hand from the configuration. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cb_test.h"
#include "simgpu.h"

static void ok(cudaError_t error)
{
    if (error != cudaSuccess)
        print_error("%s\n", cudaGetErrorString(error));
    assert_int_equal(error, cudaSuccess);
}

/* ---- a kernel as nvcc's objects bring one ---- */

struct add_args {
    int *data;
    size_t count;
    int value;
};

static int add_runs;

static void run_add(const void *argument)
{
    const struct add_args *args = argument;
    add_runs++;
    for (size_t i = 0; i < args->count; i++)
        args->data[i] = args->value;
}

static double add_bytes(const void *argument)
{
    return (double)((const struct add_args *)argument)->count * sizeof(int);
}

static bool replaces(const void *later, const void *earlier)
{
    const struct add_args *a = later, *b = earlier;
    return a->data == b->data && a->count == b->count;
}

static const struct simgpu_kernel kernels[] = {
    {"set_all", sizeof(struct add_args), run_add, add_bytes, replaces, NULL, NULL}};

static char host_stub, other_stub; /* stands for the function that nvcc makes */

void __cudaRegisterFunction(void **handle, const char *host_function, char *device_function,
                            const char *name, int thread_limit, uint3 *thread, uint3 *block,
                            dim3 *block_size, dim3 *grid_size, int *warp_size);

static cudaError_t launch(struct add_args args, unsigned threads, cudaStream_t stream)
{
    void *arguments[] = {&args};
    return cudaLaunchKernel(&host_stub, (dim3){1, 1, 1}, (dim3){threads, 1, 1}, arguments, 0,
                            stream);
}

/* ---- tests ---- */

static void test_devices(void **state)
{
    (void)state;
    int count = 0, device = -1;
    struct cudaDeviceProp prop;
    char id[16];
    ok(cudaGetDeviceCount(&count));
    assert_int_equal(count, 8);
    ok(cudaGetDeviceProperties(&prop, 3));
    assert_string_equal(prop.name, "Simulated A100-SXM4-80GB");
    assert_int_equal(prop.multiProcessorCount, 108);
    ok(cudaDeviceGetPCIBusId(id, sizeof(id), 1));
    assert_string_equal(id, "0000:0F:00.0");
    ok(cudaDeviceGetByPCIBusId(&device, id));
    assert_int_equal(device, 1);
    assert_int_equal(cudaSetDevice(8), cudaErrorInvalidDevice);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidDevice);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
}

static void test_memory(void **state)
{
    (void)state;
    size_t free_before, free_after, total;
    void *data = NULL, *too_much = NULL;
    int back[4] = {0}, given[4] = {1, 2, 3, 4};
    ok(cudaMemGetInfo(&free_before, &total));
    ok(cudaMalloc(&data, 1 << 20));
    ok(cudaMemGetInfo(&free_after, &total));
    assert_int_equal(free_before, 16 << 20); /* as the configuration says */
    assert_int_equal(free_after, free_before);
    assert_int_equal(simgpu_device_used_bytes(0), 1 << 20);
    assert_int_equal(cudaMalloc(&too_much, total), cudaErrorMemoryAllocation);
    ok(cudaMemcpy(data, given, sizeof(given), cudaMemcpyHostToDevice));
    ok(cudaMemcpy(back, data, sizeof(back), cudaMemcpyDeviceToHost));
    assert_memory_equal(back, given, sizeof(back));
    assert_int_equal(cudaMemcpy(data, given, 2 << 20, cudaMemcpyHostToDevice),
                     cudaErrorInvalidValue);
    ok(cudaFree(data));
    assert_int_equal(cudaFree(data), cudaErrorInvalidValue);
    cudaGetLastError();
}

/* 259 MB from pinned memory at 25.9 GB/s: 10 ms and copy_s; the events lie around it. */
static void test_copy_time(void **state)
{
    (void)state;
    const size_t size = 25900000;
    void *host, *device;
    cudaEvent_t start, end;
    cudaStream_t stream;
    float ms = 0;
    ok(cudaMallocHost(&host, size));
    ok(cudaMalloc(&device, size));
    ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    ok(cudaEventCreate(&start));
    ok(cudaEventCreate(&end));
    for (int repeat = 0; repeat < 2; repeat++) {
        ok(cudaEventRecord(start, stream));
        for (int i = 0; i < 4; i++)
            ok(cudaMemcpyAsync(device, host, size, cudaMemcpyHostToDevice, stream));
        ok(cudaEventRecord(end, stream));
        ok(cudaEventSynchronize(end));
        ok(cudaEventElapsedTime(&ms, start, end));
        /* the first copy is issued one call after the start event */
        assert_near(ms, 4 * (1.0 + 2e-3) + 1e-3, 1e-6);
    }
    assert_near(simgpu_host_now_s(), simgpu_host_now_s(), 0);
    ok(cudaEventDestroy(start));
    ok(cudaEventDestroy(end));
    ok(cudaStreamDestroy(stream));
    ok(cudaFree(device));
    ok(cudaFreeHost(host));
}

static void test_kernel(void **state)
{
    (void)state;
    const size_t count = 1 << 20;
    int *data;
    cudaEvent_t start, end;
    float ms;
    ok(cudaMalloc((void **)&data, count * sizeof(int)));
    ok(cudaEventCreate(&start));
    ok(cudaEventCreate(&end));
    add_runs = 0;
    ok(launch((struct add_args){data, count, 7}, 256, NULL)); /* gets ahead of the host */
    ok(cudaEventRecord(start, NULL));
    ok(launch((struct add_args){data, count, 7}, 256, NULL));
    ok(cudaEventRecord(end, NULL));
    ok(cudaDeviceSynchronize());
    assert_int_equal(data[0], 7);
    assert_int_equal(data[count - 1], 7);
    ok(cudaEventElapsedTime(&ms, start, end));
    assert_true(ms >= 2.2e-3f && ms < 3.5e-3f); /* 4 MiB at 1.86 TB/s is 2.26 us */
    ok(launch((struct add_args){data, count, 8}, 256, NULL));
    ok(cudaDeviceSynchronize());
    assert_int_equal(data[5], 8);
    assert_true(add_runs >= 2 && add_runs <= 3); /* one that the next replaces may be left out */

    assert_int_equal(launch((struct add_args){data, count, 8}, 2048, NULL),
                     cudaErrorInvalidConfiguration);
    assert_int_equal(cudaLaunchKernel(&other_stub, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL),
                     cudaErrorInvalidDeviceFunction);
    cudaGetLastError();
    ok(cudaEventDestroy(start));
    ok(cudaEventDestroy(end));
    ok(cudaFree(data));
}

static void test_streams_wait_for_events(void **state)
{
    (void)state;
    cudaStream_t first, second;
    cudaEvent_t done, later;
    void *device, *host;
    float ms;
    ok(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    ok(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    ok(cudaEventCreate(&done));
    ok(cudaEventCreate(&later));
    ok(cudaMalloc(&device, 1 << 20));
    ok(cudaMallocHost(&host, 1 << 20));
    ok(cudaMemcpyAsync(device, host, 1 << 20, cudaMemcpyDefault, first));
    ok(cudaEventRecord(done, first));
    ok(cudaStreamWaitEvent(second, done, 0));
    ok(cudaEventRecord(later, second));
    ok(cudaStreamSynchronize(second));
    ok(cudaEventElapsedTime(&ms, done, later));
    assert_near(ms, 0, 0);
    ok(cudaStreamQuery(first));
    ok(cudaFree(device));
    ok(cudaFreeHost(host));
    ok(cudaEventDestroy(done));
    ok(cudaEventDestroy(later));
    ok(cudaStreamDestroy(first));
    ok(cudaStreamDestroy(second));
}

static void test_graph(void **state)
{
    (void)state;
    const size_t count = 1024;
    int *data;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    ok(cudaMalloc((void **)&data, count * sizeof(int)));
    ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    ok(launch((struct add_args){data, count, 1}, 256, stream));
    ok(cudaStreamSynchronize(stream));
    ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    ok(launch((struct add_args){data, count, 2}, 256, stream));
    assert_int_equal(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
    ok(cudaStreamEndCapture(stream, &graph));
    assert_int_equal(data[0], 1); /* captured, not done */
    ok(cudaGraphInstantiate(&exec, graph, 0));
    ok(cudaGraphDestroy(graph));
    for (int i = 0; i < 3; i++)
        ok(cudaGraphLaunch(exec, stream));
    ok(cudaStreamSynchronize(stream));
    assert_int_equal(data[count - 1], 2);
    ok(cudaGraphExecDestroy(exec));
    ok(cudaStreamDestroy(stream));
    ok(cudaFree(data));
    cudaGetLastError();
}

static void test_faults(void **state)
{
    (void)state;
    void *data = NULL;
    setenv("SIMGPU_FAULT", "alloc:nth=2", 1);
    ok(cudaMalloc(&data, 16));
    ok(cudaFree(data));
    assert_int_equal(cudaMalloc(&data, 16), cudaErrorMemoryAllocation);
    ok(cudaMalloc(&data, 16));
    setenv("SIMGPU_FAULT", "alloc:rank=5;model:device=2,name=B300", 1);
    struct cudaDeviceProp prop;
    ok(cudaGetDeviceProperties(&prop, 2));
    assert_string_equal(prop.name, "Simulated B300");
    ok(cudaFree(data));
    setenv("SIMGPU_FAULT", "no_driver", 1);
    int count = -1;
    assert_int_equal(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
    assert_int_equal(count, 0);
    unsetenv("SIMGPU_FAULT");
    cudaGetLastError();
}

/* Last: nothing works on a device that is gone. */
static void test_lost_device(void **state)
{
    (void)state;
    void *data;
    ok(cudaSetDevice(7));
    ok(cudaMalloc(&data, 1024));
    setenv("SIMGPU_FAULT", "bus:device=7,nth=2", 1);
    ok(cudaMemset(data, 0, 1024));
    assert_int_equal(cudaMemset(data, 0, 1024), cudaErrorUnknown);
    assert_int_equal(cudaDeviceSynchronize(), cudaErrorUnknown);
    assert_true(simgpu_device_lost(7));
    unsetenv("SIMGPU_FAULT");
    assert_int_equal(cudaMemset(data, 0, 1024), cudaErrorUnknown);
    cudaFree(data);
}

static void test_bad_config(void **state)
{
    (void)state;
    char path[] = "/tmp/simgpu-conf-XXXXXX", message[256];
    struct simgpu_config config;
    int file = mkstemp(path);
    assert_true(file >= 0);
    dprintf(file, "# a comment\nname = Simulated X\n\nmemory_bytes = lots\n");
    assert_int_equal(simgpu_config_read(path, &config, message, sizeof(message)), -1);
    assert_non_null(strstr(message, ":4:"));
    unlink(path);
    assert_int_equal(simgpu_config_read(path, &config, message, sizeof(message)), -1);
}

int main(void)
{
    __cudaRegisterFunction(NULL, &host_stub, NULL, "set_all", -1, NULL, NULL, NULL, NULL, NULL);
    simgpu_kernels_register(kernels, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_copy_time),
        cmocka_unit_test(test_kernel),
        cmocka_unit_test(test_streams_wait_for_events),
        cmocka_unit_test(test_graph),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_bad_config),
        cmocka_unit_test(test_lost_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

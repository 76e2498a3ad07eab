/* Devices and errors. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

static struct simgpu_device devices[SIMGPU_MAX_DEVICES]; /* glibc's mutexes may begin as zeros */
static _Thread_local cudaError_t last_error;
static _Thread_local int current_device;

static struct {
    pthread_once_t once;
    int count;
    int physical[SIMGPU_MAX_DEVICES];
    FILE *trace;
} process = {.once = PTHREAD_ONCE_INIT};

void simgpu_device_uuid_text(int physical, char out[48])
{
    unsigned char u[16];
    simgpu_device_uuid(physical, u);
    snprintf(out, 48, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13],
             u[14], u[15]);
}

int simgpu_devices_open(int *physical)
{
    int present = simgpu_config()->devices, count = 0;
    present = (int)simgpu_fault_number("devices", -1, "count", present);
    int shown = (int)simgpu_fault_number("cgroup", -1, "shows", -1);
    for (int i = 0; i < present && i < SIMGPU_MAX_DEVICES; i++)
        if (shown < 0 || shown == i)
            physical[count++] = i;
    return count;
}

/* The device that one word of CUDA_VISIBLE_DEVICES means, or -1. */
static int find_visible(const char *word, const int *open, int count)
{
    char *end;
    long index = strtol(word, &end, 10);
    if (end != word && *end == '\0')
        return index >= 0 && index < count ? open[index] : -1;
    for (int i = 0; i < count; i++) {
        char uuid[48];
        simgpu_device_uuid_text(open[i], uuid);
        if (strncmp(word, "GPU-", 4) == 0 && strncmp(uuid, word, strlen(word)) == 0)
            return open[i];
    }
    return -1;
}

static void start_process(void)
{
    int open[SIMGPU_MAX_DEVICES];
    int count = simgpu_devices_open(open);
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible == NULL) {
        for (int i = 0; i < count; i++)
            process.physical[process.count++] = open[i];
    } else {
        char *copy = strdup(visible), *rest = copy;
        for (char *word; (word = strsep(&rest, ",")) != NULL;) {
            int physical = find_visible(word, open, count);
            if (physical < 0 || process.count == SIMGPU_MAX_DEVICES)
                break; /* as the real one does: nothing after a bad word counts */
            process.physical[process.count++] = physical;
        }
        free(copy);
    }
    const char *trace = getenv("SIMGPU_TRACE");
    if (trace != NULL) {
        char path[512];
        snprintf(path, sizeof(path), "%s.%d", trace, simgpu_rank());
        process.trace = fopen(path, "we");
    }
}

int simgpu_device_count(void)
{
    pthread_once(&process.once, start_process);
    return process.count;
}

int simgpu_device_physical(int device)
{
    return device >= 0 && device < simgpu_device_count() ? process.physical[device] : -1;
}

int simgpu_device_current(void)
{
    return current_device;
}

struct simgpu_device *simgpu_device_get(int physical)
{
    return &devices[physical];
}

double simgpu_device_speed(int physical)
{
    return simgpu_fault_number("slow", physical, "factor", 1);
}

void simgpu_device_name(int physical, char *out, size_t size)
{
    char other[64];
    if (simgpu_fault_text("model", physical, "name", other, sizeof(other)))
        snprintf(out, size, "Simulated %s", other);
    else
        snprintf(out, size, "%s", simgpu_config()->name);
}

void simgpu_device_bus_id(int physical, char *out, size_t size)
{
    static const unsigned char buses[SIMGPU_MAX_DEVICES] = {0x07, 0x0f, 0x47, 0x4e, 0x87, 0x90,
                                                            0xb7, 0xbd, 0xc1, 0xc2, 0xc3, 0xc4,
                                                            0xc5, 0xc6, 0xc7, 0xc8};
    snprintf(out, size, "00000000:%02X:00.0", buses[physical]);
}

void simgpu_device_uuid(int physical, unsigned char out[16])
{
    char host[64] = "";
    gethostname(host, sizeof(host) - 1);
    uint64_t hash = 14695981039346656037u;
    for (const char *c = host; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    for (int i = 0; i < 16; i++) {
        hash = (hash ^ (unsigned)physical) * 1099511628211u;
        out[i] = (unsigned char)(hash >> 32);
    }
}

double simgpu_device_busy_s(int physical)
{
    pthread_mutex_lock(&devices[physical].lock);
    double busy_s = devices[physical].busy_s;
    pthread_mutex_unlock(&devices[physical].lock);
    return busy_s;
}

bool simgpu_device_lost(int physical)
{
    return devices[physical].lost;
}

uint64_t simgpu_device_used_bytes(int physical)
{
    pthread_mutex_lock(&devices[physical].lock);
    uint64_t used_bytes = devices[physical].used_bytes;
    pthread_mutex_unlock(&devices[physical].lock);
    return used_bytes + (uint64_t)simgpu_fault_number("busy", physical, "bytes", 0);
}

cudaError_t simgpu_error(cudaError_t error)
{
    if (error != cudaSuccess)
        last_error = error;
    return error;
}

/* The runtime's own needs of the driver: none at all, or one that is too old. */
static cudaError_t driver_state(void)
{
    if (simgpu_fault("no_driver", -1))
        return cudaErrorInsufficientDriver;
    if (simgpu_fault_number("driver", -1, "version", CUDART_VERSION) / 1000 < CUDART_VERSION / 1000)
        return cudaErrorInsufficientDriver;
    return simgpu_device_count() == 0 ? cudaErrorNoDevice : cudaSuccess;
}

void simgpu_trace(const char *call)
{
    if (process.trace != NULL)
        fprintf(process.trace, "%.9f %s\n", simgpu_host_now_s(), call);
}

cudaError_t simgpu_enter(const char *call)
{
    cudaError_t error = driver_state();
    simgpu_trace(call);
    if (error == cudaSuccess)
        error = devices[simgpu_device_physical(current_device)].sticky;
    return simgpu_error(error);
}

/* ---- errors ---- */

#define ERRORS(_)                                                                                  \
    _(cudaSuccess, "no error")                                                                     \
    _(cudaErrorInvalidValue, "invalid argument")                                                   \
    _(cudaErrorMemoryAllocation, "out of memory")                                                  \
    _(cudaErrorInitializationError, "initialization error")                                        \
    _(cudaErrorInvalidConfiguration, "invalid configuration argument")                             \
    _(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version") \
    _(cudaErrorInvalidDeviceFunction, "invalid device function")                                   \
    _(cudaErrorNoDevice, "no CUDA-capable device is detected")                                     \
    _(cudaErrorInvalidDevice, "invalid device ordinal")                                            \
    _(cudaErrorInvalidResourceHandle, "invalid resource handle")                                   \
    _(cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable")            \
    _(cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices")    \
    _(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled")                         \
    _(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled")                           \
    _(cudaErrorHostMemoryAlreadyRegistered,                                                        \
      "part or all of the requested memory range is already mapped")                               \
    _(cudaErrorNotReady, "device not ready")                                                       \
    _(cudaErrorIllegalAddress, "an illegal memory access was encountered")                         \
    _(cudaErrorLaunchFailure, "unspecified launch failure")                                        \
    _(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered")                            \
    _(cudaErrorNotSupported, "operation not supported")                                            \
    _(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing")       \
    _(cudaErrorStreamCaptureInvalidated,                                                           \
      "operation failed due to a previous error during capture")                                   \
    _(cudaErrorIllegalState, "the operation cannot be performed in the present state")             \
    _(cudaErrorUnknown, "unknown error")

const char *cudaGetErrorName(cudaError_t error)
{
#define NAME(code, text)                                                                           \
    case code:                                                                                     \
        return #code;
    switch ((int)error) {
        ERRORS(NAME)
    }
    return "unrecognized error code";
#undef NAME
}

const char *cudaGetErrorString(cudaError_t error)
{
#define TEXT(code, text)                                                                           \
    case code:                                                                                     \
        return text;
    switch ((int)error) {
        ERRORS(TEXT)
    }
    return "unrecognized error code";
#undef TEXT
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}

/* ---- devices, as the runtime shows them ---- */

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version =
        simgpu_fault("no_driver", -1)
            ? 0
            : (int)simgpu_fault_number("driver", -1, "version", simgpu_config()->driver_version);
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    cudaError_t error = driver_state();
    *count = error == cudaSuccess ? simgpu_device_count() : 0;
    return simgpu_error(error);
}

cudaError_t cudaSetDevice(int device)
{
    cudaError_t error = driver_state();
    if (error != cudaSuccess)
        return simgpu_error(error);
    int physical = simgpu_device_physical(device);
    if (physical < 0)
        return simgpu_error(cudaErrorInvalidDevice);
    if (simgpu_fault("exclusive", physical))
        return simgpu_error(cudaErrorDevicesUnavailable);
    current_device = device;
    return simgpu_enter(__func__);
}

cudaError_t cudaGetDevice(int *device)
{
    cudaError_t error = simgpu_enter(__func__);
    if (error == cudaSuccess)
        *device = current_device;
    return error;
}

cudaError_t cudaDeviceSynchronize(void)
{
    cudaError_t error = simgpu_enter(__func__);
    return error != cudaSuccess
               ? error
               : simgpu_error(simgpu_device_wait(simgpu_device_physical(current_device)));
}

cudaError_t cudaDeviceReset(void)
{
    return cudaDeviceSynchronize();
}

cudaError_t cudaSetDeviceFlags(unsigned flags)
{
    (void)flags;
    return cudaSuccess;
}

static int pci_bus(int physical)
{
    char text[32];
    unsigned bus = 0;
    simgpu_device_bus_id(physical, text, sizeof(text));
    sscanf(text, "%*x:%x", &bus);
    return (int)bus;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *out, int device)
{
    cudaError_t error = driver_state();
    int physical = simgpu_device_physical(device);
    if (error == cudaSuccess && physical < 0)
        error = cudaErrorInvalidDevice;
    if (error != cudaSuccess)
        return simgpu_error(error);
    const struct simgpu_config *config = simgpu_config();
    memset(out, 0, sizeof(*out));
    simgpu_device_name(physical, out->name, sizeof(out->name));
    simgpu_device_uuid(physical, (unsigned char *)out->uuid.bytes);
    out->totalGlobalMem = (size_t)config->memory_bytes;
    out->sharedMemPerBlock = 49152;
    out->sharedMemPerBlockOptin = 166912;
    out->sharedMemPerMultiprocessor = 167936;
    out->regsPerBlock = out->regsPerMultiprocessor = 65536;
    out->warpSize = 32;
    out->maxThreadsPerBlock = 1024;
    out->maxThreadsPerMultiProcessor = 2048;
    out->maxBlocksPerMultiProcessor = 32;
    out->maxThreadsDim[0] = out->maxThreadsDim[1] = 1024;
    out->maxThreadsDim[2] = 64;
    out->maxGridSize[0] = 2147483647;
    out->maxGridSize[1] = out->maxGridSize[2] = 65535;
    out->major = config->compute_capability_major;
    out->minor = config->compute_capability_minor;
    out->multiProcessorCount = config->sm_count;
    out->l2CacheSize = (int)config->l2_bytes;
    out->ECCEnabled = out->unifiedAddressing = out->concurrentKernels = 1;
    out->asyncEngineCount = 3;
    out->canMapHostMemory = out->cooperativeLaunch = 1;
    out->pciBusID = pci_bus(physical);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    struct cudaDeviceProp prop;
    cudaError_t error = cudaGetDeviceProperties(&prop, device);
    if (error != cudaSuccess)
        return error;
    int physical = simgpu_device_physical(device);
    const struct {
        enum cudaDeviceAttr attribute;
        int value;
    } known[] = {
        {cudaDevAttrMultiProcessorCount, prop.multiProcessorCount},
        {cudaDevAttrComputeCapabilityMajor, prop.major},
        {cudaDevAttrComputeCapabilityMinor, prop.minor},
        {cudaDevAttrL2CacheSize, prop.l2CacheSize},
        {cudaDevAttrMaxThreadsPerBlock, prop.maxThreadsPerBlock},
        {cudaDevAttrMaxThreadsPerMultiProcessor, prop.maxThreadsPerMultiProcessor},
        {cudaDevAttrMaxBlocksPerMultiprocessor, prop.maxBlocksPerMultiProcessor},
        {cudaDevAttrMaxSharedMemoryPerBlock, (int)prop.sharedMemPerBlock},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, (int)prop.sharedMemPerBlockOptin},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, (int)prop.sharedMemPerMultiprocessor},
        {cudaDevAttrWarpSize, 32},
        {cudaDevAttrPciBusId, prop.pciBusID},
        {cudaDevAttrPciDeviceId, 0},
        {cudaDevAttrPciDomainId, 0},
        {cudaDevAttrAsyncEngineCount, prop.asyncEngineCount},
        {cudaDevAttrUnifiedAddressing, 1},
        {cudaDevAttrEccEnabled, 1},
        {cudaDevAttrCanMapHostMemory, 1},
        {cudaDevAttrComputeMode, simgpu_fault("exclusive", physical)
                                     ? cudaComputeModeExclusiveProcess
                                     : cudaComputeModeDefault},
        {cudaDevAttrClockRate, (int)(simgpu_config()->sm_max_mhz * 1000)},
        {cudaDevAttrMemoryClockRate, (int)(simgpu_config()->memory_mhz * 1000)},
        {cudaDevAttrHostNumaId, -1},
        {cudaDevAttrMemoryPoolsSupported, 0},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].attribute == attribute) {
            *value = known[i].value;
            return cudaSuccess;
        }
    return simgpu_error(cudaErrorInvalidValue);
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int size, int device)
{
    int physical = simgpu_device_physical(device);
    if (physical < 0)
        return simgpu_error(cudaErrorInvalidDevice);
    char full[32];
    simgpu_device_bus_id(physical, full, sizeof(full));
    if (size < 13)
        return simgpu_error(cudaErrorInvalidValue);
    snprintf(text, (size_t)size, "%s", full + 4); /* the runtime writes four digits of domain */
    return cudaSuccess;
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *text)
{
    for (int i = 0; i < simgpu_device_count(); i++) {
        char own[32];
        simgpu_device_bus_id(simgpu_device_physical(i), own, sizeof(own));
        if (strcasecmp(own, text) == 0 || strcasecmp(own + 4, text) == 0) {
            *device = i;
            return cudaSuccess;
        }
    }
    return simgpu_error(cudaErrorInvalidValue);
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    int a = simgpu_device_physical(device), b = simgpu_device_physical(peer);
    if (a < 0 || b < 0)
        return simgpu_error(cudaErrorInvalidDevice);
    *can = a != b && !simgpu_fault("no_peer", a);
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    static bool enabled[SIMGPU_MAX_DEVICES][SIMGPU_MAX_DEVICES];
    int can = 0;
    cudaError_t error = cudaDeviceCanAccessPeer(&can, current_device, peer);
    if (error != cudaSuccess)
        return error;
    if (flags != 0)
        return simgpu_error(cudaErrorInvalidValue);
    if (!can)
        return simgpu_error(cudaErrorPeerAccessUnsupported);
    bool *state = &enabled[simgpu_device_physical(current_device)][simgpu_device_physical(peer)];
    if (*state)
        return simgpu_error(cudaErrorPeerAccessAlreadyEnabled);
    *state = true;
    return cudaSuccess;
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    (void)peer;
    return cudaSuccess;
}

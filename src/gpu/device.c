#define _GNU_SOURCE /* strcasestr */
#include "gpu/device.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors ---- */

/* What a user can do about the errors that a machine, rather than a bug, brings about. */
static const struct remedy {
    cudaError_t code;
    const char *hint;
} remedies[] = {
    {cudaErrorInsufficientDriver,
     "update NVIDIA's driver, or build commbound with an older CUDA toolkit"},
    {cudaErrorNoDevice,
     "look at nvidia-smi; ask the scheduler for GPUs (srun --gpus-per-node), or give the container "
     "its own (docker: --gpus all)"},
    {cudaErrorMemoryAllocation, "lower --max-bytes, or end what else uses this GPU"},
    {cudaErrorDevicesUnavailable, "another process, or another rank, holds the GPU in exclusive "
                                  "mode: end it, start one rank per "
                                  "GPU, or nvidia-smi -c DEFAULT"},
    {cudaErrorNoKernelImageForDevice,
     "build commbound with CMAKE_CUDA_ARCHITECTURES for this GPU's generation"},
    {cudaErrorStubLibrary,
     "the loader finds the toolkit's stub in place of the driver's libcuda.so.1: "
     "take CUDA's stubs folder out of LD_LIBRARY_PATH"},
    {cudaErrorUnsupportedPtxVersion,
     "update NVIDIA's driver, or build commbound with an older CUDA toolkit"},
    {cudaErrorSystemNotReady,
     "start NVIDIA's fabric manager (systemctl status nvidia-fabricmanager)"},
    {cudaErrorSystemDriverMismatch, "the driver's kernel module and its library differ in version: "
                                    "reboot, or reinstall the driver"},
    {cudaErrorCompatNotSupportedOnDevice,
     "CUDA's forward-compatibility package is for data-centre GPUs only: remove it from "
     "LD_LIBRARY_PATH"},
    {cudaErrorECCUncorrectable,
     "the GPU's memory has an error that cannot be corrected: nvidia-smi -q -d ECC; reset or "
     "replace it"},
    {cudaErrorNvlinkUncorrectable, "NVLink has an error that cannot be corrected: nvidia-smi "
                                   "nvlink -e; reset or replace the GPU"},
    {cudaErrorLaunchFailure, "look at dmesg for Xid messages of the driver"},
    {cudaErrorIllegalAddress, "look at dmesg for Xid messages of the driver"},
    {cudaErrorHardwareStackError, "look at dmesg for Xid messages of the driver"},
    {cudaErrorUnknown, "look at dmesg for Xid messages of the driver, and at nvidia-smi"},
    {cudaErrorNotPermitted, "the container or the system does not allow this"},
    {cudaErrorOperatingSystem, "look at dmesg; in a container raise --shm-size and memlock"},
    {cudaErrorStreamCaptureUnsupported, "run without --graph"},
    {cudaErrorStreamCaptureInvalidated, "run without --graph"},
    {cudaErrorMpsConnectionFailed,
     "start nvidia-cuda-mps-control, or unset CUDA_MPS_PIPE_DIRECTORY"},
    {cudaErrorPeerAccessUnsupported, "the two GPUs cannot reach each other's memory"},
};

static int code_of(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return CB_OK;
    case cudaErrorMemoryAllocation:
        return CB_E_MEMORY;
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
        return CB_E_UNSUPPORTED;
    default:
        return CB_E_MEASURE;
    }
}

static const char *hint_of(cudaError_t error)
{
    for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++)
        if (remedies[i].code == error)
            return remedies[i].hint;
    return "";
}

/* device below 0: none. */
static int fail_on(int device, cudaError_t error, const char *call, struct cb_error *err)
{
    int code = code_of(error);
    cudaGetLastError(); /* not to be found again by a later call */
    if (device >= 0)
        cb_fail(err, (enum cb_code)code, "CUDA device %d: %s failed", device, call);
    else
        cb_fail(err, (enum cb_code)code, "%s failed", call);
    cb_error_set_detail(err, "%s: %s", cudaGetErrorName(error), cudaGetErrorString(error));
    cb_error_set_hint(err, "%s", hint_of(error));
    return code;
}

int cb_cuda_check(int cuda_error, const char *call, struct cb_error *err)
{
    cudaError_t error = (cudaError_t)cuda_error;
    if (error == cudaSuccess)
        return CB_OK;
    int device = -1;
    if (code_of(error) == CB_E_UNSUPPORTED || cudaGetDevice(&device) != cudaSuccess)
        device = -1;
    return fail_on(device, error, call, err);
}

int cb_cuda_check_on(int device, int cuda_error, const char *call, struct cb_error *err)
{
    cudaError_t error = (cudaError_t)cuda_error;
    return error == cudaSuccess ? CB_OK : fail_on(device, error, call, err);
}

/* ---- which device ---- */

/* The oldest driver that serves a runtime of this major version. Source: NVIDIA, CUDA
 * Compatibility, minor version compatibility. */
static const char *driver_for(int runtime_version)
{
    switch (runtime_version / 1000) {
    case 11:
        return "450.80.02";
    case 12:
        return "525.60.13";
    case 13:
        return "580.65.06";
    default:
        return NULL;
    }
}

static void explain_old_driver(const struct cb_device_probe *probe, char *text, size_t size_bytes)
{
    int driver = probe->driver_version, runtime = probe->runtime_version;
    const char *needed = driver_for(runtime);
    if (driver == 0)
        snprintf(text, size_bytes, "no NVIDIA driver here (CUDA %d.%d is in this build)",
                 runtime / 1000, runtime % 1000 / 10);
    else
        snprintf(text, size_bytes,
                 "the driver serves CUDA %d.%d, but this build is of CUDA %d.%d%s%s", driver / 1000,
                 driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10,
                 needed ? ", which needs driver " : "", needed ? needed : "");
}

void cb_device_probe(struct cb_device_probe *out)
{
    memset(out, 0, sizeof(*out));
    if (cudaRuntimeGetVersion(&out->runtime_version) != cudaSuccess)
        out->runtime_version = CUDART_VERSION;
    if (cudaDriverGetVersion(&out->driver_version) != cudaSuccess)
        out->driver_version = 0;
    cudaError_t error = cudaGetDeviceCount(&out->count);
    if (error == cudaSuccess && out->count > 0)
        return;
    cudaGetLastError();
    out->count = 0;
    const char *masked = getenv("CUDA_VISIBLE_DEVICES");
    if (error == cudaErrorInsufficientDriver) {
        explain_old_driver(out, out->reason, sizeof(out->reason));
    } else if ((error == cudaSuccess || error == cudaErrorNoDevice) && masked) {
        snprintf(out->reason, sizeof(out->reason), "no GPU is visible (CUDA_VISIBLE_DEVICES=%s)",
                 masked);
        snprintf(out->hint, sizeof(out->hint), "unset CUDA_VISIBLE_DEVICES, or name a GPU in it");
        return;
    } else if (error == cudaSuccess) {
        error = cudaErrorNoDevice;
        snprintf(out->reason, sizeof(out->reason), "there is a driver, but no GPU");
    } else {
        snprintf(out->reason, sizeof(out->reason), "CUDA finds no GPU: %s (%s)",
                 cudaGetErrorString(error), cudaGetErrorName(error));
    }
    snprintf(out->hint, sizeof(out->hint), "%s",
             out->driver_version ? hint_of(error)
                                 : "install NVIDIA's driver on a node with GPUs; a container needs "
                                   "to be given it (docker: --gpus all)");
}

static int fail_without_device(const struct cb_device_probe *probe, struct cb_error *err)
{
    cb_fail(err, CB_E_UNSUPPORTED, "%s", probe->reason);
    if (probe->driver_version)
        cb_error_set_detail(err, "the driver serves CUDA %d.%d", probe->driver_version / 1000,
                            probe->driver_version % 1000 / 10);
    cb_error_set_hint(err, "%s", probe->hint);
    return CB_E_UNSUPPORTED;
}

static void write_uuid(const cudaUUID_t *uuid, char text[48])
{
    const char *separator[16] = {[4] = "-", [6] = "-", [8] = "-", [10] = "-"};
    size_t length = (size_t)snprintf(text, 48, "GPU-");
    for (int i = 0; i < 16; i++)
        length += (size_t)snprintf(text + length, 48 - length, "%s%02x",
                                   separator[i] ? separator[i] : "", (unsigned char)uuid->bytes[i]);
}

int cb_device_bind(int local_rank, struct cb_device *out, struct cb_error *err)
{
    struct cb_device_probe probe;
    struct cudaDeviceProp properties;
    struct cb_device device = {0};
    size_t free_bytes = 0, total_bytes = 0;
    cb_device_probe(&probe);
    if (probe.count == 0)
        return fail_without_device(&probe, err);
    device.index = local_rank % probe.count;
    cudaError_t set = cudaSetDevice(device.index);
    if (set != cudaSuccess) /* the current device is still another */
        return fail_on(device.index, set, "cudaSetDevice", err);
    int rc = cb_cuda_check((int)cudaGetDeviceProperties(&properties, device.index),
                           "cudaGetDeviceProperties", err);
    if (!rc)
        rc = cb_cuda_check(
            (int)cudaDeviceGetPCIBusId(device.pci_id, (int)sizeof(device.pci_id), device.index),
            "cudaDeviceGetPCIBusId", err);
    if (!rc)
        rc = cb_cuda_check((int)cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo", err);
    if (rc)
        return rc;
    device.free_bytes = free_bytes;
    device.visible = probe.count;
    device.driver_version = probe.driver_version;
    device.runtime_version = probe.runtime_version;
    device.compute_major = properties.major;
    device.compute_minor = properties.minor;
    device.processors = properties.multiProcessorCount;
    device.memory_bytes = properties.totalGlobalMem;
    snprintf(device.name, sizeof(device.name), "%.*s", (int)sizeof(device.name) - 1,
             properties.name);
    device.simulated = strcasestr(device.name, "simulated") != NULL;
    write_uuid(&properties.uuid, device.uuid);
    for (char *c = device.pci_id; *c; c++)
        if (*c >= 'A' && *c <= 'F')
            *c = (char)(*c - 'A' + 'a');
    *out = device;
    return CB_OK;
}

/* The GPU's part of `doctor`: the driver and CUDA's runtime, and every copy of NCCL with the reason
 * why one does not serve. Nothing is started. */
#include <stdio.h>

#include "cli/doctor.h"
#include "gpu/device.h"
#include "gpu/gpu.h"
#include "gpu/nvml_api.h"
#include "kernels/kernels.h"
#include "transport/nccl_search.h"
#include "transport/transport.h"

static void format_cuda(int version, char *text, size_t size_bytes)
{
    snprintf(text, size_bytes, "%d.%d", version / 1000, version % 1000 / 10);
}

static void look_at_cuda(struct cb_doctor *doctor, const struct cb_device_probe *probe)
{
    char runtime[16], driver[16];
    format_cuda(probe->runtime_version, runtime, sizeof(runtime));
    format_cuda(probe->driver_version, driver, sizeof(driver));
    cb_doctor_add_part(doctor, "CUDA runtime", CB_DOCTOR_FOUND, "", "%s, part of this program",
                       runtime);
    if (probe->driver_version == 0)
        cb_doctor_add_part(doctor, "NVIDIA driver", CB_DOCTOR_MISSING, "",
                           "without it this host's GPUs cannot be used; the network and the "
                           "processors are measured all the same");
    else if (probe->driver_version < probe->runtime_version && probe->count == 0)
        cb_doctor_add_part(doctor, "NVIDIA driver", CB_DOCTOR_BROKEN, "", "%s; %s", probe->reason,
                           probe->hint);
    else
        cb_doctor_add_part(doctor, "NVIDIA driver", CB_DOCTOR_FOUND, "",
                           "serves CUDA %s (this program: %s)", driver, runtime);
    if (probe->count > 0)
        cb_doctor_add_part(doctor, "GPUs", CB_DOCTOR_FOUND, "", "%d visible to CUDA", probe->count);
    else if (probe->driver_version >= probe->runtime_version)
        cb_doctor_add_part(doctor, "GPUs", CB_DOCTOR_BROKEN, "", "%s; %s", probe->reason,
                           probe->hint);
}

/* The first that serves is the one that `run` takes. */
static void look_at_nccl(struct cb_doctor *doctor, bool has_gpus)
{
    struct cb_nccl_copy copies[CB_NCCL_COPIES];
    size_t count = cb_nccl_list(NULL, copies);
    bool is_taken = false;
    if (count == 0)
        cb_doctor_add_part(doctor, "NCCL", CB_DOCTOR_MISSING, "",
                           "between GPUs; package libnccl2, or --nccl-lib and the one in "
                           "site-packages/nvidia/nccl/lib");
    for (size_t i = 0; i < count; i++) {
        const struct cb_nccl_copy *copy = &copies[i];
        char version[16];
        if (copy->serves)
            cb_doctor_add_part(doctor, "NCCL", CB_DOCTOR_FOUND, copy->path, "%s, from %s%s",
                               cb_nccl_format_version(copy->version, version), copy->origin,
                               is_taken ? "" : ": the one that run takes");
        else
            cb_doctor_add_part(doctor, "NCCL", CB_DOCTOR_BROKEN, copy->path, "from %s: %s",
                               copy->origin, copy->reason);
        is_taken |= copy->serves;
    }
    if (has_gpus && !is_taken)
        cb_doctor_add_finding(doctor, "install libnccl2, or name a copy: run --nccl-lib FILE",
                              "there are GPUs, but no NCCL that serves: they will not be "
                              "measured");
}

static void look_at_cublaslt(struct cb_doctor *doctor)
{
    struct cb_error err;
    char version[64], path[512];
    if (cb_kernels_cuda_library(version, sizeof(version), path, sizeof(path), &err) == CB_OK)
        cb_doctor_add_part(doctor, "cuBLASLt", CB_DOCTOR_FOUND, path, "%s", version);
    else
        cb_doctor_add_part(doctor, "cuBLASLt", CB_DOCTOR_MISSING, "",
                           "the speed of a GPU's matrix units; %.200s (%.200s)", err.what,
                           err.detail);
}

/* The driver's own view of the GPUs, which knows those that CUDA does not see, too. A container may
 * hold one of the driver's libraries without the other. */
static void look_at_nvml(struct cb_doctor *doctor, bool has_cuda_driver)
{
    struct cb_nvml_api api;
    struct cb_error err;
    if (cb_nvml_open(NULL, &api, &err) != CB_OK) {
        cb_doctor_add_part(
            doctor, "NVML", CB_DOCTOR_MISSING, "",
            "identity, clocks and power of GPUs; comes with NVIDIA's driver (%.200s)", err.what);
        return;
    }
    cb_doctor_add_part(doctor, "NVML", CB_DOCTOR_FOUND, api.path, "%s, driver %s", api.version,
                       api.driver);
    unsigned count = cb_gpu_count(&api, NULL, 0);
    if (count > 0 && !has_cuda_driver)
        cb_doctor_add_finding(doctor,
                              "give the container the driver's part for computing (docker: -e "
                              "NVIDIA_DRIVER_CAPABILITIES=compute,utility)",
                              "the driver shows %u GPUs, but its libcuda.so.1 is not here: CUDA "
                              "cannot use them",
                              count);
    for (unsigned i = 0; i < count; i++) {
        struct cb_gpu gpu;
        cb_gpu_look(&api, i, &gpu);
        if (gpu.answered)
            cb_doctor_add_part(doctor, "GPU", CB_DOCTOR_FOUND, "", "%u: %s, %s", i, gpu.name,
                               gpu.bus_id);
        else
            cb_doctor_add_part(doctor, "GPU", CB_DOCTOR_BROKEN, "", "%u: %s", i, gpu.reason);
    }
    cb_nvml_close(&api);
}

void cb_doctor_look_at_gpus(struct cb_doctor *doctor)
{
    struct cb_device_probe probe;
    cb_device_probe(&probe);
    if (!cb_transport_find("nccl")) {
        cb_doctor_add_part(doctor, "GPU path", CB_DOCTOR_ABSENT, "",
                           "not in this build: the network and the host's processors are "
                           "measured; %s",
                           probe.hint);
        return;
    }
    look_at_cuda(doctor, &probe);
    look_at_nvml(doctor, probe.driver_version > 0);
    look_at_nccl(doctor, probe.count > 0);
    look_at_cublaslt(doctor);
}

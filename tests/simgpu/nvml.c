/* The simulated NVML: identity from the configuration; clocks, power and temperature of a card that
 * works or idles, by whether simulated work was done since the last look. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gpu/nvml_api.h"
#include "simgpu.h"

#define MAX_DEVICES 16
#define DEFAULT_THROTTLE 0x28 /* software and hardware thermal slowdown */

struct cb_nvml_device {
    int physical;
    double seen_busy_s;
    bool working;   /* at the last look */
    unsigned looks; /* at the error counters of a working card */
};

static struct cb_nvml_device devices[MAX_DEVICES];
static bool started;

static int check(const struct cb_nvml_device *device)
{
    if (!started)
        return CB_NVML_UNINITIALIZED;
    if (device == NULL)
        return CB_NVML_INVALID_ARGUMENT;
    if (simgpu_device_lost(device->physical) || simgpu_fault("lost", device->physical))
        return CB_NVML_GPU_IS_LOST;
    return CB_NVML_SUCCESS;
}

static double number(const struct cb_nvml_device *device, const char *fault, const char *key,
                     double fallback)
{
    return simgpu_fault_number(fault, device->physical, key, fallback);
}

int nvmlInit_v2(void)
{
    int code = (int)simgpu_fault_number("nvml", -1, "code", CB_NVML_SUCCESS);
    if (code == CB_NVML_SUCCESS && simgpu_fault("no_driver", -1))
        code = CB_NVML_DRIVER_NOT_LOADED;
    for (int i = 0; i < MAX_DEVICES; i++)
        devices[i].physical = i;
    started = code == CB_NVML_SUCCESS;
    return code;
}

int nvmlShutdown(void)
{
    started = false;
    return CB_NVML_SUCCESS;
}

const char *nvmlErrorString(int result)
{
    switch (result) {
    case CB_NVML_SUCCESS:
        return "Success";
    case CB_NVML_UNINITIALIZED:
        return "Uninitialized";
    case CB_NVML_INVALID_ARGUMENT:
        return "Invalid Argument";
    case CB_NVML_NOT_SUPPORTED:
        return "Not Supported";
    case CB_NVML_NO_PERMISSION:
        return "Insufficient Permissions";
    case CB_NVML_DRIVER_NOT_LOADED:
        return "Driver Not Loaded";
    case CB_NVML_GPU_IS_LOST:
        return "GPU is lost";
    case CB_NVML_RESET_REQUIRED:
        return "GPU requires reset";
    case CB_NVML_VERSION_MISMATCH:
        return "Driver/library version mismatch";
    default:
        return "Unknown Error";
    }
}

static int put(char *out, unsigned size_bytes, const char *text)
{
    if (strlen(text) >= size_bytes)
        return CB_NVML_INSUFFICIENT_SIZE;
    snprintf(out, size_bytes, "%s", text);
    return CB_NVML_SUCCESS;
}

int nvmlSystemGetDriverVersion(char *out, unsigned size_bytes)
{
    return put(out, size_bytes, simgpu_config()->driver_text);
}

int nvmlSystemGetNVMLVersion(char *out, unsigned size_bytes)
{
    return put(out, size_bytes, "13.580 (simulated)");
}

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    *version = simgpu_config()->driver_version;
    return CB_NVML_SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    if (!started)
        return CB_NVML_UNINITIALIZED;
    int open[MAX_DEVICES];
    *count = (unsigned)simgpu_devices_open(open);
    return CB_NVML_SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct cb_nvml_device **out)
{
    int open[MAX_DEVICES];
    if (!started)
        return CB_NVML_UNINITIALIZED;
    if (index >= (unsigned)simgpu_devices_open(open))
        return CB_NVML_INVALID_ARGUMENT;
    struct cb_nvml_device *device = &devices[open[index]];
    int code = check(device);
    if (code == CB_NVML_SUCCESS)
        *out = device;
    return code;
}

int nvmlDeviceGetName(struct cb_nvml_device *device, char *out, unsigned size_bytes)
{
    char name[96];
    int code = check(device);
    if (code != CB_NVML_SUCCESS)
        return code;
    simgpu_device_name(device->physical, name, sizeof(name));
    return put(out, size_bytes, name);
}

int nvmlDeviceGetUUID(struct cb_nvml_device *device, char *out, unsigned size_bytes)
{
    char text[48];
    int code = check(device);
    if (code != CB_NVML_SUCCESS)
        return code;
    simgpu_device_uuid_text(device->physical, text);
    return put(out, size_bytes, text);
}

int nvmlDeviceGetPciInfo_v3(struct cb_nvml_device *device, struct cb_nvml_pci *out)
{
    int code = check(device);
    if (code != CB_NVML_SUCCESS)
        return code;
    memset(out, 0, sizeof(*out));
    simgpu_device_bus_id(device->physical, out->bus_id, sizeof(out->bus_id));
    memcpy(out->bus_id_legacy, out->bus_id + 4, strlen(out->bus_id + 4));
    sscanf(out->bus_id, "%*x:%x", &out->bus);
    out->device_id =
        (unsigned)number(device, "model", "pci_device_id", simgpu_config()->pci_device_id);
    out->subsystem_id = (unsigned)simgpu_config()->pci_subsystem_id;
    return CB_NVML_SUCCESS;
}

int nvmlDeviceGetMemoryInfo(struct cb_nvml_device *device, struct cb_nvml_memory_v1 *out)
{
    int code = check(device);
    if (code != CB_NVML_SUCCESS)
        return code;
    out->total = (unsigned long long)simgpu_config()->memory_bytes;
    out->used = simgpu_device_used_bytes(device->physical);
    out->free = out->total - out->used;
    return CB_NVML_SUCCESS;
}

int nvmlDeviceGetMemoryInfo_v2(struct cb_nvml_device *device, struct cb_nvml_memory *out)
{
    struct cb_nvml_memory_v1 plain;
    if (out->version != CB_NVML_MEMORY_V2)
        return CB_NVML_INVALID_ARGUMENT;
    int code = nvmlDeviceGetMemoryInfo(device, &plain);
    if (code != CB_NVML_SUCCESS)
        return code;
    out->total = plain.total;
    out->used = plain.used;
    out->free = plain.free;
    out->reserved = 0;
    return CB_NVML_SUCCESS;
}

int nvmlDeviceGetNumGpuCores(struct cb_nvml_device *device, unsigned *cores)
{
    int code = check(device);
    unsigned each = simgpu_config()->compute_capability_major == 8 &&
                            simgpu_config()->compute_capability_minor == 0
                        ? 64
                        : 128;
    if (code == CB_NVML_SUCCESS)
        *cores = each * (unsigned)simgpu_config()->sm_count;
    return code;
}

int nvmlDeviceGetCudaComputeCapability(struct cb_nvml_device *device, int *major, int *minor)
{
    int code = check(device);
    if (code == CB_NVML_SUCCESS) {
        *major = simgpu_config()->compute_capability_major;
        *minor = simgpu_config()->compute_capability_minor;
    }
    return code;
}

/* Whether simulated work was done since the last look, or was seen at that one. */
static bool works(struct cb_nvml_device *device)
{
    double busy_s = simgpu_device_busy_s(device->physical);
    if (busy_s > device->seen_busy_s)
        device->working = true;
    device->seen_busy_s = busy_s;
    return device->working;
}

int nvmlDeviceGetClockInfo(struct cb_nvml_device *device, int clock, unsigned *mhz)
{
    int code = check(device);
    const struct simgpu_config *config = simgpu_config();
    if (code != CB_NVML_SUCCESS)
        return code;
    double value = clock == CB_NVML_CLOCK_MEMORY ? config->memory_mhz : config->sm_mhz;
    if (clock != CB_NVML_CLOCK_MEMORY)
        value *= simgpu_device_speed(device->physical);
    if (!works(device) && clock != CB_NVML_CLOCK_MEMORY)
        value = 210;
    *mhz = (unsigned)value;
    return CB_NVML_SUCCESS;
}

int nvmlDeviceGetMaxClockInfo(struct cb_nvml_device *device, int clock, unsigned *mhz)
{
    int code = check(device);
    const struct simgpu_config *config = simgpu_config();
    if (code == CB_NVML_SUCCESS)
        *mhz = (unsigned)(clock == CB_NVML_CLOCK_MEMORY ? config->memory_mhz : config->sm_max_mhz);
    return code;
}

int nvmlDeviceGetPowerUsage(struct cb_nvml_device *device, unsigned *milliwatts)
{
    int code = check(device);
    const struct simgpu_config *config = simgpu_config();
    if (code == CB_NVML_SUCCESS)
        *milliwatts = (unsigned)(1e3 * (works(device) ? config->power_load_w *
                                                            simgpu_device_speed(device->physical)
                                                      : config->power_idle_w));
    return code;
}

int nvmlDeviceGetEnforcedPowerLimit(struct cb_nvml_device *device, unsigned *milliwatts)
{
    int code = check(device);
    if (code == CB_NVML_SUCCESS)
        *milliwatts =
            (unsigned)(1e3 * number(device, "power_cap", "watts", simgpu_config()->power_limit_w));
    return code;
}

int nvmlDeviceGetPowerManagementDefaultLimit(struct cb_nvml_device *device, unsigned *milliwatts)
{
    int code = check(device);
    if (code == CB_NVML_SUCCESS)
        *milliwatts = (unsigned)(1e3 * simgpu_config()->power_limit_w);
    return code;
}

int nvmlDeviceGetTemperature(struct cb_nvml_device *device, int sensor, unsigned *celsius)
{
    (void)sensor;
    int code = check(device);
    const struct simgpu_config *config = simgpu_config();
    if (code == CB_NVML_SUCCESS)
        *celsius =
            (unsigned)(works(device) ? number(device, "slow", "celsius", config->temperature_load_c)
                                     : config->temperature_idle_c);
    return code;
}

int nvmlDeviceGetUtilizationRates(struct cb_nvml_device *device, struct cb_nvml_utilization *out)
{
    int code = check(device);
    if (code != CB_NVML_SUCCESS)
        return code;
    out->gpu = works(device) ? 100 : (unsigned)number(device, "busy", "utilization", 0);
    out->memory = out->gpu / 2;
    return CB_NVML_SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(struct cb_nvml_device *device, unsigned *count,
                                            struct cb_nvml_process *processes)
{
    int code = check(device);
    if (code != CB_NVML_SUCCESS)
        return code;
    unsigned there = (unsigned)number(device, "busy", "processes",
                                      simgpu_fault("busy", device->physical) ? 1 : 0);
    unsigned room = *count;
    *count = there;
    if (there > room)
        return CB_NVML_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < there; i++)
        processes[i] = (struct cb_nvml_process){
            .pid = 4242 + i, .used_bytes = (unsigned long long)number(device, "busy", "bytes", 0)};
    return CB_NVML_SUCCESS;
}

int nvmlDeviceGetCurrentClocksEventReasons(struct cb_nvml_device *device,
                                           unsigned long long *reasons)
{
    int code = check(device);
    if (code != CB_NVML_SUCCESS)
        return code;
    bool slow = simgpu_fault("slow", device->physical);
    *reasons = (unsigned long long)number(device, "slow", "reasons", slow ? DEFAULT_THROTTLE : 0);
    if (!works(device))
        *reasons = 0x1;
    return CB_NVML_SUCCESS;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(struct cb_nvml_device *device,
                                              unsigned long long *reasons)
{
    return nvmlDeviceGetCurrentClocksEventReasons(device, reasons);
}

int nvmlDeviceGetEccMode(struct cb_nvml_device *device, int *current, int *pending)
{
    int code = check(device);
    if (code == CB_NVML_SUCCESS)
        *current = *pending = !simgpu_fault("ecc_off", device->physical);
    return code;
}

int nvmlDeviceGetTotalEccErrors(struct cb_nvml_device *device, int kind, int counter,
                                unsigned long long *errors)
{
    (void)counter;
    int code = check(device);
    if (code != CB_NVML_SUCCESS)
        return code;
    if (works(device) && kind == CB_NVML_ECC_CORRECTED)
        device->looks++;
    *errors = device->looks *
              (unsigned long long)number(
                  device, "ecc", kind == CB_NVML_ECC_CORRECTED ? "corrected" : "uncorrected", 0);
    return code;
}

int nvmlDeviceGetRemappedRows(struct cb_nvml_device *device, unsigned *corrected,
                              unsigned *uncorrected, unsigned *pending, unsigned *failed)
{
    int code = check(device);
    if (code == CB_NVML_SUCCESS) {
        *corrected = (unsigned)number(device, "rows", "corrected", 0);
        *uncorrected = (unsigned)number(device, "rows", "uncorrected", 0);
        *pending = (unsigned)number(device, "rows", "pending", 0);
        *failed = (unsigned)number(device, "rows", "failed", 0);
    }
    return code;
}

int nvmlDeviceGetMigMode(struct cb_nvml_device *device, unsigned *current, unsigned *pending)
{
    int code = check(device);
    if (code == CB_NVML_SUCCESS)
        *current = *pending = simgpu_fault("mig", device->physical);
    return code;
}

int nvmlDeviceGetMaxPcieLinkGeneration(struct cb_nvml_device *device, unsigned *generation)
{
    int code = check(device);
    if (code == CB_NVML_SUCCESS)
        *generation = (unsigned)simgpu_config()->pcie_generation;
    return code;
}

int nvmlDeviceGetMaxPcieLinkWidth(struct cb_nvml_device *device, unsigned *width)
{
    int code = check(device);
    if (code == CB_NVML_SUCCESS)
        *width = (unsigned)simgpu_config()->pcie_width;
    return code;
}

/* Cards lower their link's speed when idle. */
int nvmlDeviceGetCurrPcieLinkGeneration(struct cb_nvml_device *device, unsigned *generation)
{
    int code = check(device);
    if (code == CB_NVML_SUCCESS)
        *generation = works(device) ? (unsigned)number(device, "pcie", "generation",
                                                       simgpu_config()->pcie_generation)
                                    : 1;
    return code;
}

int nvmlDeviceGetCurrPcieLinkWidth(struct cb_nvml_device *device, unsigned *width)
{
    int code = check(device);
    if (code == CB_NVML_SUCCESS)
        *width = (unsigned)number(device, "pcie", "width", simgpu_config()->pcie_width);
    return code;
}

int nvmlDeviceGetNvLinkState(struct cb_nvml_device *device, unsigned link, int *is_active)
{
    int code = check(device);
    if (code != CB_NVML_SUCCESS)
        return code;
    if (link >= (unsigned)simgpu_config()->nvlink_links)
        return CB_NVML_INVALID_ARGUMENT;
    *is_active = link >= (unsigned)number(device, "nvlink", "down", 0);
    return CB_NVML_SUCCESS;
}

/* The specification's versions as NVML counts them. */
int nvmlDeviceGetNvLinkVersion(struct cb_nvml_device *device, unsigned link, unsigned *version)
{
    static const unsigned codes[] = {[1] = 1, [2] = 2, [3] = 4, [4] = 6, [5] = 7};
    int code = check(device);
    if (code != CB_NVML_SUCCESS)
        return code;
    int generation = simgpu_config()->nvlink_version;
    if (link >= (unsigned)simgpu_config()->nvlink_links || generation < 1 || generation > 5)
        return CB_NVML_INVALID_ARGUMENT;
    *version = codes[generation];
    return CB_NVML_SUCCESS;
}

/* Without switches, link by link to the others in turn. */
static int other_end(const struct cb_nvml_device *device, unsigned link)
{
    int others = simgpu_config()->devices - 1;
    int end = others > 0 ? (int)link % others : device->physical;
    return end + (end >= device->physical);
}

int nvmlDeviceGetNvLinkRemoteDeviceType(struct cb_nvml_device *device, unsigned link, int *end)
{
    int code = check(device);
    if (code != CB_NVML_SUCCESS)
        return code;
    if (link >= (unsigned)simgpu_config()->nvlink_links)
        return CB_NVML_INVALID_ARGUMENT;
    *end = simgpu_config()->nvlink_switch ? CB_NVML_END_SWITCH : CB_NVML_END_GPU;
    return CB_NVML_SUCCESS;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(struct cb_nvml_device *device, unsigned link,
                                        struct cb_nvml_pci *pci)
{
    int code = check(device);
    if (code != CB_NVML_SUCCESS)
        return code;
    if (link >= (unsigned)simgpu_config()->nvlink_links || simgpu_config()->nvlink_switch)
        return CB_NVML_INVALID_ARGUMENT;
    return nvmlDeviceGetPciInfo_v3(&devices[other_end(device, link)], pci);
}

int nvmlDeviceGetFieldValues(struct cb_nvml_device *device, int count, struct cb_nvml_field *fields)
{
    int code = check(device);
    if (code != CB_NVML_SUCCESS)
        return code;
    /* The real one counts the line's coding from NVLink 4 on. */
    double coding = simgpu_config()->nvlink_version >= 4 ? 1.0625 : 1;
    for (int i = 0; i < count; i++) {
        struct cb_nvml_field *field = &fields[i];
        bool is_speed = field->field == CB_NVML_FIELD_LINK_MBPS &&
                        field->scope < (unsigned)simgpu_config()->nvlink_links;
        field->result = is_speed ? CB_NVML_SUCCESS : CB_NVML_NOT_SUPPORTED;
        field->type = CB_NVML_VALUE_UNSIGNED_32;
        field->value.unsigned_32 = (unsigned)(coding * simgpu_config()->nvlink_bytes_per_s / 1e6);
    }
    return CB_NVML_SUCCESS;
}

int nvmlDeviceGetGpuFabricInfoV(struct cb_nvml_device *device, struct cb_nvml_fabric *fabric)
{
    int code = check(device);
    if (code != CB_NVML_SUCCESS)
        return code;
    if (fabric->version != CB_NVML_FABRIC_V2)
        return CB_NVML_INVALID_ARGUMENT;
    fabric->status = CB_NVML_SUCCESS;
    fabric->state = (unsigned char)number(device, "fabric", "state", simgpu_config()->fabric_state);
    fabric->health = (unsigned)number(device, "fabric", "health", 0x1aa);
    return CB_NVML_SUCCESS;
}

int nvmlDeviceGetP2PStatus(struct cb_nvml_device *a, struct cb_nvml_device *b, int p2p, int *status)
{
    (void)p2p;
    int code = check(a);
    if (code == CB_NVML_SUCCESS)
        code = check(b);
    if (code == CB_NVML_SUCCESS)
        *status = simgpu_fault("no_peer", a->physical) ? 1 : 0; /* the chipset does not */
    return code;
}

int nvmlDeviceGetTopologyCommonAncestor(struct cb_nvml_device *a, struct cb_nvml_device *b,
                                        int *level)
{
    int code = check(a);
    if (code == CB_NVML_SUCCESS)
        code = check(b);
    if (code != CB_NVML_SUCCESS)
        return code;
    int each = simgpu_config()->gpus_per_switch, half = (simgpu_config()->devices + 1) / 2;
    if (each > 1 && a->physical / each == b->physical / each)
        *level = CB_NVML_LEVEL_MULTIPLE;
    else
        *level =
            a->physical / half == b->physical / half ? CB_NVML_LEVEL_NODE : CB_NVML_LEVEL_SYSTEM;
    return CB_NVML_SUCCESS;
}

int nvmlDeviceGetGpuMaxPcieLinkGeneration(struct cb_nvml_device *device, unsigned *generation)
{
    return nvmlDeviceGetMaxPcieLinkGeneration(device, generation);
}

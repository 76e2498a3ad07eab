#include "gpu/gpu.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "gpu/nvml_api.h"

const struct cb_gpu_sample cb_gpu_sample_unknown = {
    .sm_clock_hz = -1,
    .memory_clock_hz = -1,
    .power_w = -1,
    .temperature_celsius = -1,
    .utilization = -1,
    .pcie_generation = -1,
    .pcie_width = -1,
    .throttle = -1,
    .ecc_corrected = -1,
    .ecc_uncorrected = -1,
};

/* ---- PCI addresses ---- */

/* Reads the hexadecimal digits at *text, at most so many, up to end. */
static bool read_hex(const char **text, int most_digits, char end, unsigned *value)
{
    int digits = 0;
    *value = 0;
    for (; digits < most_digits && isxdigit((unsigned char)**text); digits++, (*text)++) {
        int c = tolower((unsigned char)**text);
        *value = *value << 4 | (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    if (digits == 0 || **text != end)
        return false;
    *text += end != '\0';
    return true;
}

bool cb_gpu_bus_id_normalise(const char *given, char *text, size_t size_bytes)
{
    unsigned domain = 0, bus, device, function;
    const char *at = given;
    bool has_domain = strchr(given, ':') != strrchr(given, ':');
    text[0] = '\0';
    if (has_domain && !read_hex(&at, 8, ':', &domain))
        return false;
    if (!read_hex(&at, 2, ':', &bus) || !read_hex(&at, 2, '.', &device) ||
        !read_hex(&at, 1, '\0', &function))
        return false;
    snprintf(text, size_bytes, "%04x:%02x:%02x.%x", domain, bus, device, function);
    return true;
}

/* ---- asking ---- */

/* One card, and what it refused to say. */
struct question {
    const struct cb_nvml_api *api;
    struct cb_nvml_device *device;
    int worst; /* the first refusal that is not just "not supported" */
    const char *worst_call;
};

static bool answered(struct question *q, const char *call, int result)
{
    if (result == CB_NVML_SUCCESS)
        return true;
    bool is_usual = result == CB_NVML_NOT_SUPPORTED || result == CB_NVML_FUNCTION_NOT_FOUND ||
                    result == CB_NVML_INVALID_ARGUMENT;
    if (!is_usual && q->worst == CB_NVML_SUCCESS) {
        q->worst = result;
        q->worst_call = call;
    }
    return false;
}

/* True when the library has the call and the card answers it. */
#define ASK(q, call, ...)                                                                          \
    ((q)->api->call && answered((q), #call, (q)->api->call((q)->device, __VA_ARGS__)))

/* A figure of NVML in its unit, as a figure in base units; -1 when there is none. By pointer, since
 * the call that fills it stands beside it. */
static double scaled(bool is_known, const unsigned *value, double unit)
{
    return is_known ? *value * unit : -1;
}

#define MEGAHERTZ 1e6
#define MILLIWATT 1e-3
#define PERCENT 0.01

/* CUDA cores of one multiprocessor. Source: CUDA C Programming Guide, "Arithmetic instructions",
 * results of 32-bit floating-point add per clock. */
static int cores_per_sm(int compute_capability)
{
    switch (compute_capability) {
    case 60:
    case 70:
    case 72:
    case 75:
    case 80:
        return 64;
    default:
        return 128;
    }
}

static void ask_identity(struct question *q, struct cb_gpu *gpu)
{
    struct cb_nvml_pci pci;
    unsigned cores = 0;
    int major = 0, minor = 0;
    if (ASK(q, nvmlDeviceGetPciInfo_v3, &pci)) {
        cb_gpu_bus_id_normalise(pci.bus_id, gpu->bus_id, sizeof(gpu->bus_id));
        gpu->pci_device_id = (int)(pci.device_id >> 16);
        gpu->pci_vendor_id = (int)(pci.device_id & 0xffff);
        gpu->subsystem_id = (int)(pci.subsystem_id >> 16);
        gpu->subsystem_vendor_id = (int)(pci.subsystem_id & 0xffff);
    }
    if (!ASK(q, nvmlDeviceGetUUID, gpu->uuid, sizeof(gpu->uuid)))
        gpu->uuid[0] = '\0';
    if (ASK(q, nvmlDeviceGetCudaComputeCapability, &major, &minor))
        gpu->compute_capability = 10 * major + minor;
    if (gpu->compute_capability > 0 && ASK(q, nvmlDeviceGetNumGpuCores, &cores))
        gpu->sm_count = (int)cores / cores_per_sm(gpu->compute_capability);
    snprintf(gpu->driver, sizeof(gpu->driver), "%s", q->api->driver);
    gpu->cuda_version = q->api->cuda_version;
}

static void ask_memory(struct question *q, struct cb_gpu *gpu)
{
    struct cb_nvml_memory memory = {.version = CB_NVML_MEMORY_V2};
    struct cb_nvml_memory_v1 older;
    if (ASK(q, nvmlDeviceGetMemoryInfo_v2, &memory)) {
        gpu->memory_bytes = (double)memory.total;
        gpu->idle_memory_bytes = (double)memory.used;
    } else if (ASK(q, nvmlDeviceGetMemoryInfo, &older)) {
        gpu->memory_bytes = (double)older.total;
        gpu->idle_memory_bytes = (double)older.used;
    }
}

static void ask_limits(struct question *q, struct cb_gpu *gpu)
{
    unsigned value = 0, other = 0;
    gpu->sm_clock_limit_hz =
        scaled(ASK(q, nvmlDeviceGetMaxClockInfo, CB_NVML_CLOCK_SM, &value), &value, MEGAHERTZ);
    gpu->memory_clock_limit_hz =
        scaled(ASK(q, nvmlDeviceGetMaxClockInfo, CB_NVML_CLOCK_MEMORY, &value), &value, MEGAHERTZ);
    gpu->power_limit_w = scaled(ASK(q, nvmlDeviceGetEnforcedPowerLimit, &value), &value, MILLIWATT);
    gpu->power_limit_default_w =
        scaled(ASK(q, nvmlDeviceGetPowerManagementDefaultLimit, &value), &value, MILLIWATT);
    gpu->mig = ASK(q, nvmlDeviceGetMigMode, &value, &other) ? value != 0 : -1;
    gpu->pcie_generation_limit =
        ASK(q, nvmlDeviceGetMaxPcieLinkGeneration, &value) ? (int)value : -1;
    gpu->pcie_width_limit = ASK(q, nvmlDeviceGetMaxPcieLinkWidth, &value) ? (int)value : -1;
}

static double ask_ecc(struct question *q, int kind, int counter)
{
    unsigned long long errors;
    return ASK(q, nvmlDeviceGetTotalEccErrors, kind, counter, &errors) ? (double)errors : -1;
}

static void ask_memory_health(struct question *q, struct cb_gpu *gpu)
{
    int current, pending;
    unsigned corrected, uncorrected, is_pending, has_failed;
    gpu->ecc = ASK(q, nvmlDeviceGetEccMode, &current, &pending) ? current != 0 : -1;
    gpu->ecc_corrected = ask_ecc(q, CB_NVML_ECC_CORRECTED, CB_NVML_ECC_AGGREGATE);
    gpu->ecc_uncorrected = ask_ecc(q, CB_NVML_ECC_UNCORRECTED, CB_NVML_ECC_AGGREGATE);
    if (!ASK(q, nvmlDeviceGetRemappedRows, &corrected, &uncorrected, &is_pending, &has_failed))
        return;
    gpu->rows_remapped = (int)(corrected + uncorrected);
    gpu->rows_pending = is_pending != 0;
    gpu->rows_failed = has_failed != 0;
}

/* Numbers beyond the last link answer "invalid argument"; a link that the card lacks, "not
 * supported", as all do where it has none. Cards with fewer than their kind lack some in between.
 */
static void ask_links(struct question *q, struct cb_gpu *gpu)
{
    int active = 0;
    if (!q->api->nvmlDeviceGetNvLinkState)
        return;
    for (unsigned link = 0; link < CB_NVML_LINKS; link++) {
        int is_active = 0;
        int result = q->api->nvmlDeviceGetNvLinkState(q->device, link, &is_active);
        if (result == CB_NVML_INVALID_ARGUMENT)
            break;
        if (result == CB_NVML_NOT_SUPPORTED)
            continue;
        if (!answered(q, "nvmlDeviceGetNvLinkState", result))
            return;
        active += is_active != 0;
    }
    gpu->nvlinks = active;
}

static int count_processes(struct question *q)
{
    unsigned count = 0;
    if (!q->api->nvmlDeviceGetComputeRunningProcesses_v3)
        return -1;
    int result = q->api->nvmlDeviceGetComputeRunningProcesses_v3(q->device, &count, NULL);
    if (result == CB_NVML_INSUFFICIENT_SIZE) /* the answer to "how many", when there are some */
        return (int)count;
    return answered(q, "nvmlDeviceGetComputeRunningProcesses_v3", result) ? (int)count : -1;
}

static void ask_state(struct question *q, struct cb_gpu *gpu)
{
    struct cb_nvml_utilization utilization;
    unsigned value = 0;
    if (ASK(q, nvmlDeviceGetUtilizationRates, &utilization))
        gpu->idle_utilization = utilization.gpu * PERCENT;
    gpu->idle_processes = count_processes(q);
    gpu->idle_power_w = scaled(ASK(q, nvmlDeviceGetPowerUsage, &value), &value, MILLIWATT);
    gpu->idle_temperature_celsius =
        scaled(ASK(q, nvmlDeviceGetTemperature, CB_NVML_TEMPERATURE_GPU, &value), &value, 1);
    gpu->idle_sm_clock_hz =
        scaled(ASK(q, nvmlDeviceGetClockInfo, CB_NVML_CLOCK_SM, &value), &value, MEGAHERTZ);
}

/* Everything unknown. */
static void forget(struct cb_gpu *gpu)
{
    *gpu = (struct cb_gpu){
        .node = -1,
        .rank = -1,
        .index = -1,
        .cuda_version = 0,
        .pci_device_id = -1,
        .pci_vendor_id = -1,
        .subsystem_id = -1,
        .subsystem_vendor_id = -1,
        .sm_count = -1,
        .compute_capability = -1,
        .memory_bytes = -1,
        .sm_clock_limit_hz = -1,
        .memory_clock_limit_hz = -1,
        .power_limit_w = -1,
        .power_limit_default_w = -1,
        .mig = -1,
        .ecc = -1,
        .ecc_corrected = -1,
        .ecc_uncorrected = -1,
        .rows_remapped = -1,
        .rows_pending = -1,
        .rows_failed = -1,
        .pcie_generation_limit = -1,
        .pcie_width_limit = -1,
        .nvlinks = -1,
        .idle_utilization = -1,
        .idle_memory_bytes = -1,
        .idle_processes = -1,
        .idle_power_w = -1,
        .idle_temperature_celsius = -1,
        .idle_sm_clock_hz = -1,
    };
}

static void explain(const struct cb_nvml_api *api, const char *call, int result, char *reason,
                    size_t reason_size)
{
    if (reason)
        snprintf(reason, reason_size, "%s: %.70s", call, api->nvmlErrorString(result));
}

void cb_gpu_look(const struct cb_nvml_api *api, unsigned index, struct cb_gpu *gpu)
{
    struct question q = {.api = api};
    forget(gpu);
    gpu->index = (int)index;
    int result = api->nvmlDeviceGetHandleByIndex_v2(index, &q.device);
    if (result != CB_NVML_SUCCESS) {
        explain(api, "nvmlDeviceGetHandleByIndex_v2", result, gpu->reason, sizeof(gpu->reason));
        return;
    }
    gpu->answered = ASK(&q, nvmlDeviceGetName, gpu->name, sizeof(gpu->name));
    ask_identity(&q, gpu);
    ask_memory(&q, gpu);
    ask_limits(&q, gpu);
    ask_memory_health(&q, gpu);
    ask_links(&q, gpu);
    ask_state(&q, gpu);
    if (q.worst != CB_NVML_SUCCESS)
        explain(api, q.worst_call, q.worst, gpu->reason, sizeof(gpu->reason));
}

bool cb_gpu_may_be_waking(const struct cb_gpu *gpu)
{
    return gpu->idle_utilization > 0 && gpu->idle_processes == 0;
}

void cb_gpu_look_again(const struct cb_nvml_api *api, unsigned index, struct cb_gpu *gpu)
{
    struct question q = {.api = api};
    struct cb_nvml_utilization utilization;
    if (api->nvmlDeviceGetHandleByIndex_v2(index, &q.device) == CB_NVML_SUCCESS &&
        ASK(&q, nvmlDeviceGetUtilizationRates, &utilization) &&
        utilization.gpu * PERCENT < gpu->idle_utilization)
        gpu->idle_utilization = utilization.gpu * PERCENT;
}

unsigned cb_gpu_count(const struct cb_nvml_api *api, char *reason, size_t reason_size)
{
    unsigned count = 0;
    int result = api->nvmlDeviceGetCount_v2(&count);
    if (result == CB_NVML_SUCCESS)
        return count;
    explain(api, "nvmlDeviceGetCount_v2", result, reason, reason_size);
    return 0;
}

bool cb_gpu_address(const struct cb_nvml_api *api, unsigned index, char *text, size_t size_bytes)
{
    struct cb_nvml_device *device;
    struct cb_nvml_pci pci;
    text[0] = '\0';
    return api->nvmlDeviceGetHandleByIndex_v2(index, &device) == CB_NVML_SUCCESS &&
           api->nvmlDeviceGetPciInfo_v3(device, &pci) == CB_NVML_SUCCESS &&
           cb_gpu_bus_id_normalise(pci.bus_id, text, size_bytes);
}

int cb_gpu_find(const struct cb_nvml_api *api, const char *bus_id)
{
    char wanted[32], found[32];
    if (!cb_gpu_bus_id_normalise(bus_id, wanted, sizeof(wanted)))
        return -1;
    unsigned count = cb_gpu_count(api, NULL, 0);
    for (unsigned i = 0; i < count; i++)
        if (cb_gpu_address(api, i, found, sizeof(found)) && strcmp(wanted, found) == 0)
            return (int)i;
    return -1;
}

/* ---- sampling ---- */

static int ask_throttle(struct question *q)
{
    unsigned long long reasons;
    if (ASK(q, nvmlDeviceGetCurrentClocksEventReasons, &reasons) ||
        ASK(q, nvmlDeviceGetCurrentClocksThrottleReasons, &reasons))
        return (int)(reasons & 0x1ff);
    return -1;
}

void cb_gpu_sample(const struct cb_nvml_api *api, unsigned index, struct cb_gpu_sample *sample)
{
    struct question q = {.api = api};
    struct cb_nvml_utilization utilization;
    unsigned value = 0;
    double time_s = sample->time_s;
    *sample = cb_gpu_sample_unknown;
    sample->time_s = time_s;
    int result = api->nvmlDeviceGetHandleByIndex_v2(index, &q.device);
    sample->lost = result == CB_NVML_GPU_IS_LOST;
    if (result != CB_NVML_SUCCESS)
        return;
    sample->sm_clock_hz =
        scaled(ASK(&q, nvmlDeviceGetClockInfo, CB_NVML_CLOCK_SM, &value), &value, MEGAHERTZ);
    sample->memory_clock_hz =
        scaled(ASK(&q, nvmlDeviceGetClockInfo, CB_NVML_CLOCK_MEMORY, &value), &value, MEGAHERTZ);
    sample->power_w = scaled(ASK(&q, nvmlDeviceGetPowerUsage, &value), &value, MILLIWATT);
    sample->temperature_celsius =
        scaled(ASK(&q, nvmlDeviceGetTemperature, CB_NVML_TEMPERATURE_GPU, &value), &value, 1);
    if (ASK(&q, nvmlDeviceGetUtilizationRates, &utilization))
        sample->utilization = utilization.gpu * PERCENT;
    sample->throttle = ask_throttle(&q);
    if (ASK(&q, nvmlDeviceGetCurrPcieLinkGeneration, &value))
        sample->pcie_generation = (int)value;
    if (ASK(&q, nvmlDeviceGetCurrPcieLinkWidth, &value))
        sample->pcie_width = (int)value;
    sample->ecc_corrected = ask_ecc(&q, CB_NVML_ECC_CORRECTED, CB_NVML_ECC_VOLATILE);
    sample->ecc_uncorrected = ask_ecc(&q, CB_NVML_ECC_UNCORRECTED, CB_NVML_ECC_VOLATILE);
    sample->lost = q.worst == CB_NVML_GPU_IS_LOST;
}

/* ---- throttle reasons ---- */

static const struct {
    int bit;
    const char *name;
} throttles[] = {
    {CB_THROTTLE_IDLE, "idle"},
    {CB_THROTTLE_APPLICATION_CLOCKS, "application clocks"},
    {CB_THROTTLE_POWER_CAP, "power cap"},
    {CB_THROTTLE_HARDWARE_SLOWDOWN, "hardware slowdown"},
    {CB_THROTTLE_SYNC_BOOST, "sync boost"},
    {CB_THROTTLE_THERMAL, "thermal slowdown"},
    {CB_THROTTLE_HARDWARE_THERMAL, "hardware thermal slowdown"},
    {CB_THROTTLE_POWER_BRAKE, "power brake"},
    {CB_THROTTLE_DISPLAY_CLOCKS, "display clocks"},
};

const char *cb_throttle_text(int throttle, char *text, size_t size_bytes)
{
    size_t used = 0;
    snprintf(text, size_bytes, "%s", throttle < 0 ? "unknown" : "none");
    for (size_t i = 0; i < sizeof(throttles) / sizeof(throttles[0]) && throttle > 0; i++)
        if (throttle & throttles[i].bit && used < size_bytes)
            used += (size_t)snprintf(text + used, size_bytes - used, "%s%s", used ? ", " : "",
                                     throttles[i].name);
    return text;
}

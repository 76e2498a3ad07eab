#include "fake_nvml.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static struct fake_nvml *fake;

struct fake_card fake_a100(const char *bus_id)
{
    return (struct fake_card){.name = "NVIDIA A100-SXM4-80GB",
                              .bus_id = bus_id,
                              .device_id = 0x20b210de,
                              .subsystem_id = 0x147f10de,
                              .major = 8,
                              .minor = 0,
                              .cores = 6912,
                              .memory_bytes = 85899345920,
                              .used_bytes = 4 << 20,
                              .sm_limit_mhz = 1410,
                              .memory_limit_mhz = 1593,
                              .sm_mhz = 210,
                              .memory_mhz = 1593,
                              .power_mw = 62500,
                              .power_limit_mw = 400000,
                              .power_default_mw = 400000,
                              .celsius = 31,
                              .generation = 1,
                              .width = 16,
                              .generation_limit = 4,
                              .width_limit = 16,
                              .links = 12,
                              .links_active = 12,
                              .link_end = CB_NVML_END_SWITCH,
                              .link_version = 4,
                              .link_mbps = 25000,
                              .level = CB_NVML_LEVEL_SYSTEM};
}

static struct fake_card *card(struct cb_nvml_device *device)
{
    return &fake->cards[(uintptr_t)device - 1];
}

static int init(void)
{
    return CB_NVML_SUCCESS;
}

static const char *error_string(int result)
{
    return result == CB_NVML_GPU_IS_LOST ? "GPU is lost" : "refused";
}

static int get_count(unsigned *count)
{
    *count = fake->count;
    return CB_NVML_SUCCESS;
}

static int get_handle(unsigned index, struct cb_nvml_device **device)
{
    if (index >= fake->count)
        return CB_NVML_INVALID_ARGUMENT;
    *device = (struct cb_nvml_device *)(uintptr_t)(index + 1);
    return fake->cards[index].result;
}

static int give_text(struct cb_nvml_device *device, const char *from, char *text, unsigned size)
{
    snprintf(text, size, "%s", from);
    return card(device)->result;
}

static int get_name(struct cb_nvml_device *device, char *name, unsigned size_bytes)
{
    return give_text(device, card(device)->name, name, size_bytes);
}

static int get_uuid(struct cb_nvml_device *device, char *uuid, unsigned size_bytes)
{
    return give_text(device, "GPU-0", uuid, size_bytes);
}

static int get_pci(struct cb_nvml_device *device, struct cb_nvml_pci *pci)
{
    memset(pci, 0, sizeof(*pci));
    pci->device_id = card(device)->device_id;
    pci->subsystem_id = card(device)->subsystem_id;
    snprintf(pci->bus_id, sizeof(pci->bus_id), "%s", card(device)->bus_id);
    return card(device)->result;
}

static int get_memory(struct cb_nvml_device *device, struct cb_nvml_memory *memory)
{
    if (memory->version != CB_NVML_MEMORY_V2)
        return CB_NVML_INVALID_ARGUMENT;
    memory->total = card(device)->memory_bytes;
    memory->used = card(device)->used_bytes;
    return card(device)->result;
}

static int get_cores(struct cb_nvml_device *device, unsigned *cores)
{
    *cores = card(device)->cores;
    return card(device)->result;
}

static int get_capability(struct cb_nvml_device *device, int *major, int *minor)
{
    *major = card(device)->major;
    *minor = card(device)->minor;
    return card(device)->result;
}

static int get_clock(struct cb_nvml_device *device, int clock, unsigned *mhz)
{
    struct fake_card *c = card(device);
    if (clock == CB_NVML_CLOCK_MEMORY) {
        *mhz = c->memory_mhz;
        return c->result;
    }
    *mhz = c->sm_mhz_at ? c->sm_mhz_at(c->readings) : c->sm_mhz;
    c->readings++;
    if (c->samples_until_lost > 0 && c->readings > c->samples_until_lost)
        c->result = CB_NVML_GPU_IS_LOST;
    return c->result;
}

static int get_max_clock(struct cb_nvml_device *device, int clock, unsigned *mhz)
{
    *mhz = clock == CB_NVML_CLOCK_SM ? card(device)->sm_limit_mhz : card(device)->memory_limit_mhz;
    return card(device)->result;
}

static int get_power(struct cb_nvml_device *device, unsigned *milliwatts)
{
    *milliwatts = card(device)->power_mw;
    return card(device)->result;
}

static int get_power_limit(struct cb_nvml_device *device, unsigned *milliwatts)
{
    *milliwatts = card(device)->power_limit_mw;
    return card(device)->result;
}

static int get_power_default(struct cb_nvml_device *device, unsigned *milliwatts)
{
    *milliwatts = card(device)->power_default_mw;
    return card(device)->result;
}

static int get_temperature(struct cb_nvml_device *device, int sensor, unsigned *celsius)
{
    *celsius = card(device)->celsius;
    return sensor == CB_NVML_TEMPERATURE_GPU ? card(device)->result : CB_NVML_INVALID_ARGUMENT;
}

static int get_utilization(struct cb_nvml_device *device, struct cb_nvml_utilization *utilization)
{
    utilization->gpu = card(device)->utilization;
    utilization->memory = 0;
    return card(device)->result;
}

static int get_processes(struct cb_nvml_device *device, unsigned *count,
                         struct cb_nvml_process *processes)
{
    unsigned room = *count;
    (void)processes;
    *count = card(device)->processes;
    if (room < *count)
        return CB_NVML_INSUFFICIENT_SIZE;
    return card(device)->result;
}

static int get_throttle(struct cb_nvml_device *device, unsigned long long *reasons)
{
    *reasons = card(device)->throttle;
    return card(device)->result;
}

static int get_ecc_mode(struct cb_nvml_device *device, int *current, int *pending)
{
    *current = *pending = 1;
    return card(device)->result;
}

static int get_ecc(struct cb_nvml_device *device, int kind, int counter, unsigned long long *errors)
{
    (void)counter;
    *errors =
        kind == CB_NVML_ECC_CORRECTED ? card(device)->ecc_corrected : card(device)->ecc_uncorrected;
    return card(device)->result;
}

static int get_rows(struct cb_nvml_device *device, unsigned *corrected, unsigned *uncorrected,
                    unsigned *pending, unsigned *failed)
{
    *corrected = *uncorrected = *pending = *failed = 0;
    return card(device)->result;
}

static int get_mig(struct cb_nvml_device *device, unsigned *current, unsigned *pending)
{
    *current = *pending = card(device)->mig;
    return card(device)->result;
}

static int get_generation(struct cb_nvml_device *device, unsigned *generation)
{
    *generation = card(device)->generation;
    return card(device)->result;
}

static int get_width(struct cb_nvml_device *device, unsigned *width)
{
    *width = card(device)->width;
    return card(device)->result;
}

static int get_generation_limit(struct cb_nvml_device *device, unsigned *generation)
{
    *generation = card(device)->generation_limit;
    return card(device)->result;
}

static int get_width_limit(struct cb_nvml_device *device, unsigned *width)
{
    *width = card(device)->width_limit;
    return card(device)->result;
}

static int get_link(struct cb_nvml_device *device, unsigned link, int *is_active)
{
    if (link >= card(device)->links)
        return CB_NVML_INVALID_ARGUMENT;
    *is_active = link < card(device)->links_active;
    return link == 2 && card(device)->third_link_result ? card(device)->third_link_result
                                                        : card(device)->result;
}

static int get_link_version(struct cb_nvml_device *device, unsigned link, unsigned *version)
{
    (void)link;
    *version = card(device)->link_version;
    return card(device)->result;
}

static int get_link_end(struct cb_nvml_device *device, unsigned link, int *end)
{
    (void)link;
    *end = card(device)->link_end;
    return card(device)->result;
}

static int get_link_pci(struct cb_nvml_device *device, unsigned link, struct cb_nvml_pci *pci)
{
    if (!card(device)->link_ends[link])
        return CB_NVML_NOT_SUPPORTED;
    memset(pci, 0, sizeof(*pci));
    snprintf(pci->bus_id, sizeof(pci->bus_id), "%s", card(device)->link_ends[link]);
    return card(device)->result;
}

/* An old driver: the speed of all links alone, as 64 bits. */
static int get_fields(struct cb_nvml_device *device, int count, struct cb_nvml_field *fields)
{
    for (int i = 0; i < count; i++) {
        fields[i].result = fields[i].field == CB_NVML_FIELD_LINK_MBPS_COMMON
                               ? CB_NVML_SUCCESS
                               : CB_NVML_NOT_SUPPORTED;
        fields[i].type = CB_NVML_VALUE_UNSIGNED_64;
        fields[i].value.unsigned_64 = card(device)->link_mbps;
    }
    return card(device)->result;
}

static int get_fabric(struct cb_nvml_device *device, struct cb_nvml_fabric *fabric)
{
    if (card(device)->fabric_state < 0 || fabric->version != CB_NVML_FABRIC_V2)
        return CB_NVML_NOT_SUPPORTED;
    fabric->state = (unsigned char)card(device)->fabric_state;
    fabric->health = card(device)->fabric_health;
    return card(device)->result;
}

static int get_peer_status(struct cb_nvml_device *a, struct cb_nvml_device *b, int p2p, int *status)
{
    /* Reading works everywhere; what is told of is writing. */
    *status = p2p == CB_NVML_P2P_WRITE ? card(a)->peer_status : 0;
    return card(b)->result;
}

static int get_level(struct cb_nvml_device *a, struct cb_nvml_device *b, int *level)
{
    *level = card(a)->level;
    return card(b)->result;
}

void fake_nvml_fill(struct fake_nvml *nvml, struct cb_nvml_api *api)
{
    fake = nvml;
    *api = (struct cb_nvml_api){
        .nvmlInit_v2 = init,
        .nvmlShutdown = init,
        .nvmlErrorString = error_string,
        .nvmlDeviceGetCount_v2 = get_count,
        .nvmlDeviceGetHandleByIndex_v2 = get_handle,
        .nvmlDeviceGetName = get_name,
        .nvmlDeviceGetUUID = get_uuid,
        .nvmlDeviceGetPciInfo_v3 = get_pci,
        .nvmlDeviceGetMemoryInfo_v2 = get_memory,
        .nvmlDeviceGetNumGpuCores = get_cores,
        .nvmlDeviceGetCudaComputeCapability = get_capability,
        .nvmlDeviceGetClockInfo = get_clock,
        .nvmlDeviceGetMaxClockInfo = get_max_clock,
        .nvmlDeviceGetPowerUsage = get_power,
        .nvmlDeviceGetEnforcedPowerLimit = get_power_limit,
        .nvmlDeviceGetPowerManagementDefaultLimit = get_power_default,
        .nvmlDeviceGetTemperature = get_temperature,
        .nvmlDeviceGetUtilizationRates = get_utilization,
        .nvmlDeviceGetComputeRunningProcesses_v3 = get_processes,
        .nvmlDeviceGetCurrentClocksEventReasons = get_throttle,
        .nvmlDeviceGetEccMode = get_ecc_mode,
        .nvmlDeviceGetTotalEccErrors = get_ecc,
        .nvmlDeviceGetRemappedRows = get_rows,
        .nvmlDeviceGetMigMode = get_mig,
        .nvmlDeviceGetCurrPcieLinkGeneration = get_generation,
        .nvmlDeviceGetCurrPcieLinkWidth = get_width,
        .nvmlDeviceGetMaxPcieLinkGeneration = get_generation_limit,
        .nvmlDeviceGetMaxPcieLinkWidth = get_width_limit,
        .nvmlDeviceGetNvLinkState = get_link,
        .nvmlDeviceGetNvLinkVersion = get_link_version,
        .nvmlDeviceGetNvLinkRemoteDeviceType = get_link_end,
        .nvmlDeviceGetNvLinkRemotePciInfo_v2 = get_link_pci,
        .nvmlDeviceGetFieldValues = get_fields,
        .nvmlDeviceGetGpuFabricInfoV = get_fabric,
        .nvmlDeviceGetP2PStatus = get_peer_status,
        .nvmlDeviceGetTopologyCommonAncestor = get_level,
        .nvmlDeviceGetGpuMaxPcieLinkGeneration = get_generation_limit,
        .driver = "580.65.06",
        .cuda_version = 13000,
    };
}

#include "result/json_fields.h"

NAMES(dtype, "dtype", CB_DTYPE_COUNT);
NAMES(status, "status", CB_STATUS_COUNT);

static const struct cb_json_field idle_fields[] = {
    FIELD(gpu, idle_utilization, "utilization", NEGATIVE),
    FIELD(gpu, idle_memory_bytes, "memory_bytes", NEGATIVE),
    FIELD(gpu, idle_processes, "processes", NEGATIVE),
    FIELD(gpu, idle_power_w, "power_w", NEGATIVE),
    FIELD(gpu, idle_temperature_celsius, "temperature_celsius", NEGATIVE),
    FIELD(gpu, idle_sm_clock_hz, "sm_clock_hz", NEGATIVE),
};
static const struct cb_json_shape idle_shape = SHAPE(idle_fields, gpu, true);

static const struct cb_json_field gpu_fields[] = {
    FIELD(gpu, index, "index", NEGATIVE),
    FIELD(gpu, rank, "rank", NEGATIVE),
    FIELD(gpu, answered, "answered", ALWAYS),
    FIELD(gpu, reason, "reason", ZERO | OMIT),
    FIELD(gpu, name, "name", ZERO),
    FIELD(gpu, uuid, "uuid", ZERO),
    FIELD(gpu, bus_id, "bus_id", ZERO),
    FIELD(gpu, driver, "driver", ZERO),
    FIELD(gpu, cuda_version, "cuda_version", ZERO),
    FIELD(gpu, pci_device_id, "pci_device_id", NEGATIVE),
    FIELD(gpu, pci_vendor_id, "pci_vendor_id", NEGATIVE),
    FIELD(gpu, subsystem_id, "subsystem_id", NEGATIVE),
    FIELD(gpu, subsystem_vendor_id, "subsystem_vendor_id", NEGATIVE),
    FIELD(gpu, sm_count, "sm_count", NEGATIVE),
    FIELD(gpu, compute_capability, "compute_capability", NEGATIVE),
    FIELD(gpu, memory_bytes, "memory_bytes", NEGATIVE),
    FIELD(gpu, sm_clock_limit_hz, "sm_clock_limit_hz", NEGATIVE),
    FIELD(gpu, memory_clock_limit_hz, "memory_clock_limit_hz", NEGATIVE),
    FIELD(gpu, power_limit_w, "power_limit_w", NEGATIVE),
    FIELD(gpu, power_limit_default_w, "power_limit_default_w", NEGATIVE),
    FIELD(gpu, mig, "mig", NEGATIVE),
    FIELD(gpu, ecc, "ecc", NEGATIVE),
    FIELD(gpu, ecc_corrected, "ecc_corrected", NEGATIVE),
    FIELD(gpu, ecc_uncorrected, "ecc_uncorrected", NEGATIVE),
    FIELD(gpu, rows_remapped, "rows_remapped", NEGATIVE),
    FIELD(gpu, rows_pending, "rows_pending", NEGATIVE),
    FIELD(gpu, rows_failed, "rows_failed", NEGATIVE),
    FIELD(gpu, pcie_generation_limit, "pcie_generation_limit", NEGATIVE),
    FIELD(gpu, pcie_width_limit, "pcie_width_limit", NEGATIVE),
    FIELD(gpu, nvlinks, "nvlinks", NEGATIVE),
    GROUP("idle", 0, idle_shape),
};
const struct cb_json_shape cb_json_gpu_shape = SHAPE(gpu_fields, gpu, true);

static bool has_data(const struct cb_burn_row *burn)
{
    return cb_status_is_usable(burn->status) || burn->status == CB_STATUS_WRONG;
}

static bool burn_is_unchecked(const void *row)
{
    const struct cb_burn_row *burn = row;
    return burn->wrong == 0 && !has_data(burn);
}

static const char *burn_lacks(const void *row)
{
    const struct cb_burn_row *burn = row;
    return cb_status_is_usable(burn->status) && !(burn->flops_per_s > 0) ? "flops_per_s" : NULL;
}

static const struct cb_json_field burn_fields[] = {
    FIELD(burn_row, rank, "rank", ALWAYS | NEGATIVE),
    NAMED(burn_row, dtype, "dtype", ALWAYS, dtype_names),
    FIELD(burn_row, variant, "variant", ZERO),
    FIELD(burn_row, planned_s, "planned_s", ZERO),
    FIELD(burn_row, elapsed_s, "elapsed_s", ZERO),
    FIELD(burn_row, operations, "operations", 0),
    FIELD(burn_row, flops_per_s, "flops_per_s", ZERO),
    FIELD(burn_row, first_flops_per_s, "first_flops_per_s", ZERO),
    FIELD(burn_row, last_flops_per_s, "last_flops_per_s", ZERO),
    FIELD(burn_row, checks, "checks", 0),
    FIELD_UNLESS(burn_row, wrong, "wrong", 0, burn_is_unchecked),
    FIELD(burn_row, samples, "samples", 0),
    FIELD(burn_row, sm_clock_p5_hz, "sm_clock_p5_hz", NEGATIVE),
    FIELD(burn_row, sm_clock_median_hz, "sm_clock_median_hz", NEGATIVE),
    FIELD(burn_row, sm_clock_p95_hz, "sm_clock_p95_hz", NEGATIVE),
    FIELD(burn_row, memory_clock_median_hz, "memory_clock_median_hz", NEGATIVE),
    FIELD(burn_row, power_median_w, "power_median_w", NEGATIVE),
    FIELD(burn_row, power_lowest_w, "power_lowest_w", NEGATIVE),
    FIELD(burn_row, power_highest_w, "power_highest_w", NEGATIVE),
    FIELD(burn_row, temperature_highest_celsius, "temperature_highest_celsius", NEGATIVE),
    FIELD(burn_row, utilization_median, "utilization_median", NEGATIVE),
    FIELD(burn_row, throttle, "throttle", NEGATIVE),
    FIELD(burn_row, throttled_share, "throttled_share", NEGATIVE),
    FIELD(burn_row, ecc_corrected, "ecc_corrected", NEGATIVE),
    FIELD(burn_row, ecc_uncorrected, "ecc_uncorrected", NEGATIVE),
    FIELD(burn_row, pcie_generation, "pcie_generation", NEGATIVE),
    FIELD(burn_row, pcie_width, "pcie_width", NEGATIVE),
    FIELD(burn_row, lost, "lost", 0),
    NAMED(burn_row, status, "status", ALWAYS, status_names),
    FIELD(burn_row, reason, "reason", ZERO | OMIT),
};
const struct cb_json_shape cb_json_burn_shape =
    SHAPE_THAT_MAY_LACK(burn_fields, burn_row, true, burn_lacks);

static const struct cb_json_field burn_sample_fields[] = {
    FIELD(burn_sample, rank, "rank", ALWAYS),
    FIELD(burn_sample, gpu.time_s, "time_s", ALWAYS),
    FIELD(burn_sample, flops_per_s, "flops_per_s", ZERO),
    FIELD(burn_sample, gpu.sm_clock_hz, "sm_clock_hz", NEGATIVE),
    FIELD(burn_sample, gpu.memory_clock_hz, "memory_clock_hz", NEGATIVE),
    FIELD(burn_sample, gpu.power_w, "power_w", NEGATIVE),
    FIELD(burn_sample, gpu.temperature_celsius, "temperature_celsius", NEGATIVE),
    FIELD(burn_sample, gpu.utilization, "utilization", NEGATIVE),
    FIELD(burn_sample, gpu.throttle, "throttle", NEGATIVE),
    FIELD(burn_sample, gpu.pcie_generation, "pcie_generation", NEGATIVE),
    FIELD(burn_sample, gpu.pcie_width, "pcie_width", NEGATIVE),
    FIELD(burn_sample, gpu.ecc_corrected, "ecc_corrected", NEGATIVE),
    FIELD(burn_sample, gpu.ecc_uncorrected, "ecc_uncorrected", NEGATIVE),
    FIELD(burn_sample, gpu.lost, "lost", 0),
};
const struct cb_json_shape cb_json_burn_sample_shape = SHAPE(burn_sample_fields, burn_sample, true);

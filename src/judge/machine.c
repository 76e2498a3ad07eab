#include "judge/machine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/sort.h"
#include "base/units.h"
#include "reference/gpus.h"

/* What a log's ranks compute on when it does not say. */
#define ASSUMED_GPU "NVIDIA A100-SXM4-80GB"

static bool is_gemm(const struct cb_kernel_row *row, enum cb_dtype dtype)
{
    return strcmp(row->kernel, "gemm") == 0 && row->dtype == dtype &&
           cb_status_is_usable(row->status) && isfinite(row->flops_per_s) && row->flops_per_s > 0;
}

/* The type that training computes in where there is one: half precision on GPUs, float32 on hosts,
 * which have no other. */
static enum cb_dtype choose_gemm_dtype(const struct cb_result *result)
{
    static const enum cb_dtype wanted[] = {CB_DTYPE_BFLOAT16, CB_DTYPE_FLOAT16};
    for (size_t w = 0; w < sizeof(wanted) / sizeof(wanted[0]); w++)
        for (size_t i = 0; i < result->kernels.count; i++)
            if (is_gemm(&result->kernels.items[i], wanted[w]))
                return wanted[w];
    return CB_DTYPE_FLOAT32;
}

/* The lowest published rate of half precision. */
static bool is_published(const struct cb_gpu_reference *gpu, struct cb_gemm_rate *rate)
{
    static const enum cb_dtype wanted[] = {CB_DTYPE_BFLOAT16, CB_DTYPE_FLOAT16};
    struct cb_achievable achievable;
    for (size_t i = 0; gpu && i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        cb_gpu_reference_achievable(gpu, CB_RATE_BURST, wanted[i], &achievable);
        if (!(achievable.low_per_s > 0))
            continue;
        rate->flops_per_s = achievable.low_per_s;
        rate->dtype = wanted[i];
        return true;
    }
    return false;
}

/* Older drivers left the maker's name out. */
static const struct cb_gpu_reference *find_gpu(const char *name)
{
    char full[CB_NAME + 8];
    const struct cb_gpu_reference *gpu = cb_gpu_reference_find_name(name);
    snprintf(full, sizeof(full), "NVIDIA %s", name);
    return gpu ? gpu : cb_gpu_reference_find_name(full);
}

static void find_published_rate(const struct cb_result *result, struct cb_gemm_rate *rate)
{
    const char *named = "";
    for (size_t i = 0; i < result->imports.count; i++) {
        const struct cb_import *import = &result->imports.items[i];
        if (!cb_import_is_usable(import->state) || !import->gpu[0])
            continue;
        named = import->gpu;
        if (is_published(find_gpu(import->gpu), rate)) {
            rate->source = CB_FROM_REFERENCE;
            snprintf(rate->note, sizeof(rate->note), "published %s GEMM of %.48s",
                     cb_dtype_name(rate->dtype), import->gpu);
            return;
        }
    }
    if (!is_published(cb_gpu_reference_find_name(ASSUMED_GPU), rate))
        return;
    rate->source = CB_FROM_ASSUMED;
    snprintf(rate->note, sizeof(rate->note), "%s GEMM of an A100, since %s%.32s",
             cb_dtype_name(rate->dtype), *named ? "none is published of " : "no GPU is named",
             named);
}

/* What small products reach is far below what training does. */
static void replace_small_rate(const struct cb_result *result, struct cb_gemm_rate *rate)
{
    for (size_t i = 0; i < result->gpus.count; i++) {
        const struct cb_gpu *gpu = &result->gpus.items[i];
        const struct cb_gpu_reference *reference =
            cb_gpu_reference_of_card(gpu->name, gpu->pci_device_id);
        if (!is_published(reference, rate))
            continue;
        rate->source = CB_FROM_REFERENCE;
        snprintf(rate->note, sizeof(rate->note), "published %s GEMM of %.40s, measured too small",
                 cb_dtype_name(rate->dtype), reference->name);
        return;
    }
}

int cb_gemm_rate_find(const struct cb_result *result, struct cb_gemm_rate *rate,
                      struct cb_error *err)
{
    CB_VEC(double) rates = {0};
    int rc = 0;
    bool has_small = false;
    struct cb_gemm_rate found = {.dtype = choose_gemm_dtype(result)};
    for (size_t i = 0; i < result->kernels.count; i++) {
        const struct cb_kernel_row *row = &result->kernels.items[i];
        if (!is_gemm(row, found.dtype))
            continue;
        has_small |= row->small;
        if (row->small)
            continue;
        double *added = cb_vec_add(&rates);
        if (!added) {
            rc = cb_fail(err, CB_E_MEMORY, "no memory for the kernel rates");
            goto out;
        }
        *added = row->flops_per_s;
    }
    if (rates.count > 0) {
        cb_sort_doubles(rates.items, rates.count);
        found.flops_per_s = cb_median_of_sorted(rates.items, rates.count);
        found.source = CB_FROM_MEASURED;
        snprintf(found.note, sizeof(found.note), "median %s GEMM of %zu rank%s",
                 cb_dtype_name(found.dtype), rates.count, rates.count == 1 ? "" : "s");
    } else if (has_small) {
        snprintf(found.note, sizeof(found.note), "each was too small to judge by");
        replace_small_rate(result, &found);
    } else if (result->imports.count > 0) {
        find_published_rate(result, &found);
    }
    *rate = found;
out:
    cb_vec_fini(&rates);
    return rc;
}

/* Of the GPUs that take part; 0 when none tells its size. */
static double smallest_memory_bytes(const struct cb_result *result)
{
    double smallest = 0;
    for (size_t i = 0; i < result->gpus.count; i++) {
        const struct cb_gpu *gpu = &result->gpus.items[i];
        if (gpu->rank >= 0 && gpu->memory_bytes > 0 &&
            !(smallest > 0 && smallest <= (double)gpu->memory_bytes))
            smallest = (double)gpu->memory_bytes;
    }
    return smallest;
}

void cb_machine_of_result(const struct cb_result *result, const struct cb_workload *workload,
                          const struct cb_gemm_rate *rate, const struct cb_network *network,
                          struct cb_machine *machine)
{
    char text[CB_UNIT_TEXT];
    *machine = (struct cb_machine){
        .memory_bytes = smallest_memory_bytes(result),
        .price_per_gpu_hour = workload->price_per_gpu_hour,
        .network = network,
        .threshold = workload->threshold,
    };
    machine->memory_source = machine->memory_bytes > 0 ? CB_FROM_MEASURED : CB_FROM_NOWHERE;
    snprintf(machine->currency, sizeof(machine->currency), "%s", workload->currency);
    if (rate->flops_per_s > 0) {
        machine->flops_per_s = rate->flops_per_s * CB_TRAINING_SHARE_OF_GEMM;
        machine->flops_source = rate->source;
        snprintf(machine->flops_note, sizeof(machine->flops_note),
                 "%s x %g: %s, %g of it assumed in training",
                 cb_format_flops(text, rate->flops_per_s), CB_TRAINING_SHARE_OF_GEMM, rate->note,
                 CB_TRAINING_SHARE_OF_GEMM);
    }
    if (workload->span == CB_SPAN_COMPUTE) {
        machine->compute_s = workload->time_s;
        machine->compute_source = CB_FROM_GIVEN;
    }
}

/* What GPUs are said to be and what they were measured to reach: published figures, every row with
 * its sources. Base units; -1 where no source says, 0 where the part does not have it. */
#ifndef CB_REFERENCE_GPUS_H
#define CB_REFERENCE_GPUS_H

#include <stddef.h>

#include "base/dtype.h"

enum cb_peak {
    CB_PEAK_FP64,
    CB_PEAK_FP64_TENSOR,
    CB_PEAK_FP32,
    CB_PEAK_TF32,
    CB_PEAK_FP16,       /* and bfloat16; fp32 accumulation */
    CB_PEAK_FP16_ACC16, /* fp16 accumulation */
    CB_PEAK_FP8,
    CB_PEAK_INT8,
    CB_PEAK_COUNT
};

struct cb_gpu_reference {
    const char *id;
    const char *name; /* that the driver prints */
    int pci_device_id;
    const char *chip;
    int sm_count;
    double clock_hz; /* highest published; the tensor peaks of some are quoted at a lower one */
    double memory_bytes;
    double memory_bytes_per_s;
    double peak_flops_per_s[CB_PEAK_COUNT]; /* dense: no sparsity; int8 in operations */
    int nvlinks;
    double nvlink_bytes_per_s; /* one way, all links together */
    int pcie_generation, pcie_lanes;
    double power_w;      /* limit by default */
    const char *sources; /* one key of cb_gpu_reference_source per character */
    const char *note;    /* where sources disagree, or what a figure was derived from */
};

enum cb_rate_kind {
    CB_RATE_BURST,     /* GEMM for some seconds */
    CB_RATE_SUSTAINED, /* GEMM for a minute and more, all GPUs at once */
    CB_RATE_READ,
    CB_RATE_WRITE,
    CB_RATE_TRIAD
};

/* A rate that somebody measured on a healthy card. */
struct cb_gpu_rate {
    const char *gpu; /* id of its reference */
    enum cb_rate_kind kind;
    enum cb_dtype dtype;
    double per_s; /* operations or bytes */
    const char *source;
};

/* The tables; *count rows. Static, borrowed, as everything below. */
const struct cb_gpu_reference *cb_gpu_references(size_t *count);
const struct cb_gpu_rate *cb_gpu_rates(size_t *count);

/* The card of a driver's name, or of a PCI device id of NVIDIA's; NULL when it is not in the table.
 */
const struct cb_gpu_reference *cb_gpu_reference_find_name(const char *name);
const struct cb_gpu_reference *cb_gpu_reference_find_device(int pci_device_id);

/* The card of the name that its driver gives it, else of its device id, or NULL. */
const struct cb_gpu_reference *cb_gpu_reference_of_card(const char *name, int pci_device_id);

/* The card that somebody means: the driver's name with or without its maker, or the id, where
 * letter case, blanks and punctuation do not count ("A100-SXM4-80GB", "H200", "rtx 4090"), or the
 * first words of one id alone ("B300"). NULL when it is none of these. */
const struct cb_gpu_reference *cb_gpu_reference_find(const char *text);

/* The cards whose names or ids are nearest to what somebody wrote, nearest first; returns how many
 * of at most limit were filled. */
size_t cb_gpu_reference_nearest(const char *text, const struct cb_gpu_reference **nearest,
                                size_t limit);

/* The name of a source, or NULL for a key that there is not. */
const char *cb_gpu_reference_source(char key);

/* Multiply-adds of fp16 with fp32 accumulation per multiprocessor and clock; 0 when unknown. A
 * peak's clock is peak / (2 x multiprocessors x this). */
int cb_gpu_reference_multiply_adds(const struct cb_gpu_reference *gpu);

/* The dense peak of GEMM in that type, flop/s; -1 and 0 as above. */
double cb_gpu_reference_peak(const struct cb_gpu_reference *gpu, enum cb_dtype dtype);

/* The lowest and highest of the rates that were published; source is the lowest one's, NULL when
 * there is none. */
struct cb_achievable {
    double low_per_s, high_per_s;
    const char *source;
};

/* What healthy cards of this model were measured to reach; what was sustained counts for a burst
 * too. dtype matters to GEMM only. */
void cb_gpu_reference_achievable(const struct cb_gpu_reference *gpu, enum cb_rate_kind kind,
                                 enum cb_dtype dtype, struct cb_achievable *achievable);

#endif

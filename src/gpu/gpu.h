/* What a GPU says of itself through the driver's management library: identity, state before the
 * start, and samples under load. Plain data that can be gathered over ranks; base units. */
#ifndef CB_GPU_GPU_H
#define CB_GPU_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct cb_nvml_api;

#define CB_GPUS_PER_HOST 16

/* Unless said otherwise an integer that could not be found is -1 and a number with a unit too. */
struct cb_gpu {
    int node;          /* index of its host in a result; set by whoever gathers */
    int rank;          /* that computes on it; -1 when none does */
    int index;         /* NVML's, which CUDA_VISIBLE_DEVICES does not change */
    bool answered;     /* the driver told its identity; else only reason is filled */
    char reason[128];  /* why something, or all, is unknown; empty when nothing failed */
    char name[96];     /* "NVIDIA A100-SXM4-80GB" */
    char uuid[80];     /* "GPU-..." */
    char bus_id[32];   /* as cb_gpu_bus_id_normalise writes it */
    char driver[80];   /* "580.65.06" */
    int cuda_version;  /* newest CUDA the driver serves, 1000 x major + 10 x minor */
    int pci_device_id; /* 16 bits: 0x20b2 */
    int pci_vendor_id; /* 0x10de */
    int subsystem_id;  /* 16 bits, of the board */
    int subsystem_vendor_id;
    int sm_count;
    int compute_capability; /* 10 x major + minor: 90 */
    double memory_bytes;
    double sm_clock_limit_hz, memory_clock_limit_hz; /* highest that the driver states */
    double power_limit_w, power_limit_default_w;
    int mig;                               /* 1 when the card is partitioned, 0 when not */
    int ecc;                               /* 1 when on, 0 when off */
    double ecc_corrected, ecc_uncorrected; /* of the card's life */
    int rows_remapped, rows_pending, rows_failed;
    int pcie_generation_limit, pcie_width_limit; /* what card and slot can do */
    int nvlinks;                                 /* active ones; 0: none */

    /* before anything of this run used the card */
    double idle_utilization; /* share */
    double idle_memory_bytes;
    int idle_processes;
    double idle_power_w, idle_temperature_celsius, idle_sm_clock_hz;
};

/* Why a clock is below its limit: the bits that NVML states. */
enum cb_throttle {
    CB_THROTTLE_IDLE = 0x1,
    CB_THROTTLE_APPLICATION_CLOCKS = 0x2,
    CB_THROTTLE_POWER_CAP = 0x4, /* at its power limit: usual under tensor load */
    CB_THROTTLE_HARDWARE_SLOWDOWN = 0x8,
    CB_THROTTLE_SYNC_BOOST = 0x10,
    CB_THROTTLE_THERMAL = 0x20,
    CB_THROTTLE_HARDWARE_THERMAL = 0x40,
    CB_THROTTLE_POWER_BRAKE = 0x80,
    CB_THROTTLE_DISPLAY_CLOCKS = 0x100
};

/* The bits that mean a fault of cooling, power supply or setting, not the card's normal work. */
#define CB_THROTTLE_FAULTS                                                                         \
    (CB_THROTTLE_HARDWARE_SLOWDOWN | CB_THROTTLE_THERMAL | CB_THROTTLE_HARDWARE_THERMAL |          \
     CB_THROTTLE_POWER_BRAKE)

/* One look at a working card. */
struct cb_gpu_sample {
    double time_s; /* since the series began */
    double sm_clock_hz, memory_clock_hz;
    double power_w, temperature_celsius;
    double utilization; /* share */
    int pcie_generation, pcie_width;
    int throttle;                          /* cb_throttle bits */
    double ecc_corrected, ecc_uncorrected; /* since the driver was loaded */
    bool lost; /* the card no longer answers; everything else is unknown */
};

/* A sample of which nothing is known: time 0, all else -1. */
extern const struct cb_gpu_sample cb_gpu_sample_unknown;

/* Writes "0000:07:00.0" for any spelling of a PCI address: 4 or 8 digits of domain, or none, upper
 * or lower case. Returns false, with *text empty, for what is none. */
bool cb_gpu_bus_id_normalise(const char *given, char *text, size_t size_bytes);

/* Looks at the card of an NVML index: identity and present state. Cannot fail: what NVML refuses is
 * unknown and reason says so. Not collective. */
void cb_gpu_look(const struct cb_nvml_api *api, unsigned index, struct cb_gpu *gpu);

/* Whether a card that looks busy may only have been woken by the look: without persistence mode the
 * driver starts a card when it is asked, clears its memory, and counts that as work. */
bool cb_gpu_may_be_waking(const struct cb_gpu *gpu);

/* Asks again how busy the card is; the lower figure stays. */
void cb_gpu_look_again(const struct cb_nvml_api *api, unsigned index, struct cb_gpu *gpu);

/* How many cards NVML shows; 0 and a reason (may be NULL) when it cannot say. */
unsigned cb_gpu_count(const struct cb_nvml_api *api, char *reason, size_t reason_size);

/* Writes the PCI address of the card of an NVML index; false, with *text empty, when it does not
 * say. Cheaper than a look. */
bool cb_gpu_address(const struct cb_nvml_api *api, unsigned index, char *text, size_t size_bytes);

/* The NVML index of the card with that PCI address, or -1. */
int cb_gpu_find(const struct cb_nvml_api *api, const char *bus_id);

/* Takes one sample of a working card; time_s is the caller's. Safe from any thread. */
void cb_gpu_sample(const struct cb_nvml_api *api, unsigned index, struct cb_gpu_sample *sample);

/* "power cap, thermal slowdown", the names of the bits, or "none". Returns text. */
const char *cb_throttle_text(int throttle, char *text, size_t size_bytes);

#endif

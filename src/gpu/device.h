/* The CUDA device of this rank: which one it is, and what the runtime says about it. Plain data, so
 * that ranks can compare. */
#ifndef CB_GPU_DEVICE_H
#define CB_GPU_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct cb_device {
    int index;      /* CUDA's number in this process; -1: none */
    int visible;    /* devices that this process sees */
    bool simulated; /* no GPU, but tests/simgpu: its name says so */
    char name[96];
    char uuid[48];   /* "GPU-xxxxxxxx-xxxx-..." as nvidia-smi writes it */
    char pci_id[16]; /* "0000:1b:00.0" */
    int compute_major, compute_minor;
    int processors;                      /* streaming multiprocessors */
    uint64_t memory_bytes, free_bytes;   /* free: when it was bound */
    int driver_version, runtime_version; /* 13000 is 13.0; driver 0: no driver */
};

/* Whether this process can use a GPU at all: how many devices, and else why not, in one line. Never
 * fails; needs no driver. */
struct cb_device_probe {
    int count;
    int driver_version, runtime_version;
    char reason[256]; /* empty when count > 0 */
    char hint[256];
};
void cb_device_probe(struct cb_device_probe *out);

/* Makes one device this process's own: the local rank's among those that are visible, which may be
 * one or a few of the host's, chosen by the launcher; where the ranks are more, they begin again.
 * Ranks on one GPU are found when all compare (measure/devices.h). Errors: CB_E_UNSUPPORTED without
 * a driver or a device, CB_E_MEASURE when CUDA refuses; *out is then untouched. */
int cb_device_bind(int local_rank, struct cb_device *out, struct cb_error *err);

/* Fills err from a CUDA runtime's error code (a cudaError_t): the call, CUDA's name and words for
 * it, the device and what to try. Returns CB_OK for 0; CB_E_MEMORY when memory ran out,
 * CB_E_UNSUPPORTED when there is no driver or device, else CB_E_MEASURE. */
int cb_cuda_check(int cuda_error, const char *call, struct cb_error *err);

/* The same for a caller that knows the device: a lost one does not say its number. */
int cb_cuda_check_on(int device, int cuda_error, const char *call, struct cb_error *err);

#endif

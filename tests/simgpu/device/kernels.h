/* Every kernel of kernels/cuda, from its very source (device.h). */
#ifndef SIMGPU_KERNELS_H
#define SIMGPU_KERNELS_H

#include <stddef.h>

struct simgpu_device_kernel {
    const char *name; /* "cb_cuda_k_..." */
    size_t argument_bytes;
    void (*run)(const void *argument); /* of simgpu_grid_run */
};

/* NULL for a name that is none. */
const struct simgpu_device_kernel *simgpu_device_kernel_find(const char *name);

#endif

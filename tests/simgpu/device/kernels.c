#include "kernels.h"

#include <string.h>

#include "kernels/cuda/kernel_args.h"

#define THREAD(name, args_struct)                                                                  \
    static void run_##name(const void *argument)                                                   \
    {                                                                                              \
        cb_cuda_k_##name(*(const struct args_struct *)argument);                                   \
    }
#define STREAM_THREAD(name) THREAD(name, cb_cuda_stream)
CB_CUDA_STREAM_KERNELS(STREAM_THREAD)
CB_CUDA_CHECK_KERNELS(THREAD)

#define ROW(name, args_struct) {"cb_cuda_k_" #name, sizeof(struct args_struct), run_##name},
#define STREAM_ROW(name) ROW(name, cb_cuda_stream)
static const struct simgpu_device_kernel kernels[] = {CB_CUDA_STREAM_KERNELS(STREAM_ROW)
                                                          CB_CUDA_CHECK_KERNELS(ROW)};

const struct simgpu_device_kernel *simgpu_device_kernel_find(const char *name)
{
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
        if (strcmp(kernels[i].name, name) == 0)
            return &kernels[i];
    return NULL;
}

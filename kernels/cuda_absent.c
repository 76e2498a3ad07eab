/* In place of cuda/ in a build without CUDA. */
#include <stddef.h>

#include "kernels/kernels.h"

const struct cb_kernel_ops *cb_kernels_cuda(void)
{
    return NULL;
}

int cb_kernels_cuda_library(char *version, size_t version_size, char *path, size_t path_size,
                            struct cb_error *err)
{
    (void)version;
    (void)version_size;
    (void)path;
    (void)path_size;
    return cb_fail(err, CB_E_UNSUPPORTED, "this build has no GPU path");
}

/* In place of cuda/ in a build without CUDA. */
#include <stddef.h>

#include "kernels/kernels.h"

const struct cb_kernel_ops *cb_kernels_cuda(void)
{
    return NULL;
}

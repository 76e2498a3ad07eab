#include "kernels/kernels.h"

static const char *const names[] = {
    [CB_KERNEL_GEMM] = "gemm", [CB_KERNEL_READ] = "read",       [CB_KERNEL_WRITE] = "write",
    [CB_KERNEL_COPY] = "copy", [CB_KERNEL_TRIAD] = "triad",     [CB_KERNEL_H2D] = "h2d",
    [CB_KERNEL_D2H] = "d2h",   [CB_KERNEL_H2D_D2H] = "h2d_d2h", [CB_KERNEL_PEER] = "peer",
};
_Static_assert(sizeof(names) / sizeof(names[0]) == CB_KERNEL_COUNT, "one name per kernel");

const char *cb_kernel_name(enum cb_kernel kernel)
{
    return names[kernel];
}

#include "kernels/kernels.h"

#include <string.h>

static const char *const names[] = {
    [CB_KERNEL_GEMM] = "gemm", [CB_KERNEL_READ] = "read",   [CB_KERNEL_WRITE] = "write",
    [CB_KERNEL_COPY] = "copy", [CB_KERNEL_TRIAD] = "triad",
};
_Static_assert(sizeof(names) / sizeof(names[0]) == CB_KERNEL_COUNT, "one name per kernel");

const char *cb_kernel_name(enum cb_kernel kernel)
{
    return names[kernel];
}

int cb_kernel_parse(const char *name)
{
    for (int i = 0; i < CB_KERNEL_COUNT; i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    return -1;
}

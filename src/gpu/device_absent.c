/* In place of device.c in a build without CUDA. */
#include <stdio.h>
#include <string.h>

#include "gpu/device.h"

void cb_device_probe(struct cb_device_probe *out)
{
    memset(out, 0, sizeof(*out));
    snprintf(out->reason, sizeof(out->reason),
             "this build has no GPU path: it was made without CUDA");
    snprintf(out->hint, sizeof(out->hint),
             "install the CUDA toolkit and libnccl-dev, and build again with -DCOMMBOUND_CUDA=ON");
}

int cb_device_bind(int local_rank, struct cb_device *out, struct cb_error *err)
{
    struct cb_device_probe probe;
    (void)local_rank;
    (void)out;
    cb_device_probe(&probe);
    cb_fail(err, CB_E_UNSUPPORTED, "%s", probe.reason);
    cb_error_set_hint(err, "%s", probe.hint);
    return CB_E_UNSUPPORTED;
}

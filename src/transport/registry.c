#include <string.h>

#include "transport/mpi_transport.h"
#ifdef COMMBOUND_CUDA
#include "transport/nccl_transport.h"
#endif
#include "transport/transport.h"

static const struct cb_transport_ops *const transports[] = {
#ifdef COMMBOUND_CUDA
    &cb_transport_nccl,
#endif
    &cb_transport_mpi,
};

const struct cb_transport_ops *cb_transport_find(const char *name)
{
    for (size_t i = 0; i < sizeof(transports) / sizeof(transports[0]); i++)
        if (strcmp(transports[i]->name, name) == 0)
            return transports[i];
    return NULL;
}

/* NCCL on GPU memory, for the registry. */
#ifndef CB_TRANSPORT_NCCL_TRANSPORT_H
#define CB_TRANSPORT_NCCL_TRANSPORT_H

#include "transport/transport.h"

extern const struct cb_transport_ops cb_transport_nccl;

#endif

/* What NCCL says it used, over all ranks: into the result, with what is odd about it. */
#ifndef CB_MEASURE_USED_H
#define CB_MEASURE_USED_H

#include "result/result.h"
#include "transport/coordinator.h"
#include "transport/nccl_log.h"

/* Adds what count ranks read from their logs to result->transport_used, and warnings: sockets where
 * RDMA would be there, network buffers outside the GPUs, host memory between the GPUs of a node,
 * ranks bound far from their GPU, what NCCL itself warned of. result has its nodes. Pure. Errors:
 * CB_E_MEMORY. */
int cb_used_merge(const struct cb_nccl_use *ranks, size_t count, struct cb_result *result,
                  struct cb_error *err);

/* Reads every rank's log and merges them into rank 0's result. Collective over the world; every
 * rank returns the same code. */
int cb_used_collect(const struct cb_coordinator *coordinator, struct cb_nccl_log *log,
                    struct cb_result *result, struct cb_error *err);

#endif

/* The simulated NCCL's operations, and how they take turns on a communicator. */
#ifndef SIMGPU_NCCL_OPS_H
#define SIMGPU_NCCL_OPS_H

#include "nccl_internal.h"

#define SIMNCCL_VERSION NCCL_VERSION_CODE

/* ncclSuccess, or why the communicator cannot take work: the answer NCCL itself gives. */
ncclResult_t simnccl_ready(struct ncclComm *comm);

/* Work on one communicator is done in the order of its tickets. wait_turn is false once aborted;
 * who got a turn ends it. */
uint64_t simnccl_take_ticket(struct ncclComm *comm);
bool simnccl_wait_turn(struct ncclComm *comm, uint64_t ticket);
void simnccl_end_turn(struct ncclComm *comm);

/* Waits until all tickets were served; at once when the communicator has failed. */
void simnccl_wait_idle(struct ncclComm *comm);

/* A communicator that does not block says "in progress" at its first operation, which starts only
 * while the caller polls. */
void simnccl_poll_deferred(struct ncclComm *comm);
void simnccl_drop_deferred(struct ncclComm *comm);

#endif

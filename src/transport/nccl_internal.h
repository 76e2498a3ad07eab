/* What the files of the NCCL transport share. Nobody else includes this. */
#ifndef CB_TRANSPORT_NCCL_INTERNAL_H
#define CB_TRANSPORT_NCCL_INTERNAL_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

#include "transport/nccl_api.h"
#include "transport/place.h"
#include "transport/transport.h"

/* Checks a code of CUDA on transport t's device; CUDA's codes are unsigned for some compilers. */
#define CB_CUDA(code, call, err) cb_cuda_check_on(t->config.device->index, (int)(code), call, err)

/* Operations of one captured graph; a sample of more launches several. */
enum { CB_NCCL_GRAPH_OPERATIONS = 64 };

struct cb_nccl_graph {
    cudaGraphExec_t executable; /* NULL: none captured */
    int operations;
};

struct cb_nccl_worker;

struct cb_transport {
    struct cb_transport_config config;
    struct cb_group *group; /* borrowed */
    int rank, size;
    int compute_major;      /* of the oldest GPU of the group */
    struct cb_place *place; /* the config's, or: */
    struct cb_place own_place;
    struct cb_nccl_worker *worker; /* makes the calls that wait for other ranks; NULL: none yet */
    struct cb_nccl_api api;
    ncclUniqueId id;
    ncclComm_t comm;
    cudaStream_t stream, aside; /* aside: for a sign of life */
    cudaEvent_t start, end;
    cudaEvent_t ready, sign; /* before an operation of all ranks; on aside */
    char *send, *receive;    /* capacity_bytes each, in GPU memory */
    size_t capacity_bytes;
    void *send_handle, *receive_handle; /* of registered buffers */
    uint64_t *wrong;                    /* in GPU memory, as is: */
    int32_t *together;                  /* of the operation before a sample */
    struct cb_step step;
    size_t element_bytes;
    ncclDataType_t type;
    ncclRedOp_t redop;
    int operations;                  /* of the sample that is put on the stream */
    struct cb_nccl_graph body, rest; /* of the prepared step */
    struct cb_algorithm algorithm;   /* of its operations; no name: not known */
    bool listens;                    /* NCCL was asked to say it */
    bool failed;                     /* a call failed: the communicator is only good for abort */
    bool lost; /* a call hangs, perhaps inside CUDA: nothing of this may be touched again */
};

/* Fills err from an NCCL return code: the call, the device, NCCL's own words, a remedy. Returns
 * CB_OK for ncclSuccess. */
int cb_nccl_check(struct cb_transport *t, ncclResult_t result, const char *call,
                  struct cb_error *err);

/* As cb_nccl_check, but first waits for a communicator that answered "in progress"
 * (NCCL_COMM_BLOCKING=0 makes every one answer so). */
int cb_nccl_settle(struct cb_transport *t, ncclResult_t result, const char *call,
                   struct cb_error *err);

/* Runs work, a call of NCCL that waits for other ranks, for at most the transport's time limit.
 * When it hangs it is left alone in its thread and the transport is lost. */
int cb_nccl_call(struct cb_transport *t, const char *what,
                 int (*work)(struct cb_transport *t, struct cb_error *err), struct cb_error *err);

/* Ends its thread, if there is one that does not hang. */
void cb_nccl_end_worker(struct cb_transport *t);

/* Ends the communicator, if there is one, whatever is under way on it; or leaves it in good order
 * through work, which ends it. A call that hangs makes the transport lost. */
void cb_nccl_abort(struct cb_transport *t);
void cb_nccl_leave(struct cb_transport *t,
                   int (*work)(struct cb_transport *t, struct cb_error *err));

/* Waits until everything on the stream up to the end event is done. A peer that does not answer
 * within the time limit, or an error of the communicator, aborts it. */
int cb_nccl_wait(struct cb_transport *t, struct cb_error *err);

/* Puts operations of the prepared step on the stream, and counts them in the rank's place. */
int cb_nccl_enqueue(struct cb_transport *t, int operations, struct cb_error *err);

/* The table's run. */
int cb_nccl_run(struct cb_transport *t, int operations, double *elapsed_s, struct cb_error *err);

void cb_nccl_drop_graphs(struct cb_transport *t);

/* The table's verify. */
int cb_nccl_verify(struct cb_transport *t, uint64_t seed, uint64_t *wrong, struct cb_error *err);

/* Asks NCCL to say which algorithm the operations take that are put on the stream between the two
 * calls, and reads what it said; until it has said it, and on the rank that has the log. They must
 * be launched as those are that are timed. The second is left out after an error: what hangs may
 * hold NCCL's lock. */
void cb_nccl_listen(struct cb_transport *t);
void cb_nccl_hear(struct cb_transport *t);

/* The table's tell. */
bool cb_nccl_tell(const struct cb_transport *t, struct cb_algorithm *out);

/* Where the prepared step reads and writes. */
const char *cb_nccl_input(const struct cb_transport *t);
char *cb_nccl_output(const struct cb_transport *t);

#endif

/* The simulated NCCL: what its files share. A communicator is a full mesh of TCP connections;
 * every operation first agrees on the clock, then moves real data over the mesh. */
#ifndef SIMGPU_NCCL_INTERNAL_H
#define SIMGPU_NCCL_INTERNAL_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>

#include <nccl.h>

#include "simgpu.h"

/* What every rank of a communicator knows of every other. */
struct simnccl_peer {
    int rank, device; /* physical */
    int version;
    int color, key; /* of a split */
    uint32_t address;
    uint16_t port;
    char host[64]; /* with NCCL_HOSTID, that */
    char bus_id[32];
};

struct simnccl_deferred;

struct ncclComm {
    int rank, size;
    int cuda_device, device;
    struct simnccl_peer *peers; /* size of them */
    int *sockets;               /* size of them; own: -1 */
    int listener, wake;         /* wake becomes readable when the communicator is aborted */
    int nodes, local_size, local_rank, largest_local;
    bool blocking;
    uint64_t id_hash;

    atomic_bool aborted;
    _Atomic(ncclResult_t) state; /* what ncclCommGetAsyncError says */
    char last_error[256];

    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t next_ticket, serving; /* operations run in the order they were issued */

    pthread_t initialiser;
    bool initialising;
    struct ncclComm *parent; /* while being split off */
    ncclUniqueId id;

    bool warm;                         /* the first operation is past */
    int polls_left;                    /* until deferred work is started */
    struct simnccl_deferred *deferred; /* first operations of a non-blocking communicator */
    uint64_t last_signature, last_epoch;
    const void *last_send;
    void *last_recv;
};

enum simnccl_kind {
    SIMNCCL_ALL_REDUCE,
    SIMNCCL_ALL_GATHER,
    SIMNCCL_REDUCE_SCATTER,
    SIMNCCL_BROADCAST,
    SIMNCCL_REDUCE,
    SIMNCCL_ALL_TO_ALL,
    SIMNCCL_GATHER,
    SIMNCCL_SCATTER,
    SIMNCCL_KIND_COUNT
};

/* Part of an exchange: bytes to and from one peer. */
struct simnccl_piece {
    int peer;
    const char *send;
    char *recv;
    size_t send_bytes, recv_bytes;
};

/* ---- nccl_net.c ---- */

/* The address other hosts reach this one by (NCCL_SOCKET_IFNAME, else the first interface that is
 * up and not the loopback) and its interface's name. */
uint32_t simnccl_own_address(char *interface, size_t size);

/* Opens a listening socket; *port is where. Returns it or -1. */
int simnccl_listen(uint32_t address, uint16_t *port);

/* Connects; gives up when wake becomes readable or nobody listens for some seconds. -1 on error. */
int simnccl_connect(uint32_t address, uint16_t port, int wake);
int simnccl_accept(int listener, int wake);

/* Whole messages. 0, or -1 when the other end is gone or wake became readable. */
int simnccl_send(int socket, const void *data, size_t size_bytes, int wake);
int simnccl_recv(int socket, void *data, size_t size_bytes, int wake);

/* Sends and receives all pieces at once, whatever their order. Returns 0, -1 when aborted, or
 * 1 + the peer that is gone. */
int simnccl_exchange(struct ncclComm *comm, struct simnccl_piece *pieces, int count);

/* ---- nccl_bootstrap.c ---- */

/* Makes the mesh; on error comm->state and last_error say why. */
ncclResult_t simnccl_bootstrap(struct ncclComm *comm);
ncclResult_t simnccl_bootstrap_split(struct ncclComm *comm, struct ncclComm *parent, int color,
                                     int key);

/* Remembers an error's text, also as NCCL's last for this thread; returns the code. */
ncclResult_t simnccl_fail(struct ncclComm *comm, ncclResult_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- nccl_log.c: what NCCL_DEBUG asks for, to NCCL_DEBUG_FILE or stdout ---- */

enum simnccl_subsystem {
    SIMNCCL_WARN = 0, /* of none: always, from the level WARN on */
    SIMNCCL_INIT = 1,
    SIMNCCL_COLL = 2,
    SIMNCCL_NET = 4,
    SIMNCCL_GRAPH = 8,
    SIMNCCL_TUNING = 16,
    SIMNCCL_ENV = 32,
    SIMNCCL_BOOT = 64
};

void simnccl_log(const struct ncclComm *comm, unsigned subsystem, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void simnccl_log_start(const struct ncclComm *comm);
void simnccl_log_paths(const struct ncclComm *comm);

/* ---- nccl_model.c ---- */

/* How NCCL would reach another host from here. */
bool simnccl_uses_sockets(void);

/* Seconds that a collective takes once all ranks are there; size_bytes counts as nccl-tests does
 * (the larger of the two buffers). */
double simnccl_collective_s(const struct simgpu_config *config, enum simnccl_kind kind,
                            double size_bytes, int ranks, int nodes, int local, bool sockets);

/* What does a collective of so many bytes, in NCCL's words. A table of sizes, so that there is
 * something to read; the times above do not know of it. */
struct simnccl_choice {
    const char *algorithm, *protocol;
    int channels;
};
struct simnccl_choice simnccl_choose(const struct simgpu_config *config, enum simnccl_kind kind,
                                     double size_bytes, int nodes);

/* Seconds of a point-to-point exchange that sends and receives so much in- and outside the host. */
double simnccl_exchange_s(const struct simgpu_config *config, double inside_bytes,
                          double outside_bytes, int local, bool sockets);

/* ---- nccl_reduce.c ---- */

size_t simnccl_type_bytes(ncclDataType_t type); /* 0: no such type */

/* out[i] = combination over parts of parts[p x stride + i], in that order; avg divides by parts. */
void simnccl_reduce(void *out, const void *parts, size_t stride, int part_count, size_t count,
                    ncclDataType_t type, ncclRedOp_t op);

#endif

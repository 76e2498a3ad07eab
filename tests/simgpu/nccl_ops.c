/* The simulated NCCL's operations. Each is work on a stream: agree on the clock with all ranks,
 * move the data, end at the latest arrival plus the model's time. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nccl_ops.h"

#define MAX_TRANSFERS 512 /* sends and receives of one group on one communicator */
#define MAX_GROUP 1024

struct collective {
    struct ncclComm *comm;
    enum simnccl_kind kind;
    const void *send;
    void *recv;
    size_t count; /* elements of one rank's part */
    ncclDataType_t type;
    ncclRedOp_t op;
    int root;
    uint64_t ticket, epoch;
};

struct transfer {
    bool sends;
    int peer;
    char *data;
    size_t size_bytes;
};

struct transfers { /* of one group on one communicator */
    struct ncclComm *comm;
    uint64_t ticket;
    int count;
    struct transfer list[];
};

/* ---- turns ---- */

uint64_t simnccl_take_ticket(struct ncclComm *comm)
{
    pthread_mutex_lock(&comm->lock);
    uint64_t ticket = comm->next_ticket++;
    pthread_mutex_unlock(&comm->lock);
    return ticket;
}

bool simnccl_wait_turn(struct ncclComm *comm, uint64_t ticket)
{
    pthread_mutex_lock(&comm->lock);
    while (comm->serving != ticket)
        pthread_cond_wait(&comm->changed, &comm->lock);
    bool go = !comm->aborted;
    if (!go) {
        comm->serving++;
        pthread_cond_broadcast(&comm->changed);
    }
    pthread_mutex_unlock(&comm->lock);
    return go;
}

void simnccl_end_turn(struct ncclComm *comm)
{
    pthread_mutex_lock(&comm->lock);
    comm->serving++;
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
}

void simnccl_wait_idle(struct ncclComm *comm)
{
    pthread_mutex_lock(&comm->lock);
    while (comm->serving != comm->next_ticket)
        pthread_cond_wait(&comm->changed, &comm->lock);
    pthread_mutex_unlock(&comm->lock);
}

/* As NCCL's kernels do when the network fails under them: says so through the communicator's state
 * and then waits on the stream until it is aborted. */
static void hang(struct ncclComm *comm)
{
    pthread_mutex_lock(&comm->lock);
    while (!comm->aborted)
        pthread_cond_wait(&comm->changed, &comm->lock);
    pthread_mutex_unlock(&comm->lock);
}

static void fail_and_hang(struct ncclComm *comm, int rc)
{
    if (rc > 0)
        simnccl_fail(comm, ncclRemoteError,
                     "socket progress : connection closed by remote peer rank %d (%s)", rc - 1,
                     comm->peers[rc - 1].host);
    hang(comm);
}

/* Faults that happen to a rank at its nth operation. Returns whether it goes on. */
static bool survives(struct ncclComm *comm)
{
    if (simgpu_fault_due("die", comm->device, false))
        raise(SIGKILL);
    if (simgpu_fault_due("stop", comm->device, false))
        raise(SIGSTOP);
    if (simgpu_fault_due("stuck", comm->device, false)) {
        hang(comm);
        return false;
    }
    if (simgpu_fault_due("nccl_system", comm->device, false)) {
        simnccl_fail(comm, ncclSystemError,
                     "NET/IB : Got completion from peer with status=12 opcode=0 len=0 vendor err "
                     "129 (simulated)");
        hang(comm);
        return false;
    }
    return true;
}

/* ---- the clock ---- */

struct arrival {
    uint64_t signature;     /* the operation, which must be the same on all ranks */
    double start_s, cost_s; /* the latest, the longest */
    int repeats;            /* 1: this rank's memory is as it was at the same operation before */
};

/* Every rank learns the maximum over all in ceil(log2 n) rounds. 0, or as simnccl_exchange; -2 when
 * the ranks are at different operations. */
static int agree(struct ncclComm *comm, struct arrival *mine)
{
    for (int distance = 1; distance < comm->size; distance *= 2) {
        int to = (comm->rank + distance) % comm->size;
        int from = (comm->rank - distance + comm->size) % comm->size;
        struct arrival sent = *mine, got;
        struct simnccl_piece pieces[2] = {{to, (const char *)&sent, NULL, sizeof(sent), 0},
                                          {from, NULL, (char *)&got, 0, sizeof(got)}};
        int rc = simnccl_exchange(comm, pieces, 2);
        if (rc != 0)
            return rc;
        if (got.signature != mine->signature)
            return -2;
        mine->start_s = got.start_s > mine->start_s ? got.start_s : mine->start_s;
        mine->cost_s = got.cost_s > mine->cost_s ? got.cost_s : mine->cost_s;
        mine->repeats = got.repeats && mine->repeats;
    }
    return 0;
}

static double slowdown(const struct ncclComm *comm)
{
    return simgpu_fault_number("slow_link", comm->device, "factor", 1) *
           (comm->nodes > 1 ? simgpu_fault_number("slow_nic", comm->device, "factor", 1) : 1);
}

/* ---- collectives ---- */

static size_t chunk_begin(size_t count, int ranks, int i)
{
    return count / (size_t)ranks * (size_t)i +
           ((size_t)i < count % (size_t)ranks ? (size_t)i : count % (size_t)ranks);
}

/* Every rank's part [begin, end) of its own vector goes to whoever combines that part. stride is
 * how far apart in the input the parts of two ranks begin. The combined part is at out. */
static int reduce_parts(const struct collective *c, size_t element, bool scattered, char *out)
{
    struct ncclComm *comm = c->comm;
    const char *send = c->send;
    size_t total = c->kind == SIMNCCL_REDUCE_SCATTER ? c->count * (size_t)comm->size : c->count;
    size_t own_begin = scattered ? chunk_begin(total, comm->size, comm->rank) : 0;
    size_t own_count =
        scattered ? chunk_begin(total, comm->size, comm->rank + 1) - own_begin : total;
    bool takes = scattered || comm->rank == c->root;
    char *parts = takes ? malloc(own_count * element * (size_t)comm->size + 1) : NULL;
    struct simnccl_piece *pieces = calloc((size_t)comm->size, sizeof(*pieces));
    if (pieces == NULL || (takes && parts == NULL))
        abort();
    int count = 0;
    for (int i = 0; i < comm->size; i++) {
        if (i == comm->rank)
            continue;
        size_t begin = scattered ? chunk_begin(total, comm->size, i) : 0;
        size_t end = scattered ? chunk_begin(total, comm->size, i + 1) : total;
        bool gives = scattered || i == c->root;
        pieces[count++] = (struct simnccl_piece){
            i, send + begin * element, takes ? parts + own_count * element * (size_t)i : NULL,
            gives ? (end - begin) * element : 0, takes ? own_count * element : 0};
    }
    int rc = simnccl_exchange(comm, pieces, count);
    if (rc == 0 && takes) {
        memcpy(parts + own_count * element * (size_t)comm->rank, send + own_begin * element,
               own_count * element);
        simnccl_reduce(out, parts, own_count, comm->size, own_count, c->type, c->op);
    }
    free(pieces);
    free(parts);
    return rc;
}

/* Block i of recv comes from rank i, block i of send goes to it; strides may be 0 (one and the same
 * block for all). give and take say with whom. */
static int move_blocks(struct ncclComm *comm, const char *send, size_t send_stride, int give_to,
                       char *recv, size_t recv_stride, int take_from, size_t block_bytes)
{
    struct simnccl_piece *pieces = calloc((size_t)comm->size, sizeof(*pieces));
    if (pieces == NULL)
        abort();
    int count = 0;
    for (int i = 0; i < comm->size; i++) {
        bool gives = give_to < 0 || give_to == i, takes = take_from < 0 || take_from == i;
        const char *from = gives ? send + send_stride * (size_t)i : NULL;
        char *to = takes ? recv + recv_stride * (size_t)i : NULL;
        if (i == comm->rank) {
            if (from != NULL && to != NULL && from != to)
                memmove(to, from, block_bytes);
            continue;
        }
        pieces[count++] =
            (struct simnccl_piece){i, from, to, gives ? block_bytes : 0, takes ? block_bytes : 0};
    }
    int rc = simnccl_exchange(comm, pieces, count);
    free(pieces);
    return rc;
}

#define NOBODY (1 << 30)

static int all_reduce(const struct collective *c, size_t element)
{
    struct ncclComm *comm = c->comm;
    char *recv = c->recv;
    size_t begin = chunk_begin(c->count, comm->size, comm->rank);
    size_t own = chunk_begin(c->count, comm->size, comm->rank + 1) - begin;
    int rc = reduce_parts(c, element, true, recv + begin * element);
    if (rc != 0)
        return rc;
    struct simnccl_piece *pieces = calloc((size_t)comm->size, sizeof(*pieces));
    if (pieces == NULL)
        abort();
    int count = 0;
    for (int i = 0; i < comm->size; i++) {
        size_t first = chunk_begin(c->count, comm->size, i);
        size_t bytes = (chunk_begin(c->count, comm->size, i + 1) - first) * element;
        if (i != comm->rank)
            pieces[count++] = (struct simnccl_piece){i, recv + begin * element,
                                                     recv + first * element, own * element, bytes};
    }
    rc = simnccl_exchange(comm, pieces, count);
    free(pieces);
    return rc;
}

static int move_data(const struct collective *c, size_t element)
{
    struct ncclComm *comm = c->comm;
    size_t bytes = c->count * element;
    const char *send = c->send;
    char *recv = c->recv;
    bool root = comm->rank == c->root;
    switch (c->kind) {
    case SIMNCCL_ALL_REDUCE:
        return all_reduce(c, element);
    case SIMNCCL_REDUCE_SCATTER:
        return reduce_parts(c, element, true, recv);
    case SIMNCCL_REDUCE:
        return reduce_parts(c, element, false, recv);
    case SIMNCCL_ALL_GATHER:
        return move_blocks(comm, send, 0, -1, recv, bytes, -1, bytes);
    case SIMNCCL_BROADCAST:
        return move_blocks(comm, send, 0, root ? -1 : NOBODY, recv, 0, c->root, bytes);
    case SIMNCCL_ALL_TO_ALL:
        return move_blocks(comm, send, bytes, -1, recv, bytes, -1, bytes);
    case SIMNCCL_GATHER:
        return move_blocks(comm, send, 0, c->root, recv, bytes, root ? -1 : NOBODY, bytes);
    case SIMNCCL_SCATTER:
        return move_blocks(comm, send, bytes, root ? -1 : NOBODY, recv, 0, c->root, bytes);
    case SIMNCCL_KIND_COUNT:
        break;
    }
    return -2;
}

static bool spreads(enum simnccl_kind kind) /* count is one of n parts of the larger buffer */
{
    return kind != SIMNCCL_ALL_REDUCE && kind != SIMNCCL_BROADCAST && kind != SIMNCCL_REDUCE;
}

static uint64_t signature(const struct collective *c)
{
    const uint64_t parts[] = {(uint64_t)c->kind, c->count, (uint64_t)c->type, (uint64_t)c->op,
                              (uint64_t)c->root};
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        hash = (hash ^ parts[i]) * 1099511628211u;
    return hash;
}

/* Doing it again with inputs that are the same is only a matter of time. */
static bool is_repeat(const struct collective *c, uint64_t sign)
{
    const struct ncclComm *comm = c->comm;
    bool in_place_sum = c->kind == SIMNCCL_ALL_REDUCE && c->send == c->recv;
    bool inside = c->kind == SIMNCCL_REDUCE_SCATTER &&
                  (const char *)c->recv >= (const char *)c->send &&
                  (const char *)c->recv < (const char *)c->send + (size_t)comm->size * c->count * 8;
    return !in_place_sum && !inside && sign == comm->last_signature &&
           c->epoch == comm->last_epoch + 1 && c->send == comm->last_send &&
           c->recv == comm->last_recv;
}

static cudaError_t run_collective(void *payload, struct simgpu_span *span)
{
    const struct collective *c = payload;
    struct ncclComm *comm = c->comm;
    size_t element = simnccl_type_bytes(c->type);
    if (!simnccl_wait_turn(comm, c->ticket))
        return cudaSuccess;
    if (!survives(comm))
        goto done;
    double bytes = (double)(c->count * element) * (spreads(c->kind) ? comm->size : 1);
    uint64_t sign = signature(c);
    struct arrival arrival = {
        .signature = sign,
        .start_s = span->start_s,
        .cost_s = simnccl_collective_s(simgpu_config(), c->kind, bytes, comm->size, comm->nodes,
                                       comm->largest_local, simnccl_uses_sockets()) /
                  slowdown(comm),
        .repeats = is_repeat(c, sign)};
    int rc = agree(comm, &arrival);
    if (rc == 0 && !arrival.repeats)
        rc = move_data(c, element);
    if (rc == -2)
        simnccl_fail(comm, ncclInvalidUsage, "the ranks are at different operations (simulated)");
    if (rc != 0) {
        fail_and_hang(comm, rc);
        goto done;
    }
    comm->last_signature = sign;
    comm->last_epoch = c->epoch;
    comm->last_send = c->send;
    comm->last_recv = c->recv;
    if (c->count > 0 && simgpu_fault_due("corrupt", comm->device, true))
        ((unsigned char *)c->recv)[c->count * element / 2] ^= 0x40;
    span->end_s = arrival.start_s + arrival.cost_s;
    span->busy = true;
done:
    simnccl_end_turn(comm);
    return cudaSuccess;
}

/* The device is gone: only the turn is passed on. */
static void cancel_collective(void *payload)
{
    struct collective *c = payload;
    if (simnccl_wait_turn(c->comm, c->ticket))
        simnccl_end_turn(c->comm);
}

static void issue_collective(void *payload)
{
    struct collective *c = payload;
    c->ticket = simnccl_take_ticket(c->comm);
    c->epoch = simgpu_memory_epoch();
}

/* ---- sends and receives ---- */

/* Both ends of every pair tell each other when they came and what they bring. */
struct meeting {
    double start_s, cost_s;
    uint64_t sends_bytes;
};

static uint64_t bytes_with(const struct transfers *t, int peer, bool sends)
{
    uint64_t bytes = 0;
    for (int i = 0; i < t->count; i++)
        if (t->list[i].peer == peer && t->list[i].sends == sends)
            bytes += t->list[i].size_bytes;
    return bytes;
}

static bool takes_part(const struct transfers *t, int peer)
{
    for (int i = 0; i < t->count; i++)
        if (t->list[i].peer == peer)
            return true;
    return false;
}

static double transfers_cost_s(const struct transfers *t)
{
    const struct ncclComm *comm = t->comm;
    double inside[2] = {0, 0}, outside[2] = {0, 0};
    for (int i = 0; i < t->count; i++) {
        const struct transfer *one = &t->list[i];
        bool same = strcmp(comm->peers[one->peer].host, comm->peers[comm->rank].host) == 0;
        if (one->peer != comm->rank)
            (same ? inside : outside)[one->sends] += (double)one->size_bytes;
    }
    return simnccl_exchange_s(simgpu_config(), inside[0] > inside[1] ? inside[0] : inside[1],
                              outside[0] > outside[1] ? outside[0] : outside[1],
                              comm->largest_local, simnccl_uses_sockets()) /
           slowdown(comm);
}

static int meet(const struct transfers *t, struct meeting *own, struct meeting *all)
{
    struct ncclComm *comm = t->comm;
    struct meeting *mine = calloc((size_t)comm->size, sizeof(*mine));
    struct simnccl_piece *pieces = calloc((size_t)comm->size, sizeof(*pieces));
    if (mine == NULL || pieces == NULL)
        abort();
    int count = 0;
    for (int i = 0; i < comm->size; i++) {
        if (i == comm->rank || !takes_part(t, i))
            continue;
        mine[i] = *own;
        mine[i].sends_bytes = bytes_with(t, i, true);
        pieces[count++] = (struct simnccl_piece){i, (const char *)&mine[i], (char *)&all[i],
                                                 sizeof(mine[i]), sizeof(all[i])};
    }
    int rc = simnccl_exchange(comm, pieces, count);
    for (int i = 0; rc == 0 && i < comm->size; i++) {
        if (i == comm->rank || !takes_part(t, i))
            continue;
        if (all[i].sends_bytes != bytes_with(t, i, false))
            rc = -2;
        own->start_s = all[i].start_s > own->start_s ? all[i].start_s : own->start_s;
        own->cost_s = all[i].cost_s > own->cost_s ? all[i].cost_s : own->cost_s;
    }
    free(mine);
    free(pieces);
    return rc;
}

/* The nth send to a peer meets its nth receive from us: one rank's are sent in their order. */
static int move_transfers(const struct transfers *t)
{
    struct ncclComm *comm = t->comm;
    struct simnccl_piece *pieces = calloc((size_t)t->count, sizeof(*pieces));
    bool *done = calloc((size_t)t->count, sizeof(*done));
    if (pieces == NULL || done == NULL)
        abort();
    int rc = 0, left = t->count;
    while (rc == 0 && left > 0) {
        int count = 0;
        bool seen[2][4096] = {{false}};
        for (int i = 0; i < t->count; i++) {
            const struct transfer *one = &t->list[i];
            if (done[i] || one->peer == comm->rank || one->peer >= 4096 ||
                seen[one->sends][one->peer]) {
                left -= !done[i] && one->peer == comm->rank;
                done[i] = done[i] || one->peer == comm->rank;
                continue;
            }
            seen[one->sends][one->peer] = true;
            done[i] = true;
            left--;
            pieces[count++] = (struct simnccl_piece){
                one->peer, one->sends ? one->data : NULL, one->sends ? NULL : one->data,
                one->sends ? one->size_bytes : 0, one->sends ? 0 : one->size_bytes};
        }
        rc = simnccl_exchange(comm, pieces, count);
    }
    for (int i = 0; i < t->count; i++)
        for (int j = 0; t->list[i].peer == comm->rank && t->list[i].sends && j < t->count; j++)
            if (t->list[j].peer == comm->rank && !t->list[j].sends)
                memmove(t->list[j].data, t->list[i].data, t->list[i].size_bytes);
    free(pieces);
    free(done);
    return rc;
}

static cudaError_t run_transfers(void *payload, struct simgpu_span *span)
{
    const struct transfers *t = payload;
    struct ncclComm *comm = t->comm;
    if (!simnccl_wait_turn(comm, t->ticket))
        return cudaSuccess;
    struct meeting own = {.start_s = span->start_s, .cost_s = transfers_cost_s(t)};
    struct meeting *all = calloc((size_t)comm->size, sizeof(*all));
    if (all == NULL)
        abort();
    if (survives(comm)) {
        int rc = meet(t, &own, all);
        if (rc == 0)
            rc = move_transfers(t);
        if (rc == -2)
            simnccl_fail(comm, ncclInvalidUsage, "a send and its receive differ (simulated)");
        if (rc != 0)
            fail_and_hang(comm, rc);
        span->end_s = rc == 0 ? own.start_s + own.cost_s : span->start_s;
        for (int i = 0; rc == 0 && i < t->count; i++)
            if (!t->list[i].sends && t->list[i].size_bytes > 0 &&
                simgpu_fault_due("corrupt", comm->device, true))
                t->list[i].data[t->list[i].size_bytes / 2] ^= 0x40;
    }
    free(all);
    simnccl_end_turn(comm);
    return cudaSuccess;
}

static void cancel_transfers(void *payload)
{
    struct transfers *t = payload;
    if (simnccl_wait_turn(t->comm, t->ticket))
        simnccl_end_turn(t->comm);
}

static void issue_transfers(void *payload)
{
    struct transfers *t = payload;
    t->ticket = simnccl_take_ticket(t->comm);
}

/* ---- groups and calls ---- */

struct pending {
    cudaStream_t stream;
    bool is_transfer;
    struct collective collective;
    struct transfer transfer;
};

static _Thread_local struct {
    int depth, count;
    struct pending list[MAX_GROUP];
} group;

struct simnccl_deferred {
    struct simnccl_deferred *next;
    cudaStream_t stream;
    struct simgpu_work work;
    size_t size_bytes;
    max_align_t payload[];
};

void simnccl_drop_deferred(struct ncclComm *comm)
{
    while (comm->deferred != NULL) {
        struct simnccl_deferred *first = comm->deferred;
        comm->deferred = first->next;
        free(first);
    }
}

void simnccl_poll_deferred(struct ncclComm *comm)
{
    if (comm->deferred == NULL || --comm->polls_left > 0)
        return;
    for (struct simnccl_deferred *one = comm->deferred; one != NULL; one = one->next)
        simgpu_stream_submit(one->stream, &one->work, one->payload, one->size_bytes);
    simnccl_drop_deferred(comm);
    comm->state = ncclSuccess;
}

static ncclResult_t submit(struct ncclComm *comm, cudaStream_t stream,
                           const struct simgpu_work *work, const void *payload, size_t size_bytes)
{
    if (simgpu_fault_due("never_arrives", comm->device, false))
        for (;;)
            pause(); /* the call does not come back, and nothing was put on the stream */
    if (!comm->blocking && !comm->warm && !simgpu_stream_capturing(stream)) {
        struct simnccl_deferred *one = malloc(sizeof(*one) + size_bytes), **last = &comm->deferred;
        if (one == NULL)
            return ncclSystemError;
        *one = (struct simnccl_deferred){NULL, stream, *work, size_bytes};
        memcpy(one->payload, payload, size_bytes);
        while (*last != NULL)
            last = &(*last)->next;
        *last = one;
        comm->polls_left = 3;
        return ncclInProgress;
    }
    return simgpu_stream_submit(stream, work, payload, size_bytes) == cudaSuccess
               ? ncclSuccess
               : simnccl_fail(NULL, ncclUnhandledCudaError, "Cuda failure 'unknown error'");
}

/* All sends and receives of the group on the communicator of list[first], as one piece of work. */
static ncclResult_t submit_transfers(int first)
{
    static const struct simgpu_work work = {
        .run = run_transfers, .issue = issue_transfers, .cancel = cancel_transfers};
    struct ncclComm *comm = group.list[first].collective.comm;
    struct transfers *t = malloc(sizeof(*t) + MAX_TRANSFERS * sizeof(t->list[0]));
    if (t == NULL)
        return ncclSystemError;
    t->comm = comm;
    t->count = 0;
    for (int i = first; i < group.count && t->count < MAX_TRANSFERS; i++)
        if (group.list[i].is_transfer && group.list[i].collective.comm == comm) {
            t->list[t->count++] = group.list[i].transfer;
            group.list[i].collective.comm = i == first ? comm : NULL; /* taken */
        }
    ncclResult_t result = submit(comm, group.list[first].stream, &work, t,
                                 sizeof(*t) + (size_t)t->count * sizeof(t->list[0]));
    free(t);
    return result;
}

/* The first rank names the algorithm of each collective, at its launch. */
static void log_choice(const struct collective *c)
{
    static const char *const names[SIMNCCL_KIND_COUNT] = {[SIMNCCL_ALL_REDUCE] = "AllReduce",
                                                          [SIMNCCL_ALL_GATHER] = "AllGather",
                                                          [SIMNCCL_REDUCE_SCATTER] =
                                                              "ReduceScatter",
                                                          [SIMNCCL_BROADCAST] = "Broadcast",
                                                          [SIMNCCL_REDUCE] = "Reduce"};
    const struct ncclComm *comm = c->comm;
    size_t bytes = c->count * simnccl_type_bytes(c->type);
    if (comm->rank != 0 || comm->size == 1 || names[c->kind] == NULL)
        return;
    struct simnccl_choice choice = simnccl_choose(
        simgpu_config(), c->kind, (double)bytes * (spreads(c->kind) ? comm->size : 1), comm->nodes);
    simnccl_log(comm, SIMNCCL_TUNING, "%s: %zu Bytes -> Algo %s proto %s channel{Lo..Hi}={%d..%d}",
                names[c->kind], bytes, choice.algorithm, choice.protocol, 0, choice.channels - 1);
}

static ncclResult_t submit_group(void)
{
    static const struct simgpu_work work = {
        .run = run_collective, .issue = issue_collective, .cancel = cancel_collective};
    ncclResult_t result = ncclSuccess;
    for (int i = 0; i < group.count; i++) {
        const struct pending *one = &group.list[i];
        if (one->collective.comm == NULL)
            continue;
        if (!one->is_transfer)
            log_choice(&one->collective);
        ncclResult_t now = one->is_transfer ? submit_transfers(i)
                                            : submit(one->collective.comm, one->stream, &work,
                                                     &one->collective, sizeof(one->collective));
        if (now != ncclSuccess)
            result = now;
    }
    for (int i = 0; i < group.count; i++) {
        struct ncclComm *comm = group.list[i].collective.comm;
        if (comm == NULL)
            continue;
        comm->warm = true;
        if (comm->deferred != NULL)
            comm->state = ncclInProgress;
    }
    group.count = 0;
    return result;
}

ncclResult_t ncclGroupStart(void); /* nccl.h has no prototypes of these two */
ncclResult_t ncclGroupEnd(void);

ncclResult_t ncclGroupStart(void)
{
    group.depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    if (group.depth == 0)
        return simnccl_fail(NULL, ncclInvalidUsage, "ncclGroupEnd: not in a group call");
    return --group.depth == 0 ? submit_group() : ncclSuccess;
}

static ncclResult_t add(const struct pending *one)
{
    if (group.count == MAX_GROUP)
        return simnccl_fail(NULL, ncclInternalError, "too many operations in a group");
    group.list[group.count++] = *one;
    return group.depth == 0 ? submit_group() : ncclSuccess;
}

static ncclResult_t check_range(const struct ncclComm *comm, const char *call, const void *data,
                                size_t size_bytes)
{
    if (size_bytes == 0 || simgpu_memory_known(data, size_bytes))
        return ncclSuccess;
    return simnccl_fail(NULL, ncclInvalidArgument,
                        "%s : rank %d: %p + %zu is not inside device memory", call, comm->rank,
                        data, size_bytes);
}

static ncclResult_t call_collective(const char *call, const struct collective *c,
                                    cudaStream_t stream)
{
    ncclResult_t result = simnccl_ready(c->comm);
    if (result != ncclSuccess)
        return result;
    size_t bytes = c->count * simnccl_type_bytes(c->type), n = (size_t)c->comm->size;
    if (simnccl_type_bytes(c->type) == 0 || c->root < 0 || c->root >= c->comm->size ||
        (int)c->op < 0 || c->op > ncclAvg)
        return simnccl_fail(NULL, ncclInvalidArgument, "%s : invalid type, operation or root",
                            call);
    simgpu_trace(call);
    bool root = c->comm->rank == c->root;
    bool wide_send = c->kind == SIMNCCL_REDUCE_SCATTER || c->kind == SIMNCCL_ALL_TO_ALL ||
                     (c->kind == SIMNCCL_SCATTER && root);
    bool wide_recv = c->kind == SIMNCCL_ALL_GATHER || c->kind == SIMNCCL_ALL_TO_ALL ||
                     (c->kind == SIMNCCL_GATHER && root);
    bool sends = root || (c->kind != SIMNCCL_BROADCAST && c->kind != SIMNCCL_SCATTER);
    bool receives = root || (c->kind != SIMNCCL_REDUCE && c->kind != SIMNCCL_GATHER);
    if (sends)
        result = check_range(c->comm, call, c->send, wide_send ? n * bytes : bytes);
    if (result == ncclSuccess && receives)
        result = check_range(c->comm, call, c->recv, wide_recv ? n * bytes : bytes);
    if (result != ncclSuccess || c->count == 0)
        return result;
    simnccl_log(c->comm, SIMNCCL_COLL, "%s: sendbuff %p recvbuff %p count %zu comm %p [nranks=%d]",
                call, c->send, c->recv, c->count, (const void *)c->comm, c->comm->size);
    return add(&(struct pending){.stream = stream, .collective = *c});
}

ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    struct collective c = {comm, SIMNCCL_ALL_REDUCE, send, recv, count, type, op, 0, 0, 0};
    return call_collective("AllReduce", &c, stream);
}

ncclResult_t ncclReduce(const void *send, void *recv, size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream)
{
    struct collective c = {comm, SIMNCCL_REDUCE, send, recv, count, type, op, root, 0, 0};
    return call_collective("Reduce", &c, stream);
}

ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream)
{
    struct collective c = {comm, SIMNCCL_BROADCAST, send, recv, count, type, ncclSum, root, 0, 0};
    return call_collective("Broadcast", &c, stream);
}

ncclResult_t ncclBcast(void *data, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream)
{
    return ncclBroadcast(data, data, count, type, root, comm, stream);
}

ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    struct collective c = {comm, SIMNCCL_REDUCE_SCATTER, send, recv, count, type, op, 0, 0, 0};
    return call_collective("ReduceScatter", &c, stream);
}

ncclResult_t ncclAllGather(const void *send, void *recv, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream)
{
    struct collective c = {comm, SIMNCCL_ALL_GATHER, send, recv, count, type, ncclSum, 0, 0, 0};
    return call_collective("AllGather", &c, stream);
}

ncclResult_t ncclAlltoAll(const void *send, void *recv, size_t count, ncclDataType_t type,
                          ncclComm_t comm, cudaStream_t stream)
{
    struct collective c = {comm, SIMNCCL_ALL_TO_ALL, send, recv, count, type, ncclSum, 0, 0, 0};
    return call_collective("AlltoAll", &c, stream);
}

ncclResult_t ncclGather(const void *send, void *recv, size_t count, ncclDataType_t type, int root,
                        ncclComm_t comm, cudaStream_t stream)
{
    struct collective c = {comm, SIMNCCL_GATHER, send, recv, count, type, ncclSum, root, 0, 0};
    return call_collective("Gather", &c, stream);
}

ncclResult_t ncclScatter(const void *send, void *recv, size_t count, ncclDataType_t type, int root,
                         ncclComm_t comm, cudaStream_t stream)
{
    struct collective c = {comm, SIMNCCL_SCATTER, send, recv, count, type, ncclSum, root, 0, 0};
    return call_collective("Scatter", &c, stream);
}

static ncclResult_t call_transfer(const char *call, bool sends, char *data, size_t count,
                                  ncclDataType_t type, int peer, ncclComm_t comm,
                                  cudaStream_t stream)
{
    ncclResult_t result = simnccl_ready(comm);
    if (result != ncclSuccess)
        return result;
    simgpu_trace(call);
    size_t bytes = count * simnccl_type_bytes(type);
    if (simnccl_type_bytes(type) == 0 || peer < 0 || peer >= comm->size)
        return simnccl_fail(NULL, ncclInvalidArgument,
                            "%s : invalid root %d (root should be in "
                            "the 0..%d range)",
                            call, peer, comm->size);
    result = check_range(comm, call, data, bytes);
    if (result != ncclSuccess)
        return result;
    return add(&(struct pending){.stream = stream,
                                 .is_transfer = true,
                                 .collective = {.comm = comm},
                                 .transfer = {sends, peer, data, bytes}});
}

ncclResult_t ncclSend(const void *data, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream)
{
    char *bytes = (char *)(uintptr_t)data; /* only read */
    return call_transfer("Send", true, bytes, count, type, peer, comm, stream);
}

ncclResult_t ncclRecv(void *data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    return call_transfer("Recv", false, data, count, type, peer, comm, stream);
}

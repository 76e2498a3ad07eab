/* How ranks find one another: the process that made the unique id listens at the address in it,
 * hears from every rank, and tells every rank about all. Then each connects to those below it. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nccl_internal.h"

static const char id_magic[16] = "simulated NCCL ";

struct id_content {
    char magic[16];
    uint32_t address;
    uint16_t port;
    uint64_t nonce;
};

struct hello {
    int size;
    struct simnccl_peer peer;
};

static _Thread_local char thread_error[256];

ncclResult_t simnccl_fail(struct ncclComm *comm, ncclResult_t code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(thread_error, sizeof(thread_error), format, arguments);
    va_end(arguments);
    if (comm != NULL) {
        snprintf(comm->last_error, sizeof(comm->last_error), "%s", thread_error);
        comm->state = code;
    }
    simnccl_log(comm, SIMNCCL_WARN, "%s", thread_error);
    return code;
}

const char *ncclGetLastError(ncclComm_t comm)
{
    return comm != NULL ? comm->last_error : thread_error;
}

static void *serve(void *argument)
{
    int listener = (int)(intptr_t)argument, size = 0, known = 0;
    struct hello hello;
    struct simnccl_peer *peers = NULL;
    int *sockets = NULL;
    do {
        int one = simnccl_accept(listener, -1);
        if (one < 0 || simnccl_recv(one, &hello, sizeof(hello), -1) != 0)
            continue;
        if (peers == NULL) {
            size = hello.size;
            peers = calloc((size_t)size, sizeof(*peers));
            sockets = calloc((size_t)size, sizeof(*sockets));
        }
        if (peers == NULL || sockets == NULL)
            abort();
        peers[hello.peer.rank] = hello.peer;
        sockets[hello.peer.rank] = one;
        known++;
    } while (size == 0 || known < size);
    /* Rank 0 last: it is mostly this very process, and what it learns may make it end. */
    for (int i = size - 1; i >= 0; i--) {
        simnccl_send(sockets[i], peers, (size_t)size * sizeof(*peers), -1);
        close(sockets[i]);
    }
    free(peers);
    free(sockets);
    close(listener);
    return NULL;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *out)
{
    static atomic_uint_fast64_t nonce;
    char interface[32];
    struct id_content content = {.nonce = (uint64_t)getpid() << 16 | ++nonce};
    memcpy(content.magic, id_magic, sizeof(id_magic));
    if (out == NULL)
        return simnccl_fail(NULL, ncclInvalidArgument, "GetUniqueId : out is NULL");
    content.address = simnccl_own_address(interface, sizeof(interface));
    int listener = simnccl_listen(content.address, &content.port);
    pthread_t server;
    if (listener < 0 || pthread_create(&server, NULL, serve, (void *)(intptr_t)listener) != 0)
        return simnccl_fail(NULL, ncclSystemError, "Bootstrap : no socket interface found");
    pthread_detach(server);
    memset(out, 0, sizeof(*out));
    memcpy(out, &content, sizeof(content));
    return ncclSuccess;
}

static void describe_self(struct ncclComm *comm, struct simnccl_peer *out)
{
    char interface[32];
    const char *host = getenv("NCCL_HOSTID");
    *out = (struct simnccl_peer){.rank = comm->rank, .device = comm->device};
    ncclGetVersion(&out->version);
    out->address = simnccl_own_address(interface, sizeof(interface));
    if (host != NULL)
        snprintf(out->host, sizeof(out->host), "%s", host);
    else
        gethostname(out->host, sizeof(out->host) - 1);
    simgpu_device_bus_id(comm->device, out->bus_id, sizeof(out->bus_id));
}

static ncclResult_t check_peers(struct ncclComm *comm)
{
    const struct simnccl_peer *own = &comm->peers[comm->rank];
    int counted[2] = {0, 0};
    for (int i = 0; i < comm->size; i++) {
        const struct simnccl_peer *peer = &comm->peers[i];
        if (peer->version != own->version)
            return simnccl_fail(comm, ncclInvalidUsage,
                                "Mismatched NCCL version detected : rank %d version %d rank %d "
                                "version %d",
                                i, peer->version, comm->rank, own->version);
        if (i != comm->rank && strcmp(peer->host, own->host) == 0 && peer->device == own->device)
            return simnccl_fail(comm, ncclInvalidUsage,
                                "Duplicate GPU detected : rank %d and rank %d both on CUDA device "
                                "%s",
                                comm->rank, i, own->bus_id + 4);
        bool first = true;
        int local = 0;
        for (int j = 0; j < comm->size; j++)
            if (strcmp(comm->peers[j].host, peer->host) == 0) {
                first = first && j >= i;
                local++;
            }
        comm->nodes += first;
        if (local > comm->largest_local)
            comm->largest_local = local;
        counted[0] += strcmp(peer->host, own->host) == 0;
        counted[1] += i < comm->rank && strcmp(peer->host, own->host) == 0;
    }
    comm->local_size = counted[0];
    comm->local_rank = counted[1];
    return ncclSuccess;
}

/* Connects to the ranks below, hears from those above. The table is complete. */
static ncclResult_t build_mesh(struct ncclComm *comm)
{
    for (int i = 0; i < comm->rank; i++) {
        int one = simnccl_connect(comm->peers[i].address, comm->peers[i].port, comm->wake);
        comm->sockets[i] = one;
        if (one < 0 || simnccl_send(one, &comm->rank, sizeof(comm->rank), comm->wake) != 0)
            return simnccl_fail(comm, ncclSystemError, "socket : connect to rank %d (%s) failed", i,
                                comm->peers[i].host);
    }
    for (int i = comm->rank + 1; i < comm->size; i++) {
        int peer = -1, one = simnccl_accept(comm->listener, comm->wake);
        if (one < 0 || simnccl_recv(one, &peer, sizeof(peer), comm->wake) != 0 || peer < 0 ||
            peer >= comm->size)
            return simnccl_fail(comm, ncclRemoteError, "socket : a rank did not connect");
        comm->sockets[peer] = one;
    }
    close(comm->listener);
    comm->listener = -1;
    return ncclSuccess;
}

static ncclResult_t make_room(struct ncclComm *comm, int size)
{
    if (size < 1)
        return simnccl_fail(comm, ncclInternalError, "a communicator without ranks");
    comm->size = size;
    comm->peers = calloc((size_t)size, sizeof(*comm->peers));
    comm->sockets = malloc((size_t)size * sizeof(*comm->sockets));
    if (comm->peers == NULL || comm->sockets == NULL)
        return simnccl_fail(comm, ncclSystemError, "out of memory");
    for (int i = 0; i < size; i++)
        comm->sockets[i] = -1;
    return ncclSuccess;
}

static ncclResult_t finish(struct ncclComm *comm)
{
    ncclResult_t result = check_peers(comm);
    if (result == ncclSuccess)
        result = build_mesh(comm);
    if (result == ncclSuccess)
        simnccl_log_paths(comm);
    return result;
}

ncclResult_t simnccl_bootstrap(struct ncclComm *comm)
{
    struct id_content content;
    memcpy(&content, &comm->id, sizeof(content));
    if (memcmp(content.magic, id_magic, sizeof(id_magic)) != 0)
        return simnccl_fail(comm, ncclInvalidArgument, "commId is not one of ncclGetUniqueId");
    comm->id_hash = content.nonce;
    if (simgpu_fault_due("never_init", comm->device, false)) /* its devices do not open */
        while (!comm->aborted)
            usleep(1000);
    simnccl_log_start(comm);
    if (simgpu_fault_due("nccl_init", comm->device, false))
        return simnccl_fail(comm, ncclSystemError, "NET/IB : ibv_open_device failed");
    ncclResult_t result = make_room(comm, comm->size);
    if (result != ncclSuccess)
        return result;
    struct hello hello = {.size = comm->size};
    describe_self(comm, &hello.peer);
    comm->listener = simnccl_listen(hello.peer.address, &hello.peer.port);
    int root = simnccl_connect(content.address, content.port, comm->wake);
    size_t table_bytes = (size_t)comm->size * sizeof(*comm->peers);
    if (comm->listener < 0 || root < 0 ||
        simnccl_send(root, &hello, sizeof(hello), comm->wake) != 0 ||
        simnccl_recv(root, comm->peers, table_bytes, comm->wake) != 0)
        result = simnccl_fail(comm, ncclRemoteError, "Bootstrap : the root did not answer");
    if (root >= 0)
        close(root);
    return result == ncclSuccess ? finish(comm) : result;
}

static int by_key(const void *left, const void *right)
{
    const struct simnccl_peer *a = left, *b = right;
    return a->key != b->key ? (a->key > b->key) - (a->key < b->key) : a->rank - b->rank;
}

ncclResult_t simnccl_bootstrap_split(struct ncclComm *comm, struct ncclComm *parent, int color,
                                     int key)
{
    struct simnccl_peer own;
    comm->rank = parent->rank;
    comm->id_hash = parent->id_hash + 1;
    describe_self(comm, &own);
    own.color = color;
    own.key = key;
    comm->listener = simnccl_listen(own.address, &own.port);
    if (comm->listener < 0)
        return simnccl_fail(comm, ncclSystemError, "socket : cannot listen");

    size_t parents = (size_t)parent->size;
    struct simnccl_peer *all = calloc(parents, sizeof(*all));
    struct simnccl_piece *pieces = calloc(parents, sizeof(*pieces));
    if (all == NULL || pieces == NULL)
        abort();
    int others = 0, members = 0;
    for (int i = 0; i < parent->size; i++)
        if (i != parent->rank)
            pieces[others++] = (struct simnccl_piece){i, (const char *)&own, (char *)&all[i],
                                                      sizeof(own), sizeof(own)};
    all[parent->rank] = own;
    int gone = simnccl_exchange(parent, pieces, others);
    free(pieces);
    for (int i = 0; i < parent->size; i++)
        if (all[i].color == color)
            all[members++] = all[i];
    qsort(all, (size_t)members, sizeof(*all), by_key);
    ncclResult_t result = ncclSuccess;
    if (gone != 0)
        result = simnccl_fail(comm, ncclRemoteError, "split : rank %d is gone", gone - 1);
    else if (color != NCCL_SPLIT_NOCOLOR)
        result = make_room(comm, members);
    if (result == ncclSuccess && color != NCCL_SPLIT_NOCOLOR) {
        for (int i = 0; i < members; i++) {
            if (all[i].rank == parent->rank)
                comm->rank = i;
            comm->peers[i] = all[i];
            comm->peers[i].rank = i;
        }
        result = finish(comm);
    }
    free(all);
    return result;
}

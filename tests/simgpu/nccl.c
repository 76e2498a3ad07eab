/* The simulated NCCL's communicators: making, splitting, asking, aborting. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nccl_ops.h"

ncclResult_t ncclGetVersion(int *version)
{
    if (version == NULL)
        return ncclInvalidArgument;
    *version = (int)simgpu_fault_number("nccl_version", -1, "version", SIMNCCL_VERSION);
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    switch ((int)result) {
    case ncclSuccess:
        return "no error";
    case ncclUnhandledCudaError:
        return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError:
        return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
        return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument:
        return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
        return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
        return "remote process exited or there was a network error";
    case ncclInProgress:
        return "NCCL operation in progress";
    }
    return "unknown result code";
}

static struct ncclComm *comm_new(int size, int rank, const ncclConfig_t *config)
{
    struct ncclComm *comm = calloc(1, sizeof(*comm));
    if (comm == NULL)
        return NULL;
    comm->size = size;
    comm->rank = rank;
    comm->cuda_device = simgpu_device_current();
    comm->device = simgpu_device_physical(comm->cuda_device);
    comm->blocking = config == NULL || config->blocking != 0;
    comm->listener = -1;
    comm->wake = eventfd(0, EFD_CLOEXEC);
    pthread_mutex_init(&comm->lock, NULL);
    pthread_cond_init(&comm->changed, NULL);
    return comm;
}

static void comm_free(struct ncclComm *comm)
{
    for (int i = 0; comm->sockets != NULL && i < comm->size; i++)
        if (comm->sockets[i] >= 0)
            close(comm->sockets[i]);
    if (comm->listener >= 0)
        close(comm->listener);
    close(comm->wake);
    simnccl_drop_deferred(comm);
    pthread_mutex_destroy(&comm->lock);
    pthread_cond_destroy(&comm->changed);
    free(comm->sockets);
    free(comm->peers);
    free(comm);
}

ncclResult_t simnccl_ready(struct ncclComm *comm)
{
    if (comm == NULL)
        return simnccl_fail(NULL, ncclInvalidArgument, "comm argument is NULL");
    ncclResult_t state = comm->state;
    if (state == ncclInProgress) { /* not comm's state: it may yet end well */
        simnccl_fail(NULL, ncclInvalidArgument,
                     "Attempt to use communicator before the previous operation returned "
                     "ncclSuccess");
        return ncclInvalidArgument;
    }
    return state;
}

static void *initialise(void *argument)
{
    struct ncclComm *comm = argument;
    ncclResult_t result = simnccl_bootstrap(comm);
    comm->state = result;
    return NULL;
}

/* Runs now, or in a thread of its own for a communicator that does not block. */
static ncclResult_t start(struct ncclComm *comm, void *(*function)(void *), ncclComm_t *out)
{
    comm->state = ncclInProgress;
    if (!comm->blocking) {
        if (pthread_create(&comm->initialiser, NULL, function, comm) != 0)
            return simnccl_fail(comm, ncclSystemError, "cannot start a thread");
        comm->initialising = true;
        *out = comm;
        return ncclInProgress;
    }
    function(comm);
    ncclResult_t result = comm->state;
    if (result == ncclSuccess)
        *out = comm;
    else
        comm_free(comm);
    return result;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *out, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    if (out == NULL || size < 1 || rank < 0 || rank >= size)
        return simnccl_fail(NULL, ncclInvalidArgument, "CommInitRank : invalid rank %d of %d", rank,
                            size);
    /* A configuration of a later header is longer; the real one, too, takes what it knows of it. */
    if (config != NULL && config->magic != 0xcafebeef)
        return simnccl_fail(NULL, ncclInvalidArgument,
                            "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER");
    if (simgpu_device_count() == 0 ||
        simgpu_device_lost(simgpu_device_physical(simgpu_device_current())))
        return simnccl_fail(NULL, ncclUnhandledCudaError, "Cuda failure 'unknown error'");
    struct ncclComm *comm = comm_new(size, rank, config);
    if (comm == NULL)
        return ncclSystemError;
    comm->id = id;
    return start(comm, initialise, out);
}

ncclResult_t ncclCommInitRank(ncclComm_t *out, int size, ncclUniqueId id, int rank)
{
    return ncclCommInitRankConfig(out, size, id, rank, NULL);
}

static void *initialise_split(void *argument)
{
    struct ncclComm *comm = argument;
    struct ncclComm *parent = comm->parent;
    int color, key;
    memcpy(&color, comm->id.internal, sizeof(color));
    memcpy(&key, comm->id.internal + sizeof(color), sizeof(key));
    uint64_t ticket = simnccl_take_ticket(parent);
    ncclResult_t result = ncclRemoteError;
    if (simnccl_wait_turn(parent, ticket)) {
        result = simnccl_bootstrap_split(comm, parent, color, key);
        simnccl_end_turn(parent);
    }
    comm->state = result;
    if (!parent->blocking)
        parent->state = ncclSuccess;
    return NULL;
}

ncclResult_t ncclCommSplit(ncclComm_t parent, int color, int key, ncclComm_t *out,
                           ncclConfig_t *config)
{
    ncclResult_t result = simnccl_ready(parent);
    if (result != ncclSuccess)
        return result;
    if (color != NCCL_SPLIT_NOCOLOR && color < 0)
        return simnccl_fail(NULL, ncclInvalidArgument, "CommSplit : invalid color %d", color);
    struct ncclComm *comm = comm_new(parent->size, parent->rank, config);
    if (comm == NULL)
        return ncclSystemError;
    if (config == NULL)
        comm->blocking = parent->blocking;
    comm->parent = parent;
    memcpy(comm->id.internal, &color, sizeof(color));
    memcpy(comm->id.internal + sizeof(color), &key, sizeof(key));
    if (color == NCCL_SPLIT_NOCOLOR) { /* it has no communicator to poll */
        initialise_split(comm);
        result = comm->state;
        comm_free(comm);
        *out = NULL;
        return result;
    }
    if (!parent->blocking)
        parent->state = ncclInProgress;
    return start(comm, initialise_split, out);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *out)
{
    if (comm == NULL || out == NULL)
        return simnccl_fail(NULL, ncclInvalidArgument, "comm argument is NULL");
    simnccl_poll_deferred(comm);
    *out = comm->state;
    return ncclSuccess;
}

static void join(struct ncclComm *comm)
{
    if (comm->initialising)
        pthread_join(comm->initialiser, NULL);
    comm->initialising = false;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    ncclResult_t result = simnccl_ready(comm);
    if (result == ncclSuccess)
        simnccl_wait_idle(comm);
    return result;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    if (comm == NULL)
        return ncclSuccess;
    join(comm);
    simnccl_wait_idle(comm);
    comm_free(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    if (comm == NULL)
        return ncclSuccess;
    const uint64_t one = 1;
    comm->aborted = true;
    if (write(comm->wake, &one, sizeof(one)) != (ssize_t)sizeof(one))
        abort();
    pthread_mutex_lock(&comm->lock);
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
    join(comm);
    simnccl_wait_idle(comm);
    comm_free(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
    ncclResult_t result = simnccl_ready(comm);
    if (result == ncclSuccess)
        *count = comm->size;
    return result;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
    ncclResult_t result = simnccl_ready(comm);
    if (result == ncclSuccess)
        *rank = comm->rank;
    return result;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device)
{
    ncclResult_t result = simnccl_ready(comm);
    if (result == ncclSuccess)
        *device = comm->cuda_device;
    return result;
}

/* ---- memory ---- */

ncclResult_t ncclMemAlloc(void **out, size_t size_bytes)
{
    return cudaMalloc(out, size_bytes) == cudaSuccess
               ? ncclSuccess
               : simnccl_fail(NULL, ncclUnhandledCudaError, "Cuda failure 'out of memory'");
}

ncclResult_t ncclMemFree(void *data)
{
    return cudaFree(data) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

static ncclResult_t check_buffer(ncclComm_t comm, const void *data, size_t size_bytes)
{
    ncclResult_t result = simnccl_ready(comm);
    if (result == ncclSuccess && !simgpu_memory_known(data, size_bytes))
        result = simnccl_fail(NULL, ncclInvalidArgument, "register : %p is no device memory", data);
    return result;
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void *data, size_t size_bytes, void **handle)
{
    ncclResult_t result = check_buffer(comm, data, size_bytes);
    if (result == ncclSuccess)
        *handle = data;
    return result;
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle)
{
    return handle != NULL ? simnccl_ready(comm) : ncclInvalidArgument;
}

ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *data, size_t size_bytes,
                                    ncclWindow_t *window, int flags)
{
    (void)flags;
    ncclResult_t result = check_buffer(comm, data, size_bytes);
    if (result == ncclSuccess)
        *window = (ncclWindow_t)data;
    return result;
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window)
{
    return window != NULL ? simnccl_ready(comm) : ncclInvalidArgument;
}

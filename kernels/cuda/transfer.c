/* Copies between the GPU and pinned memory of the host, one way and both ways at once, and to
 * another GPU of the host. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/internal.h"

#define COPY_BYTES ((uint64_t)256 << 20) /* milliseconds on any bus of today */
/* CB_CUDA_SHORTEST_S at what the fastest link of today carries one way, 0.6 TB/s. */
#define SMALLEST_COPY_BYTES ((uint64_t)64 << 20)
#define SEED 1

/* The data of a direction; each its own, so that a copy from the wrong place shows. */
enum { DIRECTION_IN, DIRECTION_OUT };

static bool moves(const struct cb_kernels *set, int direction)
{
    if (set->kernel == CB_KERNEL_H2D_D2H)
        return true;
    return (set->kernel == CB_KERNEL_H2D) == (direction == DIRECTION_IN);
}

static uint64_t words_of(const struct cb_kernels *set)
{
    return set->transfer.size_bytes / sizeof(uint64_t);
}

/* ---- operations ---- */

static int transfer_operate(struct cb_kernels *set, struct cb_error *err)
{
    const struct cb_transfer_state *state = &set->transfer;
    if (set->kernel == CB_KERNEL_PEER)
        return CB_CUDA(cudaMemcpyPeerAsync(state->peer, set->gpu.peer, set->buffers[1],
                                           set->gpu.index, state->size_bytes, set->stream),
                       err);
    int rc = CB_OK;
    if (moves(set, DIRECTION_IN))
        rc = CB_CUDA(cudaMemcpyAsync(set->buffers[0], state->host[0], state->size_bytes,
                                     cudaMemcpyHostToDevice, set->stream),
                     err);
    if (!rc && moves(set, DIRECTION_OUT))
        rc = CB_CUDA(cudaMemcpyAsync(state->host[1], set->buffers[1], state->size_bytes,
                                     cudaMemcpyDeviceToHost,
                                     state->back ? state->back : set->stream),
                     err);
    return rc;
}

/* The second direction runs on a stream of its own, from the run's start to its end. */
static int transfer_fork(struct cb_kernels *set, struct cb_error *err)
{
    const struct cb_transfer_state *state = &set->transfer;
    if (!state->back)
        return CB_OK;
    int rc = CB_CUDA(cudaEventRecord(state->forked, set->stream), err);
    if (!rc)
        rc = CB_CUDA(cudaStreamWaitEvent(state->back, state->forked, 0), err);
    return rc;
}

static int transfer_join(struct cb_kernels *set, struct cb_error *err)
{
    const struct cb_transfer_state *state = &set->transfer;
    if (!state->back)
        return CB_OK;
    int rc = CB_CUDA(cudaEventRecord(state->joined, state->back), err);
    if (!rc)
        rc = CB_CUDA(cudaStreamWaitEvent(set->stream, state->joined, 0), err);
    return rc;
}

/* ---- buffers ---- */

static void fill_host(uint64_t *data, uint64_t count, int direction)
{
    uint32_t key = cb_pattern_key(SEED, (uint32_t)direction + 1);
    for (uint64_t i = 0; i < count; i++)
        data[i] = cb_pattern_wide(key, i);
}

static uint64_t count_wrong_host(const uint64_t *data, uint64_t count, int direction)
{
    uint32_t key = cb_pattern_key(SEED, (uint32_t)direction + 1);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < count; i++)
        wrong += data[i] != cb_pattern_wide(key, i);
    return wrong;
}

static int size_buffers(struct cb_kernels *set, struct cb_error *err)
{
    const uint64_t shares = 4; /* two on each side */
    uint64_t budget_bytes = 0;
    int rc = cb_cuda_budget(set, &budget_bytes, err);
    if (rc)
        return rc;
    uint64_t size_bytes = budget_bytes / shares;
    if (size_bytes > COPY_BYTES)
        size_bytes = COPY_BYTES;
    set->transfer.size_bytes = size_bytes / 4096 * 4096;
    if (set->transfer.size_bytes == 0)
        return cb_fail(err, CB_E_MEMORY, "%" PRIu64 " bytes do not hold the buffers of %s",
                       budget_bytes, cb_kernel_name(set->kernel));
    return CB_OK;
}

static int open_in(struct cb_kernels *set, struct cb_error *err)
{
    struct cb_transfer_state *state = &set->transfer;
    int rc = cb_cuda_allocate(set, 0, state->size_bytes, err);
    if (!rc)
        rc = cb_cuda_pin(set, (void **)&state->host[0], state->size_bytes, err);
    if (!rc)
        fill_host(state->host[0], words_of(set), DIRECTION_IN);
    return rc;
}

static int open_source(struct cb_kernels *set, struct cb_error *err)
{
    int rc = cb_cuda_allocate(set, 1, set->transfer.size_bytes, err);
    if (!rc)
        rc = cb_cuda_fill_moved(set->buffers[1], words_of(set), sizeof(uint64_t), SEED,
                                DIRECTION_OUT, 0, set->stream, err);
    return rc;
}

static int open_out(struct cb_kernels *set, struct cb_error *err)
{
    struct cb_transfer_state *state = &set->transfer;
    int rc = open_source(set, err);
    if (!rc)
        rc = cb_cuda_pin(set, (void **)&state->host[1], state->size_bytes, err);
    if (!rc)
        memset(state->host[1], 0, state->size_bytes);
    return rc;
}

static int open_both(struct cb_kernels *set, struct cb_error *err)
{
    struct cb_transfer_state *state = &set->transfer;
    int rc = open_in(set, err);
    if (!rc)
        rc = open_out(set, err);
    if (!rc)
        rc = CB_CUDA(cudaStreamCreateWithFlags(&state->back, cudaStreamNonBlocking), err);
    if (!rc)
        rc = CB_CUDA(cudaEventCreateWithFlags(&state->forked, cudaEventDisableTiming), err);
    if (!rc)
        rc = CB_CUDA(cudaEventCreateWithFlags(&state->joined, cudaEventDisableTiming), err);
    return rc;
}

/* Buffer 0 takes back what arrived there, to be checked. *direct: the GPUs reach each other without
 * the host. */
static int open_peer(struct cb_kernels *set, int *direct, struct cb_error *err)
{
    struct cb_transfer_state *state = &set->transfer;
    int rc = open_source(set, err);
    if (!rc)
        rc = cb_cuda_allocate(set, 0, state->size_bytes, err);
    if (!rc)
        rc = CB_CUDA(cudaDeviceCanAccessPeer(direct, set->gpu.index, set->gpu.peer), err);
    if (!rc && *direct) {
        cudaError_t error = cudaDeviceEnablePeerAccess(set->gpu.peer, 0);
        if (error == cudaErrorPeerAccessAlreadyEnabled)
            (void)cudaGetLastError();
        else
            rc = cb_cuda_check((int)error, "cudaDeviceEnablePeerAccess", err);
    }
    if (rc)
        return rc;
    rc = CB_CUDA(cudaSetDevice(set->gpu.peer), err);
    if (!rc)
        rc = cb_cuda_reserve(set, &state->peer, state->size_bytes, err);
    int back = CB_CUDA(cudaSetDevice(set->gpu.index), rc ? NULL : err);
    return rc ? rc : back;
}

static int transfer_prepare(struct cb_kernels *set, struct cb_kernel_work *work,
                            struct cb_error *err)
{
    int direct = 0;
    memset(&set->transfer, 0, sizeof(set->transfer));
    int rc = size_buffers(set, err);
    if (rc)
        return rc;
    switch (set->kernel) {
    case CB_KERNEL_H2D:
        rc = open_in(set, err);
        break;
    case CB_KERNEL_D2H:
        rc = open_out(set, err);
        break;
    case CB_KERNEL_H2D_D2H:
        rc = open_both(set, err);
        break;
    default:
        rc = open_peer(set, &direct, err);
        break;
    }
    if (rc)
        return rc;
    bool both = set->kernel == CB_KERNEL_H2D_D2H;
    work->size_bytes = set->transfer.size_bytes * (both ? 2 : 1);
    work->bytes = (double)work->size_bytes;
    work->small = set->transfer.size_bytes < SMALLEST_COPY_BYTES;
    const char *note = work->small ? ", small" : "";
    if (set->kernel == CB_KERNEL_PEER)
        snprintf(work->variant, sizeof(work->variant), "GPU %d to %d%s%s", set->gpu.index,
                 set->gpu.peer, direct ? ", direct" : " by the host", note);
    else
        snprintf(work->variant, sizeof(work->variant), "pinned%s", note);
    return CB_OK;
}

/* ---- checking: what arrived is looked at, then blanked, so that a copy of nothing is seen ---- */

static int check_device(struct cb_kernels *set, int direction, uint64_t *wrong,
                        struct cb_error *err)
{
    int rc = cb_cuda_wrong_begin(set, err);
    if (!rc)
        rc = cb_cuda_check_moved(set->buffers[0], words_of(set), sizeof(uint64_t), SEED, direction,
                                 0, set->wrong, set->stream, err);
    if (!rc)
        rc = cb_cuda_wrong_end(set, wrong, err);
    if (!rc)
        rc = CB_CUDA(cudaMemsetAsync(set->buffers[0], 0, set->transfer.size_bytes, set->stream),
                     err);
    return rc;
}

static int check_peer(struct cb_kernels *set, uint64_t *wrong, struct cb_error *err)
{
    const struct cb_transfer_state *state = &set->transfer;
    int rc = CB_CUDA(cudaMemcpyPeerAsync(set->buffers[0], set->gpu.index, state->peer,
                                         set->gpu.peer, state->size_bytes, set->stream),
                     err);
    if (!rc)
        rc = check_device(set, DIRECTION_OUT, wrong, err);
    if (!rc) /* buffer 0 holds zeros by now */
        rc = CB_CUDA(cudaMemcpyPeerAsync(state->peer, set->gpu.peer, set->buffers[0],
                                         set->gpu.index, state->size_bytes, set->stream),
                     err);
    return rc;
}

static int transfer_verify(struct cb_kernels *set, uint64_t *wrong, struct cb_error *err)
{
    struct cb_transfer_state *state = &set->transfer;
    uint64_t wrong_in = 0, wrong_out = 0;
    if (set->kernel == CB_KERNEL_PEER)
        return check_peer(set, wrong, err);
    int rc = moves(set, DIRECTION_IN) ? check_device(set, DIRECTION_IN, &wrong_in, err) : CB_OK;
    if (!rc)
        rc = CB_CUDA(cudaStreamSynchronize(set->stream), err);
    if (rc)
        return rc;
    if (moves(set, DIRECTION_OUT)) {
        wrong_out = count_wrong_host(state->host[1], words_of(set), DIRECTION_OUT);
        memset(state->host[1], 0, state->size_bytes);
    }
    *wrong = wrong_in + wrong_out;
    return CB_OK;
}

static void transfer_release(struct cb_kernels *set)
{
    struct cb_transfer_state *state = &set->transfer;
    if (state->back)
        (void)cudaStreamSynchronize(state->back);
    for (int i = 0; i < 2; i++)
        if (state->host[i])
            (void)cudaFreeHost(state->host[i]);
    if (state->peer)
        (void)cudaFree(state->peer);
    if (state->forked)
        (void)cudaEventDestroy(state->forked);
    if (state->joined)
        (void)cudaEventDestroy(state->joined);
    if (state->back)
        (void)cudaStreamDestroy(state->back);
    memset(state, 0, sizeof(*state));
}

const struct cb_cuda_family cb_cuda_transfer = {
    .prepare = transfer_prepare,
    .operate = transfer_operate,
    .fork = transfer_fork,
    .join = transfer_join,
    .verify = transfer_verify,
    .release = transfer_release,
};

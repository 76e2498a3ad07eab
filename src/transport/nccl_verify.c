/* Checking a step's data, on the GPU: what every element should be follows from the seed. */
#include "gpu/device.h"
#include "kernels/cuda/cuda_kernels.h"
#include "transport/nccl_internal.h"

enum { ROOT = 0, SPOILED = 0xAA };

static size_t count_of(const struct cb_transport *t)
{
    return t->step.size_bytes / t->element_bytes;
}

/* The input of the prepared step, on a buffer that no pattern fills alike: what an operation leaves
 * untouched shows. */
static int fill(struct cb_transport *t, uint64_t seed, struct cb_error *err)
{
    const struct cb_step *step = &t->step;
    size_t count = count_of(t), block = count / (size_t)t->size;
    char *input = step->in_place ? t->receive + (cb_nccl_input(t) - t->receive) : t->send;
    int owner = t->rank;
    int rc = CB_CUDA(cudaMemsetAsync(t->receive, SPOILED, step->size_bytes, t->stream),
                     "cudaMemsetAsync", err);
    if (rc)
        return rc;
    if (step->motion != CB_MOTION_COLLECTIVE)
        return cb_cuda_fill_moved(t->send, count, t->element_bytes, seed, ROOT, 0, t->stream, err);
    if (cb_op_reduces(step->op))
        return cb_cuda_fill_reduced(input, count, step->dtype, seed, owner, t->size, 0, t->stream,
                                    err);
    if (step->op == CB_OP_BROADCAST && owner != ROOT)
        return CB_OK;
    if (step->op == CB_OP_ALL_GATHER)
        count = block;
    return cb_cuda_fill_moved(input, count, t->element_bytes, seed, owner, 0, t->stream, err);
}

/* Every rank's block, in the order of the ranks. */
static int check_blocks(struct cb_transport *t, uint64_t seed, uint64_t first, struct cb_error *err)
{
    size_t block = count_of(t) / (size_t)t->size;
    int rc = CB_OK;
    for (int owner = 0; owner < t->size && !rc; owner++)
        rc = cb_cuda_check_moved(t->receive + (size_t)owner * block * t->element_bytes, block,
                                 t->element_bytes, seed, owner, first, t->wrong, t->stream, err);
    return rc;
}

static int check(struct cb_transport *t, uint64_t seed, struct cb_error *err)
{
    const struct cb_step *step = &t->step;
    size_t count = count_of(t), block = count / (size_t)t->size;
    int maximum = step->redop == CB_REDOP_MAX, owner = ROOT;
    if (step->motion == CB_MOTION_COLLECTIVE) {
        switch (step->op) {
        case CB_OP_ALL_REDUCE:
            return cb_cuda_check_reduced(t->receive, count, step->dtype, maximum, seed, t->size, 0,
                                         t->wrong, t->stream, err);
        case CB_OP_REDUCE_SCATTER:
            return cb_cuda_check_reduced(cb_nccl_output(t), block, step->dtype, maximum, seed,
                                         t->size, (uint64_t)t->rank * block, t->wrong, t->stream,
                                         err);
        case CB_OP_ALL_GATHER:
            return check_blocks(t, seed, 0, err);
        case CB_OP_ALL_TO_ALL:
            return check_blocks(t, seed, (uint64_t)t->rank * block, err);
        case CB_OP_SEND_RECV:
            owner = (t->rank + t->size - 1) % t->size;
            break;
        case CB_OP_BROADCAST:
        case CB_OP_COUNT:
            break;
        }
    } else if (step->motion == CB_MOTION_ONE_WAY && t->rank == 0) {
        return CB_OK; /* the sender gets nothing but the acknowledgement */
    }
    return cb_cuda_check_moved(t->receive, count, t->element_bytes, seed, owner, 0, t->wrong,
                               t->stream, err);
}

static int one_operation(struct cb_transport *t, struct cb_error *err)
{
    return cb_nccl_enqueue(t, 1, err);
}

int cb_nccl_verify(struct cb_transport *t, uint64_t seed, uint64_t *wrong, struct cb_error *err)
{
    uint64_t found = 0;
    int rc =
        CB_CUDA(cudaMemsetAsync(t->wrong, 0, sizeof(*t->wrong), t->stream), "cudaMemsetAsync", err);
    if (!rc)
        rc = fill(t, seed, err);
    if (!rc && !t->config.graph) /* captured, the step may take another algorithm than this one */
        cb_nccl_listen(t);
    if (!rc)
        rc = CB_CUDA(cudaEventRecord(t->ready, t->stream), "cudaEventRecord", err);
    atomic_store(&t->place->due, 1);
    /* The first operation of a step may make connections, and so may wait for other ranks. */
    if (!rc)
        rc = cb_nccl_call(t, "the first operation of a step", one_operation, err);
    if (!rc)
        cb_nccl_hear(t);
    if (!rc)
        rc = CB_CUDA(cudaEventRecord(t->end, t->stream), "cudaEventRecord", err);
    if (!rc)
        rc = cb_nccl_wait(t, err);
    if (!rc)
        rc = check(t, seed, err);
    if (!rc)
        rc = CB_CUDA(cudaEventRecord(t->end, t->stream), "cudaEventRecord", err);
    if (!rc)
        rc = cb_nccl_wait(t, err);
    if (!rc)
        rc = CB_CUDA(cudaMemcpy(&found, t->wrong, sizeof(found), cudaMemcpyDeviceToHost),
                     "cudaMemcpy", err);
    if (rc) {
        t->failed = true;
        return rc;
    }
    *wrong = found;
    return CB_OK;
}

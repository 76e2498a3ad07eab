/* The operations of a step, and their timing by events on the GPU. */
#include "gpu/device.h"
#include "transport/nccl_internal.h"

enum { ROOT = 0 };

/* ---- one operation ---- */

static size_t count_of(const struct cb_transport *t)
{
    return t->step.size_bytes / t->element_bytes;
}

/* NCCL recognises "in place" by the addresses. */
const char *cb_nccl_input(const struct cb_transport *t)
{
    size_t block_bytes = count_of(t) / (size_t)t->size * t->element_bytes;
    if (!t->step.in_place)
        return t->send;
    if (t->step.op == CB_OP_ALL_GATHER)
        return t->receive + (size_t)t->rank * block_bytes;
    return t->receive;
}

char *cb_nccl_output(const struct cb_transport *t)
{
    size_t block_bytes = count_of(t) / (size_t)t->size * t->element_bytes;
    if (t->step.in_place && t->step.op == CB_OP_REDUCE_SCATTER)
        return t->receive + (size_t)t->rank * block_bytes;
    return t->receive;
}

/* Every rank's block to every rank, as one operation of NCCL. */
static ncclResult_t all_to_all(struct cb_transport *t, size_t block)
{
    const struct cb_nccl_api *api = &t->api;
    size_t block_bytes = block * t->element_bytes;
    ncclResult_t result = api->ncclGroupStart();
    for (int peer = 0; peer < t->size && result == ncclSuccess; peer++) {
        size_t place = (size_t)peer * block_bytes;
        result = api->ncclSend(t->send + place, block, t->type, peer, t->comm, t->stream);
        if (result == ncclSuccess)
            result = api->ncclRecv(t->receive + place, block, t->type, peer, t->comm, t->stream);
    }
    ncclResult_t ended = api->ncclGroupEnd();
    return result == ncclSuccess ? ended : result;
}

static ncclResult_t send_right_receive_left(struct cb_transport *t, size_t count)
{
    const struct cb_nccl_api *api = &t->api;
    int right = (t->rank + 1) % t->size, left = (t->rank + t->size - 1) % t->size;
    ncclResult_t result = api->ncclGroupStart();
    if (result == ncclSuccess)
        result = api->ncclSend(t->send, count, t->type, right, t->comm, t->stream);
    if (result == ncclSuccess)
        result = api->ncclRecv(t->receive, count, t->type, left, t->comm, t->stream);
    ncclResult_t ended = api->ncclGroupEnd();
    return result == ncclSuccess ? ended : result;
}

static int collective_once(struct cb_transport *t, struct cb_error *err)
{
    const struct cb_nccl_api *api = &t->api;
    size_t count = count_of(t), block = count / (size_t)t->size;
    const void *input = cb_nccl_input(t);
    void *output = cb_nccl_output(t);
    switch (t->step.op) {
    case CB_OP_ALL_REDUCE:
        return cb_nccl_settle(
            t, api->ncclAllReduce(input, output, count, t->type, t->redop, t->comm, t->stream),
            "ncclAllReduce", err);
    case CB_OP_ALL_GATHER:
        return cb_nccl_settle(t,
                              api->ncclAllGather(input, output, block, t->type, t->comm, t->stream),
                              "ncclAllGather", err);
    case CB_OP_REDUCE_SCATTER:
        return cb_nccl_settle(
            t, api->ncclReduceScatter(input, output, block, t->type, t->redop, t->comm, t->stream),
            "ncclReduceScatter", err);
    case CB_OP_BROADCAST:
        return cb_nccl_settle(
            t, api->ncclBroadcast(input, output, count, t->type, ROOT, t->comm, t->stream),
            "ncclBroadcast", err);
    case CB_OP_ALL_TO_ALL:
        return cb_nccl_settle(t, all_to_all(t, block), "all_to_all (ncclSend, ncclRecv)", err);
    case CB_OP_SEND_RECV:
        return cb_nccl_settle(t, send_right_receive_left(t, count),
                              "send_recv (ncclSend, ncclRecv)", err);
    case CB_OP_COUNT:
        break;
    }
    return cb_fail(err, CB_E_UNSUPPORTED, "no such operation");
}

static int send(struct cb_transport *t, const void *from, size_t count, int to,
                struct cb_error *err)
{
    return cb_nccl_settle(t, t->api.ncclSend(from, count, t->type, to, t->comm, t->stream),
                          "ncclSend", err);
}

static int receive(struct cb_transport *t, size_t count, int from, struct cb_error *err)
{
    return cb_nccl_settle(t, t->api.ncclRecv(t->receive, count, t->type, from, t->comm, t->stream),
                          "ncclRecv", err);
}

/* Before this call came back the operation was not on the GPU. */
static int count_put(struct cb_transport *t, int rc)
{
    if (!rc)
        atomic_fetch_add_explicit(&t->place->put, 1, memory_order_relaxed);
    return rc;
}

/* There and back. What came is what goes back, so that a check at rank 0 sees both ways. */
static int ping_pong_once(struct cb_transport *t, struct cb_error *err)
{
    size_t count = count_of(t);
    int rc;
    if (t->rank == 0) {
        rc = send(t, t->send, count, 1, err);
        return rc ? rc : receive(t, count, 1, err);
    }
    rc = receive(t, count, 0, err);
    return rc ? rc : send(t, t->receive, count, 0, err);
}

static int one_way(struct cb_transport *t, int operations, struct cb_error *err)
{
    size_t count = count_of(t);
    bool sends = t->rank == 0;
    int rc = CB_OK;
    for (int i = 0; i < operations && !rc; i++)
        rc = count_put(t, sends ? send(t, t->send, count, 1, err) : receive(t, count, 0, err));
    if (rc)
        return rc;
    return sends ? receive(t, 1, 1, err) : send(t, t->receive, 1, 0, err);
}

int cb_nccl_enqueue(struct cb_transport *t, int operations, struct cb_error *err)
{
    int rc = CB_OK;
    switch (t->step.motion) {
    case CB_MOTION_COLLECTIVE:
        for (int i = 0; i < operations && !rc; i++)
            rc = count_put(t, collective_once(t, err));
        return rc;
    case CB_MOTION_PING_PONG:
        for (int i = 0; i < operations && !rc; i++)
            rc = count_put(t, ping_pong_once(t, err));
        return rc;
    case CB_MOTION_ONE_WAY:
        return one_way(t, operations, err);
    }
    return cb_fail(err, CB_E_UNSUPPORTED, "no such motion");
}

/* ---- graphs ---- */

static void drop(struct cb_nccl_graph *graph)
{
    if (graph->executable)
        cudaGraphExecDestroy(graph->executable);
    *graph = (struct cb_nccl_graph){0};
}

void cb_nccl_drop_graphs(struct cb_transport *t)
{
    drop(&t->body);
    drop(&t->rest);
}

static int capture(struct cb_transport *t, int operations, struct cb_nccl_graph *out,
                   struct cb_error *err)
{
    cudaGraph_t graph = NULL;
    struct cb_error ended;
    if (out->operations == operations)
        return CB_OK;
    drop(out);
    int rc = CB_CUDA(cudaStreamBeginCapture(t->stream, cudaStreamCaptureModeThreadLocal),
                     "cudaStreamBeginCapture", err);
    if (rc)
        return rc;
    cb_nccl_listen(t);
    rc = cb_nccl_enqueue(t, operations, err);
    if (!rc)
        cb_nccl_hear(t);
    int end_rc = CB_CUDA(cudaStreamEndCapture(t->stream, &graph), "cudaStreamEndCapture", &ended);
    if (!rc && end_rc)
        *err = ended;
    rc = rc ? rc : end_rc;
    if (!rc)
        rc = CB_CUDA(cudaGraphInstantiateWithFlags(&out->executable, graph, 0),
                     "cudaGraphInstantiate", err);
    if (!rc)
        rc = CB_CUDA(cudaGraphUpload(out->executable, t->stream), "cudaGraphUpload", err);
    if (graph)
        cudaGraphDestroy(graph);
    if (rc)
        drop(out);
    else
        out->operations = operations;
    return rc;
}

static int prepare_graphs(struct cb_transport *t, int operations, struct cb_error *err)
{
    int body = operations < CB_NCCL_GRAPH_OPERATIONS ? operations : CB_NCCL_GRAPH_OPERATIONS;
    int rest = operations % body;
    int rc = capture(t, body, &t->body, err);
    return rc || rest == 0 ? rc : capture(t, rest, &t->rest, err);
}

static int launch_graphs(struct cb_transport *t, int operations, struct cb_error *err)
{
    int rc = CB_OK;
    for (int done = 0; done < operations && !rc;) {
        const struct cb_nccl_graph *graph =
            operations - done >= t->body.operations ? &t->body : &t->rest;
        rc = CB_CUDA(cudaGraphLaunch(graph->executable, t->stream), "cudaGraphLaunch", err);
        done += graph->operations;
    }
    return rc;
}

/* ---- timing ---- */

/* The smallest all_reduce, not timed, before a sample: the time then starts when every rank's GPU
 * is there, and with the operations already on their way to it. */
static int come_together(struct cb_transport *t, struct cb_error *err)
{
    return cb_nccl_settle(
        t,
        t->api.ncclAllReduce(t->together, t->together, 1, ncclInt32, ncclMax, t->comm, t->stream),
        "ncclAllReduce", err);
}

/* The acknowledgement of a stream comes once per sample, not once per graph. */
static bool uses_graph(const struct cb_transport *t)
{
    return t->config.graph && t->step.motion != CB_MOTION_ONE_WAY;
}

/* Puts a sample on the stream; a full stream waits for the GPU, and so for other ranks. */
static int put_sample(struct cb_transport *t, struct cb_error *err)
{
    int rc = uses_graph(t) ? prepare_graphs(t, t->operations, err) : CB_OK;
    atomic_store(&t->place->put, 0);
    atomic_store(&t->place->due, uses_graph(t) ? 0 : 1 + t->operations);
    if (!rc)
        rc = CB_CUDA(cudaEventRecord(t->ready, t->stream), "cudaEventRecord", err);
    if (!rc)
        rc = count_put(t, come_together(t, err));
    if (!rc)
        rc = CB_CUDA(cudaEventRecord(t->start, t->stream), "cudaEventRecord", err);
    if (!rc)
        rc = uses_graph(t) ? launch_graphs(t, t->operations, err)
                           : cb_nccl_enqueue(t, t->operations, err);
    if (!rc)
        rc = CB_CUDA(cudaEventRecord(t->end, t->stream), "cudaEventRecord", err);
    return rc;
}

int cb_nccl_run(struct cb_transport *t, int operations, double *elapsed_s, struct cb_error *err)
{
    float elapsed_ms = 0;
    t->operations = operations;
    int rc = cb_nccl_call(t, "starting operations on the GPU", put_sample, err);
    if (!rc)
        rc = cb_nccl_wait(t, err);
    if (!rc)
        rc = CB_CUDA(cudaEventElapsedTime(&elapsed_ms, t->start, t->end), "cudaEventElapsedTime",
                     err);
    if (rc) {
        t->failed = true;
        return rc;
    }
    *elapsed_s = (double)elapsed_ms / 1e3;
    return CB_OK;
}

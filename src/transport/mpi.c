/* MPI on host memory: the network as MPI programs see it. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "transport/mpi_internal.h"
#include "transport/mpi_transport.h"
#include "transport/pattern.h"

enum {
    STEP_TAG = 1,
    ACK_TAG = 2,
    BROADCAST_ROOT = 0,
    WINDOW = 16, /* messages of a one-way stream under way at once */
    ALIGNMENT_BYTES = 4096,
};

/* The verification loops read and write these as any element type. */
struct cb_transport {
    struct cb_group *group; /* borrowed */
    char *send, *receive;   /* capacity_bytes each, owned */
    size_t capacity_bytes;
    struct cb_step step;
    size_t element_bytes;
    MPI_Datatype type;
    MPI_Op op;
};

/* MPI has no floating point of 16 or 8 bits; such elements can be moved as bits but not combined.
 */
static bool find_type(enum cb_dtype dtype, MPI_Datatype *type)
{
    switch (dtype) {
    case CB_DTYPE_FLOAT32:
        *type = MPI_FLOAT;
        return true;
    case CB_DTYPE_FLOAT64:
        *type = MPI_DOUBLE;
        return true;
    case CB_DTYPE_INT32:
        *type = MPI_INT32_T;
        return true;
    case CB_DTYPE_FLOAT8_E4M3:
    case CB_DTYPE_FLOAT8_E5M2:
        *type = MPI_UINT8_T;
        return false;
    case CB_DTYPE_TF32:
        *type = MPI_UINT32_T;
        return false;
    case CB_DTYPE_FLOAT16:
    case CB_DTYPE_BFLOAT16:
    case CB_DTYPE_COUNT:
        break;
    }
    *type = MPI_UINT16_T;
    return false;
}

static void mpi_probe(const struct cb_transport_config *config, struct cb_transport_probe *out)
{
    (void)config;
    memset(out, 0, sizeof(*out));
    out->available = true;
    char full[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0, version = 0, subversion = 0;
    MPI_Get_library_version(full, &length);
    full[strcspn(full, ",\n")] = '\0';
    snprintf(out->library, sizeof(out->library), "%.*s", (int)sizeof(out->library) - 1, full);
    MPI_Get_version(&version, &subversion);
    snprintf(out->version, sizeof(out->version), "MPI %d.%d", version, subversion);
}

static void mpi_close(struct cb_transport *t)
{
    if (!t)
        return;
    free(t->send);
    free(t->receive);
    free(t);
}

/* This rank's part of opening, which may fail here and work elsewhere. */
static int allocate(struct cb_group *group, uint64_t max_bytes, struct cb_transport **out,
                    struct cb_error *err)
{
    size_t capacity = ((size_t)max_bytes + ALIGNMENT_BYTES) / ALIGNMENT_BYTES * ALIGNMENT_BYTES;
    struct cb_transport *t = calloc(1, sizeof(*t));
    if (!t)
        goto no_memory;
    t->group = group;
    t->capacity_bytes = capacity;
    t->send = aligned_alloc(ALIGNMENT_BYTES, capacity);
    t->receive = aligned_alloc(ALIGNMENT_BYTES, capacity);
    if (!t->send || !t->receive)
        goto close;
    /* Page faults belong to opening, not to the first sample. */
    memset(t->send, 0, capacity);
    memset(t->receive, 0, capacity);
    *out = t;
    return CB_OK;

close:
    mpi_close(t);
no_memory:
    cb_fail(err, CB_E_MEMORY, "no memory for two buffers of %zu bytes", capacity);
    cb_error_set_hint(err, "lower --max-bytes");
    return CB_E_MEMORY;
}

static int mpi_open(const struct cb_transport_config *config, struct cb_group *group,
                    uint64_t max_bytes, struct cb_transport **out, struct cb_error *err)
{
    (void)config;
    struct cb_transport *t = NULL;
    int rc = allocate(group, max_bytes, &t, err);
    rc = cb_group_agree(group, rc, err);
    if (rc)
        mpi_close(t);
    else
        *out = t;
    return rc;
}

static bool mpi_supports(const struct cb_transport *t, const struct cb_step *step, char *reason,
                         size_t reason_size)
{
    MPI_Datatype type;
    bool has_arithmetic = find_type(step->dtype, &type);
    const char *why = NULL;
    if (step->motion == CB_MOTION_COLLECTIVE && cb_op_reduces(step->op) && !has_arithmetic)
        why = "MPI has no arithmetic on floating point of 16 bits or fewer";
    else if (step->in_place && step->op == CB_OP_BROADCAST)
        why = "MPI_Bcast has one buffer: in place and out of place are the same";
    else if (step->size_bytes / cb_dtype_size_bytes(step->dtype) > INT_MAX)
        why = "MPI counts elements in an int: the message is too large";
    else if (step->size_bytes > t->capacity_bytes)
        why = "the message is larger than the buffers";
    if (why && reason)
        snprintf(reason, reason_size, "%s", why);
    return !why;
}

static int mpi_prepare(struct cb_transport *t, const struct cb_step *step, struct cb_error *err)
{
    char reason[160];
    if (!mpi_supports(t, step, reason, sizeof(reason)))
        return cb_fail(err, CB_E_UNSUPPORTED, "%s", reason);
    t->step = *step;
    t->element_bytes = cb_dtype_size_bytes(step->dtype);
    find_type(step->dtype, &t->type);
    t->op = step->redop == CB_REDOP_MAX ? MPI_MAX : MPI_SUM;
    return CB_OK;
}

/* ---- one operation ---- */

static int collective_once(struct cb_transport *t, struct cb_error *err)
{
    const struct cb_step *step = &t->step;
    MPI_Comm comm = t->group->comm;
    int size = t->group->size, rank = t->group->rank;
    int count = (int)(step->size_bytes / t->element_bytes);
    int block = count / size;
    const void *send = step->in_place ? MPI_IN_PLACE : t->send;
    switch (step->op) {
    case CB_OP_ALL_REDUCE:
        return cb_mpi_check(MPI_Allreduce(send, t->receive, count, t->type, t->op, comm),
                            "MPI_Allreduce", err);
    case CB_OP_ALL_GATHER:
        return cb_mpi_check(MPI_Allgather(send, block, t->type, t->receive, block, t->type, comm),
                            "MPI_Allgather", err);
    case CB_OP_REDUCE_SCATTER:
        return cb_mpi_check(MPI_Reduce_scatter_block(send, t->receive, block, t->type, t->op, comm),
                            "MPI_Reduce_scatter_block", err);
    case CB_OP_BROADCAST:
        return cb_mpi_check(MPI_Bcast(t->receive, count, t->type, BROADCAST_ROOT, comm),
                            "MPI_Bcast", err);
    case CB_OP_ALL_TO_ALL:
        return cb_mpi_check(MPI_Alltoall(send, block, t->type, t->receive, block, t->type, comm),
                            "MPI_Alltoall", err);
    case CB_OP_SEND_RECV: {
        int right = (rank + 1) % size, left = (rank + size - 1) % size;
        if (step->in_place)
            return cb_mpi_check(MPI_Sendrecv_replace(t->receive, count, t->type, right, STEP_TAG,
                                                     left, STEP_TAG, comm, MPI_STATUS_IGNORE),
                                "MPI_Sendrecv_replace", err);
        return cb_mpi_check(MPI_Sendrecv(t->send, count, t->type, right, STEP_TAG, t->receive,
                                         count, t->type, left, STEP_TAG, comm, MPI_STATUS_IGNORE),
                            "MPI_Sendrecv", err);
    }
    case CB_OP_COUNT:
        break;
    }
    return cb_fail(err, CB_E_UNSUPPORTED, "no such operation");
}

static int collective_run(struct cb_transport *t, int operations, struct cb_error *err)
{
    int rc = CB_OK;
    for (int i = 0; i < operations && !rc; i++)
        rc = collective_once(t, err);
    return rc;
}

static int ping_pong_run(struct cb_transport *t, int operations, struct cb_error *err)
{
    MPI_Comm comm = t->group->comm;
    int count = (int)(t->step.size_bytes / t->element_bytes);
    bool serves = t->group->rank == 0;
    int other = serves ? 1 : 0, rc = MPI_SUCCESS;
    for (int i = 0; i < operations && rc == MPI_SUCCESS; i++) {
        if (serves)
            rc = MPI_Send(t->send, count, t->type, other, STEP_TAG, comm);
        if (rc == MPI_SUCCESS)
            rc = MPI_Recv(t->receive, count, t->type, other, STEP_TAG, comm, MPI_STATUS_IGNORE);
        /* What came is what goes back, so that a check at rank 0 sees both ways. */
        if (rc == MPI_SUCCESS && !serves)
            rc = MPI_Send(t->receive, count, t->type, other, STEP_TAG, comm);
    }
    return cb_mpi_check(rc, "a ping-pong (MPI_Send, MPI_Recv)", err);
}

/* Receives under way at once may not share memory, so the receiver's buffer holds a few messages
 * and the window is what fits. */
static int one_way_run(struct cb_transport *t, int operations, struct cb_error *err)
{
    MPI_Comm comm = t->group->comm;
    MPI_Request requests[WINDOW];
    int count = (int)(t->step.size_bytes / t->element_bytes);
    size_t fitting = t->step.size_bytes ? t->capacity_bytes / t->step.size_bytes : 1;
    int window = fitting < WINDOW ? (int)fitting : WINDOW;
    bool sends = t->group->rank == 0;
    int rc = MPI_SUCCESS;
    for (int done = 0; done < operations && rc == MPI_SUCCESS;) {
        int batch = operations - done < window ? operations - done : window;
        for (int i = 0; i < batch && rc == MPI_SUCCESS; i++)
            rc = sends ? MPI_Isend(t->send, count, t->type, 1, STEP_TAG, comm, &requests[i])
                       : MPI_Irecv(t->receive + (size_t)i * t->step.size_bytes, count, t->type, 0,
                                   STEP_TAG, comm, &requests[i]);
        if (rc == MPI_SUCCESS)
            rc = MPI_Waitall(batch, requests, MPI_STATUSES_IGNORE);
        done += batch;
    }
    if (rc == MPI_SUCCESS)
        rc = sends ? MPI_Recv(NULL, 0, MPI_BYTE, 1, ACK_TAG, comm, MPI_STATUS_IGNORE)
                   : MPI_Send(NULL, 0, MPI_BYTE, 0, ACK_TAG, comm);
    return cb_mpi_check(rc, "a one-way stream (MPI_Isend, MPI_Irecv)", err);
}

static int run_motion(struct cb_transport *t, int operations, struct cb_error *err)
{
    switch (t->step.motion) {
    case CB_MOTION_COLLECTIVE:
        return collective_run(t, operations, err);
    case CB_MOTION_PING_PONG:
        return ping_pong_run(t, operations, err);
    case CB_MOTION_ONE_WAY:
        return one_way_run(t, operations, err);
    }
    return cb_fail(err, CB_E_UNSUPPORTED, "no such motion");
}

static int mpi_run(struct cb_transport *t, int operations, double *elapsed_s, struct cb_error *err)
{
    double start_s = cb_clock_now_s();
    int rc = run_motion(t, operations, err);
    if (!rc)
        *elapsed_s = cb_clock_now_s() - start_s;
    return rc;
}

/* ---- verification ---- */

/* Bytes that no pattern makes everywhere: what a collective leaves untouched shows. */
static void spoil(struct cb_transport *t, size_t size_bytes)
{
    memset(t->receive, 0xAA, size_bytes);
}

static void fill_collective(struct cb_transport *t, uint64_t seed)
{
    const struct cb_step *step = &t->step;
    int size = t->group->size, rank = t->group->rank;
    size_t count = step->size_bytes / t->element_bytes, block = count / (size_t)size;
    spoil(t, step->size_bytes);
    char *input = step->in_place ? t->receive : t->send;
    switch (step->op) {
    case CB_OP_ALL_REDUCE:
    case CB_OP_REDUCE_SCATTER:
        /* NOLINTNEXTLINE(readability-suspicious-call-argument): a rank is an owner */
        cb_pattern_fill_reduced(input, count, step->dtype, seed, rank, size, 0);
        break;
    case CB_OP_ALL_GATHER:
        if (step->in_place)
            input += (size_t)rank * block * t->element_bytes;
        cb_pattern_fill_moved(input, block, t->element_bytes, seed, rank, 0);
        break;
    case CB_OP_BROADCAST:
        if (rank == BROADCAST_ROOT)
            cb_pattern_fill_moved(t->receive, count, t->element_bytes, seed, rank, 0);
        break;
    case CB_OP_ALL_TO_ALL:
    case CB_OP_SEND_RECV:
    case CB_OP_COUNT:
        cb_pattern_fill_moved(input, count, t->element_bytes, seed, rank, 0);
        break;
    }
}

static uint64_t check_collective(const struct cb_transport *t, uint64_t seed)
{
    const struct cb_step *step = &t->step;
    int size = t->group->size, rank = t->group->rank;
    size_t element = t->element_bytes;
    size_t count = step->size_bytes / element, block = count / (size_t)size;
    uint64_t wrong = 0;
    switch (step->op) {
    case CB_OP_ALL_REDUCE:
        return cb_pattern_check_reduced(t->receive, count, step->dtype, step->redop, seed, size, 0);
    case CB_OP_REDUCE_SCATTER:
        return cb_pattern_check_reduced(t->receive, block, step->dtype, step->redop, seed, size,
                                        (uint64_t)rank * block);
    case CB_OP_ALL_GATHER:
        for (int owner = 0; owner < size; owner++)
            wrong += cb_pattern_check_moved(t->receive + (size_t)owner * block * element, block,
                                            element, seed, owner, 0);
        return wrong;
    case CB_OP_BROADCAST:
        return cb_pattern_check_moved(t->receive, count, element, seed, BROADCAST_ROOT, 0);
    case CB_OP_ALL_TO_ALL:
        for (int owner = 0; owner < size; owner++)
            wrong += cb_pattern_check_moved(t->receive + (size_t)owner * block * element, block,
                                            element, seed, owner, (uint64_t)rank * block);
        return wrong;
    case CB_OP_SEND_RECV:
    case CB_OP_COUNT:
        break;
    }
    return cb_pattern_check_moved(t->receive, count, element, seed, (rank + size - 1) % size, 0);
}

static int mpi_verify(struct cb_transport *t, uint64_t seed, uint64_t *wrong, struct cb_error *err)
{
    size_t count = t->step.size_bytes / t->element_bytes;
    bool is_collective = t->step.motion == CB_MOTION_COLLECTIVE;
    if (is_collective) {
        fill_collective(t, seed);
    } else {
        spoil(t, t->step.size_bytes);
        cb_pattern_fill_moved(t->send, count, t->element_bytes, seed, 0, 0);
    }
    int rc = run_motion(t, 1, err);
    if (rc)
        return rc;
    bool receives_nothing = t->step.motion == CB_MOTION_ONE_WAY && t->group->rank == 0;
    if (is_collective)
        *wrong = check_collective(t, seed);
    else
        *wrong = receives_nothing
                     ? 0
                     : cb_pattern_check_moved(t->receive, count, t->element_bytes, seed, 0, 0);
    return CB_OK;
}

const struct cb_transport_ops cb_transport_mpi = {
    .name = "mpi",
    .probe = mpi_probe,
    .open = mpi_open,
    .supports = mpi_supports,
    .prepare = mpi_prepare,
    .run = mpi_run,
    .verify = mpi_verify,
    .close = mpi_close,
};

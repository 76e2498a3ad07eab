/* NCCL on GPU memory: one rank, one GPU. Communicators are made per group, each from an id of its
 * own; this file opens and closes them, nccl_steps.c runs operations, nccl_verify.c checks data,
 * nccl_call.c turns errors and hangs into reports.
 *
 * Communicators are asked to be blocking: a non-blocking one starts a thread for every operation
 * (NCCL 2.24 and later), which small messages would show. What can wait for other ranks is called
 * with a time limit instead (cb_nccl_call), and operations under way are watched and aborted
 * (cb_nccl_wait). Where NCCL_COMM_BLOCKING=0 makes them non-blocking all the same, every call is
 * settled. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/device.h"
#include "transport/nccl_internal.h"
#include "transport/nccl_log.h"
#include "transport/nccl_search.h"
#include "transport/nccl_transport.h"

enum { ALIGNMENT_BYTES = 4096, FLOAT8_VERSION = 22400, FLOAT8_COMPUTE_MAJOR = 9 };

/* NCCL's type of an element; false where it has none. */
static bool find_type(enum cb_dtype dtype, ncclDataType_t *type)
{
    static const struct {
        bool is_there;
        ncclDataType_t type;
    } types[CB_DTYPE_COUNT] = {
        [CB_DTYPE_FLOAT32] = {true, ncclFloat32},
        [CB_DTYPE_FLOAT64] = {true, ncclFloat64},
        [CB_DTYPE_FLOAT16] = {true, ncclFloat16},
        [CB_DTYPE_BFLOAT16] = {true, ncclBfloat16},
        [CB_DTYPE_INT32] = {true, ncclInt32},
#if NCCL_VERSION_CODE >= 22400
        [CB_DTYPE_FLOAT8_E4M3] = {true, ncclFloat8e4m3},
        [CB_DTYPE_FLOAT8_E5M2] = {true, ncclFloat8e5m2},
#endif
    };
    *type = types[dtype].type;
    return types[dtype].is_there;
}

static void nccl_probe(const struct cb_transport_config *config, struct cb_transport_probe *out)
{
    struct cb_nccl_copy copy;
    struct cb_device_probe device;
    struct cb_error err;
    memset(out, 0, sizeof(*out));
    snprintf(out->library, sizeof(out->library), "NCCL");
    int rc = cb_nccl_find(config->nccl_path, &copy, &err);
    if (!rc) {
        char version[16];
        cb_nccl_format_version(copy.version, version);
        snprintf(out->library, sizeof(out->library), "NCCL %s", version);
        snprintf(out->version, sizeof(out->version), "%s", version);
        memcpy(out->path, copy.path, sizeof(out->path));
    }
    cb_device_probe(&device);
    out->simulated = config->device && config->device->simulated;
    out->available = !rc && device.count > 0;
    if (device.count == 0)
        memcpy(out->reason, device.reason, sizeof(out->reason));
    else if (rc)
        snprintf(out->reason, sizeof(out->reason), "%.120s (%.120s)", err.what, err.detail);
}

/* ---- opening ---- */

static int allocate(struct cb_transport *t, char **buffer, struct cb_error *err)
{
    int rc;
    if (t->config.registers)
        rc = cb_nccl_check(t, t->api.ncclMemAlloc((void **)buffer, t->capacity_bytes),
                           "ncclMemAlloc", err);
    else
        rc = CB_CUDA(cudaMalloc((void **)buffer, t->capacity_bytes), "cudaMalloc", err);
    /* On the stream that will use it: CUDA orders its own, on which cudaMemset works, before none
     * that is non-blocking. */
    if (!rc)
        rc = CB_CUDA(cudaMemsetAsync(*buffer, 0, t->capacity_bytes, t->stream), "cudaMemsetAsync",
                     err);
    return rc;
}

static int check_registration(const struct cb_transport *t, struct cb_error *err)
{
    const struct cb_nccl_api *api = &t->api;
    char version[16];
    if (!t->config.registers ||
        (api->ncclMemAlloc && api->ncclMemFree && api->ncclCommRegister && api->ncclCommDeregister))
        return CB_OK;
    cb_fail(err, CB_E_UNSUPPORTED, "--register: NCCL %s cannot register buffers",
            cb_nccl_format_version(api->version, version));
    cb_error_set_hint(err, "NCCL 2.19 and later can: name one with --nccl-lib");
    return CB_E_UNSUPPORTED;
}

/* Everything that needs no other rank. */
static int open_alone(struct cb_transport *t, struct cb_error *err)
{
    int rc = cb_nccl_load(t->config.nccl_path, &t->api, err);
    if (!rc)
        rc = check_registration(t, err);
    if (!rc)
        rc = CB_CUDA(cudaSetDevice(t->config.device->index), "cudaSetDevice", err);
    if (!rc)
        rc = CB_CUDA(cudaStreamCreateWithFlags(&t->stream, cudaStreamNonBlocking),
                     "cudaStreamCreate", err);
    if (!rc)
        rc = CB_CUDA(cudaStreamCreateWithFlags(&t->aside, cudaStreamNonBlocking),
                     "cudaStreamCreate", err);
    cudaEvent_t *const events[] = {&t->start, &t->end, &t->ready, &t->sign};
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]) && !rc; i++)
        rc = CB_CUDA(cudaEventCreate(events[i]), "cudaEventCreate", err);
    if (!rc)
        rc = CB_CUDA(cudaMalloc((void **)&t->wrong, sizeof(*t->wrong)), "cudaMalloc", err);
    if (!rc)
        rc = CB_CUDA(cudaMalloc((void **)&t->together, sizeof(*t->together)), "cudaMalloc", err);
    if (!rc)
        rc = CB_CUDA(cudaMemsetAsync(t->together, 0, sizeof(*t->together), t->stream),
                     "cudaMemsetAsync", err);
    if (!rc)
        rc = allocate(t, &t->send, err);
    if (!rc)
        rc = allocate(t, &t->receive, err);
    if (!rc && t->rank == 0)
        rc = cb_nccl_check(t, t->api.ncclGetUniqueId(&t->id), "ncclGetUniqueId", err);
    return rc;
}

static int join(struct cb_transport *t, struct cb_error *err)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 1;
    return cb_nccl_settle(t,
                          t->api.ncclCommInitRankConfig(&t->comm, t->size, t->id, t->rank, &config),
                          "ncclCommInitRankConfig", err);
}

static int register_buffers(struct cb_transport *t, struct cb_error *err)
{
    int rc = cb_nccl_settle(
        t, t->api.ncclCommRegister(t->comm, t->send, t->capacity_bytes, &t->send_handle),
        "ncclCommRegister", err);
    return rc ? rc
              : cb_nccl_settle(t,
                               t->api.ncclCommRegister(t->comm, t->receive, t->capacity_bytes,
                                                       &t->receive_handle),
                               "ncclCommRegister", err);
}

/* A step is supported by all ranks or by none. */
static int share_compute(struct cb_transport *t, struct cb_error *err)
{
    double lowest = -t->config.device->compute_major;
    int rc = cb_group_max(t->group, &lowest, 1, err);
    t->compute_major = (int)-lowest;
    return rc;
}

/* ---- closing ---- */

static int leave(struct cb_transport *t, struct cb_error *err)
{
    ncclComm_t comm = t->comm;
    if (t->send_handle)
        t->api.ncclCommDeregister(comm, t->send_handle);
    if (t->receive_handle)
        t->api.ncclCommDeregister(comm, t->receive_handle);
    int rc = cb_nccl_settle(t, t->api.ncclCommFinalize(comm), "ncclCommFinalize", err);
    t->comm = NULL;
    return rc ? rc : cb_nccl_check(t, t->api.ncclCommDestroy(comm), "ncclCommDestroy", err);
}

static void release(struct cb_transport *t, char *buffer)
{
    if (buffer && t->config.registers)
        t->api.ncclMemFree(buffer);
    else if (buffer)
        cudaFree(buffer);
}

/* What hangs inside NCCL or CUDA keeps all of it. */
static void nccl_close(struct cb_transport *t)
{
    if (!t)
        return;
    if (!t->lost)
        cb_nccl_drop_graphs(t);
    if (t->failed)
        cb_nccl_abort(t);
    else
        cb_nccl_leave(t, leave);
    if (t->lost)
        return;
    cb_nccl_end_worker(t);
    release(t, t->send);
    release(t, t->receive);
    if (t->together)
        cudaFree(t->together);
    if (t->wrong)
        cudaFree(t->wrong);
    cudaEvent_t events[] = {t->sign, t->ready, t->end, t->start};
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
        if (events[i])
            cudaEventDestroy(events[i]);
    if (t->aside)
        cudaStreamDestroy(t->aside);
    if (t->stream)
        cudaStreamDestroy(t->stream);
    free(t);
}

static int nccl_open(const struct cb_transport_config *config, struct cb_group *group,
                     uint64_t max_bytes, struct cb_transport **out, struct cb_error *err)
{
    struct cb_transport *t = calloc(1, sizeof(*t));
    int rc = t ? CB_OK : cb_fail(err, CB_E_MEMORY, "no memory");
    if (t) {
        t->config = *config;
        t->place = config->place ? config->place : &t->own_place;
        t->group = group;
        t->rank = cb_group_rank(group);
        t->size = cb_group_size(group);
        t->capacity_bytes =
            ((size_t)max_bytes + ALIGNMENT_BYTES) / ALIGNMENT_BYTES * ALIGNMENT_BYTES;
        rc = open_alone(t, err);
    }
    /* Whoever goes on into NCCL without the others would wait for them. */
    rc = cb_group_agree(group, rc, err);
    if (!rc)
        rc = cb_group_broadcast(group, &t->id, sizeof(t->id), err);
    if (!rc)
        rc = share_compute(t, err);
    if (rc)
        goto close;
    int starts = config->nccl_log ? cb_nccl_log_count_starts(config->nccl_log) : -1;
    rc = cb_nccl_call(t, "ncclCommInitRankConfig", join, err);
    if (rc && starts >= 0)
        atomic_store(&t->place->has_joined, cb_nccl_log_count_starts(config->nccl_log) > starts
                                                ? CB_SEEN_YES
                                                : CB_SEEN_NO);
    if (!rc && config->registers)
        rc = cb_nccl_call(t, "ncclCommRegister", register_buffers, err);
    rc = cb_group_agree(group, rc, err);
    if (rc)
        goto close;
    *out = t;
    return CB_OK;

close:
    if (t)
        t->failed = true;
    nccl_close(t);
    return rc;
}

/* ---- steps ---- */

static bool nccl_supports(const struct cb_transport *t, const struct cb_step *step, char *reason,
                          size_t reason_size)
{
    ncclDataType_t type;
    char version[16], why[160] = "";
    bool is_float8 = step->dtype == CB_DTYPE_FLOAT8_E4M3 || step->dtype == CB_DTYPE_FLOAT8_E5M2;
    bool is_collective = step->motion == CB_MOTION_COLLECTIVE;
    if (is_float8 && t->api.version < FLOAT8_VERSION)
        snprintf(why, sizeof(why), "NCCL %s has no 8-bit floating point (2.24 and later have)",
                 cb_nccl_format_version(t->api.version, version));
    else if (!find_type(step->dtype, &type))
        snprintf(why, sizeof(why), "NCCL has no element type %s", cb_dtype_name(step->dtype));
    else if (is_float8 && is_collective && cb_op_reduces(step->op) &&
             t->compute_major < FLOAT8_COMPUTE_MAJOR)
        snprintf(why, sizeof(why),
                 "NCCL combines 8-bit floating point only on GPUs of compute capability 9.0 and "
                 "later");
    else if (is_collective && step->in_place &&
             (step->op == CB_OP_ALL_TO_ALL || step->op == CB_OP_SEND_RECV))
        snprintf(why, sizeof(why), "NCCL has no %s in place", cb_op_name(step->op));
    else if (step->size_bytes > t->capacity_bytes)
        snprintf(why, sizeof(why), "the message is larger than the buffers");
    if (why[0] && reason)
        snprintf(reason, reason_size, "%s", why);
    return !why[0];
}

static int nccl_prepare(struct cb_transport *t, const struct cb_step *step, struct cb_error *err)
{
    char reason[160];
    if (!nccl_supports(t, step, reason, sizeof(reason)))
        return cb_fail(err, CB_E_UNSUPPORTED, "%s", reason);
    cb_nccl_drop_graphs(t);
    t->step = *step;
    t->algorithm = (struct cb_algorithm){0};
    t->element_bytes = cb_dtype_size_bytes(step->dtype);
    find_type(step->dtype, &t->type);
    t->redop = step->redop == CB_REDOP_MAX ? ncclMax : ncclSum;
    return CB_OK;
}

const struct cb_transport_ops cb_transport_nccl = {
    .name = "nccl",
    .is_aligned = true,
    .probe = nccl_probe,
    .open = nccl_open,
    .supports = nccl_supports,
    .prepare = nccl_prepare,
    .run = cb_nccl_run,
    .verify = cb_nccl_verify,
    .tell = cb_nccl_tell,
    .close = nccl_close,
};

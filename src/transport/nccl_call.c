/* Calls into NCCL that can fail or hang: errors in words, time limits, abort. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/units.h"
#include "gpu/device.h"
#include "transport/nccl_internal.h"

/* Leaving takes a part of what one operation may: all of it has to end before the run's watchdog
 * comes. What has not come back by then will not. */
static double leaving_limit_s(const struct cb_transport *t)
{
    const double longest_s = 10, share = 1.0 / 8;
    double limit_s = t->config.time_limit_s * share;
    return limit_s > 0 && limit_s < longest_s ? limit_s : longest_s;
}

/* ---- errors ---- */

static const struct {
    const char *name;
    const char *hint;
} results[] = {
    [ncclSuccess] = {"ncclSuccess", ""},
    [ncclUnhandledCudaError] = {"ncclUnhandledCudaError",
                                "look at nvidia-smi, and at dmesg for Xid messages; "
                                "NCCL_DEBUG=WARN names the CUDA call"},
    [ncclSystemError] = {"ncclSystemError",
                         "NCCL_DEBUG=INFO names the call; look at the size of /dev/shm, at ulimit "
                         "-l, and whether NCCL_SOCKET_IFNAME names an interface that reaches every "
                         "host"},
    [ncclInternalError] = {"ncclInternalError",
                           "NCCL_DEBUG=INFO says where; try another copy of NCCL (--nccl-lib)"},
    [ncclInvalidArgument] = {"ncclInvalidArgument",
                             "NCCL_DEBUG=WARN names the argument; a library of another version "
                             "(--nccl-lib) may know it"},
    [ncclInvalidUsage] = {"ncclInvalidUsage",
                          "usual causes: two ranks on one GPU, or different versions of NCCL"},
    [ncclRemoteError] = {"ncclRemoteError",
                         "another rank or its host is gone, or a link broke: look at that host, "
                         "and at the network's counters"},
    [ncclInProgress] = {"ncclInProgress", ""},
};

int cb_nccl_check(struct cb_transport *t, ncclResult_t result, const char *call,
                  struct cb_error *err)
{
    if (result == ncclSuccess)
        return CB_OK;
    bool is_known = (size_t)result < sizeof(results) / sizeof(results[0]);
    const char *last = t->api.ncclGetLastError ? t->api.ncclGetLastError(t->comm) : "";
    t->failed = true;
    cb_fail(err, CB_E_MEASURE, "NCCL on device %d: %s failed", t->config.device->index, call);
    cb_error_set_detail(err, "%s: %s%s%.160s", is_known ? results[result].name : "unknown code",
                        t->api.ncclGetErrorString(result), last && *last ? "; " : "",
                        last ? last : "");
    cb_error_set_hint(err, "%s", is_known ? results[result].hint : "");
    if (err)
        err->follows = result == ncclRemoteError ? CB_DROPPED : CB_CAUSE;
    return CB_E_MEASURE;
}

static void pause_for(long pause_ns)
{
    struct timespec pause = {.tv_nsec = pause_ns};
    nanosleep(&pause, NULL);
}

static int fail_late(struct cb_transport *t, const char *what, struct cb_error *err)
{
    char limit[CB_UNIT_TEXT];
    t->failed = true;
    cb_fail(err, CB_E_MEASURE, "NCCL on device %d: %s did not end within %s",
            t->config.device->index, what, cb_format_time(limit, t->config.time_limit_s));
    cb_error_set_detail(err, "a rank, its GPU or a link does not answer; %d ranks take part",
                        t->size);
    cb_error_set_hint(err, "look for a host that is gone, dmesg for Xid messages, and firewalls "
                           "between the hosts; --hang-limit gives it more time");
    if (err)
        err->follows = CB_WAITED;
    return CB_E_MEASURE;
}

int cb_nccl_settle(struct cb_transport *t, ncclResult_t result, const char *call,
                   struct cb_error *err)
{
    const long pause_ns = 20 * 1000L;
    double start_s = cb_clock_now_s();
    ncclResult_t state = result;
    while (state == ncclInProgress) {
        if (t->config.time_limit_s > 0 && cb_clock_now_s() - start_s > t->config.time_limit_s)
            return fail_late(t, call, err);
        ncclResult_t asked = t->api.ncclCommGetAsyncError(t->comm, &state);
        if (asked != ncclSuccess)
            state = asked;
        else if (state == ncclInProgress)
            pause_for(pause_ns);
    }
    return cb_nccl_check(t, state, call, err);
}

/* ---- calls that wait for other ranks ---- */

/* A thread that makes them, one at a time, so that this one can go on without it. When a call hangs
 * all of it is left to the thread. */
struct cb_nccl_worker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct cb_transport *t;
    int (*work)(struct cb_transport *t, struct cb_error *err); /* NULL: done */
    struct cb_error err;
    int rc;
    bool ends, is_abandoned;
};

static void worker_free(struct cb_nccl_worker *worker)
{
    pthread_cond_destroy(&worker->changed);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
}

static void *make_calls(void *arg)
{
    struct cb_nccl_worker *worker = arg;
    struct cb_transport *t = worker->t;
    pthread_mutex_lock(&worker->lock);
    while (!worker->ends) {
        if (!worker->work) {
            pthread_cond_wait(&worker->changed, &worker->lock);
            continue;
        }
        pthread_mutex_unlock(&worker->lock);
        /* CUDA's current device belongs to the thread. */
        int rc = CB_CUDA(cudaSetDevice(t->config.device->index), "cudaSetDevice", &worker->err);
        rc = rc ? rc : worker->work(t, &worker->err);
        pthread_mutex_lock(&worker->lock);
        worker->rc = rc;
        worker->work = NULL;
        pthread_cond_broadcast(&worker->changed);
    }
    bool is_abandoned = worker->is_abandoned;
    pthread_mutex_unlock(&worker->lock);
    if (is_abandoned)
        worker_free(worker);
    return NULL;
}

/* NULL, with the error, where there is no memory or no thread. */
static struct cb_nccl_worker *worker_start(struct cb_transport *t, struct cb_error *err)
{
    pthread_condattr_t attributes;
    struct cb_nccl_worker *worker = calloc(1, sizeof(*worker));
    if (!worker) {
        cb_fail(err, CB_E_MEMORY, "no memory");
        return NULL;
    }
    worker->t = t;
    pthread_mutex_init(&worker->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&worker->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (pthread_create(&worker->thread, NULL, make_calls, worker)) {
        worker_free(worker);
        cb_fail(err, CB_E_MEMORY, "no thread for the calls of NCCL");
        return NULL;
    }
    return worker;
}

void cb_nccl_end_worker(struct cb_transport *t)
{
    struct cb_nccl_worker *worker = t->worker;
    if (!worker)
        return;
    pthread_mutex_lock(&worker->lock);
    worker->ends = true;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
    pthread_join(worker->thread, NULL);
    worker_free(worker);
    t->worker = NULL;
}

static struct timespec in_so_long(double time_s)
{
    const long second_ns = 1000L * 1000 * 1000;
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += (time_t)time_s;
    end.tv_nsec += (long)((time_s - floor(time_s)) * (double)second_ns);
    if (end.tv_nsec >= second_ns) {
        end.tv_sec++;
        end.tv_nsec -= second_ns;
    }
    return end;
}

static int call_within(struct cb_transport *t, const char *what,
                       int (*work)(struct cb_transport *t, struct cb_error *err), double limit_s,
                       struct cb_error *err)
{
    struct cb_nccl_worker *worker = t->worker ? t->worker : worker_start(t, err);
    if (!worker)
        return CB_E_MEMORY;
    t->worker = worker;
    struct timespec end = in_so_long(limit_s);
    pthread_mutex_lock(&worker->lock);
    cb_error_clear(&worker->err);
    worker->work = work;
    pthread_cond_broadcast(&worker->changed);
    int waited = 0;
    while (worker->work && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(&worker->changed, &worker->lock, &end);
    bool hangs = worker->work != NULL;
    worker->ends = worker->is_abandoned = hangs;
    int rc = worker->rc;
    if (!hangs && rc)
        *err = worker->err;
    pthread_mutex_unlock(&worker->lock);
    if (hangs) {
        pthread_detach(worker->thread);
        t->worker = NULL;
        t->lost = true;
        return fail_late(t, what, err);
    }
    t->failed |= rc != CB_OK;
    return rc;
}

int cb_nccl_call(struct cb_transport *t, const char *what,
                 int (*work)(struct cb_transport *t, struct cb_error *err), struct cb_error *err)
{
    if (t->config.time_limit_s > 0)
        return call_within(t, what, work, t->config.time_limit_s, err);
    return work(t, err);
}

/* ---- waiting for the GPU ---- */

static int abort_comm(struct cb_transport *t, struct cb_error *err)
{
    ncclComm_t comm = t->comm;
    t->comm = NULL;
    return cb_nccl_check(t, t->api.ncclCommAbort(comm), "ncclCommAbort", err);
}

void cb_nccl_abort(struct cb_transport *t)
{
    struct cb_error ignored;
    t->failed = true;
    if (t->comm && !t->lost)
        call_within(t, "ncclCommAbort", abort_comm, leaving_limit_s(t), &ignored);
}

void cb_nccl_leave(struct cb_transport *t,
                   int (*work)(struct cb_transport *t, struct cb_error *err))
{
    struct cb_error ignored;
    if (t->comm && !t->lost)
        call_within(t, "closing a communicator", work, leaving_limit_s(t), &ignored);
}

/* On a stream that no other rank has a part in. */
static int do_other_work(struct cb_transport *t, struct cb_error *err)
{
    const long pause_ns = 1000 * 1000L;
    double start_s = cb_clock_now_s();
    int rc =
        CB_CUDA(cudaMemsetAsync(t->wrong, 0, sizeof(*t->wrong), t->aside), "cudaMemsetAsync", err);
    if (!rc)
        rc = CB_CUDA(cudaEventRecord(t->sign, t->aside), "cudaEventRecord", err);
    bool is_done = false;
    while (!rc && !is_done && cb_clock_now_s() - start_s < leaving_limit_s(t) / 2) {
        is_done = cudaEventQuery(t->sign) == cudaSuccess;
        if (!is_done)
            pause_for(pause_ns);
    }
    atomic_store(&t->place->answers, is_done ? CB_SEEN_YES : CB_SEEN_NO);
    return rc;
}

/* How far this rank's GPU has come with an operation that does not end. */
static void look_at_gpu(struct cb_transport *t)
{
    struct cb_error ignored;
    bool has_reached = cudaEventQuery(t->ready) == cudaSuccess;
    atomic_store(&t->place->has_reached, has_reached ? CB_SEEN_YES : CB_SEEN_NO);
    if (call_within(t, "other work", do_other_work, leaving_limit_s(t), &ignored))
        atomic_store(&t->place->answers, CB_SEEN_NO);
}

int cb_nccl_wait(struct cb_transport *t, struct cb_error *err)
{
    enum { SPINS = 200, LOOKS_PER_CHECK = 64 };
    const long pause_ns = 50 * 1000L;
    double start_s = cb_clock_now_s();
    cudaError_t state;
    int rc = CB_OK;
    for (unsigned looks = 0; (state = cudaEventQuery(t->end)) == cudaErrorNotReady; looks++) {
        cudaGetLastError(); /* "not ready" is no error for a later call to find */
        if (looks < SPINS)
            continue;
        pause_for(pause_ns);
        if (looks % LOOKS_PER_CHECK)
            continue;
        ncclResult_t health = ncclSuccess;
        ncclResult_t asked = t->api.ncclCommGetAsyncError(t->comm, &health);
        rc = cb_nccl_check(t, asked != ncclSuccess ? asked : health, "an operation under way", err);
        if (!rc && t->config.time_limit_s > 0 &&
            cb_clock_now_s() - start_s > t->config.time_limit_s) {
            rc = fail_late(t, "an operation on the GPU", err);
            look_at_gpu(t);
        }
        if (rc)
            break;
    }
    if (!rc)
        rc = CB_CUDA(state, "an operation on the GPU", err);
    if (rc)
        cb_nccl_abort(t); /* the first error is the one that counts */
    return rc;
}

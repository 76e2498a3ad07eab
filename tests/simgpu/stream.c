/* Streams, events, graphs and the clocks: what decides when work starts and when it ends. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

static struct {
    pthread_mutex_t lock;
    double now_s;
    atomic_ulong epoch, waits;
} host = {.lock = PTHREAD_MUTEX_INITIALIZER};

double simgpu_host_now_s(void)
{
    pthread_mutex_lock(&host.lock);
    double now_s = host.now_s;
    pthread_mutex_unlock(&host.lock);
    return now_s;
}

void simgpu_host_advance(double by_s)
{
    pthread_mutex_lock(&host.lock);
    host.now_s += by_s;
    pthread_mutex_unlock(&host.lock);
}

void simgpu_host_reach(double to_s)
{
    pthread_mutex_lock(&host.lock);
    if (to_s > host.now_s)
        host.now_s = to_s;
    pthread_mutex_unlock(&host.lock);
}

uint64_t simgpu_memory_epoch(void)
{
    return host.epoch;
}

void simgpu_memory_touch(void)
{
    host.epoch++;
}

unsigned long simgpu_waits(void)
{
    return host.waits;
}

/* ---- streams ---- */

static void item_free(struct simgpu_item *item)
{
    if (item->work.dispose != NULL)
        item->work.dispose(item->payload);
    free(item);
}

static void finish(struct CUstream_st *stream, cudaError_t error, const struct simgpu_span *span)
{
    struct simgpu_device *device = simgpu_device_get(stream->device);
    pthread_mutex_lock(&device->lock);
    if (error != cudaSuccess && device->sticky == cudaSuccess)
        device->sticky = error;
    if (span->busy && span->end_s > span->start_s)
        device->busy_s += span->end_s - span->start_s;
    pthread_mutex_unlock(&device->lock);
}

static void stream_free(struct CUstream_st *stream)
{
    pthread_mutex_destroy(&stream->lock);
    pthread_cond_destroy(&stream->changed);
    free(stream);
}

/* A device that stands still: no stream of it goes on, and no call says so. */
static void hang_if_due(int physical)
{
    struct simgpu_device *device = simgpu_device_get(physical);
    if (simgpu_fault_due("gpu_hangs", physical, false))
        device->hangs = true;
    while (device->hangs)
        usleep(100 * 1000);
}

static void *work_through(void *argument)
{
    struct CUstream_st *stream = argument;
    pthread_mutex_lock(&stream->lock);
    for (;;) {
        while (stream->head == NULL && !stream->quit)
            pthread_cond_wait(&stream->changed, &stream->lock);
        struct simgpu_item *item = stream->head;
        if (item == NULL)
            break;
        struct simgpu_span span = {.device = stream->device};
        span.start_s = item->issued_s > stream->ready_s ? item->issued_s : stream->ready_s;
        span.end_s = span.start_s;
        const struct simgpu_item *next = item->next;
        span.replaced = item->work.replaced_by != NULL && next != NULL &&
                        item->work.replaced_by(item->payload, &next->work, next->payload);
        pthread_mutex_unlock(&stream->lock);

        hang_if_due(stream->device);
        cudaError_t error = simgpu_device_get(stream->device)->sticky;
        if (error == cudaSuccess)
            error = item->work.run(item->payload, &span);
        else if (item->work.cancel != NULL)
            item->work.cancel(item->payload);
        finish(stream, error, &span);

        pthread_mutex_lock(&stream->lock);
        stream->ready_s = span.end_s;
        stream->head = item->next;
        if (stream->head == NULL)
            stream->tail = NULL;
        item_free(item);
        pthread_cond_broadcast(&stream->changed);
    }
    pthread_mutex_unlock(&stream->lock);
    stream_free(stream);
    return NULL;
}

static struct CUstream_st *stream_new(int physical, bool beside_default)
{
    struct CUstream_st *stream = calloc(1, sizeof(*stream));
    if (stream == NULL)
        return NULL;
    stream->device = physical;
    stream->beside_default = beside_default;
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->changed, NULL);
    struct simgpu_device *device = simgpu_device_get(physical);
    pthread_mutex_lock(&device->lock);
    stream->next = device->streams;
    device->streams = stream;
    pthread_mutex_unlock(&device->lock);
    return stream;
}

struct CUstream_st *simgpu_stream_get(cudaStream_t stream)
{
    if (stream != NULL && stream != cudaStreamLegacy && stream != cudaStreamPerThread)
        return stream;
    int physical = simgpu_device_physical(simgpu_device_current());
    struct simgpu_device *device = simgpu_device_get(physical);
    if (device->fallback == NULL)
        device->fallback = stream_new(physical, false);
    return device->fallback;
}

/* Waits until nothing is queued; returns when the last work ended. */
static double drain(struct CUstream_st *stream)
{
    pthread_mutex_lock(&stream->lock);
    while (stream->head != NULL)
        pthread_cond_wait(&stream->changed, &stream->lock);
    double ready_s = stream->ready_s;
    pthread_mutex_unlock(&stream->lock);
    return ready_s;
}

cudaError_t simgpu_stream_wait(struct CUstream_st *stream)
{
    simgpu_host_reach(drain(stream));
    host.waits++;
    return simgpu_device_get(stream->device)->sticky;
}

cudaError_t simgpu_device_wait(int physical)
{
    struct simgpu_device *device = simgpu_device_get(physical);
    for (struct CUstream_st *stream = device->streams; stream != NULL; stream = stream->next)
        simgpu_stream_wait(stream);
    return device->sticky;
}

/* The default stream and the others wait for one another, unless a stream was made not to. */
static double order_with_default(struct CUstream_st *stream)
{
    struct simgpu_device *device = simgpu_device_get(stream->device);
    double after_s = 0;
    if (stream != device->fallback) {
        if (device->fallback != NULL && !stream->beside_default)
            after_s = drain(device->fallback);
        return after_s;
    }
    for (struct CUstream_st *other = device->streams; other != NULL; other = other->next) {
        if (other == stream || other->beside_default || other->capture != NULL)
            continue;
        double end_s = drain(other);
        if (end_s > after_s)
            after_s = end_s;
    }
    return after_s;
}

static struct simgpu_item *item_new(const struct simgpu_work *work, const void *payload,
                                    size_t size_bytes)
{
    struct simgpu_item *item = malloc(sizeof(*item) + size_bytes);
    if (item == NULL)
        return NULL;
    item->next = NULL;
    item->work = *work;
    item->size_bytes = size_bytes;
    if (size_bytes > 0)
        memcpy(item->payload, payload, size_bytes);
    return item;
}

static cudaError_t enqueue(struct CUstream_st *stream, struct simgpu_item *item)
{
    struct simgpu_device *device = simgpu_device_get(stream->device);
    if (simgpu_fault_due("bus", stream->device, true)) {
        device->lost = true;
        device->sticky = cudaErrorUnknown;
    }
    if (!item->work.keeps_memory)
        simgpu_memory_touch();
    if (item->work.issue != NULL)
        item->work.issue(item->payload);
    double after_s = order_with_default(stream), now_s = simgpu_host_now_s();
    item->issued_s = after_s > now_s ? after_s : now_s;
    pthread_mutex_lock(&stream->lock);
    if (!stream->started) {
        if (pthread_create(&stream->worker, NULL, work_through, stream) != 0)
            abort();
        stream->started = true;
    }
    if (stream->tail != NULL)
        stream->tail->next = item;
    else
        stream->head = item;
    stream->tail = item;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    return device->sticky;
}

cudaError_t simgpu_stream_submit(cudaStream_t handle, const struct simgpu_work *work,
                                 const void *payload, size_t size_bytes)
{
    struct CUstream_st *stream = simgpu_stream_get(handle);
    struct simgpu_item *item = item_new(work, payload, size_bytes);
    if (item == NULL)
        return simgpu_error(cudaErrorMemoryAllocation);
    simgpu_host_advance(simgpu_config()->call_s);
    struct CUgraph_st *graph = stream->capture;
    if (graph == NULL)
        return simgpu_error(enqueue(stream, item));
    if (graph->tail != NULL)
        graph->tail->next = item;
    else
        graph->head = item;
    graph->tail = item;
    return cudaSuccess;
}

bool simgpu_stream_capturing(cudaStream_t stream)
{
    return simgpu_stream_get(stream)->capture != NULL;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    cudaError_t error = simgpu_enter(__func__);
    if (error != cudaSuccess)
        return error;
    struct CUstream_st *stream = stream_new(simgpu_device_physical(simgpu_device_current()),
                                            (flags & cudaStreamNonBlocking) != 0);
    if (stream == NULL)
        return simgpu_error(cudaErrorMemoryAllocation);
    *out = stream;
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *out)
{
    return cudaStreamCreateWithFlags(out, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int priority)
{
    (void)priority;
    return cudaStreamCreateWithFlags(out, flags);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = *greatest = 0;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    if (stream == NULL)
        return simgpu_error(cudaErrorInvalidResourceHandle);
    struct simgpu_device *device = simgpu_device_get(stream->device);
    pthread_mutex_lock(&device->lock);
    struct CUstream_st **link = &device->streams;
    while (*link != NULL && *link != stream)
        link = &(*link)->next;
    if (*link != NULL)
        *link = stream->next;
    pthread_mutex_unlock(&device->lock);
    pthread_mutex_lock(&stream->lock);
    bool started = stream->started;
    stream->quit = true; /* the worker frees it when all is done: this does not wait */
    if (started)
        pthread_detach(stream->worker);
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    if (!started)
        stream_free(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle)
{
    cudaError_t error = simgpu_enter(__func__);
    if (error != cudaSuccess)
        return error;
    struct CUstream_st *stream = simgpu_stream_get(handle);
    if (stream->capture != NULL)
        return simgpu_error(cudaErrorStreamCaptureUnsupported);
    return simgpu_error(simgpu_stream_wait(stream));
}

cudaError_t cudaStreamQuery(cudaStream_t handle)
{
    cudaError_t error = simgpu_enter(__func__);
    if (error != cudaSuccess)
        return error;
    struct CUstream_st *stream = simgpu_stream_get(handle);
    pthread_mutex_lock(&stream->lock);
    bool done = stream->head == NULL;
    double ready_s = stream->ready_s;
    pthread_mutex_unlock(&stream->lock);
    if (!done)
        return cudaErrorNotReady;
    simgpu_host_reach(ready_s);
    host.waits++;
    return simgpu_error(simgpu_device_get(stream->device)->sticky);
}

struct host_call {
    void (*function)(void *);
    void *argument;
};

static cudaError_t run_host_call(void *payload, struct simgpu_span *span)
{
    struct host_call *call = payload;
    (void)span;
    call->function(call->argument);
    return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *argument)
{
    cudaError_t error = simgpu_enter(__func__);
    struct host_call call = {function, argument};
    return error != cudaSuccess
               ? error
               : simgpu_stream_submit(stream, &(struct simgpu_work){.run = run_host_call}, &call,
                                      sizeof(call));
}

/* ---- events ---- */

struct event_use {
    struct CUevent_st *event;
    unsigned long generation;
};

static void event_free(struct CUevent_st *event)
{
    pthread_mutex_destroy(&event->lock);
    pthread_cond_destroy(&event->changed);
    free(event);
}

static void issue_record(void *payload)
{
    struct event_use *use = payload;
    pthread_mutex_lock(&use->event->lock);
    use->generation = ++use->event->issued;
    pthread_mutex_unlock(&use->event->lock);
}

static void event_complete(struct event_use *use, double time_s)
{
    struct CUevent_st *event = use->event;
    pthread_mutex_lock(&event->lock);
    if (use->generation > event->done) {
        event->done = use->generation;
        event->time_s = time_s;
    }
    bool unused = event->orphan && event->done == event->issued;
    pthread_cond_broadcast(&event->changed);
    pthread_mutex_unlock(&event->lock);
    if (unused)
        event_free(event);
}

static cudaError_t run_record(void *payload, struct simgpu_span *span)
{
    event_complete(payload, span->start_s);
    return cudaSuccess;
}

static cudaError_t run_event_wait(void *payload, struct simgpu_span *span)
{
    struct event_use *use = payload;
    pthread_mutex_lock(&use->event->lock);
    while (use->event->done < use->generation)
        pthread_cond_wait(&use->event->changed, &use->event->lock);
    if (use->event->time_s > span->start_s)
        span->end_s = use->event->time_s;
    pthread_mutex_unlock(&use->event->lock);
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
    cudaError_t error = simgpu_enter(__func__);
    if (error != cudaSuccess)
        return error;
    struct CUevent_st *event = calloc(1, sizeof(*event));
    if (event == NULL)
        return simgpu_error(cudaErrorMemoryAllocation);
    pthread_mutex_init(&event->lock, NULL);
    pthread_cond_init(&event->changed, NULL);
    event->timed = (flags & cudaEventDisableTiming) == 0;
    *out = event;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *out)
{
    return cudaEventCreateWithFlags(out, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    if (event == NULL)
        return simgpu_error(cudaErrorInvalidResourceHandle);
    pthread_mutex_lock(&event->lock);
    event->orphan = event->done < event->issued; /* its last record frees it */
    bool unused = !event->orphan;
    pthread_mutex_unlock(&event->lock);
    if (unused)
        event_free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    cudaError_t error = simgpu_enter(__func__);
    struct event_use use = {event, 0};
    const struct simgpu_work work = {
        .run = run_record, .issue = issue_record, .keeps_memory = true};
    return error != cudaSuccess ? error : simgpu_stream_submit(stream, &work, &use, sizeof(use));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    (void)flags;
    return cudaEventRecord(event, stream);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    cudaError_t error = simgpu_enter(__func__);
    struct event_use use = {event, event->issued};
    const struct simgpu_work work = {.run = run_event_wait, .keeps_memory = true};
    return error != cudaSuccess ? error : simgpu_stream_submit(stream, &work, &use, sizeof(use));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    cudaError_t error = simgpu_enter(__func__);
    if (error != cudaSuccess)
        return error;
    pthread_mutex_lock(&event->lock);
    while (event->done < event->issued)
        pthread_cond_wait(&event->changed, &event->lock);
    double time_s = event->time_s;
    pthread_mutex_unlock(&event->lock);
    simgpu_host_reach(time_s);
    host.waits++;
    return simgpu_enter(__func__);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    cudaError_t error = simgpu_enter(__func__);
    if (error != cudaSuccess)
        return error;
    pthread_mutex_lock(&event->lock);
    bool done = event->done == event->issued;
    double time_s = event->time_s;
    pthread_mutex_unlock(&event->lock);
    if (!done)
        return cudaErrorNotReady;
    simgpu_host_reach(time_s);
    host.waits++;
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    if (start == NULL || end == NULL || !start->timed || !end->timed || start->issued == 0 ||
        end->issued == 0)
        return simgpu_error(cudaErrorInvalidResourceHandle);
    cudaError_t error = cudaEventQuery(start);
    if (error == cudaSuccess)
        error = cudaEventQuery(end);
    if (error == cudaSuccess)
        *ms = (float)((end->time_s - start->time_s) * 1e3);
    return error;
}

/* ---- graphs: the captured work of one stream ---- */

static void graph_free(struct CUgraph_st *graph)
{
    while (graph->head != NULL) {
        struct simgpu_item *item = graph->head;
        graph->head = item->next;
        item_free(item);
    }
    free(graph);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, enum cudaStreamCaptureMode mode)
{
    (void)mode;
    cudaError_t error = simgpu_enter(__func__);
    if (error != cudaSuccess)
        return error;
    struct CUstream_st *stream = simgpu_stream_get(handle);
    if (stream == simgpu_device_get(stream->device)->fallback || stream->capture != NULL)
        return simgpu_error(cudaErrorStreamCaptureUnsupported);
    stream->capture = calloc(1, sizeof(*stream->capture));
    return stream->capture != NULL ? cudaSuccess : simgpu_error(cudaErrorMemoryAllocation);
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *out)
{
    struct CUstream_st *stream = simgpu_stream_get(handle);
    if (stream->capture == NULL)
        return simgpu_error(cudaErrorIllegalState);
    *out = stream->capture;
    stream->capture = NULL;
    return simgpu_enter(__func__);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    *status = simgpu_stream_capturing(stream) ? cudaStreamCaptureStatusActive
                                              : cudaStreamCaptureStatusNone;
    return simgpu_enter(__func__);
}

/* Copies are by value: work that owns memory cannot be captured, and none that can is. */
static struct CUgraph_st *graph_copy(const struct CUgraph_st *graph)
{
    struct CUgraph_st *copy = calloc(1, sizeof(*copy));
    for (const struct simgpu_item *item = graph->head; copy != NULL && item != NULL;
         item = item->next) {
        struct simgpu_item *own = item_new(&item->work, item->payload, item->size_bytes);
        if (own == NULL)
            break;
        own->work.dispose = NULL;
        if (copy->tail != NULL)
            copy->tail->next = own;
        else
            copy->head = own;
        copy->tail = own;
    }
    return copy;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags)
{
    (void)flags;
    cudaError_t error = simgpu_enter(__func__);
    if (error != cudaSuccess)
        return error;
    struct CUgraph_st *copy = graph_copy(graph);
    if (copy == NULL)
        return simgpu_error(cudaErrorMemoryAllocation);
    *out = (cudaGraphExec_t)(void *)copy;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t graph,
                                          unsigned long long flags)
{
    return cudaGraphInstantiate(out, graph, flags);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t graph, cudaStream_t stream)
{
    (void)graph;
    (void)stream;
    return simgpu_enter(__func__);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t handle)
{
    cudaError_t error = simgpu_enter(__func__);
    const struct CUgraph_st *graph = (const struct CUgraph_st *)(void *)exec;
    struct CUstream_st *stream = simgpu_stream_get(handle);
    simgpu_host_advance(simgpu_config()->call_s);
    for (const struct simgpu_item *item = graph->head; error == cudaSuccess && item != NULL;
         item = item->next) {
        struct simgpu_item *own = item_new(&item->work, item->payload, item->size_bytes);
        error = own != NULL ? enqueue(stream, own) : cudaErrorMemoryAllocation;
    }
    return simgpu_error(error);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    graph_free(graph);
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    graph_free((struct CUgraph_st *)(void *)exec);
    return cudaSuccess;
}

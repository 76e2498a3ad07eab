/* Memory: a device's is the host's, but every block knows whose it is. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum place { PLACE_PAGEABLE, PLACE_PINNED, PLACE_DEVICE };

struct block {
    struct block *next;
    char *data;
    size_t size_bytes;
    enum place place;
    int device;   /* physical */
    bool foreign; /* registered, not allocated here */
};

static struct {
    pthread_mutex_t lock;
    struct block *first;
} heap = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* New device memory holds no zeros: a program that relies on them is wrong. */
#define DIRT_BYTES (1u << 20)

static void add_block(char *data, size_t size_bytes, enum place place, int device, bool foreign)
{
    struct block *block = malloc(sizeof(*block));
    if (block == NULL)
        abort();
    pthread_mutex_lock(&heap.lock);
    *block = (struct block){heap.first, data, size_bytes, place, device, foreign};
    heap.first = block;
    pthread_mutex_unlock(&heap.lock);
}

static bool take_block(const void *data, bool device, struct block *out)
{
    pthread_mutex_lock(&heap.lock);
    struct block **link = &heap.first;
    while (*link != NULL && ((*link)->data != data || ((*link)->place == PLACE_DEVICE) != device))
        link = &(*link)->next;
    struct block *block = *link;
    if (block != NULL) {
        *out = *block;
        *link = block->next;
    }
    pthread_mutex_unlock(&heap.lock);
    free(block);
    return block != NULL;
}

static bool find_block(const void *data, struct block *out)
{
    pthread_mutex_lock(&heap.lock);
    const struct block *block = heap.first;
    while (block != NULL && ((const char *)data < block->data ||
                             (const char *)data >= block->data + block->size_bytes))
        block = block->next;
    if (block != NULL)
        *out = *block;
    pthread_mutex_unlock(&heap.lock);
    return block != NULL;
}

/* Whether the range runs past the end of the block that it begins in. */
static bool overruns(const void *data, size_t size_bytes)
{
    struct block block;
    return find_block(data, &block) &&
           size_bytes > block.size_bytes - (size_t)((const char *)data - block.data);
}

bool simgpu_memory_known(const void *data, size_t size_bytes)
{
    struct block block;
    return find_block(data, &block) && !overruns(data, size_bytes);
}

cudaError_t cudaMalloc(void **out, size_t size_bytes)
{
    cudaError_t error = simgpu_enter(__func__);
    if (error != cudaSuccess)
        return error;
    int physical = simgpu_device_physical(simgpu_device_current());
    struct simgpu_device *device = simgpu_device_get(physical);
    uint64_t used = simgpu_device_used_bytes(physical);
    if (simgpu_fault_due("alloc", physical, false) ||
        (double)used + (double)size_bytes > simgpu_config()->memory_bytes)
        return simgpu_error(cudaErrorMemoryAllocation);
    void *data = NULL;
    if (posix_memalign(&data, 256, size_bytes > 0 ? size_bytes : 1) != 0)
        return simgpu_error(cudaErrorMemoryAllocation);
    memset(data, 0xcd, size_bytes < DIRT_BYTES ? size_bytes : DIRT_BYTES);
    add_block(data, size_bytes, PLACE_DEVICE, physical, false);
    pthread_mutex_lock(&device->lock);
    device->used_bytes += size_bytes;
    pthread_mutex_unlock(&device->lock);
    *out = data;
    return cudaSuccess;
}

cudaError_t cudaFree(void *data)
{
    struct block block;
    if (data == NULL)
        return simgpu_enter(__func__);
    if (!take_block(data, true, &block))
        return simgpu_error(cudaErrorInvalidValue);
    cudaError_t error = simgpu_device_wait(block.device);
    struct simgpu_device *device = simgpu_device_get(block.device);
    pthread_mutex_lock(&device->lock);
    device->used_bytes -= block.size_bytes;
    pthread_mutex_unlock(&device->lock);
    simgpu_memory_touch();
    free(data);
    return simgpu_error(error);
}

cudaError_t cudaMallocAsync(void **out, size_t size_bytes, cudaStream_t stream)
{
    (void)stream;
    return cudaMalloc(out, size_bytes);
}

cudaError_t cudaFreeAsync(void *data, cudaStream_t stream)
{
    (void)stream;
    return cudaFree(data);
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    cudaError_t error = simgpu_enter(__func__);
    if (error != cudaSuccess)
        return error;
    *total_bytes = (size_t)simgpu_config()->memory_bytes;
    *free_bytes =
        *total_bytes - simgpu_device_used_bytes(simgpu_device_physical(simgpu_device_current()));
    double shown = simgpu_config()->shown_free_bytes;
    if (shown > 0 && (double)*free_bytes > shown)
        *free_bytes = (size_t)shown;
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **out, size_t size_bytes, unsigned flags)
{
    (void)flags;
    cudaError_t error = simgpu_enter(__func__);
    if (error != cudaSuccess)
        return error;
    void *data = NULL;
    if (simgpu_fault_due("host_alloc", -1, false) ||
        posix_memalign(&data, 4096, size_bytes > 0 ? size_bytes : 1) != 0)
        return simgpu_error(cudaErrorMemoryAllocation);
    add_block(data, size_bytes, PLACE_PINNED, -1, false);
    *out = data;
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **out, size_t size_bytes)
{
    return cudaHostAlloc(out, size_bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void *data)
{
    struct block block;
    if (data == NULL)
        return cudaSuccess;
    if (!take_block(data, false, &block) || block.foreign)
        return simgpu_error(cudaErrorInvalidValue);
    free(data);
    return cudaSuccess;
}

cudaError_t cudaHostRegister(void *data, size_t size_bytes, unsigned flags)
{
    (void)flags;
    cudaError_t error = simgpu_enter(__func__);
    struct block block;
    if (error == cudaSuccess && find_block(data, &block))
        error = cudaErrorHostMemoryAlreadyRegistered;
    if (error == cudaSuccess)
        add_block(data, size_bytes, PLACE_PINNED, -1, true);
    return simgpu_error(error);
}

cudaError_t cudaHostUnregister(void *data)
{
    struct block block;
    return take_block(data, false, &block) ? cudaSuccess : simgpu_error(cudaErrorInvalidValue);
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    (void)flags;
    struct block block;
    if (!find_block(host, &block))
        return simgpu_error(cudaErrorInvalidValue);
    *device = host;
    return simgpu_enter(__func__);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *out, const void *data)
{
    struct block block;
    memset(out, 0, sizeof(*out));
    out->device = -1;
    out->type = cudaMemoryTypeUnregistered;
    out->hostPointer = (void *)(uintptr_t)data;
    if (!find_block(data, &block))
        return simgpu_enter(__func__);
    out->devicePointer = (void *)(uintptr_t)data;
    out->type = block.place == PLACE_DEVICE ? cudaMemoryTypeDevice : cudaMemoryTypeHost;
    if (block.place == PLACE_DEVICE)
        out->hostPointer = NULL;
    out->device = block.place == PLACE_DEVICE ? simgpu_device_current() : 0;
    for (int i = 0; block.place == PLACE_DEVICE && i < simgpu_device_count(); i++)
        if (simgpu_device_physical(i) == block.device)
            out->device = i;
    return simgpu_enter(__func__);
}

/* ---- copies ---- */

struct copy {
    void *to;
    const void *from; /* NULL: set to value */
    size_t size_bytes;
    double bytes_per_s;
    int value;
};

static cudaError_t run_copy(void *payload, struct simgpu_span *span)
{
    const struct copy *copy = payload;
    if (span->replaced)
        ;
    else if (copy->from != NULL)
        memmove(copy->to, copy->from, copy->size_bytes);
    else
        memset(copy->to, copy->value, copy->size_bytes);
    span->end_s =
        span->start_s + simgpu_config()->copy_s + (double)copy->size_bytes / copy->bytes_per_s;
    return cudaSuccess;
}

/* A copy to the same place follows, from elsewhere. */
static bool copy_replaced(const void *payload, const struct simgpu_work *next,
                          const void *next_payload)
{
    const struct copy *copy = payload, *later = next_payload;
    return next->run == run_copy && later->to == copy->to &&
           later->size_bytes == copy->size_bytes && copy->from == later->from &&
           copy->from != NULL &&
           ((const char *)copy->from + copy->size_bytes <= (const char *)copy->to ||
            (const char *)copy->to + copy->size_bytes <= (const char *)copy->from);
}

/* Whether a copy of the other direction was started on another stream since the host last waited:
 * then both share the link. Decided when the host starts a copy, so that it is the same every time.
 */
static bool shares_link(int physical, bool to_device, const struct CUstream_st *stream)
{
    static struct {
        const struct CUstream_st *stream;
        unsigned long waits;
    } last[SIMGPU_MAX_DEVICES][2];
    unsigned long waits = simgpu_waits();
    last[physical][to_device].stream = stream;
    last[physical][to_device].waits = waits;
    return last[physical][!to_device].stream != NULL && last[physical][!to_device].waits == waits &&
           last[physical][!to_device].stream != stream;
}

/* Of the two ends of a copy between devices. */
static double slowest_link(const struct block *to, const struct block *from)
{
    double to_factor = simgpu_fault_number("slow_link", to->device, "factor", 1);
    double from_factor = simgpu_fault_number("slow_link", from->device, "factor", 1);
    return to_factor < from_factor ? to_factor : from_factor;
}

static double copy_rate(const struct copy *copy, const struct CUstream_st *stream)
{
    const struct simgpu_config *config = simgpu_config();
    struct block to = {0}, from = {0};
    find_block(copy->to, &to);
    find_block(copy->from != NULL ? copy->from : copy->to, &from);
    double speed = simgpu_device_speed(stream->device);
    if (to.place == PLACE_DEVICE && from.place == PLACE_DEVICE)
        return to.device != from.device ? config->peer_bytes_per_s * slowest_link(&to, &from)
               : copy->from != NULL     ? config->memory_bytes_per_s / 2 * speed
                                        : config->memory_bytes_per_s * speed;
    bool to_device = to.place == PLACE_DEVICE;
    if (!to_device && from.place != PLACE_DEVICE)
        return config->host_to_device_bytes_per_s;
    double rate =
        to_device ? config->host_to_device_bytes_per_s : config->device_to_host_bytes_per_s;
    rate *= simgpu_fault_number("slow_pcie", stream->device, "factor", 1);
    if ((to_device ? from.place : to.place) == PLACE_PAGEABLE)
        rate *= config->pageable_share;
    return shares_link(stream->device, to_device, stream) ? rate * config->both_ways_share : rate;
}

static cudaError_t start_copy(void *to, const void *from, size_t size_bytes, int value,
                              cudaStream_t handle)
{
    struct copy copy = {to, from, size_bytes, 0, value};
    if (size_bytes == 0)
        return cudaSuccess;
    if (to == NULL || overruns(to, size_bytes) || (from != NULL && overruns(from, size_bytes)))
        return simgpu_error(cudaErrorInvalidValue);
    copy.bytes_per_s = copy_rate(&copy, simgpu_stream_get(handle));
    const struct simgpu_work work = {.run = run_copy, .replaced_by = copy_replaced};
    return simgpu_stream_submit(handle, &work, &copy, sizeof(copy));
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size_bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    (void)kind;
    cudaError_t error = simgpu_enter(__func__);
    if (error == cudaSuccess && from == NULL)
        error = simgpu_error(cudaErrorInvalidValue);
    return error != cudaSuccess ? error : start_copy(to, from, size_bytes, 0, stream);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t size_bytes, enum cudaMemcpyKind kind)
{
    cudaError_t error = cudaMemcpyAsync(to, from, size_bytes, kind, NULL);
    return error != cudaSuccess ? error : simgpu_error(simgpu_stream_wait(simgpu_stream_get(NULL)));
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t size_bytes, cudaStream_t stream)
{
    if (simgpu_device_physical(to_device) < 0 || simgpu_device_physical(from_device) < 0)
        return simgpu_error(cudaErrorInvalidDevice);
    return cudaMemcpyAsync(to, from, size_bytes, cudaMemcpyDefault, stream);
}

cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device,
                           size_t size_bytes)
{
    cudaError_t error = cudaMemcpyPeerAsync(to, to_device, from, from_device, size_bytes, NULL);
    return error != cudaSuccess ? error : simgpu_error(simgpu_stream_wait(simgpu_stream_get(NULL)));
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t size_bytes, cudaStream_t stream)
{
    cudaError_t error = simgpu_enter(__func__);
    return error != cudaSuccess ? error : start_copy(to, NULL, size_bytes, value, stream);
}

cudaError_t cudaMemset(void *to, int value, size_t size_bytes)
{
    cudaError_t error = cudaMemsetAsync(to, value, size_bytes, NULL);
    return error != cudaSuccess ? error : simgpu_error(simgpu_stream_wait(simgpu_stream_get(NULL)));
}

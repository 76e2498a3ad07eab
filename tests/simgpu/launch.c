/* Kernels: nvcc's objects register each at start-up and launch it through a stub; here the launch
 * runs the host routine of the same name. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define MAX_KERNELS 256
#define MAX_TABLES 8
#define MAX_ARGUMENT_BYTES 512

/* What nvcc's objects call; no header that a C file can include declares them. */
void **__cudaRegisterFatBinary(void *binary);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
char __cudaInitModule(void **handle);
void __cudaRegisterFunction(void **handle, const char *host_function, char *device_function,
                            const char *name, int thread_limit, uint3 *thread, uint3 *block,
                            dim3 *block_size, dim3 *grid_size, int *warp_size);
void __cudaRegisterVar(void **handle, char *host_variable, char *device_address, const char *name,
                       int external, size_t size_bytes, int constant, int global);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                     cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host_function);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                               size_t shared_bytes, cudaStream_t stream);

struct entry {
    const void *host_function;
    const char *name;
    const struct simgpu_kernel *routine; /* found at the first launch */
};

static struct {
    struct entry entries[MAX_KERNELS];
    size_t entry_count;
    struct {
        const struct simgpu_kernel *rows;
        size_t count;
    } tables[MAX_TABLES];
    size_t table_count;
} registry;

static _Thread_local struct {
    dim3 grid, block;
    size_t shared_bytes;
    cudaStream_t stream;
} pushed;

void simgpu_kernels_register(const struct simgpu_kernel *table, size_t count)
{
    if (registry.table_count == MAX_TABLES)
        abort();
    registry.tables[registry.table_count].rows = table;
    registry.tables[registry.table_count++].count = count;
}

void **__cudaRegisterFatBinary(void *binary)
{
    static void *handle;
    handle = binary;
    return &handle;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
}

char __cudaInitModule(void **handle)
{
    (void)handle;
    return 1;
}

void __cudaRegisterVar(void **handle, char *host_variable, char *device_address, const char *name,
                       int external, size_t size_bytes, int constant, int global)
{
    (void)handle, (void)host_variable, (void)device_address, (void)name;
    (void)external, (void)size_bytes, (void)constant, (void)global;
}

void __cudaRegisterFunction(void **handle, const char *host_function, char *device_function,
                            const char *name, int thread_limit, uint3 *thread, uint3 *block,
                            dim3 *block_size, dim3 *grid_size, int *warp_size)
{
    (void)handle, (void)device_function, (void)thread_limit, (void)thread, (void)block;
    (void)block_size, (void)grid_size, (void)warp_size;
    if (registry.entry_count == MAX_KERNELS)
        abort();
    registry.entries[registry.entry_count++] = (struct entry){host_function, name, NULL};
}

static struct entry *find_entry(const void *host_function)
{
    for (size_t i = 0; i < registry.entry_count; i++)
        if (registry.entries[i].host_function == host_function)
            return &registry.entries[i];
    return NULL;
}

static const struct simgpu_kernel *find_routine(struct entry *entry)
{
    for (size_t t = 0; entry->routine == NULL && t < registry.table_count; t++)
        for (size_t i = 0; i < registry.tables[t].count; i++)
            if (strcmp(registry.tables[t].rows[i].name, entry->name) == 0)
                entry->routine = &registry.tables[t].rows[i];
    return entry->routine;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                     cudaStream_t stream)
{
    pushed.grid = grid;
    pushed.block = block;
    pushed.shared_bytes = shared_bytes;
    pushed.stream = stream;
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream)
{
    *grid = pushed.grid;
    *block = pushed.block;
    *shared_bytes = pushed.shared_bytes;
    *(cudaStream_t *)stream = pushed.stream;
    return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host_function)
{
    struct entry *entry = find_entry(host_function);
    if (entry == NULL)
        return simgpu_error(cudaErrorInvalidDeviceFunction);
    *kernel = (cudaKernel_t)(void *)entry;
    return cudaSuccess;
}

struct launch {
    const struct simgpu_kernel *routine;
    uint64_t epoch; /* of memory, with this launch */
    max_align_t argument[MAX_ARGUMENT_BYTES / sizeof(max_align_t)];
};

static _Thread_local struct launch last_run; /* of this stream */

static cudaError_t run_launch(void *payload, struct simgpu_span *span)
{
    const struct launch *launch = payload;
    const struct simgpu_kernel *routine = launch->routine;
    bool again = routine->again != NULL && last_run.routine == routine &&
                 launch->epoch == last_run.epoch + 1 &&
                 routine->reads_same(launch->argument, last_run.argument);
    if (again)
        routine->again(launch->argument);
    else if (!span->replaced)
        routine->run(launch->argument);
    last_run = *launch;

    const struct simgpu_config *config = simgpu_config();
    double bytes = routine->bytes != NULL ? routine->bytes(launch->argument) : 0;
    double time_s = bytes / (config->memory_bytes_per_s * simgpu_device_speed(span->device));
    span->end_s = span->start_s + (time_s > config->kernel_s ? time_s : config->kernel_s);
    span->busy = true;
    return cudaSuccess;
}

static bool replaced_by(const void *payload, const struct simgpu_work *next,
                        const void *next_payload)
{
    const struct launch *launch = payload, *later = next_payload;
    return next->run == run_launch && later->routine == launch->routine &&
           launch->routine->replaces != NULL &&
           launch->routine->replaces(later->argument, launch->argument);
}

static void issue_launch(void *payload)
{
    struct launch *launch = payload;
    launch->epoch = simgpu_memory_epoch();
}

static cudaError_t start(struct entry *entry, dim3 grid, dim3 block, void *const *arguments,
                         cudaStream_t stream)
{
    cudaError_t error = simgpu_enter(entry != NULL ? entry->name : "cudaLaunchKernel");
    if (error != cudaSuccess)
        return error;
    if (entry == NULL)
        return simgpu_error(cudaErrorInvalidDeviceFunction);
    uint64_t threads = (uint64_t)block.x * block.y * block.z;
    if (threads == 0 || threads > 1024 || grid.x == 0 || grid.y == 0 || grid.z == 0 ||
        grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535)
        return simgpu_error(cudaErrorInvalidConfiguration);
    struct launch launch = {.routine = find_routine(entry)};
    if (launch.routine == NULL || launch.routine->argument_bytes > sizeof(launch.argument)) {
        fprintf(stderr, "simgpu: no host routine for kernel %s\n", entry->name);
        return simgpu_error(cudaErrorInvalidDeviceFunction);
    }
    if (launch.routine->argument_bytes > 0)
        memcpy(launch.argument, arguments[0], launch.routine->argument_bytes);
    const struct simgpu_work work = {
        .run = run_launch, .issue = issue_launch, .replaced_by = replaced_by};
    return simgpu_stream_submit(stream, &work, &launch, sizeof(launch));
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                               size_t shared_bytes, cudaStream_t stream)
{
    (void)shared_bytes;
    return start((struct entry *)(void *)kernel, grid, block, arguments, stream);
}

cudaError_t cudaLaunchKernel(const void *host_function, dim3 grid, dim3 block, void **arguments,
                             size_t shared_bytes, cudaStream_t stream)
{
    (void)shared_bytes;
    return start(find_entry(host_function), grid, block, arguments, stream);
}

cudaError_t cudaFuncSetAttribute(const void *host_function, enum cudaFuncAttribute attribute,
                                 int value)
{
    (void)attribute, (void)value;
    return find_entry(host_function) != NULL ? cudaSuccess
                                             : simgpu_error(cudaErrorInvalidDeviceFunction);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *out, const void *host_function)
{
    memset(out, 0, sizeof(*out));
    out->maxThreadsPerBlock = 1024;
    out->numRegs = 32;
    out->binaryVersion =
        10 * simgpu_config()->compute_capability_major + simgpu_config()->compute_capability_minor;
    out->ptxVersion = (int)simgpu_fault_number("built", -1, "version", out->binaryVersion);
    return find_entry(host_function) != NULL ? cudaSuccess
                                             : simgpu_error(cudaErrorInvalidDeviceFunction);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *host_function,
                                                          int block_size, size_t shared_bytes)
{
    (void)shared_bytes;
    if (find_entry(host_function) == NULL)
        return simgpu_error(cudaErrorInvalidDeviceFunction);
    *blocks = 2048 / (block_size > 0 ? block_size : 1);
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, const void *host_function, int block_size, size_t shared_bytes, unsigned flags)
{
    (void)flags;
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, host_function, block_size,
                                                         shared_bytes);
}

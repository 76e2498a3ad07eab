#define _DEFAULT_SOURCE /* madvise */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "kernels/host/internal.h"

/* The size of a large page on the architectures of today; others lose nothing by the alignment. */
#define LARGE_PAGE_BYTES ((size_t)2 << 20)

/* NULL: a kernel that only a GPU has. */
static const struct cb_host_family *const families[CB_KERNEL_COUNT] = {
    [CB_KERNEL_GEMM] = &cb_host_gemm,    [CB_KERNEL_READ] = &cb_host_stream,
    [CB_KERNEL_WRITE] = &cb_host_stream, [CB_KERNEL_COPY] = &cb_host_stream,
    [CB_KERNEL_TRIAD] = &cb_host_stream,
};

int cb_host_allocate(struct cb_kernels *set, int count, size_t size_bytes, struct cb_error *err)
{
    for (int i = 0; i < count; i++) {
        if (posix_memalign(&set->buffers[i], LARGE_PAGE_BYTES, size_bytes)) {
            set->buffers[i] = NULL;
            return cb_fail(err, CB_E_MEMORY, "no memory for the %s kernel: %d arrays of %zu bytes",
                           cb_kernel_name(set->kernel), count, size_bytes);
        }
        /* A wish: what is to be timed is the memory, not the walks through its page table. */
        (void)madvise(set->buffers[i], size_bytes, MADV_HUGEPAGE);
    }
    return 0;
}

static int host_open(const struct cb_kernels_config *config, struct cb_kernels **out,
                     struct cb_error *err)
{
    struct cb_kernels *set = calloc(1, sizeof(*set));
    if (!set)
        return cb_fail(err, CB_E_MEMORY, "no memory for the host kernels");
    set->last_level_cache_bytes = config->last_level_cache_bytes;
    set->memory_bytes = config->memory_bytes;
    set->local_ranks = config->local_ranks < 1 ? 1 : config->local_ranks;
    int rc = cb_team_open(config->cpus, config->cpu_count, &set->team, err);
    if (rc)
        goto err_free;
    *out = set;
    return 0;

err_free:
    free(set);
    return rc;
}

static int host_supports(const struct cb_kernels *set, enum cb_kernel kernel, enum cb_dtype dtype,
                         char *reason, size_t reason_size)
{
    (void)set;
    if (!families[kernel]) {
        if (reason && reason_size > 0)
            snprintf(reason, reason_size, "the %s kernel is of a GPU alone",
                     cb_kernel_name(kernel));
        return 0;
    }
    if (dtype == CB_DTYPE_FLOAT32 || dtype == CB_DTYPE_FLOAT64)
        return 1;
    if (reason && reason_size > 0)
        snprintf(reason, reason_size, "the host kernels compute in float32 and float64, not %s",
                 cb_dtype_name(dtype));
    return 0;
}

static void host_release(struct cb_kernels *set)
{
    if (!set->family)
        return;
    set->family->release(set);
    set->family = NULL;
    for (int i = 0; i < CB_HOST_BUFFERS; i++) {
        free(set->buffers[i]);
        set->buffers[i] = NULL;
    }
    cb_team_unpin(&set->team);
}

static int host_prepare(struct cb_kernels *set, enum cb_kernel kernel, enum cb_dtype dtype,
                        struct cb_kernel_work *work, struct cb_error *err)
{
    char reason[128];
    if (!host_supports(set, kernel, dtype, reason, sizeof(reason)))
        return cb_fail(err, CB_E_UNSUPPORTED, "%s", reason);

    host_release(set);
    int rc = cb_team_pin(&set->team, err);
    if (rc)
        return rc;
    set->family = families[kernel];
    set->kernel = kernel;
    set->dtype = dtype;
    struct cb_kernel_work made = {0};
    rc = set->family->prepare(set, &made, err);
    if (rc)
        goto err_release;
    *work = made;
    return 0;

err_release:
    host_release(set);
    return rc;
}

static int host_run(struct cb_kernels *set, int operations, double *elapsed_s, struct cb_error *err)
{
    if (!set->family)
        return cb_fail(err, CB_E_UNSUPPORTED, "no host kernel is prepared");
    double start_s = cb_clock_now_s();
    for (int i = 0; i < operations; i++)
        set->family->operate(set);
    *elapsed_s = cb_clock_now_s() - start_s;
    return 0;
}

static int host_verify(struct cb_kernels *set, uint64_t *wrong, struct cb_error *err)
{
    if (!set->family)
        return cb_fail(err, CB_E_UNSUPPORTED, "no host kernel is prepared");
    *wrong = set->family->verify(set);
    return 0;
}

static void host_close(struct cb_kernels *set)
{
    if (!set)
        return;
    host_release(set);
    cb_team_close(&set->team);
    free(set);
}

const struct cb_kernel_ops *cb_kernels_host(void)
{
    static const struct cb_kernel_ops ops = {
        .name = "host",
        .open = host_open,
        .supports = host_supports,
        .prepare = host_prepare,
        .run = host_run,
        .verify = host_verify,
        .release = host_release,
        .close = host_close,
    };
    return &ops;
}

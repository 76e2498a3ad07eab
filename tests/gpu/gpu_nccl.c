/* The NCCL transport on the GPUs at hand, without MPI: every op, checked element by element. Prints
 * one row of tab-separated values each:
 *
 *   nccl     VERSION  PATH
 *   collective  OP  DTYPE  RANKS  BYTES  SECONDS  WRONG
 *
 * Usage: gpu_nccl RANKS. With more ranks than GPUs they share one: NCCL is then told that each is
 * on a host of its own and talks through sockets, so only correctness means anything. Exit: 0 all
 * right, 1 something is wrong, 77 no GPU or no NCCL can be used here. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/device.h"
#include "tests/gpu/local_coordinator.h"
#include "transport/nccl_search.h"
#include "transport/nccl_transport.h"

/* LIMIT_S is what one call or operation may take. Two ranks on one card take turns on it: published
 * runs of such a pair show 4.4 ms for an all_reduce of any size up to 8 MiB and 6.6 ms for 16 MiB.
 */
enum { FAILED = 1, NOTHING_TO_TEST = 77, OPERATIONS = 5, LIMIT_S = 20 };

#define LARGE_BYTES ((uint64_t)16 << 20)

/* ---- one rank ---- */

struct rank {
    struct cb_group *group;
    struct cb_transport *transport;
    int index, size;
};

static bool report(const struct rank *rank, const char *what, int code, const struct cb_error *err)
{
    if (code)
        fprintf(stderr, "gpu_nccl: rank %d: %s: %s (%s) %s\n", rank->index, what, err->what,
                err->detail, err->hint);
    return code != CB_OK;
}

/* Whether the ranks can go on: after an error there is no communicator. *right becomes false when
 * an element is wrong; a step that is not in this library is neither. */
static bool try_step(struct rank *rank, enum cb_op op, enum cb_dtype dtype, uint64_t bytes,
                     bool *right)
{
    const struct cb_transport_ops *ops = &cb_transport_nccl;
    struct cb_step step = {.motion = CB_MOTION_COLLECTIVE, .op = op, .dtype = dtype};
    struct cb_error err;
    char reason[256];
    uint64_t wrong = 0;
    double elapsed_s = 0;
    cb_error_clear(&err);
    step.size_bytes = cb_op_usable_bytes(op, dtype, rank->size, bytes);
    if (step.size_bytes == 0)
        return true;
    if (!ops->supports(rank->transport, &step, reason, sizeof(reason))) {
        if (rank->index == 0)
            printf("skipped\t%s\t%s\t%s\n", cb_op_name(op), cb_dtype_name(dtype), reason);
        return true;
    }
    int rc = ops->prepare(rank->transport, &step, &err);
    if (!rc)
        rc = ops->verify(rank->transport, 3, &wrong, &err);
    if (!rc)
        rc = ops->run(rank->transport, OPERATIONS, &elapsed_s, &err);
    if (report(rank, cb_op_name(op), rc, &err))
        return false;
    double all_wrong = (double)wrong;
    cb_group_sum(rank->group, &all_wrong, 1, &err);
    if (rank->index == 0) {
        printf("collective\t%s\t%s\t%d\t%" PRIu64 "\t%.6g\t%.0f\n", cb_op_name(op),
               cb_dtype_name(dtype), rank->size, step.size_bytes, elapsed_s / OPERATIONS,
               all_wrong);
        fflush(stdout);
    }
    if (all_wrong > 0 && rank->index == 0)
        fprintf(stderr, "gpu_nccl: %s %s: %.0f elements wrong\n", cb_op_name(op),
                cb_dtype_name(dtype), all_wrong);
    *right = *right && all_wrong == 0;
    return true;
}

static bool try_all(struct rank *rank)
{
    static const enum cb_dtype dtypes[] = {
        CB_DTYPE_FLOAT32,  CB_DTYPE_FLOAT64,     CB_DTYPE_INT32,      CB_DTYPE_FLOAT16,
        CB_DTYPE_BFLOAT16, CB_DTYPE_FLOAT8_E4M3, CB_DTYPE_FLOAT8_E5M2};
    bool all_right = true, goes_on = true;
    for (int op = 0; goes_on && op < CB_OP_COUNT; op++) {
        goes_on = try_step(rank, (enum cb_op)op, CB_DTYPE_FLOAT32, LARGE_BYTES, &all_right);
        for (size_t d = 0; goes_on && d < sizeof(dtypes) / sizeof(dtypes[0]); d++)
            goes_on = try_step(rank, (enum cb_op)op, dtypes[d], 4096, &all_right);
    }
    return goes_on && all_right;
}

/* Ranks that share a GPU: NCCL takes them for ranks of different hosts, which is what its check for
 * two ranks on one device goes by, so that sockets are their only way. What else it could try on a
 * network is switched off: plugins of the cloud's, NVLink between hosts, sums in a switch that the
 * two ranks would both join, and the service that watches jobs. Set before NCCL is loaded. */
static void set_up_sharing(int index)
{
    static const struct {
        const char *name, *value;
    } settings[] = {{"NCCL_P2P_DISABLE", "1"},  {"NCCL_SHM_DISABLE", "1"},
                    {"NCCL_NET", "Socket"},     {"NCCL_NET_PLUGIN", "none"},
                    {"NCCL_MNNVL_ENABLE", "0"}, {"NCCL_NVLS_ENABLE", "0"},
                    {"NCCL_RAS_ENABLE", "0"}};
    char host[32];
    snprintf(host, sizeof(host), "rank-%d", index);
    setenv("NCCL_HOSTID", host, 1);
    setenv("NCCL_SOCKET_IFNAME", "lo", 0);
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        setenv(settings[i].name, settings[i].value, 1);
}

static int run_rank(struct cb_local_board *board, int index, int size)
{
    struct rank rank = {cb_local_group_make(board, index), NULL, index, size};
    struct cb_device_probe probe;
    struct cb_device device;
    struct cb_nccl_copy copy;
    struct cb_error err;
    int status = FAILED;
    cb_error_clear(&err);
    if (!rank.group)
        return FAILED;
    cb_device_probe(&probe);
    if (probe.count == 0) {
        fprintf(stderr, "gpu_nccl: %s\n", probe.reason);
        return NOTHING_TO_TEST;
    }
    bool shares = probe.count < size;
    if (shares)
        set_up_sharing(index);
    if (cb_nccl_find(NULL, &copy, &err)) {
        fprintf(stderr, "gpu_nccl: %s (%s)\n", err.what, err.detail);
        return NOTHING_TO_TEST;
    }
    /* A card that takes one process alone cannot be shared, which is no fault. */
    if (report(&rank, "bind", cb_device_bind(shares ? 0 : index, &device, &err), &err))
        return shares ? NOTHING_TO_TEST : FAILED;
    if (index == 0)
        printf("nccl\t%d\t%s\n", copy.version, copy.path);
    struct cb_transport_config config = {
        .device = &device, .nccl_path = copy.path, .time_limit_s = LIMIT_S};
    if (!report(&rank, "open",
                cb_transport_nccl.open(&config, rank.group, 2 * LARGE_BYTES, &rank.transport, &err),
                &err)) {
        status = try_all(&rank) ? 0 : FAILED;
        cb_transport_nccl.close(rank.transport);
    }
    cb_group_close(rank.group);
    return status;
}

/* ---- all of them ---- */

/* The worst of the ranks: a failure, else "nothing to test". A rank that ends badly takes the
 * others along, which might wait for it. */
static int wait_for_ranks(const pid_t *pids, int count)
{
    int worst = 0;
    for (int ended = 0; ended < count; ended++) {
        int status = 0;
        if (wait(&status) < 0)
            return FAILED;
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
        if (code != 0 && worst != FAILED)
            worst = code == NOTHING_TO_TEST ? NOTHING_TO_TEST : FAILED;
        for (int i = 0; code != 0 && i < count; i++)
            kill(pids[i], SIGTERM);
        if (code != 0) {
            while (wait(NULL) > 0)
                ;
            return worst;
        }
    }
    return worst;
}

int main(int argc, char **argv)
{
    int ranks = argc == 2 ? atoi(argv[1]) : 0;
    if (ranks < 1 || ranks > CB_LOCAL_RANKS) {
        fprintf(stderr, "usage: gpu_nccl RANKS (1 to %d)\n", CB_LOCAL_RANKS);
        return 2;
    }
    struct cb_local_board *board = cb_local_board_make(ranks);
    pid_t pids[CB_LOCAL_RANKS];
    if (!board)
        return FAILED;
    for (int i = 0; i < ranks; i++) {
        pids[i] = fork(); /* before anything of CUDA: it does not outlive a fork */
        if (pids[i] == 0)
            exit(run_rank(board, i, ranks));
        if (pids[i] < 0)
            return FAILED;
    }
    return wait_for_ranks(pids, ranks);
}

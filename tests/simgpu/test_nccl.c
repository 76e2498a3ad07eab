/* The simulated NCCL across processes: results that are worked out here, times that the model
 * gives, and what goes wrong on demand. Each test forks its ranks, before anything of CUDA is
 * touched. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nccl.h>

#include "cb_test.h"
#include "simgpu.h"

#define RANKS 4

/* In a rank a failed check ends the process; the parent's test then fails. */
#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "rank %d, line %d: %s (%s)\n", rank, __LINE__, #what,                  \
                    ncclGetLastError(NULL));                                                       \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

struct rank {
    ncclComm_t comm;
    cudaStream_t stream;
    float *send, *recv;
    float *host;
};

#define ROOM (1u << 16) /* floats */

static ncclUniqueId share_id(int rank, const int pipes[2])
{
    ncclUniqueId id;
    if (rank == 0) {
        CHECK(ncclGetUniqueId(&id) == ncclSuccess);
        for (int i = 1; i < RANKS; i++)
            CHECK(write(pipes[1], &id, sizeof(id)) == (ssize_t)sizeof(id));
    } else {
        CHECK(read(pipes[0], &id, sizeof(id)) == (ssize_t)sizeof(id));
    }
    return id;
}

static void open_rank(int rank, const int pipes[2], ncclConfig_t *config, struct rank *r)
{
    char text[8];
    snprintf(text, sizeof(text), "%d", rank);
    setenv("OMPI_COMM_WORLD_RANK", text, 1);
    CHECK(cudaSetDevice(rank) == cudaSuccess);
    CHECK(cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking) == cudaSuccess);
    CHECK(cudaMalloc((void **)&r->send, ROOM * sizeof(float)) == cudaSuccess);
    CHECK(cudaMalloc((void **)&r->recv, ROOM * sizeof(float)) == cudaSuccess);
    ncclResult_t result =
        ncclCommInitRankConfig(&r->comm, RANKS, share_id(rank, pipes), rank, config);
    while (result == ncclInProgress) {
        usleep(1000);
        CHECK(ncclCommGetAsyncError(r->comm, &result) == ncclSuccess);
    }
    CHECK(result == ncclSuccess);
}

/* Forks RANKS processes of body; all must leave with 0, those in killed by a signal. */
static void in_ranks(void (*body)(int rank, const int pipes[2]), int killed)
{
    int pipes[2];
    pid_t children[RANKS];
    assert_int_equal(pipe(pipes), 0);
    fflush(NULL);
    for (int rank = 0; rank < RANKS; rank++) {
        children[rank] = fork();
        if (children[rank] == 0) {
            alarm(60);
            body(rank, pipes);
            _exit(0);
        }
    }
    int bad = 0;
    for (int rank = 0; rank < RANKS; rank++) {
        int status;
        assert_int_equal(waitpid(children[rank], &status, 0), children[rank]);
        bad += (rank == killed) ? !WIFSIGNALED(status) : status != 0;
    }
    close(pipes[0]);
    close(pipes[1]);
    assert_int_equal(bad, 0);
}

static void fill(struct rank *r, int rank, size_t count)
{
    for (size_t i = 0; i < count; i++)
        r->send[i] = (float)(rank + 1) * (float)(i % 1000);
}

/* What fill multiplies by on that rank. */
static float from_rank(size_t rank)
{
    return (float)(rank + 1);
}

static void all_operations(int rank, const int pipes[2])
{
    struct rank r;
    const size_t n = 1003; /* not a multiple of the ranks */
    open_rank(rank, pipes, NULL, &r);

    fill(&r, rank, n);
    CHECK(ncclAllReduce(r.send, r.recv, n, ncclFloat32, ncclSum, r.comm, r.stream) == ncclSuccess);
    CHECK(cudaStreamSynchronize(r.stream) == cudaSuccess);
    for (size_t i = 0; i < n; i++)
        CHECK(r.recv[i] == 10 * (float)(i % 1000));
    CHECK(ncclAllReduce(r.send, r.send, n, ncclFloat32, ncclMax, r.comm, r.stream) == ncclSuccess);
    CHECK(cudaStreamSynchronize(r.stream) == cudaSuccess);
    for (size_t i = 0; i < n; i++)
        CHECK(r.send[i] == 4 * (float)(i % 1000));

    fill(&r, rank, n);
    CHECK(ncclAllGather(r.send, r.recv, n, ncclFloat32, r.comm, r.stream) == ncclSuccess);
    CHECK(cudaStreamSynchronize(r.stream) == cudaSuccess);
    for (size_t i = 0; i < RANKS * n; i++)
        CHECK(r.recv[i] == from_rank(i / n) * (float)(i % n % 1000));

    fill(&r, rank, RANKS * n);
    CHECK(ncclReduceScatter(r.send, r.recv, n, ncclFloat32, ncclSum, r.comm, r.stream) ==
          ncclSuccess);
    CHECK(cudaStreamSynchronize(r.stream) == cudaSuccess);
    for (size_t i = 0; i < n; i++)
        CHECK(r.recv[i] == 10 * (float)(((size_t)rank * n + i) % 1000));

    CHECK(ncclBroadcast(r.send, r.recv, n, ncclFloat32, 2, r.comm, r.stream) == ncclSuccess);
    CHECK(cudaStreamSynchronize(r.stream) == cudaSuccess);
    for (size_t i = 0; i < n; i++)
        CHECK(r.recv[i] == 3 * (float)(i % 1000));

    CHECK(ncclAlltoAll(r.send, r.recv, n, ncclFloat32, r.comm, r.stream) == ncclSuccess);
    CHECK(cudaStreamSynchronize(r.stream) == cudaSuccess);
    for (size_t i = 0; i < RANKS * n; i++)
        CHECK(r.recv[i] == from_rank(i / n) * (float)(((size_t)rank * n + i % n) % 1000));

    /* a ring, and to itself */
    CHECK(ncclGroupStart() == ncclSuccess);
    CHECK(ncclSend(r.send, n, ncclFloat32, (rank + 1) % RANKS, r.comm, r.stream) == ncclSuccess);
    CHECK(ncclRecv(r.recv, n, ncclFloat32, (rank + RANKS - 1) % RANKS, r.comm, r.stream) ==
          ncclSuccess);
    CHECK(ncclGroupEnd() == ncclSuccess);
    CHECK(cudaStreamSynchronize(r.stream) == cudaSuccess);
    for (size_t i = 0; i < n; i++)
        CHECK(r.recv[i] == (float)((rank + RANKS - 1) % RANKS + 1) * (float)(i % 1000));

    CHECK(ncclAllReduce(r.send, r.recv, ROOM + 1, ncclFloat32, ncclSum, r.comm, r.stream) ==
          ncclInvalidArgument); /* beyond the buffer */
    CHECK(ncclCommDestroy(r.comm) == ncclSuccess);
}

static void test_operations(void **state)
{
    (void)state;
    in_ranks(all_operations, -1);
}

/* 10 all_reduces of 64 KiB: each collective_s + 2 log2(4) hops + 2 x 3/4 x bytes / rate. One rank
 * comes a second (of simulated time) late, and all wait for it. */
static void timed(int rank, const int pipes[2])
{
    struct rank r;
    cudaEvent_t start, end;
    float ms;
    const double each_s = 8e-6 + 4 * 1.5e-6 + 1.5 * 65536 / 232e9;
    open_rank(rank, pipes, NULL, &r);
    CHECK(cudaEventCreate(&start) == cudaSuccess && cudaEventCreate(&end) == cudaSuccess);
    if (rank == 3)
        simgpu_host_advance(1.0);
    fill(&r, rank, 16384);
    CHECK(cudaEventRecord(start, r.stream) == cudaSuccess);
    for (int i = 0; i < 10; i++)
        CHECK(ncclAllReduce(r.send, r.recv, 16384, ncclFloat32, ncclSum, r.comm, r.stream) ==
              ncclSuccess);
    CHECK(cudaEventRecord(end, r.stream) == cudaSuccess);
    CHECK(cudaEventSynchronize(end) == cudaSuccess);
    CHECK(cudaEventElapsedTime(&ms, start, end) == cudaSuccess);
    double expected_s = 10 * each_s + 1e-6 + (rank == 3 ? 0 : 1.0);
    CHECK(fabs((double)ms * 1e-3 - expected_s) < 1e-6 * expected_s);
    CHECK(r.recv[16383] == 10 * (float)(16383 % 1000));
    CHECK(ncclCommDestroy(r.comm) == ncclSuccess);
}

static void test_time(void **state)
{
    (void)state;
    in_ranks(timed, -1);
}

/* Even and odd ranks on their own, in reversed order; without blocking. */
static void split(int rank, const int pipes[2])
{
    struct rank r;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclComm_t half = NULL;
    ncclResult_t result;
    int size = 0, place = -1, polls = 0;
    config.blocking = 0;
    open_rank(rank, pipes, &config, &r);
    result = ncclCommSplit(r.comm, rank % 2, -rank, &half, &config);
    CHECK(result == ncclInProgress || result == ncclSuccess);
    CHECK(half != NULL);
    do {
        usleep(1000);
        CHECK(ncclCommGetAsyncError(half, &result) == ncclSuccess);
    } while (result == ncclInProgress);
    CHECK(result == ncclSuccess);
    CHECK(ncclCommCount(half, &size) == ncclSuccess && size == 2);
    CHECK(ncclCommUserRank(half, &place) == ncclSuccess && place == (rank < 2));

    fill(&r, rank, 100);
    result = ncclAllReduce(r.send, r.recv, 100, ncclFloat32, ncclSum, half, r.stream);
    CHECK(result == ncclInProgress); /* as the first of a communicator that does not block may */
    CHECK(ncclAllReduce(r.send, r.recv, 100, ncclFloat32, ncclSum, half, r.stream) ==
          ncclInvalidArgument);
    for (; result == ncclInProgress; polls++)
        CHECK(ncclCommGetAsyncError(half, &result) == ncclSuccess);
    CHECK(result == ncclSuccess && polls > 1);
    CHECK(cudaStreamSynchronize(r.stream) == cudaSuccess);
    for (size_t i = 0; i < 100; i++)
        CHECK(r.recv[i] == (rank % 2 == 0 ? 4 : 6) * (float)i);
    CHECK(ncclCommDestroy(half) == ncclSuccess);
    CHECK(ncclCommDestroy(r.comm) == ncclSuccess);
}

static void test_split(void **state)
{
    (void)state;
    in_ranks(split, -1);
}

/* A rank dies: the others learn it by asking, and an abort frees the stream. */
static void lose_one(int rank, const int pipes[2])
{
    struct rank r;
    ncclResult_t result = ncclSuccess;
    open_rank(rank, pipes, NULL, &r);
    CHECK(ncclAllReduce(r.send, r.recv, 100, ncclFloat32, ncclSum, r.comm, r.stream) ==
          ncclSuccess);
    CHECK(cudaStreamSynchronize(r.stream) == cudaSuccess);
    CHECK(ncclAllReduce(r.send, r.recv, 100, ncclFloat32, ncclSum, r.comm, r.stream) ==
          ncclSuccess);
    while (result == ncclSuccess) {
        usleep(1000);
        CHECK(cudaStreamQuery(r.stream) == cudaErrorNotReady);
        CHECK(ncclCommGetAsyncError(r.comm, &result) == ncclSuccess);
    }
    CHECK(result == ncclRemoteError);
    CHECK(strstr(ncclGetLastError(r.comm), "remote peer") != NULL);
    CHECK(ncclCommAbort(r.comm) == ncclSuccess);
    CHECK(cudaStreamSynchronize(r.stream) == cudaSuccess);
}

static void test_dead_peer(void **state)
{
    (void)state;
    setenv("SIMGPU_FAULT", "die:rank=2,nth=2", 1);
    in_ranks(lose_one, 2);
    unsetenv("SIMGPU_FAULT");
}

/* A rank that never arrives says nothing: only the caller's own patience ends it. */
static void wait_in_vain(int rank, const int pipes[2])
{
    struct rank r;
    ncclResult_t result = ncclSuccess;
    open_rank(rank, pipes, NULL, &r);
    CHECK(ncclAllReduce(r.send, r.recv, 100, ncclFloat32, ncclSum, r.comm, r.stream) ==
          ncclSuccess);
    usleep(100000);
    CHECK(cudaStreamQuery(r.stream) == cudaErrorNotReady);
    CHECK(ncclCommGetAsyncError(r.comm, &result) == ncclSuccess && result == ncclSuccess);
    usleep(100000); /* all have looked */
    CHECK(ncclCommAbort(r.comm) == ncclSuccess);
    CHECK(cudaStreamSynchronize(r.stream) == cudaSuccess);
}

static void test_missing_rank(void **state)
{
    (void)state;
    setenv("SIMGPU_FAULT", "stuck:rank=1", 1);
    in_ranks(wait_in_vain, -1);
    unsetenv("SIMGPU_FAULT");
}

static void corrupted(int rank, const int pipes[2])
{
    struct rank r;
    open_rank(rank, pipes, NULL, &r);
    fill(&r, rank, 100);
    CHECK(ncclAllReduce(r.send, r.recv, 100, ncclFloat32, ncclSum, r.comm, r.stream) ==
          ncclSuccess);
    CHECK(cudaStreamSynchronize(r.stream) == cudaSuccess);
    int wrong = 0;
    for (size_t i = 0; i < 100; i++)
        wrong += r.recv[i] != 10 * (float)i;
    CHECK(wrong == (rank == 0));
    CHECK(ncclCommDestroy(r.comm) == ncclSuccess);
}

static void test_corruption(void **state)
{
    (void)state;
    setenv("SIMGPU_FAULT", "corrupt:rank=0", 1);
    in_ranks(corrupted, -1);
    unsetenv("SIMGPU_FAULT");
}

static void same_device(int rank, const int pipes[2])
{
    ncclComm_t comm;
    ncclUniqueId id = share_id(rank, pipes);
    CHECK(cudaSetDevice(0) == cudaSuccess);
    CHECK(ncclCommInitRank(&comm, RANKS, id, rank) == ncclInvalidUsage);
    CHECK(strstr(ncclGetLastError(NULL), "Duplicate GPU") != NULL);
}

static void test_duplicate(void **state)
{
    (void)state;
    in_ranks(same_device, -1);
}

static void other_version(int rank, const int pipes[2])
{
    char text[8];
    ncclComm_t comm;
    snprintf(text, sizeof(text), "%d", rank);
    setenv("OMPI_COMM_WORLD_RANK", text, 1);
    ncclUniqueId id = share_id(rank, pipes);
    CHECK(cudaSetDevice(rank) == cudaSuccess);
    CHECK(ncclCommInitRank(&comm, RANKS, id, rank) == ncclInvalidUsage);
    CHECK(strstr(ncclGetLastError(NULL), "Mismatched NCCL version") != NULL);
}

static void test_version_mismatch(void **state)
{
    (void)state;
    setenv("SIMGPU_FAULT", "nccl_version:rank=3,version=22105", 1);
    in_ranks(other_version, -1);
    unsetenv("SIMGPU_FAULT");
}

/* What the file holds: how often a text stands in it. */
static int count_in(int rank, const char *path, const char *wanted)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "r");
    int count = 0;
    CHECK(file != NULL);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    for (const char *at = text; (at = strstr(at, wanted)) != NULL; at++)
        count++;
    return count;
}

/* The log is opened anew, empty, by the first message after a reset; rank 0 alone names choices. */
static void named_choices(int rank, const int pipes[2])
{
    struct rank r;
    const size_t n = 1003;
    void (*reset)(void);
    char path[] = "/tmp/simgpu-nccl-log-XXXXXX";
    *(void **)&reset = dlsym(RTLD_DEFAULT, "ncclResetDebugInit"); /* deprecated in nccl.h */
    CHECK(reset != NULL);
    CHECK(mkstemp(path) >= 0);
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("NCCL_DEBUG_SUBSYS", "INIT", 1);
    setenv("NCCL_DEBUG_FILE", path, 1);
    open_rank(rank, pipes, NULL, &r);
    CHECK(ncclAllReduce(r.send, r.recv, n, ncclFloat32, ncclSum, r.comm, r.stream) == ncclSuccess);
    CHECK(count_in(rank, path, "Init COMPLETE") == 1);
    CHECK(count_in(rank, path, "Bytes -> Algo") == 0);

    setenv("NCCL_DEBUG_SUBSYS", "NET,TUNING", 1);
    reset();
    CHECK(count_in(rank, path, "Init COMPLETE") == 1);
    CHECK(ncclAllReduce(r.send, r.recv, n, ncclFloat32, ncclSum, r.comm, r.stream) == ncclSuccess);
    CHECK(ncclBroadcast(r.send, r.recv, n, ncclFloat32, 0, r.comm, r.stream) == ncclSuccess);
    CHECK(count_in(rank, path, "Init COMPLETE") == 0);
    CHECK(count_in(rank, path, "Bytes -> Algo") == (rank == 0 ? 2 : 0));
    CHECK(count_in(rank, path,
                   "AllReduce: 4012 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}") ==
          (rank == 0));

    setenv("NCCL_DEBUG_SUBSYS", "^TUNING", 1);
    reset();
    CHECK(ncclAllReduce(r.send, r.recv, n, ncclFloat32, ncclSum, r.comm, r.stream) == ncclSuccess);
    CHECK(count_in(rank, path, "Bytes -> Algo") == 0);
    CHECK(count_in(rank, path, "AllReduce: sendbuff") == 1);
    CHECK(cudaStreamSynchronize(r.stream) == cudaSuccess);
    unlink(path);
}

static void test_named_choices(void **state)
{
    (void)state;
    in_ranks(named_choices, -1);
}

int main(void)
{
    setenv("NCCL_SOCKET_IFNAME", "lo", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations),    cmocka_unit_test(test_time),
        cmocka_unit_test(test_split),         cmocka_unit_test(test_dead_peer),
        cmocka_unit_test(test_missing_rank),  cmocka_unit_test(test_corruption),
        cmocka_unit_test(test_duplicate),     cmocka_unit_test(test_version_mismatch),
        cmocka_unit_test(test_named_choices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

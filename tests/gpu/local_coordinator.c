/* The job's control plane (src/transport/coordinator.h) for processes that one process has forked:
 * they meet in shared memory. It stands in for MPI where there is none, and where several ranks
 * must share a GPU. Meant for a few ranks on one host and small messages. */
#define _GNU_SOURCE
#include "tests/gpu/local_coordinator.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "transport/coordinator.h"

#define SLOT_BYTES 65536

struct cb_local_board {
    pthread_barrier_t barrier;
    int size;
    char slots[CB_LOCAL_RANKS][SLOT_BYTES];
};

struct cb_group {
    struct cb_local_board *board;
    int rank;
};

struct cb_local_board *cb_local_board_make(int ranks)
{
    struct cb_local_board *board =
        mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_t shared;
    if (board == MAP_FAILED || ranks > CB_LOCAL_RANKS)
        return NULL;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&board->barrier, &shared, (unsigned)ranks);
    board->size = ranks;
    return board;
}

struct cb_group *cb_local_group_make(struct cb_local_board *board, int rank)
{
    struct cb_group *group = calloc(1, sizeof(*group));
    if (group)
        *group = (struct cb_group){board, rank};
    return group;
}

int cb_group_rank(const struct cb_group *group)
{
    return group->rank;
}

int cb_group_size(const struct cb_group *group)
{
    return group->board->size;
}

void cb_group_close(struct cb_group *group)
{
    free(group);
}

int cb_group_barrier(struct cb_group *group, struct cb_error *err)
{
    (void)err;
    pthread_barrier_wait(&group->board->barrier);
    return CB_OK;
}

int cb_group_wait(struct cb_group *group, struct cb_error *err)
{
    return cb_group_barrier(group, err);
}

/* Puts one rank's bytes where all can read them; everybody is there when it returns. */
static int post(struct cb_group *group, const void *data, size_t size_bytes, struct cb_error *err)
{
    if (size_bytes > SLOT_BYTES)
        return cb_fail(err, CB_E_UNSUPPORTED, "a message of %zu bytes does not fit", size_bytes);
    memcpy(group->board->slots[group->rank], data, size_bytes);
    return cb_group_barrier(group, err);
}

static int combine(struct cb_group *group, double *values, size_t count, int is_sum,
                   struct cb_error *err)
{
    int rc = post(group, values, count * sizeof(*values), err);
    if (rc)
        return rc;
    for (size_t i = 0; i < count; i++)
        for (int r = 0; r < group->board->size; r++) {
            double other = ((const double *)(const void *)group->board->slots[r])[i];
            if (is_sum)
                values[i] = r == 0 ? other : values[i] + other;
            else if (r == 0 || other > values[i])
                values[i] = other;
        }
    return cb_group_barrier(group, err);
}

int cb_group_max(struct cb_group *group, double *values, size_t count, struct cb_error *err)
{
    return combine(group, values, count, 0, err);
}

int cb_group_sum(struct cb_group *group, double *values, size_t count, struct cb_error *err)
{
    return combine(group, values, count, 1, err);
}

int cb_group_broadcast(struct cb_group *group, void *data, size_t size_bytes, struct cb_error *err)
{
    int rc = post(group, data, size_bytes, err);
    if (rc)
        return rc;
    memcpy(data, group->board->slots[0], size_bytes);
    return cb_group_barrier(group, err);
}

int cb_group_gather(struct cb_group *group, const void *mine, size_t size_bytes, void *all,
                    struct cb_error *err)
{
    int rc = post(group, mine, size_bytes, err);
    if (rc)
        return rc;
    for (int r = 0; group->rank == 0 && r < group->board->size; r++)
        memcpy((char *)all + (size_t)r * size_bytes, group->board->slots[r], size_bytes);
    return cb_group_barrier(group, err);
}

int cb_group_agree(struct cb_group *group, int code, struct cb_error *err)
{
    struct cb_error mine;
    cb_error_clear(&mine);
    if (code && err)
        mine = *err;
    mine.code = code;
    int rc = post(group, &mine, sizeof(mine), err);
    if (rc)
        return rc;
    int agreed = CB_OK;
    for (int r = 0; !agreed && r < group->board->size; r++) {
        struct cb_error theirs;
        memcpy(&theirs, group->board->slots[r], sizeof(theirs));
        agreed = theirs.code;
        if (agreed && err) {
            *err = theirs;
            err->rank = r;
        }
    }
    cb_group_barrier(group, err);
    return agreed;
}

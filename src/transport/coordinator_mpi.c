#include "transport/coordinator.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "transport/mpi_internal.h"

/* Distinguishes the groups of concurrent pairs from each other and from nothing else. */
enum { PAIR_TAG = 77 };

int cb_mpi_check(int mpi_code, const char *call, struct cb_error *err)
{
    if (mpi_code == MPI_SUCCESS)
        return CB_OK;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(mpi_code, text, &length);
    cb_fail(err, CB_E_MEASURE, "%s failed", call);
    cb_error_set_detail(err, "%.*s", length, text);
    return CB_E_MEASURE;
}

/* ---- starting and stopping ---- */

/* Wraps a communicator that the caller has just made; takes it over. */
static int group_create(MPI_Comm comm, struct cb_group **out, struct cb_error *err)
{
    struct cb_group *group = calloc(1, sizeof(*group));
    if (!group)
        return cb_fail(err, CB_E_MEMORY, "no memory for a group of ranks");
    group->comm = comm;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &group->rank);
    MPI_Comm_size(comm, &group->size);
    *out = group;
    return CB_OK;
}

/* The first line of the library's own description, cut at its package remark. */
static void describe_library(char *text, size_t size_bytes)
{
    char full[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(full, &length);
    full[strcspn(full, ",\n")] = '\0';
    snprintf(text, size_bytes, "%s", full);
}

static int split_by_host(struct cb_coordinator *c, struct cb_error *err)
{
    MPI_Comm node_comm, leaders_comm;
    int rc = cb_mpi_check(MPI_Comm_split_type(c->world->comm, MPI_COMM_TYPE_SHARED, c->rank,
                                              MPI_INFO_NULL, &node_comm),
                          "MPI_Comm_split_type", err);
    if (rc)
        return rc;
    rc = group_create(node_comm, &c->node_group, err);
    if (rc)
        return rc;
    c->local_rank = c->node_group->rank;
    c->local_size = c->node_group->size;

    int color = c->local_rank == 0 ? 0 : MPI_UNDEFINED;
    rc = cb_mpi_check(MPI_Comm_split(c->world->comm, color, c->rank, &leaders_comm),
                      "MPI_Comm_split", err);
    if (rc)
        return rc;
    int place[2] = {0, 0};
    if (leaders_comm != MPI_COMM_NULL) {
        rc = group_create(leaders_comm, &c->leaders, err);
        if (rc)
            return rc;
        place[0] = c->leaders->rank;
        place[1] = c->leaders->size;
    }
    rc = cb_group_broadcast(c->node_group, place, sizeof(place), err);
    c->node = place[0];
    c->node_count = place[1];
    return rc;
}

int cb_coordinator_start(struct cb_coordinator *coordinator, struct cb_error *err)
{
    struct cb_coordinator c = {0};
    int provided = 0;
    /* Open MPI aborts by itself when this fails, after saying why. */
    int rc = cb_mpi_check(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided),
                          "MPI_Init_thread", err);
    if (rc)
        return rc;
    describe_library(c.library, sizeof(c.library));
    MPI_Comm world_comm;
    rc = cb_mpi_check(MPI_Comm_dup(MPI_COMM_WORLD, &world_comm), "MPI_Comm_dup", err);
    if (!rc)
        rc = group_create(world_comm, &c.world, err);
    if (!rc) {
        c.rank = c.world->rank;
        c.size = c.world->size;
        rc = split_by_host(&c, err);
    }
    if (rc) {
        cb_coordinator_stop(&c);
        return rc;
    }
    *coordinator = c;
    return CB_OK;
}

void cb_coordinator_stop(struct cb_coordinator *coordinator)
{
    cb_group_close(coordinator->leaders);
    cb_group_close(coordinator->node_group);
    cb_group_close(coordinator->world);
    memset(coordinator, 0, sizeof(*coordinator));
    MPI_Finalize();
}

/* ---- groups ---- */

int cb_group_rank(const struct cb_group *group)
{
    return group->rank;
}

int cb_group_size(const struct cb_group *group)
{
    return group->size;
}

int cb_group_open_pair(const struct cb_coordinator *coordinator, int a, int b,
                       struct cb_group **out, struct cb_error *err)
{
    MPI_Group everybody, both;
    const int members[2] = {a, b};
    int rc =
        cb_mpi_check(MPI_Comm_group(coordinator->world->comm, &everybody), "MPI_Comm_group", err);
    if (rc)
        return rc;
    rc = cb_mpi_check(MPI_Group_incl(everybody, 2, members, &both), "MPI_Group_incl", err);
    MPI_Group_free(&everybody);
    if (rc)
        return rc;
    MPI_Comm comm;
    rc = cb_mpi_check(MPI_Comm_create_group(coordinator->world->comm, both, PAIR_TAG, &comm),
                      "MPI_Comm_create_group", err);
    MPI_Group_free(&both);
    return rc ? rc : group_create(comm, out, err);
}

void cb_group_close(struct cb_group *group)
{
    if (!group)
        return;
    MPI_Comm_free(&group->comm);
    free(group);
}

/* ---- exchanges ---- */

int cb_group_barrier(struct cb_group *group, struct cb_error *err)
{
    return cb_mpi_check(MPI_Barrier(group->comm), "MPI_Barrier", err);
}

int cb_group_wait(struct cb_group *group, struct cb_error *err)
{
    const long first_pause_ns = 20 * 1000L, longest_pause_ns = 1000 * 1000L;
    MPI_Request request;
    int rc = cb_mpi_check(MPI_Ibarrier(group->comm, &request), "MPI_Ibarrier", err);
    if (rc)
        return rc;
    for (long pause_ns = first_pause_ns;;) {
        int done = 0;
        rc = cb_mpi_check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test", err);
        if (rc || done)
            return rc;
        struct timespec pause = {.tv_nsec = pause_ns};
        nanosleep(&pause, NULL);
        if (pause_ns < longest_pause_ns)
            pause_ns *= 2;
    }
}

int cb_group_max(struct cb_group *group, double *values, size_t count, struct cb_error *err)
{
    return cb_mpi_check(
        MPI_Allreduce(MPI_IN_PLACE, values, (int)count, MPI_DOUBLE, MPI_MAX, group->comm),
        "MPI_Allreduce", err);
}

int cb_group_sum(struct cb_group *group, double *values, size_t count, struct cb_error *err)
{
    return cb_mpi_check(
        MPI_Allreduce(MPI_IN_PLACE, values, (int)count, MPI_DOUBLE, MPI_SUM, group->comm),
        "MPI_Allreduce", err);
}

int cb_group_broadcast(struct cb_group *group, void *data, size_t size_bytes, struct cb_error *err)
{
    return cb_mpi_check(MPI_Bcast(data, (int)size_bytes, MPI_BYTE, 0, group->comm), "MPI_Bcast",
                        err);
}

int cb_group_gather(struct cb_group *group, const void *mine, size_t size_bytes, void *all,
                    struct cb_error *err)
{
    return cb_mpi_check(
        MPI_Gather(mine, (int)size_bytes, MPI_BYTE, all, (int)size_bytes, MPI_BYTE, 0, group->comm),
        "MPI_Gather", err);
}

int cb_group_agree(struct cb_group *group, int code, struct cb_error *err)
{
    int place = group->rank + (code != CB_OK ? err->follows * group->size : 0);
    int lowest = code == CB_OK ? INT_MAX : place;
    int mpi_code = MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, group->comm);
    if (mpi_code != MPI_SUCCESS)
        return cb_mpi_check(mpi_code, "MPI_Allreduce", err);
    if (lowest == INT_MAX)
        return CB_OK;
    struct cb_error first = *err;
    if (code != CB_OK && lowest == place) {
        first.code = code;
        /* A smaller group may have agreed before, and then it is known whose error this is. */
        if (!first.host[0]) {
            MPI_Comm_rank(MPI_COMM_WORLD, &first.rank);
            gethostname(first.host, sizeof(first.host) - 1);
        }
    }
    int rc =
        cb_mpi_check(MPI_Bcast(&first, sizeof(first), MPI_BYTE, lowest % group->size, group->comm),
                     "MPI_Bcast", err);
    if (rc)
        return rc;
    *err = first;
    return first.code;
}

/* The job's control plane: who takes part, and the few exchanges by which ranks agree. Separate
 * from the transport that is measured, so that NCCL runs use the same one. */
#ifndef CB_TRANSPORT_COORDINATOR_H
#define CB_TRANSPORT_COORDINATOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct cb_group; /* a set of ranks; opaque, owned by the coordinator that made it */

struct cb_coordinator {
    int rank, size;
    int local_rank, local_size;  /* among the ranks of this host */
    int node, node_count;        /* hosts numbered by their lowest rank */
    struct cb_group *world;      /* every rank; borrowed */
    struct cb_group *node_group; /* the ranks of this host; borrowed */
    struct cb_group *leaders;    /* one rank per host; NULL on the others; borrowed */
    char library[128];           /* "Open MPI 4.1.4", or "none (built without MPI)" */
};

/* Starts the job's control plane (MPI_Init). Collective over the job. On error nothing is left
 * running. argc/argv are handed to MPI and may be NULL. */
int cb_coordinator_start(struct cb_coordinator *coordinator, struct cb_error *err);

/* Ends it (MPI_Finalize). Collective; the struct is empty afterwards. */
void cb_coordinator_stop(struct cb_coordinator *coordinator);

int cb_group_rank(const struct cb_group *group);
int cb_group_size(const struct cb_group *group);

/* A group of two world ranks, a and b (a is rank 0 in it). Collective over those two only. */
int cb_group_open_pair(const struct cb_coordinator *coordinator, int a, int b,
                       struct cb_group **out, struct cb_error *err);
void cb_group_close(struct cb_group *group);

/* Collective over the group, all of them. barrier spins (its exit skew is what samples see);
 * wait sleeps between looks, for ranks that have nothing to do while others measure. */
int cb_group_barrier(struct cb_group *group, struct cb_error *err);
int cb_group_wait(struct cb_group *group, struct cb_error *err);

/* Element-wise maximum over the group, in place, the same answer on every rank. */
int cb_group_max(struct cb_group *group, double *values, size_t count, struct cb_error *err);
int cb_group_sum(struct cb_group *group, double *values, size_t count, struct cb_error *err);

int cb_group_broadcast(struct cb_group *group, void *data, size_t size_bytes, struct cb_error *err);

/* Every rank gives size_bytes; rank 0 of the group gets size x size_bytes in all (may be NULL on
 * the others). */
int cb_group_gather(struct cb_group *group, const void *mine, size_t size_bytes, void *all,
                    struct cb_error *err);

/* The ranks agree on whether a phase worked: if any gives a code other than CB_OK, every rank
 * returns the code of the lowest such rank among those whose error is nearest to its cause (enum
 * cb_follows) and gets its error, with host and rank (in the job), which an agreement in a smaller
 * group may have filled in before. */
int cb_group_agree(struct cb_group *group, int code, struct cb_error *err);

#endif

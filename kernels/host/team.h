/* The threads that host kernels run on: one OpenMP team, each member pinned to its own CPU while a
 * kernel is prepared, and put back where it was afterwards. */
#ifndef CB_KERNELS_HOST_TEAM_H
#define CB_KERNELS_HOST_TEAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct cb_cpu_mask;

struct cb_team {
    int threads; /* what OpenMP grants, at most one per CPU asked for: use as num_threads(...) */
    int *cpus;   /* one per thread; NULL: the team is never pinned */
    struct cb_cpu_mask *saved; /* where each thread was before pin */
    bool pinned;
    int omp_dynamic, omp_max_threads; /* the caller's settings, while pinned */
};

/* Makes a team of one thread per CPU (cpus: operating-system indices, copied; the same CPU may come
 * more than once), or of one thread that is never pinned when cpu_count is 0. Every CPU is tried,
 * nothing stays pinned. Errors: CB_E_MEMORY; CB_E_MEASURE for a CPU that this process may not use.
 * On error team is untouched. */
int cb_team_open(const int *cpus, size_t cpu_count, struct cb_team *team, struct cb_error *err);
void cb_team_close(struct cb_team *team);

/* Pins each thread, the calling one (thread 0) included, and makes OpenMP teams of this thread
 * exactly `threads` strong; unpin undoes both. Parallel regions between the two must be opened from
 * this thread with num_threads(team->threads), or OpenMP may replace threads by unpinned ones. */
int cb_team_pin(struct cb_team *team, struct cb_error *err);
void cb_team_unpin(struct cb_team *team);

/* Between pin and unpin: lets the calling thread run on any CPU of the team, or on its own again.
 * Threads that a library starts inherit the mask of the thread that calls it, so the first call
 * into a library with a pool of its own is made wide. */
void cb_team_widen(const struct cb_team *team);
void cb_team_narrow(const struct cb_team *team);

#endif

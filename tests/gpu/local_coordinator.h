/* Groups of forked processes, for the functions of transport/coordinator.h that are about groups.
 */
#ifndef CB_TESTS_GPU_LOCAL_COORDINATOR_H
#define CB_TESTS_GPU_LOCAL_COORDINATOR_H

#define CB_LOCAL_RANKS 8

struct cb_group;
struct cb_local_board;

/* Shared memory for ranks processes (at most CB_LOCAL_RANKS), made before they are forked; it lasts
 * as long as they do. NULL when there is none. */
struct cb_local_board *cb_local_board_make(int ranks);

/* This process's group: call it once in each. Freed by cb_group_close. NULL without memory. */
struct cb_group *cb_local_group_make(struct cb_local_board *board, int rank);

#endif

/* From one value on each rank to an array on the first. */
#ifndef CB_MEASURE_GATHER_H
#define CB_MEASURE_GATHER_H

#include "base/vec.h"
#include "transport/coordinator.h"

/* Appends *mine of every rank of the group, in rank order, to the CB_VEC of the same type on the
 * group's first rank; the vectors of the others stay as they are. Collective over the group; every
 * rank gets the same code: 0, CB_E_MEMORY, or what the exchange said. (The assignment is never
 * evaluated: it makes the compiler compare the types.) */
#define cb_gather_append(group, mine, vec, err)                                                    \
    (sizeof(*(mine) = *(vec)->items) == 0                                                          \
         ? 0                                                                                       \
         : cb_gather_raw(group, mine, sizeof(*(mine)), (void **)&(vec)->items, &(vec)->capacity,   \
                         &(vec)->count, err))

int cb_gather_raw(struct cb_group *group, const void *mine, size_t size_bytes, void **items,
                  size_t *capacity, size_t *count, struct cb_error *err);

/* The same for an array on every rank of the group: *all holds what each of them gave, in rank
 * order; the caller frees it. */
int cb_gather_everywhere(struct cb_group *group, const void *mine, size_t size_bytes, void **all,
                         struct cb_error *err);

#endif

/* A growable array of any type: `CB_VEC(struct x) rows;` zero-initialised is empty. */
#ifndef CB_BASE_VEC_H
#define CB_BASE_VEC_H

#include <stddef.h>

#define CB_VEC(type)                                                                               \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count;                                                                              \
        size_t capacity;                                                                           \
    }

/* Makes room for more items. Returns 0, or CB_E_MEMORY with the array untouched. */
#define cb_vec_reserve(vec, more)                                                                  \
    cb_vec_grow((void **)&(vec)->items, &(vec)->capacity, (vec)->count, more, sizeof(*(vec)->items))
#define cb_vec_reserve_one(vec) cb_vec_reserve(vec, 1)

/* Appends a zeroed item and yields a pointer to it (owned by the array, valid until the next
 * append), or NULL when there is no memory. */
#define cb_vec_add(vec)                                                                            \
    (cb_vec_reserve_one(vec) ? NULL                                                                \
                             : cb_vec_zero(&(vec)->items[(vec)->count++], sizeof(*(vec)->items)))

/* Frees the items; the array is empty and usable again. */
#define cb_vec_fini(vec)                                                                           \
    do {                                                                                           \
        cb_vec_free((void **)&(vec)->items);                                                       \
        (vec)->count = (vec)->capacity = 0;                                                        \
    } while (0)

int cb_vec_grow(void **items, size_t *capacity, size_t count, size_t more, size_t item_size_bytes);
void *cb_vec_zero(void *item, size_t item_size_bytes);
void cb_vec_free(void **items);

#endif

#include "base/vec.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

int cb_vec_grow(void **items, size_t *capacity, size_t count, size_t more, size_t item_size_bytes)
{
    if (more > SIZE_MAX / 2 / item_size_bytes - count)
        return CB_E_MEMORY;
    if (count + more <= *capacity)
        return 0;
    size_t wanted = *capacity ? *capacity : 4;
    while (wanted < count + more)
        wanted *= 2;
    if (wanted > SIZE_MAX / item_size_bytes)
        return CB_E_MEMORY;
    void *moved = realloc(*items, wanted * item_size_bytes);
    if (!moved)
        return CB_E_MEMORY;
    *items = moved;
    *capacity = wanted;
    return 0;
}

void *cb_vec_zero(void *item, size_t item_size_bytes)
{
    return memset(item, 0, item_size_bytes);
}

void cb_vec_free(void **items)
{
    free(*items);
    *items = NULL;
}

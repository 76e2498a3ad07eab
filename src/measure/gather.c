#include "measure/gather.h"

#include <stdlib.h>

int cb_gather_raw(struct cb_group *group, const void *mine, size_t size_bytes, void **items,
                  size_t *capacity, size_t *count, struct cb_error *err)
{
    int ranks = cb_group_size(group);
    bool collects = cb_group_rank(group) == 0;
    int rc = CB_OK;
    if (collects && cb_vec_grow(items, capacity, *count, (size_t)ranks, size_bytes))
        rc = cb_fail(err, CB_E_MEMORY, "no memory for the rows of %d ranks", ranks);
    /* Nobody may enter the exchange that the first rank cannot take part in. */
    rc = cb_group_agree(group, rc, err);
    if (rc)
        return rc;
    char *end = collects ? (char *)*items + *count * size_bytes : NULL;
    rc = cb_group_gather(group, mine, size_bytes, end, err);
    if (!rc && collects)
        *count += (size_t)ranks;
    return rc;
}

int cb_gather_everywhere(struct cb_group *group, const void *mine, size_t size_bytes, void **all,
                         struct cb_error *err)
{
    size_t ranks = (size_t)cb_group_size(group);
    void *items = calloc(ranks, size_bytes);
    int rc =
        items ? CB_OK : cb_fail(err, CB_E_MEMORY, "no memory for the rows of %zu ranks", ranks);
    rc = cb_group_agree(group, rc, err);
    if (!rc)
        rc = cb_group_gather(group, mine, size_bytes, items, err);
    if (!rc)
        rc = cb_group_broadcast(group, items, ranks * size_bytes, err);
    if (rc)
        free(items);
    else
        *all = items;
    return rc;
}

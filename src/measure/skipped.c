#include "measure/skipped.h"

#include <stdio.h>

struct cb_collective_row cb_skipped_collective(const struct cb_item *item)
{
    return (struct cb_collective_row){
        .op = item->step.op,
        .scope = item->scope,
        .dtype = item->step.dtype,
        .redop = item->step.redop,
        .ranks = item->group_size,
        .size_bytes = item->step.size_bytes,
        .in_place = item->step.in_place,
    };
}

static int add_collective(struct cb_result *result, const struct cb_item *item,
                          enum cb_status status, const char *reason)
{
    struct cb_collective_row *row = cb_vec_add(&result->collectives);
    if (!row)
        return CB_E_MEMORY;
    *row = cb_skipped_collective(item);
    row->status = status;
    snprintf(row->reason, sizeof(row->reason), "%s", reason);
    return CB_OK;
}

static int add_kernel(struct cb_result *result, const struct cb_item *item, enum cb_status status,
                      const char *reason)
{
    struct cb_kernel_row *row = cb_vec_add(&result->kernels);
    if (!row)
        return CB_E_MEMORY;
    row->rank = 0;
    row->dtype = item->kernel_dtype;
    row->status = status;
    snprintf(row->kernel, sizeof(row->kernel), "%s", cb_kernel_name(item->kernel));
    snprintf(row->reason, sizeof(row->reason), "%s", reason);
    return CB_OK;
}

static int add_burn(struct cb_result *result, const struct cb_item *item, enum cb_status status,
                    const char *reason)
{
    struct cb_burn_row *row = cb_vec_add(&result->burns);
    if (!row)
        return CB_E_MEMORY;
    row->rank = -1;
    row->dtype = item->kernel_dtype;
    row->planned_s = item->burn_s;
    row->status = status;
    snprintf(row->reason, sizeof(row->reason), "%s", reason);
    return CB_OK;
}

static int add_link(struct cb_result *result, const struct cb_item *item, enum cb_status status,
                    const char *reason)
{
    (void)item;
    struct cb_pair_row *row = cb_vec_add(&result->pairs);
    if (!row)
        return CB_E_MEMORY;
    row->status = status;
    snprintf(row->reason, sizeof(row->reason), "%s", reason);
    return CB_OK;
}

int cb_skipped_add(struct cb_result *result, const struct cb_item *item, enum cb_status status,
                   const char *reason, struct cb_error *err)
{
    static int (*const adders[])(struct cb_result *, const struct cb_item *, enum cb_status,
                                 const char *) = {
        [CB_ITEM_LINK] = add_link,
        [CB_ITEM_COLLECTIVE] = add_collective,
        [CB_ITEM_KERNEL] = add_kernel,
        [CB_ITEM_BURN] = add_burn,
    };
    if (adders[item->kind](result, item, status, reason))
        return cb_fail(err, CB_E_MEMORY, "no memory for a row");
    return CB_OK;
}

int cb_skipped_add_rest(struct cb_result *result, const struct cb_plan *plan, size_t first,
                        const char *reason, struct cb_error *err)
{
    int rc = CB_OK;
    for (size_t i = first; i < plan->items.count && !rc; i++) {
        const struct cb_item *item = &plan->items.items[i];
        rc = cb_skipped_add(result, item, CB_STATUS_SKIPPED, item->skip ? item->skip : reason, err);
    }
    return rc;
}

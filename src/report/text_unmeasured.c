#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"
#include "report/names.h"
#include "report/page.h"

#define REASONS_SHOWN 12
#define STEPS_SHOWN 6

enum step_kind { STEP_COLLECTIVE, STEP_LINK, STEP_KERNEL, STEP_BURN };

/* Steps that are alike but for their size or rank, and were not measured for the same reason. */
struct step {
    enum step_kind kind;
    enum cb_status status;
    size_t reason; /* number in reasons */
    size_t what;   /* number in whats */
    size_t count;
    uint64_t least_bytes, most_bytes;
    int rank; /* of the first */
};

struct list {
    struct cb_names reasons, whats, keys;
    CB_VEC(struct step) steps;
    bool failed;
};

static bool is_unmeasured(enum cb_status status)
{
    return !cb_status_is_usable(status) && status != CB_STATUS_WRONG;
}

static void add(struct list *list, const struct step *one, const char *what, const char *reason)
{
    char key[64];
    struct step step = *one;
    size_t at = 0;
    list->failed |= cb_names_intern(&list->reasons, reason, &step.reason) != 0 ||
                    cb_names_intern(&list->whats, what, &step.what) != 0;
    snprintf(key, sizeof(key), "%d %d %zu %zu", (int)step.kind, (int)step.status, step.reason,
             step.what);
    list->failed |= cb_names_intern(&list->keys, key, &at) != 0;
    if (!list->failed && at == list->steps.count) {
        struct step *added = cb_vec_add(&list->steps);
        list->failed |= !added;
        if (added)
            *added = step;
    }
    if (list->failed)
        return;
    struct step *sum = &list->steps.items[at];
    sum->count++;
    sum->least_bytes = step.least_bytes < sum->least_bytes ? step.least_bytes : sum->least_bytes;
    sum->most_bytes = step.most_bytes > sum->most_bytes ? step.most_bytes : sum->most_bytes;
}

static void collect(const struct cb_result *result, struct list *list)
{
    char what[2 * CB_NAME + 16];
    for (size_t i = 0; i < result->collectives.count && !list->failed; i++) {
        const struct cb_collective_row *row = &result->collectives.items[i];
        if (!is_unmeasured(row->status))
            continue;
        struct step step = {.kind = STEP_COLLECTIVE, .status = row->status};
        step.least_bytes = step.most_bytes = row->size_bytes;
        snprintf(what, sizeof(what), "%s %s %s%s", cb_op_name(row->op), cb_dtype_name(row->dtype),
                 cb_scope_name(row->scope), row->in_place ? " in place" : "");
        add(list, &step, what, row->reason);
    }
    for (size_t i = 0; i < result->pairs.count && !list->failed; i++) {
        const struct cb_pair_row *row = &result->pairs.items[i];
        if (!is_unmeasured(row->status))
            continue;
        struct step step = {.kind = STEP_LINK, .status = row->status};
        if (row->a[0])
            snprintf(what, sizeof(what), "link %s to %s", row->a, row->b);
        else
            snprintf(what, sizeof(what), "links between nodes");
        add(list, &step, what, row->reason);
    }
    for (size_t i = 0; i < result->kernels.count && !list->failed; i++) {
        const struct cb_kernel_row *row = &result->kernels.items[i];
        if (!is_unmeasured(row->status))
            continue;
        struct step step = {.kind = STEP_KERNEL, .status = row->status, .rank = row->rank};
        snprintf(what, sizeof(what), "%s %s", row->kernel, cb_dtype_name(row->dtype));
        add(list, &step, what, row->reason);
    }
    for (size_t i = 0; i < result->burns.count && !list->failed; i++) {
        const struct cb_burn_row *row = &result->burns.items[i];
        if (!is_unmeasured(row->status))
            continue;
        struct step step = {.kind = STEP_BURN, .status = row->status, .rank = row->rank};
        snprintf(what, sizeof(what), "burn %s", cb_dtype_name(row->dtype));
        add(list, &step, what, row->reason);
    }
}

static void add_step(const struct cb_page *page, const struct list *list, const struct step *step,
                     struct cb_strbuf *text)
{
    char least[CB_UNIT_TEXT];
    char most[CB_UNIT_TEXT];
    cb_strbuf_add(text, cb_names_get(&list->whats, step->what));
    cb_format_bytes(least, step->least_bytes);
    cb_format_bytes(most, step->most_bytes);
    if (step->kind == STEP_COLLECTIVE && step->count == 1 && step->most_bytes > 0)
        cb_strbuf_addf(text, " at %s", least);
    else if (step->kind == STEP_COLLECTIVE && step->most_bytes > 0)
        cb_strbuf_addf(text, " (%zu sizes, %s to %s)", step->count, least, most);
    else if (step->kind == STEP_KERNEL && step->count == 1)
        cb_strbuf_addf(text, " on %s/%d", cb_lookup_host_of_rank(&page->lookup, step->rank),
                       step->rank);
    else if (step->count > 1)
        cb_strbuf_addf(text, " (%zu)", step->count);
}

/* By status (skipped, the most harmless, last), then reason, each in order of appearance. */
static int by_reason(const void *a, const void *b)
{
    const struct step *left = a;
    const struct step *right = b;
    if (left->status != right->status)
        return left->status > right->status ? -1 : 1;
    if (left->reason != right->reason)
        return left->reason < right->reason ? -1 : 1;
    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    return (left->what > right->what) - (left->what < right->what);
}

/* A reason, and below it its steps. */
static void add_reason(struct cb_page *page, const struct list *list, const struct step *steps,
                       size_t count)
{
    struct cb_strbuf text = {0};
    size_t rest = 0;
    for (size_t i = 0; i < count; i++) {
        if (i >= STEPS_SHOWN) {
            rest += steps[i].count;
            continue;
        }
        cb_strbuf_add(&text, i > 0 ? "; " : "");
        add_step(page, list, &steps[i], &text);
    }
    if (rest > 0)
        cb_strbuf_addf(&text, "; and %zu more", rest);
    const char *reason = cb_names_get(&list->reasons, steps[0].reason);
    char label[CB_NAME];
    snprintf(label, sizeof(label), "  %s", cb_page_mark(steps[0].status));
    cb_page_headline(page, label, cb_page_mark_style(steps[0].status), "%s",
                     *reason ? reason : "no reason given");
    cb_page_text(page, CB_PAGE_HANG, CB_PAGE_HANG, "%s", cb_strbuf_get(&text));
    page->out->failed |= text.failed;
    cb_strbuf_fini(&text);
}

void cb_page_add_unmeasured(struct cb_page *page)
{
    struct list list = {.failed = false};
    collect(page->result, &list);
    const struct step *steps = list.steps.items;
    size_t count = list.failed ? 0 : list.steps.count;
    if (count > 0) {
        qsort(list.steps.items, count, sizeof(*list.steps.items), by_reason);
        cb_page_section(page, "NOT MEASURED", "%s", "");
    }
    size_t shown = 0;
    for (size_t first = 0; first < count;) {
        size_t length = 1;
        while (first + length < count && steps[first + length].reason == steps[first].reason &&
               steps[first + length].status == steps[first].status)
            length++;
        if (shown++ < REASONS_SHOWN)
            add_reason(page, &list, steps + first, length);
        first += length;
    }
    if (shown > REASONS_SHOWN)
        cb_page_text(page, CB_PAGE_INDENT, CB_PAGE_HANG, "and %zu more reasons",
                     shown - REASONS_SHOWN);
    page->out->failed |= list.failed;
    cb_names_fini(&list.reasons);
    cb_names_fini(&list.whats);
    cb_names_fini(&list.keys);
    cb_vec_fini(&list.steps);
}

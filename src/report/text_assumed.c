#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/page.h"

#define FORMULA_ITEMS 9
#define ITEMS_MAX (FORMULA_ITEMS + CB_ASSUMPTIONS_MAX)

struct assumed {
    const char *items[ITEMS_MAX]; /* borrowed */
    size_t count;
    char once[CB_NAME];
};

static void add(struct assumed *assumed, const char *text)
{
    if (*text && assumed->count < ITEMS_MAX)
        assumed->items[assumed->count++] = text;
}

static void collect_formula(const struct cb_result *result, struct assumed *assumed)
{
    const struct cb_formula *formula = &result->formula;
    if (!formula->judged)
        return;
    add(assumed, "no communication is hidden behind compute");
    add(assumed, "4 bytes per parameter and synchronisation: what a ring all_reduce of 2-byte "
                 "gradients moves per rank");
    if (formula->communications_source == CB_FROM_ASSUMED) {
        snprintf(assumed->once, sizeof(assumed->once), "%.6g synchronisation%s",
                 formula->communications, formula->communications == 1 ? " per step" : "s");
        add(assumed, assumed->once);
    }
    if (result->workloads.count > 0)
        add(assumed, "the tokens per rank and step of the workloads");
    if ((formula->time_source == CB_FROM_MEASURED || formula->time_source == CB_FROM_REFERENCE) &&
        formula->tokens_per_step > 0)
        add(assumed, "the part of the GEMM rate that training reaches");
    if (formula->time_source == CB_FROM_ASSUMED)
        add(assumed, formula->time_note);
    if (formula->bandwidth_source == CB_FROM_ASSUMED)
        add(assumed, formula->bandwidth_note);
    if (formula->bandwidth_source == CB_FROM_EXTRAPOLATED)
        add(assumed, "beyond the sizes measured the bandwidth stays as it is there");
}

static void collect_offer(const struct cb_result *result, struct assumed *assumed)
{
    if (result->offer.inter.ports == 1 && result->offer.inter.ports_source == CB_FROM_ASSUMED)
        add(assumed, "one port per node between nodes");
}

static void collect_job(const struct cb_result *result, struct assumed *assumed)
{
    const struct cb_assumptions *list = &result->prediction.training.assumed;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].source == CB_FROM_ASSUMED)
            add(assumed, list->items[i].text);
}

static int by_length(const void *a, const void *b)
{
    size_t left = strlen(*(const char *const *)a);
    size_t right = strlen(*(const char *const *)b);
    return (left > right) - (left < right);
}

/* Shortest first: what is quickly read and quickly put right. */
void cb_page_add_assumed(struct cb_page *page)
{
    struct assumed assumed = {.count = 0};
    struct cb_strbuf text = {0};
    collect_formula(page->result, &assumed);
    collect_offer(page->result, &assumed);
    collect_job(page->result, &assumed);
    if (assumed.count == 0)
        return;
    qsort(assumed.items, assumed.count, sizeof(assumed.items[0]), by_length);
    if (cb_result_is_predicted(page->result)) {
        cb_page_section(page, "ASSUMED", "%s", "");
        for (size_t i = 0; i < assumed.count; i++)
            cb_page_text(page, CB_PAGE_INDENT, CB_PAGE_HANG, "%s", assumed.items[i]);
        return;
    }
    for (size_t i = 0; i < assumed.count; i++)
        cb_strbuf_addf(&text, "%s%s", i > 0 ? "; " : "", assumed.items[i]);
    cb_page_section(page, "ASSUMED", "%s", cb_strbuf_get(&text));
    page->out->failed |= text.failed;
    cb_strbuf_fini(&text);
}

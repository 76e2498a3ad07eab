#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/page.h"

/* Rows of the sorted list that differ in size alone. */
struct series {
    const struct cb_collective_row *const *rows;
    size_t count;
};

static int compare_curves(const struct cb_collective_row *a, const struct cb_collective_row *b)
{
    if (a->op != b->op)
        return a->op < b->op ? -1 : 1;
    if (a->scope != b->scope)
        return a->scope < b->scope ? -1 : 1;
    return 0;
}

static int compare_series(const struct cb_collective_row *a, const struct cb_collective_row *b)
{
    int curves = compare_curves(a, b);
    return curves != 0 ? curves : cb_page_compare_kinds(a, b);
}

static int by_series_and_size(const void *a, const void *b)
{
    const struct cb_collective_row *left = *(const struct cb_collective_row *const *)a;
    const struct cb_collective_row *right = *(const struct cb_collective_row *const *)b;
    int series = compare_series(left, right);
    if (series != 0)
        return series;
    if (left->size_bytes != right->size_bytes)
        return left->size_bytes < right->size_bytes ? -1 : 1;
    return (left > right) - (left < right);
}

/* "tree LL up to 64 KiB, ring LL128 to 4 MiB, ring Simple above" */
static void add_runs(struct cb_strbuf *text, const struct series *series)
{
    char size[CB_UNIT_TEXT];
    for (size_t at = 0, end; at < series->count; at = end) {
        const struct cb_algorithm *algorithm = &series->rows[at]->algorithm;
        for (end = at + 1;
             end < series->count && cb_algorithm_is_same(algorithm, &series->rows[end]->algorithm);)
            end++;
        cb_strbuf_addf(text, "%s%s%s%s", at > 0 ? ", " : "",
                       algorithm->name[0] ? algorithm->name : "not said",
                       algorithm->protocol[0] ? " " : "", algorithm->protocol);
        if (end < series->count)
            cb_strbuf_addf(text, "%s to %s", at > 0 ? "" : " up",
                           cb_format_bytes(size, series->rows[end - 1]->size_bytes));
        else if (at > 0)
            cb_strbuf_add(text, " above");
    }
}

static void add_line(struct cb_page *page, const struct cb_collective_row *row, bool is_only,
                     const char *runs)
{
    bool redop = cb_op_reduces(row->op) && row->redop != CB_REDOP_SUM;
    if (is_only)
        cb_page_text(page, CB_PAGE_INDENT, CB_PAGE_HANG, "%s %s: %s", cb_op_name(row->op),
                     cb_scope_name(row->scope), runs);
    else
        cb_page_text(page, CB_PAGE_INDENT, CB_PAGE_HANG, "%s %s %s%s%s%s: %s", cb_op_name(row->op),
                     cb_scope_name(row->scope), cb_dtype_name(row->dtype), redop ? " " : "",
                     redop ? cb_redop_name(row->redop) : "", row->in_place ? " in place" : "",
                     runs);
}

static bool is_told(const struct series *series)
{
    for (size_t i = 0; i < series->count; i++)
        if (series->rows[i]->algorithm.name[0])
            return true;
    return false;
}

/* The rows of one op and scope: a single line where element type and place make no difference. */
static void add_curve(struct cb_page *page, const struct cb_collective_row *const *rows,
                      size_t count)
{
    struct line {
        struct series series;
        struct cb_strbuf runs;
    } *lines = calloc(count, sizeof(*lines));
    size_t used = 0;
    bool is_same = true;
    if (!lines) {
        page->out->failed = true;
        return;
    }
    for (size_t first = 0, end; first < count; first = end) {
        struct line *line = &lines[used];
        for (end = first; end < count && compare_series(rows[first], rows[end]) == 0;)
            end++;
        line->series = (struct series){rows + first, end - first};
        if (!is_told(&line->series))
            continue;
        add_runs(&line->runs, &line->series);
        is_same &= strcmp(cb_strbuf_get(&lines[0].runs), cb_strbuf_get(&line->runs)) == 0;
        used++;
    }
    for (size_t i = 0; i < used; i++) {
        if (i == 0 || !is_same)
            add_line(page, lines[i].series.rows[0], is_same, cb_strbuf_get(&lines[i].runs));
        page->out->failed |= lines[i].runs.failed;
        cb_strbuf_fini(&lines[i].runs);
    }
    free(lines);
}

void cb_page_add_algorithms(struct cb_page *page)
{
    const struct cb_result *result = page->result;
    const struct cb_collective_row **rows = calloc(result->collectives.count + 1, sizeof(*rows));
    size_t count = 0;
    bool any = false;
    if (!rows) {
        page->out->failed = true;
        return;
    }
    for (size_t i = 0; i < result->collectives.count; i++) {
        const struct cb_collective_row *row = &result->collectives.items[i];
        if (row->status != CB_STATUS_SKIPPED)
            rows[count++] = row;
        any |= row->algorithm.name[0] != '\0';
    }
    qsort(rows, count, sizeof(*rows), by_series_and_size);
    if (any)
        cb_page_section(page, "ALGORITHMS",
                        "that the library said it took, of one operation of each size");
    for (size_t first = 0, end; any && first < count; first = end) {
        for (end = first; end < count && compare_curves(rows[first], rows[end]) == 0;)
            end++;
        add_curve(page, rows + first, end - first);
    }
    free(rows);
}

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/page.h"

/* In the order of the columns, from near to far. */
static const enum cb_scope order[] = {CB_SCOPE_INTRA_NODE, CB_SCOPE_INTER_NODE, CB_SCOPE_WORLD};
_Static_assert(sizeof(order) / sizeof(order[0]) == CB_SCOPE_COUNT, "every scope has a place");

static const char *const headings[] = {
    [CB_SCOPE_WORLD] = "world",
    [CB_SCOPE_INTRA_NODE] = "inside",
    [CB_SCOPE_INTER_NODE] = "between",
};

static const char *const time_headings[] = {
    [CB_SCOPE_WORLD] = "time",
    [CB_SCOPE_INTRA_NODE] = "time inside",
    [CB_SCOPE_INTER_NODE] = "time between",
};

/* One line of a table: the rows of one size. */
struct size_line {
    const struct cb_collective_row *cells[CB_SCOPE_COUNT];
};

struct group { /* rows [first, first + count) of the sorted list */
    const struct cb_collective_row **rows;
    size_t count;
    enum cb_scope time_scope;
    int ranks[CB_SCOPE_COUNT]; /* 0: no such row */
};

static bool is_shown(const struct cb_collective_row *row)
{
    return row->status != CB_STATUS_SKIPPED;
}

int cb_page_compare_kinds(const struct cb_collective_row *a, const struct cb_collective_row *b)
{
    if (a->op != b->op)
        return a->op < b->op ? -1 : 1;
    if (a->dtype != b->dtype)
        return a->dtype < b->dtype ? -1 : 1;
    if (cb_op_reduces(a->op) && a->redop != b->redop)
        return a->redop < b->redop ? -1 : 1;
    return a->in_place - b->in_place;
}

static int by_group_and_size(const void *a, const void *b)
{
    const struct cb_collective_row *left = *(const struct cb_collective_row *const *)a;
    const struct cb_collective_row *right = *(const struct cb_collective_row *const *)b;
    int order_of_groups = cb_page_compare_kinds(left, right);
    if (order_of_groups != 0)
        return order_of_groups;
    if (left->size_bytes != right->size_bytes)
        return left->size_bytes < right->size_bytes ? -1 : 1;
    return (left > right) - (left < right);
}

static void add_cell(struct cb_table *table, const struct cb_collective_row *row)
{
    char text[CB_UNIT_TEXT];
    if (!row)
        cb_table_add(table, CB_STYLE_PLAIN, "-");
    else if (cb_status_is_usable(row->status))
        cb_table_add(table, cb_page_mark_style(row->status), "%s%s",
                     row->status == CB_STATUS_NOISY ? "~" : "",
                     cb_format_bandwidth(text, row->bus_bytes_per_s));
    else
        cb_table_add(table, cb_page_mark_style(row->status), "%s",
                     row->status == CB_STATUS_WRONG ? "WRONG" : cb_page_mark(row->status));
}

/* How many elements were wrong in which scope. */
static void add_note(struct cb_table *table, const struct size_line *line)
{
    struct cb_strbuf text = {0};
    for (size_t i = 0; i < CB_SCOPE_COUNT; i++) {
        const struct cb_collective_row *row = line->cells[order[i]];
        if (row && row->wrong > 0)
            cb_strbuf_addf(&text, "%s%llu WRONG %s", text.length_bytes > 0 ? ", " : "",
                           (unsigned long long)row->wrong, headings[order[i]]);
    }
    cb_table_add(table, CB_STYLE_BAD, "%s", cb_strbuf_get(&text));
    table->failed |= text.failed;
    cb_strbuf_fini(&text);
}

static void add_line(struct cb_table *table, const struct group *group,
                     const struct size_line *line, uint64_t size_bytes)
{
    char text[CB_UNIT_TEXT];
    cb_table_add(table, CB_STYLE_PLAIN, "%s", cb_format_bytes(text, size_bytes));
    for (size_t i = 0; i < CB_SCOPE_COUNT; i++)
        if (group->ranks[order[i]] > 0)
            add_cell(table, line->cells[order[i]]);
        else
            cb_table_add(table, CB_STYLE_PLAIN, "%s", "");
    const struct cb_collective_row *timed = line->cells[group->time_scope];
    bool usable = timed && cb_status_is_usable(timed->status);
    cb_table_add(table, CB_STYLE_PLAIN, "%s",
                 cb_format_time(text, usable ? timed->time.median_s : 0));
    bool interval = usable && timed->time.ci95_relative >= 0;
    cb_table_add(table, CB_STYLE_PLAIN, "%s",
                 interval ? cb_format_share(text, timed->time.ci95_relative) : "");
    add_note(table, line);
}

/* Rows whose sizes read the same (all_gather over 3 ranks has 1048572 bytes where over 2 it has 1
 * MiB) share a line. */
static void add_lines(struct cb_table *table, const struct group *group)
{
    char size[CB_UNIT_TEXT];
    char next[CB_UNIT_TEXT];
    for (size_t at = 0; at < group->count;) {
        struct size_line line = {{0}};
        uint64_t size_bytes = group->rows[at]->size_bytes;
        cb_format_bytes(size, size_bytes);
        while (at < group->count && !line.cells[group->rows[at]->scope] &&
               strcmp(size, cb_format_bytes(next, group->rows[at]->size_bytes)) == 0) {
            line.cells[group->rows[at]->scope] = group->rows[at];
            at++;
        }
        add_line(table, group, &line, size_bytes);
    }
}

static void add_title(struct cb_page *page, const struct group *group)
{
    const struct cb_collective_row *row = group->rows[0];
    char heading[CB_NAME];
    char scopes[CB_NAME + 32] = "";
    size_t used = 0;
    snprintf(heading, sizeof(heading), "%s", cb_op_name(row->op));
    for (char *at = heading; *at; at++)
        *at = (char)toupper((unsigned char)*at);
    for (size_t i = 0; i < CB_SCOPE_COUNT; i++)
        if (group->ranks[order[i]] > 0)
            used +=
                (size_t)snprintf(scopes + used, sizeof(scopes) - used, "%s%s %d",
                                 used > 0 ? ", " : "", headings[order[i]], group->ranks[order[i]]);
    bool redop = cb_op_reduces(row->op) && row->redop != CB_REDOP_SUM;
    cb_page_section(page, heading, "%s%s%s%s, bus bandwidth (ranks: %s)", cb_dtype_name(row->dtype),
                    redop ? " " : "", redop ? cb_redop_name(row->redop) : "",
                    row->in_place ? " in place" : "", scopes);
}

/* The time shown is the world's where there is one, else that of the widest scope. */
static void choose_time_scope(struct group *group)
{
    static const enum cb_scope preferred[] = {CB_SCOPE_WORLD, CB_SCOPE_INTER_NODE,
                                              CB_SCOPE_INTRA_NODE};
    for (size_t i = 0; i < CB_SCOPE_COUNT; i++)
        if (group->ranks[preferred[i]] > 0) {
            group->time_scope = preferred[i];
            return;
        }
}

static void add_group(struct cb_page *page, struct group *group)
{
    bool any = false; /* a table of nothing but failures says no more than their reasons do */
    bool noisy = false;
    for (size_t i = 0; i < group->count; i++) {
        const struct cb_collective_row *row = group->rows[i];
        group->ranks[row->scope] = row->ranks;
        any |= cb_status_is_usable(row->status) || row->status == CB_STATUS_WRONG;
        noisy |= row->status == CB_STATUS_NOISY;
    }
    if (!any)
        return;
    choose_time_scope(group);
    const struct cb_table_column columns[] = {
        {"size", CB_ALIGN_RIGHT, 0},
        {headings[order[0]], CB_ALIGN_RIGHT, 0},
        {headings[order[1]], CB_ALIGN_RIGHT, 0},
        {headings[order[2]], CB_ALIGN_RIGHT, 0},
        {time_headings[group->time_scope], CB_ALIGN_RIGHT, 0},
        {"+-", CB_ALIGN_RIGHT, 0},
        {NULL, CB_ALIGN_LEFT, 8},
    };
    struct cb_table table;
    cb_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    add_lines(&table, group);
    add_title(page, group);
    cb_page_table(page, &table);
    if (noisy)
        cb_page_text(page, CB_PAGE_INDENT, CB_PAGE_INDENT,
                     "~ noisy: the interval of the median did not shrink to its target");
}

void cb_page_add_collectives(struct cb_page *page)
{
    const struct cb_result *result = page->result;
    const struct cb_collective_row **rows = calloc(result->collectives.count + 1, sizeof(*rows));
    if (!rows) {
        page->out->failed = true;
        return;
    }
    size_t count = 0;
    for (size_t i = 0; i < result->collectives.count; i++)
        if (is_shown(&result->collectives.items[i]))
            rows[count++] = &result->collectives.items[i];
    qsort(rows, count, sizeof(*rows), by_group_and_size);
    for (size_t first = 0; first < count;) {
        struct group group = {.rows = rows + first};
        while (first + group.count < count &&
               cb_page_compare_kinds(rows[first], rows[first + group.count]) == 0)
            group.count++;
        add_group(page, &group);
        first += group.count;
    }
    free(rows);
}

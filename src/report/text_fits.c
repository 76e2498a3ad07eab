#include <stdio.h>

#include "base/units.h"
#include "report/page.h"

#define LEAST_ERROR 0.0005 /* what one decimal of a percentage shows */

static bool is_same_curve(const struct cb_fit_row *a, const struct cb_fit_row *b)
{
    return a->op == b->op && a->scope == b->scope && a->dtype == b->dtype &&
           a->in_place == b->in_place;
}

static void add_error(struct cb_table *table, const struct cb_fit_row *row)
{
    char text[CB_UNIT_TEXT];
    if (row->max_relative_error < LEAST_ERROR)
        cb_table_add(table, CB_STYLE_PLAIN, "< 0.1 %%");
    else
        cb_table_add(table, row->accepted ? CB_STYLE_PLAIN : CB_STYLE_WARN, "%s%s",
                     row->accepted ? "" : "! ", cb_format_share(text, row->max_relative_error));
}

/* One curve: the regime of its largest messages. */
static void add_curve(struct cb_table *table, const struct cb_fit_row *last)
{
    char text[CB_UNIT_TEXT];
    cb_table_add(table, CB_STYLE_PLAIN, "%s", cb_op_name(last->op));
    cb_table_add(table, CB_STYLE_PLAIN, "%s", cb_scope_name(last->scope));
    cb_table_add(table, CB_STYLE_PLAIN, "%s", cb_format_bytes(text, last->from_bytes));
    cb_table_add(table, CB_STYLE_PLAIN, "%s", cb_format_time(text, last->alpha_s));
    cb_table_add(table, CB_STYLE_PLAIN, "%s", cb_format_bandwidth(text, last->bytes_per_s_inf));
    bool has_half = last->half_bytes >= 1 && last->half_bytes < (double)INT64_MAX;
    cb_table_add(table, CB_STYLE_PLAIN, "%s",
                 has_half ? cb_format_bytes(text, (uint64_t)last->half_bytes) : "-");
    add_error(table, last);
}

void cb_page_add_fits(struct cb_page *page)
{
    static const struct cb_table_column columns[] = {
        {NULL, CB_ALIGN_LEFT, 0},         {NULL, CB_ALIGN_LEFT, 0},
        {"from", CB_ALIGN_RIGHT, 0},      {"latency", CB_ALIGN_RIGHT, 0},
        {"bandwidth", CB_ALIGN_RIGHT, 0}, {"half at", CB_ALIGN_RIGHT, 0},
        {"error", CB_ALIGN_RIGHT, 0},
    };
    const struct cb_fit_row *rows = page->result->fits.items;
    size_t count = page->result->fits.count;
    bool any_refused = false;
    if (count == 0)
        return;
    struct cb_table table;
    cb_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t first = 0, last; first < count; first = last + 1) {
        for (last = first; last + 1 < count && is_same_curve(&rows[first], &rows[last + 1]);)
            last++;
        add_curve(&table, &rows[last]);
        any_refused = any_refused || !rows[last].accepted;
    }
    cb_page_section(page, "FITS",
                    "time = latency + bus factor x size / bandwidth, from a size on; where half of "
                    "the bandwidth is reached; the worst error");
    cb_page_table(page, &table);
    if (any_refused)
        cb_page_text(page, CB_PAGE_INDENT, CB_PAGE_INDENT,
                     "! off by more than 15 %% somewhere: good between measured sizes only");
}

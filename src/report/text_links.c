#include <stdlib.h>

#include "base/units.h"
#include "report/page.h"

#define LINKS_ALL 12 /* more than this many are cut to the two lists below */
#define LINKS_SLOWEST 6
#define LINKS_FASTEST 3

/* The rate the slower of the two hosts' used NICs is sold with; 0 when one is unknown. */
static double nominal_bytes_per_s(const struct cb_page *page, const struct cb_pair_row *row)
{
    const char *const ends[] = {row->a, row->b};
    double least = 0;
    for (int i = 0; i < 2; i++) {
        const struct cb_topo_host *node = cb_lookup_node(&page->lookup, ends[i]);
        double rate = 0;
        for (int nic = 0; node && nic < node->nic_count; nic++)
            if (node->nics[nic].used)
                rate = node->nics[nic].nominal_bytes_per_s;
        if (!(rate > 0))
            return 0;
        least = i == 0 || rate < least ? rate : least;
    }
    return least;
}

static void add_link(struct cb_page *page, struct cb_table *table, const struct cb_pair_row *row)
{
    char text[CB_UNIT_TEXT];
    bool usable = cb_status_is_usable(row->status);
    double nominal = usable ? nominal_bytes_per_s(page, row) : 0;
    cb_table_add(table, CB_STYLE_PLAIN, "%s", row->a);
    cb_table_add(table, CB_STYLE_PLAIN, "%s", row->b);
    cb_table_add(table, CB_STYLE_PLAIN, "%s", cb_format_time(text, usable ? row->round_trip_s : 0));
    cb_table_add(table, CB_STYLE_PLAIN, "%s",
                 cb_format_bandwidth(text, usable ? row->bytes_per_s : 0));
    bool interval = usable && row->bytes_per_s > 0 && row->ci95_relative >= 0;
    cb_table_add(table, CB_STYLE_PLAIN, "%s",
                 interval ? cb_format_share(text, row->ci95_relative) : "");
    cb_table_add(table, CB_STYLE_PLAIN, "%s",
                 nominal > 0 ? cb_format_share(text, row->bytes_per_s / nominal) : "");
    cb_table_add(table, cb_page_mark_style(row->status), "%s", cb_page_mark(row->status));
}

/* Links whose data were wrong first, then slow to fast. */
static int by_rate(const void *a, const void *b)
{
    const struct cb_pair_row *left = *(const struct cb_pair_row *const *)a;
    const struct cb_pair_row *right = *(const struct cb_pair_row *const *)b;
    double x = cb_status_is_usable(left->status) ? left->bytes_per_s : -1;
    double y = cb_status_is_usable(right->status) ? right->bytes_per_s : -1;
    if (x != y)
        return x < y ? -1 : 1;
    return (left > right) - (left < right);
}

/* What failed is told under "not measured", with the reason. */
static size_t collect(const struct cb_result *result, const struct cb_pair_row **rows)
{
    size_t count = 0;
    for (size_t i = 0; i < result->pairs.count; i++)
        if (cb_status_is_usable(result->pairs.items[i].status) ||
            result->pairs.items[i].status == CB_STATUS_WRONG)
            rows[count++] = &result->pairs.items[i];
    if (count > LINKS_ALL)
        qsort(rows, count, sizeof(*rows), by_rate);
    return count;
}

static void add_title(struct cb_page *page, const struct cb_pair_row **rows, size_t count)
{
    size_t wrong = 0;
    while (wrong + 1 < count && rows[wrong]->status == CB_STATUS_WRONG)
        wrong++;
    char size[CB_UNIT_TEXT];
    char median[CB_UNIT_TEXT];
    cb_format_bytes(size, rows[count - 1]->size_bytes);
    if (count <= LINKS_ALL)
        cb_page_section(page, "LINKS", "round trip of 8 B, one way at %s", size);
    else
        cb_page_section(page, "LINKS",
                        "%zu measured: the %d slowest and the %d fastest; median %s one way at %s",
                        count, LINKS_SLOWEST, LINKS_FASTEST,
                        cb_format_bandwidth(median, rows[(wrong + count) / 2]->bytes_per_s), size);
}

void cb_page_add_links(struct cb_page *page)
{
    static const struct cb_table_column columns[] = {
        {"from", CB_ALIGN_LEFT, 10},       {"to", CB_ALIGN_LEFT, 10},
        {"round trip", CB_ALIGN_RIGHT, 0}, {"one way", CB_ALIGN_RIGHT, 0},
        {"+-", CB_ALIGN_RIGHT, 0},         {"of nominal", CB_ALIGN_RIGHT, 0},
        {NULL, CB_ALIGN_LEFT, 0},
    };
    const struct cb_result *result = page->result;
    const struct cb_pair_row **rows = calloc(result->pairs.count + 1, sizeof(*rows));
    if (!rows) {
        page->out->failed = true;
        return;
    }
    size_t count = collect(result, rows);
    if (count > 0) {
        struct cb_table table;
        cb_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
        bool cut = count > LINKS_ALL;
        for (size_t i = 0; i < count; i++)
            if (!cut || i < LINKS_SLOWEST || i >= count - LINKS_FASTEST)
                add_link(page, &table, rows[i]);
        add_title(page, rows, count);
        cb_page_table(page, &table);
    }
    free(rows);
}

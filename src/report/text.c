#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "report/page.h"
#include "report/render.h"

#define HEADER_ITEM_BYTES 400 /* every text of the header fits */
#define WRONG_SHOWN 3

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* Items three blanks apart, on as many lines as they need. */
struct header_line {
    struct cb_page *page;
    size_t columns;
};

static void add_item(struct header_line *line, enum cb_style style, const char *text)
{
    size_t length = strlen(text);
    if (length == 0)
        return;
    if (line->columns > 0 && line->columns + 3 + length > CB_PAGE_COLUMNS) {
        cb_strbuf_add(line->page->out, "\n  ");
        line->columns = 2;
    } else if (line->columns > 0) {
        cb_strbuf_fill(line->page->out, ' ', 3);
        line->columns += 3;
    }
    cb_styled_add(line->page->out, style, line->page->color, text);
    line->columns += length;
}

/* "2 nodes x 8 ranks", or "3 nodes, 10 ranks" where the nodes differ. */
static void format_shape(const struct cb_result *result, char *text, size_t size_bytes)
{
    size_t nodes = result->nodes.count;
    size_t ranks = (size_t)result->rank_count;
    text[0] = '\0';
    if (result->rank_count <= 0)
        return;
    if (nodes == 0) {
        snprintf(text, size_bytes, "%zu rank%s", ranks, plural(ranks));
        return;
    }
    bool even = result->ranks.count == ranks && ranks % nodes == 0;
    for (size_t i = 0; even && i < ranks; i++) {
        const struct cb_rank *rank = &result->ranks.items[i];
        even = rank->local_rank >= 0 && (size_t)rank->local_rank < ranks / nodes;
    }
    size_t shown = even ? ranks / nodes : ranks;
    snprintf(text, size_bytes, "%zu node%s%s%zu rank%s", nodes, plural(nodes), even ? " x " : ", ",
             shown, plural(shown));
}

/* "2026-12-01T10:12:44Z" as "2026-12-01 10:12 UTC"; anything else as it is. */
static void format_date(const char *iso, char *text, size_t size_bytes)
{
    char day[11];
    char minute[6];
    if (sscanf(iso, "%10[0-9-]T%5[0-9:]", day, minute) == 2 && strlen(day) == 10 &&
        strlen(minute) == 5 && iso[strlen(iso) - 1] == 'Z')
        snprintf(text, size_bytes, "%s %s UTC", day, minute);
    else
        snprintf(text, size_bytes, "%.*s", CB_PAGE_COLUMNS - 2, iso);
}

static void format_transport(const struct cb_result *result, char *text, size_t size_bytes)
{
    const char *library = result->transport_library;
    bool repeats = strstr(result->transport_library, result->transport_version) != NULL;
    int length = snprintf(text, size_bytes, "%s%s%s%s%s", result->transport, *library ? ", " : "",
                          library, repeats ? "" : ", ", repeats ? "" : result->transport_version);
    if (length > CB_PAGE_COLUMNS - 2)
        strcpy(text + CB_PAGE_COLUMNS - 2 - 3, "...");
}

/* A judgement on paper: nothing ran. */
static bool is_paper(const struct cb_result *result)
{
    return result->rank_count == 0 && result->transport[0] == '\0' &&
           result->collectives.count == 0 && result->pairs.count == 0 &&
           result->kernels.count == 0 && result->burns.count == 0;
}

static const char *const stops[][2] = {
    {"signal", "by a signal"},
    {"time_limit", "by the time limit"},
    {"fault", "by a fault"},
};

static void add_stopped(struct cb_page *page)
{
    const char *cause = page->result->stopped_by;
    char by[CB_NAME + 4] = "";
    if (*cause)
        snprintf(by, sizeof(by), "by %s", cause);
    for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++)
        if (strcmp(stops[i][0], cause) == 0)
            snprintf(by, sizeof(by), "%s", stops[i][1]);
    cb_strbuf_add(page->out, "\n");
    if (*by)
        cb_page_headline(page, "STOPPED EARLY", CB_STYLE_WARN,
                         "%s: what was measured until then is below", by);
    else
        cb_page_headline(page, "NOT FINISHED", CB_STYLE_WARN, "what was measured is below");
}

static void add_header(struct cb_page *page)
{
    const struct cb_result *result = page->result;
    struct header_line line = {.page = page};
    char item[HEADER_ITEM_BYTES];
    snprintf(item, sizeof(item), "commbound %.60s", result->tool_version);
    add_item(&line, CB_STYLE_STRONG, item);
    add_item(&line, CB_STYLE_WARN, result->simulated ? "SIMULATED" : "");
    if (result->imports.count > 0) {
        add_item(&line, CB_STYLE_PLAIN, "measured by others");
    } else if (is_paper(result)) {
        add_item(&line, CB_STYLE_PLAIN, "on paper: nothing was measured");
    } else {
        format_shape(result, item, sizeof(item));
        add_item(&line, CB_STYLE_PLAIN, item);
        format_transport(result, item, sizeof(item));
        add_item(&line, CB_STYLE_PLAIN, item);
    }
    format_date(result->started_at, item, sizeof(item));
    add_item(&line, CB_STYLE_PLAIN, item);
    cb_strbuf_add(page->out, "\n");
    if (result->simulated)
        cb_page_text(page, 2, 2,
                     "the transport is simulated: its times say nothing about hardware");
    if (!result->complete && !is_paper(result))
        add_stopped(page);
}

/* ---- wrong data ---- */

struct wrong_list {
    struct cb_strbuf text;
    size_t count;
};

static void add_wrong_item(struct wrong_list *list, const char *what, uint64_t wrong)
{
    if (list->count++ < WRONG_SHOWN)
        cb_strbuf_addf(&list->text, "%s%s", list->count > 1 ? "; " : "", what);
    else
        return;
    if (wrong > 0)
        cb_strbuf_addf(&list->text, " (%llu element%s)", (unsigned long long)wrong,
                       plural((size_t)wrong));
}

static bool is_wrong(uint64_t wrong, enum cb_status status)
{
    return wrong > 0 || status == CB_STATUS_WRONG;
}

static void find_wrong(const struct cb_page *page, struct wrong_list *list)
{
    const struct cb_result *result = page->result;
    char what[CB_TEXT];
    char size[CB_UNIT_TEXT];
    for (size_t i = 0; i < result->collectives.count; i++) {
        const struct cb_collective_row *row = &result->collectives.items[i];
        if (!is_wrong(row->wrong, row->status))
            continue;
        snprintf(what, sizeof(what), "%s %s %s at %s%s", cb_op_name(row->op),
                 cb_dtype_name(row->dtype), cb_scope_name(row->scope),
                 cb_format_bytes(size, row->size_bytes), row->in_place ? " in place" : "");
        add_wrong_item(list, what, row->wrong);
    }
    for (size_t i = 0; i < result->pairs.count; i++) {
        const struct cb_pair_row *row = &result->pairs.items[i];
        if (row->status != CB_STATUS_WRONG)
            continue;
        snprintf(what, sizeof(what), "link %s to %s", row->a, row->b);
        add_wrong_item(list, what, 0);
    }
    for (size_t i = 0; i < result->kernels.count; i++) {
        const struct cb_kernel_row *row = &result->kernels.items[i];
        if (!is_wrong(row->wrong, row->status))
            continue;
        snprintf(what, sizeof(what), "%s %s on %s, rank %d", row->kernel, cb_dtype_name(row->dtype),
                 cb_lookup_host_of_rank(&page->lookup, row->rank), row->rank);
        add_wrong_item(list, what, row->wrong);
    }
    for (size_t i = 0; i < result->burns.count; i++) {
        const struct cb_burn_row *row = &result->burns.items[i];
        if (!is_wrong(row->wrong, row->status))
            continue;
        snprintf(what, sizeof(what), "burn %s on %s, rank %d", cb_dtype_name(row->dtype),
                 cb_lookup_host_of_rank(&page->lookup, row->rank), row->rank);
        add_wrong_item(list, what, row->wrong);
    }
}

static void add_wrong(struct cb_page *page)
{
    struct wrong_list list = {0};
    find_wrong(page, &list);
    if (list.count > 0) {
        char more[64] = "";
        if (list.count > WRONG_SHOWN)
            snprintf(more, sizeof(more), "; and %zu more", list.count - WRONG_SHOWN);
        cb_strbuf_add(page->out, "\n");
        cb_page_headline(page, "WRONG DATA", CB_STYLE_BAD,
                         "in %zu measurement%s: %s%s. Trust no figure of this run until the cause "
                         "is found.",
                         list.count, plural(list.count), cb_strbuf_get(&list.text), more);
    }
    page->out->failed |= list.text.failed;
    cb_strbuf_fini(&list.text);
}

int cb_render_text(const struct cb_result *result, const struct cb_report_options *options,
                   struct cb_strbuf *out, struct cb_error *err)
{
    static void (*const sections[])(struct cb_page *) = {
        add_header,
        add_wrong,
        cb_page_add_imports,
        cb_page_add_verdict,
        cb_page_add_offer,
        cb_page_add_training,
        cb_page_add_workloads,
        cb_page_add_links,
        cb_page_add_collectives,
        cb_page_add_algorithms,
        cb_page_add_fits,
        cb_page_add_kernels,
        cb_page_add_gpus,
        cb_page_add_unmeasured,
        cb_page_add_cluster,
        cb_page_add_topology,
        cb_page_add_findings,
        cb_page_add_checks,
        cb_page_add_warnings,
        cb_page_add_assumed,
    };
    struct cb_page page = {.result = result, .out = out, .color = options->color};
    if (cb_lookup_init(&page.lookup, result) != 0)
        return cb_fail(err, CB_E_MEMORY, "no memory for the text report");
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
        sections[i](&page);
    if (options->result_path) {
        /* Never broken, however long: it is there to be copied. */
        cb_strbuf_add(out, "\n  result   ");
        cb_printable_add(out, options->result_path);
        cb_strbuf_add(out, "\n");
    }
    cb_lookup_fini(&page.lookup);
    return 0;
}

/* What was taken from other programs' output: first what may be said of it, then figures. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "report/page.h"

#define LABEL_BYTES 32

struct state_row {
    const char *label;
    const char *meaning;
    enum cb_style style;
};

static const struct state_row states[] = {
    [CB_IMPORT_INVALID] = {"INVALID", "nothing may be judged by it", CB_STYLE_BAD},
    [CB_IMPORT_NO_RESULT] = {"NO RESULT", "it holds no row of data", CB_STYLE_BAD},
    [CB_IMPORT_PROVISIONAL] = {"PROVISIONAL", "more output is needed to be sure", CB_STYLE_WARN},
    [CB_IMPORT_GRADED] = {"GRADED", "complete", CB_STYLE_GOOD},
};
_Static_assert(sizeof(states) / sizeof(states[0]) == CB_IMPORT_STATE_COUNT, "one row per state");

/* "all_reduce float, 16 ranks on 2 nodes, 32 rows up to 16 GiB" */
static void describe(const struct cb_import *import, struct cb_strbuf *out)
{
    char size[CB_UNIT_TEXT];
    cb_strbuf_addf(out, "%s%s%s", import->op[0] ? import->op : "unknown collective",
                   import->dtype[0] ? " " : "", import->dtype);
    if (import->ranks > 0)
        cb_strbuf_addf(out, ", %d rank%s", import->ranks, import->ranks == 1 ? "" : "s");
    if (import->nodes > 0)
        cb_strbuf_addf(out, " on %d node%s", import->nodes, import->nodes == 1 ? "" : "s");
    if (import->gpu[0])
        cb_strbuf_addf(out, ", %s", import->gpu);
    if (import->rows > 0)
        cb_strbuf_addf(out, ", %d row%s up to %s", import->rows, import->rows == 1 ? "" : "s",
                       cb_format_bytes(size, import->largest_bytes));
    if (import->tool[0])
        cb_strbuf_addf(out, " (%s)", import->tool);
}

static void add_figures(const struct cb_import *import, struct cb_strbuf *out)
{
    char rate[CB_UNIT_TEXT], size[CB_UNIT_TEXT];
    double out_of_place = import->best_bus_bytes_per_s;
    double in_place = import->best_in_place_bytes_per_s;
    if (!(out_of_place > 0) && !(in_place > 0))
        return;
    cb_strbuf_add(out, "; best bus bandwidth ");
    if (out_of_place > 0)
        cb_strbuf_addf(out, "%s out of place", cb_format_bandwidth(rate, out_of_place));
    if (in_place > 0)
        cb_strbuf_addf(out, "%s%s in place", out_of_place > 0 ? ", " : "",
                       cb_format_bandwidth(rate, in_place));
    cb_strbuf_addf(out, ", at %s", cb_format_bytes(size, import->best_bytes));
}

static void add_finding(struct cb_page *page, const struct cb_import_finding *finding)
{
    if (finding->line > 0)
        cb_page_text(page, CB_PAGE_INDENT, CB_PAGE_HANG, "line %d: %s", finding->line,
                     finding->text);
    else
        cb_page_text(page, CB_PAGE_INDENT, CB_PAGE_HANG, "%s", finding->text);
    if (finding->hint[0])
        cb_page_text(page, CB_PAGE_HANG, CB_PAGE_HANG + 3, "-> %s", finding->hint);
}

static void add_import(struct cb_page *page, const struct cb_import *import)
{
    const struct state_row *state = &states[import->state];
    struct cb_strbuf what = {0}, figures = {0};
    char label[LABEL_BYTES];
    describe(import, &what);
    add_figures(import, &figures);
    cb_page_section(page, "IMPORTED", "%s: %s", import->file, cb_strbuf_get(&what));
    snprintf(label, sizeof(label), "  %s", state->label);
    cb_page_headline(page, label, state->style, "%s%s", state->meaning, cb_strbuf_get(&figures));
    for (size_t i = 0; i < import->findings.count; i++)
        add_finding(page, &import->findings.items[i]);
    page->out->failed |= what.failed || figures.failed;
    cb_strbuf_fini(&what);
    cb_strbuf_fini(&figures);
}

void cb_page_add_imports(struct cb_page *page)
{
    for (size_t i = 0; i < page->result->imports.count; i++)
        add_import(page, &page->result->imports.items[i]);
}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/page.h"

#define WARNINGS_SHOWN 20
#define ASSUMED_MAX 8

struct status_row {
    const char *text;
    enum cb_style style;
};

static const struct status_row statuses[] = {
    [CB_CHECK_MET] = {"met", CB_STYLE_GOOD},
    [CB_CHECK_SHORT] = {"short", CB_STYLE_WARN},
    [CB_CHECK_ALARM] = {"alarm", CB_STYLE_BAD},
    [CB_CHECK_NOT_TESTED] = {"not tested", CB_STYLE_PLAIN},
    [CB_CHECK_NO_REFERENCE] = {"no reference", CB_STYLE_PLAIN},
};
_Static_assert(sizeof(statuses) / sizeof(statuses[0]) == CB_CHECK_STATUS_COUNT, "a row per status");

/* Worst first; what was met is only counted. */
static const enum cb_check_status shown[] = {CB_CHECK_ALARM, CB_CHECK_SHORT, CB_CHECK_NOT_TESTED,
                                             CB_CHECK_NO_REFERENCE};

struct unit_row {
    const char *unit;
    const char *(*format)(char out[CB_UNIT_TEXT], double value);
};

static const struct unit_row units[] = {
    {"byte/s", cb_format_bandwidth}, {"bytes/s", cb_format_bandwidth}, {"s", cb_format_time},
    {"share", cb_format_share},      {"flop/s", cb_format_flops},
};

static const char *format_value(char out[CB_UNIT_TEXT], double value, const char *unit)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (value > 0 && strcmp(unit, units[i].unit) == 0)
            return units[i].format(out, value);
    snprintf(out, CB_UNIT_TEXT, "%.6g %.15s", value, unit);
    return out;
}

static void add_check(struct cb_page *page, const struct cb_check *check)
{
    char actual[CB_UNIT_TEXT];
    char required[CB_UNIT_TEXT];
    bool judged = check->status == CB_CHECK_ALARM || check->status == CB_CHECK_SHORT;
    cb_strbuf_fill(page->out, ' ', CB_PAGE_INDENT);
    cb_styled_add(page->out, statuses[check->status].style, page->color,
                  statuses[check->status].text);
    char text[sizeof(check->summary) + 256];
    if (judged)
        snprintf(text, sizeof(text), "%s: %s, required %s %s; %s%s%s%s", check->id,
                 format_value(actual, check->actual, check->unit), check->operator_text,
                 format_value(required, check->required, check->unit), check->summary,
                 check->source[0] ? " (" : "", check->source, check->source[0] ? ")" : "");
    else
        snprintf(text, sizeof(text), "%s: %s", check->id, check->summary);
    int columns = CB_PAGE_INDENT + (int)strlen(statuses[check->status].text) + 2;
    cb_strbuf_fill(page->out, ' ', 2);
    cb_paragraph_add(page->out, columns, CB_PAGE_INDENT + 2, text);
    if (check->remedy[0])
        cb_page_text(page, CB_PAGE_INDENT + 2, "-> %s", check->remedy);
}

void cb_page_add_checks(struct cb_page *page)
{
    const struct cb_result *result = page->result;
    size_t counts[CB_CHECK_STATUS_COUNT] = {0};
    if (result->checks.count == 0)
        return;
    for (size_t i = 0; i < result->checks.count; i++)
        counts[result->checks.items[i].status]++;
    char text[128] = "";
    int used = 0;
    for (int i = 0; i < CB_CHECK_STATUS_COUNT; i++)
        used += snprintf(text + used, sizeof(text) - (size_t)used, "%s%s %zu", i > 0 ? ", " : "",
                         statuses[i].text, counts[i]);
    cb_page_section(page, "CHECKS", "%s", text);
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
        for (size_t at = 0; at < result->checks.count; at++)
            if (result->checks.items[at].status == shown[i])
                add_check(page, &result->checks.items[at]);
}

void cb_page_add_warnings(struct cb_page *page)
{
    const struct cb_result *result = page->result;
    if (result->warnings.count == 0)
        return;
    cb_page_section(page, "WARNINGS", "%s", "");
    for (size_t i = 0; i < result->warnings.count && i < WARNINGS_SHOWN; i++) {
        const struct cb_message *warning = &result->warnings.items[i];
        cb_page_text(page, CB_PAGE_INDENT, "%s", warning->text);
        if (warning->hint[0])
            cb_page_text(page, CB_PAGE_INDENT + 2, "-> %s", warning->hint);
    }
    if (result->warnings.count > WARNINGS_SHOWN)
        cb_page_text(page, CB_PAGE_INDENT, "and %zu more, in the result file",
                     result->warnings.count - WARNINGS_SHOWN);
}

/* ---- what is assumed ---- */

static int by_length(const void *a, const void *b)
{
    size_t left = strlen(*(const char *const *)a);
    size_t right = strlen(*(const char *const *)b);
    return (left > right) - (left < right);
}

void cb_page_add_assumed(struct cb_page *page)
{
    const struct cb_formula *formula = &page->result->formula;
    const char *items[ASSUMED_MAX];
    size_t count = 0;
    char once[CB_NAME];
    if (!formula->judged)
        return;
    items[count++] = "no communication is hidden behind compute";
    items[count++] = "4 bytes per parameter and synchronisation: what a ring all_reduce of 2-byte "
                     "gradients moves per rank";
    if (formula->communications_source == CB_FROM_ASSUMED) {
        snprintf(once, sizeof(once), "%.6g synchronisation%s", formula->communications,
                 formula->communications == 1 ? " per step" : "s");
        items[count++] = once;
    }
    if (page->result->workloads.count > 0)
        items[count++] = "the tokens per rank and step of the workloads";
    if (formula->time_source == CB_FROM_MEASURED && formula->tokens_per_step > 0)
        items[count++] = "what the compute time's line marks so";
    if (formula->time_source == CB_FROM_ASSUMED && formula->time_note[0])
        items[count++] = formula->time_note;
    if (formula->bandwidth_source == CB_FROM_ASSUMED && formula->bandwidth_note[0])
        items[count++] = formula->bandwidth_note;
    if (formula->bandwidth_source == CB_FROM_EXTRAPOLATED)
        items[count++] = "beyond the sizes measured the bandwidth stays as it is there";
    qsort(items, count, sizeof(*items), by_length);
    struct cb_strbuf text = {0};
    for (size_t i = 0; i < count; i++)
        cb_strbuf_addf(&text, "%s%s", i > 0 ? "; " : "", items[i]);
    cb_page_section(page, "ASSUMED", "%s", cb_strbuf_get(&text));
    page->out->failed |= text.failed;
    cb_strbuf_fini(&text);
}

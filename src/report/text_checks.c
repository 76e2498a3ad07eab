#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/names.h"
#include "report/page.h"

#define IDS_SHOWN 8
#define WARNINGS_SHOWN 20

struct status_row {
    const char *text;
    enum cb_style style;
    int place; /* on the page: worst first; negative: only counted */
};

static const struct status_row statuses[] = {
    [CB_CHECK_MET] = {"met", CB_STYLE_GOOD, -1},
    [CB_CHECK_SHORT] = {"short", CB_STYLE_WARN, 1},
    [CB_CHECK_ALARM] = {"alarm", CB_STYLE_BAD, 0},
    [CB_CHECK_NOT_TESTED] = {"not tested", CB_STYLE_PLAIN, 2},
    [CB_CHECK_NO_REFERENCE] = {"no reference", CB_STYLE_PLAIN, 3},
};
_Static_assert(sizeof(statuses) / sizeof(statuses[0]) == CB_CHECK_STATUS_COUNT, "a row per status");

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
    size_t length = strnlen(unit, 15);
    bool is_plural = length > 1 && unit[length - 1] == 's';
    snprintf(out, CB_UNIT_TEXT, "%.6g %.*s", value, (int)(length - (is_plural && value == 1)),
             unit);
    return out;
}

/* A check that is shown; those with the same to say about them share a group. */
struct entry {
    const struct cb_check *check;
    size_t group; /* in order of first appearance */
};

static bool is_judged(const struct cb_check *check)
{
    return check->status == CB_CHECK_ALARM || check->status == CB_CHECK_SHORT;
}

static int by_place(const void *a, const void *b)
{
    const struct entry *left = a;
    const struct entry *right = b;
    int places = statuses[left->check->status].place - statuses[right->check->status].place;
    if (places != 0)
        return places;
    if (left->group != right->group)
        return left->group < right->group ? -1 : 1;
    return (left->check > right->check) - (left->check < right->check);
}

static int collect(const struct cb_result *result, struct entry *entries, size_t *count)
{
    struct cb_names groups = {0};
    int rc = 0;
    *count = 0;
    for (size_t i = 0; i < result->checks.count && rc == 0; i++) {
        const struct cb_check *check = &result->checks.items[i];
        if (statuses[check->status].place < 0)
            continue;
        char key[sizeof(check->summary) + 24];
        if (is_judged(check))
            snprintf(key, sizeof(key), "%zu", i);
        else
            snprintf(key, sizeof(key), "%s %s", statuses[check->status].text, check->summary);
        struct entry *entry = &entries[(*count)++];
        entry->check = check;
        rc = cb_names_intern(&groups, key, &entry->group);
    }
    qsort(entries, *count, sizeof(*entries), by_place);
    cb_names_fini(&groups);
    return rc;
}

/* "network.healthy, network.advertised: why not", one line for checks of one reason. */
static void add_group(struct cb_page *page, const struct entry *entries, size_t count)
{
    const struct cb_check *check = entries[0].check;
    const struct status_row *status = &statuses[check->status];
    char actual[CB_UNIT_TEXT];
    char required[CB_UNIT_TEXT];
    char label[CB_NAME];
    struct cb_strbuf ids = {0};
    for (size_t i = 0; i < count && i < IDS_SHOWN; i++)
        cb_strbuf_addf(&ids, "%s%s", i > 0 ? ", " : "", entries[i].check->id);
    if (count > IDS_SHOWN)
        cb_strbuf_addf(&ids, ", and %zu more", count - IDS_SHOWN);
    snprintf(label, sizeof(label), "  %s", status->text);
    if (is_judged(check)) {
        cb_page_headline(page, label, status->style, "%s: %s, required %s %s%s%s%s", check->id,
                         format_value(actual, check->actual, check->unit), check->operator_text,
                         format_value(required, check->required, check->unit),
                         check->source[0] ? " (" : "", check->source, check->source[0] ? ")" : "");
        cb_page_text(page, CB_PAGE_HANG, CB_PAGE_HANG, "%s", check->summary);
    } else {
        cb_page_headline(page, label, status->style, "%s: %s", cb_strbuf_get(&ids), check->summary);
    }
    if (check->remedy[0])
        cb_page_text(page, CB_PAGE_HANG, CB_PAGE_HANG + 3, "-> %s", check->remedy);
    page->out->failed |= ids.failed;
    cb_strbuf_fini(&ids);
}

static void add_counts(struct cb_page *page)
{
    const struct cb_result *result = page->result;
    size_t counts[CB_CHECK_STATUS_COUNT] = {0};
    for (size_t i = 0; i < result->checks.count; i++)
        counts[result->checks.items[i].status]++;
    char text[160] = "";
    int used = 0;
    for (int i = 0; i < CB_CHECK_STATUS_COUNT; i++)
        used += snprintf(text + used, sizeof(text) - (size_t)used, "%s%s %zu", i > 0 ? ", " : "",
                         statuses[i].text, counts[i]);
    cb_page_section(page, "CHECKS", "%s", text);
}

/* Met like any other, but its figures are an answer: is this number normal? */
static void add_published(struct cb_page *page)
{
    for (size_t i = 0; i < page->result->checks.count; i++) {
        const struct cb_check *check = &page->result->checks.items[i];
        if (check->status == CB_CHECK_MET && strcmp(check->id, "collective.published") == 0)
            cb_page_headline(page, "  normal", CB_STYLE_GOOD, "%s; source: %s", check->summary,
                             check->source);
    }
}

void cb_page_add_checks(struct cb_page *page)
{
    const struct cb_result *result = page->result;
    if (result->checks.count == 0)
        return;
    struct entry *entries = calloc(result->checks.count, sizeof(*entries));
    size_t count = 0;
    if (!entries || collect(result, entries, &count) != 0) {
        page->out->failed = true;
        count = 0;
    }
    add_counts(page);
    add_published(page);
    for (size_t first = 0; first < count;) {
        size_t length = 1;
        while (first + length < count && entries[first + length].group == entries[first].group)
            length++;
        add_group(page, entries + first, length);
        first += length;
    }
    free(entries);
}

void cb_page_add_warnings(struct cb_page *page)
{
    const struct cb_result *result = page->result;
    if (result->warnings.count == 0)
        return;
    cb_page_section(page, "WARNINGS", "%s", "");
    for (size_t i = 0; i < result->warnings.count && i < WARNINGS_SHOWN; i++) {
        const struct cb_message *warning = &result->warnings.items[i];
        cb_page_text(page, CB_PAGE_INDENT, CB_PAGE_HANG, "%s", warning->text);
        if (warning->hint[0])
            cb_page_text(page, CB_PAGE_HANG, CB_PAGE_HANG + 3, "-> %s", warning->hint);
    }
    if (result->warnings.count > WARNINGS_SHOWN)
        cb_page_text(page, CB_PAGE_INDENT, CB_PAGE_HANG, "and %zu more, in the result file",
                     result->warnings.count - WARNINGS_SHOWN);
}

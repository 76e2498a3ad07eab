#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/page.h"

/* Significant digits: of what a hand computation starts from, of what it comes to, of the share. */
#define DIGITS_GIVEN 6
#define DIGITS_MADE 5
#define DIGITS_SHARE 3
#define DIGITS_MOST 12
#define TEXT_COLUMNS 11 /* where the text beside VERDICT starts */
#define LONG_S 600      /* from here on seconds are also shown as minutes, hours or days */

/* A figure without a prefix, as a pocket calculator takes it: "0.117381", "238540", "7e9". */
static const char *format_plain(char out[CB_UNIT_TEXT], double value, int digits)
{
    if (fabs(value) < 1e7 && fabs(value) >= pow(10, digits)) {
        snprintf(out, CB_UNIT_TEXT, "%.0f", value);
        return out;
    }
    snprintf(out, CB_UNIT_TEXT, "%.*g", digits, value);
    char *exponent = strchr(out, 'e');
    if (exponent)
        snprintf(exponent, CB_UNIT_TEXT - (size_t)(exponent - out), "e%ld",
                 strtol(exponent + 1, NULL, 10));
    return out;
}

/* "238.54 s"; long times also in a unit that people think in: "238540 s (66.3 h)". */
static const char *format_seconds(char out[2 * CB_UNIT_TEXT + 8], double seconds)
{
    char plain[CB_UNIT_TEXT];
    char human[CB_UNIT_TEXT];
    format_plain(plain, seconds, DIGITS_MADE);
    if (seconds < LONG_S)
        snprintf(out, 2 * CB_UNIT_TEXT + 8, "%s s", plain);
    else
        snprintf(out, 2 * CB_UNIT_TEXT + 8, "%s s (%s)", plain, cb_format_time(human, seconds));
    return out;
}

static void format_percent(char out[CB_UNIT_TEXT], double share, int digits)
{
    char plain[CB_UNIT_TEXT];
    snprintf(out, CB_UNIT_TEXT, "%.20s %%", format_plain(plain, share * 100, digits));
}

/* A share with as many digits as it takes to see on which side of the threshold it is. */
static const char *format_share_beside(char out[CB_UNIT_TEXT], double share, double threshold)
{
    char limit[CB_UNIT_TEXT];
    for (int digits = DIGITS_SHARE; digits <= DIGITS_MOST; digits++) {
        format_percent(out, share, digits);
        format_percent(limit, threshold, digits);
        if (strcmp(out, limit) != 0)
            break;
    }
    if (strcmp(out, limit) == 0)
        format_percent(out, share, DIGITS_SHARE);
    return out;
}

/* The same for a headline: whole per cents where they suffice. */
static const char *format_share_short(char out[CB_UNIT_TEXT], double share, double threshold)
{
    char limit[CB_UNIT_TEXT];
    cb_format_share(out, share);
    if (share != threshold && strcmp(out, cb_format_share(limit, threshold)) == 0)
        format_share_beside(out, share, threshold);
    return out;
}

/* " (measured: note)", or " (measured)" */
static void format_origin(char *out, size_t size_bytes, enum cb_provenance source, const char *note)
{
    snprintf(out, size_bytes, " (%s%s%s)", cb_provenance_name(source), *note ? ": " : "", note);
}

struct span_row {
    const char *of;    /* what the share is a share of */
    const char *label; /* of the time's line */
    const char *unit;  /* what comes after the time */
};

static const struct span_row spans[] = {
    [CB_SPAN_TOTAL] = {"of the training time", "training time", ""},
    [CB_SPAN_STEP] = {"of a step", "step time", " per step"},
    [CB_SPAN_COMPUTE] = {"of a step", "compute time", " per step"},
};
_Static_assert(sizeof(spans) / sizeof(spans[0]) == CB_SPAN_COUNT, "one row per span");

struct outcome_row {
    const char *text;
    const char *brief;
    enum cb_style style;
};

static const struct outcome_row *outcome(const struct cb_formula *formula)
{
    static const struct outcome_row undecided = {"undecided", "undecided", CB_STYLE_WARN};
    static const struct outcome_row bound = {"communication-bound", "bound", CB_STYLE_BAD};
    static const struct outcome_row free = {"not communication-bound", "not bound", CB_STYLE_GOOD};
    return formula->undecided ? &undecided : formula->bottleneck ? &bound : &free;
}

/* What a batch is counted in. */
static const char *batch_unit(const struct cb_page *page)
{
    return page->result->prediction.training.job.sample_flops > 0 ? "samples" : "tokens";
}

static void add_workload_name(struct cb_page *page, const struct cb_formula *formula)
{
    char parameters[CB_UNIT_TEXT];
    char tokens[CB_UNIT_TEXT];
    char name[CB_NAME];
    if (formula->workload[0])
        snprintf(name, sizeof(name), "%s", formula->workload);
    else if (formula->parameters > 0)
        snprintf(name, sizeof(name), "%s parameters",
                 cb_format_count(parameters, formula->parameters));
    else
        return;
    if (formula->tokens_per_step > 0)
        cb_page_text(page, TEXT_COLUMNS, TEXT_COLUMNS, "%s, %s %s per rank and step", name,
                     cb_format_count(tokens, formula->tokens_per_step), batch_unit(page));
    else
        cb_page_text(page, TEXT_COLUMNS, TEXT_COLUMNS, "%s", name);
}

static void add_unjudged(struct cb_page *page, const struct cb_formula *formula)
{
    const char *first = formula->bandwidth_bytes_per_s > 0 ? "" : formula->bandwidth_note;
    const char *second = formula->time_s > 0 ? "" : formula->time_note;
    bool silent =
        formula->parameters > 0 && !(formula->communications > 0) && page->result->rank_count != 1;
    if (silent) {
        cb_page_headline(page, "VERDICT", CB_STYLE_WARN, "none by the formula: %s%s",
                         formula->communications_note,
                         cb_result_is_predicted(page->result) ? "; see TRAINING" : "");
        add_workload_name(page, formula);
        return;
    }
    if (*first == '\0' && *second == '\0')
        first = "no workload and no bandwidth to judge";
    cb_page_headline(page, "VERDICT", CB_STYLE_WARN, "none: %s%s%s", first,
                     *first && *second ? "; " : "", second);
    add_workload_name(page, formula);
}

static void add_outcome(struct cb_page *page, const struct cb_formula *formula)
{
    const struct outcome_row *row = outcome(formula);
    char share[CB_UNIT_TEXT];
    char limit[CB_UNIT_TEXT];
    bool impossible = formula->share > 1 && formula->span != CB_SPAN_COMPUTE;
    cb_page_headline(page, "VERDICT", row->style, "%s: %s %s, limit %s", row->text,
                     format_share_short(share, formula->share, formula->threshold),
                     spans[formula->span].of, cb_format_share(limit, formula->threshold));
    if (impossible)
        cb_page_text(page, TEXT_COLUMNS, TEXT_COLUMNS,
                     "the %s time cannot hold that communication unless it is hidden "
                     "behind compute",
                     formula->time_source == CB_FROM_GIVEN ? "stated" : "assumed");
    if (formula->undecided)
        cb_page_text(page, TEXT_COLUMNS, TEXT_COLUMNS, "%s", formula->undecided_note);
    add_workload_name(page, formula);
}

/* The documents' formula with its figures, so that a reader can redo it. */
static void add_communication(struct cb_page *page, const struct cb_formula *formula)
{
    char parameters[CB_UNIT_TEXT];
    char times[CB_UNIT_TEXT];
    char whole[CB_UNIT_TEXT];
    char steps[CB_UNIT_TEXT];
    char bandwidth[CB_UNIT_TEXT];
    char made[2 * CB_UNIT_TEXT + 8];
    char step[2 * CB_UNIT_TEXT + 8];
    cb_page_field(page, "communication", "%s parameters x %g B x %s / %s GB/s = %s",
                  format_plain(parameters, formula->parameters, DIGITS_GIVEN),
                  CB_FORMULA_BYTES_PER_PARAMETER,
                  format_plain(times, formula->communications, DIGITS_GIVEN),
                  format_plain(bandwidth, formula->bandwidth_bytes_per_s / 1e9, DIGITS_GIVEN),
                  format_seconds(made, formula->communication_s));
    double per_step = formula->communications_per_step > 0 ? formula->communications_per_step : 1;
    double step_count = formula->communications / per_step;
    if (step_count != 1 && formula->span != CB_SPAN_TOTAL)
        cb_page_field(page, "", "per step %s s / %s = %s",
                      format_plain(whole, formula->communication_s, DIGITS_MADE),
                      format_plain(steps, step_count, DIGITS_GIVEN),
                      format_seconds(step, formula->step_communication_s));
}

/* The factor of the scheme and where it comes from; nothing for the plain one that all assume. */
static void add_communications(struct cb_page *page, const struct cb_formula *formula)
{
    char per_step[CB_UNIT_TEXT];
    char origin[CB_TEXT + CB_NAME];
    bool plain = formula->communications_per_step_source == CB_FROM_ASSUMED ||
                 formula->communications_per_step_source == CB_FROM_NOWHERE;
    if (plain)
        return;
    format_origin(origin, sizeof(origin), formula->communications_per_step_source,
                  formula->communications_note);
    cb_page_field(page, "communications", "%s per step%s",
                  format_plain(per_step, formula->communications_per_step, DIGITS_GIVEN), origin);
}

static void add_share(struct cb_page *page, const struct cb_formula *formula)
{
    bool whole = formula->span == CB_SPAN_TOTAL;
    char part[CB_UNIT_TEXT];
    char time[CB_UNIT_TEXT];
    char share[CB_UNIT_TEXT];
    char limit[CB_UNIT_TEXT];
    format_plain(part, whole ? formula->communication_s : formula->step_communication_s,
                 DIGITS_MADE);
    format_plain(time, formula->time_s, DIGITS_GIVEN);
    format_share_beside(share, formula->share, formula->threshold);
    format_percent(limit, formula->threshold, DIGITS_SHARE);
    if (formula->span == CB_SPAN_COMPUTE)
        cb_page_field(page, "share", "%s s / (%s s + %s s) = %s, limit %s", part, part, time, share,
                      limit);
    else
        cb_page_field(page, "share", "%s s / %s s = %s, limit %s", part, time, share, limit);
}

static void add_arithmetic(struct cb_page *page, const struct cb_formula *formula)
{
    char plain[CB_UNIT_TEXT];
    char origin[CB_TEXT + 64];
    cb_strbuf_add(page->out, "\n");
    add_communication(page, formula);
    add_communications(page, formula);
    format_origin(origin, sizeof(origin), formula->time_source, formula->time_note);
    cb_page_field(page, spans[formula->span].label, "%s s%s%s",
                  format_plain(plain, formula->time_s, DIGITS_GIVEN), spans[formula->span].unit,
                  origin);
    add_share(page, formula);
    format_origin(origin, sizeof(origin), formula->bandwidth_source, formula->bandwidth_note);
    cb_page_field(page, "bandwidth", "%s GB/s%s",
                  format_plain(plain, formula->bandwidth_bytes_per_s / 1e9, DIGITS_GIVEN), origin);
    char needed[CB_UNIT_TEXT];
    char tokens[CB_UNIT_TEXT];
    char limit[CB_UNIT_TEXT];
    bool counted = formula->critical_tokens > 0;
    cb_page_field(page, "at the limit", "%s%s%s%s%s%s would make it %s",
                  cb_format_bandwidth(needed, formula->required_bytes_per_s),
                  counted ? ", or " : "",
                  counted ? cb_format_count(tokens, formula->critical_tokens) : "",
                  counted ? " " : "", counted ? batch_unit(page) : "",
                  counted ? " per rank and step," : "", cb_format_share(limit, formula->threshold));
}

void cb_page_add_verdict(struct cb_page *page)
{
    const struct cb_formula *formula = &page->result->formula;
    cb_strbuf_add(page->out, "\n");
    if (!formula->judged) {
        add_unjudged(page, formula);
        return;
    }
    add_outcome(page, formula);
    add_arithmetic(page, formula);
}

/* ---- standard workloads ---- */

static void add_workload(struct cb_table *table, const struct cb_formula *row)
{
    char text[CB_UNIT_TEXT];
    cb_table_add(table, CB_STYLE_PLAIN, "%s", row->workload);
    cb_table_add(table, CB_STYLE_PLAIN, "%s", cb_format_count(text, row->tokens_per_step));
    if (!row->judged) {
        for (int i = 0; i < 3; i++)
            cb_table_add(table, CB_STYLE_PLAIN, "-");
        cb_table_add(table, CB_STYLE_WARN, "none");
        cb_table_add(table, CB_STYLE_PLAIN, "-");
        return;
    }
    cb_table_add(table, CB_STYLE_PLAIN, "%s", cb_format_time(text, row->step_communication_s));
    cb_table_add(table, CB_STYLE_PLAIN, "%s", cb_format_time(text, row->time_s));
    cb_table_add(table, CB_STYLE_PLAIN, "%s", format_share_short(text, row->share, row->threshold));
    cb_table_add(table, outcome(row)->style, "%s", outcome(row)->brief);
    cb_table_add(table, CB_STYLE_PLAIN, "%s", cb_format_count(text, row->critical_tokens));
}

void cb_page_add_workloads(struct cb_page *page)
{
    static const struct cb_table_column columns[] = {
        {"workload", CB_ALIGN_LEFT, 10}, {"tokens", CB_ALIGN_RIGHT, 0},
        {"comm.", CB_ALIGN_RIGHT, 0},    {"compute", CB_ALIGN_RIGHT, 0},
        {"share", CB_ALIGN_RIGHT, 0},    {"verdict", CB_ALIGN_LEFT, 0},
        {"would do", CB_ALIGN_RIGHT, 0},
    };
    const struct cb_result *result = page->result;
    if (result->workloads.count == 0)
        return;
    struct cb_table table;
    cb_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < result->workloads.count; i++)
        add_workload(&table, &result->workloads.items[i]);
    cb_page_section(page, "WORKLOADS",
                    "per step; tokens per rank and step: assumed, and how many would do");
    cb_page_table(page, &table);
}

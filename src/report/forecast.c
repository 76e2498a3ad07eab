#include "report/forecast.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/page.h"

#define TABLE_INDENT 2
#define LEAST_SHARE 0.0005 /* what one decimal of a percentage shows */

static const enum cb_style verdict_styles[] = {
    [CB_TRAINING_CLEAR] = CB_STYLE_GOOD,
    [CB_TRAINING_BOUND] = CB_STYLE_BAD,
    [CB_TRAINING_DEPENDS] = CB_STYLE_WARN,
};

/* Bytes of a double; what no computer holds is "-". */
static const char *format_bytes(char out[CB_UNIT_TEXT], double bytes)
{
    return bytes >= 1 && bytes < 9e18 ? cb_format_bytes(out, (uint64_t)bytes) : "-";
}

/* "2, 4 and 8 nodes x 8 ranks". */
static void add_header(struct cb_page *page, const struct cb_forecast *forecast)
{
    size_t count = forecast->runs.count;
    const struct cb_forecast_run *runs = forecast->runs.items;
    bool simulated = false;
    cb_strbuf_addf(page->out, "commbound %.60s   prediction from ", forecast->tool_version);
    for (size_t i = 0; i < count; i++) {
        cb_strbuf_addf(page->out, "%s%d",
                       i == 0           ? ""
                       : i + 1 == count ? " and "
                                        : ", ",
                       runs[i].nodes);
        simulated = simulated || runs[i].simulated;
    }
    if (count > 0)
        cb_strbuf_addf(page->out, " node%s x %d rank%s   %.40s",
                       runs[count - 1].nodes == 1 ? "" : "s", runs[0].gpus_per_node,
                       runs[0].gpus_per_node == 1 ? "" : "s", runs[0].transport);
    cb_strbuf_addf(page->out, "%s\n", simulated ? "   SIMULATED" : "");
}

/* The largest all_reduce that was measured on any number of nodes. */
static double largest_bytes(const struct cb_forecast *forecast)
{
    double largest = 0;
    for (size_t i = 0; i < forecast->runs.count; i++)
        if (forecast->runs.items[i].largest_bytes > largest)
            largest = forecast->runs.items[i].largest_bytes;
    return largest;
}

/* "3.2 %"; the smallest as a bound, since 0 % would say that there is none. */
static void add_share(struct cb_table *table, enum cb_style style, double share)
{
    char text[CB_UNIT_TEXT];
    if (share > 0 && share < LEAST_SHARE)
        cb_table_add(table, style, "< 0.1 %%");
    else
        cb_table_add(table, style, "%s", share > 0 ? cb_format_share(text, share) : "0 %");
}

/* "12-34 %": both ends rounded alike, one decimal below ten. */
static void add_band(struct cb_table *table, double low, double high)
{
    bool is_small = high < 0.1;
    if (high < LEAST_SHARE)
        cb_table_add(table, CB_STYLE_PLAIN, "%s", high > 0 ? "< 0.1 %" : "0 %");
    else
        cb_table_add(table, CB_STYLE_PLAIN, "%.*f-%.*f %%", is_small, 100 * low, is_small,
                     100 * high);
}

static void add_row(struct cb_table *table, const struct cb_forecast_row *row)
{
    char text[CB_UNIT_TEXT];
    cb_table_add(table, CB_STYLE_PLAIN, "%d", row->gpus);
    if (row->reason[0]) {
        for (int i = 0; i < 7; i++)
            cb_table_add(table, CB_STYLE_PLAIN, "-");
        return;
    }
    cb_table_add(table, CB_STYLE_PLAIN, "%s", cb_format_time(text, row->all_reduce_s));
    if (row->bus_bytes_per_s > 0)
        cb_table_add(table, CB_STYLE_PLAIN, "%.3g", row->bus_bytes_per_s / 1e9);
    else
        cb_table_add(table, CB_STYLE_PLAIN, "-");
    cb_table_add(table, CB_STYLE_PLAIN, "%s", cb_format_time(text, row->step_s));
    add_share(table, CB_STYLE_PLAIN, row->serial_share);
    add_band(table, row->exposed_share_low, row->exposed_share_high);
    cb_table_add(table, verdict_styles[row->verdict], "%s", cb_training_verdict_name(row->verdict));
    cb_table_add(table, CB_STYLE_PLAIN, "%s", cb_confidence_name(row->confidence));
}

static void add_table(struct cb_page *page, const struct cb_forecast *forecast)
{
    static const struct cb_table_column columns[] = {
        {"GPUs", CB_ALIGN_RIGHT, 0},   {"all_reduce", CB_ALIGN_RIGHT, 0},
        {"GB/s", CB_ALIGN_RIGHT, 0},   {"step", CB_ALIGN_RIGHT, 0},
        {"serial", CB_ALIGN_RIGHT, 0}, {"exposed", CB_ALIGN_RIGHT, 0},
        {"verdict", CB_ALIGN_LEFT, 0}, {"confidence", CB_ALIGN_LEFT, 0},
    };
    struct cb_table table;
    cb_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < forecast->rows.count; i++)
        add_row(&table, &forecast->rows.items[i]);
    cb_table_render(&table, TABLE_INDENT, page->color, page->out);
    cb_table_fini(&table);
}

/* Where a number of GPUs has no figures. */
static void add_reasons(struct cb_page *page, const struct cb_forecast *forecast)
{
    for (size_t i = 0; i < forecast->rows.count; i++) {
        const struct cb_forecast_row *row = &forecast->rows.items[i];
        if (row->reason[0])
            cb_page_text(page, CB_PAGE_INDENT, CB_PAGE_HANG, "%d GPUs: %s", row->gpus, row->reason);
    }
}

static void add_legend(struct cb_page *page, const struct cb_forecast *forecast)
{
    char size[CB_UNIT_TEXT], largest[CB_UNIT_TEXT], share[CB_UNIT_TEXT];
    double measured_bytes = largest_bytes(forecast);
    cb_strbuf_add(page->out, "\n");
    cb_page_field(page, "all_reduce",
                  "of the gradient as a whole, %s, over all GPUs, and its bus "
                  "bandwidth",
                  format_bytes(size, forecast->gradient_bytes));
    if (measured_bytes > 0 && forecast->gradient_bytes > measured_bytes)
        cb_page_field(page, "",
                      "%.0f times the largest that was measured, %s: from its fit or its "
                      "bandwidth",
                      forecast->gradient_bytes / measured_bytes,
                      format_bytes(largest, measured_bytes));
    cb_page_field(page, "serial", "communication / (communication + compute), nothing hidden");
    cb_page_field(page, "exposed",
                  "share of the step that waits: overlap 0.9 on the fast network "
                  "to none on the slow one; the step is at the expected overlap");
    cb_page_field(page, "verdict", "at %s exposed: clear, bound, or depends on overlap and pace",
                  cb_format_share(share, forecast->threshold));
    cb_page_field(page, "confidence",
                  "of the step's least certain collective; within 4x of what "
                  "was measured +-%.0f %%, beyond +-%.0f %%",
                  100 * cb_confidence_error(CB_CONFIDENCE_WITHIN_4X),
                  100 * cb_confidence_error(CB_CONFIDENCE_BEYOND));
}

static int by_length(const void *a, const void *b)
{
    const struct cb_assumption *left = *(const struct cb_assumption *const *)a;
    const struct cb_assumption *right = *(const struct cb_assumption *const *)b;
    size_t x = strlen(left->text), y = strlen(right->text);
    if (x != y)
        return x < y ? -1 : 1;
    return strcmp(left->name, right->name);
}

/* Shortest first. */
static void add_assumptions(struct cb_page *page, const struct cb_forecast *forecast)
{
    size_t count = forecast->assumptions.count;
    const struct cb_assumption **sorted = calloc(count + 1, sizeof(*sorted));
    if (!sorted) {
        page->out->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++)
        sorted[i] = &forecast->assumptions.items[i];
    qsort(sorted, count, sizeof(*sorted), by_length);
    if (count > 0)
        cb_page_section(page, "ASSUMED", "%s", "");
    for (size_t i = 0; i < count; i++)
        cb_page_text(page, CB_PAGE_INDENT, CB_PAGE_HANG, "%s%s%s%s", sorted[i]->text,
                     sorted[i]->source == CB_FROM_ASSUMED ? "" : " (",
                     sorted[i]->source == CB_FROM_ASSUMED ? ""
                                                          : cb_provenance_name(sorted[i]->source),
                     sorted[i]->source == CB_FROM_ASSUMED ? "" : ")");
    free(sorted);
}

static void render_text(const struct cb_forecast *forecast, const struct cb_report_options *options,
                        struct cb_strbuf *out)
{
    struct cb_page page = {.out = out, .color = options->color};
    char tokens[CB_UNIT_TEXT];
    add_header(&page, forecast);
    if (forecast->tokens_per_gpu > 0)
        cb_page_section(&page, "PREDICTION", "%s, %s, %s tokens per rank and step, %d GPU%s a node",
                        forecast->job, forecast->scheme,
                        cb_format_count(tokens, forecast->tokens_per_gpu), forecast->gpus_per_node,
                        forecast->gpus_per_node == 1 ? "" : "s");
    else
        cb_page_section(&page, "PREDICTION", "%s, %s, %d GPU%s a node", forecast->job,
                        forecast->scheme, forecast->gpus_per_node,
                        forecast->gpus_per_node == 1 ? "" : "s");
    add_table(&page, forecast);
    add_reasons(&page, forecast);
    add_legend(&page, forecast);
    add_assumptions(&page, forecast);
    if (options->result_path) {
        cb_strbuf_add(out, "\n  result   ");
        cb_printable_add(out, options->result_path);
        cb_strbuf_add(out, "\n");
    }
}

int cb_forecast_render(const struct cb_forecast *forecast, enum cb_report_format format,
                       const struct cb_report_options *options, struct cb_strbuf *out,
                       struct cb_error *err)
{
    static const struct cb_report_options plain = {0};
    char *text = NULL;
    int rc = 0;
    switch (format) {
    case CB_REPORT_TEXT:
        render_text(forecast, options ? options : &plain, out);
        break;
    case CB_REPORT_JSON:
        rc = cb_forecast_to_json(forecast, &text, err);
        if (rc == 0)
            cb_strbuf_add(out, text);
        free(text);
        break;
    default:
        rc = cb_fail(err, CB_E_UNSUPPORTED, "there is no %s of a prediction",
                     cb_report_format_name(format));
    }
    if (rc == 0 && out->failed)
        rc = cb_fail(err, CB_E_MEMORY, "no memory for the prediction");
    return rc;
}

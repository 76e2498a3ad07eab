/* What nccl-tests and rccl-tests print, of any generation, with whatever came between. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/reader.h"

#define GIGA 1e9

/* ---- banners and footers ---- */

static double number_behind(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    return at ? strtod(at + strlen(word), NULL) : 0;
}

static bool is_banner(const char *text)
{
    return strstr(text, "nThread") && strstr(text, "minBytes");
}

static int take_banner(struct cb_reader *r, const struct cb_line *line)
{
    struct cb_banner *banner = cb_vec_add(&r->run->banners);
    if (!banner)
        return cb_fail(r->err, CB_E_MEMORY, "no memory to read %s", r->name);
    banner->line = line->number;
    banner->label = line->label;
    banner->rows_before = r->run->rows.count;
    double gpus = number_behind(line->text, "nGpus ");
    banner->gpus = gpus > 0 && gpus < 1e6 ? (int)gpus : 0;
    banner->smallest_bytes = number_behind(line->text, "minBytes ");
    banner->largest_bytes = number_behind(line->text, "maxBytes ");
    banner->iterations = number_behind(line->text, " iters: ");
    const char *iterations = strstr(line->text, "warmup iters: ");
    if (iterations)
        banner->iterations = number_behind(iterations + strlen("warmup "), " iters: ");
    const char *validation = strstr(line->text, "validation: ");
    banner->unchecked = validation && strtol(validation + 12, NULL, 10) == 0;
    return 0;
}

static void take_build(struct cb_run *run, const struct cb_line *line)
{
    if (run->build[0] && strcmp(run->build, line->text) != 0)
        cb_finding_add(&run->findings, CB_FINDING_MIXED_BUILDS, line->number,
                       "two builds of the test take part: \"%.80s\" and \"%.80s\"", run->build,
                       line->text);
    snprintf(run->build, sizeof(run->build), "%.*s", CB_TEXT - 1, line->text);
}

static void take_bounds(struct cb_run *run, const struct cb_line *line)
{
    const char *value = strchr(line->text, ':');
    double wrong = value ? strtod(value + 1, NULL) : 0;
    run->bounds_count++;
    if (wrong > 0 || strstr(line->text, "FAILED"))
        run->bounds_failed_line = line->number;
}

static void take_average(struct cb_run *run, const struct cb_line *line)
{
    const char *value = strchr(line->text, ':');
    run->average_bytes_per_s = value ? strtod(value + 1, NULL) * GIGA : -1;
    run->average_line = line->number;
    run->average_count++;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Dots alone, or words that somebody put in the place of lines. */
static bool is_elision(const struct cb_line *line)
{
    size_t dots = strspn(line->text, ". ");
    if (line->length_bytes >= 3 && dots == line->length_bytes)
        return true;
    return (line->is_marked || *line->text == '[' || *line->text == '(' || dots >= 3) &&
           line->length_bytes < 120 &&
           (strstr(line->text, "truncated") || strstr(line->text, "omitted") ||
            strstr(line->text, "elided") || strstr(line->text, "snip"));
}

/* ---- runs ---- */

/* Whether the run has printed its end as often as its beginning. */
static bool is_over(const struct cb_run *run)
{
    int beginnings = run->banners.count > 1 ? (int)run->banners.count : 1;
    return run->concluded_line > 0 || run->average_count >= beginnings;
}

/* The beginning of a run: a new one where the last is over. */
static int begin(struct cb_reader *r, const struct cb_line *line)
{
    return is_over(r->run) ? cb_reader_begin(r, line) : 0;
}

static int take_heading(struct cb_reader *r, const struct cb_line *line,
                        const struct cb_columns *columns)
{
    int rc = begin(r, line);
    if (rc)
        return rc;
    bool in_place_only = r->run->heading_in_place_only;
    int times = 0;
    r->run->columns = *columns;
    for (int i = 0; i < columns->count; i++)
        times += columns->items[i] == CB_COLUMN_TIME;
    r->run->columns.in_place_first = in_place_only && times == 1;
    r->run->head_lines++;
    return 0;
}

static int take_row(struct cb_reader *r, const struct cb_line *line, struct cb_table_row *row,
                    enum cb_row_kind kind)
{
    struct cb_findings *findings = &r->run->findings;
    row->line = line->number;
    row->label = line->label;
    row->part = (int)r->run->banners.count;
    switch (kind) {
    case CB_ROW_NEGATIVE_TIME:
        cb_finding_add(findings, CB_FINDING_NEGATIVE_TIME, line->number,
                       "a time is negative: the line is not used");
        return 0;
    case CB_ROW_NO_TIME:
        cb_finding_add(findings, CB_FINDING_NO_TIME, line->number,
                       "a line of data holds no time: it is not used");
        return 0;
    case CB_ROW_UNKNOWN_COLUMNS:
        cb_finding_add(findings, CB_FINDING_UNREADABLE_ROW, line->number,
                       "the columns of a line of data cannot be told apart: it is not used");
        return 0;
    default:
        return cb_run_add_row(r->run, row, r->err);
    }
}

/* ---- lines ---- */

/* Lines that tests print around their tables. True when it was one. */
static bool take_frame(struct cb_reader *r, const struct cb_line *line, int *rc)
{
    const char *text = line->text;
    if (is_banner(text)) {
        *rc = begin(r, line);
        if (*rc == 0)
            *rc = take_banner(r, line);
    } else if (starts_with(text, "nccl-tests version") ||
               starts_with(text, "rccl-tests: Version") ||
               starts_with(text, "rccl-tests version")) {
        if (*text == 'n')
            *rc = begin(r, line);
        if (*rc == 0)
            take_build(r->run, line);
        if (*rc == 0)
            snprintf(r->run->tool, sizeof(r->run->tool), "%.10s", text);
    } else if (starts_with(text, "Collective test starting:")) {
        *rc = begin(r, line);
        enum cb_test test = cb_test_find_in(text);
        if (*rc == 0 && test < CB_TEST_COUNT) {
            r->run->test = test;
            r->run->test_line = line->number;
        }
    } else if (starts_with(text, "Collective test concluded")) {
        r->run->concluded_line = line->number;
    } else if (starts_with(text, "Out of bounds values")) {
        take_bounds(r->run, line);
    } else if (starts_with(text, "Avg bus bandwidth")) {
        take_average(r->run, line);
    } else {
        return false;
    }
    return true;
}

/* The program's name in a command line; where it follows a finished run it belongs to the next. */
static int take_command(struct cb_reader *r, const struct cb_line *line)
{
    enum cb_test test = cb_test_find_in(line->text);
    if (test == CB_TEST_COUNT)
        return 0;
    int rc = begin(r, line);
    if (rc == 0 && r->run->test == CB_TEST_COUNT) {
        r->run->test = test;
        r->run->test_line = line->number;
    }
    if (rc == 0 && (strstr(line->text, "NCCL_ALGO=") || strstr(line->text, "NCCL_PROTO=")))
        cb_finding_add(&r->run->findings, CB_FINDING_PINNED, line->number,
                       "NCCL's choice was pinned on the command line (NCCL_ALGO or NCCL_PROTO)");
    return rc;
}

static int take_line(struct cb_reader *r, const struct cb_line *line)
{
    struct cb_columns columns;
    struct cb_table_row row;
    int rc = 0;
    enum cb_row_kind kind = cb_table_row_read(line->text, &r->run->columns, &row);
    if (kind != CB_ROW_NONE)
        return take_row(r, line, &row, kind);
    if (strstr(line->text, "NCCL INFO ")) { /* by far the most of what is no row */
        cb_run_read_nccl(r->run, line);
        return 0;
    }
    if (take_frame(r, line, &rc))
        return rc;
    if (cb_columns_read(line->text, &columns))
        return take_heading(r, line, &columns);
    rc = cb_run_read_rank(r->run, line, r->err);
    if (rc)
        return rc < 0 ? rc : 0;
    if (strstr(line->text, "in-place") || strstr(line->text, "out-of-place"))
        r->run->heading_in_place_only = !strstr(line->text, "out-of-place");
    cb_columns_read_units(line->text, &r->run->columns);
    if (is_elision(line) && !r->run->elided_line)
        r->run->elided_line = line->number;
    cb_run_read_nccl(r->run, line);
    cb_run_read_trouble(r->run, line);
    if (strstr(line->text, "_perf") || strstr(line->text, " -t "))
        rc = take_command(r, line);
    int launched = rc == 0 ? cb_launch_ranks(line->text) : 0;
    if (launched > 0)
        r->run->launched_ranks = launched;
    return rc;
}

int cb_nccl_tests_read(const struct cb_import_source *source, cb_import_logs *logs,
                       struct cb_error *err)
{
    return cb_reader_read(source, take_line, logs, err);
}

bool cb_nccl_tests_is(const struct cb_import_source *source)
{
    static const char *const signs[] = {"Avg bus bandwidth", "Out of bounds values",
                                        "nccl-tests",        "rccl-tests",
                                        "Collective test",   "NCCL INFO",
                                        "NCCL WARN",         "_perf",
                                        "Test CUDA failure", "Test NCCL failure",
                                        "Test failure",      "NCCL version"};
    struct cb_lines lines;
    struct cb_line line;
    struct cb_columns columns;
    struct cb_table_row row;
    struct cb_columns none = {0};
    cb_lines_init(&lines, source->text, source->length_bytes);
    while (cb_lines_next(&lines, &line)) {
        if (is_banner(line.text) || cb_columns_read(line.text, &columns) ||
            cb_table_row_read(line.text, &none, &row) != CB_ROW_NONE)
            return true;
        for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
            if (strstr(line.text, signs[i]))
                return true;
    }
    return false;
}

#define _GNU_SOURCE /* memmem */
/* What the Intel MPI Benchmarks print of a collective. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/formats.h"
#include "import/run.h"

struct reader {
    const struct cb_import_source *source;
    cb_import_logs *logs;
    struct cb_run *run;              /* NULL before the first benchmark */
    int time_column, defects_column; /* of the words of a line; -1: none */
    struct cb_error *err;
};

static bool is_title(const char *text)
{
    return strncmp(text, "Benchmarking ", 13) == 0;
}

static int close_run(struct reader *r)
{
    struct cb_run *run = r->run;
    r->run = NULL;
    int rc = run ? cb_run_close(run, r->logs, r->err) : 0;
    cb_run_free(run);
    return rc;
}

static int take_title(struct reader *r, const struct cb_line *line)
{
    int rc = close_run(r);
    if (rc)
        return rc;
    struct cb_run *run = r->run = cb_run_new(r->source->name, line->number, r->err);
    if (!run)
        return CB_E_MEMORY;
    const char *name = line->text + 13;
    name += strspn(name, " ");
    size_t length = strcspn(name, " ");
    run->test = cb_test_find(name, length);
    if (run->test == CB_TEST_COUNT && (*name == 'I' || *name == 'i')) /* non-blocking */
        run->test = cb_test_find(name + 1, length - 1);
    run->has_no_footers = true;
    snprintf(run->tool, sizeof(run->tool), "IMB");
    r->time_column = r->defects_column = -1;
    if (run->test == CB_TEST_COUNT)
        cb_finding_add(&run->findings, CB_FINDING_NO_TABLE, line->number,
                       "\"%.80s\" is no benchmark of a collective that is known here", line->text);
    return 0;
}

/* The place of a word among those of a line, or -1. */
static int word_place(const char *text, const char *wanted)
{
    size_t length = strlen(wanted);
    for (int place = 0; *text; place++) {
        text += strspn(text, " ");
        if (strncmp(text, wanted, length) == 0 && strcspn(text, " ") >= length)
            return place;
        text += strcspn(text, " ");
    }
    return -1;
}

/* "#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]": the slowest rank's time is what a
 * training step waits for; of overlap tests the communication alone. */
static bool take_heading(struct reader *r, const char *text)
{
    if (word_place(text, "bytes") != 0 || word_place(text, "#repetitions") < 0)
        return false;
    r->time_column = word_place(text, "t_pure[usec]");
    if (r->time_column < 0)
        r->time_column = word_place(text, "t_max[usec]");
    if (r->time_column < 0)
        r->time_column = word_place(text, "t[usec]");
    r->defects_column = word_place(text, "defects");
    return true;
}

/* Reads the numbers of a line; how many there are. */
static int read_numbers(const char *text, double *numbers, int most)
{
    int count = 0;
    for (char *end; count < most; text = end) {
        numbers[count] = strtod(text, &end);
        if (end == text)
            break;
        count++;
    }
    return count;
}

static int take_numbers(struct reader *r, const struct cb_line *line)
{
    enum { MOST = 16 };
    double numbers[MOST];
    struct cb_run *run = r->run;
    int count = read_numbers(line->text, numbers, MOST);
    if (r->time_column < 0 || run->test == CB_TEST_COUNT || count <= r->time_column || count < 3)
        return 0;
    double time_us = numbers[r->time_column];
    if (r->defects_column > 0 && r->defects_column < count && numbers[r->defects_column] > 0)
        cb_finding_add(&run->findings, CB_FINDING_WRONG_RESULTS, line->number,
                       "the benchmark's check found defects");
    return cb_run_add_time(run, line->number, numbers[0], time_us / 1e6, r->err);
}

static int take_line(struct reader *r, const struct cb_line *line)
{
    if (is_title(line->text))
        return take_title(r, line);
    if (!r->run)
        return 0;
    if (strncmp(line->text, "#processes = ", 13) == 0)
        r->run->launched_ranks = cb_line_count_behind(line->text, "#processes = ");
    else if (isdigit((unsigned char)*line->text))
        return take_numbers(r, line);
    else if (!take_heading(r, line->text))
        cb_run_read_trouble(r->run, line);
    return 0;
}

int cb_imb_read(const struct cb_import_source *source, cb_import_logs *logs, struct cb_error *err)
{
    struct reader r = {.source = source, .logs = logs, .err = err};
    struct cb_lines lines;
    struct cb_line line;
    int rc = 0;
    cb_lines_init(&lines, source->text, source->length_bytes);
    while (rc == 0 && cb_lines_next(&lines, &line)) {
        if (is_title(line.text) && logs->count >= CB_IMPORT_RUNS)
            break;
        rc = take_line(&r, &line);
        if (r.run)
            r.run->last_line = line.number;
    }
    if (rc == 0)
        rc = close_run(&r);
    cb_run_free(r.run);
    return rc;
}

bool cb_imb_is(const struct cb_import_source *source)
{
    struct cb_lines lines;
    struct cb_line line;
    bool has_title = false;
    if (!memmem(source->text, source->length_bytes, "Benchmarking ", 13))
        return false;
    cb_lines_init(&lines, source->text, source->length_bytes);
    while (cb_lines_next(&lines, &line)) {
        has_title = has_title || is_title(line.text);
        if (has_title && word_place(line.text, "#repetitions") > 0)
            return true;
    }
    return false;
}

#define _GNU_SOURCE /* memmem */
/* What the Intel MPI Benchmarks print of a collective. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/reader.h"

static bool is_title(const char *text)
{
    return strncmp(text, "Benchmarking ", 13) == 0;
}

static int take_title(struct cb_reader *r, const struct cb_line *line)
{
    int rc = cb_reader_begin_titled(r, line, "IMB");
    if (rc)
        return rc;
    struct cb_run *run = r->run;
    const char *name = line->text + 13;
    name += strspn(name, " ");
    size_t length = strcspn(name, " ");
    run->test = cb_test_find(name, length);
    if (run->test == CB_TEST_COUNT && (*name == 'I' || *name == 'i')) /* non-blocking */
        run->test = cb_test_find(name + 1, length - 1);
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
static bool take_heading(struct cb_run *run, const char *text)
{
    static const char *const times[] = {"t_pure[usec]", "t_max[usec]", "t[usec]"};
    if (word_place(text, "bytes") != 0 || word_place(text, "#repetitions") < 0)
        return false;
    run->time_column = 0;
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]) && run->time_column <= 0; i++)
        run->time_column = word_place(text, times[i]);
    run->defects_column = word_place(text, "defects");
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

static int take_numbers(struct cb_reader *r, const struct cb_line *line)
{
    enum { MOST = 16 };
    double numbers[MOST];
    struct cb_run *run = r->run;
    int count = read_numbers(line->text, numbers, MOST);
    if (run->time_column <= 0 || run->test == CB_TEST_COUNT || count <= run->time_column ||
        count < 3)
        return 0;
    double time_us = numbers[run->time_column];
    if (run->defects_column > 0 && run->defects_column < count && numbers[run->defects_column] > 0)
        cb_finding_add(&run->findings, CB_FINDING_WRONG_RESULTS, line->number,
                       "the benchmark's check found defects");
    return cb_run_add_time(run, line->number, numbers[0], time_us / 1e6, r->err);
}

static int take_line(struct cb_reader *r, const struct cb_line *line)
{
    if (is_title(line->text))
        return take_title(r, line);
    if (!r->run->is_titled)
        return 0;
    if (strncmp(line->text, "#processes = ", 13) == 0)
        r->run->launched_ranks = cb_line_count_behind(line->text, "#processes = ");
    else if (isdigit((unsigned char)*line->text))
        return take_numbers(r, line);
    else if (!take_heading(r->run, line->text))
        cb_run_read_trouble(r->run, line);
    return 0;
}

int cb_imb_read(const struct cb_import_source *source, cb_import_logs *logs, struct cb_error *err)
{
    return cb_reader_read(source, take_line, logs, err);
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

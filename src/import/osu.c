#define _GNU_SOURCE /* memmem */
/* What the OSU micro-benchmarks print of a collective: over MPI, on host or GPU memory, or NCCL. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/reader.h"

/* "OSU MPI-CUDA Allreduce Latency Test v7.0" */
static bool is_title(const char *text)
{
    return strncmp(text, "OSU ", 4) == 0 && strstr(text, " Test");
}

static int take_title(struct cb_reader *r, const struct cb_line *line)
{
    int rc = cb_reader_begin_titled(r, line, "OSU");
    if (rc)
        return rc;
    struct cb_run *run = r->run;
    run->time_column = 1;
    run->launched_ranks = r->launched_ranks;
    for (const char *word = line->text; *word && run->test == CB_TEST_COUNT;
         word += strspn(word, " ")) {
        size_t length = strcspn(word, " ");
        run->test = cb_test_find(word, length);
        word += length;
    }
    if (run->test == CB_TEST_COUNT)
        cb_finding_add(&run->findings, CB_FINDING_NO_TABLE, line->number,
                       "\"%.80s\" is no test of a collective that is known here", line->text);
    return 0;
}

/* "Size  Avg Latency(us)  Min Latency(us)  Max Latency(us)  Iterations": the slowest rank's time is
 * what a training step waits for; of overlap tests the communication alone. Headings are two blanks
 * and more apart. */
static void take_heading(struct cb_run *run, const char *text)
{
    static const char *const wanted[] = {"Pure Comm", "Max Latency", "Avg Latency", "Latency"};
    for (size_t w = 0; w < sizeof(wanted) / sizeof(wanted[0]); w++) {
        int column = 0;
        for (const char *at = text; *at; column++) {
            if (column > 0 && strncmp(at, wanted[w], strlen(wanted[w])) == 0) {
                run->time_column = column;
                return;
            }
            const char *end = strstr(at, "  ");
            at = end ? end + strspn(end, " ") : at + strlen(at);
        }
    }
}

static int take_numbers(struct cb_reader *r, const struct cb_line *line)
{
    char *end;
    const char *at = line->text;
    struct cb_run *run = r->run;
    double size_bytes = strtod(at, &end), time_us = -1;
    if (end == at || (*end != ' ' && *end != '\0') || size_bytes < 0 || run->test == CB_TEST_COUNT)
        return 0;
    for (int column = 1; column <= run->time_column; column++) {
        at = end;
        time_us = strtod(at, &end);
        if (end == at)
            return 0;
    }
    if (strstr(line->text, "Fail"))
        cb_finding_add(&run->findings, CB_FINDING_WRONG_RESULTS, line->number,
                       "the test's validation failed");
    return cb_run_add_time(run, line->number, size_bytes, time_us / 1e6, r->err);
}

static int take_line(struct cb_reader *r, const struct cb_line *line)
{
    int launched = cb_launch_ranks(line->text);
    if (launched > 0)
        r->launched_ranks = launched;
    if (is_title(line->text))
        return take_title(r, line);
    if (!r->run->is_titled) {
        cb_run_read_nccl(r->run, line);
        cb_run_read_trouble(r->run, line);
        return 0;
    }
    if (isdigit((unsigned char)*line->text) || *line->text == '-')
        return take_numbers(r, line);
    if (strncmp(line->text, "Size", 4) == 0)
        take_heading(r->run, line->text);
    else if (strncmp(line->text, "Datatype: ", 10) == 0)
        snprintf(r->run->dtype, sizeof(r->run->dtype), "%.*s", (int)strcspn(line->text + 10, ". "),
                 line->text + 10);
    cb_run_read_nccl(r->run, line);
    cb_run_read_trouble(r->run, line);
    return 0;
}

int cb_osu_read(const struct cb_import_source *source, cb_import_logs *logs, struct cb_error *err)
{
    return cb_reader_read(source, take_line, logs, err);
}

bool cb_osu_is(const struct cb_import_source *source)
{
    struct cb_lines lines;
    struct cb_line line;
    if (!memmem(source->text, source->length_bytes, "OSU ", 4))
        return false;
    cb_lines_init(&lines, source->text, source->length_bytes);
    while (cb_lines_next(&lines, &line))
        if (is_title(line.text))
            return true;
    return false;
}

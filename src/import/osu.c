#define _GNU_SOURCE /* memmem */
/* What the OSU micro-benchmarks print of a collective: over MPI, on host or GPU memory, or NCCL. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/formats.h"
#include "import/run.h"

struct reader {
    const struct cb_import_source *source;
    cb_import_logs *logs;
    struct cb_run *run;
    bool has_title;
    int launched_ranks;
    int time_column; /* of the numbers behind the size */
    struct cb_error *err;
};

/* "OSU MPI-CUDA Allreduce Latency Test v7.0" */
static bool is_title(const char *text)
{
    return strncmp(text, "OSU ", 4) == 0 && strstr(text, " Test");
}

static int close_run(struct reader *r)
{
    struct cb_run *run = r->run;
    int rc = 0;
    r->run = NULL;
    if (r->has_title)
        rc = cb_run_close(run, r->logs, r->err);
    cb_run_free(run);
    return rc;
}

static int take_title(struct reader *r, const struct cb_line *line)
{
    int rc = r->has_title ? close_run(r) : 0;
    if (rc)
        return rc;
    if (!r->run)
        r->run = cb_run_new(r->source->name, line->number, r->err);
    if (!r->run)
        return CB_E_MEMORY;
    struct cb_run *run = r->run;
    r->has_title = true;
    r->time_column = 0;
    run->first_line = line->number;
    run->has_no_footers = true;
    run->launched_ranks = r->launched_ranks;
    snprintf(run->tool, sizeof(run->tool), "OSU");
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
static void take_heading(struct reader *r, const char *text)
{
    static const char *const wanted[] = {"Pure Comm", "Max Latency", "Avg Latency", "Latency"};
    for (size_t w = 0; w < sizeof(wanted) / sizeof(wanted[0]); w++) {
        int column = -1;
        for (const char *at = text; *at; column++) {
            if (column >= 0 && strncmp(at, wanted[w], strlen(wanted[w])) == 0) {
                r->time_column = column;
                return;
            }
            const char *end = strstr(at, "  ");
            at = end ? end + strspn(end, " ") : at + strlen(at);
        }
    }
}

static int take_numbers(struct reader *r, const struct cb_line *line)
{
    char *end;
    const char *at = line->text;
    struct cb_run *run = r->run;
    double size_bytes = strtod(at, &end), time_us = -1;
    if (end == at || (*end != ' ' && *end != '\0') || size_bytes < 0 || run->test == CB_TEST_COUNT)
        return 0;
    for (int column = 0; column <= r->time_column; column++) {
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

static int take_line(struct reader *r, const struct cb_line *line)
{
    int launched = cb_launch_ranks(line->text);
    if (launched > 0)
        r->launched_ranks = launched;
    if (is_title(line->text))
        return take_title(r, line);
    if (!r->has_title) {
        cb_run_read_nccl(r->run, line);
        cb_run_read_trouble(r->run, line);
        return 0;
    }
    if (isdigit((unsigned char)*line->text) || *line->text == '-')
        return take_numbers(r, line);
    if (strncmp(line->text, "Size", 4) == 0)
        take_heading(r, line->text);
    else if (strncmp(line->text, "Datatype: ", 10) == 0)
        snprintf(r->run->dtype, sizeof(r->run->dtype), "%.*s", (int)strcspn(line->text + 10, ". "),
                 line->text + 10);
    cb_run_read_nccl(r->run, line);
    cb_run_read_trouble(r->run, line);
    return 0;
}

int cb_osu_read(const struct cb_import_source *source, cb_import_logs *logs, struct cb_error *err)
{
    struct reader r = {.source = source, .logs = logs, .err = err};
    struct cb_lines lines;
    struct cb_line line;
    int rc = 0;
    r.run = cb_run_new(source->name, 1, err);
    if (!r.run)
        return CB_E_MEMORY;
    cb_lines_init(&lines, source->text, source->length_bytes);
    while (rc == 0 && cb_lines_next(&lines, &line)) {
        if (is_title(line.text) && logs->count >= CB_IMPORT_RUNS)
            break;
        rc = take_line(&r, &line);
        if (r.run)
            r.run->last_line = line.number;
    }
    if (r.run && rc == 0)
        rc = close_run(&r);
    cb_run_free(r.run);
    return rc;
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

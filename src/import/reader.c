#include "import/reader.h"

#include <stdio.h>

/* Whether there was nothing of a run. The first of a file is closed all the same, for its findings
 * say why the file holds none. */
static bool is_empty(const struct cb_reader *r)
{
    const struct cb_run *run = r->run;
    return !run->is_titled && run->rows.count == 0 && run->banners.count == 0 &&
           run->head_lines == 0 && run->ranks.count == 0 && run->average_count == 0 &&
           r->logs->count > r->logs_before;
}

static int close_run(struct cb_reader *r)
{
    int rc = is_empty(r) ? 0 : cb_run_close(r->run, r->logs, r->err);
    cb_run_free(r->run);
    r->run = NULL;
    return rc;
}

int cb_reader_begin(struct cb_reader *reader, const struct cb_line *line)
{
    if (reader->logs->count - reader->logs_before + 1 >= CB_IMPORT_RUNS) {
        cb_finding_add(&reader->run->findings, CB_FINDING_SEVERAL_RUNS, line->number,
                       "the file holds more than %d runs: what follows is not read",
                       CB_IMPORT_RUNS);
        return 1;
    }
    int rc = close_run(reader);
    if (rc)
        return rc;
    reader->run = cb_run_new(reader->name, line->number, reader->err);
    return reader->run ? 0 : CB_E_MEMORY;
}

int cb_reader_begin_titled(struct cb_reader *reader, const struct cb_line *line, const char *tool)
{
    int rc = reader->run->is_titled ? cb_reader_begin(reader, line) : 0;
    if (rc)
        return rc;
    struct cb_run *run = reader->run;
    run->is_titled = run->has_no_footers = true;
    run->first_line = line->number;
    snprintf(run->tool, sizeof(run->tool), "%s", tool);
    return 0;
}

int cb_reader_read(const struct cb_import_source *source, cb_take_line *take_line,
                   cb_import_logs *logs, struct cb_error *err)
{
    struct cb_reader r = {
        .name = source->name, .logs = logs, .logs_before = logs->count, .err = err};
    struct cb_lines lines;
    struct cb_line line;
    r.run = cb_run_new(source->name, 1, err);
    int rc = r.run ? 0 : CB_E_MEMORY;
    cb_lines_init(&lines, source->text, source->length_bytes);
    while (rc == 0 && cb_lines_next(&lines, &line)) {
        rc = take_line(&r, &line);
        if (rc == 0)
            r.run->last_line = line.number;
    }
    if (rc >= 0)
        rc = close_run(&r);
    cb_run_free(r.run);
    return rc;
}

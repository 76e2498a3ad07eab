/* The runs of a log that is read line by line. Private to import/. */
#ifndef CB_IMPORT_READER_H
#define CB_IMPORT_READER_H

#include "import/formats.h"
#include "import/lines.h"
#include "import/run.h"

/* What a format's own code sees of it. */
struct cb_reader {
    const char *name;   /* of the file; borrowed */
    struct cb_run *run; /* that lines belong to */
    int launched_ranks; /* that a launcher was last told to start; 0: unknown */
    cb_import_logs *logs;
    size_t logs_before; /* this file */
    struct cb_error *err;
};

/* Takes a line. Returns 0, 1 to end the reading before it, or CB_E_MEMORY. */
typedef int cb_take_line(struct cb_reader *reader, const struct cb_line *line);

/* Reads a source: every line is taken for the run at hand, of which the first is there from the
 * start. Appends a log for each run in which there was something, and for a file without any such
 * one that says so. Errors: CB_E_MEMORY; what was appended until then stays. */
int cb_reader_read(const struct cb_import_source *source, cb_take_line *take_line,
                   cb_import_logs *logs, struct cb_error *err);

/* Closes the run at hand and begins one at a line. Returns 0, 1 where the file holds too many,
 * which the run at hand notes, or CB_E_MEMORY. */
int cb_reader_begin(struct cb_reader *reader, const struct cb_line *line);

/* The same for a program that prints a title before every run and no footers: its name is tool.
 * What was read before the first title belongs to the first run. */
int cb_reader_begin_titled(struct cb_reader *reader, const struct cb_line *line, const char *tool);

#endif

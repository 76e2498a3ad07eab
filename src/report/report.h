/* Renders a result for a person or a program. Pure: no discovery, no file access; the same result
 * gives the same bytes years later. */
#ifndef CB_REPORT_REPORT_H
#define CB_REPORT_REPORT_H

#include <stdbool.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "result/result.h"

enum cb_report_format { CB_REPORT_TEXT, CB_REPORT_JSON, CB_REPORT_CSV, CB_REPORT_FORMAT_COUNT };

/* "text", "json", "csv"; the parser returns -1 for another name. */
const char *cb_report_format_name(enum cb_report_format format);
int cb_report_format_parse(const char *name);

struct cb_report_options {
    const char *result_path; /* shown at the end of the text report; NULL leaves the line out */
    bool color;              /* ANSI colours in text: a terminal, and NO_COLOR unset */
};

/* Appends the report to out. Text is laid out for 80 columns, the verdict first; sections that the
 * result has nothing for are left out, skipped steps are named with their reason. CSV is one header
 * line and one line per collective, pair and kernel row. Errors: CB_E_MEMORY. */
int cb_report_render(const struct cb_result *result, enum cb_report_format format,
                     const struct cb_report_options *options, struct cb_strbuf *out,
                     struct cb_error *err);

#endif

/* The options that say how and where a report is written, as an argp child. */
#ifndef CB_CLI_REPORT_OPTIONS_H
#define CB_CLI_REPORT_OPTIONS_H

#include <argp.h>

#include "cli/cli.h"
#include "report/report.h"

/* Input of the child: give its address in state->child_inputs. */
struct cb_report_input {
    struct cb_cli_input base;
    enum cb_report_format format;
    enum cb_report_format format_end; /* formats from here on are refused */
    const char *path;                 /* NULL or "-": stdout. Borrowed from the command line. */
};

/* Options: --format, --output (-o). Static. */
extern const struct argp cb_report_argp;

/* Text on stdout; only formats below format_end will be taken. */
void cb_report_input_init(struct cb_report_input *input, enum cb_report_format format_end);

/* Renders result and writes it where the options say. result_path is the file it came from, or
 * NULL. Errors: CB_E_IO, CB_E_MEMORY. */
int cb_cli_report(const struct cb_result *result, const struct cb_report_input *input,
                  const char *result_path, struct cb_error *err);

#endif

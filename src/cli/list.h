/* The reference tables for people and programs: what --list prints. */
#ifndef CB_CLI_LIST_H
#define CB_CLI_LIST_H

#include "cli/report_options.h"

enum cb_list { CB_LIST_GPUS, CB_LIST_LINKS, CB_LIST_MODELS, CB_LIST_COUNT };

/* Of "gpus", "links", "models"; -1 for another name. */
int cb_list_parse(const char *name);

/* Writes a table with its sources where the report options say: as text of 80 columns, as CSV or as
 * JSON, both in base units. Errors: CB_E_IO, CB_E_MEMORY. */
int cb_list_write(enum cb_list which, const struct cb_report_input *report, struct cb_error *err);

#endif

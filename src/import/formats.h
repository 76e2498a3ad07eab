/* One reader per format. Each says whether a text is of its format, and reads it: appends a log for
 * each run. Errors: CB_E_INPUT, CB_E_MEMORY; what was appended until then stays. Private to
 * import/. */
#ifndef CB_IMPORT_FORMATS_H
#define CB_IMPORT_FORMATS_H

#include <stdbool.h>
#include <stddef.h>

#include "import/import.h"

struct cb_import_source {
    const char *name;
    const char *text;
    size_t length_bytes;
};

/* More runs than this in one file are not read: a finding of the last says so. */
#define CB_IMPORT_RUNS 256

bool cb_nccl_tests_is(const struct cb_import_source *source);
int cb_nccl_tests_read(const struct cb_import_source *source, cb_import_logs *logs,
                       struct cb_error *err);

bool cb_nccl_tests_json_is(const struct cb_import_source *source);
int cb_nccl_tests_json_read(const struct cb_import_source *source, cb_import_logs *logs,
                            struct cb_error *err);

bool cb_osu_is(const struct cb_import_source *source);
int cb_osu_read(const struct cb_import_source *source, cb_import_logs *logs, struct cb_error *err);

bool cb_imb_is(const struct cb_import_source *source);
int cb_imb_read(const struct cb_import_source *source, cb_import_logs *logs, struct cb_error *err);

#endif

/* result.json: the writer and the strict reader. docs/result-schema.md says what the keys mean. */
#ifndef CB_RESULT_JSON_H
#define CB_RESULT_JSON_H

#include <stddef.h>

#include "base/error.h"
#include "result/result.h"

#define CB_RESULT_SCHEMA "commbound.result"
#define CB_RESULT_SCHEMA_VERSION 1

/* Renders a result as JSON text, ending in a newline. The caller frees *text with free(). Numbers
 * read back exactly; unknown ones, NaN and infinity become null. Text that is no UTF-8, or would
 * make a terminal act, is replaced ('?'). A rank is written inside its node, so one whose node does
 * not exist is not written. Errors: CB_E_MEMORY. */
int cb_result_to_json(const struct cb_result *result, char **text, struct cb_error *err);

/* Reads JSON text of length_bytes (need not be NUL-terminated) into an empty result. Unknown keys
 * are ignored; a missing required key, a wrong type, an unknown enum name, another schema or a
 * newer version is CB_E_INPUT with the place ("collectives[3].bytes: expected an integer") or the
 * line in err->what, prefixed by name (a file name for the message). So is a row that says it was
 * measured but holds no number. Text longer than its field is cut before a character; ranks come
 * back in the order of their numbers. On error the result is left empty. Errors: CB_E_INPUT,
 * CB_E_MEMORY. */
int cb_result_from_json(const char *name, const char *text, size_t length_bytes,
                        struct cb_result *result, struct cb_error *err);

/* Reads a file. Errors as above, or CB_E_IO. */
int cb_result_load(const char *path, struct cb_result *result, struct cb_error *err);

/* Writes path atomically: a temporary file beside it, flushed to disk, renamed over it. On any
 * error (CB_E_IO: full disk, missing folder) the file that was there before is untouched and no
 * temporary file stays. */
int cb_result_save(const char *path, const struct cb_result *result, struct cb_error *err);

#endif

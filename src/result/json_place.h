/* Messages about a document that is read: where in it something is wrong. Private to the reader. */
#ifndef CB_RESULT_JSON_PLACE_H
#define CB_RESULT_JSON_PLACE_H

#include <stddef.h>

#include "base/error.h"
#include "result/json_split.h"

struct cb_json_source {
    const char *name; /* of the file */
    struct cb_json_span text;
    struct cb_error *err;
};

/* Where in the document the reader is: a chain on the stack, turned into text only for an error. */
struct cb_json_place {
    const struct cb_json_place *parent;
    const char *key; /* NULL for an array's element */
    size_t index;
};

/* Fills the source's error with "NAME: collectives[3].bytes: TEXT" (printf format), or with "NAME:
 * TEXT" for a NULL place, and returns CB_E_INPUT. */
int cb_json_fail_at(const struct cb_json_source *source, const struct cb_json_place *place,
                    const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same for what is no JSON, with the line of the text: "NAME:17: PROBLEM". problem is NULL
 * where the text just ends. */
int cb_json_fail_text(const struct cb_json_source *source, const char *at, const char *problem);

#endif

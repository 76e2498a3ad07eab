/* Finds where the members of a JSON object and the elements of an array lie in its text, so that a
 * long list can be parsed row by row: as one tree, a hundred thousand rows take ten times their
 * text in memory and half their time in the allocator. Only brackets and strings are looked at;
 * whether a part is valid JSON is for its parser to say. Private to the reader. */
#ifndef CB_RESULT_JSON_SPLIT_H
#define CB_RESULT_JSON_SPLIT_H

#include <stdbool.h>
#include <stddef.h>

struct cb_json_span {
    const char *text; /* not NUL-terminated; NULL for none */
    size_t length_bytes;
};

struct cb_json_cursor {
    const char *at; /* where it stands, and after a failure where the text went wrong */
    const char *end;
    char close; /* '}' or ']' */
    bool started;
    const char *problem; /* after a failure: what is wrong there; NULL when the text just ends */
};

/* Stands at the start of the object or array that whole holds, after white space. Returns 0, or -1
 * when there is none (at and problem say why). */
int cb_json_split_open(struct cb_json_span whole, char open, struct cb_json_cursor *cursor);

/* Moves on. Returns 1 with the next value, and for an object its key with the quotes (key may be
 * NULL for an array); 0 after the last one, past the closing bracket; -1 when the text is not an
 * object or array or ends too early. */
int cb_json_split_next(struct cb_json_cursor *cursor, struct cb_json_span *key,
                       struct cb_json_span *value);

/* Whether nothing but white space is left at the cursor. */
bool cb_json_split_at_end(struct cb_json_cursor *cursor);

#endif

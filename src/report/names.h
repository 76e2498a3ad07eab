/* Numbers for strings: equal texts get the same number. What the reports group rows with. */
#ifndef CB_REPORT_NAMES_H
#define CB_REPORT_NAMES_H

#include <stddef.h>

#include "base/strbuf.h"
#include "base/vec.h"

/* Zero-initialised is empty; free with fini. */
struct cb_names {
    CB_VEC(size_t) offsets_bytes; /* of each text in texts, by number */
    struct cb_strbuf texts;
    size_t *slots; /* hash table of numbers + 1; 0 is free */
    size_t slot_count;
};

/* The number of a text, from 0 in order of first appearance, in constant time. Errors:
 * CB_E_MEMORY. */
int cb_names_intern(struct cb_names *names, const char *text, size_t *number);

/* The text of a number; borrowed, valid until the next new text. */
const char *cb_names_get(const struct cb_names *names, size_t number);

void cb_names_fini(struct cb_names *names);

#endif

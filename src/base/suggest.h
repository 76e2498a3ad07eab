/* "Did you mean ...": the nearest of a list of names. */
#ifndef CB_BASE_SUGGEST_H
#define CB_BASE_SUGGEST_H

#include <stddef.h>

/* The name with the smallest edit distance (insert, delete, replace, swap of neighbours; case
 * ignored) to text, or NULL when none is near enough to be a typing slip (more than a third of the
 * longer of the two). names is an array of count strings; the result is borrowed from it. */
const char *cb_suggest(const char *text, const char *const *names, size_t count);

#endif

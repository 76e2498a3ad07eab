/* "Did you mean ...": the nearest of a list of names. */
#ifndef CB_BASE_SUGGEST_H
#define CB_BASE_SUGGEST_H

#include <stddef.h>

/* The name with the smallest edit distance (insert, delete, replace, swap of neighbours; case
 * ignored) to text, or NULL when none is near enough to be a typing slip (more than a third of the
 * longer of the two). names is an array of count strings; the result is borrowed from it. */
const char *cb_suggest(const char *text, const char *const *names, size_t count);

#define CB_SUGGEST_LIMIT 8

/* The names that somebody may have meant, as their indices in names, nearest first: first those
 * that hold the text (letters and digits alone, case ignored), then those that it holds and those
 * whose edit distance is at most half of the longer of the two. Returns how many of at most limit
 * (no more than CB_SUGGEST_LIMIT) were set. */
size_t cb_suggest_several(const char *text, const char *const *names, size_t count, size_t *nearest,
                          size_t limit);

#endif

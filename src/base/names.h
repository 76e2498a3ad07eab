/* Enums whose values have names: an array of names, indexed by the value. */
#ifndef CB_BASE_NAMES_H
#define CB_BASE_NAMES_H

#include <stddef.h>

/* The index of a name among count names, or -1. */
int cb_names_find(const char *const *names, size_t count, const char *name);

#endif

/* What must be found in a log, as rows of a table. Shared by the tests of the log reader. */
#ifndef CB_TESTS_IMPORT_TABLE_H
#define CB_TESTS_IMPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "import/import.h"

#define CB_CODES 4
#define CB_ANY (-1) /* the file does not hold it */

struct cb_expected_import {
    const char *file;
    enum cb_import_state state;
    const char *op; /* "": cannot be told */
    int ranks, nodes, rows;
    double out_of_place_gb_s, in_place_gb_s; /* 0: none */
    const char *codes[CB_CODES];             /* findings that must be there */
};

/* Fails unless the import is as expected. */
void cb_check_import(const struct cb_expected_import *expected, const struct cb_import *import);

/* The finding of that code, or NULL. */
const struct cb_import_finding *cb_find_code(const struct cb_import *import, const char *code);

/* Every line of a text with something before and after it; the caller frees it. */
char *cb_decorate(const char *text, size_t length_bytes, const char *before, const char *after,
                  size_t *made_bytes);

#endif

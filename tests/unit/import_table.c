#include "import_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cb_test.h"

#define GIGA 1e9

const struct cb_import_finding *cb_find_code(const struct cb_import *import, const char *code)
{
    for (size_t i = 0; i < import->findings.count; i++)
        if (strcmp(import->findings.items[i].code, code) == 0)
            return &import->findings.items[i];
    return NULL;
}

/* Three or four digits are published: half a per cent, and half a unit of the last one. */
static void check_bandwidth(const char *file, const char *what, double actual_bytes_per_s,
                            double expected_gb_s)
{
    if (fabs(actual_bytes_per_s / GIGA - expected_gb_s) > 0.005 * expected_gb_s + 0.005)
        fail_msg("%s: %s %.4g GB/s, expected %.4g", file, what, actual_bytes_per_s / GIGA,
                 expected_gb_s);
}

static void check_number(const char *file, const char *what, int actual, int expected)
{
    if (actual != expected && expected != CB_ANY)
        fail_msg("%s: %s %d, expected %d", file, what, actual, expected);
}

void cb_check_import(const struct cb_expected_import *e, const struct cb_import *import)
{
    if (import->state != e->state)
        fail_msg("%s is %s, expected %s", e->file, cb_import_state_name(import->state),
                 cb_import_state_name(e->state));
    if (strcmp(import->op, e->op) != 0)
        fail_msg("%s: op \"%s\", expected \"%s\"", e->file, import->op, e->op);
    check_number(e->file, "ranks", import->ranks, e->ranks);
    check_number(e->file, "nodes", import->nodes, e->nodes);
    check_number(e->file, "rows", import->rows, e->rows);
    check_bandwidth(e->file, "out of place", import->best_bus_bytes_per_s, e->out_of_place_gb_s);
    check_bandwidth(e->file, "in place", import->best_in_place_bytes_per_s, e->in_place_gb_s);
    for (int i = 0; i < CB_CODES && e->codes[i]; i++)
        if (!cb_find_code(import, e->codes[i]))
            fail_msg("%s: no finding %s", e->file, e->codes[i]);
}

char *cb_decorate(const char *text, size_t length_bytes, const char *before, const char *after,
                  size_t *made_bytes)
{
    size_t lines = 1, used = 0;
    for (size_t i = 0; i < length_bytes; i++)
        lines += text[i] == '\n';
    char *made = malloc(length_bytes + lines * (strlen(before) + strlen(after) + 1) + 1);
    assert_non_null(made);
    for (const char *at = text, *end = text + length_bytes; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t line_bytes = (size_t)((stop ? stop : end) - at);
        used += (size_t)sprintf(made + used, "%s%.*s%s\n", before, (int)line_bytes, at, after);
        at += line_bytes + 1;
    }
    *made_bytes = used;
    return made;
}

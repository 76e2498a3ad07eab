/* What every importer must do with whatever it is given: take it or refuse it with one line, hold
 * figures that can be, and make a result that can be written and read again. */
#ifndef CB_FUZZ_IMPORT_H
#define CB_FUZZ_IMPORT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "import/formats.h"
#include "require.h"
#include "result/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require_bandwidth(double bytes_per_s)
{
    require(bytes_per_s >= 0 && !isnan(bytes_per_s));
}

static void check_log(const struct cb_import_log *log)
{
    const struct cb_import *import = &log->summary;
    require(import->state < CB_IMPORT_STATE_COUNT);
    require(import->rows >= 0 && (size_t)import->rows == log->rows.count);
    require(import->rows > 0 || !cb_import_is_usable(import->state));
    require(import->ranks >= 0 && import->nodes >= 0);
    require_bandwidth(import->best_bus_bytes_per_s);
    require_bandwidth(import->best_in_place_bytes_per_s);
    for (size_t i = 0; i < import->findings.count; i++) {
        const struct cb_import_finding *finding = &import->findings.items[i];
        require(finding->code[0] && finding->text[0] && finding->line >= 0);
        require(!strchr(finding->text, '\n'));
    }
    for (size_t i = 0; i < log->rows.count; i++)
        require(log->rows.items[i].line >= 0);
}

static void check_result(cb_import_logs *logs)
{
    struct cb_result result, again;
    char *text = NULL;
    cb_result_init(&result);
    cb_result_init(&again);
    size_t count = logs->count;
    require(cb_import_add(&result, logs, NULL) == 0);
    require(result.imports.count == count);
    require(cb_result_to_json(&result, &text, NULL) == 0);
    require(cb_result_from_json("again", text, strlen(text), &again, NULL) == 0);
    free(text);
    cb_result_fini(&again);
    cb_result_fini(&result);
}

/* Reads data by one format, guessed or not. */
static int
fuzz_format(const uint8_t *data, size_t size, bool (*is)(const struct cb_import_source *),
            int (*read)(const struct cb_import_source *, cb_import_logs *, struct cb_error *))
{
    const struct cb_import_source source = {"fuzz", (const char *)data, size};
    cb_import_logs logs = {0};
    struct cb_error err = {0};
    (void)is(&source);
    int rc = read(&source, &logs, &err);
    require(rc == 0 || (rc == CB_E_INPUT && err.what[0] && !strchr(err.what, '\n')));
    for (size_t i = 0; i < logs.count; i++)
        check_log(&logs.items[i]);
    if (rc == 0)
        check_result(&logs);
    cb_import_logs_fini(&logs);
    return 0;
}

#endif

#include "import/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/findings.h"
#include "import/formats.h"
#include "import/ops.h"

struct format {
    bool (*is)(const struct cb_import_source *source);
    int (*read)(const struct cb_import_source *source, cb_import_logs *logs, struct cb_error *err);
};

/* The one with the surest signs first. */
static const struct format formats[] = {
    {cb_nccl_tests_json_is, cb_nccl_tests_json_read},
    {cb_osu_is, cb_osu_read},
    {cb_imb_is, cb_imb_read},
    {cb_nccl_tests_is, cb_nccl_tests_read},
};

static void fini_from(cb_import_logs *logs, size_t first)
{
    for (size_t i = first; i < logs->count; i++) {
        cb_vec_fini(&logs->items[i].summary.findings);
        cb_vec_fini(&logs->items[i].rows);
    }
    logs->count = first;
}

void cb_import_logs_fini(cb_import_logs *logs)
{
    fini_from(logs, 0);
    cb_vec_fini(logs);
}

int cb_import_read(const char *name, const char *text, size_t length_bytes, cb_import_logs *logs,
                   struct cb_error *err)
{
    const struct cb_import_source source = {name, text, length_bytes};
    size_t before = logs->count;
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (!formats[i].is(&source))
            continue;
        int rc = formats[i].read(&source, logs, err);
        if (rc)
            fini_from(logs, before);
        return rc;
    }
    int rc = cb_fail(err, CB_E_INPUT, "%s: no output of nccl-tests, rccl-tests, OSU or IMB", name);
    cb_error_set_hint(err, length_bytes == 0 ? "the file is empty"
                                             : "give the whole output of such a program, or its "
                                               "JSON (nccl-tests -J)");
    return rc;
}

/* ---- into a result ---- */

static enum cb_dtype dtype_of(const char *name)
{
    static const struct {
        const char *name;
        enum cb_dtype dtype;
    } names[] = {
        {"float", CB_DTYPE_FLOAT32},     {"float32", CB_DTYPE_FLOAT32},
        {"fp32", CB_DTYPE_FLOAT32},      {"half", CB_DTYPE_FLOAT16},
        {"float16", CB_DTYPE_FLOAT16},   {"fp16", CB_DTYPE_FLOAT16},
        {"bfloat16", CB_DTYPE_BFLOAT16}, {"bf16", CB_DTYPE_BFLOAT16},
        {"double", CB_DTYPE_FLOAT64},    {"int32", CB_DTYPE_INT32},
        {"int", CB_DTYPE_INT32},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i].name) == 0)
            return names[i].dtype;
    return CB_DTYPE_FLOAT32; /* a bandwidth is one of bytes, whatever they mean */
}

static int add_row(struct cb_result *result, const struct cb_import_log *log, enum cb_op op,
                   const struct cb_import_row *from, int place)
{
    const struct cb_import_point *point = &from->places[place];
    if (!(point->bus_bytes_per_s > 0) || from->size_bytes == 0)
        return 0;
    struct cb_collective_row *row = cb_vec_add(&result->collectives);
    if (!row)
        return CB_E_MEMORY;
    row->op = op;
    row->scope = CB_SCOPE_WORLD;
    row->dtype = dtype_of(log->summary.dtype);
    row->redop = CB_REDOP_SUM;
    row->ranks = log->summary.ranks;
    row->size_bytes = from->size_bytes;
    row->in_place = place == CB_IMPORT_IN_PLACE;
    row->time.median_s = row->time.min_s = row->time.max_s = point->time_s;
    row->time.ci95_relative = -1;
    row->alg_bytes_per_s = point->alg_bytes_per_s;
    row->bus_bytes_per_s = point->bus_bytes_per_s;
    row->status = CB_STATUS_OK;
    row->import_number = (int)result->imports.count;
    row->import_line = from->line;
    return 0;
}

/* A row by its size, the best of one size first. */
struct best_row {
    const struct cb_import_row *row;
    double bus_bytes_per_s;
};

static int by_size_then_best(const void *a, const void *b)
{
    const struct best_row *left = a, *right = b;
    if (left->row->size_bytes != right->row->size_bytes)
        return left->row->size_bytes < right->row->size_bytes ? -1 : 1;
    if (left->bus_bytes_per_s != right->bus_bytes_per_s)
        return left->bus_bytes_per_s > right->bus_bytes_per_s ? -1 : 1;
    return left->row->line - right->row->line;
}

/* Adds the rows of one placement, of each size the best: a test that repeats its sweep prints a
 * size many times. */
static int add_rows(struct cb_result *result, const struct cb_import_log *log, enum cb_op op,
                    int place)
{
    size_t count = log->rows.count;
    struct best_row *rows = calloc(count + 1, sizeof(*rows));
    int rc = rows ? 0 : CB_E_MEMORY;
    for (size_t i = 0; rc == 0 && i < count; i++)
        rows[i] = (struct best_row){&log->rows.items[i],
                                    log->rows.items[i].places[place].bus_bytes_per_s};
    if (rc == 0)
        qsort(rows, count, sizeof(*rows), by_size_then_best);
    for (size_t i = 0; rc == 0 && i < count; i++)
        if (i == 0 || rows[i].row->size_bytes != rows[i - 1].row->size_bytes)
            rc = add_row(result, log, op, rows[i].row, place);
    free(rows);
    return rc;
}

/* Whether a later log of the same op counts instead. */
static bool is_replaced(const cb_import_logs *logs, size_t index)
{
    const struct cb_import *own = &logs->items[index].summary;
    for (size_t i = 0; i < logs->count; i++) {
        const struct cb_import *other = &logs->items[i].summary;
        if (i == index || strcmp(own->op, other->op) != 0 || !cb_import_is_usable(other->state))
            continue;
        /* More ranks, then the better state, then the later. */
        if (other->ranks != own->ranks   ? other->ranks > own->ranks
            : other->state != own->state ? other->state > own->state
                                         : i > index)
            return true;
    }
    return false;
}

int cb_import_add(struct cb_result *result, cb_import_logs *logs, struct cb_error *err)
{
    for (size_t i = 0; i < logs->count; i++) {
        struct cb_import_log *log = &logs->items[i];
        enum cb_op op = cb_test_op(cb_test_find(log->summary.op, strlen(log->summary.op)));
        struct cb_import *import = cb_vec_add(&result->imports);
        if (!import)
            return cb_fail(err, CB_E_MEMORY, "no memory for the imports");
        *import = log->summary;
        memset(&log->summary.findings, 0, sizeof(log->summary.findings));
        if (op == CB_OP_COUNT || !cb_import_is_usable(import->state) || is_replaced(logs, i))
            continue;
        if (import->nodes > 0 && import->ranks > result->rank_count)
            result->rank_count = import->ranks;
        for (int place = 0; place < CB_IMPORT_PLACES; place++)
            if (add_rows(result, log, op, place))
                return cb_fail(err, CB_E_MEMORY, "no memory for the imported rows");
    }
    return 0;
}

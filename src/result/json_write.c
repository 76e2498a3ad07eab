/* Written by hand rather than as a tree of jansson values: numbers in the shortest form that reads
 * back exactly, one row to a line, and no second copy of a hundred thousand rows in memory each
 * time a step ends. The reader is jansson; the tests hold the two together. */
#include "result/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "result/json_shape.h"
#include "result/json_text.h"

struct writer {
    const struct cb_result *result;
    const struct cb_rank **ranks; /* by node, then rank */
    size_t next_rank, next_gpu;
    struct cb_strbuf text;
    int depth;
    int single_depth; /* above 0: inside something that takes one line */
    bool started;     /* the open object or array holds something */
};

/* ---- the emitter ---- */

static void separate(struct writer *w)
{
    if (w->started)
        cb_strbuf_add(&w->text, w->single_depth ? ", " : ",");
    w->started = true;
    if (w->single_depth)
        return;
    cb_strbuf_add(&w->text, "\n");
    cb_strbuf_fill(&w->text, ' ', 2 * (size_t)w->depth);
}

static void open_bracket(struct writer *w, const char *bracket, bool one_line)
{
    cb_strbuf_add(&w->text, bracket);
    w->depth++;
    w->single_depth += w->single_depth || one_line;
    w->started = false;
}

static void close_bracket(struct writer *w, const char *bracket)
{
    w->depth--;
    if (w->single_depth) {
        w->single_depth--;
    } else if (w->started) {
        cb_strbuf_add(&w->text, "\n");
        cb_strbuf_fill(&w->text, ' ', 2 * (size_t)w->depth);
    }
    cb_strbuf_add(&w->text, bracket);
    w->started = true;
}

/* Text of at most length_bytes: of a field, one less than its size, which is what it can be read
 * back into. */
static void put_string(struct writer *w, const char *text, size_t length_bytes)
{
    char clean[CB_JSON_TEXT_MAX];
    char quoted[2 * CB_JSON_TEXT_MAX + 2];
    size_t used = 0;

    cb_json_clean(text, length_bytes, clean, sizeof(clean));
    quoted[used++] = '"';
    for (const char *c = clean; *c; c++) { /* a clean text needs no other escapes */
        if (*c == '"' || *c == '\\')
            quoted[used++] = '\\';
        quoted[used++] = *c;
    }
    quoted[used++] = '"';
    quoted[used] = '\0';
    cb_strbuf_add(&w->text, quoted);
}

static void put_integer(struct writer *w, uint64_t value)
{
    char digits[24];
    snprintf(digits, sizeof(digits), "%" PRIu64, value < INT64_MAX ? value : INT64_MAX);
    cb_strbuf_add(&w->text, digits);
}

/* 15 digits where they are enough, else the 17 that always are; the decimal point of JSON whatever
 * the locale's is. */
static void put_real(struct writer *w, double value)
{
    char digits[32];
    snprintf(digits, sizeof(digits), "%.15g", value);
    if (strtod(digits, NULL) != value)
        snprintf(digits, sizeof(digits), "%.17g", value);
    char *comma = strchr(digits, ',');
    if (comma)
        *comma = '.';
    cb_strbuf_add(&w->text, digits);
}

static void put_key(struct writer *w, const char *key)
{
    separate(w);
    cb_strbuf_add(&w->text, "\"");
    cb_strbuf_add(&w->text, key);
    cb_strbuf_add(&w->text, "\": ");
}

/* ---- the walk over the tables ---- */

static void put_fields(struct writer *w, const struct cb_json_shape *shape, const void *row);

static void put_object(struct writer *w, const struct cb_json_shape *shape, const void *row)
{
    open_bracket(w, "{", shape->one_line);
    put_fields(w, shape, row);
    close_bracket(w, "}");
}

static void put_rows(struct writer *w, const struct cb_json_shape *shape, const char *items,
                     size_t count)
{
    open_bracket(w, "[", false);
    for (size_t i = 0; i < count; i++) {
        separate(w);
        put_object(w, shape, items + i * shape->size_bytes);
    }
    close_bracket(w, "]");
}

/* Whether an earlier setting has the same name once cleaned: JSON keys are unique. */
static bool is_repeated(const struct cb_setting *settings, size_t index)
{
    char name[CB_NAME], earlier[CB_NAME];
    cb_json_clean(settings[index].name, CB_NAME - 1, name, sizeof(name));
    for (size_t i = 0; i < index; i++) {
        cb_json_clean(settings[i].name, CB_NAME - 1, earlier, sizeof(earlier));
        if (strcmp(name, earlier) == 0)
            return true;
    }
    return false;
}

static void put_settings(struct writer *w, const struct cb_setting *settings, size_t count)
{
    open_bracket(w, "{", false);
    for (size_t i = 0; i < count; i++) {
        const struct cb_setting *setting = &settings[i];
        if (is_repeated(settings, i))
            continue;
        separate(w);
        put_string(w, setting->name, CB_NAME - 1);
        cb_strbuf_add(&w->text, ": ");
        if (!setting->set_by[0]) {
            put_string(w, setting->value, CB_TEXT - 1);
            continue;
        }
        open_bracket(w, "{", true);
        put_key(w, "value");
        put_string(w, setting->value, CB_TEXT - 1);
        put_key(w, "set_by");
        put_string(w, setting->set_by, sizeof(setting->set_by) - 1);
        close_bracket(w, "}");
    }
    close_bracket(w, "}");
}

/* The ranks are sorted by node and nodes are written in order: one pass serves them all. */
static void put_ranks(struct writer *w, const struct cb_topo_host *node)
{
    int index = (int)(node - w->result->nodes.items);
    size_t count = w->result->ranks.count;

    open_bracket(w, "[", false);
    while (w->next_rank < count && w->ranks[w->next_rank]->node < index)
        w->next_rank++;
    for (; w->next_rank < count && w->ranks[w->next_rank]->node == index; w->next_rank++) {
        separate(w);
        put_object(w, &cb_json_rank_shape, w->ranks[w->next_rank]);
    }
    close_bracket(w, "]");
}

/* A result keeps its GPUs by node. */
static void put_gpus(struct writer *w, const struct cb_topo_host *node)
{
    int index = (int)(node - w->result->nodes.items);
    size_t count = w->result->gpus.count;
    const struct cb_gpu *gpus = w->result->gpus.items;

    open_bracket(w, "[", false);
    while (w->next_gpu < count && gpus[w->next_gpu].node < index)
        w->next_gpu++;
    for (; w->next_gpu < count && gpus[w->next_gpu].node == index; w->next_gpu++) {
        separate(w);
        put_object(w, &cb_json_gpu_shape, &gpus[w->next_gpu]);
    }
    close_bracket(w, "]");
}

static void put_hosts(struct writer *w, const struct cb_facts *map)
{
    int number = 1 + (int)(map - w->result->maps.items);
    open_bracket(w, "[", true);
    for (size_t i = 0; i < w->result->nodes.count; i++) {
        const struct cb_topo_host *node = &w->result->nodes.items[i];
        if (node->map != number)
            continue;
        separate(w);
        put_string(w, node->name, sizeof(node->name) - 1);
    }
    close_bracket(w, "]");
}

static void put_vec(struct writer *w, const struct cb_json_field *field, const char *at)
{
    struct cb_json_vec vec;
    memcpy(&vec, at, sizeof(vec));
    if (field->kind == CB_JSON_SETTINGS)
        put_settings(w, vec.items, vec.count);
    else
        put_rows(w, field->shape, vec.items, vec.count);
}

static void put_list(struct writer *w, const struct cb_json_field *field, const char *row)
{
    int count = 0;
    size_t kept = 0;
    if (field->count_size_bytes == sizeof(kept))
        memcpy(&kept, row + field->count_offset, sizeof(kept));
    else
        memcpy(&count, row + field->count_offset, sizeof(count));
    if (count > 0)
        kept = (size_t)count;
    put_rows(w, field->shape, row + field->offset, kept < field->capacity ? kept : field->capacity);
}

/* Whether a number is one that its field's rules call unknown. */
static bool is_unknown(const struct cb_json_field *field, double value)
{
    return !isfinite(value) || (value <= 0 && field->rules & CB_JSON_ZERO_NULL) ||
           (value < 0 && field->rules & CB_JSON_NEGATIVE_NULL);
}

static int get_enum(const char *at)
{
    int value;
    memcpy(&value, at, sizeof(value)); /* whatever type the compiler gave the enum */
    return value;
}

static bool is_null(const struct cb_json_field *field, const void *row)
{
    const char *at = (const char *)row + field->offset;

    if (field->is_absent && field->is_absent(row))
        return true;
    switch (field->kind) {
    case CB_JSON_BOOL:
        return !*(const bool *)at && field->rules & CB_JSON_ZERO_NULL;
    case CB_JSON_INT:
        return is_unknown(field, *(const int *)at);
    case CB_JSON_UINT64:
        return is_unknown(field, (double)*(const uint64_t *)at);
    case CB_JSON_REAL:
        return is_unknown(field, *(const double *)at);
    case CB_JSON_TEXT:
        return !*at && field->rules & CB_JSON_ZERO_NULL;
    case CB_JSON_ENUM:
        return is_unknown(field, get_enum(at)) || get_enum(at) < 0 ||
               get_enum(at) >= field->names->count;
    case CB_JSON_DERIVED:
        return !isfinite(field->derive(row));
    case CB_JSON_DERIVED_TEXT:
        return !field->derive_text(row);
    default:
        return false;
    }
}

static void put_text(struct writer *w, const char *text)
{
    put_string(w, text, strlen(text));
}

/* Writes a value that is not null. A negative number that cannot be, and that no rule makes null,
 * becomes 0: the nearest that the reader takes. */
static void put_value(struct writer *w, const struct cb_json_field *field, const void *row)
{
    const char *at = (const char *)row + field->offset;

    switch (field->kind) {
    case CB_JSON_BOOL:
        cb_strbuf_add(&w->text, *(const bool *)at ? "true" : "false");
        break;
    case CB_JSON_INT:
        put_integer(w, *(const int *)at < 0 ? 0 : (uint64_t)(*(const int *)at));
        break;
    case CB_JSON_UINT64:
        put_integer(w, *(const uint64_t *)at);
        break;
    case CB_JSON_REAL:
        put_real(w, fmax(*(const double *)at, 0));
        break;
    case CB_JSON_TEXT:
        put_string(w, at, field->size_bytes - 1);
        break;
    case CB_JSON_ENUM:
        put_text(w, field->names->name(get_enum(at)));
        break;
    case CB_JSON_OBJECT:
        put_object(w, field->shape, at);
        break;
    case CB_JSON_ROWS:
    case CB_JSON_SETTINGS:
        put_vec(w, field, at);
        break;
    case CB_JSON_LIST:
        put_list(w, field, row);
        break;
    case CB_JSON_RANKS:
        put_ranks(w, row);
        break;
    case CB_JSON_GPUS:
        put_gpus(w, row);
        break;
    case CB_JSON_HOSTS:
        put_hosts(w, row);
        break;
    case CB_JSON_DERIVED:
        put_real(w, field->derive(row));
        break;
    case CB_JSON_DERIVED_TEXT:
        put_text(w, field->derive_text(row));
        break;
    }
}

static void put_fields(struct writer *w, const struct cb_json_shape *shape, const void *row)
{
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct cb_json_field *field = &shape->fields[i];
        bool null = is_null(field, row);
        if (null && field->rules & CB_JSON_OMIT)
            continue;
        put_key(w, field->key);
        if (null)
            cb_strbuf_add(&w->text, "null");
        else
            put_value(w, field, row);
    }
}

static int compare_ranks(const void *a, const void *b)
{
    const struct cb_rank *left = *(const struct cb_rank *const *)a;
    const struct cb_rank *right = *(const struct cb_rank *const *)b;
    if (left->node != right->node)
        return left->node < right->node ? -1 : 1;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

/* The whole text, ending in a newline, for the caller to free. */
static int write_document(struct writer *w, const char *schema, int version,
                          const struct cb_json_shape *shape, const void *row, char **text,
                          struct cb_error *err)
{
    open_bracket(w, "{", false);
    put_key(w, "schema");
    put_text(w, schema);
    put_key(w, "version");
    put_integer(w, (uint64_t)version);
    put_fields(w, shape, row);
    close_bracket(w, "}");
    cb_strbuf_add(&w->text, "\n");
    if (w->text.failed) {
        cb_strbuf_fini(&w->text);
        return cb_fail(err, CB_E_MEMORY, "no memory to write %s", schema);
    }
    *text = w->text.text;
    return 0;
}

int cb_json_write_document(const char *schema, int version, const struct cb_json_shape *shape,
                           const void *row, char **text, struct cb_error *err)
{
    struct writer w = {0};
    return write_document(&w, schema, version, shape, row, text, err);
}

int cb_result_to_json(const struct cb_result *result, char **text, struct cb_error *err)
{
    struct writer w = {.result = result};

    w.ranks = calloc(result->ranks.count + 1, sizeof(*w.ranks));
    if (!w.ranks)
        return cb_fail(err, CB_E_MEMORY, "no memory to write a result of %zu ranks",
                       result->ranks.count);
    for (size_t i = 0; i < result->ranks.count; i++)
        w.ranks[i] = &result->ranks.items[i];
    qsort(w.ranks, result->ranks.count, sizeof(*w.ranks), compare_ranks);
    int rc = write_document(&w, CB_RESULT_SCHEMA, CB_RESULT_SCHEMA_VERSION, &cb_json_result_shape,
                            result, text, err);
    free(w.ranks);
    return rc;
}

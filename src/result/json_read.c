#include "result/json.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "result/json_shape.h"
#include "result/json_split.h"
#include "result/json_text.h"

struct reader {
    const char *name; /* of the file, for messages */
    struct cb_json_span text;
    struct cb_result *result;
    struct cb_error *err;
    json_t *root;                                    /* the document without its lists of rows, */
    struct cb_json_span rows[CB_JSON_RESULT_FIELDS]; /* which stay text until they are read */
};

/* Where in the document the reader is: a chain on the stack, turned into text only for an error. */
struct place {
    const struct place *parent;
    const char *key; /* NULL for an array's element */
    size_t index;
};

/* ---- messages ---- */

#define NAME_SHOWN 96 /* bytes of a long file name that a message leaves room for */

/* The end of a path tells the reader more than its beginning. */
static void format_name(const char *name, char *out, size_t out_size_bytes)
{
    size_t length = strlen(name);
    bool whole = length <= NAME_SHOWN;
    snprintf(out, out_size_bytes, "%s%s", whole ? "" : "...",
             whole ? name : name + length - NAME_SHOWN);
}

static void append_place(const struct place *place, char *out, size_t out_size_bytes)
{
    if (!place)
        return;
    append_place(place->parent, out, out_size_bytes);
    size_t used = strlen(out);
    if (place->key)
        snprintf(out + used, out_size_bytes - used, "%s%s", used ? "." : "", place->key);
    else
        snprintf(out + used, out_size_bytes - used, "[%zu]", place->index);
}

/* The message may quote the file: what would make a terminal act is taken out of it. */
static int fail_clean(const struct reader *r, const char *where, const char *what)
{
    char name[NAME_SHOWN + 4], whole[sizeof(r->err->what)], clean[sizeof(r->err->what)];
    format_name(r->name, name, sizeof(name));
    snprintf(whole, sizeof(whole), "%s%s: %s", name, where, what);
    cb_json_clean(whole, strlen(whole), clean, sizeof(clean));
    return cb_fail(r->err, CB_E_INPUT, "%s", clean);
}

static int __attribute__((format(printf, 3, 4)))
fail_at(const struct reader *r, const struct place *place, const char *format, ...)
{
    char where[112] = ": ", what[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    append_place(place, where + 2, sizeof(where) - 2);
    return fail_clean(r, place ? where : "", what);
}

/* A place in the text rather than in the document: for what is no JSON. problem is NULL where the
 * text just ends. */
static int fail_text(const struct reader *r, const char *at, const char *problem)
{
    char where[32];
    size_t line = 1;
    for (const char *c = r->text.text; c < at; c++)
        line += *c == '\n';
    snprintf(where, sizeof(where), ":%zu", line);
    fail_clean(r, where, problem ? problem : "the file ends in the middle of the JSON text");
    if (!problem)
        cb_error_set_hint(r->err, "it was cut short, perhaps by a copy that did not finish");
    return CB_E_INPUT;
}

static int fail_split(const struct reader *r, const struct cb_json_cursor *cursor)
{
    return fail_text(r, cursor->at, cursor->problem);
}

/* Parses a part of the text; NULL with the error filled. The caller releases the value. */
static json_t *parse(const struct reader *r, struct cb_json_span span)
{
    json_error_t error;
    json_t *value =
        json_loadb(span.text, span.length_bytes, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
    if (!value && json_error_code(&error) == json_error_out_of_memory)
        cb_fail(r->err, CB_E_MEMORY, "no memory to read %s", r->name);
    else if (!value)
        fail_text(r, span.text + error.position, error.text);
    return value;
}

static const char *type_name(const json_t *value)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "an object",   [JSON_ARRAY] = "an array",  [JSON_STRING] = "a string",
        [JSON_INTEGER] = "an integer", [JSON_REAL] = "a fraction", [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",        [JSON_NULL] = "null",
    };
    return names[json_typeof(value)];
}

static int fail_type(const struct reader *r, const struct place *place, const char *expected,
                     const json_t *found)
{
    return fail_at(r, place, "expected %s, found %s", expected, type_name(found));
}

/* ---- typed getters: value to memory, or an error at a place ---- */

static int get_int(const struct reader *r, const struct place *place, const json_t *value, int *out)
{
    if (!json_is_integer(value))
        return fail_type(r, place, "an integer", value);
    json_int_t number = json_integer_value(value);
    if (number < 0)
        return fail_at(r, place, "expected at least 0, found %" JSON_INTEGER_FORMAT, number);
    if (number > INT32_MAX)
        return fail_at(r, place, "%" JSON_INTEGER_FORMAT " is too large", number);
    *out = (int)number;
    return 0;
}

static int get_uint64(const struct reader *r, const struct place *place, const json_t *value,
                      uint64_t *out)
{
    if (!json_is_integer(value))
        return fail_type(r, place, "an integer", value);
    json_int_t number = json_integer_value(value);
    if (number < 0)
        return fail_at(r, place, "expected at least 0, found %" JSON_INTEGER_FORMAT, number);
    *out = (uint64_t)number;
    return 0;
}

static int get_real(const struct reader *r, const struct place *place, const json_t *value,
                    double *out)
{
    if (!json_is_number(value))
        return fail_type(r, place, "a number", value);
    double number = json_number_value(value);
    if (number < 0)
        return fail_at(r, place, "expected at least 0, found %g", number);
    *out = number;
    return 0;
}

static int get_bool(const struct reader *r, const struct place *place, const json_t *value,
                    bool *out)
{
    if (!json_is_boolean(value))
        return fail_type(r, place, "true or false", value);
    *out = json_is_true(value);
    return 0;
}

static int get_text(const struct reader *r, const struct place *place, const json_t *value,
                    char *out, size_t out_size_bytes)
{
    if (!json_is_string(value))
        return fail_type(r, place, "a string", value);
    cb_json_clean(json_string_value(value), json_string_length(value), out, out_size_bytes);
    return 0;
}

static int get_name(const struct reader *r, const struct place *place, const json_t *value,
                    const struct cb_json_names *names, int *out)
{
    if (!json_is_string(value))
        return fail_type(r, place, "a string", value);
    int parsed = names->parse(json_string_value(value));
    if (parsed < 0) {
        char shown[48];
        get_text(r, place, value, shown, sizeof(shown));
        return fail_at(r, place, "unknown %s \"%s\"", names->what, shown);
    }
    *out = parsed;
    return 0;
}

/* ---- the walk over the tables ---- */

static int read_fields(struct reader *r, const struct place *place, const json_t *object,
                       const struct cb_json_shape *shape, void *row);

static int read_object(struct reader *r, const struct place *place, const json_t *value,
                       const struct cb_json_shape *shape, void *row)
{
    if (!json_is_object(value))
        return fail_type(r, place, "an object", value);
    int rc = read_fields(r, place, value, shape, row);
    if (rc || !shape->lacks)
        return rc;
    struct place lacking = {.parent = place, .key = shape->lacks(row)};
    return lacking.key ? fail_at(r, &lacking, "no number, where the rest of it says there is one")
                       : 0;
}

/* Fills count zeroed rows from an array. */
static int read_items(struct reader *r, const struct place *place, const json_t *array,
                      const struct cb_json_shape *shape, char *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct place item = {.parent = place, .index = i};
        int rc =
            read_object(r, &item, json_array_get(array, i), shape, items + i * shape->size_bytes);
        if (rc)
            return rc;
    }
    return 0;
}

static int read_rows(struct reader *r, const struct place *place, const json_t *array,
                     const struct cb_json_field *field, char *at)
{
    struct cb_json_vec vec = {0};
    if (!json_is_array(array))
        return fail_type(r, place, "an array", array);
    size_t count = json_array_size(array);
    if (count == 0)
        return 0;
    vec.items = calloc(count, field->shape->size_bytes);
    if (!vec.items)
        return cb_fail(r->err, CB_E_MEMORY, "no memory for %zu rows of %s", count, field->key);
    vec.count = vec.capacity = count;
    memcpy(at, &vec, sizeof(vec)); /* first: whatever goes wrong, fini frees it */
    return read_items(r, place, array, field->shape, vec.items, count);
}

/* As read_rows, from text: one row at a time. */
static int read_rows_text(struct reader *r, const struct place *place, struct cb_json_span span,
                          const struct cb_json_field *field, char *at)
{
    const struct cb_json_shape *shape = field->shape;
    struct cb_json_vec vec = {0};
    struct cb_json_cursor cursor;
    struct cb_json_span row;
    int rc = 0;

    if (cb_json_split_open(span, '[', &cursor) != 0)
        return fail_split(r, &cursor);
    for (int more; rc == 0 && (more = cb_json_split_next(&cursor, NULL, &row)) != 0;) {
        if (more < 0) {
            rc = fail_split(r, &cursor);
            break;
        }
        json_t *value = parse(r, row);
        if (!value) {
            rc = CB_E_INPUT;
            break;
        }
        rc = cb_vec_grow(&vec.items, &vec.capacity, vec.count, shape->size_bytes);
        if (rc) {
            cb_fail(r->err, rc, "no memory for the rows of %s", field->key);
        } else {
            struct place item = {.parent = place, .index = vec.count};
            char *fresh = (char *)vec.items + vec.count++ * shape->size_bytes;
            memset(fresh, 0, shape->size_bytes);
            rc = read_object(r, &item, value, shape, fresh);
        }
        json_decref(value);
    }
    memcpy(at, &vec, sizeof(vec)); /* an error too: fini then frees them */
    return rc;
}

static int read_list(struct reader *r, const struct place *place, const json_t *array,
                     const struct cb_json_field *field, char *row)
{
    if (!json_is_array(array))
        return fail_type(r, place, "an array", array);
    size_t count = json_array_size(array);
    if (count > field->capacity)
        return fail_at(r, place, "%zu entries, at most %zu can be", count, field->capacity);
    int kept = (int)count;
    memcpy(row + field->count_offset, &kept, sizeof(kept));
    return read_items(r, place, array, field->shape, row + field->offset, count);
}

/* "name": "value", or "name": {"value": ..., "set_by": ...}. */
static int read_setting(const struct reader *r, const struct place *place, const json_t *value,
                        struct cb_setting *setting)
{
    const json_t *text = value;
    const json_t *set_by = NULL;
    if (json_is_object(value)) {
        text = json_object_get(value, "value");
        set_by = json_object_get(value, "set_by");
        if (!text)
            return fail_at(r, place, "\"value\" is missing");
    }
    int rc = get_text(r, place, text, setting->value, sizeof(setting->value));
    if (rc == 0 && set_by && !json_is_null(set_by))
        rc = get_text(r, place, set_by, setting->set_by, sizeof(setting->set_by));
    return rc;
}

static int read_settings(const struct reader *r, const struct place *place, json_t *object,
                         char *at)
{
    struct cb_json_vec vec = {0};
    if (!json_is_object(object))
        return fail_type(r, place, "an object", object);
    size_t count = json_object_size(object);
    if (count == 0)
        return 0;
    struct cb_setting *settings = calloc(count, sizeof(*settings));
    if (!settings)
        return cb_fail(r->err, CB_E_MEMORY, "no memory for %zu settings", count);
    vec = (struct cb_json_vec){.items = settings, .count = count, .capacity = count};
    memcpy(at, &vec, sizeof(vec));

    const char *name;
    json_t *value;
    size_t i = 0;
    json_object_foreach(object, name, value)
    {
        struct place here = {.parent = place, .key = name};
        cb_json_clean(name, strlen(name), settings[i].name, sizeof(settings[i].name));
        int rc = read_setting(r, &here, value, &settings[i++]);
        if (rc)
            return rc;
    }
    return 0;
}

static int read_ranks(struct reader *r, const struct place *place, const json_t *array,
                      const struct cb_topo_host *node)
{
    if (!json_is_array(array))
        return fail_type(r, place, "an array", array);
    for (size_t i = 0; i < json_array_size(array); i++) {
        struct place item = {.parent = place, .index = i};
        struct cb_rank *rank = cb_vec_add(&r->result->ranks);
        if (!rank)
            return cb_fail(r->err, CB_E_MEMORY, "no memory for the ranks");
        rank->node = (int)(node - r->result->nodes.items);
        int rc = read_object(r, &item, json_array_get(array, i), &cb_json_rank_shape, rank);
        if (rc)
            return rc;
    }
    return 0;
}

static int read_scalar(const struct reader *r, const struct place *place, const json_t *value,
                       const struct cb_json_field *field, char *at)
{
    int integer = 0;
    int rc = 0;
    switch (field->kind) {
    case CB_JSON_BOOL:
        return get_bool(r, place, value, (bool *)at);
    case CB_JSON_INT:
        return get_int(r, place, value, (int *)at);
    case CB_JSON_UINT64:
        return get_uint64(r, place, value, (uint64_t *)at);
    case CB_JSON_REAL:
        return get_real(r, place, value, (double *)at);
    case CB_JSON_TEXT:
        return get_text(r, place, value, at, field->size_bytes);
    default: /* an enum, the only scalar left */
        rc = get_name(r, place, value, field->names, &integer);
        if (rc == 0)
            memcpy(at, &integer, sizeof(integer));
        return rc;
    }
}

/* What a field holds when the file says nothing: zero, but for the two rules that say otherwise. */
static void set_default(const struct cb_json_field *field, bool has_object, char *at)
{
    if (has_object && field->rules & CB_JSON_TRUE_UNLESS)
        *(bool *)at = true;
    if (!(field->rules & CB_JSON_NEGATIVE_NULL))
        return;
    if (field->kind == CB_JSON_INT)
        *(int *)at = -1;
    else
        *(double *)at = -1;
}

static bool may_be_null(const struct cb_json_field *field)
{
    return field->is_absent || field->rules & (CB_JSON_ZERO_NULL | CB_JSON_NEGATIVE_NULL);
}

static int read_value(struct reader *r, const struct place *place, json_t *value,
                      const struct cb_json_field *field, char *row)
{
    char *at = row + field->offset;
    switch (field->kind) {
    case CB_JSON_OBJECT:
        return read_object(r, place, value, field->shape, at);
    case CB_JSON_ROWS:
        return read_rows(r, place, value, field, at);
    case CB_JSON_LIST:
        return read_list(r, place, value, field, row);
    case CB_JSON_SETTINGS:
        return read_settings(r, place, value, at);
    case CB_JSON_RANKS:
        return read_ranks(r, place, value, (const void *)row);
    default:
        return read_scalar(r, place, value, field, at);
    }
}

/* object is NULL for one that the file says is null or leaves out: every field gets its default. */
static int read_fields(struct reader *r, const struct place *place, const json_t *object,
                       const struct cb_json_shape *shape, void *row)
{
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct cb_json_field *field = &shape->fields[i];
        struct place here = {.parent = place, .key = field->key};
        json_t *value = object ? json_object_get(object, field->key) : NULL;
        int rc = 0;

        if (field->kind == CB_JSON_DERIVED || field->kind == CB_JSON_DERIVED_TEXT)
            continue;
        if (object && object == r->root && r->rows[i].text) {
            rc = read_rows_text(r, &here, r->rows[i], field, (char *)row + field->offset);
        } else if (!value && object && field->rules & CB_JSON_REQUIRED) {
            rc = fail_at(r, &here, "missing");
        } else if (!value || (json_is_null(value) && may_be_null(field))) {
            if (field->kind == CB_JSON_OBJECT)
                rc = read_fields(r, &here, NULL, field->shape, (char *)row + field->offset);
            else
                set_default(field, object, (char *)row + field->offset);
        } else {
            rc = read_value(r, &here, value, field, row);
        }
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- the document ---- */

static int check_schema(const struct reader *r, const json_t *root)
{
    struct place at_schema = {.key = "schema"};
    struct place at_version = {.key = "version"};
    const json_t *schema = json_object_get(root, "schema");
    const json_t *version = json_object_get(root, "version");

    if (!schema)
        return fail_at(r, &at_schema, "missing: this is no result of commbound");
    if (!json_is_string(schema))
        return fail_type(r, &at_schema, "a string", schema);
    if (strcmp(json_string_value(schema), CB_RESULT_SCHEMA) != 0) {
        char shown[48];
        get_text(r, &at_schema, schema, shown, sizeof(shown));
        return fail_at(r, &at_schema, "expected \"%s\", found \"%s\"", CB_RESULT_SCHEMA, shown);
    }
    if (!version)
        return fail_at(r, &at_version, "missing");
    if (!json_is_integer(version))
        return fail_type(r, &at_version, "an integer", version);
    json_int_t number = json_integer_value(version);
    if (number < 1)
        return fail_at(r, &at_version, "there is no version %" JSON_INTEGER_FORMAT, number);
    if (number > CB_RESULT_SCHEMA_VERSION) {
        fail_at(r, NULL,
                "written by a newer commbound: version %" JSON_INTEGER_FORMAT ", this one reads %d",
                number, CB_RESULT_SCHEMA_VERSION);
        cb_error_set_hint(r->err, "read it with the commbound that wrote it, or a later one");
        return CB_E_INPUT;
    }
    return 0;
}

static int compare_ranks(const void *a, const void *b)
{
    const struct cb_rank *left = a, *right = b;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

/* A result keeps its ranks in the order of their numbers. */
static int sort_ranks(const struct reader *r)
{
    struct cb_rank *ranks = r->result->ranks.items;
    size_t count = r->result->ranks.count;
    if (count == 0)
        return 0;
    qsort(ranks, count, sizeof(*ranks), compare_ranks);
    for (size_t i = 1; i < count; i++)
        if (ranks[i].rank == ranks[i - 1].rank)
            return fail_at(r, NULL, "rank %d stands in cluster.nodes twice", ranks[i].rank);
    return 0;
}

/* The table row of a list of rows at the top of the document, or -1. */
static int find_rows(const char *key)
{
    for (size_t i = 0; i < cb_json_result_shape.field_count; i++)
        if (cb_json_result_shape.fields[i].kind == CB_JSON_ROWS &&
            strcmp(cb_json_result_shape.fields[i].key, key) == 0)
            return (int)i;
    return -1;
}

/* Takes one member of the document: a list of rows as text, anything else parsed. */
static int take_value(struct reader *r, const char *key, struct cb_json_span text)
{
    int rows = find_rows(key);
    if (rows >= 0 && *text.text == '[') {
        r->rows[rows] = text;
        return 0;
    }
    json_t *value = parse(r, text);
    if (!value)
        return CB_E_INPUT;
    if (json_object_set_new(r->root, key, value) != 0)
        return cb_fail(r->err, CB_E_MEMORY, "no memory to read %s", r->name);
    return 0;
}

static int take_member(struct reader *r, struct cb_json_span key_text, struct cb_json_span text)
{
    json_t *key = parse(r, key_text);
    if (!key)
        return CB_E_INPUT;
    int rows = find_rows(json_string_value(key));
    bool known =
        json_object_get(r->root, json_string_value(key)) || (rows >= 0 && r->rows[rows].text);
    int rc = known ? fail_text(r, key_text.text, "this key stands in the document twice")
                   : take_value(r, json_string_value(key), text);
    json_decref(key);
    return rc;
}

static int take_document(struct reader *r)
{
    struct cb_json_cursor cursor;
    struct cb_json_span key, value;
    int more;

    if (cb_json_split_open(r->text, '{', &cursor) != 0)
        return fail_at(r, NULL, "%s", cursor.problem ? "this is no JSON object" : "it is empty");
    while ((more = cb_json_split_next(&cursor, &key, &value)) == 1) {
        int rc = take_member(r, key, value);
        if (rc)
            return rc;
    }
    if (more < 0)
        return fail_split(r, &cursor);
    if (!cb_json_split_at_end(&cursor))
        return fail_text(r, cursor.at, "text after the end of the JSON object");
    return 0;
}

int cb_result_from_json(const char *name, const char *text, size_t length_bytes,
                        struct cb_result *result, struct cb_error *err)
{
    struct reader r = {.name = name, .text = {text, length_bytes}, .result = result, .err = err};

    r.root = json_object();
    int rc = r.root ? take_document(&r) : cb_fail(err, CB_E_MEMORY, "no memory to read %s", name);
    if (rc == 0)
        rc = check_schema(&r, r.root);
    if (rc == 0)
        rc = read_fields(&r, NULL, r.root, &cb_json_result_shape, result);
    if (rc == 0)
        rc = sort_ranks(&r);
    if (rc != 0)
        cb_result_fini(result);
    json_decref(r.root);
    return rc;
}

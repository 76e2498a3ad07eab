#include "result/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "result/json_place.h"
#include "result/json_shape.h"
#include "result/json_split.h"
#include "result/json_text.h"

struct reader {
    struct cb_json_source source;
    struct cb_result *result;
    json_t *root;                                    /* the document without its lists of rows, */
    struct cb_json_span rows[CB_JSON_RESULT_FIELDS]; /* which stay text until they are read */
};

/* Parses a part of the text. The caller releases *value. */
static int parse(const struct reader *r, struct cb_json_span span, json_t **value)
{
    json_error_t error;
    json_t *parsed =
        json_loadb(span.text, span.length_bytes, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
    if (!parsed && json_error_code(&error) == json_error_out_of_memory)
        return cb_fail(r->source.err, CB_E_MEMORY, "no memory to read %s", r->source.name);
    if (!parsed)
        return cb_json_fail_text(&r->source, span.text + error.position, error.text);
    *value = parsed;
    return 0;
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

static int fail_type(const struct reader *r, const struct cb_json_place *place,
                     const char *expected, const json_t *found)
{
    return cb_json_fail_at(&r->source, place, "expected %s, found %s", expected, type_name(found));
}

/* ---- typed getters: value to memory, or an error at a place ---- */

static int get_uint64(const struct reader *r, const struct cb_json_place *place,
                      const json_t *value, uint64_t *out)
{
    if (!json_is_integer(value))
        return fail_type(r, place, "an integer", value);
    json_int_t number = json_integer_value(value);
    if (number < 0)
        return cb_json_fail_at(&r->source, place,
                               "expected at least 0, found %" JSON_INTEGER_FORMAT, number);
    *out = (uint64_t)number;
    return 0;
}

static int get_int(const struct reader *r, const struct cb_json_place *place, const json_t *value,
                   int *out)
{
    uint64_t number;
    int rc = get_uint64(r, place, value, &number);
    if (rc)
        return rc;
    if (number > INT32_MAX)
        return cb_json_fail_at(&r->source, place, "%" PRIu64 " is too large", number);
    *out = (int)number;
    return 0;
}

static int get_real(const struct reader *r, const struct cb_json_place *place, const json_t *value,
                    double *out)
{
    if (!json_is_number(value))
        return fail_type(r, place, "a number", value);
    double number = json_number_value(value);
    if (number < 0)
        return cb_json_fail_at(&r->source, place, "expected at least 0, found %g", number);
    *out = number;
    return 0;
}

static int get_bool(const struct reader *r, const struct cb_json_place *place, const json_t *value,
                    bool *out)
{
    if (!json_is_boolean(value))
        return fail_type(r, place, "true or false", value);
    *out = json_is_true(value);
    return 0;
}

static int get_text(const struct reader *r, const struct cb_json_place *place, const json_t *value,
                    char *out, size_t out_size_bytes)
{
    if (!json_is_string(value))
        return fail_type(r, place, "a string", value);
    cb_json_clean(json_string_value(value), json_string_length(value), out, out_size_bytes);
    return 0;
}

static int get_name(const struct reader *r, const struct cb_json_place *place, const json_t *value,
                    const struct cb_json_names *names, int *out)
{
    if (!json_is_string(value))
        return fail_type(r, place, "a string", value);
    int parsed = names->parse(json_string_value(value));
    if (parsed < 0) {
        char shown[48];
        get_text(r, place, value, shown, sizeof(shown));
        return cb_json_fail_at(&r->source, place, "unknown %s \"%s\"", names->what, shown);
    }
    *out = parsed;
    return 0;
}

/* ---- the walk over the tables ---- */

static int read_fields(struct reader *r, const struct cb_json_place *place, const json_t *object,
                       const struct cb_json_shape *shape, void *row);

static int read_object(struct reader *r, const struct cb_json_place *place, const json_t *value,
                       const struct cb_json_shape *shape, void *row)
{
    if (!json_is_object(value))
        return fail_type(r, place, "an object", value);
    int rc = read_fields(r, place, value, shape, row);
    if (rc || !shape->lacks)
        return rc;
    struct cb_json_place lacking = {.parent = place, .key = shape->lacks(row)};
    return lacking.key ? cb_json_fail_at(&r->source, &lacking,
                                         "no number, where the rest of it says there is one")
                       : 0;
}

/* Fills count zeroed rows from an array. */
static int read_items(struct reader *r, const struct cb_json_place *place, const json_t *array,
                      const struct cb_json_shape *shape, char *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct cb_json_place item = {.parent = place, .index = i};
        int rc =
            read_object(r, &item, json_array_get(array, i), shape, items + i * shape->size_bytes);
        if (rc)
            return rc;
    }
    return 0;
}

static int read_rows(struct reader *r, const struct cb_json_place *place, const json_t *array,
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
        return cb_fail(r->source.err, CB_E_MEMORY, "no memory for %zu rows of %s", count,
                       field->key);
    vec.count = vec.capacity = count;
    memcpy(at, &vec, sizeof(vec)); /* first: whatever goes wrong, fini frees it */
    return read_items(r, place, array, field->shape, vec.items, count);
}

/* As read_rows, from text: one row at a time. */
static int read_rows_text(struct reader *r, const struct cb_json_place *place,
                          struct cb_json_span span, const struct cb_json_field *field, char *at)
{
    const struct cb_json_shape *shape = field->shape;
    struct cb_json_vec vec = {0};
    struct cb_json_cursor cursor;
    struct cb_json_span row;
    int rc = 0;

    if (cb_json_split_open(span, '[', &cursor) != 0)
        return cb_json_fail_text(&r->source, cursor.at, cursor.problem);
    for (int more; rc == 0 && (more = cb_json_split_next(&cursor, NULL, &row)) != 0;) {
        if (more < 0) {
            rc = cb_json_fail_text(&r->source, cursor.at, cursor.problem);
            break;
        }
        json_t *value = NULL;
        rc = parse(r, row, &value);
        if (rc)
            break;
        rc = cb_vec_grow(&vec.items, &vec.capacity, vec.count, 1, shape->size_bytes);
        if (rc) {
            cb_fail(r->source.err, rc, "no memory for the rows of %s", field->key);
        } else {
            struct cb_json_place item = {.parent = place, .index = vec.count};
            char *fresh = (char *)vec.items + vec.count++ * shape->size_bytes;
            memset(fresh, 0, shape->size_bytes);
            rc = read_object(r, &item, value, shape, fresh);
        }
        json_decref(value);
    }
    memcpy(at, &vec, sizeof(vec)); /* an error too: fini then frees them */
    return rc;
}

static int read_list(struct reader *r, const struct cb_json_place *place, const json_t *array,
                     const struct cb_json_field *field, char *row)
{
    if (!json_is_array(array))
        return fail_type(r, place, "an array", array);
    size_t count = json_array_size(array);
    if (count > field->capacity)
        return cb_json_fail_at(&r->source, place, "%zu entries, at most %zu can be", count,
                               field->capacity);
    int kept = (int)count;
    if (field->count_size_bytes == sizeof(count))
        memcpy(row + field->count_offset, &count, sizeof(count));
    else
        memcpy(row + field->count_offset, &kept, sizeof(kept));
    return read_items(r, place, array, field->shape, row + field->offset, count);
}

/* "name": "value", or "name": {"value": ..., "set_by": ...}. */
static int read_setting(const struct reader *r, const struct cb_json_place *place,
                        const json_t *value, struct cb_setting *setting)
{
    const json_t *text = value;
    const json_t *set_by = NULL;
    if (json_is_object(value)) {
        text = json_object_get(value, "value");
        set_by = json_object_get(value, "set_by");
        if (!text)
            return cb_json_fail_at(&r->source, place, "\"value\" is missing");
    }
    int rc = get_text(r, place, text, setting->value, sizeof(setting->value));
    if (rc == 0 && set_by && !json_is_null(set_by))
        rc = get_text(r, place, set_by, setting->set_by, sizeof(setting->set_by));
    return rc;
}

static int read_settings(const struct reader *r, const struct cb_json_place *place, json_t *object,
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
        return cb_fail(r->source.err, CB_E_MEMORY, "no memory for %zu settings", count);
    vec = (struct cb_json_vec){.items = settings, .count = count, .capacity = count};
    memcpy(at, &vec, sizeof(vec));

    const char *name;
    json_t *value;
    size_t i = 0;
    json_object_foreach(object, name, value)
    {
        struct cb_json_place here = {.parent = place, .key = name};
        cb_json_clean(name, strlen(name), settings[i].name, sizeof(settings[i].name));
        int rc = read_setting(r, &here, value, &settings[i++]);
        if (rc)
            return rc;
    }
    return 0;
}

/* The rows of one node, of which the result keeps those of all nodes in one list (at) and each
 * knows the number of its node (at node_offset). */
static int read_node_rows(struct reader *r, const struct cb_json_place *place, const json_t *array,
                          const struct cb_json_shape *shape, size_t node_offset, int node, void *at)
{
    struct cb_json_vec vec;
    if (!json_is_array(array))
        return fail_type(r, place, "an array", array);
    size_t count = json_array_size(array);
    if (count == 0)
        return 0;
    memcpy(&vec, at, sizeof(vec));
    if (cb_vec_grow(&vec.items, &vec.capacity, vec.count, count, shape->size_bytes))
        return cb_fail(r->source.err, CB_E_MEMORY, "no memory for %s", place->key);
    char *fresh = (char *)vec.items + vec.count * shape->size_bytes;
    memset(fresh, 0, count * shape->size_bytes);
    for (size_t i = 0; i < count; i++)
        memcpy(fresh + i * shape->size_bytes + node_offset, &node, sizeof(node));
    vec.count += count;
    memcpy(at, &vec, sizeof(vec)); /* first: whatever goes wrong, fini frees it */
    return read_items(r, place, array, shape, fresh, count);
}

/* node is the row that the array was found in. */
static int read_ranks(struct reader *r, const struct cb_json_place *place, const json_t *array,
                      const struct cb_topo_host *node)
{
    return read_node_rows(r, place, array, &cb_json_rank_shape, offsetof(struct cb_rank, node),
                          (int)(node - r->result->nodes.items), &r->result->ranks);
}

static int read_gpus(struct reader *r, const struct cb_json_place *place, const json_t *array,
                     const struct cb_topo_host *node)
{
    return read_node_rows(r, place, array, &cb_json_gpu_shape, offsetof(struct cb_gpu, node),
                          (int)(node - r->result->nodes.items), &r->result->gpus);
}

/* The node of that name that has no map yet, looked for from *from on, where the writer's order has
 * it; NULL when there is none. */
static struct cb_topo_host *find_node(struct cb_result *result, const char *name, size_t *from)
{
    size_t count = result->nodes.count;
    for (size_t i = 0; i < count; i++) {
        struct cb_topo_host *node = &result->nodes.items[(*from + i) % count];
        if (node->map == 0 && strcmp(node->name, name) == 0) {
            *from = (*from + i + 1) % count;
            return node;
        }
    }
    return NULL;
}

static int read_hosts(struct reader *r, const struct cb_json_place *place, const json_t *array,
                      const struct cb_facts *map)
{
    char name[sizeof(((struct cb_topo_host *)0)->name)];
    size_t from = 0;
    if (!json_is_array(array))
        return fail_type(r, place, "an array", array);
    for (size_t i = 0; i < json_array_size(array); i++) {
        struct cb_json_place item = {.parent = place, .index = i};
        int rc = get_text(r, &item, json_array_get(array, i), name, sizeof(name));
        if (rc)
            return rc;
        struct cb_topo_host *node = find_node(r->result, name, &from);
        if (!node)
            return cb_json_fail_at(&r->source, &item,
                                   "no host of that name in cluster.nodes without a map");
        node->map = 1 + (int)(map - r->result->maps.items);
    }
    return 0;
}

static int read_scalar(const struct reader *r, const struct cb_json_place *place,
                       const json_t *value, const struct cb_json_field *field, char *at)
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

/* What a field holds when the file says nothing: zero, but for the rules that say otherwise. */
static void set_default(const struct cb_json_field *field, bool has_object, char *at)
{
    if (has_object && field->rules & CB_JSON_TRUE_UNLESS)
        *(bool *)at = true;
    if (has_object && field->rules & CB_JSON_INFINITE_NULL)
        *(double *)at = INFINITY;
    if (!(field->rules & CB_JSON_NEGATIVE_NULL))
        return;
    if (field->kind == CB_JSON_INT)
        *(int *)at = -1;
    else
        *(double *)at = -1;
}

static bool may_be_null(const struct cb_json_field *field)
{
    return field->is_absent ||
           field->rules & (CB_JSON_ZERO_NULL | CB_JSON_NEGATIVE_NULL | CB_JSON_INFINITE_NULL);
}

static int read_value(struct reader *r, const struct cb_json_place *place, json_t *value,
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
    case CB_JSON_GPUS:
        return read_gpus(r, place, value, (const void *)row);
    case CB_JSON_HOSTS:
        return read_hosts(r, place, value, (const void *)row);
    default:
        return read_scalar(r, place, value, field, at);
    }
}

/* object is NULL for one that the file says is null or leaves out: every field gets its default. */
static int read_fields(struct reader *r, const struct cb_json_place *place, const json_t *object,
                       const struct cb_json_shape *shape, void *row)
{
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct cb_json_field *field = &shape->fields[i];
        struct cb_json_place here = {.parent = place, .key = field->key};
        json_t *value = object ? json_object_get(object, field->key) : NULL;
        int rc = 0;

        if (field->kind == CB_JSON_DERIVED || field->kind == CB_JSON_DERIVED_TEXT)
            continue;
        if (object && object == r->root && r->rows[i].text) {
            rc = read_rows_text(r, &here, r->rows[i], field, (char *)row + field->offset);
        } else if (!value && object && field->rules & CB_JSON_REQUIRED) {
            rc = cb_json_fail_at(&r->source, &here, "missing");
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
    struct cb_json_place at_schema = {.key = "schema"};
    struct cb_json_place at_version = {.key = "version"};
    const json_t *schema = json_object_get(root, "schema");
    const json_t *version = json_object_get(root, "version");

    if (!schema)
        return cb_json_fail_at(&r->source, &at_schema, "missing: this is no result of commbound");
    if (!json_is_string(schema))
        return fail_type(r, &at_schema, "a string", schema);
    if (strcmp(json_string_value(schema), CB_RESULT_SCHEMA) != 0) {
        char shown[48];
        get_text(r, &at_schema, schema, shown, sizeof(shown));
        return cb_json_fail_at(&r->source, &at_schema, "expected \"%s\", found \"%s\"",
                               CB_RESULT_SCHEMA, shown);
    }
    if (!version)
        return cb_json_fail_at(&r->source, &at_version, "missing");
    if (!json_is_integer(version))
        return fail_type(r, &at_version, "an integer", version);
    json_int_t number = json_integer_value(version);
    if (number < 1)
        return cb_json_fail_at(&r->source, &at_version, "there is no version %" JSON_INTEGER_FORMAT,
                               number);
    if (number > CB_RESULT_SCHEMA_VERSION) {
        cb_json_fail_at(&r->source, NULL,
                        "written by a newer commbound: version %" JSON_INTEGER_FORMAT
                        ", this one reads %d",
                        number, CB_RESULT_SCHEMA_VERSION);
        cb_error_set_hint(r->source.err,
                          "read it with the commbound that wrote it, or a later one");
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
            return cb_json_fail_at(&r->source, NULL, "rank %d stands in cluster.nodes twice",
                                   ranks[i].rank);
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
    json_t *value = NULL;
    int rc = parse(r, text, &value);
    if (rc)
        return rc;
    if (json_object_set_new(r->root, key, value) != 0)
        return cb_fail(r->source.err, CB_E_MEMORY, "no memory to read %s", r->source.name);
    return 0;
}

static int take_member(struct reader *r, struct cb_json_span key_text, struct cb_json_span text)
{
    json_t *key = NULL;
    int rc = parse(r, key_text, &key);
    if (rc)
        return rc;
    int rows = find_rows(json_string_value(key));
    bool known =
        json_object_get(r->root, json_string_value(key)) || (rows >= 0 && r->rows[rows].text);
    rc = known
             ? cb_json_fail_text(&r->source, key_text.text, "this key stands in the document twice")
             : take_value(r, json_string_value(key), text);
    json_decref(key);
    return rc;
}

static int take_document(struct reader *r)
{
    struct cb_json_cursor cursor;
    struct cb_json_span key, value;
    int more;

    if (cb_json_split_open(r->source.text, '{', &cursor) != 0)
        return cb_json_fail_at(&r->source, NULL, "%s",
                               cursor.problem ? "this is no JSON object" : "it is empty");
    while ((more = cb_json_split_next(&cursor, &key, &value)) == 1) {
        int rc = take_member(r, key, value);
        if (rc)
            return rc;
    }
    if (more < 0)
        return cb_json_fail_text(&r->source, cursor.at, cursor.problem);
    if (!cb_json_split_at_end(&cursor))
        return cb_json_fail_text(&r->source, cursor.at, "text after the end of the JSON object");
    return 0;
}

int cb_result_from_json(const char *name, const char *text, size_t length_bytes,
                        struct cb_result *result, struct cb_error *err)
{
    struct reader r = {
        .source = {.name = name, .text = {text, length_bytes}, .err = err},
        .result = result,
    };

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

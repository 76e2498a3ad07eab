/* How the structs of a result lie in result.json: tables that the writer and the reader both walk,
 * so that what one writes the other reads. Private to json_write.c and json_read.c. */
#ifndef CB_RESULT_JSON_SHAPE_H
#define CB_RESULT_JSON_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "result/result.h"

enum cb_json_kind {
    CB_JSON_BOOL,
    CB_JSON_INT,
    CB_JSON_UINT64,
    CB_JSON_REAL,     /* double */
    CB_JSON_TEXT,     /* char[size_bytes] */
    CB_JSON_ENUM,     /* by name */
    CB_JSON_OBJECT,   /* an object of its own, whose fields lie in this or in an inner struct */
    CB_JSON_ROWS,     /* CB_VEC of a struct */
    CB_JSON_LIST,     /* array inside the struct with its count beside it */
    CB_JSON_SETTINGS, /* CB_VEC(struct cb_setting) as an object, name to value */
    CB_JSON_RANKS,    /* the ranks of one node, which a result keeps in one list of all */
    CB_JSON_GPUS,     /* the same for its GPUs */
    CB_JSON_HOSTS,    /* the names of the nodes of one map, each of which knows its map */
    CB_JSON_DERIVED,  /* a number computed for people; never read back */
    CB_JSON_DERIVED_TEXT,
};

/* Rules of a field; they say what a value that is not there looks like. */
enum {
    CB_JSON_REQUIRED = 1,       /* the reader refuses an object without the key */
    CB_JSON_ZERO_NULL = 2,      /* 0 (or empty text) means unknown: null */
    CB_JSON_NEGATIVE_NULL = 4,  /* below 0 means unknown: null, read back as -1 */
    CB_JSON_OMIT = 8,           /* the writer leaves the key out rather than say null */
    CB_JSON_TRUE_UNLESS = 16,   /* a flag that an object leaves out is true */
    CB_JSON_INFINITE_NULL = 32, /* infinite means that nothing suffices: null */
};

struct cb_json_names {
    const char *what; /* "op", for "unknown op" */
    int count;
    const char *(*name)(int value);
    int (*parse)(const char *name); /* -1 for an unknown name */
};

struct cb_json_shape;

struct cb_json_field {
    const char *key;
    enum cb_json_kind kind;
    unsigned rules;
    size_t offset;
    size_t size_bytes;       /* of a text */
    size_t count_offset;     /* of a list's count */
    size_t count_size_bytes; /* of it: an int or a size_t */
    size_t capacity;         /* of a list */
    const struct cb_json_names *names;
    const struct cb_json_shape *shape;           /* of an object or a row */
    bool (*is_absent)(const void *row);          /* null whatever the field holds; may be NULL */
    double (*derive)(const void *row);           /* not finite: null */
    const char *(*derive_text)(const void *row); /* NULL is null */
};

struct cb_json_shape {
    const struct cb_json_field *fields;
    size_t field_count;
    size_t size_bytes; /* of one row */
    bool one_line;     /* written on one line, everything inside included */
    /* The key of the number that a row read from a file must hold, given the rest of it, and does
     * not; NULL when all is well. May be NULL. */
    const char *(*lacks)(const void *row);
};

/* Everything but "schema" and "version", over struct cb_result. */
#define CB_JSON_RESULT_FIELDS 15
extern const struct cb_json_shape cb_json_result_shape;
/* One rank and one GPU, inside their node. */
extern const struct cb_json_shape cb_json_rank_shape;
extern const struct cb_json_shape cb_json_gpu_shape;
/* A map with its hosts, what is wrong with it, and what was reached over its links. */
extern const struct cb_json_shape cb_json_map_shape;
extern const struct cb_json_shape cb_json_node_finding_shape;
extern const struct cb_json_shape cb_json_crossing_shape;
/* A burn and a point of its series. */
extern const struct cb_json_shape cb_json_burn_shape;
extern const struct cb_json_shape cb_json_burn_sample_shape;
/* A regime of a curve. */
extern const struct cb_json_shape cb_json_fit_shape;
/* What was judged on paper. */
extern const struct cb_json_shape cb_json_offer_shape;
/* What was taken from another program's output. */
extern const struct cb_json_shape cb_json_import_shape;
/* What the model of a training step says, and one piece of advice. */
extern const struct cb_json_shape cb_json_training_shape;
extern const struct cb_json_shape cb_json_advice_shape;

/* Renders any struct by its shape as a document of its own, "schema" and "version" first, ending in
 * a newline; the shape may hold neither ranks nor GPUs of a node. The caller frees *text with
 * free(). Errors: CB_E_MEMORY. */
int cb_json_write_document(const char *schema, int version, const struct cb_json_shape *shape,
                           const void *row, char **text, struct cb_error *err);

/* CB_VEC of any type: every one has this layout. Copied in and out, never aliased. */
struct cb_json_vec {
    void *items;
    size_t count;
    size_t capacity;
};

#endif

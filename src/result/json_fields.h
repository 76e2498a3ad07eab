/* How the rows of the shape tables are written. Private to json_shape*.c. */
#ifndef CB_RESULT_JSON_FIELDS_H
#define CB_RESULT_JSON_FIELDS_H

#include <stddef.h>

#include "result/json_shape.h"

/* The names of an enum, from its cb_X_name and cb_X_parse. */
#define NAMES(object, what, count)                                                                 \
    static const char *object##_name(int value)                                                    \
    {                                                                                              \
        return cb_##object##_name((enum cb_##object)value);                                        \
    }                                                                                              \
    static const struct cb_json_names object##_names = {what, count, object##_name,                \
                                                        cb_##object##_parse}

#define MEMBER(object, member) ((struct cb_##object *)0)->member
#define KIND_OF(object, member)                                                                    \
    _Generic(MEMBER(object, member),                                                               \
        _Bool: CB_JSON_BOOL,                                                                       \
        int: CB_JSON_INT,                                                                          \
        uint64_t: CB_JSON_UINT64,                                                                  \
        double: CB_JSON_REAL,                                                                      \
        char *: CB_JSON_TEXT)

#define AT(object, member)                                                                         \
    .offset = offsetof(struct cb_##object, member), .size_bytes = sizeof(MEMBER(object, member))

/* A plain member, whose kind follows from its type; null under a condition; by name. */
#define FIELD(object, member, name, how)                                                           \
    {                                                                                              \
        .key = name, .kind = KIND_OF(object, member), .rules = (how), AT(object, member)           \
    }
#define FIELD_UNLESS(object, member, name, how, condition)                                         \
    {                                                                                              \
        .key = name, .kind = KIND_OF(object, member), .rules = (how), AT(object, member),          \
        .is_absent = (condition)                                                                   \
    }
#define NAMED(object, member, name, how, table)                                                    \
    {                                                                                              \
        .key = name, .kind = CB_JSON_ENUM, .rules = (how), AT(object, member), .names = &(table)   \
    }
#define NAMED_UNLESS(object, member, name, how, table, condition)                                  \
    {                                                                                              \
        .key = name, .kind = CB_JSON_ENUM, .rules = (how), AT(object, member), .names = &(table),  \
        .is_absent = (condition)                                                                   \
    }
#define ROWS(object, member, name, how, row_shape)                                                 \
    {                                                                                              \
        .key = name, .kind = CB_JSON_ROWS, .rules = (how), AT(object, member),                     \
        .shape = &(row_shape)                                                                      \
    }
#define ROWS_UNLESS(object, member, name, how, row_shape, condition)                               \
    {                                                                                              \
        .key = name, .kind = CB_JSON_ROWS, .rules = (how), AT(object, member),                     \
        .shape = &(row_shape), .is_absent = (condition)                                            \
    }
#define INNER(object, member, name, how, inner_shape)                                              \
    {                                                                                              \
        .key = name, .kind = CB_JSON_OBJECT, .rules = (how), AT(object, member),                   \
        .shape = &(inner_shape)                                                                    \
    }
/* An array inside the struct, with the member that counts it: int or size_t. */
#define LIST(object, member, count, name, row_shape)                                               \
    {                                                                                              \
        .key = name, .kind = CB_JSON_LIST, AT(object, member),                                     \
        .count_offset = offsetof(struct cb_##object, count),                                       \
        .count_size_bytes = sizeof(MEMBER(object, count)),                                         \
        .capacity = sizeof(MEMBER(object, member)) / sizeof(*MEMBER(object, member)),              \
        .shape = &(row_shape)                                                                      \
    }
#define SETTINGS(object, member, name)                                                             \
    {                                                                                              \
        .key = name, .kind = CB_JSON_SETTINGS, AT(object, member)                                  \
    }
/* Keys that only group fields of the same struct. */
#define GROUP(name, how, group_shape)                                                              \
    {                                                                                              \
        .key = name, .kind = CB_JSON_OBJECT, .rules = (how), .shape = &(group_shape)               \
    }
#define DERIVED(name, function)                                                                    \
    {                                                                                              \
        .key = name, .kind = CB_JSON_DERIVED, .derive = (function)                                 \
    }

#define SHAPE(table, object, single)                                                               \
    {                                                                                              \
        .fields = (table), .field_count = sizeof(table) / sizeof((table)[0]),                      \
        .size_bytes = sizeof(struct cb_##object), .one_line = (single)                             \
    }
#define SHAPE_THAT_MAY_LACK(table, object, single, function)                                       \
    {                                                                                              \
        .fields = (table), .field_count = sizeof(table) / sizeof((table)[0]),                      \
        .size_bytes = sizeof(struct cb_##object), .one_line = (single), .lacks = (function)        \
    }

#define ALWAYS CB_JSON_REQUIRED
#define ZERO CB_JSON_ZERO_NULL
#define NEGATIVE CB_JSON_NEGATIVE_NULL
#define OMIT CB_JSON_OMIT

#endif

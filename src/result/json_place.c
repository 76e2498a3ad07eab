#include "result/json_place.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "result/json_text.h"

#define NAME_SHOWN 96 /* bytes of a long file name that a message leaves room for */

/* The end of a path tells the reader more than its beginning. */
static void format_name(const char *name, char *out, size_t out_size_bytes)
{
    size_t length = strlen(name);
    bool whole = length <= NAME_SHOWN;
    snprintf(out, out_size_bytes, "%s%s", whole ? "" : "...",
             whole ? name : name + length - NAME_SHOWN);
}

static void append_place(const struct cb_json_place *place, char *out, size_t out_size_bytes)
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
static int fail_clean(const struct cb_json_source *source, const char *where, const char *what)
{
    char name[NAME_SHOWN + 4], whole[sizeof(source->err->what)], clean[sizeof(source->err->what)];
    format_name(source->name, name, sizeof(name));
    snprintf(whole, sizeof(whole), "%s%s: %s", name, where, what);
    cb_json_clean(whole, strlen(whole), clean, sizeof(clean));
    return cb_fail(source->err, CB_E_INPUT, "%s", clean);
}

int cb_json_fail_at(const struct cb_json_source *source, const struct cb_json_place *place,
                    const char *format, ...)
{
    char where[112] = ": ", what[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    append_place(place, where + 2, sizeof(where) - 2);
    return fail_clean(source, place ? where : "", what);
}

int cb_json_fail_text(const struct cb_json_source *source, const char *at, const char *problem)
{
    char where[32];
    size_t line = 1;
    for (const char *c = source->text.text; c < at; c++)
        line += *c == '\n';
    snprintf(where, sizeof(where), ":%zu", line);
    fail_clean(source, where, problem ? problem : "the file ends in the middle of the JSON text");
    if (!problem)
        cb_error_set_hint(source->err, "it was cut short, perhaps by a copy that did not finish");
    return CB_E_INPUT;
}

#include "result/json_split.h"

#include <string.h>

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_space(struct cb_json_cursor *c)
{
    while (c->at < c->end && is_space(*c->at))
        c->at++;
}

static int fail(struct cb_json_cursor *c, const char *problem)
{
    c->problem = c->at < c->end ? problem : NULL;
    return -1;
}

/* Passes the string whose opening quote the cursor stands at. */
static int skip_string(struct cb_json_cursor *c)
{
    for (c->at++; c->at < c->end; c->at++) {
        if (*c->at == '"') {
            c->at++;
            return 0;
        }
        if (*c->at == '\\' && ++c->at == c->end)
            break;
    }
    return fail(c, NULL);
}

/* Passes an object or array, counting brackets of either kind. */
static int skip_brackets(struct cb_json_cursor *c)
{
    size_t depth = 0;
    while (c->at < c->end) {
        char here = *c->at;
        if (here == '"') {
            if (skip_string(c) != 0)
                return -1;
            continue;
        }
        c->at++;
        if (here == '{' || here == '[')
            depth++;
        else if ((here == '}' || here == ']') && --depth == 0)
            return 0;
    }
    return fail(c, NULL);
}

static int skip_value(struct cb_json_cursor *c)
{
    const char *start = c->at;
    if (c->at == c->end)
        return fail(c, NULL);
    if (*c->at == '"')
        return skip_string(c);
    if (*c->at == '{' || *c->at == '[')
        return skip_brackets(c);
    while (c->at < c->end && !is_space(*c->at) && !strchr(",:{}[]\"", *c->at))
        c->at++;
    return c->at > start ? 0 : fail(c, "a value is missing");
}

int cb_json_split_open(struct cb_json_span whole, char open, struct cb_json_cursor *cursor)
{
    *cursor = (struct cb_json_cursor){
        .at = whole.text,
        .end = whole.text + whole.length_bytes,
        .close = open == '{' ? '}' : ']',
    };
    skip_space(cursor);
    if (cursor->at == cursor->end || *cursor->at != open)
        return fail(cursor, open == '{' ? "'{' is missing" : "'[' is missing");
    cursor->at++;
    return 0;
}

/* Passes the comma before the next item; 1 when there is one, 0 past the closing bracket. */
static int pass_separator(struct cb_json_cursor *c)
{
    skip_space(c);
    if (c->at < c->end && *c->at == c->close) {
        c->at++;
        return 0;
    }
    if (c->started) {
        if (c->at == c->end || *c->at != ',')
            return fail(c, c->close == '}' ? "',' or '}' is missing" : "',' or ']' is missing");
        c->at++;
        skip_space(c);
    }
    c->started = true;
    return 1;
}

int cb_json_split_next(struct cb_json_cursor *c, struct cb_json_span *key,
                       struct cb_json_span *value)
{
    const char *start;
    int rc = pass_separator(c);
    if (rc != 1)
        return rc;
    if (c->close == '}') {
        start = c->at;
        if (c->at == c->end || *c->at != '"')
            return fail(c, "a key in quotes is missing");
        if (skip_string(c) != 0)
            return -1;
        *key = (struct cb_json_span){start, (size_t)(c->at - start)};
        skip_space(c);
        if (c->at == c->end || *c->at != ':')
            return fail(c, "':' is missing");
        c->at++;
        skip_space(c);
    }
    start = c->at;
    if (skip_value(c) != 0)
        return -1;
    *value = (struct cb_json_span){start, (size_t)(c->at - start)};
    return 1;
}

bool cb_json_split_at_end(struct cb_json_cursor *cursor)
{
    skip_space(cursor);
    return cursor->at == cursor->end;
}

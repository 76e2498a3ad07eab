#include "base/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct cb_strbuf *buf, size_t more_bytes)
{
    if (buf->failed)
        return false;
    size_t wanted = buf->length_bytes + more_bytes + 1;
    if (wanted <= buf->capacity_bytes)
        return true;
    size_t capacity = buf->capacity_bytes ? buf->capacity_bytes : 256;
    while (capacity < wanted)
        capacity *= 2;
    char *moved = realloc(buf->text, capacity);
    if (!moved) {
        buf->failed = true;
        return false;
    }
    buf->text = moved;
    buf->capacity_bytes = capacity;
    return true;
}

void cb_strbuf_addf(struct cb_strbuf *buf, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    buf->failed |= length < 0;
    if (length < 0 || !reserve(buf, (size_t)length))
        return;
    va_start(arguments, format);
    vsnprintf(buf->text + buf->length_bytes, (size_t)length + 1, format, arguments);
    va_end(arguments);
    buf->length_bytes += (size_t)length;
}

void cb_strbuf_add(struct cb_strbuf *buf, const char *text)
{
    size_t length = strlen(text);
    if (!reserve(buf, length))
        return;
    memcpy(buf->text + buf->length_bytes, text, length + 1);
    buf->length_bytes += length;
}

void cb_strbuf_fill(struct cb_strbuf *buf, char c, size_t count)
{
    if (!reserve(buf, count))
        return;
    memset(buf->text + buf->length_bytes, c, count);
    buf->length_bytes += count;
    buf->text[buf->length_bytes] = '\0';
}

const char *cb_strbuf_get(const struct cb_strbuf *buf)
{
    return buf->text ? buf->text : "";
}

void cb_strbuf_fini(struct cb_strbuf *buf)
{
    free(buf->text);
    memset(buf, 0, sizeof(*buf));
}

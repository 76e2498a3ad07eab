/* The one growable string. Zero-initialised is empty; failure to grow is sticky and seen at the
 * end, so that a renderer need not check every append. */
#ifndef CB_BASE_STRBUF_H
#define CB_BASE_STRBUF_H

#include <stdbool.h>
#include <stddef.h>

struct cb_strbuf {
    char *text; /* NUL-terminated; NULL while empty */
    size_t length_bytes;
    size_t capacity_bytes;
    bool failed; /* an allocation or a format failed: the text is incomplete */
};

/* Appends printf-formatted text, a string, or count copies of one character. */
void cb_strbuf_addf(struct cb_strbuf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void cb_strbuf_add(struct cb_strbuf *buf, const char *text);
void cb_strbuf_fill(struct cb_strbuf *buf, char c, size_t count);

/* The text so far, never NULL; borrowed, valid until the next append. */
const char *cb_strbuf_get(const struct cb_strbuf *buf);

/* Frees the text; the buffer is empty and usable again. */
void cb_strbuf_fini(struct cb_strbuf *buf);

#endif

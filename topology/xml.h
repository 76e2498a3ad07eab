/* Reading XML that nobody vouches for: expat behind a narrow door. Entities of a document's own are
 * refused, external references are never followed, depth and size are bounded. */
#ifndef CB_TOPOLOGY_XML_H
#define CB_TOPOLOGY_XML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define CB_XML_DEPTH_MAX 100
#define CB_XML_ELEMENTS_MAX 200000

/* A document while it is read. */
struct cb_xml;

/* What is made of it; texts are borrowed until the call returns, UTF-8. attributes are names and
 * values by turns, then NULL. end and text may be NULL. */
struct cb_xml_events {
    void (*start)(struct cb_xml *xml, void *user, const char *element,
                  const char *const *attributes);
    void (*end)(struct cb_xml *xml, void *user, const char *element);
    void (*text)(struct cb_xml *xml, void *user, const char *text, size_t length_bytes);
    bool may_name_dtd; /* a DOCTYPE that only names a file is passed over */
};

/* Walks the document; name stands in messages. Errors: CB_E_INPUT with "NAME:LINE: ...", for what
 * is not well-formed, goes beyond the bounds, or what an event failed with; CB_E_MEMORY. */
int cb_xml_read(const char *name, const char *text, size_t length_bytes,
                const struct cb_xml_events *events, void *user, struct cb_error *err);

/* For events: ends the walk with an error at the present line (printf format). The first counts. */
void cb_xml_fail(struct cb_xml *xml, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same with an error that somebody else filled: its text after "NAME:LINE: ". */
void cb_xml_pass_on(struct cb_xml *xml, const struct cb_error *err);

/* For events: how many elements are open above the present one. */
int cb_xml_depth(const struct cb_xml *xml);

/* The value of an attribute, NULL when there is none. */
const char *cb_xml_attribute(const char *const *attributes, const char *name);

/* The attribute as an integer (decimal, or 0x...) of low to high; missing when there is none or it
 * is something else. */
long cb_xml_integer(const char *const *attributes, const char *name, long low, long high,
                    long missing);

#endif

#include "topology/hwloc_text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/map.h"
#include "topology/xml.h"

#define VALUE_BYTES_MAX                                                                            \
    16384               /* of one attribute: a set of CPUs of a large machine has some hundred */
#define INDEX_MAX 65535 /* of a processing unit or NUMA node: hwloc keeps a bit for each */
#define MATRIX_MAX 512  /* objects of a matrix of bandwidths */

struct cleaner {
    struct cb_strbuf *out;
    char *version;
    int skipped_above; /* depth of the element that is left out with all in it; 0: none */
    bool keeps_text;
};

static void add_escaped(struct cb_strbuf *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        switch (*c) {
        case '<':
            cb_strbuf_add(out, "&lt;");
            break;
        case '>':
            cb_strbuf_add(out, "&gt;");
            break;
        case '&':
            cb_strbuf_add(out, "&amp;");
            break;
        case '"':
            cb_strbuf_add(out, "&quot;");
            break;
        default: /* expat lets no control character through but white space */
            cb_strbuf_fill(out, (unsigned char)*c < ' ' ? ' ' : *c, 1);
        }
    }
}

/* "2.0" */
static bool read_version(const char *text, long *major, long *minor)
{
    char *end;
    *major = strtol(text, &end, 10);
    if (end == text || *end != '.')
        return false;
    const char *rest = end + 1;
    *minor = strtol(rest, &end, 10);
    return end != rest && !*end && *major >= 0 && *major < 100 && *minor >= 0 && *minor < 100;
}

static void open_root(struct cb_xml *xml, struct cleaner *cleaner, const char *element,
                      const char *const *attributes)
{
    char clean[32];
    const char *version = cb_xml_attribute(attributes, "version");
    cb_map_clean(clean, sizeof(clean), element, strlen(element));
    if (strcmp(element, "topologydiff") == 0)
        cb_xml_fail(xml, "the difference of two topologies, not one");
    else if (strcmp(element, "topology") != 0)
        cb_xml_fail(xml, "begins with <%s>: a file of lstopo begins with <topology>", clean);
    long major = 1, minor = 0;
    if (version && !read_version(version, &major, &minor))
        cb_xml_fail(xml, "states no version that could be one of lstopo's");
    snprintf(cleaner->version, 16, "%ld.%ld", major, minor);
    cb_strbuf_add(cleaner->out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    if (version)
        cb_strbuf_addf(cleaner->out, "<topology version=\"%s\">\n", cleaner->version);
    else
        cb_strbuf_add(cleaner->out, "<topology>\n");
}

/* Whether a matrix is one of the links between GPUs. */
static bool is_wanted_matrix(const char *const *attributes)
{
    const char *name = cb_xml_attribute(attributes, "name");
    return name && (strcmp(name, "NVLinkBandwidth") == 0 || strcmp(name, "XGMIBandwidth") == 0);
}

static bool is_wanted(const char *element, const char *const *attributes)
{
    static const char *const wanted[] = {"object", "info", "indexes", "u64values"};
    if (strcmp(element, "distances2") == 0 || strcmp(element, "distances2hetero") == 0)
        return is_wanted_matrix(attributes);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
        if (strcmp(element, wanted[i]) == 0)
            return true;
    return false;
}

static bool is_plain_name(const char *name)
{
    return name[strspn(name, "abcdefghijklmnopqrstuvwxyz_")] == '\0';
}

static bool is_plain_text(const char *text, size_t length_bytes)
{
    for (size_t i = 0; i < length_bytes; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr(": \n", text[i]))
            return false;
    return true;
}

/* What hwloc would take as the size of something. */
static void check_sizes(struct cb_xml *xml, const char *element, const char *const *attributes)
{
    const char *type = cb_xml_attribute(attributes, "type");
    bool has_bit = type && (strcmp(type, "PU") == 0 || strcmp(type, "NUMANode") == 0);
    if (strcmp(element, "object") == 0 && has_bit &&
        cb_xml_integer(attributes, "os_index", 0, INDEX_MAX, -1) < 0)
        cb_xml_fail(xml, "a %s without an index that a machine could have", type);
    if (cb_xml_attribute(attributes, "nbobjs") &&
        cb_xml_integer(attributes, "nbobjs", 1, MATRIX_MAX, -1) < 0)
        cb_xml_fail(xml, "a matrix of more than %d objects", MATRIX_MAX);
    for (; *attributes; attributes += 2)
        if (strlen(attributes[1]) > VALUE_BYTES_MAX)
            cb_xml_fail(xml, "an attribute longer than any of lstopo's");
}

static void on_start(struct cb_xml *xml, void *user, const char *element,
                     const char *const *attributes)
{
    struct cleaner *cleaner = user;
    int depth = cb_xml_depth(xml);
    if (depth == 0) {
        open_root(xml, cleaner, element, attributes);
        return;
    }
    if (cleaner->skipped_above)
        return;
    if (!is_wanted(element, attributes)) {
        cleaner->skipped_above = depth;
        return;
    }
    check_sizes(xml, element, attributes);
    cleaner->keeps_text = strcmp(element, "indexes") == 0 || strcmp(element, "u64values") == 0;
    cb_strbuf_addf(cleaner->out, "<%s", element);
    for (; *attributes; attributes += 2) {
        if (!is_plain_name(attributes[0]))
            continue;
        cb_strbuf_addf(cleaner->out, " %s=\"", attributes[0]);
        add_escaped(cleaner->out, attributes[1]);
        cb_strbuf_add(cleaner->out, "\"");
    }
    cb_strbuf_add(cleaner->out, ">");
}

static void on_end(struct cb_xml *xml, void *user, const char *element)
{
    struct cleaner *cleaner = user;
    cleaner->keeps_text = false;
    if (!cleaner->skipped_above)
        cb_strbuf_addf(cleaner->out, "</%s>\n", element);
    else if (cleaner->skipped_above == cb_xml_depth(xml))
        cleaner->skipped_above = 0;
}

static void on_text(struct cb_xml *xml, void *user, const char *text, size_t length_bytes)
{
    struct cleaner *cleaner = user;
    if (!cleaner->keeps_text || cleaner->skipped_above)
        return;
    if (!is_plain_text(text, length_bytes)) {
        cb_xml_fail(xml, "something in a matrix that is no number and no device");
        return;
    }
    for (size_t i = 0; i < length_bytes; i++)
        cb_strbuf_fill(cleaner->out, text[i], 1);
}

int cb_hwloc_text_clean(const char *name, const char *text, size_t length_bytes,
                        struct cb_strbuf *out, char version[16], struct cb_error *err)
{
    static const struct cb_xml_events events = {
        .start = on_start, .end = on_end, .text = on_text, .may_name_dtd = true};
    struct cleaner cleaner = {.out = out, .version = version};
    int rc = cb_xml_read(name, text, length_bytes, &events, &cleaner, err);
    if (!rc && out->failed)
        rc = cb_fail(err, CB_E_MEMORY, "no memory to read %s", name);
    return rc;
}

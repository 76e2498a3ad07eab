#define _GNU_SOURCE /* memmem */
#include "topology/map_read.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "topology/smi_matrix.h"

static bool is_at(const char *text, size_t length_bytes, size_t at, const char *word)
{
    size_t length = strlen(word);
    return at + length <= length_bytes && memcmp(text + at, word, length) == 0;
}

/* Where a word next begins, at or behind a place; length_bytes when nowhere. */
static size_t find_word(const char *text, size_t length_bytes, size_t at, const char *word)
{
    const char *found = memmem(text + at, length_bytes - at, word, strlen(word));
    return found ? (size_t)(found - text) : length_bytes;
}

static size_t skip_blanks(const char *text, size_t length_bytes)
{
    size_t at = is_at(text, length_bytes, 0, "\xef\xbb\xbf") ? 3 : 0; /* byte order mark */
    while (at < length_bytes && isspace((unsigned char)text[at]))
        at++;
    return at;
}

/* The name of a document's first element, cleaned; empty when it has none. What stands before it
 * (declarations, comments) is passed over, not read. */
static void find_root(const char *text, size_t length_bytes, char *root, size_t size_bytes)
{
    size_t at = skip_blanks(text, length_bytes);
    root[0] = '\0';
    while (at < length_bytes && text[at] == '<') {
        const char *end = ">";
        if (is_at(text, length_bytes, at, "<!--"))
            end = "-->";
        else if (is_at(text, length_bytes, at, "<?"))
            end = "?>";
        else if (!is_at(text, length_bytes, at, "<!"))
            break;
        else if (find_word(text, length_bytes, at, "[") < find_word(text, length_bytes, at, ">"))
            end = "]>"; /* declarations of its own, which the reader refuses */
        at = find_word(text, length_bytes, at, end);
        at += at < length_bytes ? strlen(end) : 0;
        while (at < length_bytes && isspace((unsigned char)text[at]))
            at++;
    }
    if (at >= length_bytes || text[at] != '<')
        return;
    size_t end = ++at;
    while (end < length_bytes && (isalnum((unsigned char)text[end]) || text[end] == '_'))
        end++;
    cb_map_clean(root, size_bytes, text + at, end - at);
}

/* What a document may begin with, and who reads it. */
static const struct reader {
    const char *root;
    int (*read)(const char *name, const char *text, size_t length_bytes, struct cb_map *map,
                struct cb_error *err);
} readers[] = {
    {"topology", cb_map_from_hwloc_xml},
    {"topologydiff", cb_map_from_hwloc_xml},
    {"system", cb_map_from_nccl_xml},
    {"graphs", cb_map_from_nccl_xml},
};

static int fail_unknown(const char *name, const char *what, struct cb_error *err)
{
    cb_fail(err, CB_E_INPUT, "%s:1: %s", name, what);
    cb_error_set_hint(err, "a map is what these write: lstopo FILE.xml, NCCL with "
                           "NCCL_TOPO_DUMP_FILE, nvidia-smi topo -m");
    return CB_E_INPUT;
}

static int read_xml(const char *name, const char *text, size_t length_bytes, struct cb_map *map,
                    struct cb_error *err)
{
    char root[32], what[96];
    find_root(text, length_bytes, root, sizeof(root));
    for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++)
        if (strcmp(root, readers[i].root) == 0)
            return readers[i].read(name, text, length_bytes, map, err);
    if (cb_smi_matrix_is_there(text, length_bytes)) /* on a page of an issue tracker */
        return cb_map_from_smi(name, text, length_bytes, map, err);
    if (!root[0]) /* what is wrong with it, its reader says best */
        return cb_map_from_nccl_xml(name, text, length_bytes, map, err);
    snprintf(what, sizeof(what), "neither a map of lstopo's nor of NCCL's: begins with <%s>", root);
    return fail_unknown(name, what, err);
}

int cb_map_read(const char *name, const char *text, size_t length_bytes, struct cb_map *map,
                struct cb_error *err)
{
    size_t at = skip_blanks(text, length_bytes);
    if (length_bytes > CB_MAP_FILE_BYTES_MAX)
        return fail_unknown(name, "larger than any map of a machine", err);
    if (at == length_bytes)
        return fail_unknown(name, "an empty file", err);
    if (memchr(text, '\0', length_bytes) && !is_at(text, length_bytes, 0, "\xff\xfe") &&
        !is_at(text, length_bytes, 0, "\xfe\xff"))
        return fail_unknown(name, "no text", err);
    if (text[at] == '<')
        return read_xml(name, text, length_bytes, map, err);
    if (text[at] == '{' || is_at(text, length_bytes, at, "[\n"))
        return fail_unknown(name, "JSON, and no map is read from that", err);
    return cb_map_from_smi(name, text, length_bytes, map, err);
}

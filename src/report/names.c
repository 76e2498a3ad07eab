#include "report/names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* FNV-1a */
/* NOLINTBEGIN(clang-analyzer-unix.Malloc): text never lies in the array that make_room frees. */
static size_t hash(const char *text)
{
    uint64_t sum = 14695981039346656037u;
    for (; *text; text++)
        sum = (sum ^ (unsigned char)*text) * 1099511628211u;
    return (size_t)(sum ^ sum >> 32);
}

/* The slot that holds text, or the free one it belongs in. */
static size_t *find(const struct cb_names *names, const char *text)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): text is never in the array that make_room frees
     */
    size_t at = hash(text) & (names->slot_count - 1);
    while (names->slots[at] && strcmp(cb_names_get(names, names->slots[at] - 1), text) != 0)
        at = (at + 1) & (names->slot_count - 1);
    return &names->slots[at];
}
/* NOLINTEND(clang-analyzer-unix.Malloc) */

/* Keeps the hash table at most half full. */
static int make_room(struct cb_names *names)
{
    if (names->offsets_bytes.count * 2 < names->slot_count)
        return 0;
    struct cb_names grown = *names;
    grown.slot_count = names->slot_count ? names->slot_count * 2 : 16;
    grown.slots = calloc(grown.slot_count, sizeof(*grown.slots));
    if (!grown.slots)
        return CB_E_MEMORY;
    for (size_t i = 0; i < names->offsets_bytes.count; i++)
        *find(&grown, cb_names_get(names, i)) = i + 1;
    free(names->slots);
    *names = grown;
    return 0;
}

int cb_names_intern(struct cb_names *names, const char *text, size_t *number)
{
    if (make_room(names) != 0)
        return CB_E_MEMORY;
    size_t *slot = find(names, text);
    if (*slot == 0) {
        size_t offset_bytes = names->texts.length_bytes;
        cb_strbuf_add(&names->texts, text);
        cb_strbuf_fill(&names->texts, '\0', 1);
        size_t *offset = names->texts.failed ? NULL : cb_vec_add(&names->offsets_bytes);
        if (!offset)
            return CB_E_MEMORY;
        *offset = offset_bytes;
        *slot = names->offsets_bytes.count;
    }
    *number = *slot - 1;
    return 0;
}

const char *cb_names_get(const struct cb_names *names, size_t number)
{
    return cb_strbuf_get(&names->texts) + names->offsets_bytes.items[number];
}

void cb_names_fini(struct cb_names *names)
{
    cb_vec_fini(&names->offsets_bytes);
    cb_strbuf_fini(&names->texts);
    free(names->slots);
    memset(names, 0, sizeof(*names));
}

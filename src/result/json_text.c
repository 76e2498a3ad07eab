#include "result/json_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* How many bytes the character at text takes, 0 when it is not valid UTF-8 (RFC 3629: the shortest
 * form, no surrogates, nothing above U+10FFFF). */
static size_t character_length(const unsigned char *text, size_t left)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t smallest;
    } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

    size_t length = 1;
    while (length <= 4 && (text[0] & forms[length - 1].mask) != forms[length - 1].lead)
        length++;
    if (length > 4 || length > left)
        return 0;
    uint32_t point = text[0] & (unsigned char)~forms[length - 1].mask;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (text[i] & 0x3fu);
    }
    bool valid = point >= forms[length - 1].smallest && point <= 0x10ffff &&
                 (point < 0xd800 || point > 0xdfff);
    return valid ? length : 0;
}

/* C0, DEL and C1: what makes a terminal act. */
static bool is_control(const unsigned char *text, size_t length)
{
    return (length == 1 && (text[0] < 0x20 || text[0] == 0x7f)) ||
           (length == 2 && text[0] == 0xc2 && text[1] < 0xa0);
}

void cb_json_clean(const char *text, size_t length_bytes, char *out, size_t out_size_bytes)
{
    size_t used = 0;
    for (size_t i = 0; i < length_bytes && text[i];) {
        const unsigned char *at = (const unsigned char *)text + i;
        size_t length = character_length(at, length_bytes - i);
        bool plain = length > 0 && !is_control(at, length);
        size_t needed = plain ? length : 1;
        if (used + needed >= out_size_bytes)
            break;
        if (plain)
            memcpy(out + used, at, length);
        else
            out[used] = at[0] == '\t' || at[0] == '\n' || at[0] == '\r' ? ' ' : '?';
        used += needed;
        i += length ? length : 1;
    }
    out[used] = '\0';
}

#include "base/suggest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Longer texts are no typing slips, and the distance table below stays small. */
#define NAME_LIMIT 64

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static int lower(char c)
{
    return tolower((unsigned char)c);
}

/* Optimal string alignment distance; both texts are shorter than NAME_LIMIT. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][NAME_LIMIT + 1];
    size_t *before = rows[0], *previous = rows[1], *current = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        previous[j] = before[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        current[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t differs = lower(a[i - 1]) != lower(b[j - 1]);
            current[j] =
                smaller(previous[j - 1] + differs, smaller(previous[j] + 1, current[j - 1] + 1));
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]))
                current[j] = smaller(current[j], before[j - 2] + 1);
        }
        size_t *oldest = before;
        before = previous;
        previous = current;
        current = oldest;
    }
    return previous[b_length];
}

const char *cb_suggest(const char *text, const char *const *names, size_t count)
{
    const char *nearest = NULL;
    size_t nearest_distance = 0;
    size_t length = strlen(text);
    if (length == 0 || length >= NAME_LIMIT)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t name_length = strlen(names[i]);
        if (name_length >= NAME_LIMIT)
            continue;
        size_t distance = edit_distance(text, length, names[i], name_length);
        size_t longer = length > name_length ? length : name_length;
        if (3 * distance > longer || (nearest && distance >= nearest_distance))
            continue;
        nearest = names[i];
        nearest_distance = distance;
    }
    return nearest;
}

/* Letters and digits alone, in lower case; returns their number, cut at NAME_LIMIT. */
static size_t plain(const char *text, char out[NAME_LIMIT + 1])
{
    size_t length = 0;
    for (; *text && length < NAME_LIMIT; text++)
        if (isalnum((unsigned char)*text))
            out[length++] = (char)lower(*text);
    out[length] = '\0';
    return length;
}

/* How far a name is from a text, in edits per thousand characters of the longer; one that holds
 * the text is nearer than any that does not. Negative: too far to mean it. */
static long remoteness(const char *text, size_t length, const char *name)
{
    char own[NAME_LIMIT + 1];
    size_t own_length = plain(name, own);
    if (own_length == 0)
        return -1;
    size_t longer = length > own_length ? length : own_length;
    size_t shorter = smaller(length, own_length);
    bool holds = shorter > 1 && strstr(own, text);
    bool is_held = shorter > 1 && strstr(text, own);
    size_t distance =
        holds || is_held ? longer - shorter : edit_distance(text, length, own, own_length);
    if (!holds && !is_held && 2 * distance > longer)
        return -1;
    return (long)(1000 * distance / longer) + (holds ? 0 : 1000);
}

size_t cb_suggest_several(const char *text, const char *const *names, size_t count, size_t *nearest,
                          size_t limit)
{
    char own[NAME_LIMIT + 1];
    size_t length = plain(text, own), found = 0;
    long ranks[CB_SUGGEST_LIMIT];
    if (length == 0 || limit == 0)
        return 0;
    limit = smaller(limit, CB_SUGGEST_LIMIT);
    for (size_t i = 0; i < count; i++) {
        long rank = remoteness(own, length, names[i]);
        size_t place = found;
        while (place > 0 && ranks[place - 1] > rank)
            place--;
        if (rank < 0 || place == limit)
            continue;
        size_t moved = smaller(found, limit - 1);
        for (size_t j = moved; j > place; j--) {
            ranks[j] = ranks[j - 1];
            nearest[j] = nearest[j - 1];
        }
        ranks[place] = rank;
        nearest[place] = i;
        found = moved + 1;
    }
    return found;
}

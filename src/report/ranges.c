#include "report/ranges.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 9 /* what strtol surely holds */

static void add_rest(struct cb_strbuf *out, size_t rest)
{
    if (rest > 0)
        cb_strbuf_addf(out, ", and %zu more", rest);
}

void cb_ranges_add_numbers(struct cb_strbuf *out, const int *numbers, size_t count, size_t most)
{
    size_t at = 0;
    for (size_t item = 0; at < count && item < most; item++) {
        size_t first = at++;
        while (at < count && (long)numbers[at] == (long)numbers[at - 1] + 1)
            at++;
        cb_strbuf_addf(out, at - first == 1 ? "%s%d" : "%s%d-%d", item > 0 ? ", " : "",
                       numbers[first], numbers[at - 1]);
    }
    add_rest(out, count - at);
}

/* Where the number at the end of a name starts; its end when there is none. */
static size_t number_at(const char *name)
{
    size_t length = strlen(name);
    size_t at = length;
    while (at > 0 && length - at < DIGITS_MAX && isdigit((unsigned char)name[at - 1]))
        at--;
    return at;
}

/* Whether b is the name after a: the same letters, the next number, written in as many digits where
 * there are leading zeros. */
static int follows(const char *a, const char *b)
{
    size_t at = number_at(a);
    if (!a[at] || number_at(b) != at || strncmp(a, b, at) != 0)
        return 0;
    if ((a[at] == '0' || b[at] == '0') && strlen(a) != strlen(b))
        return 0;
    return strtol(b + at, NULL, 10) == strtol(a + at, NULL, 10) + 1;
}

void cb_ranges_add_hosts(struct cb_strbuf *out, const char *const *names, size_t count, size_t most)
{
    size_t at = 0;
    for (size_t item = 0; at < count && item < most; item++) {
        const char *first = names[at];
        size_t length = 1;
        while (at + length < count && follows(names[at + length - 1], names[at + length]))
            length++;
        cb_strbuf_add(out, item > 0 ? ", " : "");
        if (length < 3) {
            cb_strbuf_add(out, first);
            at++;
            continue;
        }
        size_t letters = number_at(first);
        const char *last = names[at + length - 1];
        cb_strbuf_addf(out, "%.*s[%s-%s]", (int)letters, first, first + letters, last + letters);
        at += length;
    }
    add_rest(out, count - at);
}

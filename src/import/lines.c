#include "import/lines.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

void cb_lines_init(struct cb_lines *lines, const char *text, size_t length_bytes)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, as some editors write it */
    *lines = (struct cb_lines){.at = text, .end = text + length_bytes};
    if (length_bytes >= 3 && memcmp(text, mark, 3) == 0)
        lines->at += 3;
}

/* The end of a terminal's escape sequence that starts at text, at most at end: "ESC [ ... letter",
 * "ESC ] ... BEL", or one character after ESC. */
static const char *skip_escape(const char *text, const char *end)
{
    text++;
    if (text < end && *text == '[') {
        for (text++; text < end && (*text < '@' || *text > '~'); text++)
            continue;
    } else if (text < end && *text == ']') {
        for (text++; text < end && *text != '\a'; text++)
            continue;
    }
    return text < end ? text + 1 : end;
}

static bool is_plain(unsigned char c)
{
    return c >= ' ' && c != 0x7f;
}

static size_t copy_clean(const char *text, const char *end, char *out)
{
    size_t used = 0;
    size_t most =
        (size_t)(end - text) < CB_LINE_BYTES - 1 ? (size_t)(end - text) : CB_LINE_BYTES - 1;
    /* Nearly all lines are plain from their start to their end. */
    while (used < most && is_plain((unsigned char)text[used]))
        used++;
    memcpy(out, text, used);
    for (text += used; text < end && used < CB_LINE_BYTES - 1; text++) {
        unsigned char c = (unsigned char)*text;
        if (is_plain(c))
            out[used++] = (char)c;
        else if (c != 0x1b)
            out[used++] = ' ';
        else
            text = skip_escape(text, end) - 1;
    }
    while (used > 0 && out[used - 1] == ' ')
        used--;
    out[used] = '\0';
    return used;
}

static const char *skip_blanks(const char *text)
{
    while (*text == ' ')
        text++;
    return text;
}

/* The number that starts at text, below INT_MAX; *end is behind it. */
static int read_number(const char *text, const char **end)
{
    char *after;
    long value = strtol(text, &after, 10);
    *end = after;
    return value >= 0 && value < INT_MAX ? (int)value : -1;
}

/* Behind "[1,0]<std...>:" or "[host:77,0]<std...>:" at text, with the rank; NULL for anything
 * else. */
static const char *skip_mpirun_tag(const char *text, int *label)
{
    if (*text != '[')
        return NULL;
    const char *close = text + strcspn(text, "]<");
    if (strncmp(close, "]<std", 5) != 0 || close - text > 64)
        return NULL;
    const char *end = close + strcspn(close, ">");
    if (*end != '>' || end - close > 16)
        return NULL;
    const char *comma = memchr(text, ',', (size_t)(close - text));
    if (comma && isdigit((unsigned char)comma[1]))
        *label = read_number(comma + 1, &comma);
    end++;
    return *end == ':' ? end + 1 : end;
}

/* Behind "0: " or "0:" at the line's end, as srun --label writes it. */
static const char *skip_srun_label(const char *text, int *label)
{
    const char *end;
    if (!isdigit((unsigned char)*text))
        return NULL;
    int number = read_number(text, &end);
    if (*end != ':' || (end[1] != ' ' && end[1] != '\0'))
        return NULL;
    *label = number;
    return end + 1;
}

/* Behind "[0]". */
static const char *skip_bracketed(const char *text, int *label)
{
    const char *end;
    if (*text != '[' || !isdigit((unsigned char)text[1]))
        return NULL;
    int number = read_number(text + 1, &end);
    if (*end != ']')
        return NULL;
    *label = number;
    return end + 1;
}

/* Behind "2025-10-24T12:33:11.5Z ", as log collectors write it. */
static const char *skip_time(const char *text, int *label)
{
    (void)label;
    size_t length = strcspn(text, " ");
    if (length < 19 || length > 40 || text[4] != '-' || text[7] != '-' || text[10] != 'T' ||
        text[13] != ':' || !isdigit((unsigned char)*text))
        return NULL;
    return text + length;
}

/* Behind "host: " or "pod-0 | " where a '#' or a number follows: pdsh and container tools. */
static const char *skip_host(const char *text, int *label)
{
    (void)label;
    size_t length = strcspn(text, " |");
    if (length < 2 || length > 64)
        return NULL;
    const char *rest = skip_blanks(text + length);
    if (*rest == '|')
        rest = skip_blanks(rest + 1);
    else if (text[length - 1] != ':' || strchr(text, ':') != text + length - 1)
        return NULL;
    return *rest == '#' || isdigit((unsigned char)*rest) ? rest : NULL;
}

typedef const char *skip_label(const char *text, int *label);

/* Behind all labels, which can stand one after another. */
static const char *skip_labels(const char *text, int *label)
{
    static skip_label *const skips[] = {skip_mpirun_tag, skip_srun_label, skip_bracketed, skip_time,
                                        skip_host};
    for (size_t i = 0; i < sizeof(skips) / sizeof(skips[0]); i++) {
        const char *behind = skips[i](skip_blanks(text), label);
        if (behind) {
            text = behind;
            i = (size_t)-1; /* from the start again; text grows shorter each time */
        }
    }
    return skip_blanks(text);
}

bool cb_lines_next(struct cb_lines *lines, struct cb_line *line)
{
    if (lines->at >= lines->end)
        return false;
    const char *stop = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
    if (!stop)
        stop = lines->end;
    if (lines->number < INT_MAX)
        lines->number++;
    line->number = lines->number;
    line->label = -1;
    size_t length = copy_clean(lines->at, stop, line->text);
    const char *text = skip_labels(line->text, &line->label);
    line->is_marked = *text == '#';
    while (*text == '#')
        text++;
    text = skip_blanks(text);
    line->length_bytes = length - (size_t)(text - line->text);
    memmove(line->text, text, line->length_bytes + 1);
    lines->at = stop < lines->end ? stop + 1 : lines->end;
    return true;
}

void cb_line_drop_labels(char *text)
{
    for (char *at = strchr(text, '['); at; at = strchr(at + 1, '[')) {
        int label;
        const char *behind = skip_mpirun_tag(at, &label);
        if (!behind)
            behind = skip_bracketed(at, &label);
        if (behind)
            memset(at, ' ', (size_t)(behind - at));
    }
}

int cb_line_count_behind(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    long value = at ? strtol(at + strlen(word), NULL, 10) : 0;
    return value > 0 && value < 1 << 24 ? (int)value : 0;
}

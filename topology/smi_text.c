#include "topology/smi_text.h"

#include <string.h>

#define TAB_COLUMNS 8

void cb_smi_reader_init(struct cb_smi_reader *reader, const char *text, size_t length_bytes)
{
    *reader = (struct cb_smi_reader){.at = text, .end = text + length_bytes};
}

static bool starts_with(const char *at, const char *end, const char *prefix, size_t length)
{
    return (size_t)(end - at) >= length && memcmp(at, prefix, length) == 0;
}

/* "[4;31m" behind an escape character: how many bytes, 0 when it is none. */
static size_t control_sequence_length(const char *at, const char *end)
{
    const char *start = at;
    if (at == end || *at != '[')
        return 0;
    for (at++; at < end && *at >= '0' && *at <= '?'; at++)
        ;
    for (; at < end && *at >= ' ' && *at <= '/'; at++)
        ;
    return at < end && *at >= '@' && *at <= '~' ? (size_t)(at - start) + 1 : 0;
}

/* "[4m" alone: what tells it from an index ("[4] GPU0") is the m. */
static size_t color_length(const char *at, const char *end)
{
    const char *start = at;
    if (at == end || *at != '[')
        return 0;
    for (at++; at < end && ((*at >= '0' && *at <= '9') || *at == ';'); at++)
        ;
    return at < end && *at == 'm' ? (size_t)(at - start) + 1 : 0;
}

/* A title or link of the terminal: up to the bell or ESC \, within the line. */
static size_t operating_command_length(const char *at, const char *end)
{
    const char *start = at;
    for (; at < end && *at != '\n' && *at != '\r'; at++)
        if (*at == '\a')
            return (size_t)(at - start) + 1;
        else if (*at == '\033' && at + 1 < end && at[1] == '\\')
            return (size_t)(at - start) + 2;
    return (size_t)(at - start);
}

/* How many bytes of an escape sequence stand at the place; 0: none. */
static size_t escape_length(const char *at, const char *end)
{
    /* How the escape character looks after it went through an editor, a log or a web page. */
    static const char *const spellings[] = {
        "",    "^[",      "\\033",   "\\x1b",        "\\x1B",
        "\\e", "\\u001b", "\\u001B", "\xe2\x90\x9b", "\xef\xbf\xbd"};
    if (*at == '\033') {
        size_t length = control_sequence_length(at + 1, end);
        if (length > 0)
            return 1 + length;
        if (at + 1 < end && at[1] == ']')
            return 1 + operating_command_length(at + 1, end);
        length = 1;
        while (at + length < end && at[length] >= ' ' && at[length] <= '/')
            length++;
        return length > 1 && at + length < end ? length + 1 : 1;
    }
    for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
        size_t prefix = strlen(spellings[i]);
        size_t length =
            starts_with(at, end, spellings[i], prefix) ? color_length(at + prefix, end) : 0;
        if (length > 0)
            return prefix + length;
    }
    return 0;
}

/* Blanks that are no ASCII: how many bytes, 0 for anything else. */
static size_t blank_length(const char *at, const char *end)
{
    static const char *const blanks[] = {"\xc2\xa0",     "\xe2\x80\xaf", "\xe2\x81\x9f",
                                         "\xe3\x80\x80", "\xef\xbb\xbf", "\xe2\x94\x82"};
    for (size_t i = 0; i < sizeof(blanks) / sizeof(blanks[0]); i++)
        if (starts_with(at, end, blanks[i], strlen(blanks[i])))
            return strlen(blanks[i]);
    /* U+2000 to U+200B: spaces of all widths. */
    bool is_space = starts_with(at, end, "\xe2\x80", 2) && end - at >= 3 &&
                    (unsigned char)at[2] >= 0x80 && (unsigned char)at[2] <= 0x8b;
    return is_space ? 3 : 0;
}

/* Where a line's words are put together. */
struct writer {
    struct cb_smi_line *line;
    size_t used;
    int column;
    bool in_word;
};

static void end_word(struct writer *writer)
{
    if (writer->in_word)
        writer->line->text[writer->used++] = '\0';
    writer->in_word = false;
}

static void add_character(struct writer *writer, char c)
{
    struct cb_smi_line *line = writer->line;
    bool continues = (c & 0xc0) == 0x80; /* a later byte of a UTF-8 character */
    if (writer->used + 2 < sizeof(line->text)) {
        if (!writer->in_word && line->word_count < CB_SMI_WORDS) {
            line->words[line->word_count++] =
                (struct cb_smi_word){.text = line->text + writer->used, .column = writer->column};
            writer->in_word = true;
        }
        if (writer->in_word)
            line->text[writer->used++] = c >= ' ' && c <= '~' ? c : '?';
    }
    writer->column += !continues;
}

static void add_blank(struct writer *writer, char c)
{
    end_word(writer);
    writer->column += c == '\t' ? TAB_COLUMNS - writer->column % TAB_COLUMNS : 1;
}

/* The line below the headings of a table, or around it. */
static bool is_rule(const struct cb_smi_line *line)
{
    for (int i = 0; i < line->word_count; i++)
        if (line->words[i].text[strspn(line->words[i].text, "-=+_:?")])
            return false;
    return true;
}

bool cb_smi_read_line(struct cb_smi_reader *reader, struct cb_smi_line *line)
{
    struct writer writer = {.line = line};
    const char *at = reader->at, *end = reader->end;
    if (at == end)
        return false;
    line->number = ++reader->number;
    line->word_count = 0;
    while (at < end && *at != '\n' && *at != '\r') {
        size_t length = escape_length(at, end);
        if (length == 0 && (length = blank_length(at, end)) > 0)
            add_blank(&writer, ' ');
        if (length == 0) {
            if (strchr(" \t|`*\f\v", *at) && *at)
                add_blank(&writer, *at);
            else if (*at != '\0')
                add_character(&writer, *at);
            length = 1;
        }
        at += length;
    }
    end_word(&writer);
    if (is_rule(line))
        line->word_count = 0;
    if (at < end && *at == '\r' && at + 1 < end && at[1] == '\n')
        at++;
    reader->at = at < end ? at + 1 : at;
    return true;
}

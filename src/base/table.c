#include "base/table.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS_MAX 16
#define GAP_COLUMNS 2
#define CELL_BYTES 1024
#define UNIT_COLUMNS 32 /* a number and its unit are not longer */
#define ELLIPSIS "..."
#define ELLIPSIS_COLUMNS 3

static const char *const escapes[] = {
    [CB_STYLE_PLAIN] = "",        [CB_STYLE_STRONG] = "\033[1m", [CB_STYLE_GOOD] = "\033[32m",
    [CB_STYLE_WARN] = "\033[33m", [CB_STYLE_BAD] = "\033[1;31m",
};
_Static_assert(sizeof(escapes) / sizeof(escapes[0]) == CB_STYLE_COUNT, "one escape per style");

/* The printable form of the character at text, and in *length_bytes how many bytes it takes. */
static char printable(const unsigned char *text, size_t *length_bytes)
{
    *length_bytes = 1;
    if (text[0] >= 0x20 && text[0] < 0x7f)
        return (char)text[0];
    if (text[0] == '\t' || text[0] == '\n' || text[0] == '\r')
        return ' ';
    if (text[0] >= 0xc0)
        while ((text[*length_bytes] & 0xc0) == 0x80 && *length_bytes < 4)
            ++*length_bytes;
    return '?';
}

void cb_printable_add(struct cb_strbuf *out, const char *text)
{
    char chunk[256];
    size_t used = 0;
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        size_t length_bytes = 0;
        chunk[used++] = printable(at, &length_bytes);
        at += length_bytes;
        if (used == sizeof(chunk) - 1 || !*at) {
            chunk[used] = '\0';
            cb_strbuf_add(out, chunk);
            used = 0;
        }
    }
}

void cb_styled_add(struct cb_strbuf *out, enum cb_style style, bool color, const char *text)
{
    bool styled = color && style != CB_STYLE_PLAIN && *text;
    if (styled)
        cb_strbuf_add(out, escapes[style]);
    cb_printable_add(out, text);
    if (styled)
        cb_strbuf_add(out, "\033[0m");
}

/* The length of what is not broken at the start of text: a word, and where that is a number also
 * the next one, so that "64 GiB" stays together. */
static size_t unit_length(const char *text)
{
    size_t word = strcspn(text, " ");
    if (!isdigit((unsigned char)text[text[0] == '(']) || text[word] == '\0' ||
        text[word + 1] == ' ')
        return word;
    size_t both = word + 1 + strcspn(text + word + 1, " ");
    return both <= UNIT_COLUMNS ? both : word;
}

void cb_paragraph_add(struct cb_strbuf *out, int first_columns, int indent_columns,
                      const char *text)
{
    struct cb_strbuf clean = {0};
    cb_printable_add(&clean, text);
    size_t column = (size_t)first_columns;
    size_t indent = (size_t)indent_columns;
    bool fresh = true; /* nothing of this paragraph on the line yet */
    const char *at = cb_strbuf_get(&clean);
    while (*(at += strspn(at, " "))) {
        size_t length = unit_length(at);
        size_t blank = fresh ? 0 : 1;
        size_t room = CB_PAGE_COLUMNS > column + blank ? CB_PAGE_COLUMNS - column - blank : 0;
        bool fits_a_line = length <= CB_PAGE_COLUMNS - indent;
        if (length > room && (!fresh || column > indent) && (fits_a_line || room == 0)) {
            cb_strbuf_add(out, "\n");
            cb_strbuf_fill(out, ' ', indent);
            column = indent;
            fresh = true;
            continue;
        }
        size_t part = length < room ? length : room;
        cb_strbuf_fill(out, ' ', blank);
        cb_strbuf_addf(out, "%.*s", (int)part, at);
        column += blank + part;
        at += part;
        fresh = false;
        if (part < length) {
            cb_strbuf_add(out, "\n");
            cb_strbuf_fill(out, ' ', indent);
            column = indent;
            fresh = true;
        }
    }
    cb_strbuf_add(out, "\n");
    out->failed |= clean.failed;
    cb_strbuf_fini(&clean);
}

void cb_table_init(struct cb_table *table, const struct cb_table_column *columns,
                   size_t column_count)
{
    memset(table, 0, sizeof(*table));
    table->columns = columns;
    table->column_count = column_count < COLUMNS_MAX ? column_count : COLUMNS_MAX;
}

void cb_table_fini(struct cb_table *table)
{
    cb_vec_fini(&table->cells);
    cb_strbuf_fini(&table->texts);
    memset(table, 0, sizeof(*table));
}

void cb_table_add(struct cb_table *table, enum cb_style style, const char *format, ...)
{
    char text[CELL_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    struct cb_table_cell *cell = cb_vec_add(&table->cells);
    if (!cell) {
        table->failed = true;
        return;
    }
    cell->style = style;
    cell->offset_bytes = table->texts.length_bytes;
    cb_printable_add(&table->texts, text);
    cell->length_bytes = table->texts.length_bytes - cell->offset_bytes;
}

/* The column to take a place from: the widest of those that may still shrink. */
static size_t widest(const struct cb_table *table, const size_t *widths, bool floors)
{
    size_t found = table->column_count;
    for (size_t i = 0; i < table->column_count; i++) {
        size_t floor = (size_t)table->columns[i].floor_columns;
        size_t least = floors ? floor : ELLIPSIS_COLUMNS;
        if ((floors && floor == 0) || widths[i] <= least)
            continue;
        if (found == table->column_count || widths[i] > widths[found])
            found = i;
    }
    return found;
}

static size_t total(const struct cb_table *table, const size_t *widths)
{
    size_t sum = 0;
    for (size_t i = 0; i < table->column_count; i++)
        if (widths[i] > 0)
            sum += widths[i] + (sum > 0 ? GAP_COLUMNS : 0);
    return sum;
}

/* The width of every column, 0 for one without content. */
static void measure(const struct cb_table *table, size_t room_columns, size_t *widths)
{
    memset(widths, 0, COLUMNS_MAX * sizeof(*widths));
    for (size_t i = 0; i < table->cells.count; i++) {
        size_t *width = &widths[i % table->column_count];
        if (table->cells.items[i].length_bytes > *width)
            *width = table->cells.items[i].length_bytes;
    }
    for (size_t i = 0; i < table->column_count; i++) {
        const char *heading = table->columns[i].heading;
        if (widths[i] > 0 && heading && strlen(heading) > widths[i])
            widths[i] = strlen(heading);
    }
    for (int pass = 0; pass < 2; pass++)
        while (total(table, widths) > room_columns) {
            size_t column = widest(table, widths, pass == 0);
            if (column == table->column_count)
                break;
            widths[column]--;
        }
}

/* Blanks are owed, and paid before the next text, so that no line ends in them. */
struct line {
    struct cb_strbuf *out;
    size_t owed;
    bool color;
};

static void add_cell(struct line *line, const char *text, size_t length, size_t width,
                     enum cb_align align, enum cb_style style)
{
    char shown[CELL_BYTES + ELLIPSIS_COLUMNS];
    size_t kept = length <= width            ? length
                  : width > ELLIPSIS_COLUMNS ? width - ELLIPSIS_COLUMNS
                                             : 0;
    memcpy(shown, text, kept);
    shown[kept] = '\0';
    if (length > width)
        strcat(shown, ELLIPSIS);
    size_t columns = strlen(shown);
    size_t spare = width > columns ? width - columns : 0;
    if (align == CB_ALIGN_RIGHT)
        line->owed += spare;
    if (columns > 0) {
        cb_strbuf_fill(line->out, ' ', line->owed);
        line->owed = 0;
        cb_styled_add(line->out, style, line->color, shown);
    }
    if (align == CB_ALIGN_LEFT)
        line->owed += spare;
    line->owed += GAP_COLUMNS;
}

static void add_headings(const struct cb_table *table, const size_t *widths, int indent_columns,
                         struct cb_strbuf *out)
{
    struct line line = {.out = out, .owed = (size_t)indent_columns};
    bool any = false;
    for (size_t i = 0; i < table->column_count; i++) {
        const char *heading = table->columns[i].heading ? table->columns[i].heading : "";
        if (widths[i] == 0)
            continue;
        add_cell(&line, heading, strlen(heading), widths[i], table->columns[i].align,
                 CB_STYLE_PLAIN);
        any |= *heading != '\0';
    }
    if (any)
        cb_strbuf_add(out, "\n");
}

void cb_table_render(const struct cb_table *table, int indent_columns, bool color,
                     struct cb_strbuf *out)
{
    size_t widths[COLUMNS_MAX];
    out->failed |= table->failed || table->texts.failed;
    if (out->failed || table->cells.count == 0)
        return;
    measure(table, CB_PAGE_COLUMNS - (size_t)indent_columns, widths);
    add_headings(table, widths, indent_columns, out);
    const char *texts = cb_strbuf_get(&table->texts);
    for (size_t first = 0; first < table->cells.count; first += table->column_count) {
        struct line line = {.out = out, .owed = (size_t)indent_columns, .color = color};
        for (size_t i = 0; i < table->column_count && first + i < table->cells.count; i++) {
            const struct cb_table_cell *cell = &table->cells.items[first + i];
            if (widths[i] > 0)
                add_cell(&line, texts + cell->offset_bytes, cell->length_bytes, widths[i],
                         table->columns[i].align, cell->style);
        }
        cb_strbuf_add(out, "\n");
    }
}

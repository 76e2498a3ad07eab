/* Text for a terminal: tables whose columns fit their content, and paragraphs. Whatever is laid out
 * here is made printable ASCII first, so that no string of a file can move a terminal's cursor. */
#ifndef CB_BASE_TABLE_H
#define CB_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "base/vec.h"

#define CB_PAGE_COLUMNS 80 /* what the text reports are laid out for */

/* Appends text as printable ASCII: a control character or a whole non-ASCII code point (or a byte
 * of none) shows as one '?', a tab or a line break as a blank. One byte is then one column. */
void cb_printable_add(struct cb_strbuf *out, const char *text);

enum cb_style {
    CB_STYLE_PLAIN,
    CB_STYLE_STRONG,
    CB_STYLE_GOOD,
    CB_STYLE_WARN,
    CB_STYLE_BAD,
    CB_STYLE_COUNT
};

/* Appends text (made printable) in a style; without color just the text. */
void cb_styled_add(struct cb_strbuf *out, enum cb_style style, bool color, const char *text);

/* Appends text (made printable) broken at blanks into lines of at most CB_PAGE_COLUMNS, and the
 * last line's end. A number is not parted from the word after it ("64 GiB"). The first line already
 * holds first_columns; the others are indented by indent_columns (well below the page). A word that
 * is longer than a line is broken where the line ends. */
void cb_paragraph_add(struct cb_strbuf *out, int first_columns, int indent_columns,
                      const char *text);

enum cb_align { CB_ALIGN_LEFT, CB_ALIGN_RIGHT };

struct cb_table_column {
    const char *heading; /* NULL: none */
    enum cb_align align;
    int floor_columns; /* cut to no less than this while the table is too wide; 0: cut last */
};

struct cb_table_cell {
    size_t offset_bytes; /* of its text in texts; length 0 for an empty one */
    size_t length_bytes;
    enum cb_style style;
};

struct cb_table {
    const struct cb_table_column *columns; /* borrowed */
    size_t column_count;
    CB_VEC(struct cb_table_cell) cells; /* row by row */
    struct cb_strbuf texts;
    bool failed; /* an allocation failed: sticky, handed on to the strbuf by render */
};

/* Starts an empty table of column_count columns (at most 16); columns must outlive it. Free with
 * fini. */
void cb_table_init(struct cb_table *table, const struct cb_table_column *columns,
                   size_t column_count);
void cb_table_fini(struct cb_table *table);

/* Appends the next cell, row by row, from printf text. A last row that is not full is filled with
 * empty cells. */
void cb_table_add(struct cb_table *table, enum cb_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends the table: a line of headings when there are any, then the rows, columns two blanks
 * apart, each as wide as its widest cell, without trailing blanks. A column with nothing in its
 * cells is left out. A table wider than CB_PAGE_COLUMNS is made to fit by cutting the widest
 * columns (first those with a floor), a cut text ending in "...". */
void cb_table_render(const struct cb_table *table, int indent_columns, bool color,
                     struct cb_strbuf *out);

#endif

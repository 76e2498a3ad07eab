#include "report/page.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES 4096
#define FIELD_COLUMNS 15

/* The caller's printf arguments as text; what is too long is cut. */
#define FORMAT_TEXT(text, format)                                                                  \
    do {                                                                                           \
        va_list arguments;                                                                         \
        va_start(arguments, format);                                                               \
        vsnprintf(text, sizeof(text), format, arguments);                                          \
        va_end(arguments);                                                                         \
    } while (0)

static void add_label(struct cb_page *page, int indent, const char *label, enum cb_style style)
{
    cb_strbuf_fill(page->out, ' ', (size_t)indent);
    cb_styled_add(page->out, style, page->color, label);
}

void cb_page_section(struct cb_page *page, const char *heading, const char *format, ...)
{
    char text[TEXT_BYTES];
    FORMAT_TEXT(text, format);
    cb_strbuf_add(page->out, "\n");
    add_label(page, 2, heading, CB_STYLE_STRONG);
    int columns = 2 + (int)strlen(heading);
    if (*text) {
        cb_strbuf_fill(page->out, ' ', 3);
        columns += 3;
    }
    cb_paragraph_add(page->out, columns, columns, text);
}

void cb_page_headline(struct cb_page *page, const char *label, enum cb_style style,
                      const char *format, ...)
{
    char text[TEXT_BYTES];
    FORMAT_TEXT(text, format);
    int columns = 2 + (int)strlen(label) + 2;
    add_label(page, 2, label, style);
    cb_strbuf_fill(page->out, ' ', 2);
    cb_paragraph_add(page->out, columns, columns, text);
}

void cb_page_field(struct cb_page *page, const char *label, const char *format, ...)
{
    char text[TEXT_BYTES];
    FORMAT_TEXT(text, format);
    add_label(page, CB_PAGE_INDENT, label, CB_STYLE_PLAIN);
    int used = (int)strlen(label);
    int width = used < FIELD_COLUMNS ? FIELD_COLUMNS : used + 1;
    cb_strbuf_fill(page->out, ' ', (size_t)(width - used));
    cb_paragraph_add(page->out, CB_PAGE_INDENT + width, CB_PAGE_INDENT + FIELD_COLUMNS, text);
}

void cb_page_text(struct cb_page *page, int first_columns, int rest_columns, const char *format,
                  ...)
{
    char text[TEXT_BYTES];
    FORMAT_TEXT(text, format);
    cb_strbuf_fill(page->out, ' ', (size_t)first_columns);
    cb_paragraph_add(page->out, first_columns, rest_columns, text);
}

void cb_page_table(struct cb_page *page, struct cb_table *table)
{
    cb_table_render(table, CB_PAGE_INDENT, page->color, page->out);
    cb_table_fini(table);
}

struct mark_row {
    const char *text;
    enum cb_style style;
};

static const struct mark_row marks[] = {
    [CB_STATUS_OK] = {"", CB_STYLE_PLAIN},
    [CB_STATUS_NOISY] = {"noisy", CB_STYLE_WARN},
    [CB_STATUS_SKIPPED] = {"skipped", CB_STYLE_PLAIN},
    [CB_STATUS_TIMEOUT] = {"timeout", CB_STYLE_BAD},
    [CB_STATUS_FAILED] = {"failed", CB_STYLE_BAD},
    [CB_STATUS_WRONG] = {"WRONG DATA", CB_STYLE_BAD},
};
_Static_assert(sizeof(marks) / sizeof(marks[0]) == CB_STATUS_COUNT, "one mark per status");

const char *cb_page_mark(enum cb_status status)
{
    return marks[status].text;
}

enum cb_style cb_page_mark_style(enum cb_status status)
{
    return marks[status].style;
}

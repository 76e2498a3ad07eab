/* What the sections of the text report share. Private to report/. A section prints itself, its
 * heading included, or nothing at all. */
#ifndef CB_REPORT_PAGE_H
#define CB_REPORT_PAGE_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "base/table.h"
#include "report/lookup.h"
#include "result/result.h"

#define CB_PAGE_INDENT 4 /* of what stands in a section */
#define CB_PAGE_HANG 6   /* of what belongs to the line above it */

struct cb_page {
    const struct cb_result *result; /* borrowed, like the two below */
    struct cb_strbuf *out;          /* its failed flag is the page's: an allocation failed */
    struct cb_lookup lookup;
    bool color;
};

/* An empty line and "  HEADING   more", more (printf text) wrapped. */
void cb_page_section(struct cb_page *page, const char *heading, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "  LABEL  text" in a style, wrapped and hanging below text. */
void cb_page_headline(struct cb_page *page, const char *label, enum cb_style style,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

/* "    label          text" with text in one column for all of them, wrapped. */
void cb_page_field(struct cb_page *page, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Text wrapped, its first line indented by first_columns and the others by rest_columns. */
void cb_page_text(struct cb_page *page, int first_columns, int rest_columns, const char *format,
                  ...) __attribute__((format(printf, 4, 5)));

/* Renders the table and frees it. */
void cb_page_table(struct cb_page *page, struct cb_table *table);

/* Orders rows by what sections keep apart beside scope and size: op, element type, reduction where
 * the op has one, out of place before in place. */
int cb_page_compare_kinds(const struct cb_collective_row *a, const struct cb_collective_row *b);

/* The sections of other files, in the order of the page. */
void cb_page_add_imports(struct cb_page *page);
void cb_page_add_verdict(struct cb_page *page);
void cb_page_add_training(struct cb_page *page);
void cb_page_add_workloads(struct cb_page *page);
void cb_page_add_offer(struct cb_page *page);
void cb_page_add_links(struct cb_page *page);
void cb_page_add_collectives(struct cb_page *page);
void cb_page_add_algorithms(struct cb_page *page);
void cb_page_add_fits(struct cb_page *page);
void cb_page_add_kernels(struct cb_page *page);
void cb_page_add_gpus(struct cb_page *page);
void cb_page_add_unmeasured(struct cb_page *page);
void cb_page_add_cluster(struct cb_page *page);
void cb_page_add_topology(struct cb_page *page);
void cb_page_add_findings(struct cb_page *page);
void cb_page_add_checks(struct cb_page *page);
void cb_page_add_warnings(struct cb_page *page);
void cb_page_add_assumed(struct cb_page *page);

/* How a row's status reads: empty for ok; with its style. */
const char *cb_page_mark(enum cb_status status);
enum cb_style cb_page_mark_style(enum cb_status status);

#endif

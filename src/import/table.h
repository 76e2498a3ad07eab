/* The tables of nccl-tests and its forks: which columns there are, and what a line of data says.
 * Private to import/. */
#ifndef CB_IMPORT_TABLE_H
#define CB_IMPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/import.h"

enum cb_column {
    CB_COLUMN_SIZE,
    CB_COLUMN_COUNT,
    CB_COLUMN_TYPE,
    CB_COLUMN_REDOP,
    CB_COLUMN_ROOT,
    CB_COLUMN_TIME,
    CB_COLUMN_ALGBW,
    CB_COLUMN_BUSBW,
    CB_COLUMN_WRONG, /* a count of elements */
    CB_COLUMN_ERROR, /* the largest deviation, as it was before 2.13 */
    CB_COLUMN_OTHER
};

#define CB_TABLE_COLUMNS 40

/* What a table's heading says; count 0: there is none. */
struct cb_columns {
    enum cb_column items[CB_TABLE_COLUMNS];
    int count;
    bool in_place_first; /* the first time of a row is the one in place: the other was not run */
    double time_unit_s;  /* 0: it does not say */
};

/* Reads a heading ("size count type redop root time ..."). False for any other line; of a line of
 * units ("(B) (elements) (us) ...") *columns takes the unit of time. */
bool cb_columns_read(const char *text, struct cb_columns *columns);
void cb_columns_read_units(const char *text, struct cb_columns *columns);

enum { CB_REDOP_IS_ABSENT = -1, CB_ROOT_IS_ABSENT = -2 };

/* A line of data as it is printed. */
struct cb_table_row {
    int line;
    int label; /* the launcher's; -1: none */
    int part;  /* which of the run's banners it came after; 0: none */
    uint64_t size_bytes;
    double count;                  /* elements; negative: not printed */
    const struct cb_element *type; /* NULL: not printed */
    int redop;                     /* CB_REDOP_IS_ABSENT, 0 for "none", 1 for an operation */
    int redop_name;                /* which */
    int root;
    struct cb_import_point places[CB_IMPORT_PLACES];
    double error; /* the largest deviation printed; negative: none */
};

/* A row of which the size alone is known. */
void cb_table_row_init(struct cb_table_row *row, uint64_t size_bytes);

struct cb_element {
    const char *name;
    int size_bytes;
    double tolerance; /* largest deviation of a sum that is no error */
};

/* What a line of data can be that is not taken. */
enum cb_row_kind {
    CB_ROW_NONE, /* no line of data */
    CB_ROW_TAKEN,
    CB_ROW_NEGATIVE_TIME,
    CB_ROW_NO_TIME, /* zero, or no number */
    CB_ROW_UNKNOWN_COLUMNS,
};

/* Reads a line of data by the heading, else by the number of its columns, of which the likeliest
 * meaning is the one in which size / time is the printed algorithm bandwidth. */
enum cb_row_kind cb_table_row_read(const char *text, const struct cb_columns *columns,
                                   struct cb_table_row *row);

#endif

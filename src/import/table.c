#include "import/table.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/lines.h"

#define GIGA 1e9

/* What a sum of any size may deviate by; wide ones, since what is wrong is wrong by far. */
static const struct cb_element elements[] = {
    {"float", 4, 1e-3}, {"half", 2, 0.1},    {"double", 8, 1e-6},  {"bfloat16", 2, 0.5},
    {"int8", 1, 0},     {"uint8", 1, 0},     {"int32", 4, 0},      {"uint32", 4, 0},
    {"int64", 8, 0},    {"uint64", 8, 0},    {"char", 1, 0},       {"int", 4, 0},
    {"f8e4m3", 1, 1},   {"f8e5m2", 1, 1},    {"fp8_e4m3", 1, 1},   {"fp8_e5m2", 1, 1},
    {"float8", 1, 1},   {"float16", 2, 0.1}, {"float32", 4, 1e-3}, {"float64", 8, 1e-6},
    {"bf16", 2, 0.5},   {"fp16", 2, 0.1},    {"fp32", 4, 1e-3},    {"uint", 4, 0},
};

static const char *const redops[] = {"none", "sum", "prod", "min", "max", "avg", "mulsum"};

struct token {
    const char *text;
    size_t length;
    double value;
    bool is_number; /* or "N/A", whose value is NAN */
    bool is_whole;
};

#define TOKENS 48

static bool token_is(const struct token *token, const char *word)
{
    return strlen(word) == token->length && memcmp(token->text, word, token->length) == 0;
}

/* "12345.67" without a sign or an exponent, which nearly all are: whole digits over a power of ten,
 * both exact, give the same double as strtod. False for anything else. */
static bool read_plain(struct token *token)
{
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
    uint64_t digits = 0;
    size_t behind_point = 0;
    bool has_point = false;
    if (token->length > 15)
        return false;
    for (size_t i = 0; i < token->length; i++) {
        char c = token->text[i];
        if (c == '.' && !has_point)
            has_point = true;
        else if (c < '0' || c > '9')
            return false;
        else
            digits = digits * 10 + (uint64_t)(c - '0');
        behind_point += has_point && c != '.';
    }
    if (behind_point >= sizeof(powers) / sizeof(powers[0]) || token->length == has_point)
        return false;
    token->value = (double)digits / powers[behind_point];
    token->is_number = true;
    token->is_whole = !has_point;
    return true;
}

static void read_value(struct token *token)
{
    char *end;
    if (read_plain(token))
        return;
    if (token_is(token, "N/A") || token_is(token, "n/a")) {
        token->is_number = true;
        token->value = NAN;
        return;
    }
    if (!isdigit((unsigned char)*token->text) && !strchr("+-.", *token->text) &&
        !token_is(token, "nan") && !token_is(token, "-nan") && !token_is(token, "inf"))
        return;
    token->value = strtod(token->text, &end);
    token->is_number = end == token->text + token->length;
    token->is_whole = token->is_number && isfinite(token->value) &&
                      !memchr(token->text, '.', token->length) &&
                      token->value == floor(token->value);
}

/* Units that were typed behind a number belong to no column. */
static bool is_unit(const struct token *token)
{
    return token_is(token, "GB/s") || token_is(token, "us") || token_is(token, "ms") ||
           token_is(token, "|");
}

static int split(const char *text, struct token *tokens)
{
    int count = 0;
    while (count < TOKENS) {
        while (*text == ' ')
            text++;
        if (!*text)
            break;
        struct token token = {.text = text};
        while (*text && *text != ' ')
            text++;
        token.length = (size_t)(text - token.text);
        if (is_unit(&token))
            continue;
        read_value(&token);
        tokens[count++] = token;
    }
    return count;
}

/* ---- headings ---- */

static const struct {
    const char *name;
    enum cb_column column;
} names[] = {
    {"size", CB_COLUMN_SIZE},    {"bytes", CB_COLUMN_SIZE},  {"count", CB_COLUMN_COUNT},
    {"N", CB_COLUMN_COUNT},      {"type", CB_COLUMN_TYPE},   {"redop", CB_COLUMN_REDOP},
    {"op", CB_COLUMN_REDOP},     {"root", CB_COLUMN_ROOT},   {"time", CB_COLUMN_TIME},
    {"cputime", CB_COLUMN_TIME}, {"algbw", CB_COLUMN_ALGBW}, {"busbw", CB_COLUMN_BUSBW},
    {"#wrong", CB_COLUMN_WRONG}, {"wrong", CB_COLUMN_WRONG}, {"error", CB_COLUMN_ERROR},
    {"res", CB_COLUMN_ERROR},    {"Size", CB_COLUMN_SIZE},   {"Time", CB_COLUMN_TIME},
};

static enum cb_column find_column(const struct token *token)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (token_is(token, names[i].name))
            return names[i].column;
    return CB_COLUMN_OTHER;
}

bool cb_columns_read(const char *text, struct cb_columns *columns)
{
    struct token tokens[TOKENS];
    struct cb_columns read = {0};
    int seen[CB_COLUMN_OTHER + 1] = {0};
    if (!strstr(text, "time"))
        return false;
    int count = split(text, tokens);
    for (int i = 0; i < count && i < CB_TABLE_COLUMNS; i++) {
        read.items[i] = find_column(&tokens[i]);
        seen[read.items[i]]++;
        read.count++;
    }
    if (read.items[0] != CB_COLUMN_SIZE || !seen[CB_COLUMN_TIME] ||
        (!seen[CB_COLUMN_ALGBW] && !seen[CB_COLUMN_BUSBW]))
        return false;
    /* The first generation had other names and its times in milliseconds. */
    read.time_unit_s = token_is(&tokens[0], "bytes") ? 1e-3 : 0;
    *columns = read;
    return true;
}

void cb_columns_read_units(const char *text, struct cb_columns *columns)
{
    if (columns->time_unit_s > 0 || !strstr(text, "(GB/s)"))
        return;
    if (strstr(text, "(us)"))
        columns->time_unit_s = 1e-6;
    else if (strstr(text, "(ms)"))
        columns->time_unit_s = 1e-3;
}

/* ---- lines of data ---- */

/* Where the numbers of a line stand: a root or none, then for each placement `width` columns, time
 * and the bandwidths first; wrong is the place of the check in them, or -1. */
struct layout {
    bool has_root;
    int width, wrong, placements, rest;
};

/* In the order in which they are tried; per-iteration columns, a number of iterations behind all,
 * and columns that somebody cut off are what differs. */
static const struct layout layouts[] = {
    {true, 4, 3, 2, 0},  {false, 4, 3, 2, 0},  {true, 8, 3, 2, 0},   {false, 8, 3, 2, 0},
    {true, 4, 3, 2, 1},  {true, 4, 3, 1, 0},   {false, 4, 3, 1, 0},  {true, 3, -1, 1, 0},
    {true, 3, -1, 2, 0}, {false, 3, -1, 2, 0}, {false, 3, -1, 1, 0}, {true, 8, 3, 1, 0},
};

/* size / time over the printed bandwidth is 1, or (n-1)/n in tables of all_gather and
 * reduce_scatter from before mid-2020; what is printed as 0.00 says nothing. */
static bool is_likely(double size_bytes, double time_s, double alg_gb_s)
{
    if (!(time_s > 0) || !(alg_gb_s >= 0))
        return false;
    double expected = size_bytes / time_s / GIGA;
    if (expected < 0.5 || alg_gb_s < 0.5)
        return expected < 1.5 * 0.5 && alg_gb_s < 1.5 * 0.5;
    return alg_gb_s > 0.45 * expected && alg_gb_s < 1.1 * expected;
}

static double unit_of(double size_bytes, double time, double alg_gb_s, double known_s)
{
    if (known_s > 0)
        return known_s;
    return !is_likely(size_bytes, time * 1e-6, alg_gb_s) &&
                   is_likely(size_bytes, time * 1e-3, alg_gb_s)
               ? 1e-3
               : 1e-6;
}

/* A division, so that 20.00 us is 2e-5 s. */
static double seconds(double time, double unit_s)
{
    return unit_s < 1e-4 ? time / 1e6 : time / 1e3;
}

void cb_table_row_init(struct cb_table_row *row, uint64_t size_bytes)
{
    *row = (struct cb_table_row){.size_bytes = size_bytes,
                                 .count = -1,
                                 .redop = CB_REDOP_IS_ABSENT,
                                 .redop_name = -1,
                                 .root = CB_ROOT_IS_ABSENT,
                                 .error = -1};
    for (int p = 0; p < CB_IMPORT_PLACES; p++)
        row->places[p] = (struct cb_import_point){
            .printed_alg_bytes_per_s = -1, .printed_bus_bytes_per_s = -1, .wrong = -1};
}

static void set_point(struct cb_import_point *point, double time_s, double alg_gb_s,
                      double bus_gb_s, double wrong)
{
    point->time_s = time_s;
    point->printed_alg_bytes_per_s = alg_gb_s >= 0 ? alg_gb_s * GIGA : -1;
    point->printed_bus_bytes_per_s = bus_gb_s >= 0 ? bus_gb_s * GIGA : -1;
    point->wrong = wrong >= 0 ? wrong : -1;
}

static const struct layout *guess_layout(const struct cb_table_row *row,
                                         const struct token *numbers, int count, double unit_s)
{
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        const struct layout *layout = &layouts[i];
        if (layout->has_root + layout->width * layout->placements + layout->rest != count)
            continue;
        if (layout->has_root &&
            (!numbers[0].is_whole || numbers[0].value < -1 || numbers[0].value > 1e6))
            continue;
        const struct token *first = numbers + layout->has_root;
        double size_bytes = (double)row->size_bytes;
        double unit = unit_of(size_bytes, first[0].value, first[1].value, unit_s);
        /* A time that cannot be is only believed where nothing is missing. */
        bool is_whole = layout->width >= 4 && layout->placements == 2;
        if (is_likely(size_bytes, seconds(first[0].value, unit), first[1].value) ||
            (is_whole && !(first[0].value > 0)))
            return layout;
    }
    return NULL;
}

static bool read_by_layout(const struct token *numbers, int count, double unit_s,
                           struct cb_table_row *row)
{
    const struct layout *layout = guess_layout(row, numbers, count, unit_s);
    if (!layout)
        return false;
    row->root = layout->has_root ? (int)numbers[0].value : CB_ROOT_IS_ABSENT;
    const struct token *at = numbers + layout->has_root;
    for (int p = 0; p < layout->placements; p++, at += layout->width) {
        double check = layout->wrong >= 0 ? at[layout->wrong].value : NAN;
        double unit = unit_of((double)row->size_bytes, numbers[layout->has_root].value,
                              numbers[layout->has_root + 1].value, unit_s);
        /* Tables without a root for every op are those that print a deviation. */
        bool is_count = layout->has_root && check == floor(check);
        set_point(&row->places[p], seconds(at[0].value, unit), at[1].value, at[2].value,
                  is_count ? check : NAN);
        if (!is_count && check > row->error)
            row->error = check;
    }
    return true;
}

/* Columns by the heading, which may name a redop that alltoall leaves empty. */
static bool read_by_heading(const struct token *numbers, int count,
                            const struct cb_columns *columns, struct cb_table_row *row)
{
    enum cb_column wanted[CB_TABLE_COLUMNS];
    int wanted_count = 0, place = -1;
    double alg = 0;
    for (int i = 0; i < columns->count; i++)
        if (columns->items[i] >= CB_COLUMN_ROOT)
            wanted[wanted_count++] = columns->items[i];
    if (wanted_count != count)
        return false;
    for (int i = 0; i < count; i++) {
        double value = numbers[i].value;
        struct cb_import_point *point = place >= 0 ? &row->places[place] : NULL;
        if (wanted[i] == CB_COLUMN_ROOT) {
            if (!numbers[i].is_whole || fabs(value) > 1e6)
                return false;
            row->root = (int)value;
        } else if (wanted[i] == CB_COLUMN_TIME) {
            place += 1 + (place < 0 && columns->in_place_first);
            if (place >= CB_IMPORT_PLACES)
                return false;
            alg = i + 1 < count ? numbers[i + 1].value : 0;
            set_point(
                &row->places[place],
                seconds(value, unit_of((double)row->size_bytes, value, alg, columns->time_unit_s)),
                NAN, NAN, NAN);
        } else if (point && wanted[i] == CB_COLUMN_ALGBW) {
            point->printed_alg_bytes_per_s = value >= 0 ? value * GIGA : -1;
        } else if (point && wanted[i] == CB_COLUMN_BUSBW) {
            point->printed_bus_bytes_per_s = value >= 0 ? value * GIGA : -1;
        } else if (point && wanted[i] == CB_COLUMN_WRONG) {
            point->wrong = value >= 0 ? value : -1;
        } else if (point && wanted[i] == CB_COLUMN_ERROR && value > row->error) {
            row->error = value;
        }
    }
    return place >= 0;
}

static const struct cb_element *find_element(const struct token *token)
{
    for (size_t i = 0; i < sizeof(elements) / sizeof(elements[0]); i++)
        if (token_is(token, elements[i].name))
            return &elements[i];
    return NULL;
}

static int find_redop(const struct token *token)
{
    for (int i = 0; i < (int)(sizeof(redops) / sizeof(redops[0])); i++)
        if (token_is(token, redops[i]))
            return i;
    return -1;
}

static enum cb_row_kind classify(const struct cb_table_row *row)
{
    bool measured = false;
    for (int p = 0; p < CB_IMPORT_PLACES; p++) {
        if (row->places[p].time_s < 0)
            return CB_ROW_NEGATIVE_TIME;
        measured = measured || (row->places[p].time_s > 0 && isfinite(row->places[p].time_s));
    }
    return measured ? CB_ROW_TAKEN : CB_ROW_NO_TIME;
}

/* A table of which somebody cut columns on the left: only its heading tells what is what. */
static bool read_cut(const struct token *tokens, int count, const struct cb_columns *columns,
                     struct cb_table_row *row)
{
    struct token numbers[TOKENS];
    int kept = 0;
    if (columns->count != count)
        return false;
    for (int i = 0; i < count; i++) {
        if (columns->items[i] == CB_COLUMN_TYPE) {
            row->type = find_element(&tokens[i]);
        } else if (columns->items[i] == CB_COLUMN_REDOP) {
            row->redop_name = find_redop(&tokens[i]);
            row->redop = row->redop_name < 0 ? CB_REDOP_IS_ABSENT : row->redop_name > 0;
        } else if (!tokens[i].is_number) {
            return false;
        } else if (columns->items[i] == CB_COLUMN_COUNT) {
            row->count = tokens[i].value;
        } else if (columns->items[i] != CB_COLUMN_SIZE) {
            numbers[kept++] = tokens[i];
        }
    }
    return read_by_heading(numbers, kept, columns, row);
}

enum cb_row_kind cb_table_row_read(const char *text, const struct cb_columns *columns,
                                   struct cb_table_row *row)
{
    char copy[CB_LINE_BYTES];
    struct token tokens[TOKENS];
    text += strspn(text, "| ");
    if (!isdigit((unsigned char)*text))
        return CB_ROW_NONE;
    memcpy(copy, text, strlen(text) + 1);
    cb_line_drop_labels(copy);
    int count = split(copy, tokens), at = 3, numbers = 0;
    if (count < 3 || !tokens[0].is_whole || tokens[0].value >= 0x1p63)
        return CB_ROW_NONE;
    cb_table_row_init(row, (uint64_t)tokens[0].value);
    /* Size, elements, their type: nothing else in a log looks like that. */
    if (!tokens[1].is_whole || tokens[1].value < 0 || !(row->type = find_element(&tokens[2])))
        return read_cut(tokens, count, columns, row) ? classify(row) : CB_ROW_NONE;
    row->count = tokens[1].value;
    if (count > at)
        row->redop_name = find_redop(&tokens[at]);
    if (row->redop_name >= 0) {
        row->redop = row->redop_name > 0;
        at++;
    }
    while (at + numbers < count && tokens[at + numbers].is_number)
        numbers++;
    if (!read_by_heading(tokens + at, numbers, columns, row) &&
        !read_by_layout(tokens + at, numbers, columns->time_unit_s, row))
        return CB_ROW_UNKNOWN_COLUMNS;
    return classify(row);
}

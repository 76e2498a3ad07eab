#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "topology/smi_internal.h"

#define PREFIX_WORDS 8 /* prompts, host names and times of logs that may stand ahead of a row */
#define NOTES 32       /* contradictions kept */
#define SURE_CELLS                                                                                 \
    3 /* so many behind an unknown word make a row of it, where lines are wrapped                  \
       */

int cb_smi_out_of_memory(struct cb_smi_parser *parser)
{
    return cb_fail(parser->err, CB_E_MEMORY, "out of memory while reading %s", parser->name);
}

/* "GPU 3", as some write it, is one word. */
static void join_gpu_words(struct cb_smi_line *line)
{
    for (int i = 0; i + 1 < line->word_count; i++) {
        char *word = line->text + (line->words[i].text - line->text);
        if (strcmp(word, "GPU") != 0 || !isdigit((unsigned char)line->words[i + 1].text[0]))
            continue;
        memmove(word + 3, line->words[i + 1].text, strlen(line->words[i + 1].text) + 1);
        line->word_count--;
        memmove(&line->words[i + 1], &line->words[i + 2],
                (size_t)(line->word_count - i - 1) * sizeof(line->words[0]));
    }
}

static bool read_line(struct cb_smi_parser *parser)
{
    if (!cb_smi_read_line(&parser->reader, parser->line))
        return false;
    cb_smi_context_read(&parser->context, parser->line);
    join_gpu_words(parser->line);
    return true;
}

static int find_device(const struct cb_smi_matrix *matrix, const char *label)
{
    for (size_t i = 0; i < matrix->devices.count; i++)
        if (strcmp(matrix->devices.items[i].label, label) == 0)
            return (int)i;
    return -1;
}

/* Returns the device's index, or a negative cb_code. */
static int add_device(struct cb_smi_parser *parser, const char *word)
{
    if (parser->matrix.devices.count == CB_SMI_DEVICES)
        return cb_fail(parser->err, CB_E_INPUT, "%s:%d: more than %d devices: no such matrix",
                       parser->name, parser->line->number, CB_SMI_DEVICES);
    struct cb_smi_device *device = cb_vec_add(&parser->matrix.devices);
    if (!device)
        return cb_smi_out_of_memory(parser);
    cb_smi_label_copy(device->label, sizeof(device->label), word);
    memcpy(device->name, device->label, sizeof(device->name));
    device->gpu = cb_smi_word_gpu(word);
    device->gpu_numa = -1;
    return (int)parser->matrix.devices.count - 1;
}

/* ---- the header ---- */

/* The text before the number at the end of a label. */
static size_t stem_length(const char *label)
{
    size_t length = strlen(label);
    while (length > 0 && isdigit((unsigned char)label[length - 1]))
        length--;
    return length;
}

static bool same_stem(const char *left, const char *right)
{
    size_t length = stem_length(left);
    return length == stem_length(right) && strncmp(left, right, length) == 0;
}

/* Whether the first word of a line is the rest of the last label, which the line's end cut in two:
 * it is no label itself, or the last does not end in a number as labels do, or both together go on
 * as the labels before do and the last alone does not. The whole label is left in joined. */
static bool rejoins(const struct cb_smi_parser *parser, const char *word, char joined[48])
{
    size_t count = parser->matrix.devices.count;
    const char *last = parser->matrix.devices.items[count - 1].label;
    int length = snprintf(joined, 48, "%s%s", last, word);
    if (length >= 48 || !cb_smi_word_is_label(joined))
        return false;
    if (!isalpha((unsigned char)word[0]))
        return true;
    const char *before = count > 1 ? parser->matrix.devices.items[count - 2].label : "GPU0";
    return !isdigit((unsigned char)last[strlen(last) - 1]) ||
           (!same_stem(last, before) && same_stem(joined, before));
}

static void rename_last(struct cb_smi_parser *parser, const char *label)
{
    struct cb_smi_matrix *matrix = &parser->matrix;
    struct cb_smi_device *last = &matrix->devices.items[matrix->devices.count - 1];
    snprintf(last->label, sizeof(last->label), "%s", label);
    memcpy(last->name, last->label, sizeof(last->name));
    last->gpu = cb_smi_word_gpu(label);
}

/* Takes a line's words from first on as headings; *is_header is false when they cannot be. Returns
 * 0 or a negative cb_code. */
static int read_headings(struct cb_smi_parser *parser, struct cb_smi_headings *headings, int first,
                         bool *is_header)
{
    struct cb_smi_line *line = parser->line;
    struct cb_smi_matrix *matrix = &parser->matrix;
    int i = first;
    char joined[48];
    *is_header = false;
    if (parser->is_wrapped && headings->count == 0 && i < line->word_count &&
        rejoins(parser, line->words[i].text, joined)) {
        if (cb_smi_word_begins_affinity(joined)) {
            matrix->devices.count--;
            cb_smi_headings_add_word(headings, joined, 0);
        } else {
            rename_last(parser, joined);
        }
        i++;
    }
    for (; i < line->word_count && headings->count == 0; i++) {
        const char *word =
            i == first ? cb_smi_word_label(line->words[i].text) : line->words[i].text;
        char label[48];
        if (cb_smi_affinity_begins(line, i))
            break;
        if (!cb_smi_word_is_label(word))
            return 0;
        cb_smi_label_copy(label, sizeof(label), word);
        if (find_device(matrix, label) >= 0)
            return 0;
        int device = add_device(parser, word);
        if (device < 0)
            return device;
    }
    for (int k = i; k < line->word_count; k++)
        if (strpbrk(line->words[k].text, "=,:"))
            return 0;
    cb_smi_headings_add(headings, line, i);
    *is_header = true;
    return 0;
}

/* Where the labels of a header begin in a line; -1: it is none. */
static int header_start(const struct cb_smi_line *line)
{
    struct cb_smi_cell cell;
    int start = 0;
    while (start < line->word_count &&
           cb_smi_word_gpu(cb_smi_word_label(line->words[start].text)) < 0)
        start++;
    if (start == line->word_count)
        return -1;
    return start + 1 < line->word_count && cb_smi_word_is_cell(line->words[start + 1].text, &cell)
               ? -1
               : start;
}

/* ---- rows ---- */

/* How many words from first on are cells, at most one more than there are columns. */
static int count_cells(const struct cb_smi_parser *parser, int first)
{
    struct cb_smi_cell cell;
    int count = 0;
    while (first + count < parser->line->word_count && count <= parser->column_count &&
           cb_smi_word_is_cell(parser->line->words[first + count].text, &cell))
        count++;
    return count;
}

/* The place of a row's label in the line; -1: the line does not start a row. */
static int row_start(const struct cb_smi_parser *parser)
{
    const struct cb_smi_line *line = parser->line;
    struct cb_smi_cell cell;
    char label[48];
    int limit = line->word_count - 1 < PREFIX_WORDS ? line->word_count - 1 : PREFIX_WORDS;
    for (int i = 0; i < limit; i++) {
        const char *word = cb_smi_word_label(line->words[i].text);
        if (!cb_smi_word_is_cell(line->words[i + 1].text, &cell) || !cb_smi_word_is_label(word))
            continue;
        cb_smi_label_copy(label, sizeof(label), word);
        int cells = count_cells(parser, i + 1);
        if (cb_smi_word_gpu(word) >= 0 || find_device(&parser->matrix, label) >= 0 ||
            cells == parser->column_count || (parser->is_wrapped && cells >= SURE_CELLS))
            return i;
    }
    return -1;
}

/* What "topo -p2p" writes instead of distances. */
static bool is_peer_status(const char *word)
{
    static const char *const names[] = {"OK", "CNS", "GNS", "TNS", "NS", "DR", "U", "UN"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(word, names[i]) == 0)
            return true;
    return false;
}

static bool is_peer_row(const struct cb_smi_parser *parser, int start)
{
    for (int i = start + 1; i < parser->line->word_count; i++)
        if (is_peer_status(parser->line->words[i].text))
            return true;
    return false;
}

static struct cb_smi_row *last_row(const struct cb_smi_parser *parser)
{
    return &parser->rows.items[parser->rows.count - 1];
}

static const char *label_of(const struct cb_smi_parser *parser, int device)
{
    return parser->matrix.devices.items[device].label;
}

/* Takes the cells, then the affinities, from a word on. */
static int take_words(struct cb_smi_parser *parser, int first)
{
    struct cb_smi_row *row = last_row(parser);
    const struct cb_smi_line *line = parser->line;
    struct cb_smi_cell cell;
    int i = first;
    for (; i < line->word_count && row->filled < parser->column_count; i++) {
        if (!cb_smi_word_is_cell(line->words[i].text, &cell))
            break;
        parser->cells.items[row->first_cell + (size_t)row->filled++] = cell;
    }
    if (row->filled < parser->column_count) {
        if (i + 1 == line->word_count && cb_smi_word_starts_cell(line->words[i].text))
            snprintf(parser->loose, sizeof(parser->loose), "%.15s", line->words[i].text);
        else if (i < line->word_count)
            return cb_fail(parser->err, CB_E_INPUT,
                           "%s:%d: '%.40s' stands where the row of %s has a distance (%d of "
                           "%d cells)",
                           parser->name, line->number, line->words[i].text,
                           label_of(parser, row->device), row->filled, parser->column_count);
        return 0;
    }
    if (i < line->word_count && cb_smi_word_is_cell(line->words[i].text, &cell))
        return cb_fail(parser->err, CB_E_INPUT,
                       "%s:%d: the row of %s has more cells than the %d "
                       "columns of line %d",
                       parser->name, line->number, label_of(parser, row->device),
                       parser->column_count, parser->matrix.header_line);
    for (; i < line->word_count && cb_smi_word_is_affinity(line->words[i].text); i++)
        cb_smi_affinity_add(&parser->values, &line->words[i]);
    return 0;
}

/* "NV1" at the end of a line and "2" before the affinities of the next. */
static void mend_last_cell(struct cb_smi_parser *parser)
{
    const struct cb_smi_row *row = last_row(parser);
    struct cb_smi_affinity_values *values = &parser->values;
    struct cb_smi_cell cell;
    char whole[96], buffer[16];
    if (row->filled < parser->column_count || !values->broken[0] ||
        values->count <= parser->affinity.count)
        return;
    struct cb_smi_cell *last = &parser->cells.items[row->first_cell + (size_t)row->filled - 1];
    snprintf(whole, sizeof(whole), "%s%s", cb_smi_cell_text(*last, buffer), values->texts[0]);
    if (!cb_smi_word_is_cell(whole, &cell))
        return;
    *last = cell;
    values->count--;
    memmove(values->texts[0], values->texts[1], (size_t)values->count * sizeof(values->texts[0]));
}

/* A row is over: at_end says that the text is, too, which may cut the row short. */
static int close_row(struct cb_smi_parser *parser, bool at_end)
{
    if (!parser->is_open)
        return 0;
    struct cb_smi_row *row = last_row(parser);
    struct cb_smi_device *device = &parser->matrix.devices.items[row->device];
    parser->is_open = false;
    if (row->filled < parser->column_count && !at_end) {
        cb_fail(parser->err, CB_E_INPUT,
                "%s:%d: the row of %s has %d cells, and there are %d columns", parser->name,
                device->row_line, device->label, row->filled, parser->column_count);
        cb_error_set_hint(parser->err, "paste the whole output of nvidia-smi topo -m");
        return CB_E_INPUT;
    }
    mend_last_cell(parser);
    cb_smi_affinity_assign(&parser->affinity, &parser->values, device);
    return 0;
}

static int open_row(struct cb_smi_parser *parser, int start)
{
    const char *word = cb_smi_word_label(parser->line->words[start].text);
    char label[48];
    cb_smi_label_copy(label, sizeof(label), word);
    int device = find_device(&parser->matrix, label);
    if (device < 0)
        device = add_device(parser, word);
    if (device < 0)
        return device;
    int *line = &parser->matrix.devices.items[device].row_line;
    if (*line)
        return cb_fail(parser->err, CB_E_INPUT, "%s:%d: the row of %s stands here and on line %d",
                       parser->name, parser->line->number, label, *line);
    *line = parser->line->number;
    size_t columns = (size_t)parser->column_count;
    if (!cb_vec_add(&parser->rows) || cb_vec_reserve(&parser->cells, columns))
        return cb_smi_out_of_memory(parser);
    *last_row(parser) = (struct cb_smi_row){.device = device, .first_cell = parser->cells.count};
    memset(parser->cells.items + parser->cells.count, 0, columns * sizeof(struct cb_smi_cell));
    parser->cells.count += columns;
    parser->is_open = true;
    parser->loose[0] = '\0';
    parser->values = (struct cb_smi_affinity_values){.count = 0};
    return take_words(parser, start + 1);
}

/* Whether every word could belong to a row that goes on. */
static bool is_continuation(const struct cb_smi_parser *parser, int first)
{
    struct cb_smi_cell cell;
    const struct cb_smi_line *line = parser->line;
    for (int i = first; i < line->word_count; i++)
        if (!cb_smi_word_is_cell(line->words[i].text, &cell) &&
            !cb_smi_word_is_affinity(line->words[i].text) &&
            !(i + 1 == line->word_count && cb_smi_word_starts_cell(line->words[i].text)))
            return false;
    return true;
}

/* Whether a line begins with the rest of the cell at the end of the one before. */
static bool begins_with_rest(const struct cb_smi_parser *parser, struct cb_smi_cell *cell)
{
    char whole[32];
    if (!parser->is_open || !parser->loose[0] || parser->line->word_count == 0)
        return false;
    snprintf(whole, sizeof(whole), "%s%.8s", parser->loose, parser->line->words[0].text);
    return cb_smi_word_is_cell(whole, cell);
}

/* The first word of a line, when it is the rest of a cell that the line before began. */
static bool mend_cell(struct cb_smi_parser *parser)
{
    struct cb_smi_row *row = last_row(parser);
    struct cb_smi_cell *cells = &parser->cells.items[row->first_cell], cell;
    const char *word = parser->line->words[0].text;
    char whole[32], last[16];
    if (parser->loose[0]) {
        if (!begins_with_rest(parser, &cell))
            return false;
        parser->loose[0] = '\0';
        cells[row->filled++] = cell;
        return true;
    }
    if (row->filled == 0 || row->filled == parser->column_count || cb_smi_word_is_cell(word, &cell))
        return false;
    snprintf(whole, sizeof(whole), "%s%.8s", cb_smi_cell_text(cells[row->filled - 1], last), word);
    if (!cb_smi_word_is_cell(whole, &cell))
        return false;
    cells[row->filled - 1] = cell;
    return true;
}

/* A line that goes on with the open row. *taken says whether it was one. */
static int continue_row(struct cb_smi_parser *parser, bool *taken)
{
    *taken = false;
    if (!parser->is_open || parser->line->word_count == 0)
        return 0;
    const struct cb_smi_row *row = last_row(parser);
    if (row->filled == parser->column_count && parser->values.count >= parser->affinity.count)
        return 0;
    int first = mend_cell(parser);
    if (!is_continuation(parser, first) || parser->loose[0])
        return 0;
    *taken = true;
    parser->is_wrapped = true;
    parser->values.is_broken = true;
    parser->values.broken[parser->values.count] = row->filled == parser->column_count;
    return take_words(parser, first);
}

/* ---- the whole text ---- */

static void forget_header(struct cb_smi_parser *parser)
{
    cb_vec_fini(&parser->matrix.devices);
    parser->is_wrapped = false;
    parser->column_count = 0;
}

/* Behind a header, all lines of it: the line of the first row is current when *found. A text that
 * only mentions GPUs is no matrix, and the search goes on behind it. */
static int try_header(struct cb_smi_parser *parser, int start, bool *found, bool *at_end)
{
    struct cb_smi_headings headings = {.count = 0};
    bool is_header;
    int first_gpu = cb_smi_word_gpu(cb_smi_word_label(parser->line->words[start].text));
    *found = *at_end = false;
    parser->matrix.header_line = parser->line->number;
    int rc = read_headings(parser, &headings, start, &is_header);
    while (rc == 0 && is_header) {
        do {
            *at_end = !read_line(parser);
        } while (!*at_end && parser->line->word_count == 0);
        if (*at_end)
            break;
        parser->column_count = (int)parser->matrix.devices.count;
        int row = row_start(parser);
        if (row >= 0 && is_peer_row(parser, row))
            parser->peer_line = parser->matrix.header_line;
        else if (row >= 0) /* one cell alone may be a word of a sentence */
            *found = parser->column_count == 1 || count_cells(parser, row + 1) > 1;
        int next = row < 0 ? header_start(parser->line) : -1;
        /* A header goes on with higher numbers; what starts again is the header itself. */
        if (row >= 0 || (next >= 0 && cb_smi_word_gpu(cb_smi_word_label(
                                          parser->line->words[next].text)) <= first_gpu))
            break;
        parser->is_wrapped = true;
        rc = read_headings(parser, &headings, 0, &is_header);
    }
    if (rc)
        return rc;
    if (!*found) {
        forget_header(parser);
        return 0;
    }
    cb_smi_headings_read(&headings, &parser->affinity);
    parser->affinity.is_wrapped = parser->is_wrapped;
    for (size_t i = 0; i < parser->matrix.devices.count; i++)
        parser->matrix.devices.items[i].has_column = true;
    return 0;
}

static int fail_without_matrix(struct cb_smi_parser *parser)
{
    if (parser->peer_line) {
        cb_fail(parser->err, CB_E_INPUT,
                "%s:%d: this is a peer-to-peer matrix (nvidia-smi topo -p2p), which has no "
                "distances",
                parser->name, parser->peer_line);
        cb_error_set_hint(parser->err, "nvidia-smi topo -m prints the one that is needed");
        return CB_E_INPUT;
    }
    cb_fail(
        parser->err, CB_E_INPUT,
        "%s:1: no matrix of nvidia-smi topo in %d line%s: no header of GPUs with a row below it",
        parser->name, parser->reader.number, parser->reader.number == 1 ? "" : "s");
    cb_error_set_hint(parser->err,
                      "a map is the XML of lstopo or of NCCL, or a text with the output of "
                      "nvidia-smi topo -m, its first line included");
    return CB_E_INPUT;
}

/* Looks for a header; the line of the first row is current afterwards. */
int cb_smi_find_matrix(struct cb_smi_parser *parser)
{
    bool found = false, at_end = false, has_line = false;
    while (!at_end && (has_line || read_line(parser))) {
        int start = header_start(parser->line);
        has_line = false;
        if (start < 0)
            continue;
        int rc = try_header(parser, start, &found, &at_end);
        if (rc || found)
            return rc;
        /* The line that ended the attempt may itself be a header, though not the one just tried. */
        has_line = !at_end && parser->line->number > parser->matrix.header_line;
    }
    return fail_without_matrix(parser);
}

int cb_smi_add_note(struct cb_smi_parser *parser, const struct cb_smi_note *note)
{
    if (parser->matrix.notes.count >= NOTES)
        return 0;
    struct cb_smi_note *added = cb_vec_add(&parser->matrix.notes);
    if (!added)
        return cb_smi_out_of_memory(parser);
    *added = *note;
    return 0;
}

static bool is_legend(const struct cb_smi_line *line)
{
    for (int i = 0; i < line->word_count && i < PREFIX_WORDS; i++)
        if (strncmp(line->words[i].text, "Legend", 6) == 0)
            return true;
    return false;
}

/* A row below what may be another header: another matrix, unless of peer access. */
static int meet_other_matrix(struct cb_smi_parser *parser, int start)
{
    int rc = close_row(parser, false);
    struct cb_smi_note note = {.kind = CB_SMI_NOTE_OTHER_MATRIX, .line = parser->pending_line};
    parser->pending_line = 0;
    parser->is_behind = true;
    if (rc || is_peer_row(parser, start))
        return rc;
    parser->is_done = true;
    return cb_smi_add_note(parser, &note);
}

/* Whether a line begins as the header of this matrix does: with labels alone, the first the same.
 */
static bool repeats_header(const struct cb_smi_parser *parser)
{
    const struct cb_smi_line *line = parser->line;
    int start = header_start(line);
    if (start < 0 || strcmp(cb_smi_word_label(line->words[start].text), label_of(parser, 0)) != 0)
        return false;
    for (int i = start + 1; i < line->word_count; i++)
        if (!cb_smi_word_is_label(line->words[i].text))
            return false;
    return true;
}

/* One line behind the first row. */
static int read_body_line(struct cb_smi_parser *parser)
{
    struct cb_smi_cell cell;
    int start = begins_with_rest(parser, &cell) ? -1 : row_start(parser), rc = 0;
    bool taken = false;
    if (start >= 0 && parser->pending_line)
        return meet_other_matrix(parser, start);
    if (start >= 0 && !parser->is_behind) {
        rc = close_row(parser, false);
        return rc ? rc : open_row(parser, start);
    }
    if (!parser->is_behind)
        rc = continue_row(parser, &taken);
    if (rc || taken || parser->line->word_count == 0)
        return rc;
    if (repeats_header(parser))
        parser->pending_line = parser->line->number;
    rc = close_row(parser, false);
    parser->is_behind |= is_legend(parser->line);
    cb_smi_legend_read(parser->line, parser->matrix.devices.items, parser->matrix.devices.count);
    return rc;
}

int cb_smi_read_rows(struct cb_smi_parser *parser)
{
    int rc = open_row(parser, row_start(parser));
    while (rc == 0 && !parser->is_done && read_line(parser))
        rc = read_body_line(parser);
    if (rc == 0)
        rc = close_row(parser, true);
    return rc;
}

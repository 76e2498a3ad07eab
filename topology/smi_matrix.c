#include "topology/smi_matrix.h"

#include <stdlib.h>
#include <string.h>

#include "topology/smi_internal.h"

static const struct cb_smi_row *last_row(const struct cb_smi_parser *parser)
{
    return &parser->rows.items[parser->rows.count - 1];
}

/* Rows that call a NIC by its name where the columns call it by its number are the same device's.
 */
static void unite_names(struct cb_smi_parser *parser)
{
    struct cb_smi_matrix *matrix = &parser->matrix;
    struct cb_smi_device *devices = matrix->devices.items;
    size_t kept = (size_t)parser->column_count;
    for (size_t i = (size_t)parser->column_count; i < matrix->devices.count; i++) {
        size_t same = 0, target = kept;
        while (same < (size_t)parser->column_count &&
               (devices[same].row_line || strcmp(devices[same].name, devices[i].label) != 0))
            same++;
        if (same < (size_t)parser->column_count) {
            devices[same].row_line = devices[i].row_line;
            target = same;
        } else {
            devices[kept++] = devices[i];
        }
        for (size_t k = 0; k < parser->rows.count; k++)
            if (parser->rows.items[k].device == (int)i)
                parser->rows.items[k].device = (int)target;
    }
    matrix->devices.count = kept;
}

/* A row's own X tells whether its cells stand below the right columns. */
static int check_self(struct cb_smi_parser *parser, const struct cb_smi_row *row)
{
    const struct cb_smi_device *device = &parser->matrix.devices.items[row->device];
    const struct cb_smi_cell *cells = &parser->cells.items[row->first_cell];
    for (int i = 0; i < row->filled; i++) {
        bool is_self = cells[i].kind == CB_SMI_SELF, is_own = i == row->device;
        if (is_self && !is_own)
            return cb_fail(parser->err, CB_E_INPUT,
                           "%s:%d: the X of %s stands in the column of %s: a cell too few or "
                           "too many",
                           parser->name, device->row_line, device->label,
                           parser->matrix.devices.items[i].label);
        if (is_own && !is_self)
            return cb_fail(parser->err, CB_E_INPUT,
                           "%s:%d: %s has no X in its own column: a cell too few or too many",
                           parser->name, device->row_line, device->label);
    }
    return 0;
}

static int square_cells(struct cb_smi_parser *parser)
{
    struct cb_smi_matrix *matrix = &parser->matrix;
    size_t count = matrix->devices.count;
    matrix->cells = calloc(count * count, sizeof(*matrix->cells));
    if (!matrix->cells)
        return cb_smi_out_of_memory(parser);
    for (size_t i = 0; i < parser->rows.count; i++) {
        const struct cb_smi_row *row = &parser->rows.items[i];
        int rc = check_self(parser, row);
        if (rc)
            return rc;
        memcpy(matrix->cells + (size_t)row->device * count, parser->cells.items + row->first_cell,
               (size_t)row->filled * sizeof(*matrix->cells));
    }
    return 0;
}

/* Rows end where a paste ends, or where its author thought that the GPUs were enough; one missing
 * in between is an error. */
static int check_rows(struct cb_smi_parser *parser)
{
    const struct cb_smi_device *devices = parser->matrix.devices.items;
    const struct cb_smi_row *last = last_row(parser);
    int missing = -1, last_gpu = -1;
    bool has_nic_row = false;
    for (int i = 0; i < parser->column_count; i++) {
        if (devices[i].gpu >= 0)
            last_gpu = i;
        has_nic_row |= devices[i].gpu < 0 && devices[i].row_line;
        if (!devices[i].row_line && missing < 0)
            missing = i;
        if (!devices[i].row_line || missing < 0)
            continue;
        cb_fail(parser->err, CB_E_INPUT,
                "%s:%d: the row of %s is missing: the row of %s stands where it should",
                parser->name, devices[i].row_line, devices[missing].label, devices[i].label);
        cb_error_set_hint(parser->err, "paste the whole output of nvidia-smi topo -m");
        return CB_E_INPUT;
    }
    struct cb_smi_note note = {.kind = CB_SMI_NOTE_CUT,
                               .line = devices[last->device].row_line,
                               .a = missing,
                               .b = parser->column_count - 1};
    if (last->filled < parser->column_count)
        note.a = last->device;
    else if (missing < 0 || (missing > last_gpu && !has_nic_row))
        return 0;
    if (missing >= 0 && missing <= last_gpu && !has_nic_row)
        note.b = last_gpu;
    if (missing < 0)
        note.b = last->device;
    return cb_smi_add_note(parser, &note);
}

static bool same_cell(struct cb_smi_cell left, struct cb_smi_cell right)
{
    return left.kind == right.kind && left.nvlinks == right.nvlinks;
}

static int check_cells(struct cb_smi_parser *parser)
{
    const struct cb_smi_matrix *matrix = &parser->matrix;
    size_t count = matrix->devices.count;
    if (count > (size_t)parser->column_count) {
        struct cb_smi_note note = {.kind = CB_SMI_NOTE_NO_COLUMN,
                                   .line = matrix->devices.items[parser->column_count].row_line,
                                   .a = parser->column_count,
                                   .b = (int)count - 1};
        int rc = cb_smi_add_note(parser, &note);
        if (rc)
            return rc;
    }
    for (size_t a = 0; a < count; a++)
        for (size_t b = a + 1; b < count; b++) {
            struct cb_smi_note note = {.kind = CB_SMI_NOTE_CONTRADICTION,
                                       .line = matrix->devices.items[b].row_line,
                                       .a = (int)a,
                                       .b = (int)b,
                                       .there = matrix->cells[a * count + b],
                                       .back = matrix->cells[b * count + a]};
            if (note.there.kind == CB_SMI_NOT_SHOWN || note.back.kind == CB_SMI_NOT_SHOWN ||
                same_cell(note.there, note.back))
                continue;
            int rc = cb_smi_add_note(parser, &note);
            if (rc)
                return rc;
        }
    return 0;
}

static enum cb_smi_shown find_whether_nvlink_shows(const struct cb_smi_parser *parser,
                                                   enum cb_smi_shown command)
{
    for (size_t i = 0; i < parser->cells.count; i++)
        if (parser->cells.items[i].kind == CB_SMI_NVLINK)
            return CB_SMI_SHOWN;
    if (command != CB_SMI_CANNOT_TELL || !parser->context.has_legend)
        return command;
    return parser->context.legend_has_nvlink ? CB_SMI_SHOWN : CB_SMI_HIDDEN;
}

static int put_together(struct cb_smi_parser *parser, enum cb_smi_shown command)
{
    struct cb_smi_matrix *matrix = &parser->matrix;
    unite_names(parser);
    int rc = square_cells(parser);
    if (rc == 0)
        rc = check_rows(parser);
    if (rc == 0)
        rc = check_cells(parser);
    if (rc)
        return rc;
    cb_smi_affinity_unglue(matrix->devices.items, matrix->devices.count);
    cb_smi_context_apply(&parser->context, matrix->devices.items, matrix->devices.count);
    matrix->nvlink = find_whether_nvlink_shows(parser, command);
    return 0;
}

int cb_smi_matrix_read(const char *name, const char *text, size_t length_bytes,
                       struct cb_smi_matrix *matrix, struct cb_error *err)
{
    struct cb_smi_parser parser = {.name = name, .err = err, .line = malloc(sizeof(*parser.line))};
    enum cb_smi_shown command = CB_SMI_CANNOT_TELL;
    int rc = parser.line ? 0 : cb_smi_out_of_memory(&parser);
    cb_smi_reader_init(&parser.reader, text, length_bytes);
    if (rc == 0)
        rc = cb_smi_find_matrix(&parser);
    command = parser.context.command;
    if (rc == 0)
        rc = cb_smi_read_rows(&parser);
    if (rc == 0)
        rc = put_together(&parser, command);
    if (rc == 0) {
        *matrix = parser.matrix;
        parser.matrix = (struct cb_smi_matrix){0};
    }
    cb_smi_matrix_fini(&parser.matrix);
    cb_vec_fini(&parser.rows);
    cb_vec_fini(&parser.cells);
    free(parser.line);
    return rc;
}

void cb_smi_matrix_fini(struct cb_smi_matrix *matrix)
{
    cb_vec_fini(&matrix->devices);
    cb_vec_fini(&matrix->notes);
    free(matrix->cells);
    *matrix = (struct cb_smi_matrix){0};
}

bool cb_smi_matrix_is_there(const char *text, size_t length_bytes)
{
    struct cb_smi_parser parser = {.name = "", .line = malloc(sizeof(*parser.line))};
    cb_smi_reader_init(&parser.reader, text, length_bytes);
    bool is_there = parser.line && (cb_smi_find_matrix(&parser) == 0 || parser.peer_line);
    cb_smi_matrix_fini(&parser.matrix);
    free(parser.line);
    return is_there;
}

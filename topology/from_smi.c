/* A matrix of nvidia-smi as a map: it states classes and NVLinks, and shows no tree. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/gpus.h"
#include "topology/map_read.h"
#include "topology/smi_matrix.h"

/* No GPU has more NVLinks, unless it is known to; one whose cells add up to more reaches its peers
 * through a switch. */
#define NVLINKS_MAX 18

struct maker {
    const struct cb_smi_matrix *matrix;
    struct cb_map_builder builder;
    struct cb_error *err;
};

static const enum cb_path_class classes[] = {
    [CB_SMI_SELF] = CB_CLASS_SELF, [CB_SMI_PIX] = CB_CLASS_PIX,   [CB_SMI_PXB] = CB_CLASS_PXB,
    [CB_SMI_PHB] = CB_CLASS_PHB,   [CB_SMI_NODE] = CB_CLASS_NODE, [CB_SMI_SYS] = CB_CLASS_SYS,
};

/* ---- devices ---- */

/* The NUMA node of a device: the one that is named. Of a list, the first where the others are the
 * memory of GPUs; else the device is as near to several, and none is its own. */
static int numa_of(const struct cb_smi_device *device)
{
    char *end = NULL;
    if (!device->numa[0])
        return -1;
    long node = strtol(device->numa, &end, 10);
    if (node < 0 || node > 0xffff || end == device->numa || (*end && device->gpu_numa < 0))
        return -1;
    return (int)node;
}

static int add_device(struct maker *maker, const struct cb_smi_device *device)
{
    bool is_gpu = device->gpu >= 0;
    struct cb_map_device added = cb_map_device_blank(is_gpu ? CB_DEVICE_GPU : CB_DEVICE_NIC);
    snprintf(added.name, sizeof(added.name), "%s", device->name);
    if (strcmp(device->label, device->name) != 0)
        snprintf(added.partner, sizeof(added.partner), "%s", device->label);
    snprintf(added.bus_id, sizeof(added.bus_id), "%s", device->bus_id);
    snprintf(added.model, sizeof(added.model), "%s", device->model);
    snprintf(added.cpus, sizeof(added.cpus), "%s", device->cpus);
    added.numa = numa_of(device);
    added.gpu_index = device->gpu;
    /* nvidia-smi lists what libibverbs does: RDMA devices, of a kind that it does not say. */
    added.is_rdma = !is_gpu;
    added.port = is_gpu ? CB_MAP_LINK_UNKNOWN : CB_MAP_LINK_RDMA;
    int index = cb_map_builder_add(&maker->builder, &added, maker->err);
    return index < 0 ? index : 0;
}

/* ---- cells ---- */

static const struct cb_smi_cell *cell_at(const struct cb_smi_matrix *matrix, size_t a, size_t b)
{
    return &matrix->cells[a * matrix->devices.count + b];
}

/* What the first of the two rows says, or the other where the first does not. */
static struct cb_smi_cell between(const struct cb_smi_matrix *matrix, size_t a, size_t b)
{
    const struct cb_smi_cell *cell = cell_at(matrix, a, b);
    return cell->kind == CB_SMI_NOT_SHOWN ? *cell_at(matrix, b, a) : *cell;
}

static int count_nvlinks(const struct cb_smi_matrix *matrix, size_t device)
{
    int sum = 0;
    for (size_t i = 0; i < matrix->devices.count; i++)
        sum += i == device ? 0 : between(matrix, device, i).nvlinks;
    return sum;
}

static const struct cb_gpu_reference *find_model(const struct cb_smi_device *device)
{
    return device->model[0] ? cb_gpu_reference_find_name(device->model) : NULL;
}

/* One way over one link of that model; 0 when the text names no model, or one without. */
static double nvlink_bytes_per_s(const struct cb_smi_device *device)
{
    const struct cb_gpu_reference *model = find_model(device);
    return model && model->nvlinks > 0 && model->nvlink_bytes_per_s > 0
               ? model->nvlink_bytes_per_s / model->nvlinks
               : 0;
}

static bool is_switched(const struct cb_smi_matrix *matrix, size_t device, int nvlinks)
{
    const struct cb_gpu_reference *model = find_model(&matrix->devices.items[device]);
    int most = model && model->nvlinks > 0 ? model->nvlinks : NVLINKS_MAX;
    return count_nvlinks(matrix, device) > (nvlinks > most ? nvlinks : most);
}

static int add_link(struct maker *maker, size_t a, size_t b, struct cb_smi_cell cell)
{
    const struct cb_smi_matrix *matrix = maker->matrix;
    bool over_switch = is_switched(matrix, a, cell.nvlinks) || is_switched(matrix, b, cell.nvlinks);
    struct cb_map_link link = {
        .a = (int)a,
        .b = (int)b,
        .kind = cell.kind == CB_SMI_C2C ? CB_MAP_LINK_C2C
                : over_switch           ? CB_MAP_LINK_NVSWITCH
                                        : CB_MAP_LINK_NVLINK,
        .count = cell.nvlinks,
        .bytes_per_s_one_way = cell.nvlinks * nvlink_bytes_per_s(&matrix->devices.items[a]),
    };
    return cb_map_builder_link(&maker->builder, &link, maker->err);
}

static int add_cells(struct maker *maker)
{
    const struct cb_smi_matrix *matrix = maker->matrix;
    int rc = 0;
    for (size_t a = 0; a < matrix->devices.count; a++)
        for (size_t b = a + 1; b < matrix->devices.count && rc == 0; b++) {
            struct cb_smi_cell cell = between(matrix, a, b);
            if (cell.kind == CB_SMI_NOT_SHOWN)
                continue;
            bool is_link = cell.kind == CB_SMI_NVLINK || cell.kind == CB_SMI_C2C;
            rc = is_link ? add_link(maker, a, b, cell)
                         : cb_map_builder_state(&maker->builder, (int)a, (int)b, classes[cell.kind],
                                                0, maker->err);
        }
    return rc;
}

/* ---- what the text has wrong ---- */

static const struct {
    const char *code;
    bool is_wrong;
    const char *why, *remedy;
} notes[] = {
    [CB_SMI_NOTE_OTHER_MATRIX] = {"matrix.others", false,
                                  "one map is of one machine; the first matrix is the one shown",
                                  "put each host's matrix into a file of its own"},
    [CB_SMI_NOTE_CUT] = {"matrix.cut", false,
                         "how these devices are connected to those without a column is not shown",
                         "paste the whole output of nvidia-smi topo -m"},
    [CB_SMI_NOTE_NO_COLUMN] = {"matrix.no_column", false,
                               "how these devices are connected to each other is not shown",
                               "paste the whole output of nvidia-smi topo -m"},
    [CB_SMI_NOTE_CONTRADICTION] =
        {"matrix.contradiction", true,
         "a path is the same both ways: the text was changed, or put together from several",
         "paste the output of nvidia-smi topo -m as it is"},
};

static void write_seen(const struct cb_smi_matrix *matrix, const struct cb_smi_note *note,
                       char *seen, size_t size_bytes)
{
    const struct cb_smi_device *a = &matrix->devices.items[note->a];
    const struct cb_smi_device *b = &matrix->devices.items[note->b];
    char there[16], back[16];
    bool is_one = note->a == note->b;
    switch (note->kind) {
    case CB_SMI_NOTE_OTHER_MATRIX:
        snprintf(seen, size_bytes, "another matrix begins on line %d", note->line);
        break;
    case CB_SMI_NOTE_CUT:
        snprintf(seen, size_bytes, "the matrix ends on line %d: no whole row of %s%s%s", note->line,
                 a->label, is_one ? "" : " to ", is_one ? "" : b->label);
        break;
    case CB_SMI_NOTE_NO_COLUMN:
        snprintf(seen, size_bytes, "%s%s%s (line %d) %s rows and no columns", a->label,
                 is_one ? "" : " to ", is_one ? "" : b->label, note->line, is_one ? "has" : "have");
        break;
    case CB_SMI_NOTE_CONTRADICTION:
        snprintf(seen, size_bytes, "%s to %s is %s on line %d and %s on line %d", a->label,
                 b->label, cb_smi_cell_text(note->there, there), a->row_line,
                 cb_smi_cell_text(note->back, back), note->line);
        break;
    }
}

static int add_notes(struct maker *maker)
{
    const struct cb_smi_matrix *matrix = maker->matrix;
    int rc = 0;
    for (size_t i = 0; i < matrix->notes.count && rc == 0; i++) {
        const struct cb_smi_note *note = &matrix->notes.items[i];
        struct cb_map_note added = {.is_wrong = notes[note->kind].is_wrong,
                                    .why = notes[note->kind].why,
                                    .remedy = notes[note->kind].remedy};
        snprintf(added.code, sizeof(added.code), "%s", notes[note->kind].code);
        write_seen(matrix, note, added.seen, sizeof(added.seen));
        rc = cb_map_builder_note(&maker->builder, &added, maker->err);
    }
    return rc;
}

/* Whether NVLinks would show matters only where there could be some: among several GPUs. */
static int add_nvlink_note(struct maker *maker)
{
    const struct cb_smi_matrix *matrix = maker->matrix;
    struct cb_map_note note = {
        .code = "matrix.nvlink_hidden",
        .why = "a path over PCIe does not mean here that there is no NVLink",
        .remedy = "paste the output of nvidia-smi topo -m, with its legend",
    };
    int gpus = 0;
    for (size_t i = 0; i < matrix->devices.count; i++)
        gpus += matrix->devices.items[i].gpu >= 0;
    if (matrix->nvlink == CB_SMI_SHOWN || gpus < 2)
        return 0;
    snprintf(note.seen, sizeof(note.seen), "%s",
             matrix->nvlink == CB_SMI_HIDDEN
                 ? "this is a matrix of topo -mp, which leaves out NVLinks"
                 : "no NVLink in this matrix, and neither legend nor command tell whether it would "
                   "be shown (topo -mp leaves it out)");
    return cb_map_builder_note(&maker->builder, &note, maker->err);
}

int cb_map_from_smi(const char *name, const char *text, size_t length_bytes, struct cb_map *map,
                    struct cb_error *err)
{
    struct cb_smi_matrix matrix = {.cells = NULL};
    struct maker maker = {.matrix = &matrix, .err = err};
    cb_map_builder_init(&maker.builder, CB_MAP_FROM_SMI);
    int rc = cb_smi_matrix_read(name, text, length_bytes, &matrix, err);
    for (size_t i = 0; i < matrix.devices.count && rc == 0; i++)
        rc = add_device(&maker, &matrix.devices.items[i]);
    if (rc == 0)
        rc = add_cells(&maker);
    if (rc == 0)
        rc = add_notes(&maker);
    if (rc == 0)
        rc = add_nvlink_note(&maker);
    maker.builder.map.hides_nvlink = matrix.nvlink != CB_SMI_SHOWN;
    if (rc == 0)
        rc = cb_map_builder_finish(&maker.builder, map, err);
    cb_map_builder_fini(&maker.builder);
    cb_smi_matrix_fini(&matrix);
    return rc;
}

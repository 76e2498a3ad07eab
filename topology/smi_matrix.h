/* The matrix of `nvidia-smi topo -m`, read out of whatever text it was pasted into. Pure: no map,
 * no judgement of what it means; from_smi.c makes a map of it. */
#ifndef CB_TOPOLOGY_SMI_MATRIX_H
#define CB_TOPOLOGY_SMI_MATRIX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/vec.h"

#define CB_SMI_DEVICES 512 /* columns and rows; no machine has so many */

enum cb_smi_cell_kind {
    CB_SMI_NOT_SHOWN = 0,
    CB_SMI_SELF,
    CB_SMI_NVLINK,
    CB_SMI_C2C,
    CB_SMI_PIX,
    CB_SMI_PXB,
    CB_SMI_PHB,
    CB_SMI_NODE,
    CB_SMI_SYS,
};

struct cb_smi_cell {
    enum cb_smi_cell_kind kind;
    int nvlinks; /* of CB_SMI_NVLINK */
};

struct cb_smi_device {
    char label[48];  /* as its column or row says: "GPU0", "NIC3", "mlx5_0" */
    char name[48];   /* as the NIC legend says, else the label */
    char model[64];  /* of a GPU, where the text around the matrix lists the models; else empty */
    char bus_id[24]; /* likewise */
    int gpu;         /* n of "GPUn"; -1: a NIC */
    bool has_column;
    int row_line;         /* where its row stands; 0: it has none */
    char cpus[64];        /* CPU affinity as printed; empty when not shown or "N/A" */
    char numa[64];        /* NUMA affinity, likewise: "0", "0-1", "0,3-9" */
    bool is_numa_missing; /* there is such a column, and nothing in it, not even "N/A" */
    int gpu_numa;         /* node of the GPU's own memory; -1: none shown */
};

/* What the text, as opposed to the machine, has wrong. */
enum cb_smi_note_kind {
    CB_SMI_NOTE_OTHER_MATRIX, /* a second matrix begins there and is not read */
    CB_SMI_NOTE_CUT,          /* rows that the header announces are not there any more */
    CB_SMI_NOTE_NO_COLUMN,    /* a row of a device that has no column */
    CB_SMI_NOTE_CONTRADICTION /* a says one thing of b, b another of a */
};

struct cb_smi_note {
    enum cb_smi_note_kind kind;
    int line;
    int a, b;                       /* devices; of CUT and NO_COLUMN the first and the last */
    struct cb_smi_cell there, back; /* of a contradiction */
};

enum cb_smi_shown { CB_SMI_CANNOT_TELL, CB_SMI_SHOWN, CB_SMI_HIDDEN };

/* Zero-initialised is empty. */
struct cb_smi_matrix {
    CB_VEC(struct cb_smi_device) devices; /* in the order of the columns, then of further rows */
    struct cb_smi_cell *cells; /* devices.count squared, [row * count + column], as printed */
    CB_VEC(struct cb_smi_note) notes;
    int header_line;
    enum cb_smi_shown nvlink; /* whether NVLinks would be shown: "topo -mp" hides them */
};

/* Reads the first matrix in a text; name stands in messages. Errors: CB_E_INPUT with the line when
 * there is none (a peer-to-peer matrix is named as such), a row within it is missing, stands twice
 * or has too few or too many cells, or its X does not stand in its own column; CB_E_MEMORY. On
 * error *matrix is untouched. Free with fini. */
int cb_smi_matrix_read(const char *name, const char *text, size_t length_bytes,
                       struct cb_smi_matrix *matrix, struct cb_error *err);
void cb_smi_matrix_fini(struct cb_smi_matrix *matrix);

/* What stands in a cell: "NV18", "PIX", "X"; buffer is used for NVLinks. */
const char *cb_smi_cell_text(struct cb_smi_cell cell, char buffer[16]);

/* Whether a text holds something that looks like such a matrix: the start of its header and of a
 * row. For telling formats apart. */
bool cb_smi_matrix_is_there(const char *text, size_t length_bytes);

#endif

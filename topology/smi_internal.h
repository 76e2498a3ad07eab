/* What the files that read a matrix of nvidia-smi share. */
#ifndef CB_TOPOLOGY_SMI_INTERNAL_H
#define CB_TOPOLOGY_SMI_INTERNAL_H

#include "topology/smi_matrix.h"
#include "topology/smi_text.h"

/* ---- smi_words.c: what a word is ---- */

/* A cell of the matrix; false for any other word. */
bool cb_smi_word_is_cell(const char *word, struct cb_smi_cell *cell);

/* The start of a cell that the end of a line cut in two ("NO" of "NODE"). */
bool cb_smi_word_starts_cell(const char *word);

/* What could be a label behind what a launcher puts right ahead of it ("rank0:GPU0"): the
 * word itself where nothing is. */
const char *cb_smi_word_label(const char *word);

/* "GPU7" or "GPU7:": 7; -1 for any other word. */
int cb_smi_word_gpu(const char *word);

/* What could name a device: a letter, then letters, digits, "_", "." or "-"; no cell. A colon at
 * the end is not part of it. */
bool cb_smi_word_is_label(const char *word);

/* Copies a label, without a colon at its end. */
void cb_smi_label_copy(char *out, size_t size_bytes, const char *word);

/* An affinity: numbers with "," and "-", or "N/A". */
bool cb_smi_word_is_affinity(const char *word);

/* ---- smi_affinity.c: the columns behind the cells ---- */

#define CB_SMI_AFFINITY_COLUMNS 8

enum cb_smi_affinity { CB_SMI_CPUS, CB_SMI_NUMA, CB_SMI_GPU_NUMA };

struct cb_smi_affinity_header {
    int count;
    bool is_wrapped; /* places on the screen say nothing */
    enum cb_smi_affinity kinds[CB_SMI_AFFINITY_COLUMNS];
    int columns[CB_SMI_AFFINITY_COLUMNS]; /* where the heading starts */
};

/* The words of a row's affinities, gathered as they come. */
struct cb_smi_affinity_values {
    int count;
    bool is_broken;                           /* some line ended before a value */
    bool broken[CB_SMI_AFFINITY_COLUMNS + 2]; /* before this one, perhaps within it */
    char texts[CB_SMI_AFFINITY_COLUMNS + 2][64];
    int columns[CB_SMI_AFFINITY_COLUMNS + 2];
};

/* Whether the headings of the affinities begin with this word ("CPU", "NUMA", "CPU_Affinity", "GPU"
 * before "NUMA"). */
bool cb_smi_affinity_begins(const struct cb_smi_line *line, int word);

/* The same of a word alone. */
bool cb_smi_word_begins_affinity(const char *word);

/* Adds headings out of the words of a line from first on, however they are spaced or broken. */
struct cb_smi_headings {
    char letters[128]; /* lower case, nothing but letters */
    int columns[128];
    size_t count;
};
void cb_smi_headings_add_word(struct cb_smi_headings *headings, const char *word, int column);
void cb_smi_headings_add(struct cb_smi_headings *headings, const struct cb_smi_line *line,
                         int first);
void cb_smi_headings_read(const struct cb_smi_headings *headings,
                          struct cb_smi_affinity_header *header);

void cb_smi_affinity_add(struct cb_smi_affinity_values *values, const struct cb_smi_word *word);

/* Hands a row's values to their columns: in order where there is one for each, else by their place
 * on the screen. */
void cb_smi_affinity_assign(const struct cb_smi_affinity_header *header,
                            struct cb_smi_affinity_values *values, struct cb_smi_device *device);

/* Parts a CPU list from the NUMA node that was printed right behind it ("0-45,92-1370"), where the
 * lists of this and the other rows say where. */
void cb_smi_affinity_unglue(struct cb_smi_device *devices, size_t count);

/* ---- smi_context.c: what the text around the matrix says ---- */

#define CB_SMI_MODELS 64

struct cb_smi_context {
    enum cb_smi_shown command; /* the last "topo -m" or "topo -mp" before the matrix */
    bool has_legend, legend_has_nvlink;
    struct {
        char name[64];
        char bus_id[24];
    } gpus[CB_SMI_MODELS]; /* as nvidia-smi lists them; empty names for the others */
};

/* Looks at a line outside the rows: the command that was called, models ("GPU 0: NVIDIA ...", or a
 * row of nvidia-smi's table), and the legend's lines. */
void cb_smi_context_read(struct cb_smi_context *context, const struct cb_smi_line *line);

/* "NIC3: mlx5_gdr_2" of the NIC legend: names the device of that label. */
void cb_smi_legend_read(const struct cb_smi_line *line, struct cb_smi_device *devices,
                        size_t count);

/* Hands the models to the GPUs. */
void cb_smi_context_apply(const struct cb_smi_context *context, struct cb_smi_device *devices,
                          size_t count);

/* ---- smi_rows.c: from lines to rows ---- */

struct cb_smi_row {
    int device;
    size_t first_cell;
    int filled; /* cells, at most as many as there are columns */
};

struct cb_smi_parser {
    const char *name;
    struct cb_error *err;
    struct cb_smi_reader reader;
    struct cb_smi_line *line;
    struct cb_smi_context context;
    struct cb_smi_matrix matrix;
    struct cb_smi_affinity_header affinity;
    int column_count;
    CB_VEC(struct cb_smi_row) rows;
    CB_VEC(struct cb_smi_cell) cells; /* row by row, column_count each */
    /* The row being read. */
    bool is_open, is_wrapped;
    char loose[16]; /* the start of a cell at the end of its last line */
    struct cb_smi_affinity_values values;
    /* What has been seen besides. */
    int peer_line;    /* of a matrix of "topo -p2p" */
    int pending_line; /* what may be the header of another matrix */
    bool is_behind;   /* the rows are over: a legend or another matrix has begun */
    bool is_done;
};

/* Looks for a header with a row below it; the line of that row is current afterwards. Errors:
 * CB_E_INPUT when there is none, CB_E_MEMORY. */
int cb_smi_find_matrix(struct cb_smi_parser *parser);

/* Reads the rows and what is behind them, up to another matrix. Errors: CB_E_INPUT for a row with
 * too few or too many cells or one that stands twice, CB_E_MEMORY. */
int cb_smi_read_rows(struct cb_smi_parser *parser);

/* Adds a note, while there is room for it. Errors: CB_E_MEMORY. */
int cb_smi_add_note(struct cb_smi_parser *parser, const struct cb_smi_note *note);

int cb_smi_out_of_memory(struct cb_smi_parser *parser);

#endif

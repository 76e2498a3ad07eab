/* The matrix of nvidia-smi topo in every layout that it is pasted in, and what is no matrix. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "cb_test.h"
#include "topology/smi_matrix.h"

/* ---- a machine of our own, and how it may be written down ---- */

enum { GPUS = 4, NICS = 3, DEVICES = GPUS + NICS };

static const char *const nic_names[NICS] = {"mlx5_0", "mlx5_ib1", "mlx5_2"};

/* Two sockets with two GPUs and a NIC each; a NIC more on the second. All kinds of cells. */
static const char *const machine[DEVICES][DEVICES] = {
    {"X", "NV12", "SYS", "NV4", "PIX", "SYS", "NODE"},
    {"NV12", "X", "NV4", "SYS", "PXB", "SYS", "PHB"},
    {"SYS", "NV4", "X", "NV12", "SYS", "PIX", "SYS"},
    {"NV4", "SYS", "NV12", "X", "SYS", "PHB", "SYS"},
    {"PIX", "PXB", "SYS", "SYS", "X", "SYS", "NODE"},
    {"SYS", "SYS", "PIX", "PHB", "SYS", "X", "SYS"},
    {"NODE", "PHB", "SYS", "SYS", "NODE", "SYS", "X"},
};
static const char *const cpus[GPUS] = {"0-23,48-71", "0-23,48-71", "24-47,72-95", "24-47,72-95"};
static const char *const numa[GPUS] = {"0", "0", "1", "1"};

enum spacing { SPACING_TABS, SPACING_ALIGNED, SPACING_SINGLE, SPACING_BARS, SPACING_COUNT };
enum affinity { AFFINITY_NONE, AFFINITY_CPUS, AFFINITY_NUMA, AFFINITY_ALL, AFFINITY_COUNT };

struct layout {
    enum spacing spacing;
    enum affinity affinity;
    bool has_numbered_nics; /* "NIC0" with a legend; otherwise columns have the devices' names */
    bool has_gpu_rows_only;
    const char *color[2]; /* around the header */
    const char *prefix;   /* ahead of every line */
    const char *line_end;
    const char *before, *after;
};

static const struct layout plain = {.has_numbered_nics = true,
                                    .affinity = AFFINITY_ALL,
                                    .color = {"", ""},
                                    .prefix = "",
                                    .line_end = "\n",
                                    .before = "",
                                    .after = ""};

static const char *label(int device, const struct layout *layout, char buffer[16])
{
    if (device >= GPUS && !layout->has_numbered_nics)
        return nic_names[device - GPUS];
    snprintf(buffer, 16, "%s%d", device < GPUS ? "GPU" : "NIC",
             device < GPUS ? device : device - GPUS);
    return buffer;
}

static void add_field(struct cb_strbuf *text, const struct layout *layout, const char *field,
                      int columns)
{
    if (layout->spacing == SPACING_ALIGNED)
        cb_strbuf_addf(text, "%-*s%s", columns, field, (int)strlen(field) < columns ? "" : " ");
    else
        cb_strbuf_addf(text, "%s%s", field,
                       layout->spacing == SPACING_TABS   ? "\t"
                       : layout->spacing == SPACING_BARS ? " | "
                                                         : " ");
}

static void add_affinity(struct cb_strbuf *text, const struct layout *layout, const char *cpus_text,
                         const char *numa_text, const char *gpu_text)
{
    if (layout->affinity >= AFFINITY_CPUS)
        add_field(text, layout, cpus_text, 16);
    if (layout->affinity >= AFFINITY_NUMA)
        add_field(text, layout, numa_text, 16);
    /* As the tool does: a short value is followed by an empty field. */
    if (layout->affinity == AFFINITY_ALL && layout->spacing == SPACING_TABS &&
        strlen(numa_text) < 8)
        cb_strbuf_add(text, "\t");
    if (layout->affinity == AFFINITY_ALL)
        add_field(text, layout, gpu_text, 12);
}

static void render(const struct layout *layout, struct cb_strbuf *text)
{
    char buffer[16];
    cb_strbuf_add(text, layout->before);
    cb_strbuf_addf(text, "%s", layout->prefix);
    add_field(text, layout, "", 8);
    cb_strbuf_add(text, layout->color[0]);
    for (int i = 0; i < DEVICES; i++)
        add_field(text, layout, label(i, layout, buffer), 8);
    add_affinity(text, layout, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID");
    cb_strbuf_addf(text, "%s%s", layout->color[1], layout->line_end);
    for (int i = 0; i < (layout->has_gpu_rows_only ? GPUS : DEVICES); i++) {
        cb_strbuf_add(text, layout->prefix);
        add_field(text, layout, label(i, layout, buffer), 8);
        for (int k = 0; k < DEVICES; k++)
            add_field(text, layout, i == k ? " X " : machine[i][k], 8);
        if (i < GPUS)
            add_affinity(text, layout, cpus[i], numa[i], "N/A");
        cb_strbuf_add(text, layout->line_end);
    }
    if (layout->has_numbered_nics) {
        cb_strbuf_addf(text, "%s%s%sNIC Legend:%s", layout->prefix, layout->line_end,
                       layout->prefix, layout->line_end);
        for (int i = 0; i < NICS; i++)
            cb_strbuf_addf(text, "%s  NIC%d: %s%s", layout->prefix, i, nic_names[i],
                           layout->line_end);
    }
    cb_strbuf_add(text, layout->after);
    assert_false(text->failed);
}

static struct cb_smi_matrix read_text(const char *text)
{
    struct cb_smi_matrix matrix = {.cells = NULL};
    struct cb_error err;
    cb_error_clear(&err);
    if (cb_smi_matrix_read("it", text, strlen(text), &matrix, &err) != 0)
        print_error("%s\n", text);
    assert_string_equal(err.what, "");
    return matrix;
}

static const char *cell_text(const struct cb_smi_matrix *matrix, int row, int column,
                             char buffer[16])
{
    return cb_smi_cell_text(matrix->cells[(size_t)row * matrix->devices.count + (size_t)column],
                            buffer);
}

static void check_cells(const struct cb_smi_matrix *matrix, const struct layout *layout)
{
    char buffer[16];
    assert_int_equal(matrix->devices.count, DEVICES);
    for (int i = 0; i < DEVICES; i++) {
        const struct cb_smi_device *device = &matrix->devices.items[i];
        assert_string_equal(device->label, label(i, layout, buffer));
        assert_string_equal(device->name,
                            i < GPUS ? label(i, layout, buffer) : nic_names[i - GPUS]);
        assert_int_equal(device->gpu, i < GPUS ? i : -1);
        bool has_row = i < GPUS || !layout->has_gpu_rows_only;
        for (int k = 0; k < DEVICES; k++)
            assert_string_equal(cell_text(matrix, i, k, buffer),
                                has_row ? machine[i][k] : "nothing");
    }
}

static void check_affinities(const struct cb_smi_matrix *matrix, const struct layout *layout)
{
    for (int i = 0; i < GPUS; i++) {
        const struct cb_smi_device *device = &matrix->devices.items[i];
        assert_string_equal(device->cpus, layout->affinity >= AFFINITY_CPUS ? cpus[i] : "");
        assert_string_equal(device->numa, layout->affinity >= AFFINITY_NUMA ? numa[i] : "");
        assert_int_equal(device->gpu_numa, -1);
    }
}

static void check_layout(const struct layout *layout)
{
    struct cb_strbuf text = {0};
    render(layout, &text);
    struct cb_smi_matrix matrix = read_text(cb_strbuf_get(&text));
    check_cells(&matrix, layout);
    check_affinities(&matrix, layout);
    assert_int_equal(matrix.notes.count, 0);
    assert_int_equal(matrix.nvlink, CB_SMI_SHOWN);
    cb_smi_matrix_fini(&matrix);
    cb_strbuf_fini(&text);
}

static void test_every_spacing_and_column(void **state)
{
    (void)state;
    struct layout layout = plain;
    for (int spacing = 0; spacing < SPACING_COUNT; spacing++)
        for (int affinity = 0; affinity < AFFINITY_COUNT; affinity++)
            for (int bits = 0; bits < 4; bits++) {
                layout.spacing = (enum spacing)spacing;
                layout.affinity = (enum affinity)affinity;
                layout.has_numbered_nics = bits & 1;
                layout.has_gpu_rows_only = bits & 2;
                check_layout(&layout);
            }
}

static void test_traces_of_terminals_and_trackers(void **state)
{
    (void)state;
    static const char *const colors[][2] = {
        {"\033[4m", "\033[0m"},      {"[4m", "[0m"},
        {"^[[4m", "^[[0m"},          {"\\033[4m", "\\033[0m"},
        {"\\x1b[4;1m", "\\x1b[m"},   {"\xe2\x90\x9b[4m", "\xe2\x90\x9b[0m"},
        {"\033(B\033[4m", "\033[K"}, {"\033]0;title\a", "\033]8;;\033\\"},
    };
    static const char *const prefixes[] = {
        "> ",          "    ",     "node7: ",      "[0] ",           "\xc2\xa0",
        "12:00:01.5 ", "rank0 | ", "\xef\xbb\xbf", "[1,0]<stdout>:", "INFO:log:"};
    static const char *const line_ends[] = {"\r\n", "\r", "\n\n", "  \n", "\r\r\n"};
    struct layout layout = plain;
    for (size_t i = 0; i < sizeof(colors) / sizeof(*colors); i++) {
        layout = plain;
        layout.color[0] = colors[i][0];
        layout.color[1] = colors[i][1];
        check_layout(&layout);
    }
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
        layout = plain;
        layout.prefix = prefixes[i];
        check_layout(&layout);
    }
    for (size_t i = 0; i < sizeof(line_ends) / sizeof(*line_ends); i++) {
        layout = plain;
        layout.line_end = line_ends[i];
        check_layout(&layout);
    }
}

static void test_text_around(void **state)
{
    (void)state;
    struct layout layout = plain;
    layout.before = "My job hangs: GPU0 waits for GPU1, and GPU3 is idle.\n"
                    "GPU5 was moved away\n"
                    "GPU0\n"
                    "| GPU  Name        Persistence-M| Bus-Id        Disp.A |\n"
                    "user@node1:~$ nvidia-smi topo -m\n"
                    "```\n";
    layout.after = "```\nThe GPU0 GPU1 pair is slow.\nGPU0 GPU1 GPU2 GPU3 are all busy\n"
                   "user@node1:~$ exit\n";
    check_layout(&layout);
}

static void test_markdown_table(void **state)
{
    (void)state;
    char buffer[16];
    struct cb_smi_matrix matrix = read_text("|      | GPU0 | GPU1 | NIC0 | CPU Affinity |\n"
                                            "|:-----|------|------|------|--------------|\n"
                                            "| GPU0 | X | **NV4** | PIX | 0-7 |\n"
                                            "| `GPU1` | NV4 | X | SYS | 8-15 |\n"
                                            "| NIC0 | PIX | SYS | X | |\n");
    assert_int_equal(matrix.devices.count, 3);
    assert_string_equal(cell_text(&matrix, 0, 1, buffer), "NV4");
    assert_string_equal(matrix.devices.items[1].cpus, "8-15");
    assert_int_equal(matrix.notes.count, 0);
    cb_smi_matrix_fini(&matrix);
}

/* UTF-16, as PowerShell writes what a program prints. */
static void test_utf16(void **state)
{
    (void)state;
    static const char text[] = "\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n";
    char wide[2 + 2 * sizeof(text)] = "\xff\xfe";
    struct cb_smi_matrix matrix = {.cells = NULL};
    struct cb_error err;
    char buffer[16];
    for (size_t i = 0; i + 1 < sizeof(text); i++) {
        wide[2 + 2 * i] = text[i];
        wide[3 + 2 * i] = '\0';
    }
    assert_ok(cb_smi_matrix_read("it", wide, 2 * sizeof(text), &matrix, &err), &err);
    assert_int_equal(matrix.devices.count, 2);
    assert_string_equal(cell_text(&matrix, 0, 1, buffer), "PIX");
    cb_smi_matrix_fini(&matrix);
}

/* ---- wrapped lines ---- */

/* Breaks lines as a terminal of that width does: wherever the edge is. */
static void wrap(const char *text, int width, struct cb_strbuf *out)
{
    int column = 0;
    for (; *text; text++) {
        if (*text == '\n')
            column = 0;
        else if (column == width) {
            cb_strbuf_add(out, "\n");
            column = 0;
        }
        cb_strbuf_addf(out, "%c", *text);
        column += *text != '\n';
    }
}

static void test_wrapped_at_every_width(void **state)
{
    (void)state;
    for (int numbered = 0; numbered < 2; numbered++)
        for (int affinity = 0; affinity < AFFINITY_COUNT; affinity++)
            for (int width = 21; width < 130; width++) {
                struct layout layout = plain;
                struct cb_strbuf text = {0}, wrapped = {0};
                layout.spacing = SPACING_ALIGNED;
                layout.affinity = (enum affinity)affinity;
                layout.has_numbered_nics = numbered;
                render(&layout, &text);
                wrap(cb_strbuf_get(&text), width, &wrapped);
                struct cb_smi_matrix matrix = read_text(cb_strbuf_get(&wrapped));
                check_cells(&matrix, &layout);
                cb_smi_matrix_fini(&matrix);
                cb_strbuf_fini(&text);
                cb_strbuf_fini(&wrapped);
            }
}

static void test_wrapped_between_words(void **state)
{
    (void)state;
    struct cb_smi_matrix matrix = read_text("        GPU0    GPU1    CPU\n"
                                            "Affinity    NUMA Affinity\n"
                                            "GPU0     X      NV1\n"
                                            "0-23,\n"
                                            "48-71      0\n"
                                            "GPU1    NV1      X\n"
                                            "24-47,72-95 1\n");
    assert_string_equal(matrix.devices.items[0].cpus, "0-23,48-71");
    assert_string_equal(matrix.devices.items[0].numa, "0");
    assert_string_equal(matrix.devices.items[1].cpus, "24-47,72-95");
    assert_string_equal(matrix.devices.items[1].numa, "1");
    cb_smi_matrix_fini(&matrix);
}

/* The edge of the terminal runs through the last cell, and the next line goes on with a number. */
static void test_last_cell_cut_in_two(void **state)
{
    (void)state;
    char buffer[16];
    struct cb_smi_matrix matrix = read_text("GPU0 GPU1 CPU Affinity NUMA Affinity\n"
                                            "GPU0 X NV1\n2 0-15 0\n"
                                            "GPU1 NV12 X 0-15 0\n");
    assert_string_equal(cell_text(&matrix, 0, 1, buffer), "NV12");
    assert_string_equal(matrix.devices.items[0].cpus, "0-15");
    assert_string_equal(matrix.devices.items[0].numa, "0");
    assert_int_equal(matrix.notes.count, 0);
    cb_smi_matrix_fini(&matrix);
}

/* ---- affinities ---- */

struct affinity_case {
    const char *header, *row;
    const char *cpus, *numa;
    int gpu_numa;
};

static void test_affinities(void **state)
{
    (void)state;
#define ALL "    CPU Affinity    NUMA Affinity   GPU NUMA ID"
    static const struct affinity_case cases[] = {
        {ALL, "    0-71            0,3-9,11-17     2", "0-71", "0,3-9,11-17", 2},
        {ALL, "    0-187           0-1             N/A", "0-187", "0-1", -1},
        {ALL, "    0-31,64-95      N/A             N/A", "0-31,64-95", "", -1},
        /* No CPUs, and a node one tab further left than its heading. */
        {ALL, "            0               N/A", "", "0", -1},
        {ALL, "    N/A     0               N/A", "", "0", -1},
        {"    CPU Affinity    NUMA", "    0-31            1", "0-31", "1", -1},
        {"    NUMA Affinity", "    1", "", "1", -1},
        {"    CPU_Affinity    NUMA_Affinity", "    0-3     1", "0-3", "1", -1},
        {"    CPUAffinity NUMAAffinity", " 0-3 1", "0-3", "1", -1},
        {" Affinity", " 0-3", "0-3", "", -1},
        {"", " 0-3 1", "", "", -1},
        /* The node right behind the CPUs: the threads of the cores are as many as the cores. */
        {ALL, "    0-45,92-1370                    N/A", "0-45,92-137", "0", -1},
        {ALL, "    0-15,128-14312                  N/A", "0-15,128-143", "12", -1},
        /* Without anything to tell by, nothing is made up. */
        {ALL, "    0-630                           N/A", "0-630", "", -1},
    };
#undef ALL
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[512];
        snprintf(text, sizeof(text), "        GPU0%s\nGPU0     X  %s\n", cases[i].header,
                 cases[i].row);
        struct cb_smi_matrix matrix = read_text(text);
        const struct cb_smi_device *device = &matrix.devices.items[0];
        assert_string_equal(device->cpus, cases[i].cpus);
        assert_string_equal(device->numa, cases[i].numa);
        assert_int_equal(device->gpu_numa, cases[i].gpu_numa);
        cb_smi_matrix_fini(&matrix);
    }
}

/* A glued list that has one range is told by the other rows: it would reach into theirs. */
static void test_glued_by_other_rows(void **state)
{
    (void)state;
    struct cb_smi_matrix matrix =
        read_text("\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
                  "GPU0\t X \tSYS\t0-630\t\t\t\tN/A\n"
                  "GPU1\tSYS\t X \t64-127\t1\t\tN/A\n");
    assert_string_equal(matrix.devices.items[0].cpus, "0-63");
    assert_string_equal(matrix.devices.items[0].numa, "0");
    assert_string_equal(matrix.devices.items[1].cpus, "64-127");
    cb_smi_matrix_fini(&matrix);
}

/* ---- what stands around ---- */

static void test_whether_nvlink_shows(void **state)
{
    (void)state;
    static const char body[] = "\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n";
    static const struct {
        const char *before, *after;
        enum cb_smi_shown shown;
    } cases[] = {
        {"", "", CB_SMI_CANNOT_TELL},
        {"$ nvidia-smi topo -m\n", "", CB_SMI_SHOWN},
        {"$ nvidia-smi topo -mp\n", "", CB_SMI_HIDDEN},
        {"$ nvidia-smi topo --matrix_pci\n", "", CB_SMI_HIDDEN},
        {"$ nvidia-smi topo -mp\n$ nvidia-smi topo --matrix\n", "", CB_SMI_SHOWN},
        {"", "Legend:\n\n  X    = Self\n  PHB  = over a host bridge\n  NV#  = # NVLinks\n",
         CB_SMI_SHOWN},
        {"", "Legend:\n\n  X    = Self\n  PHB  = over a host bridge\n", CB_SMI_HIDDEN},
        {"", "$ nvidia-smi topo -mp\n", CB_SMI_CANNOT_TELL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[512];
        snprintf(text, sizeof(text), "%s%s%s", cases[i].before, body, cases[i].after);
        struct cb_smi_matrix matrix = read_text(text);
        assert_int_equal(matrix.nvlink, cases[i].shown);
        cb_smi_matrix_fini(&matrix);
    }
}

static void test_models(void **state)
{
    (void)state;
    struct cb_smi_matrix matrix = read_text(
        "GPU models and configuration:\n"
        "GPU 0,2-3: NVIDIA A100-SXM4-80GB\n"
        "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-0)\n"
        "GPU 1: NVIDIA L4 (UUID: GPU-1)\n"
        "|   4  Tesla V100-SXM2-32GB           On  | 00000000:18:00.0 Off |                    0 "
        "|\n"
        "GPU 0:     -      56.50\n"
        "\tGPU0\tGPU1\tGPU4\nGPU0\t X \tPHB\tSYS\nGPU1\tPHB\t X \tSYS\nGPU4\tSYS\tSYS\t X \n");
    assert_string_equal(matrix.devices.items[0].model, "NVIDIA A100-SXM4-80GB");
    assert_string_equal(matrix.devices.items[1].model, "NVIDIA H100 80GB HBM3");
    assert_string_equal(matrix.devices.items[2].model, "Tesla V100-SXM2-32GB");
    assert_string_equal(matrix.devices.items[2].bus_id, "00000000:18:00.0");
    cb_smi_matrix_fini(&matrix);
}

/* Columns by number, rows by name. */
static void test_rows_named_otherwise_than_columns(void **state)
{
    (void)state;
    char buffer[16];
    struct cb_smi_matrix matrix = read_text("GPU0 GPU1 NIC0\n"
                                            "GPU0 X NV2 PIX\n"
                                            "GPU1 NV2 X PXB\n"
                                            "mlx5_7 PIX PXB X\n"
                                            "NIC Legend:\n"
                                            "NIC0: mlx5_7\n");
    assert_int_equal(matrix.devices.count, 3);
    assert_string_equal(cell_text(&matrix, 2, 1, buffer), "PXB");
    assert_int_equal(matrix.devices.items[2].row_line, 4);
    cb_smi_matrix_fini(&matrix);
}

/* A guide that shows eight of sixteen columns. */
static void test_rows_without_columns(void **state)
{
    (void)state;
    char buffer[16];
    struct cb_smi_matrix matrix = read_text("GPU0 GPU1\n"
                                            "GPU0 X PIX\n"
                                            "GPU1 PIX X\n"
                                            "GPU2 SYS SYS\n"
                                            "mlx5_0 PIX PXB\n");
    assert_int_equal(matrix.devices.count, 4);
    assert_int_equal(matrix.devices.items[2].gpu, 2);
    assert_string_equal(cell_text(&matrix, 3, 1, buffer), "PXB");
    assert_string_equal(cell_text(&matrix, 2, 3, buffer), "nothing");
    assert_int_equal(matrix.notes.count, 1);
    assert_int_equal(matrix.notes.items[0].kind, CB_SMI_NOTE_NO_COLUMN);
    assert_int_equal(matrix.notes.items[0].line, 4);
    cb_smi_matrix_fini(&matrix);
}

static void test_several_matrices(void **state)
{
    (void)state;
    char buffer[16];
    struct cb_smi_matrix matrix = read_text("node1:\n"
                                            "\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n\n"
                                            "Legend:\n\n  NV#  = bonded NVLinks\n"
                                            "  PIX  = one bridge\n\n"
                                            "node2:\n"
                                            "\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSYS\t X \n");
    assert_string_equal(cell_text(&matrix, 0, 1, buffer), "PIX");
    assert_int_equal(matrix.notes.count, 1);
    assert_int_equal(matrix.notes.items[0].kind, CB_SMI_NOTE_OTHER_MATRIX);
    assert_int_equal(matrix.notes.items[0].line, 12);
    cb_smi_matrix_fini(&matrix);
}

/* What topo -p2p prints looks alike and says something else: neither first nor another. */
static void test_peer_matrices_are_passed_over(void **state)
{
    (void)state;
#define PEERS "\tGPU0\tGPU1\t\n GPU0\tX\tOK\t\n GPU1\tOK\tX\t\n"
#define PATHS "\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n"
    static const char *const texts[] = {PEERS PATHS, PATHS PEERS, PATHS "Legend:\n" PEERS};
    char buffer[16];
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct cb_smi_matrix matrix = read_text(texts[i]);
        assert_string_equal(cell_text(&matrix, 0, 1, buffer), "PIX");
        assert_int_equal(matrix.notes.count, 0);
        cb_smi_matrix_fini(&matrix);
    }
#undef PEERS
#undef PATHS
}

/* ---- matrices that lack something ---- */

static void test_cut_below(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int line, a, b;
    } cases[] = {
        /* GPUs and NICs missing, a NIC missing, a row broken off. */
        {"\tGPU0\tGPU1\tGPU2\tNIC0\nGPU0\t X \tPIX\tSYS\tPIX\n", 2, 1, 2},
        {"\tGPU0\tNIC0\tNIC1\nGPU0\t X \tPIX\tSYS\nNIC0\tPIX\t X \tSYS\n", 3, 2, 2},
        {"\tGPU0\tGPU1\tGPU2\nGPU0\t X \tPIX\tSYS\nGPU1\tPIX\t X \tSYS\nGPU2\tSYS", 4, 2, 2},
        {"\tGPU0\tGPU1\tGPU2\nGPU0\t X \tPIX\tSYS\nGPU1\tPIX\t X", 3, 1, 2},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct cb_smi_matrix matrix = read_text(cases[i].text);
        assert_int_equal(matrix.notes.count, 1);
        assert_int_equal(matrix.notes.items[0].kind, CB_SMI_NOTE_CUT);
        assert_int_equal(matrix.notes.items[0].line, cases[i].line);
        assert_int_equal(matrix.notes.items[0].a, cases[i].a);
        assert_int_equal(matrix.notes.items[0].b, cases[i].b);
        cb_smi_matrix_fini(&matrix);
    }
}

static void test_contradiction(void **state)
{
    (void)state;
    struct cb_smi_matrix matrix =
        read_text("\tGPU0\tGPU1\tNIC0\nGPU0\t X \tNV4\tPIX\nGPU1\tNV2\t X \tSYS\n"
                  "NIC0\tPHB\tSYS\t X \n");
    assert_int_equal(matrix.notes.count, 2);
    const struct cb_smi_note *note = &matrix.notes.items[0];
    assert_int_equal(note->kind, CB_SMI_NOTE_CONTRADICTION);
    assert_int_equal(note->line, 3);
    assert_int_equal(note->there.nvlinks, 4);
    assert_int_equal(note->back.nvlinks, 2);
    assert_int_equal(matrix.notes.items[1].line, 4);
    cb_smi_matrix_fini(&matrix);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "it:1: no matrix of nvidia-smi topo"},
        {"GPU0 GPU1\n", "no matrix of nvidia-smi topo in 1 line:"},
        {"all GPUs: GPU0, GPU1\nare fine\n", "no matrix of nvidia-smi topo in 2 lines"},
        {"\tGPU0\tGPU1\nGPU0\tX\tOK\nGPU1\tOK\tX\n", "it:1: this is a peer-to-peer matrix"},
        {"GPU0\tX\tPIX\nGPU1\tPIX\tX\n", "no header of GPUs with a row below it"},
        {"\tGPU0\tGPU1\tGPU2\nGPU0\tX\tPIX\tSYS\nGPU2\tSYS\tSYS\tX\n",
         "it:3: the row of GPU1 is missing: the row of GPU2 stands where it should"},
        {"\tGPU0\tGPU1\tNIC0\nGPU0\tX\tPIX\tSYS\nNIC0\tSYS\tSYS\tX\n",
         "it:3: the row of GPU1 is missing"},
        {"\tGPU0\tGPU1\nGPU1\tPIX\tX\n", "it:2: the row of GPU0 is missing"},
        {"\tGPU0\tGPU1\tGPU2\nGPU0\tX\tPIX\nGPU1\tPIX\tX\tSYS\nGPU2\tSYS\tSYS\tX\n",
         "it:2: the row of GPU0 has 2 cells, and there are 3 columns"},
        {"\tGPU0\tGPU1\nGPU0\tX\tPIX\tSYS\nGPU1\tPIX\tX\n",
         "it:2: the row of GPU0 has more cells than the 2 columns of line 1"},
        {"\tGPU0\tGPU1\nGPU0\tX\tPIX\nGPU0\tX\tPIX\n",
         "it:3: the row of GPU0 stands here and on line 2"},
        {"\tGPU0\tGPU1\r\nGPU0\tX\tPIX\r\nGPU0\tX\tPIX\r\n",
         "it:3: the row of GPU0 stands here and on line 2"},
        {"\tGPU0\tGPU1\nGPU0\tPIX\tX\nGPU1\tPIX\tX\n", "it:2: GPU0 has no X in its own column"},
        {"\tGPU0\tGPU1\tGPU2\nGPU0\tX\tPIX\tX\nGPU1\tPIX\tX\tSYS\nGPU2\tSYS\tSYS\tX\n",
         "it:2: the X of GPU0 stands in the column of GPU2"},
        {"\tGPU0\tGPU1\tGPU2\nGPU0\tX\tPIX\tFAST\nGPU1\tPIX\tX\tSYS\n",
         "it:2: 'FAST' stands where the row of GPU0 has a distance (2 of 3 cells)"},
        {"\tGPU0\tGPU1\tGPU2\nGPU0\tX\tPIX\tNV0\nGPU1\tPIX\tX\tNV0\n", "it:2: 'NV0' stands where"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct cb_smi_matrix matrix = {.header_line = 77};
        struct cb_error err;
        assert_int_equal(
            cb_smi_matrix_read("it", cases[i].text, strlen(cases[i].text), &matrix, &err),
            CB_E_INPUT);
        if (!strstr(err.what, cases[i].message))
            print_error("case %zu: got '%s'\n", i, err.what);
        assert_non_null(strstr(err.what, cases[i].message));
        assert_int_equal(strncmp(err.what, "it:", 3), 0);
        assert_int_equal(matrix.header_line, 77);
    }
}

static void test_too_many_devices(void **state)
{
    (void)state;
    struct cb_strbuf text = {0};
    struct cb_smi_matrix matrix = {.cells = NULL};
    struct cb_error err;
    for (int i = 0; i <= CB_SMI_DEVICES; i++)
        cb_strbuf_addf(&text, "GPU%d ", i);
    cb_strbuf_add(&text, "\nGPU0 X PIX\n");
    assert_int_equal(cb_smi_matrix_read("it", text.text, text.length_bytes, &matrix, &err),
                     CB_E_INPUT);
    assert_non_null(strstr(err.what, "it:1: more than"));
    cb_strbuf_fini(&text);
}

static void test_is_there(void **state)
{
    (void)state;
    static const char matrix[] = "x\n\tGPU0\tGPU1\nGPU0\tX\tPIX\nGPU1\tPIX\tX\n";
    static const char peers[] = "\tGPU0\tGPU1\nGPU0\tX\tOK\nGPU1\tOK\tX\n";
    static const char prose[] = "GPU0 GPU1 are slow\nas is GPU0 X\n<xml/>\n";
    assert_true(cb_smi_matrix_is_there(matrix, strlen(matrix)));
    assert_true(cb_smi_matrix_is_there(peers, strlen(peers)));
    assert_false(cb_smi_matrix_is_there(prose, strlen(prose)));
    assert_false(cb_smi_matrix_is_there("", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_spacing_and_column),
        cmocka_unit_test(test_traces_of_terminals_and_trackers),
        cmocka_unit_test(test_text_around),
        cmocka_unit_test(test_markdown_table),
        cmocka_unit_test(test_utf16),
        cmocka_unit_test(test_wrapped_at_every_width),
        cmocka_unit_test(test_wrapped_between_words),
        cmocka_unit_test(test_last_cell_cut_in_two),
        cmocka_unit_test(test_affinities),
        cmocka_unit_test(test_glued_by_other_rows),
        cmocka_unit_test(test_whether_nvlink_shows),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_rows_named_otherwise_than_columns),
        cmocka_unit_test(test_rows_without_columns),
        cmocka_unit_test(test_several_matrices),
        cmocka_unit_test(test_peer_matrices_are_passed_over),
        cmocka_unit_test(test_cut_below),
        cmocka_unit_test(test_contradiction),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_too_many_devices),
        cmocka_unit_test(test_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The map as one picture: NVLinks above, GPUs, PCIe switches, NICs, and the NUMA nodes below. Lines
 * are drawn before what they connect, so that they end at its edge. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/topology_layout.h"

enum {
    GPU_LIMIT = 32, /* more would not be read */
    NIC_LIMIT = 64,
    MARGIN = 24,
    SLOT = 158, /* an endpoint and the gap beside it */
    BOX = 144,
    BOX_HEIGHT = 58,
    GROUP_GAP = 30, /* holds the line from a switch to the CPU */
    NODE_PAD = 16,
    NODE_GAP = 64, /* holds the link between NUMA nodes */
    TITLE = 64,
    FABRIC = 84,     /* a NVSwitch and its lines */
    ARCS = 150,      /* NVLinks of their own */
    SWITCH_GAP = 42, /* between a switch and what hangs on it */
    SWITCH_HEIGHT = 28,
    NIC_GAP = 16,
    CPU_GAP = 34,
    CPU_HEIGHT = 34,
    LINE = 18,
    LABELLED_ARCS = 12, /* of more, the legend tells which color is which link */
    COLORS = 6,
    CHARACTER = 8, /* width of one, about */
    SMALL_CHARACTER = 6,
};

static const char *const colors[COLORS] = {"#4d7c0f", "#b45309", "#0e7490",
                                           "#7e22ce", "#be123c", "#475569"};

/* Links that look the same. */
struct look {
    char label[64];
    int count;
};

struct drawing {
    const struct cb_topology *topology;
    const struct cb_map *map;
    struct cb_strbuf *out;
    struct cb_topology_layout layout;
    int *centers; /* x of each device drawn, -1: it is not */
    struct look looks[COLORS];
    int look_count, arc_count;
    bool has_fabric; /* a NVSwitch */
    int gpu_top, switch_top, nic_top, nic_rows, cpu_top, bottom;
    int width;
};

/* ---- text ---- */

/* What XML reads as its own is spelled out; the rest of a map is printable ASCII already. */
static void add_escaped(struct cb_strbuf *out, const char *text, size_t at_most)
{
    size_t length = strlen(text);
    size_t shown = length > at_most && at_most > 3 ? at_most - 3 : length;
    for (size_t i = 0; i < shown; i++) {
        char c = text[i];
        const char *word = c == '&'   ? "&amp;"
                           : c == '<' ? "&lt;"
                           : c == '>' ? "&gt;"
                           : c == '"' ? "&quot;"
                                      : NULL;
        if (word)
            cb_strbuf_add(out, word);
        else
            cb_strbuf_addf(out, "%c", c >= ' ' && c <= '~' ? c : '?');
    }
    if (shown < length)
        cb_strbuf_add(out, "...");
}

/* One line of text in a style of the sheet below, cut to so many columns of pixels. */
static void add_text(struct cb_strbuf *out, int x, int y, int width, const char *style,
                     const char *text)
{
    if (!text[0])
        return;
    cb_strbuf_addf(out, "<text x=\"%d\" y=\"%d\" class=\"%s\">", x, y, style);
    bool is_small = strstr(style, " s") || strstr(style, " x");
    add_escaped(out, text, (size_t)(width / (is_small ? SMALL_CHARACTER : CHARACTER)));
    cb_strbuf_add(out, "</text>\n");
}

static void add_line(struct cb_strbuf *out, int x1, int y1, int x2, int y2, const char *style)
{
    cb_strbuf_addf(out, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" class=\"%s\"/>\n", x1, y1,
                   x2, y2, style);
}

static void add_box(struct cb_strbuf *out, int x, int y, int width, int height, const char *style)
{
    cb_strbuf_addf(out,
                   "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\" "
                   "class=\"%s\"/>\n",
                   x, y, width, height, style);
}

static const struct cb_map_device *device_of(const struct drawing *drawing, int device)
{
    return &drawing->map->devices.items[device];
}

/* ---- where things are ---- */

static int nic_columns(const struct cb_topology_group *group)
{
    int nics = group->count - group->gpu_count;
    int columns = nics < 4 ? nics : 4;
    return columns > group->gpu_count ? columns : group->gpu_count;
}

static int group_columns(const struct cb_topology_group *group)
{
    int columns = nic_columns(group);
    return columns > 0 ? columns : 1;
}

static int node_width(const struct drawing *drawing, const struct cb_topology_node *node)
{
    int width = 2 * NODE_PAD - GROUP_GAP;
    for (int i = 0; i < node->count; i++)
        width += group_columns(&drawing->layout.groups.items[node->first + i]) * SLOT + GROUP_GAP;
    return width;
}

static int count_rows(const struct drawing *drawing)
{
    int rows = 0;
    for (size_t i = 0; i < drawing->layout.groups.count; i++) {
        const struct cb_topology_group *group = &drawing->layout.groups.items[i];
        int nics = group->count - group->gpu_count;
        int its = nics > 0 ? (nics + nic_columns(group) - 1) / nic_columns(group) : 0;
        rows = its > rows ? its : rows;
    }
    return rows;
}

/* ---- links between GPUs ---- */

static bool is_fabric(enum cb_map_link_kind kind)
{
    return kind == CB_MAP_LINK_NVSWITCH;
}

static bool is_arc(enum cb_map_link_kind kind)
{
    return kind == CB_MAP_LINK_NVLINK || kind == CB_MAP_LINK_XGMI || kind == CB_MAP_LINK_C2C;
}

/* "NV4, 100 GB/s". */
static void name_link(const struct drawing *drawing, int a, int b, const struct cb_map_path *path,
                      char *label, size_t size_bytes)
{
    char buffer[16], rate[CB_UNIT_TEXT];
    snprintf(label, size_bytes, "%s", cb_topology_path(drawing->map, a, b, buffer));
    size_t used = strlen(label);
    if (path->bytes_per_s_one_way > 0)
        snprintf(label + used, size_bytes - used, ", %s",
                 cb_format_bandwidth(rate, path->bytes_per_s_one_way));
}

/* The color of links of that label; the last one serves for all that are left. */
static int find_look(struct drawing *drawing, const char *label)
{
    int i = 0;
    while (i < drawing->look_count && strcmp(drawing->looks[i].label, label) != 0)
        i++;
    if (i == COLORS)
        i--;
    if (i == drawing->look_count)
        snprintf(drawing->looks[drawing->look_count++].label, sizeof(drawing->looks[0].label), "%s",
                 label);
    return i;
}

/* Calls back for each pair of GPUs that are drawn. */
static void for_each_pair(struct drawing *drawing,
                          void (*call)(struct drawing *, int a, int b, const struct cb_map_path *))
{
    const struct cb_map *map = drawing->map;
    for (size_t i = 0; i < map->gpus.count && i < GPU_LIMIT; i++)
        for (size_t k = i + 1; k < map->gpus.count && k < GPU_LIMIT; k++) {
            struct cb_map_path path;
            cb_map_path(map, map->gpus.items[i], map->gpus.items[k], &path);
            call(drawing, map->gpus.items[i], map->gpus.items[k], &path);
        }
}

static void count_link(struct drawing *drawing, int a, int b, const struct cb_map_path *path)
{
    char label[64];
    drawing->has_fabric |= is_fabric(path->kind);
    if (!is_arc(path->kind))
        return;
    name_link(drawing, a, b, path, label, sizeof(label));
    drawing->looks[find_look(drawing, label)].count++;
    drawing->arc_count++;
}

/* From the top of a GPU over the others to the other one's; the further, the higher. */
static void draw_arc(struct drawing *drawing, int a, int b, const struct cb_map_path *path)
{
    char label[64];
    if (!is_arc(path->kind))
        return;
    name_link(drawing, a, b, path, label, sizeof(label));
    int left = drawing->centers[a], right = drawing->centers[b];
    int height = 40 + (right > left ? right - left : left - right) / 8;
    height = height > ARCS - 24 ? ARCS - 24 : height;
    int peak = drawing->gpu_top - height;
    cb_strbuf_addf(drawing->out,
                   "<path d=\"M%d %dC%d %d %d %d %d %d\" class=\"nv\" stroke=\"%s\"/>\n", left,
                   drawing->gpu_top, left, peak, right, peak, right, drawing->gpu_top,
                   colors[find_look(drawing, label)]);
    /* A curve of this kind comes three quarters of the way to its control points. */
    if (drawing->arc_count <= LABELLED_ARCS)
        add_text(drawing->out, (left + right) / 2, drawing->gpu_top - height * 3 / 4 - 4, SLOT * 2,
                 "t s m a", label);
}

/* ---- what hangs where ---- */

static void draw_endpoint(struct drawing *drawing, int device, int y)
{
    const struct cb_map_device *shown = device_of(drawing, device);
    char buffer[48], port[64] = "";
    bool is_gpu = shown->kind == CB_DEVICE_GPU;
    int x = drawing->centers[device] - BOX / 2, middle = drawing->centers[device];
    if (!is_gpu)
        cb_topology_describe_port(shown, port, sizeof(port));
    add_box(drawing->out, x, y, BOX, BOX_HEIGHT,
            is_gpu                  ? "gpu"
            : shown->up == CB_UP_NO ? "nic down"
                                    : "nic");
    static const char maker[] = "NVIDIA "; /* goes without saying */
    bool has_maker = strncmp(shown->model, maker, strlen(maker)) == 0;
    const char *model = shown->model + (has_maker ? strlen(maker) : 0);
    const char *lines[] = {is_gpu ? model : port, shown->name[0] ? shown->bus_id : ""};
    int line_count = !!lines[0][0] + !!lines[1][0];
    int line = y + BOX_HEIGHT / 2 + 5 - line_count * 8;
    add_text(drawing->out, middle, line, BOX - 4, "t b m",
             cb_topology_name(drawing->map, device, buffer));
    for (int i = 0; i < 2; i++)
        if (lines[i][0])
            add_text(drawing->out, middle, line += 16, BOX - 4, "t s m", lines[i]);
}

/* The rate of a device's own PCIe link, beside the line that stands for it. */
static void label_uplink(struct drawing *drawing, int device, int x, int y)
{
    const struct cb_map_pcie *pcie = &device_of(drawing, device)->pcie;
    double rate = cb_map_uplink_bytes_per_s(drawing->map, device);
    int generation = cb_pcie_generation(pcie->transfers_per_s);
    char label[64], text[CB_UNIT_TEXT];
    if (rate <= 0)
        return;
    if (generation > 0)
        snprintf(label, sizeof(label), "%d x%d", generation, pcie->lanes);
    else
        snprintf(label, sizeof(label), "PCIe");
    add_text(drawing->out, x + 5, y, SLOT / 2, "t x", label);
    add_text(drawing->out, x + 5, y + 12, SLOT / 2, "t x", cb_format_bandwidth(text, rate));
}

static int nic_top_of(const struct drawing *drawing, const struct cb_topology_group *group, int i)
{
    int row = (i - group->gpu_count) / nic_columns(group);
    return drawing->nic_top + row * (BOX_HEIGHT + NIC_GAP);
}

/* An endpoint's line to its switch, or past where switches are to the CPU. */
static void draw_uplink(struct drawing *drawing, const struct cb_topology_group *group, int i)
{
    int device = drawing->layout.members.items[group->first + i];
    int x = drawing->centers[device];
    bool is_gpu = i < group->gpu_count;
    int edge = is_gpu ? drawing->gpu_top + BOX_HEIGHT : nic_top_of(drawing, group, i);
    int to =
        group->is_switch ? drawing->switch_top + (is_gpu ? 0 : SWITCH_HEIGHT) : drawing->cpu_top;
    add_line(drawing->out, x, edge, x, to, "pcie");
    if (is_gpu)
        label_uplink(drawing, device, x, edge + 15);
    else if (!group->is_switch)
        label_uplink(drawing, device, x, drawing->cpu_top - 20);
    else if (i - group->gpu_count < nic_columns(group))
        label_uplink(drawing, device, x, edge - 20);
}

static void draw_group(struct drawing *drawing, const struct cb_topology_group *group, int x)
{
    int width = group_columns(group) * SLOT - (SLOT - BOX);
    for (int i = 0; i < group->count; i++)
        draw_uplink(drawing, group, i);
    if (group->is_switch) {
        int up = x + width + GROUP_GAP / 2;
        int middle = drawing->switch_top + SWITCH_HEIGHT / 2;
        add_line(drawing->out, x + width, middle, up, middle, "pcie");
        add_line(drawing->out, up, middle, up, drawing->cpu_top, "pcie");
        add_box(drawing->out, x, drawing->switch_top, width, SWITCH_HEIGHT, "switch");
        add_text(drawing->out, x + width / 2, middle + 5, width, "t m",
                 group->is_nested ? "PCIe switches" : "PCIe switch");
    }
    for (int i = 0; i < group->count; i++)
        draw_endpoint(drawing, drawing->layout.members.items[group->first + i],
                      i < group->gpu_count ? drawing->gpu_top : nic_top_of(drawing, group, i));
}

static void draw_node(struct drawing *drawing, const struct cb_topology_node *node, int x)
{
    int width = node_width(drawing, node), at = x + NODE_PAD;
    char label[160];
    add_box(drawing->out, x, drawing->gpu_top - NODE_PAD, width,
            drawing->cpu_top + CPU_HEIGHT - drawing->gpu_top + 2 * NODE_PAD, "node");
    for (int i = 0; i < node->count; i++) {
        const struct cb_topology_group *group = &drawing->layout.groups.items[node->first + i];
        draw_group(drawing, group, at);
        at += group_columns(group) * SLOT + GROUP_GAP;
    }
    cb_topology_name_node(&drawing->layout, node, label, sizeof(label));
    add_box(drawing->out, x + NODE_PAD, drawing->cpu_top, width - 2 * NODE_PAD, CPU_HEIGHT,
            node->numa < 0 && !node->cpus[0] ? "cpu unknown" : "cpu");
    add_text(drawing->out, x + width / 2, drawing->cpu_top + 22, width - 2 * NODE_PAD, "t m",
             label);
}

/* Places every device of a node: GPUs from the left, NICs in rows below. */
static void place_node(struct drawing *drawing, const struct cb_topology_node *node, int x)
{
    int at = x + NODE_PAD;
    for (int i = 0; i < node->count; i++) {
        const struct cb_topology_group *group = &drawing->layout.groups.items[node->first + i];
        for (int k = 0; k < group->count; k++) {
            int column = k < group->gpu_count ? k : (k - group->gpu_count) % nic_columns(group);
            drawing->centers[drawing->layout.members.items[group->first + k]] =
                at + column * SLOT + BOX / 2;
        }
        at += group_columns(group) * SLOT + GROUP_GAP;
    }
}

/* ---- above and below ---- */

/* What a GPU has to the switch: the most that it has with any other. */
static void name_fabric_link(const struct drawing *drawing, int gpu, char *label, size_t size_bytes)
{
    const struct cb_map *map = drawing->map;
    struct cb_map_path path;
    int most = 0;
    label[0] = '\0';
    for (size_t i = 0; i < map->gpus.count; i++) {
        if (map->gpus.items[i] == gpu)
            continue;
        cb_map_path(map, gpu, map->gpus.items[i], &path);
        if (!is_fabric(path.kind) || path.count <= most)
            continue;
        most = path.count;
        name_link(drawing, gpu, map->gpus.items[i], &path, label, size_bytes);
    }
}

static void draw_fabric(struct drawing *drawing)
{
    int left = drawing->width, right = 0, top = drawing->gpu_top - NODE_PAD - FABRIC;
    char label[64];
    if (!drawing->has_fabric)
        return;
    for (size_t i = 0; i < drawing->map->gpus.count && i < GPU_LIMIT; i++) {
        int gpu = drawing->map->gpus.items[i], x = drawing->centers[gpu];
        name_fabric_link(drawing, gpu, label, sizeof(label));
        if (!label[0])
            continue;
        left = x < left ? x : left;
        right = x > right ? x : right;
        cb_strbuf_addf(drawing->out, "<path d=\"M%d %dV%d\" class=\"nv\" stroke=\"%s\"/>\n", x,
                       top + SWITCH_HEIGHT, drawing->gpu_top, colors[0]);
        add_text(drawing->out, x + 6, top + SWITCH_HEIGHT + 24, SLOT, "t x", label);
    }
    add_box(drawing->out, left - BOX / 2, top, right - left + BOX, SWITCH_HEIGHT, "fabric");
    add_text(drawing->out, (left + right) / 2, top + 19, right - left + BOX, "t m", "NVSwitch");
}

static void draw_title(struct drawing *drawing)
{
    const struct cb_map *map = drawing->map;
    char counts[160];
    snprintf(counts, sizeof(counts), "%zu GPU%s, %zu NIC%s; rates are nominal, one way",
             map->gpus.count, map->gpus.count == 1 ? "" : "s", map->nics.count,
             map->nics.count == 1 ? "" : "s");
    size_t used = strlen(counts);
    if (drawing->layout.gpus_left_out + drawing->layout.nics_left_out > 0)
        snprintf(counts + used, sizeof(counts) - used, "; %d GPUs and %d NICs are not drawn",
                 drawing->layout.gpus_left_out, drawing->layout.nics_left_out);
    add_text(drawing->out, MARGIN, 30, drawing->width - 2 * MARGIN, "t h",
             drawing->topology->origin);
    add_text(drawing->out, MARGIN, 50, drawing->width - 2 * MARGIN, "t s", counts);
}

/* The link between neighbouring NUMA nodes of one machine. */
static void draw_between(struct drawing *drawing, size_t node, int x)
{
    const struct cb_topology_node *nodes = drawing->layout.nodes.items;
    int y = drawing->cpu_top + CPU_HEIGHT / 2;
    if (node == 0 || nodes[node].host != nodes[node - 1].host ||
        (nodes[node].numa < 0 && !nodes[node].cpus[0]))
        return;
    add_line(drawing->out, x - NODE_GAP - NODE_PAD, y, x + NODE_PAD, y, "sys");
    add_text(drawing->out, x - NODE_GAP / 2, y - 8, NODE_GAP, "t s m", "SYS");
}

static int draw_legend(struct drawing *drawing, int y)
{
    for (int i = 0; i < drawing->look_count; i++) {
        char label[128];
        snprintf(label, sizeof(label), "%s (%d pair%s)", drawing->looks[i].label,
                 drawing->looks[i].count, drawing->looks[i].count == 1 ? "" : "s");
        cb_strbuf_addf(drawing->out, "<path d=\"M%d %dh36\" class=\"nv\" stroke=\"%s\"/>\n", MARGIN,
                       y - 5, colors[i]);
        add_text(drawing->out, MARGIN + 46, y, drawing->width - 2 * MARGIN - 46, "t s", label);
        y += LINE;
    }
    return y;
}

static int draw_findings(struct drawing *drawing, int y)
{
    static const char *const styles[] = {[CB_SEVERITY_INFO] = "t s",
                                         [CB_SEVERITY_WARNING] = "t s warning",
                                         [CB_SEVERITY_ERROR] = "t s error"};
    for (size_t i = 0; i < drawing->topology->finding_count; i++) {
        const struct cb_finding *finding = &drawing->topology->findings[i];
        char line[sizeof(finding->seen) + 64];
        snprintf(line, sizeof(line), "%s: %s: %s", cb_severity_name(finding->severity),
                 finding->code, finding->seen);
        add_text(drawing->out, MARGIN, y, drawing->width - 2 * MARGIN, styles[finding->severity],
                 line);
        y += LINE;
    }
    return y;
}

static const char sheet[] =
    "<style>.t{font:13px sans-serif;fill:#1e293b}.s{font-size:11px}.x{font-size:10px;fill:#475569}"
    ".b{font-weight:bold}.m{text-anchor:middle}.h{font-size:17px;font-weight:bold}"
    ".a{paint-order:stroke;stroke:#fff;stroke-width:4px}.warning{fill:#b45309}.error{fill:#be123c;"
    "font-weight:bold}"
    "line,path{fill:none;stroke-width:2}.nv{stroke-width:2.5}.pcie{stroke:#94a3b8}"
    ".sys{stroke:#d97706;stroke-dasharray:6 4}rect{stroke-width:1.2}"
    ".node{fill:#f8fafc;stroke:#cbd5e1}.gpu{fill:#ecfccb;stroke:#4d7c0f}"
    ".nic{fill:#dbeafe;stroke:#2563eb}.down{stroke:#be123c;stroke-dasharray:5 3}"
    ".switch{fill:#e2e8f0;stroke:#64748b}.fabric{fill:#d9f99d;stroke:#4d7c0f}"
    ".cpu{fill:#fef3c7;stroke:#d97706}.unknown{stroke-dasharray:5 3}</style>\n";

/* ---- the picture ---- */

static void measure(struct drawing *drawing)
{
    int width = 2 * MARGIN - NODE_GAP;
    for_each_pair(drawing, count_link);
    for (size_t i = 0; i < drawing->layout.nodes.count; i++)
        width += node_width(drawing, &drawing->layout.nodes.items[i]) + NODE_GAP;
    drawing->width = width < 640 ? 640 : width;
    drawing->nic_rows = count_rows(drawing);
    drawing->gpu_top = TITLE + NODE_PAD + (drawing->has_fabric ? FABRIC : 0) +
                       (drawing->arc_count > 0 ? ARCS - NODE_PAD : 0);
    drawing->switch_top = drawing->gpu_top + BOX_HEIGHT + SWITCH_GAP;
    drawing->nic_top = drawing->switch_top + SWITCH_HEIGHT + SWITCH_GAP;
    drawing->cpu_top =
        drawing->nic_top + drawing->nic_rows * (BOX_HEIGHT + NIC_GAP) - NIC_GAP + CPU_GAP;
    if (drawing->nic_rows == 0)
        drawing->cpu_top = drawing->switch_top + SWITCH_HEIGHT + CPU_GAP;
    drawing->bottom = drawing->cpu_top + CPU_HEIGHT + NODE_PAD + 3 * LINE / 2;
}

static void draw(struct drawing *drawing)
{
    int lines = drawing->look_count + (int)drawing->topology->finding_count;
    int height = drawing->bottom + lines * LINE + MARGIN / 2, x = MARGIN;
    cb_strbuf_addf(drawing->out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                   "viewBox=\"0 0 %d %d\">\n%s"
                   "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
                   drawing->width, height, drawing->width, height, sheet, drawing->width, height);
    draw_title(drawing);
    for (size_t i = 0; i < drawing->layout.nodes.count; i++) {
        const struct cb_topology_node *node = &drawing->layout.nodes.items[i];
        place_node(drawing, node, x);
        draw_node(drawing, node, x);
        draw_between(drawing, i, x);
        x += node_width(drawing, node) + NODE_GAP;
    }
    for_each_pair(drawing, draw_arc);
    draw_fabric(drawing);
    draw_findings(drawing, draw_legend(drawing, drawing->bottom));
    cb_strbuf_add(drawing->out, "</svg>\n");
}

int cb_topology_add_svg(const struct cb_topology *topology, struct cb_strbuf *out,
                        struct cb_error *err)
{
    struct drawing drawing = {.topology = topology, .map = topology->map, .out = out};
    int rc = cb_topology_layout_make(topology->map, GPU_LIMIT, NIC_LIMIT, &drawing.layout, err);
    if (rc)
        return rc;
    drawing.centers = calloc(topology->map->devices.count + 1, sizeof(*drawing.centers));
    if (drawing.centers) {
        measure(&drawing);
        draw(&drawing);
    } else {
        rc = cb_fail(err, CB_E_MEMORY, "out of memory while drawing the map");
    }
    free(drawing.centers);
    cb_topology_layout_fini(&drawing.layout);
    return rc;
}

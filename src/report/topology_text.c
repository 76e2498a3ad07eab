/* The map as text for 80 columns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/page.h"
#include "report/topology_layout.h"

#define ALL ((size_t)-1)
#define NICS_SHOWN 24 /* of one group: some machines have hundreds of virtual functions */
#define GAP_COLUMNS 2
#define NAME_COLUMNS 28 /* a longer name is cut, so that two of them and a gap fit a line */

struct text {
    struct cb_page page;
    const struct cb_topology *topology;
    const struct cb_map *map;
    struct cb_topology_layout layout;
    int name_columns; /* of the longest name */
    int gpu_columns;  /* of the longest name of a GPU */
};

/* A device's name, no longer than a column may be. */
static const char *name_of(const struct text *text, int device, char buffer[48])
{
    char whole[48];
    const char *name = cb_topology_name(text->map, device, whole);
    int tail = NAME_COLUMNS / 2 - 2; /* the number that tells devices apart is at the end */
    int length = (int)strlen(name);
    if (length <= NAME_COLUMNS)
        snprintf(buffer, 48, "%s", name);
    else
        snprintf(buffer, 48, "%.*s...%s", NAME_COLUMNS - 3 - tail, name, name + length - tail);
    return buffer;
}

static int longest_name(const struct text *text, const int *devices, size_t count)
{
    char buffer[48];
    int longest = 0;
    for (size_t i = 0; i < count; i++) {
        int columns = (int)strlen(name_of(text, devices[i], buffer));
        longest = columns > longest ? columns : longest;
    }
    return longest;
}

/* ---- the head ---- */

static void add_count(struct cb_strbuf *out, int count, const char *what)
{
    cb_strbuf_addf(out, "%s%d %s%s", out->length_bytes ? ", " : "", count, what,
                   count == 1 ? "" : "s");
}

static void add_head(struct text *text)
{
    const struct cb_map *map = text->map;
    struct cb_strbuf counts = {0};
    int nodes = 0;
    for (size_t i = 0; i < text->layout.nodes.count; i++)
        nodes += text->layout.nodes.items[i].numa >= 0;
    add_count(&counts, (int)map->gpus.count, "GPU");
    add_count(&counts, (int)map->nics.count, "NIC");
    if (nodes > 0)
        add_count(&counts, nodes, "NUMA node");
    bool is_live = map->source == CB_MAP_LIVE;
    cb_page_text(&text->page, 0, 2, "commbound topo   %s%s%s%s", text->topology->origin,
                 is_live ? "" : " (", is_live ? "" : cb_map_source_name(map->source),
                 is_live ? "" : ")");
    cb_page_text(&text->page, 2, 2, "%s%s", cb_strbuf_get(&counts),
                 map->has_tree || map->gpus.count + map->nics.count == 0
                     ? ""
                     : "; no PCI tree, paths as the source states them");
    cb_strbuf_fini(&counts);
}

/* ---- the tree ---- */

/* "|  +- GPU0     H100, 0000:18:00.0": details that do not fit hang below themselves. */
static void add_leaf(struct text *text, const char *branch, int device)
{
    char buffer[48], details[320];
    struct cb_page *page = &text->page;
    const char *name = name_of(text, device, buffer);
    cb_topology_describe(text->map, device, details, sizeof(details));
    int columns = CB_PAGE_INDENT + (int)strlen(branch) + text->name_columns + GAP_COLUMNS;
    cb_strbuf_fill(page->out, ' ', CB_PAGE_INDENT);
    if (details[0]) {
        cb_strbuf_addf(page->out, "%s%-*s%*s", branch, text->name_columns, name, GAP_COLUMNS, "");
        cb_paragraph_add(page->out, columns, columns, details);
    } else {
        cb_strbuf_addf(page->out, "%s%s\n", branch, name);
    }
}

static void add_group(struct text *text, const struct cb_topology_group *group)
{
    struct cb_page *page = &text->page;
    const char *branch = group->is_switch ? "|  +- " : "+- ";
    int shown =
        group->count - group->gpu_count > NICS_SHOWN ? group->gpu_count + NICS_SHOWN : group->count;
    if (group->is_switch)
        cb_page_text(page, CB_PAGE_INDENT, CB_PAGE_INDENT, "+- %s",
                     group->is_nested ? "PCIe switches" : "PCIe switch");
    for (int i = 0; i < shown; i++)
        add_leaf(text, branch, text->layout.members.items[group->first + i]);
    if (shown < group->count)
        cb_page_text(page, CB_PAGE_INDENT, CB_PAGE_INDENT, "%s%d NICs more", branch,
                     group->count - shown);
}

static void add_tree(struct text *text)
{
    struct cb_page *page = &text->page;
    if (text->layout.nodes.count == 0)
        return;
    cb_page_section(page, "TREE", "%s",
                    text->map->has_tree ? "" : "grouped by the paths that are stated");
    for (size_t i = 0; i < text->layout.nodes.count; i++) {
        const struct cb_topology_node *node = &text->layout.nodes.items[i];
        char name[160];
        cb_topology_name_node(&text->layout, node, name, sizeof(name));
        cb_page_text(page, CB_PAGE_INDENT, CB_PAGE_INDENT, "%s", name);
        for (int k = 0; k < node->count; k++)
            add_group(text, &text->layout.groups.items[node->first + k]);
    }
}

/* ---- nearest NICs ---- */

static int add_nearest_of(struct text *text, int gpu, int *nics)
{
    struct cb_page *page = &text->page;
    struct cb_map_nearest nearest;
    struct cb_strbuf list = {0};
    char buffer[48], rate_text[CB_UNIT_TEXT];
    bool by_pcie = false;
    cb_map_nearest_nics(text->map, gpu, nics, text->map->nics.count, &nearest);
    for (size_t i = 0; i < nearest.count; i++)
        cb_strbuf_addf(&list, "%s%s", i ? ", " : "", name_of(text, nics[i], buffer));
    double rate = nearest.count
                      ? cb_map_wire_bytes_per_s(text->map, gpu, nearest.first_of_equals, &by_pcie)
                      : 0;
    if (rate > 0)
        cb_strbuf_addf(&list, "   (%s each%s)", cb_format_bandwidth(rate_text, rate),
                       by_pcie ? ", limited by PCIe" : "");
    int columns = CB_PAGE_INDENT + text->gpu_columns + GAP_COLUMNS + 4 + GAP_COLUMNS;
    cb_strbuf_fill(page->out, ' ', CB_PAGE_INDENT);
    cb_strbuf_addf(page->out, "%-*s%*s%-4s%*s", text->gpu_columns, name_of(text, gpu, buffer),
                   GAP_COLUMNS, "", nearest.count ? cb_path_class_name(nearest.path_class) : "-",
                   GAP_COLUMNS, "");
    cb_paragraph_add(page->out, columns, columns,
                     nearest.count ? cb_strbuf_get(&list) : "not known");
    page->out->failed |= list.failed;
    cb_strbuf_fini(&list);
    return 0;
}

static int add_nearest(struct text *text, struct cb_error *err)
{
    const struct cb_map *map = text->map;
    if (map->gpus.count == 0 || map->nics.count == 0)
        return 0;
    int *nics = malloc(map->nics.count * sizeof(*nics));
    if (!nics)
        return cb_fail(err, CB_E_MEMORY, "out of memory while writing the map");
    cb_page_section(&text->page, "NEAREST NICS", "ties are listed whole");
    for (size_t i = 0; i < map->gpus.count; i++)
        add_nearest_of(text, map->gpus.items[i], nics);
    free(nics);
    return 0;
}

/* ---- matrices ---- */

/* The width of a column: its heading or its widest cell. */
static int column_width(const struct text *text, const int *rows, size_t row_count, int column)
{
    char buffer[48], path[16];
    size_t width = strlen(name_of(text, column, buffer));
    for (size_t i = 0; i < row_count; i++) {
        size_t length = strlen(cb_topology_path(text->map, rows[i], column, path));
        width = length > width ? length : width;
    }
    return (int)width;
}

static void add_matrix_line(struct text *text, const char *label, const int *columns,
                            const int *widths, size_t count, int row)
{
    char buffer[48], path[16];
    struct cb_strbuf line = {0};
    cb_strbuf_addf(&line, "%-*s", text->gpu_columns, label);
    for (size_t i = 0; i < count; i++) {
        bool is_last = i + 1 == count;
        const char *cell = row < 0 ? name_of(text, columns[i], buffer)
                                   : cb_topology_path(text->map, row, columns[i], path);
        cb_strbuf_addf(&line, "%*s%-*s", GAP_COLUMNS, "", is_last ? 0 : widths[i], cell);
    }
    cb_strbuf_fill(text->page.out, ' ', CB_PAGE_INDENT);
    cb_strbuf_addf(text->page.out, "%s\n", cb_strbuf_get(&line));
    text->page.out->failed |= line.failed;
    cb_strbuf_fini(&line);
}

/* The columns in groups that fit the page. */
static int add_matrix(struct text *text, const char *heading, const int *rows, size_t row_count,
                      const int *columns, size_t column_count, struct cb_error *err)
{
    char buffer[48];
    int *widths = malloc((column_count + 1) * sizeof(*widths));
    if (!widths)
        return cb_fail(err, CB_E_MEMORY, "out of memory while writing the map");
    for (size_t i = 0; i < column_count; i++)
        widths[i] = column_width(text, rows, row_count, columns[i]);
    cb_page_section(&text->page, heading, "%s", "");
    for (size_t first = 0; first < column_count;) {
        int room = CB_PAGE_COLUMNS - CB_PAGE_INDENT - text->gpu_columns;
        size_t count = 0;
        while (first + count < column_count &&
               (count == 0 || widths[first + count] + GAP_COLUMNS <= room))
            room -= widths[first + count++] + GAP_COLUMNS;
        if (first > 0)
            cb_strbuf_add(text->page.out, "\n");
        add_matrix_line(text, "", columns + first, widths + first, count, -1);
        for (size_t i = 0; i < row_count; i++)
            add_matrix_line(text, name_of(text, rows[i], buffer), columns + first, widths + first,
                            count, rows[i]);
        first += count;
    }
    free(widths);
    return 0;
}

/* ---- links ---- */

/* Pairs that are connected alike. */
struct link_row {
    const char *between;
    char path[16], over[32];
    double bytes_per_s;
    bool is_upper_bound;
    int pairs;
};
typedef CB_VEC(struct link_row) link_rows;

static void describe_way(const struct cb_map_path *path, char *out, size_t size_bytes)
{
    const char *kind = cb_map_link_kind_name(path->kind);
    if (path->kind == CB_MAP_LINK_PCIE && path->generation > 0)
        snprintf(out, size_bytes, "PCIe %d x%d", path->generation, path->count);
    else if ((path->kind == CB_MAP_LINK_NVLINK || path->kind == CB_MAP_LINK_NVSWITCH) &&
             path->generation > 0)
        snprintf(out, size_bytes, "%s, NVLink %d", kind, path->generation);
    else /* the source may be one that cannot show NVLinks */
        snprintf(out, size_bytes, "%s", path->kind == CB_MAP_LINK_UNKNOWN ? "not shown" : kind);
}

static bool is_alike(const struct link_row *left, const struct link_row *right)
{
    return strcmp(left->between, right->between) == 0 && strcmp(left->path, right->path) == 0 &&
           strcmp(left->over, right->over) == 0 && left->is_upper_bound == right->is_upper_bound &&
           !(left->bytes_per_s < right->bytes_per_s) && !(left->bytes_per_s > right->bytes_per_s);
}

static int count_pair(const struct cb_map *map, int a, int b, const char *between, link_rows *rows)
{
    struct cb_map_path path;
    struct link_row row = {.between = between, .pairs = 1};
    char buffer[16];
    cb_map_path(map, a, b, &path);
    if (path.kind == CB_MAP_LINK_UNKNOWN && path.path_class == CB_CLASS_UNKNOWN)
        return 0;
    snprintf(row.path, sizeof(row.path), "%s", cb_topology_path(map, a, b, buffer));
    describe_way(&path, row.over, sizeof(row.over));
    row.bytes_per_s = path.bytes_per_s_one_way;
    row.is_upper_bound = path.is_upper_bound;
    for (size_t i = 0; i < rows->count; i++)
        if (is_alike(&rows->items[i], &row)) {
            rows->items[i].pairs++;
            return 0;
        }
    struct link_row *added = cb_vec_add(rows);
    if (!added)
        return CB_E_MEMORY;
    *added = row;
    return 0;
}

static int by_kind(const void *left, const void *right)
{
    const struct link_row *l = left, *r = right;
    int order = strcmp(l->between, r->between);
    if (order)
        return order;
    if (l->bytes_per_s > r->bytes_per_s || l->bytes_per_s < r->bytes_per_s)
        return l->bytes_per_s > r->bytes_per_s ? -1 : 1;
    return strcmp(l->path, r->path);
}

static void add_link_rows(struct text *text, const link_rows *rows)
{
    static const struct cb_table_column columns[] = {{"between", CB_ALIGN_LEFT, 0},
                                                     {"path", CB_ALIGN_LEFT, 0},
                                                     {"over", CB_ALIGN_LEFT, 0},
                                                     {"nominal", CB_ALIGN_RIGHT, 0},
                                                     {"pairs", CB_ALIGN_RIGHT, 0}};
    struct cb_table table;
    char rate[CB_UNIT_TEXT];
    cb_page_section(&text->page, "LINKS", "nominal, one way; <= where a stretch is not known");
    cb_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < rows->count; i++) {
        const struct link_row *row = &rows->items[i];
        bool is_known = row->bytes_per_s > 0;
        cb_table_add(&table, CB_STYLE_PLAIN, "%s", row->between);
        cb_table_add(&table, CB_STYLE_PLAIN, "%s", row->path);
        cb_table_add(&table, CB_STYLE_PLAIN, "%s", row->over);
        cb_table_add(&table, CB_STYLE_PLAIN, "%s%s", is_known && row->is_upper_bound ? "<= " : "",
                     is_known ? cb_format_bandwidth(rate, row->bytes_per_s) : "not known");
        cb_table_add(&table, CB_STYLE_PLAIN, "%d", row->pairs);
    }
    text->page.out->failed |= table.failed;
    cb_page_table(&text->page, &table);
}

static int add_links(struct text *text, struct cb_error *err)
{
    const struct cb_map *map = text->map;
    link_rows rows = {.count = 0};
    int rc = 0;
    for (size_t i = 0; i < map->gpus.count && rc == 0; i++) {
        for (size_t k = i + 1; k < map->gpus.count && rc == 0; k++)
            rc = count_pair(map, map->gpus.items[i], map->gpus.items[k], "GPU, GPU", &rows);
        for (size_t k = 0; k < map->nics.count && rc == 0; k++)
            rc = count_pair(map, map->gpus.items[i], map->nics.items[k], "GPU, NIC", &rows);
    }
    if (rc)
        rc = cb_fail(err, CB_E_MEMORY, "out of memory while writing the map");
    else if (rows.count > 0) {
        qsort(rows.items, rows.count, sizeof(rows.items[0]), by_kind);
        add_link_rows(text, &rows);
    }
    cb_vec_fini(&rows);
    return rc;
}

/* ---- words, findings ---- */

/* What the abbreviations mean that this map uses. */
static void add_legend(struct text *text)
{
    static const struct {
        enum cb_path_class path_class;
        const char *meaning;
    } words[] = {
        {CB_CLASS_PIX, "PIX at most one PCIe switch between"},
        {CB_CLASS_PXB, "PXB several PCIe switches"},
        {CB_CLASS_PHB, "PHB over the CPU"},
        {CB_CLASS_NODE, "NODE over the CPU, between its host bridges"},
        {CB_CLASS_SYS, "SYS across the link between NUMA nodes"},
    };
    const struct cb_map *map = text->map;
    bool used[CB_CLASS_COUNT] = {false};
    struct cb_strbuf legend = {0};
    for (size_t i = 0; i < map->gpus.count; i++) {
        for (size_t k = 0; k < map->gpus.count; k++)
            used[cb_map_class(map, map->gpus.items[i], map->gpus.items[k])] = true;
        for (size_t k = 0; k < map->nics.count; k++)
            used[cb_map_class(map, map->gpus.items[i], map->nics.items[k])] = true;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (used[words[i].path_class])
            cb_strbuf_addf(&legend, "%s%s", legend.length_bytes ? "; " : "", words[i].meaning);
    if (legend.length_bytes > 0) {
        cb_strbuf_add(text->page.out, "\n");
        cb_page_text(&text->page, CB_PAGE_INDENT, CB_PAGE_INDENT, "%s", cb_strbuf_get(&legend));
    }
    text->page.out->failed |= legend.failed;
    cb_strbuf_fini(&legend);
}

static void add_findings(struct text *text)
{
    static const enum cb_style styles[] = {
        [CB_SEVERITY_INFO] = CB_STYLE_PLAIN,
        [CB_SEVERITY_WARNING] = CB_STYLE_WARN,
        [CB_SEVERITY_ERROR] = CB_STYLE_BAD,
    };
    const struct cb_topology *topology = text->topology;
    struct cb_page *page = &text->page;
    cb_page_section(page, "FINDINGS", "%s", topology->finding_count ? "" : "none");
    for (size_t i = 0; i < topology->finding_count; i++) {
        const struct cb_finding *finding = &topology->findings[i];
        const char *severity = cb_severity_name(finding->severity);
        cb_strbuf_fill(page->out, ' ', CB_PAGE_INDENT);
        cb_styled_add(page->out, styles[finding->severity], page->color, severity);
        cb_strbuf_addf(page->out, "%*s%s\n", GAP_COLUMNS, "", finding->code);
        cb_page_text(page, CB_PAGE_HANG, CB_PAGE_HANG, "%s", finding->seen);
        cb_page_text(page, CB_PAGE_HANG, CB_PAGE_HANG + 5, "why: %s", finding->why);
        cb_page_text(page, CB_PAGE_HANG, CB_PAGE_HANG + 5, "fix: %s", finding->remedy);
    }
}

static int add_sections(struct text *text, struct cb_error *err)
{
    const struct cb_map *map = text->map;
    int rc = 0;
    add_head(text);
    add_tree(text);
    rc = add_nearest(text, err);
    if (rc == 0 && map->gpus.count > 1)
        rc = add_matrix(text, "GPU x GPU", map->gpus.items, map->gpus.count, map->gpus.items,
                        map->gpus.count, err);
    if (rc == 0 && map->gpus.count > 0 && map->nics.count > 0)
        rc = add_matrix(text, "GPU x NIC", map->gpus.items, map->gpus.count, map->nics.items,
                        map->nics.count, err);
    if (rc == 0)
        add_legend(text);
    if (rc == 0)
        rc = add_links(text, err);
    if (rc == 0)
        add_findings(text);
    return rc;
}

int cb_topology_add_text(const struct cb_topology *topology, struct cb_strbuf *out,
                         struct cb_error *err)
{
    struct text text = {
        .page = {.out = out, .color = topology->color}, .topology = topology, .map = topology->map};
    int rc = cb_topology_layout_make(topology->map, ALL, ALL, &text.layout, err);
    if (rc)
        return rc;
    int nic_columns = longest_name(&text, text.map->nics.items, text.map->nics.count);
    text.gpu_columns = longest_name(&text, text.map->gpus.items, text.map->gpus.count);
    text.name_columns = text.gpu_columns > nic_columns ? text.gpu_columns : nic_columns;
    rc = add_sections(&text, err);
    cb_topology_layout_fini(&text.layout);
    return rc;
}

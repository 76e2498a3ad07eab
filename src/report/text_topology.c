#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/page.h"
#include "report/ranges.h"

enum { HOSTS_SHOWN = 8, MAPS_SHOWN = 8, FINDINGS_SHOWN = 24 };

/* The hosts of a map in few words; empty for the only one there is. */
static void add_hosts(struct cb_page *page, int map, struct cb_strbuf *out)
{
    const struct cb_result *result = page->result;
    const char **names = calloc(result->nodes.count + 1, sizeof(*names));
    size_t count = 0;
    if (!names) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < result->nodes.count; i++)
        if (result->nodes.items[i].map == map + 1)
            names[count++] = result->nodes.items[i].name;
    cb_ranges_add_hosts(out, names, count, HOSTS_SHOWN);
    free(names);
}

/* ---- what each scope reached ---- */

/* "11.8 of 12.5 GB/s RoCE mlx5_0:1, 94 %": both in one unit. */
static void add_crossing(struct cb_page *page, const struct cb_crossing *crossing)
{
    double nominal = crossing->nominal_bytes_per_s, measured = crossing->measured_bytes_per_s;
    const char *scope = cb_scope_name(crossing->scope), *op = cb_op_name(crossing->op);
    char text[CB_UNIT_TEXT], share[CB_UNIT_TEXT], size[CB_UNIT_TEXT];
    char basis[CB_TEXT + 96];
    snprintf(basis, sizeof(basis), "%s%s%s%s%s", op, crossing->size_bytes ? " of " : "",
             crossing->size_bytes ? cb_format_bytes(size, crossing->size_bytes) : "",
             crossing->note[0] ? "; " : "", crossing->note);
    if (nominal > 0) {
        bool giga = nominal >= 1e9;
        double unit = giga ? 1e9 : 1e6;
        cb_page_field(page, scope, "%.3g of %.3g %s %s, %s (%s)", measured / unit, nominal / unit,
                      giga ? "GB/s" : "MB/s", crossing->link,
                      cb_format_share(share, measured / nominal), basis);
        if (measured > nominal && crossing->least_wire_bytes_per_s > 0)
            cb_page_field(page, "",
                          "above the link's rate is no fault: trees and NVLS send less than the "
                          "ring that bus bandwidth counts; the wire carried at least %s, %s",
                          cb_format_bandwidth(text, crossing->least_wire_bytes_per_s),
                          cb_format_share(share, crossing->least_wire_bytes_per_s / nominal));
        return;
    }
    cb_page_field(page, scope, "%s%s%s, nominal unknown (%s)", cb_format_bandwidth(text, measured),
                  crossing->link[0] ? " over " : "", crossing->link, basis);
}

/* ---- what the nodes have ---- */

static bool is_same_gpu(const struct cb_facts_gpu *a, const struct cb_facts_gpu *b)
{
    return strcmp(a->name, b->name) == 0 && a->nvlinks == b->nvlinks;
}

/* "7 x NVIDIA A100-SXM4-80GB (12 NVLinks), 1 x ..." */
static void describe_gpus(const struct cb_facts *map, struct cb_strbuf *out)
{
    bool told[CB_FACTS_GPUS] = {false};
    for (int i = 0; i < map->gpu_count; i++) {
        const struct cb_facts_gpu *gpu = &map->gpus[i];
        int count = 0;
        if (told[i])
            continue;
        for (int j = i; j < map->gpu_count; j++)
            if (is_same_gpu(gpu, &map->gpus[j])) {
                told[j] = true;
                count++;
            }
        cb_strbuf_addf(out, "%s%d x %s", out->length_bytes ? ", " : "", count,
                       gpu->name[0] ? gpu->name : "GPU");
        if (gpu->nvlinks > 0)
            cb_strbuf_addf(out, " (%d NVLinks%s)", gpu->nvlinks,
                           gpu->nvlink_switch > 0 ? " to NVSwitches" : "");
        else if (gpu->pcie.generation_limit > 0)
            cb_strbuf_addf(out, " (PCIe %d x%d)", gpu->pcie.generation_limit,
                           gpu->pcie.width_limit);
    }
}

static bool is_alike(const struct cb_facts_nic *a, const struct cb_facts_nic *b)
{
    return strcmp(a->port.kind, b->port.kind) == 0 && a->port.up == b->port.up &&
           a->port.nominal_bytes_per_s == b->port.nominal_bytes_per_s;
}

static void describe_nics(const struct cb_facts *map, struct cb_strbuf *out)
{
    bool told[CB_FACTS_NICS] = {false};
    for (int i = 0; i < map->nic_count; i++) {
        const struct cb_facts_nic *nic = &map->nics[i];
        int count = 0;
        if (told[i])
            continue;
        for (int j = i; j < map->nic_count; j++)
            if (is_alike(nic, &map->nics[j])) {
                told[j] = true;
                count++;
            }
        cb_strbuf_addf(out, "%s%d x %s", out->length_bytes ? ", " : "", count,
                       nic->port.kind[0] ? nic->port.kind : "NIC");
        if (!nic->port.up)
            cb_strbuf_add(out, " (down)");
        else if (nic->port.nominal_bytes_per_s > 0)
            cb_strbuf_addf(out, " %.4g Gb/s", nic->port.nominal_bytes_per_s * 8e-9);
        else
            cb_strbuf_add(out, " of unknown speed");
    }
}

/* How far each GPU has to the nearest NIC: "each GPU's nearest NIC: PXB". */
static const char *worst_path(const struct cb_facts *map)
{
    static const char *const order[] = {"PIX", "PXB", "PHB", "NODE", "SYS"};
    int worst = -1;
    for (int i = 0; i < map->gpu_count; i++) {
        char name[32];
        int nearest = -1;
        cb_facts_gpu_name(&map->gpus[i], name, sizeof(name));
        for (int j = 0; j < map->nic_count; j++) {
            int link = cb_facts_find_link(map, name, map->nics[j].port.name);
            for (int level = 0; link >= 0 && level < (int)(sizeof(order) / sizeof(*order)); level++)
                if (strcmp(map->links[link].path, order[level]) == 0 &&
                    (nearest < 0 || level < nearest))
                    nearest = level;
        }
        worst = nearest > worst ? nearest : worst;
    }
    return worst < 0 ? NULL : order[worst];
}

static void describe_surroundings(const struct cb_facts *map, struct cb_strbuf *out)
{
    const char *path = worst_path(map);
    if (path)
        cb_strbuf_addf(out, "; GPU to nearest NIC %s or nearer", path);
    if (map->virtualization[0] && strcmp(map->virtualization, "none") != 0)
        cb_strbuf_addf(out, "; under %s", map->virtualization);
    if (map->container[0] && strcmp(map->container, "none") != 0)
        cb_strbuf_addf(out, "; in %s%s",
                       strncmp(map->container, "a ", 2) == 0 ? "" : "a container of ",
                       map->container);
    if (map->pci_devices == 0)
        cb_strbuf_add(out, "; PCI tree hidden");
    else if (map->pci_locality == 0 && map->numa_nodes > 1)
        cb_strbuf_add(out, "; NUMA nodes of PCI devices hidden");
}

static void add_map(struct cb_page *page, int index)
{
    const struct cb_facts *map = &page->result->maps.items[index];
    struct cb_strbuf gpus = {0}, nics = {0}, rest = {0}, hosts = {0};
    describe_gpus(map, &gpus);
    describe_nics(map, &nics);
    describe_surroundings(map, &rest);
    add_hosts(page, index, &hosts);
    cb_page_field(page, index == 0 ? "nodes" : "", "%s; %s%s: %s",
                  gpus.length_bytes ? cb_strbuf_get(&gpus) : "no GPU",
                  nics.length_bytes ? cb_strbuf_get(&nics) : "no network interface",
                  cb_strbuf_get(&rest), cb_strbuf_get(&hosts));
    page->out->failed |= gpus.failed || nics.failed || rest.failed || hosts.failed;
    cb_strbuf_fini(&gpus);
    cb_strbuf_fini(&nics);
    cb_strbuf_fini(&rest);
    cb_strbuf_fini(&hosts);
}

void cb_page_add_topology(struct cb_page *page)
{
    const struct cb_result *result = page->result;
    int maps = (int)result->maps.count;
    if (maps == 0)
        return;
    cb_page_section(page, "TOPOLOGY", "%s", "");
    for (size_t i = 0; i < result->crossings.count; i++)
        add_crossing(page, &result->crossings.items[i]);
    for (int i = 0; i < maps && i < MAPS_SHOWN; i++)
        add_map(page, i);
    if (maps > MAPS_SHOWN)
        cb_page_text(page, CB_PAGE_INDENT, CB_PAGE_HANG,
                     "and %d more kinds of node, in the result file", maps - MAPS_SHOWN);
}

/* ---- findings ---- */

static const enum cb_style styles[] = {
    [CB_SEVERITY_INFO] = CB_STYLE_PLAIN,
    [CB_SEVERITY_WARNING] = CB_STYLE_WARN,
    [CB_SEVERITY_ERROR] = CB_STYLE_BAD,
};

/* A warning says the same. */
static bool is_warned_about(const struct cb_result *result, const char *code)
{
    for (size_t i = 0; i < result->warnings.count; i++)
        if (strcmp(result->warnings.items[i].code, code) == 0)
            return true;
    return false;
}

static void add_finding(struct cb_page *page, const struct cb_node_finding *row)
{
    const struct cb_finding *finding = &row->finding;
    struct cb_strbuf hosts = {0};
    char label[32];
    if (row->map >= 0 && page->result->maps.count > 1)
        add_hosts(page, row->map, &hosts);
    snprintf(label, sizeof(label), "  %s", cb_severity_name(finding->severity));
    cb_page_headline(page, label, styles[finding->severity], "%s: %s%s%s", finding->code,
                     finding->seen, hosts.length_bytes ? "; on " : "", cb_strbuf_get(&hosts));
    if (finding->why[0])
        cb_page_text(page, CB_PAGE_HANG, CB_PAGE_HANG, "%s", finding->why);
    if (finding->remedy[0])
        cb_page_text(page, CB_PAGE_HANG, CB_PAGE_HANG + 3, "-> %s", finding->remedy);
    page->out->failed |= hosts.failed;
    cb_strbuf_fini(&hosts);
}

void cb_page_add_findings(struct cb_page *page)
{
    const struct cb_result *result = page->result;
    size_t total = 0, shown = 0;
    for (size_t i = 0; i < result->findings.count; i++)
        total += !is_warned_about(result, result->findings.items[i].finding.code);
    if (total == 0)
        return;
    cb_page_section(page, "FINDINGS", "about the nodes and their links");
    for (int severity = CB_SEVERITY_ERROR; severity >= 0; severity--)
        for (size_t i = 0; i < result->findings.count && shown < FINDINGS_SHOWN; i++) {
            const struct cb_node_finding *row = &result->findings.items[i];
            if ((int)row->finding.severity != severity ||
                is_warned_about(result, row->finding.code))
                continue;
            add_finding(page, row);
            shown++;
        }
    if (total > shown)
        cb_page_text(page, CB_PAGE_INDENT, CB_PAGE_HANG, "and %zu more, in the result file",
                     total - shown);
}

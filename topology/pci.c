#define _GNU_SOURCE /* realpath */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/facts.h"
#include "topology/internal.h"

/* "0000:07:00.0", of so many characters: hexadecimal digits around three marks; a domain may have
 * more digits than four. */
static bool is_bus_id(const char *text, size_t length)
{
    static const char marks[] = ":??:??.?"; /* behind the domain */
    size_t domain = strspn(text, "0123456789abcdef");
    if (domain < 4 || domain > 8 || length != domain + strlen(marks))
        return false;
    for (size_t i = 0; marks[i]; i++) {
        char c = text[domain + i];
        if (marks[i] == '?' ? !isxdigit((unsigned char)c) : c != marks[i])
            return false;
    }
    return true;
}

/* The last bus id among the parts of a path, or NULL. */
static const char *find_bus_id(const char *path, size_t *length)
{
    const char *found = NULL;
    for (const char *part = path; part; part = strchr(part, '/')) {
        part += *part == '/';
        size_t size = strcspn(part, "/");
        if (is_bus_id(part, size)) {
            found = part;
            *length = size;
        }
    }
    return found;
}

bool cb_pci_find(const char *folder, char *bus_id, size_t size_bytes)
{
    char path[PATH_MAX];
    char resolved[PATH_MAX];
    size_t length = 0;
    bus_id[0] = '\0';
    int size = snprintf(path, sizeof(path), "%s/device", folder);
    if (size < 0 || (size_t)size >= sizeof(path) || !realpath(path, resolved))
        return false;
    const char *found = find_bus_id(resolved, &length);
    if (found)
        snprintf(bus_id, size_bytes, "%.*s", (int)length, found);
    return found != NULL;
}

/* The folder of a device, with its place in the tree as the path; false when it is not there. */
static bool resolve(const char *root, const char *bus_id, char resolved[PATH_MAX])
{
    char path[PATH_MAX];
    int size = snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s", root, bus_id);
    return bus_id[0] && size > 0 && (size_t)size < sizeof(path) && realpath(path, resolved);
}

int cb_pci_read_numa(const char *root, const char *bus_id)
{
    char folder[PATH_MAX];
    return resolve(root, bus_id, folder) ? (int)cb_tree_read_integer(folder, "numa_node", -1) : -1;
}

int cb_pci_read_socket(const char *root, int numa)
{
    char folder[PATH_MAX];
    char cpus[256];
    if (numa < 0)
        return -1;
    snprintf(folder, sizeof(folder), "%s/sys/devices/system/node/node%d", root, numa);
    if (!cb_tree_read_line(folder, "cpulist", cpus, sizeof(cpus)) || !cpus[0])
        return -1;
    snprintf(folder, sizeof(folder), "%s/sys/devices/system/cpu/cpu%ld/topology", root,
             strtol(cpus, NULL, 10));
    return (int)cb_tree_read_integer(folder, "physical_package_id", -1);
}

/* ---- the link ---- */

/* "16.0 GT/s PCIe" as 4; -1 for "Unknown" and whatever else is none. */
static int read_generation(const char *folder, const char *file)
{
    static const double rates[] = {2.5, 5, 8, 16, 32, 64};
    char line[64];
    if (!cb_tree_read_line(folder, file, line, sizeof(line)))
        return -1;
    double rate = strtod(line, NULL);
    for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++)
        if (rate > rates[i] * 0.99 && rate < rates[i] * 1.01)
            return (int)i + 1;
    return -1;
}

/* Widths are 1 to 32; a link that is down, or made up, says 0 or 255. */
static int read_width(const char *folder, const char *file)
{
    long long width = cb_tree_read_integer(folder, file, -1);
    return width >= 1 && width <= 32 ? (int)width : -1;
}

/* The lower of what a card and its slot can do. A slot that claims less than the link does is a
 * hypervisor's invention and says nothing. */
static int limit(int card, int slot, int present)
{
    return slot > 0 && slot < card && slot >= present ? slot : card;
}

void cb_pci_read_link(const char *root, const char *bus_id, struct cb_facts_pcie *pcie)
{
    char folder[PATH_MAX];
    if (!resolve(root, bus_id, folder))
        return;
    pcie->generation = read_generation(folder, "current_link_speed");
    pcie->width = read_width(folder, "current_link_width");
    pcie->card_generation_limit = read_generation(folder, "max_link_speed");
    int width_limit = read_width(folder, "max_link_width");
    char *slash = strrchr(folder, '/');
    *slash = '\0'; /* the port above it */
    pcie->generation_limit = limit(pcie->card_generation_limit,
                                   read_generation(folder, "max_link_speed"), pcie->generation);
    pcie->width_limit = limit(width_limit, read_width(folder, "max_link_width"), pcie->width);
}

/* ---- isolation ---- */

int cb_pci_read_iommu(const char *root, const char *bus_id)
{
    char folder[PATH_MAX];
    char type[32];
    if (!resolve(root, bus_id, folder))
        return -1;
    if (!cb_tree_exists(folder, "iommu_group"))
        return 0;
    if (!cb_tree_read_line(folder, "iommu_group/type", type, sizeof(type)))
        return -1;
    return strcmp(type, "DMA") == 0 || strcmp(type, "DMA-FQ") == 0;
}

enum {
    EXTENDED_START = 0x100, /* of the configuration space; below it no root is needed */
    EXTENDED_END = 0x1000,
    CAPABILITY_ACS = 0x000d,
    ACS_CONTROL = 6,       /* of the capability's bytes */
    ACS_REDIRECTION = 0x1c /* request, completion, upstream forwarding */
};

static unsigned word(const unsigned char *config, size_t at)
{
    return config[at] | (unsigned)config[at + 1] << 8;
}

/* 1 or 0, and -1 when the file holds the first bytes only. Source: PCI Express Base Specification,
 * "Access Control Services Extended Capability". */
static int redirects(const char *folder)
{
    unsigned char config[EXTENDED_END];
    char path[PATH_MAX + 8];
    snprintf(path, sizeof(path), "%s/config", folder);
    FILE *stream = fopen(path, "re");
    if (!stream)
        return -1;
    size_t length = fread(config, 1, sizeof(config), stream);
    fclose(stream);
    if (length <= EXTENDED_START + 4)
        return -1;
    /* A list of offsets, each further than the one before or the end. */
    size_t at = EXTENDED_START;
    for (int hops = 0; hops < 64 && at >= EXTENDED_START && at + ACS_CONTROL + 1 < length; hops++) {
        if (word(config, at) == CAPABILITY_ACS)
            return (word(config, at + ACS_CONTROL) & ACS_REDIRECTION) != 0;
        at = word(config, at + 2) >> 4;
    }
    return 0;
}

bool cb_pci_visit_redirecting(const char *root, const char *bus_id,
                              void (*visit)(void *arg, const char *bridge), void *arg)
{
    char folder[PATH_MAX];
    bool readable = true;
    if (!resolve(root, bus_id, folder))
        return false;
    for (;;) {
        char *slash = strrchr(folder, '/');
        *slash = '\0';
        const char *name = strrchr(folder, '/');
        size_t length = 0;
        if (!name || find_bus_id(name, &length) != name + 1)
            return readable; /* the host bridge is above the last PCI device */
        int found = redirects(folder);
        if (found > 0)
            visit(arg, name + 1);
        readable &= found >= 0;
    }
}

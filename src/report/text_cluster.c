#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/names.h"
#include "report/page.h"
#include "report/ranges.h"

#define GROUPS_SHOWN 8
#define NICS_SHOWN 5
#define HOSTS_SHOWN 8
#define NODES_SHOWN 8
#define RANGES_SHOWN 4

/* Things of the same description, and on which nodes they are. */
struct member {
    size_t group; /* number of the description */
    size_t node;
};

struct groups {
    struct cb_names descriptions;
    CB_VEC(struct member) members;
    bool failed;
};

static void add_member(struct groups *groups, const char *description, size_t node)
{
    struct member member = {.node = node};
    struct member *added = NULL;
    if (cb_names_intern(&groups->descriptions, description, &member.group) == 0)
        added = cb_vec_add(&groups->members);
    if (added)
        *added = member;
    else
        groups->failed = true;
}

static int by_group(const void *a, const void *b)
{
    const struct member *left = a;
    const struct member *right = b;
    if (left->group != right->group)
        return left->group < right->group ? -1 : 1;
    return (left->node > right->node) - (left->node < right->node);
}

static void fini_groups(struct cb_page *page, struct groups *groups)
{
    page->out->failed |= groups->failed;
    cb_names_fini(&groups->descriptions);
    cb_vec_fini(&groups->members);
}

typedef void group_printer(struct cb_page *page, const char *description, size_t count,
                           const char *hosts);

/* Calls print for each group in order of first appearance, with its hosts in few words. */
static void print_groups(struct cb_page *page, struct groups *groups, size_t most,
                         group_printer *print)
{
    size_t count = groups->failed ? 0 : groups->members.count;
    const char **names = calloc(count + 1, sizeof(*names));
    struct cb_strbuf hosts = {0};
    if (!names) {
        page->out->failed = true;
        return;
    }
    struct member *members = groups->members.items;
    if (count > 0)
        qsort(members, count, sizeof(*members), by_group);
    size_t shown = 0;
    for (size_t first = 0; first < count && shown < most; shown++) {
        size_t length = 0;
        while (first + length < count && members[first + length].group == members[first].group) {
            names[length] = page->result->nodes.items[members[first + length].node].name;
            length++;
        }
        cb_strbuf_fini(&hosts);
        cb_ranges_add_hosts(&hosts, names, length, HOSTS_SHOWN);
        print(page, cb_names_get(&groups->descriptions, members[first].group), length,
              length > 1 && length == page->result->nodes.count && hosts.length_bytes > 40
                  ? "all of them"
                  : cb_strbuf_get(&hosts));
        first += length;
    }
    if (groups->descriptions.offsets_bytes.count > shown)
        cb_page_text(page, CB_PAGE_INDENT, CB_PAGE_HANG, "and %zu more, in the result file",
                     groups->descriptions.offsets_bytes.count - shown);
    page->out->failed |= hosts.failed;
    cb_strbuf_fini(&hosts);
    free(names);
}

/* ---- nodes ---- */

static void print_nodes(struct cb_page *page, const char *description, size_t count,
                        const char *hosts)
{
    cb_page_text(page, CB_PAGE_INDENT, CB_PAGE_HANG, "%zu x %s: %s", count, description, hosts);
}

static void add_nodes(struct cb_page *page)
{
    struct groups groups = {.failed = false};
    for (size_t i = 0; i < page->result->nodes.count; i++) {
        const struct cb_topo_host *node = &page->result->nodes.items[i];
        char memory[CB_UNIT_TEXT];
        char text[256];
        int used = snprintf(text, sizeof(text), "%s",
                            node->cpu_model[0] ? node->cpu_model : "unknown CPU");
        if (node->sockets > 0)
            used += snprintf(text + used, sizeof(text) - (size_t)used, ", %d socket%s",
                             node->sockets, node->sockets == 1 ? "" : "s");
        if (node->cores > 0)
            used += snprintf(text + used, sizeof(text) - (size_t)used, ", %d core%s", node->cores,
                             node->cores == 1 ? "" : "s");
        if (node->hardware_threads > node->cores)
            used += snprintf(text + used, sizeof(text) - (size_t)used, " (%d threads)",
                             node->hardware_threads);
        if (node->numa_nodes > 1)
            used += snprintf(text + used, sizeof(text) - (size_t)used, ", %d NUMA nodes",
                             node->numa_nodes);
        if (node->memory_bytes > 0)
            snprintf(text + used, sizeof(text) - (size_t)used, ", %s",
                     cb_format_bytes(memory, node->memory_bytes));
        add_member(&groups, text, i);
    }
    print_groups(page, &groups, GROUPS_SHOWN, print_nodes);
    fini_groups(page, &groups);
}

/* ---- network interfaces ---- */

/* NICs are rated in bits, whatever the rest of the page says. */
static const char *format_bits(char out[CB_UNIT_TEXT], double bytes_per_s)
{
    double bits_per_s = bytes_per_s * 8;
    if (bits_per_s < 1e9)
        snprintf(out, CB_UNIT_TEXT, "%.4g Mb/s", bits_per_s / 1e6);
    else
        snprintf(out, CB_UNIT_TEXT, "%.4g Gb/s", bits_per_s / 1e9);
    return out;
}

/* "name\tdescription", so that equal names with different speeds are different groups. */
static void describe_nic(const struct cb_topo_nic *nic, char *text, size_t size_bytes)
{
    char rate[CB_UNIT_TEXT];
    char speed[128];
    char mtu[32] = "";
    const char *driver = nic->driver[0] ? nic->driver : "its driver";
    if (nic->nominal_bytes_per_s > 0)
        snprintf(speed, sizeof(speed), "%s nominal", format_bits(rate, nic->nominal_bytes_per_s));
    else if (!nic->up)
        snprintf(speed, sizeof(speed), "down");
    else if (nic->stated_bytes_per_s > 0)
        snprintf(speed, sizeof(speed), "speed unknown: %s states %s, which is made up", driver,
                 format_bits(rate, nic->stated_bytes_per_s));
    else
        snprintf(speed, sizeof(speed), "speed unknown");
    if (nic->mtu_bytes > 0)
        snprintf(mtu, sizeof(mtu), ", MTU %d", nic->mtu_bytes);
    snprintf(text, size_bytes, "%s\t%s%s, %s%s%s%s%s", nic->name, nic->used ? "IN USE, " : "",
             nic->kind[0] ? nic->kind : "unknown kind", speed, mtu,
             nic->virtual_function ? ", virtual function (shares its port)" : "",
             nic->partner[0] ? ", same port as " : "", nic->partner);
}

static void print_nics(struct cb_page *page, const char *description, size_t count,
                       const char *hosts)
{
    char label[sizeof(((struct cb_topo_nic *)0)->name)];
    size_t length = strcspn(description, "\t");
    length = length < sizeof(label) ? length : sizeof(label) - 1;
    (void)count;
    snprintf(label, sizeof(label), "%.*s", (int)length, description);
    cb_page_field(page, label, "%s; on %s", description + length + 1, hosts);
}

/* What matters most comes first: in use, with a known speed, up. */
enum { NIC_CLASSES = 4 };

static int nic_class(const struct cb_topo_nic *nic)
{
    if (nic->used)
        return 0;
    if (!nic->up)
        return NIC_CLASSES - 1;
    return nic->nominal_bytes_per_s > 0 ? 1 : 2;
}

static void add_nics(struct cb_page *page)
{
    const struct cb_result *result = page->result;
    struct groups groups = {.failed = false};
    char text[512];
    size_t left_out = 0;
    for (int class = 0; class < NIC_CLASSES; class ++)
        for (size_t i = 0; i < result->nodes.count; i++)
            for (int n = 0; n < result->nodes.items[i].nic_count; n++) {
                const struct cb_topo_nic *nic = &result->nodes.items[i].nics[n];
                if (nic_class(nic) != class)
                    continue;
                describe_nic(nic, text, sizeof(text));
                add_member(&groups, text, i);
            }
    print_groups(page, &groups, NICS_SHOWN, print_nics);
    fini_groups(page, &groups);
    for (size_t i = 0; i < result->nodes.count; i++)
        if (result->nodes.items[i].nics_found > result->nodes.items[i].nic_count)
            left_out +=
                (size_t)(result->nodes.items[i].nics_found - result->nodes.items[i].nic_count);
    if (left_out > 0)
        cb_page_text(page, CB_PAGE_INDENT, CB_PAGE_HANG,
                     "and %zu more interfaces that the result does not hold", left_out);
}

/* ---- ranks ---- */

static int by_node(const void *a, const void *b)
{
    const struct cb_rank *left = *(const struct cb_rank *const *)a;
    const struct cb_rank *right = *(const struct cb_rank *const *)b;
    if (left->node != right->node)
        return left->node < right->node ? -1 : 1;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

/* "0-7 on n0, 8-15 on n1, and 2046 more nodes" */
static void add_placement(struct cb_page *page, const struct cb_rank **ranks, int *numbers)
{
    const struct cb_result *result = page->result;
    size_t count = result->ranks.count;
    struct cb_strbuf text = {0};
    size_t shown = 0;
    for (size_t first = 0; first < count; shown++) {
        size_t length = 0;
        while (first + length < count && ranks[first + length]->node == ranks[first]->node) {
            numbers[length] = ranks[first + length]->rank;
            length++;
        }
        if (shown < NODES_SHOWN) {
            cb_strbuf_add(&text, shown > 0 ? "; " : "");
            cb_ranges_add_numbers(&text, numbers, length, RANGES_SHOWN);
            cb_strbuf_addf(&text, " on %s", cb_lookup_host_of_rank(&page->lookup, numbers[0]));
        }
        first += length;
    }
    if (shown > NODES_SHOWN)
        cb_strbuf_addf(&text, "; and on %zu more nodes", shown - NODES_SHOWN);
    cb_page_field(page, "ranks", "%s", cb_strbuf_get(&text));
    page->out->failed |= text.failed;
    cb_strbuf_fini(&text);
}

static void describe_binding(const struct cb_rank *rank, char *text, size_t size_bytes)
{
    char threads[48] = "";
    char cores[96] = "not bound";
    const char *where = "";
    if (rank->locality == CB_LOCALITY_AWAY)
        where = ", AWAY from its ";
    else if (rank->locality == CB_LOCALITY_NEAR)
        where = ", near its ";
    if (rank->threads > 0)
        snprintf(threads, sizeof(threads), "%d compute thread%s, ", rank->threads,
                 rank->threads == 1 ? "" : "s");
    if (rank->binding.bound)
        snprintf(cores, sizeof(cores), "bound to %d core%s%s", rank->binding.cores,
                 rank->binding.cores == 1 ? "" : "s",
                 strcmp(rank->bound_by, "commbound") == 0 ? " by commbound" : "");
    /* The device's kind alone: each rank has its own. */
    const char *device = rank->device[0] ? rank->device : "device";
    snprintf(text, size_bytes, "%s%s%s%.*s", threads, cores, where,
             where[0] ? (int)strcspn(device, " ") : 0, device);
}

/* "2 compute threads, bound to 2 cores", for all ranks or by description. */
static void add_bindings(struct cb_page *page, int *numbers)
{
    const struct cb_result *result = page->result;
    struct groups groups = {.failed = false};
    char text[256];
    for (size_t i = 0; i < result->ranks.count; i++) {
        describe_binding(&result->ranks.items[i], text, sizeof(text));
        add_member(&groups, text, i); /* "node" is the rank's place here */
    }
    size_t count = groups.failed ? 0 : groups.members.count;
    if (count > 0)
        qsort(groups.members.items, count, sizeof(*groups.members.items), by_group);
    struct cb_strbuf list = {0};
    size_t kinds = groups.descriptions.offsets_bytes.count;
    for (size_t first = 0, shown = 0; first < count && shown < GROUPS_SHOWN; shown++) {
        const struct member *members = groups.members.items + first;
        size_t length = 0;
        while (first + length < count && members[length].group == members->group) {
            numbers[length] = result->ranks.items[members[length].node].rank;
            length++;
        }
        cb_strbuf_addf(&list, "%s%s", shown > 0 ? "; " : "",
                       cb_names_get(&groups.descriptions, members->group));
        if (kinds > 1) {
            cb_strbuf_add(&list, " on ranks ");
            cb_ranges_add_numbers(&list, numbers, length, RANGES_SHOWN);
        } else if (count > 1) {
            cb_strbuf_add(&list, " each");
        }
        first += length;
    }
    if (count > 0)
        cb_page_field(page, "", "%s", cb_strbuf_get(&list));
    page->out->failed |= list.failed;
    cb_strbuf_fini(&list);
    fini_groups(page, &groups);
}

static void add_ranks(struct cb_page *page)
{
    size_t count = page->result->ranks.count;
    const struct cb_rank **ranks = calloc(count + 1, sizeof(*ranks));
    int *numbers = calloc(count + 1, sizeof(*numbers));
    if (ranks && numbers && count > 0) {
        for (size_t i = 0; i < count; i++)
            ranks[i] = &page->result->ranks.items[i];
        qsort(ranks, count, sizeof(*ranks), by_node);
        add_placement(page, ranks, numbers);
        add_bindings(page, numbers);
    }
    page->out->failed |= !ranks || !numbers;
    free(ranks);
    free(numbers);
}

static bool tells_algorithms(const struct cb_result *result)
{
    for (size_t i = 0; i < result->collectives.count; i++)
        if (result->collectives.items[i].algorithm.name[0])
            return true;
    return false;
}

/* What the library says it used; how many ranks said so only where not all did. What it connected
 * its ranks to is left out where it says of each operation what it took. */
static void add_used(struct cb_page *page)
{
    static const char *const kinds[] = {"way",    "network",   "interfaces",
                                        "plugin", "algorithm", "feature"};
    const struct cb_result *result = page->result;
    bool told = tells_algorithms(result);
    struct cb_strbuf text = {0};
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        for (size_t i = 0; i < result->transport_used.count; i++) {
            const struct cb_transport_use *use = &result->transport_used.items[i];
            if (strcmp(use->kind, kinds[k]) != 0 || (k == 4 && told))
                continue;
            cb_strbuf_addf(&text, "%s%s%s%s", text.length_bytes ? ", " : "",
                           k == 0 || k == 4 ? "" : kinds[k], k == 0 || k == 4 ? "" : " ",
                           use->name);
            if (use->ranks < result->rank_count)
                cb_strbuf_addf(&text, " (%d ranks)", use->ranks);
        }
    if (text.length_bytes)
        cb_page_field(page, "transport", "%s", cb_strbuf_get(&text));
    page->out->failed |= text.failed;
    cb_strbuf_fini(&text);
}

void cb_page_add_cluster(struct cb_page *page)
{
    if (page->result->nodes.count == 0)
        return;
    cb_page_section(page, "CLUSTER", "%s", "");
    add_nodes(page);
    add_nics(page);
    add_ranks(page);
    add_used(page);
}

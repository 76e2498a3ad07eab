#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "topology/internal.h"

#define BYTES_PER_S_OF_MEGABITS 125000.0
/* No link is that fast: some drivers state nonsense when they do not know. */
#define MOST_MEGABITS 10e6

/* What the driver of a network interface says about it. made_up: the speed it states is a constant
 * of the driver, or the virtual switch's, not a line's. */
static const struct driver_row {
    const char *driver; /* exact, or a prefix when it ends in '*' */
    const char *kind;
    bool made_up;
} drivers[] = {
    {"veth", "virtual Ethernet", true},
    {"virtio_net", "virtual Ethernet", true},
    {"tun", "virtual Ethernet", true},
    {"dummy", "virtual Ethernet", true},
    {"ifb", "virtual Ethernet", true},
    {"vxlan", "virtual Ethernet", true},
    {"openvswitch", "virtual Ethernet", true},
    {"vmxnet3", "virtual Ethernet", true},
    {"hv_netvsc", "virtual Ethernet", true},
    {"vif", "virtual Ethernet", true}, /* Xen */
    {"bridge", "bridge", true},
    {"wlan", "other", true}, /* a radio link's rate is no line's */
    /* These pass on what the interfaces below them state. */
    {"bonding", "bond", false},
    {"team", "bond", false},
    {"macvlan", "virtual Ethernet", false},
    {"ipvlan", "virtual Ethernet", false},
    {"802.1Q VLAN Support", "VLAN", false},
    {"cxi*", "Slingshot", false},
};

/* What an interface without a device is, by what its folder holds; the name is the driver that
 * ethtool would tell. */
static const struct folder_row {
    const char *entry;
    const char *driver;
} folders[] = {{"bridge", "bridge"}, {"bonding", "bonding"}, {"tun_flags", "tun"}};

static const struct type_row {
    const char *type; /* DEVTYPE in uevent */
    const char *driver;
} types[] = {{"bridge", "bridge"}, {"bond", "bonding"},
             {"team", "team"},     {"vlan", "802.1Q VLAN Support"},
             {"vxlan", "vxlan"},   {"macvlan", "macvlan"},
             {"ipvlan", "ipvlan"}, {"wlan", "wlan"}};

/* What the driver of an RDMA device says about it. Others go by their link layer. */
static const struct driver_row rdma_drivers[] = {
    {"efa", "EFA", false},           {"hfi1", "Omni-Path", false},
    {"irdma", "RoCE", false}, /* iWARP too: node_type tells */
    {"rdma_rxe", "Soft-RoCE", true}, {"siw", "Soft-iWARP", true},
};

/* Line coding of InfiniBand: the rate in sysfs is the signalling rate up to FDR (8b/10b, then
 * 64b/66b of 14.0625 Gb/s a lane, which sysfs rounds down to 14) and the data rate from EDR on. */
static const struct rate_row {
    const char *name;
    double data_per_stated;
} rates[] = {
    {"SDR", 0.8},
    {"DDR", 0.8},
    {"QDR", 0.8},
    {"FDR", 14.0625 * 64 / 66 / 14},
};

enum weight { WEIGHT_USED, WEIGHT_RDMA, WEIGHT_REAL, WEIGHT_VIRTUAL };

struct found {
    struct cb_topo_nic nic;
    enum weight weight;
    size_t order;          /* as listed: natural order of names */
    bool is_real;          /* hardware with a line of its own */
    bool stands_on_others; /* its speed is as true as theirs */
    bool is_slowest_rate;  /* "10 Gb/sec (4X SDR)": also what a kernel says that knows no better */
};

struct findings {
    CB_VEC(struct found) list;
};

static const struct driver_row *find_driver(const struct driver_row *rows, size_t count,
                                            const char *driver)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(rows[i].driver, "*");
        if (strncmp(rows[i].driver, driver, length) == 0 &&
            (rows[i].driver[length] || !driver[length]))
            return &rows[i];
    }
    return NULL;
}

#define FIND_DRIVER(rows, driver) find_driver(rows, sizeof(rows) / sizeof(*(rows)), driver)

static struct found *find_nic(struct findings *findings, const char *name)
{
    for (size_t i = 0; i < findings->list.count; i++)
        if (strcmp(findings->list.items[i].nic.name, name) == 0)
            return &findings->list.items[i];
    return NULL;
}

static struct found *add(struct findings *findings)
{
    struct found *found = cb_vec_add(&findings->list);
    if (found) {
        found->order = findings->list.count;
        found->nic.numa = -1;
    }
    return found;
}

/* ---- network interfaces ---- */

static void find_inner_driver(const char *folder, struct cb_topo_nic *nic)
{
    char uevent[512] = "";
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
        if (cb_tree_exists(folder, folders[i].entry))
            cb_tree_clean(nic->driver, sizeof(nic->driver), folders[i].driver);
    cb_tree_read_text(folder, "uevent", uevent, sizeof(uevent));
    const char *type = strstr(uevent, "DEVTYPE=");
    if (!type)
        return;
    type += strlen("DEVTYPE=");
    size_t length = strcspn(type, "\n");
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (strlen(types[i].type) == length && strncmp(types[i].type, type, length) == 0)
            cb_tree_clean(nic->driver, sizeof(nic->driver), types[i].driver);
}

static const char *name_kind(const char *folder, bool has_device)
{
    switch (cb_tree_read_integer(folder, "type", 0)) { /* ARPHRD_*, if_arp.h */
    case 1:
        return has_device ? "Ethernet" : "virtual Ethernet";
    case 32:
        return "IPoIB";
    default:
        return "other";
    }
}

static void read_interface(const char *folder, bool running_system, struct found *found)
{
    struct cb_topo_nic *nic = &found->nic;
    bool has_device = cb_tree_exists(folder, "device");
    if (!cb_tree_read_link(folder, "device/driver", nic->driver, sizeof(nic->driver)))
        find_inner_driver(folder, nic);
    if (!nic->driver[0] && running_system)
        cb_topo_ask_driver(nic->name, nic->driver, sizeof(nic->driver));

    const struct driver_row *row = FIND_DRIVER(drivers, nic->driver);
    bool made_up = row ? row->made_up : !has_device;
    cb_tree_clean(nic->kind, sizeof(nic->kind), row ? row->kind : name_kind(folder, has_device));
    found->stands_on_others = !has_device && !made_up;
    found->is_real = has_device && !made_up;
    found->weight = found->is_real ? WEIGHT_REAL : WEIGHT_VIRTUAL;

    char state[32] = "";
    cb_tree_read_line(folder, "operstate", state, sizeof(state));
    /* Drivers that do not track a carrier (tun, some old ones) stay "unknown" while they work. */
    bool enabled = cb_tree_read_integer(folder, "flags", 0) & 1;
    nic->up = strcmp(state, "up") == 0 || (strcmp(state, "unknown") == 0 && enabled);
    nic->numa = (int)cb_tree_read_integer(folder, "device/numa_node", -1);
    nic->mtu_bytes = (int)cb_tree_read_integer(folder, "mtu", 0);
    nic->virtual_function = cb_tree_exists(folder, "device/physfn");

    double megabits = (double)cb_tree_read_integer(folder, "speed", -1);
    if (megabits > 0 && megabits <= MOST_MEGABITS)
        nic->stated_bytes_per_s = megabits * BYTES_PER_S_OF_MEGABITS;
    if (nic->up && !made_up)
        nic->nominal_bytes_per_s = nic->stated_bytes_per_s;
}

static int read_interfaces(const char *root, const char *used, struct findings *findings)
{
    char class[PATH_MAX / 2];
    char folder[PATH_MAX];
    char **names;
    int rc = 0;
    snprintf(class, sizeof(class), "%s/sys/class/net", root);
    size_t count = cb_tree_list(class, &names);
    for (size_t i = 0; i < count && !rc; i++) {
        snprintf(folder, sizeof(folder), "%s/%s", class, names[i]);
        /* Loopback is 772; bonding_masters is a file among the folders. */
        if (cb_tree_read_integer(folder, "type", 772) == 772)
            continue;
        struct found *found = add(findings);
        if (!found) {
            rc = CB_E_MEMORY;
            break;
        }
        cb_tree_clean(found->nic.name, sizeof(found->nic.name), names[i]);
        read_interface(folder, !root[0], found);
        found->nic.used = used[0] && strcmp(found->nic.name, used) == 0;
        if (found->nic.used)
            found->weight = WEIGHT_USED;
    }
    cb_tree_free_names(names, count);
    return rc;
}

/* A bond's or VLAN's speed counts when that of every interface below it does; those show as links
 * named lower_*. Depth bounds the stack (a VLAN on a bond on a card). */
static bool has_real_speed(const char *root, struct findings *findings, const struct found *upper,
                           int depth)
{
    char folder[PATH_MAX];
    char **names;
    int lower_count = 0;
    bool all_real = true;
    if (!upper->stands_on_others || depth == 0)
        return upper->is_real;
    snprintf(folder, sizeof(folder), "%s/sys/class/net/%s", root, upper->nic.name);
    size_t count = cb_tree_list(folder, &names);
    for (size_t i = 0; i < count; i++) {
        if (strncmp(names[i], "lower_", strlen("lower_")) != 0)
            continue;
        const struct found *lower = find_nic(findings, names[i] + strlen("lower_"));
        lower_count++;
        all_real &= lower && has_real_speed(root, findings, lower, depth - 1);
    }
    cb_tree_free_names(names, count);
    return lower_count > 0 && all_real;
}

static void check_stacked_interfaces(const char *root, struct findings *findings)
{
    for (size_t i = 0; i < findings->list.count; i++) {
        struct found *found = &findings->list.items[i];
        if (found->stands_on_others && !has_real_speed(root, findings, found, 4))
            found->nic.nominal_bytes_per_s = 0;
    }
}

/* ---- RDMA ports ---- */

/* "100 Gb/sec (4X EDR)": the figure, and the name of the rate. */
static double parse_rate(const char *text, char *name, size_t size_bytes)
{
    char *unit;
    double gigabits = strtod(text, &unit);
    const char *lanes = strstr(unit, "X ");
    name[0] = '\0';
    if (unit == text || strncmp(unit, " Gb/sec", strlen(" Gb/sec")) != 0 || gigabits <= 0 ||
        gigabits * 1000 > MOST_MEGABITS)
        return 0;
    if (lanes) {
        cb_tree_clean(name, size_bytes, lanes + 2);
        name[strcspn(name, ")")] = '\0';
    }
    return gigabits * 1000 * BYTES_PER_S_OF_MEGABITS;
}

static double data_bytes_per_s(double stated_bytes_per_s, const char *rate_name)
{
    for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++)
        if (strcmp(rates[i].name, rate_name) == 0)
            return stated_bytes_per_s * rates[i].data_per_stated;
    return stated_bytes_per_s;
}

static const char *name_rdma_kind(const char *layer, const char *node_type)
{
    if (strcmp(layer, "InfiniBand") == 0)
        return "InfiniBand";
    if (strcmp(layer, "Ethernet") != 0)
        return "other";
    if (strstr(node_type, "RNIC"))
        return "iWARP";
    return strstr(node_type, "usNIC") ? "usNIC" : "RoCE";
}

/* The network interface of a port: the one of its first GID, else the one of the same PCI function
 * (on cards with several ports to a function, the one that says so in dev_port). */
static void find_partner(const char *device, const char *port, struct cb_topo_nic *nic)
{
    char folder[PATH_MAX];
    char **names;
    char file[64];
    snprintf(file, sizeof(file), "ports/%.8s/gid_attrs/ndevs/0", port);
    if (cb_tree_read_line(device, file, nic->partner, sizeof(nic->partner)) && nic->partner[0])
        return;
    snprintf(folder, sizeof(folder), "%s/device/net", device);
    size_t count = cb_tree_list(folder, &names);
    for (size_t i = 0; i < count && !nic->partner[0]; i++) {
        char interface[64];
        snprintf(interface, sizeof(interface), "%.31s/dev_port", names[i]);
        if (count == 1 || cb_tree_read_integer(folder, interface, 0) + 1 == strtoll(port, NULL, 10))
            cb_tree_clean(nic->partner, sizeof(nic->partner), names[i]);
    }
    cb_tree_free_names(names, count);
}

static void read_port(const char *device, const char *port, struct found *found)
{
    struct cb_topo_nic *nic = &found->nic;
    char folder[PATH_MAX];
    char layer[32] = "", node_type[32] = "", state[32] = "", rate[64] = "", rate_name[16];
    snprintf(folder, sizeof(folder), "%s/ports/%s", device, port);
    cb_tree_read_link(device, "device/driver", nic->driver, sizeof(nic->driver));
    cb_tree_read_line(device, "node_type", node_type, sizeof(node_type));
    cb_tree_read_line(folder, "link_layer", layer, sizeof(layer));
    cb_tree_read_line(folder, "state", state, sizeof(state));
    cb_tree_read_line(folder, "rate", rate, sizeof(rate));
    /* The software devices hang on a network interface, which the first calls its parent. */
    if (cb_tree_exists(device, "parent"))
        cb_tree_clean(nic->driver, sizeof(nic->driver), "rdma_rxe");

    const struct driver_row *row = FIND_DRIVER(rdma_drivers, nic->driver);
    const char *kind = name_rdma_kind(layer, node_type);
    if (row && (row->made_up || strcmp(kind, "iWARP") != 0))
        kind = row->kind;
    cb_tree_clean(nic->kind, sizeof(nic->kind), kind);
    nic->up = strncmp(state, "4:", 2) == 0; /* ACTIVE; 2 is INIT: no subnet manager */
    nic->numa = (int)cb_tree_read_integer(device, "device/numa_node", -1);
    nic->virtual_function = cb_tree_exists(device, "device/physfn");
    find_partner(device, port, nic);

    nic->stated_bytes_per_s = parse_rate(rate, rate_name, sizeof(rate_name));
    bool coded = strcmp(nic->kind, "InfiniBand") == 0; /* Ethernet states data rates */
    if (nic->up && !(row && row->made_up))
        nic->nominal_bytes_per_s =
            coded ? data_bytes_per_s(nic->stated_bytes_per_s, rate_name) : nic->stated_bytes_per_s;
    found->is_slowest_rate = strcmp(rate_name, "SDR") == 0;
    found->weight = WEIGHT_RDMA;
}

static int read_device(const char *class, const char *name, struct findings *findings)
{
    char device[PATH_MAX / 2];
    char folder[PATH_MAX];
    char label[64];
    char **ports;
    int rc = 0;
    snprintf(device, sizeof(device), "%.2000s/%.40s", class, name);
    snprintf(folder, sizeof(folder), "%s/ports", device);
    size_t count = cb_tree_list(folder, &ports);
    for (size_t i = 0; i < count; i++) {
        struct found *found = add(findings);
        if (!found) {
            rc = CB_E_MEMORY;
            break;
        }
        snprintf(label, sizeof(label), "%.23s:%.6s", name, ports[i]);
        cb_tree_clean(found->nic.name, sizeof(found->nic.name), label);
        read_port(device, ports[i], found);
    }
    cb_tree_free_names(ports, count);
    return rc;
}

static int read_devices(const char *root, struct findings *findings)
{
    char class[PATH_MAX / 2];
    char **names;
    int rc = 0;
    snprintf(class, sizeof(class), "%s/sys/class/infiniband", root);
    size_t count = cb_tree_list(class, &names);
    for (size_t i = 0; i < count && !rc; i++)
        rc = read_device(class, names[i], findings);
    cb_tree_free_names(names, count);
    return rc;
}

/* Marks both faces of a port, and mends the rate that an old kernel did not know: it then says 4X
 * SDR, while the network interface of the same port knows better. */
static void pair(struct findings *findings)
{
    for (size_t i = 0; i < findings->list.count; i++) {
        struct found *port = &findings->list.items[i];
        struct found *interface =
            port->weight == WEIGHT_RDMA ? find_nic(findings, port->nic.partner) : NULL;
        if (!interface)
            continue;
        cb_tree_clean(interface->nic.partner, sizeof(interface->nic.partner), port->nic.name);
        if (port->is_slowest_rate && port->nic.up &&
            interface->nic.nominal_bytes_per_s > port->nic.stated_bytes_per_s)
            port->nic.nominal_bytes_per_s = interface->nic.nominal_bytes_per_s;
    }
}

/* ---- both ---- */

static int compare_importance(const void *left, const void *right)
{
    const struct found *a = left, *b = right;
    if (a->weight != b->weight)
        return a->weight < b->weight ? -1 : 1;
    if (a->nic.up != b->nic.up)
        return a->nic.up ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

int cb_topo_list_nics(const char *root, const char *used, struct cb_topo_nic **nics, size_t *count,
                      struct cb_error *err)
{
    struct cb_topo_nic *list = NULL;
    struct findings findings = {0};
    int rc = read_interfaces(root, used, &findings);
    if (!rc)
        rc = read_devices(root, &findings);
    if (!rc) {
        list = calloc(findings.list.count + 1, sizeof(*list));
        rc = list ? CB_OK : CB_E_MEMORY;
    }
    if (rc) {
        cb_fail(err, CB_E_MEMORY, "out of memory while listing network interfaces");
        goto out;
    }
    pair(&findings);
    check_stacked_interfaces(root, &findings);
    if (findings.list.count)
        qsort(findings.list.items, findings.list.count, sizeof(*findings.list.items),
              compare_importance);
    for (size_t i = 0; i < findings.list.count; i++)
        list[i] = findings.list.items[i].nic;
    *nics = list;
    *count = findings.list.count;
out:
    cb_vec_fini(&findings.list);
    return rc;
}

int cb_topo_read_nics(const char *root, const char *used, struct cb_topo_host *host,
                      struct cb_error *err)
{
    struct cb_topo_nic *nics;
    size_t count;
    int rc = cb_topo_list_nics(root, used, &nics, &count, err);
    if (rc)
        return rc;
    host->nics_found = (int)count;
    host->nic_count = 0;
    for (size_t i = 0; i < count && i < CB_TOPO_NICS; i++)
        host->nics[host->nic_count++] = nics[i];
    free(nics);
    return CB_OK;
}

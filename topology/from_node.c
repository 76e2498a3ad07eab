/* The facts of a node that its kernel tells. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/facts.h"
#include "topology/internal.h"

static const char *root_of(const char *sysroot)
{
    return sysroot ? sysroot : "";
}

/* ---- what the node runs in ---- */

/* What the maker of a machine that has a hypervisor calls it, in the firmware's tables. */
static const struct maker_row {
    const char *file; /* of /sys/class/dmi/id */
    const char *text; /* in it */
    const char *hypervisor;
} makers[] = {
    {"sys_vendor", "QEMU", "KVM"},
    {"product_name", "KVM", "KVM"},
    {"sys_vendor", "Amazon EC2", "Amazon EC2"},
    {"product_name", "Google Compute Engine", "Google Compute Engine"},
    {"sys_vendor", "Microsoft Corporation", "Hyper-V"},
    {"sys_vendor", "VMware", "VMware"},
    {"product_name", "OpenStack", "OpenStack"},
    {"sys_vendor", "Xen", "Xen"},
    {"sys_vendor", "Oracle", "Oracle"},
    {"sys_vendor", "Alibaba", "Alibaba"},
    {"sys_vendor", "Tencent", "Tencent"},
};

static void set_text(char *out, size_t size_bytes, const char *text)
{
    memset(out, 0, size_bytes);
    cb_tree_clean(out, size_bytes, text);
}

/* The first set of flags ("flags : fpu ... hypervisor ...") in /proc/cpuinfo: 1 when a hypervisor
 * is among them, 0 when not, -1 for a processor that does not tell. */
static int has_hypervisor_flag(const char *root)
{
    char folder[PATH_MAX];
    char text[8192];
    snprintf(folder, sizeof(folder), "%s/proc", root);
    if (!cb_tree_read_text(folder, "cpuinfo", text, sizeof(text)))
        return -1;
    char *flags = strstr(text, "\nflags");
    if (!flags)
        return -1;
    flags[1 + strcspn(flags + 1, "\n")] = '\0';
    return strstr(flags, " hypervisor") != NULL;
}

static void read_virtualization(const char *root, struct cb_facts *facts)
{
    char folder[PATH_MAX];
    char line[128];
    char *out = facts->virtualization;
    int flag = has_hypervisor_flag(root);
    if (flag == 0) {
        set_text(out, sizeof(facts->virtualization), "none");
        return;
    }
    snprintf(folder, sizeof(folder), "%s/sys/class/dmi/id", root);
    for (size_t i = 0; i < sizeof(makers) / sizeof(*makers); i++)
        if (flag > 0 && cb_tree_read_line(folder, makers[i].file, line, sizeof(line)) &&
            strstr(line, makers[i].text)) {
            set_text(out, sizeof(facts->virtualization), makers[i].hypervisor);
            return;
        }
    if (flag > 0)
        set_text(out, sizeof(facts->virtualization), "a hypervisor");
}

/* What container runtimes leave inside. */
static const struct container_row {
    const char *path;
    const char *text; /* in that file; NULL: that it is there */
    const char *container;
} containers[] = {
    {"/proc/self/cgroup", "kubepods", "Kubernetes"},
    {"/var/run/secrets/kubernetes.io", NULL, "Kubernetes"},
    {"/.dockerenv", NULL, "Docker"},
    {"/run/.containerenv", NULL, "Podman"},
    {"/.singularity.d", NULL, "Apptainer"},
    {"/run/systemd/container", NULL, "a container"},
    {"/proc/self/cgroup", "/docker", "Docker"},
    {"/proc/self/cgroup", "/lxc", "LXC"},
};

static void read_container(const char *root, struct cb_facts *facts)
{
    char text[4096];
    const char *found = cb_tree_exists(root, "proc/self/cgroup") ? "none" : "";
    for (size_t i = 0; i < sizeof(containers) / sizeof(*containers); i++) {
        const struct container_row *row = &containers[i];
        bool there = row->text ? cb_tree_read_text(root, row->path, text, sizeof(text)) &&
                                     strstr(text, row->text)
                               : cb_tree_exists(root, row->path);
        if (there) {
            found = row->container;
            break;
        }
    }
    set_text(facts->container, sizeof(facts->container), found);
}

/* ---- kernel settings ---- */

static void read_pci(const char *root, struct cb_facts *facts)
{
    char folder[PATH_MAX];
    char **names;
    snprintf(folder, sizeof(folder), "%s/sys/bus/pci/devices", root);
    size_t count = cb_tree_list(folder, &names);
    facts->pci_devices = (int)count;
    facts->pci_locality = count ? 0 : -1;
    for (size_t i = 0; i < count; i++)
        facts->pci_locality |= cb_pci_read_numa(root, names[i]) >= 0;
    cb_tree_free_names(names, count);
}

/* -1 in a container, which may not see the host's processes. */
static int find_process(const char *root, const char *name, bool sees_host)
{
    char folder[PATH_MAX + 64];
    char line[32];
    char **names;
    bool found = false;
    snprintf(folder, sizeof(folder), "%s/proc", root);
    size_t count = cb_tree_list(folder, &names);
    for (size_t i = 0; i < count && !found; i++) {
        snprintf(folder, sizeof(folder), "%s/proc/%.20s", root, names[i]);
        found = isdigit((unsigned char)names[i][0]) &&
                cb_tree_read_line(folder, "comm", line, sizeof(line)) && strcmp(line, name) == 0;
    }
    cb_tree_free_names(names, count);
    return found ? 1 : sees_host && count ? 0 : -1;
}

static int read_peermem(const char *root)
{
    static const char *const places[] = {
        "sys/module/nvidia_peermem", "sys/kernel/mm/memory_peers/nv_mem",
        "sys/kernel/mm/memory_peers/nv_mem_nc", "sys/module/nv_peer_mem"};
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
        if (cb_tree_exists(root, places[i]))
            return 1;
    return cb_tree_exists(root, "sys/module/nvidia") ? 0 : -1;
}

/* Source of both conditions: NVIDIA GPUDirect RDMA documentation, "Supported Systems". */
static int read_dmabuf(const char *root)
{
    char text[512];
    char *end;
    if (!cb_tree_read_text(root, "proc/driver/nvidia/version", text, sizeof(text)))
        return -1;
    bool open_modules = strstr(text, "Open Kernel Module") != NULL;
    if (!cb_tree_read_text(root, "proc/sys/kernel/osrelease", text, sizeof(text)))
        return -1;
    long major = strtol(text, &end, 10);
    long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    return open_modules && (major > 5 || (major == 5 && minor >= 12));
}

static void read_settings(const char *root, struct cb_facts *facts)
{
    char line[64] = "";
    bool sees_host = strcmp(facts->container, "none") == 0;
    cb_tree_read_line(root, "proc/sys/net/ipv4/tcp_congestion_control", line, sizeof(line));
    set_text(facts->tcp_congestion, sizeof(facts->tcp_congestion), line);
    /* The kernel keeps 15 characters of "nv-fabricmanager". */
    facts->fabric_manager = find_process(root, "nv-fabricmanage", sees_host);
    facts->peermem = read_peermem(root);
    facts->dmabuf = read_dmabuf(root);
    facts->cpu_limit = cb_topo_read_cpu_limit(root);
}

/* ---- NICs ---- */

/* "4: ACTIVE" as "ACTIVE". */
static void read_state(const char *folder, const char *file, struct cb_facts_nic *nic)
{
    char line[64] = "";
    cb_tree_read_line(folder, file, line, sizeof(line));
    const char *colon = strstr(line, ": ");
    set_text(nic->state, sizeof(nic->state), colon ? colon + 2 : line);
}

/* Empty slots of the table answer with an error: the next one may hold something. */
static void read_roce(const char *port_folder, struct cb_facts_nic *nic)
{
    char folder[PATH_MAX + 64];
    char line[32];
    char **names;
    snprintf(folder, sizeof(folder), "%s/gid_attrs/types", port_folder);
    size_t count = cb_tree_list(folder, &names);
    if (count)
        nic->roce_v1 = nic->roce_v2 = 0;
    for (size_t i = 0; i < count; i++) {
        if (!cb_tree_read_line(folder, names[i], line, sizeof(line)))
            continue;
        nic->roce_v1 |= strcmp(line, "IB/RoCE v1") == 0;
        nic->roce_v2 |= strcmp(line, "RoCE v2") == 0;
    }
    cb_tree_free_names(names, count);
}

static void read_nic(const char *root, struct cb_facts_nic *nic)
{
    char folder[PATH_MAX];
    char port_folder[PATH_MAX + 32];
    const char *colon = strchr(nic->port.name, ':');
    if (colon) {
        snprintf(folder, sizeof(folder), "%s/sys/class/infiniband/%.*s", root,
                 (int)(colon - nic->port.name), nic->port.name);
        snprintf(port_folder, sizeof(port_folder), "%s/ports/%s", folder, colon + 1);
        read_state(port_folder, "state", nic);
        if (strcmp(nic->port.kind, "RoCE") == 0)
            read_roce(port_folder, nic);
    } else {
        snprintf(folder, sizeof(folder), "%s/sys/class/net/%s", root, nic->port.name);
        read_state(folder, "operstate", nic);
        cb_tree_read_link(folder, "master", nic->bond, sizeof(nic->bond));
    }
    if (!cb_pci_find(folder, nic->bus_id, sizeof(nic->bus_id)))
        return;
    cb_pci_read_link(root, nic->bus_id, &nic->pcie);
    if (nic->port.numa < 0)
        nic->port.numa = cb_pci_read_numa(root, nic->bus_id);
    nic->socket = cb_pci_read_socket(root, nic->port.numa);
}

static bool is_rdma_port(const struct cb_topo_nic *nic)
{
    return strchr(nic->name, ':') != NULL;
}

/* The RDMA port that an interface is the other face of, or NULL. */
static struct cb_facts_nic *find_port(struct cb_facts *facts, const struct cb_topo_nic *interface)
{
    for (int i = 0; i < facts->nic_count; i++) {
        struct cb_topo_nic *port = &facts->nics[i].port;
        if (is_rdma_port(port) && (strcmp(port->partner, interface->name) == 0 ||
                                   strcmp(port->name, interface->partner) == 0))
            return &facts->nics[i];
    }
    return NULL;
}

/* A port with two faces is one NIC: the RDMA one, with what the interface adds. */
static void merge_interface(const char *root, const struct cb_topo_nic *interface,
                            struct cb_facts_nic *nic)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s/sys/class/net/%s", root, interface->name);
    if (nic->port.mtu_bytes == 0)
        nic->port.mtu_bytes = interface->mtu_bytes;
    nic->port.used |= interface->used;
    cb_tree_read_link(folder, "master", nic->bond, sizeof(nic->bond));
}

/* What is not hardware carries nothing, unless the job's route leaves through it. */
static bool is_worth_keeping(const struct cb_facts_nic *nic)
{
    return nic->bus_id[0] || nic->port.used || is_rdma_port(&nic->port);
}

static int read_nics(const char *root, const char *used, struct cb_facts *facts,
                     struct cb_error *err)
{
    struct cb_topo_nic *nics;
    size_t count;
    int rc = cb_topo_list_nics(root, used, &nics, &count, err);
    if (rc)
        return rc;
    /* RDMA ports first, so that an interface finds the port it belongs to. */
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < count; i++) {
            struct cb_facts_nic nic;
            struct cb_facts_nic *port = pass ? find_port(facts, &nics[i]) : NULL;
            if (is_rdma_port(&nics[i]) == (pass == 1))
                continue;
            if (port) {
                merge_interface(root, &nics[i], port);
                continue;
            }
            cb_facts_nic_init(&nic);
            nic.port = nics[i];
            read_nic(root, &nic);
            if (!is_worth_keeping(&nic))
                continue;
            facts->nics_found++;
            if (facts->nic_count < CB_FACTS_NICS)
                facts->nics[facts->nic_count++] = nic;
        }
    free(nics);
    return CB_OK;
}

int cb_facts_read_node(const char *sysroot, const char *used, struct cb_facts *out,
                       struct cb_error *err)
{
    const char *root = root_of(sysroot);
    cb_facts_init(out);
    read_virtualization(root, out);
    read_container(root, out);
    read_pci(root, out);
    read_settings(root, out);
    return read_nics(root, used, out, err);
}

void cb_facts_read_gpu(const char *sysroot, struct cb_facts_gpu *gpu)
{
    const char *root = root_of(sysroot);
    struct cb_facts_pcie pcie = gpu->pcie;
    if (gpu->numa < 0)
        gpu->numa = cb_pci_read_numa(root, gpu->bus_id);
    gpu->socket = cb_pci_read_socket(root, gpu->numa);
    if (pcie.generation_limit > 0 && pcie.width_limit > 0)
        return;
    cb_pci_read_link(root, gpu->bus_id, &pcie);
    gpu->pcie = pcie;
}

/* ---- what stands between devices ---- */

static void add_bridge(void *arg, const char *bridge)
{
    struct cb_facts *facts = arg;
    if (facts->acs_bridges <= 0)
        set_text(facts->acs_bridge, sizeof(facts->acs_bridge), bridge);
    /* A bridge above several devices is counted for each: what matters is whether there is any. */
    facts->acs_bridges = facts->acs_bridges < 0 ? 1 : facts->acs_bridges + 1;
}

void cb_facts_read_isolation(const char *sysroot, struct cb_facts *facts)
{
    const char *root = root_of(sysroot);
    bool readable = facts->gpu_count > 0;
    facts->acs_bridges = -1;
    for (int i = 0; i < facts->gpu_count; i++) {
        const char *bus_id = facts->gpus[i].bus_id;
        int iommu = cb_pci_read_iommu(root, bus_id);
        facts->iommu = iommu > facts->iommu ? iommu : facts->iommu;
        readable &= cb_pci_visit_redirecting(root, bus_id, add_bridge, facts);
    }
    if (facts->acs_bridges < 0 && readable)
        facts->acs_bridges = 0;
}

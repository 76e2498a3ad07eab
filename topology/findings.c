#include "topology/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "reference/gpus.h"

static const char *const severities[] = {
    [CB_SEVERITY_INFO] = "info",
    [CB_SEVERITY_WARNING] = "warning",
    [CB_SEVERITY_ERROR] = "error",
};

const char *cb_severity_name(enum cb_severity severity)
{
    return severities[severity];
}

int cb_severity_parse(const char *name)
{
    return cb_names_find(severities, CB_SEVERITY_COUNT, name);
}

/* ---- saying what was seen ---- */

struct look {
    const struct cb_facts *facts;
    const struct cb_findings_context *context;
    char *seen;
    size_t seen_size;
    int count; /* of what was seen */
};

/* The first is told in full, of the others the number. */
static void see(struct look *look, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void see(struct look *look, const char *format, ...)
{
    va_list arguments;
    if (look->count++ > 0)
        return;
    va_start(arguments, format);
    vsnprintf(look->seen, look->seen_size, format, arguments);
    va_end(arguments);
}

static void see_more(const struct look *look)
{
    size_t used = strlen(look->seen);
    if (look->count > 1)
        snprintf(look->seen + used, look->seen_size - used, "; and %d more", look->count - 1);
}

#define FOR_EACH(type, item, array, count)                                                         \
    for (const struct type *item = (array); item < (array) + (count); item++)
#define FOR_EACH_GPU(look, gpu)                                                                    \
    FOR_EACH(cb_facts_gpu, gpu, (look)->facts->gpus, (look)->facts->gpu_count)
#define FOR_EACH_NIC(look, nic)                                                                    \
    FOR_EACH(cb_facts_nic, nic, (look)->facts->nics, (look)->facts->nic_count)
#define FOR_EACH_LINK(look, link)                                                                  \
    FOR_EACH(cb_facts_link, link, (look)->facts->links, (look)->facts->link_count)

/* ---- what devices are ---- */

static bool has_kind(const struct cb_facts_nic *nic, const char *kind)
{
    return strcmp(nic->port.kind, kind) == 0;
}

static bool is_rdma(const struct cb_facts_nic *nic)
{
    static const char *const kinds[] = {"InfiniBand", "RoCE",  "EFA", "Slingshot",
                                        "Omni-Path",  "iWARP", "RDMA"};
    return cb_names_find(kinds, sizeof(kinds) / sizeof(*kinds), nic->port.kind) >= 0;
}

/* The hypervisor decides what its guest sees of the PCI tree, and needs the isolation that costs
 * bandwidth on bare metal. */
static bool is_guest(const struct cb_facts *facts)
{
    return facts->virtualization[0] && strcmp(facts->virtualization, "none") != 0;
}

/* "0000:c1:00" of "0000:c1:00.1": functions of one card. */
static bool is_same_card(const struct cb_facts_nic *a, const struct cb_facts_nic *b)
{
    size_t length = strcspn(a->bus_id, ".");
    return a->bus_id[0] && strncmp(a->bus_id, b->bus_id, length) == 0 &&
           b->bus_id[length] == a->bus_id[length];
}

/* ---- PCIe ---- */

static void look_at_width(struct look *look)
{
    FOR_EACH_GPU(look, gpu)
        if (gpu->pcie.width > 0 && gpu->pcie.width < gpu->pcie.width_limit)
            see(look, "GPU%d %s runs %d of %d PCIe lanes", gpu->index, gpu->bus_id, gpu->pcie.width,
                gpu->pcie.width_limit);
    FOR_EACH_NIC(look, nic)
        if (nic->pcie.width > 0 && nic->pcie.width < nic->pcie.width_limit)
            see(look, "%s %s runs %d of %d PCIe lanes", nic->port.name, nic->bus_id,
                nic->pcie.width, nic->pcie.width_limit);
}

/* An idle GPU lowers its link's generation; a NIC does not. */
static void look_at_generation(struct look *look)
{
    FOR_EACH_GPU(look, gpu)
        if (gpu->pcie.loaded && gpu->pcie.generation > 0 &&
            gpu->pcie.generation < gpu->pcie.generation_limit)
            see(look, "GPU%d %s ran PCIe generation %d under load, %d is possible", gpu->index,
                gpu->bus_id, gpu->pcie.generation, gpu->pcie.generation_limit);
    FOR_EACH_NIC(look, nic)
        if (nic->pcie.generation > 0 && nic->pcie.generation < nic->pcie.generation_limit)
            see(look, "%s %s runs PCIe generation %d, %d is possible", nic->port.name, nic->bus_id,
                nic->pcie.generation, nic->pcie.generation_limit);
}

static void look_at_acs(struct look *look)
{
    const struct cb_facts *facts = look->facts;
    if (facts->acs_bridges > 0 && !is_guest(facts))
        see(look, "bridge %s above a GPU redirects requests to the root (%d ways up in all)",
            facts->acs_bridge, facts->acs_bridges);
}

static void look_at_iommu(struct look *look)
{
    if (look->facts->iommu > 0 && !is_guest(look->facts))
        see(look, "the IOMMU translates the addresses of the GPUs");
}

static void look_at_hidden_tree(struct look *look)
{
    const struct cb_facts *facts = look->facts;
    if (facts->pci_devices != 0)
        return;
    bool in_container = facts->container[0] && strcmp(facts->container, "none") != 0;
    see(look, "the kernel shows no PCI device%s%s", in_container ? " in " : "",
        in_container ? facts->container : "");
}

static void look_at_locality(struct look *look)
{
    const struct cb_facts *facts = look->facts;
    if (facts->pci_devices > 0 && facts->pci_locality == 0 && is_guest(facts) &&
        facts->gpu_count > 0)
        see(look, "under %s no PCI device says which NUMA node is its own", facts->virtualization);
}

/* ---- GPUs among themselves ---- */

static const char *const access_reasons[] = {
    [CB_PEER_OK] = "",
    [CB_PEER_CHIPSET] = "the chipset does not forward it",
    [CB_PEER_GPU] = "the model does not offer it",
    [CB_PEER_TOPOLOGY] = "the path between them does not allow it",
    [CB_PEER_SETTING] = "a driver setting forbids it",
    [CB_PEER_UNSUPPORTED] = "not supported",
    [CB_PEER_UNKNOWN] = "NVML does not say why",
};

static void look_at_peer_access(struct look *look)
{
    FOR_EACH_LINK(look, link)
        if (link->peer_access > CB_PEER_OK && link->peer_access <= CB_PEER_UNKNOWN)
            see(look, "%s cannot reach %s's memory: %s", link->a, link->b,
                access_reasons[link->peer_access]);
}

static int most_nvlinks(const struct look *look)
{
    int most = 0;
    FOR_EACH_GPU(look, gpu)
        most = gpu->nvlinks > most ? gpu->nvlinks : most;
    return most;
}

static const struct variant_row {
    const char *name;     /* in a driver's name */
    const char *original; /* what it was cut from */
    int links, original_links;
} variants[] = {
    {"A800-SXM", "A100-SXM", 8, 12},
    {"H800", "H100", 8, 18},
};

static const struct variant_row *find_variant(const char *name, bool by_original)
{
    for (size_t i = 0; i < sizeof(variants) / sizeof(*variants); i++)
        if (strstr(name, by_original ? variants[i].original : variants[i].name) &&
            !strstr(name, "PCIe"))
            return &variants[i];
    return NULL;
}

/* An export variant may answer for the links that were taken from it. */
static bool is_whole_variant(const struct cb_facts_gpu *gpu)
{
    const struct variant_row *variant = find_variant(gpu->name, false);
    return variant && gpu->nvlinks == variant->links;
}

/* A card against its own slots and against the others of the node: a table of products may be
 * wrong about a board, they are not. */
static void look_at_inactive_nvlinks(struct look *look)
{
    int most = most_nvlinks(look);
    FOR_EACH_GPU(look, gpu) {
        if (gpu->nvlinks < 0)
            continue;
        if (gpu->nvlinks < most)
            see(look, "GPU%d has %d active NVLinks, others of the node have %d", gpu->index,
                gpu->nvlinks, most);
        else if (gpu->nvlink_slots > gpu->nvlinks && !is_whole_variant(gpu))
            see(look, "GPU%d has %d active NVLinks of %d", gpu->index, gpu->nvlinks,
                gpu->nvlink_slots);
    }
}

/* All cards of the node alike, and fewer links than the product has; as many as the export variant
 * has is that rule's. */
static void look_at_few_nvlinks(struct look *look)
{
    int most = most_nvlinks(look);
    FOR_EACH_GPU(look, gpu) {
        const struct cb_gpu_reference *product = cb_gpu_reference_find_name(gpu->name);
        const struct variant_row *variant = find_variant(gpu->name, true);
        bool alone = look->facts->gpu_count < 2 && gpu->nvlinks == 0; /* nothing to link to */
        if (!product || gpu->nvlinks < 0 || gpu->nvlinks != most || alone ||
            (variant && gpu->nvlinks == variant->links))
            continue;
        if (gpu->nvlinks < product->nvlinks && gpu->nvlink_slots <= gpu->nvlinks)
            see(look, "GPU%d (%s) has %d NVLinks, the product has %d", gpu->index, gpu->name,
                gpu->nvlinks, product->nvlinks);
    }
}

static void look_at_variant(struct look *look)
{
    FOR_EACH_GPU(look, gpu) {
        const struct variant_row *variant = find_variant(gpu->name, false);
        if (variant)
            see(look, "GPU%d is a %s: %d NVLinks where the %s has %d", gpu->index, gpu->name,
                gpu->nvlinks > 0 ? gpu->nvlinks : variant->links, variant->original,
                variant->original_links);
        variant = find_variant(gpu->name, true);
        if (variant && gpu->nvlinks == variant->links && gpu->nvlink_slots <= gpu->nvlinks)
            see(look, "GPU%d calls itself %s but has %d NVLinks, as the %s has (%d expected)",
                gpu->index, gpu->name, gpu->nvlinks, variant->name, variant->original_links);
    }
}

/* GPUs on NVSwitches reach each other only where the fabric manager has set the switches up. */
static bool some_peers_reach(const struct look *look)
{
    FOR_EACH_LINK(look, link)
        if (link->peer_access == CB_PEER_OK)
            return true;
    return false;
}

static void look_at_fabric(struct look *look)
{
    FOR_EACH_GPU(look, gpu) {
        bool waits = gpu->fabric == CB_FABRIC_NOT_STARTED || gpu->fabric == CB_FABRIC_IN_PROGRESS;
        bool has_switch = gpu->nvlink_switch > 0 && gpu->fabric <= CB_FABRIC_NONE;
        if (waits)
            see(look, "GPU%d is not registered with the NVLink fabric (%s)", gpu->index,
                gpu->fabric == CB_FABRIC_NOT_STARTED ? "not started" : "in progress");
        else if (has_switch && look->facts->fabric_manager == 0 && !some_peers_reach(look))
            see(look,
                "GPU%d hangs on an NVSwitch, reaches no peer, and nv-fabricmanager does not run",
                gpu->index);
        else if (gpu->fabric_unhealthy > 0)
            see(look, "the driver calls the NVLink fabric of GPU%d degraded", gpu->index);
    }
}

static void look_at_mig(struct look *look)
{
    FOR_EACH_GPU(look, gpu)
        if (gpu->mig > 0)
            see(look, "GPU%d is partitioned (MIG)", gpu->index);
}

/* ---- GPUs and NICs ---- */

/* The NICs that traffic between nodes would take: the RDMA ones where there are any. A matrix tells
 * neither bus id nor kind. */
static bool counts(const struct cb_facts_nic *nic, bool rdma_only)
{
    return is_rdma(nic) || (!rdma_only && (nic->bus_id[0] || !nic->port.kind[0]));
}

static bool has_rdma(const struct look *look)
{
    FOR_EACH_NIC(look, nic)
        if (is_rdma(nic))
            return true;
    return false;
}

static void look_at_distance(struct look *look)
{
    bool rdma_only = has_rdma(look);
    FOR_EACH_GPU(look, gpu) {
        char name[32];
        int near = 0, far = 0;
        cb_facts_gpu_name(gpu, name, sizeof(name));
        FOR_EACH_NIC(look, nic) {
            int link =
                counts(nic, rdma_only) ? cb_facts_find_link(look->facts, name, nic->port.name) : -1;
            const char *path = link < 0 ? "" : look->facts->links[link].path;
            far += strcmp(path, "SYS") == 0;
            near += path[0] && strcmp(path, "SYS") != 0;
        }
        if (far > 0 && near == 0)
            see(look, "%s has no NIC on its own NUMA node: the nearest is across (SYS)", name);
    }
}

static void look_at_gpudirect(struct look *look)
{
    const struct cb_facts *facts = look->facts;
    if (facts->gpu_count > 0 && has_rdma(look) && facts->peermem == 0 && facts->dmabuf == 0)
        see(look, "neither nvidia_peermem nor DMA-BUF: RDMA NICs cannot reach GPU memory");
}

static void look_at_cpus(struct look *look)
{
    const struct cb_facts *facts = look->facts;
    if (facts->gpu_count == 0)
        return;
    if (facts->allowed_cpus > 0 && facts->allowed_cpus < facts->gpu_count)
        see(look, "%d CPUs may be used beside %d GPUs", facts->allowed_cpus, facts->gpu_count);
    else if (facts->cpu_limit > 0 && facts->cpu_limit < facts->gpu_count)
        see(look, "the cgroup grants the time of %.3g CPUs beside %d GPUs", facts->cpu_limit,
            facts->gpu_count);
}

static void look_at_ranks(struct look *look)
{
    if (!look->context)
        return;
    FOR_EACH(cb_findings_rank, rank, look->context->ranks, look->context->rank_count)
        if (rank->near == 0)
            see(look, "rank %d runs on no CPU that is near its %s", rank->rank, rank->device);
}

/* ---- NICs ---- */

/* A second port of a card that has another one up is one that nobody plugged in. */
static void look_at_down_ports(struct look *look)
{
    FOR_EACH_NIC(look, nic) {
        bool other_is_up = false, card_is_up = false;
        FOR_EACH_NIC(look, other) {
            other_is_up |= is_rdma(other) && other->port.up;
            card_is_up |= other->port.up && is_same_card(nic, other);
        }
        if (is_rdma(nic) && !nic->port.up && other_is_up && !card_is_up)
            see(look, "%s (%s) is %s while other ports are up", nic->port.name, nic->port.kind,
                nic->state[0] ? nic->state : "down");
    }
}

static void look_at_mixed_speeds(struct look *look)
{
    FOR_EACH_NIC(look, nic) {
        const struct cb_facts_nic *faster = NULL;
        FOR_EACH_NIC(look, other)
            if (other->port.up && strcmp(other->port.kind, nic->port.kind) == 0 &&
                other->port.nominal_bytes_per_s > nic->port.nominal_bytes_per_s * 1.01 &&
                !other->port.virtual_function)
                faster = other;
        if (faster && is_rdma(nic) && nic->port.up && nic->port.nominal_bytes_per_s > 0 &&
            !nic->port.virtual_function)
            see(look, "%s runs at %.4g Gb/s, %s at %.4g Gb/s", nic->port.name,
                nic->port.nominal_bytes_per_s * 8e-9, faster->port.name,
                faster->port.nominal_bytes_per_s * 8e-9);
    }
}

/* RoCE packs up to 4096 bytes into a packet, which with its headers needs an MTU of 4200. */
static void look_at_mtu(struct look *look)
{
    FOR_EACH_NIC(look, nic)
        if (has_kind(nic, "RoCE") && nic->port.up && nic->port.mtu_bytes > 0 &&
            nic->port.mtu_bytes < 4200)
            see(look, "%s carries RoCE with an MTU of %d", nic->port.name, nic->port.mtu_bytes);
}

static void look_at_roce_version(struct look *look)
{
    FOR_EACH_NIC(look, nic)
        if (has_kind(nic, "RoCE") && nic->port.up && nic->roce_v1 > 0 && nic->roce_v2 == 0)
            see(look, "%s offers RoCE v1 only", nic->port.name);
}

static void look_at_functions(struct look *look)
{
    bool rdma_only = has_rdma(look);
    FOR_EACH_NIC(look, nic)
        if (nic->port.virtual_function && nic->port.up &&
            (nic->port.used || counts(nic, rdma_only)))
            see(look, "%s is a virtual function", nic->port.name);
}

static void look_at_unknown_speed(struct look *look)
{
    FOR_EACH_NIC(look, nic)
        if (nic->port.used && nic->port.up && !(nic->port.nominal_bytes_per_s > 0))
            see(look, "%s (driver %s) does not know its speed", nic->port.name,
                nic->port.driver[0] ? nic->port.driver : "unknown");
}

static void look_at_unused(struct look *look)
{
    const struct cb_facts_nic *used = NULL;
    int used_count = 0, unused = 0;
    bool rdma_only = has_rdma(look);
    FOR_EACH_NIC(look, nic) {
        used_count += nic->port.used;
        if (nic->port.used)
            used = nic;
        unused += !nic->port.used && nic->port.up && counts(nic, rdma_only) &&
                  nic->port.nominal_bytes_per_s > 0 && !nic->bond[0];
    }
    if (used_count == 1 && unused > 0)
        see(look, "the route to the other nodes takes %s; %d more could carry traffic",
            used->port.name, unused);
}

static void look_at_offer(struct look *look)
{
    const char *offered = look->context ? look->context->offered_kind : NULL;
    int others = 0;
    const struct cb_facts_nic *first = NULL;
    if (!offered || strcmp(offered, "InfiniBand") != 0)
        return;
    FOR_EACH_NIC(look, nic) {
        if (has_kind(nic, "InfiniBand"))
            return;
        first = first ? first : nic;
        others++;
    }
    if (others)
        see(look, "no port is InfiniBand; %s is %s", first->port.name,
            first->port.kind[0] ? first->port.kind : "of unknown kind");
}

static void look_at_congestion(struct look *look)
{
    bool alone = look->context && look->context->node_count == 1;
    if (!alone && strncmp(look->facts->tcp_congestion, "bbr", 3) == 0)
        see(look, "TCP uses %s (net.ipv4.tcp_congestion_control)", look->facts->tcp_congestion);
}

/* ---- the table ---- */

static const struct rule {
    const char *code;
    enum cb_severity severity;
    void (*look)(struct look *look);
    const char *why, *remedy;
} rules[] = {
    {"pcie.width", CB_SEVERITY_ERROR, look_at_width,
     "half the lanes are half the bandwidth to and from the device",
     "reseat card or riser, clean the contacts, look at the slot's wiring and bifurcation in the "
     "BIOS; then lspci -vv (LnkSta)"},
    {"pcie.generation", CB_SEVERITY_ERROR, look_at_generation,
     "each generation less halves the bandwidth to and from the device",
     "set the slot to its generation in the BIOS, update firmware, exchange riser or card; then "
     "lspci -vv (LnkSta)"},
    {"port.down", CB_SEVERITY_ERROR, look_at_down_ports,
     "NCCL leaves it out, or hangs on it; the GPUs beside it share another NIC",
     "look at cable and switch port (ibstat, ethtool); INIT on InfiniBand means that no subnet "
     "manager answers"},
    {"port.mixed_speeds", CB_SEVERITY_ERROR, look_at_mixed_speeds,
     "a collective goes at the pace of the slowest port",
     "look at the slower port's cable, transceiver and switch port; leave a port of another role "
     "out with NCCL_IB_HCA"},
    {"nvlink.inactive", CB_SEVERITY_ERROR, look_at_inactive_nvlinks,
     "all collectives of the node go at the pace of the GPU with the fewest links",
     "nvidia-smi nvlink -s and dmesg | grep -i nvlink; restart nv-fabricmanager, reset the GPU, "
     "else have the board exchanged"},
    {"nvlink.fabric", CB_SEVERITY_ERROR, look_at_fabric,
     "without it GPUs on NVSwitches do not reach each other over NVLink, or CUDA does not start",
     "systemctl start nvidia-fabricmanager, of the driver's very version; then nvidia-smi -q | "
     "grep -A 4 Fabric"},
    {"gpu.gpudirect_missing", CB_SEVERITY_ERROR, look_at_gpudirect,
     "every message between nodes is copied through the host's memory, at a fraction of the "
     "network's rate",
     "modprobe nvidia_peermem, or install the driver's open kernel modules (DMA-BUF, Linux 5.12 "
     "and newer)"},
    {"rank.away", CB_SEVERITY_ERROR, look_at_ranks,
     "its launches, copies and network progress cross the link between the sockets",
     "--bind auto with the launcher's own binding off (mpirun --bind-to none, srun "
     "--cpu-bind=none), or bind by the GPU's NUMA node"},
    {"offer.not_infiniband", CB_SEVERITY_ERROR, look_at_offer,
     "Ethernet under the name of InfiniBand has other latencies, and RoCE needs a network "
     "configured for it",
     "ask the provider which ports carry the InfiniBand that was offered"},
    {"acs.on", CB_SEVERITY_WARNING, look_at_acs,
     "transfers between GPUs, and between a GPU and its NIC, below one switch go up to the CPU "
     "and back",
     "switch ACS off in the BIOS, or for these bridges with setpci (as root, at each boot); "
     "leave it on where virtual machines share the host"},
    {"iommu.translating", CB_SEVERITY_WARNING, look_at_iommu,
     "direct transfers between devices are slowed down or fail",
     "boot with iommu=pt (and intel_iommu=on or amd_iommu=on), or switch the IOMMU off in the "
     "BIOS; Grace needs it as it is"},
    {"gpu.peer_access", CB_SEVERITY_WARNING, look_at_peer_access,
     "NCCL stages their traffic in the host's memory",
     "nvidia-smi topo -p2p r; GeForce cards do not offer it at all; else look at ACS, IOMMU and "
     "the driver's settings"},
    {"gpu.nic_far", CB_SEVERITY_WARNING, look_at_distance,
     "its traffic to other nodes crosses the link between the sockets, at less than the NIC's "
     "rate; NCCL may go through a neighbour's NVLink instead (PXN)",
     "put a NIC beside it, or leave NCCL_PXN_DISABLE unset; in a virtual machine ask for the true "
     "topology"},
    {"nvlink.fewer", CB_SEVERITY_WARNING, look_at_few_nvlinks,
     "the bandwidth between the GPUs of the node is that many links' and no more",
     "compare with the offer; nvidia-smi nvlink -s; bridges of PCIe cards must be fitted"},
    {"nvlink.export_variant", CB_SEVERITY_WARNING, look_at_variant,
     "its NVLink bandwidth is that of its fewer links; figures of the original do not apply",
     "compare with what was offered: an original at its price has all links"},
    {"gpu.mig", CB_SEVERITY_WARNING, look_at_mig,
     "slices have neither NVLink nor peer access, and NCCL takes one per card at most",
     "nvidia-smi -mig 0 as root, with nothing running on the card"},
    {"cpu.fewer_than_gpus", CB_SEVERITY_WARNING, look_at_cpus,
     "the processes that drive the GPUs take turns on the CPUs, which shows in every small "
     "message",
     "ask the scheduler for more CPUs (srun --cpus-per-task), or widen the container's limit"},
    {"roce.mtu", CB_SEVERITY_WARNING, look_at_mtu,
     "RoCE then sends packets of 1024 bytes: more headers, more work per byte",
     "ip link set dev INTERFACE mtu 9000 on all hosts and switches of the path; some clouds fix "
     "it"},
    {"roce.v1", CB_SEVERITY_WARNING, look_at_roce_version,
     "RoCE v1 is not routed, and switches cannot mark its congestion",
     "give the interface an IP address (v2 entries come with it), or set NCCL_IB_GID_INDEX to a v2 "
     "entry (show_gids)"},
    {"nic.virtual_function", CB_SEVERITY_WARNING, look_at_functions,
     "it shares its port's rate with the port's other functions, which may belong to others",
     "ask the provider for whole NICs, or for the rate that is guaranteed"},
    {"tcp.bbr", CB_SEVERITY_WARNING, look_at_congestion,
     "its probing makes collectives over TCP vary: all_reduce of 4 to 8 MiB by 0.94 to 1.38 of the "
     "median, where cubic stays within 0.1 %",
     "sysctl net.ipv4.tcp_congestion_control=cubic on every node"},
    {"nic.speed_made_up", CB_SEVERITY_INFO, look_at_unknown_speed,
     "what was measured cannot be compared with what the interface should do",
     "state what the offer says with --nominal-bandwidth"},
    {"nic.one_of_several", CB_SEVERITY_INFO, look_at_unused,
     "the node could send more than one interface carries",
     "over TCP: a bond, or mpirun --mca btl_tcp_if_include; RDMA: mpirun --mca pml ucx, and "
     "NCCL_IB_HCA unset"},
    {"pci.hidden", CB_SEVERITY_INFO, look_at_hidden_tree,
     "which GPU is near which NIC cannot be told, and NCCL cannot tell either",
     "give the container the host's /sys, or a topology file (NCCL_TOPO_FILE)"},
    {"pci.no_locality", CB_SEVERITY_INFO, look_at_locality,
     "which GPU is near which NIC cannot be told, and ranks cannot be placed by it",
     "the provider's topology file tells NCCL (NCCL_TOPO_FILE); ask for it"},
};

enum { RULES = sizeof(rules) / sizeof(*rules) };
_Static_assert(RULES <= CB_FINDINGS_MAX, "each rule gives one finding at most");

const char *cb_findings_code(size_t index)
{
    return index < RULES ? rules[index].code : NULL;
}

size_t cb_findings_find(const struct cb_facts *facts, const struct cb_findings_context *context,
                        struct cb_finding found[CB_FINDINGS_MAX])
{
    size_t count = 0;
    /* The table is in order of severity. */
    for (size_t i = 0; i < RULES; i++) {
        struct cb_finding finding = {.severity = rules[i].severity};
        struct look look = {.facts = facts,
                            .context = context,
                            .seen = finding.seen,
                            .seen_size = sizeof(finding.seen)};
        rules[i].look(&look);
        if (look.count == 0)
            continue;
        see_more(&look);
        snprintf(finding.code, sizeof(finding.code), "%s", rules[i].code);
        snprintf(finding.why, sizeof(finding.why), "%s", rules[i].why);
        snprintf(finding.remedy, sizeof(finding.remedy), "%s", rules[i].remedy);
        found[count++] = finding;
    }
    return count;
}

#include "topology/findings_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"

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

void cb_look_see(struct cb_look *look, const char *format, ...)
{
    va_list arguments;
    if (look->count++ > 0)
        return;
    va_start(arguments, format);
    vsnprintf(look->seen, look->seen_size, format, arguments);
    va_end(arguments);
}

/* The first is told in full, of the others the number. */
static void see_more(const struct cb_look *look)
{
    size_t used = strlen(look->seen);
    if (look->count > 1)
        snprintf(look->seen + used, look->seen_size - used, "; and %d more", look->count - 1);
}

/* ---- what devices are ---- */

bool cb_look_is_guest(const struct cb_facts *facts)
{
    return facts->virtualization[0] && strcmp(facts->virtualization, "none") != 0;
}

bool cb_look_is_rdma(const struct cb_facts_nic *nic)
{
    static const char *const kinds[] = {"InfiniBand", "RoCE",  "EFA", "Slingshot",
                                        "Omni-Path",  "iWARP", "RDMA"};
    return cb_names_find(kinds, sizeof(kinds) / sizeof(*kinds), nic->port.kind) >= 0;
}

bool cb_look_has_rdma(const struct cb_look *look)
{
    FOR_EACH_NIC(look, nic)
        if (cb_look_is_rdma(nic))
            return true;
    return false;
}

/* A matrix tells neither bus id nor kind. */
bool cb_look_counts(const struct cb_facts_nic *nic, bool rdma_only)
{
    return cb_look_is_rdma(nic) || (!rdma_only && (nic->bus_id[0] || !nic->port.kind[0]));
}

/* ---- the table ---- */

static const struct rule {
    const char *code;
    enum cb_severity severity;
    void (*look)(struct cb_look *look);
    const char *why, *remedy;
} rules[] = {
    {"pcie.width", CB_SEVERITY_ERROR, cb_look_at_width,
     "half the lanes are half the bandwidth to and from the device",
     "reseat card or riser, clean the contacts, look at the slot's wiring and bifurcation in the "
     "BIOS; then lspci -vv (LnkSta)"},
    {"pcie.generation", CB_SEVERITY_ERROR, cb_look_at_generation,
     "each generation less halves the bandwidth to and from the device",
     "set the slot to its generation in the BIOS, update firmware, exchange riser or card; then "
     "lspci -vv (LnkSta)"},
    {"port.down", CB_SEVERITY_ERROR, cb_look_at_down_ports,
     "NCCL leaves it out, or hangs on it; the GPUs beside it share another NIC",
     "look at cable and switch port (ibstat, ethtool); INIT on InfiniBand means that no subnet "
     "manager answers"},
    {"port.mixed_speeds", CB_SEVERITY_ERROR, cb_look_at_mixed_speeds,
     "a collective goes at the pace of the slowest port",
     "look at the slower port's cable, transceiver and switch port; leave a port of another role "
     "out with NCCL_IB_HCA"},
    {"nvlink.inactive", CB_SEVERITY_ERROR, cb_look_at_inactive_nvlinks,
     "all collectives of the node go at the pace of the GPU with the fewest links",
     "nvidia-smi nvlink -s and dmesg | grep -i nvlink; restart nv-fabricmanager, reset the GPU, "
     "else have the board exchanged"},
    {"nvlink.fabric", CB_SEVERITY_ERROR, cb_look_at_fabric,
     "without it GPUs on NVSwitches do not reach each other over NVLink, or CUDA does not start",
     "systemctl start nvidia-fabricmanager, of the driver's very version; then nvidia-smi -q | "
     "grep -A 4 Fabric"},
    {"gpu.gpudirect_missing", CB_SEVERITY_ERROR, cb_look_at_gpudirect,
     "every message between nodes is copied through the host's memory, at a fraction of the "
     "network's rate",
     "modprobe nvidia_peermem, or install the driver's open kernel modules (DMA-BUF, Linux 5.12 "
     "and newer)"},
    {"rank.away", CB_SEVERITY_ERROR, cb_look_at_ranks,
     "its launches, copies and network progress cross the link between the sockets",
     "--bind auto with the launcher's own binding off (mpirun --bind-to none, srun "
     "--cpu-bind=none), or bind by the GPU's NUMA node"},
    {"offer.not_infiniband", CB_SEVERITY_ERROR, cb_look_at_offer,
     "Ethernet under the name of InfiniBand has other latencies, and RoCE needs a network "
     "configured for it",
     "ask the provider which ports carry the InfiniBand that was offered"},
    {"acs.on", CB_SEVERITY_WARNING, cb_look_at_acs,
     "transfers between GPUs, and between a GPU and its NIC, below one switch go up to the CPU "
     "and back",
     "switch ACS off in the BIOS, or for these bridges with setpci (as root, at each boot); "
     "leave it on where virtual machines share the host"},
    {"iommu.translating", CB_SEVERITY_WARNING, cb_look_at_iommu,
     "direct transfers between devices are slowed down or fail",
     "boot with iommu=pt (and intel_iommu=on or amd_iommu=on), or switch the IOMMU off in the "
     "BIOS; Grace needs it as it is"},
    {"gpu.peer_access", CB_SEVERITY_WARNING, cb_look_at_peer_access,
     "NCCL stages their traffic in the host's memory",
     "nvidia-smi topo -p2p r; GeForce cards do not offer it at all; else look at ACS, IOMMU and "
     "the driver's settings"},
    {"gpu.nic_far", CB_SEVERITY_WARNING, cb_look_at_distance,
     "its traffic to other nodes crosses the link between the sockets, at less than the NIC's "
     "rate; NCCL may go through a neighbour's NVLink instead (PXN)",
     "put a NIC beside it, or leave NCCL_PXN_DISABLE unset; in a virtual machine ask for the true "
     "topology"},
    {"nvlink.fewer", CB_SEVERITY_WARNING, cb_look_at_few_nvlinks,
     "the bandwidth between the GPUs of the node is that many links' and no more",
     "compare with the offer; nvidia-smi nvlink -s; bridges of PCIe cards must be fitted"},
    {"nvlink.export_variant", CB_SEVERITY_WARNING, cb_look_at_variant,
     "its NVLink bandwidth is that of its fewer links; figures of the original do not apply",
     "compare with what was offered: an original at its price has all links"},
    {"gpu.mig", CB_SEVERITY_WARNING, cb_look_at_mig,
     "slices have neither NVLink nor peer access, and NCCL takes one per card at most",
     "nvidia-smi -mig 0 as root, with nothing running on the card"},
    {"cpu.fewer_than_gpus", CB_SEVERITY_WARNING, cb_look_at_cpus,
     "the processes that drive the GPUs take turns on the CPUs, which shows in every small "
     "message",
     "ask the scheduler for more CPUs (srun --cpus-per-task), or widen the container's limit"},
    {"roce.mtu", CB_SEVERITY_WARNING, cb_look_at_mtu,
     "RoCE then sends packets of 1024 bytes: more headers, more work per byte",
     "ip link set dev INTERFACE mtu 9000 on all hosts and switches of the path; some clouds fix "
     "it"},
    {"roce.v1", CB_SEVERITY_WARNING, cb_look_at_roce_version,
     "RoCE v1 is not routed, and switches cannot mark its congestion",
     "give the interface an IP address (v2 entries come with it), or set NCCL_IB_GID_INDEX to a v2 "
     "entry (show_gids)"},
    {"nic.virtual_function", CB_SEVERITY_WARNING, cb_look_at_functions,
     "it shares its port's rate with the port's other functions, which may belong to others",
     "ask the provider for whole NICs, or for the rate that is guaranteed"},
    {"tcp.bbr", CB_SEVERITY_WARNING, cb_look_at_congestion,
     "its probing makes collectives over TCP vary: all_reduce of 4 to 8 MiB by 0.94 to 1.38 of the "
     "median, where cubic stays within 0.1 %",
     "sysctl net.ipv4.tcp_congestion_control=cubic on every node"},
    {"nic.speed_made_up", CB_SEVERITY_INFO, cb_look_at_unknown_speed,
     "what was measured cannot be compared with what the interface should do",
     "state what the offer says with --nominal-bandwidth"},
    {"nic.one_of_several", CB_SEVERITY_INFO, cb_look_at_unused,
     "the node could send more than one interface carries",
     "over TCP: a bond, or mpirun --mca btl_tcp_if_include; RDMA: mpirun --mca pml ucx, and "
     "NCCL_IB_HCA unset"},
    {"pci.hidden", CB_SEVERITY_INFO, cb_look_at_hidden_tree,
     "which GPU is near which NIC cannot be told, and NCCL cannot tell either",
     "give the container the host's /sys, or a topology file (NCCL_TOPO_FILE)"},
    {"pci.no_locality", CB_SEVERITY_INFO, cb_look_at_locality,
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
        struct cb_look look = {.facts = facts,
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

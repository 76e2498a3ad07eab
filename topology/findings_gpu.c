/* Findings about GPUs, and about what stands between them. */
#include <string.h>

#include "reference/gpus.h"
#include "topology/findings_internal.h"

/* ---- PCIe ---- */

void cb_look_at_width(struct cb_look *look)
{
    FOR_EACH_GPU(look, gpu)
        if (gpu->pcie.width > 0 && gpu->pcie.width < gpu->pcie.width_limit)
            cb_look_see(look, "GPU%d %s runs %d of %d PCIe lanes", gpu->index, gpu->bus_id,
                        gpu->pcie.width, gpu->pcie.width_limit);
    FOR_EACH_NIC(look, nic)
        if (nic->pcie.width > 0 && nic->pcie.width < nic->pcie.width_limit)
            cb_look_see(look, "%s %s runs %d of %d PCIe lanes", nic->port.name, nic->bus_id,
                        nic->pcie.width, nic->pcie.width_limit);
}

/* An idle GPU lowers its link's generation; a NIC does not. */
void cb_look_at_generation(struct cb_look *look)
{
    FOR_EACH_GPU(look, gpu)
        if (gpu->pcie.loaded && gpu->pcie.generation > 0 &&
            gpu->pcie.generation < gpu->pcie.generation_limit)
            cb_look_see(look, "GPU%d %s ran PCIe generation %d under load, %d is possible",
                        gpu->index, gpu->bus_id, gpu->pcie.generation, gpu->pcie.generation_limit);
    FOR_EACH_NIC(look, nic)
        if (nic->pcie.generation > 0 && nic->pcie.generation < nic->pcie.generation_limit)
            cb_look_see(look, "%s %s runs PCIe generation %d, %d is possible", nic->port.name,
                        nic->bus_id, nic->pcie.generation, nic->pcie.generation_limit);
}

void cb_look_at_acs(struct cb_look *look)
{
    const struct cb_facts *facts = look->facts;
    if (facts->acs_bridges > 0 && !cb_look_is_guest(facts))
        cb_look_see(look,
                    "bridge %s above a GPU redirects requests to the root (%d ways up in all)",
                    facts->acs_bridge, facts->acs_bridges);
}

void cb_look_at_iommu(struct cb_look *look)
{
    if (look->facts->iommu > 0 && !cb_look_is_guest(look->facts))
        cb_look_see(look, "the IOMMU translates the addresses of the GPUs");
}

void cb_look_at_hidden_tree(struct cb_look *look)
{
    const struct cb_facts *facts = look->facts;
    if (facts->pci_devices != 0)
        return;
    bool in_container = facts->container[0] && strcmp(facts->container, "none") != 0;
    cb_look_see(look, "the kernel shows no PCI device%s%s", in_container ? " in " : "",
                in_container ? facts->container : "");
}

void cb_look_at_locality(struct cb_look *look)
{
    const struct cb_facts *facts = look->facts;
    if (facts->pci_devices > 0 && facts->pci_locality == 0 && cb_look_is_guest(facts) &&
        facts->gpu_count > 0)
        cb_look_see(look, "under %s no PCI device says which NUMA node is its own",
                    facts->virtualization);
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

void cb_look_at_peer_access(struct cb_look *look)
{
    FOR_EACH_LINK(look, link)
        if (link->peer_access > CB_PEER_OK && link->peer_access <= CB_PEER_UNKNOWN)
            cb_look_see(look, "%s cannot reach %s's memory: %s", link->a, link->b,
                        access_reasons[link->peer_access]);
}

static int most_nvlinks(const struct cb_look *look)
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
void cb_look_at_inactive_nvlinks(struct cb_look *look)
{
    int most = most_nvlinks(look);
    FOR_EACH_GPU(look, gpu) {
        if (gpu->nvlinks < 0)
            continue;
        if (gpu->nvlinks < most)
            cb_look_see(look, "GPU%d has %d active NVLinks, others of the node have %d", gpu->index,
                        gpu->nvlinks, most);
        else if (gpu->nvlink_slots > gpu->nvlinks && !is_whole_variant(gpu))
            cb_look_see(look, "GPU%d has %d active NVLinks of %d", gpu->index, gpu->nvlinks,
                        gpu->nvlink_slots);
    }
}

/* All cards of the node alike, and fewer links than the product has; as many as the export variant
 * has is that rule's. */
void cb_look_at_few_nvlinks(struct cb_look *look)
{
    int most = most_nvlinks(look);
    FOR_EACH_GPU(look, gpu) {
        const struct cb_gpu_reference *product = cb_gpu_reference_find_name(gpu->name);
        const struct variant_row *variant = find_variant(gpu->name, true);
        /* Nothing to link to, or a card whose links need a bridge that need not be bought. */
        bool alone =
            look->facts->gpu_count < 2 || strstr(gpu->name, "PCIe") || strstr(gpu->name, " NVL");
        if (!product || gpu->nvlinks < 0 || gpu->nvlinks != most || (alone && gpu->nvlinks == 0) ||
            (variant && gpu->nvlinks == variant->links))
            continue;
        if (gpu->nvlinks < product->nvlinks && gpu->nvlink_slots <= gpu->nvlinks)
            cb_look_see(look, "GPU%d (%s) has %d NVLinks, the product has %d", gpu->index,
                        gpu->name, gpu->nvlinks, product->nvlinks);
    }
}

void cb_look_at_variant(struct cb_look *look)
{
    FOR_EACH_GPU(look, gpu) {
        const struct variant_row *variant = find_variant(gpu->name, false);
        if (variant)
            cb_look_see(look, "GPU%d is a %s: %d NVLinks where the %s has %d", gpu->index,
                        gpu->name, gpu->nvlinks > 0 ? gpu->nvlinks : variant->links,
                        variant->original, variant->original_links);
        variant = find_variant(gpu->name, true);
        if (variant && gpu->nvlinks == variant->links && gpu->nvlink_slots <= gpu->nvlinks)
            cb_look_see(
                look, "GPU%d calls itself %s but has %d NVLinks, as the %s has (%d expected)",
                gpu->index, gpu->name, gpu->nvlinks, variant->name, variant->original_links);
    }
}

/* GPUs on NVSwitches reach each other only where the fabric manager has set the switches up. */
static bool some_peers_reach(const struct cb_look *look)
{
    FOR_EACH_LINK(look, link)
        if (link->peer_access == CB_PEER_OK)
            return true;
    return false;
}

void cb_look_at_fabric(struct cb_look *look)
{
    FOR_EACH_GPU(look, gpu) {
        bool waits = gpu->fabric == CB_FABRIC_NOT_STARTED || gpu->fabric == CB_FABRIC_IN_PROGRESS;
        bool has_switch = gpu->nvlink_switch > 0 && gpu->fabric <= CB_FABRIC_NONE;
        if (waits)
            cb_look_see(look, "GPU%d is not registered with the NVLink fabric (%s)", gpu->index,
                        gpu->fabric == CB_FABRIC_NOT_STARTED ? "not started" : "in progress");
        else if (has_switch && look->facts->fabric_manager == 0 && !some_peers_reach(look))
            cb_look_see(
                look,
                "GPU%d hangs on an NVSwitch, reaches no peer, and nv-fabricmanager does not run",
                gpu->index);
        else if (gpu->fabric_unhealthy > 0)
            cb_look_see(look, "the driver calls the NVLink fabric of GPU%d degraded", gpu->index);
    }
}

void cb_look_at_mig(struct cb_look *look)
{
    FOR_EACH_GPU(look, gpu)
        if (gpu->mig > 0)
            cb_look_see(look, "GPU%d is partitioned (MIG)", gpu->index);
}

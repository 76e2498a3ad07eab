#include "gpu/node.h"

#include <stdio.h>
#include <string.h>

#include "gpu/gpu.h"
#include "gpu/nvml_api.h"

/* One card while it is being asked. */
struct card {
    const struct cb_nvml_api *api;
    struct cb_nvml_device *device; /* NULL: it does not answer */
    char ends[CB_NVML_LINKS][32];  /* bus ids of cards at their other ends */
    bool unsure[CB_NVML_LINKS];    /* something with an address, of a kind that is not told */
};

/* True when the library has the call and the card answers it. */
#define ASK(card, call, ...)                                                                       \
    ((card)->device && (card)->api->call &&                                                        \
     (card)->api->call((card)->device, __VA_ARGS__) == CB_NVML_SUCCESS)

static int known(bool is_known, const unsigned *value)
{
    return is_known ? (int)*value : -1;
}

static void ask_pcie(const struct card *card, struct cb_facts_pcie *pcie)
{
    unsigned value = 0;
    pcie->generation = known(ASK(card, nvmlDeviceGetCurrPcieLinkGeneration, &value), &value);
    pcie->width = known(ASK(card, nvmlDeviceGetCurrPcieLinkWidth, &value), &value);
    pcie->generation_limit = known(ASK(card, nvmlDeviceGetMaxPcieLinkGeneration, &value), &value);
    pcie->width_limit = known(ASK(card, nvmlDeviceGetMaxPcieLinkWidth, &value), &value);
    pcie->card_generation_limit =
        known(ASK(card, nvmlDeviceGetGpuMaxPcieLinkGeneration, &value), &value);
}

static void ask_identity(const struct card *card, struct cb_facts_gpu *gpu)
{
    struct cb_nvml_pci pci;
    unsigned current = 0, pending = 0;
    int major = 0, minor = 0;
    if (!ASK(card, nvmlDeviceGetName, gpu->name, sizeof(gpu->name)))
        gpu->name[0] = '\0';
    if (ASK(card, nvmlDeviceGetPciInfo_v3, &pci))
        cb_gpu_bus_id_normalise(pci.bus_id, gpu->bus_id, sizeof(gpu->bus_id));
    if (ASK(card, nvmlDeviceGetCudaComputeCapability, &major, &minor))
        gpu->compute_capability = 10 * major + minor;
    if (ASK(card, nvmlDeviceGetMigMode, &current, &pending))
        gpu->mig = current != 0;
}

/* ---- NVLinks ---- */

/* NVML's codes of the NVLink specification (NVML_NVLINK_VERSION_*). */
static int version_of(unsigned code)
{
    static const int versions[] = {-1, 10, 20, 22, 30, 31, 40, 50, 60};
    return code < sizeof(versions) / sizeof(*versions) ? versions[code] : -1;
}

static double field_value(const struct cb_nvml_field *field)
{
    switch (field->type) {
    case CB_NVML_VALUE_REAL:
        return field->value.real;
    case CB_NVML_VALUE_UNSIGNED_32:
        return field->value.unsigned_32;
    case CB_NVML_VALUE_UNSIGNED_LONG:
    case CB_NVML_VALUE_UNSIGNED_64:
        return (double)field->value.unsigned_64;
    default:
        return 0;
    }
}

/* What data sheets count of a link. The driver of some generations counts its line coding, too:
 * 25.78 GB/s of NVLink 2, 26.56 of NVLink 4, 53.13 of NVLink 5. */
static double without_coding(double bytes_per_s)
{
    static const double nominal_bytes_per_s[] = {20e9, 25e9, 50e9, 100e9};
    const double most_coding = 1.07;
    for (size_t i = 0; i < sizeof(nominal_bytes_per_s) / sizeof(*nominal_bytes_per_s); i++)
        if (bytes_per_s >= nominal_bytes_per_s[i] &&
            bytes_per_s <= most_coding * nominal_bytes_per_s[i])
            return nominal_bytes_per_s[i];
    return bytes_per_s;
}

/* A link's speed one way; 0 when it is not told. */
static double ask_speed(const struct card *card, unsigned link)
{
    const double megabyte_per_s = 1e6;
    struct cb_nvml_field fields[] = {
        {.field = CB_NVML_FIELD_LINK_MBPS, .scope = link, .result = CB_NVML_UNKNOWN},
        {.field = CB_NVML_FIELD_LINK_MBPS_COMMON, .result = CB_NVML_UNKNOWN},
    };
    const int count = sizeof(fields) / sizeof(*fields);
    if (!ASK(card, nvmlDeviceGetFieldValues, count, fields))
        return 0;
    for (int i = 0; i < count; i++)
        if (fields[i].result == CB_NVML_SUCCESS && field_value(&fields[i]) > 0)
            return without_coding(field_value(&fields[i]) * megabyte_per_s);
    return 0;
}

static void add_switched(struct cb_facts_gpu *gpu)
{
    gpu->nvlink_switch = gpu->nvlink_switch < 0 ? 1 : gpu->nvlink_switch + 1;
}

/* The kind of end is asked first: in virtual machines, and on boards whose switches are elsewhere,
 * its address may be withheld while the link works. */
static void ask_end(struct card *card, unsigned link, struct cb_facts_gpu *gpu)
{
    struct cb_nvml_pci pci;
    int end = CB_NVML_END_UNKNOWN;
    if (!ASK(card, nvmlDeviceGetNvLinkRemoteDeviceType, link, &end))
        end = CB_NVML_END_UNKNOWN;
    bool may_be_gpu = end == CB_NVML_END_GPU || end == CB_NVML_END_UNKNOWN;
    if (end == CB_NVML_END_SWITCH)
        add_switched(gpu);
    else if (may_be_gpu && ASK(card, nvmlDeviceGetNvLinkRemotePciInfo_v2, link, &pci)) {
        cb_gpu_bus_id_normalise(pci.bus_id, card->ends[link], sizeof(card->ends[link]));
        card->unsure[link] = end == CB_NVML_END_UNKNOWN;
    }
}

/* What is no card's address is taken for a switch, as NCCL does: old drivers do not tell the kind,
 * and virtual machines give an address that nothing has. */
static void settle_ends(struct card *card, const struct cb_facts *facts, struct cb_facts_gpu *gpu)
{
    for (int link = 0; link < CB_NVML_LINKS; link++) {
        bool is_card = !card->unsure[link];
        for (int i = 0; i < facts->gpu_count && !is_card; i++)
            is_card = card->ends[link][0] && strcmp(facts->gpus[i].bus_id, card->ends[link]) == 0;
        if (is_card)
            continue;
        card->ends[link][0] = '\0';
        add_switched(gpu);
    }
}

/* Numbers beyond the last link answer "invalid argument"; a link that the card lacks, "not
 * supported". Any other refusal leaves the count unknown rather than low. */
static void ask_links(struct card *card, struct cb_facts_gpu *gpu)
{
    int active = 0, slots = 0;
    unsigned version = 0;
    if (!card->device || !card->api->nvmlDeviceGetNvLinkState)
        return;
    for (unsigned link = 0; link < CB_NVML_LINKS; link++) {
        int is_active = 0;
        int result = card->api->nvmlDeviceGetNvLinkState(card->device, link, &is_active);
        if (result == CB_NVML_INVALID_ARGUMENT)
            break;
        if (result == CB_NVML_NOT_SUPPORTED)
            continue;
        if (result != CB_NVML_SUCCESS) {
            gpu->nvlink_switch = -1;
            memset(card->ends, 0, sizeof(card->ends));
            memset(card->unsure, 0, sizeof(card->unsure));
            return;
        }
        slots++;
        if (!is_active)
            continue;
        active++;
        ask_end(card, link, gpu);
        if (gpu->nvlink_version < 0 && ASK(card, nvmlDeviceGetNvLinkVersion, link, &version))
            gpu->nvlink_version = version_of(version);
        if (!(gpu->nvlink_bytes_per_s > 0))
            gpu->nvlink_bytes_per_s = ask_speed(card, link);
    }
    gpu->nvlinks = active;
    gpu->nvlink_slots = slots;
}

/* ---- fabric ---- */

/* Bits of nvmlGpuFabricInfo_v2_t.healthMask: groups of two say 1 for yes and 2 for no (degraded
 * bandwidth, route recovery, unhealthy route, access timeout), then four of which 1 means that the
 * configuration is right and more that it is not. */
static bool is_unhealthy(unsigned health)
{
    for (int shift = 0; shift <= 6; shift += 2)
        if ((health >> shift & 3) == 1)
            return true;
    return (health >> 8 & 15) > 1;
}

static void ask_fabric(const struct card *card, struct cb_facts_gpu *gpu)
{
    struct cb_nvml_fabric fabric = {.version = CB_NVML_FABRIC_V2};
    if (!ASK(card, nvmlDeviceGetGpuFabricInfoV, &fabric))
        return;
    gpu->fabric = fabric.state;
    gpu->fabric_unhealthy = fabric.state == CB_FABRIC_DONE && is_unhealthy(fabric.health);
}

/* ---- pairs ---- */

static const char *name_level(int level)
{
    switch (level) {
    case CB_NVML_LEVEL_INTERNAL:
    case CB_NVML_LEVEL_SINGLE:
        return "PIX";
    case CB_NVML_LEVEL_MULTIPLE:
        return "PXB";
    case CB_NVML_LEVEL_HOSTBRIDGE:
        return "PHB";
    case CB_NVML_LEVEL_NODE:
        return "NODE";
    case CB_NVML_LEVEL_SYSTEM:
        return "SYS";
    default:
        return "";
    }
}

/* The worse of reading and writing; -1 when neither is told. */
static int ask_peer_access(const struct card *a, const struct card *b)
{
    int worst = -1;
    for (int p2p = CB_NVML_P2P_READ; p2p <= CB_NVML_P2P_WRITE; p2p++) {
        int status = 0;
        if (b->device && ASK(a, nvmlDeviceGetP2PStatus, b->device, p2p, &status))
            worst = status > worst ? status : worst;
    }
    return worst;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* NVLinks of a pair are those that join it, or what the poorer card has to the switches. */
static void add_nvlinks(const struct cb_facts_gpu *a, const struct cb_facts_gpu *b, int direct,
                        struct cb_facts_link *link)
{
    int switched = least(a->nvlink_switch, b->nvlink_switch);
    link->nvlinks = direct > 0 ? direct : switched > 0 ? switched : 0;
    if (link->nvlinks == 0)
        return;
    snprintf(link->kind, sizeof(link->kind), "%s", direct > 0 ? "NVLink" : "NVSwitch");
    snprintf(link->path, sizeof(link->path), "NV%d", link->nvlinks % 1000);
    double slower = a->nvlink_bytes_per_s < b->nvlink_bytes_per_s ? a->nvlink_bytes_per_s
                                                                  : b->nvlink_bytes_per_s;
    link->bytes_per_s_one_way = link->nvlinks * slower;
}

static int count_links(const struct card *card, const char *bus_id)
{
    int count = 0;
    for (int i = 0; i < CB_NVML_LINKS; i++)
        count += bus_id[0] && strcmp(card->ends[i], bus_id) == 0;
    return count;
}

/* The card has links that work, but nothing tells where any of them leads. */
static bool has_untold_links(const struct card *card, const struct cb_facts_gpu *gpu)
{
    bool is_told = gpu->nvlinks <= 0 || gpu->nvlink_switch > 0;
    for (int i = 0; i < CB_NVML_LINKS && !is_told; i++)
        is_told = card->ends[i][0] != '\0';
    return !is_told;
}

static void add_pair(const struct card *a, const struct card *b, const struct cb_facts_gpu *gpu_a,
                     const struct cb_facts_gpu *gpu_b, struct cb_facts *facts)
{
    char name_a[32], name_b[32];
    int level = -1;
    cb_facts_gpu_name(gpu_a, name_a, sizeof(name_a));
    cb_facts_gpu_name(gpu_b, name_b, sizeof(name_b));
    struct cb_facts_link *link = cb_facts_add_link(facts, name_a, name_b);
    if (!link)
        return;
    link->peer_access = ask_peer_access(a, b);
    if (b->device && ASK(a, nvmlDeviceGetTopologyCommonAncestor, b->device, &level)) {
        snprintf(link->path, sizeof(link->path), "%s", name_level(level));
        if (!has_untold_links(a, gpu_a) || !has_untold_links(b, gpu_b))
            snprintf(link->kind, sizeof(link->kind), "PCIe");
    }
    /* Either end may withhold the other's address. */
    int direct = count_links(a, gpu_b->bus_id);
    if (direct == 0)
        direct = count_links(b, gpu_a->bus_id);
    add_nvlinks(gpu_a, gpu_b, direct, link);
}

void cb_gpu_look_at_node(const struct cb_nvml_api *api, struct cb_facts *facts)
{
    struct card cards[CB_FACTS_GPUS];
    facts->gpus_found = (int)cb_gpu_count(api, NULL, 0);
    facts->gpu_count = least(facts->gpus_found, CB_FACTS_GPUS);
    for (int i = 0; i < facts->gpu_count; i++) {
        struct cb_facts_gpu *gpu = &facts->gpus[i];
        cards[i] = (struct card){.api = api};
        cb_facts_gpu_init(gpu);
        gpu->index = i;
        if (api->nvmlDeviceGetHandleByIndex_v2((unsigned)i, &cards[i].device) != CB_NVML_SUCCESS)
            cards[i].device = NULL;
        ask_identity(&cards[i], gpu);
        ask_pcie(&cards[i], &gpu->pcie);
        ask_links(&cards[i], gpu);
        ask_fabric(&cards[i], gpu);
    }
    for (int i = 0; i < facts->gpu_count; i++)
        settle_ends(&cards[i], facts, &facts->gpus[i]);
    for (int i = 0; i < facts->gpu_count; i++)
        for (int j = i + 1; j < facts->gpu_count; j++)
            add_pair(&cards[i], &cards[j], &facts->gpus[i], &facts->gpus[j], facts);
}

#define _GNU_SOURCE /* strcasestr */
#include "offer/offer.h"

#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/units.h"
#include "reference/gpus.h"

#define SUGGESTIONS 4

/* NVLink's generation by the chip it leaves. */
static const struct chip_row {
    const char *chip, *nvlink;
} chips[] = {
    {"GV100", "nvlink2"}, {"GA100", "nvlink3"}, {"GA102", "nvlink3"},
    {"GH100", "nvlink4"}, {"GB100", "nvlink5"}, {"GB110", "nvlink5"},
};

bool cb_offer_is_stated(const struct cb_offer_terms *terms)
{
    return terms->gpu || terms->nodes || terms->gpus_per_node || terms->intra || terms->inter ||
           terms->ports_per_node;
}

/* ---- names ---- */

static int reject_name(const char *option, const char *text, const char *what, const char *list,
                       const struct cb_strbuf *names, struct cb_error *err)
{
    cb_fail(err, CB_E_USAGE, "%s: no %s is called '%.40s'", option, what, text);
    if (names->length_bytes > 0)
        cb_error_set_hint(err, "nearest: %.160s; commbound judge --list %s shows all",
                          cb_strbuf_get(names), list);
    else
        cb_error_set_hint(err, "commbound judge --list %s shows what is known", list);
    return CB_E_USAGE;
}

static int find_gpu(const char *text, const struct cb_gpu_reference **gpu, struct cb_error *err)
{
    *gpu = cb_gpu_reference_find(text);
    if (*gpu)
        return 0;
    const struct cb_gpu_reference *nearest[SUGGESTIONS];
    size_t count = cb_gpu_reference_nearest(text, nearest, SUGGESTIONS);
    struct cb_strbuf names = {0};
    for (size_t i = 0; i < count; i++)
        cb_strbuf_addf(&names, "%s%s", i ? ", " : "", nearest[i]->id);
    int rc = reject_name("--gpu", text, "GPU", "gpus", &names, err);
    cb_strbuf_fini(&names);
    return rc;
}

int cb_offer_find_link(const char *option, const char *text, const struct cb_link_reference **link,
                       struct cb_error *err)
{
    *link = cb_link_reference_find_name(text);
    if (*link)
        return 0;
    const struct cb_link_reference *nearest[SUGGESTIONS];
    size_t count = cb_link_reference_nearest(text, nearest, SUGGESTIONS);
    struct cb_strbuf names = {0};
    for (size_t i = 0; i < count; i++)
        cb_strbuf_addf(&names, "%s%s", i ? ", " : "", nearest[i]->name);
    int rc = reject_name(option, text, "link", "links", &names, err);
    cb_strbuf_fini(&names);
    return rc;
}

/* ---- the GPU's own link ---- */

static const struct cb_link_reference *own_nvlink(const struct cb_gpu_reference *gpu)
{
    for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); i++)
        if (strcmp(chips[i].chip, gpu->chip) == 0)
            return cb_link_reference_find_name(chips[i].nvlink);
    return NULL;
}

/* Cards for slots have NVLink by a bridge that joins two. */
static bool is_bridged(const struct cb_gpu_reference *gpu)
{
    return strcasestr(gpu->name, "PCI") || strstr(gpu->name, " NVL");
}

static const struct cb_link_reference *own_pcie(const struct cb_gpu_reference *gpu)
{
    char generation[16];
    snprintf(generation, sizeof(generation), "%d", gpu->pcie_generation);
    return cb_link_reference_find(CB_LINK_PCIE, generation, gpu->pcie_lanes);
}

static const struct cb_link_reference *own_link(const struct cb_gpu_reference *gpu,
                                                int gpus_per_node)
{
    bool has_nvlink = gpu->nvlinks > 0 && (!is_bridged(gpu) || gpus_per_node == 2);
    const struct cb_link_reference *link = has_nvlink ? own_nvlink(gpu) : own_pcie(gpu);
    return link ? link : own_nvlink(gpu);
}

/* Compares the link that is offered inside a node with what the card can have. */
static int check_inside(const struct cb_gpu_reference *gpu, int gpus_per_node,
                        const struct cb_link_reference *link, struct cb_offer *offer,
                        struct cb_error *err)
{
    const struct cb_link_reference *nvlink = own_nvlink(gpu), *pcie = own_pcie(gpu);
    if (link->family == CB_LINK_NVLINK && gpu->nvlinks == 0) {
        cb_fail(err, CB_E_USAGE, "--intra %s: %s has no NVLink", link->name, gpu->name);
        cb_error_set_hint(err, "its link is %s", pcie ? pcie->name : "not in the table");
        return CB_E_USAGE;
    }
    if (link->family == CB_LINK_XGMI)
        return cb_fail(err, CB_E_USAGE, "--intra %s: %s has no such link", link->name, gpu->name);
    if (link->family == CB_LINK_NVLINK && nvlink && link != nvlink)
        snprintf(offer->doubt, sizeof(offer->doubt),
                 "%s has %s, the offer says %s: judged by what the card has", gpu->name,
                 nvlink->name, link->name);
    else if (link->family == CB_LINK_NVLINK && is_bridged(gpu) && gpus_per_node > 2)
        snprintf(offer->doubt, sizeof(offer->doubt),
                 "%s is a card for slots: NVLink joins two of them by a bridge, the others meet "
                 "over PCIe",
                 gpu->name);
    else if (link->family == CB_LINK_PCIE && pcie &&
             link->payload_bytes_per_s > pcie->payload_bytes_per_s)
        snprintf(offer->doubt, sizeof(offer->doubt),
                 "%s has %s, the offer says %s: judged by what the card has", gpu->name, pcie->name,
                 link->name);
    return 0;
}

/* NVLink goes between nodes where the cards have that NVLink. */
static int check_between(const struct cb_gpu_reference *gpu, const struct cb_link_reference *link,
                         struct cb_error *err)
{
    if (link->family != CB_LINK_NVLINK || (gpu->nvlinks != 0 && link == own_nvlink(gpu)))
        return 0;
    return cb_fail(err, CB_E_USAGE, "--inter %s: %s has no such link", link->name, gpu->name);
}

/* ---- figures ---- */

static void fill_compute(const struct cb_gpu_reference *gpu, struct cb_offer *offer)
{
    char peak_text[CB_UNIT_TEXT];
    enum cb_dtype dtype = CB_DTYPE_BFLOAT16;
    double peak = cb_gpu_reference_peak(gpu, dtype);
    if (peak == 0) {
        dtype = CB_DTYPE_FLOAT16;
        peak = cb_gpu_reference_peak(gpu, dtype);
    }
    struct cb_achievable achievable;
    cb_gpu_reference_achievable(gpu, CB_RATE_BURST, dtype, &achievable);
    if (peak > 0)
        offer->peak_flops_per_s = peak;
    if (gpu->memory_bytes > 0)
        offer->memory_bytes = gpu->memory_bytes;
    if (achievable.source) {
        offer->gemm_flops_per_s = achievable.low_per_s;
        offer->gemm_source = CB_FROM_REFERENCE;
        snprintf(offer->gemm_note, sizeof(offer->gemm_note), "%s GEMM of healthy cards (%s)",
                 cb_dtype_name(dtype), achievable.source);
    } else if (peak > 0) {
        offer->gemm_flops_per_s = peak * CB_OFFER_GEMM_SHARE;
        offer->gemm_source = CB_FROM_ASSUMED;
        snprintf(offer->gemm_note, sizeof(offer->gemm_note),
                 "%s peak of %s x %g, as other healthy cards reach in GEMM", cb_dtype_name(dtype),
                 cb_format_flops(peak_text, peak), CB_OFFER_GEMM_SHARE);
    }
}

static void fill_path(const struct cb_sheet_path *sheet, int ports, bool is_stated,
                      enum cb_provenance ports_source, struct cb_offer_path *path)
{
    if (!sheet->link)
        return;
    *path = (struct cb_offer_path){
        .source = is_stated ? CB_FROM_GIVEN : CB_FROM_NOMINAL,
        .ports = ports,
        .ports_source = ports_source,
        .both_ways_bytes_per_s = sheet->both_ways_bytes_per_s,
        .nominal_bytes_per_s = sheet->nominal_bytes_per_s,
        .low_share = sheet->efficiency.low,
        .share = sheet->efficiency.typical,
        .high_share = sheet->efficiency.high,
        .share_source = sheet->efficiency.source,
    };
    bool is_node = sheet->link->scope != CB_LINK_PER_GPU;
    snprintf(path->per, sizeof(path->per), "%s", is_node ? "node" : "GPU");
    snprintf(path->link, sizeof(path->link), "%s", sheet->link->name);
    snprintf(path->share_note, sizeof(path->share_note), "%s", sheet->efficiency.basis);
}

/* ---- together ---- */

static int check_numbers(const struct cb_offer_terms *terms, struct cb_error *err)
{
    if (!terms->gpu)
        cb_fail(err, CB_E_USAGE, "an offer needs --gpu, the model of its GPUs");
    else if (terms->gpus_per_node < 1)
        cb_fail(err, CB_E_USAGE, "an offer needs --gpus-per-node, the GPUs of one node");
    else if (terms->nodes > 1 && !terms->inter)
        cb_fail(err, CB_E_USAGE, "%d nodes need --inter, the link between them", terms->nodes);
    else if (terms->nodes <= 1 && (terms->inter || terms->ports_per_node))
        cb_fail(err, CB_E_USAGE, "%s is between nodes, and the offer has one",
                terms->inter ? "--inter" : "--nics-per-node");
    else if ((double)terms->gpus_per_node * (terms->nodes ? terms->nodes : 1) > CB_OFFER_GPUS_MAX)
        cb_fail(err, CB_E_USAGE, "more than %d GPUs are more than this is made for",
                CB_OFFER_GPUS_MAX);
    else
        return 0;
    return CB_E_USAGE;
}

/* Looks the links up and corrects them by what the card has. */
static int choose_links(const struct cb_offer_terms *terms, const struct cb_gpu_reference *gpu,
                        struct cb_data_sheet *sheet, struct cb_offer *offer, struct cb_error *err)
{
    int rc = 0;
    const struct cb_link_reference *own = own_link(gpu, sheet->gpus_per_node);
    sheet->intra = own;
    if (terms->intra)
        rc = cb_offer_find_link("--intra", terms->intra, &sheet->intra, err);
    if (rc == 0 && terms->intra && sheet->gpus_per_node > 1)
        rc = check_inside(gpu, sheet->gpus_per_node, sheet->intra, offer, err);
    if (rc == 0 && terms->inter)
        rc = cb_offer_find_link("--inter", terms->inter, &sheet->inter, err);
    if (rc == 0 && sheet->inter)
        rc = check_between(gpu, sheet->inter, err);
    if (rc)
        return rc;
    if (sheet->gpus_per_node > 1 && !sheet->intra)
        return cb_fail(err, CB_E_USAGE,
                       "--intra is needed: the table does not know the links of %s", gpu->name);
    if (offer->doubt[0])
        sheet->intra = sheet->intra->family == CB_LINK_PCIE || is_bridged(gpu) ? own_pcie(gpu)
                                                                               : own_nvlink(gpu);
    if (sheet->intra && sheet->intra->family == CB_LINK_NVLINK && gpu->nvlink_bytes_per_s > 0)
        sheet->intra_bytes_per_s = gpu->nvlink_bytes_per_s;
    return 0;
}

int cb_offer_resolve(const struct cb_offer_terms *terms, struct cb_offer *offer,
                     struct cb_sheet_network *network, struct cb_error *err)
{
    const struct cb_gpu_reference *gpu;
    int rc = check_numbers(terms, err);
    if (rc == 0)
        rc = find_gpu(terms->gpu, &gpu, err);
    if (rc)
        return rc;
    struct cb_offer out = {.nodes = terms->nodes > 0 ? terms->nodes : 1,
                           .gpus_per_node = terms->gpus_per_node};
    struct cb_data_sheet sheet = {
        .nodes = out.nodes,
        .gpus_per_node = out.gpus_per_node,
        .no_peer_access = strstr(gpu->name, "GeForce") != NULL,
        .ports_per_node = terms->ports_per_node,
    };
    rc = choose_links(terms, gpu, &sheet, &out, err);
    if (rc == 0)
        rc = cb_sheet_network_init(network, &sheet, err);
    if (rc)
        return rc;
    snprintf(out.gpu, sizeof(out.gpu), "%s", gpu->name);
    fill_compute(gpu, &out);
    fill_path(&network->intra, 0, terms->intra != NULL, CB_FROM_NOWHERE, &out.intra);
    bool is_port = sheet.inter && sheet.inter->scope == CB_LINK_PER_PORT;
    fill_path(&network->inter, is_port ? network->sheet.ports_per_node : 0, true,
              terms->ports_per_node > 0 ? CB_FROM_GIVEN : CB_FROM_ASSUMED, &out.inter);
    *offer = out;
    return 0;
}

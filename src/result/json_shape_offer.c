#include <math.h>

#include "result/json_fields.h"
#include "result/json_shape.h"

NAMES(provenance, "source", CB_PROVENANCE_COUNT);

static bool path_is_absent(const struct cb_offer_path *path)
{
    return path->link[0] == '\0';
}

static bool has_no_intra(const void *row)
{
    return path_is_absent(&((const struct cb_offer *)row)->intra);
}

static bool has_no_inter(const void *row)
{
    return path_is_absent(&((const struct cb_offer *)row)->inter);
}

static double price_of_all(const void *row)
{
    const struct cb_offer *offer = row;
    double price = offer->price_per_gpu_hour * offer->nodes * offer->gpus_per_node;
    return price > 0 ? price : NAN;
}

static const struct cb_json_field path_fields[] = {
    FIELD(offer_path, link, "link", ALWAYS),
    FIELD(offer_path, per, "per", ZERO),
    NAMED(offer_path, source, "link_source", ZERO, provenance_names),
    FIELD(offer_path, ports, "ports", ZERO),
    NAMED(offer_path, ports_source, "ports_source", ZERO, provenance_names),
    FIELD(offer_path, both_ways_bytes_per_s, "both_ways_bytes_per_s", ZERO),
    FIELD(offer_path, nominal_bytes_per_s, "nominal_bytes_per_s", ALWAYS),
    FIELD(offer_path, share, "practical_share", ALWAYS),
    FIELD(offer_path, low_share, "practical_share_low", ZERO),
    FIELD(offer_path, high_share, "practical_share_high", ZERO),
    NAMED(offer_path, share_source, "practical_source", ZERO, provenance_names),
    FIELD(offer_path, share_note, "practical_note", ZERO),
};
static const struct cb_json_shape path_shape = SHAPE(path_fields, offer_path, false);

static const struct cb_json_field offer_fields[] = {
    FIELD(offer, gpu, "gpu", ALWAYS),
    FIELD(offer, nodes, "nodes", ALWAYS),
    FIELD(offer, gpus_per_node, "gpus_per_node", ALWAYS),
    FIELD(offer, memory_bytes, "memory_bytes", ZERO),
    FIELD(offer, peak_flops_per_s, "peak_flops_per_s", ZERO),
    FIELD(offer, gemm_flops_per_s, "gemm_flops_per_s", ZERO),
    NAMED(offer, gemm_source, "gemm_source", ZERO, provenance_names),
    FIELD(offer, gemm_note, "gemm_note", ZERO),
    {.key = "intra",
     .kind = CB_JSON_OBJECT,
     AT(offer, intra),
     .shape = &path_shape,
     .is_absent = has_no_intra},
    {.key = "inter",
     .kind = CB_JSON_OBJECT,
     AT(offer, inter),
     .shape = &path_shape,
     .is_absent = has_no_inter},
    FIELD(offer, price_per_gpu_hour, "price_per_gpu_hour", ZERO),
    FIELD(offer, currency, "currency", ZERO),
    DERIVED("price_per_hour", price_of_all),
    FIELD(offer, doubt, "doubt", ZERO),
};
const struct cb_json_shape cb_json_offer_shape = SHAPE(offer_fields, offer, false);

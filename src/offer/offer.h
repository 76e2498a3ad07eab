/* An offer by its names, before anything is rented: looked up, and made a network and a machine. */
#ifndef CB_OFFER_OFFER_H
#define CB_OFFER_OFFER_H

#include <stdbool.h>

#include "base/error.h"
#include "model/offer.h"
#include "reference/network.h"

/* As it is stated. Texts are borrowed, NULL is "not stated". */
struct cb_offer_terms {
    const char *gpu; /* "A100-SXM4-80GB", as the driver prints it or as --list gpus does */
    int nodes;       /* 0: one */
    int gpus_per_node;
    const char *intra; /* a link's name; NULL: the GPU's own NVLink, else its PCIe */
    const char *inter;
    int ports_per_node; /* of inter; 0: one, assumed */
};

/* Whether anything of an offer was stated. */
bool cb_offer_is_stated(const struct cb_offer_terms *terms);

/* Looks everything up and fills *offer and *network, which must not move afterwards. A GPU's own
 * NVLink rate counts, not that of the card its generation is named after; where the offer names
 * another generation than the GPU has, *offer says so. Errors: CB_E_USAGE naming the option and the
 * nearest names for what is not in the tables, what is missing, and links that cannot be where they
 * are put; the outputs are then unchanged. Pure. */
int cb_offer_resolve(const struct cb_offer_terms *terms, struct cb_offer *offer,
                     struct cb_sheet_network *network, struct cb_error *err);

/* The link of a name as people write it. option is named in the error, CB_E_USAGE with the nearest
 * names, for what is not in the table. *link is static, borrowed. Pure. */
int cb_offer_find_link(const char *option, const char *text, const struct cb_link_reference **link,
                       struct cb_error *err);

/* The share of a tensor peak that a healthy card's GEMM reaches where nothing is published of the
 * card: published ones lie between 0.66 and 0.88 (docs/design.md, "On paper"). */
#define CB_OFFER_GEMM_SHARE 0.75

/* The most GPUs of an offer. */
#define CB_OFFER_GPUS_MAX (1 << 24)

#endif

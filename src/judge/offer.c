#include "judge/offer.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "judge/machine.h"

void cb_machine_of_offer(const struct cb_offer *offer, const struct cb_workload *workload,
                         const struct cb_network *network, struct cb_machine *machine)
{
    char rate[CB_UNIT_TEXT];
    *machine = (struct cb_machine){
        .memory_bytes = offer->memory_bytes,
        .memory_source = offer->memory_bytes > 0 ? CB_FROM_NOMINAL : CB_FROM_NOWHERE,
        .price_per_gpu_hour = workload->price_per_gpu_hour,
        .network = network,
        .threshold = workload->threshold,
    };
    snprintf(machine->currency, sizeof(machine->currency), "%s", workload->currency);
    if (offer->gemm_flops_per_s > 0) {
        machine->flops_per_s = offer->gemm_flops_per_s * CB_TRAINING_SHARE_OF_GEMM;
        machine->flops_source = offer->gemm_source;
        snprintf(machine->flops_note, sizeof(machine->flops_note),
                 "%s x %g: %.80s, %g of it assumed in training",
                 cb_format_flops(rate, offer->gemm_flops_per_s), CB_TRAINING_SHARE_OF_GEMM,
                 offer->gemm_note, CB_TRAINING_SHARE_OF_GEMM);
    }
    if (workload->span == CB_SPAN_COMPUTE) {
        machine->compute_s = workload->time_s;
        machine->compute_source = CB_FROM_GIVEN;
    }
}

static double practical(const struct cb_offer_path *path)
{
    return path->nominal_bytes_per_s * path->share;
}

/* The path that holds a ring over all GPUs back. Where NVLink goes from node to node there is no
 * other. */
static const struct cb_offer_path *slower_path(const struct cb_offer *offer)
{
    if (offer->nodes == 1)
        return &offer->intra;
    bool is_domain = strcmp(offer->inter.per, "GPU") == 0;
    return is_domain || offer->gpus_per_node == 1 ||
                   practical(&offer->inter) < practical(&offer->intra)
               ? &offer->inter
               : &offer->intra;
}

bool cb_offer_bandwidth(const struct cb_offer *offer, struct cb_formula *formula)
{
    const struct cb_offer_path *path = slower_path(offer);
    char nominal[CB_UNIT_TEXT], slow[CB_UNIT_TEXT], fast[CB_UNIT_TEXT];
    if (offer->nodes * offer->gpus_per_node < 2) {
        snprintf(formula->bandwidth_note, sizeof(formula->bandwidth_note),
                 "one GPU: there is nobody to synchronise with");
        return false;
    }
    formula->bandwidth_bytes_per_s = practical(path);
    formula->bandwidth_source =
        path->share_source == CB_FROM_ASSUMED ? CB_FROM_ASSUMED : CB_FROM_NOMINAL;
    snprintf(formula->bandwidth_note, sizeof(formula->bandwidth_note),
             "%s one way of %s x %g, the share that others got of %s: %s to %s",
             cb_format_bandwidth(nominal, path->nominal_bytes_per_s), path->link, path->share,
             path->share_source == CB_FROM_ASSUMED ? "the like" : "its kind",
             cb_format_bandwidth(slow, path->nominal_bytes_per_s * path->low_share),
             cb_format_bandwidth(fast, path->nominal_bytes_per_s * path->high_share));
    return true;
}

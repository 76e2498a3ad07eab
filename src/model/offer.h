/* What an offer says of a cluster, and what its data sheets make of that: plain figures, as reports
 * show them. Filled by offer/offer.h. */
#ifndef CB_MODEL_OFFER_H
#define CB_MODEL_OFFER_H

#include "base/provenance.h"

/* Between the GPUs of a node or between the nodes. One way, except where a name says both. */
struct cb_offer_path {
    char link[32];             /* "roce-100g"; empty: there is no such path */
    char per[8];               /* what the figures are of: "GPU" or "node" */
    enum cb_provenance source; /* given, or nominal where it is the GPU's own */
    int ports;                 /* of a node; 0 inside one */
    enum cb_provenance ports_source;
    double both_ways_bytes_per_s; /* both directions added, what NVLink is sold by */
    double nominal_bytes_per_s;
    double low_share, share, high_share; /* of it, that a large all_reduce gets */
    enum cb_provenance share_source;
    char share_note[128]; /* where that was published, or what stands in */
};

struct cb_offer {
    char gpu[64];                   /* driver's name */
    int nodes, gpus_per_node;       /* nodes 0: there is no offer */
    double memory_bytes;            /* of one GPU; 0: not known */
    double peak_flops_per_s;        /* dense, in the type that training computes in; 0: not known */
    double gemm_flops_per_s;        /* that healthy cards reach in it; 0: not known */
    enum cb_provenance gemm_source; /* reference, or assumed: a share of the peak */
    char gemm_note[160];
    struct cb_offer_path intra, inter;
    double price_per_gpu_hour; /* 0: not known */
    char currency[8];
    char doubt[192]; /* what of the offer cannot be as it says; empty: nothing */
};

#endif

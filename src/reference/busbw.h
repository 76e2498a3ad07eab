/* Bus bandwidths that somebody published: is a measured one normal? Every series with its source.
 * Base units, bus bandwidth as nccl-tests defines it. */
#ifndef CB_REFERENCE_BUSBW_H
#define CB_REFERENCE_BUSBW_H

#include <stdbool.h>
#include <stddef.h>

#include "model/collective.h"
#include "reference/links.h"

enum cb_busbw_kind {
    CB_BUSBW_MEASURED,
    CB_BUSBW_EXPECTED, /* what a provider tells its customers to expect */
    CB_BUSBW_MINIMUM   /* below it a provider's own check fails the machine */
};

#define CB_BUSBW_POINTS 9

/* One op on one platform over message size. */
struct cb_busbw_series {
    const char *platform;
    const char *gpu; /* as cb_busbw_gpu_family() calls it; NULL: any */
    int gpus_per_node;
    int nodes_low, nodes_high;
    int link;                /* enum cb_link_family between the nodes; -1: one node, or not told */
    double node_bytes_per_s; /* nominal, one way, all ports of a node; -1: not told */
    const char *algorithm;   /* that was forced; NULL: what the library chose */
    enum cb_op op;
    enum cb_busbw_kind kind;
    const char *source;
    struct cb_busbw_point {
        double size_bytes, bus_bytes_per_s;
    } points[CB_BUSBW_POINTS]; /* smallest size first; what is not used is 0 */
};

/* The table; *count rows. Static, borrowed, as everything below. */
const struct cb_busbw_series *cb_busbw_series(size_t *count);

/* What a driver's name ("NVIDIA A100-SXM4-80GB", "AMD Instinct MI300X") is called here ("A100
 * SXM"), where memory size does not count; NULL for a card of which nothing is published. */
const char *cb_busbw_gpu_family(const char *name);

/* What was measured, and on what. */
struct cb_busbw_query {
    const char *gpu;         /* driver's name; NULL or empty: not known, and nothing is found */
    int gpus, nodes;         /* all together */
    int link;                /* enum cb_link_family between the nodes; -1: not known */
    double node_bytes_per_s; /* nominal, one way, all ports of a node; 0: not known */
    const char *algorithm;   /* that was forced ("ring"); NULL: none */
    enum cb_op op;
    double size_bytes;
};

/* What was published for a platform of the same GPUs, numbers and links, at that size: interpolated
 * log-log between published sizes, the largest one's value beyond it. */
struct cb_busbw_answer {
    bool found;
    bool other_link; /* the links between the nodes are not known to be the same */
    double low_bytes_per_s, high_bytes_per_s; /* measured or expected; 0: minimums only */
    double minimum_bytes_per_s;               /* the highest minimum of a provider; 0: none */
    const struct cb_busbw_series *lowest; /* what the lower figure, or the minimum, comes from */
    const struct cb_busbw_series *highest;
};

/* Looks it up. Series over links of another kind or rate never count; one whose links (or the
 * query's) are not known counts as other_link, when there is no better one. Pure. */
void cb_busbw_find(const struct cb_busbw_query *query, struct cb_busbw_answer *answer);

/* The answer in words for what was measured: "482 GB/s, published for 8 x H100: 480-483 GB/s (DGX
 * H100)", or "no published figure for ...". Written to out like snprintf. */
void cb_busbw_describe(const struct cb_busbw_query *query, const struct cb_busbw_answer *answer,
                       double measured_bytes_per_s, char *out, size_t out_bytes);

#endif

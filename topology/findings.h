/* From facts to what is wrong with a node, why it matters and what to do. Pure. */
#ifndef CB_TOPOLOGY_FINDINGS_H
#define CB_TOPOLOGY_FINDINGS_H

#include "topology/facts.h"

#define CB_FINDINGS_MAX 40 /* no node has more: each code comes once */

enum cb_severity {
    CB_SEVERITY_INFO,    /* explains a figure; nothing need be wrong */
    CB_SEVERITY_WARNING, /* costs bandwidth in some uses */
    CB_SEVERITY_ERROR,   /* a fault, or a setting that costs much of the bandwidth */
    CB_SEVERITY_COUNT
};

const char *cb_severity_name(enum cb_severity severity);
int cb_severity_parse(const char *name); /* -1 for an unknown name */

struct cb_finding {
    char code[40]; /* "pcie.width" */
    enum cb_severity severity;
    char seen[256];   /* on which devices, with the figures */
    char why[256];    /* why it matters */
    char remedy[256]; /* what to do */
};

/* Where one rank of the node runs and what it works with. */
struct cb_findings_rank {
    int rank;
    char device[32]; /* "GPU 0000:07:00.0", "NIC mlx5_0:1" */
    int near;        /* 1: its CPUs are among the device's, 0: none is, -1: unknown */
};

/* What is known beside the node itself; all zero is nothing. */
struct cb_findings_context {
    const char *offered_kind; /* what the offer calls the network ("InfiniBand"); NULL: not said */
    bool nominal_is_known;    /* the offer says how fast it is: no port need know */
    int node_count;           /* of the job; 0 unknown */
    const struct cb_findings_rank *ranks;
    size_t rank_count;
};

/* Writes what is found, the most severe first, into found and returns how many. Each code comes at
 * most once and names the first device and how many more there are. What is unknown gives no
 * finding but for the two that say what could not be looked at (pci.hidden, pci.no_locality).
 * context may be NULL. */
size_t cb_findings_find(const struct cb_facts *facts, const struct cb_findings_context *context,
                        struct cb_finding found[CB_FINDINGS_MAX]);

/* The codes of the table, in its order, for documentation and tests; NULL behind the last. */
const char *cb_findings_code(size_t index);

#endif

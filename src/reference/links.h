/* What links are sold as and what was seen to cross them: published figures, every row with its
 * source. One way unless a name says both ways: NVLink is sold by the sum of its two directions,
 * and such a figure must never meet one that counts one. Base units; -1 where no source says. */
#ifndef CB_REFERENCE_LINKS_H
#define CB_REFERENCE_LINKS_H

#include <stdbool.h>
#include <stddef.h>

enum cb_link_family {
    CB_LINK_PCIE,
    CB_LINK_NVLINK,
    CB_LINK_C2C, /* NVLink between processor and GPU */
    CB_LINK_XGMI,
    CB_LINK_INFINIBAND,
    CB_LINK_ROCE,
    CB_LINK_EFA,
    CB_LINK_SLINGSHOT,
    CB_LINK_OMNI_PATH,
    CB_LINK_ETHERNET, /* TCP */
    CB_LINK_FABRIC,   /* all network ports of one sold node */
    CB_LINK_FAMILY_COUNT
};

/* What the figures of a row are for. */
enum cb_link_scope {
    CB_LINK_PER_GPU, /* all links of one GPU together; a slot of PCIe */
    CB_LINK_PER_PORT,
    CB_LINK_PER_NODE
};

struct cb_link_reference {
    const char *name; /* "nvlink3", "pcie4-x16", "ib-ndr-4x", "roce-100g" */
    enum cb_link_family family;
    enum cb_link_scope scope;
    const char *generation;       /* "3", "NDR", "100GbE" */
    int links;                    /* of a GPU; ports of a node; 1 of a port */
    int lanes;                    /* of one link; -1 where the figure is not told by lane */
    double lane_signal_per_s;     /* symbols or bits on the wire */
    double lane_bits_per_s;       /* after line coding */
    double nominal_bytes_per_s;   /* as it is sold, all links together, one way */
    double both_ways_bytes_per_s; /* both directions added: what NVLink is sold by */
    double payload_bytes_per_s;   /* after line coding, before packet headers, one way */
    double practical_low_bytes_per_s, practical_high_bytes_per_s; /* seen, one way */
    bool practical_is_ceiling;   /* nobody's measurement: what the frames' headers leave */
    const char *practical_basis; /* who saw it; empty when nobody did */
    const char *source;
    const char *note;
};

/* "pcie", "nvlink", "nvlink-c2c", "xgmi", "infiniband", "roce", "efa", "slingshot", "omni-path",
 * "ethernet", "node fabric". Never NULL. */
const char *cb_link_family_name(enum cb_link_family family);

/* Whether the family leaves the node: its rows may stand between nodes. Node to node over PCIe or
 * xGMI there is nothing. NVLink is both (a rack-wide NVLink domain). */
bool cb_link_family_is_inter(enum cb_link_family family);
/* Whether it may stand between the GPUs of one node. */
bool cb_link_family_is_intra(enum cb_link_family family);

/* The table; *count rows. Static, borrowed, as everything below. */
const struct cb_link_reference *cb_link_references(size_t *count);

/* The row of a name as people write it: letter case, blanks and punctuation do not count, a unit
 * behind the rate may be missing, and common other names are known ("nvlink-3", "pcie4", "NDR",
 * "ib-ndr", "RoCE 100G", "10GbE", "gigabit", "efa-400"). NULL when it is not in the table. */
const struct cb_link_reference *cb_link_reference_find_name(const char *name);

/* The rows whose names are nearest to what somebody wrote, nearest first; returns how many of at
 * most limit were filled. */
size_t cb_link_reference_nearest(const char *name, const struct cb_link_reference **nearest,
                                 size_t limit);

/* The row of a generation ("4", "NDR", "100GbE") of a family with so many lanes (0: as wide as it
 * is mostly built: x16, 4x, one port); NULL when it is not in the table. */
const struct cb_link_reference *cb_link_reference_find(enum cb_link_family family,
                                                       const char *generation, int lanes);

/* Bytes per second one way, after coding, that so many lanes of a PCIe generation (1 to 6) carry;
 * -1 for a generation that is not in the table or no lanes. */
double cb_link_pcie_bytes_per_s(int generation, int lanes);

/* The same for so many links of an NVLink generation (1 to 5). */
double cb_link_nvlink_bytes_per_s(int generation, int link_count);

#endif

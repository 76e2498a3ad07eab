#include "reference/links.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"

/* Figures as they are published: giga-symbols and gigabits per lane, gigabits sold, gigabytes per
 * second of payload. In the order of the table: name, family, generation, links, lanes of a link,
 * signal and data rate of a lane, rate sold, payload one way, both ways, practical rate from and
 * to and whether that is only a ceiling, who saw it, source, what to know. */
#define U (-1) /* not found in any source */
#define SCALED(value, unit) ((value) < 0 ? -1 : (value) * (unit))
#define LINK(name, family, scope, generation, links, lanes, signal, data, gbit, payload, both,     \
             low, high, ceiling, basis, source, note)                                              \
    {                                                                                              \
        name, family, scope, generation, links, lanes, SCALED(signal, 1e9), SCALED(data, 1e9),     \
            SCALED(gbit, 1e9 / 8), SCALED(both, 1e9), SCALED(payload, 1e9), SCALED(low, 1e9),      \
            SCALED(high, 1e9), ceiling, basis, source, note                                        \
    }
#define PCIE(name, generation, lanes, signal, data, gbit, payload, both, low, high, basis)         \
    LINK(name, CB_LINK_PCIE, CB_LINK_PER_GPU, generation, 1, lanes, signal, data, gbit, payload,   \
         both, low, high, false, basis, hwloc_source, "")
#define NVLINK(name, generation, links, lanes, data, gbit, payload, both, low, high, basis, note)  \
    LINK(name, CB_LINK_NVLINK, CB_LINK_PER_GPU, generation, links, lanes, U, data, gbit, payload,  \
         both, low, high, false, basis, nvlink_source, note)
#define XGMI(name, generation, gbit, payload, both, note)                                          \
    LINK(name, CB_LINK_XGMI, CB_LINK_PER_GPU, generation, 7, U, U, U, gbit, payload, both, U, U,   \
         false, "", xgmi_source, note)
#define IB(name, generation, lanes, signal, data, gbit, payload, both, low, high, basis)           \
    LINK(name, CB_LINK_INFINIBAND, CB_LINK_PER_PORT, generation, 1, lanes, signal, data, gbit,     \
         payload, both, low, high, false, basis, ib_source, "")
#define PORT(name, family, generation, gbit, payload, both, low, high, basis, source)              \
    LINK(name, family, CB_LINK_PER_PORT, generation, 1, U, U, U, gbit, payload, both, low, high,   \
         false, basis, source, "")
/* What the headers of full frames leave: of 1538 bytes 1448 at an MTU of 1500, of 9038 8948. */
#define TCP(name, generation, gbit, payload, both)                                                 \
    LINK(name, CB_LINK_ETHERNET, CB_LINK_PER_PORT, generation, 1, U, U, U, gbit, payload, both,    \
         (payload)*1448.0 / 1538.0, (payload)*8948.0 / 9038.0, true, tcp_basis, frame_source, "")
#define ROCE_CEILING(name, generation, gbit, payload, both)                                        \
    LINK(name, CB_LINK_ROCE, CB_LINK_PER_PORT, generation, 1, U, U, U, gbit, payload, both,        \
         (payload)*0.926, (payload)*0.98, true, roce_basis, frame_source, "")
#define NODE(name, generation, ports, gbit, payload, both, low, basis)                             \
    LINK(name, CB_LINK_FABRIC, CB_LINK_PER_NODE, generation, ports, U, U, U, gbit, payload, both,  \
         low, low, false, basis, node_source, "whole node")

static const char hwloc_source[] = "hwloc, include/private/misc.h";
static const char nvlink_source[] = "ml-engineering, network, NVLink; NCCL, topo.h";
static const char xgmi_source[] = "ml-engineering, network, Infinity Fabric";
static const char ib_source[] = "NCCL, net_ib ibvSpeeds; Open MPI, common/verbs";
static const char frame_source[] = "IEEE 802.3 rate, frame arithmetic";
static const char node_source[] = "ml-engineering, network, between nodes";
static const char efa_source[] = "ml-engineering, network, EFA";
static const char slingshot_source[] = "glennklockwood.com, Slingshot";
static const char tcp_basis[] = "what TCP leaves at an MTU of 1500 and of 9000";
static const char roce_basis[] = "what RoCEv2 leaves at an MTU of 1024 and of 4096";

/* clang-format off */
static const struct cb_link_reference links[] = {
    PCIE("pcie1-x1",  "1", 1,  2.5, 2.0, 2.0, 0.25, 0.5, U, U, ""),
    PCIE("pcie1-x4",  "1", 4,  2.5, 2.0, 8.0, 1.0, 2.0, U, U, ""),
    PCIE("pcie1-x8",  "1", 8,  2.5, 2.0, 16.0, 2.0, 4.0, U, U, ""),
    PCIE("pcie1-x16", "1", 16, 2.5, 2.0, 32.0, 4.0, 8.0, U, U, ""),
    PCIE("pcie2-x1",  "2", 1,  5, 4.0, 4.0, 0.5, 1.0, U, U, ""),
    PCIE("pcie2-x4",  "2", 4,  5, 4.0, 16.0, 2.0, 4.0, U, U, ""),
    PCIE("pcie2-x8",  "2", 8,  5, 4.0, 32.0, 4.0, 8.0, U, U, ""),
    PCIE("pcie2-x16", "2", 16, 5, 4.0, 64.0, 8.0, 16.0, U, U, ""),
    PCIE("pcie3-x1",  "3", 1,  8, 7.877, 7.877, 0.985, 1.969, U, U, ""),
    PCIE("pcie3-x4",  "3", 4,  8, 7.877, 31.51, 3.938, 7.877, U, U, ""),
    PCIE("pcie3-x8",  "3", 8,  8, 7.877, 63.02, 7.877, 15.754, U, U, ""),
    PCIE("pcie3-x16", "3", 16, 8, 7.877, 126.03, 15.754, 31.508, 12.4, 13.2, "V100-PCIE, host copies, superbench-results 0.2.1"),
    PCIE("pcie4-x1",  "4", 1,  16, 15.754, 15.754, 1.969, 3.938, U, U, ""),
    PCIE("pcie4-x4",  "4", 4,  16, 15.754, 63.02, 7.877, 15.754, U, U, ""),
    PCIE("pcie4-x8",  "4", 8,  16, 15.754, 126.03, 15.754, 31.508, U, U, ""),
    PCIE("pcie4-x16", "4", 16, 16, 15.754, 252.06, 31.508, 63.015, 25.9, 26.0, "A100, host copies, superbench-results 0.4.0, 729 nodes"),
    PCIE("pcie5-x1",  "5", 1,  32, 31.508, 31.508, 3.938, 7.877, U, U, ""),
    PCIE("pcie5-x4",  "5", 4,  32, 31.508, 126.03, 15.754, 31.508, U, U, ""),
    PCIE("pcie5-x8",  "5", 8,  32, 31.508, 252.06, 31.508, 63.015, U, U, ""),
    PCIE("pcie5-x16", "5", 16, 32, 31.508, 504.12, 63.015, 126.03, 55.1, 55.4, "H200, nvbandwidth, ml-engineering, network"),
    PCIE("pcie6-x1",  "6", 1,  64, 60.5, 60.5, 7.5625, 15.125, U, U, ""),
    PCIE("pcie6-x4",  "6", 4,  64, 60.5, 242.0, 30.25, 60.5, U, U, ""),
    PCIE("pcie6-x8",  "6", 8,  64, 60.5, 484.0, 60.5, 121.0, U, U, ""),
    PCIE("pcie6-x16", "6", 16, 64, 60.5, 968.0, 121.0, 242.0, U, U, ""),

    NVLINK("nvlink1", "1", 4,  8, 20,  640,  80,  160,  U, U, "", "P100; NCCL counts 18 GB/s a link"),
    NVLINK("nvlink2", "2", 6,  8, 25,  1200, 150, 300,  U, U, "", "V100; NCCL counts 20 GB/s a link"),
    NVLINK("nvlink3", "3", 12, 4, 50,  2400, 300, 600,  274, 277, "A100, P2P, nvbandwidth README", "A100; NCCL counts 20 GB/s a link"),
    NVLINK("nvlink4", "4", 18, 2, 100, 3600, 450, 900,  376, 393, "H100, P2P, ml-engineering, network", "H100, H200, GH200; NCCL counts 20.6 GB/s a link"),
    NVLINK("nvlink5", "5", 18, 2, 200, 7200, 900, 1800, 746, 746, "B200, P2P, ml-engineering, network", "B200, GB200; NCCL counts 40.1 GB/s a link"),
    LINK("nvlink-c2c", CB_LINK_C2C, CB_LINK_PER_GPU, "Grace", 1, U, U, U, 3600, 450, 900, U, U, false, "", "ml-engineering, network, NVLink-C2C", "Grace processor to its GPU"),

    XGMI("xgmi-mi250x", "MI250X", 2800, 350, 700,    "50 GB/s one way to each of 7 peers"),
    XGMI("xgmi-mi300x", "MI300X", 3584, 448, 896,    "64 GB/s one way to each of 7 peers"),
    XGMI("xgmi-mi325x", "MI325X", 3584, 448, 896,    "64 GB/s one way to each of 7 peers"),
    XGMI("xgmi-mi350x", "MI350X", 4284, 535.5, 1071, "76.5 GB/s one way to each of 7 peers"),
    XGMI("xgmi-mi355x", "MI355X", 4284, 535.5, 1071, "76.5 GB/s one way to each of 7 peers"),

    IB("ib-sdr-4x",   "SDR",   4,  2.5, 2, 10, 1, 2, U, U, ""),
    IB("ib-ddr-4x",   "DDR",   4,  5, 4, 20, 2, 4, U, U, ""),
    IB("ib-qdr-4x",   "QDR",   4,  10, 8, 40, 4, 8, U, U, ""),
    IB("ib-fdr10-4x", "FDR10", 4,  10.3125, 10, 40, 5, 10, U, U, ""),
    IB("ib-fdr-4x",   "FDR",   4,  14.0625, 13.636, 56, 6.818, 13.636, U, U, ""),
    IB("ib-edr-1x",   "EDR",   1,  25.78125, 25, 25, 3.125, 6.25, U, U, ""),
    IB("ib-edr-4x",   "EDR",   4,  25.78125, 25, 100, 12.5, 25, 12, 12, "NCCL maintainer, nccl-tests 119"),
    IB("ib-edr-12x",  "EDR",   12, 25.78125, 25, 300, 37.5, 75, U, U, ""),
    IB("ib-hdr-1x",   "HDR",   1,  53.125, 50, 50, 6.25, 12.5, U, U, ""),
    IB("ib-hdr-2x",   "HDR",   2,  53.125, 50, 100, 12.5, 25, U, U, ""),
    IB("ib-hdr-4x",   "HDR",   4,  53.125, 50, 200, 25, 50, 23.7, 24, "superbench-results, ib-loopback; nccl-tests 119"),
    IB("ib-hdr-12x",  "HDR",   12, 53.125, 50, 600, 75, 150, U, U, ""),
    IB("ib-ndr-1x",   "NDR",   1,  106.25, 100, 100, 12.5, 25, U, U, ""),
    IB("ib-ndr-2x",   "NDR",   2,  106.25, 100, 200, 25, 50, U, U, ""),
    IB("ib-ndr-4x",   "NDR",   4,  106.25, 100, 400, 50, 100, 48.5, 49.9, "azurehpc-health-checks 152, ib_write_bw; SimAI"),
    IB("ib-ndr-12x",  "NDR",   12, 106.25, 100, 1200, 150, 300, U, U, ""),
    IB("ib-xdr-1x",   "XDR",   1,  212.5, 200, 200, 25, 50, U, U, ""),
    IB("ib-xdr-2x",   "XDR",   2,  212.5, 200, 400, 50, 100, U, U, ""),
    IB("ib-xdr-4x",   "XDR",   4,  212.5, 200, 800, 100, 200, U, U, ""),
    IB("ib-xdr-12x",  "XDR",   12, 212.5, 200, 2400, 300, 600, U, U, ""),

    ROCE_CEILING("roce-10g", "10GbE", 10, 1.25, 2.5),
    PORT("roce-25g",  CB_LINK_ROCE, "25GbE",  25, 3.125, 6.25, 2.84, 2.84, "virtual functions of 2 nodes, nccl-tests at 2 GiB", frame_source),
    ROCE_CEILING("roce-40g", "40GbE", 40, 5, 10),
    ROCE_CEILING("roce-50g", "50GbE", 50, 6.25, 12.5),
    PORT("roce-100g", CB_LINK_ROCE, "100GbE", 100, 12.5, 25, 12, 12, "NCCL maintainer, nccl-tests 119; OCI minimum 96 Gb/s", frame_source),
    PORT("roce-200g", CB_LINK_ROCE, "200GbE", 200, 25, 50, 24, 24, "NCCL maintainer, nccl-tests 119", frame_source),
    PORT("roce-400g", CB_LINK_ROCE, "400GbE", 400, 50, 100, 48, 49, "NCCL 2409, ib_write_bw; OCI minimum 384 Gb/s", frame_source),
    ROCE_CEILING("roce-800g", "800GbE", 800, 100, 200),

    PORT("efa-100", CB_LINK_EFA, "v1, v2", 100, 12.5, 25, 10.625, 10.625, "IDEFICS on p4d, 340 of 400 Gb/s a node, ml-engineering", efa_source),
    PORT("efa-200", CB_LINK_EFA, "v3",     200, 25, 50, 24.2, 24.2, "p5en, ib_write_bw, ml-engineering", efa_source),
    PORT("efa-400", CB_LINK_EFA, "v4",     400, 50, 100, 36.5, 37, "p6-b200, all_reduce of 4 GiB and more, ml-engineering", efa_source),

    PORT("slingshot-10", CB_LINK_SLINGSHOT, "10", 100, 12.5, 25, U, U, "", slingshot_source),
    PORT("slingshot-11", CB_LINK_SLINGSHOT, "11", 200, 25, 50, U, U, "", slingshot_source),
    PORT("slingshot-400", CB_LINK_SLINGSHOT, "400", 400, 50, 100, U, U, "", slingshot_source),
    PORT("opa-100", CB_LINK_OMNI_PATH, "100", 100, 12.5, 25, U, U, "", "BigScience, Jean Zay bandwidth tests"),

    TCP("eth-1g",   "1GbE",   1,   0.125, 0.25),
    TCP("eth-10g",  "10GbE",  10,  1.25, 2.5),
    TCP("eth-25g",  "25GbE",  25,  3.125, 6.25),
    TCP("eth-40g",  "40GbE",  40,  5, 10),
    TCP("eth-50g",  "50GbE",  50,  6.25, 12.5),
    TCP("eth-100g", "100GbE", 100, 12.5, 25),
    TCP("eth-200g", "200GbE", 200, 25, 50),
    TCP("eth-400g", "400GbE", 400, 50, 100),
    TCP("eth-800g", "800GbE", 800, 100, 200),

    NODE("efa-p4d",     "EFA v1", 4,  400, 50, 100, 42.5, "IDEFICS, 340 of 400 Gb/s, ml-engineering"),
    NODE("efa-p5",      "EFA v2", 32, 3200, 400, 800, U, ""),
    NODE("efa-p5en",    "EFA v3", 16, 3200, 400, 800, U, ""),
    NODE("efa-p6-b200", "EFA v4", 8,  3200, 400, 800, 292, "73 % of each port, all_reduce, ml-engineering"),
    NODE("efa-p6-b300", "EFA v4", 16, 6400, 800, 1600, U, ""),
    NODE("gcp-a3-high-tcpx",  "TCPX",  4, 800, 100, 200, U, ""),
    NODE("gcp-a3-mega-tcpxo", "TCPXO", 8, 1600, 200, 400, U, ""),
    NODE("dgx-h100-ndr", "NDR", 8, 3200, 400, 800, 370, "NVIDIA GTC S62129, all_reduce bus bandwidth"),
    NODE("dgx-b300-xdr", "XDR", 8, 6400, 800, 1600, U, ""),
};
/* clang-format on */

enum { LINK_COUNT = sizeof(links) / sizeof(links[0]) };

static const struct family {
    const char *name;
    bool is_intra, is_inter;
} families[] = {
    [CB_LINK_PCIE] = {"pcie", true, false},
    [CB_LINK_NVLINK] = {"nvlink", true, true},
    [CB_LINK_C2C] = {"nvlink-c2c", false, false},
    [CB_LINK_XGMI] = {"xgmi", true, false},
    [CB_LINK_INFINIBAND] = {"infiniband", false, true},
    [CB_LINK_ROCE] = {"roce", false, true},
    [CB_LINK_EFA] = {"efa", false, true},
    [CB_LINK_SLINGSHOT] = {"slingshot", false, true},
    [CB_LINK_OMNI_PATH] = {"omni-path", false, true},
    [CB_LINK_ETHERNET] = {"ethernet", false, true},
    [CB_LINK_FABRIC] = {"node fabric", false, true},
};
_Static_assert(sizeof(families) / sizeof(families[0]) == CB_LINK_FAMILY_COUNT, "one per family");

/* Other beginnings of a name, plain as plain_name() makes them; the first that fits counts. */
static const struct prefix {
    const char *written, *ours;
} prefixes[] = {
    {"infinibandib", "ib"},  {"infiniband", "ib"},
    {"pciegen", "pcie"},     {"pciexpress", "pcie"},
    {"gen", "pcie"},         {"ethernet", "eth"},
    {"tcp", "eth"},          {"rocev2", "roce"},
    {"omnipath", "opa"},     {"infinityfabric", "xgmi"},
    {"nvlinkgen", "nvlink"}, {"nvlinkv", "nvlink"},
    {"mi", "xgmimi"},
};

/* Names that are no spelling of the row's own, plain and without a unit. */
static const struct alias {
    const char *written, *ours;
} aliases[] = {
    {"gigabit", "eth-1g"},
    {"gigabitethernet", "eth-1g"},
    {"ib25", "ib-edr-1x"},
    {"ib40", "ib-qdr-4x"},
    {"ib56", "ib-fdr-4x"},
    {"ib100", "ib-edr-4x"},
    {"ib200", "ib-hdr-4x"},
    {"ib400", "ib-ndr-4x"},
    {"ib800", "ib-xdr-4x"},
    {"hdr100", "ib-hdr-2x"},
    {"ibhdr100", "ib-hdr-2x"},
    {"hdr200", "ib-hdr-4x"},
    {"ndr200", "ib-ndr-2x"},
    {"ibndr200", "ib-ndr-2x"},
    {"ndr400", "ib-ndr-4x"},
    {"ibndr400", "ib-ndr-4x"},
    {"xdr800", "ib-xdr-4x"},
    {"c2c", "nvlink-c2c"},
    {"slingshot", "slingshot-11"},
    {"slingshot100", "slingshot-10"},
    {"slingshot200", "slingshot-11"},
    {"cassini", "slingshot-11"},
    {"opa", "opa-100"},
    {"p4d", "efa-p4d"},
    {"p4de", "efa-p4d"},
    {"p5", "efa-p5"},
    {"p5en", "efa-p5en"},
    {"p6b200", "efa-p6-b200"},
    {"p6b300", "efa-p6-b300"},
    {"tcpx", "gcp-a3-high-tcpx"},
    {"tcpxo", "gcp-a3-mega-tcpxo"},
};

#define PLAIN_LENGTH 48

/* The end of a row's plain name that people leave out; NULL when it has none. */
static const char *usual_width(const struct cb_link_reference *link)
{
    if (link->family == CB_LINK_PCIE && link->lanes == 16)
        return "x16";
    if (link->family == CB_LINK_INFINIBAND && link->lanes == 4)
        return "4x";
    return NULL;
}

static bool has_widths(enum cb_link_family family)
{
    return family == CB_LINK_PCIE || family == CB_LINK_INFINIBAND;
}

/* Lower case, letters and digits only; false when it does not fit (no name of ours is so long). */
static bool plain_name(const char *text, char out[PLAIN_LENGTH])
{
    size_t length = 0;
    for (; *text; text++) {
        if (!isalnum((unsigned char)*text))
            continue;
        if (length + 1 >= PLAIN_LENGTH)
            return false;
        out[length++] = (char)tolower((unsigned char)*text);
    }
    out[length] = '\0';
    return length > 0;
}

/* Takes a unit off the end ("100gbps", "100gbe" -> "100"); true when there was one. */
static bool strip_unit(char *plain)
{
    static const char *const units[] = {"gbits", "gbit", "gbps", "gbe", "gb", "g"};
    size_t length = strlen(plain);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        size_t unit = strlen(units[i]);
        if (length > unit && strcmp(plain + length - unit, units[i]) == 0 &&
            isdigit((unsigned char)plain[length - unit - 1])) {
            plain[length - unit] = '\0';
            return true;
        }
    }
    return false;
}

/* A name's plain form with the common beginnings and without its unit; false when it is empty or
 * longer than any of ours. */
static bool canonical_name(const char *text, char out[PLAIN_LENGTH])
{
    char plain[PLAIN_LENGTH];
    if (!plain_name(text, plain))
        return false;
    bool had_unit = strip_unit(plain);
    const char *before = had_unit && plain[strspn(plain, "0123456789")] == '\0' ? "eth" : "";
    const char *rest = plain;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        size_t length = strlen(prefixes[i].written);
        if (strncmp(plain, prefixes[i].written, length) == 0) {
            before = prefixes[i].ours;
            rest = plain + length;
            break;
        }
    }
    return snprintf(out, PLAIN_LENGTH, "%s%s", before, rest) < PLAIN_LENGTH;
}

/* Whether the name is the row's, whose width may be missing when it is the usual one. */
static bool names_row(const char *canonical, const struct cb_link_reference *link)
{
    char own[PLAIN_LENGTH];
    if (!canonical_name(link->name, own))
        return false;
    if (strcmp(canonical, own) == 0)
        return true;
    const char *usual = usual_width(link);
    if (!usual)
        return false;
    own[strlen(own) - strlen(usual)] = '\0';
    return strcmp(canonical, own) == 0 ||
           (link->family == CB_LINK_INFINIBAND && strcmp(canonical, own + strlen("ib")) == 0);
}

const char *cb_link_family_name(enum cb_link_family family)
{
    return (unsigned)family < CB_LINK_FAMILY_COUNT ? families[family].name : "none";
}

bool cb_link_family_is_inter(enum cb_link_family family)
{
    return (unsigned)family < CB_LINK_FAMILY_COUNT && families[family].is_inter;
}

bool cb_link_family_is_intra(enum cb_link_family family)
{
    return (unsigned)family < CB_LINK_FAMILY_COUNT && families[family].is_intra;
}

const struct cb_link_reference *cb_link_references(size_t *count)
{
    *count = LINK_COUNT;
    return links;
}

const struct cb_link_reference *cb_link_reference_find_name(const char *name)
{
    char plain[PLAIN_LENGTH], canonical[PLAIN_LENGTH];
    if (!plain_name(name, plain) || !canonical_name(name, canonical))
        return NULL;
    const char *alias = NULL;
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
        if (strcmp(aliases[i].written, plain) == 0 || strcmp(aliases[i].written, canonical) == 0)
            alias = aliases[i].ours;
    for (size_t i = 0; i < LINK_COUNT; i++)
        if (alias ? strcmp(alias, links[i].name) == 0 : names_row(canonical, &links[i]))
            return &links[i];
    return NULL;
}

size_t cb_link_reference_nearest(const char *name, const struct cb_link_reference **nearest,
                                 size_t limit)
{
    const char *names[LINK_COUNT];
    for (size_t i = 0; i < LINK_COUNT; i++)
        names[i] = links[i].name;
    size_t found[CB_SUGGEST_LIMIT];
    size_t count = cb_suggest_several(name, names, LINK_COUNT, found,
                                      limit < CB_SUGGEST_LIMIT ? limit : CB_SUGGEST_LIMIT);
    for (size_t i = 0; i < count; i++)
        nearest[i] = &links[found[i]];
    return count;
}

const struct cb_link_reference *cb_link_reference_find(enum cb_link_family family,
                                                       const char *generation, int lanes)
{
    for (size_t i = 0; i < LINK_COUNT; i++) {
        const struct cb_link_reference *link = &links[i];
        bool is_wide_enough = lanes == 0
                                  ? link->lanes < 0 || !has_widths(family) || usual_width(link)
                                  : link->lanes == lanes;
        if (link->family == family && strcmp(link->generation, generation) == 0 && is_wide_enough)
            return link;
    }
    return NULL;
}

/* The rate of one lane or link of a numbered generation, times how many; -1 when there is none. */
static double scaled_rate(enum cb_link_family family, int generation, int parts)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", generation);
    const struct cb_link_reference *link = cb_link_reference_find(family, text, 0);
    if (!link || parts <= 0)
        return -1;
    int whole = family == CB_LINK_PCIE ? link->lanes : link->links;
    return link->payload_bytes_per_s / whole * parts;
}

double cb_link_pcie_bytes_per_s(int generation, int lanes)
{
    return scaled_rate(CB_LINK_PCIE, generation, lanes);
}

double cb_link_nvlink_bytes_per_s(int generation, int link_count)
{
    return scaled_rate(CB_LINK_NVLINK, generation, link_count);
}

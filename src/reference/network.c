#include "reference/network.h"

#include <math.h>
#include <string.h>

#include "model/scaling.h"

/* Which of a link's rows: sums run in the switches of newer NVLink, what only gathers does not. */
enum work { WORK_SUM, WORK_ANY };

struct efficiency_row {
    enum cb_link_family family;
    const char *generation; /* NULL: any */
    enum work work;
    int ranks; /* of a node, at least */
    bool no_peer_access;
    struct cb_efficiency share;
};

#define SEEN(low, typical, high, basis)                                                            \
    {                                                                                              \
        low, typical, high, CB_FROM_REFERENCE, basis                                               \
    }
#define ASSUMED(low, typical, high, basis)                                                         \
    {                                                                                              \
        low, typical, high, CB_FROM_ASSUMED, basis                                                 \
    }

/* The first row that fits counts. */
/* clang-format off */
static const struct efficiency_row rows[] = {
    {CB_LINK_NVLINK, "3", WORK_SUM, 2, false, SEEN(0.76, 0.78, 0.785, "8 x A100: all_reduce 235 of 300 GB/s, minimum 228 (ml-engineering, AzNHC)")},
    {CB_LINK_NVLINK, "3", WORK_ANY, 2, false, SEEN(0.745, 0.75, 0.77, "8 x A100: all_gather 223, reduce_scatter 231 of 300 GB/s (superbenchmark)")},
    {CB_LINK_NVLINK, "4", WORK_SUM, 8, false, SEEN(0.98, 1.06, 1.07, "8 x H100: all_reduce 480 of 450 GB/s, NVLS, minimum 440 (dgxc-benchmarking, OCI)")},
    {CB_LINK_NVLINK, "4", WORK_ANY, 2, false, SEEN(0.79, 0.80, 0.82, "8 x H200: ring 361 to 367 of 450 GB/s (ml-engineering)")},
    {CB_LINK_NVLINK, "5", WORK_SUM, 8, false, SEEN(0.80, 0.82, 0.94, "8 x B200: all_reduce 741 to 846 of 900 GB/s, NVLS (ml-engineering)")},
    {CB_LINK_NVLINK, "5", WORK_ANY, 2, false, SEEN(0.62, 0.67, 0.80, "4 x GB200: ring 605 of 900 GB/s (all_reduce_perf 2.20)")},
    {CB_LINK_NVLINK, "2", WORK_ANY, 2, false, SEEN(0.73, 0.78, 0.80, "8 x V100: minimum 110 of 150 GB/s (AzNHC); NCCL counts 0.8")},
    {CB_LINK_NVLINK, NULL, WORK_ANY, 2, false, ASSUMED(0.70, 0.78, 0.80, "as NVLink 2 and 3")},
    {CB_LINK_PCIE, NULL, WORK_ANY, 2, true, SEEN(0.37, 0.45, 0.56, "8 x RTX 4090 without P2P: 14.5 of 31.5 GB/s; 8 and 4 x RTX 5090: 28 and 35 of 63")},
    {CB_LINK_PCIE, NULL, WORK_ANY, 2, false, SEEN(0.70, 0.78, 0.80, "V100-PCIE 11.7 of 15.8, A100-PCIE 25, RTX 4090 with P2P 25.3 of 31.5 GB/s")},
    {CB_LINK_XGMI, NULL, WORK_ANY, 2, false, SEEN(0.70, 0.78, 0.80, "8 x MI300X: minimums 314 and 350 of 448 GB/s (AzNHC, OCI)")},
    {CB_LINK_INFINIBAND, NULL, WORK_ANY, 1, false, SEEN(0.90, 0.94, 0.97, "2 and 4 DGX A100: 188 and 191 of 200 GB/s; 8 HGX H100: 387 of 400")},
    {CB_LINK_ROCE, NULL, WORK_ANY, 1, false, SEEN(0.75, 0.91, 0.95, "MI300X 358 of 400, 25G 2.84 of 3.13, 2 x A100 at 8 x 100G 75 of 100 GB/s")},
    {CB_LINK_EFA, "v1, v2", WORK_ANY, 1, false, SEEN(0.75, 0.84, 0.90, "2 x p4de: 78 of 94 GB/s; IDEFICS 340 of 400 Gb/s")},
    {CB_LINK_EFA, "v3", WORK_ANY, 1, false, SEEN(0.85, 0.92, 0.95, "16 x p5en: all_gather 370 of 400 GB/s")},
    {CB_LINK_EFA, NULL, WORK_ANY, 1, false, SEEN(0.85, 0.95, 0.96, "4 x p6-b200: 377 to 382 of 400 GB/s (ml-engineering)")},
    {CB_LINK_SLINGSHOT, NULL, WORK_ANY, 1, false, ASSUMED(0.75, 0.90, 0.95, "as RoCE")},
    {CB_LINK_OMNI_PATH, NULL, WORK_ANY, 1, false, SEEN(0.10, 0.35, 0.90, "Jean Zay, 4 nodes of A100: 40 to 140 of 400 Gb/s (BigScience)")},
    {CB_LINK_FABRIC, "TCPX", WORK_ANY, 1, false, SEEN(0.60, 0.71, 0.75, "2 x a3-high: all_gather 71 of 100 GB/s, minimum 60")},
    {CB_LINK_FABRIC, "TCPXO", WORK_ANY, 1, false, SEEN(0.75, 0.92, 0.95, "2 x a3-mega: all_gather 189 of 200 GB/s, minimum 150")},
    {CB_LINK_FABRIC, "EFA v1", WORK_ANY, 1, false, SEEN(0.75, 0.84, 0.90, "2 x p4de: 78 of 94 GB/s; IDEFICS 340 of 400 Gb/s")},
    {CB_LINK_FABRIC, "EFA v2", WORK_ANY, 1, false, ASSUMED(0.75, 0.84, 0.92, "as EFA v1")},
    {CB_LINK_FABRIC, "EFA v3", WORK_ANY, 1, false, SEEN(0.85, 0.92, 0.95, "16 x p5en: all_gather 370 of 400 GB/s")},
    {CB_LINK_FABRIC, "EFA v4", WORK_ANY, 1, false, SEEN(0.85, 0.95, 0.96, "4 x p6-b200: 377 to 382 of 400 GB/s (ml-engineering)")},
    {CB_LINK_FABRIC, "NDR", WORK_ANY, 1, false, SEEN(0.90, 0.94, 0.97, "DGX H100: 370 of 400 GB/s (GTC S62129); 8 HGX H100: 387")},
    {CB_LINK_FABRIC, NULL, WORK_ANY, 1, false, ASSUMED(0.85, 0.92, 0.95, "as the generation before")},
    {CB_LINK_ETHERNET, "1GbE", WORK_ANY, 1, false, SEEN(0.90, 0.94, 0.95, "TCP payload at an MTU of 1500: 0.1177 of 0.125 GB/s")},
    {CB_LINK_ETHERNET, "10GbE", WORK_ANY, 1, false, SEEN(0.70, 0.90, 0.94, "10 GbE: 9.37 Gb/s of iperf3 (DeepSpeed 5766)")},
    {CB_LINK_ETHERNET, NULL, WORK_ANY, 1, false, SEEN(0.10, 0.35, 0.90, "TCP above 10 Gb/s: 40 GbE 4.1 Gb/s (1-bit Adam), 25 Gb/s 5 (NCCL 318)")},
};
/* clang-format on */

/* Seconds per hop, and what a collective costs before its first one. Source: NCCL 2.30, tuning.cc,
 * the Simple protocol. */
#define BASE_S 8.4e-6
#define NVLINK_HOP_S 3.4e-6
#define PCIE_HOP_S 5.7e-6
/* Of a socket: 8 bytes between two nodes take 99 to 101 us on T4 and 86 on GH200, in two hops
 * (aws-do-eks; a Slingshot pair without its plugin). NCCL counts 14 us for RDMA. */
#define TCP_HOP_S 50e-6
#define RDMA_HOP_S 14e-6

/* How far a tree inside a node keeps up with its ring: 2 DGX A100 stay with their ring of 188 GB/s
 * though a tree over 8 x 200 Gb/s would carry 350. Sums in the switches have no such limit. */
#define TREE_SHARE_OF_RING 0.8

static const struct cb_efficiency *find_efficiency(const struct cb_link_reference *link,
                                                   enum cb_op op, int ranks_of_node,
                                                   bool no_peer_access)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct efficiency_row *row = &rows[i];
        bool fits_work = row->work == WORK_ANY || op == CB_OP_ALL_REDUCE;
        bool fits_access = row->no_peer_access == (no_peer_access && row->family == CB_LINK_PCIE);
        if (row->family == link->family && fits_work && fits_access &&
            ranks_of_node >= row->ranks &&
            (!row->generation || strcmp(row->generation, link->generation) == 0))
            return &row->share;
    }
    return NULL;
}

static double share_at(const struct cb_efficiency *efficiency, enum cb_pace pace)
{
    switch (pace) {
    case CB_PACE_FAST:
        return efficiency->high;
    case CB_PACE_SLOW:
        return efficiency->low;
    default:
        return efficiency->typical;
    }
}

/* ---- setting up ---- */

static int check_link(const struct cb_link_reference *link, bool fits, const char *place,
                      struct cb_error *err)
{
    if (fits)
        return 0;
    cb_fail(err, CB_E_USAGE, "%s cannot be the link %s", link->name, place);
    cb_error_set_hint(err, "commbound judge --list links shows what is where");
    return CB_E_USAGE;
}

static int check_sheet(const struct cb_data_sheet *sheet, struct cb_error *err)
{
    if (sheet->nodes < 1 || sheet->gpus_per_node < 1)
        return cb_fail(err, CB_E_USAGE, "%d nodes of %d GPUs are no cluster", sheet->nodes,
                       sheet->gpus_per_node);
    if (sheet->gpus_per_node > 1 && !sheet->intra)
        return cb_fail(err, CB_E_USAGE, "the link between the GPUs of a node is not stated");
    if (sheet->nodes > 1 && !sheet->inter)
        return cb_fail(err, CB_E_USAGE, "the link between the nodes is not stated");
    int rc = 0;
    if (sheet->intra)
        rc = check_link(sheet->intra, cb_link_family_is_intra(sheet->intra->family),
                        "between the GPUs of a node", err);
    if (rc == 0 && sheet->inter)
        rc = check_link(sheet->inter, cb_link_family_is_inter(sheet->inter->family),
                        "between nodes", err);
    if (rc == 0 && sheet->inter && sheet->inter->scope != CB_LINK_PER_PORT &&
        sheet->ports_per_node > 1)
        return cb_fail(err, CB_E_USAGE, "%s counts all ports of a node already",
                       sheet->inter->name);
    return rc;
}

static struct cb_sheet_path path_of(const struct cb_link_reference *link, double override_bytes,
                                    int ports, const struct cb_efficiency *efficiency)
{
    struct cb_sheet_path path = {.link = link, .efficiency = *efficiency};
    double scale = override_bytes > 0 ? override_bytes / link->payload_bytes_per_s : ports;
    path.nominal_bytes_per_s = link->payload_bytes_per_s * scale;
    path.both_ways_bytes_per_s = link->both_ways_bytes_per_s * scale;
    path.practical_bytes_per_s = path.nominal_bytes_per_s * efficiency->typical;
    return path;
}

int cb_sheet_network_init(struct cb_sheet_network *network, const struct cb_data_sheet *sheet,
                          struct cb_error *err)
{
    int rc = check_sheet(sheet, err);
    if (rc)
        return rc;
    struct cb_sheet_network out = {.sheet = *sheet};
    if (sheet->intra && sheet->gpus_per_node > 1)
        out.intra = path_of(sheet->intra, sheet->intra_bytes_per_s, 1,
                            find_efficiency(sheet->intra, CB_OP_ALL_REDUCE, sheet->gpus_per_node,
                                            sheet->no_peer_access));
    if (sheet->inter && sheet->nodes > 1) {
        if (out.sheet.ports_per_node == 0)
            out.sheet.ports_per_node = 1;
        out.inter = path_of(sheet->inter, 0, out.sheet.ports_per_node,
                            find_efficiency(sheet->inter, CB_OP_ALL_REDUCE,
                                            sheet->nodes * sheet->gpus_per_node, false));
    }
    *network = out;
    network->network = (struct cb_network){.context = network,
                                           .gpus_per_node = sheet->gpus_per_node,
                                           .nodes = sheet->nodes,
                                           .time_s = cb_sheet_network_time_s};
    return 0;
}

/* ---- how long an op takes ---- */

/* One op over one group. */
struct question {
    const struct cb_sheet_network *network;
    enum cb_op op;
    int ranks, nodes, ranks_of_node;
    const struct cb_link_reference *inside; /* between the ranks of a node */
    double inside_bytes_per_s;              /* of one GPU */
    enum cb_pace pace;
    bool assumed; /* a share that nobody published went in */
};

/* What a ring over the GPUs of a node moves; infinite for one. */
static double inside_rate(struct question *question, enum cb_op op)
{
    if (question->ranks_of_node < 2)
        return INFINITY;
    const struct cb_efficiency *share = find_efficiency(
        question->inside, op, question->ranks_of_node, question->network->sheet.no_peer_access);
    question->assumed = question->assumed || share->source == CB_FROM_ASSUMED;
    return question->inside_bytes_per_s * share_at(share, question->pace);
}

/* What the ports of the group's ranks carry out of one node. A rank drives its own port, or its
 * share of the ports that there are. */
static double between_rate(struct question *question)
{
    const struct cb_sheet_network *network = question->network;
    const struct cb_efficiency *share = &network->inter.efficiency;
    const struct cb_fabric unblocked = {0};
    double node = network->inter.nominal_bytes_per_s;
    int ports = network->sheet.inter->scope == CB_LINK_PER_PORT ? network->sheet.ports_per_node
                                                                : network->sheet.inter->links;
    double of_rank = fmax(node / ports, node / network->sheet.gpus_per_node);
    question->assumed = question->assumed || share->source == CB_FROM_ASSUMED;
    /* Shares were published of 2 to 16 nodes. */
    return fmin(node, of_rank * question->ranks_of_node) * share_at(share, question->pace) *
           cb_scaling_bandwidth_share(question->op, 16, question->nodes, &unblocked,
                                      question->pace);
}

/* Bus bandwidth of large messages. */
static double bus_rate(struct question *question)
{
    double inside = inside_rate(question, question->op);
    if (question->nodes == 1)
        return inside;
    double between = between_rate(question);
    double ring = fmin(inside_rate(question, CB_OP_ALL_GATHER), between);
    if (question->op != CB_OP_ALL_REDUCE)
        return ring;
    ring = fmin(inside, between);
    double gain = cb_scaling_tree_gain(question->nodes) * (question->ranks - 1) / question->ranks;
    bool sums_in_switch = inside > inside_rate(question, CB_OP_ALL_GATHER) * 1.1;
    double tree = fmin(between * gain, inside * (sums_in_switch ? 1 : TREE_SHARE_OF_RING));
    return question->pace == CB_PACE_SLOW ? ring : fmax(ring, tree);
}

/* An all_to_all sends every byte for another node through the node's ports. */
static double exchange_s(struct question *question, double size_bytes)
{
    double inside_bytes = size_bytes * (question->ranks_of_node - 1) / question->ranks;
    double inside_s = inside_bytes > 0 ? inside_bytes / inside_rate(question, CB_OP_ALL_TO_ALL) : 0;
    if (question->nodes == 1)
        return inside_s;
    double leaving_bytes = size_bytes * question->ranks_of_node *
                           (question->ranks - question->ranks_of_node) / question->ranks;
    return fmax(inside_s, leaving_bytes / between_rate(question));
}

static double inside_hop_s(const struct question *question)
{
    return question->inside->family == CB_LINK_PCIE ? PCIE_HOP_S : NVLINK_HOP_S;
}

static double latency_s(const struct question *question)
{
    enum cb_scaling_law law = cb_scaling_law_of(question->op);
    int passes = question->op == CB_OP_ALL_REDUCE ? 2 : 1;
    if (question->nodes == 1) {
        int hops = question->op == CB_OP_SEND_RECV ? 1 : passes * (question->ranks - 1);
        return BASE_S + hops * inside_hop_s(question);
    }
    struct cb_group_shape group = {question->ranks, question->nodes};
    struct cb_scaling published = cb_scaling_published(law);
    double alpha_s = cb_scaling_alpha_s(&published, &group);
    double hops = law == CB_SCALING_TREE ? passes * log2(question->nodes) : question->nodes - 1;
    if (question->op == CB_OP_SEND_RECV) {
        alpha_s = BASE_S + RDMA_HOP_S;
        hops = 1;
    }
    bool is_tcp = question->network->inter.link->family == CB_LINK_ETHERNET;
    return alpha_s + (is_tcp ? hops * (TCP_HOP_S - RDMA_HOP_S) : 0);
}

/* False when the data sheets say nothing of such a group. */
static bool ask(const struct cb_sheet_network *network, enum cb_op op,
                const struct cb_group_shape *group, enum cb_pace pace, struct question *question)
{
    const struct cb_link_reference *inter = network->inter.link;
    *question = (struct question){
        .network = network,
        .op = op,
        .ranks = group->ranks,
        .nodes = group->nodes,
        .ranks_of_node = (group->ranks + group->nodes - 1) / group->nodes,
        .inside = network->intra.link,
        .inside_bytes_per_s = network->intra.nominal_bytes_per_s,
        .pace = pace,
    };
    /* NVLink between nodes makes one node of them. */
    if (group->nodes > 1 && inter && inter->family == CB_LINK_NVLINK) {
        question->nodes = 1;
        question->ranks_of_node = group->ranks;
        question->inside = inter;
        question->inside_bytes_per_s = network->inter.nominal_bytes_per_s;
    }
    return (question->nodes == 1 || inter) && (question->ranks_of_node < 2 || question->inside);
}

double cb_sheet_network_time_s(const void *context, enum cb_op op, double size_bytes,
                               const struct cb_group_shape *group, enum cb_pace pace,
                               enum cb_provenance *source)
{
    struct question question;
    if (source)
        *source = CB_FROM_NOWHERE;
    if (group->nodes < 1 || group->ranks < group->nodes || !(size_bytes >= 0) ||
        !ask(context, op, group, pace, &question))
        return -1;
    if (group->ranks == 1)
        return 0;
    double moving_s = op == CB_OP_ALL_TO_ALL
                          ? exchange_s(&question, size_bytes)
                          : size_bytes * cb_op_bus_factor(op, group->ranks) / bus_rate(&question);
    if (source)
        *source = question.assumed ? CB_FROM_ASSUMED : CB_FROM_NOMINAL;
    return latency_s(&question) + moving_s;
}

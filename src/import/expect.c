#include "import/expect.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "reference/busbw.h"

#define GIGA 1e9

#define FAR_BELOW 0.6 /* of the lowest that was published */

/* GPUs that no provider connects by anything but RDMA of at least 100 Gb/s per GPU. */
static const char *const fabric_gpus[] = {"GH200", "GB200", "GB300", "H100 80GB HBM3",
                                          "H200",  "B200",  "B300",  "A100-SXM"};
#define ONE_SLOW_NIC (9 * GIGA) /* what NCCL makes of 100 Gb/s */

/* GeForce cards that have no peer-to-peer access; what goes through host memory reaches this. */
static const char *const no_peers[] = {"RTX 4060", "RTX 4070", "RTX 4080", "RTX 4090",
                                       "RTX 5070", "RTX 5080", "RTX 5090"};
#define THROUGH_HOST (20 * GIGA) /* 8 x RTX 4090 15, with P2P 4 read 25: reference/busbw.c */

#define SLOW_LINK (3.2 * GIGA)      /* 25 Gb/s */
#define RING_OF_NVLINK (400 * GIGA) /* 8 x H200 by a ring read 368: reference/busbw.c */

static bool names_one_of(const char *gpu, const char *const *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(gpu, parts[i]))
            return true;
    return false;
}
#define NAMES_ONE_OF(gpu, parts) names_one_of(gpu, parts, sizeof(parts) / sizeof((parts)[0]))

static void check_network(const struct cb_import *s, double best, struct cb_findings *findings)
{
    char rate[CB_UNIT_TEXT];
    int per_node = s->ranks / s->nodes;
    if (per_node > 1 && best < ONE_SLOW_NIC && NAMES_ONE_OF(s->gpu, fabric_gpus) &&
        !cb_finding_is_there(findings, CB_FINDING_SOCKETS))
        cb_finding_add(findings, CB_FINDING_LIKE_SOCKETS, 0,
                       "%s over %d nodes of %d %s is less than one NIC of 100 Gb/s carries: it "
                       "looks like a silent fallback to TCP sockets",
                       cb_format_bandwidth(rate, best), s->nodes, per_node, s->gpu);
}

/* Is this number normal? By what others published of the same GPUs, ranks and nodes; the log does
 * not tell the links. */
static void check_published(const struct cb_import *s, const struct cb_grading *grading,
                            double best, struct cb_findings *findings)
{
    char text[CB_TEXT - 16];
    struct cb_busbw_answer answer;
    struct cb_busbw_query query = {.gpu = s->gpu,
                                   .gpus = s->ranks,
                                   .nodes = s->nodes,
                                   .link = -1,
                                   .op = cb_test_op(grading->test),
                                   .size_bytes = (double)s->best_bytes};
    if (query.op == CB_OP_COUNT || s->nodes == 0)
        return;
    cb_busbw_find(&query, &answer);
    if (!answer.found)
        return;
    double lowest =
        answer.low_bytes_per_s > 0 ? answer.low_bytes_per_s : answer.minimum_bytes_per_s;
    bool is_low = best < FAR_BELOW * lowest;
    cb_busbw_describe(&query, &answer, best, text, sizeof(text));
    cb_finding_add(findings, is_low ? CB_FINDING_LOW_FOR_GPUS : CB_FINDING_PUBLISHED, 0, "%s%s",
                   is_low ? "slow: " : "", text);
}

void cb_expect(const struct cb_import *s, const struct cb_grading *grading,
               struct cb_findings *findings)
{
    char rate[CB_UNIT_TEXT], wire[CB_UNIT_TEXT];
    double best = fmax(s->best_bus_bytes_per_s, s->best_in_place_bytes_per_s);
    bool is_all_reduce = grading->test == CB_TEST_ALL_REDUCE;
    if (s->ranks < 2 || !(best > 0) || cb_finding_is_there(findings, CB_FINDING_SHARED_GPU) ||
        cb_finding_is_there(findings, CB_FINDING_SMALL_SIZES))
        return;
    cb_format_bandwidth(rate, best);
    if (s->nodes > 1)
        check_network(s, best, findings);
    check_published(s, grading, best, findings);
    if (s->nodes != 1 && best < SLOW_LINK &&
        !cb_finding_is_there(findings, CB_FINDING_LIKE_SOCKETS))
        cb_finding_add(findings, CB_FINDING_SLOW_LINK, 0,
                       "%s is what a link of 25 Gb/s or less, or TCP, gives", rate);
    if (s->nodes == 1 && best < THROUGH_HOST && NAMES_ONE_OF(s->gpu, no_peers))
        cb_finding_add(findings, CB_FINDING_NO_PEERS, 0,
                       "%s between GeForce cards without P2P: data goes through host memory", rate);
    /* 16 ranks of unknown hosts are two nodes of eight as a rule. */
    if (is_all_reduce && s->ranks > 2 && (s->nodes == 2 || (s->nodes == 0 && s->ranks == 16)))
        cb_finding_add(findings, CB_FINDING_ABOVE_WIRE, 0,
                       "over two nodes a tree halves what crosses: bus bandwidth %s can be %.3g x "
                       "what a node's NICs carry, here at least %s",
                       rate, cb_import_factor_of(CB_FACTOR_TWICE_OTHERS, s->ranks),
                       cb_format_bandwidth(
                           wire, best / cb_import_factor_of(CB_FACTOR_TWICE_OTHERS, s->ranks)));
    if (is_all_reduce && s->nodes < 2 && s->ranks > 4 && s->ranks <= 8 &&
        (best > RING_OF_NVLINK || grading->may_use_multicast))
        cb_finding_add(findings, CB_FINDING_MULTICAST, 0,
                       "within one node NVSwitch adds up (NVLS): bus bandwidth %s is what a ring "
                       "would need, the links carry %s",
                       rate,
                       cb_format_bandwidth(wire, best * (s->ranks + 1) / (2.0 * (s->ranks - 1))));
}

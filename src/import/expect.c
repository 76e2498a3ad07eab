#include "import/expect.h"

#include <math.h>
#include <string.h>

#include "base/units.h"

#define GIGA 1e9

/* Bus bandwidth of all_reduce over two nodes and more with every NIC in use, as published for
 * machines with these GPUs; a part of the driver's name tells them. Sources: A100 with 8 x 200 Gb/s
 * DeepOps and OCI (185 to 192); H100 and H200 with 8 x 400 Gb/s OCI's pass mark, nccl-tests issue
 * 309, AWS p5 (400 to 487); B200 OCI, ml-engineering, GKE (381 to 684); MI300X OCI (350). */
struct expectation {
    const char *gpu;
    int ranks_per_node;
    double low_bytes_per_s, high_bytes_per_s;
};

static const struct expectation expectations[] = {
    {"A100-SXM", 8, 185 * GIGA, 192 * GIGA},       {"A100 80GB SXM", 8, 185 * GIGA, 192 * GIGA},
    {"H100 80GB HBM3", 8, 400 * GIGA, 487 * GIGA}, {"H200", 8, 400 * GIGA, 487 * GIGA},
    {"B200", 8, 381 * GIGA, 684 * GIGA},           {"MI300X", 8, 350 * GIGA, 360 * GIGA},
};

#define FAR_BELOW 0.5

/* GPUs that no provider connects by anything but RDMA of at least 100 Gb/s per GPU. */
static const char *const fabric_gpus[] = {"GH200", "GB200", "GB300", "H100 80GB HBM3",
                                          "H200",  "B200",  "B300",  "A100-SXM"};
#define ONE_SLOW_NIC (9 * GIGA) /* what NCCL makes of 100 Gb/s */

/* GeForce cards that have no peer-to-peer access; what goes through host memory reaches this. */
static const char *const no_peers[] = {"RTX 4060", "RTX 4070", "RTX 4080", "RTX 4090",
                                       "RTX 5070", "RTX 5080", "RTX 5090"};
#define THROUGH_HOST (20 * GIGA)

#define SLOW_LINK (3.2 * GIGA)      /* 25 Gb/s */
#define RING_OF_NVLINK (400 * GIGA) /* a ring over the NVLinks of H100 reads 370 */

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
    char rate[CB_UNIT_TEXT], low[CB_UNIT_TEXT], high[CB_UNIT_TEXT];
    int per_node = s->ranks / s->nodes;
    cb_format_bandwidth(rate, best);
    if (per_node > 1 && best < ONE_SLOW_NIC && NAMES_ONE_OF(s->gpu, fabric_gpus) &&
        !cb_finding_is_there(findings, CB_FINDING_SOCKETS))
        cb_finding_add(findings, CB_FINDING_LIKE_SOCKETS, 0,
                       "%s over %d nodes of %d %s is less than one NIC of 100 Gb/s carries: it "
                       "looks like a silent fallback to TCP sockets",
                       rate, s->nodes, per_node, s->gpu);
    for (size_t i = 0; i < sizeof(expectations) / sizeof(expectations[0]); i++) {
        const struct expectation *e = &expectations[i];
        if (!strstr(s->gpu, e->gpu) || per_node != e->ranks_per_node)
            continue;
        if (best < FAR_BELOW * e->low_bytes_per_s && best >= ONE_SLOW_NIC)
            cb_finding_add(findings, CB_FINDING_LOW_FOR_GPUS, 0,
                           "slow for %d nodes of %d %s: %s, where %s to %s are published with an "
                           "RDMA NIC per GPU",
                           s->nodes, per_node, s->gpu, rate,
                           cb_format_bandwidth(low, e->low_bytes_per_s),
                           cb_format_bandwidth(high, e->high_bytes_per_s));
        break;
    }
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

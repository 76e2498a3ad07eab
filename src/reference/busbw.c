#define _GNU_SOURCE /* strcasestr */
#include "reference/busbw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/units.h"

#define MANY (1 << 20) /* nodes: any number */
#define KIB 1024.0
#define MIB (1024.0 * KIB)
#define GIB (1024.0 * MIB)
#define GBIT(rate) ((rate) < 0 ? -1 : (rate)*1e9 / 8)
#define AT(size, gb_s)                                                                             \
    {                                                                                              \
        size, (gb_s)*1e9                                                                           \
    }
/* A provider's limit for the average of a sweep: it holds for every size of it all the more. */
#define FROM_TO(low, high, gb_s)                                                                   \
    {                                                                                              \
        AT(low, gb_s), AT(high, gb_s)                                                              \
    }

static const char ml_engineering[] = "ml-engineering, network";
static const char superbench[] = "superbench-results 0.4.0";
static const char dgxc[] = "NVIDIA dgxc-benchmarking, nccl";
static const char superbenchmark[] = "superbenchmark, tests/data";
static const char awsome[] = "awsome-distributed-training, nccl-tests";
static const char coreweave[] = "coreweave nccl-tests README";
static const char azhc[] = "azurehpc-health-checks";
static const char oci[] = "oci-hpc, healthchecks";
static const char scanner[] = "GoogleCloudPlatform cluster-health-scanner";
static const char azure_ai[] = "ai-infrastructure-on-azure, baselines";

/* In the order of the fields. */
/* clang-format off */
static const struct cb_busbw_series series[] = {
    /* one node */
    {"8x A100 node", "A100 SXM", 8, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, ml_engineering,
     {AT(32 * KIB, 1.31), AT(MIB, 18.0), AT(8 * MIB, 109.93), AT(64 * MIB, 171.54), AT(256 * MIB, 194.07),
      AT(GIB, 229.04), AT(4 * GIB, 233.88), AT(16 * GIB, 234.89)}},
    {"Azure NDmv4", "A100 SXM", 8, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, superbench,
     {AT(8 * GIB, 235.65)}},
    {"Azure NDv4", "A100 SXM", 8, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, superbench,
     {AT(8 * GIB, 235.05)}},
    {"8x A100-SXM4-40GB", "A100 SXM", 8, 1, 1, -1, -1, NULL, CB_OP_ALL_GATHER, CB_BUSBW_MEASURED, superbenchmark,
     {AT(8 * GIB, 223.4)}},
    {"8x A100-SXM4-40GB", "A100 SXM", 8, 1, 1, -1, -1, NULL, CB_OP_REDUCE_SCATTER, CB_BUSBW_MEASURED, superbenchmark,
     {AT(8 * GIB, 231.5)}},
    {"DGX H100", "H100 SXM", 8, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, dgxc,
     {AT(MIB, 67.04), AT(8 * MIB, 176.77), AT(64 * MIB, 361.67), AT(256 * MIB, 422.25), AT(GIB, 466.33),
      AT(4 * GIB, 477.24), AT(16 * GIB, 479.9)}},
    {"AWS p5.48xlarge", "H100 SXM", 8, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, awsome,
     {AT(MIB, 64.24), AT(64 * MIB, 359.54), AT(GIB, 441.81), AT(16 * GIB, 483.05)}},
    {"8x H200 node", "H200", 8, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, ml_engineering,
     {AT(32 * KIB, 1.44), AT(MIB, 39.93), AT(8 * MIB, 155.53), AT(64 * MIB, 346.51), AT(256 * MIB, 436.15),
      AT(GIB, 463.58), AT(4 * GIB, 473.1), AT(16 * GIB, 482.26)}},
    {"8x H200 node, NVLS off", "H200", 8, 1, 1, -1, -1, "ring", CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, ml_engineering,
     {AT(16 * GIB, 367.61)}},
    {"AWS P6-B200", "B200", 8, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, ml_engineering,
     {AT(32 * KIB, 1.2), AT(MIB, 36.06), AT(8 * MIB, 126.49), AT(64 * MIB, 400.6), AT(256 * MIB, 646.11),
      AT(GIB, 723.34), AT(4 * GIB, 740.64), AT(16 * GIB, 845.67)}},
    {"4x GB200 tray", "GB200", 4, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, "published all_reduce_perf 2.20 output",
     {AT(8 * GIB, 605.32)}},
    {"8x RTX 4090, no P2P", "RTX 4090", 8, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, "RTX4090 GPUDirect P2P Unlocked, before",
     {AT(32 * MIB, 15.04), AT(128 * MIB, 14.45)}},
    {"4x RTX 4090, P2P driver", "RTX 4090", 4, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, "README of a P2P-patched driver",
     {AT(GIB, 25.31)}},
    {"8x RTX 5090", "RTX 5090", 8, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, "NCCL 1639",
     FROM_TO(GIB, 8 * GIB, 28)},
    {"4x RTX 5090", "RTX 5090", 4, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, "NCCL 1639",
     FROM_TO(GIB, 8 * GIB, 35)},
    {"Azure ND40rs v2", "V100 SXM", 8, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MINIMUM, azhc,
     {AT(8 * GIB, 110)}},
    {"Azure ND96asr v4", "A100 SXM", 8, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MINIMUM, azhc,
     {AT(8 * GIB, 228)}},
    {"Azure ND96amsr A100 v4", "A100 SXM", 8, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MINIMUM, azhc,
     {AT(16 * GIB, 228)}},
    {"Azure NC96ads A100 v4", "A100 PCIe", 4, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MINIMUM, azhc,
     {AT(8 * GIB, 25)}},
    {"Azure NC80adis H100 v5", "H100 NVL", 2, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MINIMUM, azhc,
     {AT(16 * GIB, 208)}},
    {"Azure ND96isr H100 v5", "H100 SXM", 8, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MINIMUM, azhc,
     {AT(16 * GIB, 460)}},
    {"Azure ND96isr H200 v5", "H200", 8, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MINIMUM, azhc,
     {AT(16 * GIB, 431)}},
    {"Azure ND96isr MI300X v5", "MI300X", 8, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MINIMUM, azhc,
     {AT(16 * GIB, 314)}},
    {"OCI BM.GPU.A100", "A100 SXM", 8, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MINIMUM, oci, FROM_TO(GIB, 16 * GIB, 185)},
    {"OCI BM.GPU.H100.8", "H100 SXM", 8, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MINIMUM, oci, FROM_TO(GIB, 16 * GIB, 440)},
    {"OCI BM.GPU.H200.8", "H200", 8, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MINIMUM, oci, FROM_TO(GIB, 16 * GIB, 440)},
    {"OCI BM.GPU.B200.8", "B200", 8, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MINIMUM, oci, FROM_TO(GIB, 16 * GIB, 440)},
    {"OCI BM.GPU.B300.8", "B300", 8, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MINIMUM, oci, FROM_TO(GIB, 16 * GIB, 800)},
    {"OCI BM.GPU.MI300X.8", "MI300X", 8, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MINIMUM, oci, FROM_TO(GIB, 16 * GIB, 350)},
    {"OCI BM.GPU.MI355X.8", "MI355X", 8, 1, 1, -1, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MINIMUM, oci, FROM_TO(GIB, 16 * GIB, 350)},

    /* several nodes */
    {"AWS p4de.24xlarge", "A100 SXM", 8, 2, 2, CB_LINK_EFA, GBIT(400), NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, awsome,
     {AT(MIB, 6.35), AT(64 * MIB, 47.58), AT(256 * MIB, 69.89), AT(2 * GIB, 78.33)}},
    {"AWS p5.48xlarge", "H100 SXM", 8, 2, 2, CB_LINK_EFA, GBIT(3200), NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, awsome,
     {AT(MIB, 15.95), AT(64 * MIB, 209.19), AT(256 * MIB, 342.81), AT(GIB, 436.95), AT(8 * GIB, 479.28), AT(16 * GIB, 487.09)}},
    {"AWS p5.48xlarge, EKS", "H100 SXM", 8, 2, 2, CB_LINK_EFA, GBIT(3200), NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, awsome,
     {AT(2 * GIB, 437.79)}},
    {"AWS P6-B200", "B200", 8, 4, 4, CB_LINK_EFA, GBIT(3200), NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, ml_engineering,
     {AT(MIB, 5.37), AT(8 * MIB, 35.12), AT(64 * MIB, 156.74), AT(256 * MIB, 229.09), AT(GIB, 361.99), AT(4 * GIB, 377.34),
      AT(16 * GIB, 381.8)}},
    {"AWS p5en.48xlarge", "H200", 8, 16, 16, CB_LINK_EFA, GBIT(3200), NULL, CB_OP_ALL_GATHER, CB_BUSBW_MEASURED, awsome,
     {AT(16 * GIB, 369.86)}},
    {"CoreWeave HGX H100", "H100 SXM", 8, 8, 8, CB_LINK_INFINIBAND, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, coreweave,
     {AT(512 * MIB, 356.01), AT(GIB, 365.9), AT(4 * GIB, 383.23), AT(8 * GIB, 386.56)}},
    {"CoreWeave GB200 NVL72, one rack", "GB200", 4, 18, 18, CB_LINK_NVLINK, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, coreweave,
     {AT(512 * MIB, 586.06), AT(GIB, 681.17), AT(4 * GIB, 839.16), AT(8 * GIB, 834.57)}},
    {"CoreWeave GB200 NVL72, 2 racks", "GB200", 4, 36, 36, CB_LINK_INFINIBAND, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, coreweave,
     {AT(16 * GIB, 810.41)}},
    {"CoreWeave GB200 NVL72, 20 racks", "GB200", 4, 360, 360, CB_LINK_INFINIBAND, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, coreweave,
     {AT(16 * GIB, 405.74)}},
    {"H100 InfiniBand pair", "H100 SXM", 8, 2, 2, CB_LINK_INFINIBAND, GBIT(3200), NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, "nccl-tests 309",
     {AT(16 * GIB, 469.21)}},
    {"DGX A100 InfiniBand pair", "A100 SXM", 8, 2, 2, CB_LINK_INFINIBAND, GBIT(1600), NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, "NVIDIA deepops, network operator",
     {AT(512 * MIB, 179.71)}},
    {"4 DGX A100, InfiniBand", "A100 SXM", 8, 4, 4, CB_LINK_INFINIBAND, GBIT(1600), NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, "NVIDIA deepops, slurm cluster",
     {AT(4 * GIB, 191.1)}},
    {"OCI BM.GPU.B4.8", "A100 SXM", 8, 2, 2, CB_LINK_ROCE, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, "published nccl-tests 2.17 output",
     {AT(8 * GIB, 189.6)}},
    {"GH200 Slingshot pair", "GH200", 4, 2, 2, CB_LINK_SLINGSHOT, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, "published nccl-tests 2.17 output",
     {AT(128 * MIB, 122.57)}},
    {"MI300X pair", "MI300X", 8, 2, 2, CB_LINK_ROCE, GBIT(3200), NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, "published rccl-tests output",
     {AT(16 * GIB, 358.37)}},
    {"GCP a3-highgpu", "H100 SXM", 8, 2, 2, CB_LINK_ETHERNET, GBIT(800), NULL, CB_OP_ALL_GATHER, CB_BUSBW_MEASURED, "GCP cluster-toolkit, TCPX",
     {AT(512 * MIB, 70.9)}},
    {"GCP a3-megagpu", "H100 SXM", 8, 2, 2, CB_LINK_ETHERNET, GBIT(1600), NULL, CB_OP_ALL_GATHER, CB_BUSBW_MEASURED, "GCP cluster-toolkit, TCPXO",
     {AT(8 * GIB, 188.73)}},
    {"GCP a3-megagpu", "H100 SXM", 8, 2, 2, CB_LINK_ETHERNET, GBIT(1600), NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, "create-a3mega README, TCPXO",
     {AT(8 * GIB, 338.82)}},
    {"GCP a3-ultragpu", "H200", 8, 2, 2, CB_LINK_ROCE, GBIT(3200), NULL, CB_OP_ALL_GATHER, CB_BUSBW_MEASURED, "GCP cluster-toolkit, flex start",
     {AT(8 * GIB, 328.85)}},
    {"T4 pair, TCP", "T4", 1, 2, 2, CB_LINK_ETHERNET, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, "aws-do-eks, karpenter",
     {AT(GIB, 2.0)}},
    {"T4 pair, EFA", "T4", 1, 2, 2, CB_LINK_EFA, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, "aws-do-eks, karpenter",
     {AT(GIB, 2.83)}},
    {"25G RoCE virtual functions", NULL, 1, 2, 2, CB_LINK_ROCE, GBIT(25), NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, "koordinator documentation",
     {AT(2 * GIB, 2.84)}},
    {"K80 pair, TCP", "K80", 1, 2, 2, CB_LINK_ETHERNET, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MEASURED, "PerfKitBenchmarker",
     {AT(GIB, 0.61)}},
    {"OCI BM.GPU.A100", "A100 SXM", 8, 2, MANY, CB_LINK_ROCE, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MINIMUM, oci, FROM_TO(GIB, 16 * GIB, 185)},
    {"OCI BM.GPU.H100.8", "H100 SXM", 8, 2, MANY, CB_LINK_ROCE, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MINIMUM, oci, FROM_TO(GIB, 16 * GIB, 440)},
    {"OCI BM.GPU.H200.8", "H200", 8, 2, MANY, CB_LINK_ROCE, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MINIMUM, oci, FROM_TO(GIB, 16 * GIB, 440)},
    {"OCI BM.GPU.B200.8", "B200", 8, 2, MANY, CB_LINK_ROCE, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MINIMUM, oci, FROM_TO(GIB, 16 * GIB, 440)},
    {"OCI BM.GPU.B300.8", "B300", 8, 2, MANY, CB_LINK_ROCE, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MINIMUM, oci, FROM_TO(GIB, 16 * GIB, 700)},
    {"OCI BM.GPU.GB200", "GB200", 4, 2, MANY, CB_LINK_ROCE, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MINIMUM, oci, FROM_TO(GIB, 16 * GIB, 300)},
    {"OCI BM.GPU.GB300.4", "GB300", 4, 2, MANY, CB_LINK_ROCE, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MINIMUM, oci, FROM_TO(GIB, 16 * GIB, 440)},
    {"OCI BM.GPU.MI300X.8", "MI300X", 8, 2, MANY, CB_LINK_ROCE, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_MINIMUM, oci, FROM_TO(GIB, 16 * GIB, 350)},
    {"GCP a3 (TCPX)", "H100 SXM", 8, 2, 2, CB_LINK_ETHERNET, GBIT(800), NULL, CB_OP_ALL_GATHER, CB_BUSBW_MINIMUM, scanner, FROM_TO(2 * GIB, 8 * GIB, 60)},
    {"GCP a3plus (TCPXO)", "H100 SXM", 8, 2, 2, CB_LINK_ETHERNET, GBIT(1600), NULL, CB_OP_ALL_GATHER, CB_BUSBW_MINIMUM, scanner, FROM_TO(2 * GIB, 8 * GIB, 150)},
    {"GCP a3ultra", "H200", 8, 2, 2, CB_LINK_ROCE, GBIT(3200), NULL, CB_OP_ALL_GATHER, CB_BUSBW_MINIMUM, scanner, FROM_TO(2 * GIB, 8 * GIB, 250)},
    {"GCP a4", "B200", 8, 2, 2, CB_LINK_ROCE, -1, NULL, CB_OP_ALL_GATHER, CB_BUSBW_MINIMUM, scanner, FROM_TO(2 * GIB, 8 * GIB, 250)},
    {"GCP a4x", "GB200", 4, 2, 2, CB_LINK_ROCE, -1, NULL, CB_OP_ALL_GATHER, CB_BUSBW_MINIMUM, scanner, FROM_TO(2 * GIB, 8 * GIB, 160)},
    {"Azure ND GB300 v6, one rack", "GB300", 4, 18, 18, CB_LINK_NVLINK, -1, NULL, CB_OP_ALL_REDUCE, CB_BUSBW_EXPECTED, azure_ai,
     {AT(16 * GIB, 937)}},
    {"Azure ND H100 v5", "H100 SXM", 8, 2, MANY, CB_LINK_INFINIBAND, GBIT(3200), NULL, CB_OP_ALL_REDUCE, CB_BUSBW_EXPECTED, azure_ai,
     {AT(16 * GIB, 450)}},
};
/* clang-format on */

enum { SERIES_COUNT = sizeof(series) / sizeof(series[0]) };

/* The first that a name holds counts: GB200 holds B200. */
static const struct family {
    const char *part, *family;
} families[] = {
    {"A100-SXM", "A100 SXM"},
    {"A100-PCI", "A100 PCIe"},
    {"A100 80GB PCIe", "A100 PCIe"},
    {"A100 SXM", "A100 SXM"},
    {"H100 PCIe", "H100 PCIe"},
    {"H100 NVL", "H100 NVL"},
    {"H100 80GB HBM3", "H100 SXM"},
    {"H100-SXM", "H100 SXM"},
    {"H100 SXM", "H100 SXM"},
    {"H200 NVL", "H200 NVL"},
    {"GH200", "GH200"},
    {"H200", "H200"},
    {"GB300", "GB300"},
    {"GB200", "GB200"},
    {"B300", "B300"},
    {"B200", "B200"},
    {"V100-SXM", "V100 SXM"},
    {"V100-PCI", "V100 PCIe"},
    {"MI300X", "MI300X"},
    {"MI355X", "MI355X"},
    {"RTX 4090 D", NULL},
    {"RTX 4090", "RTX 4090"},
    {"RTX 5090 D", NULL},
    {"RTX 5090", "RTX 5090"},
    {"Tesla T4", "T4"},
    {"Tesla K80", "K80"},
};

const struct cb_busbw_series *cb_busbw_series(size_t *count)
{
    *count = SERIES_COUNT;
    return series;
}

const char *cb_busbw_gpu_family(const char *name)
{
    for (size_t i = 0; name && i < sizeof(families) / sizeof(families[0]); i++)
        if (strcasestr(name, families[i].part))
            return families[i].family;
    return NULL;
}

/* Beyond the largest size bandwidth stays what it was, if that size was large. */
#define PLATEAU_BYTES (256 * MIB)
/* A gigabyte and more, up to so many times smaller than the smallest size, is that plateau too. */
#define PLATEAU_REACH 4.0
/* Two sizes that are no further apart than this count as one. */
#define SAME_SIZE 1.01

/* The published bandwidth at a size; negative where the series does not tell. */
static double series_at(const struct cb_busbw_series *row, double size_bytes)
{
    const struct cb_busbw_point *points = row->points, *last = &points[0];
    double reach = size_bytes >= GIB ? PLATEAU_REACH : SAME_SIZE;
    if (size_bytes < points[0].size_bytes / reach)
        return -1;
    for (size_t i = 1; i < CB_BUSBW_POINTS && points[i].size_bytes > 0; i++) {
        const struct cb_busbw_point *below = &points[i - 1], *above = &points[i];
        last = above;
        if (size_bytes > above->size_bytes)
            continue;
        double weight = log(fmax(size_bytes, below->size_bytes) / below->size_bytes) /
                        log(above->size_bytes / below->size_bytes);
        return below->bus_bytes_per_s *
               pow(above->bus_bytes_per_s / below->bus_bytes_per_s, weight);
    }
    bool is_plateau = last->size_bytes >= PLATEAU_BYTES;
    return is_plateau || size_bytes <= last->size_bytes * SAME_SIZE ? last->bus_bytes_per_s : -1;
}

enum likeness { OTHER, PERHAPS, SAME };

/* Whether the nodes are linked as the series' were. Rates count as the same within a tenth: EFA's
 * 32 x 100 Gb/s are 8 x 400. */
static enum likeness compare_links(const struct cb_busbw_series *row,
                                   const struct cb_busbw_query *query)
{
    if (row->nodes_low == 1)
        return SAME;
    if (query->link >= 0 && row->link >= 0 && query->link != row->link)
        return OTHER;
    bool knows_rates = query->node_bytes_per_s > 0 && row->node_bytes_per_s > 0;
    if (knows_rates && fabs(query->node_bytes_per_s / row->node_bytes_per_s - 1) > 0.1)
        return OTHER;
    return knows_rates && query->link >= 0 && row->link >= 0 ? SAME : PERHAPS;
}

static enum likeness compare(const struct cb_busbw_series *row, const struct cb_busbw_query *query,
                             const char *family)
{
    if (row->op != query->op || query->nodes < row->nodes_low || query->nodes > row->nodes_high ||
        query->gpus != query->nodes * row->gpus_per_node)
        return OTHER;
    if (row->gpu && (!family || strcmp(row->gpu, family) != 0))
        return OTHER;
    bool same_algorithm = row->algorithm && query->algorithm
                              ? strcasecmp(row->algorithm, query->algorithm) == 0
                              : row->algorithm == query->algorithm;
    return same_algorithm ? compare_links(row, query) : OTHER;
}

static void take(struct cb_busbw_answer *answer, const struct cb_busbw_series *row, double value)
{
    bool is_minimum = row->kind == CB_BUSBW_MINIMUM;
    answer->found = true;
    if (is_minimum) {
        if (!(answer->high_bytes_per_s > 0) && value > answer->minimum_bytes_per_s)
            answer->lowest = answer->highest = row;
        answer->minimum_bytes_per_s = fmax(answer->minimum_bytes_per_s, value);
        return;
    }
    if (!(answer->high_bytes_per_s > 0) || value < answer->low_bytes_per_s) {
        answer->low_bytes_per_s = value;
        answer->lowest = row;
    }
    if (value > answer->high_bytes_per_s) {
        answer->high_bytes_per_s = value;
        answer->highest = row;
    }
}

void cb_busbw_find(const struct cb_busbw_query *query, struct cb_busbw_answer *answer)
{
    const char *family = cb_busbw_gpu_family(query->gpu);
    *answer = (struct cb_busbw_answer){0};
    if (!query->gpu || !*query->gpu || query->gpus <= 0 || query->nodes <= 0 ||
        !(query->size_bytes > 0))
        return;
    for (int wanted = SAME; wanted >= PERHAPS && !answer->found; wanted--) {
        answer->other_link = wanted == PERHAPS;
        for (size_t i = 0; i < SERIES_COUNT; i++) {
            double value = series_at(&series[i], query->size_bytes);
            if (value > 0 && compare(&series[i], query, family) == (enum likeness)wanted)
                take(answer, &series[i], value);
        }
    }
    answer->other_link = answer->other_link && answer->found;
}

/* "480-483 GB/s", or "480 GB/s" where the two ends read alike. */
static void format_range(double low, double high, char *out, size_t out_bytes)
{
    char low_text[CB_UNIT_TEXT], high_text[CB_UNIT_TEXT];
    cb_format_bandwidth(low_text, low);
    cb_format_bandwidth(high_text, high);
    const char *unit = strchr(low_text, ' '), *other = strchr(high_text, ' ');
    if (strcmp(low_text, high_text) == 0)
        snprintf(out, out_bytes, "%s", low_text);
    else if (unit && other && strcmp(unit, other) == 0)
        snprintf(out, out_bytes, "%.*s-%s", (int)(unit - low_text), low_text, high_text);
    else
        snprintf(out, out_bytes, "%s to %s", low_text, high_text);
}

void cb_busbw_describe(const struct cb_busbw_query *query, const struct cb_busbw_answer *answer,
                       double measured_bytes_per_s, char *out, size_t out_bytes)
{
    char value[CB_UNIT_TEXT], range[2 * CB_UNIT_TEXT + 4], cluster[96];
    const char *family = cb_busbw_gpu_family(query->gpu);
    cb_format_bandwidth(value, measured_bytes_per_s);
    if (query->nodes > 1)
        snprintf(cluster, sizeof(cluster), "%d nodes of %d x %.40s", query->nodes,
                 query->gpus / query->nodes,
                 family       ? family
                 : query->gpu ? query->gpu
                              : "?");
    else
        snprintf(cluster, sizeof(cluster), "%d x %.40s", query->gpus,
                 family       ? family
                 : query->gpu ? query->gpu
                              : "?");
    if (!answer->found) {
        char size[CB_UNIT_TEXT] = "any size";
        if (query->size_bytes > 0 && query->size_bytes < (double)UINT64_MAX)
            cb_format_bytes(size, (uint64_t)query->size_bytes);
        snprintf(out, out_bytes, "%s, no published figure for %s at %s", value, cluster, size);
        return;
    }
    bool is_minimum = !(answer->high_bytes_per_s > 0);
    if (is_minimum)
        cb_format_bandwidth(range, answer->minimum_bytes_per_s);
    else
        format_range(answer->low_bytes_per_s, answer->high_bytes_per_s, range, sizeof(range));
    snprintf(out, out_bytes, "%s, %s for %s: %s (%s%s%s)", value,
             is_minimum ? "a provider's minimum" : "published", cluster, range,
             answer->lowest->platform, answer->lowest == answer->highest ? "" : ", ",
             answer->lowest == answer->highest ? "" : answer->highest->platform);
}

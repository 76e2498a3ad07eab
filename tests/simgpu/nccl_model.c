/* How long a collective takes: a fixed part, hops, and the slower of the link inside a host and the
 * NICs between hosts. Hops are counted along a tree where NCCL has one, along a ring elsewhere. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <strings.h>

#include "nccl_internal.h"

struct shape {
    double traffic; /* bytes that cross every link, per byte of the operation; x (n-1)/n if ring */
    bool per_rank;  /* traffic x (ranks - 1) / ranks */
    bool tree;      /* hops grow with the logarithm */
    int passes;     /* up and down the tree */
};

static const struct shape shapes[SIMNCCL_KIND_COUNT] = {
    [SIMNCCL_ALL_REDUCE] = {2, true, true, 2},      [SIMNCCL_ALL_GATHER] = {1, true, false, 1},
    [SIMNCCL_REDUCE_SCATTER] = {1, true, false, 1}, [SIMNCCL_BROADCAST] = {1, false, true, 1},
    [SIMNCCL_REDUCE] = {1, false, true, 1},         [SIMNCCL_ALL_TO_ALL] = {1, true, true, 1},
    [SIMNCCL_GATHER] = {1, true, true, 1},          [SIMNCCL_SCATTER] = {1, true, true, 1},
};

static bool set_to(const char *variable, const char *value)
{
    const char *text = getenv(variable);
    return text != NULL && strcasecmp(text, value) == 0;
}

bool simnccl_uses_sockets(void)
{
    return simgpu_config()->nics == 0 || set_to("NCCL_IB_DISABLE", "1") ||
           set_to("NCCL_NET", "Socket") || simgpu_fault("socket", -1);
}

static int log2_up(int count)
{
    int bits = 0;
    while (1 << bits < count)
        bits++;
    return bits;
}

/* What one host sends with so many of its GPUs taking part. */
static double host_bytes_per_s(const struct simgpu_config *config, int local, bool sockets)
{
    if (sockets)
        return config->socket_bytes_per_s;
    int nics = config->nics * local / config->devices;
    return (nics > 0 ? nics : 1) * config->nic_bytes_per_s;
}

double simnccl_collective_s(const struct simgpu_config *config, enum simnccl_kind kind,
                            double size_bytes, int ranks, int nodes, int local, bool sockets)
{
    const struct shape *shape = &shapes[kind];
    if (ranks == 1)
        return config->collective_s + 2 * size_bytes / config->memory_bytes_per_s;
    double nic_hop_s = sockets ? config->socket_hop_s : config->nic_hop_s;
    int inside = shape->tree ? shape->passes * log2_up(local) : local - 1;
    int outside = shape->tree ? shape->passes * log2_up(nodes) : nodes - 1;
    double time_s = config->collective_s + inside * config->gpu_hop_s + outside * nic_hop_s;

    double crossing = shape->traffic * size_bytes;
    if (shape->per_rank)
        crossing *= (double)(ranks - 1) / ranks;
    double inside_bytes_per_s = kind == SIMNCCL_ALL_REDUCE && config->nvls_bytes_per_s > 0
                                    ? config->nvls_bytes_per_s
                                    : config->gpu_bytes_per_s;
    double inside_s = local > 1 ? crossing / inside_bytes_per_s : 0;
    double outside_s = 0;
    if (nodes > 1) {
        double leaving = crossing;
        if (kind == SIMNCCL_ALL_TO_ALL) /* nothing is passed on: every rank's own bytes leave */
            leaving = size_bytes * local * (ranks - local) / ranks;
        outside_s = leaving / host_bytes_per_s(config, local, sockets);
    }
    return time_s + (inside_s > outside_s ? inside_s : outside_s);
}

struct simnccl_choice simnccl_choose(const struct simgpu_config *config, enum simnccl_kind kind,
                                     double size_bytes, int nodes)
{
    const double kib = 1024, ring_from = 256 * kib, nvls_from = 1024 * kib,
                 low_latency_to = 32 * kib, low_latency_128_to = 512 * kib,
                 channel_bytes = 16 * kib;
    bool nvlink = config->nvlink_links > 0;
    struct simnccl_choice choice = {.algorithm = "RING", .protocol = "SIMPLE"};
    int most = nvlink ? 24 : 2;
    if (kind == SIMNCCL_ALL_REDUCE && config->nvls_bytes_per_s > 0 && size_bytes >= nvls_from) {
        choice.algorithm = nodes > 1 ? "NVLS_TREE" : "NVLS";
        most = 16;
    } else {
        if (kind == SIMNCCL_ALL_REDUCE && size_bytes < ring_from)
            choice.algorithm = "TREE";
        if (size_bytes <= low_latency_to)
            choice.protocol = "LL";
        else if (nvlink && size_bytes <= low_latency_128_to)
            choice.protocol = "LL128";
    }
    double channels = size_bytes / channel_bytes;
    choice.channels = channels < 1 ? 1 : channels > most ? most : (int)channels;
    return choice;
}

double simnccl_exchange_s(const struct simgpu_config *config, double inside_bytes,
                          double outside_bytes, int local, bool sockets)
{
    double time_s = config->collective_s / 2;
    if (inside_bytes > 0)
        time_s += config->gpu_hop_s + inside_bytes / config->peer_bytes_per_s;
    if (outside_bytes > 0)
        time_s += (sockets ? config->socket_hop_s : config->nic_hop_s) +
                  outside_bytes * local / host_bytes_per_s(config, local, sockets);
    return time_s;
}

/* Findings about NICs, about how far GPUs are from them, and about the processes that use both. */
#include <string.h>

#include "topology/findings_internal.h"

static bool has_kind(const struct cb_facts_nic *nic, const char *kind)
{
    return strcmp(nic->port.kind, kind) == 0;
}

/* "0000:c1:00" of "0000:c1:00.1": functions of one card. */
static bool is_same_card(const struct cb_facts_nic *a, const struct cb_facts_nic *b)
{
    size_t length = strcspn(a->bus_id, ".");
    return a->bus_id[0] && strncmp(a->bus_id, b->bus_id, length) == 0 &&
           b->bus_id[length] == a->bus_id[length];
}

/* ---- GPUs and NICs ---- */

void cb_look_at_distance(struct cb_look *look)
{
    bool rdma_only = cb_look_has_rdma(look);
    FOR_EACH_GPU(look, gpu) {
        char name[32];
        int near = 0, far = 0;
        cb_facts_gpu_name(gpu, name, sizeof(name));
        FOR_EACH_NIC(look, nic) {
            int link = cb_look_counts(nic, rdma_only)
                           ? cb_facts_find_link(look->facts, name, nic->port.name)
                           : -1;
            const char *path = link < 0 ? "" : look->facts->links[link].path;
            far += strcmp(path, "SYS") == 0;
            near += path[0] && strcmp(path, "SYS") != 0;
        }
        if (far > 0 && near == 0)
            cb_look_see(look, "%s has no NIC on its own NUMA node: the nearest is across (SYS)",
                        name);
    }
}

void cb_look_at_gpudirect(struct cb_look *look)
{
    const struct cb_facts *facts = look->facts;
    if (facts->gpu_count > 0 && cb_look_has_rdma(look) && facts->peermem == 0 && facts->dmabuf == 0)
        cb_look_see(look, "neither nvidia_peermem nor DMA-BUF: RDMA NICs cannot reach GPU memory");
}

void cb_look_at_cpus(struct cb_look *look)
{
    const struct cb_facts *facts = look->facts;
    if (facts->gpu_count == 0)
        return;
    if (facts->allowed_cpus > 0 && facts->allowed_cpus < facts->gpu_count)
        cb_look_see(look, "%d CPUs may be used beside %d GPUs", facts->allowed_cpus,
                    facts->gpu_count);
    else if (facts->cpu_limit > 0 && facts->cpu_limit < facts->gpu_count)
        cb_look_see(look, "the cgroup grants the time of %.3g CPUs beside %d GPUs",
                    facts->cpu_limit, facts->gpu_count);
}

void cb_look_at_ranks(struct cb_look *look)
{
    if (!look->context)
        return;
    FOR_EACH(cb_findings_rank, rank, look->context->ranks, look->context->rank_count)
        if (rank->near == 0)
            cb_look_see(look, "rank %d runs on no CPU that is near its %s", rank->rank,
                        rank->device);
}

/* ---- NICs ---- */

/* A second port of a card that has another one up is one that nobody plugged in. */
void cb_look_at_down_ports(struct cb_look *look)
{
    FOR_EACH_NIC(look, nic) {
        bool other_is_up = false, card_is_up = false;
        FOR_EACH_NIC(look, other) {
            other_is_up |= cb_look_is_rdma(other) && other->port.up;
            card_is_up |= other->port.up && is_same_card(nic, other);
        }
        if (cb_look_is_rdma(nic) && !nic->port.up && other_is_up && !card_is_up)
            cb_look_see(look, "%s (%s) is %s while other ports are up", nic->port.name,
                        nic->port.kind, nic->state[0] ? nic->state : "down");
    }
}

void cb_look_at_mixed_speeds(struct cb_look *look)
{
    FOR_EACH_NIC(look, nic) {
        const struct cb_facts_nic *faster = NULL;
        FOR_EACH_NIC(look, other)
            if (other->port.up && strcmp(other->port.kind, nic->port.kind) == 0 &&
                other->port.nominal_bytes_per_s > nic->port.nominal_bytes_per_s * 1.01 &&
                !other->port.virtual_function)
                faster = other;
        if (faster && cb_look_is_rdma(nic) && nic->port.up && nic->port.nominal_bytes_per_s > 0 &&
            !nic->port.virtual_function)
            cb_look_see(look, "%s runs at %.4g Gb/s, %s at %.4g Gb/s", nic->port.name,
                        nic->port.nominal_bytes_per_s * 8e-9, faster->port.name,
                        faster->port.nominal_bytes_per_s * 8e-9);
    }
}

/* RoCE packs up to 4096 bytes into a packet, which with its headers needs an MTU of 4200. */
void cb_look_at_mtu(struct cb_look *look)
{
    FOR_EACH_NIC(look, nic)
        if (has_kind(nic, "RoCE") && nic->port.up && nic->port.mtu_bytes > 0 &&
            nic->port.mtu_bytes < 4200)
            cb_look_see(look, "%s carries RoCE with an MTU of %d", nic->port.name,
                        nic->port.mtu_bytes);
}

void cb_look_at_roce_version(struct cb_look *look)
{
    FOR_EACH_NIC(look, nic)
        if (has_kind(nic, "RoCE") && nic->port.up && nic->roce_v1 > 0 && nic->roce_v2 == 0)
            cb_look_see(look, "%s offers RoCE v1 only", nic->port.name);
}

void cb_look_at_functions(struct cb_look *look)
{
    bool rdma_only = cb_look_has_rdma(look);
    FOR_EACH_NIC(look, nic)
        if (nic->port.virtual_function && nic->port.up &&
            (nic->port.used || cb_look_counts(nic, rdma_only)))
            cb_look_see(look, "%s is a virtual function", nic->port.name);
}

void cb_look_at_unknown_speed(struct cb_look *look)
{
    if (look->context && look->context->nominal_is_known)
        return;
    FOR_EACH_NIC(look, nic)
        if (nic->port.used && nic->port.up && !(nic->port.nominal_bytes_per_s > 0))
            cb_look_see(look, "%s (driver %s) does not know its speed", nic->port.name,
                        nic->port.driver[0] ? nic->port.driver : "unknown");
}

void cb_look_at_unused(struct cb_look *look)
{
    const struct cb_facts_nic *used = NULL;
    int used_count = 0, unused = 0;
    bool rdma_only = cb_look_has_rdma(look);
    FOR_EACH_NIC(look, nic) {
        used_count += nic->port.used;
        if (nic->port.used)
            used = nic;
        unused += !nic->port.used && nic->port.up && cb_look_counts(nic, rdma_only) &&
                  nic->port.nominal_bytes_per_s > 0 && !nic->bond[0];
    }
    if (used_count == 1 && unused > 0)
        cb_look_see(look, "the route to the other nodes takes %s; %d more could carry traffic",
                    used->port.name, unused);
}

void cb_look_at_offer(struct cb_look *look)
{
    const char *offered = look->context ? look->context->offered_kind : NULL;
    int others = 0;
    const struct cb_facts_nic *first = NULL;
    if (!offered || strcmp(offered, "InfiniBand") != 0)
        return;
    FOR_EACH_NIC(look, nic) {
        if (has_kind(nic, "InfiniBand"))
            return;
        first = first ? first : nic;
        others++;
    }
    if (others)
        cb_look_see(look, "no port is InfiniBand; %s is %s", first->port.name,
                    first->port.kind[0] ? first->port.kind : "of unknown kind");
}

void cb_look_at_congestion(struct cb_look *look)
{
    bool alone = look->context && look->context->node_count == 1;
    if (!alone && strncmp(look->facts->tcp_congestion, "bbr", 3) == 0)
        cb_look_see(look, "TCP uses %s (net.ipv4.tcp_congestion_control)",
                    look->facts->tcp_congestion);
}

#include "measure/used.h"

#include <stdio.h>
#include <string.h>

#include "measure/gather.h"

/* ---- what was used ---- */

static int add(struct cb_result *result, const char *kind, const char *name, int connections)
{
    if (!name[0])
        return CB_OK;
    for (size_t i = 0; i < result->transport_used.count; i++) {
        struct cb_transport_use *known = &result->transport_used.items[i];
        if (strcmp(known->kind, kind) == 0 && strcmp(known->name, name) == 0) {
            known->ranks++;
            known->connections += connections;
            return CB_OK;
        }
    }
    struct cb_transport_use *use = cb_vec_add(&result->transport_used);
    if (!use)
        return CB_E_MEMORY;
    *use = (struct cb_transport_use){.ranks = 1, .connections = connections};
    snprintf(use->kind, sizeof(use->kind), "%s", kind);
    snprintf(use->name, sizeof(use->name), "%s", name);
    return CB_OK;
}

/* "eth0:10.0.0.4<0>" without the address, which differs from host to host. */
static void drop_addresses(const char *interfaces, char *out, size_t size_bytes)
{
    size_t length = 0;
    out[0] = '\0';
    while (*interfaces && length < size_bytes - 1) {
        size_t word = strcspn(interfaces, " ");
        const char *address = memchr(interfaces, '<', word);
        size_t kept = address ? strcspn(interfaces, ":") : word;
        length += (size_t)snprintf(out + length, size_bytes - length, "%s%.*s", length ? " " : "",
                                   (int)kept, interfaces);
        interfaces += word;
        interfaces += *interfaces == ' ';
    }
}

static int add_rank(struct cb_result *result, const struct cb_nccl_use *use)
{
    char interfaces[sizeof(use->interfaces)];
    int rc = CB_OK;
    for (int i = 0; i < use->way_count && !rc; i++)
        rc = add(result, "way", use->ways[i].name, use->ways[i].connections);
    if (!rc)
        rc = add(result, "network", use->network, 0);
    drop_addresses(use->interfaces, interfaces, sizeof(interfaces));
    if (!rc)
        rc = add(result, "interfaces", interfaces, 0);
    if (!rc)
        rc = add(result, "plugin", use->plugin, 0);
    if (!rc && use->rings)
        rc = add(result, "algorithm", "ring", use->collective_channels);
    if (!rc && use->trees)
        rc = add(result, "algorithm", "tree", use->collective_channels);
    if (!rc && use->nvls_channels)
        rc = add(result, "algorithm", "NVLS", use->nvls_channels);
    if (!rc && use->multicast)
        rc = add(result, "feature", "NVLS multicast", 0);
    return rc;
}

/* ---- what is odd about it ---- */

static const struct cb_topo_nic *find_rdma(const struct cb_result *result, const char **host)
{
    for (size_t n = 0; n < result->nodes.count; n++) {
        const struct cb_topo_host *node = &result->nodes.items[n];
        for (int i = 0; i < node->nic_count; i++) {
            const struct cb_topo_nic *nic = &node->nics[i];
            if (nic->up && cb_facts_is_ib_or_roce(nic)) {
                *host = node->name;
                return nic;
            }
        }
    }
    return NULL;
}

/* Ranks that used the way of that name, and the connections of all. */
static const struct cb_transport_use *find_way(const struct cb_result *result, const char *name)
{
    for (size_t i = 0; i < result->transport_used.count; i++) {
        const struct cb_transport_use *use = &result->transport_used.items[i];
        if (strcmp(use->kind, "way") == 0 && strcmp(use->name, name) == 0)
            return use;
    }
    return NULL;
}

static int warn_of_sockets(struct cb_result *result)
{
    const char *host;
    const struct cb_transport_use *sockets = find_way(result, "NET/Socket");
    const struct cb_topo_nic *rdma = find_rdma(result, &host);
    if (!sockets)
        return CB_OK;
    if (rdma)
        return cb_result_warn(
            result, "nccl.sockets",
            "usual causes: libibverbs is missing, /dev/infiniband is not in the container, ulimit "
            "-l is low, NCCL_IB_DISABLE or NCCL_NET is set; NCCL_DEBUG=INFO says which",
            "NCCL fell back to sockets (TCP) on %d rank%s, although %s (%s) is up on %s",
            sockets->ranks, sockets->ranks == 1 ? "" : "s", rdma->name, rdma->kind, host);
    return cb_result_warn(result, "nccl.sockets",
                          "ask for nodes with InfiniBand or RoCE; on a cloud with its own network "
                          "(EFA) install its plugin for NCCL",
                          "NCCL used sockets (TCP) on %d rank%s: no RDMA device is up here",
                          sockets->ranks, sockets->ranks == 1 ? "" : "s");
}

/* A plugin for InfiniBand has a name of its own ("IBext_v8", "Libfabric"), and like NCCL's own way
 * it says so where the NIC reads the GPU's memory. Sockets never do. */
static int warn_of_host_memory(struct cb_result *result)
{
    for (size_t i = 0; i < result->transport_used.count; i++) {
        const struct cb_transport_use *use = &result->transport_used.items[i];
        bool is_network =
            strncmp(use->name, "NET/", 4) == 0 && strcmp(use->name, "NET/Socket") != 0;
        if (strcmp(use->kind, "way") == 0 && is_network && !strstr(use->name, "/GDRDMA"))
            return cb_result_warn(
                result, "nccl.no_gpudirect",
                "load nvidia_peermem, or use a kernel and driver with DMA-BUF; NCCL_NET_GDR_LEVEL "
                "allows it over longer paths",
                "data between nodes went through host memory (%s without GDRDMA), on %d rank%s",
                use->name, use->ranks, use->ranks == 1 ? "" : "s");
    }
    return CB_OK;
}

static int warn_of_ways(struct cb_result *result)
{
    const struct cb_transport_use *shared = find_way(result, "SHM");
    int rc = warn_of_sockets(result);
    if (!rc)
        rc = warn_of_host_memory(result);
    if (!rc && shared)
        rc = cb_result_warn(
            result, "nccl.shared_memory",
            "usual between cards on different PCIe switches: NCCL_P2P_LEVEL=SYS tries the direct "
            "way; else look at nvidia-smi topo -p2p r, ACS, IOMMU, NCCL_P2P_DISABLE, and whether "
            "the launcher hides GPUs from each other (srun --gpu-bind=none)",
            "data inside a node went through host memory (SHM): the GPUs did not reach each other "
            "directly, on %d rank%s",
            shared->ranks, shared->ranks == 1 ? "" : "s");
    return rc;
}

static int warn_of_ranks(const struct cb_nccl_use *ranks, size_t count, struct cb_result *result)
{
    size_t kept = 0, without_file = 0, far = 0, first_far = 0;
    int no_file_errno = 0;
    const char *warning = NULL;
    size_t warned = 0;
    int rc = CB_OK;
    for (size_t i = count; i-- > 0;) {
        kept += ranks[i].is_kept;
        if (ranks[i].no_file_errno) {
            without_file++;
            no_file_errno = ranks[i].no_file_errno;
        }
        if (ranks[i].bound_far) {
            far++;
            first_far = i;
        }
        if (ranks[i].warning[0]) {
            warning = ranks[i].warning;
            warned = i;
        }
    }
    if (kept == count)
        rc = cb_result_warn(result, "nccl.no_log",
                            "unset NCCL_DEBUG and NCCL_DEBUG_FILE: commbound then reads what "
                            "NCCL writes",
                            "which ways NCCL took is not known");
    else if (without_file)
        rc = cb_result_warn(result, "nccl.no_log",
                            "it lies in memory and is reached through /proc, which must be "
                            "mounted; look at ulimit -n too",
                            "which ways NCCL took is not known of %zu of %zu ranks: no file for "
                            "its debug output (%s)",
                            without_file, count, strerror(no_file_errno));
    if (!rc && far)
        rc = cb_result_warn(result, "nccl.bound_far",
                            "bind each rank near its GPU, or leave it unbound (mpirun --bind-to "
                            "none)",
                            "%zu rank%s, the first is %zu, may run on no CPU that is near its GPU",
                            far, far == 1 ? "" : "s", first_far);
    if (!rc && warning)
        rc = cb_result_warn(result, "nccl.warned", NULL, "NCCL warned on rank %zu: %s", warned,
                            warning);
    return rc;
}

int cb_used_merge(const struct cb_nccl_use *ranks, size_t count, struct cb_result *result,
                  struct cb_error *err)
{
    int rc = CB_OK;
    for (size_t i = 0; i < count && !rc; i++)
        rc = add_rank(result, &ranks[i]);
    if (!rc)
        rc = warn_of_ways(result);
    if (!rc)
        rc = warn_of_ranks(ranks, count, result);
    return rc ? cb_fail(err, CB_E_MEMORY, "no memory for what NCCL used") : CB_OK;
}

int cb_used_collect(const struct cb_coordinator *coordinator, struct cb_nccl_log *log,
                    struct cb_result *result, struct cb_error *err)
{
    const struct cb_coordinator *c = coordinator;
    struct cb_nccl_use mine = {0};
    CB_VEC(struct cb_nccl_use) all = {0};
    cb_nccl_log_read(log, &mine);
    int rc = cb_gather_append(c->world, &mine, &all, err);
    if (!rc && c->rank == 0)
        rc = cb_used_merge(all.items, all.count, result, err);
    cb_vec_fini(&all);
    return cb_group_agree(c->world, rc, err);
}

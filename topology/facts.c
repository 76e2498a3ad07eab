#include "topology/facts.h"

#include <stdio.h>
#include <string.h>

static const struct cb_facts_pcie pcie_unknown = {
    .generation = -1,
    .width = -1,
    .generation_limit = -1,
    .width_limit = -1,
    .card_generation_limit = -1,
};

void cb_facts_gpu_init(struct cb_facts_gpu *gpu)
{
    *gpu = (struct cb_facts_gpu){
        .index = -1,
        .numa = -1,
        .socket = -1,
        .compute_capability = -1,
        .mig = -1,
        .pcie = pcie_unknown,
        .nvlinks = -1,
        .nvlink_slots = -1,
        .nvlink_switch = -1,
        .nvlink_version = -1,
        .fabric = -1,
        .fabric_unhealthy = -1,
    };
}

void cb_facts_nic_init(struct cb_facts_nic *nic)
{
    *nic = (struct cb_facts_nic){
        .port = {.numa = -1},
        .socket = -1,
        .roce_v1 = -1,
        .roce_v2 = -1,
        .pcie = pcie_unknown,
    };
}

bool cb_facts_is_ib_or_roce(const struct cb_topo_nic *port)
{
    return strcmp(port->kind, "InfiniBand") == 0 || strcmp(port->kind, "RoCE") == 0;
}

void cb_facts_init(struct cb_facts *facts)
{
    memset(facts, 0, sizeof(*facts));
    facts->pci_devices = -1;
    facts->pci_locality = -1;
    facts->iommu = -1;
    facts->acs_bridges = -1;
    facts->peermem = -1;
    facts->dmabuf = -1;
    facts->fabric_manager = -1;
}

struct cb_facts_link *cb_facts_add_link(struct cb_facts *facts, const char *a, const char *b)
{
    if (facts->link_count >= CB_FACTS_LINKS)
        return NULL;
    struct cb_facts_link *link = &facts->links[facts->link_count++];
    *link = (struct cb_facts_link){.peer_access = -1};
    snprintf(link->a, sizeof(link->a), "%s", a);
    snprintf(link->b, sizeof(link->b), "%s", b);
    return link;
}

int cb_facts_find_link(const struct cb_facts *facts, const char *a, const char *b)
{
    for (int i = 0; i < facts->link_count; i++) {
        const struct cb_facts_link *link = &facts->links[i];
        if ((strcmp(link->a, a) == 0 && strcmp(link->b, b) == 0) ||
            (strcmp(link->a, b) == 0 && strcmp(link->b, a) == 0))
            return i;
    }
    return -1;
}

const char *cb_facts_gpu_name(const struct cb_facts_gpu *gpu, char *text, size_t size_bytes)
{
    snprintf(text, size_bytes, "GPU%d", gpu->index);
    return text;
}

/* ---- one number for a node ---- */

static uint64_t mix(uint64_t hash, const void *data, size_t size_bytes)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size_bytes; i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

/* Text with its end, so that "ab", "c" is not "a", "bc". */
static uint64_t mix_text(uint64_t hash, const char *text)
{
    return mix(hash, text, strlen(text) + 1);
}

/* Whole numbers and rates one by one: a struct's padding says nothing. */
static uint64_t mix_number(uint64_t hash, double value)
{
    return mix(hash, &value, sizeof(value));
}

static uint64_t mix_numbers(uint64_t hash, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = mix_number(hash, values[i]);
    return hash;
}

#define MIX_NUMBERS(hash, ...)                                                                     \
    mix_numbers(hash, (const double[]){__VA_ARGS__},                                               \
                sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

static uint64_t mix_pcie(uint64_t hash, const struct cb_facts_pcie *pcie)
{
    return MIX_NUMBERS(hash, pcie->loaded ? pcie->generation : 0, pcie->width,
                       pcie->generation_limit, pcie->width_limit, pcie->card_generation_limit);
}

static uint64_t mix_gpu(uint64_t hash, const struct cb_facts_gpu *gpu)
{
    hash = mix_text(hash, gpu->name);
    hash = mix_pcie(hash, &gpu->pcie);
    return MIX_NUMBERS(hash, gpu->index, gpu->numa, gpu->socket, gpu->compute_capability, gpu->mig,
                       gpu->nvlinks, gpu->nvlink_slots, gpu->nvlink_switch, gpu->nvlink_version,
                       gpu->nvlink_bytes_per_s, gpu->fabric, gpu->fabric_unhealthy);
}

static uint64_t mix_nic(uint64_t hash, const struct cb_facts_nic *nic)
{
    const struct cb_topo_nic *port = &nic->port;
    hash = mix_text(hash, port->kind);
    hash = mix_text(hash, port->driver);
    hash = mix_text(hash, nic->state);
    hash = mix_pcie(hash, &nic->pcie);
    return MIX_NUMBERS(hash, port->nominal_bytes_per_s, port->stated_bytes_per_s, port->mtu_bytes,
                       port->numa, port->up, port->used, port->virtual_function, nic->socket,
                       nic->bond[0] != '\0', nic->roce_v1, nic->roce_v2);
}

static uint64_t mix_link(uint64_t hash, const struct cb_facts_link *link)
{
    hash = mix_text(hash, link->path);
    hash = mix_text(hash, link->kind);
    return MIX_NUMBERS(hash, link->nvlinks, link->peer_access, link->bytes_per_s_one_way);
}

uint64_t cb_facts_hash(const struct cb_facts *facts)
{
    uint64_t hash = 14695981039346656037u;
    hash = mix_text(hash, facts->virtualization);
    hash = mix_text(hash, facts->container);
    hash = mix_text(hash, facts->tcp_congestion);
    hash = MIX_NUMBERS(hash, facts->pci_devices > 0, facts->pci_locality, facts->sockets,
                       facts->numa_nodes, facts->cores, facts->cpus, facts->allowed_cpus,
                       facts->cpu_limit, facts->iommu, facts->acs_bridges, facts->peermem,
                       facts->dmabuf, facts->fabric_manager, facts->gpus_found, facts->gpu_count,
                       facts->nics_found, facts->nic_count, facts->link_count);
    for (int i = 0; i < facts->gpu_count; i++)
        hash = mix_gpu(hash, &facts->gpus[i]);
    for (int i = 0; i < facts->nic_count; i++)
        hash = mix_nic(hash, &facts->nics[i]);
    for (int i = 0; i < facts->link_count; i++)
        hash = mix_link(hash, &facts->links[i]);
    return hash;
}

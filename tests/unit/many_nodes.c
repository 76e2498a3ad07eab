#include "many_nodes.h"

#include <stdio.h>
#include <stdlib.h>

#include "measure/map_survey.h"

enum { DEVICES = 8, KINDS = 3 };

static void fill_node(int node, struct cb_facts *facts)
{
    char gpu[32];
    cb_facts_init(facts);
    snprintf(facts->virtualization, sizeof(facts->virtualization), "none");
    snprintf(facts->tcp_congestion, sizeof(facts->tcp_congestion), "cubic");
    facts->sockets = 2;
    facts->cpus = facts->allowed_cpus = 256;
    facts->peermem = node % KINDS != 2;
    facts->dmabuf = 0;
    facts->gpus_found = facts->gpu_count = facts->nics_found = facts->nic_count = DEVICES;
    for (int i = 0; i < DEVICES; i++) {
        cb_facts_gpu_init(&facts->gpus[i]);
        facts->gpus[i].index = i;
        facts->gpus[i].nvlinks = facts->gpus[i].nvlink_slots = facts->gpus[i].nvlink_switch = 12;
        facts->gpus[i].pcie.generation = 1 + node % 4; /* idle or not */
        snprintf(facts->gpus[i].name, sizeof(facts->gpus[i].name), "NVIDIA A100-SXM4-80GB");
        snprintf(facts->gpus[i].bus_id, sizeof(facts->gpus[i].bus_id), "%04x:%02x:00.0", node,
                 i + 1);
        struct cb_facts_nic *nic = &facts->nics[i];
        cb_facts_nic_init(nic);
        nic->port.up = node % KINDS != 1 || i != 3;
        nic->port.nominal_bytes_per_s = nic->port.up ? 25e9 : 0;
        snprintf(nic->port.name, sizeof(nic->port.name), "rocep%ds%d:1", node, i);
        snprintf(nic->port.kind, sizeof(nic->port.kind), "InfiniBand");
        snprintf(nic->state, sizeof(nic->state), "%s", nic->port.up ? "ACTIVE" : "DOWN");
        snprintf(nic->bus_id, sizeof(nic->bus_id), "%04x:%02x:00.1", node, i + 1);
    }
    for (int i = 0; i < DEVICES; i++)
        for (int j = 0; j < DEVICES; j++) {
            cb_facts_gpu_name(&facts->gpus[i], gpu, sizeof(gpu));
            struct cb_facts_link *link = cb_facts_add_link(facts, gpu, facts->nics[j].port.name);
            if (link)
                snprintf(link->path, sizeof(link->path), "%s", i / 2 == j / 2 ? "PXB" : "SYS");
        }
}

static int add_node(struct cb_result *result, int node, int map)
{
    struct cb_topo_host *host = cb_vec_add(&result->nodes);
    if (!host)
        return CB_E_MEMORY;
    snprintf(host->name, sizeof(host->name), "node%04d", node);
    host->sockets = 2;
    host->map = map;
    return CB_OK;
}

int many_nodes_gather(struct cb_result *result, int nodes)
{
    struct cb_facts *facts = calloc(1, sizeof(*facts));
    uint64_t *hashes = calloc((size_t)nodes, sizeof(*hashes));
    int *maps = calloc((size_t)nodes, sizeof(*maps));
    int found = facts && hashes && maps ? CB_OK : CB_E_MEMORY;
    for (int i = 0; i < nodes && !found; i++) {
        fill_node(i, facts);
        hashes[i] = cb_facts_hash(facts);
    }
    if (!found)
        found = cb_map_survey_group(hashes, nodes, maps);
    for (int i = 0; i < nodes && found > 0; i++) {
        if (add_node(result, i, maps[i]))
            found = CB_E_MEMORY;
        if (found < 0 || maps[i] <= (int)result->maps.count)
            continue;
        struct cb_facts *place = cb_vec_add(&result->maps);
        if (place)
            fill_node(i, place);
        else
            found = CB_E_MEMORY;
    }
    free(facts);
    free(hashes);
    free(maps);
    return found;
}

/* What the files of findings share: looking at a node's facts, and saying what was seen. */
#ifndef CB_TOPOLOGY_FINDINGS_INTERNAL_H
#define CB_TOPOLOGY_FINDINGS_INTERNAL_H

#include "topology/findings.h"

struct cb_look {
    const struct cb_facts *facts;
    const struct cb_findings_context *context; /* NULL: nothing is known beside the facts */
    char *seen;
    size_t seen_size;
    int count; /* of what was seen */
};

#define FOR_EACH(type, item, array, count)                                                         \
    for (const struct type *item = (array); item < (array) + (count); item++)
#define FOR_EACH_GPU(look, gpu)                                                                    \
    FOR_EACH(cb_facts_gpu, gpu, (look)->facts->gpus, (look)->facts->gpu_count)
#define FOR_EACH_NIC(look, nic)                                                                    \
    FOR_EACH(cb_facts_nic, nic, (look)->facts->nics, (look)->facts->nic_count)
#define FOR_EACH_LINK(look, link)                                                                  \
    FOR_EACH(cb_facts_link, link, (look)->facts->links, (look)->facts->link_count)

/* Counts something and says it, if it is the first. */
void cb_look_see(struct cb_look *look, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The hypervisor decides what its guest sees of the PCI tree, and needs the isolation that costs
 * bandwidth on bare metal. */
bool cb_look_is_guest(const struct cb_facts *facts);
bool cb_look_is_rdma(const struct cb_facts_nic *nic);
bool cb_look_has_rdma(const struct cb_look *look);

/* Whether traffic between nodes would take a NIC: an RDMA one where there are any (rdma_only). */
bool cb_look_counts(const struct cb_facts_nic *nic, bool rdma_only);

/* One for each row of the table in findings.c: each says what it sees and changes nothing else. */
void cb_look_at_width(struct cb_look *look);
void cb_look_at_generation(struct cb_look *look);
void cb_look_at_acs(struct cb_look *look);
void cb_look_at_iommu(struct cb_look *look);
void cb_look_at_hidden_tree(struct cb_look *look);
void cb_look_at_locality(struct cb_look *look);
void cb_look_at_peer_access(struct cb_look *look);
void cb_look_at_inactive_nvlinks(struct cb_look *look);
void cb_look_at_few_nvlinks(struct cb_look *look);
void cb_look_at_variant(struct cb_look *look);
void cb_look_at_fabric(struct cb_look *look);
void cb_look_at_mig(struct cb_look *look);
void cb_look_at_distance(struct cb_look *look);
void cb_look_at_gpudirect(struct cb_look *look);
void cb_look_at_cpus(struct cb_look *look);
void cb_look_at_ranks(struct cb_look *look);
void cb_look_at_down_ports(struct cb_look *look);
void cb_look_at_mixed_speeds(struct cb_look *look);
void cb_look_at_mtu(struct cb_look *look);
void cb_look_at_roce_version(struct cb_look *look);
void cb_look_at_functions(struct cb_look *look);
void cb_look_at_unknown_speed(struct cb_look *look);
void cb_look_at_unused(struct cb_look *look);
void cb_look_at_offer(struct cb_look *look);
void cb_look_at_congestion(struct cb_look *look);

#endif

/* What one node says of its devices and of how they hang together: plain data, so that it can be
 * sent, compared and written as it is. Filled on a running node by discovery (hwloc and sysfs here,
 * NVML in gpu/), or from somebody's map; read by findings.h. Whatever was not told is -1, or empty
 * text, or a rate of 0: unknown, which is no fault. */
#ifndef CB_TOPOLOGY_FACTS_H
#define CB_TOPOLOGY_FACTS_H

#include <stdbool.h>

#include "topology/topo.h"

enum {
    CB_FACTS_GPUS = 16,
    CB_FACTS_NICS = 40,
    CB_FACTS_LINKS = CB_FACTS_GPUS * (CB_FACTS_GPUS - 1) / 2 + CB_FACTS_GPUS * CB_FACTS_NICS,
};

/* Whether one GPU may reach another's memory, as NVML says (nvmlGpuP2PStatus_t). */
enum cb_peer_access {
    CB_PEER_OK = 0,
    CB_PEER_CHIPSET = 1,  /* the chipset does not forward it */
    CB_PEER_GPU = 2,      /* the model does not offer it (GeForce) */
    CB_PEER_TOPOLOGY = 3, /* no path that allows it */
    CB_PEER_SETTING = 4,  /* the driver was told not to */
    CB_PEER_UNSUPPORTED = 5,
    CB_PEER_UNKNOWN = 6 /* NVML's own word for it; -1 is: nobody asked */
};

/* State of a GPU's registration with the NVLink fabric (nvmlGpuFabricState_t). */
enum cb_fabric_state {
    CB_FABRIC_NONE = 0, /* not of a kind that has one */
    CB_FABRIC_NOT_STARTED = 1,
    CB_FABRIC_IN_PROGRESS = 2,
    CB_FABRIC_DONE = 3
};

/* The present and the best state of a PCIe link; what it could do is the least of card and slot. */
struct cb_facts_pcie {
    int generation, width;
    int generation_limit, width_limit;
    int card_generation_limit; /* of the card alone, where it is told apart */
    bool loaded; /* the present state was seen while data moved: a low generation is no idling */
};

struct cb_facts_gpu {
    int index; /* as its library counts */
    char name[64];
    char bus_id[24]; /* "0000:07:00.0" */
    int numa, socket;
    int compute_capability; /* 10 x major + minor */
    int mig;                /* 1: partitioned */
    struct cb_facts_pcie pcie;
    int nvlinks;               /* active */
    int nvlink_slots;          /* that the card answers for, active or not */
    int nvlink_switch;         /* of the active ones, how many end at an NVSwitch */
    int nvlink_version;        /* 10 x major + minor of the specification: 40 */
    double nvlink_bytes_per_s; /* of one link, one way */
    int fabric;                /* cb_fabric_state */
    int fabric_unhealthy; /* 1: the driver calls its fabric degraded, unhealthy or misconfigured */
};

struct cb_facts_nic {
    struct cb_topo_nic port;
    char bus_id[24]; /* empty for a virtual one */
    char state[24];  /* of an RDMA port ("ACTIVE", "DOWN", "INIT"), else operstate ("up") */
    char bond[32];   /* the interface that bundles it */
    int socket;
    int roce_v1, roce_v2; /* 1: its table of addresses has such entries */
    struct cb_facts_pcie pcie;
};

/* Between two GPUs, or a GPU and a NIC. */
struct cb_facts_link {
    char a[32], b[32];          /* "GPU0", "mlx5_0:1" */
    char path[8];               /* "PIX", "PXB", "PHB", "NODE", "SYS"; "NV12" */
    char kind[16];              /* "NVLink", "NVSwitch", "PCIe", ... */
    int nvlinks;                /* on the way: directly, or what the poorer end has to the switch */
    int peer_access;            /* cb_peer_access, of two GPUs */
    double bytes_per_s_one_way; /* nominal */
};

/* One kind of node. Host name, addresses and serial numbers are left out: equal nodes have equal
 * facts. */
struct cb_facts {
    char virtualization[32]; /* "none", "KVM", "Xen", "virtual machine"; empty: unknown */
    char container[32];      /* "docker", "kubernetes", ...; "none"; empty: unknown */
    int pci_devices;         /* shown by the kernel; 0: hidden */
    int pci_locality;        /* 1: the kernel says which NUMA node a PCI device is nearest to */
    int sockets, numa_nodes, cores;
    int cpus, allowed_cpus; /* hardware threads of the host, and those that its cgroup allows */
    double cpu_limit;       /* of the cgroup, in hardware threads (cpu.max); 0: none */
    int iommu;              /* 1: translating, 0: off or passing through */
    int acs_bridges;     /* ways up from a GPU on which a bridge sends peer traffic to the root */
    char acs_bridge[24]; /* the first of them */
    int peermem;         /* 1: nvidia_peermem (or nv_peer_mem) is loaded */
    int dmabuf; /* 1: open kernel modules on Linux 5.12 or newer: a GPU's memory can be handed over
                 */
    int fabric_manager;      /* 1: its process runs */
    char tcp_congestion[16]; /* "cubic" */

    int gpus_found, gpu_count; /* the first may exceed the second */
    struct cb_facts_gpu gpus[CB_FACTS_GPUS];
    int nics_found, nic_count;
    struct cb_facts_nic nics[CB_FACTS_NICS];
    int link_count;
    struct cb_facts_link links[CB_FACTS_LINKS];
};

/* Everything unknown. */
void cb_facts_init(struct cb_facts *facts);
void cb_facts_gpu_init(struct cb_facts_gpu *gpu);
void cb_facts_nic_init(struct cb_facts_nic *nic);

/* Whether the port is one of InfiniBand or RoCE, which MPI uses through UCX alone. Pure. */
bool cb_facts_is_ib_or_roce(const struct cb_topo_nic *port);

/* Appends a link between two devices of those names, all else unknown; NULL when there is no room.
 * Borrowed. */
struct cb_facts_link *cb_facts_add_link(struct cb_facts *facts, const char *a, const char *b);

/* The index of the link between two devices, in either order, or -1. */
int cb_facts_find_link(const struct cb_facts *facts, const char *a, const char *b);

/* "GPU3" of a GPU. Returns text. */
const char *cb_facts_gpu_name(const struct cb_facts_gpu *gpu, char *text, size_t size_bytes);

/* A number that equal nodes share, for storing them once. Equal is what has the same devices of the
 * same make in the same state with the same links between them. Not looked at: bus ids, the names
 * of interfaces and RDMA devices, and the present generation of an idle card's PCIe link: all three
 * differ between twins (hypervisors number PCI domains as they like, udev names after slots). The
 * order counts, which is that of NVML, and of importance and names for NICs. FNV-1a of 64 bits: in
 * 10,000 different nodes one pair in 4e11 would be taken for equal. Pure. */
uint64_t cb_facts_hash(const struct cb_facts *facts);

struct cb_map;

/* Fills out from a map: its GPUs and NICs (the first that fit) with what it says of them, and the
 * links. Everything else is unknown. Pure. */
void cb_facts_from_map(const struct cb_map *map, struct cb_facts *out);

/* Adds to facts whose devices are known how they are linked in a map, joined on bus ids, or names
 * where there are none: path, kind, rate, and the socket or NUMA node where the map alone knows.
 * Devices that the map lacks stay without links. Pure. */
void cb_facts_add_paths(const struct cb_map *map, struct cb_facts *facts);

/* The other way round: puts into the map of the same machine what the facts know and the map does
 * not: models and numbers of GPUs, NVLinks between them, what ports are, their rates and states.
 * Devices are joined on bus ids, NICs on names. Errors: CB_E_MEMORY, *map is then as it was. */
int cb_map_complete(const struct cb_facts *facts, struct cb_map *map, struct cb_error *err);

/* Reads what this node's kernel says (below sysroot, "" or NULL for the running system): everything
 * but GPUs, NVLinks and paths. used is the interface of the job's route, "" when unknown. *out is
 * initialised first. Errors: CB_E_MEMORY. Not collective. */
int cb_facts_read_node(const char *sysroot, const char *used, struct cb_facts *out,
                       struct cb_error *err);

/* Fills in, of a GPU whose bus_id is known, what the kernel says of that PCI device: NUMA node,
 * PCIe link where NVML told none. */
void cb_facts_read_gpu(const char *sysroot, struct cb_facts_gpu *gpu);

/* Looks at the bridges above the GPUs and NICs: acs_bridges, acs_bridge, iommu. After GPUs and NICs
 * are known. */
void cb_facts_read_isolation(const char *sysroot, struct cb_facts *facts);

#endif

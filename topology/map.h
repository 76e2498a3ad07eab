/* The map of one machine: what it is made of, what is connected to what over which link, and what
 * follows from that. A source (hwloc, a NCCL file, a matrix of nvidia-smi, a live machine) fills a
 * builder; the finished map does not change and all questions to it are pure.
 *
 * Two kinds of source: some show the PCI tree, and classes follow from it; a matrix states the
 * classes and no tree. What a source does not show is unknown, never the worst case. */
#ifndef CB_TOPOLOGY_MAP_H
#define CB_TOPOLOGY_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"

/* Beyond these a file is refused: no machine is as large. A lstopo file of a large one has a few
 * hundred kB. */
#define CB_MAP_FILE_BYTES_MAX (16 << 20)
#define CB_MAP_DEVICES_MAX 8192
#define CB_MAP_GPUS_MAX 256
#define CB_MAP_NICS_MAX 2048
#define CB_MAP_DEPTH_MAX 64    /* devices above one another */
#define CB_MAP_ROWS_MAX 131072 /* links, and stated classes */

enum cb_map_source {
    CB_MAP_FROM_HWLOC, /* a file of lstopo */
    CB_MAP_FROM_NCCL,  /* read with NCCL's own rules: two-level switches flattened, no NODE */
    CB_MAP_FROM_SMI,   /* a matrix of nvidia-smi topo */
    CB_MAP_LIVE,       /* this machine */
    CB_MAP_SOURCE_COUNT
};

enum cb_device_kind {
    CB_DEVICE_NUMA, /* CPUs and memory that devices hang on: a NUMA node, or several at once */
    CB_DEVICE_HOST_BRIDGE,
    CB_DEVICE_PCI_BRIDGE, /* root port, a switch's ports, a NCCL file's whole switch */
    CB_DEVICE_GPU,
    CB_DEVICE_NIC, /* one port as software names it: a card of two has two, at one bus id or two */
    CB_DEVICE_NVSWITCH,
    CB_DEVICE_OTHER, /* a PCI device that the source says no more of */
    CB_DEVICE_KIND_COUNT
};

/* How near two devices are, as nvidia-smi topo names it; nearest first, after unknown. */
enum cb_path_class {
    CB_CLASS_UNKNOWN,
    CB_CLASS_SELF, /* X: the same device */
    CB_CLASS_PIX,  /* at most one PCI switch between */
    CB_CLASS_PXB,  /* several, and no host bridge */
    CB_CLASS_PHB,  /* a host bridge; in NCCL's files the CPU of one NUMA node */
    CB_CLASS_NODE, /* several host bridges of one NUMA node */
    CB_CLASS_SYS,  /* the link between NUMA nodes */
    CB_CLASS_COUNT
};

enum cb_map_link_kind {
    CB_MAP_LINK_UNKNOWN,
    CB_MAP_LINK_NVLINK,
    CB_MAP_LINK_NVSWITCH, /* NVLink through a switch */
    CB_MAP_LINK_C2C,
    CB_MAP_LINK_XGMI,
    CB_MAP_LINK_PCIE,
    CB_MAP_LINK_INFINIBAND, /* from here on: what a NIC's port is */
    CB_MAP_LINK_ROCE,
    CB_MAP_LINK_EFA,
    CB_MAP_LINK_SLINGSHOT,
    CB_MAP_LINK_OMNIPATH,
    CB_MAP_LINK_USNIC,
    CB_MAP_LINK_IWARP,
    CB_MAP_LINK_SOFT_ROCE, /* RDMA in software: never fast */
    CB_MAP_LINK_RDMA,      /* RDMA, and the source does not say over what */
    CB_MAP_LINK_ETHERNET,
    CB_MAP_LINK_WIFI,
    CB_MAP_LINK_KIND_COUNT
};

/* What a device's link to the bridge above it is, as the source states it; 0 unknown. */
struct cb_map_pcie {
    double transfers_per_s; /* per lane: 16e9 is generation 4 */
    int lanes;
    double bytes_per_s;         /* one way, where the source states that instead of the two above */
    double max_transfers_per_s; /* what both ends can; 0 when the source does not say */
    int max_lanes;
};

enum cb_up { CB_UP_UNKNOWN, CB_UP_YES, CB_UP_NO };

struct cb_map_device {
    enum cb_device_kind kind;
    char name[48];    /* as the source names it ("GPU0", "cuda0", "mlx5_0"), cleaned */
    char partner[48]; /* further names of the same device ("ib0", "nvml0/opencl0d0"), cleaned */
    char bus_id[24];  /* lower case, "0000:18:00.0"; empty when the source shows none */
    char model[64];   /* what it says it is ("Tesla V100-SXM3-32GB"); empty when unknown */
    int parent; /* index of the device above it in the tree, always a smaller index; -1: none */
    int host;   /* number of the machine, where a file holds several (NVL72); else 0 */
    int numa;   /* operating-system index of its NUMA node; -1 unknown, or several */
    int vendor_id, device_id; /* PCI; -1 unknown */
    int subsystem_vendor_id, subsystem_device_id;
    int pci_class; /* 0x0302; -1 unknown */
    struct cb_map_pcie pcie;
    /* CB_DEVICE_NUMA */
    char nodes[32]; /* the NUMA nodes in list form, "0" or "0-3"; empty when unknown */
    bool has_cpus;  /* false: memory alone, such as a GPU's */
    bool is_whole;  /* the whole machine, of several nodes: what hangs here has no known place */
    /* CB_DEVICE_GPU */
    int gpu_index; /* the source's number for it ("dev" of NCCL, cudaN); -1: none */
    int sm;        /* compute capability x 10 ("90"); 0 unknown, or not CUDA */
    char cpus[64]; /* the CPUs beside it, list form, when the source states them */
    /* CB_DEVICE_NIC */
    enum cb_map_link_kind port; /* CB_MAP_LINK_INFINIBAND and after; unknown when not said */
    bool is_rdma;               /* RDMA-capable */
    bool is_virtual_function;   /* shares its port's rate with other functions */
    enum cb_up up;              /* the port's state */
    double port_bytes_per_s;    /* data rate one way; 0 unknown, or not believable */
    double stated_bits_per_s;   /* what the source states, believable or not; 0 nothing */
    int gdr;                    /* GPUDirect RDMA: 1 yes, 0 no, -1 not said (GPUs too) */
    /* Filled by the builder */
    int depth;                 /* devices above it */
    bool is_rate_doubtful;     /* what pcie says cannot be its rate (cb_map_uplink_bytes_per_s) */
    int switch_links;          /* NVLinks to switches, all together */
    double switch_bytes_per_s; /* one way; 0 unknown */
    int switch_generation;     /* of those NVLinks; 0 unknown */
    int switch_index;          /* the switch, where it is one; -1 none or several */
    double cpu_bytes_per_s;    /* one way, over C2C to the CPU; 0 none, or unknown */
};

/* A link beside the PCI tree: NVLink between GPUs, or from a GPU to a switch or a CPU; C2C; xGMI.
 */
struct cb_map_link {
    int a, b; /* devices */
    enum cb_map_link_kind kind;
    int generation;             /* of NVLink; 0 unknown */
    int count;                  /* links together; 0 unknown */
    double bytes_per_s_one_way; /* all of them; 0 unknown */
};

/* A class that the source states itself, as a matrix does. */
struct cb_map_cell {
    int a, b;
    enum cb_path_class path_class; /* unknown when only the NVLinks are stated */
    int nvlinks;                   /* "NV18": 18; 0 for none */
};

/* What the source itself has wrong or leaves out: words about the file, not the machine. */
struct cb_map_note {
    char code[40]; /* "matrix.contradiction" */
    bool is_wrong; /* the source contradicts itself; otherwise it only does not show all */
    char seen[200];
    const char *why, *remedy; /* static */
};

/* Zero-initialised is empty. Read freely; change nothing. */
struct cb_map {
    enum cb_map_source source;
    char name[64];                        /* host, when the source names one; cleaned */
    CB_VEC(struct cb_map_device) devices; /* parents before children */
    CB_VEC(struct cb_map_link) links;
    CB_VEC(struct cb_map_cell) cells; /* sorted by (a, b), a < b */
    CB_VEC(int) gpus;                 /* device indices in the source's order */
    CB_VEC(int) nics;
    CB_VEC(struct cb_map_note) notes;
    bool has_tree;     /* the PCI tree is shown; otherwise classes come from cells or are unknown */
    bool hides_nvlink; /* the source does not show links beside PCIe (topo -mp, hwloc without NVML):
                         that it has none between GPUs that may have some says nothing */
};

/* Frees what a map owns; the map is empty and usable again. */
void cb_map_fini(struct cb_map *map);

/* ---- building ---- */

struct cb_map_builder {
    struct cb_map map;
};

/* Starts an empty map. Free with fini, which may follow finish. */
void cb_map_builder_init(struct cb_map_builder *builder, enum cb_map_source source);
void cb_map_builder_fini(struct cb_map_builder *builder);

/* A device of that kind whose every field says "unknown", below no parent. */
struct cb_map_device cb_map_device_blank(enum cb_device_kind kind);

/* Adds a copy of a device, its texts cleaned (cb_map_clean) and its bus id normalised; its parent
 * must have been added before. Returns its index, or CB_E_INPUT when there are too many or the
 * parent is not there, or CB_E_MEMORY. */
int cb_map_builder_add(struct cb_map_builder *builder, const struct cb_map_device *device,
                       struct cb_error *err);

/* Adds a link between two devices already added, stated once for both ways; a second one of the
 * same kind between the same two adds to its count and rate. Errors as above. */
int cb_map_builder_link(struct cb_map_builder *builder, const struct cb_map_link *link,
                        struct cb_error *err);

/* States the class of a pair, both ways alike; a later word replaces an earlier one. */
int cb_map_builder_state(struct cb_map_builder *builder, int a, int b,
                         enum cb_path_class path_class, int nvlinks, struct cb_error *err);

/* Notes something about the source; a copy is kept, its texts cleaned. Errors: CB_E_MEMORY. */
int cb_map_builder_note(struct cb_map_builder *builder, const struct cb_map_note *note,
                        struct cb_error *err);

/* Finishes: rows sorted and merged, NUMA handed down the tree where a device does not state its
 * own, GPUs and NICs listed, gaps of a file noted. Hands the map over to *map (free with
 * cb_map_fini); the builder is empty again. Errors: CB_E_INPUT when there are too many GPUs or
 * NICs, CB_E_MEMORY. */
int cb_map_builder_finish(struct cb_map_builder *builder, struct cb_map *map, struct cb_error *err);

/* Copies text cut to fit, with control characters, bytes beyond ASCII and what HTML reads as its
 * own (< > & " ' `) replaced by '?'. The text may hold NULs up to length_bytes; it ends at one. */
void cb_map_clean(char *out, size_t out_size_bytes, const char *text, size_t length_bytes);

/* Reads "0000:18:00.0", "18:00.0", "00000000:18:00.0" and "0000:18:0.0" as one: lower case, a
 * domain of at least four digits with no more zeros ahead than that, two digits of bus and device.
 * What is no bus id ("fffffff:ffff:ff") is copied cleaned, in lower case. */
void cb_map_normalise_bus_id(char *out, size_t out_size_bytes, const char *text);

/* What a NIC's port most likely is, by the name that software gives it ("mlx5_0", "eth0"; may be
 * empty) and its PCI ids (-1 unknown); CB_MAP_LINK_RDMA for a name of RDMA that could be either,
 * unknown when nothing tells. A source that knows the link layer knows better. */
enum cb_map_link_kind cb_map_port_kind(const char *name, int vendor_id, int device_id,
                                       int pci_class);

/* Whether ports of that kind do RDMA. */
bool cb_map_link_is_rdma(enum cb_map_link_kind kind);

/* Whether a PCI id is one of a virtual function (SR-IOV) of a NIC. */
bool cb_map_is_virtual_function(int vendor_id, int device_id);

/* ---- asking; devices are indices into map->devices ---- */

/* The device of that name, or of that bus id in any form; -1 when there is none. */
int cb_map_find(const struct cb_map *map, const char *name);

/* How near two devices are: the stated class, else the one that follows from the tree. Symmetric.
 * Unknown when the source shows no place for one of them. */
enum cb_path_class cb_map_class(const struct cb_map *map, int a, int b);

/* How a pair of devices talks at best. */
struct cb_map_path {
    enum cb_map_link_kind kind;    /* unknown when the source does not show it */
    enum cb_path_class path_class; /* over PCI, whatever the kind; NVLink pairs have one too */
    int generation;                /* of NVLink, or of the narrowest PCIe link; 0 unknown */
    int count;                     /* NVLinks, or lanes of the narrowest PCIe link; 0 unknown */
    double bytes_per_s_one_way;    /* nominal; 0 unknown */
    bool is_upper_bound; /* a stretch of unknown rate is crossed: between sockets, or not stated */
    int bottleneck;      /* device whose link upward is the narrowest (PCIe); -1: none known */
    int via;             /* NVSwitch that is crossed, -1: none or several */
};

void cb_map_path(const struct cb_map *map, int a, int b, struct cb_map_path *path);

/* What "nvidia-smi topo -m" writes for the pair: "NV18", "PIX", ...; NULL when unknown. Borrowed:
 * the text lies in static storage or in buffer. */
const char *cb_map_path_name(const struct cb_map_path *path, char buffer[16]);

/* The nearest NICs of a GPU: of the RDMA-capable ones the nearest class, every one of it, in the
 * source's order; other NICs where no RDMA-capable one has a class. A NCCL file lists what NCCL may
 * use, all alike. A radio (Wi-Fi) is listed where it ties and is the nearest only where there is
 * nothing else. Whether a port is up does not matter here. NICs of unknown class are not near:
 * count 0. */
struct cb_map_nearest {
    enum cb_path_class path_class; /* unknown when count is 0 */
    size_t count;
    int first_of_equals; /* the one to take: not down, of the GPU's NUMA node, the fastest, with the
                            fewest bridges between, the first; -1 when count is 0 */
};

/* Writes up to capacity device indices into nics (NULL with 0 to count alone). */
void cb_map_nearest_nics(const struct cb_map *map, int gpu, int *nics, size_t capacity,
                         struct cb_map_nearest *nearest);

/* Nominal rate one way of a device's own PCIe link; 0 where the source does not state it or states
 * what cannot be: a GPU that rests at generation 1, a virtual switch slower than what is below. */
double cb_map_uplink_bytes_per_s(const struct cb_map *map, int device);

/* Nominal rate one way from a device's memory to the wire of a NIC: the port's or the PCIe path's,
 * whichever is lower; 0 when the port's is unknown. *by_pcie says that PCIe is the lower. */
double cb_map_wire_bytes_per_s(const struct cb_map *map, int device, int nic, bool *by_pcie);

/* Nominal payload rate of a PCIe link one way (line coding taken off); 0 when unknown. */
double cb_pcie_bytes_per_s(double transfers_per_s, int lanes);

/* 1 for 2.5e9, ... 6 for 64e9; 0 for no generation's rate. */
int cb_pcie_generation(double transfers_per_s);

/* Names: "hwloc", "GPU", "PIX" (NULL for unknown and self: "X"), "NVLink", ... Static. find is the
 * reverse, -1 for no such name. */
const char *cb_map_source_name(enum cb_map_source source);
const char *cb_device_kind_name(enum cb_device_kind kind);
const char *cb_path_class_name(enum cb_path_class path_class);
const char *cb_map_link_kind_name(enum cb_map_link_kind kind);
int cb_path_class_find(const char *name);
int cb_map_link_kind_find(const char *name);

#endif

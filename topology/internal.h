/* What the files of this layer share: reading small files below a root, and one function for each
 * source of information. Roots are "" for the running system. */
#ifndef CB_TOPOLOGY_INTERNAL_H
#define CB_TOPOLOGY_INTERNAL_H

#include <limits.h>

#include "topology/topo.h"

/* tree.c: files of sysfs and procfs. Folders are paths without a trailing slash; whatever cannot be
 * read is reported as absent, since most of these files exist on some kernels only. */

/* Copies text with everything a report or a terminal should not carry (control characters, bytes
 * beyond ASCII) replaced by '?', cut to fit. */
void cb_tree_clean(char *out, size_t size_bytes, const char *text);

/* The first line of a file, cleaned. */
bool cb_tree_read_line(const char *folder, const char *file, char *line, size_t size_bytes);

/* The start of a file as it is, NUL-terminated. */
bool cb_tree_read_text(const char *folder, const char *file, char *text, size_t size_bytes);

/* A file that holds one integer, or missing. */
long long cb_tree_read_integer(const char *folder, const char *file, long long missing);

bool cb_tree_exists(const char *folder, const char *file);

/* The last part of what a symbolic link points to. */
bool cb_tree_read_link(const char *folder, const char *file, char *name, size_t size_bytes);

/* The names in a folder, in natural order ("eth2" before "eth10"); *names is NULL and the count 0
 * when it cannot be read. Free with cb_tree_free_names. */
size_t cb_tree_list(const char *folder, char ***names);
void cb_tree_free_names(char **names, size_t count);

/* from_hwloc.c: everything of a host but its name, its free memory and its network. The memory is
 * that of the NUMA nodes; *has_whole_memory says whether nothing was left out of it (nodes that the
 * cgroup forbids, a GPU's memory). */
int cb_topo_read_machine(struct cb_topo_host *host, bool *has_whole_memory, struct cb_error *err);

/* The cores, counted from *first, that the sharer-th of sharers processes gets out of cores: even
 * shares that do not overlap while there is a core for each process, else one core each, round
 * robin. Arguments are positive, 0 <= sharer < sharers. Pure. */
void cb_topo_share(int sharer, int sharers, int cores, int *first, int *count);

/* from_sysfs.c: all network interfaces and RDMA ports, the most important first; used is the
 * interface of the job's route, "" when unknown. Free *nics. Errors: CB_E_MEMORY. */
int cb_topo_list_nics(const char *root, const char *used, struct cb_topo_nic **nics, size_t *count,
                      struct cb_error *err);

/* The same into a host, as many as it keeps. */
int cb_topo_read_nics(const char *root, const char *used, struct cb_topo_host *host,
                      struct cb_error *err);

/* from_procfs.c: what a process can still allocate: MemAvailable, or less where a memory cgroup
 * (version 1 or 2, any level) leaves less; 0 when unknown. */
uint64_t cb_topo_read_available_memory(const char *root);

/* MemTotal; 0 when unknown. */
uint64_t cb_topo_read_total_memory(const char *root);

/* What the CPU controllers of this process's cgroup, or of one above it, leave, in hardware
 * threads; 0 for no limit. */
double cb_topo_read_cpu_limit(const char *root);

/* pci.c: what sysfs says of PCI devices; bus ids as "0000:07:00.0". */

/* The PCI function behind a folder of /sys/class, or of a device below one (virtio); "" and false
 * where there is none. */
bool cb_pci_find(const char *folder, char *bus_id, size_t size_bytes);

struct cb_facts_pcie;
void cb_pci_read_link(const char *root, const char *bus_id, struct cb_facts_pcie *pcie);
int cb_pci_read_numa(const char *root, const char *bus_id);

/* The socket of a NUMA node; -1 when unknown. */
int cb_pci_read_socket(const char *root, int numa);

/* Whether the bridges above a device send requests between devices below them up to the root (ACS
 * redirection): calls back for each bridge that does. False when their configuration cannot be
 * read, which takes root. */
bool cb_pci_visit_redirecting(const char *root, const char *bus_id,
                              void (*visit)(void *arg, const char *bridge), void *arg);

/* 1 when the device's addresses are translated by an IOMMU, 0 when not, -1 when unknown. */
int cb_pci_read_iommu(const char *root, const char *bus_id);

/* from_kernel.c: what only the running kernel can tell. */

/* The interface that packets to a host leave through; false when it has no address, or when it is
 * this host itself. */
bool cb_topo_find_route(const char *peer, char *name, size_t size_bytes);

/* The driver of an interface that has no device behind it ("veth"). */
bool cb_topo_ask_driver(const char *interface, char *driver, size_t size_bytes);

#endif

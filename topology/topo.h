/* What one host is made of and where a process sits on it: plain data, so that it can be gathered
 * over ranks, and the discovery that fills it. Foreign headers (hwloc) stay in from_hwloc.c. */
#ifndef CB_TOPOLOGY_TOPO_H
#define CB_TOPOLOGY_TOPO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define CB_TOPO_NICS 16 /* a node with more keeps the first ones and says how many there were */

struct cb_topo_nic {
    char name[32]; /* network interface ("eth0") or, for an RDMA port, device and port ("mlx5_0:1")
                    */
    char kind[24]; /* "Ethernet", "InfiniBand", "RoCE", "virtual Ethernet", "bridge", "other" */
    char driver[32];            /* kernel driver, empty when unknown */
    double nominal_bytes_per_s; /* one way, as the driver states it; 0 when unknown, or when a
                                   virtual driver (veth, virtio, tun, bridge) makes the figure up */
    double
        stated_bytes_per_s; /* what the driver states, made up or not; 0 when it states nothing */
    int mtu_bytes;          /* 0 when unknown */
    int numa;               /* -1 when unknown, as in virtual machines */
    bool up;
    bool used; /* the route to the other hosts of the job leaves through it */
};

struct cb_topo_host {
    char name[64]; /* host name, control characters replaced */
    char cpu_model[64];
    int sockets, cores, hardware_threads, numa_nodes;
    uint64_t memory_bytes;
    uint64_t available_memory_bytes; /* MemAvailable when it was looked at, cgroup limit applied */
    uint64_t last_level_cache_bytes; /* all last-level caches together; 0 when unknown */
    int nics_found;                  /* may exceed nic_count */
    int nic_count;
    struct cb_topo_nic nics[CB_TOPO_NICS];
};

/* Where the calling process may run. */
struct cb_topo_binding {
    int cpus;        /* hardware threads in its affinity mask */
    int cores;       /* cores those belong to */
    bool bound;      /* the mask is smaller than what the cgroup allows on the host */
    int numa;        /* the NUMA node holding the whole mask; -1 when it spans several */
    char cpuset[64]; /* list form, "0-7,16-23"; "..." at the end when cut */
};

/* Discovers the calling process's host: hwloc for CPUs, NUMA and caches, sysfs (below sysroot, ""
 * or NULL for the running system) for network interfaces and RDMA ports. Loopback is left out. peer
 * is the name or address of another host of the job, used to mark the interface that the route to
 * it leaves through; NULL or empty marks none. Fields that cannot be found stay 0, -1 or empty: an
 * unreadable NIC is no error. Errors: CB_E_MEASURE when hwloc cannot load at all. Not collective.
 */
int cb_topo_discover_host(const char *sysroot, const char *peer, struct cb_topo_host *host,
                          struct cb_error *err);

/* Looks at the calling process's CPU binding. Not collective. */
int cb_topo_discover_binding(struct cb_topo_binding *binding, struct cb_error *err);

/* Chooses the CPUs (operating-system indices) that this process's compute threads run on: the ones
 * of its mask when the launcher bound it, otherwise its even share of the host's cores among
 * local_ranks processes (local_rank of them); one hardware thread per core, and always at least
 * one. Writes up to capacity indices and returns how many, or a negative cb_code. Not collective.
 */
int cb_topo_choose_cpus(int local_rank, int local_ranks, int *cpus, size_t capacity,
                        struct cb_error *err);

/* The version of the hwloc library in use ("2.9.0"), for doctor. */
const char *cb_topo_library_version(char *text, size_t size_bytes);

#endif

/* What one host is made of and where a process sits on it: plain data, so that it can be gathered
 * over ranks, and the discovery that fills it. Foreign headers (hwloc) stay in from_hwloc.c. */
#ifndef CB_TOPOLOGY_TOPO_H
#define CB_TOPOLOGY_TOPO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A node with more keeps the ones that matter most and says how many there were: the one in use,
 * RDMA ports, real network interfaces, virtual ones; those that are up before those that are not.
 */
#define CB_TOPO_NICS 16

struct cb_topo_nic {
    char name[32]; /* network interface ("eth0") or, for an RDMA port, device and port ("mlx5_0:1")
                    */
    char kind[24]; /* "Ethernet", "InfiniBand", "RoCE", "IPoIB", "virtual Ethernet", "bridge",
                      "bond", "other", ... (the tables of from_sysfs.c) */
    char driver[32];  /* kernel driver, empty when unknown */
    char partner[32]; /* the same port's other face: an RDMA port's network interface, and the
                         other way round; empty when there is none */
    /* One way, data rate: what the driver states less the coding of the line; 0 when unknown or
     * down, and when a virtual driver (veth, virtio, tun, bridge) makes the figure up. */
    double nominal_bytes_per_s;
    /* What the driver states, made up or not; 0 when it states nothing. */
    double stated_bytes_per_s;
    int mtu_bytes; /* 0 when unknown */
    int numa;      /* -1 when unknown, as in virtual machines */
    bool up;
    bool used;             /* the route to the other hosts of the job leaves through it */
    bool virtual_function; /* SR-IOV: it shares its port's rate with the other functions */
};

struct cb_topo_host {
    char name[64]; /* host name, control characters replaced */
    char cpu_model[64];
    int sockets, cores, hardware_threads, numa_nodes;
    uint64_t memory_bytes;
    uint64_t available_memory_bytes; /* MemAvailable when it was looked at, cgroup limit applied */
    uint64_t last_level_cache_bytes; /* all last-level caches together; 0 when unknown */
    int map;                         /* 1 + index of its map among those of a result; 0: none */
    int nics_found;                  /* may exceed nic_count */
    int nic_count;
    struct cb_topo_nic nics[CB_TOPO_NICS];
};

/* Where the calling process may run. */
struct cb_topo_binding {
    int cpus;        /* hardware threads in its affinity mask */
    int cores;       /* cores those belong to */
    bool bound;      /* the mask is smaller than what the host, or its cgroup, allows */
    int numa;        /* the NUMA node holding the whole mask; -1 when it spans several */
    char cpuset[64]; /* list form, "0-7,16-23"; "..." at the end when cut */
};

/* Discovers the calling process's host: hwloc for CPUs, NUMA and caches (what the cgroup allows of
 * them), sysfs and procfs (below sysroot, "" or NULL for the running system) for memory, network
 * interfaces and RDMA ports. Loopback is left out. peer is the name or address of another host of
 * the job, used to mark the interface that the route to it leaves through (on the running system
 * only); NULL or empty marks none. Fields that cannot be found stay 0, -1 or empty: an unreadable
 * NIC is no error. Errors: CB_E_MEASURE when hwloc cannot load at all. Not collective. */
int cb_topo_discover_host(const char *sysroot, const char *peer, struct cb_topo_host *host,
                          struct cb_error *err);

/* Looks at the calling process's CPU binding. Not collective. */
int cb_topo_discover_binding(struct cb_topo_binding *binding, struct cb_error *err);

/* Chooses the CPUs (operating-system indices) that this process's compute threads run on: of the
 * sharers processes that have one and the same mask, bound or not (mpirun --bind-to socket puts
 * several ranks on each socket), the sharer-th one's even share of the mask's cores; one hardware
 * thread per core, and always at least one. Writes up to capacity indices and returns how many, or
 * a negative cb_code. Not collective. */
int cb_topo_share_cpus(int sharer, int sharers, int *cpus, size_t capacity, struct cb_error *err);

/* Hardware threads that this host, or its cgroup's cpuset, allows; 0 when unknown. A launcher's
 * binding does not make it smaller. */
int cb_topo_allowed_cpus(void);

/* The version of the hwloc library in use ("2.9.0"), for doctor. */
const char *cb_topo_library_version(char *text, size_t size_bytes);

#endif

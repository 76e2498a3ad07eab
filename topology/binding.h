/* Where this process may run, seen from a PCI device that it works with; and putting it there. */
#ifndef CB_TOPOLOGY_BINDING_H
#define CB_TOPOLOGY_BINDING_H

#include "topology/topo.h"

struct cb_map;

/* This machine's map: PCI tree, GPUs, NICs as hwloc shows them. A node that hides its PCI tree
 * gives a map without one. Free with cb_map_fini. Errors: CB_E_MEASURE, CB_E_MEMORY. Not
 * collective. */
int cb_map_discover(struct cb_map *map, struct cb_error *err);

/* The PCI address of an interface's device ("0000:01:00.0"); false where it has none. */
bool cb_near_find_interface(const char *interface, char *bus_id, size_t size_bytes);

/* The CPUs beside a PCI device, of those that this process's cgroup allows, in list form
 * ("0-15,64-79"). False, with *cpus empty, where the machine does not say (virtual machines, a
 * device that the kernel does not show) or where every CPU is as near. */
bool cb_near_find_cpus(const char *bus_id, char *cpus, size_t size_bytes);

/* Whether the calling thread may run on one of these CPUs, and its memory may come from beside
 * them: 1 yes, 0 no, -1 when cpus is empty. */
int cb_near_compare(const char *cpus);

/* Binds every thread of this process to the share of the sharer-th of sharers processes among the
 * cores of these CPUs (empty: of all that are allowed): whole cores with all their hardware
 * threads, one share disjoint from the others. Its memory comes from beside them where there is
 * any. Returns 1 when it bound, 0 when there is nothing to bind to (a share that is everything, or
 * more sharers than cores), or a negative cb_code. */
int cb_near_bind(const char *cpus, int sharer, int sharers, struct cb_error *err);

#endif

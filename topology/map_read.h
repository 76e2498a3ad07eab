/* Reading other people's maps: files of lstopo, of NCCL and of nvidia-smi, told apart by what is in
 * them. Nothing in a file is trusted: sizes and depths are bounded, entities and external
 * references are refused. */
#ifndef CB_TOPOLOGY_MAP_READ_H
#define CB_TOPOLOGY_MAP_READ_H

#include "topology/map.h"

/* Reads a map out of text (any bytes, no NUL needed at its end); name stands in messages. *map is
 * set on success alone; free it with cb_map_fini. Errors: CB_E_INPUT with the line, and in the hint
 * what to do; CB_E_UNSUPPORTED when this build has no hwloc and the file needs it; CB_E_MEMORY. */
int cb_map_read(const char *name, const char *text, size_t length_bytes, struct cb_map *map,
                struct cb_error *err);

/* One function for each format, as above. */
int cb_map_from_hwloc_xml(const char *name, const char *text, size_t length_bytes,
                          struct cb_map *map, struct cb_error *err);
int cb_map_from_nccl_xml(const char *name, const char *text, size_t length_bytes,
                         struct cb_map *map, struct cb_error *err);
int cb_map_from_smi(const char *name, const char *text, size_t length_bytes, struct cb_map *map,
                    struct cb_error *err);

/* Adds what a loaded hwloc topology shows (with I/O objects kept) to a builder: NUMA nodes,
 * bridges, GPUs, NICs, NVLink. The live machine and files share it. Errors as of the builder. */
struct hwloc_topology;
struct cb_map_builder;
int cb_map_add_hwloc(struct hwloc_topology *topology, struct cb_map_builder *builder,
                     struct cb_error *err);

#endif

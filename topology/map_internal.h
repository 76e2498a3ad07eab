/* What the files of the map share among themselves. */
#ifndef CB_TOPOLOGY_MAP_INTERNAL_H
#define CB_TOPOLOGY_MAP_INTERNAL_H

#include "topology/map.h"

/* classify.c: whether NCCL takes a bridge and the one right below it for one switch: two-level
 * switches of Broadcom's show each of their halves. */
bool cb_map_is_one_switch(const struct cb_map_device *upper, const struct cb_map_device *lower);

/* classify.c: the device at which the ways up from a and b meet (it may be one of them); -1: none.
 */
int cb_map_find_meeting(const struct cb_map *map, int a, int b);

/* classify.c: what the source states of a pair; NULL when nothing. */
const struct cb_map_cell *cb_map_find_cell(const struct cb_map *map, int a, int b);

/* path.c: whether a GPU is of a kind that can have NVLink or xGMI, or its kind is unknown. */
bool cb_map_may_have_links(const struct cb_map *map, int gpu);

/* map_notes.c: notes what a finished tree does not show, or states that cannot be; one note for
 * each kind of gap. Errors: CB_E_MEMORY. */
int cb_map_builder_note_gaps(struct cb_map_builder *builder, struct cb_error *err);

/* path.c: marks the PCIe rates of a finished tree that cannot be. */
void cb_map_doubt_rates(struct cb_map *map);

/* path.c: nominal rate one way of one NVLink of a GPU of that compute capability, and the link's
 * generation; of one xGMI link of AMD's card with that PCI device id. 0 when unknown. */
double cb_map_nvlink_bytes_per_s(int sm, int *generation);
double cb_map_xgmi_bytes_per_s(int device_id);

/* path.c: the compute capability of NVIDIA's GPU with that PCI device id; 0 for one without NVLink,
 * or not known. */
int cb_map_sm_of_device(int device_id);

#endif

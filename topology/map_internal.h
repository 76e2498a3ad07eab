/* What the files of the map share among themselves. */
#ifndef CB_TOPOLOGY_MAP_INTERNAL_H
#define CB_TOPOLOGY_MAP_INTERNAL_H

#include "topology/map.h"

/* classify.c: whether NCCL takes a bridge and the one right below it for one switch: two-level
 * switches of Broadcom's show each of their halves. */
bool cb_map_is_one_switch(const struct cb_map_device *upper, const struct cb_map_device *lower);

#endif

/* How the GPUs of this host hang together, as NVML says it. */
#ifndef CB_GPU_NODE_H
#define CB_GPU_NODE_H

#include "topology/facts.h"

struct cb_nvml_api;

/* Fills facts' GPUs (all that NVML shows, the first CB_FACTS_GPUS of them in detail) and the links
 * between them: NVLinks with their other ends and speed, registration with the fabric, PCIe as it
 * is and could be, peer access, and how near they are (the map's word replaces NVML's where it has
 * one). What NVML refuses is unknown. Cannot fail. Not collective. */
void cb_gpu_look_at_node(const struct cb_nvml_api *api, struct cb_facts *facts);

#endif

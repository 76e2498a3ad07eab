#include "topology/map_internal.h"

/* The halves of Broadcom's two-level switches, as NCCL tells them by their PCI ids
 * (src/graph/topo.cc, getBcmGen): subsystem device ids are compared without their last three
 * digits. */
static const struct two_level_switch {
    int device_id;
    int upper_subsystem, lower_subsystem;
} two_level_switches[] = {
    {0xc010, 0xa000, 0xa000}, /* generation 4 */
    {0xc030, 0x0000, 0x1000}, /* generation 5 */
};

#define BROADCOM 0x1000

static bool is_half(const struct cb_map_device *bridge, int device_id, int subsystem)
{
    return bridge->kind == CB_DEVICE_PCI_BRIDGE && bridge->vendor_id == BROADCOM &&
           bridge->device_id == device_id && bridge->subsystem_vendor_id == BROADCOM &&
           bridge->subsystem_device_id >= 0 && (bridge->subsystem_device_id & 0xf000) == subsystem;
}

bool cb_map_is_one_switch(const struct cb_map_device *upper, const struct cb_map_device *lower)
{
    for (size_t i = 0; i < sizeof(two_level_switches) / sizeof(*two_level_switches); i++) {
        const struct two_level_switch *row = &two_level_switches[i];
        if (is_half(upper, row->device_id, row->upper_subsystem) &&
            is_half(lower, row->device_id, row->lower_subsystem))
            return true;
    }
    return false;
}

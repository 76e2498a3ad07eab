#include <ctype.h>
#include <string.h>

#include "topology/map.h"

#define ANY (-2)

/* What names and PCI ids say of a port: the first row that fits. A name fits when it begins as the
 * row's and goes on with a digit, or with anything where the row ends in '*'. Class 0x0207 is an
 * InfiniBand controller; Mellanox's cards change theirs with the port's type. */
static const struct port_rule {
    const char *name;
    int vendor_id, device_low, device_high, pci_class;
    enum cb_map_link_kind kind;
} port_rules[] = {
    {"*", 0x1d0f, 0xefa0, 0xefaf, ANY, CB_MAP_LINK_EFA},
    {"*", 0x17db, ANY, ANY, ANY, CB_MAP_LINK_SLINGSHOT},
    {"*", 0x434e, ANY, ANY, ANY, CB_MAP_LINK_OMNIPATH},
    {"*", 0x8086, 0x24f0, 0x24f1, ANY, CB_MAP_LINK_OMNIPATH},
    {"wl*", ANY, ANY, ANY, ANY, CB_MAP_LINK_WIFI},
    {"cxi", ANY, ANY, ANY, ANY, CB_MAP_LINK_SLINGSHOT},
    {"hsn", ANY, ANY, ANY, ANY, CB_MAP_LINK_SLINGSHOT},
    {"hfi1_", ANY, ANY, ANY, ANY, CB_MAP_LINK_OMNIPATH},
    {"usnic_", ANY, ANY, ANY, ANY, CB_MAP_LINK_USNIC},
    {"rxe", ANY, ANY, ANY, ANY, CB_MAP_LINK_SOFT_ROCE},
    {"siw", ANY, ANY, ANY, ANY, CB_MAP_LINK_SOFT_ROCE},
    {"efa_", ANY, ANY, ANY, ANY, CB_MAP_LINK_EFA},
    {"rdmap*", ANY, ANY, ANY, ANY, CB_MAP_LINK_EFA},
    {"*", ANY, ANY, ANY, 0x0207, CB_MAP_LINK_INFINIBAND},
    {"mlx5_bond_", ANY, ANY, ANY, ANY, CB_MAP_LINK_ROCE},
    {"mlx5_*", 0x15b3, ANY, ANY, 0x0200, CB_MAP_LINK_ROCE},
    {"mlx4_*", 0x15b3, ANY, ANY, 0x0200, CB_MAP_LINK_ROCE},
    {"roce*", ANY, ANY, ANY, ANY, CB_MAP_LINK_ROCE},
    {"bnxt_re*", ANY, ANY, ANY, ANY, CB_MAP_LINK_ROCE},
    {"mana_", ANY, ANY, ANY, ANY, CB_MAP_LINK_ROCE},
    {"irdma", ANY, ANY, ANY, ANY, CB_MAP_LINK_RDMA},
    {"iw*", ANY, ANY, ANY, ANY, CB_MAP_LINK_IWARP},
    {"cxgb4_", ANY, ANY, ANY, ANY, CB_MAP_LINK_IWARP},
    {"mlx5_*", ANY, ANY, ANY, ANY, CB_MAP_LINK_RDMA},
    {"mlx4_*", ANY, ANY, ANY, ANY, CB_MAP_LINK_RDMA},
    {"erdma_", ANY, ANY, ANY, ANY, CB_MAP_LINK_RDMA},
    {"ib*", ANY, ANY, ANY, ANY, CB_MAP_LINK_INFINIBAND},
    {"hsi", ANY, ANY, ANY, ANY, CB_MAP_LINK_INFINIBAND},
    {"eth", ANY, ANY, ANY, ANY, CB_MAP_LINK_ETHERNET},
    {"en*", ANY, ANY, ANY, ANY, CB_MAP_LINK_ETHERNET},
    {"em", ANY, ANY, ANY, ANY, CB_MAP_LINK_ETHERNET},
    {"bond", ANY, ANY, ANY, ANY, CB_MAP_LINK_ETHERNET},
};

/* Virtual functions that have an id of their own (pci.ids). */
static const struct function_ids {
    int vendor_id, device_id;
} virtual_functions[] = {
    {0x15b3, 0x1002}, {0x15b3, 0x1004}, {0x15b3, 0x1006}, {0x15b3, 0x1014}, {0x15b3, 0x1016},
    {0x15b3, 0x1018}, {0x15b3, 0x101a}, {0x15b3, 0x101c}, {0x15b3, 0x101e}, {0x14e4, 0x1806},
    {0x14e4, 0x1819}, {0x8086, 0x10ca}, {0x8086, 0x10ed}, {0x8086, 0x1520}, {0x8086, 0x154c},
    {0x8086, 0x1889}, {0x8086, 0x37cd}, {0x1137, 0x0071},
};

static bool fits_name(const char *rule, const char *name)
{
    size_t length = strlen(rule);
    bool is_prefix = length > 0 && rule[length - 1] == '*';
    length -= is_prefix;
    if (strncmp(rule, name, length) != 0)
        return false;
    return is_prefix || isdigit((unsigned char)name[length]);
}

enum cb_map_link_kind cb_map_port_kind(const char *name, int vendor_id, int device_id,
                                       int pci_class)
{
    for (size_t i = 0; i < sizeof(port_rules) / sizeof(*port_rules); i++) {
        const struct port_rule *rule = &port_rules[i];
        bool fits_device = rule->device_low == ANY ||
                           (device_id >= rule->device_low && device_id <= rule->device_high);
        if ((rule->vendor_id == ANY || rule->vendor_id == vendor_id) && fits_device &&
            (rule->pci_class == ANY || rule->pci_class == pci_class) && fits_name(rule->name, name))
            return rule->kind;
    }
    return CB_MAP_LINK_UNKNOWN;
}

bool cb_map_link_is_rdma(enum cb_map_link_kind kind)
{
    return kind >= CB_MAP_LINK_INFINIBAND && kind <= CB_MAP_LINK_RDMA;
}

bool cb_map_is_virtual_function(int vendor_id, int device_id)
{
    for (size_t i = 0; i < sizeof(virtual_functions) / sizeof(*virtual_functions); i++)
        if (virtual_functions[i].vendor_id == vendor_id &&
            virtual_functions[i].device_id == device_id)
            return true;
    return false;
}

#include <math.h>
#include <stdio.h>

#include "reference/gpus.h"
#include "reference/links.h"
#include "topology/map_internal.h"

/* ---- nominal rates, one way ---- */

/* Transfers per second of a lane, by generation less one. */
static const double pcie_transfers_per_s[] = {2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};

#define PCIE_GENERATIONS ((int)(sizeof(pcie_transfers_per_s) / sizeof(*pcie_transfers_per_s)))

/* The generation of NVLink by the first compute capability that has it. */
static const struct nvlink_generation {
    int sm;
    int generation;
    double bytes_per_s; /* of one link, where it is not what the generation has elsewhere */
} nvlink_generations[] = {
    {60, 1, 0}, {70, 2, 0}, {80, 3, 0}, {86, 3, 14.0625e9}, {90, 4, 0}, {100, 5, 0},
};

/* Which chips with NVLink have which compute capability, by PCI device ids (pci.ids). */
static const struct chip {
    int device_low, device_high;
    int sm;
} chips[] = {
    {0x15f0, 0x15ff, 60},  /* GP100 */
    {0x1d80, 0x1dff, 70},  /* GV100 */
    {0x20b0, 0x20ff, 80},  /* GA100 */
    {0x2200, 0x223f, 86},  /* GA102 */
    {0x2300, 0x23ff, 90},  /* GH100 */
    {0x2900, 0x29ff, 100}, /* GB100, GB102 */
    {0x3180, 0x31ff, 103}, /* GB110 */
};

/* AMD's cards that may be joined by xGMI. */
static const struct chip xgmi_chips[] = {
    {0x66a0, 0x66af, 0}, /* MI50, MI60 */
    {0x7388, 0x738f, 0}, /* MI100 */
    {0x7400, 0x740f, 0}, /* MI200 */
    {0x74a0, 0x74bf, 0}, /* MI300 */
    {0x75a0, 0x75bf, 0}, /* MI350 */
};

/* What xGMI is called of in the table of links, by AMD's PCI device id (pci.ids). */
static const struct xgmi_generation {
    int device_id;
    const char *generation;
} xgmi_generations[] = {
    {0x7408, "MI250X"}, {0x740c, "MI250X"}, {0x74a1, "MI300X"}, {0x74b5, "MI300X"},
    {0x74a5, "MI325X"}, {0x75a0, "MI350X"}, {0x75a3, "MI355X"},
};

int cb_pcie_generation(double transfers_per_s)
{
    for (int i = 0; i < PCIE_GENERATIONS; i++)
        if (fabs(transfers_per_s - pcie_transfers_per_s[i]) < 1e6)
            return i + 1;
    return 0;
}

double cb_pcie_bytes_per_s(double transfers_per_s, int lanes)
{
    return fmax(cb_link_pcie_bytes_per_s(cb_pcie_generation(transfers_per_s), lanes), 0);
}

double cb_map_nvlink_bytes_per_s(int sm, int *generation)
{
    const struct nvlink_generation *row = NULL;
    for (size_t i = 0; i < sizeof(nvlink_generations) / sizeof(*nvlink_generations); i++)
        if (sm >= nvlink_generations[i].sm)
            row = &nvlink_generations[i];
    *generation = row ? row->generation : 0;
    if (!row)
        return 0;
    return row->bytes_per_s > 0 ? row->bytes_per_s : cb_link_nvlink_bytes_per_s(row->generation, 1);
}

int cb_map_sm_of_device(int device_id)
{
    for (size_t i = 0; i < sizeof(chips) / sizeof(*chips); i++)
        if (device_id >= chips[i].device_low && device_id <= chips[i].device_high)
            return chips[i].sm;
    return 0;
}

double cb_map_xgmi_bytes_per_s(int device_id)
{
    const struct cb_link_reference *link = NULL;
    for (size_t i = 0; i < sizeof(xgmi_generations) / sizeof(*xgmi_generations); i++)
        if (xgmi_generations[i].device_id == device_id)
            link = cb_link_reference_find(CB_LINK_XGMI, xgmi_generations[i].generation, 0);
    return link ? link->nominal_bytes_per_s / link->links : 0;
}

/* ---- PCIe links ---- */

static const struct cb_map_device *device_of(const struct cb_map *map, int index)
{
    return &map->devices.items[index];
}

static double stated_bytes_per_s(const struct cb_map_pcie *pcie)
{
    double rate = cb_pcie_bytes_per_s(pcie->transfers_per_s, pcie->lanes);
    return rate > 0 ? rate : pcie->bytes_per_s;
}

/* Generation 1 or 2. Where the source gives the rate alone, those are the ones that are a power of
 * two times one lane of generation 1; from 3 on the coding makes them odd. */
static bool is_old(const struct cb_map_pcie *pcie)
{
    if (pcie->transfers_per_s > 0)
        return pcie->transfers_per_s < 8e9;
    double lanes = pcie->bytes_per_s / cb_pcie_bytes_per_s(2.5e9, 1);
    double power = lanes > 0 ? exp2(round(log2(lanes))) : 0;
    return power > 0 && fabs(lanes / power - 1) < 1e-3;
}

static bool is_known(const struct cb_map_pcie *pcie)
{
    return pcie->transfers_per_s > 0 || pcie->bytes_per_s > 0;
}

/* A bridge of generation 1 or 2, or of one lane, above a faster device: a virtual machine's switch
 * with made-up registers, or a port that rests with the GPU below it. */
static void doubt_bridges_above(struct cb_map *map, int endpoint)
{
    const struct cb_map_pcie *below = &device_of(map, endpoint)->pcie;
    for (int i = device_of(map, endpoint)->parent; i >= 0; i = device_of(map, i)->parent) {
        struct cb_map_device *bridge = &map->devices.items[i];
        bool is_narrow = bridge->pcie.lanes == 1 && below->lanes > 1;
        if (bridge->kind == CB_DEVICE_PCI_BRIDGE && (is_narrow || is_old(&bridge->pcie)))
            bridge->is_rate_doubtful = true;
    }
}

void cb_map_doubt_rates(struct cb_map *map)
{
    for (size_t i = 0; i < map->devices.count; i++) {
        struct cb_map_device *device = &map->devices.items[i];
        bool is_endpoint = device->kind == CB_DEVICE_GPU || device->kind == CB_DEVICE_NIC;
        if (!is_endpoint || !is_known(&device->pcie))
            continue;
        if (!is_old(&device->pcie))
            doubt_bridges_above(map, (int)i);
        else if (device->kind == CB_DEVICE_GPU)
            device->is_rate_doubtful = true; /* no GPU of today is that slow but at rest */
    }
}

double cb_map_uplink_bytes_per_s(const struct cb_map *map, int device)
{
    const struct cb_map_device *asked = device_of(map, device);
    return asked->is_rate_doubtful ? 0 : stated_bytes_per_s(&asked->pcie);
}

/* ---- paths ---- */

static const struct cb_map_link *find_link(const struct cb_map *map, int a, int b)
{
    size_t low = 0, high = map->links.count;
    int first = a < b ? a : b, second = a < b ? b : a;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct cb_map_link *link = &map->links.items[middle];
        if (link->a < first || (link->a == first && link->b < second))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == map->links.count)
        return NULL;
    const struct cb_map_link *link = &map->links.items[low];
    return link->a == first && link->b == second ? link : NULL;
}

/* NVLink, C2C or xGMI between the two themselves: kinds are in the order of preference. */
static bool go_direct(const struct cb_map *map, int a, int b, struct cb_map_path *path)
{
    const struct cb_map_link *link = find_link(map, a, b);
    if (!link)
        return false;
    path->kind = link->kind;
    path->generation = link->generation;
    path->count = link->count;
    path->bytes_per_s_one_way = link->bytes_per_s_one_way;
    return true;
}

/* Every switch of a host is taken to reach every GPU there that has a link to one, as in all
 * machines that have switches; other hosts only share what is known to be one. The end with fewer
 * links limits. */
static bool go_over_switches(const struct cb_map *map, int a, int b, struct cb_map_path *path)
{
    const struct cb_map_device *one = device_of(map, a), *other = device_of(map, b);
    if (!one->switch_links || !other->switch_links)
        return false;
    bool is_one_switch = one->switch_index >= 0 && one->switch_index == other->switch_index;
    if (one->host != other->host && !is_one_switch)
        return false;
    bool known = one->switch_bytes_per_s > 0 && other->switch_bytes_per_s > 0;
    double rate = known ? fmin(one->switch_bytes_per_s, other->switch_bytes_per_s) : 0;
    if (path->count > 0 && path->bytes_per_s_one_way >= rate)
        return true; /* links of their own carry more */
    path->kind = CB_MAP_LINK_NVSWITCH;
    path->generation = one->switch_generation;
    path->count = one->switch_links < other->switch_links ? one->switch_links : other->switch_links;
    path->bytes_per_s_one_way = rate;
    path->via = one->switch_index == other->switch_index ? one->switch_index : -1;
    return true;
}

static bool go_as_stated(const struct cb_map_cell *cell, struct cb_map_path *path)
{
    if (!cell || cell->nvlinks <= 0)
        return false;
    path->kind = CB_MAP_LINK_NVLINK;
    path->count = cell->nvlinks;
    return true;
}

/* A stretch of the way: the narrowest one counts. */
static void cross(struct cb_map_path *path, int device, double bytes_per_s, int generation,
                  int count)
{
    if (path->bottleneck >= 0 && bytes_per_s >= path->bytes_per_s_one_way)
        return;
    path->bottleneck = device;
    path->bytes_per_s_one_way = bytes_per_s;
    path->generation = generation;
    path->count = count;
}

/* From a device up to where the ways meet (-1: to the CPU). A device whose own rate is unknown may
 * be slower than all that is known; a switch above it hardly is. */
static void climb(const struct cb_map *map, int from, int meeting, struct cb_map_path *path)
{
    for (int i = from; i >= 0 && i != meeting; i = device_of(map, i)->parent) {
        const struct cb_map_device *device = device_of(map, i);
        double rate = cb_map_uplink_bytes_per_s(map, i);
        if (rate > 0)
            cross(path, i, rate, cb_pcie_generation(device->pcie.transfers_per_s),
                  device->pcie.lanes);
        else if (i == from && device->kind != CB_DEVICE_NUMA)
            path->is_upper_bound = true;
    }
}

/* A GPU with C2C takes that to the CPU rather than its PCIe link; true when it did. */
static bool climb_c2c(const struct cb_map *map, int from, struct cb_map_path *path)
{
    const struct cb_map_device *device = device_of(map, from);
    if (device->cpu_bytes_per_s <= 0 || path->path_class < CB_CLASS_PHB)
        return false;
    cross(path, from, device->cpu_bytes_per_s, 0, 0);
    return true;
}

static void go_over_pcie(const struct cb_map *map, int a, int b, struct cb_map_path *path)
{
    int meeting = cb_map_find_meeting(map, a, b);
    path->is_upper_bound = path->path_class == CB_CLASS_SYS;
    bool a_c2c = climb_c2c(map, a, path);
    bool b_c2c = climb_c2c(map, b, path);
    path->kind = a_c2c && b_c2c ? CB_MAP_LINK_C2C : CB_MAP_LINK_PCIE;
    if (!a_c2c)
        climb(map, a, meeting, path);
    if (!b_c2c)
        climb(map, b, meeting, path);
}

bool cb_map_may_have_links(const struct cb_map *map, int gpu)
{
    const struct cb_map_device *device = device_of(map, gpu);
    if (device->vendor_id < 0 || device->device_id < 0)
        return true;
    const struct cb_gpu_reference *card =
        device->vendor_id == 0x10de ? cb_gpu_reference_find_device(device->device_id) : NULL;
    if (card && card->nvlinks == 0) /* the PCIe card of a chip that has them */
        return false;
    if (device->vendor_id == 0x10de)
        return cb_map_sm_of_device(device->device_id) > 0;
    for (size_t i = 0; i < sizeof(xgmi_chips) / sizeof(*xgmi_chips); i++)
        if (device->device_id >= xgmi_chips[i].device_low &&
            device->device_id <= xgmi_chips[i].device_high)
            return device->vendor_id == 0x1002;
    return false;
}

/* Two GPUs that may well have a link which the source does not show. */
static bool may_hide_link(const struct cb_map *map, int a, int b)
{
    const struct cb_map_device *one = device_of(map, a), *other = device_of(map, b);
    return map->hides_nvlink && one->kind == CB_DEVICE_GPU && other->kind == CB_DEVICE_GPU &&
           cb_map_may_have_links(map, a) && cb_map_may_have_links(map, b);
}

void cb_map_path(const struct cb_map *map, int a, int b, struct cb_map_path *path)
{
    *path =
        (struct cb_map_path){.path_class = cb_map_class(map, a, b), .bottleneck = -1, .via = -1};
    if (path->path_class == CB_CLASS_SELF)
        return;
    bool is_direct = go_direct(map, a, b, path);
    if (go_over_switches(map, a, b, path) || is_direct)
        return;
    if (go_as_stated(cb_map_find_cell(map, a, b), path))
        return;
    if (path->path_class != CB_CLASS_UNKNOWN && !may_hide_link(map, a, b))
        go_over_pcie(map, a, b, path);
}

const char *cb_map_path_name(const struct cb_map_path *path, char buffer[16])
{
    bool is_nvlink = path->kind == CB_MAP_LINK_NVLINK || path->kind == CB_MAP_LINK_NVSWITCH;
    if (is_nvlink && path->count > 0) {
        snprintf(buffer, 16, "NV%d", path->count);
        return buffer;
    }
    return path->path_class == CB_CLASS_UNKNOWN ? NULL : cb_path_class_name(path->path_class);
}

double cb_map_wire_bytes_per_s(const struct cb_map *map, int device, int nic, bool *by_pcie)
{
    struct cb_map_path path;
    double port = device_of(map, nic)->port_bytes_per_s;
    cb_map_path(map, device, nic, &path);
    *by_pcie = port > 0 && path.bottleneck >= 0 && path.bytes_per_s_one_way < port;
    return *by_pcie ? path.bytes_per_s_one_way : port;
}

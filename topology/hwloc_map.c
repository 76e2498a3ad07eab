/* From a loaded hwloc topology to the map: where hwloc's objects lie in it, and which are GPUs,
 * NICs and links between them. hwloc shows placement well; what it says of rates is taken with care
 * (topology/path.c). */
#include <hwloc.h>
#include <hwloc/distances.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "topology/map_internal.h"
#include "topology/map_read.h"

#if HWLOC_API_VERSION < 0x00020500
#error "hwloc 2.5 or newer is needed"
#endif

/* Where the objects of hwloc went. */
struct placed {
    hwloc_obj_t object;
    int device;
};

struct walk {
    hwloc_topology_t topology;
    struct cb_map_builder *builder;
    struct cb_error *err;
    hwloc_bitmap_t cpu_nodes; /* NUMA nodes with CPUs of their own */
    CB_VEC(struct placed) placed;
    bool has_gpu_software; /* some GPU has a handle of CUDA, NVML, OpenCL, ... */
};

static const char *info_of(hwloc_obj_t object, const char *name)
{
    const char *value = hwloc_obj_get_info_by_name(object, name);
    return value ? value : "";
}

static void copy_text(char *out, size_t size_bytes, const char *text)
{
    cb_map_clean(out, size_bytes, text, strlen(text));
}

/* ---- NUMA nodes ---- */

/* Nodes of memory alone have no CPUs, or show those of the node they lie beside (HBM, GPU memory):
 * a node counts when no earlier one has the same CPUs. */
static bool has_own_cpus(hwloc_topology_t topology, hwloc_obj_t node)
{
    if (!node->cpuset || hwloc_bitmap_iszero(node->cpuset))
        return false;
    hwloc_obj_t other = NULL;
    while ((other = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, other)) &&
           other != node)
        if (hwloc_bitmap_isequal(other->cpuset, node->cpuset))
            return false;
    return true;
}

/* A list of indices, cut after a whole range when it does not fit. */
static void write_list(hwloc_const_bitmap_t set, char *out, size_t size_bytes)
{
    if (hwloc_bitmap_list_snprintf(out, size_bytes, set) < (int)size_bytes)
        return;
    char *comma = strrchr(out, ',');
    *(comma ? comma : out) = '\0';
}

static int remember(struct walk *walk, hwloc_obj_t object, int device)
{
    struct placed *placed = device < 0 ? NULL : cb_vec_add(&walk->placed);
    if (device >= 0 && !placed)
        return cb_fail(walk->err, CB_E_MEMORY, "out of memory while drawing the map");
    if (placed)
        *placed = (struct placed){object, device};
    return device;
}

/* Adds a device for a set of nodes. */
static int add_locality(struct walk *walk, hwloc_const_bitmap_t nodes, hwloc_const_bitmap_t cpus)
{
    struct cb_map_device place = cb_map_device_blank(CB_DEVICE_NUMA);
    int count = hwloc_bitmap_weight(nodes);
    write_list(nodes, place.nodes, sizeof(place.nodes));
    write_list(cpus, place.cpus, sizeof(place.cpus));
    place.has_cpus = !hwloc_bitmap_iszero(cpus);
    place.numa = count == 1 ? hwloc_bitmap_first(nodes) : -1;
    place.is_whole = count > 1 && hwloc_bitmap_isequal(nodes, walk->cpu_nodes) &&
                     hwloc_get_nbobjs_by_type(walk->topology, HWLOC_OBJ_PACKAGE) > 1;
    snprintf(place.name, sizeof(place.name), "%s %s", "NUMA", count > 0 ? place.nodes : "?");
    return cb_map_builder_add(walk->builder, &place, walk->err);
}

static int add_numa_nodes(struct walk *walk)
{
    hwloc_obj_t node = NULL;
    hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
    int rc = nodes ? 0 : cb_fail(walk->err, CB_E_MEMORY, "out of memory while drawing the map");
    while (rc >= 0 &&
           (node = hwloc_get_next_obj_by_type(walk->topology, HWLOC_OBJ_NUMANODE, node))) {
        if (!has_own_cpus(walk->topology, node))
            continue;
        hwloc_bitmap_set(walk->cpu_nodes, node->os_index);
        hwloc_bitmap_only(nodes, node->os_index);
        rc = add_locality(walk, nodes, node->cpuset);
    }
    hwloc_bitmap_free(nodes);
    return rc < 0 ? rc : 0;
}

/* The device of the NUMA nodes that a normal object lies on; added when it is the first there. */
static int find_locality(struct walk *walk, hwloc_obj_t object)
{
    hwloc_bitmap_t nodes = hwloc_bitmap_dup(object->nodeset);
    if (!nodes)
        return cb_fail(walk->err, CB_E_MEMORY, "out of memory while drawing the map");
    char text[sizeof(((struct cb_map_device *)0)->nodes)];
    int found = -1;
    hwloc_bitmap_and(nodes, nodes, walk->cpu_nodes);
    write_list(nodes, text, sizeof(text));
    for (size_t i = 0; found < 0 && i < walk->builder->map.devices.count; i++) {
        const struct cb_map_device *device = &walk->builder->map.devices.items[i];
        if (device->kind == CB_DEVICE_NUMA && strcmp(device->nodes, text) == 0)
            found = (int)i;
    }
    if (found < 0)
        found = add_locality(walk, nodes, object->cpuset);
    hwloc_bitmap_free(nodes);
    return found;
}

/* ---- PCI devices ---- */

static bool is_handle(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* Names by which software takes hold of a GPU, the one to call it by first. */
static const char *const gpu_handles[] = {"cuda", "nvml", "rsmi", "ze", "opencl"};

#define GPU_HANDLES ((int)(sizeof(gpu_handles) / sizeof(*gpu_handles)))

/* How much a GPU would like to be called by an OS device's name: less is more, GPU_HANDLES: none.
 */
static int rank_gpu_name(hwloc_obj_t os_device)
{
    int rank = 0;
    while (rank < GPU_HANDLES && !is_handle(os_device->name, gpu_handles[rank]))
        rank++;
    return rank;
}

static bool is_rdma_name(hwloc_obj_t os_device)
{
    return os_device->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS;
}

static bool is_nic_name(hwloc_obj_t os_device)
{
    return os_device->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK || is_rdma_name(os_device);
}

/* Names of a device: the chosen one apart, the others joined by '/'. */
static void take_names(struct cb_map_device *device, hwloc_obj_t first, hwloc_obj_t chosen,
                       bool (*is_of_kind)(hwloc_obj_t))
{
    size_t used = 0;
    copy_text(device->name, sizeof(device->name), chosen->name);
    for (hwloc_obj_t other = first; other; other = other->next_sibling) {
        if (other == chosen || other->type != HWLOC_OBJ_OS_DEVICE || !is_of_kind(other))
            continue;
        int length = snprintf(device->partner + used, sizeof(device->partner) - used, "%s%s",
                              used ? "/" : "", other->name);
        if (length < 0 || used + (size_t)length >= sizeof(device->partner)) {
            device->partner[used] = '\0';
            return;
        }
        used += (size_t)length;
    }
}

static bool is_gpu_name(hwloc_obj_t os_device)
{
    return rank_gpu_name(os_device) < GPU_HANDLES;
}

/* The OS device among siblings that a GPU is called by; NULL when none is a GPU's. */
static hwloc_obj_t find_gpu_name(hwloc_obj_t first)
{
    hwloc_obj_t best = NULL;
    for (hwloc_obj_t os_device = first; os_device; os_device = os_device->next_sibling)
        if (os_device->type == HWLOC_OBJ_OS_DEVICE && os_device->name && is_gpu_name(os_device) &&
            (!best || rank_gpu_name(os_device) < rank_gpu_name(best)))
            best = os_device;
    return best;
}

/* The same for a NIC: the RDMA device before the network interface. */
static hwloc_obj_t find_nic_name(hwloc_obj_t first)
{
    hwloc_obj_t best = NULL;
    for (hwloc_obj_t os_device = first; os_device; os_device = os_device->next_sibling)
        if (os_device->type == HWLOC_OBJ_OS_DEVICE && os_device->name && is_nic_name(os_device) &&
            (!best || (is_rdma_name(os_device) && !is_rdma_name(best))))
            best = os_device;
    return best;
}

static const struct hwloc_pcidev_attr_s *pci_of(hwloc_obj_t object)
{
    return object->type == HWLOC_OBJ_BRIDGE ? &object->attr->bridge.upstream.pci
                                            : &object->attr->pcidev;
}

static void describe_pci(hwloc_obj_t object, struct cb_map_device *device)
{
    const struct hwloc_pcidev_attr_s *pci = pci_of(object);
    snprintf(device->bus_id, sizeof(device->bus_id), "%04x:%02x:%02x.%x", (unsigned)pci->domain,
             pci->bus, pci->dev, pci->func);
    bool has_ids = pci->vendor_id != 0; /* a tree copied without configuration space has none */
    device->vendor_id = has_ids ? pci->vendor_id : -1;
    device->device_id = has_ids ? pci->device_id : -1;
    device->subsystem_vendor_id = has_ids ? pci->subvendor_id : -1;
    device->subsystem_device_id = has_ids ? pci->subdevice_id : -1;
    device->pci_class = pci->class_id;
    if (isfinite(pci->linkspeed) && pci->linkspeed > 0)
        device->pcie.bytes_per_s = (double)pci->linkspeed * 1e9;
    copy_text(device->model, sizeof(device->model), info_of(object, "PCIDevice"));
}

/* Classes and vendors that are GPUs also where no software has a handle on them. A VGA controller
 * may be a management processor's, so that its vendor must be known. */
static bool has_gpu_ids(const struct cb_map_device *device)
{
    bool is_big_vendor = device->vendor_id == 0x10de || device->vendor_id == 0x1002;
    switch (device->pci_class) {
    case 0x0302:
        return true;
    case 0x0300:
        return is_big_vendor;
    case 0x0380:
    case 0x1200:
        return device->vendor_id == 0x1002 || device->vendor_id == 0x8086;
    default:
        return false;
    }
}

/* A GPU whose memory is a NUMA node of its own is named there. */
static bool has_numa_memory(hwloc_topology_t topology, const char *bus_id)
{
    hwloc_obj_t node = NULL;
    while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node))) {
        char its_bus_id[24];
        if (!node->subtype || strcmp(node->subtype, "GPUMemory") != 0)
            continue;
        cb_map_normalise_bus_id(its_bus_id, sizeof(its_bus_id), info_of(node, "PCIBusID"));
        if (strcmp(its_bus_id, bus_id) == 0)
            return true;
    }
    return false;
}

/* What a PCI device is to the map; CB_DEVICE_OTHER for what is not shown. */
static enum cb_device_kind kind_of(const struct walk *walk, hwloc_obj_t object)
{
    struct cb_map_device device = cb_map_device_blank(CB_DEVICE_OTHER);
    describe_pci(object, &device);
    if (find_gpu_name(object->io_first_child))
        return CB_DEVICE_GPU;
    if (find_nic_name(object->io_first_child))
        return CB_DEVICE_NIC;
    bool is_switch_id = device.vendor_id == 0x10de && device.pci_class == 0x0680;
    if (is_switch_id || (object->subtype && strcmp(object->subtype, "NVSwitch") == 0))
        return CB_DEVICE_NVSWITCH;
    bool may_be_gpu = !walk->has_gpu_software &&
                      (has_gpu_ids(&device) || has_numa_memory(walk->topology, device.bus_id));
    return may_be_gpu ? CB_DEVICE_GPU : CB_DEVICE_OTHER;
}

static bool is_wanted(const struct walk *walk, hwloc_obj_t object);

static bool has_wanted(const struct walk *walk, hwloc_obj_t object)
{
    for (hwloc_obj_t child = object->io_first_child; child; child = child->next_sibling)
        if (is_wanted(walk, child))
            return true;
    return false;
}

/* Whether an I/O object, or something below it, is shown. */
static bool is_wanted(const struct walk *walk, hwloc_obj_t object)
{
    if (object->type == HWLOC_OBJ_PCI_DEVICE)
        return kind_of(walk, object) != CB_DEVICE_OTHER;
    if (object->type == HWLOC_OBJ_OS_DEVICE)
        return object->name && (is_gpu_name(object) || is_nic_name(object));
    return object->type == HWLOC_OBJ_BRIDGE && has_wanted(walk, object);
}

/* 3 of "cuda3"; -1 of a name with more in it ("opencl0d3"). */
static int number_behind(const char *name)
{
    const char *digits = name + strcspn(name, "0123456789");
    char *end;
    long number = strtol(digits, &end, 10);
    return end == digits || *end || number > 65535 ? -1 : (int)number;
}

static void describe_gpu(hwloc_obj_t object, struct cb_map_device *gpu)
{
    hwloc_obj_t chosen = find_gpu_name(object->io_first_child);
    if (chosen) {
        take_names(gpu, object->io_first_child, chosen, is_gpu_name);
        const char *model = info_of(chosen, "GPUModel");
        if (*model)
            copy_text(gpu->model, sizeof(gpu->model), model);
        gpu->gpu_index = number_behind(chosen->name);
    } else {
        memcpy(gpu->name, gpu->bus_id, sizeof(gpu->bus_id));
    }
    gpu->sm = gpu->vendor_id == 0x10de ? cb_map_sm_of_device(gpu->device_id) : 0;
}

static void describe_nic(hwloc_obj_t object, hwloc_obj_t first, struct cb_map_device *nic)
{
    hwloc_obj_t chosen = find_nic_name(first);
    const char *state = info_of(chosen, "Port1State");
    take_names(nic, first, chosen, is_nic_name);
    nic->port = cb_map_port_kind(nic->name, nic->vendor_id, nic->device_id, nic->pci_class);
    nic->is_rdma = is_rdma_name(chosen) || cb_map_link_is_rdma(nic->port);
    if (nic->is_rdma && !cb_map_link_is_rdma(nic->port))
        nic->port = CB_MAP_LINK_RDMA;
    nic->is_virtual_function = cb_map_is_virtual_function(nic->vendor_id, nic->device_id);
    if (*state)
        nic->up = strcmp(state, "4") == 0 ? CB_UP_YES : CB_UP_NO;
    (void)object;
}

static int add_io(struct walk *walk, hwloc_obj_t object, int parent);

static int add_io_children(struct walk *walk, hwloc_obj_t object, int parent)
{
    int rc = 0;
    for (hwloc_obj_t child = object->io_first_child; rc >= 0 && child; child = child->next_sibling)
        rc = add_io(walk, child, parent);
    return rc;
}

static int add_bridge(struct walk *walk, hwloc_obj_t object, int parent)
{
    bool is_host = object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST;
    struct cb_map_device bridge =
        cb_map_device_blank(is_host ? CB_DEVICE_HOST_BRIDGE : CB_DEVICE_PCI_BRIDGE);
    bridge.parent = parent;
    if (is_host)
        snprintf(bridge.name, sizeof(bridge.name), "host bridge %04x:%02x",
                 (unsigned)object->attr->bridge.downstream.pci.domain,
                 object->attr->bridge.downstream.pci.secondary_bus);
    else {
        describe_pci(object, &bridge);
        memcpy(bridge.name, bridge.bus_id, sizeof(bridge.bus_id));
    }
    int index = cb_map_builder_add(walk->builder, &bridge, walk->err);
    return index < 0 ? index : add_io_children(walk, object, index);
}

static int add_pci_device(struct walk *walk, hwloc_obj_t object, int parent)
{
    struct cb_map_device device = cb_map_device_blank(kind_of(walk, object));
    device.parent = parent;
    describe_pci(object, &device);
    if (device.kind == CB_DEVICE_GPU)
        describe_gpu(object, &device);
    else if (device.kind == CB_DEVICE_NIC)
        describe_nic(object, object->io_first_child, &device);
    else
        snprintf(device.name, sizeof(device.name), "NVSwitch %s", device.bus_id);
    return remember(walk, object, cb_map_builder_add(walk->builder, &device, walk->err));
}

/* An OS device with no PCI device around it: the source hides the tree, so its place is unknown. */
static int add_placeless(struct walk *walk, hwloc_obj_t object)
{
    bool is_gpu = is_gpu_name(object);
    struct cb_map_device device = cb_map_device_blank(is_gpu ? CB_DEVICE_GPU : CB_DEVICE_NIC);
    copy_text(device.name, sizeof(device.name), object->name);
    if (is_gpu)
        copy_text(device.model, sizeof(device.model), info_of(object, "GPUModel"));
    else {
        device.port = cb_map_port_kind(device.name, -1, -1, -1);
        device.is_rdma = is_rdma_name(object) || cb_map_link_is_rdma(device.port);
    }
    return remember(walk, object, cb_map_builder_add(walk->builder, &device, walk->err));
}

static int add_io(struct walk *walk, hwloc_obj_t object, int parent)
{
    if (!is_wanted(walk, object))
        return 0;
    if (object->type == HWLOC_OBJ_OS_DEVICE)
        return add_placeless(walk, object);
    if (object->type == HWLOC_OBJ_BRIDGE)
        return add_bridge(walk, object, parent);
    return add_pci_device(walk, object, parent);
}

/* Normal objects, from the machine down to where devices hang. */
static int add_below(struct walk *walk, hwloc_obj_t object)
{
    int rc = 0;
    if (has_wanted(walk, object)) {
        int place = find_locality(walk, object);
        rc = place < 0 ? place : add_io_children(walk, object, place);
    }
    for (hwloc_obj_t child = object->first_child; rc >= 0 && child; child = child->next_sibling)
        rc = add_below(walk, child);
    return rc;
}

/* ---- matrices of links ---- */

static int find_placed(struct walk *walk, hwloc_obj_t object)
{
    if (object->type == HWLOC_OBJ_PACKAGE || object->type == HWLOC_OBJ_NUMANODE)
        return find_locality(walk, object);
    for (; object; object = object->parent)
        for (size_t i = 0; i < walk->placed.count; i++)
            if (walk->placed.items[i].object == object)
                return walk->placed.items[i].device;
    return -1;
}

/* How many links carry a rate; 0 when that is no whole number of what one carries. */
static int count_links(double bytes_per_s, double each)
{
    double count = each > 0 ? bytes_per_s / each : 0;
    double whole = round(count);
    return whole >= 1 && whole < 1000 && fabs(count - whole) < 0.02 ? (int)whole : 0;
}

static int add_link(struct walk *walk, int a, int b, enum cb_map_link_kind kind, double mb_per_s)
{
    const struct cb_map_device *devices = walk->builder->map.devices.items;
    const struct cb_map_device *gpu = devices[a].kind == CB_DEVICE_GPU ? &devices[a] : &devices[b];
    struct cb_map_link link = {.a = a, .b = b, .kind = kind, .bytes_per_s_one_way = mb_per_s * 1e6};
    double each = kind == CB_MAP_LINK_XGMI ? cb_map_xgmi_bytes_per_s(gpu->device_id)
                                           : cb_map_nvlink_bytes_per_s(gpu->sm, &link.generation);
    link.count = count_links(link.bytes_per_s_one_way, each);
    return cb_map_builder_link(walk->builder, &link, walk->err);
}

/* Values are of one direction, MB/s, all links of the pair together; the diagonal says nothing. */
static int add_matrix(struct walk *walk, const struct hwloc_distances_s *matrix,
                      enum cb_map_link_kind kind)
{
    int rc = 0;
    unsigned count = matrix->nbobjs;
    int *devices = calloc(count ? count : 1, sizeof(*devices));
    if (!devices)
        return cb_fail(walk->err, CB_E_MEMORY, "out of memory while drawing the map");
    for (unsigned i = 0; i < count; i++)
        devices[i] = matrix->objs[i] ? find_placed(walk, matrix->objs[i]) : -1;
    for (unsigned i = 0; !rc && i < count; i++)
        for (unsigned j = i + 1; !rc && j < count; j++) {
            double there = (double)matrix->values[(size_t)i * count + j];
            double back = (double)matrix->values[(size_t)j * count + i];
            double rate = fmax(there, back);
            if (devices[i] < 0 || devices[j] < 0 || devices[i] == devices[j] || rate <= 0 ||
                rate >= 1e9)
                continue;
            rc = add_link(walk, devices[i], devices[j], kind, rate);
        }
    free(devices);
    return rc;
}

static int add_matrices(struct walk *walk, const char *name, enum cb_map_link_kind kind)
{
    struct hwloc_distances_s *matrix = NULL;
    unsigned count = 1;
    if (hwloc_distances_get_by_name(walk->topology, name, &count, &matrix, 0) != 0 || count == 0 ||
        !matrix)
        return 0;
    walk->builder->map.hides_nvlink = false;
    int rc = add_matrix(walk, matrix, kind);
    hwloc_distances_release(walk->topology, matrix);
    return rc;
}

/* ---- all of it ---- */

static bool find_gpu_software(hwloc_topology_t topology)
{
    hwloc_obj_t os_device = NULL;
    while ((os_device = hwloc_get_next_osdev(topology, os_device)))
        if (os_device->name && is_gpu_name(os_device) && os_device->parent &&
            os_device->parent->type == HWLOC_OBJ_PCI_DEVICE)
            return true;
    return false;
}

static int add_all(struct walk *walk)
{
    hwloc_obj_t root = hwloc_get_root_obj(walk->topology);
    const char *host = info_of(root, "HostName");
    copy_text(walk->builder->map.name, sizeof(walk->builder->map.name), host);
    int rc = add_numa_nodes(walk);
    if (rc >= 0)
        rc = add_below(walk, root);
    walk->builder->map.hides_nvlink = true;
    if (rc >= 0)
        rc = add_matrices(walk, "NVLinkBandwidth", CB_MAP_LINK_NVLINK);
    if (rc >= 0)
        rc = add_matrices(walk, "XGMIBandwidth", CB_MAP_LINK_XGMI);
    return rc < 0 ? rc : 0;
}

int cb_map_add_hwloc(struct hwloc_topology *topology, struct cb_map_builder *builder,
                     struct cb_error *err)
{
    struct walk walk = {.topology = topology, .builder = builder, .err = err};
    walk.cpu_nodes = hwloc_bitmap_alloc();
    if (!walk.cpu_nodes)
        return cb_fail(err, CB_E_MEMORY, "out of memory while drawing the map");
    /* A live machine may hold GPUs that no software of hwloc's sees, next to one that it does. */
    walk.has_gpu_software = builder->map.source != CB_MAP_LIVE && find_gpu_software(topology);
    int rc = add_all(&walk);
    hwloc_bitmap_free(walk.cpu_nodes);
    cb_vec_fini(&walk.placed);
    return rc;
}

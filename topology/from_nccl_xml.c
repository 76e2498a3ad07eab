/* NCCL's topology: what it dumps (NCCL_TOPO_DUMP_FILE) and what clouds hand it (NCCL_TOPO_FILE).
 *
 *     <system> <cpu numaid affinity> <pci busid class ...>... <gpu dev sm> <nvlink target count/>
 *                                                            <nic> <net name speed/>
 *
 * A bridge is known by what lies in it, a GPU or NIC by the element in it, or else by its class;
 * every attribute may be missing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/gpus.h"
#include "topology/map_internal.h"
#include "topology/map_read.h"
#include "topology/nccl_links.h"
#include "topology/xml.h"

#define MAX_HOSTS 256

static const struct cb_error no_memory = {.code = CB_E_MEMORY, .what = "no memory for the map"};

enum element { ELEMENT_OTHER, ELEMENT_SYSTEM, ELEMENT_CPU, ELEMENT_PCI, ELEMENT_GPU, ELEMENT_NIC };

/* An open element. */
struct frame {
    enum element element;
    int device;               /* of the map; -1: not added yet, or never */
    bool is_half;             /* merged with the switch above */
    bool has_endpoint;        /* a GPU or NIC was found in it */
    struct cb_map_device pci; /* what a <pci> says of itself */
};

struct reader {
    struct cb_map_builder builder;
    struct frame frames[CB_XML_DEPTH_MAX + 1];
    int top; /* open elements */
    struct cb_nccl_links links;
    CB_VEC(int) unsure; /* devices that only their class made GPUs and NICs */
    char hosts[MAX_HOSTS][24];
    int host_count;
    int numbered_gpus;           /* GPUs that the file gives no number */
    bool names_gpus, names_nics; /* there are <gpu>, <nic>: classes alone make none */
};

/* ---- attributes ---- */

static const char *text_of(const char *const *attributes, const char *name)
{
    const char *text = cb_xml_attribute(attributes, name);
    return text ? text : "";
}

static int id_of(const char *const *attributes, const char *name)
{
    return (int)cb_xml_integer(attributes, name, 0, 0xffff, -1);
}

/* "16.0 GT/s PCIe" in transfers per second; 0 for what is no rate of PCIe ("", "Unknown"). */
static double transfers_of(const char *const *attributes)
{
    double rate = strtod(text_of(attributes, "link_speed"), NULL) * 1e9;
    return cb_pcie_generation(rate) ? rate : 0;
}

#define MASK_GROUPS_MAX 256

/* "ffff,0000ffff": groups of 32 bits, highest first; a group may lack digits. Fills words, lowest
 * first, and returns how many there are; 0 for none, or too many. */
static size_t read_mask(const char *mask, uint32_t words[MASK_GROUPS_MAX])
{
    size_t groups = 1;
    for (const char *c = mask; *c; c++)
        groups += *c == ',';
    if (!*mask || groups > MASK_GROUPS_MAX)
        return 0;
    for (size_t i = groups; i-- > 0;) {
        words[i] = (uint32_t)strtoul(mask, NULL, 16);
        mask += strcspn(mask, ",");
        mask += *mask == ',';
    }
    return groups;
}

static bool has_bit(const uint32_t *words, size_t bits, size_t bit)
{
    return bit < bits && (words[bit / 32] >> bit % 32 & 1);
}

/* The bits of a mask as a list, "0-15,32-47", cut after a whole range when it does not fit. */
static void list_mask(const char *mask, char *out, size_t size_bytes)
{
    uint32_t words[MASK_GROUPS_MAX];
    size_t bits = 32 * read_mask(mask, words), used = 0;
    out[0] = '\0';
    for (size_t bit = 0, last; bit < bits; bit = last + 1) {
        char range[48];
        last = bit;
        if (!has_bit(words, bits, bit))
            continue;
        while (has_bit(words, bits, last + 1))
            last++;
        int length = snprintf(range, sizeof(range), last > bit ? "%s%zu-%zu" : "%s%zu",
                              used ? "," : "", bit, last);
        if (used + (size_t)length >= size_bytes)
            return;
        memcpy(out + used, range, (size_t)length + 1);
        used += (size_t)length;
    }
}

/* ---- devices ---- */

/* Adds a device to the map; -1 and the walk ended when that fails. */
static int add(struct cb_xml *xml, struct reader *r, const struct cb_map_device *device)
{
    struct cb_error err = {0};
    int index = cb_map_builder_add(&r->builder, device, &err);
    if (index >= 0)
        return index;
    cb_xml_pass_on(xml, &err);
    return -1;
}

/* Remembers a device in a list of the reader's. */
#define REMEMBER(xml, list, index)                                                                 \
    do {                                                                                           \
        int *slot = cb_vec_add(list);                                                              \
        if (slot)                                                                                  \
            *slot = (index);                                                                       \
        else                                                                                       \
            cb_xml_pass_on(xml, &no_memory);                                                       \
    } while (0)

static struct frame *innermost(struct reader *r)
{
    return r->top > 0 ? &r->frames[r->top - 1] : NULL;
}

/* The nearest open element of that kind; NULL when there is none. */
static struct frame *find_open(struct reader *r, enum element element)
{
    for (int i = r->top; i-- > 0;)
        if (r->frames[i].element == element)
            return &r->frames[i];
    return NULL;
}

/* The number of a host by its hash; a file of one host may have none. */
static int number_host(struct reader *r, const char *hash)
{
    char clean[24];
    cb_map_clean(clean, sizeof(clean), hash, strlen(hash));
    for (int i = 0; i < r->host_count; i++)
        if (strcmp(r->hosts[i], clean) == 0)
            return i;
    if (r->host_count == MAX_HOSTS)
        return MAX_HOSTS - 1;
    memcpy(r->hosts[r->host_count], clean, sizeof(clean));
    return r->host_count++;
}

static void open_cpu(struct cb_xml *xml, struct reader *r, struct frame *frame,
                     const char *const *attributes)
{
    struct cb_map_device cpu = cb_map_device_blank(CB_DEVICE_NUMA);
    cpu.host = number_host(r, text_of(attributes, "host_hash"));
    cpu.numa = (int)cb_xml_integer(attributes, "numaid", 0, 65535, -1);
    cpu.has_cpus = true;
    if (cpu.numa >= 0) {
        snprintf(cpu.nodes, sizeof(cpu.nodes), "%d", cpu.numa);
        snprintf(cpu.name, sizeof(cpu.name), "NUMA %d", cpu.numa);
    } else {
        snprintf(cpu.name, sizeof(cpu.name), "CPU");
    }
    snprintf(cpu.model, sizeof(cpu.model), "%s %s", text_of(attributes, "arch"),
             text_of(attributes, "vendor"));
    list_mask(text_of(attributes, "affinity"), cpu.cpus, sizeof(cpu.cpus));
    frame->device = add(xml, r, &cpu);
}

/* A <pci> that holds another is a bridge; the lower half of a switch becomes the upper one. */
static void become_bridge(struct cb_xml *xml, struct reader *r, struct frame *frame)
{
    if (frame->device >= 0)
        return;
    struct frame *above = frame > r->frames ? frame - 1 : NULL;
    frame->pci.kind = CB_DEVICE_PCI_BRIDGE;
    memcpy(frame->pci.name, frame->pci.bus_id, sizeof(frame->pci.bus_id));
    if (above && above->element == ELEMENT_PCI && !above->is_half && above->device >= 0 &&
        cb_map_is_one_switch(&above->pci, &frame->pci)) {
        frame->device = above->device;
        frame->is_half = true;
        return;
    }
    frame->device = add(xml, r, &frame->pci);
}

static void open_pci(struct cb_xml *xml, struct reader *r, struct frame *frame,
                     const char *const *attributes)
{
    struct cb_map_device *pci = &frame->pci;
    struct frame *above = frame > r->frames ? frame - 1 : NULL;
    if (above && above->element == ELEMENT_PCI)
        become_bridge(xml, r, above);
    *pci = cb_map_device_blank(CB_DEVICE_OTHER);
    snprintf(pci->bus_id, sizeof(pci->bus_id), "%s", text_of(attributes, "busid"));
    pci->parent = above ? above->device : -1;
    pci->host = pci->parent >= 0 ? r->builder.map.devices.items[pci->parent].host : 0;
    pci->vendor_id = id_of(attributes, "vendor");
    pci->device_id = id_of(attributes, "device");
    pci->subsystem_vendor_id = id_of(attributes, "subsystem_vendor");
    pci->subsystem_device_id = id_of(attributes, "subsystem_device");
    long pci_class = cb_xml_integer(attributes, "class", 0, 0xffffff, -1);
    pci->pci_class = pci_class < 0 ? -1 : (int)(pci_class >> 8);
    pci->pcie.transfers_per_s = transfers_of(attributes);
    pci->pcie.lanes = (int)cb_xml_integer(attributes, "link_width", 1, 32, 0);
}

/* The <pci> around a <gpu> or <nic>, or what stands for one below a <cpu>. */
static struct cb_map_device describe_endpoint(struct reader *r, enum cb_device_kind kind)
{
    struct frame *pci = find_open(r, ELEMENT_PCI), *cpu = find_open(r, ELEMENT_CPU);
    struct cb_map_device device = cb_map_device_blank(kind);
    if (pci) {
        device = pci->pci;
        device.kind = kind;
        pci->has_endpoint = true;
    } else if (cpu) {
        device.parent = cpu->device;
        device.host = cpu->device >= 0 ? r->builder.map.devices.items[cpu->device].host : 0;
    }
    return device;
}

/* What the PCI id of NVIDIA's says where the file does not. */
static void describe_gpu(struct cb_map_device *gpu)
{
    if (gpu->vendor_id != 0x10de)
        return;
    const struct cb_gpu_reference *reference = cb_gpu_reference_find_device(gpu->device_id);
    if (reference)
        snprintf(gpu->model, sizeof(gpu->model), "%s", reference->name);
    if (gpu->sm == 0)
        gpu->sm = cb_map_sm_of_device(gpu->device_id);
}

static void add_gpu(struct cb_xml *xml, struct reader *r, struct cb_map_device *gpu, int *index)
{
    *index = -1;
    if (r->links.gpus.count >= CB_MAP_GPUS_MAX) {
        cb_xml_fail(xml, "more than %d GPUs: no machine has that many", CB_MAP_GPUS_MAX);
        return;
    }
    describe_gpu(gpu);
    *index = add(xml, r, gpu);
    if (*index >= 0)
        REMEMBER(xml, &r->links.gpus, *index);
}

static void name_by_order(struct reader *r, struct cb_map_device *gpu)
{
    snprintf(gpu->name, sizeof(gpu->name), "#%d", r->numbered_gpus);
    gpu->gpu_index = r->numbered_gpus++;
}

static void open_gpu(struct cb_xml *xml, struct reader *r, struct frame *frame,
                     const char *const *attributes)
{
    struct cb_map_device gpu = describe_endpoint(r, CB_DEVICE_GPU);
    bool is_amd = gpu.vendor_id == 0x1002 || cb_xml_attribute(attributes, "gcn");
    gpu.gpu_index = (int)cb_xml_integer(attributes, "dev", 0, 65535, -1);
    gpu.gdr = (int)cb_xml_integer(attributes, "gdr", 0, 1, -1);
    if (!is_amd) /* RCCL counts multiprocessors there */
        gpu.sm = (int)cb_xml_integer(attributes, "sm", 10, 999, 0);
    if (gpu.gpu_index >= 0)
        snprintf(gpu.name, sizeof(gpu.name), "dev%d", gpu.gpu_index);
    else
        name_by_order(r, &gpu);
    r->names_gpus = true;
    add_gpu(xml, r, &gpu, &frame->device);
}

/* A port of up to 1.6 Tb/s; more is a slip of the unit, and nothing says which. */
static double believable_bits(double bits_per_s)
{
    return bits_per_s > 0 && bits_per_s <= 1.6e12 ? bits_per_s : 0;
}

static int add_net(struct cb_xml *xml, struct reader *r, const char *const *attributes)
{
    struct cb_map_device nic = describe_endpoint(r, CB_DEVICE_NIC);
    snprintf(nic.name, sizeof(nic.name), "%s", text_of(attributes, "name"));
    if (!nic.name[0])
        memcpy(nic.name, nic.bus_id, sizeof(nic.bus_id));
    nic.port = cb_map_port_kind(nic.name, nic.vendor_id, nic.device_id, nic.pci_class);
    nic.is_rdma = cb_map_link_is_rdma(nic.port);
    nic.is_virtual_function = cb_map_is_virtual_function(nic.vendor_id, nic.device_id);
    nic.gdr = (int)cb_xml_integer(attributes, "gdr", 0, 1, -1);
    double mbit_per_s = strtod(text_of(attributes, "speed"), NULL);
    nic.stated_bits_per_s = isfinite(mbit_per_s) && mbit_per_s > 0 ? mbit_per_s * 1e6 : 0;
    nic.port_bytes_per_s = believable_bits(nic.stated_bits_per_s) / 8;
    return add(xml, r, &nic);
}

/* A <nic> without a <net>, or a <pci> that only its class tells. */
static int add_unnamed_nic(struct cb_xml *xml, struct reader *r)
{
    static const char *const nothing[] = {NULL};
    return add_net(xml, r, nothing);
}

/* A <pci> with no element in it that says what it is. */
static void close_pci(struct cb_xml *xml, struct reader *r, struct frame *frame)
{
    struct cb_map_device device = frame->pci;
    int index;
    if (frame->device >= 0 || frame->has_endpoint)
        return;
    if (device.pci_class >> 8 == 0x02) {
        index = add_unnamed_nic(xml, r);
    } else if (device.pci_class >> 8 == 0x03 || device.pci_class >> 8 == 0x12) {
        device.kind = CB_DEVICE_GPU;
        name_by_order(r, &device);
        add_gpu(xml, r, &device, &index);
    } else {
        memcpy(device.name, device.bus_id, sizeof(device.bus_id));
        add(xml, r, &device);
        return;
    }
    if (index >= 0)
        REMEMBER(xml, &r->unsure, index);
}

/* ---- links ---- */

static void note_target(struct cb_xml *xml, struct reader *r, enum cb_map_link_kind kind,
                        const char *const *attributes)
{
    struct frame *gpu = find_open(r, ELEMENT_GPU);
    struct cb_error err = {0};
    if (!gpu || gpu->device < 0)
        return;
    if (cb_nccl_links_note(&r->links, gpu->device, kind, attributes, &err) != 0)
        cb_xml_pass_on(xml, &err);
}

static void add_c2c(struct cb_xml *xml, struct reader *r, const char *const *attributes)
{
    struct frame *gpu = find_open(r, ELEMENT_GPU), *cpu = find_open(r, ELEMENT_CPU);
    struct cb_error err = {0};
    if (!gpu || gpu->device < 0 || !cpu || cpu->device < 0)
        return;
    struct cb_map_link link = {.a = cpu->device, .b = gpu->device, .kind = CB_MAP_LINK_C2C};
    link.count = (int)cb_xml_integer(attributes, "count", 1, 1000, 0);
    link.bytes_per_s_one_way =
        1e6 * (double)cb_xml_integer(attributes, "bw", 1, 10000000, 0) * link.count;
    if (cb_map_builder_link(&r->builder, &link, &err) != 0)
        cb_xml_pass_on(xml, &err);
}

/* ---- the walk ---- */

static enum element element_of(const char *name)
{
    static const struct {
        const char *name;
        enum element element;
    } elements[] = {{"system", ELEMENT_SYSTEM},
                    {"cpu", ELEMENT_CPU},
                    {"pci", ELEMENT_PCI},
                    {"gpu", ELEMENT_GPU},
                    {"nic", ELEMENT_NIC}};
    for (size_t i = 0; i < sizeof(elements) / sizeof(*elements); i++)
        if (strcmp(elements[i].name, name) == 0)
            return elements[i].element;
    return ELEMENT_OTHER;
}

static void check_root(struct cb_xml *xml, const char *element)
{
    char clean[32];
    cb_map_clean(clean, sizeof(clean), element, strlen(element));
    if (strcmp(element, "graphs") == 0)
        cb_xml_fail(xml, "a graph that NCCL chose (NCCL_GRAPH_DUMP_FILE), not the machine: "
                         "it needs what NCCL_TOPO_DUMP_FILE writes");
    else if (strcmp(element, "system") != 0)
        cb_xml_fail(xml, "begins with <%s>: NCCL's topology begins with <system>", clean);
}

static void on_start(struct cb_xml *xml, void *user, const char *element,
                     const char *const *attributes)
{
    struct reader *r = user;
    if (cb_xml_depth(xml) == 0)
        check_root(xml, element);
    struct frame *frame = &r->frames[r->top++];
    *frame = (struct frame){.element = element_of(element), .device = -1};
    if (frame->element == ELEMENT_CPU)
        open_cpu(xml, r, frame, attributes);
    else if (frame->element == ELEMENT_PCI)
        open_pci(xml, r, frame, attributes);
    else if (frame->element == ELEMENT_GPU)
        open_gpu(xml, r, frame, attributes);
    else if (frame->element == ELEMENT_NIC)
        r->names_nics = true;
    else if (strcmp(element, "net") == 0) {
        struct frame *nic = find_open(r, ELEMENT_NIC);
        if (nic)
            nic->has_endpoint = true;
        add_net(xml, r, attributes);
    } else if (strcmp(element, "nvlink") == 0)
        note_target(xml, r, CB_MAP_LINK_NVLINK, attributes);
    else if (strcmp(element, "xgmi") == 0)
        note_target(xml, r, CB_MAP_LINK_XGMI, attributes);
    else if (strcmp(element, "c2c") == 0)
        add_c2c(xml, r, attributes);
}

static void on_end(struct cb_xml *xml, void *user, const char *element)
{
    struct reader *r = user;
    struct frame *frame = innermost(r);
    (void)element;
    if (frame->element == ELEMENT_PCI)
        close_pci(xml, r, frame);
    else if (frame->element == ELEMENT_NIC && !frame->has_endpoint)
        add_unnamed_nic(xml, r);
    r->top--;
}

/* ---- after the walk ---- */

/* A file that has elements for what NCCL uses leaves out the rest: a management processor's screen,
 * a NIC of no plugin. */
static void settle_unsure(struct reader *r)
{
    for (size_t i = 0; i < r->unsure.count; i++) {
        struct cb_map_device *device = &r->builder.map.devices.items[r->unsure.items[i]];
        bool is_gpu = device->kind == CB_DEVICE_GPU;
        if (is_gpu ? !r->names_gpus : !r->names_nics)
            continue;
        device->kind = CB_DEVICE_OTHER;
        memcpy(device->name, device->bus_id, sizeof(device->bus_id));
    }
}

int cb_map_from_nccl_xml(const char *name, const char *text, size_t length_bytes,
                         struct cb_map *map, struct cb_error *err)
{
    static const struct cb_xml_events events = {.start = on_start, .end = on_end};
    struct reader *r = calloc(1, sizeof(*r));
    if (!r)
        return cb_fail(err, CB_E_MEMORY, "no memory to read %s", name);
    cb_map_builder_init(&r->builder, CB_MAP_FROM_NCCL);
    int rc = cb_xml_read(name, text, length_bytes, &events, r, err);
    if (!rc) {
        settle_unsure(r);
        /* NCCL fills links in by itself where a file of a cloud's has no <gpu> to hold them. */
        r->builder.map.hides_nvlink = !r->names_gpus;
        rc = cb_nccl_links_add(&r->links, &r->builder, err);
    }
    if (!rc)
        rc = cb_map_builder_finish(&r->builder, map, err);
    cb_map_builder_fini(&r->builder);
    cb_nccl_links_fini(&r->links);
    cb_vec_fini(&r->unsure);
    free(r);
    return rc;
}

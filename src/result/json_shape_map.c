#include "result/json_fields.h"

NAMES(severity, "severity", CB_SEVERITY_COUNT);
NAMES(op, "op", CB_OP_COUNT);
NAMES(scope, "scope", CB_SCOPE_COUNT);

static const struct cb_json_field pcie_fields[] = {
    FIELD(facts_pcie, generation, "generation", NEGATIVE),
    FIELD(facts_pcie, width, "width", NEGATIVE),
    FIELD(facts_pcie, generation_limit, "generation_limit", NEGATIVE),
    FIELD(facts_pcie, width_limit, "width_limit", NEGATIVE),
    FIELD(facts_pcie, card_generation_limit, "card_generation_limit", NEGATIVE),
    FIELD(facts_pcie, loaded, "loaded", 0),
};
static const struct cb_json_shape pcie_shape = SHAPE(pcie_fields, facts_pcie, true);

static const struct cb_json_field gpu_fields[] = {
    FIELD(facts_gpu, index, "index", NEGATIVE),
    FIELD(facts_gpu, name, "name", ZERO),
    FIELD(facts_gpu, bus_id, "bus_id", ZERO),
    FIELD(facts_gpu, numa, "numa", NEGATIVE),
    FIELD(facts_gpu, socket, "socket", NEGATIVE),
    FIELD(facts_gpu, compute_capability, "compute_capability", NEGATIVE),
    FIELD(facts_gpu, mig, "mig", NEGATIVE),
    INNER(facts_gpu, pcie, "pcie", 0, pcie_shape),
    FIELD(facts_gpu, nvlinks, "nvlinks", NEGATIVE),
    FIELD(facts_gpu, nvlink_slots, "nvlink_slots", NEGATIVE),
    FIELD(facts_gpu, nvlink_switch, "nvlinks_to_switches", NEGATIVE),
    FIELD(facts_gpu, nvlink_version, "nvlink_version", NEGATIVE),
    FIELD(facts_gpu, nvlink_bytes_per_s, "nvlink_bytes_per_s_one_way", ZERO),
    FIELD(facts_gpu, fabric, "fabric_state", NEGATIVE),
    FIELD(facts_gpu, fabric_unhealthy, "fabric_unhealthy", NEGATIVE),
};
static const struct cb_json_shape gpu_shape = SHAPE(gpu_fields, facts_gpu, true);

static const struct cb_json_field nic_fields[] = {
    FIELD(facts_nic, port.name, "name", ALWAYS),
    FIELD(facts_nic, port.kind, "kind", ZERO),
    FIELD(facts_nic, bus_id, "bus_id", ZERO),
    FIELD(facts_nic, port.numa, "numa", NEGATIVE),
    FIELD(facts_nic, socket, "socket", NEGATIVE),
    FIELD(facts_nic, port.driver, "driver", ZERO),
    FIELD(facts_nic, port.partner, "partner", ZERO),
    FIELD(facts_nic, bond, "bond", ZERO),
    FIELD(facts_nic, state, "state", ZERO),
    FIELD(facts_nic, port.up, "up", 0),
    FIELD(facts_nic, port.used, "used", 0),
    FIELD(facts_nic, port.virtual_function, "virtual_function", 0),
    FIELD(facts_nic, port.nominal_bytes_per_s, "nominal_bytes_per_s", ZERO),
    FIELD(facts_nic, port.stated_bytes_per_s, "stated_bytes_per_s", ZERO),
    FIELD(facts_nic, port.mtu_bytes, "mtu_bytes", ZERO),
    FIELD(facts_nic, roce_v1, "roce_v1", NEGATIVE),
    FIELD(facts_nic, roce_v2, "roce_v2", NEGATIVE),
    INNER(facts_nic, pcie, "pcie", 0, pcie_shape),
};
static const struct cb_json_shape nic_shape = SHAPE(nic_fields, facts_nic, true);

static const struct cb_json_field link_fields[] = {
    FIELD(facts_link, a, "a", ALWAYS),
    FIELD(facts_link, b, "b", ALWAYS),
    FIELD(facts_link, kind, "kind", ZERO),
    FIELD(facts_link, path, "path", ZERO),
    FIELD(facts_link, nvlinks, "nvlinks", 0),
    FIELD(facts_link, peer_access, "peer_access", NEGATIVE),
    FIELD(facts_link, bytes_per_s_one_way, "bytes_per_s_one_way", ZERO),
};
static const struct cb_json_shape link_shape = SHAPE(link_fields, facts_link, true);

static const struct cb_json_field node_fields[] = {
    FIELD(facts, virtualization, "virtualization", ZERO),
    FIELD(facts, container, "container", ZERO),
    FIELD(facts, pci_devices, "pci_devices", NEGATIVE),
    FIELD(facts, pci_locality, "pci_locality", NEGATIVE),
    FIELD(facts, sockets, "sockets", ZERO),
    FIELD(facts, numa_nodes, "numa_nodes", ZERO),
    FIELD(facts, cores, "cores", ZERO),
    FIELD(facts, cpus, "cpus", ZERO),
    FIELD(facts, allowed_cpus, "allowed_cpus", ZERO),
    FIELD(facts, cpu_limit, "cpu_limit", ZERO),
    FIELD(facts, iommu, "iommu", NEGATIVE),
    FIELD(facts, acs_bridges, "acs_bridges", NEGATIVE),
    FIELD(facts, acs_bridge, "acs_bridge", ZERO),
    FIELD(facts, peermem, "peermem", NEGATIVE),
    FIELD(facts, dmabuf, "dmabuf", NEGATIVE),
    FIELD(facts, fabric_manager, "fabric_manager", NEGATIVE),
    FIELD(facts, tcp_congestion, "tcp_congestion", ZERO),
    FIELD(facts, gpus_found, "gpus_found", 0),
    LIST(facts, gpus, gpu_count, "gpus", gpu_shape),
    FIELD(facts, nics_found, "nics_found", 0),
    LIST(facts, nics, nic_count, "nics", nic_shape),
    LIST(facts, links, link_count, "links", link_shape),
};
static const struct cb_json_shape node_shape = SHAPE(node_fields, facts, false);

static const struct cb_json_field map_fields[] = {
    {.key = "hosts", .kind = CB_JSON_HOSTS, .rules = ALWAYS},
    GROUP("map", ALWAYS, node_shape),
};
const struct cb_json_shape cb_json_map_shape = SHAPE(map_fields, facts, false);

static const struct cb_json_field finding_fields[] = {
    FIELD(node_finding, finding.code, "code", ALWAYS),
    NAMED(node_finding, finding.severity, "severity", ALWAYS, severity_names),
    FIELD(node_finding, map, "map", NEGATIVE),
    FIELD(node_finding, finding.seen, "seen", ALWAYS),
    FIELD(node_finding, finding.why, "why", ZERO),
    FIELD(node_finding, finding.remedy, "remedy", ZERO),
};
const struct cb_json_shape cb_json_node_finding_shape = SHAPE(finding_fields, node_finding, true);

static const struct cb_json_field crossing_fields[] = {
    NAMED(crossing, scope, "scope", ALWAYS, scope_names),
    NAMED(crossing, op, "op", ALWAYS, op_names),
    FIELD(crossing, size_bytes, "bytes", ZERO),
    FIELD(crossing, measured_bytes_per_s, "measured_bytes_per_s", ZERO),
    FIELD(crossing, least_wire_bytes_per_s, "least_wire_bytes_per_s", ZERO),
    FIELD(crossing, nominal_bytes_per_s, "nominal_bytes_per_s", ZERO),
    FIELD(crossing, link, "link", ZERO),
    FIELD(crossing, note, "note", ZERO),
};
const struct cb_json_shape cb_json_crossing_shape = SHAPE(crossing_fields, crossing, true);

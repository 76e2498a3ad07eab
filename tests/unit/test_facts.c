#include "cb_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_root.h"
#include "topology/facts.h"

/* ---- a host bridge with two root ports: a card of two RDMA ports below one, a GPU behind a switch
 * below the other ---- */

#define HOST_BRIDGE "sys/devices/pci0000:00"
#define NIC_PORT HOST_BRIDGE "/0000:00:01.0"
#define GPU_PORT HOST_BRIDGE "/0000:00:03.0"
#define SWITCH GPU_PORT "/0000:05:00.0/0000:06:08.0"

static void put_link_state(const char *root, const char *folder, const char *speed,
                           const char *width, const char *max_speed, const char *max_width)
{
    fake_root_put(root, folder, "current_link_speed", speed);
    fake_root_put(root, folder, "current_link_width", width);
    fake_root_put(root, folder, "max_link_speed", max_speed);
    fake_root_put(root, folder, "max_link_width", max_width);
}

static void put_device(const char *root, const char *parent, const char *bus_id, const char *numa)
{
    char folder[256], target[300];
    snprintf(folder, sizeof(folder), "%s/%s", parent, bus_id);
    fake_root_put(root, folder, "numa_node", numa);
    snprintf(target, sizeof(target), "../../../../%s", folder);
    fake_root_link(root, "sys/bus/pci/devices", bus_id, target);
}

static void put_rdma(const char *root, const char *device, const char *bus_id, const char *layer,
                     const char *state)
{
    char folder[256], target[300];
    snprintf(folder, sizeof(folder), "sys/class/infiniband/%s", device);
    snprintf(target, sizeof(target), "../../../../" NIC_PORT "/%s", bus_id);
    fake_root_put(root, folder, "node_type", "1: CA\n");
    fake_root_link(root, folder, "device", target);
    snprintf(folder, sizeof(folder), "sys/class/infiniband/%s/ports/1", device);
    fake_root_put(root, folder, "link_layer", layer);
    fake_root_put(root, folder, "state", state);
    fake_root_put(root, folder, "rate", "200 Gb/sec (4X HDR)\n");
}

static void put_interface(const char *root, const char *name, const char *target, const char *mtu)
{
    char folder[256];
    snprintf(folder, sizeof(folder), "sys/class/net/%s", name);
    fake_root_put(root, folder, "type", "1\n");
    fake_root_put(root, folder, "operstate", "up\n");
    fake_root_put(root, folder, "mtu", mtu);
    fake_root_put(root, folder, "speed", "200000\n");
    if (target)
        fake_root_link(root, folder, "device", target);
}

static void put_card(const char *root)
{
    put_link_state(root, NIC_PORT, "16.0 GT/s PCIe\n", "16\n", "16.0 GT/s PCIe\n", "16\n");
    put_device(root, NIC_PORT, "0000:01:00.0", "1\n");
    put_device(root, NIC_PORT, "0000:01:00.1", "1\n");
    put_link_state(root, NIC_PORT "/0000:01:00.0", "16.0 GT/s PCIe\n", "8\n", "32.0 GT/s PCIe\n",
                   "16\n");
    put_rdma(root, "mlx5_0", "0000:01:00.0", "Ethernet\n", "4: ACTIVE\n");
    put_rdma(root, "mlx5_1", "0000:01:00.1", "InfiniBand\n", "2: INIT\n");
    fake_root_put(root, "sys/devices/system/node/node1", "cpulist", "32-63\n");
    fake_root_put(root, "sys/devices/system/cpu/cpu32/topology", "physical_package_id", "1\n");
}

static struct cb_facts *read_node(const char *root, const char *used)
{
    struct cb_facts *facts = malloc(sizeof(*facts));
    struct cb_error err;
    assert_non_null(facts);
    assert_ok(cb_facts_read_node(root, used, facts, &err), &err);
    return facts;
}

static const struct cb_facts_nic *find(const struct cb_facts *facts, const char *name)
{
    for (int i = 0; i < facts->nic_count; i++)
        if (strcmp(facts->nics[i].port.name, name) == 0)
            return &facts->nics[i];
    print_error("%s is not listed\n", name);
    fail();
    return NULL;
}

/* ---- NICs ---- */

static void test_two_faces_of_a_port_are_one_nic(void **state)
{
    put_card(*state);
    fake_root_put(*state, "sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs", "0", "ens1f0\n");
    put_interface(*state, "ens1f0", "../../../../" NIC_PORT "/0000:01:00.0", "9000\n");
    fake_root_link(*state, "sys/class/net/ens1f0", "master", "../bond0");
    struct cb_facts *facts = read_node(*state, "ens1f0");
    assert_int_equal(facts->nic_count, 2);
    const struct cb_facts_nic *nic = find(facts, "mlx5_0:1");
    assert_string_equal(nic->port.kind, "RoCE");
    assert_string_equal(nic->bus_id, "0000:01:00.0");
    assert_string_equal(nic->state, "ACTIVE");
    assert_string_equal(nic->bond, "bond0");
    assert_true(nic->port.used);
    assert_int_equal(nic->port.mtu_bytes, 9000);
    assert_int_equal(nic->port.numa, 1);
    assert_int_equal(nic->socket, 1);
    free(facts);
}

/* Eight of sixteen lanes; the card could do generation 5, its slot 4. */
static void test_link_is_the_least_of_card_and_slot(void **state)
{
    put_card(*state);
    struct cb_facts *facts = read_node(*state, "");
    const struct cb_facts_nic *nic = find(facts, "mlx5_0:1");
    assert_int_equal(nic->pcie.generation, 4);
    assert_int_equal(nic->pcie.width, 8);
    assert_int_equal(nic->pcie.generation_limit, 4);
    assert_int_equal(nic->pcie.width_limit, 16);
    assert_int_equal(nic->pcie.card_generation_limit, 5);
    const struct cb_facts_nic *other = find(facts, "mlx5_1:1");
    assert_string_equal(other->port.kind, "InfiniBand");
    assert_string_equal(other->state, "INIT");
    assert_false(other->port.up);
    assert_int_equal(other->pcie.width, -1);
    free(facts);
}

/* Hypervisors give their guests bridges of 2.5 GT/s x1 above the fastest cards. */
static void test_made_up_slot_says_nothing(void **state)
{
    put_card(*state);
    put_link_state(*state, NIC_PORT, "2.5 GT/s PCIe\n", "1\n", "2.5 GT/s PCIe\n", "1\n");
    put_link_state(*state, NIC_PORT "/0000:01:00.1", "Unknown\n", "0\n", "Unknown\n", "255\n");
    struct cb_facts *facts = read_node(*state, "");
    assert_int_equal(find(facts, "mlx5_0:1")->pcie.generation_limit, 5);
    assert_int_equal(find(facts, "mlx5_0:1")->pcie.width_limit, 16);
    assert_int_equal(find(facts, "mlx5_1:1")->pcie.generation_limit, -1);
    assert_int_equal(find(facts, "mlx5_1:1")->pcie.width, -1);
    assert_int_equal(find(facts, "mlx5_1:1")->pcie.width_limit, -1);
    free(facts);
}

static void test_roce_versions(void **state)
{
    const char *types = "sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types";
    put_card(*state);
    fake_root_put(*state, types, "0", "IB/RoCE v1\n");
    struct cb_facts *facts = read_node(*state, "");
    assert_int_equal(find(facts, "mlx5_0:1")->roce_v1, 1);
    assert_int_equal(find(facts, "mlx5_0:1")->roce_v2, 0);
    assert_int_equal(find(facts, "mlx5_1:1")->roce_v2, -1);
    free(facts);
    /* An entry that cannot be read, as empty slots are, ends nothing. */
    fake_root_put(*state, types, "1/unreadable", "");
    fake_root_put(*state, types, "5", "RoCE v2\n");
    facts = read_node(*state, "");
    assert_int_equal(find(facts, "mlx5_0:1")->roce_v2, 1);
    free(facts);
}

static void test_virtual_interfaces_count_when_used(void **state)
{
    put_interface(*state, "veth7", NULL, "1500\n");
    struct cb_facts *facts = read_node(*state, "");
    assert_int_equal(facts->nic_count, 0);
    free(facts);
    facts = read_node(*state, "veth7");
    assert_int_equal(facts->nic_count, 1);
    assert_string_equal(facts->nics[0].bus_id, "");
    assert_true(facts->nics[0].port.used);
    free(facts);
}

/* ---- GPUs ---- */

static void put_gpu(const char *root, const char *group_type)
{
    put_device(root, SWITCH, "0000:07:00.0", "0\n");
    put_link_state(root, SWITCH, "16.0 GT/s PCIe\n", "16\n", "16.0 GT/s PCIe\n", "16\n");
    put_link_state(root, SWITCH "/0000:07:00.0", "2.5 GT/s PCIe\n", "16\n", "16.0 GT/s PCIe\n",
                   "16\n");
    if (group_type)
        fake_root_put(root, SWITCH "/0000:07:00.0/iommu_group", "type", group_type);
}

/* Configuration space with a list of two extended capabilities, the second of them ACS. */
static void put_bridge(const char *root, const char *folder, size_t size_bytes, unsigned control)
{
    unsigned char config[4096] = {0};
    config[0x100] = 0x01; /* error reporting, next at 0x148 */
    config[0x102] = 0x01;
    config[0x102] |= 0x80;
    config[0x103] = 0x14;
    config[0x148] = 0x0d;
    config[0x14e] = (unsigned char)control;
    fake_root_put_bytes(root, folder, "config", config, size_bytes);
}

static struct cb_facts *read_gpu(const char *root)
{
    struct cb_facts *facts = read_node(root, "");
    struct cb_facts_gpu *gpu = &facts->gpus[facts->gpu_count++];
    cb_facts_gpu_init(gpu);
    snprintf(gpu->bus_id, sizeof(gpu->bus_id), "0000:07:00.0");
    cb_facts_read_gpu(root, gpu);
    cb_facts_read_isolation(root, facts);
    return facts;
}

static void test_gpu_without_nvml(void **state)
{
    put_gpu(*state, NULL);
    struct cb_facts *facts = read_gpu(*state);
    assert_int_equal(facts->gpus[0].numa, 0);
    assert_int_equal(facts->gpus[0].pcie.generation, 1);
    assert_false(facts->gpus[0].pcie.loaded);
    assert_int_equal(facts->gpus[0].pcie.generation_limit, 4);
    assert_int_equal(facts->iommu, 0);
    assert_int_equal(facts->acs_bridges, -1); /* nobody may read the bridges */
    free(facts);
}

static void test_acs_on_the_way_up(void **state)
{
    put_gpu(*state, "identity\n");
    put_bridge(*state, SWITCH, 4096, 0x1d);
    put_bridge(*state, GPU_PORT "/0000:05:00.0", 4096, 0x01); /* source validation alone */
    put_bridge(*state, GPU_PORT, 4096, 0);
    struct cb_facts *facts = read_gpu(*state);
    assert_int_equal(facts->acs_bridges, 1);
    assert_string_equal(facts->acs_bridge, "0000:06:08.0");
    assert_int_equal(facts->iommu, 0);
    free(facts);
}

static void test_acs_off_and_not_readable(void **state)
{
    put_gpu(*state, "DMA-FQ\n");
    put_bridge(*state, SWITCH, 4096, 0);
    put_bridge(*state, GPU_PORT "/0000:05:00.0", 4096, 0);
    put_bridge(*state, GPU_PORT, 4096, 0);
    struct cb_facts *facts = read_gpu(*state);
    assert_int_equal(facts->acs_bridges, 0);
    assert_int_equal(facts->iommu, 1);
    free(facts);
    put_bridge(*state, GPU_PORT, 64, 0); /* what a user other than root gets */
    facts = read_gpu(*state);
    assert_int_equal(facts->acs_bridges, -1);
    free(facts);
}

/* ---- the node ---- */

static void test_bare_metal(void **state)
{
    fake_root_put(*state, "proc", "cpuinfo", "processor : 0\nflags\t\t: fpu vme sse2\n");
    fake_root_put(*state, "proc/self", "cgroup", "0::/user.slice\n");
    fake_root_put(*state, "proc/sys/net/ipv4", "tcp_congestion_control", "bbr\n");
    fake_root_put(*state, "proc/1234", "comm", "nv-fabricmanage\n");
    put_card(*state);
    struct cb_facts *facts = read_node(*state, "");
    assert_string_equal(facts->virtualization, "none");
    assert_string_equal(facts->container, "none");
    assert_string_equal(facts->tcp_congestion, "bbr");
    assert_int_equal(facts->fabric_manager, 1);
    assert_int_equal(facts->pci_devices, 2);
    assert_int_equal(facts->pci_locality, 1);
    assert_near(facts->cpu_limit, 0, 0);
    free(facts);
}

static void test_guest_in_a_container(void **state)
{
    fake_root_put(*state, "proc", "cpuinfo", "processor : 0\nflags : fpu hypervisor lahf_lm\n");
    fake_root_put(*state, "sys/class/dmi/id", "sys_vendor", "QEMU\n");
    fake_root_put(*state, "proc/self", "cgroup", "0::/kubepods.slice/pod7\n");
    fake_root_put(*state, "sys/fs/cgroup/kubepods.slice", "cpu.max", "250000 100000\n");
    fake_root_put(*state, "sys/fs/cgroup/kubepods.slice/pod7", "cpu.max", "max 100000\n");
    fake_root_put(*state, "proc/1", "comm", "python\n");
    struct cb_facts *facts = read_node(*state, "");
    assert_string_equal(facts->virtualization, "KVM");
    assert_string_equal(facts->container, "Kubernetes");
    assert_int_equal(facts->fabric_manager, -1); /* its processes are not all */
    assert_int_equal(facts->pci_devices, 0);
    assert_int_equal(facts->pci_locality, -1);
    assert_near(facts->cpu_limit, 2.5, 1e-9);
    free(facts);
}

static void test_unknown_hypervisor_and_processor(void **state)
{
    fake_root_put(*state, "proc", "cpuinfo", "processor : 0\nflags : fpu hypervisor\n");
    fake_root_put(*state, "sys/class/dmi/id", "sys_vendor", "Something new\n");
    struct cb_facts *facts = read_node(*state, "");
    assert_string_equal(facts->virtualization, "a hypervisor");
    free(facts);
    fake_root_put(*state, "proc", "cpuinfo", "processor : 0\nCPU implementer : 0x41\n");
    facts = read_node(*state, "");
    assert_string_equal(facts->virtualization, "");
    free(facts);
}

static void test_ways_into_gpu_memory(void **state)
{
    fake_root_put(*state, "sys/module/nvidia", "version", "580.82.07\n");
    fake_root_put(*state, "proc/driver/nvidia", "version",
                  "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07\n");
    fake_root_put(*state, "proc/sys/kernel", "osrelease", "5.10.0-20-amd64\n");
    struct cb_facts *facts = read_node(*state, "");
    assert_int_equal(facts->peermem, 0);
    assert_int_equal(facts->dmabuf, 0);
    free(facts);
    fake_root_put(*state, "proc/sys/kernel", "osrelease", "6.1.0-20-amd64\n");
    fake_root_put(*state, "sys/module/nvidia_peermem", "version", "580.82.07\n");
    facts = read_node(*state, "");
    assert_int_equal(facts->peermem, 1);
    assert_int_equal(facts->dmabuf, 1);
    free(facts);
    fake_root_put(*state, "proc/driver/nvidia", "version",
                  "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.82.07\n");
    facts = read_node(*state, "");
    assert_int_equal(facts->dmabuf, 0);
    free(facts);
}

#define WITH_ROOT(test) cmocka_unit_test_setup_teardown(test, fake_root_make, fake_root_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ROOT(test_two_faces_of_a_port_are_one_nic),
        WITH_ROOT(test_link_is_the_least_of_card_and_slot),
        WITH_ROOT(test_made_up_slot_says_nothing),
        WITH_ROOT(test_roce_versions),
        WITH_ROOT(test_virtual_interfaces_count_when_used),
        WITH_ROOT(test_gpu_without_nvml),
        WITH_ROOT(test_acs_on_the_way_up),
        WITH_ROOT(test_acs_off_and_not_readable),
        WITH_ROOT(test_bare_metal),
        WITH_ROOT(test_guest_in_a_container),
        WITH_ROOT(test_unknown_hypervisor_and_processor),
        WITH_ROOT(test_ways_into_gpu_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

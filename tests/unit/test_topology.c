#define _GNU_SOURCE /* sched_setaffinity */
#include "cb_test.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_root.h"
#include "topology/internal.h"
#include "topology/topo.h"

#define GIGABIT 125e6

/* An interface that is up; driver NULL: one without a device. */
static void put_interface(const char *root, const char *name, const char *driver, const char *speed)
{
    char folder[PATH_MAX], target[256];
    snprintf(folder, sizeof(folder), "sys/class/net/%s", name);
    fake_root_put(root, folder, "type", "1\n");
    fake_root_put(root, folder, "operstate", "up\n");
    fake_root_put(root, folder, "mtu", "9000\n");
    fake_root_put(root, folder, "speed", speed);
    if (!driver)
        return;
    snprintf(target, sizeof(target), "../../../../bus/pci/drivers/%s", driver);
    fake_root_put(root, folder, "device/numa_node", "1\n");
    fake_root_link(root, folder, "device/driver", target);
}

static void put_port(const char *root, const char *device, const char *driver, const char *layer,
                     const char *state, const char *rate)
{
    char folder[PATH_MAX], target[256];
    snprintf(target, sizeof(target), "../../../../bus/pci/drivers/%s", driver);
    snprintf(folder, sizeof(folder), "sys/class/infiniband/%s", device);
    fake_root_put(root, folder, "node_type", "1: CA\n");
    fake_root_put(root, folder, "device/numa_node", "0\n");
    fake_root_link(root, folder, "device/driver", target);
    snprintf(folder, sizeof(folder), "sys/class/infiniband/%s/ports/1", device);
    fake_root_put(root, folder, "link_layer", layer);
    fake_root_put(root, folder, "state", state);
    fake_root_put(root, folder, "rate", rate);
}

static struct cb_topo_host discover(const char *root)
{
    struct cb_topo_host host;
    struct cb_error err;
    assert_ok(cb_topo_discover_host(root, NULL, &host, &err), &err);
    return host;
}

static const struct cb_topo_nic *find(const struct cb_topo_host *host, const char *name)
{
    for (int i = 0; i < host->nic_count; i++)
        if (strcmp(host->nics[i].name, name) == 0)
            return &host->nics[i];
    print_error("%s is not listed\n", name);
    fail();
    return NULL;
}

/* ---- network interfaces ---- */

static void test_real_ethernet(void **state)
{
    put_interface(*state, "ens1f0", "mlx5_core", "25000\n");
    struct cb_topo_host host = discover(*state);
    const struct cb_topo_nic *nic = find(&host, "ens1f0");
    assert_int_equal(host.nic_count, 1);
    assert_string_equal(nic->kind, "Ethernet");
    assert_string_equal(nic->driver, "mlx5_core");
    assert_near(nic->nominal_bytes_per_s, 3.125e9, 0);
    assert_near(nic->stated_bytes_per_s, 3.125e9, 0);
    assert_int_equal(nic->mtu_bytes, 9000);
    assert_int_equal(nic->numa, 1);
    assert_true(nic->up);
    assert_false(nic->used);
    assert_false(nic->virtual_function);
    assert_string_equal(nic->partner, "");
}

static void test_speeds_that_virtual_drivers_make_up(void **state)
{
    put_interface(*state, "eth0", "virtio_net", "-1\n");
    put_interface(*state, "eth1", "vmxnet3", "10000\n");
    put_interface(*state, "veth7", NULL, "10000\n");
    put_interface(*state, "br0", NULL, "10000\n");
    fake_root_put(*state, "sys/class/net/br0", "bridge/bridge_id", "8000.000000000000\n");
    put_interface(*state, "tap3", NULL, "10\n");
    fake_root_put(*state, "sys/class/net/tap3", "tun_flags", "0x1002\n");
    struct cb_topo_host host = discover(*state);
    assert_int_equal(host.nic_count, 5);
    for (int i = 0; i < host.nic_count; i++)
        assert_near(host.nics[i].nominal_bytes_per_s, 0, 0);
    assert_string_equal(find(&host, "eth0")->kind, "virtual Ethernet");
    assert_near(find(&host, "eth0")->stated_bytes_per_s, 0, 0);
    assert_near(find(&host, "eth1")->stated_bytes_per_s, 10 * GIGABIT, 0);
    assert_string_equal(find(&host, "veth7")->kind, "virtual Ethernet");
    assert_near(find(&host, "veth7")->stated_bytes_per_s, 10 * GIGABIT, 0);
    assert_int_equal(find(&host, "veth7")->numa, -1);
    assert_string_equal(find(&host, "br0")->kind, "bridge");
    assert_string_equal(find(&host, "br0")->driver, "bridge");
    assert_string_equal(find(&host, "tap3")->driver, "tun");
}

static void test_a_bond_is_as_real_as_what_it_bundles(void **state)
{
    put_interface(*state, "eth0", "ice", "25000\n");
    put_interface(*state, "eth1", "ice", "25000\n");
    put_interface(*state, "bond0", NULL, "50000\n");
    fake_root_put(*state, "sys/class/net/bond0", "bonding/mode", "802.3ad 4\n");
    fake_root_link(*state, "sys/class/net/bond0", "lower_eth0", "../eth0");
    fake_root_link(*state, "sys/class/net/bond0", "lower_eth1", "../eth1");
    put_interface(*state, "bond0.100", NULL, "50000\n");
    fake_root_put(*state, "sys/class/net/bond0.100", "uevent",
                  "DEVTYPE=vlan\nINTERFACE=bond0.100\n");
    fake_root_link(*state, "sys/class/net/bond0.100", "lower_bond0", "../bond0");
    put_interface(*state, "veth0", NULL, "10000\n");
    put_interface(*state, "bond1", NULL, "20000\n");
    fake_root_put(*state, "sys/class/net/bond1", "bonding/mode", "802.3ad 4\n");
    fake_root_link(*state, "sys/class/net/bond1", "lower_eth0", "../eth0");
    fake_root_link(*state, "sys/class/net/bond1", "lower_veth0", "../veth0");
    put_interface(*state, "bond2", NULL, "10000\n");
    fake_root_put(*state, "sys/class/net/bond2", "bonding/mode", "802.3ad 4\n");
    struct cb_topo_host host = discover(*state);
    assert_string_equal(find(&host, "bond0")->kind, "bond");
    assert_near(find(&host, "bond0")->nominal_bytes_per_s, 50 * GIGABIT, 0);
    assert_string_equal(find(&host, "bond0.100")->kind, "VLAN");
    assert_near(find(&host, "bond0.100")->nominal_bytes_per_s, 50 * GIGABIT, 0);
    assert_near(find(&host, "bond1")->nominal_bytes_per_s, 0, 0);
    assert_near(find(&host, "bond2")->nominal_bytes_per_s, 0, 0);
}

static void test_virtual_function(void **state)
{
    put_interface(*state, "eth0v3", "mlx5_core", "100000\n");
    fake_root_link(*state, "sys/class/net/eth0v3", "device/physfn", "../../net");
    struct cb_topo_host host = discover(*state);
    assert_true(find(&host, "eth0v3")->virtual_function);
    assert_near(find(&host, "eth0v3")->nominal_bytes_per_s, 100 * GIGABIT, 0);
}

/* A speed file of a link that is down cannot be read: here a folder stands in its place. */
static void test_down_and_unreadable(void **state)
{
    put_interface(*state, "eth0", "ixgbe", "10000\n");
    fake_root_put(*state, "sys/class/net/eth0", "operstate", "down\n");
    put_interface(*state, "eth1", "ixgbe", "10000\n");
    fake_root_put(*state, "sys/class/net/eth1", "operstate", "down\n");
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/sys/class/net/eth1/speed", (const char *)*state);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0755), 0);
    put_interface(*state, "eth2", "ixgbe", "fast\n");
    put_interface(*state, "eth3", "ixgbe", "200000000\n");
    put_interface(*state, "eth4", "ixgbe", "4294967295\n");
    fake_root_put(*state, "sys/class/net/eth5", "mtu", "1500\n"); /* no type */
    fake_root_put(*state, "sys/class/net", "bonding_masters", "bond0\n");
    fake_root_put(*state, "sys/class/net/lo", "type", "772\n");
    struct cb_topo_host host = discover(*state);
    assert_int_equal(host.nic_count, 5);
    assert_int_equal(host.nics_found, 5);
    for (int i = 0; i < host.nic_count; i++)
        assert_near(host.nics[i].nominal_bytes_per_s, 0, 0);
    assert_false(find(&host, "eth0")->up);
    assert_near(find(&host, "eth0")->stated_bytes_per_s, 10 * GIGABIT, 0);
    assert_near(find(&host, "eth1")->stated_bytes_per_s, 0, 0);
    assert_true(find(&host, "eth2")->up);
    assert_near(find(&host, "eth3")->stated_bytes_per_s, 0, 0);
    assert_near(find(&host, "eth4")->stated_bytes_per_s, 0, 0);
}

static void test_unknown_operating_state_goes_by_the_flags(void **state)
{
    put_interface(*state, "eth0", "e1000", "1000\n");
    fake_root_put(*state, "sys/class/net/eth0", "operstate", "unknown\n");
    fake_root_put(*state, "sys/class/net/eth0", "flags", "0x1003\n");
    put_interface(*state, "eth1", "e1000", "1000\n");
    fake_root_put(*state, "sys/class/net/eth1", "operstate", "unknown\n");
    fake_root_put(*state, "sys/class/net/eth1", "flags", "0x1002\n");
    struct cb_topo_host host = discover(*state);
    assert_true(find(&host, "eth0")->up);
    assert_false(find(&host, "eth1")->up);
}

static void test_nothing_there(void **state)
{
    struct cb_topo_host host = discover(*state);
    assert_int_equal(host.nic_count, 0);
    assert_int_equal(host.nics_found, 0);
    assert_int_equal(host.available_memory_bytes, 0);
    assert_true(host.cores > 0);
}

/* ---- RDMA ports ---- */

static void test_infiniband(void **state)
{
    put_port(*state, "mlx5_0", "mlx5_core", "InfiniBand\n", "4: ACTIVE\n", "100 Gb/sec (4X EDR)\n");
    put_port(*state, "mlx5_1", "mlx5_core", "InfiniBand\n", "1: DOWN\n", "10 Gb/sec (4X SDR)\n");
    put_port(*state, "mlx5_2", "mlx5_core", "InfiniBand\n", "2: INIT\n", "400 Gb/sec (4X NDR)\n");
    put_port(*state, "mlx5_3", "mlx5_core", "InfiniBand\n", "4: ACTIVE\n", "nonsense\n");
    struct cb_topo_host host = discover(*state);
    const struct cb_topo_nic *port = find(&host, "mlx5_0:1");
    assert_string_equal(port->kind, "InfiniBand");
    assert_string_equal(port->driver, "mlx5_core");
    assert_near(port->nominal_bytes_per_s, 12.5e9, 0);
    assert_true(port->up);
    assert_int_equal(port->numa, 0);
    assert_false(find(&host, "mlx5_1:1")->up);
    assert_near(find(&host, "mlx5_1:1")->nominal_bytes_per_s, 0, 0);
    assert_false(find(&host, "mlx5_2:1")->up);
    assert_near(find(&host, "mlx5_3:1")->stated_bytes_per_s, 0, 0);
}

/* InfiniBand Architecture Specification: 10 Gb/s a lane with 8b/10b, 14.0625 with 64b/66b. */
static void test_line_coding_is_taken_off_infiniband_alone(void **state)
{
    put_port(*state, "mlx4_0", "mlx4_core", "InfiniBand\n", "4: ACTIVE\n", "40 Gb/sec (4X QDR)\n");
    put_port(*state, "mlx4_1", "mlx4_core", "InfiniBand\n", "4: ACTIVE\n", "56 Gb/sec (4X FDR)\n");
    put_port(*state, "mlx4_2", "mlx4_core", "Ethernet\n", "4: ACTIVE\n", "40 Gb/sec (4X QDR)\n");
    struct cb_topo_host host = discover(*state);
    assert_near(find(&host, "mlx4_0:1")->nominal_bytes_per_s, 4e9, 1e-12);
    assert_near(find(&host, "mlx4_0:1")->stated_bytes_per_s, 5e9, 0);
    assert_near(find(&host, "mlx4_1:1")->nominal_bytes_per_s, 54.545454545e9 / 8, 1e-9);
    assert_near(find(&host, "mlx4_2:1")->nominal_bytes_per_s, 5e9, 0);
}

static void test_roce_and_its_network_interface(void **state)
{
    put_port(*state, "rocep1s0", "mlx5_core", "Ethernet\n", "4: ACTIVE\n", "100 Gb/sec (4X EDR)\n");
    put_interface(*state, "enp1s0", "mlx5_core", "100000\n");
    fake_root_link(*state, "sys/class/infiniband/rocep1s0", "device/net/enp1s0",
                   "../../../../net/enp1s0");
    put_interface(*state, "enp2s0", "mlx5_core", "25000\n");
    struct cb_topo_host host = discover(*state);
    assert_int_equal(host.nic_count, 3);
    assert_string_equal(find(&host, "rocep1s0:1")->kind, "RoCE");
    assert_string_equal(find(&host, "rocep1s0:1")->partner, "enp1s0");
    assert_near(find(&host, "rocep1s0:1")->nominal_bytes_per_s, 100 * GIGABIT, 0);
    assert_string_equal(find(&host, "enp1s0")->partner, "rocep1s0:1");
    assert_string_equal(find(&host, "enp1s0")->kind, "Ethernet");
    assert_string_equal(find(&host, "enp2s0")->partner, "");
}

/* Kernels that do not know HDR print their default. */
static void test_old_kernels_rate_is_mended_by_the_interface(void **state)
{
    put_port(*state, "mlx5_0", "mlx5_core", "Ethernet\n", "4: ACTIVE\n", "10 Gb/sec (4X SDR)\n");
    put_interface(*state, "eth0", "mlx5_core", "200000\n");
    fake_root_put(*state, "sys/class/infiniband/mlx5_0", "ports/1/gid_attrs/ndevs/0", "eth0\n");
    put_port(*state, "mlx5_1", "mlx5_core", "Ethernet\n", "4: ACTIVE\n", "10 Gb/sec (4X SDR)\n");
    /* A bond of two ports is faster than either. */
    put_port(*state, "mlx5_2", "mlx5_core", "Ethernet\n", "4: ACTIVE\n", "100 Gb/sec (4X EDR)\n");
    put_interface(*state, "eth2", "mlx5_core", "200000\n");
    fake_root_put(*state, "sys/class/infiniband/mlx5_2", "ports/1/gid_attrs/ndevs/0", "eth2\n");
    struct cb_topo_host host = discover(*state);
    assert_near(find(&host, "mlx5_2:1")->nominal_bytes_per_s, 100 * GIGABIT, 0);
    assert_near(find(&host, "mlx5_0:1")->nominal_bytes_per_s, 200 * GIGABIT, 0);
    assert_near(find(&host, "mlx5_0:1")->stated_bytes_per_s, 10 * GIGABIT, 0);
    assert_near(find(&host, "mlx5_1:1")->nominal_bytes_per_s, 10 * GIGABIT, 0);
}

/* One PCI function with two ports (ConnectX-3): dev_port tells the interfaces apart. */
static void test_two_ports_on_one_function(void **state)
{
    const char *device = "sys/class/infiniband/mlx4_0";
    put_port(*state, "mlx4_0", "mlx4_core", "InfiniBand\n", "4: ACTIVE\n", "56 Gb/sec (4X FDR)\n");
    fake_root_put(*state, device, "ports/2/link_layer", "InfiniBand\n");
    fake_root_put(*state, device, "ports/2/state", "1: DOWN\n");
    fake_root_put(*state, device, "device/net/ib0/dev_port", "0\n");
    fake_root_put(*state, device, "device/net/ib1/dev_port", "1\n");
    put_interface(*state, "ib0", "mlx4_core", "56000\n");
    fake_root_put(*state, "sys/class/net/ib0", "type", "32\n");
    struct cb_topo_host host = discover(*state);
    assert_string_equal(find(&host, "mlx4_0:1")->partner, "ib0");
    assert_string_equal(find(&host, "mlx4_0:2")->partner, "ib1");
    assert_string_equal(find(&host, "ib0")->kind, "IPoIB");
    assert_string_equal(find(&host, "ib0")->partner, "mlx4_0:1");
}

static void test_other_fabrics(void **state)
{
    put_port(*state, "rdmap16s27", "efa", "Unspecified\n", "4: ACTIVE\n", "100 Gb/sec (4X EDR)\n");
    put_port(*state, "hfi1_0", "hfi1", "InfiniBand\n", "4: ACTIVE\n", "100 Gb/sec (4X EDR)\n");
    put_port(*state, "irdma0", "irdma", "Ethernet\n", "4: ACTIVE\n", "25 Gb/sec (1X EDR)\n");
    fake_root_put(*state, "sys/class/infiniband/irdma0", "node_type", "4: RNIC\n");
    put_port(*state, "rxe0", "virtio_net", "Ethernet\n", "4: ACTIVE\n", "2.5 Gb/sec (1X SDR)\n");
    fake_root_put(*state, "sys/class/infiniband/rxe0", "parent", "eth0\n");
    put_interface(*state, "hsn0", "cxi_ss1_eth", "200000\n");
    struct cb_topo_host host = discover(*state);
    assert_string_equal(find(&host, "rdmap16s27:1")->kind, "EFA");
    assert_string_equal(find(&host, "hfi1_0:1")->kind, "Omni-Path");
    assert_string_equal(find(&host, "irdma0:1")->kind, "iWARP");
    assert_string_equal(find(&host, "rxe0:1")->kind, "Soft-RoCE");
    assert_near(find(&host, "rxe0:1")->nominal_bytes_per_s, 0, 0);
    assert_string_equal(find(&host, "hsn0")->kind, "Slingshot");
    assert_near(find(&host, "hsn0")->nominal_bytes_per_s, 200 * GIGABIT, 0);
}

/* ---- the list ---- */

static void test_a_long_list_keeps_what_matters(void **state)
{
    char name[16];
    struct cb_topo_host host = {0};
    struct cb_error err;
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "cali%d", i);
        put_interface(*state, name, NULL, "10000\n");
    }
    put_interface(*state, "zeth0", "ice", "25000\n");
    put_interface(*state, "zeth1", "ice", "25000\n");
    fake_root_put(*state, "sys/class/net/zeth0", "operstate", "down\n");
    put_port(*state, "mlx5_0", "mlx5_core", "InfiniBand\n", "4: ACTIVE\n", "100 Gb/sec (4X EDR)\n");
    assert_ok(cb_topo_read_nics(*state, "cali33", &host, &err), &err);
    assert_int_equal(host.nic_count, CB_TOPO_NICS);
    assert_int_equal(host.nics_found, 43);
    static const char *const first[] = {"cali33", "mlx5_0:1", "zeth1", "zeth0", "cali0", "cali1"};
    for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
        assert_string_equal(host.nics[i].name, first[i]);
    assert_true(host.nics[0].used);
    for (int i = 1; i < host.nic_count; i++)
        assert_false(host.nics[i].used);
    assert_string_equal(host.nics[CB_TOPO_NICS - 1].name, "cali11"); /* natural order */
}

static void test_names_cannot_move_a_terminals_cursor(void **state)
{
    char text[8];
    put_interface(*state, "e\033[2J\n\xc3\xa9", "dr\aiver", "1000\n");
    struct cb_topo_host host = discover(*state);
    assert_int_equal(host.nic_count, 1);
    assert_string_equal(host.nics[0].name, "e?[2J???");
    assert_string_equal(host.nics[0].driver, "dr?iver");
    cb_tree_clean(text, sizeof(text), "n1\x7f\x01.example");
    assert_string_equal(text, "n1??.ex");
}

/* ---- memory ---- */

#define MIB 1048576ULL

static void put_meminfo(const char *root)
{
    fake_root_put(
        root, "proc", "meminfo",
        "MemTotal:       16777216 kB\nMemFree:         1048576 kB\nMemAvailable:    8388608 kB\n");
}

static void test_memory_without_a_cgroup(void **state)
{
    put_meminfo(*state);
    assert_int_equal(cb_topo_read_available_memory(*state), 8192 * MIB);
    assert_int_equal(cb_topo_read_total_memory(*state), 16384 * MIB);
}

/* The page cache of a cgroup gives way, and every ancestor's limit holds. */
static void test_memory_of_cgroups_version_2(void **state)
{
    put_meminfo(*state);
    fake_root_put(*state, "proc/self", "cgroup", "0::/job_7/step_0\n");
    fake_root_put(*state, "sys/fs/cgroup/job_7/step_0", "memory.max", "max\n");
    fake_root_put(*state, "sys/fs/cgroup/job_7/step_0", "memory.current", "1048576\n");
    assert_int_equal(cb_topo_read_available_memory(*state), 8192 * MIB);
    fake_root_put(*state, "sys/fs/cgroup/job_7", "memory.max", "4294967296\n");
    fake_root_put(*state, "sys/fs/cgroup/job_7", "memory.current", "1073741824\n");
    assert_int_equal(cb_topo_read_available_memory(*state), 3072 * MIB);
    fake_root_put(*state, "sys/fs/cgroup/job_7", "memory.stat",
                  "anon 5\nfile 9\ninactive_file 536870912\n");
    assert_int_equal(cb_topo_read_available_memory(*state), 3584 * MIB);
    fake_root_put(*state, "sys/fs/cgroup/job_7/step_0", "memory.max", "6442450944\n");
    assert_int_equal(cb_topo_read_available_memory(*state), 3584 * MIB);
    fake_root_put(*state, "sys/fs/cgroup/job_7/step_0", "memory.max", "2097152\n");
    assert_int_equal(cb_topo_read_available_memory(*state), 1 * MIB);
    fake_root_put(*state, "sys/fs/cgroup/job_7/step_0", "memory.max", "1000\n");
    assert_int_equal(cb_topo_read_available_memory(*state), 0);
}

/* The path in /proc is the host's; inside a container only the mount's top is there. */
static void test_memory_of_cgroups_version_1(void **state)
{
    put_meminfo(*state);
    fake_root_put(*state, "proc/self", "cgroup",
                  "5:cpuset:/x\n4:cpu,memory:/docker/ab\n1:name=systemd:/y\n");
    fake_root_put(*state, "sys/fs/cgroup/memory", "memory.limit_in_bytes", "9223372036854771712\n");
    fake_root_put(*state, "sys/fs/cgroup/memory", "memory.usage_in_bytes", "1048576\n");
    assert_int_equal(cb_topo_read_available_memory(*state), 8192 * MIB);
    fake_root_put(*state, "sys/fs/cgroup/memory", "memory.limit_in_bytes", "3145728\n");
    fake_root_put(*state, "sys/fs/cgroup/memory", "memory.stat",
                  "inactive_file 1\ntotal_inactive_file 524288\n");
    assert_int_equal(cb_topo_read_available_memory(*state), 5 * MIB / 2);
}

/* ---- CPUs ---- */

static int forget_synthetic(void **state)
{
    (void)state;
    return unsetenv("HWLOC_SYNTHETIC") || unsetenv("HWLOC_THISSYSTEM");
}

static void test_counts(void **state)
{
    (void)state;
    setenv("HWLOC_SYNTHETIC",
           "pack:2 [numa(memory=8589934592)] l3:2(size=33554432) l2:4(size=1048576) core:1 pu:2",
           1);
    struct cb_topo_host host = discover(NULL);
    assert_int_equal(host.sockets, 2);
    assert_int_equal(host.cores, 16);
    assert_int_equal(host.hardware_threads, 32);
    assert_int_equal(host.numa_nodes, 2);
    assert_int_equal(host.last_level_cache_bytes, 4 * 32 * MIB);
    assert_int_equal(host.memory_bytes, 16384 * MIB);
    assert_int_equal(cb_topo_allowed_cpus(), 32);
    setenv("HWLOC_SYNTHETIC", "pu:4", 1); /* no cores, no caches */
    host = discover(NULL);
    assert_int_equal(host.cores, 4);
    assert_int_equal(host.sockets, 1);
    assert_int_equal(host.last_level_cache_bytes, 0);
}

/* Memory beside a node (HBM) has its CPUs: those are not there twice. */
static void test_nodes_of_memory_alone_are_not_counted(void **state)
{
    (void)state;
    setenv("HWLOC_SYNTHETIC",
           "pack:2 [numa(memory=8589934592)] [numa(memory=4294967296)] core:2 pu:1", 1);
    assert_int_equal(discover(NULL).numa_nodes, 2);
    assert_int_equal(discover(NULL).memory_bytes, 2 * (8192 + 4096) * MIB);
}

static void test_shares(void **state)
{
    (void)state;
    for (int cores = 1; cores <= 20; cores++)
        for (int sharers = 1; sharers <= 50; sharers++) {
            int users[20] = {0}, least = cores, most = 0;
            for (int sharer = 0; sharer < sharers; sharer++) {
                int first, count;
                cb_topo_share(sharer, sharers, cores, &first, &count);
                assert_true(count >= 1 && first >= 0 && first + count <= cores);
                least = count < least ? count : least;
                most = count > most ? count : most;
                for (int i = first; i < first + count; i++)
                    users[i]++;
            }
            assert_true(most - least <= 1);
            /* Every core has a user, and none has two more than another. */
            for (int i = 0; i < cores; i++)
                assert_true(users[i] == sharers / cores || users[i] == (sharers - 1) / cores + 1);
        }
}

static void test_chosen_cpus_are_one_thread_of_each_core(void **state)
{
    (void)state;
    int cpus[16];
    struct cb_error err;
    setenv("HWLOC_SYNTHETIC", "pack:2 core:4 pu:2", 1);
    assert_int_equal(cb_topo_share_cpus(0, 1, cpus, 16, &err), 8);
    for (int i = 0; i < 8; i++)
        assert_int_equal(cpus[i], 2 * i);
    assert_int_equal(cb_topo_share_cpus(1, 2, cpus, 16, &err), 4);
    assert_int_equal(cpus[0], 8);
    assert_int_equal(cb_topo_share_cpus(1, 2, cpus, 3, &err), 3);
    assert_int_equal(cb_topo_share_cpus(9, 64, cpus, 16, &err), 1);
    assert_int_equal(cpus[0], 2);
    assert_int_equal(cb_topo_share_cpus(3, 4, cpus, 16, &err), 2);
    assert_int_equal(cpus[0], 12);
    assert_int_equal(cb_topo_share_cpus(2, 2, cpus, 16, &err), CB_E_MEASURE);
    assert_int_equal(cb_topo_share_cpus(-1, 2, cpus, 16, &err), CB_E_MEASURE);
    assert_int_equal(cb_topo_share_cpus(0, 1, cpus, 0, &err), CB_E_MEASURE);
}

static void test_binding_spans_and_is_cut(void **state)
{
    (void)state;
    struct cb_topo_binding binding;
    struct cb_error err;
    setenv("HWLOC_SYNTHETIC", "pack:2 [numa] core:4 pu:2", 1);
    assert_ok(cb_topo_discover_binding(&binding, &err), &err);
    assert_int_equal(binding.cpus, 16);
    assert_int_equal(binding.cores, 8);
    assert_false(binding.bound);
    assert_int_equal(binding.numa, -1);
    assert_string_equal(binding.cpuset, "0-15");
    /* Even numbers alone: a list without ranges. */
    setenv("HWLOC_SYNTHETIC",
           "pack:30 pu:1(indexes=0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44,"
           "46,48,50,52,54,56,58)",
           1);
    assert_ok(cb_topo_discover_binding(&binding, &err), &err);
    assert_int_equal(binding.cpus, 30);
    assert_string_equal(binding.cpuset,
                        "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,...");
    assert_int_equal(binding.numa, 0);
}

static void test_a_bound_process_keeps_its_mask(void **state)
{
    (void)state;
    cpu_set_t before, one;
    struct cb_topo_binding binding;
    struct cb_error err;
    int cpus[4];
    size_t last = 0;
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &before))
            last = cpu;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    int rc = cb_topo_discover_binding(&binding, &err);
    int chosen = cb_topo_share_cpus(2, 3, cpus, 4, &err);
    int allowed = cb_topo_allowed_cpus();
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
    assert_ok(rc, &err);
    assert_int_equal(binding.cpus, 1);
    assert_int_equal(binding.cores, 1);
    assert_int_equal(binding.bound, allowed > 1);
    assert_true(binding.numa >= 0);
    assert_int_equal(atoi(binding.cpuset), last);
    assert_int_equal(chosen, 1);
    assert_int_equal(cpus[0], last);
    assert_true(allowed >= CPU_COUNT(&before));
}

/* On a host that seems to have far more CPUs, this process's own mask is a binding. */
static void test_a_bound_mask_is_shared(void **state)
{
    (void)state;
    cpu_set_t mask;
    struct cb_topo_binding binding;
    struct cb_error err;
    int cpus[1024];
    setenv("HWLOC_SYNTHETIC", "core:1024 pu:1", 1);
    setenv("HWLOC_THISSYSTEM", "1", 1);
    assert_int_equal(sched_getaffinity(0, sizeof(mask), &mask), 0);
    int mine = CPU_COUNT(&mask);
    assert_ok(cb_topo_discover_binding(&binding, &err), &err);
    assert_int_equal(binding.cpus, mine);
    assert_true(binding.bound);
    assert_int_equal(cb_topo_share_cpus(1, 2, cpus, 1024, &err), mine > 1 ? mine - mine / 2 : 1);
    for (int i = 0; i < mine - mine / 2; i++)
        assert_true(CPU_ISSET((size_t)cpus[i], &mask));
}

/* ---- the running system ---- */

static void test_this_machine(void **state)
{
    (void)state;
    char version[32];
    struct cb_topo_host host = discover(NULL);
    assert_true(host.sockets >= 1 && host.cores >= host.sockets);
    assert_true(host.hardware_threads >= host.cores);
    assert_true(host.numa_nodes >= 1);
    assert_true(host.memory_bytes > 64 * MIB);
    assert_true(host.available_memory_bytes > 0);
    assert_true(host.available_memory_bytes <= host.memory_bytes);
    assert_true(host.name[0] && host.cpu_model[0]);
    assert_true(host.nic_count <= host.nics_found && host.nic_count <= CB_TOPO_NICS);
    for (int i = 0; i < host.nic_count; i++) {
        assert_string_not_equal(host.nics[i].name, "lo");
        assert_true(host.nics[i].kind[0]);
    }
    cb_topo_library_version(version, sizeof(version));
    assert_true(atof(version) >= 2.5);
}

static void test_routes_that_lead_nowhere(void **state)
{
    (void)state;
    static const char *const peers[] = {"127.0.0.1", "::1", "localhost", "no such host"};
    struct cb_topo_host host;
    struct cb_error err;
    for (size_t i = 0; i < sizeof(peers) / sizeof(*peers); i++) {
        assert_ok(cb_topo_discover_host(NULL, peers[i], &host, &err), &err);
        for (int nic = 0; nic < host.nic_count; nic++)
            assert_false(host.nics[nic].used);
    }
}

#define WITH_ROOT(test) cmocka_unit_test_setup_teardown(test, fake_root_make, fake_root_remove)
#define WITH_SYNTHETIC(test) cmocka_unit_test_teardown(test, forget_synthetic)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ROOT(test_real_ethernet),
        WITH_ROOT(test_speeds_that_virtual_drivers_make_up),
        WITH_ROOT(test_a_bond_is_as_real_as_what_it_bundles),
        WITH_ROOT(test_virtual_function),
        WITH_ROOT(test_down_and_unreadable),
        WITH_ROOT(test_unknown_operating_state_goes_by_the_flags),
        WITH_ROOT(test_nothing_there),
        WITH_ROOT(test_infiniband),
        WITH_ROOT(test_line_coding_is_taken_off_infiniband_alone),
        WITH_ROOT(test_roce_and_its_network_interface),
        WITH_ROOT(test_old_kernels_rate_is_mended_by_the_interface),
        WITH_ROOT(test_two_ports_on_one_function),
        WITH_ROOT(test_other_fabrics),
        WITH_ROOT(test_a_long_list_keeps_what_matters),
        WITH_ROOT(test_names_cannot_move_a_terminals_cursor),
        WITH_ROOT(test_memory_without_a_cgroup),
        WITH_ROOT(test_memory_of_cgroups_version_2),
        WITH_ROOT(test_memory_of_cgroups_version_1),
        WITH_SYNTHETIC(test_counts),
        WITH_SYNTHETIC(test_nodes_of_memory_alone_are_not_counted),
        cmocka_unit_test(test_shares),
        WITH_SYNTHETIC(test_chosen_cpus_are_one_thread_of_each_core),
        WITH_SYNTHETIC(test_binding_spans_and_is_cut),
        cmocka_unit_test(test_a_bound_process_keeps_its_mask),
        WITH_SYNTHETIC(test_a_bound_mask_is_shared),
        cmocka_unit_test(test_this_machine),
        cmocka_unit_test(test_routes_that_lead_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

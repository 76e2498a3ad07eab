#include "cb_test.h"

#include <stdio.h>
#include <string.h>

#include "topology/findings.h"

/* ---- a healthy node: two A100 on an NVSwitch, two InfiniBand ports beside them ---- */

struct scene {
    struct cb_facts facts;
    struct cb_findings_context context;
    struct cb_findings_rank ranks[2];
};

static void set(char *out, size_t size_bytes, const char *text)
{
    snprintf(out, size_bytes, "%s", text);
}
#define SET(member, text) set(member, sizeof(member), text)

static const struct cb_facts_pcie gen4_x16 = {4, 16, 4, 16, 4, false};

static void add_gpu(struct cb_facts *facts, const char *bus_id)
{
    struct cb_facts_gpu *gpu = &facts->gpus[facts->gpu_count];
    cb_facts_gpu_init(gpu);
    gpu->index = facts->gpu_count++;
    facts->gpus_found++;
    SET(gpu->name, "NVIDIA A100-SXM4-80GB");
    SET(gpu->bus_id, bus_id);
    gpu->numa = gpu->socket = 0;
    gpu->mig = 0;
    gpu->pcie = gen4_x16;
    gpu->nvlinks = gpu->nvlink_slots = gpu->nvlink_switch = 12;
    gpu->fabric = CB_FABRIC_DONE;
    gpu->fabric_unhealthy = 0;
}

static void add_nic(struct cb_facts *facts, const char *name, const char *bus_id)
{
    struct cb_facts_nic *nic = &facts->nics[facts->nic_count++];
    cb_facts_nic_init(nic);
    facts->nics_found++;
    SET(nic->port.name, name);
    SET(nic->port.kind, "InfiniBand");
    SET(nic->port.driver, "mlx5_core");
    SET(nic->bus_id, bus_id);
    SET(nic->state, "ACTIVE");
    nic->port.numa = 0;
    nic->port.up = true;
    nic->port.used = true;
    nic->port.mtu_bytes = 4092;
    nic->port.nominal_bytes_per_s = nic->port.stated_bytes_per_s = 25e9;
    nic->pcie = gen4_x16;
}

static void link_up(struct cb_facts *facts, const char *a, const char *b, const char *path,
                    int nvlinks, int peer_access)
{
    struct cb_facts_link *link = cb_facts_add_link(facts, a, b);
    assert_non_null(link);
    SET(link->path, path);
    link->nvlinks = nvlinks;
    link->peer_access = peer_access;
}

static void make_healthy(struct scene *scene)
{
    struct cb_facts *facts = &scene->facts;
    memset(scene, 0, sizeof(*scene));
    cb_facts_init(facts);
    SET(facts->virtualization, "none");
    SET(facts->container, "none");
    SET(facts->tcp_congestion, "cubic");
    facts->pci_devices = 40;
    facts->pci_locality = 1;
    facts->sockets = 2;
    facts->cpus = facts->allowed_cpus = 128;
    facts->iommu = facts->acs_bridges = 0;
    facts->peermem = facts->fabric_manager = 1;
    facts->dmabuf = 0;
    add_gpu(facts, "0000:07:00.0");
    add_gpu(facts, "0000:0f:00.0");
    add_nic(facts, "mlx5_0:1", "0000:0a:00.0");
    add_nic(facts, "mlx5_1:1", "0000:0d:00.0");
    link_up(facts, "GPU0", "GPU1", "NV12", 12, CB_PEER_OK);
    link_up(facts, "GPU0", "mlx5_0:1", "PXB", 0, -1);
    link_up(facts, "GPU0", "mlx5_1:1", "SYS", 0, -1);
    link_up(facts, "GPU1", "mlx5_0:1", "SYS", 0, -1);
    link_up(facts, "GPU1", "mlx5_1:1", "PXB", 0, -1);
    for (int i = 0; i < 2; i++)
        scene->ranks[i] = (struct cb_findings_rank){.rank = 8 + i, .device = "GPU", .near = 1};
    scene->context = (struct cb_findings_context){
        .node_count = 2, .ranks = scene->ranks, .rank_count = 2, .offered_kind = "InfiniBand"};
}

static size_t look(const struct scene *scene, struct cb_finding found[CB_FINDINGS_MAX])
{
    return cb_findings_find(&scene->facts, &scene->context, found);
}

/* ---- one fault each, and the nearest thing that is none ---- */

static void narrow_gpu(struct scene *s)
{
    s->facts.gpus[1].pcie.width = 8;
}
static void narrow_slot(struct scene *s)
{
    s->facts.gpus[1].pcie.width = s->facts.gpus[1].pcie.width_limit = 8;
}
static void slow_under_load(struct scene *s)
{
    s->facts.gpus[0].pcie.generation = 1;
    s->facts.gpus[0].pcie.loaded = true;
}
static void slow_when_idle(struct scene *s)
{
    s->facts.gpus[0].pcie.generation = 1;
}
static void slow_nic(struct scene *s)
{
    s->facts.nics[0].pcie.generation = 3;
}
static void nic_of_unknown_state(struct scene *s)
{
    s->facts.nics[0].pcie = (struct cb_facts_pcie){-1, -1, 4, 16, 4, false};
}
static void cut_port(struct scene *s)
{
    s->facts.nics[0].port.up = false;
    SET(s->facts.nics[0].state, "DOWN");
}
/* The second port of a card that nobody plugged in. */
static void leave_second_port(struct scene *s)
{
    cut_port(s);
    SET(s->facts.nics[0].bus_id, "0000:0d:00.1");
}
static void slow_port(struct scene *s)
{
    s->facts.nics[1].port.nominal_bytes_per_s = 12.5e9;
}
static void slow_port_of_another_role(struct scene *s)
{
    slow_port(s);
    SET(s->facts.nics[1].port.kind, "RoCE");
    s->facts.nics[1].port.mtu_bytes = 9000;
}
static void lose_nvlinks(struct scene *s)
{
    s->facts.gpus[1].nvlinks = 10;
}
static void lose_no_nvlinks(struct scene *s)
{
    s->facts.gpus[1].nvlinks = s->facts.gpus[0].nvlinks = -1;
}
static void stop_fabric(struct scene *s)
{
    s->facts.gpus[0].fabric = CB_FABRIC_NOT_STARTED;
}
static void stop_manager(struct scene *s)
{
    s->facts.gpus[0].fabric = -1;
    s->facts.fabric_manager = 0;
    s->facts.links[0].peer_access = CB_PEER_UNSUPPORTED;
}
static void hide_manager(struct scene *s)
{
    stop_manager(s);
    s->facts.fabric_manager = -1;
}
static void have_no_fabric(struct scene *s)
{
    s->facts.gpus[0].fabric = CB_FABRIC_NONE;
    s->facts.fabric_manager = 0;
}
static void drop_peermem(struct scene *s)
{
    s->facts.peermem = 0;
}
static void swap_for_dmabuf(struct scene *s)
{
    s->facts.peermem = 0;
    s->facts.dmabuf = 1;
}
static void misplace_rank(struct scene *s)
{
    s->ranks[1].near = 0;
}
static void misplace_unknown(struct scene *s)
{
    s->ranks[1].near = -1;
}
static void swap_for_ethernet(struct scene *s)
{
    for (int i = 0; i < 2; i++) {
        SET(s->facts.nics[i].port.kind, "RoCE");
        s->facts.nics[i].port.mtu_bytes = 9000;
        s->facts.nics[i].roce_v2 = 1;
    }
}
static void swap_as_offered(struct scene *s)
{
    swap_for_ethernet(s);
    s->context.offered_kind = "RoCE";
}
static void switch_acs_on(struct scene *s)
{
    s->facts.acs_bridges = 2;
    SET(s->facts.acs_bridge, "0000:05:00.0");
}
static void switch_acs_on_for_guest(struct scene *s)
{
    switch_acs_on(s);
    SET(s->facts.virtualization, "KVM");
}
static void translate(struct scene *s)
{
    s->facts.iommu = 1;
}
static void translate_unknown(struct scene *s)
{
    s->facts.iommu = -1;
}
static void forbid_access(struct scene *s)
{
    s->facts.links[0].peer_access = CB_PEER_CHIPSET;
}
static void forget_access(struct scene *s)
{
    s->facts.links[0].peer_access = -1;
}
static void part_gpu_and_nic(struct scene *s)
{
    SET(s->facts.links[4].path, "SYS");
}
static void move_to_other_bridge(struct scene *s)
{
    SET(s->facts.links[4].path, "NODE");
}
static void sell_fewer_links(struct scene *s)
{
    for (int i = 0; i < 2; i++)
        s->facts.gpus[i].nvlinks = s->facts.gpus[i].nvlink_slots = 6;
}
static void sell_pcie_cards(struct scene *s)
{
    for (int i = 0; i < 2; i++) {
        SET(s->facts.gpus[i].name, "NVIDIA A100 80GB PCIe");
        s->facts.gpus[i].nvlinks = s->facts.gpus[i].nvlink_slots = 0; /* no bridge was bought */
    }
}
static void sell_variant(struct scene *s)
{
    for (int i = 0; i < 2; i++) {
        SET(s->facts.gpus[i].name, "NVIDIA A800-SXM4-80GB");
        s->facts.gpus[i].nvlinks = s->facts.gpus[i].nvlink_slots = 8;
    }
}
static void sell_variant_as_original(struct scene *s)
{
    for (int i = 0; i < 2; i++)
        s->facts.gpus[i].nvlinks = s->facts.gpus[i].nvlink_slots = 8;
}
static void partition(struct scene *s)
{
    s->facts.gpus[0].mig = 1;
}
static void partition_unknown(struct scene *s)
{
    s->facts.gpus[0].mig = -1;
}
static void starve(struct scene *s)
{
    s->facts.allowed_cpus = 1;
}
static void starve_by_quota(struct scene *s)
{
    s->facts.cpu_limit = 1.5;
}
static void feed_just_enough(struct scene *s)
{
    s->facts.allowed_cpus = 2;
    s->facts.cpu_limit = 2;
}
static void shrink_mtu(struct scene *s)
{
    swap_as_offered(s);
    s->facts.nics[0].port.mtu_bytes = 1500;
}
static void shrink_ipoib_mtu(struct scene *s)
{
    s->facts.nics[0].port.mtu_bytes = 2044;
}
static void offer_v1_only(struct scene *s)
{
    swap_as_offered(s);
    s->facts.nics[1].roce_v1 = 1;
    s->facts.nics[1].roce_v2 = 0;
}
static void offer_both_versions(struct scene *s)
{
    swap_as_offered(s);
    s->facts.nics[1].roce_v1 = 1;
}
static void slice_nic(struct scene *s)
{
    s->facts.nics[0].port.virtual_function = true;
}
static void add_front_end(struct scene *s)
{
    add_nic(&s->facts, "eth0", "0000:60:00.1");
    struct cb_topo_nic *port = &s->facts.nics[2].port;
    SET(port->kind, "Ethernet");
    port->nominal_bytes_per_s = 3.125e9;
    port->used = false;
}
static void slice_front_end(struct scene *s)
{
    add_front_end(s);
    s->facts.nics[2].port.virtual_function = true;
}
static void take_bbr(struct scene *s)
{
    SET(s->facts.tcp_congestion, "bbr");
}
static void take_bbr_alone(struct scene *s)
{
    take_bbr(s);
    s->context.node_count = 1;
}
static void make_speed_up(struct scene *s)
{
    s->facts.nics[0].port.nominal_bytes_per_s = 0;
}
static void make_unused_speed_up(struct scene *s)
{
    add_front_end(s);
    s->facts.nics[2].port.nominal_bytes_per_s = 0;
}
static void make_speed_up_where_offered(struct scene *s)
{
    make_speed_up(s);
    s->context.nominal_is_known = true;
}
static void use_one(struct scene *s)
{
    s->facts.nics[0].port.used = false;
}
static void use_one_of_one(struct scene *s)
{
    s->facts.nic_count = 1;
    add_front_end(s);
}
static void hide_tree(struct scene *s)
{
    s->facts.pci_devices = 0;
    SET(s->facts.container, "Docker");
}
static void hide_locality(struct scene *s)
{
    s->facts.pci_locality = 0;
    SET(s->facts.virtualization, "KVM");
}
/* One NUMA node: the kernel has nothing to say. */
static void have_one_numa_node(struct scene *s)
{
    s->facts.pci_locality = 0;
}

static const struct {
    const char *code;
    void (*breaks)(struct scene *scene);
    void (*spares)(struct scene *scene);
    const char *seen; /* part of what is said */
} rows[] = {
    {"pcie.width", narrow_gpu, narrow_slot, "GPU1 0000:0f:00.0 runs 8 of 16"},
    {"pcie.generation", slow_under_load, slow_when_idle, "GPU0 0000:07:00.0 ran PCIe generation 1"},
    {"pcie.generation", slow_nic, nic_of_unknown_state,
     "mlx5_0:1 0000:0a:00.0 runs PCIe generation 3"},
    {"port.down", cut_port, leave_second_port, "mlx5_0:1 (InfiniBand) is DOWN"},
    {"port.mixed_speeds", slow_port, slow_port_of_another_role,
     "mlx5_1:1 runs at 100 Gb/s, mlx5_0:1 at 200 Gb/s"},
    {"nvlink.inactive", lose_nvlinks, lose_no_nvlinks,
     "GPU1 has 10 active NVLinks, others of the node have 12"},
    {"nvlink.fabric", stop_fabric, have_no_fabric,
     "GPU0 is not registered with the NVLink fabric (not started)"},
    {"nvlink.fabric", stop_manager, hide_manager, "nv-fabricmanager does not run"},
    {"gpu.gpudirect_missing", drop_peermem, swap_for_dmabuf, "neither nvidia_peermem nor DMA-BUF"},
    {"rank.away", misplace_rank, misplace_unknown, "rank 9 runs on no CPU that is near its GPU"},
    {"offer.not_infiniband", swap_for_ethernet, swap_as_offered, "mlx5_0:1 is RoCE"},
    {"acs.on", switch_acs_on, switch_acs_on_for_guest, "bridge 0000:05:00.0"},
    {"iommu.translating", translate, translate_unknown, "the IOMMU translates"},
    {"gpu.peer_access", forbid_access, forget_access,
     "GPU0 cannot reach GPU1's memory: the chipset"},
    {"gpu.nic_far", part_gpu_and_nic, move_to_other_bridge, "GPU1 has no NIC on its own NUMA node"},
    {"nvlink.fewer", sell_fewer_links, sell_pcie_cards,
     "GPU0 (NVIDIA A100-SXM4-80GB) has 6 NVLinks, the product has 12; and 1 more"},
    {"nvlink.export_variant", sell_variant, narrow_gpu,
     "GPU0 is a NVIDIA A800-SXM4-80GB: 8 NVLinks where the A100-SXM has 12"},
    {"nvlink.export_variant", sell_variant_as_original, sell_fewer_links,
     "calls itself NVIDIA A100-SXM4-80GB but has 8"},
    {"gpu.mig", partition, partition_unknown, "GPU0 is partitioned"},
    {"cpu.fewer_than_gpus", starve, feed_just_enough, "1 CPUs may be used beside 2 GPUs"},
    {"cpu.fewer_than_gpus", starve_by_quota, feed_just_enough, "the time of 1.5 CPUs"},
    {"roce.mtu", shrink_mtu, shrink_ipoib_mtu, "mlx5_0:1 carries RoCE with an MTU of 1500"},
    {"roce.v1", offer_v1_only, offer_both_versions, "mlx5_1:1 offers RoCE v1 only"},
    {"nic.virtual_function", slice_nic, slice_front_end, "mlx5_0:1 is a virtual function"},
    {"tcp.bbr", take_bbr, take_bbr_alone, "TCP uses bbr"},
    {"nic.speed_made_up", make_speed_up, make_unused_speed_up, "mlx5_0:1 (driver mlx5_core)"},
    {"nic.speed_made_up", make_speed_up, make_speed_up_where_offered, "does not know its speed"},
    {"nic.one_of_several", use_one, use_one_of_one, "takes mlx5_1:1; 1 more"},
    {"pci.hidden", hide_tree, narrow_gpu, "no PCI device in Docker"},
    {"pci.no_locality", hide_locality, have_one_numa_node, "under KVM"},
};

static const struct cb_finding *find(const struct cb_finding *found, size_t count, const char *code)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(found[i].code, code) == 0)
            return &found[i];
    return NULL;
}

static void test_healthy_node_has_none(void **state)
{
    struct cb_finding found[CB_FINDINGS_MAX];
    static struct scene scene;
    (void)state;
    make_healthy(&scene);
    size_t count = look(&scene, found);
    if (count)
        print_error("%s: %s\n", found[0].code, found[0].seen);
    assert_int_equal(count, 0);
}

static void test_unknown_gives_none(void **state)
{
    struct cb_finding found[CB_FINDINGS_MAX];
    static struct cb_facts facts;
    (void)state;
    cb_facts_init(&facts);
    assert_int_equal(cb_findings_find(&facts, NULL, found), 0);
    /* Devices that say nothing of themselves. */
    for (int i = 0; i < 4; i++) {
        cb_facts_gpu_init(&facts.gpus[facts.gpu_count++]);
        cb_facts_nic_init(&facts.nics[facts.nic_count++]);
    }
    assert_int_equal(cb_findings_find(&facts, NULL, found), 0);
}

static void test_each_fault_is_found(void **state)
{
    static struct scene scene;
    struct cb_finding found[CB_FINDINGS_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        make_healthy(&scene);
        rows[i].breaks(&scene);
        size_t count = look(&scene, found);
        const struct cb_finding *finding = find(found, count, rows[i].code);
        if (!finding || !strstr(finding->seen, rows[i].seen)) {
            print_error("%s (row %zu): %s\n", rows[i].code, i,
                        finding ? finding->seen : "not found");
            fail();
        }
        assert_true(finding->why[0] && finding->remedy[0]);
    }
}

static void test_each_near_miss_is_not(void **state)
{
    static struct scene scene;
    struct cb_finding found[CB_FINDINGS_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        make_healthy(&scene);
        rows[i].spares(&scene);
        const struct cb_finding *finding = find(found, look(&scene, found), rows[i].code);
        if (finding) {
            print_error("%s (row %zu): %s\n", rows[i].code, i, finding->seen);
            fail();
        }
    }
}

static void test_every_rule_has_a_row(void **state)
{
    size_t index = 0;
    (void)state;
    for (const char *code; (code = cb_findings_code(index)); index++) {
        bool tested = false;
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
            tested |= strcmp(rows[i].code, code) == 0;
        if (!tested) {
            print_error("no test gives %s\n", code);
            fail();
        }
    }
    assert_true(index > 20);
}

static void test_worst_comes_first_and_texts_fit(void **state)
{
    static struct scene scene;
    struct cb_finding found[CB_FINDINGS_MAX];
    (void)state;
    make_healthy(&scene);
    take_bbr(&scene);
    narrow_gpu(&scene);
    use_one(&scene);
    switch_acs_on(&scene);
    size_t count = look(&scene, found);
    assert_int_equal(count, 4);
    for (size_t i = 1; i < count; i++)
        assert_true(found[i].severity <= found[i - 1].severity);
    for (size_t i = 0; i < count; i++) {
        assert_true(strlen(found[i].why) < sizeof(found[i].why) - 1);
        assert_true(strlen(found[i].remedy) < sizeof(found[i].remedy) - 1);
    }
}

/* ---- one number for equal nodes ---- */

static void test_twins_have_one_hash(void **state)
{
    static struct scene a, b;
    (void)state;
    make_healthy(&a);
    make_healthy(&b);
    SET(b.facts.gpus[0].bus_id, "0001:00:00.0");
    SET(b.facts.nics[0].bus_id, "4a2b:00:02.0");
    SET(b.facts.nics[0].port.name, "rocep4s0f0:1");
    SET(b.facts.links[1].b, "rocep4s0f0:1");
    b.facts.gpus[0].pcie.generation = 1;
    b.facts.pci_devices = 41;
    assert_true(cb_facts_hash(&a.facts) == cb_facts_hash(&b.facts));
}

static void test_what_differs_has_another_hash(void **state)
{
    static struct scene healthy, other;
    static void (*const changes[])(struct scene *) = {
        narrow_gpu,       slow_under_load, cut_port,      slow_port, lose_nvlinks,
        stop_fabric,      drop_peermem,    switch_acs_on, translate, forbid_access,
        part_gpu_and_nic, sell_variant,    partition,     starve,    starve_by_quota,
        slice_nic,        take_bbr,        use_one,       hide_tree, hide_locality,
        add_front_end};
    (void)state;
    make_healthy(&healthy);
    uint64_t hash = cb_facts_hash(&healthy.facts);
    for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
        make_healthy(&other);
        changes[i](&other);
        if (cb_facts_hash(&other.facts) == hash) {
            print_error("change %zu does not show\n", i);
            fail();
        }
    }
}

static void test_links_are_found_in_either_order(void **state)
{
    static struct scene scene;
    (void)state;
    make_healthy(&scene);
    assert_int_equal(cb_facts_find_link(&scene.facts, "mlx5_1:1", "GPU0"), 2);
    assert_int_equal(cb_facts_find_link(&scene.facts, "GPU0", "GPU0"), -1);
}

static void test_links_have_an_end(void **state)
{
    static struct cb_facts facts;
    (void)state;
    cb_facts_init(&facts);
    for (int i = 0; i < CB_FACTS_LINKS; i++)
        assert_non_null(cb_facts_add_link(&facts, "GPU0", "GPU1"));
    assert_null(cb_facts_add_link(&facts, "GPU0", "GPU1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_healthy_node_has_none),
        cmocka_unit_test(test_unknown_gives_none),
        cmocka_unit_test(test_each_fault_is_found),
        cmocka_unit_test(test_each_near_miss_is_not),
        cmocka_unit_test(test_every_rule_has_a_row),
        cmocka_unit_test(test_worst_comes_first_and_texts_fit),
        cmocka_unit_test(test_twins_have_one_hash),
        cmocka_unit_test(test_what_differs_has_another_hash),
        cmocka_unit_test(test_links_are_found_in_either_order),
        cmocka_unit_test(test_links_have_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#define _GNU_SOURCE /* sched_setaffinity, setenv */
#include "cb_test.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/binding.h"
#include "topology/binding.h"
#include "topology/facts.h"
#include "topology/map.h"

/* ---- who shares with whom ---- */

static void check(const struct cb_binding_wish *wishes, int count, int mine, int sharer,
                  int sharers)
{
    int place = -1, all = -1;
    cb_binding_share(wishes, count, mine, &place, &all);
    assert_int_equal(place, sharer);
    assert_int_equal(all, sharers);
}

static void test_ranks_beside_the_same_device_share(void **state)
{
    /* Two GPUs on each of two sockets, dealt out by turns, and one whose place is unknown. */
    const struct cb_binding_wish wishes[] = {
        {.cpus = "0-31"}, {.cpus = "32-63"}, {.cpus = "0-31"}, {.cpus = "32-63"}, {.cpus = ""}};
    (void)state;
    check(wishes, 5, 0, 0, 2);
    check(wishes, 5, 2, 1, 2);
    check(wishes, 5, 1, 0, 2);
    check(wishes, 5, 3, 1, 2);
    check(wishes, 5, 4, 0, 1);
}

static void test_ranks_bound_by_the_launcher_take_no_share(void **state)
{
    const struct cb_binding_wish wishes[] = {
        {.cpus = "0-31", .bound = true}, {.cpus = "0-31"}, {.cpus = "0-31"}};
    (void)state;
    check(wishes, 3, 1, 0, 2);
    check(wishes, 3, 2, 1, 2);
}

/* ---- this machine ---- */

static cpu_set_t allowed;

static int remember(void **state)
{
    (void)state;
    return sched_getaffinity(0, sizeof(allowed), &allowed);
}

static int restore(void **state)
{
    (void)state;
    return sched_setaffinity(0, sizeof(allowed), &allowed);
}

static void require_cores(int count)
{
    struct cb_topo_binding binding;
    struct cb_error err;
    assert_ok(cb_topo_discover_binding(&binding, &err), &err);
    if (binding.bound || binding.cores < count) {
        print_message("needs %d cores to choose from\n", count);
        skip();
    }
}

static void test_shares_are_disjoint_and_whole(void **state)
{
    struct cb_error err;
    cpu_set_t first, second, both;
    (void)state;
    require_cores(2);
    assert_int_equal(cb_near_bind("", 0, 2, &err), 1);
    assert_int_equal(sched_getaffinity(0, sizeof(first), &first), 0);
    restore(NULL);
    assert_int_equal(cb_near_bind("", 1, 2, &err), 1);
    assert_int_equal(sched_getaffinity(0, sizeof(second), &second), 0);
    CPU_AND(&both, &first, &second);
    assert_int_equal(CPU_COUNT(&both), 0);
    CPU_OR(&both, &first, &second);
    assert_true(CPU_EQUAL(&both, &allowed));
}

static void test_nothing_to_bind_to(void **state)
{
    struct cb_error err;
    cpu_set_t now;
    (void)state;
    assert_int_equal(cb_near_bind("", 0, 1, &err), 0);    /* everything */
    assert_int_equal(cb_near_bind("", 0, 9999, &err), 0); /* more ranks than cores */
    assert_int_equal(sched_getaffinity(0, sizeof(now), &now), 0);
    assert_true(CPU_EQUAL(&now, &allowed));
}

static void test_share_of_some_cpus(void **state)
{
    struct cb_error err;
    struct cb_topo_binding binding;
    char cpus[32];
    cpu_set_t now;
    (void)state;
    require_cores(2);
    size_t last = CPU_SETSIZE - 1;
    while (!CPU_ISSET(last, &allowed))
        last--;
    snprintf(cpus, sizeof(cpus), "%zu", last);
    assert_int_equal(cb_near_compare(cpus), 1);
    int bound = cb_near_bind(cpus, 0, 1, &err);
    if (bound == 0) /* one hardware thread of a core that has two is no whole core */
        skip();
    assert_int_equal(sched_getaffinity(0, sizeof(now), &now), 0);
    assert_int_equal(CPU_COUNT(&now), 1);
    assert_true(CPU_ISSET(last, &now));
    assert_ok(cb_topo_discover_binding(&binding, &err), &err);
    assert_true(binding.bound);
    assert_int_equal(cb_near_compare(cpus), 1);
    for (size_t other = 0; other < last; other++)
        if (CPU_ISSET(other, &allowed)) {
            snprintf(cpus, sizeof(cpus), "%zu", other);
            assert_int_equal(cb_near_compare(cpus), 0);
            return;
        }
}

static void test_unknown_place(void **state)
{
    char cpus[64] = "7", bus_id[24] = "x";
    (void)state;
    assert_false(cb_near_find_cpus("ffff:1f:1f.7", cpus, sizeof(cpus)));
    assert_string_equal(cpus, "");
    assert_int_equal(cb_near_compare(""), -1);
    assert_false(cb_near_find_interface("no-such-interface", bus_id, sizeof(bus_id)));
    assert_string_equal(bus_id, "");
    assert_false(cb_near_find_interface("", bus_id, sizeof(bus_id)));
}

/* ---- a machine of two sockets, in place of this one: a GPU in each, a NIC in the first ---- */

static int pretend(void **state)
{
    (void)state;
    return setenv("HWLOC_XMLFILE", TWO_SOCKETS, 1);
}

static int stop_pretending(void **state)
{
    (void)state;
    return unsetenv("HWLOC_XMLFILE");
}

static void test_cpus_beside_a_device(void **state)
{
    struct cb_error err;
    char cpus[64];
    (void)state;
    assert_true(cb_near_find_cpus("0000:11:00.0", cpus, sizeof(cpus)));
    assert_string_equal(cpus, "0-1");
    assert_true(cb_near_find_cpus("00000000:81:00.0", cpus, sizeof(cpus)));
    assert_string_equal(cpus, "2-3");
    assert_false(cb_near_find_cpus("0000:99:00.0", cpus, sizeof(cpus)));
    /* Another machine's CPUs are nothing to bind to. */
    assert_int_equal(cb_near_bind("2-3", 0, 1, &err), 0);
}

static void test_nvml_and_hwloc_are_joined_on_bus_ids(void **state)
{
    static struct cb_facts facts;
    static const char *const bus_ids[] = {"0000:81:00.0", "0000:11:00.0", "0000:99:00.0"};
    struct cb_map map;
    struct cb_error err;
    (void)state;
    cb_facts_init(&facts);
    for (int i = 0; i < 3; i++) {
        struct cb_facts_gpu *gpu = &facts.gpus[facts.gpu_count++];
        cb_facts_gpu_init(gpu);
        gpu->index = i;
        snprintf(gpu->bus_id, sizeof(gpu->bus_id), "%s", bus_ids[i]);
    }
    struct cb_facts_nic *nic = &facts.nics[facts.nic_count++];
    cb_facts_nic_init(nic);
    snprintf(nic->port.name, sizeof(nic->port.name), "mlx5_0:1");
    snprintf(nic->bus_id, sizeof(nic->bus_id), "0000:12:00.0");
    assert_ok(cb_map_discover(&map, &err), &err);
    cb_facts_add_paths(&map, &facts);
    cb_map_fini(&map);
    assert_int_equal(facts.gpus[0].numa, 1);
    assert_int_equal(facts.gpus[1].numa, 0);
    assert_int_equal(facts.gpus[2].numa, -1);
    assert_string_equal(facts.links[cb_facts_find_link(&facts, "GPU0", "mlx5_0:1")].path, "SYS");
    assert_string_equal(facts.links[cb_facts_find_link(&facts, "GPU1", "mlx5_0:1")].path, "PHB");
    /* A GPU that the kernel does not show has no place, and no worst one either. */
    assert_int_equal(cb_facts_find_link(&facts, "GPU2", "mlx5_0:1"), -1);
}

static void add_rank(struct cb_result *result, int node, const char *bound_by, int cores)
{
    struct cb_rank *rank = cb_vec_add(&result->ranks);
    assert_non_null(rank);
    rank->rank = (int)result->ranks.count - 1;
    rank->node = node;
    rank->binding.cores = cores;
    snprintf(rank->bound_by, sizeof(rank->bound_by), "%s", bound_by);
}

/* A small node is not crowded for what runs on a large one, nor has it cores to spare. */
static void test_warnings_go_by_the_ranks_of_each_node(void **state)
{
    (void)state;
    struct cb_result result;
    cb_result_init(&result);
    for (int node = 0; node < 2; node++) {
        struct cb_topo_host *host = cb_vec_add(&result.nodes);
        assert_non_null(host);
        host->cores = node == 0 ? 2 : 8;
    }
    for (int i = 0; i < 2; i++)
        add_rank(&result, 0, "launcher", 1);
    for (int i = 0; i < 4; i++)
        add_rank(&result, 1, "commbound", 1);
    cb_binding_warn(&result);
    assert_int_equal(result.warnings.count, 0);
    add_rank(&result, 1, "launcher", 1);
    add_rank(&result, 0, "", 2);
    cb_binding_warn(&result);
    assert_int_equal(result.warnings.count, 2);
    assert_string_equal(result.warnings.items[0].code, "binding.one_core");
    assert_non_null(strstr(result.warnings.items[0].text, "1 rank(s), the first is rank 6"));
    assert_string_equal(result.warnings.items[1].code, "ranks.oversubscribed");
    assert_non_null(strstr(result.warnings.items[1].text, "more ranks (3)"));
    cb_result_fini(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_beside_the_same_device_share),
        cmocka_unit_test(test_ranks_bound_by_the_launcher_take_no_share),
        cmocka_unit_test_setup_teardown(test_shares_are_disjoint_and_whole, remember, restore),
        cmocka_unit_test_setup_teardown(test_nothing_to_bind_to, remember, restore),
        cmocka_unit_test_setup_teardown(test_share_of_some_cpus, remember, restore),
        cmocka_unit_test(test_unknown_place),
        cmocka_unit_test(test_warnings_go_by_the_ranks_of_each_node),
        cmocka_unit_test_setup_teardown(test_cpus_beside_a_device, pretend, stop_pretending),
        cmocka_unit_test_setup_teardown(test_nvml_and_hwloc_are_joined_on_bus_ids, pretend,
                                        stop_pretending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

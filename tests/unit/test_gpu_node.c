#include "cb_test.h"

#include <string.h>

#include "fake_nvml.h"
#include "gpu/node.h"

#define FIRST "0000:07:00.0"
#define SECOND "0000:0f:00.0"

static struct fake_nvml nvml;
static struct cb_facts facts;

/* Two A100 on a switch, unless a test says otherwise. */
static int make_two(void **state)
{
    (void)state;
    nvml = (struct fake_nvml){.count = 2, .cards = {fake_a100(FIRST), fake_a100(SECOND)}};
    return 0;
}

static const struct cb_facts_link *look(void)
{
    struct cb_nvml_api api;
    fake_nvml_fill(&nvml, &api);
    cb_facts_init(&facts);
    cb_gpu_look_at_node(&api, &facts);
    int link = cb_facts_find_link(&facts, "GPU0", "GPU1");
    return link < 0 ? NULL : &facts.links[link];
}

static void test_switched_pair(void **state)
{
    (void)state;
    nvml.cards[1].links_active = 10;
    const struct cb_facts_link *link = look();
    assert_int_equal(facts.gpu_count, 2);
    assert_string_equal(facts.gpus[1].bus_id, SECOND);
    assert_int_equal(facts.gpus[0].nvlink_switch, 12);
    assert_int_equal(facts.gpus[1].nvlinks, 10);
    assert_int_equal(facts.gpus[1].nvlink_slots, 12);
    assert_int_equal(facts.gpus[0].nvlink_version, 30);
    assert_near(facts.gpus[0].nvlink_bytes_per_s, 25e9, 1e-12);
    assert_string_equal(link->kind, "NVSwitch");
    assert_string_equal(link->path, "NV10");
    assert_near(link->bytes_per_s_one_way, 250e9, 1e-12);
    assert_int_equal(link->peer_access, CB_PEER_OK);
}

/* Two of four links lead to the other card; one end withholds the addresses. */
static void test_direct_pair(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        nvml.cards[i].link_end = CB_NVML_END_GPU;
        nvml.cards[i].links = nvml.cards[i].links_active = 4;
    }
    nvml.cards[1].link_ends[0] = "00000000:07:00.0";
    nvml.cards[1].link_ends[1] = "00000000:07:00.0";
    nvml.cards[1].link_ends[2] = "00000000:4E:00.0";
    const struct cb_facts_link *link = look();
    assert_int_equal(facts.gpus[1].nvlinks, 4);
    assert_string_equal(link->kind, "NVLink");
    assert_string_equal(link->path, "NV2");
    assert_int_equal(link->nvlinks, 2);
}

static void test_speed_of_links(void **state)
{
    (void)state;
    static const struct {
        unsigned mbps;
        double bytes_per_s;
    } rows[] = {{20000, 20e9}, {25781, 25e9}, {26562, 25e9}, {53125, 50e9}, {15625, 15.625e9}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        nvml.cards[0].link_mbps = nvml.cards[1].link_mbps = rows[i].mbps;
        const struct cb_facts_link *link = look();
        assert_near(facts.gpus[0].nvlink_bytes_per_s, rows[i].bytes_per_s, 1e-12);
        assert_near(link->bytes_per_s_one_way, 12 * rows[i].bytes_per_s, 1e-12);
    }
}

/* In a virtual machine the switches have an address that nothing has, and no kind. */
static void test_switches_out_of_sight(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        nvml.cards[i].link_end = CB_NVML_END_UNKNOWN;
        for (unsigned link = 0; link < nvml.cards[i].links; link++)
            nvml.cards[i].link_ends[link] = i ? "FFFFFFFF:FFFF:FF.0" : "00000000:C4:00.0";
    }
    const struct cb_facts_link *link = look();
    assert_int_equal(facts.gpus[0].nvlink_switch, 12);
    assert_int_equal(facts.gpus[1].nvlink_switch, 12);
    assert_string_equal(link->kind, "NVSwitch");
    assert_string_equal(link->path, "NV12");
    /* An address of another card is that card, told or not. */
    nvml.cards[0].link_ends[3] = "00000000:0F:00.0";
    link = look();
    assert_int_equal(facts.gpus[0].nvlink_switch, 11);
    assert_string_equal(link->kind, "NVLink");
}

/* Links that work and lead nobody knows where are not said to be absent. */
static void test_links_to_nowhere(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        nvml.cards[i].link_end = CB_NVML_END_UNKNOWN;
    const struct cb_facts_link *link = look();
    assert_int_equal(facts.gpus[0].nvlinks, 12);
    assert_string_equal(link->kind, "");
    assert_string_equal(link->path, "SYS");
    nvml.cards[1].links_active = 0; /* one end without: over PCIe */
    assert_string_equal(look()->kind, "PCIe");
}

static void test_pair_over_pcie(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        nvml.cards[i].links = 0;
        nvml.cards[i].level = CB_NVML_LEVEL_HOSTBRIDGE;
        nvml.cards[i].peer_status = CB_PEER_GPU;
        nvml.cards[i].fabric_state = -1;
    }
    const struct cb_facts_link *link = look();
    assert_int_equal(facts.gpus[0].nvlinks, 0);
    assert_int_equal(facts.gpus[0].fabric, -1);
    assert_string_equal(link->path, "PHB");
    assert_string_equal(link->kind, "PCIe");
    assert_near(link->bytes_per_s_one_way, 0, 0);
    assert_int_equal(link->peer_access, CB_PEER_GPU);
}

static void test_fabric_health(void **state)
{
    static const struct {
        unsigned health;
        int unhealthy;
    } rows[] = {
        {0x1aa, 0}, /* four times no, configuration right */
        {0x1a9, 1}, /* degraded bandwidth */
        {0x19a, 1}, /* an unhealthy route */
        {0x5aa, 1}, /* too few NVLinks in the configuration */
        {0x000, 0}, /* nothing is told */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        nvml.cards[0].fabric_state = CB_FABRIC_DONE;
        nvml.cards[0].fabric_health = rows[i].health;
        look();
        assert_int_equal(facts.gpus[0].fabric, CB_FABRIC_DONE);
        assert_int_equal(facts.gpus[0].fabric_unhealthy, rows[i].unhealthy);
    }
    nvml.cards[0].fabric_state = CB_FABRIC_IN_PROGRESS;
    look();
    assert_int_equal(facts.gpus[0].fabric, CB_FABRIC_IN_PROGRESS);
    assert_int_equal(facts.gpus[0].fabric_unhealthy, 0);
}

/* A refusal in the middle leaves the count unknown rather than low. */
static void test_refused_link(void **state)
{
    (void)state;
    nvml.cards[1].third_link_result = CB_NVML_UNKNOWN;
    const struct cb_facts_link *link = look();
    assert_int_equal(facts.gpus[0].nvlinks, 12);
    assert_int_equal(facts.gpus[1].nvlinks, -1);
    assert_int_equal(facts.gpus[1].nvlink_switch, -1);
    assert_int_equal(link->nvlinks, 0);
    assert_string_equal(link->path, "SYS"); /* over PCIe, as NVML says it */
}

/* A link that the card lacks is none, and the numbers go on behind it. */
static void test_lacking_link(void **state)
{
    (void)state;
    nvml.cards[1].third_link_result = CB_NVML_NOT_SUPPORTED;
    const struct cb_facts_link *link = look();
    assert_int_equal(facts.gpus[1].nvlinks, 11);
    assert_int_equal(facts.gpus[1].nvlink_slots, 11);
    assert_int_equal(link->nvlinks, 11);
}

/* A card that does not answer is known to be there and nothing else. */
static void test_lost_card(void **state)
{
    (void)state;
    nvml.cards[1].result = CB_NVML_GPU_IS_LOST;
    const struct cb_facts_link *link = look();
    assert_int_equal(facts.gpu_count, 2);
    assert_string_equal(facts.gpus[1].bus_id, "");
    assert_int_equal(facts.gpus[1].nvlinks, -1);
    assert_int_equal(facts.gpus[1].pcie.width, -1);
    assert_int_equal(link->peer_access, -1);
    assert_string_equal(link->path, "");
}

static void test_library_that_lacks_everything_optional(void **state)
{
    struct cb_nvml_api api, bare = {.driver = ""};
    (void)state;
    fake_nvml_fill(&nvml, &api);
    bare.nvmlDeviceGetCount_v2 = api.nvmlDeviceGetCount_v2;
    bare.nvmlDeviceGetHandleByIndex_v2 = api.nvmlDeviceGetHandleByIndex_v2;
    bare.nvmlDeviceGetName = api.nvmlDeviceGetName;
    bare.nvmlDeviceGetPciInfo_v3 = api.nvmlDeviceGetPciInfo_v3;
    bare.nvmlErrorString = api.nvmlErrorString;
    cb_facts_init(&facts);
    cb_gpu_look_at_node(&bare, &facts);
    assert_int_equal(facts.gpu_count, 2);
    assert_string_equal(facts.gpus[0].bus_id, FIRST);
    assert_int_equal(facts.gpus[0].nvlinks, -1);
    assert_int_equal(facts.gpus[0].mig, -1);
    assert_int_equal(facts.links[0].peer_access, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_switched_pair, make_two),
        cmocka_unit_test_setup(test_direct_pair, make_two),
        cmocka_unit_test_setup(test_speed_of_links, make_two),
        cmocka_unit_test_setup(test_switches_out_of_sight, make_two),
        cmocka_unit_test_setup(test_links_to_nowhere, make_two),
        cmocka_unit_test_setup(test_pair_over_pcie, make_two),
        cmocka_unit_test_setup(test_fabric_health, make_two),
        cmocka_unit_test_setup(test_refused_link, make_two),
        cmocka_unit_test_setup(test_lacking_link, make_two),
        cmocka_unit_test_setup(test_lost_card, make_two),
        cmocka_unit_test_setup(test_library_that_lacks_everything_optional, make_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

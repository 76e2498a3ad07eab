/* The table of links against the arithmetic of its own columns, and against figures that are
 * published elsewhere. */
#include "cb_test.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "reference/links.h"

static const struct cb_link_reference *named(const char *name)
{
    const struct cb_link_reference *link = cb_link_reference_find_name(name);
    if (!link)
        fail_msg("no link '%s'", name);
    return link;
}

/* What the documents call these links. */
static void test_the_documents_figures(void **state)
{
    (void)state;
    assert_near(named("nvlink3")->both_ways_bytes_per_s, 600e9, 0);
    assert_near(named("nvlink3")->nominal_bytes_per_s, 300e9, 0);
    assert_near(named("roce-100G")->nominal_bytes_per_s, 12.5e9, 0);
    assert_near(named("gigabit")->nominal_bytes_per_s, 0.125e9, 0);
    /* What TCP leaves of a gigabit at an MTU of 1500: 0.1177 GB/s of 1448 in 1538 bytes. */
    assert_near(named("eth-1g")->practical_low_bytes_per_s, 0.1177e9, 1e-3);
}

static void test_payload_is_lanes_times_rate(void **state)
{
    (void)state;
    size_t count, told_by_lane = 0;
    const struct cb_link_reference *links = cb_link_references(&count);
    for (size_t i = 0; i < count; i++) {
        const struct cb_link_reference *link = &links[i];
        if (link->lanes < 0)
            continue;
        told_by_lane++;
        double payload = link->links * link->lanes * link->lane_bits_per_s / 8;
        assert_near(link->payload_bytes_per_s, payload, 1e-3);
    }
    assert_true(told_by_lane >= 48);
}

/* PCIe 1 and 2 and InfiniBand to QDR send 10 bits for 8, PCIe 3 to 5 130 for 128, PCIe 6 256 bytes
 * for 242, FDR and EDR 66 for 64; from HDR on a lane is called by what is left of it. */
static void test_coding(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double coding;
    } rows[] = {
        {"pcie1-x16", 8.0 / 10},    {"pcie2-x16", 8.0 / 10},    {"pcie3-x16", 128.0 / 130},
        {"pcie4-x16", 128.0 / 130}, {"pcie5-x16", 128.0 / 130}, {"pcie6-x16", 242.0 / 256},
        {"ib-sdr-4x", 8.0 / 10},    {"ib-ddr-4x", 8.0 / 10},    {"ib-qdr-4x", 8.0 / 10},
        {"ib-fdr10-4x", 64.0 / 66}, {"ib-fdr-4x", 64.0 / 66},   {"ib-edr-4x", 64.0 / 66},
        {"ib-hdr-4x", 16.0 / 17},   {"ib-ndr-4x", 16.0 / 17},   {"ib-xdr-4x", 16.0 / 17},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct cb_link_reference *link = named(rows[i].name);
        assert_near(link->lane_bits_per_s, link->lane_signal_per_s * rows[i].coding, 1e-4);
    }
}

static void test_every_row(void **state)
{
    (void)state;
    size_t count;
    const struct cb_link_reference *links = cb_link_references(&count);
    for (size_t i = 0; i < count; i++) {
        const struct cb_link_reference *link = &links[i];
        assert_near(link->both_ways_bytes_per_s, 2 * link->payload_bytes_per_s, 1e-3);
        /* Coding takes some of what is sold, and never adds any. */
        assert_true(link->payload_bytes_per_s <= link->nominal_bytes_per_s * 1.0005);
        assert_true(link->payload_bytes_per_s >= link->nominal_bytes_per_s * 0.79);
        assert_true(strlen(link->source) > 0);
        assert_true(link->links >= 1);
        bool was_seen = link->practical_low_bytes_per_s > 0;
        assert_int_equal(was_seen, link->practical_high_bytes_per_s > 0);
        assert_int_equal(was_seen, strlen(link->practical_basis) > 0);
        if (was_seen) {
            assert_true(link->practical_low_bytes_per_s <= link->practical_high_bytes_per_s);
            assert_true(link->practical_high_bytes_per_s < link->payload_bytes_per_s);
        }
        /* A name finds its own row, and no two rows share one. */
        assert_ptr_equal(cb_link_reference_find_name(link->name), link);
        assert_true(strlen(cb_link_family_name(link->family)) > 0);
    }
}

/* Rows picked by hand. */
static void test_published_figures(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double payload_gb_s, practical_gb_s;
    } rows[] = {
        {"pcie4-x16", 31.508, 25.9}, {"pcie5-x16", 63.015, 55.1}, {"pcie6-x16", 121, -1},
        {"nvlink2", 150, -1},        {"nvlink4", 450, 376},       {"nvlink5", 900, 746},
        {"xgmi-mi300x", 448, -1},    {"ib-fdr-4x", 6.818, -1},    {"ib-hdr-4x", 25, 23.7},
        {"ib-ndr-4x", 50, 48.5},     {"roce-25g", 3.125, 2.84},   {"roce-200g", 25, 24},
        {"efa-200", 25, 24.2},       {"dgx-h100-ndr", 400, 370},  {"nvlink-c2c", 450, -1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct cb_link_reference *link = named(rows[i].name);
        assert_near(link->payload_bytes_per_s, rows[i].payload_gb_s * 1e9, 1e-3);
        if (rows[i].practical_gb_s > 0)
            assert_near(link->practical_low_bytes_per_s, rows[i].practical_gb_s * 1e9, 1e-6);
        else
            assert_near(link->practical_low_bytes_per_s, -1, 0);
    }
}

static void test_names_as_people_write_them(void **state)
{
    (void)state;
    static const struct {
        const char *written, *name;
    } names[] = {
        {"NVLink 3", "nvlink3"},
        {"nvlink-4", "nvlink4"},
        {"NVLINK5", "nvlink5"},
        {"nvlink_gen3", "nvlink3"},
        {"pcie4", "pcie4-x16"},

        {"pcie4x8", "pcie4-x8"},
        {"PCIe Gen5 x16", "pcie5-x16"},
        {"gen4", "pcie4-x16"},
        {"roce-100G", "roce-100g"},
        {"RoCE 100", "roce-100g"},
        {"RoCEv2 400G", "roce-400g"},
        {"roce400gbps", "roce-400g"},
        {"ib-ndr", "ib-ndr-4x"},
        {"NDR", "ib-ndr-4x"},
        {"InfiniBand HDR", "ib-hdr-4x"},
        {"HDR100", "ib-hdr-2x"},
        {"ib-400G", "ib-ndr-4x"},
        {"infiniband 200 Gbps", "ib-hdr-4x"},
        {"10GbE", "eth-10g"},
        {"100 GbE", "eth-100g"},
        {"ethernet-25G", "eth-25g"},
        {"gigabit ethernet", "eth-1g"},
        {"tcp-10g", "eth-10g"},
        {"efa-400", "efa-400"},
        {"EFA 200G", "efa-200"},
        {"p5en", "efa-p5en"},
        {"TCPXO", "gcp-a3-mega-tcpxo"},
        {"slingshot", "slingshot-11"},
        {"MI300X", "xgmi-mi300x"},
        {"c2c", "nvlink-c2c"},
        {"fdr10", "ib-fdr10-4x"},
        {"fdr", "ib-fdr-4x"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct cb_link_reference *link = cb_link_reference_find_name(names[i].written);
        if (!link)
            fail_msg("no link '%s'", names[i].written);
        assert_string_equal(link->name, names[i].name);
    }
}

static void test_what_is_not_in_the_table(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",
        "-",
        "100",
        "roce",
        "nvlink",
        "nvlink9",
        "roce-150g",
        "ib",
        "NV4",
        "pcie4-x3",
        "x16",
        "a name that is a good deal longer than any that there is in the table of links",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (cb_link_reference_find_name(names[i]))
            fail_msg("'%s' is %s", names[i], cb_link_reference_find_name(names[i])->name);
}

static bool suggests(const char *text, const char *name)
{
    const struct cb_link_reference *nearest[CB_SUGGEST_LIMIT];
    size_t count = cb_link_reference_nearest(text, nearest, 5);
    assert_true(count <= 5);
    for (size_t i = 0; i < count; i++)
        if (strcmp(nearest[i]->name, name) == 0)
            return true;
    return false;
}

static void test_nearest(void **state)
{
    (void)state;
    assert_true(suggests("nvlink", "nvlink3"));
    assert_true(suggests("nvlink", "nvlink5"));
    assert_true(suggests("nvlnk3", "nvlink3"));
    assert_true(suggests("roce-150g", "roce-100g"));
    assert_true(suggests("ib-ndt", "ib-ndr-4x"));
    assert_true(suggests("pcie7-x16", "pcie5-x16"));
    assert_true(suggests("slingshot-12", "slingshot-11"));
    const struct cb_link_reference *nearest[CB_SUGGEST_LIMIT];
    assert_int_equal(cb_link_reference_nearest("frobnicator", nearest, 5), 0);
    assert_int_equal(cb_link_reference_nearest("", nearest, 5), 0);
    assert_int_equal(cb_link_reference_nearest("nvlink", nearest, 0), 0);
    assert_int_equal(cb_link_reference_nearest("nvlink", nearest, 2), 2);
}

static void test_by_generation(void **state)
{
    (void)state;
    assert_ptr_equal(cb_link_reference_find(CB_LINK_PCIE, "4", 0), named("pcie4-x16"));
    assert_ptr_equal(cb_link_reference_find(CB_LINK_PCIE, "4", 8), named("pcie4-x8"));
    assert_ptr_equal(cb_link_reference_find(CB_LINK_INFINIBAND, "NDR", 0), named("ib-ndr-4x"));
    assert_ptr_equal(cb_link_reference_find(CB_LINK_INFINIBAND, "HDR", 2), named("ib-hdr-2x"));
    assert_ptr_equal(cb_link_reference_find(CB_LINK_NVLINK, "4", 0), named("nvlink4"));
    assert_ptr_equal(cb_link_reference_find(CB_LINK_ETHERNET, "100GbE", 0), named("eth-100g"));
    assert_ptr_equal(cb_link_reference_find(CB_LINK_ROCE, "100GbE", 0), named("roce-100g"));
    assert_null(cb_link_reference_find(CB_LINK_PCIE, "9", 0));
    assert_null(cb_link_reference_find(CB_LINK_PCIE, "4", 5));
    assert_near(cb_link_pcie_bytes_per_s(4, 16), 31.508e9, 1e-3);
    assert_near(cb_link_pcie_bytes_per_s(3, 2), 1.969e9, 1e-3);
    assert_near(cb_link_pcie_bytes_per_s(0, 16), -1, 0);
    assert_near(cb_link_pcie_bytes_per_s(4, 0), -1, 0);
    assert_near(cb_link_nvlink_bytes_per_s(3, 12), 300e9, 1e-12);
    assert_near(cb_link_nvlink_bytes_per_s(3, 8), 200e9, 1e-12); /* A800 */
    assert_near(cb_link_nvlink_bytes_per_s(4, 18), 450e9, 1e-12);
    assert_near(cb_link_nvlink_bytes_per_s(7, 18), -1, 0);
}

static void test_families(void **state)
{
    (void)state;
    assert_true(cb_link_family_is_intra(CB_LINK_NVLINK) && cb_link_family_is_intra(CB_LINK_PCIE));
    assert_false(cb_link_family_is_intra(CB_LINK_ROCE) || cb_link_family_is_inter(CB_LINK_PCIE));
    assert_true(cb_link_family_is_inter(CB_LINK_ETHERNET) && cb_link_family_is_inter(CB_LINK_EFA));
    assert_string_equal(cb_link_family_name(CB_LINK_INFINIBAND), "infiniband");
    assert_string_equal(cb_link_family_name((enum cb_link_family)99), "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_documents_figures),
        cmocka_unit_test(test_payload_is_lanes_times_rate),
        cmocka_unit_test(test_coding),
        cmocka_unit_test(test_every_row),
        cmocka_unit_test(test_published_figures),
        cmocka_unit_test(test_names_as_people_write_them),
        cmocka_unit_test(test_what_is_not_in_the_table),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_by_generation),
        cmocka_unit_test(test_families),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

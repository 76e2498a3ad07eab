/* An offer from its names. */
#include "cb_test.h"

#include <string.h>

#include "offer/offer.h"
#include "reference/gpus.h"

static struct cb_offer offer_of(const struct cb_offer_terms *terms,
                                struct cb_sheet_network *network)
{
    struct cb_error err;
    struct cb_offer offer;
    assert_ok(cb_offer_resolve(terms, &offer, network, &err), &err);
    return offer;
}

/* The documents' NVLink and RoCE: 600 GB/s counts both ways, 12.5 GB/s one. */
static void test_the_documents_offer(void **state)
{
    (void)state;
    struct cb_sheet_network network;
    const struct cb_offer_terms terms = {.gpu = "A100-SXM4-80GB",
                                         .nodes = 2,
                                         .gpus_per_node = 8,
                                         .intra = "nvlink3",
                                         .inter = "roce-100G"};
    struct cb_offer offer = offer_of(&terms, &network);
    assert_string_equal(offer.gpu, "NVIDIA A100-SXM4-80GB");
    assert_string_equal(offer.intra.link, "nvlink3");
    assert_near(offer.intra.both_ways_bytes_per_s, 600e9, 1e-12);
    assert_near(offer.intra.nominal_bytes_per_s, 300e9, 1e-12);
    assert_near(offer.intra.nominal_bytes_per_s * offer.intra.share, 234e9, 1e-12);
    assert_near(offer.inter.nominal_bytes_per_s, 12.5e9, 1e-12);
    assert_near(offer.inter.both_ways_bytes_per_s, 25e9, 1e-12);
    assert_int_equal(offer.inter.ports, 1);
    assert_int_equal(offer.inter.ports_source, CB_FROM_ASSUMED);
    assert_int_equal(offer.inter.source, CB_FROM_GIVEN);
    assert_near(offer.memory_bytes, 80e9, 1e-12);
    assert_near(offer.peak_flops_per_s, 312e12, 1e-12);
    assert_near(offer.gemm_flops_per_s, 261.23e12, 1e-12); /* superbench, the lowest published */
    assert_int_equal(offer.gemm_source, CB_FROM_REFERENCE);
    assert_string_equal(offer.doubt, "");
    assert_ptr_equal(network.network.context, &network);
    assert_int_equal(network.network.nodes, 2);
}

static void test_ports(void **state)
{
    (void)state;
    struct cb_sheet_network network;
    struct cb_offer_terms terms = {.gpu = "H100-SXM5-80GB",
                                   .nodes = 4,
                                   .gpus_per_node = 8,
                                   .inter = "ib-ndr",
                                   .ports_per_node = 8};
    struct cb_offer offer = offer_of(&terms, &network);
    assert_near(offer.inter.nominal_bytes_per_s, 400e9, 1e-12);
    assert_int_equal(offer.inter.ports_source, CB_FROM_GIVEN);
    assert_string_equal(offer.intra.link, "nvlink4"); /* the card's own */
    assert_int_equal(offer.intra.source, CB_FROM_NOMINAL);
    terms.inter = "efa-p5"; /* counts a whole node */
    terms.ports_per_node = 0;
    offer = offer_of(&terms, &network);
    assert_near(offer.inter.nominal_bytes_per_s, 400e9, 1e-12);
    assert_int_equal(offer.inter.ports, 0);
}

/* What a card's own link is. */
static void test_own_links(void **state)
{
    (void)state;
    static const struct {
        const char *gpu;
        int gpus;
        const char *link;
        double one_way_gb_s;
    } rows[] = {
        {"A100-SXM4-40GB", 8, "nvlink3", 300}, {"A800-SXM4-80GB", 8, "nvlink3", 200},
        {"H800", 8, "nvlink4", 200},           {"V100-SXM2-32GB", 8, "nvlink2", 150},
        {"B200", 8, "nvlink5", 900},           {"A100 80GB PCIe", 4, "pcie4-x16", 31.508},
        {"A100 80GB PCIe", 2, "nvlink3", 300}, {"H100 NVL", 4, "pcie5-x16", 63.015},
        {"rtx 4090", 8, "pcie4-x16", 31.508},  {"T4", 4, "pcie3-x16", 15.754},
        {"L40S", 8, "pcie4-x16", 31.508},      {"GB200", 4, "nvlink5", 900},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cb_sheet_network network;
        const struct cb_offer_terms terms = {.gpu = rows[i].gpu, .gpus_per_node = rows[i].gpus};
        struct cb_offer offer = offer_of(&terms, &network);
        assert_string_equal(offer.intra.link, rows[i].link);
        assert_near(offer.intra.nominal_bytes_per_s, rows[i].one_way_gb_s * 1e9, 1e-4);
        assert_int_equal(offer.nodes, 1);
        assert_string_equal(offer.inter.link, "");
    }
}

/* Every card of the table makes an offer, or says what it lacks. */
static void test_every_card(void **state)
{
    (void)state;
    size_t count, with_rate = 0;
    const struct cb_gpu_reference *gpus = cb_gpu_references(&count);
    for (size_t i = 0; i < count; i++) {
        struct cb_sheet_network network;
        const struct cb_offer_terms terms = {
            .gpu = gpus[i].id, .nodes = 2, .gpus_per_node = 8, .inter = "eth-10g"};
        struct cb_offer offer = offer_of(&terms, &network);
        assert_ptr_equal(cb_gpu_reference_find(gpus[i].name), &gpus[i]);
        assert_string_equal(offer.gpu, gpus[i].name);
        assert_true(offer.intra.share > 0 && offer.inter.share > 0);
        /* GeForce boards clock higher than their data sheet says. */
        assert_true(offer.gemm_flops_per_s <= 1.1 * offer.peak_flops_per_s);
        with_rate += offer.gemm_flops_per_s > 0;
    }
    assert_true(with_rate >= count - 3);
}

/* What the offer says against what the card has. */
static void test_doubts(void **state)
{
    (void)state;
    struct cb_sheet_network network;
    struct cb_offer_terms terms = {.gpu = "A100-SXM4-80GB", .gpus_per_node = 8, .intra = "nvlink4"};
    struct cb_offer offer = offer_of(&terms, &network);
    assert_non_null(strstr(offer.doubt, "has nvlink3, the offer says nvlink4"));
    assert_string_equal(offer.intra.link, "nvlink3");
    assert_near(offer.intra.nominal_bytes_per_s, 300e9, 1e-12);
    terms =
        (struct cb_offer_terms){.gpu = "A100 80GB PCIe", .gpus_per_node = 8, .intra = "nvlink3"};
    offer = offer_of(&terms, &network);
    assert_non_null(strstr(offer.doubt, "a bridge"));
    assert_string_equal(offer.intra.link, "pcie4-x16");
    terms = (struct cb_offer_terms){.gpu = "T4", .gpus_per_node = 4, .intra = "pcie5"};
    offer = offer_of(&terms, &network);
    assert_non_null(strstr(offer.doubt, "has pcie3-x16"));
    assert_near(offer.intra.nominal_bytes_per_s, 15.754e9, 1e-4);
    /* A slower slot than the card could use is what it is. */
    terms = (struct cb_offer_terms){.gpu = "H100 PCIe", .gpus_per_node = 4, .intra = "pcie4"};
    offer = offer_of(&terms, &network);
    assert_string_equal(offer.doubt, "");
    assert_near(offer.intra.nominal_bytes_per_s, 31.508e9, 1e-4);
}

static void test_bad_offers(void **state)
{
    (void)state;
    static const struct {
        struct cb_offer_terms terms;
        const char *what, *hint; /* parts of them */
    } rows[] = {
        {{.gpus_per_node = 8}, "--gpu", ""},
        {{.gpu = "A100-SXM4-80GB"}, "--gpus-per-node", ""},
        {{.gpu = "A100", .gpus_per_node = 8}, "no GPU is called 'A100'", "a100-sxm4-80gb"},
        {{.gpu = "H1000", .gpus_per_node = 8}, "no GPU is called 'H1000'", "--list gpus"},
        {{.gpu = "frobnicator", .gpus_per_node = 8}, "frobnicator", "--list gpus"},
        {{.gpu = "A100-SXM4-80GB", .gpus_per_node = 8, .intra = "nvlnk3"},
         "--intra: no link is called 'nvlnk3'",
         "nvlink3"},
        {{.gpu = "A100-SXM4-80GB", .gpus_per_node = 8, .nodes = 2, .inter = "roce-150g"},
         "--inter: no link",
         "roce-100g"},
        {{.gpu = "A100-SXM4-80GB", .gpus_per_node = 8, .nodes = 2}, "need --inter", ""},
        {{.gpu = "A100-SXM4-80GB", .gpus_per_node = 8, .nodes = 1, .inter = "roce-100g"},
         "the offer has one",
         ""},
        {{.gpu = "A100-SXM4-80GB", .gpus_per_node = 8, .ports_per_node = 4}, "--nics-per-node", ""},
        {{.gpu = "A100-SXM4-80GB", .gpus_per_node = 8, .intra = "roce-100g"},
         "roce-100g cannot be the link between the GPUs of a node",
         "--list links"},
        {{.gpu = "A100-SXM4-80GB", .gpus_per_node = 8, .nodes = 2, .inter = "pcie4"},
         "pcie4-x16 cannot be the link between nodes",
         "--list links"},
        {{.gpu = "T4", .gpus_per_node = 8, .intra = "nvlink3"}, "has no NVLink", "pcie3-x16"},
        {{.gpu = "A100-SXM4-80GB", .gpus_per_node = 8, .intra = "xgmi-mi300x"}, "no such link", ""},
        {{.gpu = "A100-SXM4-80GB",
          .gpus_per_node = 8,
          .nodes = 2,
          .inter = "efa-p5",
          .ports_per_node = 2},
         "counts all ports",
         ""},
        {{.gpu = "T4", .gpus_per_node = 4, .nodes = 3, .inter = "nvlink5"},
         "--inter nvlink5: Tesla T4 has no such link",
         ""},
        {{.gpu = "GB200", .gpus_per_node = 4, .nodes = 18, .inter = "nvlink4"},
         "--inter nvlink4: NVIDIA GB200 has no such link",
         ""},
        {{.gpu = "A100-SXM4-80GB", .gpus_per_node = 8, .nodes = 1 << 30, .inter = "ib-ndr"},
         "more than",
         ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cb_error err;
        cb_error_clear(&err);
        struct cb_offer offer = {.nodes = 42};
        struct cb_sheet_network network = {.sheet = {.nodes = 43}};
        int rc = cb_offer_resolve(&rows[i].terms, &offer, &network, &err);
        if (rc != CB_E_USAGE || !strstr(err.what, rows[i].what) || !strstr(err.hint, rows[i].hint))
            fail_msg("row %zu: %d: %s; %s", i, rc, err.what, err.hint);
        assert_int_equal(offer.nodes, 42);
        assert_int_equal(network.sheet.nodes, 43);
    }
}

static void test_stated(void **state)
{
    (void)state;
    const struct cb_offer_terms nothing = {0};
    const struct cb_offer_terms some = {.ports_per_node = 1};
    assert_false(cb_offer_is_stated(&nothing));
    assert_true(cb_offer_is_stated(&some));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_documents_offer),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_own_links),
        cmocka_unit_test(test_every_card),
        cmocka_unit_test(test_doubts),
        cmocka_unit_test(test_bad_offers),
        cmocka_unit_test(test_stated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "cb_test.h"

#include <string.h>

#include "model/advice.h"
#include "two_links.h"

static const struct two_links ethernet = {.intra_bytes_per_s = 200e9,
                                          .inter_bytes_per_s = 12.5e9,
                                          .tree_step_s = 80e-6,
                                          .ring_step_s = 5e-6};

/* 1B on two nodes of eight: 38 % of the time for the network. */
static struct cb_job base_job(enum cb_scheme scheme)
{
    return (struct cb_job){
        .parameters = 1e9,
        .layers = 16,
        .hidden = 2048,
        .vocabulary = 32000,
        .tokens_per_step = 8192,
        .scheme = scheme,
        .has_overlap = true,
    };
}

struct place {
    struct two_links_network network;
    struct cb_machine machine;
};

static void place_init(struct place *place, struct two_links links, int nodes)
{
    place->machine =
        (struct cb_machine){.flops_per_s = 100e12,
                            .flops_source = CB_FROM_GIVEN,
                            .network = two_links_init(&place->network, links, nodes, 8)};
}

static struct cb_training predict(const struct cb_job *job, const struct place *place)
{
    struct cb_training training;
    struct cb_error err;
    assert_ok(cb_training_predict(job, &place->machine, &training, &err), &err);
    return training;
}

static struct cb_advice_list advise(const struct cb_job *job, const struct place *place,
                                    enum cb_share share)
{
    struct cb_advice_list list;
    struct cb_error err;
    assert_ok(cb_advise(job, &place->machine, share, &list, &err), &err);
    return list;
}

static const struct cb_advice *find(const struct cb_advice_list *list, enum cb_advice_kind kind)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].kind == kind)
            return &list->items[i];
    return NULL;
}

/* Whatever is advised really brings the share below the limit, and says so. */
static void assert_sound(const struct cb_advice_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        assert_true(list->items[i].serial_share <= 0.2);
        assert_true(list->items[i].exposed_share <= list->items[i].serial_share + 1e-12);
        assert_non_null(strstr(list->items[i].text, "falls to"));
        assert_true(list->items[i].step_s > 0);
    }
}

/* The smallest number of micro-batches: with one fewer it is still above. */
static void test_accumulation(void **state)
{
    (void)state;
    struct place place;
    place_init(&place, ethernet, 2);
    struct cb_job job = base_job(CB_SCHEME_DDP);
    struct cb_advice_list list = advise(&job, &place, CB_SHARE_SERIAL);
    assert_sound(&list);
    const struct cb_advice *advice = find(&list, CB_ADVICE_ACCUMULATE);
    assert_non_null(advice);
    assert_int_equal(list.items[0].kind, CB_ADVICE_ACCUMULATE);
    job.accumulation = advice->value;
    job.tokens_per_step = 8192 * advice->value;
    assert_near(predict(&job, &place).serial_share, advice->serial_share, 1e-12);
    assert_true(advice->serial_share <= 0.2);
    job.accumulation = advice->value - 1;
    job.tokens_per_step = 8192 * (advice->value - 1);
    assert_true(predict(&job, &place).serial_share > 0.2);
    assert_non_null(strstr(advice->caveat, "batch"));
    /* It is no use where every micro-batch communicates. */
    job = base_job(CB_SCHEME_FSDP);
    list = advise(&job, &place, CB_SHARE_SERIAL);
    assert_null(find(&list, CB_ADVICE_ACCUMULATE));
    assert_sound(&list);
}

/* Accumulation multiplies what is there. */
static void test_accumulation_of_stated_shapes(void **state)
{
    (void)state;
    struct place place;
    place_init(&place, ethernet, 2);
    struct cb_job job = base_job(CB_SCHEME_DDP);
    job.tokens_per_step = 0;
    job.sequence = 1024;
    job.micro_batch = 2;
    job.accumulation = 3;
    struct cb_advice_list list = advise(&job, &place, CB_SHARE_SERIAL);
    const struct cb_advice *advice = find(&list, CB_ADVICE_ACCUMULATE);
    assert_non_null(advice);
    assert_near(fmod(advice->value, 3), 0, 0);
    /* A batch that is fixed grows. */
    job.accumulation = 0;
    job.batch_tokens = 16 * 3 * 2048.0;
    struct cb_advice_list of_batch = advise(&job, &place, CB_SHARE_SERIAL);
    assert_near(find(&of_batch, CB_ADVICE_ACCUMULATE)->value, advice->value, 1e-12);
}

/* fp32 gradients at 25 %: bf16 alone is enough. */
static void test_half_gradients(void **state)
{
    (void)state;
    struct place place;
    place_init(&place, ethernet, 2);
    struct cb_job job = base_job(CB_SCHEME_DDP);
    job.tokens_per_step = 32768;
    job.gradient_bytes = 4;
    job.bucket_bytes = 1e9;
    struct cb_training now = predict(&job, &place);
    assert_true(now.serial_share > 0.2 && now.serial_share < 0.3);
    struct cb_advice_list list = advise(&job, &place, CB_SHARE_SERIAL);
    assert_sound(&list);
    assert_non_null(find(&list, CB_ADVICE_HALF_GRADIENTS));
    job.gradient_bytes = 2;
    job.tokens_per_step = 16384;
    list = advise(&job, &place, CB_SHARE_SERIAL);
    assert_null(find(&list, CB_ADVICE_HALF_GRADIENTS));
}

/* ZeRO-3 with accumulation gathers four times; ZeRO-1 once, and hybrid shard stays in the node. */
static void test_other_schemes(void **state)
{
    (void)state;
    struct place place;
    struct two_links faster = ethernet;
    faster.inter_bytes_per_s = 50e9;
    place_init(&place, faster, 2);
    struct cb_job job = base_job(CB_SCHEME_ZERO3);
    job.tokens_per_step = 32768;
    job.accumulation = 8;
    struct cb_advice_list list = advise(&job, &place, CB_SHARE_SERIAL);
    assert_sound(&list);
    assert_non_null(find(&list, CB_ADVICE_ZERO1));
    assert_non_null(find(&list, CB_ADVICE_HYBRID));
    assert_null(find(&list, CB_ADVICE_ACCUMULATE));
    /* Not where the memory is too small for whole weights. */
    place.machine.memory_bytes = 12e9;
    job.parameters = 2e9;
    assert_true(predict(&job, &place).memory.fits);
    list = advise(&job, &place, CB_SHARE_SERIAL);
    assert_null(find(&list, CB_ADVICE_ZERO1));
    assert_null(find(&list, CB_ADVICE_LORA));
}

/* Where hybrid shard alone is not enough, it is with the fewest micro-batches that are. */
static void test_scheme_and_accumulation(void **state)
{
    (void)state;
    struct place place;
    place_init(&place, ethernet, 4);
    struct cb_job job = base_job(CB_SCHEME_FSDP);
    struct cb_advice_list list = advise(&job, &place, CB_SHARE_SERIAL);
    assert_sound(&list);
    const struct cb_advice *hybrid = find(&list, CB_ADVICE_HYBRID);
    assert_non_null(hybrid);
    assert_true(hybrid->value > 1);
    assert_non_null(strstr(hybrid->text, "accumulate"));
    assert_non_null(strstr(hybrid->caveat, "batch"));
    job.scheme = CB_SCHEME_HYBRID;
    job.accumulation = hybrid->value;
    job.tokens_per_step = 8192 * hybrid->value;
    assert_near(predict(&job, &place).serial_share, hybrid->serial_share, 1e-12);
    job.accumulation = hybrid->value - 1;
    job.tokens_per_step = 8192 * (hybrid->value - 1);
    assert_true(predict(&job, &place).serial_share > 0.2);
}

static void test_adapters(void **state)
{
    (void)state;
    struct place place;
    struct two_links gigabit = ethernet;
    gigabit.inter_bytes_per_s = 0.117e9;
    place_init(&place, gigabit, 2);
    struct cb_job job = base_job(CB_SCHEME_FSDP);
    job.tokens_per_step = 65536;
    struct cb_advice_list list = advise(&job, &place, CB_SHARE_SERIAL);
    assert_sound(&list);
    const struct cb_advice *lora = find(&list, CB_ADVICE_LORA);
    assert_non_null(lora);
    assert_near(lora->value, 16, 0);
    assert_null(find(&list, CB_ADVICE_QLORA));
    job.adapter = CB_ADAPTER_LORA;
    list = advise(&job, &place, CB_SHARE_SERIAL);
    assert_null(find(&list, CB_ADVICE_LORA));
    assert_non_null(find(&list, CB_ADVICE_ZERO1));
    assert_null(find(&list, CB_ADVICE_QLORA));
    /* Where 2 GB of whole weights do not fit, half a gigabyte does. */
    job.full_recompute = true;
    job.sequence = 2048;
    job.micro_batch = 1;
    place.machine.memory_bytes = 5e9;
    struct cb_training now = predict(&job, &place);
    assert_true(now.memory.fits && now.serial_share > 0.2);
    list = advise(&job, &place, CB_SHARE_SERIAL);
    assert_sound(&list);
    assert_non_null(find(&list, CB_ADVICE_QLORA));
    assert_null(find(&list, CB_ADVICE_ZERO1));
}

/* The slowest link that is enough: what the model says of it is just below the limit. */
static void test_link(void **state)
{
    (void)state;
    for (int scheme = CB_SCHEME_DDP; scheme < CB_SCHEME_COUNT; scheme++) {
        struct place place;
        place_init(&place, ethernet, 4);
        struct cb_job job = base_job((enum cb_scheme)scheme);
        struct cb_training now = predict(&job, &place);
        struct cb_advice_list list = advise(&job, &place, CB_SHARE_SERIAL);
        const struct cb_advice *link = find(&list, CB_ADVICE_LINK);
        assert_non_null(link);
        assert_near(link->serial_share, 0.2, 0.02);
        assert_near(link->value, now.required_bytes_per_s, 0.03);
        struct two_links better = ethernet;
        better.inter_bytes_per_s *= link->value / now.large_bytes_per_s;
        place_init(&place, better, 4);
        assert_true(predict(&job, &place).serial_share < 0.203);
    }
    /* No link helps against latency. */
    struct two_links slow = ethernet;
    slow.tree_step_s = 1;
    struct place place;
    place_init(&place, slow, 4);
    struct cb_job job = base_job(CB_SCHEME_DDP);
    struct cb_advice_list list = advise(&job, &place, CB_SHARE_SERIAL);
    assert_null(find(&list, CB_ADVICE_LINK));
}

/* Against the exposed share, switching on what the framework leaves off may do. */
static void test_overlap(void **state)
{
    (void)state;
    struct place place;
    place_init(&place, ethernet, 2);
    struct cb_job job = base_job(CB_SCHEME_ZERO2);
    job.has_overlap = false;
    job.bucket_bytes = 50e6;
    job.tokens_per_step = 20000;
    struct cb_training now = predict(&job, &place);
    assert_true(now.expected.share > 0.2);
    struct cb_advice_list list = advise(&job, &place, CB_SHARE_EXPOSED);
    const struct cb_advice *overlap = find(&list, CB_ADVICE_OVERLAP);
    assert_non_null(overlap);
    assert_true(overlap->exposed_share <= 0.2);
    list = advise(&job, &place, CB_SHARE_SERIAL);
    assert_null(find(&list, CB_ADVICE_OVERLAP));
    /* Somebody who states that nothing overlaps knows. */
    job.has_overlap = true;
    list = advise(&job, &place, CB_SHARE_EXPOSED);
    assert_null(find(&list, CB_ADVICE_OVERLAP));
}

static void test_nothing_to_advise(void **state)
{
    (void)state;
    struct place place;
    place_init(&place, ethernet, 2);
    struct cb_job job = base_job(CB_SCHEME_DDP);
    job.tokens_per_step = 1e6;
    assert_int_equal(advise(&job, &place, CB_SHARE_SERIAL).count, 0);
    /* The threshold is the caller's. */
    place.machine.threshold = 0.001;
    assert_true(advise(&job, &place, CB_SHARE_SERIAL).count > 0);
}

/* A stated compute time grows with the work. */
static void test_stated_compute_time(void **state)
{
    (void)state;
    struct place place;
    place_init(&place, ethernet, 2);
    struct cb_job job = base_job(CB_SCHEME_DDP);
    struct cb_advice_list counted = advise(&job, &place, CB_SHARE_SERIAL);
    place.machine.compute_s = 6e9 * 8192 / 100e12;
    place.machine.flops_per_s = 0;
    struct cb_advice_list stated = advise(&job, &place, CB_SHARE_SERIAL);
    assert_int_equal(counted.count, stated.count);
    for (size_t i = 0; i < stated.count; i++) {
        assert_int_equal(stated.items[i].kind, counted.items[i].kind);
        assert_near(stated.items[i].serial_share, counted.items[i].serial_share, 1e-9);
    }
}

static void test_errors(void **state)
{
    (void)state;
    struct place place;
    struct cb_error err;
    place_init(&place, ethernet, 2);
    struct cb_job job = base_job(CB_SCHEME_DDP);
    job.tensor = 3;
    struct cb_advice_list list, before;
    memset(&list, 0x5a, sizeof(list));
    before = list;
    assert_int_equal(cb_advise(&job, &place.machine, CB_SHARE_SERIAL, &list, &err), CB_E_USAGE);
    assert_memory_equal(&list, &before, sizeof(list));
    for (int i = 0; i < CB_ADVICE_COUNT; i++)
        assert_true(strlen(cb_advice_kind_name((enum cb_advice_kind)i)) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accumulation),
        cmocka_unit_test(test_accumulation_of_stated_shapes),
        cmocka_unit_test(test_half_gradients),
        cmocka_unit_test(test_other_schemes),
        cmocka_unit_test(test_scheme_and_accumulation),
        cmocka_unit_test(test_adapters),
        cmocka_unit_test(test_link),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_nothing_to_advise),
        cmocka_unit_test(test_stated_compute_time),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The model of a training step against what was published of real jobs. Every row states the
 * conditions that its source states (achieved bandwidths, not advertised ones) and nothing else;
 * how closely a prediction must meet it follows from how the figure was come by: printed in the
 * source (10 to 20 %), read off a plot or with conditions left open (30 %), or telling only on
 * which side of the limit the job was. */
#include "cb_test.h"

#include "model/advice.h"
#include "model/scaling.h"
#include "two_links.h"

#define GBIT (1e9 / 8)

/* Latencies over RDMA as published of NCCL; the bandwidths are the row's. */
static struct two_links links_of(double intra_bytes_per_s, double inter_bytes_per_s)
{
    struct cb_scaling tree = cb_scaling_published(CB_SCALING_TREE);
    struct cb_scaling ring = cb_scaling_published(CB_SCALING_RING);
    return (struct two_links){
        .intra_bytes_per_s = intra_bytes_per_s,
        .intra_s = 30e-6,
        .inter_bytes_per_s = inter_bytes_per_s,
        .tree_s = tree.fixed_s,
        .tree_step_s = tree.step_s,
        .ring_step_s = ring.step_s,
    };
}

struct cluster {
    struct two_links links;
    int nodes, gpus_per_node;
};

static struct cb_training predict(struct cb_job job, struct cluster cluster, double flops_per_s,
                                  double compute_s)
{
    struct two_links_network network;
    struct cb_training training;
    struct cb_error err;
    struct cb_machine machine = {
        .flops_per_s = flops_per_s,
        .compute_s = compute_s,
        .network = two_links_init(&network, cluster.links, cluster.nodes, cluster.gpus_per_node),
    };
    assert_ok(cb_training_predict(&job, &machine, &training, &err), &err);
    return training;
}

/* Says by how much, so that a reader of the test's output sees more than that it passed. */
static void compare(const char *what, double predicted, double measured, double tolerance)
{
    print_message("%-58s %10.4g measured %10.4g (%+.0f %%)\n", what, predicted, measured,
                  100 * (predicted / measured - 1));
    assert_near(predicted, measured, tolerance);
}

/* A share in points. */
static void compare_share(const char *what, double predicted, double measured, double points)
{
    print_message("%-58s %9.0f %% measured %9.0f %% (%+.0f points)\n", what, 100 * predicted,
                  100 * measured, 100 * (predicted - measured));
    assert_true(fabs(predicted - measured) <= points);
}

static struct cb_job bert_large(void)
{
    return (struct cb_job){.parameters = 340e6,
                           .layers = 24,
                           .hidden = 1024,
                           .sequence = 128,
                           .micro_batch = 16,
                           .accumulation = 1,
                           .scheme = CB_SCHEME_DDP,
                           .bucket_bytes = 1e9, /* DeepSpeed: 5e8 elements */
                           .has_overlap = true};
}

/* BERT-Large, 4 V100 a node, 16 sequences each, nothing overlaps: samples/s off the plots
 * bert-tcp.png and bert-ib.png of DeepSpeed's documentation; 96 samples/s on one GPU. The last row
 * of each link is known to be slower than any ring explains. */
static void test_bert_over_ethernet_and_infiniband(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double bytes_per_s;
        int gpus;
        double samples_per_s, tolerance;
    } rows[] = {
        {"BERT-Large, InfiniBand QDR, 8 GPUs: step", 4.0e9, 8, 290, 0.10},
        {"BERT-Large, InfiniBand QDR, 16 GPUs: step", 4.0e9, 16, 545, 0.10},
        {"BERT-Large, InfiniBand QDR, 32 GPUs: step", 4.0e9, 32, 855, 0.20},
        {"BERT-Large, 40 GbE at 4.1 Gb/s, 8 GPUs: step", 4.1 * GBIT, 8, 45, 0.15},
        {"BERT-Large, 40 GbE at 4.1 Gb/s, 16 GPUs: step", 4.1 * GBIT, 16, 88, 0.10},
        {"BERT-Large, 40 GbE at 4.1 Gb/s, 32 GPUs: step", 4.1 * GBIT, 32, 132, 0.30},
    };
    const double one_gpu_s = 16.0 / 96;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cluster cluster = {links_of(30e9, rows[i].bytes_per_s), rows[i].gpus / 4, 4};
        struct cb_training t = predict(bert_large(), cluster, 0, one_gpu_s);
        double step_s = 16.0 * rows[i].gpus / rows[i].samples_per_s;
        compare(rows[i].name, t.expected.step_s, step_s, rows[i].tolerance);
        compare_share("    share", t.serial_share, 1 - one_gpu_s / step_s, 0.08);
        assert_true(t.bound && t.headline_bound);
        assert_int_equal(t.verdict == CB_TRAINING_CLEAR, false);
    }
}

/* Its profile (2102.02888, table 1, milliseconds): the all_reduce is as long with four
 * micro-batches as with one, and its share follows. 100 Gb/s InfiniBand moved 33. */
static void test_bert_profile(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double bytes_per_s;
        int nodes, gpus_per_node;
        double accumulation, compute_ms, all_reduce_share;
        bool bound;
    } rows[] = {
        {"1-bit Adam profile, Ethernet, 64 GPUs: share", 4.1 * GBIT, 16, 4, 1, 172, 0.93, true},
        {"1-bit Adam profile, Ethernet, 64 GPUs, GA 4: share", 4.1 * GBIT, 16, 4, 4, 456, 0.83,
         true},
        {"1-bit Adam profile, Ethernet, 8 GPUs: share", 4.1 * GBIT, 2, 4, 1, 171, 0.92, true},
        {"1-bit Adam profile, InfiniBand, 64 GPUs: share", 33 * GBIT, 8, 8, 1, 151, 0.69, true},
        {"1-bit Adam profile, InfiniBand, 64 GPUs, GA 4: share", 33 * GBIT, 8, 8, 4, 426, 0.44,
         true},
        {"1-bit Adam profile, InfiniBand, 16 GPUs: share", 33 * GBIT, 2, 8, 1, 148, 0.55, true},
        {"1-bit Adam profile, NVLink, 8 GPUs: share", 33 * GBIT, 1, 8, 1, 150, 0.16, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cb_job job = bert_large();
        job.accumulation = rows[i].accumulation;
        struct cluster cluster = {links_of(120e9, rows[i].bytes_per_s), rows[i].nodes,
                                  rows[i].gpus_per_node};
        struct cb_training t = predict(job, cluster, 0, rows[i].compute_ms / 1000);
        compare_share(rows[i].name, t.serial_share, rows[i].all_reduce_share, 0.15);
        assert_int_equal(t.bound, rows[i].bound);
        assert_int_equal(t.headline_bound, rows[i].bound);
    }
}

/* All_reduce of 4 GiB over 4 x 8 B200 with 8 x 400 Gb/s: 22.05 ms measured, 20.8 by the links'
 * nominal rate (stas00, ml-engineering). */
static void test_flat_ring(void **state)
{
    (void)state;
    struct two_links links = links_of(840e9, 400e9);
    links.tree_s = links.tree_step_s = 0;
    struct cb_job job = {.parameters = 2147483648.0, .bucket_bytes = 1e12};
    struct cb_training t = predict(job, (struct cluster){links, 4, 8}, 1e15, 0);
    compare("all_reduce of 4 GiB over 4 x 8 B200", t.communication_s[CB_PACE_MEDIAN], 22.05e-3,
            0.10);
}

static struct cb_job gpt3(void)
{
    return (struct cb_job){.parameters = 174.6e9,
                           .layers = 96,
                           .hidden = 12288,
                           .vocabulary = 51200,
                           .sequence = 2048,
                           .micro_batch = 1,
                           .full_recompute = true};
}

/* GPT-3 175B with TP8 PP12 on 384, 768, 1536 A100 (2104.04473, table 2): 153, 149, 141 TFLOP/s per
 * GPU at a global batch of 1536. What is lost is the bubble's; the formula without placement would
 * blame the network. */
static void test_model_parallel_gpt3(void **state)
{
    (void)state;
    static const double measured[] = {153, 149, 141};
    double first_s = 0;
    for (int i = 0; i < 3; i++) {
        int nodes = 48 << i;
        struct cb_job job = gpt3();
        job.tensor = 8;
        job.pipeline = 12;
        job.batch_tokens = 1536 * 2048.0;
        job.scheme = CB_SCHEME_DDP;
        struct cluster cluster = {links_of(230e9, 0.92 * 1600 * GBIT), nodes, 8};
        struct cb_training t = predict(job, cluster, 160e12, 0);
        first_s = i == 0 ? t.expected.step_s * nodes : first_s;
        compare("GPT-3 175B TP8 PP12: throughput per GPU against 384 GPUs",
                first_s / (t.expected.step_s * nodes), measured[i] / measured[0], 0.05);
        assert_false(t.headline_bound);
        assert_true(t.factor.communications < 0.1);
    }
}

/* The same over ZeRO-3: 144, 88, 44 TFLOP/s. The early code was four to seven times worse than its
 * traffic explains, so only the ends are held: fine with 4 sequences per GPU, bound with 1. */
static void test_zero3_gpt3(void **state)
{
    (void)state;
    static const struct {
        int nodes;
        double sequences, tflops;
    } rows[] = {{48, 4, 144}, {96, 2, 88}, {192, 1, 44}};
    double share[3];
    for (int i = 0; i < 3; i++) {
        struct cb_job job = gpt3();
        job.micro_batch = rows[i].sequences;
        job.scheme = CB_SCHEME_ZERO3;
        struct cluster cluster = {links_of(230e9, 0.92 * 1600 * GBIT), rows[i].nodes, 8};
        struct cb_training t = predict(job, cluster, 153e12, 0);
        share[i] = t.serial_share;
        compare_share("GPT-3 175B ZeRO-3: share (known outlier)", t.serial_share,
                      1 - rows[i].tflops / 153, 1);
    }
    assert_true(share[0] < 0.2);
    assert_true(share[2] > 0.2);
}

/* Weak scaling that lost nothing: Megatron-LM's 1008B on 3072 A100 (163 TFLOP/s, TP8 PP64, batch
 * 3072 x 2048), Megatron-Core's 1.7B (408.8), 32B (459.6) and 462B (459.9 TFLOP/s) on 48, 384 and
 * 6144 H100 at 48 data ranks, with overlap of data and tensor traffic switched on (of the
 * batches only the first and the last are printed). */
static void test_weak_scaling(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double parameters, layers, hidden, sequence, tensor, pipeline, interleave, sequences;
        int nodes;
        double flops_per_s, intra_bytes_per_s, inter_bytes_per_s;
    } rows[] = {
        {"1008B, 3072 A100", 1008e9, 128, 25600, 2048, 8, 64, 2, 512, 384, 163e12, 230e9, 184e9},
        {"1.7B, 48 H100", 1.7e9, 24, 2304, 4096, 1, 1, 1, 4, 6, 408.8e12, 450e9, 370e9},
        {"32B, 384 H100", 32e9, 48, 7168, 4096, 8, 1, 1, 16, 48, 459.6e12, 450e9, 370e9},
        {"462B, 6144 H100", 462e9, 112, 18432, 4096, 8, 16, 2, 64, 768, 459.9e12, 450e9, 370e9},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cb_job job = {.parameters = rows[i].parameters,
                             .layers = rows[i].layers,
                             .hidden = rows[i].hidden,
                             .sequence = rows[i].sequence,
                             .micro_batch = 1,
                             .accumulation = rows[i].sequences,
                             .gradient_bytes = 4,
                             .scheme = CB_SCHEME_ZERO1,
                             .tensor = rows[i].tensor,
                             .pipeline = rows[i].pipeline,
                             .interleave = rows[i].interleave,
                             .overlap = 0.5,
                             .has_overlap = true,
                             .overlap_tensor = true};
        struct cluster cluster = {links_of(rows[i].intra_bytes_per_s, rows[i].inter_bytes_per_s),
                                  rows[i].nodes, 8};
        struct cb_training t = predict(job, cluster, rows[i].flops_per_s, 0);
        print_message("%-58s %9.1f %% exposed, %.1f %% by the formula: clear measured\n",
                      rows[i].name, 100 * t.expected.share, 100 * t.headline_share);
        assert_false(t.headline_bound);
        assert_false(t.bound);
    }
}

/* MegaScale (2402.15627): 175B, TP8 PP8, a batch of 6144 x 2048, 23.66 s on 3072 A100 and 6.34 on
 * 12288: 93 % of four times. */
static void test_megascale(void **state)
{
    (void)state;
    double step_s[2];
    for (int i = 0; i < 2; i++) {
        struct cb_job job = gpt3();
        job.full_recompute = false;
        job.tensor = 8;
        job.pipeline = 8;
        job.interleave = 6;
        job.batch_tokens = 6144 * 2048.0;
        job.scheme = CB_SCHEME_ZERO1;
        struct cluster cluster = {links_of(230e9, 184e9), i == 0 ? 384 : 1536, 8};
        struct cb_training t = predict(job, cluster, 200e12, 0);
        step_s[i] = t.expected.step_s;
        assert_false(t.headline_bound);
        assert_true(t.verdict != CB_TRAINING_BOUND);
    }
    compare("MegaScale 175B, 3072 to 12288 GPUs: strong scaling", step_s[0] / step_s[1] / 4,
            23.66 / 6.34 / 4, 0.10);
}

/* IDEFICS-80B, half of it frozen, ZeRO-3 on 64 nodes at 340 of 400 Gb/s: 18 s of compute, 49 s a
 * step, of which 20 nobody explained. Bound either way. */
static void test_idefics(void **state)
{
    (void)state;
    struct cb_job job = {.parameters = 80e9,
                         .trainable_parameters = 40e9,
                         .layers = 80,
                         .hidden = 8192,
                         .sequence = 1024,
                         .micro_batch = 7,
                         .gradient_bytes = 4,
                         .scheme = CB_SCHEME_ZERO3};
    struct cluster cluster = {links_of(230e9, 340 * GBIT), 64, 8};
    struct cb_training t = predict(job, cluster, 0, 18);
    compare("IDEFICS-80B: step without overlap (known hard case)", t.band[0][CB_PACE_MEDIAN].step_s,
            49, 0.45);
    assert_true(t.serial_share > 0.2 && t.headline_bound && t.bound);
}

/* BLOOM-176B, TP4 PP12 DP8, ZeRO-1, 48 nodes at 140 of 400 Gb/s: 104.5 s a step of 2048 x 2048 at
 * 150 TFLOP/s per GPU, against 157 of a small model on one node. */
static void test_bloom(void **state)
{
    (void)state;
    struct cb_job job = {.parameters = 176e9,
                         .layers = 70,
                         .hidden = 14336,
                         .vocabulary = 250880,
                         .sequence = 2048,
                         .micro_batch = 2,
                         .batch_tokens = 2048 * 2048.0,
                         .full_recompute = true,
                         .scheme = CB_SCHEME_ZERO1,
                         .tensor = 4,
                         .pipeline = 12};
    struct cluster cluster = {links_of(230e9, 140 * GBIT), 48, 8};
    struct cb_training t = predict(job, cluster, 157e12, 0);
    compare("BLOOM-176B: step", t.expected.step_s, 104.5, 0.20);
    assert_false(t.headline_bound);
    assert_false(t.bound);
}

/* Two 4090 without peer access, 1.7B: 65 ms on one, 444 on two, at 8.7 GB/s. */
static void test_two_4090(void **state)
{
    (void)state;
    struct cb_job job = {.parameters = 1.7e9, .tokens_per_step = 512, .bucket_bytes = 1e9};
    struct cb_training t = predict(job, (struct cluster){links_of(8.7e9, 8.7e9), 1, 2}, 0, 0.065);
    compare("1.7B on 2 x 4090: step without overlap", t.band[0][CB_PACE_MEDIAN].step_s, 0.444,
            0.10);
    compare_share("    share", t.serial_share, 0.86, 0.05);
    assert_true(t.bound && t.headline_bound);
}

/* BERT-Large on 256 V100, 32 nodes, 100 Gb/s RDMA, 64 sequences each: 70 % scaling efficiency with
 * Horovod and NCCL, 90 % with BytePS. */
static void test_byteps(void **state)
{
    (void)state;
    struct cb_job job = bert_large();
    job.micro_batch = 64;
    job.bucket_bytes = 64 * 1048576.0;
    job.has_overlap = false;
    struct cluster cluster = {links_of(120e9, 0.95 * 100 * GBIT), 32, 8};
    struct cb_training t = predict(job, cluster, 45e12, 0);
    compare("BERT-Large, 256 V100, Horovod: efficiency", 1 - t.expected.share, 0.70, 0.25);
    assert_int_equal(t.verdict, CB_TRAINING_DEPENDS);
}

/* LLaMA-Factory#4620: LoRA of a 14B model with ZeRO-3 on two nodes of one A10 is ten times slower
 * than on one node of two. The link is not stated: 10 Gb/s Ethernet here. */
static void test_adapter_with_sharded_weights(void **state)
{
    (void)state;
    struct cb_job job = {.parameters = 14.2e9,
                         .layers = 40,
                         .hidden = 5120,
                         .sequence = 1024,
                         .micro_batch = 1,
                         .accumulation = 8,
                         .adapter = CB_ADAPTER_LORA,
                         .trainable_parameters = 27.9e6,
                         .scheme = CB_SCHEME_ZERO3};
    struct cb_training two =
        predict(job, (struct cluster){links_of(12e9, 9.4 * GBIT), 2, 1}, 60e12, 0);
    struct cb_training one =
        predict(job, (struct cluster){links_of(12e9, 9.4 * GBIT), 1, 2}, 60e12, 0);
    compare("Qwen-14B LoRA ZeRO-3, 2 x 1 against 1 x 2 A10: times slower",
            two.expected.step_s / one.expected.step_s, 10, 0.5);
    assert_true(two.bound && two.two_nodes_slower);
}

/* Llama-7B with FSDP on 2048 H100 loses 37 % of the throughput it has on 128 (2411.13055), which
 * the formula does not see: 11 % at either. The local batch is not stated: 2 x 4096 tokens here. */
static void test_full_shard_on_many_ranks(void **state)
{
    (void)state;
    struct cb_job job = {.parameters = 6.7e9,
                         .layers = 32,
                         .hidden = 4096,
                         .sequence = 4096,
                         .micro_batch = 2,
                         .scheme = CB_SCHEME_FSDP};
    struct cb_training few =
        predict(job, (struct cluster){links_of(450e9, 370e9), 16, 8}, 590e12, 0);
    struct cb_training many =
        predict(job, (struct cluster){links_of(450e9, 370e9), 256, 8}, 590e12, 0);
    double best = 1 - few.band[2][CB_PACE_MEDIAN].step_s / many.band[2][CB_PACE_MEDIAN].step_s;
    compare_share("Llama-7B FSDP, 128 to 2048 H100: throughput lost", best, 0.37, 0.15);
    assert_false(many.headline_bound);
    assert_true(many.bound);
    assert_int_equal(many.verdict, CB_TRAINING_BOUND);
    assert_near(many.headline_share, 0.15, 0.35);
    assert_near(many.headline_share, few.headline_share, 0.2);
}

/* ZeRO-3 176B on 384 V100: under 20, 30 to 40, over 40 TFLOP/s per GPU with 100, 200 to 400, 800
 * Gb/s. The batch is not stated, so only the order is held. */
static void test_zero3_on_v100(void **state)
{
    (void)state;
    static const double gbits[] = {100, 300, 800};
    double last = 0;
    for (int i = 0; i < 3; i++) {
        struct cb_job job = gpt3();
        job.scheme = CB_SCHEME_ZERO3;
        struct cluster cluster = {links_of(120e9, 0.9 * gbits[i] * GBIT), 24, 16};
        struct cb_training t = predict(job, cluster, 50e12, 0);
        double tflops = 50 * (1 - t.expected.share);
        print_message("ZeRO-3 176B on 384 V100, %g Gb/s: %.0f TFLOP/s per GPU\n", gbits[i], tflops);
        assert_true(tflops > last);
        last = tflops;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bert_over_ethernet_and_infiniband),
        cmocka_unit_test(test_bert_profile),
        cmocka_unit_test(test_flat_ring),
        cmocka_unit_test(test_model_parallel_gpt3),
        cmocka_unit_test(test_zero3_gpt3),
        cmocka_unit_test(test_weak_scaling),
        cmocka_unit_test(test_megascale),
        cmocka_unit_test(test_idefics),
        cmocka_unit_test(test_bloom),
        cmocka_unit_test(test_two_4090),
        cmocka_unit_test(test_byteps),
        cmocka_unit_test(test_adapter_with_sharded_weights),
        cmocka_unit_test(test_full_shard_on_many_ranks),
        cmocka_unit_test(test_zero3_on_v100),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

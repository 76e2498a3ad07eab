#include "cb_test.h"

#include <string.h>

#include "model/advice.h"
#include "model/formula.h"
#include "two_links.h"

/* 8 GPUs a node, NVLink-like inside, 100 Gb/s between; no latency unless a test adds some. */
static const struct two_links plain = {.intra_bytes_per_s = 200e9, .inter_bytes_per_s = 12.5e9};

/* 1B, 2-byte gradients in one piece, nothing hidden, tokens without attention: compute is 6e9 x
 * tokens / rate. */
static struct cb_job base_job(enum cb_scheme scheme)
{
    return (struct cb_job){
        .parameters = 1e9,
        .layers = 16,
        .hidden = 2048,
        .vocabulary = 32000,
        .tokens_per_step = 8192,
        .scheme = scheme,
        .bucket_bytes = 1e12,
        .has_overlap = true,
    };
}

static struct cb_machine machine_of(const struct cb_network *network)
{
    return (struct cb_machine){
        .flops_per_s = 100e12, .flops_source = CB_FROM_GIVEN, .network = network};
}

static struct cb_training predict_on(const struct cb_job *job, const struct cb_machine *machine)
{
    struct cb_training training;
    struct cb_error err;
    assert_ok(cb_training_predict(job, machine, &training, &err), &err);
    return training;
}

static struct cb_training predict(struct cb_job job, struct two_links links, int nodes,
                                  int gpus_per_node)
{
    struct two_links_network network;
    struct cb_machine machine = machine_of(two_links_init(&network, links, nodes, gpus_per_node));
    return predict_on(&job, &machine);
}

static const struct cb_note *find_note(const struct cb_training *training, enum cb_note_code code)
{
    for (size_t i = 0; i < training->note_count; i++)
        if (training->notes[i].code == code)
            return &training->notes[i];
    return NULL;
}

/* By hand: compute 6e9 x 8192 / 100e12 = 0.49152 s; 2 x 15/16 x 2 GB / 12.5 GB/s = 0.3 s. */
static void test_by_hand(void **state)
{
    (void)state;
    struct cb_training t = predict(base_job(CB_SCHEME_DDP), plain, 2, 8);
    assert_near(t.compute_s, 0.49152, 1e-12);
    assert_near(t.communication_s[CB_PACE_MEDIAN], 0.3, 1e-12);
    assert_near(t.inter_node_s[CB_PACE_MEDIAN], 0.3, 1e-12);
    assert_near(t.serial_share, 0.3 / 0.79152, 1e-12);
    assert_near(t.expected.step_s, 0.79152, 1e-12);
    assert_near(t.expected.exposed_s, 0.3, 1e-12);
    assert_near(t.expected.share, t.serial_share, 1e-12);
    assert_true(t.bound);
    assert_near(t.factor.communications, 1, 1e-12);
    /* The formula: 4 GB / 12.5 GB/s. */
    assert_near(t.headline_bytes_per_s, 12.5e9, 1e-12);
    assert_near(t.headline_s, 0.32, 1e-12);
    assert_near(t.headline_share, 0.32 / 0.81152, 1e-12);
    assert_near(t.effective_bytes_per_s, 4e9 / 0.3, 1e-12);
    /* 20 % beside 0.49152 s is 0.12288 s. */
    assert_near(t.critical_tokens, 8192 * 0.3 / 0.12288, 1e-12);
    assert_near(t.required_bytes_per_s, 12.5e9 * 0.3 / 0.12288, 1e-5); /* 1 KiB is latency */
    assert_int_equal(t.network_source, CB_FROM_GIVEN);
    assert_int_equal(t.compute_source, CB_FROM_GIVEN);
    /* 2 nodes against 1: twice the tokens in 0.79152 s against 0.49152 + 2 x 7/8 x 2 GB / 200. */
    assert_int_equal(t.speedup_count, 2);
    assert_near(t.speedup[1].speedup, 2 * (0.49152 + 0.0175) / 0.79152, 1e-12);
    assert_false(t.two_nodes_slower);
}

/* What hides: overlap x the smaller of the communication and the last micro-batch's backward pass,
 * two thirds of the compute; the last bucket never. */
static void test_overlap_of_ddp(void **state)
{
    (void)state;
    struct cb_job job = base_job(CB_SCHEME_DDP);
    job.bucket_bytes = 100e6; /* 20 buckets of 15 ms */
    job.overlap = 0.5;
    struct cb_training t = predict(job, plain, 2, 8);
    assert_near(t.expected.exposed_s, 0.15, 1e-12);
    assert_near(t.band[0][CB_PACE_MEDIAN].exposed_s, 0.3, 1e-12);
    assert_near(t.band[2][CB_PACE_MEDIAN].exposed_s, 0.03, 1e-9);
    job.overlap = 0.99;
    assert_near(predict(job, plain, 2, 8).expected.exposed_s, 0.015, 1e-9);
    /* Four micro-batches: a backward pass of 0.32768 / 4 s is all there is to hide behind. */
    job.accumulation = 4;
    job.overlap = 0.5;
    assert_near(predict(job, plain, 2, 8).expected.exposed_s, 0.3 - 0.5 * 0.32768 / 4, 1e-9);
    /* In one piece nothing hides. */
    job = base_job(CB_SCHEME_DDP);
    job.overlap = 0.9;
    assert_near(predict(job, plain, 2, 8).expected.exposed_s, 0.3, 1e-12);
}

/* Only the reduce_scatter of ZeRO-1 may hide. */
static void test_overlap_of_zero1(void **state)
{
    (void)state;
    struct cb_job job = base_job(CB_SCHEME_ZERO1);
    job.bucket_bytes = 10e6;
    job.overlap = 0.5;
    struct cb_training t = predict(job, plain, 2, 8);
    assert_near(t.communication_s[CB_PACE_MEDIAN], 0.3, 1e-12);
    assert_near(t.expected.exposed_s, 0.15 + 0.075, 1e-9);
}

/* Full shard: forward 0.15 s of gathers beside 0.16384 s of compute, backward 0.3 beside 0.32768.
 */
static void test_overlap_of_full_shard(void **state)
{
    (void)state;
    struct cb_job job = base_job(CB_SCHEME_FSDP);
    struct cb_training t = predict(job, plain, 2, 8);
    assert_near(t.communication_s[CB_PACE_MEDIAN], 0.45, 1e-12);
    assert_near(t.factor.communications, 1.5, 1e-12);
    assert_near(t.band[1][CB_PACE_MEDIAN].exposed_s, 0.225, 1e-9);
    assert_near(t.band[2][CB_PACE_MEDIAN].exposed_s, 0.045, 1e-9);
    /* With twice the tokens per micro-batch it fits twice as well; with two micro-batches not. */
    job.tokens_per_step *= 2;
    double once = predict(job, plain, 2, 8).serial_share;
    job.accumulation = 2;
    assert_near(predict(job, plain, 2, 8).serial_share, t.serial_share, 1e-12);
    assert_true(once < t.serial_share);
}

static void test_bubble_is_not_the_network(void **state)
{
    (void)state;
    struct cb_job job = base_job(CB_SCHEME_DDP);
    job.pipeline = 4;
    job.accumulation = 8;
    job.interleave = 2;
    struct two_links fast = plain;
    fast.inter_bytes_per_s = 1e15;
    fast.intra_bytes_per_s = 1e15;
    struct cb_training t = predict(job, fast, 4, 8);
    assert_near(t.compute_s, 0.49152 / 4, 1e-12);
    assert_near(t.bubble_s, t.compute_s * 3 / (2 * 8), 1e-12);
    assert_near(t.expected.step_s, t.compute_s * (1 + 3.0 / 16), 1e-4);
    assert_true(t.expected.share < 1e-4);
    assert_non_null(find_note(&t, CB_NOTE_BUBBLE));
}

/* The groups of the eight tensor ranks share a node's links: together they take as long as one
 * group of all GPUs for the whole, whether a rank could use all ports alone or its own. */
static void test_groups_share_links(void **state)
{
    (void)state;
    struct cb_job job = base_job(CB_SCHEME_DDP);
    job.tensor = 8;
    job.tokens_per_step = 65536;
    struct two_links own = plain;
    own.own_ports = true;
    double alone = predict(job, own, 16, 8).inter_node_s[CB_PACE_MEDIAN];
    double shared = predict(job, plain, 16, 8).inter_node_s[CB_PACE_MEDIAN];
    /* 250 MB of each, 2 x 15/16 x 250 MB / 1.5625 GB/s. */
    assert_near(alone, 2 * 15.0 / 16 * 250e6 / (12.5e9 / 8), 0.07);
    assert_near(shared, 2 * 15.0 / 16 * 2e9 / 12.5e9, 0.07);
    /* Stages pass activations on, eight at a time: 32 MiB forward and backward of each through 12.5
     * GB/s. */
    job = base_job(CB_SCHEME_DDP);
    job.pipeline = 2;
    job.tokens_per_step = 8192;
    struct cb_training t = predict(job, plain, 2, 8);
    for (size_t i = 0; i < t.traffic_count; i++)
        if (t.traffic[i].traffic.kind == CB_TRAFFIC_PIPELINE)
            assert_near(t.traffic[i].time_s[CB_PACE_MEDIAN], 8 * 2 * 33554432.0 / 12.5e9, 1e-3);
}

/* Scaling and monotony over bandwidths, tokens, sizes. */
static void test_share_falls_with_bandwidth_and_tokens(void **state)
{
    (void)state;
    for (int scheme = CB_SCHEME_DDP; scheme < CB_SCHEME_COUNT; scheme++) {
        double last = 1;
        for (double speed = 1; speed < 1000; speed *= 2) {
            struct two_links links = plain;
            links.inter_bytes_per_s *= speed;
            links.tree_step_s = 80e-6;
            links.ring_step_s = 5e-6;
            struct cb_training t = predict(base_job((enum cb_scheme)scheme), links, 8, 8);
            assert_true(t.serial_share < last);
            assert_true(t.share_low <= t.expected.share && t.expected.share <= t.share_high);
            assert_true(t.expected.share <= t.serial_share + 1e-12);
            last = t.serial_share;
        }
        last = 1;
        for (double tokens = 512; tokens < 1e7; tokens *= 2) {
            struct cb_job job = base_job((enum cb_scheme)scheme);
            job.tokens_per_step = tokens;
            struct cb_training t = predict(job, plain, 8, 8);
            assert_true(t.serial_share < last);
            last = t.serial_share;
        }
    }
}

/* The model's size cancels out of the share of plain data parallelism. */
static void test_size_cancels_out(void **state)
{
    (void)state;
    struct cb_job job = base_job(CB_SCHEME_DDP);
    double small = predict(job, plain, 4, 8).serial_share;
    job.parameters *= 70;
    assert_near(predict(job, plain, 4, 8).serial_share, small, 1e-12);
    /* Twice the rate of the GPU is half the bandwidth. */
    struct two_links_network network;
    struct two_links twice = plain;
    twice.inter_bytes_per_s *= 2;
    struct cb_machine machine = machine_of(two_links_init(&network, twice, 4, 8));
    machine.flops_per_s *= 2;
    assert_near(predict_on(&job, &machine).serial_share, small, 1e-12);
}

static void test_one_node_has_no_traffic_between_nodes(void **state)
{
    (void)state;
    for (int scheme = CB_SCHEME_DDP; scheme < CB_SCHEME_COUNT; scheme++) {
        struct cb_training t = predict(base_job((enum cb_scheme)scheme), plain, 1, 8);
        assert_near(t.inter_node_s[CB_PACE_MEDIAN], 0, 0);
        assert_int_equal(t.speedup_count, 1);
        assert_near(t.speedup[0].speedup, 1, 0);
        /* One GPU communicates with nobody. */
        t = predict(base_job((enum cb_scheme)scheme), plain, 1, 1);
        assert_near(t.communication_s[CB_PACE_SLOW], 0, 0);
        assert_near(t.share_high, 0, 0);
        assert_near(t.critical_tokens, 0, 0);
        assert_near(t.required_bytes_per_s, 0, 0);
        assert_near(t.headline_share, 0, 0);
        assert_int_equal(t.verdict, CB_TRAINING_CLEAR);
        assert_int_equal(t.network_source, CB_FROM_NOWHERE);
    }
}

/* With the critical tokens, and with the required bandwidth, the share is the threshold. */
static void test_inversions_meet_the_threshold(void **state)
{
    (void)state;
    struct two_links links = plain;
    links.tree_s = 50e-6;
    links.tree_step_s = 80e-6;
    links.ring_step_s = 5e-6;
    for (int scheme = CB_SCHEME_DDP; scheme < CB_SCHEME_COUNT; scheme++) {
        struct cb_job job = base_job((enum cb_scheme)scheme);
        job.accumulation = 2;
        struct cb_training t = predict(job, links, 8, 8);
        assert_true(isfinite(t.critical_tokens));
        job.tokens_per_step = t.critical_tokens;
        assert_near(predict(job, links, 8, 8).serial_share, 0.2, 1e-9);
        job = base_job((enum cb_scheme)scheme);
        job.accumulation = 2;
        struct two_links enough = links;
        enough.inter_bytes_per_s *= t.required_bytes_per_s / t.large_bytes_per_s;
        assert_near(predict(job, enough, 8, 8).serial_share, 0.2, 0.01);
    }
    /* Latency alone above the limit: no bandwidth is enough. */
    links.ring_step_s = 1e-3;
    struct cb_training t = predict(base_job(CB_SCHEME_FSDP), links, 32, 8);
    assert_true(isinf(t.required_bytes_per_s));
    assert_true(t.rule.model_wants_fabric);
    assert_non_null(strstr(t.rule.text, "no link is enough"));
}

/* tau* = 16/6 x F / W: the table of critical tokens, DDP with bf16 gradients at many ranks. */
static void test_table_of_critical_tokens(void **state)
{
    (void)state;
    static const struct {
        double flops_per_s, bytes_per_s, tokens;
    } rows[] = {
        {445e12, 0.125e9, 9.5e6}, {445e12, 12.5e9, 95e3},  {445e12, 50e9, 24e3},
        {445e12, 400e9, 3.0e3},   {156e12, 1.25e9, 333e3}, {156e12, 12.5e9, 33e3},
        {156e12, 200e9, 2.1e3},   {82e12, 0.125e9, 1.7e6}, {82e12, 12.5e9, 17e3},
        {35e12, 1.25e9, 75e3},    {35e12, 50e9, 1.9e3},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct two_links_network network;
        struct two_links links = plain;
        links.inter_bytes_per_s = rows[i].bytes_per_s;
        struct cb_machine machine = machine_of(two_links_init(&network, links, 1024, 8));
        machine.flops_per_s = rows[i].flops_per_s;
        struct cb_job job = base_job(CB_SCHEME_DDP);
        struct cb_training t = predict_on(&job, &machine);
        assert_near(t.critical_tokens, 16.0 / 6 * rows[i].flops_per_s / rows[i].bytes_per_s, 1e-3);
        assert_near(t.critical_tokens, rows[i].tokens, 0.05);
        /* fp32 gradients need twice as many. */
        job.gradient_bytes = 4;
        assert_near(predict_on(&job, &machine).critical_tokens, 2 * t.critical_tokens, 1e-9);
        /* Recomputation makes it three quarters. */
        job.gradient_bytes = 2;
        job.full_recompute = true;
        assert_near(predict_on(&job, &machine).critical_tokens, 0.75 * t.critical_tokens, 1e-9);
        job.full_recompute = false;
        /* Full shard: 1.5 times as many, with every micro-batch. */
        job.scheme = CB_SCHEME_FSDP;
        assert_near(predict_on(&job, &machine).critical_tokens, 1.5 * t.critical_tokens, 1e-3);
        job.accumulation = 4;
        assert_near(predict_on(&job, &machine).critical_tokens, 6 * t.critical_tokens, 1e-3);
        /* Adapters: 1.5 x trained / all. */
        job = base_job(CB_SCHEME_DDP);
        job.adapter = CB_ADAPTER_LORA;
        job.trainable_parameters = 5e6;
        assert_near(predict_on(&job, &machine).critical_tokens, 1.5 * 0.005 * t.critical_tokens,
                    0.01);
    }
}

/* Efficiency of a bucket: 1 / (1 + S_half / S), S_half = latency x bandwidth / 2 of an all_reduce.
 * The table of measured half-power sizes: A100 node, H100 4, 128 and 1024 nodes. */
static void test_table_of_buckets(void **state)
{
    (void)state;
    static const struct {
        double half_mib, bucket_mib, efficiency;
    } rows[] = {
        {11, 25, 0.70},  {11, 76, 0.88},  {11, 200, 0.95},  {11, 1024, 0.99},
        {32, 25, 0.44},  {32, 76, 0.71},  {32, 200, 0.86},  {32, 1024, 0.97},
        {109, 25, 0.19}, {109, 76, 0.41}, {109, 200, 0.65}, {109, 1024, 0.90},
        {158, 25, 0.14}, {158, 76, 0.33}, {158, 200, 0.56}, {158, 1024, 0.86},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct two_links links = plain;
        links.inter_bytes_per_s = 340e9;
        links.tree_s = rows[i].half_mib * 1048576 * 2 / links.inter_bytes_per_s;
        struct cb_job job = base_job(CB_SCHEME_DDP);
        job.parameters = 256 * rows[i].bucket_mib * 1048576 / 2;
        job.bucket_bytes = rows[i].bucket_mib * 1048576;
        struct cb_training t = predict(job, links, 128, 8);
        assert_near(t.effective_bytes_per_s / links.inter_bytes_per_s, rows[i].efficiency, 0.03);
    }
    /* What frameworks do: 25 MiB for torch DDP; 40 M parameters for Megatron. */
    struct two_links links = plain;
    links.inter_bytes_per_s = 340e9;
    links.tree_s = 32 * 1048576 * 2 / links.inter_bytes_per_s;
    struct cb_job job = base_job(CB_SCHEME_DDP);
    job.parameters = 100e9;
    job.bucket_bytes = 0;
    struct cb_training t = predict(job, links, 4, 8);
    assert_near(t.effective_bytes_per_s / t.large_bytes_per_s, 0.44, 0.06);
    assert_non_null(find_note(&t, CB_NOTE_LATENCY));
}

static void test_pace_makes_the_band(void **state)
{
    (void)state;
    struct two_links links = plain;
    links.slow = 2;
    links.fast = 0.5;
    struct cb_job job = base_job(CB_SCHEME_DDP);
    job.bucket_bytes = 1e6;
    struct cb_training t = predict(job, links, 2, 8);
    assert_near(t.communication_s[CB_PACE_SLOW], 0.6, 1e-9);
    assert_near(t.communication_s[CB_PACE_FAST], 0.15, 1e-9);
    assert_near(t.share_high, 0.6 / (0.6 + 0.49152), 1e-9);
    assert_near(t.share_low, 0.015 / (0.015 + 0.49152), 1e-9);
    assert_int_equal(t.verdict, CB_TRAINING_DEPENDS);
    /* With many more tokens, or few, it no longer depends. */
    job.tokens_per_step = 1e6;
    assert_int_equal(predict(job, links, 2, 8).verdict, CB_TRAINING_CLEAR);
    job.tokens_per_step = 64;
    assert_int_equal(predict(job, links, 2, 8).verdict, CB_TRAINING_BOUND);
}

static void test_two_nodes_may_be_slower_than_one(void **state)
{
    (void)state;
    struct two_links gigabit = plain;
    gigabit.inter_bytes_per_s = 0.117e9;
    struct cb_training t = predict(base_job(CB_SCHEME_DDP), gigabit, 4, 8);
    assert_true(t.two_nodes_slower);
    assert_int_equal(t.speedup_count, 3);
    assert_true(t.speedup[1].speedup < 1);
    const struct cb_note *note = find_note(&t, CB_NOTE_SLOWER);
    assert_non_null(note);
    assert_non_null(strstr(note->text, "2 nodes would be slower than 1"));
    assert_null(find_note(&(struct cb_training){0}, CB_NOTE_SLOWER));
}

/* Powers of two, and what there is; never more than it takes; a job that needs two nodes starts
 * from two. */
static void test_speedups(void **state)
{
    (void)state;
    struct two_links fast = plain;
    fast.inter_bytes_per_s = 1e15;
    fast.intra_bytes_per_s = 1e15;
    struct cb_training t = predict(base_job(CB_SCHEME_DDP), fast, 6, 8);
    static const int nodes[] = {1, 2, 4, 6};
    assert_int_equal(t.speedup_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(t.speedup[i].nodes, nodes[i]);
        assert_near(t.speedup[i].speedup, nodes[i], 1e-4);
        assert_near(t.speedup[i].efficiency, 1, 1e-4);
    }
    struct cb_job job = base_job(CB_SCHEME_DDP);
    job.tensor = 8;
    job.pipeline = 2;
    job.tokens_per_step = 1e6;
    job.accumulation = 64;
    t = predict(job, fast, 8, 8);
    assert_int_equal(t.speedup[0].nodes, 2);
    assert_near(t.speedup[0].speedup, 1, 0);
    /* A batch that is fixed is shared out: the same step for all, less for each. */
    job = base_job(CB_SCHEME_DDP);
    job.tokens_per_step = 0;
    job.sequence = 1024;
    job.micro_batch = 1;
    job.batch_tokens = 64 * 8192.0;
    double weak = predict(base_job(CB_SCHEME_DDP), plain, 8, 8).speedup[3].speedup;
    t = predict(job, plain, 8, 8);
    assert_near(t.job.accumulation, 8, 1e-12);
    assert_true(t.speedup[3].speedup < weak);
    /* As many as there is room for, whatever the number of nodes. */
    t = predict(base_job(CB_SCHEME_DDP), plain, 16384, 8);
    assert_int_equal(t.speedup_count, 15);
}

static void test_stated_compute_time(void **state)
{
    (void)state;
    struct two_links_network network;
    struct cb_machine machine = {.compute_s = 0.5,
                                 .compute_source = CB_FROM_MEASURED,
                                 .network = two_links_init(&network, plain, 2, 8)};
    struct cb_job job = base_job(CB_SCHEME_DDP);
    struct cb_training t = predict_on(&job, &machine);
    assert_near(t.compute_s, 0.5, 0);
    assert_int_equal(t.compute_source, CB_FROM_MEASURED);
    assert_near(t.serial_share, 0.375, 1e-12);
    assert_near(t.speedup[1].speedup, 2 * 0.5175 / 0.8, 1e-12);
}

/* 16 GPUs at 2 an hour; 1000 steps, or as many as the tokens need. */
static void test_money(void **state)
{
    (void)state;
    struct two_links_network network;
    struct cb_machine machine = machine_of(two_links_init(&network, plain, 2, 8));
    machine.price_per_gpu_hour = 2;
    struct cb_job job = base_job(CB_SCHEME_DDP);
    job.total_steps = 1000;
    struct cb_training t = predict_on(&job, &machine);
    assert_near(t.idle_cost_per_hour, 32 * 0.3 / 0.79152, 1e-12);
    assert_near(t.idle_cost_per_hour_high, 32 * t.share_high, 1e-12);
    assert_near(t.total_s, 791.52, 1e-12);
    assert_near(t.cost, 791.52 / 3600 * 32, 1e-12);
    assert_true(t.cost_low <= t.cost && t.cost <= t.cost_high);
    job.total_steps = 0;
    job.total_tokens = 999.5 * 16 * 8192;
    t = predict_on(&job, &machine);
    assert_near(t.total_steps, 1000, 0);
    machine.price_per_gpu_hour = 0;
    job.total_tokens = 0;
    t = predict_on(&job, &machine);
    assert_near(t.idle_cost_per_hour + t.cost + t.total_s, 0, 0);
}

/* TP8 x PP8 of 175B: each GPU reduces a 64th. */
static void test_note_on_model_parallel_jobs(void **state)
{
    (void)state;
    struct cb_job job = {.parameters = 175e9,
                         .layers = 96,
                         .hidden = 12288,
                         .vocabulary = 50257,
                         .sequence = 2048,
                         .micro_batch = 1,
                         .accumulation = 32,
                         .tensor = 8,
                         .pipeline = 8};
    struct two_links links = plain;
    links.inter_bytes_per_s = 180e9;
    struct cb_training t = predict(job, links, 64, 8);
    assert_non_null(find_note(&t, CB_NOTE_MODEL_PARALLEL));
    assert_false(t.headline_bound);
    assert_non_null(find_note(&t, CB_NOTE_OTHER_TRAFFIC));
    assert_null(find_note(&t, CB_NOTE_FROZEN_WEIGHTS));
}

static void test_note_on_what_hides(void **state)
{
    (void)state;
    struct cb_job job = base_job(CB_SCHEME_DDP);
    job.bucket_bytes = 1e6;
    job.overlap = 0.9;
    struct cb_training t = predict(job, plain, 2, 8);
    assert_true(t.headline_bound);
    assert_false(t.bound);
    assert_non_null(find_note(&t, CB_NOTE_HIDDEN));
    assert_non_null(find_note(&t, CB_NOTE_TWO_NODES)); /* the bandwidth is given, not measured */
    job.overlap = 0;
    t = predict(job, plain, 4, 8);
    assert_null(find_note(&t, CB_NOTE_HIDDEN));
    assert_null(find_note(&t, CB_NOTE_TWO_NODES));
}

static void test_note_on_frozen_weights(void **state)
{
    (void)state;
    struct cb_job job = base_job(CB_SCHEME_ZERO3);
    job.adapter = CB_ADAPTER_LORA;
    struct two_links slow = plain;
    slow.inter_bytes_per_s = 1.25e9;
    struct cb_training t = predict(job, slow, 2, 1);
    assert_true(t.two_nodes_slower);
    assert_non_null(find_note(&t, CB_NOTE_FROZEN_WEIGHTS));
    assert_non_null(find_note(&t, CB_NOTE_ACCUMULATION));
}

/* "Over 1B: RoCE or InfiniBand; small fine-tunes: Ethernet": where it holds and where not. */
static void test_rule_of_thumb(void **state)
{
    (void)state;
    struct cb_job job = {.parameters = 7e9, .tokens_per_step = 4096, .scheme = CB_SCHEME_DDP};
    struct cb_training t = predict(job, plain, 8, 8);
    assert_true(t.rule.rule_wants_fabric && t.rule.model_wants_fabric);
    assert_non_null(strstr(t.rule.text, "agrees"));
    /* Many tokens per synchronisation: Ethernet carries a 7B model. */
    job.tokens_per_step = 1e6;
    job.accumulation = 64;
    t = predict(job, plain, 8, 8);
    assert_true(t.rule.rule_wants_fabric && !t.rule.model_wants_fabric);
    assert_non_null(strstr(t.rule.text, "does not"));
    /* Adapters over gigabit: true with whole weights, false with sharded ones. */
    job = (struct cb_job){.parameters = 7e9,
                          .tokens_per_step = 16384,
                          .adapter = CB_ADAPTER_LORA,
                          .trainable_parameters = 40e6,
                          .scheme = CB_SCHEME_DDP};
    t = predict(job, plain, 2, 1);
    assert_true(!t.rule.rule_wants_fabric && !t.rule.model_wants_fabric);
    assert_true(t.required_bytes_per_s < 0.125e9);
    job.scheme = CB_SCHEME_ZERO3;
    t = predict(job, plain, 2, 1);
    assert_true(!t.rule.rule_wants_fabric && t.rule.model_wants_fabric);
    t = predict(job, plain, 1, 8);
    assert_non_null(strstr(t.rule.text, "one node"));
}

static void assert_refused(struct cb_job job, struct cb_machine machine, int code,
                           const char *named)
{
    struct cb_training out;
    struct cb_error err;
    memset(&out, 0x5a, sizeof(out));
    struct cb_training before = out;
    assert_int_equal(cb_training_predict(&job, &machine, &out, &err), code);
    assert_memory_equal(&out, &before, sizeof(out));
    if (!strstr(err.what, named))
        print_error("\"%s\" does not name \"%s\"\n", err.what, named);
    assert_non_null(strstr(err.what, named));
}

static void test_bad_input(void **state)
{
    (void)state;
    struct two_links_network network;
    struct cb_machine good = machine_of(two_links_init(&network, plain, 2, 8));
    struct cb_job job = base_job(CB_SCHEME_DDP);
    static const double bads[] = {-1, (double)NAN, (double)INFINITY};
    for (size_t i = 0; i < 3; i++) {
        struct cb_machine machine = good;
        machine.flops_per_s = bads[i];
        assert_refused(job, machine, CB_E_USAGE, "flops_per_s");
        machine = good;
        machine.price_per_gpu_hour = bads[i];
        assert_refused(job, machine, CB_E_USAGE, "price");
        machine = good;
        machine.threshold = bads[i];
        assert_refused(job, machine, CB_E_USAGE, "threshold");
        machine = good;
        machine.memory_bytes = bads[i];
        assert_refused(job, machine, CB_E_USAGE, "memory");
    }
    struct cb_machine machine = good;
    machine.flops_per_s = 0;
    assert_refused(job, machine, CB_E_USAGE, "rate");
    job.tensor = 3;
    assert_refused(job, good, CB_E_USAGE, "tensor");
    job = base_job(CB_SCHEME_FSDP);
    struct two_links mute = plain;
    mute.has_untold = true;
    mute.untold = CB_OP_ALL_GATHER;
    machine = machine_of(two_links_init(&network, mute, 2, 8));
    assert_refused(job, machine, CB_E_MEASURE, "all_gather");
    /* A quadrillion parameters is large, but no reason to overflow. */
    job = base_job(CB_SCHEME_DDP);
    job.parameters = 1e15;
    struct cb_training t = predict(job, plain, 2, 8);
    assert_true(isfinite(t.expected.step_s));
    two_links_init(&network, plain, 70000, 70000);
    machine = machine_of(&network.network);
    assert_refused(base_job(CB_SCHEME_DDP), machine, CB_E_USAGE, "cannot be");
}

/* A number of some order of magnitude, by a linear congruential generator: the same every time. */
static double draw(uint64_t *seed, double low, double high)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return low * pow(high / low, (double)(*seed >> 33) / 2147483648.0);
}

static int pick(uint64_t *seed, int count)
{
    int value = (int)draw(seed, 1, count + 1) - 1;
    return value < count ? value : count - 1;
}

static struct cb_job draw_job(uint64_t *seed)
{
    struct cb_job job = {
        .parameters = draw(seed, 1e6, 1e15),
        .layers = pick(seed, 200),
        .hidden = 64 * pick(seed, 500),
        .vocabulary = pick(seed, 300000),
        .sequence = pick(seed, 2) ? draw(seed, 1, 1e6) : 0,
        .micro_batch = pick(seed, 2) ? draw(seed, 1, 64) : 0,
        .accumulation = pick(seed, 3) ? 1 + pick(seed, 200) : 0,
        .gradient_bytes = pick(seed, 5),
        .full_recompute = pick(seed, 2) > 0,
        .scheme = (enum cb_scheme)pick(seed, CB_SCHEME_COUNT),
        .adapter = (enum cb_adapter)pick(seed, CB_ADAPTER_COUNT),
        .local_steps = pick(seed, 3) ? 0 : pick(seed, 500),
        .tensor = 1 << pick(seed, 5),
        .pipeline = 1 << pick(seed, 4),
        .context = 1 << pick(seed, 3),
        .interleave = pick(seed, 5),
        .context_kind = (enum cb_context_kind)pick(seed, CB_CONTEXT_COUNT),
        .total_tokens = pick(seed, 2) ? draw(seed, 1, 1e16) : 0,
    };
    if (pick(seed, 4) == 0) {
        job.experts = 1 << pick(seed, 9);
        job.expert = 1 << pick(seed, 5);
    }
    return job;
}

/* Whatever a job is, it is refused or gets numbers that hang together. */
static void test_any_job(void **state)
{
    (void)state;
    uint64_t seed = 20240607;
    int answered = 0;
    for (int i = 0; i < 4000; i++) {
        struct two_links links = {.intra_bytes_per_s = draw(&seed, 1e8, 1e12),
                                  .inter_bytes_per_s = draw(&seed, 1e6, 1e12),
                                  .tree_s = draw(&seed, 1e-6, 1e-3),
                                  .tree_step_s = draw(&seed, 1e-6, 1e-3),
                                  .ring_step_s = draw(&seed, 1e-7, 1e-4),
                                  .own_ports = pick(&seed, 2) > 0,
                                  .slow = 1.5,
                                  .fast = 0.8};
        struct two_links_network network;
        struct cb_machine machine =
            machine_of(two_links_init(&network, links, 1 << pick(&seed, 14), 1 << pick(&seed, 4)));
        struct cb_job job = draw_job(&seed);
        struct cb_training t;
        struct cb_error err;
        if (cb_training_predict(&job, &machine, &t, &err)) {
            assert_true(strlen(err.what) > 0);
            continue;
        }
        answered++;
        assert_true(t.serial_share >= 0 && t.serial_share < 1);
        assert_true(t.share_low >= 0 && t.share_low <= t.expected.share + 1e-12);
        assert_true(t.expected.share <= t.share_high + 1e-12 && t.share_high < 1);
        assert_true(t.expected.step_s >= t.compute_s + t.bubble_s);
        assert_true(isfinite(t.memory.total_bytes) && t.memory.total_bytes > 0);
        assert_true(t.critical_tokens >= 0 && t.required_bytes_per_s >= 0);
        assert_true(t.traffic_count < CB_TRAFFIC_MAX && t.note_count <= CB_NOTES_MAX);
        assert_true(strlen(t.factor.reason) > 0 && strlen(t.rule.text) > 0);
        assert_true(t.speedup_count >= 1);
        assert_near(t.speedup[0].speedup, 1, 0);
        for (size_t k = 0; k < t.speedup_count; k++)
            assert_true(isfinite(t.speedup[k].speedup) && t.speedup[k].speedup > 0);
        struct cb_advice_list advice;
        if (i % 20 == 0) {
            assert_ok(cb_advise(&job, &machine, CB_SHARE_SERIAL, &advice, &err), &err);
            for (size_t k = 0; k < advice.count; k++)
                assert_true(advice.items[k].serial_share <= t.threshold);
        }
    }
    assert_true(answered > 500);
}

static void test_names(void **state)
{
    (void)state;
    for (int i = 0; i < CB_TRAINING_VERDICT_COUNT; i++)
        assert_true(strlen(cb_training_verdict_name((enum cb_training_verdict)i)) > 0);
    for (int i = 0; i < CB_NOTE_COUNT; i++)
        assert_true(strlen(cb_note_code_name((enum cb_note_code)i)) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_overlap_of_ddp),
        cmocka_unit_test(test_overlap_of_zero1),
        cmocka_unit_test(test_overlap_of_full_shard),
        cmocka_unit_test(test_bubble_is_not_the_network),
        cmocka_unit_test(test_groups_share_links),
        cmocka_unit_test(test_share_falls_with_bandwidth_and_tokens),
        cmocka_unit_test(test_size_cancels_out),
        cmocka_unit_test(test_one_node_has_no_traffic_between_nodes),
        cmocka_unit_test(test_inversions_meet_the_threshold),
        cmocka_unit_test(test_table_of_critical_tokens),
        cmocka_unit_test(test_table_of_buckets),
        cmocka_unit_test(test_pace_makes_the_band),
        cmocka_unit_test(test_two_nodes_may_be_slower_than_one),
        cmocka_unit_test(test_speedups),
        cmocka_unit_test(test_stated_compute_time),
        cmocka_unit_test(test_money),
        cmocka_unit_test(test_note_on_model_parallel_jobs),
        cmocka_unit_test(test_note_on_what_hides),
        cmocka_unit_test(test_note_on_frozen_weights),
        cmocka_unit_test(test_rule_of_thumb),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_any_job),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

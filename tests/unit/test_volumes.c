#include "cb_test.h"

#include <stdio.h>
#include <string.h>

#include "model/volumes.h"

/* 7B of 32 layers, one sequence of 2048, no accumulation, 2 bytes of everything. */
static struct cb_job base_job(enum cb_scheme scheme)
{
    return (struct cb_job){
        .parameters = 7e9,
        .layers = 32,
        .hidden = 4096,
        .vocabulary = 32000,
        .sequence = 2048,
        .micro_batch = 1,
        .accumulation = 1,
        .scheme = scheme,
    };
}

static struct cb_job complete(struct cb_job job, int gpus)
{
    struct cb_assumptions ignored = {.count = 0};
    struct cb_error err;
    struct cb_job out;
    assert_ok(cb_job_complete(&job, gpus, &out, &ignored, &err), &err);
    return out;
}

static struct cb_factor factor_of(struct cb_job job, int nodes, int gpus_per_node)
{
    struct cb_factor factor;
    struct cb_job full = complete(job, nodes * gpus_per_node);
    cb_factor_of(&full, gpus_per_node, &factor);
    return factor;
}

static struct cb_volumes volumes_of(struct cb_job job, int nodes, int gpus_per_node)
{
    struct cb_volumes volumes;
    struct cb_job full = complete(job, nodes * gpus_per_node);
    cb_volumes_of(&full, gpus_per_node, &volumes);
    return volumes;
}

/* The entry of that kind and op and hiding place, which must be there once. */
static struct cb_traffic only(const struct cb_volumes *volumes, enum cb_traffic_kind kind,
                              enum cb_op op, enum cb_hiding hiding)
{
    const struct cb_traffic *found = NULL;
    for (size_t i = 0; i < volumes->count; i++) {
        const struct cb_traffic *item = &volumes->items[i];
        if (item->kind != kind || item->op != op || item->hiding != hiding)
            continue;
        assert_null(found);
        found = item;
    }
    assert_non_null(found);
    return *found;
}

/* The table of factors: what each scheme moves, as a ring does, over 4 bytes per parameter. */
static void test_factors(void **state)
{
    (void)state;
    static const struct {
        enum cb_scheme scheme;
        double gradient_bytes, accumulation, factor;
    } rows[] = {
        {CB_SCHEME_DDP, 2, 1, 1},     {CB_SCHEME_DDP, 4, 1, 2},    {CB_SCHEME_DDP, 2, 8, 1},
        {CB_SCHEME_ZERO1, 4, 1, 1.5}, {CB_SCHEME_ZERO1, 2, 1, 1},  {CB_SCHEME_ZERO1, 4, 8, 1.5},
        {CB_SCHEME_ZERO2, 2, 1, 1},   {CB_SCHEME_ZERO2, 2, 7, 4},  {CB_SCHEME_ZERO3, 2, 1, 1.5},
        {CB_SCHEME_ZERO3, 2, 4, 6},   {CB_SCHEME_FSDP, 2, 4, 6},   {CB_SCHEME_FSDP, 4, 1, 2},
        {CB_SCHEME_HYBRID, 2, 4, 1},  {CB_SCHEME_HYBRID, 4, 1, 2},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cb_job job = base_job(rows[i].scheme);
        job.gradient_bytes = rows[i].gradient_bytes;
        job.accumulation = rows[i].accumulation;
        struct cb_factor factor = factor_of(job, 4, 8);
        assert_near(factor.communications, rows[i].factor, 1e-12);
        assert_near(factor.scheme_communications, rows[i].factor, 1e-12);
        /* The reason ends in the factor and names the scheme. */
        char result[32];
        snprintf(result, sizeof(result), "= %.3g", rows[i].factor);
        assert_string_equal(strstr(factor.reason, "= "), result);
        assert_non_null(strstr(factor.reason, cb_scheme_title(rows[i].scheme)));
    }
}

static void test_factor_without_no_sync(void **state)
{
    (void)state;
    struct cb_job job = base_job(CB_SCHEME_DDP);
    job.accumulation = 8;
    job.sync_every_micro_batch = true;
    assert_near(factor_of(job, 2, 8).communications, 8, 1e-12);
    job.scheme = CB_SCHEME_HYBRID;
    assert_near(factor_of(job, 2, 8).communications, 8, 1e-12);
    job.scheme = CB_SCHEME_ZERO1; /* reduces when it steps */
    assert_near(factor_of(job, 2, 8).communications, 1, 1e-12);
}

static void test_factors_of_adapters(void **state)
{
    (void)state;
    struct cb_job job = base_job(CB_SCHEME_DDP);
    job.adapter = CB_ADAPTER_LORA;
    job.trainable_parameters = 40e6;
    assert_near(factor_of(job, 2, 8).communications, 40e6 / 7e9, 1e-12);
    /* Sharded weights are gathered all the same: about once per micro-batch. */
    job.scheme = CB_SCHEME_ZERO3;
    job.accumulation = 8;
    assert_near(factor_of(job, 2, 8).communications, 8, 0.01);
    /* In 4 bits they are a quarter of that; the adapters themselves stay as they are. */
    job.adapter = CB_ADAPTER_QLORA;
    double trained = 40e6 / 7e9, gather = 4.127 / 8 * (1 - trained) + 2 * trained;
    assert_near(factor_of(job, 2, 8).communications, 8 * (2 * gather + 2 * trained) / 4, 1e-12);
    /* Half of the weights frozen without an adapter. */
    job = base_job(CB_SCHEME_ZERO3);
    job.trainable_parameters = 3.5e9;
    assert_near(factor_of(job, 2, 8).communications, 1.25, 1e-12);
}

/* INTELLECT-1 (2412.01152): 100 local steps and int8 instead of fp32 are 400 times less. */
static void test_factor_of_local_steps(void **state)
{
    (void)state;
    struct cb_job job = base_job(CB_SCHEME_DDP);
    job.gradient_bytes = 4;
    double plain = factor_of(job, 8, 8).communications;
    job.gradient_bytes = 1;
    job.local_steps = 100;
    assert_near(plain / factor_of(job, 8, 8).communications, 400, 1e-12);
    job.scheme = CB_SCHEME_FSDP; /* inside the nodes */
    assert_near(plain / factor_of(job, 8, 8).communications, 400, 1e-12);
    /* In one node there is nothing to put off. */
    job.scheme = CB_SCHEME_DDP;
    assert_near(factor_of(job, 1, 8).communications, 0.5, 1e-12);
}

/* min(1, GPUs of a node / shards) where the shards lie in the node (tensor) or where a node holds
 * one stage (pipeline stages are farthest apart). */
static void test_factors_of_model_parallel_jobs(void **state)
{
    (void)state;
    static const struct {
        int tensor, pipeline, nodes;
        double factor;
    } rows[] = {
        {8, 1, 8, 1},      {4, 1, 8, 1},    {2, 1, 8, 1},    {8, 4, 8, 0.25},
        {8, 8, 16, 0.125}, {1, 4, 8, 0.25}, {16, 1, 8, 0.5},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cb_job job = base_job(CB_SCHEME_DDP);
        job.tensor = rows[i].tensor;
        job.pipeline = rows[i].pipeline;
        struct cb_factor factor = factor_of(job, rows[i].nodes, 8);
        assert_near(factor.communications, rows[i].factor, 1e-12);
        assert_near(factor.scheme_communications, 1, 1e-12);
        assert_non_null(rows[i].factor == 1 ? factor.reason
                                            : strstr(factor.reason, "of the model per node"));
    }
    struct cb_job job = base_job(CB_SCHEME_DDP);
    job.tensor = 8;
    struct cb_factor none = factor_of(job, 1, 8);
    assert_near(none.communications, 0, 0);
    assert_non_null(strstr(none.reason, "nothing to keep in step"));
}

/* 14 GB in buckets of 25 MiB, of equal size. */
static void test_ddp(void **state)
{
    (void)state;
    struct cb_volumes volumes = volumes_of(base_job(CB_SCHEME_DDP), 2, 8);
    assert_int_equal(volumes.count, 1);
    struct cb_traffic all_reduce =
        only(&volumes, CB_TRAFFIC_GRADIENTS, CB_OP_ALL_REDUCE, CB_HIDE_LAST_BACKWARD);
    assert_near(all_reduce.operations, ceil(14e9 / 26214400), 0);
    assert_near(all_reduce.operations * all_reduce.size_bytes, 14e9, 1e-12);
    assert_int_equal(all_reduce.group.ranks, 16);
    assert_int_equal(all_reduce.group.nodes, 2);
    assert_near(all_reduce.groups, 1, 0);
    assert_false(all_reduce.grows_with_tokens);
    /* One GPU has nothing to send. */
    assert_int_equal(volumes_of(base_job(CB_SCHEME_DDP), 1, 1).count, 0);
}

static void test_zero(void **state)
{
    (void)state;
    struct cb_job job = base_job(CB_SCHEME_ZERO1);
    job.gradient_bytes = 4;
    job.accumulation = 4;
    struct cb_volumes volumes = volumes_of(job, 2, 8);
    assert_int_equal(volumes.count, 2);
    struct cb_traffic scatter =
        only(&volumes, CB_TRAFFIC_GRADIENTS, CB_OP_REDUCE_SCATTER, CB_HIDE_LAST_BACKWARD);
    assert_near(scatter.operations * scatter.size_bytes, 28e9, 1e-12);
    struct cb_traffic gather =
        only(&volumes, CB_TRAFFIC_PARAMETERS, CB_OP_ALL_GATHER, CB_HIDE_NOWHERE);
    assert_near(gather.operations * gather.size_bytes, 14e9, 1e-12);
    job.scheme = CB_SCHEME_ZERO2;
    volumes = volumes_of(job, 2, 8);
    scatter = only(&volumes, CB_TRAFFIC_GRADIENTS, CB_OP_REDUCE_SCATTER, CB_HIDE_BACKWARD);
    assert_near(scatter.operations * scatter.size_bytes, 4 * 28e9, 1e-12);
}

/* Layer by layer: 32 all_gathers of 437.5 MB forward, 32 backward, 32 reduce_scatters, for each of
 * 4 micro-batches. */
static void test_full_shard(void **state)
{
    (void)state;
    struct cb_job job = base_job(CB_SCHEME_FSDP);
    job.accumulation = 4;
    struct cb_volumes volumes = volumes_of(job, 4, 8);
    assert_int_equal(volumes.count, 3);
    struct cb_traffic items[] = {
        only(&volumes, CB_TRAFFIC_PARAMETERS, CB_OP_ALL_GATHER, CB_HIDE_FORWARD),
        only(&volumes, CB_TRAFFIC_PARAMETERS, CB_OP_ALL_GATHER, CB_HIDE_BACKWARD),
        only(&volumes, CB_TRAFFIC_GRADIENTS, CB_OP_REDUCE_SCATTER, CB_HIDE_BACKWARD),
    };
    for (size_t i = 0; i < 3; i++) {
        assert_near(items[i].operations, 128, 0);
        assert_near(items[i].size_bytes, 437.5e6, 1e-12);
        assert_int_equal(items[i].group.ranks, 32);
    }
}

/* With pipeline stages weights are gathered and gradients reduced once per step. */
static void test_full_shard_of_stages(void **state)
{
    (void)state;
    struct cb_job job = base_job(CB_SCHEME_FSDP);
    job.accumulation = 16;
    job.pipeline = 4;
    struct cb_volumes volumes = volumes_of(job, 4, 8);
    struct cb_traffic gather =
        only(&volumes, CB_TRAFFIC_PARAMETERS, CB_OP_ALL_GATHER, CB_HIDE_FORWARD);
    assert_near(gather.operations, 8, 0);
    assert_near(gather.size_bytes, 437.5e6, 1e-12);
    struct cb_traffic scatter =
        only(&volumes, CB_TRAFFIC_GRADIENTS, CB_OP_REDUCE_SCATTER, CB_HIDE_LAST_BACKWARD);
    assert_near(scatter.operations, 8, 0);
    assert_near(factor_of(job, 4, 8).communications, 1.0 / 4, 1e-12);
    job.scheme = CB_SCHEME_ZERO2;
    assert_near(factor_of(job, 4, 8).communications, 1.0 / 4, 1e-12);
}

/* In the node as full shard; across, each GPU reduces its eighth with its peers of the other nodes,
 * eight such groups at a time, once per step. */
static void test_hybrid_shard(void **state)
{
    (void)state;
    struct cb_job job = base_job(CB_SCHEME_HYBRID);
    job.accumulation = 4;
    struct cb_volumes volumes = volumes_of(job, 4, 8);
    struct cb_traffic gather =
        only(&volumes, CB_TRAFFIC_PARAMETERS, CB_OP_ALL_GATHER, CB_HIDE_FORWARD);
    assert_int_equal(gather.group.ranks, 8);
    assert_int_equal(gather.group.nodes, 1);
    struct cb_traffic across =
        only(&volumes, CB_TRAFFIC_GRADIENTS, CB_OP_ALL_REDUCE, CB_HIDE_LAST_BACKWARD);
    assert_int_equal(across.group.ranks, 4);
    assert_int_equal(across.group.nodes, 4);
    assert_near(across.groups, 8, 0);
    assert_near(across.size_bytes * across.operations, 14e9 / 8, 1e-12);
    /* On one node it is full shard. */
    volumes = volumes_of(job, 1, 8);
    assert_int_equal(volumes.count, 3);
}

static void test_local_steps(void **state)
{
    (void)state;
    struct cb_job job = base_job(CB_SCHEME_FSDP);
    job.local_steps = 50;
    struct cb_volumes volumes = volumes_of(job, 4, 8);
    struct cb_traffic across =
        only(&volumes, CB_TRAFFIC_GRADIENTS, CB_OP_ALL_REDUCE, CB_HIDE_NOWHERE);
    assert_near(across.size_bytes * across.operations, 14e9 / 50, 1e-12);
    assert_int_equal(across.group.ranks, 32);
    for (size_t i = 0; i < volumes.count; i++)
        if (volumes.items[i].op != CB_OP_ALL_REDUCE)
            assert_int_equal(volumes.items[i].group.nodes, 1);
}

/* Four all_reduces of 2 x 2048 x 4096 bytes per layer; six with recompute. The data ranks of one
 * tensor rank lie one per node, eight groups sharing the links. */
static void test_tensor(void **state)
{
    (void)state;
    struct cb_job job = base_job(CB_SCHEME_DDP);
    job.tensor = 8;
    job.accumulation = 2;
    struct cb_volumes volumes = volumes_of(job, 4, 8);
    struct cb_traffic tensor = only(&volumes, CB_TRAFFIC_TENSOR, CB_OP_ALL_REDUCE, CB_HIDE_NOWHERE);
    assert_near(tensor.size_bytes, 2.0 * 2048 * 4096, 1e-12);
    assert_near(tensor.operations, 4 * 32 * 2, 0);
    assert_int_equal(tensor.group.nodes, 1);
    assert_true(tensor.grows_with_tokens);
    struct cb_traffic gradients =
        only(&volumes, CB_TRAFFIC_GRADIENTS, CB_OP_ALL_REDUCE, CB_HIDE_LAST_BACKWARD);
    assert_near(gradients.size_bytes * gradients.operations, 14e9 / 8, 1e-12);
    assert_int_equal(gradients.group.ranks, 4);
    assert_int_equal(gradients.group.nodes, 4);
    assert_near(gradients.groups, 8, 0);
    job.full_recompute = true;
    volumes = volumes_of(job, 4, 8);
    tensor = only(&volumes, CB_TRAFFIC_TENSOR, CB_OP_ALL_REDUCE, CB_HIDE_NOWHERE);
    assert_near(tensor.operations, 6 * 32 * 2, 0);
    job.overlap_tensor = true;
    volumes = volumes_of(job, 4, 8);
    only(&volumes, CB_TRAFFIC_TENSOR, CB_OP_ALL_REDUCE, CB_HIDE_STEP);
}

static void test_pipeline(void **state)
{
    (void)state;
    struct cb_job job = base_job(CB_SCHEME_DDP);
    job.tensor = 2;
    job.pipeline = 4;
    job.accumulation = 16;
    job.interleave = 2;
    struct cb_volumes volumes = volumes_of(job, 4, 8);
    struct cb_traffic stage = only(&volumes, CB_TRAFFIC_PIPELINE, CB_OP_SEND_RECV, CB_HIDE_STEP);
    assert_near(stage.size_bytes, 2.0 * 2048 * 4096 / 2, 1e-12);
    assert_near(stage.operations, 2 * 16 * 2, 0);
    assert_int_equal(stage.group.nodes, 2);
    assert_near(stage.groups, 8, 0);
    struct cb_traffic embedding =
        only(&volumes, CB_TRAFFIC_EMBEDDING, CB_OP_ALL_REDUCE, CB_HIDE_NOWHERE);
    assert_near(embedding.size_bytes, 2.0 * 32000 * 4096 / 2, 1e-12);
    /* Within one node no stage crosses. */
    volumes = volumes_of(job, 1, 8);
    assert_int_equal(only(&volumes, CB_TRAFFIC_PIPELINE, CB_OP_SEND_RECV, CB_HIDE_STEP).group.nodes,
                     1);
}

/* Keys and values of 1024 tokens, 8 of 32 heads, go around three times; Ulysses exchanges eight
 * times per layer. */
static void test_context(void **state)
{
    (void)state;
    struct cb_job job = base_job(CB_SCHEME_DDP);
    job.context = 2;
    job.heads = 32;
    job.kv_heads = 8;
    struct cb_volumes volumes = volumes_of(job, 1, 8);
    struct cb_traffic ring = only(&volumes, CB_TRAFFIC_CONTEXT, CB_OP_SEND_RECV, CB_HIDE_STEP);
    assert_near(ring.size_bytes, 2 * 2.0 * 1024 * 1024, 1e-12);
    assert_near(ring.operations, 3 * 32, 0);
    /* All context and data ranks reduce gradients together. */
    struct cb_traffic gradients =
        only(&volumes, CB_TRAFFIC_GRADIENTS, CB_OP_ALL_REDUCE, CB_HIDE_LAST_BACKWARD);
    assert_int_equal(gradients.group.ranks, 8);
    job.context_kind = CB_CONTEXT_ULYSSES;
    job.kv_heads = 32;
    volumes = volumes_of(job, 1, 8);
    struct cb_traffic exchange =
        only(&volumes, CB_TRAFFIC_CONTEXT, CB_OP_ALL_TO_ALL, CB_HIDE_NOWHERE);
    assert_near(exchange.size_bytes, 2.0 * 1024 * 4096, 1e-12);
    assert_near(exchange.operations, 8 * 32, 0);
}

/* Mixtral: 2 of 8 experts; 45.07B of 46.7B are experts. Four exchanges per layer, and each expert
 * has a copy in every eighth rank. */
static void test_experts(void **state)
{
    (void)state;
    struct cb_job job = base_job(CB_SCHEME_DDP);
    job.parameters = 46.7e9;
    job.active_parameters = 12.9e9;
    job.experts = 8;
    job.experts_per_token = 2;
    job.expert = 8;
    struct cb_volumes volumes = volumes_of(job, 4, 8);
    struct cb_traffic exchange =
        only(&volumes, CB_TRAFFIC_EXPERT, CB_OP_ALL_TO_ALL, CB_HIDE_NOWHERE);
    assert_near(exchange.size_bytes, 2.0 * 2 * 2048 * 4096, 1e-12);
    assert_near(exchange.operations, 4 * 32, 0);
    assert_int_equal(exchange.group.ranks, 8);
    assert_int_equal(exchange.group.nodes, 1);
    double experts = (46.7e9 - 12.9e9) / 6 * 8;
    struct cb_traffic expert_gradients =
        only(&volumes, CB_TRAFFIC_EXPERT_GRADIENTS, CB_OP_ALL_REDUCE, CB_HIDE_LAST_BACKWARD);
    assert_near(expert_gradients.size_bytes * expert_gradients.operations, 2 * experts / 8, 1e-12);
    assert_int_equal(expert_gradients.group.ranks, 4);
    assert_int_equal(expert_gradients.group.nodes, 4);
    assert_near(expert_gradients.groups, 8, 0);
    struct cb_traffic gradients =
        only(&volumes, CB_TRAFFIC_GRADIENTS, CB_OP_ALL_REDUCE, CB_HIDE_LAST_BACKWARD);
    assert_near(gradients.size_bytes * gradients.operations, 2 * (46.7e9 - experts), 1e-12);
    assert_int_equal(gradients.group.ranks, 32);
    /* A node carries the whole model either way. */
    assert_near(factor_of(job, 4, 8).communications, 1, 1e-12);
    /* Without an expert degree it is a dense model with more parameters than work. */
    job.expert = 1;
    volumes = volumes_of(job, 4, 8);
    assert_int_equal(volumes.count, 1);
}

static void test_names(void **state)
{
    (void)state;
    for (int i = 0; i < CB_TRAFFIC_KIND_COUNT; i++)
        assert_true(strlen(cb_traffic_kind_name((enum cb_traffic_kind)i)) > 0);
}

/* The most a job can have at once fits the list. */
static void test_everything_at_once(void **state)
{
    (void)state;
    struct cb_job job = base_job(CB_SCHEME_HYBRID);
    job.parameters = 46.7e9;
    job.experts = 8;
    job.tensor = 2;
    job.pipeline = 2;
    job.context = 2;
    job.expert = 2;
    struct cb_volumes volumes = volumes_of(job, 8, 8);
    /* 3 of each portion, and tensor, pipeline, embedding, context, expert. */
    assert_int_equal(volumes.count, 11);
    assert_true(volumes.count <= CB_TRAFFIC_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_factors),
        cmocka_unit_test(test_factor_without_no_sync),
        cmocka_unit_test(test_factors_of_adapters),
        cmocka_unit_test(test_factor_of_local_steps),
        cmocka_unit_test(test_factors_of_model_parallel_jobs),
        cmocka_unit_test(test_ddp),
        cmocka_unit_test(test_zero),
        cmocka_unit_test(test_full_shard),
        cmocka_unit_test(test_full_shard_of_stages),
        cmocka_unit_test(test_hybrid_shard),
        cmocka_unit_test(test_local_steps),
        cmocka_unit_test(test_tensor),
        cmocka_unit_test(test_pipeline),
        cmocka_unit_test(test_context),
        cmocka_unit_test(test_experts),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_everything_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

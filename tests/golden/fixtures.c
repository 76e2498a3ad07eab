#include "fixtures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/judge.h"

#define GIB (1024.0 * 1024 * 1024)

/* Setting up a test's data has no way to go on without memory or with a workload that cannot be. */
static void *must(void *pointer)
{
    if (!pointer)
        abort();
    return pointer;
}

#define ADD(vec) must(cb_vec_add(vec))

static void set(char *field, size_t size_bytes, const char *text)
{
    size_t length = strnlen(text, size_bytes - 1);
    memcpy(field, text, length);
    field[length] = '\0';
}

#define SET(field, text) set(field, sizeof(field), text)

/* ---- machines ---- */

static struct cb_topo_nic nic(const char *name, const char *kind, const char *driver,
                              double nominal_bytes_per_s, double stated_bytes_per_s)
{
    struct cb_topo_nic made = {.nominal_bytes_per_s = nominal_bytes_per_s,
                               .stated_bytes_per_s = stated_bytes_per_s,
                               .mtu_bytes = 1500,
                               .numa = -1,
                               .up = true};
    SET(made.name, name);
    SET(made.kind, kind);
    SET(made.driver, driver);
    return made;
}

static struct cb_topo_host *add_host(struct cb_result *result, const char *name, int sockets,
                                     int cores, double memory_gib)
{
    struct cb_topo_host *host = ADD(&result->nodes);
    SET(host->name, name);
    SET(host->cpu_model, "AMD EPYC 7313 16-Core Processor");
    host->sockets = sockets;
    host->cores = cores;
    host->hardware_threads = 2 * cores;
    host->numa_nodes = sockets;
    host->memory_bytes = (uint64_t)(memory_gib * GIB);
    host->last_level_cache_bytes = (uint64_t)sockets << 27;
    return host;
}

static void add_nic(struct cb_topo_host *host, struct cb_topo_nic made)
{
    host->nics[host->nic_count++] = made;
    host->nics_found = host->nic_count;
}

static void add_ranks(struct cb_result *result, int ranks_per_node, int threads)
{
    for (int node = 0; node < (int)result->nodes.count; node++)
        for (int local = 0; local < ranks_per_node; local++) {
            struct cb_rank *rank = ADD(&result->ranks);
            rank->rank = result->rank_count++;
            rank->node = node;
            rank->local_rank = local;
            rank->threads = threads;
            rank->binding = (struct cb_topo_binding){
                .cpus = 2 * threads, .cores = threads, .bound = true, .numa = 0};
            snprintf(rank->binding.cpuset, sizeof(rank->binding.cpuset), "%d-%d", local * threads,
                     (local + 1) * threads - 1);
        }
}

static void start(struct cb_result *result)
{
    cb_result_init(result);
    SET(result->tool_version, "0.1.0");
    SET(result->build, "gcc 12.2.0 -O2, MPI on");
    SET(result->started_at, "2026-12-01T10:12:03Z");
    SET(result->finished_at, "2026-12-01T10:12:24Z");
    SET(result->transport, "mpi");
    SET(result->transport_library, "Open MPI 4.1.4");
    SET(result->transport_version, "4.1.4");
    result->complete = true;
    cb_result_add_option(result, "max-bytes", "64 MiB");
    cb_result_add_environment(result, "OMPI_MCA_btl_tcp_if_include", "eth0", "commbound");
}

static void judge(struct cb_result *result, struct cb_workload workload)
{
    struct cb_error err;
    if (workload.time_s == 0)
        workload.span = CB_SPAN_COUNT;
    if (cb_judge_result(result, &workload, &err) != 0)
        abort();
}

/* ---- measurements ---- */

/* How a group of ranks communicates: time = alpha x steps + bytes moved / rate. */
struct link {
    double alpha_s;
    double bus_bytes_per_s;
};

static struct cb_collective_row *add_collective(struct cb_result *result, enum cb_op op,
                                                enum cb_scope scope, int ranks, uint64_t size_bytes,
                                                struct link link)
{
    struct cb_collective_row *row = ADD(&result->collectives);
    double factor = cb_op_bus_factor(op, ranks);
    double median_s =
        link.alpha_s * ceil(log2(ranks)) + (double)size_bytes * factor / link.bus_bytes_per_s;
    row->op = op;
    row->scope = scope;
    row->dtype = CB_DTYPE_FLOAT32;
    row->ranks = ranks;
    row->size_bytes = cb_op_usable_bytes(op, row->dtype, ranks, size_bytes);
    row->samples = 20;
    row->operations_per_sample = median_s > 1e-3 ? 1 : (int)(1e-3 / median_s) + 1;
    row->time = (struct cb_time_stats){.median_s = median_s,
                                       .p10_s = median_s * 0.985,
                                       .p90_s = median_s * 1.02,
                                       .min_s = median_s * 0.98,
                                       .max_s = median_s * 1.06,
                                       .ci95_relative = 0.004 + 0.01 / (1 + (double)size_bytes)};
    row->alg_bytes_per_s = (double)row->size_bytes / median_s;
    row->bus_bytes_per_s = row->alg_bytes_per_s * factor;
    return row;
}

static void add_sweep(struct cb_result *result, enum cb_op op, enum cb_scope scope, int ranks,
                      struct link link)
{
    static const uint64_t sizes_bytes[] = {8,          64,       1024,     16u << 10,
                                           256u << 10, 1u << 20, 4u << 20, 64u << 20};
    for (size_t i = 0; i < sizeof(sizes_bytes) / sizeof(sizes_bytes[0]); i++)
        if (cb_op_usable_bytes(op, CB_DTYPE_FLOAT32, ranks, sizes_bytes[i]) > 0)
            add_collective(result, op, scope, ranks, sizes_bytes[i], link);
}

static void add_pair(struct cb_result *result, int a, int b, double round_trip_s,
                     double bytes_per_s)
{
    struct cb_pair_row *row = ADD(&result->pairs);
    SET(row->a, result->nodes.items[a].name);
    SET(row->b, result->nodes.items[b].name);
    row->round_trip_s = round_trip_s;
    row->size_bytes = 4u << 20;
    row->bytes_per_s = bytes_per_s;
    row->ci95_relative = 0.003;
}

struct kernel {
    const char *name;
    enum cb_dtype dtype;
    const char *variant;
    double flops_per_s, bytes_per_s; /* of one core */
};

static const struct kernel kernels[] = {
    {"gemm", CB_DTYPE_FLOAT32, "OpenBLAS 0.3.21", 98e9, 0},
    {"gemm", CB_DTYPE_FLOAT64, "OpenBLAS 0.3.21", 48e9, 0},
    {"read", CB_DTYPE_FLOAT64, "plain", 0, 11.2e9},
    {"write", CB_DTYPE_FLOAT64, "non-temporal", 0, 9.8e9},
    {"copy", CB_DTYPE_FLOAT64, "non-temporal", 0, 10.1e9},
    {"triad", CB_DTYPE_FLOAT64, "non-temporal", 0, 10.3e9},
};

/* Every rank's rates lie a little lower than the ones before, so that the worst is the last. */
static void add_kernels(struct cb_result *result)
{
    for (size_t k = 0; k < sizeof(kernels) / sizeof(kernels[0]); k++)
        for (int rank = 0; rank < result->rank_count; rank++) {
            struct cb_kernel_row *row = ADD(&result->kernels);
            double share =
                (1 - 0.04 * rank / result->rank_count) * result->ranks.items[rank].threads;
            row->rank = rank;
            SET(row->kernel, kernels[k].name);
            row->dtype = kernels[k].dtype;
            SET(row->variant, kernels[k].variant);
            row->threads = result->ranks.items[rank].threads;
            row->size_bytes = 256u << 20;
            row->samples = 15;
            row->flops_per_s = kernels[k].flops_per_s * share;
            row->bytes_per_s = kernels[k].bytes_per_s * share;
            row->ci95_relative = 0.006;
        }
}

/* ---- results ---- */

static const struct link memory_link = {1.1e-6, 5.2e9};
static const struct link gigabit_link = {34e-6, 117.1e6};
static const struct link gigabit_world = {29e-6, 104.6e6};
static const struct link roce_link = {3.2e-6, 11.62e9};
static const struct link roce_world = {3.9e-6, 11.31e9};

static void add_gigabit_hosts(struct cb_result *result)
{
    static const char *const names[] = {"n0", "n1"};
    for (int i = 0; i < 2; i++) {
        struct cb_topo_host *host = add_host(result, names[i], 1, 16, 64);
        struct cb_topo_nic used = nic("eth0", "Ethernet", "igb", 125e6, 125e6);
        used.used = true;
        add_nic(host, used);
        add_nic(host, nic("docker0", "bridge", "bridge", 0, 0));
        struct cb_topo_nic down = nic("eth1", "Ethernet", "igb", 0, 0);
        down.up = false;
        add_nic(host, down);
    }
    add_ranks(result, 2, 8);
}

static void add_gigabit_sweep(struct cb_result *result, enum cb_op op)
{
    add_sweep(result, op, CB_SCOPE_INTRA_NODE, 2, memory_link);
    add_sweep(result, op, CB_SCOPE_INTER_NODE, 2, gigabit_link);
    add_sweep(result, op, CB_SCOPE_WORLD, 4, gigabit_world);
}

void cb_fixture_two_hosts(struct cb_result *result)
{
    start(result);
    add_gigabit_hosts(result);
    add_pair(result, 0, 1, 68e-6, 117.4e6);
    add_gigabit_sweep(result, CB_OP_ALL_REDUCE);
    add_gigabit_sweep(result, CB_OP_ALL_GATHER);
    add_kernels(result);
    judge(result, (struct cb_workload){.nominal_bytes_per_s = 125e6});
}

void cb_fixture_one_host(struct cb_result *result)
{
    start(result);
    struct cb_topo_host *host = add_host(result, "bench", 2, 32, 256);
    add_nic(host, nic("eth0", "virtual Ethernet", "veth", 0, 1.25e9));
    add_ranks(result, 2, 16);
    add_sweep(result, CB_OP_ALL_REDUCE, CB_SCOPE_WORLD, 2, memory_link);
    add_sweep(result, CB_OP_SEND_RECV, CB_SCOPE_WORLD, 2, memory_link);
    for (size_t i = 0, count = result->collectives.count; i < count; i++) {
        struct cb_collective_row copy = result->collectives.items[i];
        if (copy.op != CB_OP_ALL_REDUCE || copy.size_bytes < 32768)
            continue;
        copy.in_place = true;
        memcpy(ADD(&result->collectives), &copy, sizeof(copy));
        copy.in_place = false;
        copy.redop = CB_REDOP_MAX;
        memcpy(ADD(&result->collectives), &copy, sizeof(copy));
    }
    add_kernels(result);
    cb_result_warn(result, "nic.speed_made_up",
                   "state what the offer says with --nominal-bandwidth",
                   "eth0: driver veth states a speed that no hardware stands behind: the nominal "
                   "bandwidth is unknown");
    judge(result, (struct cb_workload){
                      .parameters = 1.25e8, .communications = 20000, .tokens_per_step = 131072});
}

static void skip(struct cb_collective_row *row, enum cb_status status, const char *reason)
{
    row->status = status;
    row->samples = row->operations_per_sample = 0;
    row->time = (struct cb_time_stats){.ci95_relative = -1};
    row->alg_bytes_per_s = row->bus_bytes_per_s = 0;
    SET(row->reason, reason);
}

void cb_fixture_interrupted(struct cb_result *result)
{
    start(result);
    add_gigabit_hosts(result);
    add_pair(result, 0, 1, 68e-6, 117.4e6);
    add_gigabit_sweep(result, CB_OP_ALL_REDUCE);
    add_gigabit_sweep(result, CB_OP_ALL_GATHER);
    for (size_t i = 0; i < result->collectives.count; i++) {
        struct cb_collective_row *row = &result->collectives.items[i];
        if (row->scope == CB_SCOPE_WORLD && row->size_bytes > 1 << 20)
            skip(row, CB_STATUS_TIMEOUT, "its samples did not end within 10 s");
        if (row->op == CB_OP_ALL_GATHER)
            skip(row, CB_STATUS_SKIPPED, "stopped by a signal before it started");
    }
    result->complete = false;
    SET(result->stopped_by, "signal");
    judge(result,
          (struct cb_workload){
              .parameters = 7e9, .communications = 1000, .span = CB_SPAN_STEP, .time_s = 900});
}

void cb_fixture_wrong_data(struct cb_result *result)
{
    start(result);
    add_gigabit_hosts(result);
    add_pair(result, 0, 1, 68e-6, 117.4e6);
    add_gigabit_sweep(result, CB_OP_ALL_REDUCE);
    add_kernels(result);
    for (size_t i = 0; i < result->collectives.count; i++) {
        struct cb_collective_row *row = &result->collectives.items[i];
        if (row->scope == CB_SCOPE_INTER_NODE && row->size_bytes == 4u << 20) {
            row->wrong = 3;
            row->status = CB_STATUS_WRONG;
        }
    }
    result->kernels.items[3].wrong = 17;
    result->kernels.items[3].status = CB_STATUS_WRONG;
    judge(result, (struct cb_workload){.nominal_bytes_per_s = 125e6});
}

/* 125M parameters over the world's 104 MB/s take 4.8 s of communication, a fifth of 24 s. */
void cb_fixture_undecided(struct cb_result *result)
{
    start(result);
    add_gigabit_hosts(result);
    add_pair(result, 0, 1, 68e-6, 96.2e6);
    add_gigabit_sweep(result, CB_OP_ALL_REDUCE);
    for (size_t i = 0; i < result->collectives.count; i++) {
        struct cb_collective_row *row = &result->collectives.items[i];
        if (row->size_bytes < 1 << 20 || row->scope == CB_SCOPE_INTRA_NODE)
            continue;
        row->status = CB_STATUS_NOISY;
        row->time.ci95_relative = 0.13;
        row->time.p10_s = row->time.median_s * 0.84;
        row->time.p90_s = row->time.median_s * 1.31;
    }
    result->pairs.items[0].status = CB_STATUS_NOISY;
    result->pairs.items[0].ci95_relative = 0.11;
    judge(result, (struct cb_workload){.parameters = 125e6, .span = CB_SPAN_STEP, .time_s = 23.9});
}

static void judge_on_paper(struct cb_result *result, struct cb_workload workload)
{
    start(result);
    cb_result_fini(result);
    SET(result->tool_version, "0.1.0");
    judge(result, workload);
    cb_vec_fini(&result->checks);
}

void cb_fixture_paper(struct cb_result *result)
{
    judge_on_paper(result, (struct cb_workload){.parameters = 7e9,
                                                .communications = 1000,
                                                .bandwidth_bytes_per_s = 12.5e9,
                                                .span = CB_SPAN_COMPUTE,
                                                .time_s = 10.5});
}

void cb_fixture_impossible(struct cb_result *result)
{
    judge_on_paper(result, (struct cb_workload){.parameters = 7e9,
                                                .communications = 10000,
                                                .bandwidth_bytes_per_s = 0.125e9,
                                                .span = CB_SPAN_TOTAL,
                                                .time_s = 864000});
}

void cb_fixture_nasty(struct cb_result *result)
{
    static const char *const names[] = {"\x1b[2J\x1b[1;31mroot\x07", "a,\"b\"\nc"};
    char endless[300];
    memset(endless, 'x', sizeof(endless) - 1);
    endless[sizeof(endless) - 1] = '\0';
    start(result);
    for (int i = 0; i < 2; i++) {
        struct cb_topo_host *host = add_host(result, names[i], 1, 4, 8);
        SET(host->cpu_model, i == 0 ? "\xe9\x9b\xb6\xe4\xb8\x80 CPU\x9b" : endless);
        add_nic(host, nic(i == 0 ? endless : "\x1b]0;title\x07", "Ethernet", endless, 0, 1.25e8));
    }
    add_ranks(result, 1, 4);
    add_pair(result, 0, 1, 68e-6, 117.4e6);
    add_pair(result, 1, 0, 68e-6, 117.4e6);
    SET(result->pairs.items[1].reason, "peer said \"no\", twice\r\n\tand left");
    result->pairs.items[1].status = CB_STATUS_FAILED;
    struct cb_collective_row *row =
        add_collective(result, CB_OP_ALL_REDUCE, CB_SCOPE_WORLD, 2, 1 << 20, gigabit_link);
    row->status = CB_STATUS_NOISY;
    row = add_collective(result, CB_OP_BROADCAST, CB_SCOPE_WORLD, 2, 1 << 20, gigabit_link);
    skip(row, CB_STATUS_SKIPPED, endless);
    add_kernels(result);
    SET(result->kernels.items[0].kernel, "\x1b[Hgemm");
    SET(result->kernels.items[1].variant, endless);
    cb_result_warn(result, "x", endless, "\x1b[8mhidden\x1b[0m %s", endless);
    SET(result->tool_version, endless);
    SET(result->transport_library, endless);
    SET(result->transport_version, "\x1b[5m");
    SET(result->started_at, "yesterday\x1b[A");
    judge(result, (struct cb_workload){.parameters = 1e9, .span = CB_SPAN_STEP, .time_s = 10});
    SET(result->formula.workload, endless);
}

void cb_fixture_one_rank(struct cb_result *result)
{
    start(result);
    add_host(result, "laptop", 1, 8, 32);
    add_ranks(result, 1, 8);
    for (int op = 0; op < CB_OP_COUNT; op++) {
        struct cb_collective_row *row = ADD(&result->collectives);
        row->op = (enum cb_op)op;
        row->ranks = 1;
        skip(row, CB_STATUS_SKIPPED, "one rank only: a collective needs two");
    }
    add_kernels(result);
    judge(result, (struct cb_workload){.parameters = 0});
}

void cb_fixture_cluster(int nodes, int ranks_per_node, struct cb_result *result)
{
    start(result);
    for (int i = 0; i < nodes; i++) {
        char name[32];
        snprintf(name, sizeof(name), "gpu%04d", i + 1);
        struct cb_topo_host *host = add_host(result, name, 2, 64, 512);
        struct cb_topo_nic port = nic("mlx5_0:1", "RoCE", "mlx5_core", 12.5e9, 12.5e9);
        port.used = true;
        port.mtu_bytes = 4096;
        SET(port.partner, "eth0");
        add_nic(host, port);
    }
    add_ranks(result, ranks_per_node, 64 / ranks_per_node);
    for (int i = 0; i < nodes; i++)
        add_pair(result, i, (i + 1) % nodes, 4.1e-6 + 0.01e-6 * (i % 7),
                 i == nodes / 2 ? 1.17e9 : 11.9e9 - 1e6 * ((i * 37) % 101));
    add_sweep(result, CB_OP_ALL_REDUCE, CB_SCOPE_INTRA_NODE, ranks_per_node, memory_link);
    add_sweep(result, CB_OP_ALL_REDUCE, CB_SCOPE_INTER_NODE, nodes, roce_link);
    add_sweep(result, CB_OP_ALL_REDUCE, CB_SCOPE_WORLD, result->rank_count, roce_world);
    add_kernels(result);
    judge(result, (struct cb_workload){.nominal_bytes_per_s = 12.5e9});
}

void cb_fixture_many_nodes(struct cb_result *result)
{
    cb_fixture_cluster(16, 8, result);
}

const struct cb_fixture *cb_fixtures(size_t *count)
{
    static const struct cb_fixture fixtures[] = {
        {"two_hosts", cb_fixture_two_hosts},     {"one_host", cb_fixture_one_host},
        {"interrupted", cb_fixture_interrupted}, {"wrong_data", cb_fixture_wrong_data},
        {"undecided", cb_fixture_undecided},     {"paper", cb_fixture_paper},
        {"impossible", cb_fixture_impossible},   {"nasty", cb_fixture_nasty},
        {"one_rank", cb_fixture_one_rank},       {"many_nodes", cb_fixture_many_nodes},
    };
    *count = sizeof(fixtures) / sizeof(fixtures[0]);
    return fixtures;
}

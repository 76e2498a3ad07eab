#include "fixtures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/judge.h"
#include "judge/offer.h"
#include "must.h"
#include "offer/offer.h"

#define GIB (1024.0 * 1024 * 1024)

/* Setting up a test's data has no way to go on without memory or with a workload that cannot be. */
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
    judge(result, (struct cb_workload){.job.parameters = 1.25e8,
                                       .communications = 20000,
                                       .job.tokens_per_step = 131072});
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
              .job.parameters = 7e9, .communications = 1000, .span = CB_SPAN_STEP, .time_s = 900});
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
    judge(result,
          (struct cb_workload){.job.parameters = 125e6, .span = CB_SPAN_STEP, .time_s = 23.9});
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
    judge_on_paper(result, (struct cb_workload){.job.parameters = 7e9,
                                                .communications = 1000,
                                                .bandwidth_bytes_per_s = 12.5e9,
                                                .span = CB_SPAN_COMPUTE,
                                                .time_s = 10.5});
}

void cb_fixture_impossible(struct cb_result *result)
{
    judge_on_paper(result, (struct cb_workload){.job.parameters = 7e9,
                                                .communications = 10000,
                                                .bandwidth_bytes_per_s = 0.125e9,
                                                .span = CB_SPAN_TOTAL,
                                                .time_s = 864000});
}

/* Two nodes from their data sheets, as `judge --gpu ...` builds it. */
static void judge_offer(struct cb_result *result, const struct cb_offer_terms *terms,
                        const struct cb_workload *workload)
{
    struct cb_offer offer;
    struct cb_sheet_network network;
    start(result);
    cb_result_fini(result);
    SET(result->tool_version, "0.1.0");
    result->complete = true;
    if (cb_offer_resolve(terms, &offer, &network, NULL) ||
        cb_judge_offer(&offer, &network.network, workload, result, NULL))
        abort();
}

void cb_fixture_offer(struct cb_result *result)
{
    const struct cb_offer_terms terms = {.gpu = "A100-SXM4-80GB",
                                         .nodes = 2,
                                         .gpus_per_node = 8,
                                         .intra = "nvlink3",
                                         .inter = "roce-100G"};
    struct cb_workload workload = {.job = {.parameters = 1.3e9,
                                           .sequence = 2048,
                                           .micro_batch = 4,
                                           .accumulation = 2,
                                           .total_tokens = 10e9,
                                           .scheme = CB_SCHEME_ZERO1},
                                   .span = CB_SPAN_COUNT,
                                   .price_per_gpu_hour = 12};
    SET(workload.currency, "CNY");
    judge_offer(result, &terms, &workload);
}

/* What the offer says cannot be, nobody published the card's rate, and no job is stated. */
void cb_fixture_doubtful_offer(struct cb_result *result)
{
    const struct cb_offer_terms terms = {.gpu = "A800-SXM4-80GB",
                                         .nodes = 16,
                                         .gpus_per_node = 8,
                                         .intra = "nvlink4",
                                         .inter = "slingshot",
                                         .ports_per_node = 4};
    const struct cb_workload workload = {.span = CB_SPAN_COUNT};
    judge_offer(result, &terms, &workload);
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
    judge(result, (struct cb_workload){.job.parameters = 1e9, .span = CB_SPAN_STEP, .time_s = 10});
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
    judge(result, (struct cb_workload){.job.parameters = 0});
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

/* ---- GPUs ---- */

enum { GPUS_PER_NODE = 8, SLOW_RANK = 13 };

/* Multiply-adds of an A100 per clock, twice: 2 x 108 multiprocessors x 1024. */
static const double a100_flops_per_clock = 2.0 * 108 * 1024;
static const double gemm_share_of_peak = 0.85;

/* What follows from one card's power limit: its clock, and from that its rate. */
static double clock_of(int rank)
{
    return rank == SLOW_RANK ? 1290e6 : 1395e6 - 1e6 * (rank % 5);
}

static double bfloat16_rate(int rank)
{
    return gemm_share_of_peak * a100_flops_per_clock * clock_of(rank);
}

static void add_gpu(struct cb_result *result, int node, int index)
{
    struct cb_gpu *gpu = ADD(&result->gpus);
    int rank = node * GPUS_PER_NODE + index;
    *gpu = (struct cb_gpu){
        .node = node,
        .rank = rank,
        .index = index,
        .answered = true,
        .cuda_version = 13000,
        .pci_device_id = 0x20b2,
        .pci_vendor_id = 0x10de,
        .subsystem_id = 0x147f,
        .subsystem_vendor_id = 0x10de,
        .sm_count = 108,
        .compute_capability = 80,
        .memory_bytes = 85899345920,
        .sm_clock_limit_hz = 1410e6,
        .memory_clock_limit_hz = 1593e6,
        .power_limit_w = rank == SLOW_RANK ? 330 : 400,
        .power_limit_default_w = 400,
        .ecc = 1,
        .pcie_generation_limit = 4,
        .pcie_width_limit = 16,
        .nvlinks = 12,
        .idle_memory_bytes = 4 << 20,
        .idle_power_w = 61 + index,
        .idle_temperature_celsius = 29 + index % 4,
        .idle_sm_clock_hz = 210e6,
    };
    SET(gpu->name, "NVIDIA A100-SXM4-80GB");
    SET(gpu->driver, "580.65.06");
    snprintf(gpu->uuid, sizeof(gpu->uuid), "GPU-51600000-0000-0000-0000-%012d", rank);
    snprintf(gpu->bus_id, sizeof(gpu->bus_id), "0000:%02x:00.0", 7 + 8 * index);
}

static const struct gpu_kernel {
    const char *name;
    enum cb_dtype dtype;
    const char *variant;
    double flops_per_s_per_hz; /* of a clock */
    double bytes_per_s;
} gpu_kernels[] = {
    {"gemm", CB_DTYPE_FLOAT64, "cuBLASLt 13.0, n=4096", 13600, 0},
    {"gemm", CB_DTYPE_TF32, "cuBLASLt 13.0, n=8192", 91500, 0},
    {"gemm", CB_DTYPE_BFLOAT16, "cuBLASLt 13.0, n=8192", 0.85 * 2 * 108 * 1024, 0},
    {"read", CB_DTYPE_FLOAT64, "float4", 0, 1846e9},
    {"write", CB_DTYPE_FLOAT64, "float4", 0, 1882e9},
    {"copy", CB_DTYPE_FLOAT64, "float4", 0, 1741e9},
    {"triad", CB_DTYPE_FLOAT64, "float4", 0, 1759e9},
};

static void add_gpu_kernels(struct cb_result *result)
{
    for (size_t k = 0; k < sizeof(gpu_kernels) / sizeof(gpu_kernels[0]); k++)
        for (int rank = 0; rank < result->rank_count; rank++) {
            struct cb_kernel_row *row = ADD(&result->kernels);
            row->rank = rank;
            SET(row->kernel, gpu_kernels[k].name);
            row->dtype = gpu_kernels[k].dtype;
            SET(row->variant, gpu_kernels[k].variant);
            row->size_bytes = 1ull << 32;
            row->samples = 12;
            row->flops_per_s = gpu_kernels[k].flops_per_s_per_hz * clock_of(rank);
            row->bytes_per_s = gpu_kernels[k].bytes_per_s * (1 - 0.0002 * rank);
            row->ci95_relative = 0.002;
        }
}

static void add_burn(struct cb_result *result, int rank)
{
    enum { POINTS = 6 };
    const double elapsed_s = 60.2;
    double clock_hz = clock_of(rank), limit_w = rank == SLOW_RANK ? 330 : 400;
    struct cb_burn_row *burn = ADD(&result->burns);
    *burn = (struct cb_burn_row){
        .rank = rank,
        .dtype = CB_DTYPE_BFLOAT16,
        .planned_s = 60,
        .elapsed_s = elapsed_s,
        .operations = (uint64_t)(elapsed_s * bfloat16_rate(rank) / (2 * pow(8192, 3))),
        .flops_per_s = bfloat16_rate(rank),
        .first_flops_per_s = bfloat16_rate(rank) * 1.002,
        .last_flops_per_s = bfloat16_rate(rank) * (0.998 - 0.0003 * rank),
        .checks = 12,
        .samples = 541,
        .sm_clock_p5_hz = clock_hz - 9e6,
        .sm_clock_median_hz = clock_hz,
        .sm_clock_p95_hz = clock_hz + 6e6,
        .memory_clock_median_hz = 1593e6,
        .power_median_w = limit_w - 4,
        .power_lowest_w = limit_w - 9,
        .power_highest_w = limit_w - 1,
        .temperature_highest_celsius = 58 + rank % 8,
        .utilization_median = 1,
        .throttle = CB_THROTTLE_POWER_CAP,
        .pcie_generation = 4,
        .pcie_width = 16,
    };
    SET(burn->variant, "cuBLASLt 13.0, n=8192");
    for (int i = 1; i <= POINTS; i++) {
        struct cb_burn_sample *point = ADD(&result->burn_samples);
        point->rank = rank;
        point->flops_per_s = bfloat16_rate(rank);
        point->gpu = (struct cb_gpu_sample){.time_s = elapsed_s * i / POINTS,
                                            .sm_clock_hz = clock_hz,
                                            .memory_clock_hz = 1593e6,
                                            .power_w = limit_w - 4,
                                            .temperature_celsius = 48 + 1.5 * i + rank % 8,
                                            .utilization = 1,
                                            .pcie_generation = 4,
                                            .pcie_width = 16,
                                            .throttle = CB_THROTTLE_POWER_CAP};
    }
}

static const struct link nvlink = {6.1e-6, 231.5e9};
static const struct link hdr_link = {5.4e-6, 23.6e9};
static const struct link hdr_world = {9.8e-6, 186.2e9};

/* Rings inside a node; a tree over two for short messages. The library keeps silent once. */
static void name_algorithms(struct cb_result *result)
{
    const uint64_t tree_to = 1u << 20, low_latency_to = 16u << 10, silent_at = 4u << 20;
    for (size_t i = 0; i < result->collectives.count; i++) {
        struct cb_collective_row *row = &result->collectives.items[i];
        bool is_tree = row->scope == CB_SCOPE_WORLD && row->size_bytes <= tree_to;
        if (row->scope == CB_SCOPE_INTER_NODE && row->size_bytes == silent_at)
            continue;
        snprintf(row->algorithm.name, sizeof(row->algorithm.name), is_tree ? "tree" : "ring");
        snprintf(row->algorithm.protocol, sizeof(row->algorithm.protocol),
                 row->size_bytes <= low_latency_to ? "LL"
                 : is_tree                         ? "LL128"
                                                   : "Simple");
        row->algorithm.channels = row->size_bytes <= low_latency_to ? 1 : 24;
    }
}

static void add_gpu_cluster(struct cb_result *result)
{
    start(result);
    result->simulated = true;
    SET(result->transport, "nccl");
    SET(result->transport_library, "NCCL (simulated)");
    SET(result->transport_version, "2.28.9");
    SET(result->transport_path, "/opt/simulated/lib/libnccl.so.2");
    SET(result->finished_at, "2026-12-01T10:15:12Z");
    for (int node = 0; node < 2; node++) {
        struct cb_topo_host *host = add_host(result, node ? "dgx2" : "dgx1", 2, 128, 2048);
        for (int i = 0; i < GPUS_PER_NODE; i++) {
            char name[16];
            snprintf(name, sizeof(name), "mlx5_%d:1", i);
            struct cb_topo_nic port = nic(name, "InfiniBand", "mlx5_core", 25e9, 25e9);
            port.used = true;
            port.mtu_bytes = 4096;
            add_nic(host, port);
        }
        for (int i = 0; i < GPUS_PER_NODE; i++)
            add_gpu(result, node, i);
    }
    add_ranks(result, GPUS_PER_NODE, 16);
    add_pair(result, 0, 1, 3.4e-6, 23.9e9);
    add_pair(result, 1, 0, 3.4e-6, 23.8e9);
    add_sweep(result, CB_OP_ALL_REDUCE, CB_SCOPE_INTRA_NODE, GPUS_PER_NODE, nvlink);
    add_sweep(result, CB_OP_ALL_REDUCE, CB_SCOPE_INTER_NODE, 2, hdr_link);
    add_sweep(result, CB_OP_ALL_REDUCE, CB_SCOPE_WORLD, result->rank_count, hdr_world);
    name_algorithms(result);
    add_gpu_kernels(result);
}

void cb_fixture_gpu_cluster(struct cb_result *result)
{
    add_gpu_cluster(result);
    for (int rank = 0; rank < result->rank_count; rank++)
        add_burn(result, rank);
    judge(result, (struct cb_workload){
                      .job.parameters = 7e9, .communications = 1000, .job.tokens_per_step = 16384});
}

/* Pairs of a field of the workload and its text. */
static struct cb_workload workload_of(const char *const (*stated)[2], size_t count)
{
    struct cb_workload workload;
    cb_workload_init(&workload);
    for (size_t i = 0; i < count; i++) {
        int field = cb_workload_field_find(stated[i][0]);
        if (field < 0 || cb_workload_set(&workload, (enum cb_workload_field)field, stated[i][1],
                                         CB_FROM_GIVEN, NULL))
            abort();
    }
    return workload;
}

void cb_fixture_training(struct cb_result *result)
{
    static const char *const stated[][2] = {
        {"parameters", "8030261248"},
        {"layers", "32"},
        {"hidden", "4096"},
        {"heads", "32"},
        {"kv-heads", "8"},
        {"vocabulary", "128256"},
        {"sequence", "1024"},
        {"micro-batch", "1"},
        {"scheme", "fsdp"},
        {"gradient-bytes", "4"},
        {"price-per-gpu-hour", "12.5"},
        {"currency", "CNY"},
        {"total-steps", "20k"},
    };
    add_gpu_cluster(result);
    judge(result, workload_of(stated, sizeof(stated) / sizeof(stated[0])));
}

void cb_fixture_model_parallel(struct cb_result *result)
{
    static const char *const stated[][2] = {
        {"parameters", "70B"},    {"layers", "80"},           {"hidden", "8192"},
        {"sequence", "4096"},     {"micro-batch", "1"},       {"accumulation", "16"},
        {"tensor-parallel", "8"}, {"pipeline-parallel", "2"}, {"overlap", "0"},
    };
    add_gpu_cluster(result);
    judge(result, workload_of(stated, sizeof(stated) / sizeof(stated[0])));
}

static struct cb_import *add_import(struct cb_result *result, const char *file,
                                    enum cb_import_state state)
{
    struct cb_import *import = cb_vec_add(&result->imports);
    if (!import)
        abort();
    snprintf(import->file, sizeof(import->file), "%s", file);
    SET(import->tool, "nccl-tests");
    SET(import->op, "all_reduce");
    SET(import->dtype, "float");
    import->state = state;
    import->first_line = 1;
    return import;
}

static void add_finding(struct cb_import *import, const char *code, int line, const char *text,
                        const char *hint)
{
    struct cb_import_finding *finding = cb_vec_add(&import->findings);
    if (!finding)
        abort();
    finding->line = line;
    snprintf(finding->code, sizeof(finding->code), "%s", code);
    snprintf(finding->text, sizeof(finding->text), "%s", text);
    snprintf(finding->hint, sizeof(finding->hint), "%s", hint);
}

/* What stands for a log's rows: sizes by four, 25 us and 160 GB/s. */
static void add_imported_rows(struct cb_result *result, struct cb_import *import)
{
    for (uint64_t size_bytes = 1024; size_bytes <= (uint64_t)1 << 30; size_bytes *= 4) {
        struct cb_collective_row *row = cb_vec_add(&result->collectives);
        if (!row)
            abort();
        row->ranks = import->ranks;
        row->size_bytes = size_bytes;
        row->time.median_s = 25e-6 + (double)size_bytes * 1.875 / 160e9;
        row->time.ci95_relative = -1;
        row->alg_bytes_per_s = (double)size_bytes / row->time.median_s;
        row->bus_bytes_per_s = row->alg_bytes_per_s * 1.875;
        row->import_number = 1;
        row->import_line = 24 + import->rows++;
        import->best_bus_bytes_per_s = row->bus_bytes_per_s;
        import->best_bytes = import->largest_bytes = size_bytes;
    }
}

void cb_fixture_imported(struct cb_result *result)
{
    start(result);
    cb_result_fini(result);
    SET(result->tool_version, "0.1.0");
    result->complete = true;
    struct cb_import *graded = add_import(result, "sent/all_reduce.log", CB_IMPORT_GRADED);
    SET(graded->gpu, "NVIDIA A100-SXM4-80GB");
    graded->ranks = result->rank_count = 16;
    graded->nodes = 2;
    graded->latency_s = 25e-6;
    add_imported_rows(result, graded);
    add_finding(graded, "mpi_warning", 3, "MPI warns of its own InfiniBand transport (openib)",
                "of MPI's own transports, which NCCL does not use: --mca btl ^openib silences it");
    struct cb_import *alone = add_import(result, "sent/first_try.log", CB_IMPORT_INVALID);
    alone->ranks = 1;
    alone->rows = 24;
    alone->largest_bytes = (uint64_t)2 << 30;
    add_finding(alone, "ranks_ran_alone", 7,
                "the ranks ran alone, each process its own rank 0, as a binary without MPI does "
                "(seen: 2 banners, 2 ranks 0)",
                "rebuild nccl-tests with MPI=1 (make clean first)");
    struct cb_import *hung = add_import(result, "sent/second_try.log", CB_IMPORT_NO_RESULT);
    add_finding(hung, "hang", 22,
                "no result: the heading of the table is the last that was printed", "");
    judge(result, (struct cb_workload){.job.parameters = 1e9, .span = CB_SPAN_STEP, .time_s = 2});
}

const struct cb_fixture *cb_fixtures(size_t *count)
{
    static const struct cb_fixture fixtures[] = {
        {"two_hosts", cb_fixture_two_hosts},
        {"one_host", cb_fixture_one_host},
        {"interrupted", cb_fixture_interrupted},
        {"wrong_data", cb_fixture_wrong_data},
        {"undecided", cb_fixture_undecided},
        {"paper", cb_fixture_paper},
        {"impossible", cb_fixture_impossible},
        {"nasty", cb_fixture_nasty},
        {"one_rank", cb_fixture_one_rank},
        {"many_nodes", cb_fixture_many_nodes},
        {"gpu_cluster", cb_fixture_gpu_cluster},
        {"training", cb_fixture_training},
        {"model_parallel", cb_fixture_model_parallel},
        {"offer", cb_fixture_offer},
        {"imported", cb_fixture_imported},
        {"doubtful_offer", cb_fixture_doubtful_offer},
    };
    *count = sizeof(fixtures) / sizeof(fixtures[0]);
    return fixtures;
}

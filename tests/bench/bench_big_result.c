/* Writes a result of many ranks, for timing what reads it:
 *     bench_big_result FILE [NODES [RANKS_PER_NODE]]    (2048 nodes of 8 ranks unless told)
 * and says how long writing it and reading it back took. The figures in the file are made up. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "result/json.h"

struct kernel {
    const char *name;
    enum cb_dtype dtype;
    double flops_per_s, bytes_per_s;
};

static const struct kernel kernels[] = {
    {"gemm", CB_DTYPE_FLOAT32, 1.031e11, 0}, {"gemm", CB_DTYPE_FLOAT64, 0.517e11, 0},
    {"read", CB_DTYPE_FLOAT64, 0, 1.291e10}, {"write", CB_DTYPE_FLOAT64, 0, 1.173e10},
    {"copy", CB_DTYPE_FLOAT64, 0, 1.217e10}, {"triad", CB_DTYPE_FLOAT64, 0, 1.233e10},
};

/* A share below 1 % that differs from row to row, so that numbers need all their digits. */
static double jitter(int seed)
{
    return 1 + (double)(seed * 7919 % 1000) / 99991;
}

static int add_node(struct cb_result *result, int index)
{
    struct cb_topo_host *node = cb_vec_add(&result->nodes);
    if (!node)
        return CB_E_MEMORY;
    snprintf(node->name, sizeof(node->name), "node-%05d", index);
    snprintf(node->cpu_model, sizeof(node->cpu_model), "AMD EPYC 7763 64-Core Processor");
    node->sockets = 2;
    node->cores = 128;
    node->hardware_threads = 256;
    node->numa_nodes = 8;
    node->memory_bytes = (uint64_t)1 << 40;
    node->available_memory_bytes = ((uint64_t)1 << 40) - (uint64_t)index * 4096;
    node->last_level_cache_bytes = (uint64_t)512 << 20;
    node->nics_found = node->nic_count = 2;
    for (int i = 0; i < node->nic_count; i++) {
        struct cb_topo_nic *nic = &node->nics[i];
        snprintf(nic->name, sizeof(nic->name), "mlx5_%d:1", i);
        snprintf(nic->kind, sizeof(nic->kind), "InfiniBand");
        snprintf(nic->driver, sizeof(nic->driver), "mlx5_core");
        nic->nominal_bytes_per_s = nic->stated_bytes_per_s = 25e9;
        nic->mtu_bytes = 4096;
        nic->numa = i;
        nic->up = nic->used = true;
    }
    return 0;
}

static int add_rank(struct cb_result *result, int node, int local_rank, int rank)
{
    struct cb_rank *row = cb_vec_add(&result->ranks);
    if (!row)
        return CB_E_MEMORY;
    row->rank = rank;
    row->node = node;
    row->local_rank = local_rank;
    row->threads = row->binding.cpus = row->binding.cores = 16;
    row->binding.bound = true;
    row->binding.numa = local_rank;
    snprintf(row->binding.cpuset, sizeof(row->binding.cpuset), "%d-%d", 16 * local_rank,
             16 * local_rank + 15);
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        struct cb_kernel_row *kernel = cb_vec_add(&result->kernels);
        if (!kernel)
            return CB_E_MEMORY;
        kernel->rank = rank;
        snprintf(kernel->kernel, sizeof(kernel->kernel), "%s", kernels[i].name);
        kernel->dtype = kernels[i].dtype;
        snprintf(kernel->variant, sizeof(kernel->variant), "%s",
                 kernels[i].flops_per_s > 0 ? "OpenBLAS 0.3.21" : "non-temporal");
        kernel->threads = 16;
        kernel->size_bytes = (uint64_t)1 << 30;
        kernel->samples = 20 + rank % 30;
        kernel->flops_per_s = kernels[i].flops_per_s * jitter(rank);
        kernel->bytes_per_s = kernels[i].bytes_per_s * jitter(rank);
        kernel->ci95_relative = 0.02 / jitter(rank + (int)i);
    }
    return 0;
}

static int add_collectives(struct cb_result *result, int ranks)
{
    for (int op = 0; op < CB_OP_COUNT; op++)
        for (int scope = 0; scope < CB_SCOPE_COUNT; scope++)
            for (uint64_t size_bytes = 8; size_bytes <= (uint64_t)64 << 20; size_bytes *= 2) {
                struct cb_collective_row *row = cb_vec_add(&result->collectives);
                if (!row)
                    return CB_E_MEMORY;
                double time_s = 50e-6 * jitter((int)(size_bytes % 997)) + (double)size_bytes / 20e9;
                row->op = (enum cb_op)op;
                row->scope = (enum cb_scope)scope;
                row->ranks = ranks;
                row->size_bytes = size_bytes;
                row->samples = 40;
                row->operations_per_sample = 10;
                row->time = (struct cb_time_stats){time_s,       time_s * 0.99, time_s * 1.01,
                                                   time_s * 0.9, time_s * 1.1,  0.004};
                row->alg_bytes_per_s = (double)size_bytes / time_s;
                row->bus_bytes_per_s = row->alg_bytes_per_s * cb_op_bus_factor(row->op, ranks);
            }
    return 0;
}

static int fill(struct cb_result *result, int nodes, int ranks_per_node)
{
    int rc = 0;
    result->rank_count = nodes * ranks_per_node;
    result->complete = true;
    snprintf(result->tool_version, sizeof(result->tool_version), "0.0.0");
    snprintf(result->started_at, sizeof(result->started_at), "2000-01-01T00:00:00Z");
    snprintf(result->transport, sizeof(result->transport), "mpi");
    for (int node = 0; node < nodes && rc == 0; node++) {
        rc = add_node(result, node);
        for (int local = 0; local < ranks_per_node && rc == 0; local++)
            rc = add_rank(result, node, local, node * ranks_per_node + local);
    }
    return rc ? rc : add_collectives(result, result->rank_count);
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    struct cb_result result, copy;
    struct cb_error err = {0};
    int nodes = argc > 2 ? atoi(argv[2]) : 2048;
    int ranks_per_node = argc > 3 ? atoi(argv[3]) : 8;
    if (argc < 2 || nodes < 1 || ranks_per_node < 1) {
        fprintf(stderr, "usage: bench_big_result FILE [NODES [RANKS_PER_NODE]]\n");
        return 2;
    }
    cb_result_init(&result);
    cb_result_init(&copy);
    int rc = fill(&result, nodes, ranks_per_node);
    double start_s = now_s();
    if (rc == 0)
        rc = cb_result_save(argv[1], &result, &err);
    double written_s = now_s();
    if (rc == 0)
        rc = cb_result_load(argv[1], &copy, &err);
    if (rc == 0)
        printf("%d ranks, %zu rows: written in %.3f s, read in %.3f s\n", result.rank_count,
               copy.kernels.count + copy.collectives.count, written_s - start_s,
               now_s() - written_s);
    else
        fprintf(stderr, "bench_big_result: %s\n", err.what);
    cb_result_fini(&copy);
    cb_result_fini(&result);
    return rc ? 1 : 0;
}

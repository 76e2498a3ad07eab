/* Which GPU each rank computes on, whether all can measure together, and with which NCCL. */
#ifndef CB_MEASURE_DEVICES_H
#define CB_MEASURE_DEVICES_H

#include "gpu/device.h"
#include "result/result.h"
#include "transport/coordinator.h"
#include "transport/nccl_search.h"

/* What one rank found for itself. Plain data, gathered to rank 0. */
struct cb_device_facts {
    int rank, node;
    char host[64];
    bool has_device;
    struct cb_device device;
    struct cb_error device_error; /* why it has none */
    bool has_nccl;
    struct cb_nccl_copy nccl;
    struct cb_error nccl_error;
    char host_id[64]; /* NCCL_HOSTID: ranks with different ones may share a GPU on purpose */
    bool multi_rank;  /* NCCL_MULTI_RANK_GPU_ENABLE, which NCCL 2.30 and later heed: likewise */
};

/* What all do. */
struct cb_devices_choice {
    bool gpus; /* over NCCL, on GPUs; else over MPI, on the hosts */
    struct cb_message warnings[4];
    int warning_count;
    uint64_t least_free_bytes; /* of GPU memory, over the ranks */
};

/* Looks at what all ranks found. insists: the user asked for GPUs, so that whatever stands against
 * them is an error; else ranks without a GPU, ranks that share one and a missing NCCL lead to MPI
 * with a warning that names host and rank (none where no rank has one: that is a cluster without
 * GPUs). A GPU that CUDA refuses and different versions of NCCL are errors in both cases; different
 * models and different files of one version are warnings. Pure. Errors: CB_E_UNSUPPORTED,
 * CB_E_MEASURE, CB_E_USAGE, with host and rank. */
int cb_devices_compare(const struct cb_device_facts *all, size_t count, bool insists,
                       struct cb_devices_choice *out, struct cb_error *err);

/* Binds this rank's GPU, finds NCCL (nccl_path as cb_nccl_find's given) and comes to one choice for
 * all ranks, with its warnings in rank 0's result. wanted is "auto", "nccl" or "mpi"; for "mpi"
 * nothing is looked for. *device and *nccl are filled where choice->gpus. Collective over the
 * world; every rank returns the same. */
int cb_devices_choose(const struct cb_coordinator *coordinator, const char *wanted,
                      const char *nccl_path, struct cb_devices_choice *choice,
                      struct cb_device *device, struct cb_nccl_copy *nccl, struct cb_result *result,
                      struct cb_error *err);

#endif

#include "import/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum effect { NONE, PROVISIONAL, INVALID };

struct kind {
    const char *code;
    enum effect effect;
    const char *hint;
};

/* clang-format off */
static const struct kind kinds[] = {
    [CB_FINDING_RAN_ALONE] = {"ranks_ran_alone", INVALID, "rebuild nccl-tests with MPI=1 (make clean first) and start it with the mpirun or srun of that MPI"},
    [CB_FINDING_ONE_RANK] = {"one_rank", INVALID, "run two ranks or more (mpirun -np, srun -n, or -g for the GPUs of one process)"},
    [CB_FINDING_WRONG_RESULTS] = {"wrong_results", INVALID, "find the fault before anything else: ACS and IOMMU, P2P (try NCCL_P2P_DISABLE=1), GPUDirect RDMA (try NCCL_NET_GDR_LEVEL=0), the NCCL plugin"},
    [CB_FINDING_MIXED_BUILDS] = {"mixed_builds", INVALID, "install one version on every host and run again"},
    [CB_FINDING_SHARED_GPU] = {"shared_gpu", INVALID, "give each rank a GPU of its own"},

    [CB_FINDING_MIXED_OPS] = {"mixed_ops", INVALID, "keep each test's heading with its rows"},

    [CB_FINDING_DUPLICATE_GPU] = {"duplicate_gpu", PROVISIONAL, "give each rank a GPU of its own: one rank per GPU, CUDA_VISIBLE_DEVICES or --gpu-bind=none"},
    [CB_FINDING_INVALID_DEVICE] = {"invalid_device_ordinal", PROVISIONAL, "more ranks on a host than GPUs: check the host file and its slots (--map-by ppr:8:node) and -g"},
    [CB_FINDING_FEW_GPUS] = {"too_few_gpus", PROVISIONAL, "ask for no more GPUs than there are (-g x ranks on the host)"},
    [CB_FINDING_NO_GPU] = {"no_gpu", PROVISIONAL, "check the driver, the container's GPU option and CUDA_VISIBLE_DEVICES"},
    [CB_FINDING_FABRIC_MANAGER] = {"fabric_manager", PROVISIONAL, "start the NVIDIA Fabric Manager of the driver's version on that host"},
    [CB_FINDING_DRIVER] = {"driver_too_old", PROVISIONAL, "install a driver for this CUDA version, or use an older image"},
    [CB_FINDING_MEMORY] = {"out_of_memory", PROVISIONAL, "end what else uses the GPUs, or lower -e"},
    [CB_FINDING_LIBRARY] = {"library_missing", PROVISIONAL, "install it on every host, or pass LD_LIBRARY_PATH on (-x LD_LIBRARY_PATH)"},
    [CB_FINDING_NO_PROGRAM] = {"program_missing", PROVISIONAL, "give the full path of a program that is on every host"},
    [CB_FINDING_SLOTS] = {"slots", PROVISIONAL, "give the hosts enough slots (-H host:8) or --oversubscribe"},
    [CB_FINDING_SSH] = {"ssh_failed", PROVISIONAL, "let the first host reach the others by ssh without a password"},
    [CB_FINDING_TIMEOUT] = {"test_timeout", PROVISIONAL, "isolate it with NCCL_PROTO=Simple and NCCL_ALGO=Ring, compare MTUs and firewalls, try pairs of hosts"},
    [CB_FINDING_TIME_LIMIT] = {"time_limit", PROVISIONAL, "ask for more time, or sweep fewer sizes"},
    [CB_FINDING_NETWORK_ERROR] = {"network_error", PROVISIONAL, "check the ports (ibstat), the GID index, MTUs and ACS on both hosts; NCCL_DEBUG=INFO names the port"},
    [CB_FINDING_SHARED_MEMORY] = {"shared_memory", PROVISIONAL, "give the container more /dev/shm (--shm-size)"},
    [CB_FINDING_NCCL_FAILURE] = {"nccl_failure", PROVISIONAL, "run again with NCCL_DEBUG=INFO: the line before the failure names the cause"},
    [CB_FINDING_CUDA_FAILURE] = {"cuda_failure", PROVISIONAL, "run nvidia-smi and look for Xid lines in dmesg on that host"},
    [CB_FINDING_CRASH] = {"crash", PROVISIONAL, "check that program, NCCL and MPI belong together on every host"},
    [CB_FINDING_TEST_FAILURE] = {"test_failure", PROVISIONAL, "the lines before it name the cause"},
    [CB_FINDING_ABORTED] = {"aborted", PROVISIONAL, "look at the first rank that failed"},
    [CB_FINDING_HANG] = {"hang", PROVISIONAL, "run again with NCCL_DEBUG=INFO; check that each pod or host has its RDMA NICs, NCCL_SOCKET_IFNAME, firewalls, and P2P (NCCL_P2P_DISABLE=1)"},
    [CB_FINDING_ELIDED] = {"rows_elided", PROVISIONAL, "ask for the whole output"},
    [CB_FINDING_NO_TABLE] = {"no_table", PROVISIONAL, "ask for the whole output"},

    [CB_FINDING_NEGATIVE_TIME] = {"negative_time", PROVISIONAL, "the file was changed, or the clock went backwards: ask for another run"},
    [CB_FINDING_NO_TIME] = {"no_time", PROVISIONAL, ""},
    [CB_FINDING_UNREADABLE_ROW] = {"unreadable_row", PROVISIONAL, "keep the heading of the table with its rows"},
    [CB_FINDING_EXCERPT] = {"excerpt", PROVISIONAL, "ask for the whole output"},
    [CB_FINDING_TRUNCATED] = {"truncated", PROVISIONAL, "ask for the whole output, or run it again to its end"},
    [CB_FINDING_SMALL_SIZES] = {"small_sizes_only", PROVISIONAL, "sweep to 1 GiB or more (-b 8 -e 8G -f 2)"},
    [CB_FINDING_STILL_RISING] = {"still_rising", PROVISIONAL, "sweep to larger messages (-e 8G)"},
    [CB_FINDING_RANKS_UNKNOWN] = {"ranks_unknown", PROVISIONAL, "keep the command line (mpirun -np N) or the list of ranks with the log"},

    [CB_FINDING_CONTRADICTION] = {"busbw_contradicts_time", NONE, "trust neither without the original output"},
    [CB_FINDING_RANKS_CONTRADICT] = {"ranks_contradict", NONE, ""},
    [CB_FINDING_SOCKETS] = {"socket_fallback", NONE, "load the fabric's NCCL plugin, or give the container the RDMA devices and NCCL_IB_HCA; NET/Socket must be gone from NCCL_DEBUG=INFO"},
    [CB_FINDING_LIKE_SOCKETS] = {"looks_like_sockets", NONE, "run with NCCL_DEBUG=INFO and look for NET/Socket: a missing plugin or hook makes NCCL fall back to TCP without a word"},
    [CB_FINDING_NO_VERBS] = {"no_libibverbs", NONE, "install rdma-core (libibverbs) in the image"},
    [CB_FINDING_LOW_FOR_GPUS] = {"low_for_these_gpus", NONE, "check GPUDirect RDMA (nvidia_peermem or DMA-BUF), PCIe ACS, the IOMMU, and that every NIC is used (NCCL_IB_HCA)"},
    [CB_FINDING_COLLAPSE] = {"collapse", NONE, "large messages congest: check flow control (PFC, ECN), MTUs and the uplinks between switches; judge at the size training uses"},
    [CB_FINDING_DIP] = {"dip", NONE, "look at the protocol or algorithm that NCCL changes to at this size (NCCL_PROTO, NCCL_ALGO), and for other traffic"},
    [CB_FINDING_BEST_NOT_LARGEST] = {"best_not_largest", NONE, "judge at the size that the training moves, not at the peak"},
    [CB_FINDING_HOST_STAGED] = {"host_staged", NONE, "load nvidia_peermem or use DMA-BUF, where GPU and NIC can do GPUDirect RDMA"},
    [CB_FINDING_NO_PEERS] = {"no_p2p", NONE, "not a fault: GeForce cards of this generation have no P2P"},
    [CB_FINDING_SLOW_LINK] = {"slow_link", NONE, "any modern training over this is bound by it: ask for RDMA of 100 Gb/s and more per node"},
    [CB_FINDING_MIXED_GPUS] = {"mixed_gpus", NONE, "training runs at the pace of the slower GPU: ask for one model"},
    [CB_FINDING_UNEQUAL_SLOTS] = {"unequal_slots", NONE, "check on each host that every GPU has its NIC on the same PCIe switch (nvidia-smi topo -m)"},
    [CB_FINDING_NOISY] = {"noisy", NONE, "more iterations per size (-n 20 or more), with nothing else on the network"},
    [CB_FINDING_FLAT_TIME] = {"latency_floor", NONE, ""},
    [CB_FINDING_STEP] = {"step", NONE, "NCCL changes protocol or channels here: NCCL_DEBUG=INFO, and try NCCL_PROTO and NCCL_MIN_NCHANNELS"},
    [CB_FINDING_SIZE_MATTERS] = {"size_matters", NONE, "judge at the size of a gradient bucket, and make buckets larger"},
    [CB_FINDING_HIGH_LATENCY] = {"high_latency", NONE, "many small messages will hurt: large buckets, few synchronisations"},
    [CB_FINDING_PUBLISHED] = {"published", NONE, ""},
    [CB_FINDING_AVERAGE] = {"average_hides_plateau", NONE, ""},
    [CB_FINDING_ABOVE_WIRE] = {"two_node_tree", NONE, "for the wire run all_gather, or NCCL_ALGO=Ring"},
    [CB_FINDING_MULTICAST] = {"nvls", NONE, "for the links run all_gather, or NCCL_ALGO=Ring"},
    [CB_FINDING_IN_PLACE_GAP] = {"in_place_gap", NONE, ""},
    [CB_FINDING_OLD_ALGBW] = {"old_algbw", NONE, ""},
    [CB_FINDING_UNCHECKED] = {"unchecked", NONE, "run with -c 1"},
    [CB_FINDING_PINNED] = {"pinned", NONE, "for what training gets run it without"},
    [CB_FINDING_MEMORY_CAP] = {"memory_cap", NONE, ""},
    [CB_FINDING_GROUPS] = {"groups", NONE, ""},
    [CB_FINDING_SEVERAL_RUNS] = {"several_runs", NONE, ""},
    [CB_FINDING_NCCL_WARNING] = {"nccl_warning", NONE, ""},
    [CB_FINDING_MPI_WARNING] = {"mpi_warning", NONE, "of MPI's own transports, which NCCL does not use: --mca btl ^openib silences it"},
    [CB_FINDING_OP_UNKNOWN] = {"op_unknown", NONE, "keep the command line or the first lines with the log"},
};
/* clang-format on */
_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == CB_FINDING_COUNT, "one row per finding");

void cb_finding_add(struct cb_findings *findings, enum cb_log_finding finding, int line,
                    const char *format, ...)
{
    struct cb_import_finding *item = &findings->items[finding];
    if (findings->times[finding]++ > 0)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(item->text, sizeof(item->text), format, arguments);
    va_end(arguments);
    item->line = line;
    snprintf(item->code, sizeof(item->code), "%s", kinds[finding].code);
    snprintf(item->hint, sizeof(item->hint), "%s", kinds[finding].hint);
}

bool cb_finding_is_there(const struct cb_findings *findings, enum cb_log_finding finding)
{
    return findings->times[finding] > 0;
}

int cb_findings_close(const struct cb_findings *findings, struct cb_import *summary,
                      struct cb_error *err)
{
    enum effect worst = NONE;
    for (int i = 0; i < CB_FINDING_COUNT; i++) {
        if (findings->times[i] == 0)
            continue;
        struct cb_import_finding *added = cb_vec_add(&summary->findings);
        if (!added)
            return cb_fail(err, CB_E_MEMORY, "no memory for the findings in %s", summary->file);
        *added = findings->items[i];
        size_t length = strlen(added->text);
        if (findings->times[i] > 1)
            snprintf(added->text + length, sizeof(added->text) - length, " (%d lines like it)",
                     findings->times[i]);
        bool is_harmless =
            findings->is_complete && i >= CB_FINDING_FIRST_CAUSE && i <= CB_FINDING_LAST_CAUSE;
        if (kinds[i].effect > worst && !is_harmless)
            worst = kinds[i].effect;
    }
    summary->state = worst == INVALID       ? CB_IMPORT_INVALID
                     : summary->rows == 0   ? CB_IMPORT_NO_RESULT
                     : worst == PROVISIONAL ? CB_IMPORT_PROVISIONAL
                                            : CB_IMPORT_GRADED;
    return 0;
}

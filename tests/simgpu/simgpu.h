/* A GPU that is not there: what the simulated CUDA runtime offers the other simulated libraries
 * (NCCL, NVML, cuBLASLt). Device memory is host memory and kernels are host routines, so data are
 * real; time is a clock that only a model moves, so it is the same on every run.
 *
 * Every stream has a worker thread that does its work in order. Work carries two clocks: when the
 * host issued it and when the stream was free; it starts at the later one and ends when the model
 * says. The host's clock moves by a fixed amount per call and jumps to the end of what it waits
 * for. Nothing here looks at the time of day. */
#ifndef SIMGPU_H
#define SIMGPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

/* ---- the machine, from the file that SIMGPU_CONFIG names ---- */

enum simgpu_format {
    SIMGPU_FP64,
    SIMGPU_FP32,
    SIMGPU_TF32,
    SIMGPU_FP16,
    SIMGPU_BF16,
    SIMGPU_FP8,
    SIMGPU_FORMAT_COUNT
};

struct simgpu_config {
    char name[96]; /* begins with "Simulated" */
    int devices;   /* of one host */
    int compute_capability_major, compute_capability_minor;
    int sm_count;
    double memory_bytes;
    double shown_free_bytes; /* cudaMemGetInfo shows no more than this; 0: all that is free */
    double l2_bytes;
    double pci_device_id; /* device id << 16 | vendor id, as NVML has it */
    double pci_subsystem_id;
    int driver_version; /* as cudaDriverGetVersion: 13000 */
    char driver_text[64];

    double call_s;                           /* host time of one runtime call that starts work */
    double kernel_s;                         /* the least a kernel takes */
    double memory_bytes_per_s;               /* what a kernel that only moves data reaches */
    double flops_per_s[SIMGPU_FORMAT_COUNT]; /* what a GEMM reaches; 0: the card has not got it */
    double copy_s;                           /* the least a copy takes */
    double host_to_device_bytes_per_s, device_to_host_bytes_per_s;
    double both_ways_share;  /* of either rate while both directions run */
    double pageable_share;   /* of either rate from memory that is not pinned */
    double peer_bytes_per_s; /* one direction between two GPUs of a host */

    char gpu_link[16]; /* "NVLink" or "PCIe" */
    int nvlink_version, nvlink_links;
    int nvlink_switch;         /* 1: links end at NVSwitches, 0: at the other GPUs, evenly */
    double nvlink_bytes_per_s; /* of one link, one direction */
    int fabric_state;          /* as NVML counts: 0 none, 3 completed */
    int gpus_per_switch;       /* below one PCIe switch; neighbours by number */
    int pcie_generation, pcie_width;
    double nvls_bytes_per_s; /* bus bandwidth of all_reduce in the switches; 0: not there */

    double collective_s;    /* the least a collective takes */
    double gpu_hop_s;       /* from a GPU to another of its host */
    double gpu_bytes_per_s; /* bus bandwidth of a collective inside a host */
    int nics;               /* of one host, shared evenly by its GPUs */
    char nic_name[16];      /* "mlx5_": numbers follow */
    char nic_kind[16];      /* "IB", "RoCE" */
    double nic_bytes_per_s; /* what NCCL reaches over one */
    double nic_hop_s;
    double socket_bytes_per_s; /* of a host, when NCCL must use TCP */
    double socket_hop_s;

    double sm_mhz, sm_max_mhz, memory_mhz;
    double power_idle_w, power_load_w, power_limit_w;
    double temperature_idle_c, temperature_load_c;
};

/* The machine of this process: read once. A file that cannot be read ends the process with a
 * message, since nothing simulated can go on without. */
const struct simgpu_config *simgpu_config(void);

/* Reads one file. Returns 0, or -1 with a line in message. */
int simgpu_config_read(const char *path, struct simgpu_config *out, char *message, size_t size);

/* ---- faults, from SIMGPU_FAULT ---- */

/* Whether the fault is asked for here. SIMGPU_FAULT is a list such as
 * "alloc:nth=3,rank=1;slow:device=2,factor=0.8"; a fault with rank=, device= or host= holds only
 * there. device is -1 where the call has none. */
bool simgpu_fault(const char *name, int device);

/* A parameter of that fault, or fallback; whole number or decimal. */
double simgpu_fault_number(const char *name, int device, const char *key, double fallback);

/* Copies a parameter's text, or "" if absent. Returns whether it is there. */
bool simgpu_fault_text(const char *name, int device, const char *key, char *out, size_t size);

/* Counts an occasion of the fault and says whether it is the nth= one (1 by default; with
 * and_after, or any later one). */
bool simgpu_fault_due(const char *name, int device, bool and_after);

/* This process's rank in the job as its launcher says it, or 0. */
int simgpu_rank(void);

/* ---- devices ---- */

/* Fills physical with the devices that this process may open (room for 16), and
 * returns how many they are: all, or the one that fault "cgroup" leaves. */
int simgpu_devices_open(int *physical);

/* Devices that this process sees after CUDA_VISIBLE_DEVICES, and the physical one behind one. */
int simgpu_device_count(void);
int simgpu_device_physical(int device);

/* What a device is slowed down by: 1, or the factor of fault "slow". Physical index. */
double simgpu_device_speed(int physical);

/* Its name: the configuration's, or fault "model"'s. Physical index. */
void simgpu_device_name(int physical, char *out, size_t size);

/* "00000000:07:00.0" and "GPU-…", the same on every run and different on every host. */
void simgpu_device_bus_id(int physical, char *out, size_t size);
void simgpu_device_uuid(int physical, unsigned char out[16]);
void simgpu_device_uuid_text(int physical, char out[48]);

/* Seconds of simulated time during which the device computed, and the clock itself: what NVML makes
 * utilisation, clocks and power of. Physical index. */
double simgpu_device_busy_s(int physical);

/* Whether the device has fallen off the bus. */
bool simgpu_device_lost(int physical);

/* Memory in use on the device by this process and by fault "busy". */
uint64_t simgpu_device_used_bytes(int physical);

/* The device the calling thread works on. */
int simgpu_device_current(void);

/* Writes a line for a call to the file SIMGPU_TRACE.RANK, if that is set: simulated time and name.
 */
void simgpu_trace(const char *call);

/* ---- clocks and streams ---- */

/* The host's simulated clock. advance moves it by, reach moves it to (never back). */
double simgpu_host_now_s(void);
void simgpu_host_advance(double by_s);
void simgpu_host_reach(double to_s);

/* When a piece of work may start, and when it ended (set by the work). busy: it kept the device
 * computing (not just a link). */
struct simgpu_span {
    double start_s, end_s;
    int device; /* physical */
    bool busy;
    bool replaced; /* only the time counts: see simgpu_work.replaced_by */
};

/* One kind of work. payload is the worker's copy; the result is what the stream's owner sees at
 * the next call. dispose (may be NULL) frees what the payload owns, once. */
struct simgpu_work {
    cudaError_t (*run)(void *payload, struct simgpu_span *span);
    void (*issue)(void *payload); /* called when the work is queued to be done; may be NULL */
    /* Whether the work queued next makes this one needless but for its time; may be NULL. */
    bool (*replaced_by)(const void *payload, const struct simgpu_work *next,
                        const void *next_payload);
    void (*cancel)(void *payload); /* called in place of run on a device that has failed; or NULL */
    void (*dispose)(void *payload);
    bool keeps_memory; /* true for work that changes no device memory another work reads */
};

/* Queues work on a stream (0: the default one of the current device), or adds it to the graph being
 * captured there. The payload is copied. Costs the host call_s. */
cudaError_t simgpu_stream_submit(cudaStream_t stream, const struct simgpu_work *work,
                                 const void *payload, size_t size_bytes);

bool simgpu_stream_capturing(cudaStream_t stream);

/* Changes whenever work that may change device memory is queued: equal values mean that memory is
 * as it was. */
uint64_t simgpu_memory_epoch(void);
void simgpu_memory_touch(void);

/* Whether all of [data, data + size) is device memory or pinned host memory of this process. */
bool simgpu_memory_known(const void *data, size_t size_bytes);

/* ---- kernels ---- */

/* The host routine of a kernel, found by the kernel's name. A kernel takes one struct by value. */
struct simgpu_kernel {
    const char *name;
    size_t argument_bytes;
    void (*run)(const void *argument);
    double (*bytes)(const void *argument); /* moved to and from memory; NULL: none worth time */
    /* Whether, both done in a row, the earlier makes no difference to memory: then it is not done,
     * it only takes its time. NULL: it always does. */
    bool (*replaces)(const void *later, const void *earlier);
    /* For one that adds something up from memory it does not change: does it again from what the
     * last run found, when it reads the same (by reads_same) and nothing was changed between. */
    bool (*reads_same)(const void *later, const void *earlier);
    void (*again)(const void *argument);
};

/* Makes routines known; the table must outlive the process. Called by a constructor of the program
 * that has the kernels. */
void simgpu_kernels_register(const struct simgpu_kernel *table, size_t count);

#endif

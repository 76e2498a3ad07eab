/* NVML, the driver's management library, through a table of functions: found at run time, so that
 * one program runs with and without a driver. Its header is rarely installed: what is needed of it
 * is declared here, under the names and with the layouts of NVML 11 to 13. A simulated library
 * includes this header too, so that its definitions are checked against these declarations. */
#ifndef CB_GPU_NVML_API_H
#define CB_GPU_NVML_API_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* nvmlReturn_t; other values have a text through nvmlErrorString. */
enum cb_nvml_return {
    CB_NVML_SUCCESS = 0,
    CB_NVML_UNINITIALIZED = 1,
    CB_NVML_INVALID_ARGUMENT = 2,
    CB_NVML_NOT_SUPPORTED = 3,
    CB_NVML_NO_PERMISSION = 4,
    CB_NVML_NOT_FOUND = 6,
    CB_NVML_INSUFFICIENT_SIZE = 7,
    CB_NVML_DRIVER_NOT_LOADED = 9,
    CB_NVML_FUNCTION_NOT_FOUND = 13,
    CB_NVML_GPU_IS_LOST = 15,
    CB_NVML_RESET_REQUIRED = 16,
    CB_NVML_VERSION_MISMATCH = 18, /* library and kernel module differ */
    CB_NVML_UNKNOWN = 999
};

enum cb_nvml_clock { CB_NVML_CLOCK_GRAPHICS, CB_NVML_CLOCK_SM, CB_NVML_CLOCK_MEMORY };
enum cb_nvml_ecc_kind { CB_NVML_ECC_CORRECTED, CB_NVML_ECC_UNCORRECTED };
enum cb_nvml_ecc_counter { CB_NVML_ECC_VOLATILE, CB_NVML_ECC_AGGREGATE };
enum { CB_NVML_TEMPERATURE_GPU = 0 };

/* The other end of an NVLink (nvmlIntNvLinkDeviceType_t). */
enum cb_nvml_link_end {
    CB_NVML_END_GPU = 0,
    CB_NVML_END_NPU = 1,
    CB_NVML_END_SWITCH = 2,
    CB_NVML_END_UNKNOWN = 255
};

/* nvmlGpuP2PCapsIndex_t; the answers are enum cb_peer_access (topology/facts.h). */
enum cb_nvml_p2p { CB_NVML_P2P_READ = 0, CB_NVML_P2P_WRITE = 1, CB_NVML_P2P_NVLINK = 2 };

/* How near two cards are (nvmlGpuTopologyLevel_t). */
enum cb_nvml_level {
    CB_NVML_LEVEL_INTERNAL = 0, /* one board */
    CB_NVML_LEVEL_SINGLE = 10,  /* one PCIe switch */
    CB_NVML_LEVEL_MULTIPLE = 20,
    CB_NVML_LEVEL_HOSTBRIDGE = 30,
    CB_NVML_LEVEL_NODE = 40,
    CB_NVML_LEVEL_SYSTEM = 50
};

/* Fields of nvmlDeviceGetFieldValues; of a link the scope is its number. */
enum cb_nvml_field_id {
    CB_NVML_FIELD_LINK_MBPS_COMMON = 90, /* of every link, megabytes per second one way */
    CB_NVML_FIELD_LINK_MBPS = 164        /* of one link */
};

#define CB_NVML_LINKS 36 /* NVLinks to ask for; a device with fewer answers "invalid argument" */
#define CB_NVML_MEMORY_V2 ((unsigned)sizeof(struct cb_nvml_memory) | 2u << 24)
#define CB_NVML_FABRIC_V2 ((unsigned)sizeof(struct cb_nvml_fabric) | 2u << 24)

struct cb_nvml_device; /* opaque: what an nvmlDevice_t points to */

struct cb_nvml_pci { /* nvmlPciInfo_t */
    char bus_id_legacy[16];
    unsigned domain, bus, device;
    unsigned device_id;    /* device << 16 | vendor */
    unsigned subsystem_id; /* subsystem device << 16 | subsystem vendor */
    char bus_id[32];       /* "00000000:07:00.0" */
};

struct cb_nvml_utilization { /* nvmlUtilization_t */
    unsigned gpu, memory;    /* percent */
};

struct cb_nvml_memory {                             /* nvmlMemory_v2_t */
    unsigned version;                               /* CB_NVML_MEMORY_V2 */
    unsigned long long total, reserved, free, used; /* used without what is reserved */
};

struct cb_nvml_memory_v1 { /* nvmlMemory_t */
    unsigned long long total, free, used;
};

struct cb_nvml_process { /* nvmlProcessInfo_t of the _v3 function */
    unsigned pid;
    unsigned long long used_bytes; /* all ones when the driver does not say */
    unsigned gpu_instance, compute_instance;
};

struct cb_nvml_field { /* nvmlFieldValue_t */
    unsigned field, scope;
    long long timestamp, latency_us;
    int type;   /* of the value: enum cb_nvml_value_type */
    int result; /* of this field; the call's own says nothing about it */
    union {
        double real;
        unsigned unsigned_32;
        unsigned long long unsigned_64;
    } value;
};

enum cb_nvml_value_type { /* nvmlValueType_t, as far as used */
                          CB_NVML_VALUE_REAL = 0,
                          CB_NVML_VALUE_UNSIGNED_32 = 1,
                          CB_NVML_VALUE_UNSIGNED_LONG = 2,
                          CB_NVML_VALUE_UNSIGNED_64 = 3
};

struct cb_nvml_fabric { /* nvmlGpuFabricInfo_v2_t */
    unsigned version;   /* CB_NVML_FABRIC_V2 */
    unsigned char cluster_uuid[16];
    int status;
    unsigned clique;
    unsigned char state; /* enum cb_fabric_state (topology/facts.h) */
    unsigned health;     /* groups of bits, see gpu/node.c */
};

int nvmlInit_v2(void);
int nvmlShutdown(void);
const char *nvmlErrorString(int result);
int nvmlSystemGetDriverVersion(char *version, unsigned size_bytes);
int nvmlSystemGetNVMLVersion(char *version, unsigned size_bytes);
int nvmlSystemGetCudaDriverVersion_v2(int *version); /* 1000 x major + 10 x minor */
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct cb_nvml_device **device);
int nvmlDeviceGetName(struct cb_nvml_device *device, char *name, unsigned size_bytes);
int nvmlDeviceGetUUID(struct cb_nvml_device *device, char *uuid, unsigned size_bytes);
int nvmlDeviceGetPciInfo_v3(struct cb_nvml_device *device, struct cb_nvml_pci *pci);
int nvmlDeviceGetMemoryInfo(struct cb_nvml_device *device, struct cb_nvml_memory_v1 *memory);
int nvmlDeviceGetMemoryInfo_v2(struct cb_nvml_device *device, struct cb_nvml_memory *memory);
int nvmlDeviceGetNumGpuCores(struct cb_nvml_device *device, unsigned *cores);
int nvmlDeviceGetCudaComputeCapability(struct cb_nvml_device *device, int *major, int *minor);
int nvmlDeviceGetClockInfo(struct cb_nvml_device *device, int clock, unsigned *mhz);
int nvmlDeviceGetMaxClockInfo(struct cb_nvml_device *device, int clock, unsigned *mhz);
int nvmlDeviceGetPowerUsage(struct cb_nvml_device *device, unsigned *milliwatts);
int nvmlDeviceGetEnforcedPowerLimit(struct cb_nvml_device *device, unsigned *milliwatts);
int nvmlDeviceGetPowerManagementDefaultLimit(struct cb_nvml_device *device, unsigned *milliwatts);
int nvmlDeviceGetTemperature(struct cb_nvml_device *device, int sensor, unsigned *celsius);
int nvmlDeviceGetUtilizationRates(struct cb_nvml_device *device,
                                  struct cb_nvml_utilization *utilization);
int nvmlDeviceGetComputeRunningProcesses_v3(struct cb_nvml_device *device, unsigned *count,
                                            struct cb_nvml_process *processes);
int nvmlDeviceGetCurrentClocksEventReasons(struct cb_nvml_device *device,
                                           unsigned long long *reasons);
int nvmlDeviceGetCurrentClocksThrottleReasons(struct cb_nvml_device *device,
                                              unsigned long long *reasons); /* its older name */
int nvmlDeviceGetEccMode(struct cb_nvml_device *device, int *current, int *pending);
int nvmlDeviceGetTotalEccErrors(struct cb_nvml_device *device, int kind, int counter,
                                unsigned long long *errors);
int nvmlDeviceGetRemappedRows(struct cb_nvml_device *device, unsigned *corrected,
                              unsigned *uncorrected, unsigned *pending, unsigned *failed);
int nvmlDeviceGetMigMode(struct cb_nvml_device *device, unsigned *current, unsigned *pending);
int nvmlDeviceGetCurrPcieLinkGeneration(struct cb_nvml_device *device, unsigned *generation);
int nvmlDeviceGetCurrPcieLinkWidth(struct cb_nvml_device *device, unsigned *width);
int nvmlDeviceGetMaxPcieLinkGeneration(struct cb_nvml_device *device, unsigned *generation);
int nvmlDeviceGetMaxPcieLinkWidth(struct cb_nvml_device *device, unsigned *width);
int nvmlDeviceGetNvLinkState(struct cb_nvml_device *device, unsigned link, int *is_active);
int nvmlDeviceGetNvLinkVersion(struct cb_nvml_device *device, unsigned link, unsigned *version);
int nvmlDeviceGetNvLinkRemoteDeviceType(struct cb_nvml_device *device, unsigned link, int *end);
int nvmlDeviceGetNvLinkRemotePciInfo_v2(struct cb_nvml_device *device, unsigned link,
                                        struct cb_nvml_pci *pci);
int nvmlDeviceGetFieldValues(struct cb_nvml_device *device, int count,
                             struct cb_nvml_field *fields);
int nvmlDeviceGetGpuFabricInfoV(struct cb_nvml_device *device, struct cb_nvml_fabric *fabric);
int nvmlDeviceGetP2PStatus(struct cb_nvml_device *a, struct cb_nvml_device *b, int p2p,
                           int *status);
int nvmlDeviceGetTopologyCommonAncestor(struct cb_nvml_device *a, struct cb_nvml_device *b,
                                        int *level);
int nvmlDeviceGetGpuMaxPcieLinkGeneration(struct cb_nvml_device *device, unsigned *generation);

/* Every function in use: without a REQUIRED one the library is refused; an OPTIONAL one may be
 * NULL in the table, and what it would tell is then unknown. */
#define CB_NVML_FUNCTIONS(REQUIRED, OPTIONAL)                                                      \
    REQUIRED(nvmlInit_v2)                                                                          \
    REQUIRED(nvmlShutdown)                                                                         \
    REQUIRED(nvmlErrorString)                                                                      \
    REQUIRED(nvmlDeviceGetCount_v2)                                                                \
    REQUIRED(nvmlDeviceGetHandleByIndex_v2)                                                        \
    REQUIRED(nvmlDeviceGetName)                                                                    \
    REQUIRED(nvmlDeviceGetPciInfo_v3)                                                              \
    OPTIONAL(nvmlSystemGetDriverVersion)                                                           \
    OPTIONAL(nvmlSystemGetNVMLVersion)                                                             \
    OPTIONAL(nvmlSystemGetCudaDriverVersion_v2)                                                    \
    OPTIONAL(nvmlDeviceGetUUID)                                                                    \
    OPTIONAL(nvmlDeviceGetMemoryInfo)                                                              \
    OPTIONAL(nvmlDeviceGetMemoryInfo_v2)                                                           \
    OPTIONAL(nvmlDeviceGetNumGpuCores)                                                             \
    OPTIONAL(nvmlDeviceGetCudaComputeCapability)                                                   \
    OPTIONAL(nvmlDeviceGetClockInfo)                                                               \
    OPTIONAL(nvmlDeviceGetMaxClockInfo)                                                            \
    OPTIONAL(nvmlDeviceGetPowerUsage)                                                              \
    OPTIONAL(nvmlDeviceGetEnforcedPowerLimit)                                                      \
    OPTIONAL(nvmlDeviceGetPowerManagementDefaultLimit)                                             \
    OPTIONAL(nvmlDeviceGetTemperature)                                                             \
    OPTIONAL(nvmlDeviceGetUtilizationRates)                                                        \
    OPTIONAL(nvmlDeviceGetComputeRunningProcesses_v3)                                              \
    OPTIONAL(nvmlDeviceGetCurrentClocksEventReasons)                                               \
    OPTIONAL(nvmlDeviceGetCurrentClocksThrottleReasons)                                            \
    OPTIONAL(nvmlDeviceGetEccMode)                                                                 \
    OPTIONAL(nvmlDeviceGetTotalEccErrors)                                                          \
    OPTIONAL(nvmlDeviceGetRemappedRows)                                                            \
    OPTIONAL(nvmlDeviceGetMigMode)                                                                 \
    OPTIONAL(nvmlDeviceGetCurrPcieLinkGeneration)                                                  \
    OPTIONAL(nvmlDeviceGetCurrPcieLinkWidth)                                                       \
    OPTIONAL(nvmlDeviceGetMaxPcieLinkGeneration)                                                   \
    OPTIONAL(nvmlDeviceGetMaxPcieLinkWidth)                                                        \
    OPTIONAL(nvmlDeviceGetNvLinkState)                                                             \
    OPTIONAL(nvmlDeviceGetNvLinkVersion)                                                           \
    OPTIONAL(nvmlDeviceGetNvLinkRemoteDeviceType)                                                  \
    OPTIONAL(nvmlDeviceGetNvLinkRemotePciInfo_v2)                                                  \
    OPTIONAL(nvmlDeviceGetFieldValues)                                                             \
    OPTIONAL(nvmlDeviceGetGpuFabricInfoV)                                                          \
    OPTIONAL(nvmlDeviceGetP2PStatus)                                                               \
    OPTIONAL(nvmlDeviceGetTopologyCommonAncestor)                                                  \
    OPTIONAL(nvmlDeviceGetGpuMaxPcieLinkGeneration)

#define CB_NVML_MEMBER(name) __typeof__(&name) name;
struct cb_nvml_api {
    CB_NVML_FUNCTIONS(CB_NVML_MEMBER, CB_NVML_MEMBER)
    char path[256];   /* of the library that was loaded */
    char version[80]; /* of the library; empty when it does not say */
    char driver[80];  /* kernel driver, "580.65.06" */
    int cuda_version; /* newest CUDA that the driver serves, 1000 x major + 10 x minor; 0 unknown */
};
#undef CB_NVML_MEMBER

/* Loads and initialises NVML: library when given, else $COMMBOUND_NVML_LIB, else the loader's
 * libnvidia-ml.so.1, else the folders where containers and WSL keep the driver's libraries. What is
 * loaded stays loaded; nvmlShutdown is the caller's. Errors: CB_E_UNSUPPORTED, with what was looked
 * at as the detail, or why the library would not start; *api is then all zero. Not collective. */
int cb_nvml_open(const char *library, struct cb_nvml_api *api, struct cb_error *err);
void cb_nvml_close(struct cb_nvml_api *api); /* api may be all zero */

#endif

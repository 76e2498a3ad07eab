/* NCCL's debug output, as far as a reader looks into it: the lines that say which way the data go.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "nccl_internal.h"

enum level { LEVEL_UNREAD = -1, LEVEL_NONE, LEVEL_VERSION, LEVEL_WARN, LEVEL_INFO };

static const struct {
    const char *name;
    unsigned bit;
} subsystems[] = {
    {"INIT", SIMNCCL_INIT},      {"COLL", SIMNCCL_COLL},
    {"NET", SIMNCCL_NET},        {"GRAPH", SIMNCCL_GRAPH},
    {"TUNING", SIMNCCL_TUNING},  {"ENV", SIMNCCL_ENV},
    {"BOOTSTRAP", SIMNCCL_BOOT}, {"ALL", ~0U},
};

/* The settings are read by the first message, and by the first after ncclResetDebugInit. */
static struct {
    pthread_mutex_t lock;
    _Atomic enum level level;
    _Atomic unsigned mask;
    FILE *file; /* NULL: stdout */
} out = {.lock = PTHREAD_MUTEX_INITIALIZER, .level = LEVEL_UNREAD};

static enum level read_level(void)
{
    const char *level = getenv("NCCL_DEBUG");
    return level == NULL                                                       ? LEVEL_NONE
           : strcasecmp(level, "VERSION") == 0                                 ? LEVEL_VERSION
           : strcasecmp(level, "WARN") == 0                                    ? LEVEL_WARN
           : strcasecmp(level, "INFO") == 0 || strcasecmp(level, "TRACE") == 0 ? LEVEL_INFO
                                                                               : LEVEL_NONE;
}

static unsigned read_mask(void)
{
    const char *list = getenv("NCCL_DEBUG_SUBSYS");
    unsigned mask = 0;
    if (list == NULL)
        return SIMNCCL_INIT | SIMNCCL_BOOT | SIMNCCL_ENV;
    bool inverted = *list == '^';
    for (const char *at = list + inverted; *at != '\0';) {
        size_t length = strcspn(at, ",");
        for (size_t i = 0; i < sizeof(subsystems) / sizeof(subsystems[0]); i++)
            if (strlen(subsystems[i].name) == length &&
                strncasecmp(at, subsystems[i].name, length) == 0)
                mask |= subsystems[i].bit;
        at += length + (at[length] == ',');
    }
    return inverted ? ~mask : mask;
}

static FILE *open_file(enum level level)
{
    const char *pattern = getenv("NCCL_DEBUG_FILE");
    if (pattern == NULL || level <= LEVEL_VERSION)
        return NULL;
    char path[1024] = "", host[64] = "";
    gethostname(host, sizeof(host) - 1);
    size_t length = 0;
    for (const char *c = pattern; *c != '\0' && length < sizeof(path) - 80; c++) {
        if (c[0] == '%' && c[1] == 'h')
            length += (size_t)snprintf(path + length, sizeof(path) - length, "%s", host);
        else if (c[0] == '%' && c[1] == 'p')
            length += (size_t)snprintf(path + length, sizeof(path) - length, "%d", getpid());
        else
            path[length++] = *c;
        c += c[0] == '%' && (c[1] == 'h' || c[1] == 'p');
    }
    return fopen(path, "we");
}

/* With the lock held. */
static void read_settings(void)
{
    if (out.file != NULL)
        fclose(out.file);
    enum level level = read_level();
    out.file = open_file(level);
    out.mask = read_mask();
    out.level = level;
}

void ncclResetDebugInit(void); /* nccl.h has no prototype of it */

void ncclResetDebugInit(void)
{
    pthread_mutex_lock(&out.lock);
    out.level = LEVEL_UNREAD;
    pthread_mutex_unlock(&out.lock);
}

void simnccl_log(const struct ncclComm *comm, unsigned subsystem, const char *format, ...)
{
    bool warning = subsystem == SIMNCCL_WARN;
    enum level least = warning ? LEVEL_WARN : LEVEL_INFO, level = out.level;
    if (level != LEVEL_UNREAD && (level < least || (!warning && (subsystem & out.mask) == 0)))
        return;
    char host[64] = "", line[1024];
    gethostname(host, sizeof(host) - 1);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&out.lock);
    if (out.level == LEVEL_UNREAD)
        read_settings();
    if (out.level >= least && (warning || (subsystem & out.mask) != 0)) {
        FILE *file = out.file != NULL ? out.file : stdout;
        fprintf(file, "%s%s:%d:%d [%d] NCCL %s %s\n", warning ? "\n" : "", host, getpid(), gettid(),
                comm != NULL ? comm->cuda_device : 0, warning ? "WARN" : "INFO", line);
        fflush(file);
        simgpu_trace("NCCL log line");
    }
    pthread_mutex_unlock(&out.lock);
}

#define INFO(...) simnccl_log(comm, SIMNCCL_INIT, __VA_ARGS__)

void simnccl_log_start(const struct ncclComm *comm)
{
    const struct simgpu_config *config = simgpu_config();
    char interface[32], address[INET_ADDRSTRLEN], hcas[512] = "";
    int version = 0;
    uint32_t own = simnccl_own_address(interface, sizeof(interface));
    inet_ntop(AF_INET, &own, address, sizeof(address));
    ncclGetVersion(&version);
    INFO("Bootstrap: Using %s:%s<0>", interface, address);
    INFO("cudaDriverVersion %d", config->driver_version);
    INFO("NCCL version %d.%d.%d+cuda%d.%d simulated", version / 10000, version / 100 % 100,
         version % 100, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    INFO("NET/Plugin: Could not find: libnccl-net.so");
    if (simnccl_uses_sockets()) {
        INFO("NET/IB : No device found.");
        INFO("NET/Socket : Using [0]%s:%s<0>", interface, address);
        INFO("Using network Socket");
    } else {
        for (int i = 0; i < config->nics; i++) {
            size_t length = strlen(hcas);
            snprintf(hcas + length, sizeof(hcas) - length, "[%d]%s%d:1/%s ", i, config->nic_name, i,
                     config->nic_kind);
        }
        INFO("NET/IB : Using %s[RO]; OOB %s:%s<0>", hcas, interface, address);
        for (int i = 0; i < config->nics; i++)
            INFO("NET/IB : GPU Direct RDMA %s for HCA %d '%s%d'",
                 simgpu_fault("no_gdr", comm->device) ? "Disabled" : "Enabled", i, config->nic_name,
                 i);
        INFO("Using network IB");
    }
    INFO("DMA-BUF is available on GPU device %d", comm->cuda_device);
    INFO("ncclCommInitRankConfig comm %p rank %d nranks %d cudaDev %d nvmlDev %d commId 0x%llx - "
         "Init START",
         (const void *)comm, comm->rank, comm->size, comm->cuda_device, comm->device,
         (unsigned long long)comm->id_hash);
}

static void log_channel(const struct ncclComm *comm, int channel, int channels)
{
    const struct simgpu_config *config = simgpu_config();
    int next = (comm->rank + 1) % comm->size, previous = (comm->rank + comm->size - 1) % comm->size;
    const struct simnccl_peer *own = &comm->peers[comm->rank];
    (void)channels;
    if (strcmp(comm->peers[next].host, own->host) == 0) {
        const char *disabled = getenv("NCCL_P2P_DISABLE");
        bool shared =
            (disabled != NULL && atoi(disabled) != 0) || simgpu_fault("no_peer", comm->device);
        INFO("Channel %02d/0 : %d[%d] -> %d[%d] via %s", channel, comm->rank, own->device, next,
             comm->peers[next].device, shared ? "SHM/direct/direct" : "P2P/CUMEM");
        if (strcmp(comm->peers[previous].host, own->host) == 0)
            return;
    }
    char net[64];
    if (simnccl_uses_sockets())
        snprintf(net, sizeof(net), "NET/Socket/0");
    else
        snprintf(net, sizeof(net), "NET/IB/%d%s", own->device * config->nics / config->devices,
                 simgpu_fault("no_gdr", comm->device) ? "" : "/GDRDMA");
    if (strcmp(comm->peers[previous].host, own->host) != 0)
        INFO("Channel %02d/0 : %d[%d] -> %d[%d] [receive] via %s", channel, previous,
             comm->peers[previous].device, comm->rank, own->device, net);
    if (strcmp(comm->peers[next].host, own->host) != 0)
        INFO("Channel %02d/0 : %d[%d] -> %d[%d] [send] via %s", channel, comm->rank, own->device,
             next, comm->peers[next].device, net);
}

void simnccl_log_paths(const struct ncclComm *comm)
{
    const struct simgpu_config *config = simgpu_config();
    bool nvls = config->nvls_bytes_per_s > 0;
    int channels = config->nvlink_links > 0 ? 24 : 2;
    INFO("NVLS multicast support is %savailable on dev %d", nvls ? "" : "not ", comm->cuda_device);
    INFO("comm %p rank %d nRanks %d nNodes %d localRanks %d localRank %d MNNVL 0",
         (const void *)comm, comm->rank, comm->size, comm->nodes, comm->local_size,
         comm->local_rank);
    if (comm->size > 1) {
        for (int channel = 0; channel < 2; channel++)
            log_channel(comm, channel, channels);
        INFO("Connected all rings, use ring PXN 0 GDR %d",
             !simnccl_uses_sockets() && !simgpu_fault("no_gdr", comm->device));
        INFO("Connected all trees");
    }
    INFO("%d coll channels, %d collnet channels, %d nvls channels, %d p2p channels, 2 p2p channels "
         "per peer",
         channels, channels, nvls ? 16 : 0, channels);
    INFO("ncclCommInitRankConfig comm %p rank %d nranks %d cudaDev %d nvmlDev %d commId 0x%llx - "
         "Init COMPLETE",
         (const void *)comm, comm->rank, comm->size, comm->cuda_device, comm->device,
         (unsigned long long)comm->id_hash);
}

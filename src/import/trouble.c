/* What went wrong, from the lines that programs, launchers and NCCL leave. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/run.h"

struct trouble {
    const char *pattern;
    enum cb_log_finding finding;
    const char *text; /* what it means; NULL: the line itself */
};

/* The first that matches counts, so the special stands before the general. */
/* clang-format off */
static const struct trouble troubles[] = {
    {"invalid device ordinal", CB_FINDING_INVALID_DEVICE, "a rank was given a GPU that its host does not have (CUDA: invalid device ordinal)"},
    {"Invalid number of GPUs", CB_FINDING_FEW_GPUS, NULL},
    {"Duplicate GPU detected", CB_FINDING_DUPLICATE_GPU, NULL},
    {"system not yet initialized", CB_FINDING_FABRIC_MANAGER, "CUDA cannot start on a host (system not yet initialized): the Fabric Manager does not run or has another version"},
    {"no CUDA-capable device", CB_FINDING_NO_GPU, "a rank found no GPU (CUDA: no CUDA-capable device)"},
    {"CUDA driver version is insufficient", CB_FINDING_DRIVER, "the driver of a host is too old for this CUDA"},
    {"out of memory", CB_FINDING_MEMORY, "a GPU had too little free memory"},
    {"Test timeout", CB_FINDING_TIMEOUT, "the test gave up waiting for a collective (Test timeout)"},
    {"DUE TO TIME LIMIT", CB_FINDING_TIME_LIMIT, "the scheduler ended the job at its time limit"},
    {"Failed to open libibverbs", CB_FINDING_NO_VERBS, "libibverbs could not be opened: NCCL then knows TCP sockets only, whatever NICs there are"},
    {"No space left on device", CB_FINDING_SHARED_MEMORY, NULL},
    {"Error while creating shared memory", CB_FINDING_SHARED_MEMORY, NULL},
    {"Got completion from peer", CB_FINDING_NETWORK_ERROR, NULL},
    {"Got completion with error", CB_FINDING_NETWORK_ERROR, NULL},
    {"Call to ibv_", CB_FINDING_NETWORK_ERROR, NULL},
    {"ibv_modify_qp failed", CB_FINDING_NETWORK_ERROR, NULL},
    {"Mismatched NCCL version", CB_FINDING_MIXED_BUILDS, NULL},
    {"Test NCCL failure", CB_FINDING_NCCL_FAILURE, NULL},
    {"unhandled system error", CB_FINDING_NCCL_FAILURE, NULL},
    {"unhandled cuda error", CB_FINDING_NCCL_FAILURE, NULL},
    {"Test CUDA failure", CB_FINDING_CUDA_FAILURE, NULL},
    {"Cuda failure", CB_FINDING_CUDA_FAILURE, NULL},
    {"Test failure", CB_FINDING_TEST_FAILURE, NULL},
    {"Segmentation fault", CB_FINDING_CRASH, NULL},
    {"Bus error", CB_FINDING_CRASH, NULL},
    {"error while loading shared libraries", CB_FINDING_LIBRARY, NULL},
    {"symbol lookup error", CB_FINDING_LIBRARY, NULL},
    {"not enough slots", CB_FINDING_SLOTS, "the launcher had not enough slots for the ranks"},
    {"could not find an executable", CB_FINDING_NO_PROGRAM, NULL},
    {"could not find the executable", CB_FINDING_NO_PROGRAM, NULL},
    {"command not found", CB_FINDING_NO_PROGRAM, NULL},
    {"execve()", CB_FINDING_NO_PROGRAM, NULL},
    {"was unable to launch", CB_FINDING_NO_PROGRAM, NULL},
    {"Host key verification failed", CB_FINDING_SSH, "ssh refused a host (Host key verification failed)"},
    {"Permission denied (publickey", CB_FINDING_SSH, "ssh refused to log in (Permission denied)"},
    {"ORTE was unable to reliably start", CB_FINDING_SSH, "mpirun could not start its daemons on the other hosts"},
    {"Connection refused", CB_FINDING_NETWORK_ERROR, NULL},
    {"Connection timed out", CB_FINDING_NETWORK_ERROR, NULL},
    {"Connection closed by remote peer", CB_FINDING_NETWORK_ERROR, NULL},
    {"No route to host", CB_FINDING_NETWORK_ERROR, NULL},
    {"exited on signal", CB_FINDING_ABORTED, NULL},
    {"exited with non-zero status", CB_FINDING_ABORTED, "the launcher ended the job: a process had failed"},
    {"the job has been aborted", CB_FINDING_ABORTED, "the launcher ended the job: a process had failed"},
    {"MPI_ABORT was invoked", CB_FINDING_ABORTED, "a rank ended the job (MPI_ABORT)"},
    {"srun: error", CB_FINDING_ABORTED, NULL},
    {"slurmstepd: error", CB_FINDING_ABORTED, NULL},
    {"Reducing maxBytes", CB_FINDING_MEMORY_CAP, NULL},
    {"openib", CB_FINDING_MPI_WARNING, "MPI warns of its own InfiniBand transport (openib)"},
    {"OpenFabrics", CB_FINDING_MPI_WARNING, "MPI warns of its own InfiniBand transport (openib)"},
    {"xpmem", CB_FINDING_MPI_WARNING, "MPI warns of its own shared memory (xpmem)"},
    {"UCX  WARN", CB_FINDING_MPI_WARNING, NULL},
    {"NCCL WARN", CB_FINDING_NCCL_WARNING, NULL},
};
/* clang-format on */

/* The host that a line of nccl-tests starts with: "node-a: Test CUDA failure ...". */
static void keep_failed(struct cb_run *run, const struct cb_line *line)
{
    size_t length = strcspn(line->text, ": ");
    if (line->text[length] == ':' && line->text[length + 1] == ' ' && length < CB_NAME) {
        memcpy(run->failed_host, line->text, length);
        run->failed_host[length] = '\0';
    }
    if (line->label < 0)
        return;
    if (run->failed_label_low < 0 || line->label < run->failed_label_low)
        run->failed_label_low = line->label;
    if (line->label > run->failed_label_high)
        run->failed_label_high = line->label;
}

void cb_run_read_trouble(struct cb_run *run, const struct cb_line *line)
{
    for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++) {
        const struct trouble *trouble = &troubles[i];
        if (!strstr(line->text, trouble->pattern))
            continue;
        if (trouble->text)
            cb_finding_add(&run->findings, trouble->finding, line->number, "%s", trouble->text);
        else
            cb_finding_add(&run->findings, trouble->finding, line->number, "\"%.180s\"",
                           line->text);
        if (trouble->finding == CB_FINDING_INVALID_DEVICE)
            keep_failed(run, line);
        return;
    }
}

/* ---- NCCL's own lines ---- */

static void keep_line(int *kept, int line)
{
    if (*kept == 0)
        *kept = line;
}

/* "node-a:15718:15718 [0] NCCL INFO ..." */
static void keep_host(struct cb_nccl_said *nccl, const char *text)
{
    size_t length = strcspn(text, ": ");
    if (text[length] != ':' || length == 0 || length >= CB_NAME ||
        !isdigit((unsigned char)text[length + 1]))
        return;
    for (int i = nccl->host_count - 1; i >= 0; i--)
        if (strncmp(nccl->hosts[i], text, length) == 0 && nccl->hosts[i][length] == '\0')
            return;
    if (nccl->host_count == CB_RUN_HOSTS)
        return;
    memcpy(nccl->hosts[nccl->host_count], text, length);
    nccl->hosts[nccl->host_count++][length] = '\0';
}

/* "NCCL version 2.21.5+cuda12.4", which each process without MPI and each other library prints. */
static void read_version(struct cb_run *run, const struct cb_line *line)
{
    const char *at = strstr(line->text, "NCCL version ");
    if (!at || !isdigit((unsigned char)at[13]))
        return;
    char version[CB_NAME];
    at += strlen("NCCL version ");
    snprintf(version, sizeof(version), "%.*s", (int)strcspn(at, " "), at);
    if (run->nccl.version[0] && strcmp(run->nccl.version, version) != 0)
        cb_finding_add(&run->findings, CB_FINDING_MIXED_BUILDS, line->number,
                       "the ranks run different NCCL libraries: %s and %s", run->nccl.version,
                       version);
    memcpy(run->nccl.version, version, sizeof(version));
}

static void read_connection(struct cb_nccl_said *nccl, const struct cb_line *line)
{
    const char *via = strstr(line->text, " via ");
    if (!via)
        return;
    via += strlen(" via ");
    if (strncmp(via, "NET/Socket", 10) == 0)
        keep_line(&nccl->sockets_line, line->number);
    else if (strncmp(via, "NET/", 4) == 0 && strstr(via, "GDRDMA"))
        nccl->direct = true;
    else if (strncmp(via, "NET/", 4) == 0)
        keep_line(&nccl->staged_line, line->number);
    else if (strncmp(via, "SHM", 3) == 0)
        keep_line(&nccl->shared_memory_line, line->number);
}

static void read_info(struct cb_run *run, const struct cb_line *line, const char *info)
{
    struct cb_nccl_said *nccl = &run->nccl;
    int ranks = cb_line_count_behind(info, " nranks ");
    int nodes = cb_line_count_behind(info, " nNodes ");
    if (ranks > nccl->ranks) {
        nccl->ranks = ranks;
        nccl->ranks_line = line->number;
    }
    if (nodes > nccl->nodes)
        nccl->nodes = nodes;
    if (strncmp(info, "Channel ", 8) == 0)
        read_connection(nccl, line);
    else if (strncmp(info, "Using network Socket", 20) == 0 ||
             strncmp(info, "NET/Socket : Using", 18) == 0)
        keep_line(&nccl->interface_line, line->number);
    else if (strncmp(info, "NET/IB : No device found", 24) == 0)
        nccl->no_verbs = true;
    else if (strstr(info, "GPU Direct RDMA Disabled"))
        keep_line(&nccl->staged_line, line->number);
    else if (strstr(info, "Connected NVLS tree") || strstr(info, "NVLS multicast support is avail"))
        keep_line(&nccl->multicast_line, line->number);
    else if (strstr(info, "NCCL_ALGO set by environment") ||
             strstr(info, "NCCL_PROTO set by environment"))
        cb_finding_add(&run->findings, CB_FINDING_PINNED, line->number,
                       "NCCL's choice was pinned: %.150s", info);
}

void cb_run_read_nccl(struct cb_run *run, const struct cb_line *line)
{
    const char *info = strstr(line->text, "NCCL INFO ");
    if (info || strstr(line->text, "NCCL WARN"))
        keep_host(&run->nccl, line->text);
    if (info)
        read_info(run, line, info + strlen("NCCL INFO "));
    read_version(run, line);
}

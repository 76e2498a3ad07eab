#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/table.h"
#include "base/units.h"
#include "cli/doctor.h"
#include "kernels/kernels.h"
#include "measure/environment.h"
#include "topology/topo.h"
#include "transport/transport.h"

/* NCCL is the GPU part's. */
static void look_at_mpi(struct cb_doctor *doctor, struct cb_transport_probe *mpi)
{
    const struct cb_transport_config nothing = {0};
    char version[256];
    cb_transport_find("mpi")->probe(&nothing, mpi);
    if (!mpi->available) {
        cb_doctor_add_part(doctor, "MPI library", CB_DOCTOR_MISSING, "", "%s", mpi->reason);
        cb_doctor_set_obstacle(doctor, "no transport works here");
        return;
    }
    snprintf(version, sizeof(version), "%s (%s)", mpi->library, mpi->version);
    cb_doctor_add_library(doctor, "MPI library", version, "libmpi.so");
}

static void look_at_libraries(struct cb_doctor *doctor)
{
    char text[256];
    cb_doctor_add_library(doctor, "BLAS", cb_kernels_host_library(text, sizeof(text)),
                          "libopenblas");
    cb_doctor_add_library(doctor, "hwloc", cb_topo_library_version(text, sizeof(text)), "libhwloc");
}

/* ---- this host ---- */

static bool is_rdma(const struct cb_topo_nic *nic)
{
    return strchr(nic->name, ':') != NULL; /* device and port */
}

static void format_memory(char out[CB_UNIT_TEXT], uint64_t bytes)
{
    if (bytes)
        cb_format_bytes(out, bytes);
    else
        snprintf(out, CB_UNIT_TEXT, "unknown");
}

static void describe_machine(struct cb_doctor *doctor, const struct cb_topo_host *host)
{
    char total[CB_UNIT_TEXT], available[CB_UNIT_TEXT];
    struct cb_topo_binding binding;
    struct cb_strbuf line = {0};
    format_memory(total, host->memory_bytes);
    format_memory(available, host->available_memory_bytes);
    cb_strbuf_addf(&line,
                   "%s: %s, sockets %d, cores %d, hardware threads %d, NUMA nodes %d; "
                   "memory %s, available %s",
                   host->name, host->cpu_model[0] ? host->cpu_model : "unknown processor",
                   host->sockets, host->cores, host->hardware_threads, host->numa_nodes, total,
                   available);
    cb_strbuf_add(&doctor->host, "  ");
    cb_paragraph_add(&doctor->host, 2, 2, cb_strbuf_get(&line));
    doctor->failed |= line.failed;
    cb_strbuf_fini(&line);
    if (cb_topo_discover_binding(&binding, NULL) == 0 && binding.bound)
        cb_doctor_add_finding(doctor, "mpirun --bind-to none, or a wider taskset or cgroup",
                              "this process is bound to CPUs %s of the %d that this host allows",
                              binding.cpuset, host->hardware_threads);
}

static void describe_speed(const struct cb_topo_nic *nic, char *text, size_t size_bytes)
{
    char figure[CB_UNIT_TEXT];
    if (nic->nominal_bytes_per_s > 0)
        snprintf(text, size_bytes, "%s nominal",
                 cb_format_bandwidth(figure, nic->nominal_bytes_per_s));
    else if (nic->stated_bytes_per_s > 0 && nic->up)
        snprintf(text, size_bytes, "unknown (driver says %s)",
                 cb_format_bandwidth(figure, nic->stated_bytes_per_s));
    else
        snprintf(text, size_bytes, "unknown");
}

static void describe_network(struct cb_doctor *doctor, const struct cb_topo_host *host)
{
    static const struct cb_table_column columns[] = {
        {"port", CB_ALIGN_LEFT, 8},           {"kind", CB_ALIGN_LEFT, 0},
        {"driver", CB_ALIGN_LEFT, 8},         {"state", CB_ALIGN_LEFT, 0},
        {"speed, one way", CB_ALIGN_LEFT, 0}, {"same port as", CB_ALIGN_LEFT, 8},
    };
    struct cb_table table;
    if (host->nic_count == 0) {
        cb_strbuf_add(&doctor->host, "  no network interface besides loopback\n");
        return;
    }
    cb_table_init(&table, columns, sizeof(columns) / sizeof(*columns));
    for (int i = 0; i < host->nic_count; i++) {
        const struct cb_topo_nic *nic = &host->nics[i];
        char speed[64];
        describe_speed(nic, speed, sizeof(speed));
        cb_table_add(&table, CB_STYLE_PLAIN, "%s", nic->name);
        cb_table_add(&table, CB_STYLE_PLAIN, "%s", nic->kind);
        cb_table_add(&table, CB_STYLE_PLAIN, "%s", nic->driver);
        cb_table_add(&table, CB_STYLE_PLAIN, "%s", nic->up ? "up" : "down");
        cb_table_add(&table, CB_STYLE_PLAIN, "%s", speed);
        cb_table_add(&table, CB_STYLE_PLAIN, "%s", nic->partner);
    }
    cb_table_render(&table, 2, false, &doctor->host);
    cb_table_fini(&table);
    if (host->nics_found > host->nic_count)
        cb_strbuf_addf(&doctor->host, "  and %d more\n", host->nics_found - host->nic_count);
}

/* ---- what would quietly spoil a measurement ---- */

static const struct cb_topo_nic *find_active_rdma(const struct cb_topo_host *host)
{
    for (int i = 0; i < host->nic_count; i++) {
        const struct cb_topo_nic *nic = &host->nics[i];
        if (nic->up && is_rdma(nic) && cb_facts_is_ib_or_roce(nic))
            return nic;
    }
    return NULL;
}

/* Debian's Open MPI ships "pml = ^ucx": InfiniBand then carries nothing, and nothing says so. */
static void check_pml(struct cb_doctor *doctor, const struct cb_topo_nic *rdma)
{
    char value[256] = "";
    char *params = cb_environment_read_params();
    const char *variable = getenv("OMPI_MCA_pml");
    if (variable)
        snprintf(value, sizeof(value), "%s", variable);
    else if (params)
        cb_environment_find_param(params, "pml", value, sizeof(value));
    free(params);
    if (value[0] && cb_environment_excludes(value, "ucx"))
        cb_doctor_add_finding(doctor, "mpirun --mca pml ucx ..., or export OMPI_MCA_pml=ucx",
                              "%s (%s) is active, but Open MPI is told \"pml = %.60s\" (%s): MPI "
                              "would run over TCP and not say so",
                              rdma->name, rdma->kind, value,
                              variable ? "OMPI_MCA_pml" : "its parameter file");
}

/* In a container sysfs shows the host's ports whether or not they were handed in. */
static bool can_open_verbs(const char *sysroot)
{
    char path[PATH_MAX];
    struct dirent *entry;
    bool opened = false;
    snprintf(path, sizeof(path), "%s/dev/infiniband", sysroot);
    DIR *folder = opendir(path);
    if (!folder)
        return false;
    while (!opened && (entry = readdir(folder)))
        opened = strncmp(entry->d_name, "uverbs", strlen("uverbs")) == 0 &&
                 faccessat(dirfd(folder), entry->d_name, R_OK | W_OK, 0) == 0;
    closedir(folder);
    return opened;
}

static void check_rdma(struct cb_doctor *doctor, const struct cb_topo_host *host, bool is_open_mpi)
{
    struct rlimit locked;
    const struct cb_topo_nic *rdma = find_active_rdma(host);
    if (!rdma)
        return;
    if (is_open_mpi)
        check_pml(doctor, rdma);
    if (!can_open_verbs(doctor->sysroot))
        cb_doctor_add_finding(doctor,
                              "give the container /dev/infiniband (docker: --device "
                              "/dev/infiniband), or the user rights to it",
                              "%s is active, but no /dev/infiniband/uverbs* can be opened: MPI "
                              "cannot use it",
                              rdma->name);
    if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_cur != RLIM_INFINITY)
        cb_doctor_add_finding(doctor,
                              "ulimit -l unlimited (/etc/security/limits.conf; docker: --ulimit "
                              "memlock=-1; Slurm: PropagateResourceLimitsExcept=MEMLOCK)",
                              "this process may lock %llu KiB of memory only; RDMA needs more",
                              (unsigned long long)locked.rlim_cur / 1024);
}

static void check_speeds(struct cb_doctor *doctor, const struct cb_topo_host *host)
{
    bool is_any_up = false;
    for (int i = 0; i < host->nic_count; i++) {
        if (host->nics[i].nominal_bytes_per_s > 0)
            return;
        is_any_up |= host->nics[i].up;
    }
    if (is_any_up)
        cb_doctor_add_finding(doctor,
                              "give what was promised: commbound run --nominal-bandwidth 10Gb/s",
                              "no interface here knows its line's speed (virtual ones make one "
                              "up), so that measured and nominal cannot be compared");
}

/* "4.1.4" in "Open MPI v4.1.4": the first digit that a dot follows starts it. */
static const char *find_version(const char *text)
{
    for (; *text; text++)
        if (isdigit((unsigned char)text[0]) && text[1] == '.')
            return text;
    return NULL;
}

static void check_launcher(struct cb_doctor *doctor, const struct cb_transport_probe *mpi)
{
    bool is_open_mpi = strstr(mpi->library, "Open MPI") != NULL;
    bool is_open_mpirun = strstr(doctor->mpirun, "Open MPI") != NULL;
    const char *library = find_version(mpi->library);
    const char *launcher = find_version(doctor->mpirun);
    if (!doctor->mpirun[0])
        return;
    bool differ = is_open_mpi != is_open_mpirun;
    if (is_open_mpi && is_open_mpirun && library && launcher)
        differ = strtol(library, NULL, 10) != strtol(launcher, NULL, 10);
    if (differ)
        cb_doctor_add_finding(doctor,
                              "put the bin folder of the library's own installation first on PATH",
                              "mpirun is \"%.60s\" but commbound is linked with \"%.60s\": every "
                              "rank would think that it is alone",
                              doctor->mpirun, mpi->library);
    if (is_open_mpirun && geteuid() == 0 &&
        !(getenv("OMPI_ALLOW_RUN_AS_ROOT") && getenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")))
        cb_doctor_add_finding(doctor, "mpirun --allow-run-as-root ...",
                              "you are root, and Open MPI's mpirun refuses to start for root");
}

void cb_doctor_look_at_measuring(struct cb_doctor *doctor)
{
    struct cb_transport_probe mpi = {0};
    struct cb_topo_host host;
    struct cb_error err;
    look_at_mpi(doctor, &mpi);
    look_at_libraries(doctor);
    if (mpi.available)
        check_launcher(doctor, &mpi);
    if (cb_topo_discover_host(doctor->sysroot, NULL, &host, &err) != 0) {
        cb_doctor_set_obstacle(doctor, "%s", err.what);
        return;
    }
    describe_machine(doctor, &host);
    describe_network(doctor, &host);
    check_rdma(doctor, &host, strstr(mpi.library, "Open MPI") != NULL);
    check_speeds(doctor, &host);
}

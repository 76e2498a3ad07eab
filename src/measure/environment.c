#define _GNU_SOURCE /* environ, strcasestr */
#include "measure/environment.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/vec.h"

#define COUNT_OF(rows) (sizeof(rows) / sizeof(*(rows)))

/* Names, or prefixes when they end in '*'. */
static const char *const recorded[] = {
    "OMPI_MCA_*",
    "UCX_*",
    "NCCL_*",
    "OMP_*",
    "OPENBLAS_*",
    "GOMP_*",
    "OFI_NCCL_*", /* the plugin of clouds with libfabric, and libfabric */
    "FI_*",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUDA_MPS_*",
    "CUBLAS*",
    "NVIDIA_TF32_OVERRIDE",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    /* The shape of the job. */
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "PMI_SIZE",
    "MPI_LOCALNRANKS",
    "SLURM_JOB_ID",
    "SLURM_JOB_NUM_NODES",
    "SLURM_JOB_PARTITION",
    "SLURM_JOB_CPUS_PER_NODE",
    "SLURM_NTASKS",
    "SLURM_NTASKS_PER_NODE",
    "SLURM_TASKS_PER_NODE",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_STEP_TASKS_PER_NODE",
    "SLURM_CPUS_PER_TASK",
    "SLURM_CPU_BIND",
    "SLURM_DISTRIBUTION",
    "SLURM_HINT",
    "SLURM_GPUS*",
    "SLURM_GPU_BIND",
};

/* What mpirun tells its own children: addresses, job numbers, folders, copies of other variables.
 */
static const char *const bookkeeping[] = {
    "OMPI_MCA_orte_*",
    "OMPI_MCA_prte_*",
    "OMPI_MCA_ess*",
    "OMPI_MCA_pmix*",
    "OMPI_MCA_initial_wdir",
    "OMPI_MCA_shmem_RUNTIME_QUERY_hint",
    "OMPI_MCA_mca_base_env_list*",
};

static const char *const secrets[] = {"TOKEN", "KEY", "SECRET", "PASS", "CREDENTIAL"};

static bool is_listed(const char *const *patterns, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(patterns[i], "*");
        if (strncmp(name, patterns[i], length) == 0 && (patterns[i][length] || !name[length]))
            return true;
    }
    return false;
}

bool cb_environment_is_recorded(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(secrets); i++)
        if (strcasestr(name, secrets[i]))
            return false;
    return is_listed(recorded, COUNT_OF(recorded), name) &&
           !is_listed(bookkeeping, COUNT_OF(bookkeeping), name);
}

static const char *get(char *const *variables, const char *name)
{
    size_t length = strlen(name);
    for (; *variables; variables++)
        if (strncmp(*variables, name, length) == 0 && (*variables)[length] == '=')
            return *variables + length + 1;
    return NULL;
}

/* A positive number, or 0. */
static int get_count(char *const *variables, const char *name)
{
    const char *text = get(variables, name);
    char *end;
    long value = text ? strtol(text, &end, 10) : 0;
    return value > 0 && value <= INT_MAX && end != text && !*end ? (int)value : 0;
}

/* Slurm's list of tasks on each node, "4(x3),2": the entry of one node, or 0. */
static int find_tasks(const char *list, long node)
{
    while (list && *list) {
        char *end;
        long tasks = strtol(list, &end, 10);
        long nodes = 1;
        if (end == list || tasks <= 0 || tasks > INT_MAX)
            return 0;
        if (strncmp(end, "(x", 2) == 0)
            nodes = strtol(end + 2, &end, 10);
        if (node < nodes)
            return (int)tasks;
        node -= nodes;
        const char *comma = strchr(end, ',');
        list = comma ? comma + 1 : NULL;
    }
    return 0;
}

int cb_environment_local_ranks(char *const *variables)
{
    static const char *const counts[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};
    static const char *const lists[] = {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"};
    int ranks = 0;
    for (size_t i = 0; i < COUNT_OF(counts) && !ranks; i++)
        ranks = get_count(variables, counts[i]);
    /* Slurm's numbers are about this process only when srun started it. */
    if (ranks || !get(variables, "SLURM_PROCID"))
        return ranks;
    const char *node = get(variables, "SLURM_NODEID");
    for (size_t i = 0; i < COUNT_OF(lists) && !ranks; i++)
        ranks = find_tasks(get(variables, lists[i]), node ? strtol(node, NULL, 10) : 0);
    return ranks ? ranks : get_count(variables, "SLURM_NTASKS_PER_NODE");
}

int cb_environment_job_ranks(char *const *variables)
{
    static const char *const counts[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    int ranks = 0;
    for (size_t i = 0; i < COUNT_OF(counts) && !ranks; i++)
        ranks = get_count(variables, counts[i]);
    if (ranks || !get(variables, "SLURM_PROCID"))
        return ranks;
    return get_count(variables, "SLURM_STEP_NUM_TASKS");
}

static bool helps_always(int local_ranks, int cpus)
{
    (void)local_ranks;
    (void)cpus;
    return true;
}

static bool helps_when_crowded(int local_ranks, int cpus)
{
    return cpus > 0 && local_ranks > cpus;
}

static const struct default_row {
    struct cb_environment_change change;
    bool (*helps)(int local_ranks, int cpus);
} defaults[] = {
    {{"OMPI_MCA_btl_tcp_flags", "send",
      "over TCP, Open MPI's emulated put sends a large message as one piece, behind which the "
      "other direction's handshake waits: all_reduce then falls to half the rate of the link",
      true},
     helps_always},
    {{"OMPI_MCA_mpi_yield_when_idle", "1",
      "more ranks than CPUs on a node: a waiting rank must give up its CPU for the others to move",
      false},
     helps_when_crowded},
};

_Static_assert(COUNT_OF(defaults) <= CB_ENVIRONMENT_CHANGES, "room for every default");

#define PARAM_PREFIX "OMPI_MCA_"

void cb_environment_plan(char *const *variables, const char *params, int cpus,
                         struct cb_environment_changes *changes)
{
    char value[16];
    int local_ranks = cb_environment_local_ranks(variables);
    struct cb_environment_changes plan = {0};
    for (size_t i = 0; i < COUNT_OF(defaults); i++) {
        const char *name = defaults[i].change.name;
        bool is_set = get(variables, name) ||
                      (params && cb_environment_find_param(params, name + strlen(PARAM_PREFIX),
                                                           value, sizeof(value)));
        if (!is_set && defaults[i].helps(local_ranks, cpus))
            plan.items[plan.count++] = defaults[i].change;
    }
    *changes = plan;
}

int cb_environment_prepare(int cpus, struct cb_environment_changes *changes, struct cb_error *err)
{
    struct cb_environment_changes plan;
    char *params = cb_environment_read_params();
    cb_environment_plan(environ, params, cpus, &plan);
    free(params);
    for (size_t i = 0; i < plan.count; i++)
        if (setenv(plan.items[i].name, plan.items[i].value, 0) != 0)
            return cb_fail(err, CB_E_MEMORY, "cannot set %s", plan.items[i].name);
    *changes = plan;
    return 0;
}

static const char *name_setter(const struct cb_environment_changes *changes, const char *name)
{
    for (size_t i = 0; changes && i < changes->count; i++)
        if (strcmp(changes->items[i].name, name) == 0)
            return "commbound";
    return "user";
}

/* One entry that is recorded, as name and value. */
struct entry {
    char name[CB_NAME];
    char value[CB_TEXT];
};

static int compare_names(const void *left, const void *right)
{
    return strcmp(((const struct entry *)left)->name, ((const struct entry *)right)->name);
}

static void copy_printable(char *out, size_t size_bytes, const char *text, size_t length)
{
    size_t i = 0;
    for (; i < length && i + 1 < size_bytes; i++)
        out[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    out[i] = '\0';
}

int cb_environment_collect(struct cb_result *result, char *const *variables,
                           const struct cb_environment_changes *changes, struct cb_error *err)
{
    CB_VEC(struct entry) entries = {0};
    int rc = 0;
    for (; *variables && !rc; variables++) {
        const char *equals = strchr(*variables, '=');
        struct entry candidate;
        if (!equals)
            continue;
        copy_printable(candidate.name, sizeof(candidate.name), *variables,
                       (size_t)(equals - *variables));
        copy_printable(candidate.value, sizeof(candidate.value), equals + 1, strlen(equals + 1));
        if (!cb_environment_is_recorded(candidate.name))
            continue;
        struct entry *entry = cb_vec_add(&entries);
        if (entry)
            *entry = candidate;
        else
            rc = CB_E_MEMORY;
    }
    if (entries.count)
        qsort(entries.items, entries.count, sizeof(*entries.items), compare_names);
    for (size_t i = 0; i < entries.count && !rc; i++)
        rc = cb_result_add_environment(result, entries.items[i].name, entries.items[i].value,
                                       name_setter(changes, entries.items[i].name));
    cb_vec_fini(&entries);
    return rc ? cb_fail(err, CB_E_MEMORY, "out of memory while recording the environment") : 0;
}

/* ---- Open MPI's parameter files ---- */

bool cb_environment_find_param(const char *text, const char *name, char *value, size_t size_bytes)
{
    static const char blanks[] = " \t\r";
    size_t name_length = strlen(name);
    bool found = false;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        line += strspn(line, blanks);
        if (strncmp(line, name, name_length) != 0)
            continue;
        const char *equals = line + name_length + strspn(line + name_length, blanks);
        if (*equals != '=')
            continue;
        const char *start = equals + 1 + strspn(equals + 1, blanks);
        size_t length = strcspn(start, "\n#");
        while (length && strchr(blanks, start[length - 1]))
            length--;
        copy_printable(value, size_bytes, start, length);
        found = true;
    }
    return found;
}

bool cb_environment_excludes(const char *selection, const char *component)
{
    bool is_negative = selection[0] == '^';
    size_t component_length = strlen(component);
    bool is_named = false;
    for (const char *item = selection + is_negative; item; item = strchr(item, ',')) {
        item += *item == ',';
        item += strspn(item, " ");
        is_named |= strcspn(item, " ,") == component_length &&
                    strncmp(item, component, component_length) == 0;
    }
    return is_named == is_negative;
}

static void append_file(struct cb_strbuf *text, const char *path)
{
    char chunk[4096];
    size_t length;
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    while ((length = fread(chunk, 1, sizeof(chunk) - 1, file)) > 0) {
        chunk[length] = '\0';
        cb_strbuf_add(text, chunk);
    }
    fclose(file);
    cb_strbuf_add(text, "\n");
}

char *cb_environment_read_params(void)
{
    char path[PATH_MAX];
    struct cb_strbuf text = {0};
    const char *prefix = getenv("OPAL_PREFIX"); /* a relocated Open MPI */
    const char *home = getenv("HOME");
    append_file(&text, "/etc/openmpi/openmpi-mca-params.conf");
    if (prefix) {
        snprintf(path, sizeof(path), "%s/etc/openmpi-mca-params.conf", prefix);
        append_file(&text, path);
    }
    if (home) {
        snprintf(path, sizeof(path), "%s/.openmpi/mca-params.conf", home);
        append_file(&text, path);
    }
    return text.text; /* handed over */
}

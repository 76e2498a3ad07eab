#include "measure/devices.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/gather.h"

/* ---- comparing ---- */

static void warn(struct cb_devices_choice *choice, const char *code, const char *hint,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

static void warn(struct cb_devices_choice *choice, const char *code, const char *hint,
                 const char *format, ...)
{
    enum { ROOM = sizeof(choice->warnings) / sizeof(choice->warnings[0]) };
    va_list arguments;
    if (choice->warning_count == ROOM)
        return;
    struct cb_message *message = &choice->warnings[choice->warning_count++];
    snprintf(message->code, sizeof(message->code), "%s", code);
    snprintf(message->hint, sizeof(message->hint), "%s", hint);
    va_start(arguments, format);
    vsnprintf(message->text, sizeof(message->text), format, arguments);
    va_end(arguments);
}

/* Makes an error one of a rank. */
static int blame(const struct cb_device_facts *rank, const struct cb_error *why,
                 struct cb_error *err)
{
    *err = *why;
    err->rank = rank->rank;
    snprintf(err->host, sizeof(err->host), "%s", rank->host);
    return why->code;
}

/* The user did not ask for GPUs: they are left out, and the reason told. */
static int leave_out(const struct cb_device_facts *rank, const struct cb_error *why, bool insists,
                     struct cb_devices_choice *choice, struct cb_error *err)
{
    char hint[CB_TEXT];
    if (insists)
        return blame(rank, why, err);
    choice->gpus = false;
    snprintf(hint, sizeof(hint), "%.180s%s", why->hint,
             why->hint[0] ? "; --transport nccl insists on GPUs"
                          : "--transport nccl insists on GPUs");
    warn(choice, "gpu.not_used", hint,
         "GPUs were not measured, only the hosts, since rank %d on %s: %.160s", rank->rank,
         rank->host, why->what);
    return CB_OK;
}

/* By its address, as NCCL tells GPUs apart: the parts of a partitioned card have UUIDs of their own
 * and share it. */
static bool is_same_gpu(const struct cb_device_facts *a, const struct cb_device_facts *b)
{
    return a->node == b->node && strcmp(a->device.pci_id, b->device.pci_id) == 0;
}

/* Of ranks on one GPU, the pair that comes first; false when every rank has its own. */
static bool find_shared(const struct cb_device_facts *all, size_t count, size_t *one, size_t *other)
{
    for (size_t b = 1; b < count; b++)
        for (size_t a = b; a-- > 0 && b - a <= 1024;)
            if (is_same_gpu(&all[a], &all[b])) {
                *one = a;
                *other = b;
                return true;
            }
    return false;
}

/* How many ranks the node of a rank has, and on how many GPUs. */
static void count_node(const struct cb_device_facts *all, size_t count,
                       const struct cb_device_facts *rank, int *ranks, int *gpus)
{
    *ranks = *gpus = 0;
    for (size_t i = 0; i < count; i++) {
        size_t before = 0;
        if (all[i].node != rank->node)
            continue;
        while (before < i && !is_same_gpu(&all[before], &all[i]))
            before++;
        *gpus += before == i;
        ++*ranks;
    }
}

/* What lets NCCL take two ranks on one GPU; NULL when nothing does. */
static const char *find_permission(const struct cb_device_facts *a, const struct cb_device_facts *b)
{
    const int first_version = 23000;
    if (strcmp(a->host_id, b->host_id) != 0)
        return "NCCL_HOSTID";
    return a->multi_rank && b->multi_rank && b->nccl.version >= first_version
               ? "NCCL_MULTI_RANK_GPU_ENABLE"
               : NULL;
}

static void explain_sharing(const struct cb_device_facts *all, size_t count,
                            const struct cb_device_facts *a, const struct cb_device_facts *b,
                            struct cb_error *why)
{
    int ranks, gpus;
    count_node(all, count, a, &ranks, &gpus);
    bool is_partitioned = strcmp(a->device.uuid, b->device.uuid) != 0;
    bool all_are_used = gpus >= a->device.visible && gpus >= b->device.visible;
    if (is_partitioned)
        cb_fail(why, CB_E_UNSUPPORTED,
                "two ranks on parts of one GPU (MIG), which NCCL takes for one: ranks %d and %d of "
                "%s, %s",
                a->rank, b->rank, a->host, a->device.pci_id);
    else if (all_are_used)
        cb_fail(why, CB_E_UNSUPPORTED, "fewer GPUs than ranks: %d for the %d ranks of %s", gpus,
                ranks, a->host);
    else
        cb_fail(why, CB_E_UNSUPPORTED, "two ranks on one GPU: ranks %d and %d of %s both have %s",
                a->rank, b->rank, a->host, a->device.pci_id);
    cb_error_set_detail(why, "%s, CUDA device %d of %d and %d of %d", a->device.uuid,
                        a->device.index, a->device.visible, b->device.index, b->device.visible);
    if (is_partitioned)
        cb_error_set_hint(why, "start one rank per card");
    else if (all_are_used)
        cb_error_set_hint(why,
                          "start %d per host (mpirun --map-by ppr:%d:node, srun "
                          "--ntasks-per-node=%d), and let each see all of its host's GPUs (srun "
                          "--gpu-bind=none)",
                          gpus, gpus, gpus);
    else
        cb_error_set_hint(why, "start one rank per GPU, and let each see all of its host's GPUs, "
                               "or one of its own (CUDA_VISIBLE_DEVICES)");
}

static int check_sharing(const struct cb_device_facts *all, size_t count, bool insists,
                         struct cb_devices_choice *choice, struct cb_error *err)
{
    size_t one, other;
    struct cb_error why;
    if (!find_shared(all, count, &one, &other))
        return CB_OK;
    const struct cb_device_facts *a = &all[one], *b = &all[other];
    const char *permission = find_permission(a, b);
    if (permission) {
        warn(choice, "gpu.shared", "give every rank a GPU of its own",
             "ranks %d and %d share one GPU of %s (%s), as %s lets them: what they compute can be "
             "checked, their times say nothing",
             a->rank, b->rank, a->host, a->device.pci_id, permission);
        return CB_OK;
    }
    explain_sharing(all, count, a, b, &why);
    return leave_out(b, &why, insists, choice, err);
}

static int check_nccl(const struct cb_device_facts *all, size_t count, struct cb_error *err)
{
    char here[16], there[16];
    struct cb_error why;
    for (size_t i = 1; i < count; i++) {
        if (all[i].nccl.version == all[0].nccl.version)
            continue;
        cb_fail(&why, CB_E_UNSUPPORTED,
                "different versions of NCCL: %s on rank %d of %s, %s on rank %d of %s",
                cb_nccl_format_version(all[0].nccl.version, here), all[0].rank, all[0].host,
                cb_nccl_format_version(all[i].nccl.version, there), all[i].rank, all[i].host);
        cb_error_set_detail(&why, "%.120s and %.120s", all[0].nccl.path, all[i].nccl.path);
        cb_error_set_hint(&why, "name one that every host has: --nccl-lib, or COMMBOUND_NCCL_LIB");
        return blame(&all[i], &why, err);
    }
    return CB_OK;
}

static void look_for_differences(const struct cb_device_facts *all, size_t count,
                                 struct cb_devices_choice *choice)
{
    size_t model = 0, path = 0, driver = 0;
    for (size_t i = count; i-- > 1;) {
        if (strcmp(all[i].device.name, all[0].device.name) != 0)
            model = i;
        if (strcmp(all[i].nccl.path, all[0].nccl.path) != 0)
            path = i;
        if (all[i].device.driver_version != all[0].device.driver_version)
            driver = i;
    }
    if (model)
        warn(choice, "gpu.mixed_models",
             "measure the models apart: the slower one sets the pace of all",
             "different GPUs: rank %d on %s has %.60s, rank %d on %s has %.60s", all[0].rank,
             all[0].host, all[0].device.name, all[model].rank, all[model].host,
             all[model].device.name);
    if (driver)
        warn(choice, "gpu.mixed_drivers", "install the same driver on every host",
             "different drivers: CUDA %d.%d on %s, CUDA %d.%d on %s",
             all[0].device.driver_version / 1000, all[0].device.driver_version % 1000 / 10,
             all[0].host, all[driver].device.driver_version / 1000,
             all[driver].device.driver_version % 1000 / 10, all[driver].host);
    if (path)
        warn(choice, "nccl.mixed_paths", "name one with --nccl-lib",
             "NCCL is loaded from different files: rank %d on %s has %.70s, rank %d on %s has "
             "%.70s",
             all[0].rank, all[0].host, all[0].nccl.path, all[path].rank, all[path].host,
             all[path].nccl.path);
}

int cb_devices_compare(const struct cb_device_facts *all, size_t count, bool insists,
                       struct cb_devices_choice *out, struct cb_error *err)
{
    struct cb_devices_choice choice = {.gpus = true, .least_free_bytes = UINT64_MAX};
    const struct cb_device_facts *lacks = NULL, *lacks_nccl = NULL;
    size_t having = 0;
    int rc = CB_OK;
    for (size_t i = 0; i < count; i++) {
        having += all[i].has_device;
        if (!all[i].has_device && all[i].device_error.code != CB_E_UNSUPPORTED)
            return blame(&all[i], &all[i].device_error, err);
        if (!all[i].has_device && !lacks)
            lacks = &all[i];
        if (!all[i].has_nccl && !lacks_nccl)
            lacks_nccl = &all[i];
        if (all[i].has_device && all[i].device.free_bytes < choice.least_free_bytes)
            choice.least_free_bytes = all[i].device.free_bytes;
    }
    if (lacks) {
        choice.gpus = false;
        bool is_plain_host = having == 0 && lacks->device_error.detail[0] == '\0';
        if (insists || !is_plain_host)
            rc = leave_out(lacks, &lacks->device_error, insists, &choice, err);
    } else if (lacks_nccl && lacks_nccl->nccl_error.code == CB_E_USAGE) {
        rc = blame(lacks_nccl, &lacks_nccl->nccl_error, err);
    } else if (lacks_nccl) {
        rc = leave_out(lacks_nccl, &lacks_nccl->nccl_error, insists, &choice, err);
    } else {
        rc = check_sharing(all, count, insists, &choice, err);
        if (!rc && choice.gpus)
            rc = check_nccl(all, count, err);
        if (!rc && choice.gpus)
            look_for_differences(all, count, &choice);
    }
    if (rc)
        return rc;
    *out = choice;
    return CB_OK;
}

/* ---- choosing ---- */

static void look_here(const struct cb_coordinator *c, const char *nccl_path,
                      struct cb_device_facts *facts)
{
    memset(facts, 0, sizeof(*facts));
    facts->rank = c->rank;
    facts->node = c->node;
    gethostname(facts->host, sizeof(facts->host) - 1);
    const char *host_id = getenv("NCCL_HOSTID");
    const char *multi_rank = getenv("NCCL_MULTI_RANK_GPU_ENABLE");
    snprintf(facts->host_id, sizeof(facts->host_id), "%s", host_id ? host_id : "");
    facts->multi_rank = multi_rank && strtol(multi_rank, NULL, 0) != 0;
    facts->has_device =
        cb_device_bind(c->local_rank, &facts->device, &facts->device_error) == CB_OK;
    if (facts->has_device)
        facts->has_nccl = cb_nccl_find(nccl_path, &facts->nccl, &facts->nccl_error) == CB_OK;
}

/* Of what spoils a run and stands in no rank's facts. */
static void warn_of_setting(const struct cb_devices_choice *choice, struct cb_result *result)
{
    const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");
    /* A host without a driver is none with GPUs; one whose driver is there by half is. */
    if (!choice->gpus && choice->warning_count == 0 && result->gpus.count > 0)
        cb_result_warn(result, "gpu.not_used",
                       "give the container the driver's part for computing (docker: -e "
                       "NVIDIA_DRIVER_CAPABILITIES=compute,utility); commbound doctor tells more",
                       "GPUs were not measured, only the hosts: the driver shows %zu, but its "
                       "libcuda.so.1 is not there",
                       result->gpus.count);
    if (choice->gpus && blocking && strtol(blocking, NULL, 0) != 0)
        cb_result_warn(
            result, "cuda.launch_blocking", "unset CUDA_LAUNCH_BLOCKING",
            "CUDA_LAUNCH_BLOCKING is set: every operation waits for the one before it to "
            "end, and small ones look slow");
}

int cb_devices_choose(const struct cb_coordinator *coordinator, const char *wanted,
                      const char *nccl_path, struct cb_devices_choice *choice,
                      struct cb_device *device, struct cb_nccl_copy *nccl, struct cb_result *result,
                      struct cb_error *err)
{
    const struct cb_coordinator *c = coordinator;
    struct cb_devices_choice made = {0};
    struct cb_device_facts mine;
    CB_VEC(struct cb_device_facts) all = {0};
    if (strcmp(wanted, "mpi") == 0) {
        *choice = made;
        return CB_OK;
    }
    look_here(c, nccl_path, &mine);
    int rc = cb_gather_append(c->world, &mine, &all, err);
    if (!rc && c->rank == 0)
        rc = cb_devices_compare(all.items, all.count, strcmp(wanted, "nccl") == 0, &made, err);
    cb_vec_fini(&all);
    rc = cb_group_agree(c->world, rc, err);
    if (!rc)
        rc = cb_group_broadcast(c->world, &made, sizeof(made), err);
    if (rc)
        return rc;
    for (int i = 0; i < made.warning_count && c->rank == 0; i++)
        cb_result_warn(result, made.warnings[i].code, made.warnings[i].hint, "%s",
                       made.warnings[i].text);
    if (c->rank == 0)
        warn_of_setting(&made, result);
    *choice = made;
    *device = mine.device;
    *nccl = mine.nccl;
    return CB_OK;
}

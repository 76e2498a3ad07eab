/* `commbound run`: measure, judge, report. */
#define _GNU_SOURCE /* environ */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/build.h"
#include "cli/cli.h"
#include "cli/run_options.h"
#include "cli/run_output.h"
#include "judge/judge.h"
#include "kernels/kernels.h"
#include "measure/binding.h"
#include "measure/devices.h"
#include "measure/environment.h"
#include "measure/gpu_survey.h"
#include "measure/map_survey.h"
#include "measure/roll_call.h"
#include "measure/runner.h"
#include "measure/skipped.h"
#include "measure/stop.h"
#include "measure/survey.h"
#include "measure/used.h"
#include "report/report.h"
#include "topology/topo.h"

enum { EXIT_UNMEASURED = 3, EXIT_STOPPED = 5 };

struct run {
    struct cb_run_options options;
    struct cb_coordinator coordinator;
    struct cb_devices_choice devices;
    struct cb_device device;
    struct cb_nccl_copy nccl;
    struct cb_nccl_log nccl_log;
    struct cb_transport_config transport_config;
    struct cb_environment_changes changes;
    struct cb_stop stop;
    struct cb_place place;
    struct cb_roll_call roll_call;
    struct cb_survey survey;
    struct cb_gpu_watch watch;
    struct cb_plan plan;
    struct cb_result result;
    struct cb_run_output output;
    bool is_first; /* before MPI started: alone, it makes every process rank 0 */
    char last_stage[96];
};

/* ---- result.json ---- */

static int save_after_step(void *arg, struct cb_error *err)
{
    struct run *run = arg;
    size_t steps = (size_t)atomic_load(&run->place.step);
    int rc = cb_run_output_save(&run->output, &run->result, steps, err);
    if (!rc && cb_stop_is_requested(&run->stop)) /* do not take back what on_signal wrote */
        cb_run_output_mark(&run->output, "signal", CB_SKIPPED_BY_SIGNAL, NULL);
    return rc;
}

static void on_signal(void *arg, int signal_number)
{
    struct run *run = arg;
    (void)signal_number;
    cb_run_output_mark(&run->output, "signal", CB_SKIPPED_BY_SIGNAL, NULL);
}

/* Nothing has moved for long: a rank or a link is gone, and no MPI call will come back to say so.
 */
static void on_hang(void *arg)
{
    struct run *run = arg;
    char limit[CB_UNIT_TEXT], missing[512], fault[768];
    if (!run->output.is_open)
        return;
    if (!cb_roll_call_describe(&run->roll_call, missing, sizeof(missing)))
        snprintf(missing, sizeof(missing), "a rank or a link is gone");
    snprintf(fault, sizeof(fault), "nothing moved for %s during %s: %s",
             cb_format_time(limit, run->options.hang_limit_s), run->last_stage, missing);
    cb_run_output_mark(&run->output, "fault", CB_SKIPPED_BY_FAULT, fault);
    bool is_ours = run->output.is_ours;
    fprintf(stderr, "commbound run: %s; %s%s\n", fault,
            is_ours ? "what was measured is in " : "nothing was measured",
            is_ours ? run->output.path : "");
    _exit(EXIT_STOPPED);
}

static void on_tick(void *arg)
{
    struct run *run = arg;
    cb_roll_call_serve(&run->roll_call);
}

/* A rank that waited in vain knows that somebody is missing; who, all have to be asked. On rank 0.
 */
static void find_missing(struct run *run, struct cb_error *err)
{
    char missing[sizeof(err->detail)];
    if (err->follows == CB_WAITED &&
        cb_roll_call_describe(&run->roll_call, missing, sizeof(missing)))
        cb_error_set_detail(err, "%s", missing);
}

/* ---- progress ---- */

static void show_progress(void *arg, const struct cb_progress *progress)
{
    struct run *run = arg;
    char remaining[CB_UNIT_TEXT];
    bool is_new_stage = strcmp(run->last_stage, progress->stage) != 0;
    snprintf(run->last_stage, sizeof(run->last_stage), "%s", progress->stage);
    if (run->options.quiet)
        return;
    cb_format_time(remaining, progress->remaining_s);
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K[%zu/%zu] %s, about %s left", progress->step, progress->steps,
                progress->what, remaining);
    else if (is_new_stage)
        fprintf(stderr, "[%zu/%zu] %s, about %s left\n", progress->step, progress->steps,
                progress->stage, remaining);
    fflush(stderr);
}

static void end_progress(const struct run *run)
{
    if (!run->options.quiet && run->last_stage[0] && isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}

/* ---- the phases ---- */

static int describe(struct run *run, const struct cb_transport_ops *transport, struct cb_error *err)
{
    struct cb_result *result = &run->result;
    struct cb_transport_probe probe;
    transport->probe(&run->transport_config, &probe);
    snprintf(result->tool_version, sizeof(result->tool_version), "%s", CB_VERSION);
    snprintf(result->build, sizeof(result->build), "%s", CB_BUILD);
    snprintf(result->transport, sizeof(result->transport), "%s", transport->name);
    snprintf(result->transport_library, sizeof(result->transport_library), "%s", probe.library);
    snprintf(result->transport_version, sizeof(result->transport_version), "%s", probe.version);
    snprintf(result->transport_path, sizeof(result->transport_path), "%.*s",
             (int)sizeof(result->transport_path) - 1, probe.path);
    result->simulated = probe.simulated;
    cb_clock_utc(result->started_at, sizeof(result->started_at));
    result->rank_count = run->coordinator.size;
    if (cb_run_options_record(&run->options, result))
        return cb_fail(err, CB_E_MEMORY, "no memory for the result");
    for (size_t i = 0; i < run->changes.count; i++) {
        if (run->changes.items[i].between_nodes && run->coordinator.node_count < 2)
            continue;
        cb_result_warn(result, "environment.set", "set the variable yourself to have it otherwise",
                       "commbound set %s=%s: %s", run->changes.items[i].name,
                       run->changes.items[i].value, run->changes.items[i].reason);
    }
    return cb_environment_collect(result, environ, &run->changes, err);
}

/* What a rank has for its two buffers: on a host beside those of the node's other ranks, on a GPU
 * beside what NCCL and the kernels need. */
static uint64_t buffer_room_bytes(const struct run *run)
{
    return run->devices.gpus ? run->devices.least_free_bytes / 2
                             : run->survey.least_memory_per_rank_bytes;
}

static void fit_messages(struct run *run)
{
    struct cb_plan_request *request = &run->options.request;
    uint64_t wanted = request->max_bytes;
    while (request->max_bytes > request->min_bytes &&
           request->max_bytes > buffer_room_bytes(run) / 2)
        request->max_bytes /= 2;
    if (request->max_bytes < request->min_bytes)
        request->max_bytes = request->min_bytes;
    if (request->max_bytes == wanted || run->coordinator.rank != 0)
        return;
    char before[CB_UNIT_TEXT], after[CB_UNIT_TEXT];
    cb_result_warn(&run->result, "memory.max_bytes_lowered",
                   run->devices.gpus ? "lower --max-bytes, or end what else uses the GPUs"
                                     : "start fewer ranks per node, or lower --max-bytes",
                   "the largest message was lowered from %s to %s: half of the free memory of a %s "
                   "must hold two buffers per rank",
                   cb_format_bytes(before, wanted), cb_format_bytes(after, request->max_bytes),
                   run->devices.gpus ? "GPU" : "node");
}

static int make_plan(struct run *run, struct cb_error *err)
{
    struct cb_plan_request *request = &run->options.request;
    fit_messages(run);
    request->gpus = run->devices.gpus;
    request->ranks = run->coordinator.size;
    request->nodes = run->coordinator.node_count;
    request->smallest_node = run->survey.smallest_node;
    request->largest_node = run->survey.largest_node;
    int rc = cb_plan_build(request, &run->plan, err);
    return cb_group_agree(run->coordinator.world, rc, err);
}

/* The GPU after this rank's own, among those of the job's ranks that this process sees. */
static int peer_device(const struct run *run)
{
    int local_ranks = run->coordinator.local_size;
    int ring = run->device.visible < local_ranks ? run->device.visible : local_ranks;
    return ring > 1 ? (run->device.index + 1) % ring : run->device.index;
}

static int measure(struct run *run, const struct cb_transport_ops *transport, struct cb_error *err)
{
    const struct cb_runner_config config = {
        .coordinator = &run->coordinator,
        .transport = transport,
        .transport_config = run->transport_config,
        .kernels = run->devices.gpus ? cb_kernels_cuda() : cb_kernels_host(),
        .kernels_config = {.cpus = run->survey.cpus,
                           .cpu_count = run->survey.cpu_count,
                           .last_level_cache_bytes = run->survey.last_level_cache_bytes,
                           .memory_bytes = run->survey.memory_per_rank_bytes,
                           .local_ranks = run->coordinator.local_size,
                           .device = run->device.index,
                           .peer_device = peer_device(run)},
        .watch = &run->watch,
        .time_box_s = run->options.time_box_s,
        .time_limit_s = run->options.time_limit_s,
        .target_relative = run->options.target_relative,
        .seed = run->options.seed,
        .stop = &run->stop,
        .place = &run->place,
        .hooks = {.progress = show_progress, .save = save_after_step, .arg = run},
    };
    int rc = cb_runner_run(&config, &run->plan, &run->result, err);
    end_progress(run);
    return rc;
}

/* Ranks that a launcher started side by side and MPI did not join would each measure alone and
 * overwrite each other's result. */
static int check_joined(const struct run *run, struct cb_error *err)
{
    int launched = cb_environment_job_ranks(environ);
    if (run->coordinator.size > 1 || launched <= 1)
        return CB_OK;
    cb_fail(err, CB_E_MEASURE, "the launcher started %d ranks, but %s sees each alone", launched,
            run->coordinator.library);
    cb_error_set_hint(err,
                      "start with srun --mpi=pmix (see srun --mpi=list), or with the mpirun of "
                      "the same MPI");
    return CB_E_MEASURE;
}

/* GPUs or hosts, and what the transport has to know of it. */
static int choose_devices(struct run *run, struct cb_error *err)
{
    /* NCCL reports before the watchdog ends the run. */
    const double share_of_hang_limit = 0.75;
    const struct cb_run_options *options = &run->options;
    int rc = cb_devices_choose(&run->coordinator, options->transport, options->nccl_library,
                               &run->devices, &run->device, &run->nccl, &run->result, err);
    bool has_unused = !run->devices.gpus && (options->graph || options->registers);
    if (!rc && has_unused && run->coordinator.rank == 0)
        cb_result_warn(&run->result, "run.option_unused", "--transport nccl insists on GPUs",
                       "--graph and --register concern NCCL, which did not run");
    if (rc || !run->devices.gpus)
        return rc;
    run->transport_config = (struct cb_transport_config){
        .device = &run->device,
        .nccl_path = run->nccl.path,
        .nccl_log = &run->nccl_log,
        /* It is the first of every group that it is in, and NCCL has the first tell. */
        .asks_algorithms = run->coordinator.rank == 0,
        .place = &run->place,
        .time_limit_s = options->hang_limit_s * share_of_hang_limit,
        .graph = options->graph,
        .registers = options->registers,
    };
    return CB_OK;
}

/* A job that cannot run on these ranks is refused before anything is measured for it; by the ranks
 * that know of it, since a workload file need not be on every node. */
static int check_job(const struct run *run, struct cb_error *err)
{
    const struct cb_job *job = &run->options.workload.workload.job;
    int rc = job->parameters > 0 ? cb_job_check(job, run->coordinator.size, err) : 0;
    if (rc)
        cb_workload_respell(err);
    return rc;
}

/* Everything up to the verdict, on every rank. *measured tells whether there is something to
 * report. */
static int run_job(struct run *run, bool *measured, struct cb_error *err)
{
    int rc = check_joined(run, err);
    if (!rc)
        rc = cb_roll_call_open(&run->roll_call, &run->coordinator, &run->place, err);
    if (!rc)
        rc = cb_group_agree(run->coordinator.world, check_job(run, err), err);
    if (!rc)
        rc =
            cb_survey_run(&run->coordinator, run->options.workload.workload.nominal_bytes_per_s > 0,
                          &run->survey, &run->result, err);
    /* Before anything of this job is on a GPU. */
    if (!rc)
        rc = cb_gpu_survey_run(&run->coordinator, &run->watch, &run->result, err);
    if (!rc)
        rc = cb_map_survey_run(&run->coordinator, &run->survey, &run->watch, &run->result, err);
    if (!rc)
        rc = choose_devices(run, err);
    const char *gpu = run->devices.gpus ? run->device.pci_id : NULL;
    if (!rc)
        rc = cb_gpu_survey_bind(&run->coordinator, gpu, &run->watch, &run->result, err);
    if (!rc)
        rc = cb_binding_run(&run->coordinator, gpu, run->options.binds, &run->survey, &run->result,
                            err);
    if (rc)
        return rc;
    const struct cb_transport_ops *transport =
        cb_transport_find(run->devices.gpus ? "nccl" : "mpi");
    if (run->coordinator.rank == 0)
        rc = describe(run, transport, err);
    rc = cb_group_agree(run->coordinator.world, rc, err);
    if (!rc)
        rc = make_plan(run, err);
    if (!rc && run->coordinator.rank == 0)
        rc = cb_run_output_open(&run->output, &run->result, err);
    rc = cb_group_agree(run->coordinator.world, rc, err);
    if (rc)
        return rc;
    *measured = true;
    if (run->devices.gpus)
        cb_nccl_log_open(&run->nccl_log);
    rc = measure(run, transport, err);
    if (rc && run->coordinator.rank == 0)
        find_missing(run, err); /* while all are there to answer */
    struct cb_error ignored;
    int used = run->devices.gpus ? cb_used_collect(&run->coordinator, &run->nccl_log, &run->result,
                                                   rc ? &ignored : err)
                                 : CB_OK;
    return rc ? rc : used;
}

static int print_report(const struct run *run, struct cb_error *err)
{
    struct cb_strbuf text = {0};
    const struct cb_report_options options = {.result_path = run->output.path,
                                              .color = cb_cli_color()};
    int rc = cb_report_render(&run->result, run->options.format, &options, &text, err);
    if (!rc)
        rc = cb_cli_write(NULL, &text, err);
    cb_strbuf_fini(&text);
    return rc;
}

/* Rank 0 alone: verdict, result.json, report. Returns the exit status. A fault that ended the
 * measuring does not lose what came before it. */
static int conclude(struct run *run, const struct cb_error *fault)
{
    struct cb_result *result = &run->result;
    struct cb_error err;
    cb_clock_utc(result->finished_at, sizeof(result->finished_at));
    if (fault->code) {
        result->complete = false;
        snprintf(result->stopped_by, sizeof(result->stopped_by), "fault");
        cb_result_warn(result, "fault", fault->hint, "%s%s%s", fault->what,
                       fault->detail[0] ? ": " : "", fault->detail);
    }
    int rc = cb_judge_result(result, &run->options.workload.workload, &err);
    if (!rc)
        rc = cb_run_output_finish(&run->output, result, &err);
    struct cb_error unsaved = {0};
    if (rc)
        unsaved = err;
    /* The report comes even when the file could not be written: it is then all there is. */
    int printed = print_report(run, &err);
    if (fault->code && strcmp(fault->what, unsaved.what) != 0) /* a full disk is met twice */
        cb_cli_fail("run", fault);
    if (unsaved.code)
        return cb_cli_fail("run", &unsaved);
    if (printed)
        return cb_cli_fail("run", &err);
    int status = cb_judge_exit_status(result);
    bool is_forgiven = run->options.exit_zero && !cb_judge_has_wrong_data(result);
    return status == 1 && is_forgiven ? 0 : status;
}

int cb_cmd_run(int argc, char **argv)
{
    struct run *run = calloc(1, sizeof(*run));
    struct cb_error err;
    cb_error_clear(&err);
    if (!run) {
        cb_fail(&err, CB_E_MEMORY, "no memory");
        return cb_cli_fail("run", &err);
    }
    int status = EXIT_UNMEASURED;
    cb_run_output_init(&run->output, run->options.out, &run->plan, &run->options.workload.workload);
    cb_result_init(&run->result);
    run->nccl_log.file = -1;
    int rc = cb_run_options_parse(argc, argv, &run->options, &err);
    if (rc) {
        status = rc == CB_CLI_SERVED ? 0 : cb_cli_fail("run", &err);
        goto free_run;
    }
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is to be reported like a full disk */
    const struct cb_stop_hooks hooks = {
        .on_signal = on_signal, .on_hang = on_hang, .on_tick = on_tick, .arg = run};
    rc = cb_environment_prepare(cb_topo_allowed_cpus(), &run->changes, &err);
    if (!rc)
        rc = cb_stop_init(&run->stop, run->options.hang_limit_s, &hooks, &err);
    if (rc) {
        status = cb_cli_fail("run", &err);
        goto free_run;
    }
    run->is_first = cb_cli_is_first();
    rc = cb_coordinator_start(&run->coordinator, &err);
    if (rc) {
        status = cb_cli_fail("run", &err);
        goto stop_thread;
    }
    bool measured = false;
    run_job(run, &measured, &err);
    if (!measured)
        status = run->is_first ? cb_cli_fail("run", &err) : cb_code_exit_status(err.code);
    else
        status = run->coordinator.rank == 0 ? conclude(run, &err) : 0;
    cb_coordinator_stop(&run->coordinator);

stop_thread:
    cb_stop_fini(&run->stop);
free_run:
    cb_roll_call_close(&run->roll_call);
    cb_nccl_log_close(&run->nccl_log);
    cb_gpu_watch_close(&run->watch);
    cb_plan_fini(&run->plan);
    cb_result_fini(&run->result);
    cb_run_output_fini(&run->output);
    free(run);
    return status;
}

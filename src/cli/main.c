#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/cli.h"

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
};

#ifndef COMMBOUND_MEASURE
static const struct argp no_run_argp = {
    .doc = "Measure this cluster. This build cannot: it was built without MPI."};

/* Stands in for the command of a build with MPI. */
static int refuse_run(int argc, char **argv)
{
    struct cb_error err;
    (void)argc;
    cb_fail(&err, CB_E_UNSUPPORTED, "this build cannot measure (built without MPI)");
    cb_error_set_hint(&err,
                      "install libopenmpi-dev and build again; judge, predict, report and topo "
                      "--from work");
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        struct cb_cli_input input = {0};
        return cb_cli_parse(&no_run_argp, argc, argv, &input, &err) < 0 ? cb_cli_fail("run", &err)
                                                                        : 0;
    }
    return cb_cli_fail("run", &err);
}
#endif

static const struct command commands[] = {
#ifdef COMMBOUND_MEASURE
    {"run", cb_cmd_run},
#else
    {"run", refuse_run},
#endif
    {"judge", cb_cmd_judge}, {"predict", cb_cmd_predict}, {"report", cb_cmd_report},
    {"topo", cb_cmd_topo},   {"doctor", cb_cmd_doctor},
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static const char doc[] =
    "Is training on this cluster communication-bound?\n"
    "\n"
    "  mpirun -np 2 commbound run                     measure here, and judge\n"
    "  mpirun --hostfile hosts commbound run --parameters 7B --tokens 4096\n"
    "  commbound judge --bandwidth 12.5GB/s --parameters 7B --step-time 3s\n"
    "\n"
    "Commands (commbound COMMAND --help says more):\n"
    "  run      measure collectives, links and kernels; judge; write result.json\n"
    "  judge    judge on paper, or a result file with another workload\n"
    "  predict  the same job on more of the nodes that were measured\n"
    "  report   render a result file again: text, json or csv\n"
    "  topo     what is connected to what here, or in a map from elsewhere\n"
    "  doctor   say what is found here and what is missing\n"
    "\v"
    "Exit status: 0 no bottleneck and every check met, 1 bottleneck or a check not met, 2 wrong "
    "usage or bad input file, 3 could not measure, 4 too noisy to tell, 5 stopped early (what was "
    "measured is saved).";

static const struct argp main_argp = {.args_doc = "COMMAND", .doc = doc};

static int fail_command(const char *name)
{
    struct cb_error err;
    const char *names[COMMAND_COUNT + 1];
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i].name;
    names[COMMAND_COUNT] = "help";
    cb_fail(&err, CB_E_USAGE, "unknown command '%.60s'", name);
    const char *nearest = cb_suggest(name, names, COMMAND_COUNT + 1);
    if (nearest)
        cb_error_set_hint(&err, "did you mean '%s'? (see commbound --help)", nearest);
    else
        cb_error_set_hint(&err, "see commbound --help");
    return cb_cli_fail(NULL, &err);
}

/* The options before any command: only help and version. */
static int serve_main(int argc, char **argv)
{
    struct cb_error err;
    struct cb_cli_input input = {0};
    char nameless[] = "";
    argv[0] = nameless;
    int rc = cb_cli_parse(&main_argp, argc, argv, &input, &err);
    return rc < 0 ? cb_cli_fail(NULL, &err) : 0;
}

static int run_command(int argc, char **argv)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(argv[0], commands[i].name) == 0)
            return commands[i].run(argc, argv);
    return fail_command(argv[0]);
}

int main(int argc, char **argv)
{
    char help_option[] = "--help";
    if (argc < 2) {
        struct cb_error err;
        cb_fail(&err, CB_E_USAGE, "no command given");
        cb_error_set_hint(&err,
                          "run, judge, predict, report, topo or doctor (see commbound --help)");
        return cb_cli_fail(NULL, &err);
    }
    if (strcmp(argv[1], "help") == 0) {
        if (argc > 2) {
            char *request[] = {argv[2], help_option, NULL};
            return run_command(2, request);
        }
        argv[1] = help_option;
    }
    if (argv[1][0] == '-')
        return serve_main(2, argv);
    return run_command(argc - 1, argv + 1);
}

/* The options of `commbound run`. */
#ifndef CB_CLI_RUN_OPTIONS_H
#define CB_CLI_RUN_OPTIONS_H

#include "cli/workload_options.h"
#include "measure/plan.h"
#include "report/report.h"
#include "result/result.h"

struct cb_run_options {
    struct cb_cli_input base;
    struct cb_workload_input workload;
    struct cb_plan_request request; /* what the user chose; ranks and nodes are not filled in */
    char transport[16];             /* "auto", "nccl", "mpi" */
    char nccl_library[512];         /* empty: search */
    bool graph, registers;          /* of NCCL */
    double time_box_s, time_limit_s, target_relative, hang_limit_s;
    uint64_t seed;
    bool binds;     /* ranks that the launcher left unbound */
    char out[4096]; /* folder of result.json */
    enum cb_report_format format;
    bool exit_zero, quiet;
};

/* Parses the command line of `run` (argv[0] is "run"); see cb_cli_parse for what it returns. */
int cb_run_options_parse(int argc, char **argv, struct cb_run_options *options,
                         struct cb_error *err);

/* Records the effective values in result->options. Returns 0 or CB_E_MEMORY. */
int cb_run_options_record(const struct cb_run_options *options, struct cb_result *result);

#endif

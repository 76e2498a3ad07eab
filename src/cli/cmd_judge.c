#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/vec.h"
#include "cli/build.h"
#include "cli/cli.h"
#include "cli/list.h"
#include "cli/offer_options.h"
#include "cli/report_options.h"
#include "cli/workload_options.h"
#include "import/import.h"
#include "judge/judge.h"
#include "judge/offer.h"
#include "result/json.h"

enum { KEY_BANDWIDTH = 0x1001, KEY_EXIT_ZERO, KEY_LIST, KEY_NCCL_TESTS };

#define LOG_LIMIT_BYTES ((size_t)256 << 20)

struct judge_input {
    struct cb_cli_input base;
    struct cb_workload_input workload;
    struct cb_offer_input offer;
    struct cb_report_input report;
    CB_VEC(const char *) files; /* as they were given: one result, or logs */
    bool reads_logs;
    const char *result_path; /* NULL: on paper */
    bool exit_zero;
    int list; /* enum cb_list; negative: none */
};

static const struct argp_option options[] = {
    {.name = "bandwidth",
     .key = KEY_BANDWIDTH,
     .arg = "RATE",
     .doc = "Bandwidth of the interconnect, with its unit: 12.5GB/s (bytes), 100Gb/s (bits) "
            "(default: the result's measured bus bandwidth)"},
    {.name = "nccl-tests",
     .key = KEY_NCCL_TESTS,
     .arg = "LOG",
     .doc = "Judge by what nccl-tests or rccl-tests printed (or wrote with -J), or by an output of "
            "OSU or IMB; more logs may follow; - is standard input"},
    {.name = "exit-zero",
     .key = KEY_EXIT_ZERO,
     .doc = "Exit with 0 whatever the verdict, if there is a report"},
    {.name = "list",
     .key = KEY_LIST,
     .arg = "WHAT",
     .doc = "Print the gpus, links or models that are known, with their sources, and exit"},
    {0},
};

static error_t add_file(struct judge_input *input, const char *path)
{
    const char **added = cb_vec_add(&input->files);
    if (!added) {
        cb_fail(&input->base.error, CB_E_MEMORY, "no memory for the command line");
        return ENOMEM;
    }
    *added = path;
    return 0;
}

static error_t parse_list(struct judge_input *input, const char *text)
{
    struct cb_error err;
    input->list = cb_list_parse(text);
    if (input->list >= 0)
        return 0;
    cb_fail(&err, CB_E_USAGE, "there is no such list");
    cb_error_set_hint(&err, "one of gpus, links, models");
    return cb_cli_reject(input, "--list", text, &err);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct judge_input *input = state->input;
    struct cb_error err;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &input->workload;
        state->child_inputs[1] = &input->offer;
        state->child_inputs[2] = &input->report;
        return 0;
    case KEY_BANDWIDTH:
        if (cb_parse_bandwidth(argument, &input->workload.workload.bandwidth_bytes_per_s, &err))
            return cb_cli_reject(input, "--bandwidth", argument, &err);
        return 0;
    case KEY_EXIT_ZERO:
        input->exit_zero = true;
        return 0;
    case KEY_LIST:
        return parse_list(input, argument);
    case KEY_NCCL_TESTS:
        input->reads_logs = true;
        return add_file(input, argument);
    case ARGP_KEY_ARG:
        return !input->reads_logs && input->files.count > 0 ? ARGP_ERR_UNKNOWN
                                                            : add_file(input, argument);
    case ARGP_KEY_END:
        if (!input->reads_logs && input->files.count > 0)
            input->result_path = input->files.items[0];
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Judge on paper, or a result file with another workload.\n"
    "\n"
    "  commbound judge --bandwidth 12.5GB/s --parameters 7B --step-time 3s\n"
    "  commbound judge --bandwidth 1Gb/s --parameters 1B --steps 9k --total-time 9d\n"
    "  commbound judge result.json --parameters 13B --tokens 2048\n"
    "  commbound judge result.json --model llama-8b --scheme fsdp --micro-batch 2\n"
    "  commbound judge --gpu A100-SXM4-80GB --gpus-per-node 8 --nodes 2 --inter roce-100G --model "
    "llama-7b\n"
    "  commbound judge --nccl-tests all_reduce.log --parameters 7B --step-time 3s\n"
    "\n"
    "Communication is a bottleneck when parameters x 4 bytes x communications / bandwidth takes "
    "more than 20 % of the training time. On paper --bandwidth, --parameters and one time are "
    "needed; RESULT, the result.json of a run, gives what is not stated. The exit status is 1 for "
    "a bottleneck.";

static const struct argp_child children[] = {
    {.argp = &cb_workload_argp}, {.argp = &cb_offer_argp}, {.argp = &cb_report_argp}, {0}};
static const struct argp argp = {.options = options,
                                 .parser = parse,
                                 .args_doc = "[RESULT]\n--nccl-tests LOG [LOG...]",
                                 .doc = doc,
                                 .children = children};

/* On paper every part must be stated: names the ones that are not. */
static int check_paper(const struct cb_workload *workload, struct cb_error *err)
{
    struct cb_strbuf missing = {0};
    int rc = 0;
    if (!(workload->bandwidth_bytes_per_s > 0))
        cb_strbuf_add(&missing, "--bandwidth");
    if (!(workload->job.parameters > 0))
        cb_strbuf_addf(&missing, "%s--parameters", missing.length_bytes ? ", " : "");
    if (workload->span == CB_SPAN_COUNT)
        cb_strbuf_addf(&missing, "%sone of --step-time, --compute-time, --total-time",
                       missing.length_bytes ? ", " : "");
    if (missing.length_bytes > 0) {
        rc = cb_fail(err, CB_E_USAGE, "on paper this needs %s as well", cb_strbuf_get(&missing));
        cb_error_set_hint(err,
                          workload->span == CB_SPAN_COUNT && workload->job.tokens_per_step > 0
                              ? "--tokens needs a GEMM rate: a result file's, or an offer's (--gpu)"
                              : "or give a result file to take them from");
    }
    cb_strbuf_fini(&missing);
    return rc;
}

/* What cannot stand beside an offer, which says all of it. */
static int check_offer(const struct judge_input *input, struct cb_error *err)
{
    const char *other = input->reads_logs                                    ? "--nccl-tests"
                        : input->result_path                                 ? "a result file"
                        : input->workload.workload.bandwidth_bytes_per_s > 0 ? "--bandwidth"
                        : input->workload.nominal_link                       ? "--nominal-link"
                        : input->workload.workload.nominal_bytes_per_s > 0   ? "--nominal-bandwidth"
                                                                             : NULL;
    if (!other)
        return 0;
    cb_fail(err, CB_E_USAGE, "an offer (--gpu, --inter, ...) and %s exclude each other", other);
    cb_error_set_hint(err, "an offer is judged by its links alone");
    return CB_E_USAGE;
}

/* What this program is: of a result that it makes rather than reads. */
static void sign(struct cb_result *result)
{
    snprintf(result->tool_version, sizeof(result->tool_version), "%s", CB_VERSION);
    snprintf(result->build, sizeof(result->build), "%s", CB_BUILD);
    result->complete = true;
}

/* Fills the result with a judgement on paper. */
static int judge_paper(const struct judge_input *input, struct cb_result *result,
                       struct cb_error *err)
{
    struct cb_offer offer;
    struct cb_sheet_network network;
    const struct cb_workload *workload = &input->workload.workload;
    sign(result);
    if (!cb_offer_is_stated(&input->offer.terms)) {
        int rc = check_paper(workload, err);
        return rc ? rc : cb_judge_result(result, workload, err);
    }
    int rc = cb_offer_resolve(&input->offer.terms, &offer, &network, err);
    return rc ? rc : cb_judge_offer(&offer, &network.network, workload, result, err);
}

static int judge_result(const struct judge_input *input, struct cb_result *result,
                        struct cb_error *err)
{
    int rc = cb_result_load(input->result_path, result, err);
    return rc ? rc : cb_judge_result(result, &input->workload.workload, err);
}

static int read_logs(const struct judge_input *input, cb_import_logs *logs, struct cb_error *err)
{
    for (size_t i = 0; i < input->files.count; i++) {
        char *text = NULL;
        size_t length_bytes = 0;
        int rc = cb_cli_read(input->files.items[i], LOG_LIMIT_BYTES, &text, &length_bytes, err);
        if (rc == 0)
            rc = cb_import_read(input->files.items[i], text, length_bytes, logs, err);
        free(text);
        if (rc)
            return rc;
    }
    return 0;
}

/* Fills the result with other people's measurements and what they mean. */
static int judge_logs(const struct judge_input *input, struct cb_result *result,
                      struct cb_error *err)
{
    cb_import_logs logs = {0};
    sign(result);
    int rc = read_logs(input, &logs, err);
    if (rc == 0)
        rc = cb_import_add(result, &logs, err);
    cb_import_logs_fini(&logs);
    return rc ? rc : cb_judge_result(result, &input->workload.workload, err);
}

/* The text report of a judgement is its verdict: the rows stay with `commbound report`. */
static void keep_verdict(struct cb_result *result)
{
    cb_vec_fini(&result->collectives);
    cb_vec_fini(&result->pairs);
    cb_vec_fini(&result->kernels);
    cb_vec_fini(&result->fits);
}

static int judge(const struct judge_input *input, int *status, struct cb_error *err)
{
    struct cb_result result;
    cb_result_init(&result);
    int rc = cb_offer_is_stated(&input->offer.terms) ? check_offer(input, err) : 0;
    if (rc == 0)
        rc = input->reads_logs    ? judge_logs(input, &result, err)
             : input->result_path ? judge_result(input, &result, err)
                                  : judge_paper(input, &result, err);
    if (rc)
        goto out;
    *status = cb_judge_exit_status(&result);
    if (input->report.format == CB_REPORT_TEXT)
        keep_verdict(&result);
    rc = cb_cli_report(&result, &input->report, input->result_path, err);
out:
    cb_result_fini(&result);
    return rc;
}

int cb_cmd_judge(int argc, char **argv)
{
    struct cb_error err;
    struct judge_input input = {.list = -1};
    int status = 0;
    cb_workload_input_init(&input.workload);
    cb_offer_input_init(&input.offer);
    cb_report_input_init(&input.report, CB_REPORT_FORMAT_COUNT);
    int rc = cb_cli_parse(&argp, argc, argv, &input, &err);
    if (rc == CB_CLI_SERVED)
        return 0;
    if (rc == 0 && input.list < 0 && input.report.format == CB_REPORT_CSV) {
        rc = cb_fail(&err, CB_E_USAGE, "--format: 'csv' is not a format of this command");
        cb_error_set_hint(&err, "one of text, json; csv is for --list");
    }
    if (rc == 0 && input.list >= 0) {
        cb_vec_fini(&input.files);
        rc = cb_list_write((enum cb_list)input.list, &input.report, &err);
        return rc ? cb_cli_fail("judge", &err) : 0;
    }
    if (rc == 0)
        rc = judge(&input, &status, &err);
    cb_vec_fini(&input.files);
    if (rc)
        return cb_cli_fail("judge", &err);
    return input.exit_zero ? 0 : status;
}

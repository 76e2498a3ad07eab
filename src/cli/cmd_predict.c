/* `commbound predict`: the same job on more of the same. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/vec.h"
#include "cli/build.h"
#include "cli/cli.h"
#include "cli/report_options.h"
#include "cli/workload_options.h"
#include "judge/predict.h"
#include "report/forecast.h"
#include "result/json.h"

enum { KEY_GPUS = 0x4001, KEY_GPUS_PER_NODE, KEY_OVERSUBSCRIPTION, KEY_POD_NODES };

struct predict_input {
    struct cb_cli_input base;
    struct cb_workload_input workload;
    struct cb_report_input report;
    struct cb_predict_request request;
    CB_VEC(int) gpus;
    CB_VEC(const char *) paths; /* of the results */
};

static const struct argp_option options[] = {
    {.name = "gpus",
     .key = KEY_GPUS,
     .arg = "LIST",
     .doc = "Numbers of GPUs: 8,64,1024; each whole nodes, or a part of one (default: 1, 4, 16 and "
            "64 times what was measured)"},
    {.name = "gpus-per-node",
     .key = KEY_GPUS_PER_NODE,
     .arg = "N",
     .doc = "GPUs of a node there (default: as measured)"},
    {.name = "oversubscription",
     .key = KEY_OVERSUBSCRIPTION,
     .arg = "RATIO",
     .doc = "Of the fabric above a pod: 4 or 4:1 (default 1, nothing blocks)"},
    {.name = "pod-nodes",
     .key = KEY_POD_NODES,
     .arg = "N",
     .doc = "Nodes of a pod, below which nothing blocks (default: as many as were measured)"},
    {0},
};

static error_t add_gpus(struct predict_input *input, const char *text)
{
    char item[32];
    const char *rest = text;
    do {
        size_t length = strcspn(rest, ",");
        long gpus;
        struct cb_error err;
        snprintf(item, sizeof(item), "%.*s", length < INT_MAX ? (int)length : INT_MAX, rest);
        if (cb_parse_integer(item, 1, CB_PREDICT_MAX_GPUS, &gpus, &err))
            return cb_cli_reject(input, "--gpus", text, &err);
        int *added = cb_vec_add(&input->gpus);
        if (!added)
            return ENOMEM;
        *added = (int)gpus;
        rest += length + (rest[length] == ',');
        if (*rest == '\0' && rest[-1] != ',')
            return 0;
    } while (true);
}

static error_t set_integer(struct predict_input *input, const char *option, const char *text,
                           int *value)
{
    long number;
    struct cb_error err;
    if (cb_parse_integer(text, 1, CB_PREDICT_MAX_GPUS, &number, &err))
        return cb_cli_reject(input, option, text, &err);
    *value = (int)number;
    return 0;
}

/* "4" or "4:1". */
static error_t set_oversubscription(struct predict_input *input, const char *text)
{
    char number[32];
    struct cb_error err;
    size_t length = strlen(text);
    if (length > 2 && strcmp(text + length - 2, ":1") == 0)
        length -= 2;
    snprintf(number, sizeof(number), "%.*s", length < INT_MAX ? (int)length : INT_MAX, text);
    double ratio;
    int rc = cb_parse_number(number, &ratio, &err);
    if (rc == 0 && !(ratio >= 1 && ratio <= 1000))
        rc = cb_fail(&err, CB_E_USAGE, "'%.40s' is not between 1 and 1000", text);
    if (rc)
        return cb_cli_reject(input, "--oversubscription", text, &err);
    input->request.fabric.oversubscription = ratio;
    return 0;
}

static error_t add_path(struct predict_input *input, const char *path)
{
    const char **added = cb_vec_add(&input->paths);
    if (!added)
        return ENOMEM;
    *added = path;
    return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct predict_input *input = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &input->workload;
        state->child_inputs[1] = &input->report;
        return 0;
    case KEY_GPUS:
        return add_gpus(input, argument);
    case KEY_GPUS_PER_NODE:
        return set_integer(input, "--gpus-per-node", argument, &input->request.gpus_per_node);
    case KEY_OVERSUBSCRIPTION:
        return set_oversubscription(input, argument);
    case KEY_POD_NODES:
        return set_integer(input, "--pod-nodes", argument, &input->request.fabric.pod_nodes);
    case ARGP_KEY_ARG:
        return add_path(input, argument);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Predict the same training on more of the nodes that were measured.\n"
    "\n"
    "  commbound predict result.json --gpus 8,64,1024,16384\n"
    "  commbound predict result.json --gpus 512 --parameters 13B --tokens 4096\n"
    "  commbound predict two/result.json four/result.json eight/result.json --gpus 1024\n"
    "  commbound predict result.json --gpus 1024 --oversubscription 4 --pod-nodes 32\n"
    "\n"
    "RESULT is the result.json of a run; several, of the same nodes in different numbers, tell how "
    "latency grows, which one takes from published laws: log2(nodes) for all_reduce, ranks for "
    "gathers. Between measured sizes figures are interpolated, beyond them fitted. Each row says "
    "how far it is from what was measured. No MPI and no GPU is started.";

static const struct argp_child children[] = {
    {.argp = &cb_workload_argp}, {.argp = &cb_report_argp}, {0}};
static const struct argp argp = {
    .options = options, .parser = parse, .args_doc = "RESULT...", .doc = doc, .children = children};

static int write_forecast(const struct predict_input *input, const struct cb_forecast *forecast,
                          struct cb_error *err)
{
    bool to_stdout = !input->report.path || strcmp(input->report.path, "-") == 0;
    struct cb_report_options how = {.result_path = input->paths.items[0],
                                    .color = to_stdout && cb_cli_color()};
    struct cb_strbuf text = {0};
    int rc = cb_forecast_render(forecast, input->report.format, &how, &text, err);
    if (rc == 0)
        rc = cb_cli_write(input->report.path, &text, err);
    cb_strbuf_fini(&text);
    return rc;
}

static int load(const struct predict_input *input, struct cb_result *results,
                const struct cb_result **borrowed, struct cb_error *err)
{
    int rc = 0;
    for (size_t i = 0; i < input->paths.count; i++) {
        cb_result_init(&results[i]);
        borrowed[i] = &results[i];
    }
    for (size_t i = 0; i < input->paths.count && rc == 0; i++)
        rc = cb_result_load(input->paths.items[i], &results[i], err);
    return rc;
}

static int predict(struct predict_input *input, struct cb_error *err)
{
    size_t count = input->paths.count;
    struct cb_forecast forecast;
    if (count == 0) {
        cb_fail(err, CB_E_USAGE, "no result file given");
        cb_error_set_hint(err, "commbound predict RESULT --gpus 8,64,1024");
        return CB_E_USAGE;
    }
    struct cb_result *results = calloc(count, sizeof(*results));
    const struct cb_result **borrowed = calloc(count, sizeof(*borrowed));
    cb_forecast_init(&forecast);
    int rc = results && borrowed ? load(input, results, borrowed, err)
                                 : cb_fail(err, CB_E_MEMORY, "no memory for the results");
    if (rc)
        goto out;
    input->request.gpus = input->gpus.items;
    input->request.count = input->gpus.count;
    rc = cb_predict(borrowed, count, &input->workload.workload, &input->request, &forecast, err);
    if (rc)
        goto out;
    snprintf(forecast.tool_version, sizeof(forecast.tool_version), "%s", CB_VERSION);
    rc = write_forecast(input, &forecast, err);
out:
    cb_forecast_fini(&forecast);
    for (size_t i = 0; results && i < count; i++)
        cb_result_fini(&results[i]);
    free(borrowed);
    free(results);
    return rc;
}

int cb_cmd_predict(int argc, char **argv)
{
    struct cb_error err;
    struct predict_input input = {0};
    cb_workload_input_init(&input.workload);
    cb_report_input_init(&input.report, CB_REPORT_CSV);
    int rc = cb_cli_parse(&argp, argc, argv, &input, &err);
    if (rc == CB_CLI_GO_ON)
        rc = predict(&input, &err);
    cb_vec_fini(&input.gpus);
    cb_vec_fini(&input.paths);
    return rc < 0 ? cb_cli_fail("predict", &err) : 0;
}

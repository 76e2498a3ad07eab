#include <string.h>

#include "cli/cli.h"
#include "cli/report_options.h"
#include "result/json.h"

struct report_input {
    struct cb_cli_input base;
    struct cb_report_input report;
    const char *result_path;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct report_input *input = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &input->report;
        return 0;
    case ARGP_KEY_ARG:
        if (input->result_path)
            return ARGP_ERR_UNKNOWN;
        input->result_path = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Render a result file again.\n"
    "\n"
    "  commbound report result.json\n"
    "  commbound report result.json --format csv > rows.csv\n"
    "  commbound report result.json --format json -o copy.json\n"
    "\n"
    "RESULT is the result.json of a run. Nothing is measured and nothing is judged anew: "
    "the report is the one that the run would have printed.";

static const struct argp_child children[] = {{.argp = &cb_report_argp}, {0}};
static const struct argp argp = {
    .parser = parse, .args_doc = "RESULT", .doc = doc, .children = children};

static int render(const struct report_input *input, struct cb_error *err)
{
    struct cb_result result;
    cb_result_init(&result);
    int rc = cb_result_load(input->result_path, &result, err);
    if (rc == 0)
        rc = cb_cli_report(&result, &input->report, input->result_path, err);
    cb_result_fini(&result);
    return rc;
}

int cb_cmd_report(int argc, char **argv)
{
    struct cb_error err;
    struct report_input input = {0};
    cb_report_input_init(&input.report, CB_REPORT_FORMAT_COUNT);
    int rc = cb_cli_parse(&argp, argc, argv, &input, &err);
    if (rc == CB_CLI_SERVED)
        return 0;
    if (rc == 0 && !input.result_path) {
        rc = cb_fail(&err, CB_E_USAGE, "no result file given");
        cb_error_set_hint(&err, "commbound report RESULT (see commbound report --help)");
    }
    if (rc == 0)
        rc = render(&input, &err);
    return rc ? cb_cli_fail("report", &err) : 0;
}

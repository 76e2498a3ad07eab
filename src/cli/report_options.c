#include "cli/report_options.h"

#include <errno.h>
#include <string.h>

enum { KEY_FORMAT = 0x3001, KEY_OUTPUT = 'o' };

static const struct argp_option options[] = {
    {.doc = "The report:", .group = 20},
    {.name = "format",
     .key = KEY_FORMAT,
     .arg = "FORMAT",
     .doc = "text, json or csv (default text; of judge, csv for --list alone)"},
    {.name = "output",
     .key = KEY_OUTPUT,
     .arg = "FILE",
     .doc = "Where to write it (default -, standard output)"},
    {0},
};

static error_t parse_format(struct cb_report_input *input, const char *text)
{
    int format = cb_report_format_parse(text);
    if (format >= 0 && format < (int)input->format_end) {
        input->format = (enum cb_report_format)format;
        return 0;
    }
    struct cb_strbuf forms = {0};
    for (int i = 0; i < (int)input->format_end; i++)
        cb_strbuf_addf(&forms, "%s%s", i ? ", " : "",
                       cb_report_format_name((enum cb_report_format)i));
    struct cb_error err;
    cb_fail(&err, CB_E_USAGE, "'%.40s' is not a format of this command", text);
    cb_error_set_hint(&err, "one of %s", cb_strbuf_get(&forms));
    cb_strbuf_fini(&forms);
    return cb_cli_reject(input, "--format", text, &err);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct cb_report_input *input = state->input;
    switch (key) {
    case KEY_FORMAT:
        return parse_format(input, argument);
    case KEY_OUTPUT:
        if (*argument == '\0') {
            cb_fail(&input->base.error, CB_E_USAGE, "--output: the file name is empty");
            return EINVAL;
        }
        input->path = argument;
        return 0;
    case ARGP_KEY_ERROR:
        cb_cli_pass_error(state, &input->base);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cb_report_argp = {.options = options, .parser = parse};

void cb_report_input_init(struct cb_report_input *input, enum cb_report_format format_end)
{
    memset(input, 0, sizeof(*input));
    cb_error_clear(&input->base.error);
    input->format = CB_REPORT_TEXT;
    input->format_end = format_end;
}

int cb_cli_report(const struct cb_result *result, const struct cb_report_input *input,
                  const char *result_path, struct cb_error *err)
{
    bool to_stdout = !input->path || strcmp(input->path, "-") == 0;
    struct cb_report_options options_of_report = {.result_path = result_path,
                                                  .color = to_stdout && cb_cli_color()};
    struct cb_strbuf text = {0};
    int rc = cb_report_render(result, input->format, &options_of_report, &text, err);
    if (rc == 0)
        rc = cb_cli_write(input->path, &text, err);
    cb_strbuf_fini(&text);
    return rc;
}

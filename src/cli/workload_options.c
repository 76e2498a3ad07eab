#include "cli/workload_options.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/units.h"

enum {
    KEY_PARAMETERS = 0x2001,
    KEY_COMMUNICATIONS,
    KEY_TOTAL_TIME,
    KEY_STEP_TIME,
    KEY_COMPUTE_TIME,
    KEY_TOKENS,
    KEY_THRESHOLD,
    KEY_NOMINAL_BANDWIDTH,
};

static const struct argp_option options[] = {
    {.doc = "The training job:", .group = 10},
    {.name = "parameters",
     .key = KEY_PARAMETERS,
     .arg = "COUNT",
     .doc = "Trained parameters: 7e9, 7B, 125M (default: a table of standard models, 7B judged)"},
    {.name = "communications",
     .key = KEY_COMMUNICATIONS,
     .arg = "COUNT",
     .doc = "Synchronisations of the whole model over the training; optimizer steps in plain data "
            "parallelism (default 1: per step)"},
    {.name = "steps", .flags = OPTION_ALIAS},
    {.name = "total-time",
     .key = KEY_TOTAL_TIME,
     .arg = "TIME",
     .doc = "Time of the whole training, communication included: 24h, 3600s"},
    {.name = "step-time",
     .key = KEY_STEP_TIME,
     .arg = "TIME",
     .doc = "Time of one whole step, communication included: 3.5s, 800ms"},
    {.name = "compute-time",
     .key = KEY_COMPUTE_TIME,
     .arg = "TIME",
     .doc = "Time of one step without its communication"},
    {.name = "tokens",
     .key = KEY_TOKENS,
     .arg = "COUNT",
     .doc = "Tokens per rank and optimizer step; the compute time then follows from the measured "
            "GEMM rate"},
    {.name = "threshold",
     .key = KEY_THRESHOLD,
     .arg = "SHARE",
     .doc = "Share of the training time above which communication is a bottleneck (default 20%)"},
    {.name = "nominal-bandwidth",
     .key = KEY_NOMINAL_BANDWIDTH,
     .arg = "RATE",
     .doc = "What the offer advertises between nodes, one way: 100Gb/s or 12.5GB/s (default: the "
            "interface's own speed)"},
    {0},
};

/* Where an option's value goes, and how it is read. */
struct target {
    int key;
    const char *option;
    int (*parse)(const char *text, double *value, struct cb_error *err);
    size_t offset;
    enum cb_span span; /* CB_SPAN_COUNT for what is no time */
};

#define FIELD(member) offsetof(struct cb_workload, member)

static const struct target targets[] = {
    {KEY_PARAMETERS, "--parameters", cb_parse_count, FIELD(parameters), CB_SPAN_COUNT},
    {KEY_COMMUNICATIONS, "--communications", cb_parse_count, FIELD(communications), CB_SPAN_COUNT},
    {KEY_TOTAL_TIME, "--total-time", cb_parse_duration, FIELD(time_s), CB_SPAN_TOTAL},
    {KEY_STEP_TIME, "--step-time", cb_parse_duration, FIELD(time_s), CB_SPAN_STEP},
    {KEY_COMPUTE_TIME, "--compute-time", cb_parse_duration, FIELD(time_s), CB_SPAN_COMPUTE},
    {KEY_TOKENS, "--tokens", cb_parse_count, FIELD(tokens_per_step), CB_SPAN_COUNT},
    {KEY_THRESHOLD, "--threshold", cb_parse_share, FIELD(threshold), CB_SPAN_COUNT},
    {KEY_NOMINAL_BANDWIDTH, "--nominal-bandwidth", cb_parse_bandwidth, FIELD(nominal_bytes_per_s),
     CB_SPAN_COUNT},
};
#define TARGET_COUNT (sizeof(targets) / sizeof(targets[0]))

static const char *span_option(enum cb_span span)
{
    for (size_t i = 0; i < TARGET_COUNT; i++)
        if (targets[i].span == span)
            return targets[i].option;
    return "";
}

static error_t store(struct cb_workload_input *input, const struct target *target, const char *text)
{
    struct cb_error err;
    double value;
    if (target->parse(text, &value, &err))
        return cb_cli_reject(input, target->option, text, &err);
    enum cb_span stated = input->workload.span;
    if (target->span != CB_SPAN_COUNT) {
        if (stated != CB_SPAN_COUNT && stated != target->span) {
            cb_fail(&input->base.error, CB_E_USAGE, "%s and %s exclude each other",
                    span_option(stated), target->option);
            cb_error_set_hint(&input->base.error, "state one time");
            return EINVAL;
        }
        input->workload.span = target->span;
    }
    memcpy((char *)&input->workload + target->offset, &value, sizeof(value));
    return 0;
}

/* What no single option can see. */
static error_t check_whole(struct cb_workload_input *input)
{
    const struct cb_workload *workload = &input->workload;
    if (workload->span != CB_SPAN_COUNT && !(workload->parameters > 0)) {
        cb_fail(&input->base.error, CB_E_USAGE,
                "%s needs --parameters, the model it is the time of", span_option(workload->span));
        return EINVAL;
    }
    if (workload->span != CB_SPAN_TOTAL || workload->communications > 0)
        return 0;
    cb_fail(&input->base.error, CB_E_USAGE,
            "--total-time needs --communications, the synchronisations in that time");
    cb_error_set_hint(&input->base.error, "or state the time of one step with --step-time");
    return EINVAL;
}

static error_t parse_workload(int key, char *argument, struct argp_state *state)
{
    struct cb_workload_input *input = state->input;
    if (key == ARGP_KEY_END)
        return check_whole(input);
    if (key == ARGP_KEY_ERROR) {
        cb_cli_pass_error(state, &input->base);
        return 0;
    }
    for (size_t i = 0; i < TARGET_COUNT; i++)
        if (targets[i].key == key)
            return store(input, &targets[i], argument);
    return ARGP_ERR_UNKNOWN;
}

const struct argp cb_workload_argp = {.options = options, .parser = parse_workload};

void cb_workload_input_init(struct cb_workload_input *input)
{
    memset(input, 0, sizeof(*input));
    cb_error_clear(&input->base.error);
    input->workload.span = CB_SPAN_COUNT;
}

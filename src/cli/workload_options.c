#include "cli/workload_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "offer/offer.h"
#include "offer/workload.h"
#include "offer/workload_file.h"

enum { KEY_FILE = 0x2001, KEY_NOMINAL_BANDWIDTH, KEY_NOMINAL_LINK, KEY_FIRST_FIELD };

#define HEADING(text, number)                                                                      \
    {                                                                                              \
        .doc = (text), .group = (number)                                                           \
    }
#define X(id, option, kind, member, argument, text)                                                \
    {.name = (option), .key = KEY_FIRST_FIELD + CB_FIELD_##id, .arg = (argument), .doc = (text)},

/* clang-format off */
static const struct argp_option options[] = {
    HEADING("The training job:", 10),
    {.name = "workload", .key = KEY_FILE, .arg = "FILE",
     .doc = "Read the job from a YAML file, one 'option: value' a line; what the command line "
            "states overrides it"},
    CB_WORKLOAD_COUNT_FIELDS(X)
    {.name = "steps", .flags = OPTION_ALIAS},
    CB_WORKLOAD_TIME_FIELDS(X)
    {.name = "nominal-bandwidth", .key = KEY_NOMINAL_BANDWIDTH, .arg = "RATE",
     .doc = "What the offer advertises between nodes, one way: 100Gb/s or 12.5GB/s (default: the "
            "interface's own speed)"},
    {.name = "nominal-link", .key = KEY_NOMINAL_LINK, .arg = "NAME",
     .doc = "The link that the offer names between nodes, ib-ndr or roce-100g (judge --list links): "
            "its rate is the advertised one unless --nominal-bandwidth states it, and ports of "
            "another kind are a finding"},
    HEADING("Its model:", 11),
    CB_WORKLOAD_MODEL_FIELDS(X)
    HEADING("Its batch:", 12),
    CB_WORKLOAD_BATCH_FIELDS(X)
    HEADING("How it is spread over GPUs:", 13),
    CB_WORKLOAD_SPREAD_FIELDS(X)
    HEADING("Its precision:", 14),
    CB_WORKLOAD_PRECISION_FIELDS(X)
    HEADING("What it costs:", 15),
    CB_WORKLOAD_COST_FIELDS(X)
    {0},
};
/* clang-format on */
#undef X
#undef HEADING

static error_t take(struct cb_workload_input *input, enum cb_workload_field field, const char *text)
{
    char option[64];
    struct cb_error err;
    struct cb_workload_texts *line = &input->line;
    snprintf(option, sizeof(option), "--%s", cb_workload_field_name(field));
    if (cb_workload_set(&input->workload, field, text, CB_FROM_GIVEN, &err))
        return cb_cli_reject(input, option, text, &err);
    int rival = cb_workload_rival(&input->workload, field);
    if (rival >= 0) {
        cb_fail(&input->base.error, CB_E_USAGE, "--%s and %s exclude each other",
                cb_workload_field_name((enum cb_workload_field)rival), option);
        cb_error_set_hint(&input->base.error, "state one of them");
        return EINVAL;
    }
    if (strlen(text) >= sizeof(line->text[field])) {
        cb_fail(&err, CB_E_USAGE, "the value is too long");
        return cb_cli_reject(input, option, text, &err);
    }
    snprintf(line->text[field], sizeof(line->text[field]), "%s", text);
    line->stated[field] = true;
    return 0;
}

/* Ranks on hosts that do not have the file do without: only the first one judges. */
static int load(const struct cb_workload_input *input, struct cb_workload_texts *file, bool *loaded,
                struct cb_error *err)
{
    *loaded = false;
    if (!input->file)
        return 0;
    int rc = cb_workload_file_load(input->file, file, err);
    *loaded = rc == 0;
    return rc == CB_E_IO && !cb_cli_is_first() ? 0 : rc;
}

/* A port's kind as discovery names it; NULL for what it does not tell from others. */
static const char *port_kind(enum cb_link_family family)
{
    switch (family) {
    case CB_LINK_INFINIBAND:
        return "InfiniBand";
    case CB_LINK_ROCE:
        return "RoCE";
    case CB_LINK_ETHERNET:
        return "Ethernet";
    default:
        return NULL;
    }
}

static error_t take_nominal_link(struct cb_workload_input *input, const char *name)
{
    const struct cb_link_reference *link;
    struct cb_error *err = &input->base.error;
    if (cb_offer_find_link("--nominal-link", name, &link, err))
        return EINVAL;
    if (!cb_link_family_is_inter(link->family)) {
        cb_fail(err, CB_E_USAGE, "--nominal-link %s: it does not stand between nodes", link->name);
        cb_error_set_hint(err, "commbound judge --list links shows what does");
        return EINVAL;
    }
    input->nominal_link = link;
    return 0;
}

static error_t finish(struct cb_workload_input *input)
{
    if (input->nominal_link) {
        input->workload.nominal_kind = port_kind(input->nominal_link->family);
        if (!(input->workload.nominal_bytes_per_s > 0))
            input->workload.nominal_bytes_per_s = input->nominal_link->nominal_bytes_per_s;
    }
    struct cb_workload_texts file;
    bool loaded;
    if (load(input, &file, &loaded, &input->base.error))
        return EINVAL;
    return cb_workload_compose(&input->line, loaded ? &file : NULL, &input->workload,
                               &input->base.error)
               ? EINVAL
               : 0;
}

static error_t parse_workload(int key, char *argument, struct argp_state *state)
{
    struct cb_workload_input *input = state->input;
    struct cb_error err;
    if (key >= KEY_FIRST_FIELD && key < KEY_FIRST_FIELD + CB_FIELD_COUNT)
        return take(input, (enum cb_workload_field)(key - KEY_FIRST_FIELD), argument);
    switch (key) {
    case KEY_FILE:
        input->file = argument;
        return 0;
    case KEY_NOMINAL_BANDWIDTH:
        return cb_parse_bandwidth(argument, &input->workload.nominal_bytes_per_s, &err)
                   ? cb_cli_reject(input, "--nominal-bandwidth", argument, &err)
                   : 0;
    case KEY_NOMINAL_LINK:
        return take_nominal_link(input, argument);
    case ARGP_KEY_END:
        return finish(input);
    case ARGP_KEY_ERROR:
        cb_cli_pass_error(state, &input->base);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cb_workload_argp = {.options = options, .parser = parse_workload};

void cb_workload_input_init(struct cb_workload_input *input)
{
    memset(input, 0, sizeof(*input));
    cb_error_clear(&input->base.error);
    cb_workload_init(&input->workload);
}

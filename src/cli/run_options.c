#include "cli/run_options.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/suggest.h"
#include "base/units.h"
#include "transport/transport.h"

enum {
    KEY_TRANSPORT = 0x1001,
    KEY_NCCL_LIB,
    KEY_GRAPH,
    KEY_REGISTER,
    KEY_OPS,
    KEY_DTYPES,
    KEY_REDOPS,
    KEY_SCOPES,
    KEY_PLACEMENT,
    KEY_MIN_BYTES,
    KEY_MAX_BYTES,
    KEY_STEP_FACTOR,
    KEY_STEP_LIMIT,
    KEY_TIME_LIMIT,
    KEY_TARGET,
    KEY_HANG_LIMIT,
    KEY_BURN,
    KEY_NO_KERNELS,
    KEY_NO_LINKS,
    KEY_SEED,
    KEY_BIND,
    KEY_OUT,
    KEY_FORMAT,
    KEY_EXIT_ZERO,
    KEY_QUIET,
};

static const struct argp_option argp_options[] = {
    {.doc = "What is measured:", .group = 1},
    {.name = "transport",
     .key = KEY_TRANSPORT,
     .arg = "NAME",
     .doc = "nccl (GPUs), mpi (host memory) or auto (default: nccl where every rank has a GPU)"},
    {.name = "nccl-lib",
     .key = KEY_NCCL_LIB,
     .arg = "FILE",
     .doc = "The libnccl.so.2 to measure with (default: COMMBOUND_NCCL_LIB, else the first that "
            "serves; commbound doctor lists them)"},
    {.name = "graph",
     .key = KEY_GRAPH,
     .doc = "Over NCCL: time operations captured in CUDA graphs instead of launched one by one"},
    {.name = "register",
     .key = KEY_REGISTER,
     .doc = "Over NCCL: register the buffers, so that NCCL may skip its own"},
    {.name = "ops",
     .key = KEY_OPS,
     .arg = "LIST",
     .doc = "all_reduce, all_gather, reduce_scatter, broadcast, all_to_all, send_recv, or all "
            "(default all_reduce,all_gather)"},
    {.name = "dtypes",
     .key = KEY_DTYPES,
     .arg = "LIST",
     .doc = "float32, float64, float16, bfloat16, int32, float8_e4m3, float8_e5m2, or all (default "
            "float32)"},
    {.name = "redops", .key = KEY_REDOPS, .arg = "LIST", .doc = "sum, max, or all (default sum)"},
    {.name = "scopes",
     .key = KEY_SCOPES,
     .arg = "LIST",
     .doc = "world, intra_node, inter_node, or all (default all)"},
    {.name = "placement",
     .key = KEY_PLACEMENT,
     .arg = "WHERE",
     .doc = "out, in or both: result out of place or in place (default out)"},
    {.name = "min-bytes",
     .key = KEY_MIN_BYTES,
     .arg = "SIZE",
     .doc = "Smallest message (default 8)"},
    {.name = "max-bytes",
     .key = KEY_MAX_BYTES,
     .arg = "SIZE",
     .doc = "Largest message (default 64M)"},
    {.name = "step-factor",
     .key = KEY_STEP_FACTOR,
     .arg = "N",
     .doc = "Each size is N times the one before (default 2)"},
    {.name = "burn",
     .key = KEY_BURN,
     .arg = "DURATION",
     .doc = "At the end keep every rank's GPU (or CPU) busy with GEMM for so long, verify the "
            "products and watch the card (30m; shorter ones are marked partial)"},
    {.name = "no-kernels", .key = KEY_NO_KERNELS, .doc = "Leave out the compute kernels"},
    {.name = "no-links",
     .key = KEY_NO_LINKS,
     .doc = "Leave out the probe of the links between nodes"},
    {.doc = "How long and how well:", .group = 2},
    {.name = "target",
     .key = KEY_TARGET,
     .arg = "SHARE",
     .doc = "A step is settled when the 95% confidence interval of its median is within this "
            "(default 2%)"},
    {.name = "step-limit",
     .key = KEY_STEP_LIMIT,
     .arg = "TIME",
     .doc = "Time box of a step that does not settle: it is then marked noisy. Slow operations get "
            "six samples all the same, up to forty times this (default 500ms)"},
    {.name = "time-limit",
     .key = KEY_TIME_LIMIT,
     .arg = "TIME",
     .doc = "Time box of the whole run: what remains is skipped (default none)"},
    {.name = "hang-limit",
     .key = KEY_HANG_LIMIT,
     .arg = "TIME",
     .doc = "Give up when nothing moves for so long; what was measured is kept (default 120s)"},
    {.name = "seed",
     .key = KEY_SEED,
     .arg = "N",
     .doc = "Seed of the data that are checked (default 1)"},
    {.name = "bind",
     .key = KEY_BIND,
     .arg = "HOW",
     .doc =
         "auto: put ranks that the launcher left unbound on CPUs near their GPU (else near the "
         "network interface, else on their share of the cores); none: leave them (default auto)"},
    {.doc = "What comes out:", .group = 3},
    {.name = "out",
     .key = KEY_OUT,
     .arg = "DIR",
     .doc = "Folder of result.json (default commbound-DATE-TIME)"},
    {.name = "format", .key = KEY_FORMAT, .arg = "NAME", .doc = "text, json or csv (default text)"},
    {.name = "exit-zero",
     .key = KEY_EXIT_ZERO,
     .doc = "Exit 0 whatever the verdict and the checks say; wrong data still fail"},
    {.name = "quiet", .key = KEY_QUIET, .doc = "No progress on stderr"},
    {0},
};

static const char doc[] =
    "  mpirun -np 2 commbound run\n"
    "  mpirun -H a:8,b:8 commbound run --parameters 7e9 --tokens 4096\n"
    "  srun --mpi=pmix commbound run --ops all --max-bytes 1G --out result\n\n"
    "Measures the collectives, the links between nodes and the compute kernels of the nodes that "
    "the "
    "launcher started it on, and judges whether training there is communication-bound.\v"
    "Sizes take K, M and G (powers of 1024), bandwidths need their unit (12.5GB/s, 100Gb/s), times "
    "take ms, s, m and h. Exit status: 0 no bottleneck and every check met, 1 bottleneck or a "
    "check "
    "failed, 2 wrong usage, 3 could not measure, 4 too noisy to tell, 5 stopped early.";

/* ---- values ---- */

/* Reads "a,b" or "all" into one flag per name. */
static error_t parse_list(struct cb_run_options *options, const char *option, const char *text,
                          const char *(*name_of)(int value), bool *wanted, int count)
{
    const char *names[16];
    struct cb_error why;
    memset(wanted, 0, (size_t)count * sizeof(*wanted));
    for (int i = 0; i < count; i++)
        names[i] = name_of(i);
    if (strcmp(text, "all") == 0) {
        for (int i = 0; i < count; i++)
            wanted[i] = true;
        return 0;
    }
    const char *rest = text;
    while (rest) {
        size_t length = strcspn(rest, ",");
        char word[64];
        int found = -1;
        snprintf(word, sizeof(word), "%.*s", (int)(length < 60 ? length : 60), rest);
        for (int i = 0; i < count; i++)
            if (strcmp(word, names[i]) == 0)
                found = i;
        if (found < 0) {
            const char *near = cb_suggest(word, names, (size_t)count);
            cb_fail(&why, CB_E_USAGE, "unknown name '%s'%s%s%s", word,
                    near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
            return cb_cli_reject(options, option, text, &why);
        }
        wanted[found] = true;
        rest = rest[length] ? rest + length + 1 : NULL;
    }
    return 0;
}

static const char *op_name(int value)
{
    return cb_op_name((enum cb_op)value);
}

static const char *dtype_name(int value)
{
    return cb_dtype_name((enum cb_dtype)value);
}

static const char *redop_name(int value)
{
    return cb_redop_name((enum cb_redop)value);
}

static const char *scope_name(int value)
{
    return cb_scope_name((enum cb_scope)value);
}

static const char *const placements[] = {
    [CB_PLACEMENT_OUT] = "out", [CB_PLACEMENT_IN] = "in", [CB_PLACEMENT_BOTH] = "both"};
enum { PLACEMENTS = sizeof(placements) / sizeof(placements[0]) };

static error_t reject(struct cb_run_options *options, const char *option, const char *value,
                      const char *reason)
{
    struct cb_error why;
    cb_fail(&why, CB_E_USAGE, "%s", reason);
    return cb_cli_reject(options, option, value, &why);
}

static error_t parse_placement(struct cb_run_options *options, const char *text)
{
    for (int i = 0; i < PLACEMENTS; i++)
        if (strcmp(text, placements[i]) == 0) {
            options->request.placement = (enum cb_placement)i;
            return 0;
        }
    return reject(options, "--placement", text, "must be out, in or both");
}

static error_t parse_bind(struct cb_run_options *options, const char *text)
{
    if (strcmp(text, "auto") != 0 && strcmp(text, "none") != 0)
        return reject(options, "--bind", text, "must be auto or none");
    options->binds = strcmp(text, "auto") == 0;
    return 0;
}

static error_t parse_format(struct cb_run_options *options, const char *text)
{
    int format = cb_report_format_parse(text);
    if (format < 0)
        return reject(options, "--format", text, "must be text, json or csv");
    options->format = (enum cb_report_format)format;
    return 0;
}

static error_t parse_transport(struct cb_run_options *options, const char *text)
{
    if (strcmp(text, "auto") != 0 && !cb_transport_find(text))
        return reject(options, "--transport", text,
                      strcmp(text, "nccl") == 0
                          ? "this build has no GPU path: install the CUDA toolkit and libnccl-dev, "
                            "and build again with -DCOMMBOUND_CUDA=ON"
                          : "must be auto, nccl or mpi");
    snprintf(options->transport, sizeof(options->transport), "%s", text);
    return 0;
}

static error_t parse_text(struct cb_run_options *options, const char *option, const char *text,
                          char *out, size_t size_bytes)
{
    if (!*text)
        return reject(options, option, text, "must not be empty");
    if (strlen(text) >= size_bytes)
        return reject(options, option, text, "the name is too long");
    snprintf(out, size_bytes, "%s", text);
    return 0;
}

static error_t parse_bytes(struct cb_run_options *options, const char *option, const char *text,
                           uint64_t *bytes)
{
    struct cb_error why;
    uint64_t value;
    if (cb_parse_bytes(text, &value, &why))
        return cb_cli_reject(options, option, text, &why);
    if (value == 0)
        return reject(options, option, text, "must be at least 1 byte");
    *bytes = value;
    return 0;
}

static error_t parse_seconds(struct cb_run_options *options, const char *option, const char *text,
                             double *seconds)
{
    struct cb_error why;
    return cb_parse_duration(text, seconds, &why) ? cb_cli_reject(options, option, text, &why) : 0;
}

static error_t parse_integer(struct cb_run_options *options, const char *option, const char *text,
                             long low, long high, uint64_t *value)
{
    struct cb_error why;
    long number;
    if (cb_parse_integer(text, low, high, &number, &why))
        return cb_cli_reject(options, option, text, &why);
    *value = (uint64_t)number;
    return 0;
}

static error_t parse_target(struct cb_run_options *options, const char *text)
{
    struct cb_error why;
    return cb_parse_share(text, &options->target_relative, &why)
               ? cb_cli_reject(options, "--target", text, &why)
               : 0;
}

/* What no single option can see. */
static error_t check_whole(struct cb_run_options *options)
{
    const struct cb_plan_request *request = &options->request;
    char low[CB_UNIT_TEXT], high[CB_UNIT_TEXT];
    if (request->min_bytes <= request->max_bytes)
        return 0;
    cb_fail(&options->base.error, CB_E_USAGE, "--min-bytes %s is above --max-bytes %s",
            cb_format_bytes(low, request->min_bytes), cb_format_bytes(high, request->max_bytes));
    return EINVAL;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct cb_run_options *o = state->input;
    struct cb_plan_request *request = &o->request;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->workload;
        return 0;
    case KEY_TRANSPORT:
        return parse_transport(o, text);
    case KEY_OPS:
        return parse_list(o, "--ops", text, op_name, request->ops, CB_OP_COUNT);
    case KEY_DTYPES:
        return parse_list(o, "--dtypes", text, dtype_name, request->dtypes, CB_DTYPE_MOVED_COUNT);
    case KEY_REDOPS:
        return parse_list(o, "--redops", text, redop_name, request->redops, CB_REDOP_COUNT);
    case KEY_SCOPES:
        return parse_list(o, "--scopes", text, scope_name, request->scopes, CB_SCOPE_COUNT);
    case KEY_PLACEMENT:
        return parse_placement(o, text);
    case KEY_MIN_BYTES:
        return parse_bytes(o, "--min-bytes", text, &request->min_bytes);
    case KEY_MAX_BYTES:
        return parse_bytes(o, "--max-bytes", text, &request->max_bytes);
    case KEY_STEP_FACTOR:
        return parse_integer(o, "--step-factor", text, 2, 1024, &request->step_factor);
    case KEY_STEP_LIMIT:
        return parse_seconds(o, "--step-limit", text, &o->time_box_s);
    case KEY_TIME_LIMIT:
        return parse_seconds(o, "--time-limit", text, &o->time_limit_s);
    case KEY_HANG_LIMIT:
        return parse_seconds(o, "--hang-limit", text, &o->hang_limit_s);
    case KEY_TARGET:
        return parse_target(o, text);
    case KEY_SEED:
        return parse_integer(o, "--seed", text, 0, LONG_MAX, &o->seed);
    case KEY_BIND:
        return parse_bind(o, text);
    case KEY_OUT:
        return parse_text(o, "--out", text, o->out, sizeof(o->out));
    case KEY_NCCL_LIB:
        return parse_text(o, "--nccl-lib", text, o->nccl_library, sizeof(o->nccl_library));
    case KEY_GRAPH:
        o->graph = true;
        return 0;
    case KEY_REGISTER:
        o->registers = true;
        return 0;
    case KEY_FORMAT:
        return parse_format(o, text);
    case KEY_BURN:
        return parse_seconds(o, "--burn", text, &request->burn_s);
    case KEY_NO_KERNELS:
        request->kernels = false;
        return 0;
    case KEY_NO_LINKS:
        request->links = false;
        return 0;
    case KEY_EXIT_ZERO:
        o->exit_zero = true;
        return 0;
    case KEY_QUIET:
        o->quiet = true;
        return 0;
    case ARGP_KEY_END:
        return check_whole(o);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void set_defaults(struct cb_run_options *options)
{
    memset(options, 0, sizeof(*options));
    cb_error_clear(&options->base.error);
    cb_workload_input_init(&options->workload);
    struct cb_plan_request *request = &options->request;
    request->ops[CB_OP_ALL_REDUCE] = request->ops[CB_OP_ALL_GATHER] = true;
    request->dtypes[CB_DTYPE_FLOAT32] = true;
    request->redops[CB_REDOP_SUM] = true;
    for (int i = 0; i < CB_SCOPE_COUNT; i++)
        request->scopes[i] = true;
    request->min_bytes = 8;
    request->max_bytes = 64u << 20;
    request->step_factor = 2;
    request->links = request->kernels = true;
    options->time_box_s = 0.5;
    options->target_relative = 0.02;
    options->hang_limit_s = 120;
    options->seed = 1;
    options->binds = true;
    snprintf(options->transport, sizeof(options->transport), "auto");
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(options->out, sizeof(options->out), "commbound-%Y%m%d-%H%M%S", &local);
}

int cb_run_options_parse(int argc, char **argv, struct cb_run_options *options,
                         struct cb_error *err)
{
    const struct argp_child children[] = {{.argp = &cb_workload_argp}, {0}};
    const struct argp argp = {
        .options = argp_options, .parser = parse_option, .doc = doc, .children = children};
    set_defaults(options);
    return cb_cli_parse(&argp, argc, argv, options, err);
}

/* ---- the record ---- */

static void join(char *text, size_t size_bytes, const char *(*name_of)(int), const bool *wanted,
                 int count)
{
    size_t length = 0;
    text[0] = '\0';
    for (int i = 0; i < count; i++)
        if (wanted[i] && length < size_bytes)
            length += (size_t)snprintf(text + length, size_bytes - length, "%s%s",
                                       length ? "," : "", name_of(i));
}

int cb_run_options_record(const struct cb_run_options *options, struct cb_result *result)
{
    const struct cb_plan_request *request = &options->request;
    char text[CB_TEXT];
    int rc = cb_result_add_option(result, "transport", options->transport);
    const struct {
        const char *name;
        const char *(*name_of)(int);
        const bool *wanted;
        int count;
    } lists[] = {{"ops", op_name, request->ops, CB_OP_COUNT},
                 {"dtypes", dtype_name, request->dtypes, CB_DTYPE_MOVED_COUNT},
                 {"redops", redop_name, request->redops, CB_REDOP_COUNT},
                 {"scopes", scope_name, request->scopes, CB_SCOPE_COUNT}};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]) && !rc; i++) {
        join(text, sizeof(text), lists[i].name_of, lists[i].wanted, lists[i].count);
        rc = cb_result_add_option(result, lists[i].name, text);
    }
    if (!rc)
        rc = cb_result_add_option(result, "placement", placements[request->placement]);
    if (!rc)
        rc = cb_result_add_option(result, "bind", options->binds ? "auto" : "none");
    const struct {
        const char *name;
        uint64_t value;
    } integers[] = {{"min-bytes", request->min_bytes},
                    {"max-bytes", request->max_bytes},
                    {"step-factor", request->step_factor},
                    {"links", request->links},
                    {"kernels", request->kernels},
                    {"seed", options->seed},
                    {"graph", options->graph},
                    {"register", options->registers}};
    for (size_t i = 0; i < sizeof(integers) / sizeof(integers[0]) && !rc; i++) {
        snprintf(text, sizeof(text), "%" PRIu64, integers[i].value);
        rc = cb_result_add_option(result, integers[i].name, text);
    }
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"burn", request->burn_s},
                   {"step-limit", options->time_box_s},
                   {"time-limit", options->time_limit_s},
                   {"target", options->target_relative},
                   {"hang-limit", options->hang_limit_s}};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && !rc; i++) {
        snprintf(text, sizeof(text), "%g", numbers[i].value);
        rc = cb_result_add_option(result, numbers[i].name, text);
    }
    return rc;
}

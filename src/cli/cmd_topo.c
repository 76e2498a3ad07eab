#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/topo_live.h"
#include "report/topology.h"
#include "topology/findings.h"
#include "topology/map_read.h"

enum { KEY_FROM = 0x5001, KEY_FORMAT, KEY_EXIT_ZERO, KEY_OUTPUT = 'o' };

struct topo_input {
    struct cb_cli_input base;
    const char *from; /* NULL: this machine */
    const char *path; /* NULL or "-": stdout */
    enum cb_topology_format format;
    bool exit_zero;
};

static const struct argp_option options[] = {
    {.name = "from",
     .key = KEY_FROM,
     .arg = "FILE",
     .doc = "A map from elsewhere, - for standard input: the XML of lstopo, the XML that NCCL "
            "writes (NCCL_TOPO_DUMP_FILE) or reads, or a text with the output of nvidia-smi topo "
            "-m in it (default: this machine)"},
    {.name = "format",
     .key = KEY_FORMAT,
     .arg = "FORMAT",
     .doc = "text, json or svg (default text)"},
    {.name = "output",
     .key = KEY_OUTPUT,
     .arg = "FILE",
     .doc = "Where to write it (default -, standard output)"},
    {.name = "exit-zero",
     .key = KEY_EXIT_ZERO,
     .doc = "Exit with 0 whatever is found, if there is a map"},
    {0},
};

static error_t parse_format(struct topo_input *input, const char *text)
{
    struct cb_error err;
    int format = cb_topology_format_parse(text);
    if (format >= 0) {
        input->format = (enum cb_topology_format)format;
        return 0;
    }
    cb_fail(&err, CB_E_USAGE, "'%.40s' is not a format of this command", text);
    cb_error_set_hint(&err, "one of text, json, svg");
    return cb_cli_reject(input, "--format", text, &err);
}

static error_t reject_empty(struct topo_input *input, const char *option)
{
    cb_fail(&input->base.error, CB_E_USAGE, "%s: the file name is empty", option);
    return EINVAL;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct topo_input *input = state->input;
    switch (key) {
    case KEY_FROM:
        input->from = argument;
        return *argument ? 0 : reject_empty(input, "--from");
    case KEY_OUTPUT:
        input->path = argument;
        return *argument ? 0 : reject_empty(input, "--output");
    case KEY_FORMAT:
        return parse_format(input, argument);
    case KEY_EXIT_ZERO:
        input->exit_zero = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Show what is connected to what, over which link, and what is wrong with it.\n"
    "\n"
    "  commbound topo\n"
    "  lstopo node7.xml; commbound topo --from node7.xml\n"
    "  ssh node7 nvidia-smi topo -m | commbound topo --from -\n"
    "  commbound topo --from node7.xml --format svg -o node7.svg\n"
    "\n"
    "The map names the link of every pair of GPUs and of GPU and NIC, the NICs nearest to each "
    "GPU, and what costs bandwidth. Text around a matrix, colours and wrapped lines do no harm. "
    "The exit status is 1 when a finding is an error.";

static const struct argp argp = {.options = options, .parser = parse, .doc = doc};

/* What stands in the report, put together. */
struct topo {
    struct cb_map map;
    struct cb_facts *facts;
    CB_VEC(struct cb_finding) findings; /* the most severe first */
};

static int out_of_memory(struct cb_error *err)
{
    return cb_fail(err, CB_E_MEMORY, "no memory for the map");
}

static int load_file(const char *path, struct topo *topo, struct cb_error *err)
{
    char *text = NULL;
    size_t length_bytes = 0;
    int rc = cb_cli_read(path, CB_MAP_FILE_BYTES_MAX, &text, &length_bytes, err);
    if (rc == 0)
        rc = cb_map_read(strcmp(path, "-") == 0 ? "standard input" : path, text, length_bytes,
                         &topo->map, err);
    free(text);
    if (rc == 0)
        cb_facts_from_map(&topo->map, topo->facts);
    return rc;
}

#ifndef COMMBOUND_TOPOLOGY
int cb_cli_look_around(struct cb_map *map, struct cb_facts *facts, struct cb_error *err)
{
    (void)map;
    (void)facts;
    cb_fail(err, CB_E_UNSUPPORTED, "this build cannot look at this machine");
    cb_error_set_hint(err, "install libhwloc-dev and build again, or give a map with --from FILE");
    return CB_E_UNSUPPORTED;
}
#endif

/* What is wrong with a file is told as what is wrong with a machine is. */
static int add_note(struct topo *topo, const struct cb_map_note *note)
{
    struct cb_finding *finding = cb_vec_add(&topo->findings);
    if (!finding)
        return CB_E_MEMORY;
    finding->severity = note->is_wrong ? CB_SEVERITY_ERROR : CB_SEVERITY_INFO;
    snprintf(finding->code, sizeof(finding->code), "%s", note->code);
    snprintf(finding->seen, sizeof(finding->seen), "%s", note->seen);
    snprintf(finding->why, sizeof(finding->why), "%s", note->why);
    snprintf(finding->remedy, sizeof(finding->remedy), "%s", note->remedy);
    return 0;
}

/* A map without devices is none to judge by, and says so. */
static int note_emptiness(struct topo *topo)
{
    static const struct cb_map_note nothing = {
        .code = "map.no_devices",
        .seen = "the map shows no GPU and no NIC",
        .why = "which GPU is near which NIC, and over which link, cannot be told",
        .remedy = "lstopo FILE.xml where the PCI devices are visible (in a container: with the "
                  "host's /sys), not restricted to CPUs",
    };
    struct cb_map_note *note;
    if (topo->map.gpus.count + topo->map.nics.count > 0)
        return 0;
    note = cb_vec_add(&topo->map.notes);
    if (!note)
        return CB_E_MEMORY;
    *note = nothing;
    return 0;
}

/* Notes of a severity come before the findings of the same: they say how far those can be trusted.
 */
static int collect_findings(struct topo *topo, struct cb_error *err)
{
    struct cb_finding found[CB_FINDINGS_MAX];
    size_t count = cb_findings_find(topo->facts, NULL, found);
    if (note_emptiness(topo))
        return out_of_memory(err);
    for (int severity = CB_SEVERITY_COUNT - 1; severity >= 0; severity--) {
        for (size_t i = 0; i < topo->map.notes.count; i++) {
            const struct cb_map_note *note = &topo->map.notes.items[i];
            int its = note->is_wrong ? CB_SEVERITY_ERROR : CB_SEVERITY_INFO;
            if (its == severity && add_note(topo, note))
                return out_of_memory(err);
        }
        for (size_t i = 0; i < count; i++) {
            if ((int)found[i].severity != severity)
                continue;
            struct cb_finding *finding = cb_vec_add(&topo->findings);
            if (!finding)
                return out_of_memory(err);
            *finding = found[i];
        }
    }
    return 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static int show(const struct topo_input *input, const struct topo *topo, struct cb_error *err)
{
    bool to_stdout = !input->path || strcmp(input->path, "-") == 0;
    bool from_stdin = input->from && strcmp(input->from, "-") == 0;
    const struct cb_topology topology = {
        .map = &topo->map,
        .findings = topo->findings.items,
        .finding_count = topo->findings.count,
        .origin = from_stdin    ? "standard input"
                  : input->from ? base_name(input->from)
                                : "this machine",
        .color = to_stdout && cb_cli_color(),
    };
    struct cb_strbuf text = {0};
    int rc = cb_topology_render(&topology, input->format, &text, err);
    if (rc == 0)
        rc = cb_cli_write(input->path, &text, err);
    cb_strbuf_fini(&text);
    return rc;
}

static int draw(const struct topo_input *input, int *status, struct cb_error *err)
{
    struct topo topo = {.facts = malloc(sizeof(*topo.facts))};
    int rc = topo.facts ? 0 : out_of_memory(err);
    if (rc == 0)
        rc = input->from ? load_file(input->from, &topo, err)
                         : cb_cli_look_around(&topo.map, topo.facts, err);
    if (rc == 0)
        rc = collect_findings(&topo, err);
    if (rc == 0)
        rc = show(input, &topo, err);
    if (rc == 0)
        *status = topo.findings.count > 0 && topo.findings.items[0].severity == CB_SEVERITY_ERROR;
    cb_vec_fini(&topo.findings);
    cb_map_fini(&topo.map);
    free(topo.facts);
    return rc;
}

int cb_cmd_topo(int argc, char **argv)
{
    struct cb_error err;
    struct topo_input input = {.format = CB_TOPOLOGY_TEXT};
    int status = 0;
    int rc = cb_cli_parse(&argp, argc, argv, &input, &err);
    if (rc == CB_CLI_SERVED)
        return 0;
    if (rc == 0)
        rc = draw(&input, &status, &err);
    if (rc)
        return cb_cli_fail("topo", &err);
    return input.exit_zero ? 0 : status;
}

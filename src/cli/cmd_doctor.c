#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/table.h"
#include "cli/build.h"
#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/program.h"

#define ASK_MS 3000
#define NAME_COLUMNS 14
#define TEXT_COLUMNS (2 + 9 + NAME_COLUMNS)

/* Programs that work with commbound. Package names are Debian's and Ubuntu's. */
static const struct program_row {
    const char *name;
    const char *argument; /* that makes it tell its version */
    const char *package;
    const char *purpose;
    bool is_launcher;
} programs[] = {
    {"mpirun", "--version", "openmpi-bin", "starts one process per rank", true},
    {"srun", "--version", "slurm-client", "starts the ranks of a Slurm job", true},
    {"sbatch", "--version", "slurm-client", "submits slurm/*.sbatch", false},
    {"iperf3", "--version", "iperf3", "a second opinion on a link's speed", false},
    {"fio", "--version", "fio", "the speed of disks", false},
    {"gnuplot", "--version", "gnuplot-nox", "charts", false},
};

void cb_doctor_add_part(struct cb_doctor *doctor, const char *name, enum cb_doctor_state state,
                        const char *path, const char *format, ...)
{
    struct cb_doctor_part *part = cb_vec_add(&doctor->parts);
    va_list arguments;
    if (!part) {
        doctor->failed = true;
        return;
    }
    part->name = name;
    part->state = state;
    snprintf(part->path, sizeof(part->path), "%s", path);
    va_start(arguments, format);
    vsnprintf(part->text, sizeof(part->text), format, arguments);
    va_end(arguments);
}

void cb_doctor_add_finding(struct cb_doctor *doctor, const char *remedy, const char *format, ...)
{
    struct cb_doctor_finding *finding = cb_vec_add(&doctor->findings);
    va_list arguments;
    if (!finding) {
        doctor->failed = true;
        return;
    }
    snprintf(finding->remedy, sizeof(finding->remedy), "%s", remedy);
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof(finding->text), format, arguments);
    va_end(arguments);
}

void cb_doctor_set_obstacle(struct cb_doctor *doctor, const char *format, ...)
{
    va_list arguments;
    if (doctor->obstacle[0])
        return;
    va_start(arguments, format);
    vsnprintf(doctor->obstacle, sizeof(doctor->obstacle), format, arguments);
    va_end(arguments);
}

void cb_doctor_add_library(struct cb_doctor *doctor, const char *name, const char *version,
                           const char *file_name)
{
    char path[PATH_MAX];
    bool is_shared = cb_program_find_library(file_name, path, sizeof(path));
    cb_doctor_add_part(doctor, name, CB_DOCTOR_FOUND, is_shared ? path : "", "%s", version);
}

/* Returns whether one of them can start ranks. */
static bool look_at_programs(struct cb_doctor *doctor)
{
    bool has_launcher = false;
    for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
        const struct program_row *row = &programs[i];
        char path[PATH_MAX];
        char version[128] = "";
        if (!cb_program_find(row->name, path, sizeof(path))) {
            cb_doctor_add_part(doctor, row->name, CB_DOCTOR_MISSING, "", "%s; package %s",
                               row->purpose, row->package);
            continue;
        }
        bool answers = cb_program_ask(path, row->argument, ASK_MS, version, sizeof(version));
        /* Slurm's programs answer only where Slurm is set up. */
        cb_doctor_add_part(doctor, row->name, answers ? CB_DOCTOR_FOUND : CB_DOCTOR_BROKEN, path,
                           "%s", answers ? version : "does not answer: is it set up here?");
        if (strcmp(row->name, "mpirun") == 0)
            memcpy(doctor->mpirun, version, sizeof(version));
        has_launcher |= answers && row->is_launcher;
    }
    return has_launcher;
}

#ifndef COMMBOUND_MEASURE
void cb_doctor_look_at_measuring(struct cb_doctor *doctor)
{
    cb_doctor_add_part(
        doctor, "MPI library", CB_DOCTOR_ABSENT, "",
        "built without MPI: judge, predict, report and topo --from work, run does not; install "
        "libopenmpi-dev, libhwloc-dev and libopenblas-openmp-dev, and build again");
    cb_doctor_set_obstacle(doctor, "this build was made without MPI; install libopenmpi-dev, "
                                   "libhwloc-dev and libopenblas-openmp-dev, and build again");
}

void cb_doctor_look_at_gpus(struct cb_doctor *doctor)
{
    cb_doctor_add_part(doctor, "GPU path", CB_DOCTOR_ABSENT, "", "not in a build without MPI");
}
#endif

/* ---- the page ---- */

static void render_parts(const struct cb_doctor *doctor, bool color, struct cb_strbuf *out)
{
    static const struct {
        const char *name;
        enum cb_style style;
    } states[] = {
        [CB_DOCTOR_FOUND] = {"found", CB_STYLE_GOOD},
        [CB_DOCTOR_MISSING] = {"missing", CB_STYLE_WARN},
        [CB_DOCTOR_BROKEN] = {"broken", CB_STYLE_WARN},
        [CB_DOCTOR_ABSENT] = {"absent", CB_STYLE_WARN},
    };
    for (size_t i = 0; i < doctor->parts.count; i++) {
        const struct cb_doctor_part *part = &doctor->parts.items[i];
        const char *state = states[part->state].name;
        cb_strbuf_add(out, "  ");
        cb_styled_add(out, states[part->state].style, color, state);
        cb_strbuf_fill(out, ' ', 9 - strlen(state));
        cb_strbuf_addf(out, "%-*s", NAME_COLUMNS, part->name);
        cb_paragraph_add(out, TEXT_COLUMNS, TEXT_COLUMNS, part->text);
        if (!part->path[0])
            continue;
        cb_strbuf_fill(out, ' ', TEXT_COLUMNS);
        cb_printable_add(out, part->path); /* whole, however long: to be copied */
        cb_strbuf_add(out, "\n");
    }
}

static void render_findings(const struct cb_doctor *doctor, bool color, struct cb_strbuf *out)
{
    if (doctor->findings.count == 0)
        return;
    cb_strbuf_add(out, "\nWORTH A LOOK\n");
    for (size_t i = 0; i < doctor->findings.count; i++) {
        cb_strbuf_add(out, "  ");
        cb_styled_add(out, CB_STYLE_WARN, color, "!");
        cb_strbuf_add(out, " ");
        cb_paragraph_add(out, 4, 4, doctor->findings.items[i].text);
        cb_strbuf_add(out, "    -> ");
        cb_paragraph_add(out, 7, 7, doctor->findings.items[i].remedy);
    }
}

static void render(const struct cb_doctor *doctor, bool color, struct cb_strbuf *out)
{
    if (doctor->obstacle[0]) {
        cb_styled_add(out, CB_STYLE_BAD, color, "commbound run cannot work here:");
        cb_strbuf_add(out, " ");
        cb_paragraph_add(out, 32, 2, doctor->obstacle);
    } else {
        cb_styled_add(out, CB_STYLE_GOOD, color, "commbound run can work here.");
        cb_strbuf_add(out, "\n");
    }
    cb_strbuf_add(out, "\nPARTS\n");
    render_parts(doctor, color, out);
    if (doctor->host.length_bytes) {
        cb_strbuf_add(out, "\nTHIS HOST\n");
        cb_strbuf_add(out, cb_strbuf_get(&doctor->host));
    }
    render_findings(doctor, color, out);
}

struct doctor_input {
    struct cb_cli_input base;
    const char *sysroot;
};

enum { KEY_SYSROOT = 1000 };

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct doctor_input *input = state->input;
    if (key != KEY_SYSROOT)
        return ARGP_ERR_UNKNOWN;
    if (access(value, R_OK | X_OK) != 0) {
        struct cb_error err;
        cb_fail(&err, CB_E_USAGE, "cannot be read (%s)", strerror(errno));
        return cb_cli_reject(input, "sysroot", value, &err);
    }
    input->sysroot = value;
    return 0;
}

static const struct argp_option options[] = {
    {.name = "sysroot",
     .key = KEY_SYSROOT,
     .arg = "DIR",
     .doc = "Read the network and the memory from a copy of /sys and /proc below DIR"},
    {0},
};

static const struct argp doctor_argp = {
    .options = options,
    .parser = parse_option,
    .doc = "Say what commbound finds on this host, what is missing and how to get it, and what "
           "would quietly spoil a measurement. Nothing is measured and MPI is not started.\v"
           "Exit status: 0 when commbound run can work here, 3 when it cannot."};

int cb_cmd_doctor(int argc, char **argv)
{
    struct doctor_input input = {.sysroot = ""};
    struct cb_error err;
    struct cb_doctor doctor = {0};
    struct cb_strbuf page = {0};
    int rc = cb_cli_parse(&doctor_argp, argc, argv, &input, &err);
    if (rc == CB_CLI_SERVED)
        return 0;
    if (rc < 0)
        return cb_cli_fail("doctor", &err);

    doctor.sysroot = input.sysroot;
    cb_doctor_add_part(&doctor, "commbound", CB_DOCTOR_FOUND, "", "%s (%s)", CB_VERSION, CB_BUILD);
    bool has_launcher = look_at_programs(&doctor);
    cb_doctor_look_at_measuring(&doctor);
    if (!has_launcher)
        cb_doctor_set_obstacle(&doctor, "neither mpirun nor srun works here, so that nothing can "
                                        "start ranks; install openmpi-bin");
    cb_doctor_add_library(&doctor, "jansson", CB_JANSSON_VERSION, "libjansson.so");
    cb_doctor_look_at_gpus(&doctor);
    render(&doctor, cb_cli_color(), &page);

    rc = doctor.failed || page.failed ? cb_fail(&err, CB_E_MEMORY, "out of memory")
                                      : cb_cli_write(NULL, &page, &err);
    int status = rc ? cb_cli_fail("doctor", &err) : doctor.obstacle[0] ? 3 : 0;
    cb_strbuf_fini(&page);
    cb_strbuf_fini(&doctor.host);
    cb_vec_fini(&doctor.findings);
    cb_vec_fini(&doctor.parts);
    return status;
}

#include "cb_test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/workload_options.h"

enum { KEY_LIMIT = 0x100, KEY_QUIET };

struct sample_input {
    struct cb_cli_input base;
    struct cb_workload_input workload;
    const char *limit;
    const char *path;
    bool quiet;
};

static error_t parse_sample(int key, char *argument, struct argp_state *state)
{
    struct sample_input *input = state->input;
    struct cb_error err;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &input->workload;
        return 0;
    case KEY_LIMIT:
        if (strcmp(argument, "bad") == 0) {
            cb_fail(&err, CB_E_USAGE, "'bad' is bad");
            cb_error_set_hint(&err, "be good");
            return cb_cli_reject(input, "--limit", argument, &err);
        }
        if (strcmp(argument, "odd") == 0) {
            cb_fail(&err, CB_E_USAGE, "not even");
            return cb_cli_reject(input, "--limit", argument, &err);
        }
        input->limit = argument;
        return 0;
    case 'q':
        input->quiet = true;
        return 0;
    case 'o':
        input->path = argument;
        return 0;
    case ARGP_KEY_ARG:
        if (input->path)
            return ARGP_ERR_UNKNOWN;
        input->path = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option sample_options[] = {
    {.doc = "A heading:", .group = 1},
    {.name = "limit", .key = KEY_LIMIT, .arg = "N", .doc = "A value"},
    {.name = "bound", .flags = OPTION_ALIAS},
    {.name = "quiet", .key = 'q', .doc = "A flag"},
    {.name = "output", .key = 'o', .arg = "FILE", .doc = "A value with a short form"},
    {0},
};
static const struct argp_child sample_children[] = {{.argp = &cb_workload_argp}, {0}};
static const struct argp sample_argp = {
    .options = sample_options, .parser = parse_sample, .children = sample_children};

#define MAX_WORDS 16

/* Parses the words of a line, split at blanks. Storage is static: inputs point into it. */
static int parse(struct sample_input *input, const char *line, struct cb_error *err)
{
    static char text[512];
    char *words[MAX_WORDS + 1] = {0};
    int count = 0;
    snprintf(text, sizeof(text), "%s", line);
    for (char *word = strtok(text, " "); word && count < MAX_WORDS; word = strtok(NULL, " "))
        words[count++] = word;
    memset(input, 0, sizeof(*input));
    cb_workload_input_init(&input->workload);
    return cb_cli_parse(&sample_argp, count, words, input, err);
}

static void assert_parsed(struct sample_input *input, const char *line)
{
    struct cb_error err;
    assert_ok(parse(input, line, &err), &err);
}

/* what and hint must hold the given texts. */
static void assert_refused(const char *line, const char *what, const char *hint)
{
    struct sample_input input;
    struct cb_error err;
    int rc = parse(&input, line, &err);
    if (rc != CB_E_USAGE || !strstr(err.what, what) || !strstr(err.hint, hint))
        print_error("%s: %d, \"%s\", hint \"%s\"\n", line, rc, err.what, err.hint);
    assert_int_equal(rc, CB_E_USAGE);
    assert_non_null(strstr(err.what, what));
    assert_non_null(strstr(err.hint, hint));
}

static void test_values_arrive(void **state)
{
    (void)state;
    struct sample_input input;
    assert_parsed(&input, "run --limit 3 --quiet file");
    assert_string_equal(input.limit, "3");
    assert_true(input.quiet);
    assert_string_equal(input.path, "file");
    assert_parsed(&input, "run --bound=4 -o -");
    assert_string_equal(input.limit, "4");
    assert_string_equal(input.path, "-");
    assert_parsed(&input, "run -qofile");
    assert_true(input.quiet);
    assert_string_equal(input.path, "file");
    assert_parsed(&input, "run -- --limit");
    assert_string_equal(input.path, "--limit");
    assert_parsed(&input, "run");
    assert_null(input.limit);
}

static void test_unknown_options(void **state)
{
    (void)state;
    assert_refused("run --limt 3", "unknown option '--limt'",
                   "did you mean '--limit'? (see commbound run --help)");
    assert_refused("run --paramaters=7B", "unknown option '--paramaters'",
                   "did you mean '--parameters'?");
    assert_refused("run --steps-time 3", "unknown option '--steps-time'", "'--step-time'");
    assert_refused("run --hlep", "unknown option '--hlep'", "'--help'");
    assert_refused("run --frobnicate", "unknown option '--frobnicate'", "see commbound run --help");
    assert_refused("run -x", "unknown option '-x'", "see commbound run --help");
    assert_refused("run -qx", "unknown option '-qx'", "see");
}

/* An abbreviation, ambiguous or not, is an unknown option. */
static void test_abbreviations_are_refused(void **state)
{
    (void)state;
    assert_refused("run --lim 3", "unknown option '--lim'", "see");
    assert_refused("run --limi 3", "unknown option '--limi'", "'--limit'");
    assert_refused("run --to 3", "unknown option '--to'", "see");
    assert_refused("run --qui", "unknown option '--qui'", "see");
}

static void test_missing_and_surplus_values(void **state)
{
    (void)state;
    assert_refused("run --limit", "--limit needs a value", "see commbound run --help");
    assert_refused("run --quiet --parameters", "--parameters needs a value", "see");
    assert_refused("run -o", "-o needs a value", "see");
    assert_refused("run --quiet=yes", "--quiet takes no value", "see");
    assert_refused("run one two", "unexpected argument 'two'", "see");
}

/* Of the command's own parser and of a child's. */
static void test_bad_values_are_named(void **state)
{
    (void)state;
    assert_refused("run --limit bad", "--limit: 'bad' is bad", "be good");
    assert_refused("run --limit odd", "--limit odd: not even", "");
    assert_refused("run --parameters -7B", "--parameters: '-7B' is negative", "7e9");
    assert_refused("run --parameters 7X", "--parameters: '7X' has an unknown unit", "7B");
    assert_refused("run --nominal-bandwidth 100", "--nominal-bandwidth: '100' has no unit",
                   "100Gb/s");
    assert_refused("run --threshold 1", "--threshold: '1' is not between", "20%");
    assert_refused("run --tokens none", "--tokens: 'none' does not start", "512");
    assert_refused("run --communications 0", "--communications: '0' is not above zero", "");
    assert_refused("run --steps nan", "--communications: 'nan'", "");
}

static void test_workload(void **state)
{
    (void)state;
    struct sample_input input;
    assert_parsed(&input, "run");
    assert_int_equal(input.workload.workload.span, CB_SPAN_COUNT);
    assert_near(input.workload.workload.job.parameters, 0, 0);
    assert_parsed(&input, "run --parameters 7B --steps 10k --total-time 24h --threshold 25% "
                          "--nominal-bandwidth 100Gb/s --tokens 512");
    const struct cb_workload *workload = &input.workload.workload;
    assert_near(workload->job.parameters, 7e9, 0);
    assert_near(workload->communications, 1e4, 0);
    assert_int_equal(workload->span, CB_SPAN_TOTAL);
    assert_near(workload->time_s, 86400, 0);
    assert_near(workload->threshold, 0.25, 0);
    assert_near(workload->nominal_bytes_per_s, 12.5e9, 0);
    assert_near(workload->job.tokens_per_step, 512, 0);
    assert_near(workload->bandwidth_bytes_per_s, 0, 0);
    assert_parsed(&input, "run --parameters 7B --compute-time 250ms --communications 3");
    assert_int_equal(workload->span, CB_SPAN_COMPUTE);
    assert_near(workload->time_s, 0.25, 0);
    assert_near(workload->communications, 3, 0);
    /* The same option again: the last one holds. */
    assert_parsed(&input, "run --parameters 7B --step-time 1 --step-time 2");
    assert_int_equal(workload->span, CB_SPAN_STEP);
    assert_near(workload->time_s, 2, 0);
}

static void test_workload_conflicts(void **state)
{
    (void)state;
    assert_refused("run --parameters 7B --step-time 3 --total-time 4",
                   "--step-time and --total-time exclude each other", "state one");
    assert_refused("run --parameters 7B --total-time 3 --compute-time 4",
                   "--total-time and --compute-time exclude each other", "state one");
    assert_refused("run --parameters 7B --total-time 3", "--total-time needs --communications",
                   "--step-time");
    assert_refused("run --step-time 3", "--step-time needs --parameters", "");
}

/* The file of --workload below the options; where it is not, only the first process minds. */
static void test_workload_file(void **state)
{
    (void)state;
    struct sample_input input;
    struct cb_error err;
    char path[] = "/tmp/cb-workload-XXXXXX", line[128];
    static const char job[] = "model: llama-8b\nmicro-batch: 2\nstep-time: 3s\n";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, job, sizeof(job) - 1), sizeof(job) - 1);
    close(fd);
    const struct cb_workload *workload = &input.workload.workload;
    snprintf(line, sizeof(line), "run --micro-batch 4 --workload %s --compute-time 2s", path);
    assert_parsed(&input, line);
    assert_near(workload->job.parameters, 8030261248, 0);
    assert_near(workload->job.micro_batch, 4, 0);
    assert_int_equal(workload->span, CB_SPAN_COMPUTE);
    snprintf(line, sizeof(line), "run --workload %s --tensor-parallel 3", path);
    assert_refused(line, "--tensor-parallel (3) must divide --hidden (4096)", "");
    unlink(path);
    snprintf(line, sizeof(line), "run --workload %s", path);
    assert_int_equal(parse(&input, line, &err), CB_E_IO);
    setenv("PMIX_RANK", "1", 1);
    assert_parsed(&input, line);
    unsetenv("PMIX_RANK");
    assert_near(workload->job.parameters, 0, 0);
}

/* Writing: new files, over old ones, nothing left behind when it cannot be. */
static void test_write(void **state)
{
    (void)state;
    char folder[] = "/tmp/cb-options-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char path[64], link_path[64], back[16] = "";
    struct cb_error err;
    struct cb_strbuf text = {0};
    snprintf(path, sizeof(path), "%s/report", folder);
    snprintf(link_path, sizeof(link_path), "%s/link", folder);
    for (int i = 0; i < 2; i++) {
        cb_strbuf_add(&text, "abc\n");
        assert_ok(cb_cli_write(path, &text, &err), &err);
    }
    assert_int_equal(symlink(path, link_path), 0);
    cb_strbuf_add(&text, "d");
    assert_ok(cb_cli_write(link_path, &text, &err), &err);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(back, 1, sizeof(back) - 1, file), 9);
    fclose(file);
    assert_string_equal(back, "abc\nabc\nd");
    struct stat there;
    assert_int_equal(lstat(link_path, &there), 0);
    assert_true(S_ISLNK(there.st_mode));
    assert_ok(cb_cli_write("/dev/null", &text, &err), &err);
    assert_int_equal(stat("/dev/null", &there), 0);
    assert_true(S_ISCHR(there.st_mode));
    assert_int_equal(cb_cli_write("/dev/full", &text, &err), CB_E_IO);
    assert_non_null(strstr(err.what, "/dev/full"));
    assert_int_equal(cb_cli_write("/nowhere/report", &text, &err), CB_E_IO);
    /* A disk that fills up while writing: the old file survives. */
    struct rlimit before, small = {.rlim_cur = 5, .rlim_max = RLIM_INFINITY};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int rc = cb_cli_write(path, &text, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(rc, CB_E_IO);
    assert_int_equal(stat(path, &there), 0);
    assert_int_equal(there.st_size, 9);
    text.failed = true;
    assert_int_equal(cb_cli_write(path, &text, &err), CB_E_MEMORY);
    cb_strbuf_fini(&text);
    unlink(link_path);
    unlink(path);
    assert_int_equal(rmdir(folder), 0); /* no temporary file stayed */
}

static void test_first_process(void **state)
{
    (void)state;
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                            "SLURM_PROCID"};
    for (size_t i = 0; i < 4; i++)
        unsetenv(variables[i]);
    assert_true(cb_cli_is_first());
    for (size_t i = 0; i < 4; i++) {
        setenv(variables[i], "3", 1);
        assert_false(cb_cli_is_first());
        setenv(variables[i], "0", 1);
        assert_true(cb_cli_is_first());
        unsetenv(variables[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_arrive),
        cmocka_unit_test(test_unknown_options),
        cmocka_unit_test(test_abbreviations_are_refused),
        cmocka_unit_test(test_missing_and_surplus_values),
        cmocka_unit_test(test_bad_values_are_named),
        cmocka_unit_test(test_workload),
        cmocka_unit_test(test_workload_conflicts),
        cmocka_unit_test(test_workload_file),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_first_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

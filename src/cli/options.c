#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/suggest.h"
#include "base/vec.h"
#include "cli/build.h"

enum { KEY_HELP = 'h', KEY_VERSION = 'V' };

static const struct argp_option common_options[] = {
    {.name = "help", .key = KEY_HELP, .doc = "Print this help", .group = -1},
    {.name = "version", .key = KEY_VERSION, .doc = "Print the version", .group = -1},
    {0},
};
static const struct argp common_argp = {.options = common_options};

/* One option as the scan below sees it; an alias has its own row. */
struct known_option {
    const char *name; /* NULL when it has only a short form */
    int key;
    bool takes_value;
    char shown[NAME_MAX]; /* "--name", for suggestions */
};

typedef CB_VEC(struct known_option) known_options;

static int add_option(known_options *known, const struct argp_option *option, const char *argument)
{
    struct known_option *added = cb_vec_add(known);
    if (!added)
        return CB_E_MEMORY;
    added->name = option->name;
    added->key = option->key;
    added->takes_value = argument != NULL;
    snprintf(added->shown, sizeof(added->shown), "--%s", option->name ? option->name : "");
    return 0;
}

/* Every option of an argp and its children. An alias has the value of the option it follows. */
static int collect_options(const struct argp *argp, known_options *known)
{
    const struct argp_option *real = argp->options;
    for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++) {
        if (o->flags & OPTION_DOC || (!o->name && !o->key))
            continue;
        if (!(o->flags & OPTION_ALIAS))
            real = o;
        int rc = add_option(known, o, real->arg);
        if (rc)
            return rc;
        if (o->flags & OPTION_ALIAS && o->key == 0)
            known->items[known->count - 1].key = real->key;
    }
    for (const struct argp_child *child = argp->children; child && child->argp; child++) {
        int rc = collect_options(child->argp, known);
        if (rc)
            return rc;
    }
    return 0;
}

static const struct known_option *find_long(const known_options *known, const char *name,
                                            size_t length)
{
    for (size_t i = 0; i < known->count; i++) {
        const char *candidate = known->items[i].name;
        if (candidate && strlen(candidate) == length && strncmp(candidate, name, length) == 0)
            return &known->items[i];
    }
    return NULL;
}

static const struct known_option *find_short(const known_options *known, char letter)
{
    for (size_t i = 0; i < known->count; i++)
        if (known->items[i].key == letter)
            return &known->items[i];
    return NULL;
}

static void hint_at_help(const char *command, struct cb_error *err)
{
    cb_error_set_hint(err, "see commbound%s%s --help", *command ? " " : "", command);
}

static int fail_unknown(const known_options *known, const char *command, const char *text,
                        size_t length, struct cb_error *err)
{
    int shown = (int)(length < 60 ? length : 60);
    int rc = cb_fail(err, CB_E_USAGE, "unknown option '%.*s'", shown, text);
    const char **names = calloc(known->count + 1, sizeof(*names));
    size_t count = 0;
    for (size_t i = 0; names && i < known->count; i++)
        if (known->items[i].name)
            names[count++] = known->items[i].shown;
    char typed[64];
    snprintf(typed, sizeof(typed), "%.*s", shown, text);
    const char *nearest = names ? cb_suggest(typed, names, count) : NULL;
    if (nearest)
        cb_error_set_hint(err, "did you mean '%s'? (see commbound%s%s --help)", nearest,
                          *command ? " " : "", command);
    else
        hint_at_help(command, err);
    free(names);
    return rc;
}

static int fail_missing_value(const char *command, const char *option, struct cb_error *err)
{
    int rc = cb_fail(err, CB_E_USAGE, "%s needs a value", option);
    hint_at_help(command, err);
    return rc;
}

/* One word of the command line: how many words it takes with its value, and whether it asks for
 * help or the version. */
struct word {
    int taken;
    int serve; /* 0, KEY_HELP or KEY_VERSION */
};

static int scan_long(const known_options *known, const char *command, char **words, int left,
                     struct word *out, struct cb_error *err)
{
    const char *name = words[0] + 2;
    size_t length = strcspn(name, "=");
    const struct known_option *option = find_long(known, name, length);
    if (!option)
        return fail_unknown(known, command, words[0], length + 2, err);
    bool attached = name[length] == '=';
    if (attached && !option->takes_value) {
        int rc = cb_fail(err, CB_E_USAGE, "%s takes no value", option->shown);
        hint_at_help(command, err);
        return rc;
    }
    if (option->takes_value && !attached && left < 2)
        return fail_missing_value(command, option->shown, err);
    *out = (struct word){.taken = option->takes_value && !attached ? 2 : 1};
    if (option->key == KEY_HELP || option->key == KEY_VERSION)
        out->serve = option->key;
    return 0;
}

static int scan_short(const known_options *known, const char *command, char **words, int left,
                      struct word *out, struct cb_error *err)
{
    *out = (struct word){.taken = 1};
    for (const char *letter = words[0] + 1; *letter; letter++) {
        const struct known_option *option = find_short(known, *letter);
        if (!option)
            return fail_unknown(known, command, words[0], strlen(words[0]), err);
        if (option->key == KEY_HELP || option->key == KEY_VERSION)
            out->serve = option->key;
        if (!option->takes_value)
            continue;
        if (letter[1] == '\0') {
            char shown[] = {'-', *letter, '\0'};
            if (left < 2)
                return fail_missing_value(command, shown, err);
            out->taken = 2;
        }
        break;
    }
    return 0;
}

/* Looks at the names on the command line before argp does: argp would take an abbreviation, and its
 * own messages name neither the nearest option nor fit on one line. *serve is the first help or
 * version that is asked for, or 0. */
static int scan_names(const known_options *known, int argc, char **argv, int *serve,
                      struct cb_error *err)
{
    *serve = 0;
    for (int i = 1; i < argc && *serve == 0;) {
        struct word word = {.taken = 1};
        int rc = 0;
        if (strcmp(argv[i], "--") == 0)
            break;
        if (strncmp(argv[i], "--", 2) == 0)
            rc = scan_long(known, argv[0], argv + i, argc - i, &word, err);
        else if (argv[i][0] == '-' && argv[i][1] != '\0')
            rc = scan_short(known, argv[0], argv + i, argc - i, &word, err);
        if (rc)
            return rc;
        *serve = word.serve;
        i += word.taken;
    }
    return 0;
}

/* This process's rank as the launcher's environment has it, or NULL without a launcher. */
static const char *launched_rank(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                            "SLURM_PROCID"};
    const char *rank = NULL;
    for (size_t i = 0; !rank && i < sizeof(variables) / sizeof(variables[0]); i++)
        rank = getenv(variables[i]);
    return rank;
}

bool cb_cli_is_first(void)
{
    const char *rank = launched_rank();
    return !rank || strcmp(rank, "0") == 0;
}

static int flush_stdout(struct cb_error *err)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    int rc = cb_fail(err, CB_E_IO, "cannot write to standard output");
    cb_error_set_detail(err, "%s", strerror(errno));
    return rc;
}

static int serve_request(const struct argp *argp, int request, char *command, struct cb_error *err)
{
    if (!cb_cli_is_first())
        return CB_CLI_SERVED;
    if (request == KEY_VERSION) {
        printf("commbound %s\n%s\n", CB_VERSION, CB_BUILD);
    } else {
        /* 80 columns and no note on short options, whatever the environment says. */
        setenv("ARGP_HELP_FMT", "rmargin=79,no-dup-args-note", 1);
        char name[64];
        snprintf(name, sizeof(name), "commbound%s%s", *command ? " " : "", command);
        argp_help(argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
    }
    int rc = flush_stdout(err);
    return rc ? rc : CB_CLI_SERVED;
}

/* The argp above a command's: knows where errors go. A child's parser finds it as
 * state->root_argp, the one thing that argp shows to all of them. */
struct root {
    struct argp argp; /* first: state->root_argp points to it */
    void *command_input;
    struct cb_error *err;
};

static error_t parse_root(int key, char *argument, struct argp_state *state)
{
    (void)argument;
    if (key != ARGP_KEY_INIT)
        return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = ((const struct root *)state->root_argp)->command_input;
    return 0;
}

void cb_cli_pass_error(const struct argp_state *state, const struct cb_cli_input *input)
{
    if (input->error.code)
        *((const struct root *)state->root_argp)->err = input->error;
}

static int run_argp(const struct root *root, int argc, char **argv)
{
    struct cb_cli_input *input = root->command_input;
    struct cb_error *err = root->err;
    int next = argc;
    cb_error_clear(&input->error);
    cb_error_clear(err);
    error_t rc = argp_parse(&root->argp, argc, argv, ARGP_SILENT | ARGP_IN_ORDER, &next, NULL);
    if (rc == 0 && next >= argc)
        return CB_CLI_GO_ON;
    if (input->error.code)
        *err = input->error;
    if (err->code)
        return err->code;
    if (next < argc)
        cb_fail(err, CB_E_USAGE, "unexpected argument '%.60s'", argv[next]);
    else
        cb_fail(err, CB_E_USAGE, "the command line is wrong");
    hint_at_help(argv[0], err);
    return err->code;
}

int cb_cli_parse(const struct argp *argp, int argc, char **argv, void *input, struct cb_error *err)
{
    const struct argp_child children[] = {{.argp = argp}, {.argp = &common_argp, .group = -1}, {0}};
    const struct root root = {
        .argp = {.parser = parse_root, .children = children}, .command_input = input, .err = err};
    known_options known = {0};
    int serve = 0;
    int rc = collect_options(&root.argp, &known);
    if (rc) {
        cb_fail(err, CB_E_MEMORY, "no memory for the command line");
        goto out;
    }
    rc = scan_names(&known, argc, argv, &serve, err);
    if (rc)
        goto out;
    rc = serve ? serve_request(&root.argp, serve, argv[0], err) : run_argp(&root, argc, argv);
out:
    cb_vec_fini(&known);
    return rc;
}

int cb_cli_reject(void *input, const char *option, const char *value,
                  const struct cb_error *parse_error)
{
    struct cb_error *err = &((struct cb_cli_input *)input)->error;
    /* The units parsers show the value themselves. */
    if (strstr(parse_error->what, value))
        cb_fail(err, CB_E_USAGE, "%s: %s", option, parse_error->what);
    else
        cb_fail(err, CB_E_USAGE, "%s %.60s: %.120s", option, value, parse_error->what);
    cb_error_set_detail(err, "%s", parse_error->detail);
    cb_error_set_hint(err, "%s", parse_error->hint);
    return EINVAL;
}

static int write_all(int fd, const struct cb_strbuf *text)
{
    for (size_t done = 0; done < text->length_bytes;) {
        ssize_t written = write(fd, text->text + done, text->length_bytes - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return -1;
        done += (size_t)written;
    }
    return 0;
}

/* A message is one line whatever was typed: control characters become question marks. It goes out
 * in one write, since a launcher mixes its own messages in between two. */
static void put_line(struct cb_strbuf *line)
{
    for (size_t i = 0; i < line->length_bytes; i++) {
        if ((unsigned char)line->text[i] < ' ' || line->text[i] == 0x7f)
            line->text[i] = '?';
    }
    cb_strbuf_addf(line, "\n");
    (void)write_all(STDERR_FILENO, line);
}

int cb_cli_fail(const char *command, const struct cb_error *err)
{
    int status = cb_code_exit_status(err->code);
    if (!cb_cli_is_first())
        return status;
    struct cb_strbuf line = {0};
    cb_strbuf_addf(&line, "commbound%s%s: %s", command && *command ? " " : "",
                   command ? command : "", err->what);
    if (*err->detail)
        cb_strbuf_addf(&line, " (%s)", err->detail);
    if (*err->host)
        cb_strbuf_addf(&line, " on %s", err->host);
    if (*err->host && err->rank >= 0)
        cb_strbuf_addf(&line, ", rank %d", err->rank);
    if (*err->hint)
        cb_strbuf_addf(&line, "; %s", err->hint);
    put_line(&line);
    cb_strbuf_fini(&line);
    return status;
}

static int fail_write(const char *path, struct cb_error *err)
{
    int number = errno;
    int rc = cb_fail(err, CB_E_IO, "cannot write %s", path);
    cb_error_set_detail(err, "%s", strerror(number));
    return rc;
}

/* A device or a pipe is written to, never replaced by a file. */
static int write_device(const char *path, const struct cb_strbuf *text, struct cb_error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_write(path, err);
    int rc = write_all(fd, text) ? fail_write(path, err) : 0;
    if (close(fd) && rc == 0)
        rc = fail_write(path, err);
    return rc;
}

static int write_file(const char *path, const struct cb_strbuf *text, struct cb_error *err)
{
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path) >= (int)sizeof(temporary)) {
        errno = ENAMETOOLONG;
        return fail_write(path, err);
    }
    int fd = mkstemp(temporary);
    if (fd < 0)
        return fail_write(path, err);
    mode_t mask = umask(0);
    umask(mask);
    int rc = 0;
    if (fchmod(fd, 0666 & ~mask) || write_all(fd, text) || fsync(fd))
        rc = fail_write(path, err);
    if (close(fd) && rc == 0)
        rc = fail_write(path, err);
    if (rc == 0 && rename(temporary, path))
        rc = fail_write(path, err);
    if (rc)
        unlink(temporary);
    return rc;
}

int cb_cli_write(const char *path, const struct cb_strbuf *text, struct cb_error *err)
{
    if (text->failed)
        return cb_fail(err, CB_E_MEMORY, "no memory for the report");
    if (!path || strcmp(path, "-") == 0) {
        fwrite(cb_strbuf_get(text), 1, text->length_bytes, stdout);
        return flush_stdout(err);
    }
    struct stat there;
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode))
        return write_device(path, text, err);
    /* Through a symbolic link, so that the link stays one. */
    char *target = realpath(path, NULL);
    int rc = write_file(target ? target : path, text, err);
    free(target);
    return rc;
}

/* mpirun gives its ranks a terminal of their own whatever its own output is: a file, often. */
bool cb_cli_color(void)
{
    const char *no_color = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    return !launched_rank() && isatty(STDOUT_FILENO) && !(no_color && *no_color) && terminal &&
           strcmp(terminal, "dumb") != 0;
}

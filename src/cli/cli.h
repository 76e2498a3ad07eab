/* The command line: what every command shares. Only cli/ prints, and only main() decides the
 * status. */
#ifndef CB_CLI_CLI_H
#define CB_CLI_CLI_H

#include <argp.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/strbuf.h"

/* One command each; argv[0] is the command's name. They return the exit status (docs/design.md,
 * "Exit codes"). None but run starts MPI, and run only after its command line has proved right. */
int cb_cmd_run(int argc, char **argv);
int cb_cmd_judge(int argc, char **argv);
int cb_cmd_predict(int argc, char **argv);
int cb_cmd_report(int argc, char **argv);
int cb_cmd_doctor(int argc, char **argv);
int cb_cmd_topo(int argc, char **argv);

enum cb_cli_outcome { CB_CLI_GO_ON = 0, CB_CLI_SERVED = 1 };

/* Parses a command's options with argp, children included. argv[0] is the command ("run"); help and
 * messages call it "commbound run". Long options must be spelled out: an abbreviation is an unknown
 * option, which is answered with the nearest known one; an option without its value and an argument
 * that no parser took are named. --help (-h) and --version (-V) need not be in the argp. Parsers of
 * the argp report a bad value by filling the struct cb_error that is their input's first member
 * (struct cb_cli_input) and returning EINVAL; a child's passes its own on with cb_cli_pass_error.
 * Returns CB_CLI_GO_ON, CB_CLI_SERVED when --help or --version
 * has been printed to stdout (the command then returns 0), or CB_E_USAGE with err filled. */
int cb_cli_parse(const struct argp *argp, int argc, char **argv, void *input, struct cb_error *err);

/* First member of every argp input, children's inputs included. */
struct cb_cli_input {
    struct cb_error error;
};

/* For the parser of a child, on ARGP_KEY_ERROR: hands the error in its own input, if there is one,
 * to cb_cli_parse, which knows the command's input only. */
void cb_cli_pass_error(const struct argp_state *state, const struct cb_cli_input *input);

/* For use in an argp parser: fills the error with "--name VALUE: why" (VALUE is left out where the
 * reason shows it already) and returns EINVAL. parse_error is what a units parser said. */
int cb_cli_reject(void *input, const char *option, const char *value,
                  const struct cb_error *parse_error);

/* Prints "commbound run: what (detail); hint" as one line on stderr and returns the exit status of
 * the error's code. Under a launcher only the process of rank 0 prints (known from the launcher's
 * environment, since MPI may not have started). */
int cb_cli_fail(const char *command, const struct cb_error *err);

/* Whether this process is the one that speaks: rank 0 under a launcher (its environment says so),
 * or alone. */
bool cb_cli_is_first(void);

/* Reads a whole file ("-": standard input) into *text, which the caller frees; it holds no NUL at
 * its end. Errors: CB_E_IO, CB_E_INPUT when it is larger than limit_bytes. */
int cb_cli_read(const char *path, size_t limit_bytes, char **text, size_t *length_bytes,
                struct cb_error *err);

/* Writes text to a file ("-" or NULL: stdout), atomically for a file. Errors: CB_E_IO. */
int cb_cli_write(const char *path, const struct cb_strbuf *text, struct cb_error *err);

/* Whether ANSI colours may be used on stdout: no launcher in between, a terminal, NO_COLOR unset or
 * empty, TERM set and not dumb. */
bool cb_cli_color(void);

#endif

/* Other programs on this host: where they are, and what they say about themselves. */
#ifndef CB_CLI_PROGRAM_H
#define CB_CLI_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* The path of an executable on PATH. */
bool cb_program_find(const char *name, char *path, size_t size_bytes);

/* The first line that a program with one argument ("--version") writes to its output, made
 * printable. False when it cannot be started or says nothing within timeout_ms; it is killed then.
 */
bool cb_program_ask(const char *path, const char *argument, int timeout_ms, char *line,
                    size_t size_bytes);

/* The file that a shared library of this process was loaded from, by the start of its file name
 * ("libmpi.so"); false when it is not loaded (or linked in statically). */
bool cb_program_find_library(const char *name, char *path, size_t size_bytes);

#endif

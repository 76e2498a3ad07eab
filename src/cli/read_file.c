#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* Reads a stream to its end. Errors are errno's; EFBIG beyond the limit. */
static int read_stream(FILE *file, size_t limit_bytes, char **text, size_t *length_bytes)
{
    size_t capacity = 65536, used = 0;
    char *bytes = malloc(capacity);
    while (bytes) {
        size_t got = fread(bytes + used, 1, capacity - used, file);
        used += got;
        errno = got == 0 && ferror(file) ? errno : used > limit_bytes ? EFBIG : 0;
        if (errno || (got == 0 && feof(file)))
            break;
        if (used < capacity)
            continue;
        char *moved = realloc(bytes, capacity *= 2);
        if (!moved)
            free(bytes);
        bytes = moved;
    }
    int failed = bytes ? errno : ENOMEM;
    if (failed) {
        free(bytes);
        return failed;
    }
    *text = bytes;
    *length_bytes = used;
    return 0;
}

int cb_cli_read(const char *path, size_t limit_bytes, char **text, size_t *length_bytes,
                struct cb_error *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "re");
    if (!file)
        return cb_fail(err, CB_E_IO, "cannot open %s: %s", path, strerror(errno));
    int failed = read_stream(file, limit_bytes, text, length_bytes);
    if (!is_stdin)
        fclose(file);
    const char *name = is_stdin ? "standard input" : path;
    if (failed == EFBIG)
        return cb_fail(err, CB_E_INPUT, "%s: larger than %zu MiB, the most that is read", name,
                       limit_bytes >> 20);
    return failed ? cb_fail(err, CB_E_IO, "cannot read %s: %s", name, strerror(failed)) : 0;
}

/* Result files on disk: read whole, replaced whole. */
#include "result/json.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"

#define TEMPORARY_NAMES 100
#define LOAD_LIMIT_BYTES ((size_t)1 << 30) /* twenty times a result of 16,384 ranks */

/* Reads all of a stream; the caller frees *text. Returns 0, or -1 with errno. */
static int read_all(FILE *file, char **text, size_t *length_bytes)
{
    char *bytes = NULL;
    size_t used = 0, capacity = 0;
    for (;;) {
        if (used == capacity) {
            capacity = capacity ? capacity * 2 : 65536;
            char *moved = capacity <= LOAD_LIMIT_BYTES ? realloc(bytes, capacity) : NULL;
            if (!moved) {
                errno = capacity <= LOAD_LIMIT_BYTES ? ENOMEM : EFBIG;
                break;
            }
            bytes = moved;
        }
        size_t got = fread(bytes + used, 1, capacity - used, file);
        used += got;
        if (got > 0)
            continue;
        if (ferror(file))
            break;
        *text = bytes;
        *length_bytes = used;
        return 0;
    }
    int saved = errno;
    free(bytes);
    errno = saved;
    return -1;
}

int cb_result_load(const char *path, struct cb_result *result, struct cb_error *err)
{
    char *text = NULL;
    size_t length_bytes = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return cb_fail(err, CB_E_IO, "cannot open %s: %s", path, strerror(errno));
    int rc = 0;
    if (read_all(file, &text, &length_bytes) != 0)
        rc = cb_fail(err, CB_E_IO, "cannot read %s: %s", path, strerror(errno));
    fclose(file);
    if (rc == 0)
        rc = cb_result_from_json(path, text, length_bytes, result, err);
    free(text);
    return rc;
}

/* Creates a file that was not there before, beside path, and writes its name into *name. Returns
 * its descriptor, or -1 with errno. */
static int create_beside(const char *path, struct cb_strbuf *name)
{
    int fd = -1;
    for (int i = 0; i < TEMPORARY_NAMES; i++) {
        cb_strbuf_fini(name);
        cb_strbuf_addf(name, "%s.%ld-%d.tmp", path, (long)getpid(), i);
        errno = ENOMEM;
        if (name->failed)
            break;
        fd = open(cb_strbuf_get(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    return fd;
}

static int write_all(int fd, const char *text, size_t length_bytes)
{
    while (length_bytes > 0) {
        ssize_t written = write(fd, text, length_bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -1;
        text += written;
        length_bytes -= (size_t)written;
    }
    return 0;
}

/* Some file systems cannot flush and say EINVAL; that is not a failure to write. */
static int flush(int fd)
{
    return fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : -1;
}

/* Makes the rename itself last. Best effort: the data are safe already. */
static void flush_folder(const char *path)
{
    char *copy = strdup(path);
    int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(copy);
}

/* Returns 0, or -1 with errno and everything as it was. */
static int replace_file(const char *path, const char *text, size_t length_bytes)
{
    struct cb_strbuf temporary = {0};
    int saved = 0;
    int fd = create_beside(path, &temporary);
    if (fd < 0) {
        saved = errno;
        goto free_name;
    }
    if (write_all(fd, text, length_bytes) != 0 || flush(fd) != 0)
        saved = errno;
    if (close(fd) != 0 && !saved) /* network file systems report a full disk here */
        saved = errno;
    if (!saved && rename(cb_strbuf_get(&temporary), path) != 0)
        saved = errno;
    if (saved)
        unlink(cb_strbuf_get(&temporary));
    else
        flush_folder(path);
free_name:
    cb_strbuf_fini(&temporary);
    errno = saved;
    return saved ? -1 : 0;
}

int cb_result_save(const char *path, const struct cb_result *result, struct cb_error *err)
{
    char *text = NULL;
    int rc = cb_result_to_json(result, &text, err);
    if (rc)
        return rc;
    if (replace_file(path, text, strlen(text)) != 0) {
        rc = cb_fail(err, CB_E_IO, "cannot write %s: %s", path, strerror(errno));
        cb_error_set_hint(err, "a result that was there before is untouched; free some space or "
                               "choose another folder with --out");
    }
    free(text);
    return rc;
}

#define _GNU_SOURCE /* dl_iterate_phdr, environ */
#include "cli/program.h"

#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

bool cb_program_find(const char *name, char *path, size_t size_bytes)
{
    const char *folders = getenv("PATH");
    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        int written = snprintf(path, size_bytes, "%.*s/%s", (int)length, folders, name);
        if (length && written > 0 && (size_t)written < size_bytes && access(path, X_OK) == 0)
            return true;
        folders += length;
        folders += *folders == ':';
    }
    return false;
}

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads until a line is whole, the writer ends or time is up. */
static void read_line(int fd, long deadline_ms, char *line, size_t size_bytes)
{
    size_t length = 0;
    line[0] = '\0';
    while (length + 1 < size_bytes && !strchr(line, '\n')) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        long left_ms = deadline_ms - now_ms();
        if (left_ms <= 0 || poll(&ready, 1, (int)left_ms) <= 0)
            break;
        ssize_t got = read(fd, line + length, size_bytes - 1 - length);
        if (got <= 0)
            break;
        length += (size_t)got;
        line[length] = '\0';
    }
    length = strcspn(line, "\n");
    line[length] = '\0';
    for (size_t i = 0; i < length; i++)
        if (line[i] < ' ' || line[i] > '~')
            line[i] = '?';
}

/* Starts it in a process group of its own, so that its children can be ended with it. */
static int start(const char *path, const char *argument, int output, pid_t *pid)
{
    char *const arguments[] = {(char *)path, (char *)argument, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int rc = posix_spawn_file_actions_init(&files);
    if (rc)
        return rc;
    rc = posix_spawnattr_init(&attributes);
    if (rc)
        goto fini_files;
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    rc = posix_spawn(pid, path, &files, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
fini_files:
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

bool cb_program_ask(const char *path, const char *argument, int timeout_ms, char *line,
                    size_t size_bytes)
{
    int ends[2];
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    int rc = start(path, argument, ends[1], &pid);
    close(ends[1]);
    if (!rc)
        read_line(ends[0], now_ms() + timeout_ms, line, size_bytes);
    close(ends[0]);
    if (rc)
        return false;
    /* Enough has been read: whatever it still does is of no interest. */
    kill(-pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return line[0] != '\0';
}

struct library_search {
    const char *name;
    char *path;
    size_t size_bytes;
    bool found;
};

static int look_at_library(struct dl_phdr_info *info, size_t size_bytes, void *input)
{
    struct library_search *search = input;
    const char *slash = strrchr(info->dlpi_name, '/');
    (void)size_bytes;
    if (!slash || strncmp(slash + 1, search->name, strlen(search->name)) != 0)
        return 0;
    snprintf(search->path, search->size_bytes, "%s", info->dlpi_name);
    search->found = true;
    return 1;
}

bool cb_program_find_library(const char *name, char *path, size_t size_bytes)
{
    struct library_search search = {.name = name, .path = path, .size_bytes = size_bytes};
    dl_iterate_phdr(look_at_library, &search);
    return search.found;
}

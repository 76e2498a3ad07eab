#define _GNU_SOURCE /* versionsort */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "topology/internal.h"

void cb_tree_clean(char *out, size_t size_bytes, const char *text)
{
    size_t i = 0;
    for (; text[i] && i + 1 < size_bytes; i++)
        out[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    out[i] = '\0';
}

/* False when the path would be too long to be one. */
static bool join(char path[PATH_MAX], const char *folder, const char *file)
{
    int length = snprintf(path, PATH_MAX, "%s/%s", folder, file);
    return length > 0 && length < PATH_MAX;
}

bool cb_tree_read_text(const char *folder, const char *file, char *text, size_t size_bytes)
{
    char path[PATH_MAX];
    if (!join(path, folder, file))
        return false;
    FILE *stream = fopen(path, "re");
    if (!stream)
        return false;
    size_t length = fread(text, 1, size_bytes - 1, stream);
    bool failed = ferror(stream); /* EINVAL from the speed of a link that is down */
    fclose(stream);
    text[length] = '\0';
    return !failed;
}

bool cb_tree_read_line(const char *folder, const char *file, char *line, size_t size_bytes)
{
    char text[256];
    if (!cb_tree_read_text(folder, file, text, sizeof(text)))
        return false;
    text[strcspn(text, "\n")] = '\0';
    cb_tree_clean(line, size_bytes, text);
    return true;
}

long long cb_tree_read_integer(const char *folder, const char *file, long long missing)
{
    char line[64];
    if (!cb_tree_read_line(folder, file, line, sizeof(line)))
        return missing;
    char *end = line;
    long long value = strtoll(line, &end, 0);
    return end == line || *end ? missing : value;
}

bool cb_tree_exists(const char *folder, const char *file)
{
    char path[PATH_MAX];
    struct stat status;
    /* A link counts even where its target is hidden, as in a container. */
    return join(path, folder, file) && lstat(path, &status) == 0;
}

bool cb_tree_read_link(const char *folder, const char *file, char *name, size_t size_bytes)
{
    char path[PATH_MAX];
    char target[PATH_MAX];
    if (!join(path, folder, file))
        return false;
    ssize_t length = readlink(path, target, sizeof(target) - 1);
    if (length <= 0)
        return false;
    target[length] = '\0';
    const char *slash = strrchr(target, '/');
    cb_tree_clean(name, size_bytes, slash ? slash + 1 : target);
    return true;
}

static int is_not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

size_t cb_tree_list(const char *folder, char ***names)
{
    struct dirent **entries = NULL;
    *names = NULL;
    int found = scandir(folder, &entries, is_not_hidden, versionsort);
    if (found <= 0) {
        free(entries);
        return 0;
    }
    size_t count = 0;
    char **list = calloc((size_t)found, sizeof(*list));
    for (int i = 0; i < found; i++) {
        char *name = list ? strdup(entries[i]->d_name) : NULL;
        if (name)
            list[count++] = name;
        free(entries[i]);
    }
    free(entries);
    *names = list;
    return count;
}

void cb_tree_free_names(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

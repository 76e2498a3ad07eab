#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/internal.h"

/* The number after a key at the start of a line ("MemAvailable:", "inactive_file"), or 0. */
static uint64_t find_value(const char *text, const char *key)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0 && (line[length] == ' ' || line[length] == '\t'))
            return strtoull(line + length, NULL, 10);
    }
    return 0;
}

struct cgroup_files {
    const char *controller; /* its name in /proc/self/cgroup; version 2 has none there */
    const char *mount;
    /* What one cgroup leaves; UINT64_MAX for no limit. */
    uint64_t (*read)(const char *folder, const struct cgroup_files *files);
    const char *limit, *usage;
    const char *reclaimable; /* key of memory.stat: page cache that gives way under pressure */
};

/* What one cgroup leaves; UINT64_MAX when it sets no limit ("max", or a number near 2^63) or does
 * not exist, as when the cgroup that /proc names lies outside the container. */
static uint64_t read_room(const char *folder, const struct cgroup_files *files)
{
    char text[8192] = "";
    long long limit = cb_tree_read_integer(folder, files->limit, -1);
    long long usage = cb_tree_read_integer(folder, files->usage, 0);
    if (limit < 0 || usage < 0)
        return UINT64_MAX;
    cb_tree_read_text(folder, "memory.stat", text, sizeof(text));
    uint64_t cache = find_value(text, files->reclaimable);
    uint64_t used = (uint64_t)usage > cache ? (uint64_t)usage - cache : 0;
    return (uint64_t)limit > used ? (uint64_t)limit - used : 0;
}

static const struct cgroup_files memory_files[] = {
    {"", "/sys/fs/cgroup", read_room, "memory.max", "memory.current", "inactive_file"},
    {"memory", "/sys/fs/cgroup/memory", read_room, "memory.limit_in_bytes", "memory.usage_in_bytes",
     "total_inactive_file"},
};

/* Thousandths of a hardware thread: version 2 says "200000 100000" (time of every period, both in
 * microseconds), or "max 100000"; version 1 says the same in two files. */
static uint64_t read_cpu_room(const char *folder, const struct cgroup_files *files)
{
    char line[64];
    char *end;
    if (!cb_tree_read_line(folder, files->limit, line, sizeof(line)))
        return UINT64_MAX;
    long long quota_us = strtoll(line, &end, 10);
    long long period_us =
        files->usage ? cb_tree_read_integer(folder, files->usage, 0) : strtoll(end, NULL, 10);
    if (quota_us <= 0 || period_us <= 0)
        return UINT64_MAX;
    return (uint64_t)(1000.0 * (double)quota_us / (double)period_us);
}

static const struct cgroup_files cpu_files[] = {
    {"", "/sys/fs/cgroup", read_cpu_room, "cpu.max", NULL, NULL},
    {"cpu", "/sys/fs/cgroup/cpu", read_cpu_room, "cpu.cfs_quota_us", "cpu.cfs_period_us", NULL},
};

/* A cgroup is held to the limits of all its ancestors. */
static uint64_t read_tightest_room(const char *root, const char *cgroup,
                                   const struct cgroup_files *files)
{
    char folder[PATH_MAX];
    int base = snprintf(folder, sizeof(folder), "%s%s", root, files->mount);
    int length = snprintf(folder, sizeof(folder), "%s%s%s", root, files->mount, cgroup);
    if (base < 0 || length < base || (size_t)length >= sizeof(folder))
        return UINT64_MAX;
    uint64_t tightest = UINT64_MAX;
    for (;;) {
        uint64_t room = files->read(folder, files);
        if (room < tightest)
            tightest = room;
        char *slash = strrchr(folder + base, '/');
        if (!slash)
            return tightest;
        *slash = '\0';
    }
}

/* Whether a comma-separated list holds a word. */
static bool list_has(const char *list, size_t length, const char *word)
{
    size_t word_length = strlen(word);
    for (const char *item = list;;) {
        size_t rest = length - (size_t)(item - list);
        const char *comma = memchr(item, ',', rest);
        size_t item_length = comma ? (size_t)(comma - item) : rest;
        if (item_length == word_length && memcmp(item, word, word_length) == 0)
            return true;
        if (!comma)
            return false;
        item = comma + 1;
    }
}

/* Lines of /proc/self/cgroup are "4:memory:/path" or, for version 2, "0::/path". */
static uint64_t read_cgroup_room(const char *root, const struct cgroup_files *hierarchies,
                                 size_t count)
{
    char folder[PATH_MAX];
    char text[8192];
    uint64_t room = UINT64_MAX;
    snprintf(folder, sizeof(folder), "%s/proc/self", root);
    if (!cb_tree_read_text(folder, "cgroup", text, sizeof(text)))
        return room;
    char *rest = text;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path || strstr(path, "/.."))
            continue;
        size_t length = (size_t)(path - controllers - 1);
        for (size_t i = 0; i < count; i++) {
            if (!list_has(controllers + 1, length, hierarchies[i].controller))
                continue;
            uint64_t found = read_tightest_room(root, path + 1, &hierarchies[i]);
            room = found < room ? found : room;
        }
    }
    return room;
}

static uint64_t read_meminfo(const char *root, const char *key)
{
    char folder[PATH_MAX];
    char text[4096] = "";
    snprintf(folder, sizeof(folder), "%s/proc", root);
    cb_tree_read_text(folder, "meminfo", text, sizeof(text));
    return find_value(text, key) * 1024;
}

uint64_t cb_topo_read_available_memory(const char *root)
{
    uint64_t available = read_meminfo(root, "MemAvailable:");
    uint64_t room =
        read_cgroup_room(root, memory_files, sizeof(memory_files) / sizeof(*memory_files));
    return available && room < available ? room : available;
}

uint64_t cb_topo_read_total_memory(const char *root)
{
    return read_meminfo(root, "MemTotal:");
}

double cb_topo_read_cpu_limit(const char *root)
{
    uint64_t room = read_cgroup_room(root, cpu_files, sizeof(cpu_files) / sizeof(*cpu_files));
    return room == UINT64_MAX ? 0 : (double)room / 1000;
}

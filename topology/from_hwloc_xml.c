/* Files of lstopo, read by hwloc in a process of its own: hwloc trusts what it reads, and a file
 * with an attribute missing is enough to make it crash, or print. What comes back is held against
 * the same rules as any file (map.c). */
#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "topology/hwloc_text.h"
#include "topology/map_read.h"

#define CHILD_CPU_S 10

/* What the child writes, followed by its devices and links. */
struct answer {
    int rc;
    struct cb_error err;
    char name[sizeof(((struct cb_map *)0)->name)];
    bool hides_nvlink;
    size_t device_count, link_count;
};

/* ---- the child ---- */

static bool load(const struct cb_strbuf *text, hwloc_topology_t *out)
{
    hwloc_topology_t topology = NULL;
    if (hwloc_topology_init(&topology) != 0)
        return false;
    /* Without the filter hwloc leaves out devices, and links between them too. The buffer's length
     * counts its NUL. */
    if (hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) != 0 ||
        hwloc_topology_set_xmlbuffer(topology, cb_strbuf_get(text), (int)text->length_bytes + 1) !=
            0 ||
        hwloc_topology_load(topology) != 0) {
        hwloc_topology_destroy(topology);
        return false;
    }
    *out = topology;
    return true;
}

static bool write_all(int fd, const void *data, size_t length_bytes)
{
    const char *at = data;
    while (length_bytes > 0) {
        ssize_t written = write(fd, at, length_bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        at += written;
        length_bytes -= (size_t)written;
    }
    return true;
}

/* Nothing of hwloc's may reach the terminal, nor a runaway outlive its purpose. */
static void confine(void)
{
    const struct rlimit cpu = {CHILD_CPU_S, CHILD_CPU_S}, core = {0, 0};
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere >= 0) {
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
    }
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_CORE, &core);
    setenv("HWLOC_LIBXML_IMPORT", "0", 1); /* hwloc's own parser knows no entities at all */
}

static void answer(int fd, const struct cb_strbuf *text)
{
    struct answer answer = {0};
    struct cb_map_builder builder;
    hwloc_topology_t topology;
    confine();
    cb_map_builder_init(&builder, CB_MAP_FROM_HWLOC);
    answer.rc = load(text, &topology) ? cb_map_add_hwloc(topology, &builder, &answer.err)
                                      : CB_E_UNSUPPORTED; /* nothing else says that here */
    const struct cb_map *map = &builder.map;
    memcpy(answer.name, map->name, sizeof(answer.name));
    answer.hides_nvlink = map->hides_nvlink;
    answer.device_count = answer.rc ? 0 : map->devices.count;
    answer.link_count = answer.rc ? 0 : map->links.count;
    if (write_all(fd, &answer, sizeof(answer)) &&
        write_all(fd, map->devices.items, answer.device_count * sizeof(*map->devices.items)))
        write_all(fd, map->links.items, answer.link_count * sizeof(*map->links.items));
}

/* ---- the parent ---- */

static bool read_all(int fd, void *data, size_t length_bytes)
{
    char *at = data;
    while (length_bytes > 0) {
        ssize_t got = read(fd, at, length_bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        length_bytes -= (size_t)got;
    }
    return true;
}

static int refuse(const char *name, const char *version, struct cb_error *err)
{
    int major = HWLOC_API_VERSION >> 16;
    if (strtol(version, NULL, 10) > major) {
        cb_fail(err, CB_E_INPUT, "%s: hwloc %d cannot read this file of lstopo, format %s", name,
                major, version);
        cb_error_set_hint(err, "export it with: lstopo --export-xml-flags v%d FILE.xml", major);
    } else {
        cb_fail(err, CB_E_INPUT, "%s: not as lstopo writes format %s: hwloc %d refuses it", name,
                version, major);
        cb_error_set_hint(err, "export it anew, with lstopo of hwloc %d: lstopo FILE.xml", major);
    }
    return CB_E_INPUT;
}

/* Takes over the rows that follow an answer. False when they end early. */
static bool take_rows(int fd, const struct answer *answer, struct cb_map_builder *builder, int *rc,
                      struct cb_error *err)
{
    memcpy(builder->map.name, answer->name, sizeof(answer->name));
    builder->map.hides_nvlink = answer->hides_nvlink;
    for (size_t i = 0; *rc >= 0 && i < answer->device_count; i++) {
        struct cb_map_device device;
        if (!read_all(fd, &device, sizeof(device)))
            return false;
        *rc = cb_map_builder_add(builder, &device, err);
    }
    for (size_t i = 0; *rc >= 0 && i < answer->link_count; i++) {
        struct cb_map_link link;
        if (!read_all(fd, &link, sizeof(link)))
            return false;
        *rc = cb_map_builder_link(builder, &link, err);
    }
    return true;
}

static int take_answer(int fd, const char *name, const char *version,
                       struct cb_map_builder *builder, struct cb_error *err)
{
    struct answer answer;
    int rc = 0;
    if (!read_all(fd, &answer, sizeof(answer)) || answer.rc == CB_E_UNSUPPORTED)
        return refuse(name, version, err);
    if (answer.rc)
        return cb_fail(err, (enum cb_code)answer.rc, "%s: %s", name, answer.err.what);
    if (!take_rows(fd, &answer, builder, &rc, err))
        return refuse(name, version, err);
    return rc < 0 ? rc : 0;
}

/* Lets a child read the text and takes over what it makes of it. */
static int read_apart(const char *name, const struct cb_strbuf *text, const char *version,
                      struct cb_map_builder *builder, struct cb_error *err)
{
    int ends[2];
    if (pipe(ends) != 0)
        return cb_fail(err, CB_E_IO, "cannot read %s in a process apart: %s", name,
                       strerror(errno));
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        answer(ends[1], text);
        _exit(0);
    }
    close(ends[1]);
    int rc = child < 0 ? cb_fail(err, CB_E_IO, "cannot read %s in a process apart: %s", name,
                                 strerror(errno))
                       : take_answer(ends[0], name, version, builder, err);
    close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
    return rc;
}

int cb_map_from_hwloc_xml(const char *name, const char *text, size_t length_bytes,
                          struct cb_map *map, struct cb_error *err)
{
    char version[16];
    struct cb_strbuf clean = {0};
    struct cb_map_builder builder;
    cb_map_builder_init(&builder, CB_MAP_FROM_HWLOC);
    int rc = cb_hwloc_text_clean(name, text, length_bytes, &clean, version, err);
    if (!rc)
        rc = read_apart(name, &clean, version, &builder, err);
    if (!rc)
        rc = cb_map_builder_finish(&builder, map, err);
    cb_map_builder_fini(&builder);
    cb_strbuf_fini(&clean);
    return rc;
}

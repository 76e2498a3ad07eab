#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

#include "topology/hwloc_text.h"
#include "topology/map_read.h"

/* hwloc's own words about a file's oddities would go to the user's terminal. */
static void silence(void)
{
    setenv("HWLOC_HIDE_ERRORS", "2", 0);
}

static int refuse(const char *name, const char *version, struct cb_error *err)
{
    int major = HWLOC_API_VERSION >> 16;
    cb_fail(err, CB_E_INPUT, "%s: hwloc %d cannot read this file of lstopo, format %s", name, major,
            version);
    if (strtol(version, NULL, 10) > major)
        cb_error_set_hint(err, "export it with: lstopo --export-xml-flags v%d FILE.xml", major);
    else
        cb_error_set_hint(err, "export it anew with lstopo of hwloc %d: lstopo FILE.xml", major);
    return CB_E_INPUT;
}

static int load(const char *name, const struct cb_strbuf *text, const char *version,
                hwloc_topology_t *out, struct cb_error *err)
{
    hwloc_topology_t topology = NULL;
    silence();
    if (hwloc_topology_init(&topology) != 0)
        return cb_fail(err, CB_E_MEMORY, "hwloc cannot start");
    /* Without the filter hwloc leaves out devices, and links between them too. The buffer's length
     * counts its NUL. */
    if (hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) != 0 ||
        hwloc_topology_set_xmlbuffer(topology, cb_strbuf_get(text), (int)text->length_bytes + 1) !=
            0 ||
        hwloc_topology_load(topology) != 0) {
        hwloc_topology_destroy(topology);
        return refuse(name, version, err);
    }
    *out = topology;
    return 0;
}

int cb_map_from_hwloc_xml(const char *name, const char *text, size_t length_bytes,
                          struct cb_map *map, struct cb_error *err)
{
    char version[16];
    struct cb_strbuf clean = {0};
    hwloc_topology_t topology = NULL;
    struct cb_map_builder builder;
    cb_map_builder_init(&builder, CB_MAP_FROM_HWLOC);
    int rc = cb_hwloc_text_clean(name, text, length_bytes, &clean, version, err);
    if (!rc)
        rc = load(name, &clean, version, &topology, err);
    if (!rc) {
        rc = cb_map_add_hwloc(topology, &builder, err);
        hwloc_topology_destroy(topology);
    }
    if (!rc)
        rc = cb_map_builder_finish(&builder, map, err);
    cb_map_builder_fini(&builder);
    cb_strbuf_fini(&clean);
    return rc;
}

#include "topology/map_read.h"

int cb_map_from_hwloc_xml(const char *name, const char *text, size_t length_bytes,
                          struct cb_map *map, struct cb_error *err)
{
    (void)text;
    (void)length_bytes;
    (void)map;
    cb_fail(err, CB_E_UNSUPPORTED, "%s: a file of lstopo, which this build cannot read", name);
    cb_error_set_hint(err, "build commbound with libhwloc-dev installed");
    return CB_E_UNSUPPORTED;
}

/* Renders the map of a machine for a person or a program. Pure. */
#ifndef CB_REPORT_TOPOLOGY_H
#define CB_REPORT_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "topology/findings.h"
#include "topology/map.h"

#define CB_TOPOLOGY_SCHEMA "commbound.topology"
#define CB_TOPOLOGY_SCHEMA_VERSION 1

enum cb_topology_format {
    CB_TOPOLOGY_TEXT,
    CB_TOPOLOGY_JSON,
    CB_TOPOLOGY_SVG,
    CB_TOPOLOGY_FORMAT_COUNT
};

/* Of "text", "json", "svg"; -1 for another name. */
int cb_topology_format_parse(const char *name);

/* What is rendered; all borrowed. */
struct cb_topology {
    const struct cb_map *map;
    const struct cb_finding *findings; /* the most severe first */
    size_t finding_count;
    const char *origin; /* the file, or "this machine" */
    bool color;         /* of text */
};

/* Appends the map. Text is laid out for 80 columns: a tree, nearest NICs, matrices in groups of
 * columns, links, findings. JSON is what docs/result-schema.md describes. SVG is one picture
 * without scripts or references; of a machine too large for one it shows the first GPUs and NICs
 * and says so. Errors: CB_E_MEMORY. */
int cb_topology_render(const struct cb_topology *topology, enum cb_topology_format format,
                       struct cb_strbuf *out, struct cb_error *err);

#endif

#include "result/json_fields.h"
#include "result/json_shape.h"

NAMES(import_state, "state", CB_IMPORT_STATE_COUNT);

static const struct cb_json_field finding_fields[] = {
    FIELD(import_finding, code, "code", ALWAYS),
    FIELD(import_finding, line, "line", ZERO),
    FIELD(import_finding, text, "text", ALWAYS),
    FIELD(import_finding, hint, "hint", ZERO),
};
static const struct cb_json_shape finding_shape = SHAPE(finding_fields, import_finding, true);

static const struct cb_json_field import_fields[] = {
    FIELD(import, file, "file", ALWAYS),
    FIELD(import, first_line, "first_line", ZERO),
    FIELD(import, tool, "tool", ZERO),
    FIELD(import, op, "op", ZERO),
    FIELD(import, dtype, "dtype", ZERO),
    FIELD(import, gpu, "gpu", ZERO),
    FIELD(import, ranks, "ranks", ZERO),
    FIELD(import, nodes, "nodes", ZERO),
    FIELD(import, rows, "rows", 0),
    FIELD(import, largest_bytes, "largest_bytes", ZERO),
    FIELD(import, best_bus_bytes_per_s, "best_busbw_bytes_per_s", ZERO),
    FIELD(import, best_in_place_bytes_per_s, "best_busbw_in_place_bytes_per_s", ZERO),
    FIELD(import, best_bytes, "best_bytes", ZERO),
    FIELD(import, latency_s, "latency_s", ZERO),
    NAMED(import, state, "state", ALWAYS, import_state_names),
    ROWS(import, findings, "findings", 0, finding_shape),
};
const struct cb_json_shape cb_json_import_shape = SHAPE(import_fields, import, false);

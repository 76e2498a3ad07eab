/* The map as JSON: docs/result-schema.md says what the keys mean. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/topology_layout.h"
#include "result/json_text.h"

#define TEXT_BYTES 512

static void add_string(struct cb_strbuf *out, const char *text)
{
    char clean[TEXT_BYTES];
    cb_json_clean(text, strlen(text), clean, sizeof(clean));
    cb_strbuf_add(out, "\"");
    for (const char *c = clean; *c; c++) /* a clean text needs no other escapes */
        cb_strbuf_addf(out, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
    cb_strbuf_add(out, "\"");
}

static void add_string_or_null(struct cb_strbuf *out, const char *text)
{
    if (text && *text)
        add_string(out, text);
    else
        cb_strbuf_add(out, "null");
}

static void add_integer_or_null(struct cb_strbuf *out, int value)
{
    if (value >= 0)
        cb_strbuf_addf(out, "%d", value);
    else
        cb_strbuf_add(out, "null");
}

/* Base units, whole: a rate of the map has no more than four digits that mean anything. */
static void add_rate_or_null(struct cb_strbuf *out, double bytes_per_s)
{
    if (bytes_per_s > 0)
        cb_strbuf_addf(out, "%.0f", bytes_per_s);
    else
        cb_strbuf_add(out, "null");
}

static void add_name(struct cb_strbuf *out, const struct cb_map *map, int device)
{
    char buffer[48];
    add_string(out, cb_topology_name(map, device, buffer));
}

/* The source's numbers where every GPU has one of its own, else the place in the list. */
static bool has_numbers(const struct cb_map *map)
{
    for (size_t i = 0; i < map->gpus.count; i++) {
        int index = map->devices.items[map->gpus.items[i]].gpu_index;
        for (size_t k = 0; k < i; k++)
            if (map->devices.items[map->gpus.items[k]].gpu_index == index)
                return false;
        if (index < 0)
            return false;
    }
    return true;
}

/* Rows of an array stand one to a line. */
static void begin_row(struct cb_strbuf *out, bool *is_first)
{
    cb_strbuf_add(out, *is_first ? "\n    {" : ",\n    {");
    *is_first = false;
}

static void end_rows(struct cb_strbuf *out, bool is_empty)
{
    cb_strbuf_add(out, is_empty ? "]" : "\n  ]");
}

static int add_nearest(struct cb_strbuf *out, const struct cb_map *map, int gpu,
                       struct cb_error *err)
{
    struct cb_map_nearest nearest;
    int *nics = malloc((map->nics.count + 1) * sizeof(*nics));
    if (!nics)
        return cb_fail(err, CB_E_MEMORY, "out of memory while writing the map");
    cb_map_nearest_nics(map, gpu, nics, map->nics.count, &nearest);
    cb_strbuf_add(out, ", \"nearest_nics\": [");
    for (size_t i = 0; i < nearest.count; i++) {
        cb_strbuf_add(out, i ? ", {\"name\": " : "{\"name\": ");
        add_name(out, map, nics[i]);
        cb_strbuf_add(out, ", \"bus_id\": ");
        add_string_or_null(out, map->devices.items[nics[i]].bus_id);
        cb_strbuf_add(out, "}");
    }
    cb_strbuf_add(out, "], \"nic_path\": ");
    add_string_or_null(out, nearest.count ? cb_path_class_name(nearest.path_class) : NULL);
    free(nics);
    return 0;
}

static int add_gpus(struct cb_strbuf *out, const struct cb_map *map, struct cb_error *err)
{
    bool is_first = true, numbered = has_numbers(map);
    int rc = 0;
    cb_strbuf_add(out, ",\n  \"gpus\": [");
    for (size_t i = 0; i < map->gpus.count && rc == 0; i++) {
        const struct cb_map_device *gpu = &map->devices.items[map->gpus.items[i]];
        begin_row(out, &is_first);
        cb_strbuf_addf(out, "\"index\": %d, \"name\": ", numbered ? gpu->gpu_index : (int)i);
        add_name(out, map, map->gpus.items[i]);
        cb_strbuf_add(out, ", \"bus_id\": ");
        add_string_or_null(out, gpu->bus_id);
        cb_strbuf_add(out, ", \"numa\": ");
        add_integer_or_null(out, gpu->numa);
        rc = add_nearest(out, map, map->gpus.items[i], err);
        cb_strbuf_add(out, "}");
    }
    end_rows(out, is_first);
    return rc;
}

static void add_nics(struct cb_strbuf *out, const struct cb_map *map)
{
    static const char *const up[] = {
        [CB_UP_UNKNOWN] = "null", [CB_UP_YES] = "true", [CB_UP_NO] = "false"};
    bool is_first = true;
    cb_strbuf_add(out, ",\n  \"nics\": [");
    for (size_t i = 0; i < map->nics.count; i++) {
        const struct cb_map_device *nic = &map->devices.items[map->nics.items[i]];
        begin_row(out, &is_first);
        cb_strbuf_addf(out, "\"index\": %zu, \"name\": ", i);
        add_name(out, map, map->nics.items[i]);
        cb_strbuf_add(out, ", \"bus_id\": ");
        add_string_or_null(out, nic->bus_id);
        cb_strbuf_add(out, ", \"numa\": ");
        add_integer_or_null(out, nic->numa);
        cb_strbuf_add(out, ", \"kind\": ");
        add_string_or_null(
            out, nic->port == CB_MAP_LINK_UNKNOWN ? NULL : cb_map_link_kind_name(nic->port));
        cb_strbuf_addf(out, ", \"rdma\": %s, \"up\": %s, \"bytes_per_s_one_way\": ",
                       nic->is_rdma ? "true" : "false", up[nic->up]);
        add_rate_or_null(out, nic->port_bytes_per_s);
        cb_strbuf_add(out, "}");
    }
    end_rows(out, is_first);
}

/* A pair whose path the source does not show has no row. */
static void add_link(struct cb_strbuf *out, const struct cb_map *map, int a, int b, bool *is_first)
{
    struct cb_map_path path;
    char buffer[16];
    cb_map_path(map, a, b, &path);
    if (path.kind == CB_MAP_LINK_UNKNOWN && path.path_class == CB_CLASS_UNKNOWN)
        return;
    begin_row(out, is_first);
    cb_strbuf_add(out, "\"a\": ");
    add_name(out, map, a);
    cb_strbuf_add(out, ", \"b\": ");
    add_name(out, map, b);
    cb_strbuf_add(out, ", \"kind\": ");
    add_string_or_null(out,
                       path.kind == CB_MAP_LINK_UNKNOWN ? NULL : cb_map_link_kind_name(path.kind));
    cb_strbuf_add(out, ", \"path\": ");
    add_string_or_null(out, cb_map_path_name(&path, buffer));
    cb_strbuf_add(out, ", \"bytes_per_s_one_way\": ");
    add_rate_or_null(out, path.is_upper_bound ? 0 : path.bytes_per_s_one_way);
    cb_strbuf_add(out, "}");
}

static void add_links(struct cb_strbuf *out, const struct cb_map *map)
{
    bool is_first = true;
    cb_strbuf_add(out, ",\n  \"links\": [");
    for (size_t i = 0; i < map->gpus.count; i++)
        for (size_t k = i + 1; k < map->gpus.count; k++)
            add_link(out, map, map->gpus.items[i], map->gpus.items[k], &is_first);
    for (size_t i = 0; i < map->gpus.count; i++)
        for (size_t k = 0; k < map->nics.count; k++)
            add_link(out, map, map->gpus.items[i], map->nics.items[k], &is_first);
    end_rows(out, is_first);
}

static void add_findings(struct cb_strbuf *out, const struct cb_topology *topology)
{
    bool is_first = true;
    cb_strbuf_add(out, ",\n  \"findings\": [");
    for (size_t i = 0; i < topology->finding_count; i++) {
        const struct cb_finding *finding = &topology->findings[i];
        begin_row(out, &is_first);
        cb_strbuf_add(out, "\"code\": ");
        add_string(out, finding->code);
        cb_strbuf_add(out, ", \"severity\": ");
        add_string(out, cb_severity_name(finding->severity));
        cb_strbuf_add(out, ",\n     \"seen\": ");
        add_string(out, finding->seen);
        cb_strbuf_add(out, ",\n     \"why\": ");
        add_string(out, finding->why);
        cb_strbuf_add(out, ",\n     \"remedy\": ");
        add_string(out, finding->remedy);
        cb_strbuf_add(out, "}");
    }
    end_rows(out, is_first);
}

int cb_topology_add_json(const struct cb_topology *topology, struct cb_strbuf *out,
                         struct cb_error *err)
{
    cb_strbuf_addf(out, "{\n  \"schema\": \"%s\",\n  \"version\": %d", CB_TOPOLOGY_SCHEMA,
                   CB_TOPOLOGY_SCHEMA_VERSION);
    int rc = add_gpus(out, topology->map, err);
    if (rc)
        return rc;
    add_nics(out, topology->map);
    add_links(out, topology->map);
    add_findings(out, topology);
    cb_strbuf_add(out, "\n}\n");
    return 0;
}

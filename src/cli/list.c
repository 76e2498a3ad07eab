#include "cli/list.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/table.h"
#include "base/units.h"
#include "reference/gpus.h"
#include "reference/links.h"
#include "reference/models.h"

static const char *const names[] = {
    [CB_LIST_GPUS] = "gpus", [CB_LIST_LINKS] = "links", [CB_LIST_MODELS] = "models"};
_Static_assert(sizeof(names) / sizeof(names[0]) == CB_LIST_COUNT, "one name per list");

int cb_list_parse(const char *name)
{
    return cb_names_find(names, CB_LIST_COUNT, name);
}

/* ---- the columns ---- */

typedef const char *format_function(char out[CB_UNIT_TEXT], double value);

/* One fact of a row: a text, or a number in base units (negative or 0: not known). */
struct column {
    const char *key;     /* of JSON and CSV */
    const char *heading; /* of the text; NULL: left out there */
    const char *(*text)(const void *row);
    double (*number)(const void *row);
    format_function *format; /* of the number in the text */
};

#define TEXT_OF(type, member)                                                                      \
    static const char *type##_##member(const void *row)                                            \
    {                                                                                              \
        return ((const struct cb_##type *)row)->member;                                            \
    }
#define NUMBER_OF(type, name, expression)                                                          \
    static double type##_##name(const void *row)                                                   \
    {                                                                                              \
        const struct cb_##type *is = row;                                                          \
        return expression;                                                                         \
    }

static const char *format_integer(char out[CB_UNIT_TEXT], double value)
{
    snprintf(out, CB_UNIT_TEXT, "%.0f", value);
    return out;
}

static const char *format_gigabytes(char out[CB_UNIT_TEXT], double bytes)
{
    snprintf(out, CB_UNIT_TEXT, "%.4g GB", bytes / 1e9);
    return out;
}

/* 70553706496 as "70.6B": three digits suffice for a list. */
static const char *format_rounded_count(char out[CB_UNIT_TEXT], double count)
{
    double unit = pow(10, floor(log10(count)) - 2);
    return cb_format_count(out, round(count / unit) * unit);
}

TEXT_OF(gpu_reference, id)
TEXT_OF(gpu_reference, name)
TEXT_OF(gpu_reference, chip)
TEXT_OF(gpu_reference, sources)
TEXT_OF(gpu_reference, note)
NUMBER_OF(gpu_reference, memory, is->memory_bytes)
NUMBER_OF(gpu_reference, memory_rate, is->memory_bytes_per_s)
NUMBER_OF(gpu_reference, half, is->peak_flops_per_s[CB_PEAK_FP16])
NUMBER_OF(gpu_reference, nvlinks, is->nvlinks)
NUMBER_OF(gpu_reference, nvlink_rate, is->nvlink_bytes_per_s)
NUMBER_OF(gpu_reference, pcie, is->pcie_generation)
NUMBER_OF(gpu_reference, power, is->power_w)

static double gpu_reference_gemm(const void *row)
{
    struct cb_achievable achievable;
    cb_gpu_reference_achievable(row, CB_RATE_BURST, CB_DTYPE_BFLOAT16, &achievable);
    return achievable.low_per_s;
}

static const char *gpu_reference_gemm_source(const void *row)
{
    struct cb_achievable achievable;
    cb_gpu_reference_achievable(row, CB_RATE_BURST, CB_DTYPE_BFLOAT16, &achievable);
    return achievable.source ? achievable.source : "";
}

static const struct column gpu_columns[] = {
    {"id", "id", gpu_reference_id, NULL, NULL},
    {"name", NULL, gpu_reference_name, NULL, NULL},
    {"chip", NULL, gpu_reference_chip, NULL, NULL},
    {"memory_bytes", "memory", NULL, gpu_reference_memory, format_gigabytes},
    {"memory_bytes_per_s", NULL, NULL, gpu_reference_memory_rate, NULL},
    {"fp16_flops_per_s", "fp16", NULL, gpu_reference_half, cb_format_flops},
    {"bfloat16_gemm_flops_per_s", "seen", NULL, gpu_reference_gemm, cb_format_flops},
    {"bfloat16_gemm_source", NULL, gpu_reference_gemm_source, NULL, NULL},
    {"nvlinks", NULL, NULL, gpu_reference_nvlinks, NULL},
    {"nvlink_bytes_per_s", "NVLink", NULL, gpu_reference_nvlink_rate, cb_format_bandwidth},
    {"pcie_generation", NULL, NULL, gpu_reference_pcie, NULL},
    {"power_w", NULL, NULL, gpu_reference_power, NULL},
    {"sources", "source", gpu_reference_sources, NULL, NULL},
    {"note", NULL, gpu_reference_note, NULL, NULL},
};

TEXT_OF(link_reference, name)
TEXT_OF(link_reference, generation)
TEXT_OF(link_reference, source)
TEXT_OF(link_reference, practical_basis)
TEXT_OF(link_reference, note)
NUMBER_OF(link_reference, links, is->links)
NUMBER_OF(link_reference, lanes, is->lanes)
NUMBER_OF(link_reference, nominal, is->nominal_bytes_per_s)
NUMBER_OF(link_reference, both_ways, is->both_ways_bytes_per_s)
NUMBER_OF(link_reference, payload, is->payload_bytes_per_s)
NUMBER_OF(link_reference, low, is->practical_low_bytes_per_s)
NUMBER_OF(link_reference, high, is->practical_high_bytes_per_s)

static const char *link_reference_family(const void *row)
{
    return cb_link_family_name(((const struct cb_link_reference *)row)->family);
}

static const char *link_reference_scope(const void *row)
{
    static const char *const scopes[] = {
        [CB_LINK_PER_GPU] = "GPU", [CB_LINK_PER_PORT] = "port", [CB_LINK_PER_NODE] = "node"};
    return scopes[((const struct cb_link_reference *)row)->scope];
}

static const struct column link_columns[] = {
    {"name", "name", link_reference_name, NULL, NULL},
    {"family", NULL, link_reference_family, NULL, NULL},
    {"generation", NULL, link_reference_generation, NULL, NULL},
    {"per", "per", link_reference_scope, NULL, NULL},
    {"links", NULL, NULL, link_reference_links, NULL},
    {"lanes", NULL, NULL, link_reference_lanes, NULL},
    {"both_ways_bytes_per_s", "both ways", NULL, link_reference_both_ways, cb_format_bandwidth},
    {"nominal_bytes_per_s", NULL, NULL, link_reference_nominal, NULL},
    {"payload_bytes_per_s", "one way", NULL, link_reference_payload, cb_format_bandwidth},
    {"practical_low_bytes_per_s", "practical", NULL, link_reference_low, cb_format_bandwidth},
    {"practical_high_bytes_per_s", NULL, NULL, link_reference_high, NULL},
    {"practical_basis", "seen by", link_reference_practical_basis, NULL, NULL},
    {"source", "source", link_reference_source, NULL, NULL},
    {"note", NULL, link_reference_note, NULL, NULL},
};

TEXT_OF(model_row, name)
TEXT_OF(model_row, title)
TEXT_OF(model_row, source)
NUMBER_OF(model_row, parameters, is->parameters)
NUMBER_OF(model_row, active, is->active_parameters)
NUMBER_OF(model_row, layers, is->layers)
NUMBER_OF(model_row, hidden, is->hidden)
NUMBER_OF(model_row, sequence, is->sequence)
NUMBER_OF(model_row, sample_flops, is->sample_flops)

static const struct column model_columns[] = {
    {"name", "name", model_row_name, NULL, NULL},
    {"title", "model", model_row_title, NULL, NULL},
    {"parameters", "size", NULL, model_row_parameters, format_rounded_count},
    {"active_parameters", "active", NULL, model_row_active, format_rounded_count},
    {"layers", "layers", NULL, model_row_layers, format_integer},
    {"hidden", "hidden", NULL, model_row_hidden, format_integer},
    {"sequence", "sequence", NULL, model_row_sequence, format_integer},
    {"sample_flops", NULL, NULL, model_row_sample_flops, NULL},
    {"source", "source", model_row_source, NULL, NULL},
};

/* ---- the tables ---- */

/* What each of them is. */
struct list {
    const char *about; /* above the table, in the text */
    const struct column *columns;
    size_t column_count;
    size_t row_bytes;
    const char *rows;
    size_t row_count;
    bool has_keys; /* its sources are keys, one per character */
};

#define COLUMNS(table) .columns = (table), .column_count = sizeof(table) / sizeof((table)[0])

static struct list find_list(enum cb_list which)
{
    struct list list = {0};
    switch (which) {
    case CB_LIST_GPUS:
        list = (struct list){
            .about = "GPUs by their ids or the names that the driver prints. fp16 is the dense "
                     "peak of the data sheet, seen what healthy cards reached in a bfloat16 GEMM, "
                     "NVLink all links one way.",
            COLUMNS(gpu_columns),
            .row_bytes = sizeof(struct cb_gpu_reference),
            .has_keys = true};
        list.rows = (const char *)cb_gpu_references(&list.row_count);
        break;
    case CB_LIST_LINKS:
        list = (struct list){
            .about = "Links: all of a GPU's, or one port, or all ports of a node. NVLink is sold "
                     "by both ways added. One way is what is left after coding; practical is what "
                     "was seen, or for TCP and some RoCE what the headers leave.",
            COLUMNS(link_columns),
            .row_bytes = sizeof(struct cb_link_reference)};
        list.rows = (const char *)cb_link_references(&list.row_count);
        break;
    default:
        list = (struct list){.about = "Models, for --model. Active parameters are those that one "
                                      "token passes.",
                             COLUMNS(model_columns),
                             .row_bytes = sizeof(struct cb_model_row)};
        list.rows = (const char *)cb_models(&list.row_count);
        break;
    }
    return list;
}

static const void *row_of(const struct list *list, size_t row)
{
    return list->rows + row * list->row_bytes;
}

static bool is_known(double value)
{
    return isfinite(value) && value > 0;
}

/* ---- text ---- */

/* The different sources of a list, in order of appearance: marked by number. */
struct marks {
    const char *sources[64];
    size_t count;
};

static size_t mark_of(struct marks *marks, const char *source)
{
    for (size_t i = 0; i < marks->count; i++)
        if (strcmp(marks->sources[i], source) == 0)
            return i + 1;
    if (marks->count == sizeof(marks->sources) / sizeof(marks->sources[0]))
        return 0;
    marks->sources[marks->count++] = source;
    return marks->count;
}

/* Long texts that many rows share. */
static bool is_marked(const struct column *column)
{
    return strcmp(column->key, "source") == 0 || strcmp(column->key, "practical_basis") == 0;
}

static void add_text_cell(const struct column *column, const void *row, struct marks *marks,
                          struct cb_table *table)
{
    char text[CB_UNIT_TEXT];
    if (column->number) {
        double value = column->number(row);
        cb_table_add(table, CB_STYLE_PLAIN, "%s",
                     is_known(value) ? column->format(text, value) : "");
    } else if (is_marked(column) && *column->text(row)) {
        cb_table_add(table, CB_STYLE_PLAIN, "%zu", mark_of(marks, column->text(row)));
    } else {
        cb_table_add(table, CB_STYLE_PLAIN, "%s", column->text(row));
    }
}

static void add_sources(const struct list *list, const struct marks *marks, struct cb_strbuf *out)
{
    cb_strbuf_add(out, "\n");
    for (size_t i = 0; i < marks->count; i++) {
        cb_strbuf_addf(out, "  %2zu  ", i + 1);
        cb_paragraph_add(out, 6, 6, marks->sources[i]);
    }
    for (int key = '!'; list->has_keys && key < 127; key++)
        if (cb_gpu_reference_source((char)key)) {
            cb_strbuf_addf(out, "   %c  ", key);
            cb_paragraph_add(out, 6, 6, cb_gpu_reference_source((char)key));
        }
}

static void render_text(const struct list *list, struct cb_strbuf *out)
{
    struct cb_table_column columns[16];
    size_t shown = 0;
    for (size_t i = 0; i < list->column_count; i++)
        if (list->columns[i].heading)
            columns[shown++] = (struct cb_table_column){
                .heading = list->columns[i].heading,
                .align = list->columns[i].number ? CB_ALIGN_RIGHT : CB_ALIGN_LEFT};
    struct cb_table table;
    struct marks marks = {.count = 0};
    cb_table_init(&table, columns, shown);
    for (size_t row = 0; row < list->row_count; row++)
        for (size_t i = 0; i < list->column_count; i++)
            if (list->columns[i].heading)
                add_text_cell(&list->columns[i], row_of(list, row), &marks, &table);
    cb_paragraph_add(out, 0, 0, list->about);
    cb_strbuf_add(out, "\n");
    cb_table_render(&table, 0, false, out);
    cb_table_fini(&table);
    add_sources(list, &marks, out);
}

/* ---- for programs ---- */

/* A text between quotes; quote is what stands before a quote inside. */
static void add_quoted(struct cb_strbuf *out, const char *text, char escape)
{
    cb_strbuf_add(out, "\"");
    for (; *text; text++) {
        if (*text == '"' || (escape == '\\' && *text == '\\'))
            cb_strbuf_fill(out, escape, 1);
        cb_strbuf_fill(out, *text, 1);
    }
    cb_strbuf_add(out, "\"");
}

static void add_value(const struct column *column, const void *row, const char *unknown,
                      char escape, struct cb_strbuf *out)
{
    if (column->text) {
        add_quoted(out, column->text(row), escape);
        return;
    }
    double value = column->number(row);
    if (is_known(value))
        cb_strbuf_addf(out, "%.15g", value);
    else
        cb_strbuf_add(out, unknown);
}

static void render_json(enum cb_list which, const struct list *list, struct cb_strbuf *out)
{
    cb_strbuf_addf(out, "{\"list\": \"%s\", \"rows\": [\n", names[which]);
    for (size_t row = 0; row < list->row_count; row++) {
        for (size_t i = 0; i < list->column_count; i++) {
            cb_strbuf_addf(out, "%s\"%s\": ", i == 0 ? "  {" : ", ", list->columns[i].key);
            add_value(&list->columns[i], row_of(list, row), "null", '\\', out);
        }
        cb_strbuf_add(out, row + 1 < list->row_count ? "},\n" : "}\n");
    }
    cb_strbuf_add(out, "]}\n");
}

static void render_csv(const struct list *list, struct cb_strbuf *out)
{
    for (size_t i = 0; i < list->column_count; i++)
        cb_strbuf_addf(out, "%s%s", i ? "," : "", list->columns[i].key);
    cb_strbuf_add(out, "\n");
    for (size_t row = 0; row < list->row_count; row++) {
        for (size_t i = 0; i < list->column_count; i++) {
            cb_strbuf_add(out, i ? "," : "");
            add_value(&list->columns[i], row_of(list, row), "", '"', out);
        }
        cb_strbuf_add(out, "\n");
    }
}

int cb_list_write(enum cb_list which, const struct cb_report_input *report, struct cb_error *err)
{
    struct list list = find_list(which);
    struct cb_strbuf out = {0};
    if (report->format == CB_REPORT_JSON)
        render_json(which, &list, &out);
    else if (report->format == CB_REPORT_CSV)
        render_csv(&list, &out);
    else
        render_text(&list, &out);
    int rc = out.failed ? cb_fail(err, CB_E_MEMORY, "no memory for the list")
                        : cb_cli_write(report->path, &out, err);
    cb_strbuf_fini(&out);
    return rc;
}

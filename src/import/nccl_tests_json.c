#define _GNU_SOURCE /* memmem */
/* What nccl-tests writes with -J (file version 3). */
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "import/formats.h"
#include "import/run.h"

#define GIGA 1e9

struct reader {
    const struct cb_import_source *source;
    const char *at; /* where the last row was found, and */
    int line;       /* its line: the parser keeps none */
    struct cb_run *run;
    struct cb_error *err;
};

/* A number, also one that is written as a text ("nan", "-1"). */
static double number_of(const json_t *value, double otherwise)
{
    if (json_is_number(value))
        return json_number_value(value);
    if (!json_is_string(value))
        return otherwise;
    char *end;
    double number = strtod(json_string_value(value), &end);
    return end != json_string_value(value) && !*end ? number : otherwise;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static int whole_of(const json_t *object, const char *key, int otherwise)
{
    double number = number_of(json_object_get(object, key), otherwise);
    return number >= 0 && number < 1 << 24 ? (int)number : otherwise;
}

static int count_lines(const char *from, const char *to)
{
    int lines = 0;
    for (; (from = memchr(from, '\n', (size_t)(to - from))); from++)
        lines += lines < INT_MAX / 2;
    return lines;
}

/* Moves on to the next text in the file and its line; stays where there is none. */
static void find(struct reader *r, const char *text)
{
    const char *end = r->source->text + r->source->length_bytes;
    const char *found = memmem(r->at, (size_t)(end - r->at), text, strlen(text));
    if (!found)
        return;
    r->line += count_lines(r->at, found);
    r->at = found + 1;
}

/* ---- parts ---- */

static void read_point(const json_t *value, struct cb_import_point *point)
{
    *point = (struct cb_import_point){
        .printed_alg_bytes_per_s = -1, .printed_bus_bytes_per_s = -1, .wrong = -1};
    if (!json_is_object(value))
        return;
    const json_t *time = json_object_get(value, "time");
    if (!time)
        time = json_object_get(value, "cpu_time");
    double alg = number_of(json_object_get(value, "alg_bw"), -1);
    double bus = number_of(json_object_get(value, "bus_bw"), -1);
    double wrong = number_of(json_object_get(value, "nwrong"), -1);
    point->time_s = number_of(time, 0) / 1e6;
    point->printed_alg_bytes_per_s = alg >= 0 ? alg * GIGA : -1;
    point->printed_bus_bytes_per_s = bus >= 0 ? bus * GIGA : -1;
    point->wrong = wrong >= 0 ? wrong : -1;
}

static int read_result(struct reader *r, const json_t *result)
{
    char text[CB_NAME * 2];
    struct cb_columns columns = {0};
    struct cb_table_row row, typed;
    find(r, "\"size\"");
    double size_bytes = number_of(json_object_get(result, "size"), -1);
    double root = number_of(json_object_get(result, "root"), -1);
    if (!(size_bytes >= 0 && size_bytes < 0x1p62))
        return cb_fail(r->err, CB_E_INPUT, "%s:%d: a result without a size", r->source->name,
                       r->line);
    row = (struct cb_table_row){.line = r->line,
                                .label = -1,
                                .size_bytes = (uint64_t)size_bytes,
                                .count = number_of(json_object_get(result, "count"), -1),
                                .redop = CB_REDOP_IS_ABSENT,
                                .redop_name = -1,
                                .root = root > -2 && root < 1e6 ? (int)root : -1,
                                .error = -1};
    /* The names of types and operations are those of the table. */
    snprintf(text, sizeof(text), "8 2 %.20s %.20s -1 8 0 0 0 8 0 0 0", text_of(result, "type"),
             text_of(result, "redop"));
    if (cb_table_row_read(text, &columns, &typed) == CB_ROW_TAKEN) {
        row.type = typed.type;
        row.redop = typed.redop;
        row.redop_name = typed.redop_name;
    }
    read_point(json_object_get(result, "out_of_place"), &row.places[CB_IMPORT_OUT_OF_PLACE]);
    read_point(json_object_get(result, "in_place"), &row.places[CB_IMPORT_IN_PLACE]);
    for (int p = 0; p < CB_IMPORT_PLACES; p++)
        if (row.places[p].time_s < 0) {
            cb_finding_add(&r->run->findings, CB_FINDING_NEGATIVE_TIME, r->line,
                           "a time is negative: the result is not used");
            return 0;
        }
    if (!(row.places[0].time_s > 0) && !(row.places[1].time_s > 0)) {
        cb_finding_add(&r->run->findings, CB_FINDING_NO_TIME, r->line,
                       "a result holds no time: it is not used");
        return 0;
    }
    return cb_run_add_row(r->run, &row, r->err);
}

static int read_device(struct reader *r, const json_t *device)
{
    struct cb_listed_rank *rank = cb_vec_add(&r->run->ranks);
    if (!rank)
        return cb_fail(r->err, CB_E_MEMORY, "no memory for the ranks of %s", r->source->name);
    find(r, "\"rank\"");
    rank->line = r->line;
    rank->label = -1;
    rank->rank = whole_of(device, "rank", 0);
    rank->group = whole_of(device, "group", 0);
    rank->device = whole_of(device, "device", -1);
    snprintf(rank->host, sizeof(rank->host), "%.*s", CB_NAME - 1, text_of(device, "hostname"));
    snprintf(rank->bus, sizeof(rank->bus), "%.*s", (int)sizeof(rank->bus) - 1,
             text_of(device, "device_hex"));
    snprintf(rank->gpu, sizeof(rank->gpu), "%.*s", CB_NAME - 1, text_of(device, "device_info"));
    return 0;
}

static int read_array(struct reader *r, const json_t *array,
                      int (*read)(struct reader *r, const json_t *item))
{
    size_t i;
    const json_t *item;
    json_array_foreach(array, i, item)
    {
        int rc = read(r, item);
        if (rc)
            return rc;
    }
    return 0;
}

static void read_footers(struct cb_run *run, const json_t *root)
{
    const json_t *bounds = json_object_get(root, "out_of_bounds");
    const json_t *average = json_object_get(root, "average_bus_bandwidth");
    double wrong = number_of(json_object_get(bounds, "count"), 0);
    if (bounds)
        run->bounds_count = 1;
    if (wrong > 0 || strcmp(text_of(bounds, "okay"), "false") == 0)
        cb_finding_add(&run->findings, CB_FINDING_WRONG_RESULTS, 0,
                       "the test found wrong data: out_of_bounds counts %.6g", wrong);
    double bandwidth = number_of(json_object_get(average, "bandwidth"), -1);
    if (bandwidth >= 0) {
        run->average_bytes_per_s = bandwidth * GIGA;
        run->average_count = 1;
    }
}

/* The test's name is in the command line; the ways that were pinned are in the environment. */
static void read_setting(struct cb_run *run, const json_t *root)
{
    const json_t *args = json_object_get(root, "args");
    const json_t *environment = json_object_get(root, "env");
    static const char *const pins[] = {"NCCL_ALGO", "NCCL_PROTO"};
    const char *command = json_string_value(json_is_array(args) ? json_array_get(args, 0) : args);
    if (command)
        run->test = cb_test_find_in(command);
    for (size_t i = 0; i < sizeof(pins) / sizeof(pins[0]); i++)
        if (json_object_get(environment, pins[i]))
            cb_finding_add(&run->findings, CB_FINDING_PINNED, 0,
                           "NCCL's choice was pinned: %s=%.40s", pins[i],
                           text_of(environment, pins[i]));
    double iterations =
        number_of(json_object_get(json_object_get(root, "config"), "iterations"), 0);
    struct cb_banner *banner = iterations > 0 ? cb_vec_add(&run->banners) : NULL;
    if (banner)
        banner->iterations = iterations;
}

static int read_error(struct reader *r, const json_t *error)
{
    const char *text = json_string_value(error);
    if (!text)
        text = text_of(error, "message");
    cb_finding_add(&r->run->findings, CB_FINDING_TEST_FAILURE, 0, "the test reports: \"%.150s\"",
                   text);
    return 0;
}

static int read_document(struct reader *r, const json_t *root)
{
    const json_t *results = json_object_get(root, "results");
    if (!json_is_array(results))
        return cb_fail(r->err, CB_E_INPUT, "%s: JSON, but not of nccl-tests: it has no results",
                       r->source->name);
    snprintf(r->run->tool, sizeof(r->run->tool), "nccl-tests");
    read_setting(r->run, root);
    int rc = read_array(r, json_object_get(root, "devices"), read_device);
    r->at = r->source->text;
    r->line = 1;
    find(r, "\"results\"");
    if (rc == 0)
        rc = read_array(r, results, read_result);
    if (rc == 0)
        rc = read_array(r, json_object_get(root, "errors"), read_error);
    read_footers(r->run, root);
    return rc;
}

int cb_nccl_tests_json_read(const struct cb_import_source *source, cb_import_logs *logs,
                            struct cb_error *err)
{
    struct reader r = {.source = source, .at = source->text, .line = 1, .err = err};
    json_error_t error;
    json_t *root = json_loadb(source->text, source->length_bytes, 0, &error);
    int rc = 0;
    if (!root && json_error_code(&error) == json_error_out_of_memory)
        return cb_fail(err, CB_E_MEMORY, "no memory to read %s", source->name);
    if (!root) {
        rc = cb_fail(err, CB_E_INPUT, "%s:%d: %.100s", source->name, error.line, error.text);
        cb_error_set_hint(err,
                          "the JSON of nccl-tests (-J) is whole only after the test has ended");
        return rc;
    }
    r.run = cb_run_new(source->name, 1, err);
    rc = r.run ? read_document(&r, root) : CB_E_MEMORY;
    if (rc == 0)
        rc = cb_run_close(r.run, logs, err);
    cb_run_free(r.run);
    json_decref(root);
    return rc;
}

bool cb_nccl_tests_json_is(const struct cb_import_source *source)
{
    const char *at = source->text, *end = at + source->length_bytes;
    while (at < end && isspace((unsigned char)*at))
        at++;
    return at < end && *at == '{';
}

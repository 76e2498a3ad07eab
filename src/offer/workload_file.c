#include "offer/workload_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cyaml/cyaml.h>

#include "base/strbuf.h"

/* What libcyaml fills: every value as it stands there. */
struct document {
    char text[CB_FIELD_COUNT][CB_WORKLOAD_TEXT];
};

static const cyaml_schema_field_t fields[] = {
#define X(id, name, kind, member, argument, doc)                                                   \
    CYAML_FIELD_STRING(name, CYAML_FLAG_OPTIONAL, struct document, text[CB_FIELD_##id], 1),
    CB_WORKLOAD_FIELDS(X)
#undef X
        CYAML_FIELD_END};
static const cyaml_schema_value_t schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct document, fields)};

/* What libcyaml made of a text, and the first thing that it complained of. */
struct complaint {
    cyaml_err_t code;
    char text[160];
};

static void __attribute__((format(printf, 3, 0)))
note(cyaml_log_t level, void *context, const char *format, va_list arguments)
{
    struct complaint *complaint = context;
    (void)level;
    char text[sizeof(complaint->text)];
    vsnprintf(text, sizeof(text), format, arguments);
    text[strcspn(text, "\n")] = '\0';
    const char *what = strncmp(text, "Load: ", 6) == 0 ? text + 6 : text;
    /* Where it was is found otherwise: it tells the last place that was right. */
    if (complaint->text[0] || *what == ' ' || strcmp(what, "Backtrace:") == 0)
        return;
    snprintf(complaint->text, sizeof(complaint->text), "%s", what);
}

/* Loads a piece of text. *document is NULL when there is none; free it with release. */
static void load(const char *text, size_t length_bytes, struct complaint *complaint,
                 struct document **document)
{
    const cyaml_config_t config = {
        .log_fn = note,
        .log_ctx = complaint,
        .mem_fn = cyaml_mem,
        .log_level = CYAML_LOG_NOTICE,
        .flags = CYAML_CFG_NO_ALIAS,
    };
    cyaml_data_t *data = NULL;
    complaint->text[0] = '\0';
    complaint->code =
        cyaml_load_data((const uint8_t *)text, length_bytes, &config, &schema, &data, NULL);
    *document = complaint->code == CYAML_OK ? data : NULL;
}

static void release(struct document *document)
{
    const cyaml_config_t config = {.mem_fn = cyaml_mem, .log_level = CYAML_LOG_ERROR};
    cyaml_free(&config, &schema, document, 0);
}

/* ---- lines: libcyaml tells where it was last content, not where it is not ---- */

/* Whether the text up to a line already shows what is looked for. */
typedef bool (*shows_fn)(const char *text, size_t length_bytes, const void *sought);

static bool shows_complaint(const char *text, size_t length_bytes, const void *sought)
{
    struct complaint complaint;
    struct document *document;
    load(text, length_bytes, &complaint, &document);
    release(document);
    return complaint.code == ((const struct complaint *)sought)->code &&
           strcmp(complaint.text, ((const struct complaint *)sought)->text) == 0;
}

struct sought_value {
    enum cb_workload_field field;
    const char *text;
};

static bool shows_value(const char *text, size_t length_bytes, const void *sought)
{
    const struct sought_value *value = sought;
    struct complaint complaint;
    struct document *document;
    load(text, length_bytes, &complaint, &document);
    bool shown = document && strcmp(document->text[value->field], value->text) == 0;
    release(document);
    return shown;
}

/* The first line with which the text shows it, by bisection: what a prefix shows a longer one shows
 * too, but for values that take several lines. */
static int find_line(const char *text, size_t length_bytes, shows_fn shows, const void *sought)
{
    int lines = 1;
    for (size_t i = 0; i + 1 < length_bytes; i++)
        lines += text[i] == '\n';
    int low = 1, high = lines;
    while (low < high) {
        int middle = low + (high - low) / 2, line = 0;
        size_t end = 0;
        while (end < length_bytes && line < middle)
            line += text[end++] == '\n';
        if (shows(text, end, sought))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* ---- what was wrong ---- */

static const char one_a_line[] = "a workload is one 'key: value' a line";

/* libcyaml's complaints in our words: what follows the prefix stands between two texts. */
static const struct wording {
    const char *prefix, *before, *after, *hint;
} wordings[] = {
    {"Unexpected key: ", "unknown key '", "'",
     "the keys are the options of the training job, without dashes in front: see commbound judge "
     "--help"},
    {"Mapping field already seen: ", "'", "' stands there twice", ""},
    {"libyaml: ", "this is no YAML: ", "", one_a_line},
    {"STRING length < 1: ", "the value is empty", "", one_a_line},
    {"Ignoring documents after first in stream", "a second document begins", "", one_a_line},
    {"Internal error", "this is no flat list of keys", "", one_a_line},
    {"", "", "", one_a_line},
};

static int fail_load(const char *name, const char *text, size_t length_bytes,
                     const struct complaint *complaint, struct cb_error *err)
{
    if (complaint->code == CYAML_ERR_OOM)
        return cb_fail(err, CB_E_MEMORY, "no memory to read %.60s", name);
    const struct wording *wording = wordings;
    const char *said = complaint->text[0] ? complaint->text : cyaml_strerror(complaint->code);
    while (strncmp(said, wording->prefix, strlen(wording->prefix)) != 0)
        wording++;
    const char *rest = said + strlen(wording->prefix);
    const char *near = wording == wordings ? cb_workload_field_suggest(rest) : NULL;
    cb_fail(err, CB_E_INPUT, "%.60s: line %d: %s%.80s%s%s%s%s", name,
            find_line(text, length_bytes, shows_complaint, complaint), wording->before, rest,
            wording->after, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    cb_error_set_hint(err, "%s", wording->hint);
    return CB_E_INPUT;
}

/* ---- reading ---- */

static void take(const char *text, size_t length_bytes, const struct document *document,
                 struct cb_workload_texts *texts)
{
    for (int i = 0; i < CB_FIELD_COUNT; i++) {
        struct sought_value sought = {(enum cb_workload_field)i, document->text[i]};
        if (document->text[i][0] == '\0')
            continue;
        memcpy(texts->text[i], document->text[i], CB_WORKLOAD_TEXT);
        texts->stated[i] = true;
        texts->line[i] = find_line(text, length_bytes, shows_value, &sought);
    }
}

int cb_workload_file_read(const char *name, const char *text, size_t length_bytes,
                          struct cb_workload_texts *texts, struct cb_error *err)
{
    struct complaint complaint;
    struct document *document = NULL;
    if (length_bytes > CB_WORKLOAD_FILE_MAX_BYTES)
        return cb_fail(err, CB_E_INPUT, "%.60s: larger than %u KiB: this is no workload", name,
                       CB_WORKLOAD_FILE_MAX_BYTES >> 10);
    load(text, length_bytes, &complaint, &document);
    int rc = 0;
    if (complaint.code != CYAML_OK || complaint.text[0]) {
        rc = fail_load(name, text, length_bytes, &complaint, err);
    } else if (!document) {
        rc = cb_fail(err, CB_E_INPUT, "%.60s: states nothing", name);
    } else {
        memset(texts, 0, sizeof(*texts));
        texts->file = name;
        take(text, length_bytes, document, texts);
    }
    release(document);
    return rc;
}

static int fail_io(const char *path, struct cb_error *err)
{
    int rc = cb_fail(err, CB_E_IO, "cannot read %.100s", path);
    cb_error_set_detail(err, "%s", strerror(errno));
    return rc;
}

int cb_workload_file_load(const char *path, struct cb_workload_texts *texts, struct cb_error *err)
{
    int rc = 0;
    FILE *file = fopen(path, "rb");
    if (!file)
        return fail_io(path, err);
    char *text = malloc(CB_WORKLOAD_FILE_MAX_BYTES + 1);
    if (!text) {
        rc = cb_fail(err, CB_E_MEMORY, "no memory to read %.60s", path);
        goto out;
    }
    size_t length_bytes = fread(text, 1, CB_WORKLOAD_FILE_MAX_BYTES + 1, file);
    rc = ferror(file) ? fail_io(path, err)
                      : cb_workload_file_read(path, text, length_bytes, texts, err);
out:
    free(text);
    fclose(file);
    return rc;
}

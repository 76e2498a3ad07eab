#include "model/workload.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "base/units.h"

struct field_row {
    const char *name;
    int (*read)(struct cb_workload *workload, const struct field_row *row, const char *text,
                struct cb_error *err);
    size_t offset, size_bytes; /* of its member */
    const char *member;        /* "job.layers" */
};

static double *number_of(struct cb_workload *workload, const struct field_row *row)
{
    return (double *)(void *)((char *)workload + row->offset);
}

/* ---- how each kind of text is read ---- */

static int read_COUNT(struct cb_workload *workload, const struct field_row *row, const char *text,
                      struct cb_error *err)
{
    return cb_parse_count(text, number_of(workload, row), err);
}

static int read_WHOLE(struct cb_workload *workload, const struct field_row *row, const char *text,
                      struct cb_error *err)
{
    double value;
    int rc = cb_parse_count(text, &value, err);
    if (rc)
        return rc;
    if (value != floor(value) || value > 1e9) {
        rc = cb_fail(err, CB_E_USAGE, "'%.60s' is no whole number up to 1e9", text);
        cb_error_set_hint(err, "a whole number looks like 8, 4096 or 32k");
        return rc;
    }
    *number_of(workload, row) = value;
    return 0;
}

/* Above zero, without a unit. */
static int read_plain(double *out, const char *text, const char *forms, struct cb_error *err)
{
    double value;
    int rc = cb_parse_number(text, &value, err);
    if (rc)
        return rc;
    if (!(value > 0)) {
        rc = cb_fail(err, CB_E_USAGE, "'%.60s' is not above zero", text);
        cb_error_set_hint(err, "%s", forms);
        return rc;
    }
    *out = value;
    return 0;
}

static int read_WIDTH(struct cb_workload *workload, const struct field_row *row, const char *text,
                      struct cb_error *err)
{
    return read_plain(number_of(workload, row), text, "bytes look like 2, 4 or 0.5", err);
}

static int read_PRICE(struct cb_workload *workload, const struct field_row *row, const char *text,
                      struct cb_error *err)
{
    return read_plain(number_of(workload, row), text, "a price looks like 12 or 2.50", err);
}

static int read_SIZE(struct cb_workload *workload, const struct field_row *row, const char *text,
                     struct cb_error *err)
{
    uint64_t size_bytes;
    int rc = cb_parse_bytes(text, &size_bytes, err);
    if (rc)
        return rc;
    if (size_bytes == 0)
        return cb_fail(err, CB_E_USAGE, "'%.60s' is not above zero", text);
    *number_of(workload, row) = (double)size_bytes;
    return 0;
}

static int read_SHARE(struct cb_workload *workload, const struct field_row *row, const char *text,
                      struct cb_error *err)
{
    return cb_parse_share(text, number_of(workload, row), err);
}

/* As a share, but nothing hidden is a value too. */
static int read_OVERLAP(struct cb_workload *workload, const struct field_row *row, const char *text,
                        struct cb_error *err)
{
    double value = 0;
    if (strcmp(text, "0") != 0 && strcmp(text, "0%") != 0) {
        int rc = cb_parse_share(text, &value, err);
        if (rc)
            return rc;
    }
    *number_of(workload, row) = value;
    workload->job.has_overlap = true;
    return 0;
}

static int read_time(struct cb_workload *workload, const char *text, enum cb_span span,
                     struct cb_error *err)
{
    int rc = cb_parse_duration(text, &workload->time_s, err);
    if (rc == 0)
        workload->span = span;
    return rc;
}

static int read_TOTAL_TIME(struct cb_workload *workload, const struct field_row *row,
                           const char *text, struct cb_error *err)
{
    (void)row;
    return read_time(workload, text, CB_SPAN_TOTAL, err);
}

static int read_STEP_TIME(struct cb_workload *workload, const struct field_row *row,
                          const char *text, struct cb_error *err)
{
    (void)row;
    return read_time(workload, text, CB_SPAN_STEP, err);
}

static int read_COMPUTE_TIME(struct cb_workload *workload, const struct field_row *row,
                             const char *text, struct cb_error *err)
{
    (void)row;
    return read_time(workload, text, CB_SPAN_COMPUTE, err);
}

static int read_TEXT(struct cb_workload *workload, const struct field_row *row, const char *text,
                     struct cb_error *err)
{
    if (*text == '\0')
        return cb_fail(err, CB_E_USAGE, "'' is empty");
    if (strlen(text) >= row->size_bytes)
        return cb_fail(err, CB_E_USAGE, "'%.60s' is longer than %zu letters", text,
                       row->size_bytes - 1);
    snprintf((char *)workload + row->offset, row->size_bytes, "%s", text);
    return 0;
}

/* ---- names ---- */

/* "unknown scheme 'zero4'; did you mean 'zero3'?", the names in the hint. */
static int fail_name(const char *what, const char *text, const char *const *names, size_t count,
                     struct cb_error *err)
{
    char all[160] = "";
    size_t used = 0;
    const char *near = cb_suggest(text, names, count);
    int rc = cb_fail(err, CB_E_USAGE, "unknown %s '%.40s'%s%s%s", what, text,
                     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    for (size_t i = 0; i < count && used < sizeof(all); i++)
        used +=
            (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", i > 0 ? ", " : "", names[i]);
    cb_error_set_hint(err, "one of %s", all);
    return rc;
}

static int find_name(const char *what, const char *text, const char *const *names, size_t count,
                     int *value, struct cb_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0) {
            *value = (int)i;
            return 0;
        }
    return fail_name(what, text, names, count, err);
}

/* What frameworks call the same; the first of a scheme's is its own name. */
static const struct {
    const char *name;
    enum cb_scheme scheme;
} schemes[] = {
    {"ddp", CB_SCHEME_DDP},
    {"zero1", CB_SCHEME_ZERO1},
    {"zero2", CB_SCHEME_ZERO2},
    {"zero3", CB_SCHEME_ZERO3},
    {"fsdp", CB_SCHEME_FSDP},
    {"hybrid", CB_SCHEME_HYBRID},
    {"zero-1", CB_SCHEME_ZERO1},
    {"zero-2", CB_SCHEME_ZERO2},
    {"zero-3", CB_SCHEME_ZERO3},
    {"full-shard", CB_SCHEME_FSDP},
    {"hybrid-shard", CB_SCHEME_HYBRID},
    {"fsdp-hybrid", CB_SCHEME_HYBRID},
    {"hsdp", CB_SCHEME_HYBRID},
    {"shard-grad-op", CB_SCHEME_ZERO2},
};
enum { SCHEMES = sizeof(schemes) / sizeof(schemes[0]), SCHEMES_SHOWN = 6 };

/* One word of a scheme: a scheme or an adapter, whichever is then set. */
static int read_scheme_word(const char *word, enum cb_scheme *scheme, enum cb_adapter *adapter,
                            struct cb_error *err)
{
    const char *shown[SCHEMES_SHOWN + CB_ADAPTER_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < SCHEMES; i++)
        if (strcmp(word, schemes[i].name) == 0) {
            *scheme = schemes[i].scheme;
            return 0;
        }
    for (int i = CB_ADAPTER_NONE + 1; i < CB_ADAPTER_COUNT; i++)
        if (strcmp(word, cb_adapter_name((enum cb_adapter)i)) == 0) {
            *adapter = (enum cb_adapter)i;
            return 0;
        }
    while (count < SCHEMES_SHOWN) {
        shown[count] = schemes[count].name;
        count++;
    }
    for (int i = CB_ADAPTER_NONE + 1; i < CB_ADAPTER_COUNT; i++)
        shown[count++] = cb_adapter_name((enum cb_adapter)i);
    return fail_name("scheme", word, shown, count, err);
}

/* "zero3", "lora", "zero3+lora". */
static int read_SCHEME(struct cb_workload *workload, const struct field_row *row, const char *text,
                       struct cb_error *err)
{
    enum cb_scheme scheme = CB_SCHEME_UNKNOWN;
    enum cb_adapter adapter = CB_ADAPTER_NONE;
    const char *rest = text;
    (void)row;
    do {
        char word[32];
        size_t length = strcspn(rest, "+");
        enum cb_scheme one = CB_SCHEME_UNKNOWN;
        enum cb_adapter with = CB_ADAPTER_NONE;
        snprintf(word, sizeof(word), "%.*s", (int)(length < 31 ? length : 31), rest);
        int rc = read_scheme_word(word, &one, &with, err);
        if (rc == 0 && ((one != CB_SCHEME_UNKNOWN && scheme != CB_SCHEME_UNKNOWN) ||
                        (with != CB_ADAPTER_NONE && adapter != CB_ADAPTER_NONE))) {
            rc = cb_fail(err, CB_E_USAGE, "'%.60s' names two of a kind", text);
            cb_error_set_hint(err, "one scheme, one adapter, or one of each: zero3+lora");
        }
        if (rc)
            return rc;
        scheme = one != CB_SCHEME_UNKNOWN ? one : scheme;
        adapter = with != CB_ADAPTER_NONE ? with : adapter;
        rest += length;
    } while (*rest++ == '+');
    if (scheme != CB_SCHEME_UNKNOWN)
        workload->job.scheme = scheme;
    if (adapter != CB_ADAPTER_NONE)
        workload->job.adapter = adapter;
    return 0;
}

static int read_adapter(struct cb_workload *workload, const struct field_row *row, const char *text,
                        enum cb_adapter adapter, struct cb_error *err)
{
    int rc = read_WHOLE(workload, row, text, err);
    if (rc == 0)
        workload->job.adapter = adapter;
    return rc;
}

static int read_LORA(struct cb_workload *workload, const struct field_row *row, const char *text,
                     struct cb_error *err)
{
    return read_adapter(workload, row, text, CB_ADAPTER_LORA, err);
}

static int read_QLORA(struct cb_workload *workload, const struct field_row *row, const char *text,
                      struct cb_error *err)
{
    return read_adapter(workload, row, text, CB_ADAPTER_QLORA, err);
}

static int read_CONTEXT_KIND(struct cb_workload *workload, const struct field_row *row,
                             const char *text, struct cb_error *err)
{
    const char *names[CB_CONTEXT_COUNT];
    int value = 0;
    (void)row;
    for (int i = 0; i < CB_CONTEXT_COUNT; i++)
        names[i] = cb_context_kind_name((enum cb_context_kind)i);
    int rc = find_name("kind of context parallelism", text, names, CB_CONTEXT_COUNT, &value, err);
    if (rc == 0)
        workload->job.context_kind = (enum cb_context_kind)value;
    return rc;
}

static int read_flag(struct cb_workload *workload, const struct field_row *row, const char *what,
                     const char *text, const char *const names[2], struct cb_error *err)
{
    int value = 0;
    int rc = find_name(what, text, names, 2, &value, err);
    if (rc == 0)
        *(bool *)((char *)workload + row->offset) = value == 1;
    return rc;
}

static int read_OVERLAP_TENSOR(struct cb_workload *workload, const struct field_row *row,
                               const char *text, struct cb_error *err)
{
    static const char *const names[] = {"no", "yes"};
    return read_flag(workload, row, "overlap of tensor-parallel traffic", text, names, err);
}

static int read_GRADIENT_SYNC(struct cb_workload *workload, const struct field_row *row,
                              const char *text, struct cb_error *err)
{
    static const char *const names[] = {"step", "micro-batch"};
    return read_flag(workload, row, "time of the gradients' reduction", text, names, err);
}

static int read_RECOMPUTE(struct cb_workload *workload, const struct field_row *row,
                          const char *text, struct cb_error *err)
{
    static const char *const names[] = {"none", "full"};
    return read_flag(workload, row, "recomputation", text, names, err);
}

/* ---- the table ---- */

#define MEMBER_SIZE(member) sizeof(((struct cb_workload *)0)->member)
static const struct field_row rows[] = {
/* clang-format off */
#define X(id, name, kind, member, argument, doc)                                                   \
    [CB_FIELD_##id] = {name, read_##kind, offsetof(struct cb_workload, member),                    \
                       MEMBER_SIZE(member), #member},
    /* clang-format on */
    CB_WORKLOAD_FIELDS(X)
#undef X
};

/* Fields that say the same in another way. Both in one place is a contradiction where `excludes`;
 * else the model of the job holds them against each other. */
static const struct {
    enum cb_workload_field a, b;
    bool excludes;
} rivals[] = {
    {CB_FIELD_TOTAL_TIME, CB_FIELD_STEP_TIME, true},
    {CB_FIELD_TOTAL_TIME, CB_FIELD_COMPUTE_TIME, true},
    {CB_FIELD_STEP_TIME, CB_FIELD_COMPUTE_TIME, true},
    {CB_FIELD_LORA, CB_FIELD_QLORA, true},
    {CB_FIELD_TOKENS, CB_FIELD_MICRO_BATCH, false},
    {CB_FIELD_TOKENS, CB_FIELD_ACCUMULATION, false},
    {CB_FIELD_TOKENS, CB_FIELD_BATCH_TOKENS, false},
    {CB_FIELD_ACCUMULATION, CB_FIELD_BATCH_TOKENS, false},
    {CB_FIELD_TOTAL_TOKENS, CB_FIELD_TOTAL_STEPS, false},
    {CB_FIELD_COMMUNICATIONS, CB_FIELD_PER_STEP, false},
};
enum { RIVALS = sizeof(rivals) / sizeof(rivals[0]) };

/* The other one of a pair that holds the field; -1 when it does not. */
static int other_of(size_t pair, enum cb_workload_field field)
{
    if (rivals[pair].a == field)
        return (int)rivals[pair].b;
    return rivals[pair].b == field ? (int)rivals[pair].a : -1;
}

void cb_workload_init(struct cb_workload *workload)
{
    memset(workload, 0, sizeof(*workload));
    workload->span = CB_SPAN_COUNT;
}

const char *cb_workload_field_name(enum cb_workload_field field)
{
    return rows[field].name;
}

int cb_workload_field_find(const char *name)
{
    for (int i = 0; i < CB_FIELD_COUNT; i++)
        if (strcmp(rows[i].name, name) == 0)
            return i;
    return -1;
}

const char *cb_workload_field_suggest(const char *name)
{
    const char *names[CB_FIELD_COUNT];
    for (int i = 0; i < CB_FIELD_COUNT; i++)
        names[i] = rows[i].name;
    return cb_suggest(name, names, CB_FIELD_COUNT);
}

/* The option that states a member of the job, or NULL. */
static const char *option_of(const char *word, size_t length)
{
    static const char prefix[] = "job.";
    for (int i = 0; i < CB_FIELD_COUNT; i++) {
        const char *member = rows[i].member;
        if (strncmp(member, prefix, strlen(prefix)) == 0 &&
            strlen(member) == strlen(prefix) + length &&
            strncmp(member + strlen(prefix), word, length) == 0)
            return rows[i].name;
    }
    return NULL;
}

void cb_workload_respell(struct cb_error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_-";
    char what[sizeof(err->what)] = "";
    size_t used = 0;
    if (!err)
        return;
    for (const char *at = err->what; *at && used < sizeof(what);) {
        size_t length = strspn(at, letters);
        const char *option = length > 0 ? option_of(at, length) : NULL;
        size_t taken = length > 0 ? length : 1;
        used += (size_t)snprintf(what + used, sizeof(what) - used, "%s%.*s", option ? "--" : "",
                                 option ? (int)strlen(option) : (int)taken, option ? option : at);
        at += taken;
    }
    memcpy(err->what, what, sizeof(what));
}

int cb_workload_set(struct cb_workload *workload, enum cb_workload_field field, const char *text,
                    enum cb_provenance source, struct cb_error *err)
{
    int rc = rows[field].read(workload, &rows[field], text, err);
    if (rc == 0)
        workload->sources[field] = source;
    return rc;
}

int cb_workload_rival(const struct cb_workload *workload, enum cb_workload_field field)
{
    for (size_t i = 0; i < RIVALS; i++) {
        int other = other_of(i, field);
        if (rivals[i].excludes && other >= 0 && workload->sources[other] != CB_FROM_NOWHERE)
            return other;
    }
    return -1;
}

/* ---- texts ---- */

static bool is_overridden(const struct cb_workload_texts *above, enum cb_workload_field field)
{
    if (above->stated[field])
        return true;
    for (size_t i = 0; i < RIVALS; i++) {
        int other = other_of(i, field);
        if (other >= 0 && above->stated[other])
            return true;
    }
    return false;
}

void cb_workload_texts_override(const struct cb_workload_texts *above,
                                struct cb_workload_texts *below)
{
    for (int i = 0; i < CB_FIELD_COUNT; i++)
        if (below->stated[i] && is_overridden(above, (enum cb_workload_field)i))
            below->stated[i] = false;
}

void cb_workload_texts_locate(const struct cb_workload_texts *texts, enum cb_workload_field field,
                              struct cb_error *err)
{
    char why[160];
    snprintf(why, sizeof(why), "%.159s", err->what);
    if (!texts->file)
        snprintf(err->what, sizeof(err->what), "--%s: %s", rows[field].name, why);
    else if (texts->line[field] > 0)
        snprintf(err->what, sizeof(err->what), "%.60s: line %d: %s: %s", texts->file,
                 texts->line[field], rows[field].name, why);
    else
        snprintf(err->what, sizeof(err->what), "%.60s: %s: %s", texts->file, rows[field].name, why);
    if (texts->file && err->code == CB_E_USAGE)
        err->code = CB_E_INPUT;
}

int cb_workload_texts_apply(const struct cb_workload_texts *texts, struct cb_workload *workload,
                            struct cb_error *err)
{
    struct cb_error local;
    if (!err)
        err = &local;
    for (int i = 0; i < CB_FIELD_COUNT; i++) {
        enum cb_workload_field field = (enum cb_workload_field)i;
        if (!texts->stated[i])
            continue;
        int rival = cb_workload_rival(workload, field);
        int rc = rival >= 0
                     ? cb_fail(err, CB_E_USAGE, "%s is stated too: state one", rows[rival].name)
                     : cb_workload_set(workload, field, texts->text[i], CB_FROM_GIVEN, err);
        if (rc) {
            cb_workload_texts_locate(texts, field, err);
            return err->code;
        }
    }
    return 0;
}

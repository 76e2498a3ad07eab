#include "result/result.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"

static const char *const statuses[] = {
    [CB_STATUS_OK] = "ok",           [CB_STATUS_NOISY] = "noisy",   [CB_STATUS_SKIPPED] = "skipped",
    [CB_STATUS_TIMEOUT] = "timeout", [CB_STATUS_FAILED] = "failed", [CB_STATUS_WRONG] = "wrong",
};
_Static_assert(sizeof(statuses) / sizeof(statuses[0]) == CB_STATUS_COUNT, "one name per status");

const char *cb_status_name(enum cb_status status)
{
    return statuses[status];
}

int cb_status_parse(const char *name)
{
    return cb_names_find(statuses, CB_STATUS_COUNT, name);
}

static const char *const localities[] = {
    [CB_LOCALITY_UNKNOWN] = "unknown",
    [CB_LOCALITY_NEAR] = "near",
    [CB_LOCALITY_AWAY] = "away",
};

const char *cb_locality_name(enum cb_locality locality)
{
    return localities[locality];
}

int cb_locality_parse(const char *name)
{
    return cb_names_find(localities, CB_LOCALITY_COUNT, name);
}

bool cb_status_is_usable(enum cb_status status)
{
    return status == CB_STATUS_OK || status == CB_STATUS_NOISY;
}

static const char *const import_states[] = {
    [CB_IMPORT_INVALID] = "invalid",
    [CB_IMPORT_NO_RESULT] = "no_result",
    [CB_IMPORT_PROVISIONAL] = "provisional",
    [CB_IMPORT_GRADED] = "graded",
};
_Static_assert(sizeof(import_states) / sizeof(import_states[0]) == CB_IMPORT_STATE_COUNT,
               "one name per state");

const char *cb_import_state_name(enum cb_import_state state)
{
    return import_states[state];
}

int cb_import_state_parse(const char *name)
{
    return cb_names_find(import_states, CB_IMPORT_STATE_COUNT, name);
}

bool cb_import_is_usable(enum cb_import_state state)
{
    return state == CB_IMPORT_PROVISIONAL || state == CB_IMPORT_GRADED;
}

void cb_result_init(struct cb_result *result)
{
    memset(result, 0, sizeof(*result));
}

void cb_result_fini(struct cb_result *result)
{
    cb_vec_fini(&result->options);
    cb_vec_fini(&result->environment);
    cb_vec_fini(&result->nodes);
    cb_vec_fini(&result->ranks);
    cb_vec_fini(&result->maps);
    cb_vec_fini(&result->findings);
    cb_vec_fini(&result->crossings);
    cb_vec_fini(&result->collectives);
    cb_vec_fini(&result->pairs);
    cb_vec_fini(&result->kernels);
    cb_vec_fini(&result->gpus);
    cb_vec_fini(&result->transport_used);
    cb_vec_fini(&result->burns);
    cb_vec_fini(&result->burn_samples);
    cb_vec_fini(&result->checks);
    cb_vec_fini(&result->fits);
    cb_vec_fini(&result->workloads);
    for (size_t i = 0; i < result->imports.count; i++)
        cb_vec_fini(&result->imports.items[i].findings);
    cb_vec_fini(&result->imports);
    cb_vec_fini(&result->warnings);
    cb_result_init(result);
}

/* The setting of that name (as far as a setting keeps it), or NULL. */
static struct cb_setting *setting_find(struct cb_setting *items, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(items[i].name, name, sizeof(items[i].name) - 1) == 0)
            return &items[i];
    return NULL;
}

static void setting_fill(struct cb_setting *setting, const char *name, const char *value,
                         const char *set_by)
{
    snprintf(setting->name, sizeof(setting->name), "%s", name);
    snprintf(setting->value, sizeof(setting->value), "%s", value);
    snprintf(setting->set_by, sizeof(setting->set_by), "%s", set_by);
}

int cb_result_add_option(struct cb_result *result, const char *name, const char *value)
{
    struct cb_setting *setting = setting_find(result->options.items, result->options.count, name);
    if (!setting)
        setting = cb_vec_add(&result->options);
    if (!setting)
        return CB_E_MEMORY;
    setting_fill(setting, name, value, "");
    return 0;
}

int cb_result_add_environment(struct cb_result *result, const char *name, const char *value,
                              const char *set_by)
{
    struct cb_setting *setting =
        setting_find(result->environment.items, result->environment.count, name);
    if (!setting)
        setting = cb_vec_add(&result->environment);
    if (!setting)
        return CB_E_MEMORY;
    setting_fill(setting, name, value, set_by);
    return 0;
}

int cb_result_warn(struct cb_result *result, const char *code, const char *hint, const char *format,
                   ...)
{
    struct cb_message *message = cb_vec_add(&result->warnings);
    if (!message)
        return CB_E_MEMORY;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message->text, sizeof(message->text), format, arguments);
    va_end(arguments);
    snprintf(message->code, sizeof(message->code), "%s", code);
    snprintf(message->hint, sizeof(message->hint), "%s", hint ? hint : "");
    return 0;
}

int cb_result_node_count(const struct cb_result *result)
{
    if (result->nodes.count > 0)
        return (int)result->nodes.count;
    for (size_t i = 0; i < result->imports.count; i++) {
        const struct cb_import *import = &result->imports.items[i];
        if (import->ranks == result->rank_count && import->nodes > 0 &&
            cb_import_is_usable(import->state))
            return import->nodes;
    }
    return 1;
}

int cb_result_ranks_per_node(const struct cb_result *result)
{
    int nodes = cb_result_node_count(result);
    return result->rank_count / nodes + (result->rank_count % nodes != 0);
}

/* Whether a is the better stand-in for "the largest": the first row wins a tie. */
static bool is_larger(const struct cb_collective_row *a, const struct cb_collective_row *b)
{
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes > b->size_bytes;
    return !a->in_place && b->in_place;
}

bool cb_result_is_predicted(const struct cb_result *result)
{
    return result->prediction.training.nodes > 0;
}

const struct cb_collective_row *cb_result_largest(const struct cb_result *result, enum cb_op op,
                                                  enum cb_scope scope)
{
    const struct cb_collective_row *largest = NULL;
    for (size_t i = 0; i < result->collectives.count; i++) {
        const struct cb_collective_row *row = &result->collectives.items[i];
        if (row->op != op || row->scope != scope || !cb_status_is_usable(row->status))
            continue;
        if (!largest || is_larger(row, largest))
            largest = row;
    }
    return largest;
}

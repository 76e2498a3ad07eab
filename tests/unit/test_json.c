#include "cb_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <float.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "result/json.h"
#include "result/json_shape.h"
#include "result/json_text.h"

/* ---- a result whose fields all differ ---- */

static int next_int(int *seed)
{
    return ++*seed;
}

static double next_real(int *seed)
{
    return ++*seed / 7.0; /* needs all its digits */
}

/* The field's own name and a number, as much of it as fits. */
static void fill_text(char *field, size_t size_bytes, const char *name, int number)
{
    char text[128];
    int length = snprintf(text, sizeof(text), "%d %s", number, name);
    assert_in_range(length, 1, sizeof(text) - 1);
    memcpy(field, text, (size_t)length < size_bytes ? (size_t)length : size_bytes - 1);
}

#define FILL_TEXT(field) fill_text((field), sizeof(field), #field, ++*seed)

static void fill_stats(struct cb_time_stats *time, int *seed)
{
    time->median_s = next_real(seed);
    time->p10_s = next_real(seed);
    time->p90_s = next_real(seed);
    time->min_s = next_real(seed);
    time->max_s = next_real(seed);
    time->ci95_relative = next_real(seed);
}

static void fill_nic(struct cb_topo_nic *nic, int *seed)
{
    FILL_TEXT(nic->name);
    FILL_TEXT(nic->kind);
    FILL_TEXT(nic->driver);
    FILL_TEXT(nic->partner);
    nic->nominal_bytes_per_s = next_real(seed);
    nic->stated_bytes_per_s = next_real(seed);
    nic->mtu_bytes = next_int(seed);
    nic->numa = next_int(seed);
    nic->up = next_int(seed) % 2;
    nic->used = next_int(seed) % 2;
    nic->virtual_function = next_int(seed) % 2;
}

static void fill_node(struct cb_topo_host *node, int *seed)
{
    FILL_TEXT(node->name);
    FILL_TEXT(node->cpu_model);
    node->sockets = next_int(seed);
    node->cores = next_int(seed);
    node->hardware_threads = next_int(seed);
    node->numa_nodes = next_int(seed);
    node->memory_bytes = (uint64_t)next_int(seed);
    node->available_memory_bytes = (uint64_t)next_int(seed);
    node->last_level_cache_bytes = (uint64_t)next_int(seed);
    node->nics_found = next_int(seed);
    node->nic_count = 2;
    for (int i = 0; i < node->nic_count; i++)
        fill_nic(&node->nics[i], seed);
}

static void fill_rank(struct cb_rank *rank, int *seed)
{
    rank->local_rank = next_int(seed);
    rank->threads = next_int(seed);
    rank->binding.cpus = next_int(seed);
    rank->binding.cores = next_int(seed);
    rank->binding.bound = next_int(seed) % 2;
    rank->binding.numa = next_int(seed);
    FILL_TEXT(rank->binding.cpuset);
    FILL_TEXT(rank->bound_by);
    FILL_TEXT(rank->device);
    rank->locality = CB_LOCALITY_AWAY;
}

static void fill_collective(struct cb_collective_row *row, int *seed)
{
    row->op = CB_OP_REDUCE_SCATTER;
    row->scope = CB_SCOPE_INTER_NODE;
    row->dtype = CB_DTYPE_BFLOAT16;
    row->redop = CB_REDOP_MAX;
    row->ranks = next_int(seed);
    row->size_bytes = (uint64_t)next_int(seed);
    row->in_place = true;
    row->samples = next_int(seed);
    row->operations_per_sample = next_int(seed);
    fill_stats(&row->time, seed);
    row->alg_bytes_per_s = next_real(seed);
    row->bus_bytes_per_s = next_real(seed);
    row->wrong = (uint64_t)next_int(seed);
    FILL_TEXT(row->algorithm.name);
    FILL_TEXT(row->algorithm.protocol);
    row->algorithm.channels = next_int(seed);
    row->status = CB_STATUS_WRONG;
    FILL_TEXT(row->reason);
    row->import_number = next_int(seed);
    row->import_line = next_int(seed);
}

static void fill_pair(struct cb_pair_row *row, int *seed)
{
    FILL_TEXT(row->a);
    FILL_TEXT(row->b);
    row->round_trip_s = next_real(seed);
    row->size_bytes = (uint64_t)next_int(seed);
    row->bytes_per_s = next_real(seed);
    row->ci95_relative = next_real(seed);
    row->status = CB_STATUS_NOISY;
    FILL_TEXT(row->reason);
}

static void fill_kernel(struct cb_kernel_row *row, int *seed)
{
    row->rank = next_int(seed);
    FILL_TEXT(row->kernel);
    row->dtype = CB_DTYPE_FLOAT64;
    FILL_TEXT(row->variant);
    row->threads = next_int(seed);
    row->size_bytes = (uint64_t)next_int(seed);
    row->samples = next_int(seed);
    row->flops_per_s = next_real(seed);
    row->bytes_per_s = next_real(seed);
    row->ci95_relative = next_real(seed);
    row->wrong = (uint64_t)next_int(seed);
    row->pcie_generation = next_int(seed);
    row->pcie_width = next_int(seed);
    row->status = CB_STATUS_TIMEOUT;
    FILL_TEXT(row->reason);
}

static void fill_check(struct cb_check *check, int *seed)
{
    FILL_TEXT(check->id);
    check->status = CB_CHECK_ALARM;
    check->actual = next_real(seed);
    check->required = next_real(seed);
    snprintf(check->operator_text, sizeof(check->operator_text), ">=");
    FILL_TEXT(check->unit);
    FILL_TEXT(check->summary);
    FILL_TEXT(check->remedy);
    FILL_TEXT(check->source);
}

static void fill_fit(struct cb_fit_row *fit, int *seed)
{
    fit->op = CB_OP_REDUCE_SCATTER;
    fit->scope = CB_SCOPE_INTER_NODE;
    fit->dtype = CB_DTYPE_FLOAT64;
    fit->in_place = true;
    fit->ranks = next_int(seed);
    fit->from_bytes = (uint64_t)next_int(seed);
    fit->to_bytes = (uint64_t)next_int(seed);
    fit->points = next_int(seed);
    fit->alpha_s = next_real(seed);
    fit->bytes_per_s_inf = next_real(seed);
    fit->half_bytes = next_real(seed);
    fit->mean_relative_error = next_real(seed);
    fit->max_relative_error = next_real(seed);
    fit->accepted = true;
}

static void fill_formula(struct cb_formula *formula, int *seed)
{
    formula->judged = true;
    FILL_TEXT(formula->workload);
    formula->parameters = next_real(seed);
    formula->communications = next_real(seed);
    formula->communications_source = CB_FROM_ASSUMED;
    formula->bandwidth_bytes_per_s = next_real(seed);
    formula->bandwidth_source = CB_FROM_MEASURED;
    FILL_TEXT(formula->bandwidth_note);
    formula->span = CB_SPAN_COMPUTE;
    formula->time_s = next_real(seed);
    formula->time_source = CB_FROM_EXTRAPOLATED;
    FILL_TEXT(formula->time_note);
    FILL_TEXT(formula->undecided_note);
    formula->tokens_per_step = next_real(seed);
    formula->threshold = next_real(seed);
    formula->bytes_per_step = next_real(seed);
    formula->communication_s = next_real(seed);
    formula->step_communication_s = next_real(seed);
    formula->total_s = next_real(seed);
    formula->share = next_real(seed);
    formula->required_bytes_per_s = next_real(seed);
    formula->critical_tokens = next_real(seed);
    formula->bottleneck = true;
    formula->undecided = true;
}

static void fill_setting(struct cb_setting *setting, int *seed)
{
    FILL_TEXT(setting->name);
    FILL_TEXT(setting->value);
    FILL_TEXT(setting->set_by);
}

static void fill_message(struct cb_message *message, int *seed)
{
    FILL_TEXT(message->code);
    FILL_TEXT(message->text);
    FILL_TEXT(message->hint);
}

/* The structs of many plain numbers, by the walk over their tables. */
static void fill_by_shape(const struct cb_json_shape *shape, char *row, int *seed)
{
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct cb_json_field *field = &shape->fields[i];
        char *at = row + field->offset;
        if (field->kind == CB_JSON_OBJECT)
            fill_by_shape(field->shape, at, seed);
        else if (field->kind == CB_JSON_BOOL)
            *(bool *)at = next_int(seed) % 2;
        else if (field->kind == CB_JSON_INT)
            *(int *)at = next_int(seed);
        else if (field->kind == CB_JSON_UINT64)
            *(uint64_t *)at = (uint64_t)next_int(seed);
        else if (field->kind == CB_JSON_REAL)
            *(double *)at = next_real(seed);
        else if (field->kind == CB_JSON_TEXT)
            fill_text(at, field->size_bytes, field->key, next_int(seed));
    }
}

static void fill_gpu(struct cb_gpu *gpu, int *seed)
{
    fill_by_shape(&cb_json_gpu_shape, (char *)gpu, seed);
}

static void fill_burn(struct cb_burn_row *burn, int *seed)
{
    fill_by_shape(&cb_json_burn_shape, (char *)burn, seed);
    burn->dtype = CB_DTYPE_BFLOAT16;
    burn->status = CB_STATUS_NOISY;
}

/* Two devices of each kind, and what joins them. */
static void fill_map(struct cb_facts *map, int *seed)
{
    fill_by_shape(&cb_json_map_shape, (char *)map, seed);
    const struct cb_json_shape *shape = cb_json_map_shape.fields[1].shape;
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct cb_json_field *field = &shape->fields[i];
        if (field->kind != CB_JSON_LIST)
            continue;
        *(int *)((char *)map + field->count_offset) = 2;
        for (size_t row = 0; row < 2; row++)
            fill_by_shape(field->shape,
                          (char *)map + field->offset + row * field->shape->size_bytes, seed);
    }
}

static void fill_node_finding(struct cb_node_finding *finding, int *seed)
{
    fill_by_shape(&cb_json_node_finding_shape, (char *)finding, seed);
    finding->finding.severity = CB_SEVERITY_WARNING;
}

static void fill_crossing(struct cb_crossing *crossing, int *seed)
{
    fill_by_shape(&cb_json_crossing_shape, (char *)crossing, seed);
    crossing->scope = CB_SCOPE_INTER_NODE;
    crossing->op = CB_OP_ALL_GATHER;
}

static void fill_burn_sample(struct cb_burn_sample *sample, int *seed)
{
    fill_by_shape(&cb_json_burn_sample_shape, (char *)sample, seed);
}

static void fill_finding(struct cb_import_finding *finding, int *seed)
{
    FILL_TEXT(finding->code);
    finding->line = next_int(seed);
    FILL_TEXT(finding->text);
    FILL_TEXT(finding->hint);
}

/* A row that was added, which had memory. */
static void *added(void *row)
{
    if (!row)
        abort();
    return row;
}

#define FILL_ROWS(vec, count, fill)                                                                \
    for (int row_ = 0; row_ < (count); row_++)                                                     \
    fill(added(cb_vec_add(vec)), seed)

static void fill_import(struct cb_import *import, int *seed)
{
    fill_by_shape(&cb_json_import_shape, (char *)import, seed);
    import->state = CB_IMPORT_PROVISIONAL;
    FILL_ROWS(&import->findings, 2, fill_finding);
}

static void fill_head(struct cb_result *result, int *seed)
{
    FILL_TEXT(result->tool_version);
    FILL_TEXT(result->build);
    FILL_TEXT(result->started_at);
    FILL_TEXT(result->finished_at);
    result->complete = true;
    FILL_TEXT(result->stopped_by);
    result->rank_count = next_int(seed);
    FILL_TEXT(result->transport);
    FILL_TEXT(result->transport_library);
    FILL_TEXT(result->transport_version);
    FILL_TEXT(result->transport_path);
    FILL_TEXT(result->gpu_reason);
    result->simulated = true;
}

/* Two nodes, ranks dealt out by turns, so that the order by node is not the order by rank. */
static void fill_result(struct cb_result *result, int *seed)
{
    cb_result_init(result);
    fill_head(result, seed);
    FILL_ROWS(&result->options, 3, fill_setting);
    FILL_ROWS(&result->environment, 2, fill_setting);
    FILL_ROWS(&result->nodes, 2, fill_node);
    FILL_ROWS(&result->ranks, 4, fill_rank);
    for (int i = 0; i < 4; i++) {
        result->ranks.items[i].rank = i;
        result->ranks.items[i].node = (i + 1) % 2;
    }
    FILL_ROWS(&result->maps, 2, fill_map);
    for (int i = 0; i < 2; i++)
        result->nodes.items[i].map = 2 - i;
    FILL_ROWS(&result->findings, 2, fill_node_finding);
    FILL_ROWS(&result->crossings, 2, fill_crossing);
    FILL_ROWS(&result->gpus, 3, fill_gpu);
    for (int i = 0; i < 3; i++)
        result->gpus.items[i].node = i / 2;
    FILL_ROWS(&result->burns, 2, fill_burn);
    FILL_ROWS(&result->burn_samples, 3, fill_burn_sample);
    FILL_ROWS(&result->collectives, 3, fill_collective);
    FILL_ROWS(&result->pairs, 2, fill_pair);
    FILL_ROWS(&result->kernels, 2, fill_kernel);
    FILL_ROWS(&result->checks, 2, fill_check);
    FILL_ROWS(&result->fits, 2, fill_fit);
    fill_formula(&result->formula, seed);
    FILL_ROWS(&result->workloads, 2, fill_formula);
    FILL_ROWS(&result->imports, 2, fill_import);
    FILL_ROWS(&result->warnings, 2, fill_message);
}

/* ---- helpers ---- */

static char *to_json(const struct cb_result *result)
{
    struct cb_error err = {0};
    char *text = NULL;
    assert_ok(cb_result_to_json(result, &text, &err), &err);
    return text;
}

static void from_json(const char *text, struct cb_result *result)
{
    struct cb_error err = {0};
    cb_result_init(result);
    assert_ok(cb_result_from_json("test.json", text, strlen(text), result, &err), &err);
}

/* Writing what was read gives the same bytes. */
static void assert_stable(const char *text)
{
    struct cb_result result;
    from_json(text, &result);
    char *again = to_json(&result);
    assert_string_equal(again, text);
    free(again);
    cb_result_fini(&result);
}

/* text with the first occurrence of from replaced; the caller frees it. */
static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    if (!at)
        fail_msg("\"%s\" is not in the text to change", from);
    size_t size_bytes = strlen(text) + strlen(to) + 1;
    char *out = malloc(size_bytes);
    assert_non_null(out);
    snprintf(out, size_bytes, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

#define assert_rows_equal(a, b, vec)                                                               \
    do {                                                                                           \
        assert_int_equal((a).vec.count, (b).vec.count);                                            \
        assert_memory_equal((a).vec.items, (b).vec.items,                                          \
                            (a).vec.count * sizeof((a).vec.items[0]));                             \
    } while (0)

/* ---- round trip ---- */

static void test_every_field_survives(void **state)
{
    (void)state;
    struct cb_result result, read;
    int seed = 0;
    fill_result(&result, &seed);
    char *text = to_json(&result);
    from_json(text, &read);

    assert_string_equal(read.tool_version, result.tool_version);
    assert_string_equal(read.build, result.build);
    assert_string_equal(read.started_at, result.started_at);
    assert_string_equal(read.finished_at, result.finished_at);
    assert_int_equal(read.complete, result.complete);
    assert_string_equal(read.stopped_by, result.stopped_by);
    assert_int_equal(read.rank_count, result.rank_count);
    assert_string_equal(read.transport, result.transport);
    assert_string_equal(read.transport_library, result.transport_library);
    assert_string_equal(read.transport_version, result.transport_version);
    assert_string_equal(read.transport_path, result.transport_path);
    assert_string_equal(read.gpu_reason, result.gpu_reason);
    assert_int_equal(read.simulated, result.simulated);
    assert_rows_equal(read, result, gpus);
    assert_rows_equal(read, result, maps);
    assert_rows_equal(read, result, findings);
    assert_rows_equal(read, result, crossings);
    assert_rows_equal(read, result, burns);
    assert_rows_equal(read, result, burn_samples);
    assert_rows_equal(read, result, options);
    assert_rows_equal(read, result, environment);
    assert_rows_equal(read, result, nodes);
    assert_rows_equal(read, result, ranks);
    assert_rows_equal(read, result, collectives);
    assert_rows_equal(read, result, pairs);
    assert_rows_equal(read, result, kernels);
    assert_rows_equal(read, result, checks);
    assert_rows_equal(read, result, fits);
    assert_memory_equal(&read.formula, &result.formula, sizeof(read.formula));
    assert_rows_equal(read, result, workloads);
    assert_rows_equal(read, result, warnings);
    assert_int_equal(read.imports.count, result.imports.count);
    for (size_t i = 0; i < read.imports.count; i++) {
        struct cb_import *copy = &read.imports.items[i], *import = &result.imports.items[i];
        assert_rows_equal(*copy, *import, findings);
        assert_memory_equal(copy, import, offsetof(struct cb_import, findings));
    }

    assert_stable(text);
    free(text);
    cb_result_fini(&read);
    cb_result_fini(&result);
}

static void test_empty_result_survives(void **state)
{
    (void)state;
    struct cb_result result;
    cb_result_init(&result);
    char *text = to_json(&result);
    assert_stable(text);
    free(text);
}

/* Marks the bytes of a struct that a shape and the groups inside it reach. */
static void mark_fields(const struct cb_json_shape *shape, size_t base, char *reached)
{
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct cb_json_field *field = &shape->fields[i];
        size_t at = base + field->offset;
        if (field->kind == CB_JSON_OBJECT)
            mark_fields(field->shape, at, reached);
        else if (field->kind != CB_JSON_RANKS && field->kind != CB_JSON_GPUS &&
                 field->kind != CB_JSON_HOSTS)
            memset(reached + at, 1, field->size_bytes);
        if (field->kind == CB_JSON_LIST)
            memset(reached + base + field->count_offset, 1, field->count_size_bytes);
        if (field->kind == CB_JSON_TEXT)
            assert_in_range(field->size_bytes, 1, CB_JSON_TEXT_MAX);
    }
}

/* What is not reached must be padding: shorter than the largest alignment. elsewhere is the member
 * that the file says by where things stand. */
static void assert_all_reached(const struct cb_json_shape *shape, size_t elsewhere,
                               size_t elsewhere_size_bytes)
{
    char *reached = calloc(1, shape->size_bytes);
    size_t gap = 0;
    assert_non_null(reached);
    mark_fields(shape, 0, reached);
    memset(reached + elsewhere, 1, elsewhere_size_bytes);
    for (size_t i = 0; i < shape->size_bytes; i++) {
        gap = reached[i] ? 0 : gap + 1;
        if (gap >= sizeof(double) || (gap >= sizeof(int) && (i + 1) % sizeof(double) == 4))
            fail_msg("no key for the field before offset %zu of the struct of \"%s\"", i + 1,
                     shape->fields[0].key);
    }
    free(reached);
}

static void assert_rows_reached(const struct cb_json_shape *shape)
{
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct cb_json_field *field = &shape->fields[i];
        bool is_node = strcmp(field->key, "nodes") == 0; /* its map says that it is the node's */
        if (field->kind == CB_JSON_ROWS || field->kind == CB_JSON_LIST)
            assert_all_reached(field->shape, is_node ? offsetof(struct cb_topo_host, map) : 0,
                               is_node ? sizeof(int) : 0);
        if (field->shape)
            assert_rows_reached(field->shape);
    }
}

/* A field added to a struct without a key in json_shape.c would be lost without a word. */
static void test_every_struct_member_has_a_key(void **state)
{
    (void)state;
    size_t ranks = offsetof(struct cb_result, ranks); /* and gpus, which follow */
    assert_all_reached(&cb_json_result_shape, ranks,
                       offsetof(struct cb_result, gpu_reason) - ranks);
    assert_all_reached(&cb_json_rank_shape, offsetof(struct cb_rank, node), sizeof(int));
    assert_all_reached(&cb_json_gpu_shape, offsetof(struct cb_gpu, node), sizeof(int));
    assert_rows_reached(&cb_json_result_shape);
}

/* Fills whatever a shape reaches, each field with another value; lists to their capacity. */
static void fill_shape(const struct cb_json_shape *shape, char *row, int *seed)
{
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct cb_json_field *field = &shape->fields[i];
        char *at = row + field->offset;
        int value;
        switch (field->kind) {
        case CB_JSON_BOOL:
            *(bool *)at = true;
            break;
        case CB_JSON_INT:
            *(int *)at = next_int(seed);
            break;
        case CB_JSON_REAL:
            *(double *)at = next_real(seed);
            break;
        case CB_JSON_TEXT:
            fill_text(at, field->size_bytes, field->key, next_int(seed));
            break;
        case CB_JSON_ENUM:
            value = field->names->count - 1;
            memcpy(at, &value, sizeof(value));
            break;
        case CB_JSON_OBJECT:
            fill_shape(field->shape, at, seed);
            break;
        case CB_JSON_LIST:
            assert_int_equal(field->count_size_bytes, sizeof(field->capacity));
            memcpy(row + field->count_offset, &field->capacity, sizeof(field->capacity));
            for (size_t item = 0; item < field->capacity; item++)
                fill_shape(field->shape, at + item * field->shape->size_bytes, seed);
            break;
        default:
            fail_msg("a field of kind %d in a training", field->kind);
        }
    }
}

static void test_prediction_survives(void **state)
{
    (void)state;
    struct cb_result result, read;
    int seed = 0;
    cb_result_init(&result);
    struct cb_prediction *prediction = &result.prediction;
    fill_shape(&cb_json_training_shape, (char *)&prediction->training, &seed);
    prediction->advice.count = CB_ADVICE_COUNT;
    for (size_t i = 0; i < CB_ADVICE_COUNT; i++)
        fill_shape(&cb_json_advice_shape, (char *)&prediction->advice.items[i], &seed);
    prediction->price_per_gpu_hour = next_real(&seed);
    snprintf(prediction->currency, sizeof(prediction->currency), "EUR");
    char *text = to_json(&result);
    from_json(text, &read);
    assert_memory_equal(&read.prediction, &result.prediction, sizeof(read.prediction));
    assert_stable(text);
    free(text);
    cb_result_fini(&read);
}

/* What nothing suffices for is null, and stays infinite; without a prediction there is none. */
static void test_infinity_survives(void **state)
{
    (void)state;
    struct cb_result result, read;
    int seed = 0;
    cb_result_init(&result);
    fill_shape(&cb_json_training_shape, (char *)&result.prediction.training, &seed);
    result.prediction.training.critical_tokens = INFINITY;
    char *text = to_json(&result);
    assert_non_null(strstr(text, "\"critical_tokens\": null"));
    from_json(text, &read);
    assert_true(isinf(read.prediction.training.critical_tokens));
    free(text);
    cb_result_fini(&read);
    cb_result_fini(&result);
    snprintf(result.prediction.note, sizeof(result.prediction.note), "why");
    text = to_json(&result);
    assert_non_null(strstr(text, "\"training\": null"));
    assert_null(strstr(text, "\"price\""));
    from_json(text, &read);
    assert_false(cb_result_is_predicted(&read));
    assert_memory_equal(&read.prediction, &result.prediction, sizeof(read.prediction));
    assert_stable(text);
    free(text);
    cb_result_fini(&read);
}

static void test_numbers_are_exact(void **state)
{
    (void)state;
    static const double values[] = {0.1,    0.2,         1.0 / 3, 7e9,
                                    12.5e9, 5e-324,      DBL_MAX, DBL_MIN,
                                    1e15,   123456789.5, 1e17,    9007199254740992};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        struct cb_result result, read;
        cb_result_init(&result);
        result.formula = (struct cb_formula){.parameters = values[i]};
        char *text = to_json(&result);
        from_json(text, &read);
        assert_near(read.formula.parameters, values[i], 0);
        assert_stable(text);
        free(text);
        cb_result_fini(&read);
    }
}

static void test_numbers_are_written_short(void **state)
{
    (void)state;
    struct cb_result result;
    cb_result_init(&result);
    result.formula = (struct cb_formula){.parameters = 7e9, .threshold = 0.2};
    char *text = to_json(&result);
    assert_non_null(strstr(text, "\"parameters\": 7000000000,"));
    assert_non_null(strstr(text, "\"threshold\": 0.2,"));
    free(text);
}

static void test_decimal_point_whatever_the_locale(void **state)
{
    (void)state;
    struct cb_result result;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8"))
        skip();
    cb_result_init(&result);
    result.formula = (struct cb_formula){.threshold = 0.25};
    char *text = to_json(&result);
    assert_non_null(strstr(text, "\"threshold\": 0.25,"));
    assert_stable(text);
    free(text);
    setlocale(LC_NUMERIC, "C");
}

/* ---- what is unknown ---- */

static void test_unknown_is_null_not_zero(void **state)
{
    (void)state;
    struct cb_result result, read;
    cb_result_init(&result);
    struct cb_topo_host *node = added(cb_vec_add(&result.nodes));
    node->nic_count = 1;
    node->nics[0].numa = -1;
    struct cb_rank *rank = added(cb_vec_add(&result.ranks));
    rank->binding.numa = -1;
    struct cb_collective_row *row = added(cb_vec_add(&result.collectives));
    *row = (struct cb_collective_row){.op = CB_OP_BROADCAST, .status = CB_STATUS_SKIPPED};
    struct cb_kernel_row *kernel = added(cb_vec_add(&result.kernels));
    kernel->status = CB_STATUS_FAILED;
    kernel->flops_per_s = NAN;
    struct cb_check *check = added(cb_vec_add(&result.checks));
    check->status = CB_CHECK_NOT_TESTED;

    char *text = to_json(&result);
    static const char *const nulls[] = {
        "\"sockets\": null",    "\"memory_bytes\": null",
        "\"numa\": null",       "\"nominal_bytes_per_s\": null",
        "\"redop\": null",      "\"time_s\": null",
        "\"wrong\": null",      "\"busbw_bytes_per_s\": null",
        "\"actual\": null",     "\"ci95_relative\": null",
        "\"formula\": null",    "\"bottleneck\": null",
        "\"cpuset\": null",     "\"stopped_by\": null",
        "\"started_at\": null", "\"bandwidth_source\": null",
    };
    for (size_t i = 0; i < sizeof(nulls) / sizeof(nulls[0]); i++)
        if (!strstr(text, nulls[i]))
            fail_msg("%s is not in %s", nulls[i], text);
    assert_null(strstr(text, "flops_per_s"));
    assert_null(strstr(text, "reason"));

    from_json(text, &read);
    assert_int_equal(read.nodes.items[0].nics[0].numa, -1);
    assert_int_equal(read.ranks.items[0].binding.numa, -1);
    assert_true(read.collectives.items[0].time.ci95_relative < 0);
    assert_true(read.kernels.items[0].ci95_relative < 0);
    assert_false(read.formula.judged);
    assert_stable(text);
    free(text);
    cb_result_fini(&read);
    cb_result_fini(&result);
}

/* 0 is a finding when something looked: no wrong element, a check that found none. */
static void test_a_zero_that_was_found_is_a_zero(void **state)
{
    (void)state;
    struct cb_result result;
    cb_result_init(&result);
    struct cb_collective_row *row = added(cb_vec_add(&result.collectives));
    row->status = CB_STATUS_OK;
    struct cb_check *check = added(cb_vec_add(&result.checks));
    check->status = CB_CHECK_MET;
    char *text = to_json(&result);
    assert_non_null(strstr(text, "\"wrong\": 0,"));
    assert_non_null(strstr(text, "\"actual\": 0,"));
    assert_non_null(strstr(text, "\"required\": 0,"));
    free(text);
    cb_result_fini(&result);
}

static void test_parts_of_a_judgement_that_was_not_made_are_kept(void **state)
{
    (void)state;
    struct cb_result result, read;
    cb_result_init(&result);
    result.formula.parameters = 7e9;
    snprintf(result.formula.time_note, sizeof(result.formula.time_note), "no GEMM was measured");
    char *text = to_json(&result);
    assert_non_null(strstr(text, "\"formula\": null,\n    \"not_judged\": {"));
    from_json(text, &read);
    assert_false(read.formula.judged);
    assert_near(read.formula.parameters, 7e9, 0);
    assert_string_equal(read.formula.time_note, "no GEMM was measured");
    assert_stable(text);
    free(text);
    cb_result_fini(&read);
}

static void test_what_cannot_be_is_written_so_that_it_reads(void **state)
{
    (void)state;
    struct cb_result result;
    cb_result_init(&result);
    struct cb_collective_row *row = added(cb_vec_add(&result.collectives));
    row->size_bytes = UINT64_MAX;
    row->status = CB_STATUS_FAILED;
    row->samples = -5;
    row->ranks = -1;
    row->time.median_s = -INFINITY;
    row->alg_bytes_per_s = -1;
    row->bus_bytes_per_s = INFINITY;
    struct cb_topo_host *node = added(cb_vec_add(&result.nodes));
    node->nic_count = CB_TOPO_NICS + 100;
    struct cb_rank *rank = added(cb_vec_add(&result.ranks));
    rank->node = 7;
    char *text = to_json(&result);
    assert_stable(text);
    free(text);
    cb_result_fini(&result);
}

/* ---- text ---- */

struct text_case {
    const char *held;
    const char *read;
};

static const struct text_case texts[] = {
    {"gpu-a", "gpu-a"},
    {"quote \" backslash \\ slash /", "quote \" backslash \\ slash /"},
    {"Knoten \xc3\xa4\xe8\x8a\x82\xe7\x82\xb9 \xf0\x9f\x9a\x80", /* ä, 节点, a rocket */
     "Knoten \xc3\xa4\xe8\x8a\x82\xe7\x82\xb9 \xf0\x9f\x9a\x80"},
    {"\x1b[31mred\x7f", "?[31mred?"},
    {"tab\tline\nend\r", "tab line end "},
    {"C1 \xc2\x9b control", "C1 ? control"},
    {"\xff\xfe bytes", "?? bytes"},
    {"lone \xe8\x8a", "lone ??"},
    {"overlong \xc0\xaf", "overlong ??"},
    {"surrogate \xed\xa0\x80", "surrogate ???"},
    {"beyond \xf4\x90\x80\x80", "beyond ????"},
};

static void test_any_bytes_become_valid_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct cb_result result, read;
        cb_result_init(&result);
        struct cb_topo_host *node = added(cb_vec_add(&result.nodes));
        memcpy(node->name, texts[i].held, strlen(texts[i].held));
        assert_int_equal(cb_result_add_option(&result, texts[i].held, texts[i].held), 0);
        char *text = to_json(&result);
        from_json(text, &read);
        assert_string_equal(read.nodes.items[0].name, texts[i].read);
        assert_string_equal(read.options.items[0].name, texts[i].read);
        assert_string_equal(read.options.items[0].value, texts[i].read);
        assert_stable(text);
        free(text);
        cb_result_fini(&read);
        cb_result_fini(&result);
    }
}

static void test_text_without_an_end_is_not_overrun(void **state)
{
    (void)state;
    struct cb_result result;
    cb_result_init(&result);
    memset(result.tool_version, 'v', sizeof(result.tool_version));
    memset(result.build, '"', sizeof(result.build));
    char *text = to_json(&result);
    assert_stable(text);
    free(text);
}

static void test_names_that_become_the_same_are_written_once(void **state)
{
    (void)state;
    struct cb_result result, read;
    cb_result_init(&result);
    cb_result_add_option(&result, "a\x01", "first");
    cb_result_add_option(&result, "a\x02", "second");
    char *text = to_json(&result);
    from_json(text, &read);
    assert_int_equal(read.options.count, 1);
    assert_string_equal(read.options.items[0].value, "first");
    free(text);
    cb_result_fini(&read);
    cb_result_fini(&result);
}

/* ---- reading ---- */

/* A fit of neither latency nor bandwidth, in front of the checks. */
#define FIT_BUT(rest)                                                                              \
    "\"fits\": [{\"op\": \"all_reduce\", \"scope\": \"world\", \"dtype\": \"float32\", "           \
    "\"ranks\": 2, \"from_bytes\": 8, \"to_bytes\": 64, \"alpha_s\": 0, "                          \
    "\"bytes_per_s_inf\": null, " rest "}], \"checks\""

static const char valid[] =
    "{\n"
    "  \"schema\": \"commbound.result\",\n"
    "  \"version\": 1,\n"
    "  \"tool\": {\"version\": \"0.1.0\"},\n"
    "  \"run\": {\"started_at\": \"2000-01-01T00:00:00Z\", \"complete\": true,"
    " \"ranks\": 2, \"options\": {\"ops\": \"all_reduce\"}},\n"
    "  \"cluster\": {\"nodes\": [{\"host\": \"a\","
    " \"ranks\": [{\"rank\": 0}, {\"rank\": 1}]}]},\n"
    "  \"transport\": {\"name\": \"mpi\"},\n"
    "  \"collectives\": [\n"
    "    {\"op\": \"all_reduce\", \"scope\": \"world\","
    " \"dtype\": \"float32\", \"ranks\": 2, \"bytes\": 1024,"
    " \"time_s\": {\"median\": 0.5}, \"samples\": 3, \"status\": \"ok\"}\n"
    "  ],\n"
    "  \"pairs\": [{\"a\": \"x\", \"b\": \"y\", \"bytes_per_s\": 9, \"status\": \"ok\"}],\n"
    "  \"checks\": [{\"id\": \"data\", \"status\": \"met\"}]\n"
    "}\n";

static void test_optional_keys_may_be_missing(void **state)
{
    (void)state;
    struct cb_result result;
    from_json(valid, &result);
    assert_int_equal(result.rank_count, 2);
    assert_int_equal(result.ranks.count, 2);
    assert_int_equal(result.ranks.items[1].binding.numa, -1);
    assert_int_equal(result.collectives.items[0].size_bytes, 1024);
    assert_near(result.collectives.items[0].time.median_s, 0.5, 0);
    assert_true(result.collectives.items[0].time.ci95_relative < 0);
    assert_int_equal(result.kernels.count, 0);
    assert_false(result.formula.judged);
    cb_result_fini(&result);
}

static void test_unknown_keys_and_any_order_are_read(void **state)
{
    (void)state;
    struct cb_result result;
    char *text = replaced(valid, "\"schema\": \"commbound.result\",\n  \"version\": 1,\n", "");
    char *later = replaced(text, "\"checks\"",
                           "\"later\": [[{}], {\"]\": \"}\"}, 1e3, null], \"version\": 1,"
                           " \"schema\": \"commbound.res\\u0075lt\", \"checks\"");
    char *inside = replaced(later, "\"bytes\": 1024", "\"bytes\": 1024, \"new\": {\"x\": [1]}");
    from_json(inside, &result);
    assert_int_equal(result.collectives.items[0].size_bytes, 1024);
    assert_int_equal(result.checks.count, 1);
    cb_result_fini(&result);
    free(inside);
    free(later);
    free(text);
}

static void test_ranks_are_sorted_by_number(void **state)
{
    (void)state;
    struct cb_result result;
    char *text = replaced(valid, "[{\"rank\": 0}, {\"rank\": 1}]}]",
                          "[{\"rank\": 2}, {\"rank\": 0}]}, {\"host\": \"b\","
                          " \"ranks\": [{\"rank\": 1}]}]");
    from_json(text, &result);
    static const int nodes[] = {0, 1, 0};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(result.ranks.items[i].rank, i);
        assert_int_equal(result.ranks.items[i].node, nodes[i]);
    }
    cb_result_fini(&result);
    free(text);
}

static void test_long_text_is_cut_before_a_character(void **state)
{
    (void)state;
    struct cb_result result;
    char host[256] = "\"host\": \"";
    for (int i = 0; i < 100; i++)
        strcat(host, "\xc3\xa9");
    strcat(host, "\"");
    char *text = replaced(valid, "\"host\": \"a\"", host);
    from_json(text, &result);
    assert_int_equal(strlen(result.nodes.items[0].name), 62); /* 31 of 2 bytes, in 63 */
    cb_result_fini(&result);
    free(text);
}

struct bad_case {
    const char *from, *to; /* what is changed in the valid file */
    const char *message;
};

static const struct bad_case bad_cases[] = {
    {"\"commbound.result\"", "\"nccl-tests\"",
     "f.json: schema: expected \"commbound.result\", found \"nccl-tests\""},
    {"\"commbound.result\"", "3", "f.json: schema: expected a string, found an integer"},
    {"\"schema\": \"commbound.result\",", "",
     "f.json: schema: missing: this is no result of commbound"},
    {"\"version\": 1", "\"version\": 2",
     "f.json: written by a newer commbound: version 2, this one reads 1"},
    {"\"version\": 1", "\"version\": 0", "f.json: version: there is no version 0"},
    {"\"version\": 1", "\"version\": \"1\"",
     "f.json: version: expected an integer, found a string"},
    {"\"version\": 1,", "", "f.json: version: missing"},
    {"\"tool\": {\"version\": \"0.1.0\"},", "", "f.json: tool: missing"},
    {"{\"version\": \"0.1.0\"}", "[]", "f.json: tool: expected an object, found an array"},
    {"\"0.1.0\"", "null", "f.json: tool.version: expected a string, found null"},
    {"\"complete\": true", "\"complete\": 1",
     "f.json: run.complete: expected true or false, found an integer"},
    {"{\"ops\": \"all_reduce\"}", "{\"ops\": 5}",
     "f.json: run.options.ops: expected a string, found an integer"},
    {"{\"ops\": \"all_reduce\"}", "{\"ops\": {}}", "f.json: run.options.ops: \"value\" is missing"},
    {"{\"ops\": \"all_reduce\"}", "[]", "f.json: run.options: expected an object, found an array"},
    {"\"host\": \"a\",", "", "f.json: cluster.nodes[0].host: missing"},
    {"{\"rank\": 1}", "{\"rank\": 0}", "f.json: rank 0 stands in cluster.nodes twice"},
    {"{\"rank\": 1}", "7",
     "f.json: cluster.nodes[0].ranks[1]: expected an object, found an integer"},
    {"1024", "\"1K\"", "f.json: collectives[0].bytes: expected an integer, found a string"},
    {"1024", "10.5", "f.json: collectives[0].bytes: expected an integer, found a fraction"},
    {"1024", "-1", "f.json: collectives[0].bytes: expected at least 0, found -1"},
    {"1024", "99999999999999999999", "f.json:9: too big integer near '99999999999999999999'"},
    {"\"samples\": 3", "\"samples\": 2147483648",
     "f.json: collectives[0].samples: 2147483648 is too large"},
    {"\"samples\": 3", "\"samples\": 3, \"algorithm\": {\"protocol\": \"LL\"}",
     "f.json: collectives[0].algorithm.name: missing"},
    {"\"samples\": 3", "\"samples\": 3, \"algorithm\": {\"name\": \"ring\", \"channels\": -1}",
     "f.json: collectives[0].algorithm.channels: expected at least 0, found -1"},
    {"\"samples\": 3", "\"samples\": 3, \"algorithm\": \"ring\"",
     "f.json: collectives[0].algorithm: expected an object, found a string"},
    {"\"samples\": 3", "\"samples\": null",
     "f.json: collectives[0].samples: expected an integer, found null"},
    {"0.5", "-0.5", "f.json: collectives[0].time_s.median: expected at least 0, found -0.5"},
    {"0.5", "true", "f.json: collectives[0].time_s.median: expected a number, found true"},
    {"0.5", "1e999", "f.json:9: real number overflow near '1e999'"},
    {"0.5", "NaN", "f.json:9: invalid token near 'NaN'"},
    {"{\"median\": 0.5}", "0.5",
     "f.json: collectives[0].time_s: expected an object, found a fraction"},
    {"\"time_s\": {\"median\": 0.5}", "\"time_s\": null",
     "f.json: collectives[0].time_s: no number, where the rest of it says there is one"},
    {"\"bytes_per_s\": 9", "\"bytes_per_s\": null",
     "f.json: pairs[0].bytes_per_s: no number, where the rest of it says there is one"},
    {"\"all_reduce\", \"scope\"", "\"allreduce\", \"scope\"",
     "f.json: collectives[0].op: unknown op \"allreduce\""},
    {"\"world\"", "\"pl\\u001banet\"", "f.json: collectives[0].scope: unknown scope \"pl?anet\""},
    {"\"float32\"", "32", "f.json: collectives[0].dtype: expected a string, found an integer"},
    {"\"status\": \"met\"", "\"status\": \"passed\"",
     "f.json: checks[0].status: unknown status \"passed\""},
    {"\"pairs\": [", "\"pairs\": {\"x\": [",
     "f.json:14: the file ends in the middle of the JSON text"},
    {"[{\"a\": \"x\", \"b\": \"y\", \"bytes_per_s\": 9, \"status\": \"ok\"}]", "{}",
     "f.json: pairs: expected an array, found an object"},
    {"\"b\": \"y\"", "\"b\": \"\xff\"", "f.json:11: unable to decode byte 0xff near '\"'"},
    {"\"b\": \"y\"", "\"a\": \"y\"", "f.json:11: duplicate object key near '\"a\"'"},
    {"\"checks\"", FIT_BUT("\"max_relative_error\": 0.1"), "f.json: fits[0].accepted: missing"},
    {"\"checks\"", FIT_BUT("\"max_relative_error\": -0.1, \"accepted\": true"),
     "f.json: fits[0].max_relative_error: expected at least 0, found -0.1"},
    {"\"checks\"", FIT_BUT("\"max_relative_error\": 0.1, \"accepted\": 1"),
     "f.json: fits[0].accepted: expected true or false, found an integer"},
    {"\"checks\"", FIT_BUT("\"max_relative_error\": 0.1, \"accepted\": true"),
     "f.json: fits[0].alpha_s: no number, where the rest of it says there is one"},
    {"\"checks\"", "\"pairs\"", "f.json:12: this key stands in the document twice"},
    {"\"checks\"", "\"version\"", "f.json:12: this key stands in the document twice"},
    {"\"checks\"", "checks", "f.json:12: a key in quotes is missing"},
    {"\"checks\": ", "\"checks\" ", "f.json:12: ':' is missing"},
    {"\"checks\": [", "\"checks\": ", "f.json:12: ',' or '}' is missing"},
    {"  \"checks\"", "  , \"checks\"", "f.json:12: a key in quotes is missing"},
    {"\"status\": \"met\"}]\n", "\"status\": \"met\"}],\n",
     "f.json:13: a key in quotes is missing"},
    {"\"status\": \"met\"}]\n", "\"status\": \"met\"},]\n", "f.json:12: a value is missing"},
    {"\"status\": \"met\"}]\n}\n", "\"status\": \"met\"}]\n} {}",
     "f.json:13: text after the end of the JSON object"},
    {"\"met\"}]\n}\n", "\"met\"}]\n", "f.json:13: the file ends in the middle of the JSON text"},
    {"\"met\"}]\n}\n", "\"met\"}", "f.json:12: the file ends in the middle of the JSON text"},
    {"\"met\"}]\n}\n", "\"m", "f.json:12: the file ends in the middle of the JSON text"},
    {"\"met\"}]\n}\n", "\"met\"}}\n}\n", "f.json:12: ',' or ']' is missing"},
};

/* A map names hosts that are there, each once. */
static void test_hosts_of_a_map(void **state)
{
    static const struct {
        const char *hosts, *message;
    } rows[] = {
        {"[\"a\", \"a\"]",
         "f.json: cluster.maps[0].hosts[1]: no host of that name in cluster.nodes "
         "without a map"},
        {"[\"b\"]",
         "f.json: cluster.maps[0].hosts[0]: no host of that name in cluster.nodes without "
         "a map"},
        {"\"a\"", "f.json: cluster.maps[0].hosts: expected an array, found a string"},
        {"[1]", "f.json: cluster.maps[0].hosts[0]: expected a string, found an integer"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cb_result result;
        struct cb_error err = {0};
        char maps[128];
        snprintf(maps, sizeof(maps), "{\"rank\": 1}]}], \"maps\": [{\"hosts\": %s, \"map\": {}}]},",
                 rows[i].hosts);
        char *text = replaced(valid, "{\"rank\": 1}]}]},", maps);
        cb_result_init(&result);
        assert_int_equal(cb_result_from_json("f.json", text, strlen(text), &result, &err),
                         CB_E_INPUT);
        assert_string_equal(err.what, rows[i].message);
        assert_null(result.maps.items);
        free(text);
    }
}

static void test_bad_files_are_refused_with_the_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad_cases) / sizeof(bad_cases[0]); i++) {
        const struct bad_case *bad = &bad_cases[i];
        struct cb_result result;
        struct cb_error err = {0};
        char *text = replaced(valid, bad->from, bad->to);
        cb_result_init(&result);
        assert_int_equal(cb_result_from_json("f.json", text, strlen(text), &result, &err),
                         CB_E_INPUT);
        assert_string_equal(err.what, bad->message);
        assert_int_equal(err.code, CB_E_INPUT);
        assert_null(result.nodes.items);
        assert_int_equal(result.rank_count, 0);
        free(text);
    }
}

static void assert_refused(const char *text, size_t length_bytes, const char *message)
{
    struct cb_result result;
    struct cb_error err = {0};
    cb_result_init(&result);
    assert_int_equal(cb_result_from_json("f.json", text, length_bytes, &result, &err), CB_E_INPUT);
    assert_string_equal(err.what, message);
}

static void test_what_is_no_json_object_is_refused(void **state)
{
    (void)state;
    assert_refused("", 0, "f.json: it is empty");
    assert_refused(" \n", 2, "f.json: it is empty");
    assert_refused("# nThread 1", 11, "f.json: this is no JSON object");
    assert_refused("[]", 2, "f.json: this is no JSON object");
    assert_refused("\0\0\0\0", 4, "f.json: this is no JSON object");
}

/* Wherever a file is cut, the reader says no: it never takes a part for the whole. */
static void test_every_truncation_is_refused(void **state)
{
    (void)state;
    for (size_t length_bytes = 0; length_bytes < sizeof(valid) - 2; length_bytes++) {
        struct cb_result result;
        struct cb_error err = {0};
        char *exact = malloc(length_bytes + 1); /* so that a sanitizer sees a byte too many */
        memcpy(exact, valid, length_bytes);
        exact = realloc(exact, length_bytes ? length_bytes : 1);
        cb_result_init(&result);
        assert_int_equal(cb_result_from_json("f", exact, length_bytes, &result, &err), CB_E_INPUT);
        free(exact);
    }
}

static void test_deep_nesting_is_refused(void **state)
{
    (void)state;
    size_t deep = 100000;
    char *nested = malloc(2 * deep + 20);
    strcpy(nested, "\"fits\": ");
    size_t start = strlen(nested);
    memset(nested + start, '[', deep);
    memset(nested + start + deep, ']', deep);
    strcpy(nested + start + 2 * deep, ", \"pairs\"");
    char *text = replaced(valid, "\"pairs\"", nested);
    assert_refused(text, strlen(text), "f.json:11: maximum parsing depth reached near '['");
    free(text);
    free(nested);
}

static void test_long_file_name_leaves_room_for_the_message(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_error err = {0};
    char name[400];
    memset(name, 'd', sizeof(name));
    strcpy(name + sizeof(name) - 13, "/result.json");
    cb_result_init(&result);
    assert_int_equal(cb_result_from_json(name, "{}", 2, &result, &err), CB_E_INPUT);
    assert_non_null(strstr(err.what, "/result.json: schema: missing"));
}

/* ---- files ---- */

struct folder {
    char path[64];
    char file[96];
};

static int make_folder(void **state)
{
    struct folder *folder = calloc(1, sizeof(*folder));
    strcpy(folder->path, "/tmp/commbound-test-XXXXXX");
    if (!mkdtemp(folder->path))
        return -1;
    snprintf(folder->file, sizeof(folder->file), "%s/result.json", folder->path);
    *state = folder;
    return 0;
}

static int remove_folder(void **state)
{
    struct folder *folder = *state;
    unlink(folder->file);
    rmdir(folder->file);
    rmdir(folder->path);
    free(folder);
    return 0;
}

static int count_entries(const char *path)
{
    int count = 0;
    DIR *dir = opendir(path);
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count - 2; /* . and .. */
}

static void test_saved_is_loaded(void **state)
{
    const struct folder *folder = *state;
    struct cb_result result, read;
    struct cb_error err = {0};
    int seed = 1000;
    fill_result(&result, &seed);
    assert_ok(cb_result_save(folder->file, &result, &err), &err);
    result.kernels.items[0].rank = 77;
    assert_ok(cb_result_save(folder->file, &result, &err), &err); /* over the first */
    assert_int_equal(count_entries(folder->path), 1);
    cb_result_init(&read);
    assert_ok(cb_result_load(folder->file, &read, &err), &err);
    assert_rows_equal(read, result, kernels);
    cb_result_fini(&read);
    cb_result_fini(&result);
}

static void test_saved_file_has_the_mode_of_any_new_file(void **state)
{
    const struct folder *folder = *state;
    struct cb_result result;
    struct cb_error err = {0};
    struct stat status;
    mode_t mask = umask(027);
    cb_result_init(&result);
    assert_ok(cb_result_save(folder->file, &result, &err), &err);
    umask(mask);
    assert_int_equal(stat(folder->file, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
}

/* A limit on the size of files stands in for a full disk: writes fail part of the way. */
static void test_failed_write_leaves_the_old_file_and_nothing_else(void **state)
{
    const struct folder *folder = *state;
    struct cb_result small, large, read;
    struct cb_error err = {0};
    struct rlimit limit, tight;
    int seed = 0;
    cb_result_init(&small);
    small.rank_count = 42;
    assert_ok(cb_result_save(folder->file, &small, &err), &err);
    cb_result_init(&large);
    for (int i = 0; i < 200; i++)
        fill_kernel(added(cb_vec_add(&large.kernels)), &seed);

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    tight = limit;
    tight.rlim_cur = 10000;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    int rc = cb_result_save(folder->file, &large, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, SIG_DFL);

    assert_int_equal(rc, CB_E_IO);
    assert_non_null(strstr(err.what, folder->file));
    assert_non_null(strstr(err.what, "File too large"));
    assert_int_equal(count_entries(folder->path), 1);
    cb_result_init(&read);
    assert_ok(cb_result_load(folder->file, &read, &err), &err);
    assert_int_equal(read.rank_count, 42);
    cb_result_fini(&read);
    cb_result_fini(&large);
}

static void test_places_that_cannot_be_written(void **state)
{
    const struct folder *folder = *state;
    struct cb_result result;
    struct cb_error err = {0};
    cb_result_init(&result);
    assert_int_equal(cb_result_save("/nowhere/at/all/result.json", &result, &err), CB_E_IO);
    assert_non_null(strstr(err.what, "/nowhere/at/all/result.json: No such file"));
    assert_int_equal(mkdir(folder->file, 0777), 0); /* a folder where the file should be */
    assert_int_equal(cb_result_save(folder->file, &result, &err), CB_E_IO);
    assert_int_equal(count_entries(folder->path), 1);
}

static void test_places_that_cannot_be_read(void **state)
{
    const struct folder *folder = *state;
    struct cb_result result;
    struct cb_error err = {0};
    cb_result_init(&result);
    assert_int_equal(cb_result_load(folder->file, &result, &err), CB_E_IO);
    assert_non_null(strstr(err.what, "result.json: No such file"));
    assert_int_equal(cb_result_load(folder->path, &result, &err), CB_E_IO);
    assert_non_null(strstr(err.what, "Is a directory"));
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_field_survives),
        cmocka_unit_test(test_empty_result_survives),
        cmocka_unit_test(test_every_struct_member_has_a_key),
        cmocka_unit_test(test_prediction_survives),
        cmocka_unit_test(test_infinity_survives),
        cmocka_unit_test(test_numbers_are_exact),
        cmocka_unit_test(test_numbers_are_written_short),
        cmocka_unit_test(test_decimal_point_whatever_the_locale),
        cmocka_unit_test(test_unknown_is_null_not_zero),
        cmocka_unit_test(test_a_zero_that_was_found_is_a_zero),
        cmocka_unit_test(test_parts_of_a_judgement_that_was_not_made_are_kept),
        cmocka_unit_test(test_what_cannot_be_is_written_so_that_it_reads),
        cmocka_unit_test(test_any_bytes_become_valid_text),
        cmocka_unit_test(test_text_without_an_end_is_not_overrun),
        cmocka_unit_test(test_names_that_become_the_same_are_written_once),
        cmocka_unit_test(test_optional_keys_may_be_missing),
        cmocka_unit_test(test_unknown_keys_and_any_order_are_read),
        cmocka_unit_test(test_ranks_are_sorted_by_number),
        cmocka_unit_test(test_long_text_is_cut_before_a_character),
        cmocka_unit_test(test_bad_files_are_refused_with_the_place),
        cmocka_unit_test(test_hosts_of_a_map),
        cmocka_unit_test(test_what_is_no_json_object_is_refused),
        cmocka_unit_test(test_every_truncation_is_refused),
        cmocka_unit_test(test_deep_nesting_is_refused),
        cmocka_unit_test(test_long_file_name_leaves_room_for_the_message),
        WITH_FOLDER(test_saved_is_loaded),
        WITH_FOLDER(test_saved_file_has_the_mode_of_any_new_file),
        WITH_FOLDER(test_failed_write_leaves_the_old_file_and_nothing_else),
        WITH_FOLDER(test_places_that_cannot_be_written),
        WITH_FOLDER(test_places_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "result/forecast.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "result/json_fields.h"

void cb_forecast_init(struct cb_forecast *forecast)
{
    memset(forecast, 0, sizeof(*forecast));
}

void cb_forecast_fini(struct cb_forecast *forecast)
{
    cb_vec_fini(&forecast->runs);
    cb_vec_fini(&forecast->rows);
    cb_vec_fini(&forecast->assumptions);
    cb_forecast_init(forecast);
}

int cb_forecast_assume(struct cb_forecast *forecast, const char *name, double value,
                       enum cb_provenance source, const char *format, ...)
{
    struct cb_assumption *added = cb_vec_add(&forecast->assumptions);
    va_list arguments;
    if (!added)
        return CB_E_MEMORY;
    *added = (struct cb_assumption){.value = value, .source = source};
    snprintf(added->name, sizeof(added->name), "%s", name);
    va_start(arguments, format);
    vsnprintf(added->text, sizeof(added->text), format, arguments);
    va_end(arguments);
    return 0;
}

/* ---- JSON ---- */

NAMES(provenance, "source", CB_PROVENANCE_COUNT);
NAMES(confidence, "confidence", CB_CONFIDENCE_COUNT);

static const char *verdict_name(int value)
{
    return cb_training_verdict_name((enum cb_training_verdict)value);
}

/* Written only. */
static const struct cb_json_names verdict_names = {
    .what = "verdict", .count = CB_TRAINING_VERDICT_COUNT, .name = verdict_name};

static bool row_is_unknown(const void *row)
{
    return ((const struct cb_forecast_row *)row)->reason[0] != '\0';
}

static bool row_has_no_network(const void *row)
{
    const struct cb_forecast_row *forecast = row;
    return row_is_unknown(row) || !(forecast->all_reduce_s > 0);
}

#define KNOWN(member, name) FIELD_UNLESS(forecast_row, member, name, 0, row_is_unknown)

static const struct cb_json_field all_reduce_fields[] = {
    FIELD(forecast_row, all_reduce_s, "time_s", ZERO),
    FIELD(forecast_row, all_reduce_low_s, "low_s", ZERO),
    FIELD(forecast_row, all_reduce_high_s, "high_s", ZERO),
    FIELD(forecast_row, bus_bytes_per_s, "busbw_bytes_per_s", ZERO),
    NAMED(forecast_row, all_reduce_source, "source", ZERO, provenance_names),
    NAMED_UNLESS(forecast_row, all_reduce_confidence, "confidence", 0, confidence_names,
                 row_has_no_network),
};
static const struct cb_json_shape all_reduce_shape = SHAPE(all_reduce_fields, forecast_row, true);

static const struct cb_json_field row_fields[] = {
    FIELD(forecast_row, gpus, "gpus", ALWAYS),
    FIELD(forecast_row, nodes, "nodes", ALWAYS),
    GROUP("all_reduce", 0, all_reduce_shape),
    KNOWN(compute_s, "compute_s"),
    KNOWN(communication_s, "communication_s"),
    KNOWN(step_s, "step_s"),
    KNOWN(serial_share, "serial_share"),
    KNOWN(exposed_share, "exposed_share"),
    KNOWN(exposed_share_low, "exposed_share_low"),
    KNOWN(exposed_share_high, "exposed_share_high"),
    KNOWN(tokens_per_s, "tokens_per_s"),
    NAMED_UNLESS(forecast_row, verdict, "verdict", 0, verdict_names, row_is_unknown),
    KNOWN(bound, "bound"),
    NAMED(forecast_row, source, "source", ZERO, provenance_names),
    NAMED_UNLESS(forecast_row, confidence, "confidence", 0, confidence_names, row_is_unknown),
    FIELD(forecast_row, reason, "reason", ZERO | OMIT),
};
static const struct cb_json_shape row_shape = SHAPE(row_fields, forecast_row, true);

static const struct cb_json_field assumption_fields[] = {
    FIELD(assumption, name, "name", ALWAYS),
    FIELD(assumption, value, "value", ZERO),
    FIELD(assumption, text, "text", ZERO),
    NAMED(assumption, source, "source", ZERO, provenance_names),
};
static const struct cb_json_shape assumption_shape = SHAPE(assumption_fields, assumption, true);

static const struct cb_json_field run_fields[] = {
    FIELD(forecast_run, nodes, "nodes", ALWAYS),
    FIELD(forecast_run, gpus_per_node, "gpus_per_node", ALWAYS),
    FIELD(forecast_run, transport, "transport", ZERO),
    FIELD(forecast_run, simulated, "simulated", 0),
    FIELD(forecast_run, started_at, "started_at", ZERO),
    FIELD(forecast_run, largest_bytes, "largest_bytes", ZERO),
};
static const struct cb_json_shape run_shape = SHAPE(run_fields, forecast_run, true);

static const struct cb_json_field job_fields[] = {
    FIELD(forecast, job, "name", ZERO),
    FIELD(forecast, scheme, "scheme", ZERO),
    FIELD(forecast, parameters, "parameters", ZERO),
    FIELD(forecast, gradient_bytes, "gradient_bytes", ZERO),
    FIELD(forecast, tokens_per_gpu, "tokens_per_gpu", ZERO),
    NAMED(forecast, compute_source, "compute_source", ZERO, provenance_names),
    FIELD(forecast, threshold, "threshold", ZERO),
};
static const struct cb_json_shape job_shape = SHAPE(job_fields, forecast, true);

static const struct cb_json_field forecast_fields[] = {
    FIELD(forecast, tool_version, "tool_version", ALWAYS),
    ROWS(forecast, runs, "measured", ALWAYS, run_shape),
    GROUP("job", ALWAYS, job_shape),
    FIELD(forecast, gpus_per_node, "gpus_per_node", ALWAYS),
    FIELD(forecast, oversubscription, "oversubscription", ZERO),
    FIELD(forecast, pod_nodes, "pod_nodes", ZERO),
    ROWS(forecast, rows, "rows", ALWAYS, row_shape),
    ROWS(forecast, assumptions, "assumptions", ALWAYS, assumption_shape),
};
static const struct cb_json_shape forecast_shape = SHAPE(forecast_fields, forecast, false);

int cb_forecast_to_json(const struct cb_forecast *forecast, char **text, struct cb_error *err)
{
    return cb_json_write_document(CB_FORECAST_SCHEMA, CB_FORECAST_SCHEMA_VERSION, &forecast_shape,
                                  forecast, text, err);
}

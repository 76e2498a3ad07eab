#include "result/json_shape.h"

#include <math.h>
#include <string.h>

#include "result/json_fields.h"

/* ---- names ---- */

NAMES(op, "op", CB_OP_COUNT);
NAMES(scope, "scope", CB_SCOPE_COUNT);
NAMES(dtype, "dtype", CB_DTYPE_COUNT);
NAMES(redop, "redop", CB_REDOP_COUNT);
NAMES(status, "status", CB_STATUS_COUNT);
NAMES(check_status, "status", CB_CHECK_STATUS_COUNT);
NAMES(provenance, "source", CB_PROVENANCE_COUNT);
NAMES(span, "span", CB_SPAN_COUNT);
NAMES(locality, "locality", CB_LOCALITY_COUNT);

/* ---- when a field says nothing ---- */

static bool has_data(enum cb_status status)
{
    return cb_status_is_usable(status) || status == CB_STATUS_WRONG;
}

static bool collective_has_no_redop(const void *row)
{
    return !cb_op_reduces(((const struct cb_collective_row *)row)->op);
}

static bool collective_is_unmeasured(const void *row)
{
    return !(((const struct cb_collective_row *)row)->time.median_s > 0);
}

/* "No wrong element" may only be said of data that were looked at. */
static bool collective_is_unchecked(const void *row)
{
    const struct cb_collective_row *collective = row;
    return collective->wrong == 0 && !has_data(collective->status);
}

static bool collective_has_no_algorithm(const void *row)
{
    return !((const struct cb_collective_row *)row)->algorithm.name[0];
}

static bool kernel_is_unmeasured(const void *row)
{
    const struct cb_kernel_row *kernel = row;
    return !(kernel->flops_per_s > 0) && !(kernel->bytes_per_s > 0);
}

static bool kernel_is_unchecked(const void *row)
{
    const struct cb_kernel_row *kernel = row;
    return kernel->wrong == 0 && !has_data(kernel->status);
}

static bool pair_is_unmeasured(const void *row)
{
    return !(((const struct cb_pair_row *)row)->bytes_per_s > 0);
}

/* A check that was made may well have found 0; one that was not made has no number. */
static bool check_has_no_actual(const void *row)
{
    const struct cb_check *check = row;
    return check->actual == 0 && check->status == CB_CHECK_NOT_TESTED;
}

static bool check_has_no_required(const void *row)
{
    const struct cb_check *check = row;
    return check->required == 0 &&
           (check->status == CB_CHECK_NOT_TESTED || check->status == CB_CHECK_NO_REFERENCE);
}

static bool formula_is_unjudged(const void *row)
{
    return !((const struct cb_formula *)row)->judged;
}

static bool result_is_judged(const void *row)
{
    return ((const struct cb_result *)row)->formula.judged;
}

static bool result_is_unjudged(const void *row)
{
    return !result_is_judged(row);
}

static bool result_is_not_predicted(const void *row)
{
    return !cb_result_is_predicted(row);
}

static bool result_has_no_price(const void *row)
{
    return !(((const struct cb_result *)row)->prediction.price_per_gpu_hour > 0);
}

static bool formula_has_no_time(const void *row)
{
    return !(((const struct cb_formula *)row)->time_s > 0);
}

/* ---- numbers that must be there ---- */

/* The key of the number without which a row contradicts itself, or NULL. */
static const char *collective_lacks(const void *row)
{
    const struct cb_collective_row *collective = row;
    if (!cb_status_is_usable(collective->status) || collective->time.median_s > 0)
        return NULL;
    return "time_s";
}

static const char *kernel_lacks(const void *row)
{
    const struct cb_kernel_row *kernel = row;
    if (!cb_status_is_usable(kernel->status) || kernel->flops_per_s > 0 || kernel->bytes_per_s > 0)
        return NULL;
    return "bytes_per_s";
}

static const char *pair_lacks(const void *row)
{
    const struct cb_pair_row *pair = row;
    if (!cb_status_is_usable(pair->status) || pair->bytes_per_s > 0 || pair->round_trip_s > 0)
        return NULL;
    return "bytes_per_s";
}

static const char *formula_lacks(const void *row)
{
    const struct cb_formula *formula = row;
    const struct {
        const char *key;
        double value;
    } numbers[] = {
        {"parameters", formula->parameters},
        {"communications", formula->communications},
        {"bandwidth_bytes_per_s", formula->bandwidth_bytes_per_s},
        {"communication_s", formula->communication_s},
        {"share", formula->share},
        {"threshold", formula->threshold},
    };
    for (size_t i = 0; formula->judged && i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (!(numbers[i].value > 0))
            return numbers[i].key;
    return NULL;
}

/* ---- numbers for people ---- */

static double pair_latency_s(const void *row)
{
    const struct cb_pair_row *pair = row;
    return pair->round_trip_s > 0 ? pair->round_trip_s / 2 : NAN;
}

static double formula_bytes_per_parameter(const void *row)
{
    (void)row;
    return CB_FORMULA_BYTES_PER_PARAMETER;
}

/* Over the whole training, as communication_s is; a time that includes the communication does not
 * tell it. */
static bool formula_knows_compute(const struct cb_formula *formula)
{
    return formula->judged && formula->span == CB_SPAN_COMPUTE && formula->time_s > 0;
}

static double formula_compute_s(const void *row)
{
    const struct cb_formula *formula = row;
    if (!formula_knows_compute(formula))
        return NAN;
    double per_step = formula->communications_per_step;
    return formula->time_s * formula->communications / (per_step > 0 ? per_step : 1);
}

static const char *formula_compute_source(const void *row)
{
    const struct cb_formula *formula = row;
    return formula_knows_compute(formula) ? cb_provenance_name(formula->time_source) : NULL;
}

/* ---- the tables ---- */

static const struct cb_json_field time_fields[] = {
    FIELD(time_stats, median_s, "median", ALWAYS | ZERO),
    FIELD(time_stats, p10_s, "p10", ZERO),
    FIELD(time_stats, p90_s, "p90", ZERO),
    FIELD(time_stats, min_s, "min", ZERO),
    FIELD(time_stats, max_s, "max", ZERO),
    FIELD(time_stats, ci95_relative, "ci95_relative", NEGATIVE),
};
static const struct cb_json_shape time_shape = SHAPE(time_fields, time_stats, true);

static const struct cb_json_field algorithm_fields[] = {
    FIELD(algorithm, name, "name", ALWAYS),
    FIELD(algorithm, protocol, "protocol", ZERO),
    FIELD(algorithm, channels, "channels", ZERO),
};
static const struct cb_json_shape algorithm_shape = SHAPE(algorithm_fields, algorithm, true);

static const struct cb_json_field collective_fields[] = {
    NAMED(collective_row, op, "op", ALWAYS, op_names),
    NAMED(collective_row, scope, "scope", ALWAYS, scope_names),
    NAMED(collective_row, dtype, "dtype", ALWAYS, dtype_names),
    NAMED_UNLESS(collective_row, redop, "redop", 0, redop_names, collective_has_no_redop),
    FIELD(collective_row, ranks, "ranks", ALWAYS | ZERO),
    FIELD(collective_row, size_bytes, "bytes", ALWAYS | ZERO),
    FIELD(collective_row, in_place, "in_place", 0),
    FIELD(collective_row, samples, "samples", 0),
    FIELD(collective_row, operations_per_sample, "operations_per_sample", ZERO),
    {.key = "time_s",
     .kind = CB_JSON_OBJECT,
     AT(collective_row, time),
     .shape = &time_shape,
     .is_absent = collective_is_unmeasured},
    FIELD(collective_row, alg_bytes_per_s, "algbw_bytes_per_s", ZERO),
    FIELD(collective_row, bus_bytes_per_s, "busbw_bytes_per_s", ZERO),
    FIELD_UNLESS(collective_row, wrong, "wrong", 0, collective_is_unchecked),
    {.key = "algorithm",
     .kind = CB_JSON_OBJECT,
     .rules = OMIT,
     AT(collective_row, algorithm),
     .shape = &algorithm_shape,
     .is_absent = collective_has_no_algorithm},
    NAMED(collective_row, status, "status", ALWAYS, status_names),
    FIELD(collective_row, reason, "reason", ZERO | OMIT),
    FIELD(collective_row, import_number, "import", ZERO | OMIT),
    FIELD(collective_row, import_line, "import_line", ZERO | OMIT),
};
static const struct cb_json_shape collective_shape =
    SHAPE_THAT_MAY_LACK(collective_fields, collective_row, true, collective_lacks);

static const struct cb_json_field pair_fields[] = {
    FIELD(pair_row, a, "a", ALWAYS),
    FIELD(pair_row, b, "b", ALWAYS),
    DERIVED("latency_s", pair_latency_s),
    FIELD(pair_row, round_trip_s, "round_trip_s", ZERO),
    FIELD(pair_row, size_bytes, "bytes", ZERO),
    FIELD(pair_row, bytes_per_s, "bytes_per_s", ZERO),
    FIELD_UNLESS(pair_row, ci95_relative, "ci95_relative", NEGATIVE, pair_is_unmeasured),
    NAMED(pair_row, status, "status", ALWAYS, status_names),
    FIELD(pair_row, reason, "reason", ZERO | OMIT),
};
static const struct cb_json_shape pair_shape =
    SHAPE_THAT_MAY_LACK(pair_fields, pair_row, true, pair_lacks);

static const struct cb_json_field kernel_fields[] = {
    FIELD(kernel_row, rank, "rank", ALWAYS | NEGATIVE),
    FIELD(kernel_row, kernel, "kernel", ALWAYS),
    NAMED(kernel_row, dtype, "dtype", ALWAYS, dtype_names),
    FIELD(kernel_row, variant, "variant", ZERO),
    FIELD(kernel_row, small, "small", ZERO | OMIT),
    FIELD(kernel_row, threads, "threads", ZERO),
    FIELD(kernel_row, size_bytes, "bytes", ZERO),
    FIELD(kernel_row, samples, "samples", 0),
    FIELD(kernel_row, flops_per_s, "flops_per_s", ZERO | OMIT),
    FIELD(kernel_row, bytes_per_s, "bytes_per_s", ZERO | OMIT),
    FIELD_UNLESS(kernel_row, ci95_relative, "ci95_relative", NEGATIVE, kernel_is_unmeasured),
    FIELD_UNLESS(kernel_row, wrong, "wrong", 0, kernel_is_unchecked),
    FIELD(kernel_row, pcie_generation, "pcie_generation", ZERO | OMIT),
    FIELD(kernel_row, pcie_width, "pcie_width", ZERO | OMIT),
    NAMED(kernel_row, status, "status", ALWAYS, status_names),
    FIELD(kernel_row, reason, "reason", ZERO | OMIT),
};
static const struct cb_json_shape kernel_shape =
    SHAPE_THAT_MAY_LACK(kernel_fields, kernel_row, true, kernel_lacks);

static const struct cb_json_field check_fields[] = {
    FIELD(check, id, "id", ALWAYS),
    NAMED(check, status, "status", ALWAYS, check_status_names),
    FIELD_UNLESS(check, actual, "actual", 0, check_has_no_actual),
    FIELD_UNLESS(check, required, "required", 0, check_has_no_required),
    FIELD(check, operator_text, "operator", ZERO),
    FIELD(check, unit, "unit", ZERO),
    FIELD(check, summary, "summary", ZERO),
    FIELD(check, remedy, "remedy", ZERO),
    FIELD(check, source, "source", ZERO),
};
static const struct cb_json_shape check_shape = SHAPE(check_fields, check, true);

static const struct cb_json_field message_fields[] = {
    FIELD(message, code, "code", ALWAYS),
    FIELD(message, text, "text", ALWAYS),
    FIELD(message, hint, "hint", ZERO),
};
static const struct cb_json_shape message_shape = SHAPE(message_fields, message, true);

static const struct cb_json_field formula_fields[] = {
    FIELD(formula, judged, "judged", CB_JSON_TRUE_UNLESS),
    FIELD(formula, workload, "workload", ZERO),
    FIELD(formula, parameters, "parameters", ALWAYS | ZERO),
    DERIVED("bytes_per_parameter", formula_bytes_per_parameter),
    FIELD(formula, communications, "communications", ALWAYS | ZERO),
    NAMED(formula, communications_source, "communications_source", ZERO, provenance_names),
    FIELD(formula, communications_per_step, "communications_per_step", ZERO),
    NAMED(formula, communications_per_step_source, "communications_per_step_source", ZERO,
          provenance_names),
    FIELD(formula, communications_note, "communications_note", ZERO),
    FIELD(formula, bandwidth_bytes_per_s, "bandwidth_bytes_per_s", ALWAYS | ZERO),
    NAMED(formula, bandwidth_source, "bandwidth_source", ZERO, provenance_names),
    FIELD(formula, bandwidth_note, "bandwidth_note", ZERO),
    NAMED_UNLESS(formula, span, "span", 0, span_names, formula_has_no_time),
    FIELD(formula, time_s, "time_s", ZERO),
    NAMED(formula, time_source, "time_source", ZERO, provenance_names),
    FIELD(formula, time_note, "time_note", ZERO),
    FIELD(formula, tokens_per_step, "tokens_per_step", ZERO),
    FIELD(formula, bytes_per_step, "bytes_per_step", ZERO),
    FIELD(formula, communication_s, "communication_s", ALWAYS | ZERO),
    FIELD(formula, step_communication_s, "step_communication_s", ZERO),
    DERIVED("compute_s", formula_compute_s),
    {.key = "compute_source", .kind = CB_JSON_DERIVED_TEXT, .derive_text = formula_compute_source},
    FIELD(formula, total_s, "total_s", ZERO),
    FIELD(formula, share, "share", ALWAYS | ZERO),
    FIELD(formula, threshold, "threshold", ALWAYS | ZERO),
    FIELD_UNLESS(formula, bottleneck, "bottleneck", ALWAYS, formula_is_unjudged),
    FIELD_UNLESS(formula, undecided, "undecided", 0, formula_is_unjudged),
    FIELD(formula, undecided_note, "undecided_note", ZERO),
    FIELD(formula, required_bytes_per_s, "required_bytes_per_s", ZERO),
    FIELD(formula, critical_tokens, "critical_tokens", ZERO),
};
static const struct cb_json_shape formula_shape =
    SHAPE_THAT_MAY_LACK(formula_fields, formula, false, formula_lacks);

static const struct cb_json_field price_fields[] = {
    FIELD(result, prediction.price_per_gpu_hour, "per_gpu_hour", ZERO),
    FIELD(result, prediction.currency, "currency", ZERO),
};
static const struct cb_json_shape price_shape = SHAPE(price_fields, result, true);

static const struct cb_json_field verdict_fields[] = {
    {.key = "formula",
     .kind = CB_JSON_OBJECT,
     AT(result, formula),
     .shape = &formula_shape,
     .is_absent = result_is_unjudged},
    {.key = "not_judged", /* what is known while there is no judgement */
     .kind = CB_JSON_OBJECT,
     .rules = CB_JSON_OMIT,
     AT(result, formula),
     .shape = &formula_shape,
     .is_absent = result_is_judged},
    ROWS(result, workloads, "workloads", 0, formula_shape),
    {.key = "training",
     .kind = CB_JSON_OBJECT,
     AT(result, prediction.training),
     .shape = &cb_json_training_shape,
     .is_absent = result_is_not_predicted},
    FIELD(result, prediction.note, "training_note", ZERO | OMIT),
    {.key = "price",
     .kind = CB_JSON_OBJECT,
     .rules = CB_JSON_OMIT,
     .shape = &price_shape,
     .is_absent = result_has_no_price},
    {.key = "advice",
     .kind = CB_JSON_LIST,
     AT(result, prediction.advice.items),
     .count_offset = offsetof(struct cb_result, prediction.advice.count),
     .count_size_bytes = sizeof(size_t),
     .capacity = CB_ADVICE_COUNT,
     .shape = &cb_json_advice_shape},
};
static const struct cb_json_shape verdict_shape = SHAPE(verdict_fields, result, false);

static const struct cb_json_field nic_fields[] = {
    FIELD(topo_nic, name, "name", ALWAYS),
    FIELD(topo_nic, kind, "kind", ZERO),
    FIELD(topo_nic, driver, "driver", ZERO),
    FIELD(topo_nic, partner, "partner", ZERO),
    FIELD(topo_nic, nominal_bytes_per_s, "nominal_bytes_per_s", ZERO),
    FIELD(topo_nic, stated_bytes_per_s, "stated_bytes_per_s", ZERO),
    FIELD(topo_nic, mtu_bytes, "mtu_bytes", ZERO),
    FIELD(topo_nic, numa, "numa", NEGATIVE),
    FIELD(topo_nic, up, "up", 0),
    FIELD(topo_nic, used, "used", 0),
    FIELD(topo_nic, virtual_function, "virtual_function", 0),
};
static const struct cb_json_shape nic_shape = SHAPE(nic_fields, topo_nic, true);

static const struct cb_json_field cpu_fields[] = {
    FIELD(topo_host, cpu_model, "model", ZERO),
    FIELD(topo_host, sockets, "sockets", ZERO),
    FIELD(topo_host, cores, "cores", ZERO),
    FIELD(topo_host, hardware_threads, "hardware_threads", ZERO),
    FIELD(topo_host, numa_nodes, "numa_nodes", ZERO),
    FIELD(topo_host, last_level_cache_bytes, "last_level_cache_bytes", ZERO),
    FIELD(topo_host, memory_bytes, "memory_bytes", ZERO),
    FIELD(topo_host, available_memory_bytes, "available_memory_bytes", ZERO),
};
static const struct cb_json_shape cpu_shape = SHAPE(cpu_fields, topo_host, true);

static const struct cb_json_field rank_fields[] = {
    FIELD(rank, rank, "rank", ALWAYS),
    FIELD(rank, local_rank, "local_rank", 0),
    FIELD(rank, threads, "threads", ZERO),
    FIELD(rank, binding.cpus, "cpus", ZERO),
    FIELD(rank, binding.cores, "cores", ZERO),
    FIELD(rank, binding.bound, "bound", 0),
    FIELD(rank, binding.numa, "numa", NEGATIVE),
    FIELD(rank, binding.cpuset, "cpuset", ZERO),
    FIELD(rank, bound_by, "bound_by", ZERO | OMIT),
    FIELD(rank, device, "device", ZERO | OMIT),
    NAMED(rank, locality, "locality", ZERO | OMIT, locality_names),
};
const struct cb_json_shape cb_json_rank_shape = SHAPE(rank_fields, rank, true);

static const struct cb_json_field node_fields[] = {
    FIELD(topo_host, name, "host", ALWAYS),
    {.key = "ranks", .kind = CB_JSON_RANKS, .rules = ALWAYS},
    GROUP("cpu", 0, cpu_shape),
    {.key = "gpus", .kind = CB_JSON_GPUS},
    FIELD(topo_host, nics_found, "nics_found", 0),
    {.key = "nics",
     .kind = CB_JSON_LIST,
     AT(topo_host, nics),
     .count_offset = offsetof(struct cb_topo_host, nic_count),
     .count_size_bytes = sizeof(int),
     .capacity = CB_TOPO_NICS,
     .shape = &nic_shape},
};
static const struct cb_json_shape node_shape = SHAPE(node_fields, topo_host, false);

static bool maps_are_unknown(const void *row)
{
    return ((const struct cb_result *)row)->maps.count == 0;
}

static const struct cb_json_field cluster_fields[] = {
    ROWS(result, nodes, "nodes", ALWAYS, node_shape),
    FIELD(result, gpu_reason, "gpus_unknown", ZERO | OMIT),
    /* After the nodes, which the hosts of a map are looked up in. */
    ROWS_UNLESS(result, maps, "maps", OMIT, cb_json_map_shape, maps_are_unknown),
    ROWS_UNLESS(result, findings, "findings", OMIT, cb_json_node_finding_shape, maps_are_unknown),
};
static const struct cb_json_shape cluster_shape = SHAPE(cluster_fields, result, false);

static const struct cb_json_field use_fields[] = {
    FIELD(transport_use, kind, "kind", ALWAYS),
    FIELD(transport_use, name, "name", ALWAYS),
    FIELD(transport_use, ranks, "ranks", 0),
    FIELD(transport_use, connections, "connections", ZERO | OMIT),
};
static const struct cb_json_shape use_shape = SHAPE(use_fields, transport_use, true);

static bool use_is_unknown(const void *row)
{
    return ((const struct cb_result *)row)->transport_used.count == 0;
}

static bool nothing_crossed(const void *row)
{
    return ((const struct cb_result *)row)->crossings.count == 0;
}

static const struct cb_json_field transport_fields[] = {
    FIELD(result, transport, "name", ZERO),
    FIELD(result, transport_library, "library", ZERO),
    FIELD(result, transport_version, "version", ZERO),
    FIELD(result, transport_path, "path", ZERO),
    ROWS_UNLESS(result, transport_used, "used", OMIT, use_shape, use_is_unknown),
    ROWS_UNLESS(result, crossings, "crossings", OMIT, cb_json_crossing_shape, nothing_crossed),
    FIELD(result, simulated, "simulated", 0),
};
static const struct cb_json_shape transport_shape = SHAPE(transport_fields, result, false);

static const struct cb_json_field build_fields[] = {
    FIELD(result, build, "summary", ZERO),
};
static const struct cb_json_shape build_shape = SHAPE(build_fields, result, true);

static const struct cb_json_field tool_fields[] = {
    FIELD(result, tool_version, "version", ALWAYS),
    GROUP("build", 0, build_shape),
};
static const struct cb_json_shape tool_shape = SHAPE(tool_fields, result, false);

static const struct cb_json_field run_fields[] = {
    FIELD(result, started_at, "started_at", ALWAYS | ZERO),
    FIELD(result, finished_at, "finished_at", ZERO),
    FIELD(result, complete, "complete", ALWAYS),
    FIELD(result, stopped_by, "stopped_by", ZERO),
    FIELD(result, rank_count, "ranks", ALWAYS | ZERO),
    SETTINGS(result, options, "options"),
    SETTINGS(result, environment, "environment"),
};
static const struct cb_json_shape run_shape = SHAPE(run_fields, result, false);

static bool result_has_no_offer(const void *row)
{
    return ((const struct cb_result *)row)->offer.nodes == 0;
}

static const struct cb_json_field result_fields[] = {
    GROUP("tool", ALWAYS, tool_shape),
    GROUP("run", ALWAYS, run_shape),
    GROUP("cluster", ALWAYS, cluster_shape),
    {.key = "offer",
     .kind = CB_JSON_OBJECT,
     .rules = OMIT,
     AT(result, offer),
     .shape = &cb_json_offer_shape,
     .is_absent = result_has_no_offer},
    GROUP("transport", ALWAYS, transport_shape),
    ROWS(result, collectives, "collectives", ALWAYS, collective_shape),
    ROWS(result, pairs, "pairs", 0, pair_shape),
    ROWS(result, kernels, "kernels", 0, kernel_shape),
    ROWS(result, burns, "burn", 0, cb_json_burn_shape),
    ROWS(result, burn_samples, "burn_series", 0, cb_json_burn_sample_shape),
    ROWS(result, checks, "checks", 0, check_shape),
    ROWS(result, fits, "fits", 0, cb_json_fit_shape),
    GROUP("verdict", 0, verdict_shape),
    ROWS(result, imports, "imports", 0, cb_json_import_shape),
    ROWS(result, warnings, "warnings", 0, message_shape),
};
_Static_assert(sizeof(result_fields) / sizeof(result_fields[0]) == CB_JSON_RESULT_FIELDS,
               "the reader keeps as many");
const struct cb_json_shape cb_json_result_shape = SHAPE(result_fields, result, false);

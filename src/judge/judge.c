#include "judge/judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "judge/checks.h"
#include "judge/curve.h"
#include "judge/fits.h"
#include "judge/machine.h"
#include "reference/workloads.h"

/* The width of a gradient on the wire: fp16 or bf16, as the documents' 4 bytes per parameter imply
 * (a ring all_reduce sends its message twice). */
#define GRADIENT_BYTES_PER_PARAMETER 2.0

/* Forward and backward of a transformer, per parameter and token (Kaplan et al. 2020, C = 6ND). */
#define FLOP_PER_PARAMETER_AND_TOKEN 6.0

/* What every judgement of one result shares. */
struct evidence {
    struct cb_curve curve; /* all_reduce over the widest scope; empty when there is none */
    struct cb_gemm_rate gemm;
    const struct cb_result *result;
    const struct cb_workload *workload;
};

static int collect_curve(struct evidence *evidence, struct cb_error *err)
{
    static const enum cb_scope widest_first[] = {CB_SCOPE_WORLD, CB_SCOPE_INTER_NODE};
    for (size_t i = 0; i < sizeof(widest_first) / sizeof(widest_first[0]); i++) {
        int rc = cb_curve_init(&evidence->curve, evidence->result, CB_OP_ALL_REDUCE,
                               widest_first[i], err);
        if (rc || evidence->curve.rows.count > 0)
            return rc;
    }
    return 0;
}

/* Why there is no bandwidth, from the rows that should have given one. */
static void say_no_bandwidth(const struct cb_result *result, struct cb_formula *formula)
{
    char *note = formula->bandwidth_note;
    size_t size = sizeof(formula->bandwidth_note);
    if (result->rank_count == 1) {
        snprintf(note, size,
                 "one rank only: no all_reduce to measure; start two ranks or more, or "
                 "state --bandwidth to commbound judge");
        return;
    }
    for (size_t i = 0; i < result->collectives.count; i++) {
        const struct cb_collective_row *row = &result->collectives.items[i];
        if (row->op == CB_OP_ALL_REDUCE && row->scope == CB_SCOPE_WORLD && row->reason[0]) {
            snprintf(note, size, "no all_reduce: %.160s", row->reason);
            return;
        }
    }
    snprintf(note, size, "all_reduce was not measured; state --bandwidth to commbound judge");
}

static void describe_place(const struct cb_curve_place *place, double gradient_bytes,
                           struct cb_formula *formula)
{
    const struct cb_collective_row *row = place->below;
    char size[CB_UNIT_TEXT], other[CB_UNIT_TEXT], gradient[CB_UNIT_TEXT], where[64];
    snprintf(where, sizeof(where), "%s%s, %d ranks", row->in_place ? "in place, " : "",
             cb_scope_name(row->scope), row->ranks);
    cb_format_bytes(size, row->size_bytes);
    if (gradient_bytes < (double)UINT64_MAX)
        cb_format_bytes(gradient, (uint64_t)gradient_bytes);
    else
        snprintf(gradient, sizeof(gradient), "beyond 16 EiB");
    if (place->outside)
        snprintf(formula->bandwidth_note, sizeof(formula->bandwidth_note),
                 "all_reduce at %s, %s: the %s size measured; the gradient is %s", size, where,
                 gradient_bytes > (double)row->size_bytes ? "largest" : "smallest", gradient);
    else if (place->below == place->above)
        snprintf(formula->bandwidth_note, sizeof(formula->bandwidth_note),
                 "all_reduce at %s, the gradient's size, %s", size, where);
    else
        snprintf(formula->bandwidth_note, sizeof(formula->bandwidth_note),
                 "all_reduce between %s and %s for a gradient of %s, %s", size,
                 cb_format_bytes(other, place->above->size_bytes), gradient, where);
}

/* The bandwidth at the gradient's size. Returns false when there is none; *place says where it lies
 * (NULL below when it was stated). */
static bool fill_bandwidth(const struct evidence *evidence, struct cb_formula *formula,
                           struct cb_curve_place *place)
{
    *place = (struct cb_curve_place){0};
    if (evidence->workload->bandwidth_bytes_per_s > 0) {
        formula->bandwidth_bytes_per_s = evidence->workload->bandwidth_bytes_per_s;
        formula->bandwidth_source = CB_FROM_GIVEN;
        return true;
    }
    if (evidence->curve.rows.count == 0) {
        say_no_bandwidth(evidence->result, formula);
        return false;
    }
    double gradient_bytes = formula->parameters * GRADIENT_BYTES_PER_PARAMETER;
    *place = cb_curve_find(&evidence->curve, gradient_bytes);
    formula->bandwidth_bytes_per_s = cb_curve_bus_bytes_per_s(place, CB_CURVE_MEDIAN);
    formula->bandwidth_source = place->outside ? CB_FROM_EXTRAPOLATED : CB_FROM_MEASURED;
    describe_place(place, gradient_bytes, formula);
    return true;
}

/* The row whose tokens stand in for those of a model that nobody stated any for: the smallest
 * standard model that is not smaller. */
static const struct cb_workload_row *nearest_workload(double parameters)
{
    size_t count;
    const struct cb_workload_row *rows = cb_workloads(&count);
    for (size_t i = 0; i < count; i++)
        if (parameters <= rows[i].parameters)
            return &rows[i];
    return &rows[count - 1];
}

/* The time the share is taken of. Returns false when there is none. */
static bool fill_time(const struct evidence *evidence, struct cb_formula *formula)
{
    const struct cb_workload *workload = evidence->workload;
    char tokens[CB_UNIT_TEXT], rate[CB_UNIT_TEXT], parameters[CB_UNIT_TEXT];
    bool stated = workload->job.tokens_per_step > 0;
    if (workload->span != CB_SPAN_COUNT) {
        formula->span = workload->span;
        formula->time_s = workload->time_s;
        formula->time_source = CB_FROM_GIVEN;
        if (workload->span == CB_SPAN_COMPUTE)
            formula->tokens_per_step = workload->job.tokens_per_step;
        return true;
    }
    formula->span = CB_SPAN_COMPUTE;
    if (!(evidence->gemm.flops_per_s > 0)) {
        snprintf(formula->time_note, sizeof(formula->time_note),
                 "no GEMM rate was measured: state --step-time, --compute-time or --total-time");
        return false;
    }
    const struct cb_workload_row *row = nearest_workload(formula->parameters);
    formula->tokens_per_step = stated ? workload->job.tokens_per_step : row->tokens_per_step;
    formula->time_s = FLOP_PER_PARAMETER_AND_TOKEN * formula->parameters *
                      formula->tokens_per_step /
                      (evidence->gemm.flops_per_s * CB_TRAINING_SHARE_OF_GEMM);
    formula->time_source = CB_FROM_MEASURED;
    snprintf(formula->time_note, sizeof(formula->time_note),
             "6 x %s x %s tokens (%s) / (%s x %g): median %s GEMM of %d rank%s, %g of it "
             "assumed in training",
             cb_format_count(parameters, formula->parameters),
             cb_format_count(tokens, formula->tokens_per_step), stated ? "given" : "assumed",
             cb_format_flops(rate, evidence->gemm.flops_per_s), CB_TRAINING_SHARE_OF_GEMM,
             cb_dtype_name(evidence->gemm.dtype), evidence->gemm.ranks,
             evidence->gemm.ranks == 1 ? "" : "s", CB_TRAINING_SHARE_OF_GEMM);
    return true;
}

/* Whether the uncertainty of the deciding rows allows both answers. */
static bool is_within_error(const struct cb_formula *formula, const struct cb_curve_place *place)
{
    if (!cb_curve_is_noisy(place))
        return false;
    struct cb_formula fast = *formula, slow = *formula;
    fast.bandwidth_bytes_per_s = cb_curve_bus_bytes_per_s(place, CB_CURVE_FAST);
    slow.bandwidth_bytes_per_s = cb_curve_bus_bytes_per_s(place, CB_CURVE_SLOW);
    if (cb_formula_judge(&fast, NULL) || cb_formula_judge(&slow, NULL))
        return false;
    return fast.bottleneck != slow.bottleneck;
}

/* Small messages show latency, not bandwidth: theirs is a lower bound of what a gradient would get,
 * which can clear a training of the charge but not convict it. */
static bool is_lower_bound_only(const struct cb_formula *formula,
                                const struct cb_curve_place *place)
{
    return place->outside && formula->bottleneck &&
           place->below->size_bytes < CB_JUDGE_TELLING_BYTES &&
           formula->parameters * GRADIENT_BYTES_PER_PARAMETER > (double)place->below->size_bytes;
}

static void decide(struct cb_formula *formula, const struct cb_curve_place *place)
{
    char size[CB_UNIT_TEXT];
    if (!place->below)
        return;
    if (is_lower_bound_only(formula, place)) {
        formula->undecided = true;
        snprintf(formula->undecided_note, sizeof(formula->undecided_note),
                 "messages up to %s show latency, not the bandwidth of a gradient: measure larger "
                 "ones (--max-bytes)",
                 cb_format_bytes(size, place->below->size_bytes));
    } else if (is_within_error(formula, place)) {
        formula->undecided = true;
        snprintf(formula->undecided_note, sizeof(formula->undecided_note),
                 "the limit lies within the error of the measured bandwidth: measure longer "
                 "(--step-limit), or with nothing else running");
    }
}

/* One judgement. What cannot be judged is left with judged false and a note that says why. */
static int judge_one(const struct evidence *evidence, const char *name, double parameters,
                     struct cb_formula *out, struct cb_error *err)
{
    const struct cb_workload *workload = evidence->workload;
    struct cb_formula formula = {.parameters = parameters};
    struct cb_curve_place place;
    snprintf(formula.workload, sizeof(formula.workload), "%s", name);
    formula.communications = workload->communications > 0 ? workload->communications : 1;
    formula.communications_source = workload->communications > 0 ? CB_FROM_GIVEN : CB_FROM_ASSUMED;
    formula.threshold = workload->threshold > 0 ? workload->threshold : CB_FORMULA_THRESHOLD;
    bool has_bandwidth = fill_bandwidth(evidence, &formula, &place);
    bool has_time = fill_time(evidence, &formula);
    if (has_bandwidth && has_time) {
        int rc = cb_formula_judge(&formula, err);
        if (rc)
            return rc;
        decide(&formula, &place);
    }
    *out = formula;
    return 0;
}

typedef CB_VEC(struct cb_formula) formula_list;

/* The standard workloads, and among them the headline. A table of which nothing can be judged is
 * left empty. */
static int judge_standard(const struct evidence *evidence, struct cb_formula *headline,
                          formula_list *table, struct cb_error *err)
{
    size_t count;
    const struct cb_workload_row *rows = cb_workloads(&count);
    for (size_t i = 0; i < count; i++) {
        struct cb_formula formula;
        int rc = judge_one(evidence, rows[i].name, rows[i].parameters, &formula, err);
        if (rc)
            return rc;
        if (&rows[i] == cb_workload_default())
            *headline = formula;
        if (!formula.judged)
            continue;
        struct cb_formula *added = cb_vec_add(table);
        if (!added)
            return cb_fail(err, CB_E_MEMORY, "no memory for the workloads");
        *added = formula;
    }
    return 0;
}

int cb_judge_result(struct cb_result *result, const struct cb_workload *workload,
                    struct cb_error *err)
{
    struct evidence evidence = {.result = result, .workload = workload};
    struct cb_formula headline = {0};
    formula_list table = {0};
    cb_check_list checks = {0};
    cb_fit_list fits = {0};
    int rc = collect_curve(&evidence, err);
    if (rc == 0)
        rc = cb_gemm_rate_find(result, &evidence.gemm, err);
    if (rc == 0)
        rc = workload->job.parameters > 0
                 ? judge_one(&evidence, "", workload->job.parameters, &headline, err)
                 : judge_standard(&evidence, &headline, &table, err);
    if (rc == 0)
        rc = cb_checks_build(result, workload, &checks, err);
    if (rc == 0)
        rc = cb_fits_build(result, &fits, err);
    if (rc)
        goto out;
    result->formula = headline;
    cb_vec_fini(&result->workloads);
    result->workloads.items = table.items;
    result->workloads.count = table.count;
    result->workloads.capacity = table.capacity;
    cb_vec_fini(&result->checks);
    result->checks.items = checks.items;
    result->checks.count = checks.count;
    result->checks.capacity = checks.capacity;
    cb_vec_fini(&result->fits);
    result->fits.items = fits.items;
    result->fits.count = fits.count;
    result->fits.capacity = fits.capacity;
    table = (formula_list){0};
    checks = (cb_check_list){0};
    fits = (cb_fit_list){0};
out:
    cb_vec_fini(&fits);
    cb_vec_fini(&checks);
    cb_vec_fini(&table);
    cb_curve_fini(&evidence.curve);
    return rc;
}

static bool is_broken(enum cb_status status)
{
    return status == CB_STATUS_FAILED || status == CB_STATUS_TIMEOUT;
}

/* What the rows amount to. */
struct tally {
    bool broken, wrong;
};

static void count_status(struct tally *tally, enum cb_status status, uint64_t wrong)
{
    tally->broken = tally->broken || is_broken(status);
    tally->wrong = tally->wrong || status == CB_STATUS_WRONG || wrong > 0;
}

static struct tally tally_rows(const struct cb_result *result)
{
    struct tally tally = {0};
    for (size_t i = 0; i < result->collectives.count; i++)
        count_status(&tally, result->collectives.items[i].status,
                     result->collectives.items[i].wrong);
    for (size_t i = 0; i < result->pairs.count; i++)
        count_status(&tally, result->pairs.items[i].status, 0);
    for (size_t i = 0; i < result->kernels.count; i++)
        count_status(&tally, result->kernels.items[i].status, result->kernels.items[i].wrong);
    for (size_t i = 0; i < result->burns.count; i++)
        count_status(&tally, result->burns.items[i].status, result->burns.items[i].wrong);
    return tally;
}

bool cb_judge_has_wrong_data(const struct cb_result *result)
{
    return tally_rows(result).wrong;
}

int cb_judge_exit_status(const struct cb_result *result)
{
    struct tally tally = tally_rows(result);
    if (result->stopped_by[0] || !result->complete)
        return 5;
    if (tally.broken)
        return 3;
    if (tally.wrong)
        return 1;
    if (!result->formula.judged)
        return 3;
    if (result->formula.undecided)
        return 4;
    if (result->formula.bottleneck)
        return 1;
    for (size_t i = 0; i < result->checks.count; i++)
        if (result->checks.items[i].status == CB_CHECK_SHORT ||
            result->checks.items[i].status == CB_CHECK_ALARM)
            return 1;
    return 0;
}

#include "judge/headline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "judge/judge.h"
#include "judge/offer.h"

static int collect_curve(struct cb_evidence *evidence, struct cb_error *err)
{
    static const enum cb_scope widest_first[] = {CB_SCOPE_WORLD, CB_SCOPE_INTER_NODE};
    /* The halves of a ring all_reduce stand in for it where a log has nothing else. */
    static const enum cb_op halves[] = {CB_OP_REDUCE_SCATTER, CB_OP_ALL_GATHER};
    int rc = 0;
    for (size_t i = 0; i < sizeof(widest_first) / sizeof(widest_first[0]); i++) {
        rc = cb_curve_init(&evidence->curve, evidence->result, CB_OP_ALL_REDUCE, widest_first[i],
                           err);
        if (rc || evidence->curve.rows.count > 0)
            return rc;
    }
    for (size_t i = 0; evidence->result->imports.count > 0 && i < sizeof(halves) / sizeof(*halves);
         i++) {
        rc = cb_curve_init(&evidence->curve, evidence->result, halves[i], CB_SCOPE_WORLD, err);
        if (rc || evidence->curve.rows.count > 0)
            return rc;
    }
    return rc;
}

int cb_evidence_init(struct cb_evidence *evidence, const struct cb_result *result,
                     const struct cb_workload *workload, struct cb_error *err)
{
    *evidence = (struct cb_evidence){.result = result, .workload = workload};
    int rc = collect_curve(evidence, err);
    if (rc == 0)
        rc = cb_gemm_rate_find(result, &evidence->gemm, err);
    if (rc)
        cb_evidence_fini(evidence);
    return rc;
}

void cb_evidence_fini(struct cb_evidence *evidence)
{
    cb_curve_fini(&evidence->curve);
}

/* ---- the bandwidth ---- */

/* Why other people's logs give no bandwidth. */
static void say_no_import(const struct cb_result *result, struct cb_formula *formula)
{
    char *note = formula->bandwidth_note;
    size_t size = sizeof(formula->bandwidth_note);
    for (size_t i = 0; i < result->imports.count; i++) {
        const struct cb_import *import = &result->imports.items[i];
        if (!cb_import_is_usable(import->state))
            continue;
        snprintf(note, size,
                 "%.60s holds %.20s: a gradient's bandwidth takes an all_reduce, all_gather or "
                 "reduce_scatter",
                 import->file, import->op[0] ? import->op : "an unknown op");
        return;
    }
    const struct cb_import *first = &result->imports.items[0];
    snprintf(note, size, "%.60s is no basis: %.160s", first->file,
             first->findings.count > 0 ? first->findings.items[0].text
                                       : cb_import_state_name(first->state));
}

/* Why there is no bandwidth, from the rows that should have given one. */
static void say_no_bandwidth(const struct cb_result *result, struct cb_formula *formula)
{
    char *note = formula->bandwidth_note;
    size_t size = sizeof(formula->bandwidth_note);
    if (result->imports.count > 0) {
        say_no_import(result, formula);
        return;
    }
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

/* The bytes of a gradient as the formula counts it: all that one step sends, at once. */
static double message_bytes(const struct cb_formula *formula)
{
    double per_step = formula->communications_per_step;
    return formula->parameters * CB_FORMULA_MESSAGE_BYTES_PER_PARAMETER *
           (per_step > 0 ? per_step : 1);
}

static void describe_place(const struct cb_curve_place *place, double gradient_bytes,
                           struct cb_formula *formula)
{
    const struct cb_collective_row *row = place->below;
    const char *op = cb_op_name(row->op);
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
                 "%s at %s, %s: the %s size measured; the gradient is %s", op, size, where,
                 gradient_bytes > (double)row->size_bytes ? "largest" : "smallest", gradient);
    else if (place->below == place->above)
        snprintf(formula->bandwidth_note, sizeof(formula->bandwidth_note),
                 "%s at %s, the gradient's size, %s", op, size, where);
    else
        snprintf(formula->bandwidth_note, sizeof(formula->bandwidth_note),
                 "%s between %s and %s for a gradient of %s, %s", op, size,
                 cb_format_bytes(other, place->above->size_bytes), gradient, where);
}

/* Says of an imported row where it stands, and what it stands in for. */
static void describe_import(const struct cb_result *result, const struct cb_curve_place *place,
                            struct cb_formula *formula)
{
    const struct cb_collective_row *row = place->below;
    size_t used = strlen(formula->bandwidth_note);
    size_t number = (size_t)row->import_number;
    if (number == 0 || number > result->imports.count)
        return;
    const struct cb_import *import = &result->imports.items[number - 1];
    const char *slash = strrchr(import->file, '/');
    snprintf(formula->bandwidth_note + used, sizeof(formula->bandwidth_note) - used,
             "%s; imported from %.48s line %d%s",
             row->op == CB_OP_ALL_REDUCE ? "" : " (half of a ring all_reduce)",
             slash ? slash + 1 : import->file, row->import_line,
             import->state == CB_IMPORT_PROVISIONAL ? ", provisional" : "");
}

/* The bandwidth at the gradient's size. Returns false when there is none; *place says where it lies
 * (NULL below when it was stated). */
static bool fill_bandwidth(const struct cb_evidence *evidence, struct cb_formula *formula,
                           struct cb_curve_place *place)
{
    *place = (struct cb_curve_place){0};
    if (evidence->workload->bandwidth_bytes_per_s > 0) {
        formula->bandwidth_bytes_per_s = evidence->workload->bandwidth_bytes_per_s;
        formula->bandwidth_source = CB_FROM_GIVEN;
        return true;
    }
    if (evidence->offer)
        return cb_offer_bandwidth(evidence->offer, formula);
    if (evidence->curve.rows.count == 0) {
        say_no_bandwidth(evidence->result, formula);
        return false;
    }
    double gradient_bytes = message_bytes(formula);
    *place = cb_curve_find(&evidence->curve, gradient_bytes);
    formula->bandwidth_bytes_per_s = cb_curve_bus_bytes_per_s(place, CB_CURVE_MEDIAN);
    formula->bandwidth_source = place->outside ? CB_FROM_EXTRAPOLATED : CB_FROM_MEASURED;
    describe_place(place, gradient_bytes, formula);
    describe_import(evidence->result, place, formula);
    return true;
}

/* ---- the time ---- */

/* "6 x 7B x 256 tokens (assumed)", or the model's own count of a token where it is another. */
static void describe_work(const struct cb_judged_job *judged, char *out, size_t size_bytes)
{
    const struct cb_job *job = &judged->job;
    char parameters[CB_UNIT_TEXT], tokens[CB_UNIT_TEXT], spread[CB_UNIT_TEXT] = "";
    const char *origin = judged->batch_stated ? "given" : "assumed";
    double token_flops = cb_job_token_flops(job);
    double degrees = job->tensor * job->pipeline * job->context;
    if (degrees > 1)
        snprintf(spread, sizeof(spread), " / %g GPUs", degrees);
    cb_format_count(tokens, cb_job_rank_tokens(job));
    if (fabs(token_flops / (6 * job->parameters) - 1) < 1e-9)
        snprintf(out, size_bytes, "6 x %s x %s tokens (%s)%s",
                 cb_format_count(parameters, job->parameters), tokens, origin, spread);
    else
        snprintf(out, size_bytes, "%.3g FLOP x %s %s (%s)%s", token_flops, tokens,
                 job->sample_flops > 0 ? "samples" : "tokens", origin, spread);
}

static bool fill_offered_time(const struct cb_evidence *evidence,
                              const struct cb_judged_job *judged, struct cb_formula *formula)
{
    const struct cb_machine *machine = evidence->machine;
    char work[96], rate[CB_UNIT_TEXT];
    if (!(machine->flops_per_s > 0)) {
        snprintf(formula->time_note, sizeof(formula->time_note),
                 "no rate is published of %.60s: state --step-time, --compute-time or --total-time",
                 evidence->offer->gpu);
        return false;
    }
    formula->tokens_per_step = cb_job_rank_tokens(&judged->job);
    formula->time_s = cb_job_gpu_flops(&judged->job) / machine->flops_per_s;
    formula->time_source = machine->flops_source;
    describe_work(judged, work, sizeof(work));
    snprintf(formula->time_note, sizeof(formula->time_note), "%.60s / (%s x %g): %.80s", work,
             cb_format_flops(rate, evidence->offer->gemm_flops_per_s), CB_TRAINING_SHARE_OF_GEMM,
             evidence->offer->gemm_note);
    return true;
}

/* The time the share is taken of. Returns false when there is none. */
static bool fill_time(const struct cb_evidence *evidence, const struct cb_judged_job *judged,
                      struct cb_formula *formula)
{
    const struct cb_workload *workload = evidence->workload;
    char work[96], rate[CB_UNIT_TEXT];
    if (workload->span != CB_SPAN_COUNT) {
        formula->span = workload->span;
        formula->time_s = workload->time_s;
        formula->time_source = CB_FROM_GIVEN;
        if (workload->span == CB_SPAN_COMPUTE && judged->batch_stated)
            formula->tokens_per_step = cb_job_rank_tokens(&judged->job);
        return true;
    }
    formula->span = CB_SPAN_COMPUTE;
    if (evidence->offer)
        return fill_offered_time(evidence, judged, formula);
    if (!(evidence->gemm.flops_per_s > 0)) {
        snprintf(formula->time_note, sizeof(formula->time_note),
                 "no GEMM rate was measured%s: state --step-time, --compute-time or --total-time",
                 evidence->gemm.note[0] ? " on matrices large enough" : "");
        return false;
    }
    formula->tokens_per_step = cb_job_rank_tokens(&judged->job);
    formula->time_s =
        cb_job_gpu_flops(&judged->job) / (evidence->gemm.flops_per_s * CB_TRAINING_SHARE_OF_GEMM);
    formula->time_source = evidence->gemm.source;
    describe_work(judged, work, sizeof(work));
    snprintf(formula->time_note, sizeof(formula->time_note),
             "%s / (%s x %g): %s, %g of it assumed in training", work,
             cb_format_flops(rate, evidence->gemm.flops_per_s), CB_TRAINING_SHARE_OF_GEMM,
             evidence->gemm.note, CB_TRAINING_SHARE_OF_GEMM);
    return true;
}

/* ---- how often ---- */

/* Optimizer steps of the whole training; 1 when nobody says. */
static double count_steps(const struct cb_judged_job *judged)
{
    const struct cb_job *job = &judged->job;
    if (job->total_steps > 0)
        return job->total_steps;
    if (job->total_tokens > 0 && !judged->on_paper)
        return ceil(job->total_tokens / cb_job_step_tokens(job));
    return 1;
}

/* Synchronisations of one step: as stated, as the scheme makes them, or one. */
static void fill_per_step(const struct cb_evidence *evidence, const struct cb_judged_job *judged,
                          double steps, struct cb_formula *formula)
{
    const struct cb_workload *workload = evidence->workload;
    const struct cb_factor *factor = &judged->factor;
    if (workload->communications_per_step > 0) {
        formula->communications_per_step = workload->communications_per_step;
        formula->communications_per_step_source = CB_FROM_GIVEN;
    } else if (workload->communications > 0 && steps > 1) {
        formula->communications_per_step = workload->communications / steps;
        formula->communications_per_step_source = CB_FROM_GIVEN;
    } else if (workload->communications > 0 || !judged->spread_stated) {
        formula->communications_per_step = 1;
        formula->communications_per_step_source = CB_FROM_ASSUMED;
    } else {
        bool placed = factor->communications != factor->scheme_communications;
        formula->communications_per_step = factor->communications;
        formula->communications_per_step_source = CB_FROM_REFERENCE;
        snprintf(formula->communications_note, sizeof(formula->communications_note), "%s%s",
                 factor->reason, judged->on_paper && placed ? ", nodes of 8 GPUs assumed" : "");
    }
}

/* How often the whole model is synchronised. Returns false when the job has nothing to synchronise,
 * which the note then says. */
static bool fill_communications(const struct cb_evidence *evidence,
                                const struct cb_judged_job *judged, struct cb_formula *formula)
{
    double steps = count_steps(judged);
    double stated = evidence->workload->communications;
    fill_per_step(evidence, judged, steps, formula);
    formula->communications = stated > 0 ? stated : formula->communications_per_step * steps;
    formula->communications_source =
        stated > 0 ? CB_FROM_GIVEN : formula->communications_per_step_source;
    return formula->communications > 0;
}

/* ---- the judgement ---- */

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
           message_bytes(formula) > (double)place->below->size_bytes;
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

/* "Llama 3.1 8B, ZeRO-3, LoRA": what of the job was stated by name; empty for a plain one that was
 * stated by its numbers. */
static void name_job(const struct cb_judged_job *judged, struct cb_formula *formula)
{
    const struct cb_job *job = &judged->stated;
    static const char *const adapters[] = {
        [CB_ADAPTER_NONE] = "", [CB_ADAPTER_LORA] = ", LoRA", [CB_ADAPTER_QLORA] = ", QLoRA"};
    char parameters[CB_UNIT_TEXT], model[CB_NAME];
    bool spread = job->scheme != CB_SCHEME_UNKNOWN || job->adapter != CB_ADAPTER_NONE;
    if (job->name[0])
        snprintf(model, sizeof(model), "%s", job->name);
    else
        snprintf(model, sizeof(model), "%s parameters",
                 cb_format_count(parameters, job->parameters));
    if (job->name[0] || spread)
        snprintf(formula->workload, sizeof(formula->workload), "%.30s%s%s%s", model,
                 spread ? ", " : "", spread ? cb_scheme_title(judged->job.scheme) : "",
                 adapters[job->adapter]);
}

int cb_headline_judge(const struct cb_evidence *evidence, const char *name,
                      const struct cb_judged_job *judged, struct cb_formula *out,
                      struct cb_error *err)
{
    const struct cb_workload *workload = evidence->workload;
    struct cb_formula formula = {.parameters = judged->job.parameters};
    struct cb_curve_place place;
    if (name)
        snprintf(formula.workload, sizeof(formula.workload), "%s", name);
    else
        name_job(judged, &formula);
    bool has_communications = fill_communications(evidence, judged, &formula);
    formula.threshold = workload->threshold > 0 ? workload->threshold : CB_FORMULA_THRESHOLD;
    bool has_bandwidth = fill_bandwidth(evidence, &formula, &place);
    bool has_time = fill_time(evidence, judged, &formula);
    if (has_communications && has_bandwidth && has_time) {
        int rc = cb_formula_judge(&formula, err);
        if (rc)
            return rc;
        decide(&formula, &place);
    }
    *out = formula;
    return 0;
}

#include "model/formula.h"

#include <math.h>
#include <stddef.h>

#include "base/names.h"

static const char *const spans[] = {
    [CB_SPAN_TOTAL] = "total", [CB_SPAN_STEP] = "step", [CB_SPAN_COMPUTE] = "compute"};
_Static_assert(sizeof(spans) / sizeof(spans[0]) == CB_SPAN_COUNT, "one name per span");

const char *cb_span_name(enum cb_span span)
{
    return spans[span];
}

int cb_span_parse(const char *name)
{
    return cb_names_find(spans, CB_SPAN_COUNT, name);
}

static int check_input(const struct cb_formula *formula, struct cb_error *err)
{
    const struct {
        const char *name;
        double value;
    } inputs[] = {
        {"parameters", formula->parameters},
        {"communications", formula->communications},
        {"bandwidth", formula->bandwidth_bytes_per_s},
        {"time", formula->time_s},
        {"threshold", formula->threshold},
    };
    for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++)
        if (!isfinite(inputs[i].value) || inputs[i].value <= 0)
            return cb_fail(err, CB_E_USAGE, "%s must be a positive finite number, not %g",
                           inputs[i].name, inputs[i].value);
    if (formula->threshold >= 1)
        return cb_fail(err, CB_E_USAGE, "threshold must be below 1, not %g", formula->threshold);
    if (!isfinite(formula->communications_per_step) || formula->communications_per_step < 0)
        return cb_fail(err, CB_E_USAGE,
                       "communications per step must be a positive finite number, not %g",
                       formula->communications_per_step);
    if (!isfinite(formula->tokens_per_step) || formula->tokens_per_step < 0)
        return cb_fail(err, CB_E_USAGE, "tokens must be a positive finite number, not %g",
                       formula->tokens_per_step);
    if ((unsigned)formula->span >= CB_SPAN_COUNT)
        return cb_fail(err, CB_E_USAGE, "no time is stated");
    return 0;
}

static double per_step(const struct cb_formula *formula)
{
    return formula->communications_per_step > 0 ? formula->communications_per_step : 1;
}

/* The time of one step, communication included. */
static double step_time(const struct cb_formula *formula)
{
    switch (formula->span) {
    case CB_SPAN_TOTAL:
        return formula->time_s / (formula->communications / per_step(formula));
    case CB_SPAN_COMPUTE:
        return formula->step_communication_s + formula->time_s;
    default:
        return formula->time_s;
    }
}

/* The communication time of one step at which the share would be the threshold. */
static double allowed_communication(const struct cb_formula *formula, double step_s)
{
    if (formula->span == CB_SPAN_COMPUTE)
        return formula->time_s * formula->threshold / (1 - formula->threshold);
    return step_s * formula->threshold;
}

int cb_formula_judge(struct cb_formula *formula, struct cb_error *err)
{
    int rc = check_input(formula, err);
    if (rc)
        return rc;
    struct cb_formula f = *formula;
    double steps = f.communications / per_step(&f);
    f.bytes_per_step = f.parameters * CB_FORMULA_BYTES_PER_PARAMETER * per_step(&f);
    f.communication_s = f.bytes_per_step * steps / f.bandwidth_bytes_per_s;
    f.step_communication_s = f.bytes_per_step / f.bandwidth_bytes_per_s;
    double step_s = step_time(&f);
    f.total_s = f.span == CB_SPAN_TOTAL ? f.time_s : step_s * steps;
    f.share = f.step_communication_s / step_s;
    double allowed_s = allowed_communication(&f, step_s);
    f.required_bytes_per_s = f.bytes_per_step / allowed_s;
    f.critical_tokens = 0;
    /* Compute time grows with the tokens, communication does not. */
    if (f.span == CB_SPAN_COMPUTE && f.tokens_per_step > 0)
        f.critical_tokens = f.tokens_per_step * f.step_communication_s / allowed_s;
    if (!isfinite(f.bytes_per_step * steps) || !isfinite(f.communication_s) ||
        !isfinite(f.total_s) || !isfinite(f.share) || !isfinite(f.required_bytes_per_s) ||
        !isfinite(f.critical_tokens))
        return cb_fail(err, CB_E_USAGE,
                       "parameters x 4 x communications / bandwidth overflows: %g x 4 x %g / %g",
                       f.parameters, f.communications, f.bandwidth_bytes_per_s);
    f.bottleneck = f.share > f.threshold;
    f.undecided = false;
    f.undecided_note[0] = '\0';
    f.judged = true;
    *formula = f;
    return 0;
}

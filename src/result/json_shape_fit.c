#include "result/json_fields.h"

NAMES(op, "op", CB_OP_COUNT);
NAMES(scope, "scope", CB_SCOPE_COUNT);
NAMES(dtype, "dtype", CB_DTYPE_COUNT);

/* A line is made of a latency, a bandwidth, or both. */
static const char *fit_lacks(const void *row)
{
    const struct cb_fit_row *fit = row;
    return fit->alpha_s > 0 || fit->bytes_per_s_inf > 0 ? NULL : "alpha_s";
}

static const struct cb_json_field fit_fields[] = {
    NAMED(fit_row, op, "op", ALWAYS, op_names),
    NAMED(fit_row, scope, "scope", ALWAYS, scope_names),
    NAMED(fit_row, dtype, "dtype", ALWAYS, dtype_names),
    FIELD(fit_row, in_place, "in_place", 0),
    FIELD(fit_row, ranks, "ranks", ALWAYS | ZERO),
    FIELD(fit_row, from_bytes, "from_bytes", ALWAYS),
    FIELD(fit_row, to_bytes, "to_bytes", ALWAYS),
    FIELD(fit_row, points, "points", 0),
    FIELD(fit_row, alpha_s, "alpha_s", ALWAYS),
    FIELD(fit_row, bytes_per_s_inf, "bytes_per_s_inf", ALWAYS | ZERO),
    FIELD(fit_row, half_bytes, "half_bytes", ZERO),
    FIELD(fit_row, mean_relative_error, "mean_relative_error", 0),
    FIELD(fit_row, max_relative_error, "max_relative_error", ALWAYS),
    FIELD(fit_row, accepted, "accepted", ALWAYS),
};
const struct cb_json_shape cb_json_fit_shape =
    SHAPE_THAT_MAY_LACK(fit_fields, fit_row, true, fit_lacks);

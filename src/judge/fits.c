#include "judge/fits.h"

#include "judge/network.h"

static void fill_row(const struct cb_network_curve *curve, const struct cb_fit *fit,
                     struct cb_fit_row *row)
{
    const struct cb_collective_row *first = curve->curve.rows.items[0];
    *row = (struct cb_fit_row){
        .op = first->op,
        .scope = first->scope,
        .dtype = first->dtype,
        .in_place = first->in_place,
        .ranks = first->ranks,
        .from_bytes = (uint64_t)fit->from_bytes,
        .to_bytes = (uint64_t)fit->to_bytes,
        .points = fit->points,
        .alpha_s = fit->alpha_s,
        .bytes_per_s_inf = fit->bytes_per_s_inf * cb_op_bus_factor(first->op, first->ranks),
        .half_bytes = fit->half_bytes,
        .mean_relative_error = fit->mean_relative_error,
        .max_relative_error = fit->max_relative_error,
        .accepted = fit->accepted,
    };
}

int cb_fits_build(const struct cb_result *result, cb_fit_list *fits, struct cb_error *err)
{
    struct cb_measured_network network;
    int rc = cb_measured_network_init(&network, result, err);
    if (rc)
        return rc;
    for (int op = 0; op < CB_OP_COUNT; op++)
        for (int scope = 0; scope < CB_SCOPE_COUNT; scope++) {
            const struct cb_network_curve *curve = &network.runs[0].curves[op][scope];
            for (size_t i = 0; i < curve->regime_count; i++) {
                struct cb_fit_row *row = cb_vec_add(fits);
                if (!row) {
                    rc = cb_fail(err, CB_E_MEMORY, "no memory for the fits");
                    goto out;
                }
                fill_row(curve, &curve->regimes[i], row);
            }
        }
out:
    cb_measured_network_fini(&network);
    return rc;
}

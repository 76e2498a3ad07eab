#include "judge/training.h"

#include <stdio.h>
#include <string.h>

#include "judge/network.h"

int cb_judge_training_on(const struct cb_machine *machine, const struct cb_workload *workload,
                         const struct cb_judged_job *judged, bool bound,
                         struct cb_prediction *prediction, struct cb_error *err)
{
    struct cb_prediction made = {.price_per_gpu_hour = machine->price_per_gpu_hour};
    struct cb_error why;
    int rc = cb_training_predict(&judged->stated, machine, &made.training, &why);
    if (rc == 0 && (bound || made.training.bound))
        rc = cb_advise(&judged->stated, machine, bound ? CB_SHARE_SERIAL : CB_SHARE_EXPOSED,
                       &made.advice, &why);
    if (rc == CB_E_MEASURE) {
        *prediction = (struct cb_prediction){0};
        snprintf(prediction->note, sizeof(prediction->note), "%s", why.what);
        return 0;
    }
    if (rc) {
        if (err)
            *err = why;
        return rc;
    }
    snprintf(made.currency, sizeof(made.currency), "%s", machine->currency);
    cb_judged_job_sources(workload, judged, &made.training.assumed);
    *prediction = made;
    return 0;
}

/* A stated bandwidth between all GPUs, without latency. */
static double flat_time_s(const void *context, enum cb_op op, double size_bytes,
                          const struct cb_group_shape *group, enum cb_pace pace,
                          enum cb_provenance *source)
{
    double bytes_per_s = *(const double *)context;
    (void)pace;
    if (source)
        *source = CB_FROM_GIVEN;
    return size_bytes * cb_op_bus_factor(op, group->ranks) / bytes_per_s;
}

/* The step that the user timed, or 0. */
static double stated_step_s(const struct cb_workload *workload, const struct cb_formula *headline)
{
    double per_step = headline->communications_per_step > 0 ? headline->communications_per_step : 1;
    if (workload->span == CB_SPAN_STEP)
        return workload->time_s;
    if (workload->span == CB_SPAN_TOTAL && headline->communications > 0)
        return workload->time_s * per_step / headline->communications;
    return 0;
}

/* The compute of a step whose whole was timed: what is left when the model has taken out the
 * communication that nothing hides, by bisection since what hides depends on the compute. Returns
 * CB_E_MEASURE, saying so, when the communication alone takes longer. */
static int compute_of_step(const struct cb_judged_job *judged, double step_s,
                           struct cb_machine *machine, struct cb_error *err)
{
    double low_s = step_s * 1e-6, high_s = step_s;
    struct cb_training training;
    machine->compute_source = CB_FROM_GIVEN;
    machine->compute_s = low_s;
    int rc = cb_training_weigh(&judged->stated, machine, &training, err);
    if (rc)
        return rc;
    if (training.expected.step_s > step_s)
        return cb_fail(err, CB_E_MEASURE,
                       "the stated step of %.4g s cannot hold the communication, %.4g s of which "
                       "the model finds exposed",
                       step_s, training.expected.exposed_s);
    for (int i = 0; i < 40; i++) {
        machine->compute_s = (low_s + high_s) / 2;
        rc = cb_training_weigh(&judged->stated, machine, &training, err);
        if (rc)
            return rc;
        *(training.expected.step_s > step_s ? &high_s : &low_s) = machine->compute_s;
    }
    return 0;
}

/* Why there is nothing to predict from; NULL when there is something. */
static const char *missing(const struct cb_result *result, const struct cb_machine *machine,
                           double step_s)
{
    if (result->rank_count < 1)
        return "how many GPUs there are is not known: judge a result file or, with --gpu, an offer";
    if (!(machine->compute_s > 0) && !(machine->flops_per_s > 0) && !(step_s > 0))
        return "no GEMM rate was measured: state --compute-time";
    return NULL;
}

int cb_judge_training(const struct cb_result *result, const struct cb_workload *workload,
                      const struct cb_judged_job *judged, const struct cb_formula *headline,
                      struct cb_prediction *prediction, struct cb_error *err)
{
    struct cb_measured_network measured;
    struct cb_gemm_rate gemm;
    struct cb_machine machine;
    int rc = cb_gemm_rate_find(result, &gemm, err);
    if (rc == 0)
        rc = cb_measured_network_init(&measured, result, err);
    if (rc)
        return rc;
    struct cb_network network = measured.network;
    if (workload->bandwidth_bytes_per_s > 0) {
        network.context = &workload->bandwidth_bytes_per_s;
        network.time_s = flat_time_s;
    }
    cb_machine_of_result(result, workload, &gemm, &network, &machine);
    double step_s = stated_step_s(workload, headline);
    const char *why = missing(result, &machine, step_s);
    struct cb_error doubt;
    cb_error_clear(&doubt);
    if (!why && step_s > 0 && compute_of_step(judged, step_s, &machine, &doubt))
        why = doubt.what;
    /* Nobody who states parameters and a time alone asks for it. */
    if (why && (judged->spread_stated || judged->stated.name[0]))
        snprintf(prediction->note, sizeof(prediction->note), "%s", why);
    if (!why)
        rc = cb_judge_training_on(&machine, workload, judged,
                                  headline->judged && headline->bottleneck, prediction, err);
    cb_measured_network_fini(&measured);
    return rc;
}

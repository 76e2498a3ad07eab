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

/* Why there is nothing to predict from, or NULL. */
static const char *missing(const struct cb_result *result, const struct cb_machine *machine)
{
    if (result->rank_count < 1)
        return "how many GPUs there are is not known: judge a result file";
    if (!(machine->compute_s > 0) && !(machine->flops_per_s > 0))
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
    const char *why = missing(result, &machine);
    if (why)
        snprintf(prediction->note, sizeof(prediction->note), "%s", why);
    else
        rc = cb_judge_training_on(&machine, workload, judged,
                                  headline->judged && headline->bottleneck, prediction, err);
    cb_measured_network_fini(&measured);
    return rc;
}

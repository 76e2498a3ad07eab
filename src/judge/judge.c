#include "judge/judge.h"

#include <stdio.h>
#include <string.h>

#include "judge/checks.h"
#include "judge/fits.h"
#include "judge/headline.h"
#include "judge/job.h"
#include "judge/offer.h"
#include "judge/topology.h"
#include "judge/training.h"
#include "reference/workloads.h"

typedef CB_VEC(struct cb_formula) formula_list;

/* The nodes and ranks that a job would run on; no nodes where nothing is known of any. */
static int node_count(const struct cb_evidence *evidence)
{
    const struct cb_result *result = evidence->result;
    if (evidence->offer)
        return evidence->offer->nodes;
    if (result->rank_count < 1)
        return 0;
    return cb_result_node_count(result);
}

static int ranks_per_node(const struct cb_evidence *evidence)
{
    return evidence->offer ? evidence->offer->gpus_per_node
                           : cb_result_ranks_per_node(evidence->result);
}

/* The standard workloads, and among them the headline. A table of which nothing can be judged is
 * left empty. */
static int judge_standard(const struct cb_evidence *evidence, struct cb_formula *headline,
                          formula_list *table, struct cb_error *err)
{
    size_t count;
    const struct cb_workload_row *rows = cb_workloads(&count);
    for (size_t i = 0; i < count; i++) {
        struct cb_formula formula;
        struct cb_judged_job judged;
        int rc = cb_judged_job_make(evidence->workload, rows[i].parameters, node_count(evidence),
                                    ranks_per_node(evidence), &judged, err);
        if (rc == 0)
            rc = cb_headline_judge(evidence, rows[i].name, &judged, &formula, err);
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

static int predict_offered(const struct cb_evidence *evidence, const struct cb_judged_job *judged,
                           const struct cb_formula *headline, struct cb_prediction *prediction,
                           struct cb_error *err)
{
    const struct cb_machine *machine = evidence->machine;
    if (machine->flops_per_s > 0 || machine->compute_s > 0)
        return cb_judge_training_on(machine, evidence->workload, judged,
                                    headline->judged && headline->bottleneck, prediction, err);
    snprintf(prediction->note, sizeof(prediction->note),
             "no rate is published of %.60s: state --compute-time", evidence->offer->gpu);
    return 0;
}

/* The judgement of one stated job. */
static int judge_stated(const struct cb_evidence *evidence, struct cb_formula *headline,
                        struct cb_prediction *prediction, struct cb_error *err)
{
    struct cb_judged_job judged;
    const struct cb_result *result = evidence->result;
    int rc = cb_judged_job_make(evidence->workload, evidence->workload->job.parameters,
                                node_count(evidence), ranks_per_node(evidence), &judged, err);
    if (rc == 0)
        rc = cb_headline_judge(evidence, NULL, &judged, headline, err);
    if (rc || evidence->offer)
        return rc ? rc : predict_offered(evidence, &judged, headline, prediction, err);
    return cb_judge_training(result, evidence->workload, &judged, headline, prediction, err);
}

/* Puts a new list in an old one's place; the new one is empty afterwards. */
#define REPLACE(old, new)                                                                          \
    do {                                                                                           \
        cb_vec_fini(&(old));                                                                       \
        (old).items = (new).items;                                                                 \
        (old).count = (new).count;                                                                 \
        (old).capacity = (new).capacity;                                                           \
        memset(&(new), 0, sizeof(new));                                                            \
    } while (0)

int cb_judge_result(struct cb_result *result, const struct cb_workload *workload,
                    struct cb_error *err)
{
    struct cb_evidence evidence;
    struct cb_formula headline = {0};
    struct cb_prediction prediction = {0};
    formula_list table = {0};
    cb_check_list checks = {0};
    cb_fit_list fits = {0};
    cb_node_finding_list findings = {0};
    cb_crossing_list crossings = {0};
    const struct cb_offered_network offered = {
        .kind = workload->nominal_kind, .nominal_bytes_per_s = workload->nominal_bytes_per_s};
    int rc = cb_evidence_init(&evidence, result, workload, err);
    if (rc)
        return rc;
    rc = workload->job.parameters > 0 ? judge_stated(&evidence, &headline, &prediction, err)
                                      : judge_standard(&evidence, &headline, &table, err);
    if (rc == 0)
        rc = cb_checks_build(result, workload, &checks, err);
    if (rc == 0)
        rc = cb_fits_build(result, &fits, err);
    if (rc == 0)
        rc = cb_topology_findings(result, &offered, &findings, err);
    if (rc == 0)
        rc = cb_topology_crossings(result, &offered, &crossings, err);
    if (rc)
        goto out;
    REPLACE(result->findings, findings);
    REPLACE(result->crossings, crossings);
    result->formula = headline;
    result->prediction = prediction;
    REPLACE(result->workloads, table);
    REPLACE(result->checks, checks);
    REPLACE(result->fits, fits);
out:
    cb_vec_fini(&findings);
    cb_vec_fini(&crossings);
    cb_vec_fini(&fits);
    cb_vec_fini(&checks);
    cb_vec_fini(&table);
    cb_evidence_fini(&evidence);
    return rc;
}

int cb_judge_offer(const struct cb_offer *offer, const struct cb_network *network,
                   const struct cb_workload *workload, struct cb_result *result,
                   struct cb_error *err)
{
    struct cb_machine machine;
    cb_machine_of_offer(offer, workload, network, &machine);
    struct cb_evidence evidence = {
        .result = result, .workload = workload, .offer = offer, .machine = &machine};
    struct cb_formula headline = {0};
    struct cb_prediction prediction = {0};
    formula_list table = {0};
    int rc = workload->job.parameters > 0 ? judge_stated(&evidence, &headline, &prediction, err)
                                          : judge_standard(&evidence, &headline, &table, err);
    if (rc) {
        cb_vec_fini(&table);
        return rc;
    }
    result->offer = *offer;
    result->offer.price_per_gpu_hour = workload->price_per_gpu_hour;
    snprintf(result->offer.currency, sizeof(result->offer.currency), "%s", workload->currency);
    result->formula = headline;
    result->prediction = prediction;
    cb_vec_fini(&result->workloads);
    result->workloads.items = table.items;
    result->workloads.count = table.count;
    result->workloads.capacity = table.capacity;
    return 0;
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
    /* What the formula has nothing to say of, the model of the step decides; but a run of one rank
     * has seen no network. */
    bool silent = !result->formula.judged && result->formula.parameters > 0 &&
                  !(result->formula.communications > 0) && cb_result_is_predicted(result) &&
                  result->rank_count != 1;
    if (!result->formula.judged && !silent)
        return 3;
    if (result->formula.undecided)
        return 4;
    if (silent ? result->prediction.training.bound : result->formula.bottleneck)
        return 1;
    for (size_t i = 0; i < result->checks.count; i++)
        if (result->checks.items[i].status == CB_CHECK_SHORT ||
            result->checks.items[i].status == CB_CHECK_ALARM)
            return 1;
    return 0;
}

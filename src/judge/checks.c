#include "judge/checks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "judge/curve.h"
#include "judge/published.h"

/* A number with what is to be said about it: where it was found, or why there is none. */
struct finding {
    double value;
    char note[192];
};

/* The interfaces in use, of all hosts together. */
struct link_facts {
    double nominal_bytes_per_s; /* of the slowest; 0 when one of them is unknown */
    const struct cb_topo_nic *slowest, *unknown;
    const char *slowest_host;
    bool rdma;
};

static struct link_facts look_at_links(const struct cb_result *result)
{
    struct link_facts facts = {0};
    for (size_t i = 0; i < result->nodes.count; i++) {
        const struct cb_topo_host *host = &result->nodes.items[i];
        for (int j = 0; j < host->nic_count && j < CB_TOPO_NICS; j++) {
            const struct cb_topo_nic *nic = &host->nics[j];
            if (!nic->used)
                continue;
            facts.rdma = facts.rdma || cb_facts_is_ib_or_roce(nic);
            if (!(nic->nominal_bytes_per_s > 0)) {
                facts.unknown = nic;
            } else if (!facts.slowest ||
                       nic->nominal_bytes_per_s < facts.slowest->nominal_bytes_per_s) {
                facts.slowest = nic;
                facts.slowest_host = host->name;
            }
        }
    }
    if (facts.slowest && !facts.unknown)
        facts.nominal_bytes_per_s = facts.slowest->nominal_bytes_per_s;
    return facts;
}

/* What is advertised between the nodes, and who says so. */
static struct finding find_reference(const struct cb_workload *workload,
                                     const struct link_facts *facts)
{
    struct finding reference = {0};
    if (workload->nominal_bytes_per_s > 0) {
        reference.value = workload->nominal_bytes_per_s;
        snprintf(reference.note, sizeof(reference.note), "advertised, as given");
    } else if (facts->nominal_bytes_per_s > 0) {
        reference.value = facts->nominal_bytes_per_s;
        snprintf(reference.note, sizeof(reference.note), "nominal speed of %s on %.40s",
                 facts->slowest->name, facts->slowest_host);
    } else if (facts->unknown && facts->unknown->stated_bytes_per_s > 0) {
        snprintf(reference.note, sizeof(reference.note),
                 "%s's driver %s makes its speed up; state --nominal-bandwidth",
                 facts->unknown->name, facts->unknown->driver);
    } else if (facts->unknown) {
        snprintf(reference.note, sizeof(reference.note),
                 "%s states no speed; state --nominal-bandwidth", facts->unknown->name);
    } else {
        snprintf(reference.note, sizeof(reference.note),
                 "the interface between the nodes is not known; state --nominal-bandwidth");
    }
    return reference;
}

static bool is_slower(const struct cb_pair_row *a, const struct cb_pair_row *b)
{
    return a->bytes_per_s < b->bytes_per_s;
}

static bool is_later(const struct cb_pair_row *a, const struct cb_pair_row *b)
{
    return a->round_trip_s > b->round_trip_s;
}

/* The pair that decides, or NULL; *usable how many there were to choose from. */
static const struct cb_pair_row *
find_pair(const struct cb_result *result,
          bool (*is_worse)(const struct cb_pair_row *, const struct cb_pair_row *), size_t *usable)
{
    const struct cb_pair_row *worst = NULL;
    *usable = 0;
    for (size_t i = 0; i < result->pairs.count; i++) {
        const struct cb_pair_row *pair = &result->pairs.items[i];
        if (!cb_status_is_usable(pair->status))
            continue;
        (*usable)++;
        if (!worst || is_worse(pair, worst))
            worst = pair;
    }
    return worst;
}

static void say_no_pair(const struct cb_result *result, struct finding *finding)
{
    if (result->nodes.count < 2)
        snprintf(finding->note, sizeof(finding->note),
                 "one node only: there is no link to measure");
    else if (result->pairs.count > 0 && result->pairs.items[0].reason[0])
        snprintf(finding->note, sizeof(finding->note), "%.190s", result->pairs.items[0].reason);
    else
        snprintf(finding->note, sizeof(finding->note), "the links between nodes were not probed");
}

/* The host that all slow links have in common: the one to look at. NULL where they have both ends
 * in common, or neither. Slow is what is behind the fastest by more than healthy links differ. */
static const char *find_shared_host(const struct cb_result *result)
{
    const double slow_share = 0.90;
    const char *ends[2] = {NULL, NULL};
    double fastest = 0;
    bool is_first = true;
    for (size_t i = 0; i < result->pairs.count; i++)
        if (cb_status_is_usable(result->pairs.items[i].status))
            fastest = fmax(fastest, result->pairs.items[i].bytes_per_s);
    for (size_t i = 0; i < result->pairs.count; i++) {
        const struct cb_pair_row *pair = &result->pairs.items[i];
        if (!cb_status_is_usable(pair->status) || pair->bytes_per_s >= slow_share * fastest)
            continue;
        if (is_first) {
            ends[0] = pair->a;
            ends[1] = pair->b;
        }
        is_first = false;
        for (int k = 0; k < 2; k++)
            if (ends[k] && strcmp(ends[k], pair->a) != 0 && strcmp(ends[k], pair->b) != 0)
                ends[k] = NULL;
    }
    return ends[0] && ends[1] ? NULL : ends[0] ? ends[0] : ends[1];
}

static struct finding find_slowest(const struct cb_result *result)
{
    struct finding finding = {0};
    size_t usable;
    const struct cb_pair_row *pair = find_pair(result, is_slower, &usable);
    if (!pair) {
        say_no_pair(result, &finding);
        return finding;
    }
    const char *shared = find_shared_host(result);
    finding.value = pair->bytes_per_s;
    if (usable == 1)
        snprintf(finding.note, sizeof(finding.note), "%.40s -> %.40s", pair->a, pair->b);
    else
        snprintf(finding.note, sizeof(finding.note), "%.30s -> %.30s, slowest of %zu%s%.20s",
                 pair->a, pair->b, usable, shared ? ", all with " : "", shared ? shared : "");
    return finding;
}

static struct finding find_longest_trip(const struct cb_result *result)
{
    struct finding finding = {0};
    size_t usable;
    const struct cb_pair_row *pair = find_pair(result, is_later, &usable);
    if (!pair) {
        say_no_pair(result, &finding);
        return finding;
    }
    finding.value = pair->round_trip_s;
    if (usable == 1)
        snprintf(finding.note, sizeof(finding.note), "%.40s - %.40s", pair->a, pair->b);
    else
        snprintf(finding.note, sizeof(finding.note), "%.40s - %.40s, longest of %zu", pair->a,
                 pair->b, usable);
    return finding;
}

/* The largest all_reduce with one rank per node, where bus bandwidth is what a node's link carries;
 * a world of one rank per node is the same thing. */
static const struct cb_collective_row *largest_between_nodes(const struct cb_result *result)
{
    const struct cb_collective_row *row =
        cb_result_largest(result, CB_OP_ALL_REDUCE, CB_SCOPE_INTER_NODE);
    return row ? row : cb_result_largest(result, CB_OP_ALL_REDUCE, CB_SCOPE_WORLD);
}

static struct finding find_all_reduce(const struct cb_result *result)
{
    struct finding finding = {0};
    const struct cb_collective_row *row =
        result->nodes.count < 2 ? NULL : largest_between_nodes(result);
    char size[CB_UNIT_TEXT];
    if (row) {
        finding.value = row->bus_bytes_per_s;
        snprintf(finding.note, sizeof(finding.note), "%s, %s scope, %d ranks",
                 cb_format_bytes(size, row->size_bytes), cb_scope_name(row->scope), row->ranks);
    } else if (result->nodes.count < 2) {
        snprintf(finding.note, sizeof(finding.note),
                 "one node only: no all_reduce crosses a link between nodes");
    } else {
        snprintf(finding.note, sizeof(finding.note), "no all_reduce was measured between nodes");
        for (size_t i = 0; i < result->collectives.count; i++) {
            const struct cb_collective_row *lacking = &result->collectives.items[i];
            bool crosses = lacking->scope != CB_SCOPE_INTRA_NODE;
            if (lacking->op == CB_OP_ALL_REDUCE && crosses && lacking->reason[0])
                snprintf(finding.note, sizeof(finding.note), "%.190s", lacking->reason);
        }
    }
    return finding;
}

/* Counts one row: its elements that were wrong, at least one where it is marked wrong. */
static void count_wrong(enum cb_status status, uint64_t wrong, double *sum, size_t *looked_at)
{
    bool is_bad = status == CB_STATUS_WRONG;
    *looked_at += is_bad || cb_status_is_usable(status);
    *sum += wrong > 0 ? (double)wrong : is_bad;
}

/* Elements that were wrong; negative when nothing was looked at. */
static struct finding find_wrong(const struct cb_result *result)
{
    struct finding finding = {.value = -1, .note = "nothing was measured"};
    double wrong = 0;
    size_t looked_at = 0;
    for (size_t i = 0; i < result->collectives.count; i++)
        count_wrong(result->collectives.items[i].status, result->collectives.items[i].wrong, &wrong,
                    &looked_at);
    for (size_t i = 0; i < result->pairs.count; i++)
        count_wrong(result->pairs.items[i].status, 0, &wrong, &looked_at);
    for (size_t i = 0; i < result->kernels.count; i++)
        count_wrong(result->kernels.items[i].status, result->kernels.items[i].wrong, &wrong,
                    &looked_at);
    for (size_t i = 0; i < result->burns.count; i++)
        count_wrong(result->burns.items[i].status, result->burns.items[i].wrong, &wrong,
                    &looked_at);
    if (looked_at == 0)
        return finding;
    finding.value = wrong;
    snprintf(finding.note, sizeof(finding.note), "%zu steps checked", looked_at);
    return finding;
}

static void judge_rate(enum cb_criterion criterion, const struct finding *actual,
                       const struct finding *reference, bool rdma, struct cb_check *check)
{
    char note[192];
    bool measured = actual->value > 0;
    if (measured && reference->value > 0)
        snprintf(note, sizeof(note), "%.110s; %.70s", actual->note, reference->note);
    else
        snprintf(note, sizeof(note), "%s", measured ? reference->note : actual->note);
    cb_criterion_judge(criterion, actual->value, reference->value, rdma, note, check);
}

static void judge_all(const struct cb_result *result, const struct cb_workload *workload,
                      struct cb_check *checks)
{
    struct link_facts facts = look_at_links(result);
    struct finding reference = find_reference(workload, &facts);
    struct finding slowest = find_slowest(result);
    struct finding trip = find_longest_trip(result);
    struct finding all_reduce = find_all_reduce(result);
    struct finding wrong = find_wrong(result);
    judge_rate(CB_CRITERION_NETWORK_ADVERTISED, &slowest, &reference, facts.rdma,
               &checks[CB_CRITERION_NETWORK_ADVERTISED]);
    judge_rate(CB_CRITERION_NETWORK_HEALTHY, &slowest, &reference, facts.rdma,
               &checks[CB_CRITERION_NETWORK_HEALTHY]);
    judge_rate(CB_CRITERION_ALL_REDUCE, &all_reduce, &reference, facts.rdma,
               &checks[CB_CRITERION_ALL_REDUCE]);
    cb_criterion_judge(CB_CRITERION_ROUND_TRIP, trip.value, 0, facts.rdma, trip.note,
                       &checks[CB_CRITERION_ROUND_TRIP]);
    cb_criterion_judge(CB_CRITERION_ROUND_TRIP_CLUSTER, trip.value, 0, facts.rdma, trip.note,
                       &checks[CB_CRITERION_ROUND_TRIP_CLUSTER]);
    cb_criterion_judge(CB_CRITERION_DATA, wrong.value, 0, facts.rdma, wrong.note,
                       &checks[CB_CRITERION_DATA]);
}

/* Whether the numbers of other people's logs are normal, where these name their GPUs. */
static int check_imports(const struct cb_result *result, cb_check_list *checks,
                         struct cb_error *err)
{
    for (size_t i = 0; i < result->imports.count; i++) {
        struct cb_check check;
        if (!cb_published_check_import(&result->imports.items[i], &check))
            continue;
        struct cb_check *added = cb_vec_add(checks);
        if (!added)
            return cb_fail(err, CB_E_MEMORY, "no memory for the checks");
        *added = check;
    }
    return 0;
}

int cb_checks_build(const struct cb_result *result, const struct cb_workload *workload,
                    cb_check_list *checks, struct cb_error *err)
{
    struct cb_check judged[CB_CRITERION_COUNT];
    bool has_gpus = result->gpus.count > 0 || result->gpu_reason[0] || result->burns.count > 0;
    size_t count = has_gpus ? CB_CRITERION_COUNT : CB_CRITERION_FIRST_GPU;
    /* The others are of a run that looked at its nodes and links; logs of others do not. */
    if (result->imports.count > 0)
        return check_imports(result, checks, err);
    if (result->collectives.count + result->pairs.count + result->kernels.count +
            result->burns.count ==
        0)
        return 0;
    judge_all(result, workload, judged);
    int rc = has_gpus ? cb_checks_judge_gpus(result, judged, err) : CB_OK;
    if (!rc && has_gpus)
        rc = cb_checks_judge_copies(result, judged, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < count; i++) {
        struct cb_check *added = cb_vec_add(checks);
        if (!added)
            return cb_fail(err, CB_E_MEMORY, "no memory for the checks");
        *added = judged[i];
    }
    return 0;
}

#include "model/scaling.h"

#include <math.h>

#include "base/names.h"

struct confidence_row {
    const char *name;
    double ratio; /* up to which it is that */
    double error;
};

static const struct confidence_row confidences[] = {
    [CB_CONFIDENCE_MEASURED] = {"measured", 1, 0},
    [CB_CONFIDENCE_INTERPOLATED] = {"interpolated", 1, 0},
    [CB_CONFIDENCE_WITHIN_4X] = {"within 4x", 4, 0.15},
    [CB_CONFIDENCE_BEYOND] = {"beyond", INFINITY, 0.30},
};
_Static_assert(sizeof(confidences) / sizeof(confidences[0]) == CB_CONFIDENCE_COUNT,
               "one row per confidence");

/* By law. */
static const struct cb_scaling published[] = {
    [CB_SCALING_TREE] = {.law = CB_SCALING_TREE,
                         .fixed_s = 53e-6,
                         .step_s = 80e-6,
                         .source = CB_FROM_REFERENCE},
    [CB_SCALING_RING] = {.law = CB_SCALING_RING, .step_s = 4.6e-6, .source = CB_FROM_REFERENCE},
    [CB_SCALING_STEP] = {.law = CB_SCALING_STEP, .step_s = 4.6e-6, .source = CB_FROM_REFERENCE},
};
_Static_assert(sizeof(published) / sizeof(published[0]) == CB_SCALING_LAW_COUNT, "one row per law");

#define FABRIC_LOSS 0.06 /* over FABRIC_DOUBLINGS doublings of the nodes */
#define FABRIC_DOUBLINGS 7.0
#define FABRIC_FLOOR 0.9

enum cb_scaling_law cb_scaling_law_of(enum cb_op op)
{
    switch (op) {
    case CB_OP_ALL_REDUCE:
    case CB_OP_BROADCAST:
        return CB_SCALING_TREE;
    case CB_OP_SEND_RECV:
        return CB_SCALING_STEP;
    default:
        return CB_SCALING_RING;
    }
}

struct cb_scaling cb_scaling_published(enum cb_scaling_law law)
{
    return published[law];
}

/* What a law's latency grows with. */
static double reach(enum cb_scaling_law law, const struct cb_group_shape *group)
{
    switch (law) {
    case CB_SCALING_TREE:
        return log2(group->nodes > 1 ? group->nodes : 1);
    case CB_SCALING_RING:
        return group->ranks - 1;
    default:
        return 1;
    }
}

double cb_scaling_alpha_s(const struct cb_scaling *scaling, const struct cb_group_shape *group)
{
    return fmax(scaling->fixed_s + scaling->step_s * reach(scaling->law, group), 0);
}

/* What the published law must be multiplied by to meet the points: the mean of the logarithms. */
static double published_factor(enum cb_scaling_law law, const struct cb_scaling_point *points,
                               size_t count)
{
    double log_sum = 0;
    size_t told = 0;
    for (size_t i = 0; i < count; i++) {
        double alpha_s = cb_scaling_alpha_s(&published[law], &points[i].group);
        if (!(alpha_s > 0))
            continue;
        log_sum += log(points[i].alpha_s / alpha_s);
        told++;
    }
    return told > 0 ? exp(log_sum / (double)told) : 1;
}

static int count_sizes(enum cb_scaling_law law, const struct cb_scaling_point *points, size_t count)
{
    int sizes = 0;
    for (size_t i = 0; i < count; i++) {
        bool seen = false;
        for (size_t j = 0; j < i && !seen; j++)
            seen = reach(law, &points[i].group) == reach(law, &points[j].group);
        sizes += !seen;
    }
    return sizes;
}

/* Least squares of fixed + step x log2(nodes) - alpha. Of the relative residuals it would follow
 * the smallest groups, where what is wanted lies beyond the largest: held out, 8192 GPUs come out
 * worse (docs/design.md, "Fits and scaling"). */
static bool fit_tree(const struct cb_scaling_point *points, size_t count,
                     struct cb_scaling *scaling)
{
    double n = (double)count, sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
    for (size_t i = 0; i < count; i++) {
        double x = reach(CB_SCALING_TREE, &points[i].group), y = points[i].alpha_s;
        sum_x += x;
        sum_y += y;
        sum_xx += x * x;
        sum_xy += x * y;
    }
    scaling->step_s = (n * sum_xy - sum_x * sum_y) / (n * sum_xx - sum_x * sum_x);
    scaling->fixed_s = (sum_y - scaling->step_s * sum_x) / n;
    return isfinite(scaling->fixed_s) && scaling->step_s > 0;
}

/* The only coefficient of a ring, or of a step, is the same for every group: least squares of the
 * relative residuals, which weigh all alike. */
static bool fit_ring(const struct cb_scaling_point *points, size_t count,
                     struct cb_scaling *scaling)
{
    double sum_x = 0, sum_xx = 0;
    for (size_t i = 0; i < count; i++) {
        double x = reach(scaling->law, &points[i].group) / points[i].alpha_s;
        sum_x += x;
        sum_xx += x * x;
    }
    scaling->step_s = sum_x / sum_xx;
    return isfinite(scaling->step_s) && scaling->step_s > 0;
}

static bool fit_law(const struct cb_scaling_point *points, size_t count, struct cb_scaling *scaling)
{
    return scaling->law == CB_SCALING_TREE ? fit_tree(points, count, scaling)
                                           : fit_ring(points, count, scaling);
}

int cb_scaling_fit(enum cb_scaling_law law, const struct cb_scaling_point *points, size_t count,
                   struct cb_scaling *scaling, struct cb_error *err)
{
    if (count == 0)
        return cb_fail(err, CB_E_INPUT, "no latency to fit a law to");
    for (size_t i = 0; i < count; i++)
        if (!isfinite(points[i].alpha_s) || points[i].alpha_s <= 0 || points[i].group.ranks < 2 ||
            points[i].group.nodes < 1)
            return cb_fail(err, CB_E_INPUT,
                           "a latency to fit a law to is impossible: %g s over %d ranks",
                           points[i].alpha_s, points[i].group.ranks);
    struct cb_scaling fitted = {.law = law, .groups = count_sizes(law, points, count)};
    if (fitted.groups >= 3 && fit_law(points, count, &fitted)) {
        fitted.source = CB_FROM_EXTRAPOLATED;
    } else {
        double factor = published_factor(law, points, count);
        fitted.fixed_s = published[law].fixed_s * factor;
        fitted.step_s = published[law].step_s * factor;
        fitted.source = CB_FROM_ASSUMED;
    }
    *scaling = fitted;
    return 0;
}

/* ---- bandwidth ---- */

double cb_scaling_bandwidth_share(enum cb_op op, int base_nodes, int nodes,
                                  const struct cb_fabric *fabric, enum cb_pace pace)
{
    double share = 1;
    if (base_nodes > 0 && nodes > base_nodes)
        share = fmax(1 - FABRIC_LOSS * log2((double)nodes / base_nodes) / FABRIC_DOUBLINGS,
                     FABRIC_FLOOR);
    int pod_nodes = fabric->pod_nodes > 0 ? fabric->pod_nodes : base_nodes;
    bool crosses = nodes > pod_nodes && fabric->oversubscription > 1;
    if (crosses && (pace != CB_PACE_FAST || op == CB_OP_ALL_TO_ALL))
        share /= fabric->oversubscription;
    return share;
}

double cb_scaling_tree_gain(int nodes)
{
    return nodes == 2 ? 2.0 : nodes == 3 ? 4.0 / 3 : 1.0;
}

double cb_scaling_compose_s(double reduce_scatter_s, double between_s, double all_gather_s,
                            enum cb_pace pace)
{
    double sum_s = reduce_scatter_s + between_s + all_gather_s;
    double longest_s = fmax(fmax(reduce_scatter_s, between_s), all_gather_s);
    switch (pace) {
    case CB_PACE_FAST:
        return longest_s;
    case CB_PACE_SLOW:
        return sum_s;
    default:
        return (sum_s + longest_s) / 2;
    }
}

/* ---- confidence ---- */

const char *cb_confidence_name(enum cb_confidence confidence)
{
    return confidences[confidence].name;
}

int cb_confidence_parse(const char *name)
{
    const char *names[CB_CONFIDENCE_COUNT];
    for (int i = 0; i < CB_CONFIDENCE_COUNT; i++)
        names[i] = confidences[i].name;
    return cb_names_find(names, CB_CONFIDENCE_COUNT, name);
}

double cb_confidence_error(enum cb_confidence confidence)
{
    return confidences[confidence].error;
}

enum cb_confidence cb_confidence_of_ratio(double ratio)
{
    for (int i = 0; i < CB_CONFIDENCE_COUNT; i++)
        if (ratio <= confidences[i].ratio * (1 + 1e-9))
            return (enum cb_confidence)i;
    return CB_CONFIDENCE_BEYOND;
}

#include "judge/estimate.h"

#include <math.h>

/* What a library needs for all ranks of a ring to have started; half of the latency of an
 * all_reduce, which goes round twice. */
#define ONE_WAY_SHARE_OF_ALL_REDUCE 0.5

/* An operation on a group taken apart: what grows by a law, and what grows with the bytes moved. */
struct parts {
    double latency_s, moving_s;
    struct cb_group_shape group; /* that they hold for */
    enum cb_provenance source;
    enum cb_confidence confidence;
};

static const struct cb_network_estimate unknown = {.time_s = -1, .source = CB_FROM_NOWHERE};

/* ---- one curve ---- */

static enum cb_curve_time time_of_pace(enum cb_pace pace)
{
    static const enum cb_curve_time times[] = {[CB_PACE_MEDIAN] = CB_CURVE_MEDIAN,
                                               [CB_PACE_FAST] = CB_CURVE_P10,
                                               [CB_PACE_SLOW] = CB_CURVE_P90};
    return times[pace];
}

static double bigger_ratio(double a, double b)
{
    return a > b ? a / b : b / a;
}

/* The regime that decides at a size: the last one that begins at or below it. NULL without any. */
static const struct cb_fit *find_regime(const struct cb_network_curve *curve, double size_bytes)
{
    const struct cb_fit *found = curve->regime_count > 0 ? &curve->regimes[0] : NULL;
    for (size_t i = 0; i < curve->regime_count; i++)
        if (curve->regimes[i].from_bytes <= size_bytes)
            found = &curve->regimes[i];
    return found;
}

/* Outside the measured sizes: the fit of the outermost regime, or the nearest size's bandwidth
 * above and its time below, which no smaller message can exceed. */
static double time_outside_s(const struct cb_network_curve *curve,
                             const struct cb_curve_place *place, double size_bytes,
                             enum cb_curve_time time)
{
    const struct cb_fit *regime = find_regime(curve, size_bytes);
    double edge_bytes = (double)place->below->size_bytes;
    double edge_s = cb_curve_time_s(place, edge_bytes, time);
    if (regime && regime->accepted)
        return cb_fit_time_s(regime, size_bytes) * edge_s /
               cb_curve_time_s(place, edge_bytes, CB_CURVE_MEDIAN);
    return size_bytes > edge_bytes ? edge_s * size_bytes / edge_bytes : edge_s;
}

/* How much of a time is latency: what the regime's fit says, at least what the smallest messages
 * take anyway; the published figure where nothing was fitted. Never more than there is. */
static double latency_of(const struct cb_network_curve *curve, enum cb_op op, double size_bytes,
                         double time_s)
{
    const struct cb_fit *regime = find_regime(curve, size_bytes);
    struct cb_scaling law = cb_scaling_published(cb_scaling_law_of(op));
    double latency_s = regime ? fmax(regime->alpha_s, curve->regimes[0].alpha_s)
                              : cb_scaling_alpha_s(&law, &curve->group);
    return fmin(latency_s, time_s);
}

static double time_at_s(const struct cb_network_curve *curve, const struct cb_curve_place *place,
                        double size_bytes, enum cb_curve_time time)
{
    return place->outside ? time_outside_s(curve, place, size_bytes, time)
                          : cb_curve_time_s(place, size_bytes, time);
}

static struct parts read_curve(const struct cb_network_curve *curve, enum cb_op op,
                               double size_bytes, enum cb_pace pace)
{
    struct cb_curve_place place = cb_curve_find(&curve->curve, size_bytes);
    struct parts parts = {.group = curve->group, .source = CB_FROM_MEASURED};
    if (place.outside) {
        double edge_bytes = (double)place.below->size_bytes;
        parts.source = CB_FROM_EXTRAPOLATED;
        parts.confidence = cb_confidence_of_ratio(bigger_ratio(size_bytes, edge_bytes));
    } else {
        parts.confidence =
            place.below == place.above ? CB_CONFIDENCE_MEASURED : CB_CONFIDENCE_INTERPOLATED;
    }
    /* Whatever made an operation slow, it is taken to have slowed both parts alike. */
    double median_s = time_at_s(curve, &place, size_bytes, CB_CURVE_MEDIAN);
    double time_s = time_at_s(curve, &place, size_bytes, time_of_pace(pace));
    parts.latency_s = latency_of(curve, op, size_bytes, median_s) * time_s / median_s;
    parts.moving_s = time_s - parts.latency_s;
    return parts;
}

/* ---- which curve ---- */

static enum cb_scope scope_of(const struct cb_group_shape *group)
{
    return group->nodes == 1              ? CB_SCOPE_INTRA_NODE
           : group->nodes == group->ranks ? CB_SCOPE_INTER_NODE
                                          : CB_SCOPE_WORLD;
}

static const struct cb_network_curve *curve_or_null(const struct cb_network_run *run, enum cb_op op,
                                                    enum cb_scope scope)
{
    const struct cb_network_curve *curve = &run->curves[op][scope];
    return curve->curve.rows.count > 0 ? curve : NULL;
}

/* The curve of an op over a scope; the world of one node is its inside, the world of single ranks
 * is what lies between the nodes. */
static const struct cb_network_curve *curve_of_run(const struct cb_network_run *run, enum cb_op op,
                                                   enum cb_scope scope)
{
    enum cb_scope same = run->nodes == 1           ? CB_SCOPE_INTRA_NODE
                         : run->gpus_per_node == 1 ? CB_SCOPE_INTER_NODE
                                                   : CB_SCOPE_WORLD;
    const struct cb_network_curve *curve = NULL;
    if (scope != CB_SCOPE_WORLD || same == CB_SCOPE_WORLD)
        curve = curve_or_null(run, op, scope);
    if (!curve && scope == same)
        curve = curve_or_null(run, op, CB_SCOPE_WORLD);
    return curve;
}

/* That of the run whose number of nodes is nearest. */
static const struct cb_network_curve *find_curve(const struct cb_measured_network *network,
                                                 enum cb_op op, enum cb_scope scope, int nodes)
{
    const struct cb_network_curve *nearest = NULL;
    for (size_t i = 0; i < network->run_count; i++) {
        const struct cb_network_curve *curve = curve_of_run(&network->runs[i], op, scope);
        if (curve && (!nearest || bigger_ratio(curve->group.nodes, nodes) <
                                      bigger_ratio(nearest->group.nodes, nodes)))
            nearest = curve;
    }
    return nearest;
}

/* ---- another op ---- */

/* An op as made of another one on the same group. */
static struct parts convert(struct parts parts, enum cb_op from, enum cb_op to)
{
    struct cb_scaling ring = cb_scaling_published(CB_SCALING_RING);
    double n = parts.group.ranks, per_node = n / parts.group.nodes;
    bool to_tree = cb_scaling_law_of(to) == CB_SCALING_TREE;
    bool from_tree = cb_scaling_law_of(from) == CB_SCALING_TREE;
    parts.moving_s *=
        cb_op_bus_factor(to, parts.group.ranks) / cb_op_bus_factor(from, parts.group.ranks);
    /* Of an all_to_all every byte for another node leaves through the node's links, where a ring
     * passes them once for all of its ranks. */
    if (to == CB_OP_ALL_TO_ALL && parts.group.nodes > 1)
        parts.moving_s *= per_node * (n - per_node) / (n - 1);
    if (from == CB_OP_ALL_REDUCE && to != CB_OP_ALL_REDUCE)
        parts.latency_s *= ONE_WAY_SHARE_OF_ALL_REDUCE;
    if (from != CB_OP_ALL_REDUCE && to == CB_OP_ALL_REDUCE)
        parts.latency_s /= ONE_WAY_SHARE_OF_ALL_REDUCE;
    if (from_tree && !to_tree)
        parts.latency_s = fmax(parts.latency_s, cb_scaling_alpha_s(&ring, &parts.group));
    if (to == CB_OP_SEND_RECV)
        parts.latency_s /= n - 1;
    parts.source = cb_provenance_weaker(parts.source, CB_FROM_ASSUMED);
    if (parts.confidence < CB_CONFIDENCE_WITHIN_4X)
        parts.confidence = CB_CONFIDENCE_WITHIN_4X;
    return parts;
}

/* What an op that was not measured is made of, the likest first. */
static const enum cb_op substitutes[CB_OP_COUNT][3] = {
    [CB_OP_ALL_REDUCE] = {CB_OP_REDUCE_SCATTER, CB_OP_ALL_GATHER, CB_OP_BROADCAST},
    [CB_OP_ALL_GATHER] = {CB_OP_REDUCE_SCATTER, CB_OP_ALL_REDUCE, CB_OP_BROADCAST},
    [CB_OP_REDUCE_SCATTER] = {CB_OP_ALL_GATHER, CB_OP_ALL_REDUCE, CB_OP_BROADCAST},
    [CB_OP_BROADCAST] = {CB_OP_ALL_GATHER, CB_OP_REDUCE_SCATTER, CB_OP_ALL_REDUCE},
    [CB_OP_ALL_TO_ALL] = {CB_OP_ALL_GATHER, CB_OP_REDUCE_SCATTER, CB_OP_ALL_REDUCE},
    [CB_OP_SEND_RECV] = {CB_OP_ALL_GATHER, CB_OP_REDUCE_SCATTER, CB_OP_ALL_REDUCE},
};

/* ---- another group ---- */

/* The bus bandwidth that a ring over the world has: seen on a gather, else at most the rate of a
 * node's links; 0 when neither is known. */
static double ring_bytes_per_s(const struct cb_measured_network *network, int nodes)
{
    static const enum cb_op rings[] = {CB_OP_ALL_GATHER, CB_OP_REDUCE_SCATTER};
    for (size_t i = 0; i < sizeof(rings) / sizeof(rings[0]); i++) {
        const struct cb_network_curve *curve = find_curve(network, rings[i], CB_SCOPE_WORLD, nodes);
        double best = 0;
        for (size_t j = 0; curve && j < curve->curve.rows.count; j++)
            best = fmax(best, curve->curve.rows.items[j]->bus_bytes_per_s);
        if (best > 0)
            return best;
    }
    for (size_t i = 0; i < network->run_count; i++)
        if (network->runs[i].nodes == nodes)
            return network->runs[i].link_bytes_per_s;
    return 0;
}

/* By how much an all_reduce over two or three nodes is faster than rings, which is what more nodes
 * have. Where a ring's bandwidth is known the two are compared; else the fast pace takes the gain
 * for nothing, the slow one for all that a tree can gain. */
static double lost_gain(const struct cb_measured_network *network, enum cb_op op,
                        const struct parts *base, double size_bytes,
                        const struct cb_group_shape *group, enum cb_pace pace)
{
    double gain = cb_scaling_tree_gain(base->group.nodes) / cb_scaling_tree_gain(group->nodes);
    if (op != CB_OP_ALL_REDUCE || !network->has_trees || gain <= 1 ||
        base->group.ranks == base->group.nodes || !(base->moving_s > 0))
        return 1;
    double bytes_per_s = cb_op_bus_factor(op, base->group.ranks) * size_bytes / base->moving_s;
    double ring = ring_bytes_per_s(network, base->group.nodes);
    if (ring > 0)
        return fmin(fmax(bytes_per_s / ring, 1), gain);
    return pace == CB_PACE_FAST ? 1 : pace == CB_PACE_SLOW ? gain : (1 + gain) / 2;
}

/* Bytes that leave a rank of an all_to_all for other nodes, as a share. */
static double outgoing_share(const struct cb_group_shape *group)
{
    return 1 - 1.0 / group->nodes;
}

/* The law of an op's latency at a size, from all runs that measured it; from the base alone where
 * it was made of another op. */
static struct cb_scaling fit_latency(const struct cb_measured_network *network, enum cb_op op,
                                     enum cb_scope scope, double size_bytes,
                                     const struct parts *base)
{
    struct cb_scaling_point points[CB_NETWORK_MAX_RUNS];
    struct cb_scaling law = cb_scaling_published(cb_scaling_law_of(op));
    size_t count = 0;
    for (size_t i = 0; i < network->run_count; i++) {
        const struct cb_network_curve *curve = curve_of_run(&network->runs[i], op, scope);
        if (!curve)
            continue;
        struct parts parts = read_curve(curve, op, size_bytes, CB_PACE_MEDIAN);
        if (parts.latency_s > 0)
            points[count++] = (struct cb_scaling_point){parts.group, parts.latency_s};
    }
    if (count == 0 && base->latency_s > 0)
        points[count++] = (struct cb_scaling_point){base->group, base->latency_s};
    if (count > 0)
        (void)cb_scaling_fit(law.law, points, count, &law, NULL);
    return law;
}

/* How far a group is from those that were measured, whose nearest is base: between two of them it
 * is interpolated. */
static enum cb_confidence confidence_in(const struct cb_measured_network *network, enum cb_op op,
                                        enum cb_scope scope, const struct parts *base,
                                        const struct cb_group_shape *group)
{
    bool below = false, above = false;
    bool alike =
        (double)group->ranks / group->nodes == (double)base->group.ranks / base->group.nodes;
    for (size_t i = 0; i < network->run_count; i++) {
        const struct cb_network_curve *curve = curve_of_run(&network->runs[i], op, scope);
        below = below || (curve && curve->group.nodes < group->nodes);
        above = above || (curve && curve->group.nodes > group->nodes);
    }
    if (alike && below && above)
        return CB_CONFIDENCE_INTERPOLATED;
    return cb_confidence_of_ratio(fmax(bigger_ratio(group->ranks, base->group.ranks),
                                       bigger_ratio(group->nodes, base->group.nodes)));
}

static struct parts scale(const struct cb_measured_network *network, struct parts base,
                          enum cb_op op, enum cb_scope scope, double size_bytes,
                          const struct cb_group_shape *group, enum cb_pace pace)
{
    if (group->ranks == base.group.ranks && group->nodes == base.group.nodes)
        return base;
    struct parts scaled = base;
    struct cb_scaling law = fit_latency(network, op, scope, size_bytes, &base);
    double base_alpha_s = cb_scaling_alpha_s(&law, &base.group);
    scaled.group = *group;
    if (base_alpha_s > 0)
        scaled.latency_s *= cb_scaling_alpha_s(&law, group) / base_alpha_s;
    scaled.moving_s *= lost_gain(network, op, &base, size_bytes, group, pace);
    if (op == CB_OP_ALL_TO_ALL && base.group.nodes > 1 && group->nodes > 1)
        scaled.moving_s *= outgoing_share(group) / outgoing_share(&base.group);
    else
        scaled.moving_s *=
            cb_op_bus_factor(op, group->ranks) / cb_op_bus_factor(op, base.group.ranks);
    scaled.moving_s /=
        cb_scaling_bandwidth_share(op, base.group.nodes, group->nodes, &network->fabric, pace);
    enum cb_confidence confidence = confidence_in(network, op, scope, &base, group);
    double error = cb_confidence_error(confidence);
    double spread = pace == CB_PACE_SLOW ? 1 + error : pace == CB_PACE_FAST ? 1 / (1 + error) : 1;
    scaled.latency_s *= spread;
    scaled.moving_s *= spread;
    scaled.source = cb_provenance_weaker(base.source, CB_FROM_EXTRAPOLATED);
    if (scaled.confidence < confidence)
        scaled.confidence = confidence;
    return scaled;
}

/* ---- the estimate ---- */

/* So many that all_reduce has nothing but rings, as the other ops have on any number. */
static const struct cb_group_shape many_nodes = {1 << 20, 1 << 20};

/* The op over the group from the curves of one scope, its own or a substitute's. */
static bool read_scope(const struct cb_measured_network *network, enum cb_op op, double size_bytes,
                       const struct cb_group_shape *group, enum cb_scope scope, enum cb_pace pace,
                       struct parts *parts)
{
    const struct cb_network_curve *curve = find_curve(network, op, scope, group->nodes);
    if (curve) {
        *parts = read_curve(curve, op, size_bytes, pace);
        *parts = scale(network, *parts, op, scope, size_bytes, group, pace);
        return true;
    }
    for (size_t i = 0; i < sizeof(substitutes[op]) / sizeof(substitutes[op][0]); i++) {
        enum cb_op other = substitutes[op][i];
        curve = find_curve(network, other, scope, group->nodes);
        if (!curve)
            continue;
        *parts = read_curve(curve, other, size_bytes, pace);
        parts->moving_s *= lost_gain(network, other, parts, size_bytes, &many_nodes, pace);
        *parts = convert(*parts, other, op);
        *parts = scale(network, *parts, op, scope, size_bytes, group, pace);
        return true;
    }
    return false;
}

static struct cb_network_estimate sum_up(const struct parts *parts)
{
    return (struct cb_network_estimate){.time_s = parts->latency_s + parts->moving_s,
                                        .source = parts->source,
                                        .confidence = parts->confidence};
}

/* A collective over whole nodes from one inside and one between them. All ranks of a node then
 * cross its links at once: at the fast pace each over its own, as where every GPU has a network
 * card. */
static struct cb_network_estimate compose(const struct cb_measured_network *network, enum cb_op op,
                                          double size_bytes, const struct cb_group_shape *group,
                                          enum cb_pace pace)
{
    const struct cb_group_shape inside = {group->ranks / group->nodes, 1};
    const struct cb_group_shape between = {group->nodes, group->nodes};
    bool reduces_all = op == CB_OP_ALL_REDUCE;
    struct parts in, out, across;
    if ((!reduces_all && op != CB_OP_ALL_GATHER && op != CB_OP_REDUCE_SCATTER) ||
        !read_scope(network, CB_OP_REDUCE_SCATTER, size_bytes, &inside, CB_SCOPE_INTRA_NODE, pace,
                    &in) ||
        !read_scope(network, CB_OP_ALL_GATHER, size_bytes, &inside, CB_SCOPE_INTRA_NODE, pace,
                    &out) ||
        !read_scope(network, op, size_bytes / inside.ranks, &between, CB_SCOPE_INTER_NODE, pace,
                    &across))
        return unknown;
    double shared = pace == CB_PACE_FAST ? 1 : inside.ranks;
    double in_s = op == CB_OP_ALL_GATHER ? 0 : in.latency_s + in.moving_s;
    double out_s = op == CB_OP_REDUCE_SCATTER ? 0 : out.latency_s + out.moving_s;
    double across_s = across.latency_s + across.moving_s * shared;
    enum cb_confidence confidence =
        in.confidence > across.confidence ? in.confidence : across.confidence;
    return (struct cb_network_estimate){
        .time_s = cb_scaling_compose_s(in_s, across_s, out_s, pace),
        .source =
            cb_provenance_weaker(CB_FROM_ASSUMED, cb_provenance_weaker(in.source, across.source)),
        .confidence = confidence < CB_CONFIDENCE_WITHIN_4X ? CB_CONFIDENCE_WITHIN_4X : confidence,
    };
}

/* A group of which nothing like it was measured, by the world: the inside of a node is no slower
 * than all of them together, and one rank per node, alone, no slower than when all use the links.
 */
static struct cb_network_estimate borrow(const struct cb_measured_network *network, enum cb_op op,
                                         double size_bytes, const struct cb_group_shape *group,
                                         enum cb_pace pace)
{
    static const enum cb_scope others[CB_SCOPE_COUNT][2] = {
        [CB_SCOPE_WORLD] = {CB_SCOPE_INTER_NODE, CB_SCOPE_INTER_NODE},
        [CB_SCOPE_INTRA_NODE] = {CB_SCOPE_WORLD, CB_SCOPE_INTER_NODE},
        [CB_SCOPE_INTER_NODE] = {CB_SCOPE_WORLD, CB_SCOPE_WORLD},
    };
    enum cb_scope scope = scope_of(group);
    for (int i = 0; i < 2; i++) {
        struct parts parts;
        if (!read_scope(network, op, size_bytes, group, others[scope][i], pace, &parts))
            continue;
        parts.source = cb_provenance_weaker(parts.source, CB_FROM_ASSUMED);
        if (parts.confidence < CB_CONFIDENCE_WITHIN_4X)
            parts.confidence = CB_CONFIDENCE_WITHIN_4X;
        return sum_up(&parts);
    }
    return unknown;
}

struct cb_network_estimate cb_measured_network_estimate(const struct cb_measured_network *network,
                                                        enum cb_op op, double size_bytes,
                                                        const struct cb_group_shape *group,
                                                        enum cb_pace pace)
{
    struct parts parts;
    if (group->ranks < 2)
        return (struct cb_network_estimate){.source = CB_FROM_NOWHERE};
    if (!(size_bytes > 0) || !isfinite(size_bytes) || group->nodes < 1 ||
        group->nodes > group->ranks)
        return unknown;
    if (read_scope(network, op, size_bytes, group, scope_of(group), pace, &parts))
        return sum_up(&parts);
    struct cb_network_estimate estimate = unknown;
    if (scope_of(group) == CB_SCOPE_WORLD)
        estimate = compose(network, op, size_bytes, group, pace);
    return estimate.time_s < 0 ? borrow(network, op, size_bytes, group, pace) : estimate;
}

/* Which op, how many ranks, on how many nodes: from the list of ranks where there is one, else from
 * what sizes, counts and printed bandwidths cannot be without. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "import/run.h"

#define GIGA 1e9
#define SAME 0.01 /* relative difference of factors that printing explains */

/* What the rows have in common. */
struct features {
    int ratio; /* size over what one rank counts; 0: unknown or no whole number */
    int redop, root;
    bool has_empty_redop; /* the heading names it, the rows hold none */
    bool only_in_place_unchecked;
    double factor; /* printed bus bandwidth over size / time; negative: none printed */
};

static int block_ratio(const struct cb_table_row *row)
{
    if (!row->type || !(row->count > 0) || row->size_bytes == 0)
        return 0;
    double ratio = (double)row->size_bytes / (row->count * row->type->size_bytes);
    double whole = floor(ratio + 0.5);
    return whole >= 1 && whole < 1 << 24 && fabs(ratio - whole) < 1e-9 * whole ? (int)whole : 0;
}

/* Printed bus bandwidth over size / time; negative where the two printed decimals say little. */
static double row_factor(const struct cb_table_row *row, int place)
{
    const struct cb_import_point *point = &row->places[place];
    double alg = point->time_s > 0 ? (double)row->size_bytes / point->time_s : 0;
    return alg >= 0.5 * GIGA && point->printed_bus_bytes_per_s >= 0
               ? point->printed_bus_bytes_per_s / alg
               : -1;
}

/* The factor of most rows: the mean of those near the median, which a row that was changed by hand
 * does not move. Negative when no bus bandwidth is printed. */
static double common_factor(const struct cb_run *run)
{
    enum { MOST = 512 };
    double factors[MOST], sum = 0;
    size_t count = 0, near = 0;
    for (size_t i = run->rows.count; i > 0 && count + CB_IMPORT_PLACES <= MOST; i--)
        for (int p = 0; p < CB_IMPORT_PLACES; p++) {
            double factor = row_factor(&run->rows.items[i - 1], p);
            if (factor >= 0)
                factors[count++] = factor;
        }
    if (count == 0)
        return -1;
    cb_sort_doubles(factors, count);
    double median = factors[count / 2];
    for (size_t i = 0; i < count; i++)
        if (fabs(factors[i] - median) <= SAME * median) {
            sum += factors[i];
            near++;
        }
    return sum / (double)near;
}

static void collect(const struct cb_run *run, struct features *features)
{
    const struct cb_table_row *largest = NULL;
    bool checked[CB_IMPORT_PLACES] = {false};
    *features = (struct features){.redop = CB_REDOP_IS_ABSENT, .root = CB_ROOT_IS_ABSENT};
    features->factor = common_factor(run);
    for (size_t i = 0; i < run->rows.count; i++) {
        const struct cb_table_row *row = &run->rows.items[i];
        if (!largest || row->size_bytes > largest->size_bytes)
            largest = row;
        for (int p = 0; p < CB_IMPORT_PLACES; p++)
            checked[p] = checked[p] || row->places[p].wrong >= 0;
    }
    features->only_in_place_unchecked =
        checked[CB_IMPORT_OUT_OF_PLACE] && !checked[CB_IMPORT_IN_PLACE];
    if (!largest)
        return;
    features->ratio = block_ratio(largest);
    features->redop = largest->redop;
    features->root = largest->root;
    for (int i = 0; i < run->columns.count; i++)
        features->has_empty_redop |=
            run->columns.items[i] == CB_COLUMN_REDOP && largest->redop == CB_REDOP_IS_ABSENT;
}

/* Whether a test can have printed such rows. */
static bool is_possible(enum cb_test test, const struct features *f)
{
    enum cb_import_factor factor = cb_test_factor(test);
    if (f->redop != CB_REDOP_IS_ABSENT && cb_test_reduces(test) != (f->redop == 1))
        return false;
    if (f->root != CB_ROOT_IS_ABSENT && cb_test_has_root(test) != (f->root >= 0))
        return false;
    if (f->factor == 0)
        return true; /* one rank: everything is the same */
    if (f->ratio > 1 && factor != CB_FACTOR_OTHERS)
        return false;
    if (f->ratio == 1 && factor == CB_FACTOR_OTHERS && test != CB_TEST_ALL_TO_ALL_V)
        return false;
    if (f->factor > 0) {
        if (f->factor > 1 + SAME && factor != CB_FACTOR_TWICE_OTHERS)
            return false;
        if (f->factor < 1 - SAME && factor != CB_FACTOR_OTHERS)
            return false;
    }
    return true;
}

/* The test that nobody named. */
static enum cb_test guess_test(const struct features *f)
{
    if (f->root >= 0 && f->redop == 0 && f->ratio > 1)
        return CB_TEST_COUNT; /* gather or scatter: their rows are alike */
    if (f->has_empty_redop || (f->only_in_place_unchecked && f->ratio > 1))
        return CB_TEST_ALL_TO_ALL;
    for (int i = 0; i < CB_TEST_COUNT; i++) {
        enum cb_test test = (enum cb_test)i;
        /* Without that column the op reduces nothing, unless its factor says so. */
        bool is_silent = f->redop == CB_REDOP_IS_ABSENT && cb_test_reduces(test);
        bool is_rooted = f->root == CB_ROOT_IS_ABSENT && cb_test_has_root(test);
        if (is_possible(test, f) && !is_rooted && (!is_silent || f->factor > 1 + SAME))
            return test;
    }
    return CB_TEST_COUNT;
}

/* ---- ranks ---- */

/* The ranks of the list: the highest number and one more, since lists are shortened in the middle;
 * where there are groups, those of one. */
static int count_listed(const struct cb_run *run, bool *has_groups)
{
    int highest = -1, groups = 0;
    for (size_t i = 0; i < run->ranks.count; i++) {
        const struct cb_listed_rank *rank = &run->ranks.items[i];
        if (rank->rank > highest)
            highest = rank->rank;
        if (rank->group > groups)
            groups = rank->group;
    }
    *has_groups = groups > 0;
    return groups > 0 && highest >= groups ? (highest + 1) / (groups + 1) : highest + 1;
}

static int ranks_by_factor(enum cb_import_factor factor, double value)
{
    double ranks = cb_factor_ranks(factor, value);
    int whole = ranks >= 1.5 && ranks < 1 << 20 ? (int)(ranks + 0.5) : 0;
    return whole > 1 && fabs(cb_import_factor_of(factor, whole) - value) < SAME * value ? whole : 0;
}

static bool agrees(int ranks, const struct cb_inferred *inferred, const struct features *f)
{
    if (!inferred->has_factor || ranks < 1)
        return ranks > 0;
    if (f->ratio > 1 && inferred->factor == CB_FACTOR_OTHERS && f->ratio != ranks)
        return false;
    return f->factor < 0 || fabs(cb_import_factor_of(inferred->factor, ranks) - f->factor) <=
                                SAME * f->factor + 1e-3;
}

/* Rows of one table are of one op: all reduce or none does, and all count alike. */
static void check_mixture(struct cb_run *run)
{
    int redop = CB_REDOP_IS_ABSENT, ratio = 0;
    for (size_t i = 0; i < run->rows.count; i++) {
        const struct cb_table_row *row = &run->rows.items[i];
        int own = block_ratio(row);
        bool differs = (row->redop >= 0 && redop >= 0 && row->redop != redop) ||
                       (own > 0 && ratio > 0 && (own > 1) != (ratio > 1));
        if (differs)
            cb_finding_add(&run->findings, CB_FINDING_MIXED_OPS, row->line,
                           "from this row on the table is of another collective than before");
        redop = row->redop >= 0 ? row->redop : redop;
        ratio = own > 0 ? own : ratio;
    }
}

static void infer_ranks(struct cb_run *run, const struct features *f, struct cb_inferred *inferred)
{
    bool has_groups;
    int listed = count_listed(run, &has_groups), ranks = 0;
    if (f->factor == 0) {
        inferred->is_zero = true;
        ranks = 1;
    } else if (listed > 0 && agrees(listed, inferred, f)) {
        ranks = listed;
    } else if (inferred->has_factor && inferred->factor == CB_FACTOR_OTHERS && f->ratio > 1) {
        ranks = f->ratio;
    } else if (inferred->has_factor && f->factor > 0) {
        ranks = ranks_by_factor(inferred->factor, f->factor);
    }
    if (ranks == 0)
        ranks = listed > 0 ? listed : run->nccl.ranks > 0 ? run->nccl.ranks : run->launched_ranks;
    inferred->ranks = ranks;
    if (has_groups)
        cb_finding_add(&run->findings, CB_FINDING_GROUPS, run->ranks.items[0].line,
                       "the ranks were split into groups: the bandwidth is that of one group of %d",
                       ranks);
    else if (listed > 0 && ranks != listed && ranks > 1)
        cb_finding_add(&run->findings, CB_FINDING_RANKS_CONTRADICT, run->ranks.items[0].line,
                       "the list has %d ranks, sizes and bandwidths are those of %d: %d is used",
                       listed, ranks, ranks);
}

/* ---- nodes ---- */

static int by_host(const void *a, const void *b)
{
    const struct cb_listed_rank *left = a, *right = b;
    int order = strcmp(left->host, right->host);
    if (order == 0)
        order = strcmp(left->bus, right->bus);
    if (order == 0)
        order = left->device - right->device;
    return order ? order : left->line - right->line;
}

/* Nodes of a list that may be shortened: then only if devices x hosts gives all ranks. */
static int count_nodes(const struct cb_run *run, int ranks)
{
    int hosts = 0, devices = 0;
    for (size_t i = 0; i < run->ranks.count; i++) {
        const struct cb_listed_rank *rank = &run->ranks.items[i];
        if (!rank->host[0])
            return 0;
        hosts += i == 0 || strcmp(rank->host, run->ranks.items[i - 1].host) != 0;
        if (rank->device >= devices)
            devices = rank->device + 1;
    }
    bool is_whole = run->ranks.count == (size_t)ranks && hosts <= ranks;
    return is_whole || (hosts > 0 && devices <= ranks / hosts && hosts * devices == ranks) ? hosts
                                                                                           : 0;
}

void cb_run_infer(struct cb_run *run, struct cb_inferred *inferred)
{
    struct features features;
    *inferred = (struct cb_inferred){.test = CB_TEST_COUNT};
    collect(run, &features);
    bool is_named = run->test < CB_TEST_COUNT && is_possible(run->test, &features);
    inferred->test = run->rows.count == 0 || is_named ? run->test : guess_test(&features);
    inferred->has_factor = inferred->test < CB_TEST_COUNT || features.ratio > 1;
    inferred->factor =
        inferred->test < CB_TEST_COUNT ? cb_test_factor(inferred->test) : CB_FACTOR_OTHERS;
    if (run->rows.count > 0 && inferred->test == CB_TEST_COUNT)
        cb_finding_add(&run->findings, CB_FINDING_OP_UNKNOWN, run->rows.items[0].line, "%s",
                       features.ratio > 1 && features.root >= 0
                           ? "gather or scatter: the rows do not tell which"
                           : "the rows do not tell which collective this is");
    check_mixture(run);
    infer_ranks(run, &features, inferred);
    if (run->ranks.count > 0)
        qsort(run->ranks.items, run->ranks.count, sizeof(run->ranks.items[0]), by_host);
    inferred->nodes = count_nodes(run, inferred->ranks);
    if (inferred->nodes == 0)
        inferred->nodes = run->nccl.nodes;
    if (inferred->nodes == 0 && run->ranks.count == 0 && run->nccl.host_count > 1 &&
        inferred->ranks % run->nccl.host_count == 0)
        inferred->nodes = run->nccl.host_count;
}

/* ---- who took part ---- */

/* A full PCI address tells cards apart; of the older short one only the bus is left, which is the
 * same for every GPU of some hosts. */
static bool share_gpu(const struct cb_listed_rank *a, const struct cb_listed_rank *b)
{
    if (!a->host[0] || strcmp(a->host, b->host) != 0 || !a->bus[0] || strcmp(a->bus, b->bus) != 0 ||
        a->part != b->part || a->rank == b->rank)
        return false;
    return strncmp(a->bus, "0x", 2) != 0 ||
           (strcmp(a->bus, "0x00") != 0 && a->device == b->device && !strstr(a->gpu, "GB") &&
            !strstr(a->gpu, "GH200"));
}

/* Whether the second of two neighbouring hosts in the sorted list has other addresses. */
static bool has_other_slots(const struct cb_run *run, size_t first, size_t second, size_t end)
{
    size_t count = second - first;
    if (end - second != count)
        return true;
    for (size_t i = 0; i < count; i++)
        if (strcmp(run->ranks.items[first + i].bus, run->ranks.items[second + i].bus) != 0)
            return true;
    return false;
}

static void check_slots(struct cb_run *run)
{
    size_t first = 0, second = 0, count = run->ranks.count;
    const struct cb_listed_rank *ranks = run->ranks.items;
    for (size_t end = 1; end <= count; end++) {
        if (end < count && strcmp(ranks[end].host, ranks[end - 1].host) == 0)
            continue;
        if (second > first && ranks[second].bus[0] && has_other_slots(run, first, second, end))
            cb_finding_add(&run->findings, CB_FINDING_UNEQUAL_SLOTS, ranks[second].line,
                           "the GPUs of %s sit at other PCI addresses than those of %s (%s, %s): "
                           "their way to the NIC may differ",
                           ranks[second].host, ranks[first].host, ranks[second].bus,
                           ranks[first].bus);
        first = second;
        second = end;
    }
}

static void check_gpus(struct cb_run *run, int all)
{
    const struct cb_listed_rank *ranks = run->ranks.items;
    for (size_t i = 1; i < run->ranks.count; i++) {
        const struct cb_listed_rank *a = &ranks[i - 1], *b = &ranks[i];
        if (share_gpu(a, b))
            cb_finding_add(
                &run->findings, CB_FINDING_SHARED_GPU, b->line,
                "two ranks on one GPU: %d and %d on %s, PCI %s. As a test of function it "
                "is valid, as a bandwidth it means nothing",
                a->rank, b->rank, b->host, b->bus);
        if (a->gpu[0] && b->gpu[0] && strcmp(a->gpu, b->gpu) != 0)
            cb_finding_add(&run->findings, CB_FINDING_MIXED_GPUS, b->line,
                           "different GPUs take part: %s and %s", a->gpu, b->gpu);
    }
    if (run->ranks.count == (size_t)all)
        check_slots(run);
}

/* How often a size comes again after a larger one, or at once in another process's line. */
static int count_repeats(const struct cb_run *run)
{
    int repeats = 0;
    for (size_t i = 1; i < run->rows.count; i++) {
        const struct cb_table_row *a = &run->rows.items[i - 1], *b = &run->rows.items[i];
        repeats += b->size_bytes > 0 && a->redop_name == b->redop_name && a->type == b->type &&
                   b->size_bytes <= a->size_bytes;
    }
    return repeats;
}

static int count_labels(const struct cb_run *run)
{
    int first = -1;
    for (size_t i = 0; i < run->rows.count; i++) {
        int label = run->rows.items[i].label;
        if (first < 0)
            first = label;
        else if (label >= 0 && label != first)
            return 2;
    }
    return first >= 0;
}

/* Appends ", COUNT WHAT" unless there is none. */
static void add_evidence(char *text, size_t size_bytes, int count, const char *what)
{
    size_t used = strlen(text);
    if (count > 0)
        snprintf(text + used, size_bytes - used, "%s%d %s", used ? ", " : "", count, what);
}

static void say_alone(struct cb_run *run, const struct cb_inferred *inferred, int line, int zeros,
                      int repeats)
{
    char seen[128] = "";
    int beginnings = (int)run->banners.count;
    add_evidence(seen, sizeof(seen), beginnings > 1 ? beginnings : 0, "banners");
    add_evidence(seen, sizeof(seen), zeros > 1 ? zeros : 0, "ranks 0");
    add_evidence(seen, sizeof(seen), run->average_count > 1 ? run->average_count : 0, "footers");
    add_evidence(seen, sizeof(seen), repeats, "sizes that come again");
    add_evidence(seen, sizeof(seen), inferred->ranks == 1 ? 1 : 0, "rank by the bandwidths");
    add_evidence(seen, sizeof(seen), run->launched_ranks, "ranks that were started");
    cb_finding_add(&run->findings, CB_FINDING_RAN_ALONE, line,
                   "the ranks ran alone, each process its own rank 0, as a binary without MPI does "
                   "(seen: %s)",
                   seen);
}

void cb_run_check_ranks(struct cb_run *run, const struct cb_inferred *inferred)
{
    int zeros = 0, line = 0, repeats = count_repeats(run);
    for (size_t i = 0; i < run->ranks.count; i++) {
        const struct cb_listed_rank *rank = &run->ranks.items[i];
        zeros += rank->rank == 0;
        if (rank->rank == 0 && rank->line > line)
            line = rank->line;
    }
    int beginnings = (int)run->banners.count;
    if (beginnings > 1)
        line = run->banners.items[1].line;
    bool is_alone = zeros > 1 || beginnings > 1 || count_labels(run) > 1 ||
                    (run->average_count > 1 && repeats > 0) ||
                    (inferred->ranks == 1 && (repeats > 1 || run->launched_ranks > 1));
    if (!is_alone && inferred->ranks == 1)
        cb_finding_add(&run->findings, CB_FINDING_ONE_RANK,
                       run->rows.count > 0 ? run->rows.items[0].line : run->last_line,
                       "one rank only: nothing was sent, so nothing of a link was measured");
    if (is_alone && line == 0 && run->rows.count > 0)
        line = run->rows.items[0].line;
    if (is_alone)
        say_alone(run, inferred, line, zeros, repeats);
    else
        check_gpus(run, inferred->ranks);
}

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/names.h"
#include "report/page.h"

#define HUGE_RATE 1e300 /* sorts what cannot be used behind what can */

/* A row in brief: 98 thousand whole rows do not fit a cache, and these are sorted. */
struct entry {
    size_t group; /* kernel and dtype, in order of first appearance */
    double rate;
    const struct cb_kernel_row *row;
};

static double rate_of(const struct cb_kernel_row *row)
{
    return row->flops_per_s > 0 ? row->flops_per_s : row->bytes_per_s;
}

/* By group; in it the usable ones from slow to fast, then the others. */
static int by_group_and_rate(const void *a, const void *b)
{
    const struct entry *left = a;
    const struct entry *right = b;
    if (left->group != right->group)
        return left->group < right->group ? -1 : 1;
    if (left->rate != right->rate)
        return left->rate < right->rate ? -1 : 1;
    return (left->row > right->row) - (left->row < right->row);
}

static const char *format_rate(char out[CB_UNIT_TEXT], const struct cb_kernel_row *row, double rate)
{
    return row->flops_per_s > 0 ? cb_format_flops(out, rate) : cb_format_bandwidth(out, rate);
}

/* What is common to the rows of a kernel, and what is odd about them. */
struct summary {
    size_t count;
    size_t usable; /* the first so many entries */
    size_t noisy, wrong_ranks, failed, small;
    unsigned long long wrong;
    int threads_least, threads_most;
    bool variants_differ;
};

static struct summary summarize(const struct entry *entries, size_t count)
{
    struct summary sum = {.count = count,
                          .threads_least = entries[0].row->threads,
                          .threads_most = entries[0].row->threads};
    for (size_t i = 0; i < count; i++) {
        const struct cb_kernel_row *row = entries[i].row;
        bool wrong = row->wrong > 0 || row->status == CB_STATUS_WRONG;
        sum.usable += cb_status_is_usable(row->status);
        sum.noisy += row->status == CB_STATUS_NOISY;
        sum.small += row->small;
        sum.wrong_ranks += wrong;
        sum.wrong += row->wrong;
        sum.failed += row->status == CB_STATUS_FAILED || row->status == CB_STATUS_TIMEOUT;
        sum.threads_least = row->threads < sum.threads_least ? row->threads : sum.threads_least;
        sum.threads_most = row->threads > sum.threads_most ? row->threads : sum.threads_most;
        sum.variants_differ |= strcmp(row->variant, entries[0].row->variant) != 0;
    }
    return sum;
}

struct group {
    const struct entry *entries; /* sum.count of them */
    struct summary sum;
};

typedef CB_VEC(struct group) group_list;

static void add_kernel(struct cb_page *page, struct cb_table *table, const struct group *group)
{
    const struct summary *sum = &group->sum;
    const struct entry *entries = group->entries;
    const struct cb_kernel_row *worst = entries[0].row;
    char text[CB_UNIT_TEXT];
    cb_table_add(table, CB_STYLE_PLAIN, "%s %s", worst->kernel, cb_dtype_name(worst->dtype));
    if (sum->usable > 0) {
        size_t middle = sum->usable / 2;
        double median = sum->usable % 2 == 1
                            ? entries[middle].rate
                            : (entries[middle - 1].rate + entries[middle].rate) / 2;
        cb_table_add(table, CB_STYLE_PLAIN, "%s", format_rate(text, worst, median));
        cb_table_add(table, CB_STYLE_PLAIN, "%s", format_rate(text, worst, entries[0].rate));
        cb_table_add(table, CB_STYLE_PLAIN, "%s/%d",
                     cb_lookup_host_of_rank(&page->lookup, worst->rank), worst->rank);
    } else {
        for (int i = 0; i < 3; i++)
            cb_table_add(table, CB_STYLE_PLAIN, "-");
    }
    cb_table_add(table, CB_STYLE_PLAIN, "%s%s", worst->variant,
                 sum->variants_differ ? " and others" : "");
}

/* Fills entries (room for every row) with what is not skipped, sorted. */
static int collect(const struct cb_result *result, struct entry *entries, size_t *count)
{
    struct cb_names groups = {0};
    int rc = 0;
    *count = 0;
    for (size_t i = 0; i < result->kernels.count && rc == 0; i++) {
        const struct cb_kernel_row *row = &result->kernels.items[i];
        if (row->status == CB_STATUS_SKIPPED)
            continue;
        char name[sizeof(row->kernel) + 4];
        snprintf(name, sizeof(name), "%c%s", 'a' + (int)row->dtype, row->kernel);
        struct entry *entry = &entries[*count];
        entry->row = row;
        entry->rate = cb_status_is_usable(row->status) ? rate_of(row) : HUGE_RATE;
        rc = cb_names_intern(&groups, name, &entry->group);
        ++*count;
    }
    qsort(entries, *count, sizeof(*entries), by_group_and_rate);
    cb_names_fini(&groups);
    return rc;
}

/* Fills groups from sorted entries. */
static int find_groups(const struct entry *entries, size_t count, group_list *groups)
{
    for (size_t first = 0; first < count;) {
        struct group *group = cb_vec_add(groups);
        if (!group)
            return CB_E_MEMORY;
        size_t length = 1;
        while (first + length < count && entries[first + length].group == entries[first].group)
            length++;
        group->entries = entries + first;
        group->sum = summarize(group->entries, length);
        first += length;
    }
    return 0;
}

static void add_title(struct cb_page *page, const group_list *groups)
{
    size_t most = 0;
    int threads_least = INT_MAX;
    int threads_most = 0;
    char threads[48];
    for (size_t i = 0; i < groups->count; i++) {
        const struct summary *sum = &groups->items[i].sum;
        most = sum->count > most ? sum->count : most;
        threads_least = sum->threads_least < threads_least ? sum->threads_least : threads_least;
        threads_most = sum->threads_most > threads_most ? sum->threads_most : threads_most;
    }
    if (threads_least == threads_most)
        snprintf(threads, sizeof(threads), "%d", threads_most);
    else
        snprintf(threads, sizeof(threads), "%d-%d", threads_least, threads_most);
    if (threads_most <= 0)
        cb_page_section(page, "KERNELS", "per GPU, all at once: median and worst of %zu", most);
    else
        cb_page_section(page, "KERNELS",
                        "per rank, %s thread%s, all ranks at once: median and worst of %zu",
                        threads, threads_most == 1 ? "" : "s", most);
}

struct oddity {
    const char *label;
    enum cb_style style;
    size_t offset; /* of its count of ranks in struct summary */
};

static size_t count_odd(const struct oddity *oddity, const struct summary *sum)
{
    return *(const size_t *)((const char *)sum + oddity->offset);
}

/* "WRONG DATA  gemm float32 on 1 of 4 ranks (17 elements); read float32, copy float32 on 2 of 4
 * ranks": neighbours that are odd on as many ranks share the words about them. */
static void add_oddity(struct cb_page *page, const struct oddity *oddity, const group_list *groups)
{
    struct cb_strbuf text = {0};
    const struct summary *said = NULL; /* of what is named and lacks its ranks */
    bool counts_wrong = oddity->offset == offsetof(struct summary, wrong_ranks);
    for (size_t i = 0; i <= groups->count; i++) {
        const struct summary *sum = i < groups->count ? &groups->items[i].sum : NULL;
        if (sum && count_odd(oddity, sum) == 0)
            continue;
        bool joins = said && sum && !counts_wrong && sum->count == said->count &&
                     count_odd(oddity, sum) == count_odd(oddity, said);
        if (said && !joins)
            cb_strbuf_addf(&text, " on %zu of %zu ranks", count_odd(oddity, said), said->count);
        if (said && !joins && counts_wrong && said->wrong > 0)
            cb_strbuf_addf(&text, " (%llu elements)", said->wrong);
        if (!sum)
            break;
        const struct cb_kernel_row *row = groups->items[i].entries[0].row;
        cb_strbuf_addf(&text, "%s%s %s", said ? joins ? ", " : "; " : "", row->kernel,
                       cb_dtype_name(row->dtype));
        said = sum;
    }
    if (text.length_bytes > 0)
        cb_page_headline(page, oddity->label, oddity->style, "%s", cb_strbuf_get(&text));
    page->out->failed |= text.failed;
    cb_strbuf_fini(&text);
}

static void add_section(struct cb_page *page, const group_list *groups)
{
    static const struct cb_table_column columns[] = {
        {NULL, CB_ALIGN_LEFT, 0},  {"median", CB_ALIGN_RIGHT, 0}, {"worst", CB_ALIGN_RIGHT, 0},
        {"on", CB_ALIGN_LEFT, 16}, {"how", CB_ALIGN_LEFT, 8},
    };
    static const struct oddity oddities[] = {
        {"  WRONG DATA", CB_STYLE_BAD, offsetof(struct summary, wrong_ranks)},
        {"  failed", CB_STYLE_BAD, offsetof(struct summary, failed)},
        {"  noisy", CB_STYLE_WARN, offsetof(struct summary, noisy)},
        {"  too small", CB_STYLE_WARN, offsetof(struct summary, small)},
    };
    struct cb_table table;
    cb_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < groups->count; i++)
        add_kernel(page, &table, &groups->items[i]);
    add_title(page, groups);
    cb_page_table(page, &table);
    for (size_t i = 0; i < sizeof(oddities) / sizeof(oddities[0]); i++)
        add_oddity(page, &oddities[i], groups);
}

void cb_page_add_kernels(struct cb_page *page)
{
    struct entry *entries = calloc(page->result->kernels.count + 1, sizeof(*entries));
    group_list groups = {0};
    size_t count = 0;
    if (!entries || collect(page->result, entries, &count) != 0 ||
        find_groups(entries, count, &groups) != 0)
        page->out->failed = true;
    else if (count > 0)
        add_section(page, &groups);
    cb_vec_fini(&groups);
    free(entries);
}

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "base/units.h"
#include "report/names.h"
#include "report/page.h"
#include "report/ranges.h"

#define MODELS_SHOWN 8
#define HOSTS_SHOWN 8

/* Adds printf text to a text of fixed size, as far as it fits. */
#define ADD(text, used, ...)                                                                       \
    do {                                                                                           \
        if ((used) < sizeof(text))                                                                 \
            (used) += (size_t)snprintf((text) + (used), sizeof(text) - (used), __VA_ARGS__);       \
    } while (0)

/* ---- models ---- */

/* Cards of the same description, and on which nodes they are. */
struct member {
    size_t group;
    const struct cb_gpu *gpu;
};

static int by_group(const void *a, const void *b)
{
    const struct member *left = a;
    const struct member *right = b;
    if (left->group != right->group)
        return left->group < right->group ? -1 : 1;
    return (left->gpu > right->gpu) - (left->gpu < right->gpu);
}

static void describe(const struct cb_gpu *gpu, char *text, size_t size_bytes)
{
    char memory[CB_UNIT_TEXT];
    char more[320] = "";
    size_t used = 0;
    if (gpu->memory_bytes > 0)
        ADD(more, used, ", %s", cb_format_bytes(memory, (uint64_t)gpu->memory_bytes));
    if (gpu->sm_count > 0)
        ADD(more, used, ", %d multiprocessors", gpu->sm_count);
    if (gpu->sm_clock_limit_hz > 0)
        ADD(more, used, ", up to %.0f MHz", gpu->sm_clock_limit_hz / 1e6);
    if (gpu->power_limit_w > 0)
        ADD(more, used, ", %.0f W", gpu->power_limit_w);
    if (gpu->power_limit_w > 0 && gpu->power_limit_default_w > 0 &&
        fabs(gpu->power_limit_w - gpu->power_limit_default_w) > 0.5)
        ADD(more, used, " (%.0f W by default)", gpu->power_limit_default_w);
    if (gpu->nvlinks > 0)
        ADD(more, used, ", %d NVLinks", gpu->nvlinks);
    if (gpu->pcie_generation_limit > 0 && gpu->pcie_width_limit > 0)
        ADD(more, used, ", PCIe %d x%d", gpu->pcie_generation_limit, gpu->pcie_width_limit);
    if (gpu->ecc >= 0)
        ADD(more, used, ", ECC %s", gpu->ecc ? "on" : "off");
    if (gpu->mig == 1)
        ADD(more, used, ", MIG on");
    if (gpu->driver[0])
        ADD(more, used, ", driver %.40s", gpu->driver);
    snprintf(text, size_bytes, "%s%s", gpu->name[0] ? gpu->name : "a GPU that tells nothing", more);
}

static const char *host_of(const struct cb_page *page, const struct cb_gpu *gpu)
{
    const struct cb_result *result = page->result;
    return gpu->node >= 0 && (size_t)gpu->node < result->nodes.count
               ? result->nodes.items[gpu->node].name
               : "?";
}

static void print_model(struct cb_page *page, const char *description, const struct member *members,
                        size_t count)
{
    const char **names = calloc(count, sizeof(*names));
    struct cb_strbuf hosts = {0};
    size_t nodes = 0;
    if (!names) {
        page->out->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (i == 0 || members[i].gpu->node != members[i - 1].gpu->node)
            names[nodes++] = host_of(page, members[i].gpu);
    cb_ranges_add_hosts(&hosts, names, nodes, HOSTS_SHOWN);
    cb_page_text(page, CB_PAGE_INDENT, CB_PAGE_HANG, "%zu x %s: %s", count, description,
                 cb_strbuf_get(&hosts));
    page->out->failed |= hosts.failed;
    cb_strbuf_fini(&hosts);
    free(names);
}

static void add_models(struct cb_page *page)
{
    const struct cb_result *result = page->result;
    struct member *members = calloc(result->gpus.count, sizeof(*members));
    struct cb_names descriptions = {0};
    size_t shown = 0;
    bool failed = !members;
    char text[448];
    for (size_t i = 0; i < result->gpus.count && !failed; i++) {
        members[i].gpu = &result->gpus.items[i];
        describe(members[i].gpu, text, sizeof(text));
        failed = cb_names_intern(&descriptions, text, &members[i].group) != 0;
    }
    if (!failed)
        qsort(members, result->gpus.count, sizeof(*members), by_group);
    for (size_t first = 0; first < result->gpus.count && !failed && shown < MODELS_SHOWN; shown++) {
        size_t length = 1;
        while (first + length < result->gpus.count &&
               members[first + length].group == members[first].group)
            length++;
        print_model(page, cb_names_get(&descriptions, members[first].group), members + first,
                    length);
        first += length;
    }
    if (descriptions.offsets_bytes.count > shown)
        cb_page_text(page, CB_PAGE_INDENT, CB_PAGE_HANG, "and %zu more, in the result file",
                     descriptions.offsets_bytes.count - shown);
    page->out->failed |= failed;
    cb_names_fini(&descriptions);
    free(members);
}

/* ---- before the start ---- */

/* The highest of each over all cards; -1 where no card tells. */
static void add_idle(struct cb_page *page)
{
    const struct cb_result *result = page->result;
    double utilization = -1, memory_bytes = -1, celsius = -1;
    int processes = -1;
    for (size_t i = 0; i < result->gpus.count; i++) {
        const struct cb_gpu *gpu = &result->gpus.items[i];
        utilization = fmax(utilization, gpu->idle_utilization);
        memory_bytes = fmax(memory_bytes, gpu->idle_memory_bytes);
        celsius = fmax(celsius, gpu->idle_temperature_celsius);
        processes = gpu->idle_processes > processes ? gpu->idle_processes : processes;
    }
    char text[192] = "", share[CB_UNIT_TEXT], memory[CB_UNIT_TEXT];
    size_t used = 0;
    if (utilization >= 0)
        ADD(text, used, "%s%s busy", utilization > 0 ? "at most " : "",
            utilization > 0 ? cb_format_share(share, utilization) : "0 %");
    if (processes >= 0)
        ADD(text, used, "%s%d process%s", used ? ", " : "", processes, processes == 1 ? "" : "es");
    if (memory_bytes >= 0)
        ADD(text, used, "%s%s in use", used ? ", " : "",
            cb_format_bytes(memory, (uint64_t)memory_bytes));
    if (celsius >= 0)
        ADD(text, used, "%s%.0f C", used ? ", " : "", celsius);
    cb_page_field(page, "at the start", "%s", used ? text : "the driver does not tell");
}

/* ---- burn ---- */

static double rate(const struct cb_burn_row *burn)
{
    return burn->flops_per_s > 0 ? burn->flops_per_s : -1;
}

static double sag(const struct cb_burn_row *burn)
{
    return burn->first_flops_per_s > 0 && burn->last_flops_per_s > 0
               ? fmax(1 - burn->last_flops_per_s / burn->first_flops_per_s, 0)
               : -1;
}

static double clock_hz(const struct cb_burn_row *burn)
{
    return burn->sm_clock_median_hz;
}

static double clock_spread(const struct cb_burn_row *burn)
{
    return burn->sm_clock_median_hz > 0
               ? (burn->sm_clock_p95_hz - burn->sm_clock_p5_hz) / burn->sm_clock_median_hz
               : -1;
}

static double power_w(const struct cb_burn_row *burn)
{
    return burn->power_median_w;
}

static double celsius(const struct cb_burn_row *burn)
{
    return burn->temperature_highest_celsius;
}

static double throttled(const struct cb_burn_row *burn)
{
    return burn->throttled_share;
}

static const char *format_share(char out[CB_UNIT_TEXT], double value)
{
    if (value >= 0.0005) /* what one digit shows */
        return cb_format_share(out, value);
    snprintf(out, CB_UNIT_TEXT, "0 %%");
    return out;
}

static const char *format_clock(char out[CB_UNIT_TEXT], double value)
{
    snprintf(out, CB_UNIT_TEXT, "%.0f MHz", value / 1e6);
    return out;
}

static const char *format_power(char out[CB_UNIT_TEXT], double value)
{
    snprintf(out, CB_UNIT_TEXT, "%.0f W", value);
    return out;
}

static const char *format_celsius(char out[CB_UNIT_TEXT], double value)
{
    snprintf(out, CB_UNIT_TEXT, "%.0f C", value);
    return out;
}

static const struct figure {
    const char *name;
    double (*of)(const struct cb_burn_row *burn); /* negative: unknown */
    bool low_is_bad;
    const char *(*format)(char out[CB_UNIT_TEXT], double value);
} figures[] = {
    {"GEMM", rate, true, cb_format_flops},
    {"lost from first to last fifth", sag, false, format_share},
    {"SM clock", clock_hz, true, format_clock},
    {"SM clock, (p95 - p5) / median", clock_spread, false, format_share},
    {"power, mean over 10 s", power_w, true, format_power},
    {"temperature, highest", celsius, false, format_celsius},
    {"slowed by heat or supply", throttled, false, format_share},
};

static void add_figure(struct cb_page *page, struct cb_table *table, const struct figure *figure,
                       double *values)
{
    const struct cb_result *result = page->result;
    const struct cb_burn_row *worst = NULL;
    size_t count = 0;
    char text[CB_UNIT_TEXT];
    for (size_t i = 0; i < result->burns.count; i++) {
        const struct cb_burn_row *burn = &result->burns.items[i];
        double value = figure->of(burn);
        if (value < 0 || burn->elapsed_s <= 0)
            continue;
        values[count++] = value;
        if (!worst || (figure->low_is_bad ? value < figure->of(worst) : value > figure->of(worst)))
            worst = burn;
    }
    if (!worst)
        return;
    cb_sort_doubles(values, count);
    double median = cb_median_of_sorted(values, count);
    cb_table_add(table, CB_STYLE_PLAIN, "%s", figure->name);
    cb_table_add(table, CB_STYLE_PLAIN, "%s", figure->format(text, median));
    cb_table_add(table, CB_STYLE_PLAIN, "%s", figure->format(text, figure->of(worst)));
    cb_table_add(table, CB_STYLE_PLAIN, "%s/%d", cb_lookup_host_of_rank(&page->lookup, worst->rank),
                 worst->rank);
}

/* What was done, and what the burns have in common. */
static void add_burn_line(struct cb_page *page)
{
    const struct cb_result *result = page->result;
    const struct cb_burn_row *first = NULL;
    size_t burned = 0;
    uint64_t wrong = 0;
    int throttle = -1;
    double shortest_s = INFINITY, checks = 0;
    char elapsed[CB_UNIT_TEXT], planned[CB_UNIT_TEXT], reasons[128];
    for (size_t i = 0; i < result->burns.count; i++) {
        const struct cb_burn_row *burn = &result->burns.items[i];
        if (burn->elapsed_s <= 0)
            continue;
        first = first ? first : burn;
        burned++;
        wrong += burn->wrong;
        checks += burn->checks;
        shortest_s = fmin(shortest_s, burn->elapsed_s);
        if (burn->throttle >= 0)
            throttle = (throttle < 0 ? 0 : throttle) | burn->throttle;
    }
    if (!first) {
        cb_page_field(page, "burn", "not done: %s", result->burns.items[0].reason);
        return;
    }
    cb_page_field(page, "burn",
                  "%s of %s on %zu rank%s, %s, %.31s; %.0f products verified, %llu wrong elements",
                  cb_format_time(elapsed, shortest_s), cb_format_time(planned, first->planned_s),
                  burned, burned == 1 ? "" : "s", cb_dtype_name(first->dtype), first->variant,
                  checks, (unsigned long long)wrong);
    if (throttle >= 0)
        cb_page_field(page, "clock held by", "%s",
                      cb_throttle_text(throttle, reasons, sizeof(reasons)));
    if (first->reason[0])
        cb_page_field(page, "", "%s", first->reason);
}

static void add_burn(struct cb_page *page)
{
    static const struct cb_table_column columns[] = {
        {"under load", CB_ALIGN_LEFT, 0},
        {"median", CB_ALIGN_RIGHT, 0},
        {"worst", CB_ALIGN_RIGHT, 0},
        {"on", CB_ALIGN_LEFT, 12},
    };
    struct cb_table table;
    double *values = calloc(page->result->burns.count, sizeof(*values));
    if (!values) {
        page->out->failed = true;
        return;
    }
    add_burn_line(page);
    cb_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
        add_figure(page, &table, &figures[i], values);
    if (table.cells.count > 0)
        cb_page_table(page, &table);
    else
        cb_table_fini(&table);
    free(values);
}

void cb_page_add_gpus(struct cb_page *page)
{
    const struct cb_result *result = page->result;
    if (result->gpus.count + result->burns.count == 0)
        return;
    cb_page_section(page, "GPUS", "%s", "as the driver says, and under load");
    if (result->gpus.count > 0) {
        add_models(page);
        add_idle(page);
    }
    if (result->gpus.count > 0 && result->gpu_reason[0])
        cb_page_field(page, "not known", "%s", result->gpu_reason);
    if (result->burns.count > 0)
        add_burn(page);
}

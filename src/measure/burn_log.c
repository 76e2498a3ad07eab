#include "measure/burn_log.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "measure/stats.h"

static const double warm_up_share = 0.1, most_warm_up_s = 120;
enum { LEAST_SPANS = 10 }; /* for a first and a last fifth */

void cb_burn_log_fini(struct cb_burn_log *log)
{
    cb_vec_fini(&log->samples);
    cb_vec_fini(&log->spans);
}

double cb_burn_warm_up_s(double elapsed_s)
{
    return fmin(elapsed_s * warm_up_share, most_warm_up_s);
}

/* Known values of one kind, with room for all of a log. */
struct values {
    double *items;
    size_t count;
};

/* The q-quantile, or -1 of nothing. Sorts. */
static double quantile(struct values *values, double q)
{
    if (values->count == 0)
        return -1;
    cb_sort_doubles(values->items, values->count);
    return cb_stats_quantile(values->items, values->count, q);
}

/* The known ones of a figure that lies at an offset of a sample, after the warm-up. */
static void collect(const struct cb_burn_log *log, double from_s, size_t offset,
                    struct values *values)
{
    values->count = 0;
    for (size_t i = 0; i < log->samples.count; i++) {
        const struct cb_gpu_sample *sample = &log->samples.items[i];
        double value;
        memcpy(&value, (const char *)sample + offset, sizeof(value));
        if (sample->time_s >= from_s && value >= 0)
            values->items[values->count++] = value;
    }
}

#define COLLECT(log, from_s, member, values)                                                       \
    collect((log), (from_s), offsetof(struct cb_gpu_sample, member), (values))

/* Means of the power over the window that ends at each sample, once it is full. */
static void average_power(const struct cb_burn_log *log, double from_s, struct values *values)
{
    const struct cb_gpu_sample *samples = log->samples.items;
    size_t first = 0, known = 0;
    double sum_w = 0;
    values->count = 0;
    for (size_t i = 0; i < log->samples.count; i++) {
        if (samples[i].time_s < from_s) {
            first = i + 1;
            continue;
        }
        if (samples[i].power_w >= 0) {
            sum_w += samples[i].power_w;
            known++;
        }
        for (; samples[first].time_s < samples[i].time_s - CB_BURN_POWER_WINDOW_S; first++) {
            if (samples[first].power_w < 0)
                continue;
            sum_w -= samples[first].power_w;
            known--;
        }
        if (samples[i].time_s - from_s >= CB_BURN_POWER_WINDOW_S && known > 0)
            values->items[values->count++] = sum_w / (double)known;
    }
}

static void summarise_rates(const struct cb_burn_log *log, double from_s, struct values *values,
                            struct cb_burn_row *row)
{
    const struct cb_burn_span *spans = log->spans.items;
    size_t first = 0;
    while (first < log->spans.count && spans[first].time_s < from_s)
        first++;
    if (first == log->spans.count) /* too short for a warm-up of its own */
        first = 0;
    size_t count = log->spans.count - first, fifth = count / 5;
    struct {
        size_t from, count;
        double *median;
    } parts[] = {
        {first, count, &row->flops_per_s},
        {first, count < LEAST_SPANS ? 0 : fifth, &row->first_flops_per_s},
        {first + count - fifth, count < LEAST_SPANS ? 0 : fifth, &row->last_flops_per_s},
    };
    for (size_t p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
        values->count = parts[p].count;
        for (size_t i = 0; i < parts[p].count; i++)
            values->items[i] = spans[parts[p].from + i].flops_per_s;
        *parts[p].median = fmax(quantile(values, 0.5), 0);
    }
}

static void forget_card(struct cb_burn_row *row)
{
    row->samples = 0;
    row->sm_clock_p5_hz = row->sm_clock_median_hz = row->sm_clock_p95_hz = -1;
    row->memory_clock_median_hz = -1;
    row->power_median_w = row->power_lowest_w = row->power_highest_w = -1;
    row->temperature_highest_celsius = row->utilization_median = -1;
    row->throttle = -1;
    row->throttled_share = -1;
    row->ecc_corrected = row->ecc_uncorrected = -1;
    row->pcie_generation = row->pcie_width = -1;
    row->lost = false;
}

static void summarise_state(const struct cb_burn_log *log, double from_s, struct cb_burn_row *row)
{
    int told = 0, faulty = 0;
    double first_corrected = -1, first_uncorrected = -1;
    for (size_t i = 0; i < log->samples.count; i++) {
        const struct cb_gpu_sample *sample = &log->samples.items[i];
        row->lost |= sample->lost;
        if (first_corrected < 0)
            first_corrected = sample->ecc_corrected;
        if (first_uncorrected < 0)
            first_uncorrected = sample->ecc_uncorrected;
        if (sample->ecc_corrected >= 0)
            row->ecc_corrected = fmax(sample->ecc_corrected - first_corrected, 0);
        if (sample->ecc_uncorrected >= 0)
            row->ecc_uncorrected = fmax(sample->ecc_uncorrected - first_uncorrected, 0);
        if (sample->time_s < from_s)
            continue;
        row->samples++;
        row->temperature_highest_celsius =
            fmax(row->temperature_highest_celsius, sample->temperature_celsius);
        if (sample->pcie_generation > row->pcie_generation)
            row->pcie_generation = sample->pcie_generation;
        if (sample->pcie_width > row->pcie_width)
            row->pcie_width = sample->pcie_width;
        if (sample->throttle < 0)
            continue;
        row->throttle = (row->throttle < 0 ? 0 : row->throttle) | sample->throttle;
        told++;
        faulty += (sample->throttle & CB_THROTTLE_FAULTS) != 0;
    }
    if (told > 0)
        row->throttled_share = (double)faulty / told;
}

int cb_burn_summarise(const struct cb_burn_log *log, struct cb_burn_row *row, struct cb_error *err)
{
    double from_s = cb_burn_warm_up_s(row->elapsed_s);
    size_t room = log->samples.count > log->spans.count ? log->samples.count : log->spans.count;
    struct values values = {.items = calloc(room + 1, sizeof(*values.items))};
    if (!values.items)
        return cb_fail(err, CB_E_MEMORY, "no memory for the figures of a burn");
    forget_card(row);
    summarise_rates(log, from_s, &values, row);
    summarise_state(log, from_s, row);
    COLLECT(log, from_s, sm_clock_hz, &values);
    row->sm_clock_p5_hz = quantile(&values, 0.05);
    row->sm_clock_median_hz = quantile(&values, 0.5);
    row->sm_clock_p95_hz = quantile(&values, 0.95);
    COLLECT(log, from_s, memory_clock_hz, &values);
    row->memory_clock_median_hz = quantile(&values, 0.5);
    COLLECT(log, from_s, utilization, &values);
    row->utilization_median = quantile(&values, 0.5);
    average_power(log, from_s, &values);
    row->power_median_w = quantile(&values, 0.5);
    row->power_lowest_w = quantile(&values, 0);
    row->power_highest_w = quantile(&values, 1);
    free(values.items);
    return CB_OK;
}

/* ---- the series ---- */

static void add_known(double *sum, int *count, double value)
{
    if (value < 0)
        return;
    *sum += value;
    ++*count;
}

static double mean(double sum, int count)
{
    return count ? sum / count : -1;
}

/* The mean of samples [first, last), of which there is at least one. */
static void fill_point(const struct cb_gpu_sample *samples, size_t first, size_t last,
                       struct cb_gpu_sample *point)
{
    enum { SM, MEMORY, POWER, TEMPERATURE, UTILIZATION, FIGURES };
    double sums[FIGURES] = {0};
    int counts[FIGURES] = {0};
    *point = samples[last - 1];
    for (size_t i = first; i < last; i++) {
        const struct cb_gpu_sample *sample = &samples[i];
        add_known(&sums[SM], &counts[SM], sample->sm_clock_hz);
        add_known(&sums[MEMORY], &counts[MEMORY], sample->memory_clock_hz);
        add_known(&sums[POWER], &counts[POWER], sample->power_w);
        add_known(&sums[TEMPERATURE], &counts[TEMPERATURE], sample->temperature_celsius);
        add_known(&sums[UTILIZATION], &counts[UTILIZATION], sample->utilization);
        if (sample->throttle >= 0)
            point->throttle = (point->throttle < 0 ? 0 : point->throttle) | sample->throttle;
        if (sample->pcie_generation > point->pcie_generation)
            point->pcie_generation = sample->pcie_generation;
        if (sample->pcie_width > point->pcie_width)
            point->pcie_width = sample->pcie_width;
        point->lost |= sample->lost;
    }
    point->sm_clock_hz = mean(sums[SM], counts[SM]);
    point->memory_clock_hz = mean(sums[MEMORY], counts[MEMORY]);
    point->power_w = mean(sums[POWER], counts[POWER]);
    point->temperature_celsius = mean(sums[TEMPERATURE], counts[TEMPERATURE]);
    point->utilization = mean(sums[UTILIZATION], counts[UTILIZATION]);
}

size_t cb_burn_thin(const struct cb_burn_log *log, int rank, double elapsed_s, size_t count,
                    struct cb_burn_sample *points)
{
    size_t sample = 0, span = 0, made = 0;
    for (size_t i = 0; i < count; i++) {
        /* The last one takes what was seen while the burn ended. */
        double end_s = i + 1 < count ? elapsed_s * (double)(i + 1) / (double)count : INFINITY;
        size_t first = sample;
        double sum_flops_per_s = 0;
        int spans = 0;
        for (; sample < log->samples.count && log->samples.items[sample].time_s < end_s; sample++)
            ;
        for (; span < log->spans.count && log->spans.items[span].time_s < end_s; span++)
            add_known(&sum_flops_per_s, &spans, log->spans.items[span].flops_per_s);
        if (sample == first && spans == 0)
            continue;
        struct cb_burn_sample *point = &points[made++];
        memset(point, 0, sizeof(*point));
        point->gpu = cb_gpu_sample_unknown;
        if (sample > first)
            fill_point(log->samples.items, first, sample, &point->gpu);
        point->rank = rank;
        point->gpu.time_s = fmin(end_s, elapsed_s);
        point->flops_per_s = fmax(mean(sum_flops_per_s, spans), 0);
    }
    return made;
}

/* What curves of real machines say of interpolation and fits. Skipped where the logs are absent; a
 * line per log is printed. */
#include "cb_test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data_files.h"
#include "judge/estimate.h"

#define FEWEST_SIZES 8          /* of a curve worth leaving sizes out of */
#define MOST 0.05               /* median error of the sizes that were left out */
#define LARGE_BYTES 268435456.0 /* from here on bandwidth is what counts */
#define TOKENS 24
#define LOGS 128

struct row {
    double size_bytes, time_s;
};

struct curve {
    char name[256];
    CB_VEC(struct row) rows;
};

/* A log's first row of each size, by what every generation of nccl-tests has in common: a size, and
 * behind it a time in microseconds with the bandwidth that follows from the two. This test needs no
 * better reader than that. */
static bool parse_row(char *line, struct row *row)
{
    double numbers[TOKENS] = {0};
    size_t count = 0;
    char *rest = NULL;
    char *start = strstr(line, ">:"); /* mpirun's tag */
    for (char *token = strtok_r(start ? start + 2 : line, " \t\n", &rest); token && count < TOKENS;
         token = strtok_r(NULL, " \t\n", &rest)) {
        char *end;
        double number = strtod(token, &end);
        bool is_label = count == 0 && *end == ':' && end[1] == '\0'; /* srun's "0:" */
        if (!is_label)
            numbers[count++] = *end == '\0' ? number : NAN;
    }
    if (!(numbers[0] > 0) || numbers[0] != floor(numbers[0]))
        return false;
    for (size_t i = 2; i + 2 < count; i++) {
        double bytes_per_s = numbers[0] / (numbers[i] * 1e-6);
        if (numbers[i] > 0 && numbers[i + 1] >= 0.1 && numbers[i + 2] > 0 &&
            fabs(bytes_per_s / 1e9 - numbers[i + 1]) < 0.02 * numbers[i + 1]) {
            *row = (struct row){numbers[0], numbers[i] * 1e-6};
            return true;
        }
    }
    return false;
}

static void read_log(const char *path, struct curve *curve)
{
    char line[4096];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        struct row row;
        size_t count = curve->rows.count;
        if (!parse_row(line, &row) ||
            (count > 0 && row.size_bytes <= curve->rows.items[count - 1].size_bytes))
            continue;
        struct row *added = cb_vec_add(&curve->rows);
        assert_non_null(added);
        *added = row;
    }
    fclose(file);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct curve *)a)->name, ((const struct curve *)b)->name);
}

/* All logs of the folder with enough sizes, by name. */
static size_t read_logs(const char *folder, struct curve *curves)
{
    size_t count = 0;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory)) && count < LOGS;) {
        char path[8192];
        size_t length = strlen(entry->d_name);
        if (length < 4 || strcmp(entry->d_name + length - 4, ".log") != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        struct curve curve = {0};
        snprintf(curve.name, sizeof(curve.name), "%s", entry->d_name);
        read_log(path, &curve);
        if (curve.rows.count >= FEWEST_SIZES)
            curves[count++] = curve;
        else
            cb_vec_fini(&curve.rows);
    }
    if (directory)
        closedir(directory);
    qsort(curves, count, sizeof(*curves), compare_names);
    return count;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare_doubles);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* The rows as a result of two ranks, but for one of them (SIZE_MAX: none left out). */
static void fill_result(const struct curve *curve, size_t left_out, struct cb_result *result)
{
    cb_result_init(result);
    result->rank_count = 2;
    for (size_t i = 0; i < curve->rows.count; i++) {
        const struct row *row = &curve->rows.items[i];
        if (i == left_out)
            continue;
        struct cb_collective_row *added = cb_vec_add(&result->collectives);
        assert_non_null(added);
        *added = (struct cb_collective_row){.op = CB_OP_ALL_REDUCE,
                                            .scope = CB_SCOPE_WORLD,
                                            .dtype = CB_DTYPE_FLOAT32,
                                            .ranks = 2,
                                            .size_bytes = (uint64_t)row->size_bytes,
                                            .bus_bytes_per_s = row->size_bytes / row->time_s,
                                            .time = {.median_s = row->time_s}};
    }
}

/* The relative error of the estimate at a size that was left out. */
static double error_without(const struct curve *curve, size_t left_out)
{
    static const struct cb_group_shape pair = {2, 1};
    struct cb_result result;
    struct cb_measured_network network;
    struct cb_error err;
    const struct row *row = &curve->rows.items[left_out];
    fill_result(curve, left_out, &result);
    assert_ok(cb_measured_network_init(&network, &result, &err), &err);
    struct cb_network_estimate estimate = cb_measured_network_estimate(
        &network, CB_OP_ALL_REDUCE, row->size_bytes, &pair, CB_PACE_MEDIAN);
    cb_measured_network_fini(&network);
    cb_result_fini(&result);
    return fabs(estimate.time_s / row->time_s - 1);
}

static void print_fits(const struct curve *curve)
{
    struct cb_result result;
    struct cb_measured_network network;
    struct cb_error err;
    fill_result(curve, SIZE_MAX, &result);
    assert_ok(cb_measured_network_init(&network, &result, &err), &err);
    const struct cb_network_curve *fitted =
        &network.runs[0].curves[CB_OP_ALL_REDUCE][CB_SCOPE_WORLD];
    for (size_t i = 0; i < fitted->regime_count; i++) {
        const struct cb_fit *fit = &fitted->regimes[i];
        print_message("    from %11.0f B: %8.1f us, %7.2f GB/s (size / time), off by %4.1f %%, at "
                      "most %5.1f %%%s\n",
                      fit->from_bytes, fit->alpha_s * 1e6, fit->bytes_per_s_inf / 1e9,
                      100 * fit->mean_relative_error, 100 * fit->max_relative_error,
                      fit->accepted ? "" : ": only interpolated");
        assert_true(fit->mean_relative_error <= fit->max_relative_error);
        assert_int_equal(fit->accepted, fit->max_relative_error <= CB_FIT_MAX_ERROR);
    }
    assert_true(fitted->regime_count >= 1);
    cb_measured_network_fini(&network);
    cb_result_fini(&result);
}

static void interpolates_sizes_that_were_left_out(void **state)
{
    const void *const *given = *state;
    const struct curve *curves = given[0];
    size_t count = *(const size_t *)given[1];
    size_t within = 0;
    CB_VEC(double) all = {0};
    for (size_t i = 0; i < count; i++) {
        const struct curve *curve = &curves[i];
        double errors[256], worst = 0;
        size_t tried = 0;
        for (size_t j = 1; j + 1 < curve->rows.count && tried < 256; j++) {
            errors[tried] = error_without(curve, j);
            worst = fmax(worst, errors[tried]);
            double *added = cb_vec_add(&all);
            assert_non_null(added);
            *added = errors[tried++];
        }
        double middle = median(errors, tried);
        within += middle <= MOST;
        print_message("%s: %zu sizes; left out: median %.1f %%, worst %.1f %%\n", curve->name,
                      curve->rows.count, 100 * middle, 100 * worst);
        print_fits(curve);
    }
    double middle = median(all.items, all.count);
    print_message("all %zu sizes of %zu logs: median %.2f %%; %zu logs within %.0f %%\n", all.count,
                  count, 100 * middle, within, 100 * MOST);
    assert_true(middle <= MOST);
    /* The others jump at a change of protocol, or are noise: no interpolation would do better. */
    assert_true(4 * within >= 3 * count);
    cb_vec_fini(&all);
}

/* ---- from two nodes to four ---- */

static const struct curve *find_log(const struct curve *curves, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(curves[i].name, name) == 0)
            return &curves[i];
    return NULL;
}

/* Two and four nodes of the same kind, eight A100 and eight 200 Gb/s links each: the larger
 * predicted from the smaller. */
static void predicts_four_nodes_from_two(void **state)
{
    static const struct cb_group_shape group = {32, 4};
    const void *const *given = *state;
    size_t count = *(const size_t *)given[1];
    const struct curve *two = find_log(given[0], count, "a100_2node_ib_hdr_oldfmt.log");
    const struct curve *four = find_log(given[0], count, "a100_4node_ib_oldfmt.log");
    struct cb_result result;
    struct cb_measured_network network;
    struct cb_error err;
    double errors[256];
    size_t tried = 0;
    if (!two || !four)
        skip();
    fill_result(two, SIZE_MAX, &result);
    result.rank_count = 16;
    assert_non_null(cb_vec_add(&result.nodes));
    assert_non_null(cb_vec_add(&result.nodes));
    for (size_t i = 0; i < result.collectives.count; i++) {
        struct cb_collective_row *row = &result.collectives.items[i];
        row->ranks = 16;
        row->bus_bytes_per_s *= cb_op_bus_factor(CB_OP_ALL_REDUCE, 16);
    }
    assert_ok(cb_measured_network_init(&network, &result, &err), &err);
    network.runs[0].link_bytes_per_s = 200e9;
    for (size_t i = 0; i < four->rows.count && tried < 256; i++) {
        const struct row *row = &four->rows.items[i];
        struct cb_network_estimate estimate = cb_measured_network_estimate(
            &network, CB_OP_ALL_REDUCE, row->size_bytes, &group, CB_PACE_MEDIAN);
        errors[tried] = estimate.time_s / row->time_s - 1;
        print_message("    %11.0f B: %+.1f %%\n", row->size_bytes, 100 * errors[tried]);
        errors[tried] = fabs(errors[tried]);
        if (row->size_bytes >= LARGE_BYTES)
            assert_true(errors[tried] <= cb_confidence_error(CB_CONFIDENCE_WITHIN_4X));
        tried++;
    }
    double middle = median(errors, tried);
    print_message("four nodes from two: median %.1f %%, worst %.1f %%\n", 100 * middle,
                  100 * errors[tried - 1]);
    assert_true(middle <= cb_confidence_error(CB_CONFIDENCE_WITHIN_4X));
    cb_measured_network_fini(&network);
    cb_result_fini(&result);
}

int main(void)
{
    static struct curve curves[LOGS];
    const char *folder = data_folder("nccl_logs");
    if (!folder)
        return 77;
    size_t count = read_logs(folder, curves);
    void *state[] = {curves, &count};
    if (count == 0) {
        print_message("skipped: there are no logs in %s\n", folder);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(interpolates_sizes_that_were_left_out, state),
        cmocka_unit_test_prestate(predicts_four_nodes_from_two, state),
    };
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t i = 0; i < count; i++)
        cb_vec_fini(&curves[i].rows);
    return failures;
}

/* The log reader on logs of our own (tests/logs, which says how they are made): every layout, every
 * state, and what must not change what is read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cb_test.h"
#include "data_files.h"
#include "import_table.h"

#define GRADED CB_IMPORT_GRADED
#define PROVISIONAL CB_IMPORT_PROVISIONAL
#define INVALID CB_IMPORT_INVALID
#define NO_RESULT CB_IMPORT_NO_RESULT

/* clang-format off */
static const struct cb_expected_import layouts[] = {
    {"all_reduce.log", GRADED, "all_reduce", 16, 2, 30, 40, 40, {"low_for_these_gpus", "two_node_tree"}},
    {"all_gather.log", GRADED, "all_gather", 16, 2, 30, 39.99, 43.99, {"in_place_gap"}},
    {"reduce_scatter.log", GRADED, "reduce_scatter", 16, 2, 30, 39.99, 39.99, {0}},
    {"broadcast.log", GRADED, "broadcast", 16, 2, 30, 39.99, 39.99, {0}},
    {"alltoall.log", GRADED, "all_to_all", 16, 2, 30, 39.99, 39.99, {0}},
    {"unchecked.log", GRADED, "all_reduce", 16, 2, 30, 40, 40, {"unchecked"}},
    {"crlf.log", GRADED, "all_reduce", 16, 2, 30, 40, 40, {0}},
    {"version_2_20.log", GRADED, "all_reduce", 16, 2, 30, 40, 40, {0}},
    {"old_all_reduce.log", GRADED, "all_reduce", 8, 1, 30, 40, 40, {0}},
    {"old_all_gather.log", GRADED, "all_gather", 8, 1, 30, 39.99, 39.99, {0}},
    {"old_reduce_scatter.log", GRADED, "reduce_scatter", 8, 1, 30, 39.99, 39.99, {0}},
    {"old_alltoall.log", GRADED, "all_to_all", 8, 1, 30, 39.99, 39.99, {0}},
    {"old_broadcast.log", GRADED, "broadcast", 8, 1, 30, 39.99, 39.99, {0}},
    {"pre2020_all_gather_tail.log", GRADED, "all_gather", 2, CB_ANY, 12, 39.99, 39.99, {"old_algbw"}},
    {"v1_milliseconds.log", GRADED, "all_reduce", 2, 1, 25, 8.975, 8.975, {0}},
    {"nccl1_single.log", GRADED, "all_reduce", 4, 1, 20, 10.92, 10.92, {0}},
    {"trimmed_columns.log", GRADED, "all_reduce", 16, 2, 30, 40, 0, {0}},
    {"cut_on_the_left.log", GRADED, "all_reduce", 16, CB_ANY, 30, 40, 0, {0}},
    {"headerless_tail.log", GRADED, "all_reduce", 16, CB_ANY, 5, 39.99, 39.99, {0}},
    {"per_iteration.log", GRADED, "all_reduce", 16, 2, 30, 40, 40, {0}},
    {"timestamps.log", GRADED, "all_reduce", 16, 2, 30, 40, 40, {0}},
    {"iterations_column.log", GRADED, "all_reduce", 16, 2, 30, 40, 40, {0}},
    {"mpirun_tagged.log", GRADED, "all_reduce", 16, 2, 30, 40, 40, {0}},
    {"srun_label.log", GRADED, "all_reduce", 16, 2, 30, 40, 40, {0}},
    {"labels_inside_rows.log", GRADED, "all_reduce", 16, 2, 30, 40, 40, {0}},
    {"lost_hash.log", GRADED, "all_reduce", 16, 2, 30, 40, 40, {0}},
    {"terminal_colours.log", GRADED, "all_reduce", 16, 2, 30, 40, 40, {0}},
    {"nccl_tests.json", GRADED, "all_reduce", 16, 2, 4, 40, 40, {0}},
    {"osu_all_reduce.log", GRADED, "all_reduce", 16, CB_ANY, 25, 39.75, 0, {0}},
    {"osu_all_gather.log", GRADED, "all_gather", 16, CB_ANY, 22, 39.75, 0, {0}},
    {"osu_full_no_ranks.log", PROVISIONAL, "all_reduce", 0, CB_ANY, 25, 19.27, 0, {"ranks_unknown"}},
};

static const struct cb_expected_import states[] = {
    {"socket_fallback.log", GRADED, "all_reduce", 16, 2, 30, 40, 40, {"socket_fallback"}},
    {"staged_no_list.log", GRADED, "all_reduce", 2, 2, 30, 3, 3, {"host_staged", "slow_link"}},
    {"excerpt.log", PROVISIONAL, "all_reduce", 16, 2, 14, 40, 40, {"excerpt"}},
    {"truncated.log", PROVISIONAL, "all_reduce", 16, 2, 21, 38.07, 38.07, {"truncated"}},
    {"small_sizes.log", PROVISIONAL, "all_reduce", 16, 2, 16, 15.22, 15.22, {"small_sizes_only"}},
    {"still_rising.log", PROVISIONAL, "all_reduce", 16, 2, 24, 37.61, 37.61, {"still_rising", "high_latency"}},
    {"alone_one_gpu.log", INVALID, "all_reduce", 1, CB_ANY, 12, 0, 0, {"ranks_ran_alone"}},
    {"alone_two_gpus.log", INVALID, "all_reduce", 2, CB_ANY, 22, 39.97, 39.97, {"ranks_ran_alone"}},
    {"started_16_ran_1.log", INVALID, "all_reduce", 1, 1, 6, 0, 0, {"ranks_ran_alone"}},
    {"one_rank.log", INVALID, "all_reduce", 1, 1, 6, 0, 0, {"one_rank"}},
    {"wrong_results.log", INVALID, "all_reduce", 16, 2, 30, 40, 40, {"wrong_results"}},
    {"mixed_builds.log", INVALID, "all_reduce", 16, 2, 30, 40, 40, {"mixed_builds"}},
    {"mixed_ops.log", INVALID, "all_gather", 16, 2, 30, 39.99, 39.99, {"mixed_ops"}},
    {"shared_gpu.log", INVALID, "all_reduce", 2, 1, 30, 2, 2, {"shared_gpu"}},
    {"hang.log", NO_RESULT, "", 16, 2, 0, 0, 0, {"hang"}},
    {"device_error.log", NO_RESULT, "", 0, CB_ANY, 0, 0, 0, {"invalid_device_ordinal"}},
    {"rows_left_out.log", NO_RESULT, "", 16, 2, 0, 0, 0, {"rows_elided"}},
    {"error_in_the_middle.log", PROVISIONAL, "all_reduce", 16, 2, 17, 22.05, 22.05, {"network_error", "nccl_failure", "truncated"}},
    {"test_timeout.log", PROVISIONAL, "all_reduce", 16, 2, 7, 0.048, 0.048, {"test_timeout"}},
    {"contradiction.log", PROVISIONAL, "all_reduce", 16, 2, 30, 40, 40, {"busbw_contradicts_time"}},
    {"negative_time.log", PROVISIONAL, "all_reduce", 16, 2, 29, 40, 40, {"negative_time"}},
    {"collapse.log", GRADED, "all_reduce", 16, 2, 30, 39.87, 39.87, {"collapse"}},
    {"dip.log", GRADED, "all_reduce", 16, 2, 30, 40, 40, {"dip"}},
    {"step.log", GRADED, "all_reduce", 16, 2, 30, 40, 40, {"step"}},
    {"falling.log", GRADED, "all_reduce", 16, 2, 30, 39.98, 39.98, {"best_not_largest"}},
    {"noise.log", GRADED, "all_reduce", 3, 3, 11, 0.70, 0.70, {"noisy"}},
    {"floor.log", GRADED, "all_reduce", 2, 2, 14, 11.67, 11.67, {"latency_floor", "size_matters"}},
    {"looks_like_sockets.log", GRADED, "all_reduce", 8, 2, 30, 5.5, 5.5, {"looks_like_sockets"}},
    {"mixed_gpus.log", GRADED, "all_reduce", 2, 2, 30, 9, 9, {"mixed_gpus", "unequal_slots"}},
};

/* Files with several runs, in their order. */
static const struct cb_expected_import several[] = {
    {"two_runs.log", GRADED, "all_reduce", 16, 2, 30, 40, 40, {0}},
    {"two_runs.log", GRADED, "all_gather", 16, 2, 30, 39.99, 39.99, {0}},
    {"started_again.log", PROVISIONAL, "all_reduce", 16, 2, 12, 1.479, 1.479, {"truncated"}},
    {"started_again.log", GRADED, "all_reduce", 16, 2, 30, 40, 40, {0}},
    {"imb.log", GRADED, "all_reduce", 2, CB_ANY, 28, 39.88, 0, {0}},
    {"imb.log", GRADED, "all_reduce", 16, CB_ANY, 28, 39.94, 0, {0}},
    {"imb.log", GRADED, "all_gather", 16, CB_ANY, 24, 39.87, 0, {0}},
};
/* clang-format on */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char *own_log(const char *file, size_t *length_bytes)
{
    char *text = data_read(CB_OWN_LOGS, file, length_bytes);
    if (!text)
        fail_msg("%s is not in %s", file, CB_OWN_LOGS);
    return text;
}

static void read_text(const char *name, const char *text, size_t length_bytes, cb_import_logs *logs)
{
    struct cb_error err = {0};
    *logs = (cb_import_logs){0};
    assert_ok(cb_import_read(name, text, length_bytes, logs, &err), &err);
}

static void read_own(const char *file, cb_import_logs *logs)
{
    size_t length_bytes;
    char *text = own_log(file, &length_bytes);
    read_text(file, text, length_bytes, logs);
    free(text);
}

static void check_all(const struct cb_expected_import *expected, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cb_import_logs logs;
        read_own(expected[i].file, &logs);
        if (logs.count != 1)
            fail_msg("%s: %zu runs", expected[i].file, logs.count);
        cb_check_import(&expected[i], &logs.items[0].summary);
        assert_string_equal(logs.items[0].summary.file, expected[i].file);
        cb_import_logs_fini(&logs);
    }
}

static void test_layouts(void **state)
{
    (void)state;
    check_all(layouts, COUNT(layouts));
}

static void test_states(void **state)
{
    (void)state;
    check_all(states, COUNT(states));
}

static void test_several_runs(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(several);) {
        cb_import_logs logs;
        read_own(several[i].file, &logs);
        for (size_t k = 0; k < logs.count; k++) {
            assert_true(i + k < COUNT(several));
            assert_string_equal(several[i + k].file, several[i].file);
            cb_check_import(&several[i + k], &logs.items[k].summary);
            if (k > 0)
                assert_true(logs.items[k].summary.first_line >
                            logs.items[k - 1].summary.first_line);
        }
        i += logs.count;
        cb_import_logs_fini(&logs);
    }
}

/* ---- what a row holds ---- */

static void test_bandwidth_is_computed(void **state)
{
    (void)state;
    cb_import_logs logs;
    read_own("contradiction.log", &logs);
    const struct cb_import_row *row = &logs.items[0].rows.items[29];
    const struct cb_import_point *point = &row->places[CB_IMPORT_OUT_OF_PLACE];
    assert_int_equal(row->line, 53);
    assert_near(point->printed_bus_bytes_per_s, 99.99e9, 0);
    assert_near(point->alg_bytes_per_s, (double)row->size_bytes / point->time_s, 1e-12);
    assert_near(point->bus_bytes_per_s, point->alg_bytes_per_s * 1.875, 1e-12);
    const struct cb_import_finding *finding =
        cb_find_code(&logs.items[0].summary, "busbw_contradicts_time");
    assert_int_equal(finding->line, 53);
    assert_non_null(strstr(finding->text, "100 GB/s"));
    assert_non_null(strstr(finding->text, "40 GB/s"));
    cb_import_logs_fini(&logs);
}

/* The size of all_gather in OSU and IMB is one rank's: here the whole counts. */
static void test_sizes_of_gathers_are_whole(void **state)
{
    (void)state;
    cb_import_logs logs;
    read_own("osu_all_gather.log", &logs);
    assert_int_equal(logs.items[0].rows.items[0].size_bytes, 64);
    assert_int_equal(logs.items[0].summary.largest_bytes, 128 << 20);
    cb_import_logs_fini(&logs);
}

static void test_times_of_the_slowest_rank(void **state)
{
    (void)state;
    cb_import_logs logs;
    static const char text[] =
        "# OSU MPI Allreduce Latency Test v7.0\n"
        "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  "
        "Iterations\n"
        "1048576            100.00            90.00            110.00     10\n";
    read_text("osu", text, sizeof(text) - 1, &logs);
    assert_near(logs.items[0].rows.items[0].places[0].time_s, 110e-6, 1e-12);
    cb_import_logs_fini(&logs);
}

/* ---- what must not change anything ---- */

static void test_decorated_lines_say_the_same(void **state)
{
    (void)state;
    static const char *const around[][2] = {{"", "\r"},
                                            {"[1,0]<stdout>:", ""},
                                            {"  0: ", "   "},
                                            {"\x1b[32m", "\x1b[0m"},
                                            {"2026-03-04T05:06:07.891Z ", ""},
                                            {"[0] ", "\t"},
                                            {"[1,0]<stdout>: 0: [0] ", ""}};
    for (size_t i = 0; i < COUNT(layouts); i++) {
        size_t length_bytes, made_bytes;
        bool is_json = strstr(layouts[i].file, ".json") != NULL;
        char *text = own_log(layouts[i].file, &length_bytes);
        for (size_t k = 0; k < COUNT(around) && !is_json; k++) {
            cb_import_logs logs;
            char *made = cb_decorate(text, length_bytes, around[k][0], around[k][1], &made_bytes);
            read_text(layouts[i].file, made, made_bytes, &logs);
            assert_int_equal(logs.count, 1);
            cb_check_import(&layouts[i], &logs.items[0].summary);
            cb_import_logs_fini(&logs);
            free(made);
        }
        free(text);
    }
}

/* Twice the bandwidth in, twice out: nothing of the figures is a constant. */
static void test_half_the_time_is_twice_the_bandwidth(void **state)
{
    (void)state;
    static const char format[] = "%12d  %12d  float  sum  -1  %.1f  %.2f  %.2f  0\n";
    for (double time_us = 1000; time_us < 5000; time_us *= 2) {
        char text[256];
        cb_import_logs logs;
        double alg = 1 << 26;
        alg = alg / time_us / 1e3;
        snprintf(text, sizeof(text), format, 1 << 26, 1 << 24, time_us, alg, alg * 1.5);
        read_text("row", text, strlen(text), &logs);
        assert_int_equal(logs.items[0].summary.ranks, 4);
        assert_near(logs.items[0].summary.best_bus_bytes_per_s, (1 << 26) / time_us * 1e6 * 1.5,
                    1e-12);
        cb_import_logs_fini(&logs);
    }
}

/* ---- what is cut off ---- */

/* However much is missing nothing is read beyond the end, and without its footers no run of
 * nccl-tests is graded. */
static void test_cut_anywhere(void **state)
{
    (void)state;
    static const char *const files[] = {"version_2_20.log",   "old_all_gather.log",
                                        "mpirun_tagged.log",  "v1_milliseconds.log",
                                        "nccl_tests.json",    "imb.log",
                                        "osu_all_reduce.log", "alone_two_gpus.log"};
    for (size_t f = 0; f < COUNT(files); f++) {
        size_t length_bytes;
        char *text = own_log(files[f], &length_bytes);
        bool has_footers = strstr(text, "Avg bus") != NULL && f < 4;
        size_t footer = has_footers ? (size_t)(strstr(text, "# Out of") - text) : 0;
        for (size_t cut = 0; cut < length_bytes; cut += 1 + cut / 64) {
            cb_import_logs logs = {0};
            struct cb_error err = {0};
            char *part = malloc(cut + 1);
            assert_non_null(part);
            memcpy(part, text, cut);
            char *exact = realloc(part, cut ? cut : 1);
            int rc = cb_import_read("part", exact, cut, &logs, &err);
            assert_true(rc == 0 || (rc == CB_E_INPUT && err.what[0]));
            for (size_t i = 0; i < logs.count && cut < footer; i++)
                assert_int_not_equal(logs.items[i].summary.state, GRADED);
            cb_import_logs_fini(&logs);
            free(exact);
        }
        free(text);
    }
}

/* The bandwidth of a line of data, out of place: its eighth word. */
static double printed_bandwidth(const char *line)
{
    char copy[256];
    snprintf(copy, sizeof(copy), "%.*s", (int)strcspn(line, "\n"), line);
    char *word = strtok(copy, " ");
    for (int i = 0; word && i < 7; i++)
        word = strtok(NULL, " ");
    return word ? strtod(word, NULL) : 0;
}

/* A row that is missing shows in the average, unless it is itself close to it. */
static void test_a_missing_row_is_seen(void **state)
{
    (void)state;
    size_t length_bytes;
    int seen = 0;
    char *text = own_log("all_reduce.log", &length_bytes);
    char *less = malloc(length_bytes);
    assert_non_null(less);
    double average = strtod(strstr(text, "Avg bus bandwidth") + 24, NULL);
    for (size_t start = 0, line_bytes; start < length_bytes; start += line_bytes) {
        line_bytes = strcspn(text + start, "\n") + 1;
        double rate = printed_bandwidth(text + start);
        if (text[start] != ' ' || fabs(rate - average) < 0.1 * average)
            continue;
        cb_import_logs logs;
        memcpy(less, text, start);
        memcpy(less + start, text + start + line_bytes, length_bytes - start - line_bytes);
        read_text("less", less, length_bytes - line_bytes, &logs);
        assert_int_equal(logs.items[0].summary.rows, 29);
        assert_non_null(cb_find_code(&logs.items[0].summary, "excerpt"));
        cb_import_logs_fini(&logs);
        seen++;
    }
    assert_in_range(seen, 25, 30);
    free(less);
    free(text);
}

/* ---- what is no log, or a bad one ---- */

static void expect_refused(const char *text, const char *part)
{
    cb_import_logs logs = {0};
    struct cb_error err = {0};
    assert_int_equal(cb_import_read("file", text, strlen(text), &logs, &err), CB_E_INPUT);
    assert_int_equal(logs.count, 0);
    if (!strstr(err.what, "file") || !strstr(err.what, part))
        fail_msg("\"%s\" does not say \"%s\"", err.what, part);
    assert_null(strchr(err.what, '\n'));
}

static void test_no_log(void **state)
{
    (void)state;
    expect_refused("", "no output of nccl-tests");
    expect_refused("\n\n\n", "no output of nccl-tests");
    expect_refused("8 16 32\n64 128 256\n", "no output of nccl-tests");
    expect_refused("{\"a\": 1}", "not of nccl-tests");
    expect_refused("{\n\"results\": [\n{\"size\": }]}", "file:3:");
    expect_refused("{\"results\": [{\"count\": 3}]}", "without a size");
    size_t length_bytes;
    cb_import_logs logs = {0};
    struct cb_error err = {0};
    char *text = own_log("no_log.txt", &length_bytes);
    assert_int_equal(cb_import_read("no_log.txt", text, length_bytes, &logs, &err), CB_E_INPUT);
    free(text);
}

/* What was there before stays when a later file is none. */
static void test_earlier_logs_stay(void **state)
{
    (void)state;
    cb_import_logs logs;
    struct cb_error err = {0};
    read_own("headerless_tail.log", &logs);
    assert_int_equal(cb_import_read("bad", "nothing", 7, &logs, &err), CB_E_INPUT);
    assert_int_equal(logs.count, 1);
    assert_int_equal(logs.items[0].summary.rows, 5);
    cb_import_logs_fini(&logs);
}

/* A later file without data is not passed over in silence. */
static void test_a_later_file_says_that_it_is_empty(void **state)
{
    (void)state;
    static const char text[] = "NCCL INFO Bootstrap: Using eth0\n";
    cb_import_logs logs;
    struct cb_error err = {0};
    read_own("headerless_tail.log", &logs);
    assert_ok(cb_import_read("later", text, sizeof(text) - 1, &logs, &err), &err);
    assert_int_equal(logs.count, 2);
    assert_int_equal(logs.items[1].summary.state, NO_RESULT);
    cb_import_logs_fini(&logs);
}

static void test_numbers_that_cannot_be(void **state)
{
    (void)state;
    static const struct {
        const char *row, *code;
    } rows[] = {
        {"1048576 262144 float sum -1 -5.0 10 10 0 -5.0 10 10 0\n", "negative_time"},
        {"1048576 262144 float sum -1 0.00 0.00 0.00 0 0.00 0.00 0.00 0\n", "no_time"},
        {"1048576 262144 float sum -1 nan nan nan 0 nan nan nan 0\n", "no_time"},
        {"1048576 262144 float sum -1 1 2 3 4 5 6 7 8 9 10 11 12 13 14\n", "unreadable_row"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        cb_import_logs logs;
        read_text("row", rows[i].row, strlen(rows[i].row), &logs);
        assert_int_equal(logs.items[0].summary.rows, 0);
        assert_int_equal(logs.items[0].summary.state, NO_RESULT);
        const struct cb_import_finding *finding =
            cb_find_code(&logs.items[0].summary, rows[i].code);
        if (!finding)
            fail_msg("no finding %s", rows[i].code);
        assert_int_equal(finding->line, 1);
        cb_import_logs_fini(&logs);
    }
}

static void test_many_runs(void **state)
{
    (void)state;
    enum { MOST = 256 };
    static const char run[] = "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor)\n"
                              "# Avg bus bandwidth    : 1\n";
    static const char title[] = "# Benchmarking Allreduce\n#bytes #repetitions t[usec]\n";
    static const struct {
        const char *text;
        size_t length_bytes;
    } formats[] = {{run, sizeof(run) - 1}, {title, sizeof(title) - 1}};
    char *text = malloc((MOST + 1) * sizeof(run));
    assert_non_null(text);
    for (size_t format = 0; format < COUNT(formats); format++)
        for (size_t runs = MOST; runs <= MOST + 1; runs++) {
            size_t length_bytes = formats[format].length_bytes;
            cb_import_logs logs;
            for (size_t i = 0; i < runs; i++)
                memcpy(text + i * length_bytes, formats[format].text, length_bytes);
            read_text("many", text, runs * length_bytes, &logs);
            assert_int_equal(logs.count, MOST);
            assert_true((runs > MOST) ==
                        (cb_find_code(&logs.items[MOST - 1].summary, "several_runs") != NULL));
            cb_import_logs_fini(&logs);
        }
    free(text);
}

/* ---- causes ---- */

static void test_causes(void **state)
{
    (void)state;
    static const struct {
        const char *line, *code;
    } causes[] = {
        {"a: Test CUDA failure common.cu:1 'system not yet initialized'", "fabric_manager"},
        {"a:1:1 [0] init.cc:1 NCCL WARN Duplicate GPU detected : rank 1 and rank 0",
         "duplicate_gpu"},
        {"Invalid number of GPUs: 8 requested but only 4 were found.", "too_few_gpus"},
        {"./x_perf: error while loading shared libraries: libnccl.so.2: cannot open",
         "library_missing"},
        {"bash: all_reduce_perf: command not found", "program_missing"},
        {"There are not enough slots available in the system. nccl-tests", "slots"},
        {"slurmstepd: error: *** JOB 7 ON a CANCELLED DUE TO TIME LIMIT *** _perf", "time_limit"},
        {"a:1:1 [0] NCCL WARN Error while creating shared memory segment /dev/shm/nccl-1 (size 1)",
         "shared_memory"},
        {"a: Test NCCL failure common.cu:1126 'unhandled system error'", "nccl_failure"},
        {"a: Test CUDA failure common.cu:7 'out of memory'", "out_of_memory"},
    };
    for (size_t i = 0; i < COUNT(causes); i++) {
        cb_import_logs logs;
        char text[256];
        snprintf(text, sizeof(text), "# nThread 1 nGpus 1 minBytes 8 maxBytes 8\n%s\n",
                 causes[i].line);
        read_text("cause", text, strlen(text), &logs);
        const struct cb_import *import = &logs.items[0].summary;
        assert_int_equal(import->state, NO_RESULT);
        const struct cb_import_finding *finding = cb_find_code(import, causes[i].code);
        if (!finding)
            fail_msg("\"%s\" is no %s", causes[i].line, causes[i].code);
        assert_int_equal(finding->line, 2);
        assert_true(finding->hint[0] != '\0');
        assert_null(cb_find_code(import, "no_table"));
        cb_import_logs_fini(&logs);
    }
}

/* An error in the text of a run that is whole ended nothing. */
static void test_harmless_error(void **state)
{
    (void)state;
    size_t length_bytes;
    static const char before[] = "curl: (7) Connection refused\n";
    char *text = own_log("all_reduce.log", &length_bytes);
    char *made = malloc(length_bytes + sizeof(before));
    assert_non_null(made);
    memcpy(made, before, sizeof(before) - 1);
    memcpy(made + sizeof(before) - 1, text, length_bytes);
    cb_import_logs logs;
    read_text("made", made, length_bytes + sizeof(before) - 1, &logs);
    assert_int_equal(logs.items[0].summary.state, GRADED);
    assert_non_null(cb_find_code(&logs.items[0].summary, "network_error"));
    cb_import_logs_fini(&logs);
    free(made);
    free(text);
}

/* A text that ends before its table is no excerpt: something hung. */
static void test_nothing_after_the_banner(void **state)
{
    (void)state;
    static const char text[] = "$ mpirun -np 16 ./all_reduce_perf -b 8 -e 1G\n"
                               "# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824\n";
    cb_import_logs logs;
    read_text("banner", text, sizeof(text) - 1, &logs);
    assert_int_equal(logs.items[0].summary.state, NO_RESULT);
    assert_string_equal(logs.items[0].summary.op, "all_reduce");
    assert_int_equal(logs.items[0].summary.ranks, 16);
    assert_non_null(cb_find_code(&logs.items[0].summary, "hang"));
    cb_import_logs_fini(&logs);
}

static void test_wrong_names_the_row(void **state)
{
    (void)state;
    cb_import_logs logs;
    read_own("wrong_results.log", &logs);
    const struct cb_import_finding *finding = cb_find_code(&logs.items[0].summary, "wrong_results");
    assert_int_equal(finding->line, 44);
    assert_non_null(strstr(finding->text, "1.04858e+06 elements at 8 MiB"));
    cb_import_logs_fini(&logs);
}

/* ---- into a result ---- */

static void test_rows_of_a_result(void **state)
{
    (void)state;
    cb_import_logs logs;
    struct cb_result result;
    struct cb_error err = {0};
    cb_result_init(&result);
    read_own("headerless_tail.log", &logs);
    double best = logs.items[0].summary.best_bus_bytes_per_s;
    assert_ok(cb_import_add(&result, &logs, &err), &err);
    cb_import_logs_fini(&logs);
    assert_int_equal(result.imports.count, 1);
    assert_true(result.imports.items[0].findings.count > 0);
    assert_int_equal(result.collectives.count, 10);
    const struct cb_collective_row *largest =
        cb_result_largest(&result, CB_OP_ALL_REDUCE, CB_SCOPE_WORLD);
    assert_near(largest->bus_bytes_per_s, best, 0);
    assert_int_equal(largest->import_number, 1);
    assert_int_equal(largest->import_line, 5);
    assert_int_equal(largest->ranks, 16);
    cb_result_fini(&result);
}

/* Of one op the run with the most ranks counts; what may not be judged by never does. */
static void test_which_run_counts(void **state)
{
    (void)state;
    static const char *const files[] = {"imb.log", "one_rank.log", "wrong_results.log", "hang.log"};
    cb_import_logs all = {0};
    struct cb_result result;
    struct cb_error err = {0};
    cb_result_init(&result);
    for (size_t i = 0; i < COUNT(files); i++) {
        size_t length_bytes;
        char *text = own_log(files[i], &length_bytes);
        assert_ok(cb_import_read(files[i], text, length_bytes, &all, &err), &err);
        free(text);
    }
    assert_ok(cb_import_add(&result, &all, &err), &err);
    cb_import_logs_fini(&all);
    assert_int_equal(result.imports.count, 6);
    assert_int_equal(result.collectives.count, 27 + 23); /* without those of no bytes */
    for (size_t i = 0; i < result.collectives.count; i++) {
        assert_int_equal(result.collectives.items[i].ranks, 16);
        assert_in_range(result.collectives.items[i].import_number, 2, 3);
    }
    cb_result_fini(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_several_runs),
        cmocka_unit_test(test_bandwidth_is_computed),
        cmocka_unit_test(test_sizes_of_gathers_are_whole),
        cmocka_unit_test(test_times_of_the_slowest_rank),
        cmocka_unit_test(test_decorated_lines_say_the_same),
        cmocka_unit_test(test_half_the_time_is_twice_the_bandwidth),
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_a_missing_row_is_seen),
        cmocka_unit_test(test_no_log),
        cmocka_unit_test(test_earlier_logs_stay),
        cmocka_unit_test(test_a_later_file_says_that_it_is_empty),
        cmocka_unit_test(test_numbers_that_cannot_be),
        cmocka_unit_test(test_many_runs),
        cmocka_unit_test(test_causes),
        cmocka_unit_test(test_harmless_error),
        cmocka_unit_test(test_nothing_after_the_banner),
        cmocka_unit_test(test_wrong_names_the_row),
        cmocka_unit_test(test_rows_of_a_result),
        cmocka_unit_test(test_which_run_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* From what was read of a run to its log. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "import/grade.h"
#include "import/run.h"

#define GIGA 1e9
#define EXACT_S 5e-6      /* printed with two decimals of a microsecond */
#define EXACT_BYTES 65536 /* above it a row's time has the digits to check the bandwidths with */
#define CONTRADICTS 0.03
#define COMPLETE 0.003          /* relative: the mean of all rows is the average that is printed */
#define DECIMALS (0.006 * GIGA) /* of a printed bandwidth */

static bool differs(double a, double b, double relative)
{
    return fabs(a - b) > relative * fmax(fabs(a), fabs(b)) + DECIMALS;
}

/* ---- rows ---- */

static void check_point(struct cb_run *run, const struct cb_import_row *row,
                        const struct cb_import_point *point, double factor)
{
    char printed[CB_UNIT_TEXT], computed[CB_UNIT_TEXT];
    bool alg_differs = point->printed_alg_bytes_per_s >= 0 &&
                       differs(point->printed_alg_bytes_per_s, point->alg_bytes_per_s, CONTRADICTS);
    bool bus_differs = factor > 0 && point->printed_bus_bytes_per_s >= 0 &&
                       differs(point->printed_bus_bytes_per_s, point->bus_bytes_per_s, CONTRADICTS);
    if (row->size_bytes <= EXACT_BYTES || point->time_s < EXACT_S || !(factor > 0))
        return;
    if (alg_differs && !bus_differs &&
        !differs(point->printed_alg_bytes_per_s, point->bus_bytes_per_s, CONTRADICTS))
        cb_finding_add(&run->findings, CB_FINDING_OLD_ALGBW, row->line,
                       "algbw is printed as it was before mid-2020, with the factor in it; it is "
                       "computed anew here");
    else if (alg_differs)
        cb_finding_add(&run->findings, CB_FINDING_CONTRADICTION, row->line,
                       "algbw is printed as %s, but size / time is %s: computed anew",
                       cb_format_bandwidth(printed, point->printed_alg_bytes_per_s),
                       cb_format_bandwidth(computed, point->alg_bytes_per_s));
    else if (bus_differs)
        cb_finding_add(&run->findings, CB_FINDING_CONTRADICTION, row->line,
                       "busbw is printed as %s, but size / time x %.4g is %s: computed anew",
                       cb_format_bandwidth(printed, point->printed_bus_bytes_per_s), factor,
                       cb_format_bandwidth(computed, point->bus_bytes_per_s));
}

static void check_data(struct cb_run *run, const struct cb_table_row *row)
{
    char size[CB_UNIT_TEXT];
    double wrong = 0;
    for (int p = 0; p < CB_IMPORT_PLACES; p++)
        wrong = fmax(wrong, row->places[p].wrong);
    if (wrong > 0)
        cb_finding_add(&run->findings, CB_FINDING_WRONG_RESULTS, row->line,
                       "wrong results: %.6g elements at %s", wrong,
                       cb_format_bytes(size, row->size_bytes));
    else if (row->type && row->error > row->type->tolerance)
        cb_finding_add(&run->findings, CB_FINDING_WRONG_RESULTS, row->line,
                       "wrong results: a deviation of %g at %s", row->error,
                       cb_format_bytes(size, row->size_bytes));
}

static int convert_rows(struct cb_run *run, const struct cb_inferred *inferred,
                        struct cb_import_log *log, struct cb_error *err)
{
    bool is_checked = false;
    /* The factor grows with the ranks: where they are unknown, two give a lower bound. */
    int ranks = inferred->ranks > 0 ? inferred->ranks : 2;
    double factor = inferred->has_factor ? cb_import_factor_of(inferred->factor, ranks) : 0;
    for (size_t i = 0; i < run->rows.count; i++) {
        const struct cb_table_row *from = &run->rows.items[i];
        struct cb_import_row *row = cb_vec_add(&log->rows);
        if (!row)
            return cb_fail(err, CB_E_MEMORY, "no memory for the rows of %s", run->name);
        row->line = from->line;
        row->size_bytes = from->size_bytes;
        is_checked = is_checked || from->error >= 0;
        for (int p = 0; p < CB_IMPORT_PLACES; p++) {
            struct cb_import_point *point = &row->places[p];
            *point = from->places[p];
            is_checked = is_checked || point->wrong >= 0;
            if (!(point->time_s > 0) || !isfinite(point->time_s)) {
                point->time_s = 0;
                continue;
            }
            point->alg_bytes_per_s = (double)row->size_bytes / point->time_s;
            point->bus_bytes_per_s = point->alg_bytes_per_s * factor;
            check_point(run, row, point, factor);
        }
        check_data(run, from);
    }
    if (!is_checked && run->rows.count > 0 && !run->has_no_footers)
        cb_finding_add(&run->findings, CB_FINDING_UNCHECKED, run->rows.items[0].line,
                       "the data were not checked for errors");
    return 0;
}

/* ---- completeness ---- */

static double mean_bandwidth(const struct cb_import_log *log, bool printed)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < log->rows.count; i++)
        for (int p = 0; p < CB_IMPORT_PLACES; p++) {
            const struct cb_import_point *point = &log->rows.items[i].places[p];
            if (!(point->time_s > 0))
                continue;
            sum += printed ? fmax(point->printed_bus_bytes_per_s, 0) : point->bus_bytes_per_s;
            count++;
        }
    return count > 0 ? sum / (double)count : 0;
}

static bool is_mean(const struct cb_import_log *log, double average_bytes_per_s)
{
    return !differs(mean_bandwidth(log, false), average_bytes_per_s, COMPLETE) ||
           !differs(mean_bandwidth(log, true), average_bytes_per_s, COMPLETE);
}

/* Rows are there: are they all? The average of a whole table is the mean of its rows. */
static void check_complete(struct cb_run *run, const struct cb_import_log *log)
{
    char average[CB_UNIT_TEXT], mean[CB_UNIT_TEXT];
    int last = run->rows.items[run->rows.count - 1].line;
    if (run->average_count == 1 && run->average_bytes_per_s >= 0) {
        run->findings.is_complete = is_mean(log, run->average_bytes_per_s);
        if (!run->findings.is_complete)
            cb_finding_add(
                &run->findings, CB_FINDING_EXCERPT, run->average_line,
                "an excerpt: the printed average is %s, the mean of the %d rows that are "
                "here %s",
                cb_format_bandwidth(average, run->average_bytes_per_s), (int)log->rows.count,
                cb_format_bandwidth(mean, mean_bandwidth(log, 0)));
        return;
    }
    if (run->bounds_count > 0 || run->concluded_line > 0 || run->has_no_footers)
        return;
    if (run->elided_line > 0)
        cb_finding_add(&run->findings, CB_FINDING_EXCERPT, run->elided_line,
                       "an excerpt: lines were left out, and there is no footer");
    else
        cb_finding_add(&run->findings, CB_FINDING_TRUNCATED, last,
                       "the output breaks off after this row: its footers are missing");
}

static bool has_cause(const struct cb_run *run)
{
    for (int i = CB_FINDING_FIRST_CAUSE; i <= CB_FINDING_LAST_CAUSE; i++)
        if (cb_finding_is_there(&run->findings, (enum cb_log_finding)i))
            return true;
    return false;
}

/* No row is there: why? */
static void check_empty(struct cb_run *run)
{
    char average[CB_UNIT_TEXT], note[160] = "";
    if (run->average_count > 0)
        snprintf(note, sizeof(note), "; the printed average, %s, grades nothing without them",
                 cb_format_bandwidth(average, run->average_bytes_per_s));
    if (has_cause(run))
        return;
    if (run->elided_line > 0 || run->average_count > 0 || run->bounds_count > 0)
        cb_finding_add(&run->findings, CB_FINDING_ELIDED,
                       run->elided_line > 0 ? run->elided_line : run->average_line,
                       "no result: the rows were left out of this text%s", note);
    else if (run->head_lines > 0)
        cb_finding_add(&run->findings, CB_FINDING_HANG, run->last_line,
                       "no result: the heading of the table is the last that was printed, as when "
                       "the first operation hangs");
    else if (run->banners.count > 0)
        cb_finding_add(&run->findings, CB_FINDING_HANG, run->last_line,
                       "no result: the text ends before the table, without an error, as when MPI "
                       "or NCCL hangs while the ranks come together");
    else
        cb_finding_add(&run->findings, CB_FINDING_NO_TABLE, run->last_line,
                       "no result: there is no table in this text");
}

/* ---- the rest ---- */

static void explain_device_error(struct cb_run *run)
{
    const struct cb_banner *banner = run->banners.count > 0 ? &run->banners.items[0] : NULL;
    struct cb_import_finding *item = &run->findings.items[CB_FINDING_INVALID_DEVICE];
    if (!cb_finding_is_there(&run->findings, CB_FINDING_INVALID_DEVICE))
        return;
    if (run->failed_label_low >= 0)
        snprintf(item->text, sizeof(item->text),
                 "ranks %d to %d got a GPU that %s does not have (CUDA: invalid device ordinal): "
                 "the ranks of several hosts were started on one",
                 run->failed_label_low, run->failed_label_high,
                 run->failed_host[0] ? run->failed_host : "their host");
    else if (run->failed_host[0])
        snprintf(item->text, sizeof(item->text),
                 "a rank got a GPU that %s does not have (CUDA: invalid device ordinal)",
                 run->failed_host);
    if (banner && banner->gpus > 1)
        snprintf(item->hint, sizeof(item->hint),
                 "-g %d asks %d GPUs for each rank: use -g 1 and one rank per GPU, or fewer",
                 banner->gpus, banner->gpus);
}

static void check_transport(struct cb_run *run, const struct cb_inferred *inferred)
{
    const struct cb_nccl_said *nccl = &run->nccl;
    int sockets = nccl->sockets_line ? nccl->sockets_line : nccl->interface_line;
    if (sockets && inferred->nodes != 1)
        cb_finding_add(&run->findings, CB_FINDING_SOCKETS, sockets,
                       "NCCL fell back to TCP sockets (NET/Socket)%s",
                       nccl->no_verbs ? ": it found no RDMA device" : "");
    if (nccl->staged_line && !nccl->direct && !nccl->sockets_line && inferred->nodes != 1)
        cb_finding_add(&run->findings, CB_FINDING_HOST_STAGED, nccl->staged_line,
                       "no connection uses GPUDirect RDMA: data is staged through host memory");
    if (nccl->shared_memory_line && inferred->nodes == 1)
        cb_finding_add(&run->findings, CB_FINDING_HOST_STAGED, nccl->shared_memory_line,
                       "GPUs exchange through host memory (SHM), not directly");
}

static void fill_summary(const struct cb_run *run, const struct cb_inferred *inferred,
                         struct cb_import *summary)
{
    snprintf(summary->file, sizeof(summary->file), "%s", run->name);
    snprintf(summary->tool, sizeof(summary->tool), "%s", *run->tool ? run->tool : "nccl-tests");
    snprintf(summary->op, sizeof(summary->op), "%s", cb_test_name(inferred->test));
    snprintf(summary->dtype, sizeof(summary->dtype), "%s", run->dtype);
    if (run->rows.count > 0 && run->rows.items[0].type)
        snprintf(summary->dtype, sizeof(summary->dtype), "%s", run->rows.items[0].type->name);
    int lowest = -1;
    for (size_t i = 0; i < run->ranks.count; i++) {
        const struct cb_listed_rank *rank = &run->ranks.items[i];
        if (rank->gpu[0] && (lowest < 0 || rank->rank < lowest)) {
            lowest = rank->rank;
            memcpy(summary->gpu, rank->gpu, sizeof(summary->gpu));
        }
    }
    summary->first_line = run->first_line;
    summary->ranks = inferred->ranks;
    summary->nodes = inferred->nodes;
}

static int fill_log(struct cb_run *run, struct cb_import_log *log, struct cb_error *err)
{
    struct cb_inferred inferred;
    cb_run_infer(run, &inferred);
    fill_summary(run, &inferred, &log->summary);
    int rc = convert_rows(run, &inferred, log, err);
    if (rc)
        return rc;
    if (run->bounds_failed_line > 0 &&
        !cb_finding_is_there(&run->findings, CB_FINDING_WRONG_RESULTS))
        cb_finding_add(&run->findings, CB_FINDING_WRONG_RESULTS, run->bounds_failed_line,
                       "wrong results: the test counts values out of bounds");
    explain_device_error(run);
    cb_run_check_ranks(run, &inferred);
    check_transport(run, &inferred);
    if (run->rows.count > 0 && inferred.ranks == 0)
        cb_finding_add(
            &run->findings, CB_FINDING_RANKS_UNKNOWN, run->rows.items[0].line,
            "the number of ranks cannot be told: bus bandwidths are those of two ranks, a "
            "lower bound");
    bool is_alone = cb_finding_is_there(&run->findings, CB_FINDING_RAN_ALONE);
    if (run->rows.count == 0 && !is_alone)
        check_empty(run);
    else if (run->rows.count > 0 && !is_alone)
        check_complete(run, log);
    struct cb_grading grading = {
        .test = inferred.test,
        .average_bytes_per_s = run->average_count == 1 ? run->average_bytes_per_s : -1,
        .average_line = run->average_line,
        .may_use_multicast = run->nccl.multicast_line > 0,
        .iterations = run->banners.count > 0 ? run->banners.items[0].iterations : 0,
    };
    rc = cb_grade(log, &grading, &run->findings, err);
    return rc ? rc : cb_findings_close(&run->findings, &log->summary, err);
}

/* ---- runs that were started again ---- */

static bool is_ascending(const struct cb_run *run, size_t first, size_t end)
{
    for (size_t i = first + 1; i < end; i++)
        if (run->rows.items[i].size_bytes < run->rows.items[i - 1].size_bytes)
            return false;
    return true;
}

/* The first banner with which a run was started again after one that had broken off: its rows start
 * small again and go up, where those of processes that run at once are mixed. 0: there is none. */
static size_t find_restart(const struct cb_run *run)
{
    const struct cb_banner *banners = run->banners.items;
    for (size_t b = 1; b < run->banners.count; b++) {
        size_t start = banners[b - 1].rows_before, middle = banners[b].rows_before;
        size_t end = b + 1 < run->banners.count ? banners[b + 1].rows_before : run->rows.count;
        if (middle > start && end > middle && banners[b].label == banners[b - 1].label &&
            is_ascending(run, start, middle) && is_ascending(run, middle, end) &&
            run->rows.items[middle].size_bytes <= run->rows.items[start].size_bytes)
            return b;
    }
    return 0;
}

/* Moves what stands before a banner into a run of its own. */
static int move_head(struct cb_run *run, size_t banner, struct cb_run *head, struct cb_error *err)
{
    int line = run->banners.items[banner].line;
    size_t rows = run->banners.items[banner].rows_before, kept = 0;
    if (cb_vec_reserve(&head->rows, rows) || cb_vec_reserve(&head->banners, banner) ||
        cb_vec_reserve(&head->ranks, run->ranks.count))
        return cb_fail(err, CB_E_MEMORY, "no memory for the runs of %s", run->name);
    memcpy(head->rows.items, run->rows.items, rows * sizeof(*run->rows.items));
    head->rows.count = rows;
    memmove(run->rows.items, run->rows.items + rows,
            (run->rows.count - rows) * sizeof(*run->rows.items));
    run->rows.count -= rows;
    memcpy(head->banners.items, run->banners.items, banner * sizeof(*run->banners.items));
    head->banners.count = banner;
    memmove(run->banners.items, run->banners.items + banner,
            (run->banners.count - banner) * sizeof(*run->banners.items));
    run->banners.count -= banner;
    for (size_t i = 0; i < run->banners.count; i++)
        run->banners.items[i].rows_before -= rows;
    for (size_t i = 0; i < run->ranks.count; i++)
        if (run->ranks.items[i].line < line)
            head->ranks.items[head->ranks.count++] = run->ranks.items[i];
        else
            run->ranks.items[kept++] = run->ranks.items[i];
    run->ranks.count = kept;
    for (int i = 0; i < CB_FINDING_COUNT; i++)
        if (run->findings.times[i] > 0 && run->findings.items[i].line < line) {
            head->findings.items[i] = run->findings.items[i];
            head->findings.times[i] = 1;
            run->findings.times[i] = 0;
        }
    head->test = run->test;
    head->columns = run->columns;
    head->head_lines = 1;
    head->last_line = line - 1;
    head->nccl = run->nccl;
    head->launched_ranks = run->launched_ranks;
    memcpy(head->tool, run->tool, sizeof(head->tool));
    run->first_line = line;
    return 0;
}

static int close_whole(struct cb_run *run, cb_import_logs *logs, struct cb_error *err)
{
    struct cb_import_log *log = cb_vec_add(logs);
    if (!log)
        return cb_fail(err, CB_E_MEMORY, "no memory for the runs of %s", run->name);
    return fill_log(run, log, err);
}

int cb_run_close(struct cb_run *run, cb_import_logs *logs, struct cb_error *err)
{
    int rc = 0;
    for (size_t banner; rc == 0 && (banner = find_restart(run)) > 0;) {
        struct cb_run *head = cb_run_new(run->name, run->first_line, err);
        rc = head ? move_head(run, banner, head, err) : CB_E_MEMORY;
        if (rc == 0)
            rc = close_whole(head, logs, err);
        cb_run_free(head);
    }
    return rc ? rc : close_whole(run, logs, err);
}

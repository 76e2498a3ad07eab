#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/table.h"
#include "report/lookup.h"
#include "report/render.h"

static const char header[] =
    "kind,op,scope,dtype,redop,ranks,bytes,in_place,from,to,rank,host,kernel,variant,threads,"
    "samples,operations_per_sample,time_median_s,time_p10_s,time_p90_s,time_min_s,time_max_s,"
    "ci95_relative,alg_bytes_per_s,bus_bytes_per_s,round_trip_s,bytes_per_s,flops_per_s,wrong,"
    "status,reason,algorithm,protocol,channels\n";

/* One line being written: cells are separated by what comes before them. */
struct line {
    struct cb_strbuf *out;
    bool started;
};

static void separate(struct line *line)
{
    if (line->started)
        cb_strbuf_add(line->out, ",");
    line->started = true;
}

static void add_empty(struct line *line, int count)
{
    for (int i = 0; i < count; i++)
        separate(line);
}

/* RFC 4180: quotes where there is a comma, a quote or a blank at an end; quotes doubled. Line
 * breaks have become blanks, so that a row is a line. */
static void add_text(struct line *line, const char *text)
{
    separate(line);
    size_t length = strlen(text);
    bool edge = length > 0 && (text[0] <= ' ' || text[length - 1] <= ' ');
    if (!edge && !strpbrk(text, ",\"")) {
        cb_printable_add(line->out, text);
        return;
    }
    cb_strbuf_add(line->out, "\"");
    char character[2] = "";
    struct cb_strbuf clean = {0};
    cb_printable_add(&clean, text);
    for (const char *at = cb_strbuf_get(&clean); *at; at++) {
        character[0] = *at;
        cb_strbuf_add(line->out, *at == '"' ? "\"\"" : character);
    }
    line->out->failed |= clean.failed;
    cb_strbuf_fini(&clean);
    cb_strbuf_add(line->out, "\"");
}

static void add_integer(struct line *line, long long value)
{
    char text[32];
    snprintf(text, sizeof(text), "%lld", value);
    separate(line);
    cb_strbuf_add(line->out, text);
}

/* A number that is only known when it is at least `least` (and finite); empty otherwise. */
static void add_number(struct line *line, double value, double least)
{
    char text[32];
    separate(line);
    if (!(value >= least) || value - value != 0)
        return;
    snprintf(text, sizeof(text), "%.9g", value);
    cb_strbuf_add(line->out, text);
}

static void add_positive(struct line *line, double value)
{
    add_number(line, value, 1e-300);
}

/* wrong, status, reason; a row that was never checked has no count of wrong elements. */
static void add_outcome(struct line *line, uint64_t wrong, enum cb_status status,
                        const char *reason)
{
    if (cb_status_is_usable(status) || status == CB_STATUS_WRONG)
        add_integer(line, (long long)wrong);
    else
        add_empty(line, 1);
    add_text(line, cb_status_name(status));
    add_text(line, reason);
}

/* The last three cells, and the end of the line; algorithm may be NULL. */
static void add_algorithm(struct line *line, const struct cb_algorithm *algorithm)
{
    add_text(line, algorithm ? algorithm->name : "");
    add_text(line, algorithm ? algorithm->protocol : "");
    if (algorithm && algorithm->channels > 0)
        add_integer(line, algorithm->channels);
    else
        add_empty(line, 1);
    cb_strbuf_add(line->out, "\n");
}

static void add_collective(const struct cb_collective_row *row, struct cb_strbuf *out)
{
    struct line line = {.out = out};
    bool measured = row->samples > 0;
    add_text(&line, "collective");
    add_text(&line, cb_op_name(row->op));
    add_text(&line, cb_scope_name(row->scope));
    add_text(&line, cb_dtype_name(row->dtype));
    add_text(&line, cb_op_reduces(row->op) ? cb_redop_name(row->redop) : "");
    add_integer(&line, row->ranks);
    add_integer(&line, (long long)row->size_bytes);
    add_text(&line, row->in_place ? "true" : "false");
    add_empty(&line, 7); /* from ... threads */
    add_integer(&line, row->samples);
    add_integer(&line, row->operations_per_sample);
    const double times_s[] = {row->time.median_s, row->time.p10_s, row->time.p90_s, row->time.min_s,
                              row->time.max_s};
    for (size_t i = 0; i < sizeof(times_s) / sizeof(times_s[0]); i++)
        add_positive(&line, times_s[i]);
    add_number(&line, measured ? row->time.ci95_relative : -1, 0);
    add_positive(&line, row->alg_bytes_per_s);
    add_positive(&line, row->bus_bytes_per_s);
    add_empty(&line, 3); /* round_trip_s, bytes_per_s, flops_per_s */
    add_outcome(&line, row->wrong, row->status, row->reason);
    add_algorithm(&line, &row->algorithm);
}

static void add_pair(const struct cb_pair_row *row, struct cb_strbuf *out)
{
    struct line line = {.out = out};
    add_text(&line, "pair");
    add_empty(&line, 5);
    add_integer(&line, (long long)row->size_bytes);
    add_empty(&line, 1);
    add_text(&line, row->a);
    add_text(&line, row->b);
    add_empty(&line, 12); /* rank ... time_max_s */
    add_number(&line, row->bytes_per_s > 0 ? row->ci95_relative : -1, 0);
    add_empty(&line, 2);
    add_positive(&line, row->round_trip_s);
    add_positive(&line, row->bytes_per_s);
    add_empty(&line, 2); /* flops_per_s; a probe does not count wrong elements */
    add_text(&line, cb_status_name(row->status));
    add_text(&line, row->reason);
    add_algorithm(&line, NULL);
}

static void add_kernel(const struct cb_lookup *lookup, const struct cb_kernel_row *row,
                       struct cb_strbuf *out)
{
    struct line line = {.out = out};
    bool measured = row->flops_per_s > 0 || row->bytes_per_s > 0;
    add_text(&line, "kernel");
    add_empty(&line, 2);
    add_text(&line, cb_dtype_name(row->dtype));
    add_empty(&line, 2);
    add_integer(&line, (long long)row->size_bytes);
    add_empty(&line, 3);
    add_integer(&line, row->rank);
    add_text(&line, cb_lookup_host_of_rank(lookup, row->rank));
    add_text(&line, row->kernel);
    add_text(&line, row->variant);
    add_integer(&line, row->threads);
    add_integer(&line, row->samples);
    add_empty(&line, 6); /* operations_per_sample ... time_max_s */
    add_number(&line, measured ? row->ci95_relative : -1, 0);
    add_empty(&line, 3);
    add_positive(&line, row->bytes_per_s);
    add_positive(&line, row->flops_per_s);
    add_outcome(&line, row->wrong, row->status, row->reason);
    add_algorithm(&line, NULL);
}

/* The sustained product of a burn; its series and clocks stay with the JSON. */
static void add_burn(const struct cb_lookup *lookup, const struct cb_burn_row *row,
                     struct cb_strbuf *out)
{
    struct line line = {.out = out};
    add_text(&line, "burn");
    add_empty(&line, 2);
    add_text(&line, cb_dtype_name(row->dtype));
    add_empty(&line, 6); /* redop ... to */
    add_integer(&line, row->rank);
    add_text(&line, cb_lookup_host_of_rank(lookup, row->rank));
    add_text(&line, "gemm");
    add_text(&line, row->variant);
    add_empty(&line, 1);
    add_integer(&line, row->samples);
    add_empty(&line, 10); /* operations_per_sample ... round_trip_s, bytes_per_s is next */
    add_empty(&line, 1);
    add_positive(&line, row->flops_per_s);
    add_outcome(&line, row->wrong, row->status, row->reason);
    add_algorithm(&line, NULL);
}

int cb_render_csv(const struct cb_result *result, const struct cb_report_options *options,
                  struct cb_strbuf *out, struct cb_error *err)
{
    (void)options;
    struct cb_lookup lookup;
    if (cb_lookup_init(&lookup, result) != 0)
        return cb_fail(err, CB_E_MEMORY, "no memory for the csv report");
    cb_strbuf_add(out, header);
    for (size_t i = 0; i < result->collectives.count; i++)
        add_collective(&result->collectives.items[i], out);
    for (size_t i = 0; i < result->pairs.count; i++)
        add_pair(&result->pairs.items[i], out);
    for (size_t i = 0; i < result->kernels.count; i++)
        add_kernel(&lookup, &result->kernels.items[i], out);
    for (size_t i = 0; i < result->burns.count; i++)
        add_burn(&lookup, &result->burns.items[i], out);
    cb_lookup_fini(&lookup);
    return 0;
}

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "report/page.h"

#define HEADLINE_COLUMNS 12 /* where the text beside TRAINING starts */
#define TELLING_SHARE 0.01  /* traffic below this part of all of it is not listed */

/* As any share, but none at all is a figure here. */
static const char *format_share(char out[CB_UNIT_TEXT], double share)
{
    return share > 0 ? cb_format_share(out, share) : strcpy(out, "0 %");
}

/* "12.5 CNY", three digits or whole amounts. */
static const char *format_money(char out[CB_UNIT_TEXT], double amount, const char *currency)
{
    if (amount >= 1000)
        snprintf(out, CB_UNIT_TEXT, "%.0f%s%s", amount, *currency ? " " : "", currency);
    else
        snprintf(out, CB_UNIT_TEXT, "%.3g%s%s", amount, *currency ? " " : "", currency);
    return out;
}

static const char *format_size(char out[CB_UNIT_TEXT], double size_bytes)
{
    if (size_bytes < 1e18)
        return cb_format_bytes(out, (uint64_t)size_bytes);
    snprintf(out, CB_UNIT_TEXT, "%.3g EiB", size_bytes / 0x1p60);
    return out;
}

/* What a rank is. */
static const char *unit_of(const struct cb_page *page)
{
    return page->result->gpus.count > 0 || page->result->prediction.training.memory.usable_bytes > 0
               ? "GPU"
               : "rank";
}

struct verdict_row {
    const char *text;
    enum cb_style style;
};

static const struct verdict_row *verdict_of(const struct cb_training *t)
{
    static const struct verdict_row clear = {"not network-bound", CB_STYLE_GOOD};
    static const struct verdict_row bound = {"network-bound", CB_STYLE_BAD};
    static const struct verdict_row free = {"not network-bound, if as much is hidden as assumed",
                                            CB_STYLE_WARN};
    static const struct verdict_row held = {"network-bound, unless more is hidden than assumed",
                                            CB_STYLE_WARN};
    if (t->verdict == CB_TRAINING_CLEAR)
        return &clear;
    if (t->verdict == CB_TRAINING_BOUND)
        return &bound;
    return t->bound ? &held : &free;
}

static void add_headline(struct cb_page *page, const struct cb_training *t)
{
    char share[CB_UNIT_TEXT], low[CB_UNIT_TEXT], high[CB_UNIT_TEXT], limit[CB_UNIT_TEXT];
    char tokens[CB_UNIT_TEXT];
    const struct verdict_row *row = verdict_of(t);
    cb_strbuf_add(page->out, "\n");
    if (t->traffic_count == 0)
        cb_page_headline(page, "TRAINING", row->style, "%s: no rank waits for another", row->text);
    else
        cb_page_headline(page, "TRAINING", row->style,
                         "%s: %s of a step waits for the network (%s to %s), limit %s", row->text,
                         format_share(share, t->expected.share), format_share(low, t->share_low),
                         format_share(high, t->share_high), format_share(limit, t->threshold));
    cb_page_text(page, HEADLINE_COLUMNS, HEADLINE_COLUMNS,
                 "the model of one step on %d node%s of %d %s%s, %s %s per data-parallel rank",
                 t->nodes, t->nodes == 1 ? "" : "s", t->gpus_per_node, unit_of(page),
                 t->gpus_per_node == 1 ? "" : "s", cb_format_count(tokens, t->rank_tokens),
                 t->job.sample_flops > 0 ? "samples" : "tokens");
    cb_strbuf_add(page->out, "\n");
}

/* ---- the step ---- */

static void add_step(struct cb_page *page, const struct cb_training *t)
{
    char step[CB_UNIT_TEXT], compute[CB_UNIT_TEXT], exposed[CB_UNIT_TEXT], all[CB_UNIT_TEXT];
    char bubble[CB_UNIT_TEXT], share[CB_UNIT_TEXT], overlap[CB_UNIT_TEXT] = "nothing";
    char idle[96] = "";
    if (t->bubble_s > 0)
        snprintf(idle, sizeof(idle), " + %s pipeline bubble", cb_format_time(bubble, t->bubble_s));
    cb_page_field(page, "step", "%s: %s compute (%s)%s + %s that waits for the network",
                  cb_format_time(step, t->expected.step_s), cb_format_time(compute, t->compute_s),
                  cb_provenance_name(t->compute_source), idle,
                  t->expected.exposed_s > 0 ? cb_format_time(exposed, t->expected.exposed_s)
                                            : "0 s");
    if (t->traffic_count == 0)
        return;
    if (t->overlap > 0)
        format_share(overlap, t->overlap);
    cb_page_field(page, "communication", "%s (%s), of what can be hidden %s is (%s)",
                  cb_format_time(all, t->communication_s[CB_PACE_MEDIAN]),
                  cb_provenance_name(t->network_source), overlap,
                  cb_provenance_name(t->overlap_source));
    cb_page_field(page, "serial share", "%s if nothing were hidden",
                  format_share(share, t->serial_share));
}

/* What the communication is made of, where that is more than one kind. */
static void add_traffic(struct cb_page *page, const struct cb_training *t)
{
    char time[CB_UNIT_TEXT], size[CB_UNIT_TEXT];
    double all_s = t->communication_s[CB_PACE_MEDIAN];
    const char *label = "made of";
    for (size_t i = 0; i < t->traffic_count; i++) {
        const struct cb_traffic_time *row = &t->traffic[i];
        if (row->time_s[CB_PACE_MEDIAN] < TELLING_SHARE * all_s)
            continue;
        cb_page_field(page, label, "%s %s: %.4g x %s of %s over %d ranks%s (%s)",
                      cb_format_time(time, row->time_s[CB_PACE_MEDIAN]),
                      cb_traffic_kind_name(row->traffic.kind), row->traffic.operations,
                      cb_op_name(row->traffic.op), format_size(size, row->traffic.size_bytes),
                      row->traffic.group.ranks,
                      row->traffic.group.nodes > 1 ? "" : " inside a node",
                      cb_provenance_name(row->source));
        label = "";
    }
}

/* The exposed share over what may be hidden and how fast the network was seen. */
static void add_band(struct cb_page *page, const struct cb_training *t)
{
    /* On paper the band is that of what others got. */
    bool on_paper = page->result->offer.nodes > 0;
    const struct cb_table_column columns[] = {
        {"exposed share", CB_ALIGN_LEFT, 0},
        {on_paper ? "slowest published" : "slow network (p90)", CB_ALIGN_RIGHT, 0},
        {on_paper ? "typical" : "median", CB_ALIGN_RIGHT, 0},
        {on_paper ? "fastest" : "fast (p10)", CB_ALIGN_RIGHT, 0},
    };
    static const enum cb_pace order[] = {CB_PACE_SLOW, CB_PACE_MEDIAN, CB_PACE_FAST};
    struct cb_table table;
    char share[CB_UNIT_TEXT];
    if (t->traffic_count == 0)
        return;
    cb_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (int i = 0; i < CB_OVERLAP_COUNT; i++) {
        cb_table_add(&table, CB_STYLE_PLAIN, "%.0f %% hidden", cb_overlaps[i] * 100);
        for (size_t pace = 0; pace < CB_PACE_COUNT; pace++) {
            double value = t->band[i][order[pace]].share;
            cb_table_add(&table, value > t->threshold ? CB_STYLE_BAD : CB_STYLE_PLAIN, "%s",
                         format_share(share, value));
        }
    }
    cb_page_table(page, &table);
}

/* ---- what would do ---- */

static void add_needs(struct cb_page *page, const struct cb_training *t)
{
    char needed[CB_UNIT_TEXT], there[CB_UNIT_TEXT];
    const char *what = t->job.sample_flops > 0 ? "samples" : "tokens";
    if (t->traffic_count == 0)
        return;
    if (isinf(t->critical_tokens))
        cb_page_field(page, "at the limit", "no number of %s per rank and step would do", what);
    else
        cb_page_field(page, "at the limit", "%s %s per rank and step would do, there are %s",
                      cb_format_count(needed, t->critical_tokens), what,
                      cb_format_count(there, t->rank_tokens));
    if (isinf(t->required_bytes_per_s))
        cb_page_field(page, "", "no bandwidth would do: latency alone is above the limit");
    else if (t->required_bytes_per_s > 0 && t->large_bytes_per_s > 0)
        cb_page_field(page, "", "a bandwidth of %s would do, large messages get %s",
                      cb_format_bandwidth(needed, t->required_bytes_per_s),
                      cb_format_bandwidth(there, t->large_bytes_per_s));
}

static void add_speedup(struct cb_page *page, const struct cb_training *t)
{
    struct cb_strbuf text = {0};
    char share[CB_UNIT_TEXT];
    if (t->speedup_count < 2)
        return;
    int base = t->speedup[0].nodes;
    cb_strbuf_addf(&text, "over %d node%s: ", base, base == 1 ? "" : "s");
    for (size_t i = 1; i < t->speedup_count; i++) {
        const struct cb_speedup *row = &t->speedup[i];
        if (row->speedup < 1)
            cb_strbuf_addf(&text, "%s%d nodes would be slower than %d: %.2f times its throughput",
                           i > 1 ? ", " : "", row->nodes, base, row->speedup);
        else
            cb_strbuf_addf(&text, "%s%d nodes %.2f x (%s)", i > 1 ? ", " : "", row->nodes,
                           row->speedup, format_share(share, row->efficiency));
    }
    cb_page_field(page, "scaling", "%s", cb_strbuf_get(&text));
    page->out->failed |= text.failed;
    cb_strbuf_fini(&text);
}

static void add_memory(struct cb_page *page, const struct cb_training *t)
{
    const struct cb_memory *m = &t->memory;
    const struct {
        const char *name;
        double size_bytes;
    } parts[] = {
        {"weights", m->weights_bytes},         {"gradients", m->gradients_bytes},
        {"optimizer", m->optimizer_bytes},     {"gathered weights", m->gathered_bytes},
        {"activations", m->activations_bytes}, {"logits", m->logits_bytes},
        {"overhead", m->overhead_bytes},
    };
    struct cb_strbuf text = {0};
    char size[CB_UNIT_TEXT];
    cb_strbuf_addf(&text, "%s per %s", format_size(size, m->total_bytes), unit_of(page));
    if (m->usable_bytes > 0)
        cb_strbuf_addf(&text, " of %s usable: %s", format_size(size, m->usable_bytes),
                       m->fits ? "fits" : "DOES NOT FIT");
    const char *separator = " (";
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (parts[i].size_bytes < 0.01 * m->total_bytes)
            continue;
        cb_strbuf_addf(&text, "%s%s %s", separator, parts[i].name,
                       format_size(size, parts[i].size_bytes));
        separator = ", ";
    }
    cb_page_field(page, "memory", "%s)", cb_strbuf_get(&text));
    page->out->failed |= text.failed;
    cb_strbuf_fini(&text);
}

/* ---- money and time ---- */

static void add_cost(struct cb_page *page, const struct cb_prediction *prediction)
{
    const struct cb_training *t = &prediction->training;
    const char *currency = prediction->currency;
    char expected[CB_UNIT_TEXT], low[CB_UNIT_TEXT], high[CB_UNIT_TEXT], price[CB_UNIT_TEXT];
    if (prediction->price_per_gpu_hour > 0)
        cb_page_field(page, "idle GPUs", "%s an hour (%s to %s), at %s per GPU and hour (given)",
                      format_money(expected, t->idle_cost_per_hour, currency),
                      format_money(low, t->idle_cost_per_hour_low, ""),
                      format_money(high, t->idle_cost_per_hour_high, ""),
                      format_money(price, prediction->price_per_gpu_hour, currency));
    if (!(t->total_s > 0))
        return;
    cb_page_field(page, "whole training", "%s steps in %s (%s to %s)",
                  cb_format_count(price, t->total_steps), cb_format_time(expected, t->total_s),
                  cb_format_time(low, t->total_low_s), cb_format_time(high, t->total_high_s));
    if (t->cost > 0)
        cb_page_field(page, "", "%s (%s to %s)", format_money(expected, t->cost, currency),
                      format_money(low, t->cost_low, ""), format_money(high, t->cost_high, ""));
}

/* ---- words ---- */

static void add_words(struct cb_page *page, const struct cb_training *t)
{
    const struct cb_formula *formula = &page->result->formula;
    char by_formula[CB_UNIT_TEXT];
    if (t->rule.text[0])
        cb_page_field(page, "rule over 1B", "%s", t->rule.text);
    if (formula->judged && !formula->undecided && formula->bottleneck != t->bound)
        cb_page_field(page, "two verdicts", "the formula finds %s, %s: %s",
                      formula->bottleneck ? "a bottleneck" : "none",
                      format_share(by_formula, formula->share),
                      t->note_count > 0 ? "why they differ is below"
                                        : "it counts all communication, and no latency");
    for (size_t i = 0; i < t->note_count; i++)
        cb_page_field(page, i == 0 ? "note" : "", "%s", t->notes[i].text);
}

static void add_advice(struct cb_page *page, const struct cb_prediction *prediction)
{
    const struct cb_advice_list *advice = &prediction->advice;
    bool charged = prediction->training.bound || page->result->formula.bottleneck;
    if (advice->count == 0) {
        if (charged)
            cb_page_section(page, "ADVICE", "nothing that the model can try lifts the charge");
        return;
    }
    cb_page_section(page, "ADVICE", "what would change the verdict, each tried with the model");
    for (size_t i = 0; i < advice->count; i++) {
        const struct cb_advice *item = &advice->items[i];
        cb_page_text(page, CB_PAGE_INDENT, CB_PAGE_HANG, "%s%s%s%s%s", item->text,
                     item->caveat[0] ? " (" : "", item->caveat, item->caveat[0] ? ")" : "",
                     item->fits ? "" : "; it does not fit the memory");
    }
}

void cb_page_add_training(struct cb_page *page)
{
    const struct cb_prediction *prediction = &page->result->prediction;
    const struct cb_training *t = &prediction->training;
    if (!cb_result_is_predicted(page->result)) {
        if (prediction->note[0])
            cb_page_section(page, "TRAINING", "no model of the step: %s", prediction->note);
        return;
    }
    add_headline(page, t);
    add_step(page, t);
    add_traffic(page, t);
    add_band(page, t);
    add_needs(page, t);
    add_speedup(page, t);
    add_memory(page, t);
    add_cost(page, prediction);
    add_words(page, t);
    add_advice(page, prediction);
}

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "model/scaling.h"
#include "report/page.h"

static void add_path(struct cb_table *table, const char *place, const struct cb_offer_path *path)
{
    char both[CB_UNIT_TEXT], one[CB_UNIT_TEXT], practical[CB_UNIT_TEXT], share[CB_UNIT_TEXT];
    if (!path->link[0])
        return;
    cb_table_add(table, CB_STYLE_PLAIN, "%s", place);
    if (path->ports > 0)
        cb_table_add(table, CB_STYLE_PLAIN, "%d x %s", path->ports, path->link);
    else
        cb_table_add(table, CB_STYLE_PLAIN, "%s", path->link);
    cb_table_add(table, CB_STYLE_PLAIN, "%s", path->per);
    cb_table_add(table, CB_STYLE_PLAIN, "%s",
                 cb_format_bandwidth(both, path->both_ways_bytes_per_s));
    cb_table_add(table, CB_STYLE_PLAIN, "%s", cb_format_bandwidth(one, path->nominal_bytes_per_s));
    cb_table_add(table, CB_STYLE_PLAIN, "%s",
                 cb_format_bandwidth(practical, path->nominal_bytes_per_s * path->share));
    cb_table_add(table, CB_STYLE_PLAIN, "%s", cb_format_share(share, path->share));
}

static void add_links(struct cb_page *page, const struct cb_offer *offer)
{
    static const struct cb_table_column columns[] = {
        {NULL, CB_ALIGN_LEFT, 0},       {"link", CB_ALIGN_LEFT, 0},
        {"per", CB_ALIGN_LEFT, 0},      {"both ways", CB_ALIGN_RIGHT, 0},
        {"one way", CB_ALIGN_RIGHT, 0}, {"practical", CB_ALIGN_RIGHT, 0},
        {"share", CB_ALIGN_RIGHT, 0},
    };
    struct cb_table table;
    if (!offer->intra.link[0] && !offer->inter.link[0])
        return;
    cb_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    add_path(&table, "in a node", &offer->intra);
    add_path(&table, "between nodes", &offer->inter);
    cb_page_table(page, &table);
}

/* Where the practical rate comes from. */
static void add_path_note(struct cb_page *page, const char *place, const struct cb_offer_path *path)
{
    char low[CB_UNIT_TEXT], high[CB_UNIT_TEXT];
    if (!path->link[0])
        return;
    cb_page_field(page, place, "practical of one way: %s to %s (%s: %s)",
                  cb_format_share(low, path->low_share), cb_format_share(high, path->high_share),
                  cb_provenance_name(path->share_source), path->share_note);
    if (path->ports == 1 && path->ports_source == CB_FROM_ASSUMED)
        cb_page_field(page, "", "one port per node assumed; --nics-per-node states another number");
}

/* Why a bus bandwidth below may be above the wire's. */
static void add_tree_note(struct cb_page *page, const struct cb_offer *offer)
{
    double ranks = offer->nodes * offer->gpus_per_node;
    double gain = cb_scaling_tree_gain(offer->nodes) * (ranks - 1) / ranks;
    if (gain > 1 && strcmp(offer->inter.per, "node") == 0)
        cb_page_field(page, "",
                      "over %d nodes an all_reduce can be a tree: its bus bandwidth then reads up "
                      "to %.3g times what the ports carry, which the model counts and the formula "
                      "does not",
                      offer->nodes, gain);
}

/* Where the model of a step says nothing of idle GPUs, the headline's share is what they wait. */
static void add_price(struct cb_page *page, const struct cb_offer *offer)
{
    const struct cb_formula *formula = &page->result->formula;
    const char *gap = offer->currency[0] ? " " : "";
    double hour = offer->price_per_gpu_hour * offer->nodes * offer->gpus_per_node;
    if (!(hour > 0))
        return;
    cb_page_field(page, "price", "%.6g%s%s per GPU and hour, %.6g%s%s per hour for all",
                  offer->price_per_gpu_hour, gap, offer->currency, hour, gap, offer->currency);
    if (formula->judged && formula->share <= 1 && !cb_result_is_predicted(page->result))
        cb_page_field(page, "", "%.3g%s%s of it for GPUs that wait, at the share above",
                      formula->share * hour, gap, offer->currency);
}

void cb_page_add_offer(struct cb_page *page)
{
    const struct cb_offer *offer = &page->result->offer;
    char memory[CB_UNIT_TEXT], peak[CB_UNIT_TEXT], rate[CB_UNIT_TEXT];
    if (offer->nodes == 0)
        return;
    cb_page_section(page, "OFFER", "%d node%s x %d %s", offer->nodes, offer->nodes == 1 ? "" : "s",
                    offer->gpus_per_node, offer->gpu);
    if (offer->doubt[0])
        cb_page_headline(page, "  doubt", CB_STYLE_WARN, "%s", offer->doubt);
    add_links(page, offer);
    add_path_note(page, "in a node", &offer->intra);
    add_path_note(page, "between", &offer->inter);
    add_tree_note(page, offer);
    if (offer->gemm_flops_per_s > 0)
        cb_page_field(page, "compute", "%s per GPU (%s: %s); data sheet %s",
                      cb_format_flops(rate, offer->gemm_flops_per_s),
                      cb_provenance_name(offer->gemm_source), offer->gemm_note,
                      cb_format_flops(peak, offer->peak_flops_per_s));
    if (offer->memory_bytes > 0) {
        snprintf(memory, sizeof(memory), "%.4g GB", offer->memory_bytes / 1e9);
        cb_page_field(page, "memory", "%s per GPU (nominal)", memory);
    }
    add_price(page, offer);
}

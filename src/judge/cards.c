#include "judge/cards.h"

#include <stdlib.h>
#include <string.h>

#include "reference/gpus.h"

const char *cb_cards_host(const struct cb_result *result, int node)
{
    return node >= 0 && (size_t)node < result->nodes.count ? result->nodes.items[node].name : "?";
}

struct cb_card *cb_cards_of_rank(const struct cb_cards *cards, int rank)
{
    return rank >= 0 && (size_t)rank < cards->count ? &cards->items[rank] : NULL;
}

bool cb_cards_measured(const struct cb_kernel_row *row)
{
    return row->threads == 0 && cb_status_is_usable(row->status);
}

static bool is_half(enum cb_dtype dtype)
{
    return dtype == CB_DTYPE_FLOAT16 || dtype == CB_DTYPE_BFLOAT16;
}

static void add_kernel(const struct cb_cards *cards, const struct cb_kernel_row *row)
{
    struct cb_card *card = cb_cards_of_rank(cards, row->rank);
    bool is_gemm = strcmp(row->kernel, "gemm") == 0;
    bool is_memory = strcmp(row->kernel, "read") == 0 || strcmp(row->kernel, "write") == 0;
    if (!card || !cb_cards_measured(row))
        return;
    if (row->small) {
        card->has_small_gemm |= is_gemm;
        card->has_small_memory |= is_memory;
        return;
    }
    card->has_gemm |= is_gemm;
    if (is_gemm && is_half(row->dtype) &&
        (!card->half || row->flops_per_s > card->half->flops_per_s))
        card->half = row;
    if (is_memory && (!card->memory || row->bytes_per_s > card->memory->bytes_per_s))
        card->memory = row;
}

int cb_cards_init(struct cb_cards *cards, const struct cb_result *result)
{
    size_t count = 0;
    for (size_t i = 0; i < result->ranks.count; i++)
        if (result->ranks.items[i].rank >= 0 && (size_t)result->ranks.items[i].rank >= count)
            count = (size_t)result->ranks.items[i].rank + 1;
    if (count > result->ranks.count) /* ranks that a file made up: none has a card */
        count = 0;
    *cards = (struct cb_cards){.result = result, .count = count};
    cards->items = calloc(count + 1, sizeof(*cards->items));
    if (!cards->items)
        return CB_E_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const struct cb_rank *rank = &result->ranks.items[i];
        struct cb_card *card = cb_cards_of_rank(cards, rank->rank);
        if (card)
            *card = (struct cb_card){.host = cb_cards_host(result, rank->node), .rank = rank->rank};
    }
    for (size_t i = 0; i < result->gpus.count; i++) {
        struct cb_card *card = cb_cards_of_rank(cards, result->gpus.items[i].rank);
        if (!card || !result->gpus.items[i].answered)
            continue;
        card->gpu = &result->gpus.items[i];
        /* A part of a card has less of everything. */
        card->reference = card->gpu->mig == 1
                              ? NULL
                              : cb_gpu_reference_of_card(card->gpu->name, card->gpu->pci_device_id);
    }
    for (size_t i = 0; i < result->kernels.count; i++)
        add_kernel(cards, &result->kernels.items[i]);
    return CB_OK;
}

void cb_cards_say_none(const struct cb_result *result, struct cb_card_finding *finding)
{
    finding->value = -1;
    CB_SAY(finding, "%.190s",
           result->gpu_reason[0] ? result->gpu_reason : "nothing is known of any GPU");
}

void cb_cards_fini(struct cb_cards *cards)
{
    free(cards->items);
    *cards = (struct cb_cards){0};
}

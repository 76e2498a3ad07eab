#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "judge/cards.h"
#include "judge/published.h"
#include "reference/gpus.h"

/* A busy card: more than noise of the counters, and more than a driver keeps for itself. */
static const double busy_utilization = 0.05;
static const double busy_memory_bytes = 1024.0 * 1024 * 1024;
/* A card's memory in bytes is at least its nominal GB, ECC or not: below this it was cut. */
static const double least_memory_share = 0.98;
/* Rates beyond what the clock allows, more than timing errs. */
static const double most_peak_share = 1.02;

/* ---- identity and state ---- */

static const struct cb_gpu_reference *reference_of(const struct cb_gpu *gpu)
{
    return cb_gpu_reference_of_card(gpu->name, gpu->pci_device_id);
}

/* Whether a card is not what it is called; why is then filled. */
static bool is_impostor(const struct cb_cards *cards, const struct cb_gpu *gpu,
                        const struct cb_gpu_reference *reference, char *why, size_t why_size)
{
    const struct cb_gpu_reference *by_device = cb_gpu_reference_find_device(gpu->pci_device_id);
    const struct cb_card *card = cb_cards_of_rank(cards, gpu->rank);
    if (by_device && by_device != reference) {
        snprintf(why, why_size, "its device id %04x is the %s's", (unsigned)gpu->pci_device_id,
                 by_device->name);
        return true;
    }
    if (gpu->mig == 1)
        return false; /* a slice has less of everything */
    if (gpu->memory_bytes > 0 && reference->memory_bytes > 0 &&
        gpu->memory_bytes < reference->memory_bytes * least_memory_share) {
        snprintf(why, why_size, "%.1f GB of %.0f GB memory", gpu->memory_bytes / 1e9,
                 reference->memory_bytes / 1e9);
        return true;
    }
    if (gpu->sm_count > 0 && reference->sm_count > 0 && gpu->sm_count < reference->sm_count) {
        snprintf(why, why_size, "%d of %d multiprocessors", gpu->sm_count, reference->sm_count);
        return true;
    }
    int multiply_adds = cb_gpu_reference_multiply_adds(reference);
    double most = 2.0 * gpu->sm_count * multiply_adds * gpu->sm_clock_limit_hz;
    if (card && card->half && gpu->sm_count > 0 && multiply_adds > 0 &&
        gpu->sm_clock_limit_hz > 0 && card->half->flops_per_s > most * most_peak_share) {
        char rate[CB_UNIT_TEXT], limit[CB_UNIT_TEXT];
        snprintf(why, why_size, "%s, where its multiprocessors and clock allow %s",
                 cb_format_flops(rate, card->half->flops_per_s), cb_format_flops(limit, most));
        return true;
    }
    return false;
}

static void judge_identity(const struct cb_cards *cards, struct cb_check *check)
{
    const struct cb_result *result = cards->result;
    struct cb_card_finding found = {.value = 0};
    size_t compared = 0;
    const struct cb_gpu *unknown = NULL, *last = NULL;
    bool mixed = false;
    char why[96];
    for (size_t i = 0; i < result->gpus.count; i++) {
        const struct cb_gpu *gpu = &result->gpus.items[i];
        if (!gpu->answered)
            continue;
        const struct cb_gpu_reference *reference = reference_of(gpu);
        mixed |= last && strcmp(last->name, gpu->name) != 0;
        last = gpu;
        if (!reference) {
            unknown = gpu;
            continue;
        }
        compared++;
        if (is_impostor(cards, gpu, reference, why, sizeof(why)) && found.value++ == 0)
            CB_SAY(&found, "%.40s GPU %d, %.60s: %.80s", cb_cards_host(result, gpu->node),
                   gpu->index, gpu->name, why);
    }
    if (!last)
        cb_cards_say_none(result, &found);
    else if (compared == 0)
        CB_SAY(&found, "%.96s is not in the table of references", unknown->name);
    else if (found.value == 0 && !cb_gpu_reference_find_name(last->name))
        CB_SAY(&found, "%zu x %.60s%s, by its device id a %.60s", compared, last->name,
               mixed ? " and others" : "", reference_of(last) ? reference_of(last)->name : "?");
    else if (found.value == 0)
        CB_SAY(&found, "%zu x %.96s%s", compared, last->name, mixed ? " and others" : "");
    if (last && compared == 0)
        found.value = -1;
    cb_criterion_judge(CB_CRITERION_GPU_IDENTITY, found.value, 0, 0, found.note, check);
    if (last && compared == 0)
        check->status = CB_CHECK_NO_REFERENCE;
}

/* Says whether a GPU is in a state that a check is about: 1 with why, 0, or -1 when it is unknown.
 */
typedef int state_of_gpu(const struct cb_cards *cards, const struct cb_gpu *gpu, char *why,
                         size_t why_size);

static void judge_state(const struct cb_cards *cards, enum cb_criterion criterion,
                        state_of_gpu *state, const char *unknown, struct cb_check *check)
{
    const struct cb_result *result = cards->result;
    struct cb_card_finding found = {.value = 0};
    size_t told = 0, answered = 0;
    char why[96];
    for (size_t i = 0; i < result->gpus.count; i++) {
        const struct cb_gpu *gpu = &result->gpus.items[i];
        int is_so = gpu->answered ? state(cards, gpu, why, sizeof(why)) : -1;
        answered += gpu->answered;
        told += is_so >= 0;
        if (is_so > 0 && found.value++ == 0)
            CB_SAY(&found, "%.40s GPU %d: %.96s", cb_cards_host(result, gpu->node), gpu->index,
                   why);
    }
    if (answered == 0)
        cb_cards_say_none(result, &found);
    else if (told == 0)
        CB_SAY(&found, "%s", unknown);
    else if (found.value == 0)
        CB_SAY(&found, "%zu GPUs looked at", told);
    if (told == 0)
        found.value = -1;
    cb_criterion_judge(criterion, found.value, 0, 0, found.note, check);
}

static int is_busy(const struct cb_cards *cards, const struct cb_gpu *gpu, char *why,
                   size_t why_size)
{
    char memory[CB_UNIT_TEXT], share[CB_UNIT_TEXT];
    (void)cards;
    if (gpu->idle_processes > 0)
        snprintf(why, why_size, "%d process%s it", gpu->idle_processes,
                 gpu->idle_processes == 1 ? " uses" : "es use");
    else if (gpu->idle_utilization > busy_utilization)
        snprintf(why, why_size, "%s busy", cb_format_share(share, gpu->idle_utilization));
    else if (gpu->idle_memory_bytes > busy_memory_bytes)
        snprintf(why, why_size, "%s of its memory in use",
                 cb_format_bytes(memory, (uint64_t)gpu->idle_memory_bytes));
    else
        return gpu->idle_processes < 0 && gpu->idle_utilization < 0 && gpu->idle_memory_bytes < 0
                   ? -1
                   : 0;
    return 1;
}

static int is_limited(const struct cb_cards *cards, const struct cb_gpu *gpu, char *why,
                      size_t why_size)
{
    (void)cards;
    if (gpu->power_limit_w <= 0 || gpu->power_limit_default_w <= 0)
        return -1;
    snprintf(why, why_size, "%.0f W of %.0f W", gpu->power_limit_w, gpu->power_limit_default_w);
    return gpu->power_limit_w < gpu->power_limit_default_w - 0.5;
}

static int has_failing_memory(const struct cb_cards *cards, const struct cb_gpu *gpu, char *why,
                              size_t why_size)
{
    (void)cards;
    if (gpu->rows_failed > 0)
        snprintf(why, why_size, "a memory row could not be replaced");
    else if (gpu->rows_pending > 0)
        snprintf(why, why_size, "a memory row waits for its replacement");
    else if (gpu->rows_failed < 0 && gpu->ecc_uncorrected > 0)
        snprintf(why, why_size, "%.0f uncorrectable errors in its life", gpu->ecc_uncorrected);
    else
        return gpu->rows_failed < 0 && gpu->ecc_uncorrected < 0 ? -1 : 0;
    return 1;
}

/* ---- rates ---- */

static void judge_rates(const struct cb_card_finding *found, enum cb_criterion criterion,
                        struct cb_check *check)
{
    cb_criterion_judge(criterion, found->value, found->reference, 0, found->note, check);
}

static void say_no_reference(const struct cb_card *card, struct cb_card_finding *finding)
{
    if (card->gpu && card->gpu->mig == 1)
        CB_SAY(finding, "MIG is on: a part of %.96s has no reference", card->gpu->name);
    else
        CB_SAY(finding, "%.96s is not in the table of references",
               card->gpu ? card->gpu->name : "this GPU, whose name is unknown,");
}

/* Why there is no row of a kernel on a GPU. */
static void say_no_kernel(const struct cb_cards *cards, const char *kernel,
                          struct cb_card_finding *finding)
{
    const struct cb_result *result = cards->result;
    if (result->gpus.count == 0) {
        cb_cards_say_none(result, finding);
        finding->value = 0;
        return;
    }
    CB_SAY(finding, "no %s was measured on a GPU", kernel);
    for (size_t i = 0; i < result->kernels.count; i++) {
        const struct cb_kernel_row *row = &result->kernels.items[i];
        if (strcmp(row->kernel, kernel) != 0)
            continue;
        if (cb_cards_measured(row) && row->small) {
            CB_SAY(finding, "%s %s is too small to judge by (%s): too little memory was free",
                   kernel, cb_dtype_name(row->dtype), row->variant);
            return;
        }
        if (row->reason[0]) {
            CB_SAY(finding, "%.190s", row->reason);
            return;
        }
    }
}

/* The answer for the other cards is none for those that had too little free memory. */
static void say_left_out(size_t left_out, const struct cb_cards *cards,
                         struct cb_card_finding *finding)
{
    size_t length = strlen(finding->note);
    if (left_out > 0)
        snprintf(finding->note + length, sizeof(finding->note) - length,
                 "; %zu of %zu too small to judge", left_out, cards->count);
}

static void say_compute(const struct cb_card *card, const struct cb_kernel_row *row,
                        const struct cb_achievable *published, struct cb_card_finding *finding)
{
    char low[CB_UNIT_TEXT], high[CB_UNIT_TEXT], share[CB_UNIT_TEXT];
    double peak = cb_gpu_reference_peak(card->reference, row->dtype);
    char sheet[64] = "";
    if (peak > 0)
        snprintf(sheet, sizeof(sheet), "; %s of the data sheet",
                 cb_format_share(share, row->flops_per_s / peak));
    finding->value = row->flops_per_s;
    finding->reference = published->low_per_s;
    if (published->source)
        CB_SAY(finding, "%s on %.30s/%d; healthy cards %s to %s%s", cb_dtype_name(row->dtype),
               card->host, card->rank, cb_format_flops(low, published->low_per_s),
               cb_format_flops(high, published->high_per_s), sheet);
    else
        CB_SAY(finding, "no rate of healthy cards is published for %.60s in %s%s",
               card->reference->name, cb_dtype_name(row->dtype), sheet);
}

static void judge_compute(const struct cb_cards *cards, struct cb_check *check)
{
    struct cb_card_finding found = {.value = 0};
    double worst = INFINITY;
    bool measured = false;
    for (size_t i = 0; i < cards->result->kernels.count; i++) {
        const struct cb_kernel_row *row = &cards->result->kernels.items[i];
        const struct cb_card *card = cb_cards_of_rank(cards, row->rank);
        struct cb_achievable published = {.source = NULL};
        if (!card || !cb_cards_measured(row) || row->small || strcmp(row->kernel, "gemm") != 0)
            continue;
        if (card->reference)
            cb_gpu_reference_achievable(card->reference, CB_RATE_BURST, row->dtype, &published);
        if (published.source && row->flops_per_s / published.low_per_s < worst) {
            worst = row->flops_per_s / published.low_per_s;
            say_compute(card, row, &published, &found);
        } else if (!published.source && card->reference && !measured) {
            say_compute(card, row, &published, &found);
        } else if (!card->reference && !measured) {
            found.value = row->flops_per_s;
            say_no_reference(card, &found);
        }
        measured = true;
    }
    size_t left_out = 0;
    for (size_t i = 0; i < cards->count; i++)
        left_out += cards->items[i].has_small_gemm && !cards->items[i].has_gemm;
    if (!measured)
        say_no_kernel(cards, "gemm", &found);
    else
        say_left_out(left_out, cards, &found);
    judge_rates(&found, CB_CRITERION_GPU_COMPUTE, check);
}

static void judge_memory(const struct cb_cards *cards, struct cb_check *check)
{
    struct cb_card_finding found = {.value = 0};
    double worst = INFINITY;
    bool measured = false;
    size_t left_out = 0;
    for (size_t i = 0; i < cards->count; i++) {
        const struct cb_card *card = &cards->items[i];
        left_out += card->has_small_memory && !card->memory;
        if (!card->memory)
            continue;
        double nominal = card->reference ? card->reference->memory_bytes_per_s : 0;
        double share = nominal > 0 ? card->memory->bytes_per_s / nominal : INFINITY;
        if (measured && share >= worst)
            continue;
        measured = true;
        worst = share;
        found.value = card->memory->bytes_per_s;
        found.reference = nominal > 0 ? nominal : 0;
        if (nominal > 0)
            CB_SAY(&found, "%s on %.40s/%d, the better of read and write", card->memory->kernel,
                   card->host, card->rank);
        else if (card->reference)
            CB_SAY(&found, "the memory rate of %.96s is not in the table of references",
                   card->gpu->name);
        else
            say_no_reference(card, &found);
    }
    if (!measured)
        say_no_kernel(cards, "read", &found);
    else
        say_left_out(left_out, cards, &found);
    judge_rates(&found, CB_CRITERION_GPU_MEMORY, check);
}

/* A link is only asked for what it can do while the card works. */
static int has_narrow_link(const struct cb_cards *cards, const struct cb_gpu *gpu, char *why,
                           size_t why_size)
{
    for (size_t i = 0; i < cards->result->burns.count; i++) {
        const struct cb_burn_row *burn = &cards->result->burns.items[i];
        if (burn->rank != gpu->rank || burn->pcie_generation <= 0 || burn->pcie_width <= 0 ||
            gpu->pcie_generation_limit <= 0 || gpu->pcie_width_limit <= 0)
            continue;
        snprintf(why, why_size, "generation %d x%d of %d x%d", burn->pcie_generation,
                 burn->pcie_width, gpu->pcie_generation_limit, gpu->pcie_width_limit);
        return burn->pcie_generation < gpu->pcie_generation_limit ||
               burn->pcie_width < gpu->pcie_width_limit;
    }
    return -1;
}

int cb_checks_judge_gpus(const struct cb_result *result, struct cb_check *checks,
                         struct cb_error *err)
{
    struct cb_cards cards;
    if (cb_cards_init(&cards, result))
        return cb_fail(err, CB_E_MEMORY, "no memory for the checks of %zu ranks",
                       result->ranks.count);
    judge_identity(&cards, &checks[CB_CRITERION_GPU_IDENTITY]);
    judge_state(&cards, CB_CRITERION_GPU_IDLE, is_busy, "the driver does not tell what uses a GPU",
                &checks[CB_CRITERION_GPU_IDLE]);
    judge_state(&cards, CB_CRITERION_GPU_POWER_LIMIT, is_limited,
                "the driver does not tell power limits", &checks[CB_CRITERION_GPU_POWER_LIMIT]);
    judge_state(&cards, CB_CRITERION_GPU_MEMORY_HEALTH, has_failing_memory,
                "the driver does not tell memory errors", &checks[CB_CRITERION_GPU_MEMORY_HEALTH]);
    judge_compute(&cards, &checks[CB_CRITERION_GPU_COMPUTE]);
    judge_memory(&cards, &checks[CB_CRITERION_GPU_MEMORY]);
    cb_checks_judge_burns(&cards, checks);
    judge_state(&cards, CB_CRITERION_GPU_PCIE, has_narrow_link,
                result->burns.count > 0 ? "the driver does not tell the link of a GPU under load"
                                        : "no burn: run with --burn 30m",
                &checks[CB_CRITERION_GPU_PCIE]);
    cb_published_check_result(result, &checks[CB_CRITERION_GPU_PUBLISHED]);
    cb_cards_fini(&cards);
    return CB_OK;
}

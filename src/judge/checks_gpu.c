#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "judge/checks.h"
#include "judge/published.h"
#include "reference/gpus.h"

/* A busy card: more than noise of the counters, and more than a driver keeps for itself. */
static const double busy_utilization = 0.05;
static const double busy_memory_bytes = 1024.0 * 1024 * 1024;
/* A card's memory in bytes is at least its nominal GB, ECC or not: below this it was cut. */
static const double least_memory_share = 0.98;
/* Rates beyond what the clock allows, more than timing errs. */
static const double most_peak_share = 1.02;

/* One rank's GPU and what was measured on it. */
struct card {
    const struct cb_gpu *gpu;
    const struct cb_gpu_reference *reference; /* NULL: not in the table, or partitioned */
    const char *host;
    int rank;
    const struct cb_kernel_row *half;   /* GEMM in float16 or bfloat16, the faster */
    const struct cb_kernel_row *memory; /* read or write, the faster */
    bool has_gemm;                      /* that is judged, in any type */
    bool has_small_gemm, has_small_memory;
};

struct view {
    const struct cb_result *result;
    struct card *cards; /* by rank */
    size_t count;
};

/* A number with what it is compared with and what is to be said about it. */
struct finding {
    double value, reference;
    char note[192];
};

#define SAY(finding, ...) snprintf((finding)->note, sizeof((finding)->note), __VA_ARGS__)

/* ---- what is known ---- */

static const struct cb_gpu_reference *find_reference(const struct cb_gpu *gpu)
{
    return cb_gpu_reference_of_card(gpu->name, gpu->pci_device_id);
}

static const char *host_of(const struct cb_result *result, int node)
{
    return node >= 0 && (size_t)node < result->nodes.count ? result->nodes.items[node].name : "?";
}

static struct card *card_of(const struct view *view, int rank)
{
    return rank >= 0 && (size_t)rank < view->count ? &view->cards[rank] : NULL;
}

/* Rows of a GPU use no threads of the host. */
static bool is_of_gpu(const struct cb_kernel_row *row)
{
    return row->threads == 0 && cb_status_is_usable(row->status);
}

static bool is_half(enum cb_dtype dtype)
{
    return dtype == CB_DTYPE_FLOAT16 || dtype == CB_DTYPE_BFLOAT16;
}

static void add_kernel(const struct view *view, const struct cb_kernel_row *row)
{
    struct card *card = card_of(view, row->rank);
    bool is_gemm = strcmp(row->kernel, "gemm") == 0;
    bool is_memory = strcmp(row->kernel, "read") == 0 || strcmp(row->kernel, "write") == 0;
    if (!card || !is_of_gpu(row))
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

static int init_view(struct view *view, const struct cb_result *result)
{
    size_t count = 0;
    for (size_t i = 0; i < result->ranks.count; i++)
        if (result->ranks.items[i].rank >= 0 && (size_t)result->ranks.items[i].rank >= count)
            count = (size_t)result->ranks.items[i].rank + 1;
    if (count > result->ranks.count) /* ranks that a file made up: none has a card */
        count = 0;
    *view = (struct view){.result = result, .count = count};
    view->cards = calloc(count + 1, sizeof(*view->cards));
    if (!view->cards)
        return CB_E_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const struct cb_rank *rank = &result->ranks.items[i];
        struct card *card = card_of(view, rank->rank);
        if (card)
            *card = (struct card){.host = host_of(result, rank->node), .rank = rank->rank};
    }
    for (size_t i = 0; i < result->gpus.count; i++) {
        struct card *card = card_of(view, result->gpus.items[i].rank);
        if (!card || !result->gpus.items[i].answered)
            continue;
        card->gpu = &result->gpus.items[i];
        /* A part of a card has less of everything. */
        card->reference = card->gpu->mig == 1 ? NULL : find_reference(card->gpu);
    }
    for (size_t i = 0; i < result->kernels.count; i++)
        add_kernel(view, &result->kernels.items[i]);
    return CB_OK;
}

/* Why nothing is known of any GPU. */
static void say_no_gpu(const struct cb_result *result, struct finding *finding)
{
    finding->value = -1;
    SAY(finding, "%.190s",
        result->gpu_reason[0] ? result->gpu_reason : "nothing is known of any GPU");
}

/* ---- identity and state ---- */

/* Whether a card is not what it is called; why is then filled. */
static bool is_impostor(const struct view *view, const struct cb_gpu *gpu,
                        const struct cb_gpu_reference *reference, char *why, size_t why_size)
{
    const struct cb_gpu_reference *by_device = cb_gpu_reference_find_device(gpu->pci_device_id);
    const struct card *card = card_of(view, gpu->rank);
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

static void judge_identity(const struct view *view, struct cb_check *check)
{
    const struct cb_result *result = view->result;
    struct finding found = {.value = 0};
    size_t compared = 0;
    const struct cb_gpu *unknown = NULL, *last = NULL;
    bool mixed = false;
    char why[96];
    for (size_t i = 0; i < result->gpus.count; i++) {
        const struct cb_gpu *gpu = &result->gpus.items[i];
        if (!gpu->answered)
            continue;
        const struct cb_gpu_reference *reference = find_reference(gpu);
        mixed |= last && strcmp(last->name, gpu->name) != 0;
        last = gpu;
        if (!reference) {
            unknown = gpu;
            continue;
        }
        compared++;
        if (is_impostor(view, gpu, reference, why, sizeof(why)) && found.value++ == 0)
            SAY(&found, "%.40s GPU %d, %.60s: %.80s", host_of(result, gpu->node), gpu->index,
                gpu->name, why);
    }
    if (!last)
        say_no_gpu(result, &found);
    else if (compared == 0)
        SAY(&found, "%.96s is not in the table of references", unknown->name);
    else if (found.value == 0 && !cb_gpu_reference_find_name(last->name))
        SAY(&found, "%zu x %.60s%s, by its device id a %.60s", compared, last->name,
            mixed ? " and others" : "", find_reference(last) ? find_reference(last)->name : "?");
    else if (found.value == 0)
        SAY(&found, "%zu x %.96s%s", compared, last->name, mixed ? " and others" : "");
    if (last && compared == 0)
        found.value = -1;
    cb_criterion_judge(CB_CRITERION_GPU_IDENTITY, found.value, 0, 0, found.note, check);
    if (last && compared == 0)
        check->status = CB_CHECK_NO_REFERENCE;
}

/* Says whether a GPU is in a state that a check is about: 1 with why, 0, or -1 when it is unknown.
 */
typedef int state_of_gpu(const struct view *view, const struct cb_gpu *gpu, char *why,
                         size_t why_size);

static void judge_state(const struct view *view, enum cb_criterion criterion, state_of_gpu *state,
                        const char *unknown, struct cb_check *check)
{
    const struct cb_result *result = view->result;
    struct finding found = {.value = 0};
    size_t told = 0, answered = 0;
    char why[96];
    for (size_t i = 0; i < result->gpus.count; i++) {
        const struct cb_gpu *gpu = &result->gpus.items[i];
        int is_so = gpu->answered ? state(view, gpu, why, sizeof(why)) : -1;
        answered += gpu->answered;
        told += is_so >= 0;
        if (is_so > 0 && found.value++ == 0)
            SAY(&found, "%.40s GPU %d: %.96s", host_of(result, gpu->node), gpu->index, why);
    }
    if (answered == 0)
        say_no_gpu(result, &found);
    else if (told == 0)
        SAY(&found, "%s", unknown);
    else if (found.value == 0)
        SAY(&found, "%zu GPUs looked at", told);
    if (told == 0)
        found.value = -1;
    cb_criterion_judge(criterion, found.value, 0, 0, found.note, check);
}

static int is_busy(const struct view *view, const struct cb_gpu *gpu, char *why, size_t why_size)
{
    char memory[CB_UNIT_TEXT], share[CB_UNIT_TEXT];
    (void)view;
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

static int is_limited(const struct view *view, const struct cb_gpu *gpu, char *why, size_t why_size)
{
    (void)view;
    if (gpu->power_limit_w <= 0 || gpu->power_limit_default_w <= 0)
        return -1;
    snprintf(why, why_size, "%.0f W of %.0f W", gpu->power_limit_w, gpu->power_limit_default_w);
    return gpu->power_limit_w < gpu->power_limit_default_w - 0.5;
}

static int has_failing_memory(const struct view *view, const struct cb_gpu *gpu, char *why,
                              size_t why_size)
{
    (void)view;
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

static void judge_rates(const struct finding *found, enum cb_criterion criterion,
                        struct cb_check *check)
{
    cb_criterion_judge(criterion, found->value, found->reference, 0, found->note, check);
}

static void say_no_reference(const struct card *card, struct finding *finding)
{
    if (card->gpu && card->gpu->mig == 1)
        SAY(finding, "MIG is on: a part of %.96s has no reference", card->gpu->name);
    else
        SAY(finding, "%.96s is not in the table of references",
            card->gpu ? card->gpu->name : "this GPU, whose name is unknown,");
}

/* Why there is no row of a kernel on a GPU. */
static void say_no_kernel(const struct view *view, const char *kernel, struct finding *finding)
{
    const struct cb_result *result = view->result;
    if (result->gpus.count == 0) {
        say_no_gpu(result, finding);
        finding->value = 0;
        return;
    }
    SAY(finding, "no %s was measured on a GPU", kernel);
    for (size_t i = 0; i < result->kernels.count; i++) {
        const struct cb_kernel_row *row = &result->kernels.items[i];
        if (strcmp(row->kernel, kernel) != 0)
            continue;
        if (is_of_gpu(row) && row->small) {
            SAY(finding, "%s %s is too small to judge by (%s): too little memory was free", kernel,
                cb_dtype_name(row->dtype), row->variant);
            return;
        }
        if (row->reason[0]) {
            SAY(finding, "%.190s", row->reason);
            return;
        }
    }
}

/* The answer for the other cards is none for those that had too little free memory. */
static void say_left_out(size_t left_out, const struct view *view, struct finding *finding)
{
    size_t length = strlen(finding->note);
    if (left_out > 0)
        snprintf(finding->note + length, sizeof(finding->note) - length,
                 "; %zu of %zu too small to judge", left_out, view->count);
}

static void say_compute(const struct card *card, const struct cb_kernel_row *row,
                        const struct cb_achievable *published, struct finding *finding)
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
        SAY(finding, "%s on %.30s/%d; healthy cards %s to %s%s", cb_dtype_name(row->dtype),
            card->host, card->rank, cb_format_flops(low, published->low_per_s),
            cb_format_flops(high, published->high_per_s), sheet);
    else
        SAY(finding, "no rate of healthy cards is published for %.60s in %s%s",
            card->reference->name, cb_dtype_name(row->dtype), sheet);
}

static void judge_compute(const struct view *view, struct cb_check *check)
{
    struct finding found = {.value = 0};
    double worst = INFINITY;
    bool measured = false;
    for (size_t i = 0; i < view->result->kernels.count; i++) {
        const struct cb_kernel_row *row = &view->result->kernels.items[i];
        const struct card *card = card_of(view, row->rank);
        struct cb_achievable published = {.source = NULL};
        if (!card || !is_of_gpu(row) || row->small || strcmp(row->kernel, "gemm") != 0)
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
    for (size_t i = 0; i < view->count; i++)
        left_out += view->cards[i].has_small_gemm && !view->cards[i].has_gemm;
    if (!measured)
        say_no_kernel(view, "gemm", &found);
    else
        say_left_out(left_out, view, &found);
    judge_rates(&found, CB_CRITERION_GPU_COMPUTE, check);
}

static void judge_memory(const struct view *view, struct cb_check *check)
{
    struct finding found = {.value = 0};
    double worst = INFINITY;
    bool measured = false;
    size_t left_out = 0;
    for (size_t i = 0; i < view->count; i++) {
        const struct card *card = &view->cards[i];
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
            SAY(&found, "%s on %.40s/%d, the better of read and write", card->memory->kernel,
                card->host, card->rank);
        else if (card->reference)
            SAY(&found, "the memory rate of %.96s is not in the table of references",
                card->gpu->name);
        else
            say_no_reference(card, &found);
    }
    if (!measured)
        say_no_kernel(view, "read", &found);
    else
        say_left_out(left_out, view, &found);
    judge_rates(&found, CB_CRITERION_GPU_MEMORY, check);
}

/* ---- burn ---- */

static bool has_burned(const struct cb_burn_row *burn)
{
    return cb_status_is_usable(burn->status) || burn->status == CB_STATUS_WRONG || burn->lost;
}

static void say_no_burn(const struct cb_result *result, struct finding *finding)
{
    if (result->gpus.count + result->burns.count == 0) {
        say_no_gpu(result, finding);
        return;
    }
    finding->value = -1;
    SAY(finding, "no burn: run with --burn 30m");
    for (size_t i = 0; i < result->burns.count; i++)
        if (result->burns.items[i].reason[0]) {
            SAY(finding, "%.190s", result->burns.items[i].reason);
            return;
        }
}

static void judge_burn_errors(const struct view *view, struct cb_check *check)
{
    const struct cb_result *result = view->result;
    struct finding found = {.value = 0};
    const struct cb_burn_row *bad = NULL;
    size_t burned = 0;
    double checks = 0;
    for (size_t i = 0; i < result->burns.count; i++) {
        const struct cb_burn_row *burn = &result->burns.items[i];
        if (!has_burned(burn))
            continue;
        double errors = (double)burn->wrong + fmax(burn->ecc_uncorrected, 0) + burn->lost +
                        (burn->status == CB_STATUS_WRONG && burn->wrong == 0);
        burned++;
        checks += burn->checks;
        found.value += errors;
        bad = errors > 0 && !bad ? burn : bad;
    }
    if (burned == 0) {
        say_no_burn(result, &found);
    } else if (bad) {
        const struct card *card = card_of(view, bad->rank);
        SAY(&found, "%.40s/%d: %llu wrong elements, %.0f uncorrectable errors%s",
            card ? card->host : "?", bad->rank, (unsigned long long)bad->wrong,
            fmax(bad->ecc_uncorrected, 0), bad->lost ? ", and it fell off the bus" : "");
    } else {
        SAY(&found, "%zu ranks, %.0f products verified", burned, checks);
    }
    cb_criterion_judge(CB_CRITERION_GPU_BURN_ERRORS, found.value, 0, 0, found.note, check);
}

static void judge_burn_time(const struct view *view, struct cb_check *check)
{
    const struct cb_result *result = view->result;
    struct finding found = {.value = 0};
    for (size_t i = 0; i < result->burns.count; i++) {
        const struct cb_burn_row *burn = &result->burns.items[i];
        if (has_burned(burn) && (found.value == 0 || burn->elapsed_s < found.value))
            found.value = burn->elapsed_s;
    }
    if (found.value <= 0)
        say_no_burn(result, &found);
    else
        SAY(&found, "the burn is partial: some errors come with heat and time");
    cb_criterion_judge(CB_CRITERION_GPU_BURN_TIME, found.value, 0, 0, found.note, check);
    if (check->status == CB_CHECK_MET)
        snprintf(check->summary, sizeof(check->summary), "the whole burn was done");
}

/* What a check takes from one burn: negative when the burn does not tell. */
typedef double share_of_burn(const struct cb_burn_row *burn);

static double clock_share(const struct cb_burn_row *burn)
{
    return burn->sm_clock_median_hz > 0
               ? (burn->sm_clock_p95_hz - burn->sm_clock_p5_hz) / burn->sm_clock_median_hz
               : -1;
}

static double power_share(const struct cb_burn_row *burn)
{
    return burn->power_median_w > 0 ? fmax(burn->power_highest_w - burn->power_median_w,
                                           burn->power_median_w - burn->power_lowest_w) /
                                          burn->power_median_w
                                    : -1;
}

static double sag_share(const struct cb_burn_row *burn)
{
    return burn->first_flops_per_s > 0 && burn->last_flops_per_s > 0
               ? fmax(1 - burn->last_flops_per_s / burn->first_flops_per_s, 0)
               : -1;
}

static double throttle_share(const struct cb_burn_row *burn)
{
    return burn->throttled_share;
}

static void say_clock(const struct card *card, const struct cb_burn_row *burn,
                      struct finding *finding)
{
    char limit[48] = "";
    if (card && card->gpu && card->gpu->sm_clock_limit_hz > 0)
        snprintf(limit, sizeof(limit), " of %.0f", card->gpu->sm_clock_limit_hz / 1e6);
    /* Usual under tensor load, and a reason for a clock that moves. */
    bool is_capped = burn->throttle > 0 && (burn->throttle & CB_THROTTLE_POWER_CAP);
    SAY(finding, "%.40s/%d, (p95 - p5) / median; median %.0f%s MHz%s", card ? card->host : "?",
        burn->rank, burn->sm_clock_median_hz / 1e6, limit, is_capped ? ", at its power cap" : "");
}

static void say_power(const struct card *card, const struct cb_burn_row *burn,
                      struct finding *finding)
{
    char limit[64] = "";
    if (card && card->gpu && card->gpu->power_limit_w > 0)
        snprintf(limit, sizeof(limit), ", %.0f %% of its limit",
                 100 * burn->power_median_w / card->gpu->power_limit_w);
    SAY(finding, "%.40s/%d, mean over 10 s, %.0f to %.0f W around %.0f W%s",
        card ? card->host : "?", burn->rank, burn->power_lowest_w, burn->power_highest_w,
        burn->power_median_w, limit);
}

static void say_sag(const struct card *card, const struct cb_burn_row *burn,
                    struct finding *finding)
{
    char first[CB_UNIT_TEXT], last[CB_UNIT_TEXT];
    SAY(finding, "%.40s/%d, from %s to %s", card ? card->host : "?", burn->rank,
        cb_format_flops(first, burn->first_flops_per_s),
        cb_format_flops(last, burn->last_flops_per_s));
}

static void say_throttle(const struct card *card, const struct cb_burn_row *burn,
                         struct finding *finding)
{
    char reasons[128];
    SAY(finding, "of the samples on %.40s/%d; reasons seen: %s", card ? card->host : "?",
        burn->rank, cb_throttle_text(burn->throttle, reasons, sizeof(reasons)));
}

static const struct burn_check {
    enum cb_criterion criterion;
    share_of_burn *share;
    void (*say)(const struct card *card, const struct cb_burn_row *burn, struct finding *finding);
} burn_checks[] = {
    {CB_CRITERION_GPU_CLOCK, clock_share, say_clock},
    {CB_CRITERION_GPU_POWER, power_share, say_power},
    {CB_CRITERION_GPU_SAG, sag_share, say_sag},
    {CB_CRITERION_GPU_THROTTLE, throttle_share, say_throttle},
};

/* The worst burn decides. */
static void judge_burn(const struct view *view, const struct burn_check *burn_check,
                       struct cb_check *check)
{
    const struct cb_result *result = view->result;
    struct finding found = {.value = -1};
    const struct cb_burn_row *worst = NULL;
    size_t burned = 0;
    for (size_t i = 0; i < result->burns.count; i++) {
        const struct cb_burn_row *burn = &result->burns.items[i];
        double share = has_burned(burn) ? burn_check->share(burn) : -1;
        burned += has_burned(burn);
        if (share >= 0 && (!worst || share > found.value)) {
            found.value = share;
            worst = burn;
        }
    }
    if (worst)
        burn_check->say(card_of(view, worst->rank), worst, &found);
    else
        say_no_burn(result, &found);
    if (!worst && burned > 0 && !result->burns.items[0].reason[0])
        SAY(&found, "the burn was too short to tell, or the driver does not");
    cb_criterion_judge(burn_check->criterion, found.value, 0, 0, found.note, check);
}

/* A link is only asked for what it can do while the card works. */
static int has_narrow_link(const struct view *view, const struct cb_gpu *gpu, char *why,
                           size_t why_size)
{
    for (size_t i = 0; i < view->result->burns.count; i++) {
        const struct cb_burn_row *burn = &view->result->burns.items[i];
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
    struct view view;
    if (init_view(&view, result))
        return cb_fail(err, CB_E_MEMORY, "no memory for the checks of %zu ranks",
                       result->ranks.count);
    judge_identity(&view, &checks[CB_CRITERION_GPU_IDENTITY]);
    judge_state(&view, CB_CRITERION_GPU_IDLE, is_busy, "the driver does not tell what uses a GPU",
                &checks[CB_CRITERION_GPU_IDLE]);
    judge_state(&view, CB_CRITERION_GPU_POWER_LIMIT, is_limited,
                "the driver does not tell power limits", &checks[CB_CRITERION_GPU_POWER_LIMIT]);
    judge_state(&view, CB_CRITERION_GPU_MEMORY_HEALTH, has_failing_memory,
                "the driver does not tell memory errors", &checks[CB_CRITERION_GPU_MEMORY_HEALTH]);
    judge_compute(&view, &checks[CB_CRITERION_GPU_COMPUTE]);
    judge_memory(&view, &checks[CB_CRITERION_GPU_MEMORY]);
    judge_burn_errors(&view, &checks[CB_CRITERION_GPU_BURN_ERRORS]);
    judge_burn_time(&view, &checks[CB_CRITERION_GPU_BURN_TIME]);
    for (size_t i = 0; i < sizeof(burn_checks) / sizeof(burn_checks[0]); i++)
        judge_burn(&view, &burn_checks[i], &checks[burn_checks[i].criterion]);
    judge_state(&view, CB_CRITERION_GPU_PCIE, has_narrow_link,
                result->burns.count > 0 ? "the driver does not tell the link of a GPU under load"
                                        : "no burn: run with --burn 30m",
                &checks[CB_CRITERION_GPU_PCIE]);
    cb_published_check_result(result, &checks[CB_CRITERION_GPU_PUBLISHED]);
    free(view.cards);
    return CB_OK;
}

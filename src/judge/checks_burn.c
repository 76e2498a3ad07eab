/* What a long load showed: errors, and how clock, power and rate held. */
#include <math.h>
#include <stdio.h>

#include "base/units.h"
#include "judge/cards.h"

static bool has_burned(const struct cb_burn_row *burn)
{
    return cb_status_is_usable(burn->status) || burn->status == CB_STATUS_WRONG || burn->lost;
}

static void say_no_burn(const struct cb_result *result, struct cb_card_finding *finding)
{
    if (result->gpus.count + result->burns.count == 0) {
        cb_cards_say_none(result, finding);
        return;
    }
    finding->value = -1;
    CB_SAY(finding, "no burn: run with --burn 30m");
    for (size_t i = 0; i < result->burns.count; i++)
        if (result->burns.items[i].reason[0]) {
            CB_SAY(finding, "%.190s", result->burns.items[i].reason);
            return;
        }
}

static void judge_burn_errors(const struct cb_cards *cards, struct cb_check *check)
{
    const struct cb_result *result = cards->result;
    struct cb_card_finding found = {.value = 0};
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
        const struct cb_card *card = cb_cards_of_rank(cards, bad->rank);
        CB_SAY(&found, "%.40s/%d: %llu wrong elements, %.0f uncorrectable errors%s",
               card ? card->host : "?", bad->rank, (unsigned long long)bad->wrong,
               fmax(bad->ecc_uncorrected, 0), bad->lost ? ", and it fell off the bus" : "");
    } else {
        CB_SAY(&found, "%zu ranks, %.0f products verified", burned, checks);
    }
    cb_criterion_judge(CB_CRITERION_GPU_BURN_ERRORS, found.value, 0, 0, found.note, check);
}

static void judge_burn_time(const struct cb_cards *cards, struct cb_check *check)
{
    const struct cb_result *result = cards->result;
    struct cb_card_finding found = {.value = 0};
    for (size_t i = 0; i < result->burns.count; i++) {
        const struct cb_burn_row *burn = &result->burns.items[i];
        if (has_burned(burn) && (found.value == 0 || burn->elapsed_s < found.value))
            found.value = burn->elapsed_s;
    }
    if (found.value <= 0)
        say_no_burn(result, &found);
    else
        CB_SAY(&found, "the burn is partial: some errors come with heat and time");
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

static void say_clock(const struct cb_card *card, const struct cb_burn_row *burn,
                      struct cb_card_finding *finding)
{
    char limit[48] = "";
    if (card && card->gpu && card->gpu->sm_clock_limit_hz > 0)
        snprintf(limit, sizeof(limit), " of %.0f", card->gpu->sm_clock_limit_hz / 1e6);
    /* Usual under tensor load, and a reason for a clock that moves. */
    bool is_capped = burn->throttle > 0 && (burn->throttle & CB_THROTTLE_POWER_CAP);
    CB_SAY(finding, "%.40s/%d, (p95 - p5) / median; median %.0f%s MHz%s", card ? card->host : "?",
           burn->rank, burn->sm_clock_median_hz / 1e6, limit,
           is_capped ? ", at its power cap" : "");
}

static void say_power(const struct cb_card *card, const struct cb_burn_row *burn,
                      struct cb_card_finding *finding)
{
    char limit[64] = "";
    if (card && card->gpu && card->gpu->power_limit_w > 0)
        snprintf(limit, sizeof(limit), ", %.0f %% of its limit",
                 100 * burn->power_median_w / card->gpu->power_limit_w);
    CB_SAY(finding, "%.40s/%d, mean over 10 s, %.0f to %.0f W around %.0f W%s",
           card ? card->host : "?", burn->rank, burn->power_lowest_w, burn->power_highest_w,
           burn->power_median_w, limit);
}

static void say_sag(const struct cb_card *card, const struct cb_burn_row *burn,
                    struct cb_card_finding *finding)
{
    char first[CB_UNIT_TEXT], last[CB_UNIT_TEXT];
    CB_SAY(finding, "%.40s/%d, from %s to %s", card ? card->host : "?", burn->rank,
           cb_format_flops(first, burn->first_flops_per_s),
           cb_format_flops(last, burn->last_flops_per_s));
}

static void say_throttle(const struct cb_card *card, const struct cb_burn_row *burn,
                         struct cb_card_finding *finding)
{
    char reasons[128];
    CB_SAY(finding, "of the samples on %.40s/%d; reasons seen: %s", card ? card->host : "?",
           burn->rank, cb_throttle_text(burn->throttle, reasons, sizeof(reasons)));
}

static const struct burn_check {
    enum cb_criterion criterion;
    share_of_burn *share;
    void (*say)(const struct cb_card *card, const struct cb_burn_row *burn,
                struct cb_card_finding *finding);
} burn_checks[] = {
    {CB_CRITERION_GPU_CLOCK, clock_share, say_clock},
    {CB_CRITERION_GPU_POWER, power_share, say_power},
    {CB_CRITERION_GPU_SAG, sag_share, say_sag},
    {CB_CRITERION_GPU_THROTTLE, throttle_share, say_throttle},
};

/* The worst burn decides. */
static void judge_burn(const struct cb_cards *cards, const struct burn_check *burn_check,
                       struct cb_check *check)
{
    const struct cb_result *result = cards->result;
    struct cb_card_finding found = {.value = -1};
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
        burn_check->say(cb_cards_of_rank(cards, worst->rank), worst, &found);
    else
        say_no_burn(result, &found);
    if (!worst && burned > 0 && !result->burns.items[0].reason[0])
        CB_SAY(&found, "the burn was too short to tell, or the driver does not");
    cb_criterion_judge(burn_check->criterion, found.value, 0, 0, found.note, check);
}

void cb_checks_judge_burns(const struct cb_cards *cards, struct cb_check *checks)
{
    judge_burn_errors(cards, &checks[CB_CRITERION_GPU_BURN_ERRORS]);
    judge_burn_time(cards, &checks[CB_CRITERION_GPU_BURN_TIME]);
    for (size_t i = 0; i < sizeof(burn_checks) / sizeof(burn_checks[0]); i++)
        judge_burn(cards, &burn_checks[i], &checks[burn_checks[i].criterion]);
}

/* Copies over PCIe and NVLink: a card is held against the others of the job. What a copy reaches
 * depends on what else hangs on the same switch, and all cards copy at once: the data sheet's rate
 * of a link would accuse healthy machines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "judge/cards.h"

/* Fewer have no middle; and in a smaller copy its start shows. */
enum { LEAST_CARDS = 2, LEAST_BYTES = 1 << 20 };

struct copies {
    const struct cb_kernel_row *slowest;
    double median_bytes_per_s;
    uint64_t size_bytes; /* of all of them: a small copy says less of a link, but as much of each */
    size_t count, behind; /* behind: below the limit */
};

static bool is_of(const struct cb_kernel_row *row, const char *kernel)
{
    return cb_cards_measured(row) && row->size_bytes >= LEAST_BYTES && row->bytes_per_s > 0 &&
           strcmp(row->kernel, kernel) == 0;
}

/* rates has room for every row. */
static struct copies look_at(const struct cb_result *result, const char *kernel, double *rates)
{
    struct copies copies = {.slowest = NULL};
    for (size_t i = 0; i < result->kernels.count; i++)
        if (is_of(&result->kernels.items[i], kernel) &&
            result->kernels.items[i].size_bytes > copies.size_bytes)
            copies.size_bytes = result->kernels.items[i].size_bytes;
    for (size_t i = 0; i < result->kernels.count; i++) {
        const struct cb_kernel_row *row = &result->kernels.items[i];
        if (!is_of(row, kernel) || row->size_bytes != copies.size_bytes)
            continue;
        rates[copies.count++] = row->bytes_per_s;
        if (!copies.slowest || row->bytes_per_s < copies.slowest->bytes_per_s)
            copies.slowest = row;
    }
    if (copies.count < LEAST_CARDS)
        return copies;
    cb_sort_doubles(rates, copies.count);
    copies.median_bytes_per_s = cb_median_of_sorted(rates, copies.count);
    while (copies.behind < copies.count &&
           rates[copies.behind] < CB_COPY_SHARE_OF_OTHERS * copies.median_bytes_per_s)
        copies.behind++;
    return copies;
}

static int node_of(const struct cb_result *result, int rank)
{
    for (size_t i = 0; i < result->ranks.count; i++)
        if (result->ranks.items[i].rank == rank)
            return result->ranks.items[i].node;
    return -1;
}

/* "GPU 1 to 2, direct" */
static bool read_ends(const char *variant, int ends[2])
{
    static const char start[] = "GPU ", middle[] = " to ";
    char *after;
    if (strncmp(variant, start, strlen(start)) != 0)
        return false;
    ends[0] = (int)strtol(variant + strlen(start), &after, 10);
    if (strncmp(after, middle, strlen(middle)) != 0)
        return false;
    ends[1] = (int)strtol(after + strlen(middle), &after, 10);
    return true;
}

/* The card that all slow copies between cards have in common, as its host counts; -1 where there is
 * none, or only one slow copy. */
static int find_shared_card(const struct cb_result *result, const struct copies *copies)
{
    int shared[2] = {-1, -1}, ends[2];
    size_t seen = 0;
    for (size_t i = 0; i < result->kernels.count; i++) {
        const struct cb_kernel_row *row = &result->kernels.items[i];
        if (!is_of(row, copies->slowest->kernel) || row->size_bytes != copies->size_bytes ||
            row->bytes_per_s >= CB_COPY_SHARE_OF_OTHERS * copies->median_bytes_per_s)
            continue;
        if (!read_ends(row->variant, ends) ||
            node_of(result, row->rank) != node_of(result, copies->slowest->rank))
            return -1;
        for (int k = 0; k < 2; k++)
            if (seen == 0)
                shared[k] = ends[k];
            else if (shared[k] != ends[0] && shared[k] != ends[1])
                shared[k] = -1;
        seen++;
    }
    return seen < 2 ? -1 : shared[0] >= 0 ? shared[0] : shared[1];
}

/* The kernel whose slowest card is furthest behind decides. */
static void judge_kernels(const struct cb_result *result, enum cb_criterion criterion,
                          const char *const *kernels, double *rates, struct cb_check *check)
{
    struct copies worst = {.slowest = NULL};
    char note[192] = "no copy was measured on a GPU";
    double worst_share = 0;
    for (; *kernels; kernels++) {
        struct copies copies = look_at(result, *kernels, rates);
        double share = copies.median_bytes_per_s > 0
                           ? copies.slowest->bytes_per_s / copies.median_bytes_per_s
                           : 1;
        if (copies.slowest && (!worst.slowest || share < worst_share)) {
            worst = copies;
            worst_share = share;
        }
        for (size_t i = 0; i < result->kernels.count && !worst.slowest; i++)
            if (strcmp(result->kernels.items[i].kernel, *kernels) == 0 &&
                result->kernels.items[i].reason[0])
                snprintf(note, sizeof(note), "%.190s", result->kernels.items[i].reason);
    }
    const struct cb_kernel_row *row = worst.slowest;
    char shared[32] = "";
    int card = row ? find_shared_card(result, &worst) : -1;
    if (card >= 0)
        snprintf(shared, sizeof(shared), ", all with GPU %d", card);
    if (row && worst.median_bytes_per_s > 0)
        snprintf(note, sizeof(note), "%.16s, %.40s on %.40s/%d; %zu of %zu below%s", row->kernel,
                 row->variant, cb_cards_host(result, node_of(result, row->rank)), row->rank,
                 worst.behind, worst.count, shared);
    else if (row)
        snprintf(note, sizeof(note), "one GPU only: none to compare with");
    cb_criterion_judge(criterion, row ? row->bytes_per_s : 0, worst.median_bytes_per_s, 0, note,
                       check);
}

/* Where NVLinks end at other cards, or some pairs have none, pairs differ by design. */
static bool is_switched(const struct cb_result *result)
{
    size_t gpus = 0;
    for (size_t i = 0; i < result->maps.count; i++) {
        const struct cb_facts *facts = &result->maps.items[i];
        for (int k = 0; k < facts->gpu_count && k < CB_FACTS_GPUS; k++, gpus++)
            if (facts->gpus[k].nvlink_switch <= 0)
                return false;
    }
    return gpus > 0;
}

int cb_checks_judge_copies(const struct cb_result *result, struct cb_check *checks,
                           struct cb_error *err)
{
    static const char *const over_pcie[] = {"h2d", "d2h", NULL};
    static const char *const over_nvlink[] = {"peer", NULL};
    double *rates = calloc(result->kernels.count + 1, sizeof(*rates));
    if (!rates)
        return cb_fail(err, CB_E_MEMORY, "no memory for the checks of copies");
    judge_kernels(result, CB_CRITERION_GPU_HOST_COPY, over_pcie, rates,
                  &checks[CB_CRITERION_GPU_HOST_COPY]);
    if (is_switched(result))
        judge_kernels(result, CB_CRITERION_GPU_PEER_COPY, over_nvlink, rates,
                      &checks[CB_CRITERION_GPU_PEER_COPY]);
    else
        cb_criterion_judge(CB_CRITERION_GPU_PEER_COPY, 0, 0, 0,
                           "pairs of GPUs may differ by design: not every GPU is known to hang on "
                           "an NVSwitch",
                           &checks[CB_CRITERION_GPU_PEER_COPY]);
    free(rates);
    return CB_OK;
}

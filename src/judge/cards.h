/* What the checks of GPUs share: which card a rank has, and what was measured on it. Private to
 * judge/. */
#ifndef CB_JUDGE_CARDS_H
#define CB_JUDGE_CARDS_H

#include <stdio.h>

#include "judge/checks.h"

struct cb_gpu_reference; /* reference/gpus.h */

/* One rank's GPU and what was measured on it. */
struct cb_card {
    const struct cb_gpu *gpu;
    const struct cb_gpu_reference *reference; /* NULL: not in the table, or partitioned */
    const char *host;
    int rank;
    const struct cb_kernel_row *half;   /* GEMM in float16 or bfloat16, the faster */
    const struct cb_kernel_row *memory; /* read or write, the faster */
    bool has_gemm;                      /* that is judged, in any type */
    bool has_small_gemm, has_small_memory;
};

struct cb_cards {
    const struct cb_result *result;
    struct cb_card *items; /* by rank */
    size_t count;
};

/* A number with what it is compared with and what is to be said about it. */
struct cb_card_finding {
    double value, reference;
    char note[192];
};

#define CB_SAY(finding, ...) snprintf((finding)->note, sizeof((finding)->note), __VA_ARGS__)

/* Gathers what a result, which is borrowed, knows of its ranks' cards; free with fini. Errors:
 * CB_E_MEMORY. */
int cb_cards_init(struct cb_cards *cards, const struct cb_result *result);
void cb_cards_fini(struct cb_cards *cards);

/* The card of a rank, or NULL. */
struct cb_card *cb_cards_of_rank(const struct cb_cards *cards, int rank);

/* Whether a row is of a GPU, which uses no threads of the host, and may be judged. */
bool cb_cards_measured(const struct cb_kernel_row *row);

/* The name of a node, "?" where it has none. */
const char *cb_cards_host(const struct cb_result *result, int node);

/* Finds nothing: why nothing is known of any GPU. */
void cb_cards_say_none(const struct cb_result *result, struct cb_card_finding *finding);

/* Fills the checks of burns in an array of all. */
void cb_checks_judge_burns(const struct cb_cards *cards, struct cb_check *checks);

#endif

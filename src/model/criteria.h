/* The documents' thresholds as checks: what is compared with what, and what to do when it falls
 * short. */
#ifndef CB_MODEL_CRITERIA_H
#define CB_MODEL_CRITERIA_H

#include "base/error.h"

enum cb_check_status {
    CB_CHECK_MET,
    CB_CHECK_SHORT,
    CB_CHECK_ALARM,
    CB_CHECK_NOT_TESTED,
    CB_CHECK_NO_REFERENCE,
    CB_CHECK_STATUS_COUNT
};

/* "met", "short", "alarm", "not_tested", "no_reference"; the parser returns -1 for another. */
const char *cb_check_status_name(enum cb_check_status status);
int cb_check_status_parse(const char *name);

struct cb_check {
    char id[48];
    enum cb_check_status status;
    double actual, required; /* in unit; 0 when there is none */
    char operator_text[4];   /* how actual must stand to required: ">=", "<=", ">", "<" */
    char unit[16];           /* "byte/s", "s", "share", ... */
    char summary[192];       /* what was compared, or why it was not */
    char remedy[192];        /* empty when met */
    char source[96];         /* where the limit comes from */
};

enum cb_criterion {
    CB_CRITERION_NETWORK_ADVERTISED, /* point to point >= 70 % of the advertised bandwidth */
    CB_CRITERION_NETWORK_HEALTHY,    /* point to point >= 90 % over TCP, 95 % over RDMA */
    CB_CRITERION_ALL_REDUCE,         /* large all_reduce >= 70 % of the advertised bandwidth */
    CB_CRITERION_ROUND_TRIP,         /* <= 2 ms, the documents' limit */
    CB_CRITERION_ROUND_TRIP_CLUSTER, /* <= 100 us over TCP, 5 us over RDMA */
    CB_CRITERION_DATA,               /* no wrong element */

    CB_CRITERION_GPU_IDENTITY,      /* name, device, memory, multiprocessors, rate agree */
    CB_CRITERION_GPU_IDLE,          /* nothing ran on it before the start */
    CB_CRITERION_GPU_POWER_LIMIT,   /* not lowered */
    CB_CRITERION_GPU_MEMORY_HEALTH, /* no uncorrectable error, no row waiting or failed */
    CB_CRITERION_GPU_COMPUTE,       /* GEMM >= 90 % of what healthy cards reach; alarm below 85 % */
    CB_CRITERION_GPU_MEMORY,        /* best of read and write >= 90 % of the data sheet */
    CB_CRITERION_GPU_BURN_ERRORS,   /* none */
    CB_CRITERION_GPU_BURN_TIME,     /* 30 minutes */
    CB_CRITERION_GPU_CLOCK,         /* (p95 - p5) / median <= 3 % */
    CB_CRITERION_GPU_POWER,         /* its moving average stays within 5 % of its median */
    CB_CRITERION_GPU_SAG,           /* the rate's loss from first to last fifth <= 3.5 % */
    CB_CRITERION_GPU_THROTTLE,      /* slowed by heat or supply in <= 1 % of the samples */
    CB_CRITERION_GPU_PCIE,          /* full generation and width under load */
    CB_CRITERION_GPU_HOST_COPY,     /* copies to and from the host >= 90 % of the other cards' */
    CB_CRITERION_GPU_PEER_COPY,     /* copies between cards >= 90 % of the others' */
    CB_CRITERION_GPU_PUBLISHED,     /* all_reduce >= 90 % of what others published of its kind */
    CB_CRITERION_COUNT
};
#define CB_CRITERION_FIRST_GPU CB_CRITERION_GPU_IDENTITY

/* Of the median of the job's cards: below it a card's copies are short. */
#define CB_COPY_SHARE_OF_OTHERS 0.90

/* Judges actual (byte/s, flop/s, s, a share, or a number of wrong elements, GPUs, errors) against
 * the criterion's limit. reference is what a relative limit is taken of (the advertised bandwidth,
 * byte/s; the rate of healthy cards, flop/s); 0 there gives no_reference. Nothing measured (actual
 * <= 0; < 0 for a number or a share) gives not_tested; so does a burn shorter than asked for, which
 * proves nothing either way. note is the summary of the first two, saying why; otherwise it is
 * appended and says where actual was found; NULL is "nothing to say". rdma picks the RDMA variant
 * of a limit. Fills every field. Pure.
 */
void cb_criterion_judge(enum cb_criterion criterion, double actual, double reference, int rdma,
                        const char *note, struct cb_check *check);

#endif

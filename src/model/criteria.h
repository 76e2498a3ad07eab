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
    CB_CRITERION_COUNT
};

/* Judges actual (byte/s, s, or a number of wrong elements) against the criterion's limit. reference
 * is what a relative limit is taken of (the advertised bandwidth, byte/s); 0 there gives
 * no_reference. Nothing measured (actual <= 0; < 0 for a number of elements) gives not_tested. note
 * is the summary of these two, saying why; otherwise it is appended and says where actual was
 * found; NULL is "nothing to say". rdma picks the RDMA variant of a limit. Fills every field. Pure.
 */
void cb_criterion_judge(enum cb_criterion criterion, double actual, double reference, int rdma,
                        const char *note, struct cb_check *check);

#endif

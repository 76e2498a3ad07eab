/* Whose error a job reports: the one nearest to its cause, the lowest rank among equals. Run under
 * mpirun with three ranks; ends with 1 and a line for each thing that is not so. */
#include "transport/coordinator.h"

#include <stdio.h>
#include <string.h>

enum { RANKS = 3, FINE = -1 };

static const struct {
    int follows[RANKS]; /* enum cb_follows of each rank's error, or FINE */
    int expected;       /* the rank that is reported; FINE: none */
} cases[] = {
    {{FINE, FINE, FINE}, FINE},
    {{FINE, FINE, CB_DROPPED}, 2},
    {{CB_DROPPED, FINE, CB_WAITED}, 2},
    {{CB_DROPPED, CB_WAITED, CB_WAITED}, 1},
    {{CB_DROPPED, CB_WAITED, CB_CAUSE}, 2},
    {{CB_WAITED, CB_CAUSE, CB_CAUSE}, 1},
    {{CB_DROPPED, CB_DROPPED, FINE}, 0},
};

static bool check(const struct cb_coordinator *job, size_t i)
{
    struct cb_error err;
    int follows = cases[i].follows[job->rank];
    int code = CB_OK;
    cb_error_clear(&err);
    if (follows != FINE) {
        code = cb_fail(&err, CB_E_MEASURE, "rank %d", job->rank);
        err.follows = follows;
    }
    code = cb_group_agree(job->world, code, &err);
    char expected[32];
    snprintf(expected, sizeof(expected), "rank %d", cases[i].expected);
    bool is_right = cases[i].expected == FINE
                        ? code == CB_OK
                        : code == CB_E_MEASURE && err.rank == cases[i].expected &&
                              strcmp(err.what, expected) == 0;
    if (!is_right)
        printf("case %zu, on rank %d: code %d, '%s' of rank %d\n", i, job->rank, code, err.what,
               err.rank);
    return is_right;
}

int main(void)
{
    struct cb_coordinator job;
    struct cb_error err;
    int status = 0;
    if (cb_coordinator_start(&job, &err)) {
        fprintf(stderr, "%s\n", err.what);
        return 2;
    }
    if (job.size != RANKS) {
        fprintf(stderr, "needs %d ranks\n", RANKS);
        status = 2;
    }
    for (size_t i = 0; status < 2 && i < sizeof(cases) / sizeof(cases[0]); i++)
        if (!check(&job, i))
            status = 1;
    cb_coordinator_stop(&job);
    return status;
}

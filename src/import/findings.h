/* What can be said of a log, and what each of it means for the log's state. Private to import/. */
#ifndef CB_IMPORT_FINDINGS_H
#define CB_IMPORT_FINDINGS_H

#include <stdbool.h>

#include "import/import.h"

/* Worst first: the order in which they are shown. */
enum cb_log_finding {
    CB_FINDING_RAN_ALONE,
    CB_FINDING_ONE_RANK,
    CB_FINDING_WRONG_RESULTS,
    CB_FINDING_MIXED_BUILDS,
    CB_FINDING_SHARED_GPU,
    CB_FINDING_MIXED_OPS,

    CB_FINDING_FIRST_CAUSE,
    CB_FINDING_DUPLICATE_GPU = CB_FINDING_FIRST_CAUSE,
    CB_FINDING_INVALID_DEVICE,
    CB_FINDING_FEW_GPUS,
    CB_FINDING_NO_GPU,
    CB_FINDING_FABRIC_MANAGER,
    CB_FINDING_DRIVER,
    CB_FINDING_MEMORY,
    CB_FINDING_LIBRARY,
    CB_FINDING_NO_PROGRAM,
    CB_FINDING_SLOTS,
    CB_FINDING_SSH,
    CB_FINDING_TIMEOUT,
    CB_FINDING_TIME_LIMIT,
    CB_FINDING_NETWORK_ERROR,
    CB_FINDING_SHARED_MEMORY,
    CB_FINDING_NCCL_FAILURE,
    CB_FINDING_CUDA_FAILURE,
    CB_FINDING_CRASH,
    CB_FINDING_TEST_FAILURE,
    CB_FINDING_ABORTED,
    CB_FINDING_LAST_CAUSE = CB_FINDING_ABORTED,
    CB_FINDING_HANG,
    CB_FINDING_ELIDED,
    CB_FINDING_NO_TABLE,

    CB_FINDING_NEGATIVE_TIME,
    CB_FINDING_NO_TIME,
    CB_FINDING_UNREADABLE_ROW,
    CB_FINDING_EXCERPT,
    CB_FINDING_TRUNCATED,
    CB_FINDING_SMALL_SIZES,
    CB_FINDING_STILL_RISING,
    CB_FINDING_RANKS_UNKNOWN,

    CB_FINDING_CONTRADICTION,
    CB_FINDING_RANKS_CONTRADICT,
    CB_FINDING_SOCKETS,
    CB_FINDING_LIKE_SOCKETS,
    CB_FINDING_NO_VERBS,
    CB_FINDING_LOW_FOR_GPUS,
    CB_FINDING_COLLAPSE,
    CB_FINDING_DIP,
    CB_FINDING_BEST_NOT_LARGEST,
    CB_FINDING_HOST_STAGED,
    CB_FINDING_NO_PEERS,
    CB_FINDING_SLOW_LINK,
    CB_FINDING_MIXED_GPUS,
    CB_FINDING_UNEQUAL_SLOTS,
    CB_FINDING_NOISY,
    CB_FINDING_FLAT_TIME,
    CB_FINDING_STEP,
    CB_FINDING_SIZE_MATTERS,
    CB_FINDING_HIGH_LATENCY,
    CB_FINDING_PUBLISHED,
    CB_FINDING_AVERAGE,
    CB_FINDING_ABOVE_WIRE,
    CB_FINDING_MULTICAST,
    CB_FINDING_IN_PLACE_GAP,
    CB_FINDING_OLD_ALGBW,
    CB_FINDING_UNCHECKED,
    CB_FINDING_PINNED,
    CB_FINDING_MEMORY_CAP,
    CB_FINDING_GROUPS,
    CB_FINDING_SEVERAL_RUNS,
    CB_FINDING_NCCL_WARNING,
    CB_FINDING_MPI_WARNING,
    CB_FINDING_OP_UNKNOWN,
    CB_FINDING_COUNT
};

/* Findings while a run is read: one of a kind, the first that was seen. */
struct cb_findings {
    struct cb_import_finding items[CB_FINDING_COUNT];
    int times[CB_FINDING_COUNT]; /* how often; 0: not found */
    bool is_complete;            /* all rows are there: an error in the text ended nothing */
};

/* Notes a finding with printf text, unless there is one of its kind. */
void cb_finding_add(struct cb_findings *findings, enum cb_log_finding finding, int line,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));

bool cb_finding_is_there(const struct cb_findings *findings, enum cb_log_finding finding);

/* The state that the findings leave, and the findings themselves, into the summary of a run with
 * that many rows. Errors: CB_E_MEMORY. */
int cb_findings_close(const struct cb_findings *findings, struct cb_import *summary,
                      struct cb_error *err);

#endif

/* Other people's measurements: what another program printed about a collective, as values. The
 * format is told by what is in the text, never by its name: nccl-tests and rccl-tests of every
 * generation and NCCL 1's own tests, nccl-tests' JSON, OSU micro-benchmarks, Intel MPI Benchmarks.
 * Pure: text in, values out; nothing is opened. */
#ifndef CB_IMPORT_IMPORT_H
#define CB_IMPORT_IMPORT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "result/result.h"

enum { CB_IMPORT_OUT_OF_PLACE, CB_IMPORT_IN_PLACE, CB_IMPORT_PLACES };

/* One line of data. */
struct cb_import_row {
    int line;
    uint64_t size_bytes; /* as nccl-tests defines it for the op (model/collective.h) */
    struct cb_import_point {
        double time_s;          /* 0: not measured */
        double alg_bytes_per_s; /* size / time */
        double bus_bytes_per_s; /* that x factor; 0 while the ranks are unknown */
        double printed_alg_bytes_per_s, printed_bus_bytes_per_s; /* negative: not printed */
        double wrong; /* elements; negative: not checked, or a checker of another kind */
    } places[CB_IMPORT_PLACES];
};

/* One run. A file with several, one after another, gives one of these for each. */
struct cb_import_log {
    struct cb_import summary;
    CB_VEC(struct cb_import_row) rows; /* as they stand in the file */
};

typedef CB_VEC(struct cb_import_log) cb_import_logs;

/* Reads text of length_bytes (need not be NUL-terminated) and appends a log for each run in it;
 * name stands in messages and becomes the summaries' file. The bandwidths of a summary and its rows
 * are size / time x factor, whatever is printed; ranks are those of the list of ranks, else what
 * the sizes or the printed bandwidths imply, else what NCCL says. A text of a known format that
 * holds no data gives a log without rows, whose findings say why. Linear in the length.
 * Errors: CB_E_INPUT for a text that is of no known format, CB_E_MEMORY; logs is then unchanged. */
int cb_import_read(const char *name, const char *text, size_t length_bytes, cb_import_logs *logs,
                   struct cb_error *err);

void cb_import_logs_fini(cb_import_logs *logs);

/* Moves the summaries of logs into result->imports and, of those that may be judged by, copies the
 * rows into result->collectives as rows of scope world, of each size the best: out of place and in
 * place, ops of enum cb_op alone. Of several runs of one op the last with the most ranks counts;
 * those are the result's rank_count where the nodes are known too. The result takes over the
 * findings, logs stay to be freed. Errors: CB_E_MEMORY; what was moved until then stays. */
int cb_import_add(struct cb_result *result, cb_import_logs *logs, struct cb_error *err);

#endif

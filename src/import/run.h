/* One run of nccl-tests or a fork while it is read. Private to import/. */
#ifndef CB_IMPORT_RUN_H
#define CB_IMPORT_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "import/findings.h"
#include "import/import.h"
#include "import/launch.h"
#include "import/lines.h"
#include "import/ops.h"
#include "import/table.h"

/* A line of the list of ranks. */
struct cb_listed_rank {
    int line, label, part;
    int rank, group, device;
    char host[CB_NAME]; /* empty: not printed */
    char bus[16];       /* "0000:1b:00", "0x1b"; empty: not printed */
    char gpu[CB_NAME];  /* empty: not printed */
};

#define CB_RUN_HOSTS 64 /* beyond which hosts in NCCL's own lines are not told apart */

/* What NCCL's lines (NCCL_DEBUG=INFO) say. */
struct cb_nccl_said {
    int ranks, nodes; /* 0: nothing */
    int ranks_line;
    char hosts[CB_RUN_HOSTS][CB_NAME];
    int host_count;
    int sockets_line, staged_line, shared_memory_line, multicast_line, interface_line;
    bool direct;   /* GPUDirect RDMA is used by a connection */
    bool no_verbs; /* no InfiniBand device was found */
    char version[CB_NAME];
};

/* A banner ("# nThread 1 nGpus 1 minBytes ..."): one per process that thinks it is the first. */
struct cb_banner {
    int line, label;
    size_t rows_before;
    int gpus; /* per thread */
    double smallest_bytes, largest_bytes;
    double iterations;
    bool unchecked;
};

struct cb_run {
    const char *name; /* of the file; borrowed */
    int first_line, last_line;
    char tool[CB_NAME];
    enum cb_test test; /* that a line names; CB_TEST_COUNT: none does */
    int test_line;
    int head_lines; /* heading of a table seen */
    struct cb_columns columns;
    bool heading_in_place_only;
    bool is_titled;                  /* OSU and IMB: by a line that begins a run */
    int time_column, defects_column; /* of theirs: which word of a line; 0: not known */
    char build[CB_TEXT];
    CB_VEC(struct cb_table_row) rows;
    CB_VEC(struct cb_listed_rank) ranks;
    CB_VEC(struct cb_banner) banners;
    struct cb_nccl_said nccl;
    double average_bytes_per_s; /* the last footer's; negative: none */
    int average_count, average_line;
    int bounds_count;       /* footers "Out of bounds values" */
    int bounds_failed_line; /* of one that found wrong data; 0: none did */
    int concluded_line;
    char dtype[16];      /* that a line names for all rows */
    bool has_no_footers; /* the program prints none, nor checks data */
    int launched_ranks;  /* that a launcher was told to start; 0: unknown */
    int elided_line;
    int failed_label_low, failed_label_high; /* of the ranks with a device error; -1: none */
    char failed_host[CB_NAME];
    struct cb_findings findings;
};

struct cb_run *cb_run_new(const char *name, int first_line, struct cb_error *err);
void cb_run_free(struct cb_run *run);

/* Takes a line of data. Errors: CB_E_MEMORY. */
int cb_run_add_row(struct cb_run *run, const struct cb_table_row *row, struct cb_error *err);

/* Takes a line of an MPI benchmark: the size as it prints it, and a time. What cannot be is noted
 * as a finding and not taken. Errors: CB_E_MEMORY. */
int cb_run_add_time(struct cb_run *run, int line, double printed_bytes, double time_s,
                    struct cb_error *err);

/* Takes a line of the list of ranks, if it is one: 1, 0 for another line, or CB_E_MEMORY. */
int cb_run_read_rank(struct cb_run *run, const struct cb_line *line, struct cb_error *err);

/* Takes what NCCL's own lines, errors and warnings say. */
void cb_run_read_nccl(struct cb_run *run, const struct cb_line *line);
void cb_run_read_trouble(struct cb_run *run, const struct cb_line *line);

/* What the rows, the list of ranks and NCCL's lines imply. */
struct cb_inferred {
    enum cb_test test; /* CB_TEST_COUNT: unknown */
    bool has_factor;
    enum cb_import_factor factor;
    int ranks, nodes; /* 0: unknown */
    bool is_zero;     /* every bus bandwidth that is printed is 0 */
};
void cb_run_infer(struct cb_run *run, struct cb_inferred *inferred);

/* Notes ranks that each ran alone, or a single one, and GPUs that ranks share or that differ; sorts
 * the list of ranks by host. */
void cb_run_check_ranks(struct cb_run *run, const struct cb_inferred *inferred);

/* From what was read to a log: op, ranks, bandwidths, findings, state; appends it to logs.
 * Errors: CB_E_MEMORY. */
int cb_run_close(struct cb_run *run, cb_import_logs *logs, struct cb_error *err);

#endif

/* The one value that every reader shares: what a run found, in base units. Filled by `run`, written
 * and read back by json_write.c and json_read.c, rendered by report/, judged by judge/. Plain data:
 * copying a row is copying its struct. Field meanings are those of docs/result-schema.md. */
#ifndef CB_RESULT_RESULT_H
#define CB_RESULT_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/provenance.h"
#include "base/vec.h"
#include "gpu/gpu.h"
#include "model/advice.h"
#include "model/algorithm.h"
#include "model/collective.h"
#include "model/criteria.h"
#include "model/formula.h"
#include "model/offer.h"
#include "topology/facts.h"
#include "topology/findings.h"
#include "topology/topo.h"

#define CB_NAME 64
#define CB_TEXT 256

/* What became of one step. */
enum cb_status {
    CB_STATUS_OK,
    CB_STATUS_NOISY,   /* measured, but the interval did not shrink to its target */
    CB_STATUS_SKIPPED, /* not done; the reason says why */
    CB_STATUS_TIMEOUT,
    CB_STATUS_FAILED,
    CB_STATUS_WRONG, /* measured, but the data that arrived were wrong */
    CB_STATUS_COUNT
};

const char *cb_status_name(enum cb_status status);
int cb_status_parse(const char *name); /* -1 for an unknown name */

/* True for a row whose numbers may be read: ok or noisy. */
bool cb_status_is_usable(enum cb_status status);

/* Seconds per operation, over the samples of one step. ci95_relative is half the 95 % confidence
 * interval of the median over the median; negative when there were too few samples for one. */
struct cb_time_stats {
    double median_s, p10_s, p90_s, min_s, max_s;
    double ci95_relative;
};

struct cb_setting {
    char name[CB_NAME];
    char value[CB_TEXT];
    char set_by[16]; /* "user", or "commbound" where the program chose it */
};

/* Where a rank's CPUs are, seen from the device it works with. */
enum cb_locality {
    CB_LOCALITY_UNKNOWN,
    CB_LOCALITY_NEAR, /* some of its CPUs are among the device's */
    CB_LOCALITY_AWAY, /* none is */
    CB_LOCALITY_COUNT
};

const char *cb_locality_name(enum cb_locality locality);
int cb_locality_parse(const char *name); /* -1 for an unknown name */

struct cb_rank {
    int rank;
    int node; /* index into nodes */
    int local_rank;
    int threads; /* compute threads it uses for kernels */
    struct cb_topo_binding binding;
    char bound_by[16]; /* "launcher" or "commbound"; empty: nobody, or not known */
    char device[32];   /* what it is judged by: "GPU 0000:07:00.0", "NIC mlx5_0:1"; may be empty */
    enum cb_locality locality;
};

struct cb_collective_row {
    enum cb_op op;
    enum cb_scope scope;
    enum cb_dtype dtype;
    enum cb_redop redop;
    int ranks; /* in one group of the scope */
    uint64_t size_bytes;
    bool in_place;
    int samples;
    int operations_per_sample;
    struct cb_time_stats time;
    double alg_bytes_per_s;
    double bus_bytes_per_s;
    uint64_t wrong;                /* elements that arrived wrong, over all ranks */
    struct cb_algorithm algorithm; /* that the library said it took */
    enum cb_status status;
    char reason[CB_TEXT];
    int import_number; /* 1 for the first of imports, ...; 0: measured by this run */
    int import_line;   /* of that file */
};

/* A probe of one link, one way from a to b. */
struct cb_pair_row {
    char a[CB_NAME], b[CB_NAME]; /* hosts */
    double round_trip_s;         /* of an 8-byte message, median */
    uint64_t size_bytes;         /* message of the bandwidth figure */
    double bytes_per_s;          /* one way, median */
    double ci95_relative;        /* of bytes_per_s */
    enum cb_status status;
    char reason[CB_TEXT];
};

struct cb_kernel_row {
    int rank;
    char kernel[24]; /* "gemm", "read", "write", "copy", "triad" */
    enum cb_dtype dtype;
    char variant[40]; /* how it was done: "non-temporal", "plain", "OpenBLAS 0.3.21" */
    bool small; /* too small for its rate to be judged by: the card had too little free memory */
    int threads;
    uint64_t size_bytes; /* working set */
    int samples;
    double flops_per_s; /* one of the two rates is 0 */
    double bytes_per_s;
    double ci95_relative;
    uint64_t wrong;
    int pcie_generation, pcie_width; /* right after a transfer's timing; 0: not looked at */
    enum cb_status status;
    char reason[CB_TEXT];
};

/* A burn of one rank's GPU: GEMM back to back, verified, with a look at the card many times a
 * second. Whatever the card does not tell is negative. What is said of samples is said of those
 * after the warm-up, the first tenth of the time but at most two minutes. */
struct cb_burn_row {
    int rank;
    enum cb_dtype dtype;
    char variant[40];
    double planned_s, elapsed_s;
    uint64_t operations;
    double flops_per_s;                         /* median of the spans between two checks */
    double first_flops_per_s, last_flops_per_s; /* median of the first and last fifth of them */
    int checks;                                 /* how often the product was verified */
    uint64_t wrong;                             /* elements that were wrong, over all checks */
    int samples;
    double sm_clock_p5_hz, sm_clock_median_hz, sm_clock_p95_hz;
    double memory_clock_median_hz;
    double power_median_w;                  /* of the moving average over ten seconds, */
    double power_lowest_w, power_highest_w; /* as these two */
    double temperature_highest_celsius;
    double utilization_median;             /* share */
    int throttle;                          /* every cb_throttle bit that was seen */
    double throttled_share;                /* of the samples with a bit of CB_THROTTLE_FAULTS */
    double ecc_corrected, ecc_uncorrected; /* during the burn */
    int pcie_generation, pcie_width;       /* the best that was seen */
    bool lost;                             /* the card stopped answering */
    enum cb_status status;
    char reason[CB_TEXT]; /* of the status, or why there are no samples */
};

/* One point of a burn's series: the mean of the looks it stands for. */
struct cb_burn_sample {
    int rank;
    double flops_per_s; /* 0 while nothing was known yet */
    struct cb_gpu_sample gpu;
};

/* Something that the transport's library says it used. */
struct cb_transport_use {
    char kind[16]; /* "way", "network", "interfaces", "plugin", "algorithm", "feature" */
    char name[CB_TEXT];
    int ranks;       /* that said so */
    int connections; /* of a way or an algorithm: channels over all ranks; 0: not counted */
};

/* What a fit says of one regime of a curve: time = alpha + bus factor x size / bandwidth. Errors
 * are relative to the measured times. */
struct cb_fit_row {
    enum cb_op op;
    enum cb_scope scope;
    enum cb_dtype dtype;
    bool in_place;
    int ranks; /* in one group of the scope */
    uint64_t from_bytes, to_bytes;
    int points; /* sizes */
    double alpha_s;
    double
        bytes_per_s_inf; /* bus bandwidth as the size grows; 0: time does not grow with the size */
    double half_bytes;   /* the size at which half of it is reached; 0: as above */
    double mean_relative_error, max_relative_error;
    bool accepted; /* good for sizes that were not measured (model/fit.h) */
};

/* What a scope's traffic reached beside what the link that it crossed is sold as. */
struct cb_crossing {
    enum cb_scope scope;
    enum cb_op op;
    uint64_t size_bytes;
    double measured_bytes_per_s;   /* bus bandwidth */
    double least_wire_bytes_per_s; /* what must have crossed a node's network, one way, at the
                                      least (cb_op_least_wire_share); 0 inside a node */
    double nominal_bytes_per_s;    /* of the link, one way; 0 unknown */
    char link[CB_NAME];            /* "RoCE mlx5_0:1", "NVSwitch, 12 NVLinks"; empty: unknown */
    char note[CB_TEXT];            /* where the nominal figure is from, or why there is none */
};

/* Something wrong with the nodes of one map. */
struct cb_node_finding {
    int map; /* index into maps; -1: of no node in particular */
    struct cb_finding finding;
};

struct cb_message { /* a warning: what is odd, and what to do about it */
    char code[CB_NAME];
    char text[CB_TEXT];
    char hint[CB_TEXT];
};

/* What may be said of a measurement that somebody else made. */
enum cb_import_state {
    CB_IMPORT_INVALID,   /* no measurement of an interconnect, or wrong data: judge nothing by it */
    CB_IMPORT_NO_RESULT, /* no row of data */
    CB_IMPORT_PROVISIONAL, /* rows, but not all that a judgement should rest on */
    CB_IMPORT_GRADED,
    CB_IMPORT_STATE_COUNT
};

/* "invalid", "no_result", "provisional", "graded"; the parser returns -1 for another. */
const char *cb_import_state_name(enum cb_import_state state);
int cb_import_state_parse(const char *name);

/* True for a state whose rows may be judged by. */
bool cb_import_is_usable(enum cb_import_state state);

struct cb_import_finding {
    char code[CB_NAME];
    int line; /* of the file; 0: of no single one */
    char text[CB_TEXT];
    char hint[CB_TEXT];
};

/* One run of another program, from its output. Bandwidths are size / time x factor, computed here
 * whatever the file prints; 0 is unknown. */
struct cb_import {
    char file[CB_TEXT];
    char tool[CB_NAME];               /* "nccl-tests", "OSU", ...; empty: it does not say */
    char op[CB_NAME];                 /* "all_reduce", ...: more than enum cb_op; empty: unknown */
    char dtype[16];                   /* as the file spells it */
    char gpu[CB_NAME];                /* as the driver names it; of the first rank */
    int first_line;                   /* of the run in its file */
    int ranks, nodes;                 /* 0: unknown */
    int rows;                         /* of data */
    uint64_t largest_bytes;           /* message */
    double best_bus_bytes_per_s;      /* out of place */
    double best_in_place_bytes_per_s; /* bus bandwidth too */
    uint64_t best_bytes;              /* message with the better of the two */
    double latency_s;                 /* shortest time of a message of at most 4 KiB */
    enum cb_import_state state;
    CB_VEC(struct cb_import_finding) findings; /* worst first */
};

/* What the model of a training step says of the stated job. */
struct cb_prediction {
    struct cb_training training; /* of no nodes where nothing was predicted; then */
    char note[CB_TEXT];          /* says why; empty when no job was stated */
    double price_per_gpu_hour;   /* 0: not known */
    char currency[8];
    struct cb_advice_list advice; /* what would change the verdict */
};

struct cb_result {
    char tool_version[CB_NAME];
    char build[CB_TEXT]; /* compiler and options that matter, for humans */

    char started_at[CB_NAME];  /* ISO 8601, UTC */
    char finished_at[CB_NAME]; /* empty until the run is over */
    bool complete;
    char stopped_by[CB_NAME]; /* empty, "signal", "time_limit" or "fault" */
    int rank_count;           /* of the run, or of the import that is judged by; 0: unknown */
    CB_VEC(struct cb_setting) options;     /* the command line's effective values */
    CB_VEC(struct cb_setting) environment; /* white-listed variables */

    CB_VEC(struct cb_topo_host) nodes;
    CB_VEC(struct cb_rank) ranks;
    CB_VEC(struct cb_gpu) gpus; /* by node */
    char gpu_reason[CB_TEXT];   /* why gpus is empty, or lacks a node's; empty when it is not known
                                   that there should be any */
    CB_VEC(struct cb_facts) maps;            /* one for all nodes that are alike */
    CB_VEC(struct cb_node_finding) findings; /* by map, worst first */
    CB_VEC(struct cb_crossing) crossings;

    char transport[CB_NAME];
    char transport_library[CB_TEXT];
    char transport_version[CB_NAME];
    char transport_path[CB_TEXT]; /* file of the library, where it was chosen at run time */
    CB_VEC(struct cb_transport_use) transport_used; /* empty: not known */
    bool simulated;

    CB_VEC(struct cb_collective_row) collectives;
    CB_VEC(struct cb_pair_row) pairs;
    CB_VEC(struct cb_kernel_row) kernels;
    CB_VEC(struct cb_burn_row) burns;
    CB_VEC(struct cb_burn_sample) burn_samples; /* by rank, then time */
    CB_VEC(struct cb_check) checks;
    CB_VEC(struct cb_fit_row) fits;      /* by op, scope and size */
    struct cb_offer offer;               /* what was judged on paper; its nodes 0: nothing */
    struct cb_formula formula;           /* the headline */
    CB_VEC(struct cb_formula) workloads; /* the standard table, when no workload was given */
    struct cb_prediction prediction;     /* the model's answer beside it */
    CB_VEC(struct cb_import) imports;    /* what the collectives were taken from, or could not be */
    CB_VEC(struct cb_message) warnings;
};

/* Makes an empty result; free with fini, which leaves it empty again. */
void cb_result_init(struct cb_result *result);
void cb_result_fini(struct cb_result *result);

/* Append a setting or a warning (printf text); what is too long is cut. A name that is there
 * already gets the new value, so names are unique; an option's set_by is empty. hint may be NULL.
 * Return 0 or CB_E_MEMORY. */
int cb_result_add_option(struct cb_result *result, const char *name, const char *value);
int cb_result_add_environment(struct cb_result *result, const char *name, const char *value,
                              const char *set_by);
int cb_result_warn(struct cb_result *result, const char *code, const char *hint, const char *format,
                   ...) __attribute__((format(printf, 4, 5)));

/* Whether the result holds a prediction. */
bool cb_result_is_predicted(const struct cb_result *result);

/* The nodes of the job: those that the run looked at, else those of the import whose ranks
 * rank_count is; 1 when nobody knows of any. */
int cb_result_node_count(const struct cb_result *result);

/* The ranks of a node when all are spread evenly, of the fullest when that leaves a rest. */
int cb_result_ranks_per_node(const struct cb_result *result);

/* The usable row of that op and scope with the largest size (out of place before in place, the same
 * dtype order as the rows), or NULL. Borrowed. */
const struct cb_collective_row *cb_result_largest(const struct cb_result *result, enum cb_op op,
                                                  enum cb_scope scope);

#endif

/* The model of one training step: compute, what the network adds to it, and what hides. */
#ifndef CB_MODEL_TRAINING_H
#define CB_MODEL_TRAINING_H

#include "model/memory.h"
#include "model/network.h"
#include "model/volumes.h"

/* Where the job runs. */
struct cb_machine {
    double flops_per_s; /* that one GPU reaches in training when no network slows it */
    enum cb_provenance flops_source;
    char flops_note[160]; /* "312 TFLOP/s x 0.55" */
    double compute_s;     /* one step's compute, when it is known: overrides the count of FLOP; 0 */
    enum cb_provenance compute_source;
    double memory_bytes; /* of one GPU; 0: not known */
    enum cb_provenance memory_source;
    double price_per_gpu_hour; /* 0: not known */
    char currency[8];
    const struct cb_network *network; /* borrowed; with the number of nodes and GPUs */
    double threshold;                 /* of the share; 0: CB_FORMULA_THRESHOLD */
};

#define CB_OVERLAP_COUNT 3
#define CB_SPEEDUP_MAX 24
#define CB_NOTES_MAX 12

/* The overlaps of the band: 0, 0.5, 0.9 (evidence from 0 to 0.75: docs/design.md). */
extern const double cb_overlaps[CB_OVERLAP_COUNT];

/* One kind of traffic and what it costs per step. */
struct cb_traffic_time {
    struct cb_traffic traffic;
    double time_s[CB_PACE_COUNT]; /* all operations of one step; by enum cb_pace */
    double one_s[CB_PACE_COUNT];  /* one operation */
    enum cb_provenance source;
};

/* One step under one assumption about overlap and network. */
struct cb_step_cost {
    double exposed_s; /* communication that nothing hides */
    double step_s;    /* compute + bubble + exposed */
    double share;     /* exposed_s / step_s */
};

/* Throughput of some nodes over that of the fewest that hold the model. */
struct cb_speedup {
    int nodes;
    double speedup;    /* over the base, at the expected overlap and median network */
    double efficiency; /* speedup / (nodes / base nodes) */
};

enum cb_training_verdict {
    CB_TRAINING_CLEAR,   /* below the threshold without any overlap on the slow network */
    CB_TRAINING_BOUND,   /* above it with the best overlap on the fast network */
    CB_TRAINING_DEPENDS, /* on overlap or pace: `bound` says what is expected */
    CB_TRAINING_VERDICT_COUNT
};
const char *cb_training_verdict_name(enum cb_training_verdict verdict);

/* Why the headline formula and the model differ, or what else a reader should know. */
enum cb_note_code {
    CB_NOTE_MODEL_PARALLEL, /* the formula without placement raises a false alarm */
    CB_NOTE_LATENCY,        /* messages too small for the bandwidth: the formula is too mild */
    CB_NOTE_TWO_NODES,      /* a tree between two nodes sends half of what the formula counts */
    CB_NOTE_HIDDEN,         /* the formula counts what runs behind compute */
    CB_NOTE_OTHER_TRAFFIC,  /* tensor, expert, context traffic that the formula does not count */
    CB_NOTE_BUBBLE,         /* the pipeline bubble is idle time too, but not the network's */
    CB_NOTE_FROZEN_WEIGHTS, /* an adapter with sharded weights gathers the whole model */
    CB_NOTE_ACCUMULATION,   /* accumulation does not help this scheme */
    CB_NOTE_SLOWER,         /* two nodes would be slower than one */
    CB_NOTE_COUNT
};
const char *cb_note_code_name(enum cb_note_code code);
struct cb_note {
    enum cb_note_code code;
    char text[256];
};

/* The documents' rule "over 1B: RoCE or InfiniBand; small fine-tunes: Ethernet" and the model's. */
struct cb_link_rule {
    bool rule_wants_fabric;  /* RoCE or InfiniBand */
    bool model_wants_fabric; /* more than the 25 Gb/s that Ethernet carries without RDMA */
    double required_bytes_per_s;
    char text[320]; /* both answers, and why they differ */
};

struct cb_training {
    struct cb_job job; /* complete */
    struct cb_assumptions assumed;
    struct cb_factor factor;
    int nodes, gpus_per_node;
    double threshold;

    /* one step */
    double token_flops; /* per token, of the whole model */
    double compute_s;   /* of a GPU */
    enum cb_provenance compute_source;
    double bubble_s; /* pipeline */
    struct cb_traffic_time traffic[CB_TRAFFIC_MAX];
    size_t traffic_count;
    double communication_s[CB_PACE_COUNT]; /* all traffic, nothing hidden */
    double inter_node_s[CB_PACE_COUNT];    /* of it, between nodes */
    enum cb_provenance network_source;     /* the weakest of the traffic's; NOWHERE: no traffic */

    /* shares */
    double serial_share; /* communication / (communication + compute), median network */
    double overlap;      /* that is expected */
    enum cb_provenance overlap_source;
    struct cb_step_cost expected;                              /* at that overlap, median network */
    struct cb_step_cost band[CB_OVERLAP_COUNT][CB_PACE_COUNT]; /* [i]: cb_overlaps[i] */
    double share_low, share_high;                              /* of the band */
    bool bound;                                                /* expected.share > threshold */
    enum cb_training_verdict verdict;

    /* the documents' formula beside it, per step */
    double headline_bytes_per_s; /* bus bandwidth at the whole gradient, all GPUs; 0: one GPU */
    enum cb_provenance headline_source;
    double headline_s;     /* parameters x 4 x c / that */
    double headline_share; /* headline_s / (headline_s + compute_s) */
    bool headline_bound;

    /* what would be needed; INFINITY where nothing suffices */
    double rank_tokens;           /* of a data-parallel rank per step */
    double critical_tokens;       /* with as many, at the same accumulation, the serial share is the
                                   * threshold; 0 without traffic */
    double required_bytes_per_s;  /* bus bandwidth of large messages between nodes (inside the node
                                   * when there is one) at which it is; latency stays; 0 without
                                   * traffic */
    double large_bytes_per_s;     /* what there is of it */
    double effective_bytes_per_s; /* parameters x 4 x c / time: what the messages really get; 0
                                   * where nothing is kept in step */

    struct cb_speedup speedup[CB_SPEEDUP_MAX]; /* powers of two, and the nodes there are */
    size_t speedup_count;
    bool two_nodes_slower; /* than one */

    struct cb_memory memory;

    /* money and time; 0 where a price or total is not known */
    double idle_cost_per_hour; /* expected.share x price x GPUs */
    double idle_cost_per_hour_low, idle_cost_per_hour_high;
    double total_steps;
    double total_s, total_low_s, total_high_s;
    double cost, cost_low, cost_high;

    struct cb_link_rule rule;
    struct cb_note notes[CB_NOTES_MAX];
    size_t note_count;
};

/* Predicts one training step of the job on the machine. *out is plain data (no ownership). Errors:
 * CB_E_USAGE for an impossible job (cb_job_check) or a machine without a rate or with numbers that
 * are not positive and finite; CB_E_MEASURE when the network cannot tell a collective that the job
 * needs. Outputs only on success. Pure. */
int cb_training_predict(const struct cb_job *job, const struct cb_machine *machine,
                        struct cb_training *out, struct cb_error *err);

/* cb_training_predict without the speed-ups, the notes and the rule: for comparing many
 * alternatives. */
int cb_training_weigh(const struct cb_job *job, const struct cb_machine *machine,
                      struct cb_training *out, struct cb_error *err);

#endif

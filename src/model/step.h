/* The parts of cb_training_predict that are computed again for other numbers of nodes and other
 * networks. For model/ alone. */
#ifndef CB_MODEL_STEP_H
#define CB_MODEL_STEP_H

#include "model/training.h"

/* One step of a complete job: everything but what is derived from it. */
struct cb_step_model {
    struct cb_traffic_time traffic[CB_TRAFFIC_MAX];
    size_t traffic_count;
    double compute_s;
    double forward_share; /* of the compute */
    double accumulation;
    double bubble_s;
    double communication_s[CB_PACE_COUNT];
    double inter_node_s[CB_PACE_COUNT];
    enum cb_provenance source; /* the weakest of the traffic's */
};

/* Builds the step of a complete job whose compute on one GPU takes compute_s. Errors: CB_E_MEASURE
 * when the network cannot tell a time. Outputs only on success. */
int cb_step_build(const struct cb_job *job, const struct cb_network *network, double compute_s,
                  struct cb_step_model *step, struct cb_error *err);

/* What is exposed at an overlap and a pace. Of the traffic that may run beside the forward or the
 * backward pass, overlap x the smaller of the two times hides; the operation that the pass starts
 * or ends with never does. Source of the bounds: docs/design.md, "The training step". */
struct cb_step_cost cb_step_expose(const struct cb_step_model *step, double overlap,
                                   enum cb_pace pace);

/* A network whose bandwidth between nodes (inside the node, where there is one) is speed times as
 * high; the latency, the time of CB_STEP_SMALL_BYTES, stays. */
struct cb_faster_network {
    struct cb_network network; /* its context is this struct, which must not move */
    const struct cb_network *base;
    double speed;
};
void cb_faster_network_init(struct cb_faster_network *faster, const struct cb_network *base,
                            double speed);
#define CB_STEP_SMALL_BYTES 1024.0

/* Bus bandwidth of an all_reduce of size_bytes over all GPUs, median; 0 for one GPU or where it
 * cannot be told. */
double cb_step_bus_bytes_per_s(const struct cb_network *network, double size_bytes,
                               enum cb_provenance *source);

/* Fills rule and notes from everything else in *training: where the documents' formula and their
 * rule of thumb lead to another answer than the model, and why. */
void cb_training_explain(struct cb_training *training);

#endif

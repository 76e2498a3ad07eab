/* The same job on more of what was measured. */
#ifndef CB_JUDGE_PREDICT_H
#define CB_JUDGE_PREDICT_H

#include "base/error.h"
#include "model/scaling.h"
#include "model/workload.h"
#include "result/forecast.h"
#include "result/result.h"

/* The most GPUs that are predicted for. */
#define CB_PREDICT_MAX_GPUS (1 << 24)

struct cb_predict_request {
    const int *gpus;   /* borrowed; each a part of one node or whole nodes */
    size_t count;      /* 0: as many as were measured, and 4, 16 and 64 times that */
    int gpus_per_node; /* 0: as measured */
    struct cb_fabric fabric;
};

/* Fills an initialised forecast: for each number of GPUs what an all_reduce of the gradient takes,
 * and the model's step (model/training.h), over the network that was measured (judge/network.h):
 * count results of the same cluster over different numbers of nodes, of which the first tells what
 * a GPU computes. A job without parameters is the standard 7B one. A row that cannot be told, or
 * that the job cannot be spread over, says why. Errors: CB_E_USAGE for a number of GPUs that cannot
 * be, a job that none of the rows can hold, or a time that includes communication; CB_E_INPUT for
 * results without a collective, or that do not belong together; CB_E_MEASURE when no row can be
 * told; CB_E_MEMORY. Pure. */
int cb_predict(const struct cb_result *const *results, size_t count,
               const struct cb_workload *workload, const struct cb_predict_request *request,
               struct cb_forecast *forecast, struct cb_error *err);

#endif

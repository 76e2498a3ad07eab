/* What `commbound predict` says: one training job on the same kind of cluster at several sizes.
 * Plain data, filled by judge/predict.h, rendered by report/forecast.h. */
#ifndef CB_RESULT_FORECAST_H
#define CB_RESULT_FORECAST_H

#include <stdbool.h>

#include "base/error.h"
#include "base/provenance.h"
#include "base/vec.h"
#include "model/job.h"
#include "model/scaling.h"
#include "model/training.h"
#include "result/result.h"

#define CB_FORECAST_SCHEMA "commbound.prediction"
#define CB_FORECAST_SCHEMA_VERSION 1

/* The job on so many GPUs. Where the reason is not empty nothing but gpus and nodes is meaningful.
 */
struct cb_forecast_row {
    int gpus, nodes;

    /* all_reduce of the whole gradient over all GPUs; 0 on one GPU. The low time is that of the
     * fast pace and the error of the confidence. */
    double all_reduce_s, all_reduce_low_s, all_reduce_high_s;
    double bus_bytes_per_s;
    enum cb_provenance all_reduce_source;
    enum cb_confidence all_reduce_confidence;

    /* one step */
    double compute_s;
    double communication_s; /* nothing hidden */
    double step_s;          /* at the expected overlap */
    double serial_share;
    double exposed_share, exposed_share_low, exposed_share_high;
    double tokens_per_s; /* of all GPUs together */
    enum cb_training_verdict verdict;
    bool bound;                    /* what is expected */
    enum cb_provenance source;     /* of the step's communication */
    enum cb_confidence confidence; /* of its least certain collective */
    char reason[CB_TEXT];
};

/* A result that it rests on. */
struct cb_forecast_run {
    int nodes, gpus_per_node;
    char transport[CB_NAME];
    bool simulated;
    char started_at[CB_NAME];
    double largest_bytes; /* of an all_reduce over all ranks; 0: none */
};

struct cb_forecast {
    char tool_version[CB_NAME];
    CB_VEC(struct cb_forecast_run) runs; /* by nodes */

    char job[CB_NAME]; /* "7B full fine-tune" */
    char scheme[CB_NAME];
    double parameters;
    double gradient_bytes; /* of all trained parameters */
    double tokens_per_gpu; /* per step; 0: the batch is fixed, so that they differ by row */
    double threshold;
    enum cb_provenance compute_source;
    int gpus_per_node;
    double oversubscription; /* as stated; 0: none */
    int pod_nodes;           /* 0: the most that were measured */

    CB_VEC(struct cb_forecast_row) rows; /* in the order they were asked for */
    CB_VEC(struct cb_assumption) assumptions;
};

/* Makes an empty forecast; free with fini, which leaves it empty again. */
void cb_forecast_init(struct cb_forecast *forecast);
void cb_forecast_fini(struct cb_forecast *forecast);

/* Appends an assumption (printf text; what is too long is cut). Errors: CB_E_MEMORY. */
int cb_forecast_assume(struct cb_forecast *forecast, const char *name, double value,
                       enum cb_provenance source, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Renders it as JSON text, ending in a newline, with the rules of result.json (result/json.h). The
 * caller frees *text with free(). Errors: CB_E_MEMORY. */
int cb_forecast_to_json(const struct cb_forecast *forecast, char **text, struct cb_error *err);

#endif

/* A burn: GEMM without a pause on every rank at once, its product verified again and again, the
 * cards watched meanwhile. */
#ifndef CB_MEASURE_BURN_H
#define CB_MEASURE_BURN_H

#include "gpu/nvml_api.h"
#include "kernels/kernels.h"
#include "measure/stop.h"
#include "result/result.h"
#include "transport/coordinator.h"
#include "transport/place.h"

/* The points of all series together: what a file and its readers bear. */
#define CB_BURN_POINTS_OF_ALL 65536
#define CB_BURN_POINTS_OF_RANK 180

struct cb_burn_config {
    const struct cb_coordinator *coordinator;
    const struct cb_kernel_ops *kernels;
    struct cb_kernels *set; /* opened; nothing needs to be prepared */
    enum cb_dtype dtype;    /* that the set supports for GEMM on every rank */
    double planned_s;       /* what was asked for: a row whose burn was shorter says so */
    double duration_s;
    const struct cb_nvml_api *nvml; /* NULL: nobody watches the card; the reason says why */
    int nvml_index;                 /* of this rank's card */
    const char *no_samples;         /* why nvml is NULL */
    struct cb_stop *stop;
    struct cb_place *place; /* told when the rank burns and when it meets the others; may be NULL */
};

/* Burns for duration_s, or until a rank is asked to stop or fails, and adds one row per rank and
 * their series to rank 0's result. A burn cut short has a row, too: its elapsed_s says so. Products
 * that were wrong make the row's status wrong; the burn goes on, so that their number is known.
 * Collective over the coordinator's world; every rank returns the same. Errors: what a kernel said,
 * after the rows were added (the rank's own is then failed); CB_E_MEMORY. */
int cb_burn_run(const struct cb_burn_config *config, struct cb_result *result,
                struct cb_error *err);

#endif

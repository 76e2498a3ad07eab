/* A workload put together: the command line over a file over a known model. */
#ifndef CB_OFFER_WORKLOAD_H
#define CB_OFFER_WORKLOAD_H

#include "base/error.h"
#include "model/workload.h"

/* Fills *workload from what the command line states and a file's texts (NULL: none), then from the
 * known model that either names: its figures take the place of what nobody states, source
 * reference. Checks what no single value shows, the job itself included as far as it is known.
 * command_line is not changed, file may be. Pure. Errors: CB_E_USAGE, or CB_E_INPUT with the file's
 * line, for a value that cannot be, an unknown model (the nearest is named), times without a model,
 * an impossible job; *workload is then unchanged. Bandwidths are not touched. */
int cb_workload_compose(const struct cb_workload_texts *command_line,
                        struct cb_workload_texts *file, struct cb_workload *workload,
                        struct cb_error *err);

#endif

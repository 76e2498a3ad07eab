/* Rows for what a run did not do: a step that was not measured stays in the result with its reason,
 * so that nobody takes it for one that was not wanted. */
#ifndef CB_MEASURE_SKIPPED_H
#define CB_MEASURE_SKIPPED_H

#include "measure/plan.h"
#include "result/result.h"

/* Why what comes after a signal or a fault was not done. */
#define CB_SKIPPED_BY_SIGNAL "stopped by a signal"
#define CB_SKIPPED_BY_FAULT "not reached: a fault ended the run before"

/* A row that says what the item is and has no measurement yet. */
struct cb_collective_row cb_skipped_collective(const struct cb_item *item);

/* Adds a row for one item, with its status (skipped or failed) and why. Errors: CB_E_MEMORY. */
int cb_skipped_add(struct cb_result *result, const struct cb_item *item, enum cb_status status,
                   const char *reason, struct cb_error *err);

/* The same for every item of the plan from the first (counted from 0) on, as skipped; items that
 * the plan itself leaves out keep their own reason. */
int cb_skipped_add_rest(struct cb_result *result, const struct cb_plan *plan, size_t first,
                        const char *reason, struct cb_error *err);

#endif

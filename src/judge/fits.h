/* The fits of a result's curves. */
#ifndef CB_JUDGE_FITS_H
#define CB_JUDGE_FITS_H

#include "base/error.h"
#include "result/result.h"

typedef CB_VEC(struct cb_fit_row) cb_fit_list;

/* Fits every curve of three points or more (judge/curve.h), one row per regime, in the order of
 * ops, scopes and sizes, and appends them. Errors: CB_E_MEMORY. */
int cb_fits_build(const struct cb_result *result, cb_fit_list *fits, struct cb_error *err);

#endif

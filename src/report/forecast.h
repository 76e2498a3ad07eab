/* Renders a prediction for a person or a program. Pure. */
#ifndef CB_REPORT_FORECAST_H
#define CB_REPORT_FORECAST_H

#include "base/error.h"
#include "base/strbuf.h"
#include "report/report.h"
#include "result/forecast.h"

/* Appends the prediction to out, as text laid out for 80 columns or as JSON; there is no CSV of it.
 * Errors: CB_E_UNSUPPORTED, CB_E_MEMORY. */
int cb_forecast_render(const struct cb_forecast *forecast, enum cb_report_format format,
                       const struct cb_report_options *options, struct cb_strbuf *out,
                       struct cb_error *err);

#endif

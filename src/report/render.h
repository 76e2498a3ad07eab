/* One function per report format. Private to report/; the contract is cb_report_render's. */
#ifndef CB_REPORT_RENDER_H
#define CB_REPORT_RENDER_H

#include "report/report.h"

int cb_render_text(const struct cb_result *result, const struct cb_report_options *options,
                   struct cb_strbuf *out, struct cb_error *err);
int cb_render_csv(const struct cb_result *result, const struct cb_report_options *options,
                  struct cb_strbuf *out, struct cb_error *err);

#endif

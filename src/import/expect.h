/* How a run stands to what such hardware is known to reach, and why a bus bandwidth can be above
 * the wire's. Private to import/. */
#ifndef CB_IMPORT_EXPECT_H
#define CB_IMPORT_EXPECT_H

#include "import/grade.h"

/* Notes findings by the summary's figures. */
void cb_expect(const struct cb_import *summary, const struct cb_grading *grading,
               struct cb_findings *findings);

#endif

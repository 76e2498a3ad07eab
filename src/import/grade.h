/* What the curve of a run says: whether it ends on its plateau, falls, jumps or is noise, and how
 * it stands to what such hardware is known to reach. Private to import/. */
#ifndef CB_IMPORT_GRADE_H
#define CB_IMPORT_GRADE_H

#include "import/findings.h"
#include "import/import.h"
#include "import/ops.h"

/* What the curve is judged with. */
struct cb_grading {
    enum cb_test test;
    double average_bytes_per_s; /* a printed one; negative: none */
    int average_line;
    bool may_use_multicast; /* the log says so */
    double iterations;      /* per size; 0: unknown */
};

/* Fills the summary's figures from the rows (largest, best, latency) and notes the findings.
 * Errors: CB_E_MEMORY. */
int cb_grade(struct cb_import_log *log, const struct cb_grading *grading,
             struct cb_findings *findings, struct cb_error *err);

#endif

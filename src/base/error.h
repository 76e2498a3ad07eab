/* Errors as values: plain fixed-size data, so that an error can be gathered over ranks. */
#ifndef CB_BASE_ERROR_H
#define CB_BASE_ERROR_H

enum cb_code {
    CB_OK = 0,
    CB_E_USAGE = -1,       /* the command line or an input file is wrong: the user can mend it */
    CB_E_INPUT = -2,       /* a file that was read is not what it should be */
    CB_E_IO = -3,          /* the operating system refused a read or a write */
    CB_E_MEMORY = -4,      /* an allocation failed */
    CB_E_UNSUPPORTED = -5, /* this build or this library cannot do it */
    CB_E_MEASURE = -6,     /* a measurement could not be made */
};

/* How far an error may be from its cause. */
enum cb_follows {
    CB_CAUSE = 0,
    CB_WAITED = 1,  /* in vain for another rank, which may know more */
    CB_DROPPED = 2, /* by another rank, which left for a reason of its own: it may have waited */
    CB_TOLD = 3,    /* by another rank that it failed */
};

/* What went wrong, which call said so with which values, and what to try. Empty strings are
 * "nothing to say". rank is -1 and host empty until somebody who knows them fills them in. */
struct cb_error {
    int code;
    int rank;
    int follows; /* enum cb_follows: the least of a job's errors is the one to report */
    char what[256];
    char detail[256];
    char hint[256];
    char host[64];
};

/* Empties an error: code CB_OK, rank -1. */
void cb_error_clear(struct cb_error *err);

/* Fills err with a code and one factual line (printf format, no trailing full stop or newline) and
 * returns the code, so that a caller can write `return cb_fail(err, ...)`. err may be NULL. */
int cb_fail(struct cb_error *err, enum cb_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds the failed call with its values, or the remedy, to an error. err may be NULL. */
void cb_error_set_detail(struct cb_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void cb_error_set_hint(struct cb_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The process exit status of a failure (docs/design.md, "Exit codes"): 2 for what the user can mend
 * in the command line or a file, 3 for a measurement that could not be made. */
int cb_code_exit_status(int code);

#endif

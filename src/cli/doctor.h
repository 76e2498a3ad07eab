/* What `doctor` finds: filled by the looks below, printed by cmd_doctor.c. */
#ifndef CB_CLI_DOCTOR_H
#define CB_CLI_DOCTOR_H

#include "base/strbuf.h"
#include "base/vec.h"

enum cb_doctor_state {
    CB_DOCTOR_FOUND,
    CB_DOCTOR_MISSING, /* and worth having */
    CB_DOCTOR_BROKEN,  /* there, but it does not answer */
    CB_DOCTOR_ABSENT   /* not in this build: nothing to install would help */
};

/* One part of the set-up. */
struct cb_doctor_part {
    const char *name;
    enum cb_doctor_state state;
    char text[512]; /* version, or what it would be for and how to get it */
    char path[512]; /* where it is; empty when it is nowhere */
};

/* Something odd, and what to do about it. */
struct cb_doctor_finding {
    char text[256];
    char remedy[256];
};

struct cb_doctor {
    const char *sysroot; /* where to read sysfs and procfs; "" for this host */
    CB_VEC(struct cb_doctor_part) parts;
    CB_VEC(struct cb_doctor_finding) findings;
    struct cb_strbuf host; /* lines about this host; empty when this build cannot look */
    char mpirun[128];      /* what mpirun says it is; empty when it is missing */
    char obstacle[256];    /* why `run` cannot work here; empty when it can */
    bool failed;           /* an allocation failed */
};

void cb_doctor_add_part(struct cb_doctor *doctor, const char *name, enum cb_doctor_state state,
                        const char *path, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* The remedy comes first, so that the finding can have values. */
void cb_doctor_add_finding(struct cb_doctor *doctor, const char *remedy, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Keeps the first obstacle. */
void cb_doctor_set_obstacle(struct cb_doctor *doctor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds a part for a library of this process: its version, and the file it was loaded from. */
void cb_doctor_add_library(struct cb_doctor *doctor, const char *name, const char *version,
                           const char *file_name);

/* Looks at what measuring needs: the transports, the BLAS library, hwloc, this host and its
 * network. Only in a build that measures (doctor_measure.c). */
void cb_doctor_look_at_measuring(struct cb_doctor *doctor);

/* Looks at the driver, at CUDA and at every copy of NCCL (doctor_gpu.c; likewise). */
void cb_doctor_look_at_gpus(struct cb_doctor *doctor);

#endif

/* The environment variables that change what is measured: which of them go into the result, and
 * the few that the program itself sets before MPI starts. */
#ifndef CB_MEASURE_ENVIRONMENT_H
#define CB_MEASURE_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "result/result.h"

#define CB_ENVIRONMENT_CHANGES 4

/* What commbound sets for the user. All texts are static. */
struct cb_environment_changes {
    size_t count;
    struct cb_environment_change {
        const char *name;
        const char *value;
        const char *reason; /* one line for the report */
        bool between_nodes; /* it matters only to a job of several nodes */
    } items[CB_ENVIRONMENT_CHANGES];
};

/* Whether a variable belongs in a result: its name is on the white list, is none of the launcher's
 * own bookkeeping, and does not look like a secret. Pure. */
bool cb_environment_is_recorded(const char *name);

/* The processes of this job on this node as the launcher's variables say (Open MPI's, MPICH's, else
 * Slurm's), or 0 when none says so. Pure. */
int cb_environment_local_ranks(char *const *variables);

/* The processes of this job as the launcher's variables say (Open MPI's, MPICH's, else Slurm's when
 * srun started this process), or 0 when none says so. Pure. */
int cb_environment_job_ranks(char *const *variables);

/* Decides what to set: each default that helps here and that the user has not set. variables is
 * NULL-terminated; params is the text of Open MPI's parameter files, where the user may have set
 * one too (NULL for none); cpus is how many hardware threads the job may use on this node (0:
 * unknown). Pure. */
void cb_environment_plan(char *const *variables, const char *params, int cpus,
                         struct cb_environment_changes *changes);

/* Plans for this process and sets the variables in its environment. Call before MPI starts and
 * before any other thread runs; every process of the job comes to the same defaults for its node.
 * cpus as above (see cb_topo_allowed_cpus). Errors: CB_E_MEMORY. */
int cb_environment_prepare(int cpus, struct cb_environment_changes *changes, struct cb_error *err);

/* Appends the recorded ones of variables to result->environment, sorted by name; set_by is
 * "commbound" for those in changes (NULL: none), else "user". Characters that no report should
 * carry are replaced by '?'. Errors: CB_E_MEMORY. */
int cb_environment_collect(struct cb_result *result, char *const *variables,
                           const struct cb_environment_changes *changes, struct cb_error *err);

/* Looks up a parameter ("pml") in the text of an Open MPI parameter file ("pml = ^ucx", # starts a
 * comment; the last one wins) and copies its value. Returns whether it is there. Pure. */
bool cb_environment_find_param(const char *text, const char *name, char *value, size_t size_bytes);

/* Whether an Open MPI selection ("ob1,ucx", or "^ucx,ofi" for all but these) leaves a component
 * out. Pure. */
bool cb_environment_excludes(const char *selection, const char *component);

/* The text of Open MPI's parameter files, system-wide ones first, the user's last. The caller
 * frees it with free(); NULL when there is none. */
char *cb_environment_read_params(void);

#endif

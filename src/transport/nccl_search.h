/* Where NCCL is: it is never linked, so that one binary serves whichever copy a cluster has. */
#ifndef CB_TRANSPORT_NCCL_SEARCH_H
#define CB_TRANSPORT_NCCL_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define CB_NCCL_COPIES 24 /* more than these are not looked at */

/* One libnccl.so.2 that was found. */
struct cb_nccl_copy {
    char path[512];  /* the real one, as far as it is known */
    char origin[64]; /* what led there: "--nccl-lib", "NCCL_HOME", "the system's loader" */
    int version;     /* NCCL's code: 22809 is 2.28.9; 0: it did not say */
    bool serves;
    char reason[256]; /* why it does not serve */
};

/* Looks for every copy, in the order in which they are preferred: given (--nccl-lib; may be NULL or
 * empty), COMMBOUND_NCCL_LIB, the system's loader (LD_LIBRARY_PATH, environment modules), NCCL_HOME
 * and NCCL_ROOT, CONDA_PREFIX, the Python packages of VIRTUAL_ENV, of CONDA_PREFIX, of python3 on
 * PATH and of the user, CUDA_HOME and CUDA_PATH, /usr/local/cuda. A copy is named once, under its
 * real path. Loads each and never unloads it (NCCL leaves threads behind). Returns how many; given
 * and COMMBOUND_NCCL_LIB are named even if nothing is there. */
size_t cb_nccl_list(const char *given, struct cb_nccl_copy copies[CB_NCCL_COPIES]);

/* The copy to use: given when there is one, else COMMBOUND_NCCL_LIB when it is set, else the first
 * of the list that serves. What the user names is not silently replaced by another. Errors:
 * CB_E_USAGE when what the user named does not serve, CB_E_UNSUPPORTED when none is there or none
 * serves; the reason and where was looked in the detail. */
int cb_nccl_find(const char *given, struct cb_nccl_copy *out, struct cb_error *err);

/* "2.28.9" for 22809, "2.8.4" for 2804. Returns text. */
const char *cb_nccl_format_version(int version, char text[16]);

#endif

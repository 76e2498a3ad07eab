/* What the two files that know MPI share. Nobody else includes this. */
#ifndef CB_TRANSPORT_MPI_INTERNAL_H
#define CB_TRANSPORT_MPI_INTERNAL_H

#include <mpi.h>
#include <stdbool.h>

#include "base/error.h"

struct cb_group {
    MPI_Comm comm;
    int rank, size;
};

/* Fills err from an MPI return code: the call, MPI's own text. Returns CB_OK for MPI_SUCCESS. */
int cb_mpi_check(int mpi_code, const char *call, struct cb_error *err);

#endif

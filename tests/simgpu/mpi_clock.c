/* In a simulated run ranks leave a barrier at the same simulated time, as they leave a real one at
 * the same real time. MPI's profiling names let the program's own calls stay as they are. */
#include <mpi.h>

#include "simgpu.h"

int MPI_Barrier(MPI_Comm comm)
{
    double latest_s = simgpu_host_now_s();
    int rc = PMPI_Barrier(comm);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Allreduce(MPI_IN_PLACE, &latest_s, 1, MPI_DOUBLE, MPI_MAX, comm);
    if (rc == MPI_SUCCESS)
        simgpu_host_reach(latest_s);
    return rc;
}

/* Preloaded into the ranks under test; what it does, the environment says:
 *
 * COMMBOUND_TEST_HOSTS=2,2   The first two ranks believe that they share a host, the next two that
 *                            they share another one: MPI_Comm_split_type and gethostname say so.
 * COMMBOUND_TEST_FAULT=all_reduce:256:1
 *                            One bit of what rank 1 receives in an all_reduce of 256 bytes is
 * wrong, every time. Also all_gather, reduce_scatter, broadcast, all_to_all, send_recv, and
 * ping_pong and one_way, the motions of the link probe.
 * COMMBOUND_TEST_NO_MEMORY=1  Rank 1 gets no aligned memory of 32 KiB or more.
 *
 * The job's own exchanges are left alone: they move doubles or bytes, the measured ones here must
 * be of 4-byte elements. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- hosts ---- */

/* The host of a rank, or -1 when nothing is to be simulated. */
static int simulated_host(int rank)
{
    const char *list = getenv("COMMBOUND_TEST_HOSTS");
    for (int host = 0; list && *list; host++) {
        char *end;
        long ranks = strtol(list, &end, 10);
        if (end == list)
            break;
        rank -= (int)ranks;
        if (rank < 0)
            return host;
        list = *end ? end + 1 : end;
    }
    return -1;
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out)
{
    int rank;
    PMPI_Comm_rank(comm, &rank);
    int host = simulated_host(rank);
    if (host < 0)
        return PMPI_Comm_split_type(comm, type, key, info, out);
    return PMPI_Comm_split(comm, host, key, out);
}

int gethostname(char *name, size_t size)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    int host = simulated_host(rank ? atoi(rank) : 0);
    int length = snprintf(name, size, "host%d", host < 0 ? 0 : host);
    return length >= 0 && (size_t)length < size ? 0 : -1;
}

/* ---- memory ---- */

void *aligned_alloc(size_t alignment, size_t size)
{
    const char *poor = getenv("COMMBOUND_TEST_NO_MEMORY");
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    void *memory = NULL;
    if (poor && rank && strcmp(poor, rank) == 0 && size >= 32768)
        return NULL;
    return posix_memalign(&memory, alignment, size) ? NULL : memory;
}

/* ---- faults ---- */

/* Whether an operation on that many elements is the one to spoil. */
static int is_chosen(const char *op, int count, MPI_Datatype type, int blocks)
{
    const char *fault = getenv("COMMBOUND_TEST_FAULT");
    size_t length = strlen(op);
    long bytes, wanted_rank;
    int rank, element_bytes;
    if (!fault || strncmp(fault, op, length) != 0 ||
        sscanf(fault + length, ":%ld:%ld", &bytes, &wanted_rank) != 2)
        return 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Type_size(type, &element_bytes);
    return rank == wanted_rank && element_bytes == 4 &&
           (long)count * element_bytes * blocks == bytes;
}

/* Flips one bit in the middle of a buffer. */
static void spoil(void *buffer, int count)
{
    ((unsigned char *)buffer)[(size_t)count / 2 * 4 + 2] ^= 0x10;
}

static int ranks_of(MPI_Comm comm)
{
    int size;
    PMPI_Comm_size(comm, &size);
    return size;
}

int MPI_Allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    int code = PMPI_Allreduce(send, receive, count, type, op, comm);
    if (is_chosen("all_reduce", count, type, 1))
        spoil(receive, count);
    return code;
}

int MPI_Allgather(const void *send, int send_count, MPI_Datatype send_type, void *receive,
                  int receive_count, MPI_Datatype receive_type, MPI_Comm comm)
{
    int code =
        PMPI_Allgather(send, send_count, send_type, receive, receive_count, receive_type, comm);
    if (is_chosen("all_gather", receive_count, receive_type, ranks_of(comm)))
        spoil(receive, receive_count * ranks_of(comm));
    return code;
}

int MPI_Reduce_scatter_block(const void *send, void *receive, int count, MPI_Datatype type,
                             MPI_Op op, MPI_Comm comm)
{
    int code = PMPI_Reduce_scatter_block(send, receive, count, type, op, comm);
    if (is_chosen("reduce_scatter", count, type, ranks_of(comm)))
        spoil(receive, count);
    return code;
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    int code = PMPI_Bcast(buffer, count, type, root, comm);
    if (is_chosen("broadcast", count, type, 1))
        spoil(buffer, count);
    return code;
}

int MPI_Alltoall(const void *send, int send_count, MPI_Datatype send_type, void *receive,
                 int receive_count, MPI_Datatype receive_type, MPI_Comm comm)
{
    int code =
        PMPI_Alltoall(send, send_count, send_type, receive, receive_count, receive_type, comm);
    if (is_chosen("all_to_all", receive_count, receive_type, ranks_of(comm)))
        spoil(receive, receive_count * ranks_of(comm));
    return code;
}

int MPI_Sendrecv(const void *send, int send_count, MPI_Datatype send_type, int to, int send_tag,
                 void *receive, int receive_count, MPI_Datatype receive_type, int from,
                 int receive_tag, MPI_Comm comm, MPI_Status *status)
{
    int code = PMPI_Sendrecv(send, send_count, send_type, to, send_tag, receive, receive_count,
                             receive_type, from, receive_tag, comm, status);
    if (is_chosen("send_recv", receive_count, receive_type, 1))
        spoil(receive, receive_count);
    return code;
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    int code = PMPI_Recv(buffer, count, type, from, tag, comm, status);
    if (is_chosen("ping_pong", count, type, 1))
        spoil(buffer, count);
    return code;
}

/* The data of a receive under way may be touched when it is complete. */
static void *pending;
static int pending_count;

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    if (is_chosen("one_way", count, type, 1)) {
        pending = buffer;
        pending_count = count;
    }
    return PMPI_Irecv(buffer, count, type, from, tag, comm, request);
}

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses)
{
    int code = PMPI_Waitall(count, requests, statuses);
    if (pending)
        spoil(pending, pending_count);
    pending = NULL;
    return code;
}

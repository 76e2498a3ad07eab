/* Asking where every rank is when nothing moves: by datagrams, beside MPI, since a rank that waits
 * inside MPI or CUDA cannot use either. Each rank's signal thread answers (measure/stop.h),
 * whatever its main thread waits for. */
#ifndef CB_MEASURE_ROLL_CALL_H
#define CB_MEASURE_ROLL_CALL_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "measure/missing.h"
#include "transport/coordinator.h"

struct cb_roll_call {
    atomic_bool is_open; /* zero-initialise: until then serve does nothing */
    int socket;          /* -1: none, and nobody can be asked */
    int rank, size;
    uint64_t key; /* of this job: datagrams without it are dropped */
    struct cb_place *place;
    char host[64];
    struct sockaddr_in first[8]; /* where rank 0 may be reached */
    int first_count;
    bool is_heard; /* rank 0 has said so */
    int hellos_left;

    /* On rank 0, under the lock: */
    pthread_mutex_t lock;
    uint32_t round;
    struct cb_roll_entry *entries; /* size of them; owned */
    struct sockaddr_in *addresses; /* size of them; owned */
};

/* Opens the socket (on the loopback interface where the job has one host) and shares rank 0's
 * addresses. *place is this rank's and is read from other threads until close. Collective over the
 * world; the struct must have been zeroed and stay where it is until close, after the signal thread
 * has ended. A socket that cannot be had is no error: that rank is then one that cannot be asked.
 * Errors: CB_E_MEMORY, or what the exchange said; *call can be closed all the same. */
int cb_roll_call_open(struct cb_roll_call *call, const struct cb_coordinator *coordinator,
                      struct cb_place *place, struct cb_error *err);
void cb_roll_call_close(struct cb_roll_call *call);

/* Answers what has come, and says hello to rank 0 until it has heard. Does not wait; for the signal
 * thread, some times a second. */
void cb_roll_call_serve(struct cb_roll_call *call);

/* On rank 0, in any thread: asks all and describes who is missing (cb_missing_describe), after at
 * most two seconds. Returns false, with text empty, where nobody could be asked. */
bool cb_roll_call_describe(struct cb_roll_call *call, char *text, size_t size_bytes);

#endif

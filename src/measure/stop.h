/* Asked to stop by a signal, or stuck: a thread that waits for both, so that no handler has to be
 * async-signal-safe and no global is needed. */
#ifndef CB_MEASURE_STOP_H
#define CB_MEASURE_STOP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/error.h"

struct cb_stop_hooks {
    /* Called in the thread on the first signal, and when there was no beat for the time limit, not
     * counting time in which the process was suspended. May be NULL. */
    void (*on_signal)(void *arg, int signal_number);
    void (*on_hang)(void *arg);
    void (*on_tick)(void *arg); /* ten times a second; may be NULL */
    void *arg;
};

struct cb_stop {
    pthread_t thread;
    atomic_int signal_number; /* 0 until one came */
    atomic_bool finished;
    atomic_ulong beats;
    double first_signal_s; /* the thread's own */
    double hang_limit_s;   /* 0: never */
    struct cb_stop_hooks hooks;
};

/* Blocks SIGTERM, SIGINT, SIGUSR1 and SIGUSR2 in the calling thread and all it starts from now on
 * (call it before MPI starts threads), and starts the thread that takes them. Another one a second
 * or more later ends the process at once with status 5. *stop must stay where it is until
 * cb_stop_fini. */
int cb_stop_init(struct cb_stop *stop, double hang_limit_s, const struct cb_stop_hooks *hooks,
                 struct cb_error *err);

/* Ends the thread. The signals stay blocked. */
void cb_stop_fini(struct cb_stop *stop);

/* Whether a signal asked to stop. */
bool cb_stop_is_requested(struct cb_stop *stop);

/* Says that the measuring goes on. */
void cb_stop_beat(struct cb_stop *stop);

#endif

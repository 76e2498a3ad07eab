#include "measure/stop.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { EXIT_STOPPED = 5 };

static void fill_signals(sigset_t *set)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2};
    sigemptyset(set);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaddset(set, signals[i]);
}

/* Launchers and batch systems may deliver the same request twice in a row: only one that comes
 * later is impatience. */
static void take_signal(struct cb_stop *stop, int signal_number)
{
    const double impatience_s = 1;
    double now_s = cb_clock_now_s();
    if (atomic_load(&stop->signal_number)) {
        if (now_s - stop->first_signal_s > impatience_s)
            _exit(EXIT_STOPPED);
        return;
    }
    stop->first_signal_s = now_s;
    atomic_store(&stop->signal_number, signal_number);
    if (stop->hooks.on_signal)
        stop->hooks.on_signal(stop->hooks.arg, signal_number);
}

static void *wait_for_signals(void *arg)
{
    struct cb_stop *stop = arg;
    const struct timespec tick = {.tv_nsec = 100 * 1000L * 1000};
    /* A longer look was none: the process was suspended, and so was the rest of it. */
    const double longest_look_s = 0.5;
    unsigned long last_beats = 0;
    double last_look_s = cb_clock_now_s(), idle_s = 0;
    sigset_t set;
    fill_signals(&set);
    while (!atomic_load(&stop->finished)) {
        int signal_number = sigtimedwait(&set, NULL, &tick);
        if (signal_number > 0)
            take_signal(stop, signal_number);
        if (stop->hooks.on_tick)
            stop->hooks.on_tick(stop->hooks.arg);
        unsigned long beats = atomic_load(&stop->beats);
        double now_s = cb_clock_now_s();
        idle_s = beats == last_beats ? idle_s + fmin(now_s - last_look_s, longest_look_s) : 0;
        last_beats = beats;
        last_look_s = now_s;
        if (stop->hang_limit_s > 0 && idle_s > stop->hang_limit_s) {
            if (stop->hooks.on_hang)
                stop->hooks.on_hang(stop->hooks.arg);
            idle_s = 0;
        }
    }
    return NULL;
}

int cb_stop_init(struct cb_stop *stop, double hang_limit_s, const struct cb_stop_hooks *hooks,
                 struct cb_error *err)
{
    memset(stop, 0, sizeof(*stop));
    stop->hang_limit_s = hang_limit_s;
    if (hooks)
        stop->hooks = *hooks;
    sigset_t set;
    fill_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    int code = pthread_create(&stop->thread, NULL, wait_for_signals, stop);
    if (code)
        return cb_fail(err, CB_E_MEASURE, "cannot start the signal thread: %s", strerror(code));
    return CB_OK;
}

void cb_stop_fini(struct cb_stop *stop)
{
    atomic_store(&stop->finished, true);
    pthread_join(stop->thread, NULL);
}

bool cb_stop_is_requested(struct cb_stop *stop)
{
    return atomic_load(&stop->signal_number) != 0;
}

void cb_stop_beat(struct cb_stop *stop)
{
    atomic_fetch_add(&stop->beats, 1);
}

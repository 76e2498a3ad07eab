/* Stopping: signals are taken once and told once, impatience ends the process, and a run that makes
 * no progress is noticed while one that does, or was only suspended, is left alone. Times here are
 * limits after which a test gives up, or pauses that make something certain: none is compared. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/stop.h"

#include "cb_test.h"

enum { EXIT_STOPPED = 5, PATIENCE_S = 30 };

struct counts {
    atomic_int signals, hangs, last_signal;
};

static void count_signal(void *arg, int signal_number)
{
    struct counts *counts = arg;
    atomic_store(&counts->last_signal, signal_number);
    atomic_fetch_add(&counts->signals, 1);
}

static void count_hang(void *arg)
{
    struct counts *counts = arg;
    atomic_fetch_add(&counts->hangs, 1);
}

static void start(struct cb_stop *stop, double hang_limit_s, struct counts *counts)
{
    struct cb_error err;
    memset(counts, 0, sizeof(*counts));
    const struct cb_stop_hooks hooks = {
        .on_signal = count_signal, .on_hang = count_hang, .arg = counts};
    assert_ok(cb_stop_init(stop, hang_limit_s, &hooks, &err), &err);
}

static void pause_ms(int time_ms)
{
    poll(NULL, 0, time_ms);
}

/* Waits until the counter has reached a number. */
static void await(atomic_int *counter, int wanted)
{
    double start_s = cb_clock_now_s();
    while (atomic_load(counter) < wanted) {
        if (cb_clock_now_s() - start_s > PATIENCE_S)
            fail_msg("the counter is still %d, not %d", atomic_load(counter), wanted);
        pause_ms(5);
    }
}

/* Waits until nobody has yet to take the signal. */
static void await_taken(int signal_number)
{
    double start_s = cb_clock_now_s();
    sigset_t pending;
    for (;;) {
        sigpending(&pending);
        if (!sigismember(&pending, signal_number))
            return;
        if (cb_clock_now_s() - start_s > PATIENCE_S)
            fail_msg("signal %d was not taken", signal_number);
        pause_ms(5);
    }
}

/* Runs body in a process of its own and returns its wait status. A body that never ends is ended by
 * SIGALRM. */
static int run_child(void (*body)(int go), void (*parent)(pid_t child, int go))
{
    int pipe_ends[2], status = 0;
    assert_int_equal(pipe(pipe_ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(PATIENCE_S);
        close(pipe_ends[1]);
        body(pipe_ends[0]);
        _exit(99); /* a body ends the process itself */
    }
    close(pipe_ends[0]);
    if (parent)
        parent(child, pipe_ends[1]);
    close(pipe_ends[1]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

/* ---- signals ---- */

static void nothing_is_requested_at_first(void **state)
{
    (void)state;
    struct cb_stop stop;
    struct counts counts;
    start(&stop, 0, &counts);
    assert_false(cb_stop_is_requested(&stop));
    cb_stop_fini(&stop);
    assert_int_equal(atomic_load(&counts.signals), 0);
    assert_int_equal(atomic_load(&counts.hangs), 0);
}

static void each_signal_is_seen(void **state)
{
    (void)state;
    static const int signals[] = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        struct cb_stop stop;
        struct counts counts;
        start(&stop, 0, &counts);
        kill(getpid(), signals[i]);
        await(&counts.signals, 1);
        assert_true(cb_stop_is_requested(&stop));
        assert_int_equal(atomic_load(&counts.last_signal), signals[i]);
        cb_stop_fini(&stop);
    }
}

/* Launchers and batch systems repeat themselves. */
static void a_second_signal_at_once_changes_nothing(void **state)
{
    (void)state;
    struct cb_stop stop;
    struct counts counts;
    start(&stop, 0, &counts);
    kill(getpid(), SIGTERM);
    kill(getpid(), SIGINT);
    await(&counts.signals, 1);
    await_taken(SIGTERM);
    await_taken(SIGINT);
    cb_stop_fini(&stop); /* whatever was taken has been told by now */
    assert_int_equal(atomic_load(&counts.signals), 1);
}

static void a_signal_without_hooks_is_a_request(void **state)
{
    (void)state;
    struct cb_stop stop;
    struct cb_error err;
    assert_ok(cb_stop_init(&stop, 0, NULL, &err), &err);
    kill(getpid(), SIGTERM);
    await(&stop.signal_number, 1);
    assert_true(cb_stop_is_requested(&stop));
    cb_stop_fini(&stop);
}

static void insist(int go)
{
    (void)go;
    struct cb_stop stop;
    struct cb_error err;
    if (cb_stop_init(&stop, 0, NULL, &err))
        _exit(98);
    kill(getpid(), SIGTERM);
    while (!cb_stop_is_requested(&stop))
        pause_ms(5);
    pause_ms(1200); /* more than the second after which another signal is impatience */
    kill(getpid(), SIGTERM);
    for (;;)
        pause_ms(1000);
}

static void a_later_signal_ends_the_process(void **state)
{
    (void)state;
    int status = run_child(insist, NULL);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EXIT_STOPPED);
}

/* ---- hangs ---- */

static void a_hang_is_told(void **state)
{
    (void)state;
    struct cb_stop stop;
    struct counts counts;
    start(&stop, 0.2, &counts);
    await(&counts.hangs, 1);
    assert_false(cb_stop_is_requested(&stop));
    cb_stop_fini(&stop);
    assert_int_equal(atomic_load(&counts.signals), 0);
}

static void no_limit_means_no_hang(void **state)
{
    (void)state;
    struct cb_stop stop;
    struct counts counts;
    start(&stop, 0, &counts);
    pause_ms(600);
    cb_stop_fini(&stop);
    assert_int_equal(atomic_load(&counts.hangs), 0);
}

static void beats_prevent_a_hang(void **state)
{
    (void)state;
    struct cb_stop stop;
    struct counts counts;
    start(&stop, 2, &counts);
    for (int i = 0; i < 300; i++) { /* three seconds at least */
        pause_ms(10);
        cb_stop_beat(&stop);
    }
    cb_stop_fini(&stop);
    assert_int_equal(atomic_load(&counts.hangs), 0);
}

/* Ends with 0 when no hang was told until the parent says go. */
static void be_suspended(int go)
{
    struct cb_stop stop;
    struct counts counts;
    char word;
    memset(&counts, 0, sizeof(counts));
    const struct cb_stop_hooks hooks = {.on_hang = count_hang, .arg = &counts};
    struct cb_error err;
    if (cb_stop_init(&stop, 3, &hooks, &err))
        _exit(98);
    cb_stop_beat(&stop);
    ssize_t got = read(go, &word, 1);
    _exit(got == 1 && atomic_load(&counts.hangs) == 0 ? 0 : 1);
}

static void suspend(pid_t child, int go)
{
    pause_ms(300);
    kill(child, SIGSTOP);
    pause_ms(4000); /* beyond the limit */
    kill(child, SIGCONT);
    pause_ms(300); /* time to jump to a conclusion, well within the limit */
    assert_int_equal(write(go, "g", 1), 1);
}

/* Batch systems suspend jobs with SIGSTOP: time in which nobody could run is no hang. */
static void a_suspended_process_does_not_hang(void **state)
{
    (void)state;
    int status = run_child(be_suspended, suspend);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_requested_at_first),
        cmocka_unit_test(each_signal_is_seen),
        cmocka_unit_test(a_second_signal_at_once_changes_nothing),
        cmocka_unit_test(a_signal_without_hooks_is_a_request),
        cmocka_unit_test(a_later_signal_ends_the_process),
        cmocka_unit_test(a_hang_is_told),
        cmocka_unit_test(no_limit_means_no_hang),
        cmocka_unit_test(beats_prevent_a_hang),
        cmocka_unit_test(a_suspended_process_does_not_hang),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#define _GNU_SOURCE
#include "grid.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copy_engine.h"
#include "fiber.h"

enum state { NEW, READY, AT_SYNC, AT_SHUFFLE, WAITING, DONE };

struct thread {
    enum state state;
    struct simgpu_fiber *fiber;
    const char *where; /* of AT_SYNC and AT_SHUFFLE */
    const void *what;  /* of WAITING */
};

/* Values are kept for two exchanges: a lane that is woken late still finds those of its own. */
struct warp {
    uint64_t values[2][SIMGPU_WARP];
    uint32_t arrived;
    unsigned exchanges;
};

struct simgpu_place simgpu_place;

static struct {
    void (*kernel)(const void *argument);
    const void *argument;
    const struct simgpu_grid *grid;
    struct thread threads[SIMGPU_MOST_THREADS];
    struct warp warps[SIMGPU_MOST_THREADS / SIMGPU_WARP];
    unsigned sequence[SIMGPU_MOST_THREADS]; /* the threads, in the order in which they go on */
    unsigned started, to_start;             /* so many of the sequence are, may be */
    unsigned living, at_sync;
    int current; /* -1: no thread runs */
    uint32_t random;
    bool failed;
    char message[256];
} run;

/* Fibers that run no thread. They outlive the grids. */
static struct {
    struct simgpu_fiber *fibers[SIMGPU_MOST_THREADS];
    unsigned count;
} idle;

static void leave(void)
{
    struct thread *self = &run.threads[run.current];
    if (run.grid->care == SIMGPU_FOLLOW)
        simgpu_engine_observe(run.current);
    simgpu_fiber_leave(self->fiber);
}

void simgpu_violation(const char *format, ...)
{
    char text[192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (!run.failed && run.current >= 0)
        snprintf(run.message, sizeof(run.message), "block %u, thread %d: %s", simgpu_place.block.x,
                 run.current, text);
    else if (!run.failed)
        snprintf(run.message, sizeof(run.message), "block %u: %s", simgpu_place.block.x, text);
    run.failed = true;
    if (run.current >= 0)
        run.threads[run.current].state = READY; /* even if it has just ended: it keeps its fiber */
    while (run.current >= 0)                    /* nobody enters it again */
        simgpu_fiber_leave(run.threads[run.current].fiber);
}

/* ---- meeting ---- */

/* The last one to arrive, or to end, wakes the others. */
static void wake_block_if_whole(void)
{
    if (run.at_sync == 0 || run.at_sync < run.living)
        return;
    run.at_sync = 0;
    const char *where = NULL;
    for (unsigned t = 0; t < run.grid->threads; t++) {
        struct thread *thread = &run.threads[t];
        if (thread->state != AT_SYNC)
            continue;
        if (where && where != thread->where)
            simgpu_violation("the block meets at %s and at %s at once", where, thread->where);
        where = thread->where;
        thread->state = READY;
    }
}

void simgpu_sync(const char *where)
{
    struct thread *self = &run.threads[run.current];
    self->state = AT_SYNC;
    self->where = where;
    run.at_sync++;
    wake_block_if_whole();
    leave();
}

uint64_t simgpu_shuffle_down(uint32_t lanes, uint64_t value, unsigned distance, const char *where)
{
    struct thread *self = &run.threads[run.current];
    unsigned lane = (unsigned)run.current % SIMGPU_WARP;
    struct thread *first = self - lane;
    struct warp *warp = &run.warps[run.current / SIMGPU_WARP];
    if (lanes != 0xffffffffu) /* all that our kernels use */
        simgpu_violation("%s: a shuffle of part of a warp, which is not simulated", where);
    unsigned exchange = warp->exchanges % 2;
    warp->values[exchange][lane] = value;
    warp->arrived |= 1u << lane;
    self->state = AT_SHUFFLE;
    self->where = where;
    if (warp->arrived == lanes) {
        warp->arrived = 0;
        warp->exchanges++;
        for (unsigned i = 0; i < SIMGPU_WARP; i++) {
            if (first[i].where != where)
                simgpu_violation("the warp meets at %s and at %s at once", first[i].where, where);
            first[i].state = READY;
        }
    } else {
        leave();
    }
    return warp->values[exchange][lane + distance < SIMGPU_WARP ? lane + distance : lane];
}

void simgpu_wait(const void *what)
{
    struct thread *self = &run.threads[run.current];
    self->state = WAITING;
    self->what = what;
    leave();
}

void simgpu_wake(const void *what)
{
    for (unsigned t = 0; t < run.grid->threads; t++)
        if (run.threads[t].state == WAITING && run.threads[t].what == what)
            run.threads[t].state = READY;
}

/* ---- a block ---- */

static void enter_thread(unsigned t)
{
    run.current = (int)t;
    run.threads[t].state = READY;
    simgpu_place.thread.x = t;
}

static void end_thread(void)
{
    run.threads[run.current].state = DONE;
    run.living--;
    if (run.grid->care == SIMGPU_FOLLOW)
        simgpu_engine_observe(run.current);
    wake_block_if_whole();
}

/* One thread after the other that has not begun, so that those that never wait need one fiber. */
static void run_threads(void *argument)
{
    (void)argument;
    for (;;) {
        struct simgpu_fiber *fiber = idle.fibers[idle.count];
        while (!run.failed && run.started < run.to_start) {
            enter_thread(run.sequence[run.started++]);
            run.threads[run.current].fiber = fiber;
            run.kernel(run.argument);
            end_thread();
        }
        idle.fibers[idle.count++] = fiber;
        simgpu_fiber_leave(fiber);
    }
}

static void start_threads(unsigned count)
{
    run.to_start = run.started + count;
    while (!run.failed && run.started < run.to_start) {
        if (idle.count == 0)
            idle.fibers[idle.count++] = simgpu_fiber_make(run_threads, NULL);
        idle.count--; /* the fiber looks for itself there */
        simgpu_fiber_enter(idle.fibers[idle.count]);
        run.current = -1;
    }
}

static uint32_t random_below(uint32_t bound)
{
    run.random = run.random * 1664525u + 1013904223u;
    return (run.random >> 8) % bound;
}

static void put_in_order(void)
{
    unsigned count = run.grid->threads;
    for (unsigned i = 0; i < count; i++)
        run.sequence[i] = run.grid->order == SIMGPU_LAST_WARP ? count - 1 - i : i;
    for (unsigned i = count; run.grid->order == SIMGPU_SHUFFLED && i > 1; i--) {
        unsigned other = random_below(i), kept = run.sequence[i - 1];
        run.sequence[i - 1] = run.sequence[other];
        run.sequence[other] = kept;
    }
}

/* Lets threads of a part of the sequence go on. Returns whether any could. */
static bool pass(unsigned first, unsigned count)
{
    bool any = false;
    for (unsigned i = first; !run.failed && i < first + count; i++) {
        unsigned t = run.sequence[i];
        if (run.threads[t].state != READY)
            continue;
        any = true;
        enter_thread(t);
        simgpu_fiber_enter(run.threads[t].fiber);
        run.current = -1;
    }
    return any;
}

static void resolve_stall(void)
{
    for (unsigned i = 0; i < run.grid->threads; i++) {
        const struct thread *thread = &run.threads[run.sequence[i]];
        if (thread->state == WAITING) {
            simgpu_engine_stalled(thread->what);
            return;
        }
    }
    for (unsigned i = 0; i < run.grid->threads; i++) {
        const struct thread *thread = &run.threads[run.sequence[i]];
        if (thread->state == AT_SYNC || thread->state == AT_SHUFFLE)
            simgpu_violation("thread %u waits at %s for threads that do not come", run.sequence[i],
                             thread->where);
    }
}

/* Lets the first part of the sequence in which any thread can go on do so. Returns whether there
 * was one. */
static bool step(unsigned part)
{
    for (unsigned first = 0; first < run.grid->threads; first += part)
        if (pass(first, part))
            return true;
    return false;
}

static void run_block(unsigned block)
{
    const bool by_warps =
        run.grid->order == SIMGPU_FIRST_WARP || run.grid->order == SIMGPU_LAST_WARP;
    const unsigned part = by_warps ? SIMGPU_WARP : run.grid->threads;
    simgpu_place.block.x = block;
    run.living = run.grid->threads;
    run.at_sync = run.started = 0;
    memset(run.threads, 0, run.grid->threads * sizeof(run.threads[0]));
    memset(run.warps, 0, sizeof(run.warps));
    simgpu_engine_begin_block(run.grid->care);
    put_in_order();
    for (unsigned first = 0; !run.failed && first < run.grid->threads; first += part) {
        start_threads(part);
        while (pass(first, part))
            continue;
    }
    while (!run.failed && run.living > 0) {
        if (run.grid->order == SIMGPU_SHUFFLED)
            put_in_order();
        if (!step(part) && !run.failed)
            resolve_stall();
    }
    if (!run.failed)
        simgpu_engine_end_block();
}

/* Threads that will never end hold fibers. */
static void take_fibers_back(void)
{
    for (unsigned t = 0; t < run.grid->threads; t++) {
        struct thread *thread = &run.threads[t];
        if (thread->fiber == NULL || thread->state == DONE)
            continue;
        simgpu_fiber_reset(thread->fiber);
        idle.fibers[idle.count++] = thread->fiber;
    }
}

static bool is_runnable(const struct simgpu_grid *grid)
{
    return grid->threads > 0 && grid->threads <= SIMGPU_MOST_THREADS &&
           grid->threads % SIMGPU_WARP == 0;
}

int simgpu_grid_run(void (*kernel)(const void *argument), const void *argument,
                    const struct simgpu_grid *grid, char *message, size_t message_size)
{
    if (!is_runnable(grid)) {
        snprintf(message, message_size, "blocks of %u threads, which are not simulated",
                 grid->threads);
        return -1;
    }
    if (run.grid != NULL) {
        snprintf(message, message_size, "a grid before this one was broken off by a signal");
        return -1;
    }
    run.kernel = kernel;
    run.argument = argument;
    run.grid = grid;
    run.current = -1;
    run.random = 1;
    run.failed = false;
    simgpu_place.grid = (struct simgpu_index){grid->blocks, 1, 1};
    for (unsigned block = 0; !run.failed && block < grid->blocks; block++)
        run_block(block);
    simgpu_engine_end_grid();
    int rc = run.failed ? -1 : 0;
    if (run.failed) {
        take_fibers_back();
        snprintf(message, message_size, "%s", run.message);
    }
    run.grid = NULL;
    return rc;
}

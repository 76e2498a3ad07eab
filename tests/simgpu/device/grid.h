/* Runs device code on the host, thread by thread: a block's threads are fibers, blocks come one
 * after the other. What a kernel must not rely on is turned against it: the order of its threads,
 * and what shared memory holds before it is written. Device code sees all this as CUDA (device.h);
 * the copy engine has a file of its own (copy_engine.h). */
#ifndef SIMGPU_GRID_H
#define SIMGPU_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIMGPU_WARP 32
#define SIMGPU_MOST_THREADS 1024 /* of a block */

/* Who goes on while several threads can: those of the first warp as far as they can, or of the
 * last; or all in turns, upwards or at random. */
enum simgpu_order {
    SIMGPU_FIRST_WARP,
    SIMGPU_LAST_WARP,
    SIMGPU_UPWARDS,
    SIMGPU_SHUFFLED,
    SIMGPU_ORDER_COUNT
};

/* How shared memory is looked after: not at all; it holds garbage when a block begins; and it is
 * followed which thread writes what there, which is slow. */
enum simgpu_care { SIMGPU_FAST, SIMGPU_SPOIL, SIMGPU_FOLLOW };

struct simgpu_grid {
    unsigned blocks, threads; /* threads: a multiple of SIMGPU_WARP */
    enum simgpu_order order;
    enum simgpu_care care;
};

/* Runs kernel(argument) in every thread. Returns 0, or -1 with one line in message about the first
 * thing done that CUDA does not define: threads that wait for each other for ever, a warp or a
 * block that meets in different places, and what copy_engine.h lists. Not for two threads of the
 * host at once. */
int simgpu_grid_run(void (*kernel)(const void *argument), const void *argument,
                    const struct simgpu_grid *grid, char *message, size_t message_size);

/* ---- for device.h and copy_engine.c ---- */

struct simgpu_index {
    unsigned x, y, z;
};

/* Of the thread that runs. */
struct simgpu_place {
    struct simgpu_index thread, block, grid;
};
extern struct simgpu_place simgpu_place;

/* __syncthreads(), and an exchange of 8 bytes: the value of the lane `distance` above in the warp,
 * or the own one where there is none. where is a line of the source. */
void simgpu_sync(const char *where);
uint64_t simgpu_shuffle_down(uint32_t lanes, uint64_t value, unsigned distance, const char *where);

/* Stops the thread until simgpu_wake(what) is called. When no thread can go on, the copy engine is
 * asked to do what this one waits for. */
void simgpu_wait(const void *what);
void simgpu_wake(const void *what);

/* Ends the grid with this text, unless it has ended already. Called by a thread of a kernel, it
 * does not return. */
void simgpu_violation(const char *format, ...) __attribute__((format(printf, 1, 2)));

#ifdef __cplusplus
}
#endif

#endif

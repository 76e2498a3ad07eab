/* Stacks between which one thread of the host jumps: the threads of a block, of which one runs at a
 * time, in an order that is the same on every run. Not for two threads of the host at once. */
#ifndef SIMGPU_FIBER_H
#define SIMGPU_FIBER_H

struct simgpu_fiber;

/* A fiber that will run body(argument), which never returns. Never freed: they are kept and used
 * again. Ends the process where there is no memory for it. */
struct simgpu_fiber *simgpu_fiber_make(void (*body)(void *argument), void *argument);

/* Forgets where the fiber is: it begins anew at the next entry. */
void simgpu_fiber_reset(struct simgpu_fiber *fiber);

/* Runs a fiber until it leaves, and leaves: back to whoever entered it. */
void simgpu_fiber_enter(struct simgpu_fiber *fiber);
void simgpu_fiber_leave(struct simgpu_fiber *fiber);

#endif

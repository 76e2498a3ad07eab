/* The first entry to a stack is ucontext's. Later jumps are the compiler's own, as swapcontext asks
 * the kernel for the signal mask every time; clang has them on few architectures.
 * AddressSanitizer is told of every change of stacks. */
#define _GNU_SOURCE
#include "fiber.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

#if defined(__clang__)
#define JUMPS 0
#define UNWATCHED
#else
#define JUMPS 1
/* AddressSanitizer would take a jump for the end of the stack that it leaves. */
#define UNWATCHED __attribute__((no_sanitize_address))
#endif

#define STACK_BYTES ((size_t)256 << 10)
#define GUARD_BYTES ((size_t)64 << 10) /* a page of any architecture */

struct simgpu_fiber {
    ucontext_t context;
    void *jump[5];
    bool is_started;
    char *stack;
    size_t stack_bytes;
    void (*body)(void *argument);
    void *argument;
    void *fake_stack; /* AddressSanitizer's */
};

static struct {
    ucontext_t context;
    void *jump[5];
    const void *stack;
    size_t stack_bytes;
    void *fake_stack;
    size_t made; /* fibers */
} home;

static void announce_fiber(struct simgpu_fiber *fiber)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&home.fake_stack, fiber->stack, fiber->stack_bytes);
#else
    (void)fiber;
#endif
}

static void announce_home(struct simgpu_fiber *fiber)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&fiber->fake_stack, home.stack, home.stack_bytes);
#else
    (void)fiber;
#endif
}

static void arrived_in_fiber(struct simgpu_fiber *fiber)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fiber->fake_stack, &home.stack, &home.stack_bytes);
#else
    (void)fiber;
#endif
}

static void arrived_home(void)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(home.fake_stack, NULL, NULL);
#endif
}

static void start(unsigned high, unsigned low)
{
    struct simgpu_fiber *fiber = (struct simgpu_fiber *)((uintptr_t)high << 32 | (uintptr_t)low);
    arrived_in_fiber(fiber);
    fiber->body(fiber->argument);
    abort();
}

void simgpu_fiber_reset(struct simgpu_fiber *fiber)
{
    fiber->is_started = false;
#if defined(__SANITIZE_ADDRESS__)
    fiber->fake_stack = NULL;
    __asan_unpoison_memory_region(fiber->stack,
                                  fiber->stack_bytes); /* frames that never returned */
#endif
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack;
    fiber->context.uc_stack.ss_size = fiber->stack_bytes;
    makecontext(&fiber->context, (void (*)(void))start, 2, (unsigned)((uintptr_t)fiber >> 32),
                (unsigned)(uintptr_t)fiber);
}

struct simgpu_fiber *simgpu_fiber_make(void (*body)(void *argument), void *argument)
{
    struct simgpu_fiber *fiber = calloc(1, sizeof(*fiber));
    char *memory = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!fiber || memory == MAP_FAILED || mprotect(memory, GUARD_BYTES, PROT_NONE)) {
        perror("simgpu: no memory for a thread's stack");
        exit(EXIT_FAILURE);
    }
    fiber->stack = memory + GUARD_BYTES;
    /* Tops a few lines apart: at equal places of their pages they would fight for the cache. */
    fiber->stack_bytes = STACK_BYTES - home.made++ % 16 * 256;
    fiber->body = body;
    fiber->argument = argument;
    simgpu_fiber_reset(fiber);
    return fiber;
}

#if JUMPS
/* The builtin must not stand in the function that it jumps to. */
UNWATCHED __attribute__((noinline, noreturn)) static void jump(void **to)
{
    __builtin_longjmp(to, 1);
}
#endif

/* No variable lives across the jumps of these two. */
UNWATCHED __attribute__((noinline)) void simgpu_fiber_enter(struct simgpu_fiber *fiber)
{
    announce_fiber(fiber);
#if JUMPS
    if (!__builtin_setjmp(home.jump)) {
        if (fiber->is_started)
            jump(fiber->jump);
        fiber->is_started = true;
        setcontext(&fiber->context);
    }
#else
    swapcontext(&home.context, &fiber->context);
#endif
    arrived_home();
}

UNWATCHED __attribute__((noinline)) void simgpu_fiber_leave(struct simgpu_fiber *fiber)
{
    announce_home(fiber);
#if JUMPS
    if (!__builtin_setjmp(fiber->jump))
        jump(home.jump);
#else
    swapcontext(&fiber->context, &home.context);
#endif
    arrived_in_fiber(fiber);
}

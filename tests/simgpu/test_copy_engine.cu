/* See test_copy_engine.h. One thread, the first, asks the engine; blocks are of 64. */
#include "test_copy_engine.h"

#define BYTES (4 * TEST_WORDS)

#define KERNEL(name)                                                                               \
    static void name##_body(const test_copy &args);                                                \
    void name(const void *args)                                                                    \
    {                                                                                              \
        name##_body(*(const test_copy *)args);                                                     \
    }                                                                                              \
    static void name##_body(const test_copy &args)

__shared__ __align__(128) uint32_t stages[2][TEST_WORDS];
__shared__ __align__(8) uint64_t barriers[2];

static bool is_first()
{
    return threadIdx.x == 0;
}

static void init()
{
    bulk_barrier_init(&barriers[0]);
    bulk_barrier_init(&barriers[1]);
    bulk_barrier_init_fence();
}

static void load(const test_copy &args, int stage, int half)
{
    bulk_barrier_expect(&barriers[stage], BYTES);
    bulk_load(stages[stage], args.from + half * TEST_WORDS, BYTES, &barriers[stage]);
}

static void wait(int stage, uint32_t parity)
{
    while (!bulk_barrier_try(&barriers[stage], parity))
        continue;
}

static void store(const test_copy &args, int stage, int half)
{
    bulk_store(args.to + half * TEST_WORDS, stages[stage], BYTES);
    bulk_commit();
}

/* ---- right ---- */

KERNEL(test_right_copy)
{
    if (!is_first())
        return;
    init();
    load(args, 0, 0);
    load(args, 1, 1);
    wait(0, 0);
    store(args, 0, 1); /* the wrong half: written over */
    bulk_wait_read<0>();
    load(args, 0, 0); /* the second phase */
    bulk_wait<0>();
    wait(1, 0);
    store(args, 1, 1);
    wait(0, 1);
    store(args, 0, 0);
    bulk_wait<0>();
}

KERNEL(test_right_threads)
{
    for (int half = 0; half < 2; half++)
        stages[half][threadIdx.x] = args.from[half * TEST_WORDS + threadIdx.x];
    bulk_fence();
    __syncthreads();
    if (!is_first())
        return;
    store(args, 0, 0);
    store(args, 1, 1);
    bulk_wait<0>();
}

/* ---- meeting ---- */

KERNEL(test_two_places_sync)
{
    (void)args;
    if (threadIdx.x < 32)
        __syncthreads();
    else
        __syncthreads();
}

KERNEL(test_lane_missing)
{
    (void)args;
    if (threadIdx.x != 5)
        __shfl_down_sync(0xffffffffu, 1u, 1);
}

KERNEL(test_unwritten_shared)
{
    args.to[threadIdx.x] = stages[0][threadIdx.x];
    args.to[TEST_WORDS + threadIdx.x] = stages[1][threadIdx.x];
}

/* ---- barriers ---- */

KERNEL(test_no_init)
{
    if (is_first())
        load(args, 0, 0);
}

KERNEL(test_no_init_fence)
{
    if (!is_first())
        return;
    bulk_barrier_init(&barriers[0]);
    load(args, 0, 0);
}

KERNEL(test_nobody_arrives)
{
    if (!is_first())
        return;
    init();
    bulk_load(stages[0], args.from, BYTES, &barriers[0]);
    wait(0, 0);
}

KERNEL(test_expects_more)
{
    if (!is_first())
        return;
    init();
    bulk_barrier_expect(&barriers[0], BYTES + 16);
    bulk_load(stages[0], args.from, BYTES, &barriers[0]);
    wait(0, 0);
}

KERNEL(test_expects_less)
{
    if (!is_first())
        return;
    init();
    bulk_barrier_expect(&barriers[0], BYTES - 16);
    bulk_load(stages[0], args.from, BYTES, &barriers[0]);
    wait(0, 0);
}

KERNEL(test_arrives_twice)
{
    if (!is_first())
        return;
    init();
    load(args, 0, 0);
    bulk_barrier_expect(&barriers[0], 0);
}

/* The threads take what is there. */
static void take_both(const test_copy &args)
{
    for (int half = 0; half < 2; half++)
        args.to[half * TEST_WORDS + threadIdx.x] = stages[half][threadIdx.x];
}

static void load_both(const test_copy &args)
{
    if (is_first()) {
        init();
        load(args, 0, 0);
        load(args, 1, 1);
    }
    __syncthreads();
}

KERNEL(test_does_not_wait)
{
    load_both(args);
    wait(0, 0);
    take_both(args);
    wait(1, 0);
}

KERNEL(test_wrong_parity)
{
    load_both(args);
    wait(0, 0);
    wait(1, 1);
    take_both(args);
    wait(1, 0);
}

KERNEL(test_asks_once)
{
    load_both(args);
    wait(0, 0);
    bulk_barrier_try(&barriers[1], 0);
    take_both(args);
    wait(1, 0);
}

/* ---- copies ---- */

KERNEL(test_unaligned)
{
    if (!is_first())
        return;
    init();
    bulk_barrier_expect(&barriers[0], 16);
    bulk_load(stages[0], args.from + 1, 16, &barriers[0]);
}

KERNEL(test_odd_size)
{
    if (!is_first())
        return;
    init();
    bulk_barrier_expect(&barriers[0], 20);
    bulk_load(stages[0], args.from, 20, &barriers[0]);
}

KERNEL(test_nothing)
{
    if (!is_first())
        return;
    bulk_store(args.to, stages[0], 0);
}

KERNEL(test_not_shared)
{
    alignas(16) uint32_t own[4] = {0, 0, 0, 0};
    if (is_first())
        bulk_store(args.to, own, 16);
}

KERNEL(test_fills_twice)
{
    if (!is_first())
        return;
    init();
    load(args, 0, 0);
    bulk_barrier_expect(&barriers[1], 16);
    bulk_load(&stages[0][TEST_WORDS - 4], args.from, 16, &barriers[1]);
}

KERNEL(test_stores_too_early)
{
    if (!is_first())
        return;
    init();
    load(args, 0, 0);
    store(args, 0, 0);
}

KERNEL(test_refills_too_early)
{
    if (!is_first())
        return;
    init();
    load(args, 0, 0);
    wait(0, 0);
    store(args, 0, 0);
    load(args, 0, 1);
}

KERNEL(test_writes_while_filled)
{
    load_both(args);
    stages[1][threadIdx.x] = 7;
    wait(1, 0);
    wait(0, 0);
}

KERNEL(test_writes_while_stored)
{
    if (!is_first())
        return;
    init();
    load(args, 0, 0);
    wait(0, 0);
    store(args, 0, 0);
    stages[0][3] ^= 1;
    bulk_wait<0>();
}

KERNEL(test_stores_without_fence)
{
    stages[0][threadIdx.x] = args.from[threadIdx.x];
    if (is_first())
        bulk_fence(); /* its own alone */
    __syncthreads();
    if (!is_first())
        return;
    store(args, 0, 0);
    bulk_wait<0>();
}

static void one_group(const test_copy &args)
{
    init();
    load(args, 0, 0);
    wait(0, 0);
    store(args, 0, 0);
}

KERNEL(test_ends_while_storing)
{
    if (is_first())
        one_group(args);
}

KERNEL(test_ends_without_commit)
{
    if (!is_first())
        return;
    init();
    load(args, 0, 0);
    wait(0, 0);
    bulk_store(args.to, stages[0], BYTES);
    bulk_wait<0>();
}

KERNEL(test_ends_while_filling)
{
    if (!is_first())
        return;
    init();
    load(args, 0, 0);
}

KERNEL(test_waits_for_older_group)
{
    if (!is_first())
        return;
    one_group(args);
    bulk_wait_read<1>();
    stages[0][3] ^= 1;
    bulk_wait<0>();
}

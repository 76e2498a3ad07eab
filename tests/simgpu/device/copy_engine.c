#define _GNU_SOURCE
#include "copy_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BARRIERS 64
#define MOST_LOADS 256
#define MOST_EXPECTED_BYTES ((1 << 20) - 1) /* what a barrier can count */
#define NOBODY (-1)
#define WORD 4       /* the least that a thread writes of shared memory */
#define STRETCH 2048 /* of shared memory, compared as one before its words are looked at */

/* The section of device code's __shared__ variables. */
extern char __start_simgpu_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_simgpu_shared[] __attribute__((weak, visibility("hidden")));

struct barrier {
    uint64_t *address;
    int arrivals, missing; /* of a phase; of this phase */
    int64_t expected_bytes;
    uint64_t phases; /* that have ended */
    bool is_known;   /* to the engine */
    bool was_asked[SIMGPU_MOST_THREADS];
};

struct load {
    char *shared;
    const char *global;
    uint32_t bytes;
    struct barrier *barrier;
};

struct store {
    char *global;
    const char *shared;
    uint32_t bytes;
    int thread;
    uint64_t group; /* of that thread; 0: not committed */
    bool is_read;
    char *data; /* the source when it started, then (is_read) what will be written */
};

struct writer {
    int thread;
    unsigned fences; /* its own before it wrote */
};

static struct {
    struct barrier barriers[MOST_BARRIERS];
    unsigned barrier_count;
    struct load loads[MOST_LOADS];
    unsigned load_count;
    struct store *stores;
    size_t store_count, store_room;
    uint64_t groups[SIMGPU_MOST_THREADS]; /* committed by each thread */

    /* Of SIMGPU_FOLLOW: shared memory when a thread last stopped, who wrote each of its words, and
     * the fences of each thread so far. */
    bool follows;
    char *seen;
    struct writer *writers;
    unsigned fences[SIMGPU_MOST_THREADS];
} engine;

static size_t shared_bytes(void)
{
    return (size_t)(__stop_simgpu_shared - __start_simgpu_shared);
}

static size_t offset_of(const char *shared)
{
    return (size_t)(shared - __start_simgpu_shared);
}

static int caller(void)
{
    return (int)simgpu_place.thread.x;
}

static bool overlap(const char *a, uint32_t a_bytes, const char *b, uint32_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

static void *must(void *memory)
{
    if (memory == NULL) {
        perror("simgpu: the copy engine");
        exit(EXIT_FAILURE);
    }
    return memory;
}

/* ---- who wrote what ---- */

static void observe_stretch(int thread, size_t first, size_t bytes)
{
    const char *now = __start_simgpu_shared;
    for (size_t i = first; i < first + bytes; i++)
        if (now[i] != engine.seen[i]) {
            engine.writers[i / WORD] = (struct writer){thread, engine.fences[thread]};
            engine.seen[i] = now[i];
        }
}

void simgpu_engine_observe(int thread)
{
    const size_t bytes = shared_bytes();
    for (size_t first = 0; first < bytes; first += STRETCH) {
        size_t here = bytes - first < STRETCH ? bytes - first : STRETCH;
        if (memcmp(__start_simgpu_shared + first, engine.seen + first, here) != 0)
            observe_stretch(thread, first, here);
    }
}

/* What the engine itself has written has no writer. */
static void forget_writers(const char *shared, uint32_t bytes)
{
    if (!engine.follows)
        return;
    memcpy(engine.seen + offset_of(shared), shared, bytes);
    for (size_t i = offset_of(shared); i < offset_of(shared) + bytes; i += WORD)
        engine.writers[i / WORD].thread = NOBODY;
}

static void fill_with_garbage(char *shared, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        shared[i] = (char)(0xa7 + 29 * i);
}

static bool is_garbage(const char *shared, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (shared[i] != (char)(0xa7 + 29 * i))
            return false;
    return true;
}

static void require_fenced(const char *shared, uint32_t bytes)
{
    if (!engine.follows)
        return;
    simgpu_engine_observe(caller());
    for (size_t i = offset_of(shared); i < offset_of(shared) + bytes; i += WORD) {
        const struct writer *writer = &engine.writers[i / WORD];
        if (writer->thread != NOBODY && writer->fences == engine.fences[writer->thread])
            simgpu_violation("a copy meets shared memory that thread %d wrote without a fence "
                             "since",
                             writer->thread);
    }
}

void simgpu_engine_fence(void)
{
    for (unsigned i = 0; i < engine.barrier_count; i++)
        engine.barriers[i].is_known = true;
    if (!engine.follows)
        return;
    simgpu_engine_observe(caller());
    engine.fences[caller()]++;
}

/* ---- barriers ---- */

static struct barrier *find_barrier(uint64_t *address)
{
    for (unsigned i = 0; i < engine.barrier_count; i++)
        if (engine.barriers[i].address == address)
            return &engine.barriers[i];
    simgpu_violation("a barrier that was not initialised");
    return NULL;
}

void simgpu_engine_barrier_init(uint64_t *address, unsigned arrivals)
{
    if ((uintptr_t)address % 8 != 0)
        simgpu_violation("a barrier at an address that is not a multiple of 8");
    for (unsigned i = 0; i < engine.barrier_count; i++)
        if (engine.barriers[i].address == address)
            simgpu_violation("a barrier that is initialised twice");
    if (engine.barrier_count == MOST_BARRIERS)
        simgpu_violation("more than %d barriers, which are not simulated", MOST_BARRIERS);
    struct barrier *barrier = &engine.barriers[engine.barrier_count++];
    memset(barrier, 0, sizeof(*barrier));
    barrier->address = address;
    barrier->arrivals = barrier->missing = (int)arrivals;
}

void simgpu_engine_barrier_init_fence(void)
{
    for (unsigned i = 0; i < engine.barrier_count; i++)
        engine.barriers[i].is_known = true;
}

static void end_phase_if_whole(struct barrier *barrier)
{
    if (barrier->missing > 0 || barrier->expected_bytes != 0)
        return;
    barrier->missing = barrier->arrivals;
    barrier->phases++;
    simgpu_wake(barrier);
}

void simgpu_engine_barrier_expect(uint64_t *address, uint32_t bytes)
{
    struct barrier *barrier = find_barrier(address);
    if (barrier->missing == 0)
        simgpu_violation("a phase of a barrier that more threads arrive at than it counts");
    barrier->expected_bytes += bytes;
    barrier->missing--;
    if (barrier->expected_bytes > MOST_EXPECTED_BYTES)
        simgpu_violation("a barrier that expects more bytes than it can count");
    end_phase_if_whole(barrier);
}

/* A phase that has not ended is asked about in vain once, as the time of a real wait may be up. */
bool simgpu_engine_barrier_try(uint64_t *address, uint32_t parity)
{
    struct barrier *barrier = find_barrier(address);
    if (barrier->phases % 2 != parity)
        return true;
    bool *was_asked = &barrier->was_asked[caller()];
    *was_asked = !*was_asked;
    if (*was_asked)
        return false;
    simgpu_wait(barrier);
    return true;
}

/* ---- copies ---- */

static void require_place(const void *global, const char *shared, uint32_t bytes)
{
    if ((uintptr_t)global % 16 != 0 || (uintptr_t)shared % 16 != 0 || bytes % 16 != 0)
        simgpu_violation("a copy of %u bytes whose size or one of whose addresses is not a "
                         "multiple of 16",
                         bytes);
    if (bytes == 0)
        simgpu_violation("a copy of nothing");
    if (shared < __start_simgpu_shared || offset_of(shared) + bytes > shared_bytes())
        simgpu_violation("a copy to or from shared memory that is none");
}

void simgpu_engine_load(void *shared, const void *global, uint32_t bytes, uint64_t *address)
{
    struct barrier *barrier = find_barrier(address);
    require_place(global, shared, bytes);
    if (!barrier->is_known)
        simgpu_violation("a load with a barrier that no fence has made known to the engine");
    for (unsigned i = 0; i < engine.load_count; i++)
        if (overlap(engine.loads[i].shared, engine.loads[i].bytes, shared, bytes))
            simgpu_violation("a load into shared memory that another load is filling");
    for (size_t i = 0; i < engine.store_count; i++)
        if (!engine.stores[i].is_read &&
            overlap(engine.stores[i].shared, engine.stores[i].bytes, shared, bytes))
            simgpu_violation("a load into shared memory that a store is still reading");
    require_fenced(shared, bytes);
    if (engine.load_count == MOST_LOADS)
        simgpu_violation("more than %d loads at once, which are not simulated", MOST_LOADS);
    fill_with_garbage(shared, bytes);
    forget_writers(shared, bytes);
    engine.loads[engine.load_count++] = (struct load){shared, global, bytes, barrier};
}

static void arrive(struct load *load)
{
    if (!is_garbage(load->shared, load->bytes))
        simgpu_violation("threads have written shared memory that a load was filling");
    memcpy(load->shared, load->global, load->bytes);
    forget_writers(load->shared, load->bytes);
    load->barrier->expected_bytes -= load->bytes;
    end_phase_if_whole(load->barrier);
}

void simgpu_engine_stalled(const void *what)
{
    const struct barrier *barrier = what;
    bool any = false;
    for (unsigned i = engine.load_count; i-- > 0;) /* the latest first */
        if (engine.loads[i].barrier == barrier) {
            struct load load = engine.loads[i];
            engine.loads[i] = engine.loads[--engine.load_count];
            any = true;
            arrive(&load);
        }
    if (!any && barrier->missing > 0)
        simgpu_violation("a wait for a barrier that %d threads more must arrive at",
                         barrier->missing);
    else if (!any)
        simgpu_violation("a wait for a barrier that expects %lld bytes other than were loaded",
                         (long long)barrier->expected_bytes);
}

void simgpu_engine_store(void *global, const void *shared, uint32_t bytes)
{
    require_place(global, shared, bytes);
    for (unsigned i = 0; i < engine.load_count; i++)
        if (overlap(engine.loads[i].shared, engine.loads[i].bytes, shared, bytes))
            simgpu_violation("a store of shared memory that a load is filling");
    require_fenced(shared, bytes);
    if (engine.store_count == engine.store_room) {
        engine.store_room = 2 * engine.store_room + 16;
        engine.stores = must(realloc(engine.stores, engine.store_room * sizeof(engine.stores[0])));
    }
    struct store *store = &engine.stores[engine.store_count++];
    *store = (struct store){global, shared, bytes, caller(), 0, false, must(malloc(bytes))};
    memcpy(store->data, shared, bytes);
}

void simgpu_engine_commit(void)
{
    uint64_t group = ++engine.groups[caller()];
    for (size_t i = 0; i < engine.store_count; i++)
        if (engine.stores[i].thread == caller() && engine.stores[i].group == 0)
            engine.stores[i].group = group;
}

static bool is_due(const struct store *store, unsigned groups)
{
    return store->thread == caller() && store->group > 0 &&
           store->group + groups <= engine.groups[caller()];
}

void simgpu_engine_wait_read(unsigned groups)
{
    for (size_t i = 0; i < engine.store_count; i++) {
        struct store *store = &engine.stores[i];
        if (store->is_read || !is_due(store, groups))
            continue;
        if (memcmp(store->data, store->shared, store->bytes) != 0)
            simgpu_violation("threads have written shared memory that a store was reading");
        store->is_read = true;
    }
}

static void write_out(struct store *store)
{
    memcpy(store->global, store->data, store->bytes);
    free(store->data);
    store->data = NULL;
}

void simgpu_engine_wait(unsigned groups)
{
    simgpu_engine_wait_read(groups);
    size_t kept = 0;
    for (size_t i = 0; i < engine.store_count; i++) {
        if (is_due(&engine.stores[i], groups))
            write_out(&engine.stores[i]);
        else
            engine.stores[kept++] = engine.stores[i];
    }
    engine.store_count = kept;
}

/* ---- blocks ---- */

void simgpu_engine_begin_block(enum simgpu_care care)
{
    size_t bytes = shared_bytes();
    engine.barrier_count = engine.load_count = 0;
    engine.follows = care == SIMGPU_FOLLOW;
    memset(engine.groups, 0, sizeof(engine.groups));
    if (care == SIMGPU_FAST)
        return;
    fill_with_garbage(__start_simgpu_shared, bytes);
    if (!engine.follows)
        return;
    if (engine.seen == NULL) {
        engine.seen = must(malloc(bytes));
        engine.writers = must(malloc((bytes / WORD + 1) * sizeof(engine.writers[0])));
    }
    forget_writers(__start_simgpu_shared, (uint32_t)bytes);
    memset(engine.fences, 0, sizeof(engine.fences));
}

void simgpu_engine_end_block(void)
{
    if (engine.load_count > 0)
        simgpu_violation("it has ended while a load was filling its shared memory");
    for (size_t i = 0; i < engine.store_count; i++)
        if (!engine.stores[i].is_read)
            simgpu_violation("it has ended while a store was reading its shared memory");
    for (unsigned i = 0; i < engine.barrier_count; i++)
        if (engine.barriers[i].expected_bytes != 0)
            simgpu_violation("it has ended with a barrier that expects %lld bytes",
                             (long long)engine.barriers[i].expected_bytes);
    for (size_t i = 0; i < engine.store_count; i++)
        engine.stores[i].thread = NOBODY;
}

void simgpu_engine_end_grid(void)
{
    for (size_t i = 0; i < engine.store_count; i++)
        if (engine.stores[i].is_read)
            write_out(&engine.stores[i]);
        else
            free(engine.stores[i].data);
    engine.store_count = 0;
}

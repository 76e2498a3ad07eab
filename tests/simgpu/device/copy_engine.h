/* A model of the copy engine of compute capability 9.0, behind kernels/cuda/bulk.cuh. It does as
 * late as it may what it is asked for: a load arrives when nobody can go on without it, and its
 * place holds garbage until then; a store reads its source when its thread waits for that, and
 * writes when the thread waits for that or the grid ends. It ends the grid (simgpu_violation) over
 *
 * - addresses that are not aligned, counts of bytes that are not multiples of 16 or do not fit, and
 *   shared memory that is none;
 * - a copy with a barrier that was not initialised, or not yet made known to the engine;
 * - a phase of a barrier that expects other than what arrives, or more threads than come;
 * - shared memory that is filled, or written by threads, while a load into it or a store from it is
 *   under way;
 * - a store of what a thread wrote without a fence after it (SIMGPU_FOLLOW alone);
 * - a block that ends while shared memory is still being filled or read. */
#ifndef SIMGPU_COPY_ENGINE_H
#define SIMGPU_COPY_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "grid.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The instructions, called by threads. */
void simgpu_engine_fence(void);
void simgpu_engine_barrier_init(uint64_t *barrier, unsigned arrivals);
void simgpu_engine_barrier_init_fence(void);
void simgpu_engine_barrier_expect(uint64_t *barrier, uint32_t bytes);
bool simgpu_engine_barrier_try(uint64_t *barrier, uint32_t parity);
void simgpu_engine_load(void *shared, const void *global, uint32_t bytes, uint64_t *barrier);
void simgpu_engine_store(void *global, const void *shared, uint32_t bytes);
void simgpu_engine_commit(void);
void simgpu_engine_wait(unsigned groups);
void simgpu_engine_wait_read(unsigned groups);

/* For grid.c, called by no thread (observe: by the one that stops or ends). stalled: no thread can
 * go on, and what is one that simgpu_wait was given. */
void simgpu_engine_begin_block(enum simgpu_care care);
void simgpu_engine_observe(int thread);
void simgpu_engine_stalled(const void *what);
void simgpu_engine_end_block(void);
void simgpu_engine_end_grid(void);

#ifdef __cplusplus
}
#endif

#endif

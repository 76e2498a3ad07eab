/* The inner loops of the memory kernels, one thread's part of one operation each. */
#ifndef CB_KERNELS_HOST_LOOPS_H
#define CB_KERNELS_HOST_LOOPS_H

#include <stddef.h>

#include "base/dtype.h"
#include "kernels/kernels.h"

/* Chunks are whole pages, so that a page has one writer and no loop needs a tail. */
#define CB_STREAM_GRAIN_BYTES 4096

struct cb_stream_chunk {
    void *to;                  /* write, copy, triad */
    const void *from, *scaled; /* read and copy use the first, triad is to = from + scalar scaled */
    double scalar;             /* of triad; the value of write */
    size_t size_bytes;         /* of each array; a multiple of CB_STREAM_GRAIN_BYTES */
    double sum;                /* result of read */
};

typedef void cb_stream_loop(struct cb_stream_chunk *chunk);

/* The loop of a memory kernel with ordinary stores; dtype is float32 or float64. Never NULL. */
cb_stream_loop *cb_stream_plain_loop(enum cb_kernel kernel, enum cb_dtype dtype);

/* The loop with stores that go past the caches, without the read for ownership that ordinary stores
 * cost; NULL where there is none (read, or an architecture that this file knows none for). */
cb_stream_loop *cb_stream_nontemporal_loop(enum cb_kernel kernel, enum cb_dtype dtype);

#endif

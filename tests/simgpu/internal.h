/* What the files of the simulated CUDA runtime share among themselves. */
#ifndef SIMGPU_INTERNAL_H
#define SIMGPU_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "simgpu.h"

#define SIMGPU_MAX_DEVICES 16

/* Work that waits in a stream or stands in a graph. */
struct simgpu_item {
    struct simgpu_item *next;
    struct simgpu_work work;
    double issued_s;
    size_t size_bytes;
    max_align_t payload[];
};

struct CUgraph_st {
    struct simgpu_item *head, *tail;
};

struct CUstream_st {
    int device;          /* physical */
    bool beside_default; /* cudaStreamNonBlocking */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t worker;
    bool started, quit;
    struct simgpu_item *head, *tail; /* the first is being worked on */
    double ready_s;
    struct CUgraph_st *capture;
    struct CUstream_st *next; /* of the device */
};

struct CUevent_st {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned long issued, done;
    double time_s;
    bool timed, orphan;
};

struct simgpu_device {
    pthread_mutex_t lock;
    struct CUstream_st *streams;  /* the default one is the last */
    struct CUstream_st *fallback; /* the default one; made at first use */
    uint64_t used_bytes;
    double busy_s;
    bool lost;
    atomic_bool hangs;  /* stands still, and says nothing */
    cudaError_t sticky; /* what every later call returns */
};

/* Physical index. */
struct simgpu_device *simgpu_device_get(int physical);

/* What every call begins with: counts it, and returns why it cannot work: no driver, no device, a
 * sticky error. */
cudaError_t simgpu_enter(const char *call);

/* Remembers an error for cudaGetLastError; returns it. */
cudaError_t simgpu_error(cudaError_t error);

/* The stream behind a handle, which may be one of the constants for the default. */
struct CUstream_st *simgpu_stream_get(cudaStream_t stream);

/* Waits for the stream, or for all of a device's, and moves the host's clock to their ends. */
cudaError_t simgpu_stream_wait(struct CUstream_st *stream);
cudaError_t simgpu_device_wait(int physical);

/* Counts the host's waits: work queued between two of them may overlap. */
unsigned long simgpu_waits(void);

#endif

/* What is measured: one table per transport. A transport moves data and times it; buffers stay
 * inside, bus factors and statistics outside. */
#ifndef CB_TRANSPORT_TRANSPORT_H
#define CB_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/algorithm.h"
#include "model/collective.h"
#include "transport/coordinator.h"

/* What one step does: a collective over the group, or a probe between the two ranks of a pair. */
enum cb_motion {
    CB_MOTION_COLLECTIVE,
    CB_MOTION_PING_PONG, /* rank 0 to 1 and back: one operation is a round trip */
    CB_MOTION_ONE_WAY    /* rank 0 streams to rank 1, which acknowledges the last of a sample */
};

struct cb_step {
    enum cb_motion motion;
    enum cb_op op; /* of a collective */
    enum cb_dtype dtype;
    enum cb_redop redop;
    uint64_t size_bytes; /* usable: see cb_op_usable_bytes */
    bool in_place;
};

struct cb_device;   /* gpu/device.h */
struct cb_nccl_log; /* transport/nccl_log.h */
struct cb_place;    /* transport/place.h */

/* How to measure; the same on every rank but for the device. Borrowed until close. */
struct cb_transport_config {
    const struct cb_device *device; /* of this rank; NULL: on host memory */
    const char *nccl_path;          /* the library to load; NULL: none was looked for */
    struct cb_nccl_log *nccl_log;   /* what NCCL says; NULL: not known */
    bool asks_algorithms;           /* this rank asks NCCL which ones it takes */
    struct cb_place *place;         /* told how far an operation that hangs has come */
    double time_limit_s;            /* of one operation that hangs; 0: none */
    bool graph;                     /* time captured CUDA graphs instead of single launches */
    bool registers;                 /* register the buffers with the library */
};

struct cb_transport_probe {
    bool available;
    bool simulated;
    char library[128];
    char version[64];
    char path[512];   /* of a library that was opened; empty when it is linked */
    char reason[256]; /* why not available */
};

struct cb_transport; /* opened on one group, owned by whoever opened it */

struct cb_transport_ops {
    const char *name; /* "mpi", "nccl" */

    /* run's time starts when every rank is there, however far apart the ranks left the barrier
     * before it. */
    bool is_aligned;

    /* Says whether the transport works here; cannot fail and starts nothing. */
    void (*probe)(const struct cb_transport_config *config, struct cb_transport_probe *out);

    /* Opens it on a group, with room for messages of max_bytes. Collective over the group. On error
     * no rank keeps anything and *out is untouched. */
    int (*open)(const struct cb_transport_config *config, struct cb_group *group,
                uint64_t max_bytes, struct cb_transport **out, struct cb_error *err);

    /* Whether the step can be done; the same answer on every rank. reason says why not. */
    bool (*supports)(const struct cb_transport *transport, const struct cb_step *step, char *reason,
                     size_t reason_size);

    /* Sets the step that the calls below are about. Local. */
    int (*prepare)(struct cb_transport *transport, const struct cb_step *step,
                   struct cb_error *err);

    /* Operations back to back; *elapsed_s is this rank's time for all of them, on its host's clock
     * or its GPU's. Collective. No barrier inside. */
    int (*run)(struct cb_transport *transport, int operations, double *elapsed_s,
               struct cb_error *err);

    /* One operation on fresh data made from seed, then a look at every element that arrived: *wrong
     * is how many differ on this rank. Not timed. Collective. */
    int (*verify)(struct cb_transport *transport, uint64_t seed, uint64_t *wrong,
                  struct cb_error *err);

    /* What the library said it took for the operations of the prepared step, once they have run.
     * False: nothing. Local. NULL: it never says. */
    bool (*tell)(const struct cb_transport *transport, struct cb_algorithm *out);

    void (*close)(struct cb_transport *transport); /* collective */
};

/* The transport of that name, a static table; NULL where this build has none. */
const struct cb_transport_ops *cb_transport_find(const char *name);

#endif

/* What NCCL really used, read from its own debug output: there is no call that tells. */
#ifndef CB_TRANSPORT_NCCL_LOG_H
#define CB_TRANSPORT_NCCL_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define CB_NCCL_WAYS 12

/* Plain data, so that it can be gathered over ranks. Names are NCCL's. */
struct cb_nccl_use {
    bool has_log; /* else nothing is known */
    bool is_kept; /* the user sent NCCL's output elsewhere */
    struct cb_nccl_way {
        char name[32];   /* "P2P/CUMEM", "SHM", "NET/IB/GDRDMA", "NET/Socket", "NVLS" */
        int connections; /* of channels, in all communicators */
    } ways[CB_NCCL_WAYS];
    int way_count;
    char network[32];     /* "IB", "Socket", "AWS Libfabric"; empty when it did not say */
    char interfaces[160]; /* "mlx5_0:1/IB mlx5_1:1/IB", or "eth0:10.1.0.4<0>" */
    char plugin[64];      /* of the network or the tuner, as NCCL names it */
    bool multicast;       /* NVLS is available: NVSwitch reduces */
    bool rings, trees;    /* were connected */
    int collective_channels, nvls_channels, point_channels; /* most of any communicator */
    bool bound_far;    /* this rank's CPUs are none of those near its GPU */
    char warning[256]; /* the first that NCCL gave */
};

/* Adds what text, a whole log or the lines since the last call, says. Lines that are not known are
 * passed over. Pure. */
void cb_nccl_log_parse(const char *text, struct cb_nccl_use *use);

/* Adds connections of one way to those of the same name; what is beyond CB_NCCL_WAYS is dropped. */
void cb_nccl_use_add(struct cb_nccl_use *use, const char *name, int connections);

/* This process's log: a file that only it can read. */
struct cb_nccl_log {
    int file; /* -1: none; NCCL's output is the user's own */
    char path[256];
};

/* Sends NCCL's debug output into a new file in TMPDIR, by setting NCCL_DEBUG, NCCL_DEBUG_SUBSYS and
 * NCCL_DEBUG_FILE; call it before the first call of NCCL and before other threads run. Where the
 * user has set NCCL_DEBUG or NCCL_DEBUG_FILE everything is left as it is: there is then no log.
 * Errors: CB_E_IO; nothing is then changed. */
int cb_nccl_log_open(struct cb_nccl_log *log, struct cb_error *err);

/* Reads all of it so far and adds what it says. */
void cb_nccl_log_read(const struct cb_nccl_log *log, struct cb_nccl_use *use);

/* Takes the name away, so that nothing stays behind however the process ends; what is open stays
 * readable. Call it once NCCL has opened the file, and at the end. */
void cb_nccl_log_hide(struct cb_nccl_log *log);
void cb_nccl_log_close(struct cb_nccl_log *log);

#endif

/* What NCCL really used, read from its own debug output: there is no call that tells. */
#ifndef CB_TRANSPORT_NCCL_LOG_H
#define CB_TRANSPORT_NCCL_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "model/algorithm.h"

#define CB_NCCL_WAYS 12

/* Plain data, so that it can be gathered over ranks. Names are NCCL's. */
struct cb_nccl_use {
    bool has_log;      /* else nothing is known */
    bool is_kept;      /* the user sent NCCL's output elsewhere */
    int no_file_errno; /* why there was no file for it; 0: there was */
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
    int starts;                    /* communicators that it began to join the other ranks in */
    bool bound_far;                /* this rank's CPUs are none of those near its GPU */
    char warning[256];             /* the first that NCCL gave */
    struct cb_algorithm_line told; /* the last that named an operation's algorithm */
};

/* Adds what text, a whole log or the lines since the last call, says. Lines that are not known are
 * passed over. Pure. */
void cb_nccl_log_parse(const char *text, struct cb_nccl_use *use);

/* Adds connections of one way to those of the same name; what is beyond CB_NCCL_WAYS is dropped. */
void cb_nccl_use_add(struct cb_nccl_use *use, const char *name, int connections);

/* This process's log: files in memory that have no name, so that nothing stays behind however the
 * process ends. */
struct cb_nccl_log {
    int file;                      /* that NCCL has open, or opens next; -1: there is no log */
    int previous;                  /* that it had open before; -1: none */
    off_t offset, previous_offset; /* up to which they were read */
    struct cb_nccl_use use;        /* what was read so far */
    char subsystems[64];           /* part of the environment while the log is open */
};

/* Sends NCCL's debug output into a file of this process alone, by setting NCCL_DEBUG,
 * NCCL_DEBUG_SUBSYS and NCCL_DEBUG_FILE; call it before the first call of NCCL that may write, and
 * before other threads of it run. Where the user has set NCCL_DEBUG or NCCL_DEBUG_FILE, or no file
 * can be had, everything is left as it is: there is then no log, and what is read from it says why.
 * *log may not move until it is closed. */
void cb_nccl_log_open(struct cb_nccl_log *log);

/* Lets NCCL say which algorithm each operation takes, or no more, from its next message on, whoever
 * writes it. reset is the library's ncclResetDebugInit, which must be safe beside threads that
 * write (2.27 and later). What NCCL has written is not lost. False, and nothing is changed, where
 * there is no log, or no descriptor left to let it speak; silence can always be had. */
bool cb_nccl_log_switch(struct cb_nccl_log *log, bool tells, void (*reset)(void));

/* What the last operation since the last call took, as NCCL says; false where it said nothing, or
 * of another op. */
bool cb_nccl_log_algorithm(struct cb_nccl_log *log, enum cb_op op, struct cb_algorithm *out);

/* What all of it so far says. */
void cb_nccl_log_read(struct cb_nccl_log *log, struct cb_nccl_use *use);

/* How many communicators NCCL has begun to join the others in so far: it says so once it has opened
 * this rank's devices. -1 where there is no log. */
int cb_nccl_log_count_starts(struct cb_nccl_log *log);

void cb_nccl_log_close(struct cb_nccl_log *log);

#endif

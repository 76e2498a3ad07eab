/* What a library says an operation was done by: the line of NCCL's that names it. */
#ifndef CB_MODEL_ALGORITHM_H
#define CB_MODEL_ALGORITHM_H

#include <stdbool.h>
#include <stdint.h>

#include "model/collective.h"

struct cb_algorithm {
    char name[32];     /* "ring", "tree", "NVLS", "CollNet direct", ...; empty: not known */
    char protocol[16]; /* "LL", "LL128", "Simple"; empty: not said */
    int channels;      /* 0: not said */
};

/* Whether both say the same algorithm and protocol, on however many channels. */
bool cb_algorithm_is_same(const struct cb_algorithm *a, const struct cb_algorithm *b);

struct cb_algorithm_line {
    char function[24]; /* "AllReduce"; empty where the library leaves it out */
    uint64_t bytes;    /* as the library counts them: of all_gather a rank's part, for example */
    struct cb_algorithm algorithm;
};

/* Reads "AllReduce: 1024 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..3}", which NCCL writes of
 * each operation in its subsystem TUNING, in all of its forms: with numbers for names and without
 * the function (2.20 and later), of kernels for symmetric memory (2.27) and of copy engines. The
 * numbers are those of NCCL's src/include/nccl_common.h and device.h (2.14 and later). False for
 * any other text, or one that names what no version has. Pure. */
bool cb_algorithm_read(const char *text, struct cb_algorithm_line *out);

/* Whether the line may be about that op: it names its function, or none. */
bool cb_algorithm_is_of(const struct cb_algorithm_line *line, enum cb_op op);

#endif

/* From where the ranks of a job are, when nothing moves, to who is missing: pure. */
#ifndef CB_MEASURE_MISSING_H
#define CB_MEASURE_MISSING_H

#include <stdbool.h>

#include "transport/place.h"

/* What is known of one rank. */
struct cb_roll_entry {
    int rank;
    char host[64];
    bool was_heard; /* it could be asked when the run began: only then its silence says something */
    bool answers;   /* it does now, with place */
    struct cb_place_record place;
};

/* Writes into text (size_bytes of room) who is missing, as one line with ranks and hosts, and why
 * it is thought so; without a difference between the ranks, that there is none. A rank is named
 * only for one of these: it does not answer any more; it is at an earlier operation than the rest
 * of its party; its part of the operation is not on its GPU, its library has not begun to join, its
 * GPU has not come to the operation or does no other work, where another rank's has. Of these the
 * first that tells ranks apart is said. Returns whether somebody is named. */
bool cb_missing_describe(const struct cb_roll_entry *entries, int count, char *text,
                         size_t size_bytes);

#endif

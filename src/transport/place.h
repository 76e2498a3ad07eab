/* Where a rank is in the run, for whoever asks when nothing moves. The rank writes, the thread that
 * answers reads: plain numbers that are each atomic, since the order of two of them matters to
 * nobody who asks a rank that stands still. */
#ifndef CB_TRANSPORT_PLACE_H
#define CB_TRANSPORT_PLACE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Something that can be seen of a rank, or not. */
enum cb_seen { CB_SEEN_UNKNOWN = 0, CB_SEEN_NO, CB_SEEN_YES };

/* Ranks are compared within the same party of the same step; a rank in no party has nothing to do
 * in the step, or has done it. */
enum { CB_PARTY_NONE = -1, CB_PARTY_ALL = 0 };

struct cb_place {
    atomic_int step;  /* of the plan, from 1; 0: before the first */
    atomic_int party; /* CB_PARTY_ALL, or which of the groups that do the step side by side */
    atomic_int turn;  /* operations together, in this step: 2n-1 in the nth, 2n after it */
    atomic_int saves; /* it is writing the result: the others wait for that */

    /* Of the operation, as far as its transport can tell: */
    atomic_int put, due;    /* parts given to the GPU, and how many there are (0: not counted) */
    atomic_int has_joined;  /* enum cb_seen: its library has begun to look for the others */
    atomic_int has_reached; /* enum cb_seen: the GPU came to the operation, */
    atomic_int answers;     /* enum cb_seen: or does at least other work */
};

/* A copy that can be sent. */
struct cb_place_record {
    int32_t step, party, turn, saves, put, due, has_joined, has_reached, answers;
};

/* A step begins, with the rank in no operation yet; it is in a party, or in none (any more). */
static inline void cb_place_begin(struct cb_place *place, int step)
{
    atomic_store(&place->turn, 0);
    atomic_store(&place->party, CB_PARTY_ALL);
    atomic_store(&place->step, step);
}

static inline void cb_place_join_party(struct cb_place *place, int party)
{
    atomic_store(&place->turn, 0);
    atomic_store(&place->party, party);
}

/* Around what the ranks of a party do together; who fails stays in it. */
static inline void cb_place_enter(struct cb_place *place)
{
    atomic_store(&place->put, 0);
    atomic_store(&place->due, 0);
    atomic_store(&place->has_joined, CB_SEEN_UNKNOWN);
    atomic_store(&place->has_reached, CB_SEEN_UNKNOWN);
    atomic_store(&place->answers, CB_SEEN_UNKNOWN);
    atomic_fetch_add(&place->turn, 1);
}

static inline void cb_place_leave(struct cb_place *place, int code)
{
    if (!code)
        atomic_fetch_add(&place->turn, 1);
}

static inline struct cb_place_record cb_place_read(struct cb_place *place)
{
    return (struct cb_place_record){
        .step = atomic_load(&place->step),
        .party = atomic_load(&place->party),
        .turn = atomic_load(&place->turn),
        .saves = atomic_load(&place->saves),
        .put = atomic_load(&place->put),
        .due = atomic_load(&place->due),
        .has_joined = atomic_load(&place->has_joined),
        .has_reached = atomic_load(&place->has_reached),
        .answers = atomic_load(&place->answers),
    };
}

#endif

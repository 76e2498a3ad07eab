/* The collectives: their names, what bytes they move, how bus bandwidth follows from time. One
 * table, so that every transport's numbers are comparable by construction. */
#ifndef CB_MODEL_COLLECTIVE_H
#define CB_MODEL_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"

enum cb_op {
    CB_OP_ALL_REDUCE,
    CB_OP_ALL_GATHER,
    CB_OP_REDUCE_SCATTER,
    CB_OP_BROADCAST,
    CB_OP_ALL_TO_ALL,
    CB_OP_SEND_RECV, /* every rank sends to its right neighbour and receives from its left one */
    CB_OP_COUNT
};

enum cb_redop { CB_REDOP_SUM, CB_REDOP_MAX, CB_REDOP_COUNT };

/* world: every rank. intra_node: the ranks of one node, on all nodes at once. inter_node: one rank
 * of each node. */
enum cb_scope { CB_SCOPE_WORLD, CB_SCOPE_INTRA_NODE, CB_SCOPE_INTER_NODE, CB_SCOPE_COUNT };

/* Names as the command line, the result file and the reports spell them; never NULL for a value of
 * the enum. The parsers return the value, or -1 for an unknown name. */
const char *cb_op_name(enum cb_op op);
const char *cb_redop_name(enum cb_redop redop);
const char *cb_scope_name(enum cb_scope scope);
int cb_op_parse(const char *name);
int cb_redop_parse(const char *name);
int cb_scope_parse(const char *name);

/* Whether the op combines values (and so needs a redop). */
bool cb_op_reduces(enum cb_op op);

/* The size of a message, as nccl-tests defines it, is the larger of a rank's send and receive
 * buffer: the whole vector for all_reduce and broadcast, the gathered vector for all_gather, the
 * vector before scattering for reduce_scatter, all blocks of one rank for all_to_all, the message
 * for send_recv. Rounds size_bytes down to what ranks can share evenly in whole elements; 0 when
 * nothing is left. */
uint64_t cb_op_usable_bytes(enum cb_op op, enum cb_dtype dtype, int ranks, uint64_t size_bytes);

/* Bus bandwidth = size / time x factor: the rate at which the busiest link of an optimal ring or
 * pairwise algorithm runs, whatever the number of ranks. Factors 2(n-1)/n for all_reduce, (n-1)/n
 * for all_gather, reduce_scatter and all_to_all, 1 for broadcast and send_recv. Source: NVIDIA
 * nccl-tests, doc/PERFORMANCE.md. 0 for fewer than two ranks. */
double cb_op_bus_factor(enum cb_op op, int ranks);

/* The least share of the bus bandwidth that crosses each node's network, one way, with n ranks
 * spread evenly over k nodes. Algorithms that combine inside the nodes first (trees, NVLS) move
 * 2(k-1)/k of an all_reduce's message out of a node, a flat ring over all ranks 2(n-1)/n, which is
 * share 1. So the share is (k-1)n / (k(n-1)) for all_reduce, all_gather and reduce_scatter: 0.53
 * for two nodes of eight, which is why a bus bandwidth above the link's rate is no fault. 1 for the
 * operations whose factor is 1, 0 on one node, negative (not told) for all_to_all. */
double cb_op_least_wire_share(enum cb_op op, int ranks, int nodes);

#endif

/* Nodes as a gather would bring them, without MPI: for the test of many nodes and its timing. */
#ifndef CB_TEST_MANY_NODES_H
#define CB_TEST_MANY_NODES_H

#include "result/result.h"

/* Adds so many nodes of eight GPUs and eight NICs to an empty result: every third as it should be,
 * one with a port down, one without GPUDirect; each with bus ids and interface names of its own.
 * They are hashed, grouped and stored as a run does. Returns the number of maps, or a negative
 * cb_code. */
int many_nodes_gather(struct cb_result *result, int nodes);

#endif

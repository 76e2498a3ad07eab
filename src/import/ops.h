/* The tests that there are beyond enum cb_op, and what their sizes and bandwidths say of the ranks.
 * Private to import/. */
#ifndef CB_IMPORT_OPS_H
#define CB_IMPORT_OPS_H

#include <stdbool.h>
#include <stddef.h>

#include "model/collective.h"

enum cb_test {
    CB_TEST_ALL_REDUCE,
    CB_TEST_ALL_GATHER,
    CB_TEST_REDUCE_SCATTER,
    CB_TEST_BROADCAST,
    CB_TEST_ALL_TO_ALL,
    CB_TEST_SEND_RECV,
    CB_TEST_REDUCE,
    CB_TEST_GATHER,
    CB_TEST_SCATTER,
    CB_TEST_ALL_TO_ALL_V,
    CB_TEST_HYPERCUBE,
    CB_TEST_COUNT
};

/* Bus bandwidth over size / time: 2(n-1)/n, (n-1)/n, 1. */
enum cb_import_factor { CB_FACTOR_TWICE_OTHERS, CB_FACTOR_OTHERS, CB_FACTOR_ONE };

/* "all_reduce", ..., "" for CB_TEST_COUNT. */
const char *cb_test_name(enum cb_test test);

/* The op of the same name; CB_OP_COUNT when there is none. */
enum cb_op cb_test_op(enum cb_test test);

/* The test that a word names, whatever program's ("all_reduce_perf_mpi", "Allreduce",
 * "osu_allreduce"); CB_TEST_COUNT for none. */
enum cb_test cb_test_find(const char *word, size_t length);

/* The test that a command or a path in a line names ("./build/all_gather_perf -b 8",
 * "run_nccl_tests.sh -t all_gather"). */
enum cb_test cb_test_find_in(const char *line);

/* Whether MPI benchmarks print the size of what one rank gives, where here the whole counts. */
bool cb_test_is_per_rank(enum cb_test test);

bool cb_test_reduces(enum cb_test test);
bool cb_test_has_root(enum cb_test test);
enum cb_import_factor cb_test_factor(enum cb_test test);

/* The factor with that many ranks, and the ranks with that factor (not rounded; 0 when no number
 * of ranks has it). */
double cb_import_factor_of(enum cb_import_factor factor, int ranks);
double cb_factor_ranks(enum cb_import_factor factor, double value);

#endif

/* Results of runs that never happened, built from rates so that every figure follows from another
 * (time from size and rate, bus bandwidth from time, verdict and checks from the rows by the
 * product's own judge). For the golden files and the tests of the reports. */
#ifndef CB_TEST_FIXTURES_H
#define CB_TEST_FIXTURES_H

#include <stddef.h>

#include "result/result.h"

struct cb_fixture {
    const char *name; /* of the golden files */
    void (*build)(struct cb_result *result);
};

/* Two hosts with 1 Gbit/s between them and two ranks each, everything measured. */
void cb_fixture_two_hosts(struct cb_result *result);
/* One host, two ranks: no links, one scope. */
void cb_fixture_one_host(struct cb_result *result);
/* The first of two hosts' steps, then a signal. */
void cb_fixture_interrupted(struct cb_result *result);
/* Elements that arrived wrong, and a kernel that computed wrong. */
void cb_fixture_wrong_data(struct cb_result *result);
/* The deciding row is noisy and the limit within its spread. */
void cb_fixture_undecided(struct cb_result *result);
/* A judgement on paper of the documents' gigabit Ethernet. */
void cb_fixture_paper(struct cb_result *result);
/* A stated total time that cannot hold the communication. */
void cb_fixture_impossible(struct cb_result *result);
/* Logs of other people: one that is judged by, and two that cannot be. */
void cb_fixture_imported(struct cb_result *result);
/* Offers, judged by their data sheets. */
void cb_fixture_offer(struct cb_result *result);
void cb_fixture_doubtful_offer(struct cb_result *result);
/* Names and reasons made of escape sequences, quotes, other scripts, and no end of letters. */
void cb_fixture_nasty(struct cb_result *result);
/* One rank: nothing to communicate with. */
void cb_fixture_one_rank(struct cb_result *result);
/* Sixteen nodes of eight ranks on 100 Gbit/s RoCE. */
void cb_fixture_many_nodes(struct cb_result *result);

/* Two simulated nodes of eight A100s: NVLink inside, InfiniBand between, a short burn, and one card
 * whose power limit was lowered. */
void cb_fixture_gpu_cluster(struct cb_result *result);

/* The same cluster without the burn, for a stated job: an 8B model under FSDP with few tokens and
 * fp32 gradients, which the network holds up; and one that tensor and pipeline ranks take whole, of
 * which the formula says nothing. */
void cb_fixture_training(struct cb_result *result);
void cb_fixture_model_parallel(struct cb_result *result);

/* As many_nodes, with any number of nodes and ranks per node, six kernel rows per rank. */
void cb_fixture_cluster(int nodes, int ranks_per_node, struct cb_result *result);

/* All that have golden files; *count of them. */
const struct cb_fixture *cb_fixtures(size_t *count);

#endif

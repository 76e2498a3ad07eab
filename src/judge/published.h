/* "Is this number normal?": what was measured against what others published of the same kind of
 * cluster. */
#ifndef CB_JUDGE_PUBLISHED_H
#define CB_JUDGE_PUBLISHED_H

#include <stdbool.h>

#include "model/criteria.h"
#include "result/result.h"

/* Judges the largest all_reduce over all ranks of a result, if it ran over NCCL with a GPU of one
 * model for every rank: met from 90 % of the lowest that was published (of a provider's minimum
 * where nothing else is: from all of it), short below, no_reference when nothing is published or
 * the links between the nodes are not known to be the same and it is less; not_tested, with the
 * reason as its summary, when there is nothing to compare. summary is the answer in words, source
 * names the publication. Pure. */
void cb_published_check_result(const struct cb_result *result, struct cb_check *check);

/* Judges the best bus bandwidth of another program's output alike. False when there is nothing to
 * compare: an output that nothing is judged by, or that does not name its GPU or how many there
 * were. Pure. */
bool cb_published_check_import(const struct cb_import *import, struct cb_check *check);

#endif

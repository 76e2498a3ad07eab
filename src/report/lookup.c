#include "report/lookup.h"

#include <stdlib.h>
#include <string.h>

static int by_rank(const void *a, const void *b)
{
    const struct cb_rank *left = *(const struct cb_rank *const *)a;
    const struct cb_rank *right = *(const struct cb_rank *const *)b;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct cb_topo_host *const *)a)->name,
                  (*(const struct cb_topo_host *const *)b)->name);
}

int cb_lookup_init(struct cb_lookup *lookup, const struct cb_result *result)
{
    size_t ranks = result->ranks.count;
    size_t nodes = result->nodes.count;
    *lookup = (struct cb_lookup){
        .result = result,
        .ranks = calloc(ranks + 1, sizeof(*lookup->ranks)),
        .nodes = calloc(nodes + 1, sizeof(*lookup->nodes)),
    };
    if (!lookup->ranks || !lookup->nodes) {
        cb_lookup_fini(lookup);
        return CB_E_MEMORY;
    }
    for (size_t i = 0; i < ranks; i++)
        lookup->ranks[i] = &result->ranks.items[i];
    for (size_t i = 0; i < nodes; i++)
        lookup->nodes[i] = &result->nodes.items[i];
    qsort(lookup->ranks, ranks, sizeof(*lookup->ranks), by_rank);
    qsort(lookup->nodes, nodes, sizeof(*lookup->nodes), by_name);
    return 0;
}

void cb_lookup_fini(struct cb_lookup *lookup)
{
    free(lookup->ranks);
    free(lookup->nodes);
    memset(lookup, 0, sizeof(*lookup));
}

const char *cb_lookup_host_of_rank(const struct cb_lookup *lookup, int rank)
{
    const struct cb_rank key = {.rank = rank};
    const struct cb_rank *wanted = &key;
    const struct cb_rank **found = bsearch(&wanted, lookup->ranks, lookup->result->ranks.count,
                                           sizeof(*lookup->ranks), by_rank);
    if (!found || (*found)->node < 0 || (size_t)(*found)->node >= lookup->result->nodes.count)
        return "?";
    return lookup->result->nodes.items[(*found)->node].name;
}

const struct cb_topo_host *cb_lookup_node(const struct cb_lookup *lookup, const char *name)
{
    struct cb_topo_host key = {.nic_count = 0};
    strncpy(key.name, name, sizeof(key.name) - 1);
    const struct cb_topo_host *wanted = &key;
    const struct cb_topo_host **found = bsearch(&wanted, lookup->nodes, lookup->result->nodes.count,
                                                sizeof(*lookup->nodes), by_name);
    return found ? *found : NULL;
}

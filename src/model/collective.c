#include "model/collective.h"

#include <string.h>

#include "base/names.h"

enum factor { FACTOR_ONE, FACTOR_OTHERS, FACTOR_TWICE_OTHERS };

struct op_row {
    const char *name;
    enum factor factor;
    bool reduces;
};

static const struct op_row ops[] = {
    [CB_OP_ALL_REDUCE] = {"all_reduce", FACTOR_TWICE_OTHERS, true},
    [CB_OP_ALL_GATHER] = {"all_gather", FACTOR_OTHERS, false},
    [CB_OP_REDUCE_SCATTER] = {"reduce_scatter", FACTOR_OTHERS, true},
    [CB_OP_BROADCAST] = {"broadcast", FACTOR_ONE, false},
    [CB_OP_ALL_TO_ALL] = {"all_to_all", FACTOR_OTHERS, false},
    [CB_OP_SEND_RECV] = {"send_recv", FACTOR_ONE, false},
};
_Static_assert(sizeof(ops) / sizeof(ops[0]) == CB_OP_COUNT, "one row per op");

static const char *const redops[] = {[CB_REDOP_SUM] = "sum", [CB_REDOP_MAX] = "max"};
_Static_assert(sizeof(redops) / sizeof(redops[0]) == CB_REDOP_COUNT, "one name per redop");

static const char *const scopes[] = {
    [CB_SCOPE_WORLD] = "world",
    [CB_SCOPE_INTRA_NODE] = "intra_node",
    [CB_SCOPE_INTER_NODE] = "inter_node",
};
_Static_assert(sizeof(scopes) / sizeof(scopes[0]) == CB_SCOPE_COUNT, "one name per scope");

const char *cb_op_name(enum cb_op op)
{
    return ops[op].name;
}

const char *cb_redop_name(enum cb_redop redop)
{
    return redops[redop];
}

const char *cb_scope_name(enum cb_scope scope)
{
    return scopes[scope];
}

int cb_op_parse(const char *name)
{
    for (int i = 0; i < CB_OP_COUNT; i++)
        if (strcmp(name, ops[i].name) == 0)
            return i;
    return -1;
}

int cb_redop_parse(const char *name)
{
    return cb_names_find(redops, CB_REDOP_COUNT, name);
}

int cb_scope_parse(const char *name)
{
    return cb_names_find(scopes, CB_SCOPE_COUNT, name);
}

bool cb_op_reduces(enum cb_op op)
{
    return ops[op].reduces;
}

/* all_to_all sends a block to every rank although both buffers are whole vectors. */
static bool is_shared_out(enum cb_op op)
{
    return ops[op].factor == FACTOR_OTHERS;
}

uint64_t cb_op_usable_bytes(enum cb_op op, enum cb_dtype dtype, int ranks, uint64_t size_bytes)
{
    uint64_t unit_bytes = cb_dtype_size_bytes(dtype);
    if (is_shared_out(op))
        unit_bytes *= (uint64_t)ranks;
    return size_bytes / unit_bytes * unit_bytes;
}

double cb_op_bus_factor(enum cb_op op, int ranks)
{
    if (ranks < 2)
        return 0;
    double others = (double)(ranks - 1) / ranks;
    switch (ops[op].factor) {
    case FACTOR_TWICE_OTHERS:
        return 2 * others;
    case FACTOR_OTHERS:
        return others;
    case FACTOR_ONE:
        break;
    }
    return 1;
}

double cb_op_least_wire_share(enum cb_op op, int ranks, int nodes)
{
    if (ranks < 2 || nodes < 2)
        return 0;
    if (op == CB_OP_ALL_TO_ALL)
        return -1;
    if (ops[op].factor == FACTOR_ONE)
        return 1;
    return (nodes - 1.0) * ranks / ((double)nodes * (ranks - 1));
}

#include "import/ops.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

struct test_row {
    const char *name;  /* as commbound spells it */
    const char *plain; /* without anything but letters, as every program spells it somehow */
    const char *other; /* the same of another family; NULL: none */
    enum cb_op op;
    enum cb_import_factor factor;
    bool reduces, has_root;
};

static const struct test_row tests[] = {
    [CB_TEST_ALL_REDUCE] = {"all_reduce", "allreduce", NULL, CB_OP_ALL_REDUCE,
                            CB_FACTOR_TWICE_OTHERS, true, false},
    [CB_TEST_ALL_GATHER] = {"all_gather", "allgather", NULL, CB_OP_ALL_GATHER, CB_FACTOR_OTHERS,
                            false, false},
    [CB_TEST_REDUCE_SCATTER] = {"reduce_scatter", "reducescatter", "reducescatterblock",
                                CB_OP_REDUCE_SCATTER, CB_FACTOR_OTHERS, true, false},
    [CB_TEST_BROADCAST] = {"broadcast", "broadcast", "bcast", CB_OP_BROADCAST, CB_FACTOR_ONE, false,
                           true},
    [CB_TEST_ALL_TO_ALL] = {"all_to_all", "alltoall", NULL, CB_OP_ALL_TO_ALL, CB_FACTOR_OTHERS,
                            false, false},
    [CB_TEST_SEND_RECV] = {"send_recv", "sendrecv", NULL, CB_OP_SEND_RECV, CB_FACTOR_ONE, false,
                           false},
    [CB_TEST_REDUCE] = {"reduce", "reduce", NULL, CB_OP_COUNT, CB_FACTOR_ONE, true, true},
    [CB_TEST_GATHER] = {"gather", "gather", NULL, CB_OP_COUNT, CB_FACTOR_OTHERS, false, true},
    [CB_TEST_SCATTER] = {"scatter", "scatter", NULL, CB_OP_COUNT, CB_FACTOR_OTHERS, false, true},
    [CB_TEST_ALL_TO_ALL_V] = {"all_to_all_v", "alltoallv", NULL, CB_OP_COUNT, CB_FACTOR_OTHERS,
                              false, false},
    [CB_TEST_HYPERCUBE] = {"hypercube", "hypercube", NULL, CB_OP_COUNT, CB_FACTOR_ONE, false,
                           false},
};
_Static_assert(sizeof(tests) / sizeof(tests[0]) == CB_TEST_COUNT, "one row per test");

const char *cb_test_name(enum cb_test test)
{
    return test < CB_TEST_COUNT ? tests[test].name : "";
}

enum cb_op cb_test_op(enum cb_test test)
{
    return test < CB_TEST_COUNT ? tests[test].op : CB_OP_COUNT;
}

enum cb_test cb_test_find(const char *word, size_t length)
{
    char plain[32];
    size_t used = 0;
    for (size_t i = 0; i < length && used < sizeof(plain) - 1; i++)
        if (isalpha((unsigned char)word[i]))
            plain[used++] = (char)tolower((unsigned char)word[i]);
    plain[used] = '\0';
    for (int i = 0; i < CB_TEST_COUNT; i++)
        if (strcmp(plain, tests[i].plain) == 0 ||
            (tests[i].other && strcmp(plain, tests[i].other) == 0))
            return (enum cb_test)i;
    return CB_TEST_COUNT;
}

/* The start of the name that ends at end: letters and underlines. */
static const char *name_start(const char *line, const char *end)
{
    while (end > line && (isalpha((unsigned char)end[-1]) || end[-1] == '_'))
        end--;
    return end;
}

enum cb_test cb_test_find_in(const char *line)
{
    for (const char *at = strstr(line, "_perf"); at; at = strstr(at + 5, "_perf")) {
        const char *start = name_start(line, at);
        enum cb_test test = cb_test_find(start, (size_t)(at - start));
        if (test < CB_TEST_COUNT)
            return test;
    }
    const char *option = strstr(line, " -t ");
    if (option && strstr(line, "nccl"))
        return cb_test_find(option + 4, strcspn(option + 4, " "));
    return CB_TEST_COUNT;
}

bool cb_test_is_per_rank(enum cb_test test)
{
    return test == CB_TEST_ALL_GATHER || test == CB_TEST_ALL_TO_ALL || test == CB_TEST_GATHER ||
           test == CB_TEST_SCATTER || test == CB_TEST_ALL_TO_ALL_V;
}

bool cb_test_reduces(enum cb_test test)
{
    return tests[test].reduces;
}

bool cb_test_has_root(enum cb_test test)
{
    return tests[test].has_root;
}

enum cb_import_factor cb_test_factor(enum cb_test test)
{
    return tests[test].factor;
}

double cb_import_factor_of(enum cb_import_factor factor, int ranks)
{
    static const enum cb_op ops[] = {
        [CB_FACTOR_TWICE_OTHERS] = CB_OP_ALL_REDUCE,
        [CB_FACTOR_OTHERS] = CB_OP_ALL_GATHER,
        [CB_FACTOR_ONE] = CB_OP_BROADCAST,
    };
    return cb_op_bus_factor(ops[factor], ranks);
}

double cb_factor_ranks(enum cb_import_factor factor, double value)
{
    if (factor == CB_FACTOR_TWICE_OTHERS && value < 2)
        return 2 / (2 - value);
    if (factor == CB_FACTOR_OTHERS && value < 1)
        return 1 / (1 - value);
    return 0;
}

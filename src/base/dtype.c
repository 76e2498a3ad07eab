#include "base/dtype.h"

#include <string.h>

struct dtype_row {
    const char *name;
    size_t size_bytes;
};

static const struct dtype_row dtypes[] = {
    [CB_DTYPE_FLOAT32] = {"float32", 4},
    [CB_DTYPE_FLOAT64] = {"float64", 8},
    [CB_DTYPE_FLOAT16] = {"float16", 2},
    [CB_DTYPE_BFLOAT16] = {"bfloat16", 2},
    [CB_DTYPE_INT32] = {"int32", 4},
    [CB_DTYPE_FLOAT8_E4M3] = {"float8_e4m3", 1},
    [CB_DTYPE_FLOAT8_E5M2] = {"float8_e5m2", 1},
    [CB_DTYPE_TF32] = {"tf32", 4},
};
_Static_assert(sizeof(dtypes) / sizeof(dtypes[0]) == CB_DTYPE_COUNT, "one row per dtype");

const char *cb_dtype_name(enum cb_dtype dtype)
{
    return dtypes[dtype].name;
}

int cb_dtype_parse(const char *name)
{
    for (int i = 0; i < CB_DTYPE_COUNT; i++)
        if (strcmp(name, dtypes[i].name) == 0)
            return i;
    return -1;
}

size_t cb_dtype_size_bytes(enum cb_dtype dtype)
{
    return dtypes[dtype].size_bytes;
}

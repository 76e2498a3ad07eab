/* The element types that collectives move and kernels compute with. */
#ifndef CB_BASE_DTYPE_H
#define CB_BASE_DTYPE_H

#include <stddef.h>

enum cb_dtype {
    CB_DTYPE_FLOAT32,
    CB_DTYPE_FLOAT64,
    CB_DTYPE_FLOAT16,
    CB_DTYPE_BFLOAT16,
    CB_DTYPE_INT32,
    CB_DTYPE_FLOAT8_E4M3,
    CB_DTYPE_FLOAT8_E5M2,
    CB_DTYPE_TF32, /* float32 in memory, multiplied with 10 bits of mantissa: of GEMM alone */
    CB_DTYPE_COUNT
};

/* The types before this one travel; those from it on are of kernels alone. */
#define CB_DTYPE_MOVED_COUNT CB_DTYPE_TF32

/* "float32", ...; the parser returns -1 for an unknown name. */
const char *cb_dtype_name(enum cb_dtype dtype);
int cb_dtype_parse(const char *name);

size_t cb_dtype_size_bytes(enum cb_dtype dtype);

#endif

/* Combining elements: every type of NCCL, in the order of the ranks, rounded once at the end. */
#define _GNU_SOURCE
#include <string.h>

#include "nccl_internal.h"
#include "small_float.h"

size_t simnccl_type_bytes(ncclDataType_t type)
{
    switch ((int)type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
        return 1;
    case ncclFloat16:
    case ncclBfloat16:
        return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
        return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
        return 8;
    }
    return 0;
}

/* Integers are combined as themselves, modulo their size. */
#define REDUCE_INTEGER(type)                                                                       \
    static void reduce_##type(void *out, const void *parts, size_t stride, int part_count,         \
                              size_t count, ncclRedOp_t op)                                        \
    {                                                                                              \
        const type *in = parts;                                                                    \
        type *to = out;                                                                            \
        for (size_t i = 0; i < count; i++) {                                                       \
            type value = in[i];                                                                    \
            for (int p = 1; p < part_count; p++) {                                                 \
                type next = in[(size_t)p * stride + i];                                            \
                if (op == ncclSum || op == ncclAvg)                                                \
                    value = (type)(value + next);                                                  \
                else if (op == ncclProd)                                                           \
                    value = (type)(value * next);                                                  \
                else if (op == ncclMax ? next > value : next < value)                              \
                    value = next;                                                                  \
            }                                                                                      \
            to[i] = value;                                                                         \
            if (op == ncclAvg)                                                                     \
                to[i] = (type)(value / (type)part_count);                                          \
        }                                                                                          \
    }

REDUCE_INTEGER(uint8_t)
REDUCE_INTEGER(uint32_t)
REDUCE_INTEGER(uint64_t)
REDUCE_INTEGER(int8_t)

/* Signed sums wrap on a GPU; in C only unsigned ones do, and the bits are the same. */
static void reduce_int32_t(void *out, const void *parts, size_t stride, int part_count,
                           size_t count, ncclRedOp_t op)
{
    const int32_t *in = parts;
    int32_t *to = out;
    if (op == ncclSum || op == ncclProd) {
        reduce_uint32_t(out, parts, stride, part_count, count, op);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t value = in[i];
        for (int p = 1; p < part_count; p++) {
            int32_t next = in[(size_t)p * stride + i];
            if (op == ncclAvg)
                value += next;
            else if (op == ncclMax ? next > value : next < value)
                value = next;
        }
        to[i] = (int32_t)(op == ncclAvg ? value / part_count : value);
    }
}

static void reduce_int64_t(void *out, const void *parts, size_t stride, int part_count,
                           size_t count, ncclRedOp_t op)
{
    const int64_t *in = parts;
    int64_t *to = out;
    if (op == ncclSum || op == ncclProd) {
        reduce_uint64_t(out, parts, stride, part_count, count, op);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t value = in[i];
        for (int p = 1; p < part_count; p++) {
            int64_t next = in[(size_t)p * stride + i];
            if (op == ncclAvg)
                value += next;
            else if (op == ncclMax ? next > value : next < value)
                value = next;
        }
        to[i] = op == ncclAvg ? value / part_count : value;
    }
}

static double load(const void *data, size_t i, ncclDataType_t type)
{
    switch ((int)type) {
    case ncclFloat64:
        return ((const double *)data)[i];
    case ncclFloat32:
        return (double)((const float *)data)[i];
    case ncclFloat16:
        return simgpu_small_decode(((const uint16_t *)data)[i], &simgpu_float16);
    case ncclBfloat16:
        return simgpu_small_decode(((const uint16_t *)data)[i], &simgpu_bfloat16);
    case ncclFloat8e4m3:
        return simgpu_small_decode(((const uint8_t *)data)[i], &simgpu_float8_e4m3);
    default:
        return simgpu_small_decode(((const uint8_t *)data)[i], &simgpu_float8_e5m2);
    }
}

static void store(void *data, size_t i, ncclDataType_t type, double value)
{
    switch ((int)type) {
    case ncclFloat64:
        ((double *)data)[i] = value;
        break;
    case ncclFloat32:
        ((float *)data)[i] = (float)value;
        break;
    case ncclFloat16:
        ((uint16_t *)data)[i] = (uint16_t)simgpu_small_encode(value, &simgpu_float16);
        break;
    case ncclBfloat16:
        ((uint16_t *)data)[i] = (uint16_t)simgpu_small_encode(value, &simgpu_bfloat16);
        break;
    case ncclFloat8e4m3:
        ((uint8_t *)data)[i] = (uint8_t)simgpu_small_encode(value, &simgpu_float8_e4m3);
        break;
    default:
        ((uint8_t *)data)[i] = (uint8_t)simgpu_small_encode(value, &simgpu_float8_e5m2);
    }
}

static void reduce_float(void *out, const void *parts, size_t stride, int part_count, size_t count,
                         ncclDataType_t type, ncclRedOp_t op)
{
    for (size_t i = 0; i < count; i++) {
        double value = load(parts, i, type);
        for (int p = 1; p < part_count; p++) {
            double next = load(parts, (size_t)p * stride + i, type);
            if (op == ncclSum || op == ncclAvg)
                value += next;
            else if (op == ncclProd)
                value *= next;
            else if (op == ncclMax ? next > value : next < value)
                value = next;
            if (type == ncclFloat32)
                value = (double)(float)value;
        }
        store(out, i, type, op == ncclAvg ? value / part_count : value);
    }
}

void simnccl_reduce(void *out, const void *parts, size_t stride, int part_count, size_t count,
                    ncclDataType_t type, ncclRedOp_t op)
{
    switch ((int)type) {
    case ncclInt8:
        reduce_int8_t(out, parts, stride, part_count, count, op);
        break;
    case ncclUint8:
        reduce_uint8_t(out, parts, stride, part_count, count, op);
        break;
    case ncclInt32:
        reduce_int32_t(out, parts, stride, part_count, count, op);
        break;
    case ncclUint32:
        reduce_uint32_t(out, parts, stride, part_count, count, op);
        break;
    case ncclInt64:
        reduce_int64_t(out, parts, stride, part_count, count, op);
        break;
    case ncclUint64:
        reduce_uint64_t(out, parts, stride, part_count, count, op);
        break;
    default:
        reduce_float(out, parts, stride, part_count, count, type, op);
    }
}

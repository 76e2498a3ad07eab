/* Fill and check the data of checked steps: src/base/pattern_math.h over a grid. Not timed. */
#include "kernels/cuda/device.cuh"

template <typename Word> __device__ uint64_t moved(const struct cb_cuda_moved &args, bool check)
{
    Word *data = (Word *)args.data;
    uint64_t wrong = 0;
    for (uint64_t i = thread_index(); i < args.count; i += thread_count()) {
        uint64_t place = args.first + i;
        Word expected = sizeof(Word) == 8 ? (Word)cb_pattern_wide(args.key, place)
                                          : (Word)cb_pattern_low(args.key, place);
        if (check)
            wrong += data[i] != expected;
        else
            data[i] = expected;
    }
    return wrong;
}

__device__ static uint64_t moved_any(const struct cb_cuda_moved &args, bool check)
{
    switch (args.element_bytes) {
    case 1:
        return moved<uint8_t>(args, check);
    case 2:
        return moved<uint16_t>(args, check);
    case 4:
        return moved<uint32_t>(args, check);
    default:
        return moved<uint64_t>(args, check);
    }
}

CB_CUDA_KERNEL(fill_moved, cb_cuda_moved)
{
    moved_any(args, false);
}

CB_CUDA_KERNEL(check_moved, cb_cuda_moved)
{
    add_wrong(args.wrong, moved_any(args, true));
}

/* The bits of a whole number in the type; those of -0 are never asked for. */
__device__ static uint64_t whole_bits(enum cb_dtype dtype, uint64_t value)
{
    switch (dtype) {
    case CB_DTYPE_FLOAT32:
        return __float_as_uint((float)(int64_t)value);
    case CB_DTYPE_FLOAT64:
        return (uint64_t)__double_as_longlong((double)(int64_t)value);
    case CB_DTYPE_INT32:
        return (uint32_t)value;
    default:
        return cb_pattern_narrow_bits(dtype, (uint32_t)value);
    }
}

__device__ static uint64_t element_bytes(enum cb_dtype dtype)
{
    switch (dtype) {
    case CB_DTYPE_FLOAT64:
        return 8;
    case CB_DTYPE_FLOAT16:
    case CB_DTYPE_BFLOAT16:
        return 2;
    case CB_DTYPE_FLOAT8_E4M3:
    case CB_DTYPE_FLOAT8_E5M2:
        return 1;
    default:
        return 4;
    }
}

__device__ static uint64_t load_bits(const void *data, uint64_t bytes, uint64_t i)
{
    switch (bytes) {
    case 1:
        return ((const uint8_t *)data)[i];
    case 2:
        return ((const uint16_t *)data)[i];
    case 4:
        return ((const uint32_t *)data)[i];
    default:
        return ((const uint64_t *)data)[i];
    }
}

__device__ static void store_bits(void *data, uint64_t bytes, uint64_t i, uint64_t bits)
{
    switch (bytes) {
    case 1:
        ((uint8_t *)data)[i] = (uint8_t)bits;
        break;
    case 2:
        ((uint16_t *)data)[i] = (uint16_t)bits;
        break;
    case 4:
        ((uint32_t *)data)[i] = (uint32_t)bits;
        break;
    default:
        ((uint64_t *)data)[i] = bits;
        break;
    }
}

CB_CUDA_KERNEL(fill_reduced, cb_cuda_reduced)
{
    uint64_t bytes = element_bytes(args.dtype);
    for (uint64_t i = thread_index(); i < args.count; i += thread_count()) {
        uint64_t value = cb_pattern_sent(&args.pattern, args.owner, args.first + i);
        store_bits(args.data, bytes, i, whole_bits(args.dtype, value));
    }
}

/* A zero of a wide floating-point type may have come out with a sign. */
__device__ static bool is_same(enum cb_dtype dtype, uint64_t bytes, uint64_t bits,
                               uint64_t expected)
{
    bool may_have_sign = dtype == CB_DTYPE_FLOAT32 || dtype == CB_DTYPE_FLOAT64;
    return bits == expected || (may_have_sign && expected == 0 && bits == 1ull << (8 * bytes - 1));
}

CB_CUDA_KERNEL(check_reduced, cb_cuda_reduced)
{
    uint64_t bytes = element_bytes(args.dtype), wrong = 0;
    for (uint64_t i = thread_index(); i < args.count; i += thread_count()) {
        uint64_t value = cb_pattern_expected(&args.pattern, args.maximum != 0, args.first + i);
        wrong += !is_same(args.dtype, bytes, load_bits(args.data, bytes, i),
                          whole_bits(args.dtype, value));
    }
    add_wrong(args.wrong, wrong);
}

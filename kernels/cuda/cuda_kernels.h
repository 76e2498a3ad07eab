/* What C calls of the device code in kernels/cuda: each function starts one kernel on a stream and
 * does not wait for it. A stream is CUDA's own (cudaStream_t); the device must be current. Errors,
 * of all of them: CB_E_MEASURE with CUDA's code and text in the detail. */
#ifndef CB_KERNELS_CUDA_CUDA_KERNELS_H
#define CB_KERNELS_CUDA_CUDA_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st; /* *this is cudaStream_t */

/* The data of checked steps, in device memory: the same bits as cb_pattern_fill_moved and
 * cb_pattern_fill_reduced (src/transport/pattern.h) make in the host's. element_bytes is 1, 2, 4 or
 * 8. */
int cb_cuda_fill_moved(void *data, uint64_t count, size_t element_bytes, uint64_t seed, int owner,
                       uint64_t first, struct CUstream_st *stream, struct cb_error *err);
int cb_cuda_fill_reduced(void *data, uint64_t count, enum cb_dtype dtype, uint64_t seed, int owner,
                         int ranks, uint64_t first, struct CUstream_st *stream,
                         struct cb_error *err);

/* Add the number of wrong elements to *wrong, which lies in device memory (or in pinned host memory
 * that the device sees): the caller zeroes it before and reads it after the stream is done.
 * maximum: the data were combined by CB_REDOP_MAX, else by CB_REDOP_SUM. */
int cb_cuda_check_moved(const void *data, uint64_t count, size_t element_bytes, uint64_t seed,
                        int owner, uint64_t first, uint64_t *wrong, struct CUstream_st *stream,
                        struct cb_error *err);
int cb_cuda_check_reduced(const void *data, uint64_t count, enum cb_dtype dtype, int maximum,
                          uint64_t seed, int ranks, uint64_t first, uint64_t *wrong,
                          struct CUstream_st *stream, struct cb_error *err);

#ifdef __cplusplus
}
#endif

#endif

/* cuBLASLt by dlopen: its types come from the header, its functions from whatever copy is found
 * when it is wanted, so that the program starts without it. Only kernels/cuda includes this. */
#ifndef CB_KERNELS_CUDA_CUBLASLT_API_H
#define CB_KERNELS_CUDA_CUBLASLT_API_H

#include <cublasLt.h>
#include <stddef.h>

#include "base/error.h"

/* Every function used; one that a copy lacks makes that copy useless. */
#define CB_CUBLASLT_FUNCTIONS(_)                                                                   \
    _(cublasLtGetVersion)                                                                          \
    _(cublasLtGetStatusName)                                                                       \
    _(cublasLtCreate)                                                                              \
    _(cublasLtDestroy)                                                                             \
    _(cublasLtMatmulDescCreate)                                                                    \
    _(cublasLtMatmulDescDestroy)                                                                   \
    _(cublasLtMatmulDescSetAttribute)                                                              \
    _(cublasLtMatrixLayoutCreate)                                                                  \
    _(cublasLtMatrixLayoutDestroy)                                                                 \
    _(cublasLtMatmulPreferenceCreate)                                                              \
    _(cublasLtMatmulPreferenceDestroy)                                                             \
    _(cublasLtMatmulPreferenceSetAttribute)                                                        \
    _(cublasLtMatmulAlgoGetHeuristic)                                                              \
    _(cublasLtMatmul)

struct cb_cublaslt_api {
#define CB_CUBLASLT_MEMBER(name) __typeof__(&name) name;
    CB_CUBLASLT_FUNCTIONS(CB_CUBLASLT_MEMBER)
#undef CB_CUBLASLT_MEMBER
    size_t version; /* as cublasLtGetVersion says: 130002 is 13.0.2 */
    char path[512]; /* of the file that was loaded */
};

/* Loads the first copy that has every function: $COMMBOUND_CUBLASLT_LIB (then only that one), the
 * loader's own search for libcublasLt.so.<major of the header>, $CUDA_HOME and $CUDA_PATH, the
 * conda prefix, the virtual environment's nvidia wheels, /usr/local/cuda. The library stays loaded
 * for the life of the process. Errors: CB_E_UNSUPPORTED; the detail says where it was looked for
 * and what was wrong there. On error *api is untouched. */
int cb_cublaslt_load(struct cb_cublaslt_api *api, struct cb_error *err);

/* Fills err from a code of cuBLASLt. Returns CB_OK for CUBLAS_STATUS_SUCCESS, CB_E_UNSUPPORTED
 * where the card or the library cannot do it, CB_E_MEMORY, else CB_E_MEASURE. */
int cb_cublaslt_check(const struct cb_cublaslt_api *api, cublasStatus_t status, const char *call,
                      struct cb_error *err);

#endif

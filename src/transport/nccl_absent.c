/* In place of nccl_search.c in a build without CUDA. */
#include "transport/nccl_search.h"

size_t cb_nccl_list(const char *given, struct cb_nccl_copy copies[CB_NCCL_COPIES])
{
    (void)given;
    (void)copies;
    return 0;
}

int cb_nccl_find(const char *given, struct cb_nccl_copy *out, struct cb_error *err)
{
    (void)given;
    (void)out;
    return cb_fail(err, CB_E_UNSUPPORTED, "this build has no GPU path: it was made without CUDA");
}

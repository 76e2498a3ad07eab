/* NCCL's functions as a table that is filled at run time: the types are those of NCCL's header, the
 * library is opened, not linked. Only nccl*.c may include this. */
#ifndef CB_TRANSPORT_NCCL_API_H
#define CB_TRANSPORT_NCCL_API_H

#include <nccl.h>

#include "base/error.h"

/* Version 2.14 is the first with all that is required: the configuration that lets a communicator
 * be non-blocking. */
#define CB_NCCL_OLDEST 21400

/* Before version 2.27 ncclResetDebugInit closes the log under the hands of threads that write. */
#define CB_NCCL_SAFE_RESET 22700

/* REQUIRED functions are in every library that serves; OPTIONAL ones may be NULL. */
#define CB_NCCL_FUNCTIONS(REQUIRED, OPTIONAL)                                                      \
    REQUIRED(ncclGetVersion)                                                                       \
    REQUIRED(ncclGetErrorString)                                                                   \
    REQUIRED(ncclGetUniqueId)                                                                      \
    REQUIRED(ncclCommInitRankConfig)                                                               \
    REQUIRED(ncclCommFinalize)                                                                     \
    REQUIRED(ncclCommDestroy)                                                                      \
    REQUIRED(ncclCommAbort)                                                                        \
    REQUIRED(ncclCommGetAsyncError)                                                                \
    REQUIRED(ncclGroupStart)                                                                       \
    REQUIRED(ncclGroupEnd)                                                                         \
    REQUIRED(ncclAllReduce)                                                                        \
    REQUIRED(ncclAllGather)                                                                        \
    REQUIRED(ncclReduceScatter)                                                                    \
    REQUIRED(ncclBroadcast)                                                                        \
    REQUIRED(ncclSend)                                                                             \
    REQUIRED(ncclRecv)                                                                             \
    OPTIONAL(ncclGetLastError)                                                                     \
    OPTIONAL(ncclMemAlloc)                                                                         \
    OPTIONAL(ncclMemFree)                                                                          \
    OPTIONAL(ncclCommRegister)                                                                     \
    OPTIONAL(ncclCommDeregister)

struct cb_nccl_api {
#define CB_NCCL_MEMBER(function) __typeof__(&function) function;
    CB_NCCL_FUNCTIONS(CB_NCCL_MEMBER, CB_NCCL_MEMBER)
#undef CB_NCCL_MEMBER
    void (*reset_debug)(void); /* ncclResetDebugInit, which headers lack or call deprecated */
    int version;               /* 22809 is 2.28.9 */
    char path[512];            /* the file that was loaded */
};

/* Loads the library of that path (a bare name asks the system's loader) and fills the table. It is
 * never unloaded. Errors: CB_E_UNSUPPORTED, with what is missing, when it cannot be loaded, is too
 * old or lacks a required function; *out is then untouched. */
int cb_nccl_load(const char *path, struct cb_nccl_api *out, struct cb_error *err);

#endif

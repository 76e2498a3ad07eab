/* A libnccl.so.2 that only says which version it is, for the search: FAKE_VERSION is its code,
 * FAKE_LACKS leaves out one required function. It computes nothing. */
int ncclGetVersion(int *version);
int ncclGetVersion(int *version)
{
    *version = FAKE_VERSION;
    return 0;
}

#define FAKE(name)                                                                                 \
    int name(void);                                                                                \
    int name(void)                                                                                 \
    {                                                                                              \
        return 5; /* ncclInvalidUsage */                                                           \
    }

FAKE(ncclGetErrorString)
FAKE(ncclGetUniqueId)
FAKE(ncclCommInitRankConfig)
FAKE(ncclCommFinalize)
FAKE(ncclCommDestroy)
FAKE(ncclCommAbort)
FAKE(ncclCommGetAsyncError)
FAKE(ncclGroupStart)
FAKE(ncclGroupEnd)
FAKE(ncclAllReduce)
FAKE(ncclAllGather)
#ifndef FAKE_LACKS
FAKE(ncclReduceScatter)
#endif
FAKE(ncclBroadcast)
FAKE(ncclSend)
FAKE(ncclRecv)

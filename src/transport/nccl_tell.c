/* Which algorithm a step's operations take. NCCL chooses anew for every operation and says so only
 * in its debug output (subsystem TUNING), a line each: that is on for one operation that is not
 * timed, and off again before the first that is. */
#include "transport/nccl_internal.h"
#include "transport/nccl_log.h"

/* Sends and receives have no algorithm; a single rank copies. */
static bool may_be_told(const struct cb_transport *t)
{
    return t->config.asks_algorithms && t->config.nccl_log && t->api.reset_debug &&
           t->api.version >= CB_NCCL_SAFE_RESET && t->size > 1 &&
           t->step.motion == CB_MOTION_COLLECTIVE && t->step.op != CB_OP_ALL_TO_ALL &&
           t->step.op != CB_OP_SEND_RECV;
}

void cb_nccl_listen(struct cb_transport *t)
{
    t->listens = may_be_told(t) && !t->algorithm.name[0] &&
                 cb_nccl_log_switch(t->config.nccl_log, true, t->api.reset_debug);
}

void cb_nccl_hear(struct cb_transport *t)
{
    if (!t->listens)
        return;
    cb_nccl_log_switch(t->config.nccl_log, false, t->api.reset_debug);
    cb_nccl_log_algorithm(t->config.nccl_log, t->step.op, &t->algorithm);
    t->listens = false;
}

bool cb_nccl_tell(const struct cb_transport *t, struct cb_algorithm *out)
{
    if (!t->algorithm.name[0])
        return false;
    *out = t->algorithm;
    return true;
}

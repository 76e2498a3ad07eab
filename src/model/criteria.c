#include "model/criteria.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/units.h"

static const char *const statuses[] = {
    [CB_CHECK_MET] = "met",
    [CB_CHECK_SHORT] = "short",
    [CB_CHECK_ALARM] = "alarm",
    [CB_CHECK_NOT_TESTED] = "not_tested",
    [CB_CHECK_NO_REFERENCE] = "no_reference",
};
_Static_assert(sizeof(statuses) / sizeof(statuses[0]) == CB_CHECK_STATUS_COUNT,
               "one name per status");

const char *cb_check_status_name(enum cb_check_status status)
{
    return statuses[status];
}

int cb_check_status_parse(const char *name)
{
    return cb_names_find(statuses, CB_CHECK_STATUS_COUNT, name);
}

enum quantity {
    QUANTITY_RATE,
    QUANTITY_FLOPS,
    QUANTITY_TIME,
    QUANTITY_LEAST_TIME,
    QUANTITY_SHARE,
    QUANTITY_COUNT
};

struct quantity_row {
    const char *operator_text;
    const char *unit;
    bool is_relative; /* the limit is a share of a reference */
    bool has_zero;    /* 0 is something that can be found */
    const char *(*format)(char out[CB_UNIT_TEXT], double value);
};

/* A share of 0 is as good as any other. */
static const char *format_share(char out[CB_UNIT_TEXT], double share)
{
    if (share > 0)
        return cb_format_share(out, share);
    snprintf(out, CB_UNIT_TEXT, "0 %%");
    return out;
}

static const struct quantity_row quantities[] = {
    [QUANTITY_RATE] = {">=", "byte/s", true, false, cb_format_bandwidth},
    [QUANTITY_FLOPS] = {">=", "flop/s", true, false, cb_format_flops},
    [QUANTITY_TIME] = {"<=", "s", false, false, cb_format_time},
    [QUANTITY_LEAST_TIME] = {">=", "s", false, false, cb_format_time},
    [QUANTITY_SHARE] = {"<=", "share", false, true, format_share},
    [QUANTITY_COUNT] = {"<=", NULL, false, true, NULL},
};

struct criterion {
    const char *id;
    const char *subject; /* what actual is, as a summary begins */
    enum quantity quantity;
    double limit, limit_rdma; /* of a rate: shares of the reference; otherwise the value itself */
    enum cb_check_status failed;
    const char *remedy;
    const char *source;
};

static const struct criterion criteria[] = {
    [CB_CRITERION_NETWORK_ADVERTISED] =
        {"network.advertised", "point to point", QUANTITY_RATE, 0.70, 0.70, CB_CHECK_ALARM,
         "ask the provider: the link delivers less than 70 % of what is advertised (shared, "
         "virtualised or slower hardware)",
         "buyers' guide: measured >= 70 % of the advertised bandwidth"},
    [CB_CRITERION_NETWORK_HEALTHY] =
        {"network.healthy", "point to point", QUANTITY_RATE, 0.90, 0.95, CB_CHECK_SHORT,
         "look at MTU, offloads, the number of streams and other traffic on the link",
         "healthy links reach 90 % of the line rate over TCP, 95 % over RDMA"},
    [CB_CRITERION_ALL_REDUCE] =
        {"network.all_reduce", "all_reduce bus bandwidth", QUANTITY_RATE, 0.70, 0.70,
         CB_CHECK_SHORT,
         "if the links themselves are healthy, look at the MPI's choice of interface and "
         "algorithm",
         "buyers' guide: measured >= 70 % of the advertised bandwidth"},
    [CB_CRITERION_ROUND_TRIP] =
        {"network.round_trip", "round trip", QUANTITY_TIME, 2e-3, 2e-3, CB_CHECK_ALARM,
         "ask whether the nodes stand in one place, share a link or run virtualised",
         "buyers' guide: over 2 ms inside a cluster is suspicious"},
    [CB_CRITERION_ROUND_TRIP_CLUSTER] =
        {"network.round_trip_cluster", "round trip", QUANTITY_TIME, 100e-6, 5e-6, CB_CHECK_SHORT,
         "ask for nodes behind one switch; look at interrupt moderation and power saving",
         "one cluster answers within 100 us over TCP, 5 us over RDMA"},
    [CB_CRITERION_DATA] =
        {"data.correct", "wrong elements", QUANTITY_COUNT, 0, 0, CB_CHECK_ALARM,
         "do not train on this cluster: data arrived or were computed wrong; keep the result file "
         "as evidence",
         "every element that was checked must be right"},

    [CB_CRITERION_GPU_IDENTITY] =
        {"gpu.identity", "GPUs that are not what they are called", QUANTITY_COUNT, 0, 0,
         CB_CHECK_ALARM,
         "ask the provider for the card that was ordered: a relabelled or cut-down one shows in "
         "device id, memory, multiprocessors or rate",
         "buyers' guide: model, memory and device id as ordered"},
    [CB_CRITERION_GPU_IDLE] =
        {"gpu.idle", "GPUs that were busy before the start", QUANTITY_COUNT, 0, 0, CB_CHECK_SHORT,
         "end what runs on them (nvidia-smi), or ask whether the machine is shared with others",
         "buyers' guide: about 0 % utilisation when idle"},
    [CB_CRITERION_GPU_POWER_LIMIT] =
        {"gpu.power_limit", "GPUs with a lowered power limit", QUANTITY_COUNT, 0, 0, CB_CHECK_SHORT,
         "ask the provider to set the default limit (nvidia-smi -pl): the card cannot reach its "
         "rate",
         "buyers' guide: no hidden power or compute limit"},
    [CB_CRITERION_GPU_MEMORY_HEALTH] =
        {"gpu.memory_health", "GPUs with failing memory", QUANTITY_COUNT, 0, 0, CB_CHECK_SHORT,
         "reset the GPU or reboot the node; ask for another card if it comes back",
         "a row that waits for replacement, or that could not be replaced"},
    [CB_CRITERION_GPU_COMPUTE] =
        {"gpu.compute", "GEMM", QUANTITY_FLOPS, 0.90, 0.90, CB_CHECK_SHORT,
         "look at power limit, temperature and other users of the card; ask for a refund or "
         "another machine where it stays",
         "buyers' guide: within 10 % normal, over 15 % short alarm"},
    [CB_CRITERION_GPU_MEMORY] =
        {"gpu.memory", "memory", QUANTITY_RATE, 0.90, 0.90, CB_CHECK_SHORT,
         "look at the memory clock under load and at ECC errors; ask for another card",
         "buyers' guide: memory bandwidth >= 90 % of nominal"},
    [CB_CRITERION_GPU_BURN_ERRORS] =
        {"gpu.burn_errors", "errors under load", QUANTITY_COUNT, 0, 0, CB_CHECK_ALARM,
         "do not train on this GPU: ask for another one; keep the result file as evidence",
         "buyers' guide: 30 minutes of burn without errors"},
    [CB_CRITERION_GPU_BURN_TIME] = {"gpu.burn_time", "burned for", QUANTITY_LEAST_TIME, 1800, 1800,
                                    CB_CHECK_NOT_TESTED, "run with --burn 30m",
                                    "buyers' guide: 30 minutes of burn without errors"},
    [CB_CRITERION_GPU_CLOCK] =
        {"gpu.clock", "SM clock under load varies by", QUANTITY_SHARE, 0.03, 0.03, CB_CHECK_SHORT,
         "look at temperature, power limit and supply; compare with the other GPUs of the node",
         "buyers' guide: clock within 3 % under load"},
    [CB_CRITERION_GPU_POWER] =
        {"gpu.power", "power under load varies by", QUANTITY_SHARE, 0.05, 0.05, CB_CHECK_SHORT,
         "look at temperature and power supply; compare with the other GPUs of the node",
         "buyers' guide: power within 5 % under load"},
    [CB_CRITERION_GPU_SAG] =
        {"gpu.sag", "rate lost over the burn", QUANTITY_SHARE, 0.035, 0.035, CB_CHECK_SHORT,
         "look at temperature: a card that slows down as it warms up is cooled too little",
         "Azure's GEMM baseline warns 3.5 % below it"},
    [CB_CRITERION_GPU_THROTTLE] = {"gpu.throttle", "slowed by heat or supply in", QUANTITY_SHARE,
                                   0.01, 0.01, CB_CHECK_SHORT,
                                   "mend cooling or power supply, or ask for another node",
                                   "a cooled and supplied card runs into its power cap alone"},
    [CB_CRITERION_GPU_PCIE] =
        {"gpu.pcie", "GPUs with a narrow PCIe link", QUANTITY_COUNT, 0, 0, CB_CHECK_SHORT,
         "ask the provider to reseat the card: the link trained below what card and slot can do",
         "full generation and width under load"},
    [CB_CRITERION_GPU_HOST_COPY] =
        {"gpu.host_copy", "the slowest card's copies to or from the host", QUANTITY_RATE,
         CB_COPY_SHARE_OF_OTHERS, CB_COPY_SHARE_OF_OTHERS, CB_CHECK_SHORT,
         "look at the card's PCIe link under load (nvidia-smi -q), its slot and switch, and the "
         "rank's cores; ask for another node",
         "gpu-fryer: within 10 % of a node's other GPUs; healthy ones differ by 5 %"},
    [CB_CRITERION_GPU_PEER_COPY] =
        {"gpu.peer_copy", "the slowest card's copies to another", QUANTITY_RATE,
         CB_COPY_SHARE_OF_OTHERS, CB_COPY_SHARE_OF_OTHERS, CB_CHECK_SHORT,
         "look at the card's NVLinks (nvidia-smi nvlink -s, -e) and at dmesg for Xid 74; the card "
         "that slow copies share is the one",
         "gpu-fryer: within 10 % of a node's other GPUs; healthy ones differ by 5 %"},
    [CB_CRITERION_GPU_PUBLISHED] =
        {"collective.published", "all_reduce bus bandwidth", QUANTITY_RATE, 0.90, 0.90,
         CB_CHECK_SHORT,
         "others get more of the same machines: look at the NCCL version, its choice of network "
         "and algorithm, GPUDirect and PCIe ACS",
         "published results of the same kind of cluster"},
};
_Static_assert(sizeof(criteria) / sizeof(criteria[0]) == CB_CRITERION_COUNT,
               "one row per criterion");

/* What is counted, and the subject of a count of one. */
static const struct {
    const char *unit, *one;
} counted[CB_CRITERION_COUNT] = {
    [CB_CRITERION_DATA] = {"elements", "wrong element"},
    [CB_CRITERION_GPU_IDENTITY] = {"GPUs", "GPU that is not what it is called"},
    [CB_CRITERION_GPU_IDLE] = {"GPUs", "GPU that was busy before the start"},
    [CB_CRITERION_GPU_POWER_LIMIT] = {"GPUs", "GPU with a lowered power limit"},
    [CB_CRITERION_GPU_MEMORY_HEALTH] = {"GPUs", "GPU with failing memory"},
    [CB_CRITERION_GPU_BURN_ERRORS] = {"errors", "error under load"},
    [CB_CRITERION_GPU_PCIE] = {"GPUs", "GPU with a narrow PCIe link"},
};

/* Below this share of the reference a shortfall is an alarm; 0: never. */
static const double alarm_limits[CB_CRITERION_COUNT] = {[CB_CRITERION_GPU_COMPUTE] = 0.85};

static bool holds(const struct quantity_row *quantity, double actual, double required)
{
    return quantity->operator_text[0] == '>' ? actual >= required : actual <= required;
}

static void summarise(enum cb_criterion index, double actual, double reference, double limit,
                      const char *note, struct cb_check *check)
{
    const struct criterion *criterion = &criteria[index];
    const struct quantity_row *quantity = &quantities[criterion->quantity];
    char value[CB_UNIT_TEXT], of[CB_UNIT_TEXT], share[CB_UNIT_TEXT], bound[CB_UNIT_TEXT];
    char text[128];
    if (quantity->is_relative)
        snprintf(text, sizeof(text), "%s %s is %s of %s, limit %s", criterion->subject,
                 quantity->format(value, actual), cb_format_share(share, actual / reference),
                 quantity->format(of, reference), cb_format_share(bound, limit));
    else if (quantity->format)
        snprintf(text, sizeof(text), "%s %s, limit %s", criterion->subject,
                 quantity->format(value, actual), quantity->format(bound, limit));
    else if (actual > 0)
        snprintf(text, sizeof(text), "%.0f %s", actual,
                 actual == 1 ? counted[index].one : criterion->subject);
    else
        snprintf(text, sizeof(text), "no %s", criterion->subject);
    bool noted = note && *note;
    snprintf(check->summary, sizeof(check->summary), "%s%s%s", text, noted ? ": " : "",
             noted ? note : "");
}

static enum cb_check_status status_of(enum cb_criterion index, double actual, double required,
                                      double reference)
{
    if (holds(&quantities[criteria[index].quantity], actual, required))
        return CB_CHECK_MET;
    return actual < alarm_limits[index] * reference ? CB_CHECK_ALARM : criteria[index].failed;
}

void cb_criterion_judge(enum cb_criterion criterion_index, double actual, double reference,
                        int rdma, const char *note, struct cb_check *check)
{
    const struct criterion *criterion = &criteria[criterion_index];
    const struct quantity_row *quantity = &quantities[criterion->quantity];
    double limit = rdma ? criterion->limit_rdma : criterion->limit;
    bool measured = quantity->has_zero ? actual >= 0 : actual > 0;
    memset(check, 0, sizeof(*check));
    snprintf(check->id, sizeof(check->id), "%s", criterion->id);
    snprintf(check->operator_text, sizeof(check->operator_text), "%s", quantity->operator_text);
    snprintf(check->unit, sizeof(check->unit), "%s",
             quantity->unit ? quantity->unit : counted[criterion_index].unit);
    snprintf(check->source, sizeof(check->source), "%s", criterion->source);
    check->actual = measured ? actual : 0;
    check->required = quantity->is_relative ? limit * reference : limit;
    if (!measured || (quantity->is_relative && !(reference > 0))) {
        check->status = measured ? CB_CHECK_NO_REFERENCE : CB_CHECK_NOT_TESTED;
        snprintf(check->summary, sizeof(check->summary), "%s", note ? note : "");
        return;
    }
    check->status = status_of(criterion_index, actual, check->required, reference);
    summarise(criterion_index, actual, reference, limit, note, check);
    if (check->status != CB_CHECK_MET)
        snprintf(check->remedy, sizeof(check->remedy), "%s", criterion->remedy);
}

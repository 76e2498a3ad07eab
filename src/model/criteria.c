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

enum quantity { QUANTITY_RATE, QUANTITY_TIME, QUANTITY_COUNT };

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
};
_Static_assert(sizeof(criteria) / sizeof(criteria[0]) == CB_CRITERION_COUNT,
               "one row per criterion");

static const char *const units[] = {
    [QUANTITY_RATE] = "byte/s", [QUANTITY_TIME] = "s", [QUANTITY_COUNT] = "elements"};

static bool holds(const struct criterion *criterion, double actual, double required)
{
    return criterion->quantity == QUANTITY_RATE ? actual >= required : actual <= required;
}

static void summarise(const struct criterion *criterion, double actual, double reference,
                      double limit, const char *note, struct cb_check *check)
{
    char value[CB_UNIT_TEXT], of[CB_UNIT_TEXT], share[CB_UNIT_TEXT], bound[CB_UNIT_TEXT];
    char text[128];
    switch (criterion->quantity) {
    case QUANTITY_RATE:
        snprintf(text, sizeof(text), "%s %s is %s of %s, limit %s", criterion->subject,
                 cb_format_bandwidth(value, actual), cb_format_share(share, actual / reference),
                 cb_format_bandwidth(of, reference), cb_format_share(bound, limit));
        break;
    case QUANTITY_TIME:
        snprintf(text, sizeof(text), "%s %s, limit %s", criterion->subject,
                 cb_format_time(value, actual), cb_format_time(bound, limit));
        break;
    case QUANTITY_COUNT:
        if (actual > 0)
            snprintf(text, sizeof(text), "%.0f %s", actual, criterion->subject);
        else
            snprintf(text, sizeof(text), "no %s", criterion->subject);
        break;
    }
    bool noted = note && *note;
    snprintf(check->summary, sizeof(check->summary), "%s%s%s", text, noted ? ": " : "",
             noted ? note : "");
}

void cb_criterion_judge(enum cb_criterion criterion_index, double actual, double reference,
                        int rdma, const char *note, struct cb_check *check)
{
    const struct criterion *criterion = &criteria[criterion_index];
    bool relative = criterion->quantity == QUANTITY_RATE;
    double limit = rdma ? criterion->limit_rdma : criterion->limit;
    bool measured = criterion->quantity == QUANTITY_COUNT ? actual >= 0 : actual > 0;
    memset(check, 0, sizeof(*check));
    snprintf(check->id, sizeof(check->id), "%s", criterion->id);
    snprintf(check->operator_text, sizeof(check->operator_text), "%s", relative ? ">=" : "<=");
    snprintf(check->unit, sizeof(check->unit), "%s", units[criterion->quantity]);
    snprintf(check->source, sizeof(check->source), "%s", criterion->source);
    check->actual = measured ? actual : 0;
    check->required = relative ? limit * reference : limit;
    if (!measured || (relative && !(reference > 0))) {
        check->status = measured ? CB_CHECK_NO_REFERENCE : CB_CHECK_NOT_TESTED;
        snprintf(check->summary, sizeof(check->summary), "%s", note ? note : "");
        return;
    }
    check->status = holds(criterion, actual, check->required) ? CB_CHECK_MET : criterion->failed;
    summarise(criterion, actual, reference, limit, note, check);
    if (check->status != CB_CHECK_MET)
        snprintf(check->remedy, sizeof(check->remedy), "%s", criterion->remedy);
}

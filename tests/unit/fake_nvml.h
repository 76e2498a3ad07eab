/* NVML as a test wants it: a table filled with functions that answer from plain data. One at a
 * time, since NVML's functions have no argument that says which. */
#ifndef CB_TEST_FAKE_NVML_H
#define CB_TEST_FAKE_NVML_H

#include <stdbool.h>

#include "gpu/nvml_api.h"

#define FAKE_CARDS 8

struct fake_card {
    const char *name;
    const char *bus_id;
    unsigned device_id, subsystem_id;
    int major, minor;
    unsigned cores;
    unsigned long long memory_bytes, used_bytes;
    unsigned sm_limit_mhz, memory_limit_mhz;
    unsigned sm_mhz, memory_mhz;
    unsigned power_mw, power_limit_mw, power_default_mw;
    unsigned celsius, utilization, processes;
    unsigned long long throttle;
    unsigned long long ecc_corrected, ecc_uncorrected;
    unsigned mig, generation, width, generation_limit, width_limit;
    unsigned links, links_active;
    int third_link_result;                /* of asking for its state; 0: as of every call */
    int link_end;                         /* enum cb_nvml_link_end */
    const char *link_ends[CB_NVML_LINKS]; /* bus ids there; NULL: not told */
    unsigned link_version, link_mbps;
    int fabric_state; /* -1: the call is refused */
    unsigned fabric_health;
    int peer_status, level;             /* towards any other card */
    int result;                         /* of every call on the card, once it is not success */
    int samples_until_lost;             /* above 0: that many clock readings before it is lost */
    unsigned (*sm_mhz_at)(int reading); /* instead of sm_mhz; counted from 0; may be NULL */
    int readings;
};

struct fake_nvml {
    unsigned count;
    struct fake_card cards[FAKE_CARDS];
};

/* The A100 of 80 GB that the tests' arithmetic is about. */
struct fake_card fake_a100(const char *bus_id);

/* Makes the table answer from nvml, which must outlive it. */
void fake_nvml_fill(struct fake_nvml *nvml, struct cb_nvml_api *api);

#endif

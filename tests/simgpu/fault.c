/* Faults on demand: SIMGPU_FAULT="name:key=value,key=value;name...". README.md lists them. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simgpu.h"

#define COUNTERS 16

int simgpu_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);
        if (value != NULL)
            return atoi(value);
    }
    return 0;
}

/* Finds "key=value" among the parameters of one fault, [text, end). */
static bool parameter(const char *text, const char *end, const char *key, char *out, size_t size)
{
    size_t length = strlen(key);
    while (text < end) {
        const char *comma = memchr(text, ',', (size_t)(end - text));
        const char *stop = comma != NULL ? comma : end;
        if ((size_t)(stop - text) > length && strncmp(text, key, length) == 0 &&
            text[length] == '=') {
            snprintf(out, size, "%.*s", (int)(stop - text - (ptrdiff_t)length - 1),
                     text + length + 1);
            return true;
        }
        text = stop + 1;
    }
    return false;
}

static bool holds_here(const char *text, const char *end, int device)
{
    char value[64], host[64] = "";
    if (parameter(text, end, "rank", value, sizeof(value)) && atoi(value) != simgpu_rank())
        return false;
    if (parameter(text, end, "device", value, sizeof(value)) && atoi(value) != device)
        return false;
    gethostname(host, sizeof(host) - 1);
    return !parameter(text, end, "host", value, sizeof(value)) || strcmp(value, host) == 0;
}

/* The parameters of the first fault of that name that holds here: [*begin, *end). */
static bool find(const char *name, int device, const char **begin, const char **end)
{
    const char *text = getenv("SIMGPU_FAULT");
    size_t length = strlen(name);
    while (text != NULL && *text != '\0') {
        const char *stop = strchrnul(text, ';');
        const char *colon = memchr(text, ':', (size_t)(stop - text));
        const char *name_end = colon != NULL ? colon : stop;
        if ((size_t)(name_end - text) == length && strncmp(text, name, length) == 0) {
            const char *parameters = colon != NULL ? colon + 1 : stop;
            if (holds_here(parameters, stop, device)) {
                *begin = parameters;
                *end = stop;
                return true;
            }
        }
        text = *stop == ';' ? stop + 1 : stop;
    }
    return false;
}

bool simgpu_fault(const char *name, int device)
{
    const char *begin, *end;
    return find(name, device, &begin, &end);
}

bool simgpu_fault_text(const char *name, int device, const char *key, char *out, size_t size)
{
    const char *begin, *end;
    if (find(name, device, &begin, &end) && parameter(begin, end, key, out, size))
        return true;
    out[0] = '\0';
    return false;
}

double simgpu_fault_number(const char *name, int device, const char *key, double fallback)
{
    char value[64];
    return simgpu_fault_text(name, device, key, value, sizeof(value)) ? strtod(value, NULL)
                                                                      : fallback;
}

bool simgpu_fault_due(const char *name, int device, bool and_after)
{
    static struct {
        _Atomic(const char *) name;
        atomic_int count;
    } counters[COUNTERS];

    if (!simgpu_fault(name, device))
        return false;
    int nth = (int)simgpu_fault_number(name, device, "nth", 1);
    for (size_t i = 0; i < COUNTERS; i++) {
        const char *owner = NULL;
        if (!atomic_compare_exchange_strong(&counters[i].name, &owner, name) &&
            strcmp(owner, name) != 0)
            continue;
        int count = atomic_fetch_add(&counters[i].count, 1) + 1;
        return count == nth || (and_after && count > nth);
    }
    return false;
}

#define _GNU_SOURCE /* pthread_setaffinity_np */
#include "kernels/host/team.h"

#include <errno.h>
#include <limits.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* An affinity mask with room for 8192 CPUs: the kernel refuses one smaller than the machine. */
struct cb_cpu_mask {
    cpu_set_t sets[8192 / CPU_SETSIZE];
};

static int set_mask(const struct cb_cpu_mask *mask)
{
    return pthread_setaffinity_np(pthread_self(), sizeof(*mask), mask->sets);
}

/* The mask of count CPUs; EINVAL for an index that no mask holds. */
static int make_mask(const int *cpus, int count, struct cb_cpu_mask *mask)
{
    CPU_ZERO_S(sizeof(*mask), mask->sets);
    for (int i = 0; i < count; i++) {
        if (cpus[i] < 0 || (size_t)cpus[i] >= 8 * sizeof(*mask))
            return EINVAL;
        CPU_SET_S((size_t)cpus[i], sizeof(*mask), mask->sets);
    }
    return 0;
}

static int pin_self(int cpu)
{
    struct cb_cpu_mask mask;
    int failed = make_mask(&cpu, 1, &mask);
    return failed ? failed : set_mask(&mask);
}

int cb_team_open(const int *cpus, size_t cpu_count, struct cb_team *team, struct cb_error *err)
{
    struct cb_team made = {.threads = 1};
    int rc;
    if (cpu_count > INT_MAX)
        return cb_fail(err, CB_E_MEASURE, "%zu CPUs are more than OpenMP has threads for",
                       cpu_count);
    if (cpu_count > 0) {
        made.cpus = malloc(cpu_count * sizeof(*made.cpus));
        made.saved = malloc(cpu_count * sizeof(*made.saved));
        made.threads = (int)cpu_count;
        if (!made.cpus || !made.saved) {
            rc = cb_fail(err, CB_E_MEMORY, "no memory for a team of %zu threads", cpu_count);
            goto err_close;
        }
        memcpy(made.cpus, cpus, cpu_count * sizeof(*made.cpus));
    }
    rc = cb_team_pin(&made, err);
    if (rc)
        goto err_close;
    cb_team_unpin(&made);
    *team = made;
    return 0;

err_close:
    cb_team_close(&made);
    return rc;
}

void cb_team_close(struct cb_team *team)
{
    if (team->pinned)
        cb_team_unpin(team);
    free(team->cpus);
    free(team->saved);
    *team = (struct cb_team){.threads = 1};
}

int cb_team_pin(struct cb_team *team, struct cb_error *err)
{
    int granted = 1, failed = 0, failed_cpu = -1;

    team->omp_dynamic = omp_get_dynamic();
    team->omp_max_threads = omp_get_max_threads();
    omp_set_dynamic(0);
    omp_set_num_threads(team->threads);
#pragma omp parallel num_threads(team->threads)
    {
        int id = omp_get_thread_num();
#pragma omp single
        granted = omp_get_num_threads(); /* fewer than asked for under OMP_THREAD_LIMIT */
        if (team->cpus) {
            struct cb_cpu_mask *saved = &team->saved[id];
            CPU_ZERO_S(sizeof(*saved), saved->sets);
            int code = pthread_getaffinity_np(pthread_self(), sizeof(*saved), saved->sets);
            if (!code)
                code = pin_self(team->cpus[id]);
            if (code) {
#pragma omp critical(cb_team_pin)
                {
                    failed = code;
                    failed_cpu = team->cpus[id];
                }
            }
        }
    }
    team->threads = granted;
    omp_set_num_threads(granted);
    team->pinned = true;
    if (!failed)
        return 0;
    cb_team_unpin(team);
    cb_fail(err, CB_E_MEASURE, "cannot pin a compute thread to CPU %d", failed_cpu);
    cb_error_set_detail(err, "pthread_setaffinity_np: %s", strerror(failed));
    cb_error_set_hint(err, "the CPU is offline or outside this process's cpuset");
    return CB_E_MEASURE;
}

void cb_team_unpin(struct cb_team *team)
{
    if (team->cpus) {
#pragma omp parallel num_threads(team->threads)
        {
            /* A thread whose mask could not be read has an empty one here: setting it is refused
             * and the thread stays where it is. */
            (void)set_mask(&team->saved[omp_get_thread_num()]);
        }
    }
    omp_set_num_threads(team->omp_max_threads);
    omp_set_dynamic(team->omp_dynamic);
    team->pinned = false;
}

void cb_team_widen(const struct cb_team *team)
{
    struct cb_cpu_mask mask;
    if (team->cpus && make_mask(team->cpus, team->threads, &mask) == 0)
        (void)set_mask(&mask);
}

void cb_team_narrow(const struct cb_team *team)
{
    if (team->cpus)
        (void)pin_self(team->cpus[0]);
}

#include "base/clock.h"

#include <time.h>

double cb_clock_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double cb_clock_resolution_s(void)
{
    enum { READINGS = 101 };
    double total_s = 0;
    for (int i = 0; i < READINGS; i++) {
        double start_s = cb_clock_now_s();
        double end_s = start_s;
        while (end_s <= start_s)
            end_s = cb_clock_now_s();
        total_s += end_s - start_s;
    }
    return total_s / READINGS;
}

void cb_clock_utc(char *text, size_t size_bytes)
{
    time_t now = time(NULL);
    struct tm broken_down;
    gmtime_r(&now, &broken_down);
    if (strftime(text, size_bytes, "%Y-%m-%dT%H:%M:%SZ", &broken_down) == 0 && size_bytes)
        text[0] = '\0';
}

/* The one clock that measurements are taken with. */
#ifndef CB_BASE_CLOCK_H
#define CB_BASE_CLOCK_H

#include <stddef.h>

/* Seconds of the monotonic clock; only differences mean anything. */
double cb_clock_now_s(void);

/* The smallest difference the clock shows, in seconds: the mean of many back-to-back readings. */
double cb_clock_resolution_s(void);

/* The current time as "2026-12-01T10:12:44Z". text needs 21 bytes. */
void cb_clock_utc(char *text, size_t size_bytes);

#endif

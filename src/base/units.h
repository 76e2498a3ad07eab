/* Text to numbers and back. Everything inside the program is in base units (bytes, seconds,
 * bytes per second); K, GB/s, Gb/s and us exist only here and in the renderers.
 *
 * The parsers take a number (digits, fraction, exponent) with its unit behind it, blanks between
 * the two allowed, and nothing else. What they refuse is CB_E_USAGE: err->what shows the text and
 * says what is wrong with it, err->hint the allowed forms. Outputs are set only on success. Parsers
 * and formatters do not depend on the locale. */
#ifndef CB_BASE_UNITS_H
#define CB_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Room for any text the formatters below make. */
#define CB_UNIT_TEXT 32

/* Message and file sizes: "8", "64K", "64KB", "64KiB", "1G": powers of 1024 whichever way the
 * suffix is spelled, as nccl-tests does; a fraction ("1.5M") must come out whole. Errors:
 * CB_E_USAGE for nonsense, a negative size or one above 2^63-1. */
int cb_parse_bytes(const char *text, uint64_t *bytes, struct cb_error *err);

/* Bandwidth with a unit, decimal prefixes: "12.5GB/s", "0.125 GB/s", "100Gb/s", "100Gbit/s",
 * "100Gbps", "117MB/s". b is bits and B is bytes; a figure without a unit is refused, since the two
 * differ by eight. The figure must be positive and finite. */
int cb_parse_bandwidth(const char *text, double *bytes_per_s, struct cb_error *err);

/* Durations: "30", "30s", "250ms", "10us", "5m" or "5min", "24h", "2d"; bare numbers are seconds.
 * Positive and finite. */
int cb_parse_duration(const char *text, double *seconds, struct cb_error *err);

/* Counts of parameters, tokens or steps: "7e9", "7B", "125M", "1.3B", "20k", "1T": decimal
 * multipliers. Positive and finite. */
int cb_parse_count(const char *text, double *count, struct cb_error *err);

/* A share as "20%", "20 %" or "0.2": strictly between 0 and 1. */
int cb_parse_share(const char *text, double *share, struct cb_error *err);

/* A plain number (strict: no trailing text, finite), and an integer within [low, high]. */
int cb_parse_number(const char *text, double *value, struct cb_error *err);
int cb_parse_integer(const char *text, long low, long high, long *value, struct cb_error *err);

/* "0 B", "8 B", "64 KiB", "1.5 MiB", "64 MiB": powers of 1024. */
const char *cb_format_bytes(char out[CB_UNIT_TEXT], uint64_t bytes);
/* "117 MB/s", "11.6 GB/s", "1.83 TB/s": three significant digits, decimal prefixes. "-" for a value
 * that is not positive and finite, as in all that follow. */
const char *cb_format_bandwidth(char out[CB_UNIT_TEXT], double bytes_per_s);
/* "38.1 us", "11.1 ms", "2.41 s", "22.5 min", "9.5 h", "41.7 d". */
const char *cb_format_time(char out[CB_UNIT_TEXT], double seconds);
/* "98.3 GFLOP/s", "271 TFLOP/s". */
const char *cb_format_flops(char out[CB_UNIT_TEXT], double flops_per_s);
/* "7B", "1.3B", "125M", "512", "4096", "16.4k": decimal multipliers as the field writes model
 * sizes; whole numbers below 10000 stand as they are. */
const char *cb_format_count(char out[CB_UNIT_TEXT], double count);
/* "41 %", "3.2 %", "0.4 %", "250 %". */
const char *cb_format_share(char out[CB_UNIT_TEXT], double share);

#endif

/* Long lists of ranks and hosts in few words. */
#ifndef CB_REPORT_RANGES_H
#define CB_REPORT_RANGES_H

#include <stddef.h>

#include "base/strbuf.h"

/* Appends ascending numbers as "0-3, 8, 10-12": at most `most` ranges, then ", and 17 more" (count
 * of numbers left out). */
void cb_ranges_add_numbers(struct cb_strbuf *out, const int *numbers, size_t count, size_t most);

/* Appends host names in their order, three or more that count upwards as Slurm writes them:
 * "login, n[0-15], gpu[001-128]"; at most `most` items, then ", and 17 more". Names are borrowed
 * and printed as they are. */
void cb_ranges_add_hosts(struct cb_strbuf *out, const char *const *names, size_t count,
                         size_t most);

#endif

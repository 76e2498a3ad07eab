/* What a fuzzer reports: a condition that does not hold. */
#ifndef CB_FUZZ_REQUIRE_H
#define CB_FUZZ_REQUIRE_H

#include <stdbool.h>
#include <stdlib.h>

static inline void require(bool holds)
{
    if (!holds)
        abort();
}

#endif

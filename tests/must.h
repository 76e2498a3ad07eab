/* For what tests build with: there is memory. */
#ifndef CB_TESTS_MUST_H
#define CB_TESTS_MUST_H

#include <stdlib.h>

static inline void *must(void *pointer)
{
    if (!pointer)
        abort();
    return pointer;
}

#endif

#include <stdio.h>

#include "transport/nccl_search.h"

const char *cb_nccl_format_version(int version, char text[16])
{
    /* The code had one digit less for the minor version up to 2.8. */
    int major = version < 10000 ? version / 1000 : version / 10000;
    int minor = version < 10000 ? version / 100 % 10 : version / 100 % 100;
    snprintf(text, 16, "%d.%d.%d", major, minor, version % 100);
    return text;
}

/* Any file at all: telling the formats apart, and what comes after. */
#include <stdint.h>

#include "check_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return check_file(cb_map_read, data, size);
}

/* Topology files of NCCL. */
#include <stdint.h>

#include "check_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return check_file(cb_map_from_nccl_xml, data, size);
}

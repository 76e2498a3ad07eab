/* Files of lstopo. hwloc itself reads in a process of its own, whose end by a signal is a refusal.
 */
#include <stdint.h>

#include "check_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return check_file(cb_map_from_hwloc_xml, data, size);
}

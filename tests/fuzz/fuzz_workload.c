/* Whatever a workload file holds, it is refused with a line or read; what is read is refused by its
 * values or makes a workload that is finite throughout. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "offer/workload.h"
#include "offer/workload_file.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct cb_workload_texts no_line;
    struct cb_workload_texts texts;
    struct cb_workload workload;
    struct cb_error err;
    if (cb_workload_file_read("fuzz", (const char *)data, size, &texts, &err)) {
        require(err.code == CB_E_INPUT && err.what[0]);
        return 0;
    }
    for (int i = 0; i < CB_FIELD_COUNT; i++)
        require(!texts.stated[i] || (texts.text[i][0] && texts.line[i] > 0));
    cb_workload_init(&workload);
    if (cb_workload_compose(&no_line, &texts, &workload, &err)) {
        require(err.what[0] && cb_code_exit_status(err.code) == 2);
        return 0;
    }
    require(isfinite(workload.job.parameters) && workload.job.parameters >= 0);
    require(isfinite(workload.time_s) && isfinite(workload.communications));
    return 0;
}

/* Whatever a file holds, the reader refuses it with a message or takes it; what it takes can be
 * written, read again, and then written the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "require.h"
#include "result/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads text, which must work, and writes it out again; the caller frees what is returned. */
static char *rewrite(const char *text)
{
    struct cb_result result;
    char *again = NULL;
    cb_result_init(&result);
    require(cb_result_from_json("rewritten", text, strlen(text), &result, NULL) == 0);
    require(cb_result_to_json(&result, &again, NULL) == 0);
    cb_result_fini(&result);
    return again;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cb_result result;
    struct cb_error err = {0};
    char *text = NULL;

    cb_result_init(&result);
    if (cb_result_from_json("fuzz", (const char *)data, size, &result, &err) != 0) {
        require(err.code != 0 && err.what[0] && !strchr(err.what, '\n'));
        require(!result.nodes.items && !result.ranks.items && !result.kernels.items);
        return 0;
    }
    require(cb_result_to_json(&result, &text, NULL) == 0);
    char *again = rewrite(text);
    require(strcmp(text, again) == 0);
    free(again);
    free(text);
    cb_result_fini(&result);
    return 0;
}

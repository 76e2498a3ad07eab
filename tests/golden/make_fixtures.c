/* Writes every fixture as DIRECTORY/NAME.json: `make_fixtures DIRECTORY`. Run by hand (through
 * CB_UPDATE_GOLDEN=1 tests/golden/golden) after a change to fixtures.c; the files are kept, so that
 * the golden test also shows that yesterday's files can be read. */
#include <stdio.h>

#include "fixtures.h"
#include "result/json.h"

int main(int argc, char **argv)
{
    size_t count;
    const struct cb_fixture *fixtures = cb_fixtures(&count);
    if (argc != 2) {
        fprintf(stderr, "usage: make_fixtures DIRECTORY\n");
        return 2;
    }
    for (size_t i = 0; i < count; i++) {
        struct cb_result result;
        struct cb_error err;
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s.json", argv[1], fixtures[i].name);
        fixtures[i].build(&result);
        int rc = cb_result_save(path, &result, &err);
        cb_result_fini(&result);
        if (rc != 0) {
            fprintf(stderr, "make_fixtures: %s: %s\n", path, err.what);
            return 1;
        }
    }
    return 0;
}

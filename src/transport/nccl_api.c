#define _GNU_SOURCE /* dlinfo */
#include "transport/nccl_api.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/nccl_search.h"

static void find_real_path(void *library, const char *asked, char *path, size_t size_bytes)
{
    struct link_map *map = NULL;
    char real[PATH_MAX];
    const char *name = asked;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0])
        name = map->l_name;
    snprintf(path, size_bytes, "%.*s", (int)size_bytes - 1, realpath(name, real) ? real : name);
}

/* NULL where every required function is there, else the name of the first that is not. */
static const char *fill(void *library, struct cb_nccl_api *api)
{
    const struct {
        const char *name;
        void *place; /* a function pointer, filled as bytes */
        int is_required;
    } functions[] = {
#define CB_NCCL_REQUIRED(function) {#function, &api->function, 1},
#define CB_NCCL_OPTIONAL(function) {#function, &api->function, 0},
        CB_NCCL_FUNCTIONS(CB_NCCL_REQUIRED, CB_NCCL_OPTIONAL){"ncclResetDebugInit",
                                                              &api->reset_debug, 0},
#undef CB_NCCL_REQUIRED
#undef CB_NCCL_OPTIONAL
    };
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *symbol = dlsym(library, functions[i].name);
        memcpy(functions[i].place, &symbol, sizeof(symbol));
        if (!symbol && functions[i].is_required)
            return functions[i].name;
    }
    return NULL;
}

int cb_nccl_load(const char *path, struct cb_nccl_api *out, struct cb_error *err)
{
    struct cb_nccl_api api = {0};
    char version[16], oldest[16];
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        cb_fail(err, CB_E_UNSUPPORTED, "%s cannot be loaded", path);
        cb_error_set_detail(err, "%s", why ? why : "dlopen");
        return CB_E_UNSUPPORTED;
    }
    find_real_path(library, path, api.path, sizeof(api.path));
    const char *missing = fill(library, &api);
    if (api.ncclGetVersion && api.ncclGetVersion(&api.version) != ncclSuccess)
        api.version = 0;
    cb_nccl_format_version(api.version, version);
    cb_nccl_format_version(CB_NCCL_OLDEST, oldest);
    if (api.version && api.version < CB_NCCL_OLDEST)
        return cb_fail(err, CB_E_UNSUPPORTED, "NCCL %s is too old: %s or later is needed", version,
                       oldest);
    if (missing && api.version)
        return cb_fail(err, CB_E_UNSUPPORTED, "NCCL %s without %s", version, missing);
    if (missing)
        return cb_fail(err, CB_E_UNSUPPORTED, "not NCCL, or none that works: %s is missing",
                       missing);
    if (!api.version)
        return cb_fail(err, CB_E_UNSUPPORTED, "does not tell its version (ncclGetVersion failed)");
    *out = api;
    return CB_OK;
}

#define _GNU_SOURCE /* dlinfo */
#include "kernels/cuda/cublaslt_api.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_OF(x) TEXT_OF_VALUE(x)
#define TEXT_OF_VALUE(x) #x
/* A library's major version is part of its name: another one's structures may differ. */
#define NAME "libcublasLt.so." TEXT_OF(CUBLAS_VER_MAJOR)
#define VARIABLE "COMMBOUND_CUBLASLT_LIB"

/* A folder named by a variable, or / where there is none, and where below it the library lies; in
 * Python's own packages it is a wheel. */
static const struct {
    const char *variable, *below;
} places[] = {
    {NULL, NAME}, /* the loader's own search */
    {"CUDA_HOME", "/lib64/" NAME},
    {"CUDA_PATH", "/lib64/" NAME},
    {"CONDA_PREFIX", "/lib/" NAME},
    {"VIRTUAL_ENV", "/lib/python3*/site-packages/nvidia/cu*/lib/" NAME},
    {"CONDA_PREFIX", "/lib/python3*/site-packages/nvidia/cu*/lib/" NAME},
    {NULL, "/usr/local/cuda/lib64/" NAME},
    {NULL, "/usr/local/lib/python3*/*-packages/nvidia/cu*/lib/" NAME},
};
#define BELOW_PYTHON "/../lib/python3*/site-packages/nvidia/cu*/lib/" NAME

/* NULL, or the name of a function that is not there. */
static const char *fill(void *library, struct cb_cublaslt_api *api)
{
    const struct {
        const char *name;
        void *place; /* a function pointer, filled as bytes */
    } functions[] = {
#define CB_CUBLASLT_ROW(function) {#function, &api->function},
        CB_CUBLASLT_FUNCTIONS(CB_CUBLASLT_ROW)
#undef CB_CUBLASLT_ROW
    };
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *symbol = dlsym(library, functions[i].name);
        if (!symbol)
            return functions[i].name;
        memcpy(functions[i].place, &symbol, sizeof(symbol));
    }
    return NULL;
}

static void find_real_path(void *library, const char *asked, char *path, size_t size_bytes)
{
    struct link_map *map = NULL;
    char real[PATH_MAX];
    const char *name = asked;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0])
        name = map->l_name;
    snprintf(path, size_bytes, "%.*s", (int)size_bytes - 1, realpath(name, real) ? real : name);
}

static int load_from(const char *path, struct cb_cublaslt_api *out, struct cb_error *err)
{
    struct cb_cublaslt_api api = {0};
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        cb_fail(err, CB_E_UNSUPPORTED, "cuBLASLt cannot be loaded, so there is no GEMM");
        cb_error_set_detail(err, "%s", why ? why : path);
        return CB_E_UNSUPPORTED;
    }
    const char *missing = fill(library, &api);
    if (missing) {
        cb_fail(err, CB_E_UNSUPPORTED, "cuBLASLt does not serve, so there is no GEMM");
        cb_error_set_detail(err, "%s: no function %s", path, missing);
        return CB_E_UNSUPPORTED;
    }
    api.version = api.cublasLtGetVersion();
    find_real_path(library, path, api.path, sizeof(api.path));
    *out = api;
    return CB_OK;
}

/* Every match of a pattern, until one serves. */
static int load_matching(const char *pattern, struct cb_cublaslt_api *out, struct cb_error *err)
{
    glob_t found;
    int rc = CB_E_UNSUPPORTED;
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; rc && i < found.gl_pathc; i++)
            rc = load_from(found.gl_pathv[i], out, err);
        globfree(&found);
    }
    return rc;
}

/* The wheels of the python3 that PATH leads to. */
static int load_beside_python(struct cb_cublaslt_api *out, struct cb_error *err)
{
    const char *rest = getenv("PATH");
    while (rest && *rest) {
        char program[PATH_MAX], pattern[PATH_MAX + sizeof(BELOW_PYTHON)];
        int folder = (int)strcspn(rest, ":");
        int length = snprintf(program, sizeof(program), "%.*s/python3", folder, rest);
        if (folder > 0 && length < (int)sizeof(program) && access(program, X_OK) == 0) {
            snprintf(pattern, sizeof(pattern), "%.*s%s", folder, rest, BELOW_PYTHON);
            return load_matching(pattern, out, err);
        }
        rest += folder + (rest[folder] == ':');
    }
    return CB_E_UNSUPPORTED;
}

int cb_cublaslt_load(struct cb_cublaslt_api *api, struct cb_error *err)
{
    const char *given = getenv(VARIABLE);
    if (given && given[0]) {
        int rc = load_from(given, api, err);
        if (rc)
            cb_error_set_hint(err, "%s names it", VARIABLE);
        return rc;
    }
    /* The loader's own words are the error where no other place has a copy at all. */
    int rc = load_from(places[0].below, api, err);
    for (size_t i = 1; rc && i < sizeof(places) / sizeof(places[0]); i++) {
        char pattern[PATH_MAX];
        const char *folder = places[i].variable ? getenv(places[i].variable) : "";
        if (!folder || (places[i].variable && !folder[0]))
            continue;
        int length = snprintf(pattern, sizeof(pattern), "%s%s", folder, places[i].below);
        if (length > 0 && length < (int)sizeof(pattern))
            rc = load_matching(pattern, api, err);
    }
    if (rc)
        rc = load_beside_python(api, err);
    if (rc)
        cb_error_set_hint(err,
                          "install cuBLAS %d (it comes with the CUDA toolkit and with PyTorch) or "
                          "name the file in %s",
                          CUBLAS_VER_MAJOR, VARIABLE);
    return rc;
}

int cb_cublaslt_check(const struct cb_cublaslt_api *api, cublasStatus_t status, const char *call,
                      struct cb_error *err)
{
    enum cb_code code;
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return CB_OK;
    case CUBLAS_STATUS_ALLOC_FAILED:
        code = CB_E_MEMORY;
        break;
    case CUBLAS_STATUS_NOT_SUPPORTED:
    case CUBLAS_STATUS_ARCH_MISMATCH:
        code = CB_E_UNSUPPORTED;
        break;
    default:
        code = CB_E_MEASURE;
        break;
    }
    const char *name = api->cublasLtGetStatusName(status);
    cb_fail(err, code, "cuBLASLt: %s failed", call);
    cb_error_set_detail(err, "%s (%d), %s", name ? name : "unknown status", (int)status, api->path);
    if (code == CB_E_UNSUPPORTED)
        cb_error_set_hint(err, "this card or this version of cuBLASLt does not have it");
    else if (status == CUBLAS_STATUS_NOT_INITIALIZED)
        cb_error_set_hint(err, "usually too little free memory on the GPU, or a driver that is too "
                               "old for this cuBLASLt");
    else if (status == CUBLAS_STATUS_EXECUTION_FAILED)
        cb_error_set_hint(err,
                          "look for Xid messages of the driver (dmesg): the GPU may be faulty");
    return code;
}

#include "transport/nccl_search.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/nccl_api.h"

#define NAME "libnccl.so.2"
#define OF_PYTHON "lib/python3*/site-packages/nvidia/nccl/lib/" NAME
#define OF_PYTHON_DEBIAN "lib/python3*/dist-packages/nvidia/nccl/lib/" NAME

enum { OPTION, LOADER, VARIABLE, PYTHON, FIXED };

/* Where copies are, best first. Wheels hold only libnccl.so.2, never libnccl.so. The system's
 * loader comes before the packages, since on a cluster the modules are the user's stated choice. */
static const struct place {
    int kind;
    const char *variable; /* of the environment */
    const char *pattern;  /* below the variable's folder, for glob */
} places[] = {
    {OPTION, NULL, NULL},
    {VARIABLE, "COMMBOUND_NCCL_LIB", NULL},
    {LOADER, NULL, NAME},
    {VARIABLE, "NCCL_HOME", "lib/" NAME},
    {VARIABLE, "NCCL_HOME", "lib64/" NAME},
    {VARIABLE, "NCCL_ROOT", "lib/" NAME},
    {VARIABLE, "NCCL_ROOT", "lib64/" NAME},
    {VARIABLE, "CONDA_PREFIX", "lib/" NAME},
    {VARIABLE, "VIRTUAL_ENV", OF_PYTHON},
    {VARIABLE, "CONDA_PREFIX", OF_PYTHON},
    {PYTHON, NULL, OF_PYTHON},
    {PYTHON, NULL, OF_PYTHON_DEBIAN},
    {PYTHON, NULL, "local/" OF_PYTHON_DEBIAN},
    {VARIABLE, "HOME", ".local/" OF_PYTHON},
    {VARIABLE, "CUDA_HOME", "lib64/" NAME},
    {VARIABLE, "CUDA_HOME", "lib/" NAME},
    {VARIABLE, "CUDA_PATH", "lib64/" NAME},
    {VARIABLE, "CUDA_PATH", "lib/" NAME},
    {FIXED, "/usr/local/cuda", "lib64/" NAME},
};

struct list {
    struct cb_nccl_copy *copies;
    size_t count;
};

static bool is_known(const struct list *list, const char *path)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->copies[i].path, path) == 0)
            return true;
    return false;
}

static void try_copy(struct list *list, const char *origin, const char *path)
{
    struct cb_nccl_api api;
    struct cb_error err;
    struct cb_nccl_copy copy = {0};
    char real[PATH_MAX];
    if (list->count == CB_NCCL_COPIES)
        return;
    bool is_bare = !strchr(path, '/');
    snprintf(copy.path, sizeof(copy.path), "%.*s", (int)sizeof(copy.path) - 1,
             !is_bare && realpath(path, real) ? real : path);
    if (is_known(list, copy.path))
        return;
    snprintf(copy.origin, sizeof(copy.origin), "%s", origin);
    copy.serves = cb_nccl_load(path, &api, &err) == CB_OK;
    if (copy.serves) {
        copy.version = api.version;
        memcpy(copy.path, api.path, sizeof(copy.path));
    } else {
        snprintf(copy.reason, sizeof(copy.reason), "%.120s%s%.120s", err.what,
                 err.detail[0] ? ": " : "", err.detail);
    }
    if (!is_known(list, copy.path))
        list->copies[list->count++] = copy;
}

static void try_pattern(struct list *list, const char *origin, const char *folder,
                        const char *pattern)
{
    char path[PATH_MAX];
    glob_t found;
    if (snprintf(path, sizeof(path), "%s/%s", folder, pattern) >= (int)sizeof(path))
        return;
    if (glob(path, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            try_copy(list, origin, found.gl_pathv[i]);
        globfree(&found);
    }
}

/* The folder above that of python3: "/usr" for /usr/bin/python3. */
static bool find_python_folder(char folder[PATH_MAX])
{
    const char *search = getenv("PATH");
    while (search && *search) {
        int length = (int)strcspn(search, ":");
        if (length > 0 && search[0] == '/') {
            snprintf(folder, PATH_MAX, "%.*s/python3", length, search);
            if (access(folder, X_OK) == 0) {
                snprintf(folder, PATH_MAX, "%.*s/..", length, search);
                return true;
            }
        }
        search += length;
        search += *search == ':';
    }
    return false;
}

static void try_place(struct list *list, const struct place *place, const char *given)
{
    char folder[PATH_MAX];
    const char *value = place->variable ? getenv(place->variable) : NULL;
    switch (place->kind) {
    case OPTION:
        if (given && *given)
            try_copy(list, "--nccl-lib", given);
        return;
    case LOADER:
        try_copy(list, "the system's loader", place->pattern);
        /* "Not there" is nothing that was found. */
        if (list->count && strcmp(list->copies[list->count - 1].path, place->pattern) == 0)
            list->count--;
        return;
    case PYTHON:
        if (find_python_folder(folder))
            try_pattern(list, "python3 on PATH", folder, place->pattern);
        return;
    case FIXED:
        try_pattern(list, place->variable, place->variable, place->pattern);
        return;
    default:
        break;
    }
    if (!value || !*value)
        return;
    if (place->pattern)
        try_pattern(list, place->variable, value, place->pattern);
    else
        try_copy(list, place->variable, value);
}

size_t cb_nccl_list(const char *given, struct cb_nccl_copy copies[CB_NCCL_COPIES])
{
    struct list list = {.copies = copies};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        try_place(&list, &places[i], given);
    return list.count;
}

static int refuse(const char *named_by, const struct cb_nccl_copy *copy, struct cb_error *err)
{
    cb_fail(err, CB_E_USAGE, "%s: %.160s does not serve", named_by, copy->path);
    cb_error_set_detail(err, "%s", copy->reason);
    cb_error_set_hint(err, "commbound doctor lists every copy of NCCL here");
    return CB_E_USAGE;
}

int cb_nccl_find(const char *given, struct cb_nccl_copy *out, struct cb_error *err)
{
    struct cb_nccl_copy copies[CB_NCCL_COPIES];
    struct list list = {.copies = copies};
    const char *from_environment = getenv("COMMBOUND_NCCL_LIB");
    const char *named_by = given && *given                         ? "--nccl-lib"
                           : from_environment && *from_environment ? "COMMBOUND_NCCL_LIB"
                                                                   : NULL;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        size_t before = list.count;
        try_place(&list, &places[i], given);
        for (size_t k = before; k < list.count; k++)
            if (copies[k].serves) {
                *out = copies[k];
                return CB_OK;
            }
        if (named_by && list.count)
            return refuse(named_by, &copies[0], err);
    }
    cb_fail(err, CB_E_UNSUPPORTED, list.count ? "no copy of NCCL here serves" : "no NCCL here");
    if (list.count)
        cb_error_set_detail(err, "%.150s: %.100s", copies[0].path, copies[0].reason);
    else
        cb_error_set_detail(err, "%s",
                            "looked for " NAME
                            " with the system's loader, in NCCL_HOME, NCCL_ROOT, CONDA_PREFIX, "
                            "Python's packages, CUDA_HOME and /usr/local/cuda");
    cb_error_set_hint(err, "install libnccl2, or name a copy with --nccl-lib (PyTorch's is in "
                           "site-packages/nvidia/nccl/lib)");
    return CB_E_UNSUPPORTED;
}

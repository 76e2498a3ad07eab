#define _GNU_SOURCE /* dlinfo */
#include "gpu/nvml_api.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The layouts that the driver fills, as nvml.h of CUDA 12 and 13 has them. */
#define SIZE(name, bytes) _Static_assert(sizeof(struct name) == (bytes), #name)
#define PLACE(name, member, bytes)                                                                 \
    _Static_assert(offsetof(struct name, member) == (bytes), #name "." #member)
SIZE(cb_nvml_pci, 68);
PLACE(cb_nvml_pci, domain, 16);
PLACE(cb_nvml_pci, device_id, 28);
PLACE(cb_nvml_pci, subsystem_id, 32);
PLACE(cb_nvml_pci, bus_id, 36);
SIZE(cb_nvml_utilization, 8);
SIZE(cb_nvml_memory, 40);
PLACE(cb_nvml_memory, total, 8);
PLACE(cb_nvml_memory, reserved, 16);
PLACE(cb_nvml_memory, free, 24);
PLACE(cb_nvml_memory, used, 32);
SIZE(cb_nvml_memory_v1, 24);
PLACE(cb_nvml_memory_v1, used, 16);
SIZE(cb_nvml_process, 24);
PLACE(cb_nvml_process, used_bytes, 8);
SIZE(cb_nvml_field, 40);
PLACE(cb_nvml_field, scope, 4);
PLACE(cb_nvml_field, type, 24);
PLACE(cb_nvml_field, result, 28);
PLACE(cb_nvml_field, value, 32);
SIZE(cb_nvml_fabric, 36);
PLACE(cb_nvml_fabric, status, 20);
PLACE(cb_nvml_fabric, clique, 24);
PLACE(cb_nvml_fabric, state, 28);
PLACE(cb_nvml_fabric, health, 32);
_Static_assert(CB_NVML_MEMORY_V2 == 0x2000028, "nvmlMemory_v2");
_Static_assert(CB_NVML_FABRIC_V2 == 0x2000024, "nvmlGpuFabricInfo_v2");

/* The loader first: a module system is the user's stated choice. Then where container runtimes and
 * WSL put the driver's libraries without telling the loader. */
static const char *const places[] = {
    "libnvidia-ml.so.1",
    "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
    "/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
    "/usr/lib64/libnvidia-ml.so.1",
    "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
    "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
    "/usr/lib/wsl/lib/libnvidia-ml.so.1",
};

struct symbol {
    const char *name;
    size_t offset;
    bool is_required;
};

#define REQUIRED_ROW(name) {#name, offsetof(struct cb_nvml_api, name), true},
#define OPTIONAL_ROW(name) {#name, offsetof(struct cb_nvml_api, name), false},
static const struct symbol symbols[] = {CB_NVML_FUNCTIONS(REQUIRED_ROW, OPTIONAL_ROW)};

/* A symbol's address goes where a function pointer lies: both have one size on what dlopen runs on.
 */
static int fill_table(void *library, struct cb_nvml_api *api, const char **missing)
{
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *address = dlsym(library, symbols[i].name);
        if (!address && symbols[i].is_required) {
            *missing = symbols[i].name;
            return CB_E_UNSUPPORTED;
        }
        memcpy((char *)api + symbols[i].offset, &address, sizeof(address));
    }
    return CB_OK;
}

static void *load(const char *library, char *looked, size_t looked_size)
{
    const char *named = library ? library : getenv("COMMBOUND_NVML_LIB");
    if (named && *named) {
        snprintf(looked, looked_size, "looked at %s", named);
        return dlopen(named, RTLD_NOW | RTLD_LOCAL);
    }
    snprintf(looked, looked_size, "looked at %s and in the usual folders of the driver", places[0]);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        void *handle = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
        if (handle)
            return handle;
    }
    return NULL;
}

static void find_path(void *handle, char *path, size_t size_bytes)
{
    struct link_map *map = NULL;
    path[0] = '\0';
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map)
        snprintf(path, size_bytes, "%s", map->l_name);
}

static void find_versions(struct cb_nvml_api *api)
{
    int cuda = 0;
    if (!api->nvmlSystemGetNVMLVersion ||
        api->nvmlSystemGetNVMLVersion(api->version, sizeof(api->version)))
        api->version[0] = '\0';
    if (!api->nvmlSystemGetDriverVersion ||
        api->nvmlSystemGetDriverVersion(api->driver, sizeof(api->driver)))
        api->driver[0] = '\0';
    if (api->nvmlSystemGetCudaDriverVersion_v2 &&
        api->nvmlSystemGetCudaDriverVersion_v2(&cuda) == CB_NVML_SUCCESS)
        api->cuda_version = cuda;
}

static const char *hint_for(int result)
{
    switch (result) {
    case CB_NVML_DRIVER_NOT_LOADED:
        return "load the kernel module (modprobe nvidia), or give the container its GPUs (docker "
               "run --gpus all)";
    case CB_NVML_VERSION_MISMATCH:
        return "the driver was updated under a running system: reboot, or match the container's "
               "driver libraries to the host's";
    case CB_NVML_NO_PERMISSION:
        return "this process may not open /dev/nvidiactl: look at its permissions and at cgroups";
    default:
        return "look at dmesg for lines of NVRM";
    }
}

int cb_nvml_open(const char *library, struct cb_nvml_api *api, struct cb_error *err)
{
    struct cb_nvml_api table = {.cuda_version = 0};
    char looked[PATH_MAX + 16];
    const char *missing = NULL;
    memset(api, 0, sizeof(*api));
    void *handle = load(library, looked, sizeof(looked));
    if (!handle) {
        const char *said = dlerror();
        cb_fail(err, CB_E_UNSUPPORTED, "NVML, the driver's management library, was not found");
        cb_error_set_detail(err, "%.160s; %.80s", looked, said ? said : "");
        cb_error_set_hint(err, "install the NVIDIA driver, give the container its GPUs, or set "
                               "COMMBOUND_NVML_LIB");
        return CB_E_UNSUPPORTED;
    }
    /* Never unloaded: NVML leaves threads and handlers behind. */
    find_path(handle, table.path, sizeof(table.path));
    if (fill_table(handle, &table, &missing)) {
        cb_fail(err, CB_E_UNSUPPORTED, "%.180s lacks %s", table.path, missing);
        cb_error_set_hint(err, "this is no NVML, or one older than driver 450");
        return CB_E_UNSUPPORTED;
    }
    int result = table.nvmlInit_v2();
    if (result != CB_NVML_SUCCESS) {
        cb_fail(err, CB_E_UNSUPPORTED, "NVML does not start: %.150s",
                table.nvmlErrorString(result));
        cb_error_set_detail(err, "nvmlInit_v2 of %.180s returned %d", table.path, result);
        cb_error_set_hint(err, "%s", hint_for(result));
        return CB_E_UNSUPPORTED;
    }
    find_versions(&table);
    *api = table;
    return CB_OK;
}

void cb_nvml_close(struct cb_nvml_api *api)
{
    if (api->nvmlShutdown)
        api->nvmlShutdown();
    memset(api, 0, sizeof(*api));
}

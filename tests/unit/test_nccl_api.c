/* Finding and loading NCCL: which copy is taken, and what is said about those that do not serve.
 * The copies are fakes in folders of the build (FAKES); the real one is tried where it is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cb_test.h"
#include "gpu/device.h"
#include "transport/nccl_api.h"
#include "transport/nccl_search.h"

#define OF(folder) FAKES "/" folder "/lib/libnccl.so.2"

static const char *const variables[] = {"COMMBOUND_NCCL_LIB", "NCCL_HOME",   "NCCL_ROOT",
                                        "CONDA_PREFIX",       "VIRTUAL_ENV", "HOME",
                                        "CUDA_HOME",          "CUDA_PATH",   "PATH"};

/* Nothing that is set where the test runs may lead to a copy. */
static int clear_environment(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
        unsetenv(variables[i]);
    return 0;
}

static const struct cb_nccl_copy *find_copy(const struct cb_nccl_copy *copies, size_t count,
                                            const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(copies[i].path, path) == 0)
            return &copies[i];
    return NULL;
}

static void test_version_text(void **state)
{
    char text[16];
    (void)state;
    assert_string_equal(cb_nccl_format_version(22809, text), "2.28.9");
    assert_string_equal(cb_nccl_format_version(21805, text), "2.18.5");
    assert_string_equal(cb_nccl_format_version(2804, text), "2.8.4");
}

static void test_what_is_named_is_taken(void **state)
{
    struct cb_nccl_copy copy;
    struct cb_error err;
    (void)state;
    assert_ok(cb_nccl_find(OF("new"), &copy, &err), &err);
    assert_string_equal(copy.path, OF("new"));
    assert_string_equal(copy.origin, "--nccl-lib");
    assert_int_equal(copy.version, 23001);
    setenv("COMMBOUND_NCCL_LIB", OF("other"), 1);
    assert_ok(cb_nccl_find(OF("new"), &copy, &err), &err);
    assert_string_equal(copy.path, OF("new"));
    assert_ok(cb_nccl_find("", &copy, &err), &err);
    assert_string_equal(copy.path, OF("other"));
    assert_string_equal(copy.origin, "COMMBOUND_NCCL_LIB");
}

static void expect_refused(const char *path, const char *reason)
{
    struct cb_nccl_copy copy = {.path = "untouched"};
    struct cb_error err;
    setenv("NCCL_HOME", FAKES "/new", 1); /* one that would serve */
    assert_int_equal(cb_nccl_find(path, &copy, &err), CB_E_USAGE);
    assert_string_equal(copy.path, "untouched");
    assert_non_null(strstr(err.what, "--nccl-lib"));
    if (!strstr(err.detail, reason))
        fail_msg("\"%s\" does not say \"%s\"", err.detail, reason);
}

static void test_what_is_named_is_not_replaced(void **state)
{
    (void)state;
    expect_refused(OF("old"), "NCCL 2.10.3 is too old: 2.14.0 or later is needed");
    expect_refused(OF("lacking"), "NCCL 2.20.5 without ncclReduceScatter");
    expect_refused("/nowhere/libnccl.so.2", "cannot open shared object file");
    expect_refused(__FILE__, "cannot be loaded");
    expect_refused("libm.so.6", "not NCCL");
}

static void test_list_names_each_copy_once(void **state)
{
    struct cb_nccl_copy copies[CB_NCCL_COPIES];
    (void)state;
    setenv("NCCL_HOME", FAKES "/old", 1);
    setenv("NCCL_ROOT", FAKES "/new", 1);
    setenv("CUDA_HOME", FAKES "/new", 1); /* the same file again */
    setenv("CONDA_PREFIX", FAKES "/lacking", 1);
    size_t count = cb_nccl_list(OF("other"), copies);
    assert_string_equal(copies[0].path, OF("other"));
    const struct cb_nccl_copy *old = find_copy(copies, count, OF("old"));
    const struct cb_nccl_copy *new = find_copy(copies, count, OF("new"));
    assert_non_null(old);
    assert_false(old->serves);
    assert_non_null(new);
    assert_true(new->serves);
    assert_string_equal(new->origin, "NCCL_ROOT");
    assert_non_null(find_copy(copies, count, OF("lacking")));
    for (size_t i = 0; i < count; i++)
        assert_ptr_equal(find_copy(copies, count, copies[i].path), &copies[i]);
}

static void test_package_of_a_virtual_environment(void **state)
{
    struct cb_nccl_copy copies[CB_NCCL_COPIES];
    (void)state;
    setenv("VIRTUAL_ENV", FAKES "/venv", 1);
    size_t count = cb_nccl_list(NULL, copies);
    const struct cb_nccl_copy *wheel = find_copy(
        copies, count, FAKES "/venv/lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2");
    assert_non_null(wheel);
    assert_true(wheel->serves);
}

/* The real library loads without a driver, and then refuses with a code instead of ending us. */
static void test_real_library(void **state)
{
    struct cb_nccl_copy copies[CB_NCCL_COPIES];
    struct cb_nccl_api api;
    struct cb_device_probe probe;
    struct cb_error err;
    (void)state;
    setenv("CUDA_HOME", CUDA_FOLDER, 1);
    size_t count = cb_nccl_list(NULL, copies);
    const struct cb_nccl_copy *real = NULL;
    for (size_t i = 0; i < count && !real; i++)
        if (copies[i].serves && !strstr(copies[i].path, FAKES))
            real = &copies[i];
    if (!real) {
        print_message("no NCCL here\n");
        skip();
    }
    assert_ok(cb_nccl_load(real->path, &api, &err), &err);
    assert_int_equal(api.version, real->version);
    assert_string_equal(api.path, real->path);
    assert_non_null(api.ncclGetErrorString(ncclSystemError));
    cb_device_probe(&probe);
    if (probe.count > 0)
        return;
    ncclComm_t comm = NULL;
    ncclUniqueId id = {{0}};
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    assert_int_not_equal(api.ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclSuccess);
}

/* Without a driver every answer is a reason, never a crash. */
static void test_device_without_gpu(void **state)
{
    struct cb_device_probe probe;
    struct cb_device device = {.index = 77};
    struct cb_error err;
    (void)state;
    cb_device_probe(&probe);
    if (probe.count > 0)
        skip();
    assert_true(probe.runtime_version > 0);
    assert_true(probe.reason[0] != '\0');
    assert_int_equal(cb_device_bind(0, &device, &err), CB_E_UNSUPPORTED);
    assert_string_equal(err.what, probe.reason);
    assert_int_equal(device.index, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version_text),
        cmocka_unit_test_setup(test_what_is_named_is_taken, clear_environment),
        cmocka_unit_test_setup(test_what_is_named_is_not_replaced, clear_environment),
        cmocka_unit_test_setup(test_list_names_each_copy_once, clear_environment),
        cmocka_unit_test_setup(test_package_of_a_virtual_environment, clear_environment),
        cmocka_unit_test_setup(test_real_library, clear_environment),
        cmocka_unit_test(test_device_without_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

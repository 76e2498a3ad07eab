#include "cb_test.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cublaslt_api.h"

#define VARIABLE "COMMBOUND_CUBLASLT_LIB"

static void test_a_named_file_that_is_not_there_is_said(void **state)
{
    (void)state;
    struct cb_cublaslt_api api = {.version = 77};
    struct cb_error err;
    cb_error_clear(&err);
    setenv(VARIABLE, "/nowhere/libcublasLt.so", 1);
    assert_int_equal(cb_cublaslt_load(&api, &err), CB_E_UNSUPPORTED);
    assert_non_null(strstr(err.detail, "/nowhere/libcublasLt.so"));
    assert_non_null(strstr(err.hint, VARIABLE));
    assert_int_equal(api.version, 77);
}

static void test_a_library_without_the_functions_is_refused(void **state)
{
    (void)state;
    struct cb_cublaslt_api api = {.version = 77};
    struct cb_error err;
    cb_error_clear(&err);
    setenv(VARIABLE, "libm.so.6", 1);
    assert_int_equal(cb_cublaslt_load(&api, &err), CB_E_UNSUPPORTED);
    assert_non_null(strstr(err.detail, "cublasLtGetVersion"));
    assert_int_equal(api.version, 77);
}

/* Needs no driver: the library loads, says its version and names its errors. */
static void test_codes_become_errors(void **state)
{
    (void)state;
    static const struct {
        cublasStatus_t status;
        int code;
    } rows[] = {{CUBLAS_STATUS_SUCCESS, CB_OK},
                {CUBLAS_STATUS_ALLOC_FAILED, CB_E_MEMORY},
                {CUBLAS_STATUS_NOT_SUPPORTED, CB_E_UNSUPPORTED},
                {CUBLAS_STATUS_ARCH_MISMATCH, CB_E_UNSUPPORTED},
                {CUBLAS_STATUS_NOT_INITIALIZED, CB_E_MEASURE},
                {CUBLAS_STATUS_EXECUTION_FAILED, CB_E_MEASURE},
                {CUBLAS_STATUS_INVALID_VALUE, CB_E_MEASURE},
                {CUBLAS_STATUS_INTERNAL_ERROR, CB_E_MEASURE}};
    struct cb_cublaslt_api api;
    struct cb_error err;
    setenv(VARIABLE, CB_TEST_CUBLASLT, 1);
    assert_ok(cb_cublaslt_load(&api, &err), &err);
    assert_true(api.version > 0);
    assert_non_null(strstr(api.path, "libcublasLt"));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cb_error_clear(&err);
        assert_int_equal(cb_cublaslt_check(&api, rows[i].status, "cublasLtMatmul", &err),
                         rows[i].code);
        if (!rows[i].code)
            continue;
        assert_non_null(strstr(err.what, "cublasLtMatmul"));
        assert_non_null(strstr(err.detail, "CUBLAS_STATUS_"));
        assert_non_null(strstr(err.detail, api.path));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_named_file_that_is_not_there_is_said),
        cmocka_unit_test(test_a_library_without_the_functions_is_refused),
        cmocka_unit_test(test_codes_become_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

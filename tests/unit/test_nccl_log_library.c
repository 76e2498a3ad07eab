/* The log with the real NCCL, which needs no GPU for writing to it: what a version makes of its
 * settings, and when, no other test can say. Skipped where there is no copy that can be switched.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cb_test.h"
#include "transport/nccl_api.h"
#include "transport/nccl_log.h"
#include "transport/nccl_search.h"

enum { SKIPPED = 77 };

static struct cb_nccl_api api;

static off_t size_of(int file)
{
    return lseek(file, 0, SEEK_END);
}

/* A message that every version writes, whatever its subsystems: a warning. */
static void make_it_write(void)
{
    assert_int_equal(api.ncclGetUniqueId(NULL), ncclInvalidArgument);
}

static void test_real_library_follows(void **state)
{
    struct cb_nccl_log log;
    struct cb_nccl_use use;
    char own[32];
    (void)state;
    cb_nccl_log_open(&log); /* after ncclGetVersion, as in a run */
    snprintf(own, sizeof(own), "/proc/self/fd/%d", log.file);
    assert_string_equal(getenv("NCCL_DEBUG_FILE"), own);
    make_it_write();
    off_t first = size_of(log.file);
    assert_true(first > 0);
    for (int i = 0; i < 4; i++) {
        off_t before = size_of(log.file);
        assert_true(cb_nccl_log_switch(&log, i % 2 == 0, api.reset_debug));
        assert_int_equal(size_of(log.file), 0);
        make_it_write();
        assert_true(size_of(log.file) > 0);
        assert_int_equal(size_of(log.previous), before);
    }
    cb_nccl_log_read(&log, &use);
    assert_true(use.has_log);
    assert_non_null(strstr(use.warning, "NULL"));
    cb_nccl_log_close(&log);
}

int main(void)
{
    struct cb_nccl_copy copy;
    struct cb_error err;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_real_library_follows)};
    unsetenv("NCCL_DEBUG");
    unsetenv("NCCL_DEBUG_FILE");
    if (cb_nccl_find(NULL, &copy, &err) || cb_nccl_load(copy.path, &api, &err) ||
        !api.reset_debug || api.version < CB_NCCL_SAFE_RESET) {
        printf("skipped: no NCCL of 2.27 or later here\n");
        return SKIPPED;
    }
    char version[16];
    printf("NCCL %s, %s\n", cb_nccl_format_version(api.version, version), api.path);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

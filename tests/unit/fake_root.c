#define _GNU_SOURCE /* nftw */
#include "fake_root.h"

#include "cb_test.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int fake_root_make(void **state)
{
    char *root = strdup("/tmp/cb_topology.XXXXXX");
    *state = root && mkdtemp(root) ? root : NULL;
    return *state == NULL;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

int fake_root_remove(void **state)
{
    int rc = nftw(*state, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return rc;
}

static void make_parents(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
}

void fake_root_put(const char *root, const char *folder, const char *file, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s/%s", root, folder, file);
    make_parents(path);
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
}

void fake_root_link(const char *root, const char *folder, const char *file, const char *target)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s/%s", root, folder, file);
    make_parents(path);
    assert_int_equal(symlink(target, path), 0);
}

void fake_root_put_bytes(const char *root, const char *folder, const char *file, const void *data,
                         size_t size_bytes)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s/%s", root, folder, file);
    make_parents(path);
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    assert_int_equal(fwrite(data, 1, size_bytes, stream), size_bytes);
    assert_int_equal(fclose(stream), 0);
}

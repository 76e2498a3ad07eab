/* A copy of /sys and /proc in a temporary folder, as far as a test fills it. */
#ifndef CB_TEST_FAKE_ROOT_H
#define CB_TEST_FAKE_ROOT_H

#include <stddef.h>

/* Set-up and tear-down of a cmocka test: *state is the folder's path. */
int fake_root_make(void **state);
int fake_root_remove(void **state);

/* A file, or a symbolic link, in a folder below root, which is made with its parents. */
void fake_root_put(const char *root, const char *folder, const char *file, const char *text);
void fake_root_put_bytes(const char *root, const char *folder, const char *file, const void *data,
                         size_t size_bytes);
void fake_root_link(const char *root, const char *folder, const char *file, const char *target);

#endif

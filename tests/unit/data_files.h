/* Files that tests read, and those of real machines, which are not everywhere at hand. */
#ifndef CB_TESTS_DATA_FILES_H
#define CB_TESTS_DATA_FILES_H

#include <stddef.h>

/* The path of a folder of real machines' files: below the folder that COMMBOUND_TEST_DATA names, or
 * a place beside this project. NULL where it is not, having said so: the test is skipped. Borrowed;
 * the next call writes over it. */
const char *data_folder(const char *name);

/* A whole file of a folder, ended by a NUL, in a block of just that size; NULL when it is not
 * there. The caller frees it. */
char *data_read(const char *folder, const char *file, size_t *length_bytes);

#endif

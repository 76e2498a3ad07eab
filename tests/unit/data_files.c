#include "data_files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "cb_test.h"

const char *data_folder(const char *name)
{
    static char path[4096];
    const char *set = getenv("COMMBOUND_TEST_DATA");
    snprintf(path, sizeof(path), "%s/%s", set && *set ? set : CB_TEST_DATA, name);
    DIR *folder = opendir(path);
    if (!folder) {
        print_message("skipped: there is no folder %s\n", path);
        return NULL;
    }
    closedir(folder);
    return path;
}

char *data_read(const char *folder, const char *file, size_t *length_bytes)
{
    char path[4096 + 256];
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return NULL;
    assert_int_equal(fseek(stream, 0, SEEK_END), 0);
    long size_bytes = ftell(stream);
    assert_in_range(size_bytes, 0, 1 << 28);
    rewind(stream);
    char *text = malloc((size_t)size_bytes + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)size_bytes, stream), size_bytes);
    fclose(stream);
    text[size_bytes] = '\0';
    *length_bytes = (size_t)size_bytes;
    return text;
}

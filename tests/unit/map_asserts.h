/* What tests of maps ask of one. */
#ifndef CB_TEST_MAP_ASSERTS_H
#define CB_TEST_MAP_ASSERTS_H

#include <string.h>

#include "cb_test.h"
#include "topology/map.h"

static inline void assert_note(const struct cb_map *map, const char *code, const char *seen)
{
    for (size_t i = 0; i < map->notes.count; i++) {
        const struct cb_map_note *note = &map->notes.items[i];
        if (strcmp(note->code, code) != 0)
            continue;
        assert_false(note->is_wrong);
        assert_true(note->why[0] && note->remedy[0]);
        if (!strstr(note->seen, seen))
            fail_msg("\"%s\" does not say \"%s\"", note->seen, seen);
        return;
    }
    fail_msg("no note %s", code);
}

static inline void assert_class(const struct cb_map *map, int a, int b, enum cb_path_class expected)
{
    assert_string_equal(cb_path_class_name(cb_map_class(map, a, b)), cb_path_class_name(expected));
    assert_int_equal(cb_map_class(map, b, a), expected);
}

static inline void assert_nearest(const struct cb_map *map, int gpu, enum cb_path_class path_class,
                                  size_t count, int first, int chosen)
{
    int nics[8];
    struct cb_map_nearest nearest;
    cb_map_nearest_nics(map, gpu, nics, 8, &nearest);
    assert_int_equal(nearest.path_class, path_class);
    assert_int_equal(nearest.count, count);
    if (count > 0)
        assert_int_equal(nics[0], first);
    assert_int_equal(nearest.first_of_equals, chosen);
}

#endif

/* What holds of every map, whatever it was read from. */
#ifndef CB_FUZZ_CHECK_MAP_H
#define CB_FUZZ_CHECK_MAP_H

#include <stdlib.h>
#include <string.h>

#include "require.h"
#include "topology/map.h"
#include "topology/map_read.h"

static inline void require_clean(const char *text)
{
    for (; *text; text++)
        require(*text >= ' ' && *text <= '~' && !strchr("<>&\"'`", *text));
}

static inline void check_pair(const struct cb_map *map, int a, int b)
{
    struct cb_map_path there, back;
    cb_map_path(map, a, b, &there);
    cb_map_path(map, b, a, &back);
    require(there.path_class == back.path_class && there.kind == back.kind);
    require(there.bytes_per_s_one_way >= 0 &&
            !(there.bytes_per_s_one_way > back.bytes_per_s_one_way) &&
            !(there.bytes_per_s_one_way < back.bytes_per_s_one_way));
    require(there.path_class == CB_CLASS_SELF || a != b);
}

static inline void check_map(const struct cb_map *map)
{
    for (size_t i = 0; i < map->devices.count; i++) {
        const struct cb_map_device *device = &map->devices.items[i];
        require(device->parent < (int)i && device->depth <= CB_MAP_DEPTH_MAX);
        require_clean(device->name);
        require_clean(device->bus_id);
        require_clean(device->model);
    }
    for (size_t i = 0; i < map->gpus.count && i < 16; i++) {
        struct cb_map_nearest nearest;
        int gpu = map->gpus.items[i], nics[4];
        cb_map_nearest_nics(map, gpu, nics, 4, &nearest);
        require((nearest.count == 0) == (nearest.path_class == CB_CLASS_UNKNOWN));
        require((nearest.count == 0) == (nearest.first_of_equals < 0));
        for (size_t k = 0; k < nearest.count && k < 4; k++)
            require(cb_map_class(map, gpu, nics[k]) == nearest.path_class);
        for (size_t k = 0; k < map->gpus.count && k < 16; k++)
            check_pair(map, gpu, map->gpus.items[k]);
        for (size_t k = 0; k < map->nics.count && k < 16; k++)
            check_pair(map, gpu, map->nics.items[k]);
    }
}

/* A file is read and holds together, or is refused with one line. */
static inline int check_file(int (*read)(const char *name, const char *text, size_t length_bytes,
                                         struct cb_map *map, struct cb_error *err),
                             const uint8_t *data, size_t size)
{
    struct cb_map map = {0};
    struct cb_error err = {0};
    if (read("fuzz", (const char *)data, size, &map, &err) != 0) {
        require(err.code != 0 && err.what[0] && !strchr(err.what, '\n') && !map.devices.items);
        return 0;
    }
    check_map(&map);
    cb_map_fini(&map);
    return 0;
}

#endif

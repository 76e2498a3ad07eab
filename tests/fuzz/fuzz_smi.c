/* Whatever a text holds, the reader of nvidia-smi's matrices refuses it with a line or makes a map
 * of it; a map can be asked and shown in every format, and what is shown fits the page and acts on
 * nothing. */
#include <stdint.h>
#include <string.h>

#include "report/topology.h"
#include "require.h"
#include "topology/map_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_lines(const char *text, size_t most)
{
    size_t columns = 0;
    for (; *text; text++) {
        require(*text == '\n' || (*text >= ' ' && *text <= '~'));
        columns = *text == '\n' ? 0 : columns + 1;
        require(columns <= most);
    }
}

static void show(const struct cb_map *map)
{
    struct cb_topology topology = {.map = map, .origin = "fuzz"};
    for (int format = 0; format < CB_TOPOLOGY_FORMAT_COUNT; format++) {
        struct cb_strbuf text = {0};
        require(cb_topology_render(&topology, (enum cb_topology_format)format, &text, NULL) == 0);
        check_lines(cb_strbuf_get(&text), format == CB_TOPOLOGY_TEXT ? 80 : SIZE_MAX);
        require(!strstr(cb_strbuf_get(&text), "<script"));
        cb_strbuf_fini(&text);
    }
}

static void ask(const struct cb_map *map)
{
    for (size_t i = 0; i < map->gpus.count; i++) {
        struct cb_map_nearest nearest;
        int gpu = map->gpus.items[i];
        cb_map_nearest_nics(map, gpu, NULL, 0, &nearest);
        require(nearest.count <= map->nics.count);
        for (size_t k = 0; k < map->devices.count; k++)
            require(cb_map_class(map, gpu, (int)k) == cb_map_class(map, (int)k, gpu));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cb_map map = {.has_tree = false};
    struct cb_error err = {0};
    if (cb_map_from_smi("fuzz", (const char *)data, size, &map, &err) != 0) {
        require(err.code != 0 && strncmp(err.what, "fuzz:", 5) == 0 && !strchr(err.what, '\n'));
        require(!map.devices.items && !map.cells.items && !map.notes.items);
        return 0;
    }
    require(map.gpus.count + map.nics.count == map.devices.count);
    /* Wide ones take long to show and show nothing new. */
    if (map.devices.count <= 40) {
        ask(&map);
        show(&map);
    }
    cb_map_fini(&map);
    return 0;
}

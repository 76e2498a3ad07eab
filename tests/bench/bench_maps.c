/* Gathers the maps of many simulated nodes of three kinds and renders them:
 *     bench_maps [NODES]    (1000 unless told)
 * and prints how many maps were stored and the seconds for all of it: hashing, grouping, writing
 * JSON, reading it back, and the text report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "report/report.h"
#include "result/json.h"
#include "unit/many_nodes.h"

static int render(const struct cb_result *result, size_t *maps, struct cb_error *err)
{
    const struct cb_report_options options = {.color = false};
    struct cb_strbuf page = {0};
    struct cb_result read;
    char *text = NULL;
    cb_result_init(&read);
    int rc = cb_result_to_json(result, &text, err);
    if (!rc)
        rc = cb_result_from_json("maps", text, strlen(text), &read, err);
    if (!rc)
        rc = cb_report_render(&read, CB_REPORT_TEXT, &options, &page, err);
    *maps = read.maps.count;
    cb_strbuf_fini(&page);
    cb_result_fini(&read);
    free(text);
    return rc;
}

int main(int argc, char **argv)
{
    long nodes = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    struct cb_result result;
    struct cb_error err = {0};
    size_t maps = 0;
    double start_s = cb_clock_now_s();
    cb_result_init(&result);
    int rc = many_nodes_gather(&result, (int)nodes);
    if (rc > 0)
        rc = render(&result, &maps, &err);
    double all_s = cb_clock_now_s() - start_s;
    cb_result_fini(&result);
    if (rc < 0)
        return EXIT_FAILURE;
    printf("maps %zu\nseconds %.4f\n", maps, all_s);
    return EXIT_SUCCESS;
}

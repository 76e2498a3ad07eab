#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#include "report/render.h"
#include "result/json.h"

static int render_json(const struct cb_result *result, const struct cb_report_options *options,
                       struct cb_strbuf *out, struct cb_error *err)
{
    (void)options;
    char *text = NULL;
    int rc = cb_result_to_json(result, &text, err);
    if (rc != 0)
        return rc;
    cb_strbuf_add(out, text);
    free(text);
    return 0;
}

struct format_row {
    const char *name;
    int (*render)(const struct cb_result *result, const struct cb_report_options *options,
                  struct cb_strbuf *out, struct cb_error *err);
};

static const struct format_row formats[] = {
    [CB_REPORT_TEXT] = {"text", cb_render_text},
    [CB_REPORT_JSON] = {"json", render_json},
    [CB_REPORT_CSV] = {"csv", cb_render_csv},
};
_Static_assert(sizeof(formats) / sizeof(formats[0]) == CB_REPORT_FORMAT_COUNT, "a row per format");

const char *cb_report_format_name(enum cb_report_format format)
{
    return formats[format].name;
}

int cb_report_format_parse(const char *name)
{
    for (int i = 0; i < CB_REPORT_FORMAT_COUNT; i++)
        if (strcmp(name, formats[i].name) == 0)
            return i;
    return -1;
}

int cb_report_render(const struct cb_result *result, enum cb_report_format format,
                     const struct cb_report_options *options, struct cb_strbuf *out,
                     struct cb_error *err)
{
    static const struct cb_report_options plain = {0};
    int rc = formats[format].render(result, options ? options : &plain, out, err);
    if (rc == 0 && out->failed)
        rc = cb_fail(err, CB_E_MEMORY, "no memory for the %s report", formats[format].name);
    return rc;
}

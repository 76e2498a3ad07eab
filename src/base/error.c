#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void cb_error_clear(struct cb_error *err)
{
    memset(err, 0, sizeof(*err));
    err->rank = -1;
}

int cb_fail(struct cb_error *err, enum cb_code code, const char *format, ...)
{
    if (!err)
        return code;
    va_list arguments;
    cb_error_clear(err);
    err->code = code;
    va_start(arguments, format);
    vsnprintf(err->what, sizeof(err->what), format, arguments);
    va_end(arguments);
    return code;
}

void cb_error_set_detail(struct cb_error *err, const char *format, ...)
{
    if (!err)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(err->detail, sizeof(err->detail), format, arguments);
    va_end(arguments);
}

void cb_error_set_hint(struct cb_error *err, const char *format, ...)
{
    if (!err)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(err->hint, sizeof(err->hint), format, arguments);
    va_end(arguments);
}

int cb_code_exit_status(int code)
{
    switch (code) {
    case CB_OK:
        return 0;
    case CB_E_USAGE:
    case CB_E_INPUT:
    case CB_E_IO:
        return 2;
    default:
        return 3;
    }
}

/* What cmocka lacks: comparing doubles, looking into texts, and showing the error of a call that
 * should have worked. */
#ifndef CB_TEST_H
#define CB_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"

/* Fails unless actual is within relative (a share) of expected; an expected 0 must be met exactly.
 */
#define assert_near(actual, expected, relative)                                                    \
    cb_test_near((double)(actual), (double)(expected), (double)(relative), #actual, __FILE__,      \
                 __LINE__)

/* Fails unless the call returned 0, showing err. */
#define assert_ok(call, err) cb_test_ok((call), (err), #call, __FILE__, __LINE__)

/* Fails unless the text holds that part. */
#define assert_says(text, part) cb_test_says((text), (part), __FILE__, __LINE__)

static inline void cb_test_near(double actual, double expected, double relative, const char *what,
                                const char *file, int line)
{
    if (fabs(actual - expected) <= fabs(expected) * relative)
        return;
    print_error("%s is %.17g, expected %.17g within %g\n", what, actual, expected, relative);
    _fail(file, line);
}

static inline void cb_test_ok(int code, const struct cb_error *err, const char *call,
                              const char *file, int line)
{
    if (code == 0)
        return;
    print_error("%s returned %d: %s (%s)\n", call, code, err->what, err->detail);
    _fail(file, line);
}

static inline void cb_test_says(const char *text, const char *part, const char *file, int line)
{
    if (strstr(text, part))
        return;
    print_error("\"%s\" does not say \"%s\"\n", text, part);
    _fail(file, line);
}

#endif

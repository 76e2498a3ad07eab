#define _GNU_SOURCE /* strtold_l */
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number with what follows it; unit points behind the number and behind one run of blanks. */
struct quantity {
    long double value;
    const char *unit;
};

/* Room for a user's text in a message: enough to recognise it by. */
#define SHOWN_TEXT 48

/* text, quoted and cut: a message must keep its end even when the text is long. */
static const char *show(char out[SHOWN_TEXT], const char *text)
{
    if (strlen(text) <= SHOWN_TEXT - 8)
        snprintf(out, SHOWN_TEXT, "'%s'", text);
    else
        snprintf(out, SHOWN_TEXT, "'%.*s...'", SHOWN_TEXT - 8, text);
    return out;
}

static int refuse(struct cb_error *err, const char *text, const char *why, const char *forms)
{
    char shown[SHOWN_TEXT];
    int code = cb_fail(err, CB_E_USAGE, "%s %s", show(shown, text), why);
    cb_error_set_hint(err, "%s", forms);
    return code;
}

/* strtold of the C locale, whatever locale the process is in. newlocale of "C" does not allocate
 * in glibc; should it fail all the same, the process's locale decides. */
static long double to_number(const char *text)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    long double value = plain ? strtold_l(text, NULL, plain) : strtold(text, NULL);
    if (plain)
        freelocale(plain);
    return value;
}

/* Splits text into number and unit. The number is digits, an optional fraction and an optional
 * exponent: what strtold takes besides (hexadecimal, "inf", "nan", blanks before) is refused. */
static int split(const char *text, const char *forms, struct quantity *out, struct cb_error *err)
{
    const char *p = text;
    if (*p == '\0')
        return refuse(err, text, "is empty", forms);
    if (*p == '-' && (isdigit((unsigned char)p[1]) || p[1] == '.'))
        return refuse(err, text, "is negative", forms);
    size_t digits = 0;
    for (; isdigit((unsigned char)*p); p++)
        digits++;
    if (*p == '.') {
        for (p++; isdigit((unsigned char)*p); p++)
            digits++;
    }
    if (digits == 0)
        return refuse(err, text, "does not start with a number", forms);
    if (*p == 'e' || *p == 'E') {
        const char *exponent = p + 1;
        if (*exponent == '+' || *exponent == '-')
            exponent++;
        if (isdigit((unsigned char)*exponent)) {
            for (p = exponent; isdigit((unsigned char)*p);)
                p++;
        }
    }
    long double value = to_number(text);
    if (!isfinite((double)value))
        return refuse(err, text, "is too large", forms);
    const char *unit = p + strspn(p, " ");
    if (*unit == '\0' && unit != p)
        return refuse(err, text, "ends in a blank", forms);
    *out = (struct quantity){.value = value, .unit = unit};
    return 0;
}

struct multiplier {
    const char *unit;
    long double factor;
};

static const struct multiplier *find_unit(const struct multiplier *units, size_t count,
                                          const char *unit)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(unit, units[i].unit) == 0)
            return &units[i];
    return NULL;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Multiplies, and refuses what is not positive and finite in a double. */
static int positive(const char *text, const char *forms, long double product, double *value,
                    struct cb_error *err)
{
    double rounded = (double)product;
    if (!isfinite(rounded))
        return refuse(err, text, "is too large", forms);
    if (rounded <= 0)
        return refuse(err, text, product > 0 ? "is too small" : "is not above zero", forms);
    *value = rounded;
    return 0;
}

/* The exponent of a size suffix (K 1, M 2, ...; 0 for none), or -1: one prefix in either case, then
 * nothing, "B" or "iB". "Kb" would be bits. */
static int size_exponent(const char *unit)
{
    static const char prefixes[] = "KMGTPE";
    if (*unit == '\0' || strcmp(unit, "B") == 0)
        return 0;
    const char *found = strchr(prefixes, toupper((unsigned char)*unit));
    if (!found)
        return -1;
    const char *rest = unit + 1;
    if (*rest != '\0' && strcmp(rest, "B") != 0 && strcmp(rest, "iB") != 0)
        return -1;
    return (int)(found - prefixes) + 1;
}

int cb_parse_bytes(const char *text, uint64_t *bytes, struct cb_error *err)
{
    static const char forms[] = "a size looks like 8, 64K, 1.5M or 1G (powers of 1024)";
    struct quantity quantity;
    int rc = split(text, forms, &quantity, err);
    if (rc)
        return rc;
    int exponent = size_exponent(quantity.unit);
    if (exponent < 0)
        return refuse(err, text, "has an unknown unit", forms);
    /* Exact: a long double holds 64 bits, and a power of 1024 changes none of them. */
    long double size = ldexpl(quantity.value, 10 * exponent);
    if (size > (long double)INT64_MAX)
        return refuse(err, text, "is too large", forms);
    if (size != floorl(size))
        return refuse(err, text, "is not a whole number of bytes", forms);
    *bytes = (uint64_t)size;
    return 0;
}

/* The factor from a bandwidth unit to bytes per second, or 0: prefix, "i" for powers of 1024, "b"
 * or "bit" for bits and "B" for bytes, then "/s" or "ps". */
static long double bandwidth_factor(const char *unit)
{
    static const char prefixes[] = "kMGTP";
    long double factor = 1;
    const char *p = unit;
    const char *found = *p == 'K' ? prefixes : (*p ? strchr(prefixes, *p) : NULL);
    if (found) {
        p++;
        bool binary = *p == 'i';
        if (binary)
            p++;
        for (const char *step = prefixes; step <= found; step++)
            factor *= binary ? 1024 : 1000;
    }
    if (*p == 'B') {
        p++;
    } else if (strncmp(p, "bit", 3) == 0) {
        factor /= 8;
        p += 3;
    } else if (*p == 'b') {
        factor /= 8;
        p++;
    } else {
        return 0;
    }
    return strcmp(p, "/s") == 0 || strcmp(p, "ps") == 0 ? factor : 0;
}

int cb_parse_bandwidth(const char *text, double *bytes_per_s, struct cb_error *err)
{
    static const char forms[] = "a bandwidth looks like 12.5GB/s (bytes) or 100Gb/s (bits)";
    struct quantity quantity;
    int rc = split(text, forms, &quantity, err);
    if (rc)
        return rc;
    if (*quantity.unit == '\0')
        return refuse(err, text, "has no unit", forms);
    long double factor = bandwidth_factor(quantity.unit);
    if (!(factor > 0))
        return refuse(err, text, "has an unknown unit", forms);
    return positive(text, forms, quantity.value * factor, bytes_per_s, err);
}

/* A positive quantity whose unit is one of count. */
static int parse_scaled(const char *text, const char *forms, const struct multiplier *units,
                        size_t count, double *value, struct cb_error *err)
{
    struct quantity quantity;
    int rc = split(text, forms, &quantity, err);
    if (rc)
        return rc;
    const struct multiplier *unit = find_unit(units, count, quantity.unit);
    if (!unit)
        return refuse(err, text, "has an unknown unit", forms);
    return positive(text, forms, quantity.value * unit->factor, value, err);
}

int cb_parse_duration(const char *text, double *seconds, struct cb_error *err)
{
    static const char forms[] = "a time looks like 30 or 30s, 250ms, 10us, 5min, 24h or 2d";
    static const struct multiplier units[] = {
        {"", 1},     {"s", 1},  {"ms", 1e-3L}, {"us", 1e-6L}, {"ns", 1e-9L},
        {"min", 60}, {"m", 60}, {"h", 3600},   {"d", 86400},
    };
    return parse_scaled(text, forms, units, COUNT(units), seconds, err);
}

int cb_parse_count(const char *text, double *count, struct cb_error *err)
{
    static const char forms[] = "a count looks like 7e9, 7B, 125M, 20k or 512 (k, M, B, T)";
    static const struct multiplier units[] = {
        {"", 1}, {"k", 1e3L}, {"K", 1e3L}, {"M", 1e6L}, {"B", 1e9L}, {"T", 1e12L},
    };
    return parse_scaled(text, forms, units, COUNT(units), count, err);
}

int cb_parse_share(const char *text, double *share, struct cb_error *err)
{
    static const char forms[] = "a share looks like 20% or 0.2, above 0 and below 100 %";
    struct quantity quantity;
    int rc = split(text, forms, &quantity, err);
    if (rc)
        return rc;
    bool percent = strcmp(quantity.unit, "%") == 0;
    if (!percent && *quantity.unit != '\0')
        return refuse(err, text, "has an unknown unit", forms);
    double value = (double)(percent ? quantity.value / 100 : quantity.value);
    if (!(value > 0 && value < 1))
        return refuse(err, text, "is not between 0 and 100 %", forms);
    *share = value;
    return 0;
}

int cb_parse_number(const char *text, double *value, struct cb_error *err)
{
    static const char forms[] = "a number looks like 2, 0.5 or 1e-3";
    bool negative = *text == '-';
    struct quantity quantity;
    int rc = split(text + negative, forms, &quantity, err);
    if (rc)
        return rc;
    if (*quantity.unit != '\0')
        return refuse(err, text, "has text after the number", forms);
    *value = (double)(negative ? -quantity.value : quantity.value);
    return 0;
}

int cb_parse_integer(const char *text, long low, long high, long *value, struct cb_error *err)
{
    char forms[96];
    snprintf(forms, sizeof(forms), "expected a whole number from %ld to %ld", low, high);
    const char *digits = *text == '-' ? text + 1 : text;
    if (*digits == '\0' || digits[strspn(digits, "0123456789")] != '\0')
        return refuse(err, text, "is not a whole number", forms);
    errno = 0;
    long parsed = strtol(text, NULL, 10);
    if (errno == ERANGE || parsed < low || parsed > high)
        return refuse(err, text, "is out of range", forms);
    *value = parsed;
    return 0;
}

/* snprintf("%.*g") of the C locale: reports do not change with the reader's language. */
static void print_digits(char *out, size_t size_bytes, int digits, double value)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t previous = plain ? uselocale(plain) : (locale_t)0;
    snprintf(out, size_bytes, "%.*g", digits, value);
    if (plain) {
        uselocale(previous);
        freelocale(plain);
    }
}

/* value to three significant digits, in numbers. */
static double rounded(double value)
{
    double scale = pow(10, floor(log10(value)) - 2);
    return round(value / scale) * scale;
}

static bool is_shown(double value)
{
    return isfinite(value) && value > 0;
}

/* "VALUE UNIT" with the first unit of the table that the value, as it will be printed, stays below
 * the limit of. Rows ascend; the last one takes the rest. */
struct display {
    const char *unit; /* with the blank before it */
    double factor;
    double limit; /* in this unit */
};

static const char *format_scaled(char out[CB_UNIT_TEXT], double value, const struct display *rows,
                                 size_t count)
{
    if (!is_shown(value))
        return strcpy(out, "-");
    size_t i = 0;
    while (i + 1 < count && rounded(value / rows[i].factor) >= rows[i].limit)
        i++;
    char digits[CB_UNIT_TEXT - 8];
    print_digits(digits, sizeof(digits), 3, value / rows[i].factor);
    snprintf(out, CB_UNIT_TEXT, "%s%s", digits, rows[i].unit);
    return out;
}

const char *cb_format_bytes(char out[CB_UNIT_TEXT], uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t i = 0;
    while (i + 1 < COUNT(units) && (value >= 1000 ? round(value) : value) >= 1024) {
        value /= 1024;
        i++;
    }
    char digits[CB_UNIT_TEXT - 8];
    print_digits(digits, sizeof(digits), value >= 1000 ? 4 : 3, value);
    snprintf(out, CB_UNIT_TEXT, "%s %s", digits, units[i]);
    return out;
}

const char *cb_format_bandwidth(char out[CB_UNIT_TEXT], double bytes_per_s)
{
    static const struct display rows[] = {
        {" B/s", 1, 1000},     {" kB/s", 1e3, 1000},  {" MB/s", 1e6, 1000},  {" GB/s", 1e9, 1000},
        {" TB/s", 1e12, 1000}, {" PB/s", 1e15, 1000}, {" EB/s", 1e18, 1000},
    };
    return format_scaled(out, bytes_per_s, rows, COUNT(rows));
}

const char *cb_format_time(char out[CB_UNIT_TEXT], double seconds)
{
    static const struct display rows[] = {
        {" ns", 1e-9, 1000}, {" us", 1e-6, 1000}, {" ms", 1e-3, 1000}, {" s", 1, 300},
        {" min", 60, 120},   {" h", 3600, 72},    {" d", 86400, 730},  {" years", 31557600, 0},
    };
    return format_scaled(out, seconds, rows, COUNT(rows));
}

const char *cb_format_flops(char out[CB_UNIT_TEXT], double flops_per_s)
{
    static const struct display rows[] = {
        {" FLOP/s", 1, 1000},     {" kFLOP/s", 1e3, 1000},  {" MFLOP/s", 1e6, 1000},
        {" GFLOP/s", 1e9, 1000},  {" TFLOP/s", 1e12, 1000}, {" PFLOP/s", 1e15, 1000},
        {" EFLOP/s", 1e18, 1000},
    };
    return format_scaled(out, flops_per_s, rows, COUNT(rows));
}

const char *cb_format_count(char out[CB_UNIT_TEXT], double count)
{
    static const struct display rows[] = {
        {"", 1, 1000}, {"k", 1e3, 1000}, {"M", 1e6, 1000}, {"B", 1e9, 1000}, {"T", 1e12, 0},
    };
    /* Batch sizes are powers of two that a reader wants to recognise. */
    if (count >= 1 && count < 10000 && count == floor(count)) {
        snprintf(out, CB_UNIT_TEXT, "%d", (int)count);
        return out;
    }
    return format_scaled(out, count, rows, COUNT(rows));
}

const char *cb_format_share(char out[CB_UNIT_TEXT], double share)
{
    double percent = share * 100;
    if (!is_shown(percent))
        return strcpy(out, "-");
    int digits = 3;
    if (percent < 0.95)
        digits = 1;
    else if (percent < 99.5)
        digits = 2;
    else if (percent < 999999.5)
        digits = (int)floor(log10(percent + 0.5)) + 1;
    char text[CB_UNIT_TEXT - 8];
    print_digits(text, sizeof(text), digits, percent);
    snprintf(out, CB_UNIT_TEXT, "%s %%", text);
    return out;
}

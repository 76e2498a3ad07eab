#include "cb_test.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct good {
    const char *text;
    double value;
};

struct bad {
    const char *text;
    const char *why; /* must be in the message */
};

/* Every refusal is a usage error that shows the text, says why, and lists the forms. */
static void assert_refused(int rc, const struct cb_error *err, const struct bad *bad)
{
    if (rc != CB_E_USAGE || !strstr(err->what, bad->why) || !strstr(err->what, bad->text) ||
        err->hint[0] == '\0')
        print_error("'%s': returned %d, what \"%s\", hint \"%s\"\n", bad->text, rc, err->what,
                    err->hint);
    assert_int_equal(rc, CB_E_USAGE);
    assert_non_null(strstr(err->what, bad->why));
    assert_non_null(strstr(err->what, bad->text));
    assert_string_not_equal(err->hint, "");
}

static void test_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } goods[] = {
        {"0", 0},
        {"8", 8},
        {"8B", 8},
        {"64K", 65536},
        {"64k", 65536},
        {"64KB", 65536},
        {"64 KiB", 65536},
        {"1.5M", 1572864},
        {"1e6", 1000000},
        {"1G", 1073741824},
        {"2T", 2199023255552},
        {"7E", 8070450532247928832u},
        {"9007199254740993", 9007199254740993},       /* 2^53 + 1: no double in between */
        {"9223372036854775807", 9223372036854775807}, /* the largest */
        {"0.0009765625K", 1},
    };
    for (size_t i = 0; i < COUNT(goods); i++) {
        struct cb_error err;
        uint64_t bytes = 1;
        assert_ok(cb_parse_bytes(goods[i].text, &bytes, &err), &err);
        assert_int_equal(bytes, goods[i].bytes);
    }
}

static void test_bytes_refused(void **state)
{
    (void)state;
    static const struct bad bads[] = {
        {"", "is empty"},
        {"-8", "is negative"},
        {"-.5K", "is negative"},
        {"+8", "does not start with a number"},
        {" 8", "does not start with a number"},
        {"K", "does not start with a number"},
        {".", "does not start with a number"},
        {"nan", "does not start with a number"},
        {"inf", "does not start with a number"},
        {"0x10", "unknown unit"},
        {"8X", "unknown unit"},
        {"8Kb", "unknown unit"},
        {"8KK", "unknown unit"},
        {"8 bananas", "unknown unit"},
        {"8e+", "unknown unit"},
        {"8,5K", "unknown unit"},
        {"8 ", "ends in a blank"},
        {"1.5", "not a whole number"},
        {"0.1K", "not a whole number"},
        {"9223372036854775808", "too large"},
        {"8E", "too large"},
        {"1e400", "too large"},
        {"99999999999999999999", "too large"},
    };
    for (size_t i = 0; i < COUNT(bads); i++) {
        struct cb_error err;
        uint64_t bytes = 77;
        assert_refused(cb_parse_bytes(bads[i].text, &bytes, &err), &err, &bads[i]);
        assert_int_equal(bytes, 77);
    }
}

/* One kind of quantity after another through the same tables. */
typedef int (*parser)(const char *text, double *value, struct cb_error *err);

static void check_parser(parser parse, const struct good *goods, size_t good_count,
                         const struct bad *bads, size_t bad_count)
{
    struct cb_error err;
    for (size_t i = 0; i < good_count; i++) {
        double value = -1;
        assert_ok(parse(goods[i].text, &value, &err), &err);
        assert_near(value, goods[i].value, 1e-15);
    }
    for (size_t i = 0; i < bad_count; i++) {
        double value = 77;
        assert_refused(parse(bads[i].text, &value, &err), &err, &bads[i]);
        assert_near(value, 77, 0);
    }
}

static void test_bandwidth(void **state)
{
    (void)state;
    static const struct good goods[] = {
        {"12.5GB/s", 12.5e9},
        {"0.125 GB/s", 0.125e9},
        {"100Gb/s", 12.5e9},
        {"100Gbps", 12.5e9},
        {"100Gbit/s", 12.5e9},
        {"100 Gbitps", 12.5e9},
        {"1Gb/s", 0.125e9},
        {"117MB/s", 117e6},
        {"600GB/s", 600e9},
        {"1GiB/s", 1073741824},
        {"8Gib/s", 1073741824},
        {"3.35TB/s", 3.35e12},
        {"5kB/s", 5000},
        {"5KB/s", 5000},
        {"8b/s", 1},
        {"1B/s", 1},
        {"1e9B/s", 1e9},
        {"12.5GBps", 12.5e9},
        {"1PB/s", 1e15},
    };
    static const struct bad bads[] = {
        {"", "is empty"},
        {"12.5", "has no unit"},
        {"-1GB/s", "is negative"},
        {"0GB/s", "not above zero"},
        {"GB/s", "does not start with a number"},
        {"infGB/s", "does not start with a number"},
        {"nanGB/s", "does not start with a number"},
        {"12.5G", "unknown unit"},
        {"12.5GB", "unknown unit"},
        {"12.5GB/", "unknown unit"},
        {"12.5GB/h", "unknown unit"},
        {"12.5gb/s", "unknown unit"}, /* bits or bytes? */
        {"12.5mB/s", "unknown unit"}, /* milli */
        {"12.5iB/s", "unknown unit"},
        {"12.5GB/s ", "unknown unit"},
        {"12.5GB/sx", "unknown unit"},
        {"12.5XB/s", "unknown unit"},
        {"100Gbits/s", "unknown unit"},
        {"1e309GB/s", "too large"},
        {"1e308GB/s", "too large"},
        {"1e-330B/s", "too small"},
    };
    check_parser(cb_parse_bandwidth, goods, COUNT(goods), bads, COUNT(bads));
}

/* The same digits with b and with B differ by eight, whatever the prefix. */
static void test_bits_are_an_eighth_of_bytes(void **state)
{
    (void)state;
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "ki", "Mi", "Gi", "Ti"};
    for (size_t i = 0; i < COUNT(prefixes); i++) {
        char text[32];
        double bits = 0, bytes = 0;
        struct cb_error err;
        snprintf(text, sizeof(text), "3.7%sb/s", prefixes[i]);
        assert_ok(cb_parse_bandwidth(text, &bits, &err), &err);
        snprintf(text, sizeof(text), "3.7%sB/s", prefixes[i]);
        assert_ok(cb_parse_bandwidth(text, &bytes, &err), &err);
        assert_near(bytes, 8 * bits, 1e-15);
    }
}

static void test_duration(void **state)
{
    (void)state;
    static const struct good goods[] = {
        {"30", 30},     {"30s", 30},   {"250ms", 0.25}, {"10us", 1e-5},
        {"3 ns", 3e-9}, {"5m", 300},   {"5min", 300},   {"24h", 86400},
        {"2d", 172800}, {"1e3", 1000}, {".5s", 0.5},    {"1.5 h", 5400},
    };
    static const struct bad bads[] = {
        {"", "is empty"},        {"0", "not above zero"},   {"-3s", "is negative"},
        {"3 weeks", "unknown"},  {"3S", "unknown unit"},    {"3 M", "unknown unit"},
        {"s", "does not start"}, {"1e308d", "too large"},   {"nan", "does not start"},
        {"5s5", "unknown unit"}, {"1h30m", "unknown unit"},
    };
    check_parser(cb_parse_duration, goods, COUNT(goods), bads, COUNT(bads));
}

static void test_count(void **state)
{
    (void)state;
    static const struct good goods[] = {
        {"7e9", 7e9},  {"7B", 7e9},  {"125M", 125e6}, {"1.3B", 1.3e9}, {"20k", 20e3},
        {"20K", 20e3}, {"1T", 1e12}, {"512", 512},    {"0.5", 0.5},    {"405 B", 405e9},
    };
    static const struct bad bads[] = {
        {"", "is empty"},         {"0", "not above zero"},     {"-7B", "is negative"},
        {"7b", "unknown unit"},   {"7m", "unknown unit"},      {"7G", "unknown unit"},
        {"7BB", "unknown unit"},  {"seven", "does not start"}, {"1e308B", "too large"},
        {"7B params", "unknown"}, {"7_000", "unknown unit"},   {"7,000", "unknown unit"},
        {"0x7", "unknown unit"},
    };
    check_parser(cb_parse_count, goods, COUNT(goods), bads, COUNT(bads));
}

static void test_share(void **state)
{
    (void)state;
    static const struct good goods[] = {
        {"20%", 0.2}, {"20 %", 0.2}, {"0.2", 0.2}, {"99.9%", 0.999}};
    static const struct bad bads[] = {
        {"0", "not between"},    {"0%", "not between"},     {"1", "not between"},
        {"100%", "not between"}, {"20", "not between"},     {"-5%", "is negative"},
        {"20%%", "unknown"},     {"20 percent", "unknown"}, {"%", "does not start"},
    };
    check_parser(cb_parse_share, goods, COUNT(goods), bads, COUNT(bads));
}

static void test_number(void **state)
{
    (void)state;
    static const struct good goods[] = {{"2", 2}, {"0.5", 0.5}, {"1e-3", 1e-3}, {"-4.25", -4.25}};
    static const struct bad bads[] = {
        {"", "is empty"},       {"2x", "text after"}, {"2 ", "ends in a blank"},
        {"--2", "is negative"}, {"nan", "not start"}, {"1e999", "too large"},
    };
    struct cb_error err;
    for (size_t i = 0; i < COUNT(goods); i++) {
        double value = 0;
        assert_ok(cb_parse_number(goods[i].text, &value, &err), &err);
        assert_near(value, goods[i].value, 1e-15);
    }
    for (size_t i = 0; i < COUNT(bads); i++) {
        double value = 77;
        int rc = cb_parse_number(bads[i].text, &value, &err);
        if (i != 3) /* "--2" is shown without its first dash */
            assert_refused(rc, &err, &bads[i]);
        assert_int_equal(rc, CB_E_USAGE);
        assert_near(value, 77, 0);
    }
}

static void test_integer(void **state)
{
    (void)state;
    struct cb_error err;
    long value = 0;
    assert_ok(cb_parse_integer("1", 1, 64, &value, &err), &err);
    assert_int_equal(value, 1);
    assert_ok(cb_parse_integer("64", 1, 64, &value, &err), &err);
    assert_int_equal(value, 64);
    assert_ok(cb_parse_integer("-3", -5, 5, &value, &err), &err);
    assert_int_equal(value, -3);
    static const struct bad bads[] = {
        {"0", "out of range"},  {"65", "out of range"}, {"99999999999999999999", "out of range"},
        {"", "not a whole"},    {"-", "not a whole"},   {"1.0", "not a whole"},
        {"1k", "not a whole"},  {" 1", "not a whole"},  {"+1", "not a whole"},
        {"0x1", "not a whole"},
    };
    for (size_t i = 0; i < COUNT(bads); i++) {
        value = 77;
        assert_refused(cb_parse_integer(bads[i].text, 1, 64, &value, &err), &err, &bads[i]);
        assert_int_equal(value, 77);
    }
    assert_non_null(strstr(err.hint, "from 1 to 64"));
}

/* A message keeps its reason when somebody pastes a page into an option. */
static void test_long_text_is_cut(void **state)
{
    (void)state;
    char text[2000];
    memset(text, '7', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    struct cb_error err;
    double value = 0;
    assert_int_equal(cb_parse_bandwidth(text, &value, &err), CB_E_USAGE);
    assert_non_null(strstr(err.what, "...' is too large"));
}

static void test_format_bytes(void **state)
{
    (void)state;
    char out[CB_UNIT_TEXT];
    assert_string_equal(cb_format_bytes(out, 0), "0 B");
    assert_string_equal(cb_format_bytes(out, 8), "8 B");
    assert_string_equal(cb_format_bytes(out, 1023), "1023 B");
    assert_string_equal(cb_format_bytes(out, 1024), "1 KiB");
    assert_string_equal(cb_format_bytes(out, 65536), "64 KiB");
    assert_string_equal(cb_format_bytes(out, 1572864), "1.5 MiB");
    assert_string_equal(cb_format_bytes(out, 1048575), "1 MiB");
    assert_string_equal(cb_format_bytes(out, 67108864), "64 MiB");
    assert_string_equal(cb_format_bytes(out, 14000000000), "13 GiB");
    assert_string_equal(cb_format_bytes(out, UINT64_MAX), "16 EiB");
}

static void test_format_rates(void **state)
{
    (void)state;
    char out[CB_UNIT_TEXT];
    assert_string_equal(cb_format_bandwidth(out, 117e6), "117 MB/s");
    assert_string_equal(cb_format_bandwidth(out, 11.6e9), "11.6 GB/s");
    assert_string_equal(cb_format_bandwidth(out, 1.83e12), "1.83 TB/s");
    assert_string_equal(cb_format_bandwidth(out, 12.5e9), "12.5 GB/s");
    assert_string_equal(cb_format_bandwidth(out, 999.4e6), "999 MB/s");
    assert_string_equal(cb_format_bandwidth(out, 999.6e6), "1 GB/s");
    assert_string_equal(cb_format_bandwidth(out, 0.5), "0.5 B/s");
    assert_string_equal(cb_format_bandwidth(out, 0), "-");
    assert_string_equal(cb_format_bandwidth(out, -1), "-");
    assert_string_equal(cb_format_bandwidth(out, (double)NAN), "-");
    assert_string_equal(cb_format_bandwidth(out, (double)INFINITY), "-");
    assert_string_equal(cb_format_flops(out, 98.3e9), "98.3 GFLOP/s");
    assert_string_equal(cb_format_flops(out, 271e12), "271 TFLOP/s");
    assert_string_equal(cb_format_flops(out, 1.98e15), "1.98 PFLOP/s");
}

static void test_format_time(void **state)
{
    (void)state;
    char out[CB_UNIT_TEXT];
    assert_string_equal(cb_format_time(out, 38.1e-6), "38.1 us");
    assert_string_equal(cb_format_time(out, 11.1e-3), "11.1 ms");
    assert_string_equal(cb_format_time(out, 2.41), "2.41 s");
    assert_string_equal(cb_format_time(out, 224), "224 s");
    assert_string_equal(cb_format_time(out, 300), "5 min");
    assert_string_equal(cb_format_time(out, 7200), "2 h");
    assert_string_equal(cb_format_time(out, 34200), "9.5 h");
    assert_string_equal(cb_format_time(out, 3.6e6), "41.7 d");
    assert_string_equal(cb_format_time(out, 3e-9), "3 ns");
    assert_string_equal(cb_format_time(out, 0), "-");
}

static void test_format_count_and_share(void **state)
{
    (void)state;
    char out[CB_UNIT_TEXT];
    assert_string_equal(cb_format_count(out, 7e9), "7B");
    assert_string_equal(cb_format_count(out, 1.3e9), "1.3B");
    assert_string_equal(cb_format_count(out, 125e6), "125M");
    assert_string_equal(cb_format_count(out, 512), "512");
    assert_string_equal(cb_format_count(out, 4096), "4096");
    assert_string_equal(cb_format_count(out, 16384), "16.4k");
    assert_string_equal(cb_format_count(out, 1e12), "1T");
    assert_string_equal(cb_format_count(out, -1), "-");
    assert_string_equal(cb_format_share(out, 0.41), "41 %");
    assert_string_equal(cb_format_share(out, 0.032), "3.2 %");
    assert_string_equal(cb_format_share(out, 0.004), "0.4 %");
    assert_string_equal(cb_format_share(out, 0.0096), "0.96 %");
    assert_string_equal(cb_format_share(out, 2.5), "250 %");
    assert_string_equal(cb_format_share(out, 0.999), "99.9 %");
    assert_string_equal(cb_format_share(out, 1), "100 %");
    assert_string_equal(cb_format_share(out, 123.456), "12346 %");
    assert_string_equal(cb_format_share(out, 1e30), "1e+32 %");
    assert_string_equal(cb_format_share(out, (double)NAN), "-");
}

/* No value overruns the caller's buffer. */
static void test_formats_fit(void **state)
{
    (void)state;
    char out[CB_UNIT_TEXT + 1];
    for (int exponent = -320; exponent <= 308; exponent++) {
        double value = 9.999999 * pow(10, exponent);
        memset(out, 'x', sizeof(out));
        cb_format_bandwidth(out, value);
        cb_format_time(out, value);
        cb_format_flops(out, value);
        cb_format_count(out, value);
        cb_format_share(out, value);
        assert_int_equal(out[CB_UNIT_TEXT], 'x');
        assert_non_null(memchr(out, '\0', CB_UNIT_TEXT));
    }
}

/* What a formatter prints, its parser reads back within the three digits that were printed. */
static void test_round_trip(void **state)
{
    (void)state;
    char out[CB_UNIT_TEXT];
    struct cb_error err;
    for (double value = 1.2345; value < 1e15; value *= 3.1) {
        double back = 0;
        assert_ok(cb_parse_bandwidth(cb_format_bandwidth(out, value), &back, &err), &err);
        assert_near(back, value, 0.006);
        assert_ok(cb_parse_count(cb_format_count(out, value), &back, &err), &err);
        assert_near(back, value, 0.006);
        assert_ok(cb_parse_duration(cb_format_time(out, value / 1e9), &back, &err), &err);
        assert_near(back, value / 1e9, 0.006);
        uint64_t bytes = 0;
        if (value >= 1024) /* below, a fraction of three digits need not be whole */
            continue;
        assert_ok(cb_parse_bytes(cb_format_bytes(out, (uint64_t)value), &bytes, &err), &err);
        assert_int_equal(bytes, (uint64_t)value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),        cmocka_unit_test(test_bytes_refused),
        cmocka_unit_test(test_bandwidth),    cmocka_unit_test(test_bits_are_an_eighth_of_bytes),
        cmocka_unit_test(test_duration),     cmocka_unit_test(test_count),
        cmocka_unit_test(test_share),        cmocka_unit_test(test_number),
        cmocka_unit_test(test_integer),      cmocka_unit_test(test_long_text_is_cut),
        cmocka_unit_test(test_format_bytes), cmocka_unit_test(test_format_rates),
        cmocka_unit_test(test_format_time),  cmocka_unit_test(test_format_count_and_share),
        cmocka_unit_test(test_formats_fit),  cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
